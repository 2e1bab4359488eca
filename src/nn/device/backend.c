#include "nn/device/backend.h"

#include <stdlib.h>
#include <string.h>

#define LIBRARY "library"
#define HALF    (OG_MIB) /* of the staging memory */

/* ==== open and close ==== */

size_t og__device_own_bytes(int threads)
{
    (void)threads;
    return 2 * HALF;
}

static int open_streams(struct og_nn_backend *be, struct og_err *err)
{
    OG_DO(be->ops->stream(be->device, &be->work, err));
    OG_DO(be->ops->stream(be->device, &be->copies, err));
    OG_DO(be->ops->event(be->device, &be->worked, err));
    for (int i = 0; i < 2; i++)
        OG_DO(be->ops->event(be->device, &be->copied[i], err));
    return 0;
}

static int open_staging(struct og_nn_backend *be, struct og_err *err)
{
    OG_DO(og__budget_charge(be->host, 2 * HALF, "activations", err));
    be->staging = be->ops->pin(be->device, 2 * HALF, err);
    if (be->staging)
        return 0;
    og__budget_uncharge(be->host, 2 * HALF, "activations");
    return -ENOMEM;
}

static int check_number(const struct og_device_ops *ops, int number, struct og_err *err)
{
    char why[256] = "";
    const int n = ops->count(why, sizeof(why));
    return number < n ? 0
                      : og__fail(err, -ENOTSUP, "choose others with --devices",
                                 "device %s: no number %d, of %d found", ops->name, number, n);
}

int og__device_open(struct og_nn_backend **out, const struct og_device_ops *ops, int number,
                    struct og_budget *b, struct og_err *err)
{
    int rc = 0;
    struct og_nn_backend *be = calloc(1, sizeof(*be));
    *out = NULL;
    if (be)
        be->budget = og__budget_new(0);
    if (!be || !be->budget)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "operators"));
    be->ops = ops;
    be->host = b;
    OG_TRY(og__budget_charge(be->budget, ops->own_bytes(), LIBRARY, err));
    be->library = ops->own_bytes();
    OG_TRY(check_number(ops, number, err));
    OG_TRY(ops->open(&be->device, number, err));
    OG_TRY(open_streams(be, err));
    OG_TRY(open_staging(be, err));
    *out = be;
    be = NULL;
out:
    og__device_close(be);
    return rc;
}

static void close_constants(struct og_nn_backend *be);

void og__device_close(struct og_nn_backend *be)
{
    if (!be)
        return;
    if (be->copies) /* outstanding work may touch freed memory, whether it fails or not */
        be->ops->finish(be->copies, NULL);
    if (be->work)
        be->ops->finish(be->work, NULL);
    close_constants(be);
    if (be->extra) {
        be->ops->release(be->device, be->extra, be->extra_bytes);
        og__budget_uncharge(be->budget, be->extra_bytes, OG__OPERATORS);
    }
    if (be->staging) {
        be->ops->unpin(be->device, be->staging, 2 * HALF);
        og__budget_uncharge(be->host, 2 * HALF, "activations");
    }
    if (be->device) {
        for (int i = 0; i < 2; i++)
            be->ops->end_event(be->copied[i]);
        be->ops->end_event(be->worked);
        be->ops->end_stream(be->copies);
        be->ops->end_stream(be->work);
        be->ops->close(be->device);
    }
    if (be->library)
        og__budget_uncharge(be->budget, be->library, LIBRARY);
    og__budget_free(be->budget);
    free(be);
}

void og__device_set_compute(struct og_nn_backend *be, int compute)
{
    be->compute = compute;
}

/* ==== memory ==== */

static struct og_nn_backend *backend_of(const struct og_memory *m)
{
    return m->device;
}

static int clear_now(struct og_nn_backend *be, struct og_stream *s, void *p, size_t bytes,
                     struct og_err *err)
{
    int rc = be->ops->clear(s, p, bytes, err);
    return rc < 0 ? rc : be->ops->finish(s, err);
}

static int charge(struct og_nn_backend *be, size_t bytes, const char *part, struct og_err *err)
{
    struct og_err why = {0};
    const int rc = og__budget_charge(be->budget, bytes, part, &why);
    return rc < 0 ? og__fail(err, rc, "use a larger --device-memory", "device %s: %s",
                             be->ops->name, why.message)
                  : 0;
}

