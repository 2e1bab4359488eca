/* The shape of a model, from the names of its tensors.
 *
 * Files that PyTorch wrote say no more. What their names leave open (a residual between layers of
 * one width has no tensor) is in the metadata of ours. */
#include "learn/checkpoint_parts.h"

#include "nn/tasks.h"
#include "options/options.h"

#include <string.h>

/* "<module>.<layer>.<module>.<relation>.<name>", of whichever relation is the first. */
static const struct og_tensor *related_tensor(const struct og_tensors *t, const char *module,
                                              int layer, const char *name)
{
    char head[64];
    const size_t first = (size_t)snprintf(head, sizeof(head), "%s.%d.%s.<", module, layer, module);
    const size_t last = strlen(name);
    for (size_t i = 0; i < t->n; i++) {
        const char *full = t->tensor[i].name;
        const char *end = strncmp(full, head, first) == 0 ? strstr(full, ">.") : NULL;
        if (end && strlen(end + 2) == last && strcmp(end + 2, name) == 0)
            return &t->tensor[i];
    }
    return NULL;
}

static const struct og_tensor *layer_tensor(const struct og_tensors *t, const char *module,
                                            int layer, const char *name)
{
    char full[64];
    snprintf(full, sizeof(full), "%s.%d.%s", module, layer, name);
    const struct og_tensor *own = og__tensors_find(t, full);
    return own ? own : related_tensor(t, module, layer, name);
}

/* The convolution's first matrix; where relations are all between two types, theirs. */
static const struct og_tensor *first_matrix(const struct og_tensors *t, int layer,
                                            const struct og_conv_names *names)
{
    const struct og_tensor *own = layer_tensor(t, "convs", layer, names->first);
    return own || !names->apart ? own : related_tensor(t, "convs", layer, names->apart);
}

/* How many marks of a convolution the first layer has; 0 unless all. */
static size_t count_marks(const struct og_tensors *t, const struct og_conv_names *names)
{
    size_t n = 0;
    for (; names->marks[n]; n++) {
        const bool first = strcmp(names->marks[n], names->first) == 0;
        if (!(first ? first_matrix(t, 0, names) : layer_tensor(t, "convs", 0, names->marks[n])))
            return 0;
    }
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
    const struct og_tensor *w = first_matrix(t, layer, names);
    const struct og_tensor *last = names->last ? layer_tensor(t, "convs", layer, names->last) : w;
    const struct og_tensor *att = names->att ? layer_tensor(t, "convs", layer, names->att) : NULL;
    if (!w || !last || w->ndim != 2 || last->ndim != 2 || (att && att->ndim != 3))
        return false;
    for (int d = 0; d < 2; d++) /* a tensor without elements may be as wide as it likes */
        if (w->shape[d] > INT32_MAX || last->shape[d] > INT32_MAX)
            return false;
    for (int d = 0; att && d < 3; d++)
        if (att->shape[d] > INT32_MAX)
            return false;
    *in = w->shape[names->turned ? 0 : 1];
    *out = last->shape[names->turned ? 1 : 0];
    if (names->last)
        config->hidden = (int)w->shape[0];
    if (names->heads_of_rows)
        config->heads = (int)(w->shape[0] / OG_MAX(last->shape[0], (int64_t)1));
    if (att) {
        config->heads = (int)att->shape[1];
        *out = att->shape[2]; /* of the last layer, whose heads are averaged */
    }
    return true;
}

/* Whether it is a task of labelled edges: its MLP, which begins with w, reads both ends. */
static bool find_edge_task(const struct og_tensors *t, const struct og_tensor *w,
                           struct og_model_config *config)
{
    const struct og_tensor *last = layer_tensor(t, "decoder.lins", 1, "weight");
    if (!w || w->ndim != 2 || !last || last->ndim != 2 || last->shape[0] > INT32_MAX ||
        w->shape[0] > INT32_MAX || w->shape[1] < 2 * (int64_t)config->n_classes ||
        w->shape[1] > INT32_MAX)
        return false;
    if (config->task < 0)
        config->task = OG_TASK_EDGE;
    config->hidden = (int)w->shape[0];
    config->pair_dim = (int)w->shape[1] - 2 * config->n_classes;
    config->n_classes = (int)last->shape[0];
    return true;
}

