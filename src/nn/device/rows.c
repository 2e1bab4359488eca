/* Feature rows on devices (nn/ops.h). Each device has a stream, which gathers a batch's rows into a
 * buffer. Then rows leave and enter slots, on the stream of the slots' device. So only a device
 * writes to its memory.
 *
 *     of the batch's device:   used[room], changed[every] ─> collect ─> came[room]
 *     of every device with     came[of every device] ─> leave, enter ─> changed[own]
 *     slots that change:
 *     work                     came[room] ─> ... ─> used[room]
 *
 * Kernels read the host's lists and rows directly. Lists alternate between two pinned halves per
 * device: one is written while kernels read the other. */
#include "nn/device/backend.h"

#include <stdlib.h>
#include <string.h>

enum { HALF = 1 << 15 /* words of a half of the lists; two lists share a half */ };
#define SLOTS "device cache"
#define ROOMS "batches"

struct room {
    char *rows;
    size_t bytes;
    struct og_event *came, *used;
};

/* State of one device. */
struct part {
    struct og_nn_backend *be;
    struct og_stream *stream;
    char *slots;
    uint32_t *lists; /* [2][HALF] pinned */
    struct og_event *read[2];
    int half;
    struct room room[OG__MOST_ROOMS];
    struct og_event *came;    /* the buffer of its last batch is complete; NULL: no batch yet */
    struct og_event *changed; /* its slots changed last */
};

struct og_device_row_store {
    const struct og_device_ops *ops;
    struct og_rows_setup setup;
    int n;
    struct part part[OG__MOST_KEEPERS];
};

/* ==== open and close ==== */

static size_t room_bytes(uint64_t rows, size_t row_bytes)
{
    return og__round_up((size_t)rows * row_bytes, 256);
}

/* Bytes of slots per device. */
static size_t slot_bytes(const struct og_rows_setup *setup, int n)
{
    return (setup->n_slots + (size_t)n - 1) / (size_t)n * setup->row_bytes;
}

static size_t bytes(const struct og_rows_setup *setup, int n)
{
    return slot_bytes(setup, n) +
           (size_t)setup->n_rooms * room_bytes(setup->room_rows, setup->row_bytes);
}

static size_t host_bytes(void)
{
    return 2 * HALF * sizeof(uint32_t);
}

/* Allocates a buffer of so many rows. Nobody uses the old contents: the stream follows their users.
 * The loading thread does not use the operators' stream. */
static int open_room(const struct og_device_row_store *t, struct part *p, struct room *r,
                     uint64_t rows, struct og_err *err)
{
    const size_t need = room_bytes(rows, t->setup.row_bytes);
    if (r->rows && need <= r->bytes)
        return 0;
    OG_DO(t->ops->finish(p->stream, err));
    og__device_give_idle(p->be, r->rows, r->bytes, ROOMS);
    r->bytes = need;
    r->rows = og__device_take_by(p->be, p->stream, need, ROOMS, err);
    return r->rows ? 0 : -ENOMEM;
}

static int open_part(const struct og_device_row_store *t, struct part *p, struct og_err *err)
{
    const struct og_device_ops *ops = t->ops;
    struct og_device *d = p->be->device;
    OG_DO(ops->stream(d, &p->stream, err));
    OG_DO(ops->event(d, &p->changed, err));
    for (int i = 0; i < 2; i++)
        OG_DO(ops->event(d, &p->read[i], err));
    p->lists = ops->pin(d, host_bytes(), err);
    OG_DO(p->lists ? 0 : -ENOMEM);
    if (t->setup.n_slots > 0) {
        p->slots = og__device_take(p->be, slot_bytes(&t->setup, t->n), SLOTS, err);
        OG_DO(p->slots ? 0 : -ENOMEM);
    }
    for (int i = 0; i < t->setup.n_rooms; i++) {
        OG_DO(ops->event(d, &p->room[i].came, err));
        OG_DO(ops->event(d, &p->room[i].used, err));
        OG_DO(open_room(t, p, &p->room[i], t->setup.room_rows, err));
    }
    return 0;
}

/* Gathering devices read the slots of others; devices with slots read the buffers. */
static int open_all(struct og_device_row_store *t, struct og_err *err)
{
    for (int k = 0; k < t->n; k++)
        OG_DO(open_part(t, &t->part[k], err));
    for (int k = 0; k < t->n; k++)
        for (int i = 0; i < t->n; i++)
            if (i != k)
                OG_DO(t->ops->reach(t->part[k].be->device, t->part[i].be->device, err));
    return 0;
}

