/* --pack-dtype: rows are rounded where they leave the feature file. So a run has the numbers, to
 * the last bit, of one over features that were converted before, whatever the cache, the layout and
 * the engine, offline and resumed. Conversions are compared with a search for the nearest of all
 * 65536 numbers. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/testing.h"

#include "base/file.h"
#include "dataset/convert.h"
#include "support/files.h"
#include "support/folder.h"
#include "support/runs.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <outgrow/outgrow.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ==== numbers ==== */

struct format {
    int mantissa, bias; /* bits of the mantissa; of the exponent the rest */
    int64_t (*narrow)(const void *in, size_t n, void *out);
    uint32_t infinity;
};
static const struct format half = {10, 15, og__narrow_to_half, 0x7c00};
static const struct format bfloat = {7, 127, og__narrow_to_bfloat, 0x7f80};

/* A finite number from its bits; that of infinity is what would come next. */
static double by_definition(const struct format *f, uint32_t bits)
{
    const uint32_t exponent = (bits & 0x7fff) >> f->mantissa;
    const double fraction = bits & ((1u << f->mantissa) - 1);
    double m = exponent ? ldexp(1, f->mantissa) + fraction : fraction;
    return ldexp(m, (int)(exponent ? exponent : 1) - f->bias - f->mantissa);
}

/* Nearest, ties to even: by halving the range of bits, which ascend as their numbers do. */
static uint32_t nearest(const struct format *f, float x)
{
    const double magnitude = fabs((double)x);
    const uint32_t sign = signbit(x) ? 0x8000 : 0;
    uint32_t low = 0;
    uint32_t high = f->infinity;
    if (isinf(x) || magnitude >= by_definition(f, high))
        return sign | high;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        *(by_definition(f, middle) <= magnitude ? &low : &high) = middle;
    }
    double below = magnitude - by_definition(f, low);
    double above = by_definition(f, high) - magnitude;
    bool up = above < below || (above == below && low % 2 == 1);
    return sign | (up ? high : low);
}

static void assert_narrowed(const struct format *f, float x)
{
    uint16_t got;
    const int64_t over = f->narrow(&x, 1, &got);
    if (isnan(x)) {
        assert_true((got & 0x7fff) > f->infinity);
        assert_int_equal(over, -1);
        return;
    }
    const uint32_t want = nearest(f, x);
    if (got != want)
        fail_msg("%a: %04x, not %04x", (double)x, got, want);
    bool overflows = isfinite(x) && (want & 0x7fff) == f->infinity;
    assert_int_equal(over, overflows ? 0 : -1);
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Each number of the format, what is halfway to the next, and the floats next to both. */
static void check_all(const struct format *f)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const float sign = bits & 0x8000 ? -1 : 1;
        uint32_t magnitude = bits & 0x7fff;
        if (magnitude > f->infinity) {
            assert_narrowed(f, float_of((bits & 0x8000) << 16 | 0x7f800001 | magnitude << 8));
            continue;
        }
        double here = by_definition(f, magnitude);
        double next = by_definition(f, magnitude + 1);
        const float exact[] = {(float)here, (float)((here + next) / 2)};
        for (size_t i = 0; i < 2; i++) {
            assert_narrowed(f, sign * exact[i]);
            assert_narrowed(f, sign * nextafterf(exact[i], INFINITY));
            assert_narrowed(f, sign * nextafterf(exact[i], 0));
        }
    }
}

static void every_number_is_rounded_to_the_nearest(void **state)
{
    (void)state;
    uint32_t seed = 1;
    check_all(&half);
    check_all(&bfloat);
    for (int i = 0; i < 400000; i++) {
        seed = seed * 1664525u + 1013904223u;
        assert_narrowed(&half, float_of(seed));
        assert_narrowed(&bfloat, float_of(seed));
        assert_narrowed(&half, ldexpf((float)(int32_t)seed, -20 - (int)(seed >> 3 & 31)));
    }
    const float edges[] = {65504, 65519.996f, 65520, 3.3895313e38f, 3.4e38f, -0.0f, INFINITY, NAN};
    for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++) {
        assert_narrowed(&half, edges[i]);
        assert_narrowed(&bfloat, -edges[i]);
    }
}

