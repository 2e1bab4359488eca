/* External sort: edges in any order -> CSC, for each relation.
 *
 *   lists   | relation 0 | relation 1   | relation 2 |
 *           0          row[1]         row[2]       row[3]
 *
 *   add ──> a ──(full)──> partition into b by key range ──> scratch file, one extent a range
 *           a ──(finish, never full)─────────────┐
 *   scratch file, group by group ──> a ──────────┴──> partition into b ──> sort each part
 *                                                     in cache, in parallel ──> indptr, indices
 *
 * An edge is one number, its list above src. So "sorted by destination, then source" is numeric
 * order, and a range of numbers may split the list of a hub. A range that does not fit memory is
 * partitioned again. Every step is stable: equal edges keep their input order, and the first of
 * duplicates stays, for any amount of memory.
 *
 * The usual case writes and reads the edges once. A merge of sorted runs would move as much and
 * compare more. The scratch file has no name, so nothing of it can remain.
 *
 * Memory from the budget as "edge sorter": a and b, 16 bytes an edge. With weights 8 more, with
 * numbers 16 more. */
#include "base/temporary.h"
#include "dataset/writer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RANGE_BITS = 8,
    RANGES = 1 << RANGE_BITS,
    OUT_ROWS = 64 * 1024, /* indices converted at a time */
    LEAST_EDGES = 64 * 1024,
};
#define MOST_EDGES ((size_t)1 << 28)
static const char part[] = "edge sorter";

/* Edges side by side: keys, and weights and numbers in the source where there are any. */
struct edges {
    uint64_t *key;
    float *weight;
    int64_t *number;
};

/* Keys from `first` on, cut into RANGES ranges of 2^shift keys each. */
struct cut {
    uint64_t first;
    unsigned shift;
};

/* Pieces of the scratch file that hold one range, in the order they were written. */
struct extents {
    struct extent {
        uint64_t offset, n; /* bytes; edges */
    } * list;
    size_t n, room;
    uint64_t edges;
};

struct og_edge_sorter {
    struct og_edge_sorter_options opt;
    struct og_budget *budget;
    struct edges a, b;
    size_t capacity, filled;
    uint32_t *row;      /* [n_relations + 1] where lists of each relation begin */
    unsigned node_bits; /* of a source, or of a list, in a key */
    int scratch;        /* -1 until something is spilled */
    uint64_t scratch_end;
    struct cut top;
    struct extents range[RANGES]; /* of the top cut */
    /* output */
    const char *folder;
    json_t *checksums;
    uint32_t at; /* the relation that is written */
    struct og_npy_writer *indptr, *indices, *weights, *numbers;
    int64_t n_in, n_emitted; /* edges added; of these taken to the output */
    int64_t n_out, n_before; /* written; of these in earlier relations */
    int64_t n_loops;         /* not added: self loops */
    int64_t n_fed;           /* lists that an edge is in */
    uint32_t next_row;       /* indptr is complete up to here */
    uint64_t last_key;
    float last_weight;
    int64_t n_other_weights; /* of dropped duplicates */
    uint64_t one, other;     /* sums that are equal if the graph is symmetric */
    int64_t *wide;           /* [OUT_ROWS] */
    uint64_t bytes_written;
};

static size_t edge_bytes(const struct og_edge_sorter *s)
{
    return sizeof(uint64_t) + (s->opt.weighted ? sizeof(float) : 0) +
           (s->opt.numbered ? sizeof(int64_t) : 0);
}

/* Ranges that together hold [first, first + 2^bits). */
static struct cut cut_keys(uint64_t first, unsigned bits)
{
    return (struct cut){first, bits > RANGE_BITS ? bits - RANGE_BITS : 0};
}

static size_t range_of(struct cut c, uint64_t key)
{
    return (size_t)((key - c.first) >> c.shift);
}

static uint64_t key_of(const struct og_edge_sorter *s, uint32_t src, uint64_t row)
{
    return row << s->node_bits | src;
}

/* ---- opening ---- */

static int take_edges(struct og_edge_sorter *s, struct edges *e, struct og_err *err)
{
    e->key = og__alloc(s->budget, s->capacity * sizeof(*e->key), part, err);
    if (e->key && s->opt.weighted)
        e->weight = og__alloc(s->budget, s->capacity * sizeof(*e->weight), part, err);
    if (e->key && s->opt.numbered)
        e->number = og__alloc(s->budget, s->capacity * sizeof(*e->number), part, err);
    return e->key && (e->weight || !s->opt.weighted) && (e->number || !s->opt.numbered) ? 0
                                                                                        : -ENOMEM;
}

