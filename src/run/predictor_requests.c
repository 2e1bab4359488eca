/* Requests of a predictor: what they may have, and how a caller waits for a worker. */
#include "run/predictor_parts.h"

#include "base/sized.h"
#include "dataset/times.h"
#include "learn/targets.h"
#include "nn/relational.h"
#include "nn/tasks.h"
#include "options/fanouts.h"
#include "report/json.h"

#include <string.h>

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
    const json_t *classes = og__class_names(f->graph, &f->shape);
    if (classes && !f->shape.multi_label)
        root = og__json_with(root, "class_names", json_incref((json_t *)classes));
    return og__json_deliver(root, NULL, out, err);
}

int og_predictor_columns(const struct og_predictor *p)
{
    return p->columns;
}

/* How a request says nodes of the groups from `first` to before `end`. `file` has ids as it does.
 */
static const char *how_to_ask(const struct og_predictor *p, uint32_t first, uint32_t end,
                              const char *file)
{
    const struct og_graph *g = p->s->workload.graph;
    bool named = true;
    for (uint32_t k = first; k < end; k++)
        named &= p->names[k] != NULL;
    if (named)
        return "give names of nodes, as a table of predictions has them";
    if (g->node_ids.fd >= 0)
        return "numbers are rows of the dataset; give ids of the source as text: \"7\"";
    return file;
}

static int check_nodes(const struct og_predictor *p, const int64_t *nodes, int64_t n,
                       struct og_err *err)
{
    const struct og_workload *f = &p->s->workload;
    const struct og_graph_types *g = f->types;
    const bool several = og__mixes_seeds(&f->shape);
    const int64_t first = several ? 0 : og__first_id(g, g->target);
    const int64_t end = several ? f->graph->n_nodes : g->type[g->target].end;
    const uint32_t group = several ? 0 : (uint32_t)g->target;
    const uint32_t groups = several ? f->graph->n_groups : group + 1;
    for (int64_t i = 0; i < n; i++) {
        if (nodes[i] < first || nodes[i] >= end)
            return og__fail(err, -EINVAL, how_to_ask(p, group, groups, "ids count as in train.npy"),
                            "node %lld: ids of predicted nodes are %lld to %lld",
                            (long long)nodes[i], (long long)first, (long long)end - 1);
        const uint32_t of = og__graph_type(g, (uint32_t)nodes[i]);
        if (several && !og__makes_logits(&f->shape, of))
            return og__fail(err, -EINVAL, "give nodes of types with labels",
                            "node %lld: the model does not predict type %s", (long long)nodes[i],
                            g->type[of].name);
    }
    return 0;
}

/* Neighbourhoods that know no future need times: of the request, or of the nodes. */
static int check_times(const struct og_predictor *p, const struct og_asked *r, struct og_err *err)
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
static int request(struct og_predictor *p, struct og_asked *r, struct og_err *err)
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
    struct og_asked r = {.nodes = nodes, .n = n, .out = out, .err = err};
    OG_DO(check_more(more, err));
    r.times = more ? more->times : NULL;
    if (more && (more->own || more->relation))
        return og__fail(err, -EINVAL, "leave it out, or request edges",
                        "a request of nodes takes no %s",
                        more->own ? "features of edges" : "relation");
    if (p->columns == 0)
        return og__fail(err, -EINVAL, "request edges", "this model predicts edges, not nodes");
    OG_DO(check_nodes(p, nodes, n, err));
    OG_DO(check_times(p, &r, err));
    return n < 1 ? 0 : request(p, &r, err);
}

int og_predictor_rows(struct og_predictor *p, const int64_t *nodes, int64_t n, float *out,
                      struct og_err *err)
{
    return og_predictor_rows_with(p, nodes, n, NULL, out, err);
}

/* Whether scores depend on a relation. */
static bool scores_by_relation(const struct og_predictor *p)
{
    return og__relates(&p->s->workload.shape);
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
    if (!name && g->n_relations == 1)
        return 0;
    if (!name)
        return og__fail(err, -EINVAL, "name the relation of the edges",
                        "decoder %s: scores depend on a relation",
                        og__decoder_words[p->s->workload.shape.decoder]);
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
        const uint32_t type = (uint32_t)(i % 2 ? r->destination : r->source);
        const struct og_group *needed = &g->group[type];
        if (of != needed)
            return og__fail(
                err, -EINVAL, how_to_ask(p, type, type + 1, "ids count as in train_edges.npy"),
                "edge %lld: node %lld is of type %s, relation %s needs %s", (long long)(i / 2),
                (long long)ends[i], of->name, r->name, needed->name);
    }
    return 0;
}

static int check_edges(const struct og_predictor *p, const int64_t *ends, const float *own,
                       int64_t n, struct og_err *err)
{
    const struct og_model_config *shape = &p->s->workload.shape;
    const int64_t n_nodes = p->s->workload.graph->n_nodes;
    if (p->edge_columns == 0)
        return og__fail(err, -EINVAL, "request nodes", "this model predicts nodes, not edges");
    if (n > 0 && !own != (shape->pair_dim == 0))
        return og__fail(err, -EINVAL,
                        own ? "leave out edge_attr" : "give edge_attr, a row for each edge",
                        "edge_attr: the model reads %d features of an edge, %s given",
                        shape->pair_dim, own ? "some were" : "none were");
    for (int64_t i = 0; i < 2 * n; i++)
        if (ends[i] < 0 || ends[i] >= n_nodes)
            return og__fail(
                err, -EINVAL,
                how_to_ask(p, 0, p->s->workload.graph->n_groups, "ids count as in train_edges.npy"),
                "edge %lld: node %lld, the graph has %lld nodes", (long long)(i / 2),
                (long long)ends[i], (long long)n_nodes);
    return 0;
}

