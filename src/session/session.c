/* Opening a session in five calls, each from what those before it gave, and closing it:
 *
 *   og__session_configure   options, use          ──> configuration
 *   open_data               dataset               ──> graph, pool, budget
 *   know_batches            graph, configuration  ──> workload: seeds, schedule, the model's shape
 *   og__session_place       all of these          ──> topology, execution plan, memory plan
 *   finish                  plans                 ──> learner, data path */
#include "session/session_parts.h"

#include "base/file.h"
#include "base/scratch.h"
#include "choose/hotness.h"
#include "dataset/features.h"
#include "dataset/files.h"
#include "dataset/hops.h"
#include "dataset/names.h"
#include "flow/exchange.h"
#include "learn/checkpoint.h"
#include "nn/tasks.h"
#include "options/options.h"
#include "session/option_effects.h"

#include <stdlib.h>
#include <string.h>

/* ---- opening, step by step ---- */

static int build_session(struct og_session *s, unsigned want, struct og_err *err)
{
    int rc;
    if (want & OG__WANT_MODEL) {
        OG_TRY(og__session_count_degrees(s, err));
        OG_TRY(og__learner_open(&s->learner, &s->given, s->pool, s->budget, err));
        s->path.to = (struct og_rows_to){s->learner.ops, og__model_backend(s->learner.model),
                                         s->learner.devices};
    }
    OG_TRY(og__data_path_open(&s->path, want, &s->prepare.prefill, err));
    if (s->config.opt.trace_timeline)
        OG_TRY(og__timeline_open(&s->path.timeline, s->config.opt.trace_timeline, err));
out:
    s->prepare.seconds = og__now() - s->opened;
    return rc;
}

static uint32_t weighted(const struct og_workload *f)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < f->graph->n_relations; r++)
        n += f->graph->relation[r].weights.fd >= 0;
    return n;
}

/* --edge-weights auto: a model that normalises by degrees multiplies by the dataset's weights. Not
 * if the sampler has weights of its own. */
static void resolve_weights(struct og_session *s)
{
    struct og_options *opt = &s->config.opt;
    const enum og_sampler_kind sampler = (enum og_sampler_kind)opt->sampler;
    if (opt->edge_weights != OG_EDGE_WEIGHTS_AUTO)
        return;
    const bool used = og__model_normalises(opt->model) && !og__sampling_reads_weights(sampler) &&
                      !og__sampling_by_visits(sampler) &&
                      weighted(&s->workload) == s->workload.graph->n_relations;
    opt->edge_weights = used ? OG_EDGE_WEIGHTS_MULTIPLY : OG_EDGE_WEIGHTS_OFF;
    if (used && s->config.want & OG__WANT_TRAINING)
        og__say(&s->config.log, OG__WARN,
                "%s: edge weights count in --model %s; --edge-weights off leaves them out",
                s->workload.graph->path, og__option_word("model", opt->model));
}

/* Both draw by them and multiply by them, and each edge counts by the square of its weight. */
static void warn_of_weights(const struct og_session *s)
{
    const struct og_options *opt = &s->config.opt;
    const bool drawn = og__sampling_reads_weights((enum og_sampler_kind)opt->sampler);
    const bool convolved = og__edge_weights(opt) != OG_EDGE_WEIGHTS_OFF;
    if (!(s->config.want & OG__WANT_TRAINING) || weighted(&s->workload) == 0)
        return;
    if (!drawn && !convolved)
        og__say(
            &s->config.log, OG__WARN,
            "%s: edge weights have no effect: --edge-weights multiply has convolutions use them, "
            "--sampler weighted draws neighbours by them",
            s->workload.graph->path);
    else if (drawn && convolved)
        og__say(
            &s->config.log, OG__WARN,
            "--edge-weights %s with --sampler weighted: weights count twice, for they also draw",
            og__option_word("edge-weights", opt->edge_weights));
}

static int add_name(void *names, const char *name, struct og_err *err)
{
    (void)err;
    if (!og__file_use(name))
        og__names_add(names, name);
    return 0;
}

