/* Opens a graph: reads meta.json and every array's header, and checks them against each other.
 * Loading checks split and label ids; topology.c checks the lists. */
#include "base/descriptors.h"
#include "dataset/files.h"
#include "dataset/graph_parts.h"
#include "dataset/identity.h"
#include "dataset/schema.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

/* A precision of 0 leaves out the number 0, the only one of a homogeneous graph. */
const struct og_form og__forms[] = {
    {OG__FORMAT_PLAIN, .group = "features%.0u", .scales = "feature_scales%.0u",
     .rest = "feature_rest%.0u", .relation = "%.0u%s", .needs_rows = true,
     .identify = og__identify_arrays, .group_contents = og__contents_of_all,
     .schema = og__schema_plain_json},
    {OG__FORMAT_TYPED, .group = "features_%u", .scales = "feature_scales_%u",
     .rest = "feature_rest_%u", .relation = "rel%u_%s", .list = "node_types",
     .group_ends = "features_%u_ptr", .lists_relations = true, .by_relation = true,
     .identify = og__identify_parts, .group_contents = og__contents_of_group,
     .schema = og__schema_typed_json},
};

/* ---- its arrays ---- */

struct og_npy *og__array_of(struct og_graph *g, enum og__array a)
{
    struct og_npy *const of[] = {
        [OG__INDPTR] = &g->relation->indptr,
        [OG__INDICES] = &g->relation->indices,
        [OG__WEIGHTS] = &g->relation->weights,
        [OG__EDGE_IDS] = &g->relation->edge_ids,
        [OG__EDGE_FEATURES] = &g->relation->edges.rows,
        [OG__EDGE_TIMES] = &g->relation->edge_times,
        [OG__FEATURES] = &g->group->rows,
        [OG__LABELS] = &g->labels,
        [OG__NODE_TIMES] = &g->node_times,
        [OG__ARRAY_TRAIN] = &g->split[OG__TRAIN],
        [OG__ARRAY_VALID] = &g->split[OG__VALID],
        [OG__ARRAY_TEST] = &g->split[OG__TEST],
        [OG__ARRAY_TRAIN_EDGES] = &g->edges[OG__TRAIN],
        [OG__ARRAY_VALID_EDGES] = &g->edges[OG__VALID],
        [OG__ARRAY_TEST_EDGES] = &g->edges[OG__TEST],
    };
    return of[a];
}

/* Paths that meta.json declares are relative to the dataset unless absolute. */
static char *declared_path(const char *folder, const char *path)
{
    return path[0] == '/' ? strdup(path) : og__path_join(folder, path);
}

static char *array_path(const char *folder, const struct og_meta_file *f, const char *array)
{
    if (f->path)
        return declared_path(folder, f->path);
    char *path = NULL;
    return asprintf(&path, "%s/%s.npy", folder, array) < 0 ? NULL : path;
}

static int open_raw(struct og_npy *a, const char *path, const struct og_meta_file *f,
                    struct og_err *err)
{
    uint64_t size = 0;
    int rc = og__npy_open_file(a, path, &size, err);
    if (rc < 0)
        return rc;
    a->type = f->type;
    a->ndim = f->ndim;
    a->shape[0] = f->shape[0];
    a->shape[1] = f->shape[1];
    a->offset = f->offset;
    rc = og__npy_fit(a, size, path, err);
    if (rc < 0)
        og__npy_close(a);
    return rc;
}

/* Checks that this part fits its position in the array. Messages name its number. */
static int check_part(const struct og_npy *whole, uint32_t p, uint64_t contents, struct og_err *err)
{
    const struct og_npy *a = &whole->parts->part[p];
    const struct og_npy *first = &whole->parts->part[0];
    const int64_t rows =
        (int64_t)og__part_rows(&whole->parts->stripes, p, (uint64_t)whole->shape[0]);
    uint64_t found = contents;
    if (a->shape[0] != rows)
        return og__fail(err, -EINVAL, NULL, "%s: %lld rows, not %lld", a->path,
                        (long long)a->shape[0], (long long)rows);
    if (a->type != first->type || a->ndim != 2 || a->shape[1] != first->shape[1] ||
        a->offset != first->offset)
        return og__fail(err, -EINVAL, NULL, "%s: not of the form of %s", a->path, first->path);
    int rc = contents ? og__array_contents(a, &found, err) : 0;
    if (rc == 0 && found != contents)
        return og__fail(err, -EINVAL, NULL, "%s: of another dataset, or changed since", a->path);
    return rc;
}

