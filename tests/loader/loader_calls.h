/* One graph, and loaders on it with a policy each, with the batches that they should give. */
#ifndef LOADER_CALLS_H
#define LOADER_CALLS_H

#include "loader/loader_fixture.h"
#include "options/fields.h"

static char graph[128];

static inline int make_one_graph(void **state)
{
    int rc = make_folder(state);
    make_graph(graph, "graph", OF_CLASSES, OG_F32);
    return rc;
}

static const char *const policies[] = {"degree", "lru", "belady", "sweep", "hybrid"};

static inline struct og_loader *open_with(const char *policy, struct og_options *opt, int hold)
{
    const char *const pairs[] = {"policy", policy, "cache", "10%", "superbatch", "7", NULL};
    struct og_loader_options from;
    set_up(opt, pairs);
    og_loader_options_init(&from);
    from.hold = hold;
    return open_loader(graph, opt, &from);
}

/* The trace of a run like that, of two epochs. */
static inline void expect_with(struct expected *e)
{
    static const char *const pairs[] = {"policy", "none", NULL};
    struct og_options opt;
    set_up(&opt, pairs);
    expect(e, graph, &opt);
    og__options_release(&opt);
}

static inline void go(struct og_loader *l, const struct expected *e, int epoch, int64_t first,
                      int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const struct og_minibatch *b = next_batch(l);
        assert_non_null(b);
        assert_int_equal(b->epoch, epoch);
        assert_int_equal(b->batch, first + i);
        assert_same_batch(b, e, (epoch - 1) * og_loader_batches(l, NULL) + first + i);
        og_minibatch_release(b);
    }
}

#endif
