#include "learn/shares.h"
#include "nn/sums.h"

static const char part[] = "model";
static const struct og_shares_transport hosts, devices;

/* ---- what is held ---- */

static size_t longest_slice(size_t n, int ranks)
{
    return (n + (size_t)ranks - 1) / (size_t)ranks;
}

size_t og__shares_bytes(const struct og_model_config *model, int ranks)
{
    const size_t n = (size_t)og__model_trained(model);
    const size_t moments = (size_t)ranks * og__model_moments(model);
    return ranks < 2 ? 0 : (n + moments) * sizeof(float);
}

size_t og__shares_device_bytes(const struct og_nn_ops *ops, const struct og_model_config *model,
                               int ranks)
{
    const size_t n = (size_t)og__model_trained(model);
    return ranks < 2 || !ops->sums ? 0 : ops->sums->bytes(n, longest_slice(n, ranks), ranks);
}

static int open_several(struct og_shares *h, const struct og_nn_ops *ops, const struct og_log *log,
                        struct og_err *err)
{
    const size_t n = h->steps->n;
    int rc;
    h->slice = longest_slice(n, h->comm->n);
    h->n_moments = og__model_moments(og__model_config(h->steps->model));
    OG_TRY(og__shares_find_transport(h, ops, log, err));
    h->transport = h->steps->sums ? &devices : &hosts;
    const size_t vector = h->steps->sums ? 0 : n;
    h->bytes = (vector + (size_t)h->comm->n * h->n_moments) * sizeof(float);
    h->own = og__alloc(h->budget, h->bytes, part, err);
    OG_TRY(h->own ? 0 : -ENOMEM);
    h->moments = h->own + vector;
out:
    return rc;
}

static void close_several(struct og_shares *h)
{
    og__release(h->budget, h->own, h->bytes, part);
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

/* Sends each rank its slice of this one's gradients, and receives this one's slice of the others'.
 * `*slices` has where they are. Those of others come where the sum is not this rank's. */
static int exchange_slices(struct og_shares *h, const struct og_round *round,
                           struct og_message *slices, struct og_err *err)
{
    const struct og_comm *c = h->comm;
    struct og_message send[OG__MOST_RANKS];
    const bool made = takes_part(round, c->rank);
    const size_t own = slice_size(h, c->rank) * sizeof(float);
    for (int i = 0; i < c->n; i++) {
        const size_t bytes = slice_size(h, i) * sizeof(float);
        send[i] = (struct og_message){h->own + slice_at(h, i), made ? bytes : 0};
        slices[i] = (struct og_message){h->steps->sum + (size_t)i * h->slice,
                                        takes_part(round, i) ? own : 0};
    }
    slices[c->rank].at = send[c->rank].at;
    return og__comm_exchange(h->comm, send, slices, err);
}

static void add_slices(struct og_shares *h, const struct og_round *round,
                       const struct og_message *slices)
{
    const int rank = h->comm->rank;
    for (int i = round->first; i < round->last; i++)
        og__steps_add_slice(h->steps, slices[i].at, slice_at(h, rank), slice_size(h, rank),
                            round->size, round->weight[i]);
}

/* ---- running statistics: all ranks keep them all ---- */

static int share_moments(struct og_shares *h, const struct og_round *round, struct og_model *made,
                         struct og_err *err)
{
    int rc = 0;
    if (h->n_moments == 0)
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

/* What this rank sends is counted as if it went over the comm. Whatever fails, others may wait for
 * its slices. */
static int add_on_device(struct og_shares *h, const struct og_round *round, struct og_model *made,
                         struct og_err *err)
{
    struct og_steps *s = h->steps;
    float weight[OG__MOST_RANKS];
    const struct og_sums_round of = {round->first, round->last, round->size == 1, weight};
    int rc;
    OG_TRY(share_moments(h, round, made, err));
    for (int i = round->first; i < round->last; i++)
        weight[i] = (float)round->weight[i];
    if (made)
        OG_TRY(og__steps_take(s, made, err));
    OG_TRY(s->sums_ops->add(s->sums, &of, err));
    s->whole = round->size == 1;
    if (made)
        h->comm->sent += (s->n - slice_size(h, h->comm->rank)) * sizeof(float);
out:
    if (rc < 0)
        s->sums_ops->leave(s->sums);
    return rc;
}

static int sum_on_device(struct og_shares *h, bool saves, struct og_err *err)
{
    struct og_steps *s = h->steps;
    OG_DO(s->sums_ops->gather(s->sums, err));
    OG_DO(saves ? s->sums_ops->fetch(s->sums, s->sum, err) : 0);
    h->comm->sent += (size_t)(h->comm->n - 1) * slice_size(h, h->comm->rank) * sizeof(float);
    return 0;
}

static int resume_on_device(struct og_shares *h, struct og_err *err)
{
    const struct og_steps *s = h->steps;
    return s->sums_ops->push(s->sums, s->sum, err);
}

static void close_on_device(struct og_shares *h)
{
    h->steps->sums_ops->close(h->steps->sums);
    h->steps->sums = NULL;
    close_several(h);
}

static const struct og_shares_transport devices = {.word = "devices",
                                                   .add = add_on_device,
                                                   .sum = sum_on_device,
                                                   .resume = resume_on_device,
                                                   .close = close_on_device};

/* ---- through the hosts ---- */

static int add_on_host(struct og_shares *h, const struct og_round *round, struct og_model *made,
                       struct og_err *err)
{
    struct og_message slices[OG__MOST_RANKS];
    int rc;
    OG_TRY(share_moments(h, round, made, err));
    if (made)
        OG_TRY(og__steps_fetch(h->steps, made, h->own, err));
    OG_TRY(exchange_slices(h, round, slices, err));
    add_slices(h, round, slices);
out:
    return rc;
}

static int sum_on_host(struct og_shares *h, bool saves, struct og_err *err)
{
    (void)saves; /* it is in steps->sum anyway */
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

static int resume_on_host(struct og_shares *h, struct og_err *err)
{
    (void)h;
    (void)err;
    return 0;
}

static const struct og_shares_transport hosts = {.word = "hosts",
                                                 .add = add_on_host,
                                                 .sum = sum_on_host,
                                                 .resume = resume_on_host,
                                                 .close = close_several};

/* ---- of one rank ---- */

static int add_alone(struct og_shares *h, const struct og_round *round, struct og_model *made,
                     struct og_err *err)
{
    const int rc = og__model_track(h->steps->model, made, err);
    return rc < 0 ? rc : og__steps_add(h->steps, made, round->size, round->weight[0], err);
}

static int sum_alone(struct og_shares *h, bool saves, struct og_err *err)
{
    (void)h;
    (void)saves;
    (void)err;
    return 0;
}

static const struct og_shares_transport alone = {
    .add = add_alone, .sum = sum_alone, .resume = resume_on_host, .close = close_several};

/* ---- whichever it is ---- */

int og__shares_open(struct og_shares *h, struct og_comm *comm, struct og_steps *steps,
                    const struct og_nn_ops *ops, const struct og_log *log, struct og_budget *b,
                    struct og_err *err)
{
    *h = (struct og_shares){.transport = &alone, .comm = comm, .steps = steps, .budget = b};
    return comm->n > 1 ? open_several(h, ops, log, err) : 0;
}

void og__shares_close(struct og_shares *h)
{
    if (h->transport)
        h->transport->close(h);
    *h = (struct og_shares){0};
}