static int name_other_files(const struct og_session *s, struct og_err *err)
{
    struct og_names names = {.n = 0};
    const char *dataset = s->workload.graph->path;
    int rc =
        s->config.want & OG__WANT_TRAINING ? og__dataset_files(dataset, add_name, &names, err) : 0;
    if (rc >= 0 && names.n > 0)
        og__say(&s->config.log, OG__INFO, "%s: files that no command reads: %s", dataset,
                og__names_text(&names));
    return rc;
}

/* A split that somebody removed is no reason to stop, but said. */
static int name_missing_files(const struct og_session *s, struct og_err *err)
{
    struct og_names names = {.n = 0};
    const struct og_graph *g = s->workload.graph;
    const char *file;
    json_t *checksum;
    int rc = 0;
    if (!(s->config.want & OG__WANT_TRAINING))
        return 0;
    json_object_foreach(json_object_get(g->meta, "checksums"), file, checksum)
    {
        rc = rc < 0 ? rc : og__exists(g->path, file, err);
        if (rc == 0)
            og__names_add(&names, file);
    }
    if (names.n > 0)
        og__say(&s->config.log, OG__WARN, "%s: meta.json lists files that are not there: %s",
                g->path, og__names_text(&names));
    return OG_MIN(rc, 0);
}

static int check_weights(const struct og_session *s, struct og_err *err)
{
    const struct og_options *opt = &s->config.opt;
    const bool drawn = og__sampling_reads_weights((enum og_sampler_kind)opt->sampler);
    const bool convolved = og__edge_weights(opt) != OG_EDGE_WEIGHTS_OFF;
    if ((drawn || convolved) && weighted(&s->workload) < s->workload.graph->n_relations)
        return og__fail(err, -EINVAL,
                        drawn
                            ? "import the graph with an edge_weight.npy, or use --sampler uniform"
                            : "import the graph with an edge_weight.npy, or use --edge-weights off",
                        "%s: has no edge weights", s->workload.graph->path);
    return convolved ? og__walks_refuse_weights(opt, err) : 0;
}

static int check_sampler(const struct og_session *s, struct og_err *err)
{
    OG_DO(check_weights(s, err));
    if (s->config.opt.draw == OG_DRAW_ONCE && !og__sampling_takes(s->config.opt.sampler, "draw"))
        return og__fail(err, -EINVAL, "leave --draw at each, or use --sampler labor",
                        "--draw once: --sampler %s samples a node again in every hop",
                        og__option_word("sampler", s->config.opt.sampler));
    return 0;
}

/* Evaluation alone trains on nothing. */
static int open_offline(struct og_session *s, unsigned want, struct og_err *err)
{
    bool trains = want & OG__WANT_TRAINING || !(want & OG__WANT_MODEL);
    if (!s->config.opt.samples || !trains)
        return 0;
    const struct og_offline_for run = {.opt = &s->config.opt,
                                       .schedule = &s->workload.schedule,
                                       .graph = s->workload.graph,
                                       .extras = s->workload.trace.extras,
                                       .n_relations = s->workload.trace.n_relations,
                                       .end_of_units = (uint64_t)s->workload.row_graph->n_nodes,
                                       .units = s->workload.edge_units};
    int rc = og__offline_open(&s->offline, &run, s->budget, err);
    s->path.offline = s->offline;
    return rc;
}

static int resolve_group(const struct og_session *s, struct og_group *group, bool of_edges,
                         bool *narrower, struct og_err *err)
{
    const enum og_dtype kept = og__pack_dtype(&s->config.opt, group->stored);
    int rc = 0;
    if (group->learnt) /* it stays as it is */
        return 0;
    if (group->dim > 0 && of_edges && og__dtype_scaled(kept))
        return og__fail(err, -EINVAL, "use --pack-dtype bf16, or --edge-features off",
                        "--pack-dtype %s: features of edges have no scales", og__dtype_name(kept));
    if (group->dim > 0)
        rc = og__features_keep(group, kept, err);
    *narrower |= group->dtype != group->stored;
    return rc;
}

/* Features that are kept as they are stored have one word for it. */
static int resolve_rows(struct og_session *s, struct og_err *err)
{
    struct og_graph *g = s->workload.graph;
    bool narrower = false;
    int rc = 0;
    for (uint32_t k = 0; rc == 0 && k < g->n_groups; k++)
        rc = resolve_group(s, &g->group[k], false, &narrower, err);
    for (uint32_t r = 0; rc == 0 && s->config.want & OG__WANT_EDGE_ROWS && r < g->n_relations; r++)
        rc = resolve_group(s, &g->relation[r].edges, true, &narrower, err);
    if (rc == 0 && !narrower)
        s->config.opt.pack_dtype = OG_PACK_STORED;
    return rc;
}

