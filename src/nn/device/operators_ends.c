/* Device operators row by row: the end of a layer, losses, the optimiser. Only counts of metrics
 * are copied to the host. */
#include "nn/device/backend.h"
#include "nn/tasks.h"

/* ==== the end of a layer ==== */

int og__device_moments(struct og_nn_backend *be, const struct og_moments *op, struct og_err *err)
{
    const size_t cols = (size_t)op->cols;
    struct og_k_columns args = {.of = OG__VALUES,
                                .rows = op->rows,
                                .cols = (uint32_t)cols,
                                .y = op->y,
                                .mean = op->mean,
                                .ld = cols,
                                .sum = op->mean,
                                .times = 1.0 / op->rows};
    OG_DO(og__device_room(be, og__device_parts_bytes(op->rows, cols), err));
    OG_DO(og__device_sum_columns(be, args, (double *)(void *)be->room, err));
    args.of = OG__SQUARES;
    args.sum = op->var;
    return og__device_sum_columns(be, args, (double *)(void *)be->room, err);
}

int og__device_track(struct og_nn_backend *be, const struct og_track *op, struct og_err *err)
{
    return OG__EACH_ITEM(be, og__k_track, op->cols, op, err);
}

int og__device_rstd(struct og_nn_backend *be, const struct og_rstd *op, struct og_err *err)
{
    return OG__EACH_ITEM(be, og__k_rstd, op->cols, op, err);
}

static struct og_k_finish ending(const struct og_finish *op)
{
    struct og_k_finish args = {.op = *op, .drops = op->dropout};
    if (op->dropout)
        args.dropout = *op->dropout;
    return args;
}

int og__device_finish(struct og_nn_backend *be, const struct og_finish *op, struct og_err *err)
{
    const struct og_k_finish args = ending(op);
    return OG__EACH_WARP(be, og__k_finish, op->rows, &args, err);
}

int og__device_finish_back(struct og_nn_backend *be, const struct og_finish_back *op,
                           struct og_err *err)
{
    const struct og_finish *fwd = op->forward;
    const size_t cols = (size_t)fwd->cols;
    const size_t row_bytes = og__device_room_of(2 * (size_t)fwd->rows * sizeof(float));
    struct og_k_finish args = ending(fwd);
    OG_DO(og__device_room(be, row_bytes + og__device_parts_bytes(fwd->rows, cols), err));
    args.g = op->g;
    args.dweight = op->dweight;
    args.dbias = op->dbias;
    args.row = (float *)(void *)be->room;
    OG_DO(OG__EACH_WARP(be, og__k_finish_back, fwd->rows, &args, err));
    if (fwd->norm == OG_NORM_NONE)
        return 0;
    struct og_k_columns sums = {.of = fwd->norm == OG_NORM_BATCH ? OG__SCALED : OG__SCALED_BY_ROW,
                                .rows = fwd->rows,
                                .cols = (uint32_t)cols,
                                .y = fwd->y,
                                .g = op->g,
                                .mean = fwd->mean,
                                .rstd = fwd->rstd,
                                .row = args.row,
                                .ld = cols,
                                .sum = op->dweight,
                                .times = 1};
    OG_DO(og__device_sum_columns(be, sums, (double *)(void *)(be->room + row_bytes), err));
    sums.of = OG__SLOPES;
    sums.sum = op->dbias;
    OG_DO(og__device_sum_columns(be, sums, (double *)(void *)(be->room + row_bytes), err));
    return OG__EACH_WARP(be, og__k_norm_back, fwd->rows, &args, err);
}

/* ==== losses ==== */

/* Memory for the metrics of each block, then for a sum of weights. */
static int loss_room(struct og_nn_backend *be, uint32_t rows, struct og_metrics **blocks,
                     double **weight, struct og_err *err)
{
    const size_t bytes = og__device_room_of(og__n_blocks(rows) * sizeof(**blocks));
    int rc = og__device_room(be, bytes + sizeof(**weight), err);
    *blocks = (struct og_metrics *)(void *)be->room;
    *weight = (double *)(void *)(be->room + bytes);
    return rc;
}

static int launch_rows(struct og_nn_backend *be, int kernel, uint32_t rows, const void *args,
                       size_t bytes, struct og_err *err)
{
    return og__device_launch(be, kernel, og__n_blocks(rows), OG__BLOCK_ROWS, args, bytes, err);
}

/* Copies the sum of all blocks, in their order, to the host. */
static int collect(struct og_nn_backend *be, uint32_t rows, struct og_metrics *blocks,
                   struct og_metrics *out, struct og_err *err)
{
    const struct og_k_add_metrics args = {(uint32_t)og__n_blocks(rows), blocks};
    *out = (struct og_metrics){0};
    if (rows == 0)
        return 0;
    int rc = OG__EACH_ITEM(be, og__k_add_metrics, 1, &args, err);
    return rc < 0 ? rc : og__device_fetch(be, out, blocks, sizeof(*out), err);
}

