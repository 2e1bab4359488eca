#include "train/checkpoint.h"

#include "base/file.h"
#include "dataset/edge_split.h"
#include "dataset/identity.h"
#include "nn/tasks.h"
#include "train/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char og__diverged_hint[] = "had training diverged? take an earlier checkpoint, or look for "
                                 "extreme values with `outgrow verify`";

static const char adam_m[] = "adam.m.";
static const char adam_v[] = "adam.v.";
static const char best_prefix[] = "best.";

/* ---- building a file ---- */

/* Data where a model computes, or, without one, the host's. */
struct place {
    struct og_model *model;
    float *at;
};

static void add_tensor(struct og_tensors *t, const char *prefix, const struct og_param *p,
                       struct place data)
{
    struct og_tensor *tensor = &t->tensor[t->n++];
    *tensor = (struct og_tensor){.dtype = OG_TENSOR_F32,
                                 .ndim = p->ndim,
                                 .shape = {p->shape[0], p->shape[1], p->shape[2]},
                                 .data = data.at,
                                 .where = data.model,
                                 .bytes = og__param_count(p) * sizeof(float)};
    snprintf(tensor->name, sizeof(tensor->name), "%s%s", prefix, p->name);
}

/* values: all parameters one after another; NULL = the model's */
static void add_params(struct og_tensors *t, const char *prefix, struct og_model *m,
                       const float *values)
{
    size_t n;
    const struct og_param *params = og__model_params(m, &n);
    for (size_t i = 0; i < n; i++) {
        add_tensor(t, prefix, &params[i],
                   values ? (struct place){NULL, (float *)values}
                          : (struct place){m, params[i].value});
        if (values)
            values += og__param_count(&params[i]);
    }
}

/* What decides which edges a run of links holds out. */
static const char *const edge_options[] = {"seed", "edge-split"};

/* The sampler and its parameters, named and written as on the command line. */
enum { MOST_SAMPLER_OPTIONS = 16, MODEL_KEYS = 12, OPTION_KEYS = MOST_SAMPLER_OPTIONS + 2 };
_Static_assert(OG_COUNT(edge_options) == 2, "room in OPTION_KEYS");

static size_t list_sampler_options(const struct og_options *opt,
                                   const char *names[MOST_SAMPLER_OPTIONS])
{
    size_t n_rows, n = 0;
    const struct og_option *row = og_option_table(&n_rows);
    for (size_t i = 0; i < n_rows && n < MOST_SAMPLER_OPTIONS; i++) {
        const bool parameter = row[i].of && strcmp(row[i].of, "sampler") == 0;
        if (strcmp(row[i].name, "sampler") == 0 || (parameter && og__option_counts(opt, &row[i])))
            names[n++] = row[i].name;
    }
    return n;
}

/* Those that a file says; it says nothing of a draw in each hop, as files did before there was
 * another. */
static size_t said_sampler_options(const struct og_options *opt,
                                   const char *names[MOST_SAMPLER_OPTIONS])
{
    size_t n = list_sampler_options(opt, names), said = 0;
    for (size_t i = 0; i < n; i++)
        if (opt->draw != OG_DRAW_EACH || strcmp(names[i], "draw") != 0)
            names[said++] = names[i];
    return said;
}

/* Options by name behind what the file says already; texts have room in `text`. */
static void say_options(struct og_tensors *t, const struct og_options *opt,
                        const char *const *names, size_t n, char text[][32])
{
    for (size_t i = 0; i < n; i++)
        t->metadata[t->n_metadata++] =
            (struct og_metadata){(char *)names[i], (char *)og__option_text(opt, names[i], text[i])};
}

