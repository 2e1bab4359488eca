/* A planted graph with types: nodes of every type have a class, and edges of every relation lie
 * within classes as often as homophily says. So the class of a node of the first type, which alone
 * has labels, shows in its neighbours of any type, near and far. */
#include "dataset/generate/maker.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char part[] = "edges";
/* Seeds of types and relations follow from the run's, the first type's being that one. */
#define SEED_STEP 0x9E3779B97F4A7C15u

struct typed_maker {
    const struct og_generate *g;
    struct og_maker k;            /* of the type or relation at hand */
    struct og_generate *of;       /* [n_types] what each type is */
    struct og_graph_model *model; /* [n_types] */
    double *degree;               /* [n_relations] */
};

/* ---- what is wanted ---- */

static int not_so(const char *option, const char *word, const char *form, struct og_err *err)
{
    return og__fail(err, -EINVAL, form, "--%s: '%.80s'", option, word);
}

/* The parts of a word between colons, which are cut there; how many, at most 4. */
static int cut_word(char *word, char *out[4])
{
    int n = 0;
    for (char *p = word; p && n < 4;) {
        out[n++] = p;
        p = strchr(p, ':');
        if (p)
            *p++ = 0;
    }
    return n;
}

static bool read_number(const char *text, double least, double most, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(text, &end);
    return end != text && !*end && errno == 0 && *out >= least && *out <= most;
}

static int add_type(struct typed_maker *m, char *word, struct og_err *err)
{
    static const char form[] = "NAME:NODES or NAME:NODES:FEATURES each, commas between them";
    char *at[4];
    double nodes = 0;
    double dim = 0;
    int n = cut_word(word, at);
    if (n < 2 || n > 3 || !read_number(at[1], 1, UINT32_MAX - 2, &nodes) || nodes != floor(nodes) ||
        (n == 3 && (!read_number(at[2], 0, 1 << 20, &dim) || dim != floor(dim))))
        return not_so("types", word, form, err);
    if (nodes < m->g->classes)
        return og__fail(err, -EINVAL, "as many nodes as classes at least, or fewer --classes",
                        "--types: '%s' has %.0f nodes, there are %d classes", at[0], nodes,
                        m->g->classes);
    int rc = og__schema_add_group(&m->k.graph, at[0], (int64_t)nodes, "--types", err);
    if (rc < 0)
        return rc;
    const uint32_t t = m->k.graph.n_groups - 1;
    m->of[t] = *m->g;
    m->of[t].nodes = (int64_t)nodes;
    m->of[t].dim = (int)OG_MAX(dim, 1.0); /* the group has that there are none */
    m->of[t].seed = (int64_t)((uint64_t)m->g->seed + t * SEED_STEP);
    m->k.graph.group[t].dim = (int)dim;
    m->k.graph.group[t].stored = (enum og_dtype)m->g->dtype;
    return 0;
}

static int add_relation(struct typed_maker *m, char *word, struct og_err *err)
{
    static const char form[] = "SOURCE:NAME:DESTINATION or SOURCE:NAME:DESTINATION:DEGREE each, of "
                               "--types, commas between them";
    char *at[4];
    double degree = m->g->degree;
    int n = cut_word(word, at);
    const int source = n >= 3 ? og__schema_find(&m->k.graph, at[0]) : -1;
    const int destination = n >= 3 ? og__schema_find(&m->k.graph, at[2]) : -1;
    if (source < 0 || destination < 0 || (n == 4 && !read_number(at[3], 0, 1e6, &degree)))
        return not_so("relations", word, form, err);
    int rc = og__schema_add_relation(&m->k.graph, (uint32_t)source, at[1], (uint32_t)destination,
                                     "--relations", err);
    if (rc == 0)
        m->degree[m->k.graph.n_relations - 1] = degree;
    return rc;
}

/* Each word of a list. */
static int each_word(struct typed_maker *m, const char *list,
                     int (*add)(struct typed_maker *m, char *word, struct og_err *err),
                     struct og_err *err)
{
    char *copy = strdup(list);
    char *rest = copy;
    int rc = copy ? 0 : og__fail_errno(err, -ENOMEM, NULL, "generate");
    for (char *word; rc == 0 && (word = strsep(&rest, ","));)
        rc = add(m, word, err);
    free(copy);
    return rc;
}

static int read_wanted(struct typed_maker *m, struct og_err *err)
{
    const struct og_generate *g = m->g;
    struct og_generate first = *g;
    int rc;
    if (!g->types || !g->relations)
        return og__fail(err, -EINVAL,
                        "--types paper:1000:128,author:5000 --relations "
                        "author:writes:paper:3",
                        "--types and --relations belong together");
    if (g->model != OG_PLANTED)
        return og__fail(err, -EINVAL, "leave out --model",
                        "--types: planted graphs alone have them");
    OG_TRY(og__schema_init(&m->k.graph, err));
    m->of = calloc(OG_MOST_TYPES, sizeof(*m->of));
    m->model = calloc(OG_MOST_TYPES, sizeof(*m->model));
    m->degree = calloc(OG_MOST_RELATIONS, sizeof(*m->degree));
    OG_TRY(m->of && m->model && m->degree ? 0 : og__fail_errno(err, -ENOMEM, NULL, "generate"));
    OG_TRY(each_word(m, g->types, add_type, err));
    OG_TRY(each_word(m, g->relations, add_relation, err));
    OG_TRY(og__schema_settle(&m->k.graph, false, "--types", err));
    first.nodes = OG_MAX(m->of[0].nodes, (int64_t)2);
    OG_TRY(og__generate_check(&first, err));
    for (uint32_t t = 0; t < m->k.graph.n_groups; t++)
        og__graph_model_init(&m->model[t], &m->of[t]);
out:
    return rc;
}

