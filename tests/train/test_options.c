/* options: the table, values from text, YAML and JSON. */
#include "support/testing.h"

#include "base/base.h"
#include "options/options.h"
#include "support/folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_empty(const struct og_option_set *s)
{
    for (size_t i = 0; i < sizeof(s->bits); i++)
        if (s->bits[i])
            return false;
    return true;
}

static struct og_options fresh(void)
{
    struct og_options opt;
    og__options_init(&opt);
    return opt;
}

static bool takes(struct og_options *opt, const char *name, const char *value)
{
    return og_options_set(opt, name, value, NULL) == 0;
}

/* The defaults users were promised, written out once more. */
static void defaults_are_as_documented(void **state)
{
    (void)state;
    struct og_options o = fresh();
    assert_int_equal(o.model, OG_MODEL_SAGE);
    assert_int_equal(o.layers, 0);
    assert_int_equal(o.hidden, 256);
    assert_int_equal(o.heads, 4);
    assert_int_equal(o.aggregator, OG_AGGREGATOR_MEAN);
    assert_int_equal(o.norm, OG_NORM_NONE);
    assert_false(o.residual);
    assert_true(o.dropout == 0.5);
    assert_true(o.input_dropout == 0);
    assert_true(o.attention_dropout == 0);
    assert_int_equal(o.optimizer, OG_OPTIMIZER_ADAM);
    assert_true(o.lr == 0.003);
    assert_true(o.weight_decay == 0);
    assert_true(o.clip == 0 && o.warmup == 0 && o.lr_steps == 0 && o.lr_min == 0);
    assert_int_equal(o.lr_schedule, OG_RATE_CONSTANT);
    assert_null(o.init);
    assert_int_equal(o.task, OG_TASK_NODE);
    assert_int_equal(o.decoder, OG_DECODER_DOT);
    assert_int_equal(o.loss, OG_LOSS_AUTO);
    assert_null(o.class_weights);
    assert_true(o.label_smoothing == 0 && o.focal_gamma == 2);
    assert_int_equal(o.oversample, OG_OVERSAMPLE_NONE);
    assert_null(o.edge_split);
    assert_int_equal(o.negatives, 1);
    assert_int_equal(o.negative, OG_NEGATIVE_UNIFORM);
    assert_int_equal(o.eval_negatives, 100);
    assert_int_equal(o.n_fanout, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(o.fanout[i], 10);
    assert_int_equal(o.batch, 1000);
    assert_int_equal(o.epochs, 10);
    assert_int_equal(o.pack_dtype, OG_PACK_STORED);
    assert_int_equal(o.seed, 1);
    assert_false(o.no_shuffle);
    assert_true(o.batch_dependency == 1 && !o.layer_dependency);
    assert_int_equal(o.locality, 0);
    assert_null(o.order);
    assert_int_equal(o.eval_every, 1);
    assert_int_equal(o.memory.unit, OG_UNSET);
    assert_int_equal(o.cache.unit, OG_UNSET);
    assert_int_equal(o.threads, 0);
    assert_int_equal(o.policy, OG_POLICY_AUTO);
    assert_int_equal(o.io, OG_IO_AUTO);
    assert_int_equal(o.preset, OG_PRESET_NONE);
    assert_null(o.run);
    assert_false(o.resume);
    assert_int_equal(o.checkpoint_every, 300);
    assert_int_equal(o.log_every, 0);
    assert_null(o.trace_timeline);
    assert_true(is_empty(&o.given));
}

/* Each row: complete, unique, and its default is a value it accepts. */
static void the_table_is_sound(void **state)
{
    (void)state;
    const struct og_option *t;
    struct og_options o = fresh();
    for (size_t i = 0; (t = og_option(i)); i++) {
        assert_int_equal(t->size, sizeof(*t));
        assert_true(t->name && t->standard && t->group && t->help);
        assert_int_equal(t->arg == NULL, t->type == OG_OPTION_FLAG);
        if (t->type == OG_OPTION_CHOICE)
            assert_non_null(t->choices);
        if (*t->standard)
            assert_int_equal(og_options_set(&o, t->name, t->standard, NULL), 0);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(t->name, og_option(j)->name);
    }
    og__options_release(&o);
}

static const struct {
    const char *name, *value;
    size_t offset;
    int expect;
} words[] = {
    {"model", "gcn", offsetof(struct og_options, model), OG_MODEL_GCN},
    {"model", "sage", offsetof(struct og_options, model), OG_MODEL_SAGE},
    {"model", "gat", offsetof(struct og_options, model), OG_MODEL_GAT},
    {"model", "gin", offsetof(struct og_options, model), OG_MODEL_GIN},
    {"model", "pinsage", offsetof(struct og_options, model), OG_MODEL_PINSAGE},
    {"model", "rgcn", offsetof(struct og_options, model), OG_MODEL_RGCN},
    {"model", "gatv2", offsetof(struct og_options, model), OG_MODEL_GATV2},
    {"aggregator", "mean", offsetof(struct og_options, aggregator), OG_AGGREGATOR_MEAN},
    {"aggregator", "max", offsetof(struct og_options, aggregator), OG_AGGREGATOR_MAX},
    {"aggregator", "gcn", offsetof(struct og_options, aggregator), OG_AGGREGATOR_GCN},
    {"compute", "bf16", offsetof(struct og_options, compute), OG_COMPUTE_BF16},
    {"compute", "tf32", offsetof(struct og_options, compute), OG_COMPUTE_TF32},
    {"norm", "none", offsetof(struct og_options, norm), OG_NORM_NONE},
    {"norm", "batch", offsetof(struct og_options, norm), OG_NORM_BATCH},
    {"norm", "layer", offsetof(struct og_options, norm), OG_NORM_LAYER},
    {"task", "node", offsetof(struct og_options, task), OG_TASK_NODE},
    {"task", "link", offsetof(struct og_options, task), OG_TASK_LINK},
    {"task", "regression", offsetof(struct og_options, task), OG_TASK_REGRESSION},
    {"decoder", "dot", offsetof(struct og_options, decoder), OG_DECODER_DOT},
    {"decoder", "mlp", offsetof(struct og_options, decoder), OG_DECODER_MLP},
    {"loss", "auto", offsetof(struct og_options, loss), OG_LOSS_AUTO},
    {"loss", "bce", offsetof(struct og_options, loss), OG_LOSS_BCE},
    {"loss", "margin", offsetof(struct og_options, loss), OG_LOSS_MARGIN},
    {"loss", "mse", offsetof(struct og_options, loss), OG_LOSS_MSE},
    {"loss", "mae", offsetof(struct og_options, loss), OG_LOSS_MAE},
    {"loss", "huber", offsetof(struct og_options, loss), OG_LOSS_HUBER},
    {"loss", "focal", offsetof(struct og_options, loss), OG_LOSS_FOCAL},
    {"loss", "cross_entropy", offsetof(struct og_options, loss), OG_LOSS_CROSS_ENTROPY},
    {"oversample", "none", offsetof(struct og_options, oversample), OG_OVERSAMPLE_NONE},
    {"oversample", "balanced", offsetof(struct og_options, oversample), OG_OVERSAMPLE_BALANCED},
    {"negative", "uniform", offsetof(struct og_options, negative), OG_NEGATIVE_UNIFORM},
    {"negative", "batch", offsetof(struct og_options, negative), OG_NEGATIVE_BATCH},
    {"negative", "given", offsetof(struct og_options, negative), OG_NEGATIVE_GIVEN},
    {"optimizer", "adam", offsetof(struct og_options, optimizer), OG_OPTIMIZER_ADAM},
    {"optimizer", "sgd", offsetof(struct og_options, optimizer), OG_OPTIMIZER_SGD},
    {"optimizer", "adamw", offsetof(struct og_options, optimizer), OG_OPTIMIZER_ADAMW},
    {"lr-schedule", "constant", offsetof(struct og_options, lr_schedule), OG_RATE_CONSTANT},
    {"lr-schedule", "cosine", offsetof(struct og_options, lr_schedule), OG_RATE_COSINE},
    {"lr-schedule", "step", offsetof(struct og_options, lr_schedule), OG_RATE_STEP},
    {"lr-schedule", "plateau", offsetof(struct og_options, lr_schedule), OG_RATE_PLATEAU},
    {"policy", "none", offsetof(struct og_options, policy), OG_POLICY_NONE},
    {"policy", "random", offsetof(struct og_options, policy), OG_POLICY_RANDOM},
    {"policy", "degree", offsetof(struct og_options, policy), OG_POLICY_DEGREE},
    {"policy", "presc", offsetof(struct og_options, policy), OG_POLICY_PRESC},
    {"policy", "pagerank", offsetof(struct og_options, policy), OG_POLICY_PAGERANK},
    {"policy", "frequency", offsetof(struct og_options, policy), OG_POLICY_FREQUENCY},
    {"policy", "lru", offsetof(struct og_options, policy), OG_POLICY_LRU},
    {"policy", "rr", offsetof(struct og_options, policy), OG_POLICY_RR},
    {"policy", "belady", offsetof(struct og_options, policy), OG_POLICY_BELADY},
    {"policy", "hybrid", offsetof(struct og_options, policy), OG_POLICY_HYBRID},
    {"policy", "auto", offsetof(struct og_options, policy), OG_POLICY_AUTO},
    {"pack-dtype", "stored", offsetof(struct og_options, pack_dtype), OG_PACK_STORED},
    {"pack-dtype", "f32", offsetof(struct og_options, pack_dtype), OG_PACK_F32},
    {"pack-dtype", "f16", offsetof(struct og_options, pack_dtype), OG_PACK_F16},
    {"pack-dtype", "bf16", offsetof(struct og_options, pack_dtype), OG_PACK_BF16},
    {"evict", "dynamic", offsetof(struct og_options, evict), OG_EVICT_DYNAMIC},
    {"topology", "disk", offsetof(struct og_options, topology), OG_TOPOLOGY_DISK},
    {"superbatch", "auto", offsetof(struct og_options, superbatch), OG_SUPERBATCH_AUTO},
    {"superbatch", "all", offsetof(struct og_options, superbatch), OG_SUPERBATCH_ALL},
    {"superbatch", "64", offsetof(struct og_options, superbatch), 64},
    {"io", "uring", offsetof(struct og_options, io), OG_IO_URING},
    {"io", "pread", offsetof(struct og_options, io), OG_IO_PREAD},
    {"io", "mmap", offsetof(struct og_options, io), OG_IO_MMAP},
    {"io", "auto", offsetof(struct og_options, io), OG_IO_AUTO},
    {"preset", "none", offsetof(struct og_options, preset), OG_PRESET_NONE},
    {"preset", "pyg+", offsetof(struct og_options, preset), OG_PRESET_PYG_PLUS},
    {"preset", "ali+pg", offsetof(struct og_options, preset), OG_PRESET_ALI_PG},
    {"preset", "ginex", offsetof(struct og_options, preset), OG_PRESET_GINEX},
    {"preset", "fgnn", offsetof(struct og_options, preset), OG_PRESET_FGNN},
    {"preset", "lsm-gnn", offsetof(struct og_options, preset), OG_PRESET_LSM_GNN},
    {"preset", "helios", offsetof(struct og_options, preset), OG_PRESET_HELIOS},
    {"preset", "memory", offsetof(struct og_options, preset), OG_PRESET_MEMORY},
    {"preset", "auto", offsetof(struct og_options, preset), OG_PRESET_AUTO},
};

static void choices_follow_the_enums(void **state)
{
    (void)state;
    struct og_options o = fresh();
    for (size_t i = 0; i < OG_COUNT(words); i++) {
        assert_true(takes(&o, words[i].name, words[i].value));
        assert_int_equal(*(int *)((char *)&o + words[i].offset), words[i].expect);
    }
}

static void a_choice_may_carry_a_number(void **state)
{
    (void)state;
    struct og_options o = fresh();
    assert_true(takes(&o, "policy", "presc:3"));
    assert_int_equal(o.policy, OG_POLICY_PRESC);
    assert_int_equal(o.presc_epochs, 3);
    assert_true(takes(&o, "policy", "hybrid:dynamic"));
    assert_int_equal(o.policy, OG_POLICY_HYBRID);
    assert_int_equal(o.evict, OG_EVICT_DYNAMIC);
    assert_false(takes(&o, "policy", "hybrid:2"));
    assert_true(takes(&o, "policy", "presc:3"));
    assert_false(takes(&o, "policy", "presc:"));
    assert_false(takes(&o, "policy", "presc:0"));
    assert_false(takes(&o, "policy", "degree:2"));
    assert_int_equal(o.policy, OG_POLICY_PRESC);
    assert_int_equal(o.presc_epochs, 3);
}

static void parameters_join_the_word(void **state)
{
    (void)state;
    struct og_options o = fresh();
    struct og_err err = {0};
    assert_true(takes(&o, "policy", "hybrid:window=128,update=2,static"));
    assert_int_equal(o.policy, OG_POLICY_HYBRID);
    assert_int_equal(o.window, 128);
    assert_int_equal(o.update, 2);
    assert_int_equal(o.evict, OG_EVICT_STATIC);
    assert_true(og_options_given(&o, "window") && og_options_given(&o, "policy"));
    assert_true(takes(&o, "policy", "rr:ways=8"));
    assert_int_equal(o.ways, 8);
    assert_true(takes(&o, "policy", "presc:epochs=7"));
    assert_int_equal(o.presc_epochs, 7);
    assert_true(takes(&o, "sampler", "walk:walks=9,length=2"));
    assert_int_equal(o.sampler, OG_SAMPLER_WALK);
    assert_int_equal(o.walks, 9);
    assert_int_equal(o.walk_length, 2);
    assert_true(takes(&o, "model", "gat:heads=2"));
    assert_int_equal(o.heads, 2);
    assert_true(takes(&o, "lr-schedule", "step:30,0.5"));
    assert_int_equal(o.lr_schedule, OG_RATE_STEP);
    assert_int_equal(o.lr_every, 30);
    assert_true(o.lr_factor == 0.5);
    assert_true(takes(&o, "loss", "focal:1.5"));
    assert_true(o.loss == OG_LOSS_FOCAL && o.focal_gamma == 1.5);
    assert_false(takes(&o, "loss", "bce:1"));
    assert_true(takes(&o, "lr-schedule", "plateau:0.2,lr-patience=7"));
    assert_true(o.lr_schedule == OG_RATE_PLATEAU && o.lr_factor == 0.2 && o.lr_patience == 7);
    assert_false(takes(&o, "lr-schedule", "step:30,0.5,2"));
    assert_false(takes(&o, "lr-schedule", "step:0"));
    assert_false(takes(&o, "lr-schedule", "constant:1"));
    assert_int_equal(o.lr_schedule, OG_RATE_PLATEAU);
    /* a name may have what else parts parameters */
    assert_true(takes(&o, "policy", "file:a=b,c:d.npy"));
    assert_int_equal(o.policy, OG_POLICY_FILE);
    assert_string_equal(o.scores, "a=b,c:d.npy");
    /* of what is refused nothing is taken */
    assert_int_equal(og_options_set(&o, "policy", "hybrid:window=9,ways=0", &err), -EINVAL);
    assert_int_equal(og_options_set(&o, "policy", "hybrid:window=9,epochs=2", &err), -EINVAL);
    assert_int_equal(o.policy, OG_POLICY_FILE);
    assert_int_equal(o.window, 128);
    assert_false(takes(&o, "policy", "rr:8"));
    assert_false(takes(&o, "policy", "rr:window=8"));
    assert_false(takes(&o, "policy", "hybrid:"));
    assert_false(takes(&o, "policy", "lru:ways=8"));
    assert_false(takes(&o, "policy", "file:"));
    err = (struct og_err){0};
    assert_int_equal(og_options_set(&o, "policy", "hybrid:wimdow=9", &err), -EINVAL);
    assert_non_null(strstr(err.message, "hybrid has no parameter 'wimdow'"));
    assert_non_null(strstr(err.hint, "window"));
    og__options_release(&o);
}

/* The group that "decides the results" does, the others do not; a parameter has kinds that take it.
 */
static void what_options_decide(void **state)
{
    (void)state;
    const struct og_option *t;
    struct og_options o = fresh();
    for (size_t i = 0; (t = og_option(i)); i++) {
        char takers[64] = "";
        assert_int_equal(t->decides != OG_DECIDES_NOTHING,
                         strstr(t->group, "decide the results") != NULL);
        if (t->of)
            og__option_takers(t, takers, sizeof(takers));
        assert_int_equal(t->of != NULL, takers[0] != 0);
        assert_true(t->of || !t->joins);
    }
    /* what a run must have been started with to go on */
    json_t *numbers = og__options_deciding(&o, OG_DECIDES_NUMBERS);
    assert_int_equal(json_object_size(numbers), 74);
    assert_null(json_object_get(numbers, "epochs"));
    assert_null(json_object_get(numbers, "patience"));
    assert_null(json_object_get(numbers, "init"));
    assert_null(json_object_get(numbers, "memory"));
    assert_non_null(json_object_get(numbers, "dropout"));
    json_decref(numbers);
    json_t *batches = og__options_deciding(&o, OG_DECIDES_BATCHES);
    assert_null(json_object_get(batches, "dropout"));
    assert_non_null(json_object_get(batches, "fanout"));
    json_decref(batches);
    og__options_release(&o);
}

/* Words of a choice are read in any case; one that is meant is named. */
static void words_of_choices_are_guessed(void **state)
{
    (void)state;
    struct og_options o = fresh();
    struct og_err err = {0};
    assert_int_equal(og_options_set(&o, "model", "GCN", &err), 0);
    assert_int_equal(og_options_set(&o, "no-shuffle", "True", &err), 0);
    assert_string_equal(og__option_word("model", o.model), "gcn");
    assert_true(o.no_shuffle);
    assert_true(og_options_set(&o, "model", "GraphSAGE", &err) < 0);
    assert_string_equal(err.hint, "did you mean sage?");
    err = (struct og_err){0};
    assert_true(og_options_set(&o, "policy", "beladi", &err) < 0);
    assert_string_equal(err.hint, "did you mean belady?");
    assert_true(og_options_set(&o, "model", "cnn", &err) < 0);
    og__options_release(&o);
}

/* What one option sets of another belongs to what was requested; what was not set does not. */
static void what_is_requested_is_whole(void **state)
{
    (void)state;
    struct og_options o = fresh();
    assert_int_equal(og_options_set(&o, "fanout", "10,10;cites=3,3", NULL), 0);
    assert_int_equal(og_options_set(&o, "device", "virtual:2", NULL), 0);
    json_t *requested = og__options_requested(&o);
    assert_int_equal(json_object_size(requested), 4);
    assert_string_equal(json_string_value(json_object_get(requested, "relation-fanout")),
                        "cites=3,3");
    assert_string_equal(json_string_value(json_object_get(requested, "devices")), "0,1");
    json_decref(requested);
    og__options_release(&o);
}

static void sizes_are_powers_of_two(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int unit;
        double value;
    } cases[] = {
        {"512M", OG_BYTES, 512.0 * 1024 * 1024},
        {"4G", OG_BYTES, 4294967296.0},
        {"1.5k", OG_BYTES, 1536},
        {"2TiB", OG_BYTES, 2199023255552.0},
        {"1000", OG_BYTES, 1000},
        {"0", OG_BYTES, 0},
        {"25%", OG_PERCENT, 25},
        {"0.5%", OG_PERCENT, 0.5},
        {"100%", OG_PERCENT, 100},
    };
    struct og_options o = fresh();
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        assert_true(takes(&o, "cache", cases[i].text));
        assert_int_equal(o.cache.unit, cases[i].unit);
        assert_true(o.cache.value == cases[i].value);
    }
}

