/* Times of a session's seeds, and what disjoint neighbourhoods do not go with. */
#include "session/session_parts.h"

#include "dataset/edge_labels.h"
#include "dataset/times.h"
#include "options/options.h"

#include <string.h>

static const char part[] = "seeds";

static bool of_trees(const struct og_session *s)
{
    return og__sampling_of_trees((enum og_sampler_kind)s->config.opt.sampler);
}

int og__session_check_times(const struct og_session *s, struct og_err *err)
{
    const struct og_options *opt = &s->config.opt;
    const bool timed = opt->time != OG_TIMES_OFF;
    if ((timed || opt->disjoint) && !of_trees(s))
        return og__fail(err, -EINVAL, "leave --sampler out, or give --sampler disjoint",
                        "--%s: not with --sampler %s", timed ? "time" : "disjoint",
                        og__option_word("sampler", opt->sampler));
    if (!of_trees(s))
        return 0;
    if (opt->sample_on != OG_SAMPLE_ON_HOST)
        return og__fail(err, -ENOTSUP, "use --sample-on host, or leave out --time and --disjoint",
                        "--time, --disjoint: devices do not sample with them yet");
    if (timed && opt->model == OG_MODEL_GCN && s->config.want & OG__WANT_MODEL)
        return og__fail(err, -ENOTSUP, "use --model sage, gat or gin",
                        "--time with --model gcn: degrees at that time are not known");
    return og__times_check(s->workload.graph, (enum og_times_kind)opt->time, err);
}

/* ---- times of seeds ---- */

static int take_given(const struct og_session *s, struct og_split *split, struct og_err *err)
{
    const int64_t *from = s->config.handover.times;
    split->times = og__alloc(s->budget, (size_t)split->n * sizeof(*from), part, err);
    if (!split->times)
        return -ENOMEM;
    memcpy(split->times, from, (size_t)split->n * sizeof(*from));
    return 0;
}

static int read_times(const struct og_session *s, const struct og_npy *a, struct og_split *split,
                      struct og_err *err)
{
    split->times = og__alloc(s->budget, (size_t)split->n * sizeof(int64_t), part, err);
    return split->times ? og__npy_read(a, 0, split->n, split->times, err) : -ENOMEM;
}

static const char *const words[OG__SPLITS] = {"train", "valid", "test"};

/* Its seeds are of the caller's own, and times of the split are not theirs. */
static bool has_own_seeds(const struct og_session *s, enum og__split which)
{
    const struct og_handover *to = &s->config.handover;
    return which == OG__TRAIN && to->n > 0 && (to->seeds || to->links);
}

/* Whether seeds of a type have no times of their own. */
static int find_untimed(const struct og_session *s, struct og_split *split, struct og_err *err)
{
    const struct og_graph *g = s->workload.graph;
    bool seen[OG_MOST_TYPES] = {0};
    int64_t time;
    split->untimed = s->config.opt.time != OG_TIMES_NODE;
    for (int64_t i = 0; i < split->n && !split->untimed; i++) {
        const uint32_t k = og__group_of(g, split->ids[i]);
        if (seen[k])
            continue;
        seen[k] = true;
        OG_DO(og__npy_read(&g->node_times, split->ids[i], 1, &time, err));
        split->untimed = time == OG__NO_TIME;
    }
    return 0;
}

static const char *way_to_times(const struct og_session *s, bool own)
{
    if (s->workload.seeds.edges && !own)
        return "import the graph with train_edge_times.npy, valid_edge_times.npy and "
               "test_edge_times.npy: int64, a number an edge of the list";
    if (own)
        return "give input_time, or edge_label_time of links";
    if (s->config.want & OG__WANT_EVERY)
        return "predict --nodes test, if the graph has test_times.npy; or use outgrow serve, whose "
               "requests have times";
    return "import the graph with train_times.npy, valid_times.npy and test_times.npy: int64, a "
           "number a node of the split";
}

/* Nodes with times of their own need no others. Edges do. */
static int check_seeds(const struct og_session *s, struct og_split *split, enum og__split which,
                       struct og_err *err)
{
    const bool own = has_own_seeds(s, which);
    int rc = 0;
    if (split->n == 0)
        return 0;
    split->untimed = true;
    OG_TRY(s->workload.seeds.edges ? 0 : find_untimed(s, split, err));
    const unsigned others = OG__WANT_TRAINING | OG__WANT_EVERY;
    const bool judges = s->config.want & OG__WANT_MODEL && !(s->config.want & others);
    const bool may_wait = which != OG__TRAIN && s->config.want & OG__WANT_UNEVALUATED;
    if (split->untimed && !judges && !may_wait)
        rc = og__fail(err, -EINVAL, way_to_times(s, own), "--time %s: the %s seeds have no times",
                      og__option_word("time", s->config.opt.time), own ? "given" : words[which]);
out:
    return rc;
}

