/* Groups of virtual devices, and ranks that add their gradients on them: bit-identical to one
 * process. In every pace; runs resumed by another number of ranks; what ends them.
 *
 * Each rank is a process of its own, before it has threads. */
#include "support/testing.h"

#include "comm/comm.h"
#include "comm/ranks_fixture.h"
#include "device/virtual.h"
#include "support/files.h"
#include "support/folder.h"
#include "support/runs.h"
#include "support/small_run.h"

#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ==== the table ==== */

enum { NUMBERS = 3000, MEMBERS = 3 };

struct member {
    pthread_t thread;
    const unsigned char *id;
    int rank;
    enum og__pace pace;
    bool leaves; /* before its second exchange */
    struct og_device_counts counts;
    int rc;
    struct og_err err;
};

static const struct og_device_ops *const ops = &og__device_virtual;

static float number(int rank, int to, int i)
{
    return (float)(1000 * rank + 100 * to + i % 97);
}

/* Other lengths for each pair, of some none. */
static size_t length(int from, int to)
{
    return from == 2 && to == 0 ? 0 : (size_t)(NUMBERS - 100 * from - 10 * to);
}

struct lists {
    struct og_piece send[MEMBERS], receive[MEMBERS];
};

static void list(struct lists *l, int rank, float *out, float *in)
{
    for (int i = 0; i < MEMBERS; i++) {
        l->send[i] = (struct og_piece){out + (size_t)i * NUMBERS, length(rank, i) * sizeof(*out)};
        l->receive[i] = (struct og_piece){in + (size_t)i * NUMBERS, length(i, rank) * sizeof(*in)};
    }
}

/* Bytes copied to the device before the exchange are sent. Received bytes are there when it is
 * finished. The stream's order ensures both, whatever its pace. */
static int take_part(struct member *m, struct og_device *d, struct og_stream *s,
                     struct og_device_ring *g)
{
    const size_t bytes = (size_t)MEMBERS * NUMBERS * sizeof(float);
    float *host = ops->pin(d, bytes, &m->err), *back = ops->pin(d, bytes, &m->err);
    float *out = ops->alloc(d, bytes, &m->err), *in = ops->alloc(d, bytes, &m->err);
    struct lists l;
    int rc = 0;
    if (!host || !back || !out || !in)
        abort();
    list(&l, m->rank, out, in);
    for (int i = 0; i < MEMBERS * NUMBERS; i++)
        host[i] = number(m->rank, i / NUMBERS, i % NUMBERS);
    OG_TRY(ops->copy(s, out, host, bytes, OG__TO_DEVICE, &m->err));
    OG_TRY(ops->exchange(s, g, l.send, l.receive, &m->err));
    OG_TRY(ops->copy(s, back, in, bytes, OG__TO_HOST, &m->err));
    OG_TRY(ops->settle(s, g, &m->err));
    for (int from = 0; from < MEMBERS; from++)
        for (size_t i = 0; from != m->rank && i < length(from, m->rank); i++)
            if (back[(size_t)from * NUMBERS + i] != number(from, m->rank, (int)i))
                OG_TRY(og__fail(&m->err, -EINVAL, NULL, "rank %d: number %zu of rank %d is %g",
                                m->rank, i, from, (double)back[(size_t)from * NUMBERS + i]));
    if (m->leaves) {
        ops->end_group(g);
        rc = 1;
        goto out;
    }
    OG_TRY(ops->exchange(s, g, l.send, l.receive, &m->err));
    OG_TRY(ops->settle(s, g, &m->err));
out:
    ops->release(d, out, bytes);
    ops->release(d, in, bytes);
    ops->unpin(d, host, bytes);
    ops->unpin(d, back, bytes);
    return rc;
}

static void *be_member(void *arg)
{
    struct member *m = arg;
    struct og_device *d;
    struct og_stream *s;
    struct og_device_ring *g;
    if (ops->open(&d, m->rank, NULL) < 0 || ops->stream(d, &s, NULL) < 0)
        abort();
    m->rc = ops->group(d, &g, m->id, m->rank, MEMBERS, &m->err);
    if (m->rc == 0) {
        m->rc = take_part(m, d, s, g);
        ops->counts(d, &m->counts);
        if (m->rc <= 0)
            ops->end_group(g);
    }
    ops->end_stream(s);
    ops->close(d);
    return NULL;
}

