#include "plan/packing.h"

#include <assert.h>
#include <string.h>

static const char part[] = "packing";
enum {
    TABLE_ENTRY = 32,
    LIST_ENTRY = 4,
    LEAST_SPARE = 4,
    LARGEST_PIECE = 256 * 1024,
    SEVERAL = 8,
    SEVERAL_AT = 16 * 1024 * 1024, /* bytes */
};

/* ---- memory ---- */

int og__packing_open(struct og_packing *p, uint64_t n_nodes, size_t row_bytes,
                     uint32_t most_batches, struct og_budget *b, struct og_err *err)
{
    *p = (struct og_packing){
        .n_nodes = n_nodes, .row_bytes = row_bytes, .most_batches = most_batches, .budget = b};
    size_t words = og__bits_words(n_nodes);
    size_t entries = ((size_t)most_batches + 1) * sizeof(uint64_t);
    p->tables = og__allocs(b, part);
    p->ptr = og__allocs_take(&p->tables, entries, err);
    p->offset = og__allocs_take(&p->tables, entries, err);
    p->bits = og__allocs_take(&p->tables, words * sizeof(*p->bits), err);
    p->rank = og__allocs_take(&p->tables, words * sizeof(*p->rank), err);
    return og__allocs_taken(&p->tables);
}

size_t og__packing_bytes(uint64_t n_nodes, uint64_t rows, uint64_t batches, uint64_t longest)
{
    size_t words = og__bits_words(n_nodes);
    return words * (sizeof(uint64_t) + sizeof(uint32_t)) + (batches + 1) * 2 * sizeof(uint64_t) +
           (rows + longest) * sizeof(uint32_t);
}

void og__packing_close(struct og_packing *p)
{
    og__allocs_release(&p->tables);
    if (!p->borrowed)
        og__release(p->budget, p->rows, p->capacity * sizeof(*p->rows), part);
    og__release(p->budget, p->spare, p->longest * sizeof(*p->spare), part);
    *p = (struct og_packing){0};
}

int og__packing_reserve(struct og_packing *p, uint64_t rows, struct og_err *err)
{
    uint64_t used = p->ptr[p->n_batches];
    if (rows <= p->capacity)
        return 0;
    uint32_t *larger = og__alloc(p->budget, rows * sizeof(*larger), part, err);
    if (!larger)
        return -ENOMEM;
    if (used > 0)
        memcpy(larger, p->rows, used * sizeof(*larger));
    og__release(p->budget, p->rows, p->capacity * sizeof(*larger), part);
    p->rows = larger;
    p->capacity = rows;
    return 0;
}

void og__packing_borrow(struct og_packing *p, uint32_t *rows, uint64_t capacity)
{
    p->rows = rows;
    p->capacity = capacity;
    p->borrowed = true;
}

/* Room for n more rows, and for sorting them. */
static int make_room(struct og_packing *p, uint32_t n, struct og_err *err)
{
    uint64_t used = p->ptr[p->n_batches];
    if (used + n > p->capacity) {
        assert(!p->borrowed);
        OG_DO(og__packing_reserve(p, OG_MAX(used + n, p->capacity + p->capacity / 2), err));
    }
    if (n > p->longest) {
        og__release(p->budget, p->spare, p->longest * sizeof(*p->spare), part);
        p->spare = og__alloc(p->budget, n * sizeof(*p->spare), part, err);
        p->longest = p->spare ? n : 0;
    }
    return p->longest >= n ? 0 : -ENOMEM;
}

/* ---- what each batch misses ---- */

