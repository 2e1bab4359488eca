/* A table -> labels.npy: classes, several labels a node, values, or shares of classes. */
#include "dataset/import/import.h"

#include "dataset/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char part[] = "import";

struct labelling {
    struct og_npy_writer *w;
    bool of_arrays;     /* the source may have a meta.json */
    bool rows;          /* of several labels, or of values */
    bool values;        /* any number; else 0 or 1; NaN for none */
    bool parts;         /* these values are shares of classes: all of a node are known, or none */
    float *row;         /* [C], when rows */
    int64_t most;       /* largest class */
    int64_t n;          /* nodes that have a class */
    uint64_t *labelled; /* a bit a node that has a label; or NULL */
    uint64_t *found;    /* [MOST_FOUND] a bit a class that some node has */
    int64_t unknown;    /* labels that are not known */
    int64_t n_of[2];    /* when rows: known labels of 0, and others */
    int64_t shares;     /* labels between 0 and 1 */
    bool one_each;      /* when rows: every node has one of several labels */
    struct og_changed changed;
};

/* How values come in. */
static const char *hint_values(const struct labelling *l)
{
    return l->of_arrays
               ? "for values, not classes: put {\"task\": \"regression\"} into its meta.json"
               : "for values, not classes: save arrays for `import npy`, with {\"task\": "
                 "\"regression\"} in meta.json";
}

/* A class number, -1 for none. */
static int class_of(const struct labelling *l, const struct og_piece *p, size_t i, int64_t node,
                    int64_t *class, struct og_err *err)
{
    double x = og__number_at(p->t->type, p->raw, i);
    if (isnan(x))
        x = -1;
    if (x < -1 || x > INT32_MAX / 8 || x != floor(x))
        return og__fail(err, -EINVAL,
                        x == floor(x) ? "classes count from 0 to 268435455; -1 or NaN means none"
                                      : hint_values(l),
                        "%s: %s: %g is no class", p->t->name, og__table_place(p->t, node, -1).text,
                        x);
    *class = (int64_t)x;
    return 0;
}

static bool is_label(const struct labelling *l, float x)
{
    return isnan(x) || (l->values ? !isinf(x) && !(l->parts && x < 0) : x >= 0 && x <= 1);
}

enum { MOST_FOUND = 65536 };

static void set_bit(uint64_t *bits, int64_t i)
{
    bits[i / 64] |= (uint64_t)1 << i % 64;
}

/* The class of node v, in row i of the piece. */
static int copy_class(struct labelling *l, const struct og_piece *p, size_t i, int64_t v,
                      struct og_err *err)
{
    int64_t class = -1;
    int rc = class_of(l, p, i, v, &class, err);
    l->most = OG_MAX(l->most, class);
    l->n += class >= 0;
    l->unknown += class < 0;
    if (class >= 0 && l->labelled)
        set_bit(l->labelled, v);
    if (class >= 0 && class < MOST_FOUND)
        set_bit(l->found, class);
    return rc < 0 ? rc : og__npy_append(l->w, &class, 1, err);
}

static const char *what_labels_are(const struct labelling *l)
{
    return l->parts    ? "shares are at least 0, or all of a node NaN"
           : l->values ? "NaN where a value is not known"
           : !l->of_arrays
               ? "several labels are 1 or 0 each, -1 or NaN where one is not known"
               : "several labels are 1 or 0 each, -1 or NaN where one is not known; for "
                 "values put {\"task\": \"regression\"} into its meta.json";
}

/* Label of node v, in row i of the piece. */
static int copy_label(struct labelling *l, const struct og_piece *p, size_t i, int64_t v,
                      struct og_err *err)
{
    const size_t width = (size_t)p->t->columns;
    double sum = 0;
    bool any = false;
    for (size_t j = 0; j < width; j++) {
        const double given = og__number_at(p->t->type, p->raw, i * width + j);
        l->row[j] = !l->values && given == -1 ? NAN : (float)given;
        if (!is_label(l, l->row[j]))
            return og__fail(err, -EINVAL, what_labels_are(l), "%s: %s: %g is no label", p->t->name,
                            og__table_place(p->t, v, (int64_t)j).text, l->row[j]);
        if (l->parts && j > 0 && isnan(l->row[j]) != isnan(l->row[0]))
            return og__fail(err, -EINVAL, what_labels_are(l), "%s: %s: only some shares are known",
                            p->t->name, og__table_place(p->t, v, (int64_t)j).text);
        const double stored = (double)l->row[j];
        const double lost = og__npy_is_integer(p->t->type)
                                ? og__integer_less(p->t->type, p->raw, i * width + j, l->row[j])
                                : given - stored;
        if (!isnan(stored) && (p->t->text ? og__text_changes(given, stored) : lost != 0))
            og__changed_by(&l->changed, v, (int64_t)j, fabs(lost));
        sum += stored == floor(stored) ? stored : NAN;
        any |= !isnan(stored);
        l->unknown += isnan(stored);
        l->shares += stored > 0 && stored < 1;
        if (!isnan(stored))
            l->n_of[stored > 0]++;
    }
    l->one_each = l->one_each && (sum == 1 || !any);
    if (l->labelled && any)
        set_bit(l->labelled, v);
    return og__npy_append(l->w, l->row, 1, err);
}

