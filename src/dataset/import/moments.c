/* Means and deviations of columns of features.
 *
 * Each piece of rows has sums of its own, which are then joined (Chan et al. 1979). Pieces do not
 * depend on memory, so results do not either. */
#include "dataset/import/moments.h"

#include "dataset/convert.h"
#include "dataset/meta.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char part[] = "import";
static const char names_key[] = "feature_names";
static const char means_key[] = "feature_means";
static const char deviations_key[] = "feature_deviations";

enum { MOST = 8192 }; /* columns, so that meta.json stays small */

/* ---- options ---- */

static int open_theirs(struct og_importer *imp, struct og_err *err)
{
    char *path = og__path_join(imp->opt->standardize_as, "meta.json");
    char *text = NULL;
    size_t len = 0;
    int rc;
    OG_TRY(path ? og__read_text(path, OG__META_MAX, &text, &len, err)
                : og__fail_errno(err, -ENOMEM, NULL, "meta.json"));
    OG_TRY(og__json_parse(&imp->theirs, text, len, path, "name a dataset", err));
out:
    free(text);
    free(path);
    return rc;
}

int og__moments_check(struct og_importer *imp, struct og_err *err)
{
    const struct og_import *o = imp->opt;
    const char *other = o->row_normalize                         ? "--row-normalize"
                        : o->link                                ? "--in-place"
                        : o->feature_layout != OG_FEATURES_DENSE ? "--feature-layout sparse"
                                                                 : NULL;
    if (!og__standardizes(o))
        return 0;
    if (other)
        return og__fail(err, -EINVAL, "leave out one of them", "--standardize: not with %s", other);
    return o->standardize_as ? open_theirs(imp, err) : 0;
}

/* ---- sums ---- */

int og__moments_take(struct og_moment **out, const struct og_importer *imp, int64_t columns,
                     struct og_err *err)
{
    const size_t bytes = (size_t)columns * sizeof(**out);
    *out = og__alloc(imp->budget, bytes, part, err);
    if (*out)
        memset(*out, 0, bytes);
    return *out ? 0 : -ENOMEM;
}

void og__moments_give(const struct og_importer *imp, struct og_moment *m, int64_t columns)
{
    og__release(imp->budget, m, (size_t)columns * sizeof(*m), part);
}

static void sum_piece(struct og_moment *m, const struct og_piece *p, int64_t n)
{
    const int64_t dim = p->t->columns;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < dim; j++) {
            const double x = og__number_at(p->t->type, p->raw, (size_t)(i * dim + j));
            if (isnan(x))
                continue;
            const bool first = m[j].n + m[j].in_piece == 0;
            m[j].least = first ? x : OG_MIN(m[j].least, x);
            m[j].most = first ? x : OG_MAX(m[j].most, x);
            m[j].other |= x != 0 && x != 1;
            m[j].sum += x;
            m[j].in_piece++;
        }
}

void og__moments_add(struct og_moment *m, const struct og_piece *p, int64_t n)
{
    const int64_t dim = p->t->columns;
    sum_piece(m, p, n);
    for (int64_t j = 0; j < dim; j++)
        m[j].sum /= (double)OG_MAX(m[j].in_piece, (int64_t)1);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < dim; j++) {
            const double x = og__number_at(p->t->type, p->raw, (size_t)(i * dim + j)) - m[j].sum;
            m[j].squares += isnan(x) ? 0 : x * x;
        }
    for (int64_t j = 0; j < dim; j++) {
        struct og_moment *of = &m[j];
        const double all = (double)(of->n + of->in_piece);
        const double less = of->sum - of->mean;
        if (of->in_piece > 0) {
            of->squares += less * less * (double)of->n * (double)of->in_piece / all;
            of->mean += less * (double)of->in_piece / all;
        }
        of->n += of->in_piece;
        of->sum = 0;
        of->in_piece = 0;
    }
}

/* The deviation is exactly 0 for a constant, whatever rounding says. */
static void finish(struct og_moment *m, int64_t columns)
{
    for (int64_t j = 0; j < columns; j++) {
        const bool constant = m[j].n == 0 || m[j].least == m[j].most;
        m[j].mean = constant ? m[j].least : m[j].mean;
        m[j].deviation = constant ? 0 : sqrt(m[j].squares / (double)m[j].n);
    }
}

/* ---- names ---- */

static const json_t *names_of(const struct og_importer *imp, const char *group)
{
    return json_object_get(json_object_get(imp->columns, group), names_key);
}

struct shown {
    char text[80];
};

