/* Comma separated numbers, a row a line. */
#include "dataset/import/table_csv_parts.h"

#include "dataset/word_map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char csv_hint[] = "numbers with commas between them and no header line are read here";
static const char by_id_hint[] = "a line is an id and numbers, with commas between them; the first "
                                 "line may name the columns";

static const char *skip_blanks(const struct og_csv_table *c, const char *p)
{
    while (*p == ' ' || *p == '\r' || (*p == '\t' && c->mark != '\t'))
        p++;
    return p;
}

static int wrong(const struct og_csv_table *c, const char *at, const char *why, struct og_err *err)
{
    const bool word = *at > '9';
    const char *hint = c->by_id ? by_id_hint : csv_hint;
    if (c->by_id && *at == '.')
        hint = "ids are whole numbers, in pandas astype('int64')";
    else if (c->by_id && c->use.rows == OG__CSV_IDS)
        hint = "a line is the id of a node, as the edges have it";
    else if (c->by_id && word && c->use.rows == OG__CSV_LABELS)
        hint = "one column of labels may be words; else number the words (numpy.unique), and leave "
               "the field empty for no label";
    else if (c->by_id && word)
        hint = "number the words (numpy.unique), or leave the column out";
    return og__text_wrong(&c->text, at, hint, why, err);
}

/* ---- a line ---- */

static int32_t place_of(const struct og_csv_table *c, int64_t column)
{
    return c->place ? c->place[column] : (int32_t)column;
}

static bool is_id(const struct og_csv_table *c, int64_t column)
{
    return c->by_id && place_of(c, column) == 0;
}

static bool is_class(const struct og_csv_table *c, int64_t column)
{
    return c->use.takes_classes && c->t.columns == 2 && place_of(c, column) == 1;
}

/* More would be no number of a class. */
static bool is_large(double x)
{
    return x > INT32_MAX / 8 && x == floor(x) && !isinf(x);
}

static const char *parse_number(const struct og_csv_table *c, int64_t column, const char *p,
                                void *out)
{
    uint64_t id = 0;
    if (is_id(c, column)) {
        p = og__parse_id(p, &id);
        *(int64_t *)out = (int64_t)id;
        return p;
    }
    bool minus = *p == '-';
    if (c->t.type == OG__NPY_F64) {
        const char *const field = p;
        p = og__parse_real(&c->text, p, out);
        if (!p && c->by_id && c->use.rows == OG__CSV_FEATURES) {
            const size_t n = strspn(field, "truefalsTRUEFALS");
            p = og__node_truth(field, n, out) ? field + n : NULL;
        }
        return p && is_class(c, column) && is_large(*(double *)out) ? NULL : p;
    }
    p = og__parse_id(p + minus, &id);
    *(int64_t *)out = (int64_t)(minus ? 0 - id : id); /* also set if p is NULL */
    return p;
}

/* Parses one field, perhaps in quotes. Returns its end, or NULL. */
static const char *parse_field(const struct og_csv_table *c, int64_t column, const char *p,
                               char *row)
{
    struct og_column_name dropped;
    if (place_of(c, column) < 0) {
        const char *next = og__column_next(p, c->mark, &dropped);
        return next > p && next[-1] == c->mark ? next - 1 : next;
    }
    void *out = row + (size_t)place_of(c, column) * 8;
    if (!c->by_id || *p != '"')
        return parse_number(c, column, p, out);
    p = parse_number(c, column, p + 1, out);
    return p && *p == '"' ? p + 1 : NULL;
}

static const char *no_value(const struct og_csv_table *c, int64_t column)
{
    if (is_id(c, column))
        return "no node id (a whole number below 2^63)";
    return c->t.type == OG__NPY_F64 ? "no number" : "no whole number";
}

/* The error if neither separator nor line end follows a value. */
static const char *no_end(const struct og_csv_table *c, char there)
{
    if (there == '\n')
        return c->place ? "fewer columns than the first line names"
                        : "fewer columns than there should be";
    if (there == c->mark)
        return c->place ? "more columns than the first line names"
                        : "more columns than there should be";
    return "something after a number";
}

