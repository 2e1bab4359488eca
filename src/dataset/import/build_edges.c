/* Tables of edges -> indptr.npy, indices.npy and weights.npy, by way of the sorter. */
#include "dataset/import/import.h"

#include "dataset/convert.h"

#include <math.h>

static const char part[] = "import";

static int tell_sorted(void *arg, int64_t done, int64_t total, struct og_err *err)
{
    const struct og_importer *imp = arg;
    return og__writing_goes_on(imp->seen, "sorting", "edges", done, total, err);
}

/* What will stand on the disk at most: the edges being sorted, and the result. */
static int check_room(const struct og_importer *imp, bool weighted, int64_t expected,
                      struct og_err *err)
{
    char need_text[32];
    char free_text[32];
    uint64_t edges = (uint64_t)expected * (imp->opt->symmetrize ? 2 : 1);
    uint64_t sorted = edges * (weighted ? 12 : 8);
    uint64_t result = edges * (imp->n_nodes <= INT32_MAX ? 4 : 8) + edges * (weighted ? 4 : 0);
    uint64_t need = result + 8 * (uint64_t)imp->n_nodes;
    if (2 * sorted > og__budget_left(imp->budget))
        need += sorted;
    uint64_t left = og__disk_free(imp->dir.temporary);
    if (expected < 0 || left == 0 || need <= left)
        return 0;
    return og__fail(err, -ENOSPC, "free space there, or write to another disk",
                    "%s: sorting the edges takes %s of disk, %s are free", imp->dir.path,
                    og__human_bytes(need_text, (double)need),
                    og__human_bytes(free_text, (double)left));
}

int og__import_sorter_of(struct og_importer *imp, int64_t n_nodes, bool drop_self_loops,
                         bool weighted, int64_t expected, struct og_edge_sorter **out,
                         struct og_err *err)
{
    const struct og_import *o = imp->opt;
    struct og_edge_sorter_options opt = {.n_nodes = n_nodes,
                                         .weighted = weighted,
                                         .drop_duplicates = o->symmetrize || o->drop_duplicates,
                                         .drop_self_loops = drop_self_loops,
                                         .memory = og__budget_left(imp->budget),
                                         .scratch = imp->dir.temporary,
                                         .pool = imp->pool,
                                         .progress = tell_sorted,
                                         .progress_arg = imp};
    int rc = check_room(imp, weighted, expected, err);
    return rc < 0 ? rc : og__sorter_open(out, &opt, imp->budget, err);
}

int og__import_sorter(struct og_importer *imp, bool weighted, int64_t expected,
                      struct og_edge_sorter **out, struct og_err *err)
{
    return og__import_sorter_of(imp, imp->n_nodes, imp->opt->drop_self_loops, weighted, expected,
                                out, err);
}

int og__import_believe(const struct og_importer *imp, int64_t nodes, int64_t edges,
                       struct og_err *err)
{
    enum { NODES_AN_EDGE = 1024, ALWAYS = 1 << 24 };
    if (nodes <= ALWAYS || nodes / NODES_AN_EDGE <= edges)
        return 0;
    return og__fail(err, -EINVAL, "is the number of nodes right? features or labels would show it",
                    "%s: %lld nodes, of which %lld edges are all that is known", imp->src,
                    (long long)nodes, (long long)edges);
}

