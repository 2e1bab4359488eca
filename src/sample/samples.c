#include "sample/samples.h"

#include "sample/trace_files.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static const char part[] = "trace";
static const char hint[] = "make it again with `outgrow sample`";

struct og_samples {
    struct og_trace_files files;
    struct og_budget *budget;
    uint64_t end_of_units;
    const struct og_edge_unit *units; /* of each relation, or NULL */
    uint32_t n;
    char *spots; /* [n] of struct og_trace_spot */
    size_t spots_bytes, seen_bytes;
    uint64_t *checks; /* [n][OG__CHECKS]; NULL where the trace has none */
    pthread_mutex_t lock;
    /* guarded by lock */
    uint64_t *seen; /* bit a node, 0 between batches */
    uint32_t *chunk;
};

static struct og_trace_spot *spot_of(const struct og_samples *s, uint32_t i)
{
    return (void *)(s->spots + i * og__trace_spot_bytes(s->files.n_hops));
}

/* ---- opening: sizes from the offsets, checked against each other and the files ---- */

static int wrong(const char *path, const char *why, struct og_err *err)
{
    return og__fail(err, -EINVAL, hint, "%s: %s", path, why);
}

/* The member of a spot that an array of offsets or counts fills. */
typedef void note_fn(struct og_trace_spot *p, int hop, uint64_t first, uint64_t n);

static void note_ids(struct og_trace_spot *p, int hop, uint64_t first, uint64_t n)
{
    (void)hop;
    p->first_id = first;
    p->n_ids = n;
}

static void note_seeds(struct og_trace_spot *p, int hop, uint64_t first, uint64_t n)
{
    (void)hop;
    (void)first;
    p->n_seeds = n;
}

static void note_edges(struct og_trace_spot *p, int hop, uint64_t first, uint64_t n)
{
    p->hop[hop - 1].first_edge = first;
    p->hop[hop - 1].n_edges = n;
}

static void note_nodes(struct og_trace_spot *p, int hop, uint64_t first, uint64_t n)
{
    (void)first;
    p->hop[hop - 1].n_src = n;
}

static void note_units(struct og_trace_spot *p, int hop, uint64_t first, uint64_t n)
{
    (void)hop;
    p->first_unit = first;
    p->n_units = n;
}

/* Numbers of an array, some at a time. */
struct numbers {
    struct og_npy file;
    int64_t next, at, filled;
    int64_t chunk[1024];
};

static int next_number(struct numbers *k, int64_t *out, struct og_err *err)
{
    if (k->at == k->filled) {
        k->at = 0;
        k->filled = OG_MIN(k->file.shape[0] - k->next, (int64_t)OG_COUNT(k->chunk));
        OG_DO(og__npy_read_int64(&k->file, k->next, k->filled, k->chunk, err));
        k->next += k->filled;
    }
    *out = k->chunk[k->at++];
    return 0;
}

static int open_numbers(struct numbers *k, const char *dir, int hop, const char *name, int64_t n,
                        struct og_err *err)
{
    k->next = k->at = k->filled = 0;
    OG_DO(og__trace_array_open(&k->file, dir, hop, name, err));
    bool whole = k->file.ndim == 1 && og__npy_is_integer(k->file.type) && k->file.shape[0] == n;
    return whole ? 0 : wrong(k->file.path, "not a number for each batch", err);
}

/* Offsets `name` into an array of `size` elements; no batch has more than `most` of them. */
static int read_offsets(struct og_samples *s, const char *dir, int hop, const char *name,
                        int64_t size, uint64_t most, note_fn *note, struct og_err *err)
{
    struct numbers k;
    int64_t before = 0;
    int rc;
    OG_TRY(open_numbers(&k, dir, hop, name, (int64_t)s->n + 1, err));
    OG_TRY(next_number(&k, &before, err));
    if (before != 0)
        OG_TRY(wrong(k.file.path, "does not begin with 0", err));
    for (uint32_t i = 0; i < s->n; i++) {
        int64_t end = 0;
        OG_TRY(next_number(&k, &end, err));
        if (end < before || end > size || (uint64_t)(end - before) > most)
            OG_TRY(wrong(k.file.path, "its offsets are invalid", err));
        note(spot_of(s, i), hop, (uint64_t)before, (uint64_t)(end - before));
        before = end;
    }
    if (before != size)
        OG_TRY(wrong(k.file.path, "its offsets do not end with its array", err));
out:
    og__npy_close(&k.file);
    return rc;
}

