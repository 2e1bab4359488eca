#include "nn/tasks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define POINTER(NAME, name)      [OG_TASK_##NAME] = &og__task_##name,
#define LOSS_POINTER(NAME, name) [OG_LOSS_##NAME] = &og__loss_##name,
#define WORD(NAME, name)         [OG_TASK_##NAME] = #name,
#define LOSS_WORD(NAME, name)    [OG_LOSS_##NAME] = #name,
static const struct og_task *const tasks[] = {OG__TASKS(POINTER)};
static const struct og_loss_ops *const losses[] = {OG__LOSSES(LOSS_POINTER)};
const char *const og__task_words[] = {OG__TASKS(WORD) NULL};
const char *const og__loss_words[] = {[OG_LOSS_AUTO] = "auto", OG__LOSSES(LOSS_WORD) NULL};
const char *const og__best_words[] = {[OG_BEST_AUTO] = "auto",
                                      [OG_BEST_LOSS] = "loss",
                                      [OG_BEST_ACC] = "acc",
                                      [OG_BEST_F1] = "f1",
                                      [OG_BEST_MACRO_F1] = "macro_f1",
                                      [OG_BEST_MICRO_F1] = "micro_f1",
                                      [OG_BEST_WEIGHTED_F1] = "weighted_f1",
                                      [OG_BEST_AUC] = "auc",
                                      [OG_BEST_AP] = "ap",
                                      [OG_BEST_MACRO_AUC] = "macro_auc",
                                      [OG_BEST_MACRO_AP] = "macro_ap",
                                      [OG_BEST_MRR] = "mrr",
                                      [OG_BEST_HITS_1] = "hits@1",
                                      [OG_BEST_HITS_3] = "hits@3",
                                      [OG_BEST_HITS_10] = "hits@10",
                                      [OG_BEST_HITS_20] = "hits@20",
                                      [OG_BEST_HITS_50] = "hits@50",
                                      [OG_BEST_HITS_100] = "hits@100",
                                      [OG_BEST_MSE] = "mse",
                                      [OG_BEST_MAE] = "mae",
                                      [OG_BEST_R2] = "r2",
                                      [OG_BEST_NDCG_10] = "ndcg@10",
                                      NULL};

/* ==== tasks ==== */

bool og__is_task(int kind)
{
    return kind >= 0 && kind < (int)OG_COUNT(tasks);
}

const struct og_task *og__task(int kind)
{
    return tasks[kind];
}

const struct og_task *og__task_of(const struct og_model_config *c)
{
    const struct og_task *task = og__task(c->task)->as ? og__task(c->task)->as : og__task(c->task);
    if (c->shares && task->of_shares)
        return task->of_shares;
    return c->multi_label && task->of_labels ? task->of_labels : task;
}

enum og__targets og__targets_of_task(int kind)
{
    return og__task(kind)->as ? og__task(kind)->as->targets : og__task(kind)->targets;
}

int og__task_by_labels(int kind, bool values)
{
    return values ? og__task(kind)->of_values : kind;
}

bool og__task_takes(int kind, const char *option)
{
    for (const char *const *p = og__task(kind)->parameters; p && *p; p++)
        if (strcmp(*p, option) == 0)
            return true;
    return false;
}

/* ==== the best epoch ==== */

struct og_pass_sizes og__pass_sizes(const struct og_model_config *c, size_t n)
{
    const struct og_task *task = og__task_of(c);
    const bool counts = task->counts && c->n_classes <= OG__MOST_COUNTED;
    struct og_pass_sizes s = {.lists = task->lists ? task->lists(c) : 0,
                              .most = n * (task->targets == OG__OF_PAIRS ? 2 : 1),
                              .classes = counts ? (uint32_t)c->n_classes : 0};
    if (counts && task->targets == OG__OF_CLASSES && c->n_classes <= OG__MOST_CONFUSED)
        s.confused = s.classes;
    if (s.lists > OG__MOST_COUNTED)
        s.wide = s.lists;
    s.most = OG_MAX(s.most, c->n_given);
    return s;
}

size_t og__pass_bytes(const struct og_pass_sizes *s)
{
    const size_t score = sizeof(float) + sizeof(int8_t); /* of one item, and its class */
    return s->lists * (s->most * sizeof(float) + sizeof(struct og_score_list) + score) +
           s->classes * sizeof(struct og_class_counts) +
           (size_t)s->confused * s->confused * sizeof(uint64_t) + s->wide * sizeof(float);
}

bool og__figure_there(const struct og_model_config *c, const struct og_figure *f)
{
    const struct og_pass_sizes s = og__pass_sizes(c, 1);
    switch (f->from) {
    case OG__FROM_SCORES:
        return s.lists > 0;
    case OG__FROM_COUNTS:
        return s.classes > 0;
    case OG__FROM_TWO_CLASSES:
        return c->n_classes == 2;
    case OG__FROM_SUMS:
        break;
    }
    return true;
}

