#include "infer/prediction_file.h"

#include "base/plain.h"
#include "dataset/convert.h"
#include "dataset/node_names.h"
#include "dataset/writer.h"
#include "learn/targets.h"
#include "nn/tasks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IDS = 1024 }; /* read at once */

struct og_prediction_file {
    const char *path;
    struct og_prediction_form form;
    const struct og_model_config *model;
    const struct og_graph *g;
    const json_t *names;          /* of classes, [width]; NULL: numbers */
    struct og_node_names **nodes; /* [groups] names of a table's nodes; NULL: ids */
    int width;
    struct og_npy_writer *npy;
    FILE *csv;
    int64_t ids[IDS];   /* of the source */
    int *order;         /* [width] with top_k */
    uint16_t *narrowed; /* [width] */
};

/* ---- forms ---- */

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);
    return n > m && strcmp(path + n - m, ending) == 0;
}

/* Not an ending: the rest of a version or of a number, as in logits-lr0.01. */
static bool is_of_the_name(const char *dot)
{
    return strpbrk(dot, "0123456789") && strcmp(dot, ".h5") != 0 && strcmp(dot, ".bz2") != 0;
}

/* The ending of the file's name says what is written. */
static int check_ending(const char *path, struct og_err *err)
{
    const char *const slash = strrchr(path, '/');
    const char *const name = slash ? slash + 1 : path;
    const char *const dot = strrchr(name, '.');
    if (strcmp(path, "-") == 0)
        return og__fail(err, -EINVAL, "name a file: FILE.npy, or FILE.csv",
                        "-: predictions do not go to standard output");
    if (!dot || dot == name || strcmp(dot, ".npy") == 0 || strcmp(dot, ".csv") == 0 ||
        is_of_the_name(dot))
        return 0;
    return og__fail(err, -EINVAL, "call it FILE.npy, or FILE.csv for a table",
                    "%s: %s files are not written", path, dot);
}

/* What both files have. */
static int read_form(struct og_prediction_form *form, const char *path,
                     const struct og_predict_options *how, struct og_err *err)
{
    *form = (struct og_prediction_form){.csv = ends_with(path, ".csv")};
    if (ends_with(path, ".parquet"))
        return og__fail(err, -ENOTSUP, "write .csv, which DuckDB, Polars and pandas convert",
                        "%s: Parquet files are not written", path);
    OG_DO(check_ending(path, err));
    if (!how->dtype || strcmp(how->dtype, "f32") == 0)
        return 0;
    if (strcmp(how->dtype, "f16") != 0)
        return og__fail(err, -EINVAL, NULL, "--dtype %.20s: f32 or f16 expected", how->dtype);
    form->half = !form->csv;
    if (form->csv)
        return og__fail(err, -EINVAL, "leave it out, or use --out FILE.npy",
                        "--dtype f16: a table has decimal numbers");
    return 0;
}

int og__embeddings_form(struct og_prediction_form *form, const char *path,
                        const struct og_predict_options *how, struct og_err *err)
{
    return read_form(form, path, how, err);
}

static int check_labels(const struct og_predict_options *how, const struct og_prediction_form *form,
                        const struct og_model_config *model, struct og_err *err)
{
    const enum og__targets targets = og__task_of(model)->targets;
    const char *option = how->probabilities ? "--probabilities" : "--top-k";
    if ((how->probabilities || how->top_k) && !form->labels)
        return og__fail(err, -EINVAL, "leave it out", "%s: the model has %s", option,
                        targets == OG__OF_PAIRS ? "embeddings, no classes" : "values, no classes");
    if (how->top_k < 0 || how->top_k > model->n_classes)
        return og__fail(err, -EINVAL, "give at most the number of classes",
                        "--top-k %d: 1 to %d expected", how->top_k, model->n_classes);
    if (how->top_k && !form->csv)
        return og__fail(err, -EINVAL, "use --out FILE.csv",
                        "--top-k: classes and scores do not fit one .npy file");
    return 0;
}

