#include "cli.h"

#include <stdio.h>
#include <stdlib.h>

static const struct own_option own[] = {
    {"repair-hints", NULL, "after each finding, say what would mend it"},
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

static int run(struct invocation *in, struct og_err *err)
{
    struct listing l = {.with_hints = own_flag(in, "repair-hints")};
    if (in->json && (!(l.findings = json_array()) || !(l.hints = json_array())))
        l.lacking = true;
    int rc = l.lacking
                 ? no_result(err)
                 : og_verify_hints(in->arg[0], on_finding, &l, screen_observer(in->screen, 0), err);
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
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "check a dataset for damage",
    .text =
        "Reads every file and checks checksums, ranges, order and NaN. One line a finding; exit "
        "status 1 if there is one. With --repair-hints each is followed by what would mend it; "
        "nothing is ever changed by this command.",
    .own = own,
    .run = run,
};
