/* What importers share: a dataset being made in a new folder, array by array. */
#ifndef OG_IMPORT_H
#define OG_IMPORT_H

#include "base/file.h"
#include "base/thread.h"
#include "dataset/meta.h"
#include "dataset/writer.h"

struct og_importer {
    const struct og_import *opt;
    const struct og_observer *seen;
    const char *src;
    struct og_budget *budget;
    struct og_pool *pool;
    struct og_newdir dir;
    json_t *meta, *checksums; /* of the dataset being made */
    int64_t n_nodes;
};

/* Formats: each reads imp->src and writes everything but meta.json, whose keys it sets. */
OG_MUST_CHECK int og__import_npy(struct og_importer *imp, struct og_err *err);

/* Path of `name` in the source, or in the new folder; malloc'ed, NULL on lack of memory. */
char *og__import_source(const struct og_importer *imp, const char *name);
char *og__import_target(const struct og_importer *imp, const char *name);

/* Says how far it is; OG_INTERRUPTED when asked to stop. */
OG_MUST_CHECK int og__import_tell(const struct og_importer *imp, const char *stage, int64_t done,
                                  int64_t total, struct og_err *err);

#endif
