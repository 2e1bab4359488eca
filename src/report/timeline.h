/* When which stage worked on which batch: Chrome's trace event format, opens in Perfetto. */
#ifndef OG_TIMELINE_H
#define OG_TIMELINE_H

#include "base/base.h"

struct og_timeline;

OG_MUST_CHECK int og__timeline_open(struct og_timeline **out, const char *path, struct og_err *err);
/* A span of `stage` (static storage) on batch `item`; start and end from og__now. Any thread; NULL
 * t is ignored. */
void og__timeline_add(struct og_timeline *t, const char *stage, uint64_t item, double start,
                      double end);
/* Completes the file. The first write that failed is told here. */
OG_MUST_CHECK int og__timeline_close(struct og_timeline *t, struct og_err *err);
/* Leaves nothing behind, of what came to nothing. NULL t is ignored. */
void og__timeline_discard(struct og_timeline *t);

#endif
