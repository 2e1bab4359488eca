/* The command as a user meets it: wrong usage, failures and help. */
#include "cli/cli_fixture.h"

static const char *const misuse[][2] = {
    {"", "usage: outgrow <command>"},
    {"tarin x", "outgrow: tarin: no such command"},
    {"help tarin", "outgrow: tarin: no such command"},
    {"train", "outgrow: train: DATASET expected"},
    {"train a b", "outgrow: b: one argument too many"},
    {"tarin x", "hint: did you mean 'train'?"},
    {"train a --hiden 3", "hint: did you mean --hidden N? width of the hidden layers [256]"},
    {"train a --num-laers 3", "hint: did you mean --layers N? number of layers"},
    {"train a --num-layers x", "outgrow: --layers: 'x' given, a whole number"},
    {"train a --batch-size", "outgrow: --batch-size: needs a value, N"},
    {"train a --num 3", "outgrow: --num: several options begin with it"},
    {"import npy a b --symetrize", "hint: did you mean --symmetrize? add the reverse"},
    {"train a --quantisation 3", "outgrow: --quantisation: no such option"},
    {"train a --hidden", "outgrow: --hidden: needs a value"},
    {"train a --resume=3", "outgrow: --resume: takes no value"},
    {"train a --e 3", "outgrow: --e: several options begin with it"},
    {"train a -z", "outgrow: -z: no such option"},
    {"train a --hidden x", "outgrow: --hidden: 'x' given, a whole number"},
    {"train a --policy best", "one of none, random, degree, presc, pagerank"},
    {"info a --hidden 3", "outgrow: --hidden: no such option"},
    {"generate a --nodes many", "outgrow: --nodes: 'many' given"},
    {"generate a --dim 1.5", "outgrow: --dim: '1.5' given"},
    {"generate a --homophily 2", "a number from 0 to 1 expected"},
    {"generate a --dtype f64", "one of f32, f16, bf16, u8 expected"},
    {"generate a --memory 5Q", "outgrow: --memory: '5Q' given"},
    {"import a", "outgrow: import: [FORMAT] SRC OUT expected"},
    {"import npy a", "outgrow: import: npy SRC OUT expected"},
    {"train a --runs 0", "outgrow: --runs: '0' given, a whole number from 1"},
    {"train a --runs 2", "outgrow: train: --run DIR expected with --runs"},
    {"train a --runs 2 --run b --trace-timeline t", "outgrow: train: --trace-timeline: not with"},
    {"train a --runs 2 --run b --samples s", "outgrow: train: --samples: not with --runs"},
    {"sample a --out b --workers 2", "outgrow: --workers: no option of `outgrow sample`"},
    {"pack a --samples b --workers 2", "outgrow: --workers: no option of `outgrow pack`"},
    {"eval a --checkpoint b --workers=2", "outgrow: --workers: no option of `outgrow eval`"},
    {"predict a --out b --workers 2", "outgrow: --workers: no option of `outgrow predict`"},
    {"train a --device cuda:0,0",
     "outgrow: --device: 'cuda:0,0' given, devices with their numbers expected"},
    {"train a --devices 0,0", "outgrow: --devices: '0,0' given, numbers of devices expected"},
    {"train a --fanout '5;'", "outgrow: --fanout: '5;': no relation after"},
    {"bench epoch a --workers 2", "hint: leave it out"},
    {"sample a", "outgrow: sample: --out DIR expected"},
    {"pack a", "outgrow: pack: --samples DIR expected"},
    {"simulate", "outgrow: simulate: DATASET|TRACE expected"},
    {"simulate a --cache 1%", "outgrow: simulate: --policy expected"},
    {"simulate a --policy lru", "outgrow: simulate: --cache expected"},
    {"simulate a --policy lru,best --cache 1%", "outgrow: --policy: 'best' given"},
    {"simulate a --policy lru,auto --cache 1%", "outgrow: --policy: auto cannot"},
    {"simulate a --policy lru,presc:0 --cache 1%",
     "outgrow: --policy presc:0: presc-epochs: '0' given"},
    {"simulate a --policy lru --cache 1% --victim pvp",
     "outgrow: simulate: --device-memory expected"},
    {"simulate a --policy lru --cache 1% --device-memory 1x",
     "outgrow: --device-memory, as --cache: '1x' given"},
    {"simulate a --policy lru --cache 1% --device-memory 1% --device-policy auto",
     "outgrow: --device-policy: auto cannot"},
    {"simulate a --policy lru --cache 1% --device-memory 1% --plot p.svg",
     "outgrow: --plot: not with --device-memory"},
    {"simulate a --executors 1:1 --device-memory 1%",
     "outgrow: simulate: --device-memory requires"},
    {"simulate a --policy lru --cache 1%,,2%", "outgrow: --cache: '' given"},
    {"simulate a --policy lru --cache 101%", "outgrow: --cache: '101%' given"},
    {"simulate a --policy lru --cache 1% --json", "outgrow: --json: needs a value, FILE"},
    {"eval a", "outgrow: eval: --checkpoint FILE expected"},
    {"predict a --out p.npy", "outgrow: predict: --checkpoint FILE expected"},
    {"predict a --checkpoint b", "outgrow: predict: --out FILE expected"},
    {"eval a --checkpoint b --split train", "one of valid, test expected"},
    {"report", "outgrow: report: RUN [RUN ...] expected"},
    {"report a b", "outgrow: report: --out FILE expected with several runs"},
    {"bench", "outgrow: bench: io|"},
    {"bench cpu", "outgrow: bench cpu: "},
    {"bench sample", "outgrow: bench sample: DATASET expected"},
    {"bench io a", "outgrow: bench io: takes no dataset"},
    /* options that would have no effect */
    {"bench io --dim 8", "outgrow: bench io: --dim is of bench gemm"},
    {"bench sample a --path b", "outgrow: bench sample: --path is of bench io"},
    {"stripe a b --parts 2 --part 0 --keep", "outgrow: stripe: --keep is of --over"},
    {"simulate a --policy lru --cache 1% --queue 3", "outgrow: simulate: --queue without"},
    {"generate a --model rmat --homophily 0.5", "outgrow: generate: --homophily is of"},
    {"generate a --types a:9 --relations a:x:a --nodes 9", "outgrow: generate: --nodes: not with"},
    {"generate a --types a:9 --relations a:x:a --dim 9", "outgrow: generate: --dim: not with"},
    {"info \"$(printf 'a\\377')\"", "outgrow: argument 2: not UTF-8"},
};

