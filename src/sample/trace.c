#include "sample/trace.h"

#include "dataset/writer.h"
#include "sample/trace_files.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4096 }; /* elements converted at a time */

/* An array and the offsets of its batches. */
struct column {
    struct og_npy_writer *data, *ptr;
};

struct og_trace_writer {
    struct column seeds, ids, units; /* units: NULL unless stored */
    struct hop_columns {
        struct og_npy_writer *src, *dst, *ptr, *nodes;
        struct og_npy_writer *degree, *weight, *edge, *rel; /* NULL unless stored */
    } hop[OG_MAX_HOPS];
    struct og_npy_writer *rows;           /* of places */
    struct og_npy_writer *labels, *check; /* NULL unless stored */
    struct og_trace_options opt;
    uint32_t n_dirs;
};

/* Ids as in a dataset's indices. */
static enum og__npy_type id_type(uint64_t n_nodes)
{
    return n_nodes <= INT32_MAX ? OG__NPY_I32 : OG__NPY_I64;
}

static enum og__npy_type relation_type(const struct og_trace_options *opt)
{
    return opt->n_relations <= 256 ? OG__NPY_U8 : OG__NPY_U16;
}

static int create(struct og_npy_writer **out, struct og_places dirs, const char *name, int hop,
                  const char *suffix, enum og__npy_type type, int ndim, int row, struct og_err *err)
{
    char file[64];
    const char *dir = dirs.path[og__trace_home(dirs.n, hop, suffix)];
    if (hop)
        snprintf(file, sizeof(file), "hop%d%s.npy", hop, suffix);
    else
        snprintf(file, sizeof(file), "%s%s.npy", name, suffix);
    return og__array_create(out, dir, file, type, ndim, row, err);
}

static int append_int64(struct og_npy_writer *w, int64_t value, struct og_err *err)
{
    return og__npy_append(w, &value, 1, err);
}

static int create_column(struct column *c, struct og_places dir, const char *name,
                         enum og__npy_type type, struct og_err *err)
{
    int rc;
    OG_TRY(create(&c->data, dir, name, 0, "", type, 1, 1, err));
    OG_TRY(create(&c->ptr, dir, name, 0, "_ptr", OG__NPY_I64, 1, 1, err));
out:
    return rc < 0 ? rc : append_int64(c->ptr, 0, err);
}

static int create_hop(struct hop_columns *c, struct og_places dir, int hop,
                      const struct og_trace_options *opt, struct og_err *err)
{
    const unsigned extras = opt->extras;
    int rc;
    OG_TRY(create(&c->src, dir, NULL, hop, "_src", OG__NPY_I32, 1, 1, err));
    OG_TRY(create(&c->dst, dir, NULL, hop, "_dst", OG__NPY_I32, 1, 1, err));
    OG_TRY(create(&c->ptr, dir, NULL, hop, "_ptr", OG__NPY_I64, 1, 1, err));
    OG_TRY(create(&c->nodes, dir, NULL, hop, "_nodes", OG__NPY_I64, 1, 1, err));
    if ((extras & OG__WITH_DEGREES))
        OG_TRY(create(&c->degree, dir, NULL, hop, "_degree", OG__NPY_I32, 1, 1, err));
    if ((extras & OG__WITH_WEIGHTS))
        OG_TRY(create(&c->weight, dir, NULL, hop, "_weight", OG__NPY_F32, 1, 1, err));
    if ((extras & OG__WITH_EDGES))
        OG_TRY(create(&c->edge, dir, NULL, hop, "_edge", OG__NPY_I32, 1, 1, err));
    if ((extras & OG__WITH_RELATIONS))
        OG_TRY(create(&c->rel, dir, NULL, hop, "_rel", relation_type(opt), 1, 1, err));
out:
    return rc < 0 ? rc : append_int64(c->ptr, 0, err);
}

static int n_checks(const struct og_trace_options *opt)
{
    return opt->extras & OG__WITH_EDGES ? OG__CHECKS : OG__CHECK_UNITS;
}

