#include "sample/together.h"

#include "base/thread.h"
#include "dataset/on_disk.h"
#include "sample/kinds.h"
#include "sample/runs.h"

#include <stdlib.h>

static const char part[] = "sampler";

/* A batch of the group. */
struct member {
    struct og_sample_key key;
    struct og_words found[OG_MAX_HOPS]; /* nodes: its seeds, then what each hop found but the last;
                                           as many as their capacity */
    size_t n_drawn;                     /* in the hop at hand */
};

/* What a thread holds. */
struct hand {
    struct og_sampler *sampler;
    struct og_batch_memory batch;
    struct og_words drawn, cursor;
    struct og_io_counts read;
    int rc;
    struct og_err err;
};

struct og_together {
    /* set at open, then constant */
    const struct og_topology *topology;
    struct og_together_sizes sizes;
    const volatile sig_atomic_t *stop;
    struct og_budget *budget;
    struct og_pool *pool;
    int n_hands, n_hops;
    uint64_t n_blocks;
    /* the batches */
    struct hand *hand;
    struct member *member; /* [sizes.batches] */
    uint32_t n;
    struct og_pass pass[OG_MAX_HOPS];
    struct og_spill *store;
    pthread_mutex_t appending;
    /* the hop at hand */
    int hop;
    const struct og_range *range;
};

/* ---- sizes ---- */

static size_t bits_bytes(uint64_t n_blocks)
{
    return og__bits_words(n_blocks) * (sizeof(uint64_t) + sizeof(uint32_t));
}

static uint64_t most_ranges(uint64_t n_blocks, unsigned shift)
{
    return (n_blocks >> shift) + 1;
}

/* Of the hops before the last. */
static struct og_batch_caps before_last(const struct og_batch_caps *caps)
{
    struct og_batch_caps before = *caps;
    before.n_hops = caps->n_hops > 0 ? caps->n_hops - 1 : 0;
    return before;
}

size_t og__together_drawn_bytes(const struct og_batch_caps *caps)
{
    size_t bytes = 0;
    for (uint32_t h = 0; h < caps->n_hops; h++)
        bytes += caps->hop[h].n_edges * sizeof(uint32_t);
    return bytes;
}

size_t og__together_bytes(uint64_t list_bytes, const struct og_batch_caps *caps,
                          const struct og_together_sizes *sizes, int n_samplers,
                          const struct og_reader_options *reader)
{
    const uint64_t n_blocks = list_bytes / OG__LIST_BLOCK + 1;
    const size_t member =
        caps->hop[caps->n_hops - 1].n_dst * sizeof(uint32_t) + sizeof(struct member);
    const struct og_batch_caps before = before_last(caps);
    const uint64_t ranges = most_ranges(n_blocks, sizes->shift);
    uint64_t edges = 0;
    for (uint32_t h = 0; h < caps->n_hops; h++)
        edges = OG_MAX(edges, caps->hop[h].n_edges);
    const size_t hand = og__batch_bytes(&before, OG__WITH_DEGREES) +
                        (caps->hop[0].n_dst + OG__WINDOW + edges + ranges) * sizeof(uint32_t);
    return caps->n_hops * (bits_bytes(n_blocks) + ranges * sizes->batches * sizeof(struct og_run)) +
           (size_t)n_samplers * hand + sizes->batches * member +
           og__ranges_bytes(sizes->shift, reader);
}

/* ---- open and close ---- */

static int open_pass(struct og_together *t, struct og_pass *p, struct og_err *err)
{
    const size_t words = og__bits_words(t->n_blocks);
    p->bits = og__alloc(t->budget, words * sizeof(*p->bits), part, err);
    p->rank = og__alloc(t->budget, words * sizeof(*p->rank), part, err);
    p->wanted = (struct og_wanted_blocks){
        .of = &t->topology->disk->lists, .bits = p->bits, .shift = t->sizes.shift};
    return p->bits && p->rank ? 0 : -ENOMEM;
}

