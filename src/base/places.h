/* Places side by side, a disk each: folders that share what is written, or the parts of one file.
 */
#ifndef OG_PLACES_H
#define OG_PLACES_H

#include "base/base.h"

enum { OG_MOST_PLACES = 64 };

struct og_places {
    uint32_t n;              /* 0 = nowhere */
    const char *const *path; /* [n] */
};

/* One of them, for as long as the block that this stands in. */
#define OG__ONE_PLACE(path_) ((struct og_places){1, (const char *const[]){(path_)}})

/* Those of a list as an option has it, "DIR,DIR"; `option` is for messages. Each has a name, and
 * none is there twice, as far as that can be told. To be freed. */
OG_MUST_CHECK int og__places_split(struct og_places *out, const char *list, const char *option,
                                   struct og_err *err);
/* The same again, and `name` in each of them. To be freed. */
OG_MUST_CHECK int og__places_copy(struct og_places *out, struct og_places of, struct og_err *err);
OG_MUST_CHECK int og__places_in(struct og_places *out, struct og_places of, const char *name,
                                struct og_err *err);
void og__places_free(struct og_places *p); /* accepts a zeroed one */

/* Bytes that may be written when each gets an equal share: what is free where that ends first,
 * times as many as there are. 0 = unknown. */
uint64_t og__places_room(struct og_places p);

/* Do both lie on the same, or the nearest folders above them that are there? */
bool og__same_file_system(const char *a, const char *b);

/* -ENOTDIR, -EACCES, ...: one of these folders, or the nearest above it that is there, is none that
 * this process may write to; or two of them are one (-EINVAL). */
OG_MUST_CHECK int og__places_check(struct og_places p, const char *option, struct og_err *err);

#endif
