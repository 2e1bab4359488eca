/* Internals of gather.h, shared by its files.
 *
 *   gather.c    memory of cache and staging areas; a batch
 *   fill.c      rows that are put into slots before batches
 *   written.c   rows that batches change, and their file */
#ifndef OG_GATHER_PARTS_H
#define OG_GATHER_PARTS_H

#include "base/shared_memory.h"
#include "gather/gather.h"

#include <pthread.h>

/* One group's part of a staging area. */
struct og_gather_part {
    char *at;               /* its first row */
    uint32_t capacity;      /* rows charged to the budget, touched so far */
    bool begun;             /* misses are being read: */
    bool from_pack;         /* as a chunk of the pack, */
    bool waits;             /* or a chunk of written rows, read as a whole at the end: */
    uint32_t found;         /* so many misses have come from there; */
    struct og_read_job job; /* else by this job */
};

struct og_staging {
    const struct og_plan *plan;
    struct og_gather_part *part; /* [n_groups] */
    struct og_rows *rows;        /* [n_groups] */
    uint32_t *index; /* [capacity] with several groups: locations of the batch's rows, by
                        group, */
    uint32_t *miss;  /* [capacity] and its misses as numbers within their groups */
    uint32_t capacity;
    uint32_t number; /* of the batch, in its superbatch */
};

struct og_gather_group {
    const struct og_group *of;
    struct og_reader *reader; /* NULL: no rows */
    struct og_reader
        *fill_reader;     /* fills the cache while batches are in flight; NULL: `reader` does */
    struct og_pack *pack; /* NULL: misses come from the feature file */
    size_t row_bytes;
    uint32_t slot, n_slots;     /* its slots, after those of the previous groups */
    size_t at;                  /* byte of the cache where they begin */
    struct og_written *written; /* rows that batches change; NULL: they do not */
};

struct og_fill_piece;

/* The thread that distributes rows of the rest (foreseen.h), or did. */
struct og_distributor {
    pthread_t thread;
    bool runs;
    struct og_io_counts read; /* until og__gather_fill_end */
    int rc;
    struct og_err err;
};

struct og_gather {
    struct og_budget *budget;
    uint32_t n_groups;
    uint32_t n_slots;
    uint32_t n_released; /* so many of the last slots have no memory */
    int n_staging;
    int n_areas;                    /* staging areas, with those reserved for filling */
    const struct og_pinned *pinned; /* or NULL */
    bool fills_during_training;
    int n_processes; /* processes that share the cache; 0: private */
    struct og_shared_memory_piece shared;
    /* Cache and staging areas. Address space is reserved for a staging area of the largest possible
     * batch; memory is charged as batches need it. */
    char *base;
    size_t reserved;
    bool charged;                      /* the pinned cache is charged */
    struct og_fill_piece *pieces;      /* [2] while the cache is filled, else NULL */
    uint32_t n_pieces;                 /* started so far */
    struct og_gather_group *group;     /* [n_groups] */
    struct og_staging *staging;        /* [n_areas] */
    const struct og_fresh_rows *fresh; /* of written groups */
    struct og_io_counts wrote;         /* rows, not reported yet; */
    struct og_distributor distributor;
    int failed; /* why a batch could not write */
    struct og_err why;
};

/* With one group, nodes have its numbers; with several, the graph's. */
static inline uint32_t og__gather_first(const struct og_gather *g, const struct og_gather_group *w)
{
    return g->n_groups > 1 ? (uint32_t)w->of->first : 0;
}

static inline char *og__gather_slot(const struct og_gather *g, const struct og_gather_group *w,
                                    uint32_t slot)
{
    return g->base + w->at + (slot - w->slot) * w->row_bytes;
}

/* Makes space for `rows` rows of group k. */
OG_MUST_CHECK int og__gather_grow(struct og_gather *g, struct og_staging *s, uint32_t k,
                                  uint32_t rows, struct og_err *err);
/* Rows of a piece with staging areas of its own. */
uint32_t og__gather_fill_rows(size_t row_bytes);

#endif
