/* A folder for what lives no longer than the process: outgrow-scratch-<pid>-<n>, with a locked file
 * in it for as long as the process runs. What a killed one left behind goes when the next is opened
 * in the same place. Over several disks it is such a folder on each. */
#ifndef OG_SCRATCH_H
#define OG_SCRATCH_H

#include "base/places.h"

struct og_scratch;

/* A fresh folder in each folder of `under`, which is made if absent. First removes those in it
 * whose processes are gone; nothing else is touched and no symbolic link in it is followed. Any
 * number of processes may share one. */
OG_MUST_CHECK int og__scratch_open(struct og_scratch **out, struct og_places under,
                                   struct og_err *err);
/* Only removes what the gone left there. Never fails: what cannot be removed stays. */
void og__scratch_sweep(struct og_places under);
struct og_places og__scratch_places(const struct og_scratch *s); /* valid until close */
const char *og__scratch_path(const struct og_scratch *s);        /* the first of them */
/* Removes all that was put into it, folders included. */
void og__scratch_clear(struct og_scratch *s);
/* Removes it, and what open made of `under` and is empty. */
void og__scratch_close(struct og_scratch *s);

#endif