static int copy_labels(struct og_importer *imp, struct og_table *t, int64_t rows,
                       struct labelling *l, struct og_err *err)
{
    static const int64_t none = -1;
    struct og_piece p;
    int64_t done = 0;
    int rc;
    OG_TRY(og__piece_take(&p, t, imp->budget, err));
    for (int64_t n = 1; n > 0; done += n) {
        OG_TRY(og__table_read(t, p.raw, p.room, &n, err));
        for (int64_t i = 0; i < n && done + i < rows; i++)
            OG_TRY((l->rows ? copy_label : copy_class)(l, &p, (size_t)i, done + i, err));
    }
    OG_TRY(og__import_check_rows(imp, t, done, rows, "labels", err));
    for (int64_t j = 0; l->rows && j < t->columns; j++)
        l->row[j] = NAN;
    for (; done < imp->graph.n_nodes; done++)
        OG_TRY(og__npy_append(l->w, l->rows ? (const void *)l->row : &none, 1, err));
out:
    og__piece_give(&p);
    return rc;
}

enum { FEW_CLASSES = 32 }; /* a small graph may have a class a node */

/* Warns of probable mistakes. */
static void doubt_labels(const struct og_importer *imp, const struct og_table *t,
                         const struct labelling *l, int64_t classes)
{
    int64_t missing = 0;
    int64_t first = -1;
    for (int64_t c = 0; !l->rows && c < OG_MIN(classes, (int64_t)MOST_FOUND); c++)
        if (!(l->found[c / 64] >> c % 64 & 1)) {
            missing++;
            first = first < 0 ? c : first;
        }
    const bool alike = l->rows ? l->n_of[0] == 0 || l->n_of[1] == 0 : missing == classes - 1;
    if (alike && !l->values)
        og__import_warn(imp, "%s: all labels are %lld: there is nothing to learn%s", t->name,
                        (long long)(l->rows ? l->n_of[1] > 0 : l->most),
                        l->unknown > 0 ? "; -1 means none" : "");
    if (!l->rows && classes > FEW_CLASSES && classes <= l->n && classes > l->n / 2)
        og__import_warn(imp, "%s: %lld classes for %lld nodes: are they ids?", t->name,
                        (long long)classes, (long long)l->n);
    else if (!l->rows && classes > OG_MAX(l->n, (int64_t)2))
        og__import_warn(imp,
                        "%s: %lld classes, the largest label is %lld, but only %lld nodes have "
                        "one: are they ids?",
                        t->name, (long long)classes, (long long)l->most, (long long)l->n);
    else if (missing > 0 && missing < classes - 1)
        og__import_warn(imp, "%s: %lld of %lld classes %s no node, class %lld for one", t->name,
                        (long long)missing, (long long)classes, missing == 1 ? "has" : "have",
                        (long long)first);
    if (l->rows && !l->values && l->one_each && l->n_of[1] > 0 && t->columns > 1)
        og__import_warn(imp,
                        "%s: every node has one of %lld labels; they are taken as several labels a "
                        "node: for classes store array.argmax(1)",
                        t->name, (long long)t->columns);
}

/* Warns of labels that were perhaps meant for a class. */
static void tell_shares(const struct og_importer *imp, const struct og_table *t,
                        const struct labelling *l)
{
    if (!l->values && l->shares > 0)
        og__import_warn(imp,
                        "%s: %lld labels are between 0 and 1: each is the probability of one of "
                        "several labels a node; for classes store array.argmax(1)",
                        t->name, (long long)l->shares);
}

