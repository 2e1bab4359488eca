#include "nn/product.h"

#include "nn/ops.h"

#include <oneapi/dnnl/dnnl.h>

#include <stdlib.h>
#include <string.h>

#define PART "activations"

/* libgomp's, used by oneDNN; <omp.h> is not on every compiler's path. */
int omp_get_max_threads(void);
void omp_set_num_threads(int n);

/* Operands of a primitive for one thread. */
struct seat {
    dnnl_memory_t a, b, c, bias, scratch;
    const void *last_b; /* oneDNN clears a packed operand's padding whenever it is set */
};

struct og_product {
    struct og_product_shape shape;
    struct og_products *owner;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    struct seat *seat;    /* [n_threads] */
    size_t scratch_bytes; /* that it needs */
};

struct pack {
    int k, n;
    int64_t row, column;
    bool bf16;
    dnnl_primitive_t reorder;
    dnnl_memory_t from, to;
};

struct og_products {
    struct og_budget *budget;
    int n_threads;
    dnnl_engine_t engine;
    dnnl_stream_t *stream; /* [n_threads] */
    struct og_product **product;
    size_t n_products;
    struct pack *pack;
    size_t n_packs;
    char **scratch; /* [n_threads], scratch_bytes each */
    size_t scratch_bytes;
};

static int failed(dnnl_status_t status, struct og_err *err)
{
    int code = status == dnnl_out_of_memory ? -ENOMEM : -ENOTSUP;
    return og__fail(err, code, NULL, "oneDNN: refused a matrix product (status %d)", (int)status);
}

#define DNNL_TRY(expr)                  \
    do {                                \
        dnnl_status_t status_ = (expr); \
        if (OG_UNLIKELY(status_)) {     \
            rc = failed(status_, err);  \
            goto out;                   \
        }                               \
    } while (0)

int og__products_enter(void)
{
    int before = omp_get_max_threads();
    omp_set_num_threads(1);
    return before;
}

void og__products_leave(int before)
{
    omp_set_num_threads(before);
}

static bool has_isa(unsigned wanted)
{
    return ((unsigned)dnnl_get_effective_cpu_isa() & wanted) == wanted;
}

bool og__products_take_bf16(void)
{
    return has_isa(dnnl_cpu_isa_avx512_core_bf16);
}

bool og__products_have_amx(void)
{
    return has_isa(dnnl_cpu_isa_avx512_core_amx);
}

/* ==== open and close ==== */

int og__products_open(struct og_products **out, int n_threads, struct og_budget *b,
                      struct og_err *err)
{
    int rc = -ENOMEM;
    size_t n = (size_t)n_threads;
    struct og_products *ps = calloc(1, sizeof(*ps));
    if (!ps)
        goto out;
    ps->budget = b;
    ps->n_threads = n_threads;
    ps->stream = calloc(n, sizeof(dnnl_stream_t)); /* NOLINT(bugprone-sizeof-expression) */
    ps->scratch = calloc(n, sizeof(*ps->scratch));
    if (!ps->stream || !ps->scratch)
        goto out;
    DNNL_TRY(dnnl_engine_create(&ps->engine, dnnl_cpu, 0));
    for (size_t t = 0; t < n; t++)
        DNNL_TRY(dnnl_stream_create(&ps->stream[t], ps->engine, dnnl_stream_default_flags));
    rc = 0;
out:
    if (rc < 0) {
        og__products_close(ps);
        ps = NULL;
        og__fail_errno(err, rc, NULL, "matrix products");
    }
    *out = ps;
    return rc;
}

static void free_product(struct og_product *p, int n_threads)
{
    for (int t = 0; p->seat && t < n_threads; t++) {
        dnnl_memory_destroy(p->seat[t].a);
        dnnl_memory_destroy(p->seat[t].b);
        dnnl_memory_destroy(p->seat[t].c);
        dnnl_memory_destroy(p->seat[t].bias);
        dnnl_memory_destroy(p->seat[t].scratch);
    }
    free(p->seat);
    dnnl_primitive_destroy(p->primitive);
    dnnl_primitive_desc_destroy(p->desc);
    free(p);
}

static void free_pack(struct pack *p)
{
    dnnl_memory_destroy(p->from);
    dnnl_memory_destroy(p->to);
    dnnl_primitive_destroy(p->reorder);
}

static void release_scratch(struct og_products *ps)
{
    for (int t = 0; t < ps->n_threads; t++) {
        og__release(ps->budget, ps->scratch[t], ps->scratch_bytes, PART);
        ps->scratch[t] = NULL;
    }
    ps->scratch_bytes = 0;
}

