/* import npy: small sources, their results, and every way they can be wrong. A wrong source gives
 * one error that names the file, a hint, and no file left. */
#include "dataset/import/options.h"
#include "support/testing.h"

#include "base/file.h"
#include "base/temporary.h"
#include "dataset/graph.h"
#include "support/folder.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a folder with arrays ---- */

struct place {
    char root[64], src[80], out[80];
};

static void path_in(char out[160], const char *folder, const char *name)
{
    snprintf(out, 160, "%s/%s", folder, name);
}

static void write_bytes(const struct place *p, const char *name, const void *data, size_t bytes)
{
    char path[160];
    path_in(path, p->src, name);
    unlink(path);
    assert_int_equal(og__write_text(path, data, bytes, NULL), 0);
}

static void write_npy(const struct place *p, const char *name, enum og__npy_type type, int ndim,
                      int64_t rows, int64_t columns, const void *data)
{
    const int64_t shape[2] = {rows, columns};
    char head[4096];
    size_t len = og__npy_header(head, type, ndim, shape, 64);
    size_t bytes = (size_t)(rows * (ndim == 2 ? columns : 1)) * og__npy_size(type);
    char *all = malloc(len + bytes);
    memcpy(all, head, len);
    memcpy(all + len, data, bytes);
    write_bytes(p, name, all, len + bytes);
    free(all);
}

/* `data` is stored column by column. */
static void write_fortran(const struct place *p, const char *name, enum og__npy_type type,
                          int64_t rows, int64_t columns, const void *data)
{
    char all[512];
    const size_t bytes = (size_t)(rows * columns) * og__npy_size(type);
    const char *code = type == OG__NPY_F32 ? "<f4" : type == OG__NPY_I32 ? "<i4" : "<i8";
    assert_true(128 + bytes <= sizeof(all));
    memset(all, ' ', 128);
    memcpy(all, "\x93NUMPY\x01\x00\x76\x00", 10);
    int n = snprintf(all + 10, 118, "{'descr': '%s', 'fortran_order': True, 'shape': (%d, %d), }",
                     code, (int)rows, (int)columns);
    all[10 + n] = ' ';
    all[127] = '\n';
    memcpy(all + 128, data, bytes);
    write_bytes(p, name, all, 128 + bytes);
}

static const int64_t edges[6][2] = {{0, 1}, {1, 2}, {3, 1}, {0, 1}, {2, 2}, {4, 0}};
static const float feat[5][2] = {{1, 3}, {0, 0}, {2, 2}, {255, 1}, {7, 0}};
static const int64_t label[5] = {0, 2, 1, -1, 2};
static const int64_t train[2] = {0, 4};

static void make_source(struct place *p)
{
    assert_non_null(test_folder(p->root, "import"));
    snprintf(p->src, sizeof(p->src), "%s/src", p->root);
    snprintf(p->out, sizeof(p->out), "%s/out", p->root);
    assert_int_equal(og__make_dirs(p->src, NULL), 0);
    write_npy(p, "edges.npy", OG__NPY_I64, 2, 6, 2, edges);
    write_npy(p, "feat.npy", OG__NPY_F32, 2, 5, 2, feat);
    write_npy(p, "label.npy", OG__NPY_I64, 1, 5, 1, label);
    write_npy(p, "train.npy", OG__NPY_I64, 1, 2, 1, train);
}

/* Also the proof that nothing else is there. */
static void remove_place(const struct place *p)
{
    og__remove_tree(p->src);
    og__remove_tree(p->out);
    assert_int_equal(rmdir(p->root), 0);
}

static struct og_import settings(void)
{
    struct og_import opt;
    og__import_init(&opt);
    opt.memory = (struct og_amount){OG_BYTES, 64.0 * (1 << 20)};
    opt.threads = 1;
    return opt;
}

