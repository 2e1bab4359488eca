#include "plan/widths.h"

#include <string.h>

enum { RADIX_BITS = 16, RADIX = 1 << RADIX_BITS };

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

void og__widths_weigh(uint32_t *hotness, og_uses *uses, const struct og_width *width, uint32_t n)
{
    uint64_t v = 0;
    for (uint32_t w = 0; w < n; w++) {
        const bool has_rows = width[w].row_bytes > 0;
        const double cost = has_rows ? (double)width[w].read_bytes / (double)width[w].row_bytes : 0;
        for (; v < width[w].end; v++)
            hotness[v] = has_rows ? worth_of(uses(hotness[v]), cost) : 0;
    }
}

/* Bytes of rows by the high half of their worth; or, within one high half, by the low half. */
static void histogram(const uint32_t *worth, const struct og_width *width, uint32_t n, bool low,
                      uint32_t high, uint64_t *bytes)
{
    uint64_t v = 0;
    memset(bytes, 0, RADIX * sizeof(*bytes));
    for (uint32_t w = 0; w < n; w++)
        for (; v < width[w].end; v++) {
            if (!low)
                bytes[worth[v] >> RADIX_BITS] += width[w].row_bytes;
            else if (worth[v] >> RADIX_BITS == high)
                bytes[worth[v] & (RADIX - 1)] += width[w].row_bytes;
        }
}

/* The bin, from the top, that does not fit as a whole; *room becomes what is left for it. */
static uint32_t find_bin(const uint64_t *bytes, uint64_t *room)
{
    uint32_t bin = RADIX - 1;
    while (bin > 0 && bytes[bin] <= *room)
        *room -= bytes[bin--];
    return bin;
}

/* All that is worth more, and of those worth just so much the first that fit. */
static uint64_t count_above(const uint32_t *worth, const struct og_width *width, uint32_t n,
                            uint32_t threshold, uint64_t room)
{
    uint64_t fit = 0;
    uint64_t v = 0;
    bool full = false;
    for (uint32_t w = 0; w < n; w++)
        for (; v < width[w].end; v++) {
            const bool equal = worth[v] == threshold && width[w].row_bytes > 0;
            full |= equal && width[w].row_bytes > room;
            room -= equal && !full ? width[w].row_bytes : 0;
            fit += worth[v] > threshold || (equal && !full);
        }
    return fit;
}

int og__widths_fit(const uint32_t *worth, const struct og_width *width, uint32_t n, uint64_t bytes,
                   struct og_budget *b, uint64_t *fit, struct og_err *err)
{
    uint64_t room = bytes;
    uint64_t *of = og__alloc(b, RADIX * sizeof(*of), "placement", err);
    if (!of)
        return -ENOMEM;
    histogram(worth, width, n, false, 0, of);
    const uint32_t high = find_bin(of, &room);
    histogram(worth, width, n, true, high, of);
    const uint32_t low = find_bin(of, &room);
    *fit = count_above(worth, width, n, high << RADIX_BITS | low, room);
    og__release(b, of, RADIX * sizeof(*of), "placement");
    return 0;
}

int og__widths_count(const uint32_t *worth, const struct og_width *width, uint32_t n_widths,
                     uint64_t n, struct og_budget *b, size_t *bytes, uint64_t *kept,
                     struct og_err *err)
{
    struct og_placement p = {0};
    uint64_t v = 0;
    int rc = og__placement_build(&p, worth, width[n_widths - 1].end, n, b, err);
    if (rc < 0)
        return rc;
    *bytes = 0;
    for (uint32_t w = 0; w < n_widths; w++) {
        uint64_t n_kept = 0;
        for (; v < width[w].end; v++)
            n_kept += width[w].row_bytes > 0 && og__placement_has(&p, (uint32_t)v);
        *bytes += n_kept * width[w].row_bytes;
        if (kept)
            kept[w] = n_kept;
    }
    og__placement_release(&p);
    return 0;
}
