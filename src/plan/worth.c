#include "plan/worth.h"

#include <string.h>

enum { BITS = 11, BINS = 1 << BITS }; /* of a worth at a time */

double og__uses_counted(uint32_t hotness)
{
    return (double)hotness + 0x1p-20;
}

double og__uses_float(uint32_t hotness)
{
    float x;
    memcpy(&x, &hotness, sizeof(x));
    return (double)x + 0x1p-100;
}

double og__uses_ordered(uint32_t hotness)
{
    return og__ordered_float(hotness);
}

static uint32_t worth_of(double uses, double cost)
{
    return og__float_ordered((float)(uses < 0 ? uses / cost : uses * cost));
}

void og__worth_weigh(uint32_t *hotness, og_uses *uses, const struct og_group_bytes *group,
                     uint32_t n)
{
    uint64_t v = 0;
    for (uint32_t w = 0; w < n; w++) {
        const bool has_rows = group[w].row_bytes > 0;
        const double cost = has_rows ? (double)group[w].read_bytes / (double)group[w].row_bytes : 0;
        for (; v < group[w].end; v++)
            hotness[v] = has_rows ? worth_of(uses(hotness[v]), cost) : 0;
    }
}

/* Bytes and rows by some bits of the worth, for worths with the given higher bits. */
struct histogram {
    uint64_t bytes[BINS], rows[BINS];
};
_Static_assert(sizeof(struct histogram) <= OG__WORTH_FIT_BYTES, "what is declared");

static void count(struct histogram *h, const uint32_t *worth, const struct og_group_bytes *group,
                  uint32_t n, int shift, uint32_t higher)
{
    uint64_t v = 0;
    memset(h, 0, sizeof(*h));
    for (uint32_t w = 0; w < n; w++) {
        if (group[w].row_bytes == 0)
            v = group[w].end;
        for (; v < group[w].end; v++) {
            if ((uint64_t)worth[v] >> (shift + BITS) != higher)
                continue;
            const uint32_t bin = worth[v] >> shift & (BINS - 1);
            h->bytes[bin] += group[w].row_bytes;
            h->rows[bin]++;
        }
    }
}

/* The highest bin that does not fit as a whole; *room becomes what is left for it. */
static uint32_t find_bin(const struct histogram *h, struct og_capacity *room)
{
    uint32_t bin = BINS - 1;
    for (; bin > 0 && h->bytes[bin] <= room->bytes && h->rows[bin] <= room->rows; bin--) {
        room->bytes -= h->bytes[bin];
        room->rows -= h->rows[bin];
    }
    return bin;
}

/* Counts nodes of a higher worth, and of equal worth the first that fit. */
static void count_above(const uint32_t *worth, const struct og_group_bytes *group, uint32_t n,
                        uint32_t threshold, struct og_capacity room, uint64_t *fit)
{
    uint64_t v = 0;
    bool full = false;
    for (uint32_t w = 0; w < n; w++) {
        const size_t row = group[w].row_bytes;
        fit[w] = 0;
        if (row == 0)
            v = group[w].end;
        for (; v < group[w].end; v++) {
            const bool equal = worth[v] == threshold;
            full |= equal && (row > room.bytes || room.rows == 0);
            room.bytes -= equal && !full ? row : 0;
            room.rows -= equal && !full;
            fit[w] += worth[v] > threshold || (equal && !full);
        }
    }
}

int og__worth_fit(const uint32_t *worth, const struct og_group_bytes *group, uint32_t n,
                  const struct og_capacity *room, struct og_budget *b, uint64_t *fit,
                  struct og_err *err)
{
    struct og_capacity left = *room;
    struct histogram *h = og__alloc(b, sizeof(*h), "placement", err);
    if (!h)
        return -ENOMEM;
    uint32_t threshold = 0;
    for (int shift = 2 * BITS; shift >= 0; shift -= BITS) {
        count(h, worth, group, n, shift, threshold);
        threshold = threshold << BITS | find_bin(h, &left);
    }
    count_above(worth, group, n, threshold, left, fit);
    og__release(b, h, sizeof(*h), "placement");
    return 0;
}
