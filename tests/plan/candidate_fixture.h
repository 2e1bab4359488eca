/* Traces to count candidates for. */
#ifndef OG_CANDIDATE_FIXTURE_H
#define OG_CANDIDATE_FIXTURE_H

#include "support/testing.h"

#include "base/random.h"
#include "choose/profiling.h"
#include "plan/candidate.h"
#include "plan/policy_ops.h"
#include "plan/segments.h"

#include <outgrow/outgrow.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 80, MOST_BATCHES = 14, FILL_ROWS = 7 };

/* ---- seconds, by hand ---- */

/* Four batches of three rows of 1000 bytes; nothing is cached. Rows are far apart, and a request
 * covers two blocks of 512 at least. */
struct by_hand {
    uint32_t ids[12];
    uint64_t ptr[5];
    struct og_cost_inputs g;
};

static inline void set_by_hand(struct by_hand *h)
{
    *h = (struct by_hand){.ids = {0, 10, 20, 0, 10, 30, 40, 50, 60, 40, 50, 70},
                          .ptr = {0, 3, 6, 9, 12}};
    h->g = (struct og_cost_inputs){
        .trace = {4, h->ptr, h->ids},
        .n_nodes = 80,
        .rule = {.row_bytes = 1024, .align = 512, .gap = 512, .max_request = 262144},
        .fill_rows = 100,
        .disk = {.iops = 1e15, .bandwidth = 1024},
        .times = {.sample = 2,
                  .plan_row = 0.25,
                  .count_row = 0.125,
                  .prepare_row = 0.5,
                  .model = 1,
                  .copy = 3072,
                  .write = 512,
                  .fresh = 4096,
                  .samplers = 2,
                  .threads = 2},
        .memory_limit = SIZE_MAX,
        .disk_limit = UINT64_MAX,
    };
}

static inline struct og_estimate estimate(const struct og_cost_inputs *g, struct og_candidate c)
{
    struct og_estimate e;
    c.policy.n_nodes = g->n_nodes;
    c.resample_every = OG_MAX(c.resample_every, 1u);
    if (c.sweep_memory == 0)
        c.sweep_memory = OG_MIB;
    assert_int_equal(og__candidates_rank(g, &c, 1, &e, NULL), 0);
    return e;
}

/* ---- from a few batches to many ---- */

enum { VISITED = 4000, SHORT = 8, LONG = 240, BATCH = 250 };

#endif
