/* The first lines of edges in text: which column is what, by names or by number. */
#include "dataset/import/columns.h"
#include "dataset/import/edge_text_parts.h"

#include <stdlib.h>
#include <strings.h>

const char og__edge_columns_hint[] = "name every column: --columns src,dst,weight, with - for "
                                     "others; or both ends as the first line "
                                     "has them: --id-columns FROM,TO";

/* What a column is, by its name; the ends as --id-columns has them. */
static enum og_column column_of(const struct og_edge_text *p, const char *name)
{
    char line[128];
    struct og_column_name end;
    const enum og_column what = og__column_of(name);
    if (!p->ends)
        return what;
    snprintf(line, sizeof(line) - 1, "%s", p->ends);
    memcpy(line + strlen(line), "\n", 2);
    const char *second = og__column_next(line, ',', &end);
    if (strcmp(name, end.text) == 0)
        return OG__COLUMN_SRC;
    og__column_next(second, ',', &end);
    if (strcmp(name, end.text) == 0)
        return OG__COLUMN_DST;
    return what == OG__COLUMN_SRC || what == OG__COLUMN_DST ? OG__COLUMN_OTHER : what;
}

static const char values_hint[] = "--edge-time and --edge-features name columns of numbers, as the "
                                  "first line or --columns does";

/* Is the column in this list of names? With `any` an asterisk at the end stands for anything. */
static bool is_listed(const char *list, const char *column, bool any)
{
    for (size_t n; list && *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        const bool begins = any && n > 0 && list[n - 1] == '*';
        if (strncasecmp(list, column, n - begins) == 0 && (begins || !column[n]))
            return true;
    }
    return false;
}

/* Does an asterisk leave the column out? It is an id, a label, a time, or the weight. */
static bool is_left_out(const struct og_edge_text *p, const char *name, int column)
{
    const enum og_column what = column_of(p, name);
    if (column + 1 == p->weight_column)
        return true;
    if (what == OG__COLUMN_WEIGHT)
        return p->weight_column < 0;
    return what != OG__COLUMN_UNKNOWN && what != OG__COLUMN_OTHER;
}

/* The kind of values a column was requested for; "-" is none. */
static enum og_edge_values is_requested(const struct og_edge_text *p, const char *name, int column)
{
    const bool any = !is_left_out(p, name, column);
    enum og_edge_values kind = OG__EDGE_TIME;
    if (p->names && strcmp(name, "-") == 0)
        return OG__NO_VALUES;
    while (kind < OG__EDGE_VALUES && !is_listed(p->values[kind], name, any))
        kind++;
    return kind < OG__EDGE_VALUES ? kind : OG__NO_VALUES;
}

/* Notes a column that an asterisk leaves out; ends are never features. */
static void note_left(struct og_edge_text *p, const char *name)
{
    const enum og_column what = column_of(p, name);
    const bool is_end = what == OG__COLUMN_SRC || what == OG__COLUMN_DST;
    if (!is_end && strcmp(name, "-") != 0 && is_listed(p->values[OG__EDGE_FEATURE], name, true))
        og__names_add(&p->left, name);
}

static bool all_named(const char *list, const char *line, char mark)
{
    char one[64];
    for (size_t n; list && *list; list += n + (list[n] == ',')) {
        struct og_column_name name;
        bool found = false;
        n = strcspn(list, ",");
        snprintf(one, sizeof(one), "%.*s", (int)n, list);
        for (const char *q = line; *q != '\n' && !found;) {
            q = og__column_next(q, mark, &name);
            found = is_listed(one, name.text, true);
        }
        if (!found)
            return false;
    }
    return true;
}

/* Why a column cannot have values of a kind that it was requested for, or NULL. */
static const char *why_refused(const struct og_edge_text *p, enum og_edge_values kind,
                               const char *name, int column)
{
    const enum og_column what = column_of(p, name);
    if (what == OG__COLUMN_SRC || what == OG__COLUMN_DST)
        return "an end of the edges as a value";
    if (kind == OG__EDGE_TIME && is_listed(p->values[OG__EDGE_FEATURE], name, false))
        return "both a time and a feature";
    return column + 1 == p->weight_column ? "the column of weights as a value" : NULL;
}