static bool measures(const struct og_model_config *c, int kind)
{
    const struct og_figure *f = og__task_of(c)->figures;
    while (f->kind != OG_BEST_AUTO && f->kind != kind)
        f++;
    return kind == OG_BEST_LOSS || (f->kind != OG_BEST_AUTO && og__figure_there(c, f));
}

void og__keep_class_scores(struct og_model_config *c, int best_by, size_t n)
{
    const bool named = best_by == OG_BEST_AUC || best_by == OG_BEST_AP;
    c->class_scores = named || n * (uint64_t)c->n_classes <= OG__FEW_SCORES;
}

int og__best_of(const struct og_model_config *c, int best_by)
{
    if (best_by == OG_BEST_AUTO)
        return og__task_of(c)->best;
    const bool named_so = best_by == OG_BEST_F1 && !measures(c, OG_BEST_F1);
    return named_so && measures(c, OG_BEST_MICRO_F1) ? OG_BEST_MICRO_F1 : best_by;
}

int og__best_check(const struct og_model_config *c, int best_by, struct og_err *err)
{
    char hint[192] = "validation has";
    size_t used = strlen(hint);
    if (measures(c, og__best_of(c, best_by)))
        return 0;
    for (int kind = OG_BEST_LOSS; og__best_words[kind] && used < sizeof(hint); kind++)
        if (measures(c, kind))
            used += (size_t)snprintf(hint + used, sizeof(hint) - used, "%s %s",
                                     kind == OG_BEST_LOSS ? "" : ",", og__best_words[kind]);
    return og__fail(err, -EINVAL, hint, "--best-by %s: not measured for this task and its labels",
                    og__best_words[best_by]);
}

static bool is_less(int kind)
{
    return kind == OG_BEST_LOSS || kind == OG_BEST_MSE || kind == OG_BEST_MAE;
}

double og__best_worth(int kind, double value)
{
    if (isnan(value))
        return -INFINITY;
    return is_less(kind) ? -value : value;
}

/* ==== losses ==== */

const struct og_loss_ops *og__loss(int kind)
{
    return losses[kind];
}

static bool takes(int task, bool shares, int loss)
{
    return loss > OG_LOSS_AUTO && loss < (int)OG_COUNT(losses) &&
           og__loss(loss)->tasks >> task & 1 && (shares || !og__loss(loss)->rows);
}

/* The decoder's if it has one; only links have a decoder. */
static int default_loss(int task, bool shares, int decoder)
{
    const int loss = og__scoring(decoder)->loss;
    if (takes(task, shares, loss))
        return loss;
    return shares && og__task(task)->of_shares ? og__task(task)->of_shares->loss
                                               : og__task(task)->loss;
}

int og__loss_of(const struct og_model_config *c)
{
    return takes(c->task, c->shares, c->loss) ? c->loss
                                              : default_loss(c->task, c->shares, c->decoder);
}

const char *og__loss_colon(int kind, int place)
{
    const char *const *name = kind > OG_LOSS_AUTO ? og__loss(kind)->parameters : NULL;
    for (; name && *name && place > 0; place--)
        name++;
    return name ? *name : NULL;
}

bool og__loss_takes(int kind, const char *option)
{
    const char *name;
    for (int i = 0; (name = og__loss_colon(kind, i)); i++)
        if (strcmp(name, option) == 0)
            return true;
    return false;
}

/* "mse or mae" */
static void list_losses(int task, bool shares, char *out, size_t size)
{
    size_t used = 0;
    *out = 0;
    for (int loss = OG_LOSS_AUTO + 1; loss < (int)OG_COUNT(losses) && used < size; loss++)
        if (takes(task, shares, loss))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " or " : "",
                                     og__loss_words[loss]);
}

int og__loss_resolve(int task, bool shares, int decoder, int *loss, struct og_err *err)
{
    char words[96], hint[160];
    if (*loss == OG_LOSS_AUTO)
        *loss = default_loss(task, shares, decoder);
    if (*loss == og__task(task)->loss || takes(task, shares, *loss))
        return 0;
    if (takes(task, true, *loss))
        return og__fail(err, -EINVAL,
                        "import them as shares: \"task\": \"node shares\" in the source's "
                        "meta.json",
                        "--loss %s: labels are values, not shares", og__loss_words[*loss]);
    list_losses(task, shares, words, sizeof(words));
    if (words[0] && og__task(task)->loss == OG_LOSS_AUTO)
        snprintf(hint, sizeof(hint), "leave out --loss, or give %s", words);
    else if (words[0])
        snprintf(hint, sizeof(hint), "%s takes %s", og__task_words[task], words);
    else
        snprintf(hint, sizeof(hint), "leave out --loss: task %s has one loss",
                 og__task_words[task]);
    return og__fail(err, -EINVAL, hint, "--loss %s: the task %s has no such loss",
                    og__loss_words[*loss], og__task_words[task]);
}
