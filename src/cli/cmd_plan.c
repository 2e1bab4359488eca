#include "figure.h"

#include <string.h>

static const char *place_of(const json_t *exec)
{
    return strcmp(text_of(exec, "topology"), "disk") == 0 ? "on disk" : "in memory";
}

/* Describes where batches read rows that miss the cache, after their number. */
static const char *other_rows(const json_t *plan)
{
    static const char *const words[][2] = {
        {"raw", "are read from the feature file"},
        {"packed", "are packed in advance, one run per batch"},
        {"segmented", "are packed in advance, rows of several batches once"},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(words[i][0], text_of(plan, "layout")) == 0)
            return words[i][1];
    return "are on disk";
}

static bool misses_none(const json_t *plan)
{
    const json_t *misses = json_object_get(json_object_get(plan, "predicted"), "misses");
    return json_is_integer(misses) && json_integer_value(misses) == 0;
}

/* Names the policy of a plan; or both policies, the device's first. */
static const char *name_exec(char buf[SHOWN_MAX], const json_t *exec)
{
    const bool over = json_object_get(exec, "device_policy") != NULL;
    snprintf(buf, SHOWN_MAX, "%.40s%s%.40s", over ? text_of(exec, "device_policy") : "",
             over ? " over " : "", text_of(exec, "policy"));
    return buf;
}

/* Does the policy hold all rows of a few batches at a time? */
static bool scans(const json_t *plan)
{
    return strcmp(text_of(plan, "policy"), "sweep") == 0;
}

/* Prints which rows a scan has at a time. */
static void say_scans(const json_t *plan, const char *rows)
{
    const double batches = number_of(plan, "superbatch");
    printf("Memory takes the feature rows of ");
    if (batches == 1)
        printf("one batch");
    else
        printf("%.0f batches", batches);
    printf(" at a time, ");
    if (number_of(plan, "cache_rows") > 0)
        printf("%s, ", rows);
    printf("in file order");
}

static void say_places(const json_t *plan)
{
    const double n = number_of(plan, "cache_rows");
    const char *rows = shown(plan, "cache_rows");
    if (scans(plan))
        say_scans(plan, rows);
    else if (misses_none(plan) && !json_is_object(json_object_get(plan, "device")))
        printf("Memory holds all feature rows that are needed, %s", rows);
    else if (n > 0)
        printf("Memory holds %s feature row%s by policy %s, the others %s", rows, n == 1 ? "" : "s",
               text_of(plan, "policy"), other_rows(plan));
    else
        printf("Memory holds no feature rows (policy %s), all %s", text_of(plan, "policy"),
               other_rows(plan));
    printf("; the topology is %s.\n", place_of(plan));
}

/* Prints what devices read from one another. */
static void say_peers(const json_t *told)
{
    printf("%s of the rows on devices are on another device than their batch; %s move between "
           "devices.\n",
           shown(told, "peer_hits"), shown(told, "peer_bytes"));
}

/* Prints the device's hits and what moves over the interconnect. */
static void say_link(const json_t *plan)
{
    const json_t *told = json_object_get(plan, "predicted");
    const bool several = number_of(json_object_get(plan, "device"), "devices") > 1;
    if (json_is_object(told))
        printf(
            "The device caches %s of an epoch's rows; %s move over the interconnect to it and %s "
            "back.\n",
            shown(told, "device_hits"), shown(told, "link_bytes"), shown(told, "link_bytes_back"));
    if (json_is_object(told) && several)
        say_peers(told);
}

static void say_device(const json_t *plan)
{
    const json_t *device = json_object_get(plan, "device");
    if (json_is_object(device))
        printf("Above them the device caches %s rows by policy %s, within %s.\n",
               shown(device, "cache_rows"), text_of(device, "policy"),
               shown_as(json_object_get(device, "memory"), "limit", "bytes"));
}

/* What else an epoch reads: with a superbatch, rows that fill the cache. */
static const char *filling(const json_t *plan, char text[2 * SHOWN_MAX])
{
    const json_t *predicted = json_object_get(plan, "predicted");
    if (number_of(plan, "superbatch") <= 0)
        return "";
    if (!json_is_integer(json_object_get(predicted, "fill_bytes_read")))
        return ", besides what fills the cache";
    snprintf(text, 2 * SHOWN_MAX, ", besides about %s that fill the cache",
             shown(predicted, "fill_bytes_read"));
    return text;
}