static int set_classes(struct og_importer *imp, const struct og_table *t, const struct labelling *l,
                       int64_t said, struct og_err *err)
{
    if (!l->rows && said >= 0 && l->most >= said)
        return og__fail(
            err, -EINVAL,
            "num_classes of meta.json, or of the source's own description, says how many there are",
            "%s: class %lld of %lld", t->name, (long long)l->most, (long long)said);
    int64_t classes = l->rows ? t->columns : OG_MAX(said, l->most + 1);
    if (classes > OG__MOST_COLUMNS)
        return og__fail(err, -EINVAL, "at most 268435455; is it what the labels are?",
                        "%s: %lld classes", t->name, (long long)classes);
    if (l->rows && said > 0 && said != t->columns)
        og__import_warn(imp, "%s: num_classes of %lld has no effect: %lld %s a node", t->name,
                        (long long)said, (long long)t->columns,
                        l->values ? "values" : "labels, 0 or 1 each,");
    if (said < 0)
        doubt_labels(imp, t, l, classes);
    tell_shares(imp, t, l);
    og__import_note(imp, "num_classes", json_integer(classes));
    og__import_note(imp, "multi_label", json_boolean(l->rows && !l->values));
    if (l->values)
        og__import_note(imp, "task", json_string(l->parts ? "node shares" : "node regression"));
    return 0;
}

static void no_labels(struct og_importer *imp, int64_t n_classes)
{
    og__import_note(imp, "num_classes", json_integer(OG_MAX(n_classes, (int64_t)0)));
    og__import_note(imp, "multi_label", json_false());
}

/* Removes labels that were written. */
static int drop_labels(struct og_importer *imp, int64_t n_classes, struct og_err *err)
{
    char *path = og__import_target(imp, "labels.npy");
    int rc = path ? 0 : og__fail_errno(err, -ENOMEM, NULL, "labels.npy");
    if (path && unlink(path) < 0)
        rc = og__fail_errno(err, -errno, NULL, "%s", path);
    free(path);
    no_labels(imp, n_classes);
    return rc;
}

void og__import_task(struct og_importer *imp, const char *task)
{
    imp->shares = task && strstr(task, "shares");
    imp->values = imp->shares || (task && strstr(task, "regression"));
}

int og__import_labels(struct og_importer *imp, struct og_table *t, int64_t rows, int64_t n_classes,
                      struct og_err *err)
{
    if (!t) {
        no_labels(imp, n_classes);
        return 0;
    }
    struct labelling l = {.of_arrays = imp->of_arrays,
                          .rows = imp->values || t->columns > 1,
                          .values = imp->values,
                          .parts = imp->shares,
                          .most = -1,
                          .one_each = true};
    const size_t row_bytes = (size_t)t->columns * sizeof(float);
    const size_t found_bytes = MOST_FOUND / 8;
    const size_t bits = (size_t)(imp->graph.n_nodes / 64 + 1) * sizeof(uint64_t);
    int rc;
    OG_TRY(og__import_expect_rows(imp, t, rows, "labels", err));
    if (imp->shares && t->columns == 1)
        OG_TRY(og__fail(err, -EINVAL, "give a column a class", "labels: shares of one class"));
    if (!(l.row = og__alloc(imp->budget, row_bytes, part, err)) ||
        !(l.found = og__alloc(imp->budget, found_bytes, part, err)))
        OG_TRY(-ENOMEM);
    if (!imp->labelled && bits <= og__budget_left(imp->budget) / 4 &&
        !(imp->labelled = og__alloc(imp->budget, bits, part, err)))
        OG_TRY(-ENOMEM);
    l.labelled = imp->labelled;
    OG_TRY(og__array_create(&l.w, imp->dir.temporary, "labels.npy",
                            l.rows ? OG__NPY_F32 : OG__NPY_I64, l.rows ? 2 : 1, t->columns, err));
    OG_TRY(copy_labels(imp, t, rows, &l, err));
    if (!l.rows && l.most < 0 && n_classes <= 0) {
        og__import_say(imp, "%s: no node has a label", t->name);
        OG_TRY(drop_labels(imp, n_classes, err));
        goto out;
    }
    OG_TRY(set_classes(imp, t, &l, n_classes, err));
    if (imp->class_names)
        og__import_note(imp, "class_names", json_incref(imp->class_names));
    og__import_tell_changed(imp, t, &l.changed, "f32");
    rc = og__array_finish(&l.w, "labels.npy", imp->checksums, err);
out:
    og__npy_discard(l.w);
    og__release(imp->budget, l.found, found_bytes, part);
    og__release(imp->budget, l.row, row_bytes, part);
    return rc;
}
