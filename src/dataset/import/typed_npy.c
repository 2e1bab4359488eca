/* The neutral layout with types: node_type.npy, edge_type.npy and the names of meta.json beside
 * what it has without.
 *
 * Relations are what the edges show: edges of one type that go from nodes of one type to nodes of
 * one type. They come in the order of edge types, then of source and destination types. */
#include "base/file.h"
#include "dataset/import/npy.h"
#include "dataset/import/typed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char part[] = "import";
enum { PIECE = 8192, MOST_EDGE_TYPES = 65536 };
#define MOST_TRIPLES ((size_t)1 << 24)

struct typed_source {
    struct og_typed_import ti;
    struct og_npy_said said;
    struct og_edges edges;
    struct og_table *node_type, *edge_type; /* NULL = all are of one type */
    struct og_table *features, *values, *labels;
    struct og_node_order order;
    size_t type_bytes, id_bytes; /* of its arrays */
    /* which relation edges of (edge type, source type, destination type) are; -1 = there are none
     */
    uint32_t n_edge_types;
    int32_t *relation_of; /* [n_edge_types, n_types, n_types] */
};

static size_t triples(const struct typed_source *s)
{
    return (size_t)s->n_edge_types * s->order.n_types * s->order.n_types;
}

static void close_source(struct typed_source *s)
{
    struct og_budget *b = s->ti.imp->budget;
    og__npy_close_edges(&s->edges);
    og__table_close(s->node_type);
    og__table_close(s->edge_type);
    og__table_close(s->features);
    og__table_close(s->values);
    og__table_close(s->labels);
    json_decref(s->said.root);
    og__release(b, s->order.type, s->type_bytes, part);
    og__release(b, s->order.new_id, s->id_bytes, part);
    og__release(b, s->relation_of, triples(s) * sizeof(*s->relation_of), part);
    s->ti.imp->new_id = NULL;
    og__typed_release(&s->ti);
}

/* ---- numbers of types ---- */

static int check_types(const struct og_table *t, struct og_err *err)
{
    if (og__npy_is_integer(t->type) && t->columns == 1)
        return 0;
    return og__fail(err, -EINVAL, "the number of a type for each, from 0", "%s: %s [%lld, %lld]",
                    t->name, og__npy_name(t->type), (long long)t->rows, (long long)t->columns);
}

/* The next numbers, each below `limit`; *n = 0 at the end. */
static int next_types(struct og_table *t, int64_t limit, int64_t want, int64_t *out, int64_t *n,
                      struct og_err *err)
{
    int64_t raw[PIECE];
    int rc;
    OG_TRY(og__table_read(t, raw, want, n, err));
    og__npy_widen(t->type, raw, (size_t)*n, out);
    for (int64_t i = 0; i < *n; i++)
        if (out[i] < 0 || out[i] >= limit)
            OG_TRY(og__fail(err, -EINVAL, "types count from 0; nodes have at most 256, edges 65536",
                            "%s: row %lld: type %lld", t->name, (long long)(t->next - *n + i),
                            (long long)out[i]));
out:
    return rc;
}

static int open_types(struct typed_source *s, const char *name, struct og_table **t,
                      struct og_err *err)
{
    int rc = og__import_open_npy(s->ti.imp, name, true, t, err);
    return rc < 0 || !*t ? rc : check_types(*t, err);
}

/* What meta.json calls type `number`: {"type": 0, "name": "package"} in a list. */
static const char *said_name(const struct typed_source *s, const char *list, const char *key,
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

/* Names of numbers that no node, or no edge, has. */
static void doubt_names(const struct typed_source *s, const char *list, const char *key, int64_t n)
{
    struct og_names names = {.n = 0};
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(s->said.root, list), i, one)
    {
        if (json_integer_value(json_object_get(one, key)) >= n)
            og__names_add(&names, json_string_value(json_object_get(one, "name")));
    }
    if (names.n > 0)
        og__import_warn(s->ti.imp, "%s/meta.json: \"%s\": of no %s: %s", s->ti.imp->src, list,
                        strcmp(key, "type") == 0 ? "node" : "edge", og__names_text(&names));
}

/* ---- nodes ---- */

