/* Static placement: the hottest nodes that fit, as a bit set with ranks. */
#include "plan/policy_ops.h"

#include "base/random.h"

#include <string.h>

enum { RADIX_BITS = 16, RADIX = 1 << RADIX_BITS };

size_t og__placement_bytes(uint64_t n_nodes)
{
    return og__bits_words(n_nodes) * 8 + og__bits_words(n_nodes) * 4;
}

/* The score below which nothing enters, and how many nodes of exactly that score do. */
struct threshold {
    uint32_t score;
    uint64_t of_equal;
};

/* The input of ranking: nodes with a score each, except those whose bit is set. */
struct ranked {
    const uint32_t *hotness;
    const uint64_t *without; /* may be NULL */
    uint64_t n;
};

OG_CLONES bool og__any_begins(const uint32_t *x, size_t n, int shift, uint32_t high)
{
    uint32_t found = 0;
    for (size_t i = 0; i < n; i++)
        found |= x[i] >> shift == high;
    return found != 0;
}

/* Two tables count every other score, since equal ones often follow each other. */
enum { TABLES = 2, COUNTS = TABLES * RADIX };

static void count_high(const struct ranked *r, uint32_t *count)
{
    memset(count, 0, COUNTS * sizeof(*count));
    for (uint64_t v = 0; v < r->n; v++)
        count[v % TABLES * RADIX + (r->hotness[v] >> RADIX_BITS)] +=
            !(r->without && og__bits_has(r->without, v));
}

/* Counts scores of one high half by their low half. Most blocks have none. */
static void count_low(const struct ranked *r, uint32_t high, uint32_t *count)
{
    enum { BLOCK = 256 };
    memset(count, 0, COUNTS * sizeof(*count));
    for (uint64_t first = 0; first < r->n; first += BLOCK) {
        const uint64_t end = OG_MIN(first + BLOCK, r->n);
        if (!og__any_begins(r->hotness + first, (size_t)(end - first), RADIX_BITS, high))
            continue;
        for (uint64_t v = first; v < end; v++)
            count[v % TABLES * RADIX + (r->hotness[v] & (RADIX - 1))] +=
                r->hotness[v] >> RADIX_BITS == high && !(r->without && og__bits_has(r->without, v));
    }
}

/* The bin in which the `room`-th from the top falls; *room becomes what is left for it. */
static uint32_t find_bin(const uint32_t *count, uint64_t *room)
{
    for (uint32_t bin = RADIX - 1; bin > 0; bin--) {
        const uint64_t n = (uint64_t)count[bin] + count[RADIX + bin];
        if (n >= *room)
            return bin;
        *room -= n;
    }
    return 0;
}

/* Two counting passes find the threshold without sorting and without a second array of N. */
static struct threshold select_hottest(const struct ranked *r, uint64_t capacity, uint32_t *count)
{
    uint64_t room = capacity;
    count_high(r, count);
    uint32_t high = find_bin(count, &room);
    count_low(r, high, count);
    uint32_t low = find_bin(count, &room);
    return (struct threshold){high << RADIX_BITS | low, room};
}

/* The first n set bits. */
static uint64_t first_of(uint64_t bits, uint64_t n)
{
    uint64_t taken = 0;
    if (og__bits_ones(bits) <= n)
        return bits;
    for (; n > 0; n--, bits &= bits - 1)
        taken |= bits & -bits;
    return taken;
}

enum { WORD = 64 };

/* Bit k of the result is byte k, 0 or 1. */
static uint64_t bits_of(const uint8_t bytes[WORD])
{
    uint64_t bits = 0;
    for (int k = 0; k < 8; k++) {
        uint64_t eight;
        memcpy(&eight, bytes + 8 * k, sizeof(eight));
        bits |= (eight * 0x0102040810204080 >> 56) << 8 * k;
    }
    return bits;
}

OG_CLONES static void compare(const uint32_t *score, uint32_t threshold, uint64_t *above,
                              uint64_t *equal)
{
    uint8_t more[WORD], same[WORD];
    for (int i = 0; i < WORD; i++) {
        more[i] = score[i] > threshold;
        same[i] = score[i] == threshold;
    }
    *above = bits_of(more);
    *equal = bits_of(same);
}

static void mark(struct og_placement *p, const struct ranked *r, struct threshold t)
{
    for (uint64_t w = 0; w < og__bits_words(r->n); w++) {
        const uint64_t first = WORD * w, n = OG_MIN(r->n - first, (uint64_t)WORD);
        const uint64_t there =
            UINT64_MAX >> (WORD - n) & (r->without ? ~r->without[w] : UINT64_MAX);
        uint32_t last[WORD] = {0};
        uint64_t above, equal;
        const uint32_t *score = r->hotness && n == WORD ? r->hotness + first : last;
        if (r->hotness && n < WORD)
            memcpy(last, r->hotness + first, n * sizeof(*last));
        compare(score, t.score, &above, &equal);
        const uint64_t taken = first_of(equal & there, t.of_equal);
        t.of_equal -= og__bits_ones(taken);
        p->bits[w] |= (above & there) | taken;
    }
}

