#include "dataset/generate/graph_model.h"

void og__graph_model_init(struct og_graph_model *m, const struct og_generate *g)
{
    uint32_t word[4];
    *m = (struct og_graph_model){
        .g = g, .n_nodes = (uint64_t)g->nodes, .n_classes = (uint32_t)g->classes, .bits = 1};
    while ((uint64_t)1 << m->bits < m->n_nodes)
        m->bits++;
    og__philox((uint64_t)g->seed, OG__STREAM_GENERATE, 0, 0, 2, 0, 0, word);
    m->odd[0] = word[0] | 1;
    m->odd[1] = word[1] | 1;
}

/* Inverse of an odd number modulo 2^32: each step doubles the bits that are right. */
static uint32_t inverse(uint32_t odd)
{
    uint32_t x = odd;
    for (int i = 0; i < 4; i++)
        x *= 2 - odd * x;
    return x;
}

/* Both steps are bijections of `bits` bits. The fold of the upper half onto the lower is its own
 * inverse. Values of N or more repeat the steps until they are below N. */
uint32_t og__node_id(const struct og_graph_model *m, uint64_t internal)
{
    const uint32_t mask = (uint32_t)(((uint64_t)1 << m->bits) - 1);
    const unsigned half = (m->bits + 1) / 2;
    uint32_t x = (uint32_t)internal;
    do {
        x = (x * m->odd[0]) & mask;
        x ^= x >> half;
        x = (x * m->odd[1]) & mask;
        x ^= x >> half;
    } while (x >= m->n_nodes);
    return x;
}

uint64_t og__node_internal(const struct og_graph_model *m, uint32_t id)
{
    const uint32_t mask = (uint32_t)(((uint64_t)1 << m->bits) - 1);
    const unsigned half = (m->bits + 1) / 2;
    uint32_t x = id;
    do {
        x ^= x >> half;
        x = (x * inverse(m->odd[1])) & mask;
        x ^= x >> half;
        x = (x * inverse(m->odd[0])) & mask;
    } while (x >= m->n_nodes);
    return x;
}