int og__device_bound(struct og_nn_backend *be, size_t bytes, struct og_err *err)
{
    return og__budget_bound(be->budget, bytes)
               ? 0
               : og__fail(err, -ENOMEM, "use a larger --device-memory",
                          "device %s: more than %zu bytes allocated", be->ops->name, bytes);
}

void *og__device_take_by(struct og_nn_backend *be, struct og_stream *s, size_t bytes,
                         const char *part, struct og_err *err)
{
    if (charge(be, bytes, part, err) < 0)
        return NULL;
    void *p = be->ops->alloc(be->device, bytes, err);
    if (p && clear_now(be, s, p, bytes, err) == 0)
        return p;
    be->ops->release(be->device, p, bytes);
    og__budget_uncharge(be->budget, bytes, part);
    return NULL;
}

void og__device_give_idle(struct og_nn_backend *be, void *p, size_t bytes, const char *part)
{
    if (!p)
        return;
    be->ops->release(be->device, p, bytes);
    og__budget_uncharge(be->budget, bytes, part);
}

static void *device_alloc(const struct og_memory *m, size_t bytes, const char *part,
                          struct og_err *err)
{
    struct og_nn_backend *be = backend_of(m);
    return og__device_take_by(be, be->work, bytes, part, err);
}

static void device_release(const struct og_memory *m, void *p, size_t bytes, const char *part)
{
    struct og_nn_backend *be = backend_of(m);
    if (!p)
        return;
    be->ops->finish(be->copies, NULL); /* a failure here was reported before */
    be->ops->finish(be->work, NULL);
    og__device_give_idle(be, p, bytes, part);
}

struct og_memory og__device_memory(const struct og_nn_backend *be)
{
    static const struct og_memory_kind kind = {device_alloc, device_release};
    return (struct og_memory){&kind, be->budget, (void *)be};
}

void *og__device_take(struct og_nn_backend *be, size_t bytes, const char *part, struct og_err *err)
{
    const struct og_memory own = og__device_memory(be);
    return device_alloc(&own, bytes, part, err);
}

void og__device_give(struct og_nn_backend *be, void *p, size_t bytes, const char *part)
{
    const struct og_memory own = og__device_memory(be);
    device_release(&own, p, bytes, part);
}

/* ==== there and back ==== */

/* Copies wait for the operators requested before, which make or still read the data. */
static int behind_operators(struct og_nn_backend *be, struct og_err *err)
{
    int rc = be->ops->record(be->worked, be->work, err);
    return rc < 0 ? rc : be->ops->follow(be->copies, be->worked, err);
}

int og__device_fetch(struct og_nn_backend *be, void *host, const void *on_backend, size_t bytes,
                     struct og_err *err)
{
    OG_DO(behind_operators(be, err));
    OG_DO(be->ops->copy(be->copies, host, on_backend, bytes, OG__TO_HOST, err));
    return be->ops->finish(be->copies, err);
}

/* Waits for half of the staging memory and takes it. */
static int take_half(struct og_nn_backend *be, char **out, struct og_err *err)
{
    *out = be->staging + (size_t)be->half * HALF;
    return be->ops->wait(be->copied[be->half], err);
}

/* Sends the half; the next one taken is the other. */
static int send_half(struct og_nn_backend *be, void *on_backend, size_t bytes, struct og_err *err)
{
    const char *staged = be->staging + (size_t)be->half * HALF;
    struct og_event *copied = be->copied[be->half];
    be->half = !be->half;
    OG_DO(be->ops->copy(be->copies, on_backend, staged, bytes, OG__TO_DEVICE, err));
    OG_DO(be->ops->record(copied, be->copies, err));
    return be->ops->follow(be->work, copied, err);
}

/* Returns once the data is staged; the host prepares the next while operators run. */
int og__device_push(struct og_nn_backend *be, void *on_backend, const void *host, size_t bytes,
                    struct og_err *err)
{
    char *staged;
    OG_DO(behind_operators(be, err));
    for (size_t at = 0, n; at < bytes; at += n) {
        n = OG_MIN(bytes - at, HALF);
        OG_DO(take_half(be, &staged, err));
        memcpy(staged, (const char *)host + at, n);
        OG_DO(send_half(be, (char *)on_backend + at, n, err));
    }
    return 0;
}

/* ==== constants ==== */

struct og_constant {
    struct og_constant *next;
    const void *host;
    void *copy;
    size_t bytes;
};

