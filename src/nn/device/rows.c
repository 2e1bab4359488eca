/* Rows of features on a device (nn/ops.h): a stream of its own, on which each batch's rows are
 * collected into a room, what leaves slots goes, and what enters them comes, in this order.
 *
 *   bring    follow used[room] ── collect ... ── leave ... ── enter ... ── record came[room]
 *   work           record used[room] ┘                                        └─> follow came[room]
 *
 * Kernels read lists and rows of the host where they lie. Lists go by way of two pinned halves: one
 * is written while kernels read the other. */
#include "nn/device/backend.h"

#include <stdlib.h>
#include <string.h>

enum { HALF = 1 << 15 /* words of a half of the lists; of two lists each has half of that */ };
#define SLOTS "device cache"
#define ROOMS "batches"

struct room {
    char *rows;
    size_t bytes;
    struct og_event *came, *used;
};

struct og_rows_there {
    struct og_nn_backend *be;
    struct og_stream *stream;
    struct og_rows_setup setup;
    char *slots;
    uint32_t *lists; /* [2][HALF] pinned */
    struct og_event *read[2];
    int half;
    struct room room[OG__MOST_ROOMS];
};

/* ==== open and close ==== */

static size_t room_bytes(uint64_t rows, size_t row_bytes)
{
    return og__round_up((size_t)rows * row_bytes, 256);
}

static size_t slot_bytes(const struct og_rows_setup *setup)
{
    return (size_t)setup->n_slots * setup->row_bytes;
}

static size_t bytes(const struct og_rows_setup *setup)
{
    return slot_bytes(setup) +
           (size_t)setup->n_rooms * room_bytes(setup->room_rows, setup->row_bytes);
}

static size_t host_bytes(void)
{
    return 2 * HALF * sizeof(uint32_t);
}

/* One that holds so many rows; what it held before is nobody's any more: the stream followed those
 * who used it. The thread that loads has no part in the operators' stream. */
static int open_room(struct og_rows_there *t, struct room *r, uint64_t rows, struct og_err *err)
{
    const size_t need = room_bytes(rows, t->setup.row_bytes);
    if (r->rows && need <= r->bytes)
        return 0;
    int rc;
    OG_TRY(t->be->ops->finish(t->stream, err));
    og__device_give_idle(t->be, r->rows, r->bytes, ROOMS);
    r->bytes = need;
    r->rows = og__device_take_by(t->be, t->stream, need, ROOMS, err);
    OG_TRY(r->rows ? 0 : -ENOMEM);
out:
    return rc;
}

static int open_all(struct og_rows_there *t, struct og_err *err)
{
    const struct og_device_ops *ops = t->be->ops;
    struct og_device *d = t->be->device;
    int rc;
    OG_TRY(ops->stream(d, &t->stream, err));
    for (int i = 0; i < 2; i++)
        OG_TRY(ops->event(d, &t->read[i], err));
    t->lists = ops->pin(d, host_bytes(), err);
    OG_TRY(t->lists ? 0 : -ENOMEM);
    if (t->setup.n_slots > 0) {
        t->slots = og__device_take(t->be, slot_bytes(&t->setup), SLOTS, err);
        OG_TRY(t->slots ? 0 : -ENOMEM);
    }
    for (int i = 0; i < t->setup.n_rooms; i++) {
        OG_TRY(ops->event(d, &t->room[i].came, err));
        OG_TRY(ops->event(d, &t->room[i].used, err));
        OG_TRY(open_room(t, &t->room[i], t->setup.room_rows, err));
    }
out:
    return rc;
}

static void close_rows(struct og_rows_there *t)
{
    if (!t)
        return;
    const struct og_device_ops *ops = t->be->ops;
    if (t->stream) /* whether it fails or not */
        ops->finish(t->stream, NULL);
    for (int i = 0; i < OG__MOST_ROOMS; i++) {
        og__device_give(t->be, t->room[i].rows, t->room[i].bytes, ROOMS);
        ops->end_event(t->room[i].came);
        ops->end_event(t->room[i].used);
    }
    og__device_give(t->be, t->slots, slot_bytes(&t->setup), SLOTS);
    if (t->lists)
        ops->unpin(t->be->device, t->lists, host_bytes());
    for (int i = 0; i < 2; i++)
        ops->end_event(t->read[i]);
    ops->end_stream(t->stream);
    free(t);
}

