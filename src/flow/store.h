/* store: who brings the rows of plans to where they are used, and caches some. A table of
 * functions, of the host's cache (gather.h) or of devices' over it (device_rows.h). */
#ifndef OG_STORE_H
#define OG_STORE_H

#include "io/io.h"

struct og_pack;
struct og_work;

struct og_store_ops {
    /* A flow begins: so many of its batches may be between begin and end. */
    int (*start)(void *self);
    /* One thread, batches in order, and two may be begun. */
    int (*begin)(void *self, struct og_work *w, struct og_err *err);  /* into area w->staging */
    int (*finish)(void *self, struct og_work *w, struct og_err *err); /* w->rows, w->read are set */
    void (*give_up)(void *self, struct og_work *w);
    /* By the consumer, before it uses them: rows that the batch before it has changed. NULL: no
     * batch changes any. */
    int (*arrive)(void *self, struct og_work *w, struct og_err *err);
    void (*end)(void *self, struct og_work *w); /* by the consumer, once it has used them */
    /* What failed at the end of a batch, which could not say so. */
    int (*check)(void *self, struct og_err *err);
    /* Rows of a group into slots, nodes ascending; both lists may be changed. As og__gather_fill.
     */
    int (*fill)(void *self, uint32_t *nodes, uint32_t *slots, uint32_t n,
                struct og_io_counts *counts, struct og_err *err);
    int (*fill_end)(void *self, struct og_io_counts *counts, struct og_err *err);
    /* The host's last n slots release their memory. Or take it again, as many as so many bytes have
     * room for. No batch is in flight. */
    int (*release_slots)(void *self, uint32_t n, struct og_err *err);
    int (*reclaim)(void *self, size_t bytes, struct og_err *err);
    /* As og__gather_from_packs. */
    void (*from_packs)(void *self, struct og_pack *const *packs);
    const char *(*engine)(const void *self); /* that reads features */
    void (*close)(void *self);
};

struct og_row_store {
    const struct og_store_ops *ops; /* NULL: no rows are brought */
    void *self;
};

#endif