static int count_types(struct typed_source *s, int64_t count[OG_MOST_TYPES], struct og_err *err)
{
    struct og_node_order *o = &s->order;
    int64_t piece[PIECE];
    int64_t before = 0;
    int rc = 0;
    o->by_type = true;
    for (int64_t n = 1; n > 0;) {
        OG_TRY(next_types(s->node_type, OG_MOST_TYPES, PIECE, piece, &n, err));
        for (int64_t i = 0; i < n; i++) {
            o->by_type = o->by_type && piece[i] >= before;
            before = piece[i];
            count[piece[i]]++;
            o->n_types = OG_MAX(o->n_types, (uint32_t)piece[i] + 1);
        }
        o->n += n;
    }
out:
    return rc;
}

/* Nodes of a source that is not ordered by types get ids in that order. */
static int map_nodes(struct typed_source *s, struct og_err *err)
{
    struct og_node_order *o = &s->order;
    struct og_budget *b = s->ti.imp->budget;
    int64_t next[OG_MOST_TYPES];
    int64_t piece[PIECE];
    int rc;
    s->type_bytes = (size_t)o->n;
    s->id_bytes = (size_t)o->n * sizeof(*o->new_id);
    o->type = og__alloc(b, s->type_bytes, part, err);
    o->new_id = o->type ? og__alloc(b, s->id_bytes, part, err) : NULL;
    OG_TRY(o->new_id ? 0 : -ENOMEM);
    memcpy(next, o->first, sizeof(next));
    OG_TRY(og__table_rewind(s->node_type, err));
    for (int64_t v = 0, n = 1; n > 0; v += n) {
        OG_TRY(next_types(s->node_type, o->n_types, PIECE, piece, &n, err));
        for (int64_t i = 0; i < n && v + i < o->n; i++) {
            o->type[v + i] = (uint8_t)piece[i];
            o->new_id[v + i] = (uint32_t)next[piece[i]]++;
        }
    }
    s->ti.imp->new_id = o->new_id;
out:
    return rc;
}

static int one_type(struct typed_source *s, int64_t count[OG_MOST_TYPES], struct og_err *err)
{
    const int64_t n = s->said.nodes >= 0 ? s->said.nodes
                      : s->features      ? s->features->rows
                      : s->labels        ? s->labels->rows
                                         : -1;
    if (n < 0)
        return og__fail(err, -EINVAL, "add node_type.npy, or \"num_nodes\" to meta.json",
                        "%s: nothing says how many nodes there are", s->ti.imp->src);
    s->order = (struct og_node_order){.n = n, .by_type = true, .n_types = 1};
    count[0] = n;
    return 0;
}

static int find_nodes(struct typed_source *s, struct og_err *err)
{
    struct og_node_order *o = &s->order;
    const char *src = s->ti.imp->src;
    int64_t count[OG_MOST_TYPES] = {0};
    int rc;
    s->ti.imp->nodes_from = s->node_type         ? "node_type.npy"
                            : s->said.nodes >= 0 ? "meta.json"
                                                 : NULL;
    OG_TRY(s->node_type ? count_types(s, count, err) : one_type(s, count, err));
    for (uint32_t t = 0; t < o->n_types; t++) {
        char number[32];
        const char *said = said_name(s, "node_types", "type", t);
        snprintf(number, sizeof(number), s->node_type ? "type_%u" : "node", t);
        OG_TRY(og__typing_add_type(&s->ti.typing, said ? said : number, count[t], src, err));
        o->first[t + 1] = o->first[t] + count[t];
    }
    if (s->said.nodes >= 0 && s->said.nodes != o->n)
        OG_TRY(og__fail(err, -EINVAL, "mend meta.json, or leave it out",
                        "%s: \"num_nodes\" is "
                        "%lld, node_type.npy has %lld",
                        src, (long long)s->said.nodes, (long long)o->n));
    OG_TRY(og__import_set_nodes(s->ti.imp, o->n, err));
    if (!o->by_type)
        OG_TRY(map_nodes(s, err));
out:
    return rc;
}

static uint32_t type_of_id(const struct og_node_order *o, uint32_t id)
{
    uint32_t t = 0;
    while (id >= o->first[t + 1])
        t++;
    return t;
}

