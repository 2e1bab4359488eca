#include "bench/bench.h"
#include "cli.h"

#include <string.h>

static void show_fits(const json_t *fits)
{
    size_t i;
    json_t *fit;
    if (json_array_size(fits) == 0)
        return;
    puts("\nPredictions for several sizes of --memory, with --policy degree and otherwise the "
         "defaults of train.\nThe default policy, auto, may do better. `outgrow plan` takes other "
         "options: a smaller --batch, --fanout or --hidden needs less memory.\n");
    printf("%12s  %-12s  %16s  %14s\n", "--memory", "topology", "rows from memory",
           "read an epoch");
    json_array_foreach((json_t *)fits, i, fit)
        printf("%12s  %-12s  %16s  %14s\n", shown(fit, "memory_bytes"),
               strcmp(text_of(fit, "structure"), "disk") == 0 ? "on disk" : "in memory",
               shown(fit, "hit_rate"), shown(fit, "bytes_read"));
}

/* Where the seconds went, in one line. */
static void show_stages(const json_t *stages)
{
    const char *key;
    json_t *seconds;
    const char *before = "Time: ";
    char text[SHOWN_MAX];
    json_object_foreach((json_t *)stages, key, seconds)
    {
        printf("%s%s %s", before, key, show_value(text, "seconds", seconds));
        before = ", ";
    }
    puts(".");
}

static void show_run(const json_t *run)
{
    size_t i;
    json_t *sentence;
    json_t *remedy;
    if (!json_is_object(run))
        return;
    if (*text_of(run, "doubt"))
        puts(text_of(run, "doubt"));
    json_array_foreach(json_object_get(run, "sentences"), i, sentence)
        puts(json_string_value(sentence));
    show_stages(json_object_get(run, "seconds_by_stage"));
    if (*text_of(run, "command"))
        printf("\n    %s\n", text_of(run, "command"));
    json_array_foreach(json_object_get(run, "further"), i, remedy)
    {
        printf("%s%s\n", i ? "" : "\nWhat else would help:\n\n", text_of(remedy, "sentence"));
        if (*text_of(remedy, "command"))
            printf("\n    %s\n\n", text_of(remedy, "command"));
    }
    putchar('\n');
}

static void show_checks(const json_t *root)
{
    show_run(json_object_get(root, "run"));
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

/* A dataset has no such files, and a run has no meta.json. */
static bool is_run(const char *folder)
{
    return is_there(folder, "summary.json") ||
           (is_there(folder, "config.yaml") && !is_there(folder, "meta.json"));
}

/* Adds the explanation of a run to the checks of this machine. */
static int add_run(char **text, const char *folder, struct og_err *err)
{
    json_t *summary = NULL;
    json_t *root = json_loads(*text, 0, NULL);
    int rc;
    TRY(load_summary(&summary, folder, err));
    free(*text);
    *text = json_object_set_new(root, "run", explain_run(summary, folder)) == 0
                ? json_dumps(root, JSON_INDENT(2))
                : NULL;
    rc = *text ? 0 : no_result(err);
out:
    json_decref(summary);
    json_decref(root);
    return rc;
}

static int run(struct invocation *in, struct og_err *err)
{
    char *text = NULL;
    bool stops;
    const char *folder = in->n_args > 0 ? in->arg[0] : NULL;
    const bool of_run = folder && is_run(folder);
    int rc;
    TRY(og__doctor(of_run ? NULL : folder, own_text(in, "scratch"), &stops, &text, err));
    TRY(of_run ? add_run(&text, folder, err) : 0);
    rc = deliver(in, text, show_checks, err);
    return rc < 0 ? rc : stops ? CLI_FOUND : 0;
out:
    free(text);
    return rc;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .group = "This machine",
    .args = "[DATASET|RUN]",
    .min_args = 0,
    .max_args = 1,
    .summary = "find what makes training slow or impossible, with remedies",
    .text =
        "Prints one line per check: fine, note (slower than possible) or stops. Checks io_uring, "
        "direct reads, the disk's profile and free space, memory and the limits of every control "
        "group, locked memory, huge pages, CPUs. With DATASET also whether it can be trained on, "
        "and the predicted effect of several sizes of --memory. With RUN, the folder of a finished "
        "run, first which stage took the largest share of its time, and the commands that "
        "would help, the best first. Exit status 1 if something stops training.",
    .own = own,
    .run = run,
};