static int open_part(const struct og_graph *g, struct og_npy *whole, const struct og_meta_file *f,
                     uint32_t p, struct og_err *err)
{
    static const char part_hint[] =
        "is its disk mounted? Else copy the part back to the path that meta.json has for it, or "
        "make the dataset again";
    const struct og_meta_part said = og__meta_part(f, p);
    struct og_err mine = {0};
    char *path = declared_path(g->path, said.path);
    int rc = path ? og__npy_open(&whole->parts->part[p], path, &mine)
                  : og__fail_errno(&mine, -ENOMEM, NULL, "%s", g->path);
    if (rc == 0)
        rc = check_part(whole, p, said.contents, &mine);
    free(path);
    return rc < 0 ? og__fail(err, rc, part_hint, "part %u of %u of the features: %s", p + 1,
                             f->stripes.parts, mine.message)
                  : 0;
}

/* Combines the parts to an array of so many rows. */
static int open_parts(const struct og_graph *g, struct og_npy *whole, const struct og_meta_file *f,
                      int64_t rows, struct og_err *err)
{
    const uint32_t n = f->stripes.parts;
    struct og_npy_parts *parts = calloc(1, sizeof(*parts) + n * sizeof(struct og_npy));
    int rc = 0;
    if (!parts)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    parts->stripes = f->stripes;
    for (uint32_t p = 0; p < n; p++)
        parts->part[p].fd = -1;
    whole->parts = parts;
    whole->ndim = 2;
    whole->shape[0] = rows;
    if (whole->shape[0] < 1)
        return og__fail(err, -EINVAL, og__graph_again_hint, "%s: no node has features", g->path);
    for (uint32_t p = 0; p < n; p++)
        OG_TRY(open_part(g, whole, f, p, err));
    const struct og_npy *first = &parts->part[0];
    whole->type = first->type;
    whole->shape[1] = first->shape[1];
    whole->offset = first->offset;
    whole->bytes = whole->shape[0] * whole->shape[1] * (int64_t)og__npy_size(whole->type);
    whole->path = first->path ? strdup(first->path) : NULL;
    if (!whole->path)
        rc = og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
out:
    return rc;
}

/* NAME.npy of the folder, or the file that meta.json has for it. With `optional`, one that is not
 * there stays closed. */
static int open_array(const struct og_graph *g, const struct og_meta *m, const char *name,
                      bool optional, struct og_npy *a, struct og_err *err)
{
    struct og_err mine = {0};
    struct og_meta_file f;
    int rc = og__meta_find_file(m, name, &f, g->path, err);
    if (rc < 0)
        return rc;
    char *path = array_path(g->path, &f, name);
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    rc = f.raw ? open_raw(a, path, &f, &mine) : og__npy_open(a, path, &mine);
    free(path);
    if (rc == -ENOENT && optional && !f.path)
        return 0; /* left closed: absent */
    if (rc < 0)
        og__fail(err, rc, mine.hint[0] ? mine.hint : og__graph_again_hint, "%s", mine.message);
    return rc;
}

struct og_array_name og__relation_array(const struct og_graph *g, uint32_t r, enum og__array a)
{
    struct og_array_name n;
    snprintf(n.text, sizeof(n.text), og__form_of(g)->relation, r, og__array_name(a));
    return n;
}

struct og_array_name og__group_array(const struct og_graph *g, uint32_t group)
{
    struct og_array_name n;
    snprintf(n.text, sizeof(n.text), og__form_of(g)->group, group);
    return n;
}

struct og_array_name og__scales_array(const struct og_graph *g, uint32_t group)
{
    struct og_array_name n;
    snprintf(n.text, sizeof(n.text), og__form_of(g)->scales, group);
    return n;
}

