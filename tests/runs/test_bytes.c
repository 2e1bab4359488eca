/* Bytes in results against those that the kernel counted for this process. It counts blocks that
 * its disk read and that it made dirty. Where there is no disk (tmpfs) nothing can be compared. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/own_folder.h"

#include "base/base.h"
#include "base/file.h"
#include "base/temporary.h"

#include <outgrow/outgrow.h>

#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Names, inodes, heads of files, last pages; files of text. */
enum { SLACK = 1 << 20 };

static char graph[300], labels[320];
static uint64_t looked_at;

/* ---- what the kernel counts ---- */

struct bytes {
    uint64_t read, written;
};

static struct bytes counted(void)
{
    struct rusage used;
    assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
    return (struct bytes){(uint64_t)used.ru_inblock * 512, (uint64_t)used.ru_oublock * 512};
}

static int put_out_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)at;
    int fd = type == FTW_F ? open(path, O_RDONLY) : -1;
    if (fd < 0)
        return 0;
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
    return 0;
}

/* Every file of the folder out of the page cache. */
static void put_out(void)
{
    assert_int_equal(nftw(folder, put_out_file, 16, FTW_PHYS), 0);
}

static uint64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Does reading a file that is not in the page cache count? */
static bool reads_count(void)
{
    char block[4096];
    char path[320];
    snprintf(path, sizeof(path), "%s/features.npy", graph);
    put_out();
    const struct bytes before = counted();
    int fd = open(path, O_RDONLY);
    assert_int_equal(pread(fd, block, sizeof(block), 1 << 20), sizeof(block));
    close(fd);
    return counted().read > before.read;
}

/* ---- bytes in results ---- */

static uint64_t sum_of(const json_t *part, const char *const *keys)
{
    uint64_t sum = 0;
    for (; *keys; keys++)
        sum += (uint64_t)json_integer_value(json_object_get(part, *keys));
    return sum;
}

static void add_part(struct bytes *sum, const json_t *part)
{
    static const char *const read[] = {"bytes_read", "prepare_bytes_read", "eval_bytes_read", NULL};
    static const char *const written[] = {"bytes_written", "checkpoint_bytes_written", NULL};
    sum->read += sum_of(part, read);
    sum->written += sum_of(part, written);
}

static struct bytes told(const char *text)
{
    json_t *root = json_loads(text, 0, NULL);
    json_t *epochs = json_object_get(root, "epochs");
    struct bytes sum = {0};
    json_t *epoch;
    size_t i;
    assert_non_null(root);
    if (json_object_get(root, "prepare")) {
        add_part(&sum, json_object_get(root, "prepare"));
    } else { /* predict, pack: the sum is reported */
        sum.read = (uint64_t)json_integer_value(json_object_get(root, "bytes_read"));
        sum.written = (uint64_t)json_integer_value(json_object_get(root, "bytes_written"));
    }
    json_array_foreach(epochs, i, epoch) add_part(&sum, epoch);
    if (!epochs && json_object_get(root, "prepare"))
        add_part(&sum, root);
    json_decref(root);
    return sum;
}

/* ---- both compared ---- */

static uint64_t with_slack(uint64_t bytes)
{
    return bytes + bytes / 100 + SLACK;
}

/* What opening a dataset looks at of an array, to know it (dataset/identity.h). */
static int add_looked_at(const char *path, const struct stat *st, int type, struct FTW *at)
{
    const uint64_t most = 256 * 4096;
    (void)at;
    if (type == FTW_F && strstr(path, ".npy"))
        looked_at += OG_MIN((uint64_t)st->st_size, most);
    return 0;
}

/* May be read from the page cache: what the call itself has written. What opening has looked at
 * before; labels, of which each split takes its own. */
static void compare(const char *what, const char *text, struct bytes before)
{
    const struct bytes after = counted();
    const struct bytes disk = {after.read - before.read, after.written - before.written};
    const struct bytes said = told(text);
    looked_at = 0;
    assert_int_equal(nftw(graph, add_looked_at, 16, FTW_PHYS), 0);
    const uint64_t again = said.written + looked_at + 2 * size_of(labels);
    print_message("%s: read %.2f MB, told %.2f; written %.2f MB, told %.2f\n", what,
                  (double)disk.read / 1e6, (double)said.read / 1e6, (double)disk.written / 1e6,
                  (double)said.written / 1e6);
    assert_true(disk.read <= with_slack(said.read));
    assert_true(said.read <= with_slack(disk.read) + again);
    assert_true(disk.written <= with_slack(said.written));
    assert_true(said.written <= with_slack(disk.written));
}

