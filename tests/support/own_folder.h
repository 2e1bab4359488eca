/* A folder of the program's own. It is made before the tests, and removed after them with all that
 * is in it. */
#ifndef OG_OWN_FOLDER_H
#define OG_OWN_FOLDER_H

#include "support/testing.h"

#include "base/temporary.h"
#include "support/folder.h"

static char folder[TEST_PATH];

static inline int make_folder(void **state)
{
    (void)state;
    return test_folder(folder, "test") ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    (void)state;
    og__remove_tree(folder);
    return 0;
}

#endif