static struct og_graph *import_and_open(const struct place *p, const struct og_import *opt)
{
    struct og_err err = {0};
    struct og_graph *ds = NULL;
    if (og_import("npy", p->src, p->out, opt, NULL, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(og__graph_open(p->out, &ds, NULL), 0);
    return ds;
}

static void check_list(const struct og_graph *ds, int64_t v, int64_t n, const int64_t *expect)
{
    int64_t ptr[2];
    int64_t list[16];
    assert_int_equal(og__npy_read_int64(&ds->relation->indptr, v, 2, ptr, NULL), 0);
    assert_int_equal(ptr[1] - ptr[0], n);
    assert_int_equal(og__npy_read_int64(&ds->relation->indices, ptr[0], n, list, NULL), 0);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(list[i], expect[i]);
}

/* ---- what comes of it ---- */

static void edges_become_lists_of_in_neighbours(void **state)
{
    (void)state;
    struct place p;
    make_source(&p);
    struct og_import opt = settings();
    struct og_graph *ds = import_and_open(&p, &opt);
    assert_int_equal(ds->n_nodes, 5);
    assert_int_equal(ds->n_edges, 6);
    assert_int_equal(ds->n_classes, 3);
    check_list(ds, 0, 1, (const int64_t[]){4});
    check_list(ds, 1, 3, (const int64_t[]){0, 0, 3}); /* a doubled edge stays doubled */
    check_list(ds, 2, 2, (const int64_t[]){1, 2});
    check_list(ds, 3, 0, NULL);
    og__graph_close(ds);
    og__remove_tree(p.out);
    opt.reverse = opt.drop_self_loops = true;
    ds = import_and_open(&p, &opt);
    check_list(ds, 0, 2, (const int64_t[]){1, 1});
    check_list(ds, 2, 0, NULL);
    og__graph_close(ds);
    og__remove_tree(p.out);
    opt = settings();
    opt.symmetrize = true;
    ds = import_and_open(&p, &opt);
    check_list(ds, 0, 2, (const int64_t[]){1, 4});
    check_list(ds, 1, 3, (const int64_t[]){0, 2, 3});
    check_list(ds, 2, 2, (const int64_t[]){1, 2});
    og__graph_close(ds);
    remove_place(&p);
}

static void check_edges(const struct place *p, const struct og_import *opt)
{
    struct og_graph *ds = import_and_open(p, opt);
    assert_int_equal(ds->n_edges, 6);
    check_list(ds, 0, 1, (const int64_t[]){4});
    check_list(ds, 1, 3, (const int64_t[]){0, 0, 3});
    check_list(ds, 2, 2, (const int64_t[]){1, 2});
    og__graph_close(ds);
    og__remove_tree(p->out);
}

/* Two edges are [2, 2] either way: a row an edge, as is said of it. */
static void two_edges_are_rows(const struct place *p, const struct og_import *opt)
{
    static const int32_t pairs[2][2] = {{3, 1}, {4, 2}};
    static const int32_t columns[2][2] = {{3, 4}, {1, 2}};
    for (int fortran = 0; fortran <= 1; fortran++) {
        if (fortran)
            write_fortran(p, "edges.npy", OG__NPY_I32, 2, 2, columns);
        else
            write_npy(p, "edges.npy", OG__NPY_I32, 2, 2, 2, pairs);
        struct og_graph *ds = import_and_open(p, opt);
        check_list(ds, 1, 1, (const int64_t[]){3});
        check_list(ds, 2, 1, (const int64_t[]){4});
        check_list(ds, 4, 0, NULL);
        og__graph_close(ds);
        og__remove_tree(p->out);
    }
}

/* As PyTorch Geometric has them; and each way in the other order of elements. */
static void edges_may_be_two_rows(void **state)
{
    (void)state;
    int64_t rows[2][6];
    int32_t narrow[2][6];
    struct place p;
    make_source(&p);
    struct og_import opt = settings();
    for (int i = 0; i < 12; i++) {
        rows[i % 2][i / 2] = edges[i / 2][i % 2];
        narrow[i % 2][i / 2] = (int32_t)edges[i / 2][i % 2];
    }
    write_npy(&p, "edges.npy", OG__NPY_I64, 2, 2, 6, rows);
    check_edges(&p, &opt);
    write_npy(&p, "edges.npy", OG__NPY_I32, 2, 2, 6, narrow);
    check_edges(&p, &opt);
    write_fortran(&p, "edges.npy", OG__NPY_I64, 6, 2, rows);
    check_edges(&p, &opt);
    write_fortran(&p, "edges.npy", OG__NPY_I32, 6, 2, narrow);
    check_edges(&p, &opt);
    write_fortran(&p, "edges.npy", OG__NPY_I64, 2, 6, edges);
    check_edges(&p, &opt);
    two_edges_are_rows(&p, &opt);
    remove_place(&p);
}

static void check_features(const struct place *p, const struct og_import *opt, int dtype,
                           const void *expect, size_t bytes)
{
    struct og_graph *ds = import_and_open(p, opt);
    char got[64];
    assert_int_equal(ds->group->stored, dtype);
    assert_int_equal(ds->group->dim, 2);
    assert_int_equal(og__npy_read(&ds->group->rows, 0, 5, got, NULL), 0);
    assert_memory_equal(got, expect, bytes);
    og__graph_close(ds);
    og__remove_tree(p->out);
}

static void features_keep_or_take_a_dtype(void **state)
{
    (void)state;
    static const uint8_t bytes[10] = {1, 3, 0, 0, 2, 2, 255, 1, 7, 0};
    static const int32_t wide[10] = {1, 3, 0, 0, 2, 2, 255, 1, 7, 0};
    static const float shares[10] = {0.25f, 0.75f,        0,          0, 0.5f,
                                     0.5f,  255.0f / 256, 1.0f / 256, 1, 0};
    static const uint16_t half[10] = {0x3c00, 0x4200, 0,      0,      0x4000,
                                      0x4000, 0x5bf8, 0x3c00, 0x4700, 0};
    static const int64_t indptr[6] = {0, 2, 2, 4, 6, 7};
    static const int32_t indices[7] = {1, 0, 0, 1, 0, 1, 0};
    static const uint8_t values[7] = {3, 1, 2, 2, 255, 1, 7};
    char path[160];
    struct place p;
    make_source(&p);
    struct og_import opt = settings();
    check_features(&p, &opt, OG_F32, feat, sizeof(feat));
    opt.feature_dtype = OG_U8;
    check_features(&p, &opt, OG_U8, bytes, sizeof(bytes));
    opt.feature_dtype = OG_F16;
    check_features(&p, &opt, OG_F16, half, sizeof(half));
    opt = settings();
    opt.row_normalize = true;
    check_features(&p, &opt, OG_F32, shares, sizeof(shares));
    opt = settings();
    write_npy(&p, "feat.npy", OG__NPY_I32, 2, 5, 2, wide); /* integers that fit a byte */
    check_features(&p, &opt, OG_U8, bytes, sizeof(bytes));
    path_in(path, p.src, "feat.npy");
    unlink(path);
    write_npy(&p, "feat_indptr.npy", OG__NPY_I64, 1, 6, 1, indptr);
    write_npy(&p, "feat_indices.npy", OG__NPY_I32, 1, 7, 1, indices);
    write_npy(&p, "feat_data.npy", OG__NPY_U8, 1, 7, 1, values);
    check_features(&p, &opt, OG_U8, bytes, sizeof(bytes));
    remove_place(&p);
}

static void labels_may_be_many_missing_or_floats(void **state)
{
    (void)state;
    static const uint8_t many[5][3] = {{1, 0, 1}, {0, 0, 0}, {1, 1, 1}, {0, 1, 0}, {0, 0, 1}};
    const float some[5] = {1, NAN, 0, -1, 3};
    struct place p;
    make_source(&p);
    struct og_import opt = settings();
    write_npy(&p, "label.npy", OG__NPY_U8, 2, 5, 3, many);
    struct og_graph *ds = import_and_open(&p, &opt);
    float got[15];
    assert_true(ds->multi_label);
    assert_int_equal(ds->n_classes, 3);
    assert_int_equal(og__npy_read(&ds->labels, 0, 5, got, NULL), 0);
    for (int i = 0; i < 15; i++)
        assert_true(got[i] == (float)(&many[0][0])[i]);
    og__graph_close(ds);
    og__remove_tree(p.out);
    write_npy(&p, "label.npy", OG__NPY_F32, 1, 5, 1, some);
    ds = import_and_open(&p, &opt);
    int64_t classes[5];
    assert_int_equal(og__npy_read_int64(&ds->labels, 0, 5, classes, NULL), 0);
    assert_memory_equal(classes, ((const int64_t[]){1, -1, 0, -1, 3}), sizeof(classes));
    assert_int_equal(ds->n_classes, 4);
    og__graph_close(ds);
    remove_place(&p);
}

static void labels_may_be_values(void **state)
{
    (void)state;
    static const double some[5] = {1.5, NAN, -7, 0, 1e6};
    static const char said[] = "{\"task\": \"node regression\"}";
    struct place p;
    make_source(&p);
    struct og_import opt = settings();
    write_npy(&p, "label.npy", OG__NPY_F64, 1, 5, 1, some);
    write_bytes(&p, "meta.json", said, strlen(said));
    struct og_graph *ds = import_and_open(&p, &opt);
    float got[5];
    assert_true(ds->regression && !ds->multi_label);
    assert_int_equal(ds->n_classes, 1);
    assert_int_equal(og__npy_read(&ds->labels, 0, 5, got, NULL), 0);
    for (int i = 0; i < 5; i++)
        assert_true(got[i] == (float)some[i] || (isnan(some[i]) && isnan(got[i])));
    og__graph_close(ds);
    remove_place(&p);
}

static void edges_to_learn_come_along(void **state)
{
    (void)state;
    static const int32_t requested[3][2] = {{0, 1}, {4, 2}, {3, 3}};
    static const int64_t test[1][2] = {{2, 0}};
    struct place p;
    make_source(&p);
    struct og_import opt = settings();
    write_npy(&p, "train_edges.npy", OG__NPY_I32, 2, 3, 2, requested);
    write_npy(&p, "test_edges.npy", OG__NPY_I64, 2, 1, 2, test);
    for (int reverse = 0; reverse < 2; reverse++) {
        opt.reverse = reverse;
        struct og_graph *ds = import_and_open(&p, &opt);
        uint32_t *ends[OG__SPLITS];
        int64_t n[OG__SPLITS];
        for (int i = 0; i < OG__SPLITS; i++)
            assert_int_equal(og__graph_edges(ds, (enum og__split)i, NULL, &ends[i], &n[i], NULL),
                             0);
        assert_int_equal(n[OG__TRAIN], 3);
        assert_int_equal(n[OG__VALID], 0);
        assert_int_equal(n[OG__TEST], 1);
        for (int i = 0; i < 6; i++)
            assert_int_equal(ends[OG__TRAIN][i ^ reverse], requested[i / 2][i % 2]);
        assert_int_equal(ends[OG__TEST][reverse], 2);
        for (int i = 0; i < OG__SPLITS; i++)
            og__release(NULL, ends[i], (size_t)n[i] * 8, "seeds");
        og__graph_close(ds);
        og__remove_tree(p.out);
    }
    remove_place(&p);
}

/* ---- what is refused ---- */

static void expect_refusal(const struct place *p, const struct og_import *opt, const char *word)
{
    struct og_err err = {0};
    assert_true(og_import("npy", p->src, p->out, opt, NULL, &err) < 0);
    if (!strstr(err.message, word))
        fail_msg("\"%s\" does not say \"%s\"", err.message, word);
    if (!err.hint[0])
        fail_msg("no hint for \"%s\"", err.message);
    assert_int_not_equal(access(p->out, F_OK), 0);
}

/* Each breaks one thing of a good source. */
static void three_columns(const struct place *p)
{
    static const int64_t e[4][3] = {{0, 1, 5}, {1, 2, 5}, {2, 3, 5}, {3, 4, 5}};
    write_npy(p, "edges.npy", OG__NPY_I64, 2, 4, 3, e);
}
static void one_column(const struct place *p)
{
    write_npy(p, "edges.npy", OG__NPY_I64, 1, 2, 1, edges);
}
static void float_rows(const struct place *p)
{
    static const float e[2][3] = {{0, 1, 3}, {1, 2, 3}};
    write_npy(p, "edges.npy", OG__NPY_F32, 2, 2, 3, e);
}
static void source_out_of_range(const struct place *p)
{
    static const int32_t e[2][3] = {{0, 1, 5}, {1, 2, 3}};
    write_npy(p, "edges.npy", OG__NPY_I32, 2, 2, 3, e);
}
static void destination_out_of_range(const struct place *p)
{
    static const int32_t e[2][3] = {{0, 1, 2}, {1, -3, 3}};
    write_npy(p, "edges.npy", OG__NPY_I32, 2, 2, 3, e);
}
static void rows_without_edges(const struct place *p)
{
    write_npy(p, "edges.npy", OG__NPY_I64, 2, 2, 0, edges);
}
static void too_few_weights(const struct place *p)
{
    static const int32_t e[2][3] = {{0, 1, 2}, {1, 2, 3}};
    static const float weights[2] = {1, 2};
    write_npy(p, "edges.npy", OG__NPY_I32, 2, 2, 3, e);
    write_npy(p, "edge_weight.npy", OG__NPY_F32, 1, 2, 1, weights);
}
static void float_edges(const struct place *p)
{
    static const float e[2][2] = {{0, 1}, {1, 2}};
    write_npy(p, "edges.npy", OG__NPY_F32, 2, 2, 2, e);
}
static void id_out_of_range(const struct place *p)
{
    static const int32_t e[2][2] = {{0, 1}, {1, 5}};
    write_npy(p, "edges.npy", OG__NPY_I32, 2, 2, 2, e);
}
static void negative_id(const struct place *p)
{
    static const int32_t e[2][2] = {{0, 1}, {-1, 2}};
    write_npy(p, "edges.npy", OG__NPY_I32, 2, 2, 2, e);
}
static void no_edges(const struct place *p)
{
    write_npy(p, "edges.npy", OG__NPY_I64, 2, 0, 2, edges);
}
static void truncated_edges(const struct place *p)
{
    char path[160];
    path_in(path, p->src, "edges.npy");
    assert_int_equal(truncate(path, 150), 0);
}
static void lying_header(const struct place *p)
{
    char head[4096];
    const int64_t shape[2] = {(int64_t)1 << 60, 2};
    size_t len = og__npy_header(head, OG__NPY_I64, 2, shape, 64);
    write_bytes(p, "edges.npy", head, len);
}
static void three_fortran_columns(const struct place *p)
{
    static const int64_t e[12] = {0};
    write_fortran(p, "edges.npy", OG__NPY_I64, 4, 3, e);
}
static void not_npy(const struct place *p)
{
    write_bytes(p, "edges.npy", "0 1\n1 2\n", 8);
}
static void nan_feature(const struct place *p)
{
    float x[5][2];
    memcpy(x, feat, sizeof(x));
    x[3][1] = NAN;
    write_npy(p, "feat.npy", OG__NPY_F32, 2, 5, 2, x);
}
static void short_labels(const struct place *p)
{
    write_npy(p, "label.npy", OG__NPY_I64, 1, 4, 1, label);
}
static void wide_label(const struct place *p)
{
    static const uint64_t l[5] = {0, 1, UINT64_MAX, 0, 0}; /* as int64 it would be none */
    write_npy(p, "label.npy", OG__NPY_U64, 1, 5, 1, l);
}
static void many_classes(const struct place *p)
{
    static const int64_t l[5] = {0, 1, INT32_MAX / 8, 0, 0};
    write_npy(p, "label.npy", OG__NPY_I64, 1, 5, 1, l);
}
static void negative_label(const struct place *p)
{
    static const int64_t l[5] = {0, 1, -2, 0, 0};
    write_npy(p, "label.npy", OG__NPY_I64, 1, 5, 1, l);
}
static void wrong_split_dtype(const struct place *p)
{
    static const float ids[2] = {0, 1};
    write_npy(p, "train.npy", OG__NPY_F32, 1, 2, 1, ids);
}
static void split_out_of_range(const struct place *p)
{
    static const int64_t ids[2] = {0, 5};
    write_npy(p, "train.npy", OG__NPY_I64, 1, 2, 1, ids);
}
static void split_with_a_node_twice(const struct place *p)
{
    static const int64_t ids[3] = {4, 0, 4};
    write_npy(p, "train.npy", OG__NPY_I64, 1, 3, 1, ids);
}
static void write_csr(const struct place *p, const int64_t *indptr)
{
    static const int64_t columns[3] = {0, 1, 1};
    static const float values[3] = {1, 2, 3};
    char path[160];
    path_in(path, p->src, "feat.npy");
    unlink(path);
    write_npy(p, "feat_indptr.npy", OG__NPY_I64, 1, 6, 1, indptr);
    write_npy(p, "feat_indices.npy", OG__NPY_I64, 1, 3, 1, columns);
    write_npy(p, "feat_data.npy", OG__NPY_F32, 1, 3, 1, values);
}
static void csr_with_values_left_over(const struct place *p)
{
    write_csr(p, (const int64_t[]){0, 1, 1, 2, 2, 2});
}
static void csr_that_begins_late(const struct place *p)
{
    write_csr(p, (const int64_t[]){1, 1, 1, 2, 2, 3});
}
static void rows_without_columns(const struct place *p)
{
    write_npy(p, "feat.npy", OG__NPY_F32, 2, (int64_t)4294967290, 0, feat);
    write_npy(p, "label.npy", OG__NPY_F32, 2, (int64_t)4294967290, 0, label);
}
static void meta_is_a_pipe(const struct place *p)
{
    char path[160];
    path_in(path, p->src, "meta.json");
    assert_int_equal(mkfifo(path, 0600), 0);
}
static void fraction_of_a_node(const struct place *p)
{
    write_bytes(p, "meta.json", "{\"num_nodes\": 5.0}", 18);
}
static void negative_classes(const struct place *p)
{
    write_bytes(p, "meta.json", "{\"num_classes\": -3}", 19);
}
static void missing_edges(const struct place *p)
{
    char path[160];
    path_in(path, p->src, "edges.npy");
    unlink(path);
}
static void missing_features(const struct place *p)
{
    char path[160];
    path_in(path, p->src, "feat.npy");
    unlink(path);
}
static void broken_meta(const struct place *p)
{
    write_bytes(p, "meta.json", "{\"num_nodes\": ", 14);
}
static void nodes_do_not_agree(const struct place *p)
{
    write_bytes(p, "meta.json", "{\"num_nodes\": 7}", 16);
}

static void bad_sources_are_refused(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(const struct place *p);
        const char *word;
    } cases[] = {
        {three_columns, "[4, 3]"},
        {float_edges, "float32"},
        {one_column, "[2, 1]"},
        {float_rows, "float32"},
        {source_out_of_range, "node 5"},
        {destination_out_of_range, "row 1: node -3"},
        {rows_without_edges, "no edges"},
        {too_few_weights, "2 weights for 3 edges"},
        {three_fortran_columns, "[4, 3]"},
        {id_out_of_range, "row 1"},
        {negative_id, "node -1"},
        {no_edges, "empty graph"},
        {truncated_edges, "edges.npy"},
        {lying_header, "edges.npy"},
        {not_npy, "edges.npy"},
        {nan_feature, "row 3, column 1"},
        {short_labels, "4 labels"},
        {negative_label, "row 2"},
        {wrong_split_dtype, "train.npy"},
        {split_out_of_range, "node 5"},
        {missing_edges, "edges.npy"},
        {missing_features, "no features"},
        {broken_meta, "meta.json"},
        {nodes_do_not_agree, "7 nodes"},
        {wide_label, "row 2"},
        {many_classes, "268435456 classes"},
        {split_with_a_node_twice, "row 2: node 4"},
        {csr_with_values_left_over, "from 0 to 2"},
        {csr_that_begins_late, "from 1 to 3"},
        {rows_without_columns, "0 columns"},
        {meta_is_a_pipe, "not a plain file"},
        {fraction_of_a_node, "num_nodes"},
        {negative_classes, "num_classes"},
    };
    struct og_import opt = settings();
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        struct place p;
        make_source(&p);
        cases[i].spoil(&p);
        expect_refusal(&p, &opt, cases[i].word);
        remove_place(&p);
    }
}