static bool has_trees(const struct og_samples *s)
{
    return s->files.extras & OG__WITH_TREES;
}

/* Nodes of the blocks: ids, or places, of which an id has one or more. */
static uint64_t most_places(const struct og_samples *s, const struct og_trace_spot *p)
{
    return has_trees(s) ? UINT32_MAX - 1 : p->n_ids;
}

static bool is_whole(const struct og_samples *s, const struct og_trace_spot *p, uint64_t n)
{
    return has_trees(s) ? n >= p->n_ids : n == p->n_ids;
}

static int read_counts(struct og_samples *s, const char *dir, int hop, struct og_err *err)
{
    struct numbers k;
    int rc;
    OG_TRY(open_numbers(&k, dir, hop, "nodes", s->n, err));
    for (uint32_t i = 0; i < s->n; i++) {
        const struct og_trace_spot *p = spot_of(s, i);
        bool last = hop == s->files.n_hops;
        int64_t n = 0;
        OG_TRY(next_number(&k, &n, err));
        if (n < (int64_t)og__trace_spot_dst(p, hop - 1) || n > (int64_t)most_places(s, p) ||
            (last && !is_whole(s, p, (uint64_t)n)))
            OG_TRY(wrong(k.file.path, "its counts are not those of the ids", err));
        note_nodes(spot_of(s, i), hop, 0, (uint64_t)n);
    }
out:
    og__npy_close(&k.file);
    return rc;
}

/* The arrays of a hop belong together. */
static int check_hop(const struct og_samples *s, int hop, struct og_err *err)
{
    const struct og_hop_files *k = &s->files.hop[hop - 1];
    if (k->dst.shape[0] != k->src.shape[0])
        return wrong(k->dst.path, "not as long as the array of sources", err);
    if (k->weight.fd >= 0 && k->weight.shape[0] != k->src.shape[0])
        return wrong(k->weight.path, "not one for each edge", err);
    if (k->edge.fd >= 0 && k->edge.shape[0] != k->src.shape[0])
        return wrong(k->edge.path, "not one for each edge", err);
    if (k->rel.fd >= 0 && k->rel.shape[0] != k->src.shape[0])
        return wrong(k->rel.path, "not one for each edge", err);
    return 0;
}

/* The start of each batch's degrees, from the numbers of nodes that earlier batches found. */
static int place_degrees(struct og_samples *s, int hop, struct og_err *err)
{
    const struct og_npy *file = &s->files.hop[hop - 1].degree;
    uint64_t first = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        struct og_trace_spot *p = spot_of(s, i);
        p->hop[hop - 1].first_degree = first;
        first += p->hop[hop - 1].n_src - og__trace_spot_dst(p, hop - 1);
    }
    return file->fd >= 0 && (uint64_t)file->shape[0] != first
               ? wrong(file->path, "not one for each node that was found", err)
               : 0;
}

static int read_hop(struct og_samples *s, const char *dir, int hop, struct og_err *err)
{
    const struct og_npy *src = &s->files.hop[hop - 1].src;
    OG_DO(check_hop(s, hop, err));
    OG_DO(read_offsets(s, dir, hop, "ptr", src->shape[0], UINT32_MAX - 1, note_edges, err));
    OG_DO(read_counts(s, dir, hop, err));
    return place_degrees(s, hop, err);
}

static int count_batches(struct og_samples *s, const char *dir, struct og_err *err)
{
    struct og_npy a;
    int rc = og__trace_array_open(&a, dir, 0, "ids_ptr", err);
    if (rc < 0)
        return rc;
    if (a.shape[0] < 2 || a.shape[0] > UINT32_MAX)
        rc = wrong(a.path, "no batches", err);
    s->n = (uint32_t)(a.shape[0] - 1);
    og__npy_close(&a);
    return rc;
}

