/* What lists of in-neighbours take in memory in several forms, and what sampling from them costs.
 *
 *     bench_lists DATASET [BATCHES] [BATCH]
 *
 * The training nodes in order, fanout 10,10,10, one thread. The hop is the sampler's
 * (sample/hop.h): a window of edges, whose sources each form finds in its own way, and a table that
 * numbers them. What a form looks at first is prefetched when an edge is drawn, and the rest in a
 * pass over the window. Every batch of every form is compared with that of og__sample, which has a
 * line of its own. All alternate, seven batches at a time, so that each finds in the CPU's cache
 * what it has there itself. One line a form: bytes an edge, with all that leads to a list; CPU time
 * for an edge of a batch, median over the batches. And how many times plain that is, median of the
 * batches' ratios.
 *
 * Blocks go across the borders of lists, so that no list needs a place of its own:
 *
 *   entry[e / size]   bits of a number << 26 | its words, from far[e / size / 2^18] on
 *   its words         the least id of the block, or its first | ends | a number an edge
 *
 * Numbers are distances from the least id ("reference") or from the one before ("gaps"). Or they
 * are the low parts of Elias-Fano. In these two ids are taken for a sequence that does not fall.
 * One smaller than that before it, as where a list begins, stands for the next such number modulo a
 * power of two. Elias-Fano's unary part is "ends", a word of 64 bits for 32 ids; "pdep" finds the
 * end in it by that instruction, where the CPU has it. */
#include "dataset/topology.h"
#include "sample/hop.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    HOPS = 3,
    FANOUT = 10,
    TURN = 7,          /* batches */
    MOST = 128,        /* ids of a block */
    FAR = 18,          /* log2 of the blocks that share a beginning */
    PLACE = 26,        /* bits of the offset after that */
    HALF = 32,         /* ids of a block with ends */
    PER_LIST = 32 + 37 /* bits: its place; its least id and how wide its numbers are */
};

/* ---- bits ---- */

static uint32_t bits_of(uint64_t x)
{
    return x ? 64 - (uint32_t)__builtin_clzll(x) : 0;
}

static inline uint64_t load(const void *at)
{
    uint64_t x;
    memcpy(&x, at, sizeof(x));
    return x;
}

static void put(void *words, uint64_t bit, uint64_t x)
{
    char *at = (char *)words + bit / 8;
    const uint64_t now = load(at) | x << bit % 8;
    memcpy(at, &now, sizeof(now));
}

/* At most 32 of them: they lie within 64 from a byte's beginning on. */
static inline uint64_t get(const void *words, uint64_t bit, uint32_t width)
{
    return load((const char *)words + bit / 8) >> bit % 8 & (((uint64_t)1 << width) - 1);
}

static inline void ask_both_ends(const void *at, size_t bytes)
{
    __builtin_prefetch(at);
    __builtin_prefetch((const char *)at + bytes - 1);
}

static uint8_t in_byte[8][256]; /* where set bit r of a byte is */

static void fill_in_byte(void)
{
    for (uint32_t byte = 0; byte < 256; byte++)
        for (uint32_t i = 0, r = 0; i < 8; i++)
            if (byte >> i & 1)
                in_byte[r++][byte] = (uint8_t)i;
}

/* Where set bit r is. Sums of set bits by byte, the byte in which r falls, a table for the rest. */
static inline uint32_t select_bit(uint64_t x, uint32_t r)
{
    const uint64_t ones = 0x0101010101010101u, tops = ones << 7;
    uint64_t s = x - (x >> 1 & 0x5555555555555555u);
    s = (s & 0x3333333333333333u) + (s >> 2 & 0x3333333333333333u);
    s = ((s + (s >> 4)) & 0x0f0f0f0f0f0f0f0fu) * ones;
    const uint64_t not_above = ((r * ones | tops) - s) & tops;
    const uint32_t at = (uint32_t)((not_above >> 7) * ones >> 56) * 8;
    return at + in_byte[r - (s << 8 >> at & 0xff)][x >> at & 0xff];
}

/* ---- forms ---- */

struct lists {
    const uint32_t *plain;
    uint64_t n, mask; /* no id is above it */
    uint32_t width;   /* bits of an id */
    uint32_t *entry, *word;
    uint64_t *far, n_words, n_blocks;
};

