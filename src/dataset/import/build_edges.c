/* Edge tables -> indptr.npy, indices.npy and weights.npy, through the sorter. */
#include "dataset/import/import.h"

#include "dataset/convert.h"

#include <assert.h>
#include <math.h>

#define FREES_FROM (48 * OG_MIB) /* of memory left */

static const char part[] = "import";
const char og__no_edges_hint[] =
    "a graph without edges has nothing to sample; to learn from features alone, give each node an "
    "edge to itself, and train --model mlp";

static int tell_sorted(void *arg, int64_t done, int64_t total, struct og_err *err)
{
    const struct og_importer *imp = arg;
    return og__writing_goes_on(imp->observer, "sorting", "edges", done, total, err);
}

/* The most disk space in use at once. Edges being sorted are freed as the result grows, but for
 * what does not fill blocks. With little memory they are in pieces too small for that. */
static int check_room(const struct og_importer *imp, int64_t expected, struct og_err *err)
{
    const bool twice = imp->both_ways || imp->n_relations < imp->graph.n_relations;
    char need_text[32];
    char free_text[32];
    uint64_t edges = (uint64_t)expected * (twice ? 2 : 1);
    uint64_t more = (imp->weighted ? 4 : 0) + (imp->numbered ? 8 : 0);
    uint64_t sorted = edges * (8 + more);
    uint64_t result = edges * ((imp->graph.n_nodes <= INT32_MAX ? 4 : 8) + more);
    const bool spills = 2 * sorted > og__budget_left(imp->budget);
    if (!spills)
        sorted = 0;
    const uint64_t less = OG_MIN(sorted, result);
    const uint64_t stays = og__budget_left(imp->budget) < FREES_FROM ? less : less / 8;
    const uint64_t need =
        OG_MAX(sorted, result) + stays + 8 * (uint64_t)og__schema_lists(&imp->graph);
    uint64_t left = og__disk_free(imp->dir.temporary);
    if (expected < 0 || left == 0 || need <= left)
        return 0;
    return og__fail(err, -ENOSPC, "free space there, or write to another disk",
                    "%s: sorting the edges takes %s of disk, %s are free", imp->dir.path,
                    og__human_bytes(need_text, (double)need),
                    og__human_bytes(free_text, (double)left));
}

int og__import_open_edges(struct og_importer *imp, bool weighted, int64_t expected,
                          struct og_err *err)
{
    const struct og_import *o = imp->opt;
    const struct og_edge_sorter_options opt = {.graph = &imp->graph,
                                               .weighted = weighted,
                                               .numbered = imp->numbered,
                                               .drop_duplicates =
                                                   o->symmetrize || o->drop_duplicates,
                                               .drop_self_loops = o->drop_self_loops,
                                               .memory = og__budget_left(imp->budget),
                                               .scratch = imp->dir.temporary,
                                               .pool = imp->pool,
                                               .progress = tell_sorted,
                                               .progress_arg = imp};
    imp->weighted = weighted;
    int rc = check_room(imp, expected, err);
    return rc < 0 ? rc : og__sorter_open(&imp->sorter, &opt, imp->budget, err);
}

int og__import_add_edges(struct og_importer *imp, uint32_t relation, const uint32_t *src,
                         const uint32_t *dst, const float *weight, size_t n, struct og_err *err)
{
    const bool reverses = imp->n_relations < imp->graph.n_relations;
    const uint32_t reverse = imp->n_relations + relation;
    const int64_t first = imp->n_added[relation];
    int rc;
    OG_TRY(og__sorter_add(imp->sorter, relation, src, dst, weight, first, n, err));
    if (imp->both_ways)
        OG_TRY(og__sorter_add(imp->sorter, relation, dst, src, weight, first, n, err));
    if (reverses)
        OG_TRY(og__sorter_add(imp->sorter, reverse, dst, src, weight, first, n, err));
    imp->n_added[relation] += (int64_t)n;
out:
    return rc;
}

/* -EINVAL for very many nodes, or lists of them, with few edges. A declared count costs a few bytes
 * to write and eight bytes a node to accept. */