/* Refuses a graph whose source called no node anything. */
static int check_names(const struct og_graph *g, struct og_err *err)
{
    bool named = g->node_ids.fd >= 0;
    int rc = 0;
    for (uint32_t k = 0; rc == 0 && !named && k < g->n_groups; k++) {
        struct og_node_names *names = NULL;
        rc = og__node_names_open(&names, g, k, err);
        named = names != NULL;
        og__node_names_close(names);
    }
    if (rc < 0 || named)
        return rc;
    return og__fail(err, -EINVAL, "leave it out: rows are numbered as in the dataset",
                    "--names: %s has no ids of the source", g->path);
}

int og__prediction_form(struct og_prediction_form *form, const char *out,
                        const struct og_predict_options *how, const struct og_model_config *model,
                        const struct og_graph *g, const struct og_log *log, struct og_err *err)
{
    const enum og__targets targets = og__task_of(model)->targets;
    int rc = read_form(form, out, how, err);
    if (rc < 0)
        return rc;
    form->shares = model->loss == OG_LOSS_CROSS_ENTROPY;
    form->labels = targets == OG__OF_CLASSES || targets == OG__OF_LABELS || form->shares;
    if (form->labels && !form->shares && !og__of_pairs(model) && g->labels.fd < 0 &&
        (form->csv || how->probabilities))
        og__say(log, OG__INFO, "%s: has no labels, so the model is taken as one of %s", g->path,
                g->multi_label ? "several labels a node" : "one class a node");
    form->probabilities = how->probabilities;
    form->top_k = how->top_k;
    form->edges = og__labels_pairs(model);
    if (how->names && !form->csv)
        return og__fail(err, -EINVAL, "use --out FILE.csv",
                        "--names: a .npy file has no column of ids");
    rc = how->names ? check_names(g, err) : 0;
    return rc < 0 ? rc : check_labels(how, form, model, err);
}

/* ---- text ---- */

static void put_text(FILE *f, struct og_word word)
{
    bool quoted = false;
    for (uint32_t i = 0; i < word.len; i++)
        quoted |= strchr(",\"\r\n", word.text[i]) != NULL;
    if (quoted)
        putc('"', f);
    for (uint32_t i = 0; i < word.len; i++) {
        if (word.text[i] == '"')
            putc('"', f);
        putc(word.text[i], f);
    }
    if (quoted)
        putc('"', f);
}

static void put_class(const struct og_prediction_file *p, int i)
{
    const char *name = json_string_value(json_array_get(p->names, (size_t)i));
    if (name)
        put_text(p->csv, (struct og_word){name, (uint32_t)strlen(name)});
    else
        fprintf(p->csv, "%d", i);
}

/* One class a node, so that the largest score names it. */
static bool chooses(const struct og_prediction_file *p)
{
    return p->form.labels && !p->form.shares && !p->model->multi_label;
}

static void put_header(const struct og_prediction_file *p)
{
    fputs(!p->form.edges ? "id" : p->form.relations ? "src,relation,dst" : "src,dst", p->csv);
    for (int k = 1; k <= p->form.top_k; k++)
        fprintf(p->csv, ",class_%d,score_%d", k, k);
    if (chooses(p) && !p->form.top_k)
        fputs(",class", p->csv);
    for (int i = 0; !p->form.top_k && i < p->width; i++) {
        putc(',', p->csv);
        put_class(p, i);
    }
    putc('\n', p->csv);
}

/* ---- opening and closing ---- */

static int open_table(struct og_prediction_file *p, int fd, struct og_err *err)
{
    int rc = 0;
    p->nodes = calloc(p->g->n_groups, sizeof(struct og_node_names *));
    if (!p->nodes)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", p->path);
    for (uint32_t k = 0; rc == 0 && k < p->g->n_groups; k++)
        rc = og__node_names_open(&p->nodes[k], p->g, k, err);
    if (rc < 0)
        return rc;
    const int own = dup(fd);
    p->csv =
        own < 0 || ftruncate(own, 0) < 0 || lseek(own, 0, SEEK_SET) < 0 ? NULL : fdopen(own, "w");
    if (!p->csv) {
        const int why = errno;
        if (own >= 0)
            close(own);
        return og__fail_errno(err, -why, NULL, "%s", p->path);
    }
    put_header(p);
    return 0;
}

