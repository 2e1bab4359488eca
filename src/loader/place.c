/* The position of a loader, with the inputs that decide its batches. */
#include "loader/loader_text.h"

#include "base/hex.h"
#include "base/json.h"
#include "dataset/identity.h"
#include "options/options.h"
#include "report/json.h"

#include <string.h>

static const char what[] = "state of a loader";
static const char hint[] = "pass the string of og_loader_state";

/* Epochs with the same batches. With a folder of samples another number is accepted, so it is not
 * among the options that decide the batches. */
static int drawn_for(const struct og_session *s)
{
    return OG_MAX(s->workload.schedule.resample_every, 1);
}

/* Whose batches an epoch has: rank, ranks, and of how many whole batches a round is. */
static json_t *share_of(const struct og_session *s)
{
    const struct og_share *own = &s->config.share;
    return json_pack("[I, I, I]", (json_int_t)own->rank, (json_int_t)own->ranks,
                     (json_int_t)s->workload.schedule.whole_rounds);
}

/* Old states without it are of a loader that has all batches. */
static int check_share(const struct og_session *s, const json_t *root, struct og_err *err)
{
    json_t *all = json_pack("[I, I, I]", (json_int_t)0, (json_int_t)1, (json_int_t)0);
    json_t *own = share_of(s);
    const json_t *said = json_object_get(root, "share");
    const bool known = all && own;
    const bool same = known && json_equal(said ? said : all, own);
    json_decref(all);
    json_decref(own);
    if (!known)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", what);
    return same ? 0
                : og__fail(
                      err, -EINVAL, "open the loader with the same rank, world_size and drop_last",
                      "%s: saved by another rank, or with another world_size or drop_last", what);
}

int og__place_print(const struct og_loader *l, struct og_place place, char **out,
                    struct og_err *err)
{
    const struct og_session *s = l->s;
    json_t *root =
        json_pack("{s:i s:I s:I s:s s:s s:i s:o}", "format", 1, "epoch", (json_int_t)place.epoch,
                  "batch", (json_int_t)place.batch, "split", l->split, "seeds",
                  og__hex(l->seeds_checksum).digits, "resample-every", drawn_for(s), "options",
                  og__options_deciding(&s->config.opt, OG_DECIDES_BATCHES));
    root = og__json_with(root, "share", share_of(s));
    root = og__identity_with(root, &s->workload.graph->identity);
    return og__json_deliver(root, NULL, out, err);
}

static int check_dataset(const struct og_session *s, const json_t *root, struct og_err *err)
{
    struct og_identity then;
    char why[OG__WHY] = "it says not of which";
    if (og__identity_get(root, &then) &&
        og__identity_same(&then, &s->workload.graph->identity, why))
        return 0;
    return og__fail(err, -EINVAL, "open the loader on the same dataset",
                    "%s: saved for another dataset than %s: %s", what, s->workload.graph->path,
                    why);
}

static int check_seeds(const struct og_loader *l, const json_t *root, struct og_err *err)
{
    const char *split = json_string_value(json_object_get(root, "split"));
    const char *seeds = json_string_value(json_object_get(root, "seeds"));
    const struct og_hex ours = og__hex(l->seeds_checksum);
    if (split && strcmp(split, l->split) == 0 && seeds && strcmp(seeds, ours.digits) == 0)
        return 0;
    return og__fail(err, -EINVAL, "open the loader with the same seeds",
                    "%s: saved with other seeds (split %s)", what, split ? split : "unknown");
}

/* Old states without it match any number; most runs sample in every epoch. */
static int check_draws(const struct og_session *s, const json_t *root, struct og_err *err)
{
    const json_t *said = json_object_get(root, "resample-every");
    const json_int_t every = said ? json_integer_value(said) : 1;
    if (every == drawn_for(s))
        return 0;
    return og__fail(err, -EINVAL, "open the loader with the same options",
                    "%s: made with another --resample-every (%lld, this run has %d)", what,
                    (long long)every, drawn_for(s));
}

static int read_place(const struct og_loader *l, const json_t *root, struct og_place *place,
                      struct og_err *err)
{
    const json_int_t epoch = json_integer_value(json_object_get(root, "epoch"));
    const json_t *batch = json_object_get(root, "batch");
    const json_int_t number = json_integer_value(batch);
    const uint64_t batches = og__schedule_batches(&l->s->workload.schedule, OG__TRAIN);
    if (json_integer_value(json_object_get(root, "format")) != 1)
        return og__fail(err, -EINVAL, hint, "%s: \"format\" is not 1", what);
    if (epoch < 1 || epoch >= INT32_MAX || !json_is_integer(batch) || number < 0 ||
        (uint64_t)number > batches)
        return og__fail(err, -EINVAL, hint, "%s: there is no such \"epoch\" and \"batch\"", what);
    *place = (struct og_place){(uint32_t)epoch, (uint64_t)number};
    return 0;
}

int og__place_parse(const struct og_loader *l, const char *text, struct og_place *place,
                    struct og_err *err)
{
    json_t *root = NULL;
    int rc;
    OG_TRY(og__json_parse(&root, text, strlen(text), what, hint, err));
    OG_TRY(read_place(l, root, place, err));
    OG_TRY(check_dataset(l->s, root, err));
    OG_TRY(check_seeds(l, root, err));
    OG_TRY(check_draws(l->s, root, err));
    OG_TRY(check_share(l->s, root, err));
    OG_TRY(og__options_match(&l->s->config.opt, json_object_get(root, "options"),
                             OG_DECIDES_BATCHES, "state of a loader: made with",
                             "open the loader with the same options", err));
out:
    json_decref(root);
    return rc;
}