/* ---- runs ---- */

static void set_all(struct og_options *opt, const char *words)
{
    char copy[256];
    char *rest = NULL;
    snprintf(copy, sizeof(copy), "%s", words);
    for (char *name = strtok_r(copy, " =", &rest); name; name = strtok_r(NULL, " =", &rest)) {
        const char *value = strtok_r(NULL, " =", &rest);
        assert_int_equal(og_options_set(opt, name, value, NULL), 0);
    }
}

static void common(struct og_options *opt, const char *words)
{
    og__options_init(opt);
    set_all(opt, "fanout=10,10 batch=250 hidden=64 epochs=2 memory=96M threads=2");
    set_all(opt, words);
}

static void in_folder(char path[512], const char *name)
{
    snprintf(path, 512, "%s/%s", folder, name);
}

static char *train(const char *run, const char *words)
{
    struct og_options opt;
    struct og_err err = {0};
    char path[512];
    char *text = NULL;
    common(&opt, words);
    in_folder(path, run);
    assert_int_equal(og_options_set(&opt, "run", path, NULL), 0);
    if (og_train(graph, &opt, NULL, &text, &err) < 0)
        fail_msg("%s: %s (%s)", words, err.message, err.hint);
    og__options_release(&opt);
    return text;
}

static void a_training_tells_all_that_it_reads_and_writes(void **state)
{
    (void)state;
    static const char *const runs[] = {
        "topology=disk policy=degree cache=10% neighbor-cache=0",
        "topology=disk policy=degree cache=10% neighbor-cache=1M",
        "preset=ginex cache=10% neighbor-cache=2M",
        "preset=ali+pg cache=10%",
        "preset=pyg+ topology=memory",
        "preset=lsm-gnn cache=10%",
        "preset=helios cache=10%",
        "policy=belady cache=10% superbatch=5 alternate=true layout=packed",
        "policy=frequency cache=10% layout=segmented resample-every=2",
        "policy=sweep cache=30%",
        "checkpoint-every=0",
    };
    char name[32];
    if (!reads_count())
        skip();
    free(train("first", "policy=degree")); /* the program's own pages */
    for (size_t i = 0; i < OG_COUNT(runs); i++) {
        snprintf(name, sizeof(name), "run%zu", i);
        put_out();
        const struct bytes before = counted();
        char *text = train(name, runs[i]);
        compare(runs[i], text, before);
        free(text);
    }
}

/* One scan of a whole file both packs and fills the cache. Their features are in the same places,
 * and are not read twice. */
static void the_sweep_that_packs_fills_the_cache(void **state)
{
    (void)state;
    static const char *const runs[] = {"policy=frequency layout=packed cache=40% alternate=false",
                                       "policy=belady layout=packed cache=40% alternate=false",
                                       "policy=belady layout=packed cache=40% alternate=true"};
    const char *const reads[] = {"prepare_bytes_read", NULL};
    char features[320];
    char run[512];
    snprintf(features, sizeof(features), "%s/features.npy", graph);
    in_folder(run, "once");
    for (size_t i = 0; i < OG_COUNT(runs); i++) {
        char *text = train("once", runs[i]);
        json_t *root = json_loads(text, 0, NULL);
        json_t *epoch = json_array_get(json_object_get(root, "epochs"), 0);
        assert_true(json_integer_value(json_object_get(epoch, "prefill")) > 10000);
        assert_true(json_integer_value(json_object_get(epoch, "misses")) > 10000);
        const uint64_t read = sum_of(epoch, reads);
        const uint64_t size = size_of(features);
        if (read > size + size / 4)
            fail_msg("%s: %.2f MB of a file of %.2f", runs[i], (double)read / 1e6,
                     (double)size / 1e6);
        json_decref(root);
        free(text);
        og__remove_tree(run);
    }
}

