/* Which rows of a typed graph are kept in memory: of all types those that a byte saves most by
 * (plan/widths.h), as many as are left of --memory, or --cache allows. */
#ifndef OG_TRAIN_TYPED_CACHE_H
#define OG_TRAIN_TYPED_CACHE_H

#include "plan/widths.h"
#include "session/session.h"

/* Where rows that are kept stay: -ENOTSUP of a policy whose cache changes. */
OG_MUST_CHECK int og__typed_cache_check(int policy, struct og_err *err);
/* What rows are worth, by uses as the policy ranks nodes by them; degrees, where it ranks none.
 * opt: its parameters; worth[N]. */
OG_MUST_CHECK int og__typed_cache_weigh(const struct og_session *s, int policy,
                                        const struct og_options *opt, uint32_t *worth,
                                        struct og_err *err);
/* What of a device's cache over it the host's has to know. */
struct og_typed_above {
    uint64_t rows;                 /* slots, */
    uint64_t slots[OG_MOST_TYPES]; /* of each type */
    size_t bytes;
    bool stay;  /* its rows stay, as the host's do, which are others then; */
    bool first; /* and they are those that come before the host's in one ranking */
};
/* By that the rows of each type in a cache so large, into slots[types]. */
OG_MUST_CHECK int og__typed_cache_slots(const uint32_t *worth, const struct og_amount *cache,
                                        const struct og_width *width, uint32_t n_types,
                                        const struct og_typed_above *above, struct og_budget *b,
                                        uint64_t *slots, struct og_err *err);
/* The same of one of the session's ranks, which keeps rows of its own nodes alone: worth[N] is of
 * all. As that rank would have them, but for what its batches take of memory that others' do not.
 */
OG_MUST_CHECK int og__typed_owned_slots(const struct og_session *s, const uint32_t *worth,
                                        uint32_t rank, uint64_t *slots, struct og_err *err);
size_t og__typed_owned_bytes(const struct og_session *s); /* meanwhile */
/* How wide rows of each type are, malloc'ed; NULL without memory. */
struct og_width *og__typed_widths(const struct og_graph *g);
/* Of a type whose file has such rows, kept so wide. */
struct og_width og__typed_width(uint64_t end, size_t row_bytes, size_t file_row_bytes);
/* *out is to be released; without slots where nothing is kept. */
OG_MUST_CHECK int og__typed_cache_place(struct og_session *s, struct og_placement *out,
                                        struct og_err *err);

/* Staging areas and the cache of a way whose plan is made but for these, and how many of its slots
 * are for each type, into slots[types]. worth: of nodes, by the policy's numbers; NULL where it
 * keeps none. Looks at nothing but numbers. */
OG_MUST_CHECK int og__typed_cache_plan(struct og_memory_plan *m, const struct og_premises *p,
                                       const uint32_t *worth, const struct og_typed_above *above,
                                       uint64_t *slots, struct og_budget *b, struct og_err *err);
/* For a session that gathers them: staging areas and the cache are sized, into s->memory and
 * s->told, and s->hotness is what rows are worth, to be dropped by the caller. */
OG_MUST_CHECK int og__typed_cache_size(struct og_session *s, struct og_err *err);
/* Ranges of the types that have features, with slots[types] of each; returns how many there are,
 * none of a graph without types. */
uint32_t og__typed_ranges(const struct og_facts *f, const uint64_t *slots,
                          struct og_slot_range *ranges);
/* With the slots that the session's have. */
uint32_t og__typed_cache_ranges(const struct og_session *s,
                                struct og_slot_range ranges[OG_MOST_TYPES]);

#endif
