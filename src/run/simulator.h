/* What is simulated over which batches: what og_simulate is made of. */
#ifndef OG_RUN_SIMULATOR_H
#define OG_RUN_SIMULATOR_H

#include "plan/partitioned.h"
#include "plan/simulate.h"
#include "run/simulate_tiers.h"
#include "sample/trace.h"
#include "session/session.h"

enum { MOST_POLICIES = 64, MOST_WORKERS = 64, WORD = 48 };

struct requested_policy {
    char *name; /* "hybrid:window=128", malloc'ed */
    int kind;   /* enum og_policy_kind */
    struct og_options opt;
};

struct requested_cache {
    char name[WORD];
    struct og_amount amount;
    uint32_t place; /* among the sizes in ascending order */
};

struct simulated_group {
    const char *name;        /* of edges: of their relation */
    uint64_t first, n_nodes; /* units of edges are among the nodes */
    bool of_edges;
    size_t written_row;       /* bytes of rows that batches change; 0: they do not */
    struct og_read_rule rule; /* where it has rows */
};

struct simulator {
    struct og_options opt; /* its own, of one process; */
    int workers;           /* whose caches are counted */
    const struct og_observer *observer;
    struct requested_policy policy[MOST_POLICIES];
    struct requested_cache cache[OG__MOST_SIZES];
    int n_policies, n_caches;
    struct og_simulation sim;
    uint32_t size[OG__MOST_SIZES]; /* of the policy at hand, of all groups, ascending */
    uint32_t epoch;                /* batches */
    /* of what is to come: bounds until it is there */
    uint64_t most_rows, longest;
    uint32_t most_batches;
    /* a dataset, or NULL */
    struct og_session *s;
    uint32_t *ids; /* [most_rows] */
    uint64_t *ptr; /* [most_batches + 1] */
    uint64_t rows;
    uint32_t n_batches;
    /* of either */
    uint64_t n_nodes;              /* of the graph; sim.n_nodes has units of edges besides */
    uint32_t n_groups;             /* of rows: types of nodes, or one; of edges */
    struct simulated_group *group; /* [n_groups] */
    struct og_group_bytes *bytes;  /* [n_groups] */
    /* a trace */
    struct og_trace_folder folder;
    const char *dir; /* borrowed */
    struct og_pool *pool;
    struct og_budget *budget;
    /* of a device's cache over the host's, or NULL: its lists, and nothing else */
    struct simulator *device;
    bool device_is_paired; /* its policies belong to the host's, one each */
    struct og_victim_request victim;
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

/* Are batches that epochs reuse kept, and so prepared as a whole, as og__keeps_batches says? */
bool og__simulator_keeps(const struct simulator *m, int policy);
/* Batches of a superbatch; of several workers each one's. */
uint32_t og__simulator_superbatch(const struct simulator *m);
/* What a policy is simulated over. */
struct og_simulation og__simulation_of(const struct simulator *m, const struct requested_policy *p);
/* Are workers counted as they would send one another rows, too? Rows of one group only. */
static inline bool og__simulates_exchange(const struct simulator *m)
{
    return m->workers > 1 && m->n_groups == 1 && !m->device;
}
/* Devices of a process that keep rows; of several workers each has one. */
int og__simulator_keepers(const struct simulator *m);
/* keeps: they prepare batches that epochs reuse, as a whole. */
struct og_partitioned og__simulator_partitioned(const struct simulator *m, bool keeps,
                                                bool exchange);

/* ---- its batches ---- */

/* A dataset, whose batches are sampled: bounds of what will come, then the batches. */
OG_MUST_CHECK int og__simulator_open_dataset(struct simulator *m, const char *dataset,
                                             struct og_err *err);
OG_MUST_CHECK int og__simulator_sample(struct simulator *m, struct og_err *err);
/* A trace, whose batches are read: the same. */
OG_MUST_CHECK int og__simulator_open_trace(struct simulator *m, const char *dir,
                                           struct og_err *err);
OG_MUST_CHECK int og__simulator_read(struct simulator *m, const char *dir, struct og_err *err);

/* ---- what was found, as JSON; NULL on lack of memory ---- */

json_t *og__simulated_counts_json(const struct og_simulated *r);
json_t *og__simulated_json(const struct simulator *m, const struct requested_policy *p,
                           const struct requested_cache *c, const struct og_simulated *of);
/* Counts by group: of nodes as "types", of edges as "edges". */
struct group_rows {
    json_t *nodes, *edges;
};
struct group_rows og__group_rows(void);
void og__group_rows_add(struct group_rows *rows, const struct simulated_group *of, json_t *row);
/* Into row, whose reference is taken, as are those of the lists. */
json_t *og__with_group_rows(json_t *row, struct group_rows rows);
/* Group k's part of it, with these slots. */
json_t *og__simulated_group_json(const struct simulator *m, uint32_t k, uint64_t slots,
                                 const struct og_simulated *of);
/* All of it, with those results, whose reference is not taken. */
json_t *og__simulation_json(const struct simulator *m, json_t *results, double opening,
                            double simulating);
/* What goes from worker to worker where they exchange rows: these, and before them their numbers.
 */
OG_MUST_CHECK int og__simulation_add_exchange(const struct simulator *m, json_t *root,
                                              struct og_err *err);

#endif
