/* Ranks that train while their exchange fails. A message is short or late, a call fails, a stream
 * is cut, a rank is killed. Where nothing is lost they end with the bytes of one process. Else
 * every rank ends with a message, at most one of them with the cause, and one process resumes from
 * what is there to the same result.
 *
 * The same with rows that ranks send one another (--exchange), under policies that look ahead or do
 * not. And with rows that they read in place, in memory that they share. There may be none of it,
 * it cannot be mapped, or it is full. Or a rank announces rows that are not there. And with rows of
 * several widths, which are sent.
 *
 * Each rank is a process of its own, before it has threads. Calls of send and recv, and for shared
 * memory, are wrapped (CMakeLists.txt): one rank has a plan for its k-th call of one of them. */
#include "support/testing.h"

#include "comm/comm.h"
#include "comm/ranks_fixture.h"
#include "flow/exchange_parts.h"
#include "support/files.h"
#include "support/folder.h"
#include "support/runs.h"
#include "support/small_run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 3, ALL = -1 };

ssize_t __real_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __real_recv(int fd, void *bytes, size_t n, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *bytes, size_t n, int flags);
int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
void *__real_mmap(void *at, size_t n, int protection, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t from);
int __real_fallocate(int fd, int mode, off_t from, off_t n);
int __wrap_fallocate(int fd, int mode, off_t from, off_t n);
void __real_og__place_rows(struct og_exchange *x, uint64_t round,
                           const struct og_demanded *requested);
void __wrap_og__place_rows(struct og_exchange *x, uint64_t round,
                           const struct og_demanded *requested);

/* ---- the plan ---- */

enum fault {
    NOTHING,
    HALVES,     /* every call moves half of what it could: no failure */
    LATE,       /* the k-th and a few after it wait first: no failure */
    SEND_FAILS, /* the k-th: the kernel has no memory for it */
    RECV_FAILS,
    SENDS_LESS, /* the head before a message gives fewer bytes */
    CUT,        /* half of the bytes go, then nothing any more, either way */
    KILLED,     /* half of the bytes go */
    OF_STREAMS, /* those before are of any exchange, the others of rows in place */
    MAP_FAILS = OF_STREAMS,
    ROOM_FAILS,
    OTHERS_ROWS, /* the k-th time that rows are placed it announces another rank's */
    NO_ROWS,     /* of some outside of the memory */
    FAULTS
};
static const char *const names[FAULTS] = {"nothing",    "halves",     "late",         "send fails",
                                          "recv fails", "sends less", "cut",          "killed",
                                          "map fails",  "room fails", "other's rows", "no rows"};

static struct {
    enum fault fault;
    long k;            /* from 1 */
    long sends, recvs; /* calls that moved bytes: how often one has to come again is chance */
    long maps, rooms, placed;
} plan;

static bool is_due(long calls)
{
    return plan.k > 0 && calls == plan.k;
}

static void wait_if_late(long calls)
{
    if (plan.fault == LATE && calls >= plan.k && calls < plan.k + 20)
        usleep(2000);
}

/* A head is a call of its own: number of the exchange, bytes that follow. */
static ssize_t send_less(int fd, const void *bytes, size_t n, int flags)
{
    uint64_t head[2];
    if (n != sizeof(head)) { /* the next that is one */
        plan.k++;
        return __real_send(fd, bytes, n, flags);
    }
    memcpy(head, bytes, n);
    head[1]--;
    return __real_send(fd, head, n, flags);
}

static ssize_t send_by_plan(int fd, const void *bytes, size_t n, int flags)
{
    const long calls = plan.sends + 1;
    wait_if_late(calls);
    if (plan.fault == HALVES)
        return __real_send(fd, bytes, (n + 1) / 2, flags);
    if (!is_due(calls))
        return __real_send(fd, bytes, n, flags);
    switch (plan.fault) {
    case SEND_FAILS:
        errno = ENOBUFS;
        return -1;
    case SENDS_LESS:
        return send_less(fd, bytes, n, flags);
    case CUT:
        (void)!__real_send(fd, bytes, n / 2, flags);
        shutdown(fd, SHUT_RDWR);
        return __real_send(fd, bytes, n, flags);
    case KILLED:
        (void)!__real_send(fd, bytes, n / 2, flags);
        raise(SIGKILL);
        return -1;
    default:
        return __real_send(fd, bytes, n, flags);
    }
}

ssize_t __wrap_send(int fd, const void *bytes, size_t n, int flags)
{
    const ssize_t sent = send_by_plan(fd, bytes, n, flags);
    plan.sends += sent > 0;
    return sent;
}

