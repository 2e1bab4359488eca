/* Comma separated numbers, a row a line. */
#include "dataset/import/table.h"

#include "dataset/import/text.h"

#include <stdlib.h>
#include <string.h>

struct csv_table {
    struct og_table t;
    struct og_text text;
    const char *at, *end; /* within the present block */
    bool by_id;           /* the first column is an id, the first line may be names */
    bool begun;
};

static const char csv_hint[] = "numbers with commas between them and no header line are read here";
static const char by_id_hint[] = "a line is an id and numbers, with commas between them; the first "
                                 "line may name the columns";

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\r')
        p++;
    return p;
}

static int wrong(const struct csv_table *c, const char *at, const char *why, struct og_err *err)
{
    return og__text_wrong(&c->text, at, c->by_id ? by_id_hint : csv_hint, why, err);
}

static bool is_id(const struct csv_table *c, int64_t column)
{
    return c->by_id && column == 0;
}

/* One field. What follows it, or NULL. */
static const char *parse_field(const struct csv_table *c, int64_t column, const char *p, void *out)
{
    uint64_t id = 0;
    if (is_id(c, column)) {
        p = og__parse_id(p, &id);
        *(int64_t *)out = (int64_t)id;
        return p;
    }
    bool minus = *p == '-';
    if (c->t.type == OG__NPY_F64)
        return og__parse_real(&c->text, p, out);
    p = og__parse_id(p + minus, &id);
    *(int64_t *)out = (int64_t)(minus ? 0 - id : id); /* of what is none, too: then p is NULL */
    return p;
}

static int parse_line(struct csv_table *c, char *out, struct og_err *err)
{
    const char *p = c->at;
    for (int64_t j = 0; j < c->t.columns; j++, out += 8) {
        const char *field = skip_blanks(p);
        p = parse_field(c, j, field, out);
        if (!p)
            return wrong(c, field,
                         is_id(c, j)                ? "no node id (a whole number below 2^63)"
                         : c->t.type == OG__NPY_F64 ? "no number"
                                                    : "no whole number",
                         err);
        p = skip_blanks(p);
        if (*p != (j + 1 < c->t.columns ? ',' : '\n'))
            return wrong(c, p == c->end ? p - 1 : p,
                         *p == '\n'  ? "fewer columns than there should be"
                         : *p == ',' ? "more columns than there should be"
                                     : "something after a number",
                         err);
        p++;
    }
    c->at = p;
    return 0;
}

static void skip_empty_lines(struct csv_table *c)
{
    while (c->at < c->end && *skip_blanks(c->at) == '\n')
        c->at = skip_blanks(c->at) + 1;
}

static bool is_name(const char *field)
{
    const unsigned char first = (unsigned char)field[*field == '"'];
    return (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z') || first == '_' ||
           first >= 0x80;
}

/* Of a file by id the first line is passed over where it begins with a name. */
static void skip_names(struct csv_table *c)
{
    if (!c->by_id || c->begun || c->at == c->end || !is_name(skip_blanks(c->at)))
        return;
    c->at = (const char *)memchr(c->at, '\n', (size_t)(c->end - c->at)) + 1; /* blocks end in one */
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
        if (*skip_blanks(c->at) == '\n') { /* an empty line */
            c->at = skip_blanks(c->at) + 1;
            continue;
        }
        int rc = parse_line(c, (char *)out + (size_t)*got * row, err);
        if (rc < 0)
            return rc;
        ++*got;
    }
    return 0;
}

static int csv_rewind(struct og_table *t, struct og_err *err)
{
    struct csv_table *c = (struct csv_table *)t;
    c->at = c->end = NULL;
    c->begun = false;
    return og__text_rewind(&c->text, err);
}

static void csv_close(struct og_table *t)
{
    struct csv_table *c = (struct csv_table *)t;
    og__text_close(&c->text);
    free(c);
}

static const struct og_table_ops csv_ops = {csv_read, csv_rewind, csv_close, NULL};

static int count_columns(struct csv_table *c, struct og_err *err)
{
    int rc;
    OG_TRY(next_block(c, err));
    c->t.columns = 1;
    if (c->at)
        skip_empty_lines(c);
    for (const char *p = c->at; p && p < c->end && *p != '\n'; p++)
        c->t.columns += *p == ',';
    OG_TRY(og__table_rewind(&c->t, err));
out:
    return rc;
}

static int open_csv(struct og_table **out, const char *path, enum og__npy_type type,
                    int64_t columns, bool by_id, struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    struct csv_table *c = og__table_new(sizeof(*c), &csv_ops, path, err);
    if (!c)
        return -ENOMEM;
    c->t.type = type;
    c->t.rows = -1;
    c->t.columns = columns;
    c->by_id = by_id;
    int rc;
    OG_TRY(og__text_open(&c->text, path, b, err));
    if (columns == 0)
        OG_TRY(count_columns(c, err));
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
    return open_csv(out, path, type, columns, false, b, err);
}

int og__table_csv_by_id(struct og_table **out, const char *path, struct og_budget *b,
                        struct og_err *err)
{
    return open_csv(out, path, OG__NPY_F64, 0, true, b, err);
}