/* An earlier one stays, unless it is of the part of the run that --resume continues. */
static int check_timeline(const struct og_session *s, struct og_err *err)
{
    const struct og_options *opt = &s->config.opt;
    const char *path = opt->trace_timeline;
    int rc = og__graph_spare(s->workload.graph, path, err);
    if (rc < 0 || !path)
        return rc;
    rc = opt->resume && opt->run ? og__exists(opt->run, "resume.safetensors", err) : 0;
    return rc == 0 ? og__check_absent(path, err) : OG_MIN(rc, 0);
}

/* Its features may be the rows of this rank's nodes alone. */
static int check_share(struct og_session *s, struct og_err *err)
{
    const struct og_share *own = &s->config.share;
    const struct og_graph *g = s->workload.graph;
    if (!g->workers)
        return 0;
    s->config.own_rows = true;
    return g->workers == own->ranks && g->worker == own->rank
               ? 0
               : og__fail(err, -EINVAL, "start as many workers as there are parts, in their order",
                          "%s: has the feature rows of worker %u of %u, this is worker %u of %u",
                          g->path, g->worker, g->workers, own->rank, own->ranks);
}

/* The options then say how the rows were made. So checkpoints, samples and --resume do, too. */
static int name_inputs(struct og_session *s, struct og_err *err)
{
    char **inputs = &s->config.opt.inputs, *named;
    char how[OG__HOPS_HOW];
    og__hops_how(s->workload.graph, how);
    if (asprintf(&named, "%.*s:%s", (int)strcspn(*inputs, ":"), *inputs, how) < 0)
        return og__fail_errno(err, -ENOMEM, NULL, "--inputs");
    free(*inputs);
    *inputs = named;
    return 0;
}

/* Or, for a model of hops, the rows that were made of it. */
static int open_graph(struct og_session *s, const char *dataset, struct og_err *err)
{
    const struct og_options *opt = &s->config.opt;
    struct og_graph **out = &s->workload.graph;
    struct og_inputs inputs;
    OG_DO(og__inputs(opt, &inputs, err));
    if (inputs.last == 0)
        return (og__exchanges(&s->config) ? og__graph_open_share : og__graph_open)(dataset, out,
                                                                                   err);
    if (og__task(opt->task)->targets == OG__OF_PAIRS || opt->task == OG_TASK_EDGE)
        return og__fail(
            err, -EINVAL, "use --inputs 0",
            "--inputs %s: --task %s needs rows of all nodes, these are of the splits' nodes",
            opt->inputs, og__task_words[opt->task]);
    OG_DO(og__hops_open(dataset, inputs.first, inputs.last, inputs.how, out, err));
    return name_inputs(s, err);
}

static int open_dataset(struct og_session *s, const char *dataset, struct og_err *err)
{
    int rc = open_graph(s, dataset, err);
    s->workload.row_graph = s->workload.graph;
    if (rc < 0)
        return rc;
    OG_TRY(name_missing_files(s, err));
    OG_TRY(check_share(s, err));
    if (s->workload.graph->has_types)
        OG_TRY(og__session_check_types(s, err));
out:
    return rc;
}

/* Unless the run has a folder for it. */
static int name_stores(struct og_session *s, struct og_err *err)
{
    struct og_places places;
    int rc = og__scratch_folders(&places, &s->config.opt, NULL, err);
    if (rc == 0)
        rc = og__stores_name(&s->path.stores, places, err);
    og__places_free(&places);
    return rc;
}

/* Names of classes are a model's where it has some. Those of columns must be the same. */
static int take_names(struct og_session *s, struct og_err *err)
{
    const bool judges = !(s->config.want & (OG__WANT_EVERY | OG__WANT_UNJUDGED));
    int rc = 0;
    if (!s->config.checkpoint)
        return 0;
    OG_TRY(og__checkpoint_columns(s->config.checkpoint, s->workload.graph, &s->config.log, err));
    OG_TRY(og__checkpoint_classes(s->config.checkpoint, s->workload.graph,
                                  og__task(s->config.opt.task)->pairs,
                                  judges ? &s->config.log : NULL, err));
out:
    return rc;
}

