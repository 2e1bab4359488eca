/* What a session knows of types and relations: what of them a model reads, and what is refused. */
#include "dataset/edge_split.h"
#include "dataset/typed_edges.h"
#include "nn/tasks.h"
#include "options/fanouts.h"
#include "session/session_parts.h"

#include <stdlib.h>
#include <string.h>

static bool of_pairs(const struct og_session *s)
{
    return og__task(s->config.opt.task)->pairs;
}

/* Where execution plans are not compared, what was left open is the plainest. */
int og__session_check_types(struct og_session *s, struct og_err *err)
{
    struct og_options *opt = &s->config.opt;
    int rc = 0;
    if (!(s->config.want & OG__WANT_FEATURES) ||
        og__exec_plans_are_counted(s->config.want, s->workload.row_graph))
        return rc;
    if (opt->policy == OG_POLICY_AUTO)
        opt->policy = OG_POLICY_DEGREE;
    if (og__has_tiers(&s->config))
        OG_TRY(og__session_resolve_typed_tiers(&s->config, err));
    if (opt->layout == OG_LAYOUT_AUTO)
        opt->layout = OG_LAYOUT_RAW;
out:
    return rc;
}

/* ---- links ---- */

/* Whose edges are learnt. */
int og__session_ask_relations(const struct og_session *s, bool *requested, struct og_err *err)
{
    const struct og_graph *g = s->workload.graph;
    const char *name = s->config.opt.relation;
    bool any = false;
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const struct og_relation *of = &g->relation[r];
        requested[r] = !name || !*of->name || og__relation_is_named(g, of, name, strlen(name));
        any |= requested[r];
    }
    return any ? 0 : og__refuse_relation(g, "relation", name, strlen(name), err);
}

int og__session_write_left(struct og_session *s, const char *folder, struct og_graph **left,
                           struct og_err *err)
{
    struct og_edge_split split = {.seed = (uint64_t)s->config.opt.seed};
    bool requested[OG_MOST_RELATIONS];
    OG_DO(og__edge_split_parse(&split, s->config.opt.edge_split, err));
    OG_DO(og__session_ask_relations(s, requested, err));
    OG_DO(og__edge_split_write(s->workload.graph, &split, requested,
                               s->config.want & OG__WANT_EDGE_ROWS, folder, s->budget, err));
    return og__graph_open(folder, left, err);
}

int og__session_load_triples(struct og_session *s, enum og__split which, struct og_split *out,
                             struct og_err *err)
{
    bool requested[OG_MOST_RELATIONS];
    OG_DO(og__session_ask_relations(s, requested, err));
    return og__typed_edges(s->workload.graph, which, requested, s->budget, &out->ids,
                           &out->relation, &out->n, err);
}

int og__session_load_links(struct og_session *s, struct og_split *out, struct og_err *err)
{
    const struct og_graph *g = s->workload.graph;
    const int64_t *ends = s->config.handover.links, n = s->config.handover.n_links;
    bool requested[OG_MOST_RELATIONS];
    uint32_t n_requested = 0, relation = 0;
    OG_DO(og__session_ask_relations(s, requested, err));
    for (uint32_t r = 0; r < g->n_relations; r++) {
        relation = requested[r] ? r : relation;
        n_requested += requested[r];
    }
    if (n_requested > 1)
        return og__fail(err, -EINVAL, "give --relation SOURCE__NAME__DESTINATION",
                        "links: which of the %u relations are they of?", n_requested);
    out->n = n;
    out->ids = og__alloc(s->budget, og__split_bytes(&s->workload, out), "seeds", err);
    out->relation = og__alloc(s->budget, (size_t)n * sizeof(*out->relation), "seeds", err);
    OG_DO(out->ids && out->relation ? 0 : -ENOMEM);
    for (int64_t i = 0; i < n; i++, ends += 2) {
        if (!og__typed_edge_fits(g, ends[0], relation, ends[1]))
            return og__fail(err, -EINVAL, "give ids of the whole graph, source first",
                            "links: row %lld: no edge can lead from node %lld to node %lld",
                            (long long)i, (long long)ends[0], (long long)ends[1]);
        out->ids[2 * i] = (uint32_t)ends[0];
        out->ids[2 * i + 1] = (uint32_t)ends[1];
        out->relation[i] = relation;
    }
    return 0;
}

