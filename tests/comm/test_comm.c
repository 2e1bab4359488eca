/* Ranks that exchange bytes: threads here, each with its sockets. */
#include "support/testing.h"

#include "comm/comm.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RANKS = 4, ROUNDS = 12, MOST = 1 << 20 };

/* ---- streams between n ranks ---- */

struct mesh {
    int fd[RANKS][RANKS];
};

static void connect_all(struct mesh *m, int n)
{
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < RANKS; k++)
            m->fd[i][k] = -1;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++) {
            int pair[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
            m->fd[i][k] = pair[0];
            m->fd[k][i] = pair[1];
        }
}

static struct og_comm *rank_of(const struct mesh *m, int rank, int n)
{
    struct og_comm *c;
    struct og_err err = {0};
    if (og__comm_sockets(&c, rank, n, m->fd[rank], &err) < 0)
        fail_msg("%s", err.message);
    return c;
}

/* ---- what travels, as both sides know it ---- */

/* From nothing to more than a socket holds. */
static size_t length_of(int round, int from, int to)
{
    static const size_t lengths[] = {0, 1, 7, 4096, 65537, MOST, 16, 300000};
    return lengths[(size_t)(round * 5 + from * 3 + to) % OG_COUNT(lengths)];
}

static unsigned char byte_of(int round, int from, int to, size_t at)
{
    return (unsigned char)(at * 31 + (size_t)(round * 7 + from * 5 + to * 3));
}

struct rank {
    struct og_comm *comm;
    pthread_t thread;
    bool late;
    int wrong; /* bytes, and calls that failed */
    unsigned char *out[RANKS], *in[RANKS];
};

/* At once; begun, and ended; begun, and ended by the next one. */
static void exchange_by_turn(struct rank *r, int round, const struct og_message *send,
                             const struct og_message *receive)
{
    uint64_t all[RANKS] = {0};
    if (round % 3 == 0) {
        r->wrong += og__comm_exchange(r->comm, send, receive, NULL) < 0;
        return;
    }
    r->wrong += og__comm_begin(r->comm, send, receive, NULL) < 0;
    if (round % 3 == 1)
        r->wrong += og__comm_end(r->comm, NULL) < 0;
    else
        r->wrong += og__comm_gather(r->comm, all, sizeof(*all), NULL) < 0;
    r->wrong += og__comm_end(r->comm, NULL) < 0;
}

static void exchange_round(struct rank *r, int round)
{
    struct og_message send[RANKS] = {{0}};
    struct og_message receive[RANKS] = {{0}};
    const int own = r->comm->rank;
    for (int k = 0; k < r->comm->n; k++) {
        send[k] = (struct og_message){r->out[k], length_of(round, own, k)};
        receive[k] = (struct og_message){r->in[k], length_of(round, k, own)};
        for (size_t i = 0; i < send[k].bytes; i++)
            r->out[k][i] = byte_of(round, own, k, i);
    }
    if (r->late && round % 4 == 1)
        usleep(20000);
    exchange_by_turn(r, round, send, receive);
    for (int k = 0; k < r->comm->n; k++)
        for (size_t i = 0; k != own && i < receive[k].bytes; i++)
            r->wrong += r->in[k][i] != byte_of(round, k, own, i);
}

static void *run_rank(void *arg)
{
    struct rank *r = arg;
    uint64_t all[RANKS] = {0};
    for (int round = 0; round < ROUNDS && r->wrong == 0; round++) {
        exchange_round(r, round);
        all[r->comm->rank] = (uint64_t)(100 * round + r->comm->rank);
        r->wrong += og__comm_gather(r->comm, all, sizeof(*all), NULL) < 0;
        for (int k = 0; k < r->comm->n; k++)
            r->wrong += all[k] != (uint64_t)(100 * round + k);
    }
    return NULL;
}

static void everything_arrives(void **state)
{
    (void)state;
    for (int n = 2; n <= RANKS; n++) {
        struct rank rank[RANKS] = {{0}};
        struct mesh m;
        connect_all(&m, n);
        for (int i = 0; i < n; i++) {
            rank[i].comm = rank_of(&m, i, n);
            rank[i].late = i == n - 1;
            for (int k = 0; k < n; k++) {
                rank[i].out[k] = malloc(MOST);
                rank[i].in[k] = malloc(MOST);
            }
        }
        for (int i = 0; i < n; i++)
            assert_int_equal(pthread_create(&rank[i].thread, NULL, run_rank, &rank[i]), 0);
        for (int i = 0; i < n; i++)
            pthread_join(rank[i].thread, NULL);
        for (int i = 0; i < n; i++) {
            assert_int_equal(rank[i].wrong, 0);
            assert_true(rank[i].comm->sent > 0 && !rank[i].comm->broken);
            og__comm_close(rank[i].comm);
            for (int k = 0; k < n; k++) {
                free(rank[i].out[k]);
                free(rank[i].in[k]);
            }
        }
    }
}