int og_predictor_edges_with(struct og_predictor *p, const int64_t *ends, int64_t n,
                            const struct og_predictor_request *more, float *out, struct og_err *err)
{
    struct og_asked r = {.nodes = ends, .edges = true, .n = n, .out = out, .err = err};
    OG_DO(check_more(more, err));
    r.own = more ? more->own : NULL;
    r.times = more ? more->times : NULL;
    OG_DO(check_edges(p, ends, r.own, n, err));
    OG_DO(find_relation(p, more ? more->relation : NULL, &r.relation, err));
    if (scores_by_relation(p))
        OG_DO(check_types(p, r.relation, ends, n, err));
    OG_DO(check_times(p, &r, err));
    return n < 1 ? 0 : request(p, &r, err);
}

/* ---- names ---- */

/* Whether a request may name nodes of the group. end: 0 or 1, of an edge. */
static bool may_name(const struct og_predictor *p, const struct og_relation *of, bool edges,
                     int end, uint32_t group)
{
    const struct og_workload *f = &p->s->workload;
    if (of)
        return group == (end ? of->destination : of->source);
    if (edges)
        return true;
    return og__mixes_seeds(&f->shape) ? og__makes_logits(&f->shape, group)
                                      : group == (uint32_t)f->types->target;
}

/* The relation of a request's edges, where scores depend on it; else NULL. */
static int relation_of(const struct og_predictor *p, bool edges,
                       const struct og_predictor_request *more, const struct og_relation **of,
                       struct og_err *err)
{
    uint32_t relation;
    int rc;
    *of = NULL;
    OG_TRY(check_more(more, err));
    if (!edges || !scores_by_relation(p))
        return 0;
    OG_TRY(find_relation(p, more ? more->relation : NULL, &relation, err));
    *of = &p->s->workload.graph->relation[relation];
out:
    return rc;
}

int og_predictor_check_numbers(const struct og_predictor *p, const int64_t *ids, int64_t n,
                               bool edges, const struct og_predictor_request *more,
                               struct og_err *err)
{
    const struct og_graph *g = p->s->workload.graph;
    const struct og_relation *of;
    int rc;
    OG_TRY(relation_of(p, edges, more, &of, err));
    for (int end = 0; n > 0 && end < (edges ? 2 : 1); end++) {
        uint32_t only = 0, may = 0;
        char what[48];
        for (uint32_t k = 0; k < g->n_groups; k++)
            if (may_name(p, of, edges, end, k)) {
                only = k;
                may++;
            }
        snprintf(what, sizeof(what), "node %lld", (long long)ids[end]);
        if (may == 1 && p->names[only])
            OG_TRY(og__node_names_refuse(p->names[only], what, err));
    }
out:
    return rc;
}

static int find_name(const struct og_predictor *p, const struct og_relation *of, bool edges,
                     int end, const char *name, int64_t *out, struct og_err *err)
{
    const struct og_graph *g = p->s->workload.graph;
    const struct og_word word = {name, (uint32_t)strlen(name)};
    bool named = g->node_ids.fd >= 0;
    *out = -1;
    for (uint32_t k = 0; k < g->n_groups; k++) {
        named |= p->names[k] != NULL;
        int64_t node = -1;
        if (!may_name(p, of, edges, end, k))
            continue;
        if (p->names[k]) {
            const int64_t at = og__node_names_find(p->names[k], &word);
            node = at < 0 ? -1 : g->group[k].first + at;
        } else {
            OG_DO(og__graph_find_id(g, k, name, &node, err));
        }
        if (node >= 0 && *out >= 0)
            return og__fail(err, -EINVAL, "give its number: its place in the whole graph",
                            "two types have a node called %.200s", name);
        *out = node >= 0 ? node : *out;
    }
    if (*out >= 0)
        return 0;
    return og__fail(
        err, -EINVAL,
        named ? "new nodes come in by an import with their rows; the same checkpoint "
                "then predicts them"
              : "give ids that count as in train.npy",
        named ? "no node is called %.200s" : "the dataset has no names of nodes: %.200s", name);
}

int og_predictor_find(const struct og_predictor *p, const char *const *name, int64_t n, bool edges,
                      const struct og_predictor_request *more, int64_t *out, struct og_err *err)
{
    const struct og_relation *of;
    int rc;
    OG_TRY(relation_of(p, edges, more, &of, err));
    for (int64_t i = 0; i < n * (edges ? 2 : 1); i++)
        OG_TRY(find_name(p, of, edges, (int)(i % 2), name[i], &out[i], err));
out:
    return rc;
}

int og_predictor_edges(struct og_predictor *p, const int64_t *ends, const float *own, int64_t n,
                       float *out, struct og_err *err)
{
    const struct og_predictor_request more = {.size = sizeof(more), .own = own};
    return og_predictor_edges_with(p, ends, n, &more, out, err);
}
