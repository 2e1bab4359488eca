/* og_stripe at work: what its two files share. */
#ifndef OG_STRIPER_H
#define OG_STRIPER_H

#include "base/file.h"
#include "dataset/features.h"

#include <jansson.h>
#include <outgrow/outgrow.h>
#include <xxhash.h>

/* A part in the making. */
struct og_stripe_target {
    struct og_newfile file; /* its path is that of the part */
    struct og_npy_writer *writer;
    XXH3_state_t *meant; /* of what was handed to the writer */
    uint64_t checksum, contents;
    bool placed; /* it has its name */
};

struct og_striper {
    struct og_graph *ds;
    const struct og_group *group; /* the current group, */
    struct og_array_name name;    /* and what they are called: "features", "features_2" */
    int lock;                     /* the dataset's folder */
    const struct og_observer *observer;
    struct og_log log;
    bool keep, switched;
    char *home; /* the dataset's folder, absolute */
    char *over; /* the list of folders, cut up */
    char *folder[OG_MOST_PARTS];
    struct og_stripes stripes;
    struct og_stripe_target target[OG_MOST_PARTS];
    XXH3_state_t *source[OG_MOST_PARTS]; /* hashes of the present feature files */
    off_t source_bytes;                  /* of the first one */
    char *unit;
    json_t *meta;
};

int og__striper_no_memory(const struct og_striper *s, struct og_err *err);

/* ---- names and meta.json (stripe_meta.c) ---- */

/* The path of part p of n of the group in these folders; malloc'ed, NULL = no memory. */
char *og__striper_part_path(const struct og_striper *s, const char *const *folders, uint32_t n,
                            uint32_t p);
OG_MUST_CHECK int og__striper_read_meta(struct og_striper *s, struct og_err *err);
/* The checksum in meta.json for source file i; NULL = none. */
const char *og__striper_checksum(const struct og_striper *s, uint32_t i);
/* Are the group's rows already striped as requested? */
OG_MUST_CHECK int og__striper_lies_so(const struct og_striper *s, bool *so, struct og_err *err);
/* Makes meta.json refer to the new parts. */
OG_MUST_CHECK int og__striper_switch_meta(struct og_striper *s, struct og_err *err);
/* Removes the files that the parts replace, and updates meta.json. */
OG_MUST_CHECK int og__striper_remove_replaced(struct og_striper *s, struct og_err *err);

#endif
