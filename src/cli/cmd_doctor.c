#include "bench/bench.h"
#include "cli.h"

#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void show_fits(const json_t *fits)
{
    char memory[SHOWN_MAX];
    char share[SHOWN_MAX];
    char bytes[SHOWN_MAX];
    size_t i;
    json_t *fit;
    if (json_array_size(fits) == 0)
        return;
    puts("\nPredictions for several sizes of --memory, with --policy degree; the default, auto, "
         "may do better (see `outgrow plan`):\n");
    printf("%12s  %-12s  %16s  %14s\n", "--memory", "topology", "rows from memory",
           "read an epoch");
    json_array_foreach((json_t *)fits, i, fit)
        printf("%12s  %-12s  %16s  %14s\n",
               show_value(memory, "bytes", json_object_get(fit, "memory_bytes")),
               strcmp(text_of(fit, "structure"), "disk") == 0 ? "on disk" : "in memory",
               show_value(share, "share", json_object_get(fit, "hit_rate")),
               show_value(bytes, "bytes", json_object_get(fit, "bytes_read")));
}

static void show_checks(const json_t *root)
{
    size_t i;
    json_t *check;
    json_array_foreach(json_object_get(root, "checks"), i, check)
    {
        printf("%-5s  %-17s  %s\n", text_of(check, "verdict"), text_of(check, "check"),
               text_of(check, "found"));
        if (*text_of(check, "advice"))
            printf("%-5s  %-17s  -> %s\n", "", "", text_of(check, "advice"));
    }
    show_fits(json_object_get(root, "fits"));
}

static const struct og_option own[] = {
    OWN_TEXT("scratch", "DIR,...", "folders to check too, as in --scratch of train"),
    {0},
};

static int run(struct invocation *in, struct og_err *err)
{
    char *text = NULL;
    bool stops;
    int rc =
        og__doctor(in->n_args > 0 ? in->arg[0] : NULL, own_text(in, "scratch"), &stops, &text, err);
    if (rc < 0)
        return rc;
    rc = deliver(in, text, show_checks, err);
    return rc < 0 ? rc : stops ? CLI_FOUND : 0;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .group = "This machine",
    .args = "[DATASET]",
    .min_args = 0,
    .max_args = 1,
    .summary = "find what makes training slow or impossible, with remedies",
    .text =
        "Prints one line per check: fine, note (slower than possible) or stops. Checks io_uring, "
        "direct reads, the disk's profile and free space, memory and the limits of every control "
        "group, locked memory, huge pages, CPUs. With DATASET also whether it can be trained on, "
        "and the predicted effect of several sizes of --memory. Exit status 1 if something stops "
        "training.",
    .own = own,
    .run = run,
};
