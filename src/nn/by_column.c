/* Products with sparse rows, without dense copies of them.
 *
 *     y[r]       += sum over entries (c, x) of row r: x * W[:, c]
 *     dW[:, c]    = sum over rows r with an entry (c, x): x * dy[r]
 *
 * W is packed as its transpose. A task of the gradient has a strip of columns, over all rows in
 * their order. So no sum depends on the number of threads. */
#include "nn/kernels.h"
#include "nn/ops_cpu.h"
#include "nn/shape.h"

#include <string.h>

enum {
    AHEAD = 8,             /* rows that are prefetched */
    TILE = 16,             /* columns of a matrix that are transposed at once */
    STRIP_FLOATS = 1 << 18 /* of a gradient's strip: it stays in L2 */
};

/* to[first .. end)[n_out] = the columns of from[n_out, n_in] */
struct transposing {
    const float *from;
    float *to;
    size_t n_out, n_in;
};

static void transpose_tile(void *arg, size_t tile, int thread)
{
    const struct transposing *t = arg;
    const size_t first = tile * TILE, end = OG_MIN(first + TILE, t->n_in);
    (void)thread;
    for (size_t o = 0; o < t->n_out; o++)
        for (size_t c = first; c < end; c++)
            t->to[c * t->n_out + o] = t->from[o * t->n_in + c];
}

void og__pack_by_column(const struct og_nn_backend *be, const struct og_weight *w)
{
    struct transposing t = {w->value, w->packed[OG__FORWARD], (size_t)w->n_out, (size_t)w->n_in};
    og__pool_run(be->pool, (t.n_in + TILE - 1) / TILE, transpose_tile, &t);
}

/* ==== the product ==== */

/* The entries of a row, as numbers in a thread's scratch. */
struct entries {
    uint32_t *column;
    float *value;
    uint32_t n;
};

/* Takes the numbers of a row of floats that are not 0. */
static void take_nonzeros(struct entries *e, const float *row, int dim)
{
    e->n = 0;
    for (int c = 0; c < dim; c++) {
        e->column[e->n] = (uint32_t)c;
        e->value[e->n] = row[c];
        e->n += row[c] != 0;
    }
}

/* Entries of row r of an input, or of what it aggregates. */
static void take_entries(struct entries *e, const struct og_input *in, uint32_t r, float *wide)
{
    const struct og_rows *x = &in->x;
    if (x->sparse && !in->through) {
        const struct og_entries sparse = og__row_entries(x, og__row(x, r));
        e->n = sparse.n;
        og__entries_read(&sparse, 0, e->n, e->column, e->value);
        return;
    }
    float *row = in->through && in->keep ? in->keep + r * (size_t)x->dim : wide;
    if (in->through)
        og__aggregate_row(in->through, x, r, row);
    else
        og__row_widen(row, x, og__row(x, r), 0, (size_t)x->dim);
    take_nonzeros(e, row, x->dim);
}

void og__multiply_by_column(const struct og_input *in, uint32_t r0, uint32_t n,
                            const struct og__scratch *s, float *y, size_t cols)
{
    const float *by_column = in->weight->packed[OG__FORWARD];
    struct entries e = {.value = s->in, .column = (uint32_t *)(void *)(s->in + in->x.dim)};
    for (uint32_t i = 0; i < n; i++) {
        if (!in->through && i + AHEAD < n)
            og__fetch_row(&in->x, r0 + i + AHEAD);
        take_entries(&e, in, r0 + i, s->row);
        for (uint32_t k = 0, some; k < e.n; k += some) {
            const float *column[OG__BUNCH];
            some = OG_MIN(e.n - k, (uint32_t)OG__BUNCH);
            for (uint32_t j = 0; j < some; j++)
                column[j] = by_column + e.column[k + j] * cols;
            og__add_bunch(y + i * cols, column, e.value + k, (int)some, cols);
        }
    }
}

/* ==== the gradient ==== */

struct gradient {
    const struct og_nn_backend *be;
    const struct og_rows *x;
    const float *dy;
    float *grad; /* [n_out, dim] */
    uint32_t rows;
    size_t n_out, ld;
    size_t strip; /* columns of a task */
};

