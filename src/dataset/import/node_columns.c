#include "dataset/import/node_columns.h"

#include "dataset/import/columns.h"

#include <string.h>
#include <strings.h>

/* Names between blanks, as those of outgrow.import_tables. */
static const char *const names[] = {
    [OG__NODE_TIME] = " node_time node_times ",
    [OG__NODE_SPLIT] = " split set fold ",
    [OG__NODE_TRAIN] = " train train_mask ",
    [OG__NODE_VALID] = " valid val valid_mask val_mask ",
    [OG__NODE_TEST] = " test test_mask ",
};

static bool is_among(const char *list, const char *name)
{
    char word[64];
    snprintf(word, sizeof(word), " %s ", name);
    return list && strstr(list, word);
}

bool og__node_column_is(const char *name, const char *given)
{
    const struct og_column_name *longest;
    return given && strncasecmp(name, given, sizeof(longest->text) - 1) == 0;
}

/* A target is the end of an edge elsewhere, but no node has one. */
static bool is_label(const char *name)
{
    return og__column_of(name) == OG__COLUMN_LABEL || strcmp(name, "target") == 0 ||
           strcmp(name, "targets") == 0;
}

static enum og_node_column column_of(const char *name, const char *label)
{
    if (!*name)
        return OG__NODE_UNREAD;
    if (label ? og__node_column_is(name, label) : is_label(name))
        return OG__NODE_LABEL;
    for (enum og_node_column c = OG__NODE_TIME; c < OG_COUNT(names); c++)
        if (is_among(names[c], name))
            return c;
    return OG__NODE_FEATURE;
}

static int twice(const struct og_text *t, const char *line, enum og_node_column what,
                 struct og_err *err)
{
    if (what == OG__NODE_LABEL)
        return og__text_wrong(t, line, "name the one: --node-label NAME", "two columns of labels",
                              err);
    return og__text_wrong(t, line, "leave one of them out, or rename it",
                          what == OG__NODE_TIME ? "two columns of times"
                                                : "two columns say which nodes a split has",
                          err);
}

/* Another column of labels would be a feature. */
static bool is_other_label(const char *name, enum og_node_column what)
{
    return what == OG__NODE_FEATURE &&
           (strncmp(name, "label", 5) == 0 || (is_label(name) && name[0] != 'y'));
}

int og__node_columns(const struct og_text *t, const char *line, char mark, int64_t n, int64_t id,
                     const struct og_node_options *opt, uint8_t *what, struct og_err *err)
{
    struct og_column_name name;
    unsigned seen = 0;
    const char *p = line;
    for (int64_t j = 0; j < n; j++) {
        p = og__column_next(p, mark, &name);
        what[j] = (uint8_t)(j == id ? OG__NODE_ID : column_of(name.text, opt->label));
        if (is_other_label(name.text, what[j]))
            return og__text_wrong(t, line,
                                  "name the one: --node-label NAME; several go to label.csv, with "
                                  "the ids; or rename the column",
                                  "a column of labels among features", err);
        if (what[j] <= OG__NODE_FEATURE)
            continue;
        const unsigned masks = 1U << OG__NODE_TRAIN | 1U << OG__NODE_VALID | 1U << OG__NODE_TEST;
        const unsigned same = what[j] == OG__NODE_SPLIT  ? masks | 1U << OG__NODE_SPLIT
                              : what[j] > OG__NODE_SPLIT ? 1U << what[j] | 1U << OG__NODE_SPLIT
                                                         : 1U << what[j];
        if (seen & same)
            return twice(t, line, what[j], err);
        seen |= 1U << what[j];
    }
    if (opt->label && !(seen & 1U << OG__NODE_LABEL))
        return og__text_wrong(t, line, "give its name as this line has it",
                              "no column has the name of --node-label", err);
    return 0;
}

/* ---- texts ---- */

bool og__node_truth(const char *text, size_t n, double *x)
{
    if (n == 4 && strncasecmp(text, "true", n) == 0)
        *x = 1;
    else if (n == 5 && strncasecmp(text, "false", n) == 0)
        *x = 0;
    else
        return false;
    return true;
}

enum field { EMPTY, NUMBER, TEXT, LIST, DECIMAL_COMMA };

