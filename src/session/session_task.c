/* What a session learns from: splits, labels or edges, and what the task makes of them. */
#include "dataset/edge_labels.h"
#include "dataset/edge_split.h"
#include "dataset/edge_walk.h"
#include "dataset/typed_edges.h"
#include "learn/targets.h"
#include "nn/rates.h"
#include "nn/tasks.h"
#include "options/fanouts.h"
#include "options/options.h"
#include "session/session_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- the task ---- */

static bool of_pairs(const struct og_session *s)
{
    return og__task(s->config.opt.task)->pairs;
}

/* Edges have labels or values. */
static bool of_labelled(const struct og_session *s)
{
    return of_pairs(s) && og__targets_of_task(s->config.opt.task) != OG__OF_PAIRS;
}

/* Their labels are read: a model is trained on them, or judged by them. */
static bool judges_edges(const struct og_session *s)
{
    return of_labelled(s) && s->config.want & OG__WANT_MODEL &&
           !(s->config.want & OG__WANT_UNJUDGED);
}

/* Labels of a split's edges are read. Who only samples draws training edges by them. */
static bool reads_edge_labels(const struct og_session *s, enum og__split which)
{
    return judges_edges(s) || (of_labelled(s) && which == OG__TRAIN && og__session_oversamples(s));
}

/* Seeds are edges, unless every node is: then none are held out either. */
static bool of_edges(const struct og_session *s)
{
    return of_pairs(s) && !(s->config.want & OG__WANT_EVERY);
}

/* What the dataset's labels are decides between classes, labels and values; the task between them
 * and edges. */
int og__session_resolve_task(struct og_session *s, struct og_err *err)
{
    struct og_options *opt = &s->config.opt;
    struct og_graph *ds = s->workload.graph;
    int rc = 0;
    if (s->config.want & OG__WANT_EVERY) /* the checkpoint's, which no labels are read for */
        return 0;
    if (judges_edges(s) || (of_labelled(s) && ds->listed[OG__EDGE_LIST_LABELS][OG__TRAIN].fd >= 0))
        OG_TRY(og__graph_adopt_edge_labels(ds, opt->task == OG_TASK_EDGE_REGRESSION, err));
    opt->task = og__task_by_labels(opt->task, ds->regression);
    const bool judges = s->config.want & OG__WANT_MODEL && !(s->config.want & OG__WANT_TRAINING);
    if (!of_pairs(s) && og__targets_of_task(opt->task) == OG__OF_VALUES &&
        (og__float_labels(ds) || !judges)) {
        if (!og__float_labels(ds)) /* who judges says it of the checkpoint (og__targets_check) */
            return og__fail(err, -EINVAL,
                            "import the graph with a float label.npy and \"task\": "
                            "\"node regression\" in its meta.json",
                            "--task %s: the labels of %s are classes", og__task_words[opt->task],
                            ds->path);
        ds->regression = true;
        ds->multi_label = false;
    }
    OG_TRY(og__session_check_classes(s, err));
    if (judges && opt->loss != OG_LOSS_AUTO && !og_options_given(opt, "loss"))
        return rc; /* the checkpoint's: og__targets_check compares it with the labels */
    rc = og__loss_resolve(opt->task, ds->shares, opt->decoder, &opt->loss, err);
out:
    return rc;
}

/* For what is written, under `where`. */
static int make_folder(struct og_session *s, const char *where, struct og_err *err)
{
    const struct og_graph *g = s->workload.graph;
    const uint64_t bytes = og__edge_split_bytes(g, s->config.want & OG__WANT_EDGE_ROWS);
    const uint64_t room = og__whole_room(&s->config);
    char size[32];
    char allowed[32];
    OG_DO(room == 0 && !s->config.opt.scratch ? og__scratch_check(where, err) : 0);
    if (bytes > room)
        return og__fail(
            err, -ENOSPC,
            s->config.whole.times > 0 ? "give more --disk, or a --scratch DIR with more room"
                                      : "give a --scratch DIR with more room",
            "--edge-split: writes up to %s into %s, which may have %s",
            og__human_bytes(size, (double)bytes), where, og__human_bytes(allowed, (double)room));
    return og__scratch_open(&s->held_out, OG__ONE_PLACE(where), err);
}

