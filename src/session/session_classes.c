/* Weights in the loss, of classes and of seeds, and seeds that balance classes. */
#include "base/plain.h"
#include "dataset/convert.h"
#include "learn/targets.h"
#include "nn/tasks.h"
#include "session/session_parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char part[] = "labels";

/* ---- which tasks take them ---- */

/* A homogeneous graph has one type, without a name. */
static bool weighs_types(const struct og_session *s)
{
    return s->config.opt.type_weights && *s->workload.graph->group->name;
}

/* What labels of the task are, as bits. */
enum { CLASSES = 1, LABELS = 2, VALUES = 4, SHARES = 8 };

static int kinds_of(const struct og_session *s)
{
    const enum og__targets targets = og__targets_of_task(s->config.opt.task);
    if (targets != OG__OF_CLASSES)
        return targets != OG__OF_VALUES ? 0 : s->workload.graph->shares ? SHARES : VALUES;
    return s->workload.graph->multi_label ? LABELS : CLASSES;
}

int og__session_check_classes(const struct og_session *s, struct og_err *err)
{
    const struct og_options *opt = &s->config.opt;
    const struct {
        const char *name;
        bool given;
        int takes;
    } options[] = {{"class-weights", opt->class_weights, CLASSES | LABELS},
                   {"seed-weights", opt->seed_weights, CLASSES | LABELS | VALUES | SHARES},
                   {"label-smoothing", opt->label_smoothing > 0, CLASSES},
                   {"oversample", opt->oversample != OG_OVERSAMPLE_NONE, CLASSES}};
    for (size_t i = 0; i < OG_COUNT(options); i++)
        if (options[i].given && !(options[i].takes & kinds_of(s)))
            return og__fail(err, -EINVAL, "leave it out",
                            kinds_of(s) == LABELS ? "--%s: nodes have several labels (--task %s)"
                            : kinds_of(s) == SHARES
                                ? "--%s: labels are shares of classes (--task %s)"
                            : options[i].takes & VALUES ? "--%s: seeds are edges (--task %s)"
                                                        : "--%s: there are no classes (--task %s)",
                            options[i].name, og__task_words[opt->task]);
    if (weighs_types(s) && og__task(opt->task)->pairs)
        return og__fail(err, -EINVAL, "leave it out", "--type-weights: seeds are edges (--task %s)",
                        og__task_words[opt->task]);
    if (opt->label_smoothing > 0 && opt->loss == OG_LOSS_FOCAL)
        return og__fail(err, -EINVAL, "leave one of the two out",
                        "--label-smoothing: not with --loss focal");
    if (opt->oversample != OG_OVERSAMPLE_NONE && s->config.handover.n > 0)
        return og__fail(err, -EINVAL, "leave it out; choose the seeds instead",
                        "--oversample: not for batches that a program of your own trains on");
    return 0;
}

/* ---- weights ---- */

static int refuse_balance(const struct og_session *s, const char *option, struct og_err *err)
{
    return og__fail(err, -EINVAL, "give --class-weights FILE, a .npy file with a number a class",
                    "--%s balanced: %s has no training nodes with a label", option,
                    s->workload.graph->path);
}

/* Counts training nodes with a class.
 *
 * count[c]: those of class c, or with label c
 * none[c]: those known to be without label c */
static uint64_t count_nodes(const struct og_session *s, uint64_t *count, uint64_t *none)
{
    const struct og_graph *g = s->workload.graph;
    const struct og_split *train = &s->workload.split[OG__TRAIN];
    const size_t n_classes = (size_t)g->n_classes;
    uint64_t all = 0;
    memset(count, 0, n_classes * sizeof(*count));
    memset(none, 0, n_classes * sizeof(*none));
    for (int64_t i = 0; i < train->n; i++) {
        const int32_t label = g->multi_label ? 0 : ((const int32_t *)train->labels)[i];
        const float *row = (const float *)train->labels + (size_t)i * n_classes;
        all += label >= 0;
        for (size_t c = 0; g->multi_label && c < n_classes; c++) {
            count[c] += row[c] > 0.5f;
            none[c] += row[c] <= 0.5f;
        }
        if (!g->multi_label && label >= 0 && label < g->n_classes)
            count[label]++;
    }
    return all;
}

/* n / (C n_c) of classes; of labels how many nodes do not have them for each that has. Those of
 * none weigh 0. */
