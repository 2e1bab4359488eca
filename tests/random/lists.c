/* Edges in lists: to learn, to validate and to test; and what is known of them. */
#include "arrays.h"
#include "graph.h"

#include <stdio.h>

enum { MOST_LISTED = 40 };

/* As those of nodes, of the n edges in a list. */
static void write_edge_labels(const struct graph *g, struct draw *d, const char *folder,
                              const char *split, int n)
{
    char name[64];
    const bool classes = g->labels == LABELS_CLASSES;
    snprintf(name, sizeof(name), "%s_edge_labels.npy", split);
    FILE *f = array_open(folder, name, classes ? "<i8" : "<f4", n, classes ? 0 : g->classes, 128);
    put_labels(g, d, f, n);
    file_close(f);
}

static void write_own_rows(const struct graph *g, struct draw *d, const char *folder,
                           const char *split, int n)
{
    char name[64];
    snprintf(name, sizeof(name), "%s_edge_rows.npy", split);
    FILE *f = array_open(folder, name, "<f4", n, g->own_rows, 128);
    for (int i = 0; i < n * g->own_rows; i++)
        put_f32(f, draw_unit(d) * 2 - 1);
    file_close(f);
}

/* A node of the type of one end of an edge. */
static int draw_end(const struct graph *g, struct draw *d, const struct edge *e, bool source)
{
    if (g->n_types == 0)
        return (int)draw_below(d, (uint64_t)g->nodes);
    const struct relation *of = &g->relation[e->relation];
    const struct node_type *t = &g->type[source ? of->source : of->destination];
    return t->first + (int)draw_below(d, (uint64_t)t->count);
}

/* Pairs for all held-out edges need edges of one relation. Some negatives are edges. */
static void write_negatives(const struct graph *g, struct draw *d, const char *folder,
                            const char *split, const struct edge *listed, int n, bool of_graph)
{
    char name[64];
    const bool pairs = draw_chance(d, 40) && (of_graph || g->n_types == 0);
    const int each = of_graph ? g->negatives : draw_from(d, 1, 6);
    const int rows = !pairs ? n : of_graph ? n * each : draw_from(d, 0, 30);
    snprintf(name, sizeof(name), "%s_neg_%s.npy", split, pairs ? "edges" : "dst");
    FILE *f = array_open(folder, name, "<i8", rows, pairs ? 2 : each, 128);
    for (int i = 0; i < rows; i++) {
        const struct edge *e = of_graph && pairs ? &listed[i / each] : &listed[n > 0 ? i % n : 0];
        if (pairs)
            put_int64(f, draw_end(g, d, e, true));
        for (int k = 0; k < (pairs ? 1 : each); k++)
            put_int64(f, draw_end(g, d, e, false));
    }
    file_close(f);
}

/* Some that are edges, some that are not: in heterogeneous graphs all are. */
void write_edge_list(const struct graph *g, struct draw *d, const char *folder, const char *split,
                     const struct edge *edges, bool of_graph)
{
    char name[64];
    struct edge listed[MOST_LISTED];
    int n = draw_from(d, of_graph ? 1 : 0, MOST_LISTED);
    snprintf(name, sizeof(name), "%s_edges.npy", split);
    FILE *f = array_open(folder, name, "<i8", n, 2, 128);
    for (int i = 0; i < n; i++) {
        struct edge e = edges[draw_below(d, (uint64_t)g->edges)];
        if (!of_graph && g->n_types == 0)
            e = (struct edge){(int)draw_below(d, (uint64_t)g->nodes),
                              (int)draw_below(d, (uint64_t)g->nodes), 0};
        put_int64(f, e.src);
        put_int64(f, e.dst);
        listed[i] = e;
    }
    file_close(f);
    if (g->edge_labels)
        write_edge_labels(g, d, folder, split, n);
    if (g->own_rows > 0)
        write_own_rows(g, d, folder, split, n);
    snprintf(name, sizeof(name), "%s_edge_times.npy", split);
    if (g->list_times)
        write_times(d, folder, name, n);
    if (of_graph ? g->negatives > 0 : g->held_negatives)
        write_negatives(g, d, folder, split, listed, n, of_graph);
    if (g->n_types == 0)
        return;
    snprintf(name, sizeof(name), "%s_edge_relations.npy", split);
    f = array_open(folder, name, "<i8", n, 0, 128);
    for (int i = 0; i < n; i++)
        put_int64(f, listed[i].relation);
    file_close(f);
}

/* What is known of the edges in lists. */
void draw_lists(struct graph *g, struct draw *d)
{
    g->own_rows = g->edge_labels && draw_chance(d, 40) ? draw_from(d, 1, 9) : 0;
    g->list_times = g->edge_lists && (g->node_times || g->edge_times);
    g->negatives = g->edge_lists && draw_chance(d, 40) ? draw_from(d, 1, 4) : 0;
    g->held_negatives = g->edge_lists && draw_chance(d, 40);
}
