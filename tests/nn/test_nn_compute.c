/* Products of rounded operands (--compute), against plain loops in double over operands that are
 * rounded here.
 *
 * The product of two bfloat16 is exact in f32. So K additions make an error of at most K u sum |a
 * b| to first order, where u = 2^-23 allows for units that do not round to nearest. */
#include "nn/nn_ops.h"

#include "dataset/convert.h"

#include <errno.h>
#include <math.h>

/* The nearest number with so many bits fewer in its mantissa, the even one of two: by distances. */
static float rounded(float x, int compute)
{
    const uint32_t below = compute == OG_COMPUTE_BF16 ? 0xffff : 0x1fff;
    uint32_t bits, up;
    float low, high;
    memcpy(&bits, &x, sizeof(bits));
    bits &= ~below;
    up = bits + below + 1;
    memcpy(&low, &bits, sizeof(low));
    memcpy(&high, &up, sizeof(high));
    const double to_low = fabs((double)x - (double)low), to_high = fabs((double)high - (double)x);
    if (to_low < to_high || to_high < to_low)
        return to_low < to_high ? low : high;
    return bits & (below + 1) ? high : low;
}

/* A sum of rounded products, one of exact ones, and what the first may be off by. */
struct sum {
    double value, exact, magnitude;
    size_t n;
};

static void add_term(struct sum *s, float a, float b, int compute)
{
    const double product = (double)rounded(a, compute) * (double)rounded(b, compute);
    s->value += product;
    s->exact += (double)a * (double)b;
    s->magnitude += fabs(product);
    s->n++;
}

static void add_exact(struct sum *s, float x)
{
    s->value += (double)x;
    s->exact += (double)x;
    s->magnitude += fabs((double)x);
    s->n++;
}

/* Returns whether a sum of exact products would fail. */
static bool check_sum(const char *what, size_t at, float got, const struct sum *s)
{
    const double bound = (double)(s->n + 1) * 0x1p-23 * s->magnitude + 1e-30;
    if (!(fabs((double)got - s->value) <= bound))
        fail_msg("%s[%zu]: %.9g, not %.9g within %.3g", what, at, (double)got, s->value, bound);
    return fabs(s->exact - s->value) > 2 * bound;
}

/* ==== rows as they are stored ==== */

struct stored {
    struct og_rows rows;
    char *data;
    float *wide, *scale;
    uint32_t *index;
};

static struct stored store(uint32_t n, int dim, enum og_dtype dtype, bool indexed)
{
    const size_t bytes = (size_t)dim * og__dtype_size(dtype), width = (size_t)dim;
    struct stored s = {.data = aligned_alloc(64, og__round_up(n * bytes + 64, 64)),
                       .wide = random_floats(n * width),
                       .index = malloc(n * sizeof(uint32_t)),
                       .scale = malloc(width * sizeof(float))};
    for (size_t j = 0; j < width; j++)
        s.scale[j] = (float)(1 + j % 3) / 127;
    for (uint32_t r = 0; r < n; r++) {
        float *row = s.wide + r * width;
        for (size_t j = 0; dtype == OG_U8 && j < width; j++)
            row[j] = floorf(128 + 127 * row[j]);
        assert_int_equal(og__store_row(dtype, s.data + r * bytes, row, s.scale, width), -1);
        s.index[r] = n - 1 - r;
    }
    for (uint32_t r = 0; r < n; r++)
        og__widen(s.wide + r * width, s.data + (indexed ? s.index[r] : r) * bytes, dtype, s.scale,
                  0, width);
    s.rows = (struct og_rows){.base = s.data,
                              .stride = bytes,
                              .n = n,
                              .dim = dim,
                              .dtype = dtype,
                              .scale = s.scale,
                              .index = indexed ? s.index : NULL};
    return s;
}

static void free_stored(struct stored *s)
{
    free(s->data);
    free(s->wide);
    free(s->index);
    free(s->scale);
}

static bool takes(int compute)
{
    return og__ops_cpu.check_compute(compute, NULL) == 0;
}

static void open_for(struct bench *b, int threads, int compute)
{
    bench_open(b, threads, 700);
    og__ops_cpu.set_compute(b->be, compute);
}

/* ==== affine ==== */

struct affine_case {
    uint32_t n_dst, n_src;
    int n_in, n_out;
    enum og_dtype dtype;
    bool indexed, through, bias;
    enum og__direction direction;
};

