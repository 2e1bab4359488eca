/* --split: train, valid and test as random parts of the nodes that have a label. Nodes are taken in
 * order, each into a part with the probability of its places that are left (selection sampling,
 * Knuth 3.4.2). So parts have exact sizes, and need no memory. */
#include "dataset/import/random_split.h"

#include "base/random.h"
#include "dataset/convert.h"
#include "dataset/edge_split.h"

#include <math.h>
#include <stdlib.h>

static const char part[] = "import";

enum { PIECE = 1 << 16 }; /* bytes of labels read at once, or a node's */

struct parts {
    struct og_npy labels; /* fd -1: every node is taken */
    unsigned char *row;   /* of these */
    int64_t room;         /* nodes whose labels fit there */
    size_t bytes;
    int64_t left[OG__SPLITS]; /* places */
    struct og_rng rng;
    struct og_npy_writer *w[OG__SPLITS];
};

int og__random_split_check(const struct og_import *opt, struct og_err *err)
{
    double percent[OG__SPLITS];
    return !opt->split || og__percents_read(percent, opt->split)
               ? 0
               : og__fail(err, -EINVAL, "such as 60/20/20: train, valid and test, 100 together",
                          "--split: '%.60s' given, three percentages expected", opt->split);
}

int og__random_split_refuse(const struct og_importer *imp, const char *file, struct og_err *err)
{
    return imp->opt->split
               ? og__fail(err, -EINVAL, "leave out --split, or the files and columns of the splits",
                          "--split %s: the source has splits: %s", imp->opt->split, file)
               : 0;
}

/* ---- the nodes ---- */

static int open_labels(struct og_importer *imp, struct parts *p, struct og_err *err)
{
    char *path = og__import_target(imp, "labels.npy");
    int rc = path ? 0 : og__fail_errno(err, -ENOMEM, NULL, "labels.npy");
    if (rc == 0 && access(path, F_OK) == 0)
        rc = og__npy_open(&p->labels, path, err);
    free(path);
    if (rc < 0 || p->labels.fd < 0)
        return rc;
    const size_t one = (size_t)p->labels.shape[1] * og__npy_size(p->labels.type);
    p->room = (int64_t)OG_MAX(PIECE / one, (size_t)1);
    p->bytes = (size_t)p->room * one;
    p->row = og__alloc(imp->budget, p->bytes, part, err);
    return p->row ? 0 : -ENOMEM;
}

static bool has_label(const struct parts *p, int64_t i)
{
    const int64_t columns = p->labels.shape[1];
    bool any = false;
    for (int64_t j = 0; j < columns; j++) {
        const double x = og__number_at(p->labels.type, p->row, (size_t)(i * columns + j));
        any |= og__npy_is_integer(p->labels.type) ? x >= 0 : !isnan(x);
    }
    return any;
}

/* Calls `take` for each node that has a label, in order. */
static int each_node(const struct og_importer *imp, struct parts *p,
                     int (*take)(struct parts *p, int64_t node, struct og_err *err),
                     struct og_err *err)
{
    const int64_t nodes = imp->graph.n_nodes;
    int rc = 0;
    for (int64_t v = 0; v < nodes; v++) {
        const int64_t at = p->room ? v % p->room : 0;
        if (p->room && at == 0)
            OG_TRY(og__npy_read(&p->labels, v, OG_MIN(p->room, nodes - v), p->row, err));
        if (!p->room || has_label(p, at))
            OG_TRY(take(p, v, err));
    }
out:
    return rc;
}

static int count(struct parts *p, int64_t node, struct og_err *err)
{
    (void)node;
    (void)err;
    p->left[OG__TRAIN]++;
    return 0;
}

static int place(struct parts *p, int64_t node, struct og_err *err)
{
    const int64_t all = p->left[OG__TRAIN] + p->left[OG__VALID] + p->left[OG__TEST];
    int64_t at = og__rng_below(&p->rng, (uint32_t)all);
    int k = OG__TRAIN;
    while (at >= p->left[k])
        at -= p->left[k++];
    p->left[k]--;
    return og__npy_append(p->w[k], &node, 1, err);
}

/* ---- the parts ---- */

static int size_parts(const struct og_importer *imp, struct parts *p, struct og_err *err)
{
    double percent[OG__SPLITS];
    const int64_t n = p->left[OG__TRAIN];
    int64_t done = 0;
    double sum = 0;
    og__percents_read(percent, imp->opt->split);
    for (int k = 0; k < OG__SPLITS; k++) {
        sum += percent[k];
        const int64_t end = k == OG__TEST ? n : (int64_t)llround((double)n * sum / 100);
        p->left[k] = end - done;
        done = end;
    }
    return p->left[OG__TRAIN] > 0
               ? 0
               : og__fail(err, -EINVAL, "give training a larger part",
                          "--split %s: of %lld nodes none to train", imp->opt->split, (long long)n);
}

static int write_parts(struct og_importer *imp, struct parts *p, struct og_err *err)
{
    static const char *const files[OG__SPLITS] = {"train.npy", "valid.npy", "test.npy"};
    int rc = 0;
    og__rng_at(&p->rng, (uint64_t)imp->opt->seed, OG__STREAM_NODE_SPLIT, 0, 0, 0, 0);
    for (int k = 0; k < OG__SPLITS; k++)
        OG_TRY(og__array_create(&p->w[k], imp->dir.temporary, files[k], OG__NPY_I64, 1, 1, err));
    OG_TRY(each_node(imp, p, place, err));
    for (int k = 0; k < OG__SPLITS; k++)
        OG_TRY(og__array_finish(&p->w[k], files[k], imp->checksums, err));
out:
    return rc;
}

int og__import_random_split(struct og_importer *imp, struct og_err *err)
{
    struct parts p = {.labels = {.fd = -1}};
    int rc = 0;
    if (!imp->opt->split)
        return 0;
    OG_TRY(open_labels(imp, &p, err));
    if (!p.room && imp->graph.n_groups > 1)
        OG_TRY(og__fail(err, -EINVAL, "leave out --split, or add labels of a type",
                        "--split %s: no type has labels", imp->opt->split));
    OG_TRY(each_node(imp, &p, count, err));
    OG_TRY(size_parts(imp, &p, err));
    int64_t n[OG__SPLITS] = {p.left[OG__TRAIN], p.left[OG__VALID], p.left[OG__TEST]};
    OG_TRY(write_parts(imp, &p, err));
    og__import_say(imp, "split at random, seed %lld: %lld nodes to train, %lld valid, %lld test",
                   (long long)imp->opt->seed, (long long)n[OG__TRAIN], (long long)n[OG__VALID],
                   (long long)n[OG__TEST]);
out:
    for (int k = 0; k < OG__SPLITS; k++)
        og__npy_discard(p.w[k]);
    og__release(imp->budget, p.row, p.bytes, part);
    og__npy_close(&p.labels);
    return rc;
}