static void wrong_usage_ends_with_2(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(misuse) / sizeof(*misuse); i++) {
        const struct outcome *o = outgrow(misuse[i][0]);
        assert_int_equal(o->status, 2);
        assert_string_equal(o->out, "");
        assert_says(o->err, misuse[i][1]);
    }
}

static void failures_end_with_1_and_leave_nothing(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "info nowhere",
        "verify nowhere",
        "train nowhere --run r",
        "plan nowhere",
        "eval nowhere --checkpoint nothing",
        "eval nowhere --checkpoint nothing --full",
        "predict nowhere --checkpoint nothing --out p.npy",
        "sample nowhere --out s",
        "pack nowhere --samples s",
        "report nowhere",
        "report nowhere elsewhere --out page.html",
        "simulate nowhere --policy lru --cache 1% --json j",
        "simulate nowhere --policy lru --cache 1% --json no/folder/j",
        "import npy nowhere d",
        "import nowhere d",
        "import parquet nowhere d",
        "export npy nowhere d",
        "train nowhere --config nothing.yaml",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct outcome *o = outgrow(cases[i]);
        assert_int_equal(o->status, 1);
        assert_string_equal(o->out, "");
        assert_int_equal(strncmp(o->err, "outgrow: ", 9), 0);
    }
    assert_int_equal(system("test -z \"$(ls -A)\""), 0);
}

static void help_and_version_succeed(void **state)
{
    (void)state;
    static const char *const commands[] = {
        "generate", "import", "export", "info",    "verify", "sample", "pack",   "simulate",
        "plan",     "train",  "eval",   "predict", "bench",  "cache",  "report", "doctor"};
    struct outcome *o = outgrow("--version");
    assert_int_equal(o->status, 0);
    assert_says(o->out, og_version());
    char version[32];
    snprintf(version, sizeof(version), "%d.%d.%d", OG_VERSION_MAJOR, OG_VERSION_MINOR,
             OG_VERSION_PATCH);
    assert_string_equal(og_version(), version);
    assert_int_equal(og_version_number(), OG_VERSION_NUMBER);
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        char line[64];
        snprintf(line, sizeof(line), "help %s", commands[i]);
        o = outgrow(line);
        assert_int_equal(o->status, 0);
        assert_says(o->out, "Usage: outgrow ");
        char *help = strdup(o->out);
        snprintf(line, sizeof(line), "%s --help", commands[i]);
        assert_string_equal(outgrow(line)->out, help);
        free(help);
        assert_says(outgrow("--help")->out, commands[i]);
    }
}

