/* generate, verify, info: what the files say of themselves, from any number of threads and memory.
 * Also what is found once they are damaged. */
#include "support/testing.h"

#include "base/file.h"
#include "dataset/convert.h"
#include "dataset/generate/graph_model.h"
#include "support/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static char root[TEST_PATH];
static const char *const files[] = {"indptr.npy", "indices.npy", "features.npy", "labels.npy",
                                    "train.npy",  "valid.npy",   "test.npy",     "meta.json"};

static int open_root(void **state)
{
    (void)state;
    return test_folder(root, "generate") ? 0 : -1;
}

static int close_root(void **state)
{
    (void)state;
    return rmdir(root); /* fails when anything was left */
}

static void path_of(char out[160], const char *name, const char *file)
{
    snprintf(out, 160, "%s/%s%s%s", root, name, *file ? "/" : "", file);
}

static void remove_dataset(const char *name)
{
    char path[160];
    for (size_t i = 0; i < OG_COUNT(files); i++) {
        path_of(path, name, files[i]);
        unlink(path);
    }
    path_of(path, name, "");
    assert_int_equal(rmdir(path), 0);
}

static struct og_generate small(int model)
{
    struct og_generate g;
    og__generate_init(&g);
    g.model = model;
    g.nodes = 5000;
    g.degree = 12;
    g.dim = 10;
    g.classes = 4;
    g.memory = (struct og_amount){OG_BYTES, 128 << 20};
    g.threads = 2;
    return g;
}

static struct og_graph *generate(const char *name, const struct og_generate *g)
{
    char path[160];
    struct og_err err = {0};
    struct og_graph *ds = NULL;
    path_of(path, name, "");
    if (og_generate(path, g, NULL, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(og__graph_open(path, &ds, NULL), 0);
    return ds;
}

/* ---- the same files ---- */

static void assert_same_file(const char *a, const char *b, const char *file)
{
    char path[160];
    char *text[2];
    size_t len[2];
    path_of(path, a, file);
    assert_int_equal(og__read_text(path, 1 << 26, &text[0], &len[0], NULL), 0);
    path_of(path, b, file);
    assert_int_equal(og__read_text(path, 1 << 26, &text[1], &len[1], NULL), 0);
    assert_int_equal(len[0], len[1]);
    assert_memory_equal(text[0], text[1], len[0]);
    free(text[0]);
    free(text[1]);
}

static void threads_and_memory_change_nothing(void **state)
{
    (void)state;
    for (int model = OG_PLANTED; model <= OG_RMAT; model++) {
        struct og_generate g = small(model);
        g.nodes = 30000; /* 360 k edges: more than the smaller budget sorts at once */
        og__graph_close(generate("a", &g));
        g.threads = 3;
        g.memory.value = 24 << 20;
        og__graph_close(generate("b", &g));
        for (size_t i = 0; i + 1 < OG_COUNT(files); i++) /* meta.json holds the name */
            assert_same_file("a", "b", files[i]);
        remove_dataset("a");
        remove_dataset("b");
    }
}

/* ---- what a planted graph promises ---- */

static void numbering_is_a_bijection(void **state)
{
    (void)state;
    static const int64_t sizes[] = {2, 3, 16, 17, 1000, 4097};
    for (size_t i = 0; i < OG_COUNT(sizes); i++) {
        struct og_generate g = small(OG_PLANTED);
        struct og_graph_model m;
        g.nodes = sizes[i];
        g.classes = 2;
        og__graph_model_init(&m, &g);
        char *seen = calloc((size_t)g.nodes, 1);
        for (uint64_t x = 0; x < (uint64_t)g.nodes; x++) {
            uint32_t id = og__node_id(&m, x);
            assert_true(id < g.nodes);
            assert_int_equal(seen[id]++, 0);
            assert_int_equal(og__node_internal(&m, id), x);
        }
        free(seen);
    }
}

static void edges_follow_classes_as_told(void **state)
{
    (void)state;
    static const double shares[] = {0.1, 0.5, 0.9};
    for (size_t s = 0; s < OG_COUNT(shares); s++) {
        struct og_generate g = small(OG_PLANTED);
        g.homophily = shares[s];
        struct og_graph *ds = generate("h", &g);
        int64_t *ptr = calloc((size_t)g.nodes + 1, sizeof(*ptr));
        int64_t *index = calloc((size_t)ds->n_edges, sizeof(*index));
        int64_t *class = calloc((size_t)g.nodes, sizeof(*class));
        assert_int_equal(og__npy_read_int64(&ds->relation->indptr, 0, g.nodes + 1, ptr, NULL), 0);
        assert_int_equal(og__npy_read_int64(&ds->relation->indices, 0, ds->n_edges, index, NULL),
                         0);
        assert_int_equal(og__npy_read_int64(&ds->labels, 0, g.nodes, class, NULL), 0);
        int64_t inside = 0;
        int64_t most = 0;
        for (int64_t v = 0; v < g.nodes; v++) {
            most = OG_MAX(most, ptr[v + 1] - ptr[v]);
            for (int64_t e = ptr[v]; e < ptr[v + 1]; e++) {
                assert_true(index[e] != v);
                assert_true(e == ptr[v] || index[e - 1] < index[e]);
                inside += class[index[e]] == class[v];
            }
        }
        /* doubled edges are dropped, and more of them lie inside classes */
        assert_true(fabs((double)inside / (double)ds->n_edges - shares[s]) < 0.03);
        assert_true(most > 12 * g.degree); /* hubs */
        free(ptr);
        free(index);
        free(class);
        og__graph_close(ds);
        remove_dataset("h");
    }
}

static void every_dtype_holds_the_same_features(void **state)
{
    (void)state;
    static const double tolerance[] = {0, 2e-3, 2e-2, 0.5 / 32 + 1e-6};
    struct og_generate g = small(OG_PLANTED);
    float exact[10 * 100];
    for (int dtype = OG_F32; dtype <= OG_U8; dtype++) {
        char raw[10 * 100 * 4];
        g.dtype = dtype;
        struct og_graph *ds = generate("d", &g);
        assert_int_equal(ds->group->stored, dtype);
        assert_int_equal(og__npy_read(&ds->group->rows, 0, 100, raw, NULL), 0);
        for (size_t i = 0; i < OG_COUNT(exact); i++) {
            double x = og__number_at(ds->group->rows.type, raw, i);
            if (dtype == OG_F32)
                exact[i] = (float)x;
            if (dtype == OG_BF16) {
                uint32_t bits = (uint32_t)((const uint16_t *)(const void *)raw)[i] << 16;
                float wide;
                memcpy(&wide, &bits, sizeof(wide));
                x = wide;
            }
            if (dtype == OG_U8)
                x = (x - 128) / 32;
            double clipped = dtype == OG_U8 ? fmin(fmax(exact[i], -4), 127.0 / 32) : exact[i];
            assert_true(fabs(x - clipped) <= tolerance[dtype] * fmax(1, fabs(clipped)));
        }
        og__graph_close(ds);
        remove_dataset("d");
    }
}

/* ---- verify ---- */

struct findings {
    int n;
    char first[256];
};

static void note(void *arg, const char *text, const char *hint)
{
    assert_non_null(hint);
    struct findings *f = arg;
    if (f->n++ == 0)
        snprintf(f->first, sizeof(f->first), "%s", text);
}

/* Overwrite bytes of a file, with the checksums gone so that the content itself must be found out.
 */
static void damage(const char *file, off_t at, const void *data, size_t bytes)
{
    char path[160];
    path_of(path, "v", file);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, bytes, at), bytes);
    close(fd);
    path_of(path, "v", "meta.json");
    json_t *meta = json_load_file(path, 0, NULL);
    json_object_del(meta, "checksums");
    assert_int_equal(json_dump_file(meta, path, 0), 0);
    json_decref(meta);
}

