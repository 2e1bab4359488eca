#include "learn/checkpoint_parts.h"

#include "learn/targets.h"
#include "nn/relational.h"
#include "nn/tasks.h"
#include "options/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char og__diverged_hint[] = "had training diverged? take an earlier checkpoint, or look for "
                                 "extreme values with `outgrow verify`";

/* ---- building a file ---- */

void og__checkpoint_add(struct og_tensors *t, const char *prefix, const struct og_param *p,
                        struct og_tensor_place data)
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

void og__checkpoint_add_params(struct og_tensors *t, const char *prefix, struct og_model *m,
                               const float *values)
{
    size_t n;
    const struct og_param *params = og__model_params(m, &n);
    for (size_t i = 0; i < n; i++) {
        og__checkpoint_add(t, prefix, &params[i],
                           values ? (struct og_tensor_place){NULL, (float *)values}
                                  : (struct og_tensor_place){m, params[i].value});
        if (values)
            values += og__param_count(&params[i]);
    }
}

int og__checkpoint_write(const char *path, struct og_model *m, const struct og_options *trained,
                         const float *values, struct og_err *err)
{
    return og__checkpoint_write_rows(path, m, trained, values, NULL, NULL, err);
}

/* NULL where the dataset says nothing. */
static int print_names(const struct og_graph *ds, const struct og_model_config *config,
                       char **classes, char **columns, const char *path, struct og_err *err)
{
    const json_t *names = og__class_names(ds, config);
    json_t *of_types = og__graph_columns(ds);
    const bool known = json_object_size(of_types) > 0;
    *classes = names ? og__json_print(names, JSON_COMPACT) : NULL;
    *columns = known ? og__json_print(of_types, JSON_COMPACT) : NULL;
    const bool done = of_types && (!names || *classes) && (!known || *columns);
    json_decref(of_types);
    return done ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", path);
}

int og__checkpoint_write_rows(const char *path, struct og_model *m,
                              const struct og_options *trained, const float *values,
                              struct og_learnt *learnt, const struct og_graph *ds,
                              struct og_err *err)
{
    size_t n;
    const struct og_model_config *config = og__model_config(m);
    og__model_params(m, &n);
    enum { NUMBERS = 5, MODEL_KEYS = 12 };
    char number[NUMBERS][16];
    const int numbers[NUMBERS] = {config->layers, config->in_dim, config->hidden, config->n_classes,
                                  config->heads};
    for (int i = 0; i < NUMBERS; i++)
        snprintf(number[i], sizeof(number[i]), "%d", numbers[i]);
    struct og_option_texts texts;
    char ranked[16], batch[16];
    char *fanout = NULL, *classes = NULL, *columns = NULL;
    struct og_metadata metadata[MODEL_KEYS + 7 + OG__SAID_OPTIONS] = {
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
    struct og_tensors t = {.tensor = calloc(n + og__learnt_tensors(learnt), sizeof(*t.tensor)),
                           .metadata = metadata,
                           .n_metadata = MODEL_KEYS};
    if (config->compute != OG_COMPUTE_F32)
        metadata[t.n_metadata++] =
            (struct og_metadata){"compute", (char *)og__option_word("compute", config->compute)};
    if (og__relates(config) && og__scoring(config->decoder)->said)
        metadata[t.n_metadata++] =
            (struct og_metadata){"decoder", (char *)og__decoder_words[config->decoder]};
    int rc = t.tensor ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    if (rc < 0)
        return rc;
    if (trained)
        og__checkpoint_say_options(&t, trained, og__of_pairs(config), &texts);
    if (trained && og__of_pairs(config) && !og__labels_pairs(config)) {
        snprintf(ranked, sizeof(ranked), "%d", trained->eval_negatives);
        metadata[t.n_metadata++] = (struct og_metadata){"eval-negatives", ranked};
    }
    if (trained && og__checkpoint_samples(trained)) {
        OG_TRY(og_options_get(trained, "fanout", &fanout, err));
        metadata[t.n_metadata++] = (struct og_metadata){"fanout", fanout};
        snprintf(batch, sizeof(batch), "%d", trained->batch);
        metadata[t.n_metadata++] = (struct og_metadata){"batch", batch};
    }
    if (ds) {
        OG_TRY(print_names(ds, config, &classes, &columns, path, err));
        if (classes)
            metadata[t.n_metadata++] = (struct og_metadata){OG__CLASS_NAMES, classes};
        if (columns)
            metadata[t.n_metadata++] = (struct og_metadata){OG__COLUMNS, columns};
    }
    og__checkpoint_add_params(&t, "", m, values);
    OG_TRY(og__learnt_add(learnt, &t, err));
    OG_TRY(og__tensors_write(path, &t, err));
out:
    free(columns);
    free(classes);
    free(fanout);
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
        OG_DO(og__tensors_load(f, x, at, n, one, err));
        OG_DO(og__tensors_load(f, y, at, n, other, err));
        if (memcmp(one, other, n) != 0)
            return 0;
    }
    return 1;
}

