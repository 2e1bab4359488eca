/* Distinct ids that do not fit memory: sorted runs of them on disk, merged into one. */
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
/* Into one run, in which each id is once; with half of what the budget has left. */
OG_MUST_CHECK int og__id_runs_merge(struct og_id_runs *r, struct og_err *err);
/* Ids [first, first + n) of the one run. */
OG_MUST_CHECK int og__id_runs_read(const struct og_id_runs *r, uint64_t first, size_t n,
                                   uint64_t *out, struct og_err *err);

#endif