static struct shown name_of(const struct og_importer *imp, const char *group,
                            const struct og_table *t, int64_t column)
{
    const char *name = json_string_value(json_array_get(names_of(imp, group), (size_t)column));
    const bool by_id = t->ops->id_of && !t->moved;
    struct shown s;
    if (name)
        snprintf(s.text, sizeof(s.text), "%.79s", name);
    else
        snprintf(s.text, sizeof(s.text), "%lld", (long long)(by_id ? column + 2 : column));
    return s;
}

int og__column_names_fit(const struct og_importer *imp, const char *group, const struct og_table *t,
                         struct og_err *err)
{
    const json_t *names = names_of(imp, group);
    if (!names || (int64_t)json_array_size(names) == t->columns)
        return 0;
    return og__fail(err, -EINVAL, "a text for each column; or leave it out",
                    "%s: \"%s\" of meta.json has %zu names for %lld columns", t->name, names_key,
                    json_array_size(names), (long long)t->columns);
}

/* ---- those of another dataset ---- */

static const json_t *theirs_of(const struct og_importer *imp, const char *group)
{
    const json_t *types = json_object_get(imp->theirs, "node_types");
    size_t i;
    const json_t *one;
    if (!*group)
        return imp->theirs;
    json_array_foreach(types, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name && strcmp(name, group) == 0)
            return one;
    }
    return NULL;
}

/* Names are compared where both have them. Those of CSV are in lower case. */
static int same_names(const struct og_importer *imp, const char *group, const struct og_table *t,
                      const json_t *theirs, struct og_err *err)
{
    const json_t *ours = names_of(imp, group);
    const size_t n = OG_MIN(json_array_size(ours), json_array_size(theirs));
    for (size_t j = 0; j < n; j++) {
        const char *a = json_string_value(json_array_get(ours, j));
        const char *b = json_string_value(json_array_get(theirs, j));
        if (a && b && strcasecmp(a, b) != 0)
            return og__fail(err, -EINVAL, "give the columns of that dataset, in its order",
                            "%s: feature %zu is %.80s, in %.200s it is %.80s", t->name, j, a,
                            imp->opt->standardize_as, b);
    }
    return 0;
}

static int take_theirs(const struct og_importer *imp, const char *group, const struct og_table *t,
                       struct og_moment *m, struct og_err *err)
{
    const json_t *of = theirs_of(imp, group);
    const json_t *means = json_object_get(of, means_key);
    const json_t *deviations = json_object_get(of, deviations_key);
    if (!means || json_array_size(means) != json_array_size(deviations))
        return og__fail(err, -EINVAL, "import that dataset with --standardize, and train on it",
                        "--standardize-as %.300s: its features%s%s are not standardized",
                        imp->opt->standardize_as, *group ? " of " : "", group);
    if ((int64_t)json_array_size(means) != t->columns)
        return og__fail(err, -EINVAL, "give the columns of that dataset",
                        "%s: %lld columns of features; %.200s has %zu", t->name,
                        (long long)t->columns, imp->opt->standardize_as, json_array_size(means));
    for (int64_t j = 0; j < t->columns; j++) {
        m[j].mean = json_number_value(json_array_get(means, (size_t)j));
        m[j].deviation = json_number_value(json_array_get(deviations, (size_t)j));
    }
    return same_names(imp, group, t, json_object_get(of, names_key), err);
}

/* ---- those of all rows ---- */

static int refuse_infinite(const struct og_importer *imp, const char *group,
                           const struct og_table *t, const struct og_moment *m, struct og_err *err)
{
    for (int64_t j = 0; j < t->columns; j++)
        if (m[j].n > 0 && !(isfinite(m[j].least) && isfinite(m[j].most)))
            return og__fail(err, -EINVAL, "replace it; an empty field or NaN counts as missing",
                            "%s: column %s: an infinite number", t->name,
                            name_of(imp, group, t, j).text);
    return 0;
}

static void tell_missing(const struct og_importer *imp, const char *group, const struct og_table *t,
                         const struct og_moment *m, int64_t rows)
{
    int64_t first = -1;
    int64_t others = 0;
    for (int64_t j = 0; j < t->columns; j++) {
        others += m[j].n < rows && first >= 0;
        first = m[j].n < rows && first < 0 ? j : first;
    }
    if (first >= 0)
        og__import_say(
            imp,
            "%s: column %s: %lld of %lld numbers are missing; each counts as the mean, among "
            "0 and 1 as 0%s",
            t->name, name_of(imp, group, t, first).text, (long long)(rows - m[first].n),
            (long long)rows, others ? "; so in other columns" : "");
}

