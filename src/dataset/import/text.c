#include "dataset/import/text.h"

#include "base/file.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char part[] = "text";
static const char damaged_hint[] = "the file was cut short or damaged: fetch it again";
enum { GZ_INPUT = 128 * 1024, GZ_RATIO = 1032, GZ_ONLY = 15 + 16 };

/* ---- files ---- */

static void *gz_alloc(void *unused, unsigned items, unsigned size)
{
    (void)unused;
    return calloc(items, size);
}

static void gz_free(void *unused, void *p)
{
    (void)unused;
    free(p);
}

static int start_gz(struct og_text *t, struct og_err *err)
{
    t->input_room = (size_t)OG_MIN(t->file_bytes, (uint64_t)GZ_INPUT);
    t->input = malloc(t->input_room);
    t->gz = (z_stream){.zalloc = gz_alloc, .zfree = gz_free};
    if (t->input && inflateInit2(&t->gz, GZ_ONLY) == Z_OK)
        return 0;
    free(t->input);
    t->input = NULL;
    return og__fail_errno(err, -ENOMEM, NULL, "%s", t->path);
}

/* A small file takes little memory. Its text is as long as the file or, gzipped, at most 1032 times
 * that. One more byte detects the end. */
static int choose_room(struct og_text *t, struct og_err *err)
{
    unsigned char magic[2] = {0};
    uint64_t ratio = 1;
    int rc = 0;
    if (t->file_bytes >= sizeof(magic))
        rc = og__read_all(t->fd, magic, sizeof(magic), 0, t->path, err);
    t->zipped = magic[0] == 0x1f && magic[1] == 0x8b;
    if (t->zipped)
        ratio = GZ_RATIO;
    t->room = OG__TEXT_BLOCK;
    if (t->file_bytes < OG__TEXT_BLOCK / ratio)
        t->room = (size_t)(t->file_bytes * ratio) + 1;
    return rc;
}