ssize_t __wrap_recv(int fd, void *bytes, size_t n, int flags)
{
    const long calls = plan.recvs + 1;
    wait_if_late(calls);
    if (plan.fault == RECV_FAILS && is_due(calls)) {
        errno = ENOMEM;
        return -1;
    }
    const ssize_t received = __real_recv(fd, bytes, plan.fault == HALVES ? (n + 1) / 2 : n, flags);
    plan.recvs += received > 0;
    return received;
}

/* ---- memory that ranks share ---- */

static bool shares = true;

int __wrap_memfd_create(const char *name, unsigned flags)
{
    errno = ENOMEM;
    return shares ? __real_memfd_create(name, flags) : -1;
}

void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t from)
{
    errno = ENOMEM;
    return plan.fault == MAP_FAILS &&
                   (flags | MAP_FIXED) == (MAP_SHARED | MAP_NORESERVE | MAP_FIXED) &&
                   is_due(++plan.maps)
               ? MAP_FAILED
               : __real_mmap(at, n, protection, flags, fd, from);
}

int __wrap_fallocate(int fd, int mode, off_t from, off_t n)
{
    errno = ENOSPC;
    return plan.fault == ROOM_FAILS && mode == FALLOC_FL_KEEP_SIZE && is_due(++plan.rooms)
               ? -1
               : __real_fallocate(fd, mode, from, n);
}

/* Those of the next rank, of a round or in its cache. */
static uint32_t others_row(const struct og_exchange *x, uint32_t number)
{
    const struct og_in_place *p = &x->in_place;
    const uint32_t all = x->ranks * OG__RECEIVED * p->room;
    return number < all ? (number + OG__RECEIVED * p->room) % all
                        : p->cache_at + (number - p->cache_at + p->cached) % (x->ranks * p->cached);
}

/* Just after all of a round, or after the slots of this rank's cache. */
static uint32_t no_row(const struct og_exchange *x)
{
    const struct og_in_place *p = &x->in_place;
    const uint32_t slots = p->slots[x->rank];
    return slots > 0 ? p->cache_at + x->rank * p->cached + slots
                     : x->ranks * OG__RECEIVED * p->room;
}

void __wrap_og__place_rows(struct og_exchange *x, uint64_t round,
                           const struct og_demanded *requested)
{
    uint32_t *others = x->sent.at;
    __real_og__place_rows(x, round, requested);
    if (requested->n_at == requested->counts[x->rank] || !is_due(++plan.placed))
        return;
    if (plan.fault == OTHERS_ROWS)
        *others = others_row(x, *others);
    if (plan.fault == NO_ROWS)
        *others = no_row(x);
}

/* ---- ranks ---- */

static char root[TEST_PATH], among[64];
/* A graph, of one type or of several, and one process's run on it. */
struct data {
    char graph[64], alone[64];
};
static struct data plain, typed, *data = &plain;

/* What a rank came to, in memory that it shares with the test. */
struct end {
    int rc;
    struct og_err err;
    long sends, recvs;
};
static struct end *ends; /* [RANKS] */
/* How rows are exchanged; NULL: they are not. */
struct way {
    const char *policy, *layout;
    const char *option, *value; /* one more, or NULL */
};
static const struct way *exchanged;

static void options_of(struct og_options *opt, const char *run)
{
    small_run(opt, run);
    test_set(opt, "model", "sage");
    test_set(opt, "norm", "batch");
    test_set(opt, "accumulate", "3");
    test_set(opt, "batch", "6");
    test_set(opt, "epochs", "2");
    test_set(opt, "memory", "256M");
    test_set(opt, "checkpoint-every", "0");
    if (!exchanged)
        return;
    test_set(opt, "exchange", "true");
    test_set(opt, "cache", "5%");
    test_set(opt, "policy", exchanged->policy);
    test_set(opt, "layout", exchanged->layout);
    test_set(opt, "superbatch", "4");
    if (exchanged->option)
        test_set(opt, exchanged->option, exchanged->value);
}

static void options_of_types(struct og_options *opt)
{
    if (data != &typed)
        return;
    test_set(opt, "embedding", "3");
    test_set(opt, "lr", "0.01");
}

static void train(struct end *end, const char *run, bool resume)
{
    struct og_options opt;
    options_of(&opt, run);
    options_of_types(&opt);
    opt.resume = resume;
    end->rc = og_train(data->graph, &opt, NULL, NULL, &end->err);
    og__options_release(&opt);
}

static void run_rank(int rank, const struct rank_streams *s)
{
    become_rank(s, RANKS, rank);
    train(&ends[rank], among, false);
    ends[rank].sends = plan.sends;
    ends[rank].recvs = plan.recvs;
    _exit(0);
}

