/* Counters of a run in one table. The struct, the sums and the JSON keys are made from it.
 * Definitions are in docs/reference/json.md. */
#ifndef OG_COUNTERS_H
#define OG_COUNTERS_H

#include "base/json.h"

/*  X(name, type)  in the order of an epoch's JSON object */
#define OG_EPOCH_COUNTERS(X)                                                           \
    X(seconds, double)        /* wall time of training */                              \
    X(sample_seconds, double) /* busy time of the stages, summed over their threads */ \
    X(plan_seconds, double)                                                            \
    X(gather_seconds, double)                                                          \
    X(train_seconds, double)                                                           \
    X(stall_seconds, double) /* time that the trainer waited for data */               \
    X(eval_seconds, double)                                                            \
    X(eval_bytes_read, uint64_t)                                                       \
    X(rows, uint64_t)                                                                  \
    X(hits, uint64_t)                                                                  \
    X(misses, uint64_t)                                                                \
    X(prefill, uint64_t)                                                               \
    X(reads, uint64_t)                                                                 \
    X(bytes_read, uint64_t)                                                            \
    X(feature_bytes_read, uint64_t)                                                    \
    X(topology_bytes_read, uint64_t)                                                   \
    X(topology_passes, uint64_t) /* scans of the topology's file, or a part of it */   \
    X(trace_bytes_read, uint64_t)                                                      \
    X(lists_cached, uint64_t) /* topology on disk: cached lists sampled from */        \
    X(lists_read, uint64_t)                                                            \
    X(bytes_written, uint64_t)                                                         \
    X(row_writes, uint64_t) /* of learnable rows that were changed and left memory */  \
    X(row_bytes_written, uint64_t)                                                     \
    X(prepare_reads, uint64_t) /* reads of sampling ahead meanwhile */                 \
    X(prepare_bytes_read, uint64_t)                                                    \
    X(checkpoint_bytes_written, uint64_t)                                              \
    X(rows_exchanged, uint64_t) /* from another worker, with --exchange */             \
    X(exchange_seconds, double) /* exchange of rows, waiting included */

/* For runs with a device cache only. */
#define OG_TIER_COUNTERS(X)                                                  \
    X(device_hits, uint64_t)                                                 \
    X(host_hits, uint64_t)                                                   \
    X(victim_hits, uint64_t)                                                 \
    X(victim_pushed, uint64_t)                                               \
    X(victim_dropped, uint64_t)                                              \
    X(demoted, uint64_t)         /* from the device's cache to the host's */ \
    X(link_bytes, uint64_t)      /* of rows, to the device */                \
    X(link_bytes_back, uint64_t) /* and from its cache */                    \
    X(peer_hits, uint64_t)       /* hits of device_hits on another device */ \
    X(peer_bytes, uint64_t)      /* of rows, from device to device */

#define OG_PREPARE_COUNTERS(X) \
    X(seconds, double)         \
    X(reads, uint64_t)         \
    X(bytes_read, uint64_t)    \
    X(bytes_written, uint64_t) \
    X(prefill, uint64_t)

#define OG_COUNTER_FIELD(name, type) type name;
struct og_epoch_counters {
    OG_EPOCH_COUNTERS(OG_COUNTER_FIELD)
};
struct og_tier_counters {
    OG_TIER_COUNTERS(OG_COUNTER_FIELD)
};
struct og_prepare_counters {
    OG_PREPARE_COUNTERS(OG_COUNTER_FIELD)
};

/* Add a key per counter to `object`, whose reference is taken; or an object of them. NULL if out of
 * memory. */
OG_MUST_CHECK json_t *og__epoch_counters_json(const struct og_epoch_counters *c, json_t *object);
OG_MUST_CHECK json_t *og__prepare_counters_json(const struct og_prepare_counters *c);
/* Read from such an object; absent keys are 0. */
void og__epoch_counters_parse(struct og_epoch_counters *c, const json_t *object);
void og__epoch_counters_add(struct og_epoch_counters *sum, const struct og_epoch_counters *more);
/* The same; without keys if no row came to a device. */
OG_MUST_CHECK json_t *og__tier_counters_json(const struct og_tier_counters *c, json_t *object);
void og__tier_counters_add(struct og_tier_counters *sum, const struct og_tier_counters *more);
void og__tier_counters_parse(struct og_tier_counters *c, const json_t *object);

#endif
