/* Inference that ends early: it resumes to bit-identical outputs, and what is kept is not mixed
 * up. */
#include "infer/infer_fixture.h"

/* ==== what ends early ==== */

/* A run that ends early, and what was heard of it. */
struct broken {
    volatile sig_atomic_t stop;
    int stop_layer, kill_at; /* in the first block of that layer; at the n-th block; 0 = never */
    const char *sampler;
    const char *obstacle;  /* a folder that somebody makes meanwhile, or NULL */
    const char *taken;     /* a file that somebody removes meanwhile, or NULL */
    bool replaced;         /* by another one */
    const char *elsewhere; /* --scratch of somebody who makes the same meanwhile, or NULL */
    int others;            /* what came of that */
    int blocks, first_layer;
    char said[1024];
};

static void take_away(const struct broken *b)
{
    if (unlink(b->taken) < 0 || !b->replaced)
        return;
    FILE *f = fopen(b->taken, "w");
    assert_non_null(f);
    fputs("not what was written", f);
    fclose(f);
}

static int make_the_same(const char *scratch)
{
    struct og_options opt;
    og__options_init(&opt);
    test_set(&opt, "memory", "40M");
    test_set(&opt, "threads", "1");
    test_set(&opt, "scratch", scratch);
    int rc = og_predict(graph, checkpoint, logits, embeddings, &opt, NULL, NULL, NULL);
    og__options_release(&opt);
    return rc;
}

static void hear_progress(void *arg, const struct og_progress *p)
{
    struct broken *b = arg;
    if (b->blocks++ == 0)
        b->first_layer = p->epoch;
    if (b->obstacle)
        mkdir(b->obstacle, 0700);
    if (b->taken && p->epoch == 2)
        take_away(b);
    if (b->elsewhere && b->others == 0)
        b->others = make_the_same(b->elsewhere);
    if (b->blocks == b->kill_at)
        raise(SIGKILL);
    if (p->epoch == b->stop_layer && strcmp(p->stage, "walk") != 0)
        test_ask_stop(&b->stop);
}

static void hear_message(void *arg, int level, const char *text)
{
    struct broken *b = arg;
    size_t n = strlen(b->said);
    (void)level;
    snprintf(b->said + n, sizeof(b->said) - n, "%s\n", text);
}

static int run_broken(struct broken *b, const char *memory, bool resume, struct og_err *err)
{
    struct og_options opt;
    const struct og_observer seen = {.size = sizeof(seen),
                                     .message = hear_message,
                                     .progress = hear_progress,
                                     .arg = b,
                                     .stop = &b->stop};
    og__options_init(&opt);
    test_set(&opt, "memory", memory);
    test_set(&opt, "threads", "2");
    test_set(&opt, "checkpoint-every", "0");
    test_set(&opt, "sampler", b->sampler ? b->sampler : "uniform");
    test_set(&opt, "resume", resume ? "true" : "false");
    int rc = og_predict(graph, checkpoint, logits, embeddings, &opt, &seen, NULL, err);
    og__options_release(&opt);
    return rc;
}

/* Both outputs of the model at `checkpoint`, made in one go; then they are removed. */
struct files {
    char *bytes[2];
    size_t n[2];
};

static struct files take_files(void)
{
    struct files f;
    f.bytes[0] = file_bytes(logits, &f.n[0]);
    f.bytes[1] = file_bytes(embeddings, &f.n[1]);
    unlink(logits);
    unlink(embeddings);
    return f;
}

static struct files unbroken(void)
{
    must_predict("1G", embeddings, NULL);
    return take_files();
}

static void free_files(struct files *f)
{
    free(f->bytes[0]);
    free(f->bytes[1]);
}

/* What is there now is that, and nothing else is. */
static void assert_files(const struct files *wanted)
{
    struct files found = take_files();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(found.n[i], wanted->n[i]);
        assert_memory_equal(found.bytes[i], wanted->bytes[i], wanted->n[i]);
    }
    free_files(&found);
    assert_int_equal(left_behind(), 0);
}