/* How a text names an option: the manual escapes dashes, fish leaves them out. */
static void name_option(char said[64], const struct og_option *row, const char *text)
{
    const bool manual = strcmp(text, "help --man") == 0;
    if (strstr(text, "fish")) {
        snprintf(said, 64, "-l %s ", row->name);
        return;
    }
    int at = snprintf(said, 64, "%s", manual ? "\\-\\-" : "--");
    for (const char *p = row->name; *p; p++)
        at += snprintf(said + at, (size_t)(64 - at), manual && *p == '-' ? "\\-" : "%c", *p);
    if (row->arg && !manual)
        snprintf(said + at, (size_t)(64 - at), "=");
}

/* Help, manual and completion know every option but those that join another's word. */
static void every_option_is_told(void **state)
{
    (void)state;
    static const char *const where[] = {"help train --all", "help --man", "help --completion=bash",
                                        "help --completion=zsh", "help --completion=fish"};
    const struct og_option *row;
    const struct og_option_alias *known;
    for (size_t w = 0; w < sizeof(where) / sizeof(*where); w++) {
        const struct outcome *o = outgrow(where[w]);
        assert_int_equal(o->status, 0);
        for (size_t i = 0; (row = og_option(i)); i++) {
            char said[64];
            name_option(said, row, where[w]);
            if (!row->joins)
                assert_says(o->out, said);
            else if (strstr(o->out, said))
                fail_msg("'%s' is in %s", said, where[w]);
        }
        for (size_t i = 0; (known = og_option_alias(i)); i++) {
            const struct og_option alias = {.name = known->alias, .arg = "N"};
            char said[64];
            name_option(said, &alias, where[w]);
            if (strstr(o->out, said))
                fail_msg("'%s' is in %s", said, where[w]);
        }
    }
}

/* Help shows the ten options that people give, and how to see the others. */
static void help_is_short_unless_asked(void **state)
{
    (void)state;
    struct outcome *o = outgrow("help train");
    assert_says(o->out, "--memory=SIZE");
    assert_says(o->out, "--fanout=N,N,...");
    assert_null(strstr(o->out, "--checkpoint-every"));
    assert_says(o->out, "`outgrow help train --all`");
    o = outgrow("help sample");
    assert_says(o->out, "--with-features");
    assert_null(strstr(o->out, "--optimizer"));
    assert_says(outgrow("help train")->out, "--runs=N");
    assert_null(strstr(outgrow("help plan")->out, " The run\n")); /* no group without options */
    o = outgrow("train --help --all");
    assert_says(o->out,
                "\n      --class-weights=balanced|FILE\n                             weights of");
    assert_says(o->out, "\n      --best-by=FIGURE       validation metric");
    assert_null(strstr(outgrow("help plan --all")->out, "--runs"));
    assert_says(outgrow("help plan --all")->out, "--workers");
    assert_null(strstr(outgrow("help eval --all")->out, "--workers"));
    o = outgrow("help info");
    assert_null(strstr(o->out, "--all"));
    assert_null(strstr(outgrow("help import")->out, " \n"));
    static const char *const applying[] = {"eval", "predict", "serve"};
    for (size_t i = 0; i < sizeof(applying) / sizeof(*applying); i++) {
        char line[64];
        snprintf(line, sizeof(line), "help %s --all", applying[i]);
        assert_says(outgrow(line)->out, "--sampler=KIND");
        assert_null(strstr(outgrow(line)->out, "--optimizer"));
    }
    static const char *const commands[] = {"train", "plan", "sample", "pack", "simulate", "bench"};
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        char line[64];
        snprintf(line, sizeof(line), "help %s --all", commands[i]);
        assert_says(outgrow(line)->out, "--optimizer=KIND");
        assert_null(strstr(outgrow(line)->out, " \n"));
    }
}

/* The first lines of help are commands that work as they stand, one after the other. */
static void help_begins_with_a_model(void **state)
{
    (void)state;
    char line[256];
    char *text = strdup(outgrow("help")->out);
    int n = 0;
    for (char *at = text; strncmp(at, "  outgrow ", 10) == 0; at = strchr(at, '\n') + 1, n++) {
        snprintf(line, sizeof(line), "%.*s", (int)strcspn(at + 10, "\n#"), at + 10);
        const struct outcome *o = outgrow(line);
        if (o->status != 0)
            fail_msg("%s: %s", line, o->err);
    }
    free(text);
    assert_int_equal(n, 3);
    assert_int_equal(access("logits.npy", F_OK), 0);
    assert_int_equal(system("rm -rf graph first logits.npy"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_usage_ends_with_2),
        cmocka_unit_test(failures_end_with_1_and_leave_nothing),
        cmocka_unit_test(help_and_version_succeed),
        cmocka_unit_test(every_option_is_told),
        cmocka_unit_test(help_is_short_unless_asked),
        cmocka_unit_test(help_begins_with_a_model),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
