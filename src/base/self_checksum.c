#include "base/self_checksum.h"

#include "base/file.h"
#include "base/hex.h"

#include <stdlib.h>
#include <string.h>

static const char no_digits[] = "0000000000000000";

/* ---- digits ---- */

json_t *og__self_checksum_begin(json_t *object)
{
    return og__json_with(object, OG__SELF_CHECKSUM_KEY, json_string(no_digits));
}

static char *skip_blank(char *p, const char *end)
{
    while (p < end && *p && strchr(" \t\r\n", *p))
        p++;
    return p;
}

/* Finds the digits after the key, in any JSON layout; NULL if no string of that length follows. */
static char *digits_behind(char *key, const char *end)
{
    char *p = skip_blank(key, end);
    if (p == end || *p != ':')
        return NULL;
    p = skip_blank(p + 1, end);
    return end - p > OG__SELF_CHECKSUM_DIGITS && *p == '"' ? p + 1 : NULL;
}

/* The key cannot match inside a string, where its quotes are escaped. It may match a string value;
 * then no colon follows. */
char *og__self_checksum_find(const char *json, size_t len)
{
    static const char key[] = "\"" OG__SELF_CHECKSUM_KEY "\"";
    const char *end = json + len;
    char *digits = NULL;
    for (char *p; !digits && (p = memmem(json, len, key, sizeof(key) - 1));
         len = (size_t)(end - json)) {
        digits = digits_behind(p + sizeof(key) - 1, end);
        json = p + 1;
    }
    return digits;
}

void og__self_checksum_print(char digits[OG__SELF_CHECKSUM_DIGITS], const XXH3_state_t *state)
{
    memcpy(digits, og__hex(XXH3_64bits_digest(state)).digits, OG__SELF_CHECKSUM_DIGITS);
}

/* A file to check: its first bytes, in memory, and its total size. */
struct sealed {
    const char *head;
    size_t len;
    int fd; /* not looked at where the head is all */
    uint64_t size;
    const char *name;
};

static int hash_after_head(const struct sealed *f, XXH3_state_t *state, struct og_err *err)
{
    enum { PIECE = 64 * 1024 };
    char piece[PIECE];
    for (uint64_t at = f->len; at < f->size; at += PIECE) {
        const size_t n = (size_t)OG_MIN(f->size - at, (uint64_t)PIECE);
        OG_DO(og__read_all(f->fd, piece, n, (off_t)at, f->name, err));
        XXH3_64bits_update(state, piece, n);
    }
    return 0;
}

/* Computes the right digits for the head. */
static int compute(const struct sealed *f, const char *digits, char out[OG__SELF_CHECKSUM_DIGITS],
                   struct og_err *err)
{
    const char *rest = digits + OG__SELF_CHECKSUM_DIGITS;
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", f->name);
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, f->head, (size_t)(digits - f->head));
    XXH3_64bits_update(state, no_digits, OG__SELF_CHECKSUM_DIGITS);
    XXH3_64bits_update(state, rest, f->len - (size_t)(rest - f->head));
    int rc = hash_after_head(f, state, err);
    og__self_checksum_print(out, state);
    XXH3_freeState(state);
    return rc;
}

static int check(const struct sealed *f, const char *digits, const char *hint, struct og_err *err)
{
    char found[OG__SELF_CHECKSUM_DIGITS];
    int rc = digits ? compute(f, digits, found, err) : 0;
    if (rc < 0 || !digits || memcmp(found, digits, OG__SELF_CHECKSUM_DIGITS) == 0)
        return rc;
    return og__fail(err, -EINVAL, hint,
                    "%s: damaged: its bytes have the checksum %.16s, it says %.16s", f->name, found,
                    digits);
}

int og__self_checksum_check(const char *file, size_t len, const char *digits, const char *name,
                            const char *hint, struct og_err *err)
{
    const struct sealed f = {.head = file, .len = len, .fd = -1, .size = len, .name = name};
    return check(&f, digits, hint, err);
}

int og__self_checksum_check_file(int fd, uint64_t size, const char *head, size_t len,
                                 const char *digits, const char *name, const char *hint,
                                 struct og_err *err)
{
    const struct sealed f = {.head = head, .len = len, .fd = fd, .size = size, .name = name};
    return check(&f, digits, hint, err);
}

/* ---- JSON files ---- */

int og__self_checksum_again(char *text, size_t len, struct og_err *err)
{
    char *digits = og__self_checksum_find(text, len);
    const struct sealed f = {.head = text, .len = len, .fd = -1, .size = len, .name = "checksum"};
    return digits ? compute(&f, digits, digits, err) : 0;
}

int og__self_checksum_write(const char *path, json_t *root, struct og_err *err)
{
    root = og__self_checksum_begin(root);
    char *text = og__json_print(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    const size_t len = text ? strlen(text) : 0;
    json_decref(root);
    int rc;
    OG_TRY(text ? og__self_checksum_again(text, len, err)
                : og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    OG_TRY(og__write_text(path, text, len, err));
out:
    free(text);
    return rc;
}

int og__self_checksum_parse(json_t **out, const char *text, size_t len, const char *name,
                            const char *hint, struct og_err *err)
{
    *out = NULL;
    int rc = og__self_checksum_check(text, len, og__self_checksum_find(text, len), name, hint, err);
    return rc < 0 ? rc : og__json_parse(out, text, len, name, hint, err);
}
