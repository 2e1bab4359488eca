/* Results as JSON: text for whoever called, and a file. */
#ifndef OG_REPORT_JSON_H
#define OG_REPORT_JSON_H

#include "base/json.h"

/* Text of `root` (its reference is taken) into *text unless NULL and into file `path` unless NULL.
 * Reals keep 17 digits: what is read back is what was. */
OG_MUST_CHECK int og__json_deliver(json_t *root, const char *path, char **text, struct og_err *err);

#endif
