#include "train/choose.h"

#include "train/options.h"
#include "train/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds a row of one core: looking it up, and finding its next use (bench/bench_plan). */
#define PLAN_ROW    6e-9
#define FORESEE_ROW 18e-9
/* Disks write about half as fast as they read. */
#define WRITE_SHARE 0.5

/* ---- the ways there are ---- */

struct way {
    int policy, layout;
    bool alternate;
};

static const struct way ways[] = {
    {OG_POLICY_DEGREE, OG_LAYOUT_RAW, false},      {OG_POLICY_FREQUENCY, OG_LAYOUT_RAW, false},
    {OG_POLICY_FREQUENCY, OG_LAYOUT_RAW, true},    {OG_POLICY_FREQUENCY, OG_LAYOUT_PACKED, true},
    {OG_POLICY_BELADY, OG_LAYOUT_RAW, false},      {OG_POLICY_BELADY, OG_LAYOUT_RAW, true},
    {OG_POLICY_BELADY, OG_LAYOUT_PACKED, true},    {OG_POLICY_FREQUENCY, OG_LAYOUT_SEGMENTED, true},
    {OG_POLICY_BELADY, OG_LAYOUT_SEGMENTED, true}, {OG_POLICY_SWEEP, OG_LAYOUT_RAW, false},
    {OG_POLICY_SWEEP, OG_LAYOUT_RAW, true},
};
enum { WAYS = OG_COUNT(ways) };

static void take_way(struct og_session *s, const struct way *way, unsigned want)
{
    s->opt.policy = way->policy;
    s->opt.layout = way->layout;
    s->opt.alternate = way->alternate;
    og__session_threads(s, want);
}

/* What the user said holds. */
static bool allowed(const struct og_options *opt, const struct way *way)
{
    if (og__options_given(opt, "alternate") && opt->alternate != way->alternate)
        return false;
    return opt->layout == OG_LAYOUT_AUTO || opt->layout == way->layout;
}

static enum og__layout layout_of(const struct way *way)
{
    static const enum og__layout layout[] = {[OG_LAYOUT_RAW] = OG__RAW,
                                             [OG_LAYOUT_PACKED] = OG__PACKED,
                                             [OG_LAYOUT_SEGMENTED] = OG__SEGMENTED};
    return layout[way->layout];
}

/* ---- the memory that each would have ---- */

struct trial {
    struct way way;
    struct og_memory_plan memory;
    bool fits;
    struct og_err refused; /* why not */
};

/* As the session is opened, up to how many rows it caches. */
static int try_memory(struct og_session *s, const struct og_pilot *pilot, unsigned want,
                      const uint32_t *hotness, struct trial *t)
{
    struct og_memory_plan own = {.limit = s->memory.limit};
    take_way(s, &t->way, want);
    og__memory_plan_fixed(&own, s, want);
    int rc = og__memory_plan_check(&own, &t->refused);
    if (rc == 0)
        rc = og__memory_plan_ahead(&own, s, pilot, &t->refused);
    if (rc == 0)
        rc = og__memory_plan_neighbors(&own, s, &t->refused);
    if (rc == 0)
        rc = og__memory_plan_cache(&own, s, pilot, hotness, pilot->n / 2, &t->refused);
    t->memory = own;
    return rc;
}

static struct og_candidate candidate_of(const struct og_session *s, const struct trial *t,
                                        const uint32_t *hotness)
{
    const struct og_memory_plan *m = &t->memory;
    const bool ahead = og__policy_looks_ahead(t->way.policy) || t->way.layout != OG_LAYOUT_RAW;
    struct og_policy_setup policy = og__policy_setup(&s->opt, (uint64_t)s->ds->n_nodes);
    policy.kind = t->way.policy;
    policy.n_slots = m->n_slots;
    policy.hotness = hotness;
    uint64_t epoch = og__schedule_batches(&s->schedule, OG__TRAIN);
    uint64_t run = epoch * (uint64_t)OG_MAX(s->opt.epochs, 1);
    uint64_t put_away = m->trace_blocks ? 0 : epoch * og__put_away_bytes(s);
    return (struct og_candidate){
        .policy = policy,
        .layout = layout_of(&t->way),
        .resample_every = (uint32_t)s->opt.resample_every,
        .superbatch =
            ahead ? (uint32_t)OG_MIN(OG_MIN(m->superbatch, run), (uint64_t)UINT32_MAX) : 0,
        .n_lent = m->n_lent,
        .memory = og__memory_plan_sum(m),
        .sweep_memory = m->sweep,
        .reload_bytes = m->alternates ? m->topology - m->topology_rest + m->neighbors : 0,
        .spill_bytes = ahead ? put_away : 0,
    };
}