static enum field field_of(const struct og_text *t, const char *text, char mark)
{
    double x = 0;
    const char *end = og__parse_real(t, text, &x);
    if (!*text || (end && !*end && x != x))
        return EMPTY;
    if ((end && !*end) || og__node_truth(text, strlen(text), &x))
        return NUMBER;
    if (end && mark == ';' && *end == ',' && end[1 + strspn(end + 1, "0123456789")] == 0)
        return DECIMAL_COMMA;
    return *text == '[' ? LIST : TEXT;
}

enum { FOUND_TEXT = 64, FOUND_NUMBER = 128 }; /* of a column's values, next to what it is */

/* Notes what the fields of one line are. */
static int look_at_line(const struct og_text *t, const char *at, char mark, int64_t n,
                        uint8_t *what, struct og_err *err)
{
    struct og_column_name name;
    const char *p = at;
    for (int64_t j = 0; j < n && *p != '\n' && *at != '#'; j++) {
        const char *const field = p;
        p = og__column_next(p, mark, &name);
        if ((what[j] & ~(FOUND_TEXT | FOUND_NUMBER)) != OG__NODE_FEATURE)
            continue;
        const enum field is = field_of(t, name.text, mark);
        if (is == DECIMAL_COMMA)
            return og__text_wrong(t, field, "write 0.5 for 0,5: tr , . <OLD >NEW",
                                  "a decimal comma", err);
        if (is == LIST)
            return og__text_wrong(t, field, "give a column to each number of the list",
                                  "a list in a column", err);
        what[j] |= is == TEXT ? FOUND_TEXT : is == NUMBER ? FOUND_NUMBER : 0;
    }
    return 0;
}

int og__node_texts(const struct og_text *t, const char *line, const char *at, const char *end,
                   char mark, int64_t n, uint8_t *what, struct og_names *unread, struct og_err *err)
{
    enum { LINES = 100 };
    struct og_column_name name;
    int rc = 0;
    for (int lines = 0; at < end && lines < LINES && rc == 0; lines++) {
        rc = look_at_line(t, at, mark, n, what, err);
        at = (const char *)rawmemchr(at, '\n') + 1;
    }
    for (int64_t j = 0; j < n; j++) {
        line = og__column_next(line, mark, &name);
        const bool text = what[j] == (OG__NODE_FEATURE | FOUND_TEXT);
        what[j] &= FOUND_TEXT - 1;
        if (text)
            what[j] = OG__NODE_UNREAD;
        if (text && unread)
            og__names_add(unread, name.text);
    }
    return rc;
}

/* ---- splits ---- */

static const struct {
    const char *word;
    enum og_node_column split;
} splits[] = {
    {"train", OG__NODE_TRAIN},  {"training", OG__NODE_TRAIN},   {"valid", OG__NODE_VALID},
    {"val", OG__NODE_VALID},    {"validation", OG__NODE_VALID}, {"test", OG__NODE_TEST},
    {"testing", OG__NODE_TEST}, {"", OG__NODE_UNREAD},          {"none", OG__NODE_UNREAD},
    {"nan", OG__NODE_UNREAD},   {"null", OG__NODE_UNREAD},      {"na", OG__NODE_UNREAD},
};

static const char *const yes_or_no[][2] = {{"0", "1"}, {"false", "true"}, {"0.0", "1.0"}};

static bool is(const struct og_word *word, const char *text)
{
    return word->len == strlen(text) && strncasecmp(word->text, text, word->len) == 0;
}

int og__node_in_split(const struct og_word *word, enum og_node_column what,
                      enum og_node_column split, const char **why)
{
    if (what == OG__NODE_SPLIT)
        for (size_t i = 0; i < OG_COUNT(splits); i++)
            if (is(word, splits[i].word))
                return splits[i].split == split;
    if (what != OG__NODE_SPLIT)
        for (size_t i = 0; i < OG_COUNT(yes_or_no); i++)
            for (int yes = 0; yes < 2; yes++)
                if (is(word, yes_or_no[i][yes]))
                    return yes;
    *why = what == OG__NODE_SPLIT ? "no split: train, valid, test, or empty"
                                  : "no mask: true or false, 1 or 0";
    return -EINVAL;
}