/* ---- messages that are not as they should be: rank 1 is played by hand ---- */

static int exchange_with(struct og_comm *c, void *in, size_t bytes, struct og_err *err)
{
    const struct og_message send[] = {{NULL, 0}, {(char[]){"hello"}, 5}};
    const struct og_message receive[] = {{NULL, 0}, {in, bytes}};
    return og__comm_exchange(c, send, receive, err);
}

static void say(int fd, uint64_t number, uint64_t bytes, const void *what, size_t n)
{
    const uint64_t head[] = {number, bytes};
    assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
    assert_int_equal(write(fd, what, n), (ssize_t)n);
}

static void others_are_not_taken(void **state)
{
    (void)state;
    static const struct {
        uint64_t number, bytes;
        size_t written; /* before the stream ends */
        int rc;
        const char *says;
    } cases[] = {
        {0, 4, 4, 0, ""},
        {0, 3, 3, -EPROTO, "worker 1 sent 3 bytes"},
        {0, 5, 5, -EPROTO, "where 4 bytes"},
        {1, 4, 4, -EPROTO, "in exchange 1, where"},
        {0, 4, 2, -ECONNABORTED, "worker 1 has ended"},
        {0, 4, 0, -ECONNABORTED, "worker 1 has ended"},
    };
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        struct mesh m;
        struct og_err err = {0};
        char in[8] = "";
        connect_all(&m, 2);
        struct og_comm *c = rank_of(&m, 0, 2);
        say(m.fd[1][0], cases[i].number, cases[i].bytes, "abcdefgh", cases[i].written);
        shutdown(m.fd[1][0], SHUT_WR);
        assert_int_equal(exchange_with(c, in, 4, &err), cases[i].rc);
        assert_int_equal(c->broken, cases[i].rc < 0);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s", err.message);
        if (cases[i].rc == 0)
            assert_memory_equal(in, "abcd", 4);
        close(m.fd[1][0]);
        og__comm_close(c);
    }
}

/* What comes only when rank 1 has heard that this one continues meanwhile. */
static void one_that_is_begun_goes_on(void **state)
{
    (void)state;
    struct mesh m;
    char in[8] = "";
    const struct og_message send[] = {{NULL, 0}, {(char[]){"hello"}, 5}};
    const struct og_message receive[] = {{NULL, 0}, {in, 4}};
    char heard[16 + 5];
    connect_all(&m, 2);
    struct og_comm *c = rank_of(&m, 0, 2);
    assert_int_equal(og__comm_begin(c, send, receive, NULL), 0);
    assert_int_equal(recv(m.fd[1][0], heard, sizeof(heard), MSG_WAITALL), sizeof(heard));
    assert_memory_equal(heard + 16, "hello", 5);
    say(m.fd[1][0], 0, 4, "abcd", 4);
    assert_int_equal(og__comm_end(c, NULL), 0);
    assert_memory_equal(in, "abcd", 4);
    assert_int_equal(c->exchanges, 1);
    assert_int_equal(c->sent, 5);
    close(m.fd[1][0]);
    og__comm_close(c);
}

/* Its failure is that of whoever ends it, and of every other exchange. */
static void one_that_is_begun_fails_when_it_ends(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct mesh m;
        struct og_err err = {0};
        char in[8] = "";
        const struct og_message send[] = {{NULL, 0}, {(char[]){"hello"}, 5}};
        const struct og_message receive[] = {{NULL, 0}, {in, 4}};
        connect_all(&m, 2);
        struct og_comm *c = rank_of(&m, 0, 2);
        assert_int_equal(og__comm_begin(c, send, receive, NULL), 0);
        say(m.fd[1][0], 0, 4, "ab", 2);
        close(m.fd[1][0]);
        if (way < 2) {
            const int rc = way == 0 ? og__comm_end(c, &err) : exchange_with(c, in, 4, &err);
            assert_int_equal(rc, -ECONNABORTED);
            assert_non_null(strstr(err.message, "worker 1 has ended"));
            assert_true(c->broken);
            assert_int_equal(og__comm_end(c, NULL), 0);
            assert_int_equal(og__comm_begin(c, send, receive, NULL), -ECONNABORTED);
        }
        og__comm_close(c); /* or while it is under way */
    }
}

