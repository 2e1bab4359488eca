/* Held-out edges of the dataset's lists that the graph has all the same. */
#include "dataset/graph.h"
#include "dataset/stream.h"

enum { MOST = 512, PIECE = 512 };

/* The relation of a listed edge; NULL: it has none. Its ends become ids within their groups. */
static int locate(const struct og_graph *g, enum og__split which, int64_t i, int64_t end[2],
                  const struct og_relation **r, struct og_err *err)
{
    const struct og_npy pairs = og__npy_flat(&g->edges[which]);
    int64_t relation = 0;
    int rc;
    OG_TRY(og__npy_read_int64(&pairs, 2 * i, 2, end, err));
    if (g->edge_relations[which].fd >= 0)
        OG_TRY(og__npy_read_int64(&g->edge_relations[which], i, 1, &relation, err));
    *r = relation >= 0 && relation < g->n_relations ? &g->relation[relation] : NULL;
    if (!*r)
        return 0;
    end[0] -= g->group[(*r)->source].first;
    end[1] -= g->group[(*r)->destination].first;
    if (end[1] < 0 || end[1] >= (*r)->n_nodes)
        *r = NULL; /* who uses the list refuses it */
out:
    return rc;
}

static int look_up(const struct og_relation *r, const int64_t end[2], bool *found,
                   struct og_err *err)
{
    int64_t list[2], source[PIECE];
    int rc;
    *found = false;
    OG_TRY(og__npy_read_int64(&r->indptr, end[1], 2, list, err));
    for (int64_t n; list[0] < list[1] && !*found; list[0] += n) {
        n = OG_MIN(list[1] - list[0], (int64_t)PIECE);
        OG_TRY(og__read_indices(r, list[0], n, source, err));
        for (int64_t i = 0; i < n; i++)
            *found |= source[i] == end[0];
    }
out:
    return rc;
}

int og__held_out_in_graph(const struct og_graph *g, enum og__split which, int64_t *looked,
                          int64_t *found, struct og_err *err)
{
    const int64_t n = g->edges[which].fd >= 0 ? g->edges[which].shape[0] : 0;
    const struct og_relation *r;
    int rc = 0;
    *looked = OG_MIN(n, (int64_t)MOST);
    *found = 0;
    for (int64_t i = 0; i < *looked; i++) {
        int64_t end[2];
        bool is = false;
        OG_TRY(locate(g, which, n / *looked * i, end, &r, err));
        if (r)
            OG_TRY(look_up(r, end, &is, err));
        *found += is;
    }
out:
    return rc;
}
