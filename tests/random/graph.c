#include "graph.h"

#include "arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TYPED = 45, WITH_EDGE_ROWS = 40, WITH_TIMES = 35 }; /* percent of the graphs */

/* ---- labels ---- */

/* Some of the n may be unknown. */
void put_labels(const struct graph *g, struct draw *d, FILE *f, int n)
{
    const bool classes = g->labels == LABELS_CLASSES;
    const int missing = draw_chance(d, 50) ? 20 : 0;
    bool known = true;
    for (int i = 0; i < n * (classes ? 1 : g->classes); i++) {
        if (classes)
            put_int64(f, draw_chance(d, missing) ? -1 : draw_from(d, 0, g->classes - 1));
        else if (g->labels == LABELS_SEVERAL)
            put_f32(f, (float)draw_from(d, 0, 1));
        else if (g->labels == LABELS_SHARES) {
            known = i % g->classes ? known : !draw_chance(d, missing);
            put_f32(f, known ? (float)draw_from(d, 0, 3) / 4 : NAN);
        } else
            put_f32(f, draw_chance(d, missing) ? NAN : draw_unit(d) * 4 - 2);
    }
}

/* ---- edges ---- */

/* hub: a node of the destinations, and of the sources where there are so many. */
static struct edge draw_edge(struct draw *d, int sources, int destinations, int hub, int way)
{
    const int u = (int)draw_below(d, (uint64_t)sources);
    const int v = (int)draw_below(d, (uint64_t)destinations);
    switch (way) {
    case 0: /* out of the hub */
        return (struct edge){hub % sources, v, 0};
    case 1: /* into the hub */
        return (struct edge){u, hub, 0};
    case 2:
        return (struct edge){u, u % destinations, 0};
    case 3: /* a few nodes among themselves: many edges twice */
        return (struct edge){u % 4, v % 4, 0};
    default: /* some nodes have none */
        return (struct edge){u, v - v % 3, 0};
    }
}

static int by_list(const void *a, const void *b)
{
    const struct edge *x = a;
    const struct edge *y = b;
    return x->dst != y->dst ? x->dst - y->dst : x->src - y->src;
}

int draw_edges(struct draw *d, int sources, int destinations, int most, struct edge *out)
{
    const int way = draw_from(d, 0, 9); /* most are of one kind, or mixed */
    const int hub = (int)draw_below(d, (uint64_t)destinations);
    int n = 1 + (int)draw_below(d, draw_chance(d, 20) ? 5 : (uint64_t)destinations * 12);
    n = n > most ? most : n;
    for (int i = 0; i < n; i++)
        out[i] = draw_edge(d, sources, destinations, hub, way < 5 ? way : draw_from(d, 0, 12));
    qsort(out, (size_t)n, sizeof(*out), by_list);
    return n;
}

/* Homogeneous; in both directions where the graph says so. */
static int draw_whole(const struct graph *g, struct draw *d, struct edge *out)
{
    int n = draw_edges(d, g->nodes, g->nodes, MOST_EDGES / 2, out);
    for (int i = 0, one_way = g->both_ways ? n : 0; i < one_way; i++)
        out[n++] = (struct edge){out[i].dst, out[i].src, 0};
    qsort(out, (size_t)n, sizeof(*out), by_list);
    return n;
}

static FILE *list_open(const char *folder, const char *prefix, const char *name, const char *descr,
                       int rows, int padded)
{
    char file[64];
    snprintf(file, sizeof(file), "%s%s.npy", prefix, name);
    return array_open(folder, file, descr, rows, 0, padded);
}

