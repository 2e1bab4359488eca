/* Four arrays that grow in place, and a spill.
 *
 *   ids     | batch 0 | batch 1 | ...                     u32, every batch
 *   ptr     | 0 | n_ids | ...                             u64, start of each batch in ids
 *   sizes   | spot | ...                                  u64, a row a batch: its sizes
 *   blocks  | degree, indptr, src, weight a hop | ...     u32 and f32, the first batches, up to
 *                                                         opt.memory. Heterogeneous ones have the
 *                                                         number of lists, relation and dst too
 *
 * A spilled batch has the form of a trace (spilled.h). A pre-sampled batch stays in its samples;
 * only its ids and its number are stored. Batches are dropped from the front of all arrays. */
#include "sample/superbatch.h"

#include "sample/spilled.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };
static const char part[] = "trace";

/* Memory that grows without moving: address space at first, charged as it is used. */
struct grown {
    char *base;
    size_t reserved, charged, used; /* bytes */
};

/* Where a batch's blocks are: in `blocks`, in the spill, or in pre-sampled batches. The location
 * there is a byte, a piece, or a number. */
enum place { IN_MEMORY, SPILLED, ELSEWHERE };

struct og_superbatch {
    struct og_superbatch_options opt; /* its scratch is its own */
    struct og_budget *budget;
    struct grown ids, ptr, sizes, blocks;
    uint32_t n;         /* batches */
    uint32_t in_memory; /* the first of them, with blocks in memory */
    bool sealed;
    int failed; /* a spill that failed: what was spilled is gone */
    struct og_spilled spilled;
    bool ids_on_disk;
    struct og_samples *samples; /* source of pre-sampled batches; borrowed */
};

/* ---- memory that grows ---- */

static int grown_open(struct grown *a, size_t most, struct og_err *err)
{
    *a = (struct grown){.reserved = og__round_up(most, PAGE)};
    a->base = og__address_reserve(a->reserved, err);
    if (!a->base)
        return -ENOMEM;
    /* Huge pages would exceed the charged memory, and gain little for memory used front to back. */
    madvise(a->base, a->reserved, MADV_NOHUGEPAGE);
    return 0;
}

static void grown_close(struct grown *a, struct og_budget *b)
{
    og__address_release(a->base, a->reserved);
    og__budget_uncharge(b, a->charged, part);
    *a = (struct grown){0};
}

/* Makes room for `more` bytes after the used ones. */
static int fit(struct grown *a, size_t more, struct og_budget *b, struct og_err *err)
{
    size_t need = og__round_up(a->used + more, PAGE);
    if (need <= a->charged)
        return 0;
    if (need > a->reserved)
        return og__fail(err, -ENOMEM, "sample fewer batches ahead: --superbatch",
                        "%s: a superbatch larger than memory", part);
    int rc = og__budget_charge(b, need - a->charged, part, err);
    if (rc < 0)
        return rc;
    OG_TRY(og__address_open(a->base, need, err));
    a->charged = need;
    return 0;
out:
    og__budget_uncharge(b, need - a->charged, part);
    return rc;
}

static void put(struct grown *a, const void *data, size_t bytes)
{
    if (bytes)
        memcpy(a->base + a->used, data, bytes);
    a->used += bytes;
}

/* ---- sizes of a batch ---- */

static size_t sizes_bytes(const struct og_superbatch *s)
{
    return og__trace_spot_bytes(s->opt.n_hops);
}

static struct og_trace_spot *spot_of(const struct og_superbatch *s, uint32_t i)
{
    return (void *)(s->sizes.base + i * sizes_bytes(s));
}

/* What is kept of a batch's blocks, part by part. */
typedef void with_part(void *at, void *part, size_t bytes);

