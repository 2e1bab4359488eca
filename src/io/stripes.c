#include "io/stripes.h"

enum { UNIT = 1024 * 1024, BLOCK = 4096 };

uint32_t og__stripe_unit(size_t row_bytes)
{
    const size_t odd = row_bytes & (~row_bytes + 1);         /* the largest power of two in it */
    const size_t whole = BLOCK / OG_MIN(odd, (size_t)BLOCK); /* so many rows are whole blocks */
    const size_t rows = OG_MAX(UNIT / row_bytes, (size_t)1);
    return (uint32_t)(rows >= whole ? rows / whole * whole : rows);
}