static const struct affine_case affine_cases[] = {
    {64, 64, 256, 256, OG_F32, false, false, false, OG__FORWARD},
    {200, 300, 33, 50, OG_F32, false, true, true, OG__FORWARD},
    {190, 200, 128, 47, OG_F16, true, true, true, OG__FORWARD},
    {130, 130, 101, 64, OG_BF16, true, false, true, OG__FORWARD},
    {128, 128, 70, 31, OG_BF16, false, false, false, OG__FORWARD},
    {100, 160, 24, 7, OG_U8, true, true, false, OG__FORWARD},
    {100, 160, 24, 7, OG_I8, true, true, false, OG__FORWARD},
    {90, 133, 24, 0, OG_E4M3, true, false, false, OG__FORWARD},
    {1, 1, 1, 1, OG_F32, false, false, true, OG__FORWARD},
    {150, 150, 47, 256, OG_F32, false, false, false, OG__BACKWARD},
    {65, 65, 300, 19, OG_F32, true, false, false, OG__BACKWARD},
};

struct affine_made {
    struct stored x;
    struct og_block block;
    struct og_sparse s;
    float *scale, *bias, *y, *keep;
    struct og_weight w;
};

static void pack_for(struct bench *b, struct og_weight *w)
{
    for (int d = 0; d < 2; d++)
        w->packed[d] =
            aligned_alloc(64, og__round_up(og__ops_cpu.packed_bytes(w->n_out, w->n_in) + 1, 64));
    assert_int_equal(og__ops_cpu.pack(b->be, &w, 1, NULL), 0);
}

/* The same inputs each time. */
static struct affine_made run_affine(const struct affine_case *c, int threads, int compute)
{
    struct bench b;
    const bool back = c->direction == OG__BACKWARD;
    start();
    struct affine_made m = {.x = store(c->n_src, c->n_in, c->dtype, c->indexed),
                            .block = random_block(c->n_dst, c->n_src, 9),
                            .scale = random_floats(c->n_src),
                            .bias = random_floats((size_t)c->n_out),
                            .y = random_floats((size_t)c->n_dst * (size_t)c->n_out),
                            .keep = random_floats((size_t)c->n_dst * (size_t)c->n_in)};
    m.w = (struct og_weight){random_floats((size_t)c->n_in * (size_t)c->n_out),
                             back ? c->n_in : c->n_out,
                             back ? c->n_out : c->n_in,
                             {0},
                             false};
    open_for(&b, threads, compute);
    pack_for(&b, &m.w);
    scale_block(&m.block, OG__MEAN, m.scale);
    m.s = og__aggregation(&m.block, OG__MEAN, m.scale);
    struct og_affine op = {.rows = c->n_dst,
                           .cols = c->n_out,
                           .y = m.y,
                           .n_inputs = 1,
                           .bias = c->bias ? m.bias : NULL};
    op.input[0] = (struct og_input){.x = m.x.rows,
                                    .through = c->through ? &m.s : NULL,
                                    .keep = c->through ? m.keep : NULL,
                                    .n = c->n_dst,
                                    .weight = &m.w,
                                    .direction = c->direction};
    assert_int_equal(og__ops_cpu.affine(b.be, &op, NULL), 0);
    bench_close(&b);
    return m;
}

static void free_affine(struct affine_made *m)
{
    free_stored(&m->x);
    free_block(&m->block);
    free(m->scale);
    free(m->bias);
    free(m->y);
    free(m->keep);
    free((void *)m->w.value);
    free(m->w.packed[0]);
    free(m->w.packed[1]);
}

static size_t check_affine(const struct affine_case *c, const struct affine_made *m, int compute)
{
    const float *in = c->through ? m->keep : m->x.wide;
    size_t apart = 0;
    for (uint32_t r = 0; r < c->n_dst; r++) {
        for (int j = 0; j < c->n_out; j++) {
            struct sum s = {0};
            for (int k = 0; k < c->n_in; k++) {
                const bool back = c->direction == OG__BACKWARD;
                const size_t at = back ? (size_t)k * (size_t)c->n_out + (size_t)j
                                       : (size_t)j * (size_t)c->n_in + (size_t)k;
                add_term(&s, in[r * (size_t)c->n_in + (size_t)k], m->w.value[at], compute);
            }
            if (c->bias)
                add_exact(&s, m->bias[j]);
            const size_t at = r * (size_t)c->n_out + (size_t)j;
            apart += check_sum("y", at, m->y[at], &s);
        }
    }
    return apart;
}

static void affine_rounds(int compute)
{
    size_t apart = 0;
    for (size_t i = 0; i < OG_COUNT(affine_cases); i++) {
        const struct affine_case *c = &affine_cases[i];
        struct affine_made one = run_affine(c, 1, compute), three = run_affine(c, 3, compute);
        struct affine_made full = run_affine(c, 2, OG_COMPUTE_F32);
        const size_t n = (size_t)c->n_dst * (size_t)c->n_out;
        assert_memory_equal(one.y, three.y, n * sizeof(float));
        if (c->through) /* aggregated rows are not rounded */
            assert_memory_equal(one.keep, full.keep,
                                (size_t)c->n_dst * (size_t)c->n_in * sizeof(float));
        apart += check_affine(c, &one, compute);
        free_affine(&one);
        free_affine(&three);
        free_affine(&full);
    }
    assert_true(apart > 0);
}