static int check_claim(const struct og_importer *imp, int64_t edges, struct og_err *err)
{
    enum { NODES_AN_EDGE = 1024, ALWAYS = 1 << 24 };
    const int64_t nodes = OG_MAX(imp->graph.n_nodes, og__schema_lists(&imp->graph));
    if (!imp->claimed || nodes <= ALWAYS || nodes / NODES_AN_EDGE <= edges)
        return 0;
    return og__fail(err, -EINVAL, "is the number of nodes right? features or labels would show it",
                    "%s: %lld nodes, but only %lld edges", imp->src, (long long)nodes,
                    (long long)edges);
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* Reports changes between the source's edges and the graph's. */
static void tell_edges(const struct og_importer *imp, const struct og_edge_sorter_result *r)
{
    const int64_t dropped = r->n_self_loops + r->n_duplicates;
    const bool reverses = imp->opt->symmetrize || imp->n_relations < imp->graph.n_relations;
    if (dropped > 0 || imp->opt->symmetrize)
        og__import_say(imp, "%lld edges%s; dropped: %lld self loop%s, %lld duplicate%s; kept: %lld",
                       (long long)(r->n_edges + dropped),
                       reverses ? ", the reverse of each among them" : "",
                       (long long)r->n_self_loops, plural(r->n_self_loops),
                       (long long)r->n_duplicates, plural(r->n_duplicates), (long long)r->n_edges);
    if (r->n_other_weights > 0)
        og__import_warn(imp,
                        "%lld dropped duplicate%s had another weight than the edge that is kept, "
                        "the first of them in the source",
                        (long long)r->n_other_weights, plural(r->n_other_weights));
}

/* Reports properties of the lists of a homogeneous graph; relations need not have them. */
static void tell_lists(const struct og_importer *imp, const struct og_edge_sorter_result *r)
{
    if (!r->symmetric && imp->symmetric)
        og__import_warn(imp, "%s, but some edges have no reverse", imp->symmetric);
    if (!r->symmetric && !imp->opt->symmetrize)
        og__import_say(imp, "edges lead one way; where the graph is undirected, --symmetrize adds "
                            "the reverse of each");
    if (r->n_alone > 0)
        og__import_say(imp, "%lld of %lld nodes have no edge that leads to them",
                       (long long)r->n_alone, (long long)imp->graph.n_nodes);
}

static void tell_result(const struct og_importer *imp, const struct og_edge_sorter_result *r)
{
    const struct og_graph *g = &imp->graph;
    tell_edges(imp, r);
    if (g->has_types)
        og__import_say(imp, "%u type%s of nodes, %u relation%s", g->n_groups, plural(g->n_groups),
                       g->n_relations, plural(g->n_relations));
    else
        tell_lists(imp, r);
}

/* ---- tables of edges ---- */

void og__edges_close(struct og_edges *e)
{
    og__table_close(e->pairs);
    og__table_close(e->src);
    og__table_close(e->dst);
    og__table_close(e->weights);
    *e = (struct og_edges){.said = -1};
}

int og__edges_two_rows(struct og_edges *e, struct og_err *err)
{
    struct og_table *const ends[] = {e->src, e->dst};
    int rc = 0;
    for (size_t i = 0; i < OG_COUNT(ends); i++) {
        if (ends[i]->ndim != 2 || ends[i]->rows != 2)
            return og__fail(err, -EINVAL, "sources in the first row, destinations in the second",
                            "%s: shape [%lld, %lld], expected [2, E]", ends[i]->name,
                            (long long)ends[i]->rows, (long long)ends[i]->columns);
        OG_TRY(og__table_take_row(ends[i], (int64_t)i, err));
    }
out:
    return rc;
}

int og__edges_check(const struct og_edges *e, struct og_err *err)
{
    const struct og_table *const ends[] = {e->pairs ? e->pairs : e->src, e->pairs ? NULL : e->dst};
    assert(ends[0]); /* a failed open has returned already */
    for (size_t i = 0; i < OG_COUNT(ends) && ends[i]; i++)
        if (!og__npy_is_integer(ends[i]->type))
            return og__fail(err, -EINVAL, "store node ids as int32 or int64",
                            "%s: %s edges: node ids are whole numbers", ends[i]->name,
                            og__npy_name(ends[i]->type));
    if (ends[0]->columns != (e->pairs ? 2 : 1))
        return og__fail(err, -EINVAL,
                        "one row an edge: src, dst; weights go to a file of their own",
                        "%s: shape [%lld, %lld], expected [E, 2]", ends[0]->name,
                        (long long)ends[0]->rows, (long long)ends[0]->columns);
    if (ends[0]->rows == 0)
        return og__fail(err, -EINVAL, og__no_edges_hint, "%s: an empty graph: no edges",
                        ends[0]->name);
    if (e->weights && e->weights->columns != 1)
        return og__fail(err, -EINVAL, "one number an edge", "%s: %lld columns", e->weights->name,
                        (long long)e->weights->columns);
    if (e->weights && e->weights->rows >= 0 && ends[0]->rows >= 0 &&
        e->weights->rows != ends[0]->rows)
        return og__fail(err, -EINVAL, "a weight for every edge",
                        "%s: %lld weights for %lld edges of %s", e->weights->name,
                        (long long)e->weights->rows, (long long)ends[0]->rows, ends[0]->name);
    return 0;
}

static int short_table(const struct og_table *t, struct og_err *err)
{
    return og__fail(err, -EINVAL, "both belong to the same edges",
                    "%s: ends at row %lld, too early", t->name, (long long)t->next);
}

/* As stored. *n = 0 at the end. */
static int read_edges(const struct og_edges *e, struct og_edge_piece *p, int64_t *n,
                      struct og_err *err)
{
    int64_t m = 0;
    int rc;
    if (e->pairs) {
        OG_TRY(og__table_read(e->pairs, p->raw, OG__EDGES_A_PIECE, n, err));
    } else {
        OG_TRY(og__table_read(e->src, p->raw, OG__EDGES_A_PIECE, n, err));
        OG_TRY(og__table_read(e->dst, p->raw + OG__EDGES_A_PIECE, OG__EDGES_A_PIECE, &m, err));
        if (m != *n)
            OG_TRY(short_table(m < *n ? e->dst : e->src, err));
    }
    if (e->weights) {
        OG_TRY(og__table_read(e->weights, p->raw_weight, *n, &m, err));
        if (m != *n)
            OG_TRY(short_table(e->weights, err));
    }
out:
    return rc;
}

static int bad_end(const struct og_importer *imp, const struct og_table *t, int64_t row, int64_t id,
                   int64_t nodes, struct og_err *err)
{
    return og__fail(err, -EINVAL, "ids count from 0; is the number of nodes right?",
                    "%s: row %lld: node %lld, the graph has %lld nodes%s", t->name, (long long)row,
                    (long long)id, (long long)nodes,
                    nodes < imp->graph.n_nodes ? " of its type" : imp->nodes_by);
}

static int convert_ends(const struct og_importer *imp, const struct og_edges *e, int64_t first,
                        size_t n, struct og_edge_piece *p, struct og_err *err)
{
    const int64_t n_from = imp->opt->reverse ? e->n_destinations : e->n_sources;
    const int64_t n_to = imp->opt->reverse ? e->n_sources : e->n_destinations;
    const struct og_table *const from = e->pairs ? e->pairs : e->src;
    const struct og_table *const to = e->pairs ? e->pairs : e->dst;
    const int64_t *const raw_dst = e->pairs ? p->raw : p->raw + OG__EDGES_A_PIECE;
    const size_t step = e->pairs ? 2 : 1;
    for (size_t i = 0; i < n; i++) {
        int64_t u = og__integer_at(from->type, p->raw, i * step);
        int64_t v = og__integer_at(to->type, raw_dst, i * step + (step - 1));
        bool bad_from = u < 0 || u >= n_from;
        if (bad_from || v < 0 || v >= n_to)
            return bad_end(imp, bad_from ? from : to, first + (int64_t)i, bad_from ? u : v,
                           bad_from ? n_from : n_to, err);
        p->src[i] = (uint32_t)(imp->opt->reverse ? v : u);
        p->dst[i] = (uint32_t)(imp->opt->reverse ? u : v);
    }
    return 0;
}

static int convert_weights(const struct og_table *t, int64_t first, size_t n,
                           struct og_edge_piece *p, struct og_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const double weight = og__number_at(t->type, p->raw_weight, i);
        p->weight[i] = (float)weight;
        if (!isfinite(p->weight[i]) || p->weight[i] < 0)
            return og__fail(err, -EINVAL, "weights are finite numbers, 0 or more",
                            "%s: row %lld: %g is no weight", t->name,
                            (long long)(first + (int64_t)i), p->weight[i]);
        const double lost = weight - (double)p->weight[i];
        if (t->text ? og__text_changes(weight, p->weight[i]) : lost != 0)
            og__changed_by(&p->changed, first + (int64_t)i, -1, fabs(lost));
    }
    return 0;
}

