#include "sample/spilled.h"

#include "base/temporary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char part[] = "trace";

struct og_spilled_piece {
    struct og_trace_files files; /* open once it is finished */
    struct og_places folders;
    uint64_t room;   /* that it takes (og__trace_room) */
    uint32_t n_left; /* batches */
    bool finished;
};

static size_t spot_bytes(const struct og_spilled *s)
{
    return og__trace_spot_bytes(s->form.n_hops);
}

int og__spilled_open(struct og_spilled *s, struct og_err *err)
{
    s->next = calloc(1, spot_bytes(s));
    return s->next ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", part);
}

size_t og__spilled_reader_bytes(void)
{
    return OG__TRACE_CHUNK * sizeof(uint32_t);
}

/* ---- pieces ---- */

static struct og_spilled_piece *last_piece(const struct og_spilled *s)
{
    return &s->piece[s->n_pieces - 1];
}

static struct og_spilled_piece *piece_of(const struct og_spilled *s, const struct og_trace_spot *p)
{
    return &s->piece[p->at - s->first_piece];
}

static int room_for_piece(struct og_spilled *s, struct og_err *err)
{
    if (s->n_pieces < s->capacity)
        return 0;
    const uint32_t capacity = OG_MAX(2 * s->capacity, 4u);
    void *more = realloc(s->piece, capacity * sizeof(*s->piece));
    if (!more)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    s->piece = more;
    s->capacity = capacity;
    return 0;
}

static int make_folders(struct og_spilled *s, struct og_places *folders, struct og_err *err)
{
    const char *turned[OG_MOST_PLACES];
    const uint64_t number = s->first_piece + s->n_pieces;
    char name[24];
    OG_DO(s->scratch ? 0 : og__scratch_open(&s->scratch, s->under, err));
    const struct og_places all = og__scratch_places(s->scratch);
    for (uint32_t i = 0; i < all.n; i++)
        turned[i] = all.path[(number + i) % all.n];
    snprintf(name, sizeof(name), "%" PRIu64, number);
    OG_DO(og__places_in(folders, (struct og_places){all.n, turned}, name, err));
    for (uint32_t i = 0; i < folders->n; i++)
        OG_DO(mkdir(folders->path[i], 0700) < 0
                  ? og__fail_errno(err, -errno, NULL, "%s", folders->path[i])
                  : 0);
    return 0;
}

static int begin_piece(struct og_spilled *s, struct og_err *err)
{
    struct og_spilled_piece piece = {.files = s->files};
    const size_t buffers = og__trace_writer_bytes(&s->form);
    int rc;
    OG_TRY(room_for_piece(s, err));
    OG_TRY(make_folders(s, &piece.folders, err));
    OG_TRY(og__budget_charge(s->budget, buffers, part, err));
out:
    if (rc < 0) {
        og__places_free(&piece.folders);
        return rc;
    }
    s->piece[s->n_pieces++] = piece;
    memset(s->next, 0, spot_bytes(s));
    rc = og__trace_create(&s->writer, piece.folders, &s->form, err);
    if (rc < 0)
        og__budget_uncharge(s->budget, buffers, part);
    return rc;
}

static void drop_writer(struct og_spilled *s)
{
    if (!s->writer)
        return;
    s->written += og__trace_written(s->writer);
    og__trace_discard(s->writer);
    s->writer = NULL;
    og__budget_uncharge(s->budget, og__trace_writer_bytes(&s->form), part);
}

static void remove_piece(struct og_spilled *s, struct og_spilled_piece *piece)
{
    if (piece->finished)
        og__trace_files_close(&piece->files);
    for (uint32_t i = 0; i < piece->folders.n; i++)
        og__remove_tree(piece->folders.path[i]);
    og__places_free(&piece->folders);
    s->room -= piece->room;
}

/* ---- writing ---- */

int og__spilled_append(struct og_spilled *s, const struct og_batch *batch, struct og_err *err)
{
    OG_DO(s->writer ? 0 : begin_piece(s, err));
    OG_DO(og__trace_append(s->writer, batch, NULL, err));
    last_piece(s)->n_left++;
    return 0;
}