/* Edges have relations, and those drawn against them types. */
static int know_triples(struct og_session *s, struct og_err *err)
{
    struct og_triples *t = &s->workload.triples;
    t->types = s->workload.types;
    for (int i = 0; i < OG__SPLITS; i++)
        t->split[i] =
            (struct og_triple_list){s->workload.split[i].ids, s->workload.split[i].relation,
                                    (uint64_t)s->workload.split[i].n};
    s->workload.seeds.rule.of = t;
    return og__triples_open(t, s->budget, err);
}

/* ---- what a model reads ---- */

static struct og_graph_types *types_of(const struct og_graph *g)
{
    struct og_graph_types *out = calloc(1, sizeof(*out));
    if (!out)
        return NULL;
    out->n_types = g->n_groups;
    out->n_relations = g->n_relations;
    out->by_relation = og__related(g) > 0;
    out->type = calloc(g->n_groups, sizeof(*out->type));
    out->relation = calloc(g->n_relations, sizeof(*out->relation));
    for (uint32_t t = 0; out->type && t < g->n_groups; t++)
        out->type[t] =
            (struct og_graph_type){.name = g->group[t].name,
                                   .end = (uint32_t)(g->group[t].first + g->group[t].n_nodes),
                                   .dim = g->group[t].dim,
                                   .entries = g->group[t].sparse.longest};
    for (uint32_t r = 0; out->relation && r < g->n_relations; r++)
        out->relation[r] = (struct og_graph_relation){.name = g->relation[r].name,
                                                      .source = g->relation[r].source,
                                                      .destination = g->relation[r].destination,
                                                      .edge_dim = g->relation[r].edges.dim};
    return out;
}

static void drop_split(struct og_session *s, struct og_split *split)
{
    og__release(s->budget, split->ids, og__split_bytes(&s->workload, split), "seeds");
    if (split->labels)
        og__release(s->budget, split->labels, og__labels_bytes(s->workload.graph, split->n),
                    "labels");
    *split = (struct og_split){0};
}

static void know_split(struct og_session *s, enum og__split which)
{
    s->workload.schedule.n_seeds[which] = (uint64_t)s->workload.split[which].n;
    s->workload.seeds.split[which] = s->workload.split[which].ids;
}

static bool is_mixed(const struct og_session *s, const struct og_split *split)
{
    const struct og_graph_types *g = s->workload.types;
    for (int64_t k = 1; k < split->n; k++)
        if (og__graph_type(g, split->ids[k]) != og__graph_type(g, split->ids[0]))
            return true;
    return false;
}

/* Batches of a caller have seeds of one type. If the caller chose them, held-out nodes of several
 * types are left out. */
static int check_handover(struct og_session *s, enum og__split which, struct og_err *err)
{
    struct og_split *split = &s->workload.split[which];
    if (!is_mixed(s, split))
        return 0;
    if (which == OG__TRAIN || !s->config.handover.seeds)
        return og__fail(err, -ENOTSUP, "give seeds of one type, and a loader to each",
                        "%s: seeds of several types", s->workload.graph->path);
    drop_split(s, split);
    know_split(s, which);
    return 0;
}

/* Types in the names of parameters have no dots. Keys are separated by commas. */
static bool is_named(const char *name, const char *key, size_t n)
{
    for (; *name && n > 0 && (*name == *key || (*name == '.' && *key == '#')); name++, n--)
        key++;
    return !*name && n == 0;
}

/* Whether the list has the type; it may be NULL. */
static bool is_learned(const struct og_graph_type *of, const char *list)
{
    for (; list && *list; list += strcspn(list, ","), list += *list == ',')
        if (is_named(of->name, list, strcspn(list, ",")))
            return true;
    return false;
}

/* Finds the targets by the model's file. No split has nodes where a model is applied to another
 * graph. A homogeneous graph's type has no name. */
static int find_targets_by_name(struct og_session *s, struct og_err *err)
{
    struct og_graph_types *g = s->workload.types;
    const char *list = s->config.target;
    bool found = false;
    for (uint32_t t = 0; t < g->n_types; t++) {
        g->type[t].target = is_learned(&g->type[t], list) || (!*list && !*g->type[t].name);
        found |= g->type[t].target;
    }
    return found ? 0
                 : og__fail(err, -EINVAL,
                            "types and relations must be those of the graph that it was trained on",
                            "%s: has no nodes of type %s, which the checkpoint predicts",
                            s->workload.graph->path, *list ? list : "(none)");
}

