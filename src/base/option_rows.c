/* Values from text, into the field of a row, and saying what a row would have. */
#include "base/option_rows.h"

#include "base/json.h"
#include "base/plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct og_row *og__row_find(const struct og_row *table, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(table[i].option.name, name) == 0)
            return &table[i];
    return NULL;
}

/* ---- refusing ---- */

/* Letters to change, add or drop to make one word of the other. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { MAX = 32 };
    size_t row[MAX + 1];
    size_t n = strlen(b);
    if (n > MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = OG_MIN(changed, OG_MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

const char *og_nearest_word(const char *const *words, size_t n, const char *word)
{
    const char *nearest = NULL;
    size_t least = 3; /* further off, it is another word */
    for (size_t i = 0; i < n; i++) {
        size_t distance = edit_distance(word, words[i]);
        if (distance < least && distance < strlen(word)) {
            least = distance;
            nearest = words[i];
        }
    }
    return nearest;
}

/* The word of a choice that is meant: nearly the same, or inside the given one. NULL = none. */
static const char *meant_choice(const struct og_option *row, const char *value)
{
    size_t n = 0;
    const char *inside = NULL;
    for (; row->choices[n]; n++)
        if (!inside && strlen(row->choices[n]) >= 4 && strcasestr(value, row->choices[n]))
            inside = row->choices[n];
    const char *const nearest = og_nearest_word(row->choices, n, value);
    return nearest ? nearest : inside;
}

static void list_choices(const struct og_option *row, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "one of");
    for (size_t i = 0; row->choices[i] && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s %s", i ? "," : "", row->choices[i]);
}

/* 1e3, 1,000, 1_000 and 10.0 are whole numbers. */
static void hint_whole(const struct og_option *row, const char *value, char *hint, size_t size)
{
    char digits[32] = "", *end;
    size_t n = 0;
    for (; *value && n + 1 < sizeof(digits); value++)
        if (*value != ',' && *value != '_')
            digits[n++] = *value;
    const double x = og__plain_number(digits, &end);
    if (end != digits && !*end && x == floor(x) && x >= row->min && x <= row->max && x < 0x1p53)
        snprintf(hint, size, "write %.0f", x);
}

int og__option_refuse(const struct og_option *row, const char *value, struct og_err *err)
{
    char expected[400] = "some text in UTF-8";
    char hint[64] = "";
    const char *meant = NULL;
    size_t size = sizeof(expected);
    switch (row->type) {
    case OG_OPTION_FLAG:
        snprintf(expected, size, "true or false");
        break;
    case OG_OPTION_INT:
        snprintf(expected, size, "a whole number from %.0f to %.0f%s%s%s%s", row->min, row->max,
                 row->choices ? " or " : "", row->choices ? row->choices[0] : "",
                 row->choices && row->choices[1] ? " or " : "",
                 row->choices && row->choices[1] ? row->choices[1] : "");
        hint_whole(row, value, hint, sizeof(hint));
        break;
    case OG_OPTION_INT64:
        snprintf(expected, size,
                 row->max < 0x1p63 ? "a whole number from %.0f to %.0f"
                                   : "a whole number from %.0f to 2^63 - 1",
                 row->min, row->max);
        hint_whole(row, value, hint, sizeof(hint));
        break;
    case OG_OPTION_REAL:
        snprintf(expected, size, "a number from %g to %g", row->min, row->max);
        break;
    case OG_OPTION_AMOUNT:
        snprintf(expected, size, "a size such as 512M or 4G, or a share such as 25%%");
        if (value[0] && strchr("Bb", value[strlen(value) - 1]))
            snprintf(hint, sizeof(hint), "leave out the B: 4G is 4 GiB");
        else if (!value[strspn(value, "0123456789.")])
            snprintf(hint, sizeof(hint), "a share ends in %%, a size in K, M, G or T");
        break;
    case OG_OPTION_CHOICE:
        list_choices(row, expected, size);
        meant = meant_choice(row, value);
        break;
    case OG_OPTION_LIST:
        snprintf(expected, size,
                 "1 to %d whole numbers such as 10,10,10, each at least 1, or -1 for all",
                 OG_MAX_HOPS);
        break;
    case OG_OPTION_SPLIT:
        snprintf(expected, size,
                 "a number of trainers, or samplers:trainers such as 1:3, 1 to %.0f and 0 to %.0f, "
                 "or %s",
                 row->max, row->max, row->choices[0]);
        break;
    case OG_OPTION_TEXT:
        if (*value == '~')
            snprintf(hint, sizeof(hint), "write the path of your home folder for ~");
        break;
    }
    if (meant)
        snprintf(hint, sizeof(hint), "did you mean %s?", meant);
    return og__fail(err, -EINVAL, hint, "%s: '%.100s' given, %s expected", row->name, value,
                    expected);
}

