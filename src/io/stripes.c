#include "io/stripes.h"

enum { UNIT = 1024 * 1024, BLOCK = 4096 };

/* The least number of rows that is whole blocks. */
static size_t whole_blocks(size_t row_bytes)
{
    const size_t odd = row_bytes & (~row_bytes + 1); /* the largest power of two in it */
    return BLOCK / OG_MIN(odd, (size_t)BLOCK);
}

static size_t rows_of_a_unit(size_t row_bytes)
{
    return OG_MAX(UNIT / row_bytes, (size_t)1);
}

uint32_t og__stripe_unit(size_t row_bytes)
{
    const size_t whole = whole_blocks(row_bytes);
    const size_t rows = rows_of_a_unit(row_bytes);
    return (uint32_t)(rows >= whole ? rows / whole * whole : rows);
}

uint32_t og__stripe_unit_of_blocks(size_t row_bytes)
{
    const size_t whole = whole_blocks(row_bytes);
    return (uint32_t)(OG_MAX(rows_of_a_unit(row_bytes) / whole, (size_t)1) * whole);
}
