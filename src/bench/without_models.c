/* A build without models: the measurements of models return an error. */
#include "bench/bench.h"
#include "nn/nn.h"

static int refuse(char **out, struct og_err *err)
{
    const struct og_nn_ops *ops;
    if (out)
        *out = NULL;
    return og__nn_find(&ops, OG_DEVICE_CPU, err);
}

int og__bench_gemm(int dim, int classes, const struct og_options *opt, char **out,
                   struct og_err *err)
{
    (void)dim;
    (void)classes;
    (void)opt;
    return refuse(out, err);
}

int og__bench_train(const char *dataset, const struct og_options *opt,
                    const struct og_observer *observer, char **out, struct og_err *err)
{
    (void)dataset;
    (void)opt;
    (void)observer;
    return refuse(out, err);
}