struct packing {
    uint32_t size, head;
    const uint32_t *id;
    uint32_t n;
};

static uint32_t *begin_block(struct lists *l, uint64_t block, uint32_t bits, uint32_t first)
{
    if (block % ((uint64_t)1 << FAR) == 0)
        l->far[block >> FAR] = l->n_words;
    l->entry[block] = bits << PLACE | (uint32_t)(l->n_words - l->far[block >> FAR]);
    l->word[l->n_words] = first;
    return l->word + l->n_words;
}

static inline const uint32_t *words_of(const struct lists *l, uint64_t block, uint32_t entry)
{
    return l->word + l->far[block >> FAR] + (entry & (((uint32_t)1 << PLACE) - 1));
}

static uint32_t make_reference(struct lists *l, uint64_t block, const struct packing *k)
{
    uint32_t least = k->id[0], most = k->id[0];
    for (uint32_t i = 0; i < k->n; i++) {
        least = OG_MIN(least, k->id[i]);
        most = OG_MAX(most, k->id[i]);
    }
    const uint32_t bits = bits_of(most - least);
    uint32_t *words = begin_block(l, block, bits, least);
    for (uint32_t i = 0; i < k->n; i++)
        put(words + k->head, (uint64_t)bits * i, k->id[i] - least);
    return bits;
}

static uint64_t gap(const struct lists *l, const struct packing *k, uint32_t i)
{
    return i ? ((uint64_t)k->id[i] - k->id[i - 1]) & l->mask : 0;
}

static uint32_t make_gaps(struct lists *l, uint64_t block, const struct packing *k)
{
    uint64_t all = 0;
    for (uint32_t i = 1; i < k->n; i++)
        all |= gap(l, k, i);
    const uint32_t bits = bits_of(all);
    uint32_t *words = begin_block(l, block, bits, k->id[0]);
    for (uint32_t i = 1; i < k->n; i++)
        put(words + k->head, (uint64_t)bits * i, gap(l, k, i));
    return bits;
}

static uint32_t make_ends(struct lists *l, uint64_t block, const struct packing *k)
{
    uint64_t above = 0;
    for (uint32_t i = 1; i < k->n; i++)
        above += gap(l, k, i);
    const uint32_t all = bits_of(above), bits = all > 5 ? all - 5 : 0;
    uint32_t *words = begin_block(l, block, bits, k->id[0]);
    above = 0;
    for (uint32_t i = 0; i < k->n; i++) {
        above += gap(l, k, i);
        put(words + 1, (above >> bits) + i, 1);
        put(words + k->head, (uint64_t)bits * i, above & (((uint64_t)1 << bits) - 1));
    }
    return bits;
}

/* Sources of the edges of a window. */
typedef void pick_fn(const struct lists *l, const int64_t *edge, size_t n, uint32_t *ids);

static void pick_plain(const struct lists *l, const int64_t *edge, size_t n, uint32_t *ids)
{
    for (size_t i = 0; i < n; i++)
        ids[i] = l->plain[edge[i]];
}

OG_CLONES static void pick_width(const struct lists *l, const int64_t *edge, size_t n,
                                 uint32_t *ids)
{
    for (size_t i = 0; i < n; i++)
        ids[i] = (uint32_t)get(l->word, (uint64_t)edge[i] * l->width, l->width);
}

static inline void ask_window(const struct lists *l, const int64_t *edge, size_t n, uint32_t size,
                              uint32_t head)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t block = (uint64_t)edge[i] / size;
        const uint32_t entry = l->entry[block], nth = (uint32_t)((uint64_t)edge[i] % size);
        const uint32_t *words = words_of(l, block, entry);
        ask_both_ends(words, head * sizeof(*words));
        ask_both_ends((const char *)(words + head) + (entry >> PLACE) * nth / 8, sizeof(uint64_t));
    }
}

static inline void pick_reference(const struct lists *l, const int64_t *edge, size_t n,
                                  uint32_t size, uint32_t *ids)
{
    ask_window(l, edge, n, size, 1);
    for (size_t i = 0; i < n; i++) {
        const uint64_t block = (uint64_t)edge[i] / size;
        const uint32_t entry = l->entry[block], nth = (uint32_t)((uint64_t)edge[i] % size);
        const uint32_t *words = words_of(l, block, entry);
        ids[i] = words[0] + (uint32_t)get(words + 1, nth * (entry >> PLACE), entry >> PLACE);
    }
}

