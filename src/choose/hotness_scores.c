/* Hotness from the user: any ranking of nodes becomes a static cache (Yang et al. 2022, §6.2).
 * Scores are compared in 32 bits, so that ranking takes no more memory than any other. Float32 and
 * integers of up to 32 bits are exact, float64 is rounded to float32, and 64-bit integers that span
 * more than 32 are compared by their upper bits. */
#include "choose/hotness.h"

#include "dataset/convert.h"

#include <inttypes.h>
#include <math.h>

enum { AT_ONCE = 4096 };
static const char hint[] = "give one number a node, the higher the sooner cached: "
                           "numpy.save(\"scores.npy\", scores.astype(\"float32\"))";

static bool is_float(enum og__npy_type type)
{
    return type == OG__NPY_F16 || type == OG__NPY_F32 || type == OG__NPY_F64;
}

static int open_scores(struct og_npy *a, const struct og_options *opt, uint64_t n_nodes,
                       struct og_err *err)
{
    *a = (struct og_npy){.fd = -1};
    if (!opt->scores)
        return og__fail(err, -EINVAL, "--policy file:SCORES.npy", "--policy file: which file?");
    OG_DO(og__npy_open(a, opt->scores, err));
    if (!is_float(a->type) && !og__npy_is_integer(a->type))
        return og__fail(err, -EINVAL, hint,
                        "%s: scores of type %s; float32, float64 or integers "
                        "expected",
                        opt->scores, og__npy_name(a->type));
    const bool column = a->ndim == 1 || a->shape[1] == 1;
    if (column && (uint64_t)a->shape[0] == n_nodes)
        return 0;
    return og__fail(err, -EINVAL, hint, "%s: %" PRId64 " scores%s, there are %" PRIu64 " nodes",
                    opt->scores, a->shape[0], column ? "" : " in several columns", n_nodes);
}

/* ---- floats: their bits, in the order of the numbers ---- */

static int take_floats(const struct og_npy *a, const void *data, int64_t first, int64_t n,
                       uint32_t *hotness, struct og_err *err)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = og__number_at(a->type, data, (size_t)i);
        if (isnan(x))
            return og__fail(err, -EINVAL, "give every node a number, such as 0 to never cache it",
                            "%s: the score of node %" PRId64 " is NaN", a->path, first + i);
        if (hotness)
            hotness[first + i] = og__float_ordered((float)x);
    }
    return 0;
}

/* hotness may be NULL, to look whether all are numbers. */
static int read_floats(const struct og_npy *a, uint32_t *hotness, struct og_err *err)
{
    double data[AT_ONCE];
    for (int64_t first = 0; first < a->shape[0]; first += AT_ONCE) {
        const int64_t n = OG_MIN(a->shape[0] - first, (int64_t)AT_ONCE);
        OG_DO(og__npy_read(a, first, n, data, err));
        OG_DO(take_floats(a, data, first, n, hotness, err));
    }
    return 0;
}

int og__hotness_scores_check(const struct og_options *opt, uint64_t n_nodes, struct og_err *err)
{
    struct og_npy a;
    int rc;
    OG_TRY(open_scores(&a, opt, n_nodes, err));
    if (is_float(a.type)) /* all of them are numbers */
        OG_TRY(read_floats(&a, NULL, err));
out:
    og__npy_close(&a);
    return rc;
}

/* ---- integers: how far they are above the least ---- */

/* The integer at i, in an order that int64 has. Unsigned ones need its range from the lower end
 * on. */
static int64_t integer_at(const struct og_npy *a, const void *data, int64_t i)
{
    const int64_t x = og__integer_at(a->type, data, (size_t)i);
    return a->type == OG__NPY_U64 ? x ^ INT64_MIN : x;
}

/* Their least and greatest; with hotness, each by its distance from the least. */
static int walk_integers(const struct og_npy *a, int64_t range[2], unsigned shift,
                         uint32_t *hotness, struct og_err *err)
{
    int64_t data[AT_ONCE];
    for (int64_t first = 0; first < a->shape[0]; first += AT_ONCE) {
        const int64_t n = OG_MIN(a->shape[0] - first, (int64_t)AT_ONCE);
        OG_DO(og__npy_read(a, first, n, data, err));
        for (int64_t i = 0; i < n; i++) {
            const int64_t x = integer_at(a, data, i);
            if (hotness) {
                hotness[first + i] = (uint32_t)(((uint64_t)x - (uint64_t)range[0]) >> shift);
                continue;
            }
            range[0] = OG_MIN(range[0], x);
            range[1] = OG_MAX(range[1], x);
        }
    }
    return 0;
}

static int read_integers(const struct og_npy *a, uint32_t *hotness, struct og_err *err)
{
    int64_t range[2] = {INT64_MAX, INT64_MIN};
    unsigned shift = 0;
    int rc;
    OG_TRY(walk_integers(a, range, 0, NULL, err));
    while (((uint64_t)range[1] - (uint64_t)range[0]) >> shift > UINT32_MAX)
        shift++;
out:
    return rc < 0 ? rc : walk_integers(a, range, shift, hotness, err);
}

static int read_scores(const struct og_options *opt, uint64_t n_nodes, bool as_floats,
                       uint32_t *hotness, struct og_err *err)
{
    struct og_npy a;
    int rc;
    OG_TRY(open_scores(&a, opt, n_nodes, err));
    OG_TRY(as_floats || is_float(a.type) ? read_floats(&a, hotness, err)
                                         : read_integers(&a, hotness, err));
out:
    og__npy_close(&a);
    return rc;
}

int og__hotness_scores(const struct og_options *opt, uint64_t n_nodes, uint32_t *hotness,
                       struct og_err *err)
{
    return read_scores(opt, n_nodes, false, hotness, err);
}

int og__hotness_scores_as_floats(const struct og_options *opt, uint64_t n_nodes, uint32_t *hotness,
                                 struct og_err *err)
{
    return read_scores(opt, n_nodes, true, hotness, err);
}
