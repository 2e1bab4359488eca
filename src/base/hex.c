#include "base/hex.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 16 };

struct og_hex og__hex(uint64_t value)
{
    struct og_hex h;
    snprintf(h.digits, sizeof(h.digits), "%016" PRIx64, value);
    return h;
}

bool og__hex_parse(const char *text, uint64_t *value)
{
    bool whole = text && strlen(text) == DIGITS && strspn(text, "0123456789abcdef") == DIGITS;
    *value = whole ? strtoull(text, NULL, 16) : 0;
    return whole;
}

json_t *og__json_hex(uint64_t value)
{
    return json_string(og__hex(value).digits);
}

bool og__json_hex_get(const json_t *value, uint64_t *out)
{
    return og__hex_parse(json_string_value(value), out);
}
