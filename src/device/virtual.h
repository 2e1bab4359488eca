/* Settings of virtual devices opened from now on. For tests, which try all of them. */
#ifndef OG_DEVICE_VIRTUAL_H
#define OG_DEVICE_VIRTUAL_H

#include "device/fibres.h"

/* The pace of a stream: it executes work at once; or only when a thread waits. Or a seed decides
 * the times, and the order of streams. A missing event shows as a difference between paces. */
enum og__pace { OG__EAGER, OG__LAZY, OG__SEEDED, OG__PACES };

struct og_virtual {
    enum og__order order; /* of threads and blocks */
    enum og__pace pace;
    uint64_t seed;                    /* of the pace */
    size_t capacity;                  /* bytes of device memory; 0: as much as the host has */
    size_t own;                       /* of these, taken by a simulated library at open */
    size_t free;                      /* of these, reported as free before open; 0: unknown */
    uint64_t fail;                    /* this call, counted from 1, fails; 0: none */
    bool alone;                       /* it cannot join a group */
    bool glass;                       /* the host may read its memory, unlike a real device's */
    double bytes_per_second, latency; /* of the interconnect */
    double peer_bytes_per_second, peer_latency; /* of those between devices */
};
extern const struct og_virtual og__virtual_usual;
void og__virtual_become(const struct og_virtual *v);
/* Calls of all virtual devices since then that may fail. */
uint64_t og__virtual_calls(void);

/* ---- arithmetic (virtual_work.c) ---- */

OG_MUST_CHECK int og__virtual_multiply(const struct og_product_of *p, struct og_err *err);
void og__virtual_sort(const struct og_sort *op);

#endif
