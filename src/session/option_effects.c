/* The table of needs: one row a reason, besides what the table of options says of parameters. An
 * option may have several; the first that is not met is reported. A pair that is not here works, or
 * is refused where its second option is looked at. */
#include "session/option_effects.h"

#include "learn/watch.h"
#include "nn/shape.h"
#include "nn/tasks.h"
#include "options/options.h"

#include <stdio.h>
#include <string.h>

/* ---- needs that are more than a choice ---- */

static bool hides(const struct og_plan_inputs *p)
{
    return p->config->opt.layers > 1;
}

static bool has_group(const struct og_plan_inputs *p)
{
    const struct og_options *opt = &p->config->opt;
    return hides(p) || og__task(opt->task)->embeds ||
           (og__projects_some(&p->workload->shape) && opt->embedding == 0);
}

static bool steps_again(const struct og_plan_inputs *p)
{
    return p->config->opt.walk_length > 1;
}

/* A walk's hops keep --neighbors each; only how many hops there are is the fanout's. */
static bool has_usual_hops(const struct og_plan_inputs *p)
{
    struct og_options usual;
    og__options_init(&usual);
    bool same = p->config->opt.n_fanout == usual.n_fanout;
    og__options_release(&usual);
    return same;
}

static bool counts_hops(const struct og_plan_inputs *p)
{
    return !og__sampling_by_visits((enum og_sampler_kind)p->config->opt.sampler) ||
           !has_usual_hops(p);
}

/* A model of single nodes samples none; its layers are as many as there are numbers. */
static bool counts_layers(const struct og_plan_inputs *p)
{
    return !og__model_is_alone(p->config->opt.model) || !has_usual_hops(p);
}

/* Where batches are handed over, it decides what their edge_index is: the last hop's alone. */
static bool draws_some(const struct og_plan_inputs *p)
{
    const struct og_options *opt = &p->config->opt;
    bool some = p->config->handover.n > 0;
    for (int h = 0; h < opt->n_fanout; h++)
        some |= opt->fanout[h] >= 0;
    return some;
}

static bool draws_in_hops(const struct og_plan_inputs *p)
{
    return p->config->opt.n_fanout > 1 && draws_some(p);
}

static bool chooses_epochs(const struct og_plan_inputs *p)
{
    return p->config->opt.epochs > 1 || p->config->opt.eval_every == 0;
}

static bool validates(const struct og_plan_inputs *p)
{
    return p->workload->schedule.n_seeds[OG__VALID] > 0;
}

/* Else all held-out edges have given negatives. */
static bool draws_rank_negatives(const struct og_plan_inputs *p)
{
    bool draws = false;
    for (enum og__split s = OG__VALID; s <= OG__TEST; s++)
        draws |= p->workload->split[s].n > 0 && !p->workload->split[s].negatives;
    return draws || p->workload->split[OG__VALID].n + p->workload->split[OG__TEST].n == 0;
}

/* Else there is one epoch to choose from, or none. */
static bool validates_twice(const struct og_plan_inputs *p)
{
    const struct og_schedule *s = &p->workload->schedule;
    uint32_t n = 0;
    for (uint32_t epoch = 1; n < 2 && epoch <= (uint32_t)s->epochs; epoch++)
        n += og__schedule_evaluates(s, epoch);
    return n > 1;
}

static bool takes_each_once(const struct og_plan_inputs *p)
{
    return p->config->opt.oversample == OG_OVERSAMPLE_NONE;
}

static bool shuffles(const struct og_plan_inputs *p)
{
    return !p->config->opt.no_shuffle;
}

/* A chunk of one seed is a seed by itself, in any order. */
static bool has_chunks(const struct og_plan_inputs *p)
{
    return p->config->opt.locality > 1;
}

static bool shrinks(const struct og_plan_inputs *p)
{
    return p->config->opt.optimizer != OG_OPTIMIZER_ADAMW || p->config->opt.weight_decay > 0;
}

