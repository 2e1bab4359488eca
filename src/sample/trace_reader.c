/* Reading a trace folder: from outside, so every count is measured before it is used. */
#include "sample/trace.h"
#include "sample/trace_files.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "trace";
static const char hint[] = "make it again with `outgrow sample`";
enum { CHUNK = 4096 /* ids converted at a time */ };

/* ---- the arrays ---- */

/* Checks that every id is valid and unique, by a bit a node. */
static int check_batch(const uint32_t *ids, uint64_t n, uint64_t n_nodes, uint64_t *seen,
                       const char *name, uint32_t batch, struct og_err *err)
{
    for (uint64_t i = 0; i < n; i++) {
        if (ids[i] >= n_nodes)
            return og__fail(err, -EINVAL, hint, "%s: batch %u: element %llu is no node of %llu",
                            name, batch, (unsigned long long)i, (unsigned long long)n_nodes);
        uint64_t bit = (uint64_t)1 << (ids[i] & 63);
        if (seen[ids[i] >> 6] & bit)
            return og__fail(err, -EINVAL, hint, "%s: batch %u: node %u twice", name, batch, ids[i]);
        seen[ids[i] >> 6] |= bit;
    }
    for (uint64_t i = 0; i < n; i++)
        seen[ids[i] >> 6] = 0;
    return 0;
}

static int check_ptr(const struct og_trace *t, uint64_t n_ids, uint64_t n_nodes, const char *name,
                     struct og_err *err)
{
    bool good = t->ptr[0] == 0 && t->ptr[t->n_batches] == n_ids;
    for (uint32_t i = 0; good && i < t->n_batches; i++)
        good = t->ptr[i + 1] >= t->ptr[i] && t->ptr[i + 1] - t->ptr[i] <= n_nodes;
    return good ? 0
                : og__fail(err, -EINVAL, hint, "%s: its offsets are not those of %llu ids", name,
                           (unsigned long long)n_ids);
}

int og__trace_check(const struct og_trace *t, uint64_t n_ids, uint64_t n_nodes, struct og_budget *b,
                    const char *name, struct og_err *err)
{
    int rc = check_ptr(t, n_ids, n_nodes, name, err);
    if (rc < 0)
        return rc;
    size_t bytes = (size_t)(n_nodes / 64 + 1) * 8;
    uint64_t *seen = og__alloc(b, bytes, part, err);
    if (!seen)
        return -ENOMEM;
    for (uint32_t i = 0; i < t->n_batches; i++) {
        const uint64_t n = t->ptr[i + 1] - t->ptr[i];
        OG_TRY(check_batch(t->ids + t->ptr[i], n, n_nodes, seen, name, i, err));
    }
out:
    og__release(b, seen, bytes, part);
    return rc;
}

