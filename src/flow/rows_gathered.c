/* Rows from the host's cache and its disk, as gather.h brings them. */
#include "flow/source.h"

static int begin(void *self, struct og_work *w, struct og_err *err)
{
    return og__gather_begin(self, w->staging, &w->plan, w->planned.ids, w->number, err);
}

static int finish(void *self, struct og_work *w, struct og_err *err)
{
    return og__gather_finish(self, w->staging, &w->rows, &w->read, err);
}

static void give_up(void *self, struct og_work *w)
{
    og__gather_give_up(self, w->staging);
}

static void end(void *self, struct og_work *w)
{
    og__gather_change(self, &w->plan, w->rows);
}

struct og_row_source og__rows_gathered(struct og_gather *g)
{
    return (struct og_row_source){g, begin, finish, give_up, end};
}

static int fill(void *self, const uint32_t *nodes, const uint32_t *slots, uint32_t n,
                struct og_io_counts *counts, struct og_err *err)
{
    return og__gather_fill(self, nodes, slots, n, counts, err);
}

static int fill_end(void *self, struct og_io_counts *counts, struct og_err *err)
{
    return og__gather_fill_end(self, counts, err);
}

struct og_fill_to og__fills_gathered(struct og_gather *g)
{
    return (struct og_fill_to){g, fill, fill_end};
}
