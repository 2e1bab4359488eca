#include "dataset/names.h"

#include <stdio.h>
#include <string.h>

void og__names_add(struct og_names *names, const char *said)
{
    const char *name = *said ? said : "one without a name";
    const size_t used = strlen(names->text);
    const size_t most = sizeof(names->text) - 32; /* " and 12345 others" */
    if (names->others > 0 || used + strlen(name) + 4 > most)
        names->others++;
    else
        snprintf(names->text + used, sizeof(names->text) - used, "%s%s", used ? ", " : "", name);
    names->n++;
}

const char *og__names_text(struct og_names *names)
{
    const size_t used = strlen(names->text);
    if (names->others > 0)
        snprintf(names->text + used, sizeof(names->text) - used, " and %zu other%s", names->others,
                 names->others == 1 ? "" : "s");
    names->others = 0;
    return names->text;
}
