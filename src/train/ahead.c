#include "train/ahead.h"

#include "base/file.h"

#include <stdlib.h>

/* ---- how far ahead ---- */

/* Batches of the epoch that `item` belongs to, and where it ends. */
static uint64_t epoch_end(const struct og_session *s, uint64_t item)
{
    struct og_turn turn = og__schedule_at(&s->schedule, item);
    return og__schedule_start(&s->schedule, turn.epoch + 1);
}

uint64_t og__superbatch_end(const struct og_session *s, enum og__split pass, uint64_t first,
                            uint64_t last)
{
    uint64_t end = first + s->memory.superbatch;
    if (s->opt.superbatch > 0 || pass != OG__SPLITS)
        return OG_MIN(end, last);
    /* Parts of an epoch are about equal, and none goes beyond it: its end is where the user's
     * figures are told. */
    uint64_t stop = OG_MIN(epoch_end(s, first), last);
    uint64_t left = stop - first;
    uint64_t parts = (left + s->memory.superbatch - 1) / s->memory.superbatch;
    return first + (left + parts - 1) / OG_MAX(parts, (uint64_t)1);
}

/* ---- one superbatch ---- */

struct ahead {
    struct og_session *s;
    struct og_sampled_ahead *sampled; /* [n] of the superbatch */
    uint64_t n, next;
};

static int record(void *arg, struct og_work *w, struct og_err *err)
{
    struct ahead *a = arg;
    a->sampled[a->next++] = (struct og_sampled_ahead){w->sample_seconds, w->topology_read};
    return og__superbatch_append(a->s->superbatch, &w->sampled.batch, err);
}

static int sample_ahead(struct ahead *a, enum og__split pass, uint64_t first, uint64_t last,
                        struct og_err *err)
{
    struct og_flow flow = og__session_flow(a->s);
    flow.gather = NULL;
    a->next = 0;
    og__superbatch_clear(a->s->superbatch);
    int rc = og__flow_run(&flow, pass, first, last, record, a, err);
    return rc < 0 ? rc : og__superbatch_seal(a->s->superbatch, err);
}

/* What the policy makes of it, and the rows it wants in the cache beforehand. */
static int foresee(struct og_session *s, struct og_ahead_counts *done, struct og_err *err)
{
    struct og_trace trace = og__superbatch_trace(s->superbatch);
    double start = og__now();
    uint32_t n_prefill = 0;
    int rc = og__policy_foresee(s->policy, &trace, &n_prefill, err);
    og__timeline_add(s->timeline, "foresee", 0, start, og__now());
    done->plan_seconds = og__now() - start;
    done->prefill = n_prefill;
    if (rc < 0 || n_prefill == 0)
        return rc;
    start = og__now();
    rc = og__gather_prefill(s->gather, s->policy, s->seen ? s->seen->stop : NULL, &done->read, err);
    og__timeline_add(s->timeline, "prefill", 0, start, og__now());
    return rc;
}

static int run_superbatch(struct ahead *a, enum og__split pass, uint64_t first, uint64_t last,
                          og_sink *sink, void *arg, struct og_err *err)
{
    struct og_session *s = a->s;
    struct og_ahead_counts done = {0};
    uint64_t written = og__superbatch_written(s->superbatch);
    int rc = sample_ahead(a, pass, first, last, err);
    if (rc == 0)
        rc = foresee(s, &done, err);
    if (rc < 0)
        return rc;
    done.bytes_written = og__superbatch_written(s->superbatch) - written;
    struct og_flow flow = og__session_flow(s);
    flow.replay = s->superbatch;
    flow.sampled_ahead = a->sampled;
    flow.ahead = done;
    return og__flow_run(&flow, pass, first, last, sink, arg, err);
}

/* ---- all of them ---- */

static int open_superbatch(struct og_session *s, struct og_err *err)
{
    char *own = NULL;
    if (s->superbatch)
        return 0;
    if (!s->opt.scratch && !(own = og__cache_dir()))
        return og__fail(err, -ENOENT, "give --scratch DIR", "no folder to sample ahead in");
    struct og_superbatch_options opt = {.scratch = s->opt.scratch ? s->opt.scratch : own,
                                        .memory = s->memory.trace_blocks,
                                        .n_hops = s->opt.n_fanout,
                                        .n_nodes = (uint64_t)s->ds->n_nodes,
                                        .degrees = og__wants_degrees(s)};
    int rc = og__superbatch_open(&s->superbatch, &opt, s->budget, err);
    free(own);
    return rc;
}

int og__session_run(struct og_session *s, enum og__split pass, uint64_t first, uint64_t last,
                    og_sink *sink, void *arg, struct og_err *err)
{
    if (!s->gather || !og__policy_looks_ahead(s->opt.policy)) {
        struct og_flow flow = og__session_flow(s);
        return og__flow_run(&flow, pass, first, last, sink, arg, err);
    }
    struct ahead a = {.s = s, .n = s->memory.superbatch};
    a.sampled = calloc(a.n, sizeof(*a.sampled));
    if (!a.sampled)
        return og__fail_errno(err, -ENOMEM, NULL, "superbatch");
    int rc = open_superbatch(s, err);
    for (uint64_t end; rc == 0 && first < last; first = end) {
        end = og__superbatch_end(s, pass, first, last);
        rc = run_superbatch(&a, pass, first, end, sink, arg, err);
        if (rc == 0 && end < last && s->seen && s->seen->stop && *s->seen->stop)
            rc = og__fail(err, OG_INTERRUPTED, "go on with --resume", "interrupted");
    }
    free(a.sampled);
    return rc;
}