/* A refused value is named with what would do, and changes nothing. */
static void bad_values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *expected;
    } cases[] = {
        {"hidden", "0", "from 1 to"},
        {"hidden", "x", "whole number"},
        {"hidden", "1.5", "whole number"},
        {"hidden", "", "whole number"},
        {"hidden", " 5", "whole number"},
        {"hidden", "99999999999999999999", "whole number"},
        {"threads", "-1", "or all"},
        {"threads", "every", "or all"},
        {"seed", "-1", "2^63"},
        {"seed", "9223372036854775808", "2^63"},
        {"dropout", "1", "0.99"},
        {"dropout", "-0.1", "from 0"},
        {"dropout", "nan", "number"},
        {"dropout", "0x0.1p0", "number"},
        {"lr", "inf", "number"},
        {"lr", "1e999", "number"},
        {"lr", "1e-3x", "number"},
        {"memory", "4GB", "512M"},
        {"memory", "5 ", "512M"},
        {"memory", "G", "512M"},
        {"memory", "-4G", "512M"},
        {"memory", "101%", "25%"},
        {"memory", "1e30T", "512M"},
        {"memory", "", "512M"},
        {"memory", "4", "512M"}, /* bytes: a size without its unit */
        {"memory", "4k", "512M"},
        {"policy", "optimal", "none, random, degree, presc, pagerank"},
        {"policy", "presc:0", "presc-epochs"},
        {"superbatch", "-2", "or auto or all"},
        {"policy", "", "none, random"},
        {"model", "cnn", "gcn, sage, gat, gin, pinsage"},
        {"heads", "0", "1 to 64"},
        {"aggregator", "sum", "mean, max, gcn"},
        {"norm", "l2", "none, batch, layer"},
        {"compute", "f16", "f32, bf16, tf32"},
        {"fanout", "", "10,10,10"},
        {"fanout", "10,", "10,10,10"},
        {"fanout", "10,,10", "10,10,10"},
        {"fanout", "10,0", "at least 1"},
        {"fanout", "10,-2", "-1 for all"},
        {"fanout", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "1 to 16"},
        {"fanout", "10,10;", "after the semicolon"},
        {"devices", "0,0", "numbers of devices"},
        {"no-shuffle", "yes", "true or false"},
        {"run", "", "some text"},
        {"run", "\xff\xfe", "UTF-8"},
    };
    struct og_options o = fresh();
    struct og_options before = o;
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        struct og_err err = {0};
        assert_int_equal(og_options_set(&o, cases[i].name, cases[i].value, &err), -EINVAL);
        assert_int_equal(err.code, -EINVAL);
        if (!strchr(cases[i].value, ':')) /* the number after it is another option's */
            assert_ptr_equal(strstr(err.message, cases[i].name), err.message);
        if (!strstr(err.message, cases[i].expected))
            fail_msg("%s does not say %s", err.message, cases[i].expected);
        assert_memory_equal(&o, &before, sizeof(o));
    }
}

