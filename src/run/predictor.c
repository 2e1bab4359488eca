/* Predictions of a few nodes or edges at a time, for any number of callers.
 *
 *     callers ──> queue ──> workers, each with a sampler and readers ──> model, one at a time
 *
 * A worker samples the neighbourhoods of a request and reads their rows. Samplers and readers are
 * of the thread that opened them, so workers have threads of their own. Half of the memory is the
 * session's: topology, model, degrees. Requests share the other half. The seeds of a request of
 * edges are their ends; a decoder scores each pair. A seed of disjoint trees is a node and a time.
 */
#include "run/predictor_parts.h"

#include "base/sized.h"
#include "dataset/features.h"
#include "flow/places.h"
#include "flow/structure.h"
#include "learn/checkpoint.h"
#include "nn/tasks.h"
#include "options/options.h"
#include "session/session_of_checkpoint.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS "requests"

enum { MOST_WORKING = 16 };

/* An array that grows. */
struct growing {
    void *data;
    size_t bytes;
};

struct og_answerer {
    struct og_predictor *p;
    pthread_t thread;
    struct og_sampler *sampler;
    struct og_reader **reader; /* [row groups]; NULL: without features */
    struct og_rows *rows;      /* [row groups] of the batch */
    struct og_batch_memory sampled;
    struct og_places_view places;
    struct growing order; /* positions in the batch by node: node << 32 | row of its group */
    struct growing nodes, index, features, made;
    uint32_t *seeds, *seed_of; /* [batch] distinct nodes; for each node of the request its seed */
    uint32_t *ends;            /* [batch] of edges, as positions among the seeds */
    uint32_t *relation;        /* [batch] the same for each edge */
    int64_t *time;             /* [batch] of the seeds */
};

/* ---- memory ---- */

static int grow(struct og_answerer *w, struct growing *a, size_t bytes, struct og_err *err)
{
    struct og_budget *b = w->p->s->budget;
    if (bytes <= a->bytes)
        return 0;
    og__release(b, a->data, a->bytes, REQUESTS);
    a->bytes = 0;
    a->data = og__alloc(b, bytes + bytes / 8, REQUESTS, err);
    if (!a->data)
        return -ENOMEM;
    a->bytes = bytes + bytes / 8;
    return 0;
}

static void drop(struct og_answerer *w, struct growing *a)
{
    og__release(w->p->s->budget, a->data, a->bytes, REQUESTS);
    *a = (struct growing){0};
}

static void drop_arrays(struct og_answerer *w)
{
    struct growing *const arrays[] = {&w->order, &w->nodes, &w->index, &w->features, &w->made};
    for (size_t i = 0; i < OG_COUNT(arrays); i++)
        drop(w, arrays[i]);
    og__places_release(&w->places);
    og__batch_release(&w->sampled);
    og__batch_init(&w->sampled, w->p->s->budget);
}

/* ---- a worker ---- */

static int open_worker(struct og_answerer *w, struct og_err *err)
{
    struct og_session *s = w->p->s;
    const struct og_graph *g = s->workload.row_graph;
    const struct og_reader_options opt = {
        .io = s->config.opt.io, .profile = s->workload.profile, .log = &s->config.log};
    og__batch_init(&w->sampled, s->budget);
    w->places.budget = s->budget;
    w->reader = calloc(g->n_groups, sizeof(struct og_reader *));
    w->rows = calloc(g->n_groups, sizeof(*w->rows));
    w->seeds = calloc(4 * (size_t)w->p->batch, sizeof(*w->seeds));
    w->time = calloc(w->p->batch, sizeof(*w->time));
    if (!w->reader || !w->rows || !w->seeds || !w->time)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    w->seed_of = w->seeds + w->p->batch;
    w->ends = w->seed_of + w->p->batch;
    w->relation = w->ends + w->p->batch;
    OG_DO(og__structure_sampler(&s->structure, &w->sampler, s->budget, err));
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].dim > 0)
            OG_DO(og__features_open(&w->reader[k], &g->group[k], &opt, s->budget, err));
    return 0;
}

