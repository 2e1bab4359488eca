/* Comma separated numbers, a row a line. */
#include "dataset/import/table.h"

#include "dataset/import/text.h"
#include "dataset/word_map.h"

#include <math.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct csv_table {
    struct og_table t;
    struct og_text text;
    const char *at, *end; /* within the present block */
    char mark;            /* between columns */
    bool by_id;           /* a column is an id, the first line may be names */
    struct og_csv_use use;
    bool named; /* the first line names columns */
    bool begun;
    const char *line;                  /* the one that was read last */
    bool met_word, met_class;          /* what failed is an id, or a label */
    struct og_word_map *classes;       /* labels are words; or NULL */
    struct og_word_kinds *class_kinds; /* counts these; or NULL */
    bool alone;                        /* only these are read */
    int32_t *place; /* by_id: [n_columns] which element of a row each is, 0 = the id */
    int64_t n_columns;
    struct og_names unread; /* columns */
    bool unnamed_id;        /* the first line has names, and none for the ids */
    /* nodes.csv alone: */
    char *names;   /* the first line */
    uint8_t *what; /* [n_columns] enum og_node_column */
    bool left_out; /* the line is of a node that the split has not */
};

/* Places of columns that are no element of a row. */
enum { IS_UNREAD = -1, IS_SPLIT = -2 };

static const char csv_hint[] = "numbers with commas between them and no header line are read here";
static const char by_id_hint[] = "a line is an id and numbers, with commas between them; the first "
                                 "line may name the columns";

static const char *skip_blanks(const struct csv_table *c, const char *p)
{
    while (*p == ' ' || *p == '\r' || (*p == '\t' && c->mark != '\t'))
        p++;
    return p;
}

static int wrong(const struct csv_table *c, const char *at, const char *why, struct og_err *err)
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

static int32_t place_of(const struct csv_table *c, int64_t column)
{
    return c->place ? c->place[column] : (int32_t)column;
}

static bool is_id(const struct csv_table *c, int64_t column)
{
    return c->by_id && place_of(c, column) == 0;
}

static bool is_nodes(const struct csv_table *c)
{
    return c->use.of_nodes != OG__NODE_UNREAD;
}

static bool is_class(const struct csv_table *c, int64_t column)
{
    return c->use.takes_classes && c->t.columns == 2 && place_of(c, column) == 1;
}

/* More would be no number of a class. */
static bool is_large(double x)
{
    return x > INT32_MAX / 8 && x == floor(x) && !isinf(x);
}

static const char *parse_number(const struct csv_table *c, int64_t column, const char *p, void *out)
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
static const char *parse_field(const struct csv_table *c, int64_t column, const char *p, char *row)
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

static const char *no_value(const struct csv_table *c, int64_t column)
{
    if (is_id(c, column))
        return "no node id (a whole number below 2^63)";
    return c->t.type == OG__NPY_F64 ? "no number" : "no whole number";
}

/* The error if neither separator nor line end follows a value. */
static const char *no_end(const struct csv_table *c, char there)
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

static bool is_missing(struct csv_table *c, const struct og_word *word)
{
    struct og_word_kinds kinds = {0};
    og__note_word(&c->text, word, &kinds);
    if (c->class_kinds)
        og__add_kinds(c->class_kinds, &kinds);
    return kinds.n[OG__WORD_MISSING] > 0;
}

/* An id or a class that is a word. *p is its end. */
static int parse_word(struct csv_table *c, int64_t column, const char **p, char *row,
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

static bool is_word(const struct csv_table *c, int64_t column)
{
    return (c->use.words && is_id(c, column)) || (c->classes && is_class(c, column));
}

/* Is the node in the split that is read? *p is the end of the field. */
static int parse_split(struct csv_table *c, int64_t column, const char **p, struct og_err *err)
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
            &c->text, field, "give the column another name if its numbers are a feature", why, err);
    c->left_out = !in;
    return 0;
}

static void name_of(const struct csv_table *c, int64_t column, struct og_column_name *name)
{
    const char *p = c->names;
    for (int64_t j = 0; j <= column; j++)
        p = og__column_next(p, c->mark, name);
}