int og__text_open(struct og_text *t, const char *path, struct og_budget *b, struct og_err *err)
{
    int rc = 0;
    *t = (struct og_text){.fd = -1, .budget = b, .path = strdup(path)};
    if (!t->path)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    t->fd = og__open_plain(path, &t->file_bytes, err);
    OG_TRY(OG_MIN(t->fd, 0));
    if (!(t->plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    OG_TRY(choose_room(t, err));
    if (!(t->buffer = og__alloc(b, t->room + 1, part, err)))
        OG_TRY(-ENOMEM);
    posix_fadvise(t->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (t->zipped)
        OG_TRY(start_gz(t, err));
out:
    if (rc < 0)
        og__text_close(t);
    return rc;
}

void og__text_close(struct og_text *t)
{
    if (!t->path)
        return;
    if (t->input)
        inflateEnd(&t->gz);
    free(t->input);
    if (t->fd >= 0)
        close(t->fd);
    if (t->plain)
        freelocale(t->plain);
    og__release(t->budget, t->buffer, t->room + 1, part);
    free(t->path);
    *t = (struct og_text){.fd = -1};
}

int og__text_rewind(struct og_text *t, struct og_err *err)
{
    (void)err;
    t->gz.avail_in = 0;
    t->inside = t->begun = t->ended = false;
    t->block = t->filled = 0;
    t->taken = 0;
    t->lines = 0;
    return 0;
}

/* The next bytes of the file, at most n. */
static int take(struct og_text *t, void *out, size_t *n, struct og_err *err)
{
    *n = (size_t)OG_MIN((uint64_t)*n, t->file_bytes - t->taken);
    int rc = og__read_all(t->fd, out, *n, (off_t)t->taken, t->path, err);
    t->taken += *n;
    return rc;
}

static int fill_plain(struct og_text *t, struct og_err *err)
{
    size_t n = t->room - t->filled;
    int rc = take(t, t->buffer + t->filled, &n, err);
    t->filled += n;
    t->ended = t->taken == t->file_bytes;
    return rc;
}

static int damaged(const struct og_text *t, const char *why, struct og_err *err)
{
    return og__fail(err, -EINVAL, damaged_hint, "%s: byte %llu: %s", t->path,
                    (unsigned long long)og__text_done(t), why);
}

/* Feeds more of the gzip file. The end must be between two members; zeros may pad it. */
static int take_gz(struct og_text *t, struct og_err *err)
{
    size_t n = t->input_room;
    int rc = 0;
    if (t->gz.avail_in == 0) {
        rc = take(t, t->input, &n, err);
        t->gz.next_in = t->input;
        t->gz.avail_in = (unsigned)n;
    }
    for (; !t->inside && t->gz.avail_in > 0 && *t->gz.next_in == 0; t->gz.avail_in--)
        t->gz.next_in++;
    if (rc < 0 || t->gz.avail_in > 0 || t->taken < t->file_bytes)
        return rc;
    t->ended = true;
    return t->inside ? damaged(t, "ends inside its compressed data", err) : 0;
}

/* Decompresses one member after another. */
static int fill_zipped(struct og_text *t, struct og_err *err)
{
    while (t->filled < t->room && !t->ended) {
        OG_DO(take_gz(t, err));
        if (t->gz.avail_in == 0)
            continue;
        if (!t->inside)
            inflateReset(&t->gz);
        size_t room = t->room - t->filled;
        t->gz.next_out = (unsigned char *)t->buffer + t->filled;
        t->gz.avail_out = (unsigned)room;
        int why = inflate(&t->gz, Z_NO_FLUSH);
        t->filled += room - t->gz.avail_out;
        t->inside = why != Z_STREAM_END;
        if (why != Z_OK && why != Z_STREAM_END && why != Z_BUF_ERROR)
            return why == Z_MEM_ERROR ? og__fail_errno(err, -ENOMEM, NULL, "%s", t->path)
                                      : damaged(t, t->gz.msg ? t->gz.msg : "not gzip", err);
    }
    return 0;
}

static int64_t count_newlines(const char *p, size_t n)
{
    int64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += p[i] == '\n';
    return count;
}

/* What is no table, by its first bytes. */
static int refuse_foreign(const struct og_text *t, struct og_err *err)
{
    static const struct {
        const char *begins, *what, *hint;
    } known[] = {
        {"version https://git-lfs", "a pointer of Git LFS, not the file", "git lfs pull"},
        {"<!doctype", "a page in HTML", "look at it: did a download fail?"},
        {"<html", "a page in HTML", "look at it: did a download fail?"},
        {"<?xml", "XML", "write the edges as CSV: src,dst"},
        {"<graphml", "GraphML", "write the edges as CSV: src,dst"},
        {"graph [", "GML", "write the edges as CSV: src,dst"},
        {"{\"", "JSON", "write it as CSV, for example by pandas.read_json(...).to_csv(...)"},
        {"[{", "JSON", "write it as CSV, for example by pandas.read_json(...).to_csv(...)"},
        {"PK\3\4", "a ZIP archive",
         "unzip it; save a spreadsheet as CSV; of PyTorch: outgrow.write(\"graph\", "
         "torch.load(FILE))"},
        {"\xfd"
         "7zXZ",
         "compressed by xz", "xz -d FILE"},
        {"(\xb5/\xfd", "compressed by zstd", "zstd -d FILE"},
        {"BZh9", "compressed by bzip2", "bzip2 -d FILE"},
        {"PAR1", "a Parquet file", "give its name the ending .parquet"},
        {"\xff\xfe", "text in UTF-16", "store it as UTF-8: iconv -f UTF-16 -t UTF-8 <OLD >NEW"},
        {"\xfe\xff", "text in UTF-16", "store it as UTF-8: iconv -f UTF-16 -t UTF-8 <OLD >NEW"},
    };
    if (t->filled > 262 && memcmp(t->buffer + 257, "ustar", 5) == 0)
        return og__fail(err, -EINVAL, "tar -xf FILE", "%s: a tar archive", t->path);
    for (size_t i = 0; i < OG_COUNT(known); i++) {
        const size_t n = strlen(known[i].begins);
        if (t->filled >= n && strncasecmp(t->buffer, known[i].begins, n) == 0)
            return og__fail(err, -EINVAL, known[i].hint, "%s: %s", t->path, known[i].what);
    }
    return 0;
}

/* The mark with which some programs begin UTF-8 is no part of the text. */
static void drop_mark(struct og_text *t)
{
    static const char mark[] = {'\xef', '\xbb', '\xbf'};
    t->begun = true;
    if (t->filled < sizeof(mark) || memcmp(t->buffer, mark, sizeof(mark)) != 0)
        return;
    t->filled -= sizeof(mark);
    memmove(t->buffer, t->buffer + sizeof(mark), t->filled);
}

int og__text_block(struct og_text *t, const char **begin, const char **end, struct og_err *err)
{
    *begin = *end = NULL;
    t->lines += count_newlines(t->buffer, t->block);
    t->filled -= t->block;
    memmove(t->buffer, t->buffer + t->block, t->filled);
    t->block = 0;
    int rc;
    OG_TRY(t->zipped ? fill_zipped(t, err) : fill_plain(t, err));
    const bool first = !t->begun;
    if (first)
        drop_mark(t);
    if (t->filled == 0)
        return rc;
    if (first)
        OG_TRY(refuse_foreign(t, err));
    if (first && memchr(t->buffer, '\r', t->filled) && !memchr(t->buffer, '\n', t->filled))
        return og__fail(err, -EINVAL, "end lines in a newline: tr '\\r' '\\n' <OLD >NEW",
                        "%s: lines end in carriage returns alone", t->path);
    if (t->ended && t->buffer[t->filled - 1] != '\n')
        t->buffer[t->filled++] = '\n'; /* the one byte of spare room */
    const char *last = memrchr(t->buffer, '\n', t->filled);
    if (!last && t->in_pieces)
        last = memrchr(t->buffer, ' ', t->filled);
    if (!last)
        return og__fail(err, -EINVAL, "it is a text file that is read here",
                        "%s: line %lld: longer than %zu bytes", t->path, (long long)t->lines + 1,
                        t->room);
    t->block = (size_t)(last + 1 - t->buffer);
    *begin = t->buffer;
    *end = last + 1;
    posix_fadvise(t->fd, 0, (off_t)og__text_done(t), POSIX_FADV_DONTNEED);
    return 0;
out:
    return rc;
}

/* Number of the line, from 1, that holds `at` in the present block. */
static int64_t line_of(const struct og_text *t, const char *at)
{
    return t->lines + 1 + count_newlines(t->buffer, (size_t)(at - t->buffer));
}

uint64_t og__text_done(const struct og_text *t)
{
    return t->taken - t->gz.avail_in;
}

int og__text_wrong(const struct og_text *t, const char *at, const char *hint, const char *why,
                   struct og_err *err)
{
    char here[41] = "";
    for (size_t i = 0; i + 1 < sizeof(here) && at[i] != '\n' && at[i] != '\r'; i++)
        here[i] = at[i] < ' ' || at[i] > '~' ? '?' : at[i];
    return og__fail(err, -EINVAL, hint, "%s: line %lld: %s, here: '%s'", t->path,
                    (long long)line_of(t, at), why, here);
}

/* ---- numbers ---- */

/* Parses long mantissas and large exponents by the C library, which rounds them correctly. */
static const char *parse_slowly(const struct og_text *t, const char *p, double *x)
{
    char copy[64];
    size_t n = strspn(p, "0123456789+-.eE");
    char *end;
    if (n >= sizeof(copy))
        return NULL;
    memcpy(copy, p, n);
    copy[n] = 0;
    *x = strtod_l(copy, &end, t->plain);
    return end == copy || *end ? NULL : p + n;
}

/* NaN and infinities, and what programs write where a value is missing. */
static const char *parse_word(const char *p, double *x)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"nan", NAN}, {"none", NAN},          {"null", NAN},    {"n/a", NAN},
                 {"na", NAN},  {"infinity", INFINITY}, {"inf", INFINITY}};
    const char *digits = p + (*p == '-' || *p == '+');
    for (size_t i = 0; i < OG_COUNT(words); i++) {
        const size_t n = strlen(words[i].word);
        if (strncasecmp(digits, words[i].word, n) != 0)
            continue;
        *x = *p == '-' ? -words[i].value : words[i].value;
        return digits + n;
    }
    return NULL;
}