static void meet(struct member *m, enum og__pace pace, int leaver)
{
    unsigned char id[OG__GROUP_ID];
    struct og_virtual v = og__virtual_usual;
    v.pace = pace;
    og__virtual_become(&v);
    assert_int_equal(ops->group_id(id, NULL), 0);
    for (int i = 0; i < MEMBERS; i++) {
        m[i] = (struct member){.id = id, .rank = i, .leaves = i == leaver};
        assert_int_equal(pthread_create(&m[i].thread, NULL, be_member, &m[i]), 0);
    }
    for (int i = 0; i < MEMBERS; i++)
        pthread_join(m[i].thread, NULL);
    og__virtual_become(&og__virtual_usual);
}

static void pieces_go_in_the_stream_s_order(void **state)
{
    (void)state;
    struct member m[MEMBERS];
    for (enum og__pace pace = 0; pace < OG__PACES; pace++) {
        meet(m, pace, -1);
        for (int i = 0; i < MEMBERS; i++) {
            size_t out = 0, in = 0;
            if (m[i].rc < 0)
                fail_msg("pace %d: %s", pace, m[i].err.message);
            for (int k = 0; k < MEMBERS; k++) {
                out += k == i ? 0 : length(i, k) * sizeof(float);
                in += k == i ? 0 : length(k, i) * sizeof(float);
            }
            const struct og_virtual *v = &og__virtual_usual;
            const double each =
                v->peer_latency + (double)OG_MAX(out, in) / v->peer_bytes_per_second;
            assert_int_equal(m[i].counts.group_bytes, 2 * (out + in));
            assert_true(m[i].counts.peer_seconds > 1.999 * each &&
                        m[i].counts.peer_seconds < 2.001 * each);
        }
    }
}

/* Who waits for one that has left fails, and says whom it lost. */
static void who_leaves_ends_the_others_exchange(void **state)
{
    (void)state;
    struct member m[MEMBERS];
    for (enum og__pace pace = 0; pace < OG__PACES; pace++) {
        meet(m, pace, 1);
        assert_int_equal(m[1].rc, 1);
        for (int i = 0; i < MEMBERS; i += 2) {
            assert_int_equal(m[i].rc, -ECONNABORTED);
            assert_non_null(strstr(m[i].err.message, "has ended"));
        }
    }
}

/* ==== ranks that train ==== */

enum { MOST = RANKS_MOST, BATCHES = 9, PATIENCE = 30 };

static char root[64], graph[96], alone[96], among[96];

/* Seen by the process that started them. */
struct end {
    int rc;
    uint64_t calls; /* of its devices */
    struct og_err err;
    bool says_why; /* that gradients go through the hosts */
};
static struct end *ends;

/* What a rank meets with. */
struct fate {
    const char *const *way; /* words of options */
    struct og_virtual v;
    int rank;         /* of this one alone: */
    uint64_t fail;    /* a call of its device fails, */
    uint64_t kill_at; /* or it is killed after so many mini-batches of the run; */
    uint64_t stop_at; /* rank 0 is stopped then */
};

static volatile sig_atomic_t stop;
static uint64_t seen_batches;
static pid_t pid[MOST]; /* rank 0, the last that is started, knows the others' */

/* Rank 0 alone reports the run. */
static void watch(void *arg, const struct og_progress *p)
{
    const struct fate *f = arg;
    if (strcmp(p->stage, "train") != 0)
        return;
    seen_batches++;
    if (f->kill_at && seen_batches == f->kill_at)
        kill(f->rank == 0 ? getpid() : pid[f->rank], SIGKILL);
    if (f->stop_at && seen_batches == f->stop_at)
        stop = 1;
}

static struct end *own_end;

static void note(void *arg, int level, const char *text)
{
    (void)arg, (void)level;
    own_end->says_why |= strstr(text, "gradients go through the hosts") != NULL;
}

static void options_of(struct og_options *opt, const char *run, const char *const *way)
{
    small_run(opt, run);
    test_set(opt, "model", "sage");
    test_set(opt, "norm", "batch");
    test_set(opt, "dropout", "0.2");
    test_set(opt, "accumulate", "4");
    test_set(opt, "batch", "6");
    test_set(opt, "epochs", "2");
    test_set(opt, "memory", "400M");
    test_set(opt, "log-every", "1");
    test_set(opt, "device", "virtual");
    for (; *way; way += 2)
        test_set(opt, way[0], way[1]);
}

static void train(struct end *end, const char *run, const struct fate *f, bool resume)
{
    struct og_options opt;
    const struct og_observer seen = {
        .size = sizeof(seen), .arg = (void *)f, .progress = watch, .message = note, .stop = &stop};
    options_of(&opt, run, f->way);
    opt.resume = resume;
    own_end = end;
    og__virtual_become(&f->v);
    end->rc = og_train(graph, &opt, &seen, NULL, &end->err);
    end->calls = og__virtual_calls();
    og__options_release(&opt);
}

