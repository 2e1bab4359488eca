/* What all commands of inference have: opening, all layers, figures. */
#include "budget/memory_plan.h"
#include "dataset/features.h"
#include "infer/infer_passes.h"
#include "options/devices.h"
#include "options/options.h"

/* ==== opening and closing ==== */

void og__infer_begins(struct og_inference *f)
{
    f->start = og__now();
    f->opened_read = og__io_made();
    if (f->observer)
        f->log = (struct og_log){f->observer->message, f->observer->arg};
}

int og__infer_without_model(struct og_inference *f, const struct og_options *opt,
                            enum og__unused by, const char *instead, struct og_err *err)
{
    const struct og_option_set requested = og__options_set_apart(opt);
    OG_DO(og__alone(opt, err));
    if (opt->device != OG_DEVICE_CPU)
        return og__fail(err, -ENOTSUP, "leave out --device",
                        "--device: propagation computes on the CPU");
    og__log_unused_options(&f->log, &requested, by);
    OG_DO(og__options_copy(&f->opt, opt, err));
    f->config.edge_weights =
        f->opt.edge_weights == OG_EDGE_WEIGHTS_AUTO ? OG_EDGE_WEIGHTS_OFF : f->opt.edge_weights;
    if (f->config.edge_weights == OG_EDGE_WEIGHTS_MEAN)
        return og__fail(err, -EINVAL, instead,
                        "--edge-weights mean: propagation divides by degrees, not by a mean");
    return og__options_resolve(&f->opt, &f->log, err);
}

int og__infer_check_weights(const struct og_inference *f, struct og_err *err)
{
    if (f->config.edge_weights == OG_EDGE_WEIGHTS_OFF || f->ds->relation->weights.fd >= 0)
        return 0;
    return og__fail(err, -EINVAL,
                    "import the graph with an edge_weight.npy, or use --edge-weights off",
                    "%s: has no edge weights", f->ds->path);
}

int og__infer_take(struct og_inference *f, struct og_err *err)
{
    int rc;
    f->lists = f->ds->relation;
    if (f->n_inputs == 0)
        f->input[f->n_inputs++] = f->ds->group;
    OG_TRY(og__features_keep(f->ds->group, og__pack_dtype(&f->opt, f->ds->group->stored), err));
    OG_TRY(og__pool_open(&f->pool, f->opt.threads, err));
    if (f->ops)
        OG_TRY(og__nn_warm_up(f->ops, og__devices_requested(&f->opt).number[0], f->pool, err));
    const size_t rest = og__rest_bytes(f->ds);
    f->baseline_rss = og__rss_now() - rest;
    f->budget = og__budget_new((size_t)f->opt.memory.value);
    OG_TRY(f->budget ? 0 : og__fail_errno(err, -ENOMEM, NULL, "budget"));
    OG_TRY(og__budget_charge(f->budget, OG__PROCESS_BYTES + rest, "process", err));
    og__features_profile(f->input[0], &f->profile);
    f->layers = json_array();
out:
    return rc;
}

void og__infer_free(struct og_inference *f)
{
    size_t bytes = f->lists ? (size_t)f->lists->n_nodes * sizeof(uint32_t) : 0;
    og__infer_release_picked(f);
    og__infer_release_walks(f);
    og__infer_state_close(f);
    og__model_free(f->model);
    if (f->budget) {
        void *const arrays[] = {f->feeds, f->degree, f->weights.mean, f->weights.loop,
                                f->hops.scale};
        for (size_t i = 0; i < OG_COUNT(arrays); i++)
            og__release(f->budget, arrays[i], bytes, OG__INFER_NODES);
    }
    og__budget_free(f->budget);
    og__pool_close(f->pool);
    og__hop_files_close(&f->hop_files);
    og__graph_close(f->ds);
    json_decref(f->layers);
    og__options_release(&f->opt);
}

/* ==== all layers ==== */