static int check_left(struct og_edge_text *p, const char *at, struct og_err *err)
{
    const int *const n = p->n_values;
    const char *why = NULL;
    if (p->values[OG__EDGE_FEATURE] && !n[OG__EDGE_FEATURE])
        why = "no column is left for --edge-features";
    else if (p->values[OG__EDGE_TIME] && n[OG__EDGE_TIME] != 1)
        why = n[OG__EDGE_TIME] ? "several columns of times" : "no column is left for --edge-time";
    return why ? og__text_wrong(&p->text, at, values_hint, why, err) : 0;
}

static int find_values(struct og_edge_text *p, const char *line, const char *at, struct og_err *err)
{
    const char mark = og__column_mark(line);
    struct og_column_name name;
    int column = 0;
    for (enum og_edge_values kind = OG__EDGE_TIME; kind < OG__EDGE_VALUES; kind++) {
        p->n_values[kind] = 0;
        if (!all_named(p->values[kind], line, mark))
            return og__text_wrong(&p->text, at, values_hint, "no column of a name that is given",
                                  err);
    }
    for (const char *q = line; *q != '\n'; column++)
        q = og__column_next(q, mark, &name);
    int *places = realloc(p->value_at, (size_t)(column + 1) * sizeof(*places));
    if (!places)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", p->text.path);
    p->value_at = places;
    column = 0;
    p->left = (struct og_names){.n = 0};
    for (const char *q = line; *q != '\n'; column++) {
        q = og__column_next(q, mark, &name);
        const enum og_edge_values kind = is_requested(p, name.text, column);
        const char *why = kind == OG__NO_VALUES ? NULL : why_refused(p, kind, name.text, column);
        if (why)
            return og__text_wrong(&p->text, at, values_hint, why, err);
        if (kind != OG__EDGE_FEATURE)
            note_left(p, name.text);
        const int n = kind == OG__NO_VALUES ? 0 : ++p->n_values[kind];
        places[column] = kind == p->reads ? n : 0;
        p->last_value = places[column] ? column : p->last_value;
    }
    return check_left(p, at, err);
}

/* Is the character in the line? */
static bool has_mark(const char *line, char mark)
{
    return memchr(line, mark, (size_t)((const char *)rawmemchr(line, '\n') - line));
}

/* Checks that both ends are there. `weight`: the column that is called so, or -1. */
static int set_weight(struct og_edge_text *p, int weight, const char *at, struct og_err *err)
{
    if ((p->src < 0 || p->dst < 0) && p->ends)
        return og__text_wrong(&p->text, at, "--id-columns SRC,DST: as the first line names them",
                              "no columns of the names in --id-columns", err);
    if (p->src < 0 || p->dst < 0)
        return og__text_wrong(
            &p->text, at,
            has_mark(at, '|') ? "columns are not separated by |: tr '|' ',' <OLD >NEW"
                              : og__edge_columns_hint,
            "columns that are not known; one called src and one dst are needed", err);
    if (p->weight_column > 0)
        weight = p->weight_column - 1;
    if (weight >= 0 && (weight == p->src || weight == p->dst))
        return og__text_wrong(&p->text, at, "--weight-column counts all columns, from 1",
                              "the column of weights is an end of the edges", err);
    p->weight = weight;
    p->others_known = true;
    return 0;
}

