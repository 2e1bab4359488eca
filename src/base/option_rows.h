/* Option tables: a row describes an option to programs and names the struct field that it sets. Any
 * struct may have a table: training options, those of imports, of generated graphs. */
#ifndef OG_OPTION_ROWS_H
#define OG_OPTION_ROWS_H

#include <outgrow/outgrow.h>

/* A size as users write it: "512M" (2^20), "4G", "25%"; or unset. */
struct og_amount {
    enum { OG_UNSET, OG_BYTES, OG_PERCENT } unit;
    double value;
};

/* Numbers of samplers and of trainers. */
struct og_executor_split {
    int samplers, trainers;
};

/* Field types, by option type. These are bool, int, int64_t, double, struct og_amount, int
 * (position in choices), int[OG_MAX_HOPS] followed by its length, char * (malloc'ed), struct
 * og_executor_split. */
struct og_row {
    struct og_option option;
    size_t offset; /* of its field */
};

/* Defines a row; `parent` gives `of, joins` of struct og_option. */
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
/* Parses `text` into the row's field. Returns false, and changes nothing, for an invalid value. */
bool og__row_take(const struct og_row *row, void *fields, const char *text);
/* As og__row_take; -EINVAL names the allowed values. */
OG_MUST_CHECK int og__row_read(const struct og_row *row, void *fields, const char *text,
                               struct og_err *err);
int og__option_refuse(const struct og_option *option, const char *value, struct og_err *err);
/* As og__row_read, by option name; -EINVAL also for an unknown name. */
OG_MUST_CHECK int og__rows_set(const struct og_row *table, size_t n, void *fields, const char *name,
                               const char *text, struct og_err *err);

/* Sets the defaults of all rows that have one; releases all strings. */
void og__rows_init(const struct og_row *table, size_t n, void *fields);
void og__rows_release(const struct og_row *table, size_t n, void *fields);
/* Duplicates the strings of a copied struct. On -ENOMEM the struct holds no strings. */
OG_MUST_CHECK int og__rows_own(const struct og_row *table, size_t n, void *fields,
                               struct og_err *err);

#endif