static void each_part(const struct og_superbatch *s, struct og_batch *batch, with_part *with,
                      void *at)
{
    const unsigned extras = s->opt.extras;
    if ((extras & OG__WITH_EDGES) && !s->opt.plans_units)
        with(at, batch->units, (size_t)batch->n_units * 4);
    if (extras & OG__WITH_TREES)
        with(at, batch->row, (size_t)batch->n_places * 4);
    for (uint32_t h = 0; h < batch->n_hops; h++) {
        struct og_block *k = &batch->hop[h];
        if (extras & OG__WITH_DEGREES)
            with(at, k->degree, ((size_t)k->n_src - k->n_dst) * 4);
        if (og__is_part(extras, h, (uint32_t)s->opt.n_hops))
            continue;
        if (extras & OG__WITH_RELATIONS) {
            with(at, &k->n_lists, sizeof(k->n_lists));
            with(at, k->relation, ((size_t)k->n_relations + 1) * 4);
            with(at, k->dst, (size_t)k->n_lists * 4);
        }
        with(at, k->indptr, ((size_t)og__lists_of(k) + 1) * 4);
        with(at, k->src, k->n_edges * 4);
        if (extras & OG__WITH_WEIGHTS)
            with(at, (float *)k->weight, k->n_edges * 4);
        if (extras & OG__WITH_EDGES)
            with(at, k->edge, k->n_edges * 4);
    }
}

static void count_part(void *at, void *part_of, size_t bytes)
{
    (void)part_of;
    *(size_t *)at += bytes;
}

static void put_part(void *at, void *part_of, size_t bytes)
{
    put(at, part_of, bytes);
}

static void take_part(void *at, void *part_of, size_t bytes)
{
    const char **from = at;
    if (bytes)
        memcpy(part_of, *from, bytes);
    *from += bytes;
}

/* ---- open, close ---- */

int og__superbatch_open(struct og_superbatch **out, const struct og_superbatch_options *opt,
                        struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    struct og_superbatch *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    s->opt = *opt;
    s->opt.scratch = (struct og_places){0};
    s->budget = b;
    size_t most = OG_MIN(og__budget_limit(b), og__memory_whole());
    int rc;
    OG_TRY(og__places_copy(&s->opt.scratch, opt->scratch, err));
    s->spilled =
        (struct og_spilled){.form = {.n_hops = opt->n_hops,
                                     .n_nodes = opt->n_nodes,
                                     .n_relations = opt->n_relations,
                                     .extras = opt->extras},
                            .files = {.n_hops = opt->n_hops,
                                      .n_relations = opt->n_relations,
                                      .extras = opt->extras,
                                      .n_nodes = opt->n_nodes,
                                      .hint = "give this run a --scratch folder of its own"},
                            .under = s->opt.scratch,
                            .budget = b};
    OG_TRY(og__spilled_open(&s->spilled, err));
    OG_TRY(grown_open(&s->ids, most, err));
    OG_TRY(grown_open(&s->ptr, most, err));
    OG_TRY(grown_open(&s->sizes, most, err));
    OG_TRY(grown_open(&s->blocks, OG_MAX(OG_MIN(most, opt->memory), (size_t)PAGE), err));
    OG_TRY(fit(&s->ptr, sizeof(uint64_t), b, err));
    og__superbatch_clear(s);
    *out = s;
    return 0;
out:
    og__superbatch_close(s);
    return rc;
}

static int refuse_failed(const struct og_superbatch *s, struct og_err *err)
{
    return s->failed < 0 ? og__fail(err, s->failed, NULL, "the spilled part of the trace is lost")
                         : 0;
}

void og__superbatch_clear(struct og_superbatch *s)
{
    og__spilled_clear(&s->spilled);
    s->ids.used = s->ptr.used = s->sizes.used = s->blocks.used = 0;
    put(&s->ptr, &(uint64_t){0}, sizeof(uint64_t));
    s->n = s->in_memory = 0;
    s->sealed = s->ids_on_disk = false;
    s->failed = 0;
}

uint32_t *og__superbatch_ids(struct og_superbatch *s)
{
    return (uint32_t *)(void *)s->ids.base;
}

