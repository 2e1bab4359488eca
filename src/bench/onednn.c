#include "bench/onednn.h"

#include "base/memory.h"

#include <oneapi/dnnl/dnnl.h>

/* libgomp's, used by oneDNN; <omp.h> is not on every compiler's path. */
int omp_get_max_threads(void);
void omp_set_num_threads(int n);

static const double seconds_a_way = 0.06; /* for each implementation of the product */

/* An implementation, ready to run. */
struct way {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arg[4];
    int n_args;
};

struct bench {
    const struct og_bench_product *p;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    float *a, *b, *c; /* a [rows, k]; b [k, n] or [rows, n]; c [rows, n] or [k, n] */
    size_t a_bytes, b_bytes, c_bytes;
};

static dnnl_status_t plain(dnnl_memory_desc_t *md, int64_t rows, int64_t cols, bool transposed)
{
    dnnl_dims_t dims = {rows, cols};
    return dnnl_memory_desc_init_by_tag(md, 2, dims, dnnl_f32, transposed ? dnnl_ba : dnnl_ab);
}

static dnnl_status_t any_layout(dnnl_memory_desc_t *md, int64_t rows, int64_t cols)
{
    dnnl_dims_t dims = {rows, cols};
    return dnnl_memory_desc_init_by_tag(md, 2, dims, dnnl_f32, dnnl_format_tag_any);
}

static dnnl_status_t bind(struct bench *b, struct way *w, int name, const dnnl_memory_desc_t *md,
                          void *data)
{
    dnnl_exec_arg_t *arg = &w->arg[w->n_args++];
    arg->arg = name;
    return dnnl_memory_create(&arg->memory, md, b->engine, data);
}

static const dnnl_memory_desc_t *requested(const struct way *w, dnnl_query_t what)
{
    return dnnl_primitive_desc_query_md(w->desc, what, 0);
}

static dnnl_status_t create(struct bench *b, struct way *w, const void *op,
                            dnnl_primitive_desc_t hint)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t s = dnnl_primitive_attr_create(&attr);
    s = s ? s : dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    s = s ? s : dnnl_primitive_desc_create(&w->desc, op, attr, b->engine, hint);
    s = s ? s : dnnl_primitive_create(&w->primitive, w->desc);
    s = s ? s
          : bind(b, w, DNNL_ARG_SCRATCHPAD, requested(w, dnnl_query_scratchpad_md),
                 DNNL_MEMORY_ALLOCATE);
    dnnl_primitive_attr_destroy(attr);
    return s;
}

static dnnl_status_t matmul(struct bench *b, struct way *w, bool packed)
{
    const struct og_bench_product *p = b->p;
    int64_t rows = p->rows, m = p->over_rows ? p->k : rows, inner = p->over_rows ? rows : p->k;
    dnnl_memory_desc_t x, y, z;
    dnnl_matmul_desc_t op;
    dnnl_status_t s = plain(&x, m, inner, p->over_rows);
    s = s ? s : packed ? any_layout(&y, inner, p->n) : plain(&y, inner, p->n, false);
    s = s ? s : plain(&z, m, p->n, false);
    s = s ? s : dnnl_matmul_desc_init(&op, &x, &y, NULL, &z);
    s = s ? s : create(b, w, &op, NULL);
    s = s ? s : bind(b, w, DNNL_ARG_SRC, &x, b->a);
    s = s ? s : bind(b, w, DNNL_ARG_WEIGHTS, requested(w, dnnl_query_weights_md), b->b);
    return s ? s : bind(b, w, DNNL_ARG_DST, &z, b->c);
}

static dnnl_status_t inner_product(struct bench *b, struct way *w)
{
    const struct og_bench_product *p = b->p;
    dnnl_memory_desc_t src, weights, dst;
    dnnl_inner_product_desc_t forward, backward;
    dnnl_primitive_desc_t hint = NULL;
    dnnl_status_t s = plain(&src, p->rows, p->n, false);
    s = s ? s : any_layout(&weights, p->k, p->n);
    s = s ? s : plain(&dst, p->rows, p->k, false);
    s = s ? s
          : dnnl_inner_product_forward_desc_init(&forward, dnnl_forward_training, &src, &weights,
                                                 NULL, &dst);
    s = s ? s
          : dnnl_inner_product_backward_weights_desc_init(&backward, &src, &weights, NULL, &dst);
    s = s ? s : dnnl_primitive_desc_create(&hint, &forward, NULL, b->engine, NULL);
    s = s ? s : create(b, w, &backward, hint);
    s = s ? s : bind(b, w, DNNL_ARG_SRC, &src, b->b);
    s = s ? s : bind(b, w, DNNL_ARG_DIFF_DST, &dst, b->a);
    s = s ? s : bind(b, w, DNNL_ARG_DIFF_WEIGHTS, requested(w, dnnl_query_diff_weights_md), b->c);
    dnnl_primitive_desc_destroy(hint);
    return s;
}

