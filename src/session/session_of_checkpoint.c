#include "session/session_of_checkpoint.h"

#include "learn/checkpoint.h"
#include "nn/tasks.h"
#include "options/options.h"
#include "session/option_effects.h"

#include <stdio.h>
#include <stdlib.h>

/* The checkpoint says how many layers there are. */
static int fit_options(struct og_options *opt, const struct og_model_config *config,
                       const char *checkpoint, struct og_err *err)
{
    og__fanout_follow(opt, config->layers);
    opt->model = config->kind;
    opt->layers = config->layers;
    opt->embedding = config->embedding;
    if (config->task >= 0) /* it says */
        opt->task = config->task;
    if (config->loss != OG_LOSS_AUTO && !og_options_given(opt, "loss"))
        opt->loss = config->loss;
    if (config->layers == opt->n_fanout)
        return 0;
    return og__fail(err, -EINVAL, "give --fanout as many numbers as it has layers",
                    "%s: %d layers, --fanout has %d numbers", checkpoint, config->layers,
                    opt->n_fanout);
}

int og__session_take_all(struct og_options *opt, const char *checkpoint, struct og_err *err)
{
    struct og_model_config shape;
    char fanout[3 * OG_MAX_HOPS + 1] = "";
    size_t used = 0;
    OG_DO(og__checkpoint_shape(checkpoint, &shape, err));
    for (int l = 0; l < shape.layers; l++)
        used += (size_t)snprintf(fanout + used, sizeof(fanout) - used, "%s-1", l ? "," : "");
    return og_options_set(opt, "fanout", fanout, err);
}

/* Neighbours are those of training only with its fanout. */
static int say_fanout(const struct og_session *s, bool said, struct og_err *err)
{
    const struct og_options *opt = &s->config.opt;
    const bool visits = og__sampling_by_visits((enum og_sampler_kind)opt->sampler);
    char *used;
    if (visits || og__model_is_alone(opt->model))
        return 0;
    OG_DO(og_options_get(opt, "fanout", &used, err));
    og__say(&s->config.log, OG__INFO, "sampled with --fanout %s, %s", used,
            said ? "as in training" : "the default: give that of training for its figures");
    free(used);
    return 0;
}

int og__session_of_checkpoint(struct og_session **out, const char *dataset, const char *checkpoint,
                              const struct og_options *opt, unsigned want, const char *nodes,
                              const struct og_observer *observer, struct og_err *err)
{
    struct og_model_config config = {0};
    struct og_options own = {0};
    const struct og_log log = {observer ? observer->message : NULL,
                               observer ? observer->arg : NULL};
    const struct og_nn_ops *ops;
    char *target = NULL;
    bool said = false;
    int rc;
    OG_TRY(og__nn_find(&ops, opt->device, err)); /* before any other complaint */
    OG_TRY(og__checkpoint_shape(checkpoint, &config, err));
    OG_TRY(og__checkpoint_check_types(checkpoint, dataset, err));
    const struct og_option_set requested = og__options_set_apart(opt);
    og__log_unused_options(&log, &requested, OG__UNUSED_JUDGING);
    og__log_other_task(&log, opt, config.task);
    OG_TRY(og__options_copy(&own, opt, err));
    OG_TRY(og__checkpoint_fanout(checkpoint, &own, &said, err));
    OG_TRY(og__checkpoint_option(checkpoint, "batch", &own, &log, err));
    OG_TRY(fit_options(&own, &config, checkpoint, err));
    OG_TRY(og__checkpoint_sampler(checkpoint, &own, &log, err));
    OG_TRY(og__checkpoint_option(checkpoint, "compute", &own, &log, err));
    if (own.time == OG_TIMES_OFF)
        OG_TRY(og__checkpoint_refuse_times(checkpoint, err));
    if (og__task(own.task)->targets == OG__OF_PAIRS) {
        OG_TRY(og__checkpoint_edges(checkpoint, &own, &log, err));
        OG_TRY(og__checkpoint_option(checkpoint, "eval-negatives", &own, &log, err));
    }
    OG_TRY(og__checkpoint_targets(checkpoint, &target, err));
    const struct og_session_use use = {.want = OG__WANT_MODEL | want,
                                       .model = &config,
                                       .target = target,
                                       .checkpoint = checkpoint,
                                       .nodes = nodes};
    OG_TRY(og__session_open_for(out, dataset, &own, &use, observer, err));
    const bool given = og_options_given(opt, "fanout") || og_options_given(opt, "relation-fanout");
    OG_TRY(given ? 0 : say_fanout(*out, said, err));
out:
    free(target);
    og__options_release(&own);
    return rc;
}
