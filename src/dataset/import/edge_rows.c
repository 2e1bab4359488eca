/* Sorts the rows of a table as the edges of a relation, in bounded memory.
 *
 *   edge_ids    | number of the first edge | of the second | ...        in the source
 *
 *   source      | band 0   | band 1   | ...            rows of a band fit memory
 *                    │ distribute: one band after another
 *   scratch     | bands 0, 1, ... for our band 0 | for our band 1 | ...
 *                    │ read: one after another
 *   ours        | band 0   | band 1   | ...
 *
 * The source is read once, front to back, and each row is written to scratch and read once. A band
 * of ours takes rows of a band of the source in our order, so no row says whose it is. A source of
 * one band stays in memory, and there is no scratch. */
#include "base/allocs.h"
#include "base/temporary.h"
#include "dataset/import/import.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 8192 }; /* numbers of edges at a time */
static const char part[] = "import";
static const char scratch_name[] = "edge features being sorted";

struct edge_rows {
    struct og_table t;
    struct og_table *base;
    const struct og_importer *imp;
    struct og_npy ids;
    int64_t n;           /* rows of the source: edges of the relation there */
    int64_t width;       /* rows of a band */
    uint64_t bands, own; /* of the source, and of ours */
    char *rows;          /* [width + 1] of one band */
    size_t row;          /* bytes */
    int64_t *id;         /* [PIECE] numbers of edges id_first to id_first + n_ids */
    int64_t id_first, n_ids;
    /* of several bands */
    uint64_t
        *start; /* [own][bands] rows of scratch before those of a band for one of ours; the end */
    uint64_t *cursor; /* [bands] of what is in memory: the next row of each */
    uint32_t *within; /* [PIECE] places in a band */
    char *picked;     /* [n_picked] rows */
    uint64_t n_picked;
    struct og_allocs arrays;
    int scratch;
};

/* ---- numbers of edges ---- */

static int read_ids(struct edge_rows *s, int64_t first, struct og_err *err)
{
    s->id_first = first;
    s->n_ids = OG_MIN(s->t.rows - first, (int64_t)PIECE);
    int rc = og__npy_read_int64(&s->ids, first, s->n_ids, s->id, err);
    for (int64_t i = 0; rc == 0 && i < s->n_ids; i++)
        if (s->id[i] < 0 || s->id[i] >= s->n)
            rc = og__fail(err, -EIO, NULL, "%s: row %lld: %lld, of %lld edges", s->ids.path,
                          (long long)(first + i), (long long)s->id[i], (long long)s->n);
    return rc;
}

static int each_id(struct edge_rows *s, int (*fn)(struct edge_rows *s, struct og_err *err),
                   struct og_err *err)
{
    int rc = 0;
    for (int64_t at = 0; at < s->t.rows; at += PIECE) {
        OG_TRY(read_ids(s, at, err));
        OG_TRY(fn(s, err));
    }
out:
    return rc;
}

/* A cell has the rows of a band of the source for one of ours. */
static uint64_t cell_of(const struct edge_rows *s, int64_t i)
{
    const uint64_t own = (uint64_t)((s->id_first + i) / s->width);
    return own * s->bands + (uint64_t)(s->id[i] / s->width);
}

/* ---- distribute ---- */

static int count_cells(struct edge_rows *s, struct og_err *err)
{
    (void)err;
    for (int64_t i = 0; i < s->n_ids; i++)
        s->start[cell_of(s, i) + 1]++;
    return 0;
}

/* Writes the places of edges in their bands. They go band after band, in our order, through buffers
 * in `rows`. */
struct listing {
    uint64_t room;      /* places of a buffer */
    uint64_t *at, *end; /* [bands] places written, and in the buffer */
};

static uint32_t *buffer_of(const struct edge_rows *s, const struct listing *l, uint64_t band)
{
    return (uint32_t *)(void *)s->rows + band * l->room;
}

static int flush_band(struct edge_rows *s, struct listing *l, uint64_t band, struct og_err *err)
{
    const size_t bytes = l->end[band] * sizeof(uint32_t);
    const off_t at = (off_t)(l->at[band] * sizeof(uint32_t));
    l->at[band] += l->end[band];
    l->end[band] = 0;
    return og__write_all(s->scratch, buffer_of(s, l, band), bytes, at, scratch_name, err);
}

static int list_piece(struct edge_rows *s, struct listing *l, struct og_err *err)
{
    for (int64_t i = 0; i < s->n_ids; i++) {
        const uint64_t band = (uint64_t)(s->id[i] / s->width);
        if (l->end[band] == l->room)
            OG_DO(flush_band(s, l, band, err));
        buffer_of(s, l, band)[l->end[band]++] = (uint32_t)(s->id[i] % s->width);
    }
    return 0;
}

static int list_places(struct edge_rows *s, struct listing *l, struct og_err *err)
{
    uint64_t before = 0;
    for (uint64_t b = 0; b < s->bands; b++) {
        l->at[b] = before;
        for (uint64_t own = 0; own < s->own; own++)
            before += s->start[own * s->bands + b + 1] - s->start[own * s->bands + b];
    }
    for (int64_t at = 0; at < s->t.rows; at += PIECE) {
        OG_DO(read_ids(s, at, err));
        OG_DO(list_piece(s, l, err));
    }
    for (uint64_t b = 0; b < s->bands; b++)
        OG_DO(flush_band(s, l, b, err));
    return 0;
}