/* Of a node as the source has it. */
static uint32_t type_of(const struct og_node_order *o, uint32_t node)
{
    return o->by_type ? type_of_id(o, node) : o->type[node];
}

/* Within its type. */
static uint32_t id_within(const struct og_node_order *o, uint32_t node, uint32_t type)
{
    return (o->by_type ? node : o->new_id[node]) - (uint32_t)o->first[type];
}

/* ---- relations ---- */

static int count_edge_types(struct typed_source *s, struct og_err *err)
{
    int64_t piece[PIECE];
    int64_t most = 0;
    int rc = 0;
    for (int64_t n = 1; s->edge_type && n > 0;) {
        OG_TRY(next_types(s->edge_type, MOST_EDGE_TYPES, PIECE, piece, &n, err));
        for (int64_t i = 0; i < n; i++)
            most = OG_MAX(most, piece[i]);
    }
    s->n_edge_types = (uint32_t)most + 1;
    if (triples(s) > MOST_TRIPLES)
        OG_TRY(og__fail(err, -EINVAL, "fewer types of nodes, or of edges",
                        "%s: %u types of nodes and %u of edges", s->ti.imp->src, s->order.n_types,
                        s->n_edge_types));
    OG_TRY((s->relation_of =
                og__alloc(s->ti.imp->budget, triples(s) * sizeof(*s->relation_of), part, err))
               ? 0
               : -ENOMEM);
    memset(s->relation_of, 0xff, triples(s) * sizeof(*s->relation_of));
out:
    return rc;
}

/* Types of the edges in the piece, from `done` on: which triple each is of. */
static int triples_of(struct typed_source *s, int64_t n, uint32_t *triple, struct og_err *err)
{
    const struct og_edge_piece *p = s->ti.piece;
    const uint32_t types = s->order.n_types;
    int64_t piece[PIECE];
    int rc = 0;
    for (int64_t at = 0, m = 1; at < n; at += m) {
        m = OG_MIN(n - at, (int64_t)PIECE);
        if (s->edge_type) {
            const int64_t want = m;
            OG_TRY(next_types(s->edge_type, s->n_edge_types, want, piece, &m, err));
            if (m < want)
                OG_TRY(og__fail(err, -EINVAL, "one for each edge",
                                "%s: ends at row %lld, too early", s->edge_type->name,
                                (long long)s->edge_type->next));
        }
        for (int64_t i = at; i < at + m; i++)
            triple[i] = ((s->edge_type ? (uint32_t)piece[i - at] : 0) * types +
                         type_of(&s->order, p->src[i])) *
                            types +
                        type_of(&s->order, p->dst[i]);
    }
out:
    return rc;
}

/* From the front: `each` is called for pieces of edges, whose triples are in ti.relation. */
static int pass_edges(struct typed_source *s,
                      int (*each)(struct typed_source *s, size_t n, struct og_err *err),
                      struct og_err *err)
{
    struct og_edges *e = &s->edges;
    struct og_table *const tables[] = {e->pairs, e->src, e->dst, e->weights, s->edge_type};
    int64_t done = 0;
    int rc = 0;
    for (size_t i = 0; i < OG_COUNT(tables); i++)
        if (tables[i])
            OG_TRY(og__table_rewind(tables[i], err));
    for (int64_t n = OG__EDGES_A_PIECE; n == OG__EDGES_A_PIECE; done += n) {
        OG_TRY(og__edges_next(s->ti.imp, e, done, s->ti.piece, &n, err));
        OG_TRY(triples_of(s, n, s->ti.relation, err));
        OG_TRY(each(s, (size_t)n, err));
        OG_TRY(og__writing_goes_on(s->ti.imp->seen, "edges", "edges", done + n,
                                   e->pairs ? e->pairs->rows : e->src->rows, err));
    }
out:
    return rc;
}

static int note_triples(struct typed_source *s, size_t n, struct og_err *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++)
        s->relation_of[s->ti.relation[i]] = 0;
    return 0;
}

