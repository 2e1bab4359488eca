/* Checks of test_faults: files in its folder, open files, and results but for their numbers and
 * words. */
#ifndef OG_FAULTS_FOLDER_H
#define OG_FAULTS_FOLDER_H

#include "base/file.h"
#include "runs/faults.h"
#include "support/folder.h"
#include "support/small_run.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

static char root[TEST_PATH];
static char graph[64], disk_cache[64], source[64], run_dir[64], out_dir[64], model[96], trace[64],
    config[64], timeline[64], link_model[96], packed[64], pack_dir[96], embeddings[64], striped[64],
    typed_runs[64], typed_packed[64];

/* ---- files in the folder ---- */

struct inventory {
    uint64_t hash;
    int temporaries; /* names of unfinished files, and scratch */
};

/* Contents seen before, by name. They are read again only when anything that the kernel says of the
 * file has changed. Its clock ticks every few milliseconds, so what was young when it was read is
 * read again. */
static struct seen {
    uint64_t name, hash;
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec written, changed;
    bool settled;
} seen_files[4096];

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_as_seen(const struct seen *f, uint64_t name, const struct stat *st)
{
    return f->settled && f->name == name && f->device == st->st_dev && f->inode == st->st_ino &&
           f->bytes == st->st_size && nanoseconds(f->written) == nanoseconds(st->st_mtim) &&
           nanoseconds(f->changed) == nanoseconds(st->st_ctim);
}

static uint64_t hash_contents(const char *path, uint64_t name)
{
    char *text;
    size_t len;
    assert_int_equal(og__read_text(path, 1 << 26, &text, &len, NULL), 0);
    uint64_t hash = XXH3_64bits_withSeed(text, len, name);
    free(text);
    return hash;
}

static void look_at_file(const char *path, struct inventory *v)
{
    const uint64_t name = XXH3_64bits(path, strlen(path));
    struct seen *f = &seen_files[name % OG_COUNT(seen_files)];
    struct timespec now;
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    if (!is_as_seen(f, name, &st)) {
        bool settled = nanoseconds(now) - nanoseconds(st.st_ctim) > 100 * 1000000;
        *f = (struct seen){name,       hash_contents(path, name),
                           st.st_dev,  st.st_ino,
                           st.st_size, st.st_mtim,
                           st.st_ctim, settled};
    }
    v->hash += f->hash;
}

static void look(const char *folder, struct inventory *v)
{
    DIR *dir = opendir(folder);
    const struct dirent *e;
    while (dir && (e = readdir(dir))) {
        struct stat st;
        if (e->d_name[0] == '.' || strncmp(e->d_name, "neighbors-", 10) == 0)
            continue; /* a neighbour cache is kept for the next run, and checked by it */
        char *path = og__path_join(folder, e->d_name);
        assert_int_equal(lstat(path, &st), 0);
        v->temporaries += strstr(e->d_name, ".tmp-") || strstr(e->d_name, "outgrow-scratch-");
        v->hash += XXH3_64bits(path, strlen(path));
        if (S_ISDIR(st.st_mode))
            look(path, v);
        else
            look_at_file(path, v);
        free(path);
    }
    if (dir)
        closedir(dir);
}

static struct inventory take_inventory(void)
{
    struct inventory v = {0};
    look(root, &v);
    return v;
}

static void a_change_of_any_file_is_seen(void **state)
{
    (void)state;
    static const struct timespec long_enough = {.tv_nsec = 150 * 1000000};
    char path[160];
    snprintf(path, sizeof(path), "%s/changing", root);
    uint64_t last = 0;
    for (int i = 0; i < 4; i++) { /* as many bytes, in the same file, at once or when it is old */
        FILE *f = fopen(path, i ? "r+" : "w");
        assert_non_null(f);
        assert_int_equal(fputc('a' + i, f), 'a' + i);
        assert_int_equal(fclose(f), 0);
        uint64_t now = take_inventory().hash;
        assert_true(now != last && now == take_inventory().hash);
        last = now;
        if (i % 2)
            nanosleep(&long_enough, NULL);
        assert_true(now == take_inventory().hash);
    }
    assert_int_equal(unlink(path), 0);
    assert_true(take_inventory().hash != last);
}

static int open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* ---- JSON, but for its numbers and words ---- */

static uint64_t shape_of(const json_t *value)
{
    uint64_t shape = json_is_boolean(value) ? JSON_TRUE : value ? json_typeof(value) + 1u : 0;
    const char *key;
    json_t *inner;
    size_t i;
    /* fill_bytes_read is an estimate: null where memory was too short for it */
    json_object_foreach((json_t *)value, key, inner) shape += XXH3_64bits_withSeed(
        key, strlen(key), strcmp(key, "fill_bytes_read") == 0 ? 0 : shape_of(inner));
    json_array_foreach(value, i, inner) shape = 31 * shape + shape_of(inner);
    return shape;
}

static uint64_t shape_of_text(const char *text)
{
    json_t *value = text ? json_loads(text, 0, NULL) : NULL;
    uint64_t shape = shape_of(value);
    json_decref(value);
    return shape;
}

/* For a file with a value, or one a line. */
static uint64_t shape_of_file(const char *path, bool by_line)
{
    char *text;
    size_t len;
    uint64_t shape = 0;
    if (access(path, F_OK) != 0)
        return 0;
    assert_int_equal(og__read_text(path, 1 << 24, &text, &len, NULL), 0);
    char *end;
    for (char *line = text; by_line && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        shape = 31 * shape + shape_of_text(line);
    }
    if (!by_line)
        shape = shape_of_text(text);
    free(text);
    return shape;
}

/* What the last call said. */
static char *said;

static void keep(char *text)
{
    free(said);
    said = text;
}

#endif
