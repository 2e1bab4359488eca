#include "base/random.h"

#include <math.h>

/* Few rounds over few bits favour some orders. Eight rounds over at least 2 x 3 bits pass a
 * chi-square test of position against element (tests/base/test_base.c). */
enum { FEISTEL_ROUNDS = 8, FEISTEL_MIN_BITS = 3 };

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
