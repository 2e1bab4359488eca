/* Layers of a model (nn/whole.h), and what decides its results. */
#include "infer/infer_passes.h"

#include "base/bits.h"
#include "base/hex.h"
#include "learn/checkpoint.h"
#include "options/options.h"
#include "sample/sample.h"

#include <stdlib.h>
#include <string.h>

/* ==== what decides the results ==== */

static int add_values(struct og_model *m, const struct og_param *p, uint64_t *sum,
                      struct og_err *err)
{
    enum { PIECE = 4096 };
    float piece[PIECE];
    for (size_t first = 0, n; first < og__param_count(p); first += n) {
        n = OG_MIN(og__param_count(p) - first, (size_t)PIECE);
        OG_DO(og__model_fetch(m, piece, p->value + first, n * sizeof(*piece), err));
        *sum = XXH3_64bits_withSeed(piece, n * sizeof(*piece), *sum);
    }
    return 0;
}

static int model_checksum(struct og_model *m, uint64_t *sum, struct og_err *err)
{
    size_t n;
    const struct og_param *p = og__model_params(m, &n);
    *sum = 0;
    for (size_t i = 0; i < n; i++) {
        *sum = XXH3_64bits_withSeed(p[i].name, strlen(p[i].name), *sum);
        OG_DO(add_values(m, &p[i], sum, err));
    }
    return 0;
}

/* Options of the neighbours; null if all are used. */
static json_t *neighbors_json(const struct og_inference *f)
{
    if (!og__sampling_by_visits((enum og_sampler_kind)f->opt.sampler))
        return json_null();
    json_t *all = og__options_json(&f->opt);
    json_t *chosen =
        og__json_with(json_object(), "seed", json_incref(json_object_get(all, "seed")));
    const struct og_option *o;
    for (size_t i = 0; (o = og_option(i)); i++)
        if (o->of && strcmp(o->of, "sampler") == 0 && og__option_counts(&f->opt, o))
            chosen = og__json_with(chosen, o->name, json_incref(json_object_get(all, o->name)));
    json_decref(all);
    return chosen;
}

static json_t *numbers(struct og_inference *f, struct og_err *err)
{
    const struct og_model_config *c = &f->config;
    uint64_t parameters;
    if (model_checksum(f->model, &parameters, err) < 0)
        return NULL;
    const struct og_infer_output *second = og__infer_output_at(f, og__combine_step(c->layers - 2));
    char *embeddings = second ? og__absolute(second->file.path) : NULL;
    json_t *all =
        json_pack("{s:o s:i s:i s:i s:i s:i s:i s:i s:b s:o}", "model", og__json_hex(parameters),
                  "kind", c->kind, "layers", c->layers, "hidden", c->hidden, "width", c->n_classes,
                  "heads", c->heads, "aggregator", c->aggregator, "norm", c->norm, "residual",
                  c->residual, "neighbors", neighbors_json(f));
    if (c->compute != OG_COMPUTE_F32)
        all = og__json_with(all, "compute", json_string(og__option_word("compute", c->compute)));
    if (f->needed.bits)
        all = og__json_with(
            all, "nodes",
            og__json_hex(XXH3_64bits(f->needed.bits, og__bits_words((uint64_t)f->ds->n_nodes) *
                                                         sizeof(*f->needed.bits))));
    if (second)
        all = og__json_with(all, "embeddings", embeddings ? og__json_text(embeddings) : NULL);
    free(embeddings);
    if (!all)
        og__fail_errno(err, -ENOMEM, NULL, "inference");
    return all;
}

/* ==== layers ==== */

static int survey(struct og_inference *f, struct og_err *err)
{
    if (!og__model_sums_weights(&f->config))
        return 0;
    const int rc = og__infer_sum_weights(f, true, err);
    f->ends[0] = f->weights.mean;
    f->ends[1] = f->weights.loop;
    f->n_ends = 2;
    return rc;
}

static struct og_whole_layer shape(const struct og_inference *f, int l)
{
    const struct og_relation *all = f->whole ? f->whole : f->lists;
    return og__whole_layer(&f->config, l, (uint64_t)all->n_nodes, (uint64_t)all->n_edges);
}

static size_t bytes(const struct og_inference *f, int l, const struct og_whole_caps *caps)
{
    return og__whole_bytes(f->ops, &f->config, l, caps, og__pool_threads(f->pool));
}

static int reserve(struct og_inference *f, int l, const struct og_whole_caps *caps,
                   struct og_err *err)
{
    return og__whole_reserve(f->model, l, caps, err);
}

static void release(struct og_inference *f)
{
    og__whole_release(f->model);
}

static int transform(struct og_inference *f, int l, uint64_t first, struct og_rows x, float *out,
                     struct og_err *err)
{
    (void)first;
    return og__whole_transform(f->model, l, x, out, err);
}

static int combine(struct og_inference *f, int l, const struct og_whole_layer *how,
                   const struct og_infer_block *b, float *out, struct og_err *err)
{
    struct og_block block = b->block;
    if (b->ends) {
        block.mean_weight = b->ends;
        block.loop_weight = b->ends + block.n_src;
    }
    return og__whole_combine(f->model, l, how, &block, b->sources, b->own, b->edges, out, err);
}

const struct og_infer_kind og__infer_of_model = {
    .layer = "layer",
    .undefined_hint = og__diverged_hint,
    .numbers = numbers,
    .survey = survey,
    .shape = shape,
    .bytes = bytes,
    .reserve = reserve,
    .release = release,
    .transform = transform,
    .combine = combine,
};
