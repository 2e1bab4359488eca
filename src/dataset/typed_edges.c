#include "dataset/typed_edges.h"

#include <string.h>

static const char part[] = "seeds";
enum { PIECE = 2048 };

const char *const og__edge_relation_files[OG__SPLITS] = {
    "train_edge_relations.npy", "valid_edge_relations.npy", "test_edge_relations.npy"};

bool og__has_edge_lists(const struct og_graph *g)
{
    const bool beside = og__form_of(g)->lists_relations;
    for (int s = 0; s < OG__SPLITS; s++)
        if (g->edges[s].fd >= 0 && beside && g->edge_relations[s].fd < 0)
            return false;
    return g->edges[OG__TRAIN].fd >= 0;
}

bool og__typed_edge_fits(const struct og_graph *g, int64_t source, int64_t relation,
                         int64_t destination)
{
    const int64_t n = g->n_nodes;
    if (relation < 0 || relation >= g->n_relations || source < 0 || source >= n ||
        destination < 0 || destination >= n)
        return false;
    const struct og_relation *r = &g->relation[relation];
    return og__group_of(g, (uint32_t)source) == r->source &&
           og__group_of(g, (uint32_t)destination) == r->destination;
}

/* Some edges of a list, from `first` on. */
struct piece {
    int64_t first, n;
    int64_t ends[2 * PIECE], relation[PIECE];
};

static const char again_hint[] =
    "the dataset is damaged or half copied: see `outgrow verify`, or import it again";

static int check_edge(const struct og_graph *g, enum og__split split, const struct piece *p,
                      int64_t i, bool related, struct og_err *err)
{
    const int64_t *end = &p->ends[2 * i];
    for (int k = 0; k < 2; k++)
        if (end[k] < 0 || end[k] >= g->n_nodes)
            return og__fail(err, -EINVAL, again_hint,
                            "%s: row %lld: node %lld, the graph has %lld nodes",
                            g->edges[split].path, (long long)(p->first + i), (long long)end[k],
                            (long long)g->n_nodes);
    if (!related || og__typed_edge_fits(g, end[0], p->relation[i], end[1]))
        return 0;
    return og__fail(err, -EINVAL, again_hint,
                    "%s: row %lld: nodes %lld and %lld have no edge of relation %lld",
                    g->edge_relations[split].path, (long long)(p->first + i), (long long)end[0],
                    (long long)end[1], (long long)p->relation[i]);
}

static int read_piece(const struct og_graph *g, enum og__split split, int64_t first, bool related,
                      struct piece *p, struct og_err *err)
{
    const struct og_npy flat = og__npy_flat(&g->edges[split]);
    p->first = first;
    p->n = OG_MIN(g->edges[split].shape[0] - first, (int64_t)PIECE);
    OG_DO(og__npy_read_int64(&flat, 2 * first, 2 * p->n, p->ends, err));
    if (related)
        OG_DO(og__npy_read_int64(&g->edge_relations[split], first, p->n, p->relation, err));
    for (int64_t i = 0; i < p->n; i++)
        OG_DO(check_edge(g, split, p, i, related, err));
    return 0;
}

/* Counts the edges of the requested relations; stores them if there are arrays. */
static int pick(const struct og_graph *g, enum og__split split, const bool *requested,
                uint32_t *ends, uint32_t *relation, int64_t *count, struct og_err *err)
{
    const int64_t n = g->edges[split].shape[0];
    struct piece p;
    *count = 0;
    for (int64_t first = 0; first < n; first += p.n) {
        OG_DO(read_piece(g, split, first, requested, &p, err));
        for (int64_t i = 0; i < p.n; i++) {
            if (requested && !requested[p.relation[i]])
                continue;
            if (relation)
                relation[*count] = (uint32_t)p.relation[i];
            if (ends) {
                ends[2 * *count] = (uint32_t)p.ends[2 * i];
                ends[2 * *count + 1] = (uint32_t)p.ends[2 * i + 1];
            }
            ++*count;
        }
    }
    return 0;
}

