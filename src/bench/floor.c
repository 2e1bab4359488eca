/* A lower bound of one training step. Products at oneDNN's best rate for their shapes, and all row
 * accesses at memory bandwidth. */
#include "bench/floor.h"

#include "bench/onednn.h"
#include "nn/model.h"

#include <string.h>

#define BANDWIDTH_BYTES (256 * OG_MIB) /* several times any last-level cache */
#define CHUNK           (4 * OG_MIB)
#define MOST_FLOATS     ((uint64_t)16 << 20) /* of one operand; taller products use its rate */

/* ==== memory bandwidth ==== */

struct stream {
    const char *data;
    uint64_t sum[1024]; /* an entry per chunk, so that reads are not optimised away */
};

OG_CLONES static uint64_t sum_chunk(const uint64_t *x, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

static void read_chunk(void *arg, size_t task, int thread)
{
    (void)thread;
    struct stream *s = arg;
    const void *chunk = s->data + task * CHUNK;
    s->sum[task % OG_COUNT(s->sum)] += sum_chunk(chunk, CHUNK / sizeof(uint64_t));
}

static int measure_bandwidth(struct og_pool *pool, double *bytes_per_second, struct og_err *err)
{
    struct stream s = {0};
    char *data = og__alloc(NULL, BANDWIDTH_BYTES, "bench", err);
    if (!data)
        return -ENOMEM;
    memset(data, 1, BANDWIDTH_BYTES);
    s.data = data;
    double best = 1e9;
    for (int i = 0; i < 8; i++) {
        double start = og__now();
        og__pool_run(pool, BANDWIDTH_BYTES / CHUNK, read_chunk, &s);
        double t = og__now() - start;
        best = OG_MIN(best, t);
    }
    *bytes_per_second = (double)BANDWIDTH_BYTES / best;
    og__release(NULL, data, BANDWIDTH_BYTES, "bench");
    return s.sum[0] ? 0 : og__fail(err, -EIO, NULL, "bench: memory reads as zeros");
}

/* ==== products ==== */

/* Rates of products; equal shapes are measured once. */
struct rates {
    struct {
        struct og_bench_product product;
        double rate;
    } known[8 * OG_MAX_HOPS];
    size_t n;
};

static int rate_of(struct rates *r, const struct og_bench_product *p, int threads, double *rate,
                   struct og_err *err)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct og_bench_product *q = &r->known[i].product;
        if (q->over_rows == p->over_rows && q->rows == p->rows && q->k == p->k && q->n == p->n) {
            *rate = r->known[i].rate;
            return 0;
        }
    }
    *rate = 0;
    for (int i = 0; i < 3; i++) { /* the best of three, because load from others only adds time */
        double once = 0;
        OG_DO(og__bench_onednn(p, threads, &once, err));
        *rate = OG_MAX(*rate, once);
    }
    if (r->n < OG_COUNT(r->known)) {
        r->known[r->n].product = *p;
        r->known[r->n++].rate = *rate;
    }
    return 0;
}

struct floor {
    struct og_floor *out;
    struct og_pool *pool;
    struct rates rates;
};

static int add_product(struct floor *f, bool over_rows, uint32_t rows, int k, int n, int times,
                       struct og_err *err)
{
    double rate;
    struct og_bench_product p = {over_rows, rows, k, n};
    double flops = og__bench_flops(&p) * times;
    p.rows = (uint32_t)OG_MIN((uint64_t)rows, MOST_FLOATS / (uint64_t)OG_MAX(k, n));
    if (times == 0 || rows == 0)
        return 0;
    OG_DO(rate_of(&f->rates, &p, og__pool_threads(f->pool), &rate, err));
    f->out->flops += flops;
    f->out->product_seconds += flops / rate;
    return 0;
}

/* Adds a matrix's products: forward, its gradient and, unless it is the first layer, its input's.
 */
