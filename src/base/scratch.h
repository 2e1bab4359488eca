/* A folder for what lives no longer than the process: outgrow-scratch-<pid>-<n>, with a locked file
 * in it for as long as the process runs. What a killed one left behind goes when the next is opened
 * in the same place. */
#ifndef OG_SCRATCH_H
#define OG_SCRATCH_H

#include "base/base.h"

struct og_scratch;

/* A fresh folder in folder `under`, which is made if absent. First removes those in `under` whose
 * processes are gone; nothing else is touched and no symbolic link in it is followed. Any number of
 * processes may share `under`. */
OG_MUST_CHECK int og__scratch_open(struct og_scratch **out, const char *under, struct og_err *err);
/* Only removes what the gone left in `under`. Never fails: what cannot be removed stays. */
void og__scratch_sweep(const char *under);
const char *og__scratch_path(const struct og_scratch *s);
/* Removes all that was put into it, folders included. */
void og__scratch_clear(struct og_scratch *s);
/* Removes it, and `under` if open made that and it is empty. */
void og__scratch_close(struct og_scratch *s);

#endif
