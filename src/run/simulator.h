/* What is simulated over which batches: what og_simulate is made of. */
#ifndef OG_RUN_SIMULATOR_H
#define OG_RUN_SIMULATOR_H

#include "plan/dealt.h"
#include "plan/simulate.h"
#include "run/simulate_tiers.h"
#include "sample/trace.h"
#include "session/session.h"

enum { MOST_POLICIES = 64, MOST_WORKERS = 64, WORD = 48 };

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
    struct og_options opt; /* its own, of one process; */
    int workers;           /* whose caches are counted */
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
    /* of either, where nodes have types; else NULL */
    const struct og_graph_types *types;
    struct og_width *width;       /* [types] */
    struct og_read_rule *rule_of; /* [types], of those with rows */
    /* a trace */
    struct og_trace_folder folder;
    const char *dir;            /* borrowed */
    struct og_graph_types said; /* what `types` of a trace is */
    struct og_pool *pool;
    struct og_budget *budget;
    /* of a device's cache over the host's, or NULL: its lists, and nothing else */
    struct simulator *device;
    bool device_is_paired; /* its policies belong to the host's, one each */
    struct og_victim_asked victim;
};

/* ---- its lists ---- */

/* One more policy, by its word, malloc'ed, which is then the simulator's. */
OG_MUST_CHECK int og__simulator_add_policy(struct simulator *m, char *word, struct og_err *err);
/* All of a list, at least one. */
OG_MUST_CHECK int og__simulator_add_policies(struct simulator *m, const char *list,
                                             struct og_err *err);
OG_MUST_CHECK int og__simulator_add_caches(struct simulator *m, const char *list,
                                           struct og_err *err);

/* ---- what follows from them ---- */

size_t og__simulator_row_bytes(const struct simulator *m); /* of a row in the cache */
/* Are batches that epochs reuse kept, and so prepared as a whole, as og__keeps_batches says? */
bool og__simulator_keeps(const struct simulator *m, int policy);
/* Nodes as a policy of one width ranks them, in so many bytes. */
size_t og__simulator_hotness_bytes(const struct simulator *m, const struct asked_policy *p);
OG_MUST_CHECK int og__simulator_find_hotness(struct simulator *m, const struct asked_policy *p,
                                             uint32_t *hotness, struct og_err *err);
/* Batches of a superbatch; of several workers each one's. */
uint32_t og__simulator_superbatch(const struct simulator *m);
/* What a policy is simulated over. */
struct og_simulation og__simulation_of(const struct simulator *m, const struct asked_policy *p);
static inline bool og__simulates_types(const struct simulator *m)
{
    return m->types;
}
/* Are workers counted as they would send one another rows, too? */
static inline bool og__simulates_exchange(const struct simulator *m)
{
    return m->workers > 1 && !og__simulates_types(m) && !m->device;
}
/* Devices of a process that keep rows; of several workers each has one. */
int og__simulator_keepers(const struct simulator *m);
/* keeps: they prepare batches that epochs reuse, as a whole. */
struct og_dealt og__simulator_dealt(const struct simulator *m, bool keeps, bool exchange);

/* ---- its batches ---- */

/* A dataset, whose batches are sampled: bounds of what will come, then the batches. */
OG_MUST_CHECK int og__simulator_open_dataset(struct simulator *m, const char *dataset,
                                             struct og_err *err);
OG_MUST_CHECK int og__simulator_sample(struct simulator *m, struct og_err *err);
/* A trace, whose batches are read: the same. */
OG_MUST_CHECK int og__simulator_open_trace(struct simulator *m, const char *dir,
                                           struct og_err *err);
/* Rows so wide in their file are read as from a dataset that was written here, on the disk of the
 * trace. */
struct og_read_rule og__simulator_assumed_rule(const struct simulator *m, size_t row_bytes);
OG_MUST_CHECK int og__simulator_read(struct simulator *m, const char *dir, struct og_err *err);

/* ---- what was found, as JSON; NULL on lack of memory ---- */

/* A worker's cache as one process alone has it, and, of several workers, as they exchange rows. */
struct og_counted {
    struct og_simulated own[OG__MOST_SIZES], exchanged[OG__MOST_SIZES];
};
json_t *og__simulated_counts_json(const struct og_simulated *r);
json_t *og__simulated_json(const struct simulator *m, const struct asked_policy *p,
                           const struct asked_cache *c, const struct og_counted *counted);
/* All of it, with those results, whose reference is not taken. */
json_t *og__simulation_json(const struct simulator *m, json_t *results, double opening,
                            double simulating);
/* What goes from worker to worker where they exchange rows: these, and before them their numbers.
 */
OG_MUST_CHECK int og__simulation_add_exchange(const struct simulator *m, json_t *root,
                                              struct og_err *err);

#endif