static void close_part(const struct og_device_row_store *t, struct part *p)
{
    const struct og_device_ops *ops = t->ops;
    for (int i = 0; i < OG__MOST_ROOMS; i++) {
        og__device_give(p->be, p->room[i].rows, p->room[i].bytes, ROOMS);
        ops->end_event(p->room[i].came);
        ops->end_event(p->room[i].used);
    }
    og__device_give(p->be, p->slots, slot_bytes(&t->setup, t->n), SLOTS);
    if (p->lists)
        ops->unpin(p->be->device, p->lists, host_bytes());
    for (int i = 0; i < 2; i++)
        ops->end_event(p->read[i]);
    ops->end_event(p->changed);
    ops->end_stream(p->stream);
}

/* Also after failures: streams follow one another. */
static void finish_all(struct og_device_row_store *t)
{
    for (int k = 0; k < t->n; k++)
        if (t->part[k].stream)
            t->ops->finish(t->part[k].stream, NULL);
}

static void close_rows(struct og_device_row_store *t)
{
    if (!t)
        return;
    finish_all(t);
    for (int k = 0; k < t->n; k++)
        close_part(t, &t->part[k]);
    free(t);
}

static int open_rows(struct og_device_row_store **out, struct og_nn_backend *const *be, int n,
                     const struct og_rows_setup *setup, struct og_err *err)
{
    struct og_device_row_store *t = calloc(1, sizeof(*t));
    *out = NULL;
    if (!t)
        return og__fail_errno(err, -ENOMEM, NULL, "device cache");
    t->ops = be[0]->ops;
    t->setup = *setup;
    t->n = n;
    for (int k = 0; k < n; k++)
        t->part[k].be = be[k];
    int rc = open_all(t, err);
    if (rc < 0)
        close_rows(t);
    else
        *out = t;
    return rc;
}

static void *pin(struct og_device_row_store *t, size_t n, struct og_err *err)
{
    return t->ops->pin(t->part[0].be->device, n, err);
}

static void unpin(struct og_device_row_store *t, void *p, size_t n)
{
    if (!p)
        return;
    finish_all(t); /* after a failed call, an earlier one may still read this */
    t->ops->unpin(t->part[0].be->device, p, n);
}

static int join(struct og_device_row_store *t, int part, struct og_nn_backend *be,
                struct og_err *err)
{
    return t->ops->reach(be->device, t->part[part].be->device, err);
}

/* ==== which device ==== */

static uint32_t part_of(const struct og_device_row_store *t, uint32_t slot)
{
    return slot % (uint32_t)t->n;
}

static uint32_t device_slot(const struct og_device_row_store *t, uint32_t slot)
{
    return slot / (uint32_t)t->n;
}

static struct part *part_of_room(struct og_device_row_store *t, int room)
{
    return &t->part[room / OG__MOST_ROOMS];
}

static struct room *room_of(struct og_device_row_store *t, int room)
{
    return &part_of_room(t, room)->room[room % OG__MOST_ROOMS];
}

/* ==== kernels ==== */

/* Bytes that a kernel reads and writes outside its device. */
struct traffic {
    size_t reads, writes, peer_reads;
};

static int launch(const struct og_device_row_store *t, struct part *p, int kernel,
                  const struct og_k_places *args, struct traffic of, struct og_err *err)
{
    const struct og_launch l = {.kernel = &og__kernels[kernel],
                                .blocks = (args->n + OG_WARPS - 1) / OG_WARPS,
                                .threads = OG_THREADS,
                                .args = args,
                                .bytes = sizeof(*args),
                                .reads = of.reads,
                                .writes = of.writes,
                                .peer_reads = of.peer_reads};
    int rc = t->ops->launch(p->stream, &l, err);
    return rc < 0 ? rc : t->ops->record(p->read[p->half], p->stream, err);
}

/* The half that no kernel reads any more. */
static int next_half(const struct og_device_row_store *t, struct part *p, uint32_t **list,
                     struct og_err *err)
{
    p->half = !p->half;
    *list = p->lists + (size_t)p->half * HALF;
    return t->ops->wait(p->read[p->half], err);
}

/* Translates locations in host tiers to the host's memory, whatever the order of rows there. */
static uint32_t resolve(const struct og_rows *x, uint32_t place)
{
    for (int i = x->n_more; i-- > 0;)
        if (place >= x->more[i].first)
            return x->more[i].where ? x->more[i].first + x->more[i].where[place - x->more[i].first]
                                    : place;
    return place;
}

/* Numbers of a batch's rows on the host, and on another device. */
struct from_where {
    uint32_t host, peers;
};

/* Copies the lists of [first, first + n). */
static struct from_where copy_places(const struct og_device_row_store *t, const struct part *own,
                                     const struct og_rows *x, const uint32_t *place, uint32_t n,
                                     uint32_t *list)
{
    const uint32_t host = x->n_more > 0 ? x->more[0].first : UINT32_MAX;
    struct from_where from = {0};
    for (uint32_t i = 0; i < n; i++) {
        list[i] = resolve(x, place[i]);
        if (place[i] >= host)
            from.host++;
        else
            from.peers += &t->part[part_of(t, place[i])] != own;
    }
    return from;
}