int og__checkpoint_write(const char *path, struct og_model *m, const struct og_options *trained,
                         const float *values, struct og_err *err)
{
    size_t n;
    const struct og_model_config *config = og__model_config(m);
    og__model_params(m, &n);
    enum { NUMBERS = 5 };
    char number[NUMBERS][16];
    const int numbers[NUMBERS] = {config->layers, config->in_dim, config->hidden, config->n_classes,
                                  config->heads};
    for (int i = 0; i < NUMBERS; i++)
        snprintf(number[i], sizeof(number[i]), "%d", numbers[i]);
    char text[OPTION_KEYS][32];
    struct og_metadata metadata[MODEL_KEYS + OPTION_KEYS] = {
        {"format", "pt"},
        {"model", (char *)og__option_word("model", config->kind)},
        {"layers", number[0]},
        {"in_dim", number[1]},
        {"hidden", number[2]},
        {"n_classes", number[3]},
        {"heads", number[4]},
        {"aggregator", (char *)og__option_word("aggregator", config->aggregator)},
        {"norm", (char *)og__option_word("norm", config->norm)},
        {"residual", config->residual ? (char *)"true" : (char *)"false"},
        {"task", (char *)og__option_word("task", config->task)},
        {"loss", (char *)og__option_word("loss", config->loss)},
    };
    struct og_tensors t = {
        .tensor = calloc(n, sizeof(*t.tensor)), .metadata = metadata, .n_metadata = MODEL_KEYS};
    const char *sampler[MOST_SAMPLER_OPTIONS];
    const size_t n_sampler = trained ? said_sampler_options(trained, sampler) : 0;
    say_options(&t, trained, sampler, n_sampler, text);
    if (trained && og__of_pairs(config))
        say_options(&t, trained, edge_options, OG_COUNT(edge_options), text + n_sampler);
    if (!t.tensor)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    add_params(&t, "", m, values);
    int rc = og__tensors_write(path, &t, err);
    free(t.tensor);
    return rc;
}

/* ---- reading parameters ---- */

/* In place: what comes before the first `part` in the name, then `with`, then what comes after. */
static void rename_part(struct og_tensor *t, const char *part, const char *with)
{
    char *at = strstr(t->name, part), rest[sizeof(t->name)];
    if (!at)
        return;
    snprintf(rest, sizeof(rest), "%s", at + strlen(part));
    snprintf(at, sizeof(t->name) - (size_t)(at - t->name), "%s%s", with, rest);
}

enum { PIECE = 4096 }; /* elements that are looked at together */

/* Are two tensors of as many bytes the same? 1, 0 or an error. */
static int same_data(const struct og_tensors_file *f, const struct og_tensor *x,
                     const struct og_tensor *y, struct og_err *err)
{
    char one[PIECE];
    char other[PIECE];
    for (size_t at = 0; at < x->bytes; at += PIECE) {
        const size_t n = OG_MIN(x->bytes - at, (size_t)PIECE);
        int rc = og__tensors_load(f, x, at, n, one, err);
        if (rc < 0)
            return rc;
        rc = og__tensors_load(f, y, at, n, other, err);
        if (rc < 0)
            return rc;
        if (memcmp(one, other, n) != 0)
            return 0;
    }
    return 1;
}

/* Whether the matrix that GATConv had for destinations is the one it had for sources: 1, 0 or an
 * error. */
static int same_for_both(const struct og_tensors_file *f, const struct og_tensor *dst,
                         struct og_err *err)
{
    struct og_tensor name = *dst;
    rename_part(&name, ".lin_dst.", ".lin_src.");
    const struct og_tensor *src = og__tensors_find(&f->all, name.name);
    return src && src->bytes == dst->bytes ? same_data(f, src, dst, err) : 0;
}

/* Names that PyTorch Geometric has or had for the same: GATConv's matrix was lin_src and, once
 * more, lin_dst up to 2.4; its BatchNorm holds PyTorch's as `module`. */
static int rename_tensors(struct og_tensors_file *f, struct og_err *err)
{
    struct og_tensors *t = &f->all;
    int shared = 1;
    for (size_t i = 0; shared > 0 && i < t->n; i++)
        if (strstr(t->tensor[i].name, ".lin_dst.weight"))
            shared = same_for_both(f, &t->tensor[i], err);
    for (size_t i = 0; shared >= 0 && i < t->n; i++) {
        struct og_tensor *tensor = &t->tensor[i];
        if (shared)
            rename_part(tensor, ".lin_src.weight", ".lin.weight");
        if (strncmp(tensor->name, "norms.", strlen("norms.")) == 0)
            rename_part(tensor, ".module.", ".");
    }
    return OG_MIN(shared, 0);
}

static int open_tensors(const char *path, struct og_tensors_file *f, struct og_err *err)
{
    int rc = og__tensors_open(f, path, err);
    if (rc < 0)
        return rc;
    rc = rename_tensors(f, err);
    if (rc < 0)
        og__tensors_close(f);
    return rc;
}

