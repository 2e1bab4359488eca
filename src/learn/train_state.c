#include "learn/train_state.h"

#include <math.h>
#include <string.h>

/* The numbers of og_metrics, in one order for writing and reading. Later versions append. */
struct metrics_fields {
    double *sum[6];
    uint64_t *count[12];
    double *weight;
    uint64_t *later[3];
    double *ndcg;
};

static struct metrics_fields fields_of(struct og_metrics *m)
{
    return (struct metrics_fields){{&m->loss_sum, &m->reciprocal_ranks, &m->absolute, &m->squared,
                                    &m->value_sum, &m->value_squares},
                                   {&m->counted, &m->correct, &m->true_positive, &m->false_positive,
                                    &m->false_negative, &m->compared, &m->twice_ordered, &m->ranked,
                                    &m->values, &m->hits[0], &m->hits[1], &m->hits[2]},
                                   &m->weight,
                                   {&m->hits[3], &m->hits[4], &m->hits[5]},
                                   &m->ndcg};
}

static json_t *metrics_json(const struct og_metrics *m)
{
    struct og_metrics copy = *m;
    struct metrics_fields f = fields_of(&copy);
    json_t *list = json_array();
    for (size_t i = 0; i < OG_COUNT(f.sum); i++)
        list = og__json_append(list, og__json_real(*f.sum[i]));
    for (size_t i = 0; i < OG_COUNT(f.count); i++)
        list = og__json_append(list, json_integer((json_int_t)*f.count[i]));
    list = og__json_append(list, og__json_real(*f.weight));
    for (size_t i = 0; i < OG_COUNT(f.later); i++)
        list = og__json_append(list, json_integer((json_int_t)*f.later[i]));
    return og__json_append(list, og__json_real(*f.ndcg));
}

static void metrics_parse(struct og_metrics *m, const json_t *list)
{
    struct metrics_fields f = fields_of(m);
    for (size_t i = 0; i < OG_COUNT(f.sum); i++) {
        const json_t *sum = json_array_get(list, i);
        *f.sum[i] = json_is_null(sum) ? NAN : json_number_value(sum);
    }
    for (size_t i = 0; i < OG_COUNT(f.count); i++)
        *f.count[i] = (uint64_t)json_integer_value(json_array_get(list, OG_COUNT(f.sum) + i));
    const json_t *weight = json_array_get(list, OG_COUNT(f.sum) + OG_COUNT(f.count));
    if (weight)
        *f.weight = json_number_value(weight);
    else /* a version without weights wrote it */
        *f.weight = (double)(m->values ? m->values : m->counted);
    const size_t later = OG_COUNT(f.sum) + OG_COUNT(f.count) + 1;
    for (size_t i = 0; i < OG_COUNT(f.later); i++)
        *f.later[i] = (uint64_t)json_integer_value(json_array_get(list, later + i));
    *f.ndcg = json_number_value(json_array_get(list, later + OG_COUNT(f.later)));
}

/* Where the run stands, in words that do not depend on --epochs: a run may be made longer. */
static json_t *position_json(const struct og_schedule *schedule, uint64_t item)
{
    if (item >= og__schedule_items(schedule))
        return json_pack("[i, i, i]", schedule->epochs + 1, (int)OG__TRAIN, 0);
    struct og_descriptor descriptor = og__schedule_at(schedule, item);
    return json_pack("[I, i, I]", (json_int_t)descriptor.epoch, (int)descriptor.split,
                     (json_int_t)descriptor.batch);
}

static int check_position(const struct og_schedule *schedule, const json_t *state, uint64_t item,
                          const char *path, struct og_err *err)
{
    json_t *here = position_json(schedule, item);
    if (!here)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    bool same = json_equal(here, json_object_get(state, "position"));
    json_decref(here);
    if (same && item <= og__schedule_items(schedule))
        return 0;
    return og__fail(err, -EINVAL, "give --epochs as at the start of the run",
                    "%s: with --epochs %d the run would go on at another batch than it stopped at",
                    path, schedule->epochs);
}

json_t *og__train_state_best(const struct og_train_state *s)
{
    return s->best_epoch ? json_array_get(s->epochs, s->best_epoch - 1) : NULL;
}

char *og__train_state_text(const struct og_train_state *s, const struct og_schedule *schedule)
{
    json_t *counters =
        og__tier_counters_json(&s->tiers, og__epoch_counters_json(&s->counters, json_object()));
    json_t *state =
        json_pack("{s:I s:o s:I s:f s:o s:o s:o s:i s:f s:O}", "next_item",
                  (json_int_t)s->next_item, "position", position_json(schedule, s->next_item),
                  "steps", (json_int_t)s->steps, "terms", s->weight, "counters", counters, "train",
                  metrics_json(&s->train), "valid", metrics_json(&s->valid), "best_epoch",
                  (int)s->best_epoch, "seconds", s->seconds, "epochs", s->epochs);
    char *text = og__json_print(state, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(state);
    return text;
}

/* One row for each epoch that is over, and the best among them. */
static bool rows_fit(const struct og_schedule *schedule, const json_t *state, uint64_t item)
{
    const json_t *rows = json_object_get(state, "epochs");
    json_int_t best = json_integer_value(json_object_get(state, "best_epoch"));
    const bool ended = item >= og__schedule_items(schedule);
    size_t over = ended ? (size_t)schedule->epochs : og__schedule_at(schedule, item).epoch - 1;
    bool fit =
        json_is_array(rows) && json_array_size(rows) == over && best >= 0 && (size_t)best <= over;
    for (size_t i = 0; fit && i < over; i++)
        fit = json_is_object(json_array_get(rows, i));
    return fit;
}

static void take(struct og_train_state *s, const json_t *state)
{
    og__epoch_counters_parse(&s->counters, json_object_get(state, "counters"));
    og__tier_counters_parse(&s->tiers, json_object_get(state, "counters"));
    metrics_parse(&s->train, json_object_get(state, "train"));
    metrics_parse(&s->valid, json_object_get(state, "valid"));
    s->next_item = (uint64_t)json_integer_value(json_object_get(state, "next_item"));
    s->steps = (uint64_t)json_integer_value(json_object_get(state, "steps"));
    s->weight = json_number_value(json_object_get(state, "terms"));
    s->best_epoch = (uint32_t)json_integer_value(json_object_get(state, "best_epoch"));
    s->seconds = json_number_value(json_object_get(state, "seconds"));
    json_decref(s->epochs);
    s->epochs = json_incref(json_object_get(state, "epochs"));
}

int og__train_state_parse(struct og_train_state *s, const struct og_schedule *schedule,
                          const char *text, const char *path, struct og_err *err)
{
    static const char hint[] = "remove it to start a new run";
    json_t *state = NULL;
    int rc = text ? og__json_parse(&state, text, strlen(text), path, hint, err) : 0;
    if (rc < 0)
        return rc;
    uint64_t item = (uint64_t)json_integer_value(json_object_get(state, "next_item"));
    if (!json_is_array(json_object_get(state, "epochs")))
        OG_TRY(og__fail(err, -EINVAL, hint, "%s: not a resume file", path));
    OG_TRY(check_position(schedule, state, item, path, err));
    if (!rows_fit(schedule, state, item))
        OG_TRY(og__fail(err, -EINVAL, hint, "%s: its list of epochs does not match its position",
                        path));
    take(s, state);
out:
    json_decref(state);
    return rc;
}
