/* seal: a file that tells whether it is still what was written. Its JSON, or the JSON that it
 * begins with, has the key "xxh3": 16 hexadecimal digits, XXH3-64 of the whole file with these
 * digits as zeros.
 *
 * A file without the key, of another program or of an older version, is taken as it is. */
#ifndef OG_SEAL_H
#define OG_SEAL_H

#include "base/json.h"

#include <xxhash.h>

#define OG__SEAL_KEY "xxh3"
enum { OG__SEAL_DIGITS = 16 };

/* ---- JSON files ---- */

/* `root` (its reference is taken) with the key, as file `path`. */
OG_MUST_CHECK int og__sealed_write(const char *path, json_t *root, struct og_err *err);
/* As og__json_parse; -EINVAL also where the text is not what was written. */
OG_MUST_CHECK int og__sealed_parse(json_t **out, const char *text, size_t len, const char *name,
                                   const char *hint, struct og_err *err);
/* Puts the digits of a text right, where it has any. */
OG_MUST_CHECK int og__seal_again(char *text, size_t len, struct og_err *err);

/* ---- files that begin with JSON ---- */

/* `object` (its reference is taken) with the key, its digits zeros. */
OG_MUST_CHECK json_t *og__seal_begin(json_t *object);
/* The digits in printed JSON; NULL = there are none. */
char *og__seal_find(const char *json, size_t len);
/* What `state` has hashed, as digits; no NUL behind them. */
void og__seal_print(char digits[OG__SEAL_DIGITS], const XXH3_state_t *state);
/* -EINVAL where the digits in file[len] are not its own. NULL: nothing to compare. */
OG_MUST_CHECK int og__seal_check(const char *file, size_t len, const char *digits, const char *name,
                                 const char *hint, struct og_err *err);
/* The same of a file of `size` bytes that begins with head[len], where the digits are; the rest is
 * read a piece at a time. */
OG_MUST_CHECK int og__seal_check_file(int fd, uint64_t size, const char *head, size_t len,
                                      const char *digits, const char *name, const char *hint,
                                      struct og_err *err);

#endif