struct og_array_name og__rest_array(const struct og_graph *g, uint32_t group)
{
    struct og_array_name n;
    snprintf(n.text, sizeof(n.text), og__form_of(g)->rest, group);
    return n;
}

/* Is there the array: a file named in meta.json, or the default one? */
static bool has_array(const struct og_graph *g, const struct og_meta *m, struct og_array_name name)
{
    struct og_meta_file f;
    if (og__meta_find_file(m, name.text, &f, g->path, NULL) < 0 || f.path)
        return true; /* opening it then reports the error */
    char *path = array_path(g->path, &f, name.text);
    const bool there = path && access(path, F_OK) == 0;
    free(path);
    return there;
}

/* Nodes of a group, by meta.json or else by the open lists. */
static int64_t nodes_of(const struct og_graph *g, const struct og_meta *m, uint32_t k)
{
    return m->type[k].count >= 0 ? m->type[k].count : g->relation->indptr.shape[0] - 1;
}

/* Checks the limit of open files: all arrays stay open. */
static int check_descriptors(const struct og_graph *g, const struct og_meta *m, struct og_err *err)
{
    enum { OF_NODES = 12 };
    uint64_t n = OF_NODES;
    for (uint32_t k = 0; k < m->n_types; k++) {
        struct og_meta_file f;
        const int rc = og__meta_find_file(m, og__group_array(g, k).text, &f, g->path, NULL);
        const bool in_one = rc < 0 || f.stripes.parts == 0;
        n += in_one ? m->type[k].has_rows : f.stripes.parts;
        n += has_array(g, m, og__scales_array(g, k));
        n += has_array(g, m, og__rest_array(g, k));
    }
    for (uint32_t r = 0; r < m->n_relations; r++)
        for (enum og__array a = OG__INDPTR; a < OG__RELATION_ARRAYS; a++)
            n += a <= OG__INDICES || has_array(g, m, og__relation_array(g, r, a));
    return og__descriptors_check(n, g->path, NULL, err);
}

static int open_relations(struct og_graph *g, const struct og_meta *m, struct og_err *err)
{
    for (uint32_t r = 0; r < g->n_relations; r++) {
        struct og_npy *const array[] = {[OG__INDPTR] = &g->relation[r].indptr,
                                        [OG__INDICES] = &g->relation[r].indices,
                                        [OG__WEIGHTS] = &g->relation[r].weights,
                                        [OG__EDGE_IDS] = &g->relation[r].edge_ids,
                                        [OG__EDGE_FEATURES] = &g->relation[r].edges.rows,
                                        [OG__EDGE_TIMES] = &g->relation[r].edge_times};
        for (enum og__array a = OG__INDPTR; a < OG__RELATION_ARRAYS; a++)
            OG_DO(
                open_array(g, m, og__relation_array(g, r, a).text, a > OG__INDICES, array[a], err));
    }
    return 0;
}

static int open_groups(struct og_graph *g, const struct og_meta *m, struct og_err *err)
{
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const struct og_array_name name = og__group_array(g, k);
        struct og_npy *rows = &g->group[k].rows;
        struct og_meta_file f;
        OG_DO(og__meta_find_file(m, name.text, &f, g->path, err));
        OG_DO(f.stripes.parts > 0 ? open_parts(g, rows, &f, nodes_of(g, m, k), err)
                                  : open_array(g, m, name.text, !m->type[k].has_rows, rows, err));
        OG_DO(open_array(g, m, og__scales_array(g, k).text, true, &g->group[k].scales, err));
        OG_DO(open_array(g, m, og__rest_array(g, k).text, true, &g->group[k].rest, err));
    }
    return 0;
}

const char *og__negatives_name(enum og__split split, bool each)
{
    static const char *const names[OG__SPLITS][2] = {
        [OG__TRAIN] = {"train_neg_edges", "train_neg_dst"},
        [OG__VALID] = {"valid_neg_edges", "valid_neg_dst"},
        [OG__TEST] = {"test_neg_edges", "test_neg_dst"}};
    return names[split][each];
}