static void close_worker(struct og_answerer *w)
{
    const struct og_graph *g = w->p->s->workload.row_graph;
    for (uint32_t k = 0; w->reader && k < g->n_groups; k++)
        og__reader_close(w->reader[k]);
    og__sampler_close(w->sampler);
    drop_arrays(w);
    free(w->time);
    free(w->seeds);
    free(w->rows);
    free(w->reader);
}

/* Nodes draw by (seed, hop, node) alone, and trees by their seed, whatever is requested with them.
 */
static int sample(struct og_answerer *w, uint32_t n_seeds, bool timed, struct og_err *err)
{
    const struct og_sample_key key = {
        .stream = OG__STREAM_EVAL, .epoch = OG__TEST, .batch = 0, .times = timed ? w->time : NULL};
    int rc;
    OG_TRY(og__sample_begin(w->sampler, w->seeds, n_seeds, &w->sampled, err));
    for (int hop = 0; hop < w->p->s->config.opt.n_fanout; hop++)
        OG_TRY(og__sample_hop(w->sampler, &key, hop, &w->sampled, err));
out:
    return rc;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint32_t n_units(const struct og_answerer *w)
{
    return og__plans_units(&w->p->s->workload) ? w->sampled.batch.n_units : 0;
}

/* Numbers the batch's nodes and units of edges within their groups. Returns bytes of their rows. */
static size_t count_rows(struct og_answerer *w)
{
    const struct og_graph *g = w->p->s->workload.row_graph;
    const struct og_batch *batch = &w->sampled.batch;
    uint64_t *order = w->order.data;
    size_t bytes = 0;
    for (uint32_t k = 0; k < g->n_groups; k++)
        w->rows[k] = og__rows_of_group(&g->group[k]);
    for (uint32_t i = 0; i < batch->n_ids; i++)
        order[i] = (uint64_t)batch->ids[i] << 32 | w->rows[og__group_of(g, batch->ids[i])].n++;
    order += batch->n_ids;
    for (uint32_t i = 0; i < n_units(w); i++)
        order[i] = (uint64_t)batch->units[i] << 32 | w->rows[og__group_of(g, batch->units[i])].n++;
    for (uint32_t k = 0; k < g->n_groups; k++)
        bytes += w->rows[k].n * w->rows[k].stride;
    return bytes;
}

/* Reads each row once, in the order of the file; index[] has where the batch's rows are. */
static int read_rows(struct og_answerer *w, struct og_err *err)
{
    const struct og_graph *g = w->p->s->workload.row_graph;
    const size_t n = (size_t)w->sampled.batch.n_ids + n_units(w);
    OG_DO(grow(w, &w->order, n * sizeof(uint64_t), err));
    OG_DO(grow(w, &w->nodes, n * sizeof(uint32_t), err));
    OG_DO(grow(w, &w->index, n * sizeof(uint32_t), err));
    OG_DO(grow(w, &w->features, count_rows(w), err));
    const uint64_t *order = w->order.data;
    uint32_t *nodes = w->nodes.data, *index = w->index.data;
    char *features = w->features.data;
    qsort(w->order.data, n, sizeof(*order), ascending);
    for (uint32_t k = 0, first = 0; k < g->n_groups; first += w->rows[k++].n) {
        struct og_rows *rows = &w->rows[k];
        for (uint32_t i = 0; i < rows->n; i++) {
            nodes[first + i] = (uint32_t)(order[first + i] >> 32) - (uint32_t)g->group[k].first;
            index[first + (uint32_t)order[first + i]] = i;
        }
        if (!w->reader[k] || rows->n == 0)
            continue;
        rows->base = features;
        rows->index = index + first;
        struct og_read_job job = {.rows = nodes + first, .n = rows->n, .out = features};
        OG_DO(og__reader_submit(w->reader[k], &job, err));
        OG_DO(og__reader_wait(w->reader[k], &job, err));
        features += rows->n * rows->stride;
    }
    return 0;
}

/* JSON has no other numbers, and the largest of such a row is no class. */
static int check_finite(const struct og_answerer *w, const struct og_pairs *pairs, size_t columns,
                        size_t n, struct og_err *err)
{
    const float *made = w->made.data;
    for (size_t i = 0; i < n * columns; i++) {
        if (fabsf(made[i]) <= FLT_MAX)
            continue;
        const size_t at = i / columns;
        char what[64];
        if (pairs)
            snprintf(what, sizeof(what), "edge of nodes %u and %u", w->seeds[pairs->a[at]],
                     w->seeds[pairs->b[at]]);
        else
            snprintf(what, sizeof(what), "node %u", w->seeds[at]);
        return og__fail(err, -EDOM, og__diverged_hint, "%s: the output is not a finite number",
                        what);
    }
    return 0;
}

/* Outputs of the seeds, or scores of pairs of them. */
static int compute(struct og_answerer *w, const struct og_pairs *pairs, struct og_err *err)
{
    struct og_predictor *p = w->p;
    struct og_model *m = p->s->learner.model;
    struct og_batch *batch = &w->sampled.batch;
    const struct og_rows *rows = w->rows;
    const size_t columns = (size_t)(pairs ? p->edge_columns : p->columns);
    const size_t n = pairs ? pairs->n : batch->n_seeds, numbers = n * columns;
    struct og_metrics ignored = {0};
    int rc;
    OG_TRY(grow(w, &w->made, numbers * sizeof(float), err));
    OG_TRY(og__places_show(&w->places, batch, &rows, p->s->workload.row_graph, err));
    pthread_mutex_lock(&p->computing);
    rc = og__model_forward(m, batch, rows,
                           og__learner_view(p->s->learner.edges, &p->s->workload, rows), pairs,
                           pairs ? &ignored : NULL, err);
    if (rc == 0)
        rc = og__model_fetch(m, w->made.data, pairs ? og__model_scores(m) : og__model_logits(m),
                             numbers * sizeof(float), err);
    pthread_mutex_unlock(&p->computing);
    if (rc == 0)
        rc = check_finite(w, pairs, columns, n, err);
out:
    og__places_hide(&w->places, batch, &rows);
    return rc;
}

/* The distinct nodes among n; `each` in a row have a time. */
static uint32_t take_seeds(struct og_answerer *w, const int64_t *nodes, const int64_t *times,
                           uint32_t each, uint32_t n)
{
    uint32_t n_seeds = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t time = times ? times[i / each] : 0;
        uint32_t k = 0;
        while (k < n_seeds && (w->seeds[k] != (uint32_t)nodes[i] || w->time[k] != time))
            k++;
        w->seed_of[i] = k;
        w->time[k] = time;
        if (k == n_seeds)
            w->seeds[n_seeds++] = (uint32_t)nodes[i];
    }
    return n_seeds;
}

