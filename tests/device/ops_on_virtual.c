#include "device/ops_on_virtual.h"

#include "device/lent_memory.h"
#include "device/tested_device.h"
#include "nn/device/backend.h"

static struct og_nn_backend *of_none;

/* A GPU has to be given access to tests' memory; a virtual device reads it anyway. */
static int opened(struct og_nn_backend **out, int number, struct og_pool *pool, struct og_budget *b,
                  struct og_err *err)
{
    const int rc = tested_ops()->open(out, number, pool, b, err);
    if (rc == 0 && on_gpu())
        og__lent_memory_begin(*out);
    return rc;
}

/* What `be` is, or one for those that have none. */
static struct og_nn_backend *backend(struct og_nn_backend *be)
{
    if (!be && !of_none && opened(&of_none, 0, NULL, NULL, NULL) < 0)
        abort();
    return be ? be : of_none;
}

void og__ops_on_virtual_end(void)
{
    og__device_close(of_none);
    of_none = NULL;
}

static int finish(struct og_nn_backend *be, int rc, struct og_err *err)
{
    return rc < 0 ? rc : be->ops->finish(be->work, err);
}

#define FINISHED(name, operands)                                                    \
    static int name##_finished(struct og_nn_backend *be, const struct operands *op, \
                               struct og_err *err)                                  \
    {                                                                               \
        be = backend(be);                                                           \
        return finish(be, og__device_##name(be, op, err), err);                     \
    }
FINISHED(scale, og_scale)
FINISHED(transpose, og_transpose)
FINISHED(affine, og_affine)
FINISHED(weight_grad, og_weight_grad)
FINISHED(dot, og_dot)
FINISHED(attend, og_attend)
FINISHED(attend_back, og_attend_back)
FINISHED(fold, og_fold)
FINISHED(fold_back, og_fold_back)
FINISHED(put, og_put)
FINISHED(mix, og_mix)
FINISHED(mix_back, og_mix_back)
FINISHED(blend_sort, og_blend_sort)
FINISHED(blend, og_blend)
FINISHED(blend_weights, og_blend_weights)
FINISHED(blend_rows, og_blend_rows)
FINISHED(pool_max, og_pool_max)
FINISHED(pool_max_back, og_pool_max_back)
FINISHED(moments, og_moments)
FINISHED(track, og_track)
FINISHED(rstd, og_rstd)
FINISHED(finish, og_finish)
FINISHED(finish_back, og_finish_back)
FINISHED(softmax_loss, og_loss)
FINISHED(sigmoid_loss, og_loss)
FINISHED(value_loss, og_loss)
FINISHED(share_loss, og_loss)
FINISHED(pair_dot, og_pair_op)
FINISHED(pair_product, og_pair_op)
FINISHED(pair_list, og_pair_list)
FINISHED(pair_back, og_pair_back)
FINISHED(pair_kinds, og_pair_kinds)
FINISHED(link_loss, og_link_loss)
FINISHED(rank, og_rank)
FINISHED(adam, og_update)
FINISHED(sgd, og_update)

static int clear_finished(struct og_nn_backend *be, void *there, size_t bytes, struct og_err *err)
{
    be = backend(be);
    return finish(be, og__device_clear(be, there, bytes, err), err);
}

static int number_finished(struct og_nn_backend *be, uint32_t *there, uint32_t n,
                           struct og_err *err)
{
    be = backend(be);
    return finish(be, og__device_number(be, there, n, err), err);
}

static size_t room_bytes(size_t bytes)
{
    return bytes;
}

static size_t no_scratch_bytes(const struct og_most *of, int threads)
{
    (void)of, (void)threads;
    return 0;
}

static size_t none(int a, int b)
{
    (void)a, (void)b;
    return 0;
}

static size_t no_partial(uint64_t rows, int n_out, uint64_t n_in)
{
    (void)rows, (void)n_out, (void)n_in;
    return 0;
}

static size_t no_columns(uint64_t rows, size_t columns)
{
    (void)rows, (void)columns;
    return 0;
}

static void no_scratch(struct og_nn_backend *be, char *scratch, size_t bytes, float *partial)
{
    (void)be, (void)scratch, (void)bytes, (void)partial;
}

static int check_compute(int compute, struct og_err *err)
{
    return tested_ops()->check_compute(compute, err);
}

static int pack(struct og_nn_backend *be, struct og_weight **w, size_t n, struct og_err *err)
{
    (void)be, (void)w, (void)n, (void)err;
    return 0;
}

const struct og_nn_ops og__ops_on_virtual = {.name = "on virtual",
                                             .open = opened,
                                             .close = og__device_close,
                                             .check_compute = check_compute,
                                             .set_compute = og__device_set_compute,
                                             .own_bytes = og__device_own_bytes,
                                             .memory = og__device_memory,
                                             .fetch = og__device_fetch,
                                             .push = og__device_push,
                                             .constant = og__device_constant,
                                             .room_bytes = room_bytes,
                                             .clear = clear_finished,
                                             .number = number_finished,
                                             .gather = og__device_gather,
                                             .set_scratch = no_scratch,
                                             .scratch_bytes = no_scratch_bytes,
                                             .partial_bytes = no_partial,
                                             .column_bytes = no_columns,
                                             .packed_bytes = none,
                                             .pack = pack,
                                             .scale = scale_finished,
                                             .transpose = transpose_finished,
                                             .affine = affine_finished,
                                             .weight_grad = weight_grad_finished,
                                             .dot = dot_finished,
                                             .attend = attend_finished,
                                             .attend_back = attend_back_finished,
                                             .fold = fold_finished,
                                             .fold_back = fold_back_finished,
                                             .put = put_finished,
                                             .mix = mix_finished,
                                             .mix_back = mix_back_finished,
                                             .blend_sort = blend_sort_finished,
                                             .blend = blend_finished,
                                             .blend_weights = blend_weights_finished,
                                             .blend_rows = blend_rows_finished,
                                             .pool_max = pool_max_finished,
                                             .pool_max_back = pool_max_back_finished,
                                             .moments = moments_finished,
                                             .track = track_finished,
                                             .rstd = rstd_finished,
                                             .finish = finish_finished,
                                             .finish_back = finish_back_finished,
                                             .softmax_loss = softmax_loss_finished,
                                             .sigmoid_loss = sigmoid_loss_finished,
                                             .value_loss = value_loss_finished,
                                             .share_loss = share_loss_finished,
                                             .pair_dot = pair_dot_finished,
                                             .pair_product = pair_product_finished,
                                             .pair_list = pair_list_finished,
                                             .pair_back = pair_back_finished,
                                             .pair_kinds = pair_kinds_finished,
                                             .link_loss = link_loss_finished,
                                             .rank = rank_finished,
                                             .adam = adam_finished,
                                             .sgd = sgd_finished};
