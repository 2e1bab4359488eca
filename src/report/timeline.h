/* Timeline of stages and batches in Chrome's trace event format, which Perfetto opens. */
#ifndef OG_TIMELINE_H
#define OG_TIMELINE_H

#include "base/base.h"

struct og_timeline;

OG_MUST_CHECK int og__timeline_open(struct og_timeline **out, const char *path, struct og_err *err);
/* Add a span of `stage` (static storage) on batch `item`; start and end from og__now. Any thread;
 * NULL t is ignored. */
void og__timeline_add(struct og_timeline *t, const char *stage, uint64_t item, double start,
                      double end);
/* Complete the file. Reports the first failed write. */
OG_MUST_CHECK int og__timeline_close(struct og_timeline *t, struct og_err *err);
/* Remove an incomplete file. NULL t is ignored. */
void og__timeline_discard(struct og_timeline *t);

#endif
