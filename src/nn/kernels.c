#include "nn/kernels.h"

#include "base/random.h"

#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* ==== features as stored -> f32 ====
 *
 * Rows in a mapped file may be at any byte, hence types without alignment. */

typedef float loose_f32 __attribute__((aligned(1), may_alias));
typedef uint16_t loose_u16 __attribute__((aligned(1), may_alias));

INLINE float float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

INLINE float element(const void *row, size_t j, enum og_dtype dtype)
{
    switch (dtype) {
    case OG_F32:
        return ((const loose_f32 *)row)[j];
    case OG_F16:
        return og__float_of_half(((const loose_u16 *)row)[j]);
    case OG_BF16:
        return float_of_bits((uint32_t)((const loose_u16 *)row)[j] << 16);
    case OG_U8:
        return (float)((const uint8_t *)row)[j];
    case OG_I8:
        return (float)((const int8_t *)row)[j];
    case OG_E4M3:
        return og__float_of_e4m3(((const uint8_t *)row)[j]);
    default:
        return 0;
    }
}

/* A kernel per dtype, selected once per row. */
#define FOR_EACH_DTYPE(X)        X(f32, OG_F32) X(f16, OG_F16) X(bf16, OG_BF16) X(u8, OG_U8)
#define FOR_EACH_SCALED_DTYPE(X) X(i8, OG_I8) X(e4m3, OG_E4M3)

/* ==== aggregation ====
 *
 * Rows of half a KiB to several KiB are at random addresses, so latency dominates. They are
 * prefetched into L2, which keeps several times more requests in flight than L1. Measured on Zen 4,
 * 512-byte rows out of 1 GB, two threads: 11 GB/s by prefetching into L1, 22 into L2. Four rows are
 * added per pass, so that the sum is loaded and stored once for them. */

enum { FETCH_BYTES = 2048, PREFETCH_BYTES = 12 * 1024 };

/* Inline: gcc takes a function that only prefetches as one without effect, and drops its calls. */
INLINE void fetch_row(const struct og_rows *x, uint32_t i)
{
    const char *row = og__row(x, i);
    size_t bytes = OG_MIN(x->stride, (size_t)FETCH_BYTES);
    for (size_t at = 0; at < bytes; at += 64)
        __builtin_prefetch(row + at, 0, 2);
}

void og__fetch_row(const struct og_rows *x, uint32_t i)
{
    fetch_row(x, i);
}

uint32_t og__prefetch_distance(const struct og_rows *x)
{
    size_t n = PREFETCH_BYTES / OG_MAX(x->stride, (size_t)1);
    return (uint32_t)OG_MAX(OG_MIN(n, (size_t)32), (size_t)4);
}

struct bunch {
    const void *row[OG__BUNCH];
    float weight[OG__BUNCH];
    int n;
};

/* With `times` one per column, elements are multiplied by it first. */
INLINE float scaled(const void *row, size_t j, enum og_dtype dtype, const float *times)
{
    return times ? element(row, j, dtype) * times[j] : element(row, j, dtype);
}

INLINE void add_rows(float *restrict y, const struct bunch *b, const float *restrict times,
                     size_t n, enum og_dtype dtype)
{
    const void *r0 = b->row[0], *r1 = b->row[1], *r2 = b->row[2], *r3 = b->row[3];
    float w0 = b->weight[0], w1 = b->weight[1], w2 = b->weight[2], w3 = b->weight[3];
    if (b->n == 4)
        for (size_t j = 0; j < n; j++)
            y[j] = y[j] + w0 * scaled(r0, j, dtype, times) + w1 * scaled(r1, j, dtype, times) +
                   w2 * scaled(r2, j, dtype, times) + w3 * scaled(r3, j, dtype, times);
    else if (b->n == 3)
        for (size_t j = 0; j < n; j++)
            y[j] = y[j] + w0 * scaled(r0, j, dtype, times) + w1 * scaled(r1, j, dtype, times) +
                   w2 * scaled(r2, j, dtype, times);
    else if (b->n == 2)
        for (size_t j = 0; j < n; j++)
            y[j] = y[j] + w0 * scaled(r0, j, dtype, times) + w1 * scaled(r1, j, dtype, times);
    else if (b->n == 1)
        for (size_t j = 0; j < n; j++)
            y[j] = y[j] + w0 * scaled(r0, j, dtype, times);
}

