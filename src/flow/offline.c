#include "flow/offline.h"

#include "base/hex.h"
#include "dataset/identity.h"
#include "options/options.h"

#include <stdlib.h>
#include <string.h>

static const char anew[] = "make it again with `outgrow sample`";

/* ---- the description ---- */

int og__offline_describe(struct og_trace_description *d, const char *dir, struct og_err *err)
{
    int rc = og__trace_describe(d, dir, err);
    const char *lacks = rc < 0                      ? NULL
                        : d->every == 0             ? "resample_every"
                        : d->draws == 0             ? "draws"
                        : d->batches_per_epoch == 0 ? "batches_per_epoch"
                                                    : NULL;
    if (!lacks)
        return rc;
    og__trace_description_release(d);
    return og__fail(err, -EINVAL, anew, "%s/trace.json: \"%s\" must be a count of at least 1", dir,
                    lacks);
}

/* ---- is it what the run would sample? ---- */

static int check_dataset(const struct og_offline *o, const struct og_offline_for *run,
                         const json_t *root, struct og_err *err)
{
    struct og_identity then;
    char why[OG__WHY] = "says not of which dataset";
    if (og__identity_get(root, &then) && og__identity_same(&then, &run->graph->identity, why))
        return 0;
    return og__fail(err, -EINVAL, "sample this dataset: `outgrow sample DATASET --out DIR`",
                    "--samples %s: not samples of %s: %s", o->dir, run->graph->path, why);
}

/* Those that decide which batches there are and what is in them. */
static int check_options(const struct og_offline *o, const struct og_offline_for *run,
                         const json_t *root, struct og_err *err)
{
    char *what;
    if (asprintf(&what, "--samples %s: sampled with", o->dir) < 0)
        return og__fail_errno(err, -ENOMEM, NULL, "--samples");
    int rc = og__options_match(run->opt, json_object_get(root, "options"), OG_DECIDES_BATCHES, what,
                               "give the options it was sampled with, or sample again", err);
    free(what);
    return rc;
}

/* A file may have changed since, or what it is made of. */
static int check_order(const struct og_offline *o, const struct og_offline_for *run,
                       const json_t *root, struct og_err *err)
{
    uint64_t said;
    return !run->schedule->order || (og__json_hex_get(json_object_get(root, "order"), &said) &&
                                     said == run->schedule->order_checksum)
               ? 0
               : og__fail(err, -EINVAL, "give the file as it was, or sample again",
                          "--samples %s: sampled with another order of --order %s", o->dir,
                          run->opt->order);
}

/* Are units of edges those of the run? */
static bool same_units(const struct og_offline_for *run, const json_t *said)
{
    bool same = json_array_size(said) == run->graph->n_relations;
    for (uint32_t r = 0; same && r < run->graph->n_relations; r++)
        same = json_integer_value(json_array_get(said, r)) == (json_int_t)run->units[r].rows;
    return same;
}

static int check_extras(const struct og_offline *o, const struct og_offline_for *run,
                        const struct og_trace_description *said, struct og_err *err)
{
    const unsigned has = said->extras;
    if (run->extras & OG__WITH_EDGES &&
        !same_units(run, json_object_get(said->root, "edges_of_unit")))
        return og__fail(err, -EINVAL, "sample with the same --model, or use --edge-features off",
                        "--samples %s: without the edges whose features --model %s uses", o->dir,
                        og__option_word("model", run->opt->model));
    if (has & OG__WITH_DEGREES || !(run->extras & OG__WITH_DEGREES))
        return 0;
    return og__fail(err, -EINVAL, "sample with the same --model, or train another",
                    "--samples %s: without the degrees that --model %s needs", o->dir,
                    og__option_word("model", run->opt->model));
}

/* ---- does it have all that the run draws? ---- */

uint32_t og__offline_draw(const struct og_offline *o, uint32_t drawn_epoch)
{
    uint32_t before = drawn_epoch - 1;
    bool there = before % o->every == 0 && before / o->every < o->draws;
    return there ? before / o->every : UINT32_MAX;
}

uint32_t og__offline_number(const struct og_offline *o, const struct og_descriptor *descriptor)
{
    const uint32_t draw = og__offline_draw(o, descriptor->drawn_epoch);
    if (draw == UINT32_MAX || descriptor->drawn_batch >= o->per_draw)
        return UINT32_MAX;
    const uint64_t number = (uint64_t)draw * o->per_draw + descriptor->drawn_batch;
    return number < og__samples_batches(o->samples) ? (uint32_t)number : UINT32_MAX;
}

