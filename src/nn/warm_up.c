/* The libraries' own memory, allocated before ours is counted. A training step of a toy model makes
 * oneDNN generate its kernels and every thread of the pool allocate. */
#include "nn/nn.h"

enum { ROWS = 256, WIDTH = 64, CLASSES = 16 };

int og__nn_warm_up(const struct og_nn_ops *ops, int number, struct og_pool *pool,
                   struct og_err *err)
{
    static uint32_t indptr[ROWS + 1]; /* no edges; read only */
    static const float features[ROWS * WIDTH];
    static const int32_t labels[ROWS];
    const struct og_model_config config = {
        .kind = OG_MODEL_SAGE, .layers = 1, .in_dim = WIDTH, .hidden = WIDTH, .n_classes = CLASSES};
    const struct og_batch batch = {
        .n_hops = 1,
        .hop = {{.n_dst = ROWS, .n_src = ROWS, .indptr = indptr, .src = indptr}},
        .n_ids = ROWS,
        .n_seeds = ROWS};
    const struct og_batch_caps caps = {.n_hops = 1, .hop = {{.n_dst = ROWS, .n_src = ROWS}}};
    const struct og_rows x = {.base = (const char *)features,
                              .stride = WIDTH * sizeof(float),
                              .n = ROWS,
                              .dim = WIDTH,
                              .dtype = OG_F32};
    const struct og_step step = {1, 1, 0};
    const struct og_pace pace = og__usual_pace(0, 0);
    struct og_metrics metrics;
    struct og_model *m = NULL;
    int rc;
    OG_TRY(og__model_create_on(&m, ops, number, &config, OG_OPTIMIZER_ADAM, 1, pool, NULL, err));
    OG_TRY(og__model_reserve(m, &caps, true, err));
    OG_TRY(og__model_gradients(m, &batch, &x, NULL, labels, &step, &metrics, err));
    OG_TRY(og__model_update(m, &pace, 1, 1, err));
out:
    og__model_free(m);
    return rc;
}
