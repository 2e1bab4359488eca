/* Collects workload statistics: of the dataset once it is open, of batches once profiling has
 * sampled some. */
#include "session/session_parts.h"

#include "base/file.h"
#include "dataset/features.h"
#include "dataset/writer.h"
#include "gather/gather.h"
#include "learn/type_scores.h"
#include "nn/ops.h"
#include "nn/tasks.h"
#include "options/options.h"

#include <math.h>
#include <stdlib.h>

/* ---- of the disks ---- */

/* All of them, on other disks than this one? */
static bool features_apart(const struct og_graph *g, const char *path)
{
    bool apart = true;
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].dim > 0)
            apart = apart && og__features_apart(&g->group[k], path);
    return apart;
}

/* Its disks together; where that is one, and features are on it, it is known already. */
static int know_scratch(struct og_workload *f, const struct og_options *opt, struct og_err *err)
{
    struct og_places folders;
    char *there[OG_MOST_PLACES] = {0};
    int rc = og__scratch_folders(&folders, opt, opt->run, err);
    f->away = f->profile;
    f->apart = folders.n > 0;
    for (uint32_t i = 0; rc == 0 && i < folders.n; i++) {
        if (!(there[i] = og__nearest_there(folders.path[i])))
            rc = og__fail_errno(err, -ENOMEM, NULL, "%s", folders.path[i]);
        f->apart = rc == 0 && f->apart && features_apart(f->row_graph, there[i]);
    }
    f->scratch_disks = OG_MAX(folders.n, 1u);
    if (rc == 0 && (f->apart || folders.n > 1))
        og__profile_load_all((const char *const *)there, (int)folders.n, &f->away);
    for (uint32_t i = 0; i < folders.n; i++)
        free(there[i]);
    og__places_free(&folders);
    return rc;
}

int og__know_disks(struct og_workload *f, const struct og_options *opt, struct og_err *err)
{
    const struct og_graph *g = f->row_graph;
    /* where edges were held out, on another disk */
    og__profile_load(g->relation[0].indices.path, &f->lists);
    f->profile = f->lists;
    for (uint32_t k = g->n_groups; k-- > 0;)
        if (g->group[k].dim > 0)
            og__features_profile(&g->group[k], &f->profile);
    return know_scratch(f, opt, err);
}

/* ---- of the dataset ---- */

/* Lists of relations do not begin with those of the hop before. */
static unsigned extras_of(const struct og_workload *f, const struct og_options *opt)
{
    const struct og_sampling how = og__sampling_setup(opt, f->edge_units);
    const unsigned weights = og__sampling_weighs(&how) ? OG__WITH_WEIGHTS : 0u;
    const unsigned edges = how.edges ? OG__WITH_EDGES : 0u;
    const unsigned trees = og__sampling_of_trees(how.kind) ? OG__WITH_TREES : 0u;
    const unsigned nested = opt->draw == OG_DRAW_ONCE ? OG__NESTED : 0u;
    return og__learner_extras(f) | weights | edges | trees |
           (f->trace.n_relations > 0 ? OG__WITH_RELATIONS : nested);
}

void og__know_trace(struct og_workload *f, const struct og_options *opt)
{
    f->trace = (struct og_trace_options){.n_hops = opt->n_fanout,
                                         .n_nodes = (uint64_t)f->graph->n_nodes,
                                         .n_relations = og__related(f->graph)};
    f->trace.extras = extras_of(f, opt);
}

static uint64_t list_bytes(const struct og_graph *g)
{
    uint64_t bytes = 0;
    for (uint32_t r = 0; r < g->n_relations; r++)
        bytes += (uint64_t)g->relation[r].indices.bytes;
    return bytes;
}

static int know_groups(struct og_workload *f, struct og_err *err)
{
    const struct og_graph *g = f->row_graph;
    f->group = calloc(g->n_groups, sizeof(*f->group));
    if (!f->group)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].dim > 0)
            f->group[f->n_groups++].row_bytes = og__row_bytes(&g->group[k]);
    return 0;
}

int og__know_graph(struct og_workload *f, const struct og_options *opt, struct og_err *err)
{
    const struct og_graph *ds = f->graph;
    const struct og_sampling how = og__sampling_setup(opt, NULL);
    OG_DO(know_groups(f, err));
    f->n_nodes = (uint64_t)f->row_graph->n_nodes;
    f->list_bytes = list_bytes(ds);
    f->row_bytes = f->row_graph->n_groups == 1 ? og__row_bytes(ds->group) : 0;
    f->cache_rows = og__cache_rows(&opt->cache, f->n_nodes, f->row_bytes);
    f->bytes.neighbors_least = og__neighbors_least_bytes(ds);
    f->bytes.neighbors_most =
        og__neighbors_whole_bytes(ds, og__sampling_weights(&how) != OG__NO_WEIGHTS);
    return 0;
}