/* Up to 15 digits are exact as double, and so are powers of ten up to 22. So one operation rounds
 * once. */
const char *og__parse_real(const struct og_text *t, const char *p, double *x)
{
    static const double ten[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *start = p;
    uint64_t mantissa = 0;
    unsigned digits = 0;
    unsigned decimals = 0;
    if (*p == ',' || *p == ';' || *p == '\t' || *p == '\n' || *p == '\r' || *p == '"') {
        *x = NAN;
        return p;
    }
    p += *p == '-' || *p == '+';
    for (; (unsigned)(*p - '0') < 10; p++, digits++)
        mantissa = mantissa * 10 + (unsigned)(*p - '0');
    if (*p == '.')
        for (p++; (unsigned)(*p - '0') < 10; p++, digits++, decimals++)
            mantissa = mantissa * 10 + (unsigned)(*p - '0');
    if (digits == 0)
        return parse_word(start, x);
    if (digits > 15 || *p == 'e' || *p == 'E')
        return parse_slowly(t, start, x);
    double value = (double)mantissa / ten[decimals];
    *x = *start == '-' ? -value : value;
    return p;
}

/* ---- words ---- */

/* Parses the text between quotes, with every "" as one. */
static const char *parse_quoted(const char *p, struct og_word *word, const char **why)
{
    static const char quote = '"';
    char *to = (char *)(uintptr_t)p; /* of a buffer that the text owns */
    word->text = p;
    for (; *p != '\n' && (*p != quote || p[1] == quote); p++) {
        p += *p == quote;
        *to++ = *p;
    }
    word->len = (uint32_t)(to - word->text);
    *why = *p == '\n' ? "a quote that nothing closes on its line" : NULL;
    return p + 1;
}

const char *og__parse_text(const struct og_text *t, const char *p, char mark, struct og_word *word,
                           const char **why)
{
    (void)t;
    if (*p == '"') {
        p = parse_quoted(p + 1, word, why);
    } else {
        word->text = p;
        while (*p != '\n' &&
               (mark ? *p != mark : *p != ' ' && *p != '\t' && *p != ',' && *p != ';'))
            p++;
        const char *end = p;
        while (end > word->text &&
               (end[-1] == ' ' || end[-1] == '\t' || (end[-1] == '\r' && *end == '\n')))
            end--;
        word->len = (uint32_t)(end - word->text);
        *why = NULL;
    }
    if (!*why)
        *why = og__word_wrong(word);
    return *why ? NULL : p;
}

static enum og_word_kind kind_of(const struct og_text *t, const struct og_word *word)
{
    uint64_t id;
    double x;
    const char first = word->text[0] | 0x20;
    if (first >= 'a' && first <= 'z' && first != 'n' && first != 'i')
        return OG__WORD_TRUE;
    const char *end = word->text + word->len;
    if (og__parse_id(word->text, &id) == end)
        return OG__WORD_WHOLE;
    const bool digits = strspn(word->text, "0123456789") >= word->len;
    if (digits || og__parse_real(t, word->text, &x) != end)
        return OG__WORD_TRUE;
    return isnan(x) ? OG__WORD_MISSING : OG__WORD_REAL;
}

void og__note_word(const struct og_text *t, const struct og_word *word, struct og_word_kinds *kinds)
{
    kinds->n[kind_of(t, word)]++;
    for (size_t i = 0; i + 1 < word->len; i++) {
        const unsigned char *p = (const unsigned char *)word->text + i;
        if (p[0] == 0xcc || (p[0] == 0xcd && p[1] < 0xb0)) { /* U+0300 to U+036F */
            kinds->marked++;
            return;
        }
    }
}

void og__add_kinds(struct og_word_kinds *a, const struct og_word_kinds *b)
{
    for (int k = 0; k < OG__WORD_KINDS; k++)
        a->n[k] += b->n[k];
    a->marked += b->marked;
}
