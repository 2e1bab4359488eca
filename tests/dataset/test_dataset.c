/* Opening datasets: a small one written here by hand, whole and damaged in every way. */
#include "support/own_folder.h"

#include "base/file.h"
#include "dataset/topology.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* 4 nodes, 5 edges, 2 features, 3 classes. */
static const int64_t indptr[] = {0, 2, 2, 4, 5};
static const int32_t indices[] = {1, 3, 0, 1, 2};
static const float features[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const int64_t labels[] = {2, -1, 0, 1};
static const int64_t train[] = {3, 0};
static const int64_t valid[] = {2};
static const char meta[] = "{\"format\": 1, \"name\": \"toy\", \"num_nodes\": 4, \"num_edges\": 5, "
                           "\"feature_dim\": 2, \"feature_dtype\": \"f32\", \"num_classes\": 3}";

static void path_in(char out[512], const char *file)
{
    snprintf(out, 512, "%s/%s", folder, file);
}

static void put(const char *file, const void *data, size_t bytes)
{
    char path[512];
    path_in(path, file);
    unlink(path);
    assert_int_equal(og__write_text(path, data, bytes, NULL), 0);
}

static void put_meta(const char *text)
{
    put("meta.json", text, strlen(text));
}

static void put_npy(const char *file, enum og__npy_type type, int ndim, int64_t rows,
                    int64_t columns, const void *data, size_t pad)
{
    static char buf[1 << 16];
    const int64_t shape[2] = {rows, columns};
    size_t n = og__npy_header(buf, type, ndim, shape, pad);
    size_t bytes = (size_t)(rows * columns) * og__npy_size(type);
    memcpy(buf + n, data, bytes);
    put(file, buf, n + bytes);
}

static void remove_file(const char *file)
{
    char path[512];
    path_in(path, file);
    unlink(path);
}

static void write_toy(void)
{
    put_meta(meta);
    put_npy("indptr.npy", OG__NPY_I64, 1, 5, 1, indptr, 4096);
    put_npy("indices.npy", OG__NPY_I32, 1, 5, 1, indices, 192);
    put_npy("features.npy", OG__NPY_F32, 2, 4, 2, features, 4096);
    put_npy("labels.npy", OG__NPY_I64, 1, 4, 1, labels, 192);
    put_npy("train.npy", OG__NPY_I64, 1, 2, 1, train, 192);
    put_npy("valid.npy", OG__NPY_I64, 1, 1, 1, valid, 192);
    remove_file("test.npy");
    remove_file("weights.npy");
}

static void opens_whole_dataset(void **state)
{
    (void)state;
    struct og_err err = {0};
    struct og_graph *ds;
    write_toy();
    assert_int_equal(og__graph_open(folder, &ds, &err), 0);
    assert_string_equal(ds->name, "toy");
    assert_true(ds->n_nodes == 4 && ds->n_edges == 5 && ds->group->dim == 2 && ds->n_classes == 3);
    assert_false(ds->multi_label);
    assert_int_equal(ds->group->stored, OG_F32);
    assert_int_equal(ds->relation->weights.fd, -1);
    assert_true(ds->identity.contents != 0);

    struct og_budget *b = og__budget_new(0);
    uint32_t *ids;
    int64_t count;
    void *y;
    assert_int_equal(og__graph_split(ds, OG__TRAIN, b, &ids, &count, &err), 0);
    assert_true(count == 2 && ids[0] == 3 && ids[1] == 0); /* file order */
    assert_int_equal(og__graph_labels(ds, ids, count, b, &y, &err), 0);
    assert_true(((int32_t *)y)[0] == 1 && ((int32_t *)y)[1] == 2);
    og__release(b, y, og__labels_bytes(ds, count), "labels");
    og__release(b, ids, (size_t)count * 4, "seeds");
    assert_int_equal(og__graph_split(ds, OG__TEST, b, &ids, &count, &err), 0);
    assert_true(count == 0 && ids == NULL);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    og__graph_close(ds);
}

static void loads_and_maps_topology(void **state)
{
    (void)state;
    struct og_err err = {0};
    struct og_graph *ds;
    struct og_topology t;
    write_toy();
    assert_int_equal(og__graph_open(folder, &ds, &err), 0);
    struct og_budget *b = og__budget_new(og__topology_bytes(ds, OG__NO_WEIGHTS));
    for (int mapped = 0; mapped < 2; mapped++) {
        assert_int_equal(mapped ? og__topology_map(ds, &t, &err)
                                : og__topology_load(ds, OG__NO_WEIGHTS, b, &t, &err),
                         0);
        assert_memory_equal(t.indptr, indptr, sizeof(indptr));
        assert_memory_equal(t.indices32, indices, sizeof(indices));
        assert_int_equal(og__degree(&t, 2), 2);
        assert_int_equal(og__neighbor(&t, 4), 2);
        og__topology_release(&t);
        assert_int_equal(og__budget_used(b), 0);
    }
    og__budget_free(b);
    b = og__budget_new(og__topology_bytes(ds, OG__NO_WEIGHTS) - 1);
    assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, b, &t, &err), -ENOMEM);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    og__graph_close(ds);
}

