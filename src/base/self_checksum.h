/* Embedded checksums: a file whose JSON, or leading JSON, holds a checksum of the whole file. Key
 * "xxh3": 16 hexadecimal digits, XXH3-64 of the file with these digits as zeros.
 *
 * A file without the key, of another program or an older version, is accepted. */
#ifndef OG_SELF_CHECKSUM_H
#define OG_SELF_CHECKSUM_H

#include "base/json.h"

#include <xxhash.h>

#define OG__SELF_CHECKSUM_KEY "xxh3"
enum { OG__SELF_CHECKSUM_DIGITS = 16 };

/* ---- JSON files ---- */

/* Writes `root` with the key as file `path`; takes the reference. */
OG_MUST_CHECK int og__self_checksum_write(const char *path, json_t *root, struct og_err *err);
/* As og__json_parse; -EINVAL also for a wrong checksum. */
OG_MUST_CHECK int og__self_checksum_parse(json_t **out, const char *text, size_t len,
                                          const char *name, const char *hint, struct og_err *err);
/* Updates the checksum of a text, if it has one. */
OG_MUST_CHECK int og__self_checksum_again(char *text, size_t len, struct og_err *err);

/* ---- files that begin with JSON ---- */

/* Adds the key to `object` with zeros as digits; takes the reference. */
OG_MUST_CHECK json_t *og__self_checksum_begin(json_t *object);
/* The position of the digits in printed JSON; NULL = none. */
char *og__self_checksum_find(const char *json, size_t len);
/* Prints the hash of `state` as digits, without a NUL. */
void og__self_checksum_print(char digits[OG__SELF_CHECKSUM_DIGITS], const XXH3_state_t *state);
/* -EINVAL if the digits in file[len] are wrong. NULL digits: nothing to compare. */
OG_MUST_CHECK int og__self_checksum_check(const char *file, size_t len, const char *digits,
                                          const char *name, const char *hint, struct og_err *err);
/* As og__self_checksum_check, for a file of `size` bytes that begins with head[len], which holds
 * the digits. Reads the rest in pieces. */
OG_MUST_CHECK int og__self_checksum_check_file(int fd, uint64_t size, const char *head, size_t len,
                                               const char *digits, const char *name,
                                               const char *hint, struct og_err *err);

#endif