/* The lists are the dataset's own, which has some. */
static bool holds_own(const struct og_session *s, bool has)
{
    const char *split = s->config.opt.edge_split;
    return has && (!split || strcmp(split, OG__OWN_EDGES) == 0);
}

/* Whose lists of edges: from here on the option says it, and so do checkpoints. */
static int resolve_edges(struct og_session *s, struct og_err *err)
{
    const struct og_graph *g = s->workload.graph;
    const bool has = og__has_edge_lists(g) || s->config.handover.links;
    if (of_labelled(s)) { /* there is no other split of them */
        free(s->config.opt.edge_split);
        s->config.opt.edge_split = NULL;
    }
    if (s->config.opt.time != OG_TIMES_OFF && !of_labelled(s) && !holds_own(s, has))
        return og__fail(err, -ENOTSUP,
                        "import the graph with train_edges.npy, valid_edges.npy and "
                        "test_edges.npy, and leave out --edge-split",
                        "--time: no edges are held out by chance; lists of edges are needed");
    if (!s->config.opt.edge_split)
        s->config.opt.edge_split = strdup(has || of_labelled(s) ? OG__OWN_EDGES : "85/5/10");
    if (!s->config.opt.edge_split)
        return og__fail_errno(err, -ENOMEM, NULL, "options");
    if (has || strcmp(s->config.opt.edge_split, OG__OWN_EDGES) != 0)
        return 0;
    return og__fail(err, -EINVAL,
                    of_labelled(s)
                        ? "import it with train_edges.npy; in a heterogeneous graph with "
                          "train_edge_type.npy"
                        : "give percentages, such as 85/5/10; in a heterogeneous graph "
                          "lists of edges come with their relations",
                    "%s: %s has no lists of edges",
                    of_labelled(s) ? "--task edge" : "--edge-split " OG__OWN_EDGES, g->path);
}

/* What is left follows from the dataset and the options; to the user it is the dataset. It is in a
 * folder of its own under `where`. */
static int replace_graph(struct og_session *s, const char *where, struct og_err *err)
{
    struct og_graph *left = NULL;
    int rc;
    OG_TRY(make_folder(s, where, err));
    const char *folder = og__scratch_path(s->held_out);
    OG_TRY(og__session_write_left(s, folder, &left, err));
    og__graph_replace(left, s->workload.graph);
    s->workload.graph = s->workload.row_graph = left;
    s->prepare.bytes_written = og__edge_split_written(folder);
out:
    return rc;
}

/* Held-out edges that the graph has carry messages in training. Results are then too good. With
 * times a seed sees no edge of its own time or later, and labels are not in the edges. */
static int tell_leaks(const struct og_session *s, struct og_err *err)
{
    int rc = 0;
    if (s->config.handover.links || of_labelled(s) || s->config.opt.time != OG_TIMES_OFF ||
        !(s->config.want & OG__WANT_TRAINING))
        return 0;
    for (enum og__split i = OG__VALID; i < OG__SPLITS; i++) {
        int64_t looked, found;
        OG_TRY(og__held_out_in_graph(s->workload.graph, i, &looked, &found, err));
        if (found > 0)
            og__say(&s->config.log, OG__WARN,
                    "%s: %lld of %lld edges looked at are in the graph too. The model sees them in "
                    "training: import the graph without them",
                    s->workload.graph->edges[i].path, (long long)found, (long long)looked);
    }
out:
    return rc;
}

/* Hold edges out, unless the dataset says which. The graph that is left is the dataset from then
 * on. */
