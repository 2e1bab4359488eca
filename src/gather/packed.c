/* Common parts of packed files and shared rows. */
#include "gather/packed.h"

#include <xxhash.h>

const char og__pack_remake_hint[] = "make it again with `outgrow pack`";
const char og__pack_disk_hint[] =
    "that disk returned other data than was written: check it, or set --scratch to another "
    "disk";

/* ---- rows ---- */

uint64_t og__pack_put_row(uint64_t row_bytes, enum og_dtype dtype)
{
    return row_bytes | (uint64_t)dtype << 32;
}

bool og__pack_get_row(uint64_t number, uint64_t *row_bytes, enum og_dtype *dtype)
{
    *row_bytes = number & UINT32_MAX;
    bool sound = *row_bytes > 0 && *row_bytes <= INT32_MAX && number >> 32 < OG_DTYPES;
    *dtype = sound ? (enum og_dtype)(number >> 32) : OG_F32;
    return sound;
}

int og__pack_suits(const struct og_group *group, uint64_t contents, uint64_t row_bytes,
                   enum og_dtype dtype, const char *name, struct og_err *err)
{
    if (contents == group->contents && dtype != group->dtype)
        return og__fail(err, -EINVAL, "use the --pack-dtype of the packed files, or pack again",
                        "%s: packed rows are %s, --pack-dtype of this run is %s", name,
                        og__dtype_name(dtype), og__dtype_name(group->dtype));
    if (contents == group->contents && row_bytes == og__row_bytes(group))
        return 0;
    return og__fail(err, -EINVAL, og__pack_remake_hint, "%s: packed from another dataset than %s",
                    name, group->graph->path);
}

/* ---- checksums ---- */

uint64_t og__pack_hash_ids(const uint32_t *rows, uint64_t n)
{
    return n > 0 ? XXH3_64bits(rows, n * sizeof(*rows)) : 0;
}

uint64_t og__pack_hash_at(const void *data, size_t bytes, uint64_t place)
{
    return XXH3_64bits(data, bytes) * (2 * place + 1);
}

uint64_t og__pack_hash_blocks(const char *blocks, uint64_t n, uint64_t first)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += og__pack_hash_at(blocks + i * OG__PACK_BLOCK, OG__PACK_BLOCK, first + i);
    return sum;
}
