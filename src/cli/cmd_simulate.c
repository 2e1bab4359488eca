#include "figure.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct og_option own[] = {
    OWN_TEXT("policy", "P,P,...",
             "policies to compare, as in --policy of train (docs/reference/policies.md): "
             "degree,presc:2,hybrid:window=128,update=4,file:SCORES.npy"),
    OWN_TEXT("cache", "SIZE,SIZE,...", "cache sizes to compare, such as 1%,5%,64M"),
    OWN_TEXT(
        "device-memory", "SIZE,SIZE,...",
        "sizes of a device cache above each --cache in host memory (docs/reference/policies.md)"),
    OWN_TEXT("device-policy", "P,P,...",
             "policies of the device cache; default: static, with the rankings of --policy"),
    OWN_TEXT("victim", "off|pvp[:depth=N]",
             "pvp: rows evicted from the device cache wait in ring buffers of N rows for the next "
             "batch that needs them [16384, or all rows]"),
    OWN_TEXT("executors", "S:T,...",
             "predict an epoch's time with S samplers and T trainers, instead of caches or in "
             "addition; 4 = all splits of four (docs/explanation/training-order.md)"),
    OWN_TEXT(
        "times", "SAMPLE,TRAIN[,STANDBY]",
        "seconds per mini-batch of a sampler, a trainer and a standby trainer; default: measured "
        "with one thread"),
    OWN_NUMBER("batches", "N", "0", "mini-batches per epoch; 0 = the dataset's", 0, 1 << 30),
    OWN_NUMBER("queue", "N", "0",
               "maximum of mini-batches sampled and not yet trained; 0 = an epoch's", 0, 1 << 30),
    OWN_TEXT("json", "FILE", "new file for the result as JSON; - = print only the JSON"),
    OWN_TEXT("plot", "FILE",
             "new file: hit rates by cache size, as SVG, or as a page if it ends in .html"),
    {0},
};

/* ---- the table ---- */

/* Prints a row per policy and a column per cache, in the order of the results. `part` is an object
 * in each result, or NULL: the result. */
static void show_rates(const json_t *root, const char *part, const char *key, const char *title)
{
    const json_t *policies = json_object_get(root, "policies");
    const json_t *caches = json_object_get(root, "caches");
    size_t next = 0;
    printf("\n%-24s", title);
    for (size_t k = 0; k < json_array_size(caches); k++)
        printf(" %9s", json_string_value(json_array_get(caches, k)));
    for (size_t i = 0; i < json_array_size(policies); i++) {
        printf("\n  %-22s", json_string_value(json_array_get(policies, i)));
        for (size_t k = 0; k < json_array_size(caches); k++) {
            const json_t *r = json_array_get(json_object_get(root, "results"), next++);
            r = part ? json_object_get(r, part) : r;
            printf(" %7.2f %%", 100 * json_real_value(json_object_get(r, key)));
        }
    }
    putchar('\n');
}

/* Prints rates of one process, or of several workers without and with --exchange. */
static void show_all_rates(const json_t *root)
{
    const json_int_t workers = json_integer_value(json_object_get(root, "workers"));
    const json_int_t rows = json_integer_value(json_object_get(root, "rows"));
    const json_int_t moved = json_integer_value(json_object_get(root, "rows_exchanged"));
    if (workers > 1)
        printf("\n%lld workers, each with a cache of its own", (long long)workers);
    show_rates(root, NULL, "hit_rate", "hit rate");
    show_rates(root, NULL, "hit_rate_with_prefill", "prefilled rows as misses");
    if (!json_object_get(root, "rows_exchanged"))
        return;
    printf("\nwith --exchange, each worker caching only the rows of its nodes: %.1f %% of the rows "
           "sent, %s",
           rows > 0 ? 100 * (double)moved / (double)rows : 0.0, shown(root, "exchanged_bytes"));
    show_rates(root, "exchanged", "hit_rate", "hit rate");
    show_rates(root, "exchanged", "hit_rate_with_prefill", "prefilled rows as misses");
}

static double share_of(const json_t *r, const char *key)
{
    const double rows = number_of(r, "rows");
    return rows > 0 ? 100 * number_of(r, key) / rows : 0;
}

/* Tiers that serve a row, and the devices they require; hits on another device are hits of devices.
 */
static const struct {
    const char *title, *key;
    json_int_t devices;
} servers[] = {{"device", "device_hits", 1},
               {"another's", "peer_hits", 2},
               {"host", "host_hits", 1},
               {"victims", "victim_hits", 1},
               {"disk", "misses", 1}};
enum { SERVERS = sizeof(servers) / sizeof(*servers) };

