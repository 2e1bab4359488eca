#include "base/plugin.h"

#include "base/base.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *og__plugin_open(const char *name, const char *variable, int flags)
{
    static const char *const places[] = {"", "../" OG_LIBDIR "/outgrow/"};
    char exe[4000];
    char path[4200];
    const char *named = getenv(variable);
    if (named && *named)
        return dlopen(named, RTLD_NOW | flags);
    const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    exe[n > 0 ? n : 0] = 0;
    char *end = strrchr(exe, '/');
    if (end)
        end[1] = 0;
    for (size_t i = 0; end && i < OG_COUNT(places); i++) {
        snprintf(path, sizeof(path), "%s%s%s", exe, places[i], name);
        if (access(path, R_OK) == 0) /* a file that is there must load, or its error is reported */
            return dlopen(path, RTLD_NOW | flags);
    }
    return dlopen(name, RTLD_NOW | flags);
}