/* Rows of the band in memory, for one of ours. *listed moves past their places. */
static int copy_cell(struct edge_rows *s, uint64_t cell, uint64_t *listed, struct og_err *err)
{
    const off_t base = (off_t)((uint64_t)s->t.rows * sizeof(uint32_t)); /* rows follow the places */
    for (uint64_t at = s->start[cell], n; at < s->start[cell + 1]; at += n) {
        n = OG_MIN(s->start[cell + 1] - at, s->n_picked);
        OG_DO(og__read_all(s->scratch, s->within, n * sizeof(*s->within),
                           (off_t)(*listed * sizeof(*s->within)), scratch_name, err));
        *listed += n;
        for (uint64_t i = 0; i < n; i++)
            memcpy(s->picked + i * s->row, s->rows + s->within[i] * s->row, s->row);
        OG_DO(og__write_all(s->scratch, s->picked, n * s->row, base + (off_t)(at * s->row),
                            scratch_name, err));
    }
    return 0;
}

static int wrong_rows(const struct edge_rows *s, int64_t rows, const char *more, struct og_err *err)
{
    return og__fail(err, -EINVAL, "a row for every edge", "%s: %lld rows%s for %lld edges",
                    s->base->name, (long long)rows, more, (long long)s->n);
}

/* The next rows; after the last, that there are no more. Their number may be known at the end only.
 */
static int read_band(struct edge_rows *s, struct og_err *err)
{
    int64_t n = 0, more = 0;
    const int64_t rows = OG_MIN(s->width, s->n - s->base->next);
    OG_DO(og__table_read(s->base, s->rows, rows, &n, err));
    if (n < rows)
        OG_DO(wrong_rows(s, s->base->next, "", err));
    if (s->base->next == s->n)
        OG_DO(og__table_read(s->base, s->rows + (size_t)n * s->row, 1, &more, err));
    if (more > 0)
        OG_DO(wrong_rows(s, s->n, " and more", err));
    return 0;
}

static int copy_bands(struct edge_rows *s, struct og_err *err)
{
    uint64_t listed = 0;
    for (uint64_t b = 0; b < s->bands; b++) {
        OG_DO(read_band(s, err));
        for (uint64_t own = 0; own < s->own; own++)
            OG_DO(copy_cell(s, own * s->bands + b, &listed, err));
        OG_DO(og__writing_goes_on(s->imp->observer, "sorting", "bytes",
                                  s->base->next * (int64_t)s->row, s->n * (int64_t)s->row, err));
    }
    return 0;
}

/* Rows of scratch: those of all edges, after 4 bytes of each. */
static int check_room(const struct edge_rows *s, struct og_err *err)
{
    char need_text[32], free_text[32];
    const uint64_t need = (uint64_t)s->t.rows * (2 * s->row + sizeof(uint32_t));
    const uint64_t left = og__disk_free(s->imp->dir.temporary);
    if (left == 0 || need <= left)
        return 0;
    return og__fail(err, -ENOSPC, "free space there, give more --memory, or write to another disk",
                    "%s: sorting %s takes %s of disk, %s are free", s->imp->dir.path, s->t.name,
                    og__human_bytes(need_text, (double)need),
                    og__human_bytes(free_text, (double)left));
}

static int distribute(struct edge_rows *s, struct og_err *err)
{
    const size_t bytes = s->bands * sizeof(uint64_t);
    struct listing l = {.room = (uint64_t)s->width * s->row / sizeof(uint32_t) / s->bands};
    int rc;
    OG_TRY(check_room(s, err));
    s->scratch = og__unnamed_file(s->imp->dir.temporary, err);
    OG_TRY(OG_MIN(s->scratch, 0));
    if (l.room == 0)
        OG_TRY(og__fail(err, -ENOMEM, "give more --memory", "%s: rows of %zu bytes in %zu bytes",
                        s->t.name, s->row, (size_t)s->width * s->row));
    l.at = og__alloc(s->imp->budget, 2 * bytes, part, err);
    OG_TRY(l.at ? 0 : -ENOMEM);
    l.end = l.at + s->bands;
    memset(l.end, 0, bytes);
    OG_TRY(each_id(s, count_cells, err));
    for (uint64_t c = 0; c < s->own * s->bands; c++)
        s->start[c + 1] += s->start[c];
    OG_TRY(list_places(s, &l, err));
    OG_TRY(copy_bands(s, err));
out:
    og__release(s->imp->budget, l.at, 2 * bytes, part);
    return rc;
}

/* ---- ours ---- */

static int load_band(struct edge_rows *s, uint64_t own, struct og_err *err)
{
    const uint64_t *start = s->start + own * s->bands;
    const uint64_t at = (uint64_t)s->t.rows * sizeof(uint32_t) + start[0] * s->row;
    for (uint64_t b = 0; b < s->bands; b++)
        s->cursor[b] = start[b] - start[0];
    return og__read_all(s->scratch, s->rows, (start[s->bands] - start[0]) * s->row, (off_t)at,
                        scratch_name, err);
}