static int load_piece(const struct og_tensors_file *f, const struct og_tensor *t, size_t first,
                      size_t bytes, struct place out, struct og_err *err)
{
    float piece[PIECE];
    char *to = (char *)out.at + first;
    if (!out.model)
        return og__tensors_load(f, t, first, bytes, to, err);
    int rc = og__tensors_load(f, t, first, bytes, piece, err);
    return rc < 0 ? rc : og__model_push(out.model, to, piece, bytes, err);
}

static int load_floats(const struct og_tensors_file *f, const struct og_tensor *t, struct place out,
                       struct og_err *err)
{
    int rc = 0;
    for (size_t at = 0, n; at < t->bytes; at += n) {
        n = OG_MIN(t->bytes - at, PIECE * sizeof(float));
        OG_TRY(load_piece(f, t, at, n, out, err));
    }
out:
    return rc;
}

/* PyTorch's count of batches. */
static int load_count(const struct og_tensors_file *f, const struct og_tensor *t, struct place out,
                      struct og_err *err)
{
    int64_t whole = 0;
    int rc = og__tensors_load(f, t, 0, sizeof(whole), &whole, err);
    if (rc < 0)
        return rc;
    float value = (float)whole;
    if (out.model)
        return og__model_push(out.model, out.at, &value, sizeof(value), err);
    *out.at = value;
    return 0;
}

/* out.at NULL: only looks. */
static int take_tensor(const struct og_tensors_file *f, const char *prefix,
                       const struct og_param *p, struct place out, struct og_err *err)
{
    char name[sizeof(f->all.tensor->name)];
    snprintf(name, sizeof(name), "%s%s", prefix, p->name);
    const struct og_tensor *tensor = og__tensors_find(&f->all, name);
    if (!tensor)
        return og__fail(err, -EINVAL, "is it a checkpoint of the same model, layers and sizes?",
                        "%s: no tensor %s", f->path, name);
    bool count = p->ndim == 0 && tensor->dtype == OG_TENSOR_I64; /* as PyTorch keeps it */
    bool same = (count || tensor->dtype == OG_TENSOR_F32) && tensor->ndim == p->ndim;
    for (int d = 0; same && d < p->ndim; d++)
        same = tensor->shape[d] == p->shape[d];
    if (!same)
        return og__fail(err, -EINVAL, "is it a checkpoint of the same model, layers and sizes?",
                        "%s: tensor %s has another shape or dtype: expected float32 [%lld, %lld, "
                        "%lld] in %d dimensions",
                        f->path, name, (long long)p->shape[0], (long long)p->shape[1],
                        (long long)p->shape[2], p->ndim);
    if (!out.at)
        return 0;
    return count ? load_count(f, tensor, out, err) : load_floats(f, tensor, out, err);
}

static int check_finite(const struct og_tensors_file *f, const struct og_tensor *t,
                        struct og_err *err)
{
    float value[PIECE];
    const size_t n = t->dtype == OG_TENSOR_F32 ? t->bytes / sizeof(*value) : 0;
    for (size_t at = 0; at < n; at += PIECE) {
        const size_t m = OG_MIN(n - at, (size_t)PIECE);
        int rc = og__tensors_load(f, t, at * sizeof(*value), m * sizeof(*value), value, err);
        if (rc < 0)
            return rc;
        for (size_t i = 0; i < m; i++)
            if (!isfinite(value[i]))
                return og__fail(err, -EINVAL, "had training diverged? take an earlier checkpoint",
                                "%s: %s[%zu] is %g", f->path, t->name, at + i, (double)value[i]);
    }
    return 0;
}

static int take_params(const struct og_tensors_file *f, struct og_model *m, struct og_err *err)
{
    size_t n;
    int rc = 0;
    const struct og_param *params = og__model_params(m, &n);
    for (size_t i = 0; i < n; i++) { /* look first: nothing changes unless all is there */
        OG_TRY(take_tensor(f, "", &params[i], (struct place){0}, err));
        OG_TRY(check_finite(f, og__tensors_find(&f->all, params[i].name), err));
    }
    for (size_t i = 0; i < n; i++)
        OG_TRY(take_tensor(f, "", &params[i], (struct place){m, params[i].value}, err));
out:
    return rc;
}

int og__checkpoint_load(const char *path, struct og_model *m, struct og_err *err)
{
    struct og_tensors_file f;
    int rc = open_tensors(path, &f, err);
    if (rc < 0)
        return rc;
    rc = take_params(&f, m, err);
    og__tensors_close(&f);
    return rc;
}