OG_CLONES static void pick_reference32(const struct lists *l, const int64_t *edge, size_t n,
                                       uint32_t *ids)
{
    pick_reference(l, edge, n, 32, ids);
}

OG_CLONES static void pick_reference128(const struct lists *l, const int64_t *edge, size_t n,
                                        uint32_t *ids)
{
    pick_reference(l, edge, n, 128, ids);
}

OG_CLONES static void pick_gaps(const struct lists *l, const int64_t *edge, size_t n, uint32_t *ids)
{
    ask_window(l, edge, n, 32, 1);
    for (size_t i = 0; i < n; i++) {
        const uint64_t block = (uint64_t)edge[i] / 32;
        const uint32_t entry = l->entry[block], nth = (uint64_t)edge[i] % 32;
        const uint32_t *words = words_of(l, block, entry);
        uint64_t sum = words[0];
        for (uint32_t j = 1; j <= nth; j++)
            sum += get(words + 1, j * (entry >> PLACE), entry >> PLACE);
        ids[i] = (uint32_t)(sum & l->mask);
    }
}

#define PICK_ENDS(SELECT)                                                              \
    ask_window(l, edge, n, HALF, 3);                                                   \
    for (size_t i = 0; i < n; i++) {                                                   \
        const uint64_t block = (uint64_t)edge[i] / HALF;                               \
        const uint32_t entry = l->entry[block], nth = (uint64_t)edge[i] % HALF;        \
        const uint32_t *words = words_of(l, block, entry);                             \
        const uint64_t steps = SELECT(load(words + 1), nth) - nth;                     \
        const uint64_t low = get(words + 3, nth * (entry >> PLACE), entry >> PLACE);   \
        ids[i] = (uint32_t)((words[0] + (steps << (entry >> PLACE) | low)) & l->mask); \
    }

OG_CLONES static void pick_ends(const struct lists *l, const int64_t *edge, size_t n, uint32_t *ids)
{
    PICK_ENDS(select_bit)
}

#if defined(__x86_64__)
#define PDEP_SELECT(X, R) ((uint64_t)_tzcnt_u64(_pdep_u64((uint64_t)1 << (R), X)))
__attribute__((target("bmi,bmi2"))) static void
pick_pdep(const struct lists *l, const int64_t *edge, size_t n, uint32_t *ids)
{
    PICK_ENDS(PDEP_SELECT)
}
static bool has_pdep(void)
{
    return __builtin_cpu_supports("bmi2");
}
#else
#define pick_pdep pick_ends
static bool has_pdep(void)
{
    return false;
}
#endif

static const struct form {
    const char *name;
    uint32_t size, head; /* ids of a block, 0 = none; words before its numbers */
    uint32_t (*make)(struct lists *l, uint64_t block, const struct packing *k); /* bits of one */
    pick_fn *pick;
} forms[] = {
    {"plain", 0, 0, NULL, pick_plain},
    {"width of N", 0, 0, NULL, pick_width},
    {"reference, 32", 32, 1, make_reference, pick_reference32},
    {"reference, 128", 128, 1, make_reference, pick_reference128},
    {"gaps, 32", 32, 1, make_gaps, pick_gaps},
    {"Elias-Fano", HALF, 3, make_ends, pick_ends},
    {"Elias-Fano, pdep", HALF, 3, make_ends, pick_pdep},
};
enum { PLAIN, WIDTH, PDEP = 6, FORMS, SAMPLER = FORMS, RUNS };

struct bench {
    struct og_graph *ds;
    struct og_topology t;     /* as it is read */
    struct og_topology small; /* with 4 bytes a node, as the other forms have it */
    uint32_t *seeds, *ids;
    int64_t n_seeds;
    uint32_t n_batches, batch;
    struct lists lists[FORMS];
    double bytes[FORMS];
    double *cost[RUNS]; /* [n_batches] ns an edge */
    struct og_sampler *sampler;
    struct og_batch_memory m;
    uint64_t *want; /* [n_batches] of the sampler's ids */
};

static void *need(size_t bytes)
{
    struct og_err err = {0};
    void *p = og__alloc(NULL, bytes, "bench", &err);
    if (!p) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    memset(p, 0, bytes);
    return p;
}

