/* The operators on the CPU: blocks of 64 rows are tasks of the pool. Operands of products are tiles
 * (tiles.c). */
#include "nn/ops_cpu.h"
#include "nn/kernels.h"
#include "nn/product.h"

#include <string.h>

enum {
    NARROW = 64, /* weight gradients with so few outputs use tall blocks, because a call has a fixed
                    cost */
    TALL_ROWS = 2 * OG__BLOCK_ROWS,
    UPDATE_CHUNK = 16 * 1024 /* parameters per task */
};
#define PARTIAL_BYTES (4 * OG_MIB) /* of all partial sums of a weight gradient */

/* ==== pack ==== */

static int cpu_pack(struct og_nn_backend *be, struct og_weight **w, size_t n, struct og_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct og_weight *p = w[i];
        if (p->by_column)
            og__pack_by_column(be, p);
        else if (p->packed[OG__FORWARD])
            OG_DO(og__product_pack(be->products, p->value, p->n_in, p->n_out, 1, p->n_in, be->bf16,
                                   p->packed[OG__FORWARD], err));
        if (p->packed[OG__BACKWARD])
            OG_DO(og__product_pack(be->products, p->value, p->n_out, p->n_in, p->n_in, 1, be->bf16,
                                   p->packed[OG__BACKWARD], err));
    }
    return 0;
}

/* ==== affine ==== */

struct affine_run {
    const struct og_nn_backend *be;
    const struct og_affine *op;
    struct og_product *product[OG__MOST_INPUTS];
    bool fused; /* bias and ReLU are part of the last product */
};

static bool by_column(const struct og_input *in)
{
    return in->weight && in->weight->by_column && in->direction == OG__FORWARD;
}

/* Adds products to tile y; false if no input has rows in this block. */
static bool multiply_inputs(const struct affine_run *run, uint32_t r0, float *y,
                            const struct og__scratch *s, int thread)
{
    const struct og_affine *op = run->op;
    bool any = false;
    for (int k = 0; k < op->n_inputs; k++) {
        const struct og_input *in = &op->input[k];
        if (r0 >= in->n || !in->weight)
            continue;
        uint32_t n = OG_MIN(in->n - r0, (uint32_t)OG__BLOCK_ROWS);
        if (by_column(in)) {
            if (k == 0)
                memset(y, 0, OG__BLOCK_ROWS * (size_t)op->cols * sizeof(*y));
            og__multiply_by_column(in, r0, n, s, y, (size_t)op->cols);
            any = true;
            continue;
        }
        const void *tile = og__input_tile(run->be, in, r0, n, s);
        og__product_run(run->product[k], thread, tile, in->weight->packed[in->direction], y,
                        op->bias);
        any = true;
    }
    return any;
}

/* The input without weight, or NULL. */
static const struct og_input *identity_of(const struct og_affine *op)
{
    const struct og_input *last = op->n_inputs ? &op->input[op->n_inputs - 1] : NULL;
    return last && !last->weight ? last : NULL;
}

static void add_identity(const struct og_input *in, uint32_t r, float *y, float *row)
{
    if (r >= in->n)
        return;
    og__row_widen(row, &in->x, og__row(&in->x, r), 0, (size_t)in->x.dim);
    og__add(y, row, (size_t)in->x.dim);
}

static void add_aggregate(const struct og_affine *op, uint32_t r, float *y, bool empty, float *row)
{
    size_t cols = (size_t)op->cols;
    if (empty) {
        og__aggregate_row(op->plus_through, &op->plus, r, y);
        return;
    }
    og__aggregate_row(op->plus_through, &op->plus, r, row);
    og__add(y, row, cols);
}