static void give_edges(struct og_edge_sorter *s, struct edges *e)
{
    og__release(s->budget, e->key, s->capacity * sizeof(*e->key), part);
    og__release(s->budget, e->weight, s->capacity * sizeof(*e->weight), part);
    og__release(s->budget, e->number, s->capacity * sizeof(*e->number), part);
    *e = (struct edges){0};
}

/* Computes the first list of each relation, and the bits of a list number or source. */
static int number_lists(struct og_edge_sorter *s, struct og_err *err)
{
    const struct og_graph *g = s->opt.graph;
    int64_t most = 0;
    if (!(s->row = calloc((size_t)g->n_relations + 1, sizeof(*s->row))))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    for (uint32_t r = 0; r < g->n_relations; r++) {
        s->row[r + 1] = s->row[r] + (uint32_t)g->relation[r].n_nodes;
        most = OG_MAX(most, g->relation[r].n_sources);
    }
    most = OG_MAX(most, (int64_t)s->row[g->n_relations]);
    while ((int64_t)1 << s->node_bits < most)
        s->node_bits++;
    return 0;
}

int og__sorter_open(struct og_edge_sorter **out, const struct og_edge_sorter_options *opt,
                    struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    struct og_edge_sorter *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    s->opt = *opt;
    s->budget = b;
    s->scratch = -1;
    s->last_key = UINT64_MAX; /* of no edge */
    size_t room = opt->memory - OG_MIN(opt->memory, OUT_ROWS * sizeof(*s->wide) + 4 * OG_MIB);
    s->capacity = OG_MIN(room / (2 * edge_bytes(s)), MOST_EDGES);
    int rc;
    OG_TRY(number_lists(s, err));
    s->top = cut_keys(0, 2 * s->node_bits);
    if (s->capacity < LEAST_EDGES)
        OG_TRY(og__fail(err, -ENOMEM, "give --memory 16M or more",
                        "--memory: %zu bytes are too little to sort edges", opt->memory));
    OG_TRY(take_edges(s, &s->a, err));
    OG_TRY(take_edges(s, &s->b, err));
    s->wide = og__alloc(b, OUT_ROWS * sizeof(*s->wide), part, err);
    OG_TRY(s->wide ? 0 : -ENOMEM);
    *out = s;
out:
    if (rc < 0)
        og__sorter_free(s);
    return rc;
}

void og__sorter_free(struct og_edge_sorter *s)
{
    if (!s)
        return;
    give_edges(s, &s->a);
    give_edges(s, &s->b);
    og__release(s->budget, s->wide, OUT_ROWS * sizeof(*s->wide), part);
    og__npy_discard(s->indptr);
    og__npy_discard(s->indices);
    og__npy_discard(s->weights);
    og__npy_discard(s->numbers);
    for (size_t r = 0; r < RANGES; r++)
        free(s->range[r].list);
    if (s->scratch >= 0)
        close(s->scratch);
    free(s->row);
    free(s);
}

/* ---- some of them ---- */

static struct edges edges_from(const struct edges *e, size_t i)
{
    return (struct edges){e->key + i, e->weight ? e->weight + i : NULL,
                          e->number ? e->number + i : NULL};
}

/* Both have the same arrays. */
static inline void move_edge(const struct edges *from, size_t i, const struct edges *to, size_t at)
{
    to->key[at] = from->key[i];
    if (from->weight && to->weight)
        to->weight[at] = from->weight[i];
    if (from->number && to->number)
        to->number[at] = from->number[i];
}

/* ---- partition ---- */

/* from[0 .. n) into `to`, range after range; end[r] is where range r ends. */
static void partition(struct cut c, const struct edges *from, const struct edges *to, size_t n,
                      size_t end[RANGES])
{
    size_t start[RANGES] = {0};
    for (size_t i = 0; i < n; i++)
        start[range_of(c, from->key[i])]++;
    size_t before = 0;
    for (size_t r = 0; r < RANGES; r++) {
        size_t count = start[r];
        start[r] = before;
        before += count;
        end[r] = before;
    }
    for (size_t i = 0; i < n; i++)
        move_edge(from, i, to, start[range_of(c, from->key[i])]++);
}