static void damage_is_found(void **state)
{
    (void)state;
    static const int64_t far = 5000;
    static const int64_t back = -3;
    static const int32_t outside = 5000;
    static const uint32_t nan = 0x7fc00000;
    static const struct {
        const char *file;
        off_t at;
        const void *data;
        size_t bytes;
        const char *word;
    } cases[] = {
        {"indptr.npy", 4096 + 80, &back, 8, "indptr.npy: entry 10"},
        {"indices.npy", 4096 + 400, &outside, 4, "indices.npy: entry 100: node 5000"},
        {"features.npy", 4096 + 44, &nan, 4, "features.npy: row 1, column 1"},
        {"labels.npy", 4096 + 16, &far, 8, "labels.npy: row 2: class 5000"},
        {"train.npy", 4096, &far, 8, "train.npy: row 0: node 5000"},
    };
    char path[160];
    for (size_t i = 0; i <= OG_COUNT(cases); i++) {
        struct og_generate g = small(OG_PLANTED);
        struct findings f = {0};
        og__graph_close(generate("v", &g));
        path_of(path, "v", "");
        if (i < OG_COUNT(cases))
            damage(cases[i].file, cases[i].at, cases[i].data, cases[i].bytes);
        int rc = og_verify(path, note, &f, NULL, NULL);
        assert_int_equal(rc, f.n);
        if (i == OG_COUNT(cases))
            assert_int_equal(rc, 0);
        else if (!strstr(f.first, cases[i].word))
            fail_msg("\"%s\" instead of \"%s\"", f.first, cases[i].word);
        remove_dataset("v");
    }
    struct og_err err = {0};
    assert_true(og_verify("/nowhere", note, NULL, NULL, &err) < 0);
    assert_true(err.message[0]);
}

static void one_flipped_bit_breaks_a_checksum(void **state)
{
    (void)state;
    struct og_generate g = small(OG_PLANTED);
    struct findings f = {0};
    char path[160];
    og__graph_close(generate("v", &g));
    path_of(path, "v", "features.npy");
    int fd = open(path, O_RDWR);
    char byte;
    assert_int_equal(pread(fd, &byte, 1, 60000), 1);
    byte ^= 1; /* still a number */
    assert_int_equal(pwrite(fd, &byte, 1, 60000), 1);
    close(fd);
    path_of(path, "v", "");
    assert_int_equal(og_verify(path, note, &f, NULL, NULL), 1);
    assert_non_null(strstr(f.first, "features.npy: checksum"));
    remove_dataset("v");
}

