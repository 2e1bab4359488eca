/* node_type.npy, edge_type.npy and the names of meta.json -> groups and relations. */
#include "dataset/import/npy.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "import";
enum {
    PIECE = 8192,
    MOST_EDGE_TYPES = 65536,
    TRIPLES_BYTES = OG__EDGES_A_PIECE * sizeof(uint32_t)
};
#define MOST_TRIPLES ((size_t)1 << 24)

void og__npy_close_types(struct og_npy_source *s)
{
    struct og_budget *b = s->imp->budget;
    const size_t n = (size_t)s->order.n;
    og__table_close(s->node_type);
    og__table_close(s->edge_type);
    og__release(b, s->order.group, n * sizeof(*s->order.group), part);
    og__release(b, s->order.new_id, n * sizeof(*s->order.new_id), part);
    og__release(b, s->relation_of, s->n_triples * sizeof(*s->relation_of), part);
    og__release(b, s->triple, TRIPLES_BYTES, part);
    s->imp->new_id = NULL;
}

/* ---- numbers of types ---- */

static int check_numbers(const struct og_table *t, struct og_err *err)
{
    if (og__npy_is_integer(t->type) && t->columns == 1)
        return 0;
    return og__fail(err, -EINVAL, "the number of a type for each, from 0", "%s: %s [%lld, %lld]",
                    t->name, og__npy_name(t->type), (long long)t->rows, (long long)t->columns);
}

/* The next numbers, each below `limit`; *n = 0 at the end. */
static int next_numbers(struct og_table *t, int64_t limit, int64_t want, int64_t *out, int64_t *n,
                        struct og_err *err)
{
    int64_t raw[PIECE];
    OG_DO(og__table_read(t, raw, want, n, err));
    og__npy_widen(t->type, raw, (size_t)*n, out);
    for (int64_t i = 0; i < *n; i++)
        if (out[i] < 0 || out[i] >= limit)
            return og__fail(err, -EINVAL, "types count from 0; nodes have at most 256, edges 65536",
                            "%s: row %lld: type %lld", t->name, (long long)(t->next - *n + i),
                            (long long)out[i]);
    return 0;
}

static int open_numbers(const struct og_npy_source *s, const char *name, struct og_table **t,
                        struct og_err *err)
{
    int rc = og__import_open_npy(s->imp, name, true, t, err);
    return rc < 0 || !*t ? rc : check_numbers(*t, err);
}

static int check_count(const struct og_table *t, int64_t edges, const char *of, struct og_err *err)
{
    if (!t || t->rows == edges)
        return 0;
    return og__fail(err, -EINVAL, "one for each edge", "%s: %lld types for %lld edges%s", t->name,
                    (long long)t->rows, (long long)edges, of);
}

int og__npy_open_types(struct og_npy_source *s, struct og_err *err)
{
    if (s->imp->opt->drop_types) {
        const int of_nodes = og__import_has(s->imp, "node_type.npy", err);
        const int of_edges = og__import_has(s->imp, "edge_type.npy", err);
        s->imp->dropped_types = of_nodes > 0 || of_edges > 0;
        return OG_MIN(OG_MIN(of_nodes, of_edges), 0);
    }
    OG_DO(open_numbers(s, "node_type.npy", &s->node_type, err));
    OG_DO(open_numbers(s, "edge_type.npy", &s->edge_type, err));
    OG_DO(check_count(s->edge_type, og__edges_rows(&s->edges), " of edges.npy", err));
    if (s->node_type || s->edge_type)
        OG_DO(og__import_with_types(s->imp, err));
    return 0;
}

/* The name of type `number` in meta.json: {"type": 0, "name": "package"} in a list. */
static const char *said_name(const struct og_npy_source *s, const char *list, const char *key,
                             int64_t number)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(s->said.root, list), i, one)
    {
        const json_t *value = json_object_get(one, key);
        if (json_is_integer(value) && json_integer_value(value) == number)
            return json_string_value(json_object_get(one, "name"));
    }
    return NULL;
}

/* ---- nodes ---- */

static int count_nodes(struct og_npy_source *s, int64_t count[OG_MOST_TYPES], uint32_t *groups,
                       struct og_err *err)
{
    struct og_node_order *o = &s->order;
    int64_t piece[PIECE];
    int64_t before = 0;
    *groups = 0;
    for (int64_t n = 1; n > 0;) {
        OG_DO(next_numbers(s->node_type, OG_MOST_TYPES, PIECE, piece, &n, err));
        for (int64_t i = 0; i < n; i++) {
            o->by_group = o->by_group && piece[i] >= before;
            before = piece[i];
            count[piece[i]]++;
            *groups = OG_MAX(*groups, (uint32_t)piece[i] + 1);
        }
        o->n += n;
    }
    return 0;
}