int og__session_hold_out(struct og_session *s, struct og_err *err)
{
    int rc = of_edges(s) ? resolve_edges(s, err) : 0;
    if (rc < 0 || !of_edges(s))
        return rc;
    if (strcmp(s->config.opt.edge_split, OG__OWN_EDGES) == 0)
        return tell_leaks(s, err);
    for (enum og__split i = OG__TRAIN; i < OG__SPLITS; i++)
        if (s->workload.graph->negatives[i].fd >= 0)
            og__say(&s->config.log, OG__WARN,
                    "%s has no effect: --edge-split %s holds out other edges",
                    s->workload.graph->negatives[i].path, s->config.opt.edge_split);
    if (s->workload.graph->workers)
        return og__fail(err, -EINVAL,
                        "stripe a dataset that has lists of edges: --edge-split " OG__OWN_EDGES,
                        "%s: --edge-split does not hold edges out of one worker's part",
                        s->workload.graph->path);
    char *own;
    rc = og__scratch_first(&own, &s->config.opt, NULL, err);
    if (rc < 0)
        return rc;
    if (!own)
        rc = og__fail(err, -ENOENT, "give --scratch DIR",
                      "no folder for the graph without its held-out edges");
    else
        rc = replace_graph(s, own, err);
    free(own);
    /* as long as the session */
    s->config.disk -= OG_MIN(s->config.disk, og__whole_takes(&s->config, s->prepare.bytes_written));
    s->config.whole.room -= OG_MIN(s->config.whole.room, s->prepare.bytes_written);
    return rc;
}

/* ---- seeds ---- */

static bool has_nodes(const struct og_session *s, enum og__split which)
{
    const struct og_npy *ids = &s->workload.graph->split[which];
    return ids->fd >= 0 && ids->shape[0] > 0;
}

/* Whose nodes stand for those to train on, by which batches are measured. A model that is applied
 * to another graph may find none there. */
enum og__split og__session_measured_by(const struct og_session *s)
{
    const bool trains = s->config.want & OG__WANT_TRAINING || !(s->config.want & OG__WANT_MODEL);
    if (trains || has_nodes(s, OG__TRAIN))
        return OG__TRAIN;
    return has_nodes(s, OG__TEST) ? OG__TEST : OG__VALID;
}

/* Those of the run may be of another split, or the caller's own. */
static int load_nodes(struct og_session *s, enum og__split which, struct og_err *err)
{
    const struct og_handover *to = &s->config.handover;
    struct og_split *split = &s->workload.split[which];
    const enum og__split from = which == OG__TRAIN ? og__session_measured_by(s) : which;
    if (which != OG__TRAIN || to->n == 0)
        return og__graph_split(s->workload.graph, from, s->budget, &split->ids, &split->n, err);
    if (!to->seeds)
        return og__graph_split(s->workload.graph, to->split, s->budget, &split->ids, &split->n,
                               err);
    split->n = to->n_seeds;
    return og__graph_seeds(s->workload.graph, to->seeds, to->n_seeds, s->budget, &split->ids,
                           &s->workload.seeds.repeats, err);
}

static int load_edges(struct og_session *s, enum og__split which, struct og_err *err)
{
    const struct og_handover *to = &s->config.handover;
    struct og_split *split = &s->workload.split[which];
    const bool other = which == OG__TRAIN && to->n > 0;
    if (other && to->seeds)
        return og__fail(err, -EINVAL, "leave --task link, or the seeds",
                        "seeds of the caller's own are nodes, those of --task link are edges");
    if (to->links) /* and none to evaluate */
        return which == OG__TRAIN ? og__session_load_links(s, split, err) : 0;
    which = other ? to->split : which;
    return s->workload.graph->has_types
               ? og__session_load_triples(s, which, split, err)
               : og__graph_edges(s->workload.graph, which, s->budget, &split->ids, &split->n, err);
}

/* ---- given negatives ---- */

