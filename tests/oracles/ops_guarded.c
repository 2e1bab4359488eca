#include "oracles/ops_guarded.h"

#include "nn/sparse.h"

#include <outgrow/outgrow.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, MOST = 64 };

/* ==== its memory ==== */

struct block {
    char *start;
    size_t bytes, mapped;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while a call runs */
static struct block blocks[MOST];
static int n_blocks;
static struct og_guarded_counts counts;
static const char *operator_at_hand;

struct guarded {
    struct og_nn_backend *inner;
    struct og_budget *budget; /* of its memory */
};

static struct guarded *guarded_of(const struct og_nn_backend *be)
{
    return (struct guarded *)(void *)be;
}

static void die(const char *what)
{
    fprintf(stderr, "guarded backend: %s: %s\n", operator_at_hand ? operator_at_hand : "memory",
            what);
    abort();
}

static void protect(int rights)
{
    for (int i = 0; i < n_blocks; i++)
        if (mprotect(blocks[i].start, blocks[i].mapped, rights) != 0)
            die("mprotect");
}

static void enter(const char *name)
{
    pthread_mutex_lock(&lock);
    operator_at_hand = name;
    protect(PROT_READ | PROT_WRITE);
}

static void leave(void)
{
    protect(PROT_NONE);
    operator_at_hand = NULL;
    pthread_mutex_unlock(&lock);
}

/* Between pages that no one may ever touch. */
static void *guarded_alloc(const struct og_memory *m, size_t bytes, const char *part,
                           struct og_err *err)
{
    if (og__budget_charge(m->budget, bytes, part, err) < 0)
        return NULL;
    size_t mapped = og__round_up(OG_MAX(bytes, 1), PAGE);
    char *p = mmap(NULL, mapped + 2 * (size_t)PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_mutex_lock(&lock);
    if (p == MAP_FAILED || n_blocks == MOST)
        die("too much memory");
    blocks[n_blocks++] = (struct block){p + PAGE, bytes, mapped};
    counts.live += bytes;
    counts.peak = OG_MAX(counts.peak, counts.live);
    pthread_mutex_unlock(&lock);
    return p + PAGE;
}

static void guarded_release(const struct og_memory *m, void *p, size_t bytes, const char *part)
{
    og__budget_uncharge(m->budget, bytes, part);
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < n_blocks && blocks[i].start != p)
        i++;
    if (i == n_blocks || blocks[i].bytes != bytes)
        die("what was never taken is given back");
    munmap(blocks[i].start - PAGE, blocks[i].mapped + 2 * (size_t)PAGE);
    blocks[i] = blocks[--n_blocks];
    counts.live -= bytes;
    pthread_mutex_unlock(&lock);
}

static struct og_memory guarded_memory(const struct og_nn_backend *be)
{
    static const struct og_memory_kind kind = {guarded_alloc, guarded_release};
    return (struct og_memory){&kind, guarded_of(be)->budget, (void *)be};
}

/* ==== a backend ==== */

static void guarded_close(struct og_nn_backend *be)
{
    struct guarded *g = guarded_of(be);
    if (!g)
        return;
    og__ops_cpu.close(g->inner);
    if (og__budget_used(g->budget) > 0)
        die("memory was not given back");
    og__budget_free(g->budget);
    free(g);
}

static int guarded_open(struct og_nn_backend **out, int number, struct og_pool *pool,
                        struct og_budget *b, struct og_err *err)
{
    (void)number;
    struct guarded *g = calloc(1, sizeof(*g));
    *out = NULL;
    if (!g || !(g->budget = og__budget_new(0)))
        die("no memory");
    int rc = og__ops_cpu.open(&g->inner, 0, pool, b, err);
    if (rc == 0)
        *out = (struct og_nn_backend *)(void *)g;
    else
        guarded_close((struct og_nn_backend *)(void *)g);
    return rc;
}

static int guarded_check_compute(int compute, struct og_err *err)
{
    return og__ops_cpu.check_compute(compute, err);
}

static void guarded_set_compute(struct og_nn_backend *be, int compute)
{
    og__ops_cpu.set_compute(guarded_of(be)->inner, compute);
}

static const char *guarded_compute_remark(int compute)
{
    return og__ops_cpu.compute_remark(compute);
}

static size_t guarded_own_bytes(int threads)
{
    return og__ops_cpu.own_bytes(threads);
}

static size_t guarded_scratch_bytes(const struct og_most *of, int threads)
{
    return og__ops_cpu.scratch_bytes(of, threads);
}

static size_t guarded_partial_bytes(uint64_t rows, int n_out, uint64_t n_in)
{
    return og__ops_cpu.partial_bytes(rows, n_out, n_in);
}

static size_t guarded_column_bytes(uint64_t rows, size_t columns)
{
    return og__ops_cpu.column_bytes(rows, columns);
}

static size_t guarded_packed_bytes(int n_out, int n_in)
{
    return og__ops_cpu.packed_bytes(n_out, n_in);
}

static size_t guarded_room_bytes(size_t bytes)
{
    return bytes;
}

/* ==== operands ==== */

static bool is_own(const void *p)
{
    for (int i = 0; i < n_blocks; i++)
        if ((const char *)p >= blocks[i].start &&
            (const char *)p < blocks[i].start + blocks[i].mapped)
            return true;
    return false;
}

static void own(const void *p, size_t bytes, const char *what)
{
    for (int i = 0; i < n_blocks; i++) {
        const char *end = blocks[i].start + blocks[i].bytes;
        if ((const char *)p >= blocks[i].start && (const char *)p <= end &&
            bytes <= (size_t)(end - (const char *)p))
            return;
    }
    if (bytes > 0)
        die(what);
}

static void own_if(const void *p, size_t bytes, const char *what)
{
    if (p)
        own(p, bytes, what);
}

static void host(const void *p, const char *what)
{
    if (!p || is_own(p))
        die(what);
}

#define OWN(p, n)    own((p), (size_t)(n) * sizeof(*(p)), #p)
#define OWN_IF(p, n) own_if((p), (size_t)(n) * sizeof(*(p)), #p)

/* y[rows, cols] with ld elements from row to row; 0: cols */
static size_t spread(uint32_t rows, int cols, int ld)
{
    return rows > 0 ? (rows - (size_t)1) * (size_t)(ld ? ld : cols) + (size_t)cols : 0;
}

static uint32_t largest(const uint32_t *x, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = OG_MAX(most, x[i]);
    return most;
}

static void own_rows(const struct og_rows *x)
{
    OWN_IF(x->index, x->n);
    for (uint32_t i = 0; i < x->n; i++)
        own(og__row(x, i), (size_t)x->dim * og__dtype_size(x->dtype), "a row");
}

static void own_block(const struct og_block *b)
{
    OWN(b->indptr, b->n_dst + (size_t)1);
    OWN(b->src, b->n_edges);
    OWN_IF(b->weight, b->n_edges);
    OWN_IF(b->degree, b->n_src - b->n_dst);
}

/* A transposed block; returns its edges. */
static size_t own_lists(const uint32_t *indptr, const uint32_t *col, uint32_t n)
{
    OWN(indptr, n + (size_t)1);
    OWN(col, indptr[n]);
    return indptr[n];
}

static void own_sparse(const struct og_sparse *s, uint32_t n_cols)
{
    if (!s)
        return;
    size_t edges = own_lists(s->indptr, s->col, s->n_rows);
    if (edges > 0 && largest(s->col, edges) >= n_cols)
        die("a column beyond the rows there are");
    OWN(s->left, s->n_left);
    OWN(s->right, s->n_right);
    OWN_IF(s->eps, 1);
    OWN_IF(s->weight, edges);
    OWN_IF(s->edge, edges);
}

static void own_weight(const struct og_weight *w)
{
    if (!w)
        return;
    size_t packed = og__ops_cpu.packed_bytes(w->n_out, w->n_in);
    OWN(w->value, (size_t)w->n_out * (size_t)w->n_in);
    own_if(w->packed[OG__FORWARD], packed, "packed forward");
    own_if(w->packed[OG__BACKWARD], packed, "packed backward");
}

static void own_input(const struct og_input *in)
{
    own_rows(&in->x);
    own_sparse(in->through, in->x.n);
    own_weight(in->weight);
    OWN_IF(in->keep, in->n * (size_t)in->x.dim);
}

/* ==== what each operator is given ==== */

static void check_scale(const struct og_scale *op)
{
    own_block(op->block);
    OWN(op->scale, og__n_scales(op->block, op->kind));
}

static void check_transpose(const struct og_transpose *op)
{
    own_block(op->block);
    OWN(op->indptr, op->block->n_src + (size_t)1);
    OWN(op->col, op->block->n_edges);
    OWN_IF(op->edge, op->block->n_edges);
}

static void check_affine(const struct og_affine *op)
{
    OWN(op->y, spread(op->rows, op->cols, op->ld));
    for (int k = 0; k < op->n_inputs; k++)
        own_input(&op->input[k]);
    own_sparse(op->plus_through, op->plus.n);
    if (op->plus_through)
        own_rows(&op->plus);
    OWN_IF(op->bias, op->cols);
}

static void check_weight_grad(const struct og_weight_grad *op)
{
    OWN(op->dy, spread(op->rows, op->n_out, op->ld));
    for (int k = 0; k < op->n_inputs; k++) {
        own_rows(&op->input[k]);
        OWN(op->grad[k], (size_t)op->n_out * (size_t)op->input[k].dim);
    }
    OWN_IF(op->bias_grad, op->n_out);
}

static void check_dot(const struct og_dot *op)
{
    OWN(op->a, op->rows * (size_t)op->x.dim);
    own_rows(&op->x);
    OWN(op->out, 1);
}

/* Elements of the coefficients, of a row of y, of all heads. */
static size_t coefficients(const struct og_attend *op)
{
    return (op->block->n_edges + op->block->n_dst) * (size_t)op->heads;
}

static size_t heads_width(const struct og_attend *op)
{
    return (size_t)op->heads * (size_t)op->width;
}

static size_t y_width(const struct og_attend *op)
{
    return op->average ? (size_t)op->width : heads_width(op);
}

static void check_attend(const struct og_attend *op)
{
    const size_t heads = (size_t)op->heads;
    own_block(op->block);
    own_rows(&op->z);
    OWN(op->att_src, heads_width(op));
    if (op->scoring == OG__BY_SUMS)
        OWN(op->z_dst, op->block->n_dst * heads_width(op));
    if (op->scoring == OG__BY_ENDS && !op->apart)
        OWN(op->att_dst, heads_width(op));
    OWN_IF(op->bias, y_width(op));
    if (op->scoring == OG__BY_ENDS) {
        OWN(op->score_src, op->block->n_src * heads);
        OWN(op->score_dst, op->block->n_dst * heads);
    }
    OWN(op->alpha, coefficients(op));
    if (op->dropout)
        OWN(op->dropped, coefficients(op));
    OWN_IF(op->y, op->block->n_dst * y_width(op)); /* not looked at on the way back */
}

static void check_attend_back(const struct og_attend_back *op)
{
    const struct og_attend *f = op->forward;
    check_attend(f);
    OWN(op->dy, f->block->n_dst * y_width(f));
    OWN(op->edge, own_lists(op->indptr, op->col, f->block->n_src));
    OWN(op->dscore, coefficients(f));
    OWN_IF(op->dz, f->block->n_src * (size_t)f->z.dim);
    OWN(op->datt_src, heads_width(f));
    if (f->scoring == OG__BY_SUMS)
        OWN(op->dz_dst, f->block->n_dst * heads_width(f));
    if (f->scoring == OG__BY_ENDS && !f->apart)
        OWN(op->datt_dst, heads_width(f));
}

static void check_fold(const struct og_fold *op)
{
    const size_t heads = (size_t)op->heads, n_in = (size_t)op->n_in, width = (size_t)op->width;
    OWN(op->att, heads * width);
    OWN(op->weight, heads * width * n_in);
    OWN(op->out, heads * n_in);
}

static void check_fold_back(const struct og_fold_back *op)
{
    const struct og_fold *f = op->forward;
    const size_t heads = (size_t)f->heads, n_in = (size_t)f->n_in, width = (size_t)f->width;
    check_fold(f);
    OWN(op->dout, heads * n_in);
    OWN(op->dweight, heads * width * n_in);
    OWN(op->datt, heads * width);
}

static void check_put(const struct og_put *op)
{
    own_rows(&op->x);
    OWN(op->place, op->n);
    OWN(op->to, op->n > 0 ? (largest(op->place, op->n) + (size_t)1) * (size_t)op->x.dim : 0);
}

/* Coefficients up to the last row that is named. */
static size_t mix_weights(const struct og_mix *op)
{
    return (largest(op->row, op->n_made) + (size_t)1) * op->n_base;
}

static void check_mix_inputs(const struct og_mix *op)
{
    OWN(op->weight, mix_weights(op));
    OWN(op->base, op->n_base * op->n);
}

static void check_mix(const struct og_mix *op)
{
    check_mix_inputs(op);
    OWN(op->made, op->n_made * op->n);
}

static void check_mix_back(const struct og_mix_back *op)
{
    const struct og_mix *f = op->forward;
    check_mix_inputs(f);
    OWN(op->dmade, f->n_made * f->n);
    OWN(op->dbase, f->n_base * f->n);
    OWN(op->dweight, mix_weights(f));
    OWN(op->partial, og__mix_parts(f->n) * f->n_made * f->n_base);
}

static void check_blend_sort(const struct og_blend_sort *op)
{
    own_block(op->block);
    OWN(op->out.first, op->block->n_dst + (size_t)1);
    OWN(op->out.edge, op->block->n_edges);
}

static size_t blend_width(const struct og_blend *op)
{
    return op->edges.n_rows * (size_t)op->n_base * (size_t)op->dim;
}

static void check_blend_inputs(const struct og_blend *op)
{
    OWN(op->edges.first, op->edges.n_rows + (size_t)1);
    OWN(op->edges.edge, op->edges.first[op->edges.n_rows]);
    OWN(op->weight, op->n_kinds * (size_t)op->n_base);
    OWN(op->x, op->n_src * (size_t)op->dim);
}

static void check_blend(const struct og_blend *op)
{
    check_blend_inputs(op);
    OWN(op->z, blend_width(op));
}

static void check_blend_weights(const struct og_blend_weights *op)
{
    check_blend_inputs(op->forward);
    OWN(op->dz, blend_width(op->forward));
    OWN(op->dweight, op->forward->n_kinds * (size_t)op->forward->n_base);
}

static void check_blend_rows(const struct og_blend_rows *op)
{
    const struct og_blend *f = op->forward;
    check_blend_inputs(f);
    own_block(op->block);
    OWN(op->turned.first, f->n_src + (size_t)1);
    OWN(op->turned.edge, op->block->n_edges);
    OWN(op->dz, blend_width(f));
    OWN(op->dx, f->n_src * (size_t)f->dim);
}

static void check_pool_max(const struct og_pool_max *op)
{
    own_block(op->block);
    own_rows(&op->x);
    OWN(op->y, op->block->n_dst * (size_t)op->x.dim);
    OWN_IF(op->from, op->block->n_dst * (size_t)op->x.dim);
}

static void check_pool_max_back(const struct og_pool_max_back *op)
{
    size_t edges = own_lists(op->indptr, op->col, op->n_src), dim = (size_t)op->dim;
    size_t n_dst = edges > 0 ? largest(op->col, edges) + (size_t)1 : 0;
    OWN(op->x, op->n_src * dim);
    OWN(op->dy, n_dst * dim);
    OWN(op->from, n_dst * dim);
}

static void check_moments(const struct og_moments *op)
{
    OWN(op->y, op->rows * (size_t)op->cols);
    OWN(op->mean, op->cols);
    OWN(op->var, op->cols);
}

static void check_track(const struct og_track *op)
{
    OWN(op->mean, op->cols);
    OWN(op->var, op->cols);
    OWN(op->running_mean, op->cols);
    OWN(op->running_var, op->cols);
    OWN(op->count, 1);
}

static void check_rstd(const struct og_rstd *op)
{
    OWN(op->var, op->cols);
    OWN(op->rstd, op->cols);
}

static void check_finish(const struct og_finish *op)
{
    if (op->norm != OG_NORM_NONE) {
        OWN(op->weight, op->cols);
        OWN(op->bias, op->cols);
    }
    if (op->norm == OG_NORM_BATCH) {
        OWN(op->mean, op->cols);
        OWN(op->rstd, op->cols);
    }
    OWN(op->y, op->rows * (size_t)op->cols);
    OWN(op->h, op->rows * (size_t)op->cols);
}

static void check_finish_back(const struct og_finish_back *op)
{
    const struct og_finish *f = op->forward;
    check_finish(f);
    OWN(op->g, f->rows * (size_t)f->cols);
    OWN_IF(op->dweight, f->cols);
    OWN_IF(op->dbias, f->cols);
}

static void check_loss(const struct og_loss *op, size_t labels_a_row)
{
    const size_t cells = op->rows * (size_t)op->cols;
    OWN(op->logits, cells);
    own(op->labels, op->rows * labels_a_row * sizeof(float), "labels");
    OWN_IF(op->grad, cells);
    OWN_IF(op->class_weight, op->cols);
    OWN_IF(op->row_weight, op->rows);
    OWN(op->blocks, og__n_blocks(op->rows));
    host(op->out, "metrics are the host's");
}

static void check_softmax_loss(const struct og_loss *op)
{
    check_loss(op, 1);
}

/* A label for each column. */
static void check_sigmoid_loss(const struct og_loss *op)
{
    check_loss(op, (size_t)op->cols);
}
#define check_value_loss check_sigmoid_loss
#define check_share_loss check_sigmoid_loss

static void check_pairs(const struct og_pair_op *op)
{
    OWN(op->a, op->n);
    OWN(op->b, op->n);
    size_t rows = OG_MAX(largest(op->a, op->n), largest(op->b, op->n)) + (size_t)1;
    OWN(op->h, op->n > 0 ? rows * (size_t)op->dim : 0);
}

static void check_pair_dot(const struct og_pair_op *op)
{
    check_pairs(op);
    OWN(op->out, op->n);
}

static void check_pair_product(const struct og_pair_op *op)
{
    check_pairs(op);
    OWN(op->out, op->n * (size_t)op->dim * (op->joins ? 2 : 1));
}

static void check_pair_list(const struct og_pair_list *op)
{
    OWN(op->a, op->n);
    OWN(op->b, op->n);
    OWN(op->first, op->n_rows + (size_t)1);
    OWN(op->pair, 2 * (size_t)op->n);
}

static void check_pair_back(const struct og_pair_back *op)
{
    const struct og_pair_op *f = op->forward;
    check_pairs(f);
    OWN(op->g, f->n * (size_t)(op->wide ? f->dim : 1) * (f->joins ? 2 : 1));
    own_lists(op->first, op->pair, op->n_rows);
    OWN(op->dh, op->n_rows * (size_t)f->dim);
}

static void check_pair_kinds(const struct og_pair_kinds *op)
{
    const struct og_pair_op *f = op->forward;
    check_pairs(f);
    OWN(op->g, f->n);
    if (op->first)
        own_lists(op->first, op->pair, op->n_kinds);
    OWN(op->dby, op->n_kinds * (size_t)f->dim);
}

static void check_link_loss(const struct og_link_loss *op)
{
    const size_t n = op->n_edges * (1 + (size_t)op->each);
    OWN(op->score, n);
    OWN_IF(op->grad, n);
    host(op->out, "metrics are the host's");
}

static void check_rank(const struct og_rank *op)
{
    OWN(op->pairs->a, op->pairs->n);
    OWN(op->pairs->b, op->pairs->n);
    OWN(op->score, op->pairs->n);
    host(op->out, "metrics are the host's");
}

static void check_sgd(const struct og_update *op)
{
    OWN(op->value, op->n);
    OWN(op->grad, op->n);
}

static void check_adam(const struct og_update *op)
{
    check_sgd(op);
    OWN(op->m, op->n);
    OWN(op->v, op->n);
}

/* ==== calls ==== */

/* Without those of edges and sparse rows, whose rows stay in the host's memory. */
#define GUARDED_OPS(row) OG__PRODUCT_OPS(row) OG__PLAIN_OPS(row)

#define GUARDED(name, operands)                                                    \
    static int guarded_##name(struct og_nn_backend *be, const struct operands *op, \
                              struct og_err *err)                                  \
    {                                                                              \
        enter(#name);                                                              \
        check_##name(op);                                                          \
        int rc = og__ops_cpu.name(guarded_of(be)->inner, op, err);                 \
        counts.operators++;                                                        \
        leave();                                                                   \
        return rc;                                                                 \
    }
GUARDED_OPS(GUARDED)

static int guarded_pack(struct og_nn_backend *be, struct og_weight **w, size_t n,
                        struct og_err *err)
{
    enter("pack");
    for (size_t i = 0; i < n; i++)
        own_weight(w[i]);
    int rc = og__ops_cpu.pack(guarded_of(be)->inner, w, n, err);
    leave();
    return rc;
}

static void guarded_set_scratch(struct og_nn_backend *be, char *scratch, size_t bytes,
                                float *partial)
{
    enter("set_scratch");
    own(scratch, bytes, "scratch");
    own_if(partial, sizeof(*partial), "partial");
    og__ops_cpu.set_scratch(guarded_of(be)->inner, scratch, bytes, partial);
    leave();
}

static int guarded_fetch(struct og_nn_backend *be, void *to, const void *there, size_t bytes,
                         struct og_err *err)
{
    (void)be, (void)err;
    enter("fetch");
    own(there, bytes, "what is fetched");
    host(to, "where to");
    memcpy(to, there, bytes);
    counts.fetches++;
    leave();
    return 0;
}

static int guarded_push(struct og_nn_backend *be, void *there, const void *from, size_t bytes,
                        struct og_err *err)
{
    (void)be, (void)err;
    enter("push");
    own(there, bytes, "where to");
    host(from, "what is pushed");
    memcpy(there, from, bytes);
    counts.pushes++;
    leave();
    return 0;
}

static int guarded_clear(struct og_nn_backend *be, void *there, size_t bytes, struct og_err *err)
{
    (void)be, (void)err;
    enter("clear");
    own(there, bytes, "what is cleared");
    memset(there, 0, bytes);
    leave();
    return 0;
}

static int guarded_number(struct og_nn_backend *be, uint32_t *there, uint32_t n, struct og_err *err)
{
    enter("number");
    OWN(there, n);
    int rc = og__ops_cpu.number(guarded_of(be)->inner, there, n, err);
    leave();
    return rc;
}

static int guarded_gather(struct og_nn_backend *be, const struct og_rows *x, void *out,
                          struct og_err *err)
{
    (void)be, (void)err;
    const size_t row = (size_t)x->dim * og__dtype_size(x->dtype);
    enter("gather");
    own(out, x->n * row, "where to");
    for (uint32_t i = 0; i < x->n; i++) {
        host(og__row(x, i), "a row of the host's");
        memcpy((char *)out + i * row, og__row(x, i), row);
    }
    counts.gathers++;
    leave();
    return 0;
}

struct og_guarded_counts og__guarded_counts(void)
{
    return counts;
}

#define FIELD(name, operands) .name = guarded_##name,
const struct og_nn_ops og__ops_guarded = {.name = "guarded",
                                          .open = guarded_open,
                                          .close = guarded_close,
                                          .check_compute = guarded_check_compute,
                                          .set_compute = guarded_set_compute,
                                          .compute_remark = guarded_compute_remark,
                                          .own_bytes = guarded_own_bytes,
                                          .memory = guarded_memory,
                                          .fetch = guarded_fetch,
                                          .push = guarded_push,
                                          .room_bytes = guarded_room_bytes,
                                          .clear = guarded_clear,
                                          .number = guarded_number,
                                          .gather = guarded_gather,
                                          .set_scratch = guarded_set_scratch,
                                          .scratch_bytes = guarded_scratch_bytes,
                                          .partial_bytes = guarded_partial_bytes,
                                          .column_bytes = guarded_column_bytes,
                                          .packed_bytes = guarded_packed_bytes,
                                          .pack = guarded_pack,
                                          GUARDED_OPS(FIELD)};