void og__sort_ids(uint32_t *from, uint32_t *to, uint32_t n)
{
    enum { BITS = 11, BINS = 1 << BITS };
    for (unsigned shift = 0; shift < 32; shift += BITS) {
        uint32_t start[BINS] = {0};
        for (uint32_t i = 0; i < n; i++)
            start[from[i] >> shift & (BINS - 1)]++;
        og__counts_to_starts(start, BINS);
        for (uint32_t i = 0; i < n; i++)
            to[start[from[i] >> shift & (BINS - 1)]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
}

uint64_t og__packing_data_start(uint32_t n_batches)
{
    return OG__PACK_BLOCK + og__round_up((uint64_t)n_batches * TABLE_ENTRY, OG__PACK_BLOCK);
}

int og__packing_add(struct og_packing *p, const uint32_t *ids, const uint32_t *codes, uint32_t n,
                    struct og_err *err)
{
    if (p->n_batches == p->most_batches)
        return og__fail(err, -EINVAL, NULL, "packing: more than %u batches", p->most_batches);
    OG_DO(n > 0 ? make_room(p, n, err) : 0);
    uint32_t missed = 0;
    for (uint32_t i = 0; i < n; i++) {
        p->spare[missed] = ids[i] - p->first;
        missed += !codes || (codes[i] & (uint32_t)OG__CODE_MISS);
    }
    uint64_t first = p->ptr[p->n_batches];
    if (missed > 0)
        og__sort_ids(p->spare, p->rows + first, missed);
    for (uint32_t i = 0; i < missed; i++)
        og__bits_add(p->bits, p->rows[first + i]);
    p->ptr[++p->n_batches] = first + missed;
    return 0;
}

/* If memory is short for the move, they stay. */
static void trim(struct og_packing *p)
{
    const uint64_t used = OG_MAX(p->ptr[p->n_batches], 1u);
    struct og_err ignored = {0};
    if (p->borrowed || used > p->capacity / 2)
        return;
    uint32_t *smaller = og__alloc(p->budget, used * sizeof(*smaller), part, &ignored);
    if (!smaller)
        return;
    memcpy(smaller, p->rows, used * sizeof(*smaller));
    og__release(p->budget, p->rows, p->capacity * sizeof(*p->rows), part);
    p->rows = smaller;
    p->capacity = used;
}

int og__packing_finish(struct og_packing *p, struct og_err *err)
{
    trim(p);
    uint64_t at = og__packing_data_start(p->n_batches);
    for (uint32_t b = 0; b < p->n_batches; b++) {
        uint64_t bytes;
        p->offset[b] = at;
        if (__builtin_mul_overflow(og__packing_chunk_rows(p, b), p->row_bytes, &bytes) ||
            bytes > INT64_MAX / 2 || at > INT64_MAX / 2)
            return og__fail(err, -EOVERFLOW, NULL, "packing: batch %u has too many bytes", b);
        at += og__round_up(bytes, OG__PACK_BLOCK);
    }
    p->offset[p->n_batches] = at;
    og__packing_number(p);
    return 0;
}

void og__packing_also(struct og_packing *p, const uint32_t *nodes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        og__bits_add(p->bits, nodes[i] - p->first);
}

void og__packing_number(struct og_packing *p)
{
    p->n_distinct = og__bits_count(p->bits, p->n_nodes, p->rank);
}

int og__packing_drop(struct og_packing *p, const uint64_t *dropped, struct og_err *err)
{
    uint64_t kept = 0;
    uint64_t i = 0;
    memset(p->bits, 0, og__bits_words(p->n_nodes) * sizeof(*p->bits));
    for (uint32_t b = 0; b < p->n_batches; b++) {
        const uint64_t end = p->ptr[b + 1];
        for (; i < end; i++) {
            if (og__bits_has(dropped, i))
                continue;
            p->rows[kept++] = p->rows[i];
            og__bits_add(p->bits, p->rows[i]);
        }
        p->ptr[b + 1] = kept;
    }
    return og__packing_finish(p, err);
}

uint64_t og__packing_file_bytes(const struct og_packing *p, uint32_t n)
{
    return og__packing_data_start(n) + (p->offset[n] - og__packing_data_start(p->n_batches));
}

int og__packing_shorten(struct og_packing *p, uint32_t n, struct og_err *err)
{
    p->n_batches = n;
    memset(p->bits, 0, og__bits_words(p->n_nodes) * sizeof(*p->bits));
    for (uint64_t i = 0; i < p->ptr[n]; i++)
        og__bits_add(p->bits, p->rows[i]);
    return og__packing_finish(p, err);
}

/* ---- the sweep ---- */

static size_t row_cost(const struct og_packing *p)
{
    return 2 * (p->row_bytes + LIST_ENTRY);
}

static size_t tables_bytes(const struct og_packing *p)
{
    return (size_t)p->n_batches * OG__SWEEP_A_BATCH + og__packing_data_start(p->n_batches) -
           OG__PACK_BLOCK;
}

/* Pieces have to begin on blocks, allocations may not. */
size_t og__sweep_bytes(const struct og_packing *p, const struct og_sweep *s)
{
    return s->part_rows * row_cost(p) + s->n_pieces * (s->piece + OG__SWEEP_A_PIECE) +
           OG__PACK_BLOCK + tables_bytes(p);
}

static uint32_t least_pieces(const struct og_packing *p)
{
    return p->n_batches + LEAST_SPARE;
}

size_t og__sweep_least(const struct og_packing *p)
{
    const struct og_sweep least = {
        .part_rows = 1, .piece = OG__PACK_BLOCK, .n_pieces = least_pieces(p)};
    return og__sweep_bytes(p, &least);
}

/* Twice what pieces and rows take, since each has half at least. */
size_t og__sweep_most(uint64_t rows, size_t row_bytes, uint64_t batches, size_t batch_bytes)
{
    const size_t piece = OG_MIN(og__round_up(batch_bytes, OG__PACK_BLOCK), (size_t)LARGEST_PIECE);
    const struct og_packing p = {.row_bytes = row_bytes,
                                 .n_batches = (uint32_t)OG_MIN(batches, (uint64_t)UINT16_MAX)};
    const size_t pieces = least_pieces(&p) + p.n_batches / 4 + 1;
    return 2 * ((size_t)rows * row_cost(&p) + pieces * (piece + OG__SWEEP_A_PIECE)) +
           2 * OG__PACK_BLOCK + tables_bytes(&p);
}

/* Write buffers get up to half of the memory, if one row still fits besides. Larger writes come
 * first, because another partition costs only a request or two. */
static void share_pieces(const struct og_packing *p, size_t memory, struct og_sweep *s)
{
    size_t left = memory - tables_bytes(p);
    size_t half = OG_MIN(left / 2, left - OG__PACK_BLOCK - row_cost(p));
    size_t wanted = least_pieces(p) + p->n_batches / 4;
    size_t each = half / wanted - OG_MIN(half / wanted, (size_t)OG__SWEEP_A_PIECE);
    size_t fits = each / OG__PACK_BLOCK * OG__PACK_BLOCK;
    s->piece = OG_MIN(OG_MAX(fits, (size_t)OG__PACK_BLOCK), (size_t)LARGEST_PIECE);
    size_t most = wanted + 64 * OG_MIB / s->piece;
    s->n_pieces = (uint32_t)OG_MIN(
        OG_MAX(half / (s->piece + OG__SWEEP_A_PIECE), (size_t)least_pieces(p)), most);
}

int og__sweep_share(const struct og_packing *p, size_t memory, struct og_sweep *out,
                    struct og_err *err)
{
    char least[32];
    *out = (struct og_sweep){0};
    if (memory < og__sweep_least(p))
        return og__fail(err, -ENOMEM, "give it more memory, or pack fewer batches at a time",
                        "packing %u batches takes at least %s", p->n_batches,
                        og__human_bytes(least, (double)og__sweep_least(p)));
    share_pieces(p, memory, out);
    size_t left = memory - og__sweep_bytes(p, out);
    uint64_t distinct = p->n_distinct;
    uint64_t rows = OG_MIN(OG_MAX(left / row_cost(p), 1), OG_MAX(distinct, 1));
    uint64_t parts = (distinct + rows - 1) / rows;
    /* of about equal size; several for much memory: one is read while another is scattered */
    if (distinct * p->row_bytes > SEVERAL_AT)
        parts = OG_MAX(parts, SEVERAL);
    out->part_rows = parts > 0 ? (uint32_t)((distinct + parts - 1) / parts) : 1;
    out->n_parts = (uint32_t)((distinct + out->part_rows - 1) / out->part_rows);
    return 0;
}

uint32_t og__sweep_part(const struct og_packing *p, const struct og_sweep *s, uint64_t *cursor,
                        uint32_t *list)
{
    uint32_t n = 0;
    uint64_t node = *cursor;
    for (; n < s->part_rows; n++) {
        node = og__bits_next(p->bits, p->n_nodes, node);
        if (node >= p->n_nodes)
            break;
        list[n] = (uint32_t)node++;
    }
    *cursor = node;
    return n;
}

/* ---- what it will cost ---- */

struct og_io_counts og__packing_predict_chunk(uint64_t chunk_bytes, size_t max_request)
{
    uint64_t whole = chunk_bytes / OG__PACK_BLOCK * OG__PACK_BLOCK;
    bool rest = chunk_bytes > whole;
    return (struct og_io_counts){
        .reads = (whole + max_request - 1) / max_request + rest,
        .bytes = og__round_up(chunk_bytes, OG__PACK_BLOCK),
    };
}

int og__packing_predict(const struct og_packing *p, const struct og_sweep *s,
                        const struct og_read_rule *rule, struct og_packing_cost *out,
                        struct og_err *err)
{
    *out = (struct og_packing_cost){.bytes_written = p->offset[p->n_batches]};
    size_t bytes = s->part_rows * sizeof(uint32_t);
    uint32_t *list = og__alloc(p->budget, bytes, part, err);
    if (!list)
        return -ENOMEM;
    uint64_t cursor = 0;
    for (uint32_t k = 0; k < s->n_parts; k++) {
        uint32_t n = og__sweep_part(p, s, &cursor, list);
        struct og_io_counts io = og__read_rule_predict(rule, list, n);
        out->sweep.reads += io.reads;
        out->sweep.bytes += io.bytes;
    }
    og__release(p->budget, list, bytes, part);
    for (uint32_t b = 0; b < p->n_batches; b++) {
        uint64_t chunk = og__packing_chunk_rows(p, b) * p->row_bytes;
        struct og_io_counts io = og__packing_predict_chunk(chunk, rule->max_request);
        out->back.reads += io.reads;
        out->back.bytes += io.bytes;
    }
    return 0;
}