/* Any length from any byte, nothing after the end; the first number that is beyond is reported. */
static void rows_are_narrowed_as_numbers_are(void **state)
{
    (void)state;
    enum { MOST = 150 };
    static const struct format *const formats[] = {&half, &bfloat};
    char in[MOST * 4 + 4];
    char out[MOST * 2 + 8];
    for (size_t n = 0; n <= MOST; n++) {
        const size_t shift = n % 4;
        const struct format *f = formats[n / 2 % 2];
        for (size_t i = 0; i < n; i++)
            memcpy(in + shift + 4 * i, &(float){(float)i * 0.1f - 3}, 4);
        memset(out, 0x5a, sizeof(out));
        assert_int_equal(f->narrow(in + shift, n, out + shift), -1);
        for (size_t i = 0; i < n; i++) {
            uint16_t got;
            memcpy(&got, out + shift + 2 * i, 2);
            assert_int_equal(got, nearest(f, (float)i * 0.1f - 3));
        }
        assert_int_equal(out[shift + 2 * n], 0x5a);
        if (n == 0)
            continue;
        memcpy(in + shift + 4 * (n - 1), &(float){-3.402e38f}, 4);
        assert_int_equal(f->narrow(in + shift, n, out + shift), n - 1);
        memcpy(in + shift + 4 * (n / 2), &(float){3.402e38f}, 4);
        assert_int_equal(f->narrow(in + shift, n, out + shift), n / 2);
    }
}

/* ==== runs ==== */

enum { PAIRS = 32, NODES = 3000, DIM = 25 };
typedef const char *const pairs_t[PAIRS]; /* option, value, ..., NULL */

static char root[TEST_PATH];
static const char *const base[] = {
    "fanout", "5,4",  "batch",   "128", "hidden", "16",     "epochs", "2",   "memory", "96M",
    "lr",     "0.01", "threads", "2",   "policy", "degree", "layout", "raw", NULL};

static void write_file(const char *path, const void *head, size_t head_bytes, const void *data,
                       size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(og__write_all(fd, head, head_bytes, 0, path, NULL), 0);
    assert_int_equal(og__write_all(fd, data, bytes, (off_t)head_bytes, path, NULL), 0);
    close(fd);
}

static void write_array(const char *path, enum og__npy_type type, const void *data)
{
    char head[4096];
    size_t n = og__npy_header(head, type, 2, (const int64_t[]){NODES, DIM}, 4096);
    write_file(path, head, n, data, (size_t)NODES * DIM * og__npy_size(type));
}

/* Writes meta.json of folder `name`, with features of this dtype. `raw`: they are in a file without
 * a header, from byte 13. */
static void describe(const char *name, const char *dtype, bool raw)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/meta.json", name);
    json_t *meta = json_load_file(path, 0, NULL);
    assert_non_null(meta);
    json_object_set_new(meta, "feature_dtype", json_string(dtype));
    json_object_del(meta, "checksums");
    if (raw)
        json_object_set_new(meta, "files",
                            json_pack("{s:{s:s s:s s:[i,i] s:i}}", "features", "path",
                                      "features.raw", "dtype", "float32", "shape", NODES, DIM,
                                      "offset", 13));
    assert_int_equal(json_dump_file(meta, path, 0), 0);
    json_decref(meta);
}

/* The datasets graph (f32), odd (the same without a header), f16 and bf16 (converted), u8 and
 * beyond. The last is graph with a number that f16 does not hold. */
