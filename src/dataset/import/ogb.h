/* Files as OGB writes them (ogb.c), for its datasets with types too (typed_ogb.c). */
#ifndef OG_IMPORT_OGB_H
#define OG_IMPORT_OGB_H

#include "dataset/import/import.h"

/* `name` of the source: numbers without a header line. columns 0 = as many as there are. */
OG_MUST_CHECK int og__ogb_csv(const struct og_importer *imp, const char *name,
                              enum og__npy_type type, int64_t columns, struct og_table **out,
                              struct og_err *err);
/* The one number in a table, which is closed. */
OG_MUST_CHECK int og__ogb_number(struct og_table *t, int64_t *n, struct og_err *err);
/* Name of the one folder in split/, malloc'ed. */
OG_MUST_CHECK int og__ogb_split(const struct og_importer *imp, char **name, struct og_err *err);

OG_MUST_CHECK int og__import_ogb_typed(struct og_importer *imp, struct og_err *err);

#endif