/* Whether GATConv's matrix for destinations is the one for sources: 1, 0 or an error. */
static int same_for_both(const struct og_tensors_file *f, const struct og_tensor *dst,
                         struct og_err *err)
{
    struct og_tensor name = *dst;
    rename_part(&name, ".lin_dst.", ".lin_src.");
    const struct og_tensor *src = og__tensors_find(&f->all, name.name);
    return src && src->bytes == dst->bytes ? same_data(f, src, dst, err) : 0;
}

/* Between two types there are two matrices: "<author___writes___paper>". */
static bool is_apart(const char *name)
{
    const char *first = strchr(name, '<');
    const char *second = first ? strstr(first, "___") : NULL;
    const char *last = second ? strstr(second + 3, "___") : NULL;
    const size_t n = last ? (size_t)(second - first - 1) : 0;
    return last && !(strncmp(first + 1, last + 3, n) == 0 && last[3 + n] == '>');
}

/* A relation's convolutions: then what follows "norms.<layer>." is a type's name. */
static bool has_types(const struct og_tensors *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (strstr(t->tensor[i].name, ".convs.<"))
            return true;
    return false;
}

/* The relation in a tensor's name, "<author___writes___paper>"; NULL: it is of none. */
static const char *relation_in(const char *name, size_t *length)
{
    const char *first = strstr(name, ".convs.<");
    const char *end = first ? strstr(first, ">.") : NULL;
    if (!end)
        return NULL;
    first += strlen(".convs.");
    *length = (size_t)(end + 1 - first);
    return first;
}

/* Names that PyTorch Geometric has or had for the same. GATConv's matrix was lin_src and, once
 * more, lin_dst up to 2.4; its BatchNorm holds PyTorch's as `module`. */
static int rename_tensors(struct og_tensors_file *f, struct og_err *err)
{
    struct og_tensors *t = &f->all;
    const bool typed = has_types(t);
    int shared = 1;
    for (size_t i = 0; shared > 0 && i < t->n; i++)
        if (strstr(t->tensor[i].name, ".lin_dst.weight") && !is_apart(t->tensor[i].name))
            shared = same_for_both(f, &t->tensor[i], err);
    for (size_t i = 0; shared >= 0 && i < t->n; i++) {
        struct og_tensor *tensor = &t->tensor[i];
        if (shared && !is_apart(tensor->name)) {
            rename_part(tensor, ".lin_src.weight", ".lin.weight");
            rename_part(tensor, ".lin_dst.weight", ".lin.weight"); /* the same once more */
        }
        if (!typed && strncmp(tensor->name, "norms.", strlen("norms.")) == 0)
            rename_part(tensor, ".module.", ".");
    }
    return OG_MIN(shared, 0);
}