static int check_seeds(const struct og_samples *s, const char *dir, struct og_err *err)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (spot_of(s, i)->n_seeds > most_places(s, spot_of(s, i)))
            return wrong(dir, "a batch has more seeds than nodes", err);
    return 0;
}

/* The start of each batch's rows of places. */
static int place_rows(struct og_samples *s, struct og_err *err)
{
    uint64_t first = 0;
    for (uint32_t i = 0; has_trees(s) && i < s->n; i++) {
        spot_of(s, i)->first_place = first;
        first += og__trace_spot_places(spot_of(s, i), s->files.n_hops);
    }
    return has_trees(s) && (uint64_t)s->files.rows.shape[0] != first
               ? wrong(s->files.rows.path, "not one for each place", err)
               : 0;
}

static int read_sizes(struct og_samples *s, const char *dir, struct og_err *err)
{
    struct og_npy seeds;
    int64_t n = s->files.ids.shape[0];
    int rc;
    OG_TRY(og__trace_array_open(&seeds, dir, 0, "seeds", err));
    OG_TRY(read_offsets(s, dir, 0, "ids_ptr", n, s->files.n_nodes, note_ids, err));
    n = seeds.shape[0];
    const uint64_t most = has_trees(s) ? UINT32_MAX - 1 : s->files.n_nodes;
    OG_TRY(read_offsets(s, dir, 0, "seeds_ptr", n, most, note_seeds, err));
    OG_TRY(check_seeds(s, dir, err));
    n = s->files.units.shape[0];
    if (s->files.extras & OG__WITH_EDGES)
        OG_TRY(read_offsets(s, dir, 0, "units_ptr", n, UINT32_MAX - 1, note_units, err));
    for (int h = 1; h <= s->files.n_hops; h++)
        OG_TRY(read_hop(s, dir, h, err));
    OG_TRY(place_rows(s, err));
out:
    og__npy_close(&seeds);
    return rc;
}

static int take_memory(struct og_samples *s, struct og_err *err)
{
    s->spots_bytes = s->n * og__trace_spot_bytes(s->files.n_hops);
    s->seen_bytes = (size_t)(OG_MAX(s->files.n_nodes, s->end_of_units) / 64 + 1) * 8;
    s->spots = og__alloc(s->budget, s->spots_bytes, part, err);
    s->seen = og__alloc(s->budget, s->seen_bytes, part, err);
    s->chunk = og__alloc(s->budget, OG__TRACE_CHUNK * sizeof(*s->chunk), part, err);
    return s->spots && s->seen && s->chunk ? 0 : -ENOMEM;
}

int og__samples_open(struct og_samples **out, const struct og_samples_options *opt,
                     struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    struct og_samples *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", opt->dir);
    pthread_mutex_init(&s->lock, NULL);
    s->budget = b;
    s->files = (struct og_trace_files){.n_hops = opt->n_hops,
                                       .extras = opt->extras,
                                       .n_nodes = opt->n_nodes,
                                       .n_relations = opt->n_relations,
                                       .hint = hint};
    s->end_of_units = opt->end_of_units;
    s->units = opt->units;
    int rc;
    OG_TRY(og__trace_files_open(&s->files, OG__ONE_PLACE(opt->dir), err));
    OG_TRY(count_batches(s, opt->dir, err));
    OG_TRY(take_memory(s, err));
    OG_TRY(read_sizes(s, opt->dir, err));
    OG_TRY(og__trace_checks_load(opt->dir, s->n, b, hint, &s->checks, err));
    *out = s;
    return 0;
out:
    og__samples_close(s);
    return rc;
}

