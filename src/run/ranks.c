#include "run/ranks.h"

#include "base/limits.h"

#include <outgrow/outgrow.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- are they of one kind? ---- */

/* Which instructions the operators are chosen by; other ones round in another way. */
static uint32_t instructions(void)
{
#if defined(__x86_64__)
    return (uint32_t)((__builtin_cpu_supports("avx") ? 1 : 0) |
                      (__builtin_cpu_supports("avx2") ? 2 : 0) |
                      (__builtin_cpu_supports("fma") ? 4 : 0) |
                      (__builtin_cpu_supports("avx512f") ? 8 : 0) |
                      (__builtin_cpu_supports("avx512bw") ? 16 : 0) |
                      (__builtin_cpu_supports("avx512dq") ? 32 : 0) |
                      (__builtin_cpu_supports("avx512vl") ? 64 : 0));
#else
    return 0;
#endif
}

static int compare_kinds(struct og_comm *c, struct og_err *err)
{
    struct {
        char version[32];
        uint32_t instructions, report_bytes;
    } all[OG__MOST_RANKS] = {{{0}, 0, 0}};
    const int own = c->rank;
    snprintf(all[own].version, sizeof(all[own].version), "%s", og_version());
    all[own].instructions = instructions();
    all[own].report_bytes = sizeof(struct og_rank_report);
    int rc = og__comm_gather(c, all, sizeof(*all), err);
    for (int i = 1; rc == 0 && i < c->n; i++) {
        if (memcmp(all[i].version, all[0].version, sizeof(all[i].version)) != 0 ||
            all[i].report_bytes != all[0].report_bytes)
            rc = og__fail(err, own == 0 ? -EINVAL : -ECONNABORTED,
                          "install one version on all machines",
                          "worker %d is of another version than worker 0", i);
        else if (all[i].instructions != all[0].instructions)
            rc = og__fail(err, own == 0 ? -EINVAL : -ECONNABORTED,
                          "start all workers on one kind of machine: others round differently",
                          "worker %d has CPU cores with other instructions than worker 0", i);
    }
    return rc;
}

/* ---- who shares what of a machine ---- */

struct place {
    char boot[40]; /* the machine's, since it was last started: containers on it have the same */
    struct og_cpus allowed;
    struct og_shared_memory_place
        shared_memory; /* that it has made; the first one's is that of all */
};

static bool is_here(const struct place *all, const struct og_comm *c, int rank)
{
    return memcmp(all[rank].boot, all[c->rank].boot, sizeof(all[rank].boot)) == 0;
}

static void tell_place(struct place *own)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f) {
        (void)!fread(own->boot, 1, sizeof(own->boot) - 1, f);
        fclose(f);
    }
    og__cpu_allowed(&own->allowed);
}

/* Launchers may have given each of them CPUs of its own. */
static int share_cpus(const struct place *all, const struct og_comm *c)
{
    struct og_cpus here[OG__MOST_RANKS];
    int n = 0;
    int own = 0;
    for (int i = 0; i < c->n; i++) {
        if (!is_here(all, c, i))
            continue;
        own = i == c->rank ? n : own;
        here[n++] = all[i].allowed;
    }
    const int quota = og__cpu_quota_at("");
    return OG_MIN(og__cpu_share(here, n, own), OG_MAX(quota / OG_MAX(n, 1), 1));
}

/* The first rank's of this machine, in the place of its own. */
static bool find_shared_memory(struct og_ranks *r, const struct place *all)
{
    int first = 0;
    while (!is_here(all, r->comm, first))
        first++;
    if (first == r->comm->rank)
        return r->shared_memory != NULL;
    og__shared_memory_close(r->shared_memory);
    return og__shared_memory_open(&r->shared_memory, &all[first].shared_memory, NULL) == 0;
}

/* All of a machine share, or none, since each counts its part. Whoever made it keeps it until all
 * have looked. */
static int open_shared_memory(struct og_ranks *r, const struct place *all, struct og_err *err)
{
    bool found[OG__MOST_RANKS] = {false};
    int here = 0;
    int sharing = 0;
    found[r->comm->rank] = find_shared_memory(r, all);
    int rc = og__comm_gather(r->comm, found, sizeof(*found), err);
    for (int i = 0; i < r->comm->n; i++) {
        r->here[i] = is_here(all, r->comm, i);
        here += r->here[i];
        sharing += r->here[i] && found[i];
    }
    if (here > 1 && sharing == here && here == r->comm->n_local)
        return rc;
    og__shared_memory_close(r->shared_memory);
    r->shared_memory = NULL;
    return rc;
}