static void affine_block(void *arg, size_t block, int thread)
{
    const struct affine_run *run = arg;
    const struct og_affine *op = run->op;
    struct og__scratch s = og__scratch_of(run->be, thread);
    uint32_t r0 = (uint32_t)block * OG__BLOCK_ROWS;
    uint32_t n = og__rows_in_block(op->rows, block);
    size_t cols = (size_t)op->cols;
    size_t ld = op->ld ? (size_t)op->ld : cols;
    float *y = op->y + r0 * ld;
    bool in_place = n == OG__BLOCK_ROWS && !op->gated && !op->add && ld == cols;
    float *tile = in_place ? y : s.out;
    bool empty = !multiply_inputs(run, r0, tile, &s, thread);
    const struct og_input *identity = identity_of(op);
    if (empty && !op->plus_through)
        memset(tile, 0, n * cols * sizeof(float));
    for (uint32_t i = 0; i < n; i++) {
        float *row = tile + i * cols;
        if (op->plus_through)
            add_aggregate(op, r0 + i, row, empty, s.row);
        if (identity)
            add_identity(identity, r0 + i, row, s.row);
        og__bias_relu(row, run->fused ? NULL : op->bias, op->relu, cols);
        if (op->dropout)
            og__dropout_row(op->dropout, r0 + i, row, cols);
        if (op->gated)
            og__gate(y + i * ld, row, op->gate_scale, cols);
        else if (op->add)
            og__add(y + i * ld, row, cols);
        else if (!in_place)
            memcpy(y + i * ld, row, cols * sizeof(float));
    }
}

static int affine_product(struct affine_run *run, int k, struct og_err *err)
{
    const struct og_affine *op = run->op;
    bool last = k == op->n_inputs - 1;
    int width = op->input[k].x.dim;
    struct og_product_shape shape = {.m = OG__BLOCK_ROWS,
                                     .n = op->cols,
                                     .k = width,
                                     .lda = width,
                                     .ldc = op->cols,
                                     .accumulate = k > 0,
                                     .bias = run->fused && last && op->bias,
                                     .bf16 = run->be->bf16};
    return og__product_get(run->be->products, &shape, &run->product[k], err);
}

static int og__cpu_affine_op(struct og_nn_backend *be, const struct og_affine *op,
                             struct og_err *err)
{
    struct affine_run run = {.be = be, .op = op};
    run.fused = op->n_inputs > 0 && !op->plus_through;
    for (int k = 0; k < op->n_inputs; k++)
        run.fused = run.fused && op->input[k].n >= op->rows && op->input[k].weight &&
                    !by_column(&op->input[k]);
    for (int k = 0; k < op->n_inputs; k++) {
        const bool product = op->input[k].weight && !by_column(&op->input[k]);
        OG_DO(product ? affine_product(&run, k, err) : 0);
    }
    int before = og__products_enter();
    og__pool_run(be->pool, og__n_blocks(op->rows), affine_block, &run);
    og__products_leave(before);
    return 0;
}

/* ==== weight gradient ====
 *
 *     rows     | block | block | ... || block | ... || ...      parts: fixed runs of blocks,
 *                `---- partial 0 ---'   `- partial 1 -'         each summed in order
 *     columns  | strip | strip | strip | ...                    of both inputs, one after another
 *
 * A task is a part of the rows and two strips, so that their sums stay in L2. Parts that would keep
 * only some threads busy are tasks of one strip each. The number of parts follows from the shape:
 * enough parallelism, but small sums. */

struct gradient_strip {
    int input, first, width;
};

struct gradient_run {
    const struct og_nn_backend *be;
    const struct og_weight_grad *op;
    size_t n_parts, n_strips, n_groups;
    size_t n_even;   /* parts that occupy all threads */
    uint32_t height; /* rows of a block */
    bool turned;     /* products read blocks of dy transposed */
    size_t elements; /* of one partial sum: grad[0], grad[1], bias_grad */
    /* input, narrow last strip, tile made in scratch, further block of a part */
    struct og_product *product[2][2][2][2];
};

static size_t count_parts(uint64_t rows, size_t elements)
{
    size_t fit = PARTIAL_BYTES / (elements * sizeof(float));
    return OG_MAX(OG_MIN(fit, og__n_parts(rows)), (size_t)1);
}