static int start_session(struct og_session *s, const char *dataset,
                         const struct og_model_config *model, struct og_err *err)
{
    OG_DO(name_stores(s, err));
    OG_DO(open_dataset(s, dataset, err));
    resolve_weights(s);
    OG_DO(check_timeline(s, err));
    OG_DO(og__session_resolve_task(s, err));
    OG_DO(take_names(s, err));
    OG_DO(og__pool_open(&s->pool, s->config.opt.threads, err));
    s->memory.limit = og__own_memory(&s->config);
    s->budget = og__budget_new(OG_MAX(s->memory.limit, s->opening));
    if (!s->budget)
        return og__fail_errno(err, -ENOMEM, NULL, "budget");
    og__budget_divide(s->budget, (size_t)og__memory_parts(&s->config));
    OG_DO(og__session_use_edges(s, model, err));
    OG_DO(og__session_hold_out(s, err));
    OG_DO(og__session_store_rows(s, err));
    OG_DO(resolve_rows(s, err));
    return og__session_know_edges(s, err);
}

/* Parts see what was decided, and one another, from where they lie. */
static void connect(struct og_session *s)
{
    s->given = (struct og_plan_inputs){&s->config, &s->workload, &s->exec};
    s->structure.given = s->given;
    s->structure.budget = s->budget;
    s->path.config = &s->config;
    s->path.workload = &s->workload;
    s->path.exec = &s->exec;
    s->path.memory = &s->memory;
    s->path.budget = s->budget;
    s->path.structure = &s->structure;
    s->path.predicted = &s->predicted;
    og__planner_init(&s->path.planner, s->budget);
}

/* The dataset, and what a session has from its beginning. */
static int open_data(struct og_session *s, const char *dataset, const struct og_model_config *model,
                     struct og_err *err)
{
    const unsigned want = s->config.want;
    int rc;
    OG_TRY(start_session(s, dataset, model, err));
    connect(s);
    OG_TRY(check_sampler(s, err));
    if (want & OG__WANT_FEATURES)
        OG_TRY(og__hotness_check(&s->config.opt, (uint64_t)s->workload.graph->n_nodes, err));
    OG_TRY(og__know_disks(&s->workload, &s->config.opt, err));
    OG_TRY(og__learner_check_labels(&s->workload, &s->config, model, err));
    if (want & OG__WANT_MODEL)
        OG_TRY(og__learner_begin(&s->learner, &s->config, s->pool, err));
    s->baseline_rss = og__rss_now() - og__rest_bytes(s->workload.graph);
out:
    return rc;
}

/* Which batches there are, and for which model. */
static int know_batches(struct og_session *s, const struct og_model_config *model,
                        struct og_err *err)
{
    const unsigned want = s->config.want;
    OG_DO(og__structure_name(&s->structure, s->held_out, err));
    OG_DO(og__structure_fanouts(&s->structure, err));
    OG_DO(og__know_graph(&s->workload, &s->config.opt, err));
    OG_DO(og__session_load_seeds(s, want, err));
    OG_DO(og__session_check_times(s, err));
    OG_DO(og__session_know_types(s, model, err));
    OG_DO(og__session_time_seeds(s, err)); /* of which nodes to predict are some */
    OG_DO(og__session_check_learnt(s, err));
    OG_DO(og__learner_shape(&s->workload, &s->config, model, err));
    s->workload.shape.n_given = og__session_given(s);
    og__keep_class_scores(&s->workload.shape, s->config.opt.best_by,
                          og__held_out_items(&s->workload));
    og__know_trace(&s->workload, &s->config.opt);
    OG_DO(og__session_balance(s, err));
    if (want & OG__WANT_TRAINING)
        OG_DO(og__best_check(&s->workload.shape, s->config.opt.best_by, err));
    og__know_splits(&s->workload, want, s->config.share.ranks);
    OG_DO(og__session_schedule(s, err));
    OG_DO(og__session_order(s, err));
    return open_offline(s, want, err);
}