bool og__offline_has(const struct og_offline *o, const struct og_schedule *s, uint32_t epoch)
{
    return og__offline_draw(o, og__schedule_drawn(s, epoch)) != UINT32_MAX;
}

static int refuse_epoch(const struct og_offline *o, uint32_t epoch, const char *hint,
                        struct og_err *err)
{
    return og__fail(err, -EINVAL, hint,
                    "--samples %s: no batches for epoch %u (it has %u draws, one for every %u "
                    "epochs)",
                    o->dir, epoch, o->draws, o->every);
}

int og__offline_check(const struct og_offline *o, const struct og_schedule *s, uint32_t epoch,
                      struct og_err *err)
{
    if (og__offline_has(o, s, epoch))
        return 0;
    uint32_t last = 1;
    while (last + 1 < epoch && og__offline_has(o, s, last + 1))
        last++;
    char hint[80];
    snprintf(hint, sizeof(hint), "it has those of epochs 1 to %u; sample with more --epochs", last);
    return refuse_epoch(o, epoch, hint, err);
}

/* The first epoch that draws batches which are not there; 0 = none. */
static uint32_t lacking(const struct og_offline *o, uint32_t epochs, uint32_t every)
{
    for (uint32_t epoch = 1; epoch <= epochs; epoch += every)
        if (og__offline_draw(o, epoch) == UINT32_MAX)
            return epoch;
    return 0;
}

static int check_draws(const struct og_offline *o, const struct og_offline_for *run,
                       struct og_err *err)
{
    uint32_t epochs = (uint32_t)run->schedule->epochs;
    uint32_t every = (uint32_t)OG_MAX(run->schedule->resample_every, 1);
    uint32_t lacks = lacking(o, epochs, every);
    if (lacks == 0)
        return 0;
    uint32_t would_do = every;
    while (lacking(o, epochs, would_do))
        would_do++;
    char hint[64];
    snprintf(hint, sizeof(hint), "--resample-every %u would do", would_do);
    return refuse_epoch(o, lacks, hint, err);
}

static int check_batches(const struct og_offline *o, const struct og_offline_for *run,
                         struct og_err *err)
{
    uint64_t per_epoch = og__schedule_batches(run->schedule, OG__TRAIN);
    uint64_t there = og__samples_batches(o->samples);
    if (o->per_draw == per_epoch && (uint64_t)o->draws * o->per_draw == there)
        return 0;
    return og__fail(err, -EINVAL, anew,
                    "--samples %s: %llu batches, not %u draws of the %llu of an epoch", o->dir,
                    (unsigned long long)there, o->draws, (unsigned long long)per_epoch);
}

/* ---- open, close ---- */

static int open_batches(struct og_offline *o, const struct og_offline_for *run, struct og_budget *b,
                        struct og_err *err)
{
    const struct og_samples_options opt = {.dir = o->dir,
                                           .n_hops = run->opt->n_fanout,
                                           .extras = run->extras,
                                           .n_relations = run->n_relations,
                                           .n_nodes = (uint64_t)run->graph->n_nodes,
                                           .end_of_units = run->end_of_units,
                                           .units = run->units};
    int rc = og__samples_open(&o->samples, &opt, b, err);
    return rc < 0 ? rc : check_batches(o, run, err);
}

static int open_folder(struct og_offline *o, const struct og_offline_for *run, struct og_budget *b,
                       struct og_err *err)
{
    struct og_trace_description said;
    int rc;
    OG_TRY(og__offline_describe(&said, o->dir, err));
    o->every = said.every;
    o->draws = said.draws;
    o->per_draw = said.batches_per_epoch;
    OG_TRY(check_dataset(o, run, said.root, err));
    OG_TRY(check_options(o, run, said.root, err));
    OG_TRY(check_order(o, run, said.root, err));
    OG_TRY(check_extras(o, run, &said, err));
    OG_TRY(check_draws(o, run, err));
out:
    og__trace_description_release(&said);
    return rc < 0 ? rc : open_batches(o, run, b, err);
}

int og__offline_open(struct og_offline **out, const struct og_offline_for *run, struct og_budget *b,
                     struct og_err *err)
{
    *out = NULL;
    struct og_offline *o = calloc(1, sizeof(*o));
    int rc;
    OG_TRY(o && (o->dir = strdup(run->opt->samples))
               ? open_folder(o, run, b, err)
               : og__fail_errno(err, -ENOMEM, NULL, "--samples"));
    *out = o;
    return 0;
out:
    og__offline_close(o);
    return rc;
}

void og__offline_close(struct og_offline *o)
{
    if (!o)
        return;
    og__samples_close(o->samples);
    free(o->dir);
    free(o);
}