static size_t partial_bytes(uint64_t rows, int n_out, uint64_t n_in_total)
{
    size_t elements = (size_t)n_out * (n_in_total + 1);
    size_t parts = count_parts(rows, elements);
    return parts > 1 ? parts * elements * sizeof(float) : 0;
}

static size_t strips_of(int dim)
{
    return ((size_t)dim + OG__STRIP - 1) / OG__STRIP;
}

/* Strips of one input have equal width, a multiple of 16, except the last. */
static int strip_width(int dim)
{
    size_t n = strips_of(dim);
    return OG_MIN(dim, (int)og__round_up(((size_t)dim + n - 1) / n, 16));
}

static struct gradient_strip strip_at(const struct og_weight_grad *op, size_t strip)
{
    struct gradient_strip s = {0};
    if (strip >= strips_of(op->input[0].dim)) {
        strip -= strips_of(op->input[0].dim);
        s.input = 1;
    }
    int dim = op->input[s.input].dim;
    s.first = (int)strip * strip_width(dim);
    s.width = OG_MIN(strip_width(dim), dim - s.first);
    return s;
}

/* Memory where part `part` sums gradient k (2: of the bias). A single part sums in place. */
static float *sum_of(const struct gradient_run *run, size_t part, int k)
{
    const struct og_weight_grad *op = run->op;
    if (run->n_parts == 1)
        return k == 2 ? op->bias_grad : op->grad[k];
    float *p = run->be->partial + part * run->elements;
    for (int i = 0; i < OG_MIN(k, op->n_inputs); i++)
        p += (size_t)op->n_out * (size_t)op->input[i].dim;
    return p;
}

static void clear_strip(float *grad, int n_out, int dim, const struct gradient_strip *s)
{
    for (int i = 0; i < n_out; i++)
        memset(grad + (size_t)i * (size_t)dim + s->first, 0, (size_t)s->width * sizeof(float));
}

static void gradient_strip_block(const struct gradient_run *run, const struct gradient_strip *s,
                                 uint32_t r0, uint32_t n, const void *dy, float *grad, bool further,
                                 const struct og__scratch *scratch, int thread)
{
    const struct og_rows *x = &run->op->input[s->input];
    int ld;
    const void *tile = og__tile_of(run->be, x, r0, n, run->height, s->first, s->width, scratch->in,
                                   scratch->row, &ld);
    bool narrow = s->width != strip_width(x->dim);
    bool made = tile == scratch->in;
    og__product_run(run->product[s->input][narrow][made][further], thread, dy, tile,
                    grad + s->first, NULL);
}

/* What a task sums. */
struct gradient_share {
    size_t part, first, last; /* strips [first, last) */
};

static struct gradient_share share_of(const struct gradient_run *run, size_t task)
{
    const size_t even = run->n_even * run->n_groups, single = OG_MAX(run->n_strips, (size_t)1);
    struct gradient_share s;
    if (task < even) {
        s.part = task / run->n_groups;
        s.first = task % run->n_groups * 2;
        s.last = OG_MIN(run->n_strips, s.first + 2);
    } else {
        s.part = run->n_even + (task - even) / single;
        s.first = (task - even) % single;
        s.last = OG_MIN(run->n_strips, s.first + 1);
    }
    return s;
}

static size_t n_shares(const struct gradient_run *run)
{
    return run->n_even * run->n_groups +
           (run->n_parts - run->n_even) * OG_MAX(run->n_strips, (size_t)1);
}

/* A block of dy as products read it, in scratch or in place. Adds its rows to bias, unless NULL. */
static const void *gradient_rows(const struct gradient_run *run, uint32_t r0, uint32_t n,
                                 float *bias, const struct og__scratch *scratch)
{
    const struct og_weight_grad *op = run->op;
    const size_t n_out = (size_t)op->n_out, ld = op->ld ? (size_t)op->ld : n_out;
    const float *rows = op->dy + r0 * ld;
    if (run->turned) {
        og__turn(rows, ld, n, n_out, run->height, scratch->out, bias);
        return scratch->out;
    }
    for (uint32_t i = 0; bias && i < n; i++)
        og__add(bias, rows + i * ld, n_out);
    struct og_rows dy = og__dense(op->dy, op->rows, op->n_out);
    dy.stride = ld * sizeof(float);
    int ld_tile;
    return og__tile_of(run->be, &dy, r0, n, run->height, 0, op->n_out, scratch->out, scratch->row,
                       &ld_tile);
}