static struct og_k_places args_of(const struct og_device_row_store *t, const struct part *p,
                                  const struct og_rows *x, uint32_t n, char *room)
{
    struct og_k_places args = {.x = *x, .n = n, .room = room, .slots = p->slots};
    args.x.comes = NULL;
    for (int i = 0; i < args.x.n_more; i++) /* locations are translated */
        args.x.more[i].where = NULL;
    for (int k = 0; k < t->n; k++)
        args.slots_of[k] = t->part[k].slots;
    args.n_parts = (uint32_t)t->n;
    return args;
}

static int collect(const struct og_device_row_store *t, struct part *p, const struct og_rows *x,
                   char *room, struct og_uploaded *out, struct og_err *err)
{
    for (uint32_t first = 0, n; first < x->n; first += n) {
        uint32_t *list;
        n = OG_MIN(x->n - first, (uint32_t)HALF);
        OG_DO(next_half(t, p, &list, err));
        const struct from_where from = copy_places(t, p, x, x->index + first, n, list);
        const struct traffic of = {.reads = from.host * x->stride + n * sizeof(*list),
                                   .peer_reads = from.peers * x->stride};
        struct og_k_places args = args_of(t, p, x, n, room + first * x->stride);
        args.x.index = list;
        OG_DO(launch(t, p, og__k_collect_number, &args, of, err));
        out->link_bytes += from.host * x->stride;
        out->peer_hits += from.peers;
        out->peer_bytes += of.peer_reads;
    }
    return 0;
}

/* The pairs of two lists whose slots are on device k, as many as fit a half. Sets *at to the next
 * pair. Slots become the device's own numbers. */
static uint32_t own_pairs(const struct og_device_row_store *t, uint32_t k, const uint32_t *slot,
                          const uint32_t *other, uint32_t n, uint32_t *at, uint32_t *list)
{
    uint32_t found = 0;
    for (; *at < n && found < HALF / 2; ++*at) {
        if (part_of(t, slot[*at]) != k)
            continue;
        list[found] = device_slot(t, slot[*at]);
        list[HALF / 2 + found++] = other[*at];
    }
    return found;
}

static int leave(const struct og_device_row_store *t, uint32_t k, struct part *p,
                 const struct og_upload *b, struct og_uploaded *out, struct og_err *err)
{
    for (uint32_t at = 0, n; at < b->n_moves;) {
        uint32_t *list;
        OG_DO(next_half(t, p, &list, err));
        n = own_pairs(t, k, b->move_from, b->move_to, b->n_moves, &at, list);
        if (n == 0)
            break;
        const struct traffic of = {.reads = 2 * n * sizeof(*list), .writes = n * b->x.stride};
        struct og_k_places args = args_of(t, p, &b->x, n, NULL);
        args.slot = list;
        args.x.index = list + HALF / 2;
        OG_DO(launch(t, p, og__k_leave_number, &args, of, err));
        out->link_bytes_back += of.writes;
    }
    return 0;
}

/* From its own buffer, or that of another device. */
static int enter(const struct og_device_row_store *t, uint32_t k, struct part *p,
                 const struct og_upload *b, char *room, bool of_peer, struct og_uploaded *out,
                 struct og_err *err)
{
    for (uint32_t at = 0, n; at < b->n_entries;) {
        uint32_t *list;
        OG_DO(next_half(t, p, &list, err));
        n = own_pairs(t, k, b->entry_slot, b->entry_row, b->n_entries, &at, list);
        if (n == 0)
            break;
        const struct traffic of = {.reads = 2 * n * sizeof(*list),
                                   .peer_reads = of_peer ? n * b->x.stride : 0};
        struct og_k_places args = args_of(t, p, &b->x, n, room);
        args.slot = list;
        args.row = list + HALF / 2;
        OG_DO(launch(t, p, og__k_enter_number, &args, of, err));
        out->peer_bytes += of.peer_reads;
    }
    return 0;
}

/* ==== batches ==== */

/* Slots are as the previous batches left them; nobody uses the buffer. */
static int collect_room(struct og_device_row_store *t, const struct og_upload *b,
                        struct og_uploaded *out, struct og_err *err)
{
    struct part *p = part_of_room(t, b->room);
    struct room *r = room_of(t, b->room);
    OG_DO(t->ops->follow(p->stream, r->used, err));
    for (int k = 0; k < t->n; k++)
        if (&t->part[k] != p)
            OG_DO(t->ops->follow(p->stream, t->part[k].changed, err));
    OG_DO(open_room(t, p, r, b->x.n, err));
    OG_DO(collect(t, p, &b->x, r->rows, out, err));
    OG_DO(t->ops->record(r->came, p->stream, err));
    p->came = r->came;
    return 0;
}

