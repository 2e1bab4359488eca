/* Distinct words: a set in memory, and sorted runs of them on disk, which are merged. Parts of
 * word_map.h. */
#ifndef OG_WORD_RUNS_H
#define OG_WORD_RUNS_H

#include "base/memory.h"

struct og_word {
    const char *text; /* not terminated */
    uint32_t len;
};
enum { OG__WORD_MOST = 4096 }; /* bytes of the longest word */
#define OG__NO_WORD UINT32_MAX /* the number of a word without one */

/* Why the word is no name, or NULL. It may be empty, longer than OG__WORD_MOST, not UTF-8, with
 * control characters. */
const char *og__word_wrong(const struct og_word *word);

typedef int og_word_fn(void *arg, const struct og_word *word, struct og_err *err);

/* ---- a set (word_set.c) ---- */

struct og_word_entry {
    uint32_t at;  /* in the text */
    uint32_t len; /* twice, plus 1 if the word was added */
};

struct og_word_set {
    uint64_t secret;             /* hash key, so that no input can force collisions */
    uint64_t *slot;              /* [room] half of the hash, and the entry + 1; 0 = free */
    uint64_t room, most_room;    /* powers of two */
    struct og_word_entry *entry; /* [most] in order of first occurrence */
    size_t n, most;
    char *text; /* [text_room] */
    size_t filled, text_room;
};

OG_MUST_CHECK int og__word_set_open(struct og_word_set *s, size_t bytes, struct og_budget *b,
                                    struct og_err *err);
void og__word_set_close(struct og_word_set *s, struct og_budget *b);
/* Hashes of n words; brings their slots closer. */
void og__word_set_hash(const struct og_word_set *s, const struct og_word *word, size_t n,
                       uint32_t *hash);
/* Stores the word's place, and adds a new word. 1 if there is no room for it, else 0. */
OG_MUST_CHECK int og__word_set_find(struct og_word_set *s, const struct og_word *word,
                                    uint32_t hash, bool adds, uint32_t *place, struct og_budget *b,
                                    struct og_err *err);
static inline struct og_word og__word_set_at(const struct og_word_set *s, uint32_t place)
{
    return (struct og_word){s->text + s->entry[place].at, s->entry[place].len / 2};
}

/* A word being sorted: eight of its bytes as a number, in halves, and its place. */
struct og_word_key {
    uint32_t high, low, place;
};
/* Sorts the set's words by their bytes. The keys, [s->n], overwrite its slots. */
struct og_word_key *og__word_set_sort(struct og_word_set *s);
void og__word_set_clear(struct og_word_set *s);

/* ---- runs (word_runs.c) ---- */

struct og_word_run {
    uint64_t at, bytes; /* of its words in the file */
    uint64_t n;
    uint64_t numbers, number_bytes; /* in their file, once merged */
    size_t into;                    /* the run whose words the numbers count, + 1; 0 = all words */
    bool of_runs;                   /* merged from others: it has no occurrences */
    uint64_t end;                   /* occurrences up to the end of it */
    uint64_t places;                /* where the map has the first of them, and in how many bits */
    unsigned place_bits;
};

struct og_word_runs {
    struct og_budget *budget;
    const char *folder;
    int fd, numbers;                   /* -1 until there is a run */
    uint64_t filled, pushed, numbered; /* bytes in use */
    struct og_word_run *run;           /* [n] */
    size_t n, room, merged;            /* the first so many are merged */
    uint64_t most;                     /* words of the largest run of a set */
};

void og__word_runs_init(struct og_word_runs *r, const char *folder, struct og_budget *b);
void og__word_runs_release(struct og_word_runs *r); /* also on a zeroed one */
/* Writes the set as a run that has the occurrences up to `end`. Then each entry has the word's
 * place in the run, `at`, and the set is good for nothing but og__word_set_clear(). */
OG_MUST_CHECK int og__word_runs_add(struct og_word_runs *r, struct og_word_set *s, uint64_t end,
                                    struct og_err *err);
/* Merges runs that take much disk, or are too many to be merged later. */
OG_MUST_CHECK int og__word_runs_shrink(struct og_word_runs *r, struct og_err *err);
/* Numbers all words of all runs, *n of them; uses half of the budget's remaining memory. */
OG_MUST_CHECK int og__word_runs_merge(struct og_word_runs *r, og_word_fn *each, void *arg,
                                      int64_t *n, struct og_err *err);
/* The number of each place of a run, [run.n]. */
OG_MUST_CHECK int og__word_runs_numbers(const struct og_word_runs *r, size_t run, uint32_t *number,
                                        struct og_err *err);

#endif