/* A column of texts is no feature: the error names it. */
static int text_column(const struct csv_table *c, int64_t column, const char *at,
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

static int no_field(const struct csv_table *c, int64_t column, const char *at, struct og_err *err)
{
    return is_nodes(c) && !is_id(c, column) && c->use.rows == OG__CSV_FEATURES
               ? text_column(c, column, at, err)
               : wrong(c, at, no_value(c, column), err);
}

/* *p is the end of the field, or NULL if it is no number. */
static int parse_value(struct csv_table *c, int64_t column, const char **p, char *row,
                       struct og_err *err)
{
    if (place_of(c, column) == IS_SPLIT)
        return parse_split(c, column, p, err);
    if (is_word(c, column))
        return parse_word(c, column, p, row, err);
    *p = parse_field(c, column, *p, row);
    return 0;
}

static int parse_line(struct csv_table *c, char *out, struct og_err *err)
{
    const int64_t columns = c->by_id ? c->n_columns : c->t.columns;
    const char *p = c->line = c->at;
    for (int64_t j = 0; j < columns; j++) {
        const char end = j + 1 < columns ? c->mark : '\n';
        const char *field = p = skip_blanks(c, p);
        const int rc = parse_value(c, j, &p, out, err);
        if (rc < 0)
            return rc;
        const char *const after = p ? skip_blanks(c, p) : NULL;
        const bool cut = !after || (*after != end && *after != '\n' && *after != c->mark);
        c->met_word = cut && is_id(c, j);
        c->met_class = cut && is_class(c, j);
        if (!p)
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
static void skip_empty_lines(struct csv_table *c)
{
    while (c->at < c->end) {
        const char *p = skip_blanks(c, c->at);
        if (*p != '\n' && !(c->by_id && *p == '#'))
            return;
        c->at = (const char *)memchr(p, '\n', (size_t)(c->end - p)) + 1; /* blocks end in one */
    }
}

/* ---- the line of names ---- */

static void skip_names(struct csv_table *c)
{
    if (c->named && !c->begun && c->at < c->end)
        c->at = (const char *)memchr(c->at, '\n', (size_t)(c->end - c->at)) + 1;
}

/* The next lines, but for the names: c->at stays NULL at the end. */
static int next_block(struct csv_table *c, struct og_err *err)
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
    struct csv_table *c = (struct csv_table *)t;
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
    struct csv_table *c = (struct csv_table *)t;
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
    struct csv_table *c = (struct csv_table *)t;
    og__text_close(&c->text);
    free(c->place);
    free(c->names);
    free(c->what);
    free(c);
}

static const struct og_table_ops csv_ops = {csv_read, csv_rewind, csv_close, NULL};

/* The first line that is neither empty nor a comment; NULL if there is none. */
static int first_line(struct csv_table *c, const char **line, struct og_err *err)
{
    int rc;
    OG_TRY(og__text_block(&c->text, &c->at, &c->end, err));
    if (c->at)
        skip_empty_lines(c);
    *line = c->at == c->end ? NULL : c->at;
out:
    return rc;
}

/* ---- by id: which column is what ---- */

static bool is_id_name(const char *name, bool first)
{
    const size_t n = strlen(name);
    return n > 0 && (og__column_of(name) == OG__COLUMN_ID ||
                     (first && n > 3 && strcmp(name + n - 3, "_id") == 0));
}

static bool names_id(const struct csv_table *c, const char *line)
{
    struct og_column_name name;
    const char *p = line;
    bool any = false;
    for (int64_t j = 0; j < c->n_columns; j++) {
        p = og__column_next(p, c->mark, &name);
        any = any || is_id_name(name.text, j < 2);
    }
    return any;
}

/* Does the first line name the columns? If ids are words, a line that begins with a word may be a
 * node's. Then it names columns if it names an id, or has several columns and no number. */
static bool is_names(const struct csv_table *c, const char *line)
{
    const char *next = (const char *)memchr(line, '\n', (size_t)(c->end - line)) + 1;
    const bool words = c->use.words || (next < c->end && c->n_columns > 1 &&
                                        og__names_columns(next, c->mark, true));
    if (!og__names_columns(line, c->mark, true) || !words)
        return og__names_columns(line, c->mark, true);
    return names_id(c, line) || (c->n_columns > 1 && og__names_columns(line, c->mark, false));
}

static int find_id(struct csv_table *c, const char *line, int64_t *id, struct og_err *err)
{
    struct og_column_name name;
    const char *const given = is_nodes(c) ? c->use.names.id : NULL; /* other files call it id */
    const char *p = line;
    int64_t unnamed = c->n_columns == 1 ? 0 : -1; /* the index of a data frame */
    *id = -1;
    for (int64_t j = 0; j < c->n_columns; j++) {
        p = og__column_next(p, c->mark, &name);
        const bool first = j == 0 || (j == 1 && unnamed == 0);
        if (!name.text[0] && j == 0)
            unnamed = j;
        if (given ? !og__node_column_is(name.text, given) : !is_id_name(name.text, first))
            continue;
        if (*id >= 0)
            return og__text_wrong(&c->text, line, "leave one of them out", "two columns of ids",
                                  err);
        *id = j;
    }
    if (*id < 0 && !given)
        *id = unnamed;
    c->unnamed_id = c->n_columns > 1 && unnamed >= 0 && *id == unnamed;
    if (*id >= 0)
        return 0;
    return og__text_wrong(&c->text, line,
                          is_nodes(c) ? "the first line names the columns; name that of node ids: "
                                        "--node-id NAME, or call it id"
                                      : "call the column of node ids `id`, or leave out this line "
                                        "where ids come first",
                          given ? "no column has the name of --node-id" : "no column is called id",
                          err);
}

static bool names_label(const char *name)
{
    return og__column_of(name) == OG__COLUMN_LABEL || strncmp(name, "label", 5) == 0;
}

/* Is a column of this name an element of the row? `labelled`: some are called label. */
static bool takes(const struct csv_table *c, const char *name, bool labelled)
{
    if (!*name)
        return false;
    if (c->use.rows == OG__CSV_LABELS)
        return !labelled || names_label(name);
    return true;
}

static bool is_label(const char *name)
{
    return og__column_of(name) == OG__COLUMN_LABEL && name[0] != 'y';
}

static int place_columns(struct csv_table *c, const char *line, struct og_err *err)
{
    struct og_column_name name;
    bool labelled = false;
    int64_t id = 0;
    int32_t next = 1;
    int rc = find_id(c, line, &id, err);
    if (rc < 0)
        return rc;
    const char *p = line;
    for (int64_t j = 0; j < c->n_columns; j++) {
        p = og__column_next(p, c->mark, &name);
        labelled = labelled || names_label(name.text);
        if (c->use.rows == OG__CSV_FEATURES && is_label(name.text))
            return og__text_wrong(&c->text, line,
                                  "write labels to label.csv, with the ids; or rename the column",
                                  "a column of labels among features", err);
    }
    p = line;
    for (int64_t j = 0; j < c->n_columns; j++) {
        p = og__column_next(p, c->mark, &name);
        c->place[j] = j == id ? 0 : takes(c, name.text, labelled) ? next++ : IS_UNREAD;
        if (c->place[j] < 0)
            og__names_add(&c->unread, name.text[0] ? name.text : "(unnamed)");
    }
    c->t.columns = next;
    return 0;
}

/* Where the columns of nodes.csv go: those of one kind, in the file's order. */
static int place_nodes(struct csv_table *c, const char *line, struct og_err *err)
{
    const size_t n = (size_t)((const char *)memchr(line, '\n', (size_t)(c->end - line)) - line) + 1;
    const bool split = c->use.of_nodes > OG__NODE_SPLIT;
    int32_t next = 1;
    int64_t id;
    int rc;
    OG_TRY(find_id(c, line, &id, err));
    c->unnamed_id = c->unnamed_id && c->use.of_nodes == OG__NODE_ID; /* it is said once */
    c->what = calloc((size_t)c->n_columns, 1);
    c->names = strndup(line, n);
    if (!c->what || !c->names)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", c->t.name));
    OG_TRY(
        og__node_columns(&c->text, line, c->mark, c->n_columns, id, &c->use.names, c->what, err));
    struct og_names *const unread = c->use.of_nodes == OG__NODE_ID ? &c->unread : NULL;
    OG_TRY(og__node_texts(&c->text, c->names, line + n, c->end, c->mark, c->n_columns, c->what,
                          unread, err)); /* they are named once */
    for (int64_t j = 0; j < c->n_columns; j++) {
        const bool taken = c->what[j] == c->use.of_nodes;
        c->place[j] = j == id                                            ? 0
                      : split && (taken || c->what[j] == OG__NODE_SPLIT) ? IS_SPLIT
                      : taken                                            ? next++
                                                                         : IS_UNREAD;
    }
    c->t.columns = next;
out:
    return rc;
}

/* "0,1,2,3,4", as a data frame without names has it: it would be taken for node 0. */
static bool counts_columns(const struct csv_table *c, const char *line)
{
    enum { SURELY = 5 };
    struct og_column_name name;
    char number[24];
    const char *p = line;
    for (int64_t j = 0; j < c->n_columns; j++) {
        p = og__column_next(p, c->mark, &name);
        snprintf(number, sizeof(number), "%lld", (long long)j);
        if (strcmp(name.text, number) != 0)
            return false;
    }
    return c->n_columns >= SURELY;
}

/* Only the id is read; without names it comes first. */
static void place_id(struct csv_table *c)
{
    for (int64_t j = 0; j < c->n_columns; j++)
        c->place[j] = (c->named ? c->place[j] == 0 : j == 0) ? 0 : IS_UNREAD;
    c->t.columns = 1;
}

static int find_columns(struct csv_table *c, struct og_err *err)
{
    const char *line;
    int rc;
    OG_TRY(first_line(c, &line, err));
    c->t.columns = c->n_columns = 1;
    if (!line && is_nodes(c))
        OG_TRY(og__fail(err, -EINVAL, "its first line names the columns: id, label, split, ...",
                        "%s: an empty file", c->t.name));
    if (line && c->by_id && og__column_mark(line) != ' ')
        c->mark = og__column_mark(line);
    if (line)
        c->t.columns = c->n_columns = og__column_count(line, c->mark);
    if (line && c->by_id && !is_nodes(c) && counts_columns(c, line))
        OG_TRY(og__text_wrong(&c->text, line, "remove this line, or call its first column id",
                              "numbers of columns, not of a node", err));
    c->named = line && c->by_id && (is_nodes(c) || is_names(c, line));
    if (c->named || (line && c->use.ids_only)) {
        if (!(c->place = calloc((size_t)c->n_columns, sizeof(*c->place))))
            OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", c->t.name));
        if (c->named)
            OG_TRY(is_nodes(c) ? place_nodes(c, line, err) : place_columns(c, line, err));
    }
    if (line && c->use.ids_only)
        place_id(c);
    OG_TRY(og__table_rewind(&c->t, err));
out:
    return rc;
}

/* ---- opening ---- */

static struct csv_table *new_csv(const char *path, enum og__npy_type type, struct og_err *err)
{
    struct csv_table *c = og__table_new(sizeof(*c), &csv_ops, path, err);
    if (c) {
        c->t.type = type;
        c->t.rows = -1;
        c->t.text = true;
        c->mark = ',';
    }
    return c;
}

static int open_csv(struct og_table **out, struct csv_table *c, const char *path, int64_t columns,
                    struct og_budget *b, struct og_err *err)
{
    int rc;
    *out = NULL;
    if (!c)
        return -ENOMEM;
    c->t.columns = columns;
    OG_TRY(og__text_open(&c->text, path, b, err));
    if (columns == 0)
        OG_TRY(find_columns(c, err));
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
    struct csv_table *c = new_csv(path, OG__NPY_F64, err);
    if (c) {
        c->by_id = true;
        c->use = *use;
    }
    return open_csv(out, c, path, 0, b, err);
}

bool og__table_csv_met_word(const struct og_table *t)
{
    return ((const struct csv_table *)t)->met_word;
}

bool og__table_csv_met_class(const struct og_table *t)
{
    return ((const struct csv_table *)t)->met_class;
}

int og__table_csv_classes(struct og_table *t, struct og_word_map *classes, bool alone,
                          struct og_word_kinds *kinds, struct og_err *err)
{
    struct csv_table *c = (struct csv_table *)t;
    c->classes = classes;
    c->class_kinds = kinds;
    c->alone = alone;
    return og__table_rewind(t, err);
}

int og__table_csv_no_node(const struct og_table *t, int64_t nodes, struct og_err *err)
{
    const struct csv_table *c = (const struct csv_table *)t;
    char why[64];
    snprintf(why, sizeof(why), "no such node, of %lld", (long long)nodes);
    return og__text_wrong(&c->text, c->line,
                          "ids are those of the edges, of feat.csv and of label.csv", why, err);
}

bool og__table_csv_has(const struct og_table *t, enum og_node_column what)
{
    const struct csv_table *c = (const struct csv_table *)t;
    for (int64_t j = 0; c->what && j < c->n_columns; j++)
        if (c->what[j] == what || (what > OG__NODE_SPLIT && c->what[j] == OG__NODE_SPLIT))
            return true;
    return false;
}

bool og__table_csv_name(const struct og_table *t, int64_t j, struct og_column_name *name)
{
    const struct csv_table *c = (const struct csv_table *)t;
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
    const struct csv_table *c = (const struct csv_table *)t;
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
    return ((const struct csv_table *)t)->unnamed_id;
}

struct og_names *og__table_csv_unread(struct og_table *t)
{
    return &((struct csv_table *)t)->unread;
}
