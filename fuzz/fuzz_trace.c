/* Trace folders: any trace.json, offsets and ids either are refused with a reason or are a trace.
 *
 *   input: | u16 length of the JSON | JSON | u8 batches | offsets, u64 | ids, u32 | */
#include "fuzz.h"
#include "sealed.h"

#include "sample/trace.h"

#include <stdlib.h>
#include <string.h>

/* The next `bytes` of the input, or all that is left, in memory of its own. */
static void *take(const uint8_t **data, size_t *size, size_t bytes)
{
    void *p = calloc(1, bytes + 1);
    size_t n = OG_MIN(bytes, *size);
    if (!p)
        abort();
    memcpy(p, *data, n);
    *data += n;
    *size -= n;
    return p;
}

static void check_description(const struct og_trace_description *t)
{
    if (!t->dataset || t->n_nodes >= UINT32_MAX || t->dim < 0 ||
        t->row_bytes != (size_t)t->dim * og__dtype_size(t->dtype))
        abort();
}

/* By comparing all with all. */
static void check_batches(const struct og_trace *t, uint64_t n_ids, uint64_t n_nodes)
{
    for (uint32_t b = 0; b < t->n_batches; b++) {
        if (t->ptr[b] > t->ptr[b + 1] || t->ptr[b + 1] > n_ids)
            abort();
        for (uint64_t i = t->ptr[b]; i < t->ptr[b + 1]; i++) {
            if (t->ids[i] >= n_nodes)
                abort();
            for (uint64_t j = t->ptr[b]; j < i; j++)
                if (t->ids[i] == t->ids[j])
                    abort();
        }
    }
}

static void try_trace(const uint8_t *data, size_t size, uint64_t n_nodes)
{
    struct og_err err = {0};
    uint8_t *count = take(&data, &size, 1);
    uint64_t *ptr = take(&data, &size, ((size_t)*count + 1) * 8);
    uint64_t n_ids = size / 4;
    uint32_t *ids = take(&data, &size, (size_t)n_ids * 4);
    const struct og_trace t = {.n_batches = *count, .ptr = ptr, .ids = ids};
    int rc = og__trace_check(&t, n_ids, n_nodes, NULL, "input", &err);
    if (rc == 0)
        check_batches(&t, n_ids, n_nodes);
    else if (!err.message[0])
        abort();
    free(count);
    free(ptr);
    free(ids);
}

/* What lies behind the JSON. */
static const uint8_t *arrays;
static size_t arrays_size;

static bool try_folder(const char *json, size_t len)
{
    struct og_trace_description said;
    struct og_err err = {0};
    int rc = og__trace_parse(&said, json, len, "input", &err);
    if (rc < 0 && !err.message[0])
        abort();
    if (rc < 0)
        return false;
    check_description(&said);
    try_trace(arrays, arrays_size, said.n_nodes);
    og__trace_description_release(&said);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t len = OG_MIN((size_t)data[0] | (size_t)data[1] << 8, size - 2);
    arrays = data + 2 + len;
    arrays_size = size - 2 - len;
    try_sealed((const char *)data + 2, len, try_folder);
    return 0;
}
