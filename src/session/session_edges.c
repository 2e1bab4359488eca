/* Edges that batches know by themselves: their places, and the rows of their features. Rows of a
 * relation's edges are a group that is read, cached and planned as rows of nodes are. Its rows are
 * units of several edges, with ids after those of the nodes:
 *
 *   ids     | nodes of group 0 | of 1 | units of relation 0 | of 2 |       relation 1 has no rows
 *           0                         N                            */
#include "session/session_parts.h"

#include "dataset/edge_split.h"
#include "learn/learner.h"
#include "options/options.h"

#include <stdlib.h>

enum {
    PLACES = 64,      /* of a unit without rows, where places exceed 32 bits: few units to number */
    UNIT_BYTES = 512, /* shorter rows are read with others anyway */
};

static const char *described(unsigned want)
{
    return want & OG__WANT_EDGE_ROWS ? "features of edges" : "places of edges";
}

static int check_sampling(const struct og_session *s, struct og_err *err)
{
    const struct og_options *opt = &s->config.opt;
    const char *what = described(s->config.want);
    if (og__sampling_by_visits((enum og_sampler_kind)opt->sampler))
        return og__fail(err, -EINVAL, "use another sampler, or leave them out",
                        "%s: --sampler %s samples no edges", what,
                        og__option_word("sampler", opt->sampler));
    if (opt->sample_on != OG_SAMPLE_ON_HOST)
        return og__fail(err, -EINVAL, "use --sample-on host, or leave them out",
                        "%s: --sample-on device does not support them", what);
    if (opt->samples && s->config.handover.n > 0)
        return og__fail(err, -EINVAL, "leave out one of them",
                        "%s: a loader does not get them from --samples", what);
    if (s->held_out && s->config.want & OG__WANT_EDGES)
        return og__fail(err, -EINVAL, "use --edge-split " OG__OWN_EDGES ", or leave them out",
                        "%s: held-out edges change the places of the others", what);
    return 0;
}

static bool has_rows(const struct og_graph *g)
{
    bool has = false;
    for (uint32_t r = 0; r < g->n_relations; r++)
        has |= g->relation[r].edges.dim > 0;
    return has;
}

static int check_rows(const struct og_session *s, struct og_err *err)
{
    const struct og_graph *g = s->workload.graph;
    if (!has_rows(g))
        return og__fail(err, -EINVAL, "import the graph with an edge_attr.npy, or leave them out",
                        "%s: has no features of edges", g->path);
    return 0;
}

/* ---- does the model see them? ---- */

/* Why batches of these options cannot have them; NULL: they can. */
static const char *obstacle(const struct og_session *s)
{
    const struct og_options *opt = &s->config.opt;
    if (og__sampling_by_visits((enum og_sampler_kind)opt->sampler))
        return "neighbours of walks are no edges";
    if (opt->device != OG_DEVICE_CPU)
        return "devices do not compute with them yet";
    return NULL;
}

static bool uses_edges(const struct og_session *s, const struct og_model_config *model, bool has)
{
    const struct og_options *opt = &s->config.opt;
    if (model)
        return model->edge_dim > 0;
    if (!og__model_takes_edges(opt->model) || opt->edge_features == OG_EDGE_FEATURES_OFF)
        return false;
    return opt->edge_features == OG_EDGE_FEATURES_ON || og__model_needs_edges(opt->model) ||
           (has && !obstacle(s));
}

static void warn_of_no_effect(const struct og_session *s)
{
    const bool takes = og__model_takes_edges(s->config.opt.model);
    const bool off = s->config.opt.edge_features == OG_EDGE_FEATURES_OFF;
    if (!(s->config.want & OG__WANT_TRAINING) || (takes && off))
        return;
    og__say(&s->config.log, OG__WARN, "%s: features of edges have no effect: %s",
            s->workload.graph->path,
            takes ? obstacle(s) : "models gat, gatv2, gine and transformer use them");
}

/* What helps where the model sees edges, and nothing is to be seen. */
static const char *way_out(const struct og_session *s, const struct og_model_config *model)
{
    if (model)
        return "use a checkpoint of this dataset";
    return og__model_needs_edges(s->config.opt.model)
               ? "use --model gin, or import the graph with an edge_attr.npy"
               : "import the graph with an edge_attr.npy, or use --edge-features off";
}

/* What helps where batches cannot have them. Some models do not go without. */
static const char *way_around(const struct og_session *s, const struct og_model_config *model)
{
    const bool walks = og__sampling_by_visits((enum og_sampler_kind)s->config.opt.sampler);
    if (model || og__model_needs_edges(s->config.opt.model))
        return walks ? "use --sampler uniform" : "use --device cpu";
    return "use --edge-features off";
}

