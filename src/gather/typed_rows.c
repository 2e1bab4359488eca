#include "gather/typed_rows.h"

#include "dataset/features.h"
#include "dataset/writer.h"
#include "sample/trace.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20, MOST_ROWS = 16384 }; /* bytes read at a time; rows */

static const char part[] = "samples";
static const char cache_part[] = "feature cache";

struct typed_file {
    const struct og_group *type;
    struct og_reader *reader;
    struct og_npy_writer *rows, *ptr;
    size_t row_bytes;
    const char *kept; /* the first of its kept rows, */
    uint32_t slot;    /* and the number of that among all */
    struct og_typed_rows_told told;
};

struct og_typed_rows {
    struct og_budget *budget;
    uint32_t n;                      /* types with features */
    struct typed_file *file;         /* [n] */
    const struct og_placement *kept; /* NULL: none */
    struct og_budget *cache_budget;
    size_t cache_bytes;
    char *cache;
    /* a piece */
    size_t bytes; /* of data */
    char *data;
    uint32_t n_misses;
    uint64_t order[MOST_ROWS];   /* of those that are read: node << 32 | place in the piece */
    uint32_t node[MOST_ROWS];    /* ascending */
    const char *from[MOST_ROWS]; /* where the row of each place is */
};

/* ---- open and close ---- */

static bool has_features(const struct og_group *t)
{
    return t->dim > 0;
}

static uint32_t piece_rows(size_t row_bytes)
{
    return (uint32_t)OG_MIN(OG_MAX(PIECE / row_bytes, (size_t)1), (size_t)MOST_ROWS);
}

/* Of the widest rows. */
static size_t piece_bytes(const struct og_graph *g)
{
    size_t bytes = 0;
    for (uint32_t t = 0; t < g->n_groups; t++) {
        const size_t row = og__file_row_bytes(&g->group[t]);
        if (row > 0)
            bytes = OG_MAX(bytes, piece_rows(row) * row);
    }
    return bytes;
}

static struct og_reader_options reader_of(const struct og_group *t, int io)
{
    struct og_reader_options opt = {.io = io};
    og__features_profile(t, &opt.profile);
    return opt;
}

size_t og__typed_rows_bytes(const struct og_graph *g, int io)
{
    size_t bytes = sizeof(struct og_typed_rows) + piece_bytes(g);
    for (uint32_t t = 0; t < g->n_groups; t++) {
        if (!has_features(&g->group[t]))
            continue;
        const struct og_reader_options opt = reader_of(&g->group[t], io);
        bytes += og__reader_bytes(&opt) + 2 * OG__NPY_BUFFER;
    }
    return bytes;
}

