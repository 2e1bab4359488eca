/* What a checkpoint says, and what is made of it. That is evaluation, other programs' parameters,
 * and the sampler that it was trained with. */
#include "support/whole_tensors.h"
#include "train/train_fixture.h"

#include <unistd.h>

/* ---- eval, plan, sample ---- */

/* The model's shape and sampler come from the checkpoint: eval has no option of them. */
static void eval_finds_what_training_with(const char *const *kind)
{
    static const char *const none[] = {NULL};
    struct og_options opt;
    char *summary = NULL;
    char *found = NULL;
    char path[160];
    set_options(&opt, "run", kind);
    assert_int_equal(og_train(dataset, &opt, NULL, &summary, NULL), 0);
    og__options_release(&opt);
    set_options(&opt, "run", none);
    for (size_t i = 0; kind[i]; i += 2)
        if (strcmp(kind[i], "fanout") == 0 || strcmp(kind[i], "batch") == 0)
            assert_int_equal(og_options_set(&opt, kind[i], kind[i + 1], NULL), 0);
    snprintf(path, sizeof(path), "%s/run/best.safetensors", root);
    assert_int_equal(og_eval(dataset, path, "test", &opt, NULL, &found, NULL), 0);
    json_t *a = json_loads(summary, 0, NULL);
    json_t *b = json_loads(found, 0, NULL);
    assert_true(json_real_value(json_object_get(a, "test_acc")) ==
                json_real_value(json_object_get(b, "acc")));
    assert_true(json_real_value(json_object_get(b, "acc")) > 0.4); /* chance is 0.2 */
    json_decref(a);
    json_decref(b);
    free(summary);
    free(found);
    og__options_release(&opt);
    in_root(path, "run");
    og__remove_tree(path);
}

static void eval_finds_what_training_found(void **state)
{
    (void)state;
    static const char *const plain[] = {NULL};
    eval_finds_what_training_with(plain);
    for (size_t k = 0; k < OG_COUNT(model_kinds); k++)
        eval_finds_what_training_with(model_kinds[k]);
}

/* A state_dict of PyTorch's: no metadata, the count of batches an int64 scalar. */
static void a_state_dict_is_taken(void **state)
{
    (void)state;
    static const char *const kind[] = {"model", "gin", "norm", "batch", "epochs", "1", NULL};
    struct og_options opt;
    struct og_tensors t;
    struct og_err err = {0};
    static const int64_t count[1] = {7};
    char path[160];
    char theirs[160];
    char *found[2] = {NULL, NULL};
    set_options(&opt, "run", kind);
    assert_int_equal(og_train(dataset, &opt, NULL, NULL, NULL), 0);
    snprintf(path, sizeof(path), "%s/run/checkpoint.safetensors", root);
    snprintf(theirs, sizeof(theirs), "%s/run/theirs.safetensors", root);
    char *bytes = whole_tensors(path, &t);
    bool seen = false;
    for (size_t i = 0; i < t.n; i++) {
        if (!strstr(t.tensor[i].name, "num_batches_tracked"))
            continue;
        seen = true;
        assert_true(*(const float *)t.tensor[i].data == 5); /* batches of the epoch */
        t.tensor[i].dtype = OG_TENSOR_I64;
        t.tensor[i].data = count;
        t.tensor[i].bytes = sizeof(count);
    }
    assert_true(seen);
    struct og_tensors bare = {.tensor = t.tensor, .n = t.n};
    assert_int_equal(og__tensors_write(theirs, &bare, NULL), 0);
    og__tensors_release(&t);
    free(bytes);
    const char *const files[] = {path, theirs};
    json_t *acc[2];
    for (int i = 0; i < 2; i++) {
        if (og_eval(dataset, files[i], "test", &opt, NULL, &found[i], &err) < 0)
            fail_msg("%s", err.message);
        json_t *j = json_loads(found[i], 0, NULL);
        acc[i] = json_incref(json_object_get(j, "loss"));
        json_decref(j);
        free(found[i]);
    }
    assert_true(json_equal(acc[0], acc[1]));
    json_decref(acc[0]);
    json_decref(acc[1]);
    og__options_release(&opt);
    in_root(path, "run");
    og__remove_tree(path);
}

/* ---- the sampler, from the checkpoint ---- */

static const char *const of_walks[][2] = {{"sampler", "walk"},
                                          {"walks", "6"},
                                          {"walk-length", "2"},
                                          {"walk-restart", "0.25"},
                                          {"neighbors", "4"}};

