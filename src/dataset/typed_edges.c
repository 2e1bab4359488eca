#include "dataset/typed_edges.h"

static const char part[] = "seeds";
enum { PIECE = 2048 };

const char *const og__edge_relation_files[OG__SPLITS] = {
    "train_edge_relations.npy", "valid_edge_relations.npy", "test_edge_relations.npy"};

bool og__has_edge_lists(const struct og_graph *g)
{
    for (int s = 0; s < OG__SPLITS && g->has_types; s++)
        if (g->edges[s].fd >= 0 && g->edge_relations[s].fd < 0)
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

static int read_piece(const struct og_graph *g, enum og__split split, int64_t first,
                      struct piece *p, struct og_err *err)
{
    const struct og_npy *edges = &g->edges[split];
    struct og_npy flat = *edges; /* the same numbers in one row */
    int rc;
    flat.ndim = 1;
    flat.shape[0] = 2 * edges->shape[0];
    flat.shape[1] = 1;
    p->first = first;
    p->n = OG_MIN(edges->shape[0] - first, (int64_t)PIECE);
    OG_TRY(og__npy_read_int64(&flat, 2 * first, 2 * p->n, p->ends, err));
    OG_TRY(og__npy_read_int64(&g->edge_relations[split], first, p->n, p->relation, err));
    for (int64_t i = 0; i < p->n; i++)
        if (!og__typed_edge_fits(g, p->ends[2 * i], p->relation[i], p->ends[2 * i + 1]))
            OG_TRY(og__fail(err, -EINVAL,
                            "the dataset is damaged or half copied: see `outgrow verify`, or "
                            "import it again",
                            "%s: row %lld: nodes %lld and %lld have no edge of relation %lld",
                            g->edge_relations[split].path, (long long)(first + i),
                            (long long)p->ends[2 * i], (long long)p->ends[2 * i + 1],
                            (long long)p->relation[i]));
out:
    return rc;
}

/* Counts the edges of the requested relations; stores them if there are arrays. */
static int pick(const struct og_graph *g, enum og__split split, const bool *asked, uint32_t *ends,
                uint32_t *relation, int64_t *count, struct og_err *err)
{
    const int64_t n = g->edges[split].shape[0];
    struct piece p;
    int rc = 0;
    *count = 0;
    for (int64_t first = 0; first < n; first += p.n) {
        OG_TRY(read_piece(g, split, first, &p, err));
        for (int64_t i = 0; i < p.n; i++) {
            if (!asked[p.relation[i]])
                continue;
            if (ends) {
                ends[2 * *count] = (uint32_t)p.ends[2 * i];
                ends[2 * *count + 1] = (uint32_t)p.ends[2 * i + 1];
                relation[*count] = (uint32_t)p.relation[i];
            }
            ++*count;
        }
    }
out:
    return rc;
}

int og__typed_edges(const struct og_graph *g, enum og__split split, const bool *asked,
                    struct og_budget *b, uint32_t **ends, uint32_t **relation, int64_t *count,
                    struct og_err *err)
{
    int64_t n = 0;
    int rc = 0;
    *ends = *relation = NULL;
    *count = 0;
    if (g->edges[split].fd < 0)
        return 0;
    OG_TRY(pick(g, split, asked, NULL, NULL, &n, err));
    if (n == 0)
        return 0;
    *ends = og__alloc(b, (size_t)n * 2 * sizeof(**ends), part, err);
    *relation = *ends ? og__alloc(b, (size_t)n * sizeof(**relation), part, err) : NULL;
    OG_TRY(*relation ? 0 : -ENOMEM);
    OG_TRY(pick(g, split, asked, *ends, *relation, count, err));
out:
    if (rc < 0) {
        og__release(b, *ends, (size_t)n * 2 * sizeof(**ends), part);
        og__release(b, *relation, (size_t)n * sizeof(**relation), part);
        *ends = *relation = NULL;
        *count = 0;
    }
    return rc;
}
