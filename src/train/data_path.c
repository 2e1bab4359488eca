#include "train/data_path.h"

#include "base/file.h"
#include "base/scratch.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is prepared ahead ---- */

int og__stores_name(struct og_stores *s, const char *named, struct og_err *err)
{
    free(s->scratch);
    s->scratch = named ? strdup(named) : og__cache_dir();
    if (named && !s->scratch)
        return og__fail_errno(err, -ENOMEM, NULL, "scratch");
    if (s->scratch)
        og__scratch_sweep(s->scratch);
    return 0;
}

void og__stores_close(struct og_stores *s)
{
    og__superbatch_close(s->superbatch);
    og__spill_close(s->codes);
    og__pack_close(s->pack);
    og__scratch_close(s->pack_dir);
    og__packs_close(s->packs);
    free(s->scratch);
    *s = (struct og_stores){0};
}

/* ---- samplers and works ---- */

static int open_samplers(struct og_data_path *d, struct og_err *err)
{
    d->samplers = calloc((size_t)og__samplers(d->way), sizeof(struct og_sampler *));
    if (!d->samplers)
        return og__fail_errno(err, -ENOMEM, NULL, "samplers");
    int rc = 0;
    for (int i = 0; i < og__samplers(d->way); i++)
        OG_TRY(og__structure_sampler(d->structure, &d->samplers[i], d->budget, err));
out:
    return rc;
}

static int open_works(struct og_data_path *d, unsigned want, struct og_err *err)
{
    const struct og_facts *f = d->facts;
    uint32_t rows = (uint32_t)og__input_rows(f);
    uint32_t changes = og__policy_admits(d->way->policy) ? OG_MIN(rows, d->memory->n_slots) : 0;
    d->works = calloc((size_t)og__works(d->way), sizeof(*d->works));
    if (!d->works)
        return og__fail_errno(err, -ENOMEM, NULL, "batches");
    int rc = 0;
    for (int i = 0; i < og__works(d->way); i++) {
        struct og_work *w = &d->works[i];
        og__batch_init(&w->sampled, d->budget);
        og__plan_init(&w->plan, d->budget);
        OG_TRY(og__seeds_open(&w->seeds, &f->seeds, d->budget, err));
        OG_TRY(og__batch_reserve(&w->sampled, &f->caps, f->trace.extras, err));
        if ((want & OG__WANT_FEATURES))
            OG_TRY(og__plan_reserve(&w->plan, rows, changes, err));
    }
out:
    return rc;
}

static void close_work(struct og_work *w)
{
    og__batch_release(&w->sampled);
    og__plan_release(&w->plan);
    og__seeds_close(&w->seeds);
}

/* ---- features ---- */

static int fill_rows(struct og_data_path *d, struct og_io_counts *counted, struct og_err *err)
{
    int rc;
    uint32_t *nodes = malloc(2 * OG__FILL_ROWS * sizeof(*nodes));
    uint32_t *slots = nodes ? nodes + OG__FILL_ROWS : NULL;
    OG_TRY(nodes ? 0 : og__fail_errno(err, -ENOMEM, NULL, "filling the cache"));
    for (uint32_t n; (n = og__policy_prefill(d->policy, nodes, slots, OG__FILL_ROWS)) > 0;) {
        OG_TRY(og__gather_fill(d->gather, nodes, slots, n, counted, err));
        OG_TRY(og__stopped(d->config, "stopped while filling caches", err));
    }
out:
    free(nodes);
    return rc;
}

/* Static and learning policies are told that it begins; what they want in the cache is read now. */
static int fill_cache(struct og_data_path *d, uint64_t *prefill, struct og_err *err)
{
    struct og_io_counts counted = {0}; /* with all that is read before the first batch */
    uint32_t n_prefill = 0;
    int rc = og__policy_prepare(d->policy, NULL, &n_prefill, err);
    if (rc < 0)
        return rc;
    *prefill = n_prefill;
    rc = fill_rows(d, &counted, err);
    int ended = og__gather_fill_end(d->gather, &counted, rc < 0 ? NULL : err);
    return rc < 0 ? rc : ended;
}

struct filling_once {
    struct og_data_path *path;
    uint64_t *prefill;
};

static int fill_once(void *arg, struct og_err *err)
{
    const struct filling_once *f = arg;
    return fill_cache(f->path, f->prefill, err);
}

/* All rows, in the order of their ids: whoever of the sharers comes first reads them. */
static int share_cache(struct og_data_path *d, uint64_t *prefill, struct og_err *err)
{
    struct filling_once f = {d, prefill};
    const uint64_t key =
        d->facts->ds->identity.array[OG__FEATURES].contents + 1 + (uint64_t)d->facts->ds->kept;
    return og__gather_share(d->gather, d->config->sharers.common, key, fill_once, &f, err);
}

static int open_features(struct og_data_path *d, uint64_t *prefill, struct og_err *err)
{
    struct og_gather_options opt = {
        .n_slots = d->memory->n_slots,
        .n_yielded = d->memory->n_yielded,
        .fills_beside = og__policy_fills_beside(d->way->policy),
        .staging_rows = d->memory->staging_rows,
        .n_staging = d->memory->n_staging,
        .sharers = d->memory->whole ? d->config->sharers.n : 0,
        .reader = og__reader_setup(d->config, &d->facts->profile),
    };
    int rc = og__gather_open(&d->gather, d->facts->ds, &opt, d->budget, err);
    if (rc == 0 && d->memory->whole)
        return share_cache(d, prefill, err);
    return rc < 0 || og__samples_ahead(d->way) ? rc : fill_cache(d, prefill, err);
}

/* ---- all of it ---- */

int og__data_path_open(struct og_data_path *d, unsigned want, uint64_t *prefill, struct og_err *err)
{
    int rc;
    OG_TRY(open_samplers(d, err));
    OG_TRY(open_works(d, want, err));
    if ((want & OG__WANT_FEATURES))
        OG_TRY(open_features(d, prefill, err));
out:
    return rc;
}

void og__data_path_close(struct og_data_path *d)
{
    og__stores_close(&d->stores); /* first: what a pack is reading goes to a staging area */
    og__gather_close(d->gather);
    for (int i = 0; d->works && i < og__works(d->way); i++)
        close_work(&d->works[i]);
    free(d->works);
    for (int i = 0; d->samplers && i < og__samplers(d->way); i++)
        og__sampler_close(d->samplers[i]);
    free(d->samplers);
    og__planner_release(&d->planner);
    og__policy_close(d->policy);
}
