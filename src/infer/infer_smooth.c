/* smooth: Correct & Smooth of predictions, by the passes of inference, without a model. */
#include "base/sized.h"
#include "base/sort.h"
#include "dataset/convert.h"
#include "infer/infer_passes.h"
#include "infer/prediction_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS "inference rows"

/* ==== rows of some nodes ==== */

/* What is done with the rows of ascending nodes: number i of them. */
typedef void see_row(void *arg, int64_t i, const float *row);

struct looking {
    struct og_inference *f;
    const struct og_matrix *x;
    uint32_t most; /* rows at once */
    float *rows;
    uint32_t *nodes;
};

static size_t piece_bytes(const struct looking *w)
{
    return w->most * (og__matrix_row(w->x) + sizeof(*w->nodes));
}

static int look_at_piece(struct looking *w, struct og_infer_read *read, const uint32_t *ids,
                         uint32_t n, struct og_err *err)
{
    memcpy(w->nodes, ids, n * sizeof(*ids));
    const int rc = og__infer_submit(w->f, read, w->nodes, n, (char *)w->rows, err);
    const int waited = og__infer_wait(w->f, read, err);
    return rc < 0 ? rc : waited;
}

static int look_at_rows(struct og_inference *f, const struct og_matrix *x, const uint32_t *ids,
                        int64_t n, see_row *see, void *arg, struct og_err *err)
{
    struct looking w = {.f = f, .x = x};
    struct og_infer_read read = {0};
    int rc;
    w.most = (uint32_t)OG_MAX(OG_MIB / og__matrix_row(x), (size_t)1);
    w.rows = og__alloc(f->budget, piece_bytes(&w), ROWS, err);
    OG_TRY(w.rows ? 0 : -ENOMEM);
    w.nodes = (uint32_t *)(void *)(w.rows + w.most * (size_t)x->dim);
    OG_TRY(og__infer_read_open(f, &read, x, err));
    for (int64_t first = 0; first < n; first += w.most) {
        const uint32_t m = (uint32_t)OG_MIN(n - first, (int64_t)w.most);
        OG_TRY(look_at_piece(&w, &read, ids + first, m, err));
        for (uint32_t i = 0; i < m; i++)
            see(arg, first + i, w.rows + i * (size_t)x->dim);
    }
out:
    og__infer_read_close(f, &read);
    og__release(f->budget, w.rows, piece_bytes(&w), ROWS);
    return rc;
}

/* ==== splits ==== */

struct split {
    uint32_t *ids; /* [n] ascending, */
    void *labels;  /* and their labels */
    int64_t n;
};

static int load_split(struct og_inference *f, enum og__split which, struct split *s,
                      struct og_err *err)
{
    *s = (struct split){0};
    int rc = og__graph_split(f->ds, which, f->budget, &s->ids, &s->n, err);
    if (rc < 0 || s->n == 0)
        return rc;
    og__sort_in_place(s->ids, (size_t)s->n, sizeof(*s->ids), og__by_number);
    return og__graph_labels(f->ds, s->ids, s->n, f->budget, &s->labels, err);
}

static void release_split(struct og_inference *f, struct split *s)
{
    if (s->ids)
        og__release(f->budget, s->ids, (size_t)s->n * sizeof(*s->ids), "seeds");
    if (s->labels)
        og__release(f->budget, s->labels, og__labels_bytes(f->ds, s->n), "labels");
    *s = (struct split){0};
}

/* ==== accuracy ==== */

/* Right classes of all labelled nodes; or of several labels a node true and false ones. */
struct counting {
    const struct og_graph *g;
    const void *labels;
    uint64_t labelled, right, wrong, missed;
};

static void count_class(struct counting *c, int32_t label, const float *row)
{
    int best = 0;
    if (label < 0)
        return;
    for (int j = 1; j < c->g->n_classes; j++)
        best = row[j] > row[best] ? j : best;
    c->labelled++;
    c->right += best == label;
}

static void count_labels(struct counting *c, const float *label, const float *row)
{
    for (int j = 0; j < c->g->n_classes; j++) {
        const bool is = label[j] > 0.5f, said = row[j] > 0.5f;
        if (isnan(label[j]))
            continue;
        c->labelled++;
        c->right += is && said;
        c->wrong += !is && said;
        c->missed += is && !said;
    }
}