/* Walks are sampled first; layers do not distinguish them. */
static int choose_lists(struct og_inference *f, struct og_err *err)
{
    if (!f->model)
        return 0;
    if (og__sampling_by_visits((enum og_sampler_kind)f->opt.sampler))
        return og__infer_walk(f, err);
    if (og__model_weighs(&f->config) && f->config.edge_weights == OG_EDGE_WEIGHTS_OFF)
        og__say(&f->log, OG__INFO,
                "all in-neighbours have equal weights; --sampler walk uses PinSAGE's neighbours");
    return 0;
}

static int begin_layers(struct og_inference *f, struct og_err *err)
{
    int rc;
    OG_TRY(choose_lists(f, err));
    if (f->needed.requested)
        OG_TRY(og__infer_pick(f, err));
    OG_TRY(og__infer_survey(f, err));
    if (f->needed.requested)
        OG_TRY(og__infer_pick_degrees(f, err));
    OG_TRY(og__infer_check(f, err));
    OG_TRY(og__infer_begin(f, err));
out:
    og__io_add_since(&f->prepare, f->opened_read); /* in addition to earlier runs */
    return rc;
}

struct og_matrix og__infer_features(const struct og_inference *f)
{
    struct og_matrix x = {.features = true,
                          .n = og__infer_nodes(f, 0),
                          .dim = f->ds->group->dim,
                          .dtype = f->ds->group->dtype,
                          .sparse = og__row_form(f->ds->group),
                          .scale = og__row_scale(f->ds->group)};
    if (f->n_inputs > 1 || f->input[0] != f->ds->group) {
        x.dim = f->n_inputs * f->input[0]->dim;
        x.dtype = OG_F32;
        x.scale = NULL;
        x.sparse = NULL;
    }
    return x;
}

int og__infer_output_of(struct og_inference *f, int l, struct og_matrix *out, struct og_err *err)
{
    *out = (struct og_matrix){
        .n = og__infer_nodes(f, l + 1), .dim = f->kind->shape(f, l).n_out, .dtype = OG_F32};
    return og__infer_step_files(f, og__combine_step(l), &out->files, err);
}

int og__infer_run(struct og_inference *f, struct og_err *err)
{
    int rc;
    OG_TRY(begin_layers(f, err));
    for (int l = f->state.step / 2; l < f->config.layers; l++) {
        struct og_matrix in = og__infer_features(f);
        if (l > 0)
            OG_TRY(og__infer_output_of(f, l - 1, &in, err));
        rc = og__infer_layer(f, l, &in, err);
        og__step_files_free(&in.files);
        if (rc < 0)
            goto out;
    }
out:
    return rc;
}

/* ==== results ==== */

json_t *og__infer_figures(const struct og_inference *f)
{
    /* since the last layer: outputs that are made of its rows */
    json_int_t read = (json_int_t)(f->prepare.bytes + f->counts.bytes);
    json_int_t written = (json_int_t)(f->prepare_written + f->bytes_written);
    size_t l;
    json_t *row;
    json_array_foreach(f->layers, l, row)
    {
        read += json_integer_value(json_object_get(row, "bytes_read"));
        written += json_integer_value(json_object_get(row, "bytes_written"));
    }
    size_t peak = og__rss_peak();
    return json_pack("{s:I s:f s:I s:I s:I s:O s:I s:I s:I}", "nodes",
                     (json_int_t)og__infer_nodes(f, f->config.layers), "seconds",
                     og__now() - f->start, "bytes_read", read, "prepare_bytes_read",
                     (json_int_t)f->prepare.bytes, "bytes_written", written, "layers", f->layers,
                     "peak_rss_bytes", (json_int_t)(peak - OG_MIN(peak, f->baseline_rss)),
                     "baseline_rss_bytes", (json_int_t)f->baseline_rss, "memory_budget_bytes",
                     (json_int_t)og__budget_limit(f->budget));
}