/* It ended before the first byte, or while a message went to it. */
static void one_that_has_ended_is_an_error(void **state)
{
    (void)state;
    struct mesh m;
    struct og_err err = {0};
    char in[8];
    connect_all(&m, 2);
    struct og_comm *c = rank_of(&m, 0, 2);
    close(m.fd[1][0]);
    assert_int_equal(exchange_with(c, in, 4, &err), -ECONNABORTED);
    assert_non_null(strstr(err.message, "worker 1 has ended"));
    assert_true(err.hint[0]);
    og__comm_close(c);
}

static void *dribble(void *arg)
{
    const int fd = *(const int *)arg;
    const uint64_t head[] = {0, 4};
    char bytes[sizeof(head) + 4];
    memcpy(bytes, head, sizeof(head));
    memcpy(bytes + sizeof(head), "abcd", 4);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        if (write(fd, &bytes[i], 1) != 1)
            return NULL;
        usleep(500);
    }
    return NULL;
}

static void bytes_may_come_one_by_one(void **state)
{
    (void)state;
    struct mesh m;
    pthread_t thread;
    char in[8];
    connect_all(&m, 2);
    struct og_comm *c = rank_of(&m, 0, 2);
    assert_int_equal(pthread_create(&thread, NULL, dribble, &m.fd[1][0]), 0);
    assert_int_equal(exchange_with(c, in, 4, NULL), 0);
    assert_memory_equal(in, "abcd", 4);
    pthread_join(thread, NULL);
    close(m.fd[1][0]);
    og__comm_close(c);
}

/* ---- who a process is ---- */

static void an_environment_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",       "x",       "1",          "1/2",        "0/1:-1",   "2/2:3,-1",   "-1/2:-1,3",
        "0/2:-1", "0/2:-1,", "0/2:-1,3,4", "0/65:-1,3,", "0/2:-1;3", "0/2: -1,3x", "0/2:a,b"};
    struct og_comm *c;
    assert_int_equal(unsetenv(OG__WORKER_ENV), 0);
    assert_int_equal(og__comm_find(&c, NULL), 0); /* alone */
    assert_true(c->rank == 0 && c->n == 1 && c->n_local == 1);
    uint64_t own = 7;
    assert_int_equal(og__comm_gather(c, &own, sizeof(own), NULL), 0);
    assert_true(own == 7 && c->sent == 0);
    og__comm_close(c);
    for (size_t i = 0; i < OG_COUNT(bad); i++) {
        struct og_err err = {0};
        setenv(OG__WORKER_ENV, bad[i], 1);
        if (og__comm_find(&c, &err) != -EINVAL)
            fail_msg("'%s' is taken", bad[i]);
        assert_null(c);
        assert_true(err.message[0] && err.hint[0]);
    }
    setenv(OG__WORKER_ENV, "1/3:900,-1,901", 1); /* descriptors that are none */
    assert_int_equal(og__comm_find(&c, NULL), 0);
    assert_int_equal(c->rank, 1);
    assert_int_equal(c->n, 3);
    uint64_t all[3] = {0};
    assert_true(og__comm_gather(c, all, sizeof(*all), NULL) < 0);
    og__comm_close(c);
    unsetenv(OG__WORKER_ENV);
}

/* ---- a rank among those that mpirun has started ---- */

/* Rank 0 says less than rank 1 expects. The error is reported once all is closed, as the command
 * does. */
static int say_less(void)
{
    struct og_comm *c;
    struct og_err err = {0};
    char text[] = "abcd";
    int rc = og__comm_find(&c, &err);
    if (rc == 0) {
        const struct og_message whole = {text, 4};
        const struct og_message half = {text, 3};
        const struct og_message none = {text, 0};
        const struct og_message send[] = {none, c->rank == 0 ? half : none};
        const struct og_message receive[] = {c->rank == 1 ? whole : none, none};
        rc = og__comm_exchange(c, send, receive, &err);
        og__comm_close(c);
    }
    if (rc < 0)
        fprintf(stderr, "%s\n", err.message);
    return rc < 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "say-less") == 0)
        return say_less();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_arrives),
        cmocka_unit_test(others_are_not_taken),
        cmocka_unit_test(one_that_is_begun_goes_on),
        cmocka_unit_test(one_that_is_begun_fails_when_it_ends),
        cmocka_unit_test(one_that_has_ended_is_an_error),
        cmocka_unit_test(bytes_may_come_one_by_one),
        cmocka_unit_test(an_environment_that_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