static void count_row(void *arg, int64_t i, const float *row)
{
    struct counting *c = arg;
    if (c->g->multi_label)
        count_labels(c, (const float *)c->labels + i * c->g->n_classes, row);
    else
        count_class(c, ((const int32_t *)c->labels)[i], row);
}

/* The share of right classes, or micro-F1 of labels; NaN without any. */
static double accuracy(const struct counting *c)
{
    const double said = (double)(2 * c->right + c->wrong + c->missed);
    if (c->labelled == 0)
        return NAN;
    if (!c->g->multi_label)
        return (double)c->right / (double)c->labelled;
    return said > 0 ? 2 * (double)c->right / said : 0;
}

static int judge(struct og_inference *f, enum og__split which, const struct og_matrix *x,
                 double *acc, struct og_err *err)
{
    struct split s;
    int rc;
    OG_TRY(load_split(f, which, &s, err));
    struct counting c = {.g = f->ds, .labels = s.labels};
    OG_TRY(look_at_rows(f, x, s.ids, s.n, count_row, &c, err));
    *acc = accuracy(&c);
out:
    release_split(f, &s);
    return rc;
}

/* ==== what is requested ==== */

struct smoothing {
    struct og_inference f;
    struct split train;
    double before[OG__SPLITS], after[OG__SPLITS]; /* accuracies; NaN = no labels */
    char *made; /* a file that a table of predictions was written to, or NULL */
};

static int check_alpha(const char *option, double alpha, struct og_err *err)
{
    return alpha >= 0 && alpha <= 1
               ? 0
               : og__fail(err, -EINVAL, NULL, "--%s %g: 0 to 1 expected", option, alpha);
}

static int check_layers(const char *option, int layers, struct og_err *err)
{
    return layers >= 0 && layers <= OG_MAX_SMOOTHING
               ? 0
               : og__fail(err, -EINVAL, NULL, "--%s %d: 0 to %d expected", option, layers,
                          OG_MAX_SMOOTHING);
}

static int read_request(struct og_inference *f, const struct og_smooth_options *how,
                        struct og_err *err)
{
    struct og_smoothing *s = &f->smoothing;
    OG_DO(check_layers("correction-layers", how->correction_layers, err));
    OG_DO(check_layers("smoothing-layers", how->smoothing_layers, err));
    OG_DO(check_alpha("correction-alpha", how->correction_alpha, err));
    OG_DO(check_alpha("smoothing-alpha", how->smoothing_alpha, err));
    if (how->correction_layers + how->smoothing_layers == 0)
        return og__fail(err, -EINVAL, "leave one of them out",
                        "--correction-layers 0 and --smoothing-layers 0: nothing is propagated");
    if (how->fixed_scale && !(how->scale > 0 && how->scale <= 1e6))
        return og__fail(err, -EINVAL, NULL, "--scale %g: auto, or above 0 and up to 1e6 expected",
                        how->scale);
    s->corrections = how->correction_layers;
    s->alpha[0] = (float)how->correction_alpha;
    s->alpha[1] = (float)how->smoothing_alpha;
    s->fixed = how->fixed_scale;
    s->scale = (float)how->scale;
    f->config.layers = how->correction_layers + how->smoothing_layers;
    return 0;
}

/* Parameters of propagations of which there are none. */
static void log_idle(const struct og_log *log, const struct og_smooth_options *how)
{
    static const double usual = 0.8; /* alpha */
    const struct {
        const char *option, *layers;
        bool idle;
    } rows[] = {
        {"correction-alpha", "correction-layers",
         how->correction_layers == 0 && fabs(how->correction_alpha - usual) > 0},
        {"scale", "correction-layers", how->correction_layers == 0 && how->fixed_scale},
        {"smoothing-alpha", "smoothing-layers",
         how->smoothing_layers == 0 && fabs(how->smoothing_alpha - usual) > 0},
    };
    for (size_t i = 0; i < OG_COUNT(rows); i++)
        if (rows[i].idle)
            og__log_without_effect(log, "", rows[i].option, rows[i].layers, "0",
                                   "there is no such propagation");
}

