#include "dataset/import/edge_text.h"

#include "dataset/convert.h"
#include "dataset/import/columns.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char part_name[] = "edge list";

/* Edge k of a part that begins at byte b is stored at index b / 4 + k. Reason: the shortest line,
 * "0 1\n", has 4 bytes. */
enum { LEAST_LINE = 4 };

size_t og__edge_text_least(const struct og_edge_text *p)
{
    return LEAST_LINE + (p->reads == OG__NO_VALUES ? 0 : 2 * (size_t)p->n_values[p->reads]);
}

static size_t most_edges(const struct og_edge_text *p)
{
    return p->text.room / LEAST_LINE + 2;
}

static const char line_hint[] =
    "a line is: src dst, or src dst weight; blanks, tabs, commas or semicolons between them";

static const char columns_hint[] = "name every column: --columns src,dst,weight, with - for "
                                   "others; or both ends as the first line "
                                   "has them: --id-columns FROM,TO";

int og__edge_text_open(struct og_edge_text *p, const char *path, struct og_budget *b,
                       struct og_pool *pool, struct og_err *err)
{
    *p = (struct og_edge_text){.budget = b,
                               .pool = pool,
                               .weight_column = -1,
                               .reads = OG__NO_VALUES,
                               .dst = 1,
                               .weight = -1};
    int rc;
    OG_TRY(og__text_open(&p->text, path, b, err));
    p->ids = og__alloc(b, 2 * most_edges(p) * sizeof(*p->ids), part_name, err);
    OG_TRY(p->ids ? 0 : -ENOMEM);
    p->weights = og__alloc(b, most_edges(p) * sizeof(*p->weights), part_name, err);
    OG_TRY(p->weights ? 0 : -ENOMEM);
out:
    if (rc < 0)
        og__edge_text_close(p);
    return rc;
}

void og__edge_text_close(struct og_edge_text *p)
{
    og__release(p->budget, p->ids, 2 * most_edges(p) * sizeof(*p->ids), part_name);
    og__release(p->budget, p->weights, most_edges(p) * sizeof(*p->weights), part_name);
    og__text_close(&p->text);
    free(p->value_at);
    *p = (struct og_edge_text){0};
}

int og__edge_text_rewind(struct og_edge_text *p, struct og_err *err)
{
    p->begun = p->met_word = false;
    p->n_rounded = 0;
    p->most_rounded = 0;
    return og__text_rewind(&p->text, err);
}

/* ---- one line; a newline ends every scan ---- */

/* A carriage return is blank only before a newline: elsewhere it would join lines. */
static bool is_blank(const char *p)
{
    return *p == ' ' || *p == '\t' || (*p == '\r' && p[1] == '\n');
}

static const char *skip_blanks(const char *p)
{
    while (is_blank(p))
        p++;
    return p;
}

/* Blanks and at most one mark. */
static const char *skip_separator(const char *p)
{
    p = skip_blanks(p);
    return *p == ',' || *p == ';' ? skip_blanks(p + 1) : p;
}

static const char *skip_field(const char *p)
{
    while (!is_blank(p) && *p != ',' && *p != ';' && *p != '\n')
        p++;
    return p;
}

/* Skips an unused column. With a known separator it may hold blanks or quotes. */
static const char *skip_unread(const struct og_edge_text *p, const char *at)
{
    bool quoted = false;
    if (!p->mark)
        return skip_field(at);
    for (; *at != '\n' && (quoted || *at != p->mark); at++)
        quoted ^= *at == '"';
    return at;
}

/* Moves to the next column. A tab separates columns, empty ones too. */
static const char *next_column(const struct og_edge_text *p, const char *at)
{
    if (p->mark != '\t')
        return skip_separator(at);
    while (*at == ' ')
        at++;
    return *at == '\t' ? at + 1 : at;
}

static bool is_remark(const char *p)
{
    return *p == '#' || *p == '%';
}

static const char *next_line(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline + 1 : end;
}

/* Does the number end its field? 1d5 is no number, nor is 1,5 where columns are separated by
 * `mark`, a semicolon, or 0 for blanks. */
