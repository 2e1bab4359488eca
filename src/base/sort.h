/* Sorting in place. The C library's qsort takes the same memory again, outside the budget. */
#ifndef OG_SORT_H
#define OG_SORT_H

#include <stddef.h>

/* As qsort: n items of `size` bytes, at most 64, ascending. O(n log n) always (heap sort). */
void og__sort_in_place(void *items, size_t n, size_t size,
                       int (*compare)(const void *a, const void *b));
/* Compares two uint32_t, for sorting and bsearch. */
int og__by_number(const void *a, const void *b);

#endif