static int by_size(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* With `sorted` they ascend in each list. */
static void write_list_times(struct draw *d, const char *folder, const char *prefix,
                             const struct edge *edges, int n, bool sorted)
{
    char file[64];
    static int64_t time[MOST_EDGES];
    const int most = draw_chance(d, 30) ? 3 : 60;
    snprintf(file, sizeof(file), "%sedge_times.npy", prefix);
    for (int i = 0; i < n; i++)
        time[i] = draw_from(d, -most / 2, most);
    for (int first = 0, end = 0; sorted && first < n; first = end) {
        while (end < n && edges[end].dst == edges[first].dst)
            end++;
        qsort(time + first, (size_t)(end - first), sizeof(*time), by_size);
    }
    FILE *f = array_open(folder, file, "<i8", n, 0, draw_chance(d, 50) ? 128 : 4096);
    fwrite(time, sizeof(*time), (size_t)n, f);
    file_close(f);
}

void write_lists(struct graph *g, int relation, struct draw *d, const char *folder,
                 const char *prefix, const struct edge *edges, int n, int destinations)
{
    FILE *f = list_open(folder, prefix, "indptr", "<i8", destinations + 1, 128);
    int e = 0;
    for (int v = 0; v <= destinations; v++) {
        while (e < n && edges[e].dst < v)
            e++;
        put_int64(f, e);
    }
    file_close(f);
    f = list_open(folder, prefix, "indices", g->wide_ids ? "<i8" : "<i4", n,
                  draw_chance(d, 50) ? 128 : 4096);
    for (e = 0; e < n; e++)
        fwrite(&(int64_t){edges[e].src}, g->wide_ids ? 8 : 4, 1, f);
    file_close(f);
    g->has_times[relation] = g->edge_times && (g->n_types == 0 || draw_chance(d, 80) || n == 0);
    if (g->has_times[relation])
        write_list_times(d, folder, prefix, edges, n, g->by_time);
    if (!g->weighted)
        return;
    f = list_open(folder, prefix, "weights", "<f4", n, 128);
    for (e = 0; e < n; e++)
        put_f32(f, draw_chance(d, 20) ? 0 : draw_unit(d) * 4);
    file_close(f);
}

void write_edge_rows(const struct edge_rows *r, struct draw *d, const char *folder,
                     const char *prefix, int n)
{
    char file[64];
    if (r->dim == 0)
        return;
    snprintf(file, sizeof(file), "%sedge_features.npy", prefix);
    FILE *f =
        array_open(folder, file, stored_as(r->dtype), n, r->dim, draw_chance(d, 30) ? 128 : 4096);
    for (int i = 0; i < n * r->dim; i++)
        put_feature(f, r->dtype, 0.0625f + draw_unit(d) * 2);
    file_close(f);
}

void write_edge_rows_meta(const struct edge_rows *r, FILE *f)
{
    if (r->dim > 0)
        fprintf(f, ", \"edge_feature_dim\": %d, \"edge_feature_dtype\": \"%s\"", r->dim,
                dtype_word(r->dtype));
}

/* ---- nodes ---- */

static void write_labels(const struct graph *g, struct draw *d, const char *folder)
{
    const bool classes = g->labels == LABELS_CLASSES;
    FILE *f = array_open(folder, "labels.npy", classes ? "<i8" : "<f4", g->nodes,
                         classes ? 0 : g->classes, 128);
    put_labels(g, d, f, g->nodes);
    file_close(f);
}

void write_times(struct draw *d, const char *folder, const char *name, int n)
{
    const int most = draw_chance(d, 30) ? 3 : 60;
    FILE *f = array_open(folder, name, "<i8", n, 0, draw_chance(d, 50) ? 128 : 4096);
    for (int i = 0; i < n; i++)
        put_int64(f, draw_from(d, -most / 2, most));
    file_close(f);
}

/* Some types other than the one with labels have none. */
static void write_node_times(const struct graph *g, struct draw *d, const char *folder)
{
    const int types = g->n_types > 0 ? g->n_types : 1;
    FILE *f = array_open(folder, "node_times.npy", "<i8", g->nodes, 0, 128);
    for (int t = 0; t < types; t++) {
        const bool without = g->n_types > 0 && t != g->target && !g->several && draw_chance(d, 40);
        for (int i = 0; i < (g->n_types > 0 ? g->type[t].count : g->nodes); i++)
            put_int64(f, without ? INT64_MIN : draw_from(d, -10, 50));
    }
    file_close(f);
}

/* With times of edges they are needed; of nodes they may differ from the nodes' own. */
static void write_seed_times(const struct graph *g, struct draw *d, const char *folder,
                             const char *split, int n)
{
    char name[32];
    snprintf(name, sizeof(name), "%s_times.npy", split);
    if (n > 0 && (g->edge_times || (g->node_times && draw_chance(d, 30))))
        write_times(d, folder, name, n);
}

/* Mixes the ids of the target type, or of all types that are learned if several are. */
static int draw_order(const struct graph *g, struct draw *d, int order[MOST_NODES])
{
    int n = 0;
    for (int t = 0; t < (g->n_types > 0 ? g->n_types : 1); t++) {
        const int first = g->n_types > 0 ? g->type[t].first : 0;
        const int count = g->n_types > 0 ? g->type[t].count : g->nodes;
        const bool of_split =
            g->n_types == 0 || (g->several ? !g->type[t].left_out : t == g->target);
        for (int i = 0; of_split && i < count; i++, n++) {
            int j = (int)draw_below(d, (uint64_t)n + 1);
            order[n] = order[j];
            order[j] = first + i;
        }
    }
    return n;
}

/* Types that none of these n nodes is of have no nodes in other splits. */
static void leave_out_types(struct graph *g, const int *order, int n)
{
    for (int t = 0; t < g->n_types; t++) {
        bool found = false;
        for (int i = 0; i < n; i++)
            found |= order[i] >= g->type[t].first && order[i] < g->type[t].first + g->type[t].count;
        g->type[t].left_out = !found;
    }
}

/* In an order of their own; splits may share some. */
static int write_split(struct graph *g, struct draw *d, const char *folder, const char *split,
                       bool must)
{
    char name[32];
    int order[MOST_NODES] = {0};
    const int count = draw_order(g, d, order);
    int n = must || draw_chance(d, 80) ? draw_from(d, must ? 1 + count / 4 : 1, count) : 0;
    if (n == 0 && draw_chance(d, 50))
        return 0; /* no such file */
    if (must)
        leave_out_types(g, order, n);
    snprintf(name, sizeof(name), "%s.npy", split);
    FILE *f = array_open(folder, name, "<i8", n, 0, 128);
    for (int i = 0; i < n; i++)
        put_int64(f, order[i]);
    file_close(f);
    write_seed_times(g, d, folder, split, n);
    return n;
}

static void write_by_time(const struct graph *g, FILE *f)
{
    fprintf(f, ", \"by_time\": [");
    for (int r = 0; r < (g->n_types > 0 ? g->n_relations : 1); r++)
        fprintf(f, "%s\"%s\"", r ? ", " : "", g->has_times[r] ? "edge" : "off");
    fprintf(f, "]");
}

static void write_meta(const struct graph *g, const char *folder)
{
    FILE *f = file_open(folder, "meta.json");
    fprintf(f, "{\"format\": %d, \"name\": \"random\", \"num_classes\": %d", g->n_types > 0 ? 2 : 1,
            g->classes);
    if (g->n_types > 0)
        write_typed_meta(g, f);
    else
        fprintf(f, ", \"feature_dim\": %d, \"feature_dtype\": \"%s\"", g->dim,
                rows_word(g->dtype, &g->entries));
    write_entries_meta(&g->entries, f);
    write_edge_rows_meta(&g->rows, f);
    if (g->labels == LABELS_VALUES)
        fprintf(f, ", \"task\": \"node regression\"");
    if (g->labels == LABELS_SHARES)
        fprintf(f, ", \"task\": \"node shares\"");
    if (g->both_ways)
        fprintf(f, ", \"symmetric\": true");
    if (g->by_time)
        write_by_time(g, f);
    fprintf(f, "}\n");
    file_close(f);
}

/* Scores for the policy file: some equal, some negative. */
static void write_scores(const struct graph *g, struct draw *d, const char *folder)
{
    FILE *f = array_open(folder, "scores.npy", "<f4", g->nodes, 0, 128);
    for (int i = 0; i < g->nodes; i++)
        put_f32(f, (float)draw_from(d, -2, 9));
    file_close(f);
}

/* ---- all of it ---- */

int draw_dim(struct draw *d)
{
    static const int edges_of_kernels[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 64, 127, 128, 129, 130};
    enum { N = sizeof(edges_of_kernels) / sizeof(edges_of_kernels[0]) };
    return draw_chance(d, 50) ? edges_of_kernels[draw_below(d, N)] : draw_from(d, 1, 130);
}

enum og_element draw_dtype(struct draw *d)
{
    return draw_chance(d, 50) ? OG_ELEMENT_F32
                              : (enum og_element)draw_from(d, OG_ELEMENT_F32, OG_ELEMENT_U8);
}

void draw_edge_rows(struct edge_rows *r, struct draw *d)
{
    *r = (struct edge_rows){draw_dim(d), draw_dtype(d)};
}

static void draw_shape(struct graph *g, struct draw *d)
{
    static const int most[] = {2, 20, 60, 150, MOST_NODES};
    g->nodes = draw_from(d, 1, most[draw_below(d, 5)]);
    g->dim = draw_dim(d);
    g->dtype = draw_dtype(d);
    g->labels = draw_chance(d, 50) ? LABELS_CLASSES
                                   : (enum label_kind)draw_from(d, LABELS_CLASSES, LABELS_SHARES);
    g->classes = draw_from(d, 1, draw_chance(d, 50) ? 2 : 7);
    g->weighted = draw_chance(d, 30);
    g->wide_ids = draw_chance(d, 20);
    g->edge_lists = draw_chance(d, 35);
    g->edge_labels = g->edge_lists && draw_chance(d, 60);
    g->both_ways = draw_chance(d, 40);
    g->edges_have_rows = draw_chance(d, WITH_EDGE_ROWS);
    g->node_times = draw_chance(d, WITH_TIMES);
    g->edge_times = draw_chance(d, WITH_TIMES);
    g->by_time = g->edge_times && draw_chance(d, 40);
    if (draw_chance(d, TYPED))
        draw_types(g, d);
    else if (g->edges_have_rows)
        draw_edge_rows(&g->rows, d);
    if (g->n_types == 0)
        draw_entries(&g->entries, d, g->dim, g->dtype);
    g->several = g->n_types > 1 && draw_chance(d, 20);
    draw_lists(g, d);
}

void graph_write(struct graph *g, struct draw *d, const char *folder)
{
    static struct edge edges[MOST_EDGES];
    draw_shape(g, d);
    if (mkdir(folder, 0777) < 0) {
        perror(folder);
        exit(2);
    }
    if (g->n_types > 0) {
        g->edges = write_relations(g, d, folder, edges);
        write_typed_features(g, d, folder);
    } else {
        g->edges = draw_whole(g, d, edges);
        write_lists(g, 0, d, folder, "", edges, g->edges, g->nodes);
        write_edge_rows(&g->rows, d, folder, "", g->edges);
        write_rows(d, folder, "", g->nodes, g->dim, g->dtype, &g->entries);
    }
    write_labels(g, d, folder);
    if (g->node_times)
        write_node_times(g, d, folder);
    write_scores(g, d, folder);
    g->n_train = write_split(g, d, folder, "train", true);
    g->n_valid = write_split(g, d, folder, "valid", false);
    g->n_test = write_split(g, d, folder, "test", false);
    for (int i = 0; g->edge_lists && i < 3; i++) {
        static const char *const splits[] = {"train", "valid", "test"};
        write_edge_list(g, d, folder, splits[i], edges, i == 0);
    }
    write_meta(g, folder);
}