static int add_relations(struct typed_source *s, struct og_err *err)
{
    const uint32_t types = s->order.n_types;
    int rc = 0;
    for (size_t i = 0; i < triples(s); i++) {
        const uint32_t edge = (uint32_t)(i / types / types);
        char number[32];
        if (s->relation_of[i] < 0)
            continue;
        const char *said = said_name(s, "edge_types", "edge_type", edge);
        snprintf(number, sizeof(number), s->edge_type ? "relation_%u" : "to", edge);
        s->relation_of[i] = (int32_t)s->ti.typing.n_relations;
        OG_TRY(og__typing_add_relation(&s->ti.typing, (uint32_t)(i / types % types),
                                       said ? said : number, (uint32_t)(i % types), s->ti.imp->src,
                                       err));
    }
out:
    return rc;
}

/* Ids within types, relations for triples. */
static int add_edges(struct typed_source *s, size_t n, struct og_err *err)
{
    struct og_edge_piece *p = s->ti.piece;
    for (size_t i = 0; i < n; i++) {
        const uint32_t r = (uint32_t)s->relation_of[s->ti.relation[i]];
        const struct og_typing_relation *rel = &s->ti.typing.relation[r];
        s->ti.relation[i] = r;
        p->src[i] = id_within(&s->order, p->src[i], rel->source);
        p->dst[i] = id_within(&s->order, p->dst[i], rel->destination);
    }
    return og__typed_piece(&s->ti, n, err);
}

/* ---- what nodes have ---- */

static int import_own_features(struct typed_source *s, uint32_t t, bool *there, struct og_err *err)
{
    char prefix[OG__NPY_PREFIX];
    struct og_table *features = NULL;
    struct og_table *values = NULL;
    int rc;
    snprintf(prefix, sizeof(prefix), "feat_%s", s->ti.typing.type[t].name);
    OG_TRY(og__npy_features(s->ti.imp, prefix, &features, &values, err));
    *there = features != NULL;
    if (features)
        OG_TRY(og__import_type_features(s->ti.imp, features, values, &s->ti.typing, t, err));
out:
    og__table_close(features);
    og__table_close(values);
    return rc;
}

/* Rows of feat.npy, which has them for all nodes. */
static int import_shared_features(struct typed_source *s, uint32_t t, struct og_err *err)
{
    struct og_table *rows = NULL;
    int rc;
    OG_TRY(og__table_of_type(&rows, s->features, &s->order, (int)t, s->ti.imp->budget, err));
    OG_TRY(og__import_type_features(s->ti.imp, rows, s->values, &s->ti.typing, t, err));
out:
    og__table_close(rows);
    return rc;
}

static int import_features(struct typed_source *s, struct og_err *err)
{
    const int64_t rows = s->features ? s->features->rows : -1;
    const bool all = rows == s->order.n;
    int rc = 0;
    if (s->features && !all && rows != s->order.first[1])
        OG_TRY(og__fail(err, -EINVAL, "a row for every node, or for every one of the first type",
                        "%s: %lld rows, the graph has %lld nodes%s, %lld of the first type",
                        s->features->name, (long long)rows, (long long)s->order.n,
                        s->ti.imp->nodes_by, (long long)s->order.first[1]));
    for (uint32_t t = 0; t < s->order.n_types; t++) {
        bool own = false;
        OG_TRY(import_own_features(s, t, &own, err));
        if (!own && all)
            OG_TRY(import_shared_features(s, t, err));
        else if (!own && s->features && t == 0)
            OG_TRY(
                og__import_type_features(s->ti.imp, s->features, s->values, &s->ti.typing, t, err));
    }
out:
    return rc;
}

/* A label for each node, or for each of the first type, whose order is the source's. */
static int import_labels(struct typed_source *s, struct og_err *err)
{
    struct og_importer *imp = s->ti.imp;
    struct og_table *rows = NULL;
    int rc;
    if (!s->labels) {
        og__import_no_labels(imp, s->said.classes);
        return 0;
    }
    const bool partly = s->order.n_types > 1 && s->labels->rows == s->order.first[1];
    if (partly || s->order.by_type || s->labels->rows != s->order.n)
        return og__import_labels(imp, s->labels, s->said.classes, partly, err);
    OG_TRY(og__table_of_type(&rows, s->labels, &s->order, -1, imp->budget, err));
    OG_TRY(og__import_labels(imp, rows, s->said.classes, false, err));
out:
    og__table_close(rows);
    return rc;
}