int og__typed_edges(const struct og_graph *g, enum og__split split, const bool *requested,
                    struct og_budget *b, uint32_t **ends, uint32_t **relation, int64_t *count,
                    struct og_err *err)
{
    int64_t n = g->edges[split].fd < 0 ? 0 : g->edges[split].shape[0];
    uint32_t *own = NULL;
    int rc = 0;
    *ends = NULL;
    *count = 0;
    if (relation)
        *relation = NULL;
    if (requested && n > 0)
        OG_TRY(pick(g, split, requested, NULL, NULL, &n, err));
    if (n == 0)
        return 0;
    *ends = og__alloc(b, (size_t)n * 2 * sizeof(**ends), part, err);
    own = *ends && requested ? og__alloc(b, (size_t)n * sizeof(*own), part, err) : NULL;
    OG_TRY(*ends && (own || !requested) ? 0 : -ENOMEM);
    OG_TRY(pick(g, split, requested, *ends, own, count, err));
out:
    if (rc < 0) {
        og__release(b, *ends, (size_t)n * 2 * sizeof(**ends), part);
        og__release(b, own, (size_t)n * sizeof(*own), part);
        *ends = own = NULL;
        *count = 0;
    }
    if (own)
        *relation = own;
    return rc;
}

/* ---- given negatives ---- */

/* Row `row` is of an edge of relation r. */
static int check_row(const struct og_graph *g, enum og__split split, const uint32_t *ids,
                     int64_t row, uint32_t r, struct og_err *err)
{
    const bool each = g->negatives_each[split];
    const int64_t width = og__negatives_width(g, split);
    const struct og_relation *of = &g->relation[r];
    for (int64_t k = 0; k < width; k++) {
        const uint32_t type = each || k % 2 == 1 ? of->destination : of->source;
        if (og__group_of(g, ids[row * width + k]) != type)
            return og__fail(err, -EINVAL, "negatives have the types of the edges' ends",
                            "%s: row %lld: node %u is of type %s, the edges need %s",
                            g->negatives[split].path, (long long)row, ids[row * width + k],
                            g->group[og__group_of(g, ids[row * width + k])].name,
                            g->group[type].name);
    }
    return 0;
}

/* Pairs for all edges have the one relation of these. */
static int check_pairs(const struct og_graph *g, enum og__split split, const uint32_t *relation,
                       int64_t edges, const uint32_t *ids, int64_t rows, struct og_err *err)
{
    int rc = 0;
    for (int64_t i = 1; i < edges; i++)
        if (relation[i] != relation[0])
            return og__fail(err, -EINVAL,
                            "give --relation NAME, or candidates for each edge (valid_neg_dst.npy)",
                            "%s: pairs for edges of several relations", g->negatives[split].path);
    for (int64_t row = 0; rc == 0 && row < rows; row++)
        rc = check_row(g, split, ids, row, relation[0], err);
    return rc;
}

/* Moves rows of requested relations to the front, and counts them. */
static int keep_rows(const struct og_graph *g, enum og__split split, const bool *requested,
                     uint32_t *ids, int64_t *kept, struct og_err *err)
{
    const int64_t n = g->edges[split].shape[0], width = og__negatives_width(g, split);
    struct piece p;
    *kept = 0;
    for (int64_t first = 0; first < n; first += p.n) {
        OG_DO(read_piece(g, split, first, true, &p, err));
        for (int64_t i = 0; i < p.n; i++) {
            if (!requested[p.relation[i]])
                continue;
            OG_DO(check_row(g, split, ids, first + i, (uint32_t)p.relation[i], err));
            memmove(ids + *kept * width, ids + (first + i) * width, (size_t)width * sizeof(*ids));
            ++*kept;
        }
    }
    return 0;
}

int og__typed_negatives(const struct og_graph *g, enum og__split split, const bool *requested,
                        const uint32_t *relation, int64_t edges, struct og_budget *b,
                        uint32_t **ids, int64_t *rows, struct og_err *err)
{
    const size_t row_bytes = (size_t)og__negatives_width(g, split) * sizeof(**ids);
    int64_t kept;
    if (!*ids)
        return 0;
    if (!g->negatives_each[split] && split != OG__TRAIN)
        return check_pairs(g, split, relation, edges, *ids, *rows, err);
    OG_DO(keep_rows(g, split, requested, *ids, &kept, err));
    if (kept == *rows)
        return 0;
    uint32_t *some = og__alloc(b, (size_t)kept * row_bytes, part, err);
    OG_DO(some ? 0 : -ENOMEM);
    memcpy(some, *ids, (size_t)kept * row_bytes);
    og__release(b, *ids, (size_t)*rows * row_bytes, part);
    *ids = some;
    *rows = kept;
    return 0;
}

int og__graph_edges(const struct og_graph *g, enum og__split split, struct og_budget *b,
                    uint32_t **ends, int64_t *count, struct og_err *err)
{
    return og__typed_edges(g, split, NULL, b, ends, NULL, count, err);
}