/* With these pairs and those of of_walks but the first `known`. */
static const char *const *with_walks(const char *pairs[20], size_t n, size_t known)
{
    for (size_t i = known; i < OG_COUNT(of_walks); i++) {
        pairs[n++] = of_walks[i][0];
        pairs[n++] = of_walks[i][1];
    }
    pairs[n] = NULL;
    return pairs;
}

/* The checkpoint of a run with these options at `path`. */
static void train_to(const char path[128], const char *const *pairs)
{
    struct outcome o = train("first", pairs);
    assert_int_equal(og__write_text(path, o.checkpoint, o.bytes, NULL), 0);
    drop(&o);
}

/* The file with `key` said to be `value`; NULL = not said; key NULL = nothing said at all. */
static void rewrite(const char *from, const char *to, const char *key, const char *value)
{
    struct og_tensors t;
    char *bytes = whole_tensors(from, &t);
    const size_t n = t.n_metadata;
    struct og_metadata own[32];
    assert_true(n <= OG_COUNT(own));
    struct og_tensors changed = {.tensor = t.tensor, .n = t.n, .metadata = own};
    for (size_t i = 0; key && i < n; i++) {
        bool this = strcmp(t.metadata[i].key, key) == 0;
        if (this && !value)
            continue;
        own[changed.n_metadata] = t.metadata[i];
        if (this)
            own[changed.n_metadata].value = (char *)value;
        changed.n_metadata++;
    }
    assert_int_equal(og__tensors_write(to, &changed, NULL), 0);
    og__tensors_release(&t);
    free(bytes);
}

/* What the file says of a sampler, as "name=value ...". */
static void said_sampler(const char *path, char out[200])
{
    struct og_tensors t;
    char *bytes = whole_tensors(path, &t);
    out[0] = 0;
    for (size_t i = 0; i < t.n_metadata; i++)
        for (size_t k = 0; k < OG_COUNT(of_walks); k++)
            if (strcmp(t.metadata[i].key, of_walks[k][0]) == 0)
                snprintf(out + strlen(out), 200 - strlen(out), "%s=%s ", t.metadata[i].key,
                         t.metadata[i].value);
    og__tensors_release(&t);
    free(bytes);
}

static void the_checkpoint_says_how_it_was_sampled(void **state)
{
    (void)state;
    static const char *const one[] = {"epochs", "1", NULL};
    static const char *const labor[] = {"epochs", "1", "sampler", "labor", "walks", "9", NULL};
    const char *pairs[20] = {"epochs", "1", "model", "pinsage"};
    char path[128];
    char said[200];
    in_root(path, "said.safetensors");
    train_to(path, one);
    said_sampler(path, said);
    assert_string_equal(said, "sampler=uniform ");
    train_to(path, labor); /* walks are nothing to it */
    said_sampler(path, said);
    assert_string_equal(said, "sampler=labor ");
    train_to(path, with_walks(pairs, 4, 0));
    said_sampler(path, said);
    assert_string_equal(said, "sampler=walk walks=6 walk-length=2 walk-restart=0.25 neighbors=4 ");
    unlink(path);
}

/* Two runs with these options are bit-identical. So is the checkpoint's name for its sampler. */
static void same_runs(const char *const *a, const char *const *b)
{
    struct outcome first = train("first", a);
    struct outcome other = train("other", b);
    assert_same(&first, &other);
    drop(&first);
    drop(&other);
}

static void training_goes_on_with_the_sampler_of_its_start(void **state)
{
    (void)state;
    const char *told[20] = {"epochs", "1", "model", "pinsage"};
    char path[128];
    char bare[128];
    in_root(path, "start.safetensors");
    in_root(bare, "bare.safetensors");
    train_to(path, with_walks(told, 4, 0));
    rewrite(path, bare, NULL, NULL);
    const char *const found[] = {"epochs", "2", "model", "pinsage", "init", path, NULL};
    const char *all[20] = {"epochs", "2", "model", "pinsage", "init", bare};
    same_runs(found, with_walks(all, 6, 0));
    /* what is given wins, one by one */
    const char *const fewer[] = {"epochs", "2",     "model", "pinsage", "init",
                                 path,     "walks", "3",     NULL};
    const char *rest[20] = {"epochs", "2",     "model", "pinsage", "init",
                            bare,     "walks", "3",     "sampler", "walk"};
    same_runs(fewer, with_walks(rest, 10, 2));
    const char *const plain[] = {"epochs", "2", "model", "pinsage", "init", bare, NULL};
    const char *const uniform[] = {"epochs", "2",       "model",   "pinsage", "init",
                                   path,     "sampler", "uniform", NULL};
    same_runs(plain, uniform);
    struct outcome walked = train("first", found);
    struct outcome drawn = train("other", plain);
    assert_true(loss_of(&walked, 0) != loss_of(&drawn, 0));
    drop(&drawn);
    /* an interrupted run resumes in the same way */
    interrupt("cut", found, 7);
    const char *const on[] = {"epochs", "2",      "model", "pinsage", "init",
                              path,     "resume", "true",  NULL};
    struct outcome resumed = train("cut", on);
    assert_same(&walked, &resumed);
    drop(&resumed);
    drop(&walked);
    unlink(path);
    unlink(bare);
}

