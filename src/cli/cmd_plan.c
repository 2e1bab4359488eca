#include "cli.h"

#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "?";
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* What an epoch finds in memory and reads, where the policy knows beforehand. */
static void say_epoch(const json_t *plan)
{
    const json_t *p = json_object_get(plan, "predicted");
    char rows[SHOWN_MAX];
    char bytes[SHOWN_MAX];
    double all = number(p, "rows");
    if (!json_is_number(json_object_get(p, "hits")))
        puts("What an epoch reads is known when it is over.");
    else
        printf("An epoch needs %s rows, finds %.1f %% of them in memory and reads %s.\n",
               show_value(rows, "rows", json_object_get(p, "rows")),
               all > 0 ? 100 * number(p, "hits") / all : 0,
               show_value(bytes, "bytes_read", json_object_get(p, "bytes_read")));
}

/* Those that are possible come first. */
static size_t count_possible(const json_t *candidates)
{
    size_t n = 0;
    while (json_is_true(json_object_get(json_array_get(candidates, n), "possible")))
        n++;
    return n;
}

/* Why this one, and what the next best would cost. */
static void say_choice(const json_t *plan)
{
    const json_t *candidates = json_object_get(plan, "candidates");
    const json_t *best = json_array_get(candidates, 0);
    const json_t *next = json_array_get(candidates, 1);
    char a[SHOWN_MAX];
    char b[SHOWN_MAX];
    const size_t n = count_possible(candidates);
    if (n == 0)
        return;
    show_value(a, "seconds", json_object_get(best, "seconds"));
    if (n == 1)
        printf("No other way that was counted is possible: %s an epoch, preparation included", a);
    else
        printf("Of %zu ways that were counted it is the fastest: %s an epoch, preparation included",
               n, a);
    if (n > 1)
        printf("; the next, %s with layout %s, takes %s (%+.0f %%)", text_of(next, "policy"),
               text_of(next, "layout"), show_value(b, "seconds", json_object_get(next, "seconds")),
               100 * (number(next, "seconds") / number(best, "seconds") - 1));
    puts(".");
}

static void show_plan(const json_t *root)
{
    char rows[SHOWN_MAX];
    printf("Memory holds %s feature rows by policy %s; others are read with layout %s; the graph's "
           "structure is %s.\n",
           show_value(rows, "cache_rows", json_object_get(root, "cache_rows")),
           text_of(root, "policy"), text_of(root, "layout"),
           strcmp(text_of(root, "topology"), "disk") == 0 ? "on disk" : "in memory");
    say_epoch(root);
    say_choice(root);
    putchar('\n');
    show_any(root);
}

static int run(struct invocation *in, struct og_err *err)
{
    char *text = NULL;
    int rc = og_plan(in->arg[0], &in->options, screen_observer(in->screen, in->options.epochs),
                     &text, err);
    return rc < 0 ? rc : deliver(in, text, show_plan, err);
}

const struct command cmd_plan = {
    .name = "plan",
    .group = "Models",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "say what training would keep where and read",
    .text = "Takes the options of train and runs nothing: which memory each part takes, how many "
            "rows an epoch will find in it and how many bytes it will read.",
    .training = true,
    .often = WORDS("fanout", "hidden", "batch", "memory", "cache", "policy", "layout", "topology",
                   "preset"),
    .run = run,
};