static void gradient_task(void *arg, size_t task, int thread)
{
    const struct gradient_run *run = arg;
    const struct og_weight_grad *op = run->op;
    const struct og__scratch scratch = og__scratch_of(run->be, thread);
    const struct gradient_share share = share_of(run, task);
    const size_t n_blocks = (op->rows + run->height - 1) / run->height;
    const size_t first = share.part * n_blocks / run->n_parts;
    const size_t end = (share.part + 1) * n_blocks / run->n_parts;
    float *bias = share.first == 0 && op->bias_grad ? sum_of(run, share.part, 2) : NULL;
    if (bias)
        memset(bias, 0, (size_t)op->n_out * sizeof(float));
    for (size_t i = share.first; first == end && i < share.last; i++) {
        const struct gradient_strip s = strip_at(op, i);
        clear_strip(sum_of(run, share.part, s.input), op->n_out, op->input[s.input].dim, &s);
    }
    for (size_t b = first; b < end; b++) {
        const uint32_t r0 = (uint32_t)b * run->height, n = OG_MIN(op->rows - r0, run->height);
        const void *dy = gradient_rows(run, r0, n, bias, &scratch);
        for (size_t i = share.first; i < share.last; i++) {
            const struct gradient_strip s = strip_at(op, i);
            gradient_strip_block(run, &s, r0, n, dy, sum_of(run, share.part, s.input), b > first,
                                 &scratch, thread);
        }
    }
}

/* Adds the parts, in order, over a range of elements. */
static void gradient_sum_task(void *arg, size_t task, int thread)
{
    (void)thread;
    const struct gradient_run *run = arg;
    const struct og_weight_grad *op = run->op;
    for (int k = 0; k < 3; k++) {
        float *out = k == 2 ? op->bias_grad : k < op->n_inputs ? op->grad[k] : NULL;
        size_t all = (size_t)op->n_out * (k == 2 ? 1 : (size_t)op->input[k].dim);
        size_t first = task * UPDATE_CHUNK;
        if (!out || first >= all)
            continue;
        size_t n = OG_MIN(all - first, (size_t)UPDATE_CHUNK);
        memcpy(out + first, sum_of(run, 0, k) + first, n * sizeof(float));
        for (size_t p = 1; p < run->n_parts; p++)
            og__add(out + first, sum_of(run, p, k) + first, n);
    }
}

static int gradient_product(struct gradient_run *run, int k, bool narrow, bool made, bool further,
                            struct og_err *err)
{
    const int dim = run->op->input[k].dim, n_out = run->op->n_out, wide = strip_width(dim);
    const int width = narrow ? dim % wide : wide;
    const struct og_product_shape shape = {.m = n_out,
                                           .n = width,
                                           .k = (int)run->height,
                                           .lda = run->turned ? (int)run->height : n_out,
                                           .ldb = made ? width : dim,
                                           .ldc = dim,
                                           .a_transposed = !run->turned,
                                           .accumulate = further,
                                           .bf16 = run->be->bf16};
    struct og_product **to = &run->product[k][narrow][made][further];
    return og__product_get(run->be->products, &shape, to, err);
}

/* Gets all products. Stops at one that would sum blocks of transposed dy in another order. */
static int gradient_products(struct gradient_run *run, bool *differs, struct og_err *err)
{
    for (int i = 0; i < 8 * run->op->n_inputs; i++) {
        const int k = i / 8, dim = run->op->input[k].dim;
        const bool narrow = i & 4, made = i & 2, further = i & 1;
        if (narrow && dim % strip_width(dim) == 0)
            continue;
        int rc = gradient_product(run, k, narrow, made, further, err);
        if (rc < 0)
            return rc;
        *differs = run->turned && !og__product_copies(run->product[k][narrow][made][further]);
        if (*differs)
            return 0;
    }
    return 0;
}