/* Puts the word, or takes its number; 0 and -1 as og_csv_use has them. */
static int read_word(struct og_word_map *words, const struct og_word *word, bool adds,
                     int64_t *number, struct og_err *err)
{
    uint32_t taken = 0;
    const int rc = words->sorted ? og__word_map_take(words, &taken, 1, err)
                                 : og__word_map_put(words, word, 1, adds, err);
    *number = taken == OG__NO_WORD ? -1 : (int64_t)taken;
    return rc;
}

static bool is_missing(struct og_csv_table *c, const struct og_word *word)
{
    struct og_word_kinds kinds = {0};
    og__note_word(&c->text, word, &kinds);
    if (c->class_kinds)
        og__add_kinds(c->class_kinds, &kinds);
    return kinds.n[OG__WORD_MISSING] > 0;
}

/* An id or a class that is a word. *p is its end. */
static int parse_word(struct og_csv_table *c, int64_t column, const char **p, char *row,
                      struct og_err *err)
{
    const char *field = *p;
    const bool id = is_id(c, column);
    const bool empty = *field == c->mark || *field == '\n' || strncmp(field, "\"\"", 2) == 0;
    struct og_word word;
    const char *why;
    int64_t number = 0;
    int rc = 0;
    if (!id && empty) {
        *(double *)(row + 8) = NAN;
        *p = field + 2 * (*field == '"');
        return 0;
    }
    if (!(*p = og__parse_text(&c->text, field, c->mark, &word, &why)))
        return og__text_wrong(&c->text, field, by_id_hint, why, err);
    if (id && c->use.kinds && !c->use.words->sorted)
        og__note_word(&c->text, &word, c->use.kinds);
    if (id && !c->alone)
        rc = read_word(c->use.words, &word, c->use.adds, &number, err);
    if (id) {
        *(int64_t *)row = number;
        return rc;
    }
    const bool missing = is_missing(c, &word);
    if (!missing)
        rc = read_word(c->classes, &word, true, &number, err);
    *(double *)(row + 8) = missing ? NAN : (double)number;
    return rc;
}

static bool is_word(const struct og_csv_table *c, int64_t column)
{
    return (c->use.words && is_id(c, column)) || (c->classes && is_class(c, column));
}

/* Is the node in the split that is read? *p is the end of the field. */
static int parse_split(struct og_csv_table *c, int64_t column, const char **p, struct og_err *err)
{
    const char *const field = *p;
    const bool empty = *field == c->mark || *field == '\n' || strncmp(field, "\"\"", 2) == 0;
    struct og_word word = {.text = ""};
    const char *why;
    *p =
        empty ? field + 2 * (*field == '"') : og__parse_text(&c->text, field, c->mark, &word, &why);
    if (!*p)
        return og__text_wrong(&c->text, field, by_id_hint, why, err);
    const int in = og__node_in_split(&word, c->what[column], c->use.of_nodes, &why);
    if (in < 0)
        return og__text_wrong(
            &c->text, field,
            "write these words; or give the column another name, if it is a feature", why, err);
    c->left_out = !in;
    return 0;
}

static void name_of(const struct og_csv_table *c, int64_t column, struct og_column_name *name)
{
    const char *p = c->names;
    for (int64_t j = 0; j <= column; j++)
        p = og__column_next(p, c->mark, name);
}

/* A column of texts is no feature: the error names it. */
static int text_column(const struct og_csv_table *c, int64_t column, const char *at,
                       struct og_err *err)
{
    struct og_column_name name;
    char why[96];
    name_of(c, column, &name);
    snprintf(why, sizeof(why), "column %s: no number", name.text);
    return og__text_wrong(&c->text, at,
                          "a column of labels is named by --node-label NAME, one of ids by "
                          "--node-id NAME, one of splits is called split; leave other texts out "
                          "of the file",
                          why, err);
}

static int no_field(const struct og_csv_table *c, int64_t column, const char *at,
                    struct og_err *err)
{
    return og__csv_is_nodes(c) && !is_id(c, column) && c->use.rows == OG__CSV_FEATURES
               ? text_column(c, column, at, err)
               : wrong(c, at, no_value(c, column), err);
}

