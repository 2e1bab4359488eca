/* JSON that is whole or none.
 *
 * jansson's functions that add to an object or a list tell each time when memory is short, and
 * leave the value without what was to be added: printed, it would be a file that lacks a key. Those
 * here make it NULL, and what is added to NULL is NULL; so only who prints it has to look. */
#ifndef OG_BASE_JSON_H
#define OG_BASE_JSON_H

#include "base/base.h"

#include <jansson.h>

/* `object` with `key` set to `value`, `list` with `value` at its end. Both references are taken. */
OG_MUST_CHECK json_t *og__json_with(json_t *object, const char *key, json_t *value);
OG_MUST_CHECK json_t *og__json_append(json_t *list, json_t *value);
/* `object` with all that `more` has. */
OG_MUST_CHECK json_t *og__json_joined(json_t *object, json_t *more);

/* As json_real, but null for what JSON has no number for: infinity, NaN. */
json_t *og__json_real(double x);
/* As json_string, but where the text is no UTF-8, as a file's name may be, with '?' for what is not
 * ASCII: a result does not fail over a name. */
json_t *og__json_text(const char *text);

/* `root` as text, to be freed; NULL where it is NULL, or without memory. (json_dumps leaves a key
 * out whose text it has no room for, and says nothing.) */
char *og__json_print(const json_t *root, size_t flags);

/* Did jansson refuse a text only because memory was short? (Not always: it takes a word that it has
 * no memory for as no word.) */
bool og__json_lacked_memory(const json_error_t *why);

/* The value in text[len], to be released by json_decref. -EINVAL with name, line and `hint` where
 * it is no JSON or has a key twice; -ENOMEM. */
OG_MUST_CHECK int og__json_parse(json_t **out, const char *text, size_t len, const char *name,
                                 const char *hint, struct og_err *err);

#endif
