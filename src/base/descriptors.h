/* How many files this process may hold open at a time: the limit that `ulimit -n` shows and
 * og_files_raise raises. */
#ifndef OG_DESCRIPTORS_H
#define OG_DESCRIPTORS_H

#include "base/base.h"

/* -EMFILE where `more` files beside those that are open now are too many: `what` needs them, and
 * the hint says which limit would do, `otherwise` what else. */
OG_MUST_CHECK int og__descriptors_check(uint64_t more, const char *what, const char *otherwise,
                                        struct og_err *err);

#endif