static int balance(const struct og_session *s, float *weight, struct og_err *err)
{
    const struct og_graph *g = s->workload.graph;
    const struct og_split *train = &s->workload.split[OG__TRAIN];
    const size_t n_classes = (size_t)g->n_classes, bytes = 2 * n_classes * sizeof(uint64_t);
    int absent = 0;
    const bool given = s->workload.seeds.edges || g->split[OG__TRAIN].fd >= 0;
    if (!train->labels || !given || og__labelled(g, train) == 0)
        return refuse_balance(s, "class-weights", err);
    uint64_t *count = og__alloc(s->budget, bytes, part, err);
    if (!count)
        return -ENOMEM;
    const double all = (double)count_nodes(s, count, count + n_classes);
    for (size_t c = 0; c < n_classes; c++) {
        const double n = (double)count[c], none = (double)count[n_classes + c];
        const double balanced = g->multi_label ? none / n : all / ((double)n_classes * n);
        absent += count[c] == 0;
        weight[c] = count[c] > 0 ? (float)balanced : 0;
    }
    og__release(s->budget, count, bytes, part);
    if (absent > 0)
        og__say(&s->config.log, OG__INFO,
                "--class-weights balanced: %d of %zu classes have no training node, and weigh 0",
                absent, n_classes);
    return 0;
}

/* Things of which a file has a number each. One of the n is called `one`, several `all`. */
struct weighed {
    const char *path, *one, *all;
    int64_t n;
};

/* A number of each, in a .npy file. */
static int read_weights(const struct weighed *of, float *weight, struct og_err *err)
{
    const char *path = of->path;
    const int64_t n = of->n;
    struct og_npy a = {.fd = -1};
    double data[512], sum = 0;
    char hint[160];
    int rc;
    snprintf(hint, sizeof(hint),
             "give a number of at least 0 a %s: "
             "numpy.save(\"weights.npy\", weights.astype(\"float32\"))",
             of->one);
    OG_TRY(og__npy_open(&a, path, err));
    if (a.type != OG__NPY_F32 && a.type != OG__NPY_F64 && !og__npy_is_integer(a.type))
        OG_TRY(og__fail(err, -EINVAL, hint, "%s: weights of type %s; numbers expected", path,
                        og__npy_name(a.type)));
    if (a.shape[0] * a.shape[1] != n || (a.shape[1] != 1 && a.shape[0] != 1))
        OG_TRY(og__fail(err, -EINVAL, hint, "%s: %lld numbers, there are %lld %s", path,
                        (long long)(a.shape[0] * a.shape[1]), (long long)n, of->all));
    a.shape[0] = n; /* a row is a column */
    a.shape[1] = a.ndim = 1;
    for (int64_t first = 0, m; first < n; first += m) {
        m = OG_MIN(n - first, (int64_t)OG_COUNT(data));
        OG_TRY(og__npy_read(&a, first, m, data, err));
        for (int64_t i = 0; i < m; i++) {
            const double x = og__number_at(a.type, data, (size_t)i);
            weight[first + i] = (float)x;
            sum += x;
            if (!(x >= 0) || isinf(weight[first + i]))
                OG_TRY(og__fail(err, -EINVAL, hint, "%s: the weight of %s %lld is %g", path,
                                of->one, (long long)(first + i), x));
        }
    }
    if (!(sum > 0))
        OG_TRY(og__fail(err, -EINVAL, hint, "%s: every %s weighs 0", path, of->one));
out:
    og__npy_close(&a);
    return rc;
}

static int weigh_classes(struct og_session *s, struct og_err *err)
{
    struct og_workload *f = &s->workload;
    const size_t bytes = (size_t)f->graph->n_classes * sizeof(float);
    const char *how = s->config.opt.class_weights;
    const struct weighed of = {how, "class", "classes", f->graph->n_classes};
    f->class_weights = og__alloc(s->budget, bytes, part, err);
    if (!f->class_weights)
        return -ENOMEM;
    f->bytes.labels += bytes;
    f->shape.class_weights = f->class_weights;
    if (strcmp(how, "balanced") == 0)
        return balance(s, f->class_weights, err);
    if (access(how, F_OK) < 0)
        return og__fail(err, -ENOENT,
                        "give --class-weights balanced, or a .npy file with a number a class",
                        "--class-weights %s: no such file", how);
    return read_weights(&of, f->class_weights, err);
}

/* Reads a part "TYPE=W" of n bytes; -1: it is none. */
static int read_weight(const char *text, size_t n, size_t *name, double *weight)
{
    char *end;
    *name = 0;
    while (*name < n && text[*name] != '=')
        ++*name;
    if (*name == 0 || *name + 1 >= n)
        return -1;
    *weight = og__plain_number(text + *name + 1, &end);
    return end == text + n && *weight >= 0 && *weight <= FLT_MAX ? 0 : -1;
}

