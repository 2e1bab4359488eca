/* Lists of folders, one a disk, that share written data or the parts of one file. */
#ifndef OG_PLACES_H
#define OG_PLACES_H

#include "base/base.h"

enum { OG_MOST_PLACES = 64 };

struct og_places {
    uint32_t n;              /* 0 = no folder */
    const char *const *path; /* [n] */
};

/* A list of one folder, valid within the enclosing block. */
#define OG__ONE_PLACE(path_) ((struct og_places){1, (const char *const[]){(path_)}})

/* Parses an option's list "DIR,DIR"; `option` is for messages. Fails for empty names, and for
 * duplicates as far as they can be detected. Release with og__places_free. */
OG_MUST_CHECK int og__places_split(struct og_places *out, const char *list, const char *option,
                                   struct og_err *err);
/* Copies the list; og__places_in also appends `name` to each folder. Release with
 * og__places_free. */
OG_MUST_CHECK int og__places_copy(struct og_places *out, struct og_places of, struct og_err *err);
OG_MUST_CHECK int og__places_in(struct og_places *out, struct og_places of, const char *name,
                                struct og_err *err);
void og__places_free(struct og_places *p); /* accepts a zeroed one */

/* Bytes that fit if each folder gets an equal share. That is the smallest free space times the
 * number of folders. 0 = unknown. */
uint64_t og__places_room(struct og_places p);

/* Are both paths, or their nearest existing parents, on the same file system? */
bool og__same_file_system(const char *a, const char *b);

/* Checks that each folder, or its nearest existing parent, is a writable folder. Returns -ENOTDIR,
 * -EACCES or others, and -EINVAL if two are the same folder. */
OG_MUST_CHECK int og__places_check(struct og_places p, const char *option, struct og_err *err);
/* The same of the default folder, in the user's cache. */
OG_MUST_CHECK int og__scratch_check(const char *where, struct og_err *err);

#endif
