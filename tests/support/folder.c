#include "support/folder.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char memory[] = "/dev/shm";

/* For what several tests at once write. */
static bool has_room(const char *place)
{
    struct statvfs fs;
    return statvfs(place, &fs) == 0 && access(place, W_OK) == 0 &&
           (double)fs.f_bavail * (double)fs.f_frsize > 2e9;
}

char *test_folder(char path[TEST_PATH], const char *name)
{
    const char *place = getenv("TMPDIR");
    if (!place)
        place = has_room(memory) ? memory : "/tmp";
    int n = snprintf(path, TEST_PATH, "%s/og-%s-XXXXXX", place, name);
    return n > 0 && n < TEST_PATH ? mkdtemp(path) : NULL;
}
