#include "learn/shares.h"
#include "nn/sums.h"

static const char part[] = "model";

/* ---- what is held ---- */

static size_t longest_slice(size_t n, int ranks)
{
    return (n + (size_t)ranks - 1) / (size_t)ranks;
}

static size_t own_bytes(size_t n)
{
    return n * sizeof(float);
}

static size_t theirs_bytes(size_t n, int ranks)
{
    return (size_t)ranks * longest_slice(n, ranks) * sizeof(float);
}

static size_t moments_bytes(size_t n_moments, int ranks)
{
    return (size_t)ranks * n_moments * sizeof(float);
}

size_t og__shares_bytes(const struct og_model_config *model, int ranks)
{
    const size_t n = (size_t)og__model_trained(model);
    if (ranks < 2)
        return 0;
    return own_bytes(n) + theirs_bytes(n, ranks) + moments_bytes(og__model_moments(model), ranks);
}

size_t og__shares_there_bytes(const struct og_nn_ops *ops, const struct og_model_config *model,
                              int ranks)
{
    const size_t n = (size_t)og__model_trained(model);
    return ranks < 2 || !ops->sums ? 0 : ops->sums->bytes(n, longest_slice(n, ranks), ranks);
}

static int open_buffers(struct og_shares *h, struct og_err *err)
{
    const size_t n = h->steps->n;
    h->own = og__alloc(h->budget, own_bytes(n), part, err);
    h->theirs = og__alloc(h->budget, theirs_bytes(n, h->comm->n), part, err);
    return h->own && h->theirs ? 0 : -ENOMEM;
}

int og__shares_open(struct og_shares *h, struct og_comm *comm, struct og_steps *steps,
                    const struct og_nn_ops *ops, const struct og_log *log, struct og_budget *b,
                    struct og_err *err)
{
    const size_t n = steps->n;
    int rc;
    *h = (struct og_shares){.comm = comm,
                            .steps = steps,
                            .budget = b,
                            .slice = longest_slice(n, comm->n),
                            .n_moments = og__model_moments(og__model_config(steps->model))};
    if (h->n_moments > 0) {
        h->moments = og__alloc(b, moments_bytes(h->n_moments, comm->n), part, err);
        OG_TRY(h->moments ? 0 : -ENOMEM);
    }
    OG_TRY(og__shares_find_way(h, ops, log, err));
    OG_TRY(og__shares_there(h) ? 0 : open_buffers(h, err));
out:
    return rc;
}

void og__shares_close(struct og_shares *h)
{
    if (!h->comm)
        return;
    if (og__shares_there(h))
        h->steps->sums_ops->close(h->steps->sums);
    h->steps->sums = NULL;
    og__release(h->budget, h->own, own_bytes(h->steps->n), part);
    og__release(h->budget, h->theirs, theirs_bytes(h->steps->n, h->comm->n), part);
    og__release(h->budget, h->moments, moments_bytes(h->n_moments, h->comm->n), part);
    *h = (struct og_shares){0};
}

/* ---- slices ---- */

static size_t slice_at(const struct og_shares *h, int rank)
{
    return OG_MIN((size_t)rank * h->slice, h->steps->n);
}

static size_t slice_size(const struct og_shares *h, int rank)
{
    return slice_at(h, rank + 1) - slice_at(h, rank);
}

static bool takes_part(const struct og_round *round, int rank)
{
    return rank >= round->first && rank < round->last;
}

/* To each rank its slice of what this one made; from each that made something, this one's. */
static int exchange_slices(struct og_shares *h, const struct og_round *round, struct og_err *err)
{
    const struct og_comm *c = h->comm;
    struct og_message send[OG__MOST_RANKS];
    struct og_message receive[OG__MOST_RANKS];
    const bool made = takes_part(round, c->rank);
    for (int i = 0; i < c->n; i++) {
        const size_t bytes = slice_size(h, i) * sizeof(float);
        send[i] = (struct og_message){h->own + slice_at(h, i), made ? bytes : 0};
        receive[i] =
            (struct og_message){h->theirs + (size_t)i * h->slice,
                                takes_part(round, i) ? slice_size(h, c->rank) * sizeof(float) : 0};
    }
    return og__comm_exchange(h->comm, send, receive, err);
}