static int answer_some(struct og_answerer *w, const int64_t *nodes, const int64_t *times,
                       uint32_t n, float *out, struct og_err *err)
{
    const size_t columns = (size_t)w->p->columns;
    int rc;
    OG_TRY(sample(w, take_seeds(w, nodes, times, 1, n), times, err));
    OG_TRY(read_rows(w, err));
    OG_TRY(compute(w, NULL, err));
    const float *made = w->made.data;
    for (uint32_t i = 0; i < n; i++)
        memcpy(out + i * columns, made + w->seed_of[i] * columns, columns * sizeof(*out));
out:
    return rc;
}

/* Scores of n edges whose ends are at most a batch. */
static int answer_edges(struct og_answerer *w, const struct og_asked *r, int64_t first, uint32_t n,
                        float *out, struct og_err *err)
{
    const int64_t *times = r->times ? r->times + first : NULL;
    const size_t width = w->p->s->workload.shape.pair_dim;
    const uint32_t n_seeds = take_seeds(w, r->nodes + 2 * first, times, 2, 2 * n);
    struct og_pairs pairs = {.n = n,
                             .n_edges = n,
                             .n_seeds = n_seeds,
                             .held_out = true,
                             .seeds = w->seeds,
                             .a = w->ends,
                             .b = w->ends + n,
                             .relation = w->relation,
                             .own = r->own ? r->own + (size_t)first * width : NULL};
    int rc;
    for (uint32_t i = 0; i < n; i++) {
        pairs.a[i] = w->seed_of[2 * i];
        pairs.b[i] = w->seed_of[2 * i + 1];
        pairs.relation[i] = r->relation;
    }
    OG_TRY(sample(w, n_seeds, times, err));
    OG_TRY(read_rows(w, err));
    OG_TRY(compute(w, &pairs, err));
    memcpy(out, w->made.data, n * (size_t)w->p->edge_columns * sizeof(*out));
out:
    return rc;
}

