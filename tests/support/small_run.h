/* A graph and a run on it that take no time, for tests of what happens around them. */
#ifndef OG_SMALL_RUN_H
#define OG_SMALL_RUN_H

#include "dataset/generate/options.h"
#include "options/fields.h"
#include "support/testing.h"

#include "base/base.h"

#include <outgrow/outgrow.h>

static inline struct og_generate small_graph(int kind)
{
    struct og_generate g;
    og__generate_init(&g);
    g.model = kind;
    g.nodes = 256;
    g.degree = 4;
    g.dim = 8;
    g.classes = 3;
    g.train_fraction = 0.2;
    g.memory = (struct og_amount){OG_BYTES, 64 << 20};
    g.threads = 1;
    return g;
}

/* The defaults, but for these; `run` is the run's folder. */
static inline void small_run(struct og_options *opt, const char *run)
{
    static const char *const pairs[][2] = {{"fanout", "3,2"}, {"batch", "32"},   {"hidden", "4"},
                                           {"epochs", "1"},   {"memory", "64M"}, {"threads", "1"},
                                           {"io", "pread"}};
    og__options_init(opt);
    for (size_t i = 0; i < OG_COUNT(pairs); i++)
        assert_int_equal(og_options_set(opt, pairs[i][0], pairs[i][1], NULL), 0);
    assert_int_equal(og_options_set(opt, "run", run, NULL), 0);
}

#endif
