/* Sources with a folder a node type and one a relation, in processed/: MAG240M and IGB. */
#ifndef OG_IMPORT_FOLDERS_H
#define OG_IMPORT_FOLDERS_H

#include "dataset/import/import.h"

/* The names and file formats of one of these sources. */
struct og_folder_layout {
    const char *join;     /* between source, name and destination: "__" */
    const char *only;     /* the only relation of a homogeneous source */
    const char *labelled; /* the type that has labels: the first one */
    /* Tables of the source, by name. */
    int (*open_edges)(const struct og_importer *imp, const char *name, struct og_edges *e,
                      struct og_err *err);
    int (*open_features)(const struct og_importer *imp, const char *name, struct og_table **out,
                         struct og_err *err);
};

struct og_folders;
/* Reads groups and relations into imp->graph. Homogeneous if `only` is the one relation, and with
 * --drop-types. Close it even after a failure; NULL is fine. */
OG_MUST_CHECK int og__folders_open(struct og_folders **out, struct og_importer *imp,
                                   const struct og_folder_layout *layout, struct og_err *err);
void og__folders_close(struct og_folders *f);
/* og_open_edges and og_open_features of them. */
OG_MUST_CHECK int og__folders_edges(void *folders, uint32_t relation, struct og_edges *e,
                                    struct og_err *err);
OG_MUST_CHECK int og__folders_features(void *folders, uint32_t group, struct og_table **out,
                                       struct og_err *err);

#endif
