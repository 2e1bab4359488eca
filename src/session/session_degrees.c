/* Degrees of relations, for a model that normalises by them. Lists are of in-neighbours, so
 * out-degrees are counted once, in a pass over each relation's lists, in memory or on disk. They
 * stay where the topology gives way to rows. Where convolutions use weights of edges, also what
 * these come to at each node (dataset/weight_sums.h), in homogeneous graphs as well. */
#include "session/session_parts.h"

static const char part[] = "degrees";

/* How many in-degrees and out-degrees a relation has. Within a type nobody uses out-degrees. */
static size_t n_arriving(const struct og_workload *f, uint32_t relation)
{
    return (size_t)f->graph->group[f->types->relation[relation].destination].n_nodes;
}

static size_t n_leaving(const struct og_workload *f, uint32_t relation)
{
    const struct og_graph_relation *of = &f->types->relation[relation];
    return of->source == of->destination ? 0 : (size_t)f->graph->group[of->source].n_nodes;
}

/* Statistics of weights. For each destination their mean and, within a type, its loop's; else the
 * sum of those that leave each source. */
static size_t weight_bytes(size_t destinations, size_t sources, bool between)
{
    return destinations * sizeof(float) +
           (between ? sources * sizeof(double) : destinations * sizeof(float));
}

/* For a homogeneous graph. */
static bool weighs_nodes(const struct og_workload *f)
{
    return og__model_wants_degrees(&f->shape) && og__model_sums_weights(&f->shape);
}

static size_t relation_bytes(const struct og_workload *f, uint32_t relation)
{
    const size_t arriving = n_arriving(f, relation), leaving = n_leaving(f, relation);
    return (arriving + leaving) * sizeof(uint32_t) +
           (og__model_sums_weights(&f->shape) ? weight_bytes(arriving, leaving, leaving > 0) : 0);
}

size_t og__degrees_bytes(const struct og_workload *f)
{
    size_t sum = weighs_nodes(f) ? weight_bytes((size_t)f->graph->n_nodes, 0, false) : 0;
    for (uint32_t r = 0; r < f->types->n_relations; r++)
        if (og__model_counts_relation(&f->shape, r))
            sum += relation_bytes(f, r);
    return sum;
}

/* Zeros, which are what a relation without edges has. */
static int take(struct og_session *s, size_t n, uint32_t **counts, struct og_err *err)
{
    *counts = og__alloc(s->budget, n * sizeof(**counts), part, err);
    return *counts ? 0 : -ENOMEM;
}

static int count_within(const struct og_topology *lists, uint32_t *arriving, struct og_err *err)
{
    return lists->n_edges > 0 ? og__topology_count_neighbors(lists, arriving, err) : 0;
}

static int count_between(const struct og_topology *lists, uint32_t *arriving, uint32_t *leaving,
                         struct og_err *err)
{
    if (lists->n_edges == 0)
        return 0;
    for (uint32_t v = 0; v < lists->n_nodes; v++)
        arriving[v] = (uint32_t)og__degree(lists, v);
    return og__topology_count_sources(lists, leaving, err);
}

/* The relation that samples are of: where edges are held out the dataset's is another. */
static int sum_weights(struct og_session *s, const struct og_relation *r, bool between,
                       struct og_weight_sums *out, struct og_err *err)
{
    const size_t n = (size_t)r->n_nodes;
    out->mean = og__alloc(s->budget, n * sizeof(*out->mean), part, err);
    if (between)
        out->leaving =
            og__alloc(s->budget, (size_t)r->n_sources * sizeof(*out->leaving), part, err);
    else
        out->loop = og__alloc(s->budget, n * sizeof(*out->loop), part, err);
    if (!out->mean || !(between ? (void *)out->leaving : (void *)out->loop))
        return -ENOMEM;
    return og__weight_sums_fill(r, s->budget, out, err);
}

static int count_relation(struct og_session *s, uint32_t relation, struct og_err *err)
{
    const struct og_topology *lists = &s->structure.topology.relation[relation].lists;
    struct og_graph_relation *of = &s->workload.types->relation[relation];
    const bool between = of->source != of->destination;
    uint32_t *arriving, *leaving = NULL;
    int rc;
    OG_TRY(take(s, n_arriving(&s->workload, relation), &arriving, err));
    of->arriving = arriving;
    if (between)
        OG_TRY(take(s, n_leaving(&s->workload, relation), &leaving, err));
    of->leaving = leaving;
    OG_TRY(between ? count_between(lists, arriving, leaving, err)
                   : count_within(lists, arriving, err));
    if (og__model_sums_weights(&s->workload.shape))
        rc = sum_weights(s, &s->workload.graph->relation[relation], between, &of->weights, err);
out:
    return rc;
}

int og__session_count_degrees(struct og_session *s, struct og_err *err)
{
    struct og_workload *f = &s->workload;
    struct og_io_counts read = {0};
    int rc = 0;
    if (weighs_nodes(f)) {
        OG_TRY(sum_weights(s, f->graph->relation, false, &f->weights, err));
        f->shape.weights = &f->weights;
        return 0;
    }
    if (og__degrees_bytes(f) == 0)
        return 0;
    OG_TRY(og__structure_fetch(&s->structure, &read, &s->prepare.bytes_written, err));
    for (uint32_t r = 0; r < f->types->n_relations; r++)
        if (og__model_counts_relation(&f->shape, r))
            OG_TRY(count_relation(s, r, err));
out:
    return rc;
}

static void drop_weights(struct og_session *s, size_t destinations, size_t sources,
                         struct og_weight_sums *w)
{
    og__release(s->budget, w->mean, destinations * sizeof(*w->mean), part);
    og__release(s->budget, w->loop, destinations * sizeof(*w->loop), part);
    og__release(s->budget, w->leaving, sources * sizeof(*w->leaving), part);
    *w = (struct og_weight_sums){0};
}

void og__session_drop_degrees(struct og_session *s)
{
    const struct og_workload *f = &s->workload;
    const struct og_graph_types *g = f->types;
    if (!f->graph) /* nor types */
        return;
    drop_weights(s, (size_t)f->graph->n_nodes, 0, &s->workload.weights);
    for (uint32_t r = 0; g && g->relation && r < g->n_relations; r++) {
        struct og_graph_relation *of = &g->relation[r];
        og__release(s->budget, (void *)of->arriving, n_arriving(f, r) * sizeof(uint32_t), part);
        og__release(s->budget, (void *)of->leaving, n_leaving(f, r) * sizeof(uint32_t), part);
        drop_weights(s, n_arriving(f, r), n_leaving(f, r), &of->weights);
    }
}