static int create(struct og_npy_writer **w, const char *dir, uint32_t t, const char *suffix,
                  enum og__npy_type type, int ndim, int row, struct og_err *err)
{
    char name[40];
    snprintf(name, sizeof(name), "features_%u%s.npy", t, suffix);
    char *path = og__path_join(dir, name);
    int rc = path ? og__npy_create(w, path, type, ndim, row, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", dir);
    free(path);
    return rc;
}

static int open_file(struct og_typed_rows *r, const struct og_group *type, uint32_t number,
                     const char *dir, int io, struct og_err *err)
{
    const struct og_group *ds = type;
    const struct og_reader_options opt = reader_of(type, io);
    const int64_t none = 0;
    struct typed_file *f = &r->file[r->n++];
    int rc;
    *f = (struct typed_file){
        .type = type, .row_bytes = og__file_row_bytes(ds), .told = {.type = type->name}};
    OG_TRY(og__features_open_stored(&f->reader, ds, &opt, r->budget, err));
    OG_TRY(create(&f->rows, dir, number, "", og__dtype_stored(ds->stored), 2, ds->dim, err));
    OG_TRY(create(&f->ptr, dir, number, "_ptr", OG__NPY_I64, 1, 1, err));
    OG_TRY(og__npy_append(f->ptr, &none, 1, err));
out:
    return rc;
}

int og__typed_rows_open(struct og_typed_rows **out, const struct og_graph *g, const char *dir,
                        int io, struct og_budget *b, struct og_err *err)
{
    struct og_typed_rows *r = og__alloc(b, sizeof(*r), part, err);
    int rc = 0;
    *out = NULL;
    if (!r)
        return -ENOMEM;
    *r = (struct og_typed_rows){.budget = b, .bytes = piece_bytes(g)};
    r->file = calloc(g->n_groups, sizeof(*r->file));
    r->data = r->bytes > 0 ? og__alloc(b, r->bytes, part, err) : NULL;
    if (!r->file)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", dir));
    if (r->bytes > 0 && !r->data)
        OG_TRY(-ENOMEM);
    for (uint32_t t = 0; t < g->n_groups; t++)
        if (has_features(&g->group[t]))
            OG_TRY(open_file(r, &g->group[t], t, dir, io, err));
    *out = r;
    return 0;
out:
    og__typed_rows_close(r);
    return rc;
}

void og__typed_rows_close(struct og_typed_rows *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->n; i++) {
        og__npy_discard(r->file[i].rows);
        og__npy_discard(r->file[i].ptr);
        og__reader_close(r->file[i].reader);
    }
    og__release(r->budget, r->data, r->bytes, part);
    og__release(r->cache_budget, r->cache, r->cache_bytes, cache_part);
    free(r->file);
    og__release(r->budget, r, sizeof(*r), part);
}

/* ---- kept rows ---- */

static bool is_kept(const struct og_typed_rows *r, const struct typed_file *f, uint32_t number)
{
    return r->kept && og__placement_has(r->kept, (uint32_t)f->type->first + number);
}

static uint32_t count_kept(const struct og_typed_rows *r, const struct typed_file *f)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < f->type->n_nodes; v++)
        n += is_kept(r, f, v);
    return n;
}

/* Numbers of its next kept nodes from *v on into r->node, as many as a piece has. */
static uint32_t next_kept(struct og_typed_rows *r, const struct typed_file *f, uint32_t *v)
{
    uint32_t n = 0;
    for (; n < MOST_ROWS && *v < f->type->n_nodes; ++*v)
        if (is_kept(r, f, *v))
            r->node[n++] = *v;
    return n;
}

/* In the order of nodes, which is that of the file and of the slots. */
static int fill(struct og_typed_rows *r, const struct typed_file *f, char *to,
                struct og_io_counts *read, struct og_err *err)
{
    uint32_t v = 0;
    int rc = 0;
    for (uint32_t n; (n = next_kept(r, f, &v)) > 0; to += n * f->row_bytes) {
        struct og_read_job job = {.rows = r->node, .n = n, .out = to};
        OG_TRY(og__reader_submit(f->reader, &job, err));
        OG_TRY(og__reader_wait(f->reader, &job, err));
        read->reads += job.counts.reads;
        read->bytes += job.counts.bytes;
    }
out:
    return rc;
}

int og__typed_rows_keep(struct og_typed_rows *r, const struct og_placement *kept,
                        struct og_budget *b, struct og_io_counts *read, struct og_err *err)
{
    int rc = 0;
    uint32_t slot = 0;
    if (kept->n_slots == 0)
        return 0;
    r->kept = kept;
    for (uint32_t i = 0; i < r->n; i++) {
        struct typed_file *f = &r->file[i];
        f->slot = slot;
        f->told.kept = count_kept(r, f);
        slot += (uint32_t)f->told.kept;
        r->cache_bytes += f->told.kept * f->row_bytes;
    }
    r->cache_budget = b;
    r->cache = og__alloc(b, r->cache_bytes, cache_part, err);
    OG_TRY(r->cache ? 0 : -ENOMEM);
    char *to = r->cache;
    for (uint32_t i = 0; i < r->n; i++) {
        r->file[i].kept = to;
        OG_TRY(fill(r, &r->file[i], to, read, err));
        to += r->file[i].told.kept * r->file[i].row_bytes;
    }
out:
    return rc;
}