void og__spilled_place(struct og_spilled *s, struct og_trace_spot *own)
{
    own->at = s->first_piece + s->n_pieces - 1;
    own->first_id = s->next->first_id;
    own->first_unit = s->next->first_unit;
    own->first_place = s->next->first_place;
    for (int h = 0; h < s->form.n_hops; h++) {
        own->hop[h].first_edge = s->next->hop[h].first_edge;
        own->hop[h].first_degree = s->next->hop[h].first_degree;
    }
    og__trace_spot_next(own, s->form.n_hops, s->next);
}

int og__spilled_finish(struct og_spilled *s, struct og_err *err)
{
    struct og_trace_writer *writer = s->writer;
    if (!writer)
        return 0;
    struct og_spilled_piece *piece = last_piece(s);
    s->writer = NULL;
    piece->room = og__trace_room(writer);
    s->written += og__trace_written(writer);
    s->room += piece->room;
    int rc = og__trace_finish(writer, NULL, err);
    og__budget_uncharge(s->budget, og__trace_writer_bytes(&s->form), part);
    if (rc < 0)
        return rc;
    if (!s->chunk)
        s->chunk = og__alloc(s->budget, og__spilled_reader_bytes(), part, err);
    if (!s->chunk)
        return -ENOMEM;
    piece->finished = true;
    return og__trace_files_open(&piece->files, piece->folders, err);
}

/* ---- reading ---- */

int og__spilled_ids(const struct og_spilled *s, const struct og_trace_spot *p, struct og_batch *out,
                    struct og_io_counts *read, struct og_err *err)
{
    return og__trace_files_ids(&piece_of(s, p)->files, p, s->chunk, out, read, err);
}

int og__spilled_units(const struct og_spilled *s, const struct og_trace_spot *p, uint32_t *units,
                      struct og_io_counts *read, struct og_err *err)
{
    return og__trace_files_units(&piece_of(s, p)->files, p, units, read, err);
}

int og__spilled_blocks(const struct og_spilled *s, const struct og_trace_spot *p,
                       struct og_batch_memory *out, struct og_io_counts *read, struct og_err *err)
{
    return og__trace_files_blocks(&piece_of(s, p)->files, p, s->chunk, out, read, err);
}

void og__spilled_prefetch(const struct og_spilled *s, const struct og_trace_spot *p, bool ids)
{
    og__trace_files_prefetch(&piece_of(s, p)->files, p, ids);
}

/* ---- removing ---- */

void og__spilled_drop(struct og_spilled *s, const struct og_trace_spot *p)
{
    piece_of(s, p)->n_left--;
    while (s->n_pieces > 0 && s->piece[0].n_left == 0) {
        remove_piece(s, &s->piece[0]);
        s->n_pieces--;
        s->first_piece++;
        memmove(s->piece, s->piece + 1, s->n_pieces * sizeof(*s->piece));
    }
}

void og__spilled_clear(struct og_spilled *s)
{
    drop_writer(s);
    for (uint32_t i = 0; i < s->n_pieces; i++)
        remove_piece(s, &s->piece[i]);
    s->first_piece += s->n_pieces;
    s->n_pieces = 0;
}

void og__spilled_lose(struct og_spilled *s)
{
    og__spilled_clear(s);
    og__scratch_close(s->scratch);
    s->scratch = NULL;
}

void og__spilled_close(struct og_spilled *s)
{
    og__spilled_lose(s);
    og__release(s->budget, s->chunk, og__spilled_reader_bytes(), part);
    free(s->piece);
    free(s->next);
}

/* ---- counting ---- */

uint64_t og__spilled_written(const struct og_spilled *s)
{
    return s->written + (s->writer ? og__trace_written(s->writer) : 0);
}

uint64_t og__spilled_room(const struct og_spilled *s)
{
    return s->room + (s->writer ? og__trace_room(s->writer) : 0);
}
