#include "base/seal.h"

#include "base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char no_digits[] = "0000000000000000";

/* ---- digits ---- */

json_t *og__seal_begin(json_t *object)
{
    return og__json_with(object, OG__SEAL_KEY, json_string(no_digits));
}

static char *skip_blank(char *p, const char *end)
{
    while (p < end && *p && strchr(" \t\r\n", *p))
        p++;
    return p;
}

/* Behind the key, however the JSON is laid out; NULL where no text of so many digits is there. */
static char *digits_behind(char *key, const char *end)
{
    char *p = skip_blank(key, end);
    if (p == end || *p != ':')
        return NULL;
    p = skip_blank(p + 1, end);
    return end - p > OG__SEAL_DIGITS && *p == '"' ? p + 1 : NULL;
}

/* It is no part of a text, where its quotes would be escaped, but may be a text itself: then there
 * is no colon. */
char *og__seal_find(const char *json, size_t len)
{
    static const char key[] = "\"" OG__SEAL_KEY "\"";
    const char *end = json + len;
    char *digits = NULL;
    for (char *p; !digits && (p = memmem(json, len, key, sizeof(key) - 1));
         len = (size_t)(end - json)) {
        digits = digits_behind(p + sizeof(key) - 1, end);
        json = p + 1;
    }
    return digits;
}

void og__seal_print(char digits[OG__SEAL_DIGITS], const XXH3_state_t *state)
{
    char text[OG__SEAL_DIGITS + 1];
    snprintf(text, sizeof(text), "%016" PRIx64, (uint64_t)XXH3_64bits_digest(state));
    memcpy(digits, text, OG__SEAL_DIGITS);
}

/* What the digits in file[len] should be. */
static int compute(const char *file, size_t len, const char *digits, char out[OG__SEAL_DIGITS],
                   const char *name, struct og_err *err)
{
    const char *rest = digits + OG__SEAL_DIGITS;
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, file, (size_t)(digits - file));
    XXH3_64bits_update(state, no_digits, OG__SEAL_DIGITS);
    XXH3_64bits_update(state, rest, len - (size_t)(rest - file));
    og__seal_print(out, state);
    XXH3_freeState(state);
    return 0;
}

int og__seal_check(const char *file, size_t len, const char *digits, const char *name,
                   const char *hint, struct og_err *err)
{
    char found[OG__SEAL_DIGITS];
    int rc = digits ? compute(file, len, digits, found, name, err) : 0;
    if (rc < 0 || !digits || memcmp(found, digits, OG__SEAL_DIGITS) == 0)
        return rc;
    return og__fail(err, -EINVAL, hint,
                    "%s: damaged: its bytes have the checksum %.16s, it says %.16s", name, found,
                    digits);
}

/* ---- JSON files ---- */

int og__seal_again(char *text, size_t len, struct og_err *err)
{
    char *digits = og__seal_find(text, len);
    return digits ? compute(text, len, digits, digits, "checksum", err) : 0;
}

int og__sealed_write(const char *path, json_t *root, struct og_err *err)
{
    root = og__seal_begin(root);
    char *text = og__json_print(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    const size_t len = text ? strlen(text) : 0;
    json_decref(root);
    int rc = text ? og__seal_again(text, len, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    if (rc == 0)
        rc = og__write_text(path, text, len, err);
    free(text);
    return rc;
}

int og__sealed_parse(json_t **out, const char *text, size_t len, const char *name, const char *hint,
                     struct og_err *err)
{
    *out = NULL;
    int rc = og__seal_check(text, len, og__seal_find(text, len), name, hint, err);
    return rc < 0 ? rc : og__json_parse(out, text, len, name, hint, err);
}