/* ---- making ---- */

/* Words that a form may take: numbers of 32 bits at most. */
static void make_blocks(struct lists *l, const struct form *f)
{
    l->n_blocks = (l->n + f->size - 1) / f->size;
    l->entry = need(l->n_blocks * sizeof(*l->entry) + 8);
    l->far = need(((l->n_blocks >> FAR) + 1) * sizeof(*l->far));
    l->word = need((l->n_blocks * (f->head + f->size) + 64) * sizeof(*l->word));
    for (uint64_t b = 0; b < l->n_blocks; b++) {
        const struct packing k = {.size = f->size,
                                  .head = f->head,
                                  .id = l->plain + b * f->size,
                                  .n = (uint32_t)OG_MIN((uint64_t)f->size, l->n - b * f->size)};
        l->n_words += f->head + f->make(l, b, &k) * f->size / 32;
    }
}

static void make_width(struct lists *l)
{
    l->n_words = l->n * l->width / 32 + 4;
    l->word = need(l->n_words * sizeof(*l->word));
    for (uint64_t e = 0; e < l->n; e++)
        put(l->word, e * l->width, l->plain[e]);
}

static uint32_t *copy_plain(const struct og_topology *t)
{
    uint32_t *plain = need((size_t)t->n_edges * sizeof(*plain) + MOST);
    for (int64_t e = 0; e < t->n_edges; e++)
        plain[e] = og__neighbor(t, e);
    return plain;
}

static void make(struct bench *b)
{
    const uint64_t n_nodes = (uint64_t)b->t.n_nodes;
    const uint32_t width = bits_of((uint64_t)og__sources(&b->t) - 1);
    const struct lists plain = {.plain = copy_plain(&b->t),
                                .n = (uint64_t)b->t.n_edges,
                                .width = width,
                                .mask = ((uint64_t)1 << width) - 1};
    for (int f = 0; f < FORMS; f++) {
        struct lists *l = &b->lists[f];
        *l = plain;
        if (f == PDEP)
            *l = b->lists[f - 1];
        else if (f == WIDTH)
            make_width(l);
        else if (f != PLAIN)
            make_blocks(l, &forms[f]);
        b->bytes[f] = f == PLAIN ? (double)(n_nodes + 1) * 8 + (double)l->n * 4
                                 : (double)og__offsets_bytes(n_nodes) + (double)l->n_words * 4 +
                                       (double)l->n_blocks * 4;
    }
}

static int offsets_of(struct bench *b, struct og_err *err)
{
    const uint64_t n = (uint64_t)b->t.n_nodes;
    int rc = og__offsets_init(&b->small.first, n, NULL, "bench", err);
    b->small.n_nodes = b->t.n_nodes;
    for (uint64_t v = 0; rc == 0 && v <= n; v++)
        if (!og__offsets_put(&b->small.first, v, b->t.indptr[v]))
            rc = og__fail(err, -EOVERFLOW, NULL, "lists too long for 4 bytes a node");
    return rc;
}

/* ---- sampling ---- */

struct drawing {
    const struct og_topology *t;
    const struct lists *l;
    int form;
    struct og_id_table *table;
    uint32_t *ids, n_ids;
    int64_t edge[OG__WINDOW];
    uint32_t node[OG__WINDOW];
    size_t filled;
    uint64_t n_edges;
};

static void flush(struct drawing *d)
{
    const size_t stride = sizeof(struct og_id_place);
    forms[d->form].pick(d->l, d->edge, d->filled, d->node);
    for (size_t i = 0; i < d->filled; i++)
        og__id_prefetch(d->table, stride, d->node[i]);
    for (size_t i = 0; i < d->filled; i++) {
        d->ids[d->n_ids] = d->node[i];
        d->n_ids += og__id_place(d->table, d->node[i], d->n_ids) == d->n_ids;
    }
    d->n_edges += d->filled;
    d->filled = 0;
}

static inline void push(struct drawing *d, int64_t e)
{
    if (d->form == PLAIN)
        __builtin_prefetch(d->l->plain + e);
    else if (d->form == WIDTH)
        ask_both_ends((const char *)d->l->word + (uint64_t)e * d->l->width / 8, sizeof(uint64_t));
    else
        __builtin_prefetch(d->l->entry + (uint64_t)e / forms[d->form].size);
    d->edge[d->filled++] = e;
    if (d->filled == OG__WINDOW)
        flush(d);
}