static int answer(struct og_answerer *w, const struct og_asked *r, struct og_err *err)
{
    const size_t columns = (size_t)(r->edges ? w->p->edge_columns : w->p->columns);
    const int64_t most = w->p->batch / (r->edges ? 2 : 1);
    int rc = 0;
    for (int64_t first = 0, n; rc == 0 && first < r->n; first += n) {
        n = OG_MIN(r->n - first, most);
        const int64_t *times = r->times ? r->times + first : NULL;
        float *out = r->out + (size_t)first * columns;
        rc = r->edges ? answer_edges(w, r, first, (uint32_t)n, out, err)
                      : answer_some(w, r->nodes + first, times, (uint32_t)n, out, err);
    }
    return rc;
}

/* While nobody else works: all that earlier requests have grown. */
static int drop_all(struct og_predictor *p, struct og_err *err)
{
    for (int i = 0; i < p->n_threads; i++)
        drop_arrays(&p->worker[i]);
    return og__model_reserve(p->s->learner.model, &p->s->workload.caps, false, err);
}

/* A request that needs more than there is leaves all of it to others. */
static int lack_memory(struct og_answerer *w, struct og_err *err)
{
    const uint32_t rows = w->sampled.batch.n_ids;
    *err = (struct og_err){0};
    const int rc = drop_all(w->p, err);
    if (rc < 0)
        return rc;
    return og__fail(err, -ENOMEM,
                    "give more memory, fewer nodes at a time (batch), or a fanout: the "
                    "neighbourhoods are then sampled",
                    "the neighbourhoods of a request with %u rows or more do not fit in memory",
                    rows);
}

/* With the memory of all workers: the others end their requests first, and begin none. */
static int answer_alone(struct og_answerer *w, const struct og_asked *r, struct og_err *err)
{
    struct og_predictor *p = w->p;
    drop_arrays(w);
    pthread_mutex_lock(&p->lock);
    p->alone++;
    p->working--;
    pthread_cond_broadcast(&p->answered);
    while (p->working > 0)
        pthread_cond_wait(&p->answered, &p->lock);
    p->working++;
    pthread_mutex_unlock(&p->lock);
    *err = (struct og_err){0};
    int rc = drop_all(p, err);
    if (rc == 0)
        rc = answer(w, r, err);
    if (rc == -ENOMEM)
        rc = lack_memory(w, err);
    pthread_mutex_lock(&p->lock);
    p->alone--;
    pthread_cond_broadcast(&p->asked);
    pthread_mutex_unlock(&p->lock);
    return rc;
}

static struct og_asked *next_request(struct og_predictor *p)
{
    while (p->alone > 0 || (!p->first && !(p->closing && p->inside == 0)))
        pthread_cond_wait(&p->asked, &p->lock);
    struct og_asked *r = p->first;
    if (!r)
        return NULL;
    p->first = r->next;
    if (!p->first)
        p->last = &p->first;
    p->working++;
    return r;
}

