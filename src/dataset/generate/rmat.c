/* R-MAT with Graph500's parameters: each of log2(N) levels picks one of four quadrants of the
 * adjacency matrix. Edges that fall outside [0, N) are drawn again; duplicates and loops stay, as
 * in Graph500. */
#include "dataset/generate/edges.h"

/* a = 0.57, b = 0.19, c = 0.19, d = 0.05 in 16 bits, cumulated */
enum { A = 37356, AB = 49807, ABC = 62259 };

static void draw_edge(const struct og_graph_model *m, struct og_rng *rng, uint32_t *src,
                      uint32_t *dst)
{
    uint32_t word = 0;
    *src = *dst = 0;
    for (unsigned level = 0; level < m->bits; level++) {
        word = level % 2 ? word >> 16 : og__rng_u32(rng);
        uint32_t u = word & 0xffff;
        *src = *src << 1 | (u >= AB);
        *dst = *dst << 1 | ((u >= A && u < AB) || u >= ABC);
    }
}

static void draw_edges(const struct og_graph_model *m, const struct og_graph_model *to,
                       uint64_t seed, uint32_t task, uint32_t n, uint32_t *src, uint32_t *dst)
{
    struct og_rng rng;
    (void)to; /* the same */
    og__rng_at(&rng, seed, OG__STREAM_GENERATE, 0, 0, 0, task);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u;
        uint32_t v;
        do
            draw_edge(m, &rng, &u, &v);
        while (u >= m->n_nodes || v >= m->n_nodes);
        src[i] = og__node_id(m, u);
        dst[i] = og__node_id(m, v);
    }
}

const struct og_edge_model og__rmat = {.draw = draw_edges};