int og__checkpoint_open(const char *path, struct og_tensors_file *f, struct og_err *err)
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
                      size_t bytes, struct og_tensor_place out, struct og_err *err)
{
    float piece[PIECE];
    char *to = (char *)out.at + first;
    if (!out.model)
        return og__tensors_load(f, t, first, bytes, to, err);
    int rc = og__tensors_load(f, t, first, bytes, piece, err);
    return rc < 0 ? rc : og__model_push(out.model, to, piece, bytes, err);
}

static int load_floats(const struct og_tensors_file *f, const struct og_tensor *t,
                       struct og_tensor_place out, struct og_err *err)
{
    for (size_t at = 0, n; at < t->bytes; at += n) {
        n = OG_MIN(t->bytes - at, PIECE * sizeof(float));
        OG_DO(load_piece(f, t, at, n, out, err));
    }
    return 0;
}

/* PyTorch's count of batches. */
static int load_count(const struct og_tensors_file *f, const struct og_tensor *t,
                      struct og_tensor_place out, struct og_err *err)
{
    int64_t whole = 0;
    OG_DO(og__tensors_load(f, t, 0, sizeof(whole), &whole, err));
    float value = (float)whole;
    if (out.model)
        return og__model_push(out.model, out.at, &value, sizeof(value), err);
    *out.at = value;
    return 0;
}

static bool is_of_type(const char *name)
{
    return strncmp(name, "lins.", strlen("lins.")) == 0;
}
static const char widths_hint[] = "features of each type must be as wide as in training";

static const char *why_missing(const struct og_tensors *t, const char *name)
{
    if (is_of_type(name))
        return widths_hint;
    if (!strstr(name, ".convs.<"))
        return "is it a checkpoint of the same model, layers and sizes?";
    return has_types(t) ? "types and relations must be those of the graph that it was trained on"
                        : "it was trained on a homogeneous graph";
}

/* Rows that nodes learnt are theirs alone. */
static int refuse_rows(const char *path, const struct og_tensor *t, const struct og_param *p,
                       struct og_err *err)
{
    return og__fail(err, -EINVAL, "train on this graph, or give nodes of this type features",
                    "%s: %s: embeddings of %lld nodes, this graph has %lld of that type", path,
                    t->name, (long long)t->shape[0], (long long)p->shape[0]);
}

