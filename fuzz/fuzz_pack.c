/* Files of packed features: any bytes are refused, or describe chunks within the file, one after
 * another. What we write for them is read back as the same. */
#include "checked_head.h"

#include "gather/pack.h"

#include <stdlib.h>
#include <string.h>

static void check_chunks(const struct og_pack_head *h, const struct og_pack_entry *table)
{
    uint64_t end = og__packing_data_start((uint32_t)h->n_batches);
    for (uint64_t b = 0; b < h->n_batches; b++) {
        if (table[b].offset < end || table[b].offset > h->file_bytes)
            abort();
        end = table[b].offset;
        if (table[b].rows > (h->file_bytes - end) / h->row_bytes)
            abort();
        end += table[b].rows * h->row_bytes;
    }
}

/* A head that is written is read back as it was. */
static void check_head(const struct og_pack_head *h, const char block[OG__PACK_BLOCK])
{
    struct og_pack_head back;
    if (h->dtype >= OG_DTYPES ||
        og__pack_parse(&back, block, OG__PACK_BLOCK, h->file_bytes, "", NULL))
        abort();
    if (!SAME_HEAD(&back, h))
        abort();
}

static int parse(const char *data, size_t size, bool put_right)
{
    struct og_pack_head h;
    struct og_err err = {0};
    int rc = og__pack_parse(&h, data, OG_MIN(size, (size_t)OG__PACK_BLOCK), size, "input", &err);
    struct og_pack_entry *table = NULL;
    if (rc == 0) {
        char block[OG__PACK_BLOCK];
        size_t bytes = og__packing_data_start((uint32_t)h.n_batches) - OG__PACK_BLOCK;
        table = malloc(OG_MAX(bytes, (size_t)1));
        if (!table)
            abort();
        memcpy(table, data + OG__PACK_BLOCK, bytes);
        if (put_right) {
            og__pack_format(&h, table, block);
            check_head(&h, block);
        }
        rc = og__pack_check(&h, table, "input", &err);
        if (rc == 0)
            check_chunks(&h, table);
    }
    if (rc < 0 && !err.message[0])
        abort();
    free(table);
    return rc;
}
