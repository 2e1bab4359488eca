/* Learnable rows as a run's last checkpoint has them, in files of its folder.
 *
 *   embedding_<group>.npy   [nodes, numbers of a record]: rows that batches changed; others are
 * holes embedding.undo          records of that checkpoint which were overwritten since
 *
 *   a checkpoint:  former records ──> undo, synced ──> records of now ──> .npy, synced
 *                  ──> resume.safetensors ──> an empty undo
 *
 * Checkpoints have names, random numbers. An undo has that of the checkpoint to which it leads
 * back, and of the one that comes next. Whenever the process ends, resume.safetensors is one of the
 * two: either the records go back, or the rows are the later ones already. */
#ifndef OG_ROWS_HOME_H
#define OG_ROWS_HOME_H

#include "dataset/graph.h"
#include "gather/written.h"

struct og_home;

/* The name of a group's file; of the undo if k < 0. */
void og__home_file(char name[32], int k);
/* Memory for a group's rows, from the budget as "model"; and for all. */
size_t og__home_bytes(uint64_t n_rows);
size_t og__home_buffer(size_t row_bytes);
enum { OG__HOME_RECORD = 4096 }; /* bytes before the first record */

/* Rows of groups k whose rows are written. resumes: files of an earlier run may be there. Makes no
 * file yet. Reads and writes are added to *io. */
struct og_home_io {
    struct og_io_counts read, written;
};
OG_MUST_CHECK int og__home_open(struct og_home **out, const char *folder, const struct og_graph *g,
                                bool resumes, struct og_home_io *io, struct og_budget *b,
                                struct og_err *err);
void og__home_close(struct og_home *h);                  /* accepts NULL */
uint64_t *og__home_there(struct og_home *h, uint32_t k); /* bits of the rows that it has */

/* Reads records of rows that it has; others are zeros, or anything. Any thread. */
OG_MUST_CHECK int og__home_get(const struct og_home *h, uint32_t k, uint64_t first, size_t n,
                               float *records, struct og_err *err);
/* In this order: protect what is to be overwritten, in all groups; put; sync. The protected rows
 * are there then. */
OG_MUST_CHECK int og__home_protect(struct og_home *h, uint32_t k, const uint64_t *rows,
                                   struct og_err *err);
OG_MUST_CHECK int og__home_protected(struct og_home *h, struct og_err *err);
OG_MUST_CHECK int og__home_put(struct og_home *h, uint32_t k, uint32_t row, const void *record,
                               struct og_err *err);
OG_MUST_CHECK int og__home_sync(struct og_home *h, struct og_err *err);

/* The name of the next checkpoint, for its file. Then, when that is there: */
uint64_t og__home_name(const struct og_home *h);
OG_MUST_CHECK int og__home_commit(struct og_home *h, struct og_err *err);
/* Returns to the checkpoint of this name. `there` is set for all groups before. -EINVAL if the rows
 * are of another. */
OG_MUST_CHECK int og__home_restore(struct og_home *h, uint64_t name, const char *resume,
                                   struct og_err *err);

#endif