/* ---- the shape of a model, from the names of its tensors ----
 *
 * Files that PyTorch wrote say no more. What their names leave open (a residual between layers of
 * one width has no tensor) is in the metadata of ours. */

static const struct og_tensor *layer_tensor(const struct og_tensors *t, const char *module,
                                            int layer, const char *name)
{
    char full[64];
    snprintf(full, sizeof(full), "%s.%d.%s", module, layer, name);
    return og__tensors_find(t, full);
}

/* How many marks of a convolution the first layer has; 0 unless all. */
static size_t count_marks(const struct og_tensors *t, const struct og_conv_names *names)
{
    size_t n = 0;
    for (; names->marks[n]; n++)
        if (!layer_tensor(t, "convs", 0, names->marks[n]))
            return 0;
    return n;
}

/* The model of most marks. */
static bool find_kind(const struct og_tensors *t, struct og_model_config *config)
{
    struct og_model_config c = {0};
    size_t most = 0;
    for (; og__model_words[c.kind]; c.kind++) {
        const struct og_conv_names *names;
        for (c.aggregator = 0; og__option_word("aggregator", c.aggregator); c.aggregator++) {
            names = og__model_names(&c);
            const size_t n = names ? count_marks(t, names) : 0;
            if (n <= most)
                continue;
            most = n;
            config->kind = c.kind;
            config->aggregator = c.aggregator;
        }
    }
    return most > 0;
}

/* Widths of the layer; false when there is none. */
static bool find_layer(const struct og_tensors *t, struct og_model_config *config, int layer,
                       int64_t *in, int64_t *out)
{
    const struct og_conv_names *names = og__model_names(config);
    const struct og_tensor *w = layer_tensor(t, "convs", layer, names->first);
    const struct og_tensor *last = names->last ? layer_tensor(t, "convs", layer, names->last) : w;
    const struct og_tensor *att = layer_tensor(t, "convs", layer, "att_src");
    if (!w || !last || w->ndim != 2 || last->ndim != 2 || (att && att->ndim != 3))
        return false;
    for (int d = 0; d < 2; d++) /* a tensor without elements may be as wide as it likes */
        if (w->shape[d] > INT32_MAX || last->shape[d] > INT32_MAX)
            return false;
    for (int d = 0; att && d < 3; d++)
        if (att->shape[d] > INT32_MAX)
            return false;
    *in = w->shape[1];
    *out = last->shape[0];
    if (names->last)
        config->hidden = (int)w->shape[0];
    if (att) {
        config->heads = (int)att->shape[1];
        *out = att->shape[2]; /* of the last layer, whose heads are averaged */
    }
    return true;
}

static const char *find_metadata(const struct og_tensors *t, const char *key)
{
    for (size_t i = 0; i < t->n_metadata; i++)
        if (strcmp(t->metadata[i].key, key) == 0)
            return t->metadata[i].value;
    return NULL;
}

/* The task, and the decoder of links; a file of PyTorch's with a decoder is of links. */
static void find_task(const struct og_tensors *t, struct og_model_config *config)
{
    const struct og_tensor *w = layer_tensor(t, "decoder.lins", 0, "weight");
    config->task = og__option_choice("task", find_metadata(t, "task"));
    config->loss = OG_MAX(og__option_choice("loss", find_metadata(t, "loss")), 0);
    if (!w || w->ndim != 2)
        return;
    for (config->task = 0; !og__task_takes(config->task, "decoder");)
        config->task++;
    config->decoder = OG_DECODER_MLP;
    config->hidden = (int)w->shape[0];
}

static void find_options(const struct og_tensors *t, struct og_model_config *config)
{
    const char *residual = find_metadata(t, "residual");
    config->residual = residual && strcmp(residual, "true") == 0;
    for (int l = 0; l < config->layers; l++)
        config->residual |= layer_tensor(t, "skips", l, "weight") != NULL;
    if (layer_tensor(t, "norms", 0, "running_mean"))
        config->norm = OG_NORM_BATCH;
    else if (layer_tensor(t, "norms", 0, "weight"))
        config->norm = OG_NORM_LAYER;
}