int og__superbatch_release_ids(struct og_superbatch *s, uint64_t keep, struct og_err *err)
{
    int rc = refuse_failed(s, err);
    if (rc < 0 || s->in_memory > 0 || s->n == 0)
        return rc;
    const size_t kept = OG_MIN(og__round_up(keep * sizeof(uint32_t), PAGE), s->ids.charged);
    s->ids_on_disk = true;
    madvise(s->ids.base + kept, s->ids.charged - kept, MADV_DONTNEED);
    og__budget_uncharge(s->budget, s->ids.charged - kept, part);
    s->ids.charged = kept;
    return 0;
}

void og__superbatch_close(struct og_superbatch *s)
{
    if (!s)
        return;
    og__spilled_close(&s->spilled);
    grown_close(&s->ids, s->budget);
    grown_close(&s->ptr, s->budget);
    grown_close(&s->sizes, s->budget);
    grown_close(&s->blocks, s->budget);
    og__places_free(&s->opt.scratch);
    free(s);
}

/* Three of the arrays, which grow by pages. */
size_t og__superbatch_bytes(int n_hops, uint64_t batches, uint64_t ids)
{
    return og__round_up(ids * sizeof(uint32_t), PAGE) +
           og__round_up((batches + 1) * sizeof(uint64_t), PAGE) +
           og__round_up(batches * og__trace_spot_bytes(n_hops), PAGE);
}

struct og_trace og__superbatch_trace(const struct og_superbatch *s)
{
    return (struct og_trace){.n_batches = s->n,
                             .ptr = (const uint64_t *)(const void *)s->ptr.base,
                             .ids = (const uint32_t *)(const void *)s->ids.base};
}

uint64_t og__superbatch_written(const struct og_superbatch *s)
{
    return og__spilled_written(&s->spilled);
}

uint64_t og__superbatch_room(const struct og_superbatch *s)
{
    return og__spilled_room(&s->spilled);
}

/* ---- append ---- */

/* Removes the files of a failed spill. */
static int lose_spill(struct og_superbatch *s, int rc)
{
    og__spilled_lose(&s->spilled);
    s->failed = rc;
    return rc;
}

static int spill(struct og_superbatch *s, const struct og_batch *batch, struct og_err *err)
{
    int rc = og__spilled_append(&s->spilled, batch, err);
    return rc < 0 ? lose_spill(s, rc) : 0;
}

static void keep_sizes(struct og_superbatch *s, const struct og_batch *batch, enum place kept,
                       uint64_t at)
{
    struct og_trace_spot *own = spot_of(s, s->n);
    memset(own, 0, sizes_bytes(s));
    own->n_seeds = batch->n_seeds;
    own->n_ids = batch->n_ids;
    own->n_units = batch->n_units;
    own->kept = kept;
    own->at = at;
    for (int h = 0; h < s->opt.n_hops; h++) {
        own->hop[h].n_src = batch->hop[h].n_src;
        own->hop[h].n_edges = batch->hop[h].n_edges;
    }
    if (kept == SPILLED)
        og__spilled_place(&s->spilled, own);
    s->sizes.used += sizes_bytes(s);
}

static void keep_ids(struct og_superbatch *s, const struct og_batch *batch)
{
    put(&s->ids, batch->ids, (size_t)batch->n_ids * 4);
    if (s->opt.plans_units)
        put(&s->ids, batch->units, (size_t)batch->n_units * 4);
    put(&s->ptr, &(uint64_t){s->ids.used / 4}, sizeof(uint64_t));
}

/* Makes room for the data stored of every batch, wherever its blocks are. */
static int make_room(struct og_superbatch *s, const struct og_batch *batch, struct og_err *err)
{
    assert(!s->sealed && (int)batch->n_hops == s->opt.n_hops);
    int rc;
    OG_TRY(refuse_failed(s, err));
    const size_t ids = (size_t)batch->n_ids + (s->opt.plans_units ? batch->n_units : 0);
    OG_TRY(fit(&s->ids, ids * 4, s->budget, err));
    OG_TRY(fit(&s->ptr, sizeof(uint64_t), s->budget, err));
out:
    return rc < 0 ? rc : fit(&s->sizes, sizes_bytes(s), s->budget, err);
}

