/* A hop of uniform sampling (sample/uniform.c), with the same samples and numbering. The CPU
 * numbers nodes as it finds them; here a node's number comes from its first position. */
#include "nn/device/common.h"

/* ---- random numbers: og_rng (base/random.h) ---- */

struct og_words {
    philox4x32_ctr_t ctr, word;
    uint64_t seed;
    uint32_t next;
};

OG_ON_DEVICE struct og_words og_words_of(const struct og_k_hop *op, uint32_t node)
{
    struct og_words w;
    w.ctr.v[0] = node;
    w.ctr.v[1] = op->batch;
    w.ctr.v[2] = op->epoch;
    w.ctr.v[3] = op->place;
    w.seed = op->seed;
    w.next = 4;
    return w;
}

OG_ON_DEVICE uint32_t og_word(struct og_words *w)
{
    if (w->next == 4) {
        philox4x32_key_t key;
        key.v[0] = (uint32_t)w->seed;
        key.v[1] = (uint32_t)(w->seed >> 32);
        w->word = philox4x32(w->ctr, key);
        w->next = 0;
        if ((++w->ctr.v[3] & OG__BLOCK_MASK) == 0) {
            w->ctr.v[3] -= 1u << OG__BLOCK_BITS;
            w->seed += OG__KEY_STEP;
        }
    }
    return w->word.v[w->next++];
}

OG_ON_DEVICE uint32_t og_below(struct og_words *w, uint32_t n)
{
    uint64_t m = (uint64_t)og_word(w) * n;
    if ((uint32_t)m < n) {
        const uint32_t reject = (0u - n) % n;
        while ((uint32_t)m < reject)
            m = (uint64_t)og_word(w) * n;
    }
    return (uint32_t)(m >> 32);
}

/* ---- samples ---- */

OG_ON_DEVICE uint32_t og_degree_of(const struct og_k_hop *op, uint32_t node)
{
    return (uint32_t)(op->first_edge[node + 1] - op->first_edge[node]);
}

/* Number of edges of a destination: one thread each. */
OG_KERNEL(og__k_hop_counts, og_k_hop)
{
    if (og_item() >= op->n_dst)
        return;
    const uint32_t degree = og_degree_of(op, op->nodes[og_item()]);
    op->count[og_item()] =
        op->fanout < 0 || degree <= (uint32_t)op->fanout ? degree : (uint32_t)op->fanout;
}

OG_ON_DEVICE bool og_picked(const uint32_t *pick, uint32_t n, uint32_t x)
{
    bool found = false;
    for (uint32_t i = 0; i < n; i++)
        found |= pick[i] == x;
    return found;
}

/* Floyd's algorithm, in the memory of the neighbours; then the neighbours, and weights of their
 * edges. */
OG_KERNEL(og__k_hop_draw, og_k_hop)
{
    if (og_item() >= op->n_dst)
        return;
    const uint32_t node = op->nodes[og_item()], degree = og_degree_of(op, node);
    const uint32_t k =
        op->fanout < 0 || degree <= (uint32_t)op->fanout ? degree : (uint32_t)op->fanout;
    uint32_t *pick = op->node + op->start[og_item()];
    struct og_words words = og_words_of(op, node);
    for (uint32_t n = 0; n < k; n++) {
        const uint32_t last = degree - k + n;
        const uint32_t x = k < degree ? og_below(&words, last + 1) : n;
        pick[n] = k < degree && og_picked(pick, n, x) ? last : x;
    }
    for (uint32_t n = 0; n < k; n++) {
        const uint64_t e = op->first_edge[node] + pick[n];
        pick[n] =
            op->base + (op->indices32 ? (uint32_t)op->indices32[e] : (uint32_t)op->indices64[e]);
        if (op->weights)
            op->weight[op->start[og_item()] + n] = op->weights[e];
    }
}

/* ---- prefix sums ---- */

/* out[i] = base + the sum of in[0 .. i), in parts of OG__SCAN_PART. First the sum of each part; */
OG_KERNEL(og__k_scan_parts, og_k_scan)
{
    const uint32_t first = og_item() * OG__SCAN_PART;
    uint32_t sum = 0;
    for (uint32_t i = first; i < op->n && i < first + OG__SCAN_PART; i++)
        sum += op->in[i];
    if (first < op->n)
        op->part[og_item()] = sum;
}

/* then prefix sums of these, by one thread; */
OG_KERNEL(og__k_scan_sums, og_k_scan)
{
    uint32_t sum = op->base;
    if (og_item() > 0)
        return;
    for (uint32_t p = 0; p < op->n_parts; p++) {
        const uint32_t own = op->part[p];
        op->part[p] = sum;
        sum += own;
    }
    op->part[op->n_parts] = sum;
}

/* then all. */
OG_KERNEL(og__k_scan, og_k_scan)
{
    const uint32_t first = og_item() * OG__SCAN_PART;
    if (first >= op->n)
        return;
    uint32_t sum = op->part[og_item()];
    for (uint32_t i = first; i < op->n && i < first + OG__SCAN_PART; i++) {
        const uint32_t own = op->in[i]; /* out may be in */
        op->out[i] = sum;
        sum += own;
    }
}

/* ---- numbers ----
 *
 * Positions: those of the batch's nodes so far, then those of the edges. Sorted by node, stable,
 * the first of equal nodes is its first position. */

OG_KERNEL(og__k_hop_keys, og_k_number)
{
    const uint32_t p = og_item();
    if (p >= op->n_ids + op->n_edges)
        return;
    op->key[p] = p < op->n_ids ? op->ids[p] : op->node[p - op->n_ids];
    op->value[p] = p;
}

OG_KERNEL(og__k_hop_firsts, og_k_number)
{
    const uint32_t j = og_item();
    if (j < op->n_ids + op->n_edges)
        op->flag[op->moved[j]] = j == 0 || op->sorted[j] != op->sorted[j - 1];
}

/* The first of those equal to the j-th. */
OG_ON_DEVICE uint32_t og_first_equal(const uint32_t *sorted, uint32_t j)
{
    uint32_t low = 0, high = j;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (sorted[middle] < sorted[j])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

OG_KERNEL(og__k_hop_numbers, og_k_number)
{
    const uint32_t j = og_item();
    if (j >= op->n_ids + op->n_edges)
        return;
    const uint32_t first = og_first_equal(op->sorted, j), place = op->moved[j];
    const uint32_t number = op->number[op->moved[first]];
    if (place >= op->n_ids)
        op->src[place - op->n_ids] = number;
    if (j == first)
        op->ids[number] = op->sorted[j];
}
