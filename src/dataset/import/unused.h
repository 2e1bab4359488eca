/* Options that a source makes nothing of. */
#ifndef OG_IMPORT_UNUSED_H
#define OG_IMPORT_UNUSED_H

#include "dataset/import/import.h"

/* -EINVAL if an option is given that another format takes, or that --drop-features excludes. */
OG_MUST_CHECK int og__import_check_options(const struct og_import *opt,
                                           const struct og_format *format, struct og_err *err);
/* Names options that had no effect. Call at the end. */
void og__import_tell_idle(const struct og_importer *imp, const struct og_format *format);

#endif
