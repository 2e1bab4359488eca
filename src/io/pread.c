/* Plain pread in threads: everywhere, where io_uring is not. */
#include "io/workers.h"

#include <stdlib.h>
#include <unistd.h>

struct og_io_engine {
    struct og_workers *workers;
};

static void serve(void *arg, struct og_io_request *q)
{
    (void)arg;
    for (;;) {
        ssize_t n = pread(q->file->fd, (char *)q->data + q->done, q->length - q->done,
                          (off_t)(q->offset + q->done));
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            q->result = -errno;
        if (n < 0 || og__io_advance(q->file, q, (uint32_t)n))
            return;
    }
}

static bool pread_available(const char **reason)
{
    (void)reason;
    return true;
}

static void pread_close(struct og_io_engine *e)
{
    if (e)
        og__workers_close(e->workers);
    free(e);
}

static int pread_open(struct og_io_engine **out, const struct og_io_setup *s, struct og_err *err)
{
    *out = NULL;
    struct og_io_engine *e = calloc(1, sizeof(*e));
    if (!e)
        return og__fail_errno(err, -ENOMEM, NULL, "pread engine");
    int rc = og__workers_open(&e->workers, s->threads, serve, NULL, err);
    if (rc < 0)
        pread_close(e);
    else
        *out = e;
    return rc;
}

static int pread_submit(struct og_io_engine *e, struct og_io_request **reqs, size_t n,
                        struct og_err *err)
{
    (void)err;
    og__workers_submit(e->workers, reqs, n);
    return 0;
}

static int pread_reap(struct og_io_engine *e, struct og_io_request **reqs, size_t min, size_t max,
                      struct og_err *err)
{
    (void)err;
    return (int)og__workers_reap(e->workers, reqs, min, max);
}

const struct og_io_ops og__io_pread = {
    .name = "pread",
    .available = pread_available,
    .wants_direct = true,
    .open = pread_open,
    .close = pread_close,
    .submit = pread_submit,
    .reap = pread_reap,
};