/* Nodes of a source that is not ordered by groups get ids in that order. */
static int map_nodes(struct og_npy_source *s, struct og_err *err)
{
    struct og_node_order *o = &s->order;
    struct og_budget *b = s->imp->budget;
    int64_t next[OG_MOST_TYPES];
    int64_t piece[PIECE];
    o->group = og__alloc(b, (size_t)o->n * sizeof(*o->group), part, err);
    o->new_id = o->group ? og__alloc(b, (size_t)o->n * sizeof(*o->new_id), part, err) : NULL;
    OG_DO(o->new_id ? 0 : -ENOMEM);
    for (uint32_t k = 0; k < s->imp->graph.n_groups; k++)
        next[k] = s->imp->graph.group[k].first;
    OG_DO(og__table_rewind(s->node_type, err));
    for (int64_t v = 0, n = 1; n > 0; v += n) {
        OG_DO(next_numbers(s->node_type, s->imp->graph.n_groups, PIECE, piece, &n, err));
        for (int64_t i = 0; i < n && v + i < o->n; i++) {
            o->group[v + i] = (uint8_t)piece[i];
            o->new_id[v + i] = (uint32_t)next[piece[i]]++;
        }
    }
    s->imp->new_id = o->new_id;
    return 0;
}

static int add_groups(struct og_npy_source *s, const int64_t *count, uint32_t n, struct og_err *err)
{
    for (uint32_t k = 0; k < n; k++) {
        char number[32];
        const char *said = said_name(s, "node_types", "type", k);
        snprintf(number, sizeof(number), s->node_type ? "type_%u" : "node", k);
        OG_DO(
            og__schema_add_group(&s->imp->graph, said ? said : number, count[k], s->imp->src, err));
    }
    return 0;
}

int og__npy_groups(struct og_npy_source *s, int64_t n, struct og_err *err)
{
    int64_t count[OG_MOST_TYPES] = {0};
    uint32_t groups = 1;
    s->order.by_group = true;
    if (!s->node_type && !s->edge_type)
        return og__import_set_nodes(s->imp, n, err);
    if (s->node_type)
        OG_DO(count_nodes(s, count, &groups, err));
    else
        s->order.n = count[0] = n;
    OG_DO(add_groups(s, count, groups, err));
    OG_DO(og__import_check_nodes(s->imp, err));
    if (!s->order.by_group)
        OG_DO(map_nodes(s, err));
    return 0;
}

int og__npy_node_ids(struct og_npy_source *s, struct og_err *err)
{
    const struct og_node_order *o = &s->order;
    struct og_npy_writer *w = NULL;
    int rc;
    if (!o->new_id)
        return 0;
    OG_TRY(og__array_create(&w, s->imp->dir.temporary, "node_ids.npy", OG__NPY_I64, 1, 1, err));
    for (uint32_t k = 0; k < s->imp->graph.n_groups; k++)
        for (int64_t v = 0; v < o->n; v++)
            if (o->group[v] == k)
                OG_TRY(og__npy_append(w, &v, 1, err));
    rc = og__array_finish(&w, "node_ids.npy", s->imp->checksums, err);
    og__import_say(s->imp, "nodes are renumbered by type: node_ids.npy has the source's ids");
out:
    og__npy_discard(w);
    return rc;
}

/* ---- relations ---- */

static uint32_t group_of(const struct og_npy_source *s, uint32_t node)
{
    return s->order.by_group ? og__group_of(&s->imp->graph, node) : s->order.group[node];
}

static size_t triple_of(const struct og_npy_source *s, int64_t edge_type, uint32_t from,
                        uint32_t to)
{
    const size_t groups = s->imp->graph.n_groups;
    return ((size_t)edge_type * groups + from) * groups + to;
}

static int take_triples(struct og_npy_source *s, struct og_err *err)
{
    struct og_budget *b = s->imp->budget;
    const uint32_t groups = s->imp->graph.n_groups;
    const size_t n = (size_t)s->n_edge_types * groups * groups;
    if (n > MOST_TRIPLES)
        return og__fail(err, -EINVAL, "fewer types of nodes, or of edges",
                        "%s: %u types of nodes and %u of edges", s->imp->src, groups,
                        s->n_edge_types);
    if (!(s->relation_of = og__alloc(b, n * sizeof(*s->relation_of), part, err)))
        return -ENOMEM;
    s->n_triples = n;
    memset(s->relation_of, 0xff, n * sizeof(*s->relation_of));
    s->triple = og__alloc(b, TRIPLES_BYTES, part, err);
    return s->triple ? 0 : -ENOMEM;
}

