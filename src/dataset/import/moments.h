/* The columns of node features: names, means and deviations; --standardize. */
#ifndef OG_IMPORT_MOMENTS_H
#define OG_IMPORT_MOMENTS_H

#include "dataset/import/import.h"

#include <math.h>

struct og_moment {
    int64_t n; /* numbers that are there */
    double mean, squares, deviation, least, most;
    double sum; /* of the piece that is added */
    int64_t in_piece;
    bool other; /* some is neither 0 nor 1 */
};

static inline bool og__standardizes(const struct og_import *opt)
{
    return opt->standardize || opt->standardize_as;
}

/* (x - mean) / deviation. A constant becomes 0, as does what is missing. */
static inline double og__standard(const struct og_moment *m, double x)
{
    return isnan(x) || m->deviation == 0 ? 0 : (x - m->mean) / m->deviation;
}

/* -EINVAL where options exclude it; opens the dataset of --standardize-as. */
OG_MUST_CHECK int og__moments_check(struct og_importer *imp, struct og_err *err);

/* A zeroed moment a column, or NULL. */
OG_MUST_CHECK int og__moments_take(struct og_moment **out, const struct og_importer *imp,
                                   int64_t columns, struct og_err *err);
void og__moments_give(const struct og_importer *imp, struct og_moment *m, int64_t columns);

/* Adds n rows of the piece. NaN is missing. */
void og__moments_add(struct og_moment *m, const struct og_piece *p, int64_t n);

/* Those of all rows, by a pass over the table; or those of another dataset. They are noted as the
 * group's. Columns of 0 and 1 alone stay as they are. */
OG_MUST_CHECK int og__moments_find(struct og_importer *imp, const char *group, struct og_table *t,
                                   struct og_moment *m, struct og_err *err);

/* Warns of columns that are far from 0 and 1, by what was added. */
void og__moments_warn(const struct og_importer *imp, const char *group, const struct og_table *t,
                      struct og_moment *m, bool as_they_are);

/* Notes a key of a group: names, means or deviations of its columns. Takes the reference. */
void og__column_note(struct og_importer *imp, const char *group, const char *key, json_t *value);
/* -EINVAL if the noted names are not one a column. */
OG_MUST_CHECK int og__column_names_fit(const struct og_importer *imp, const char *group,
                                       const struct og_table *t, struct og_err *err);
/* Puts the noted keys into meta.json: of a heterogeneous graph into its types. */
OG_MUST_CHECK int og__columns_note(struct og_importer *imp, struct og_err *err);

#endif
