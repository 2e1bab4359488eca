#include "cli.h"

#include <stdio.h>
#include <stdlib.h>

static void on_finding(void *arg, const char *text)
{
    json_t *findings = arg;
    if (findings)
        json_array_append_new(findings, json_string(text));
    else
        puts(text);
}

static int run(struct invocation *in, struct og_err *err)
{
    json_t *findings = in->json ? json_array() : NULL;
    int rc = og_verify(in->arg[0], on_finding, findings, screen_observer(in->screen, 0), err);
    if (rc >= 0 && findings) {
        json_t *root = json_pack("{s:O}", "findings", findings);
        json_dumpf(root, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(root);
    } else if (rc == 0 && !in->quiet) {
        printf("%s: nothing wrong\n", in->arg[0]);
    }
    json_decref(findings);
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
        "status 1 if there is one.",
    .run = run,
};
