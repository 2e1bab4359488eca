#include "sample/trace_files.h"

#include "base/file.h"

#include <fcntl.h>
#include <string.h>
#include <xxhash.h>

enum { WORD = 4 /* bytes of a position, a degree, a weight */ };

void og__trace_spot_next(const struct og_trace_spot *p, int n_hops, struct og_trace_spot *next)
{
    next->first_id = p->first_id + p->n_ids;
    next->first_unit = p->first_unit + p->n_units;
    next->first_place = p->first_place + og__trace_spot_places(p, n_hops);
    for (int h = 0; h < n_hops; h++) {
        const struct og_trace_hop *k = &p->hop[h];
        next->hop[h].first_edge = k->first_edge + k->n_edges;
        next->hop[h].first_degree = k->first_degree + k->n_src - og__trace_spot_dst(p, h);
    }
}

/* ---- open, close ---- */

static struct og_npy closed(void)
{
    return (struct og_npy){.fd = -1};
}

int og__trace_array_open(struct og_npy *a, const char *dir, int hop, const char *name,
                         struct og_err *err)
{
    char path[4096];
    char prefix[16] = "";
    *a = closed();
    if (hop > 0)
        snprintf(prefix, sizeof(prefix), "hop%d_", hop);
    if ((size_t)snprintf(path, sizeof(path), "%s/%s%s.npy", dir, prefix, name) >= sizeof(path))
        return og__fail_errno(err, -ENAMETOOLONG, NULL, "%s", dir);
    return og__npy_open(a, path, err);
}

uint32_t og__trace_home(uint32_t n, int hop, const char *array)
{
    static const char *const dealt[] = {"src", "dst", "degree", "weight", "rel", "edge"};
    array += *array == '_';
    for (uint32_t i = 0; hop > 0 && i < OG_COUNT(dealt); i++)
        if (strcmp(array, dealt[i]) == 0)
            return (2 * (uint32_t)hop + i) % n;
    return 0;
}