int og__prediction_open(struct og_prediction_file **out, int fd, const char *path,
                        const struct og_prediction_form *form, int width,
                        const struct og_model_config *model, const struct og_graph *g,
                        struct og_err *err)
{
    const size_t more = (size_t)width * OG_MAX(sizeof(*(*out)->order), sizeof(*(*out)->narrowed));
    struct og_prediction_file *p = *out = calloc(1, sizeof(*p) + more);
    if (!p)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    *p = (struct og_prediction_file){
        .path = path, .form = *form, .model = model, .g = g, .width = width};
    p->order = (int *)(void *)(p + 1); /* of a table, else */
    p->narrowed = (uint16_t *)(void *)(p + 1);
    p->names = form->labels ? og__class_names(g, model) : NULL;
    if (form->csv)
        return open_table(p, fd, err);
    if (ftruncate(fd, 0) < 0)
        return og__fail_errno(err, -errno, NULL, "%s", path);
    return og__npy_over(&p->npy, fd, path, form->half ? OG__NPY_F16 : OG__NPY_F32, 0, width, err);
}

int og__prediction_end(struct og_prediction_file *p, int rc, struct og_err *err)
{
    if (!p)
        return rc;
    if (p->csv) {
        const bool failed = ferror(p->csv) != 0;
        if (fclose(p->csv) != 0 || failed)
            rc = rc < 0 ? rc : og__fail_errno(err, errno ? -errno : -EIO, NULL, "%s", p->path);
    } else if (rc < 0) {
        og__npy_discard(p->npy);
    } else {
        rc = og__npy_finish(p->npy, NULL, err);
    }
    for (uint32_t k = 0; p->nodes && k < p->g->n_groups; k++)
        og__node_names_close(p->nodes[k]);
    free(p->nodes);
    free(p);
    return rc;
}

/* ---- rows ---- */

static void softmax(float *x, int n)
{
    float most = x[0];
    double sum = 0;
    for (int i = 1; i < n; i++)
        most = OG_MAX(most, x[i]);
    for (int i = 0; i < n; i++)
        sum += exp((double)x[i] - (double)most);
    for (int i = 0; i < n; i++)
        x[i] = (float)(exp((double)x[i] - (double)most) / sum);
}

static void make_probable(const struct og_prediction_file *p, float *x)
{
    if (chooses(p) || p->form.shares) {
        softmax(x, p->width);
        return;
    }
    for (int i = 0; i < p->width; i++)
        x[i] = (float)(1 / (1 + exp(-(double)x[i])));
}

static int put_halves(const struct og_prediction_file *p, const uint32_t *nodes, const float *rows,
                      uint32_t n, struct og_err *err)
{
    const size_t width = (size_t)p->width;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = og__narrow_to_half(rows + i * width, width, p->narrowed) < 0
                 ? og__npy_append(p->npy, p->narrowed, 1, err)
                 : og__fail(err, -ERANGE, "use --dtype f32", "%s: %s %u: a number beyond float16",
                            p->path, p->form.edges ? "edge" : "node", nodes[i]);
    return rc;
}

/* The source's ids, or without any those of the dataset. */
static int read_ids(struct og_prediction_file *p, const uint32_t *nodes, uint32_t n,
                    struct og_err *err)
{
    int rc = 0;
    for (uint32_t first = 0, end; rc == 0 && first < n; first = end) {
        for (end = first + 1; end < n && nodes[end] == nodes[end - 1] + 1;)
            end++;
        if (p->g->node_ids.fd >= 0)
            rc =
                og__npy_read_int64(&p->g->node_ids, nodes[first], end - first, p->ids + first, err);
        for (uint32_t i = first; p->g->node_ids.fd < 0 && i < end; i++)
            p->ids[i] = nodes[i];
    }
    return rc;
}

