#include "flow/places.h"

#include "gather/rows.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "batches";

size_t og__places_bytes(uint64_t places)
{
    return 2 * (size_t)places * sizeof(uint32_t);
}

void og__places_release(struct og_places_view *v)
{
    og__release(v->budget, v->index, v->room * sizeof(*v->index), part);
    free(v->rows);
    *v = (struct og_places_view){.budget = v->budget};
}

static int reserve(struct og_places_view *v, size_t n, uint32_t n_groups, struct og_err *err)
{
    if (!v->rows && !(v->rows = calloc(n_groups, sizeof(*v->rows))))
        return og__fail_errno(err, -ENOMEM, NULL, part);
    if (n <= v->room)
        return 0;
    og__release(v->budget, v->index, v->room * sizeof(*v->index), part);
    v->index = og__alloc(v->budget, n * sizeof(*v->index), part, err);
    v->room = v->index ? n : 0;
    return v->index ? 0 : -ENOMEM;
}

/* The number of each id among those of its group. */
static void number_ids(const struct og_batch *b, const struct og_graph *groups, uint32_t *number)
{
    uint32_t next[OG_MOST_TYPES] = {0};
    for (uint32_t i = 0; i < b->n_ids; i++)
        number[i] = next[og__group_of(groups, b->ids[i])]++;
}

static uint32_t location(const struct og_rows *r, uint32_t i)
{
    return r->index ? r->index[i] : i;
}

/* Groups of units of edges have no places. */
static void show_rows(const struct og_batch *b, const struct og_graph *groups,
                      struct og_places_view *v)
{
    uint32_t *number = v->index + b->n_places;
    uint32_t start[OG_MOST_TYPES + 1] = {0};
    number_ids(b, groups, number);
    for (uint32_t i = 0; i < b->n_places; i++)
        start[og__group_of(groups, b->node[i]) + 1]++;
    for (uint32_t k = 0; k < groups->n_groups; k++) {
        v->rows[k] = v->own[k];
        if (start[k + 1] > 0) {
            v->rows[k].n = start[k + 1];
            v->rows[k].index = v->index + start[k];
        }
        start[k + 1] += start[k];
    }
    for (uint32_t i = 0; i < b->n_places; i++) {
        const uint32_t k = og__group_of(groups, b->node[i]);
        v->index[start[k]++] = location(&v->own[k], number[b->row[i]]);
    }
}

int og__places_show(struct og_places_view *v, struct og_batch *b, const struct og_rows **rows,
                    const struct og_graph *groups, struct og_err *err)
{
    if (!b->row)
        return 0;
    if (*rows) {
        OG_DO(reserve(v, (size_t)b->n_places + b->n_ids, groups->n_groups, err));
        v->own = *rows;
        show_rows(b, groups, v);
        *rows = v->rows;
    }
    v->sampled = *b;
    v->shown = true;
    *b = og__batch_by_place(b);
    return 0;
}

void og__places_sum(const struct og_places_view *v, const struct og_graph *groups, uint32_t group,
                    int dim, const float *from, float *to)
{
    const struct og_batch *b = &v->sampled;
    const uint32_t *number = v->index + b->n_places;
    const size_t width = (size_t)dim;
    memset(to, 0, v->own[group].n * width * sizeof(*to));
    for (uint32_t i = 0; i < b->n_places; i++) {
        if (og__group_of(groups, b->node[i]) != group)
            continue;
        float *row = to + number[b->row[i]] * width;
        for (size_t k = 0; k < width; k++)
            row[k] += from[k];
        from += width;
    }
}

void og__places_hide(struct og_places_view *v, struct og_batch *b, const struct og_rows **rows)
{
    if (v->own)
        *rows = v->own;
    if (v->shown)
        *b = v->sampled;
    v->own = NULL;
    v->shown = false;
}