static void draw_hop(struct bench *b, struct drawing *d, uint32_t hop, uint32_t batch)
{
    const uint32_t n_dst = d->n_ids;
    for (uint32_t i = 0; i < n_dst; i++) {
        if (i + OG__PREFETCH_DISTANCE < n_dst)
            og__prefetch_degree(d->t, d->ids[i + OG__PREFETCH_DISTANCE]);
        const uint32_t v = d->ids[i];
        const int64_t first = og__first_edge(d->t, v), degree = og__degree(d->t, v);
        struct og_rng rng;
        og__rng_at(&rng, 1, OG__STREAM_BENCH, 1, batch, hop, v);
        if (degree > FANOUT)
            og__draw(b->sampler, &rng, (uint32_t)degree, FANOUT);
        for (uint32_t k = 0; k < OG_MIN(degree, (int64_t)FANOUT); k++)
            push(d, first + (degree > FANOUT ? b->sampler->pick[k] : k));
    }
    flush(d);
}

static uint64_t state_of_ids(const uint32_t *ids, uint32_t n)
{
    uint64_t h = n;
    for (uint32_t i = 0; i < n; i++)
        h = (h ^ ids[i]) * 0x9E3779B97F4A7C15ull;
    return h;
}

static int sample(struct bench *b, int form, const uint32_t *seeds, uint32_t batch,
                  struct og_err *err)
{
    struct drawing d = {.t = form == PLAIN ? &b->t : &b->small,
                        .l = &b->lists[form],
                        .form = form,
                        .table = &b->sampler->table,
                        .ids = b->ids};
    const double start = og__thread_time();
    og__id_table_clear(d.table, sizeof(struct og_id_place));
    for (; d.n_ids < b->batch; d.n_ids++) {
        d.ids[d.n_ids] = seeds[d.n_ids];
        og__id_place(d.table, seeds[d.n_ids], d.n_ids);
    }
    for (uint32_t h = 0; h < HOPS; h++)
        draw_hop(b, &d, h, batch);
    b->cost[form][batch] =
        (og__thread_time() - start) * 1e9 / (double)OG_MAX(d.n_edges, (uint64_t)1);
    return state_of_ids(d.ids, d.n_ids) == b->want[batch]
               ? 0
               : og__fail(err, -EINVAL, NULL, "%s: batch %u is not the sampler's", forms[form].name,
                          batch);
}

static int sample_as_is(struct bench *b, const uint32_t *seeds, uint32_t batch, struct og_err *err)
{
    const double start = og__thread_time();
    int rc =
        og__sample(b->sampler, seeds, b->batch,
                   &(struct og_sample_key){.stream = OG__STREAM_BENCH, .epoch = 1, .batch = batch},
                   &b->m, err);
    const double seconds = og__thread_time() - start;
    uint64_t n = 0;
    for (int h = 0; rc == 0 && h < HOPS; h++)
        n += b->m.batch.hop[h].n_edges;
    b->cost[SAMPLER][batch] = seconds * 1e9 / (double)OG_MAX(n, (uint64_t)1);
    if (rc == 0)
        b->want[batch] = state_of_ids(b->m.batch.ids, b->m.batch.n_ids);
    return rc;
}

static int sample_turn(struct bench *b, int run, uint32_t first, struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = first; rc == 0 && i < OG_MIN(first + TURN, b->n_batches); i++) {
        const uint32_t *seeds = b->seeds + (size_t)i * b->batch % (size_t)(b->n_seeds - b->batch);
        rc = run == SAMPLER ? sample_as_is(b, seeds, i, err) : sample(b, run, seeds, i, err);
    }
    return rc;
}

/* The sampler first: what it draws is what the others have to. All once before, so that its table
 * has the size that it keeps. */
static int sample_all(struct bench *b, struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < b->n_batches; i += TURN)
        rc = sample_turn(b, SAMPLER, i, err);
    for (uint32_t i = 0; rc == 0 && i < b->n_batches; i += TURN)
        for (uint32_t turn = 0; rc == 0 && turn < RUNS; turn++) {
            const int run = (int)((turn + i / TURN) % RUNS);
            if (run != PDEP || has_pdep())
                rc = sample_turn(b, run, i, err);
        }
    return rc;
}