static int next_piece(const struct og_importer *imp, const struct og_edges *e, int64_t done,
                      struct og_edge_piece *p, int64_t *n, struct og_err *err)
{
    int rc;
    OG_TRY(read_edges(e, p, n, err));
    OG_TRY(convert_ends(imp, e, done, (size_t)*n, p, err));
    if (e->weights)
        OG_TRY(convert_weights(e->weights, done, (size_t)*n, p, err));
    if (*n < OG__EDGES_A_PIECE && e->weights) { /* the last */
        og__import_tell_changed(imp, e->weights, &p->changed, "f32");
        p->changed = (struct og_changed){.n = 0};
    }
out:
    return rc;
}

static int rewind_edges(const struct og_edges *e, struct og_err *err)
{
    struct og_table *const tables[] = {e->pairs, e->src, e->dst, e->weights};
    int rc = 0;
    for (size_t i = 0; i < OG_COUNT(tables); i++)
        if (tables[i])
            OG_TRY(og__table_rewind(tables[i], err));
out:
    return rc;
}

int og__import_take_piece(struct og_importer *imp, struct og_err *err)
{
    if (!imp->piece)
        imp->piece = og__alloc(imp->budget, sizeof(*imp->piece), part, err);
    return imp->piece ? 0 : -ENOMEM;
}

