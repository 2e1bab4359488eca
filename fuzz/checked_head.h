/* What targets of a head and its table share. The head ends with a check of both, which hides
 * everything after it. So each input is looked at as it is, then with the check put right, so that
 * the table itself is looked at. */
#ifndef OG_CHECKED_HEAD_H
#define OG_CHECKED_HEAD_H

#include "fuzz.h"

#include <stdbool.h>
#include <stdlib.h>

/* The bytes of struct og_pack_head or og_shared_head. */
#define SAME_HEAD(a, b)                                                                            \
    ((a)->dataset == (b)->dataset && (a)->row_bytes == (b)->row_bytes &&                           \
     (a)->dtype == (b)->dtype && (a)->n_batches == (b)->n_batches && (a)->n_rows == (b)->n_rows && \
     (a)->check == (b)->check)

/* The target's own; negative = refused. */
static int parse(const char *data, size_t size, bool put_right);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int as_it_is = parse((const char *)data, size, false);
    int put_right = parse((const char *)data, size, true);
    if (as_it_is == 0 && put_right < 0)
        abort();
    return 0;
}

#endif
