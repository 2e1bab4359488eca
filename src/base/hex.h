/* Checksums and keys as text: 64 bits in 16 hexadecimal digits, lower case. */
#ifndef OG_HEX_H
#define OG_HEX_H

#include "base/base.h"

#include <jansson.h>

struct og_hex {
    char digits[17];
};

/* NUL-terminated. */
struct og_hex og__hex(uint64_t value);
/* Returns false, and value 0, unless `text` is exactly 16 such digits. NULL is false. */
bool og__hex_parse(const char *text, uint64_t *value);

/* Value to JSON string and back; NULL on lack of memory, false for any other JSON. */
json_t *og__json_hex(uint64_t value);
bool og__json_hex_get(const json_t *value, uint64_t *out);

#endif