const char *og__listed_name(enum og__listed what, enum og__split split)
{
    static const char *const names[OG__LISTED][OG__SPLITS] = {
        [OG__EDGE_LIST_LABELS] = {"train_edge_labels", "valid_edge_labels", "test_edge_labels"},
        [OG__NODE_LIST_TIMES] = {"train_times", "valid_times", "test_times"},
        [OG__EDGE_LIST_ROWS] = {"train_edge_rows", "valid_edge_rows", "test_edge_rows"},
        [OG__EDGE_LIST_TIMES] = {"train_edge_times", "valid_edge_times", "test_edge_times"}};
    return names[what][split];
}

/* A split has them in one form or the other. */
static int open_negatives(struct og_graph *g, const struct og_meta *m, enum og__split s,
                          struct og_err *err)
{
    struct og_npy *a = &g->negatives[s];
    int rc;
    OG_TRY(open_array(g, m, og__negatives_name(s, false), true, a, err));
    if (a->fd >= 0)
        return 0;
    rc = open_array(g, m, og__negatives_name(s, true), true, a, err);
    g->negatives_each[s] = a->fd >= 0;
out:
    return rc;
}

static int open_lists(struct og_graph *g, const struct og_meta *m, struct og_err *err)
{
    static const char *const beside[OG__SPLITS] = {"train_edge_relations", "valid_edge_relations",
                                                   "test_edge_relations"};
    for (enum og__array a = OG__LABELS; a < OG__ARRAYS; a++)
        OG_DO(open_array(g, m, og__array_name(a), true, og__array_of(g, a), err));
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++)
        OG_DO(open_negatives(g, m, s, err));
    for (enum og__listed i = 0; i < OG__LISTED; i++)
        for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++)
            OG_DO(open_array(g, m, og__listed_name(i, s), true, &g->listed[i][s], err));
    OG_DO(open_array(g, m, "node_ids", true, &g->node_ids, err));
    if (!og__form_of(g)->lists_relations)
        return 0;
    for (int s = 0; s < OG__SPLITS; s++)
        OG_DO(open_array(g, m, beside[s], true, &g->edge_relations[s], err));
    return 0;
}

/* ---- do they agree? ---- */

/* Checks against the ends' counts in meta.json. Else, if homogeneous, against the number of
 * lists. */
static int check_relation(struct og_relation *r, int64_t n_nodes, int64_t n_edges,
                          struct og_err *err)
{
    const struct og_npy *p = &r->indptr;
    const struct og_npy *i = &r->indices;
    const struct og_npy *w = &r->weights;
    r->n_nodes = p->shape[0] - 1;
    r->n_edges = i->shape[0];
    if (p->type != OG__NPY_I64 || p->shape[1] != 1)
        return og__fail(err, -EINVAL, og__graph_again_hint, "%s: must be int64 [N+1]", p->path);
    if ((i->type != OG__NPY_I32 && i->type != OG__NPY_I64) || i->shape[1] != 1)
        return og__fail(err, -EINVAL, og__graph_again_hint, "%s: must be int32 or int64 [E]",
                        i->path);
    if (n_nodes >= 0 && n_nodes != r->n_nodes)
        return og__graph_disagree(p->path, "lists, num_nodes", n_nodes, r->n_nodes, err);
    if (n_edges >= 0 && n_edges != r->n_edges)
        return og__graph_disagree(i->path, "num_edges", n_edges, r->n_edges, err);
    if (w->fd >= 0 && (w->type != OG__NPY_F32 || w->shape[0] != r->n_edges || w->shape[1] != 1))
        return og__fail(err, -EINVAL, og__graph_again_hint, "%s: must be float32 [E]", w->path);
    const struct og_npy *ids = &r->edge_ids;
    if (ids->fd >= 0 &&
        (ids->type != OG__NPY_I64 || ids->shape[0] != r->n_edges || ids->shape[1] != 1))
        return og__fail(err, -EINVAL, og__graph_again_hint, "%s: must be int64 [E]", ids->path);
    r->edges.n_nodes = r->n_edges;
    return og__graph_check_times(&r->edge_times, r->n_edges, "[E]", err);
}