/* ---- what is measured ---- */

/* Memory for reading a sample of the features. */
struct probe {
    struct og_reader *reader;
    uint32_t *rows; /* [n] */
    char *out;      /* [n] rows */
    uint32_t n;
    size_t row_bytes;
};

static void close_probe(struct probe *p, struct og_budget *b)
{
    og__reader_close(p->reader);
    og__release(b, p->out, p->n * p->row_bytes, "probe");
    og__release(b, p->rows, p->n * sizeof(*p->rows), "probe");
}

static int open_probe(struct probe *p, struct og_session *s, uint32_t n, struct og_err *err)
{
    struct og_reader_options opt = og__session_reader(s);
    *p = (struct probe){.n = n, .row_bytes = og__file_row_bytes(s->ds)};
    p->rows = og__alloc(s->budget, n * sizeof(*p->rows), "probe", err);
    p->out = p->rows ? og__alloc(s->budget, n * p->row_bytes, "probe", err) : NULL;
    if (!p->out)
        return -ENOMEM;
    return og__reader_open(&p->reader, s->ds->features.path, (uint64_t)s->ds->features.offset,
                           p->row_bytes, (uint64_t)s->ds->n_nodes, &opt, s->budget, err);
}

/* Rows a second. */
static int read_rate(struct probe *p, uint32_t n, double *rate, struct og_err *err)
{
    struct og_read_job job = {.rows = p->rows, .n = n, .out = p->out};
    double start = og__now();
    int rc = og__reader_submit(p->reader, &job, err);
    if (rc == 0)
        rc = og__reader_wait(p->reader, &job, err);
    *rate = n / OG_MAX(og__now() - start, 1e-6);
    return rc;
}

/* What the disk does with the very file, since hosts serve what was written last faster than the
 * rest: rows from all over it, then the better of two runs of them. Reading by itself leaves
 * nothing in memory. */
static int probe_disk(struct og_session *s, struct og_disk_profile *disk, struct og_err *err)
{
    enum { SPREAD = 2048, MOST_BYTES = 64 * 1024 * 1024, SHARE = 16 };
    const uint64_t n_nodes = (uint64_t)s->ds->n_nodes;
    const uint32_t step = (uint32_t)(n_nodes / SPREAD);
    const uint64_t run = OG_MIN(MOST_BYTES / og__file_row_bytes(s->ds), n_nodes / SHARE);
    struct probe p = {0};
    double rate = 0;
    *disk = s->profile;
    if (step < 64 || s->opt.io == OG_IO_MMAP) /* soon read, or from memory */
        return 0;
    int rc = open_probe(&p, s, (uint32_t)OG_MAX(run, (uint64_t)SPREAD), err);
    for (uint32_t i = 0; rc == 0 && i < SPREAD; i++)
        p.rows[i] = i * step + step / 2;
    if (rc == 0)
        rc = read_rate(&p, SPREAD, &rate, err);
    disk->iops = OG_MIN(rate, 2 * s->profile.iops);
    disk->bandwidth = 0;
    for (uint32_t round = 0; rc == 0 && round < 2; round++) {
        for (uint32_t i = 0; i < run; i++)
            p.rows[i] = (uint32_t)(n_nodes / 3 * (1 + round)) + i;
        rc = read_rate(&p, (uint32_t)run, &rate, err);
        disk->bandwidth = OG_MAX(disk->bandwidth, rate * (double)og__file_row_bytes(s->ds));
    }
    close_probe(&p, s->budget);
    return rc;
}

static double copy_rate(void)
{
    enum { BYTES = 8 * 1024 * 1024 };
    char *from = malloc(2 * (size_t)BYTES);
    if (!from)
        return 0;
    memset(from, 1, 2 * (size_t)BYTES);
    double start = og__now();
    memcpy(from + BYTES, from, BYTES);
    double seconds = og__now() - start;
    free(from);
    return BYTES / OG_MAX(seconds, 1e-6);
}