#define ADD_ROWS(name, dtype)                                                        \
    OG_CLONES static void add_rows_##name(float *y, const struct bunch *b, size_t n) \
    {                                                                                \
        add_rows(y, b, NULL, n, dtype);                                              \
    }
FOR_EACH_DTYPE(ADD_ROWS)

#define ADD_SCALED_ROWS(name, dtype)                                                           \
    OG_CLONES static void add_rows_##name(float *y, const struct bunch *b, const float *scale, \
                                          size_t n)                                            \
    {                                                                                          \
        add_rows(y, b, scale, n, dtype);                                                       \
    }
FOR_EACH_SCALED_DTYPE(ADD_SCALED_ROWS)

void og__add_bunch(float *y, const float *const *row, const float *by, int n, size_t dim)
{
    struct bunch b = {.n = n};
    for (int i = 0; i < n; i++) {
        b.row[i] = row[i];
        b.weight[i] = by[i];
    }
    add_rows_f32(y, &b, dim);
}

/* Adds the entries of sparse rows, one row after another as add_rows does for each element. */
static void add_entries(float *y, const struct bunch *b, const struct og_rows *x)
{
    enum { PIECE = 64 };
    uint32_t column[PIECE];
    float value[PIECE];
    for (int r = 0; r < b->n; r++) {
        const struct og_entries e = og__row_entries(x, b->row[r]);
        for (uint32_t i = 0, some; i < e.n; i += some) {
            some = OG_MIN(e.n - i, (uint32_t)PIECE);
            og__entries_read(&e, i, i + some, column, value);
            for (uint32_t k = 0; k < some; k++)
                y[column[k]] += b->weight[r] * value[k];
        }
    }
}

static void flush(float *y, struct bunch *b, const struct og_rows *x)
{
    size_t n = (size_t)x->dim;
    if (x->sparse) {
        add_entries(y, b, x);
        b->n = 0;
        return;
    }
    switch (x->dtype) {
    case OG_F32:
        add_rows_f32(y, b, n);
        break;
    case OG_F16:
        add_rows_f16(y, b, n);
        break;
    case OG_BF16:
        add_rows_bf16(y, b, n);
        break;
    case OG_U8:
        add_rows_u8(y, b, n);
        break;
    case OG_I8:
        add_rows_i8(y, b, x->scale, n);
        break;
    case OG_E4M3:
        add_rows_e4m3(y, b, x->scale, n);
        break;
    default:
        break;
    }
    b->n = 0;
}

INLINE float right_of(const struct og_sparse *s, uint32_t u)
{
    return u < s->n_right ? s->right[u] : 1.0f;
}

INLINE float edge_weight(const struct og_sparse *s, uint32_t e)
{
    return s->weight ? s->weight[s->edge ? s->edge[e] : e] : 1.0f;
}

INLINE float loop_of(const struct og_sparse *s, uint32_t r)
{
    return s->loop ? s->loop[r] : 1.0f;
}

INLINE void push(float *y, struct bunch *b, const struct og_rows *x, uint32_t u, float weight)
{
    b->row[b->n] = og__row(x, u);
    b->weight[b->n] = weight;
    if (++b->n == OG__BUNCH)
        flush(y, b, x);
}

OG_CLONES static void scale_row(float *y, float a, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] *= a;
}

void og__aggregate_row(const struct og_sparse *s, const struct og_rows *x, uint32_t r, float *y)
{
    struct bunch b = {0};
    bool loop = r < s->n_loops;
    uint32_t last = s->indptr[s->n_rows], ahead = og__prefetch_distance(x);
    memset(y, 0, (size_t)x->dim * sizeof(*y));
    if (loop)
        push(y, &b, x, r, (s->eps ? 1 + *s->eps : 1) * loop_of(s, r) * right_of(s, r));
    for (uint32_t e = s->indptr[r]; e < s->indptr[r + 1]; e++) {
        uint32_t u = s->col[e];
        if (last - e > ahead)
            fetch_row(x, s->col[e + ahead]);
        if (x->index && last - e > 2 * ahead)
            __builtin_prefetch(&x->index[s->col[e + 2 * ahead]]);
        if (!loop || s->diagonal || u != r)
            push(y, &b, x, u, edge_weight(s, e) * right_of(s, u));
    }
    if (b.n)
        flush(y, &b, x);
    if (r < s->n_left && s->left[r] != 1.0f)
        scale_row(y, s->left[r], (size_t)x->dim);
}

