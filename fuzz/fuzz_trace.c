/* Trace folders: any trace.json, offsets and ids either are refused with a reason or are a trace.
 * In a heterogeneous graph so are counts of degrees, or they have a degree for each node.
 *
 *   input: | u16 length of the JSON | JSON | u8 batches | offsets, u64 | ids, u32 |
 *          | the same                      | type, degree, nodes, i64 | ... |       where there are
 * types */
#include "fuzz.h"
#include "self_checksum.h"

#include "sample/degree_counts.h"

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

static void check_types(const struct og_trace_description *t)
{
    uint64_t first = 0;
    for (uint32_t i = 0; i < t->n_types; first = t->type[i++].end)
        if (!t->type[i].name || t->type[i].end < first || t->type[i].dim < 0)
            abort();
    if (t->n_types > 0 && first != t->n_nodes)
        abort();
}

static void check_description(const struct og_trace_description *t)
{
    check_types(t);
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

/* Where they are taken, nodes with rows have what was said, smallest first, and others none. */
static void check_degrees(const struct og_trace_description *of, const uint32_t *degree)
{
    uint64_t v = 0;
    for (uint32_t t = 0; t < of->n_types; t++)
        for (const uint64_t first = v; v < of->type[t].end; v++)
            if (of->type[t].dim == 0 ? degree[v] != 0 : v > first && degree[v] < degree[v - 1])
                abort();
}

static void try_degrees(const uint8_t *data, size_t size, const struct og_trace_description *of)
{
    enum { MOST = 1 << 16 };
    struct og_err err = {0};
    int64_t row[3];
    int rc = 0;
    if (of->n_types == 0 || of->n_nodes > MOST)
        return;
    uint32_t *degree = calloc((size_t)of->n_nodes + 1, sizeof(*degree));
    if (!degree)
        abort();
    struct og_degree_counts c = og__degree_counts_begin(of, degree, "input");
    for (; rc == 0 && size >= sizeof(row); data += sizeof(row), size -= sizeof(row)) {
        memcpy(row, data, sizeof(row));
        rc = og__degree_counts_add(&c, row, &err);
    }
    if (rc == 0)
        rc = og__degree_counts_end(&c, &err);
    if (rc == 0)
        check_degrees(of, degree);
    else if (!err.message[0])
        abort();
    free(degree);
}

/* What follows the JSON. */
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
    try_degrees(arrays, arrays_size, &said);
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
    try_self_checksum((const char *)data + 2, len, try_folder);
    return 0;
}
