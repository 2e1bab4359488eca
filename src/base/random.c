#include "base/random.h"

#include <math.h>

/* Few rounds over few bits favour some orders. Eight rounds over at least 2 x 3 bits pass a
 * chi-square test of position against element (tests/base/test_base.c). */
enum { FEISTEL_ROUNDS = 8, FEISTEL_MIN_BITS = 3, PHILOX_ROUNDS = 10 };
enum { LANES = 16 }; /* elements that are computed side by side */

float og__rng_normal(struct og_rng *r)
{
    float u = 1.0f - og__rng_unit(r); /* (0, 1], so that the logarithm is finite */
    float v = og__rng_unit(r);
    return sqrtf(-2.0f * logf(u)) * cosf(6.28318530717958647692f * v);
}

void og__permutation_init(struct og_permutation *p, uint64_t n, uint64_t seed, uint32_t epoch)
{
    *p = (struct og_permutation){
        .n = n, .seed = seed, .epoch = epoch, .half_bits = FEISTEL_MIN_BITS};
    while (p->half_bits < 32 && (uint64_t)1 << (2 * p->half_bits) < n)
        p->half_bits++;
}

uint64_t og__permutation_at(const struct og_permutation *p, uint64_t place)
{
    const uint64_t mask = ((uint64_t)1 << p->half_bits) - 1;
    uint64_t x = place;
    do {
        uint32_t left = (uint32_t)(x >> p->half_bits);
        uint32_t right = (uint32_t)(x & mask);
        for (uint32_t round = 0; round < FEISTEL_ROUNDS; round++) {
            uint32_t word[4];
            og__philox(p->seed, OG__STREAM_SHUFFLE, p->epoch, (uint32_t)p->n, round, right, 0,
                       word);
            uint32_t next = (left ^ word[0]) & (uint32_t)mask;
            left = right;
            right = next;
        }
        x = (uint64_t)left << p->half_bits | right;
    } while (x >= p->n);
    return x;
}

/* The first words of og__philox for some items, side by side. */
OG_CLONES static void first_words(const struct og_permutation *p, uint32_t layer,
                                  const uint32_t item[LANES], uint32_t word[LANES])
{
    uint32_t b[LANES], c[LANES], d[LANES];
    uint32_t k[] = {(uint32_t)p->seed, (uint32_t)(p->seed >> 32)};
    for (int i = 0; i < LANES; i++) {
        word[i] = item[i];
        b[i] = (uint32_t)p->n;
        c[i] = p->epoch;
        d[i] = og__philox_place(OG__STREAM_SHUFFLE, layer);
    }
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        for (int i = 0; i < LANES; i++) {
            const uint64_t by_a = (uint64_t)word[i] * PHILOX_M4x32_0;
            const uint64_t by_c = (uint64_t)c[i] * PHILOX_M4x32_1;
            word[i] = (uint32_t)(by_c >> 32) ^ b[i] ^ k[0];
            b[i] = (uint32_t)by_c;
            c[i] = (uint32_t)(by_a >> 32) ^ d[i] ^ k[1];
            d[i] = (uint32_t)by_a;
        }
        k[0] += PHILOX_W32_0;
        k[1] += PHILOX_W32_1;
    }
}

/* Takes each once through the network. */
static void step(const struct og_permutation *p, uint64_t x[LANES])
{
    const uint32_t mask = (uint32_t)(((uint64_t)1 << p->half_bits) - 1);
    uint32_t right[LANES], word[LANES];
    for (uint32_t round = 0; round < FEISTEL_ROUNDS; round++) {
        for (int i = 0; i < LANES; i++)
            right[i] = (uint32_t)x[i] & mask;
        first_words(p, round, right, word);
        for (int i = 0; i < LANES; i++)
            x[i] = (uint64_t)right[i] << p->half_bits |
                   (((uint32_t)(x[i] >> p->half_bits) ^ word[i]) & mask);
    }
}

void og__permutation_get(const struct og_permutation *p, uint64_t first, size_t n, uint64_t *out)
{
    uint64_t x[LANES] = {0};
    size_t at[LANES], next = 0; /* of `out`; from n on, of none */
    for (int i = 0; i < LANES; i++, next++) {
        at[i] = next;
        x[i] = first + next;
    }
    for (size_t left = n; left > 0;) {
        step(p, x);
        for (int i = 0; i < LANES; i++)
            if (at[i] < n && x[i] < p->n) {
                out[at[i]] = x[i];
                at[i] = next;
                x[i] = first + next++;
                left--;
            }
    }
}
