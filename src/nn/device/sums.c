/* Sums of ranks' gradients on their devices.
 *
 *     own     | slice 0 | slice 1 | ...   of this rank's gradient: slice r goes to rank r
 *     theirs  | of rank 0 | of rank 1 | ...   this rank's slice of the others' gradients
 *     sum     | slice 0 | slice 1 | ...   this rank adds its own slice, and gathers the others
 *
 * All of it runs on the operators' stream, after their writes and before their reads. */
#include "nn/sums.h"
#include "nn/device/backend.h"

#include <stdlib.h>

#define SUMS "sums"
enum { MOST_BACKENDS = 64 };

struct og_sums {
    struct og_nn_backend *be;
    struct og_device_ring *group; /* NULL: left after a failure */
    struct og_event *made;
    int rank, ranks;
    size_t n, slice;
    float *own, *theirs, *sum;
    const struct og_nn_backend *reached[MOST_BACKENDS];
    int n_reached;
};

/* ---- memory ---- */

static size_t vector_bytes(size_t n)
{
    return n * sizeof(float);
}

static size_t sums_bytes(size_t n, size_t slice, int ranks)
{
    return 2 * vector_bytes(n) + vector_bytes(slice * (size_t)ranks);
}

static int identify(struct og_nn_backend *be, unsigned char *id, struct og_err *err)
{
    return be->ops->identify(be->device, id, err);
}

static int group_id(struct og_nn_backend *be, unsigned char *id, struct og_err *err)
{
    return be->ops->group_id(id, err);
}

static void close_sums(struct og_sums *s)
{
    if (!s)
        return;
    struct og_nn_backend *be = s->be;
    be->ops->end_group(s->group); /* first: ends waits for other ranks */
    og__device_give(be, s->own, vector_bytes(s->n), SUMS);
    og__device_give(be, s->theirs, vector_bytes(s->slice * (size_t)s->ranks), SUMS);
    og__device_give(be, s->sum, vector_bytes(s->n), SUMS);
    if (s->made)
        be->ops->end_event(s->made);
    free(s);
}

static int open_sums(struct og_sums **out, struct og_nn_backend *be,
                     const struct og_sums_setup *setup, struct og_err *err)
{
    struct og_sums *s = calloc(1, sizeof(*s));
    int rc = s ? 0 : og__fail_errno(err, -ENOMEM, NULL, "sums");
    *out = NULL;
    OG_TRY(rc);
    *s = (struct og_sums){
        .be = be, .rank = setup->rank, .ranks = setup->ranks, .n = setup->n, .slice = setup->slice};
    s->own = og__device_take(be, vector_bytes(s->n), SUMS, err);
    s->theirs = og__device_take(be, vector_bytes(s->slice * (size_t)s->ranks), SUMS, err);
    s->sum = og__device_take(be, vector_bytes(s->n), SUMS, err);
    OG_TRY(s->own && s->theirs && s->sum ? 0 : -ENOMEM);
    OG_TRY(be->ops->event(be->device, &s->made, err));
    OG_TRY(be->ops->group(be->device, &s->group, setup->id, s->rank, s->ranks, err));
    *out = s;
    s = NULL;
out:
    close_sums(s);
    return rc;
}

/* ---- slices ---- */

static size_t slice_at(const struct og_sums *s, int rank)
{
    return OG_MIN((size_t)rank * s->slice, s->n);
}

static size_t slice_size(const struct og_sums *s, int rank)
{
    return slice_at(s, rank + 1) - slice_at(s, rank);
}

static struct og_piece piece_of(float *at, size_t n)
{
    return (struct og_piece){at, vector_bytes(n)};
}

/* ---- failing ---- */

static void leave(struct og_sums *s)
{
    s->be->ops->end_group(s->group);
    s->group = NULL;
}

/* Other ranks learn of it by the end of the group. */
static int check(struct og_sums *s, int rc)
{
    if (rc < 0)
        leave(s);
    return rc;
}

static int exchange(struct og_sums *s, const struct og_piece *send, const struct og_piece *receive,
                    struct og_err *err)
{
    return s->group
               ? s->be->ops->exchange(s->be->work, s->group, send, receive, err)
               : og__fail(err, -ECONNABORTED, NULL, "an exchange between devices failed before");
}

static int settle(struct og_sums *s, struct og_err *err)
{
    return s->be->ops->settle(s->be->work, s->group, err);
}

/* ---- a round ---- */