int og__trace_create(struct og_trace_writer **out, struct og_places dir,
                     const struct og_trace_options *opt, struct og_err *err)
{
    *out = NULL;
    struct og_trace_writer *w = calloc(1, sizeof(*w));
    if (!w)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", dir.path[0]);
    w->opt = *opt;
    w->n_dirs = dir.n;
    enum og__npy_type type = id_type(opt->n_nodes);
    bool multi = opt->multi_label;
    int rc;
    OG_TRY(create_column(&w->seeds, dir, "seeds", type, err));
    OG_TRY(create_column(&w->ids, dir, "ids", type, err));
    for (int h = 0; h < opt->n_hops; h++)
        OG_TRY(create_hop(&w->hop[h], dir, h + 1, opt, err));
    if (opt->extras & OG__WITH_EDGES)
        OG_TRY(create_column(&w->units, dir, "units", OG__NPY_I32, err));
    if (opt->extras & OG__WITH_TREES)
        OG_TRY(create(&w->rows, dir, "rows", 0, "", OG__NPY_I32, 1, 1, err));
    if (opt->label_width)
        OG_TRY(create(&w->labels, dir, "labels", 0, "", multi ? OG__NPY_F32 : OG__NPY_I64,
                      multi ? 2 : 1, opt->label_width, err));
    if (opt->checks)
        OG_TRY(create(&w->check, dir, "check", 0, "", OG__NPY_U64, 2, n_checks(opt), err));
    *out = w;
    return 0;
out:
    og__trace_discard(w);
    return rc;
}

static int append_wide(struct og_npy_writer *w, const uint32_t *ids, uint32_t n, struct og_err *err)
{
    int64_t wide[CHUNK];
    for (uint32_t i = 0; i < n;) {
        uint32_t k = OG_MIN(n - i, (uint32_t)CHUNK);
        for (uint32_t j = 0; j < k; j++)
            wide[j] = ids[i + j];
        OG_DO(og__npy_append(w, wide, k, err));
        i += k;
    }
    return 0;
}

static int append_ids(struct og_trace_writer *w, struct column *c, const uint32_t *ids, uint32_t n,
                      struct og_err *err)
{
    bool compact = id_type(w->opt.n_nodes) == OG__NPY_I32; /* then all are what they are as u32 */
    int rc = compact ? og__npy_append(c->data, ids, n, err) : append_wide(c->data, ids, n, err);
    return rc < 0 ? rc : append_int64(c->ptr, og__npy_rows(c->data), err);
}

static int append_dst(struct hop_columns *c, const struct og_block *block, struct og_err *err)
{
    int32_t dst[CHUNK];
    uint32_t filled = 0;
    for (uint32_t i = 0; i < og__lists_of(block); i++) {
        for (uint32_t e = block->indptr[i]; e < block->indptr[i + 1]; e++) {
            dst[filled++] = (int32_t)og__list_dst(block, i);
            if (filled == CHUNK) {
                OG_DO(og__npy_append(c->dst, dst, CHUNK, err));
                filled = 0;
            }
        }
    }
    return og__npy_append(c->dst, dst, filled, err);
}

static int append_relations(struct og_npy_writer *rel, const struct og_block *k, struct og_err *err)
{
    for (uint32_t r = 0; r < k->n_relations; r++)
        OG_DO(og__npy_repeat(rel, (uint16_t)r,
                             k->indptr[k->relation[r + 1]] - k->indptr[k->relation[r]], err));
    return 0;
}

static int append_edges(struct hop_columns *c, const struct og_block *block, struct og_err *err)
{
    OG_DO(og__npy_append(c->src, block->src, (int64_t)block->n_edges, err));
    OG_DO(append_dst(c, block, err));
    if (c->weight)
        OG_DO(og__npy_append(c->weight, block->weight, (int64_t)block->n_edges, err));
    if (c->edge)
        OG_DO(og__npy_append(c->edge, block->edge, (int64_t)block->n_edges, err));
    if (c->rel)
        OG_DO(append_relations(c->rel, block, err));
    return 0;
}

static int append_block(struct og_trace_writer *w, uint32_t hop, const struct og_block *block,
                        struct og_err *err)
{
    struct hop_columns *c = &w->hop[hop];
    if (!og__is_part(w->opt.extras, hop, (uint32_t)w->opt.n_hops))
        OG_DO(append_edges(c, block, err));
    if (c->degree)
        OG_DO(og__npy_append(c->degree, block->degree, block->n_src - block->n_dst, err));
    OG_DO(append_int64(c->nodes, block->n_src, err));
    return append_int64(c->ptr, og__npy_rows(c->src), err);
}

static int append_labels(struct og_trace_writer *w, const void *labels, uint32_t n,
                         struct og_err *err)
{
    if (w->opt.multi_label)
        return og__npy_append(w->labels, labels, n, err);
    const int32_t *classes = labels;
    for (uint32_t i = 0; i < n; i++)
        OG_DO(append_int64(w->labels, classes[i], err));
    return 0;
}