/* PyTorch Geometric's and DGL's names, and former ones, set our options, and are given as these. */
static void names_of_other_libraries_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *alias, *name, *value;
    } cases[] = {
        {"batch-size", "batch", "77"},
        {"num-neighbors", "fanout", "7,3"},
        {"learning-rate", "lr", "0.5"},
        {"hidden-channels", "hidden", "24"},
        {"num-hidden", "hidden", "25"},
        {"num-layers", "layers", "5"},
        {"num-heads", "heads", "2"},
        {"num-epochs", "epochs", "31"},
        {"trainers", "executors", "3"},
        {"together", "sample-group", "4"},
        {"alternate", "phased-memory", "true"},
    };
    enum { OF_COMMANDS = 2 }; /* of simulate and import */
    assert_non_null(og_option_alias(OG_COUNT(cases) + OF_COMMANDS - 1));
    assert_null(og_option_alias(OG_COUNT(cases) + OF_COMMANDS));
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        struct og_options theirs = fresh();
        struct og_options ours = fresh();
        assert_true(takes(&theirs, cases[i].alias, cases[i].value));
        assert_true(takes(&ours, cases[i].name, cases[i].value));
        assert_memory_equal(&theirs, &ours, sizeof(ours));
        assert_true(og_options_given(&theirs, cases[i].name));
    }
    struct og_options o = fresh();
    static const char text[] = "batch-size: 12\nnum-epochs: 3\n";
    assert_int_equal(og__options_parse(&o, text, sizeof(text) - 1, "c", NULL), 0);
    assert_int_equal(o.batch, 12);
    assert_int_equal(o.epochs, 3);
    og__options_release(&o);
}

