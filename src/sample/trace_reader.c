/* Reading a trace folder: from outside, so every count is measured before it is used. */
#include "base/file.h"
#include "base/seal.h"
#include "sample/trace.h"
#include "sample/trace_files.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "trace";
static const char hint[] = "make it anew with `outgrow sample`";
enum { JSON_MAX = 1024 * 1024, CHUNK = 4096 /* ids converted at a time */ };

/* ---- trace.json ---- */

static int wrong(const char *name, const char *key, const char *expected, struct og_err *err)
{
    return og__fail(err, -EINVAL, hint, "%s: \"%s\" must be %s", name, key, expected);
}

static int get_count(json_t *root, const char *key, int64_t least, int64_t most, int64_t *out,
                     const char *name, struct og_err *err)
{
    json_t *value = json_object_get(root, key);
    *out = json_is_integer(value) ? json_integer_value(value) : -1;
    return *out < least || *out > most ? wrong(name, key, "a count within bounds", err) : 0;
}

static int get_facts(struct og_trace_folder *t, json_t *root, const char *name, struct og_err *err)
{
    int64_t format;
    int64_t nodes = 0;
    int64_t dim = 0;
    int64_t batches = 0;
    int rc = 0;
    OG_TRY(get_count(root, "format", 1, 1, &format, name, err));
    OG_TRY(get_count(root, "num_nodes", 0, UINT32_MAX - 1, &nodes, name, err));
    OG_TRY(get_count(root, "feature_dim", 0, INT32_MAX / 8, &dim, name, err));
    OG_TRY(get_count(root, "batches_per_epoch", 0, UINT32_MAX, &batches, name, err));
    const char *text = json_string_value(json_object_get(root, "feature_dtype"));
    int dtype = text ? og__dtype_find(text) : -1;
    if (dtype < 0)
        OG_TRY(wrong(name, "feature_dtype", "f32, f16, bf16 or u8", err));
    if (!(text = json_string_value(json_object_get(root, "dataset"))))
        OG_TRY(wrong(name, "dataset", "text", err));
    if (!(t->dataset = strdup(text)))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", name));
    t->n_nodes = (uint64_t)nodes;
    t->dim = (int)dim;
    t->dtype = (enum og_dtype)dtype;
    t->row_bytes = (size_t)dim * og__dtype_size(t->dtype);
    t->batches_per_epoch = (uint32_t)OG_MAX(batches, 1);
out:
    return rc;
}

int og__trace_parse(struct og_trace_folder *t, const char *text, size_t len, const char *name,
                    struct og_err *err)
{
    json_t *root;
    *t = (struct og_trace_folder){0};
    int rc = og__sealed_parse(&root, text, len, name, hint, err);
    if (rc < 0)
        return rc;
    rc = json_is_object(root) ? get_facts(t, root, name, err)
                              : og__fail(err, -EINVAL, hint, "%s: not a JSON object", name);
    json_decref(root);
    return rc;
}

static int read_description(struct og_trace_folder *t, const char *dir, struct og_err *err)
{
    char *path = og__path_join(dir, "trace.json");
    char *text = NULL;
    size_t len = 0;
    int rc = path ? og__read_text(path, JSON_MAX, &text, &len, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", dir);
    if (rc == 0)
        rc = og__trace_parse(t, text, len, path, err);
    free(text);
    free(path);
    return rc;
}

/* ---- the arrays ---- */

/* Every id is there and once, told by a bit a node that is set while its batch is looked at. */
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
    for (uint32_t i = 0; rc == 0 && i < t->n_batches; i++)
        rc =
            check_batch(t->ids + t->ptr[i], t->ptr[i + 1] - t->ptr[i], n_nodes, seen, name, i, err);
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
    uint64_t *ptr = NULL;
    if (a.shape[0] < 1 || a.shape[0] > UINT32_MAX)
        rc = og__fail(err, -EINVAL, hint, "%s: %lld offsets", a.path, (long long)a.shape[0]);
    else if (!(ptr = og__alloc(t->budget, (size_t)a.shape[0] * 8, part, err)))
        rc = -ENOMEM;
    if (rc == 0) {
        t->trace.ptr = ptr;
        t->trace.n_batches = (uint32_t)(a.shape[0] - 1);
        rc = og__npy_read_int64(&a, 0, a.shape[0], (int64_t *)ptr, err);
    }
    og__npy_close(&a);
    return rc;
}