int og__session_check_timed(const struct og_session *s, enum og__split split, struct og_err *err)
{
    const bool edges = s->workload.seeds.edges;
    const char *const list =
        og__listed_name(edges ? OG__EDGE_LIST_TIMES : OG__NODE_LIST_TIMES, split);
    char hint[96];
    if (!s->workload.split[split].untimed)
        return 0;
    snprintf(hint, sizeof(hint), "import the graph with %s.npy", list);
    return og__fail(err, -EINVAL, hint, "--time %s: the %s of split %s have no times",
                    og__option_word("time", s->config.opt.time), edges ? "edges" : "nodes",
                    words[split]);
}

/* Times of edges to learn, in the order of their list. */
static int load_edge_times(struct og_session *s, enum og__split which, struct og_err *err)
{
    struct og_split *split = &s->workload.split[which];
    const struct og_handover *to = &s->config.handover;
    const enum og__split from = which == OG__TRAIN && to->n > 0 ? to->split : which;
    bool requested[OG_MOST_RELATIONS];
    if (split->relation)
        OG_DO(og__session_ask_relations(s, requested, err));
    OG_DO(og__graph_edge_times(s->workload.graph, from, split->relation ? requested : NULL,
                               split->n, s->budget, &split->times, err));
    return split->times ? 0 : check_seeds(s, split, which, err);
}

/* Nodes of a split's list have its times, also those to predict. Others are as of their own time.
 * Batches are only measured by nodes that are not predicted: these may have no times. */
static int load_required(struct og_session *s, struct og_split *split, enum og__split which,
                         struct og_err *err)
{
    const char *const nodes = s->config.nodes;
    const enum og__split from = !nodes              ? OG__SPLITS
                                : which != OG__TEST ? which
                                                    : og__split_named(nodes, strlen(nodes));
    const struct og_npy *a =
        from < OG__SPLITS ? &s->workload.graph->listed[OG__NODE_LIST_TIMES][from] : NULL;
    if (a && a->fd >= 0 && a->shape[0] == split->n)
        return read_times(s, a, split, err);
    return which == OG__TEST ? check_seeds(s, split, which, err) : 0;
}

static int load_times(struct og_session *s, enum og__split which, struct og_err *err)
{
    struct og_split *split = &s->workload.split[which];
    const struct og_handover *to = &s->config.handover;
    const enum og__split trains = to->n > 0 ? to->split : og__session_measured_by(s);
    const enum og__split from = which == OG__TRAIN ? trains : which;
    const struct og_npy *a = &s->workload.graph->listed[OG__NODE_LIST_TIMES][from];
    if (split->n == 0)
        return 0;
    if (s->config.want & OG__WANT_EVERY)
        return load_required(s, split, which, err);
    if (has_own_seeds(s, which))
        return to->times ? take_given(s, split, err) : check_seeds(s, split, which, err);
    if (s->workload.seeds.edges)
        return load_edge_times(s, which, err);
    return a->fd >= 0 && a->shape[0] == split->n ? read_times(s, a, split, err)
                                                 : check_seeds(s, split, which, err);
}

/* For edges to learn: which relations have edges with times, and when nodes came to be. */
static int time_pairs(struct og_session *s, struct og_err *err)
{
    const struct og_graph *g = s->workload.graph;
    struct og_pair_rule *rule = &s->workload.seeds.rule;
    const int kind = s->config.opt.time;
    for (uint32_t r = 0; r < g->n_relations; r++)
        s->workload.timed[r] = kind == OG_TIMES_EDGE && g->relation[r].edge_times.fd >= 0;
    rule->timed = s->workload.timed;
    if (kind != OG_TIMES_NODE || rule->labelled)
        return 0;
    OG_DO(og__arrivals_open(&s->workload.arrivals, g, s->budget, err));
    rule->arrivals = &s->workload.arrivals;
    return 0;
}

int og__session_time_seeds(struct og_session *s, struct og_err *err)
{
    struct og_seed_source *seeds = &s->workload.seeds;
    seeds->trees = of_trees(s);
    seeds->rule.planted = seeds->trees && s->config.handover.links;
    seeds->rule.trees = seeds->trees && seeds->edges && !seeds->rule.planted;
    if (seeds->rule.trees)
        OG_DO(time_pairs(s, err));
    for (int i = 0; s->config.opt.time != OG_TIMES_OFF && i < OG__SPLITS; i++) {
        OG_DO(load_times(s, (enum og__split)i, err));
        seeds->times[i] = s->workload.split[i].times;
    }
    return 0;
}

int og__session_check_learnt(const struct og_session *s, struct og_err *err)
{
    const struct og_graph_types *types = s->workload.types;
    bool learnt = false;
    for (uint32_t t = 0; t < types->n_types; t++)
        learnt |= types->type[t].trained;
    return of_trees(s) && learnt && s->config.opt.device != OG_DEVICE_CPU &&
                   s->config.want & OG__WANT_TRAINING
               ? og__fail(err, -ENOTSUP, "use --device cpu, or leave out --time and --disjoint",
                          "--time, --disjoint: devices do not train embeddings with them yet")
               : 0;
}

void og__session_drop_times(struct og_session *s)
{
    og__arrivals_close(&s->workload.arrivals);
    for (int i = 0; i < OG__SPLITS; i++) {
        struct og_split *split = &s->workload.split[i];
        og__release(s->budget, split->times, (size_t)split->n * sizeof(*split->times), part);
    }
}