static int add_matrix(struct floor *f, uint32_t rows, int in, int out, bool back,
                      struct og_err *err)
{
    OG_DO(add_product(f, false, rows, in, out, 1, err));
    OG_DO(add_product(f, true, rows, out, in, 1, err));
    return add_product(f, false, rows, out, in, back ? 1 : 0, err);
}

/* Whether rows are multiplied before aggregation. */
static bool multiplies_sources(const struct og_model_config *c, int l, const struct og_block *b)
{
    if (og__conv_of(c)->attends)
        return !og__attend_first(c, l, b);
    return og__pools(c) || og__transform_first(b, og__layer_in(c, l), og__layer_mid(c, l));
}

static int layer_products(struct floor *f, const struct og_model_config *c, int l,
                          const struct og_block *b, struct og_err *err)
{
    int in = og__layer_in(c, l), mid = og__layer_mid(c, l), out = og__layer_out(c, l);
    bool second = og__pools(c) || og__conv_of(c)->perceptron; /* mid -> out */
    uint32_t neighbour_rows = multiplies_sources(c, l, b) ? b->n_src : b->n_dst;
    OG_DO(add_matrix(f, neighbour_rows, in, mid, l > 0, err));
    if (second)
        OG_DO(add_matrix(f, b->n_dst, mid, out, true, err));
    if (og__has_self(c))
        OG_DO(add_matrix(f, b->n_dst, in, og__conv_of(c)->attends ? mid : out, l > 0, err));
    if (c->residual && in != out)
        OG_DO(add_matrix(f, b->n_dst, in, out, l > 0, err));
    return 0;
}

/* ==== bytes ==== */

static double layer_bytes(const struct og_model_config *c, int l, const struct og_block *b,
                          enum og_dtype dtype)
{
    static const double dtype_bytes[] = {4, 2, 2, 1, 1, 1};
    double s = b->n_src, d = b->n_dst, e = (double)b->n_edges;
    double in = og__layer_in(c, l), mid = og__layer_mid(c, l), out = og__layer_out(c, l);
    double in_row = in * (l == 0 ? dtype_bytes[dtype] : 4), bytes;
    if (multiplies_sources(c, l, b))
        bytes = e * mid * 4 + (e + s) * mid * 4; /* forward, and backward with its result */
    else
        bytes = e * in_row + d * in * 4 + (l > 0 ? e * in * 4 : 0);
    if (og__conv_of(c)->attends)
        bytes += multiplies_sources(c, l, b) ? e * mid * 4 : e * in_row; /* score gradients */
    if (l == 0 && og__has_self(c))
        bytes += 2 * d * in_row; /* self features, gathered for the product and its gradient */
    if (l > 0)
        bytes += 2 * s * in * 4; /* the gate: activations in, gradient out */
    if (og__finishes(c, l))
        bytes += 5 * d * out * 4; /* the end: y in, h out; y and gradient in, gradient out */
    return bytes;
}

static double update_bytes(const struct og_model_config *c)
{
    return 7 * (double)og__model_trained(c) * sizeof(float); /* Adam: four arrays in, three out */
}

int og__model_floor(const struct og_model_config *config, const struct og_batch_caps *shape,
                    enum og_dtype dtype, struct og_pool *pool, struct og_floor *out,
                    struct og_err *err)
{
    struct floor f = {.out = out, .pool = pool};
    *out = (struct og_floor){0};
    OG_DO(measure_bandwidth(pool, &out->bytes_per_second, err));
    for (int l = 0; l < config->layers; l++) {
        uint32_t h = (uint32_t)(config->layers - 1 - l);
        struct og_block b = {.n_dst = (uint32_t)shape->hop[h].n_dst,
                             .n_src = (uint32_t)shape->hop[h].n_src,
                             .n_edges = shape->hop[h].n_edges};
        OG_DO(layer_products(&f, config, l, &b, err));
        out->bytes += layer_bytes(config, l, &b, dtype);
    }
    out->bytes += update_bytes(config);
    out->memory_seconds = out->bytes / out->bytes_per_second;
    return 0;
}