static int add_constant(struct og_nn_backend *be, const void *host, size_t bytes,
                        struct og_err *err)
{
    struct og_constant *c = malloc(sizeof(*c));
    int rc;
    OG_TRY(c ? 0 : og__fail_errno(err, -ENOMEM, NULL, "operators"));
    *c = (struct og_constant){be->constants, host, NULL, bytes};
    c->copy = og__device_take(be, bytes, OG__OPERATORS, err);
    OG_TRY(c->copy ? og__device_push(be, c->copy, host, bytes, err) : -ENOMEM);
    be->constants = c;
    return 0;
out:
    if (c)
        og__device_give(be, c->copy, bytes, OG__OPERATORS);
    free(c);
    return rc;
}

int og__device_constant(struct og_nn_backend *be, const void *host, size_t bytes,
                        const void **on_backend, struct og_err *err)
{
    const struct og_constant *c = be->constants;
    while (c && (c->host != host || c->bytes != bytes))
        c = c->next;
    const int rc = c ? 0 : add_constant(be, host, bytes, err);
    if (rc == 0)
        *on_backend = (c ? c : be->constants)->copy;
    return rc;
}

static void close_constants(struct og_nn_backend *be)
{
    while (be->constants) {
        struct og_constant *c = be->constants;
        be->constants = c->next;
        og__device_give(be, c->copy, c->bytes, OG__OPERATORS);
        free(c);
    }
}

int og__device_clear(struct og_nn_backend *be, void *on_backend, size_t bytes, struct og_err *err)
{
    return be->ops->clear(be->work, on_backend, bytes, err);
}

int og__device_number(struct og_nn_backend *be, uint32_t *on_backend, uint32_t n,
                      struct og_err *err)
{
    const struct og_k_count_up args = {n, on_backend};
    return OG__EACH_ITEM(be, og__k_count_up, n, &args, err);
}

static int send_rows(struct og_nn_backend *be, const struct og_rows *x, uint32_t first,
                     uint32_t last, char *out, struct og_err *err)
{
    const size_t row = (size_t)x->dim * og__dtype_size(x->dtype);
    char *staged;
    OG_DO(take_half(be, &staged, err));
    for (uint32_t i = first; i < last; i++)
        memcpy(staged + (i - first) * row, og__row(x, i), row);
    return send_half(be, out + first * row, (last - first) * row, err);
}

int og__device_gather(struct og_nn_backend *be, const struct og_rows *x, void *out,
                      struct og_err *err)
{
    const size_t row = (size_t)x->dim * og__dtype_size(x->dtype);
    const uint32_t most = (uint32_t)OG_MAX(HALF / OG_MAX(row, (size_t)1), (size_t)1);
    OG_DO(row <= HALF ? 0
                      : og__fail(err, -ENOTSUP, "use --device cpu",
                                 "rows of %zu bytes are too wide for a device", row));
    OG_DO(behind_operators(be, err));
    for (uint32_t first = 0, n; first < x->n; first += n) {
        n = OG_MIN(x->n - first, most);
        OG_DO(send_rows(be, x, first, first + n, out, err));
    }
    return 0;
}

int og__device_await(struct og_nn_backend *be, struct og_event *comes, struct og_err *err)
{
    return be->ops->follow(be->work, comes, err);
}

/* ==== launching ==== */

int og__device_launch(struct og_nn_backend *be, int kernel, uint64_t blocks, uint32_t threads,
                      const void *args, size_t bytes, struct og_err *err)
{
    const struct og_launch l = {.kernel = &og__kernels[kernel],
                                .blocks = (uint32_t)blocks,
                                .threads = threads,
                                .args = args,
                                .bytes = bytes};
    if (blocks == 0)
        return 0;
    return blocks > INT32_MAX ? og__fail(err, -EOVERFLOW, "use a smaller --batch",
                                         "kernel %s: %llu blocks are too many", l.kernel->name,
                                         (unsigned long long)blocks)
                              : be->ops->launch(be->work, &l, err);
}

int og__device_launch_each(struct og_nn_backend *be, int kernel, uint64_t n, uint32_t each,
                           const void *args, size_t bytes, struct og_err *err)
{
    if (n > UINT32_MAX)
        return og__fail(err, -EOVERFLOW, "use a smaller --batch",
                        "kernel %s: %llu rows, edges or heads of them are too many",
                        og__kernels[kernel].name, (unsigned long long)n);
    return og__device_launch(be, kernel, (n + each - 1) / each, OG_THREADS, args, bytes, err);
}