/* Long enough for direct reads, several chunks and a ragged tail. */
static void loads_large_topology(void **state)
{
    (void)state;
    enum { N = 700001, E = 2500003 };
    char path[512];
    struct og_err err = {0};
    int64_t *ptr = malloc((N + 1) * sizeof(*ptr));
    int32_t *idx = malloc(E * sizeof(*idx));
    char *file = malloc(4096 + (N + 1) * 8 + E * 4);
    for (int64_t v = 0; v <= N; v++)
        ptr[v] = v * E / N;
    for (int32_t e = 0; e < E; e++)
        idx[e] = (int32_t)((int64_t)e * 7919 % N);
    write_toy();
    remove_file("labels.npy");
    put_meta("{\"format\":1,\"num_classes\":0}");
    const int64_t shapes[3][2] = {{N + 1, 1}, {E, 1}, {N, 1}};
    og__npy_header(file, OG__NPY_I64, 1, shapes[0], 4096);
    memcpy(file + 4096, ptr, (N + 1) * 8);
    put("indptr.npy", file, 4096 + (N + 1) * 8);
    size_t n = og__npy_header(file, OG__NPY_U8, 2, shapes[2], 192);
    put("features.npy", file, n + N);
    for (size_t pad = 192; pad <= 4096; pad += 4096 - 192) { /* buffered, then direct */
        struct og_graph *ds;
        struct og_topology t;
        n = og__npy_header(file, OG__NPY_I32, 1, shapes[1], pad);
        memcpy(file + n, idx, (size_t)E * 4);
        put("indices.npy", file, n + (size_t)E * 4);
        assert_int_equal(og__graph_open(folder, &ds, &err), 0);
        assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &t, &err), 0);
        assert_memory_equal(t.indptr, ptr, (N + 1) * 8);
        assert_memory_equal(t.indices32, idx, (size_t)E * 4);
        og__topology_release(&t);
        /* one bad id deep inside is found and its position reported */
        path_in(path, "indices.npy");
        int fd = open(path, O_WRONLY);
        int32_t bad = N;
        assert_int_equal(pwrite(fd, &bad, 4, (off_t)(n + 4 * 2000000)), 4);
        close(fd);
        struct og_err found = {0};
        assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &t, &found), -EINVAL);
        assert_non_null(strstr(found.message, "entry 2000000: node 700001"));
        og__graph_close(ds);
    }
    free(file);
    free(idx);
    free(ptr);
}

static void reads_foreign_arrays_in_place(void **state)
{
    (void)state;
    struct og_err err = {0};
    struct og_graph *ds;
    write_toy();
    char raw[3 + sizeof(features)] = "abc";
    memcpy(raw + 3, features, sizeof(features));
    put("paper.bin", raw, sizeof(raw));
    remove_file("features.npy");
    const char text[] =
        "{\"format\":1,\"num_classes\":3,\"files\":{\"features\":{\"path\":\"paper.bin\","
        "\"dtype\":\"float32\",\"shape\":[4,2],\"offset\":3}}}";
    put_meta(text);
    assert_int_equal(og__graph_open(folder, &ds, &err), 0);
    float row[2];
    assert_int_equal(og__npy_read(&ds->group->rows, 3, 1, row, &err), 0);
    assert_true(row[0] == 6 && row[1] == 7);
    assert_true(ds->group->rows.offset == 3 && ds->group->dim == 2);
    og__graph_close(ds);
    remove_file("paper.bin");
}

static void multi_labels(void **state)
{
    (void)state;
    struct og_err err = {0};
    struct og_graph *ds;
    const float y[] = {0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0};
    const uint32_t ids[] = {2, 0};
    void *got;
    write_toy();
    put_npy("labels.npy", OG__NPY_F32, 2, 4, 3, y, 192);
    assert_int_equal(og__graph_open(folder, &ds, &err), 0);
    assert_true(ds->multi_label);
    assert_int_equal(og__graph_labels(ds, ids, 2, NULL, &got, &err), 0);
    assert_memory_equal(got, y + 6, 12);
    assert_memory_equal((float *)got + 3, y, 12);
    og__release(NULL, got, og__labels_bytes(ds, 2), "labels");
    og__graph_close(ds);
}

/* ---- damage: each names the file or key, and hints ---- */

static void refused(const char *names)
{
    struct og_err err = {0};
    struct og_graph *ds;
    int rc = og__graph_open(folder, &ds, &err);
    if (rc >= 0)
        fail_msg("opened although %s", names);
    if (!strstr(err.message, names) || !err.hint[0])
        fail_msg("%s: message \"%s\", hint \"%s\"", names, err.message, err.hint);
    write_toy();
}