/* ---- scratch file ---- */

static int open_scratch(struct og_edge_sorter *s, struct og_err *err)
{
    if (s->scratch < 0)
        s->scratch = og__unnamed_file(s->opt.scratch, err);
    return OG_MIN(s->scratch, 0);
}

static int add_extent(struct extents *e, struct extent x, struct og_err *err)
{
    if (e->n == e->room) {
        size_t room = OG_MAX(2 * e->room, (size_t)8);
        struct extent *list = realloc(e->list, room * sizeof(*list));
        if (!list)
            return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
        e->list = list;
        e->room = room;
    }
    e->list[e->n++] = x;
    e->edges += x.n;
    return 0;
}

static int write_scratch(struct og_edge_sorter *s, const void *data, size_t bytes,
                         struct og_err *err)
{
    int rc = og__write_all(s->scratch, data, bytes, (off_t)s->scratch_end, s->opt.scratch, err);
    s->scratch_end += bytes;
    s->bytes_written += bytes;
    return rc;
}

/* Part [first, end) of e: its keys, then its weights, then its numbers. */
static int write_extent(struct og_edge_sorter *s, const struct edges *e, size_t first, size_t end,
                        struct extents *to, struct og_err *err)
{
    struct extent x = {s->scratch_end, end - first};
    if (x.n == 0)
        return 0;
    int rc;
    OG_TRY(write_scratch(s, e->key + first, x.n * sizeof(*e->key), err));
    if (e->weight)
        OG_TRY(write_scratch(s, e->weight + first, x.n * sizeof(*e->weight), err));
    if (e->number)
        OG_TRY(write_scratch(s, e->number + first, x.n * sizeof(*e->number), err));
    OG_TRY(add_extent(to, x, err));
out:
    return rc;
}

/* Reads edges [skip, skip + n) of an array in the extent. The array begins at *at, which moves to
 * its end. */
static int read_array(const struct og_edge_sorter *s, struct extent x, uint64_t skip, uint64_t n,
                      void *out, size_t size, uint64_t *at, struct og_err *err)
{
    const off_t from = (off_t)(*at + skip * size);
    *at += x.n * size;
    return og__read_all(s->scratch, out, n * size, from, "edges being sorted", err);
}

/* Frees the extent's disk space once its end is read. */
static int read_extent(const struct og_edge_sorter *s, struct extent x, uint64_t skip, uint64_t n,
                       const struct edges *out, size_t at, struct og_err *err)
{
    uint64_t from = x.offset;
    int rc;
    OG_TRY(read_array(s, x, skip, n, out->key + at, sizeof(*out->key), &from, err));
    if (out->weight)
        OG_TRY(read_array(s, x, skip, n, out->weight + at, sizeof(*out->weight), &from, err));
    if (out->number)
        OG_TRY(read_array(s, x, skip, n, out->number + at, sizeof(*out->number), &from, err));
    if (skip + n == x.n)
        og__free_behind(s->scratch, &x.offset, from);
out:
    return rc;
}

/* Writes a to the scratch file, group by group. Flushes dirty pages at once: they would count
 * against a memory limit until the kernel writes them. */
static int spill(struct og_edge_sorter *s, struct cut c, size_t n, struct extents *to,
                 struct og_err *err)
{
    size_t end[RANGES];
    int rc;
    OG_TRY(open_scratch(s, err));
    uint64_t from = s->scratch_end;
    partition(c, &s->a, &s->b, n, end);
    for (size_t r = 0; r < RANGES; r++)
        OG_TRY(write_extent(s, &s->b, r ? end[r - 1] : 0, end[r], &to[r], err));
    sync_file_range(s->scratch, (off_t)from, (off_t)(s->scratch_end - from), SYNC_FILE_RANGE_WRITE);
    posix_fadvise(s->scratch, 0, (off_t)from, POSIX_FADV_DONTNEED);
out:
    return rc;
}

int64_t og__sorter_edges(const struct og_edge_sorter *s)
{
    return s->n_in;
}

