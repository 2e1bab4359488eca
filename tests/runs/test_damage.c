/* A graph with a damaged topology, by every reader of it. Each command names the file and ends with
 * status 1. Nobody follows an id or an offset that was not checked. */
#include "dataset/generate/options.h"
#include "support/testing.h"

#include "base/base.h"
#include "base/temporary.h"
#include "dataset/graph.h"
#include "support/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODES = 12000, DEGREE = 500, HEADER = 4096 };
#define EDGES ((int64_t)NODES * DEGREE)

static char folder[TEST_PATH];

/* ---- damage ---- */

/* Elements from, from + step, ... of an array get a value; or the file is cut in half. */
struct damage {
    const char *file;
    bool wide; /* indices of 8 bytes instead of 4 */
    int64_t from, step, value;
    bool cut;
};

/* Every batch meets them; the last two stand at one place. */
static const struct damage damages[] = {
    {"indices.npy", .step = 7, .value = NODES},
    {"indices.npy", .step = 7, .value = 1999999999},
    {"indices.npy", .step = 7, .value = -1},
    {"indices.npy", .step = 7, .value = INT32_MIN},
    {"indices.npy", .wide = true, .step = 7, .value = ((int64_t)1 << 32) + 5},
    {"indices.npy", .wide = true, .step = 7, .value = -1},
    {"indices.npy", .wide = true, .step = 7, .value = INT64_MIN},
    {"indices.npy", .cut = true},
    {"indptr.npy", .from = 3, .step = 5, .value = 0},
    {"indptr.npy", .from = 3, .step = 5, .value = EDGES + 1000000},
    {"indptr.npy", .from = 3, .step = 5, .value = INT64_MAX},
    {"indptr.npy", .from = 3, .step = 5, .value = -1},
    {"indptr.npy", .from = 3, .step = 5, .value = INT64_MIN},
    {"indptr.npy", .cut = true},
    {"indptr.npy", .from = 0, .step = NODES + 1, .value = 7},
    {"indptr.npy", .from = NODES, .step = NODES + 1, .value = EDGES - 1},
};

static bool at_one_place(const struct damage *d)
{
    return d->step > NODES;
}

static void read_whole(const char *path, char **data, size_t *size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    *size = (size_t)st.st_size;
    *data = malloc(*size);
    assert_non_null(*data);
    assert_int_equal(read(fd, *data, *size), st.st_size);
    close(fd);
}

static void write_whole(const char *path, const char *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), (ssize_t)size);
    close(fd);
}

/* indices.npy again, with 8 bytes an id. */
static void widen(char **data, size_t *size)
{
    const size_t n = (*size - HEADER) / 4;
    const int64_t shape[2] = {(int64_t)n, 1};
    char *wide = malloc(HEADER + n * 8);
    assert_non_null(wide);
    assert_int_equal(og__npy_header(wide, OG__NPY_I64, 1, shape, HEADER), HEADER);
    for (size_t i = 0; i < n; i++) {
        int32_t id = 0;
        memcpy(&id, *data + HEADER + 4 * i, 4);
        memcpy(wide + HEADER + 8 * i, &(int64_t){id}, 8);
    }
    free(*data);
    *data = wide;
    *size = HEADER + n * 8;
}

static void damage(const struct damage *d)
{
    char from[64];
    char to[64];
    char *data = NULL;
    size_t size = 0;
    snprintf(from, sizeof(from), "whole/%s", d->file);
    snprintf(to, sizeof(to), "g/%s", d->file);
    read_whole(from, &data, &size);
    if (d->wide)
        widen(&data, &size);
    const size_t element = d->wide || strcmp(d->file, "indptr.npy") == 0 ? 8 : 4;
    const int64_t n = (int64_t)((size - HEADER) / element);
    for (int64_t i = d->from; d->step > 0 && i < n; i += d->step)
        memcpy(data + HEADER + (size_t)i * element, &d->value, element); /* little endian */
    write_whole(to, data, d->cut ? size / 2 : size);
    free(data);
}

