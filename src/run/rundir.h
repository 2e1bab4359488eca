/* The folder of a run. */
#ifndef OG_RUNDIR_H
#define OG_RUNDIR_H

#include "base/base.h"

#include <stdio.h>

struct og_rundir {
    char *path;
    bool made; /* there was no such folder before */
    int lock;  /* a descriptor of the folder above 0, locked; 0 = none */
    char *checkpoint, *best, *resume, *summary, *metrics, *plan, *config;
};

/* Would og__rundir_open take `path`? Call it before the work begins; it creates nothing. NULL is a
 * new one. -EEXIST where the folder is a dataset, or has a file that a run writes. With resume it
 * may hold resume.safetensors, plan.json or embedding.undo. Then it is an earlier run's, except
 * `input` (or NULL), which is only read. -EBUSY where another process trains in it just now. */
OG_MUST_CHECK int og__rundir_check(const char *path, bool resume, const char *input,
                                   struct og_err *err);
/* Creates `path`, or runs/<date>-<n> when it is NULL. What would be refused is refused. What a
 * killed process was writing there is removed. */
OG_MUST_CHECK int og__rundir_open(struct og_rundir *d, const char *path, bool resume,
                                  struct og_err *err);
void og__rundir_close(struct og_rundir *d);
/* Closes it as it was before: for a run without resume that ends before its first batch. All files
 * of a run are removed, and the folder if it was made. */
void og__rundir_abandon(struct og_rundir *d);

/* metrics.jsonl as fopen would open it, but never through a symbolic link. NULL with err and errno.
 */
FILE *og__rundir_metrics(const struct og_rundir *d, const char *mode, struct og_err *err);

/* Cut metrics.jsonl after the last line before (epoch, batch), both as its lines count them. That
 * of an epoch is its last. What a killed run logged beyond its last checkpoint is logged again. */
OG_MUST_CHECK int og__rundir_cut_metrics(const struct og_rundir *d, uint32_t epoch, uint32_t batch,
                                         struct og_err *err);

#endif