int og__checkpoint_take(const struct og_tensors_file *f, const char *prefix,
                        const struct og_param *p, struct og_tensor_place out, struct og_err *err)
{
    char name[sizeof(f->all.tensor->name)];
    snprintf(name, sizeof(name), "%s%s", prefix, p->name);
    const struct og_tensor *tensor = og__tensors_find(&f->all, name);
    if (!tensor)
        return og__fail(err, -EINVAL, why_missing(&f->all, name), "%s: no tensor %s", f->path,
                        name);
    bool count = p->ndim == 0 && tensor->dtype == OG_TENSOR_I64; /* as PyTorch keeps it */
    bool same = (count || tensor->dtype == OG_TENSOR_F32) && tensor->ndim == p->ndim;
    for (int d = 0; same && d < p->ndim; d++)
        same = tensor->shape[d] == p->shape[d];
    if (!same && strncmp(name, "embeddings.", strlen("embeddings.")) == 0 && tensor->ndim == 2 &&
        tensor->shape[0] != p->shape[0])
        return refuse_rows(f->path, tensor, p, err);
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

int og__checkpoint_check_finite(const struct og_tensors_file *f, const struct og_tensor *t,
                                struct og_err *err)
{
    float value[PIECE];
    const size_t n = t->dtype == OG_TENSOR_F32 ? t->bytes / sizeof(*value) : 0;
    for (size_t at = 0; at < n; at += PIECE) {
        const size_t m = OG_MIN(n - at, (size_t)PIECE);
        OG_DO(og__tensors_load(f, t, at * sizeof(*value), m * sizeof(*value), value, err));
        for (size_t i = 0; i < m; i++)
            if (!isfinite(value[i]))
                return og__fail(err, -EINVAL, "had training diverged? take an earlier checkpoint",
                                "%s: %s[%zu] is %g", f->path, t->name, at + i, (double)value[i]);
    }
    return 0;
}

/* Every relation that the file knows is in the graph: without one, sums would miss a part. */
static int check_relations(const struct og_tensors_file *f, const struct og_graph_types *g,
                           struct og_err *err)
{
    char key[OG_PARAM_NAME];
    for (size_t i = 0; g && i < f->all.n; i++) {
        size_t n = 0;
        const char *said = relation_in(f->all.tensor[i].name, &n);
        bool known = !said;
        for (uint32_t r = 0; !known && r < g->n_relations; r++) {
            og__relation_key(g, r, key, sizeof(key));
            known = strlen(key) == n && memcmp(key, said, n) == 0;
        }
        if (!known)
            return og__fail(err, -EINVAL,
                            "types and relations must be those of the graph that it was trained on",
                            "%s: the model reads a relation that this graph has not: %.*s", f->path,
                            (int)n, said);
    }
    return 0;
}

/* And so are features that it has a layer for. */
static int check_layers_of_types(const struct og_tensors_file *f, const struct og_param *params,
                                 size_t n, struct og_err *err)
{
    for (size_t i = 0; i < f->all.n; i++) {
        const char *name = f->all.tensor[i].name;
        bool known = !is_of_type(name);
        for (size_t k = 0; !known && k < n; k++)
            known = strcmp(params[k].name, name) == 0;
        if (!known)
            return og__fail(err, -EINVAL, widths_hint,
                            "%s: %s: a layer for features that this graph does not have", f->path,
                            name);
    }
    return 0;
}

/* Length of the part of a tensor's name that says its convolution. That is "convs.<layer>.", and
 * for types "convs.<relation>."; 0: none. */
static size_t convolution_in(const char *name)
{
    size_t length = 0;
    const char *relation = relation_in(name, &length);
    if (strncmp(name, "convs.", strlen("convs.")) != 0)
        return 0;
    if (relation)
        return (size_t)(relation - name) + length + 1;
    return strlen("convs.") + strcspn(name + strlen("convs."), ".") + 1;
}

/* Refuses tensors in the file that the model's convolution lacks. They make it another: features of
 * edges, a residual of its own. Relations that nothing depends on are in files of PyTorch's
 * alone. */
static int check_convolutions(const struct og_tensors_file *f, const struct og_param *params,
                              size_t n, struct og_err *err)
{
    for (size_t i = 0; i < f->all.n; i++) {
        const char *name = f->all.tensor[i].name;
        const size_t head = convolution_in(name);
        bool there = false;
        bool known = false;
        for (size_t k = 0; head > 0 && !known && k < n; k++) {
            there |= strncmp(params[k].name, name, head) == 0;
            known = strcmp(params[k].name, name) == 0;
        }
        if (there && !known)
            return og__fail(
                err, -EINVAL, "docs/reference/models.md lists the parameters of each model",
                "%s: %s: unknown parameter, without which the layer would compute something else",
                f->path, name);
    }
    return 0;
}

int og__checkpoint_take_params(const struct og_tensors_file *f, struct og_model *m,
                               struct og_err *err)
{
    size_t n;
    const struct og_param *params = og__model_params(m, &n);
    OG_DO(check_relations(f, og__model_config(m)->types, err));
    OG_DO(check_layers_of_types(f, params, n, err));
    for (size_t i = 0; i < n; i++) { /* look first: nothing changes unless all is there */
        OG_DO(og__checkpoint_take(f, "", &params[i], (struct og_tensor_place){0}, err));
        OG_DO(og__checkpoint_check_finite(f, og__tensors_find(&f->all, params[i].name), err));
    }
    OG_DO(check_convolutions(f, params, n, err));
    for (size_t i = 0; i < n; i++)
        OG_DO(og__checkpoint_take(f, "", &params[i], (struct og_tensor_place){m, params[i].value},
                                  err));
    return 0;
}

int og__checkpoint_check_types(const char *path, const char *dataset, struct og_err *err)
{
    struct og_tensors_file f;
    bool there;
    int rc = og__graph_has_types(dataset, &there, err);
    rc = rc < 0 ? rc : og__checkpoint_open(path, &f, err);
    if (rc < 0)
        return rc;
    if (has_types(&f.all) && !there)
        rc = og__fail(err, -EINVAL, "apply it to a graph with the same types and relations",
                      "%s: trained on a heterogeneous graph, %s is homogeneous", path, dataset);
    og__tensors_close(&f);
    return rc;
}

/* What follows the last "___" of n bytes "<author___writes___paper>"; NULL: they have none. */
static const char *destination_in(const char *key, size_t n, size_t *length)
{
    const char *end = key + n - 1;
    for (const char *p = end - 3; p > key; p--) {
        if (strncmp(p, "___", 3) != 0)
            continue;
        *length = (size_t)(end - p - 3);
        return p + 3;
    }
    return NULL;
}

/* Whether a list, separated by commas, has a name of n bytes. */
static bool is_listed(const char *list, const char *name, size_t n)
{
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == n && memcmp(list, name, n) == 0)
            return true;
    return false;
}

