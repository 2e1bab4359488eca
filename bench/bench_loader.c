/* Seconds an epoch of a loader alone: batches are taken and released at once. The same options
 * given to `outgrow bench epoch` are what it is judged by.
 *
 *   bench_loader DATASET [hold N] [OPTION VALUE]...
 *
 * Prints JSON: seconds and resident memory of each epoch, plan and counters of the loader. Also
 * what the process held before the loader was opened, by the kernel's count, and the peak beyond
 * that. */
#include "base/json.h"
#include "options/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int go_through(struct og_loader *l, json_t *row, struct og_err *err)
{
    const struct og_minibatch *b = NULL;
    const double start = og__now();
    int rc;
    while ((rc = og_loader_next(l, -1, &b, err)) == 0 && b)
        og_minibatch_release(b);
    json_object_set_new(row, "seconds", json_real(og__now() - start));
    json_object_set_new(row, "rss_bytes", json_integer((json_int_t)og__rss_now()));
    return rc;
}

/* What `tell` says of the loader. */
static int note(struct og_loader *l, json_t *root, const char *name,
                int (*tell)(struct og_loader *, char **, struct og_err *), struct og_err *err)
{
    char *text = NULL;
    int rc = tell(l, &text, err);
    if (rc == 0)
        json_object_set_new(root, name, json_loads(text, 0, NULL));
    free(text);
    return rc;
}

static int run(const char *dataset, const struct og_options *opt,
               const struct og_loader_options *from, json_t *root, struct og_err *err)
{
    struct og_loader *l = NULL;
    const size_t before = og__rss_now();
    const double start = og__now();
    json_t *epochs = json_array();
    json_object_set_new(root, "epochs", epochs);
    int rc;
    OG_TRY(og_loader_open(&l, dataset, opt, from, NULL, err));
    json_object_set_new(root, "open_seconds", json_real(og__now() - start));
    for (int epoch = 1; epoch <= opt->epochs; epoch++) {
        json_t *row = json_pack("{s:i}", "epoch", epoch);
        json_array_append_new(epochs, row);
        OG_TRY(og_loader_start(l, epoch, err));
        OG_TRY(go_through(l, row, err));
    }
    json_object_set_new(root, "baseline_bytes", json_integer((json_int_t)before));
    json_object_set_new(root, "peak_bytes", json_integer((json_int_t)(og__rss_peak() - before)));
    OG_TRY(note(l, root, "plan", og_loader_plan, err));
    OG_TRY(note(l, root, "metrics", og_loader_metrics, err));
out:
    og_loader_close(l);
    return rc;
}

static int set(struct og_options *opt, struct og_loader_options *from, const char *name,
               const char *value, struct og_err *err)
{
    if (strcmp(name, "hold") != 0)
        return og_options_set(opt, name, value, err);
    from->hold = (int)strtol(value, NULL, 10);
    return 0;
}

int main(int argc, char **argv)
{
    struct og_err err = {0};
    struct og_options opt;
    struct og_loader_options from;
    json_t *root = json_object();
    int rc = argc > 1 ? 0
                      : og__fail(&err, -EINVAL, "bench_loader DATASET [hold N] [OPTION VALUE]...",
                                 "no dataset is given");
    og__options_init(&opt);
    og_loader_options_init(&from);
    for (int i = 2; i + 1 < argc && rc == 0; i += 2)
        rc = set(&opt, &from, argv[i], argv[i + 1], &err);
    if (rc == 0)
        rc = run(argv[1], &opt, &from, root, &err);
    if (rc < 0)
        fprintf(stderr, "bench_loader: %s\nhint: %s\n", err.message, err.hint);
    else
        json_dumpf(root, stdout, JSON_INDENT(2));
    json_decref(root);
    og__options_release(&opt);
    return rc < 0;
}