static int open_words(const struct og_trace_files *f, struct og_npy *a, struct og_places dirs,
                      int hop, const char *name, struct og_err *err)
{
    const char *dir = dirs.path[og__trace_home(dirs.n, hop, name)];
    OG_DO(og__trace_array_open(a, dir, hop, name, err));
    bool weight = a == &f->hop[OG_MAX(hop, 1) - 1].weight;
    bool relation = a == &f->hop[OG_MAX(hop, 1) - 1].rel;
    bool wide = (hop == 0 && a->type == OG__NPY_I64) || /* ids of a large graph */
                (relation && a->type == OG__NPY_U16);
    enum og__npy_type type = weight ? OG__NPY_F32 : relation ? OG__NPY_U8 : OG__NPY_I32;
    posix_fadvise(a->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return (a->type == type || wide) && a->ndim == 1
               ? 0
               : og__fail(err, -EINVAL, f->hint, "%s: not one row of %s", a->path,
                          og__npy_name(type));
}

int og__trace_files_open(struct og_trace_files *f, struct og_places dirs, struct og_err *err)
{
    f->ids = f->units = f->rows = closed();
    for (int h = 0; h < f->n_hops; h++)
        f->hop[h] =
            (struct og_hop_files){closed(), closed(), closed(), closed(), closed(), closed()};
    OG_DO(open_words(f, &f->ids, dirs, 0, "ids", err));
    if ((f->extras & OG__WITH_EDGES))
        OG_DO(open_words(f, &f->units, dirs, 0, "units", err));
    if ((f->extras & OG__WITH_TREES))
        OG_DO(open_words(f, &f->rows, dirs, 0, "rows", err));
    for (int h = 0; h < f->n_hops; h++) {
        struct og_hop_files *k = &f->hop[h];
        OG_DO(open_words(f, &k->src, dirs, h + 1, "src", err));
        OG_DO(open_words(f, &k->dst, dirs, h + 1, "dst", err));
        if ((f->extras & OG__WITH_DEGREES))
            OG_DO(open_words(f, &k->degree, dirs, h + 1, "degree", err));
        if ((f->extras & OG__WITH_WEIGHTS))
            OG_DO(open_words(f, &k->weight, dirs, h + 1, "weight", err));
        if ((f->extras & OG__WITH_EDGES))
            OG_DO(open_words(f, &k->edge, dirs, h + 1, "edge", err));
        if ((f->extras & OG__WITH_RELATIONS))
            OG_DO(open_words(f, &k->rel, dirs, h + 1, "rel", err));
    }
    return 0;
}

void og__trace_files_close(struct og_trace_files *f)
{
    og__npy_close(&f->ids);
    og__npy_close(&f->units);
    og__npy_close(&f->rows);
    for (int h = 0; h < f->n_hops; h++) {
        og__npy_close(&f->hop[h].src);
        og__npy_close(&f->hop[h].dst);
        og__npy_close(&f->hop[h].degree);
        og__npy_close(&f->hop[h].weight);
        og__npy_close(&f->hop[h].edge);
        og__npy_close(&f->hop[h].rel);
    }
}

/* ---- read ---- */

static int wrong(const struct og_trace_files *f, const struct og_npy *a, struct og_err *err)
{
    return og__fail(err, -EIO, f->hint, "%s: not what was written there", a->path);
}

/* n elements from `first` on, as they are. */
static int read_words(const struct og_npy *a, uint64_t first, uint64_t n, void *out,
                      struct og_io_counts *read, struct og_err *err)
{
    if (n == 0)
        return 0;
    OG_DO(og__npy_read(a, (int64_t)first, (int64_t)n, out, err));
    posix_fadvise(a->fd, a->offset + (off_t)first * WORD, (off_t)n * WORD, POSIX_FADV_DONTNEED);
    read->reads++;
    read->bytes += n * WORD;
    return 0;
}

static bool all_below(const uint32_t *words, uint64_t n, uint64_t bound)
{
    uint32_t largest = 0;
    for (uint64_t i = 0; i < n; i++)
        largest = OG_MAX(largest, words[i]);
    return n == 0 || largest < bound;
}

/* Reads ids of 8 bytes; an invalid one becomes UINT32_MAX, which no node has. */
static int read_wide(const struct og_npy *a, uint64_t first, uint64_t n, int64_t *chunk,
                     uint32_t *out, struct og_io_counts *read, struct og_err *err)
{
    for (uint64_t done = 0, k; done < n; done += k) {
        k = OG_MIN(n - done, (uint64_t)OG__TRACE_CHUNK / 2);
        OG_DO(og__npy_read(a, (int64_t)(first + done), (int64_t)k, chunk, err));
        for (uint64_t i = 0; i < k; i++)
            out[done + i] = chunk[i] < 0 || chunk[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)chunk[i];
        read->reads++;
        read->bytes += k * sizeof(*chunk);
    }
    return 0;
}

int og__trace_files_ids(const struct og_trace_files *f, const struct og_trace_spot *p,
                        uint32_t *chunk, struct og_batch *out, struct og_io_counts *read,
                        struct og_err *err)
{
    bool wide = f->ids.type == OG__NPY_I64;
    OG_DO(wide ? read_wide(&f->ids, p->first_id, p->n_ids, (void *)chunk, out->ids, read, err)
               : read_words(&f->ids, p->first_id, p->n_ids, out->ids, read, err));
    return all_below(out->ids, out->n_ids, f->n_nodes) ? 0 : wrong(f, &f->ids, err);
}

int og__trace_files_units(const struct og_trace_files *f, const struct og_trace_spot *p,
                          uint32_t *units, struct og_io_counts *read, struct og_err *err)
{
    return read_words(&f->units, p->first_unit, p->n_units, units, read, err);
}

/* Row offsets from destinations, which ascend: row d ends before the first larger one. */
static int read_indptr(const struct og_trace_files *f, const struct og_npy *a, uint64_t first,
                       uint32_t *chunk, struct og_block *k, struct og_io_counts *read,
                       struct og_err *err)
{
    uint32_t d = 0;
    k->indptr[0] = 0;
    for (uint64_t e = 0; e < k->n_edges; e += OG__TRACE_CHUNK) {
        uint64_t n = OG_MIN(k->n_edges - e, (uint64_t)OG__TRACE_CHUNK);
        OG_DO(read_words(a, first + e, n, chunk, read, err));
        for (uint64_t i = 0; i < n; i++) {
            if (chunk[i] == d && d < k->n_dst)
                continue;
            if (chunk[i] < d || chunk[i] >= k->n_dst)
                return wrong(f, a, err);
            while (d < chunk[i])
                k->indptr[++d] = (uint32_t)(e + i);
        }
    }
    while (d < k->n_dst)
        k->indptr[++d] = (uint32_t)k->n_edges;
    return 0;
}

/* Relations of edges, some at a time. */
enum { RELATION_BYTES = 4096 };

struct relations {
    const struct og_trace_files *files;
    const struct og_npy *array;
    uint8_t bytes[RELATION_BYTES];
    uint64_t first, at, filled;
};

static int next_relation(struct relations *r, uint64_t n_left, uint32_t *out,
                         struct og_io_counts *read, struct og_err *err)
{
    const size_t size = og__npy_size(r->array->type);
    if (r->at == r->filled) {
        r->at = 0;
        r->filled = OG_MIN(n_left, sizeof(r->bytes) / size);
        OG_DO(og__npy_read(r->array, (int64_t)r->first, (int64_t)r->filled, r->bytes, err));
        r->first += r->filled;
        read->reads++;
        read->bytes += r->filled * size;
    }
    uint16_t wide;
    memcpy(&wide, r->bytes + r->at * 2, size == 2 ? 2 : 0);
    *out = size == 2 ? wide : r->bytes[r->at];
    r->at++;
    return 0;
}

/* Lists from relations and destinations, which ascend: one begins where either is another. */
static int add_edge(const struct og_trace_files *f, const struct og_hop_files *file,
                    struct og_block *k, uint64_t edge, uint32_t relation, uint32_t dst,
                    uint32_t *now, struct og_err *err)
{
    if (relation < *now || relation >= f->n_relations)
        return wrong(f, &file->rel, err);
    const bool begins = relation > *now || k->n_lists == k->relation[*now];
    const uint32_t last = begins ? 0 : k->dst[k->n_lists - 1];
    if (dst >= k->n_dst || (!begins && dst < last))
        return wrong(f, &file->dst, err);
    while (*now < relation)
        k->relation[++*now] = k->n_lists;
    if (begins || dst > last) {
        k->indptr[k->n_lists] = (uint32_t)edge;
        k->dst[k->n_lists++] = dst;
    }
    return 0;
}

static int read_lists(const struct og_trace_files *f, const struct og_hop_files *file,
                      uint64_t first, uint32_t *chunk, struct og_block *k,
                      struct og_io_counts *read, struct og_err *err)
{
    struct relations r = {.files = f, .array = &file->rel, .first = first};
    uint32_t now = 0;
    k->n_lists = 0;
    k->relation[0] = 0;
    for (uint64_t e = 0; e < k->n_edges; e += OG__TRACE_CHUNK) {
        const uint64_t n = OG_MIN(k->n_edges - e, (uint64_t)OG__TRACE_CHUNK);
        OG_DO(read_words(&file->dst, first + e, n, chunk, read, err));
        for (uint64_t i = 0; i < n; i++) {
            uint32_t relation = 0;
            OG_DO(next_relation(&r, k->n_edges - e - i, &relation, read, err));
            OG_DO(add_edge(f, file, k, e + i, relation, chunk[i], &now, err));
        }
    }
    while (now < k->n_relations)
        k->relation[++now] = k->n_lists;
    k->indptr[k->n_lists] = (uint32_t)k->n_edges;
    return 0;
}

static int read_src(const struct og_trace_files *f, const struct og_npy *a, uint64_t first,
                    struct og_block *k, struct og_io_counts *read, struct og_err *err)
{
    OG_DO(read_words(a, first, k->n_edges, k->src, read, err));
    return all_below(k->src, k->n_edges, k->n_src) ? 0 : wrong(f, a, err);
}

static int read_degrees(const struct og_trace_files *f, const struct og_npy *a, uint64_t first,
                        struct og_block *k, struct og_io_counts *read, struct og_err *err)
{
    uint64_t n = (uint64_t)k->n_src - k->n_dst;
    OG_DO(read_words(a, first, n, k->degree, read, err));
    return all_below(k->degree, n, INT32_MAX) ? 0 : wrong(f, a, err);
}

/* Data read for the last block is also part of the others. */
static int check_parts(const struct og_trace_files *f, const struct og_batch *b, struct og_err *err)
{
    for (uint32_t h = 0; og__is_part(f->extras, h, b->n_hops); h++) {
        const struct og_block *k = &b->hop[h];
        if (k->indptr[k->n_dst] != k->n_edges)
            return wrong(f, &f->hop[b->n_hops - 1].dst, err);
        if (!all_below(k->src, k->n_edges, k->n_src))
            return wrong(f, &f->hop[b->n_hops - 1].src, err);
    }
    return 0;
}

/* The rows of the places of trees. */
static int read_rows(const struct og_trace_files *f, const struct og_trace_spot *p,
                     struct og_batch *b, struct og_io_counts *read, struct og_err *err)
{
    OG_DO(read_words(&f->rows, p->first_place, b->n_places, b->row, read, err));
    return all_below(b->row, b->n_places, b->n_ids) ? 0 : wrong(f, &f->rows, err);
}

int og__trace_files_blocks(const struct og_trace_files *f, const struct og_trace_spot *p,
                           uint32_t chunk[OG__TRACE_CHUNK], struct og_batch_memory *out,
                           struct og_io_counts *read, struct og_err *err)
{
    if ((f->extras & OG__WITH_EDGES))
        OG_DO(og__trace_files_units(f, p, out->batch.units, read, err));
    if ((f->extras & OG__WITH_TREES))
        OG_DO(read_rows(f, p, &out->batch, read, err));
    for (int h = 0; h < f->n_hops; h++) {
        const struct og_hop_files *file = &f->hop[h];
        const struct og_trace_hop *from = &p->hop[h];
        struct og_block *k = &out->batch.hop[h];
        if ((f->extras & OG__WITH_DEGREES))
            OG_DO(read_degrees(f, &file->degree, from->first_degree, k, read, err));
        if (og__is_part(f->extras, (uint32_t)h, (uint32_t)f->n_hops))
            continue;
        OG_DO(f->extras & OG__WITH_RELATIONS
                  ? read_lists(f, file, from->first_edge, chunk, k, read, err)
                  : read_indptr(f, &file->dst, from->first_edge, chunk, k, read, err));
        OG_DO(read_src(f, &file->src, from->first_edge, k, read, err));
        if ((f->extras & OG__WITH_WEIGHTS))
            OG_DO(read_words(&file->weight, from->first_edge, k->n_edges, (float *)k->weight, read,
                             err));
        if ((f->extras & OG__WITH_EDGES))
            OG_DO(read_words(&file->edge, from->first_edge, k->n_edges, k->edge, read, err));
    }
    return check_parts(f, &out->batch, err);
}

/* ---- what that asks ---- */

/* Counts the reads of n elements, so many at once. */
static void ask(struct og_io_counts *sum, uint64_t n, size_t size, uint64_t at_once)
{
    sum->reads += (n + at_once - 1) / at_once;
    sum->bytes += n * size;
}

static void ask_whole(struct og_io_counts *sum, uint64_t n)
{
    ask(sum, n, WORD, OG_MAX(n, (uint64_t)1));
}

static void ask_edges(struct og_io_counts *sum, const struct og_trace_options *form, uint64_t n)
{
    const size_t relation = (size_t)og__trace_relation_bytes(form);
    ask(sum, n, WORD, OG__TRACE_CHUNK);
    ask_whole(sum, n);
    if (form->extras & OG__WITH_WEIGHTS)
        ask_whole(sum, n);
    if (form->extras & OG__WITH_EDGES)
        ask_whole(sum, n);
    if (relation)
        ask(sum, n, relation, RELATION_BYTES / relation);
}

struct og_io_counts og__trace_files_asks(const struct og_trace_options *form,
                                         const struct og_batch *sizes, bool ids)
{
    struct og_io_counts sum = {0};
    const bool wide = form->n_nodes > INT32_MAX;
    if (ids && wide)
        ask(&sum, sizes->n_ids, sizeof(int64_t), OG__TRACE_CHUNK / 2);
    else if (ids)
        ask_whole(&sum, sizes->n_ids);
    if (form->extras & OG__WITH_EDGES)
        ask_whole(&sum, sizes->n_units);
    if (form->extras & OG__WITH_TREES)
        ask_whole(&sum, sizes->hop[sizes->n_hops - 1].n_src);
    for (uint32_t h = 0; h < sizes->n_hops; h++) {
        const struct og_block *k = &sizes->hop[h];
        if (form->extras & OG__WITH_DEGREES)
            ask_whole(&sum, (uint64_t)k->n_src - k->n_dst);
        if (!og__is_part(form->extras, h, sizes->n_hops))
            ask_edges(&sum, form, k->n_edges);
    }
    return sum;
}

/* ---- is it still what it was? ---- */

void og__trace_batch_check(const struct og_batch *b, bool blocks, uint64_t out[OG__CHECKS])
{
    for (int i = 0; i < OG__CHECKS; i++)
        out[i] = 0;
    out[OG__CHECK_IDS] = XXH3_64bits(b->ids, b->n_ids * sizeof(*b->ids));
    for (uint32_t h = 0; blocks && h < b->n_hops; h++) {
        const struct og_block *k = &b->hop[h];
        const size_t rows = (size_t)og__lists_of(k) + 1;
        const size_t found = (size_t)k->n_src - k->n_dst;
        uint64_t *edges = &out[OG__CHECK_EDGES];
        *edges = XXH3_64bits_withSeed(k->indptr, rows * sizeof(*k->indptr), *edges);
        *edges = XXH3_64bits_withSeed(k->src, k->n_edges * sizeof(*k->src), *edges);
        if (k->relation) {
            const size_t ends = (size_t)k->n_relations + 1;
            *edges = XXH3_64bits_withSeed(k->relation, ends * sizeof(*k->relation), *edges);
            *edges = XXH3_64bits_withSeed(k->dst, k->n_lists * sizeof(*k->dst), *edges);
        }
        if (k->degree && found > 0)
            out[OG__CHECK_DEGREES] =
                XXH3_64bits_withSeed(k->degree, found * sizeof(*k->degree), out[OG__CHECK_DEGREES]);
        if (k->weight && k->n_edges > 0)
            out[OG__CHECK_WEIGHTS] = XXH3_64bits_withSeed(
                k->weight, k->n_edges * sizeof(*k->weight), out[OG__CHECK_WEIGHTS]);
        if (k->edge && k->n_edges > 0)
            out[OG__CHECK_UNITS] =
                XXH3_64bits_withSeed(k->edge, k->n_edges * sizeof(*k->edge), out[OG__CHECK_UNITS]);
    }
    if (blocks && b->row)
        out[OG__CHECK_EDGES] =
            XXH3_64bits_withSeed(b->row, b->n_places * sizeof(*b->row), out[OG__CHECK_EDGES]);
    if (blocks && b->n_units > 0)
        out[OG__CHECK_UNITS] =
            XXH3_64bits_withSeed(b->units, b->n_units * sizeof(*b->units), out[OG__CHECK_UNITS]);
}

static int read_checks(const struct og_npy *a, uint32_t n, struct og_budget *b, const char *hint,
                       uint64_t **out, struct og_err *err)
{
    const int64_t columns = a->shape[1];
    if (a->type != OG__NPY_U64 || a->ndim != 2 || a->shape[0] != n || columns < OG__CHECK_UNITS ||
        columns > OG__CHECKS)
        return og__fail(err, -EINVAL, hint, "%s: not %d checksums for each batch", a->path,
                        OG__CHECKS);
    if (!(*out = og__alloc(b, og__trace_checks_bytes(n), "trace", err)))
        return -ENOMEM;
    int rc = og__npy_read(a, 0, n, *out, err);
    if (rc < 0) {
        og__release(b, *out, og__trace_checks_bytes(n), "trace");
        *out = NULL;
    }
    for (uint32_t i = n; rc == 0 && columns < OG__CHECKS && i-- > 0;) {
        uint64_t *row = *out + (size_t)i * OG__CHECKS;
        memmove(row, *out + (size_t)i * OG__CHECK_UNITS, OG__CHECK_UNITS * sizeof(*row));
        row[OG__CHECK_UNITS] = 0;
    }
    return rc;
}

int og__trace_checks_load(const char *dir, uint32_t n, struct og_budget *b, const char *hint,
                          uint64_t **out, struct og_err *err)
{
    struct og_npy a;
    *out = NULL;
    int rc = og__exists(dir, "check.npy", err);
    if (rc <= 0)
        return rc;
    rc = og__trace_array_open(&a, dir, 0, "check", err);
    if (rc < 0)
        return rc;
    rc = read_checks(&a, n, b, hint, out, err);
    og__npy_close(&a);
    return rc;
}

static void will_need(const struct og_npy *a, uint64_t first, uint64_t n, size_t size)
{
    if (n > 0)
        posix_fadvise(a->fd, a->offset + (off_t)(first * size), (off_t)(n * size),
                      POSIX_FADV_WILLNEED);
}

void og__trace_files_prefetch(const struct og_trace_files *f, const struct og_trace_spot *p,
                              bool ids)
{
    if (ids)
        will_need(&f->ids, p->first_id, p->n_ids, og__npy_size(f->ids.type));
    if (f->extras & OG__WITH_EDGES)
        will_need(&f->units, p->first_unit, p->n_units, WORD);
    if (f->extras & OG__WITH_TREES)
        will_need(&f->rows, p->first_place, og__trace_spot_places(p, f->n_hops), WORD);
    for (int h = 0; h < f->n_hops; h++) {
        const struct og_hop_files *file = &f->hop[h];
        const struct og_trace_hop *k = &p->hop[h];
        if (f->extras & OG__WITH_DEGREES)
            will_need(&file->degree, k->first_degree, k->n_src - og__trace_spot_dst(p, h), WORD);
        if (og__is_part(f->extras, (uint32_t)h, (uint32_t)f->n_hops))
            continue;
        will_need(&file->src, k->first_edge, k->n_edges, WORD);
        will_need(&file->dst, k->first_edge, k->n_edges, WORD);
        if (f->extras & OG__WITH_WEIGHTS)
            will_need(&file->weight, k->first_edge, k->n_edges, WORD);
        if (f->extras & OG__WITH_EDGES)
            will_need(&file->edge, k->first_edge, k->n_edges, WORD);
        if (f->extras & OG__WITH_RELATIONS)
            will_need(&file->rel, k->first_edge, k->n_edges, og__npy_size(file->rel.type));
    }
}

/* ---- the shape of a batch ---- */

/* The number of lists is unknown until they are read. */
static uint32_t most_lists(const struct og_trace_files *f, const struct og_trace_spot *p, int h)
{
    return f->extras & OG__WITH_RELATIONS ? (uint32_t)p->hop[h].n_edges : 0;
}

int og__trace_files_shape(const struct og_trace_files *f, const struct og_trace_spot *p,
                          struct og_batch_memory *out, struct og_err *err)
{
    struct og_batch b = {.n_hops = (uint32_t)f->n_hops,
                         .n_ids = (uint32_t)p->n_ids,
                         .n_seeds = (uint32_t)p->n_seeds,
                         .n_units = (uint32_t)p->n_units};
    for (int h = 0; h < f->n_hops; h++)
        b.hop[h] = (struct og_block){.n_dst = (uint32_t)og__trace_spot_dst(p, h),
                                     .n_src = (uint32_t)p->hop[h].n_src,
                                     .n_lists = most_lists(f, p, h),
                                     .n_relations = f->n_relations,
                                     .n_edges = p->hop[h].n_edges};
    struct og_batch_caps caps = {0};
    og__caps_include(&caps, &b);
    out->batch = b;
    OG_DO(og__batch_reserve(out, &caps, f->extras, err));
    out->batch.ids = out->ids.data;
    out->batch.units = f->extras & OG__WITH_EDGES ? out->units.data : NULL;
    if (f->extras & OG__WITH_TREES) {
        out->batch.n_places = (uint32_t)og__trace_spot_places(p, f->n_hops);
        out->batch.row = out->row.data;
        out->batch.node = out->node.data;
    }
    for (int h = 0; h < f->n_hops; h++) {
        struct og_block *k = &out->batch.hop[h];
        const uint32_t at = og__arrays_at(f->extras, (uint32_t)h);
        k->indptr = out->indptr[at].data;
        k->src = out->src[at].data;
        k->degree = f->extras & OG__WITH_DEGREES ? out->degree[h].data : NULL;
        k->weight = f->extras & OG__WITH_WEIGHTS ? out->weight[at].data : NULL;
        k->edge = f->extras & OG__WITH_EDGES ? out->edge[at].data : NULL;
        k->relation = f->extras & OG__WITH_RELATIONS ? out->relation[h].data : NULL;
        k->dst = f->extras & OG__WITH_RELATIONS ? out->dst[h].data : NULL;
    }
    return 0;
}
