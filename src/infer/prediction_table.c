#include "infer/prediction_table.h"

#include "base/file.h"
#include "base/plain.h"
#include "dataset/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OTHER = -1, ID = -2, HEAD = 4096 };

static const char hint[] = "make it with `outgrow predict --probabilities --out FILE.csv`";

struct table {
    const char *path, *text;
    size_t bytes, at;
    const struct og_graph *g;
    int *column; /* [columns] class of each, ID or OTHER */
    size_t columns;
    float *row; /* [classes] */
    char field[OG__FIELD_MOST];
};

bool og__prediction_is_table(const char *path)
{
    const size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".csv") == 0;
}

/* Takes the next field; false: it was the last of its line. */
static bool next_field(struct table *t, struct og_word *word)
{
    t->at = og__text_field(t->text, t->bytes, t->at, t->field, word);
    const bool more = t->at < t->bytes && t->text[t->at] == ',';
    t->at++;
    return more;
}

static bool is(const struct og_word *word, const char *text)
{
    return word->len == strlen(text) && memcmp(word->text, text, word->len) == 0;
}

/* The class of this name. Where classes have none, their numbers are names. */
static int class_of(const struct og_graph *g, const struct og_word *word)
{
    const json_t *names = json_object_get(g->meta, "class_names");
    const bool named = json_array_size(names) == (size_t)g->n_classes;
    char number[16];
    for (int i = 0; i < g->n_classes; i++) {
        snprintf(number, sizeof(number), "%d", i);
        if (is(word, named ? json_string_value(json_array_get(names, (size_t)i)) : number))
            return i;
    }
    return OTHER;
}

static int add_column(struct table *t, int class, struct og_err *err)
{
    int *more = realloc(t->column, (t->columns + 1) * sizeof(*more));
    if (!more)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", t->path);
    t->column = more;
    for (size_t i = 0; class >= 0 && i < t->columns; i++)
        if (t->column[i] == class)
            return og__fail(err, -EINVAL, hint, "%s: two columns of one class", t->path);
    t->column[t->columns++] = class;
    return 0;
}

/* "class" is the chosen one, which scores say better, unless a class is called so. */
static int read_header(struct table *t, struct og_err *err)
{
    struct og_word word;
    bool more = true;
    int classes = 0, rc = 0;
    t->at = og__text_begin(t->text, t->bytes);
    while (more) {
        more = next_field(t, &word);
        const bool chosen = t->columns == 1 && is(&word, "class");
        const int class = t->columns == 0 ? ID : chosen ? OTHER : class_of(t->g, &word);
        if (class == OTHER && !chosen)
            OG_TRY(og__fail(err, -EINVAL, hint, "%s: column %.*s is no class of %s", t->path,
                            (int)OG_MIN(word.len, 100u), word.text, t->g->path));
        classes += class >= 0;
        OG_TRY(add_column(t, class, err));
    }
    if (classes != t->g->n_classes)
        OG_TRY(og__fail(err, -EINVAL, hint, "%s: columns of %d classes, %s has %d", t->path,
                        classes, t->g->path, t->g->n_classes));
out:
    return rc;
}

/* The next line; lines without an id are none. */
static int read_row(struct table *t, struct og_err *err)
{
    struct og_word word;
    size_t column;
    bool more, empty;
    do {
        const size_t line = t->at;
        for (more = true, empty = false, column = 0; more; column++) {
            char *end = t->field;
            more = next_field(t, &word);
            empty |= column == 0 && word.len == 0;
            if (empty || column >= t->columns || t->column[column] < 0)
                continue;
            t->field[OG_MIN(word.len, (uint32_t)OG__FIELD_MOST - 1)] = 0;
            const double value = og__plain_number(t->field, &end);
            if (word.len == 0 || *end || !(value >= 0 && value <= 1))
                return og__fail(err, -EINVAL, hint,
                                "%s: byte %zu: '%.40s', a probability from 0 to 1 expected",
                                t->path, line, t->field);
            t->row[t->column[column]] = (float)value;
        }
        if (!empty && column != t->columns)
            return og__fail(err, -EINVAL, hint, "%s: byte %zu: %zu fields, the first line has %zu",
                            t->path, line, column, t->columns);
    } while (empty && t->at < t->bytes);
    return 0;
}

static int write_rows(struct table *t, int fd, const char *out, const uint32_t *ids, int64_t n,
                      struct og_err *err)
{
    const size_t bytes = (size_t)t->g->n_classes * sizeof(*t->row);
    const int64_t shape[2] = {t->g->n_nodes, t->g->n_classes};
    char head[HEAD];
    const size_t first = og__npy_header(head, OG__NPY_F32, 2, shape, HEAD);
    OG_DO(og__write_all(fd, head, first, 0, out, err));
    for (int64_t i = 0; i < n; i++) {
        OG_DO(read_row(t, err));
        OG_DO(og__write_all(fd, t->row, bytes, (off_t)(first + ids[i] * bytes), out, err));
    }
    return 0;
}

int og__prediction_table(const char *table, const char *out, const struct og_graph *g,
                         struct og_budget *b, struct og_err *err)
{
    struct table *t = calloc(1, sizeof(*t));
    uint32_t *ids = NULL;
    int64_t n = 0;
    int fd = -1, rc;
    if (!t)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", table);
    *t = (struct table){.path = table, .g = g};
    OG_TRY(og__text_map(table, &t->text, &t->bytes, err));
    OG_TRY(read_header(t, err));
    OG_TRY(og__graph_nodes(g, table, NULL, b, &ids, &n, err));
    if (n != g->n_nodes)
        OG_TRY(og__fail(err, -EINVAL, hint,
                        "%s: %lld lines, a line for each of %lld nodes expected", table,
                        (long long)n, (long long)g->n_nodes));
    t->row = malloc((size_t)g->n_classes * sizeof(*t->row));
    fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (!t->row || fd < 0)
        OG_TRY(og__fail_errno(err, fd < 0 ? -errno : -ENOMEM, NULL, "%s: cannot create", out));
    OG_TRY(write_rows(t, fd, out, ids, n, err));
out:
    if (fd >= 0)
        close(fd);
    if (rc < 0 && fd >= 0)
        unlink(out);
    if (ids)
        og__release(b, ids, (size_t)n * sizeof(*ids), "seeds");
    og__text_unmap(t->text, t->bytes);
    free(t->column);
    free(t->row);
    free(t);
    return rc;
}