size_t og__session_given(const struct og_session *s)
{
    size_t most = 0;
    for (int i = OG__VALID; i < OG__SPLITS; i++) {
        const struct og_given_negatives *given = &s->workload.seeds.rule.given[i];
        most = OG_MAX(most, given->each ? 0 : (size_t)given->n);
    }
    return most;
}

/* How many the dataset gives for each training edge; a number of the user's must be that. */
static int resolve_negatives(struct og_session *s, struct og_err *err)
{
    const struct og_graph *g = s->workload.graph;
    struct og_options *opt = &s->config.opt;
    const char *path = g->negatives[OG__TRAIN].path;
    if (!of_edges(s) || of_labelled(s) || opt->negative != OG_NEGATIVE_GIVEN)
        return 0;
    if (s->config.handover.n > 0)
        return og__fail(err, -ENOTSUP, "use --negative uniform, or in Python LinkNeighborLoader",
                        "--negative given: not for batches that a program of your own trains on");
    if (strcmp(opt->edge_split, OG__OWN_EDGES) != 0)
        return og__fail(err, -EINVAL, "leave out --edge-split, or use --negative uniform",
                        "--negative given: --edge-split %s holds out other edges", opt->edge_split);
    if (g->negatives[OG__TRAIN].fd < 0)
        return og__fail(err, -EINVAL,
                        "import the graph with train_neg_dst.npy or train_neg_edges.npy",
                        "--negative given: %s has no negatives of training edges", g->path);
    const int64_t each = og__negatives_width(g, OG__TRAIN) / (g->negatives_each[OG__TRAIN] ? 1 : 2);
    if (og_options_given(opt, "negatives") && opt->negatives != each)
        return og__fail(err, -EINVAL, "leave out --negatives, or use --negative uniform",
                        "--negatives %d: %s has %lld for each edge", opt->negatives, path,
                        (long long)each);
    opt->negatives = (int)each;
    return 0;
}

static bool uses_negatives(const struct og_session *s, enum og__split which)
{
    const struct og_npy *a = &s->workload.graph->negatives[which];
    if (a->fd < 0 || s->config.handover.n > 0 || s->workload.split[which].n == 0)
        return false;
    if (which != OG__TRAIN)
        return s->config.want & OG__WANT_MODEL;
    if (s->config.opt.negative != OG_NEGATIVE_GIVEN && s->config.want & OG__WANT_TRAINING)
        og__say(&s->config.log, OG__WARN, "%s has no effect without --negative given", a->path);
    return s->config.opt.negative == OG_NEGATIVE_GIVEN;
}

/* They belong to the dataset's own lists of edges. Only the session's model is ranked by them. */
static int load_negatives(struct og_session *s, enum og__split which, struct og_err *err)
{
    const struct og_graph *g = s->workload.graph;
    struct og_split *split = &s->workload.split[which];
    struct og_given_negatives *given = &s->workload.seeds.rule.given[which];
    bool requested[OG_MOST_RELATIONS];
    if (!uses_negatives(s, which))
        return 0;
    OG_DO(og__session_ask_relations(s, requested, err));
    OG_DO(og__graph_negatives(g, which, s->budget, &split->negatives, &split->n_negatives,
                              &split->negatives_width, err));
    if (split->relation)
        OG_DO(og__typed_negatives(g, which, requested, split->relation, split->n, s->budget,
                                  &split->negatives, &split->n_negatives, err));
    *given = (struct og_given_negatives){
        .ids = split->negatives,
        .n_edges = (uint64_t)split->n,
        .n = (uint64_t)split->n_negatives,
        .each = g->negatives_each[which] ? (uint32_t)split->negatives_width : 0};
    return 0;
}

