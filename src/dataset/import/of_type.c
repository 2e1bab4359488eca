/* Rows of a table that has one for each node of the source, as those of one type.
 *
 * Where the source's order is ours a type's rows are neighbours, and are read where they lie. Else
 * the table is passed through once a type, and the rows of the others are left out. */
#include "dataset/import/typed.h"

#include <stdlib.h>
#include <string.h>

struct of_type {
    struct og_table t;
    struct og_table *base;
    const struct og_node_order *order;
    struct og_budget *budget;
    struct og_piece piece;      /* of the base; unless by_type */
    int from, to, now;          /* types: the first, the one behind the last, the present one */
    int64_t at, filled, source; /* in the piece: row, rows; the source's node of its first row */
};

static int64_t rows_of(const struct og_node_order *o, int from, int to)
{
    return o->first[to] - o->first[from];
}

/* The table is at our row t->next already, or goes there: tables of .npy files are read anywhere.
 */
static int read_in_place(struct of_type *s, void *out, int64_t want, int64_t *got,
                         struct og_err *err)
{
    s->base->next = s->order->first[s->from] + s->t.next;
    return og__table_read(s->base, out, want, got, err);
}

/* The next rows of the base; none: the next type has its pass. */
static int fill(struct of_type *s, struct og_err *err)
{
    int rc;
    s->source += s->filled;
    s->at = s->filled = 0;
    OG_TRY(og__table_read(s->base, s->piece.raw, s->piece.room, &s->filled, err));
    if (s->filled > 0)
        return 0;
    s->now++;
    s->source = 0;
    OG_TRY(og__table_rewind(s->base, err));
out:
    return rc;
}

static int pick_rows(struct of_type *s, char *out, int64_t want, int64_t *got, struct og_err *err)
{
    const size_t row = og__table_row_bytes(s->base);
    int rc = 0;
    for (*got = 0; *got < want && s->now < s->to;) {
        if (s->at == s->filled) {
            OG_TRY(fill(s, err));
            continue;
        }
        if (s->order->type[s->source + s->at] == s->now)
            memcpy(out + (size_t)(*got)++ * row, s->piece.raw + (size_t)s->at * row, row);
        s->at++;
    }
out:
    return rc;
}

static int of_type_read(struct og_table *t, void *out, int64_t want, int64_t *got,
                        struct og_err *err)
{
    struct of_type *s = (struct of_type *)t;
    return s->order->by_type ? read_in_place(s, out, want, got, err)
                             : pick_rows(s, out, want, got, err);
}

static int of_type_rewind(struct og_table *t, struct og_err *err)
{
    struct of_type *s = (struct of_type *)t;
    s->now = s->from;
    s->at = s->filled = s->source = 0;
    return og__table_rewind(s->base, err);
}

static void of_type_close(struct og_table *t)
{
    struct of_type *s = (struct of_type *)t;
    og__piece_give(&s->piece);
    free(s);
}

static const struct og_table_ops of_type_ops = {of_type_read, of_type_rewind, of_type_close, NULL};

int og__table_of_type(struct og_table **out, struct og_table *base,
                      const struct og_node_order *order, int type, struct og_budget *b,
                      struct og_err *err)
{
    int rc;
    *out = NULL;
    struct of_type *s = og__table_new(sizeof(*s), &of_type_ops, base->name, err);
    if (!s)
        return -ENOMEM;
    s->base = base;
    s->order = order;
    s->from = type < 0 ? 0 : type;
    s->to = type < 0 ? (int)order->n_types : type + 1;
    s->t.type = base->type;
    s->t.ndim = base->ndim;
    s->t.columns = base->columns;
    s->t.rows = rows_of(order, s->from, s->to);
    OG_TRY(order->by_type ? 0 : og__piece_take(&s->piece, base, b, err));
    OG_TRY(of_type_rewind(&s->t, err));
    *out = &s->t;
    return 0;
out:
    og__table_close(&s->t);
    return rc;
}