/* All ranks from the beginning to their ends; `faulty` has the plan. Nothing is waited for but
 * them. */
static void run_all(enum fault fault, int faulty, long k)
{
    struct rank_streams s;
    pid_t pid[RANKS];
    memset(ends, 0, RANKS * sizeof(*ends));
    connect_ranks(&s, RANKS);
    for (int i = 0; i < RANKS; i++) {
        pid[i] = fork();
        assert_true(pid[i] >= 0);
        if (pid[i] != 0)
            continue;
        if (i == faulty || faulty == ALL) {
            plan.fault = fault;
            plan.k = k;
        }
        run_rank(i, &s);
    }
    close_ranks(&s, RANKS, -1);
    for (int i = 0; i < RANKS; i++) {
        int status;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        const bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!ended && !(fault == KILLED && i == faulty && WIFSIGNALED(status)))
            fail_msg("%s %ld of rank %d: rank %d ends with %x", names[fault], k, faulty, i, status);
    }
}

static int generate(const char *folder, bool resume, struct og_err *err)
{
    struct og_generate how = small_graph(OG_PLANTED);
    (void)resume;
    if (data == &typed) {
        how.types = "paper:160:8,author:70,venue:26:3";
        how.relations = "author:writes:paper:3,paper:cites:paper:2,venue:has:paper:1,"
                        "paper:by:author:2,paper:at:venue:3";
    }
    return og_generate(folder, &how, NULL, err);
}

static int train_alone(const char *run, bool resume, struct og_err *err)
{
    struct end own = {0};
    train(&own, run, resume);
    *err = own.err;
    return own.rc;
}