static void unknown_names_are_refused(void **state)
{
    (void)state;
    struct og_options o = fresh();
    struct og_err err = {0};
    assert_int_equal(og_options_set(&o, "hiden", "1", &err), -EINVAL);
    assert_string_equal(err.hint, "did you mean 'hidden'? Its default is 256");
    err = (struct og_err){0};
    assert_int_equal(og_options_set(&o, "weight_decay", "1", &err), -EINVAL);
    assert_string_equal(err.hint, "did you mean 'weight-decay'? Its default is 0");
    err = (struct og_err){0};
    assert_int_equal(og_options_set(&o, "num_neighbors", "1", &err), -EINVAL);
    assert_string_equal(err.hint, "did you mean 'fanout'? Its default is 10,10,10");
    err = (struct og_err){0};
    assert_int_equal(og_options_set(&o, "ressume", "true", &err), -EINVAL);
    assert_string_equal(err.hint, "did you mean 'resume'?");
    err = (struct og_err){0};
    assert_int_equal(og_options_set(&o, "quantisation", "1", &err), -EINVAL);
    assert_non_null(strstr(err.hint, "outgrow help train"));
}

static void what_was_given_is_known(void **state)
{
    (void)state;
    struct og_options o = fresh();
    assert_false(og_options_given(&o, "policy"));
    assert_true(takes(&o, "policy", "auto")); /* even when it is the default */
    assert_false(takes(&o, "io", "nothing"));
    assert_true(og_options_given(&o, "policy"));
    assert_false(og_options_given(&o, "io"));
}

