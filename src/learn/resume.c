/* resume.safetensors: what a run needs to go on. */
#include "learn/checkpoint_parts.h"

#include "base/file.h"
#include "dataset/identity.h"
#include "options/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char adam_m[] = "adam.m.";
static const char adam_v[] = "adam.v.";
static const char best_prefix[] = "best.";
static const char sum_prefix[] = "sum.";

/* ---- vectors of a step ---- */

/* The k-th of them: their sum, while a step is under way, and then the older parameters. NULL:
 * there are no more. Its name's beginning goes to `prefix`. */
static float *step_vector(const struct og_steps *s, const struct og_train_state *state, int k,
                          char prefix[24])
{
    const bool sum = s->sum && state->weight > 0;
    snprintf(prefix, 24, "%s", sum_prefix);
    if (sum && k == 0)
        return s->sum;
    k -= sum;
    snprintf(prefix, 24, "older.%d.", k);
    return k < s->opt->staleness ? og__steps_older(s, k) : NULL;
}

static void add_steps(struct og_tensors *t, const struct og_resumable *r,
                      const struct og_train_state *state)
{
    size_t n;
    char prefix[24];
    const struct og_param *params = og__model_params(r->model, &n);
    float *vector;
    for (int k = 0; (vector = step_vector(r->steps, state, k, prefix)); k++)
        for (size_t i = 0; i < n; i++) {
            if (!params[i].grad)
                continue;
            og__checkpoint_add(t, prefix, &params[i], (struct og_tensor_place){NULL, vector});
            vector += og__param_count(&params[i]);
        }
}

static int take_steps(const struct og_tensors_file *f, const struct og_resumable *r,
                      const struct og_train_state *state, struct og_err *err)
{
    size_t n;
    char prefix[24];
    const struct og_param *params = og__model_params(r->model, &n);
    float *vector;
    for (int k = 0; (vector = step_vector(r->steps, state, k, prefix)); k++)
        for (size_t i = 0; i < n; i++) {
            if (!params[i].grad)
                continue;
            OG_DO(og__checkpoint_take(f, prefix, &params[i], (struct og_tensor_place){NULL, vector},
                                      err));
            vector += og__param_count(&params[i]);
        }
    return 0;
}

/* ---- what must be the same ---- */