/* Numbers that a careless reading would make others of. */
static void large_numbers_stay_what_they_are(void **state)
{
    (void)state;
    static const uint64_t x[5][2] = {
        {UINT64_MAX, 0}, {(uint64_t)1 << 63, 1}, {2, 3}, {4, 5}, {6, 7}};
    static const float largest[5][2] = {{3.4028235e38f, 0}};
    struct place p;
    float row[2];
    make_source(&p);
    struct og_import opt = settings();
    write_npy(&p, "feat.npy", OG__NPY_U64, 2, 5, 2, x);
    struct og_graph *ds = import_and_open(&p, &opt);
    for (int v = 0; v < 5; v++) {
        assert_int_equal(og__npy_read(&ds->group->rows, v, 1, row, NULL), 0);
        assert_true(row[0] == (float)x[v][0] && row[1] == (float)x[v][1]);
    }
    og__graph_close(ds);
    og__remove_tree(p.out);
    /* bfloat16 rounds it to infinity */
    write_npy(&p, "feat.npy", OG__NPY_F32, 2, 5, 2, largest);
    opt.feature_dtype = OG_BF16;
    expect_refusal(&p, &opt, "row 0, column 0: 3.40282e+38 does not fit bf16");
    remove_place(&p);
}

/* A dataset that opens comes of it, for tasks that need no labels. */
static void no_node_may_have_a_label(void **state)
{
    (void)state;
    static const int64_t none[5] = {-1, -1, -1, -1, -1};
    struct place p;
    make_source(&p);
    struct og_import opt = settings();
    write_npy(&p, "label.npy", OG__NPY_I64, 1, 5, 1, none);
    struct og_graph *ds = import_and_open(&p, &opt);
    assert_int_equal(ds->n_classes, 0);
    assert_int_equal(ds->labels.fd, -1);
    og__graph_close(ds);
    opt.drop_self_loops = true; /* of a graph that has nothing else */
    static const int64_t loops[2][2] = {{1, 1}, {2, 2}};
    write_npy(&p, "edges.npy", OG__NPY_I64, 2, 2, 2, loops);
    og__remove_tree(p.out);
    expect_refusal(&p, &opt, "no edges");
    remove_place(&p);
}