static bool has_own(const struct og_device_row_store *t, uint32_t k, const uint32_t *slot,
                    uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (part_of(t, slot[i]) == k)
            return true;
    return false;
}

/* Changes device k's slots, after all batches up to this one have read them. */
static int change(struct og_device_row_store *t, uint32_t k, const struct og_upload *b,
                  struct og_uploaded *out, struct og_err *err)
{
    struct part *p = &t->part[k];
    const struct part *from = part_of_room(t, b->room);
    if (!has_own(t, k, b->move_from, b->n_moves) && !has_own(t, k, b->entry_slot, b->n_entries))
        return 0;
    for (int i = 0; i < t->n; i++)
        if (&t->part[i] != p && t->part[i].came)
            OG_DO(t->ops->follow(p->stream, t->part[i].came, err));
    OG_DO(leave(t, k, p, b, out, err));
    OG_DO(enter(t, k, p, b, room_of(t, b->room)->rows, p != from, out, err));
    return t->ops->record(p->changed, p->stream, err);
}

static int upload(struct og_device_row_store *t, const struct og_upload *b, struct og_uploaded *out,
                  struct og_err *err)
{
    const struct room *r = room_of(t, b->room);
    *out = (struct og_uploaded){0};
    OG_DO(collect_room(t, b, out, err));
    for (int k = 0; k < t->n; k++)
        OG_DO(change(t, (uint32_t)k, b, out, err));
    out->rows = (struct og_rows){.comes = r->came,
                                 .base = r->rows,
                                 .stride = b->x.stride,
                                 .n = b->x.n,
                                 .dim = b->x.dim,
                                 .dtype = b->x.dtype,
                                 .scale = b->x.scale}; /* of the host: og__upload_rows */
    return 0;
}

/* Also waits for changes of slots on all devices. */
static int wait(struct og_device_row_store *t, int room, struct og_err *err)
{
    OG_DO(t->ops->wait(room_of(t, room)->came, err));
    for (int k = 0; k < t->n; k++)
        OG_DO(t->ops->wait(t->part[k].changed, err));
    return 0;
}

static int finish(struct og_device_row_store *t, struct og_err *err)
{
    int rc = 0;
    for (int k = 0; k < t->n; k++) {
        const int done = t->ops->finish(t->part[k].stream, rc < 0 ? NULL : err);
        rc = rc < 0 ? rc : done;
    }
    return rc;
}

static double link_seconds(const struct og_device_row_store *t)
{
    struct og_device_counts counts;
    t->ops->counts(t->part[0].be->device, &counts);
    return counts.link_seconds;
}

static int used(struct og_device_row_store *t, int room, struct og_nn_backend *be,
                struct og_err *err)
{
    return t->ops->record(room_of(t, room)->used, be->work, err);
}

/* ==== outside batches ==== */

static int fill_part(const struct og_device_row_store *t, uint32_t k, struct part *p,
                     const char *rows, const uint32_t *slot, uint32_t n, struct og_err *err)
{
    const struct og_rows x = {.stride = t->setup.row_bytes};
    for (uint32_t at = 0, found; at < n;) {
        uint32_t *list;
        OG_DO(next_half(t, p, &list, err));
        for (found = 0; at < n && found < HALF / 2; at++) {
            if (part_of(t, slot[at]) != k)
                continue;
            list[found] = device_slot(t, slot[at]);
            list[HALF / 2 + found++] = at;
        }
        if (found == 0)
            break;
        struct og_k_places args = args_of(t, p, &x, found, (char *)rows);
        args.slot = list;
        args.row = list + HALF / 2;
        OG_DO(launch(t, p, og__k_enter_number, &args,
                     (struct traffic){.reads = found * (x.stride + 2 * sizeof(*list))}, err));
    }
    return 0;
}

static int fill(struct og_device_row_store *t, const char *rows, const uint32_t *slot, uint32_t n,
                struct og_err *err)
{
    for (int k = 0; k < t->n; k++)
        OG_DO(fill_part(t, (uint32_t)k, &t->part[k], rows, slot, n, err));
    return finish(t, err);
}

const struct og_rows_ops og__device_rows = {.open = open_rows,
                                            .close = close_rows,
                                            .bytes = bytes,
                                            .host_bytes = host_bytes,
                                            .pin = pin,
                                            .unpin = unpin,
                                            .join = join,
                                            .fill = fill,
                                            .upload = upload,
                                            .wait = wait,
                                            .finish = finish,
                                            .link_seconds = link_seconds,
                                            .used = used};