/* Its nodes are of types that are trained on, or that the checkpoint has learned. */
static int check_split(struct og_session *s, enum og__split which, struct og_err *err)
{
    const struct og_graph_types *g = s->workload.types;
    const struct og_split *split = &s->workload.split[which];
    for (int64_t k = 0; k < split->n; k++) {
        struct og_graph_type *of = &g->type[og__graph_type(g, split->ids[k])];
        of->target = of->target || is_learned(of, s->config.target);
        if (!of->target)
            return og__fail(err, -ENOTSUP,
                            "train on nodes of this type too, or leave it out of the splits",
                            "%s: a split has nodes of type %s, and the training split has none",
                            s->workload.graph->path, of->name);
    }
    return 0;
}

/* The model learns the types of the nodes to train on. */
static int find_targets(struct og_session *s, struct og_err *err)
{
    struct og_graph_types *g = s->workload.types;
    const struct og_split *train = &s->workload.split[OG__TRAIN];
    int rc = 0;
    if (train->n == 0)
        OG_TRY(find_targets_by_name(s, err));
    for (int64_t k = 0; k < train->n; k++)
        g->type[og__graph_type(g, train->ids[k])].target = true;
    while (!g->type[g->target].target)
        g->target++;
    for (int i = 0; train->n > 0 && i < OG__SPLITS; i++)
        OG_TRY(
            (s->config.handover.n > 0 ? check_handover : check_split)(s, (enum og__split)i, err));
out:
    return rc;
}

/* Without rows nothing is known of a type's nodes: unless --embedding learns it, or did. */
static int resolve_embeddings(struct og_session *s, bool learnt, struct og_err *err)
{
    struct og_graph_types *g = s->workload.types;
    for (uint32_t t = 0; t < g->n_types; t++) {
        if (s->workload.graph->group[t].learnt) {
            g->type[t].dim = s->config.opt.embedding;
            g->type[t].trained = g->type[t].stored = true;
        }
        if (g->type[t].dim > 0)
            continue;
        if (s->config.opt.embedding == 0 && learnt)
            return og__fail(err, -EINVAL, "is it a checkpoint of this dataset?",
                            "%s: nodes of type %s have no features, and the checkpoint has no "
                            "learnable embeddings of any type",
                            s->workload.graph->path, g->type[t].name);
        if (s->config.opt.embedding == 0)
            return og__fail(
                err, -EINVAL, "give --embedding DIM: learnable embeddings of this width",
                "%s: nodes of type %s have no features", s->workload.graph->path, g->type[t].name);
        g->type[t].dim = s->config.opt.embedding;
        g->type[t].trained = true;
    }
    return 0;
}

/* Whose rows a model makes: those of the types that it learnt, or for links all. */
static bool makes_rows(const struct og_session *s, uint32_t type)
{
    const struct og_graph_type *of = &s->workload.types->type[type];
    return of_pairs(s) || of->target;
}

/* In the place of a split, in the order of their ids. */
static int take_nodes(struct og_session *s, enum og__split which, struct og_err *err)
{
    const struct og_graph_types *g = s->workload.types;
    struct og_split *split = &s->workload.split[which];
    int64_t n = 0;
    drop_split(s, split);
    for (uint32_t t = 0; t < g->n_types; t++)
        split->n += makes_rows(s, t) ? g->type[t].end - og__first_id(g, t) : 0;
    split->ids = og__alloc(s->budget, og__split_bytes(&s->workload, split), "seeds", err);
    if (!split->ids) {
        split->n = 0;
        return -ENOMEM;
    }
    for (uint32_t t = 0; t < g->n_types; t++)
        for (uint32_t v = og__first_id(g, t); makes_rows(s, t) && v < g->type[t].end; v++)
            split->ids[n++] = v;
    know_split(s, which);
    return 0;
}

/* Those that are requested, in their order. */
static int take_requested(struct og_session *s, struct og_err *err)
{
    const struct og_graph_types *g = s->workload.types;
    struct og_split *split = &s->workload.split[OG__TEST];
    drop_split(s, split);
    know_split(s, OG__TEST);
    if (!*s->config.nodes)
        return 0;
    bool made[OG_MOST_TYPES];
    for (uint32_t t = 0; t < g->n_types; t++)
        made[t] = makes_rows(s, t);
    OG_DO(og__graph_nodes(s->workload.graph, s->config.nodes, made, s->budget, &split->ids,
                          &split->n, err));
    know_split(s, OG__TEST);
    for (int64_t i = 0; i < split->n; i++)
        if (!makes_rows(s, og__graph_type(g, split->ids[i])))
            return og__fail(err, -EINVAL, "ids are those of train.npy, all of that type",
                            "--nodes %s: node %u is of type %s, the model predicts type %s",
                            s->config.nodes, split->ids[i],
                            g->type[og__graph_type(g, split->ids[i])].name,
                            g->type[g->target].name);
    return 0;
}