/* Columns by their names, from a line that a newline ends. */
static int name_columns(struct og_edge_text *p, const char *line, const char *at,
                        struct og_err *err)
{
    const char mark = og__column_mark(line);
    struct og_column_name name;
    int weight = -1;
    int column = 0;
    p->src = p->dst = -1;
    p->unread = (struct og_names){.n = 0};
    OG_DO(find_values(p, line, at, err));
    for (const char *q = line; *q != '\n'; column++) {
        q = og__column_next(q, mark, &name);
        const enum og_column what = column_of(p, name.text);
        int *const end = what == OG__COLUMN_SRC ? &p->src : what == OG__COLUMN_DST ? &p->dst : NULL;
        if (end && *end >= 0)
            return og__text_wrong(&p->text, at, og__edge_columns_hint,
                                  "two columns of the same end", err);
        if (end)
            *end = column;
        else if (is_requested(p, name.text, column) != OG__NO_VALUES)
            continue;
        else if (what == OG__COLUMN_WEIGHT && weight < 0 && p->weight_column < 0)
            weight = column;
        else if (column + 1 != p->weight_column && strcmp(name.text, "-") != 0 &&
                 !is_listed(p->values[OG__EDGE_FEATURE], name.text, true)) /* named as left out */
            og__names_add(&p->unread, name.text);
    }
    p->n_named = column;
    return set_weight(p, weight, at, err);
}

/* The first line is all words: does it name columns? Before ids that are words it does if both ends
 * are named, or if columns are separated by marks and --columns does not name them. */
static bool is_names(const struct og_edge_text *p, const char *line, const char *next)
{
    const bool words =
        p->takes_words && next && og__names_columns(next, og__column_mark(next), true);
    return !words || p->ends || og__names_ends(line, true) ||
           (!p->names && og__column_mark(line) != ' ');
}

static const char *past_marks(const char *p)
{
    while (*p == '#' || *p == '%' || *p == ' ')
        p++;
    return p;
}

static int count_columns(const char *at)
{
    int columns = 0;
    for (const char *q = og__skip_blanks(at); *q != '\n'; columns++)
        q = og__skip_separator(og__skip_field(q));
    return columns;
}

/* The separator: that of the names, unless edges have another; 0 = blanks. */
static char mark_of(const char *edge, char of_names)
{
    const char mark =
        of_names != ' ' && og__column_count(edge, of_names) > 1 ? of_names : og__column_mark(edge);
    return mark == ' ' ? 0 : mark;
}

/* Sets the separator by which the line has n columns; false if there is none. */
static bool marks_columns(struct og_edge_text *p, const char *line, int64_t n)
{
    static const char marks[] = {'\t', ';', ','};
    p->mark = 0;
    for (size_t i = 0; i < OG_COUNT(marks); i++)
        if (!p->mark && og__column_count(line, marks[i]) == n)
            p->mark = marks[i];
    return p->mark || count_columns(line) == n;
}

/* Has the line as many columns as the line of names? Row names of data frames make it one more. */
static int check_width(const struct og_edge_text *p, const char *names, const char *line,
                       struct og_err *err)
{
    const char mark = og__column_mark(names);
    const int64_t named = mark == ' ' ? count_columns(names) : og__column_count(names, mark);
    const int64_t there = p->mark ? og__column_count(line, p->mark) : count_columns(line);
    const char *end = rawmemchr(line, '\n');
    while (end > line && og__is_blank(end - 1))
        end--;
    if (there <= named || (there == named + 1 && p->mark && end[-1] == p->mark))
        return 0; /* a line may end in a separator */
    return og__text_wrong(&p->text, line, og__edge_columns_hint,
                          "more columns than there are names", err);
}

/* Uses the names in --columns. */
static int name_as_told(struct og_edge_text *p, const char *at, struct og_err *err)
{
    char line[256];
    if ((size_t)snprintf(line, sizeof(line), "%s\n", p->names) >= sizeof(line))
        return og__fail(err, -EINVAL, og__edge_columns_hint, "--columns: more than 254 characters");
    if (!marks_columns(p, at, count_columns(line)))
        return og__text_wrong(&p->text, at, og__edge_columns_hint,
                              "not as many columns as --columns names", err);
    return name_columns(p, line, at, err);
}