int og__checkpoint_shape(const char *path, struct og_model_config *config, struct og_err *err)
{
    struct og_tensors_file f;
    int rc = open_tensors(path, &f, err);
    if (rc < 0)
        return rc;
    const struct og_tensors *t = &f.all;
    *config = (struct og_model_config){0};
    int64_t in, out;
    bool known = find_kind(t, config);
    while (known && config->layers < OG_MAX_HOPS &&
           find_layer(t, config, config->layers, &in, &out)) {
        if (config->layers == 0)
            config->in_dim = (int)in;
        else
            config->hidden = (int)in;
        config->n_classes = (int)out;
        config->layers++;
    }
    find_task(t, config);
    if (config->hidden == 0) /* a single layer has none */
        config->hidden = OG_MAX(config->heads, 1);
    find_options(t, config);
    og__tensors_close(&f);
    struct og_err why = {0};
    struct og_model_config told = *config;
    told.task = OG_MAX(told.task, 0);
    if (config->layers > 0 && og__model_check(&told, &why) == 0)
        return 0;
    if (config->layers > 0)
        return og__fail(err, -EINVAL,
                        why.hint[0] ? why.hint : "is it a checkpoint of a model that trained here?",
                        "%s: %s", path, why.message);
    return og__fail(
        err, -EINVAL,
        "expected the parameters of docs/models.md, such as convs.0.lin_l.weight (SAGE)",
        "%s: not a checkpoint of a model known here", path);
}

/* ---- the sampler ---- */

static int take_sampler_option(const struct og_tensors *t, const char *name, const char *path,
                               struct og_options *opt, struct og_err *err)
{
    char hint[64];
    struct og_err why = {0};
    const char *said = find_metadata(t, name);
    if (!said || og__options_given(opt, name) || og_options_set(opt, name, said, &why) == 0)
        return 0;
    snprintf(hint, sizeof(hint), "give --%s: what is given wins", name);
    return og__fail(err, -EINVAL, hint, "%s: metadata: %s", path, why.message);
}

int og__checkpoint_sampler(const char *path, struct og_options *opt, const struct og_log *log,
                           struct og_err *err)
{
    struct og_tensors_file f;
    const int sampler = opt->sampler;
    int rc = og__tensors_open(&f, path, err);
    if (rc < 0)
        return rc;
    const char *names[MOST_SAMPLER_OPTIONS];
    OG_TRY(take_sampler_option(&f.all, "sampler", path, opt, err));
    const size_t n = list_sampler_options(opt, names);
    for (size_t i = 0; i < n; i++)
        OG_TRY(take_sampler_option(&f.all, names[i], path, opt, err));
    if (opt->sampler != sampler)
        og__say(log, OG__INFO, "%s: trained with --sampler %s, which is taken here as well", path,
                og__option_word("sampler", opt->sampler));
out:
    og__tensors_close(&f);
    return rc;
}

/* ---- the edges of links ---- */

/* What the file says of them, as options. */
static int said_edges(const struct og_tensors *t, const char *path, struct og_options *said,
                      struct og_err *err)
{
    struct og_err why = {0};
    og_options_init(said);
    for (size_t i = 0; i < OG_COUNT(edge_options); i++) {
        const char *text = find_metadata(t, edge_options[i]);
        if (text && og_options_set(said, edge_options[i], text, &why) < 0)
            return og__fail(err, -EINVAL, "is it a checkpoint that was written here?",
                            "%s: metadata: %s", path, why.message);
    }
    return 0;
}

static bool differ(const struct og_options *opt, const struct og_options *said, const char *name)
{
    char ours[32], theirs[32];
    if (!og__options_given(opt, name) || !og__options_given(said, name))
        return false;
    return !og__edge_split_same(og__option_text(opt, name, ours),
                                og__option_text(said, name, theirs));
}

static int refuse_edges(const struct og_options *opt, const struct og_options *said,
                        const char *name, const char *path, struct og_err *err)
{
    char ours[32], theirs[32], hint[80];
    snprintf(hint, sizeof(hint), "leave out --%s: what the checkpoint says is taken", name);
    return og__fail(
        err, -EINVAL, hint,
        "%s: trained with --%s %.40s, not %.40s: edges that it learnt from would be held "
        "out",
        path, name, og__option_text(said, name, theirs), og__option_text(opt, name, ours));
}

/* By lists of the dataset's own no seed decides which edges are held out. */
static int check_edges(const struct og_options *opt, const struct og_options *said,
                       const char *path, struct og_err *err)
{
    bool own = said->edge_split && strcmp(said->edge_split, OG__OWN_EDGES) == 0;
    if (differ(opt, said, "edge-split"))
        return refuse_edges(opt, said, "edge-split", path, err);
    return own || !differ(opt, said, "seed") ? 0 : refuse_edges(opt, said, "seed", path, err);
}