static uint64_t count_steps(const struct og_plan_inputs *p)
{
    const struct og_schedule whole = og__schedule_whole(&p->workload->schedule);
    const uint64_t accumulated = (uint64_t)p->config->opt.accumulate;
    return (og__schedule_batches(&whole, OG__TRAIN) + accumulated - 1) / accumulated;
}

/* Does the rate change before the last step, if no epoch is better than another? */
static bool changes_rate(const struct og_plan_inputs *p)
{
    const struct og_schedule whole = og__schedule_whole(&p->workload->schedule);
    const struct og_options *opt = &p->config->opt;
    const uint64_t steps = count_steps(p);
    struct og_rate r = og__rate_of_options(opt);
    r.warmup = 0;
    for (uint32_t epoch = 1; epoch < (uint32_t)opt->epochs; epoch++)
        if (og__schedule_evaluates(&whole, epoch))
            og__rate_evaluated(&r, false);
    const uint32_t last = (uint32_t)OG_MAX(opt->epochs, 1) - 1;
    const double rate = og__rate_at(&r, (last + 1) * steps - 1, last);
    return opt->lr_schedule == OG_RATE_CONSTANT || rate < opt->lr || rate > opt->lr;
}

static bool looks_for_improvement(const struct og_plan_inputs *p)
{
    return p->config->opt.lr_schedule == OG_RATE_PLATEAU || p->config->opt.patience > 0;
}

/* Are there so many validations before the last epoch? */
static bool may_stop(const struct og_plan_inputs *p)
{
    const struct og_schedule *s = &p->workload->schedule;
    int n = 0;
    for (uint32_t epoch = 1; epoch < (uint32_t)s->epochs; epoch++)
        n += og__schedule_evaluates(s, epoch);
    return n >= p->config->opt.patience;
}

static bool has_relations(const struct og_plan_inputs *p)
{
    return p->workload->graph->has_types;
}

static bool has_embedding(const struct og_plan_inputs *p)
{
    bool some = og__projects_some(&p->workload->shape);
    for (uint32_t t = 0; t < og__types_of(&p->workload->shape); t++)
        some |= p->workload->types->type[t].trained;
    return some;
}

static bool has_rows_apart(const struct og_plan_inputs *p)
{
    return p->config->stores_rows;
}

static bool has_features(const struct og_plan_inputs *p)
{
    const struct og_graph *g = p->workload->graph;
    bool some = false;
    for (uint32_t k = 0; k < g->n_groups; k++)
        some |= g->group[k].dim > 0 && !g->group[k].learnt;
    for (uint32_t r = 0; r < g->n_relations; r++)
        some |= g->relation[r].edges.dim > 0;
    return some;
}

static bool is_untyped(const struct og_plan_inputs *p)
{
    return !p->workload->graph->has_types;
}

static bool draws_again(const struct og_plan_inputs *p)
{
    return p->config->opt.epochs > 1;
}

static bool caches(const struct og_plan_inputs *p)
{
    return og__policy_caches(p->exec->policy);
}

/* 0 is no cache, on purpose. */
static bool holds_a_row(const struct og_plan_inputs *p)
{
    const struct og_amount *cache = &p->config->opt.cache;
    const struct og_workload *w = p->workload;
    size_t least = w->row_bytes;
    for (uint32_t k = 0; k < w->n_groups; k++)
        least = least == 0 ? w->group[k].row_bytes : OG_MIN(least, w->group[k].row_bytes);
    return cache->unit != OG_BYTES || cache->value == 0 || cache->value >= (double)least;
}

static bool looks_at_uses(const struct og_plan_inputs *p)
{
    return p->config->opt.evict != OG_EVICT_STATIC;
}

static bool samples_again(const struct og_plan_inputs *p)
{
    return p->config->opt.resample_every == 1 || !og__keeps_batches(p->exec);
}