/* Prefetches the first rows of a gather, then those ahead of row i. */
INLINE void fetch_ahead(const struct og_rows *x, uint32_t r0, uint32_t n, uint32_t i,
                        uint32_t ahead)
{
    for (uint32_t k = 0; x->index && i == 0 && k < ahead; k++)
        fetch_row(x, r0 + k);
    if (x->index && i + ahead < n)
        fetch_row(x, r0 + i + ahead);
}

void og__gather(float *y, const struct og_rows *x, uint32_t r0, uint32_t n, size_t first,
                size_t width)
{
    const uint32_t ahead = OG_MIN(og__prefetch_distance(x), n);
    for (uint32_t i = 0; i < n; i++) {
        fetch_ahead(x, r0, n, i, ahead);
        og__row_widen(y + i * width, x, og__row(x, r0 + i), first, width);
    }
}

static void round_row(uint16_t *y, const struct og_rows *x, const void *row, size_t first, size_t n,
                      float *wide)
{
    const char *from = (const char *)row + first * og__dtype_size(x->dtype);
    if (x->dtype == OG_BF16 && !x->sparse) {
        memcpy(y, from, n * sizeof(*y));
        return;
    }
    if (x->dtype != OG_F32 || x->sparse) {
        og__row_widen(wide, x, row, first, n);
        from = (const char *)wide;
    }
    og__narrow_to_bfloat(from, n, y);
}

void og__gather_bf16(uint16_t *y, const struct og_rows *x, uint32_t r0, uint32_t n, size_t first,
                     size_t width, float *row)
{
    const uint32_t ahead = OG_MIN(og__prefetch_distance(x), n);
    for (uint32_t i = 0; i < n; i++) {
        fetch_ahead(x, r0, n, i, ahead);
        round_row(y + i * width, x, og__row(x, r0 + i), first, width, row);
    }
}

/* ==== transposition ==== */

enum { SIDE = 8 };
typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));

/* Interleaves single numbers, pairs of them, and halves. */
#define LOW_ONES(a, b)   __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH_ONES(a, b)  __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW_PAIRS(a, b)  __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH_PAIRS(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define LOW_HALF(a, b)   __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define HIGH_HALF(a, b)  __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)

INLINE void turn_square(const float *x, size_t ld, float *out, size_t height, float *sum)
{
    eight r[SIDE], s[SIDE];
    for (size_t i = 0; i < SIDE; i++)
        r[i] = *(const eight *)(x + i * ld);
    if (sum) {
        eight all = *(const eight *)sum;
        for (size_t i = 0; i < SIDE; i++)
            all += r[i];
        *(eight *)sum = all;
    }
    for (size_t i = 0; i < SIDE; i += 2) {
        s[i] = LOW_ONES(r[i], r[i + 1]);
        s[i + 1] = HIGH_ONES(r[i], r[i + 1]);
    }
    for (size_t i = 0; i < SIDE; i += 4) {
        r[i] = LOW_PAIRS(s[i], s[i + 2]);
        r[i + 1] = HIGH_PAIRS(s[i], s[i + 2]);
        r[i + 2] = LOW_PAIRS(s[i + 1], s[i + 3]);
        r[i + 3] = HIGH_PAIRS(s[i + 1], s[i + 3]);
    }
    for (size_t i = 0; i < SIDE / 2; i++) {
        *(eight *)(out + i * height) = LOW_HALF(r[i], r[i + 4]);
        *(eight *)(out + (i + 4) * height) = HIGH_HALF(r[i], r[i + 4]);
    }
}

/* Two squares below each other make whole cache lines of the output. */
OG_CLONES void og__turn(const float *x, size_t ld, size_t n, size_t cols, size_t height, float *out,
                        float *sum)
{
    const size_t squares = cols - cols % SIDE;
    size_t r = 0;
    for (; r + 2 * SIDE <= n; r += 2 * SIDE)
        for (size_t j = 0; j < squares; j += SIDE)
            for (size_t i = r; i < r + 2 * SIDE; i += SIDE)
                turn_square(x + i * ld + j, ld, out + j * height + i, height, sum ? sum + j : NULL);
    for (size_t j = 0; j < cols; j++) {
        float *to = out + j * height;
        for (size_t i = j < squares ? r : 0; i < n; i++) {
            to[i] = x[i * ld + j];
            if (sum)
                sum[j] += to[i];
        }
        memset(to + n, 0, (height - n) * sizeof(*to));
    }
}