static bool ends_field(const char *at, char mark)
{
    const char *next = skip_blanks(at);
    if (*next == ',' || *next == ';')
        return *next == mark;
    return next > at || *next == '\n';
}

static const char *refuse_with(struct og_edge_text_part *part, const char *at, const char *why,
                               const char *hint)
{
    part->wrong = at;
    part->why = why;
    part->hint = hint;
    return NULL;
}

static const char *refuse(struct og_edge_text_part *part, const char *at, const char *why)
{
    return refuse_with(part, at, why, NULL);
}

/* Parses a number, perhaps in quotes. Returns the end of its field, or NULL. */
static const char *parse_number(const struct og_edge_text *p, const char *at, char mark, double *x)
{
    const bool quoted = *at == '"';
    const char *end = *at == '\n' ? NULL : og__parse_real(&p->text, at + quoted, x);
    if (end && quoted)
        end = *end == '"' ? end + 1 : NULL;
    return end && ends_field(end, mark) ? end : NULL;
}

/* Returns the end of the field, or NULL. `mark` precedes it: 0 = blanks. */
static const char *parse_weight(const struct og_edge_text *p, struct og_edge_text_part *part,
                                const char *at, char mark)
{
    static const char hint[] =
        "a weight is a finite number from 0, such as 2.5; --weight-column 0 leaves weights out";
    double x = NAN;
    const char *end = parse_number(p, at, mark, &x);
    const float weight = (float)x;
    if (!end || !isfinite(weight))
        return refuse_with(part, at, "no finite weight", hint);
    if (weight < 0)
        return refuse_with(part, at, "a negative weight", hint);
    if (og__text_changes(x, weight)) {
        part->n_rounded++;
        part->most_rounded = OG_MAX(part->most_rounded, fabs(x - weight));
    }
    part->weight[part->n] = weight;
    return end;
}

static const char times_hint[] = "times are whole numbers, such as seconds since 1970; in pandas: "
                                 "date.astype('datetime64[s]').astype(int)";

/* Parses a time or a feature. Times are whole, and exact. */
static const char *parse_value(const struct og_edge_text *p, struct og_edge_text_part *part,
                               const char *at, char mark, int place)
{
    const int n = p->n_values[p->reads];
    char *to = part->value + (part->n * (size_t)n + (size_t)place) * sizeof(int64_t);
    double x = NAN;
    const bool time = p->reads == OG__EDGE_TIME;
    char *rest = NULL;
    errno = 0;
    const bool digits = *at && strchr("-0123456789", *at);
    const int64_t whole = time && digits ? strtoll(at, &rest, 10) : 0;
    if (rest > at && errno == 0 && ends_field(rest, mark)) {
        memcpy(to, &whole, sizeof(whole));
        return rest;
    }
    const char *end = parse_number(p, at, mark, &x);
    if (!end || !isfinite(x))
        return refuse_with(part, at, time ? "no time of an edge" : "no finite number, of a feature",
                           time ? times_hint : "fill in the number, or leave the column out");
    if (!time)
        memcpy(to, &x, sizeof(x));
    else if (x != floor(x) || fabs(x) >= 0x1p53)
        return refuse_with(part, at, "a time that is no whole number", times_hint);
    else
        memcpy(to, &(int64_t){(int64_t)x}, sizeof(int64_t));
    return end;
}

/* Stores the word's position in the block, and its length. */
static const char *parse_word(const struct og_edge_text *p, struct og_edge_text_part *part,
                              const char *at, uint64_t *id)
{
    struct og_word word;
    const char *why;
    const char *end = og__parse_text(&p->text, at, p->mark, &word, &why);
    if (!end)
        return refuse_with(part, at, why,
                           "names are UTF-8 of 1 to 4096 bytes, without control characters; quotes "
                           "close on their line");
    if (skip_separator(end) == end && *end != '\n')
        return refuse(part, end, "something after a node id");
    og__note_word(&p->text, &word, &part->kinds);
    *id = (uint64_t)(word.text - p->text.buffer) << 32 | word.len;
    return end;
}