static size_t runs_bytes(const struct og_pass *p)
{
    return (size_t)og__ranges_of(&p->wanted) * p->n_batches * sizeof(*p->run);
}

static void drop_runs(struct og_together *t, struct og_pass *p)
{
    og__release(t->budget, p->run, runs_bytes(p), part);
    p->run = NULL;
}

static void close_pass(struct og_together *t, struct og_pass *p)
{
    const size_t words = og__bits_words(t->n_blocks);
    drop_runs(t, p);
    og__release(t->budget, p->bits, words * sizeof(*p->bits), part);
    og__release(t->budget, p->rank, words * sizeof(*p->rank), part);
}

static int open_hands(struct og_together *t, const struct og_together_options *opt,
                      struct og_err *err)
{
    t->hand = calloc((size_t)opt->n_samplers, sizeof(*t->hand));
    if (!t->hand)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    t->n_hands = opt->n_samplers;
    for (int i = 0; i < t->n_hands; i++) {
        t->hand[i].sampler = opt->samplers[i];
        og__batch_init(&t->hand[i].batch, t->budget);
    }
    return og__pool_open(&t->pool, t->n_hands, err);
}

int og__together_open(struct og_together **out, const struct og_topology *topology,
                      const struct og_together_options *opt, struct og_budget *b,
                      struct og_err *err)
{
    *out = NULL;
    struct og_together *t = calloc(1, sizeof(*t));
    if (!t)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    t->topology = topology;
    t->sizes = opt->sizes;
    t->stop = opt->stop;
    t->budget = b;
    t->n_hops = opt->samplers[0]->n_hops;
    t->n_blocks = topology->disk->lists.n_blocks;
    pthread_mutex_init(&t->appending, NULL);
    const struct og_spill_options store = {
        .scratch = opt->scratch, .memory = opt->sizes.memory, .part = part};
    int rc;
    OG_TRY(open_hands(t, opt, err));
    t->member = og__alloc(b, t->sizes.batches * sizeof(*t->member), part, err);
    OG_TRY(t->member ? 0 : -ENOMEM);
    for (int h = 0; h < t->n_hops; h++)
        OG_TRY(open_pass(t, &t->pass[h], err));
    OG_TRY(og__spill_open(&t->store, &store, b, err));
    *out = t;
    return 0;
out:
    og__together_close(t);
    return rc;
}

void og__together_clear(struct og_together *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        for (int h = 0; h < t->n_hops; h++)
            og__words_release(&t->member[i].found[h], t->budget);
    t->n = 0;
    for (int h = 0; h < t->n_hops; h++)
        drop_runs(t, &t->pass[h]);
    if (t->store)
        og__spill_clear(t->store);
}

void og__together_close(struct og_together *t)
{
    if (!t)
        return;
    og__together_clear(t);
    for (int h = 0; h < t->n_hops; h++)
        close_pass(t, &t->pass[h]);
    for (int i = 0; i < t->n_hands; i++) {
        og__batch_release(&t->hand[i].batch);
        og__words_release(&t->hand[i].drawn, t->budget);
        og__words_release(&t->hand[i].cursor, t->budget);
    }
    free(t->hand);
    og__release(t->budget, t->member, t->sizes.batches * sizeof(*t->member), part);
    og__spill_close(t->store);
    og__pool_close(t->pool);
    pthread_mutex_destroy(&t->appending);
    free(t);
}

/* ---- batches ---- */

static int keep(struct og_together *t, struct og_words *found, const uint32_t *ids, uint32_t n,
                struct og_err *err)
{
    int rc = og__words_reserve(found, n, t->budget, err);
    if (rc == 0 && n > 0)
        memcpy(found->data, ids, n * sizeof(*ids));
    return rc;
}

int og__together_add(struct og_together *t, const uint32_t *seeds, uint32_t n_seeds,
                     const struct og_sample_key *key, struct og_err *err)
{
    struct member *m = &t->member[t->n];
    *m = (struct member){.key = *key};
    int rc = keep(t, &m->found[0], seeds, n_seeds, err);
    t->n += rc == 0;
    return rc;
}

