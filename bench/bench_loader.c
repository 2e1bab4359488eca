/* Seconds an epoch of a loader alone: batches are taken and released at once. The same options
 * given to `outgrow bench epoch` are what it is judged by.
 *
 *   bench_loader DATASET [OPTION VALUE]...      prints JSON: epochs, peak and memory held after
 * each
 *
 * The peak is the process's less what it was before the loader was opened. */
#include "base/json.h"

#include <outgrow/outgrow.h>

#include <stdio.h>
#include <stdlib.h>

static int go_through(struct og_loader *l, json_t *row, struct og_err *err)
{
    const struct og_minibatch *b = NULL;
    double start = og__now();
    double stall = 0;
    int64_t rows = 0;
    int rc;
    while ((rc = og_loader_next(l, -1, &b, err)) == 0 && b) {
        stall += b->stall_seconds;
        rows += b->ids.shape[0];
        og_minibatch_release(b);
    }
    json_object_set_new(row, "seconds", json_real(og__now() - start));
    json_object_set_new(row, "stall_seconds", json_real(stall));
    json_object_set_new(row, "rows", json_integer(rows));
    json_object_set_new(row, "rss_bytes", json_integer((json_int_t)og__rss_now()));
    return rc;
}

static int run(const char *dataset, const struct og_options *opt, json_t *root, struct og_err *err)
{
    struct og_loader *l = NULL;
    const size_t before = og__rss_now();
    json_t *epochs = json_array();
    json_object_set_new(root, "epochs", epochs);
    int rc;
    double start = og__now();
    OG_TRY(og_loader_open(&l, dataset, opt, NULL, NULL, err));
    json_object_set_new(root, "open_seconds", json_real(og__now() - start));
    for (int epoch = 1; epoch <= opt->epochs; epoch++) {
        json_t *row = json_pack("{s:i}", "epoch", epoch);
        json_array_append_new(epochs, row);
        OG_TRY(og_loader_start(l, epoch, err));
        OG_TRY(go_through(l, row, err));
    }
    json_object_set_new(root, "peak_bytes", json_integer((json_int_t)(og__rss_peak() - before)));
out:
    og_loader_close(l);
    return rc;
}

int main(int argc, char **argv)
{
    struct og_err err = {0};
    struct og_options opt;
    json_t *root = json_object();
    int rc = argc > 1 ? 0
                      : og__fail(&err, -EINVAL, "bench_loader DATASET [OPTION VALUE]...",
                                 "no dataset is given");
    og_options_init(&opt);
    for (int i = 2; i + 1 < argc && rc == 0; i += 2)
        rc = og_options_set(&opt, argv[i], argv[i + 1], &err);
    if (rc == 0)
        rc = run(argv[1], &opt, root, &err);
    if (rc < 0)
        fprintf(stderr, "bench_loader: %s\nhint: %s\n", err.message, err.hint);
    else
        json_dumpf(root, stdout, JSON_INDENT(2));
    json_decref(root);
    og_options_release(&opt);
    return rc < 0;
}
