/* Results as JSON, for the caller and in a file. */
#ifndef OG_REPORT_JSON_H
#define OG_REPORT_JSON_H

#include "base/json.h"

/* Stores the text of `root` in *text and in file `path`, each unless NULL. Takes the reference to
 * `root`. Reals have 17 digits, so reading restores them exactly. */
OG_MUST_CHECK int og__json_deliver(json_t *root, const char *path, char **text, struct og_err *err);

#endif
