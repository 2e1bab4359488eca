/* Plan and counters of a loader, as text. */
#include "base/json.h"
#include "loader/loader_text.h"
#include "report/json.h"
#include "run/plan_json.h"

#include <stdlib.h>
#include <string.h>

/* ---- the plan ---- */

int og__loader_plan_text(struct og_loader *l, char **out, struct og_err *err)
{
    return og__json_deliver(og__session_plan_json(l->s), NULL, out, err);
}

/* Lookahead policies can predict an epoch's reads after planning batches. With topology on disk
 * they are known after sampling a group. */
void og__loader_note_plan(struct og_loader *l)
{
    char *text = NULL;
    if (l->predicted || !l->s->predicted.known || l->s->predicted.bound)
        return;
    l->predicted = true;
    if (og__loader_plan_text(l, &text, NULL) < 0)
        return;
    pthread_mutex_lock(&l->buffer_pool->lock);
    char *before = l->plan;
    l->plan = text;
    pthread_mutex_unlock(&l->buffer_pool->lock);
    free(before);
}

static char *copy_plan(struct og_loader *l)
{
    pthread_mutex_lock(&l->buffer_pool->lock);
    char *text = strdup(l->plan);
    pthread_mutex_unlock(&l->buffer_pool->lock);
    return text;
}

int og_loader_plan(struct og_loader *l, char **out, struct og_err *err)
{
    *out = NULL;
    OG_DO(og__loader_ours(l, err));
    *out = copy_plan(l);
    return *out ? 0 : og__fail_errno(err, -ENOMEM, NULL, "plan");
}

/* ---- counters ---- */

static size_t row_of(const struct og_loader *l, uint32_t epoch)
{
    size_t at = l->n_epochs; /* from the end: usually the last */
    while (at > 0 && l->epochs[at - 1].epoch != epoch)
        at--;
    return at > 0 ? at - 1 : l->n_epochs;
}

/* The latest epoch is the last row, in which batches are counted. */
int og__loader_begin_sums(struct og_loader *l, uint32_t epoch, struct og_err *err)
{
    const size_t at = row_of(l, epoch);
    if (at == l->n_epochs) {
        struct og_epoch_sums *more = realloc(l->epochs, (l->n_epochs + 1) * sizeof(*more));
        if (!more)
            return og__fail_errno(err, -ENOMEM, NULL, "counters");
        l->epochs = more;
        l->n_epochs++;
    }
    const size_t last = l->n_epochs - 1;
    memmove(&l->epochs[at], &l->epochs[at + 1], (last - at) * sizeof(*l->epochs));
    l->epochs[last] = (struct og_epoch_sums){.epoch = epoch};
    return 0;
}

static json_t *epochs_json(const struct og_loader *l)
{
    json_t *list = json_array();
    for (size_t i = 0; i < l->n_epochs; i++) {
        const struct og_epoch_sums *e = &l->epochs[i];
        json_t *row = json_pack("{s:I s:I}", "epoch", (json_int_t)e->epoch, "batches",
                                (json_int_t)e->batches);
        list = og__json_append(list, og__epoch_counters_json(&e->counters, row));
    }
    return list;
}

int og_loader_metrics(struct og_loader *l, char **out, struct og_err *err)
{
    *out = NULL;
    OG_DO(og__loader_ours(l, err));
    const struct og_session *s = l->s;
    pthread_mutex_lock(&l->buffer_pool->lock);
    json_t *epochs = epochs_json(l);
    pthread_mutex_unlock(&l->buffer_pool->lock);
    json_t *root = json_pack(
        "{s:o s:o s:I s:I s:I}", "prepare", og__prepare_counters_json(&s->prepare), "epochs",
        epochs, "peak_rss_bytes", (json_int_t)og__session_peak_rss(s), "baseline_rss_bytes",
        (json_int_t)s->baseline_rss, "memory_budget_bytes", (json_int_t)s->memory.limit);
    return og__json_deliver(root, NULL, out, err);
}