static void make_datasets(void)
{
    static float x[NODES * DIM];
    static uint16_t h[NODES * DIM];
    static uint8_t bytes[NODES * DIM];
    struct og_npy a;
    struct og_generate g;
    og__generate_init(&g);
    g.nodes = NODES;
    g.degree = 10;
    g.dim = DIM;
    g.classes = 5;
    g.train_fraction = 0.2;
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    g.threads = 2;
    assert_int_equal(og_generate("graph", &g, NULL, NULL), 0);
    assert_int_equal(og__npy_open(&a, "graph/features.npy", NULL), 0);
    assert_int_equal(og__npy_read(&a, 0, NODES, x, NULL), 0);
    og__npy_close(&a);
    for (size_t i = 0; i < NODES; i++) { /* small ones, ties */
        x[i * DIM] *= 1e-6f;
        x[i * DIM + 1] = 1 + ldexpf((float)(i % 64), -12);
    }
    write_array("graph/features.npy", OG__NPY_F32, x);
    describe("graph", "f32", false);
    static const char *const names[] = {"f16", "bf16"};
    for (size_t k = 0; k < 2; k++) {
        char path[64];
        test_shell("cp -r %s %s", "graph", names[k]);
        for (size_t i = 0; i < (size_t)NODES * DIM; i++)
            h[i] = (uint16_t)nearest(k ? &bfloat : &half, x[i]);
        snprintf(path, sizeof(path), "%s/features.npy", names[k]);
        write_array(path, k ? OG__NPY_U16 : OG__NPY_F16, h);
        describe(names[k], names[k], false);
    }
    test_shell("cp -r %s %s", "graph", "u8");
    write_array("u8/features.npy", OG__NPY_U8, bytes);
    describe("u8", "u8", false);
    test_shell("cp -r graph %s && rm %s/features.npy", "odd", "odd");
    write_file("odd/features.raw", "thirteen byte", 13, x, sizeof(x));
    describe("odd", "f32", true);
    test_shell("cp -r %s %s", "graph", "beyond");
    x[1234 * DIM + 7] = -70000;
    write_array("beyond/features.npy", OG__NPY_F32, x);
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(test_folder(root, "dtype"));
    assert_int_equal(chdir(root), 0);
    setenv("XDG_CACHE_HOME", root, 1);
    make_datasets();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(chdir("/"), 0);
    test_shell("rm -r %s%s", root, "");
    return 0;
}

/* dtype: NULL = as stored. */
static void set_options(struct og_options *opt, pairs_t pairs, const char *dtype)
{
    const char *const *const lists[] = {base, pairs};
    og__options_init(opt);
    for (size_t l = 0; l < 2; l++)
        for (const char *const *p = lists[l]; p && *p; p += 2)
            assert_int_equal(og_options_set(opt, p[0], p[1], NULL), 0);
    if (dtype)
        assert_int_equal(og_options_set(opt, "pack-dtype", dtype, NULL), 0);
}

struct outcome {
    json_t *summary;
    char *checkpoint;
    size_t bytes;
    char said[4096];
};

static void note_message(void *arg, int level, const char *text)
{
    struct outcome *o = arg;
    (void)level;
    snprintf(o->said + strlen(o->said), sizeof(o->said) - strlen(o->said), "%s\n", text);
}

