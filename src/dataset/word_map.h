/* Words -> 0, 1, 2, ... in the order of their bytes, in bounded memory. First put every occurrence.
 * Then sort. Then take the number of each occurrence, in the order of the puts.
 *
 *   occurrences ──> a set in memory ──(when full)──> a run on disk: its words, sorted
 *           └──> u32 on disk: the place of each in its set ──> its place in the run, in few bits
 *   runs ──> merged: the distinct words in order; for each run the numbers of its words
 *   places again ──> numbers, a run at a time
 *
 * Everything is read and written front to back. The disk holds some 26 bits an occurrence, and
 * about a byte for each word of a run. It holds the distinct words three times, without what
 * neighbours share. */
#ifndef OG_WORD_MAP_H
#define OG_WORD_MAP_H

#include "base/memory.h"
#include "dataset/word_runs.h"

struct og_word_map {
    struct og_budget *budget;
    uint64_t puts;    /* occurrences */
    uint32_t longest; /* bytes of a word */
    int64_t n;        /* distinct words, once sorted */
    bool sorted;
    struct og_word_set set;
    struct og_word_runs runs;
    int fd;    /* places of occurrences in their runs; -1 until there is one */
    int fresh; /* those of the next run, in the set; likewise */
    uint64_t written, pushed, fresh_pushed;
    uint32_t *buffer;      /* places on their way to these files, or from them */
    unsigned char *packed; /* the same in few bits */
    size_t filled;
    /* taking */
    size_t run;        /* the number of the run in `table`, + 1; 0 = none */
    uint32_t *table;   /* [runs.most] number of each place of a run */
    uint64_t at;       /* the next occurrence */
    uint64_t buffered; /* the first occurrence in the buffer */
    bool last;         /* nobody takes again what is taken now: it is freed */
    uint64_t freed;
};

/* source_bytes is about how long the text of all words together is; 0 = unknown. Files without a
 * name are made in `folder`, which must outlive this. Takes half of the budget's remaining memory,
 * or less for a small source. */
OG_MUST_CHECK int og__word_map_open(struct og_word_map *w, const char *folder,
                                    uint64_t source_bytes, struct og_budget *b, struct og_err *err);
void og__word_map_close(struct og_word_map *w); /* also on a zeroed one */

/* Adds n occurrences. Words that only occur without `adds` get no number. Each has at most
 * OG__WORD_MOST bytes, any except NUL at the end. One thread. */
OG_MUST_CHECK int og__word_map_put(struct og_word_map *w, const struct og_word *word, size_t n,
                                   bool adds, struct og_err *err);
/* Numbers all words, and passes each to `each`, in order. Then w->n is their number. */
OG_MUST_CHECK int og__word_map_sort(struct og_word_map *w, og_word_fn *each, void *arg,
                                    struct og_err *err);

/* Continues with the occurrence of that number, as w->puts was before it was put. */
void og__word_map_seek(struct og_word_map *w, uint64_t occurrence);
/* Numbers of the next n occurrences; OG__NO_WORD for a word without one. One thread. */
OG_MUST_CHECK int og__word_map_take(struct og_word_map *w, uint32_t *number, size_t n,
                                    struct og_err *err);

#endif