static int edge_rows_read(struct og_table *t, void *out, int64_t want, int64_t *got,
                          struct og_err *err)
{
    struct edge_rows *s = (struct edge_rows *)t;
    for (*got = 0; *got < want; (*got)++) {
        const int64_t at = t->next + *got;
        if (s->bands > 1 && at % s->width == 0)
            OG_DO(load_band(s, (uint64_t)(at / s->width), err));
        if (at < s->id_first || at >= s->id_first + s->n_ids)
            OG_DO(read_ids(s, at, err));
        const int64_t id = s->id[at - s->id_first];
        const uint64_t place = s->bands > 1 ? s->cursor[id / s->width]++ : (uint64_t)id;
        memcpy((char *)out + (size_t)*got * s->row, s->rows + place * s->row, s->row);
    }
    return 0;
}

static int edge_rows_rewind(struct og_table *t, struct og_err *err)
{
    (void)t;
    (void)err;
    return 0;
}

static void edge_rows_close(struct og_table *t)
{
    struct edge_rows *s = (struct edge_rows *)t;
    og__allocs_release(&s->arrays);
    if (s->scratch >= 0)
        close(s->scratch);
    og__npy_close(&s->ids);
    free(s);
}

/* Finds a row of ours in the source's table. */
static void source_row(const struct og_table *t, int64_t row, struct og_id_text *out)
{
    const struct edge_rows *s = (const struct edge_rows *)t;
    int64_t id = -1;
    if (og__npy_read_int64(&s->ids, row, 1, &id, NULL) == 0)
        snprintf(out->text, sizeof(out->text), "%lld", (long long)id);
}

static const struct og_table_ops edge_rows_ops = {edge_rows_read, edge_rows_rewind, edge_rows_close,
                                                  source_row};

/* ---- opening ---- */

static int open_ids(struct edge_rows *s, uint32_t relation, struct og_err *err)
{
    char file[40];
    snprintf(file, sizeof(file), "%s.npy",
             og__relation_array(&s->imp->graph, relation, OG__EDGE_IDS).text);
    char *path = og__import_target(s->imp, file);
    const int rc =
        path ? og__npy_open(&s->ids, path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", file);
    free(path);
    return rc;
}

/* Takes half of what is left: others need memory too. */
static int take_memory(struct edge_rows *s, struct og_err *err)
{
    struct og_budget *b = s->imp->budget;
    const int64_t room = (int64_t)(og__budget_left(b) / 2 / s->row);
    const int64_t width = OG_MAX(OG_MIN(OG_MIN(room, s->n), (int64_t)UINT32_MAX), (int64_t)1);
    s->arrays = og__allocs(b, part);
    s->rows = og__allocs_take(&s->arrays, ((size_t)width + 1) * s->row, err);
    s->width = width;
    s->bands = (uint64_t)((s->n + width - 1) / width);
    s->own = (uint64_t)((s->t.rows + width - 1) / width);
    s->id = og__allocs_take(&s->arrays, PIECE * sizeof(*s->id), err);
    if (s->bands == 1)
        return og__allocs_taken(&s->arrays);
    const size_t cells = s->own * s->bands + 1;
    s->start = og__allocs_take(&s->arrays, cells * sizeof(*s->start), err);
    s->cursor = og__allocs_take(&s->arrays, s->bands * sizeof(*s->cursor), err);
    s->within = og__allocs_take(&s->arrays, PIECE * sizeof(*s->within), err);
    s->n_picked = OG_MAX(OG_MIN((uint64_t)OG_MIB / s->row, (uint64_t)PIECE), (uint64_t)1);
    s->picked = og__allocs_take(&s->arrays, s->n_picked * s->row, err);
    if (og__allocs_taken(&s->arrays) < 0)
        return -ENOMEM;
    memset(s->start, 0, cells * sizeof(*s->start));
    return 0;
}

int og__edge_rows_of(struct og_table **out, const struct og_importer *imp, uint32_t relation,
                     struct og_table *base, struct og_err *err)
{
    int rc;
    *out = NULL;
    struct edge_rows *s = og__table_new(sizeof(*s), &edge_rows_ops, base->name, err);
    if (!s)
        return -ENOMEM;
    s->base = base;
    s->imp = imp;
    s->n = imp->n_added[relation % imp->n_relations];
    s->scratch = s->ids.fd = -1;
    s->row = og__table_row_bytes(base);
    s->t.type = base->type;
    s->t.ndim = base->ndim;
    s->t.columns = base->columns;
    s->t.text = base->text;
    s->t.moved = true;
    OG_TRY(open_ids(s, relation, err));
    s->t.rows = s->ids.shape[0];
    OG_TRY(og__table_rewind(base, err));
    OG_TRY(take_memory(s, err));
    OG_TRY(s->bands > 1 ? distribute(s, err) : read_band(s, err));
    *out = &s->t;
    return 0;
out:
    og__table_close(&s->t);
    return rc;
}