void og__edge_text_words(const struct og_edge_text *p, const uint64_t *id, size_t n,
                         struct og_word *word)
{
    for (size_t i = 0; i < n; i++)
        word[i] = (struct og_word){p->text.buffer + (id[i] >> 32), (uint32_t)id[i]};
}

/* Parses a node's id, perhaps in quotes. */
static const char *parse_end(const struct og_edge_text *p, struct og_edge_text_part *part,
                             const char *at, int column, uint64_t *id)
{
    if (p->words)
        return parse_word(p, part, at, id);
    const bool after_mark = column > 0 && (at[-1] == ',' || at[-1] == ';' || at[-1] == '\t');
    if (*at == '\n' && !after_mark)
        return refuse(part, at, "fewer columns than there should be");
    if (*at == '\n' || *at == ',' || *at == ';' || *at == '\t')
        return refuse_with(part, at, "an end without an id", "complete the line, or remove it");
    const bool quoted = *at == '"';
    const char *end = og__parse_id(at + quoted, id);
    part->no_number = !end || (quoted ? *end != '"' : skip_separator(end) == end && *end != '\n');
    if (!end && (at[quoted] == '-' || at[quoted] == '+'))
        return refuse_with(
            part, at, "a node id with a sign",
            "ids are whole numbers from 0, or words: add to all until none is negative");
    if (!end || (quoted && *end != '"'))
        return refuse(part, at, "no node id (a whole number below 2^63)");
    part->zeros = part->zeros || (at[quoted] == '0' && end > at + quoted + 1);
    end += quoted;
    *id -= p->base;
    if ((int64_t)*id < 0 || (p->limit && *id >= p->limit))
        return refuse(part, at, "a node that the graph does not have");
    if (*end == '.')
        return refuse_with(part, at, "a node id with a fraction",
                           "ids are whole numbers, in pandas astype('int64'); '1.0' is none");
    if (skip_separator(end) == end && *end != '\n')
        return refuse(part, end, "something after a node id");
    return end;
}

static int last_column(const struct og_edge_text *p)
{
    return OG_MAX(OG_MAX(p->src, p->dst),
                  OG_MAX(p->weight, p->reads == OG__NO_VALUES ? 0 : p->last_value));
}

/* Returns `at`, after the last column that is read, or NULL where more are in the way. */
static const char *end_line(const struct og_edge_text *p, struct og_edge_text_part *part,
                            const char *at, int last)
{
    if (*at == '\n' || (!p->exact && *skip_separator(at) == '\n'))
        return at;
    if (p->weight_column < 0 && !p->others_known)
        return refuse(part, skip_separator(at), "more than two columns");
    if (p->exact)
        return refuse(part, at, "something after the value");
    if (p->n_named > 0 && last + 1 >= p->n_named && *skip_separator(at) != '\n')
        return refuse_with(part, skip_separator(at), "more columns than there are names",
                           columns_hint);
    return at;
}

/* Parses one edge. */
static bool parse_edge(const struct og_edge_text *p, struct og_edge_text_part *part,
                       const char **at, const char *end)
{
    const int last = last_column(p);
    uint64_t id[2] = {0, 0};
    const char *q = *at;
    char mark = p->mark; /* before the column; for the first one, after it */
    for (int column = 0; q && column <= last; column++) {
        if (column > 0) {
            const char *blank = skip_blanks(q);
            mark = *blank == ',' || *blank == ';' ? *blank : 0;
            q = next_column(p, q);
        }
        if (column == p->src || column == p->dst)
            q = parse_end(p, part, q, column, &id[column == p->dst]);
        else if (column == p->weight)
            q = parse_weight(p, part, q, mark);
        else if (p->reads != OG__NO_VALUES && p->value_at[column])
            q = parse_value(p, part, q, mark, p->value_at[column] - 1);
        else
            q = *q == '\n' ? refuse(part, q, "fewer columns than there should be")
                           : skip_unread(p, q);
    }
    q = q ? end_line(p, part, skip_blanks(q), last) : NULL;
    if (!q)
        return false;
    if (*q != '\n')
        q = next_line(q, end) - 1;
    part->src[part->n] = id[0];
    part->dst[part->n++] = id[1];
    part->most = OG_MAX(part->most, OG_MAX(id[0], id[1]));
    *at = q + 1;
    return true;
}