static int check_claim(const struct og_importer *imp, int64_t edges, struct og_err *err)
{
    return imp->claimed ? og__import_believe(imp, imp->n_nodes, edges, err) : 0;
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* What became of the source's edges, where they are not just what is there now. */
static void tell_edges(const struct og_importer *imp, const struct og_edge_sorter_result *r)
{
    const int64_t dropped = r->n_self_loops + r->n_duplicates;
    if (dropped > 0 || imp->opt->symmetrize)
        og__import_say(imp, "%lld edges%s; dropped: %lld self loop%s, %lld duplicate%s; kept: %lld",
                       (long long)(r->n_edges + dropped),
                       imp->opt->symmetrize ? ", the reverse of each among them" : "",
                       (long long)r->n_self_loops, plural(r->n_self_loops),
                       (long long)r->n_duplicates, plural(r->n_duplicates), (long long)r->n_edges);
    if (!r->symmetric && imp->said_symmetric)
        og__import_warn(imp, "meta.json: \"symmetric\" is true, but some edges have no reverse");
    if (!r->symmetric && !imp->opt->symmetrize && !imp->new_id)
        og__import_say(imp, "edges lead one way; where the graph is undirected, --symmetrize adds "
                            "the reverse of each");
    if (r->n_alone > 0)
        og__import_say(imp, "%lld of %lld nodes have no edge that leads to them",
                       (long long)r->n_alone, (long long)imp->n_nodes);
}

int og__import_sorted(struct og_importer *imp, struct og_edge_sorter *sorter, bool weighted,
                      struct og_err *err)
{
    struct og_edge_sorter_result result;
    int64_t edges = og__sorter_edges(sorter);
    int rc;
    OG_TRY(edges > 0 ? check_claim(imp, edges, err)
                     : og__fail(err, -EINVAL, "a graph without edges has nothing to sample",
                                "%s: an empty graph: no edges", imp->src));
    OG_TRY(og__sorter_finish(sorter, imp->dir.temporary, &result, err));
    og__import_note(imp, "num_nodes", json_integer(imp->n_nodes));
    og__import_note(imp, "num_edges", json_integer(result.n_edges));
    if (result.symmetric)
        og__import_note(imp, "symmetric", json_true());
    tell_edges(imp, &result);
    imp->n_edges = result.n_edges;
    OG_TRY(og__meta_set_checksum(imp->checksums, "indptr.npy", result.indptr_checksum, err));
    OG_TRY(og__meta_set_checksum(imp->checksums, "indices.npy", result.indices_checksum, err));
    if (weighted)
        OG_TRY(og__meta_set_checksum(imp->checksums, "weights.npy", result.weights_checksum, err));
out:
    return rc;
}

int og__edges_check(const struct og_edges *e, struct og_err *err)
{
    const struct og_table *const ends[] = {e->pairs ? e->pairs : e->src, e->pairs ? NULL : e->dst};
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
        return og__fail(err, -EINVAL, "a graph without edges has nothing to sample",
                        "%s: an empty graph: no edges", ends[0]->name);
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

static int convert_edges(const struct og_importer *imp, const struct og_edges *e, int64_t first,
                         size_t n, struct og_edge_piece *p, struct og_err *err)
{
    const int64_t n_src = e->n_sources ? e->n_sources : imp->n_nodes;
    const int64_t n_dst = e->n_destinations ? e->n_destinations : imp->n_nodes;
    const int64_t n_from = imp->opt->reverse ? n_dst : n_src;
    const int64_t n_to = imp->opt->reverse ? n_src : n_dst;
    const struct og_table *const from = e->pairs ? e->pairs : e->src;
    const struct og_table *const to = e->pairs ? e->pairs : e->dst;
    const int64_t *const raw_dst = e->pairs ? p->raw : p->raw + OG__EDGES_A_PIECE;
    const size_t step = e->pairs ? 2 : 1;
    for (size_t i = 0; i < n; i++) {
        int64_t u = og__integer_at(from->type, p->raw, i * step);
        int64_t v = og__integer_at(to->type, raw_dst, i * step + (step - 1));
        bool bad_from = u < 0 || u >= n_from;
        if (bad_from || v < 0 || v >= n_to)
            return og__fail(err, -EINVAL, "ids count from 0; is the number of nodes right?",
                            "%s: row %lld: node %lld, the graph has %lld nodes%s",
                            bad_from ? from->name : to->name, (long long)(first + (int64_t)i),
                            (long long)(bad_from ? u : v), (long long)(bad_from ? n_from : n_to),
                            e->n_sources ? " of its type" : imp->nodes_by);
        p->src[i] = (uint32_t)(imp->opt->reverse ? v : u);
        p->dst[i] = (uint32_t)(imp->opt->reverse ? u : v);
        if (!e->weights)
            continue;
        p->weight[i] = (float)og__number_at(e->weights->type, p->raw_weight, i);
        if (!isfinite(p->weight[i]) || p->weight[i] < 0)
            return og__fail(err, -EINVAL, "weights are finite numbers, 0 or more",
                            "%s: row %lld: %g is no weight", e->weights->name,
                            (long long)(first + (int64_t)i), p->weight[i]);
        const double lost =
            og__number_at(e->weights->type, p->raw_weight, i) - (double)p->weight[i];
        if (lost != 0 && !e->weights->text)
            og__changed_by(&p->changed, first + (int64_t)i, -1, fabs(lost));
    }
    return 0;
}

int og__edges_next(const struct og_importer *imp, const struct og_edges *e, int64_t done,
                   struct og_edge_piece *p, int64_t *n, struct og_err *err)
{
    int rc;
    OG_TRY(read_edges(e, p, n, err));
    OG_TRY(convert_edges(imp, e, done, (size_t)*n, p, err));
    if (*n < OG__EDGES_A_PIECE && e->weights) { /* the last */
        og__import_tell_changed(imp, e->weights, &p->changed, "f32");
        p->changed = (struct og_changed){.n = 0};
    }
out:
    return rc;
}

static int add_edges(struct og_importer *imp, const struct og_edges *e,
                     struct og_edge_sorter *sorter, struct og_edge_piece *p, struct og_err *err)
{
    const float *weight = e->weights ? p->weight : NULL;
    const bool both = e->both_ways || imp->opt->symmetrize;
    int64_t total = e->pairs ? e->pairs->rows : e->src->rows;
    int64_t done = 0;
    int rc = 0;
    for (int64_t n = OG__EDGES_A_PIECE; n == OG__EDGES_A_PIECE; done += n) {
        OG_TRY(og__edges_next(imp, e, done, p, &n, err));
        OG_TRY(og__sorter_add(sorter, p->src, p->dst, weight, (size_t)n, err));
        if (both)
            OG_TRY(og__sorter_add(sorter, p->dst, p->src, weight, (size_t)n, err));
        OG_TRY(og__writing_goes_on(imp->seen, "edges", "edges", done + n, OG_MAX(total, (int64_t)0),
                                   err));
    }
out:
    return rc;
}

int og__import_edges(struct og_importer *imp, const struct og_edges *e, struct og_err *err)
{
    struct og_edge_piece *p = NULL;
    struct og_edge_sorter *sorter = NULL;
    int64_t rows = e->pairs ? e->pairs->rows : e->src->rows;
    int rc;
    OG_TRY(og__edges_check(e, err));
    if (!(p = og__alloc(imp->budget, sizeof(*p), part, err)))
        OG_TRY(-ENOMEM);
    OG_TRY(og__import_sorter(imp, e->weights != NULL, rows < 0 || !e->both_ways ? rows : 2 * rows,
                             &sorter, err));
    OG_TRY(add_edges(imp, e, sorter, p, err));
    OG_TRY(og__import_sorted(imp, sorter, e->weights != NULL, err));
out:
    og__sorter_free(sorter);
    og__release(imp->budget, p, sizeof(*p), part);
    return rc;
}