static int check_graph(struct og_inference *f, struct og_err *err)
{
    const struct og_graph *g = f->ds;
    OG_DO(og__graph_refuse_types(g, err));
    if (!og__npy_there(&g->labels) || !og__npy_there(&g->split[OG__TRAIN]))
        return og__fail(err, -EINVAL, "import the graph with a label.npy and a train.npy",
                        "%s: has no labels of train nodes", g->path);
    if (g->regression)
        return og__fail(err, -ENOTSUP, "smooth predictions of classes, or of several labels a node",
                        "%s: labels are values, classes expected", g->path);
    OG_DO(og__infer_check_weights(f, err));
    f->config.task = OG_TASK_NODE;
    f->config.n_classes = f->config.hidden = g->n_classes;
    f->config.multi_label = g->multi_label;
    return 0;
}

/* Rows of a table, in a file next to the output. */
static int make_rows(struct smoothing *p, const char *table, const char *out, struct og_err *err)
{
    struct og_budget *b = og__budget_new((size_t)p->f.opt.memory.value);
    char *made = NULL;
    int rc = b && asprintf(&made, "%s.predictions.part", out) > 0
                 ? 0
                 : og__fail_errno(err, -ENOMEM, NULL, "%s", table);
    if (rc == 0)
        rc = og__prediction_table(table, made, p->f.ds, b, err);
    if (rc == 0)
        p->made = made;
    else
        free(made);
    og__budget_free(b);
    return rc;
}

static int open_predictions(struct og_inference *f, const char *path, struct og_err *err)
{
    static const char hint[] =
        "make it with `outgrow predict --probabilities`, --out FILE.npy or FILE.csv";
    struct og_group *p = &f->smoothing.predictions;
    const struct og_npy *a = &p->rows;
    OG_DO(og__npy_open(&p->rows, path, err));
    if (a->type != OG__NPY_F32 && a->type != OG__NPY_F16)
        return og__fail(err, -EINVAL, hint, "%s: %s, float32 or float16 expected", path,
                        og__npy_name(a->type));
    if (a->shape[0] != f->ds->n_nodes || a->shape[1] != f->ds->n_classes)
        return og__fail(err, -EINVAL, hint,
                        "%s: [%lld, %lld], a row for each of %lld nodes and a column for each of "
                        "%d classes expected",
                        path, (long long)a->shape[0], (long long)a->shape[1],
                        (long long)f->ds->n_nodes, f->ds->n_classes);
    p->graph = f->ds;
    p->name = "";
    p->n_nodes = a->shape[0];
    p->dim = (int)a->shape[1];
    p->stored = p->dtype = a->type == OG__NPY_F16 ? OG_F16 : OG_F32;
    f->input[f->n_inputs++] = p;
    return 0;
}

/* ==== labels of train nodes, and what the predictions miss ==== */

struct errors {
    const struct og_inference *f;
    double sum;
    int64_t labelled;
};

static void add_error(void *arg, int64_t i, const float *row)
{
    struct errors *e = arg;
    bool known;
    e->sum += og__smoothing_error(e->f, i, row, &known);
    e->labelled += known;
}

static int open_train(struct smoothing *p, struct og_err *err)
{
    struct og_inference *f = &p->f;
    struct og_smoothing *s = &f->smoothing;
    const struct og_matrix x = og__infer_features(f);
    struct errors e = {.f = f};
    int rc;
    OG_TRY(load_split(f, OG__TRAIN, &p->train, err));
    s->train = p->train.ids;
    s->labels = p->train.labels;
    s->n_train = p->train.n;
    OG_TRY(look_at_rows(f, &x, s->train, s->n_train, add_error, &e, err));
    if (e.labelled == 0)
        OG_TRY(og__fail(err, -EINVAL, "import the graph with labels of train nodes",
                        "%s: none of the %lld train nodes has a label", f->ds->path,
                        (long long)s->n_train));
    s->sigma = (float)(e.sum / (double)e.labelled);
    for (enum og__split k = OG__VALID; k < OG__SPLITS; k++)
        OG_TRY(judge(f, k, &x, &p->before[k], err));
    f->counts = (struct og_io_counts){0}; /* the layers' come now; these are the process's */
out:
    return rc;
}

