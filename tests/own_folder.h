/* A folder of the program's own: made before its tests, gone behind them with all that is in it. */
#ifndef OG_OWN_FOLDER_H
#define OG_OWN_FOLDER_H

#include "testing.h"

#include "base/temporary.h"

#include <stdio.h>
#include <stdlib.h>

static char folder[256];

static inline int make_folder(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%s/og-test-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    (void)state;
    og__remove_tree(folder);
    return 0;
}

#endif
