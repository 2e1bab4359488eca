/* The first line of a CSV table by id: which column is what. */
#include "dataset/import/table_csv_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_id_name(const char *name, bool first)
{
    const size_t n = strlen(name);
    return n > 0 && (og__column_of(name) == OG__COLUMN_ID ||
                     (first && n > 3 && strcmp(name + n - 3, "_id") == 0));
}

static bool names_id(const struct og_csv_table *c, const char *line)
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
static bool is_names(const struct og_csv_table *c, const char *line)
{
    const char *next = (const char *)memchr(line, '\n', (size_t)(c->end - line)) + 1;
    const bool words = c->use.words || (next < c->end && c->n_columns > 1 &&
                                        og__names_columns(next, c->mark, true));
    if (!og__names_columns(line, c->mark, true) || !words)
        return og__names_columns(line, c->mark, true);
    return names_id(c, line) || (c->n_columns > 1 && og__names_columns(line, c->mark, false));
}

static int find_id(struct og_csv_table *c, const char *line, int64_t *id, struct og_err *err)
{
    struct og_column_name name;
    const char *const given =
        og__csv_is_nodes(c) ? c->use.names.id : NULL; /* other files call it id */
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
    return og__text_wrong(
        &c->text, line,
        og__csv_is_nodes(c) ? "the first line names the columns; name that of node ids: "
                              "--node-id NAME, or call it id"
                            : "call the column of node ids `id`, or leave out this line "
                              "where ids come first",
        given ? "no column has the name of --node-id" : "no column is called id", err);
}

static bool names_label(const char *name)
{
    return og__column_of(name) == OG__COLUMN_LABEL || strncmp(name, "label", 5) == 0;
}

/* Is a column of this name an element of the row? `labelled`: some are called label. */
static bool takes(const struct og_csv_table *c, const char *name, bool labelled)
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

static int place_columns(struct og_csv_table *c, const char *line, struct og_err *err)
{
    struct og_column_name name;
    bool labelled = false;
    int64_t id = 0;
    int32_t next = 1;
    OG_DO(find_id(c, line, &id, err));
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
        c->place[j] = j == id ? 0 : takes(c, name.text, labelled) ? next++ : OG__CSV_UNREAD;
        if (c->place[j] < 0)
            og__names_add(&c->unread, name.text[0] ? name.text : "(unnamed)");
    }
    c->t.columns = next;
    return 0;
}

/* Where the columns of nodes.csv go: those of one kind, in the file's order. */
static int place_nodes(struct og_csv_table *c, const char *line, struct og_err *err)
{
    const size_t n = (size_t)((const char *)memchr(line, '\n', (size_t)(c->end - line)) - line) + 1;
    const bool split = c->use.of_nodes > OG__NODE_SPLIT;
    int32_t next = 1;
    int64_t id;
    OG_DO(find_id(c, line, &id, err));
    c->unnamed_id = c->unnamed_id && c->use.of_nodes == OG__NODE_ID; /* it is said once */
    c->what = calloc((size_t)c->n_columns, 1);
    c->names = strndup(line, n);
    if (!c->what || !c->names)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", c->t.name);
    OG_DO(og__node_columns(&c->text, line, c->mark, c->n_columns, id, &c->use.names, c->what, err));
    struct og_names *const unread = c->use.of_nodes == OG__NODE_ID ? &c->unread : NULL;
    OG_DO(og__node_texts(&c->text, c->names, line + n, c->end, c->mark, c->n_columns, c->what,
                         unread, err)); /* they are named once */
    for (int64_t j = 0; j < c->n_columns; j++) {
        const bool taken = c->what[j] == c->use.of_nodes;
        c->place[j] = j == id                                            ? 0
                      : split && (taken || c->what[j] == OG__NODE_SPLIT) ? OG__CSV_SPLIT
                      : taken                                            ? next++
                                                                         : OG__CSV_UNREAD;
    }
    c->t.columns = next;
    return 0;
}

/* "0,1,2,3,4", as a data frame without names has it: it would be taken for node 0. */
static bool counts_columns(const struct og_csv_table *c, const char *line)
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
static void place_id(struct og_csv_table *c)
{
    for (int64_t j = 0; j < c->n_columns; j++)
        c->place[j] = (c->named ? c->place[j] == 0 : j == 0) ? 0 : OG__CSV_UNREAD;
    c->t.columns = 1;
}

int og__csv_find_columns(struct og_csv_table *c, struct og_err *err)
{
    const char *line;
    OG_DO(og__csv_first_line(c, &line, err));
    c->t.columns = c->n_columns = 1;
    if (!line && og__csv_is_nodes(c))
        return og__fail(err, -EINVAL, "its first line names the columns: id, label, split, ...",
                        "%s: an empty file", c->t.name);
    if (line && c->by_id && og__column_mark(line) != ' ')
        c->mark = og__column_mark(line);
    if (line)
        c->t.columns = c->n_columns = og__column_count(line, c->mark);
    if (line && c->by_id && !og__csv_is_nodes(c) && counts_columns(c, line))
        OG_DO(og__text_wrong(&c->text, line, "remove this line, or call its first column id",
                             "numbers of columns, not of a node", err));
    c->named = line && c->by_id && (og__csv_is_nodes(c) || is_names(c, line));
    if (c->named || (line && c->use.ids_only)) {
        if (!(c->place = calloc((size_t)c->n_columns, sizeof(*c->place))))
            return og__fail_errno(err, -ENOMEM, NULL, "%s", c->t.name);
        if (c->named)
            OG_DO(og__csv_is_nodes(c) ? place_nodes(c, line, err) : place_columns(c, line, err));
    }
    if (line && c->use.ids_only)
        place_id(c);
    return og__table_rewind(&c->t, err);
}
