/* Predictions of a few nodes or edges at a time, for any number of callers.
 *
 *     callers ──> queue ──> workers, each with a sampler and readers ──> model, one at a time
 *
 * A worker samples the neighbourhoods of a request and reads their rows. Samplers and readers are
 * of the thread that opened them, so workers have threads of their own. Half of the memory is the
 * session's: topology, model, degrees. Requests share the other half. The seeds of a request of
 * edges are their ends; a decoder scores each pair. A seed of disjoint trees is a node and a time.
 */
#include "base/sized.h"
#include "dataset/features.h"
#include "dataset/times.h"
#include "flow/places.h"
#include "flow/structure.h"
#include "learn/checkpoint.h"
#include "nn/relational.h"
#include "nn/tasks.h"
#include "options/fanouts.h"
#include "options/options.h"
#include "report/json.h"
#include "session/session_of_checkpoint.h"

#include <stdlib.h>
#include <string.h>

#define REQUESTS "requests"

enum { MOST_WORKING = 16, BATCH = 16 };

struct request {
    const int64_t *nodes; /* [n], or ends of edges [n][2] */
    const float *own;     /* of edges their features [n][pair_dim]; NULL: none */
    const int64_t *times; /* [n] of the neighbourhoods; NULL: those of the nodes */
    bool edges;
    uint32_t relation; /* of the edges, where scores depend on it */
    int64_t n;
    float *out;
    struct og_err *err;
    int rc;
    bool done;
    struct request *next;
};

/* An array that grows. */
struct growing {
    void *data;
    size_t bytes;
};

struct worker {
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

struct og_predictor {
    struct og_session *s;
    struct og_observer observer;
    int columns; /* of a node; of an edge */
    int edge_columns;
    uint32_t batch; /* nodes at a time */
    pthread_mutex_t lock, computing;
    pthread_cond_t asked, answered;
    struct request *first, **last;
    int inside; /* callers */
    bool closing;
    int n_threads, opened; /* opened: workers that are ready or have failed */
    int failed;
    struct og_err why;
    struct worker *worker;
};

/* ---- memory ---- */

static int grow(struct worker *w, struct growing *a, size_t bytes, struct og_err *err)
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

static void drop(struct worker *w, struct growing *a)
{
    og__release(w->p->s->budget, a->data, a->bytes, REQUESTS);
    *a = (struct growing){0};
}

/* ---- a worker ---- */

static int open_worker(struct worker *w, struct og_err *err)
{
    struct og_session *s = w->p->s;
    const struct og_graph *g = s->workload.row_graph;
    const struct og_reader_options opt = {
        .io = s->config.opt.io, .profile = s->workload.profile, .log = &s->config.log};
    int rc;
    og__batch_init(&w->sampled, s->budget);
    w->places.budget = s->budget;
    w->reader = calloc(g->n_groups, sizeof(struct og_reader *));
    w->rows = calloc(g->n_groups, sizeof(*w->rows));
    w->seeds = calloc(4 * (size_t)w->p->batch, sizeof(*w->seeds));
    w->time = calloc(w->p->batch, sizeof(*w->time));
    if (!w->reader || !w->rows || !w->seeds || !w->time)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", g->path));
    w->seed_of = w->seeds + w->p->batch;
    w->ends = w->seed_of + w->p->batch;
    w->relation = w->ends + w->p->batch;
    OG_TRY(og__structure_sampler(&s->structure, &w->sampler, s->budget, err));
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].dim > 0)
            OG_TRY(og__features_open(&w->reader[k], &g->group[k], &opt, s->budget, err));
out:
    return rc;
}

static void close_worker(struct worker *w)
{
    const struct og_graph *g = w->p->s->workload.row_graph;
    for (uint32_t k = 0; w->reader && k < g->n_groups; k++)
        og__reader_close(w->reader[k]);
    og__sampler_close(w->sampler);
    og__batch_release(&w->sampled);
    og__places_release(&w->places);
    struct growing *const arrays[] = {&w->order, &w->nodes, &w->index, &w->features, &w->made};
    for (size_t i = 0; i < OG_COUNT(arrays); i++)
        drop(w, arrays[i]);
    free(w->time);
    free(w->seeds);
    free(w->rows);
    free(w->reader);
}