/* One step of the model on a batch whose rows are all zero; the second counts. */
static int time_step(struct og_session *s, struct og_model *model, const struct og_batch *batch,
                     const struct og_pairs *pairs, bool training, double *seconds,
                     struct og_err *err)
{
    const uint32_t n = batch->n_ids;
    const size_t labels_bytes = og__labels_bytes(s->ds, batch->n_seeds);
    uint32_t *index = og__alloc(s->budget, n * sizeof(*index), "batches", err);
    void *labels = og__alloc(s->budget, labels_bytes, "batches", err);
    char *row = calloc(1, og__row_bytes(s->ds));
    struct og_rows rows = {.base = row,
                           .index = index,
                           .stride = og__row_bytes(s->ds),
                           .n = n,
                           .dim = s->ds->dim,
                           .dtype = s->ds->kept};
    int rc = index && labels ? 0 : -ENOMEM;
    if (rc == 0 && !row)
        rc = og__fail_errno(err, -ENOMEM, NULL, "timing the model");
    for (int round = 0; rc == 0 && round < 2; round++) {
        struct og_step step = {1, 1, 0};
        struct og_metrics ignored = {0};
        double start = og__now();
        const void *targets = s->seeds.edges ? (const void *)pairs : labels;
        rc = training ? og__model_gradients(model, batch, &rows, targets, &step, &ignored, err)
                      : og__model_forward(model, batch, &rows, targets, &ignored, err);
        *seconds = og__now() - start;
    }
    og__release(s->budget, index, n * sizeof(*index), "batches");
    og__release(s->budget, labels, labels_bytes, "batches");
    free(row);
    return rc;
}

static int time_model(struct og_session *s, unsigned want, double *seconds, struct og_err *err)
{
    const bool training = want & OG__WANT_TRAINING;
    struct og_turn turn = og__schedule_pass(&s->schedule, OG__TRAIN, 0);
    struct og_model *model = NULL;
    struct og_sampler *sampler = NULL;
    struct og_batch_memory m;
    struct og_seeds seeds;
    *seconds = 0;
    if (!(want & OG__WANT_MODEL))
        return 0;
    og__batch_init(&m, s->budget);
    int rc = og__seeds_open(&seeds, &s->seeds, s->budget, err);
    if (rc == 0)
        rc = og__session_sampler(s, &sampler, s->budget, err);
    if (rc == 0) {
        og__seeds_take(&seeds, &s->seeds, &turn);
        rc = og__sample(sampler, seeds.node, seeds.n, OG__STREAM_BENCH, 0, 0, &m, err);
    }
    if (rc == 0)
        rc = og__model_create(&model, &s->config, s->opt.optimizer, (uint64_t)s->opt.seed, s->pool,
                              s->budget, err);
    if (rc == 0)
        rc = og__model_reserve(model, &s->caps, training, err);
    if (rc == 0)
        rc = time_step(s, model, &m.batch, &seeds.pairs, training, seconds, err);
    og__model_free(model);
    og__sampler_close(sampler);
    og__batch_release(&m);
    og__seeds_close(&seeds);
    return rc;
}

/* ---- choosing ---- */

struct chooser {
    struct og_session *s;
    const struct og_pilot *pilot;
    unsigned want;
    uint32_t *hotness;     /* [N] a guess at degrees, and visits of the pilot's first half */
    double model;          /* seconds of one batch */
    struct og_pilot trace; /* batches to count with */
    struct trial trial[WAYS];
    uint32_t n;
    struct og_candidate candidate[WAYS]; /* trials that fit */
    uint32_t number[WAYS];               /* which they are */
    uint32_t n_fit;
};

static int guess_hotness(struct chooser *c, struct og_err *err)
{
    struct og_session *s = c->s;
    const struct og_pilot *p = c->pilot;
    c->hotness = og__alloc(s->budget, (size_t)s->ds->n_nodes * 4, "hotness", err);
    int rc = c->hotness ? og__hotness_degree_guess(&s->topology, c->hotness, err) : -ENOMEM;
    for (uint64_t i = 0; rc == 0 && p->n > 1 && i < p->end[p->n / 2 - 1]; i++)
        c->hotness[p->ids[i]]++;
    return rc;
}

/* Caches that differ by a hundredth are counted as one. */
static void count_together(struct og_candidate *a, struct og_candidate *b)
{
    uint32_t less = OG_MIN(a->policy.n_slots, b->policy.n_slots);
    uint32_t more = OG_MAX(a->policy.n_slots, b->policy.n_slots);
    if (a->policy.kind != b->policy.kind || a->superbatch == 0 || b->superbatch == 0 ||
        more - less > more / 100)
        return;
    a->policy.n_slots = b->policy.n_slots = less;
    a->n_lent = b->n_lent = OG_MAX(a->n_lent, b->n_lent);
}

