/* Distinct ids that exceed memory: sorted runs on disk, merged into one. */
#ifndef OG_ID_RUNS_H
#define OG_ID_RUNS_H

#include "base/memory.h"

struct og_id_runs {
    struct og_budget *budget;
    const char *folder; /* for a file without a name */
    int fd;             /* -1 until there is a run */
    uint64_t end;       /* of the file, in ids */
    uint64_t pushed;    /* bytes on their way to the disk */
    struct og_id_run {
        uint64_t at, n; /* ids */
    } * run;
    size_t n, room;
};

/* folder must outlive it. */
void og__id_runs_init(struct og_id_runs *r, const char *folder, struct og_budget *b);
void og__id_runs_release(struct og_id_runs *r); /* also of a zeroed one */

/* n ids, ascending, each once. */
OG_MUST_CHECK int og__id_runs_add(struct og_id_runs *r, const uint64_t *id, size_t n,
                                  struct og_err *err);
/* Merges all into one run without duplicates; uses half of the budget's remaining memory. */
OG_MUST_CHECK int og__id_runs_merge(struct og_id_runs *r, struct og_err *err);
/* Reads ids [first, first + n) of the merged run. */
OG_MUST_CHECK int og__id_runs_read(const struct og_id_runs *r, uint64_t first, size_t n,
                                   uint64_t *out, struct og_err *err);

#endif
