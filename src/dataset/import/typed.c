/* What importers of typed sources share: edges by relations, and the keys of meta.json. */
#include "dataset/import/typed.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "import";
enum { IDS_BYTES = OG__EDGES_A_PIECE * sizeof(uint32_t) };

static int refuse_options(const struct og_importer *imp, struct og_err *err)
{
    if (!imp->opt->symmetrize)
        return 0;
    return og__fail(err, -EINVAL,
                    "--reverse-relations adds each relation backwards; --drop-types makes a graph "
                    "without types, to be symmetrized",
                    "%s: --symmetrize: it has relations, which go from one type to another",
                    imp->src);
}

int og__typed_init(struct og_typed_import *ti, struct og_importer *imp, struct og_err *err)
{
    *ti = (struct og_typed_import){.imp = imp};
    int rc = refuse_options(imp, err);
    return rc < 0 ? rc : og__typing_init(&ti->typing, err);
}

static void give_pieces(struct og_typed_import *ti)
{
    struct og_budget *b = ti->imp->budget;
    og__release(b, ti->piece, sizeof(*ti->piece), part);
    og__release(b, ti->relation, IDS_BYTES, part);
    og__release(b, ti->rows, IDS_BYTES, part);
    ti->piece = NULL;
    ti->relation = ti->rows = NULL;
}

void og__typed_release(struct og_typed_import *ti)
{
    if (!ti->imp)
        return;
    og__sorter_free(ti->sorter);
    give_pieces(ti);
    og__typing_release(&ti->typing);
}

/* ---- edges ---- */

int og__typed_take_pieces(struct og_typed_import *ti, struct og_err *err)
{
    struct og_budget *b = ti->imp->budget;
    if (ti->rows)
        return 0;
    ti->piece = og__alloc(b, sizeof(*ti->piece), part, err);
    ti->relation = ti->piece ? og__alloc(b, IDS_BYTES, part, err) : NULL;
    ti->rows = ti->relation ? og__alloc(b, IDS_BYTES, part, err) : NULL;
    return ti->rows ? 0 : -ENOMEM;
}

int og__typed_open_edges(struct og_typed_import *ti, bool weighted, int64_t expected,
                         struct og_err *err)
{
    struct og_importer *imp = ti->imp;
    const bool both = imp->opt->reverse_relations;
    int rc;
    OG_TRY(og__typing_settle(&ti->typing, both, imp->src, err));
    OG_TRY(og__import_set_nodes(imp, ti->typing.n_nodes, err));
    ti->weighted = weighted;
    OG_TRY(og__typed_take_pieces(ti, err));
    OG_TRY(og__import_sorter_of(imp, og__typing_sorted_nodes(&ti->typing), false, weighted,
                                expected < 0 || !both ? expected : 2 * expected, &ti->sorter, err));
out:
    return rc;
}

/* Edges of nodes to themselves leave; those that stay keep their order. */
static size_t without_loops(struct og_typed_import *ti, size_t n)
{
    struct og_edge_piece *p = ti->piece;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const struct og_typing_relation *r = &ti->typing.relation[ti->relation[i]];
        if (r->source == r->destination && p->src[i] == p->dst[i])
            continue;
        p->src[kept] = p->src[i];
        p->dst[kept] = p->dst[i];
        p->weight[kept] = p->weight[i];
        ti->relation[kept++] = ti->relation[i];
    }
    ti->n_self_loops += (int64_t)(n - kept);
    return kept;
}

int og__typed_piece(struct og_typed_import *ti, size_t n, struct og_err *err)
{
    if (ti->imp->opt->drop_self_loops)
        n = without_loops(ti, n);
    const struct og_typed_edges edges = {.relation = ti->relation,
                                         .src = ti->piece->src,
                                         .dst = ti->piece->dst,
                                         .weight = ti->weighted ? ti->piece->weight : NULL,
                                         .rows = ti->rows,
                                         .n = n};
    return og__typing_add_edges(&ti->typing, ti->sorter, &edges, err);
}

int og__typed_relation(struct og_typed_import *ti, uint32_t relation, struct og_edges *e,
                       struct og_err *err)
{
    const struct og_typing_relation *r = &ti->typing.relation[relation];
    const int64_t total = e->pairs ? e->pairs->rows : e->src->rows;
    int64_t done = 0;
    int rc;
    e->n_sources = ti->typing.type[r->source].count;
    e->n_destinations = ti->typing.type[r->destination].count;
    OG_TRY(og__edges_check(e, err));
    for (int64_t n = OG__EDGES_A_PIECE; n == OG__EDGES_A_PIECE; done += n) {
        OG_TRY(og__edges_next(ti->imp, e, done, ti->piece, &n, err));
        for (int64_t i = 0; i < n; i++)
            ti->relation[i] = relation;
        OG_TRY(og__typed_piece(ti, (size_t)n, err));
        OG_TRY(og__writing_goes_on(ti->imp->seen, "edges", "edges", done + n,
                                   OG_MAX(total, (int64_t)0), err));
    }
out:
    return rc;
}