/* ---- parsers: each returns whether the text is valid, and stores it only then ---- */

static bool read_flag(const char *text, bool *out)
{
    const bool yes = strcasecmp(text, "true") == 0;
    if (!yes && strcasecmp(text, "false") != 0)
        return false;
    *out = yes;
    return true;
}

static bool read_whole(const char *text, double min, double max, long long *out)
{
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    bool plain = end != text && strspn(text, "-0123456789") == (size_t)(end - text) && *end == 0;
    return plain && errno == 0 && (double)*out >= min && (double)*out <= max;
}

static bool read_int(const struct og_option *row, const char *text, int *out)
{
    for (int i = 0; row->choices && row->choices[i]; i++) {
        if (strcmp(text, row->choices[i]) == 0) {
            *out = -i;
            return true;
        }
    }
    long long value = 0;
    if (!read_whole(text, row->min, row->max, &value))
        return false;
    *out = (int)value;
    return true;
}

static bool read_int64(const struct og_option *row, const char *text, int64_t *out)
{
    long long value;
    if (!read_whole(text, row->min, row->max, &value))
        return false;
    *out = value;
    return true;
}

/* Decimal only: strtod alone would take hexadecimal, "inf" and "nan" as well. */
static bool read_decimal(const char *text, double *out, const char **rest)
{
    char *end;
    size_t decimal = strspn(text, "+-.0123456789eE");
    if (decimal == 0)
        return false;
    errno = 0;
    *out = og__plain_number(text, &end);
    *rest = end;
    return end != text && (size_t)(end - text) <= decimal && errno == 0;
}

static bool read_real(const struct og_option *row, const char *text, double *out)
{
    const char *rest;
    double value;
    if (!read_decimal(text, &value, &rest) || *rest || value < row->min || value > row->max)
        return false;
    *out = value;
    return true;
}

/* 1024^k for the k-th of "KMGT", in either case, with or without "iB"; 0 for anything else. */
static double unit_bytes(const char *unit)
{
    static const char units[] = "kKmMgGtT";
    if (*unit == 0)
        return 1;
    const char *place = strchr(units, *unit);
    if (!place || (unit[1] && strcmp(unit + 1, "iB") != 0))
        return 0;
    return ldexp(1, 10 * (1 + (int)(place - units) / 2));
}

static bool read_amount(const struct og_option *row, const char *text, struct og_amount *out)
{
    const char *rest;
    double value;
    if (!read_decimal(text, &value, &rest) || value < 0)
        return false;
    const bool share = strcmp(rest, "%") == 0;
    const double unit = share ? 1 : unit_bytes(rest);
    if (unit == 0 || (share && value == 0 && row->min > 0) ||
        (!share && value > 0 && value * unit < 1) || /* 0.5 is no size: 50%? */
        (share ? value > 100 : floor(value * unit) > row->max || floor(value * unit) < row->min))
        return false;
    *out = share ? (struct og_amount){OG_PERCENT, value}
                 : (struct og_amount){OG_BYTES, floor(value * unit)};
    return true;
}

