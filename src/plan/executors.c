#include "plan/executors.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

/* ---- rules ---- */

bool og__executors_profit(uint64_t remaining, int n_trainers, double train, double standby)
{
    return remaining > 0 &&
           (n_trainers == 0 || (double)remaining * train / n_trainers - standby > 0);
}

int og__executors_samplers(int n, double sample, double train)
{
    const double rounding = 1e-9;
    const double share = sample + train > 0 ? sample / (sample + train) : 0;
    return OG_MIN(OG_MAX((int)ceil(n * share - rounding), 1), n);
}

double og__executors_fluid(uint64_t n_batches, int samplers, int trainers, double sample,
                           double train, double standby, bool switches)
{
    const double sampling = sample / samplers;
    const double training = trainers > 0 ? train / trainers : HUGE_VAL;
    if (!switches || sampling >= training)
        return (double)n_batches * OG_MAX(sampling, training);
    /* what samplers have left of an epoch they train in: trainers x / train + (samplers x -
     * sample) / standby = 1 */
    const double rate = trainers / train + samplers / standby;
    return (double)n_batches * (1 + sample / standby) / rate;
}

/* ---- the clock ---- */

enum role { FREE, SAMPLING, TRAINING, MADE }; /* MADE: trained, and not taken yet */

struct clock {
    const struct og_executors *given;
    struct og_executed *out;
    double now;
    uint64_t next;    /* batch to be sampled */
    uint64_t begun;   /* earlier batches are with trainers, or trained */
    uint64_t taken;   /* earlier batches are trained and applied */
    uint64_t sampled; /* earlier batches are all sampled */
    struct state {
        enum role role;
        uint64_t batch;
        double end;
    } state[OG__MOST_EXECUTORS];
};

static uint64_t count_states(const struct clock *c, enum role role)
{
    uint64_t n = 0;
    for (int i = 0; i < c->given->n; i++)
        n += c->state[i].role == role;
    return n;
}

/* The lowest batch that a sampler has, or the next. */
static uint64_t all_sampled(const struct clock *c)
{
    uint64_t first = c->next;
    for (int i = 0; i < c->given->n; i++)
        if (c->state[i].role == SAMPLING)
            first = OG_MIN(first, c->state[i].batch);
    return first;
}

static bool may_sample(const struct clock *c)
{
    const struct og_executors *g = c->given;
    return c->next < g->n_batches && (g->queue == 0 || c->next - c->begun < g->queue);
}

/* A step's parameters are ready when all steps but the last `staleness` before it are complete. */
static bool may_train(const struct clock *c)
{
    const struct og_executors *g = c->given;
    if (c->begun == c->sampled)
        return false;
    return g->accumulate == 0 ||
           c->begun / g->accumulate <= g->staleness + c->taken / g->accumulate;
}

static void begin(struct clock *c, int i, enum role role, uint64_t batch, double seconds)
{
    c->state[i] = (struct state){role, batch, c->now + seconds};
    c->out->busy[i] += seconds;
    (role == SAMPLING ? c->out->sampled : c->out->trained)[i]++;
}

/* Executors that only train: their number, and their mean seconds. */
static int trainers(const struct og_executors *g, double *seconds)
{
    int n = 0;
    double sum = 0;
    for (int i = 0; i < g->n; i++) {
        n += !g->executor[i].samples;
        sum += g->executor[i].samples ? 0 : g->executor[i].train;
    }
    *seconds = n > 0 ? sum / n : 0;
    return n;
}

static bool stands_by(const struct clock *c, int i)
{
    double train;
    const int n = trainers(c->given, &train);
    const double own = c->given->executor[i].train;
    return c->given->switches && own < HUGE_VAL &&
           og__executors_profit(c->sampled - c->begun, n, train, own);
}

/* Trainers first: what they leave is for standby trainers. */
static void give_batches(struct clock *c, bool samplers)
{
    for (int i = 0; i < c->given->n; i++) {
        const struct og_executor *own = &c->given->executor[i];
        if (c->state[i].role != FREE || own->samples != samplers)
            continue;
        if (own->samples && may_sample(c)) {
            begin(c, i, SAMPLING, c->next++, own->sample);
        } else if (may_train(c) && (!own->samples || stands_by(c, i))) {
            c->out->switched += own->samples;
            begin(c, i, TRAINING, c->begun++, own->train);
        }
    }
}

/* Results are applied in batch order; an executor is free once its result is. */
static void take_made(struct clock *c)
{
    uint64_t first = c->begun;
    for (int i = 0; i < c->given->n; i++)
        if (c->state[i].role == TRAINING)
            first = OG_MIN(first, c->state[i].batch);
    c->taken = first;
    for (int i = 0; i < c->given->n; i++) {
        struct state *h = &c->state[i];
        if (h->role == MADE && (c->given->accumulate == 0 || h->batch < c->taken))
            h->role = FREE;
    }
}

/* Advances the clock to the next completions, and completes these. False: nothing is in
 * progress. */
static bool next_event(struct clock *c)
{
    double end = HUGE_VAL;
    for (int i = 0; i < c->given->n; i++)
        if (c->state[i].role == SAMPLING || c->state[i].role == TRAINING)
            end = OG_MIN(end, c->state[i].end);
    if (end == HUGE_VAL)
        return false;
    c->now = end;
    for (int i = 0; i < c->given->n; i++) {
        struct state *h = &c->state[i];
        if ((h->role == SAMPLING || h->role == TRAINING) && h->end <= end)
            h->role = h->role == SAMPLING ? FREE : MADE;
    }
    c->sampled = all_sampled(c);
    take_made(c);
    return true;
}

void og__executors_run(const struct og_executors *e, struct og_executed *out)
{
    struct clock c = {.given = e, .out = out};
    memset(out, 0, sizeof(*out));
    do {
        /* what was given in this moment may let another begin: a queue that has room again */
        for (uint64_t before = UINT64_MAX; before != count_states(&c, FREE);) {
            before = count_states(&c, FREE);
            give_batches(&c, false);
            give_batches(&c, true);
        }
    } while (next_event(&c));
    out->seconds = c.taken == e->n_batches ? c.now : HUGE_VAL;
}