/* ---- edges ---- */

struct round {
    const struct typed_maker *m;
    uint32_t relation;
    uint64_t first_task, n_edges; /* of the relation */
    uint32_t *src, *dst;          /* [OG__TASKS_A_ROUND * OG__EDGES_A_TASK] */
};

static void draw_task(void *arg, size_t i, int thread)
{
    const struct round *r = arg;
    const struct og_relation *rel = &r->m->k.graph.relation[r->relation];
    const uint64_t task = r->first_task + i;
    const uint64_t before = task * OG__EDGES_A_TASK;
    const uint64_t seed = (uint64_t)r->m->g->seed + (OG_MOST_TYPES + r->relation) * SEED_STEP;
    (void)thread;
    og__planted_between(&r->m->model[rel->source], &r->m->model[rel->destination], seed,
                        (uint32_t)task,
                        (uint32_t)OG_MIN(r->n_edges - before, (uint64_t)OG__EDGES_A_TASK),
                        r->src + i * OG__EDGES_A_TASK, r->dst + i * OG__EDGES_A_TASK);
}

static int add_round(struct typed_maker *m, struct round *r, struct og_edge_sorter *sorter,
                     uint64_t tasks, struct og_err *err)
{
    const uint64_t n = OG_MIN(tasks - r->first_task, (uint64_t)OG__TASKS_A_ROUND);
    const uint64_t before = r->first_task * OG__EDGES_A_TASK;
    const uint64_t drawn = OG_MIN(r->n_edges - before, n * OG__EDGES_A_TASK);
    og__pool_run(m->k.pool, n, draw_task, r);
    int rc;
    OG_TRY(og__sorter_add(sorter, r->relation, r->src, r->dst, NULL, drawn, err));
    og__maker_tell(&m->k, "edges", "edges", before + drawn, r->n_edges);
    OG_TRY(og__maker_stopped(&m->k, err));
out:
    return rc;
}

static int add_relations(struct typed_maker *m, struct round *r, struct og_edge_sorter *sorter,
                         struct og_err *err)
{
    int rc = 0;
    for (r->relation = 0; r->relation < m->k.graph.n_relations; r->relation++) {
        const uint32_t to = m->k.graph.relation[r->relation].destination;
        r->n_edges = (uint64_t)llround(m->degree[r->relation] * (double)m->of[to].nodes);
        const uint64_t tasks = (r->n_edges + OG__EDGES_A_TASK - 1) / OG__EDGES_A_TASK;
        for (r->first_task = 0; r->first_task < tasks; r->first_task += OG__TASKS_A_ROUND)
            OG_TRY(add_round(m, r, sorter, tasks, err));
    }
out:
    return rc;
}

static int write_edges(struct typed_maker *m, struct og_err *err)
{
    const size_t each = (size_t)OG__TASKS_A_ROUND * OG__EDGES_A_TASK;
    uint32_t *room = og__alloc(m->k.budget, 2 * each * sizeof(*room), part, err);
    struct round r = {.m = m, .src = room, .dst = room + each};
    struct og_edge_sorter *sorter = NULL;
    struct og_edge_sorter_result result;
    int rc;
    OG_TRY(room ? 0 : -ENOMEM);
    const struct og_edge_sorter_options opt = {.graph = &m->k.graph,
                                               .drop_duplicates = true,
                                               .drop_self_loops = true,
                                               .memory = og__budget_left(m->k.budget),
                                               .scratch = m->k.dir.temporary,
                                               .pool = m->k.pool};
    OG_TRY(og__sorter_open(&sorter, &opt, m->k.budget, err));
    OG_TRY(add_relations(m, &r, sorter, err));
    OG_TRY(og__sorter_edges(sorter) > 0
               ? 0
               : og__fail(err, -EINVAL, "a larger degree", "--relations: no edges"));
    OG_TRY(og__sorter_finish(sorter, m->k.dir.temporary, m->k.checksums, &result, err));
out:
    og__sorter_free(sorter);
    og__release(m->k.budget, room, 2 * each * sizeof(*room), part);
    return rc;
}

/* ---- nodes ---- */

static int append_labels(const struct typed_maker *m, struct og_npy_writer *w, struct og_err *err)
{
    int rc = 0;
    for (int64_t v = 0; v < m->k.graph.n_nodes; v++) {
        const int64_t label =
            v < m->of[0].nodes ? (int64_t)og__node_class(&m->model[0], (uint32_t)v) : -1;
        OG_TRY(og__npy_append(w, &label, 1, err));
    }
out:
    return rc;
}