int og__session_use_edges(struct og_session *s, const struct og_model_config *model,
                          struct og_err *err)
{
    struct og_config *c = &s->config;
    const bool has = has_rows(s->workload.graph);
    const char *why = obstacle(s);
    if (!og__reads_as_a_model(c) && !(c->want & (OG__WANT_COUNTED | OG__WANT_RECORD)))
        return 0;
    const bool used = uses_edges(s, model, has);
    if ((has || c->opt.edge_features == OG_EDGE_FEATURES_ON) && !used)
        warn_of_no_effect(s);
    c->opt.edge_features = used ? OG_EDGE_FEATURES_ON : OG_EDGE_FEATURES_OFF;
    if (used && !has)
        return og__fail(err, -EINVAL, way_out(s, model),
                        "%s: has no features of edges, which --model %s requires",
                        s->workload.graph->path, og__option_word("model", c->opt.model));
    if (used && why)
        return og__fail(err, -EINVAL, way_around(s, model), "features of edges: %s", why);
    c->want |= used ? OG__WANT_EDGE_ROWS : 0u;
    return 0;
}

/* ---- units ---- */

/* Edges of a relation that are read and cached together; or numbered together, where places do not
 * fit. */
static uint32_t rows_of_unit(const struct og_session *s, uint32_t relation)
{
    const struct og_group *edges = &s->workload.graph->relation[relation].edges;
    if (s->config.want & OG__WANT_EDGE_ROWS && edges->dim > 0)
        return (uint32_t)OG_MAX(UNIT_BYTES / og__file_row_bytes(edges), (size_t)1);
    const bool fit = (uint64_t)s->workload.graph->relation[relation].n_edges <= UINT32_MAX;
    return s->config.want & OG__WANT_EDGES && !fit ? PLACES : 0;
}

static int number_units(struct og_session *s, struct og_err *err)
{
    struct og_workload *f = &s->workload;
    const struct og_graph *g = f->graph;
    uint64_t first = (uint64_t)g->n_nodes;
    if (!(f->edge_units = calloc(g->n_relations, sizeof(*f->edge_units))))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const uint32_t rows = rows_of_unit(s, r);
        const bool places = rows == 0 && s->config.want & OG__WANT_EDGES;
        f->edge_units[r] = (struct og_edge_unit){(uint32_t)first, rows, places};
        first += rows > 0 ? ((uint64_t)g->relation[r].n_edges + rows - 1) / rows : 0;
        if (first >= UINT32_MAX)
            return og__fail(err, -EINVAL, "use --edge-features off, or a loader without edge_attr",
                            "%s: too many edges", described(s->config.want));
    }
    return 0;
}

static struct og_group group_of_units(const struct og_graph *of, uint32_t relation,
                                      const struct og_edge_unit *unit)
{
    const struct og_relation *r = &of->relation[relation];
    struct og_group out = r->edges;
    out.graph = of;
    out.relation = relation;
    out.first = unit->first;
    out.n_nodes = (r->n_edges + unit->rows - 1) / unit->rows;
    out.dim = (int)((uint32_t)r->edges.dim * unit->rows);
    return out;
}

/* The graph's groups, and after them one for each relation with units. */
static int add_groups(struct og_workload *f, struct og_err *err)
{
    const struct og_graph *g = f->graph;
    struct og_graph *all = calloc(1, sizeof(*all));
    struct og_group *group = calloc(g->n_groups + g->n_relations, sizeof(*group));
    if (!all || !group) {
        free(all);
        free(group);
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    }
    *all = *g;
    all->has_types = true; /* there are several groups */
    all->group = group;
    f->row_graph = all;
    for (uint32_t k = 0; k < g->n_groups; k++) {
        group[k] = g->group[k];
        group[k].graph = all;
    }
    for (uint32_t r = 0; r < g->n_relations; r++)
        if (f->edge_units[r].rows > 0 && g->relation[r].n_edges > 0) {
            group[all->n_groups] = group_of_units(all, r, &f->edge_units[r]);
            all->n_nodes = group[all->n_groups].first + group[all->n_groups].n_nodes;
            all->n_groups++;
        }
    return all->n_groups > OG_MOST_TYPES
               ? og__fail(err, -EINVAL, "use --edge-features off, or a loader without edge_attr",
                          "features of edges: %u groups of rows, at most %d", all->n_groups,
                          OG_MOST_TYPES)
               : 0;
}

int og__session_know_edges(struct og_session *s, struct og_err *err)
{
    const unsigned want = s->config.want;
    if (!(want & (OG__WANT_EDGES | OG__WANT_EDGE_ROWS)))
        return 0;
    OG_DO(check_sampling(s, err));
    OG_DO(want & OG__WANT_EDGE_ROWS ? check_rows(s, err) : 0);
    OG_DO(number_units(s, err));
    return want & OG__WANT_EDGE_ROWS ? add_groups(&s->workload, err) : 0;
}

void og__session_drop_edges(struct og_session *s)
{
    struct og_workload *f = &s->workload;
    if (f->row_graph != f->graph) {
        free(f->row_graph->group);
        free(f->row_graph);
    }
    free(f->edge_units);
}
