/* Checksums and keys as text: 64 bits in 16 hexadecimal digits, lower case. */
#ifndef OG_HEX_H
#define OG_HEX_H

#include "base/base.h"

#include <jansson.h>

struct og_hex {
    char digits[17];
};

/* With a NUL behind them. */
struct og_hex og__hex(uint64_t value);
/* False, and 0, where `text` is anything but 16 such digits, or NULL. */
bool og__hex_parse(const char *text, uint64_t *value);

/* The same as a JSON string; NULL on lack of memory, or where the value is no such string. */
json_t *og__json_hex(uint64_t value);
bool og__json_hex_get(const json_t *value, uint64_t *out);

#endif
