/* Streams between processes of one machine whose virtual devices form a group. Only they know the
 * address:
 *
 *   rank r   listens at <id>-r, calls ranks 0 .. r - 1, and accepts calls of r + 1 .. n - 1 */
#include "device/virtual_group.h"

#include "base/base.h"

#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { WORDS = 2, PATIENCE_MS = 5000, AGAIN_MS = 2 };

/* Devices of other processes are others. */
void og__virtual_identify(unsigned char id[OG__DEVICE_ID], int number)
{
    const uint64_t words[WORDS] = {(uint64_t)getpid(), (uint64_t)number};
    memcpy(id, words, sizeof(words));
}

int og__virtual_group_id(unsigned char id[OG__GROUP_ID], struct og_err *err)
{
    uint64_t word[WORDS];
    if (getrandom(word, sizeof(word), 0) != (ssize_t)sizeof(word))
        return og__fail_errno(err, -errno, NULL, "virtual device: group");
    memset(id, 0, OG__GROUP_ID);
    snprintf((char *)id, OG__GROUP_ID, "outgrow-%016llx%016llx", (unsigned long long)word[0],
             (unsigned long long)word[1]);
    return 0;
}

/* A name that no folder has: it begins with a 0. */
static socklen_t name_of(struct sockaddr_un *a, const unsigned char *id, int rank)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "%.*s-%d", OG__GROUP_ID / 2,
                           (const char *)id, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int open_stream(struct og_err *err)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? og__fail_errno(err, -errno, NULL, "virtual device: group") : fd;
}

static int lost(int rank, struct og_err *err)
{
    return og__fail(err, -ENOTSUP, NULL,
                    "virtual device: the process of rank %d is not to be found on this machine",
                    rank);
}

static int listen_for(const unsigned char *id, int rank, int n, struct og_err *err)
{
    struct sockaddr_un a;
    const socklen_t size = name_of(&a, id, rank);
    const int fd = open_stream(err);
    if (fd < 0 || (bind(fd, (struct sockaddr *)&a, size) == 0 && listen(fd, n) == 0))
        return fd;
    const int rc = og__fail_errno(err, -errno, NULL, "virtual device: group");
    close(fd);
    return rc;
}

/* It may not listen yet. */
static int call(const unsigned char *id, int rank, int own, struct og_err *err)
{
    struct sockaddr_un a;
    const socklen_t size = name_of(&a, id, rank);
    for (int waited = 0; waited < PATIENCE_MS; waited += AGAIN_MS) {
        const int fd = open_stream(err);
        if (fd < 0)
            return fd;
        if (connect(fd, (struct sockaddr *)&a, size) == 0 &&
            send(fd, &own, sizeof(own), MSG_NOSIGNAL) == (ssize_t)sizeof(own))
            return fd;
        close(fd);
        usleep(AGAIN_MS * 1000);
    }
    return lost(rank, err);
}

/* A caller first sends its rank. */
static int take_call(int listener, int own, int n, int *fd, struct og_err *err)
{
    struct pollfd requested = {.fd = listener, .events = POLLIN};
    int rank = -1;
    if (poll(&requested, 1, PATIENCE_MS) != 1)
        return lost(n - 1, err);
    const int stream = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (stream < 0)
        return og__fail_errno(err, -errno, NULL, "virtual device: group");
    if (recv(stream, &rank, sizeof(rank), MSG_WAITALL) == (ssize_t)sizeof(rank) && rank > own &&
        rank < n && fd[rank] < 0) {
        fd[rank] = stream;
        return 0;
    }
    close(stream);
    return lost(rank, err);
}

int og__virtual_synchronize(struct og_comm **out, const unsigned char *id, int rank, int n,
                            struct og_err *err)
{
    int fd[OG__MOST_GROUP];
    int listener = -1;
    int rc;
    *out = NULL;
    if (n > OG__VIRTUAL_GROUP)
        return og__fail(err, -ENOTSUP, NULL, "virtual device: groups have at most %d",
                        (int)OG__VIRTUAL_GROUP);
    for (int i = 0; i < n; i++)
        fd[i] = -1;
    OG_TRY(listener = listen_for(id, rank, n, err));
    for (int i = 0; i < rank; i++)
        OG_TRY(fd[i] = call(id, i, rank, err));
    for (int i = rank + 1; i < n; i++)
        OG_TRY(take_call(listener, rank, n, fd, err));
out:
    if (listener >= 0)
        close(listener);
    if (rc >= 0)
        return og__comm_sockets(out, rank, n, fd, err);
    for (int i = 0; i < n; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    return rc;
}