/* The hop's own draws, of a batch whose hops before are there. */
static struct og_hop hop_of(const struct og_together *t, const struct hand *hand,
                            const struct member *m)
{
    return (struct og_hop){.s = hand->sampler,
                           .fanout = hand->sampler->fanout[t->hop],
                           .stream = m->key.stream,
                           .epoch = m->key.epoch,
                           .batch = m->key.batch,
                           .number = (uint32_t)t->hop};
}

/* Nodes that draw are all that were found before the hop; where they draw once, the latest. */
static int first_found(const struct og_together *t, const struct hand *hand)
{
    return hand->sampler->how.once ? t->hop : 0;
}

/* The first `n_hops` hops of a batch, from its runs. */
static int join_hops(struct og_together *t, struct hand *hand, uint32_t i, int n_hops,
                     struct og_batch_memory *out, struct og_err *err)
{
    const struct member *m = &t->member[i];
    struct og_runs runs = {.pass = t->pass,
                           .batch = i,
                           .store = t->store,
                           .drawn = &hand->drawn,
                           .cursor = &hand->cursor};
    struct og_sampler *s = hand->sampler;
    s->runs = &runs;
    int rc;
    OG_TRY(og__sample_begin(s, m->found[0].data, (uint32_t)m->found[0].capacity, out, err));
    for (int h = 0; h < n_hops; h++)
        OG_TRY(og__sample_hop(s, &m->key, h, out, err));
out:
    hand->read.reads += runs.read > 0;
    hand->read.bytes += runs.read;
    s->runs = NULL;
    return rc;
}

/* ---- a hop of all batches ---- */

/* The task's failure is its hand's: the first one stays. */
static void fail_hand(struct hand *hand, int rc, const struct og_err *err)
{
    if (rc < 0 && hand->rc == 0) {
        hand->rc = rc;
        hand->err = *err;
    }
}

static int run_tasks(struct og_together *t, void (*fn)(void *arg, size_t task, int thread),
                     struct og_err *err)
{
    og__pool_run(t->pool, t->n, fn, t);
    for (int i = 0; i < t->n_hands; i++) {
        const struct hand *hand = &t->hand[i];
        if (hand->rc < 0)
            return og__fail(err, hand->rc, hand->err.hint, "%s", hand->err.message);
    }
    return og__asked(t->stop) ? og__fail(err, OG_INTERRUPTED, NULL, "interrupted") : 0;
}

static void want_all(const struct og_together *t, const struct hand *hand, struct member *m,
                     struct og_pass *pass)
{
    const struct og_hop hop = hop_of(t, hand, m);
    m->n_drawn = 0;
    for (int h = first_found(t, hand); h <= t->hop; h++) {
        const struct og_words *nodes = &m->found[h];
        for (size_t i = 0; i < nodes->capacity; i++) {
            if (i + OG__LOOKAHEAD < nodes->capacity)
                og__prefetch_degree(t->topology, nodes->data[i + OG__LOOKAHEAD]);
            m->n_drawn += og__runs_want(&hop, pass, nodes->data[i]);
        }
    }
}

/* What the hop before found, and what this one wants. */
static void want_batch(void *arg, size_t task, int thread)
{
    struct og_together *t = arg;
    struct hand *hand = &t->hand[thread];
    struct member *m = &t->member[task];
    struct og_err why = {0};
    int rc = 0;
    if (hand->rc < 0 || og__asked(t->stop))
        return;
    if (t->hop > 0) {
        OG_TRY(join_hops(t, hand, (uint32_t)task, t->hop, &hand->batch, &why));
        const struct og_batch *b = &hand->batch.batch;
        const uint32_t n_dst = b->hop[t->hop - 1].n_dst;
        OG_TRY(keep(t, &m->found[t->hop], b->ids + n_dst, b->n_ids - n_dst, &why));
    }
    want_all(t, hand, m, &t->pass[t->hop]);
out:
    fail_hand(hand, rc, &why);
}

