/* Ranks of one machine: a stream between any two. All messages of an exchange are in flight at
 * once, so no rank waits for another's read before it reads itself.
 *
 *   | number of the exchange | bytes that follow |   bytes   |        a message, u64 each */
#include "comm/comm.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct head {
    uint64_t number, bytes;
};

/* One direction of a stream, and the progress within its header and message. */
struct way {
    struct head head;
    struct og_message message;
    size_t done;
};

struct peer {
    int fd;
    struct way out, in;
};

struct sockets {
    struct peer peer[OG__MOST_RANKS];
};

static size_t whole(const struct way *w)
{
    return sizeof(w->head) + w->message.bytes;
}

static bool is_done(const struct way *w)
{
    return w->done == whole(w);
}

/* The next byte to transfer, in the header or in the message. */
static char *place(struct way *w, size_t *left)
{
    if (w->done < sizeof(w->head)) {
        *left = sizeof(w->head) - w->done;
        return (char *)&w->head + w->done;
    }
    *left = whole(w) - w->done;
    return (char *)w->message.at + (w->done - sizeof(w->head));
}

static int ended(int rank, struct og_err *err)
{
    return og__fail(err, -ECONNABORTED, "read its last messages for the cause; go on with --resume",
                    "worker %d has ended", rank);
}

static int check_head(const struct og_comm *c, int rank, const struct way *w, struct og_err *err)
{
    if (w->head.number == c->exchanges && w->head.bytes == w->message.bytes)
        return 0;
    return og__fail(err, -EPROTO, "start all workers from the same version",
                    "worker %d sent %llu bytes in exchange %llu, where %zu bytes in exchange %llu "
                    "were expected",
                    rank, (unsigned long long)w->head.bytes, (unsigned long long)w->head.number,
                    w->message.bytes, (unsigned long long)c->exchanges);
}

/* Sends as much as possible without blocking. */
static int push(int rank, struct peer *p, struct og_err *err)
{
    while (!is_done(&p->out)) {
        size_t left;
        const char *from = place(&p->out, &left);
        const ssize_t n = send(p->fd, from, left, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n < 0)
            return errno == EPIPE || errno == ECONNRESET
                       ? ended(rank, err)
                       : og__fail_errno(err, -errno, NULL, "worker %d: cannot send", rank);
        p->out.done += (size_t)n;
    }
    return 0;
}

static int pull(const struct og_comm *c, int rank, struct peer *p, struct og_err *err)
{
    while (!is_done(&p->in)) {
        size_t left;
        char *to = place(&p->in, &left);
        const ssize_t n = recv(p->fd, to, left, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n == 0 || (n < 0 && errno == ECONNRESET))
            return ended(rank, err);
        if (n < 0)
            return og__fail_errno(err, -errno, NULL, "worker %d: cannot receive", rank);
        p->in.done += (size_t)n;
        if (p->in.done == sizeof(p->in.head) && check_head(c, rank, &p->in, err) < 0)
            return -EPROTO;
    }
    return 0;
}

static void begin(struct og_comm *c, const struct og_message *out, const struct og_message *in)
{
    struct sockets *s = c->self;
    for (int i = 0; i < c->n; i++) {
        struct peer *p = &s->peer[i];
        p->out = (struct way){{c->exchanges, out[i].bytes}, out[i], 0};
        p->in = (struct way){{0, 0}, in[i], 0};
    }
    struct peer *own = &s->peer[c->rank];
    own->out.done = whole(&own->out);
    own->in.done = whole(&own->in);
}

/* Streams that are not through with the exchange. */
static nfds_t list_open(const struct og_comm *c, struct pollfd *list, int *rank)
{
    const struct sockets *s = c->self;
    nfds_t n = 0;
    for (int i = 0; i < c->n; i++) {
        const struct peer *p = &s->peer[i];
        const short events =
            (short)((is_done(&p->out) ? 0 : POLLOUT) | (is_done(&p->in) ? 0 : POLLIN));
        if (events == 0)
            continue;
        list[n] = (struct pollfd){.fd = p->fd, .events = events};
        rank[n++] = i;
    }
    return n;
}

static int exchange(struct og_comm *c, const struct og_message *out, const struct og_message *in,
                    struct og_err *err)
{
    struct sockets *s = c->self;
    struct pollfd list[OG__MOST_RANKS];
    int rank[OG__MOST_RANKS];
    begin(c, out, in);
    for (nfds_t n; (n = list_open(c, list, rank)) > 0;) {
        if (poll(list, n, -1) < 0 && errno != EINTR)
            return og__fail_errno(err, -errno, NULL, "waiting for other workers");
        for (nfds_t i = 0; i < n; i++) {
            struct peer *p = &s->peer[rank[i]];
            OG_DO(pull(c, rank[i], p, err)); /* a peer that has ended may have sent data before */
            OG_DO(push(rank[i], p, err));
        }
    }
    return 0;
}

static void close_sockets(struct og_comm *c)
{
    struct sockets *s = c->self;
    for (int i = 0; i < c->n; i++)
        if (s->peer[i].fd >= 0)
            close(s->peer[i].fd);
    free(s);
    free(c);
}

static const struct og_comm_kind kind = {
    .name = "sockets", .exchange = exchange, .close = close_sockets};

int og__comm_sockets(struct og_comm **out, int rank, int n, const int *fd, struct og_err *err)
{
    struct og_comm *c = calloc(1, sizeof(*c));
    struct sockets *s = calloc(1, sizeof(*s));
    *out = NULL;
    if (!c || !s) {
        for (int i = 0; i < n; i++)
            if (fd[i] >= 0)
                close(fd[i]);
        free(c);
        free(s);
        return og__fail_errno(err, -ENOMEM, NULL, "workers");
    }
    *c = (struct og_comm){
        .kind = &kind, .rank = rank, .n = n, .n_local = n, .line = fd[rank], .self = s};
    for (int i = 0; i < n; i++)
        s->peer[i].fd = fd[i];
    *out = c;
    return 0;
}