/* Bytes that a pass over a held-out split keeps. */
static size_t pass_bytes(const struct og_workload *f, uint32_t ranks)
{
    const struct og_pass_sizes sizes = og__pass_sizes(&f->shape, og__held_out_items(f));
    return og__pass_bytes(&sizes) + og__type_scores_bytes(f, OG_MAX((int)ranks, 1));
}

void og__know_splits(struct og_workload *f, unsigned want, uint32_t ranks)
{
    for (int i = 0; i < OG__SPLITS; i++) {
        const struct og_split *split = &f->split[i];
        f->bytes.seeds += og__split_bytes(f, split) + og__split_relation_bytes(split) +
                          og__split_negatives_bytes(split) +
                          (split->times ? (size_t)split->n * sizeof(*split->times) : 0);
        if (split->labels)
            f->bytes.labels += og__labels_bytes(f->graph, split->n);
        f->bytes.labels += og__split_own_bytes(f, split);
    }
    f->bytes.seeds += f->triples.size * sizeof(*f->triples.table);
    f->bytes.seeds += f->arrivals.n * sizeof(*f->arrivals.node);
    if (want & OG__WANT_MODEL)
        f->bytes.scores = pass_bytes(f, ranks);
}

/* ---- of its batches ---- */

/* Rows of a group in the largest batch; units are no more than its edges. */
static uint64_t input_rows(const struct og_workload *f, uint32_t group)
{
    const struct og_group *of = &f->row_graph->group[group];
    uint64_t edges = 0;
    if (group < f->graph->n_groups)
        return OG_MIN(og__nodes_of(&f->by_type, f->caps.n_hops, group), og__input_rows(f));
    for (uint32_t h = 0; h < f->caps.n_hops; h++)
        edges += og__edges_of(&f->by_type, h, of->relation);
    return OG_MIN(OG_MIN(edges, f->caps.n_units), (uint64_t)of->n_nodes);
}

static void know_rows(struct og_session *s)
{
    struct og_workload *f = &s->workload;
    const struct og_graph *g = f->row_graph;
    f->bytes.reader = og__gather_reader_bytes(g, s->config.opt.io);
    f->bytes.input = f->bytes.widest = 0;
    f->bytes.files = f->group_rows = 0;
    for (uint32_t t = 0, k = 0; t < g->n_groups; t++) {
        const size_t row_bytes = og__row_bytes(&g->group[t]);
        const uint64_t rows = input_rows(f, t);
        if (row_bytes == 0)
            continue;
        f->group[k++] = (struct og_rows_known){row_bytes, rows, rows};
        f->group_rows += rows;
        f->bytes.input += (size_t)rows * row_bytes;
        f->bytes.widest = OG_MAX(f->bytes.widest, row_bytes);
        f->bytes.files += (uint64_t)g->group[t].n_nodes * row_bytes;
    }
    f->bytes.read = f->bytes.input;
}

/* For a device that samples, with a backend of its own; what it takes there is of --device-memory.
 * There is one hop at a time. */
static int know_sampling(struct og_session *s, struct og_err *err)
{
    struct og_workload *f = &s->workload;
    const struct og_nn_ops *ops;
    uint64_t most = 0;
    f->bytes.sampling_staging = f->bytes.device_sampling = 0;
    if (s->config.opt.sample_on == OG_SAMPLE_ON_HOST)
        return 0;
    OG_DO(og__nn_find(&ops, s->config.opt.device, err));
    f->bytes.sampling_staging = ops->own_bytes(s->config.opt.threads);
    for (uint32_t h = 0; h < f->caps.n_hops; h++)
        most = OG_MAX(most, f->caps.hop[h].n_edges);
    if (og__has_tiers(&s->config))
        f->bytes.device_sampling =
            ops->samplers->bytes(&s->structure.topology,
                                 s->config.opt.sample_on == OG_SAMPLE_ON_PINNED, og__input_rows(f),
                                 most) +
            ops->device_own_bytes();
    return 0;
}

/* Requests to this rank are as many as its own, times the number of ranks, or more. Nodes of one
 * kind may be all one rank's. `rows` of a batch, of nodes from `first` to `end`. */
