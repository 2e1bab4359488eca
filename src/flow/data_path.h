/* data path: what brings batches to whoever trains on them, or looks at them.
 *
 *   samplers ──> works ──> policy, planner ──> gather       one after another (pipeline.h), or
 *                  └─────> stores ──────────────┘           a superbatch ahead (lookahead/)
 *
 * Without features there is neither policy nor gather, and batches are ids and blocks. */
#ifndef OG_DATA_PATH_H
#define OG_DATA_PATH_H

#include "budget/device_plan.h"
#include "budget/slots.h"
#include "flow/device_rows.h"
#include "flow/device_sampling.h"
#include "flow/packs.h"
#include "flow/source.h"
#include "flow/structure.h"
#include "gather/written.h"
#include "nn/row_optimizers.h"
#include "plan/foreseen.h"

/* What is prepared ahead, and where it is stored. */
struct og_stores {
    struct og_places scratch; /* for what does not stay in memory; its own */
    /* of a superbatch, once a run began */
    struct og_superbatch *superbatch;
    struct og_spill *codes;      /* its plans */
    struct og_scratch *pack_dir; /* with --layout packed: what its batches miss, */
    struct og_pack **pack;       /* [n_packs] of each group, or none */
    uint32_t n_packs;
    struct og_packs *packs;       /* of --samples; NULL = none that fit */
    struct og_next_use_list uses; /* of a superbatch's rows that batches change */
};

/* What is sampled ahead goes to these places, which are copied. What a killed process left there
 * goes. */
OG_MUST_CHECK int og__stores_name(struct og_stores *s, struct og_places places, struct og_err *err);
/* Its places, or the working directory where there are none. */
static inline struct og_places og__scratch_or_here(const struct og_stores *s)
{
    static const char *const here[] = {"."};
    return s->scratch.n > 0 ? s->scratch : (struct og_places){1, here};
}
/* Room for packs of so many groups, none of which is open; close those that are. */
OG_MUST_CHECK int og__stores_hold_packs(struct og_stores *s, uint32_t n, struct og_err *err);
void og__stores_drop_packs(struct og_stores *s);
void og__stores_close(struct og_stores *s);

/* Devices that a model trains on, and with what. */
struct og_rows_to {
    const struct og_nn_ops *ops;
    struct og_nn_backend *backend;
    struct og_devices devices;
};

/* What an epoch reads, as far as it is known in advance. */
struct og_predicted {
    bool known;  /* before the first superbatch a policy may not know */
    bool bound;  /* of the structure it is the most that there can be, until a group was sampled */
    bool writes; /* those of rows that batches change are counted */
    struct og_plan_cost plan;
    struct og_tiers_cost tiers; /* with a device's cache */
    uint64_t topology_reads, topology_bytes, topology_passes;
    struct og_io_counts trace; /* samples, and what was spilled */
};

/* What a data path does with its caches. Plans are of the host's alone, or of a device's over
 * it. */
struct og_stack_ops {
    /* A work has room for a plan of so many rows; and none. */
    int (*reserve)(const struct og_data_path *d, struct og_work *w, uint32_t rows,
                   struct og_err *err);
    void (*release)(struct og_work *w);
    /* The store, and what is in it before the first batch: *prefill rows. */
    int (*open)(struct og_data_path *d, uint64_t *prefill, struct og_err *err);
    /* Called before the first batch, where batches are not sampled ahead. Then it returns the next
     * rows that are to be in slots, by the policy's numbers of nodes, 0: that was all. */
    int (*begin)(struct og_data_path *d, struct og_err *err);
    uint32_t (*prefill)(struct og_data_path *d, uint32_t *nodes, uint32_t *places, uint32_t most);
    /* The host's slots from `first` on have lost their rows. */
    void (*invalidate)(struct og_data_path *d, uint32_t first);
    /* From an og_plans: each batch by itself; made with its superbatch. */
    int (*plan)(void *plans, struct og_work *w, struct og_err *err);
    int (*read_back)(void *plans, struct og_work *w, struct og_err *err);
};

struct og_data_path {
    /* not its own: what was decided, and where batches come from */
    const struct og_config *config;
    const struct og_workload *workload;
    const struct og_exec_plan *exec;
    const struct og_memory_plan *memory;
    struct og_budget *budget;
    struct og_structure *structure;
    const struct og_offline *offline;       /* pre-sampled batches; NULL = none */
    struct og_predicted *predicted;         /* set once the first superbatch is planned */
    struct og_group_size *size;             /* [n_groups] rows of each; NULL: no features */
    struct og_timeline *timeline;           /* NULL = none */
    const struct og_idle_hooks *idle_hooks; /* of who samples; NULL: they do nothing else */
    struct og_rows_to to; /* where rows go, to a device's cache; else not looked at */
    /* its own */
    const struct og_stack_ops *stack;
    struct og_sampler **samplers;       /* og__samplers(exec) of them */
    struct og_device_sampling sampling; /* who draws their hops, where that is a device */
    struct og_work *works;              /* og__works(exec) */
    struct og_policy *policy;           /* NULL: */
    struct og_tiers *tiers;             /* a device's cache, and the host's */
    struct og_planner planner;
    struct og_row_store rows;           /* without ops: no features; else of either of */
    struct og_gather *gather;           /* the host's cache; NULL: they come to a device */
    struct og_fresh_rows fresh;         /* of learnable rows, whose self are */
    struct og_row_init *row_init;       /* [n_groups]; NULL: there are none */
    struct og_device_rows *device_rows; /* from one of its own; NULL: they do not */
    struct og_stores stores;
    struct og_exchange *exchange; /* with whom rows come from other ranks; NULL: they do not */
};

/* The most batches of a superbatch whose rows wait in chunks (plan/foreseen.h). 0: none do. */
uint32_t og__foreseen_batches(const struct og_data_path *d);

/* Opens samplers and works, and with OG__WANT_FEATURES in `want` also the cache. The policy that is
 * there already fills it now, unless that waits for a superbatch. *prefill: rows of it. */
OG_MUST_CHECK int og__data_path_open(struct og_data_path *d, unsigned want, uint64_t *prefill,
                                     struct og_err *err);
/* What is to be in slots now; *prefill is added to. No batch is in flight. */
OG_MUST_CHECK int og__data_path_fill(struct og_data_path *d, uint64_t *prefill,
                                     struct og_io_counts *counted, struct og_err *err);
/* Phased memory: the topology and the samplers are there, and then give their memory back. A
 * device's samplers stay. Adds to *read and *written. No batch is being sampled. */
OG_MUST_CHECK int og__data_path_begin_sampling(struct og_data_path *d, struct og_io_counts *read,
                                               uint64_t *written, struct og_err *err);
void og__data_path_end_sampling(struct og_data_path *d);
/* The rows of a relation's edges among those of a batch (og_work.rows); without any `rows` is 0. */
struct og_edge_rows og__rows_of_edges(const struct og_workload *f, const struct og_rows *rows,
                                      uint32_t relation);
/* As what others have the cache of a rank that shows it. */
uint64_t og__cache_key(uint32_t rank);
void og__data_path_close(struct og_data_path *d);

#endif