/* Batches that leave the session have labels where there are any; nobody judges every node. */
static bool wants_labels(const struct og_session *s, unsigned want)
{
    const bool there = s->workload.graph->labels.fd >= 0;
    const bool judges = want & OG__WANT_MODEL && !(want & OG__WANT_EVERY);
    return judges || (want & OG__WANT_LABELS && (there || !s->config.handover.n));
}

static int refuse_rowless(const struct og_session *s, enum og__split which, const char *name,
                          struct og_err *err)
{
    return og__fail(err, -EINVAL, "add them, or remove the list of edges",
                    "%s: there are edges in %s, and no %s.npy", s->workload.graph->path,
                    og__edge_files[which], name);
}

/* Edges, and their labels and own rows if they have some and a model reads them. */
static int load_labelled(struct og_session *s, enum og__split which, struct og_err *err)
{
    struct og_split *split = &s->workload.split[which];
    const bool *only = NULL;
    bool requested[OG_MOST_RELATIONS];
    int rc = 0;
    if (of_labelled(s) && s->config.handover.n > 0)
        OG_TRY(og__fail(err, -ENOTSUP,
                        "use --task link, or in Python LinkNeighborLoader(edge_label=)",
                        "--task edge: not for batches that a program of your own trains on"));
    OG_TRY(load_edges(s, which, err));
    const bool sees = of_labelled(s) && s->config.want & OG__WANT_MODEL;
    if (!sees && !reads_edge_labels(s, which))
        return 0;
    if (split->relation) {
        OG_TRY(og__session_ask_relations(s, requested, err));
        only = requested;
    }
    if (sees)
        OG_TRY(og__graph_edge_rows(s->workload.graph, which, only, split->n, s->budget, &split->own,
                                   err));
    if (sees && split->n > 0 && !split->own && og__edge_rows_dim(s->workload.graph) > 0)
        OG_TRY(refuse_rowless(s, which, og__listed_name(OG__EDGE_LIST_ROWS, which), err));
    if (!reads_edge_labels(s, which))
        return 0;
    rc = og__graph_edge_labels(s->workload.graph, which, only, split->n, s->budget, &split->labels,
                               err);
    if (rc == 0 && split->n > 0 && !split->labels)
        rc = refuse_rowless(s, which, og__listed_name(OG__EDGE_LIST_LABELS, which), err);
out:
    return rc;
}

static int load_split(struct og_session *s, enum og__split which, unsigned want, struct og_err *err)
{
    struct og_split *split = &s->workload.split[which];
    if (s->workload.seeds.edges)
        return load_labelled(s, which, err);
    if (of_pairs(s)) /* every node takes their place */
        return 0;
    int rc;
    OG_TRY(load_nodes(s, which, err));
    const bool balances = which == OG__TRAIN && og__session_oversamples(s);
    if (split->n && (wants_labels(s, want) || balances))
        OG_TRY(og__graph_labels(s->workload.graph, split->ids, split->n, s->budget, &split->labels,
                                err));
out:
    return rc;
}

/* That the graph has, of what is to be learnt. */
static uint64_t edges_left(const struct og_session *s)
{
    const struct og_graph *g = s->workload.graph;
    const char *name = s->config.opt.relation;
    uint64_t n = 0;
    for (uint32_t r = 0; r < g->n_relations; r++)
        if (!name || og__relation_is_named(g, &g->relation[r], name, strlen(name)))
            n += (uint64_t)g->relation[r].n_edges;
    return n;
}

/* A remedy where no edges are left. It depends on whose lists they are, and on whether there are
 * edges to make others of. */
static const char *way_to_edges(const struct og_session *s)
{
    const bool of_one = s->config.opt.relation;
    const bool own = strcmp(s->config.opt.edge_split, OG__OWN_EDGES) == 0;
    const int64_t held_out = s->workload.split[OG__VALID].n + s->workload.split[OG__TEST].n;
    if (own && edges_left(s) > 0)
        return of_one ? "train_edges.npy has none of it: name another --relation, or give "
                        "--edge-split 85/5/10"
                      : "train_edges.npy is empty: add edges, or give --edge-split 85/5/10";
    if (!own && held_out > 0)
        return "all are held out: hold out less with --edge-split";
    if (!own && edges_left(s) > 0)
        return "all it has lead from a node to itself, and such are not learnt";
    return "the graph has none of it either: name another --relation"; /* some it has */
}