static bool samples_ahead(const struct og_plan_inputs *p)
{
    return og__samples_ahead(p->exec);
}

static bool device_keeps_rows(const struct og_plan_inputs *p)
{
    return og__has_tiers(p->config);
}

static bool has_others(const struct og_plan_inputs *p)
{
    return p->config->share.ranks > 1;
}

static bool has_no_packs(const struct og_plan_inputs *p)
{
    return !p->exec->whole_draws;
}

/* ---- the table ---- */

struct need {
    unsigned of;       /* what of a session it is about: any of these; 0 = its batches */
    const char *name;  /* the option */
    const char *other; /* that it looks at; NULL = none, it asks */
    const char *only;  /* words of it, with which `name` has an effect; NULL = ask */
    bool (*met)(const struct og_plan_inputs *p);
    const char *value; /* how `other` is named; NULL = its value */
    const char *why;
};

#define MODEL    OG__WANT_TRAINING
#define FEATURES OG__WANT_FEATURES

/* clang-format off */
static const struct need needs[] = {
    {MODEL, "hidden", "layers", NULL, has_group, NULL, "there is no hidden layer"},
    {MODEL, "norm", "layers", NULL, hides, NULL, "there is no hidden layer"},
    {MODEL, "dropout", "layers", NULL, hides, NULL, "there is no hidden layer"},
    {MODEL, "embedding", "model", NULL, has_embedding, NULL, "all nodes have features, which import --drop-features leaves out"},
    {MODEL, "embedding-optimizer", "embedding", NULL, has_rows_apart, NULL,
     "there are no learnable embeddings"},
    {MODEL, "embedding-lr", "embedding-optimizer", NULL, has_rows_apart, NULL,
     "embeddings are trained at --lr"},
    {MODEL, "eval-every", "epochs", NULL, chooses_epochs, NULL, "the last epoch is always validated"},

    {MODEL, "optimizer", "weight-decay", NULL, shrinks, NULL, "adamw differs from adam by it alone"},
    {MODEL, "lr-schedule", "epochs", NULL, changes_rate, NULL, "the run ends before the rate changes"},
    {MODEL, "min-delta", "lr-schedule", NULL, looks_for_improvement, NULL,
     "nothing waits for an improvement"},
    {MODEL, "patience", NULL, NULL, validates, NULL, "there are no validation nodes or edges"},
    {MODEL, "patience", "epochs", NULL, may_stop, NULL,
     "fewer validations come before the last epoch"},
    {MODEL, "eval-negatives", "task", NULL, draws_rank_negatives, NULL,
     "the dataset gives negatives"},
    {MODEL, "best-by", NULL, NULL, validates, NULL, "there are no validation nodes or edges"},
    {MODEL, "best-by", "eval-every", NULL, validates_twice, NULL,
     "fewer than two epochs are validated"},

    {0, "walk-restart", "walk-length", NULL, steps_again, NULL, "the first step is always taken"},
    {0, "fanout", "sampler", NULL, counts_hops, NULL,
     "a hop keeps --neighbors; only how many numbers there are counts"},
    {0, "fanout", "model", NULL, counts_layers, NULL,
     "it sees no neighbours; only how many numbers there are counts"},
    {0, "relation", NULL, NULL, has_relations, NULL, "the graph has no relations"},
    {0, "relation-fanout", NULL, NULL, has_relations, NULL, "the graph has no relations"},
    {0, "type-weights", NULL, NULL, has_relations, NULL, "the graph has no types of nodes"},
    {0, "replace", "fanout", NULL, draws_some, NULL, "all neighbours are taken"},
    {0, "draw", "fanout", NULL, draws_in_hops, NULL,
     "there is one hop, or all neighbours are taken"},
    {0, "no-shuffle", "oversample", NULL, takes_each_once, NULL, "seeds are drawn at random"},
    {0, "batch-dependency", "fanout", NULL, draws_some, NULL, "all neighbours are taken"},
    {0, "layer-dependency", "fanout", NULL, draws_in_hops, NULL,
     "there is one hop, or all neighbours are taken"},
    {0, "locality", "oversample", NULL, takes_each_once, NULL, "seeds are drawn at random"},
    {0, "locality", "no-shuffle", NULL, shuffles, NULL, "seeds stay in the order of their file"},
    {0, "order", "locality", NULL, has_chunks, NULL, "there are no chunks"},
    {0, "order", "oversample", NULL, takes_each_once, NULL, "seeds are drawn at random"},
    {0, "order", "no-shuffle", NULL, shuffles, NULL, "seeds stay in the order of their file"},
    {0, "resample-every", "epochs", NULL, draws_again, NULL, "one epoch draws once"},

    {OG__WANT_RECORD, "model", NULL, NULL, is_untyped, NULL,
     "samples of a heterogeneous graph are the same for all models"},

    {FEATURES, "cache", "policy", NULL, caches, NULL, "nothing is cached"},
    {FEATURES, "cache", NULL, NULL, holds_a_row, NULL,
     "it is smaller than a row, as a number without K, M, G or % is bytes"},
    {FEATURES, "exchange", "workers", NULL, has_others, NULL,
     "there is no other worker to have rows from"},
    {FEATURES, "window", "evict", NULL, looks_at_uses, NULL, "the next use is not looked at"},
    {FEATURES, "update", "evict", NULL, looks_at_uses, NULL, "the next use is not looked at"},
    {FEATURES, "threshold", "evict", NULL, looks_at_uses, NULL, "the next use is not looked at"},
    {FEATURES, "neighbor-cache", "topology", "disk", NULL, NULL, "all lists are in memory"},
    {0, "sample-group", "topology", "disk", NULL, NULL, "all lists are in memory"},
    {FEATURES, "device-memory", NULL, NULL, device_keeps_rows, NULL,
     "rows stay on a device while a model is trained there"},
    {FEATURES, "device-policy", NULL, NULL, device_keeps_rows, NULL,
     "no rows stay on a device without --device-memory"},
    {FEATURES, "victim", NULL, NULL, device_keeps_rows, NULL,
     "no rows stay on a device without --device-memory"},
    {FEATURES, "pack-dtype", NULL, NULL, has_features, NULL,
     "there are no features, and embeddings stay as they are"},
    {FEATURES, "superbatch", "policy", NULL, samples_ahead, NULL, "no batch is sampled ahead"},
    {FEATURES, "superbatch", "resample-every", NULL, samples_again, NULL,
     "the batches of an epoch are kept for those that train on them again"},
    {FEATURES, "superbatch", "samples", NULL, has_no_packs, NULL,
     "the batches of an epoch were packed together"},
};
/* clang-format on */