static void add_slices(struct og_shares *h, const struct og_round *round)
{
    const int rank = h->comm->rank;
    const size_t first = slice_at(h, rank);
    for (int i = round->first; i < round->last; i++) {
        const float *slice = i == rank ? h->own + first : h->theirs + (size_t)i * h->slice;
        og__steps_add_slice(h->steps, slice, first, slice_size(h, rank), round->size,
                            round->terms[i]);
    }
}

/* ---- running statistics: all ranks keep them all ---- */

static int share_moments(struct og_shares *h, const struct og_round *round, struct og_model *made,
                         struct og_err *err)
{
    int rc = 0;
    if (!h->moments)
        return 0;
    if (made)
        OG_TRY(
            og__model_fetch_moments(made, h->moments + (size_t)h->comm->rank * h->n_moments, err));
    OG_TRY(og__comm_gather(h->comm, h->moments, h->n_moments * sizeof(*h->moments), err));
    for (int i = round->first; i < round->last; i++)
        OG_TRY(
            og__model_track_moments(h->steps->model, h->moments + (size_t)i * h->n_moments, err));
out:
    return rc;
}

/* ---- from device to device ---- */

/* What this rank sends is counted as if it went over the comm. */
static int add_there(struct og_shares *h, const struct og_round *round, struct og_model *made,
                     struct og_err *err)
{
    struct og_steps *s = h->steps;
    float weight[OG__MOST_RANKS];
    const struct og_sums_round of = {round->first, round->last, round->size == 1, weight};
    int rc = 0;
    for (int i = round->first; i < round->last; i++)
        weight[i] = (float)round->terms[i];
    if (made)
        OG_TRY(og__steps_take(s, made, err));
    OG_TRY(s->sums_ops->add(s->sums, &of, err));
    s->whole = round->size == 1;
    if (made)
        h->comm->sent += (s->n - slice_size(h, h->comm->rank)) * sizeof(float);
out:
    return rc;
}

static int sum_there(struct og_shares *h, bool saves, struct og_err *err)
{
    struct og_steps *s = h->steps;
    int rc;
    OG_TRY(s->sums_ops->gather(s->sums, err));
    OG_TRY(saves ? s->sums_ops->fetch(s->sums, s->sum, err) : 0);
    h->comm->sent += (size_t)(h->comm->n - 1) * slice_size(h, h->comm->rank) * sizeof(float);
out:
    return rc;
}

int og__shares_resume(struct og_shares *h, struct og_err *err)
{
    const struct og_steps *s = h->steps;
    return og__shares_there(h) ? s->sums_ops->push(s->sums, s->sum, err) : 0;
}

/* ---- a round, a step ---- */

static int add_here(struct og_shares *h, const struct og_round *round, struct og_model *made,
                    struct og_err *err)
{
    int rc = 0;
    if (made)
        OG_TRY(og__steps_fetch(h->steps, made, h->own, err));
    OG_TRY(exchange_slices(h, round, err));
    add_slices(h, round);
out:
    return rc;
}

int og__shares_add(struct og_shares *h, const struct og_round *round, struct og_model *made,
                   struct og_err *err)
{
    const bool there = og__shares_there(h);
    int rc;
    OG_TRY(share_moments(h, round, made, err));
    OG_TRY(there ? add_there(h, round, made, err) : add_here(h, round, made, err));
out:
    if (rc < 0 && there) /* whatever it was, others may wait for this rank's slices */
        h->steps->sums_ops->leave(h->steps->sums);
    return rc;
}

int og__shares_sum(struct og_shares *h, bool saves, struct og_err *err)
{
    if (og__shares_there(h))
        return sum_there(h, saves, err);
    struct og_comm *c = h->comm;
    float *sum = h->steps->sum;
    struct og_message send[OG__MOST_RANKS];
    struct og_message receive[OG__MOST_RANKS];
    for (int i = 0; i < c->n; i++) {
        send[i] =
            (struct og_message){sum + slice_at(h, c->rank), slice_size(h, c->rank) * sizeof(*sum)};
        receive[i] = (struct og_message){sum + slice_at(h, i), slice_size(h, i) * sizeof(*sum)};
    }
    return og__comm_exchange(c, send, receive, err);
}