int og__trace_append(struct og_trace_writer *w, const struct og_batch *batch, const void *labels,
                     struct og_err *err)
{
    int rc;
    OG_TRY(append_ids(w, &w->seeds, og__place_nodes(batch), batch->n_seeds, err));
    OG_TRY(append_ids(w, &w->ids, batch->ids, batch->n_ids, err));
    if (w->units.data) {
        OG_TRY(og__npy_append(w->units.data, batch->units, batch->n_units, err));
        OG_TRY(append_int64(w->units.ptr, og__npy_rows(w->units.data), err));
    }
    if (w->rows)
        OG_TRY(og__npy_append(w->rows, batch->row, batch->n_places, err));
    for (uint32_t h = 0; h < batch->n_hops; h++)
        OG_TRY(append_block(w, h, &batch->hop[h], err));
    if (w->check) {
        uint64_t check[OG__CHECKS];
        og__trace_batch_check(batch, true, check);
        OG_TRY(og__npy_append(w->check, check, 1, err));
    }
out:
    return rc < 0 || !w->labels ? rc : append_labels(w, labels, batch->n_seeds, err);
}

static size_t all_writers(const struct og_trace_writer *w, struct og_npy_writer **list)
{
    size_t n = 0;
    list[n++] = w->seeds.data;
    list[n++] = w->seeds.ptr;
    list[n++] = w->ids.data;
    list[n++] = w->ids.ptr;
    if (w->units.data)
        list[n++] = w->units.data;
    if (w->units.ptr)
        list[n++] = w->units.ptr;
    if (w->rows)
        list[n++] = w->rows;
    if (w->labels)
        list[n++] = w->labels;
    if (w->check)
        list[n++] = w->check;
    for (int h = 0; h < w->opt.n_hops; h++) {
        list[n++] = w->hop[h].src;
        list[n++] = w->hop[h].dst;
        list[n++] = w->hop[h].ptr;
        list[n++] = w->hop[h].nodes;
        if (w->hop[h].degree)
            list[n++] = w->hop[h].degree;
        if (w->hop[h].weight)
            list[n++] = w->hop[h].weight;
        if (w->hop[h].edge)
            list[n++] = w->hop[h].edge;
        if (w->hop[h].rel)
            list[n++] = w->hop[h].rel;
    }
    return n;
}

enum { MAX_WRITERS = 9 + 8 * OG_MAX_HOPS };

static int columns_of_a_hop(const struct og_trace_options *opt)
{
    return 4 + !!(opt->extras & OG__WITH_DEGREES) + !!(opt->extras & OG__WITH_WEIGHTS) +
           !!(opt->extras & OG__WITH_EDGES) + !!(opt->extras & OG__WITH_RELATIONS);
}

size_t og__trace_writer_bytes(const struct og_trace_options *opt)
{
    const int a_hop = columns_of_a_hop(opt);
    const int more =
        (opt->extras & OG__WITH_EDGES ? 2 : 0) + (opt->extras & OG__WITH_TREES ? 1 : 0);
    const int columns = 4 + more + (opt->label_width > 0) + opt->checks + opt->n_hops * a_hop;
    return (size_t)columns * OG__NPY_BUFFER;
}

uint64_t og__trace_written(const struct og_trace_writer *w)
{
    struct og_npy_writer *list[MAX_WRITERS];
    size_t n = all_writers(w, list);
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += og__npy_bytes(list[i]);
    return bytes;
}

/* ---- over several folders ---- */

/* Bytes by folder, and of how many folders. */
struct dealt {
    uint32_t n;
    uint64_t bytes[OG_MOST_PLACES];
};

static void deal(struct dealt *d, int hop, const char *array, uint64_t bytes)
{
    d->bytes[og__trace_home(d->n, hop, array)] += bytes;
}

/* Equal shares that would hold the fullest folder. */
static uint64_t room_of(const struct dealt *d)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < d->n; i++)
        most = OG_MAX(most, d->bytes[i]);
    return most * d->n;
}

uint64_t og__trace_room(const struct og_trace_writer *w)
{
    struct dealt d = {.n = w->n_dirs};
    uint64_t rest = og__trace_written(w);
    for (int h = 0; h < w->opt.n_hops; h++) {
        const struct hop_columns *c = &w->hop[h];
        const struct {
            const char *name;
            const struct og_npy_writer *data;
        } arrays[] = {{"src", c->src},       {"dst", c->dst},   {"degree", c->degree},
                      {"weight", c->weight}, {"edge", c->edge}, {"rel", c->rel}};
        for (size_t i = 0; i < OG_COUNT(arrays); i++) {
            const uint64_t bytes = arrays[i].data ? og__npy_bytes(arrays[i].data) : 0;
            deal(&d, h + 1, arrays[i].name, bytes);
            rest -= bytes;
        }
    }
    deal(&d, 0, "", rest);
    return room_of(&d);
}

