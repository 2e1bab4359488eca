/* The table of formats, in the order in which a folder is searched for their files. A row names
 * og__format_<name>, which is in the format's file. */
#ifndef OG_IMPORT_FORMATS_H
#define OG_IMPORT_FORMATS_H

#include "dataset/import/import.h"

/* clang-format off */
#define OG__FORMATS(row) \
    row(graphbolt) \
    row(ogb) \
    row(igb) \
    row(npy) \
    row(mtx) \
    row(metis) \
    row(edgelist)
/* clang-format on */

#define OG__FORMAT_DECLARED(name) extern const struct og_format og__format_##name;
OG__FORMATS(OG__FORMAT_DECLARED)
#undef OG__FORMAT_DECLARED

#endif
