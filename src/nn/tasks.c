#include "nn/tasks.h"

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
    const struct og_task *task = og__task(c->task);
    return c->multi_label && task->of_labels ? task->of_labels : task;
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

/* ==== losses ==== */

const struct og_loss_ops *og__loss(int kind)
{
    return losses[kind];
}

static bool takes(int task, int loss)
{
    return loss > OG_LOSS_AUTO && loss < (int)OG_COUNT(losses) && og__loss(loss)->tasks >> task & 1;
}

int og__loss_of(const struct og_model_config *c)
{
    return takes(c->task, c->loss) ? c->loss : og__task(c->task)->loss;
}

/* "mse or mae" */
static void list_losses(int task, char *out, size_t size)
{
    size_t used = 0;
    *out = 0;
    for (int loss = OG_LOSS_AUTO + 1; loss < (int)OG_COUNT(losses) && used < size; loss++)
        if (takes(task, loss))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " or " : "",
                                     og__loss_words[loss]);
}

int og__loss_settle(int task, int *loss, struct og_err *err)
{
    char words[96], hint[160];
    if (*loss == OG_LOSS_AUTO)
        *loss = og__task(task)->loss;
    if (*loss == og__task(task)->loss || takes(task, *loss))
        return 0;
    list_losses(task, words, sizeof(words));
    if (words[0])
        snprintf(hint, sizeof(hint), "%s takes %s", og__task_words[task], words);
    else
        snprintf(hint, sizeof(hint), "leave it out: %s has one loss alone", og__task_words[task]);
    return og__fail(err, -EINVAL, hint, "--loss %s: the task %s has no such loss",
                    og__loss_words[*loss], og__task_words[task]);
}