static void refuses_damage(void **state)
{
    (void)state;
    struct og_err err = {0};
    struct og_graph *ds;
    assert_true(og__graph_open("/nonexistent", &ds, &err) == -ENOENT && err.hint[0]);
    write_toy();
    remove_file("features.npy");
    refused("features.npy");
    put_meta("{\"format\": 1, ");
    refused("meta.json");
    put_meta("{\"format\": 2, \"num_classes\": 1}");
    refused("node_types");
    put_meta("{\"format\": 3, \"num_classes\": 1}");
    refused("format 3");
    put_meta("{\"num_classes\": 1}");
    refused("format");
    put_meta("{\"format\": 1, \"num_classes\": -3}");
    refused("num_classes");
    put_meta("{\"format\": 1, \"num_classes\": 3, \"num_nodes\": 5}");
    refused("num_nodes");
    put_npy("indptr.npy", OG__NPY_I32, 1, 5, 1, indptr, 192);
    refused("indptr.npy");
    put_npy("indptr.npy", OG__NPY_I64, 1, 1, 1, indptr, 192);
    refused("num_nodes");
    put_npy("indices.npy", OG__NPY_F32, 1, 5, 1, indices, 192);
    refused("indices.npy");
    put_npy("features.npy", OG__NPY_F32, 2, 3, 2, features, 192);
    refused("features.npy");
    put_npy("features.npy", OG__NPY_F16, 2, 4, 2, features, 192);
    refused("float16");
    put_npy("labels.npy", OG__NPY_I64, 1, 3, 1, labels, 192);
    refused("labels.npy");
    put_npy("train.npy", OG__NPY_F64, 1, 2, 1, train, 192);
    refused("train.npy");
    put_npy("weights.npy", OG__NPY_F32, 1, 4, 1, features, 192);
    refused("weights.npy");
}

static void refuses_bad_ids(void **state)
{
    (void)state;
    const int64_t bad_split[][2] = {{0, 4}, {-1, 0}, {2, 2}};
    struct og_graph *ds;
    uint32_t *ids;
    int64_t count;
    void *y;
    for (size_t i = 0; i < OG_COUNT(bad_split); i++) {
        struct og_err err = {0};
        write_toy();
        put_npy("train.npy", OG__NPY_I64, 1, 2, 1, bad_split[i], 192);
        assert_int_equal(og__graph_open(folder, &ds, &err), 0);
        assert_int_equal(og__graph_split(ds, OG__TRAIN, NULL, &ids, &count, &err), -EINVAL);
        assert_non_null(strstr(err.message, "train.npy"));
        og__graph_close(ds);
    }
    struct og_err err = {0};
    const int64_t bad_labels[] = {0, 0, 3, 0};
    const uint32_t two[] = {1, 2};
    write_toy();
    put_npy("labels.npy", OG__NPY_I64, 1, 4, 1, bad_labels, 192);
    assert_int_equal(og__graph_open(folder, &ds, &err), 0);
    assert_int_equal(og__graph_labels(ds, two, 1, NULL, &y, &err), 0);
    og__release(NULL, y, og__labels_bytes(ds, 1), "labels");
    assert_int_equal(og__graph_labels(ds, two, 2, NULL, &y, &err), -EINVAL);
    assert_non_null(strstr(err.message, "node 2: class 3"));
    og__graph_close(ds);
}

static void refuses_bad_topology(void **state)
{
    (void)state;
    const int64_t bad_indptr[][5] = {
        {0, 2, 1, 4, 5}, {1, 2, 2, 4, 5}, {0, 2, 2, 4, 4}, {0, 2, 2, 9, 5}, {0, -2, 2, 4, 5}};
    const int32_t bad_indices[][5] = {{1, 3, 0, 1, 4}, {1, -1, 0, 1, 2}};
    struct og_graph *ds;
    struct og_topology t;
    for (size_t i = 0; i < OG_COUNT(bad_indptr) + OG_COUNT(bad_indices); i++) {
        struct og_err err = {0};
        write_toy();
        if (i < OG_COUNT(bad_indptr))
            put_npy("indptr.npy", OG__NPY_I64, 1, 5, 1, bad_indptr[i], 192);
        else
            put_npy("indices.npy", OG__NPY_I32, 1, 5, 1, bad_indices[i - OG_COUNT(bad_indptr)],
                    192);
        assert_int_equal(og__graph_open(folder, &ds, &err), 0);
        assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &t, &err), -EINVAL);
        assert_true(strstr(err.message, "entry") || strstr(err.message, "ends at"));
        og__graph_close(ds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_whole_dataset),  cmocka_unit_test(loads_and_maps_topology),
        cmocka_unit_test(loads_large_topology), cmocka_unit_test(reads_foreign_arrays_in_place),
        cmocka_unit_test(multi_labels),         cmocka_unit_test(refuses_damage),
        cmocka_unit_test(refuses_bad_ids),      cmocka_unit_test(refuses_bad_topology),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