/* ---- telling ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, uint32_t n)
{
    qsort(x, n, sizeof(*x), by_size);
    return x[n / 2];
}

/* Sizes alone: numbers as wide as a list's range; and Elias-Fano's, with the place of every 64th
 * end. */
static void print_by_list(const struct bench *b)
{
    const uint32_t *id = b->lists[PLAIN].plain;
    const double n = (double)b->t.n_edges, lead = (double)og__offsets_bytes((uint64_t)b->t.n_nodes);
    double width = 0, fano = 0;
    for (int64_t v = 0; v < b->t.n_nodes; v++) {
        const int64_t first = b->t.indptr[v], d = b->t.indptr[v + 1] - first;
        if (d == 0)
            continue;
        const uint32_t range = id[first + d - 1] - id[first];
        const uint32_t low = bits_of(range / (uint64_t)d);
        const int64_t places = d / 64;
        width += PER_LIST + (double)d * bits_of(range);
        fano += PER_LIST + (double)d * (1 + low) + (double)(range >> low) + (double)places * 32;
    }
    width = (width / 8 + lead) / n;
    fano = (fano / 8 + lead) / n;
    printf("%-18s %5.2f bytes an edge x %.2f\n", "width, by list", width,
           width * n / b->bytes[PLAIN]);
    printf("%-18s %5.2f bytes an edge x %.2f\n", "E.-F., by list", fano,
           fano * n / b->bytes[PLAIN]);
}

static void print(const struct bench *b)
{
    double *ratio = need(b->n_batches * sizeof(*ratio));
    double times[FORMS];
    for (int f = 0; f < FORMS; f++) {
        for (uint32_t i = 0; i < b->n_batches; i++)
            ratio[i] = b->cost[f][i] / b->cost[PLAIN][i];
        times[f] = median(ratio, b->n_batches);
    }
    for (int f = 0; f < FORMS; f++)
        if (f != PDEP || has_pdep())
            printf("%-18s %5.2f bytes an edge x %.2f  %6.1f ns an edge x %.2f\n", forms[f].name,
                   b->bytes[f] / (double)b->t.n_edges, b->bytes[f] / b->bytes[PLAIN],
                   median(b->cost[f], b->n_batches), times[f]);
    printf("%-18s %38.1f ns an edge\n", "og__sample", median(b->cost[SAMPLER], b->n_batches));
    print_by_list(b);
}

static int measure(struct bench *b, struct og_err *err)
{
    static const int fanout[HOPS] = {FANOUT, FANOUT, FANOUT};
    const uint64_t most = OG_MIN((uint64_t)b->batch * 1331, (uint64_t)og__most_ids(&b->t));
    int rc;
    b->ids = need((most + OG__WINDOW) * sizeof(*b->ids));
    b->want = need(b->n_batches * sizeof(*b->want));
    for (int f = 0; f < RUNS; f++)
        b->cost[f] = need(b->n_batches * sizeof(double));
    OG_TRY(offsets_of(b, err));
    OG_TRY(og__sampler_open(&b->sampler, &b->t, fanout, HOPS, 1, NULL, err));
    OG_TRY(sample_all(b, err));
    print(b);
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct og_err err = {0};
    struct bench b = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: bench_lists DATASET [BATCHES] [BATCH]\n");
        return 2;
    }
    b.n_batches = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 21;
    b.batch = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1000;
    fill_in_byte();
    og__batch_init(&b.m, NULL);
    int rc = og__graph_open(argv[1], &b.ds, &err);
    if (rc == 0)
        rc = og__graph_split(b.ds, OG__TRAIN, NULL, &b.seeds, &b.n_seeds, &err);
    if (rc == 0 && b.n_seeds <= b.batch)
        rc = og__fail(&err, -EINVAL, NULL, "%s: too few training nodes", argv[1]);
    if (rc == 0)
        rc = og__topology_load(b.ds, false, NULL, &b.t, &err);
    if (rc == 0) {
        make(&b);
        rc = measure(&b, &err);
    }
    if (rc < 0)
        fprintf(stderr, "%s\n", err.message);
    return rc < 0;
}
