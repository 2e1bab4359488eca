/* The engine that reads nothing: every request completes at once with zeros. What a run costs on
 * it is the cost of everything but the disk. */
#include "oracles/null_engine.h"

#include <stdlib.h>
#include <string.h>

struct og_io_engine {
    struct og_io_request **finished; // [capacity]
    size_t count, capacity;
};

static bool null_available(const char **reason)
{
    (void)reason;
    return true;
}

static void null_close(struct og_io_engine *e)
{
    if (e)
        free(e->finished);
    free(e);
}

static int null_open(struct og_io_engine **out, const struct og_io_setup *s, struct og_err *err)
{
    *out = NULL;
    struct og_io_engine *e = calloc(1, sizeof(*e));
    if (e)
        e->finished = calloc((size_t)s->depth, sizeof(struct og_io_request *));
    if (!e || !e->finished) {
        null_close(e);
        return og__fail_errno(err, -ENOMEM, NULL, "null engine");
    }
    e->capacity = (size_t)s->depth;
    *out = e;
    return 0;
}

static int null_submit(struct og_io_engine *e, struct og_io_request **reqs, size_t n,
                       struct og_err *err)
{
    if (n > e->capacity - e->count)
        return og__fail_errno(err, -EBUSY, NULL, "null engine");
    for (size_t i = 0; i < n; i++) {
        memset(reqs[i]->data, 0, reqs[i]->length);
        reqs[i]->result = (int32_t)reqs[i]->length;
        e->finished[e->count++] = reqs[i];
    }
    return 0;
}

static int null_reap(struct og_io_engine *e, struct og_io_request **reqs, size_t min, size_t max,
                     struct og_err *err)
{
    (void)min, (void)err;
    size_t n = OG_MIN(max, e->count);
    e->count -= n;
    memcpy(reqs, e->finished + e->count, n * sizeof(*reqs));
    return (int)n;
}

const struct og_io_ops og__io_null = {
    .name = "null",
    .available = null_available,
    .wants_direct = true,
    .open = null_open,
    .close = null_close,
    .submit = null_submit,
    .reap = null_reap,
};
