#include "learn/scores.h"

#include <math.h>
#include <string.h>

static const char part[] = "labels";
enum { PIECE = 4096 }; /* numbers of the model that are looked at together */

/* ==== memory ==== */

static size_t row_width(const struct og_scores *c)
{
    return (size_t)og__score_width(c->config);
}

/* One block, so that counts are one array. */
static size_t count_bytes(const struct og_pass_sizes *s)
{
    return s->classes * sizeof(struct og_class_counts) +
           (size_t)s->confused * s->confused * sizeof(uint64_t);
}

int og__scores_open(struct og_scores *c, const struct og_model_config *config,
                    struct og_model *model, size_t n, struct og_budget *b, struct og_err *err)
{
    const struct og_pass_sizes s = og__pass_sizes(config, n);
    *c = (struct og_scores){.config = config, .model = model, .budget = b, .sizes = s};
    const size_t bytes = og__pass_bytes(&s);
    if (bytes == 0)
        return 0;
    char *at = og__alloc(b, bytes, part, err);
    if (!at)
        return -ENOMEM;
    c->count = (struct og_class_counts *)(void *)at;
    c->confusion = (uint64_t *)(void *)(at + s.classes * sizeof(*c->count));
    c->list = (struct og_score_list *)(void *)(at + count_bytes(&s));
    c->value = (float *)(void *)(c->list + s.lists);
    c->score = c->value + s.lists * s.most;
    c->row = c->score + s.lists;
    c->high = (int8_t *)(c->row + s.wide);
    og__scores_clear(c);
    return 0;
}

void og__scores_close(struct og_scores *c)
{
    og__release(c->budget, c->count, og__pass_bytes(&c->sizes), part);
    *c = (struct og_scores){0};
}

void og__scores_clear(struct og_scores *c)
{
    if (c->count)
        memset(c->count, 0, count_bytes(&c->sizes));
    for (uint32_t l = 0; l < c->sizes.lists; l++)
        c->list[l] = (struct og_score_list){0};
}

bool og__scores_keep(const struct og_scores *c)
{
    return c->count;
}

uint64_t *og__scores_counts(const struct og_scores *c, size_t *n)
{
    *n = count_bytes(&c->sizes) / sizeof(uint64_t);
    return (uint64_t *)c->count;
}

/* ==== a pass ==== */

static void put(struct og_scores *c, uint32_t l, float score, bool high)
{
    float *value = c->value + l * c->sizes.most;
    struct og_score_list *list = &c->list[l];
    if (high)
        value[list->n_high++] = score;
    else
        value[c->sizes.most - ++list->n_low] = score;
}

static void count_class(struct og_scores *c, const float *made, int32_t label)
{
    const uint32_t n = c->sizes.classes;
    uint32_t best = 0;
    if (label < 0 || (uint32_t)label >= n)
        return;
    for (uint32_t k = 1; k < n; k++)
        best = made[k] > made[best] ? k : best;
    c->count[label].there++;
    c->count[best].predicted++;
    c->count[label].right += best == (uint32_t)label;
    if (c->sizes.confused)
        c->confusion[(size_t)label * n + best]++;
}

static void count_labels(struct og_scores *c, const float *made, const float *label)
{
    for (uint32_t k = 0; k < c->sizes.classes; k++) {
        const bool there = label[k] > 0.5f, predicted = made[k] > 0;
        if (isnan(label[k]))
            continue;
        c->count[k].known++;
        c->count[k].there += there;
        c->count[k].predicted += predicted;
        c->count[k].right += there && predicted;
    }
}

static void put_item(struct og_scores *c, const struct og_task *task, const float *made, size_t i,
                     const void *targets)
{
    if (c->sizes.lists)
        task->score(c->config, targets, i, made, c->score, c->high);
    for (uint32_t l = 0; l < c->sizes.lists; l++)
        if (c->high[l] >= 0)
            put(c, l, c->score[l], c->high[l]);
    if (c->sizes.classes && task->targets == OG__OF_CLASSES)
        count_class(c, made, ((const int32_t *)targets)[i]);
    else if (c->sizes.classes)
        count_labels(c, made, (const float *)targets + i * row_width(c));
}