/* ---- copies, JSON, YAML ---- */

/* Every option away from its default. */
static const char *const away[][2] = {
    {"model", "gcn"},
    {"layers", "2"},
    {"hidden", "17"},
    {"heads", "2"},
    {"aggregator", "max"},
    {"edge-weights", "multiply"},
    {"edge-features", "off"},
    {"inputs", "0-2"},
    {"bases", "3"},
    {"norm", "layer"},
    {"compute", "bf16"},
    {"residual", "true"},
    {"dropout", "0.1"},
    {"input-dropout", "0.2"},
    {"attention-dropout", "0.3"},
    {"optimizer", "sgd"},
    {"lr", "0.30000000000000004"},
    {"weight-decay", "5e-4"},
    {"beta1", "0.85"},
    {"beta2", "0.98"},
    {"epsilon", "1e-6"},
    {"clip", "0.25"},
    {"lr-schedule", "cosine"},
    {"lr-steps", "123456789012"},
    {"lr-min", "1e-5"},
    {"lr-every", "3"},
    {"lr-factor", "0.7"},
    {"lr-patience", "4"},
    {"warmup", "50"},
    {"min-delta", "0.001"},
    {"patience", "4"},
    {"init", "it's: a \"file\" # {x}"},
    {"task", "link"},
    {"decoder", "mlp"},
    {"loss", "margin"},
    {"focal-gamma", "1.5"},
    {"class-weights", "w, x.npy"},
    {"seed-weights", "w, x.npy"},
    {"type-weights", "paper=2"},
    {"label-smoothing", "0.05"},
    {"oversample", "balanced"},
    {"edge-split", "70/10/20"},
    {"relation", "cites"},
    {"negatives", "5"},
    {"negative", "batch"},
    {"eval-negatives", "20"},
    {"fanout", "-1,25"},
    {"batch", "3"},
    {"epochs", "0"},
    {"seed", "9223372036854775807"},
    {"no-shuffle", "true"},
    {"locality", "10"},
    {"order", "my, order.npy"},
    {"eval-every", "7"},
    {"best-by", "hits@10"},
    {"resample-every", "3"},
    {"layout", "packed"},
    {"memory", "33.3%"},
    {"cache", "123457"},
    {"threads", "3"},
    {"policy", "none"},
    {"io", "mmap"},
    {"preset", "pyg+"},
    {"checkpoint-every", "1"},
    {"log-every", "2"},
    {"trace-timeline", "~"},
    {"run", "r"},
    {"resume", "true"},
    {"topology", "disk"},
    {"alternate", "true"},
    {"neighbor-cache", "64M"},
    {"together", "12"},
    {"pipeline", "none"},
    {"presc-epochs", "2"},
    {"scores", "hot = 1, 2.npy"},
    {"superbatch", "all"},
    {"ways", "16"},
    {"window", "64"},
    {"update", "2"},
    {"threshold", "9"},
    {"evict", "static"},
    {"disk", "10G"},
    {"scratch", "s"},
    {"samples", "t"},
    {"sampler", "walk"},
    {"walks", "7"},
    {"walk-length", "2"},
    {"walk-restart", "0.25"},
    {"neighbors", "9"},
    {"relation-fanout", "cites=15,10;writes=5,5"},
    {"draw", "once"},
    {"replace", "true"},
    {"disjoint", "true"},
    {"time", "edge"},
    {"time-strategy", "last"},
    {"time-window", "86400"},
    {"batch-dependency", "16"},
    {"layer-dependency", "true"},
    {"pack-dtype", "bf16"},
    {"accumulate", "8"},
    {"executors", "2:3"},
    {"workers", "4"},
    {"exchange", "true"},
    {"staleness", "2"},
    {"device", "virtual"},
    {"devices", "1,0"},
    {"sample-on", "device"},
    {"device-memory", "2G"},
    {"device-policy", "hybrid:window=7"},
    {"victim", "pvp"},
    {"embedding", "8"},
    {"embedding-optimizer", "adagrad"},
    {"embedding-lr", "0.25"},
};

