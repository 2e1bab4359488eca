#include "cli.h"

#include <stdio.h>
#include <stdlib.h>

static const struct own_option own[] = {
    {"repair-hints", NULL, "after each finding, say what would mend it"},
    {0},
};

struct listing {
    json_t *findings, *hints; /* NULL: printed line by line */
    bool with_hints;
};

static void on_finding(void *arg, const char *text, const char *hint)
{
    struct listing *l = arg;
    if (l->findings) {
        json_array_append_new(l->findings, json_string(text));
        json_array_append_new(l->hints, json_string(hint));
        return;
    }
    puts(text);
    if (l->with_hints && hint[0])
        printf("hint: %s\n", hint);
}

static int run(struct invocation *in, struct og_err *err)
{
    json_t *findings = in->json ? json_array() : NULL;
    struct listing l = {findings, in->json ? json_array() : NULL, own_flag(in, "repair-hints")};
    int rc = og_verify_hints(in->arg[0], on_finding, &l, screen_observer(in->screen, 0), err);
    if (rc >= 0 && findings) {
        json_t *root = json_pack("{s:O}", "findings", findings);
        if (l.with_hints)
            json_object_set(root, "hints", l.hints);
        json_dumpf(root, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(root);
    } else if (rc == 0 && !in->quiet) {
        printf("%s: nothing wrong\n", in->arg[0]);
    }
    json_decref(findings);
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
