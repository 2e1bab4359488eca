/* The limit of open files of this process: `ulimit -n` shows it and og_files_raise raises it. */
#ifndef OG_DESCRIPTORS_H
#define OG_DESCRIPTORS_H

#include "base/base.h"

/* -EMFILE if `more` files exceed the limit together with those open now. The message names `what`
 * needs them. The hint names a sufficient limit, or the alternative `otherwise`. */
OG_MUST_CHECK int og__descriptors_check(uint64_t more, const char *what, const char *otherwise,
                                        struct og_err *err);

#endif