/* The inputs that are not sparse, whose gradients it makes otherwise. */
static struct og_weight_grad dense_part(const struct og_nn_backend *be,
                                        const struct og_weight_grad *op)
{
    struct og_weight_grad dense = *op;
    dense.n_inputs = 0;
    for (int k = 0; k < op->n_inputs; k++) {
        if (op->input[k].sparse) {
            og__gradient_by_column(be, op, k);
        } else {
            dense.input[dense.n_inputs] = op->input[k];
            dense.grad[dense.n_inputs++] = op->grad[k];
        }
    }
    return dense;
}

static int og__cpu_weight_grad_op(struct og_nn_backend *be, const struct og_weight_grad *all,
                                  struct og_err *err)
{
    const struct og_weight_grad dense = dense_part(be, all), *op = &dense;
    if (op->n_inputs == 0 && !op->bias_grad)
        return 0;
    struct gradient_run run = {.be = be, .op = op};
    size_t widest = 1;
    run.elements = (size_t)op->n_out;
    run.height = op->n_out <= NARROW ? TALL_ROWS : OG__BLOCK_ROWS;
    run.turned = !be->bf16 && op->n_inputs > 0;
    bool differs = false;
    int rc = gradient_products(&run, &differs, err);
    if (differs) {
        run.turned = false;
        rc = gradient_products(&run, &differs, err);
    }
    if (rc < 0)
        return rc;
    for (int k = 0; k < op->n_inputs; k++) {
        size_t dim = (size_t)op->input[k].dim;
        run.elements += (size_t)op->n_out * dim;
        run.n_strips += strips_of(op->input[k].dim);
        widest = OG_MAX(widest, dim);
    }
    run.n_groups = OG_MAX((run.n_strips + 1) / 2, (size_t)1);
    run.n_parts = count_parts(op->rows, run.elements);
    run.n_even = run.n_parts - run.n_parts % (size_t)og__pool_threads(be->pool);
    int before = og__products_enter();
    og__pool_run(be->pool, n_shares(&run), gradient_task, &run);
    if (run.n_parts > 1) {
        size_t chunks = (widest * (size_t)op->n_out + UPDATE_CHUNK - 1) / UPDATE_CHUNK;
        bool small = run.n_parts * run.elements < 16 * UPDATE_CHUNK; /* waking threads would cost
                                                                        more */
        og__pool_run(small ? NULL : be->pool, chunks, gradient_sum_task, &run);
    }
    og__products_leave(before);
    return 0;
}

/* ==== dot ==== */

struct dot_run {
    const struct og_nn_backend *be;
    const struct og_dot *op;
};

/* Sums each element's products over the rows; adds the elements last. */
static void dot_part(void *arg, size_t number, int thread)
{
    const struct dot_run *run = arg;
    const struct og_dot *op = run->op;
    size_t n = (size_t)op->x.dim;
    float *row = og__scratch_of(run->be, thread).row;
    struct og__part part = og__part_of(run->be, op->rows, n, number);
    for (uint32_t r = part.first; r < part.last; r++) {
        og__row_widen(row, &op->x, og__row(&op->x, r), 0, n);
        og__add_product(part.sum, op->a + r * n, row, n);
    }
}

void og__cpu_dot(struct og_nn_backend *be, const struct og_dot *op)
{
    struct dot_run run = {be, op};
    size_t n = (size_t)op->x.dim;
    float *row = og__scratch_of(be, 0).row;
    og__pool_run(be->pool, og__n_parts(op->rows), dot_part, &run);
    og__add_parts(be, op->rows, n, 0, n, row);
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += (double)row[j];
    *op->out = (float)sum;
}

/* ==== scatter ==== */