static void mend(void)
{
    assert_int_equal(system("cp whole/indptr.npy whole/indices.npy g/"), 0);
}

/* ---- commands ---- */

/* The topology takes 24 MB: 80 MiB hold it and all else, 31 MiB do not. */
#define SMALL "--fanout 3,2 --batch 32 --hidden 4 --epochs 1 --threads 1 --io pread --scratch s"
#define ROOM  " --memory 80M --topology memory "
#define TIGHT " --memory 31M --topology memory "
#define AUTO  " --memory 31M --topology auto "
#define DISK  " --memory 64M --topology disk "

enum { IDS = 1, OFFSETS = 2, ALL = IDS | OFFSETS };

static const struct reading {
    const char *arguments;
    int sees;
    bool sampled; /* what is not in a batch need not be noticed */
} readings[] = {
    {"train g " SMALL ROOM, ALL, false},
    {"train g " SMALL TIGHT, ALL, true},
    {"train g " SMALL AUTO, ALL, true},
    {"train g " SMALL DISK, ALL, false},
    {"train g " SMALL DISK "--neighbor-cache 1M", ALL, false},
    {"train g " SMALL DISK "--io mmap --policy lru --cache 5%", ALL, false},
    {"train g " SMALL ROOM "--policy presc --cache 5%", ALL, false},
    {"train g " SMALL DISK "--policy degree --cache 5%", ALL, false},
    {"train g " SMALL DISK "--policy pagerank --cache 5%", ALL, false},
    {"train g " SMALL DISK "--policy belady --cache 5%", ALL, false},
    {"train g " SMALL ROOM "--model gcn", ALL, false},
    {"train g " SMALL TIGHT "--model gcn", ALL, true},
    {"train g " SMALL DISK "--model gcn", ALL, false},
    {"plan g " SMALL DISK "--memory 128M --task link", ALL, false},
    {"plan g " SMALL ROOM, ALL, false},
    {"plan g " SMALL TIGHT, ALL, true},
    {"plan g " SMALL TIGHT "--sampler walk", ALL, true},
    {"plan g " SMALL TIGHT "--sampler walk --walk-length 4 --walk-restart 0", ALL, true},
    {"plan g " SMALL TIGHT "--sampler labor", ALL, true},
    {"plan g " SMALL TIGHT "--sampler ladies", ALL, true},
    {"plan g " SMALL TIGHT "--fanout 3,-1", ALL, true},
    {"plan g " SMALL AUTO, ALL, true},
    {"plan g " SMALL DISK "--sampler walk", ALL, false},
    {"plan g " SMALL DISK "--sampler labor", ALL, false},
    {"plan g " SMALL DISK "--sampler ladies", ALL, false},
    {"sample g --out t " SMALL ROOM, ALL, false},
    {"sample g --out t " SMALL TIGHT, ALL, true},
    {"sample g --out t " SMALL AUTO, ALL, true},
    {"sample g --out t " SMALL DISK, ALL, false},
    {"simulate g --policy lru,degree --cache 5% " SMALL ROOM, ALL, false},
    {"simulate g --policy lru,degree --cache 5% " SMALL TIGHT, ALL, true},
    {"simulate g --policy lru,degree --cache 5% " SMALL AUTO, ALL, true},
    {"simulate g --policy lru,degree --cache 5% " SMALL DISK, ALL, false},
    {"eval g --checkpoint r/best.safetensors " SMALL ROOM, ALL, false},
    {"eval g --checkpoint r/best.safetensors " SMALL TIGHT, ALL, true},
    {"eval g --checkpoint r/best.safetensors " SMALL DISK, ALL, false},
    {"eval g --full --checkpoint r/best.safetensors --memory 80M --scratch s", ALL, false},
    {"predict g --checkpoint r/best.safetensors --out p.npy --memory 80M --scratch s", ALL, false},
    {"predict g --checkpoint w/best.safetensors --out p.npy --memory 80M --scratch s", ALL, false},
    {"bench sample g " SMALL ROOM, ALL, false},
    {"info g", OFFSETS, false},
    {"export npy g e", ALL, false},
    {"export graphbolt g e", ALL, false},
    {"verify g", ALL, false},
};

