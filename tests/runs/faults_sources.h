/* Sources that test_faults imports: small, in their projects' layout. */
#ifndef OG_FAULTS_SOURCES_H
#define OG_FAULTS_SOURCES_H

#include "dataset/import/options.h"
#include "runs/faults_folder.h"

#include "dataset/graph.h"

#include <zip.h>
#include <zlib.h>

static void make_source(void)
{
    static const char *const copies[][2] = {
        {"features.npy", "feat.npy"}, {"labels.npy", "label.npy"}, {"train.npy", "train.npy"}};
    char from[128], to[128];
    char edges[128 + 4 * 16];
    size_t len;
    char *text;
    assert_int_equal(mkdir(source, 0777), 0);
    for (size_t i = 0; i < OG_COUNT(copies); i++) {
        snprintf(from, sizeof(from), "%s/%s", graph, copies[i][0]);
        snprintf(to, sizeof(to), "%s/%s", source, copies[i][1]);
        assert_int_equal(og__read_text(from, 1 << 24, &text, &len, NULL), 0);
        assert_int_equal(og__write_text(to, text, len, NULL), 0);
        free(text);
    }
    /* four edges, by hand */
    static const int64_t ends[4][2] = {{0, 1}, {1, 2}, {2, 2}, {5, 200}};
    memset(edges, ' ', sizeof(edges));
    memcpy(edges, "\x93NUMPY\x01\x00\x76\x00", 10);
    static const char header[] = "{'descr': '<i8', 'fortran_order': False, 'shape': (4, 2), }";
    memcpy(edges + 10, header, sizeof(header) - 1);
    edges[127] = '\n';
    memcpy(edges + 128, ends, sizeof(ends));
    snprintf(to, sizeof(to), "%s/edges.npy", source);
    assert_int_equal(og__write_text(to, edges, sizeof(edges), NULL), 0);
}

/* ---- small sources, in their projects' layout ---- */

static const char *in_root(const char *name)
{
    static char path[160];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *p = strchr(path + strlen(root) + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        mkdir(path, 0777);
        *p = '/';
    }
    return path;
}

static void write_file(const char *name, const char *text)
{
    size_t len = strlen(name);
    gzFile f = gzopen(in_root(name), strcmp(name + len - 3, ".gz") == 0 ? "wb" : "wbT");
    assert_non_null(f);
    assert_int_equal(gzputs(f, text), strlen(text));
    assert_int_equal(gzclose(f), Z_OK);
}

/* The bytes of a .npy file. */
static char *npy_bytes(enum og__npy_type type, int64_t rows, int64_t columns, const void *data,
                       size_t *len)
{
    const int64_t shape[2] = {rows, columns};
    char head[4096];
    size_t n = og__npy_header(head, type, columns > 1 ? 2 : 1, shape, 64);
    size_t bytes = (size_t)(rows * columns) * og__npy_size(type);
    char *whole = malloc(n + bytes);
    assert_non_null(whole);
    memcpy(whole, head, n);
    memcpy(whole + n, data, bytes);
    *len = n + bytes;
    return whole;
}

static void write_npy(const char *name, enum og__npy_type type, int64_t rows, int64_t columns,
                      const void *data)
{
    size_t len;
    char *whole = npy_bytes(type, rows, columns, data, &len);
    assert_int_equal(og__write_text(in_root(name), whole, len, NULL), 0);
    free(whole);
}

/* Its bytes, which are the archive's until that is closed. */
static char *add_member(zip_t *z, const char *name, enum og__npy_type type, int64_t rows,
                        int64_t columns, const void *data)
{
    size_t len;
    char *whole = npy_bytes(type, rows, columns, data, &len);
    assert_true(zip_file_add(z, name, zip_source_buffer(z, whole, len, 0), 0) >= 0);
    return whole;
}

enum { SMALL = 6, SMALL_EDGES = 7 };
static const int64_t small_src[SMALL_EDGES] = {0, 1, 2, 3, 4, 5, 0};
static const int64_t small_dst[SMALL_EDGES] = {1, 2, 3, 4, 5, 0, 3};
static const float small_rows[SMALL][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {1, 0.5f}};
static const float small_labels[SMALL] = {0, 1, 2, 0, 1, 2};