static int compare_places(struct og_ranks *r, struct og_err *err)
{
    struct place *all = calloc((size_t)r->comm->n, sizeof(*all));
    int rc = all ? 0 : og__fail_errno(err, -ENOMEM, NULL, "workers");
    OG_TRY(rc);
    tell_place(&all[r->comm->rank]);
    if (og__shared_memory_make(&r->shared_memory, NULL) == 0)
        all[r->comm->rank].shared_memory = og__shared_memory_place(r->shared_memory);
    OG_TRY(og__comm_gather(r->comm, all, sizeof(*all), err));
    r->cpus = share_cpus(all, r->comm);
    OG_TRY(open_shared_memory(r, all, err));
out:
    free(all);
    return rc;
}

int og__ranks_open(struct og_ranks **out, struct og_err *err)
{
    struct og_comm *comm;
    int rc = og__comm_find(&comm, err);
    *out = NULL;
    if (rc < 0)
        return rc;
    struct og_ranks *r = calloc(1, sizeof(*r));
    if (!r) {
        og__comm_close(comm);
        return og__fail_errno(err, -ENOMEM, NULL, "workers");
    }
    r->comm = comm;
    rc = compare_kinds(comm, err);
    if (rc == 0)
        rc = compare_places(r, err);
    if (rc < 0)
        og__ranks_close(r);
    else
        *out = r;
    return rc;
}

void og__ranks_close(struct og_ranks *r)
{
    if (!r)
        return;
    if (r->log)
        fclose(r->log);
    free(r->said);
    og__shared_memory_close(r->shared_memory);
    og__comm_close(r->comm);
    free(r);
}

struct og_share og__ranks_share(const struct og_ranks *r)
{
    return (struct og_share){(uint32_t)r->comm->rank, (uint32_t)r->comm->n};
}

/* ---- meetings ---- */

/* It has heard how it ends, or has to say so itself: nobody needs to end it. */
static void leave(struct og_ranks *r)
{
    r->leaves = true;
    og__comm_guard(r->comm, true);
}

void og__ranks_write(struct og_ranks *r, bool on)
{
    if (!r->leaves)
        og__comm_guard(r->comm, on);
}

/* Who speaks for all: the first that failed, unless that was because of another; -1: none did. */
static int speaker(const struct og_ranks *r)
{
    int first = -1;
    for (int i = r->comm->n - 1; i >= 0; i--) {
        const struct og_rank_report *t = &r->report[i];
        const bool follows = t->what == OG__FAILS && t->why.code == -ECONNABORTED;
        if (t->what == OG__FAILS && (!follows || first < 0))
            first = i;
    }
    return first;
}

static int judge(const struct og_ranks *r, struct og_err *err)
{
    const int failed = speaker(r);
    bool stops = false;
    for (int i = 0; i < r->comm->n; i++)
        stops = stops || r->report[i].what == OG__STOPS;
    if (failed < 0)
        return stops ? og__fail(err, OG_INTERRUPTED, "go on with --resume", "interrupted") : 0;
    const struct og_err *why = &r->report[failed].why;
    return failed == r->comm->rank
               ? og__fail(err, why->code, why->hint, "%s", why->message)
               : og__fail(err, -ECONNABORTED, why->hint, "worker %d: %s", failed, why->message);
}

static int bring(struct og_ranks *r, const struct og_rank_report *own, struct og_err *err)
{
    r->report[r->comm->rank] = *own;
    r->report[r->comm->rank].sent = r->comm->sent;
    int rc = og__comm_gather(r->comm, r->report, sizeof(*r->report), err);
    r->parted = rc < 0;
    return rc;
}

int og__ranks_synchronize(struct og_ranks *r, const struct og_rank_report *own, struct og_err *err)
{
    int rc = bring(r, own, err);
    if (rc == 0) {
        rc = judge(r, err);
        r->stopped = rc == OG_INTERRUPTED;
        r->parted = rc < 0 && !r->stopped;
    }
    if (rc < 0)
        leave(r);
    return rc;
}

int og__ranks_agree(struct og_ranks *r, int rc, struct og_err *err)
{
    struct og_rank_report own = {.what = OG__HAS_NONE};
    struct og_err others = {0};
    if (rc < 0)
        leave(r);
    if (r->parted || (rc == OG_INTERRUPTED && r->stopped))
        return rc;
    if (rc < 0) {
        own.what = rc == OG_INTERRUPTED ? OG__STOPS : OG__FAILS;
        own.why = *err;
        own.why.code = rc;
    }
    const int met = og__ranks_synchronize(r, &own, &others);
    const bool unheard = r->parted && r->comm->broken; /* the error to report is this rank's */
    if (met == 0 || met == rc || (own.what == OG__FAILS && unheard))
        return rc;
    *err = others;
    return met;
}

