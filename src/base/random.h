/* Counter-based random numbers (Philox 4x32-10, Random123): a draw is a pure function of its
 * position, independent of threads.
 *
 *   key      run seed                                       64 bits
 *   counter  [0] item    node id, row, position, ...        32
 *            [1] batch                                      32
 *            [2] epoch                                      32
 *            [3] stream:8 | hop or layer:8 | block:16       32   block counts calls, 4 words each
 *
 * A fanout of 300 000 needs more than 2^16 blocks. Each time the 16 bits are used up, the key moves
 * by OG__KEY_STEP, so that blocks never run into the layer. The steps are odd, so no key comes
 * twice. That another run's seed is one of them is as likely as two equal random seeds.
 *
 * Each use of randomness has its own stream, so a new use changes no other draws. */
#ifndef OG_RANDOM_H
#define OG_RANDOM_H

#include "base/base.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include <Random123/philox.h> /* philox4x32 */
#pragma GCC diagnostic pop

/* Runs reproduce across versions only with these values: never renumber. */
enum og__stream {
    OG__STREAM_SAMPLE = 1,  /* neighbours of a training batch */
    OG__STREAM_SHUFFLE = 2, /* order of the seeds in an epoch */
    OG__STREAM_INIT = 3,    /* initial parameters */
    OG__STREAM_DROPOUT = 4,
    OG__STREAM_EVAL = 5,     /* neighbours of an evaluation batch */
    OG__STREAM_POLICY = 6,   /* random placement */
    OG__STREAM_GENERATE = 7, /* synthetic graphs */
    OG__STREAM_BENCH = 8,
    OG__STREAM_PRESC = 9,       /* batches sampled only to rank nodes */
    OG__STREAM_EDGE_SPLIT = 20, /* which edges are held out */
    OG__STREAM_NEGATIVE = 21,   /* negative pairs */
    OG__STREAM_DEPENDENT = 22,  /* numbers that several batches share */
    OG__STREAM_TREE = 23,       /* keys of disjoint trees */
    OG__STREAM_ORDER = 24,      /* offsets of chunks, MinHash */
    OG__STREAM_OVERSAMPLE = 25, /* seeds drawn with replacement */
    OG__STREAM_NODE_SPLIT = 26, /* which nodes train, in an import */
};

#define OG__BLOCK_BITS 16
#define OG__BLOCK_MASK ((1u << OG__BLOCK_BITS) - 1)
#define OG__KEY_STEP   0x9E3779B97F4A7C15u /* 2^64 by the golden ratio */

/* layer and stream are below 256. */
static inline uint32_t og__philox_place(enum og__stream stream, uint32_t layer)
{
    return (uint32_t)stream << 24 | layer << OG__BLOCK_BITS;
}

/* Four random words for (seed, stream, epoch, batch, layer, item, block). Any thread. */
static inline void og__philox(uint64_t seed, enum og__stream stream, uint32_t epoch, uint32_t batch,
                              uint32_t layer, uint32_t item, uint32_t block, uint32_t out[4])
{
    uint64_t k = seed + (block >> OG__BLOCK_BITS) * OG__KEY_STEP;
    philox4x32_ctr_t ctr = {
        {item, batch, epoch, og__philox_place(stream, layer) | (block & OG__BLOCK_MASK)}};
    philox4x32_key_t key = {{(uint32_t)k, (uint32_t)(k >> 32)}};
    philox4x32_ctr_t r = philox4x32(ctr, key);
    for (int i = 0; i < 4; i++)
        out[i] = r.v[i];
}

/* A sequence of words: the blocks that og__philox has from one counter position on. */
struct og_rng {
    uint64_t seed; /* of the current block */
    uint32_t ctr[4];
    uint32_t word[4];
    unsigned next; /* word[next] comes next; 4 = refill */
};

static inline void og__rng_at(struct og_rng *r, uint64_t seed, enum og__stream stream,
                              uint32_t epoch, uint32_t batch, uint32_t layer, uint32_t item)
{
    r->seed = seed;
    r->ctr[0] = item;
    r->ctr[1] = batch;
    r->ctr[2] = epoch;
    r->ctr[3] = og__philox_place(stream, layer);
    r->next = 4;
}

/* Generates the next block of four words; drops the rest of the current one. */
static inline void og__rng_block(struct og_rng *r, uint32_t out[4])
{
    philox4x32_ctr_t ctr = {{r->ctr[0], r->ctr[1], r->ctr[2], r->ctr[3]}};
    philox4x32_key_t key = {{(uint32_t)r->seed, (uint32_t)(r->seed >> 32)}};
    philox4x32_ctr_t words = philox4x32(ctr, key);
    for (int i = 0; i < 4; i++)
        out[i] = words.v[i];
    r->ctr[3]++;
    if (OG_UNLIKELY((r->ctr[3] & OG__BLOCK_MASK) == 0)) {
        r->ctr[3] -= 1u << OG__BLOCK_BITS;
        r->seed += OG__KEY_STEP;
    }
    r->next = 4;
}

static inline uint32_t og__rng_u32(struct og_rng *r)
{
    if (r->next == 4) {
        og__rng_block(r, r->word);
        r->next = 0;
    }
    return r->word[r->next++];
}

/* Uniform in [0, n), n >= 1, without bias: words that would favour some values are redrawn. Lemire,
 * "Fast Random Integer Generation in an Interval", 2019. */
static inline uint32_t og__rng_below(struct og_rng *r, uint32_t n)
{
    uint64_t m = (uint64_t)og__rng_u32(r) * n;
    if (OG_UNLIKELY((uint32_t)m < n)) {
        uint32_t reject = (0u - n) % n;
        while ((uint32_t)m < reject)
            m = (uint64_t)og__rng_u32(r) * n;
    }
    return (uint32_t)(m >> 32);
}

/* Uniform in [0, 1), 24 bits: exact in float. */
static inline float og__rng_unit(struct og_rng *r)
{
    return (float)(og__rng_u32(r) >> 8) * 0x1p-24f;
}

/* Standard normal (Box-Muller, one of the pair). */
float og__rng_normal(struct og_rng *r);

/* A keyed bijection of [0, n): element `place` of a random order, without a table or a scan. A
 * Feistel network over the next even power of two, iterated until the result is below n. */
struct og_permutation {
    uint64_t n, seed;
    uint32_t epoch;
    unsigned half_bits;
};
void og__permutation_init(struct og_permutation *p, uint64_t n, uint64_t seed, uint32_t epoch);
uint64_t og__permutation_at(const struct og_permutation *p, uint64_t place);
/* Elements first .. first + n, several times as fast as one by one. */
void og__permutation_get(const struct og_permutation *p, uint64_t first, size_t n, uint64_t *out);

#endif
