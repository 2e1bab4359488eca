/* Times and features of edges in text: a table over one more reading of it. */
#include "dataset/import/edge_text.h"

#include <stdlib.h>
#include <string.h>

static const char values_name[] = "edge values";

struct edge_values {
    struct og_table t;
    struct og_edge_text *p;
    size_t part, done; /* edges of this part */
};

static int values_read(struct og_table *t, void *out, int64_t want, int64_t *got,
                       struct og_err *err)
{
    struct edge_values *v = (struct edge_values *)t;
    const size_t row = og__table_row_bytes(t);
    while (*got < want) {
        while (v->part < v->p->parts && v->done == v->p->part[v->part].n) {
            v->part++;
            v->done = 0;
        }
        if (v->part == v->p->parts) {
            OG_DO(og__edge_text_next(v->p, err));
            v->part = v->done = 0;
            if (v->p->parts == 0)
                break;
            continue;
        }
        const struct og_edge_text_part *p = &v->p->part[v->part];
        const size_t n = OG_MIN(p->n - v->done, (size_t)(want - *got));
        memcpy((char *)out + (size_t)*got * row, p->value + v->done * row, n * row);
        v->done += n;
        *got += (int64_t)n;
    }
    return 0;
}

static int values_rewind(struct og_table *t, struct og_err *err)
{
    struct edge_values *v = (struct edge_values *)t;
    v->part = v->done = v->p->parts = 0;
    return og__edge_text_rewind(v->p, err);
}

static void values_close(struct og_table *t)
{
    struct og_edge_text *p = ((struct edge_values *)t)->p;
    og__release(p->budget, p->row, p->row_bytes, values_name);
    p->row = NULL;
    p->row_bytes = 0;
    p->reads = OG__NO_VALUES;
    free(t);
}

static const struct og_table_ops values_ops = {values_read, values_rewind, values_close, NULL};

int og__edge_text_values(struct og_edge_text *p, enum og_edge_values kind, int64_t edges,
                         struct og_table **out, struct og_err *err)
{
    *out = NULL;
    if (!p->values[kind])
        return 0;
    struct edge_values *v = og__table_new(sizeof(*v), &values_ops, p->text.path, err);
    if (!v)
        return -ENOMEM;
    int rc;
    v->p = p;
    v->t.type = kind == OG__EDGE_TIME ? OG__NPY_I64 : OG__NPY_F64;
    v->t.text = true;
    v->t.rows = edges;
    v->t.columns = p->n_values[kind];
    v->t.ndim = v->t.columns > 1 ? 2 : 1;
    p->reads = kind;
    const size_t bytes = (p->text.room / og__edge_text_least(p) + 2) * og__table_row_bytes(&v->t);
    OG_TRY((p->row = og__alloc(p->budget, bytes, values_name, err)) ? 0 : -ENOMEM);
    p->row_bytes = bytes;
    OG_TRY(values_rewind(&v->t, err));
    *out = &v->t;
out:
    if (rc < 0)
        og__table_close(&v->t);
    return rc;
}