static void run_rank(int rank, int n, const struct rank_streams *s, struct fate f, bool resume)
{
    become_rank(s, n, rank);
    alarm(PATIENCE);
    if (rank == f.rank)
        f.v.fail = f.fail;
    train(&ends[rank], n > 1 || resume ? among : alone, &f, resume);
    _exit(0);
}

/* n ranks from the beginning to their ends; one is a process that works alone. */
static void run_all(int n, const struct fate *f, bool resume)
{
    struct rank_streams s;
    memset(ends, 0, MOST * sizeof(*ends));
    connect_ranks(&s, n);
    for (int i = n - 1; i >= 0; i--) {
        pid[i] = fork();
        assert_true(pid[i] >= 0);
        if (pid[i] == 0)
            run_rank(i, n, &s, *f, resume);
    }
    close_ranks(&s, n, -1);
    for (int i = 0; i < n; i++) {
        int status;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        if (status != 0 && !(f->kill_at && i == f->rank && WIFSIGNALED(status)))
            fail_msg("rank %d of %d ends with %x", i, n, status);
    }
}

static void assert_all_trained(int n, const char *what)
{
    for (int i = 0; i < n; i++)
        if (ends[i].rc < 0)
            fail_msg("%s: rank %d of %d: %s (%s)", what, i, n, ends[i].err.message,
                     ends[i].err.hint);
}

/* Losses of all mini-batches and epochs, in the order of the log. */
static size_t read_losses(const char *run, double loss[4 * BATCHES])
{
    char path[128], *text;
    size_t bytes, n = 0;
    snprintf(path, sizeof(path), "%s/metrics.jsonl", run);
    text = test_read(path, &bytes);
    for (char *at = text; (at = strstr(at, "\"loss\":")); n++) {
        assert_true(n < 4 * BATCHES);
        loss[n] = strtod(at += strlen("\"loss\":"), NULL);
    }
    free(text);
    return n;
}

static void assert_same_run(const char *what)
{
    double a[4 * BATCHES], b[4 * BATCHES];
    const size_t n = read_losses(alone, a);
    assert_same_file(what, alone, among, "checkpoint.safetensors");
    assert_same_file(what, alone, among, "best.safetensors");
    assert_true(n >= 2 * BATCHES);
    assert_int_equal(read_losses(among, b), n);
    assert_memory_equal(a, b, n * sizeof(*a));
}

/* As in its summary, and, with what went from one to the other, as in its epochs. */
static json_int_t gradients_went_by(const char *way)
{
    char path[128];
    json_int_t bytes = 0;
    snprintf(path, sizeof(path), "%s/summary.json", among);
    json_t *told = json_load_file(path, 0, NULL), *epoch;
    size_t e;
    assert_non_null(told);
    assert_string_equal(json_string_value(json_object_get(told, "gradients")), way);
    json_array_foreach(json_object_get(told, "epochs"), e, epoch) bytes +=
        json_integer_value(json_object_get(epoch, "exchanged_bytes"));
    json_decref(told);
    return bytes;
}

static void forget(const char *run)
{
    test_shell("rm -rf %s", run);
}

static const char *const plain[] = {"staleness", "0", NULL};
static const char *const stale[] = {"staleness", "3", NULL};
static const char *const trained_by[] = {"staleness", "3", "trainers", "2", NULL};
static const char *const kept[] = {"staleness", "0", "device-memory", "4M", "policy",
                                   "degree",    NULL};

/* Bit-identical to one process, and through the hosts. */
static void sums_on_devices_are_those_of_one_process(void **state)
{
    (void)state;
    static const char *const *const ways[] = {plain, stale, trained_by, kept};
    for (size_t i = 0; i < OG_COUNT(ways); i++) {
        struct fate f = {.way = ways[i], .v = og__virtual_usual, .rank = -1};
        json_int_t bytes[2] = {0, 0};
        run_all(1, &f, false);
        assert_all_trained(1, "alone");
        for (int n = 2; n <= MOST; n *= 2) {
            for (int hosts = 0; hosts < 2; hosts++) {
                f.v.pace = (enum og__pace)((i + (size_t)n / 2) % OG__PACES);
                f.v.order = (enum og__order)((i + (size_t)n / 2) % OG__ORDERS);
                f.v.seed = i;
                f.v.alone = hosts;
                run_all(n, &f, false);
                assert_all_trained(n, ways[i][1]);
                assert_same_run(ways[i][1]);
                bytes[hosts] = gradients_went_by(hosts ? "hosts" : "devices");
                assert_int_equal(ends[0].says_why, hosts);
                forget(among);
            }
            /* and a few for the group itself */
            assert_true(bytes[0] >= bytes[1] && bytes[0] < bytes[1] + 512 * n * n);
        }
        forget(alone);
    }
}