static dnnl_status_t sgemm(const struct bench *b)
{
    const struct og_bench_product *p = b->p;
    if (p->over_rows)
        return dnnl_sgemm('T', 'N', p->k, p->n, p->rows, 1, b->a, p->k, b->b, p->n, 0, b->c, p->n);
    return dnnl_sgemm('N', 'N', p->rows, p->n, p->k, 1, b->a, p->k, b->b, p->n, 0, b->c, p->n);
}

/* Shortest time of a run; w NULL: sgemm. */
static double shortest(struct bench *b, struct way *w)
{
    double best = 1e9, end = og__now() + seconds_a_way;
    for (int i = 0; i < 2 || og__now() < end; i++) {
        double start = og__now();
        dnnl_status_t s =
            w ? dnnl_primitive_execute(w->primitive, b->stream, w->n_args, w->arg) : sgemm(b);
        double t = og__now() - start;
        if (s == dnnl_success && i > 0)
            best = OG_MIN(best, t);
    }
    return best;
}

/* An implementation that oneDNN lacks for a shape does not count. */
static double time_way(struct bench *b, dnnl_status_t made, struct way *w)
{
    double t = made == dnnl_success ? shortest(b, w) : 1e9;
    for (int i = 0; i < w->n_args; i++)
        dnnl_memory_destroy(w->arg[i].memory);
    dnnl_primitive_destroy(w->primitive);
    dnnl_primitive_desc_destroy(w->desc);
    return t;
}

static double best_time(struct bench *b)
{
    double best = shortest(b, NULL);
    for (int packed = 0; packed < 2; packed++) {
        struct way w = {0};
        dnnl_status_t made = matmul(b, &w, packed);
        double t = time_way(b, made, &w);
        best = OG_MIN(best, t);
    }
    if (b->p->over_rows) {
        struct way w = {0};
        dnnl_status_t made = inner_product(b, &w);
        double t = time_way(b, made, &w);
        best = OG_MIN(best, t);
    }
    return best;
}

static int take(float **out, size_t *bytes, uint64_t rows, uint64_t cols, struct og_err *err)
{
    /* Packed layouts pad both sides to at most 64. */
    *bytes = og__round_up(rows, 64) * og__round_up(cols, 64) * sizeof(float);
    *out = og__alloc(NULL, *bytes, "bench", err);
    if (!*out)
        return -ENOMEM;
    for (size_t i = 0; i < *bytes / sizeof(float); i++)
        (*out)[i] = (float)(i % 13) * 0.01f; /* zeros would be unmapped pages */
    return 0;
}

int og__bench_onednn(const struct og_bench_product *p, int threads, double *rate,
                     struct og_err *err)
{
    int rc = 0;
    struct bench b = {.p = p};
    uint64_t k = (uint64_t)p->k, n = (uint64_t)p->n;
    int before = omp_get_max_threads();
    OG_TRY(take(&b.a, &b.a_bytes, p->rows, k, err));
    OG_TRY(take(&b.b, &b.b_bytes, p->over_rows ? p->rows : k, n, err));
    OG_TRY(take(&b.c, &b.c_bytes, p->over_rows ? k : p->rows, n, err));
    omp_set_num_threads(threads);
    if (dnnl_engine_create(&b.engine, dnnl_cpu, 0) ||
        dnnl_stream_create(&b.stream, b.engine, dnnl_stream_default_flags))
        OG_TRY(og__fail(err, -ENOTSUP, NULL, "oneDNN: no CPU engine"));
    *rate = og__bench_flops(p) / best_time(&b);
out:
    omp_set_num_threads(before);
    dnnl_stream_destroy(b.stream);
    dnnl_engine_destroy(b.engine);
    og__release(NULL, b.a, b.a_bytes, "bench");
    og__release(NULL, b.b, b.b_bytes, "bench");
    og__release(NULL, b.c, b.c_bytes, "bench");
    return rc;
}