/* In a process of its own, so that this one has no threads when it forks. */
static void apart(int (*call)(const char *folder, bool resume, struct og_err *err),
                  const char *folder, bool resume)
{
    const pid_t pid = fork();
    int status;
    assert_true(pid >= 0);
    if (pid == 0) {
        struct og_err err = {0};
        const int rc = call(folder, resume, &err);
        if (rc < 0)
            fprintf(stderr, "%s: %s\n", folder, err.message);
        _exit(rc < 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- what is to hold ---- */

/* None of a file that is not complete: they are made under other names. */
static void assert_no_halves(void)
{
    test_shell("test ! -e %s || test -z \"$(find %s -name '*.tmp*' -o -name '.*' -type f)\"", among,
               among);
}

static void everything_is_there(void)
{
    assert_same_file("one process", data->alone, among, "checkpoint.safetensors");
    assert_same_file("one process", data->alone, among, "best.safetensors");
    assert_no_halves();
    test_shell("rm -r %s", among);
}

static bool is_late_only(enum fault fault)
{
    return fault == NOTHING || fault == HALVES || fault == LATE;
}

/* Nobody but the rank that is killed ends without a message. At most one has the cause, others
 * report whom they lost (-ECONNABORTED). */
static void check_ends(enum fault fault, int faulty, long k)
{
    int telling = 0;
    int failed = 0;
    for (int i = 0; i < RANKS; i++) {
        const struct end *e = &ends[i];
        if (fault == KILLED && i == faulty)
            continue;
        failed += e->rc < 0;
        telling += e->rc < 0 && e->rc != -ECONNABORTED;
        if (e->rc < 0 && (!e->err.message[0] || e->err.code != e->rc))
            fail_msg("%s %ld of rank %d: rank %d: %d '%s'", names[fault], k, faulty, i, e->rc,
                     e->err.message);
    }
    const int lost = fault == CUT || fault == KILLED; /* who was lost cannot say so */
    if (is_late_only(fault) ? failed > 0 : failed == 0 && fault != KILLED)
        fail_msg("%s %ld of rank %d: %d failed: %s", names[fault], k, faulty, failed,
                 ends[0].err.message);
    if (telling != (is_late_only(fault) || lost ? 0 : 1))
        fail_msg("%s %ld of rank %d: %d have it to tell: %s | %s | %s", names[fault], k, faulty,
                 telling, ends[0].err.message, ends[1].err.message, ends[2].err.message);
}

static void suffer(enum fault fault, int faulty, long k)
{
    run_all(fault, faulty, k);
    check_ends(fault, faulty, k);
    assert_no_halves();
    if (!is_late_only(fault))
        apart(train_alone, among, true); /* where nothing is there, from the beginning */
    everything_is_there();
}

static void late_and_short_calls_change_nothing(void **state)
{
    const int step = (int)test_ways_step();
    (void)state;
    suffer(NOTHING, ALL, 0);
    suffer(HALVES, ALL, 0);
    for (int rank = 0; rank < RANKS; rank += step) {
        suffer(HALVES, rank, 0);
        suffer(LATE, rank, 1);
        suffer(LATE, rank, ends[rank].sends / 2);
    }
}

/* Fails some calls from the first to the last, more at the ends, where ranks begin and part. Each
 * kind of failure takes others. */
static void fail_at_all(void)
{
    const size_t step = test_ways_step();
    run_all(NOTHING, ALL, 0);
    test_shell("rm -r %s", among);
    long sends = ends[0].sends; /* of whoever has the fewest */
    long recvs = ends[0].recvs;
    int turn = 0;
    for (int i = 1; i < RANKS; i++) {
        sends = OG_MIN(sends, ends[i].sends);
        recvs = OG_MIN(recvs, ends[i].recvs);
    }
    for (enum fault fault = SEND_FAILS; fault < OF_STREAMS; fault++) {
        const long all = fault == RECV_FAILS ? recvs : sends;
        const long at[] = {1, 2, 7, all / 4, all / 2, all * 3 / 4};
        for (size_t i = (size_t)fault % step; i < OG_COUNT(at); i += step)
            suffer(fault, turn++ % RANKS, at[i]);
    }
}

static void every_failure_ends_all(void **state)
{
    (void)state;
    fail_at_all();
}

static const struct way ways[] = {
    {.policy = "lru", .layout = "raw"},         {.policy = "belady", .layout = "packed"},
    {"belady", "raw", "phased-memory", "true"}, {"lru", "raw", "pipeline", "none"},
    {.policy = "sweep", .layout = "segmented"}, {.policy = "degree", .layout = "raw"}};

/* Streams fail while rows are read in place, and while they are sent. */
static void so_do_those_of_rows(void **state)
{
    (void)state;
    bool in_place = true;
    for (size_t i = 0; i < OG_COUNT(ways); i += test_ways_step(), in_place = !in_place) {
        const int rank = (int)i % RANKS;
        exchanged = &ways[i];
        shares = in_place;
        suffer(HALVES, ALL, 0);
        suffer(LATE, rank, ends[rank].sends / 2);
        fail_at_all();
    }
    exchanged = NULL;
    shares = true;
}

static void so_do_those_of_types(void **state)
{
    (void)state;
    data = &typed;
    for (size_t i = 0; i < 2; i += test_ways_step()) {
        exchanged = &ways[i];
        suffer(HALVES, ALL, 0);
        fail_at_all();
    }
    exchanged = NULL;
    data = &plain;
}

/* Failures of memory, for some execution plans. The last, whose caches are read in place, is always
 * among them: there is more to map. */
static void so_do_those_of_memory(void **state)
{
    (void)state;
    const size_t last = OG_COUNT(ways) - 1;
    for (size_t i = 0; i <= last; i++) {
        if (i % test_ways_step() != 0 && i != last)
            continue;
        exchanged = &ways[i];
        for (int rank = 0; rank < RANKS; rank++) {
            for (long k = 1; k <= (i == last ? 2 + RANKS : 1); k++)
                suffer(MAP_FAILS, rank, k);
            for (long k = 1; k <= 3; k++)
                suffer(ROOM_FAILS, rank, k);
            for (long k = 1; k <= 8; k += 7) {
                suffer(OTHERS_ROWS, rank, k);
                suffer(NO_ROWS, rank, k);
            }
        }
    }
    exchanged = NULL;
}

/* ---- its folder ---- */

static void prepare(struct data *d, const char *name)
{
    snprintf(d->graph, sizeof(d->graph), "%s/%s", root, name);
    snprintf(d->alone, sizeof(d->alone), "%s/%s-alone", root, name);
    data = d;
    apart(generate, d->graph, false);
    apart(train_alone, d->alone, false);
}

static int begin(void **state)
{
    (void)state;
    assert_non_null(test_folder(root, "exchange"));
    snprintf(among, sizeof(among), "%s/among", root);
    ends = mmap(NULL, RANKS * sizeof(*ends), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                0);
    assert_true(ends != MAP_FAILED);
    setenv("XDG_CACHE_HOME", root, 1);
    prepare(&typed, "typed");
    prepare(&plain, "plain");
    return 0;
}

static int end(void **state)
{
    (void)state;
    munmap(ends, RANKS * sizeof(*ends));
    test_shell("rm -r %s", root);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_and_short_calls_change_nothing),
        cmocka_unit_test(every_failure_ends_all),
        cmocka_unit_test(so_do_those_of_rows),
        cmocka_unit_test(so_do_those_of_types),
        cmocka_unit_test(so_do_those_of_memory),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
