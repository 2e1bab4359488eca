/* Opening a loader, and closing it. */
#include "base/sized.h"
#include "loader/loader.h"
#include "loader/loader_text.h"
#include "options/options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { MOST_HELD = 1000 };

void og_loader_options_defaults(struct og_loader_options *from, size_t size)
{
    const struct og_loader_options usual = {.size = size, .hold = 1};
    memset(from, 0, size);
    memcpy(from, &usual, OG_MIN(size, sizeof(usual)));
}

/* ---- arguments ---- */

/* Trees of a batch are counted from its links, so groups of links stay whole and in order. */
/* Link i of n in a batch has the source, and the time, of link i % m. */
static int check_sources(const struct og_loader_options *from, int64_t first, int64_t n,
                         int64_t group, struct og_err *err)
{
    const int64_t m = n / group, *link = from->links + 2 * first;
    const int64_t *time = from->times ? from->times + first : NULL;
    for (int64_t i = m; i < n; i++)
        if (link[2 * i] != link[2 * (i % m)] || (time && time[i] != time[i % m]))
            return og__fail(
                err, -EINVAL, "give links whose sources and times repeat, or leave it out",
                "source_repeats %u: link %lld has another source or time than link %lld",
                from->source_repeats, (long long)(first + i), (long long)(first + i % m));
    return 0;
}

static int check_repeats(const struct og_options *opt, const struct og_loader_options *from,
                         struct og_err *err)
{
    const int64_t group = 1 + (int64_t)from->source_repeats;
    if (group == 1)
        return 0;
    if (!from->links ||
        !(opt->disjoint || opt->sampler == OG_SAMPLER_DISJOINT || opt->time != OG_TIMES_OFF))
        return og__fail(err, -EINVAL, "give links with --disjoint, or source_repeats 0",
                        "source_repeats %u: requires links with neighbourhoods of their own",
                        from->source_repeats);
    if (!opt->no_shuffle)
        return og__fail(err, -EINVAL, "give --no-shuffle",
                        "source_repeats %u: shuffling would separate a link from its repeats",
                        from->source_repeats);
    if (opt->batch % group == 0 && from->n_links % group == 0) {
        int rc = 0;
        for (int64_t first = 0; rc == 0 && first < from->n_links; first += opt->batch)
            rc = check_sources(from, first, OG_MIN((int64_t)opt->batch, from->n_links - first),
                               group, err);
        return rc;
    }
    return og__fail(err, -EINVAL, "give batches of whole groups: each link has its repeats with it",
                    "source_repeats %u: batches of %d, %lld links in all", from->source_repeats,
                    opt->batch, (long long)from->n_links);
}

static int check_links(const struct og_options *opt, const struct og_loader_options *from,
                       struct og_err *err)
{
    if (!from->links)
        return 0;
    if (opt->task != OG_TASK_LINK)
        return og__fail(err, -EINVAL, "give --task link", "links: --task %s does not take them",
                        og__option_word("task", opt->task));
    if (from->seeds || from->split)
        return og__fail(err, -EINVAL, "give links, or seeds, or a split",
                        "links: seeds or a split are given too");
    if (from->n_links < 1)
        return og__fail(err, -EINVAL, "give at least one pair of nodes", "links: an empty list");
    return 0;
}

static struct og_share share_of(const struct og_loader_options *from)
{
    return (struct og_share){from->rank, OG_MAX(from->ranks, 1u)};
}

static int check_share(const struct og_options *opt, const struct og_loader_options *from,
                       struct og_err *err)
{
    const uint32_t n = share_of(from).ranks, own = from->rank, here = (uint32_t)from->local_ranks;
    if (own >= n)
        return og__fail(err, -EINVAL, "ranks count from 0",
                        "rank %u: 0 to %u expected, of %u ranks", own, n - 1, n);
    if (here > n)
        return og__fail(err, -EINVAL,
                        "give the ranks on this machine; 0 = all (in Python LOCAL_WORLD_SIZE)",
                        "local_ranks %d: more than the %u ranks in all", (int)here, n);
    if (opt->exchange && n > 1)
        return og__fail(err, -EINVAL, "leave out --exchange: each rank then reads its own rows",
                        "--exchange: ranks of a loader cannot send rows to each other");
    return 0;
}