/* The task, and the decoder of links; a file of PyTorch's with a decoder is of pairs. */
static void find_task(const struct og_tensors *t, struct og_model_config *config)
{
    const struct og_tensor *w = layer_tensor(t, "decoder.lins", 0, "weight");
    config->task = og__option_choice("task", og__tensors_said(t, "task"));
    config->loss = OG_MAX(og__option_choice("loss", og__tensors_said(t, "loss")), 0);
    const bool weighed = og__tensors_find(t, "decoder.rel_emb.weight");
    if (find_edge_task(t, w, config))
        return;
    if (!weighed && (!w || w->ndim != 2))
        return;
    for (config->task = 0; !og__task_takes(config->task, "decoder");)
        config->task++;
    const int said = og__option_choice("decoder", og__tensors_said(t, "decoder"));
    const struct og_scoring *scoring = og__scoring(said);
    config->decoder = !weighed                      ? OG_DECODER_MLP
                      : scoring && scoring->relates ? said
                                                    : OG_DECODER_DISTMULT;
    if (weighed)
        return;
    config->hidden = (int)w->shape[0];
}

/* A tensor of what follows the convolutions, "<module>.<layer>.<name>", or of a type's,
 * "<module>.<layer>.<type>.<name>". */
static bool has_end(const struct og_tensors *t, const char *module, int layer, const char *name)
{
    char head[64];
    const size_t first = (size_t)snprintf(head, sizeof(head), "%s.%d.", module, layer);
    for (size_t i = 0; i < t->n; i++) {
        const char *full = t->tensor[i].name;
        const char *end = strrchr(full, '.');
        if (strncmp(full, head, first) == 0 && strcmp(end + 1, name) == 0)
            return true;
    }
    return false;
}

static void find_options(const struct og_tensors *t, struct og_model_config *config)
{
    for (size_t i = 0; i < t->n; i++)
        if (strncmp(t->tensor[i].name, "embeddings.", strlen("embeddings.")) == 0 &&
            t->tensor[i].ndim == 2 && t->tensor[i].shape[1] <= INT32_MAX)
            config->embedding = (int)t->tensor[i].shape[1];
    const struct og_tensor *comp = layer_tensor(t, "convs", 0, "comp");
    if (comp && comp->ndim == 2 && comp->shape[1] <= INT32_MAX)
        config->bases = (int)comp->shape[1];
    const char *by_edge = og__model_names(config)->edge;
    const struct og_tensor *edge = by_edge ? layer_tensor(t, "convs", 0, by_edge) : NULL;
    if (edge && edge->ndim == 2 && edge->shape[1] <= INT32_MAX)
        config->edge_dim = (int)edge->shape[1];
    const char *residual = og__tensors_said(t, "residual");
    config->residual = residual && strcmp(residual, "true") == 0;
    for (int l = 0; l < config->layers; l++)
        config->residual |= has_end(t, "skips", l, "weight");
    if (has_end(t, "norms", 0, "running_mean"))
        config->norm = OG_NORM_BATCH;
    else if (has_end(t, "norms", 0, "weight"))
        config->norm = OG_NORM_LAYER;
}

int og__checkpoint_shape(const char *path, struct og_model_config *config, struct og_err *err)
{
    struct og_tensors_file f;
    OG_DO(og__checkpoint_open(path, &f, err));
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
        "expected the parameters of docs/reference/models.md, such as convs.0.lin_l.weight (SAGE)",
        "%s: not a checkpoint of a model known here", path);
}