static int refuse_no_edges(const struct og_session *s, struct og_err *err)
{
    const char *relation = s->config.opt.relation;
    return og__fail(err, -EINVAL, way_to_edges(s), "%s: no edges %s%s%sto train on",
                    s->workload.graph->path, relation ? "of --relation " : "",
                    relation ? relation : "", relation ? " " : "");
}

/* Warns of labels to train on that teach nothing, or that may be no classes. */
static int look_at_labels(const struct og_session *s, struct og_err *err)
{
    const struct og_graph *ds = s->workload.graph;
    const struct og_split *train = &s->workload.split[OG__TRAIN],
                          *valid = &s->workload.split[OG__VALID];
    const char *what = of_pairs(s) ? "edges" : "nodes";
    const int64_t labelled = og__labelled(ds, train);
    if (labelled == 0)
        return og__fail(err, -EINVAL,
                        og__float_labels(ds) ? "NaN is a value that is not known"
                                             : "-1 is a label that is not known",
                        "%s: none of the %lld training %s has a label", ds->path,
                        (long long)train->n, what);
    if (!og__float_labels(ds) && ds->n_classes > labelled)
        og__say(&s->config.log, OG__WARN,
                "%s: labels of %d classes, but %lld training %s: do they hold ids, or values? %s",
                ds->path, ds->n_classes, (long long)labelled, what,
                of_pairs(s)
                    ? "(float32 edge labels are values)"
                    : "(a float label.npy with \"task\": \"node regression\" in meta.json is "
                      "values)");
    if (valid->n > 0 && og__labelled(ds, valid) == 0)
        og__say(&s->config.log, OG__WARN,
                "%s: none of the %lld validation %s has a label: no epoch is better than another",
                ds->path, (long long)valid->n, what);
    return 0;
}

int og__session_load_seeds(struct og_session *s, unsigned want, struct og_err *err)
{
    const int resolved = resolve_negatives(s, err);
    if (resolved < 0)
        return resolved;
    s->workload.seeds.schedule = &s->workload.schedule;
    s->workload.seeds.edges = of_edges(s);
    s->workload.seeds.rule = (struct og_pair_rule){
        .seed = (uint64_t)s->config.opt.seed,
        .n_nodes = (uint32_t)s->workload.graph->n_nodes,
        .symmetric = s->workload.graph->symmetric,
        .in_batch = s->config.opt.negative == OG_NEGATIVE_BATCH,
        .keeps = s->config.handover.links,
        .source_repeats = s->config.handover.source_repeats,
        .labelled = of_labelled(s),
        .negatives =
            s->config.handover.links || of_labelled(s) ? 0 : (uint32_t)s->config.opt.negatives,
        .rank_negatives = of_labelled(s) ? 0 : (uint32_t)s->config.opt.eval_negatives};
    for (int i = 0; i < OG__SPLITS; i++) {
        int rc = load_split(s, (enum og__split)i, want, err);
        rc = rc < 0 || !s->workload.seeds.edges || of_labelled(s)
                 ? rc
                 : load_negatives(s, (enum og__split)i, err);
        if (rc < 0)
            return rc;
        s->workload.schedule.n_seeds[i] = (uint64_t)s->workload.split[i].n;
        s->workload.seeds.split[i] = s->workload.split[i].ids;
    }
    const bool named = want & OG__WANT_EVERY && s->config.target;
    if (s->workload.split[OG__TRAIN].n > 0 || of_pairs(s) > of_edges(s) || named)
        return want & OG__WANT_TRAINING && (of_labelled(s) || !of_pairs(s)) ? look_at_labels(s, err)
                                                                            : 0;
    if (s->config.handover.n > 0)
        return og__fail(err, -EINVAL, "name another split, or give seeds",
                        "%s: the split is empty, so there are no batches", s->workload.graph->path);
    if (s->workload.seeds.edges)
        return refuse_no_edges(s, err);
    if (want & OG__WANT_MODEL && !(want & OG__WANT_TRAINING))
        return og__fail(err, -EINVAL, "add test.npy: node ids, int64",
                        "%s: has no split, which says the type of the predicted nodes",
                        s->workload.graph->path);
    return og__fail(err, -EINVAL,
                    "import the graph again with --split 60/20/20, a column split in its table of "
                    "nodes, train.npy or train.csv",
                    "%s: no training nodes", s->workload.graph->path);
}