static int check_counts(const struct og_graph *g, const struct og_meta *m, struct og_err *err)
{
    if (m->n_edges >= 0 && m->n_edges != g->n_edges)
        return og__graph_disagree(g->path, "num_edges", m->n_edges, g->n_edges, err);
    if (g->n_nodes < 1 || g->n_edges < 1)
        return og__fail(err, -EINVAL, "there is nothing to train on",
                        "%s: an empty graph (%lld nodes, %lld edges)", g->path,
                        (long long)OG_MAX(g->n_nodes, 0), (long long)g->n_edges);
    if (g->n_nodes >= UINT32_MAX)
        return og__fail(err, -EINVAL, "fewer than 2^32 - 1 nodes are supported", "%s: %lld nodes",
                        g->path, (long long)g->n_nodes);
    return 0;
}

static int check_structure(struct og_graph *g, const struct og_meta *m, struct og_err *err)
{
    for (uint32_t r = 0; r < g->n_relations; r++) {
        struct og_relation *of = &g->relation[r];
        OG_DO(check_relation(of, m->type[of->destination].count, m->relation[r].n_edges, err));
        g->n_edges += of->n_edges;
    }
    for (uint32_t k = 0; k < g->n_groups; k++) {
        g->group[k].first = g->n_nodes;
        g->group[k].n_nodes = nodes_of(g, m, k);
        g->n_nodes += g->group[k].n_nodes;
    }
    for (uint32_t r = 0; r < g->n_relations; r++)
        g->relation[r].n_sources = g->group[g->relation[r].source].n_nodes;
    OG_DO(og__graph_check_times(&g->node_times, g->n_nodes, "[N]", err));
    return check_counts(g, m, err);
}

static int check_labels(struct og_graph *g, const struct og_meta *m, struct og_err *err)
{
    const struct og_npy *l = &g->labels;
    g->n_classes = (int)m->n_classes;
    if (l->fd < 0)
        return 0;
    g->shares = l->type == OG__NPY_F32 && m->task && strcmp(m->task, "node shares") == 0;
    g->regression =
        g->shares || (l->type == OG__NPY_F32 && m->task && strcmp(m->task, "node regression") == 0);
    g->multi_label = l->type == OG__NPY_F32 && !g->regression;
    if (!og__float_labels(g) && (!og__npy_is_integer(l->type) || l->shape[1] != 1))
        return og__fail(err, -EINVAL, og__graph_again_hint,
                        "%s: must be int64 [N] or float32 [N,C]", l->path);
    if (m->multi_label >= 0 && g->multi_label != m->multi_label)
        return og__fail(err, -EINVAL, og__graph_again_hint,
                        "%s: %s where meta.json says multi_label %s", l->path,
                        og__npy_name(l->type), m->multi_label ? "true" : "false");
    if (l->shape[0] != g->n_nodes)
        return og__graph_disagree(g->path, "rows of labels.npy", g->n_nodes, l->shape[0], err);
    if (og__float_labels(g) && l->shape[1] != m->n_classes)
        return og__graph_disagree(g->path, "num_classes and columns of labels.npy", m->n_classes,
                                  l->shape[1], err);
    if (g->n_classes < 1)
        return og__fail(err, -EINVAL, og__graph_again_hint, "%s: labels, but num_classes is 0",
                        g->path);
    return 0;
}

static int check_lists(struct og_graph *g, const struct og_meta *m, struct og_err *err)
{
    OG_DO(check_labels(g, m, err));
    return og__graph_check_splits(g, err);
}

/* ---- open and close ---- */

static char *name_of(const char *path)
{
    char *copy = strdup(path);
    char *name = copy ? strdup(basename(copy)) : NULL;
    free(copy);
    return name;
}

static void blank(struct og_graph *g)
{
    struct og_npy *const own[] = {&g->labels, &g->node_times, &g->node_ids};
    for (size_t i = 0; i < OG_COUNT(own); i++)
        own[i]->fd = -1;
    for (int s = 0; s < OG__SPLITS; s++) {
        g->split[s].fd = g->edges[s].fd = g->edge_relations[s].fd = g->negatives[s].fd = -1;
        for (int i = 0; i < OG__LISTED; i++)
            g->listed[i][s].fd = -1;
    }
}

