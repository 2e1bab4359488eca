#include "base/sized.h"

#include <outgrow/version.h>

#include <stdio.h>
#include <string.h>

enum { MOST = 4096 }; /* a larger one was not set */

int og__sized_check(const void *theirs, size_t ours, const char *name, struct og_err *err)
{
    const unsigned char *bytes = theirs;
    size_t size;
    if (!theirs)
        return 0;
    memcpy(&size, theirs, sizeof(size));
    if (size < ours || size > MOST) {
        char hint[128];
        snprintf(hint, sizeof(hint), "begin with `struct %s s = {.size = sizeof(s)}`", name);
        return og__fail(err, -EINVAL, hint, "struct %s: its size is %zu, %zu expected", name, size,
                        ours);
    }
    for (size_t i = ours; i < size; i++)
        if (bytes[i])
            return og__fail(err, -EINVAL,
                            "install the library that the program was compiled for, or leave these "
                            "members 0",
                            "struct %s: sets what this library, %s, does not know yet", name,
                            og_version());
    return 0;
}
