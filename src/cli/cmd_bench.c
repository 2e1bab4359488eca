#include "bench/bench.h"
#include "cli.h"

#include <string.h>

static const struct og_option own[] = {
    OWN_TEXT("path", "DIR", "io: folder on the disk to measure [.]"),
    OWN_NUMBER("dim", "F", "128", "gemm: features per node", 1, 1 << 20),
    OWN_NUMBER("classes", "C", "16", "gemm: node classes", 1, 1 << 20),
    {0},
};

typedef int measure(struct invocation *in, char **out, struct og_err *err);

static int bench_io(struct invocation *in, char **out, struct og_err *err)
{
    const char *path = own_text(in, "path");
    return og__bench_io(path ? path : ".", screen_observer(in->screen, 0), out, err);
}

static int bench_gemm(struct invocation *in, char **out, struct og_err *err)
{
    int dim;
    int classes;
    int rc = own_number(in, "dim", &dim, err);
    TRY(rc < 0 ? rc : own_number(in, "classes", &classes, err));
    TRY(og__bench_gemm(dim, classes, in->options, out, err));
out:
    return rc;
}

static int bench_sample(struct invocation *in, char **out, struct og_err *err)
{
    return og__bench_sample(in->arg[1], in->options, out, err);
}

static int bench_train(struct invocation *in, char **out, struct og_err *err)
{
    return og__bench_train(in->arg[1], in->options, screen_observer(in->screen, 1), out, err);
}

static int bench_epoch(struct invocation *in, char **out, struct og_err *err)
{
    return og__bench_epoch(in->arg[1], in->options,
                           screen_observer(in->screen, (int)option_number(in, "epochs")), out, err);
}

static const struct bench {
    const char *name;
    bool dataset;
    measure *measure;
} benches[] = {
    {"io", false, bench_io},      {"gemm", false, bench_gemm},  {"sample", true, bench_sample},
    {"train", true, bench_train}, {"epoch", true, bench_epoch},
};

static const struct bench *find_bench(const char *name)
{
    for (size_t i = 0; i < sizeof(benches) / sizeof(*benches); i++)
        if (strcmp(benches[i].name, name) == 0)
            return &benches[i];
    return NULL;
}

/* Refuses an option of another benchmark. */
static int check_own(const struct invocation *in, const char *bench, struct og_err *err)
{
    static const struct {
        const char *option, *of;
    } rows[] = {{"path", "io"}, {"dim", "gemm"}, {"classes", "gemm"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (own_flag(in, rows[i].option) && strcmp(rows[i].of, bench) != 0)
            return usage_error(err, "leave it out", "bench %s: --%s is of bench %s", bench,
                               rows[i].option, rows[i].of);
    return 0;
}

static int run(struct invocation *in, struct og_err *err)
{
    char *text = NULL;
    const struct bench *b = find_bench(in->arg[0]);
    if (!b)
        return usage_error(err, NULL, "bench %s: io, gemm, sample, train or epoch expected",
                           in->arg[0]);
    if (b->dataset != (in->n_args == 2))
        return usage_error(err, NULL, "bench %s: %s", b->name,
                           b->dataset ? "DATASET expected" : "takes no dataset");
    int rc = check_own(in, b->name, err);
    rc = rc < 0 ? rc : b->measure(in, &text, err);
    return rc < 0 ? rc : deliver(in, text, show_any, err);
}

const struct command cmd_bench = {
    .name = "bench",
    .group = "This machine",
    .args = "io|gemm|sample|train|epoch [DATASET]",
    .min_args = 1,
    .max_args = 2,
    .summary = "measure the disk, the sampler, the products, the data path",
    .text = "`io` measures the disk under --path and stores its profile, which the planner reads. "
            "It writes 2 GiB and takes a minute or two, longer on a slow or busy disk. "
            "`gemm` compares the model's matrix products with the library's fastest for their "
            "shapes. `sample` counts sampled edges per second. `train` compares in-memory training "
            "with lower bounds of its operators. `epoch` runs the data path without a model: "
            "sampling, planning, gathering and handing over batches.",
    .own = own,
    .training = true,
    .often = WORDS("fanout", "hidden", "batch", "epochs", "memory"),
    .without = WORDS("workers"),
    .run = run,
};
