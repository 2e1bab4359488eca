/* The k earliest of many: a heap whose top is the latest of those in it. */
#ifndef OG_SAMPLE_HEAP_H
#define OG_SAMPLE_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct og_candidate {
    double time;
    uint32_t at; /* what it is, to its owner */
};

/* The candidate at i sinks to its place. */
static inline void og__heap_sink(struct og_candidate *heap, size_t n, size_t i)
{
    struct og_candidate c = heap[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && heap[child + 1].time > heap[child].time)
            child++;
        if (heap[child].time <= c.time)
            break;
        heap[i] = heap[child];
    }
    heap[i] = c;
}

static inline void og__heap_make(struct og_candidate *heap, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        og__heap_sink(heap, n, i);
}

/* It becomes a list, earliest first. */
static inline void og__heap_sort(struct og_candidate *heap, size_t n)
{
    while (n > 1) {
        struct og_candidate last = heap[--n];
        heap[n] = heap[0];
        heap[0] = last;
        og__heap_sink(heap, n, 0);
    }
}

#endif
