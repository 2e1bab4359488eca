/* .npy headers: any bytes are refused, or describe an array that is within the file. A header that
 * we write for it is read back as the same. What is in Fortran order or big endian is refused
 * unless it is requested. */
#include "fuzz.h"

#include "dataset/graph.h"

#include <stdlib.h>

static void check_round_trip(const struct og_npy *a)
{
    char head[4096];
    struct og_npy b = {.fd = -1};
    size_t len = og__npy_header(head, a->type, a->ndim, a->shape, 64);
    if (og__npy_parse(&b, head, len, len + (uint64_t)a->bytes, "again", NULL) < 0)
        abort();
    if (b.type != a->type || b.ndim != a->ndim || b.shape[0] != a->shape[0] ||
        b.shape[1] != a->shape[1] || b.bytes != a->bytes)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_npy a = {.fd = -1};
    struct og_err err = {0};
    const size_t len = OG_MIN(size, (size_t)OG__NPY_HEAD_MAX);
    struct og_npy_order order;
    bool plain = og__npy_parse(&a, data, len, size, "input", &err) == 0;
    if (!plain && !err.message[0])
        abort();
    err = (struct og_err){0};
    if (og__npy_parse_any(&a, data, len, size, "input", &order, &err) < 0) {
        if (plain || !err.message[0])
            abort();
        return 0;
    }
    if (plain == (order.columns || order.swapped) || (order.columns && a.ndim != 2))
        abort();
    if (a.offset < 0 || a.bytes < 0 || (uint64_t)a.offset + (uint64_t)a.bytes > size)
        abort();
    if ((uint64_t)a.bytes != (uint64_t)a.shape[0] * (uint64_t)a.shape[1] * og__npy_size(a.type))
        abort();
    check_round_trip(&a);
    return 0;
}