static int take_edges(struct og_options *opt, const struct og_options *said, const char *path,
                      const struct og_log *log, struct og_err *err)
{
    int rc;
    OG_TRY(check_edges(opt, said, path, err));
    if (!og__options_given(said, "edge-split"))
        og__say(log, OG__WARN,
                "%s: does not say which edges it was trained on: with another --seed or "
                "--edge-split than it had, some of them are held out now",
                path);
    for (size_t i = 0; i < OG_COUNT(edge_options); i++) {
        const char *name = edge_options[i];
        char ours[32], theirs[32];
        const char *text = og__option_text(said, name, theirs);
        if (og__options_given(opt, name) || !og__options_given(said, name))
            continue;
        if (strcmp(text, og__option_text(opt, name, ours)) != 0)
            og__say(log, OG__INFO, "%s: trained with --%s %s, which is taken here as well", path,
                    name, text);
        OG_TRY(og_options_set(opt, name, text, err));
    }
out:
    return rc;
}

int og__checkpoint_edges(const char *path, struct og_options *opt, const struct og_log *log,
                         struct og_err *err)
{
    struct og_tensors_file f;
    struct og_options said = {0};
    int rc = og__tensors_open(&f, path, err);
    if (rc < 0)
        return rc;
    OG_TRY(said_edges(&f.all, path, &said, err));
    OG_TRY(take_edges(opt, &said, path, log, err));
out:
    og__tensors_close(&f);
    og_options_release(&said);
    return rc;
}

/* ---- resuming ---- */

/* What must be the same for the numbers to be. */
static char *numbers_text(const struct og_resumable *r)
{
    json_t *numbers = og__options_deciding(r->opt, OG_DECIDES_NUMBERS);
    char *text = og__json_print(numbers, JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_decref(numbers);
    return text;
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
    const char *said = find_metadata(t, "dataset");
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

int og__resume_write(const char *path, const struct og_resumable *r,
                     const struct og_train_state *state, const float *best, struct og_err *err)
{
    size_t n;
    const struct og_param *params = og__model_params(r->model, &n);
    struct og_metadata metadata[] = {{"state", og__train_state_text(state, r->schedule)},
                                     {"numbers", numbers_text(r)},
                                     {"dataset", dataset_text(r)}};
    struct og_tensors t = {.tensor = calloc(4 * n, sizeof(*t.tensor)),
                           .metadata = metadata,
                           .n_metadata = OG_COUNT(metadata)};
    int rc;
    OG_TRY(t.tensor && metadata[0].value && metadata[1].value && metadata[2].value
               ? 0
               : og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    add_params(&t, "", r->model, NULL);
    for (size_t i = 0; i < n; i++) {
        if (!params[i].m) /* plain SGD, or a running statistic */
            continue;
        add_tensor(&t, adam_m, &params[i], (struct place){r->model, params[i].m});
        add_tensor(&t, adam_v, &params[i], (struct place){r->model, params[i].v});
    }
    if (state->best_epoch)
        add_params(&t, best_prefix, r->model, best);
    OG_TRY(og__tensors_write(path, &t, err));
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
    char *numbers = numbers_text(r);
    if (!numbers)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    const char *theirs = find_metadata(&f->all, "numbers");
    bool same = theirs && strcmp(numbers, theirs) == 0;
    free(numbers);
    if (!same)
        return og__fail(err, -EINVAL,
                        "give the options of config.yaml in that folder, or start another run",
                        "%s: the run was started with other options (%.300s)", path,
                        theirs ? theirs : "none recorded");
    OG_TRY(og__train_state_parse(state, r->schedule, find_metadata(&f->all, "state"), path, err));
    size_t n;
    struct og_param *params = og__model_params(r->model, &n);
    OG_TRY(take_params(f, r->model, err));
    for (size_t i = 0; i < n; i++) {
        const struct og_param *p = &params[i];
        if (p->m) {
            OG_TRY(take_tensor(f, adam_m, p, (struct place){r->model, p->m}, err));
            OG_TRY(take_tensor(f, adam_v, p, (struct place){r->model, p->v}, err));
        }
        if (state->best_epoch)
            OG_TRY(take_tensor(f, best_prefix, p, (struct place){NULL, best}, err));
        best += og__param_count(p);
    }
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
    rc = take_resume(&f, r, state, best, err);
    og__tensors_close(&f);
    return rc;
}
