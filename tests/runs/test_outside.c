/* Memory outside the budget does not grow with the graph, the model or the number of batches. Calls
 * of malloc and its kin that the library makes by itself are counted, those for the budget are not.
 * The linker puts these functions between (CMakeLists.txt). The libraries jansson, zlib, libzip and
 * libyaml call malloc directly. */
#include "dataset/generate/options.h"
#include "dataset/import/options.h"
#include "options/fields.h"
#include "support/own_folder.h"
#include "support/runs.h"
#include "support/testing.h"

#include "base/memory.h"

#include <outgrow/outgrow.h>

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

/* ---- counting ---- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void *__real_aligned_alloc(size_t to, size_t bytes);
int __real_posix_memalign(void **p, size_t to, size_t bytes);
void __real_free(void *p);
void *__real_og__alloc(struct og_budget *b, size_t bytes, const char *part, struct og_err *err);
int __real_og__arena_init(struct og_arena *a, struct og_memory memory, size_t cap, const char *part,
                          struct og_err *err);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
void *__wrap_aligned_alloc(size_t to, size_t bytes);
int __wrap_posix_memalign(void **p, size_t to, size_t bytes);
void __wrap_free(void *p);
void *__wrap_og__alloc(struct og_budget *b, size_t bytes, const char *part, struct og_err *err);
int __wrap_og__arena_init(struct og_arena *a, struct og_memory memory, size_t cap, const char *part,
                          struct og_err *err);

enum { SLOTS = 1 << 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    void *p;
    size_t bytes;
} block[SLOTS]; /* guarded by lock, as are these */
static size_t live, peak;
static _Thread_local int in_budget;

static size_t slot_of(const void *p)
{
    size_t i = ((uintptr_t)p >> 4) * 0x9E3779B97F4A7C15ull >> 48;
    while (block[i].p && block[i].p != p)
        i = (i + 1) % SLOTS;
    return i;
}

static void *note(void *p)
{
    if (!p || in_budget)
        return p;
    pthread_mutex_lock(&lock);
    size_t i = slot_of(p);
    block[i].p = p;
    block[i].bytes = malloc_usable_size(p);
    live += block[i].bytes;
    peak = live > peak ? live : peak;
    pthread_mutex_unlock(&lock);
    return p;
}

/* Entries after it move up, as linear probing wants. */
static void forget(const void *p)
{
    pthread_mutex_lock(&lock);
    size_t i = slot_of(p);
    if (p && block[i].p) {
        live -= block[i].bytes;
        block[i].p = NULL;
        for (size_t k = (i + 1) % SLOTS; block[k].p; k = (k + 1) % SLOTS) {
            void *moved = block[k].p;
            size_t bytes = block[k].bytes;
            block[k].p = NULL;
            size_t to = slot_of(moved);
            block[to].p = moved;
            block[to].bytes = bytes;
        }
    }
    pthread_mutex_unlock(&lock);
}

