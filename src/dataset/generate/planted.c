/* Planted communities with power-law degrees (a degree-corrected block model).
 *
 * A node of rank r in its class is drawn with probability ~ (r + 1)^(-2/3). So the tail of the
 * degrees falls with exponent 1 + 3/2. The inverse of that distribution is a cube, so drawing needs
 * no table. */
#include "dataset/generate/edges.h"

#include <math.h>

static uint64_t class_size(const struct og_graph_model *m, uint32_t class)
{
    return (m->n_nodes - class + m->n_classes - 1) / m->n_classes;
}

static uint32_t draw_node(const struct og_graph_model *m, struct og_rng *rng, uint32_t class)
{
    uint64_t n = class_size(m, class);
    double u = og__rng_u32(rng) * 0x1p-32;
    double x = 1 + u * (cbrt((double)(n + 1)) - 1);
    uint64_t rank = (uint64_t)(x * x * x) - 1;
    return og__node_id(m, OG_MIN(rank, n - 1) * m->n_classes + class);
}

/* Drawing both ends' classes uniformly keeps classes equally connected. */
static uint32_t other_class(const struct og_graph_model *m, struct og_rng *rng, uint32_t class)
{
    if (m->n_classes == 1 || og__rng_u32(rng) * 0x1p-32 < m->g->homophily)
        return class;
    uint32_t other = og__rng_below(rng, m->n_classes - 1);
    return other + (other >= class);
}

static void draw_pairs(const struct og_graph_model *m, const struct og_graph_model *to,
                       uint64_t seed, uint32_t task, uint32_t n, uint32_t *src, uint32_t *dst)
{
    struct og_rng rng;
    (void)to; /* the same */
    og__rng_at(&rng, seed, OG__STREAM_GENERATE, 0, 0, 1, task);
    for (uint32_t i = 0; i + 1 < n; i += 2) {
        uint32_t class = og__rng_below(&rng, m->n_classes);
        uint32_t u = draw_node(m, &rng, class);
        uint32_t v = draw_node(m, &rng, other_class(m, &rng, class));
        src[i] = dst[i + 1] = u;
        dst[i] = src[i + 1] = v;
    }
}

static void draw_between(const struct og_graph_model *from, const struct og_graph_model *to,
                         uint64_t seed, uint32_t task, uint32_t n, uint32_t *src, uint32_t *dst)
{
    struct og_rng rng;
    og__rng_at(&rng, seed, OG__STREAM_GENERATE, 0, 0, 1, task);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t class = og__rng_below(&rng, from->n_classes);
        src[i] = draw_node(from, &rng, class);
        dst[i] = draw_node(to, &rng, other_class(from, &rng, class));
    }
}

const struct og_edge_model og__planted = {.draw = draw_pairs, .in_pairs = true, .simple = true};
const struct og_edge_model og__planted_between = {.draw = draw_between, .simple = true};