/* What must be the same for the numbers to be. */
static char *numbers_text(const struct og_resumable *r)
{
    json_t *numbers = og__options_deciding(r->opt, OG_DECIDES_NUMBERS);
    char *text = og__json_print(numbers, JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_decref(numbers);
    return text;
}

/* What files may have, which may have changed. */
enum { CLASSES, SEEDS, ORDER, FILES };
static const struct {
    const char *key, *option, *what;
} files[FILES] = {{"class_weights", "class-weights", "other weights"},
                  {"seed_weights", "seed-weights", "other weights"},
                  {"order", "order", "another order"}};

/* XXH3 of it, in hexadecimal; 0 without. */
static void file_text(const struct og_resumable *r, int of, char out[17])
{
    const struct og_model_config *c = og__model_config(r->model);
    const float *weights = of == CLASSES ? c->class_weights : r->train->weights;
    const size_t n = of == CLASSES ? (size_t)c->n_classes : (size_t)r->train->n;
    uint64_t hash = r->schedule->order_checksum;
    if (of != ORDER)
        hash = weights ? XXH3_64bits(weights, n * sizeof(*weights)) : 0;
    snprintf(out, 17, "%016" PRIx64, hash);
}

int og__resume_numbers(const struct og_resumable *r, uint64_t *hash, struct og_err *err)
{
    char *text = numbers_text(r);
    if (!text)
        return og__fail_errno(err, -ENOMEM, NULL, "options");
    char of_files[FILES][17];
    for (int k = 0; k < FILES; k++)
        file_text(r, k, of_files[k]);
    *hash = XXH3_64bits_withSeed(text, strlen(text), XXH3_64bits(of_files, sizeof(of_files)));
    free(text);
    return 0;
}

static int check_files(const struct og_tensors *t, const struct og_resumable *r, const char *path,
                       struct og_err *err)
{
    const char *const names[FILES] = {r->opt->class_weights, r->opt->seed_weights, r->opt->order};
    for (int k = 0; k < FILES; k++) {
        const char *said = og__tensors_said(t, files[k].key);
        char own[17];
        file_text(r, k, own);
        if (said && strcmp(said, own) != 0)
            return og__fail(err, -EINVAL, "give the file as it was, or start another run",
                            "%s: the run was started with %s of --%s %s", path, files[k].what,
                            files[k].option, names[k]);
    }
    return 0;
}

static char *dataset_text(const struct og_resumable *r)
{
    json_t *id = og__identity_with(json_object(), &r->ds->identity);
    char *text = og__json_print(id, JSON_COMPACT);
    json_decref(id);
    return text;
}

/* Is it still the dataset of which part was trained? */
static int check_dataset(const struct og_tensors *t, const struct og_resumable *r, const char *path,
                         struct og_err *err)
{
    static const char hint[] = "give the dataset as it was, or start another run";
    char why[OG__WHY] = "it says not of which dataset";
    const char *said = og__tensors_said(t, "dataset");
    struct og_identity then;
    json_t *root = NULL;
    int rc = said ? og__json_parse(&root, said, strlen(said), path, hint, err) : 0;
    if (rc < 0)
        return rc;
    if (!og__identity_get(root, &then) || !og__identity_same(&then, &r->ds->identity, why))
        rc = og__fail(err, -EINVAL, hint, "%s: not a run on %s: %s", path, r->ds->path, why);
    json_decref(root);
    return rc;
}

static const char other_options[] =
    "give the options of config.yaml in that folder, or start another run";

int og__resume_match(const struct og_options *opt, const json_t *theirs, const char *path,
                     struct og_err *err)
{
    char *what;
    if (asprintf(&what, "%s: the run was started with", path) < 0)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    const int rc = og__options_match(opt, theirs, OG_DECIDES_NUMBERS, what, other_options, err);
    free(what);
    return rc;
}

/* As JSON: what an earlier version wrote has not all the options that there are now. */
static int check_numbers(const struct og_tensors *t, const struct og_resumable *r, const char *path,
                         struct og_err *err)
{
    const char *said = og__tensors_said(t, "numbers");
    json_t *theirs = NULL;
    int rc;
    OG_TRY(said ? og__json_parse(&theirs, said, strlen(said), path, other_options, err) : 0);
    OG_TRY(og__resume_match(r->opt, theirs, path, err));
out:
    json_decref(theirs);
    return rc;
}

/* ---- writing and reading ---- */

int og__resume_write(const char *path, const struct og_resumable *r,
                     const struct og_train_state *state, const float *best, struct og_err *err)
{
    size_t n;
    const struct og_param *params = og__model_params(r->model, &n);
    char of_files[FILES][17];
    for (int k = 0; k < FILES; k++)
        file_text(r, k, of_files[k]);
    enum { SAID = 6 };
    struct og_metadata metadata[SAID + OG__LEARNT_SAID] = {
        {"state", og__train_state_text(state, r->schedule)},
        {"numbers", numbers_text(r)},
        {"dataset", dataset_text(r)},
        {(char *)files[CLASSES].key, of_files[CLASSES]},
        {(char *)files[SEEDS].key, of_files[SEEDS]},
        {(char *)files[ORDER].key, of_files[ORDER]}};
    const size_t arrays = 5 + (size_t)r->opt->staleness; /* value, m, v, sum, best, older ones */
    struct og_learnt *learnt = r->steps->learnt;
    const size_t most = arrays * n + og__learnt_tensors(learnt);
    struct og_tensors t = {
        .tensor = calloc(most, sizeof(*t.tensor)), .metadata = metadata, .n_metadata = SAID};
    int rc;
    OG_TRY(t.tensor && metadata[0].value && metadata[1].value && metadata[2].value
               ? 0
               : og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    og__checkpoint_add_params(&t, "", r->model, NULL);
    for (size_t i = 0; i < n; i++) {
        if (!params[i].m) /* plain SGD, or a running statistic */
            continue;
        og__checkpoint_add(&t, adam_m, &params[i], (struct og_tensor_place){r->model, params[i].m});
        og__checkpoint_add(&t, adam_v, &params[i], (struct og_tensor_place){r->model, params[i].v});
    }
    add_steps(&t, r, state);
    if (state->best_epoch)
        og__checkpoint_add_params(&t, best_prefix, r->model, best);
    OG_TRY(og__learnt_save(learnt, &t, err));
    OG_TRY(og__tensors_write(path, &t, err));
    OG_TRY(og__learnt_saved(learnt, err));
out:
    free(t.tensor);
    free(metadata[0].value);
    free(metadata[1].value);
    free(metadata[2].value);
    return rc;
}

static int take_resume(const struct og_tensors_file *f, const struct og_resumable *r,
                       struct og_train_state *state, float *best, struct og_err *err)
{
    const char *path = f->path;
    int rc = check_dataset(&f->all, r, path, err);
    if (rc < 0)
        return rc;
    OG_TRY(check_numbers(&f->all, r, path, err));
    OG_TRY(check_files(&f->all, r, path, err));
    OG_TRY(
        og__train_state_parse(state, r->schedule, og__tensors_said(&f->all, "state"), path, err));
    size_t n;
    struct og_param *params = og__model_params(r->model, &n);
    OG_TRY(og__checkpoint_take_params(f, r->model, err));
    for (size_t i = 0; i < n; i++) {
        const struct og_param *p = &params[i];
        if (p->m) {
            OG_TRY(
                og__checkpoint_take(f, adam_m, p, (struct og_tensor_place){r->model, p->m}, err));
            OG_TRY(
                og__checkpoint_take(f, adam_v, p, (struct og_tensor_place){r->model, p->v}, err));
        }
        if (state->best_epoch)
            OG_TRY(
                og__checkpoint_take(f, best_prefix, p, (struct og_tensor_place){NULL, best}, err));
        best += og__param_count(p);
    }
    OG_TRY(take_steps(f, r, state, err));
    OG_TRY(og__learnt_resume(r->steps->learnt, f, err));
out:
    return rc;
}

int og__resume_read(const char *path, const struct og_resumable *r, struct og_train_state *state,
                    float *best, struct og_err *err)
{
    struct og_tensors_file f;
    int rc = og__exists(NULL, path, err);
    if (rc <= 0)
        return rc < 0 ? rc : -ENOENT;
    rc = og__tensors_open(&f, path, err);
    if (rc < 0)
        return rc;
    rc = og__tensors_check(&f, err);
    rc = rc < 0 ? rc : take_resume(&f, r, state, best, err);
    og__tensors_close(&f);
    return rc;
}

/* Takes those that the caller did not give. several: ranks. */
static int take_defaults(const struct og_tensors *t, const char *path, bool several,
                         struct og_options *opt, struct og_err *err)
{
    static const struct {
        const char *name;
        bool of_ranks; /* of several alone */
    } defaults[] = {{"accumulate", true}, {"lr-steps", false}};
    const char *said = og__tensors_said(t, "numbers");
    json_t *numbers = NULL;
    char text[24];
    int rc = said ? og__json_parse(&numbers, said, strlen(said), path, NULL, err) : 0;
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < OG_COUNT(defaults); i++) {
        const json_t *value = json_object_get(numbers, defaults[i].name);
        snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
        if (json_is_integer(value) && (several || !defaults[i].of_ranks) &&
            !og_options_given(opt, defaults[i].name))
            rc = og_options_set(opt, defaults[i].name, text, err);
    }
    json_decref(numbers);
    return rc;
}

int og__resume_defaults(const char *folder, bool several, struct og_options *opt,
                        struct og_err *err)
{
    char *path = og__path_join(folder, "resume.safetensors");
    struct og_tensors_file f;
    int rc = path ? og__exists(NULL, path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", folder);
    if (rc > 0 && (rc = og__tensors_open(&f, path, err)) == 0) {
        rc = take_defaults(&f.all, path, several, opt, err);
        og__tensors_close(&f);
    }
    free(path);
    return rc;
}