static void what_exists_is_not_overwritten(void **state)
{
    (void)state;
    struct place p;
    struct og_err err = {0};
    make_source(&p);
    assert_int_equal(og__make_dirs(p.out, NULL), 0);
    struct og_import opt = settings();
    assert_int_equal(og_import("npy", p.src, p.out, &opt, NULL, &err), -EEXIST);
    assert_true(err.hint[0]);
    err = (struct og_err){0};
    rmdir(p.out);
    assert_int_equal(og_import("parquet", p.src, p.out, &opt, NULL, &err), -EINVAL);
    opt.feature_dtype = OG_U8;
    static const float too_large[5][2] = {{0, 0}, {1, 256}};
    write_npy(&p, "feat.npy", OG__NPY_F32, 2, 5, 2, too_large);
    expect_refusal(&p, &opt, "256");
    opt = settings();
    opt.memory.value = 1 << 20;
    expect_refusal(&p, &opt, "budget");
    remove_place(&p);
}

/* Options by name set what fields do, and say what they would take. */
static void options_have_names(void **state)
{
    (void)state;
    static const char *const set[][2] = {{"symmetrize", "true"},
                                         {"drop-self-loops", "true"},
                                         {"drop-duplicates", "true"},
                                         {"row-normalize", "true"},
                                         {"reverse", "true"},
                                         {"link", "true"},
                                         {"drop-types", "true"},
                                         {"drop-features", "true"},
                                         {"keep-ids", "true"},
                                         {"reverse-relations", "true"},
                                         {"mean-features", "author"},
                                         {"labels", "l.npy"},
                                         {"columns", "dst,src"},
                                         {"id-columns", "user,item"},
                                         {"edge-time", "day"},
                                         {"edge-features", "f*,g"},
                                         {"node-id", "paper"},
                                         {"node-label", "topic"},
                                         {"weight-column", "3"},
                                         {"split-column", "1"},
                                         {"split", "60/20/20"},
                                         {"seed", "7"},
                                         {"feature-dtype", "u8"},
                                         {"edge-feature-dtype", "f16"},
                                         {"edge-ids", "true"},
                                         {"by-time", "true"},
                                         {"feature-scales", "true"},
                                         {"standardize", "true"},
                                         {"standardize-as", "before"},
                                         {"feature-layout", "sparse"},
                                         {"memory", "25%"},
                                         {"threads", "2"}};
    struct og_import *o = NULL;
    struct og_err err = {0};
    const struct og_option *row;
    size_t n = 0;
    assert_int_equal(og_import_new(&o, NULL), 0);
    assert_true(o->weight_column == -1 && o->split_column == -1 && o->feature_dtype == -1);
    for (size_t i = 0; i < OG_COUNT(set); i++)
        assert_int_equal(og_import_set(o, set[i][0], set[i][1], NULL), 0);
    assert_true(o->symmetrize && o->drop_self_loops && o->drop_duplicates && o->row_normalize);
    assert_true(o->reverse && o->link && o->drop_types && o->keep_ids && o->reverse_relations);
    assert_string_equal(o->mean_features, "author");
    assert_string_equal(o->labels, "l.npy");
    assert_string_equal(o->columns, "dst,src");
    assert_string_equal(o->edge_time, "day");
    assert_string_equal(o->edge_features, "f*,g");
    assert_string_equal(o->split, "60/20/20");
    assert_int_equal(o->seed, 7);
    assert_string_equal(o->node_id, "paper");
    assert_string_equal(o->node_label, "topic");
    assert_true(o->weight_column == 3 && o->split_column == 1 && o->feature_dtype == OG_U8);
    assert_true(o->edge_feature_dtype == OG_F16 && o->edge_ids && o->feature_scales);
    assert_true(o->standardize);
    assert_string_equal(o->standardize_as, "before");
    assert_int_equal(o->feature_layout, OG_FEATURES_SPARSE);
    assert_true(o->memory.unit == OG_PERCENT && o->memory.value == 25 && o->threads == 2);
    assert_int_equal(og_import_set(o, "symetrize", "true", &err), -EINVAL);
    assert_string_equal(err.hint, "did you mean 'symmetrize'?");
    err = (struct og_err){0};
    assert_int_equal(og_import_set(o, "feature-dtype", "f64", &err), -EINVAL);
    assert_non_null(strstr(err.message, "one of f32, f16, bf16, u8"));
    while ((row = og_import_option(n)))
        assert_true(row->size == sizeof(*row) && row->name && row->help && ++n);
    assert_int_equal(n, OG_COUNT(set));
    og_import_free(o);
    og_import_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_become_lists_of_in_neighbours),
        cmocka_unit_test(edges_may_be_two_rows),
        cmocka_unit_test(features_keep_or_take_a_dtype),
        cmocka_unit_test(labels_may_be_many_missing_or_floats),
        cmocka_unit_test(labels_may_be_values),
        cmocka_unit_test(edges_to_learn_come_along),
        cmocka_unit_test(bad_sources_are_refused),
        cmocka_unit_test(large_numbers_stay_what_they_are),
        cmocka_unit_test(no_node_may_have_a_label),
        cmocka_unit_test(what_exists_is_not_overwritten),
        cmocka_unit_test(options_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