static int check_options(const struct og_options *opt, const struct og_loader_options *from,
                         struct og_err *err)
{
    if (opt->epochs < 1)
        return og__fail(err, -EINVAL, "use --epochs 1 or more",
                        "--epochs %d: there are no batches to load", opt->epochs);
    if (from->hold < 0 || from->hold > MOST_HELD)
        return og__fail(err, -EINVAL, "use 1 for a plain loop (max_held in Python)",
                        "hold %d: 0 to %d expected", from->hold, MOST_HELD);
    if (!(from->step_seconds >= 0))
        return og__fail(err, -EINVAL, "give the seconds of a training step, or 0 if unknown",
                        "step_seconds %g: 0 or more expected", from->step_seconds);
    if (from->seeds && from->split)
        return og__fail(err, -EINVAL, "pass one of them", "both a split and seeds are given");
    if (from->seeds && from->n_seeds < 1)
        return og__fail(err, -EINVAL, "give at least one node id", "seeds: an empty list");
    if (from->edge_features && from->no_features)
        return og__fail(err, -EINVAL, "leave one of them out",
                        "edge_features and no_features exclude each other");
    OG_DO(check_share(opt, from, err));
    OG_DO(check_links(opt, from, err));
    return check_repeats(opt, from, err);
}

static int find_split(const char *name, enum og__split *split, struct og_err *err)
{
    *split = og__split_named(name, strlen(name));
    if (*split < OG__SPLITS)
        return 0;
    return og__fail(err, -EINVAL, "use train, valid or test", "%s: there is no such split", name);
}

static const char *name_of(const struct og_loader_options *from, enum og__split split)
{
    static const char *const names[OG__SPLITS] = {"train", "valid", "test"};
    return from->seeds || from->links ? "seeds" : names[split];
}

/* ---- memory of this machine's ranks ---- */

static int local_ranks(const struct og_loader_options *from)
{
    const int all = (int)share_of(from).ranks;
    return from->local_ranks > 0 ? from->local_ranks : all;
}

/* Ranks of one run find each other by it. Process ids are those of one name space. */
static uint64_t number_of(const char *dataset, const struct og_loader_options *from)
{
    char path[PATH_MAX];
    struct stat ids;
    struct stat meta = {0};
    const char *name = from->share ? from->share : "";
    char *file = og__path_join(dataset, "meta.json");
    if (!file || stat(file, &meta) < 0) /* opening the dataset will say so */
        meta = (struct stat){0};
    free(file);
    const uint64_t counts[] = {share_of(from).ranks,
                               (uint64_t)local_ranks(from),
                               stat("/proc/self/ns/pid", &ids) == 0 ? ids.st_ino : 0,
                               meta.st_ino,
                               (uint64_t)meta.st_mtim.tv_sec,
                               (uint64_t)meta.st_mtim.tv_nsec};
    if (!realpath(dataset, path))
        path[0] = 0;
    return XXH3_64bits_withSeed(path, strlen(path), XXH3_64bits(counts, sizeof(counts))) ^
           XXH3_64bits(name, strlen(name));
}

static void join_ranks(struct og_loader *l, const char *dataset,
                       const struct og_loader_options *from)
{
    struct og_err why = {0};
    if (local_ranks(from) < 2 || (from->share && !from->share[0]) ||
        og__named_memory_join(&l->shared, number_of(dataset, from), &why) == 0)
        return;
    og__say(&(struct og_log){l->observer.message, l->observer.arg}, OG__WARN,
            "ranks of this machine have copies of their own: %s", why.message);
}

/* ---- opening ---- */

static int open_session(struct og_loader *l, const char *dataset, const struct og_options *opt,
                        const struct og_loader_options *from, struct og_err *err)
{
    struct og_handover to = {.n = l->buffer_pool->n,
                             .bytes = og__minibatch_most,
                             .seeds = from->seeds,
                             .n_seeds = from->n_seeds,
                             .links = from->links,
                             .n_links = from->n_links,
                             .source_repeats = from->source_repeats,
                             .times = from->times,
                             .step_seconds = from->step_seconds,
                             .drop_last = from->drop_last,
                             .release = og__loader_release,
                             .reclaim = og__loader_reclaim,
                             .self = l};
    struct og_session_use use = {.handover = &to,
                                 .share = share_of(from),
                                 .n_local = local_ranks(from),
                                 .shared_memory = l->shared.memory};
    OG_DO(find_split(from->split ? from->split : "train", &to.split, err));
    l->split = name_of(from, to.split);
    use.want = OG__WANT_LABELS | (from->evaluates ? 0u : OG__WANT_UNEVALUATED) |
               (from->no_features ? 0u : OG__WANT_FEATURES) |
               (from->edge_places ? OG__WANT_EDGES : 0u) |
               (from->edge_features ? OG__WANT_EDGE_ROWS : 0u);
    return og__session_open_for(&l->s, dataset, opt, &use, &l->observer, err);
}