void *__wrap_malloc(size_t bytes)
{
    return note(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
    return note(__real_calloc(n, bytes));
}

void *__wrap_realloc(void *p, size_t bytes)
{
    forget(p);
    return note(__real_realloc(p, bytes));
}

void *__wrap_aligned_alloc(size_t to, size_t bytes)
{
    return note(__real_aligned_alloc(to, bytes));
}

int __wrap_posix_memalign(void **p, size_t to, size_t bytes)
{
    int rc = __real_posix_memalign(p, to, bytes);
    if (rc == 0)
        note(*p);
    return rc;
}

void __wrap_free(void *p)
{
    forget(p);
    __real_free(p);
}

/* Without a budget nothing bounds it. */
void *__wrap_og__alloc(struct og_budget *b, size_t bytes, const char *part, struct og_err *err)
{
    in_budget += b != NULL;
    void *p = __real_og__alloc(b, bytes, part, err);
    in_budget -= b != NULL;
    return p;
}

int __wrap_og__arena_init(struct og_arena *a, struct og_memory memory, size_t cap, const char *part,
                          struct og_err *err)
{
    in_budget += memory.budget != NULL;
    int rc = __real_og__arena_init(a, memory, cap, part, err);
    in_budget -= memory.budget != NULL;
    return rc;
}

/* ---- calls ---- */

static const struct size {
    const char *name, *hidden, *batch;
    int64_t nodes;
    int dim, classes;
} sizes[] = {{"small", "8", "16", 2000, 8, 4}, {"large", "512", "4", 24000, 128, 40}};

static const struct size *now;

/* folder/<size>-<name> */
static const char *at(const char *name)
{
    static char path[8][400];
    static int turn;
    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s-%s", folder, now->name, name);
    return path[turn];
}

/* Pairs of names and values after the usual ones. */
static void options(struct og_options *opt, const char *const *pairs)
{
    og__options_init(opt);
    test_set(opt, "fanout", "3,2");
    test_set(opt, "epochs", "1");
    test_set(opt, "memory", "400M");
    test_set(opt, "threads", "2");
    test_set(opt, "io", "pread");
    test_set(opt, "scratch", at("scratch"));
    test_set(opt, "hidden", now->hidden);
    test_set(opt, "batch", now->batch);
    for (; pairs && *pairs; pairs += 2)
        test_set(opt, pairs[0], pairs[1]);
}

static int train_in(const char *run, const char *const *pairs, bool resume, struct og_err *err)
{
    struct og_options opt;
    options(&opt, pairs);
    test_set(&opt, "run", at(run));
    if (resume)
        test_set(&opt, "resume", "true");
    int rc = og_train(at("g"), &opt, NULL, NULL, err);
    og__options_release(&opt);
    return rc;
}

static int generate(struct og_err *err)
{
    struct og_generate g;
    og__generate_init(&g);
    g.nodes = now->nodes;
    g.dim = now->dim;
    g.classes = now->classes;
    g.train_fraction = 0.1;
    g.memory = (struct og_amount){OG_BYTES, 200 << 20};
    g.threads = 2;
    return og_generate(at("g"), &g, NULL, err);
}

static int train(struct og_err *err)
{
    return train_in("run", NULL, false, err);
}

static int resume(struct og_err *err)
{
    static const char *const more[] = {"epochs", "2", NULL};
    return train_in("run", more, true, err);
}

static int train_from_disk(struct og_err *err)
{
    static const char *const pairs[] = {"topology",       "disk", "policy", "lru", "cache", "5%",
                                        "neighbor-cache", "1M",   "model",  "gcn", NULL};
    return train_in("disk", pairs, false, err);
}

static int train_ahead(struct og_err *err)
{
    static const char *const pairs[] = {"policy", "belady", "cache", "5%", NULL};
    return train_in("ahead", pairs, false, err);
}

static int train_by_sweeps(struct og_err *err)
{
    static const char *const pairs[] = {"policy", "sweep", "cache", "20%", NULL};
    return train_in("sweep", pairs, false, err);
}

static int train_packed(struct og_err *err)
{
    static const char *const pairs[] = {"policy", "frequency", "cache", "5%",
                                        "layout", "packed",    NULL};
    return train_in("packed", pairs, false, err);
}

static int train_segmented(struct og_err *err)
{
    static const char *const pairs[] = {"policy",    "frequency", "cache", "5%", "layout",
                                        "segmented", "epochs",    "1",     NULL};
    return train_in("segmented", pairs, false, err);
}

static int train_chosen(struct og_err *err)
{
    static const char *const pairs[] = {"policy", "auto", "cache", "5%", NULL};
    return train_in("auto", pairs, false, err);
}

/* Output of a call is thrown away. */
static int drop(int rc, char *text)
{
    free(text);
    return rc;
}

static int eval(struct og_err *err)
{
    struct og_options opt;
    char checkpoint[512];
    char *out = NULL;
    options(&opt, NULL);
    snprintf(checkpoint, sizeof(checkpoint), "%s/best.safetensors", at("run"));
    int rc = og_eval(at("g"), checkpoint, "test", &opt, NULL, &out, err);
    free(out);
    out = NULL;
    if (rc == 0)
        rc = og_eval_full(at("g"), checkpoint, "test", &opt, NULL, &out, err);
    og__options_release(&opt);
    return drop(rc, out);
}

static int predict(struct og_err *err)
{
    struct og_options opt;
    char checkpoint[512];
    options(&opt, NULL);
    snprintf(checkpoint, sizeof(checkpoint), "%s/best.safetensors", at("run"));
    int rc = og_predict(at("g"), checkpoint, at("p.npy"), NULL, &opt, NULL, NULL, err);
    og__options_release(&opt);
    return rc;
}

static int sample(struct og_err *err)
{
    struct og_options opt;
    options(&opt, NULL);
    int rc = og_sample(at("g"), at("samples"), false, &opt, NULL, NULL, err);
    og__options_release(&opt);
    return rc;
}

static int pack(struct og_err *err)
{
    static const char *const pairs[] = {"cache", "5%", NULL};
    struct og_options opt;
    char *out = NULL;
    options(&opt, pairs);
    test_set(&opt, "samples", at("samples"));
    int rc = og_pack(at("g"), &opt, NULL, &out, err);
    og__options_release(&opt);
    return drop(rc, out);
}

static int train_on_samples(struct og_err *err)
{
    static const char *const none[] = {"policy", "frequency", "layout", "packed",
                                       "cache",  "5%",        NULL};
    struct og_options opt;
    options(&opt, none);
    test_set(&opt, "samples", at("samples"));
    test_set(&opt, "run", at("offline"));
    int rc = og_train(at("g"), &opt, NULL, NULL, err);
    og__options_release(&opt);
    return rc;
}

static int simulate(struct og_err *err)
{
    struct og_options opt;
    char *out = NULL;
    options(&opt, NULL);
    int rc = og_simulate(at("g"), "lru,degree,presc:1,frequency,belady,hybrid,rr,sweep", "1%,5%",
                         NULL, &opt, NULL, &out, err);
    og__options_release(&opt);
    return drop(rc, out);
}

static int plan(struct og_err *err)
{
    static const char *const pairs[] = {"policy", "auto", "cache", "5%", NULL};
    struct og_options opt;
    char *out = NULL;
    options(&opt, pairs);
    int rc = og_plan(at("g"), &opt, NULL, &out, err);
    og__options_release(&opt);
    return drop(rc, out);
}

static int export(struct og_err *err)
{
    return og_export("npy", at("g"), at("npy"), NULL, err);
}

static int import(struct og_err *err)
{
    struct og_import opt;
    og__import_init(&opt);
    opt.memory = (struct og_amount){OG_BYTES, 200 << 20};
    opt.threads = 2;
    return og_import("npy", at("npy"), at("again"), &opt, NULL, err);
}

static void ignore_hint(void *arg, const char *text, const char *hint)
{
    (void)arg, (void)text, (void)hint;
}

static int verify(struct og_err *err)
{
    return og_verify(at("g"), ignore_hint, NULL, NULL, err);
}

static int verify_samples(struct og_err *err)
{
    return og_verify_samples(at("samples"), at("g"), ignore_hint, NULL, NULL, err);
}

static int info(struct og_err *err)
{
    char *out = NULL;
    int rc = og_info(at("g"), &out, err);
    return drop(rc, out);
}

static const struct call {
    const char *name;
    int (*fn)(struct og_err *err);
} calls[] = {
    {"generate", generate},
    {"train", train},
    {"resume", resume},
    {"train, topology on disk", train_from_disk},
    {"train, belady", train_ahead},
    {"train, sweep", train_by_sweeps},
    {"train, packed", train_packed},
    {"train, segmented", train_segmented},
    {"train, auto", train_chosen},
    {"eval", eval},
    {"predict", predict},
    {"sample", sample},
    {"pack", pack},
    {"train, samples", train_on_samples},
    {"simulate", simulate},
    {"plan", plan},
    {"export", export},
    {"import", import},
    {"verify", verify},
    {"verify, samples", verify_samples},
    {"info", info},
};

/* Stacks and other libraries take most of the 12 MiB that are set aside for the process. */
enum { MAY_TAKE = 3 << 20 };

/* Twelve times the nodes, 48 times the batches, 900 times the parameters. */
static void nothing_grows_outside_the_budget(void **state)
{
    (void)state;
    enum { MAY_GROW = 4096 };
    int failures = 0;
    for (size_t i = 0; i < OG_COUNT(calls); i++) {
        size_t took[OG_COUNT(sizes)];
        for (size_t k = 0; k < OG_COUNT(sizes); k++) {
            struct og_err err = {0};
            now = &sizes[k];
            const size_t before = live;
            peak = live;
            if (calls[i].fn(&err) != 0)
                fail_msg("%s, %s: %s", calls[i].name, now->name, err.message);
            took[k] = peak - before;
            assert_int_equal(live, before);
        }
        if (getenv("OG_TELL"))
            print_message("%-24s %8zu %8zu\n", calls[i].name, took[0], took[1]);
        if (took[1] <= took[0] + MAY_GROW && took[0] <= MAY_TAKE)
            continue;
        print_message("%s: %zu bytes outside the budget, %zu of a small one\n", calls[i].name,
                      took[1], took[0]);
        failures++;
    }
    assert_int_equal(failures, 0);
}

static int start(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    return setenv("XDG_CACHE_HOME", folder, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_grows_outside_the_budget)};
    return cmocka_run_group_tests(tests, start, remove_folder);
}
