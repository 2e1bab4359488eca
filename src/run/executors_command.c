/* og_simulate_executors: what splits of executors into samplers and trainers would take, by the
 * event model of plan/executors.h. */
#include "base/plain.h"
#include "base/sized.h"
#include "plan/executors.h"

#include "choose/measure.h"
#include "options/options.h"
#include "report/json.h"
#include "session/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SPLITS = 256 };

struct splits {
    struct {
        int samplers, trainers;
    } split[MOST_SPLITS];
    int n;
};

struct requested {
    struct splits splits;
    struct og_executor_times times; /* of one executor */
    bool measured;
    uint64_t tickets, queue;
    struct og_options opt;
    char *dataset; /* its name, or NULL */
};

/* ---- options ---- */

static int add_split(struct splits *s, int samplers, int trainers, struct og_err *err)
{
    if (s->n == MOST_SPLITS || samplers + trainers > OG__MOST_EXECUTORS)
        return og__fail(err, -EINVAL, NULL, "executors: at most %d splits, of at most %d executors",
                        MOST_SPLITS, OG__MOST_EXECUTORS);
    s->split[s->n].samplers = samplers;
    s->split[s->n++].trainers = trainers;
    return 0;
}

static int refuse_split(const char *word, size_t length, struct og_err *err)
{
    return og__fail(err, -EINVAL, "such as 1:3; 4 stands for every split of four",
                    "executors: '%.*s' given, SAMPLERS:TRAINERS expected",
                    (int)OG_MIN(length, (size_t)40), word);
}

/* "1:3", or "4" for 1:3, 2:2, 3:1 and 4:0. */
static int read_split(struct splits *s, const char *word, size_t length, struct og_err *err)
{
    char *end;
    const bool digit = *word >= '0' && *word <= '9';
    const long samplers = digit ? strtol(word, &end, 10) : 0;
    if (samplers < 1 || samplers > OG__MOST_EXECUTORS)
        return refuse_split(word, length, err);
    if (end == word + length) {
        int rc = 0;
        for (int i = 1; rc == 0 && i <= samplers; i++)
            rc = add_split(s, i, (int)samplers - i, err);
        return rc;
    }
    const char *second = end + 1;
    const bool pair = *end == ':' && *second >= '0' && *second <= '9';
    const long trainers = pair ? strtol(second, &end, 10) : 0;
    if (!pair || end != word + length || trainers > OG__MOST_EXECUTORS)
        return refuse_split(word, length, err);
    return add_split(s, (int)samplers, (int)trainers, err);
}

static int read_splits(struct splits *s, const char *list, struct og_err *err)
{
    for (size_t n; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        OG_DO(read_split(s, list, n, err));
    }
    return s->n > 0 ? 0 : og__fail(err, -EINVAL, NULL, "executors: no split given");
}

/* "SAMPLE,TRAIN" or "SAMPLE,TRAIN,STANDBY": seconds. */
static int read_times(struct og_executor_times *t, const char *list, struct og_err *err)
{
    double *const into[] = {&t->sample, &t->train, &t->standby};
    size_t n = 0;
    const char *at = list;
    char *end = NULL;
    for (; n < OG_COUNT(into); n++, at = end + 1) {
        *into[n] = og__plain_number(at, &end);
        if (end == at || !(*into[n] > 0 && *into[n] < 1e9) || *end != ',')
            break;
    }
    const bool last = end && end != at && *end == 0 && n >= 1 && n < OG_COUNT(into) &&
                      *into[n] > 0 && *into[n] < 1e9;
    if (!last)
        return og__fail(err, -EINVAL,
                        "such as --times 0.02,0.05; a third number is a standby trainer's",
                        "times: '%.60s' given, two or three numbers of seconds expected", list);
    if (n == 1)
        t->standby = t->train;
    return 0;
}

/* ---- what is measured ---- */

/* For executors of one thread each. */
static int measure(struct requested *a, struct og_session *s, struct og_err *err)
{
    struct og_pool *pool = NULL;
    int rc = og__pool_open(&pool, 1, err);
    if (rc < 0)
        return rc;
    a->measured = true;
    a->times.sample = s->workload.profiling_seconds;
    rc = og__time_model(&s->learner, &s->structure, pool, &a->times.train, err);
    a->times.standby = a->times.train;
    og__pool_close(pool);
    return rc;
}