static void serve(struct og_answerer *w)
{
    struct og_predictor *p = w->p;
    struct og_asked *r;
    pthread_mutex_lock(&p->lock);
    while ((r = next_request(p))) {
        struct og_err err = {0};
        pthread_mutex_unlock(&p->lock);
        int rc = answer(w, r, &err);
        if (rc == -ENOMEM)
            rc = answer_alone(w, r, &err);
        pthread_mutex_lock(&p->lock);
        p->working--;
        if (r->err && !r->err->message[0])
            *r->err = err;
        r->rc = rc;
        r->done = true;
        pthread_cond_broadcast(&p->answered);
    }
    pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg)
{
    struct og_answerer *w = arg;
    struct og_predictor *p = w->p;
    struct og_err err = {0};
    const int rc = open_worker(w, &err);
    pthread_mutex_lock(&p->lock);
    p->opened++;
    if (rc < 0 && p->failed == 0) {
        p->failed = rc;
        p->why = err;
    }
    pthread_cond_broadcast(&p->answered);
    pthread_mutex_unlock(&p->lock);
    if (rc == 0)
        serve(w);
    close_worker(w);
    return NULL;
}

/* ---- opening and closing ---- */

/* All neighbours unless a fanout is given, and few nodes at a time. */
static int choose_options(struct og_options *own, const struct og_options *opt,
                          const char *checkpoint, struct og_err *err)
{
    OG_DO(og__options_copy(own, opt, err));
    if (!og_options_given(opt, "batch")) /* not that of training */
        OG_DO(og_options_set(own, "batch", "16", err));
    if (!og_options_given(opt, "fanout"))
        OG_DO(og__session_take_all(own, checkpoint, err));
    return 0;
}

static int open_session(struct og_predictor *p, const char *dataset, const char *checkpoint,
                        const struct og_options *opt, struct og_err *err)
{
    struct og_options own = {0};
    int rc;
    OG_TRY(choose_options(&own, opt, checkpoint, err));
    OG_TRY(og__session_of_checkpoint(&p->s, dataset, checkpoint, &own,
                                     OG__WANT_EVERY | OG__WANT_HALF, "", &p->observer, err));
    OG_TRY(og__checkpoint_load(checkpoint, p->s->learner.model, err));
    (void)og__budget_bound(p->s->budget, (size_t)p->s->config.opt.memory.value);
    const struct og_model_config *shape = &p->s->workload.shape;
    p->columns = og__labels_pairs(shape) ? 0 : shape->n_classes;
    p->edge_columns = og__of_pairs(shape) ? og__score_width(shape) : 0;
    p->batch = (uint32_t)OG_MAX(own.batch, 2); /* both ends of an edge */
out:
    og__options_release(&own);
    return rc;
}

static int start_workers(struct og_predictor *p, struct og_err *err)
{
    const int n = OG_MIN(OG_MAX(2 * p->s->config.opt.threads, 2), (int)MOST_WORKING);
    p->worker = calloc((size_t)n, sizeof(*p->worker));
    if (!p->worker)
        return og__fail_errno(err, -ENOMEM, NULL, "predictor");
    for (; p->n_threads < n; p->n_threads++) {
        struct og_answerer *w = &p->worker[p->n_threads];
        w->p = p;
        const int rc = pthread_create(&w->thread, NULL, work, w);
        if (rc != 0)
            return og__fail_errno(err, -rc, NULL, "predictor: cannot start a thread");
    }
    pthread_mutex_lock(&p->lock);
    while (p->opened < n)
        pthread_cond_wait(&p->answered, &p->lock);
    const int rc = p->failed;
    if (rc < 0 && err)
        *err = p->why;
    pthread_mutex_unlock(&p->lock);
    return rc;
}

