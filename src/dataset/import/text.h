/* Text files, gzipped or not, in blocks of whole lines; and parsers of numbers. */
#ifndef OG_IMPORT_TEXT_H
#define OG_IMPORT_TEXT_H

#include "base/memory.h"
#include "dataset/word_runs.h"

#include <locale.h>
#include <sys/types.h>
#include <zlib.h>

/* A block holds whole lines, so this is the longest line. */
enum { OG__TEXT_BLOCK = 1024 * 1024 };

struct og_text {
    char *path;
    int fd;
    uint64_t file_bytes, taken; /* taken: read so far */
    bool zipped;
    z_stream gz;
    bool inside;          /* a member of the gzip file */
    unsigned char *input; /* [input_room] of it; NULL if it is not zipped */
    size_t input_room;
    struct og_budget *budget;
    size_t room;  /* of a block: less if the file is smaller */
    char *buffer; /* [room + 1] */
    size_t block; /* bytes of the block handed out */
    size_t filled;
    int64_t lines; /* before the block */
    bool begun, ended;
    /* Set by the caller: return lines longer than a block in pieces, which end in a blank. */
    bool in_pieces;
    locale_t plain; /* so that 1.5 is a number in any locale of the program */
};

OG_MUST_CHECK int og__text_open(struct og_text *t, const char *path, struct og_budget *b,
                                struct og_err *err);
void og__text_close(struct og_text *t); /* also on a zeroed one */
OG_MUST_CHECK int og__text_rewind(struct og_text *t, struct og_err *err);

/* The next whole lines: [*begin, *end), the last byte a newline, valid until the next call. Both
 * NULL at the end of the file. */
OG_MUST_CHECK int og__text_block(struct og_text *t, const char **begin, const char **end,
                                 struct og_err *err);
/* Bytes of the file consumed, of t->file_bytes. */
uint64_t og__text_done(const struct og_text *t);

/* -EINVAL "PATH: line N: why, here: 'the text there'". */
int og__text_wrong(const struct og_text *t, const char *at, const char *hint, const char *why,
                   struct og_err *err);

/* ---- words ---- */

/* What an id or a label that is a word looks like, for doubts about it. */
enum og_word_kind {
    OG__WORD_TRUE,    /* no number: a word, or a whole number of 2^63 or more */
    OG__WORD_WHOLE,   /* a whole number below 2^63 */
    OG__WORD_REAL,    /* another number */
    OG__WORD_MISSING, /* what programs write where a value is missing: nan, null, ... */
    OG__WORD_KINDS
};
struct og_word_kinds {
    int64_t n[OG__WORD_KINDS];
    int64_t marked; /* words with combining marks of Unicode */
};

/* Parses a word that begins at p. It is in quotes, with "" for a quote, or ends before `mark`, a
 * blank for 0, or the newline, without blanks at its ends. In quotes it may change the text.
 * Returns its end and sets *word, or NULL and *why. */
const char *og__parse_text(const struct og_text *t, const char *p, char mark, struct og_word *word,
                           const char **why);
void og__note_word(const struct og_text *t, const struct og_word *word,
                   struct og_word_kinds *kinds);
/* Adds what b counted. */
void og__add_kinds(struct og_word_kinds *a, const struct og_word_kinds *b);

/* ---- numbers: text that a newline ends somewhere ---- */

/* Parses an unsigned integer below 2^63. Returns the end of it, or NULL. */
static inline const char *og__parse_id(const char *p, uint64_t *id)
{
    const char *start = p;
    uint64_t x = 0;
    unsigned digit;
    while ((digit = (unsigned)(*p - '0')) < 10) {
        x = x * 10 + digit;
        p++;
    }
    *id = x;
    return p == start || p - start > 19 || x > INT64_MAX ? NULL : p;
}

/* Parses a number as NumPy prints it; nan and inf in any case; an empty field is NaN. Returns the
 * end of it, or NULL. */
const char *og__parse_real(const struct og_text *t, const char *p, double *x);

#endif
