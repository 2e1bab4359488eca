/* JSON values that are complete or NULL.
 *
 * jansson's functions that add to an object or list fail one by one when memory is short. The value
 * then lacks a key, and so would the file. These functions turn the value into NULL instead, and
 * adding to NULL gives NULL. So only the caller that prints it has to check. */
#ifndef OG_BASE_JSON_H
#define OG_BASE_JSON_H

#include "base/base.h"

#include <jansson.h>

/* Sets `key` of `object`, or appends to `list`. Both take the references of both arguments. */
OG_MUST_CHECK json_t *og__json_with(json_t *object, const char *key, json_t *value);
OG_MUST_CHECK json_t *og__json_append(json_t *list, json_t *value);
/* `object` with all that `more` has. */
OG_MUST_CHECK json_t *og__json_joined(json_t *object, json_t *more);

/* As json_real, but null for infinity and NaN, which JSON lacks. */
json_t *og__json_real(double x);
/* As json_string, but text that is not UTF-8, such as a file name, gets '?' for each non-ASCII
 * byte. So no result fails because of a name. */
json_t *og__json_text(const char *text);

/* `root` as malloc'ed text. NULL if it is NULL or memory is short. (json_dumps silently omits a key
 * whose text it cannot allocate.) */
char *og__json_print(const json_t *root, size_t flags);

/* Did jansson refuse a text only for lack of memory? Not always detected: a word that it cannot
 * allocate looks like a syntax error. */
bool og__json_lacked_memory(const json_error_t *why);

/* Parses text[len]. Release the value by json_decref. -EINVAL with name, line and `hint` for
 * invalid JSON and duplicate keys; -ENOMEM. */
OG_MUST_CHECK int og__json_parse(json_t **out, const char *text, size_t len, const char *name,
                                 const char *hint, struct og_err *err);

#endif