/* *p is the end of the field, or NULL if it is no number. */
static int parse_value(struct og_csv_table *c, int64_t column, const char **p, char *row,
                       struct og_err *err)
{
    if (place_of(c, column) == OG__CSV_SPLIT)
        return parse_split(c, column, p, err);
    if (is_word(c, column))
        return parse_word(c, column, p, row, err);
    *p = parse_field(c, column, *p, row);
    return 0;
}

static int parse_line(struct og_csv_table *c, char *out, struct og_err *err)
{
    const int64_t columns = c->by_id ? c->n_columns : c->t.columns;
    const char *p = c->line = c->at;
    for (int64_t j = 0; j < columns; j++) {
        const char end = j + 1 < columns ? c->mark : '\n';
        const char *field = p = skip_blanks(c, p);
        OG_DO(parse_value(c, j, &p, out, err));
        const char *const after = p ? skip_blanks(c, p) : NULL;
        const bool cut = !after || (*after != end && *after != '\n' && *after != c->mark);
        c->met_word = cut && is_id(c, j);
        c->met_class = cut && is_class(c, j);
        if (!after)
            return no_field(c, j, field, err);
        p = after;
        if (c->by_id && end == '\n' && *p == c->mark && *skip_blanks(c, p + 1) == end)
            p = skip_blanks(c, p + 1); /* a line may end in a separator */
        if (*p != end)
            return wrong(c, p == c->end ? p - 1 : p, no_end(c, *p), err);
        p++;
    }
    c->at = p;
    return 0;
}

/* Empty lines, and remarks where ids are read. */
static void skip_empty_lines(struct og_csv_table *c)
{
    while (c->at < c->end) {
        const char *p = skip_blanks(c, c->at);
        if (*p != '\n' && !(c->by_id && *p == '#'))
            return;
        c->at = (const char *)memchr(p, '\n', (size_t)(c->end - p)) + 1; /* blocks end in one */
    }
}

/* ---- the line of names ---- */

static void skip_names(struct og_csv_table *c)
{
    if (c->named && !c->begun && c->at < c->end)
        c->at = (const char *)memchr(c->at, '\n', (size_t)(c->end - c->at)) + 1;
}

/* The next lines, but for the names: c->at stays NULL at the end. */
static int next_block(struct og_csv_table *c, struct og_err *err)
{
    int rc = og__text_block(&c->text, &c->at, &c->end, err);
    if (rc >= 0 && c->at) {
        skip_empty_lines(c);
        skip_names(c);
    }
    c->begun = true;
    return rc;
}

static int csv_read(struct og_table *t, void *out, int64_t want, int64_t *got, struct og_err *err)
{
    struct og_csv_table *c = (struct og_csv_table *)t;
    size_t row = og__table_row_bytes(t);
    for (*got = 0; *got < want;) {
        if (c->at == c->end) {
            int rc = next_block(c, err);
            if (rc < 0 || !c->at)
                return rc;
            continue;
        }
        skip_empty_lines(c);
        if (c->at == c->end)
            continue;
        int rc = parse_line(c, (char *)out + (size_t)*got * row, err);
        if (rc < 0)
            return rc;
        *got += !c->left_out;
    }
    return 0;
}

static int csv_rewind(struct og_table *t, struct og_err *err)
{
    struct og_csv_table *c = (struct og_csv_table *)t;
    c->at = c->end = NULL;
    c->begun = false;
    if (c->use.words && c->use.words->sorted)
        og__word_map_seek(c->use.words, c->use.first);
    if (c->classes && c->classes->sorted)
        og__word_map_seek(c->classes, 0);
    return og__text_rewind(&c->text, err);
}

static void csv_close(struct og_table *t)
{
    struct og_csv_table *c = (struct og_csv_table *)t;
    og__text_close(&c->text);
    free(c->place);
    free(c->names);
    free(c->what);
    free(c);
}

static const struct og_table_ops csv_ops = {csv_read, csv_rewind, csv_close, NULL};

int og__csv_first_line(struct og_csv_table *c, const char **line, struct og_err *err)
{
    OG_DO(og__text_block(&c->text, &c->at, &c->end, err));
    if (c->at)
        skip_empty_lines(c);
    *line = c->at == c->end ? NULL : c->at;
    return 0;
}

