#include "base/sort.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

enum { MOST_BYTES = 64 };

/* Moves item i down in the heap of n, until no child is larger. */
static void sift_down(char *items, size_t i, size_t n, size_t size,
                      int (*compare)(const void *a, const void *b))
{
    char moved[MOST_BYTES];
    memcpy(moved, items + i * size, size);
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && compare(items + child * size, items + (child + 1) * size) < 0)
            child++;
        if (compare(moved, items + child * size) >= 0)
            break;
        memcpy(items + i * size, items + child * size, size);
    }
    memcpy(items + i * size, moved, size);
}

void og__sort_in_place(void *items, size_t n, size_t size,
                       int (*compare)(const void *a, const void *b))
{
    char *all = items, last[MOST_BYTES];
    assert(size <= sizeof(last));
    for (size_t i = n / 2; i-- > 0;)
        sift_down(all, i, n, size, compare);
    for (size_t end = n; end-- > 1;) {
        memcpy(last, all + end * size, size);
        memcpy(all + end * size, all, size);
        memcpy(all, last, size);
        sift_down(all, 0, end, size, compare);
    }
}

int og__by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}
