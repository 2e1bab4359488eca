/* Seeds that a batch lists several times. The flow has each once; the caller's batch has it as
 * often as listed, with its row and in-edges. Its out-edges leave its first position. */
#include "loader/minibatch_parts.h"

#include <string.h>

/* Position of node i of the batch in the caller's batch. `other` is that of nodes that are no
 * repeated seeds. */
static uint32_t first_place(const struct og_seeds *s, uint32_t i, uint32_t other)
{
    return i < s->repeating ? s->first[i] : other;
}

static uint32_t next_place(const struct og_seeds *s, uint32_t i, uint32_t place)
{
    return i < s->repeating ? s->next[place] : OG__NO_ID;
}

void og__spread_ids(const struct og_seeds *s, const uint32_t *from, uint32_t n, int64_t minus,
                    int64_t *to)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t v = first_place(s, i, i + s->extra); v != OG__NO_ID; v = next_place(s, i, v))
            to[v] = from[i] - minus;
}

/* Copies row i to position `place`, as floats if it has scales. */
static void copy_row(const struct og_rows *from, uint32_t i, char *to, size_t place)
{
    const size_t length = og__row_length(from);
    const size_t dim = (size_t)from->dim;
    if (from->scale)
        og__row_widen((float *)(void *)to + place * dim, from, og__row(from, i), 0, dim);
    else
        memcpy(to + place * length, og__row(from, i), length);
}

void og__spread_rows(const struct og_seeds *s, const struct og_rows *from, uint32_t first,
                     uint32_t last, char *to)
{
    uint32_t i = first;
    for (; i < OG_MIN(last, s->repeating); i++)
        for (uint32_t v = s->first[i]; v != OG__NO_ID; v = s->next[v])
            copy_row(from, i, to, v);
    if (!from->scale)
        og__rows_copy(from, i, last, to + s->extra * og__row_length(from));
    for (; from->scale && i < last; i++)
        copy_row(from, i, to, (size_t)i + s->extra);
}

/* ---- edges ---- */

int64_t og__repeated_edges(const struct og_seeds *s, const struct og_block *b, uint32_t first,
                           uint32_t end)
{
    int64_t n = 0;
    for (uint32_t list = first; list < end && og__list_dst(b, list) < s->repeating; list++) {
        const uint32_t i = og__list_dst(b, list);
        for (uint32_t v = s->next[s->first[i]]; v != OG__NO_ID; v = s->next[v])
            n += b->indptr[list + 1] - b->indptr[list];
    }
    return n;
}

static uint32_t place_of(const struct og_seeds *s, const uint32_t *local, uint32_t i)
{
    return local ? local[i] : og__turn_place(s, i);
}

/* The lists of a block, each as often as its destination appears. */
struct lists {
    const struct og_seeds *s;
    const struct og_block *from;
    const uint32_t *local;
    const struct og_edge_places *places;
    uint32_t relation;
    const struct og_minibatch_hop *to;
};

static void copy_list(const struct lists *l, uint32_t list, uint32_t place)
{
    const struct og_block *b = l->from;
    const uint32_t first = b->indptr[list];
    const uint32_t n = b->indptr[list + 1] - first;
    const int64_t at = ((const int64_t *)l->to->indptr.data)[place];
    int64_t *src = (int64_t *)l->to->src.data + at;
    int64_t *dst = (int64_t *)l->to->dst.data + at;
    for (uint32_t e = 0; e < n; e++) {
        src[e] = place_of(l->s, l->local, b->src[first + e]);
        dst[e] = place;
    }
    if (l->to->weight.data)
        memcpy((float *)l->to->weight.data + at, b->weight + first, n * sizeof(*b->weight));
    if (l->to->edge.data)
        og__copy_places(l->places, b, l->relation, first, n, (int64_t *)l->to->edge.data + at);
    if (l->to->edge_attr.data) {
        const struct og_edge_rows *rows = &l->places->rows[l->relation];
        og__copy_edge_rows(rows, b, first, n,
                           (char *)l->to->edge_attr.data + (size_t)at * og__edge_row_length(rows));
    }
}

static void count_list(const struct lists *l, uint32_t list, uint32_t place)
{
    int64_t *indptr = l->to->indptr.data;
    indptr[place + 1] = l->from->indptr[list + 1] - l->from->indptr[list];
}

static void for_lists(const struct lists *l, uint32_t first, uint32_t end,
                      void (*visit)(const struct lists *l, uint32_t list, uint32_t place))
{
    for (uint32_t list = first; list < end; list++) {
        const uint32_t i = og__list_dst(l->from, list);
        const uint32_t other = place_of(l->s, l->local, i);
        for (uint32_t v = first_place(l->s, i, other); v != OG__NO_ID; v = next_place(l->s, i, v))
            visit(l, list, v);
    }
}

void og__spread_lists(const struct og_seeds *s, const struct og_block *from, uint32_t first,
                      uint32_t end, const uint32_t *local, const struct og_edge_places *places,
                      uint32_t relation, const struct og_minibatch_hop *to)
{
    const struct lists l = {s, from, local, places, relation, to};
    int64_t *indptr = to->indptr.data;
    memset(indptr, 0, (size_t)(to->n_dst + 1) * sizeof(*indptr));
    for_lists(&l, first, end, count_list);
    for (int64_t v = 0; v < to->n_dst; v++)
        indptr[v + 1] += indptr[v];
    for_lists(&l, first, end, copy_list);
}
