#include "plan/worth.h"

#include <string.h>

enum { BITS = OG__WORTH_BITS, BINS = 1 << BITS };

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

/* Counts worths of one group whose bits above those of the level are `high`. */
static void count_rows(uint64_t *rows, const uint32_t *worth, size_t n, int shift, uint32_t high)
{
    enum { BLOCK = 256 };
    const int above = shift + BITS;
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t end = OG_MIN(first + BLOCK, n);
        if (above < 32 && !og__any_begins(worth + first, end - first, above, high))
            continue;
        for (size_t i = first; i < end; i++)
            rows[worth[i] >> shift & (BINS - 1)] += above >= 32 || worth[i] >> above == high;
    }
}

/* Bytes and rows by the bits of a level, for worths with the given higher bits. */
static void count_level(struct og_worth_level *l, const uint32_t *worth,
                        const struct og_group_bytes *group, uint32_t n, int shift, uint32_t high)
{
    uint64_t rows[BINS], first = 0;
    memset(l, 0, sizeof(*l));
    for (uint32_t w = 0; w < n; first = group[w++].end) {
        if (group[w].row_bytes == 0)
            continue;
        memset(rows, 0, sizeof(rows));
        count_rows(rows, worth + first, (size_t)(group[w].end - first), shift, high);
        for (uint32_t bin = 0; bin < BINS; bin++) {
            l->rows[bin] += rows[bin];
            l->bytes[bin] += rows[bin] * group[w].row_bytes;
        }
    }
    l->known = true;
    l->high = high;
}

/* The highest bin that does not fit as a whole; *room becomes what is left for it. */
static uint32_t find_bin(const struct og_worth_level *l, struct og_capacity *room)
{
    uint32_t bin = BINS - 1;
    for (; bin > 0 && l->bytes[bin] <= room->bytes && l->rows[bin] <= room->rows; bin--) {
        room->bytes -= l->bytes[bin];
        room->rows -= l->rows[bin];
    }
    return bin;
}

OG_CLONES static void compare(const uint32_t *worth, size_t n, uint32_t threshold, uint32_t *above,
                              uint32_t *equal)
{
    uint32_t more = 0, same = 0;
    for (size_t i = 0; i < n; i++) {
        more += worth[i] > threshold;
        same += worth[i] == threshold;
    }
    *above = more;
    *equal = same;
}

/* Counts nodes of a higher worth, and of equal worth the first that fit. */
static void count_above(const uint32_t *worth, const struct og_group_bytes *group, uint32_t n,
                        uint32_t threshold, struct og_capacity room, uint64_t *fit)
{
    uint64_t first = 0;
    bool full = false;
    for (uint32_t w = 0; w < n; first = group[w++].end) {
        const size_t row = group[w].row_bytes;
        uint32_t above, equal;
        fit[w] = 0;
        if (row == 0)
            continue;
        compare(worth + first, (size_t)(group[w].end - first), threshold, &above, &equal);
        const uint64_t most = full ? 0 : OG_MIN(room.bytes / row, room.rows);
        const uint64_t taken = OG_MIN((uint64_t)equal, most);
        full |= taken < equal;
        room.bytes -= taken * row;
        room.rows -= taken;
        fit[w] = above + taken;
    }
}

int og__worth_fit(const uint32_t *worth, const struct og_group_bytes *group, uint32_t n,
                  const struct og_capacity *room, struct og_worth_sums *sums, struct og_budget *b,
                  uint64_t *fit, struct og_err *err)
{
    struct og_capacity left = *room;
    struct og_worth_sums *own = sums ? NULL : og__worth_sums_open(b, err);
    struct og_worth_sums *s = sums ? sums : own;
    uint32_t threshold = 0;
    if (!s)
        return -ENOMEM;
    for (int k = 0; k < OG__WORTH_LEVELS; k++) {
        struct og_worth_level *l = &s->level[k];
        if (!l->known || l->high != threshold)
            count_level(l, worth, group, n, BITS * (OG__WORTH_LEVELS - 1 - k), threshold);
        threshold = threshold << BITS | find_bin(l, &left);
    }
    count_above(worth, group, n, threshold, left, fit);
    og__worth_sums_close(own, b);
    return 0;
}

struct og_worth_sums *og__worth_sums_open(struct og_budget *b, struct og_err *err)
{
    struct og_worth_sums *s = og__alloc(b, sizeof(*s), "placement", err);
    for (int k = 0; s && k < OG__WORTH_LEVELS; k++)
        s->level[k].known = false;
    return s;
}

void og__worth_sums_close(struct og_worth_sums *s, struct og_budget *b)
{
    og__release(b, s, sizeof(*s), "placement");
}