uint64_t og__trace_empty_bytes(const struct og_trace_options *opt)
{
    const uint64_t hops = (uint64_t)opt->n_hops;
    const uint64_t units = opt->extras & OG__WITH_EDGES ? 1 : 0;
    const uint64_t more = 2 * units + (opt->extras & OG__WITH_TREES ? 1u : 0u);
    return (4 + more + hops * (uint64_t)columns_of_a_hop(opt)) * OG__NPY_HEADER +
           (2 + units + hops) * sizeof(int64_t);
}

uint64_t og__trace_relation_bytes(const struct og_trace_options *opt)
{
    return opt->extras & OG__WITH_RELATIONS ? og__npy_size(relation_type(opt)) : 0;
}

uint64_t og__trace_batch_room(const struct og_trace_options *opt, const struct og_batch *batch,
                              uint32_t n)
{
    const uint64_t rel = og__trace_relation_bytes(opt);
    const uint64_t weight = opt->extras & OG__WITH_WEIGHTS ? sizeof(float) : 0;
    const uint64_t edge = opt->extras & OG__WITH_EDGES ? sizeof(uint32_t) : 0;
    const uint64_t ids = (uint64_t)batch->n_seeds + batch->n_ids;
    struct dealt d = {.n = n};
    deal(&d, 0, "", batch->n_units * edge + (edge > 0 ? sizeof(int64_t) : 0));
    if (opt->extras & OG__WITH_TREES)
        deal(&d, 0, "", batch->hop[batch->n_hops - 1].n_src * sizeof(uint32_t));
    deal(&d, 0, "", ids * og__npy_size(id_type(opt->n_nodes)) + 2 * sizeof(int64_t));
    for (uint32_t h = 0; h < batch->n_hops; h++) {
        const struct og_block *k = &batch->hop[h];
        const uint64_t found = opt->extras & OG__WITH_DEGREES ? k->n_src - k->n_dst : 0;
        const uint64_t edges = og__is_part(opt->extras, h, batch->n_hops) ? 0 : k->n_edges;
        const int hop = (int)h + 1;
        deal(&d, hop, "src", edges * sizeof(uint32_t));
        deal(&d, hop, "dst", edges * sizeof(uint32_t));
        deal(&d, hop, "weight", edges * weight);
        deal(&d, hop, "edge", edges * edge);
        deal(&d, hop, "rel", edges * rel);
        deal(&d, hop, "degree", found * sizeof(uint32_t));
        deal(&d, 0, "", 2 * sizeof(int64_t));
    }
    return room_of(&d);
}

/* Is what is in it part of the batches' checks? */
static bool is_checked(const struct og_trace_writer *w, const struct og_npy_writer *one)
{
    bool checked = one == w->ids.data || one == w->units.data || one == w->rows;
    for (int h = 0; h < w->opt.n_hops; h++) {
        const struct hop_columns *c = &w->hop[h];
        checked |= one == c->src || one == c->dst || one == c->degree || one == c->weight ||
                   one == c->edge || one == c->rel;
    }
    return w->check && checked;
}

static int finish_one(struct og_npy_writer *one, json_t *checksums, struct og_err *err)
{
    char name[64];
    snprintf(name, sizeof(name), "%s", strrchr(og__npy_path(one), '/') + 1);
    return og__array_finish(&one, name, checksums, err);
}

int og__trace_finish(struct og_trace_writer *w, json_t *checksums, struct og_err *err)
{
    struct og_npy_writer *list[MAX_WRITERS];
    size_t n = all_writers(w, list);
    size_t finished = 0;
    int rc = 0;
    while (finished < n) {
        struct og_npy_writer *one = list[finished++];
        OG_TRY(finish_one(one, is_checked(w, one) ? NULL : checksums, err));
    }
out:
    while (finished < n)
        og__npy_discard(list[finished++]);
    free(w);
    return rc;
}

void og__trace_discard(struct og_trace_writer *w)
{
    if (!w)
        return;
    struct og_npy_writer *list[MAX_WRITERS];
    size_t n = all_writers(w, list);
    for (size_t i = 0; i < n; i++)
        og__npy_discard(list[i]);
    free(w);
}