/* ---- opening ---- */

static struct og_csv_table *new_csv(const char *path, enum og__npy_type type, struct og_err *err)
{
    struct og_csv_table *c = og__table_new(sizeof(*c), &csv_ops, path, err);
    if (c) {
        c->t.type = type;
        c->t.rows = -1;
        c->t.text = true;
        c->mark = ',';
    }
    return c;
}

static int open_csv(struct og_table **out, struct og_csv_table *c, const char *path,
                    int64_t columns, struct og_budget *b, struct og_err *err)
{
    int rc;
    *out = NULL;
    if (!c)
        return -ENOMEM;
    c->t.columns = columns;
    OG_TRY(og__text_open(&c->text, path, b, err));
    if (columns == 0)
        OG_TRY(og__csv_find_columns(c, err));
out:
    c->t.ndim = c->t.columns > 1 ? 2 : 1;
    if (rc < 0)
        og__table_close(&c->t);
    else
        *out = &c->t;
    return rc;
}

int og__table_csv(struct og_table **out, const char *path, enum og__npy_type type, int64_t columns,
                  struct og_budget *b, struct og_err *err)
{
    return open_csv(out, new_csv(path, type, err), path, columns, b, err);
}

int og__table_csv_by_id(struct og_table **out, const char *path, const struct og_csv_use *use,
                        struct og_budget *b, struct og_err *err)
{
    struct og_csv_table *c = new_csv(path, OG__NPY_F64, err);
    if (c) {
        c->by_id = true;
        c->use = *use;
    }
    return open_csv(out, c, path, 0, b, err);
}

bool og__table_csv_met_word(const struct og_table *t)
{
    return ((const struct og_csv_table *)t)->met_word;
}

bool og__table_csv_met_class(const struct og_table *t)
{
    return ((const struct og_csv_table *)t)->met_class;
}

int og__table_csv_classes(struct og_table *t, struct og_word_map *classes, bool alone,
                          struct og_word_kinds *kinds, struct og_err *err)
{
    struct og_csv_table *c = (struct og_csv_table *)t;
    c->classes = classes;
    c->class_kinds = kinds;
    c->alone = alone;
    return og__table_rewind(t, err);
}

int og__table_csv_no_node(const struct og_table *t, int64_t nodes, struct og_err *err)
{
    const struct og_csv_table *c = (const struct og_csv_table *)t;
    char why[64];
    snprintf(why, sizeof(why), "no such node, of %lld", (long long)nodes);
    return og__text_wrong(&c->text, c->line,
                          "ids are those of the edges, of feat.csv and of label.csv", why, err);
}

bool og__table_csv_has(const struct og_table *t, enum og_node_column what)
{
    const struct og_csv_table *c = (const struct og_csv_table *)t;
    for (int64_t j = 0; c->what && j < c->n_columns; j++)
        if (c->what[j] == what || (what > OG__NODE_SPLIT && c->what[j] == OG__NODE_SPLIT))
            return true;
    return false;
}

bool og__table_csv_name(const struct og_table *t, int64_t j, struct og_column_name *name)
{
    const struct og_csv_table *c = (const struct og_csv_table *)t;
    for (int64_t k = 0; c->names && k < c->n_columns; k++) {
        if (c->place[k] != j + 1)
            continue;
        name_of(c, k, name);
        return true;
    }
    return false;
}

json_t *og__table_csv_names(const struct og_table *t)
{
    const struct og_csv_table *c = (const struct og_csv_table *)t;
    struct og_column_name name;
    json_t *list = c->names ? json_array() : NULL;
    const char *p = c->names;
    for (int64_t k = 0; list && k < c->n_columns; k++) {
        p = og__column_next(p, c->mark, &name);
        if (c->place[k] > 0)
            list = og__json_append(list, og__json_text(name.text));
    }
    return list;
}

bool og__table_csv_unnamed_id(const struct og_table *t)
{
    return ((const struct og_csv_table *)t)->unnamed_id;
}

struct og_names *og__table_csv_unread(struct og_table *t)
{
    return &((struct og_csv_table *)t)->unread;
}