static struct og_options unusual(void)
{
    struct og_options o = fresh();
    assert_non_null(og_option(OG_COUNT(away) - 1));
    assert_null(og_option(OG_COUNT(away)));
    for (size_t i = 0; i < OG_COUNT(away); i++)
        assert_true(takes(&o, away[i][0], away[i][1]));
    return o;
}

/* json_equal on both, which covers each option since og__options_json has them all. */
static void assert_same(const struct og_options *a, const struct og_options *b)
{
    json_t *x = og__options_json(a);
    json_t *y = og__options_json(b);
    assert_true(json_equal(x, y));
    json_decref(x);
    json_decref(y);
}

static void a_copy_owns_its_strings(void **state)
{
    (void)state;
    struct og_options a = unusual();
    struct og_options b;
    assert_int_equal(og__options_copy(&b, &a, NULL), 0);
    assert_same(&a, &b);
    assert_ptr_not_equal(a.init, b.init);
    assert_true(takes(&b, "run", "elsewhere"));
    assert_string_equal(a.run, "r");
    og__options_release(&a);
    og__options_release(&b);
}

static void json_has_every_option(void **state)
{
    (void)state;
    struct og_options o = unusual();
    json_t *j = og__options_json(&o);
    const struct og_option *t;
    assert_int_equal(json_object_size(j), OG_COUNT(away));
    for (size_t i = 0; (t = og_option(i)); i++)
        assert_non_null(json_object_get(j, t->name));
    assert_string_equal(json_string_value(json_object_get(j, "model")), "gcn");
    assert_true(json_real_value(json_object_get(j, "weight-decay")) == 5e-4);
    assert_true(json_integer_value(json_object_get(j, "seed")) == INT64_MAX);
    assert_true(json_integer_value(json_object_get(j, "cache")) == 123457);
    assert_string_equal(json_string_value(json_object_get(j, "memory")), "33.3%");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(j, "fanout"), 1)), 25);
    assert_true(json_is_true(json_object_get(j, "no-shuffle")));
    json_decref(j);
    og__options_release(&o);
    o = fresh();
    j = og__options_json(&o);
    assert_true(json_is_null(json_object_get(j, "memory")));
    assert_true(json_is_null(json_object_get(j, "run")));
    json_decref(j);
}

static void yaml_reads_back(void **state)
{
    (void)state;
    char dir[TEST_PATH];
    assert_non_null(test_folder(dir, "options"));
    char path[64];
    snprintf(path, sizeof(path), "%s/config.yaml", dir);
    struct og_options a = unusual();
    struct og_options b = fresh();
    assert_int_equal(og__options_write_yaml(&a, path, NULL), 0);
    assert_int_equal(og_options_load(&b, path, NULL), 0);
    assert_null(b.run); /* names one run, so it is not in the file */
    assert_false(b.resume);
    assert_true(takes(&b, "run", "r"));
    assert_true(takes(&b, "resume", "true"));
    assert_same(&a, &b);
    assert_memory_equal(&a.given, &b.given, sizeof(a.given));
    unlink(path);
    struct og_err err = {0};
    assert_int_equal(og_options_load(&b, path, &err), -ENOENT);
    assert_ptr_equal(strstr(err.message, path), err.message);
    rmdir(dir);
    og__options_release(&a);
    og__options_release(&b);
}