static void make_ogb(const char *name, const char *file, const char *text)
{
    char path[96];
    snprintf(path, sizeof(path), "%s/%s", name, file);
    write_file(path, text);
}

static void make_splits(const char *name)
{
    make_ogb(name, "split/time/train.csv.gz", "0\n1\n");
    make_ogb(name, "split/time/valid.csv.gz", "2\n");
    make_ogb(name, "split/time/test.csv.gz", "3\n");
}

static void make_products(void)
{
    static const char name[] = "ogbn_products";
    make_ogb(name, "raw/edge.csv.gz", "0,1\n1,2\n2,3\n3,4\n4,5\n5,0\n0,3\n");
    make_ogb(name, "raw/num-node-list.csv.gz", "6\n");
    make_ogb(name, "raw/num-edge-list.csv.gz", "7\n");
    make_ogb(name, "raw/node-feat.csv.gz", "0,1\n2,3\n4,5\n6,7\n8,9\n1,0.5\n");
    make_ogb(name, "raw/node-label.csv.gz", "0\n1\n2\n0\nnan\n2\n");
    make_splits(name);
}

static void make_papers(void)
{
    static const int64_t nodes = SMALL;
    int64_t edges[2][SMALL_EDGES];
    memcpy(edges[0], small_src, sizeof(small_src));
    memcpy(edges[1], small_dst, sizeof(small_dst));
    zip_t *z = zip_open(in_root("papers/raw/data.npz"), ZIP_CREATE, NULL);
    assert_non_null(z);
    char *members[4];
    members[0] = add_member(z, "edge_index.npy", OG__NPY_I64, 2, SMALL_EDGES, edges);
    members[1] = add_member(z, "node_feat.npy", OG__NPY_F32, SMALL, 2, small_rows);
    members[2] = add_member(z, "num_nodes_list.npy", OG__NPY_I64, 1, 1, &nodes);
    assert_int_equal(zip_close(z), 0);
    z = zip_open(in_root("papers/raw/node-label.npz"), ZIP_CREATE, NULL);
    assert_non_null(z);
    members[3] = add_member(z, "node_label.npy", OG__NPY_F32, SMALL, 1, small_labels);
    assert_int_equal(zip_close(z), 0);
    for (size_t i = 0; i < OG_COUNT(members); i++)
        free(members[i]);
    make_splits("papers");
    write_npy("mag/processed/paper___cites___paper/edge_index.npy", OG__NPY_I64, 2, SMALL_EDGES,
              edges);
    write_npy("mag/processed/paper/node_feat.npy", OG__NPY_F32, SMALL, 2, small_rows);
    write_npy("mag/processed/paper/node_label.npy", OG__NPY_F32, SMALL, 1, small_labels);
    write_npy("mag/train.npy", OG__NPY_I64, 3, 1, small_src);
}

static void make_igb(void)
{
    int64_t edges[SMALL_EDGES][2];
    for (size_t i = 0; i < SMALL_EDGES; i++) {
        edges[i][0] = small_src[i];
        edges[i][1] = small_dst[i];
    }
    write_npy("igb/processed/paper__cites__paper/edge_index.npy", OG__NPY_I64, SMALL_EDGES, 2,
              edges);
    write_npy("igb/processed/paper/node_label_19.npy", OG__NPY_F32, SMALL, 1, small_labels);
    static const float rows[SMALL][1024] = {{1, 2}, {0, 0.5f}};
    assert_int_equal(og__write_text(in_root("igb/processed/paper/node_feat.npy"),
                                    (const char *)rows, sizeof(rows), NULL),
                     0); /* headerless */
}