static void info_counts(void **state)
{
    (void)state;
    struct og_generate g = small(OG_RMAT);
    char path[160];
    char *text = NULL;
    og__graph_close(generate("i", &g));
    path_of(path, "i", "");
    assert_int_equal(og_info(path, &text, NULL), 0);
    json_t *info = json_loads(text, 0, NULL);
    const json_t *degree = json_object_get(info, "in_degree");
    assert_int_equal(json_integer_value(json_object_get(info, "num_nodes")), 5000);
    assert_int_equal(json_integer_value(json_object_get(info, "num_edges")), 60000);
    assert_true(json_real_value(json_object_get(degree, "mean")) == 12);
    /* rmat is skewed: many nodes without an edge, hubs far above the median */
    assert_true(json_real_value(json_object_get(degree, "share_of_zero")) > 0.1);
    assert_true(json_integer_value(json_object_get(degree, "max")) >
                20 * json_integer_value(json_object_get(degree, "median")));
    json_decref(info);
    free(text);
    remove_dataset("i");
}

static void the_least_there_can_be_is_made(void **state)
{
    (void)state;
    struct og_generate g = small(OG_PLANTED);
    g.nodes = 2;
    g.dim = 1;
    g.classes = 1;
    g.train_fraction = 1.0 / 3;
    struct og_graph *ds = generate("l", &g);
    assert_int_equal(ds->n_nodes, 2);
    assert_int_equal(ds->group->dim, 1);
    assert_int_equal(ds->n_classes, 1);
    og__graph_close(ds);
    remove_dataset("l");
}

static void senseless_settings_are_refused(void **state)
{
    (void)state;
    char path[160];
    path_of(path, "x", "");
    for (int i = 0; i < 5; i++) {
        struct og_generate g = small(OG_PLANTED);
        struct og_err err = {0};
        if (i == 0)
            g.nodes = 1;
        else if (i == 1)
            g.train_fraction = 0.4;
        else if (i == 2)
            g.degree = 0;
        else if (i == 3)
            g.homophily = 1.5;
        else
            g.memory.value = 1 << 20;
        assert_true(og_generate(path, &g, NULL, &err) < 0);
        assert_true(err.message[0] && err.hint[0]);
    }
}

/* Options by name set what fields do, and say what they would take. */
static void options_have_names(void **state)
{
    (void)state;
    static const char *const set[][2] = {{"model", "rmat"},
                                         {"nodes", "30"},
                                         {"degree", "2.5"},
                                         {"dim", "3"},
                                         {"classes", "4"},
                                         {"dtype", "bf16"},
                                         {"train-fraction", "0.2"},
                                         {"homophily", "0.6"},
                                         {"seed", "8"},
                                         {"threads", "2"},
                                         {"types", "a:5"},
                                         {"relations", "a:r:a"},
                                         {"memory", "123456789"}};
    struct og_generate usual;
    struct og_generate *g = NULL;
    struct og_err err = {0};
    const struct og_option *o;
    size_t n = 0;
    og__generate_init(&usual);
    assert_int_equal(og_generate_new(&g, NULL), 0);
    assert_memory_equal(g, &usual, sizeof(usual));
    for (size_t i = 0; i < OG_COUNT(set); i++)
        assert_int_equal(og_generate_set(g, set[i][0], set[i][1], NULL), 0);
    assert_true(g->model == OG_RMAT && g->nodes == 30 && g->degree == 2.5 && g->dim == 3);
    assert_true(g->classes == 4 && g->dtype == OG_BF16 && g->train_fraction == 0.2);
    assert_true(g->homophily == 0.6 && g->seed == 8 && g->threads == 2);
    assert_true(g->memory.unit == OG_BYTES && g->memory.value == 123456789);
    assert_string_equal(g->types, "a:5");
    assert_string_equal(g->relations, "a:r:a");
    assert_int_equal(og_generate_set(g, "dims", "3", &err), -EINVAL);
    assert_string_equal(err.message, "dims: no such option");
    assert_string_equal(err.hint, "did you mean 'dim'?");
    err = (struct og_err){0};
    assert_int_equal(og_generate_set(g, "dim", "none", &err), -EINVAL);
    assert_non_null(strstr(err.message, "a whole number from 1"));
    while ((o = og_generate_option(n)))
        assert_true(o->size == sizeof(*o) && o->name && o->help && ++n);
    assert_int_equal(n, OG_COUNT(set));
    og_generate_free(g);
    og_generate_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_memory_change_nothing),
        cmocka_unit_test(numbering_is_a_bijection),
        cmocka_unit_test(edges_follow_classes_as_told),
        cmocka_unit_test(every_dtype_holds_the_same_features),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(one_flipped_bit_breaks_a_checksum),
        cmocka_unit_test(info_counts),
        cmocka_unit_test(the_least_there_can_be_is_made),
        cmocka_unit_test(senseless_settings_are_refused),
        cmocka_unit_test(options_have_names),
    };
    return cmocka_run_group_tests(tests, open_root, close_root);
}