/* Prints an epoch's hits and reads, if the policy can predict them. */
static void say_epoch(const json_t *plan)
{
    const json_t *p = json_object_get(plan, "predicted");
    char fill[2 * SHOWN_MAX];
    double all = number_of(p, "rows");
    if (!json_is_number(json_object_get(p, "hits")))
        puts("This policy does not predict what an epoch reads.");
    else
        printf("An epoch needs %s rows, finds %.1f %% of them in memory and reads %s%s.\n",
               shown(p, "rows"), all > 0 ? 100 * number_of(p, "hits") / all : 0,
               shown(p, "bytes_read"), filling(plan, fill));
}

/* With --exchange: prints what moves between workers, and who reads most. */
static void say_exchange(const json_t *plan)
{
    const json_t *x = json_object_get(plan, "exchange");
    const json_t *most = NULL;
    size_t i;
    const json_t *w;
    if (!json_is_object(x))
        return;
    json_array_foreach(json_object_get(x, "workers"), i, w)
    {
        if (!most || number_of(w, "feature_bytes_read") > number_of(most, "feature_bytes_read"))
            most = w;
    }
    printf(
        "This is the first worker, as the owner of its nodes. In an epoch %s rows, %s with their "
        "ids, move between workers",
        shown(x, "rows_exchanged"), shown(x, "exchanged_bytes"));
    if (json_is_integer(json_object_get(most, "feature_bytes_read")))
        printf("; worker %.0f reads most, %s", number_of(most, "rank"),
               shown(most, "feature_bytes_read"));
    printf(".\n");
}

/* Ends the line of a group of rows: what an epoch reads of it, if that is known. */
static void say_reads(const json_t *t)
{
    if (!json_is_number(json_object_get(t, "hits"))) {
        puts("");
        return;
    }
    printf("; an epoch needs %s, finds %.1f %% of them in memory and reads %s\n", shown(t, "rows"),
           number_of(t, "rows") > 0 ? 100 * number_of(t, "hits") / number_of(t, "rows") : 0,
           shown(t, "bytes_read"));
}

/* Prints a line per relation whose edges have features. */
static void say_edges(const json_t *plan)
{
    size_t i;
    const json_t *t;
    json_array_foreach(json_object_get(plan, "edges"), i, t)
    {
        const char *name = text_of(t, "name");
        printf("  %s%sfeatures of edges: memory holds %s of %s units of %.0f", name,
               *name ? ", " : "", shown(t, "cache_rows"), shown(t, "units"),
               number_of(t, "edges_of_unit"));
        say_reads(t);
    }
}

/* Prints a line per type: cached rows, and reads of an epoch. */
static void say_types(const json_t *plan)
{
    size_t i;
    const json_t *t;
    json_array_foreach(json_object_get(plan, "types"), i, t)
    {
        const char *nodes = shown(t, "nodes");
        if (!*text_of(t, "name")) /* the only one, which all else is of */
            continue;
        if (number_of(t, "row_bytes") == 0) {
            printf("  %s: %s nodes, %s\n", text_of(t, "name"), nodes,
                   json_is_true(json_object_get(t, "learnt")) ? "with learnable embeddings"
                                                              : "without features");
            continue;
        }
        printf("  %s: memory holds %s of %s rows", text_of(t, "name"), shown(t, "cache_rows"),
               nodes);
        say_reads(t);
    }
}

/* Possible plans come first. */
static size_t count_possible(const json_t *candidates)
{
    size_t n = 0;
    while (json_is_true(json_object_get(json_array_get(candidates, n), "possible")))
        n++;
    return n;
}

static bool same_place(const json_t *a, const json_t *b)
{
    return strcmp(text_of(a, "topology"), text_of(b, "topology")) == 0;
}

/* Prints the best plan with the other place of the topology, if there is one. */
static void say_structure(const json_t *plan)
{
    const json_t *candidates = json_object_get(plan, "candidates");
    const json_t *best = json_array_get(candidates, 0);
    const size_t n = count_possible(candidates);
    size_t i = 1;
    while (i < n && same_place(json_array_get(candidates, i), best))
        i++;
    if (i >= n)
        return;
    const json_t *other = json_array_get(candidates, i);
    const double more = 100 * (number_of(other, "seconds") / number_of(best, "seconds") - 1);
    printf("With the topology %s the fastest plan, %s with layout %s, takes %s (%+.0f %%)%s.\n",
           place_of(other), text_of(other, "policy"), text_of(other, "layout"),
           shown(other, "seconds"), more, more < 0 ? ", too little to move the topology" : "");
}

