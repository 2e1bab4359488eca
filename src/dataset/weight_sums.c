#include "dataset/weight_sums.h"

#include "dataset/edge_walk.h"

#include <math.h>
#include <string.h>

struct summing {
    struct og_weight_sums *out;
    double sum; /* of the list at hand, */
    uint64_t n; /* and of how many edges */
};

static int add_edges(void *arg, const struct og_edge_walk *w, uint32_t dst, size_t from, size_t to,
                     struct og_err *err)
{
    struct summing *s = arg;
    for (size_t i = from; i < to; i++) {
        const double weight = (double)w->weight[i];
        if (!(weight >= 0 && isfinite(weight)))
            return og__fail(err, -EINVAL, "weights are finite numbers, 0 or more",
                            "%s: an edge of node %u: weight %g", w->of->weights.path, dst, weight);
        if (s->out->leaving)
            s->out->leaving[w->src[i]] += weight;
        if (s->out->loop && w->src[i] == dst) {
            s->out->loop[dst] = w->weight[i];
            continue;
        }
        s->sum += weight;
        s->n++;
    }
    return 0;
}

static int end_list(void *arg, const struct og_edge_walk *w, uint32_t dst, size_t from, size_t to,
                    struct og_err *err)
{
    struct summing *s = arg;
    (void)w;
    (void)from;
    (void)to;
    (void)err;
    s->out->mean[dst] = s->n > 0 ? (float)(s->sum / (double)s->n) : 0;
    s->sum = 0;
    s->n = 0;
    return 0;
}

int og__weight_sums_fill(const struct og_relation *r, struct og_budget *b,
                         struct og_weight_sums *out, struct og_err *err)
{
    struct summing s = {.out = out};
    struct og_edge_walk w;
    int rc;
    for (int64_t v = 0; out->loop && v < r->n_nodes; v++)
        out->loop[v] = 1;
    if (out->leaving)
        memset(out->leaving, 0, (size_t)r->n_sources * sizeof(*out->leaving));
    memset(out->mean, 0, (size_t)r->n_nodes * sizeof(*out->mean));
    if (r->n_edges == 0)
        return 0;
    OG_TRY(og__edge_walk_open(&w, r, b, err));
    OG_TRY(og__edge_walk(&w, add_edges, end_list, &s, err));
out:
    og__edge_walk_close(&w);
    return rc;
}