/* ---- which are met ---- */

static bool is_word_of(const char *word, const char *words)
{
    const size_t n = strlen(word);
    for (; *words; words += strcspn(words, " "), words += strspn(words, " "))
        if (strcspn(words, " ") == n && memcmp(words, word, n) == 0)
            return true;
    return false;
}

static bool is_met(const struct need *n, const struct og_plan_inputs *p)
{
    char text[32];
    return n->only ? is_word_of(og__option_text(&p->config->opt, n->other, text), n->only)
                   : n->met(p);
}

/* The first that is not, or NULL. */
static const struct need *unmet(const struct og_plan_inputs *p, const char *name)
{
    for (size_t i = 0; i < OG_COUNT(needs); i++) {
        const struct need *n = &needs[i];
        bool about = n->of == 0 || (n->of & p->config->want);
        if (about && strcmp(n->name, name) == 0 && !is_met(n, p))
            return n;
    }
    return NULL;
}

/* ---- saying so ---- */

void og__log_without_effect(const struct og_log *log, const char *before, const char *name,
                            const char *other, const char *value, const char *why)
{
    og__say(log, OG__WARN, "%s--%s has no effect%s%s%s%s: %s", before, name,
            other ? " with --" : "", other ? other : "", *value ? " " : "", value, why);
}

