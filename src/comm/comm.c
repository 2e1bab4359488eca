#include "comm/async_exchange.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the launcher ---- */

/* Parses a number that `end` follows. */
static bool take_number(const char **at, char end, int *out)
{
    char *stop;
    const long value = strtol(*at, &stop, 10);
    if (stop == *at || *stop != end || value < -1 || value > INT_MAX)
        return false;
    *out = (int)value;
    *at = end ? stop + 1 : stop;
    return true;
}

/* "1/3:5,6,7" */
static bool read_worker(const char *text, int *rank, int *n, int *fd)
{
    if (!take_number(&text, '/', rank) || !take_number(&text, ':', n))
        return false;
    if (*n < 2 || *n > OG__MOST_RANKS || *rank < 0 || *rank >= *n)
        return false;
    for (int i = 0; i < *n; i++)
        if (!take_number(&text, i + 1 < *n ? ',' : 0, &fd[i]))
            return false;
    return true;
}

/* Treats the launcher's end as a stop request: nobody forwards signals then. The launcher may have
 * ended before this call. */
static void end_with_starter(int line)
{
    struct pollfd starter = {.fd = line, .events = POLLIN};
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (line >= 0 && poll(&starter, 1, 0) == 1)
        kill(getpid(), SIGTERM);
}

int og__comm_find(struct og_comm **out, struct og_err *err)
{
    const char *text = getenv(OG__WORKER_ENV);
    int fd[OG__MOST_RANKS];
    int rank;
    int n;
    *out = NULL;
    if (!text && og__mpi_rank() >= 0)
        return og__comm_mpi(out, err);
    if (!text) /* a single rank: no streams */
        return og__comm_sockets(out, 0, 1, (const int[]){-1}, err);
    if (!read_worker(text, &rank, &n, fd))
        return og__fail(err, -EINVAL, "leave it to `outgrow train --workers`",
                        OG__WORKER_ENV "=%s: cannot read it", text);
    end_with_starter(fd[rank]);
    return og__comm_sockets(out, rank, n, fd, err);
}

void og__comm_close(struct og_comm *c)
{
    if (!c)
        return;
    og__async_exchange_close(c->async);
    c->kind->close(c);
}

void og__comm_guard(const struct og_comm *c, bool on)
{
    const char word = on ? OG__GUARDED : OG__UNGUARDED;
    if (c->line < 0) /* no launcher that could kill it */
        return;
    (void)!send(c->line, &word, 1, MSG_NOSIGNAL); /* read by og__workers_run, each second */
}

/* ---- exchanging ---- */

/* None is under way, and there can be another. */
static int get_ready(struct og_comm *c, const struct og_message *send, struct og_err *err)
{
    OG_DO(og__comm_end(c, err));
    if (c->broken) /* the stream holds data of another exchange */
        return og__fail(err, -ECONNABORTED, NULL, "an exchange with other workers failed before");
    for (int i = 0; i < c->n; i++)
        c->sent += send[i].bytes;
    c->sent -= send[c->rank].bytes;
    return 0;
}

int og__comm_exchange(struct og_comm *c, const struct og_message *send,
                      const struct og_message *receive, struct og_err *err)
{
    int rc = get_ready(c, send, err);
    if (rc < 0)
        return rc;
    rc = c->kind->exchange(c, send, receive, err);
    c->exchanges++;
    c->broken = rc < 0;
    return rc;
}

int og__comm_begin(struct og_comm *c, const struct og_message *send,
                   const struct og_message *receive, struct og_err *err)
{
    if (!c->async && !c->one_thread)
        c->async = og__async_exchange_open(c);
    if (!c->async)
        return og__comm_exchange(c, send, receive, err);
    int rc = get_ready(c, send, err);
    if (rc == 0)
        og__async_exchange_begin(c->async, send, receive);
    return rc;
}

int og__comm_end(struct og_comm *c, struct og_err *err)
{
    return c->async ? og__async_exchange_end(c->async, err) : 0;
}

void og__comm_lay(const struct og_comm *c, void *at, void *own, const size_t *bytes,
                  struct og_message *out)
{
    char *next = at;
    for (int i = 0; i < c->n; i++) {
        const bool travels = i != c->rank;
        out[i] = (struct og_message){travels ? next : own, bytes[i]};
        next += travels ? bytes[i] : 0;
    }
}

int og__comm_gather(struct og_comm *c, void *all, size_t bytes, struct og_err *err)
{
    struct og_message send[OG__MOST_RANKS];
    struct og_message receive[OG__MOST_RANKS];
    for (int i = 0; i < c->n; i++) {
        send[i] = (struct og_message){(char *)all + (size_t)c->rank * bytes, bytes};
        receive[i] = (struct og_message){(char *)all + (size_t)i * bytes, bytes};
    }
    return og__comm_exchange(c, send, receive, err);
}