/* Nodes draw by (seed, hop, node) alone, and trees by their seed, whatever is requested with them.
 */
static int sample(struct worker *w, uint32_t n_seeds, bool timed, struct og_err *err)
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

static uint32_t n_units(const struct worker *w)
{
    return og__plans_units(&w->p->s->workload) ? w->sampled.batch.n_units : 0;
}

/* Numbers the batch's nodes and units of edges within their groups. Returns bytes of their rows. */
static size_t count_rows(struct worker *w)
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
static int read_rows(struct worker *w, struct og_err *err)
{
    const struct og_graph *g = w->p->s->workload.row_graph;
    const size_t n = (size_t)w->sampled.batch.n_ids + n_units(w);
    int rc;
    OG_TRY(grow(w, &w->order, n * sizeof(uint64_t), err));
    OG_TRY(grow(w, &w->nodes, n * sizeof(uint32_t), err));
    OG_TRY(grow(w, &w->index, n * sizeof(uint32_t), err));
    OG_TRY(grow(w, &w->features, count_rows(w), err));
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
        OG_TRY(og__reader_submit(w->reader[k], &job, err));
        OG_TRY(og__reader_wait(w->reader[k], &job, err));
        features += rows->n * rows->stride;
    }
out:
    return rc;
}

/* Outputs of the seeds, or scores of pairs of them. */
static int compute(struct worker *w, const struct og_pairs *pairs, struct og_err *err)
{
    struct og_predictor *p = w->p;
    struct og_model *m = p->s->learner.model;
    struct og_batch *batch = &w->sampled.batch;
    const struct og_rows *rows = w->rows;
    const size_t numbers =
        pairs ? pairs->n * (size_t)p->edge_columns : batch->n_seeds * (size_t)p->columns;
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
out:
    og__places_hide(&w->places, batch, &rows);
    return rc;
}