/* Prints why this plan was selected, and the next best. */
static void say_choice(const json_t *plan)
{
    const json_t *candidates = json_object_get(plan, "candidates");
    const json_t *best = json_array_get(candidates, 0);
    const json_t *next = json_array_get(candidates, 1);
    const char *a = shown(best, "seconds");
    char policy[SHOWN_MAX];
    const size_t n = count_possible(candidates);
    if (n == 0 && json_is_string(json_object_get(plan, "not_compared")))
        printf("No other execution plan was compared: %s.\n", text_of(plan, "not_compared"));
    if (n == 0)
        return;
    if (n == 1)
        printf("The only possible execution plan: %s an epoch, preparation included", a);
    else
        printf("Fastest of %zu execution plans%s: %s an epoch, preparation included", n,
               number_of(next, "seconds") < number_of(best, "seconds")
                   ? " with this place of the topology"
                   : "",
               a);
    if (n > 1 && same_place(best, next))
        printf("; the next, %s with layout %s, takes %s (%+.0f %%)", name_exec(policy, next),
               text_of(next, "layout"), shown(next, "seconds"),
               100 * (number_of(next, "seconds") / number_of(best, "seconds") - 1));
    puts(".");
    say_structure(plan);
}

/* Prints what chunks of seeds save, if they are used or save much. */
static void say_locality(const json_t *plan)
{
    const json_t *l = json_object_get(plan, "locality");
    const bool used = json_is_true(json_object_get(l, "used"));
    const double rows = number_of(l, "rows"), shuffled = number_of(l, "rows_shuffled");
    const double saved = shuffled > 0 ? 100 * (1 - rows / shuffled) : 0;
    if (!used && saved < 5)
        return;
    printf("--locality %.0f %s %.0f %% of a batch's rows: %.0f instead of %.0f.\n",
           number_of(l, "chunk"), used ? "saves" : "would save", saved, rows, shuffled);
    if (!used && json_is_true(json_object_get(l, "sorted")))
        printf("But %.0f %% of these chunks would be of one class: use --order minhash.\n",
               100 * number_of(l, "one_class"));
}

/* Removes the former name of phased_memory; --json has it. */
static void drop_former_name(json_t *plan)
{
    size_t i;
    json_t *c;
    json_object_del(plan, "alternates");
    json_array_foreach(json_object_get(plan, "candidates"), i, c) json_object_del(c, "alternates");
}

/* Removes zeros and empty lists from the tables; --json has them. */
static void drop_idle(json_t *object)
{
    void *next;
    const char *key;
    json_t *value;
    json_object_foreach_safe(object, next, key, value)
    {
        drop_idle(value);
        if ((json_is_number(value) && json_number_value(value) == 0) ||
            (json_is_array(value) && json_array_size(value) == 0))
            json_object_del(object, key);
    }
}

/* Plans that do not fit have no figures. */
static void drop_impossible(json_t *candidates)
{
    size_t i;
    json_t *c;
    json_array_foreach(candidates, i, c)
    {
        if (!json_is_true(json_object_get(c, "possible")))
            drop_idle(c);
    }
}

static void say_embeddings(const json_t *plan)
{
    const json_t *e = json_object_get(plan, "embeddings");
    if (e)
        printf("Embeddings on disk: up to %s in --scratch and %s in the run's folder, and up to %s "
               "more after its first checkpoint.\n",
               shown(e, "scratch_bytes"), shown(e, "run_bytes"), shown(e, "undo_bytes"));
}

static void say_unmeasured(const json_t *plan)
{
    if (json_is_false(json_object_get(plan, "disk_measured")) &&
        number_of(json_object_get(plan, "predicted"), "bytes_read") > 0)
        puts("Seconds are those of a common NVMe disk: `outgrow bench io` measures this one.");
}

/* Prints samplers, trainers and the predicted time. */
static void say_executors(const json_t *plan)
{
    const json_t *e = json_object_get(plan, "executors");
    if (!json_is_object(e))
        return;
    printf("Executors: %.0f samplers, %.0f trainers, %.0f standby; predicted training time %s an "
           "epoch",
           number_of(e, "samplers"), number_of(e, "trainers"), number_of(e, "standby"),
           shown(e, "seconds"));
    if (json_is_number(json_object_get(e, "seconds_without_switching")))
        printf("; without standby trainers %s",
               shown_as(e, "seconds_without_switching", "seconds"));
    puts(".");
}