/* The source's id of each node, in our order. */
static int write_node_ids(struct typed_source *s, struct og_err *err)
{
    const struct og_node_order *o = &s->order;
    struct og_npy_writer *w = NULL;
    int rc;
    OG_TRY(og__import_create(s->ti.imp, &w, "node_ids.npy", OG__NPY_I64, 1, 1, err));
    for (uint32_t t = 0; t < o->n_types; t++)
        for (int64_t v = 0; v < o->n; v++)
            if (o->type[v] == t)
                OG_TRY(og__npy_append(w, &v, 1, err));
    rc = og__import_finish(s->ti.imp, w, "node_ids.npy", err);
    w = NULL;
    og__import_say(s->ti.imp,
                   "nodes are numbered anew, by types: node_ids.npy has the source's ids");
out:
    og__npy_discard(w);
    return rc;
}

/* ---- lists of edges ---- */

/* By the types of an edge's ends, which are ids of ours; -1: there is no such relation. */
static int32_t relation_between(const struct typed_source *s, int64_t edge_type, uint32_t from,
                                uint32_t to)
{
    const size_t types = s->order.n_types;
    return edge_type < s->n_edge_types
               ? s->relation_of[((size_t)edge_type * types + from) * types + to]
               : -1;
}

/* The relation of each edge of a list, which has been written; types as edge_type.npy has them, or
 * NULL: all are of one. */
static int append_relations(struct typed_source *s, const struct og_npy *edges,
                            struct og_table *types, struct og_npy_writer *w, struct og_err *err)
{
    struct og_npy flat = *edges; /* the same numbers in one row */
    int64_t type[PIECE / 2] = {0};
    int64_t ends[PIECE];
    int rc = 0;
    flat.ndim = 1;
    flat.shape[0] *= 2;
    flat.shape[1] = 1;
    for (int64_t at = 0, n; at < edges->shape[0]; at += n) {
        n = OG_MIN(edges->shape[0] - at, (int64_t)PIECE / 2);
        if (types)
            OG_TRY(next_types(types, MOST_EDGE_TYPES, n, type, &n, err));
        OG_TRY(og__npy_read_int64(&flat, 2 * at, 2 * n, ends, err));
        for (int64_t i = 0; i < n; i++) {
            const uint32_t from = type_of_id(&s->order, (uint32_t)ends[2 * i]);
            const uint32_t to = type_of_id(&s->order, (uint32_t)ends[2 * i + 1]);
            const int32_t r = relation_between(s, type[i], from, to);
            if (r < 0)
                OG_TRY(og__fail(err, -EINVAL, "edges.npy has no edge like it: nothing to learn by",
                                "%s: row %lld: an edge of type %lld from %s to %s: of no relation",
                                types ? types->name : edges->path, (long long)(at + i),
                                (long long)type[i], s->ti.typing.type[from].name,
                                s->ti.typing.type[to].name));
            OG_TRY(og__npy_append(w, &r, 1, err));
        }
    }
out:
    return rc;
}

static int write_edge_relations(struct typed_source *s, const char *list, struct og_table *types,
                                const struct og_npy *edges, struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    char name[40];
    int rc = 0;
    snprintf(name, sizeof(name), "%s_edge_relations.npy", list);
    if (types && types->rows != edges->shape[0])
        OG_TRY(og__fail(err, -EINVAL, "one for each edge", "%s: %lld types for %lld edges",
                        types->name, (long long)types->rows, (long long)edges->shape[0]));
    OG_TRY(og__import_create(s->ti.imp, &w, name, OG__NPY_I32, 1, 1, err));
    OG_TRY(append_relations(s, edges, types, w, err));
    rc = og__import_finish(s->ti.imp, w, name, err);
    w = NULL;
out:
    og__npy_discard(w);
    return rc;
}

