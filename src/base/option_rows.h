/* Options as rows of a table: what a program sees of one, and the field of a struct that it sets.
 * Any struct may have a table: training options, those of imports, of generated graphs. */
#ifndef OG_OPTION_ROWS_H
#define OG_OPTION_ROWS_H

#include <outgrow/outgrow.h>

/* A size as users write it: "512M" (2^20), "4G", "25%"; or not given. */
struct og_amount {
    enum { OG_UNSET, OG_BYTES, OG_PERCENT } unit;
    double value;
};

/* How many sample, and how many train. */
struct og_executor_split {
    int samplers, trainers;
};

/* Fields, by type of the option: bool, int, int64_t, double, struct og_amount, int (position in
 * choices), int[OG_MAX_HOPS] with how many of these there are behind it, char * (malloc'ed),
 * struct og_executor_split. */
struct og_row {
    struct og_option option;
    size_t offset; /* of its field */
};

/* A row; `parent` is `of, joins` of struct og_option. */
#define OG__NO_PARENT  NULL, false
#define OG__MOST_BYTES 0x1p60
#define OG_ROW(name, arg, standard, group, decides, help, choices, type, offset, min, max, parent) \
    {                                                                                              \
        {sizeof(struct og_option),                                                                 \
         name,                                                                                     \
         arg,                                                                                      \
         standard,                                                                                 \
         group,                                                                                    \
         decides,                                                                                  \
         help,                                                                                     \
         choices,                                                                                  \
         type,                                                                                     \
         min,                                                                                      \
         max,                                                                                      \
         parent},                                                                                  \
            offset                                                                                 \
    }

const struct og_row *og__row_find(const struct og_row *table, size_t n, const char *name);
/* Whether the text is a value of the row: then it is in its field, else nothing has changed. */
bool og__row_take(const struct og_row *row, void *fields, const char *text);
/* The same; -EINVAL says what would be accepted. */
OG_MUST_CHECK int og__row_read(const struct og_row *row, void *fields, const char *text,
                               struct og_err *err);
int og__option_refuse(const struct og_option *option, const char *value, struct og_err *err);
/* The same by name: -EINVAL also where there is no such row. */
OG_MUST_CHECK int og__rows_set(const struct og_row *table, size_t n, void *fields, const char *name,
                               const char *text, struct og_err *err);

/* Of all rows: the defaults, where they have one; and texts given back. */
void og__rows_init(const struct og_row *table, size_t n, void *fields);
void og__rows_release(const struct og_row *table, size_t n, void *fields);
/* Texts of a struct that was copied become its own; without memory none are left in it. */
OG_MUST_CHECK int og__rows_own(const struct og_row *table, size_t n, void *fields,
                               struct og_err *err);

#endif