/* Reports what was planned, and builds it. */
static int finish(struct og_session *s, struct og_err *err)
{
    const unsigned want = s->config.want;
    int rc;
    og__session_say_device(s);
    og__log_idle_options(&s->given);
    warn_of_weights(s);
    OG_TRY(name_other_files(s, err));
    if (!(want & OG__WANT_PLAN_ONLY))
        OG_TRY(build_session(s, want, err));
    else if (!s->predicted.known || (s->predicted.bound && !(want & OG__WANT_QUICK)))
        OG_TRY(build_session(s, 0, err)); /* profiling batches decide what it will do */
out:
    return rc;
}

int og__session_open(struct og_session **out, const char *dataset, const struct og_options *opt,
                     unsigned want, const struct og_model_config *model,
                     const struct og_observer *observer, struct og_err *err)
{
    const struct og_session_use use = {.want = want, .model = model};
    return og__session_open_for(out, dataset, opt, &use, observer, err);
}

/* What a refusal may take to name the smallest --memory that would do. */
#define OPENING_BYTES (64 * OG_MIB)
/* A plan that took longer is not made again to find a smaller --batch. */
#define LOOKING_SECONDS 3
enum { MOST_HALVINGS = 3 };

/* One attempt to open it. */
struct attempt {
    double opened; /* when the first attempt began, and what was read until then */
    struct og_io_counts opened_read;
    size_t opening; /* what comes before the plan may take, if more than --memory: it is refused */
    bool looks;     /* ends where its plan reads much, and opens nothing; */
    bool probes;    /* ends there, whatever it reads */
    bool again;     /* what comes before was logged */
    int smaller;    /* --batch with which less is read; 0 = not known */
    /* what came of it */
    bool planned, reads_much;
    size_t limit; /* of this process; 0 = not known */
    uint32_t rows;
    double bytes; /* of an epoch */
};

/* What was planned is acted upon, unless it is but looked at. */
static int go_on(struct og_session *s, struct attempt *a, bool *opens, struct og_err *err)
{
    a->reads_much = og__session_reads_much(s);
    a->rows = s->memory.n_slots;
    a->bytes = og__session_reads(s);
    *opens = !a->probes && !(a->looks && a->reads_much);
    if (!*opens)
        return 0;
    if (a->reads_much)
        og__session_say_reads(s, a->smaller);
    return finish(s, err);
}

static int try_to_open(struct og_session **out, const char *dataset, const struct og_options *opt,
                       const struct og_session_use *use, const struct og_observer *observer,
                       struct attempt *a, struct og_err *err)
{
    struct og_session *s = calloc(1, sizeof(*s));
    if (!s)
        return og__fail_errno(err, -ENOMEM, NULL, "session");
    bool opens;
    int rc;
    struct og_observer silent = observer ? *observer : (struct og_observer){0};
    silent.message = NULL;
    s->opened = a->opened;
    s->opened_read = a->opened_read;
    s->opening = a->opening;
    OG_TRY(og__session_configure(&s->config, opt, use, a->again ? &silent : observer, err));
    OG_TRY(open_data(s, dataset, use->model, err));
    OG_TRY(know_batches(s, use->model, err));
    if (a->opening > 0) /* unless more is held: the plan refuses that, and names what would do */
        (void)og__budget_bound(s->budget, s->memory.limit);
    OG_TRY(og__session_place(s, err));
    s->config.observer = observer;
    if (observer)
        s->config.log = (struct og_log){observer->message, observer->arg};
    a->looks = a->looks && og__now() - s->opened < LOOKING_SECONDS;
    OG_TRY(go_on(s, a, &opens, err));
    if (!opens)
        goto out;
    og__session_count_prepared(s);
    s->config.checkpoint = s->config.target = s->config.nodes = NULL;
    *out = s;
    return 0;
out:
    a->planned = s->memory.smallest > 0;
    a->limit = s->memory.limit;
    og__timeline_discard(s->path.timeline);
    s->path.timeline = NULL;
    og__session_close(s);
    return rc;
}

/* The largest half, quarter or eighth of --batch that leaves memory for a cache. It also has to
 * read at most half of `bytes`; 0 = there is none. */