static int open_array(struct og_npy *a, const char *dir, const char *name, struct og_err *err)
{
    char *path = og__path_join(dir, name);
    int rc = path ? og__npy_open(a, path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", dir);
    free(path);
    return rc;
}

static int read_ptr(struct og_trace_folder *t, const char *dir, struct og_err *err)
{
    struct og_npy a;
    int rc = open_array(&a, dir, "ids_ptr.npy", err);
    if (rc < 0)
        return rc;
    if (a.shape[0] < 1 || a.shape[0] > UINT32_MAX)
        OG_TRY(og__fail(err, -EINVAL, hint, "%s: %lld offsets", a.path, (long long)a.shape[0]));
    uint64_t *ptr = og__alloc(t->budget, (size_t)a.shape[0] * 8, part, err);
    if (!ptr)
        OG_TRY(-ENOMEM);
    t->trace.ptr = ptr;
    t->trace.n_batches = (uint32_t)(a.shape[0] - 1);
    OG_TRY(og__npy_read_int64(&a, 0, a.shape[0], (int64_t *)ptr, err));
out:
    og__npy_close(&a);
    return rc;
}

/* Reads ids as u32; an invalid one becomes UINT32_MAX, which no node has. */
static int read_narrow(const struct og_npy *a, uint32_t *out, struct og_err *err)
{
    int64_t wide[CHUNK];
    for (int64_t done = 0; done < a->shape[0]; done += CHUNK) {
        int64_t n = OG_MIN(a->shape[0] - done, (int64_t)CHUNK);
        OG_DO(og__npy_read_int64(a, done, n, wide, err));
        for (int64_t i = 0; i < n; i++)
            out[done + i] = wide[i] < 0 || wide[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)wide[i];
    }
    return 0;
}

static int read_ids(struct og_trace_folder *t, const char *dir, uint64_t *n_ids, struct og_err *err)
{
    struct og_npy a;
    int rc = open_array(&a, dir, "ids.npy", err);
    if (rc < 0)
        return rc;
    if (t->trace.ptr[t->trace.n_batches] != (uint64_t)a.shape[0])
        OG_TRY(og__fail(err, -EINVAL, hint, "%s: %lld ids, its offsets end elsewhere", a.path,
                        (long long)a.shape[0]));
    uint32_t *ids = og__alloc(t->budget, (size_t)a.shape[0] * 4, part, err);
    if (!ids)
        OG_TRY(-ENOMEM);
    t->trace.ids = ids;
    t->n_ids = (uint64_t)a.shape[0];
    *n_ids = (uint64_t)a.shape[0];
    OG_TRY(read_narrow(&a, ids, err));
out:
    og__npy_close(&a);
    return rc;
}

static int compare_checks(const struct og_trace_folder *t, const char *dir, struct og_err *err)
{
    const struct og_trace *trace = &t->trace;
    uint64_t *said;
    int rc;
    OG_TRY(og__trace_checks_load(dir, trace->n_batches, t->budget, hint, &said, err));
    for (uint32_t i = 0; said && i < trace->n_batches; i++) {
        const struct og_batch batch = {.ids = (uint32_t *)trace->ids + trace->ptr[i],
                                       .n_ids = (uint32_t)(trace->ptr[i + 1] - trace->ptr[i])};
        uint64_t found[OG__CHECKS];
        og__trace_batch_check(&batch, false, found);
        if (found[OG__CHECK_IDS] != said[(size_t)i * OG__CHECKS])
            OG_TRY(og__fail(err, -EIO, hint,
                            "%s: batch %u is not what was written: its checksum is another", dir,
                            i));
    }
out:
    og__release(t->budget, said, og__trace_checks_bytes(trace->n_batches), part);
    return rc;
}

int og__trace_open_dir(struct og_trace_folder *t, const char *dir, struct og_budget *b,
                       struct og_err *err)
{
    uint64_t n_ids = 0;
    int rc = 0;
    *t = (struct og_trace_folder){0};
    OG_TRY(og__trace_describe(&t->said, dir, err));
    t->budget = b;
    OG_TRY(read_ptr(t, dir, err));
    OG_TRY(read_ids(t, dir, &n_ids, err));
    OG_TRY(og__trace_check(&t->trace, n_ids, t->said.n_nodes, b, dir, err));
    OG_TRY(compare_checks(t, dir, err));
    t->batches_per_epoch = OG_MAX(t->said.batches_per_epoch, 1u);
    t->batches_per_epoch = OG_MIN(t->batches_per_epoch, OG_MAX(t->trace.n_batches, 1u));
out:
    if (rc < 0)
        og__trace_release(t);
    return rc;
}

void og__trace_release(struct og_trace_folder *t)
{
    if (!t)
        return;
    if (t->trace.ids)
        og__release(t->budget, (void *)t->trace.ids, (size_t)t->n_ids * 4, part);
    if (t->trace.ptr)
        og__release(t->budget, (void *)t->trace.ptr, ((size_t)t->trace.n_batches + 1) * 8, part);
    og__trace_description_release(&t->said);
    *t = (struct og_trace_folder){0};
}