static void show_pair(const json_t *r, json_int_t devices)
{
    printf("%-22s %7s %-22s %7s", json_string_value(json_object_get(r, "device_policy")),
           json_string_value(json_object_get(r, "device_memory")),
           json_string_value(json_object_get(r, "policy")),
           json_string_value(json_object_get(r, "cache")));
    for (int i = 0; i < SERVERS; i++)
        if (devices >= servers[i].devices)
            printf(" %7.2f %%", share_of(r, servers[i].key));
    printf(" %10s %10s %10s\n", shown(r, "link_bytes"), shown(r, "link_bytes_back"),
           shown(r, "bytes_read"));
}

/* Prints a line per pair of caches: hits of each tier, and transfers. */
static void show_tiers(const json_t *root)
{
    const json_int_t devices = json_integer_value(json_object_get(root, "devices"));
    const json_t *results = json_object_get(root, "results");
    printf("\n%-22s %7s %-22s %7s", "device", "", "host", "");
    for (int i = 0; i < SERVERS; i++)
        if (devices >= servers[i].devices)
            printf(" %9s", servers[i].title);
    printf(" %10s %10s %10s\n", "link", "link back", "disk bytes");
    for (size_t i = 0; i < json_array_size(results); i++)
        show_pair(json_array_get(results, i), devices);
}

/* Prints the row size, or that of each type with features. */
static void show_groups(const json_t *root)
{
    const json_t *types = json_object_get(root, "types");
    for (size_t i = 0; i < json_array_size(types); i++) {
        const json_t *t = json_array_get(types, i);
        const char *name = json_string_value(json_object_get(t, "name"));
        printf(*name ? "%s%s (%s)" : "%s%s%s", i > 0 ? ", " : "", name, shown(t, "row_bytes"));
    }
}

static void show_simulation(const json_t *root)
{
    printf("%s: %s rows of ", shown(root, "dataset"), shown(root, "rows"));
    show_groups(root);
    printf(" in %lld batches\n", (long long)json_integer_value(json_object_get(root, "batches")));
    if (json_object_get(root, "device_memory"))
        show_tiers(root);
    else
        show_all_rates(root);
}

/* ---- executors ---- */

static void show_seconds(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    if (json_is_number(value))
        printf(" %10.4g", json_number_value(value));
    else
        printf(" %10s", "-");
}

static void show_executors(const json_t *root)
{
    const json_t *list = json_object_get(root, "splits");
    printf("%lld mini-batches, sampled in %.4g s and trained in %.4g s each%s\n\n",
           (long long)json_integer_value(json_object_get(root, "tickets")),
           number_of(root, "sample_seconds_each"), number_of(root, "train_seconds_each"),
           json_is_true(json_object_get(root, "measured")) ? " by one thread" : "");
    printf("%-10s %21s %21s\n", "", "seconds of an epoch", "fluid bound");
    printf("%-10s %10s %10s %10s %10s %9s\n", "executors", "switching", "not", "switching", "not",
           "switched");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        printf("  %-8s", json_string_value(json_object_get(row, "split")));
        show_seconds(row, "seconds");
        show_seconds(row, "seconds_without_switching");
        show_seconds(row, "fluid_seconds");
        show_seconds(row, "fluid_seconds_without_switching");
        printf(" %9lld%s\n", (long long)json_integer_value(json_object_get(row, "switched")),
               json_is_true(json_object_get(row, "by_rule")) ? "  by rule" : "");
    }
}

/* Text of the result; the caller frees it. */
static int ask_executors(const struct invocation *in, char **text, struct og_err *err)
{
    int tickets = 0;
    int queue = 0;
    int rc = own_number(in, "batches", &tickets, err);
    rc = rc < 0 ? rc : own_number(in, "queue", &queue, err);
    const struct og_executors_asked requested = {.size = sizeof(requested),
                                                 .splits = own_text(in, "executors"),
                                                 .times = own_text(in, "times"),
                                                 .tickets = (uint64_t)tickets,
                                                 .queue = (uint64_t)queue};
    return rc < 0 ? rc
                  : og_simulate_executors(in->n_args > 0 ? in->arg[0] : NULL, &requested,
                                          in->options, screen_observer(in->screen, 0), text, err);
}

/* Joins both results: that of executors is under a key of the other. */
static int join(char **text, char *executors, struct og_err *err)
{
    json_t *root = json_loads(*text, 0, NULL);
    json_t *more = json_loads(executors, 0, NULL);
    char *both = NULL;
    if (root && more && json_object_set(root, "executors", more) == 0)
        both = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(root);
    json_decref(more);
    free(executors);
    if (!both)
        return no_result(err);
    free(*text);
    *text = both;
    return 0;
}

static void show_both(const json_t *root)
{
    const json_t *executors = json_object_get(root, "executors");
    show_simulation(root);
    putchar('\n');
    show_executors(executors);
}

/* ---- running ---- */

/* Length of the list's next word. A part with an equals sign and no colon is a parameter of the
 * previous policy. */