int og__scores_add(struct og_scores *c, uint32_t n, const void *targets, struct og_err *err)
{
    const struct og_task *task = og__task_of(c->config);
    const struct og_pairs *pairs = targets;
    const bool of_pairs = og__of_pairs(c->config);
    const size_t width = row_width(c);
    const size_t all = of_pairs ? pairs->n_edges + pairs->n_negatives + pairs->n_given : n;
    const void *of_items = og__labels_pairs(c->config) ? pairs->targets : targets;
    float piece[PIECE], *made = c->sizes.wide ? c->row : piece;
    if (!og__scores_keep(c))
        return 0;
    const float *from = of_pairs ? og__model_scores(c->model) : og__model_logits(c->model);
    for (size_t first = 0, m; first < all; first += m) {
        m = OG_MIN(all - first, OG_MAX(PIECE / width, (size_t)1));
        OG_DO(
            og__model_fetch(c->model, made, from + first * width, m * width * sizeof(*made), err));
        for (size_t i = 0; i < m; i++)
            put_item(c, task, made + i * width, first + i, of_items);
    }
    return 0;
}

void og__scores_put(struct og_scores *c, const float *made, uint32_t n, const void *targets)
{
    const struct og_task *task = og__task_of(c->config);
    for (size_t i = 0; og__scores_keep(c) && i < n; i++)
        put_item(c, task, made + i * row_width(c), i, targets);
}

/* ==== metrics of the pass ==== */

static float *low_of(const struct og_scores *c, uint32_t l)
{
    return c->value + (l + 1) * c->sizes.most - c->list[l].n_low;
}

/* Mean of those that are defined; NAN if none is. */
struct mean {
    double sum, n;
};

static void add(struct mean *m, double x, double weight)
{
    if (isnan(x))
        return;
    m->sum += weight * x;
    m->n += weight;
}

static double mean_of(const struct mean *m)
{
    return m->n > 0 ? m->sum / m->n : NAN;
}

static void swap(float *a, float *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float x = a[i];
        a[i] = b[i];
        b[i] = x;
    }
}

/* Ranks the scores of all lists together, which are moved: high ones before low ones. */
static struct og_ranking rank_pool(struct og_scores *c)
{
    size_t high = 0, low = 0;
    for (uint32_t l = 0; l < c->sizes.lists; l++) {
        const struct og_score_list *list = &c->list[l];
        float *to = c->value + high + low;
        const size_t k = OG_MIN(low, list->n_high);
        memmove(to, c->value + l * c->sizes.most, list->n_high * sizeof(*to));
        memmove(to + list->n_high, low_of(c, l), list->n_low * sizeof(*to));
        swap(c->value + high, to + list->n_high - k, k);
        high += list->n_high;
        low += list->n_low;
    }
    return og__rank_scores(c->value, high, c->value + high, low);
}

static void rank_lists(struct og_scores *c)
{
    struct mean auc = {0}, ap = {0};
    struct og_pass_metrics *pass = &c->pass;
    for (uint32_t l = 0; l < c->sizes.lists; l++) {
        struct og_score_list *list = &c->list[l];
        list->ranking =
            og__rank_scores(c->value + l * c->sizes.most, list->n_high, low_of(c, l), list->n_low);
        add(&auc, list->ranking.auc, 1);
        add(&ap, list->ranking.ap, 1);
    }
    pass->auc = pass->macro_auc = mean_of(&auc);
    pass->ap = pass->macro_ap = mean_of(&ap);
    pass->f1 = c->sizes.lists ? c->list->ranking.f1 : NAN;
    if (!og__task_of(c->config)->pools || c->sizes.lists == 0)
        return;
    const struct og_ranking all = rank_pool(c);
    pass->auc = all.auc;
    pass->ap = all.ap;
}

/* Ranks edges among the negatives that their split gives for all of them. */
static void rank_given(struct og_scores *c)
{
    const uint32_t given = 1;
    c->pass.ranked = c->config->n_given > 0 && c->list[given].n_low > 0;
    if (c->pass.ranked)
        c->pass.given =
            og__rank_among(c->value, c->list->n_high, low_of(c, given), c->list[given].n_low);
}