void og__samples_close(struct og_samples *s)
{
    if (!s)
        return;
    og__trace_files_close(&s->files);
    og__release(s->budget, s->spots, s->spots_bytes, part);
    og__release(s->budget, s->seen, s->seen_bytes, part);
    og__release(s->budget, s->checks, og__trace_checks_bytes(s->n), part);
    og__release(s->budget, s->chunk, OG__TRACE_CHUNK * sizeof(*s->chunk), part);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

uint32_t og__samples_batches(const struct og_samples *s)
{
    return s->n;
}

size_t og__samples_memory(const struct og_samples *s)
{
    return s->spots_bytes + s->seen_bytes + OG__TRACE_CHUNK * sizeof(*s->chunk) +
           (s->checks ? og__trace_checks_bytes(s->n) : 0);
}

/* Sizes alone. */
static struct og_batch sizes_of(const struct og_samples *s, uint32_t i)
{
    const struct og_trace_spot *p = spot_of(s, i);
    struct og_batch b = {.n_hops = (uint32_t)s->files.n_hops,
                         .n_ids = (uint32_t)p->n_ids,
                         .n_units = (uint32_t)p->n_units};
    for (int h = 0; h < s->files.n_hops; h++)
        b.hop[h] = (struct og_block){.n_dst = (uint32_t)og__trace_spot_dst(p, h),
                                     .n_src = (uint32_t)p->hop[h].n_src,
                                     .n_edges = p->hop[h].n_edges};
    return b;
}

struct og_io_counts og__samples_asks(const struct og_samples *s)
{
    const bool wide = s->files.ids.type == OG__NPY_I64; /* the file's type */
    const struct og_trace_options form = {.n_hops = s->files.n_hops,
                                          .n_nodes = wide ? UINT64_MAX : s->files.n_nodes,
                                          .n_relations = s->files.n_relations,
                                          .extras = s->files.extras};
    struct og_io_counts sum = {0};
    for (uint32_t i = 0; i < s->n; i++) {
        const struct og_batch sizes = sizes_of(s, i);
        const struct og_io_counts one = og__trace_files_asks(&form, &sizes, true);
        sum.reads += one.reads;
        sum.bytes += one.bytes;
    }
    return sum;
}

/* ---- reading ---- */

/* Policies and caches rely on it that no node is in a batch twice. */
static bool all_distinct(uint64_t *seen, const uint32_t *ids, uint32_t n)
{
    bool distinct = true;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bit = (uint64_t)1 << (ids[i] & 63);
        distinct &= !(seen[ids[i] >> 6] & bit);
        seen[ids[i] >> 6] |= bit;
    }
    for (uint32_t i = 0; i < n; i++)
        seen[ids[i] >> 6] = 0;
    return distinct;
}

static bool all_sane(const float *weight, uint64_t n)
{
    bool sane = true;
    for (uint64_t e = 0; e < n; e++)
        sane &= weight[e] >= 0 && isfinite(weight[e]);
    return sane;
}

static int check_weights(const struct og_samples *s, const struct og_batch *batch,
                         struct og_err *err)
{
    for (uint32_t h = 0; h < batch->n_hops; h++)
        if (batch->hop[h].weight && !all_sane(batch->hop[h].weight, batch->hop[h].n_edges))
            return og__fail(err, -EIO, hint, "%s: not what was written there",
                            s->files.hop[h].weight.path);
    return 0;
}

static int foreign(const struct og_npy *a, struct og_err *err)
{
    return og__fail(err, -EIO, hint, "%s: not what was written there", a->path);
}

/* Rows are looked up by units, and by places among them. */
static int check_units(const struct og_samples *s, const struct og_batch *batch, struct og_err *err)
{
    for (uint32_t i = 0; i < batch->n_units; i++)
        if (batch->units[i] < s->files.n_nodes || batch->units[i] >= s->end_of_units)
            return foreign(&s->files.units, err);
    return all_distinct(s->seen, batch->units, batch->n_units) ? 0 : foreign(&s->files.units, err);
}

static uint32_t relations_of(const struct og_samples *s)
{
    return OG_MAX(s->files.n_relations, 1u);
}

/* Rows of the units of relation r that the batch has. */
static uint64_t rows_of(const struct og_samples *s, const struct og_batch *batch, uint32_t r)
{
    const uint64_t end = r + 1 < relations_of(s) ? s->units[r + 1].first : s->end_of_units;
    uint64_t n = 0;
    for (uint32_t i = 0; i < batch->n_units; i++)
        n += batch->units[i] >= s->units[r].first && batch->units[i] < end;
    return n * s->units[r].rows;
}