static size_t next_word(const char *list)
{
    size_t n = strcspn(list, ",");
    while (list[n] && strcspn(list + n + 1, "=,") < strcspn(list + n + 1, ":,"))
        n += 1 + strcspn(list + n + 1, ",");
    return n;
}

static int check_word(const char *name, const char *option, const char *word, struct og_err *err)
{
    const bool same = strcmp(name, option) == 0;
    struct og_options *scratch;
    struct og_err why = {0};
    int rc = og_options_new(&scratch, &why);
    rc = rc < 0 ? rc : og_options_set(scratch, option, word, &why);
    og_options_free(scratch);
    if (rc < 0)
        return usage_error(err, why.hint, "--%s%s%s", same ? "" : name, same ? "" : ", as --",
                           why.message);
    if (strcmp(word, "auto") == 0)
        return usage_error(err, "name the policies to compare", "--%s: auto cannot be simulated",
                           name);
    return 0;
}

/* Checks that a list is given, and that its words are valid for the training option. */
static int check_list(const struct invocation *in, const char *name, const char *option,
                      struct og_err *err)
{
    const char *list = own_text(in, name);
    if (!list || !*list)
        return usage_error(err, NULL, "simulate: --%s expected", name);
    for (size_t n; *list; list += n + (list[n] == ',')) {
        n = next_word(list);
        char *word = strndup(list, n);
        if (!word)
            abort();
        int rc = check_word(name, option, word, err);
        free(word);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int write_json(const char *text, struct output *json, struct og_err *err)
{
    if (!json->file)
        return 0;
    fprintf(json->file, "%s\n", text);
    return output_commit(json, err);
}

/* ---- the figure ---- */

enum { MOST_POLICIES = 64, MOST_CACHES = 256 };

struct rates {
    double point[MOST_POLICIES][MOST_CACHES][2]; /* cached share of the rows, hit rate */
    double x[MOST_POLICIES][MOST_CACHES], y[MOST_POLICIES][MOST_CACHES];
    struct series s[MOST_POLICIES];
    size_t n;
};

static int by_cache(const void *a, const void *b)
{
    const double *p = a;
    const double *q = b;
    return (p[0] > q[0]) - (p[0] < q[0]);
}

/* Collects a line per policy, in the order of the results, its caches by size. */
static void collect_rates(const json_t *root, struct rates *r)
{
    const json_t *policies = json_object_get(root, "policies");
    const size_t caches = json_array_size(json_object_get(root, "caches"));
    const double n_nodes = number_of(root, "num_nodes");
    for (r->n = 0; r->n < json_array_size(policies) && r->n < MOST_POLICIES; r->n++) {
        struct series *s = &r->s[r->n];
        double(*point)[2] = r->point[r->n];
        for (s->n = 0; s->n < caches && s->n < MOST_CACHES; s->n++) {
            const json_t *result =
                json_array_get(json_object_get(root, "results"), r->n * caches + s->n);
            point[s->n][0] = number_of(result, "cache_rows") / n_nodes;
            point[s->n][1] = number_of(result, "hit_rate");
        }
        qsort(point, s->n, sizeof(*point), by_cache);
        for (size_t k = 0; k < s->n; k++) {
            r->x[r->n][k] = point[k][0];
            r->y[r->n][k] = point[k][1];
        }
        s->name = json_string_value(json_array_get(policies, r->n));
        s->x = r->x[r->n];
        s->y = r->y[r->n];
    }
}

static int draw(const json_t *root, struct plot *p, struct og_err *err)
{
    static const char title[] = "Share of rows found in the cache, by the cache's size";
    static const struct axes axes = {"hit_rate", "cache_share", "cached rows, of all rows"};
    struct rates *r = calloc(1, sizeof(*r));
    if (!r)
        return no_result(err);
    collect_rates(root, r);
    plot_begin(p, title);
    plot_end(p, title, figure_lines(p->body, title, &axes, r->s, r->n));
    free(r);
    return 0;
}

/* Refuses output files in the folder of the dataset or trace. */
static int spare_inputs(const char *folder, const char *path, struct og_err *err)
{
    struct stat a;
    struct stat b;
    struct stat there;
    char *copy = path ? strdup(path) : NULL;
    bool inside = copy && lstat(path, &there) == 0 && stat(dirname(copy), &a) == 0 &&
                  stat(folder, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    free(copy);
    return inside ? usage_error(err, "choose another name",
                                "%s: a file of the input, which is never written", path)
                  : 0;
}

static int check_device(const struct invocation *in, bool caches, const char *plot,
                        struct og_err *err)
{
    int rc = 0;
    if (!own_text(in, "device-memory")) {
        if (own_text(in, "device-policy") || own_text(in, "victim"))
            TRY(usage_error(err, "add its sizes, such as --device-memory 1%,2%",
                            "simulate: --device-memory expected"));
        return 0;
    }
    if (!caches)
        TRY(usage_error(err, "use --cache 0% for no host cache",
                        "simulate: --device-memory requires --cache and --policy"));
    if (plot)
        TRY(usage_error(err, "leave --device-memory out",
                        "--plot: not with --device-memory; figures show one tier"));
    TRY(check_list(in, "device-memory", "cache", err));
    if (own_text(in, "device-policy"))
        TRY(check_list(in, "device-policy", "policy", err));
out:
    return rc;
}

/* Refuses options of --executors without it. */
static int check_executors(const struct invocation *in, struct og_err *err)
{
    static const char *const of[] = {"times", "batches", "queue"};
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
        if (own_flag(in, of[i]) && !own_text(in, "executors"))
            return usage_error(err, "add --executors S:T, or leave it out",
                               "simulate: --%s without --executors", of[i]);
    return 0;
}

/* Checks everything that can be refused before the work. */
static int check(const struct invocation *in, bool caches, const char *json, const char *plot,
                 struct og_err *err)
{
    int rc = 0;
    if (!caches && plot)
        TRY(usage_error(err, NULL, "--plot: figures show hit rates, which require --policy"));
    if (caches && in->n_args == 0)
        TRY(usage_error(err, NULL, "simulate: DATASET|TRACE expected"));
    if (caches) {
        TRY(check_list(in, "policy", "policy", err));
        TRY(check_list(in, "cache", "cache", err));
    }
    TRY(check_device(in, caches, plot, err));
    TRY(check_executors(in, err));
    if (in->n_args > 0) {
        TRY(spare_inputs(in->arg[0], json, err));
        TRY(spare_inputs(in->arg[0], plot, err));
    }
out:
    return rc;
}

/* Simulates caches, executors, or both. */
static int simulate(const struct invocation *in, bool caches, char **text, struct og_err *err)
{
    char *executors = NULL;
    const bool both = caches && own_text(in, "executors");
    int rc = 0;
    const struct og_tiers_asked tiers = {.size = sizeof(tiers),
                                         .policies = own_text(in, "device-policy"),
                                         .memory = own_text(in, "device-memory"),
                                         .victim = own_text(in, "victim")};
    if (caches)
        TRY(og_simulate(in->arg[0], own_text(in, "policy"), own_text(in, "cache"),
                        tiers.memory ? &tiers : NULL, in->options,
                        screen_observer(in->screen, (int)option_number(in, "epochs")), text, err));
    if (!caches || both)
        TRY(ask_executors(in, both ? &executors : text, err));
    if (both)
        TRY(join(text, executors, err));
out:
    return rc;
}

static int run(struct invocation *in, struct og_err *err)
{
    const char *json_path = own_text(in, "json");
    const char *plot_path = own_text(in, "plot");
    const bool executors = own_text(in, "executors");
    const bool caches = !executors || own_text(in, "policy") || own_text(in, "cache");
    struct output json = {0};
    struct output plot = {0};
    char *text = NULL;
    int rc;
    in->json = json_path && strcmp(json_path, "-") == 0;
    TRY(check(in, caches, json_path, plot_path, err));
    TRY(plot_path ? output_open(&plot, plot_path, err) : 0);
    TRY(json_path && !in->json ? output_open(&json, json_path, err) : 0);
    TRY(simulate(in, caches, &text, err));
    TRY(write_json(text, &json, err));
    TRY(plot_file(text, draw, "outgrow simulate", plot_path, &plot, err));
    rc = deliver(in, text, !caches ? show_executors : executors ? show_both : show_simulation, err);
    text = NULL;
out:
    output_abandon(&json);
    output_abandon(&plot);
    free(text);
    return rc;
}

const struct command cmd_simulate = {
    .name = "simulate",
    .group = "Batches and caches",
    .args = "[DATASET|TRACE]",
    .min_args = 0,
    .max_args = 1,
    .summary = "predict hits of policies and cache sizes, or times of executors",
    .text =
        "Samples the batches of training with the same options, or reads pre-sampled ones "
        "(TRACE, a folder of `outgrow sample`). Prints cache hits, reads and bytes for every "
        "policy and cache size; prefilled rows are counted separately. On a heterogeneous graph, "
        "name the dataset and pass the samples by --samples. With --workers it counts the caches "
        "of all workers, once with separate caches and once with --exchange. With "
        "--device-memory a device cache is above each host cache: hits are counted by tier, with "
        "the bytes over the interconnect, and without --exchange. With --phased-memory, also by a "
        "preset, sampling takes the host cache's memory before each superbatch. With --executors "
        "it predicts an epoch's time by simulation of events; with --times and --batches this "
        "requires no dataset.",
    .own = own,
    .training = true,
    .often = WORDS("fanout", "sampler", "batch", "epochs", "workers", "memory"),
    .run = run,
};
