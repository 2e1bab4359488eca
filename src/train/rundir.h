/* The folder of a run. */
#ifndef OG_RUNDIR_H
#define OG_RUNDIR_H

#include "base/base.h"

struct og_rundir {
    char *path;
    char *checkpoint, *best, *resume, *summary, *metrics, *plan, *config;
};

/* Creates `path`, or runs/<date>-<n> when it is NULL. A folder that holds a run already is refused
 * unless resume is set: a result is never overwritten by accident. */
OG_MUST_CHECK int og__rundir_open(struct og_rundir *d, const char *path, bool resume,
                                  struct og_err *err);
void og__rundir_close(struct og_rundir *d);

#endif