/* Each rank counts its part of what all on a machine share. */
static bool shares_alike(const struct og_beginning *own, const struct og_beginning *other)
{
    return own->structure == other->structure && own->features == other->features;
}

int og__ranks_compare(struct og_ranks *r, struct og_beginning *own, struct og_err *err)
{
    struct og_beginning all[OG__MOST_RANKS] = {{0}};
    all[r->comm->rank] = *own;
    int rc = og__comm_gather(r->comm, all, sizeof(*all), err);
    const int code = r->comm->rank == 0 ? -EINVAL : -ECONNABORTED;
    for (int i = 1; rc == 0 && i < r->comm->n; i++) {
        if (all[i].contents != all[0].contents)
            rc = og__fail(err, code, "copy one dataset to all machines",
                          "worker %d has another dataset than worker 0", i);
        else if (all[i].numbers != all[0].numbers || all[i].exchanges != all[0].exchanges ||
                 all[i].ahead != all[0].ahead)
            rc = og__fail(err, code, "start all workers with one command line",
                          "worker %d has other options than worker 0", i);
        else if (r->here[i] && !shares_alike(own, &all[i]))
            rc = og__fail(
                err, code, "choose one: --topology memory or disk, --cache 100% or less",
                "--memory lets some workers of this machine share topology or features, but "
                "not all");
        else if (all[i].next_item != all[0].next_item)
            rc = og__fail(err, code, "give a --run that all machines see, or copy it to them",
                          "worker %d would resume at another batch than worker 0", i);
    }
    for (int i = 0; rc == 0 && i < r->comm->n; i++)
        own->behind_most = OG_MIN(own->behind_most, all[i].behind_most);
    r->parted = rc < 0;
    return rc;
}

int og__ranks_hear(struct og_ranks *r, void *value, size_t size, struct og_err *err)
{
    struct og_message send[OG__MOST_RANKS] = {{0}};
    struct og_message receive[OG__MOST_RANKS] = {{0}};
    const bool tells = r->comm->rank == 0;
    for (int i = 0; tells && i < r->comm->n; i++)
        send[i] = (struct og_message){value, size};
    if (!tells)
        receive[0] = (struct og_message){value, size};
    return og__comm_exchange(r->comm, send, receive, err);
}

int og__ranks_name(struct og_ranks *r, char *text, size_t size, struct og_err *err)
{
    int rc = og__ranks_hear(r, text, size, err);
    text[size - 1] = 0;
    return rc;
}

/* ---- scores ---- */

/* High ones from the front, low ones from the back: what others have follows what this one has. */
static int gather_list(struct og_ranks *r, struct og_scores *c, uint32_t l, struct og_err *err)
{
    struct {
        uint64_t high, low;
    } n[OG__MOST_RANKS] = {{0, 0}};
    struct og_message send[OG__MOST_RANKS];
    struct og_message receive[OG__MOST_RANKS];
    const int own = r->comm->rank;
    const size_t most = c->sizes.most;
    float *value = c->value + l * most;
    struct og_score_list *list = &c->list[l];
    n[own].high = list->n_high;
    n[own].low = list->n_low;
    OG_DO(og__comm_gather(r->comm, n, sizeof(*n), err));
    for (int i = 0; i < r->comm->n; i++) {
        send[i] = (struct og_message){value, n[own].high * sizeof(float)};
        receive[i] = (struct og_message){value + list->n_high, n[i].high * sizeof(float)};
        list->n_high += i == own ? 0 : n[i].high;
    }
    OG_DO(og__comm_exchange(r->comm, send, receive, err));
    for (int i = 0; i < r->comm->n; i++) {
        list->n_low += i == own ? 0 : n[i].low;
        send[i] = (struct og_message){value + most - n[own].low, n[own].low * sizeof(float)};
        receive[i] = (struct og_message){value + most - list->n_low, n[i].low * sizeof(float)};
    }
    return og__comm_exchange(r->comm, send, receive, err);
}

/* Piece by piece, of all ranks. */
static int add_counts(struct og_ranks *r, const struct og_scores *c, struct og_err *err)
{
    enum { COUNTS = 128 };
    uint64_t all[OG__MOST_RANKS][COUNTS];
    size_t n;
    uint64_t *count = og__scores_counts(c, &n);
    int rc = 0;
    for (size_t first = 0, m; first < n; first += m) {
        m = OG_MIN(n - first, (size_t)COUNTS);
        memset(all, 0, sizeof(all));
        memcpy(all[r->comm->rank], count + first, m * sizeof(*count));
        OG_TRY(og__comm_gather(r->comm, all, sizeof(*all), err));
        memset(count + first, 0, m * sizeof(*count));
        for (int i = 0; i < r->comm->n; i++)
            for (size_t k = 0; k < m; k++)
                count[first + k] += all[i][k];
    }
out:
    return rc;
}