static int parse(struct og_options *o, const char *text, struct og_err *err);

/* A config.yaml of an earlier version may have an option that is gone. On the command line it is a
 * word like any other. */
static void files_may_have_options_that_are_gone(void **state)
{
    (void)state;
    struct og_options o = fresh();
    assert_int_equal(parse(&o, "hidden: 7\n", NULL), 0);
    assert_null(o.removed);
    assert_int_equal(parse(&o, "early-reads: true\nhidden: 8\n", NULL), 0);
    assert_int_equal(o.hidden, 8);
    assert_string_equal(o.removed, "early-reads");
    assert_int_equal(og_options_set(&o, "early-reads", "true", NULL), -EINVAL);
    og__options_release(&o);
}

static int parse(struct og_options *o, const char *text, struct og_err *err)
{
    return og__options_parse(o, text, strlen(text), "x.yaml", err);
}

static void yaml_is_what_people_write(void **state)
{
    (void)state;
    struct og_options o = fresh();
    assert_int_equal(parse(&o, "", NULL), 0);
    assert_int_equal(parse(&o, "# nothing\n", NULL), 0);
    assert_true(is_empty(&o.given));
    assert_int_equal(parse(&o,
                           "# a comment\nmodel: gcn\nfanout: [5, -1]\nmemory: 25%\n"
                           "run: \"a b\"\nno-shuffle: true\n",
                           NULL),
                     0);
    assert_int_equal(o.model, OG_MODEL_GCN);
    assert_int_equal(o.n_fanout, 2);
    assert_int_equal(o.fanout[1], -1);
    assert_int_equal(o.memory.unit, OG_PERCENT);
    assert_string_equal(o.run, "a b");
    assert_int_equal(parse(&o, "fanout:\n  - 3\n  - 4\n  - 5\n", NULL), 0);
    assert_int_equal(o.n_fanout, 3);
    assert_int_equal(parse(&o, "fanout: 7,8\n", NULL), 0);
    assert_int_equal(o.fanout[1], 8);
    og__options_release(&o);
}

static void bad_yaml_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line;
    } cases[] = {
        {"hidden: 5\nhiden: 5\n", 2},
        {"hidden: 5\n\nhidden: 6\n", 3},
        {"hidden: none\n", 1},
        {"hidden:\n", 1},
        {"- hidden\n", 1},
        {"just words\n", 1},
        {"model:\n  kind: gcn\n", 2},
        {"fanout: [1, [2]]\n", 1},
        {"fanout: [1, , 2\n", 1},
        {"lr: &a 0.1\nweight-decay: *a\n", 2},
        {"hidden: 5\n--- \nhidden: 6\n", 2},
        {"hidden: [5\n", 2},
        {"run: \"a\\0b\"\n", 1},
        {"\"run\\0\": a\n", 1},
        {"[a]: 5\n", 1},
    };
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        struct og_options o = fresh();
        struct og_err err = {0};
        char at[32];
        int rc = parse(&o, cases[i].text, &err);
        if (rc != -EINVAL)
            fail_msg("accepted: %s", cases[i].text);
        snprintf(at, sizeof(at), "x.yaml:%d: ", cases[i].line);
        if (strncmp(err.message, at, strlen(at)) != 0)
            fail_msg("%s for %s", err.message, cases[i].text);
        og__options_release(&o);
    }
}

/* Devices by number: which are meant, and what is no such list. */
static void devices_have_numbers(void **state)
{
    (void)state;
    struct og_options o = fresh();
    struct og_err err = {0};
    static const struct {
        const char *value;
        int kind;
        const char *devices;
    } some[] = {{"virtual:1", OG_DEVICE_VIRTUAL, "0"},
                {"virtual:3", OG_DEVICE_VIRTUAL, "0,1,2"},
                {"virtual:16", OG_DEVICE_VIRTUAL, "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"},
                {"cuda:0", OG_DEVICE_CUDA, "0"},
                {"cuda:3,1", OG_DEVICE_CUDA, "3,1"}};
    for (size_t i = 0; i < OG_COUNT(some); i++) {
        assert_true(takes(&o, "device", some[i].value));
        assert_int_equal(o.device, some[i].kind);
        assert_string_equal(o.devices, some[i].devices);
    }
    assert_false(og_options_given(&o, "devices"));
    assert_true(takes(&o, "device", "cpu")); /* and which they were is gone */
    assert_int_equal(o.device, OG_DEVICE_CPU);
    assert_null(o.devices);
    assert_true(takes(&o, "devices", "2,0") && takes(&o, "device", "cuda"));
    assert_string_equal(o.devices, "2,0"); /* that was given by itself */
    assert_true(takes(&o, "device", "cpu"));
    static const struct {
        const char *value;
        int rc;
        const char *text; /* in message or hint */
    } others[] = {
        {"virtual:0", -EINVAL, "numbers expected"},   {"virtual:17", -EINVAL, "at most 16"},
        {"virtual:0,1", -EINVAL, "numbers expected"}, {"cuda:0,0", -EINVAL, "each once"},
        {"cuda:0,", -EINVAL, "numbers expected"},     {"cuda:256", -EINVAL, "numbers expected"},
        {"cpu:1", -EINVAL, "numbers expected"},       {"cuda:", -EINVAL, "numbers expected"},
        {"cuda:x", -EINVAL, "numbers expected"},      {"gpu:0", -EINVAL, "numbers expected"},
        {"virtual:-1", -EINVAL, "numbers expected"}};
    for (size_t i = 0; i < OG_COUNT(others); i++) {
        err = (struct og_err){0};
        assert_int_equal(og_options_set(&o, "device", others[i].value, &err), others[i].rc);
        if (!strstr(err.message, others[i].text) && !strstr(err.hint, others[i].text))
            fail_msg("%s: %s (%s)", others[i].value, err.message, err.hint);
        assert_ptr_equal(strstr(err.message, "device: "), err.message);
        assert_int_equal(o.device, OG_DEVICE_CPU);
    }
    assert_int_equal(og_options_set(&o, "devices", "0,x", &err), -EINVAL);
    og__options_release(&o);
}