static struct outcome train(const char *dataset, pairs_t pairs, const char *dtype)
{
    struct outcome o = {0};
    const struct og_observer seen = {.size = sizeof(seen), .arg = &o, .message = note_message};
    struct og_options opt;
    struct og_err err = {0};
    char *summary = NULL;
    set_options(&opt, pairs, dtype);
    assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
    if (og_train(dataset, &opt, &seen, &summary, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    og__options_release(&opt);
    o.summary = json_loads(summary, 0, NULL);
    free(summary);
    assert_non_null(o.summary);
    assert_int_equal(
        og__read_text("run/checkpoint.safetensors", 1 << 24, &o.checkpoint, &o.bytes, NULL), 0);
    test_shell("rm -r %s%s", "run", "");
    return o;
}

static void drop(struct outcome *o)
{
    json_decref(o->summary);
    free(o->checkpoint);
}

static int64_t number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static const json_t *last_epoch(const struct outcome *o)
{
    const json_t *epochs = json_object_get(o->summary, "epochs");
    return json_array_get(epochs, json_array_size(epochs) - 1);
}

static const json_t *predicted(const struct outcome *o)
{
    return json_object_get(json_object_get(o->summary, "plan"), "predicted");
}

static bool same_losses(const struct outcome *a, const struct outcome *b)
{
    const json_t *of_a = json_object_get(a->summary, "epochs");
    const json_t *of_b = json_object_get(b->summary, "epochs");
    bool same = json_array_size(of_a) == json_array_size(of_b);
    for (size_t e = 0; same && e < json_array_size(of_a); e++)
        same = json_equal(json_object_get(json_array_get(of_a, e), "loss"),
                          json_object_get(json_array_get(of_b, e), "loss")) &&
               json_equal(json_object_get(json_array_get(of_a, e), "valid_acc"),
                          json_object_get(json_array_get(of_b, e), "valid_acc"));
    return same && json_equal(json_object_get(a->summary, "test_acc"),
                              json_object_get(b->summary, "test_acc"));
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
    assert_true(same_losses(a, b));
    assert_int_equal(a->bytes, b->bytes);
    assert_memory_equal(a->checkpoint, b->checkpoint, a->bytes);
}

/* ---- the same numbers as over converted features ---- */

static void a_run_is_that_over_converted_features(void **state)
{
    (void)state;
    static const char *const dtypes[] = {"f16", "bf16"};
    static pairs_t none = {NULL};
    static pairs_t ways[] = {
        {"cache", "0%"},
        {"cache", "10%", "io", "pread"},
        {"cache", "100%", "threads", "1"},
        {"cache", "7%", "io", "mmap"},
        {"policy", "lru", "cache", "10%"},
        {"policy", "belady", "cache", "10%", "superbatch", "3"},
        {"policy", "hybrid", "cache", "10%", "topology", "disk"},
        {"layout", "packed", "cache", "0%"},
        {"layout", "packed", "cache", "10%", "superbatch", "4"},
        {"layout", "packed", "policy", "belady", "cache", "10%", "alternate", "true"},
        {"layout", "segmented", "policy", "frequency", "cache", "5%", "disk", "400K"},
        {"preset", "helios", "cache", "10%"},
        {"preset", "memory"},
        {"policy", "auto", "layout", "auto", "memory", "84M"},
    };
    for (size_t k = 0; k < 2; k++) {
        struct outcome want = train(dtypes[k], none, NULL);
        struct outcome stored = train("graph", none, NULL);
        assert_false(same_losses(&want, &stored)); /* it does change numbers */
        drop(&stored);
        for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
            struct outcome got = train(i % 2 ? "odd" : "graph", ways[i], dtypes[k]);
            assert_same(&want, &got);
            drop(&got);
        }
        drop(&want);
    }
}

static void edges_are_predicted_from_the_same_numbers(void **state)
{
    (void)state;
    static pairs_t link = {"task", "link", "batch", "512", "epochs", "1"};
    struct outcome want = train("f16", link, NULL);
    struct outcome got = train("graph", link, "f16");
    assert_same(&want, &got);
    drop(&want);
    drop(&got);
}

/* The stored dtype may be requested by its name; other dtypes have nothing to give up. */
static void only_f32_is_made_narrower(void **state)
{
    (void)state;
    static pairs_t none = {NULL};
    static const char *const refused[][2] = {
        {"u8", "f16"}, {"f16", "bf16"}, {"bf16", "f32"}, {"f16", "f32"}};
    static const char *const same[][2] = {{"graph", "f32"}, {"graph", "stored"}, {"f16", "f16"}};
    for (size_t i = 0; i < 3; i++) {
        struct outcome want = train(same[i][0], none, NULL);
        struct outcome got = train(same[i][0], none, same[i][1]);
        assert_same(&want, &got);
        const json_t *config = json_object_get(got.summary, "config");
        assert_string_equal(json_string_value(json_object_get(config, "pack-dtype")), "stored");
        drop(&want);
        drop(&got);
    }
    for (size_t i = 0; i < 4; i++) {
        struct og_options opt;
        struct og_err err = {0};
        set_options(&opt, none, refused[i][1]);
        assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
        assert_int_equal(og_train(refused[i][0], &opt, NULL, NULL, &err), -EINVAL);
        assert_non_null(strstr(err.message, "--pack-dtype"));
        assert_non_null(strstr(err.message, refused[i][0]));
        assert_non_null(strstr(err.hint, "only f32"));
        assert_int_equal(access("run", F_OK), -1);
        og__options_release(&opt);
    }
}

/* ---- figures ---- */

/* Packs are those of converted features, byte for byte; raw rows are read as they are stored. */
static void what_is_counted_is_what_is_moved(void **state)
{
    (void)state;
    static pairs_t raw = {"cache", "10%"};
    static pairs_t packed[] = {
        {"layout", "packed", "cache", "10%"},
        {"layout", "packed", "cache", "0%", "superbatch", "2"},
        {"layout", "segmented", "policy", "frequency", "cache", "5%", "disk", "400K"},
    };
    static const char *const equal[] = {"misses", "reads", "feature_bytes_read"};
    for (size_t i = 0; i < 3; i++) {
        struct outcome want = train("f16", packed[i], NULL);
        struct outcome got = train("graph", packed[i], "f16");
        struct outcome wide = train("graph", packed[i], NULL);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(number(last_epoch(&got), equal[k]),
                             number(last_epoch(&want), equal[k]));
            assert_int_equal(number(predicted(&got), equal[k]), number(predicted(&want), equal[k]));
        }
        assert_int_equal(number(last_epoch(&got), "bytes_written"),
                         number(last_epoch(&want), "bytes_written"));
        if (i < 2)
            assert_true(number(last_epoch(&got), "feature_bytes_read") * 10 <
                        number(last_epoch(&wide), "feature_bytes_read") * 6);
        drop(&want);
        drop(&got);
        drop(&wide);
    }
    struct outcome want = train("graph", raw, NULL);
    struct outcome got = train("graph", raw, "bf16");
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(number(last_epoch(&got), equal[k]), number(last_epoch(&want), equal[k]));
        assert_int_equal(number(predicted(&got), equal[k]), number(predicted(&want), equal[k]));
    }
    drop(&want);
    drop(&got);
}

