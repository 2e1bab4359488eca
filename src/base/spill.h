/* A spill buffer: bytes appended in order and read at random. It holds them in memory up to a
 * bound, the rest in a scratch file or in one part on each disk. */
#ifndef OG_SPILL_H
#define OG_SPILL_H

#include "base/memory.h"
#include "base/places.h"

struct og_spill;

struct og_spill_options {
    struct og_places scratch; /* for the file, created on first use; copied */
    size_t memory;            /* bytes held in memory, from the budget as `part` */
    const char *part;         /* string literal */
};

OG_MUST_CHECK int og__spill_open(struct og_spill **out, const struct og_spill_options *opt,
                                 struct og_budget *b, struct og_err *err);
void og__spill_close(struct og_spill *s);

/* On failure the earlier bytes are unchanged. One thread. */
OG_MUST_CHECK int og__spill_append(struct og_spill *s, const void *data, size_t bytes,
                                   struct og_err *err);
/* Reads bytes [at, at + bytes). Adds the bytes requested from the kernel to *read. Any number of
 * threads, while none appends. */
OG_MUST_CHECK int og__spill_read(struct og_spill *s, uint64_t at, void *out, size_t bytes,
                                 uint64_t *read, struct og_err *err);
uint64_t og__spill_size(const struct og_spill *s);    /* bytes appended since it was empty */
uint64_t og__spill_written(const struct og_spill *s); /* bytes that went to the file, ever */
void og__spill_clear(struct og_spill *s);             /* empty again */

#endif
