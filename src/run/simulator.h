/* What is simulated over which batches: what og_simulate is made of. */
#ifndef OG_RUN_SIMULATOR_H
#define OG_RUN_SIMULATOR_H

#include "plan/simulate.h"
#include "run/simulate_tiers.h"
#include "sample/trace.h"
#include "train/session.h"

enum { MOST_POLICIES = 64, WORD = 48 };

struct asked_policy {
    char *name; /* "hybrid:window=128", malloc'ed */
    int kind;   /* enum og_policy_kind */
    struct og_options opt;
};

struct asked_cache {
    char name[WORD];
    struct og_amount amount;
    uint32_t place; /* among the sizes in ascending order */
};

struct simulator {
    struct og_options opt; /* its own */
    const struct og_observer *seen;
    struct asked_policy policy[MOST_POLICIES];
    struct asked_cache cache[OG__MOST_SIZES];
    int n_policies, n_caches;
    struct og_simulation sim;
    uint32_t size[OG__MOST_SIZES];
    uint32_t epoch; /* batches */
    /* of what is to come: bounds until it is there */
    uint64_t most_rows, longest;
    uint32_t most_batches;
    /* a dataset, or NULL */
    struct og_session *s;
    uint32_t *ids; /* [most_rows] */
    uint64_t *ptr; /* [most_batches + 1] */
    uint64_t rows;
    uint32_t n_batches;
    /* a trace */
    struct og_trace_folder folder;
    struct og_pool *pool;
    struct og_budget *budget;
    /* of a device's cache over the host's, or NULL: its lists, and nothing else */
    struct simulator *device;
    bool device_is_paired; /* its policies belong to the host's, one each */
    struct og_victim_asked victim;
};

/* A dataset, whose batches are sampled: bounds of what will come, then the batches. */
OG_MUST_CHECK int og__simulator_open_dataset(struct simulator *m, const char *dataset,
                                             struct og_err *err);
OG_MUST_CHECK int og__simulator_sample(struct simulator *m, struct og_err *err);
/* A trace, whose batches are read: the same. */
OG_MUST_CHECK int og__simulator_open_trace(struct simulator *m, const char *dir,
                                           struct og_err *err);
OG_MUST_CHECK int og__simulator_read(struct simulator *m, const char *dir, struct og_err *err);

#endif