/* Not by types, so that nodes are mapped. */
static void make_typed(void)
{
    int64_t edges[SMALL_EDGES][2];
    int64_t node_type[SMALL];
    int64_t edge_type[SMALL_EDGES];
    for (size_t i = 0; i < SMALL_EDGES; i++) {
        edges[i][0] = small_src[i];
        edges[i][1] = small_dst[i];
        edge_type[i] = (int64_t)i % 2;
    }
    for (size_t v = 0; v < SMALL; v++)
        node_type[v] = 1 - (int64_t)v % 2;
    write_npy("typed/edges.npy", OG__NPY_I64, SMALL_EDGES, 2, edges);
    write_npy("typed/node_type.npy", OG__NPY_I64, SMALL, 1, node_type);
    write_npy("typed/edge_type.npy", OG__NPY_I64, SMALL_EDGES, 1, edge_type);
    write_npy("typed/feat.npy", OG__NPY_F32, SMALL, 2, small_rows);
    write_npy("typed/label.npy", OG__NPY_F32, SMALL, 1, small_labels);
    write_npy("typed/train.npy", OG__NPY_I64, 3, 1, small_src);
    write_file("typed/meta.json", "{\"node_types\": [{\"type\": 1, \"name\": \"paper\"}]}");
    struct og_import i;
    og__import_init(&i);
    i.reverse_relations = true;
    i.memory = (struct og_amount){OG_BYTES, 64 << 20};
    assert_int_equal(og_import("npy", in_root("typed"), typed_graph(), &i, NULL, NULL), 0);
}

static void make_edges(void)
{
    int64_t edges[SMALL_EDGES][2];
    float rows[SMALL_EDGES][3];
    for (size_t i = 0; i < SMALL_EDGES; i++) {
        edges[i][0] = small_src[i];
        edges[i][1] = small_dst[i];
        for (size_t k = 0; k < 3; k++)
            rows[i][k] = (float)(3 * i + k);
    }
    write_npy("attr/edges.npy", OG__NPY_I64, SMALL_EDGES, 2, edges);
    write_npy("attr/edge_attr.npy", OG__NPY_F32, SMALL_EDGES, 3, rows);
    write_npy("attr/feat.npy", OG__NPY_F32, SMALL, 2, small_rows);
    write_npy("attr/label.npy", OG__NPY_F32, SMALL, 1, small_labels);
    write_npy("attr/train.npy", OG__NPY_I64, 3, 1, small_src);
    struct og_import i;
    og__import_init(&i);
    i.memory = (struct og_amount){OG_BYTES, 64 << 20};
    assert_int_equal(og_import("npy", in_root("attr"), edges_graph(), &i, NULL, NULL), 0);
}

static void make_far(void)
{
    enum { LINES = 90000 };
    FILE *f = fopen(in_root("far.txt"), "w");
    assert_non_null(f);
    for (uint64_t i = 0; i < LINES; i++)
        fprintf(f, "%llu %llu\n", (unsigned long long)(2 * i * 0x9e3779b97f4a7c15u >> 1),
                (unsigned long long)((2 * i + 1) * 0x9e3779b97f4a7c15u >> 1));
    assert_int_equal(fclose(f), 0);
}

static void make_formats(void)
{
    make_products();
    make_papers();
    make_igb();
    make_typed();
    make_edges();
    make_far();
    write_file("edges.txt.gz", "# a remark\n7 900 0.5\n900 31 1.5\n31 7 2\n7 7 1\n");
    write_file("words/edges.csv.gz", "src,dst,weight\nzoe,ann,1\nann,\"b,ob\",2\n\"b,ob\",zoe,3\n");
    write_file("words/feat.csv", "id,a,b\nann,1,2\nzoe,3,4.5\n\"b,ob\",5,6\n");
    write_file("words/label.csv", "id,label\nzoe,cat\nann,dog\n");
    write_file("words/train.csv.gz", "zoe\nann\n");
    write_file("by_id/edges.csv.gz", "7,900,1\n900,31,2\n31,7,3\n");
    write_file("by_id/feat.csv", "id,a,b\n900,1,2\n31,3,4.5\n7,5,6\n8,0,0\n");
    write_file("by_id/label.csv.gz", "31,1\n8,0\n900,2\n");
    write_file("by_id/train.csv", "900\n8\n");
    write_file("graph.mtx", "%%MatrixMarket matrix coordinate real symmetric\n% a remark\n"
                            "4 4 3\n2 1 0.5\n3 3 1\n4 2 2\n");
    assert_int_equal(og_export("graphbolt", graph, in_root("graphbolt"), NULL, NULL), 0);
}

#endif