static int open_smoothing(struct smoothing *p, const char *dataset, const char *predictions,
                          const char *out, const struct og_smooth_options *how,
                          const struct og_options *opt, struct og_err *err)
{
    const struct og_predict_options form = {
        .size = sizeof(form), .dtype = how->dtype, .names = how->names, .top_k = how->top_k};
    struct og_inference *f = &p->f;
    og__infer_begins(f);
    f->overwrites = how->overwrite;
    OG_DO(read_request(f, how, err));
    log_idle(&f->log, how);
    OG_DO(og__infer_without_model(f, opt, OG__UNUSED_SMOOTH, "use --edge-weights multiply", err));
    f->opt.pack_dtype = OG_PACK_STORED; /* of features, which are not read */
    OG_DO(og__graph_open(dataset, &f->ds, err));
    OG_DO(check_graph(f, err));
    OG_DO(og__output_spare(f->ds, predictions, "the predictions", out, err));
    OG_DO(og__prediction_form(&f->form, out, &form, &f->config, f->ds, &f->log, err));
    OG_DO(og__infer_add_output(f, out, og__combine_step(f->config.layers - 1), &f->form, err));
    if (og__prediction_is_table(predictions))
        OG_DO(make_rows(p, predictions, out, err));
    OG_DO(open_predictions(f, p->made ? p->made : predictions, err));
    f->degrees = true;
    OG_DO(og__infer_take(f, err));
    return open_train(p, err);
}

/* ==== the command ==== */

static void say_gain(const struct smoothing *p)
{
    const double before = p->before[OG__VALID], after = p->after[OG__VALID];
    const struct og_log *log = &p->f.log;
    if (isnan(before))
        og__say(log, OG__WARN,
                "no validation node has a label: whether smoothing gains is not known");
    else if (!(after > before))
        og__say(log, OG__WARN,
                "smoothing does not gain: validation accuracy is %.2f %%, and %.2f %% before; "
                "keep the predictions as they were",
                100 * after, 100 * before);
    else
        og__say(log, OG__INFO, "validation accuracy is %.2f %%, and %.2f %% before", 100 * after,
                100 * before);
}

static json_t *with_accuracies(json_t *root, const double acc[OG__SPLITS])
{
    root = og__json_with(root, "valid_acc", og__json_real(acc[OG__VALID]));
    return og__json_with(root, "test_acc", og__json_real(acc[OG__TEST]));
}

static json_t *figures(const struct smoothing *p, const char *out)
{
    json_t *root = og__json_with(og__infer_figures(&p->f), "out", og__json_text(out));
    root = og__json_with(root, "before", with_accuracies(json_object(), p->before));
    return with_accuracies(root, p->after);
}

static int judge_output(struct smoothing *p, struct og_err *err)
{
    struct og_inference *f = &p->f;
    struct og_matrix made;
    int rc;
    OG_TRY(og__infer_output_of(f, f->config.layers - 1, &made, err));
    for (enum og__split k = OG__VALID; k < OG__SPLITS; k++)
        OG_TRY(judge(f, k, &made, &p->after[k], err));
out:
    og__step_files_free(&made.files);
    return rc;
}

static int smooth(struct smoothing *p, const char *out, char **text, struct og_err *err)
{
    struct og_inference *f = &p->f;
    OG_DO(og__infer_state_open(f, NULL, NULL, err));
    OG_DO(og__infer_run(f, err));
    OG_DO(judge_output(p, err));
    OG_DO(og__infer_publish(f, err));
    say_gain(p);
    OG_DO(og__json_deliver(figures(p, out), NULL, text, err)); /* before the files */
    return og__infer_deliver(f, err);
}

int og_smooth(const char *dataset, const char *predictions, const char *out,
              const struct og_smooth_options *how, const struct og_options *opt,
              const struct og_observer *observer, char **text, struct og_err *err)
{
    struct smoothing p = {.f = {.kind = &og__infer_of_smoothing, .observer = observer}};
    int rc;
    if (text)
        *text = NULL;
    p.f.smoothing.predictions.rows.fd = -1;
    OG_TRY(OG_SIZED(observer, "og_observer", err));
    OG_TRY(OG_SIZED(how, "og_smooth_options", err));
    OG_TRY(open_smoothing(&p, dataset, predictions, out, how, opt, err));
    OG_TRY(smooth(&p, out, text, err));
out:
    if (rc < 0 && text) {
        free(*text);
        *text = NULL;
    }
    release_split(&p.f, &p.train);
    og__npy_close(&p.f.smoothing.predictions.rows);
    og__infer_free(&p.f);
    if (p.made)
        unlink(p.made);
    free(p.made);
    return rc;
}