int og__edges_pass(struct og_importer *imp, struct og_edges *e, og_edge_piece_fn *each, void *arg,
                   struct og_err *err)
{
    const int64_t total = OG_MAX(og__edges_rows(e), (int64_t)0);
    struct og_edge_piece *p;
    int64_t done = 0;
    int rc;
    OG_TRY(og__import_take_piece(imp, err));
    OG_TRY(rewind_edges(e, err));
    p = imp->piece;
    p->changed = (struct og_changed){.n = 0};
    for (int64_t n = OG__EDGES_A_PIECE; n == OG__EDGES_A_PIECE; done += n) {
        OG_TRY(next_piece(imp, e, done, p, &n, err));
        OG_TRY(each(arg, p, (size_t)n, err));
        OG_TRY(og__writing_goes_on(imp->observer, "edges", "edges", done + n, total, err));
    }
out:
    return rc;
}

struct of_relation {
    struct og_importer *imp;
    uint32_t relation;
};

static int add_piece(void *arg, struct og_edge_piece *p, size_t n, struct og_err *err)
{
    const struct of_relation *of = arg;
    return og__import_add_edges(of->imp, of->relation, p->src, p->dst,
                                of->imp->weighted ? p->weight : NULL, n, err);
}

int og__import_relation(struct og_importer *imp, uint32_t relation, struct og_edges *e,
                        struct og_err *err)
{
    const struct og_relation *r = &imp->graph.relation[relation];
    struct of_relation of = {imp, relation};
    e->n_sources = r->n_sources;
    e->n_destinations = r->n_nodes;
    const int rc = og__edges_check(e, err);
    return rc < 0 ? rc : og__edges_pass(imp, e, add_piece, &of, err);
}

/* ---- the end ---- */

void og__import_drop_edges(struct og_importer *imp)
{
    og__sorter_free(imp->sorter);
    imp->sorter = NULL;
    og__release(imp->budget, imp->piece, sizeof(*imp->piece), part);
    imp->piece = NULL;
}

int og__import_close_edges(struct og_importer *imp, struct og_err *err)
{
    struct og_edge_sorter_result result;
    int64_t edges = og__sorter_edges(imp->sorter);
    int rc;
    OG_TRY(edges > 0 ? check_claim(imp, edges, err)
                     : og__fail(err, -EINVAL, og__no_edges_hint, "%s: an empty graph: no edges",
                                imp->src));
    OG_TRY(og__sorter_finish(imp->sorter, imp->dir.temporary, imp->checksums, &result, err));
    og__import_drop_edges(imp);
    imp->graph.symmetric = result.symmetric;
    tell_result(imp, &result);
out:
    return rc;
}

/* ---- a table, or two, a relation ---- */

int og__import_count_edges(struct og_importer *imp, og_open_edges *open, void *source,
                           struct og_err *err)
{
    struct og_edges e = {.said = -1};
    int rc = 0;
    imp->n_counted = 0;
    for (uint32_t r = 0; r < imp->n_relations; r++) {
        OG_TRY(open(source, r, &e, err));
        OG_TRY(og__edges_check(&e, err));
        const int64_t rows = og__edges_rows(&e);
        imp->n_counted = rows < 0 || imp->n_counted < 0 ? -1 : imp->n_counted + rows;
        og__edges_close(&e);
    }
out:
    og__edges_close(&e);
    return rc;
}

static int import_opened(struct og_importer *imp, uint32_t relation, struct og_edges *e,
                         struct og_err *err)
{
    const struct og_table *t = e->pairs ? e->pairs : e->src;
    const int rc = og__import_relation(imp, relation, e, err);
    if (rc < 0 || e->said < 0 || t->next == e->said)
        return rc;
    return og__fail(err, -EINVAL, "fetch the files again: they belong together",
                    "%s: %lld edges where %s says %lld", t->name, (long long)t->next, e->said_by,
                    (long long)e->said);
}

int og__import_relations(struct og_importer *imp, og_open_edges *open, bool weighted, void *source,
                         struct og_err *err)
{
    struct og_edges e = {.said = -1};
    int rc;
    OG_TRY(og__import_take_piece(imp, err));
    OG_TRY(og__import_open_edges(imp, weighted, imp->n_counted, err));
    for (uint32_t r = 0; r < imp->n_relations; r++) {
        OG_TRY(open(source, r, &e, err));
        OG_TRY(import_opened(imp, r, &e, err));
        og__edges_close(&e);
    }
    OG_TRY(og__import_close_edges(imp, err));
out:
    og__edges_close(&e);
    return rc;
}