void og_predictor_close(struct og_predictor *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    while (p->inside > 0)
        pthread_cond_wait(&p->answered, &p->lock);
    pthread_cond_broadcast(&p->asked);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n_threads; i++)
        pthread_join(p->worker[i].thread, NULL);
    for (uint32_t k = 0; p->names && k < p->s->workload.graph->n_groups; k++)
        og__node_names_close(p->names[k]);
    free(p->names);
    og__session_close(p->s);
    pthread_cond_destroy(&p->answered);
    pthread_cond_destroy(&p->asked);
    pthread_mutex_destroy(&p->computing);
    pthread_mutex_destroy(&p->lock);
    free(p->worker);
    free(p);
}

/* Names stay mapped: nothing is loaded. */
static int open_names(struct og_predictor *p, struct og_err *err)
{
    const struct og_graph *g = p->s->workload.graph;
    int rc = 0;
    p->names = calloc(g->n_groups, sizeof(struct og_node_names *));
    if (!p->names)
        return og__fail_errno(err, -ENOMEM, NULL, "predictor");
    for (uint32_t k = 0; rc == 0 && k < g->n_groups; k++)
        rc = og__node_names_open(&p->names[k], g, k, err);
    return rc;
}

/* The session's rows are of labelled nodes alone. */
static int refuse_hops(const struct og_predictor *p, const char *checkpoint, struct og_err *err)
{
    struct og_inputs inputs;
    const int rc = og__inputs(&p->s->config.opt, &inputs, err);
    if (rc < 0 || inputs.last == 0)
        return rc;
    return og__fail(err, -ENOTSUP, "use predict, which reads propagated rows of all nodes",
                    "%s: trained on propagated features, which are not served", checkpoint);
}

/* What one draws for all nodes of a hop together would depend on what is requested with them. */
static int refuse_ladies(const struct og_predictor *p, struct og_err *err)
{
    const struct og_options *opt = &p->s->config.opt;
    const size_t n = (size_t)p->s->workload.graph->n_relations * (size_t)opt->n_fanout;
    bool draws = false;
    for (size_t i = 0; i < n; i++)
        draws |= p->s->structure.fanouts[i] > 0;
    if (opt->sampler != OG_SAMPLER_LADIES || !draws)
        return 0;
    return og__fail(
        err, -ENOTSUP, "use --sampler uniform, or leave out --fanout",
        "--sampler ladies: a node's neighbours would depend on the others of a request");
}

int og_predictor_open(struct og_predictor **out, const char *dataset, const char *checkpoint,
                      const struct og_options *opt, const struct og_observer *observer,
                      struct og_err *err)
{
    *out = NULL;
    int rc = OG_SIZED(observer, "og_observer", err);
    if (rc < 0)
        return rc;
    struct og_predictor *p = calloc(1, sizeof(*p));
    if (!p)
        return og__fail_errno(err, -ENOMEM, NULL, "predictor");
    pthread_mutex_init(&p->lock, NULL);
    pthread_mutex_init(&p->computing, NULL);
    pthread_cond_init(&p->asked, NULL);
    pthread_cond_init(&p->answered, NULL);
    p->last = &p->first;
    p->observer = observer ? *observer : (struct og_observer){.size = sizeof(p->observer)};
    OG_TRY(open_session(p, dataset, checkpoint, opt, err));
    OG_TRY(refuse_hops(p, checkpoint, err));
    OG_TRY(refuse_ladies(p, err));
    if (p->s->config.opt.sampler == OG_SAMPLER_WALK)
        og__say(&p->s->config.log, OG__WARN,
                "--sampler walk: each hop has walks of its own. Outputs differ from those of "
                "predict");
    OG_TRY(open_names(p, err));
    OG_TRY(start_workers(p, err));
    *out = p;
out:
    if (rc < 0)
        og_predictor_close(p);
    return rc;
}
