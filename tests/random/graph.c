#include "graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_NODES = 300, MOST_EDGES = 6000 };

struct edge {
    int src, dst;
};

/* ---- files ---- */

static FILE *file_open(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    if (!f) {
        perror(path);
        exit(2);
    }
    return f;
}

static void file_close(FILE *f)
{
    if (ferror(f) | fclose(f)) {
        perror("a random graph");
        exit(2);
    }
}

/* The header of version 1.0: as long as NumPy makes it, or a page as ours are. */
static FILE *array_open(const char *folder, const char *name, const char *descr, int rows,
                        int columns, int padded)
{
    char shape[64];
    char header[256];
    snprintf(shape, sizeof(shape), columns ? "(%d, %d)" : "(%d,)", rows, columns);
    snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
             descr, shape);
    FILE *f = file_open(folder, name);
    unsigned length = (unsigned)padded - 10;
    fwrite("\x93NUMPY\x01\x00", 1, 8, f);
    fputc((int)(length & 255), f);
    fputc((int)(length >> 8), f);
    fprintf(f, "%-*s\n", (int)length - 1, header);
    return f;
}

static void put_int64(FILE *f, int64_t x)
{
    fwrite(&x, sizeof(x), 1, f);
}

static void put_f32(FILE *f, float x)
{
    fwrite(&x, sizeof(x), 1, f);
}

/* ---- edges ---- */

static struct edge draw_edge(struct draw *d, int nodes, int hub, int way)
{
    const int u = (int)draw_below(d, (uint64_t)nodes);
    const int v = (int)draw_below(d, (uint64_t)nodes);
    switch (way) {
    case 0: /* out of the hub */
        return (struct edge){hub, v};
    case 1: /* into the hub */
        return (struct edge){u, hub};
    case 2:
        return (struct edge){u, u};
    case 3: /* a few nodes among themselves: many edges twice */
        return (struct edge){u % 4 % nodes, v % 4 % nodes};
    default: /* some nodes have none */
        return (struct edge){u, v - v % 3};
    }
}

static int by_list(const void *a, const void *b)
{
    const struct edge *x = a;
    const struct edge *y = b;
    return x->dst != y->dst ? x->dst - y->dst : x->src - y->src;
}

static int draw_edges(struct draw *d, int nodes, bool both_ways, struct edge *out)
{
    const int way = draw_from(d, 0, 9); /* most are of one kind, or mixed */
    const int hub = (int)draw_below(d, (uint64_t)nodes);
    int n = 1 + (int)draw_below(d, draw_chance(d, 20) ? 5 : (uint64_t)nodes * 12);
    n = n > MOST_EDGES / 2 ? MOST_EDGES / 2 : n;
    for (int i = 0; i < n; i++)
        out[i] = draw_edge(d, nodes, hub, way < 5 ? way : draw_from(d, 0, 12));
    for (int i = 0, one_way = both_ways ? n : 0; i < one_way; i++)
        out[n++] = (struct edge){out[i].dst, out[i].src};
    qsort(out, (size_t)n, sizeof(*out), by_list);
    return n;
}

static void write_edges(const struct graph *g, struct draw *d, const char *folder,
                        const struct edge *edges)
{
    FILE *f = array_open(folder, "indptr.npy", "<i8", g->nodes + 1, 0, 128);
    int e = 0;
    for (int v = 0; v <= g->nodes; v++) {
        while (e < g->edges && edges[e].dst < v)
            e++;
        put_int64(f, e);
    }
    file_close(f);
    f = array_open(folder, "indices.npy", g->wide_ids ? "<i8" : "<i4", g->edges, 0,
                   draw_chance(d, 50) ? 128 : 4096);
    for (e = 0; e < g->edges; e++)
        fwrite(&(int64_t){edges[e].src}, g->wide_ids ? 8 : 4, 1, f);
    file_close(f);
    if (!g->weighted)
        return;
    f = array_open(folder, "weights.npy", "<f4", g->edges, 0, 128);
    for (e = 0; e < g->edges; e++)
        put_f32(f, draw_chance(d, 20) ? 0 : draw_unit(d) * 4);
    file_close(f);
}

/* Some that are edges, some that are not. */
static void write_edge_list(const struct graph *g, struct draw *d, const char *folder,
                            const char *name, const struct edge *edges, bool of_graph)
{
    int n = draw_from(d, of_graph ? 1 : 0, 40);
    FILE *f = array_open(folder, name, "<i8", n, 2, 128);
    for (int i = 0; i < n; i++) {
        struct edge e = edges[draw_below(d, (uint64_t)g->edges)];
        if (!of_graph)
            e = (struct edge){(int)draw_below(d, (uint64_t)g->nodes),
                              (int)draw_below(d, (uint64_t)g->nodes)};
        put_int64(f, e.src);
        put_int64(f, e.dst);
    }
    file_close(f);
}

/* ---- nodes ---- */

/* x is small and not negative: its sign and exponent need no care. */
static uint16_t half_of(float x)
{
    int exponent;
    float mantissa = frexpf(x, &exponent);
    const int bits = (exponent + 14) << 10 | ((int)(mantissa * 2048) & 1023);
    return (uint16_t)(x == 0 ? 0 : bits);
}

