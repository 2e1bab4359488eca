#include "cli.h"

#include <stdio.h>

static const struct og_option own[] = {
    OWN_TEXT("dataset", "DIR", "for samples: dataset to compare them and their packed rows with"),
    OWN_FLAG("repair-hints", "print a remedy after each finding"),
    {0},
};

struct listing {
    json_t *findings, *hints; /* NULL: printed line by line */
    bool with_hints, lacking; /* lacking: some could not be stored */
};

static void on_finding(void *arg, const char *text, const char *hint)
{
    struct listing *l = arg;
    if (l->findings) {
        l->lacking = l->lacking || json_array_append_new(l->findings, json_string(text)) < 0 ||
                     json_array_append_new(l->hints, json_string(hint)) < 0;
        return;
    }
    puts(text);
    if (l->with_hints && hint[0])
        printf("hint: %s\n", hint);
}

static int verify(const struct invocation *in, struct listing *l, struct og_err *err)
{
    const char *folder = in->arg[0];
    const char *dataset = own_text(in, "dataset");
    const struct og_observer *observer = screen_observer(in->screen, 0);
    if (is_there(folder, "trace.json"))
        return og_verify_samples(folder, dataset, on_finding, l, observer, err);
    if (dataset)
        return usage_error(err, NULL, "verify: --dataset requires a folder of samples");
    return og_verify(folder, on_finding, l, observer, err);
}

static int print_findings(const struct listing *l, struct og_err *err)
{
    json_t *root = json_pack("{s:O}", "findings", l->findings);
    if (!l->lacking && (!l->with_hints || json_object_set(root, "hints", l->hints) == 0))
        return print_json(root, err);
    json_decref(root);
    return no_result(err);
}

static int run(struct invocation *in, struct og_err *err)
{
    struct listing l = {.with_hints = own_flag(in, "repair-hints")};
    bool found = false;
    int rc;
    if (in->json && (!(l.findings = json_array()) || !(l.hints = json_array())))
        TRY(no_result(err));
    TRY(verify(in, &l, err));
    found = rc > 0;
    if (in->json)
        TRY(print_findings(&l, err));
    else if (!found && !in->quiet)
        printf("%s: nothing wrong\n", in->arg[0]);
    rc = found ? CLI_FOUND : 0;
out:
    json_decref(l.findings);
    json_decref(l.hints);
    return rc;
}

const struct command cmd_verify = {
    .name = "verify",
    .group = "Datasets",
    .args = "DATASET|SAMPLES",
    .min_args = 1,
    .max_args = 1,
    .summary = "check a dataset, or samples and packs, for damage",
    .text =
        "Reads every file and checks checksums, ranges, order and NaN. In a folder of `outgrow "
        "sample` it checks every batch, and the packed rows of `outgrow pack`, against their "
        "checksums and each other. With --dataset it also compares batches and packed rows with "
        "that dataset. Prints one line per finding; exit status 1 if there is one. With "
        "--repair-hints a remedy follows each finding. It never changes a file.",
    .own = own,
    .run = run,
};