static int look_at_dataset(struct requested *a, const char *dataset,
                           const struct og_observer *observer, struct og_err *err)
{
    struct og_session *s = NULL;
    const bool timed = a->times.train > 0;
    const unsigned model = timed ? 0 : og__learner_wants();
    int rc = 0;
    if (!timed && !model)
        rc = og__fail(err, -ENOSYS, "give --times SAMPLE,TRAIN",
                      "this build has no models whose training could be measured");
    OG_TRY(rc);
    OG_TRY(og__session_open(&s, dataset, &a->opt, OG__WANT_PLAN_ONLY | model, NULL, observer, err));
    if (a->tickets == 0)
        a->tickets = og__schedule_batches(&s->workload.schedule, OG__TRAIN);
    a->dataset = strdup(s->workload.graph->name);
    OG_TRY(a->dataset ? 0 : og__fail_errno(err, -ENOMEM, NULL, "executors"));
    if (!timed)
        OG_TRY(measure(a, s, err));
out:
    og__session_close(s);
    return rc;
}

/* ---- results ---- */

static double told(const struct requested *a, int samplers, int trainers, bool switches,
                   struct og_executed *out)
{
    struct og_executor executor[OG__MOST_EXECUTORS];
    for (int i = 0; i < samplers + trainers; i++)
        executor[i] = (struct og_executor){i < samplers, a->times.sample,
                                           i < samplers ? a->times.standby : a->times.train};
    const struct og_executors e = {.executor = executor,
                                   .n = samplers + trainers,
                                   .switches = switches,
                                   .n_batches = a->tickets,
                                   .queue = a->queue,
                                   .accumulate = (uint64_t)a->opt.accumulate,
                                   .staleness = (uint64_t)a->opt.staleness};
    og__executors_run(&e, out);
    return out->seconds;
}

static json_t *seconds_json(double seconds)
{
    return seconds < HUGE_VAL ? json_real(seconds) : json_null();
}

static json_t *split_json(const struct requested *a, int samplers, int trainers)
{
    char name[32];
    struct og_executed out;
    const struct og_executor_times *t = &a->times;
    snprintf(name, sizeof(name), "%d:%d", samplers, trainers);
    const double alone = told(a, samplers, trainers, false, &out);
    const double with = told(a, samplers, trainers, true, &out);
    const int n = samplers + trainers;
    return json_pack("{s:s s:i s:i s:b s:o s:o s:I s:o s:o}", "split", name, "samplers", samplers,
                     "trainers", trainers, "by_rule",
                     og__executors_samplers(n, t->sample, t->train) == samplers, "seconds",
                     seconds_json(with), "seconds_without_switching", seconds_json(alone),
                     "switched", (json_int_t)out.switched, "fluid_seconds",
                     seconds_json(og__executors_fluid(a->tickets, samplers, trainers, t->sample,
                                                      t->train, t->standby, true)),
                     "fluid_seconds_without_switching",
                     seconds_json(og__executors_fluid(a->tickets, samplers, trainers, t->sample,
                                                      t->train, t->standby, false)));
}

static json_t *result(const struct requested *a)
{
    json_t *list = json_array();
    for (int i = 0; i < a->splits.n; i++)
        list = og__json_append(
            list, split_json(a, a->splits.split[i].samplers, a->splits.split[i].trainers));
    return json_pack("{s:s? s:I s:I s:i s:i s:b s:f s:f s:f s:o}", "dataset", a->dataset, "tickets",
                     (json_int_t)a->tickets, "queue", (json_int_t)a->queue, "accumulate",
                     a->opt.accumulate, "staleness", a->opt.staleness, "measured", a->measured,
                     "sample_seconds_each", a->times.sample, "train_seconds_each", a->times.train,
                     "standby_seconds_each", a->times.standby, "splits", list);
}

int og_simulate_executors(const char *dataset, const struct og_executors_asked *requested,
                          const struct og_options *opt, const struct og_observer *observer,
                          char **out, struct og_err *err)
{
    if (out)
        *out = NULL;
    int rc = OG_SIZED(observer, "og_observer", err);
    rc = rc < 0 ? rc : OG_SIZED(requested, "og_executors_asked", err);
    if (rc < 0)
        return rc;
    struct requested *a = calloc(1, sizeof(*a));
    if (!a)
        return og__fail_errno(err, -ENOMEM, NULL, "executors");
    if (opt->workers > 1)
        OG_TRY(og__fail(err, -EINVAL, "leave --workers out",
                        "--workers %d: the clock of --executors is that of one process",
                        opt->workers));
    OG_TRY(og__options_copy(&a->opt, opt, err));
    a->tickets = requested->tickets;
    a->queue = requested->queue;
    OG_TRY(read_splits(&a->splits, requested->splits, err));
    if (requested->times)
        OG_TRY(read_times(&a->times, requested->times, err));
    if (dataset)
        OG_TRY(look_at_dataset(a, dataset, observer, err));
    else if (!requested->times || requested->tickets == 0)
        OG_TRY(og__fail(err, -EINVAL, "give a dataset, in which both are measured",
                        "executors: without a dataset --times and --batches are needed"));
    rc = og__json_deliver(result(a), NULL, out, err);
out:
    og__options_release(&a->opt);
    free(a->dataset);
    free(a);
    return rc;
}