/* Ids as u32; what is none becomes UINT32_MAX, which no node has. */
static int read_narrow(const struct og_npy *a, uint32_t *out, struct og_err *err)
{
    int64_t wide[CHUNK];
    int rc = 0;
    for (int64_t done = 0; rc == 0 && done < a->shape[0]; done += CHUNK) {
        int64_t n = OG_MIN(a->shape[0] - done, (int64_t)CHUNK);
        rc = og__npy_read_int64(a, done, n, wide, err);
        for (int64_t i = 0; rc == 0 && i < n; i++)
            out[done + i] = wide[i] < 0 || wide[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)wide[i];
    }
    return rc;
}

static int read_ids(struct og_trace_folder *t, const char *dir, uint64_t *n_ids, struct og_err *err)
{
    struct og_npy a;
    int rc = open_array(&a, dir, "ids.npy", err);
    if (rc < 0)
        return rc;
    uint32_t *ids = NULL;
    if (t->trace.ptr[t->trace.n_batches] != (uint64_t)a.shape[0])
        rc = og__fail(err, -EINVAL, hint, "%s: %lld ids, its offsets end elsewhere", a.path,
                      (long long)a.shape[0]);
    else if (!(ids = og__alloc(t->budget, (size_t)a.shape[0] * 4, part, err)))
        rc = -ENOMEM;
    if (rc == 0) {
        t->trace.ids = ids;
        *n_ids = (uint64_t)a.shape[0];
        rc = read_narrow(&a, ids, err);
    }
    og__npy_close(&a);
    return rc;
}

static int compare_checks(const struct og_trace_folder *t, const char *dir, struct og_err *err)
{
    const struct og_trace *trace = &t->trace;
    uint64_t *said;
    int rc = og__trace_checks_load(dir, trace->n_batches, t->budget, hint, &said, err);
    for (uint32_t i = 0; rc == 0 && said && i < trace->n_batches; i++) {
        const struct og_batch batch = {.ids = (uint32_t *)trace->ids + trace->ptr[i],
                                       .n_ids = (uint32_t)(trace->ptr[i + 1] - trace->ptr[i])};
        uint64_t found[OG__CHECKS];
        og__trace_batch_check(&batch, false, found);
        if (found[OG__CHECK_IDS] != said[(size_t)i * OG__CHECKS])
            rc = og__fail(err, -EIO, hint,
                          "%s: batch %u is not what was written: its checksum is another", dir, i);
    }
    og__release(t->budget, said, og__trace_checks_bytes(trace->n_batches), part);
    return rc;
}

int og__trace_open_dir(struct og_trace_folder *t, const char *dir, struct og_budget *b,
                       struct og_err *err)
{
    uint64_t n_ids = 0;
    int rc = 0;
    *t = (struct og_trace_folder){0};
    OG_TRY(read_description(t, dir, err));
    t->budget = b;
    OG_TRY(read_ptr(t, dir, err));
    OG_TRY(read_ids(t, dir, &n_ids, err));
    OG_TRY(og__trace_check(&t->trace, n_ids, t->n_nodes, b, dir, err));
    OG_TRY(compare_checks(t, dir, err));
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
        og__release(t->budget, (void *)t->trace.ids, (size_t)t->trace.ptr[t->trace.n_batches] * 4,
                    part);
    if (t->trace.ptr)
        og__release(t->budget, (void *)t->trace.ptr, ((size_t)t->trace.n_batches + 1) * 8, part);
    free(t->dataset);
    *t = (struct og_trace_folder){0};
}