int og__ranks_scores(struct og_ranks *r, struct og_scores *c, struct og_err *err)
{
    for (uint32_t l = 0; l < c->sizes.lists; l++)
        OG_DO(gather_list(r, c, l, err));
    return add_counts(r, c, err);
}

/* ---- messages ---- */

static void write_down(void *arg, int level, const char *text)
{
    struct og_ranks *r = arg;
    static const char *const levels[] = {"warning: ", "", ""};
    if (r->log && level <= OG__INFO) {
        fprintf(r->log, "%s%s\n", levels[level], text);
        fflush(r->log);
    }
}

void og__ranks_listen(struct og_ranks *r, struct og_observer *observer,
                      const struct og_observer *outer)
{
    *observer =
        (struct og_observer){.size = sizeof(struct og_observer), .arg = r, .message = write_down};
    if (outer)
        observer->stop = outer->stop;
    r->log = open_memstream(&r->said, &r->n_said);
}

int og__ranks_log(struct og_ranks *r, const char *folder, struct og_err *err)
{
    char name[32];
    snprintf(name, sizeof(name), "worker-%d.log", r->comm->rank);
    char *path = og__path_join(folder, name);
    FILE *f = path ? fopen(path, "a") : NULL;
    int rc = f ? 0 : og__fail_errno(err, path ? -errno : -ENOMEM, NULL, "%s/%s", folder, name);
    free(path);
    if (!f)
        return rc;
    if (r->log)
        fclose(r->log);
    if (r->said)
        fputs(r->said, f);
    fflush(f);
    r->log = f;
    return 0;
}

/* ---- what each did ---- */

json_t *og__ranks_with_sent(struct og_ranks *r, json_t *row)
{
    const uint64_t before = r->sent_before;
    if (r->comm->n == 1)
        return row;
    r->sent_before = 0;
    for (int i = 0; i < r->comm->n; i++)
        r->sent_before += r->report[i].sent;
    return og__json_with(row, "exchanged_bytes",
                         json_integer((json_int_t)(r->sent_before - before)));
}

void og__ranks_count(struct og_ranks *r, int rank, const struct og_rank_report *part)
{
    struct og_rank_did *d = &r->did[rank];
    d->batches += part->what == OG__HAS_PART;
    d->rows += part->counters.rows;
    d->hits += part->counters.hits;
    d->misses += part->counters.misses;
    d->rows_sent += part->rows_sent;
    d->rows_received += part->counters.rows_exchanged;
    d->bytes_read += part->counters.bytes_read;
    d->seconds += part->counters.train_seconds;
}

int og__ranks_introduce(struct og_ranks *r, uint64_t peak_rss, struct og_err *err)
{
    struct {
        char host[OG__HOST_NAME];
        uint64_t peak_rss;
    } all[OG__MOST_RANKS] = {{{0}, 0}};
    const int own = r->comm->rank;
    if (gethostname(all[own].host, sizeof(all[own].host) - 1) < 0)
        snprintf(all[own].host, sizeof(all[own].host), "?");
    all[own].peak_rss = peak_rss;
    int rc = og__comm_gather(r->comm, all, sizeof(*all), err);
    for (int i = 0; i < r->comm->n; i++) {
        memcpy(r->did[i].host, all[i].host, sizeof(all[i].host));
        r->did[i].peak_rss = all[i].peak_rss;
    }
    return rc;
}

json_t *og__ranks_json(const struct og_ranks *r)
{
    if (r->comm->n == 1)
        return json_null();
    json_t *list = json_array();
    for (int i = 0; i < r->comm->n; i++) {
        const struct og_rank_did *d = &r->did[i];
        list = og__json_append(
            list, json_pack("{s:i s:s s:I s:I s:I s:I s:I s:I s:I s:f s:I}", "rank", i, "host",
                            d->host, "batches", (json_int_t)d->batches, "rows", (json_int_t)d->rows,
                            "hits", (json_int_t)d->hits, "misses", (json_int_t)d->misses,
                            "rows_sent", (json_int_t)d->rows_sent, "rows_received",
                            (json_int_t)d->rows_received, "bytes_read", (json_int_t)d->bytes_read,
                            "seconds", d->seconds, "peak_rss_bytes", (json_int_t)d->peak_rss));
    }
    return list;
}