/* Exit status, or 128 + signal; what it said on either stream. */
static int outgrow(const char *arguments, char *said, size_t size)
{
    char line[512];
    snprintf(line, sizeof(line), "exec '%s' %s >said.txt 2>&1 </dev/null", TEST_COMMAND, arguments);
    int status = system(line);
    FILE *f = fopen("said.txt", "re");
    assert_non_null(f);
    said[fread(said, 1, size - 1, f)] = 0;
    fclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool is_told(const struct reading *r, const struct damage *d, const char *said)
{
    const bool verifies = strncmp(r->arguments, "verify", 6) == 0;
    const char *hint = verifies ? "" : d->cut ? "hint: the file was cut short" : "outgrow verify";
    bool named = strstr(said, d->file) && strstr(said, hint);
    return named || (r->sampled && at_one_place(d) && strstr(said, "--memory"));
}

static void each_command_names_the_file(void **state)
{
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < OG_COUNT(damages); i++) {
        const struct damage *d = &damages[i];
        const bool opens = !d->cut; /* a file that is too short is noticed by all */
        const int what = strcmp(d->file, "indices.npy") == 0 ? IDS : OFFSETS;
        damage(d);
        for (size_t k = 0; k < OG_COUNT(readings); k++) {
            const struct reading *r = &readings[k];
            char said[4096];
            const bool turn = (i + k) % (r->sampled ? 3 : 8) == 0; /* all of it takes a minute */
            if (!turn || (opens && !(r->sees & what)))
                continue;
            int status = outgrow(r->arguments, said, sizeof(said));
            if (status == 1 && is_told(r, d, said))
                continue;
            print_message("%s, damage %zu: %s: status %d: %s\n", d->file, i, r->arguments, status,
                          said);
            failures++;
        }
        mend();
    }
    assert_int_equal(failures, 0);
}

/* Without damage all the commands above succeed, but for those whose memory is too small. */
static void whole_graphs_are_read(void **state)
{
    (void)state;
    for (size_t k = 0; k < OG_COUNT(readings); k++) {
        char said[4096];
        bool tight = strstr(readings[k].arguments, TIGHT) != NULL;
        int status = outgrow(readings[k].arguments, said, sizeof(said));
        if (status != tight)
            fail_msg("%s: status %d: %s", readings[k].arguments, status, said);
        if (tight && !strstr(said, "--memory"))
            fail_msg("%s: %s", readings[k].arguments, said);
        assert_int_equal(system("rm -rf t e p.npy"), 0);
    }
}

/* ---- the graph ---- */

static int start(void **state)
{
    static char at_cache[sizeof(folder) + 16];
    char said[4096];
    struct og_generate g;
    (void)state;
    if (!test_folder(folder, "damage") || chdir(folder) < 0)
        return -1;
    snprintf(at_cache, sizeof(at_cache), "%s/cache", folder);
    setenv("XDG_CACHE_HOME", at_cache, 1);
    og__generate_init(&g);
    g.model = OG_RMAT;
    g.nodes = NODES;
    g.degree = DEGREE;
    g.dim = 4;
    g.classes = 3;
    g.train_fraction = 0.1;
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    g.threads = 2;
    if (og_generate("g", &g, NULL, NULL) < 0 ||
        outgrow("train g --run r " SMALL ROOM, said, sizeof(said)) != 0 ||
        outgrow("train g --run w --sampler walk " SMALL ROOM, said, sizeof(said)) != 0)
        return -1;
    return system("cp -r g whole");
}

static int finish(void **state)
{
    (void)state;
    if (chdir("/") < 0)
        return -1;
    og__remove_tree(folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_graphs_are_read),
        cmocka_unit_test(each_command_names_the_file),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