/* ==== epilogues ==== */

OG_CLONES void og__add(float *restrict y, const float *restrict x, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] += x[j];
}

OG_CLONES void og__add_scaled(float *restrict y, float a, const float *restrict x, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] += a * x[j];
}

OG_CLONES void og__add_product(float *restrict y, const float *restrict a, const float *restrict x,
                               size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] += a[j] * x[j];
}

OG_CLONES static void add_bias_relu(float *restrict y, const float *restrict bias, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        float z = y[j] + bias[j];
        y[j] = z <= 0 ? 0 : z; /* NaN stays NaN */
    }
}

OG_CLONES static void relu_only(float *y, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] = y[j] <= 0 ? 0 : y[j];
}

void og__bias_relu(float *restrict y, const float *restrict bias, bool relu, size_t n)
{
    if (bias && relu)
        add_bias_relu(y, bias, n);
    else if (bias)
        og__add(y, bias, n);
    else if (relu)
        relu_only(y, n);
}

OG_CLONES void og__gate(float *restrict y, const float *restrict g, float scale, size_t n)
{
    for (size_t j = 0; j < n; j++)
        y[j] = y[j] > 0 ? scale * g[j] : 0;
}

/* ==== dropout ==== */

enum { CALLS = 16 }; /* independent Philox calls, which the CPU overlaps */

struct words {
    uint32_t word[4 * CALLS];
};

/* og__philox with CALLS consecutive blocks from a multiple of CALLS, which share a key. */
OG_CLONES static void draw_all(const struct og_dropout *d, uint32_t row, uint32_t first,
                               struct words *out)
{
    const uint64_t key = d->step.seed + (first >> OG__BLOCK_BITS) * OG__KEY_STEP;
    const uint32_t place = og__philox_place(OG__STREAM_DROPOUT, d->layer);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0[CALLS], c1[CALLS], c2[CALLS], c3[CALLS];
    for (uint32_t i = 0; i < CALLS; i++) {
        c0[i] = row;
        c1[i] = d->step.batch;
        c2[i] = d->step.epoch;
        c3[i] = place | ((first + i) & OG__BLOCK_MASK);
    }
    for (int round = 0; round < philox4x32_rounds; round++) {
        for (int i = 0; i < CALLS; i++) {
            const uint64_t a = (uint64_t)PHILOX_M4x32_0 * c0[i],
                           b = (uint64_t)PHILOX_M4x32_1 * c2[i];
            c0[i] = (uint32_t)(b >> 32) ^ c1[i] ^ k0;
            c1[i] = (uint32_t)b;
            c2[i] = (uint32_t)(a >> 32) ^ c3[i] ^ k1;
            c3[i] = (uint32_t)a;
        }
        k0 += PHILOX_W32_0;
        k1 += PHILOX_W32_1;
    }
    for (int i = 0; i < CALLS; i++) {
        out->word[4 * i] = c0[i];
        out->word[4 * i + 1] = c1[i];
        out->word[4 * i + 2] = c2[i];
        out->word[4 * i + 3] = c3[i];
    }
}

static void draw(const struct og_dropout *d, uint32_t row, uint32_t first, size_t calls,
                 struct words *out)
{
    if (calls > CALLS / 4) {
        draw_all(d, row, first, out);
        return;
    }
    for (size_t i = 0; i < calls; i++)
        og__philox(d->step.seed, OG__STREAM_DROPOUT, d->step.epoch, d->step.batch, d->layer, row,
                   first + (uint32_t)i, out->word + 4 * i);
}

/* Bit j % 32 of word j / 32 is set if element j is kept. */
OG_CLONES static void keep_by_bit(float *y, const uint32_t *word, size_t n)
{
    for (size_t j = 0; j < n; j += 32) {
        uint32_t w = word[j / 32];
        float *restrict part = y + j;
        size_t end = OG_MIN(n - j, (size_t)32);
        for (size_t k = 0; k < end; k++)
            part[k] = w >> k & 1 ? 2.0f * part[k] : 0.0f;
    }
}

OG_CLONES static void keep_by_half(float *y, const uint32_t *word, uint32_t threshold, float scale,
                                   size_t n)
{
    uint16_t half[8 * CALLS];
    memcpy(half, word, sizeof(half));
    for (size_t j = 0; j < n; j++)
        y[j] = half[j] >= threshold ? scale * y[j] : 0.0f;
}