/* Multiplies the weights of training nodes of the type; returns how many there are. */
static int64_t weigh_type(const struct og_session *s, const char *name, size_t n, float by)
{
    const struct og_graph_types *g = s->workload.types;
    const struct og_split *train = &s->workload.split[OG__TRAIN];
    int64_t found = 0;
    for (int64_t i = 0; i < train->n; i++) {
        const char *own = g->type[og__graph_type(g, train->ids[i])].name;
        if (strlen(own) != n || memcmp(own, name, n) != 0)
            continue;
        train->weights[i] *= by;
        found++;
    }
    return found;
}

static int weigh_types(const struct og_session *s, struct og_err *err)
{
    const char *p = s->config.opt.type_weights;
    static const char hint[] =
        "use TYPE=W,TYPE=W: numbers of at least 0, types with training nodes";
    while (*p) {
        const size_t n = strcspn(p, ",");
        size_t name;
        double weight;
        if (read_weight(p, n, &name, &weight) < 0)
            return og__fail(err, -EINVAL, hint, "--type-weights: '%.*s'", (int)n, p);
        if (weigh_type(s, p, name, (float)weight) == 0)
            return og__fail(err, -EINVAL, hint,
                            "--type-weights: %s has no training nodes of '%.*s'",
                            s->workload.graph->path, (int)name, p);
        p += n + (p[n] == ',');
    }
    return 0;
}

static bool has_weight(const struct og_split *split)
{
    bool any = false;
    for (int64_t i = 0; i < split->n; i++)
        any |= split->weights[i] > 0;
    return any;
}

/* Those of the training split alone: evaluation weighs all alike. */
static int weigh_seeds(struct og_session *s, struct og_err *err)
{
    struct og_split *train = &s->workload.split[OG__TRAIN];
    const bool edges = s->workload.seeds.edges;
    const struct weighed of = {s->config.opt.seed_weights,
                               edges ? "training edge" : "training node",
                               edges ? "training edges" : "training nodes", train->n};
    const size_t bytes = (size_t)train->n * sizeof(*train->weights);
    train->weights = og__alloc(s->budget, bytes, part, err);
    if (!train->weights)
        return -ENOMEM;
    s->workload.bytes.labels += bytes;
    s->workload.shape.weighs_seeds = true;
    for (int64_t i = 0; i < train->n; i++)
        train->weights[i] = 1;
    if (of.path)
        OG_DO(read_weights(&of, train->weights, err));
    if (weighs_types(s))
        OG_DO(weigh_types(s, err));
    if (!has_weight(train))
        return og__fail(err, -EINVAL, "give one a larger weight", "every %s weighs 0", of.one);
    return 0;
}

/* ---- seeds ---- */

static int balance_seeds(struct og_session *s, struct og_err *err)
{
    struct og_workload *f = &s->workload;
    const struct og_split *train = &f->split[OG__TRAIN];
    if (!train->labels || og__labelled(f->graph, train) == 0)
        return refuse_balance(s, "oversample", err);
    OG_DO(og__balanced_open(&f->balanced, train->labels, (uint32_t)train->n,
                            (uint32_t)f->graph->n_classes, (uint64_t)s->config.opt.seed, s->budget,
                            err));
    f->bytes.seeds += f->balanced.bytes;
    f->seeds.balanced = &f->balanced;
    f->seeds.repeats = true;
    f->shape.weighs_seeds = s->config.want & OG__WANT_TRAINING;
    return 0;
}

bool og__session_oversamples(const struct og_session *s)
{
    const bool draws = !(s->config.want & OG__WANT_MODEL) || s->config.want & OG__WANT_TRAINING;
    return draws && s->config.opt.oversample != OG_OVERSAMPLE_NONE;
}

int og__session_balance(struct og_session *s, struct og_err *err)
{
    const struct og_options *opt = &s->config.opt;
    const bool judges = s->config.want & OG__WANT_MODEL && !(s->config.want & OG__WANT_EVERY);
    if (judges && opt->class_weights)
        OG_DO(weigh_classes(s, err));
    if (og__session_oversamples(s))
        OG_DO(balance_seeds(s, err));
    if (s->config.want & OG__WANT_TRAINING && (opt->seed_weights || weighs_types(s)))
        OG_DO(weigh_seeds(s, err));
    return 0;
}

void og__session_drop_classes(struct og_session *s)
{
    struct og_workload *f = &s->workload;
    if (f->class_weights)
        og__release(s->budget, f->class_weights, (size_t)f->graph->n_classes * sizeof(float), part);
    og__release(s->budget, f->split[OG__TRAIN].weights,
                (size_t)f->split[OG__TRAIN].n * sizeof(float), part);
    og__balanced_close(&f->balanced);
}