void og__placement_clear(struct og_placement *p)
{
    memset(p->bits, 0, og__bits_words(p->n_nodes) * 8);
    p->n_slots = 0;
}

OG_CLONES void og__placement_count(struct og_placement *p)
{
    p->n_slots = og__bits_count(p->bits, p->n_nodes, p->rank);
}

int og__placement_build(struct og_placement *p, const uint32_t *hotness, uint64_t n_nodes,
                        uint64_t capacity, struct og_budget *b, struct og_err *err)
{
    return og__placement_build_without(p, hotness, NULL, n_nodes, capacity, b, err);
}

int og__placement_build_without(struct og_placement *p, const uint32_t *hotness,
                                const uint64_t *without, uint64_t n_nodes, uint64_t capacity,
                                struct og_budget *b, struct og_err *err)
{
    const struct ranked ranked = {hotness, without, n_nodes};
    *p = (struct og_placement){.n_nodes = n_nodes, .budget = b};
    capacity = OG_MIN(capacity, n_nodes);
    p->bits = og__alloc(b, og__bits_words(n_nodes) * 8, "placement", err);
    p->rank = og__alloc(b, og__bits_words(n_nodes) * 4, "placement", err);
    uint32_t *count = og__alloc(b, COUNTS * sizeof(*count), "placement", err);
    struct threshold t = {0, capacity};
    int rc = 0;
    if (!p->bits || !p->rank || !count)
        OG_TRY(-ENOMEM);
    if (hotness && capacity > 0)
        t = select_hottest(&ranked, capacity, count);
    if (capacity > 0)
        mark(p, &ranked, t);
    og__placement_count(p);
out:
    og__release(b, count, COUNTS * sizeof(*count), "placement");
    if (rc < 0)
        og__placement_release(p);
    return rc;
}

void og__placement_release(struct og_placement *p)
{
    og__release(p->budget, p->bits, og__bits_words(p->n_nodes) * 8, "placement");
    og__release(p->budget, p->rank, og__bits_words(p->n_nodes) * 4, "placement");
    *p = (struct og_placement){0};
}

uint32_t og__placement_slot(const struct og_placement *p, uint32_t node)
{
    return og__placement_has(p, node) ? og__placement_rank(p, node) : OG_NO_SLOT;
}

void og__placement_nodes(const struct og_placement *p, uint64_t *cursor, uint32_t *nodes,
                         uint32_t n)
{
    uint64_t v = *cursor;
    for (uint32_t i = 0; i < n; v++) {
        uint64_t rest = p->bits[v >> 6] >> (v & 63);
        if (rest == 0) {
            v |= 63; /* the next round starts at the next word */
            continue;
        }
        v += (uint64_t)__builtin_ctzll(rest);
        nodes[i++] = (uint32_t)v;
    }
    *cursor = v;
}

/* ---- hotness ---- */

uint32_t og__float_ordered(float x)
{
    uint32_t bits;
    x += 0.0f;
    memcpy(&bits, &x, sizeof(bits));
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

float og__ordered_float(uint32_t ordered)
{
    const uint32_t bits = ordered >> 31 ? ordered & ~(1u << 31) : ~ordered;
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Edges [first, first + 16), a cache line, of every 256. */
int og__hotness_some_edges(void *arg, int64_t first, const uint32_t *ids, size_t n,
                           struct og_err *err)
{
    enum { TAKEN = 16, STRIDE = 256 };
    uint32_t *hotness = arg;
    size_t skip =
        (size_t)((STRIDE - first % STRIDE) % STRIDE); /* runs start on a multiple, mostly */
    (void)err;
    for (size_t i = skip; i + TAKEN <= n; i += STRIDE) {
        if (i + 2 * STRIDE < n)
            __builtin_prefetch(&ids[i + 2 * STRIDE]);
        for (size_t k = i; k < i + TAKEN; k++)
            hotness[ids[k]]++;
    }
    return 0;
}

void og__hotness_random(uint64_t seed, uint64_t n_nodes, uint32_t *hotness)
{
    for (uint64_t v = 0; v < n_nodes; v++) {
        uint32_t word[4];
        og__philox(seed, OG__STREAM_POLICY, 0, 0, 0, (uint32_t)v, 0, word);
        hotness[v] = word[0];
    }
}