int og__superbatch_append(struct og_superbatch *s, const struct og_batch *batch, struct og_err *err)
{
    size_t bytes = 0;
    each_part(s, (struct og_batch *)batch, count_part, &bytes);
    bool room = s->spilled.n_pieces == 0 && s->blocks.used + bytes <= s->opt.memory;
    OG_DO(make_room(s, batch, err));
    OG_DO(room ? fit(&s->blocks, bytes, s->budget, err) : spill(s, batch, err));
    keep_sizes(s, batch, room ? IN_MEMORY : SPILLED, s->blocks.used);
    keep_ids(s, batch);
    if (room) {
        each_part(s, (struct og_batch *)batch, put_part, &s->blocks);
        s->in_memory++;
    }
    s->n++;
    return 0;
}

int og__superbatch_refer(struct og_superbatch *s, const struct og_batch *batch,
                         struct og_samples *samples, uint32_t number, struct og_err *err)
{
    OG_DO(make_room(s, batch, err));
    s->samples = samples;
    keep_sizes(s, batch, ELSEWHERE, number);
    keep_ids(s, batch);
    s->n++;
    return 0;
}

/* ---- finish ---- */

int og__superbatch_cut(struct og_superbatch *s, struct og_err *err)
{
    int rc = refuse_failed(s, err);
    if (rc < 0)
        return rc;
    rc = og__spilled_finish(&s->spilled, err);
    return rc < 0 ? lose_spill(s, rc) : 0;
}

int og__superbatch_finish(struct og_superbatch *s, struct og_err *err)
{
    s->sealed = s->failed == 0;
    return og__superbatch_cut(s, err);
}

/* ---- replay ---- */

static int read_back(struct og_superbatch *s, const struct og_trace_spot *p,
                     struct og_batch_memory *out, struct og_io_counts *read, struct og_err *err)
{
    if (s->ids_on_disk)
        OG_DO(og__spilled_ids(&s->spilled, p, &out->batch, read, err));
    return og__spilled_blocks(&s->spilled, p, out, read, err);
}

/* Let batch i come from the disk while other things are done. */
static void prefetch(const struct og_superbatch *s, uint32_t i)
{
    const struct og_trace_spot *p = spot_of(s, i);
    if (p->kept == SPILLED)
        og__spilled_prefetch(&s->spilled, p, s->ids_on_disk);
    if (p->kept == ELSEWHERE)
        og__samples_prefetch(s->samples, (uint32_t)p->at);
}

static void take_ids(const struct og_superbatch *s, uint64_t first, struct og_batch *out)
{
    const char *from = s->ids.base + first * 4;
    memcpy(out->ids, from, (size_t)out->n_ids * 4);
    if (s->opt.plans_units && out->n_units > 0)
        memcpy(out->units, from + (size_t)out->n_ids * 4, (size_t)out->n_units * 4);
}

int og__superbatch_replay(struct og_superbatch *s, uint32_t i, uint32_t next,
                          struct og_batch_memory *out, struct og_io_counts *read,
                          struct og_err *err)
{
    assert(s->sealed && i < s->n);
    *read = (struct og_io_counts){0};
    const struct og_trace_spot *p = spot_of(s, i);
    const uint64_t *ptr = (const void *)s->ptr.base;
    OG_DO(refuse_failed(s, err));
    if (p->kept == ELSEWHERE)
        OG_DO(og__samples_read(s->samples, (uint32_t)p->at, true, out, read, err));
    else
        OG_DO(og__trace_files_shape(&s->spilled.files, p, out, err));
    if (p->kept != ELSEWHERE && !s->ids_on_disk)
        take_ids(s, ptr[i], &out->batch);
    if (p->kept == SPILLED)
        OG_DO(read_back(s, p, out, read, err));
    if (p->kept == IN_MEMORY)
        each_part(s, &out->batch, take_part, &(const char *){s->blocks.base + p->at});
    og__name_places(&out->batch);
    if (next < s->n)
        prefetch(s, next);
    return 0;
}