int og__sorter_add(struct og_edge_sorter *s, uint32_t relation, const uint32_t *src,
                   const uint32_t *dst, const float *weights, int64_t first, size_t count,
                   struct og_err *err)
{
    const struct og_relation *r = &s->opt.graph->relation[relation];
    const bool drop_loops = s->opt.drop_self_loops && r->source == r->destination;
    const uint64_t list = s->row[relation];
    for (size_t i = 0; i < count; i++) {
        if (drop_loops && src[i] == dst[i]) {
            s->n_loops++;
            continue;
        }
        if (s->filled == s->capacity) {
            int rc = spill(s, s->top, s->filled, s->range, err);
            if (rc < 0)
                return rc;
            s->filled = 0;
        }
        s->a.key[s->filled] = key_of(s, src[i], list + dst[i]);
        if (s->a.weight)
            s->a.weight[s->filled] = weights[i];
        if (s->a.number)
            s->a.number[s->filled] = first + (int64_t)i;
        s->filled++;
        s->n_in++;
    }
    return 0;
}

/* ---- sorting what fits ---- */

struct sort_parts {
    struct edges from, spare; /* parts are in from, before and after sorting */
    const size_t *end;
    struct cut cut;
};

/* Radix sort from the least significant digit, 11 bits at a time. Sorts by the bits in which keys
 * of a part may differ. It alternates between two buffers; an even number of passes ends where it
 * began. */
static void sort_part(void *arg, size_t r, int thread)
{
    enum { BITS = 11, BINS = 1 << BITS };
    const struct sort_parts *p = arg;
    size_t first = r ? p->end[r - 1] : 0;
    size_t n = p->end[r] - first;
    (void)thread;
    if (n < 2)
        return;
    struct edges from = edges_from(&p->from, first);
    struct edges to = edges_from(&p->spare, first);
    unsigned passes = (p->cut.shift + BITS - 1) / BITS; /* ranges are aligned to their size */
    passes += passes % 2;
    for (unsigned pass = 0; pass < passes; pass++) {
        uint32_t at[BINS] = {0};
        unsigned shift = OG_MIN(pass * BITS, 63u);
        for (size_t i = 0; i < n; i++)
            at[from.key[i] >> shift & (BINS - 1)]++;
        og__counts_to_starts(at, BINS);
        for (size_t i = 0; i < n; i++)
            move_edge(&from, i, &to, at[from.key[i] >> shift & (BINS - 1)]++);
        struct edges swap = from;
        from = to;
        to = swap;
    }
}

/* ---- output ---- */

static bool is_narrow(const struct og_edge_sorter *s)
{
    return s->opt.graph->relation[s->at].n_sources <= INT32_MAX;
}

static int create_array(struct og_edge_sorter *s, struct og_npy_writer **w, enum og__array array,
                        enum og__npy_type type, struct og_err *err)
{
    const struct og_array_name name = og__relation_array(s->opt.graph, s->at, array);
    char file[40];
    snprintf(file, sizeof(file), "%s.npy", name.text);
    return og__array_create(w, s->folder, file, type, 1, 1, err);
}

static int finish_array(struct og_edge_sorter *s, struct og_npy_writer **w, enum og__array array,
                        struct og_err *err)
{
    char file[40];
    snprintf(file, sizeof(file), "%s.npy", og__relation_array(s->opt.graph, s->at, array).text);
    s->bytes_written += *w ? og__npy_bytes(*w) - OG__NPY_HEADER : 0;
    return og__array_finish(w, file, s->checksums, err);
}

static int begin_relation(struct og_edge_sorter *s, struct og_err *err)
{
    int rc;
    s->next_row = s->row[s->at];
    s->n_before = s->n_out;
    OG_TRY(create_array(s, &s->indptr, OG__INDPTR, OG__NPY_I64, err));
    OG_TRY(
        create_array(s, &s->indices, OG__INDICES, is_narrow(s) ? OG__NPY_I32 : OG__NPY_I64, err));
    if (s->opt.weighted)
        OG_TRY(create_array(s, &s->weights, OG__WEIGHTS, OG__NPY_F32, err));
    if (s->opt.numbered)
        OG_TRY(create_array(s, &s->numbers, OG__EDGE_IDS, OG__NPY_I64, err));
out:
    return rc;
}

/* indptr up to and with `row`: all those lists start at the edge that comes next. */
static int open_lists(struct og_edge_sorter *s, uint64_t row, struct og_err *err)
{
    const int64_t start = s->n_out - s->n_before;
    int rc = 0;
    for (; s->next_row <= row; s->next_row++)
        OG_TRY(og__npy_append(s->indptr, &start, 1, err));
out:
    return rc;
}

