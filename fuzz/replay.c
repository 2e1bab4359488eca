/* Runs a fuzz target on every file of the folders or files named. So the corpus is a test, without
 * a fuzzer. */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) < 0) {
        perror(path);
        exit(1);
    }
    /* Exactly as large as the file, so that a sanitizer sees a read past its end. */
    uint8_t *data = malloc((size_t)st.st_size + !st.st_size);
    if (!data || fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size) {
        perror(path);
        exit(1);
    }
    fclose(f);
    LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
    free(data);
    return 1;
}

static int replay(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return replay_file(path);
    int n = 0;
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        char child[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
        n += replay_file(child);
    }
    closedir(dir);
    return n;
}

int main(int argc, char **argv)
{
    int n = 0;
    for (int i = 1; i < argc; i++)
        n += replay(argv[i]);
    printf("%d inputs\n", n);
    return n > 0 ? 0 : 1; /* an empty corpus tests nothing */
}