static int find_smaller_batch(const char *dataset, const struct og_options *opt,
                              const struct og_session_use *use, double bytes)
{
    struct og_options own;
    int found = 0;
    if (og__options_copy(&own, opt, NULL) < 0)
        return 0;
    own.batch = opt->batch / 2;
    for (int i = 0; !found && i < MOST_HALVINGS && own.batch > 0; i++, own.batch /= 2) {
        struct attempt a = {.opened = og__now(), .probes = true};
        struct og_session *none = NULL;
        struct og_err refusal = {0};
        if (try_to_open(&none, dataset, &own, use, NULL, &a, &refusal) < 0)
            break;
        found = a.rows > 0 && a.bytes <= bytes / 2 ? own.batch : 0;
    }
    og__options_release(&own);
    return found;
}

int og__session_open_for(struct og_session **out, const char *dataset, const struct og_options *opt,
                         const struct og_session_use *use, const struct og_observer *observer,
                         struct og_err *err)
{
    struct og_err own = {0}, refusal = {0};
    const double opened = og__now();
    const struct og_io_counts opened_read = og__io_made();
    struct attempt a = {opened, opened_read, .looks = use->share.ranks <= 1 && !use->handover};
    *out = NULL;
    if (!err)
        err = &own; /* refusals below are rewritten, which needs the first message */
    int rc = try_to_open(out, dataset, opt, use, observer, &a, err);
    if (rc == -ENOMEM && !a.planned && a.limit > 0 && a.limit < OPENING_BYTES) {
        /* not even seeds and labels fit: with them, the plan refuses and names what would do */
        a = (struct attempt){opened, opened_read, .opening = OPENING_BYTES};
        if (try_to_open(out, dataset, opt, use, NULL, &a, &refusal) == -ENOMEM && a.planned)
            *err = refusal;
        og__session_close(*out);
        *out = NULL;
    } else if (rc == 0 && !*out) { /* closed, as two at once exceed --memory */
        const int smaller = find_smaller_batch(dataset, opt, use, a.bytes);
        a = (struct attempt){opened, opened_read, .again = true, .smaller = smaller};
        rc = try_to_open(out, dataset, opt, use, observer, &a, err);
    }
    return rc;
}

void og__session_count_prepared(struct og_session *s)
{
    struct og_io_counts read = {0};
    og__io_add_since(&read, s->opened_read);
    s->prepare.reads = read.reads;
    s->prepare.bytes_read = read.bytes;
}

void og__session_close(struct og_session *s)
{
    if (!s)
        return;
    (void)!og__timeline_close(s->path.timeline, NULL); /* of commands that do not report it */
    og__data_path_close(&s->path); /* first: rows may be on the model's device */
    og__learner_close(&s->learner);
    free(s->choice.compared);
    free(s->size);
    og__session_drop_hotness(s);
    for (int i = 0; i < OG__SPLITS; i++) {
        struct og_split *split = &s->workload.split[i];
        og__release(s->budget, split->ids, og__split_bytes(&s->workload, split), "seeds");
        og__release(s->budget, split->relation, og__split_relation_bytes(split), "seeds");
        og__release(s->budget, split->negatives, og__split_negatives_bytes(split), "seeds");
        if (split->labels)
            og__release(s->budget, split->labels, og__labels_bytes(s->workload.graph, split->n),
                        "labels");
        og__release(s->budget, split->own, og__split_own_bytes(&s->workload, split), "labels");
    }
    og__session_drop_classes(s);
    og__session_drop_order(s);
    og__session_drop_times(s);
    og__structure_close(&s->structure);
    og__offline_close(s->offline);
    og__pool_close(s->pool);
    og__session_drop_types(s);
    free(s->workload.group);
    og__session_drop_edges(s);
    og__graph_close(s->workload.graph);
    og__scratch_close(s->held_out);
    og__scratch_close(s->learnt);
    og__budget_free(s->budget);
    og__options_release(&s->config.opt);
    og__options_release(&s->config.upper);
    free(s);
}

size_t og__session_peak_rss(const struct og_session *s)
{
    const struct og_topology *t = &s->structure.topology;
    size_t peak = og__rss_peak();
    size_t mapped = og__io_uses_page_cache(s->config.opt.io) ? og__rss_file() : 0;
    return peak - OG_MIN(peak, s->baseline_rss + mapped + (t->shared.bytes - t->charged) +
                                   og__gather_counted_elsewhere(s->path.gather) +
                                   og__exchange_counted_elsewhere(s->path.exchange));
}
