/* Rows from the host's cache and its disk, as gather.h brings them. */
#include "flow/source.h"
#include "gather/written.h"

static int start(void *self)
{
    og__gather_restart(self);
    return og__gather_areas(self);
}

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

static int arrive(void *self, struct og_work *w, struct og_err *err)
{
    const double start = og__now();
    w->wrote = (struct og_io_counts){0};
    const int rc = og__gather_arrive(self, w->staging, &w->read, &w->wrote, err);
    w->gather_seconds += og__now() - start;
    return rc;
}

static void end(void *self, struct og_work *w)
{
    og__gather_change(self, &w->plan, w->rows);
}

static int check(void *self, struct og_err *err)
{
    return og__gather_check(self, err);
}

static int fill(void *self, uint32_t *nodes, uint32_t *slots, uint32_t n,
                struct og_io_counts *counts, struct og_err *err)
{
    return og__gather_fill(self, nodes, slots, n, counts, err);
}

static int fill_end(void *self, struct og_io_counts *counts, struct og_err *err)
{
    return og__gather_fill_end(self, counts, err);
}

static int release_slots(void *self, uint32_t n, struct og_err *err)
{
    (void)err;
    og__gather_release_slots(self, n);
    return 0;
}

static int reclaim(void *self, size_t bytes, struct og_err *err)
{
    return og__gather_reclaim(self, og__gather_lacking(self, bytes), err);
}

static void from_packs(void *self, struct og_pack *const *packs)
{
    og__gather_from_packs(self, packs);
}

static const char *engine(const void *self)
{
    return og__gather_engine(self);
}

static void close_gather(void *self)
{
    og__gather_close(self);
}

struct og_row_store og__rows_gathered(struct og_gather *g)
{
    static const struct og_store_ops ops = {.start = start,
                                            .begin = begin,
                                            .finish = finish,
                                            .give_up = give_up,
                                            .arrive = arrive,
                                            .end = end,
                                            .check = check,
                                            .fill = fill,
                                            .fill_end = fill_end,
                                            .release_slots = release_slots,
                                            .reclaim = reclaim,
                                            .from_packs = from_packs,
                                            .engine = engine,
                                            .close = close_gather};
    return (struct og_row_store){&ops, g};
}