static double eval_loss(const char *path, const char *const *pairs)
{
    struct og_options opt;
    struct og_err err = {0};
    char *text = NULL;
    set_options(&opt, "none", pairs);
    if (og_eval(dataset, path, "test", &opt, NULL, &text, &err) < 0)
        fail_msg("%s", err.message);
    json_t *found = json_loads(text, 0, NULL);
    double loss = json_real_value(json_object_get(found, "loss"));
    json_decref(found);
    free(text);
    og__options_release(&opt);
    return loss;
}

static void eval_samples_as_the_checkpoint_says(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    static const char *const uniform[] = {"sampler", "uniform", NULL};
    static const char *const narrow[] = {"neighbors", "1", NULL};
    const char *told[20] = {"epochs", "1", "model", "pinsage"};
    const char *walks[20];
    const char *narrow_walks[20] = {"neighbors", "1"};
    char path[128];
    char bare[128];
    in_root(path, "start.safetensors");
    in_root(bare, "bare.safetensors");
    train_to(path, with_walks(told, 4, 0));
    rewrite(path, bare, NULL, NULL);
    double found = eval_loss(path, none);
    assert_true(found == eval_loss(bare, with_walks(walks, 0, 0)));
    assert_true(found != eval_loss(path, uniform));
    assert_true(eval_loss(path, uniform) == eval_loss(bare, none));
    with_walks(narrow_walks, 2, 0);
    narrow_walks[10] = NULL; /* all but the other --neighbors */
    assert_true(eval_loss(path, narrow) == eval_loss(bare, narrow_walks));
    assert_true(eval_loss(path, narrow) != found);
    rewrite(path, bare, "walks", NULL); /* what it does not say is as ever */
    const char *const four[] = {"walks", "4", NULL};
    assert_true(eval_loss(bare, none) == eval_loss(path, four));
    unlink(path);
    unlink(bare);
}

static void a_sampler_unheard_of_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *own;
    } wrong[] = {{"sampler", "teleport", "uniform"},
                 {"walks", "0", "2"},
                 {"walk-restart", "nan", "0.5"},
                 {"neighbors", "", "3"}};
    const char *told[20] = {"epochs", "1", "model", "pinsage"};
    char path[128];
    char odd[128];
    char hint[32];
    in_root(path, "start.safetensors");
    in_root(odd, "odd.safetensors");
    train_to(path, with_walks(told, 4, 0));
    for (size_t i = 0; i < OG_COUNT(wrong); i++) {
        const char *const pairs[] = {"model", "pinsage", "init", odd, NULL};
        const char *const own[] = {wrong[i].name, wrong[i].own, NULL};
        struct og_options opt;
        struct og_err err = {0};
        rewrite(path, odd, wrong[i].name, wrong[i].value);
        set_options(&opt, "never", pairs);
        assert_int_equal(og_train(dataset, &opt, NULL, NULL, &err), -EINVAL);
        assert_non_null(strstr(err.message, odd));
        snprintf(hint, sizeof(hint), "--%s", wrong[i].name);
        assert_non_null(strstr(err.hint, hint));
        og__options_release(&opt);
        eval_loss(odd, own); /* not looked at */
    }
    unlink(path);
    unlink(odd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checkpoint_says_how_it_was_sampled),
        cmocka_unit_test(training_goes_on_with_the_sampler_of_its_start),
        cmocka_unit_test(eval_samples_as_the_checkpoint_says),
        cmocka_unit_test(a_sampler_unheard_of_is_refused),
        cmocka_unit_test(eval_finds_what_training_found),
        cmocka_unit_test(a_state_dict_is_taken),
    };
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, make_dataset, remove_all);
}