/* For links, those of all types are required; no nodes need be there to train on. */
static int take_every_node(struct og_session *s, struct og_err *err)
{
    int rc = 0;
    if (s->workload.split[OG__TRAIN].n == 0) /* batches are measured by those to train on */
        rc = take_nodes(s, OG__TRAIN, err);
    if (rc < 0)
        return rc;
    return s->config.nodes ? take_requested(s, err) : take_nodes(s, OG__TEST, err);
}

static int find_seeds(struct og_session *s, struct og_err *err)
{
    const struct og_graph_types *g = s->workload.types;
    if (s->workload.seeds.edges && g->by_relation)
        return know_triples(s, err);
    if (of_pairs(s) || s->config.want & OG__WANT_RECORD) /* samples are of any types of seeds */
        return 0;
    return find_targets(s, err);
}

/* The types of nodes, and after them units of edges. */
static struct og_graph_types *with_units(const struct og_workload *f)
{
    const struct og_graph *g = f->row_graph;
    const uint32_t first = f->graph->n_groups;
    struct og_graph_types *out = calloc(1, sizeof(*out));
    struct og_graph_type *type = calloc(g->n_groups, sizeof(*type));
    if (!out || !type) {
        free(out);
        free(type);
        return NULL;
    }
    *out = *f->types;
    out->type = memcpy(type, f->types->type, first * sizeof(*type));
    out->n_types = g->n_groups;
    out->n_unit_groups = g->n_groups - first;
    for (uint32_t k = first; k < g->n_groups; k++) {
        const struct og_group *of = &g->group[k];
        type[k] = (struct og_graph_type){
            .name = of->name, .end = (uint32_t)(of->first + of->n_nodes), .dim = of->dim};
    }
    return out;
}

/* Whose rows lie in slots of their own. */
static int know_group_slots(const struct og_config *c, struct og_workload *f, struct og_err *err)
{
    if (f->row_bytes > 0) /* of one group, whose slots are the cache's */
        return 0;
    const struct og_graph_types *g = f->types;
    if (og__plans_units(f))
        g = with_units(f);
    f->planned_groups = g;
    if (!g)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", f->graph->path);
    f->group_slots = calloc(g->n_types, sizeof(*f->group_slots));
    if (!f->group_slots)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", f->graph->path);
    for (uint32_t t = 0; t < g->n_types; t++) {
        if (!og__has_features(&g->type[t]))
            continue;
        f->group_slots[f->n_group_slots++] =
            (struct og_group_slots){.first = og__nodes_known(c, og__first_id(g, t)),
                                    .end = og__nodes_known(c, g->type[t].end)};
    }
    return 0;
}

int og__session_know_types(struct og_session *s, const struct og_model_config *model,
                           struct og_err *err)
{
    int rc;
    struct og_graph_types *g = s->workload.types = types_of(s->workload.graph);
    if (!g || !g->type || !g->relation)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", s->workload.graph->path);
    g->fanout = s->structure.fanouts;
    g->once = s->config.opt.draw == OG_DRAW_ONCE;
    g->replace = s->config.opt.replace;
    OG_TRY(find_seeds(s, err));
    if (og__reads_as_a_model(&s->config)) /* others do without rows that there are none of */
        OG_TRY(resolve_embeddings(s, model, err));
    OG_TRY(know_group_slots(&s->config, &s->workload, err));
    if (s->config.want & OG__WANT_EVERY)
        OG_TRY(take_every_node(s, err));
out:
    return rc;
}

static void drop_planned_groups(struct og_workload *f)
{
    if (f->planned_groups && f->planned_groups->n_unit_groups > 0) {
        free(f->planned_groups->type);
        free((void *)f->planned_groups);
    }
    f->planned_groups = NULL;
}

void og__session_drop_types(struct og_session *s)
{
    struct og_graph_types *g = s->workload.types;
    og__triples_close(&s->workload.triples);
    og__type_counts_release(&s->workload.by_type);
    og__session_drop_degrees(s);
    drop_planned_groups(&s->workload); /* maybe the types themselves */
    if (g) {
        free(g->type);
        free(g->relation);
    }
    free(g);
    free(s->workload.group_slots);
    s->workload.types = NULL;
    s->workload.group_slots = NULL;
    s->workload.n_group_slots = 0;
}