static void put_block(void *arg, size_t block, int thread)
{
    (void)thread;
    const struct og_put *op = arg;
    const size_t dim = (size_t)op->x.dim;
    const uint32_t first = (uint32_t)block * OG__BLOCK_ROWS;
    for (uint32_t i = first; i < first + og__rows_in_block(op->n, block); i++)
        og__row_widen(op->to + op->place[i] * dim, &op->x, og__row(&op->x, i), 0, dim);
}

enum { ADDED = 16 }; /* columns of a task: a row of each is a cache line */

static void add_columns(void *arg, size_t task, int thread)
{
    (void)thread;
    const struct og_put *op = arg;
    const size_t dim = (size_t)op->x.dim, first = task * ADDED,
                 n = OG_MIN(dim - first, (size_t)ADDED);
    float x[ADDED];
    for (uint32_t i = 0; i < op->n; i++) {
        float *to = op->to + op->place[i] * dim + first;
        og__row_widen(x, &op->x, og__row(&op->x, i), first, n);
        for (size_t k = 0; k < n; k++)
            to[k] += x[k];
    }
}

void og__cpu_put(struct og_nn_backend *be, const struct og_put *op)
{
    if (op->adds)
        og__pool_run(be->pool, ((size_t)op->x.dim + ADDED - 1) / ADDED, add_columns, (void *)op);
    else
        og__pool_run(be->pool, og__n_blocks(op->n), put_block, (void *)op);
}

/* ==== optimisers ==== */

static void adam_task(void *arg, size_t task, int thread)
{
    (void)thread;
    const struct og_update *op = arg;
    size_t first = task * UPDATE_CHUNK;
    og__adam(op, first, OG_MIN(op->n - first, (size_t)UPDATE_CHUNK));
}

static void sgd_task(void *arg, size_t task, int thread)
{
    (void)thread;
    const struct og_update *op = arg;
    size_t first = task * UPDATE_CHUNK;
    og__sgd(op, first, OG_MIN(op->n - first, (size_t)UPDATE_CHUNK));
}

void og__cpu_adam(struct og_nn_backend *be, const struct og_update *op)
{
    og__pool_run(be->pool, (op->n + UPDATE_CHUNK - 1) / UPDATE_CHUNK, adam_task, (void *)op);
}

void og__cpu_sgd(struct og_nn_backend *be, const struct og_update *op)
{
    og__pool_run(be->pool, (op->n + UPDATE_CHUNK - 1) / UPDATE_CHUNK, sgd_task, (void *)op);
}

#define NEVER_FAILS(name, operands) OG__NEVER_FAILS(og__cpu_##name, operands)
OG__PLAIN_OPS(NEVER_FAILS)
OG__EDGE_OPS(NEVER_FAILS)
OG__ENTRY_OPS(NEVER_FAILS)

#define FIELD(name, operands) .name = og__cpu_##name##_op,
const struct og_nn_ops og__ops_cpu = {.name = "cpu",
                                      .open = og__cpu_open,
                                      .close = og__cpu_close,
                                      .check_compute = og__cpu_check_compute,
                                      .set_compute = og__cpu_set_compute,
                                      .compute_remark = og__cpu_compute_remark,
                                      .own_bytes = og__cpu_own_bytes,
                                      .memory = og__cpu_memory,
                                      .fetch = og__cpu_fetch,
                                      .push = og__cpu_push,
                                      .clear = og__cpu_clear,
                                      .number = og__cpu_number,
                                      .room_bytes = og__cpu_room_bytes,
                                      .set_scratch = og__cpu_set_scratch,
                                      .scratch_bytes = og__cpu_scratch_bytes,
                                      .partial_bytes = partial_bytes,
                                      .column_bytes = og__cpu_column_bytes,
                                      .packed_bytes = og__cpu_packed_bytes,
                                      .pack = cpu_pack,
                                      OG__PRODUCT_OPS(FIELD) OG__PLAIN_OPS(FIELD)
                                          OG__EDGE_OPS(FIELD) OG__ENTRY_OPS(FIELD)};

const struct og_nn_ops *og__nn_ops(void)
{
    return &og__ops_cpu;
}
