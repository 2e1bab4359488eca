/* Sources that have a folder a type of nodes and one a relation, in processed/: MAG240M, and IGB's
 * heterogeneous sets. */
#ifndef OG_IMPORT_TYPED_FOLDERS_H
#define OG_IMPORT_TYPED_FOLDERS_H

#include "dataset/import/import.h"

/* How the files of one of them look. */
struct og_folder_layout {
    const char *join;     /* between source, name and destination: "__" */
    const char *only;     /* the relation that a source without types has */
    const char *labelled; /* the type that has labels: the first one */
    /* Tables of the source, by name; both stay NULL where it is optional and not there. */
    int (*open_edges)(const struct og_importer *imp, const char *name, struct og_edges *e,
                      struct og_err *err);
    int (*open_features)(const struct og_importer *imp, const char *name, struct og_table **out,
                         struct og_err *err);
    int (*open_labels)(struct og_importer *imp, int64_t nodes, struct og_table **out,
                       struct og_err *err);
    int (*import_splits)(struct og_importer *imp, const struct og_table *labels,
                         struct og_err *err);
};

/* Are there other relations than the one? */
OG_MUST_CHECK int og__folders_typed(const struct og_importer *imp,
                                    const struct og_folder_layout *layout, bool *typed,
                                    struct og_err *err);
OG_MUST_CHECK int og__import_folders(struct og_importer *imp, const struct og_folder_layout *layout,
                                     struct og_err *err);

#endif