static void compare_eval(const char *checkpoint, const char *words)
{
    struct og_options opt;
    char *text = NULL;
    common(&opt, words);
    put_out();
    const struct bytes before = counted();
    assert_int_equal(og_eval(graph, checkpoint, "test", &opt, NULL, &text, NULL), 0);
    compare(words, text, before);
    og__options_release(&opt);
    free(text);
}

static void an_evaluation_tells_all_that_it_reads_and_writes(void **state)
{
    (void)state;
    char checkpoint[512];
    struct og_options opt;
    char *text = NULL;
    if (!reads_count())
        skip();
    free(train("model", "policy=degree"));
    in_folder(checkpoint, "model/best.safetensors");
    compare_eval(checkpoint, "topology=disk policy=degree cache=10% neighbor-cache=0");
    compare_eval(checkpoint, "preset=ginex cache=10% neighbor-cache=1500K");
    common(&opt, "memory=96M");
    put_out();
    struct bytes before = counted();
    assert_int_equal(og_eval_full(graph, checkpoint, "test", &opt, NULL, &text, NULL), 0);
    compare("eval --full", text, before);
    free(text);
    put_out();
    before = counted();
    char out[512];
    in_folder(out, "predicted.npy");
    assert_int_equal(og_predict(graph, checkpoint, out, NULL, &opt, NULL, &text, NULL), 0);
    compare("predict", text, before);
    free(text);
    og__options_release(&opt);
}

static void samples_and_packs_are_told(void **state)
{
    (void)state;
    char samples[512];
    char words[700];
    struct og_options opt;
    char *text = NULL;
    if (!reads_count())
        skip();
    in_folder(samples, "samples");
    common(&opt, "epochs=2");
    put_out();
    struct bytes before = counted();
    assert_int_equal(og_sample(graph, samples, false, &opt, NULL, &text, NULL), 0);
    compare("sample", text, before);
    free(text);
    og__options_release(&opt);
    common(&opt, "cache=10%");
    assert_int_equal(og_options_set(&opt, "samples", samples, NULL), 0);
    put_out();
    before = counted();
    assert_int_equal(og_pack(graph, &opt, NULL, &text, NULL), 0);
    compare("pack", text, before);
    free(text);
    og__options_release(&opt);
    static const char *const uses[] = {"policy=degree", "policy=belady",
                                       "policy=frequency layout=packed"};
    for (size_t i = 0; i < OG_COUNT(uses); i++) {
        char run[32];
        snprintf(run, sizeof(run), "use%zu", i);
        snprintf(words, sizeof(words), "%s", uses[i]);
        struct og_err err = {0};
        char path[512];
        common(&opt, words);
        in_folder(path, run);
        set_all(&opt, "cache=10%");
        assert_int_equal(og_options_set(&opt, "samples", samples, NULL), 0);
        assert_int_equal(og_options_set(&opt, "run", path, NULL), 0);
        put_out();
        const struct bytes start = counted();
        if (og_train(graph, &opt, NULL, &text, &err) < 0)
            fail_msg("%s: %s", words, err.message);
        compare(words, text, start);
        free(text);
        og__options_release(&opt);
    }
}

static int make_graph(void **state)
{
    struct og_generate g;
    char cache[300];
    setenv("TMPDIR", "/tmp", 0); /* on a disk, whose bytes the kernel counts */
    if (make_folder(state) < 0)
        return -1;
    snprintf(cache, sizeof(cache), "%s/cache", folder);
    snprintf(graph, sizeof(graph), "%s/graph", folder);
    snprintf(labels, sizeof(labels), "%s/labels.npy", graph);
    og__generate_init(&g);
    g.nodes = 30000;
    g.degree = 16;
    g.dim = 64;
    g.classes = 8;
    g.train_fraction = 0.05;
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    g.threads = 2;
    return setenv("XDG_CACHE_HOME", cache, 1) < 0 ? -1 : og_generate(graph, &g, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_tells_all_that_it_reads_and_writes),
        cmocka_unit_test(the_sweep_that_packs_fills_the_cache),
        cmocka_unit_test(an_evaluation_tells_all_that_it_reads_and_writes),
        cmocka_unit_test(samples_and_packs_are_told),
    };
    return cmocka_run_group_tests(tests, make_graph, remove_folder);
}
