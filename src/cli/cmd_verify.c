#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct og_option own[] = {
    OWN_TEXT("dataset", "DIR",
             "of samples: compare them, and the rows packed for them, with this one"),
    OWN_FLAG("repair-hints", "after each finding, say what would mend it"),
    {0},
};

struct listing {
    json_t *findings, *hints; /* NULL: printed line by line */
    bool with_hints, lacking; /* lacking: not all could be kept */
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

static bool is_there(const char *folder, const char *file)
{
    char *path = NULL;
    bool there = asprintf(&path, "%s/%s", folder, file) >= 0 && access(path, F_OK) == 0;
    free(path);
    return there;
}

static int verify(const struct invocation *in, struct listing *l, struct og_err *err)
{
    const char *folder = in->arg[0];
    const char *dataset = own_text(in, "dataset");
    const struct og_observer *seen = screen_observer(in->screen, 0);
    if (is_there(folder, "trace.json"))
        return og_verify_samples(folder, dataset, on_finding, l, seen, err);
    if (dataset)
        return usage_error(err, NULL, "verify: --dataset is for a folder of samples");
    return og_verify_hints(folder, on_finding, l, seen, err);
}

static int run(struct invocation *in, struct og_err *err)
{
    struct listing l = {.with_hints = own_flag(in, "repair-hints")};
    if (in->json && (!(l.findings = json_array()) || !(l.hints = json_array())))
        l.lacking = true;
    int rc = l.lacking ? no_result(err) : verify(in, &l, err);
    if (rc >= 0 && in->json) {
        json_t *root = json_pack("{s:O}", "findings", l.findings);
        if (l.lacking || (l.with_hints && json_object_set(root, "hints", l.hints) < 0)) {
            json_decref(root);
            root = NULL;
        }
        int printed = print_json(root, err);
        rc = printed < 0 ? printed : rc;
    } else if (rc == 0 && !in->quiet) {
        printf("%s: nothing wrong\n", in->arg[0]);
    }
    json_decref(l.findings);
    json_decref(l.hints);
    return rc > 0 ? CLI_FOUND : rc;
}

const struct command cmd_verify = {
    .name = "verify",
    .args = "DATASET|SAMPLES",
    .min_args = 1,
    .max_args = 1,
    .summary = "check a dataset, or samples and packs, for damage",
    .text = "Reads every file and checks checksums, ranges, order and NaN. Of a folder made by "
            "`outgrow sample`: every batch, and what `outgrow pack` put beside them, against their "
            "checksums and each other; with --dataset against that dataset too, packed rows "
            "included. One line a finding; exit "
            "status 1 if there is one. With --repair-hints each is followed by what would mend it; "
            "nothing is ever changed by this command.",
    .own = own,
    .run = run,
};
