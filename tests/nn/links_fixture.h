/* What tests of link prediction share. */
#ifndef OG_LINKS_FIXTURE_H
#define OG_LINKS_FIXTURE_H

#include "nn/nn_ops.h"

#include "base/file.h"
#include "base/temporary.h"
#include "dataset/edge_split.h"
#include "lookahead/lookahead.h"
#include "nn/model.h"
#include "sample/pairs.h"
#include "sample/sample.h"
#include "support/files.h"
#include "support/folder.h"

#include <sys/stat.h>
#include <unistd.h>

/* ==== holding edges out ==== */

static char root[TEST_PATH];

static inline int make_root(void **state)
{
    (void)state;
    return test_folder(root, "links") ? 0 : -1;
}

static inline int remove_root(void **state)
{
    (void)state;
    if (rmdir(root) == 0)
        return 0;
    fprintf(stderr, "%s: something is left in it\n", root);
    exit(1); /* a teardown that fails is not a test that fails */
}

/* ==== pairs ==== */

enum { BATCH = 64 };

static const struct og_pair_rule uniform = {
    .seed = 3, .n_nodes = 5000, .symmetric = true, .negatives = 3, .rank_negatives = 20};

static inline void draw_ends(uint32_t *ends, uint64_t *place, uint32_t n, uint32_t n_nodes)
{
    start();
    for (uint32_t i = 0; i < 2 * n; i++)
        ends[i] = og__rng_below(&rng, n_nodes);
    for (uint32_t i = 0; i < n; i++)
        place[i] = n - 1 - i;
}

#endif
