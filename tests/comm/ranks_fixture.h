/* Ranks as processes, each with a stream to every other, started by a test without threads. Has
 * ends of streams, a rank's number, and its file next to that of one process. */
#ifndef RANKS_FIXTURE_H
#define RANKS_FIXTURE_H

#include "support/testing.h"

#include "comm/comm.h"
#include "support/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RANKS_MOST = 4 };

/* [i][k]: rank i's end of its stream to rank k; -1 of its own. */
struct rank_streams {
    int fd[RANKS_MOST][RANKS_MOST];
};

static inline void connect_ranks(struct rank_streams *s, int n)
{
    for (int i = 0; i < n; i++) {
        s->fd[i][i] = -1;
        for (int k = 0; k < i; k++) {
            int pair[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
            s->fd[i][k] = pair[0];
            s->fd[k][i] = pair[1];
        }
    }
}

/* All ends but those of one rank; -1: all. */
static inline void close_ranks(const struct rank_streams *s, int n, int but)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (i != but && s->fd[i][k] >= 0)
                close(s->fd[i][k]);
}

/* This process is that rank from now on; of one it works alone. */
static inline void become_rank(const struct rank_streams *s, int n, int rank)
{
    char who[80];
    int at = snprintf(who, sizeof(who), "%d/%d:", rank, n);
    close_ranks(s, n, rank);
    if (n == 1)
        return;
    for (int k = 0; k < n; k++)
        at += snprintf(who + at, sizeof(who) - (size_t)at, "%s%d", k ? "," : "", s->fd[rank][k]);
    setenv(OG__WORKER_ENV, who, 1);
}

static inline void assert_same_file(const char *what, const char *run, const char *other,
                                    const char *file)
{
    char path[128];
    size_t n[2];
    snprintf(path, sizeof(path), "%s/%s", run, file);
    char *text = test_read(path, &n[0]);
    snprintf(path, sizeof(path), "%s/%s", other, file);
    char *others = test_read(path, &n[1]);
    if (n[0] != n[1] || memcmp(text, others, n[0]) != 0)
        fail_msg("%s: %s differs", what, file);
    free(text);
    free(others);
}

#endif