/* Checksum of the caller's seeds, which belong to the session from then on. */
static void sum_seeds(struct og_loader *l)
{
    const struct og_split *split = &l->s->workload.split[OG__TRAIN];
    if (strcmp(l->split, "seeds") == 0)
        l->seeds_checksum = XXH3_64bits(split->ids, og__split_bytes(&l->s->workload, split));
    l->seeds_checksum ^= l->s->workload.schedule.order_checksum;
    if (split->times)
        l->seeds_checksum ^= XXH3_64bits(split->times, (size_t)split->n * sizeof(*split->times));
    l->seeds_checksum += l->s->config.handover.source_repeats;
    l->s->config.handover.seeds = l->s->config.handover.links = l->s->config.handover.times = NULL;
}

static int open_loader(struct og_loader *l, const char *dataset, const struct og_options *opt,
                       const struct og_loader_options *from, struct og_err *err)
{
    OG_DO(og__buffer_pool_open(&l->buffer_pool, from->hold + 1, err));
    join_ranks(l, dataset, from);
    OG_DO(open_session(l, dataset, opt, from, err));
    const size_t bytes = (size_t)l->buffer_pool->n * l->s->workload.bytes.handed;
    OG_DO(og__budget_charge(l->s->budget, bytes, og__handed_part, err));
    l->charged = bytes;
    sum_seeds(l);
    OG_DO(og__minibatch_maker_open(&l->maker, &l->s->path, l->s->pool, err));
    l->predicted = l->s->predicted.known && !l->s->predicted.bound;
    return og__loader_plan_text(l, &l->plan, err);
}

static void free_loader(struct og_loader *l)
{
    if (l->s)
        og__budget_uncharge(l->s->budget, l->charged - l->released, og__handed_part);
    og__minibatch_maker_close(&l->maker);
    og__session_close(l->s);
    og__named_memory_leave(&l->shared);
    og__buffer_pool_close(l->buffer_pool);
    pthread_mutex_destroy(&l->steering);
    free(l->plan);
    free(l->epochs);
    free(l);
}

int og_loader_open(struct og_loader **out, const char *dataset, const struct og_options *opt,
                   const struct og_loader_options *from, const struct og_observer *observer,
                   struct og_err *err)
{
    struct og_loader_options usual;
    og_loader_options_init(&usual);
    from = from ? from : &usual;
    *out = NULL;
    int rc = OG_SIZED(observer, "og_observer", err);
    rc = rc < 0 ? rc : OG_SIZED(from, "og_loader_options", err);
    rc = rc < 0 ? rc : check_options(opt, from, err);
    if (rc < 0)
        return rc;
    struct og_loader *l = calloc(1, sizeof(*l));
    if (!l)
        return og__fail_errno(err, -ENOMEM, NULL, "loader");
    pthread_mutex_init(&l->steering, NULL);
    l->hold = from->hold;
    l->epoch = 1;
    if (observer)
        l->observer = (struct og_observer){.size = sizeof(*observer),
                                           .arg = observer->arg,
                                           .message = observer->message,
                                           .stop = observer->stop};
    rc = open_loader(l, dataset, opt, from, err);
    if (rc < 0) {
        free_loader(l);
        return rc;
    }
    l->user_stop = l->observer.stop;
    l->observer.stop = &l->stop;
    *out = l;
    return 0;
}

/* ---- closing ---- */

/* Wakes waiting calls and waits until they have left; ends a run that others wait for. */
static void send_away(struct og_loader *l)
{
    struct og_buffer_pool *d = l->buffer_pool;
    pthread_mutex_lock(&d->lock);
    l->closing = true;
    l->halting = true;
    __atomic_store_n(&l->stop, 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&d->changed);
    while (l->n_inside > 0)
        pthread_cond_wait(&d->changed, &d->lock);
    pthread_mutex_unlock(&d->lock);
}

void og_loader_close(struct og_loader *l)
{
    if (!l || !og__buffer_pool_is_ours(
                  l->buffer_pool)) /* its threads are missing, its locks may be held */
        return;
    send_away(l);
    pthread_mutex_lock(&l->steering);
    og__loader_halt(l);
    pthread_mutex_unlock(&l->steering);
    free_loader(l);
}