static void show_plan(const json_t *root)
{
    json_t *shown = json_deep_copy(root);
    say_places(root);
    say_device(root);
    say_epoch(root);
    if (json_is_object(json_object_get(root, "device")))
        say_link(root);
    say_exchange(root);
    say_types(root);
    say_edges(root);
    say_choice(root);
    say_unmeasured(root);
    say_embeddings(root);
    say_executors(root);
    say_locality(root);
    putchar('\n');
    drop_idle(shown);
    drop_impossible(json_object_get(shown, "candidates"));
    json_object_del(shown, "locality"); /* sentences have them */
    json_object_del(shown, "not_compared");
    drop_former_name(shown);
    show_any(shown ? shown : root);
    json_decref(shown);
}

/* ---- the figures ---- */

enum { MOST_EXECS = 40 };

static void draw_execs(struct plot *p, const json_t *plan)
{
    static const char title[] = "Seconds an epoch, preparation included, by policy and layout";
    const json_t *candidates = json_object_get(plan, "candidates");
    const size_t n =
        count_possible(candidates) < MOST_EXECS ? count_possible(candidates) : MOST_EXECS;
    char name[MOST_EXECS][SHOWN_MAX];
    struct bar bar[MOST_EXECS];
    for (size_t i = 0; i < n; i++) {
        const json_t *exec = json_array_get(candidates, i);
        const bool same = same_place(exec, plan);
        char policy[SHOWN_MAX];
        snprintf(name[i], SHOWN_MAX, "%.64s, %.20s%s%s%s", name_exec(policy, exec),
                 text_of(exec, "layout"),
                 json_is_true(json_object_get(exec, "alternates")) ? ", phased" : "",
                 same ? "" : ", topology ", same ? "" : place_of(exec));
        bar[i] = (struct bar){name[i], number_of(exec, "seconds"), i == 0 ? 2 : 0};
    }
    if (n == 0)
        return;
    plot_begin(p, title);
    plot_end(p, title, figure_bars(p->body, title, "seconds", bar, n));
}

static void draw_rows(struct plot *p, const json_t *plan)
{
    static const char title[] = "Rows of an epoch, by where they come from";
    const json_t *told = json_object_get(plan, "predicted");
    const struct bar bar[] = {{"memory", number_of(told, "hits"), 2},
                              {"disk", number_of(told, "misses"), 1}};
    if (!json_is_number(json_object_get(told, "hits")))
        return;
    plot_begin(p, title);
    plot_end(p, title, figure_bars(p->body, title, "rows", bar, 2));
}

static void draw_memory(struct plot *p, const json_t *plan)
{
    static const char title[] = "Memory, by part";
    struct bar bar[MOST_PARTS];
    const size_t n = memory_bars(plan, bar);
    plot_begin(p, title);
    plot_end(p, title, figure_bars(p->body, title, "bytes", bar, n));
}

static int draw(const json_t *plan, struct plot *p, struct og_err *err)
{
    (void)err;
    draw_execs(p, plan);
    draw_rows(p, plan);
    draw_memory(p, plan);
    return 0;
}

static const struct og_option own[] = {
    OWN_TEXT(
        "plot", "FILE",
        "new file: seconds by execution plan, rows and memory, as SVG, or as a page if it ends "
        "in .html"),
    {0},
};

static int run(struct invocation *in, struct og_err *err)
{
    const char *path = own_text(in, "plot");
    struct output plot = {0};
    char *text = NULL;
    int rc = 0;
    TRY(path ? output_open(&plot, path, err) : 0);
    TRY(og_plan(in->arg[0], in->options,
                screen_observer(in->screen, (int)option_number(in, "epochs")), &text, err));
    TRY(plot_file(text, draw, "outgrow plan", path, &plot, err));
    rc = deliver(in, text, show_plan, err);
    text = NULL;
out:
    output_abandon(&plot);
    free(text);
    return rc;
}

const struct command cmd_plan = {
    .name = "plan",
    .group = "Models",
    .args = "DATASET",
    .min_args = 1,
    .max_args = 1,
    .summary = "predict memory, hits and reads of training",
    .text =
        "Takes the options of train but does not train. Prints the memory of each part, the rows "
        "that an epoch finds in memory and the bytes that it reads.",
    .own = own,
    .training = true,
    .often = WORDS("fanout", "hidden", "batch", "memory", "cache", "policy", "layout", "topology",
                   "preset"),
    .run = run,
};