static uint64_t requested_of(const struct og_session *s, const struct og_profiling *profiling,
                             uint64_t rows, uint32_t first, uint64_t end)
{
    const struct og_share *own = &s->config.share;
    uint64_t all = 0;
    uint64_t owned = 0;
    for (uint64_t i = 0; i < profiling->rows; i++) {
        const bool is_of = profiling->ids[i] >= first && profiling->ids[i] < end;
        all += is_of;
        owned += is_of && og__owner_of(own->ranks, profiling->ids[i]) == own->rank;
    }
    const double share = (double)owned / (double)OG_MAX(all, (uint64_t)1);
    const double times = OG_MAX(share * own->ranks, 1.0);
    return (uint64_t)ceil((double)rows * times);
}

/* Sizes of each group by itself, and of those with features also the bytes. */
static void know_requested(struct og_session *s, const struct og_profiling *profiling)
{
    struct og_workload *f = &s->workload;
    const struct og_graph *g = f->row_graph;
    const uint64_t ranks = s->config.share.ranks;
    f->requested_rows = f->own_nodes = 0;
    f->bytes.requested = f->bytes.sent = 0;
    if (!og__exchanges(&s->config))
        return;
    f->own_nodes = og__nodes_known(&s->config, f->n_nodes);
    f->group_rows = 0;
    f->bytes.read = 0;
    for (uint32_t t = 0, k = 0; t < g->n_groups; t++) {
        const uint64_t first = (uint64_t)g->group[t].first;
        const uint64_t end = first + (uint64_t)g->group[t].n_nodes;
        const uint64_t own = og__group_known(&s->config, &g->group[t]);
        const uint64_t requested =
            requested_of(s, profiling, input_rows(f, t), (uint32_t)first, end);
        const size_t row_bytes = og__row_bytes(&g->group[t]);
        f->requested_rows += requested;
        if (row_bytes == 0)
            continue;
        f->group[k++].read = OG_MIN(requested, own);
        f->group_rows += OG_MIN(requested, own);
        f->bytes.requested += (size_t)requested * row_bytes;
        f->bytes.sent += (size_t)((requested * (ranks - 1) + ranks - 1) / ranks) * row_bytes;
        f->bytes.read += (size_t)OG_MIN(requested, own) * row_bytes;
    }
    if (f->requested_rows == 0)
        know_rows(s);
}

int og__know_batches(struct og_session *s, const struct og_profiling *profiling, struct og_err *err)
{
    struct og_workload *f = &s->workload;
    const unsigned want = s->config.want;
    const struct og_trace_options record = og__record_form(f);
    f->caps = og__caps_with_margin(&profiling->caps, &s->config, f);
    f->caps.rows_come = og__has_tiers(&s->config);
    f->caps.types = &f->by_type;
    OG_DO(og__types_with_margin(&f->by_type, &profiling->by_type, &s->config, f, err));
    know_rows(s);
    f->profiling_batches = profiling->n;
    f->profiling_rows = profiling->rows / OG_MAX(profiling->n, 1u);
    f->profiling_seconds = profiling->seconds / OG_MAX(profiling->n, 1u);
    f->growth = profiling->growth;
    know_requested(s, profiling);
    f->bytes.group_staging = og__gather_left_bytes(f->row_graph, og__read_rows(f));
    if (f->planned_groups) {
        f->bytes.planned_ids = og__input_rows(f) * sizeof(uint32_t);
        f->bytes.group_staging += og__gather_staging_bytes(f->row_graph, og__read_rows(f));
    }
    f->bytes.samples = s->offline ? og__samples_memory(s->offline->samples) : 0;
    f->bytes.sampler = og__sampler_bytes(&f->caps);
    og__structure_sizes(&s->structure, s->exec.topology, f);
    f->bytes.batch = og__batch_bytes(&f->caps, f->trace.extras) + og__seeds_bytes(&f->seeds) +
                     (f->seeds.trees ? og__places_bytes(og__input_rows(f)) : 0);
    if (want & OG__WANT_RECORD) /* of samples that are made for others */
        f->bytes.record = og__trace_writer_bytes(&record) +
                          (want & OG__WANT_FEATURES ? (size_t)f->n_groups * 2 * OG__NPY_BUFFER : 0);
    if (s->config.handover.n > 0)
        f->bytes.handed = s->config.handover.bytes(f, want);
    f->bytes.degrees = want & OG__WANT_MODEL ? og__degrees_bytes(f) : 0;
    if (want & OG__WANT_MODEL)
        og__learner_sizes(&s->learner, f, &s->config);
    return know_sampling(s, err);
}