static void give_triples(struct og_npy_source *s)
{
    struct og_budget *b = s->imp->budget;
    og__release(b, s->relation_of, s->n_triples * sizeof(*s->relation_of), part);
    og__release(b, s->triple, TRIPLES_BYTES, part);
    s->relation_of = NULL;
    s->triple = NULL;
}

static int count_edge_types(struct og_npy_source *s, struct og_err *err)
{
    int64_t piece[PIECE];
    int64_t most = 0;
    for (int64_t n = 1; s->edge_type && n > 0;) {
        OG_DO(next_numbers(s->edge_type, MOST_EDGE_TYPES, PIECE, piece, &n, err));
        for (int64_t i = 0; i < n; i++)
            most = OG_MAX(most, piece[i]);
    }
    s->n_edge_types = (uint32_t)most + 1;
    return 0;
}

static int find_triples(struct og_npy_source *s, const struct og_edge_piece *p, int64_t n,
                        struct og_err *err)
{
    int64_t piece[PIECE] = {0};
    for (int64_t at = 0, m; at < n; at += m) {
        const int64_t want = OG_MIN(n - at, (int64_t)PIECE);
        m = want;
        if (s->edge_type)
            OG_DO(next_numbers(s->edge_type, s->n_edge_types, want, piece, &m, err));
        if (m < want)
            return og__fail(err, -EINVAL, "one for each edge", "%s: ends at row %lld, too early",
                            s->edge_type->name, (long long)s->edge_type->next);
        for (int64_t i = 0; i < m; i++)
            s->triple[at + i] = (uint32_t)triple_of(s, piece[i], group_of(s, p->src[at + i]),
                                                    group_of(s, p->dst[at + i]));
    }
    return 0;
}