static bool read_choice(const struct og_option *row, const char *text, int *out)
{
    for (int i = 0; row->choices[i]; i++) {
        if (strcasecmp(row->choices[i], text) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool read_list(const struct og_option *row, const char *text, int *out)
{
    int list[OG_MAX_HOPS] = {0};
    int n = 0;
    for (;; n++) {
        size_t len = strcspn(text, ",");
        char word[24];
        long long value;
        if (n == OG_MAX_HOPS || len >= sizeof(word))
            return false;
        snprintf(word, sizeof(word), "%.*s", (int)len, text);
        if (!read_whole(word, row->min, row->max, &value) || value == 0)
            return false;
        list[n] = (int)value;
        if (!text[len])
            break;
        text += len + 1;
    }
    memcpy(out, list, sizeof(list));
    out[OG_MAX_HOPS] = n + 1;
    return true;
}

/* "4" trainers, or "1:3" samplers and trainers. */
static bool read_split(const struct og_option *row, const char *text, struct og_executor_split *out)
{
    enum { MOST_ALONE = 64 };
    const size_t length = strcspn(text, ":");
    char word[16];
    long long samplers;
    long long trainers;
    if (strcmp(text, row->choices[0]) == 0) {
        *out = (struct og_executor_split){0};
        return true;
    }
    if (!text[length] && read_whole(text, 1, MOST_ALONE, &trainers)) {
        *out = (struct og_executor_split){.trainers = (int)trainers};
        return true;
    }
    snprintf(word, sizeof(word), "%.*s", (int)OG_MIN(length, sizeof(word) - 1), text);
    if (!text[length] || length >= sizeof(word) || !read_whole(word, 1, row->max, &samplers) ||
        !read_whole(text + length + 1, 0, row->max, &trainers))
        return false;
    *out = (struct og_executor_split){(int)samplers, (int)trainers};
    return true;
}

/* UTF-8 only: the text goes into JSON and YAML. A shell leaves the ~ in --run=~/runs as it is, and
 * no folder is called so. */
static bool read_text(const char *text, char **out)
{
    json_t *string = json_string(text);
    bool fits = string && *text && strncmp(text, "~/", 2) != 0;
    json_decref(string);
    char *copy = fits ? strdup(text) : NULL;
    if (!copy)
        return false;
    free(*out);
    *out = copy;
    return true;
}

bool og__row_take(const struct og_row *row, void *fields, const char *text)
{
    const struct og_option *option = &row->option;
    void *field = (char *)fields + row->offset;
    switch (option->type) {
    case OG_OPTION_FLAG:
        return read_flag(text, field);
    case OG_OPTION_INT:
        return read_int(option, text, field);
    case OG_OPTION_INT64:
        return read_int64(option, text, field);
    case OG_OPTION_REAL:
        return read_real(option, text, field);
    case OG_OPTION_AMOUNT:
        return read_amount(option, text, field);
    case OG_OPTION_CHOICE:
        return read_choice(option, text, field);
    case OG_OPTION_LIST:
        return read_list(option, text, field);
    case OG_OPTION_TEXT:
        return read_text(text, field);
    case OG_OPTION_SPLIT:
        return read_split(option, text, field);
    }
    return false;
}

int og__row_read(const struct og_row *row, void *fields, const char *text, struct og_err *err)
{
    return og__row_take(row, fields, text) ? 0 : og__option_refuse(&row->option, text, err);
}

/* ---- all rows of a table ---- */

static int refuse_name(const struct og_row *table, size_t n, const char *name, struct og_err *err)
{
    enum { MOST = 64 };
    const char *names[MOST];
    char hint[64] = "";
    for (size_t i = 0; i < OG_MIN(n, MOST); i++)
        names[i] = table[i].option.name;
    const char *nearest = og_nearest_word(names, OG_MIN(n, MOST), name);
    if (nearest)
        snprintf(hint, sizeof(hint), "did you mean '%s'?", nearest);
    return og__fail(err, -EINVAL, hint, "%.100s: no such option", name);
}

int og__rows_set(const struct og_row *table, size_t n, void *fields, const char *name,
                 const char *text, struct og_err *err)
{
    const struct og_row *row = og__row_find(table, n, name);
    return row ? og__row_read(row, fields, text, err) : refuse_name(table, n, name, err);
}

void og__rows_init(const struct og_row *table, size_t n, void *fields)
{
    for (size_t i = 0; i < n; i++)
        if (*table[i].option.standard)
            og__row_take(&table[i], fields, table[i].option.standard);
}

static char **text_of(const struct og_row *row, void *fields)
{
    return row->option.type == OG_OPTION_TEXT ? (char **)((char *)fields + row->offset) : NULL;
}

void og__rows_release(const struct og_row *table, size_t n, void *fields)
{
    for (size_t i = 0; i < n; i++) {
        char **text = text_of(&table[i], fields);
        if (!text)
            continue;
        free(*text);
        *text = NULL;
    }
}

int og__rows_own(const struct og_row *table, size_t n, void *fields, struct og_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        char **text = text_of(&table[i], fields);
        if (!text || !*text)
            continue;
        *text = strdup(*text);
        if (!*text)
            rc = og__fail_errno(err, -ENOMEM, NULL, "options");
    }
    if (rc < 0)
        og__rows_release(table, n, fields);
    return rc;
}