/* Segments read more than chunks: they are for when the disk is too small for those. */
static bool is_for_it(const struct chooser *c, const struct trial *t,
                      const struct og_options *asked)
{
    const uint64_t rows = c->pilot->rows / OG_MAX(c->pilot->n, 1u);
    const double chunks = (double)(t->memory.superbatch * rows) * (double)og__row_bytes(c->s->ds);
    return t->way.layout != OG_LAYOUT_SEGMENTED || asked->layout == OG_LAYOUT_SEGMENTED ||
           chunks > asked->disk.value;
}

/* What fits in memory; the others are kept with the reason why they do not. */
static void try_all(struct chooser *c, const struct og_options *asked)
{
    for (size_t i = 0; i < WAYS; i++) {
        if (!allowed(asked, &ways[i]))
            continue;
        struct trial *t = &c->trial[c->n];
        *t = (struct trial){.way = ways[i]};
        const bool fits = try_memory(c->s, c->pilot, c->want, c->hotness, t) == 0;
        if (!is_for_it(c, t, asked))
            continue;
        if (fits) {
            t->fits = true;
            c->number[c->n_fit] = c->n;
            c->candidate[c->n_fit++] = candidate_of(c->s, t, c->hotness);
        }
        c->n++;
    }
    for (uint32_t i = 1; i < c->n_fit; i++)
        for (uint32_t k = 0; k < i; k++)
            count_together(&c->candidate[k], &c->candidate[i]);
}

/* What a batch will take at least: sampling and the model, or reading what the first way misses. */
static double least_seconds(const struct chooser *c)
{
    const struct og_session *s = c->s;
    const struct trial *first = &c->trial[0];
    double work = c->pilot->seconds / OG_MAX(c->pilot->n, 1u) / s->opt.threads + c->model;
    double misses =
        first->fits ? first->memory.staging_rows : (double)s->caps.hop[s->caps.n_hops - 1].n_src;
    return OG_MAX(work, misses / s->profile.iops);
}

/* Batches of an epoch that the pilot has not seen: all, unless that takes much memory, or more than
 * a small part of the time that the run will take. */
static int sample_some(struct chooser *c, struct og_err *err)
{
    enum { MEMORY_SHARE = 8 };
    const double least = 0.05;
    const double most = 2;
    const double share = 0.03;
    const struct og_session *s = c->s;
    const double epoch = (double)og__schedule_batches(&s->schedule, OG__TRAIN);
    const struct og_pilot_limits limits = {
        .epoch = 2,
        .batches = (uint32_t)OG_MIN(epoch, (double)UINT32_MAX),
        .seconds = OG_MIN(OG_MAX(share * least_seconds(c) * epoch * s->opt.epochs, least), most),
        .bytes = og__budget_left(s->budget) / MEMORY_SHARE,
    };
    return og__pilot_sample(&c->trace, c->s, &limits, c->s->budget, err);
}

static int rank(struct chooser *c, struct og_estimate *out, struct og_err *err)
{
    struct og_session *s = c->s;
    const double n = OG_MAX(c->trace.n, 1u);
    const double epoch = (double)og__schedule_batches(&s->schedule, OG__TRAIN);
    uint64_t *ptr = calloc((size_t)c->trace.n + 1, sizeof(*ptr));
    if (!ptr)
        return og__fail_errno(err, -ENOMEM, NULL, "candidates");
    memcpy(ptr + 1, c->trace.end, c->trace.n * sizeof(*ptr));
    struct og_choice given = {
        .trace = {.n_batches = c->trace.n, .ptr = ptr, .ids = c->trace.ids},
        .n_nodes = (uint64_t)s->ds->n_nodes,
        .epoch_batches = epoch,
        .epochs = (uint32_t)s->opt.epochs,
        .topology = {(uint64_t)((double)c->trace.reads.io.reads * epoch / n),
                     (uint64_t)((double)c->trace.reads.io.bytes * epoch / n)},
        .rule = s->read_rule,
        .row_bytes = og__row_bytes(s->ds),
        .fill_rows = OG__FILL_ROWS,
        .times = {.sample = c->trace.seconds / n,
                  .plan_row = PLAN_ROW,
                  .foresee_row = FORESEE_ROW,
                  .model = c->model,
                  .copy = copy_rate(),
                  .samplers = s->opt.threads,
                  .threads = s->opt.threads},
        .memory_limit = s->memory.limit,
        .disk_limit = (uint64_t)s->opt.disk.value,
        .pool = s->pool,
        .budget = s->budget,
        .stop = s->seen ? s->seen->stop : NULL,
    };
    int rc = probe_disk(s, &given.disk, err);
    if (rc == 0)
        rc = og__pilot_distinct(s, &c->trace, &given.distinct, &given.growth, err);
    given.times.write = given.disk.bandwidth * WRITE_SHARE;
    given.times.fresh = s->profile.bandwidth; /* measured on a file just written */
    if (rc == 0)
        rc = og__candidates_rank(&given, c->candidate, c->n_fit, out, err);
    free(ptr);
    return rc;
}

