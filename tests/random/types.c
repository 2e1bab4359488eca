/* Types of nodes and relations: widths, types without features, relations without edges. */
#include "arrays.h"
#include "graph.h"

#include <stdio.h>
#include <string.h>

enum { MOST_OF_RELATION = 400 };

/* ---- shape ---- */

static void draw_rows(struct graph *g, struct draw *d, struct node_type *t)
{
    t->dtype = draw_dtype(d);
    t->dim = g->alike ? g->dim : draw_dim(d);
    draw_entries(&t->entries, d, t->dim, t->dtype);
    if (!draw_chance(d, 30))
        return;
    t->dim = 0;
    g->bare = true;
}

static int draw_type(const struct graph *g, struct draw *d)
{
    return (int)draw_below(d, (uint64_t)g->n_types);
}

/* Reverses one of the first relations, which lead to every type. A reversed one already has
 * another. */
static struct relation draw_reverse(const struct graph *g, struct draw *d)
{
    const int of = draw_type(g, d);
    struct relation back = {.source = g->relation[of].destination,
                            .destination = g->relation[of].source,
                            .reverses = true,
                            .reversed = of};
    for (int r = g->n_types; r < g->n_relations; r++)
        back.reverses &= !g->relation[r].reverses || g->relation[r].reversed != of;
    return back;
}

/* Something leads to every type, so that each has rows after a layer. */
static void draw_relations(struct graph *g, struct draw *d)
{
    for (int t = 0; t < g->n_types; t++)
        g->relation[g->n_relations++] =
            (struct relation){.source = (int)draw_below(d, (uint64_t)g->n_types), .destination = t};
    for (int more = draw_from(d, 0, MOST_RELATIONS - MOST_TYPES); more > 0; more--)
        g->relation[g->n_relations++] =
            draw_chance(d, 50)
                ? draw_reverse(g, d)
                : (struct relation){.source = draw_type(g, d), .destination = draw_type(g, d)};
}

void relation_name(const struct graph *g, int relation, char out[16])
{
    const struct relation *of = &g->relation[relation];
    snprintf(out, 16, "%sr%d", of->reverses ? "rev_" : "", of->reverses ? of->reversed : relation);
}

/* Each with a width of its own; where not all have some, a few. */
static void draw_rows_of_relations(struct graph *g, struct draw *d)
{
    const int some = g->edges_have_rows ? 100 : draw_chance(d, 30) ? 40 : 0;
    for (int r = 0; r < g->n_relations; r++)
        if (draw_chance(d, some))
            draw_edge_rows(&g->relation[r].rows, d);
}

void draw_types(struct graph *g, struct draw *d)
{
    static const int most[] = {3, 20, 60, 80};
    g->both_ways = false;
    g->alike = draw_chance(d, 40);
    g->n_types = draw_from(d, draw_chance(d, 10) ? 1 : 2, MOST_TYPES);
    g->nodes = 0;
    for (int t = 0; t < g->n_types; t++) {
        g->type[t] = (struct node_type){
            .first = g->nodes,
            .count =
                draw_from(d, 1, g->n_types < 4 ? most[draw_below(d, 4)] : most[draw_below(d, 3)])};
        g->nodes += g->type[t].count;
        draw_rows(g, d, &g->type[t]);
    }
    g->target = (int)draw_below(d, (uint64_t)g->n_types);
    draw_relations(g, d);
    if (g->n_types == 1 && g->n_relations == 1) /* else it is homogeneous */
        g->relation[g->n_relations++] = (struct relation){0};
    draw_rows_of_relations(g, d);
}

/* ---- files ---- */

int write_relations(struct graph *g, struct draw *d, const char *folder, struct edge *out)
{
    int n = 0;
    for (int r = 0; r < g->n_relations; r++) {
        char prefix[16];
        struct relation *of = &g->relation[r];
        const struct node_type *from = &g->type[of->source];
        const struct node_type *to = &g->type[of->destination];
        const bool none = r > 0 && draw_chance(d, 12);
        of->edges = none ? 0 : draw_edges(d, from->count, to->count, MOST_OF_RELATION, out + n);
        snprintf(prefix, sizeof(prefix), "rel%d_", r);
        write_lists(g, r, d, folder, prefix, out + n, of->edges, to->count);
        write_edge_rows(&of->rows, d, folder, prefix, of->edges);
        for (int i = 0; i < of->edges; i++, n++)
            out[n] = (struct edge){from->first + out[n].src, to->first + out[n].dst, r};
    }
    return n;
}

void write_typed_features(struct graph *g, struct draw *d, const char *folder)
{
    for (int t = 0; t < g->n_types; t++) {
        struct node_type *of = &g->type[t];
        char end[16];
        snprintf(end, sizeof(end), "_%d", t);
        if (of->dim > 0)
            write_rows(d, folder, end, of->count, of->dim, of->dtype, &of->entries);
    }
}

void write_typed_meta(const struct graph *g, FILE *f)
{
    fprintf(f, ", \"num_nodes\": %d, \"num_edges\": %d, \"node_types\": [", g->nodes, g->edges);
    for (int t = 0; t < g->n_types; t++) {
        const struct node_type *of = &g->type[t];
        fprintf(f, "%s{\"name\": \"t%d\", \"count\": %d", t ? ", " : "", t, of->count);
        if (of->dim > 0)
            fprintf(f, ", \"feature_dim\": %d, \"feature_dtype\": \"%s\"", of->dim,
                    rows_word(of->dtype, &of->entries));
        if (of->dim > 0)
            write_entries_meta(&of->entries, f);
        fprintf(f, "}");
    }
    fprintf(f, "], \"relations\": [");
    for (int r = 0; r < g->n_relations; r++) {
        const struct relation *of = &g->relation[r];
        char name[16];
        relation_name(g, r, name);
        fprintf(f, "%s{\"source\": \"t%d\", \"name\": \"%s\", \"destination\": \"t%d\", ",
                r ? ", " : "", of->source, name, of->destination);
        fprintf(f, "\"num_edges\": %d", of->edges);
        write_edge_rows_meta(&of->rows, f);
        fprintf(f, "}");
    }
    fprintf(f, "]");
}