void og__products_close(struct og_products *ps)
{
    if (!ps)
        return;
    for (size_t i = 0; i < ps->n_products; i++)
        free_product(ps->product[i], ps->n_threads);
    for (size_t i = 0; i < ps->n_packs; i++)
        free_pack(&ps->pack[i]);
    for (int t = 0; ps->stream && t < ps->n_threads; t++)
        dnnl_stream_destroy(ps->stream[t]);
    if (ps->scratch)
        release_scratch(ps);
    dnnl_engine_destroy(ps->engine);
    free(ps->stream);
    free(ps->scratch);
    free((void *)ps->product);
    free(ps->pack);
    free(ps);
}

/* ==== making a product ==== */

static dnnl_status_t describe(dnnl_memory_desc_t *md, dnnl_data_type_t type, int64_t rows,
                              int64_t cols, int64_t row, int64_t column)
{
    dnnl_dims_t dims = {rows, cols}, strides = {row, column};
    return dnnl_memory_desc_init_by_strides(md, 2, dims, type, strides);
}

/* Operators fused into the product while its tile is in registers. */
static int make_attributes(const struct og_product_shape *s, dnnl_primitive_attr_t *out,
                           struct og_err *err)
{
    int rc = 0;
    dnnl_post_ops_t after = NULL;
    DNNL_TRY(dnnl_primitive_attr_create(out));
    DNNL_TRY(dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user));
    DNNL_TRY(dnnl_post_ops_create(&after));
    if (s->accumulate)
        DNNL_TRY(dnnl_post_ops_append_sum(after, 1.0f));
    DNNL_TRY(dnnl_primitive_attr_set_post_ops(*out, after));
out:
    dnnl_post_ops_destroy(after);
    return rc;
}

/* `weights` NULL: oneDNN selects the layout of b. */
static int make_desc(struct og_products *ps, const struct og_product_shape *s,
                     const dnnl_memory_desc_t *weights, dnnl_primitive_desc_t *out,
                     struct og_err *err)
{
    int rc = 0;
    dnnl_memory_desc_t a, b, c, bias;
    dnnl_matmul_desc_t op;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_dims_t dims = {s->k, s->n};
    const dnnl_data_type_t type = s->bf16 ? dnnl_bf16 : dnnl_f32;
    if (s->a_transposed)
        DNNL_TRY(describe(&a, type, s->m, s->k, 1, s->lda));
    else
        DNNL_TRY(describe(&a, type, s->m, s->k, s->lda, 1));
    if (weights)
        b = *weights;
    else if (s->ldb)
        DNNL_TRY(describe(&b, type, s->k, s->n, s->ldb, 1));
    else
        DNNL_TRY(dnnl_memory_desc_init_by_tag(&b, 2, dims, type, dnnl_format_tag_any));
    DNNL_TRY(describe(&c, dnnl_f32, s->m, s->n, s->ldc, 1));
    DNNL_TRY(describe(&bias, dnnl_f32, 1, s->n, s->n, 1));
    DNNL_TRY(dnnl_matmul_desc_init(&op, &a, &b, s->bias ? &bias : NULL, &c));
    OG_TRY(make_attributes(s, &attr, err));
    DNNL_TRY(dnnl_primitive_desc_create(out, &op, attr, ps->engine, NULL));
out:
    dnnl_primitive_attr_destroy(attr);
    return rc;
}

/* The layout of b[k, n] for all its products: that of the plainest one. */
static int packed_layout(struct og_products *ps, int k, int n, bool bf16, dnnl_memory_desc_t *out,
                         struct og_err *err)
{
    dnnl_primitive_desc_t plain = NULL;
    struct og_product_shape s = {
        .m = OG__BLOCK_ROWS, .n = n, .k = k, .lda = k, .ldc = n, .bf16 = bf16};
    int rc;
    OG_TRY(make_desc(ps, &s, NULL, &plain, err));
    *out = *dnnl_primitive_desc_query_md(plain, dnnl_query_weights_md, 0);
out:
    dnnl_primitive_desc_destroy(plain);
    return rc;
}

/* Enlarges all threads' scratch to the largest product's. If memory is short there is none. */
static int grow_scratch(struct og_products *ps, size_t bytes, struct og_err *err)
{
    bytes = OG_MAX(bytes, (size_t)OG__PRODUCT_SCRATCH);
    if (bytes <= ps->scratch_bytes)
        return 0;
    release_scratch(ps);
    ps->scratch_bytes = bytes;
    for (int t = 0; t < ps->n_threads; t++) {
        ps->scratch[t] = og__alloc(ps->budget, bytes, PART, err);
        if (!ps->scratch[t]) {
            release_scratch(ps);
            return -ENOMEM;
        }
    }
    return 0;
}

