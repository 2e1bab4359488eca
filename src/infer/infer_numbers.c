/* Inputs that decide the results of an inference, as text. A stopped inference resumes only if they
 * are equal. */
#include "infer/infer_passes.h"
#include "infer/infer_state.h"

#include "base/bits.h"
#include "base/hex.h"
#include "dataset/identity.h"
#include "options/options.h"
#include "sample/sample.h"

#include <stdlib.h>
#include <string.h>

static int add_values(struct og_model *m, const struct og_param *p, uint64_t *sum,
                      struct og_err *err)
{
    enum { PIECE = 4096 };
    float piece[PIECE];
    int rc = 0;
    for (size_t first = 0, n; first < og__param_count(p); first += n) {
        n = OG_MIN(og__param_count(p) - first, (size_t)PIECE);
        OG_TRY(og__model_fetch(m, piece, p->value + first, n * sizeof(*piece), err));
        *sum = XXH3_64bits_withSeed(piece, n * sizeof(*piece), *sum);
    }
out:
    return rc;
}

static int model_checksum(struct og_model *m, uint64_t *sum, struct og_err *err)
{
    size_t n;
    const struct og_param *p = og__model_params(m, &n);
    int rc = 0;
    *sum = 0;
    for (size_t i = 0; i < n; i++) {
        *sum = XXH3_64bits_withSeed(p[i].name, strlen(p[i].name), *sum);
        OG_TRY(add_values(m, &p[i], sum, err));
    }
out:
    return rc;
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

char *og__infer_numbers(struct og_inference *f, struct og_err *err)
{
    const struct og_model_config *c = &f->config;
    uint64_t parameters;
    if (model_checksum(f->model, &parameters, err) < 0)
        return NULL;
    const char *second = f->state.embeddings.path;
    char *embeddings = second ? og__absolute(second) : NULL;
    json_t *model = og__json_hex(parameters);
    json_t *dataset = og__json_hex(og__dataset_state(&f->ds->identity));
    json_t *all = json_pack("{s:s s:o s:o s:i s:i s:i s:i s:i s:i s:i s:b s:o}", "version",
                            og_version(), "model", model, "dataset", dataset, "kind", c->kind,
                            "layers", c->layers, "hidden", c->hidden, "width", c->n_classes,
                            "heads", c->heads, "aggregator", c->aggregator, "norm", c->norm,
                            "residual", c->residual, "neighbors", neighbors_json(f));
    if (f->ds->group->dtype != f->ds->group->stored) /* rounded: other results */
        all = og__json_with(all, "features", json_string(og__dtype_name(f->ds->group->dtype)));
    if (c->edge_weights != OG_EDGE_WEIGHTS_OFF)
        all = og__json_with(all, "edge_weights",
                            json_string(og__option_word("edge-weights", c->edge_weights)));
    if (c->compute != OG_COMPUTE_F32)
        all = og__json_with(all, "compute", json_string(og__option_word("compute", c->compute)));
    if (f->needed.bits)
        all = og__json_with(
            all, "nodes",
            og__json_hex(XXH3_64bits(f->needed.bits, og__bits_words((uint64_t)f->ds->n_nodes) *
                                                         sizeof(*f->needed.bits))));
    if (second)
        all = og__json_with(all, "embeddings", embeddings ? og__json_text(embeddings) : NULL);
    char *text = og__json_print(all, JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    free(embeddings);
    json_decref(all);
    if (!text)
        og__fail_errno(err, -ENOMEM, NULL, "inference");
    return text;
}

/* Whether options of the neighbours are equal. A state older than an option used its default. */
static bool same_neighbors(const json_t *there, const json_t *here)
{
    struct og_options standard;
    const char *name;
    json_t *value;
    if (!json_is_object(there) || !json_is_object(here))
        return json_equal(there, here);
    og__options_init(&standard);
    json_t *usual = og__options_json(&standard);
    og__options_release(&standard);
    bool same = usual != NULL;
    json_object_foreach((json_t *)here, name, value)
    {
        const json_t *said = json_object_get(there, name);
        same = same && json_equal(said ? said : json_object_get(usual, name), value);
    }
    json_decref(usual);
    return same;
}

bool og__infer_same_numbers(const char *there, const char *here)
{
    static const char key[] = "neighbors";
    if (!there || strcmp(there, here) == 0)
        return there;
    json_t *theirs = json_loads(there, 0, NULL);
    json_t *ours = json_loads(here, 0, NULL);
    bool same = theirs && same_neighbors(json_object_get(theirs, key), json_object_get(ours, key));
    if (same) { /* and the rest */
        json_object_del(theirs, key);
        json_object_del(ours, key);
        same = json_equal(theirs, ours);
    }
    json_decref(theirs);
    json_decref(ours);
    return same;
}