/* The parts of a session that it is about: as in the table. */
static unsigned about(const struct og_option *row)
{
    static const unsigned of[] = {[OG_DECIDES_NOTHING] = FEATURES,
                                  [OG_DECIDES_EXTENT] = MODEL,
                                  [OG_DECIDES_NUMBERS] = MODEL,
                                  [OG_DECIDES_BATCHES] = 0};
    return of[row->decides];
}

static const char *value_of(const struct need *n, const struct og_options *opt, char text[32])
{
    if (!n->other)
        return "";
    return n->value ? n->value : og__option_text(opt, n->other, text);
}

/* A parameter of kinds that were not chosen, or a need of the table. */
static void log_if_idle(const struct og_plan_inputs *p, const struct og_option *row,
                        const char *before)
{
    const struct og_options *opt = &p->config->opt;
    const struct need *n = unmet(p, row->name);
    char text[32], takers[64], why[96];
    const bool counts = og__option_counts(opt, row) ||
                        (og__has_tiers(p->config) && og__option_counts(&p->config->upper, row));
    const bool off = strcmp(og__option_text(opt, row->name, text), "off") == 0;
    if (!counts && off)
        return; /* what is not there is off; a trace stores that */
    if (!counts && (about(row) == 0 || (about(row) & p->config->want))) {
        og__option_takers(row, takers, sizeof(takers));
        if (strcmp(takers, "disjoint") == 0) { /* the sampler that --time chooses */
            og__log_without_effect(&p->config->log, before, row->name, "time", "off",
                                   "no seed has a time");
            return;
        }
        snprintf(why, sizeof(why), "it is a parameter of %s", takers);
        og__log_without_effect(&p->config->log, before, row->name, row->of,
                               og__option_text(opt, row->of, text), why);
    } else if (n) {
        og__log_without_effect(&p->config->log, before, n->name, n->other, value_of(n, opt, text),
                               n->why);
    }
}

/* ---- of commands that train nothing ---- */

#define BATCHES OG__UNUSED_BATCHES
#define HOPS    (OG__UNUSED_HOPS | OG__UNUSED_SMOOTH)
#define WHOLE   (OG__UNUSED_WHOLE | HOPS)
#define ROWLESS (WHOLE | OG__UNUSED_ROWLESS)
#define APPLIED (OG__UNUSED_JUDGING | WHOLE)
#define SHORT   (OG__UNUSED_BATCHES | OG__UNUSED_JUDGING)
#define ALL     (BATCHES | APPLIED)