static void add_choice(struct og_session *s, const struct trial *t, const struct og_estimate *e)
{
    s->choice[s->n_choice++] =
        (struct og_chosen){t->way.policy, t->way.layout, t->way.alternate, t->memory.n_slots, *e};
}

static int keep_choice(struct og_session *s, const struct chooser *c, const struct og_estimate *out,
                       struct og_err *err)
{
    free(s->choice);
    s->choice = calloc(c->n, sizeof(*s->choice));
    s->n_choice = 0;
    if (!s->choice)
        return og__fail_errno(err, -ENOMEM, NULL, "candidates");
    for (uint32_t i = 0; i < c->n_fit; i++)
        add_choice(s, &c->trial[c->number[out[i].candidate]], &out[i]);
    for (uint32_t i = 0; i < c->n; i++) {
        struct og_estimate none = {.possible = true, .memory = c->trial[i].memory.smallest};
        og__candidate_refuse(&none, "%.150s", c->trial[i].refused.message);
        if (!c->trial[i].fits)
            add_choice(s, &c->trial[i], &none);
    }
    return 0;
}

static int compare(struct chooser *c, struct og_err *err)
{
    struct og_estimate out[WAYS];
    int rc = time_model(c->s, c->want, &c->model, err);
    if (rc == 0)
        rc = sample_some(c, err);
    if (rc == 0)
        rc = og__learn_rule(c->s, err);
    if (rc == 0)
        rc = rank(c, out, err);
    if (rc == 0)
        rc = keep_choice(c->s, c, out, err);
    if (rc == 0)
        take_way(c->s, &c->trial[c->number[out[0].candidate]].way, c->want);
    return rc;
}

int og__choose(struct og_session *s, const struct og_pilot *pilot, unsigned want,
               struct og_err *err)
{
    const struct og_options asked = s->opt;
    struct chooser c = {.s = s, .pilot = pilot, .want = want};
    if (asked.policy != OG_POLICY_AUTO)
        return 0;
    take_way(s, &ways[0], want);
    if (!(want & OG__WANT_FEATURES))
        return 0;
    int rc = guess_hotness(&c, err);
    if (rc == 0)
        try_all(&c, &asked);
    take_way(s, &c.trial[0].way, want);
    bool all = c.trial[0].fits && c.trial[0].memory.n_slots >= (uint64_t)s->ds->n_nodes;
    if (rc == 0 && c.n_fit > 1 && !all)
        rc = compare(&c, err);
    og__pilot_release(&c.trace, s->budget);
    og__release(s->budget, c.hotness, (size_t)s->ds->n_nodes * 4, "hotness");
    return rc;
}

/* ---- told ---- */

json_t *og__choice_json(const struct og_session *s)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->n_choice; i++) {
        const struct og_chosen *c = &s->choice[i];
        const struct og_estimate *e = &c->estimate;
        json_array_append_new(
            list, json_pack("{s:s s:s s:b s:I s:b s:f s:f s:I s:I s:I s:I s:s}", "policy",
                            og__option_word("policy", c->policy), "layout",
                            og__option_word("layout", c->layout), "alternates", c->alternate,
                            "cache_rows", (json_int_t)c->n_slots, "possible", e->possible,
                            "seconds", e->seconds, "prepare_seconds", e->prepare, "reads",
                            (json_int_t)e->reads, "bytes_read", (json_int_t)e->bytes_read,
                            "bytes_written", (json_int_t)e->bytes_written, "memory",
                            (json_int_t)e->memory, "why", e->why));
    }
    return list;
}