static void put_feature(FILE *f, enum og_dtype dtype, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    const uint16_t upper = (uint16_t)(bits >> 16);
    const uint16_t half = half_of(x);
    const uint8_t byte = (uint8_t)(x * 4);
    switch (dtype) {
    case OG_F32:
        put_f32(f, x - 1);
        break;
    case OG_F16:
        fwrite(&half, 2, 1, f);
        break;
    case OG_BF16:
        fwrite(&upper, 2, 1, f);
        break;
    case OG_U8:
        fwrite(&byte, 1, 1, f);
        break;
    }
}

static void write_features(const struct graph *g, struct draw *d, const char *folder)
{
    static const char *const stored[] = {
        [OG_F32] = "<f4", [OG_F16] = "<f2", [OG_BF16] = "<u2", [OG_U8] = "|u1"};
    FILE *f = array_open(folder, "features.npy", stored[g->dtype], g->nodes, g->dim,
                         draw_chance(d, 30) ? 128 : 4096);
    for (int i = 0; i < g->nodes * g->dim; i++)
        put_feature(f, g->dtype, 0.0625f + draw_unit(d) * 2);
    file_close(f);
}

static void write_labels(const struct graph *g, struct draw *d, const char *folder)
{
    const bool classes = g->labels == LABELS_CLASSES;
    FILE *f = array_open(folder, "labels.npy", classes ? "<i8" : "<f4", g->nodes,
                         classes ? 0 : g->classes, 128);
    const int missing = draw_chance(d, 50) ? 20 : 0;
    for (int i = 0; i < g->nodes * (classes ? 1 : g->classes); i++) {
        if (classes)
            put_int64(f, draw_chance(d, missing) ? -1 : draw_from(d, 0, g->classes - 1));
        else if (g->labels == LABELS_SEVERAL)
            put_f32(f, (float)draw_from(d, 0, 1));
        else
            put_f32(f, draw_chance(d, missing) ? NAN : draw_unit(d) * 4 - 2);
    }
    file_close(f);
}

/* Nodes in an order of their own; splits may share some. */
static int write_split(const struct graph *g, struct draw *d, const char *folder, const char *name,
                       bool must)
{
    int order[MOST_NODES] = {0};
    int n = must || draw_chance(d, 80) ? 1 + (int)draw_below(d, (uint64_t)g->nodes) : 0;
    if (n == 0 && draw_chance(d, 50))
        return 0; /* no such file */
    for (int i = 0; i < g->nodes; i++) {
        int j = (int)draw_below(d, (uint64_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    FILE *f = array_open(folder, name, "<i8", n, 0, 128);
    for (int i = 0; i < n; i++)
        put_int64(f, order[i]);
    file_close(f);
    return n;
}

static void write_meta(const struct graph *g, const char *folder)
{
    static const char *const dtypes[] = {
        [OG_F32] = "f32", [OG_F16] = "f16", [OG_BF16] = "bf16", [OG_U8] = "u8"};
    FILE *f = file_open(folder, "meta.json");
    fprintf(f,
            "{\"format\": 1, \"name\": \"random\", \"num_classes\": %d, \"feature_dtype\": \"%s\"",
            g->classes, dtypes[g->dtype]);
    if (g->labels == LABELS_VALUES)
        fprintf(f, ", \"task\": \"node regression\"");
    if (g->both_ways)
        fprintf(f, ", \"symmetric\": true");
    fprintf(f, "}\n");
    file_close(f);
}

/* ---- all of it ---- */

static int draw_dim(struct draw *d)
{
    static const int edges_of_kernels[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 64, 127, 128, 129, 130};
    enum { N = sizeof(edges_of_kernels) / sizeof(edges_of_kernels[0]) };
    return draw_chance(d, 50) ? edges_of_kernels[draw_below(d, N)] : draw_from(d, 1, 130);
}

static void draw_shape(struct graph *g, struct draw *d)
{
    static const int most[] = {1, 3, 20, 100, MOST_NODES};
    g->nodes = draw_from(d, 1, most[draw_below(d, 5)]);
    g->dim = draw_dim(d);
    g->dtype = draw_chance(d, 50) ? OG_F32 : (enum og_dtype)draw_from(d, OG_F32, OG_U8);
    g->labels = draw_chance(d, 50) ? LABELS_CLASSES
                                   : (enum label_kind)draw_from(d, LABELS_CLASSES, LABELS_VALUES);
    g->classes = draw_from(d, 1, draw_chance(d, 50) ? 2 : 7);
    g->weighted = draw_chance(d, 30);
    g->wide_ids = draw_chance(d, 20);
    g->edge_lists = draw_chance(d, 20);
    g->both_ways = draw_chance(d, 40);
}

void graph_write(struct graph *g, struct draw *d, const char *folder)
{
    static struct edge edges[MOST_EDGES];
    draw_shape(g, d);
    if (mkdir(folder, 0777) < 0) {
        perror(folder);
        exit(2);
    }
    g->edges = draw_edges(d, g->nodes, g->both_ways, edges);
    write_edges(g, d, folder, edges);
    write_features(g, d, folder);
    write_labels(g, d, folder);
    g->n_train = write_split(g, d, folder, "train.npy", true);
    g->n_valid = write_split(g, d, folder, "valid.npy", false);
    g->n_test = write_split(g, d, folder, "test.npy", false);
    for (int i = 0; g->edge_lists && i < 3; i++) {
        static const char *const names[] = {"train_edges.npy", "valid_edges.npy", "test_edges.npy"};
        write_edge_list(g, d, folder, names[i], edges, i == 0);
    }
    write_meta(g, folder);
}
