#include "dataset/import/edge_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char part_name[] = "edge list";

/* "0 1\n": no edge takes less, so edge k of a part that begins at byte b has place b / 4 + k. */
enum { LEAST_LINE = 4 };

static size_t most_edges(const struct og_edge_text *p)
{
    return p->text.room / LEAST_LINE + 2;
}

static const char line_hint[] =
    "a line is: src dst, or src dst weight; blanks, tabs, commas or semicolons between them";

int og__edge_text_open(struct og_edge_text *p, const char *path, struct og_budget *b,
                       struct og_pool *pool, struct og_err *err)
{
    *p = (struct og_edge_text){.budget = b, .pool = pool, .weight_column = -1};
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
    *p = (struct og_edge_text){0};
}

int og__edge_text_rewind(struct og_edge_text *p, struct og_err *err)
{
    p->begun = false;
    return og__text_rewind(&p->text, err);
}

/* ---- one line; a newline ends every scan ---- */

/* A carriage return is one only before a newline: elsewhere it would join lines. */
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

static bool is_remark(const char *p)
{
    return *p == '#' || *p == '%';
}

static const char *next_line(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline + 1 : end;
}

/* A number ends with its field: 1d5 is none, nor is 1,5 where columns are parted by `mark`, which
 * is a semicolon, or 0 for blanks. */
static bool ends_field(const char *at, char mark)
{
    const char *next = skip_blanks(at);
    if (*next == ',' || *next == ';')
        return *next == mark;
    return next > at || *next == '\n';
}

/* The number in column `column`, from the end of column 2 on. NULL with *wrong. */
static const char *parse_weight(const struct og_edge_text *p, const char *at, float *weight,
                                const char **wrong)
{
    double x = NAN;
    for (int column = 3; column < p->weight_column; column++)
        at = skip_field(skip_separator(at));
    char mark = *skip_blanks(at);
    at = skip_separator(at);
    *wrong = at;
    at = *at == '\n' ? NULL : og__parse_real(&p->text, at, &x);
    *weight = (float)x;
    bool whole = at && ends_field(at, mark == ',' || mark == ';' ? mark : 0);
    return whole && isfinite(*weight) ? at : NULL;
}

static bool refuse(struct og_edge_text_part *part, const char *at, const char *why)
{
    part->wrong = at;
    part->why = why;
    return false;
}

/* One edge. */
static bool parse_edge(const struct og_edge_text *p, struct og_edge_text_part *part,
                       const char **at, const char *end)
{
    uint64_t id[2];
    const char *q = *at;
    for (int i = 0; i < 2; i++) {
        const char *start = q;
        if (!(q = og__parse_id(start, &id[i])))
            return refuse(part, start, "no node id (a whole number below 2^63)");
        id[i] -= p->base;
        if ((int64_t)id[i] < 0 || (p->limit && id[i] >= p->limit))
            return refuse(part, start, "a node that the graph does not have");
        const char *after = skip_separator(q);
        if (after == q && *q != '\n')
            return refuse(part, q, "something after a node id");
        q = i == 0 ? after : q;
    }
    if (p->weight_column > 0) {
        const char *wrong;
        if (!(q = parse_weight(p, q, &part->weight[part->n], &wrong)))
            return refuse(part, wrong, "no finite weight");
    }
    q = skip_blanks(q);
    if (*q != '\n') {
        if (p->weight_column < 0)
            return refuse(part, q, "more than two columns");
        if (p->exact)
            return refuse(part, q, "something after the value");
        q = next_line(q, end) - 1;
    }
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
        at = skip_blanks(at);
        if (*at == '\n')
            at++;
        else if (is_remark(at))
            at = next_line(at, part.end);
        else if (!parse_edge(p, &part, &at, part.end))
            break;
    }
    ((struct og_edge_text *)arg)->part[task] = part;
}

/* ---- blocks ---- */

/* The first line that is no remark may name the columns; it tells how many there are. */
static int begin_file(struct og_edge_text *p, const char **begin, const char *end,
                      struct og_err *err)
{
    const char *at = *begin;
    p->begun = true;
    for (int64_t i = 0; i < p->skip && at < end; i++)
        at = next_line(at, end);
    *begin = at;
    while (at < end && (*skip_blanks(at) == '\n' || is_remark(skip_blanks(at))))
        at = next_line(at, end);
    if (at == end)
        return 0;
    if (p->skip == 0 && *at &&
        strchr("\"ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz", *at))
        *begin = at = next_line(at, end);
    if (at == end || p->weight_column >= 0)
        return 0;
    int columns = 0;
    for (const char *q = skip_blanks(at); *q != '\n'; columns++)
        q = skip_separator(skip_field(q));
    if (columns <= 2)
        return 0;
    return og__text_wrong(
        &p->text, at,
        "--weight-column 3 takes the third as weights, --weight-column 0 leaves them out",
        "more than two columns", err);
}

static void cut_block(struct og_edge_text *p, const char *begin, const char *end)
{
    const char *at = begin;
    size_t each = (size_t)(end - begin) / OG__EDGE_TEXT_PARTS + 1;
    for (p->parts = 0; at < end; p->parts++) {
        size_t place = ((size_t)(at - begin) + LEAST_LINE - 1) / LEAST_LINE;
        const char *to = (size_t)(end - at) <= each ? end : next_line(at + each - 1, end);
        p->part[p->parts] =
            (struct og_edge_text_part){.begin = at,
                                       .end = to,
                                       .src = p->ids + place,
                                       .dst = p->ids + most_edges(p) + place,
                                       .weight = p->weight_column > 0 ? p->weights + place : NULL};
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
        if (p->part[i].wrong)
            return og__text_wrong(&p->text, p->part[i].wrong, line_hint, p->part[i].why, err);
    return 0;
out:
    return rc;
}
