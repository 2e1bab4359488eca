/* Scratch of operators, which the next operator on the stream may overwrite. It is part of the
 * workspace and sized for the largest planned batch. */
#include "nn/device/backend.h"

enum { MOST_ROWS = 32768, LEAST_ROWS = 16 };
#define CHUNK ((size_t)16 << 20) /* default bytes of a computed operand */

uint32_t og__device_chunk_rows(size_t width)
{
    const size_t rows = CHUNK / (OG_MAX(width, (size_t)1) * sizeof(float));
    return (uint32_t)OG_MIN(OG_MAX(rows, (size_t)LEAST_ROWS), (size_t)MOST_ROWS);
}

/* Bytes of chunks of rows up to this width. */
static size_t chunk_bytes(uint64_t rows, size_t width)
{
    const size_t row = width * sizeof(float);
    return OG_MIN((size_t)rows * row, OG_MAX(CHUNK, LEAST_ROWS * row));
}

/* Bytes of a sort in addition to its input: copies of keys and values, and counts. The virtual
 * device and CUB (8 bytes per key, plus a few per thousand) need less. */
static size_t sort_bytes(size_t n)
{
    return n > 0 ? 9 * n + 65536 * sizeof(uint32_t) : 0;
}

size_t og__device_scratch_bytes(const struct og_most *of, int threads)
{
    (void)threads;
    const size_t width = (size_t)of->width, rows = (size_t)of->rows, keys = (size_t)of->keys;
    const size_t products = 2 * og__device_room_of(chunk_bytes(rows, width));
    const size_t each = (size_t)OG_MAX(of->heads, 2) * sizeof(float); /* by row, in addition to
                                                                         parts */
    const size_t sums = og__device_room_of(rows * each) + og__device_parts_bytes(rows, 2 * width);
    const size_t lists = og__device_room_of(keys * sizeof(uint32_t)) +
                         og__device_listing_bytes(keys, sort_bytes(keys));
    const size_t columns = (size_t)of->coefficients;
    const size_t blends = columns > 0 ? lists + og__device_room_of(columns * sizeof(uint32_t)) +
                                            OG__MOST_PARTS * columns * sizeof(double) + 512
                                      : 0;
    const size_t losses =
        og__device_room_of(og__n_blocks(OG_MAX(of->rows, of->counted)) * sizeof(struct og_metrics));
    const size_t most = OG_MAX(OG_MAX(OG_MAX(products, sums), blends), OG_MAX(lists, losses + 256));
    return og__device_room_of(most);
}

void og__device_set_scratch(struct og_nn_backend *be, char *scratch, size_t bytes, float *partial)
{
    (void)partial;
    be->scratch = scratch;
    be->scratch_bytes = bytes;
}

int og__device_room(struct og_nn_backend *be, size_t bytes, struct og_err *err)
{
    be->room = bytes <= be->scratch_bytes ? be->scratch : be->extra;
    if (bytes <= OG_MAX(be->scratch_bytes, be->extra_bytes))
        return 0;
    bytes = og__round_up(bytes + bytes / 4, OG_MIB); /* the next may need slightly more */
    OG_DO(be->ops->finish(be->work, err));
    og__device_give(be, be->extra, be->extra_bytes, OG__OPERATORS);
    be->extra_bytes = 0;
    be->room = be->extra = og__device_take(be, bytes, OG__OPERATORS, err);
    OG_DO(be->extra ? 0 : -ENOMEM);
    be->extra_bytes = bytes;
    return 0;
}