static const char *kept_row(const struct og_typed_rows *r, const struct typed_file *f,
                            uint32_t number)
{
    const uint32_t slot = og__placement_slot(r->kept, (uint32_t)f->type->first + number);
    return f->kept + (size_t)(slot - f->slot) * f->row_bytes;
}

/* ---- rows of a batch ---- */

static int compare_order(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Those that are read, in the order of the file. */
static int read_misses(struct og_typed_rows *r, struct typed_file *f, struct og_err *err)
{
    struct og_read_job job = {.rows = r->node, .n = r->n_misses, .out = r->data};
    int rc;
    qsort(r->order, r->n_misses, sizeof(*r->order), compare_order);
    for (uint32_t i = 0; i < r->n_misses; i++) {
        r->node[i] = (uint32_t)(r->order[i] >> 32);
        r->from[(uint32_t)r->order[i]] = r->data + i * f->row_bytes;
    }
    OG_TRY(og__reader_submit(f->reader, &job, err));
    OG_TRY(og__reader_wait(f->reader, &job, err));
    f->told.read.reads += job.counts.reads;
    f->told.read.bytes += job.counts.bytes;
    f->told.misses += r->n_misses;
    r->n_misses = 0;
out:
    return rc;
}

/* The n rows of the piece, in the order of the batch. */
static int append_piece(struct og_typed_rows *r, struct typed_file *f, uint32_t n,
                        struct og_err *err)
{
    int rc = r->n_misses > 0 ? read_misses(r, f, err) : 0;
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = og__npy_append(f->rows, r->from[i], 1, err);
    f->told.rows += n;
    return rc;
}

static void add_row(struct og_typed_rows *r, const struct typed_file *f, uint32_t number,
                    uint32_t place)
{
    if (is_kept(r, f, number))
        r->from[place] = kept_row(r, f, number);
    else
        r->order[r->n_misses++] = (uint64_t)number << 32 | place;
}

static int append_type(struct og_typed_rows *r, struct typed_file *f, const struct og_batch *batch,
                       struct og_err *err)
{
    const uint32_t first = (uint32_t)f->type->first;
    const uint32_t count = (uint32_t)f->type->n_nodes;
    const uint32_t most = piece_rows(f->row_bytes);
    uint32_t n = 0;
    int rc = 0;
    for (uint32_t i = 0; i < batch->n_ids; i++) {
        const uint32_t node = batch->ids[i] - first; /* of other types: count or more */
        if (node >= count)
            continue;
        add_row(r, f, node, n);
        if (++n < most)
            continue;
        OG_TRY(append_piece(r, f, n, err));
        n = 0;
    }
    if (n > 0)
        OG_TRY(append_piece(r, f, n, err));
    const int64_t end = og__npy_rows(f->rows);
    OG_TRY(og__npy_append(f->ptr, &end, 1, err));
out:
    return rc;
}

int og__typed_rows_append(struct og_typed_rows *r, const struct og_batch *batch, struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < r->n; i++)
        OG_TRY(append_type(r, &r->file[i], batch, err));
out:
    return rc;
}

bool og__typed_rows_tell(const struct og_typed_rows *r, uint32_t i, struct og_typed_rows_told *out)
{
    if (i < r->n)
        *out = r->file[i].told;
    return i < r->n;
}

/* ---- the end ---- */

static int finish(struct og_npy_writer **w, json_t *checksums, uint64_t *written,
                  struct og_err *err)
{
    char name[40];
    uint64_t checksum;
    snprintf(name, sizeof(name), "%s", strrchr(og__npy_path(*w), '/') + 1);
    *written += og__npy_bytes(*w);
    int rc = og__npy_finish(*w, &checksum, err);
    *w = NULL;
    return rc < 0 ? rc : og__trace_note(checksums, name, checksum, err);
}

int og__typed_rows_finish(struct og_typed_rows *r, json_t *checksums, uint64_t *written,
                          struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        OG_TRY(finish(&r->file[i].rows, checksums, written, err));
        OG_TRY(finish(&r->file[i].ptr, checksums, written, err));
    }
out:
    return rc;
}