static int write_labels(struct typed_maker *m, struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    char *path = og__path_join(m->k.dir.temporary, "labels.npy");
    uint64_t checksum;
    int rc;
    OG_TRY(path ? og__npy_create(&w, path, OG__NPY_I64, 1, 1, err)
                : og__fail_errno(err, -ENOMEM, NULL, "labels.npy"));
    OG_TRY(append_labels(m, w, err));
    rc = og__npy_finish(w, &checksum, err);
    w = NULL;
    OG_TRY(rc);
    OG_TRY(og__meta_set_checksum(m->k.checksums, "labels.npy", checksum, err));
out:
    og__npy_discard(w);
    free(path);
    return rc;
}

/* Features of a type; of the first, splits too. */
static int write_type(struct typed_maker *m, uint32_t t, struct og_err *err)
{
    char name[32];
    int rc;
    if (t > 0 && m->k.graph.group[t].dim == 0)
        return 0;
    m->k.g = &m->of[t];
    m->k.model = m->model[t];
    OG_TRY(og__maker_tables(&m->k, err));
    snprintf(name, sizeof(name), "features_%u.npy", t);
    if (m->k.graph.group[t].dim > 0)
        OG_TRY(og__maker_features(&m->k, name, err));
    if (t == 0)
        OG_TRY(og__maker_splits(&m->k, err));
out:
    og__maker_free_tables(&m->k);
    m->k.quantile = m->k.mean = NULL;
    m->k.chunk = NULL;
    m->k.g = m->g;
    return rc;
}

/* ---- all of it ---- */

static int write_meta(const struct typed_maker *m, struct og_err *err)
{
    const struct og_generate *g = m->g;
    const char *slash = strrchr(m->k.dir.path, '/');
    json_t *provenance =
        json_pack("{s:s s:s s:s s:s s:f s:f s:I}", "generator", og_version(), "model", "planted",
                  "types", g->types, "relations", g->relations, "homophily", g->homophily,
                  "train_fraction", g->train_fraction, "seed", (json_int_t)g->seed);
    json_t *root = json_pack(
        "{s:i s:s s:I s:I s:i s:b s:s s:o s:o s:O s:o}", "format", OG__FORMAT_TYPED, "name",
        slash ? slash + 1 : m->k.dir.path, "num_nodes", (json_int_t)m->k.graph.n_nodes, "num_edges",
        (json_int_t)m->k.graph.n_edges, "num_classes", g->classes, "multi_label", 0, "task",
        "node classification", "node_types", og__schema_groups_json(&m->k.graph), "relations",
        og__schema_relations_json(&m->k.graph), "checksums", m->k.checksums, "provenance",
        provenance);
    return og__meta_write(m->k.dir.temporary, root, err);
}

static int make_all(struct typed_maker *m, struct og_err *err)
{
    int rc;
    OG_TRY(write_edges(m, err));
    for (uint32_t t = 0; t < m->k.graph.n_groups; t++)
        OG_TRY(write_type(m, t, err));
    OG_TRY(write_labels(m, err));
    OG_TRY(write_meta(m, err));
out:
    return rc;
}

static void release(struct typed_maker *m)
{
    og__newdir_abandon(&m->k.dir);
    og__pool_close(m->k.pool);
    og__budget_free(m->k.budget);
    json_decref(m->k.checksums);
    og__schema_release(&m->k.graph);
    free(m->of);
    free(m->model);
    free(m->degree);
}

/* Without types: what `generate` makes of the same size. */
static int make_plain(const struct typed_maker *m, const char *out, const struct og_observer *seen,
                      struct og_err *err)
{
    struct og_generate g = m->of[0];
    g.degree = m->degree[0];
    g.types = g.relations = NULL;
    return og__generate_plain(out, &g, seen, err);
}

int og__generate_typed(const char *out, const struct og_generate *g, const struct og_observer *seen,
                       struct og_err *err)
{
    struct typed_maker m = {.g = g, .k = {.g = g, .seen = seen}};
    int rc;
    OG_TRY(read_wanted(&m, err));
    if (m.k.graph.n_groups == 1 && m.k.graph.n_relations == 1 && m.k.graph.group->dim > 0) {
        rc = make_plain(&m, out, seen, err);
        goto out;
    }
    m.k.checksums = json_object();
    m.k.budget = og__budget_new(og__memory_amount(&g->memory));
    OG_TRY(m.k.checksums && m.k.budget ? 0 : og__fail_errno(err, -ENOMEM, NULL, "generate"));
    OG_TRY(og__pool_open(&m.k.pool, g->threads ? g->threads : og__cpu_count(), err));
    OG_TRY(og__newdir_begin(&m.k.dir, out, err));
    OG_TRY(make_all(&m, err));
    OG_TRY(og__newdir_commit(&m.k.dir, err));
out:
    release(&m);
    return rc;
}