static int pass_all(struct og_importer *imp, const char *group, struct og_table *t,
                    struct og_moment *m, struct og_err *err)
{
    struct og_piece p;
    int64_t done = 0;
    int rc;
    OG_TRY(og__piece_take(&p, t, imp->budget, err));
    for (int64_t n = 1; n > 0; done += n) {
        OG_TRY(og__table_read(t, p.raw, p.room, &n, err));
        og__moments_add(m, &p, n);
        OG_TRY(og__writing_goes_on(imp->observer, "means", "rows", done + n,
                                   OG_MAX(t->rows, (int64_t)0), err));
    }
    OG_TRY(og__table_rewind(t, err));
    OG_TRY(refuse_infinite(imp, group, t, m, err));
    tell_missing(imp, group, t, m, done);
    finish(m, t->columns);
    for (int64_t j = 0; j < t->columns; j++) {
        if (m[j].n > 0 && !(isfinite(m[j].mean) && isfinite(m[j].deviation)))
            OG_TRY(og__fail(err, -EINVAL, "scale it before the import",
                            "%s: column %s: numbers too large for a deviation", t->name,
                            name_of(imp, group, t, j).text));
        if (m[j].n > 0 && !m[j].other) {
            m[j].mean = 0;
            m[j].deviation = 1;
        }
    }
out:
    og__piece_give(&p);
    return rc;
}

int og__moments_find(struct og_importer *imp, const char *group, struct og_table *t,
                     struct og_moment *m, struct og_err *err)
{
    json_t *means = json_array();
    json_t *deviations = json_array();
    int rc;
    imp->standardized += t->columns;
    if (imp->standardized > MOST)
        OG_TRY(og__fail(err, -EINVAL, "scale them before the import",
                        "%s: --standardize: more than %d columns of features", t->name, MOST));
    OG_TRY(imp->theirs ? take_theirs(imp, group, t, m, err) : pass_all(imp, group, t, m, err));
    for (int64_t j = 0; j < t->columns; j++) {
        means = og__json_append(means, json_real(m[j].mean));
        deviations = og__json_append(deviations, json_real(m[j].deviation));
    }
    og__column_note(imp, group, means_key, means);
    og__column_note(imp, group, deviations_key, deviations);
    return 0;
out:
    json_decref(means);
    json_decref(deviations);
    return rc;
}

/* ---- a warning ---- */

void og__moments_warn(const struct og_importer *imp, const char *group, const struct og_table *t,
                      struct og_moment *m, bool as_they_are)
{
    enum { LARGE = 32 };
    double largest = 0;
    int64_t worst = 0;
    int64_t far = 0;
    char others[48] = "";
    finish(m, t->columns);
    for (int64_t j = 0; j < t->columns; j++) {
        const double size = hypot(m[j].mean, m[j].deviation);
        far += size > LARGE;
        worst = size > largest ? j : worst;
        largest = OG_MAX(largest, size);
    }
    if (far == 0)
        return;
    if (far > 1)
        snprintf(others, sizeof(others), "; %lld other%s", (long long)far - 1,
                 far > 2 ? "s are large too" : " is large too");
    og__import_warn(imp,
                    "%s: column %s: mean %.6g, deviation %.3g%s. Models learn badly from numbers "
                    "far above 1: %s",
                    t->name, name_of(imp, group, t, worst).text, m[worst].mean, m[worst].deviation,
                    others, as_they_are ? "scale them before the import" : "add --standardize");
}

/* ---- meta.json ---- */

/* meta.json has a most. Thousands of long names are of no use to people either. */
static bool is_too_long(const json_t *value)
{
    enum { MOST_TEXT = 128 << 10 };
    size_t i, bytes = 0;
    const json_t *one;
    json_array_foreach(value, i, one)
    {
        bytes += json_is_string(one) ? json_string_length(one) + 16 : 0;
    }
    return bytes > MOST_TEXT;
}

void og__column_note(struct og_importer *imp, const char *group, const char *key, json_t *value)
{
    if (is_too_long(value)) {
        og__import_say(imp, "names of %zu columns are not stored: they are too long",
                       json_array_size(value));
        json_decref(value);
        return;
    }
    json_t *of = json_object_get(imp->columns, group);
    of = og__json_with(of ? json_incref(of) : json_object(), key, value);
    imp->columns = og__json_with(imp->columns, group, of);
}

int og__columns_note(struct og_importer *imp, struct og_err *err)
{
    json_t *groups = json_object_get(imp->meta, "node_types");
    size_t i;
    json_t *one;
    int failed = imp->columns ? 0 : -1;
    json_array_foreach(groups, i, one)
    {
        json_t *of = json_object_get(imp->columns, json_string_value(json_object_get(one, "name")));
        failed |= of ? json_object_update(one, of) : 0;
    }
    json_t *plain = groups ? NULL : json_object_get(imp->columns, "");
    failed |= plain ? json_object_update(imp->meta, plain) : 0;
    return failed ? og__fail_errno(err, -ENOMEM, NULL, "meta.json") : 0;
}
