#include "dataset/import/edge_text_parts.h"

#include "dataset/convert.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- one line ---- */

/* Skips an unused column. With a known separator it may hold blanks or quotes. */
static const char *skip_unread(const struct og_edge_text *p, const char *at)
{
    bool quoted = false;
    if (!p->mark)
        return og__skip_field(at);
    for (; *at != '\n' && (quoted || *at != p->mark); at++)
        quoted ^= *at == '"';
    return at;
}

/* Moves to the next column. A tab separates columns, empty ones too. */
static const char *next_column(const struct og_edge_text *p, const char *at)
{
    if (p->mark != '\t')
        return og__skip_separator(at);
    while (*at == ' ')
        at++;
    return *at == '\t' ? at + 1 : at;
}

/* Does the number end its field? 1d5 is no number, nor is 1,5 where columns are separated by
 * `mark`, a semicolon, or 0 for blanks. */
static bool ends_field(const char *at, char mark)
{
    const char *next = og__skip_blanks(at);
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
    if (og__skip_separator(end) == end && *end != '\n')
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
    const bool after_mark = column > 0 && (at[-1] == ',' || at[-1] == ';' || at[-1] == '\t');
    if (*at == '\n' && !after_mark)
        return refuse(part, at, "fewer columns than there should be");
    if (p->words)
        return parse_word(p, part, at, id);
    if (*at == '\n' || *at == ',' || *at == ';' || *at == '\t')
        return refuse_with(part, at, "an end without an id", "complete the line, or remove it");
    const bool quoted = *at == '"';
    const char *end = og__parse_id(at + quoted, id);
    part->no_number =
        !end || (quoted ? *end != '"' : og__skip_separator(end) == end && *end != '\n');
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
    if (og__skip_separator(end) == end && *end != '\n')
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
    if (*at == '\n' || (!p->exact && *og__skip_separator(at) == '\n'))
        return at;
    if (p->weight_column < 0 && !p->others_known)
        return refuse(part, og__skip_separator(at), "more than two columns");
    if (p->exact)
        return refuse(part, at, "something after the value");
    if (p->n_named > 0 && last + 1 >= p->n_named && *og__skip_separator(at) != '\n')
        return refuse_with(part, og__skip_separator(at), "more columns than there are names",
                           og__edge_columns_hint);
    return at;
}

static bool parse_edge(const struct og_edge_text *p, struct og_edge_text_part *part,
                       const char **at, const char *end)
{
    const int last = last_column(p);
    uint64_t id[2] = {0, 0};
    const char *q = *at;
    char mark = p->mark; /* before the column; for the first one, after it */
    for (int column = 0; q && column <= last; column++) {
        if (column > 0) {
            const char *blank = og__skip_blanks(q);
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
    q = q ? end_line(p, part, og__skip_blanks(q), last) : NULL;
    if (!q)
        return false;
    if (*q != '\n')
        q = og__next_line(q, end) - 1;
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
        const char *first = og__skip_blanks(at);
        if (*first == '\n')
            at = first + 1;
        else if (og__is_remark(first) && p->words) {
            refuse(&part, first, "a remark after the first edge; an id goes into quotes");
            break;
        } else if (og__is_remark(first))
            at = og__next_line(first, part.end);
        else {
            at = p->mark == '\t' ? at : first; /* the first column may be empty */
            if (!parse_edge(p, &part, &at, part.end))
                break;
        }
    }
    ((struct og_edge_text *)arg)->part[task] = part;
}

/* ---- blocks ---- */

static void cut_block(struct og_edge_text *p, const char *begin, const char *end)
{
    const char *at = begin;
    size_t each = (size_t)(end - begin) / OG__EDGE_TEXT_PARTS + 1;
    const size_t least = og__edge_text_least(p);
    const size_t row =
        p->reads == OG__NO_VALUES ? 0 : (size_t)p->n_values[p->reads] * sizeof(int64_t);
    for (p->parts = 0; at < end; p->parts++) {
        size_t place = ((size_t)(at - begin) + least - 1) / least;
        const char *to = (size_t)(end - at) <= each ? end : og__next_line(at + each - 1, end);
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
        OG_TRY(og__edge_text_begin(p, &begin, end, err));
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