/* ---- as programs have them ---- */

static struct og_options *made(void)
{
    struct og_options *opt = NULL;
    assert_int_equal(og_options_new(&opt, NULL), 0);
    assert_non_null(opt);
    return opt;
}

/* The text of og_options_get for each option makes another set the same. */
static void what_is_got_can_be_set(void **state)
{
    (void)state;
    struct og_options away_from_all = unusual();
    struct og_options *opt = NULL;
    struct og_options *again = made();
    const struct og_option *t;
    assert_int_equal(og_options_copy(&opt, &away_from_all, NULL), 0);
    for (size_t i = 0; (t = og_option(i)); i++) {
        char *text = NULL;
        assert_int_equal(og_options_get(opt, t->name, &text, NULL), 0);
        assert_true(*text && takes(again, t->name, text));
        assert_true(og_options_given(opt, t->name));
        free(text);
    }
    assert_same(opt, again);
    og_options_free(again);
    og_options_free(opt);
    og__options_release(&away_from_all);
}

static void assert_got(const struct og_options *opt, const char *name, const char *expected)
{
    char *text = NULL;
    assert_int_equal(og_options_get(opt, name, &text, NULL), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void values_are_got_by_name(void **state)
{
    (void)state;
    struct og_options *opt = made();
    struct og_err err = {0};
    char *text = (char *)"untouched";
    assert_got(opt, "epochs", "10");
    assert_got(opt, "fanout", "10,10,10");
    assert_got(opt, "memory", "");
    assert_got(opt, "run", "");
    assert_got(opt, "threads", "all");
    assert_got(opt, "executors", "auto");
    assert_true(takes(opt, "num-neighbors", "5,4;cites=2,1"));
    assert_got(opt, "num-neighbors", "5,4;cites=2,1");
    assert_true(og_options_given(opt, "fanout") && og_options_given(opt, "num-neighbors"));
    assert_false(og_options_given(opt, "epochs") || og_options_given(opt, "epoch"));
    assert_int_equal(og_options_get(opt, "epoch", &text, &err), -EINVAL);
    assert_null(text);
    assert_string_equal(err.hint, "did you mean 'epochs'? Its default is 10");
    og_options_free(opt);
    og_options_free(NULL);
}

static void a_copy_is_another_set(void **state)
{
    (void)state;
    struct og_options *a = made();
    struct og_options *b = NULL;
    assert_true(takes(a, "run", "here"));
    assert_int_equal(og_options_copy(&b, a, NULL), 0);
    assert_true(takes(b, "run", "elsewhere"));
    assert_got(a, "run", "here");
    assert_true(og_options_given(b, "run"));
    og_options_free(a);
    assert_got(b, "run", "elsewhere");
    og_options_free(b);
}

static void json_is_loaded_too(void **state)
{
    (void)state;
    static const char text[] = "{\"epochs\": 3, \"fanout\": [5, 4], \"no-shuffle\": true,\n"
                               " \"memory\": \"2G\", \"lr\": 0.5}\n";
    struct og_options *opt = made();
    char dir[TEST_PATH];
    char path[TEST_PATH + 16];
    assert_non_null(test_folder(dir, "options"));
    snprintf(path, sizeof(path), "%s/opt.json", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
    assert_int_equal(og_options_load(opt, path, NULL), 0);
    assert_got(opt, "epochs", "3");
    assert_got(opt, "fanout", "5,4");
    assert_got(opt, "no-shuffle", "true");
    assert_got(opt, "memory", "2147483648");
    assert_got(opt, "lr", "0.5");
    assert_true(og_options_given(opt, "lr"));
    og_options_free(opt);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_as_documented),
        cmocka_unit_test(the_table_is_sound),
        cmocka_unit_test(choices_follow_the_enums),
        cmocka_unit_test(a_choice_may_carry_a_number),
        cmocka_unit_test(parameters_join_the_word),
        cmocka_unit_test(what_options_decide),
        cmocka_unit_test(words_of_choices_are_guessed),
        cmocka_unit_test(what_is_requested_is_whole),
        cmocka_unit_test(sizes_are_powers_of_two),
        cmocka_unit_test(bad_values_are_refused),
        cmocka_unit_test(names_of_other_libraries_are_known),
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(what_was_given_is_known),
        cmocka_unit_test(a_copy_owns_its_strings),
        cmocka_unit_test(json_has_every_option),
        cmocka_unit_test(yaml_reads_back),
        cmocka_unit_test(files_may_have_options_that_are_gone),
        cmocka_unit_test(yaml_is_what_people_write),
        cmocka_unit_test(bad_yaml_is_refused_with_its_line),
        cmocka_unit_test(devices_have_numbers),
        cmocka_unit_test(what_is_got_can_be_set),
        cmocka_unit_test(values_are_got_by_name),
        cmocka_unit_test(a_copy_is_another_set),
        cmocka_unit_test(json_is_loaded_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
