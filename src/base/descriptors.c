#include "base/descriptors.h"

#include <outgrow/outgrow.h>

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>

void og_files_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Open now; 0 where /proc does not say. */
static uint64_t count_open(void)
{
    enum { BESIDE = 3 }; /* ".", ".." and the folder itself */
    uint64_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    if (!d)
        return 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n > BESIDE ? n - BESIDE : 0;
}

int og__descriptors_check(uint64_t more, const char *what, const char *otherwise,
                          struct og_err *err)
{
    struct rlimit limit;
    char hint[128];
    const uint64_t all = count_open() + more;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || all <= limit.rlim_cur)
        return 0;
    snprintf(hint, sizeof(hint), "`ulimit -n %llu`%s%s", (unsigned long long)all,
             otherwise ? ", or " : "", otherwise ? otherwise : "");
    return og__fail(err, -EMFILE, hint, "%s: needs %llu files open at a time, %llu are allowed",
                    what, (unsigned long long)all, (unsigned long long)limit.rlim_cur);
}