static size_t strip_of(const struct gradient *g)
{
    const size_t dim = (size_t)g->x->dim;
    const size_t room = OG__BLOCK_ROWS * OG_MAX(dim, g->n_out); /* a tile of scratch */
    const size_t each = dim / (2 * (size_t)og__pool_threads(g->be->pool)) + 1;
    return OG_MAX(OG_MIN(each, OG_MIN(room, (size_t)STRIP_FLOATS) / g->n_out), (size_t)1);
}

/* sum[column - first] += x * dy of the entries of a row in columns [first, end). */
static void add_row(const struct gradient *g, uint32_t r, uint32_t first, uint32_t end, float *sum)
{
    enum { PIECE = 64 };
    uint32_t column[PIECE];
    float value[PIECE];
    const struct og_entries e = og__row_entries(g->x, og__row(g->x, r));
    const float *dy = g->dy + r * g->ld;
    const uint32_t last = end < (uint32_t)g->x->dim ? og__entries_from(&e, end) : e.n;
    for (uint32_t i = og__entries_from(&e, first), some; i < last; i += some) {
        some = OG_MIN(last - i, (uint32_t)PIECE);
        og__entries_read(&e, i, i + some, column, value);
        for (uint32_t k = 0; k < some; k++)
            if (column[k] - first < end - first) /* unless the file is damaged */
                og__add_scaled(sum + (column[k] - first) * g->n_out, value[k], dy, g->n_out);
    }
}

static void gradient_task(void *arg, size_t task, int thread)
{
    const struct gradient *g = arg;
    const size_t dim = (size_t)g->x->dim, first = task * g->strip;
    const size_t end = OG_MIN(first + g->strip, dim);
    float *sum = og__scratch_of(g->be, thread).in;
    memset(sum, 0, (end - first) * g->n_out * sizeof(*sum));
    for (uint32_t r = 0; r < g->rows; r++) {
        if (r + AHEAD < g->rows)
            og__fetch_row(g->x, r + AHEAD);
        add_row(g, r, (uint32_t)first, (uint32_t)end, sum);
    }
    for (size_t tile = first; tile < end; tile += TILE)
        for (size_t o = 0; o < g->n_out; o++)
            for (size_t c = tile; c < OG_MIN(tile + TILE, end); c++)
                g->grad[o * dim + c] = sum[(c - first) * g->n_out + o];
}

void og__gradient_by_column(const struct og_nn_backend *be, const struct og_weight_grad *op, int k)
{
    struct gradient g = {.be = be,
                         .x = &op->input[k],
                         .dy = op->dy,
                         .grad = op->grad[k],
                         .rows = op->rows,
                         .n_out = (size_t)op->n_out,
                         .ld = (size_t)(op->ld ? op->ld : op->n_out)};
    g.strip = strip_of(&g);
    og__pool_run(be->pool, ((size_t)g.x->dim + g.strip - 1) / g.strip, gradient_task, &g);
}

/* ==== dropout ==== */

struct dropping {
    const struct og_nn_backend *be;
    const struct og_drop_entries *op;
};

static void drop_block(void *arg, size_t block, int thread)
{
    const struct dropping *d = arg;
    const struct og_rows *x = &d->op->x;
    const struct og_sparse_rows form = {.room = og__dropped_room(x->sparse->longest),
                                        .longest = x->sparse->longest};
    const size_t length = og__row_size(x->dim, OG_F32, form.room);
    const uint32_t first = (uint32_t)block * OG__BLOCK_ROWS;
    float *value = og__scratch_of(d->be, thread).in;
    uint32_t *column = (uint32_t *)(void *)(value + x->dim);
    for (uint32_t r = first; r < OG_MIN(first + OG__BLOCK_ROWS, d->op->n); r++) {
        const struct og_entries e = og__row_entries(x, og__row(x, r));
        og__entries_read(&e, 0, e.n, column, value);
        og__dropout_entries(d->op->dropout, r, column, value, e.n);
        (void)og__store_entries((char *)d->op->to + r * length, column, value, e.n, x->dim, OG_F32,
                                &form, NULL, 0);
    }
}

void og__cpu_drop_entries(struct og_nn_backend *be, const struct og_drop_entries *op)
{
    struct dropping d = {be, op};
    og__pool_run(be->pool, og__n_blocks(op->n), drop_block, &d);
}