static int append_run(struct og_together *t, struct og_run *run, const uint32_t *drawn, uint32_t n,
                      struct og_err *err)
{
    pthread_mutex_lock(&t->appending);
    *run = (struct og_run){og__spill_size(t->store), n};
    int rc = og__spill_append(t->store, drawn, n * sizeof(*drawn), err);
    pthread_mutex_unlock(&t->appending);
    return rc;
}

/* What the batch drew from the range that is there. */
static void gather_batch(void *arg, size_t task, int thread)
{
    struct og_together *t = arg;
    struct hand *hand = &t->hand[thread];
    const struct member *m = &t->member[task];
    const struct og_pass *pass = &t->pass[t->hop];
    const struct og_hop hop = hop_of(t, hand, m);
    const int first = first_found(t, hand);
    struct og_err why = {0};
    uint32_t n = 0;
    int rc = 0;
    if (hand->rc < 0 || og__asked(t->stop))
        return;
    OG_TRY(og__words_reserve(&hand->drawn, m->n_drawn, t->budget, &why));
    for (int h = first; h <= t->hop; h++)
        OG_TRY(og__runs_gather(&hop, pass, t->range, m->found[h].data,
                               (uint32_t)m->found[h].capacity, hand->drawn.data, &n, &why));
    OG_TRY(append_run(t, og__run_of(pass, t->range->number, (uint32_t)task), hand->drawn.data, n,
                      &why));
out:
    fail_hand(hand, rc, &why);
}

static int read_ranges(struct og_together *t, const struct og_pass *pass, struct og_io_counts *read,
                       struct og_err *err)
{
    const uint32_t n_ranges = og__ranges_of(&pass->wanted);
    struct og_ranges *ranges;
    int rc =
        og__ranges_start(&ranges, &pass->wanted, &t->topology->disk->opt.reader, t->budget, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < n_ranges; i++) {
        OG_TRY(og__ranges_next(ranges, &t->range, err));
        OG_TRY(run_tasks(t, gather_batch, err));
        og__ranges_put(ranges, t->range);
    }
out:
    og__ranges_stop(ranges, read);
    return rc;
}

static int sample_hop(struct og_together *t, struct og_pass *pass, struct og_sample_reads *read,
                      struct og_err *err)
{
    int rc;
    memset(pass->bits, 0, og__bits_words(t->n_blocks) * sizeof(*pass->bits));
    OG_TRY(run_tasks(t, want_batch, err));
    drop_runs(t, pass);
    pass->wanted.n = og__bits_count(pass->bits, t->n_blocks, pass->rank);
    pass->n_batches = t->n;
    pass->run = og__alloc(t->budget, runs_bytes(pass), part, err);
    OG_TRY(pass->run || runs_bytes(pass) == 0 ? 0 : -ENOMEM);
    read->passes += pass->wanted.n > 0;
    if (pass->wanted.n > 0)
        OG_TRY(read_ranges(t, pass, &read->io, err));
out:
    return rc;
}

static void take_counts(struct hand *hand, struct og_io_counts *sum)
{
    sum->reads += hand->read.reads;
    sum->bytes += hand->read.bytes;
    hand->read = (struct og_io_counts){0};
}

int og__together_sample(struct og_together *t, struct og_together_counts *counts,
                        struct og_err *err)
{
    const uint64_t written = og__spill_written(t->store);
    int rc = 0;
    *counts = (struct og_together_counts){0};
    for (t->hop = 0; t->hop < t->n_hops; t->hop++)
        OG_TRY(sample_hop(t, &t->pass[t->hop], &counts->structure, err));
out:
    for (int i = 0; i < t->n_hands; i++)
        take_counts(&t->hand[i], &counts->drawn);
    counts->written = og__spill_written(t->store) - written;
    return rc;
}

int og__together_take(struct og_together *t, uint32_t i, int thread, struct og_batch_memory *out,
                      struct og_io_counts *read, struct og_err *err)
{
    struct hand *hand = &t->hand[thread];
    int rc = join_hops(t, hand, i, t->n_hops, out, err);
    take_counts(hand, read);
    return rc;
}
