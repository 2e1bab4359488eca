/* What the user hears while a dataset is made. */
#include "dataset/import/import.h"

int og__import_tell(const struct og_importer *imp, const char *stage, int64_t done, int64_t total,
                    struct og_err *err)
{
    const struct og_observer *seen = imp->seen;
    struct og_progress p = {.stage = stage, .done = (uint64_t)done, .total = (uint64_t)total};
    if (seen && seen->progress)
        seen->progress(seen->arg, &p);
    if (seen && seen->stop && *seen->stop)
        return og__fail(err, OG_INTERRUPTED, NULL, "interrupted: nothing was written");
    return 0;
}

void og__import_say(const struct og_importer *imp, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    if (!imp->seen)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    og__say(&(struct og_log){imp->seen->message, imp->seen->arg}, OG__INFO, "%s", text);
}