static int open_rows(struct og_rows_there **out, struct og_nn_backend *be,
                     const struct og_rows_setup *setup, struct og_err *err)
{
    struct og_rows_there *t = calloc(1, sizeof(*t));
    *out = NULL;
    if (!t)
        return og__fail_errno(err, -ENOMEM, NULL, "device cache");
    t->be = be;
    t->setup = *setup;
    int rc = open_all(t, err);
    if (rc < 0)
        close_rows(t);
    else
        *out = t;
    return rc;
}

static void *pin(struct og_rows_there *t, size_t n, struct og_err *err)
{
    return t->be->ops->pin(t->be->device, n, err);
}

static void unpin(struct og_rows_there *t, void *p, size_t n)
{
    if (p)
        t->be->ops->unpin(t->be->device, p, n);
}

/* ==== kernels ==== */

static int launch(struct og_rows_there *t, int kernel, const struct og_k_places *args, size_t reads,
                  size_t writes, struct og_err *err)
{
    const struct og_launch l = {.kernel = &og__kernels[kernel],
                                .blocks = (args->n + OG_WARPS - 1) / OG_WARPS,
                                .threads = OG_THREADS,
                                .args = args,
                                .bytes = sizeof(*args),
                                .reads = reads,
                                .writes = writes};
    return t->be->ops->launch(t->stream, &l, err);
}

/* The half that no kernel reads any more. */
static int next_half(struct og_rows_there *t, uint32_t **list, struct og_err *err)
{
    t->half = !t->half;
    *list = t->lists + (size_t)t->half * HALF;
    return t->be->ops->wait(t->read[t->half], err);
}

static int end_half(struct og_rows_there *t, struct og_err *err)
{
    return t->be->ops->record(t->read[t->half], t->stream, err);
}

/* Places of rows that the host has are those of its memory, whatever order they lie in there. */
static uint32_t resolve(const struct og_rows *x, uint32_t place)
{
    for (int i = x->n_more; i-- > 0;)
        if (place >= x->more[i].first)
            return x->more[i].where ? x->more[i].first + x->more[i].where[place - x->more[i].first]
                                    : place;
    return place;
}

/* Copies what of the lists is at hand, of [first, first + n). Returns how many rows are the host's.
 */
static uint32_t copy_places(const struct og_rows *x, const uint32_t *place, uint32_t n,
                            uint32_t *list)
{
    const uint32_t host = x->n_more > 0 ? x->more[0].first : UINT32_MAX;
    uint32_t n_host = 0;
    for (uint32_t i = 0; i < n; i++) {
        list[i] = resolve(x, place[i]);
        n_host += place[i] >= host;
    }
    return n_host;
}

static struct og_k_places args_of(const struct og_rows_there *t, const struct og_rows *x,
                                  uint32_t n, char *room)
{
    struct og_k_places args = {.x = *x, .n = n, .room = room};
    args.x.base = t->slots;
    args.x.comes = NULL;
    for (int i = 0; i < args.x.n_more; i++) /* places are resolved */
        args.x.more[i].where = NULL;
    return args;
}

static int collect(struct og_rows_there *t, const struct og_rows *x, char *room,
                   uint64_t *link_bytes, struct og_err *err)
{
    int rc = 0;
    for (uint32_t first = 0, n; first < x->n; first += n) {
        uint32_t *list;
        n = OG_MIN(x->n - first, (uint32_t)HALF);
        OG_TRY(next_half(t, &list, err));
        const size_t rows = copy_places(x, x->index + first, n, list) * x->stride;
        struct og_k_places args = args_of(t, x, n, room + first * x->stride);
        args.x.index = list;
        OG_TRY(launch(t, og__k_collect_number, &args, rows + n * sizeof(*list), 0, err));
        OG_TRY(end_half(t, err));
        *link_bytes += rows;
    }
out:
    return rc;
}

