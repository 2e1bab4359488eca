/* How virtual devices behave: for tests, which try all of it. Of devices opened from then on. */
#ifndef OG_DEVICE_VIRTUAL_H
#define OG_DEVICE_VIRTUAL_H

#include "device/fibres.h"

/* When what a stream was asked is done: at once; not before somebody waits; or at a moment, and
 * between streams in an order, that a seed decides. Where an event is missing, one of them differs.
 */
enum og__pace { OG__EAGER, OG__LAZY, OG__SEEDED, OG__PACES };

struct og_virtual {
    enum og__order order; /* of threads and blocks */
    enum og__pace pace;
    uint64_t seed;   /* of the pace */
    size_t capacity; /* bytes of its memory; 0: as much as the host has */
    size_t own;      /* of these, that a library would take when it is opened */
    size_t free;     /* of these, that it says are free before it is; 0: it does not say */
    uint64_t fail;   /* this call, counted from 1, fails; 0: none */
    bool alone;      /* it is of no group */
    bool glass;      /* the host may look into its memory, as no one may of a device */
    double bytes_per_second, latency;           /* of the link */
    double peer_bytes_per_second, peer_latency; /* of those between devices */
};
extern const struct og_virtual og__virtual_usual;
void og__virtual_become(const struct og_virtual *v);
/* Calls of all virtual devices since then, of those that may fail. */
uint64_t og__virtual_calls(void);

/* ---- what a stream does (virtual_work.c) ---- */

OG_MUST_CHECK int og__virtual_multiply(const struct og_product_of *p, struct og_err *err);
void og__virtual_sort(const struct og_sort *op);

#endif
