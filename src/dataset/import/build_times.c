/* A table of whole numbers -> node_times.npy, edge_times.npy, or times of a split's seeds. */
#include "dataset/import/import.h"

#include "dataset/convert.h"
#include "dataset/times.h"

#include <math.h>
#include <string.h>

static const char steps_hint[] = "store times as int64: seconds, days or any other steps";

/* The first whole number whose successor a type of floats lacks. */
static double exact_below(const struct og_table *t)
{
    return t->type == OG__NPY_F16 ? 0x1p11 : t->type == OG__NPY_F32 ? 0x1p24 : 0x1p53;
}

/* OG__NO_TIME for the least int64, which NaT becomes too. */
static int time_of(const struct og_piece *p, int64_t i, int64_t row, int64_t *time,
                   struct og_err *err)
{
    const enum og__npy_type type = p->t->type;
    const double x = og__number_at(type, p->raw, (size_t)i);
    const bool integer = og__npy_is_integer(type);
    const bool whole = integer ? type != OG__NPY_U64 || og__integer_at(type, p->raw, (size_t)i) >= 0
                               : isfinite(x) && x == floor(x);
    const struct og_table_place place = og__table_place(p->t, row, -1);
    if (!whole)
        return og__fail(err, -EINVAL, steps_hint, "%s: %s: %g is no int64", p->t->name, place.text,
                        x);
    if (!integer && fabs(x) >= exact_below(p->t))
        return og__fail(err, -EINVAL, "store them as int64 in a .npy file",
                        "%s: %s: %.17g: times in %s are below 2^%d", p->t->name, place.text, x,
                        p->t->text ? "text" : "such floats", ilogb(exact_below(p->t)));
    *time = integer ? og__integer_at(type, p->raw, (size_t)i) : (int64_t)x;
    return 0;
}

/* All nodes of a type may be without a time, of several types. `lack`: the first of its type is. */
static int check_time(const struct og_importer *imp, const struct og_table *t, int64_t row,
                      bool nodes, int64_t time, bool *lack, struct og_err *err)
{
    const bool lacks = time == OG__NO_TIME;
    const struct og_graph *g = &imp->graph;
    const struct og_group *type = nodes ? &g->group[og__group_of(g, (uint32_t)row)] : NULL;
    if (type && row == type->first)
        *lack = lacks && g->n_groups > 1;
    if (lacks == *lack)
        return 0;
    return og__fail(err, -EINVAL,
                    "-2^63 stands for no time, as NaT does: leave the row out, or give it the time "
                    "from which on it is known",
                    "%s: %s: no time (%lld)%s", t->name,
                    og__table_place(t, lacks ? row : type->first, -1).text, (long long)OG__NO_TIME,
                    nodes && g->n_groups > 1 ? ", others of its type have one" : "");
}

static int copy_times(struct og_importer *imp, struct og_table *t, int64_t rows, bool nodes,
                      struct og_npy_writer *w, struct og_err *err)
{
    struct og_piece p = {0};
    int64_t done = 0;
    int64_t time;
    bool lack = false;
    int rc;
    OG_TRY(og__piece_take(&p, t, imp->budget, err));
    for (int64_t n = 1; n > 0; done += n) {
        OG_TRY(og__table_read(t, p.raw, p.room, &n, err));
        for (int64_t i = 0; i < n; i++) {
            OG_TRY(time_of(&p, i, done + i, &time, err));
            OG_TRY(check_time(imp, t, done + i, nodes, time, &lack, err));
            OG_TRY(og__npy_append(w, &time, 1, err));
        }
    }
    rc = og__import_check_rows(imp, t, done, rows, "times", err);
out:
    og__piece_give(&p);
    return rc;
}

int og__import_times(struct og_importer *imp, struct og_table *t, const char *array, int64_t rows,
                     struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    char name[48];
    int rc;
    snprintf(name, sizeof(name), "%s.npy", array);
    if (t->columns != 1)
        return og__fail(err, -EINVAL, "one number each", "%s: %lld columns", t->name,
                        (long long)t->columns);
    OG_TRY(og__array_create(&w, imp->dir.temporary, name, OG__NPY_I64, 1, 1, err));
    const bool nodes = strcmp(array, og__array_name(OG__NODE_TIMES)) == 0;
    OG_TRY(copy_times(imp, t, rows, nodes, w, err));
    rc = og__array_finish(&w, name, imp->checksums, err);
out:
    og__npy_discard(w);
    return rc;
}

static int of_relation(struct og_importer *imp, uint32_t relation, struct og_table *t,
                       struct og_err *err)
{
    const struct og_array_name name = og__relation_array(&imp->graph, relation, OG__EDGE_TIMES);
    struct og_table *ours = NULL;
    int rc;
    OG_TRY(og__edge_rows_of(&ours, imp, relation, t, err));
    OG_TRY(og__import_times(imp, ours, name.text, imp->graph.relation[relation].n_edges, err));
out:
    og__table_close(ours);
    return rc;
}

int og__import_edge_times(struct og_importer *imp, uint32_t relation, struct og_table *t,
                          struct og_err *err)
{
    const uint32_t reverse = imp->n_relations + relation;
    int rc;
    if (t->rows >= 0 && t->rows != imp->n_added[relation])
        return og__fail(err, -EINVAL, "a time for every edge", "%s: %lld rows for %lld edges",
                        t->name, (long long)t->rows, (long long)imp->n_added[relation]);
    OG_TRY(of_relation(imp, relation, t, err));
    if (reverse < imp->graph.n_relations)
        OG_TRY(of_relation(imp, reverse, t, err));
out:
    return rc;
}

int og__import_edge_list_times(struct og_importer *imp, struct og_table *t, enum og__split split,
                               int64_t edges, struct og_err *err)
{
    if (edges < 0 || t->rows != edges)
        return og__fail(err, -EINVAL, "a time per edge of the list, in its order",
                        "%s: %lld rows, for %lld edges", t->name, (long long)t->rows,
                        (long long)OG_MAX(edges, (int64_t)0));
    return og__import_times(imp, t, og__listed_name(OG__EDGE_LIST_TIMES, split), edges, err);
}