static int make_seats(struct og_product *p, struct og_err *err)
{
    int rc = 0;
    struct og_products *ps = p->owner;
    const dnnl_memory_desc_t *a = dnnl_primitive_desc_query_md(p->desc, dnnl_query_src_md, 0);
    const dnnl_memory_desc_t *b = dnnl_primitive_desc_query_md(p->desc, dnnl_query_weights_md, 0);
    const dnnl_memory_desc_t *c = dnnl_primitive_desc_query_md(p->desc, dnnl_query_dst_md, 0);
    const dnnl_memory_desc_t *scratch =
        dnnl_primitive_desc_query_md(p->desc, dnnl_query_scratchpad_md, 0);
    dnnl_memory_desc_t bias;
    p->scratch_bytes = dnnl_memory_desc_get_size(scratch);
    OG_TRY(grow_scratch(ps, p->scratch_bytes, err));
    DNNL_TRY(describe(&bias, dnnl_f32, 1, p->shape.n, p->shape.n, 1));
    for (int t = 0; t < ps->n_threads; t++) {
        struct seat *seat = &p->seat[t];
        DNNL_TRY(dnnl_memory_create(&seat->a, a, ps->engine, DNNL_MEMORY_NONE));
        DNNL_TRY(dnnl_memory_create(&seat->b, b, ps->engine, DNNL_MEMORY_NONE));
        DNNL_TRY(dnnl_memory_create(&seat->c, c, ps->engine, DNNL_MEMORY_NONE));
        DNNL_TRY(dnnl_memory_create(&seat->bias, &bias, ps->engine, DNNL_MEMORY_NONE));
        DNNL_TRY(dnnl_memory_create(&seat->scratch, scratch, ps->engine, DNNL_MEMORY_NONE));
    }
out:
    return rc;
}

static int make_product(struct og_products *ps, const struct og_product_shape *shape,
                        struct og_product **out, struct og_err *err)
{
    int rc = 0;
    int before = og__products_enter();
    struct og_product *p = calloc(1, sizeof(*p));
    struct seat *seats = calloc((size_t)ps->n_threads, sizeof(*seats));
    dnnl_memory_desc_t layout;
    if (!p || !seats) {
        free(seats);
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "matrix products"));
    }
    *p = (struct og_product){.shape = *shape, .owner = ps, .seat = seats};
    if (shape->ldb == 0)
        OG_TRY(packed_layout(ps, shape->k, shape->n, shape->bf16, &layout, err));
    OG_TRY(make_desc(ps, shape, shape->ldb ? NULL : &layout, &p->desc, err));
    DNNL_TRY(dnnl_primitive_create(&p->primitive, p->desc));
    OG_TRY(make_seats(p, err));
    *out = p;
    p = NULL;
out:
    og__products_leave(before);
    if (p)
        free_product(p, ps->n_threads);
    return rc;
}

static bool same_shape(const struct og_product_shape *x, const struct og_product_shape *y)
{
    return x->m == y->m && x->n == y->n && x->k == y->k && x->lda == y->lda && x->ldb == y->ldb &&
           x->ldc == y->ldc && x->a_transposed == y->a_transposed &&
           x->accumulate == y->accumulate && x->bias == y->bias && x->bf16 == y->bf16;
}

int og__product_get(struct og_products *ps, const struct og_product_shape *shape,
                    struct og_product **out, struct og_err *err)
{
    for (size_t i = 0; i < ps->n_products; i++) {
        *out = ps->product[i];
        if (same_shape(&ps->product[i]->shape, shape))
            return grow_scratch(ps, (*out)->scratch_bytes, err);
    }
    struct og_product **longer =
        realloc((void *)ps->product, (ps->n_products + 1) * sizeof(struct og_product *));
    if (!longer)
        return og__fail_errno(err, -ENOMEM, NULL, "matrix products");
    ps->product = longer;
    OG_DO(make_product(ps, shape, out, err));
    ps->product[ps->n_products++] = *out;
    return 0;
}

/* oneDNN's blocked kernels read rows; its others sum in an order that depends on the layout. */
bool og__product_copies(const struct og_product *p)
{
    const char *name = "";
    dnnl_primitive_desc_query(p->desc, dnnl_query_impl_info_str, 0, (void *)&name);
    return strncmp(name, "brg", 3) == 0;
}

/* ==== running ==== */

