/* offline: training batches that `outgrow sample` wrote to --samples, perhaps on another machine
 * (Liu et al. 2025, §4). A folder is taken only if its batches are, bit for bit, those that this
 * run would sample. */
#ifndef OG_OFFLINE_H
#define OG_OFFLINE_H

#include "base/json.h"
#include "sample/samples.h"
#include "sample/schedule.h"
#include "sample/trace.h"

struct og_offline {
    struct og_samples *samples;
    char *dir;
    uint32_t every;    /* epochs between two draws of the folder */
    uint32_t draws;    /* how many it has */
    uint32_t per_draw; /* batches */
};

/* The run they are for. extras: what its blocks must carry. */
struct og_offline_for {
    const struct og_options *opt; /* resolved */
    const struct og_schedule *schedule;
    const struct og_graph *graph;
    unsigned extras;
    uint32_t n_relations; /* heterogeneous */
    uint64_t end_of_units;
    const struct og_edge_unit *units; /* NULL: batches have no edges */
};

/* Opens opt->samples. -EINVAL, with a remedy, for batches of another dataset or of other options.
 * Also if the model needs more than they have, or the run draws more epochs. */
OG_MUST_CHECK int og__offline_open(struct og_offline **out, const struct og_offline_for *run,
                                   struct og_budget *b, struct og_err *err);
/* What a folder of samples says of itself: its draws too, or -EINVAL. */
OG_MUST_CHECK int og__offline_describe(struct og_trace_description *d, const char *dir,
                                       struct og_err *err);
void og__offline_close(struct og_offline *o); /* accepts NULL */

/* Which of its draws an epoch that draws batches takes; UINT32_MAX = it has none for it. */
uint32_t og__offline_draw(const struct og_offline *o, uint32_t drawn_epoch);

/* Does it have the batches of an epoch of the run? And the refusal, which names those that it has.
 */
bool og__offline_has(const struct og_offline *o, const struct og_schedule *s, uint32_t epoch);
OG_MUST_CHECK int og__offline_check(const struct og_offline *o, const struct og_schedule *s,
                                    uint32_t epoch, struct og_err *err);

/* The number in the folder of a training batch of the run; UINT32_MAX = it is not there. */
uint32_t og__offline_number(const struct og_offline *o, const struct og_descriptor *descriptor);

#endif