static int note_triples(void *source, struct og_edge_piece *p, size_t n, struct og_err *err)
{
    struct og_npy_source *s = source;
    int rc = find_triples(s, p, (int64_t)n, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        s->relation_of[s->triple[i]] = 0;
    return rc;
}

/* Passes all edges to `each`, in order. */
static int pass_edges(struct og_npy_source *s, og_edge_piece_fn *each, bool weighted,
                      struct og_err *err)
{
    struct og_edges e = s->edges;
    int rc = s->edge_type ? og__table_rewind(s->edge_type, err) : 0;
    e.n_sources = e.n_destinations = s->imp->graph.n_nodes;
    e.weights = weighted ? e.weights : NULL;
    return rc < 0 ? rc : og__edges_pass(s->imp, &e, each, s, err);
}

static int add_relations(struct og_npy_source *s, struct og_err *err)
{
    struct og_graph *g = &s->imp->graph;
    for (size_t i = 0; i < s->n_triples; i++) {
        const uint32_t edge = (uint32_t)(i / g->n_groups / g->n_groups);
        char number[32];
        if (s->relation_of[i] < 0)
            continue;
        const char *said = said_name(s, "edge_types", "edge_type", edge);
        snprintf(number, sizeof(number), s->edge_type ? "relation_%u" : "to", edge);
        s->relation_of[i] = (int32_t)g->n_relations;
        OG_DO(og__schema_add_relation(g, (uint32_t)(i / g->n_groups % g->n_groups),
                                      said ? said : number, (uint32_t)(i % g->n_groups),
                                      s->imp->src, err));
    }
    return 0;
}

int og__npy_relations(struct og_npy_source *s, struct og_err *err)
{
    const struct og_graph *g = &s->imp->graph;
    if (!s->node_type && !s->edge_type)
        return 0;
    OG_DO(count_edge_types(s, err));
    OG_DO(take_triples(s, err));
    OG_DO(pass_edges(s, note_triples, false, err));
    OG_DO(add_relations(s, err));
    if (g->n_groups > 1 || g->n_relations > 1 || s->imp->opt->reverse_relations ||
        s->imp->opt->drop_features)
        return og__import_resolve(s->imp, err);
    og__import_say(s->imp, "one type of nodes and one relation: a homogeneous graph");
    give_triples(s);
    return og__import_set_nodes(s->imp, g->n_nodes, err);
}

/* Ids within groups. The edges of a relation that come one after another go on together. */
static int add_piece(void *source, struct og_edge_piece *p, size_t n, struct og_err *err)
{
    struct og_npy_source *s = source;
    const struct og_graph *g = &s->imp->graph;
    const uint32_t *new_id = s->order.new_id;
    OG_DO(find_triples(s, p, (int64_t)n, err));
    for (size_t i = 0, first; i < n;) {
        const uint32_t triple = s->triple[i];
        const uint32_t r = (uint32_t)s->relation_of[triple];
        const uint32_t from = (uint32_t)g->group[g->relation[r].source].first;
        const uint32_t to = (uint32_t)g->group[g->relation[r].destination].first;
        for (first = i; i < n && s->triple[i] == triple; i++) {
            p->src[i] = (new_id ? new_id[p->src[i]] : p->src[i]) - from;
            p->dst[i] = (new_id ? new_id[p->dst[i]] : p->dst[i]) - to;
        }
        OG_DO(og__import_add_edges(s->imp, r, p->src + first, p->dst + first,
                                   s->imp->weighted ? p->weight + first : NULL, i - first, err));
    }
    return 0;
}

int og__npy_add_edges(struct og_npy_source *s, struct og_err *err)
{
    return s->relation_of ? pass_edges(s, add_piece, true, err)
                          : og__import_relation(s->imp, 0, &s->edges, err);
}

/* ---- lists of edges ---- */

/* Appends the relation of each edge of a written list. Their types are in `kinds`, as in
 * edge_type.npy, or NULL if all are equal. */
static int append_relations(struct og_npy_source *s, const struct og_npy *edges,
                            struct og_table *kinds, struct og_npy_writer *w, struct og_err *err)
{
    const struct og_graph *g = &s->imp->graph;
    const struct og_npy flat = og__npy_flat(edges);
    int64_t type[PIECE / 2] = {0};
    int64_t ends[PIECE];
    for (int64_t at = 0, n; at < edges->shape[0]; at += n) {
        n = OG_MIN(edges->shape[0] - at, (int64_t)PIECE / 2);
        if (kinds)
            OG_DO(next_numbers(kinds, MOST_EDGE_TYPES, n, type, &n, err));
        OG_DO(og__npy_read_int64(&flat, 2 * at, 2 * n, ends, err));
        for (int64_t i = 0; i < n; i++) {
            const uint32_t from = og__group_of(g, (uint32_t)ends[2 * i]);
            const uint32_t to = og__group_of(g, (uint32_t)ends[2 * i + 1]);
            int32_t r = s->relation_of ? -1 : 0;
            if (s->relation_of && type[i] < s->n_edge_types)
                r = s->relation_of[triple_of(s, type[i], from, to)];
            if (r < 0)
                return og__fail(err, -EINVAL,
                                "remove it, or add such edges: a relation is learned by those of "
                                "edges.npy",
                                "%s: row %lld: edges.npy has no edge of type %lld from %s to %s",
                                kinds ? kinds->name : edges->path, (long long)(at + i),
                                (long long)type[i], g->group[from].name, g->group[to].name);
            OG_DO(og__npy_append(w, &r, 1, err));
        }
    }
    return 0;
}

static int write_edge_relations(struct og_npy_source *s, const char *list, struct og_table *kinds,
                                const struct og_npy *edges, struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    char name[40];
    int rc;
    snprintf(name, sizeof(name), "%s_edge_relations.npy", list);
    OG_TRY(check_count(kinds, edges->shape[0], "", err));
    OG_TRY(og__array_create(&w, s->imp->dir.temporary, name, OG__NPY_I32, 1, 1, err));
    OG_TRY(append_relations(s, edges, kinds, w, err));
    rc = og__array_finish(&w, name, s->imp->checksums, err);
out:
    og__npy_discard(w);
    return rc;
}

/* Writes them if the list's edges have types, or need none; otherwise logs that they lack them. A
 * homogeneous graph has one relation with --drop-features. */
int og__npy_edge_relations(struct og_npy_source *s, enum og__split which, struct og_err *err)
{
    static const char *const lists[OG__SPLITS] = {"train", "valid", "test"};
    const char *const list = lists[which];
    struct og_npy edges = {.fd = -1};
    struct og_table *kinds = NULL;
    const char *name;
    char file[40];
    char *path = NULL;
    int rc;
    snprintf(file, sizeof(file), "%s_edges.npy", list);
    rc = og__form_of(&s->imp->graph)->lists_relations ? og__exists(s->imp->dir.temporary, file, err)
                                                      : 0;
    if (rc <= 0)
        return rc;
    OG_TRY(og__npy_edge_types_file(s->imp, which, &name, err));
    OG_TRY(name ? open_numbers(s, name, &kinds, err) : 0);
    path = og__import_target(s->imp, file);
    OG_TRY(path ? og__npy_open(&edges, path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", file));
    if (kinds || !s->edge_type)
        OG_TRY(write_edge_relations(s, list, kinds, &edges, err));
    else
        og__import_say(s->imp, "%s: no %s_edge_type.npy says of which relations they are", file,
                       list);
out:
    og__table_close(kinds);
    og__npy_close(&edges);
    free(path);
    return rc;
}