/* ---- dropping ---- */

/* Removes the first bytes and moves the rest to the front. */
static void take_away(struct grown *a, size_t bytes)
{
    a->used -= bytes;
    memmove(a->base, a->base + bytes, a->used);
}

/* Reads released ids of batch i, and appends them. */
static int fetch_ids(struct og_superbatch *s, uint32_t i, struct og_batch_memory *scratch,
                     struct og_io_counts *read, struct og_err *err)
{
    const struct og_trace_spot *p = spot_of(s, i);
    const uint64_t units = s->opt.plans_units ? p->n_units : 0;
    const size_t bytes = (p->n_ids + units) * sizeof(uint32_t);
    int rc = fit(&s->ids, bytes, s->budget, err);
    if (rc < 0)
        return rc;
    if (p->kept == ELSEWHERE) {
        OG_TRY(og__samples_read(s->samples, (uint32_t)p->at, false, scratch, read, err));
        memcpy(s->ids.base + s->ids.used, scratch->batch.ids, p->n_ids * sizeof(uint32_t));
        if (units > 0)
            memcpy(s->ids.base + s->ids.used + p->n_ids * sizeof(uint32_t), scratch->batch.units,
                   units * sizeof(uint32_t));
    } else {
        struct og_batch into = {.n_ids = (uint32_t)p->n_ids,
                                .ids = (void *)(s->ids.base + s->ids.used)};
        OG_TRY(og__spilled_ids(&s->spilled, p, &into, read, err));
        if (s->opt.plans_units)
            OG_TRY(og__spilled_units(&s->spilled, p, into.ids + into.n_ids, read, err));
    }
    s->ids.used += bytes;
out:
    return rc;
}

/* Reads the released ids of all remaining batches. */
static int fetch_all_ids(struct og_superbatch *s, struct og_batch_memory *scratch,
                         struct og_io_counts *read, struct og_err *err)
{
    int rc = 0;
    s->ids.used = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        struct og_io_counts one = {0};
        OG_TRY(fetch_ids(s, i, scratch, &one, err));
        read->reads += one.reads;
        read->bytes += one.bytes;
    }
out:
    s->ids_on_disk = rc < 0;
    return rc;
}

/* Blocks in memory are in order, regardless of batches elsewhere in between. */
static void drop_blocks(struct og_superbatch *s, uint32_t n)
{
    size_t gone = s->blocks.used;
    for (uint32_t i = s->n; i-- > n;)
        if (spot_of(s, i)->kept == IN_MEMORY)
            gone = spot_of(s, i)->at;
    for (uint32_t i = 0; i < n; i++)
        s->in_memory -= spot_of(s, i)->kept == IN_MEMORY;
    for (uint32_t i = n; i < s->n; i++)
        if (spot_of(s, i)->kept == IN_MEMORY)
            spot_of(s, i)->at -= gone;
    take_away(&s->blocks, gone);
}

int og__superbatch_drop(struct og_superbatch *s, uint32_t n, struct og_batch_memory *scratch,
                        struct og_io_counts *read, struct og_err *err)
{
    uint64_t *ptr = (void *)s->ptr.base;
    int rc = refuse_failed(s, err);
    *read = (struct og_io_counts){0};
    if (rc < 0)
        return rc;
    if (n >= s->n) {
        og__superbatch_clear(s);
        return 0;
    }
    const uint64_t gone = ptr[n];
    for (uint32_t i = 0; i < n; i++)
        if (spot_of(s, i)->kept == SPILLED)
            og__spilled_drop(&s->spilled, spot_of(s, i));
    drop_blocks(s, n);
    take_away(&s->sizes, n * sizes_bytes(s));
    take_away(&s->ptr, n * sizeof(*ptr));
    s->n -= n;
    s->sealed = false;
    for (uint32_t i = 0; i <= s->n; i++)
        ptr[i] -= gone;
    if (s->ids_on_disk)
        return fetch_all_ids(s, scratch, read, err);
    take_away(&s->ids, gone * sizeof(uint32_t));
    return 0;
}