/* Of a list that came along, if its edges have types, or need none. */
static int import_edge_relations(struct typed_source *s, const char *list, struct og_err *err)
{
    struct og_importer *imp = s->ti.imp;
    struct og_npy edges = {.fd = -1};
    struct og_table *types = NULL;
    char file[40], name[40];
    char *path = NULL;
    int rc;
    snprintf(file, sizeof(file), "%s_edges.npy", list);
    snprintf(name, sizeof(name), "%s_edge_type.npy", list);
    rc = og__import_has(imp, file, err);
    if (rc <= 0)
        return rc;
    OG_TRY(open_types(s, name, &types, err));
    path = og__path_join(imp->dir.temporary, file);
    OG_TRY(path ? og__npy_open(&edges, path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", file));
    if (types || !s->edge_type)
        OG_TRY(write_edge_relations(s, list, types, &edges, err));
    else
        og__import_say(imp, "%s: no %s says of which relations they are", file, name);
out:
    og__table_close(types);
    og__npy_close(&edges);
    free(path);
    return rc;
}

static int import_lists(struct typed_source *s, struct og_err *err)
{
    static const char *const lists[OG__SPLITS] = {"train", "valid", "test"};
    int rc;
    OG_TRY(og__import_npy_splits(s->ti.imp, err));
    for (int i = 0; i < OG__SPLITS; i++)
        OG_TRY(import_edge_relations(s, lists[i], err));
out:
    return rc;
}

/* ---- all of it ---- */

static int open_source(struct typed_source *s, struct og_err *err)
{
    struct og_importer *imp = s->ti.imp;
    int rc;
    OG_TRY(og__npy_edges(imp, &s->edges, err));
    OG_TRY(og__npy_said(imp, &s->said, err));
    OG_TRY(og__npy_features(imp, "feat", &s->features, &s->values, err));
    OG_TRY(og__import_open_npy(imp, "label.npy", true, &s->labels, err));
    OG_TRY(open_types(s, "node_type.npy", &s->node_type, err));
    OG_TRY(open_types(s, "edge_type.npy", &s->edge_type, err));
    OG_TRY(og__edges_check(&s->edges, err));
    const int64_t edges = s->edges.pairs ? s->edges.pairs->rows : s->edges.src->rows;
    if (s->edge_type && s->edge_type->rows != edges)
        OG_TRY(og__fail(err, -EINVAL, "one for each edge",
                        "%s: %lld types for %lld edges of edges.npy", s->edge_type->name,
                        (long long)s->edge_type->rows, (long long)edges));
out:
    return rc;
}

/* A first pass over the edges finds the relations, a second one takes the edges. */
static int find_relations(struct typed_source *s, struct og_err *err)
{
    int rc;
    OG_TRY(count_edge_types(s, err));
    OG_TRY(og__typed_take_pieces(&s->ti, err));
    OG_TRY(pass_edges(s, note_triples, err));
    OG_TRY(add_relations(s, err));
out:
    return rc;
}

static int import_all(struct typed_source *s, struct og_err *err)
{
    const int64_t edges = s->edges.pairs ? s->edges.pairs->rows : s->edges.src->rows;
    int rc;
    OG_TRY(og__typed_open_edges(&s->ti, s->edges.weights != NULL, edges, err));
    OG_TRY(pass_edges(s, add_edges, err));
    OG_TRY(og__typed_close_edges(&s->ti, err));
    OG_TRY(import_features(s, err));
    OG_TRY(import_labels(s, err));
    OG_TRY(import_lists(s, err));
    if (!s->order.by_type)
        OG_TRY(write_node_ids(s, err));
    og__typed_note(&s->ti);
out:
    return rc;
}

int og__import_npy_typed(struct og_importer *imp, bool *typed, struct og_err *err)
{
    struct typed_source s = {0};
    int rc;
    *typed = false;
    OG_TRY(og__typed_init(&s.ti, imp, err));
    OG_TRY(open_source(&s, err));
    OG_TRY(find_nodes(&s, err));
    OG_TRY(find_relations(&s, err));
    doubt_names(&s, "node_types", "type", s.order.n_types);
    doubt_names(&s, "edge_types", "edge_type", s.n_edge_types);
    *typed = s.ti.typing.n_types > 1 || s.ti.typing.n_relations > 1 || imp->opt->reverse_relations;
    if (*typed)
        OG_TRY(import_all(&s, err));
    else
        og__import_say(imp, "one type of nodes and one relation: a graph without types");
out:
    close_source(&s);
    return rc;
}