static int end_relation(struct og_edge_sorter *s, struct og_err *err)
{
    int rc;
    OG_TRY(open_lists(s, s->row[s->at + 1], err));
    OG_TRY(finish_array(s, &s->indptr, OG__INDPTR, err));
    OG_TRY(finish_array(s, &s->indices, OG__INDICES, err));
    OG_TRY(finish_array(s, &s->weights, OG__WEIGHTS, err));
    OG_TRY(finish_array(s, &s->numbers, OG__EDGE_IDS, err));
    s->opt.graph->relation[s->at].n_edges = s->n_out - s->n_before;
out:
    return rc;
}

/* Moves to the relation of the list. */
static int go_to_list(struct og_edge_sorter *s, uint64_t row, struct og_err *err)
{
    int rc = 0;
    while (row >= s->row[s->at + 1]) {
        OG_TRY(end_relation(s, err));
        s->at++;
        OG_TRY(begin_relation(s, err));
    }
out:
    return rc;
}

static int append_indices(struct og_edge_sorter *s, const uint64_t *key, size_t n,
                          struct og_err *err)
{
    const bool narrow = is_narrow(s);
    const uint64_t mask = ((uint64_t)1 << s->node_bits) - 1;
    int32_t *narrow_out = (int32_t *)s->wide;
    for (size_t i = 0; i < n; i++) {
        if (narrow)
            narrow_out[i] = (int32_t)(key[i] & mask);
        else
            s->wide[i] = (int64_t)(key[i] & mask);
    }
    return og__npy_append(s->indices, s->wide, (int64_t)n, err);
}

static void add_fingerprints(struct og_edge_sorter *s, const uint64_t *key, size_t n)
{
    const uint64_t mask = ((uint64_t)1 << s->node_bits) - 1;
    for (size_t i = 0; i < n; i++) {
        s->one += og__edge_fingerprint(key[i] & mask, key[i] >> s->node_bits);
        s->other += og__edge_fingerprint(key[i] >> s->node_bits, key[i] & mask);
    }
}

/* Writes those leading edges of n that are of the current relation, optionally without
 * duplicates. */
static int emit_relation(struct og_edge_sorter *s, const struct edges *e, size_t n, size_t *done,
                         struct og_err *err)
{
    const uint64_t end = (uint64_t)s->row[s->at + 1] << s->node_bits;
    size_t kept = 0;
    int rc = 0;
    for (*done = 0; *done < n && e->key[*done] < end; (*done)++) {
        const uint64_t key = e->key[*done];
        const float weight = e->weight ? e->weight[*done] : 0;
        if (s->opt.drop_duplicates && key == s->last_key) {
            s->n_other_weights += weight != s->last_weight;
            continue;
        }
        s->last_key = key;
        s->last_weight = weight;
        if (key >> s->node_bits >= s->next_row) {
            s->n_fed++;
            OG_TRY(open_lists(s, key >> s->node_bits, err));
        }
        move_edge(e, *done, e, kept++);
        s->n_out++;
    }
    add_fingerprints(s, e->key, kept);
    for (size_t i = 0; i < kept; i += OUT_ROWS)
        OG_TRY(append_indices(s, e->key + i, OG_MIN(kept - i, (size_t)OUT_ROWS), err));
    if (e->weight)
        OG_TRY(og__npy_append(s->weights, e->weight, (int64_t)kept, err));
    if (e->number)
        OG_TRY(og__npy_append(s->numbers, e->number, (int64_t)kept, err));
out:
    return rc;
}

static int emit(struct og_edge_sorter *s, const struct edges *e, size_t n, struct og_err *err)
{
    struct edges rest = *e;
    size_t done = 0;
    int rc = 0;
    for (size_t left = n; left > 0; left -= done) {
        OG_TRY(go_to_list(s, rest.key[0] >> s->node_bits, err));
        OG_TRY(emit_relation(s, &rest, left, &done, err));
        rest = edges_from(&rest, done);
    }
    s->n_emitted += (int64_t)n;
    if (s->opt.progress)
        OG_TRY(s->opt.progress(s->opt.progress_arg, s->n_emitted, s->n_in, err));
out:
    return rc;
}

/* The n edges in a, all within the cut. */
static int sort_and_emit(struct og_edge_sorter *s, struct cut c, size_t n, struct og_err *err)
{
    size_t end[RANGES];
    partition(c, &s->a, &s->b, n, end);
    struct sort_parts p = {.from = s->b, .spare = s->a, .end = end, .cut = c};
    og__pool_run(s->opt.pool, RANGES, sort_part, &p);
    return emit(s, &s->b, n, err);
}