/* What a value decides elsewhere is not here: --model draws other batches, presets set --io. */
/* clang-format off */
static const struct unused {
    const char *name;
    unsigned by; /* enum og__unused */
} unused[] = {
    {"model", APPLIED}, {"layers", APPLIED}, {"hidden", ALL}, {"heads", ALL},
    {"aggregator", APPLIED}, {"inputs", APPLIED}, {"edge-features", APPLIED}, {"bases", ALL}, {"norm", ALL}, {"residual", ALL}, {"compute", BATCHES | HOPS},
    {"embedding", APPLIED}, {"embedding-optimizer", APPLIED}, {"embedding-lr", ALL}, {"dropout", ALL}, {"input-dropout", ALL}, {"attention-dropout", ALL},
    {"decoder", ALL}, {"accumulate", APPLIED}, {"staleness", APPLIED}, {"epochs", APPLIED},
    {"optimizer", ALL}, {"lr", ALL}, {"weight-decay", ALL}, {"beta1", ALL}, {"beta2", ALL}, {"epsilon", ALL}, {"clip", ALL}, {"lr-schedule", ALL},
    {"lr-steps", ALL}, {"lr-min", ALL}, {"lr-every", ALL}, {"lr-factor", ALL}, {"lr-patience", ALL},
    {"warmup", ALL}, {"focal-gamma", BATCHES | WHOLE}, {"class-weights", BATCHES | WHOLE}, {"seed-weights", ALL}, {"type-weights", ALL},
    {"label-smoothing", BATCHES | WHOLE}, {"oversample", APPLIED}, {"init", APPLIED}, {"no-shuffle", APPLIED}, {"locality", APPLIED}, {"order", APPLIED}, {"eval-every", APPLIED},
    {"best-by", ALL}, {"patience", ALL}, {"min-delta", ALL},
    {"resample-every", APPLIED}, {"samples", APPLIED}, {"log-every", ALL},

    {"edge-split", WHOLE}, {"relation", WHOLE}, {"negatives", WHOLE}, {"negative", WHOLE},
    {"eval-negatives", WHOLE}, {"fanout", WHOLE}, {"relation-fanout", WHOLE}, {"draw", WHOLE}, {"replace", WHOLE},
    {"batch-dependency", APPLIED}, {"layer-dependency", WHOLE},
    {"batch", WHOLE}, {"executors", WHOLE}, {"sample-on", WHOLE}, {"sample-group", WHOLE},
    {"pipeline", WHOLE}, {"trace-timeline", WHOLE},

    {"cache", ROWLESS}, {"exchange", ROWLESS}, {"policy", ROWLESS}, {"presc-epochs", ROWLESS},
    {"scores", ROWLESS}, {"superbatch", ROWLESS}, {"layout", ROWLESS}, {"phased-memory", ROWLESS},
    {"ways", ROWLESS}, {"window", ROWLESS}, {"update", ROWLESS}, {"threshold", ROWLESS},
    {"evict", ROWLESS}, {"device-memory", ROWLESS}, {"device-policy", ROWLESS},
    {"victim", ROWLESS},

    {"resume", SHORT}, {"checkpoint-every", SHORT},

    {"task", HOPS}, {"loss", HOPS}, {"seed", HOPS}, {"sampler", HOPS}, {"neighbors", HOPS}, {"walks", HOPS},
    {"walk-length", HOPS}, {"walk-restart", HOPS}, {"time", HOPS}, {"time-strategy", HOPS}, {"time-window", HOPS},
    {"disjoint", HOPS}, {"topology", HOPS}, {"neighbor-cache", HOPS}, {"device", HOPS},
    {"pack-dtype", OG__UNUSED_SMOOTH},
};
/* clang-format on */

static bool is_unused(const char *name, enum og__unused by)
{
    for (size_t i = 0; i < OG_COUNT(unused); i++)
        if (strcmp(unused[i].name, name) == 0)
            return unused[i].by & by;
    return false;
}

void og__log_unused_options(const struct og_log *log, const struct og_option_set *requested,
                            enum og__unused by)
{
    static const char *const why[] = {
        [OG__UNUSED_BATCHES] = "no model is trained",
        [OG__UNUSED_JUDGING] = "nothing is trained, and the model is the checkpoint's",
        [OG__UNUSED_WHOLE] =
            "the checkpoint's model computes every node with all its neighbours, layer by layer",
        [OG__UNUSED_ROWLESS] = "no rows are read without --with-features",
        [OG__UNUSED_HOPS] = "features are propagated, without a model",
        [OG__UNUSED_SMOOTH] = "predictions are smoothed, without a model"};
    const struct og_option *option;
    size_t used = 0, n = 0;
    char names[1024] = "";
    for (size_t i = 0; (option = og_option(i)) && used < sizeof(names); i++) {
        if (!og__option_set_has(requested, i) || !is_unused(option->name, by))
            continue;
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s--%s", n ? ", " : "",
                                 option->name);
        n++;
    }
    if (n > 0)
        og__say(log, OG__WARN, "%s %s no effect: %s", names, n > 1 ? "have" : "has", why[by]);
}

