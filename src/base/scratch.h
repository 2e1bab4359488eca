/* Scratch folders that live as long as the process: outgrow-scratch-<pid>-<n>, with a locked file.
 * Opening one removes those of killed processes in the same parent. With several disks there is
 * such a folder on each. */
#ifndef OG_SCRATCH_H
#define OG_SCRATCH_H

#include "base/places.h"

struct og_scratch;

/* Creates a scratch folder in each folder of `under`, which it creates if absent. First removes
 * those of ended processes; touches nothing else and follows no symbolic link. Any number of
 * processes may share `under`. */
OG_MUST_CHECK int og__scratch_open(struct og_scratch **out, struct og_places under,
                                   struct og_err *err);
/* Removes the scratch folders of ended processes. Never fails: what cannot be removed stays. */
void og__scratch_sweep(struct og_places under);
struct og_places og__scratch_places(const struct og_scratch *s); /* valid until close */
const char *og__scratch_path(const struct og_scratch *s);        /* the first of them */
/* Removes its contents, subfolders included. */
void og__scratch_clear(struct og_scratch *s);
/* Removes it, and the empty folders of `under` that open created. */
void og__scratch_close(struct og_scratch *s);

#endif
