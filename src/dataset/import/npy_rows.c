/* The rows of one group, from a table with a row for each node of the source.
 *
 * If the source's order is ours, a group's rows are adjacent and read in place. Else the table is
 * scanned once a group, skipping the rows of others. */
#include "dataset/import/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rows_of {
    struct og_table t;
    struct og_table *base;
    const struct og_npy_source *source;
    struct og_piece piece;     /* of the base; unless by_group */
    int from, to, now;         /* groups: the first, the one after the last, the current one */
    int64_t at, filled, first; /* in the piece: row, rows; the source's node of its first row */
};

/* Positions the table at our row t->next: tables of .npy files allow random access. */
static int read_in_place(struct rows_of *s, void *out, int64_t want, int64_t *got,
                         struct og_err *err)
{
    s->base->next = s->source->imp->graph.group[s->from].first + s->t.next;
    return og__table_read(s->base, out, want, got, err);
}

/* The next rows of the base; none: the next group has its pass. */
static int fill(struct rows_of *s, struct og_err *err)
{
    s->first += s->filled;
    s->at = s->filled = 0;
    OG_DO(og__table_read(s->base, s->piece.raw, s->piece.room, &s->filled, err));
    if (s->filled > 0)
        return 0;
    s->now++;
    s->first = 0;
    return og__table_rewind(s->base, err);
}

static int pick_rows(struct rows_of *s, char *out, int64_t want, int64_t *got, struct og_err *err)
{
    const size_t row = og__table_row_bytes(s->base);
    for (*got = 0; *got < want && s->now < s->to;) {
        if (s->at == s->filled) {
            OG_DO(fill(s, err));
            continue;
        }
        if (s->source->order.group[s->first + s->at] == s->now)
            memcpy(out + (size_t)(*got)++ * row, s->piece.raw + (size_t)s->at * row, row);
        s->at++;
    }
    return 0;
}

static int rows_of_read(struct og_table *t, void *out, int64_t want, int64_t *got,
                        struct og_err *err)
{
    struct rows_of *s = (struct rows_of *)t;
    return s->source->order.by_group ? read_in_place(s, out, want, got, err)
                                     : pick_rows(s, out, want, got, err);
}

static int rows_of_rewind(struct og_table *t, struct og_err *err)
{
    struct rows_of *s = (struct rows_of *)t;
    s->now = s->from;
    s->at = s->filled = s->first = 0;
    return og__table_rewind(s->base, err);
}

static void rows_of_close(struct og_table *t)
{
    struct rows_of *s = (struct rows_of *)t;
    og__piece_give(&s->piece);
    free(s);
}

/* The source's row, or id, of a row of ours. */
static void rows_of_source(const struct og_table *t, int64_t row, struct og_id_text *out)
{
    const struct rows_of *s = (const struct rows_of *)t;
    const int64_t node = s->source->imp->graph.group[s->from].first + row;
    int64_t v = s->source->order.by_group ? node : 0;
    while (!s->source->order.by_group && v < s->source->order.n - 1 &&
           s->source->order.new_id[v] != node)
        v++;
    if (s->base->ops->id_of)
        s->base->ops->id_of(s->base, v, out);
    else
        snprintf(out->text, sizeof(out->text), "%lld", (long long)v);
}

static const struct og_table_ops rows_of_ops = {rows_of_read, rows_of_rewind, rows_of_close,
                                                rows_of_source};

int og__npy_rows_of(struct og_table **out, const struct og_npy_source *source,
                    struct og_table *base, int group, struct og_err *err)
{
    const struct og_graph *g = &source->imp->graph;
    int rc;
    *out = NULL;
    struct rows_of *s = og__table_new(sizeof(*s), &rows_of_ops, base->name, err);
    if (!s)
        return -ENOMEM;
    s->base = base;
    s->source = source;
    s->from = group < 0 ? 0 : group;
    s->to = group < 0 ? (int)g->n_groups : group + 1;
    s->t.type = base->type;
    s->t.ndim = base->ndim;
    s->t.columns = base->columns;
    s->t.moved = !base->ops->id_of;
    s->t.rows = group < 0 ? g->n_nodes : g->group[group].n_nodes;
    OG_TRY(source->order.by_group ? 0 : og__piece_take(&s->piece, base, source->imp->budget, err));
    OG_TRY(rows_of_rewind(&s->t, err));
    *out = &s->t;
    return 0;
out:
    og__table_close(&s->t);
    return rc;
}