/* 0 of 0 is 0. */
static double ratio(uint64_t some, uint64_t of)
{
    return of ? (double)some / (double)of : 0;
}

static double f1_of(const struct og_class_counts *k)
{
    return ratio(2 * k->right, k->there + k->predicted);
}

/* As scikit-learn: over classes that are there or predicted; over labels that are known. */
static bool is_counted(const struct og_scores *c, const struct og_class_counts *k)
{
    return og__task_of(c->config)->targets == OG__OF_CLASSES ? k->there + k->predicted > 0
                                                             : k->known > 0;
}

static void average(struct og_scores *c)
{
    struct mean macro = {0}, weighted = {0};
    for (uint32_t k = 0; k < c->sizes.classes; k++)
        if (is_counted(c, &c->count[k])) {
            add(&macro, f1_of(&c->count[k]), 1);
            add(&weighted, f1_of(&c->count[k]), (double)c->count[k].there);
        }
    c->pass.macro_f1 = macro.n > 0 ? mean_of(&macro) : 0;
    c->pass.weighted_f1 = weighted.n > 0 ? mean_of(&weighted) : 0;
}

void og__scores_rank(struct og_scores *c)
{
    if (!og__scores_keep(c))
        return;
    rank_lists(c);
    rank_given(c);
    average(c);
}

/* ==== results ==== */

double og__scores_chief(const struct og_scores *c, const struct og_metrics *sum)
{
    return og__task_of(c->config)->chief(sum, &c->pass);
}

double og__scores_figure(const struct og_scores *c, const struct og_metrics *sum, int kind)
{
    const struct og_figure *f = og__task_of(c->config)->figures;
    if (kind == OG_BEST_LOSS)
        return og__metrics_loss(sum);
    while (f->kind != kind)
        f++;
    return f->of(sum, &c->pass);
}

static json_t *with(json_t *object, const char *key, double value)
{
    return og__json_with(object, key, og__json_real(value));
}

json_t *og__scores_json(const struct og_scores *c, const struct og_metrics *sum)
{
    json_t *object = with(json_object(), "loss", og__metrics_loss(sum));
    for (const struct og_figure *f = og__task_of(c->config)->figures; f->kind != OG_BEST_AUTO; f++)
        if (og__figure_there(c->config, f))
            object = with(object, og__best_words[f->kind], f->of(sum, &c->pass));
    return object;
}

json_t *og__scores_classes_json(const struct og_scores *c, const json_t *meta)
{
    const json_t *names =
        json_object_get(meta, og__of_pairs(c->config) ? "edge_class_names" : "class_names");
    if (c->sizes.classes == 0)
        return json_null();
    json_t *rows = json_array();
    for (uint32_t k = 0; k < c->sizes.classes; k++) {
        const struct og_class_counts *n = &c->count[k];
        json_t *name = json_array_get(names, k);
        json_t *row = json_pack("{s:i}", "class", (int)k);
        if (name)
            row = og__json_with(row, "name", json_incref(name));
        row = og__json_with(row, "support", json_integer((json_int_t)n->there));
        row = og__json_with(row, "predicted", json_integer((json_int_t)n->predicted));
        row = with(row, "precision", ratio(n->right, n->predicted));
        row = with(row, "recall", ratio(n->right, n->there));
        row = with(row, "f1", f1_of(n));
        if (c->sizes.lists == c->sizes.classes) {
            row = with(row, "auc", c->list[k].ranking.auc);
            row = with(row, "ap", c->list[k].ranking.ap);
        }
        rows = og__json_append(rows, row);
    }
    return rows;
}

json_t *og__scores_confusion_json(const struct og_scores *c)
{
    const uint32_t n = c->sizes.confused;
    if (n == 0)
        return json_null();
    json_t *rows = json_array();
    for (uint32_t i = 0; i < n; i++) {
        json_t *row = json_array();
        for (uint32_t j = 0; j < n; j++)
            row = og__json_append(row, json_integer((json_int_t)c->confusion[(size_t)i * n + j]));
        rows = og__json_append(rows, row);
    }
    return rows;
}