static void parse_part(void *arg, size_t task, int thread)
{
    const struct og_edge_text *p = arg;
    struct og_edge_text_part part = p->part[task]; /* a copy: parts share cache lines */
    const char *at = part.begin;
    (void)thread;
    while (at < part.end) {
        const char *first = skip_blanks(at);
        if (*first == '\n')
            at = first + 1;
        else if (is_remark(first) && p->words) {
            refuse(&part, first, "a remark after the first edge; an id goes into quotes");
            break;
        } else if (is_remark(first))
            at = next_line(first, part.end);
        else {
            at = p->mark == '\t' ? at : first; /* the first column may be empty */
            if (!parse_edge(p, &part, &at, part.end))
                break;
        }
    }
    ((struct og_edge_text *)arg)->part[task] = part;
}

/* ---- blocks ---- */

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

/* Is each name of the list one of a column? */
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

/* Finds the columns of values. */
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

/* Checks that both ends are there. `weight`: the column that is called so, or -1. */
static int set_weight(struct og_edge_text *p, int weight, const char *at, struct og_err *err)
{
    if ((p->src < 0 || p->dst < 0) && p->ends)
        return og__text_wrong(&p->text, at, "--id-columns SRC,DST: as the first line names them",
                              "no columns of the names in --id-columns", err);
    if (p->src < 0 || p->dst < 0)
        return og__text_wrong(&p->text, at,
                              memchr(at, '|', (size_t)((char *)rawmemchr(at, '\n') - at))
                                  ? "columns are not separated by |: tr '|' ',' <OLD >NEW"
                                  : columns_hint,
                              "columns that are not known; one called src and one dst are needed",
                              err);
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
    int rc = find_values(p, line, at, err);
    if (rc < 0)
        return rc;
    for (const char *q = line; *q != '\n'; column++) {
        q = og__column_next(q, mark, &name);
        const enum og_column what = column_of(p, name.text);
        int *const end = what == OG__COLUMN_SRC ? &p->src : what == OG__COLUMN_DST ? &p->dst : NULL;
        if (end && *end >= 0)
            return og__text_wrong(&p->text, at, columns_hint, "two columns of the same end", err);
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
    for (const char *q = skip_blanks(at); *q != '\n'; columns++)
        q = skip_separator(skip_field(q));
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
    while (end > line && is_blank(end - 1))
        end--;
    if (there <= named || (there == named + 1 && p->mark && end[-1] == p->mark))
        return 0; /* a line may end in a separator */
    return og__text_wrong(&p->text, line, columns_hint, "more columns than there are names", err);
}

/* Uses the names in --columns. */
static int name_as_told(struct og_edge_text *p, const char *at, struct og_err *err)
{
    char line[256];
    if ((size_t)snprintf(line, sizeof(line), "%s\n", p->names) >= sizeof(line))
        return og__fail(err, -EINVAL, columns_hint, "--columns: more than 254 characters");
    if (!marks_columns(p, at, count_columns(line)))
        return og__text_wrong(&p->text, at, columns_hint, "not as many columns as --columns names",
                              err);
    return name_columns(p, line, at, err);
}

/* Without column names: src, dst, and --weight-column. */
static int number_columns(struct og_edge_text *p, const char *at, struct og_err *err)
{
    p->weight = p->weight_column > 0 ? p->weight_column - 1 : -1;
    p->n_named = 0;
    if (p->values[OG__EDGE_TIME] || p->values[OG__EDGE_FEATURE])
        return og__text_wrong(&p->text, at, columns_hint,
                              "no names of columns, which are requested", err);
    if (p->weight >= 0 && p->weight < 2)
        return og__text_wrong(&p->text, at, "--weight-column counts all columns, from 1",
                              "the column of weights is an end of the edges", err);
    if (p->weight_column >= 0 || (p->mark ? og__column_count(at, p->mark) : count_columns(at)) <= 2)
        return 0;
    return og__text_wrong(&p->text, at, columns_hint, "more than two columns", err);
}

static bool has_edge(const char *line)
{
    const char *const first = skip_blanks(line);
    return *first != '\n' && !is_remark(first);
}

/* NULL where the block has none. */
static const char *first_edge(const char *at, const char *end)
{
    while (at < end && !has_edge(at))
        at = next_line(at, end);
    return at < end ? at : NULL;
}

/* The first line that is no remark may name the columns, or else the remark before it. */
static int begin_file(struct og_edge_text *p, const char **begin, const char *end,
                      struct og_err *err)
{
    const char *at = *begin;
    const char *remark = NULL;
    p->begun = true;
    for (int64_t i = 0; i < p->skip && at < end; i++)
        at = next_line(at, end);
    *begin = at;
    for (; at < end && !has_edge(at); at = next_line(at, end))
        remark = is_remark(skip_blanks(at)) ? past_marks(skip_blanks(at)) : remark;
    if (at == end)
        return 0;
    const char *line = at;
    const bool named = p->skip == 0 && og__names_columns(line, og__column_mark(line), false) &&
                       is_names(p, line, first_edge(next_line(at, end), end));
    if (named)
        at = next_line(at, end);
    *begin = at;
    const char *const edge = first_edge(at, end);
    p->mark = (named || p->words) && edge ? mark_of(edge, og__column_mark(line)) : 0;
    if (p->names)
        return name_as_told(p, line, err);
    if (!named && (p->skip > 0 || !remark || !og__names_ends(remark, false)))
        return at == end ? 0 : number_columns(p, line, err);
    int rc = name_columns(p, named ? line : remark, line, err);
    if (rc >= 0 && edge)
        rc = check_width(p, named ? line : remark, edge, err);
    if (rc >= 0 && p->reverse && p->dst < p->src)
        return og__text_wrong(&p->text, line,
                              "leave out --reverse: names say which end is which; or --columns "
                              "src,dst --reverse",
                              "dst stands before src already", err);
    return rc;
}

static void cut_block(struct og_edge_text *p, const char *begin, const char *end)
{
    const char *at = begin;
    size_t each = (size_t)(end - begin) / OG__EDGE_TEXT_PARTS + 1;
    const size_t least = og__edge_text_least(p);
    const size_t row =
        p->reads == OG__NO_VALUES ? 0 : (size_t)p->n_values[p->reads] * sizeof(int64_t);
    for (p->parts = 0; at < end; p->parts++) {
        size_t place = ((size_t)(at - begin) + least - 1) / least;
        const char *to = (size_t)(end - at) <= each ? end : next_line(at + each - 1, end);
        p->part[p->parts] =
            (struct og_edge_text_part){.begin = at,
                                       .end = to,
                                       .src = p->ids + place,
                                       .dst = p->ids + most_edges(p) + place,
                                       .weight = p->weight >= 0 ? p->weights + place : NULL,
                                       .value = row ? p->row + place * row : NULL};
        at = to;
    }
}

int og__edge_text_next(struct og_edge_text *p, struct og_err *err)
{
    const char *begin;
    const char *end;
    p->parts = 0;
    int rc;
    OG_TRY(og__text_block(&p->text, &begin, &end, err));
    if (begin && !p->begun)
        OG_TRY(begin_file(p, &begin, end, err));
    if (!begin)
        return rc;
    cut_block(p, begin, end);
    if (p->parts == 0) /* a block that was all header: the next one */
        return og__edge_text_next(p, err);
    og__pool_run(p->pool, p->parts, parse_part, p);
    for (size_t i = 0; i < p->parts; i++)
        p->met_word = p->met_word || (p->part[i].no_number && p->part[i].wrong && p->takes_words);
    for (size_t i = 0; i < p->parts; i++)
        if (p->part[i].wrong)
            return og__text_wrong(&p->text, p->part[i].wrong,
                                  p->part[i].hint ? p->part[i].hint
                                  : p->line_hint  ? p->line_hint
                                                  : line_hint,
                                  p->part[i].why, err);
    for (size_t i = 0; i < p->parts; i++) {
        p->n_rounded += p->part[i].n_rounded;
        p->most_rounded = OG_MAX(p->most_rounded, p->part[i].most_rounded);
    }
    return 0;
out:
    return rc;
}