/* Stored with the run: more epochs do not change it. */
static void resolve_rate(struct og_options *opt, uint64_t batches)
{
    const uint64_t size = (uint64_t)opt->accumulate;
    if (opt->lr_steps == 0 && og__rate_takes(opt->lr_schedule, "lr-steps"))
        opt->lr_steps = (int64_t)((uint64_t)opt->epochs * ((batches + size - 1) / size));
}

/* The caller's ranks may wait for one another after every batch. */
static void say_uneven(const struct og_session *s, uint64_t batches)
{
    const struct og_share *own = &s->config.share;
    const uint64_t some = batches % own->ranks;
    const bool first = own->rank == 0;
    if (s->config.handover.n > 0 && first && some > 0)
        og__say(&s->config.log, OG__WARN,
                "an epoch has %llu mini-batches for %u ranks: ranks %llu and above have one less, "
                "which others must not wait for; drop_last leaves out the last round",
                (unsigned long long)batches, own->ranks, (unsigned long long)some);
}

int og__session_schedule(struct og_session *s, struct og_err *err)
{
    s->workload.schedule.epochs = s->config.opt.epochs;
    const bool evaluates = !(s->config.want & OG__WANT_UNEVALUATED);
    s->workload.schedule.eval_every = evaluates ? s->config.opt.eval_every : 0;
    s->workload.schedule.resample_every = s->config.opt.resample_every;
    s->workload.schedule.seed = (uint64_t)s->config.opt.seed;
    s->workload.schedule.shuffle = !s->config.opt.no_shuffle;
    s->workload.schedule.may_stop =
        s->config.want & OG__WANT_TRAINING && s->config.opt.patience > 0;
    uint64_t most = 1;
    for (int i = 0; i < OG__SPLITS; i++)
        most = OG_MAX(most, s->workload.schedule.n_seeds[i]);
    const uint32_t whole = s->config.handover.drop_last * s->config.share.ranks;
    if (whole > 0) /* a batch that is larger than the split is none */
        most = (uint64_t)s->config.opt.batch;
    s->workload.schedule.batch_size = (uint32_t)OG_MIN((uint64_t)s->config.opt.batch, most);
    s->workload.schedule.whole_rounds = whole;
    const uint64_t batches = og__schedule_batches(&s->workload.schedule, OG__TRAIN);
    resolve_rate(&s->config.opt, batches);
    s->workload.schedule.share = s->config.share;
    if (whole > 0 && batches == 0)
        return og__fail(err, -EINVAL, "give a smaller --batch, or keep the last batch",
                        "an epoch has no whole mini-batch of %d%s", s->config.opt.batch,
                        whole > 1 ? " for each rank" : "");
    if (OG_MAX(batches, (uint64_t)1) < s->config.share.ranks)
        return og__fail(err, -EINVAL, "give a smaller --batch, or start fewer workers",
                        "%u workers: an epoch has %llu mini-batches", s->config.share.ranks,
                        (unsigned long long)batches);
    say_uneven(s, batches);
    return og__schedule_check(&s->workload.schedule, err);
}