/* The distinct nodes among n; `each` in a row have a time. */
static uint32_t take_seeds(struct worker *w, const int64_t *nodes, const int64_t *times,
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

static int answer_some(struct worker *w, const int64_t *nodes, const int64_t *times, uint32_t n,
                       float *out, struct og_err *err)
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
static int answer_edges(struct worker *w, const struct request *r, int64_t first, uint32_t n,
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

static int answer(struct worker *w, const struct request *r, struct og_err *err)
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

/* A request that needs more than there is leaves all of it to others. */
static int lack_memory(struct worker *w, struct og_err *err)
{
    struct og_predictor *p = w->p;
    const uint32_t rows = w->sampled.batch.n_ids;
    struct growing *const arrays[] = {&w->order, &w->nodes, &w->index, &w->features, &w->made};
    for (size_t i = 0; i < OG_COUNT(arrays); i++)
        drop(w, arrays[i]);
    og__places_release(&w->places);
    og__batch_release(&w->sampled);
    og__batch_init(&w->sampled, p->s->budget);
    pthread_mutex_lock(&p->computing);
    const int rc = og__model_reserve(p->s->learner.model, &p->s->workload.caps, false, NULL);
    pthread_mutex_unlock(&p->computing);
    if (rc < 0)
        return rc;
    *err = (struct og_err){0};
    return og__fail(err, -ENOMEM,
                    "give more memory, fewer nodes at a time (batch), or a fanout: the "
                    "neighbourhoods are then sampled",
                    "the neighbourhoods of a request with %u rows or more do not fit in memory",
                    rows);
}

static struct request *next_request(struct og_predictor *p)
{
    while (!p->first && !p->closing)
        pthread_cond_wait(&p->asked, &p->lock);
    struct request *r = p->first;
    if (!r)
        return NULL;
    p->first = r->next;
    if (!p->first)
        p->last = &p->first;
    return r;
}

static void serve(struct worker *w)
{
    struct og_predictor *p = w->p;
    struct request *r;
    pthread_mutex_lock(&p->lock);
    while ((r = next_request(p))) {
        struct og_err err = {0};
        pthread_mutex_unlock(&p->lock);
        int rc = answer(w, r, &err);
        if (rc == -ENOMEM)
            rc = lack_memory(w, &err);
        pthread_mutex_lock(&p->lock);
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
    struct worker *w = arg;
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

/* All neighbours unless a fanout is given; few nodes at a time; and half of the memory. */
static int choose_options(struct og_options *own, const struct og_options *opt,
                          const char *checkpoint, struct og_err *err)
{
    int rc;
    OG_TRY(og__options_copy(own, opt, err));
    own->memory = (struct og_amount){OG_BYTES, 0.5 * (double)og__memory_amount(&opt->memory)};
    if (!og_options_given(opt, "batch"))
        own->batch = BATCH;
    if (!og_options_given(opt, "fanout"))
        OG_TRY(og__session_take_all(own, checkpoint, err));
out:
    return rc;
}

static int open_session(struct og_predictor *p, const char *dataset, const char *checkpoint,
                        const struct og_options *opt, struct og_err *err)
{
    struct og_options own = {0};
    const size_t memory = og__memory_amount(&opt->memory);
    int rc;
    OG_TRY(choose_options(&own, opt, checkpoint, err));
    OG_TRY(og__session_of_checkpoint(&p->s, dataset, checkpoint, &own, OG__WANT_EVERY, "",
                                     &p->observer, err));
    OG_TRY(og__checkpoint_load(checkpoint, p->s->learner.model, err));
    (void)og__budget_bound(p->s->budget, memory);
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
        struct worker *w = &p->worker[p->n_threads];
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
    pthread_cond_broadcast(&p->asked);
    while (p->inside > 0)
        pthread_cond_wait(&p->answered, &p->lock);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n_threads; i++)
        pthread_join(p->worker[i].thread, NULL);
    og__session_close(p->s);
    pthread_cond_destroy(&p->answered);
    pthread_cond_destroy(&p->asked);
    pthread_mutex_destroy(&p->computing);
    pthread_mutex_destroy(&p->lock);
    free(p->worker);
    free(p);
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
    OG_TRY(start_workers(p, err));
    *out = p;
out:
    if (rc < 0)
        og_predictor_close(p);
    return rc;
}

/* ---- requests ---- */

int og_predictor_info(const struct og_predictor *p, char **out, struct og_err *err)
{
    const struct og_workload *f = &p->s->workload;
    const char *target = f->types->type[f->types->target].name;
    json_t *fanout = json_array();
    if (og__mixes_seeds(&f->shape))
        target = NULL; /* nodes of several types */
    for (int i = 0; i < p->s->config.opt.n_fanout; i++)
        fanout = og__json_append(fanout, json_integer(p->s->config.opt.fanout[i]));
    json_t *root = json_pack("{s:I s:i s:i s:i s:s? s:o s:i s:i s:I s:I}", "nodes",
                             (json_int_t)f->graph->n_nodes, "columns", p->columns, "edge_columns",
                             p->edge_columns, "edge_features", f->shape.pair_dim, "type", target,
                             "fanout", fanout, "batch", (int)p->batch, "threads", p->n_threads,
                             "memory_bytes", (json_int_t)og__budget_used(p->s->budget),
                             "memory_budget_bytes", (json_int_t)og__budget_limit(p->s->budget));
    return og__json_deliver(root, NULL, out, err);
}

int og_predictor_columns(const struct og_predictor *p)
{
    return p->columns;
}

static int check_nodes(const struct og_predictor *p, const int64_t *nodes, int64_t n,
                       struct og_err *err)
{
    const struct og_workload *f = &p->s->workload;
    const struct og_graph_types *g = f->types;
    const bool several = og__mixes_seeds(&f->shape);
    const int64_t first = several ? 0 : og__first_id(g, g->target);
    const int64_t end = several ? f->graph->n_nodes : g->type[g->target].end;
    for (int64_t i = 0; i < n; i++) {
        if (nodes[i] < first || nodes[i] >= end)
            return og__fail(err, -EINVAL, "ids count as in train.npy", "node %lld: %lld to %lld %s",
                            (long long)nodes[i], (long long)first, (long long)end - 1,
                            "are predicted");
        const uint32_t type = og__graph_type(g, (uint32_t)nodes[i]);
        if (several && !og__makes_logits(&f->shape, type))
            return og__fail(err, -EINVAL, "give nodes of types with labels",
                            "node %lld: the model does not predict type %s", (long long)nodes[i],
                            g->type[type].name);
    }
    return 0;
}

/* Neighbourhoods that know no future need times: of the request, or of the nodes. */
static int check_times(const struct og_predictor *p, const struct request *r, struct og_err *err)
{
    const struct og_structure *of = &p->s->structure;
    const char *const option = r->edges ? "edge_label_time" : "input_time";
    const bool timed = p->s->config.opt.time != OG_TIMES_OFF;
    char hint[64];
    if (r->times && !timed)
        return og__fail(err, -EINVAL, "leave it out", "%s: the model was trained without --time",
                        option);
    if (r->times || !timed)
        return 0;
    snprintf(hint, sizeof(hint), "give %s, %s", option, r->edges ? "one an edge" : "one a node");
    if (r->edges)
        return og__fail(err, -EINVAL, hint, "trained with --time, and these edges have no times");
    for (int64_t i = 0; i < r->n; i++)
        if (!of->times.node || of->times.node[r->nodes[i]] == OG__NO_TIME)
            return og__fail(err, -EINVAL, hint, "trained with --time, and node %lld has no time",
                            (long long)r->nodes[i]);
    return 0;
}

int og_predictor_edge_columns(const struct og_predictor *p)
{
    return p->edge_columns;
}

int og_predictor_edge_features(const struct og_predictor *p)
{
    return p->s->workload.shape.pair_dim;
}

/* Waits for a worker. */
static int request(struct og_predictor *p, struct request *r, struct og_err *err)
{
    pthread_mutex_lock(&p->lock);
    if (p->closing) {
        pthread_mutex_unlock(&p->lock);
        return og__fail(err, -ECANCELED, NULL, "the predictor is being closed");
    }
    p->inside++;
    *p->last = r;
    p->last = &r->next;
    pthread_cond_signal(&p->asked);
    while (!r->done)
        pthread_cond_wait(&p->answered, &p->lock);
    p->inside--;
    pthread_cond_broadcast(&p->answered);
    pthread_mutex_unlock(&p->lock);
    return r->rc;
}

static int check_more(const struct og_predictor_request *more, struct og_err *err)
{
    return OG_SIZED(more, "og_predictor_request", err);
}

int og_predictor_rows_with(struct og_predictor *p, const int64_t *nodes, int64_t n,
                           const struct og_predictor_request *more, float *out, struct og_err *err)
{
    struct request r = {.nodes = nodes, .n = n, .out = out, .err = err};
    int rc;
    OG_TRY(check_more(more, err));
    r.times = more ? more->times : NULL;
    if (more && (more->own || more->relation))
        return og__fail(err, -EINVAL, "leave it out, or give edges", "nodes have no %s",
                        more->own ? "features of edges" : "relation");
    if (p->columns == 0)
        return og__fail(err, -EINVAL, "give edges", "a model of edges predicts no nodes");
    OG_TRY(check_nodes(p, nodes, n, err));
    OG_TRY(check_times(p, &r, err));
    rc = n < 1 ? 0 : request(p, &r, err);
out:
    return rc;
}

int og_predictor_rows(struct og_predictor *p, const int64_t *nodes, int64_t n, float *out,
                      struct og_err *err)
{
    return og_predictor_rows_with(p, nodes, n, NULL, out, err);
}

/* Whether scores depend on a relation. */
static bool scores_by_relation(const struct og_predictor *p)
{
    const struct og_model_config *shape = &p->s->workload.shape;
    return !og__labels_pairs(shape) && shape->decoder == OG_DECODER_DISTMULT;
}

/* The number of the relation, `name` or that of training. */
static int find_relation(const struct og_predictor *p, const char *name, uint32_t *out,
                         struct og_err *err)
{
    const struct og_graph *g = p->s->workload.graph;
    *out = 0;
    if (!scores_by_relation(p))
        return name ? og__fail(err, -EINVAL, "leave it out",
                               "relation %.100s: scores of this model do not depend on it", name)
                    : 0;
    name = name ? name : p->s->config.opt.relation;
    if (!name)
        return og__fail(err, -EINVAL, "name the relation of the edges",
                        "decoder distmult: scores depend on a relation");
    while (*out < g->n_relations &&
           !og__relation_is_named(g, &g->relation[*out], name, strlen(name)))
        ++*out;
    return *out < g->n_relations ? 0 : og__refuse_relation(g, "relation", name, strlen(name), err);
}

/* Ends of the types that the relation leads from and to. */
static int check_types(const struct og_predictor *p, uint32_t relation, const int64_t *ends,
                       int64_t n, struct og_err *err)
{
    const struct og_graph *g = p->s->workload.graph;
    const struct og_relation *r = &g->relation[relation];
    for (int64_t i = 0; i < 2 * n; i++) {
        const struct og_group *of = &g->group[og__group_of(g, (uint32_t)ends[i])];
        const struct og_group *needed = &g->group[i % 2 ? r->destination : r->source];
        if (of != needed)
            return og__fail(err, -EINVAL, "ids count as in train_edges.npy",
                            "edge %lld: node %lld is of type %s, relation %s needs %s",
                            (long long)(i / 2), (long long)ends[i], of->name, r->name,
                            needed->name);
    }
    return 0;
}

static int check_edges(const struct og_predictor *p, const int64_t *ends, const float *own,
                       int64_t n, struct og_err *err)
{
    const struct og_model_config *shape = &p->s->workload.shape;
    const int64_t n_nodes = p->s->workload.graph->n_nodes;
    if (p->edge_columns == 0)
        return og__fail(err, -EINVAL, "give nodes", "a model of nodes predicts no edges");
    if (n > 0 && !own != (shape->pair_dim == 0))
        return og__fail(err, -EINVAL, NULL, "the model reads %d features of an edge, %s given",
                        shape->pair_dim, own ? "some were" : "none were");
    for (int64_t i = 0; i < 2 * n; i++)
        if (ends[i] < 0 || ends[i] >= n_nodes)
            return og__fail(err, -EINVAL, "ids count as in train_edges.npy",
                            "edge %lld: node %lld, the graph has %lld nodes", (long long)(i / 2),
                            (long long)ends[i], (long long)n_nodes);
    return 0;
}

int og_predictor_edges_with(struct og_predictor *p, const int64_t *ends, int64_t n,
                            const struct og_predictor_request *more, float *out, struct og_err *err)
{
    struct request r = {.nodes = ends, .edges = true, .n = n, .out = out, .err = err};
    int rc;
    OG_TRY(check_more(more, err));
    r.own = more ? more->own : NULL;
    r.times = more ? more->times : NULL;
    OG_TRY(check_edges(p, ends, r.own, n, err));
    OG_TRY(find_relation(p, more ? more->relation : NULL, &r.relation, err));
    if (scores_by_relation(p))
        OG_TRY(check_types(p, r.relation, ends, n, err));
    OG_TRY(check_times(p, &r, err));
    rc = n < 1 ? 0 : request(p, &r, err);
out:
    return rc;
}

int og_predictor_edges(struct og_predictor *p, const int64_t *ends, const float *own, int64_t n,
                       float *out, struct og_err *err)
{
    const struct og_predictor_request more = {.size = sizeof(more), .own = own};
    return og_predictor_edges_with(p, ends, n, &more, out, err);
}