static void must_resume(struct broken *b, const char *memory)
{
    struct og_err err = {0};
    if (run_broken(b, memory, true, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
}

static void must_stop(int layer)
{
    struct broken b = {.stop_layer = layer};
    assert_int_equal(run_broken(&b, "40M", false, NULL), OG_INTERRUPTED);
    assert_true(access(logits, F_OK) < 0);
    assert_true(access(embeddings, F_OK) < 0);
    assert_true(left_behind() > 0);
}

static void write_second_model(void)
{
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    c.residual = true;
    write_model(&c);
}

static void a_stopped_run_goes_on(void **state)
{
    (void)state;
    static const size_t tried[] = {GAT, SAGE};
    make_larger_graph();
    for (size_t i = 0; i < OG_COUNT(tried); i++) {
        struct og_model_config c = shaped(tried[i], 2, HIDDEN);
        write_model(&c);
        struct files whole = unbroken();
        for (int layer = 1; layer <= 2; layer++) {
            struct broken again = {0};
            must_stop(layer);
            must_resume(&again, "1G");
            assert_non_null(strstr(again.said, "resuming"));
            assert_true(again.blocks == 0 || again.first_layer == layer);
            assert_files(&whole);
        }
        free_files(&whole);
    }
}

/* The folder in which the run to `logits` keeps what it has. */
static char *kept_folder(void)
{
    char *found = NULL;
    DIR *dir = opendir(root);
    const struct dirent *e;
    assert_non_null(dir);
    while ((e = readdir(dir)))
        if (!found && strstr(e->d_name, "outgrow-infer-"))
            found = og__path_join(root, e->d_name);
    closedir(dir);
    assert_non_null(found);
    return found;
}

static void what_is_kept_is_not_mixed_with_another_model(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    struct broken again = {0};
    make_larger_graph();
    write_second_model();
    struct files second = unbroken();
    write_model(&c);
    must_stop(2);
    write_second_model();
    must_resume(&again, "40M");
    assert_non_null(strstr(again.said, "another checkpoint"));
    assert_int_equal(again.first_layer, 1);
    assert_files(&second);
    free_files(&second);
}

/* Nor is it resumed without --resume. */
static void without_resume_a_run_starts_anew(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    struct broken again = {0};
    make_larger_graph();
    write_model(&c);
    struct files whole = unbroken();
    must_stop(2);
    assert_int_equal(run_broken(&again, "40M", false, NULL), 0);
    assert_non_null(strstr(again.said, "--resume"));
    assert_int_equal(again.first_layer, 1);
    assert_files(&whole);
    again = (struct broken){0};
    must_resume(&again, "40M"); /* nothing is there to go on with */
    assert_non_null(strstr(again.said, "nothing to resume"));
    assert_files(&whole);
    free_files(&whole);
}

/* Walks are the same at every start; neighbours of another kind are not mixed in. */
static void a_stopped_run_walks_the_same_way(void **state)
{
    (void)state;
    struct og_model_config c = shaped(PINSAGE, 2, HIDDEN);
    make_larger_graph();
    write_model(&c);
    struct broken plain = {.sampler = "walk"}, again = {.sampler = "walk"}, other = {0};
    must_resume(&plain, "1G");
    struct files whole = take_files();
    for (int layer = 1; layer <= 2; layer++) {
        struct broken b = {.sampler = "walk", .stop_layer = layer};
        assert_int_equal(run_broken(&b, "40M", false, NULL), OG_INTERRUPTED);
        must_resume(&again, "64M");
        assert_non_null(strstr(again.said, "resuming"));
        assert_files(&whole);
    }
    must_stop(2);
    again.said[0] = 0;
    must_resume(&again, "64M");
    assert_non_null(strstr(again.said, "starting over"));
    assert_files(&whole);
    must_resume(&other, "64M");
    struct files alike = take_files();
    assert_memory_not_equal(alike.bytes[0], whole.bytes[0], whole.n[0]);
    free_files(&alike);
    free_files(&whole);
}

/* In the text of the file that is kept, where it is there as often as said. */
static void replace_kept(const char *from, const char *to, int times)
{
    char *folder = kept_folder(), *file = og__path_join(folder, "state.json"), *text, *at;
    size_t len;
    assert_int_equal(og__read_text(file, 1 << 20, &text, &len, NULL), 0);
    FILE *f = fopen(file, "wb");
    assert_non_null(f);
    const char *rest = text;
    for (; (at = strstr(rest, from)); rest = at + strlen(from), times--)
        fprintf(f, "%.*s%s", (int)(at - rest), rest, to);
    fputs(rest, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(times, 0);
    free(text);
    free(file);
    free(folder);
}

/* Before there was --draw nodes drew in each hop; explicit options were named all along. */
static void what_was_kept_before_there_was_an_option_goes_on(void **state)
{
    (void)state;
    static const char *const there[][2] = {
        {"\\\"draw\\\": \\\"each\\\", ", ""},
        {"\\\"draw\\\": \\\"each\\\"", "\\\"draw\\\": \\\"once\\\""},
        {"\\\"walks\\\": ", "\\\"walks\\\": 1"},
        {"\\\"kind\\\": ", "\\\"kind\\\": 1"}};
    struct og_model_config c = shaped(PINSAGE, 2, HIDDEN);
    struct broken plain = {.sampler = "walk"};
    make_larger_graph();
    write_model(&c);
    must_resume(&plain, "1G");
    struct files whole = take_files();
    for (size_t i = 0; i < OG_COUNT(there); i++) {
        struct broken b = {.sampler = "walk", .stop_layer = 2}, again = {.sampler = "walk"};
        assert_int_equal(run_broken(&b, "40M", false, NULL), OG_INTERRUPTED);
        replace_kept(there[i][0], there[i][1], 1);
        must_resume(&again, "64M");
        assert_non_null(strstr(again.said, i == 0 ? "resuming" : "starting over"));
        assert_files(&whole);
    }
    free_files(&whole);
}

static void flip_byte(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    int byte = fgetc(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 1, f), byte ^ 1);
    assert_int_equal(fclose(f), 0);
}

static void damage_to_what_is_kept_is_found(void **state)
{
    (void)state;
    static const char *const names[] = {"state.json", "sources.npy", NULL};
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    make_larger_graph();
    write_model(&c);
    struct files whole = unbroken();
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        struct broken again = {0};
        char part[LONGEST_PATH], *folder, *file;
        must_stop(2);
        folder = kept_folder();
        file = names[i] ? og__path_join(folder, names[i]) : NULL;
        snprintf(part, sizeof(part), "%s.part", embeddings); /* the input of the second layer */
        flip_byte(file ? file : part, file && i == 0 ? 2 : 4096 + 100);
        free(file);
        free(folder);
        must_resume(&again, "40M");
        assert_non_null(strstr(again.said, "starting over"));
        assert_int_equal(again.first_layer, 1);
        assert_files(&whole);
    }
    free_files(&whole);
}

static void two_do_not_make_the_same_at_once(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    struct broken again = {0};
    struct og_err err = {0};
    make_larger_graph();
    write_model(&c);
    must_stop(2);
    char *folder = kept_folder();
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(run_broken(&again, "40M", true, &err), -EBUSY);
    close(fd);
    must_resume(&again, "40M");
    free(folder);
    struct files found = take_files();
    free_files(&found);
    assert_int_equal(left_behind(), 0);
}

static void expect_no_output(const char *out, const char *second, const char *words)
{
    struct og_options opt;
    struct og_err err = {0};
    og__options_init(&opt);
    test_set(&opt, "memory", "40M");
    assert_true(og_predict(graph, checkpoint, out, second, &opt, NULL, NULL, &err) < 0);
    og__options_release(&opt);
    if (!strstr(err.message, words) || !err.hint[0])
        fail_msg("\"%s\" does not say \"%s\"", err.message, words);
    assert_int_equal(left_behind(), 0);
}

/* What is read is not written, and what no file can be is said at once. */
static void outputs_are_looked_at_first(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    char path[512];
    make_larger_graph();
    write_model(&c);
    size_t bytes;
    char *features = og__path_join(graph, "features.npy"), *before = file_bytes(features, &bytes);
    expect_no_output(features, NULL, "a file of the dataset");
    expect_no_output(logits, features, "a file of the dataset");
    expect_no_output(checkpoint, NULL, "the checkpoint itself");
    expect_no_output(graph, NULL, "a folder");
    expect_no_output("", NULL, "no name");
    snprintf(path, sizeof(path), "%s/./%s", root, strrchr(embeddings, '/') + 1);
    expect_no_output(embeddings, path, "the same file");
    snprintf(path, sizeof(path), "%s/%0300d", root, 0);
    expect_no_output(path, NULL, "too long");
    size_t bytes_after;
    char *after = file_bytes(features, &bytes_after);
    assert_int_equal(bytes_after, bytes);
    assert_memory_equal(after, before, bytes);
    free(after);
    free(before);
    free(features);
}

/* Whatever their scratch folders: of two that make one file at once the second is refused. */
static void two_do_not_write_the_same_file_at_once(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    char elsewhere[LONGEST_PATH];
    make_larger_graph();
    write_model(&c);
    struct files whole = unbroken();
    snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", root);
    struct broken b = {.elsewhere = elsewhere};
    struct og_err err = {0};
    if (run_broken(&b, "40M", false, &err) < 0)
        fail_msg("%s: %s", err.message, err.hint);
    assert_int_equal(b.others, -EBUSY);
    assert_true(access(elsewhere, F_OK) < 0);
    assert_files(&whole);
    free_files(&whole);
}

/* What was written is not there any more, or is another's: that is no success. */
static void an_output_that_was_taken_away_is_missed(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    const char *const outputs[] = {logits, embeddings};
    make_larger_graph();
    write_model(&c);
    struct files whole = unbroken();
    for (int i = 0; i < 4; i++) {
        char part[LONGEST_PATH + 8];
        snprintf(part, sizeof(part), "%s.part", outputs[i / 2]);
        struct broken b = {.taken = part, .replaced = i % 2};
        struct og_err err = {0};
        assert_int_equal(run_broken(&b, "40M", false, &err), -ENOENT);
        assert_non_null(strstr(err.message, part));
        assert_true(access(logits, F_OK) < 0 && access(embeddings, F_OK) < 0);
        struct broken again = {0};
        must_resume(&again, "40M");
        assert_files(&whole);
    }
    free_files(&whole);
}

static void write_mine(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("mine", f);
    fclose(f);
}

static void assert_mine(const char *path)
{
    size_t n;
    char *mine = file_bytes(path, &n);
    assert_int_equal(n, 4);
    assert_memory_equal(mine, "mine", 4);
    free(mine);
}

/* What is there is somebody's, also with --resume where nothing is to resume. A run that was
 * stopped replaces it. */
static void outputs_that_exist_are_refused(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    const char *const outputs[] = {logits, embeddings};
    make_larger_graph();
    write_model(&c);
    struct files whole = unbroken();
    for (int i = 0; i < 2; i++) {
        struct broken again = {0};
        write_mine(outputs[i]);
        for (int resume = 0; resume < 2; resume++) {
            struct og_err err = {0};
            struct broken first = {0};
            assert_int_equal(run_broken(&first, "40M", resume, &err), -EEXIST);
            assert_non_null(strstr(err.message, outputs[i]));
            assert_non_null(strstr(err.hint, "--overwrite"));
            assert_mine(outputs[i]);
            assert_int_equal(left_behind(), 0);
        }
        unlink(outputs[i]);
        must_stop(2);
        write_mine(outputs[i]);
        must_resume(&again, "40M");
        assert_files(&whole);
    }
    free_files(&whole);
}

/* The second of two outputs cannot have its name: then the first has not either, and both wait. */
static void what_cannot_be_put_in_place_waits(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    struct broken b = {.obstacle = logits}, again = {0};
    struct og_err err = {0};
    make_larger_graph();
    write_model(&c);
    struct files whole = unbroken();
    assert_true(run_broken(&b, "40M", false, &err) < 0);
    assert_int_equal(access(embeddings, F_OK), -1);
    assert_int_equal(rmdir(logits), 0);
    must_resume(&again, "40M");
    assert_int_equal(again.blocks, 0);
    assert_files(&whole);
    free_files(&whole);
}

/* ---- kills ---- */

/* Also by an earlier run, which was killed once its outputs had their names. */
static bool is_done(int rc)
{
    return rc == 0 || rc == -EEXIST;
}

/* True: it was killed. */
static bool start_and_kill(const char *memory, struct og_rng *r, bool at_a_block)
{
    struct broken b = {.kill_at = at_a_block ? 2 + (int)og__rng_below(r, 6) : 0};
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(is_done(run_broken(&b, memory, true, NULL)) ? 0 : 1);
    if (!at_a_block) {
        usleep(1000 + og__rng_below(r, 120000));
        kill(child, SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void killed_runs_end_in_the_same_bytes(void **state)
{
    (void)state;
    struct og_rng r;
    og__rng_at(&r, 6, OG__STREAM_BENCH, 0, 0, 0, 0);
    make_larger_graph();
    for (int i = 0; i < 2; i++) {
        struct og_model_config c = shaped(i ? SAGE : GAT, 3, HIDDEN);
        char memory[16];
        int kills = 0;
        write_model(&c);
        struct files whole = unbroken();
        snprintf(memory, sizeof(memory), "%dM", least_memory("2"));
        unlink(logits);
        while (kills < 16 && start_and_kill(kills % 3 ? memory : "64M", &r, kills % 2 == 0))
            kills++;
        struct broken last = {0};
        assert_true(is_done(run_broken(&last, memory, true, NULL)));
        assert_true(kills >= 3);
        assert_files(&whole);
        free_files(&whole);
    }
}

/* ---- evaluation ---- */

static char *evaluate(struct broken *b, bool resume, int wanted)
{
    struct og_options opt;
    const struct og_observer seen = {.size = sizeof(seen),
                                     .message = hear_message,
                                     .progress = hear_progress,
                                     .arg = b,
                                     .stop = &b->stop};
    char *text = NULL;
    og__options_init(&opt);
    test_set(&opt, "memory", "40M");
    test_set(&opt, "checkpoint-every", "0");
    test_set(&opt, "scratch", root);
    test_set(&opt, "resume", resume ? "true" : "false");
    assert_int_equal(og_eval_full(graph, checkpoint, "test", &opt, &seen, &text, NULL), wanted);
    og__options_release(&opt);
    return text;
}

static void a_stopped_evaluation_goes_on(void **state)
{
    (void)state;
    struct og_model_config c = shaped(GAT, 2, HIDDEN);
    struct broken b = {.stop_layer = 2}, plain = {0};
    make_larger_graph();
    write_model(&c);
    char *whole = evaluate(&plain, false, 0);
    assert_null(evaluate(&b, false, OG_INTERRUPTED));
    for (int more = 0; more < 3; more++) { /* in the pass that sums, too */
        b = (struct broken){.stop_layer = 2};
        free(evaluate(&b, true, OG_INTERRUPTED));
        if (b.blocks == 0)
            break;
    }
    b = (struct broken){0};
    char *last = evaluate(&b, true, 0);
    static const char *const same[] = {"loss", "acc", "labelled"};
    for (size_t i = 0; i < OG_COUNT(same); i++)
        assert_true(key(whole, same[i]) == key(last, same[i]));
    free(whole);
    free(last);
    assert_int_equal(left_behind(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_run_goes_on),
        cmocka_unit_test(what_is_kept_is_not_mixed_with_another_model),
        cmocka_unit_test(without_resume_a_run_starts_anew),
        cmocka_unit_test(a_stopped_run_walks_the_same_way),
        cmocka_unit_test(what_was_kept_before_there_was_an_option_goes_on),
        cmocka_unit_test(damage_to_what_is_kept_is_found),
        cmocka_unit_test(two_do_not_make_the_same_at_once),
        cmocka_unit_test(two_do_not_write_the_same_file_at_once),
        cmocka_unit_test(an_output_that_was_taken_away_is_missed),
        cmocka_unit_test(outputs_that_exist_are_refused),
        cmocka_unit_test(what_cannot_be_put_in_place_waits),
        cmocka_unit_test(outputs_are_looked_at_first),
        cmocka_unit_test(killed_runs_end_in_the_same_bytes),
        cmocka_unit_test(a_stopped_evaluation_goes_on),
    };
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