/* A command has options of training in common with others that make something of them. */
bool og_option_used(const char *command, size_t i)
{
    static const struct {
        const char *command;
        unsigned by; /* each of these: it depends on the graph or on --full */
    } known[] = {{"predict", OG__UNUSED_WHOLE | OG__UNUSED_JUDGING},
                 {"eval", OG__UNUSED_WHOLE | OG__UNUSED_JUDGING},
                 {"serve", OG__UNUSED_JUDGING},
                 {"propagate", OG__UNUSED_HOPS},
                 {"smooth", OG__UNUSED_SMOOTH}};
    const struct og_option *option = og_option(i);
    for (size_t k = 0; option && k < OG_COUNT(known); k++)
        for (size_t j = 0; strcmp(known[k].command, command) == 0 && j < OG_COUNT(unused); j++)
            if (strcmp(unused[j].name, option->name) == 0)
                return (unused[j].by & known[k].by) != known[k].by;
    return option != NULL;
}

/* The run ends before the rate reaches --lr. */
static void log_long_warmup(const struct og_plan_inputs *p)
{
    const struct og_options *opt = &p->config->opt;
    const uint64_t steps = count_steps(p) * (uint64_t)OG_MAX(opt->epochs, 0);
    if ((p->config->want & MODEL) && steps > 0 && (uint64_t)opt->warmup > steps)
        og__say(&p->config->log, OG__INFO,
                "--warmup %d: the run has %llu steps, so the learning rate stays below --lr %g",
                opt->warmup, (unsigned long long)steps, opt->lr);
}

void og__log_other_task(const struct og_log *log, const struct og_options *opt, int task)
{
    char why[64];
    snprintf(why, sizeof(why), "the checkpoint is of the task %s", og__task_words[OG_MAX(task, 0)]);
    if (task >= 0 && opt->task != task && og_options_given(opt, "task"))
        og__log_without_effect(log, "", "task", NULL, "", why);
}

/* ---- of a session ---- */

void og__log_idle_options(const struct og_plan_inputs *p)
{
    const struct og_option *option;
    char of_preset[48], text[32];
    if (p->config->opt.removed)
        og__say(&p->config->log, OG__WARN, "%s in the file of options has no effect any more",
                p->config->opt.removed);
    const unsigned want = p->config->want;
    if (!(want & OG__WANT_MODEL))
        og__log_unused_options(&p->config->log, &p->config->requested, OG__UNUSED_BATCHES);
    if (want & OG__WANT_RECORD && !(want & OG__WANT_FEATURES))
        og__log_unused_options(&p->config->log, &p->config->requested, OG__UNUSED_ROWLESS);
    snprintf(of_preset, sizeof(of_preset),
             "--preset %s: ", og__option_text(&p->config->opt, "preset", text));
    for (size_t i = 0; (option = og_option(i)); i++) {
        const bool own = og__option_set_has(&p->config->requested, i);
        if (own || og__option_set_has(&p->config->preset_requested, i))
            log_if_idle(p, option, own ? "" : of_preset);
    }
    log_long_warmup(p);
}

/* ---- which were requested ---- */

struct og_option_set og__options_set_apart(const struct og_options *opt)
{
    const struct og_option *option;
    struct og_options usual;
    struct og_option_set set = {0};
    og__options_init(&usual);
    for (size_t i = 0; (option = og_option(i)); i++) {
        char a[32], b[32];
        bool same = strcmp(og__option_text(opt, option->name, a),
                           og__option_text(&usual, option->name, b)) == 0;
        if (option->type == OG_OPTION_LIST)
            same = opt->n_fanout == usual.n_fanout &&
                   memcmp(opt->fanout, usual.fanout, sizeof(usual.fanout)) == 0;
        if (!same)
            og__option_set_add(&set, i);
    }
    og__options_release(&usual);
    return set;
}