static int leave(struct og_rows_there *t, const struct og_bringing *b, uint64_t *link_bytes,
                 struct og_err *err)
{
    int rc = 0;
    for (uint32_t first = 0, n; first < b->n_moves; first += n) {
        uint32_t *list;
        n = OG_MIN(b->n_moves - first, (uint32_t)HALF / 2);
        OG_TRY(next_half(t, &list, err));
        memcpy(list, b->move_from + first, n * sizeof(*list));
        memcpy(list + n, b->move_to + first, n * sizeof(*list));
        struct og_k_places args = args_of(t, &b->x, n, NULL);
        args.slot = list;
        args.x.index = list + n;
        OG_TRY(launch(t, og__k_leave_number, &args, 2 * n * sizeof(*list), n * b->x.stride, err));
        OG_TRY(end_half(t, err));
        *link_bytes += n * b->x.stride;
    }
out:
    return rc;
}

static int enter(struct og_rows_there *t, const struct og_bringing *b, char *room,
                 struct og_err *err)
{
    int rc = 0;
    for (uint32_t first = 0, n; first < b->n_entries; first += n) {
        uint32_t *list;
        n = OG_MIN(b->n_entries - first, (uint32_t)HALF / 2);
        OG_TRY(next_half(t, &list, err));
        memcpy(list, b->entry_slot + first, n * sizeof(*list));
        memcpy(list + n, b->entry_row + first, n * sizeof(*list));
        struct og_k_places args = args_of(t, &b->x, n, room);
        args.slot = list;
        args.row = list + n;
        OG_TRY(launch(t, og__k_enter_number, &args, 2 * n * sizeof(*list), 0, err));
        OG_TRY(end_half(t, err));
    }
out:
    return rc;
}

/* ==== batches ==== */

static int bring(struct og_rows_there *t, const struct og_bringing *b, struct og_brought *out,
                 struct og_err *err)
{
    struct room *r = &t->room[b->room];
    int rc;
    *out = (struct og_brought){0};
    OG_TRY(t->be->ops->follow(t->stream, r->used, err));
    OG_TRY(open_room(t, r, b->x.n, err));
    OG_TRY(collect(t, &b->x, r->rows, &out->link_bytes, err));
    OG_TRY(leave(t, b, &out->link_bytes_back, err));
    OG_TRY(enter(t, b, r->rows, err));
    OG_TRY(t->be->ops->record(r->came, t->stream, err));
    out->rows = (struct og_rows){.comes = r->came,
                                 .base = r->rows,
                                 .stride = b->x.stride,
                                 .n = b->x.n,
                                 .dim = b->x.dim,
                                 .dtype = b->x.dtype};
out:
    return rc;
}

static int wait(struct og_rows_there *t, int room, struct og_err *err)
{
    return t->be->ops->wait(t->room[room].came, err);
}

static int finish(struct og_rows_there *t, struct og_err *err)
{
    return t->be->ops->finish(t->stream, err);
}

static double link_seconds(const struct og_rows_there *t)
{
    struct og_device_counts counts;
    t->be->ops->counts(t->be->device, &counts);
    return counts.link_seconds;
}

static int used(struct og_rows_there *t, int room, struct og_err *err)
{
    return t->be->ops->record(t->room[room].used, t->be->work, err);
}

/* ==== outside batches ==== */

static int fill(struct og_rows_there *t, const char *rows, const uint32_t *slot, uint32_t n,
                struct og_err *err)
{
    const size_t row = t->setup.row_bytes;
    int rc = 0;
    for (uint32_t first = 0, k; first < n; first += k) {
        uint32_t *list;
        k = OG_MIN(n - first, (uint32_t)HALF);
        OG_TRY(next_half(t, &list, err));
        memcpy(list, slot + first, k * sizeof(*list));
        const struct og_k_places args = {.x = {.base = t->slots, .stride = row},
                                         .n = k,
                                         .slot = list,
                                         .room = (char *)rows + first * row};
        OG_TRY(launch(t, og__k_enter_number, &args, k * (row + sizeof(*list)), 0, err));
        OG_TRY(end_half(t, err));
    }
    OG_TRY(t->be->ops->finish(t->stream, err));
out:
    return rc;
}

const struct og_rows_ops og__device_rows = {.open = open_rows,
                                            .close = close_rows,
                                            .bytes = bytes,
                                            .host_bytes = host_bytes,
                                            .pin = pin,
                                            .unpin = unpin,
                                            .fill = fill,
                                            .bring = bring,
                                            .wait = wait,
                                            .finish = finish,
                                            .link_seconds = link_seconds,
                                            .used = used};