/* count: the kernel that adds the weights of rows, or counts known labels or values. */
static int rows_loss(struct og_nn_backend *be, const struct og_loss *op, int count, int kernel,
                     struct og_err *err)
{
    struct og_k_loss args = {.op = *op};
    OG_DO(loss_room(be, op->rows, &args.blocks, &args.weight, err));
    OG_DO(og__device_launch(be, count, 1, 256, &args, sizeof(args), err));
    OG_DO(launch_rows(be, kernel, op->rows, &args, sizeof(args), err));
    return collect(be, op->rows, args.blocks, op->out, err);
}

static int no_such_loss(int loss, struct og_err *err)
{
    return og__fail(err, -ENOTSUP, "use --device cpu", "--loss %s: devices have no kernel of it",
                    og__loss_words[loss]);
}

static bool is_of_classes(int loss)
{
    return loss == OG_LOSS_AUTO || loss == OG_LOSS_FOCAL;
}

int og__device_softmax_loss(struct og_nn_backend *be, const struct og_loss *op, struct og_err *err)
{
    return is_of_classes(op->loss)
               ? rows_loss(be, op, og__k_count_classes_number, og__k_softmax_number, err)
               : no_such_loss(op->loss, err);
}

int og__device_sigmoid_loss(struct og_nn_backend *be, const struct og_loss *op, struct og_err *err)
{
    return is_of_classes(op->loss)
               ? rows_loss(be, op, og__k_count_values_number, og__k_sigmoid_number, err)
               : no_such_loss(op->loss, err);
}

static bool is_of_values(int loss)
{
    return loss == OG_LOSS_MSE || loss == OG_LOSS_MAE || loss == OG_LOSS_HUBER;
}

int og__device_value_loss(struct og_nn_backend *be, const struct og_loss *op, struct og_err *err)
{
    return is_of_values(op->loss)
               ? rows_loss(be, op, og__k_count_values_number, og__k_values_number, err)
               : no_such_loss(op->loss, err);
}

int og__device_share_loss(struct og_nn_backend *be, const struct og_loss *op, struct og_err *err)
{
    return is_of_values(op->loss) || op->loss == OG_LOSS_CROSS_ENTROPY
               ? rows_loss(be, op, og__k_count_shares_number, og__k_shares_number, err)
               : no_such_loss(op->loss, err);
}

int og__device_link_loss(struct og_nn_backend *be, const struct og_link_loss *op,
                         struct og_err *err)
{
    struct og_k_links args = {.op = *op};
    double *unused;
    if (op->loss != OG_LOSS_BCE && op->loss != OG_LOSS_MARGIN)
        return no_such_loss(op->loss, err);
    OG_DO(loss_room(be, op->n_edges, &args.blocks, &unused, err));
    OG_DO(launch_rows(be, og__k_links_number, op->n_edges, &args, sizeof(args), err));
    return collect(be, op->n_edges, args.blocks, op->out, err);
}

int og__device_rank(struct og_nn_backend *be, const struct og_rank *op, struct og_err *err)
{
    const struct og_pairs *p = op->pairs;
    struct og_k_ranks args = {.n_edges = p->n_edges,
                              .n_negatives = p->n_negatives,
                              .n_rank_negatives = p->n_rank_negatives,
                              .n_turns = p->n_edges * (p->both_ends ? 2 : 1),
                              .given = p->ranks_given,
                              .a = p->a,
                              .b = p->b,
                              .score = op->score};
    struct og_metrics sum;
    double *unused;
    OG_DO(loss_room(be, args.n_turns, &args.blocks, &unused, err));
    OG_DO(launch_rows(be, og__k_ranks_number, args.n_turns, &args, sizeof(args), err));
    OG_DO(collect(be, args.n_turns, args.blocks, &sum, err));
    og__metrics_add(op->out, &sum);
    return 0;
}

/* ==== optimisers ==== */

static struct og_k_update update(const struct og_update *op)
{
    return (struct og_k_update){*op,
                                (float)op->rate,
                                (float)op->root,
                                (float)op->weight_decay,
                                (float)op->shrink,
                                (float)op->scale,
                                (float)op->beta1,
                                (float)op->beta2,
                                (float)(1 - op->beta1),
                                (float)(1 - op->beta2),
                                (float)op->epsilon};
}

int og__device_adam(struct og_nn_backend *be, const struct og_update *op, struct og_err *err)
{
    const struct og_k_update args = update(op);
    return OG__EACH_ITEM(be, og__k_adam, op->n, &args, err);
}

int og__device_sgd(struct og_nn_backend *be, const struct og_update *op, struct og_err *err)
{
    const struct og_k_update args = update(op);
    return OG__EACH_ITEM(be, og__k_sgd, op->n, &args, err);
}