/* ==== weight gradients ==== */

struct gradient_case {
    uint32_t rows;
    int n_out, n_in, gap;
    enum og_dtype dtype;
    bool indexed;
};

static const struct gradient_case gradient_cases[] = {
    {1, 1, 1, 0, OG_F32, false},      {50, 7, 20, 0, OG_F16, true},
    {1500, 16, 24, 0, OG_F32, false}, {1111, 33, 300, 0, OG_BF16, false},
    {1000, 12, 40, 36, OG_U8, true},  {1000, 12, 40, 36, OG_I8, true},
    {300, 12, 40, 0, OG_E4M3, true},  {700, 256, 128, 0, OG_F32, false},
    {200, 5, 700, 0, OG_BF16, true},
};

struct gradient_made {
    struct stored x;
    float *dy, *grad, *bias;
};

static struct gradient_made run_gradient(const struct gradient_case *c, int threads, int compute)
{
    struct bench b;
    start();
    const size_t ld = (size_t)(c->n_out + c->gap);
    struct gradient_made m = {.x = store(c->rows, c->n_in, c->dtype, c->indexed),
                              .dy = random_floats(c->rows * ld),
                              .grad = random_floats((size_t)c->n_out * (size_t)c->n_in),
                              .bias = random_floats((size_t)c->n_out)};
    open_for(&b, threads, compute);
    const struct og_weight_grad op = {.rows = c->rows,
                                      .n_out = c->n_out,
                                      .dy = m.dy,
                                      .ld = c->gap ? (int)ld : 0,
                                      .n_inputs = 1,
                                      .input = {m.x.rows},
                                      .grad = {m.grad},
                                      .bias_grad = m.bias};
    assert_int_equal(og__ops_cpu.weight_grad(b.be, &op, NULL), 0);
    bench_close(&b);
    return m;
}

static void free_gradient(struct gradient_made *m)
{
    free_stored(&m->x);
    free(m->dy);
    free(m->grad);
    free(m->bias);
}

static size_t check_gradient(const struct gradient_case *c, const struct gradient_made *m,
                             int compute)
{
    const size_t ld = (size_t)(c->n_out + c->gap), n_in = (size_t)c->n_in;
    size_t apart = 0;
    for (size_t i = 0; i < (size_t)c->n_out; i++) {
        for (size_t j = 0; j < n_in; j++) {
            struct sum s = {0};
            for (uint32_t r = 0; r < c->rows; r++)
                add_term(&s, m->dy[r * ld + i], m->x.wide[r * n_in + j], compute);
            apart += check_sum("grad", i * n_in + j, m->grad[i * n_in + j], &s);
        }
    }
    return apart;
}

static void gradients_round(int compute)
{
    size_t apart = 0;
    for (size_t i = 0; i < OG_COUNT(gradient_cases); i++) {
        const struct gradient_case *c = &gradient_cases[i];
        struct gradient_made one = run_gradient(c, 1, compute), three = run_gradient(c, 3, compute);
        struct gradient_made full = run_gradient(c, 2, OG_COMPUTE_F32);
        const size_t n = (size_t)c->n_out * (size_t)c->n_in;
        assert_memory_equal(one.grad, three.grad, n * sizeof(float));
        assert_memory_equal(one.bias, full.bias,
                            (size_t)c->n_out * sizeof(float)); /* is no product */
        apart += check_gradient(c, &one, compute);
        free_gradient(&one);
        free_gradient(&three);
        free_gradient(&full);
    }
    assert_true(apart > 0);
}

/* ==== tests ==== */

static void bf16_rounds_operands(void **state)
{
    (void)state;
    if (!takes(OG_COMPUTE_BF16))
        skip();
    affine_rounds(OG_COMPUTE_BF16);
    gradients_round(OG_COMPUTE_BF16);
}

static void tf32_rounds_operands(void **state)
{
    (void)state;
    if (!takes(OG_COMPUTE_TF32))
        skip();
    affine_rounds(OG_COMPUTE_TF32);
    gradients_round(OG_COMPUTE_TF32);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct og_err err = {0};
    assert_int_equal(og__ops_cpu.check_compute(OG_COMPUTE_F32, &err), 0);
    if (takes(OG_COMPUTE_TF32)) /* a device */
        skip();
    assert_int_equal(og__ops_cpu.check_compute(OG_COMPUTE_TF32, &err), -ENOTSUP);
    assert_non_null(strstr(err.message, "--compute tf32"));
    assert_string_equal(err.hint, "use --compute f32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bf16_rounds_operands),
        cmocka_unit_test(tf32_rounds_operands),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