/* Classes of the largest scores, the largest first; of equal ones the first class. */
static void choose_top(const struct og_prediction_file *p, const float *x)
{
    int n = 0;
    for (int i = 0; i < p->width; i++) {
        int at = n < p->form.top_k ? n++ : p->form.top_k;
        for (; at > 0 && x[p->order[at - 1]] < x[i]; at--)
            if (at < p->form.top_k)
                p->order[at] = p->order[at - 1];
        if (at < p->form.top_k)
            p->order[at] = i;
    }
}

static void put_id(const struct og_prediction_file *p, uint32_t node, int64_t id)
{
    const uint32_t k = og__group_of(p->g, node);
    if (p->nodes[k])
        put_text(p->csv, og__node_name(p->nodes[k], node - p->g->group[k].first));
    else
        fprintf(p->csv, "%lld", (long long)id);
}

static void put_scores(const struct og_prediction_file *p, const float *x)
{
    const locale_t before = og__plain_begin();
    if (p->form.top_k)
        choose_top(p, x);
    for (int k = 0; k < p->form.top_k; k++) {
        putc(',', p->csv);
        put_class(p, p->order[k]);
        fprintf(p->csv, ",%.9g", (double)x[p->order[k]]);
    }
    if (chooses(p) && !p->form.top_k) {
        int best = 0;
        for (int i = 1; i < p->width; i++)
            best = x[i] > x[best] ? i : best;
        putc(',', p->csv);
        put_class(p, best);
    }
    for (int i = 0; !p->form.top_k && i < p->width; i++)
        fprintf(p->csv, ",%.9g", (double)x[i]);
    putc('\n', p->csv);
    og__plain_end(before);
}

static void make_all_probable(const struct og_prediction_file *p, float *rows, uint32_t n)
{
    for (uint32_t i = 0; p->form.probabilities && i < n; i++)
        make_probable(p, rows + i * (size_t)p->width);
}

static int check_written(const struct og_prediction_file *p, struct og_err *err)
{
    return ferror(p->csv) ? og__fail_errno(err, errno ? -errno : -EIO, NULL, "%s", p->path) : 0;
}

int og__prediction_edges(struct og_prediction_file *p, const struct og_predicted_edges *edges,
                         float *rows, uint32_t n, struct og_err *err)
{
    if (!p->form.csv)
        return og__prediction_rows(p, edges->number, rows, n, err);
    make_all_probable(p, rows, n);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *end = edges->ends + 2 * (size_t)i;
        OG_DO(read_ids(p, end, 2, err));
        put_id(p, end[0], p->ids[0]);
        if (p->form.relations) {
            const char *name = p->g->relation[edges->relation[i]].name;
            putc(',', p->csv);
            put_text(p->csv, (struct og_word){name, (uint32_t)strlen(name)});
        }
        putc(',', p->csv);
        put_id(p, end[1], p->ids[1]);
        put_scores(p, rows + i * (size_t)p->width);
    }
    return check_written(p, err);
}

int og__prediction_rows(struct og_prediction_file *p, const uint32_t *nodes, float *rows,
                        uint32_t n, struct og_err *err)
{
    const size_t width = (size_t)p->width;
    make_all_probable(p, rows, n);
    if (!p->form.csv)
        return p->form.half ? put_halves(p, nodes, rows, n, err)
                            : og__npy_append(p->npy, rows, n, err);
    for (uint32_t first = 0; first < n; first += IDS) {
        const uint32_t m = OG_MIN(n - first, (uint32_t)IDS);
        OG_DO(read_ids(p, nodes + first, m, err));
        for (uint32_t i = 0; i < m; i++) {
            put_id(p, nodes[first + i], p->ids[i]);
            put_scores(p, rows + (first + i) * width);
        }
    }
    return check_written(p, err);
}