/* So many bytes hold twice the rows, in runs and in simulations. */
static void a_cache_holds_twice_the_rows(void **state)
{
    (void)state;
    static pairs_t small = {"cache", "60000"};
    struct outcome want = train("graph", small, NULL);
    struct outcome got = train("graph", small, "f16");
    const json_t *plan = json_object_get(got.summary, "plan");
    const int64_t rows = number(json_object_get(want.summary, "plan"), "cache_rows");
    assert_int_equal(rows, 60000 / (DIM * 4));
    assert_int_equal(number(plan, "cache_rows"), 2 * rows);
    int64_t hits[2];
    for (int k = 0; k < 2; k++) {
        struct og_options opt;
        char *text = NULL;
        set_options(&opt, small, k ? NULL : "f16");
        opt.epochs = 1;
        assert_int_equal(
            og_simulate(k ? "f16" : "graph", "degree", "60000", NULL, &opt, NULL, &text, NULL), 0);
        json_t *result = json_loads(text, 0, NULL);
        hits[k] = number(json_array_get(json_object_get(result, "results"), 0), "hits");
        json_decref(result);
        free(text);
        og__options_release(&opt);
    }
    assert_int_equal(hits[0], hits[1]);
    assert_int_equal(hits[0],
                     number(json_array_get(json_object_get(got.summary, "epochs"), 0), "hits"));
    drop(&want);
    drop(&got);
}

static json_t *eval(const char *dataset, const char *dtype)
{
    struct og_options opt;
    char *text = NULL;
    set_options(&opt, (pairs_t){NULL}, dtype);
    assert_int_equal(og_eval(dataset, "kept.safetensors", "test", &opt, NULL, &text, NULL), 0);
    json_t *found = json_loads(text, 0, NULL);
    free(text);
    og__options_release(&opt);
    return found;
}