static struct og_relation relation_of(const struct og_graph *g, const struct og_relation_meta *m)
{
    return (struct og_relation){
        .graph = g,
        .name = m->name,
        .source = m->source,
        .destination = m->destination,
        .indptr.fd = -1,
        .indices.fd = -1,
        .weights.fd = -1,
        .edge_ids.fd = -1,
        .edge_times.fd = -1,
        .edges = {.graph = g, .name = m->name, .rows.fd = -1, .scales.fd = -1, .rest.fd = -1}};
}

static int take_meta(struct og_graph *g, const struct og_meta *m, struct og_err *err)
{
    g->has_types = m->format == OG__FORMAT_TYPED;
    g->symmetric = m->symmetric;
    g->workers = m->file[OG__FEATURES].workers;
    g->worker = m->file[OG__FEATURES].worker;
    g->meta = json_incref(m->root);
    g->name = m->name ? strdup(m->name) : name_of(g->path);
    g->group = calloc(m->n_types, sizeof(*g->group));
    g->relation = calloc(m->n_relations, sizeof(*g->relation));
    if (!g->name || !g->group || !g->relation)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    for (; g->n_groups < m->n_types; g->n_groups++)
        g->group[g->n_groups] = (struct og_group){.graph = g,
                                                  .name = m->type[g->n_groups].name,
                                                  .rows.fd = -1,
                                                  .scales.fd = -1,
                                                  .rest.fd = -1};
    for (; g->n_relations < m->n_relations; g->n_relations++)
        g->relation[g->n_relations] = relation_of(g, &m->relation[g->n_relations]);
    return 0;
}

static int open_all(struct og_graph *g, const struct og_meta *m, struct og_err *err)
{
    int rc;
    OG_TRY(take_meta(g, m, err));
    OG_TRY(check_descriptors(g, m, err));
    OG_TRY(open_relations(g, m, err));
    OG_TRY(open_groups(g, m, err));
    OG_TRY(open_lists(g, m, err));
    OG_TRY(check_structure(g, m, err));
    for (uint32_t k = 0; k < g->n_groups; k++)
        OG_TRY(og__check_group(&g->group[k], &m->type[k], err));
    for (uint32_t r = 0; r < g->n_relations; r++)
        OG_TRY(og__check_edge_rows(&g->relation[r], &m->relation[r], err));
    OG_TRY(check_lists(g, m, err));
    OG_TRY(og__graph_identify(g, m, err));
    g->lists = g->identity.contents;
out:
    return rc;
}

int og__graph_open_share(const char *path, struct og_graph **out, struct og_err *err)
{
    struct og_meta m = {0};
    struct og_graph *g = calloc(1, sizeof(*g));
    int rc = 0;
    *out = NULL;
    if (!g)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    blank(g);
    if (!(g->path = strdup(path)))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    OG_TRY(og__meta_open(&m, path, err));
    OG_TRY(open_all(g, &m, err));
    *out = g;
out:
    og__meta_release(&m);
    if (rc < 0)
        og__graph_close(g);
    return rc;
}

int og__graph_open(const char *path, struct og_graph **out, struct og_err *err)
{
    int rc = og__graph_open_share(path, out, err);
    if (rc < 0 || !(*out)->workers)
        return rc;
    rc = og__fail(err, -EINVAL,
                  "give the whole dataset, or train on all parts with --exchange "
                  "(docs/guides/workers-and-machines.md)",
                  "%s: has the feature rows of worker %u of %u alone", path, (*out)->worker,
                  (*out)->workers);
    og__graph_close(*out);
    *out = NULL;
    return rc;
}

int og__graph_has_types(const char *path, bool *has, struct og_err *err)
{
    struct og_meta m;
    OG_DO(og__meta_open(&m, path, err));
    *has = m.format == OG__FORMAT_TYPED;
    og__meta_release(&m);
    return 0;
}