void og__dropout_row(const struct og_dropout *d, uint32_t row, float *y, size_t n)
{
    bool by_bit = d->p == 0.5;
    size_t per_call = by_bit ? 128 : 8;
    uint32_t threshold = (uint32_t)lrint(d->p * 65536);
    float scale = (float)(1 / (1 - d->p));
    for (size_t j = 0; j < n; j += CALLS * per_call) {
        struct words w;
        size_t part = OG_MIN(n - j, CALLS * per_call);
        size_t calls = (part + per_call - 1) / per_call;
        if (calls < CALLS)
            memset(&w, 0, sizeof(w));
        draw(d, row, (uint32_t)(j / per_call), calls, &w);
        if (by_bit)
            keep_by_bit(y + j, w.word, part);
        else
            keep_by_half(y + j, w.word, threshold, scale, part);
    }
}

void og__dropout_entries(const struct og_dropout *d, uint32_t row, const uint32_t *column,
                         float *value, uint32_t n)
{
    const bool by_bit = d->p == 0.5;
    const uint32_t per_call = by_bit ? 128 : 8;
    const uint32_t threshold = (uint32_t)lrint(d->p * 65536);
    const float scale = (float)(1 / (1 - d->p));
    struct words w;
    uint32_t drawn = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = column[i] % per_call;
        if (column[i] / per_call != drawn) {
            drawn = column[i] / per_call;
            draw(d, row, drawn, 1, &w);
        }
        const uint32_t half = w.word[j / 2 % 4] >> 16 * (j % 2) & 0xffff;
        const bool kept = by_bit ? w.word[j / 32] >> j % 32 & 1 : half >= threshold;
        value[i] = kept ? scale * value[i] : 0.0f;
    }
}

/* Long lists are split into pieces with row numbers of their own. */
void og__dropout_coefficients(const struct og_dropout *d, uint32_t first, uint32_t n, size_t heads,
                              float *p)
{
    enum { PIECE = 4096 };
    for (uint32_t i = 0; i < n; i += PIECE)
        og__dropout_row(d, first + i, p + i * heads, OG_MIN(n - i, (uint32_t)PIECE) * heads);
}

void og__dropout_attention(const struct og_attend *op, uint32_t v, float *p)
{
    const uint32_t *indptr = op->block->indptr;
    og__dropout_coefficients(op->dropout, indptr[v] + v, indptr[v + 1] - indptr[v] + !op->apart,
                             (size_t)op->heads, p);
}

/* ==== optimisers ==== */

struct factors {
    float rate, root, decay, shrink, scale, beta1, beta2, rest1, rest2, epsilon;
};

/* 1 - beta of doubles: the difference of floats would be wrong in the fifth digit. */
static struct factors factors_of(const struct og_update *op)
{
    return (struct factors){.rate = (float)op->rate,
                            .root = (float)op->root,
                            .decay = (float)op->weight_decay,
                            .shrink = (float)op->shrink,
                            .scale = (float)op->scale,
                            .beta1 = (float)op->beta1,
                            .beta2 = (float)op->beta2,
                            .rest1 = (float)(1 - op->beta1),
                            .rest2 = (float)(1 - op->beta2),
                            .epsilon = (float)op->epsilon};
}

/* PyTorch's Adam: weight decay is added to the gradient, eps to the corrected root. */
OG_CLONES static void adam_range(float *restrict value, float *restrict m, float *restrict v,
                                 const float *restrict grad, struct factors by, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float old = by.shrink * value[i];
        float g = by.scale * grad[i] + by.decay * old;
        m[i] = by.beta1 * m[i] + by.rest1 * g;
        v[i] = by.beta2 * v[i] + by.rest2 * g * g;
        value[i] = old - by.rate * m[i] / (sqrtf(v[i]) / by.root + by.epsilon);
    }
}

void og__adam(const struct og_update *op, size_t first, size_t n)
{
    adam_range(op->value + first, op->m + first, op->v + first, op->grad + first, factors_of(op),
               n);
}

OG_CLONES static void sgd_range(float *restrict value, const float *restrict grad,
                                struct factors by, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float old = by.shrink * value[i];
        value[i] = old - by.rate * (by.scale * grad[i] + by.decay * old);
    }
}

void og__sgd(const struct og_update *op, size_t first, size_t n)
{
    sgd_range(op->value + first, op->grad + first, factors_of(op), n);
}