/* Without column names: src, dst, and --weight-column. */
static int number_columns(struct og_edge_text *p, const char *at, struct og_err *err)
{
    p->weight = p->weight_column > 0 ? p->weight_column - 1 : -1;
    p->n_named = 0;
    if (p->values[OG__EDGE_TIME] || p->values[OG__EDGE_FEATURE])
        return og__text_wrong(&p->text, at, og__edge_columns_hint,
                              "no names of columns, which are requested", err);
    if (p->weight >= 0 && p->weight < 2)
        return og__text_wrong(&p->text, at, "--weight-column counts all columns, from 1",
                              "the column of weights is an end of the edges", err);
    if (p->weight_column >= 0 || (p->mark ? og__column_count(at, p->mark) : count_columns(at)) <= 2)
        return 0;
    return og__text_wrong(&p->text, at,
                          has_mark(at, '{')
                              ? "networkx.write_edgelist(graph, FILE, data=False), or "
                                "data=[\"weight\"] with --weight-column 3"
                              : og__edge_columns_hint,
                          "more than two columns", err);
}

/* "(0, 1)", which would be two names with half a pair of brackets each. */
static int refuse_tuple(const struct og_edge_text *p, const char *line, struct og_err *err)
{
    const char *const first = og__skip_blanks(line);
    const char *end = rawmemchr(first, '\n');
    while (end > first && og__is_blank(end - 1))
        end--;
    return *first == '(' && end[-1] == ')' && !has_mark(first + 1, '(')
               ? og__text_wrong(&p->text, line,
                                "write src,dst: numpy.savetxt(FILE, edges, \"%d\", \",\")",
                                "a pair in brackets", err)
               : 0;
}

static bool has_edge(const char *line)
{
    const char *const first = og__skip_blanks(line);
    return *first != '\n' && !og__is_remark(first);
}

/* NULL where the block has none. */
static const char *first_edge(const char *at, const char *end)
{
    while (at < end && !has_edge(at))
        at = og__next_line(at, end);
    return at < end ? at : NULL;
}

/* The columns have the names of a line, and the first edge has as many. */
static int name_by(struct og_edge_text *p, const char *names, const char *line, const char *edge,
                   struct og_err *err)
{
    int rc = name_columns(p, names, line, err);
    if (rc >= 0 && edge)
        rc = check_width(p, names, edge, err);
    if (rc >= 0 && p->reverse && p->dst < p->src)
        return og__text_wrong(&p->text, line,
                              "leave out --reverse: names say which end is which; or --columns "
                              "src,dst --reverse",
                              "dst stands before src already", err);
    return rc;
}

int og__edge_text_begin(struct og_edge_text *p, const char **begin, const char *end,
                        struct og_err *err)
{
    const char *at = *begin;
    const char *remark = NULL;
    p->begun = true;
    for (int64_t i = 0; i < p->skip && at < end; i++)
        at = og__next_line(at, end);
    *begin = at;
    for (; at < end && !has_edge(at); at = og__next_line(at, end))
        remark = og__is_remark(og__skip_blanks(at)) ? past_marks(og__skip_blanks(at)) : remark;
    if (at == end)
        return 0;
    const char *line = at;
    const int pair = refuse_tuple(p, line, err);
    if (pair < 0)
        return pair;
    const bool named = p->skip == 0 && og__names_columns(line, og__column_mark(line), false) &&
                       is_names(p, line, first_edge(og__next_line(at, end), end));
    if (named)
        at = og__next_line(at, end);
    *begin = at;
    const char *const edge = first_edge(at, end);
    p->mark = (named || p->words) && edge ? mark_of(edge, og__column_mark(line)) : 0;
    if (p->names)
        return name_as_told(p, line, err);
    if (!named && (p->skip > 0 || !remark || !og__names_ends(remark, false)))
        return at == end ? 0 : number_columns(p, line, err);
    return name_by(p, named ? line : remark, line, edge, err);
}
