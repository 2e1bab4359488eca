#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *og__json_with(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *og__json_append(json_t *list, json_t *value)
{
    if (json_array_append_new(list, value) == 0)
        return list;
    json_decref(list);
    return NULL;
}

json_t *og__json_joined(json_t *object, json_t *more)
{
    const bool whole = object && more && json_object_update(object, more) == 0;
    json_decref(more);
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

json_t *og__json_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *og__json_text(const char *text)
{
    json_t *value = json_string(text);
    char *ascii = value ? NULL : strdup(text);
    if (value || !ascii)
        return value;
    for (char *p = ascii; *p; p++)
        if (*p & 0x80)
            *p = '?';
    value = json_string(ascii);
    free(ascii);
    return value;
}

char *og__json_print(const json_t *root, size_t flags)
{
    size_t n = json_dumpb(root, NULL, 0, flags);
    char *text = n > 0 ? malloc(n + 1) : NULL;
    if (!text)
        return NULL;
    if (json_dumpb(root, text, n, flags) != n) {
        free(text);
        return NULL;
    }
    text[n] = 0;
    return text;
}

bool og__json_lacked_memory(const json_error_t *why)
{
    /* out of memory mostly leaves the text empty */
    return !why->text[0] || json_error_code(why) == json_error_out_of_memory;
}

int og__json_parse(json_t **out, const char *text, size_t len, const char *name, const char *hint,
                   struct og_err *err)
{
    json_error_t why;
    *out = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (*out)
        return 0;
    return og__json_lacked_memory(&why)
               ? og__fail_errno(err, -ENOMEM, NULL, "%s", name)
               : og__fail(err, -EINVAL, hint, "%s: line %d: %s", name, why.line, why.text);
}
