/* Files of shared rows: any bytes are refused, or describe rows, a table and orders within the
 * file. What we write for them is read back as the same. */
#include "checked_head.h"

#include "gather/shared.h"

#include <stdlib.h>
#include <string.h>

static void check_parts(const struct og_shared_head *h, const struct og_shared_entry *table)
{
    uint64_t at = og__shared_table_at(h);
    if (h->n_rows > (at - OG__PACK_BLOCK) / h->row_bytes)
        abort();
    at = og__shared_orders_at(h);
    for (uint64_t b = 0; b < h->n_batches; b++) {
        if (at > h->file_bytes || table[b].shared > table[b].misses ||
            table[b].misses > (h->file_bytes - at) / sizeof(uint32_t))
            abort();
        at += (table[b].misses + table[b].shared) * sizeof(uint32_t);
    }
    if (at != h->file_bytes)
        abort();
}

/* A head that is written is read back as it was. */
static void check_head(const struct og_shared_head *h, const char block[OG__PACK_BLOCK])
{
    struct og_shared_head back = {.parts = h->parts};
    if (h->dtype >= OG_DTYPES ||
        og__shared_parse(&back, block, OG__PACK_BLOCK, h->file_bytes, "", NULL))
        abort();
    if (!SAME_HEAD(&back, h))
        abort();
}

static int parse(const char *data, size_t size, bool put_right)
{
    struct og_shared_head h = {.parts = 1};
    struct og_err err = {0};
    int rc = og__shared_parse(&h, data, OG_MIN(size, (size_t)OG__PACK_BLOCK), size, "input", &err);
    struct og_shared_entry *table = NULL;
    if (rc == 0) {
        char block[OG__PACK_BLOCK];
        size_t bytes = h.n_batches * sizeof(*table);
        table = malloc(OG_MAX(bytes, (size_t)1));
        if (!table)
            abort();
        memcpy(table, data + og__shared_table_at(&h), bytes);
        if (put_right) {
            og__shared_format(&h, table, block);
            check_head(&h, block);
        }
        rc = og__shared_check(&h, table, "input", &err);
        if (rc == 0)
            check_parts(&h, table);
    }
    if (rc < 0 && !err.message[0])
        abort();
    free(table);
    return rc;
}
