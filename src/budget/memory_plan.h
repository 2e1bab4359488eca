/* How the budget is divided, before any large allocation: a function of options, workload and
 * execution plan.
 *
 *   fixed:  process, topology, seeds, labels, degrees, samplers, batches, plans,
 *           read buffers, model, activations
 *   ahead:  trace of a superbatch, tables of the policy
 *   rest:   staging areas for the misses of batches in flight | feature cache
 *
 * Staging and cache are sized together, from the misses of the profiling batches. Reason: the more
 * rows the cache holds, the fewer miss.
 *
 * It reads only numbers and changes nothing, so it can be computed for any number of execution
 * plans. */
#ifndef OG_MEMORY_PLAN_H
#define OG_MEMORY_PLAN_H

#include "budget/plan_inputs.h"
#include "sample/group_sampling.h"

/* Thread stacks, the heap, stdio, what JIT kernels take while running. */
#define OG__PROCESS_BYTES (12 * OG_MIB)

/* The record of a batch that is sampled ahead, and of a window of rows (flow/source.h,
 * flow/filling.h). */
enum { OG__SAMPLED_LOOKAHEAD_BYTES = 56, OG__FILL_WINDOW_BYTES = 16 };
/* And of a row that is to enter the host's cache once a device has read it (flow/device_rows.c).
 */
enum { OG__ENTERING_BYTES = 16 };

/* Where the budget goes, in bytes. */
struct og_memory_plan {
    size_t limit;
    int parts;      /* of --memory, which take as much each; 0 counts as 1 */
    bool trains;    /* else the model is as it was made */
    bool negatives; /* links among --eval-negatives others */
    size_t process; /* thread stacks, heap, what the libraries take while running */
    size_t topology, topology_training; /* while sampling; while training, when the two alternate */
    size_t sampler, sampler_training;   /* the same of all samplers, without sample groups */
    size_t neighbors;                   /* cache of topology on disk, while sampling */
    size_t group_sampling;              /* batches that are sampled from it together, the same */
    struct og_group_sampling_sizes
        sample_group; /* of such batches; none: each is sampled by itself */
    size_t samples;   /* descriptions of pre-sampled batches */
    size_t degrees;   /* of relations, which GCN normalises by */
    size_t seeds, labels, hotness, batches, plans, reader;
    size_t model, activations;
    uint64_t superbatch; /* batches sampled ahead together, for policies that look ahead */
    /* Batches after the superbatch that its plan sees; and how many are sampled at a time. A lot is
     * 0 unless the superbatch is much shorter than the tail. Up to a lot more batches are sampled
     * than are seen. */
    uint64_t tail, lot;
    uint64_t wanted; /* tail, if memory and disk had room for all of it */
    /* Maximum bytes on disk: of all that is sampled ahead; of a sample group, without batches. */
    uint64_t disk, drawn;
    size_t trace; /* of a superbatch: ids; blocks and plans as far as they stay in memory */
    size_t trace_blocks, code_bytes; /* the latter two */
    size_t trace_training;           /* what stays once it is planned, */
    size_t trace_tables;             /* and of that with phased memory: tables of batches */
    size_t packing, sweep;           /* what batches miss, and writing it */
    size_t victim_buffer;            /* rings of rows that left a device's cache */
    size_t policy, policy_slots;     /* its tables while it plans, and what the slots add to them */
    size_t policy_training, policy_training_slots; /* the same once it has planned */
    size_t spill;           /* buffers through which batches are spilled while they are sampled */
    size_t exchange;        /* rows and lists sent between ranks, and the plan of requested rows */
    size_t record;          /* the same, of samples that are made for others */
    size_t handed;          /* batches that a caller holds, or is about to get */
    size_t handed_released; /* of them, while a superbatch is prepared */
    size_t missed;          /* of the trace: packed misses replace ids; 0 = in `packing` */
    bool alternates;        /* topology, trace and tables have gone when the cache is there */
    bool ids_leave;         /* ids leave memory once planned, and are read back */
    int n_staging;          /* batches being read or trained */
    uint32_t n_slots;       /* rows in the host cache */
    bool whole; /* has all rows, for all processes that share them; `cache` is this one's part */
    bool shown; /* with --exchange: others read rows where they are in the cache */
    /* Slots released while batches are sampled ahead: under a device's cache all or none. */
    uint32_t n_released;
    size_t staging, cache;
    size_t slack;    /* left for batches larger than planned */
    size_t smallest; /* the least --memory that would do */
};

/* Rows that the worst batch misses under a cache of so many slots, with a margin. For each group
 * with rows: slots[n_groups], rows[n_groups]. Never more under a larger cache. */
struct og_misses {
    int (*worst)(const void *arg, const uint64_t *slots, uint64_t *rows, struct og_err *err);
    const void *arg;
};

/* The bytes of one part times the parts of --memory, for messages. */
static inline size_t og__memory_plan_all(const struct og_memory_plan *m, size_t bytes)
{
    return bytes * (size_t)OG_MAX(m->parts, 1);
}

/* All of it together (ledger.c). */
size_t og__memory_plan_sum(const struct og_memory_plan *m);

/* ---- in parts, each for what the ones before it leave: the neighbour cache decides misses ---- */

/* Fill everything but superbatch, staging and caches, and `smallest` (memory_plan_fixed.c). */
void og__memory_plan_fixed(struct og_memory_plan *m, const struct og_plan_inputs *p);
/* Default rows of a victim ring: a share of what all fixed parts leave free. At most the rows of
 * the largest batch (memory_plan_fixed.c). */
uint32_t og__memory_plan_victim_buffer(const struct og_plan_inputs *p);
/* Refuse when the limit is below the smallest that would do. */
OG_MUST_CHECK int og__memory_plan_check(const struct og_memory_plan *m, struct og_err *err);

/* How many batches are sampled ahead together, and what that takes (memory_plan_lookahead.c). */
OG_MUST_CHECK int og__memory_plan_lookahead(struct og_memory_plan *m,
                                            const struct og_plan_inputs *p, struct og_err *err);

/* How many batches a sample group has with topology on disk, and its bytes
 * (memory_plan_sample_groups.c). */
void og__memory_plan_sample_groups(struct og_memory_plan *m, const struct og_plan_inputs *p);

/* Size the cache of topology on disk: at most half of what is free. Sampling that has the memory to
 * itself gets all of it. Where a hop reads the whole file anyway, lists in memory save little: it
 * gets a quarter, and nothing under group sampling. Or as the user says
 * (memory_plan_neighbors.c). */
OG_MUST_CHECK int og__memory_plan_neighbors(struct og_memory_plan *m,
                                            const struct og_plan_inputs *p, struct og_err *err);
/* These three: all that is between the fixed parts and the cache of rows. */
OG_MUST_CHECK int og__memory_plan_batches(struct og_memory_plan *m, const struct og_plan_inputs *p,
                                          struct og_err *err);

/* Staging and cache follow (slots.h). */

/* The most that batches take of --disk at any moment: sampled ahead, and in a sample group. */
uint64_t og__memory_plan_away(const struct og_memory_plan *m, const struct og_plan_inputs *p);

/* What a batch that is sampled ahead takes on disk: ids, both ends of its edges, its plan. */
size_t og__spilled_batch_bytes(const struct og_workload *f);
/* Requests of a round that phased memory spills; 0 without --exchange. */
size_t og__spilled_requests_bytes(const struct og_plan_inputs *p);

#endif