int og__graph_refuse_types(const struct og_graph *g, struct og_err *err)
{
    return g->has_types ? og__fail(err, -EINVAL,
                                   "import the source with --drop-types for a homogeneous graph",
                                   "%s: heterogeneous graphs are not supported here yet", g->path)
                        : 0;
}

int og__graph_refuse_edge_features(const struct og_graph *g, const char *what, struct og_err *err)
{
    for (uint32_t r = 0; r < g->n_relations; r++)
        if (g->relation[r].edges.dim > 0 || g->relation[r].edge_ids.fd >= 0)
            return og__fail(err, -EINVAL, "import the source without edge features",
                            "%s: %s does not support edge features yet", g->path, what);
    return 0;
}

/* fn of every array that is open. */
static void each_array(struct og_graph *g, void (*fn)(struct og_npy *a, void *arg), void *arg)
{
    for (uint32_t k = 0; k < g->n_groups; k++) {
        fn(&g->group[k].rows, arg);
        fn(&g->group[k].scales, arg);
        fn(&g->group[k].rest, arg);
    }
    for (uint32_t r = 0; r < g->n_relations; r++) {
        fn(&g->relation[r].indptr, arg);
        fn(&g->relation[r].indices, arg);
        fn(&g->relation[r].weights, arg);
        fn(&g->relation[r].edge_ids, arg);
        fn(&g->relation[r].edge_times, arg);
        fn(&g->relation[r].edges.rows, arg);
    }
    for (int s = 0; s < OG__SPLITS; s++) {
        fn(&g->split[s], arg);
        fn(&g->edges[s], arg);
        fn(&g->edge_relations[s], arg);
        fn(&g->negatives[s], arg);
        for (int i = 0; i < OG__LISTED; i++)
            fn(&g->listed[i][s], arg);
    }
    fn(&g->labels, arg);
    fn(&g->node_times, arg);
    fn(&g->node_ids, arg);
}

static void close_array(struct og_npy *a, void *arg)
{
    (void)arg;
    og__npy_close(a);
}

void og__graph_close(struct og_graph *g)
{
    if (!g)
        return;
    each_array(g, close_array, NULL);
    for (uint32_t k = 0; k < g->n_groups; k++) {
        free(g->group[k].scale);
        free(g->group[k].rest_bytes);
    }
    free(g->group);
    free(g->relation);
    free(g->path);
    free(g->name);
    json_decref(g->meta);
    json_decref(g->label_names);
    free(g->class_of);
    free(g);
}

void og__graph_replace(struct og_graph *left, struct og_graph *g)
{
    char *path = left->path;
    left->path = g->path;
    g->path = path;
    left->identity = g->identity;
    for (uint32_t k = 0; k < left->n_groups; k++)
        left->group[k].contents = g->group[k].contents;
    og__graph_close(g);
}

/* ---- queries ---- */

struct file_search {
    const struct stat *wanted;
    bool found;
};

static void look_for(struct og_npy *a, void *arg)
{
    struct file_search *s = arg;
    struct stat st;
    for (uint32_t p = 0; a->parts && p < a->parts->stripes.parts; p++)
        look_for(&a->parts->part[p], s);
    s->found |= a->fd >= 0 && fstat(a->fd, &st) == 0 && st.st_dev == s->wanted->st_dev &&
                st.st_ino == s->wanted->st_ino;
}

int og__graph_spare(const struct og_graph *g, const char *path, struct og_err *err)
{
    struct stat there;
    struct file_search s = {.wanted = &there};
    if (!path || lstat(path, &there) < 0)
        return 0;
    OG_DO(og__dataset_has(g->path, &there, &s.found, err));
    each_array((struct og_graph *)g, look_for, &s);
    return s.found ? og__fail(err, -EEXIST, "choose another name",
                              "%s: a file of the dataset, which is only read", path)
                   : 0;
}

uint32_t og__group_of(const struct og_graph *g, uint32_t node)
{
    uint32_t low = 0;
    for (uint32_t n = g->n_groups; n > 1;) { /* groups low .. low + n hold it */
        const uint32_t half = n / 2;
        const bool above = node >= g->group[low + half].first;
        low += above ? half : 0;
        n = above ? n - half : half;
    }
    return low;
}