static void evaluation_sees_the_same_rows(void **state)
{
    (void)state;
    struct outcome o = train("graph", (pairs_t){NULL}, "bf16");
    write_file("kept.safetensors", o.checkpoint, o.bytes, NULL, 0);
    json_t *want = eval("bf16", NULL);
    json_t *got = eval("graph", "bf16");
    assert_true(json_equal(json_object_get(want, "loss"), json_object_get(got, "loss")));
    json_decref(want);
    json_decref(got);
    drop(&o);
}

/* ---- a number that is beyond ---- */

static void what_does_not_fit_is_named(void **state)
{
    (void)state;
    static pairs_t ways[] = {
        {"cache", "100%"},
        {"cache", "0%", "layout", "packed"},
        {"cache", "0%", "layout", "segmented"},
        {"cache", "0%", "io", "pread", "fanout", "-1,-1"},
        {"cache", "0%", "io", "mmap", "fanout", "-1,-1"},
    };
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        struct og_options opt;
        struct og_err err = {0};
        set_options(&opt, ways[i], "f16");
        opt.fanout[0] = opt.fanout[1] = -1;
        assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
        assert_int_equal(og_train("beyond", &opt, NULL, NULL, &err), -ERANGE);
        assert_non_null(strstr(err.message, "beyond/features.npy: a number of row 1234 is beyond"));
        assert_non_null(strstr(err.hint, "bf16"));
        og__options_release(&opt);
        test_shell("rm -rf %s%s", "run", "");
    }
    struct outcome o = train("beyond", ways[0], "bf16");
    drop(&o);
}

/* ---- interrupted ---- */

static void cut(pairs_t pairs, const char *dtype)
{
    struct test_stopper s = {.at = 7};
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = &s, .progress = test_count_batch, .stop = &s.stop};
    struct og_options opt;
    set_options(&opt, pairs, dtype);
    assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
    assert_int_equal(og_train("graph", &opt, &seen, NULL, NULL), OG_INTERRUPTED);
    og__options_release(&opt);
}

static void a_resumed_run_has_the_same_numbers(void **state)
{
    (void)state;
    static pairs_t none = {NULL};
    static pairs_t packed = {"layout", "packed", "cache", "10%"};
    static pairs_t on = {"resume", "true"};
    struct outcome want = train("f16", none, NULL);
    cut(packed, "f16");
    struct og_options opt;
    struct og_err err = {0};
    set_options(&opt, on, NULL);
    assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
    assert_int_equal(og_train("graph", &opt, NULL, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.message, "started with another --pack-dtype"));
    og__options_release(&opt);
    struct outcome got = train("graph", on, "f16");
    assert_same(&want, &got);
    drop(&want);
    drop(&got);
}

/* ---- offline ---- */