int og__checkpoint_targets(const char *path, char **types, struct og_err *err)
{
    struct og_model_config config;
    struct og_tensors_file f;
    char last[32];
    size_t used = 0;
    *types = NULL;
    OG_DO(og__checkpoint_shape(path, &config, err));
    OG_DO(og__checkpoint_open(path, &f, err));
    char *list = *types = calloc(f.all.n + 1, OG__TYPE_NAME_MAX + 1);
    snprintf(last, sizeof(last), "convs.%d.convs.<", config.layers - 1);
    for (size_t i = 0; list && i < f.all.n; i++) {
        const char *name = f.all.tensor[i].name;
        size_t n = 0, length = 0;
        const char *said = strncmp(name, last, strlen(last)) == 0 ? relation_in(name, &n) : NULL;
        const char *to = said ? destination_in(said, n, &length) : NULL;
        if (!to || length > OG__TYPE_NAME_MAX || is_listed(list, to, length))
            continue;
        if (used > 0)
            list[used++] = ',';
        memcpy(list + used, to, length);
        used += length;
    }
    og__tensors_close(&f);
    return list ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", path);
}

/* Rows that the model does not hold. A session reads them as features. */
static int check_rows(const struct og_tensors_file *f, const struct og_model *m, struct og_err *err)
{
    size_t n;
    const struct og_param *params = og__model_params((struct og_model *)m, &n);
    for (size_t i = 0; i < f->all.n; i++) {
        const struct og_tensor *t = &f->all.tensor[i];
        bool held = strncmp(t->name, "embeddings.", strlen("embeddings.")) != 0;
        for (size_t k = 0; !held && k < n; k++)
            held = strcmp(params[k].name, t->name) == 0;
        if (!held)
            OG_DO(og__checkpoint_check_finite(f, t, err));
    }
    return 0;
}

int og__checkpoint_load(const char *path, struct og_model *m, struct og_err *err)
{
    return og__checkpoint_load_rows(path, m, NULL, err);
}

int og__checkpoint_load_rows(const char *path, struct og_model *m, struct og_learnt *learnt,
                             struct og_err *err)
{
    struct og_tensors_file f;
    int rc = og__checkpoint_open(path, &f, err);
    if (rc < 0)
        return rc;
    OG_TRY(og__tensors_check(&f, err));
    OG_TRY(check_rows(&f, m, err));
    OG_TRY(og__checkpoint_take_params(&f, m, err));
    OG_TRY(og__learnt_init(learnt, &f, err));
out:
    og__tensors_close(&f);
    return rc;
}