/* ---- ranges of the scratch file ---- */

static int sort_extents(struct og_edge_sorter *s, const struct extents *e, uint64_t first,
                        unsigned bits, struct og_err *err);

/* One key more often than memory holds: nothing to sort, so it streams. */
static int stream_extents(struct og_edge_sorter *s, const struct extents *e, struct og_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < e->n; i++) {
        for (uint64_t done = 0, n; done < e->list[i].n; done += n) {
            n = OG_MIN(e->list[i].n - done, (uint64_t)s->capacity);
            OG_TRY(read_extent(s, e->list[i], done, n, &s->a, 0, err));
            OG_TRY(emit(s, &s->a, n, err));
        }
    }
out:
    return rc;
}

/* More than fits: cut it finer and take the pieces in turn. */
static int split_extents(struct og_edge_sorter *s, const struct extents *e, struct cut c,
                         struct og_err *err)
{
    struct extents *finer = calloc(RANGES, sizeof(*finer));
    int rc;
    OG_TRY(finer ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", part));
    size_t filled = 0;
    for (size_t i = 0; i < e->n; i++) {
        for (uint64_t done = 0, n; done < e->list[i].n; done += n) {
            n = OG_MIN(e->list[i].n - done, (uint64_t)(s->capacity - filled));
            OG_TRY(read_extent(s, e->list[i], done, n, &s->a, filled, err));
            filled += n;
            if (filled == s->capacity) {
                OG_TRY(spill(s, c, filled, finer, err));
                filled = 0;
            }
        }
    }
    if (filled > 0)
        OG_TRY(spill(s, c, filled, finer, err));
    for (size_t r = 0; r < RANGES; r++)
        OG_TRY(sort_extents(s, &finer[r], c.first + (r << c.shift), c.shift, err));
out:
    for (size_t r = 0; finer && r < RANGES; r++)
        free(finer[r].list);
    free(finer);
    return rc;
}

static int sort_extents(struct og_edge_sorter *s, const struct extents *e, uint64_t first,
                        unsigned bits, struct og_err *err)
{
    if (e->edges == 0)
        return 0;
    struct cut c = cut_keys(first, bits);
    if (e->edges > s->capacity)
        return bits == 0 ? stream_extents(s, e, err) : split_extents(s, e, c, err);
    size_t at = 0;
    int rc = 0;
    for (size_t i = 0; i < e->n; i++) {
        OG_TRY(read_extent(s, e->list[i], 0, e->list[i].n, &s->a, at, err));
        at += e->list[i].n;
    }
    OG_TRY(sort_and_emit(s, c, at, err));
out:
    return rc;
}

/* ---- the end ---- */

static int emit_all(struct og_edge_sorter *s, struct og_err *err)
{
    int rc;
    if (s->scratch < 0)
        return sort_and_emit(s, s->top, s->filled, err);
    OG_TRY(spill(s, s->top, s->filled, s->range, err));
    for (size_t r = 0; r < RANGES; r++)
        OG_TRY(sort_extents(s, &s->range[r], (uint64_t)r << s->top.shift, s->top.shift, err));
out:
    return rc;
}

int og__sorter_finish(struct og_edge_sorter *s, const char *folder, json_t *checksums,
                      struct og_edge_sorter_result *result, struct og_err *err)
{
    struct og_graph *g = s->opt.graph;
    const uint32_t rows = s->row[g->n_relations];
    int rc;
    *result = (struct og_edge_sorter_result){0};
    s->folder = folder;
    s->checksums = checksums;
    OG_TRY(begin_relation(s, err));
    OG_TRY(emit_all(s, err));
    OG_TRY(go_to_list(s, rows - 1, err)); /* those of the last relation may be empty */
    OG_TRY(end_relation(s, err));
    g->n_edges = s->n_out;
    result->n_edges = s->n_out;
    result->n_self_loops = s->n_loops;
    result->n_duplicates = s->n_in - s->n_out;
    result->n_other_weights = s->n_other_weights;
    result->n_alone = rows - s->n_fed;
    result->symmetric = g->n_relations == 1 && g->relation->source == g->relation->destination &&
                        s->one == s->other;
    result->bytes_written = s->bytes_written;
out:
    return rc;
}