static void sample_and_pack(const char *dataset, const char *folder, const char *dtype)
{
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    set_options(&opt, (pairs_t){"resample-every", "2", "epochs", "4"}, dtype);
    if (og_sample(dataset, folder, true, &opt, NULL, NULL, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    assert_int_equal(og_options_set(&opt, "samples", folder, NULL), 0);
    assert_int_equal(og_options_set(&opt, "cache", "10%", NULL), 0);
    if (og_pack(dataset, &opt, NULL, &text, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    free(text);
    og__options_release(&opt);
}

static bool heard(const struct outcome *o, const char *text)
{
    return strstr(o->said, text) != NULL;
}

static const pairs_t on_f16 = {"resample-every", "2",         "epochs", "4",      "samples", "s16",
                               "policy",         "frequency", "layout", "packed", "cache",   "10%"};
static const pairs_t on_narrow = {"resample-every", "2",      "epochs", "4",
                                  "samples",        "s",      "policy", "frequency",
                                  "layout",         "packed", "cache",  "10%"};

static void packs_made_beforehand_are_narrow_too(void **state)
{
    (void)state;
    sample_and_pack("f16", "s16", NULL);
    sample_and_pack("graph", "s", "f16");
    /* samples are as stored: their features are the dataset's */
    struct og_npy a;
    assert_int_equal(og__npy_open(&a, "s/features.npy", NULL), 0);
    assert_int_equal(a.type, OG__NPY_F32);
    og__npy_close(&a);
    struct outcome want = train("f16", on_f16, NULL);
    struct outcome got = train("graph", on_narrow, "f16");
    assert_same(&want, &got);
    assert_false(heard(&got, "ignored") || heard(&got, "packs for itself"));
    static const char *const equal[] = {"misses", "reads", "feature_bytes_read"};
    for (size_t k = 0; k < 3; k++)
        assert_int_equal(number(last_epoch(&got), equal[k]), number(last_epoch(&want), equal[k]));
    drop(&got);
    drop(&want);
}

/* For packs in another dtype pack.json says so; where that is wrong, each packed file does. */
static void packs_of_another_dtype_are_refused(void **state)
{
    (void)state;
    static pairs_t straight = {"resample-every", "2", "epochs", "4"};
    static const char *const others[] = {NULL, "bf16"};
    static const char *const told[] = {"rows are f16, this run caches them as f32",
                                       "rows are f16, this run caches them as bf16"};
    for (size_t i = 0; i < 2; i++) {
        struct outcome want = train("graph", straight, others[i]);
        struct outcome got = train("graph", on_narrow, others[i]);
        assert_same(&want, &got);
        assert_true(heard(&got, told[i]) && heard(&got, "ignored"));
        drop(&got);
        if (i == 1) {
            test_shell("sed -i -e s/\\\"f16\\\"/\\\"bf16\\\"/ -e s/xxh3/none/ %s/pack/%s", "s",
                       "pack.json");
            got = train("graph", on_narrow, others[i]);
            assert_same(&want, &got);
            assert_true(heard(&got, "packed rows are f16, --pack-dtype of this run is bf16") &&
                        heard(&got, "packs for itself"));
            drop(&got);
        }
        drop(&want);
    }
}

/* Scales are made of the features as they were imported: what is larger came later. */
static void numbers_beyond_their_scale_are_found(void **state)
{
    (void)state;
    int64_t (*const narrow[])(const void *, const float *, size_t, void *) = {og__narrow_to_i8,
                                                                              og__narrow_to_e4m3};
    for (size_t f = 0; f < OG_COUNT(narrow); f++) {
        float scale[3] = {0.3f, 7, 1e-3f};
        uint8_t out[3];
        float x[3] = {scale[0] * -127, scale[1] * 127, 0};
        assert_int_equal(narrow[f](x, scale, 3, out), -1);
        x[2] = scale[2] * 127.1f;
        assert_int_equal(narrow[f](x, scale, 3, out), 2);
        x[1] = -INFINITY;
        assert_int_equal(narrow[f](x, scale, 3, out), 1);
        x[0] = NAN;
        assert_int_equal(narrow[f](x, scale, 3, out), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_rounded_to_the_nearest),
        cmocka_unit_test(rows_are_narrowed_as_numbers_are),
        cmocka_unit_test(numbers_beyond_their_scale_are_found),
        cmocka_unit_test(a_run_is_that_over_converted_features),
        cmocka_unit_test(edges_are_predicted_from_the_same_numbers),
        cmocka_unit_test(only_f32_is_made_narrower),
        cmocka_unit_test(what_is_counted_is_what_is_moved),
        cmocka_unit_test(a_cache_holds_twice_the_rows),
        cmocka_unit_test(evaluation_sees_the_same_rows),
        cmocka_unit_test(what_does_not_fit_is_named),
        cmocka_unit_test(a_resumed_run_has_the_same_numbers),
        cmocka_unit_test(packs_made_beforehand_are_narrow_too),
        cmocka_unit_test(packs_of_another_dtype_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