static int check_places(const struct og_samples *s, const struct og_batch *batch,
                        struct og_err *err)
{
    for (uint32_t r = 0; r < relations_of(s); r++) {
        const uint64_t rows = rows_of(s, batch, r);
        for (uint32_t h = 0; s->units[r].rows > 0 && h < batch->n_hops; h++) {
            const struct og_block *k = &batch->hop[h];
            const uint32_t *edge = k->edge;
            for (uint32_t e = k->indptr[og__first_list(k, r)];
                 e < k->indptr[og__end_of_lists(k, r)]; e++)
                if (edge[e] >= rows)
                    return foreign(&s->files.hop[s->files.n_hops - 1].edge, err);
        }
    }
    return 0;
}

static int read_units(struct og_samples *s, const struct og_trace_spot *p, bool blocks,
                      struct og_batch_memory *out, struct og_io_counts *read, struct og_err *err)
{
    if (!(s->files.extras & OG__WITH_EDGES))
        return 0;
    if (!blocks)
        OG_DO(og__trace_files_units(&s->files, p, out->batch.units, read, err));
    if (!s->units)
        return 0;
    OG_DO(check_units(s, &out->batch, err));
    return blocks ? check_places(s, &out->batch, err) : 0;
}

static int read_arrays(struct og_samples *s, const struct og_trace_spot *p, bool blocks,
                       struct og_batch_memory *out, struct og_io_counts *read, struct og_err *err)
{
    int rc;
    pthread_mutex_lock(&s->lock); /* guards `seen` and `chunk` */
    OG_TRY(og__trace_files_ids(&s->files, p, s->chunk, &out->batch, read, err));
    if (!all_distinct(s->seen, out->batch.ids, out->batch.n_ids))
        OG_TRY(og__fail(err, -EIO, hint, "%s: a node twice in a batch", s->files.ids.path));
    if (blocks)
        OG_TRY(og__trace_files_blocks(&s->files, p, s->chunk, out, read, err));
    OG_TRY(read_units(s, p, blocks, out, read, err));
out:
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* Compares what was read of the batch with its checksums; parts that were not read are not
 * checked. */
static int compare_checks(const struct og_samples *s, uint32_t i, bool blocks,
                          const struct og_batch *batch, struct og_err *err)
{
    uint64_t found[OG__CHECKS];
    if (!s->checks)
        return 0;
    const uint64_t *said = s->checks + (size_t)i * OG__CHECKS;
    const bool read[OG__CHECKS] = {true, blocks, blocks && (s->files.extras & OG__WITH_DEGREES),
                                   blocks && (s->files.extras & OG__WITH_WEIGHTS),
                                   blocks && (s->files.extras & OG__WITH_EDGES)};
    og__trace_batch_check(batch, blocks, found);
    for (int c = 0; c < OG__CHECKS; c++)
        if (read[c] && found[c] != said[c])
            return og__fail(err, -EIO, hint,
                            "%s: batch %u is not what was written: its checksum is"
                            " another",
                            s->files.ids.path, i);
    return 0;
}

static void drop_arrays(struct og_batch *batch)
{
    batch->row = batch->node = NULL;
    for (uint32_t h = 0; h < batch->n_hops; h++) {
        struct og_block *k = &batch->hop[h];
        k->indptr = k->src = k->degree = k->edge = k->relation = k->dst = NULL;
        k->weight = NULL;
    }
}

int og__samples_read(struct og_samples *s, uint32_t i, bool blocks, struct og_batch_memory *out,
                     struct og_io_counts *read, struct og_err *err)
{
    const struct og_trace_spot *p = spot_of(s, i);
    *read = (struct og_io_counts){0};
    int rc = og__trace_files_shape(&s->files, p, out, err);
    if (rc < 0)
        return rc;
    OG_TRY(read_arrays(s, p, blocks, out, read, err));
    if (blocks)
        OG_TRY(check_weights(s, &out->batch, err));
    OG_TRY(compare_checks(s, i, blocks, &out->batch, err));
    if (blocks)
        og__name_places(&out->batch);
out:
    if (!blocks)
        drop_arrays(&out->batch);
    return rc;
}

void og__samples_prefetch(const struct og_samples *s, uint32_t i)
{
    og__trace_files_prefetch(&s->files, spot_of(s, i), true);
}