/* In the middle of a step, by another number of ranks, one included. */
static void a_stopped_run_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    static const int by[][2] = {{2, 4}, {4, 2}, {2, 1}, {1, 2}};
    struct fate f = {.way = stale, .v = og__virtual_usual, .rank = -1};
    run_all(1, &f, false);
    assert_all_trained(1, "alone");
    for (size_t i = 0; i < OG_COUNT(by); i++) {
        struct fate first = f;
        first.stop_at = 2; /* of four */
        f.v.pace = first.v.pace = (enum og__pace)(i % OG__PACES);
        if (by[i][0] == 1) { /* where ranks go on */
            forget(among);
            test_shell("mv %s %s.whole", alone, alone);
        }
        run_all(by[i][0], &first, false);
        for (int r = 0; r < by[i][0]; r++)
            assert_int_equal(ends[r].rc, OG_INTERRUPTED);
        if (by[i][0] == 1)
            test_shell("mv %s %s && mv %s.whole %s", alone, among, alone, alone);
        run_all(by[i][1], &f, true);
        assert_all_trained(by[i][1], "resumed");
        assert_same_run("resumed");
        forget(among);
    }
    forget(alone);
}

/* Those that are left say whom they lost, and the run resumes from what was saved. */
static void a_killed_rank_ends_all(void **state)
{
    (void)state;
    static const char *const saving[] = {"staleness", "0", "checkpoint-every", "0", NULL};
    struct fate f = {.way = saving, .v = og__virtual_usual, .rank = -1};
    run_all(1, &f, false);
    assert_all_trained(1, "alone");
    for (int killed = 0; killed < 2; killed++) {
        struct fate first = f;
        first.rank = killed;
        first.kill_at = 5;
        run_all(2, &first, false);
        assert_int_equal(ends[1 - killed].rc, -ECONNABORTED);
        assert_non_null(strstr(ends[1 - killed].err.message, "has ended"));
        run_all(2, &f, true);
        assert_all_trained(2, "resumed");
        assert_same_run("killed");
        forget(among);
    }
    forget(alone);
}

/* A call that fails is reported to all by its rank. But where that only keeps devices from being a
 * group, the run continues through the hosts. */
static void a_call_that_fails_ends_all(void **state)
{
    (void)state;
    struct fate f = {.way = plain, .v = og__virtual_usual, .rank = -1};
    run_all(2, &f, false);
    assert_all_trained(2, "counting");
    forget(among);
    const uint64_t n = ends[1].calls, step = OG_MAX(n * test_ways_step() / 24, (uint64_t)1);
    int failed = 0;
    for (uint64_t k = 1; k <= n; k += step) {
        f.rank = (int)(k / step % 2);
        f.fail = k;
        run_all(2, &f, false);
        const struct end *own = &ends[f.rank], *other = &ends[1 - f.rank];
        if (own->rc < 0) {
            failed++;
            if (!strstr(own->err.message, "was to fail") || other->rc != -ECONNABORTED ||
                !other->err.message[0])
                fail_msg("call %llu of rank %d: %d '%s' and %d '%s'", (unsigned long long)k, f.rank,
                         own->rc, own->err.message, other->rc, other->err.message);
        } else {
            assert_all_trained(2, "by the hosts");
            gradients_went_by("hosts");
        }
        forget(among);
    }
    assert_true(failed > 1);
}

/* ==== its folder ==== */

static void generate(void)
{
    const struct og_generate how = small_graph(OG_PLANTED);
    const pid_t child = fork();
    int status;
    assert_true(child >= 0);
    if (child == 0)
        _exit(og_generate(graph, &how, NULL, NULL) < 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int begin(void **state)
{
    (void)state;
    assert_non_null(test_folder(root, "device_group"));
    snprintf(graph, sizeof(graph), "%s/graph", root);
    snprintf(alone, sizeof(alone), "%s/alone", root);
    snprintf(among, sizeof(among), "%s/among", root);
    ends =
        mmap(NULL, MOST * sizeof(*ends), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(ends != MAP_FAILED);
    setenv("XDG_CACHE_HOME", root, 1);
    generate();
    return 0;
}

static int end(void **state)
{
    (void)state;
    munmap(ends, MOST * sizeof(*ends));
    test_shell("rm -r %s", root);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_on_devices_are_those_of_one_process),
        cmocka_unit_test(a_stopped_run_goes_on_to_the_same_bytes),
        cmocka_unit_test(a_killed_rank_ends_all),
        cmocka_unit_test(a_call_that_fails_ends_all),
        cmocka_unit_test(pieces_go_in_the_stream_s_order), /* last: they begin threads here */
        cmocka_unit_test(who_leaves_ends_the_others_exchange),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