static void tell_edges(const struct og_typed_import *ti, const struct og_edge_sorter_result *r)
{
    const struct og_typing *t = &ti->typing;
    og__import_say(ti->imp, "%u type%s of nodes, %u relation%s", t->n_types,
                   t->n_types == 1 ? "" : "s", t->n_relations, t->n_relations == 1 ? "" : "s");
    if (ti->n_self_loops + r->n_duplicates > 0)
        og__import_say(ti->imp, "dropped: %lld self loops, %lld duplicates; kept: %lld",
                       (long long)ti->n_self_loops, (long long)r->n_duplicates,
                       (long long)r->n_edges);
}

int og__typed_close_edges(struct og_typed_import *ti, struct og_err *err)
{
    struct og_importer *imp = ti->imp;
    struct og_edge_sorter_result result;
    int rc;
    OG_TRY(og__sorter_edges(ti->sorter) > 0
               ? 0
               : og__fail(err, -EINVAL, "a graph without edges has nothing to sample",
                          "%s: an empty graph: no edges", imp->src));
    OG_TRY(og__import_believe(imp, OG_MAX(ti->typing.n_nodes, ti->typing.n_rows),
                              og__sorter_edges(ti->sorter), err));
    OG_TRY(og__sorter_finish(ti->sorter, imp->dir.temporary, &result, err));
    og__sorter_free(ti->sorter);
    ti->sorter = NULL;
    give_pieces(ti);
    OG_TRY(og__typing_split(&ti->typing, imp->dir.temporary, ti->weighted, imp->checksums, err));
    imp->n_edges = result.n_edges;
    tell_edges(ti, &result);
out:
    return rc;
}

void og__typed_note(const struct og_typed_import *ti)
{
    struct og_importer *imp = ti->imp;
    const struct og_typing *t = &ti->typing;
    og__import_note(imp, "format", json_integer(OG__FORMAT_TYPED));
    og__import_note(imp, "num_nodes", json_integer(t->n_nodes));
    og__import_note(imp, "num_edges", json_integer(t->n_edges));
    og__import_note(imp, "node_types", og__typing_types_json(t));
    og__import_note(imp, "relations", og__typing_relations_json(t));
    if (imp->meta)
        json_object_del(imp->meta, "symmetric"); /* of a graph without types */
}

/* ---- lists of nodes of one type ---- */

struct shifted_table {
    struct og_table t; /* int64 */
    struct og_table *base;
    int64_t first, limit;
};

static int shifted_read(struct og_table *t, void *out, int64_t want, int64_t *got,
                        struct og_err *err)
{
    struct shifted_table *s = (struct shifted_table *)t;
    enum { IDS = 4096 };
    int64_t raw[IDS];
    int64_t *ids = out;
    int rc = 0;
    for (*got = 0; *got < want;) {
        int64_t n;
        OG_TRY(og__table_read(s->base, raw, OG_MIN(want - *got, (int64_t)IDS), &n, err));
        if (n == 0)
            break;
        og__npy_widen(s->base->type, raw, (size_t)n, ids + *got);
        for (int64_t i = 0; i < n; i++) {
            int64_t *id = &ids[*got + i];
            if (*id < 0 || *id >= s->limit)
                OG_TRY(og__fail(err, -EINVAL, "ids count from 0 within the type",
                                "%s: row %lld: node %lld of %lld", t->name,
                                (long long)(t->next + *got + i), (long long)*id,
                                (long long)s->limit));
            *id += s->first;
        }
        *got += n;
    }
out:
    return rc;
}

static int shifted_rewind(struct og_table *t, struct og_err *err)
{
    return og__table_rewind(((struct shifted_table *)t)->base, err);
}

static void shifted_close(struct og_table *t)
{
    free(t);
}

static const struct og_table_ops shifted_ops = {shifted_read, shifted_rewind, shifted_close, NULL};

int og__typed_split(struct og_typed_import *ti, struct og_table *t, uint32_t type, const char *name,
                    struct og_err *err)
{
    const struct og_typing_type *of = &ti->typing.type[type];
    if (!og__npy_is_integer(t->type) || t->columns != 1)
        return og__import_split(ti->imp, t, name, err); /* says what is wrong */
    struct shifted_table *s = og__table_new(sizeof(*s), &shifted_ops, t->name, err);
    if (!s)
        return -ENOMEM;
    s->t.type = OG__NPY_I64;
    s->t.ndim = 1;
    s->t.rows = t->rows;
    s->t.columns = 1;
    s->base = t;
    s->first = of->first;
    s->limit = of->count;
    int rc = og__import_split(ti->imp, &s->t, name, err);
    og__table_close(&s->t);
    return rc;
}
