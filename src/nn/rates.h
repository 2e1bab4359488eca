/* rates: the learning rate of each optimizer step. A schedule is a row of this table, in the order
 * of enum og_rate_kind, which names the struct og__rate_<name>.
 *
 *     constant   lr
 *     cosine     min + (lr - min) (1 + cos(pi t / T)) / 2     t: steps made, T: --lr-steps
 *     step       lr factor^(e div every)                      e: epochs that are over
 *     plateau    lr, times factor whenever more than `patience` evaluations in a row did not
 * improve
 *
 * With warm-up the rate of the first W steps is lr (t + 1) / W instead. Everything but plateau is a
 * function of t and e; plateau also of the evaluations so far. */
#ifndef OG_NN_RATES_H
#define OG_NN_RATES_H

#include "base/base.h"
#include "base/choices.h"

/* clang-format off */
#define OG__RATES(row) \
    row(CONSTANT, constant) \
    row(COSINE, cosine) \
    row(STEP, step) \
    row(PLATEAU, plateau)
/* clang-format on */

struct og_rate {
    int kind; /* enum og_rate_kind */
    double lr, min, factor;
    uint64_t steps, warmup;
    int every;    /* epochs; step */
    int patience; /* evaluations; plateau */
    /* plateau, after the evaluations so far */
    double reduced; /* lr times the factors */
    int bad;        /* evaluations in a row without improvement */
};

struct og_rate_schedule {
    const char *const *parameters; /* options, in the order after the colon; ends with NULL */
    double (*at)(const struct og_rate *r, uint64_t step, uint32_t epoch);
    void (*evaluated)(struct og_rate *r, bool improved); /* NULL: evaluations do not matter */
};
#define OG__RATE_DECLARED(NAME, name) extern const struct og_rate_schedule og__rate_##name;
OG__RATES(OG__RATE_DECLARED)

extern const char *const og__rate_words[]; /* ends with NULL */
/* Whether the option is a parameter of this schedule; and parameter number `place` after its colon,
 * or NULL. */
bool og__rate_takes(int kind, const char *option);
const char *og__rate_colon(int kind, int place);

/* The rate of a step, by steps made and epochs over before it. */
double og__rate_at(const struct og_rate *r, uint64_t step, uint32_t epoch);
/* After each evaluation, in their order. */
void og__rate_evaluated(struct og_rate *r, bool improved);

#endif
