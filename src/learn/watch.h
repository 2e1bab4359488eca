/* watch: what evaluations say while a model is trained. It follows from the rows of the epochs that
 * are over (train_state.h), so a resumed run continues as the whole one does. */
#ifndef OG_WATCH_H
#define OG_WATCH_H

#include "base/json.h"
#include "nn/nn.h"
#include "nn/rates.h"
#include "options/fields.h"

struct og_watch {
    int figure;       /* enum og_best_kind: --best-by */
    double min_delta; /* what counts as improvement is more */
    double best;      /* og__best_worth of the best evaluation so far */
    int without;      /* evaluations since then */
    struct og_rate rate;
};

/* The rate of --lr-schedule before any evaluation. */
struct og_rate og__rate_of_options(const struct og_options *opt);

/* After the epochs of `rows`. */
void og__watch_begin(struct og_watch *w, const struct og_options *opt,
                     const struct og_model_config *model, const json_t *rows);
/* The row of the next epoch, whether it was evaluated or not. */
void og__watch_epoch(struct og_watch *w, const json_t *row);

#endif