void og__product_run(struct og_product *p, int thread, const void *a, const void *b, float *c,
                     const float *bias)
{
    struct seat *seat = &p->seat[thread];
    omp_set_num_threads(1); /* of this pool thread; leave restores the caller's */
    dnnl_memory_set_data_handle(seat->a, (void *)a);
    if (b != seat->last_b)
        dnnl_memory_set_data_handle(seat->b, (void *)b);
    seat->last_b = b;
    dnnl_memory_set_data_handle(seat->c, c);
    dnnl_memory_set_data_handle(seat->scratch, p->owner->scratch[thread]);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, seat->a},
                              {DNNL_ARG_WEIGHTS, seat->b},
                              {DNNL_ARG_DST, seat->c},
                              {DNNL_ARG_SCRATCHPAD, seat->scratch},
                              {DNNL_ARG_BIAS, seat->bias}};
    int n_args = 4;
    if (p->shape.bias) {
        dnnl_memory_set_data_handle(seat->bias, (void *)bias);
        n_args = 5;
    }
    /* Shapes were checked when the primitive was created; an error here is a bug. */
    dnnl_status_t status =
        dnnl_primitive_execute(p->primitive, p->owner->stream[thread], n_args, args);
    if (OG_UNLIKELY(status))
        memset(c, 0xff, (size_t)p->shape.n * sizeof(*c)); /* NaN: visible in the loss */
}

/* ==== packing ==== */

/* oneDNN's blocked layouts pad n to 16, 32, 48 or 64. They pad k not beyond 16, or 32 of bfloat16.
 */
size_t og__product_packed_bytes(int k, int n)
{
    return (size_t)og__round_up((uint64_t)k, 16) * og__round_up((uint64_t)n, 64) * sizeof(float);
}

static int make_pack(struct og_products *ps, struct pack *p, struct og_err *err)
{
    int rc = 0;
    dnnl_memory_desc_t plain, packed;
    dnnl_primitive_desc_t desc = NULL;
    OG_TRY(packed_layout(ps, p->k, p->n, p->bf16, &packed, err));
    if (dnnl_memory_desc_get_size(&packed) > og__product_packed_bytes(p->k, p->n))
        OG_TRY(og__fail(err, -ENOTSUP, NULL,
                        "oneDNN: layout of a %d x %d operand is larger than "
                        "expected",
                        p->k, p->n));
    DNNL_TRY(describe(&plain, dnnl_f32, p->k, p->n, p->row, p->column));
    DNNL_TRY(
        dnnl_reorder_primitive_desc_create(&desc, &plain, ps->engine, &packed, ps->engine, NULL));
    DNNL_TRY(dnnl_primitive_create(&p->reorder, desc));
    DNNL_TRY(dnnl_memory_create(&p->from, &plain, ps->engine, DNNL_MEMORY_NONE));
    DNNL_TRY(dnnl_memory_create(&p->to, &packed, ps->engine, DNNL_MEMORY_NONE));
out:
    dnnl_primitive_desc_destroy(desc);
    if (rc < 0)
        free_pack(p);
    return rc;
}

static int find_pack(struct og_products *ps, const struct pack *want, struct pack **out,
                     struct og_err *err)
{
    for (size_t i = 0; i < ps->n_packs; i++) {
        *out = &ps->pack[i];
        if ((*out)->k == want->k && (*out)->n == want->n && (*out)->row == want->row &&
            (*out)->column == want->column && (*out)->bf16 == want->bf16)
            return 0;
    }
    struct pack *longer = realloc(ps->pack, (ps->n_packs + 1) * sizeof(*longer));
    if (!longer)
        return og__fail_errno(err, -ENOMEM, NULL, "matrix products");
    ps->pack = longer;
    *out = &longer[ps->n_packs];
    **out = *want;
    OG_DO(make_pack(ps, *out, err));
    ps->n_packs++;
    return 0;
}

int og__product_pack(struct og_products *ps, const float *b, int k, int n, int64_t row,
                     int64_t column, bool bf16, void *packed, struct og_err *err)
{
    int rc = 0;
    int before = og__products_enter();
    struct pack *p = NULL;
    struct pack want = {.k = k, .n = n, .row = row, .column = column, .bf16 = bf16};
    OG_TRY(find_pack(ps, &want, &p, err));
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, p->from}, {DNNL_ARG_TO, p->to}};
    DNNL_TRY(dnnl_memory_set_data_handle(p->from, (void *)b));
    DNNL_TRY(dnnl_memory_set_data_handle(p->to, packed));
    DNNL_TRY(dnnl_primitive_execute(p->reorder, ps->stream[0], 2, args));
out:
    og__products_leave(before);
    return rc;
}
