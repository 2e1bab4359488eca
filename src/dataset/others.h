/* Files in the folder of a dataset that are none of its arrays. */
#ifndef OG_DATASET_OTHERS_H
#define OG_DATASET_OTHERS_H

#include "base/base.h"

/* Calls `each` with the name of every plain file that no command reads, in the order of names; ends
 * with what it returns below 0. */
OG_MUST_CHECK int og__dataset_others(const char *path,
                                     int (*each)(void *arg, const char *name, struct og_err *err),
                                     void *arg, struct og_err *err);

#endif