/* Kernels index with 32 bits. */
static int add_numbers(struct og_sums *s, float *to, const float *from, size_t n, float factor,
                       bool anew, struct og_err *err)
{
    struct og_k_add args = {
        .to = to, .from = from, .n = (uint32_t)n, .factor = factor, .anew = anew};
    return n < UINT32_MAX ? OG__EACH_ITEM(s->be, og__k_add, n, &args, err)
                          : og__fail(err, -EOVERFLOW, NULL, "a model of %zu parameters", n);
}

static int reach(struct og_sums *s, const struct og_nn_backend *from, struct og_err *err)
{
    for (int i = 0; i < s->n_reached; i++)
        if (s->reached[i] == from)
            return 0;
    if (s->n_reached == MOST_BACKENDS)
        return og__fail(err, -EOVERFLOW, NULL, "sums of more than %d trainers", MOST_BACKENDS);
    const int rc = s->be->ops->reach(s->be->device, from->device, err);
    if (rc == 0)
        s->reached[s->n_reached++] = from;
    return rc;
}

static int begin(struct og_sums *s, struct og_nn_backend *from, struct og_err *err)
{
    int rc = 0;
    if (from == s->be)
        return 0;
    OG_TRY(reach(s, from, err));
    OG_TRY(s->be->ops->record(s->made, from->work, err));
    OG_TRY(s->be->ops->follow(s->be->work, s->made, err));
out:
    return check(s, rc);
}

static int take(struct og_sums *s, const float *gradient, size_t at, size_t n, struct og_err *err)
{
    return check(s, add_numbers(s, s->own + at, gradient, n, 1, true, err));
}

static bool takes_part(const struct og_sums_round *round, int rank)
{
    return rank >= round->first && rank < round->last;
}

static int exchange_slices(struct og_sums *s, const struct og_sums_round *round, struct og_err *err)
{
    struct og_piece send[OG__MOST_GROUP] = {{0}};
    struct og_piece receive[OG__MOST_GROUP] = {{0}};
    const size_t own = slice_size(s, s->rank);
    for (int i = 0; i < s->ranks; i++) {
        if (i != s->rank && takes_part(round, s->rank))
            send[i] = piece_of(s->own + slice_at(s, i), slice_size(s, i));
        if (i != s->rank && takes_part(round, i))
            receive[i] = piece_of(s->theirs + (size_t)i * s->slice, own);
    }
    return exchange(s, send, receive, err);
}

static int add(struct og_sums *s, const struct og_sums_round *round, struct og_err *err)
{
    const size_t at = slice_at(s, s->rank), n = slice_size(s, s->rank);
    int rc;
    OG_TRY(exchange_slices(s, round, err));
    for (int i = round->first; i < round->last; i++) {
        const float *slice = i == s->rank ? s->own + at : s->theirs + (size_t)i * s->slice;
        OG_TRY(add_numbers(s, s->sum + at, slice, n, round->alone ? 1 : round->weight[i],
                           round->alone, err));
    }
    OG_TRY(settle(s, err));
out:
    return check(s, rc);
}

/* ---- the sum ---- */

static int gather(struct og_sums *s, struct og_err *err)
{
    struct og_piece send[OG__MOST_GROUP] = {{0}};
    struct og_piece receive[OG__MOST_GROUP] = {{0}};
    int rc;
    for (int i = 0; i < s->ranks; i++) {
        if (i == s->rank)
            continue;
        send[i] = piece_of(s->sum + slice_at(s, s->rank), slice_size(s, s->rank));
        receive[i] = piece_of(s->sum + slice_at(s, i), slice_size(s, i));
    }
    OG_TRY(exchange(s, send, receive, err));
    OG_TRY(settle(s, err));
out:
    return check(s, rc);
}

static int give(struct og_sums *s, float *gradient, size_t at, size_t n, float factor,
                struct og_err *err)
{
    return check(s, add_numbers(s, gradient, s->sum + at, n, factor, true, err));
}

static int clear(struct og_sums *s, struct og_err *err)
{
    return check(s, s->be->ops->clear(s->be->work, s->sum, vector_bytes(s->n), err));
}

static int fetch(struct og_sums *s, float *sum, struct og_err *err)
{
    return check(s, og__device_fetch(s->be, sum, s->sum, vector_bytes(s->n), err));
}

static int push(struct og_sums *s, const float *sum, struct og_err *err)
{
    return check(s, og__device_push(s->be, s->sum, sum, vector_bytes(s->n), err));
}

const struct og_sums_ops og__device_sums = {.identify = identify,
                                            .group_id = group_id,
                                            .open = open_sums,
                                            .close = close_sums,
                                            .leave = leave,
                                            .bytes = sums_bytes,
                                            .begin = begin,
                                            .take = take,
                                            .add = add,
                                            .gather = gather,
                                            .give = give,
                                            .clear = clear,
                                            .fetch = fetch,
                                            .push = push};
