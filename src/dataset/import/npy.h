/* Files of the neutral layout, one kind each (npy.c): what importing them with types (typed_npy.c)
 * shares with importing them without. */
#ifndef OG_IMPORT_NPY_H
#define OG_IMPORT_NPY_H

#include "dataset/import/import.h"

enum { OG__NPY_PREFIX = 80 }; /* room for "feat_" and a type's name */

/* By the source's meta.json. */
struct og_npy_said {
    int64_t nodes, classes; /* -1 = not said */
    json_t *root;           /* all of it, to be released; NULL = there is none */
};
/* Name and task are taken over. */
OG_MUST_CHECK int og__npy_said(struct og_importer *imp, struct og_npy_said *s, struct og_err *err);

/* edges.npy and edge_weight.npy. Close also what failed. */
OG_MUST_CHECK int og__npy_edges(const struct og_importer *imp, struct og_edges *e,
                                struct og_err *err);
void og__npy_close_edges(struct og_edges *e);

/* <prefix>.npy, or <prefix>_indptr.npy, _indices.npy and _data.npy; both stay NULL where neither is
 * there. `values` as og__import_features has it. */
OG_MUST_CHECK int og__npy_features(const struct og_importer *imp, const char *prefix,
                                   struct og_table **features, struct og_table **values,
                                   struct og_err *err);

/* With types. *typed = false: there are one type and one relation, and nothing was done. */
OG_MUST_CHECK int og__import_npy_typed(struct og_importer *imp, bool *typed, struct og_err *err);

#endif
