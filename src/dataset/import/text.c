#include "dataset/import/text.h"

#include "base/file.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char part[] = "text";
enum { GZ_WINDOW = 128 * 1024, GZ_LEAST = 512, GZ_RATIO = 1032 };

/* ---- files ---- */

static int start_gz(struct og_text *t, struct og_err *err)
{
    int copy = dup(t->fd); /* gzclose closes it */
    if (copy < 0)
        return og__fail_errno(err, -errno, NULL, "%s", t->path);
    if (!(t->gz = gzdopen(copy, "rb"))) {
        close(copy);
        return og__fail_errno(err, -ENOMEM, NULL, "%s", t->path);
    }
    gzbuffer(t->gz,
             (unsigned)OG_MAX(OG_MIN(t->file_bytes, (uint64_t)GZ_WINDOW), (uint64_t)GZ_LEAST));
    return 0;
}

/* A small file takes little memory: its text is as long as it is, or, gzipped, at most 1032 times
 * that. One byte more shows where it ends. */
static int choose_room(struct og_text *t, struct og_err *err)
{
    unsigned char magic[2] = {0};
    uint64_t ratio = 1;
    int rc = 0;
    if (t->file_bytes >= sizeof(magic))
        rc = og__read_all(t->fd, magic, sizeof(magic), 0, t->path, err);
    if (magic[0] == 0x1f && magic[1] == 0x8b)
        ratio = GZ_RATIO;
    t->room = OG__TEXT_BLOCK;
    if (t->file_bytes < OG__TEXT_BLOCK / ratio)
        t->room = (size_t)(t->file_bytes * ratio) + 1;
    return rc;
}

int og__text_open(struct og_text *t, const char *path, struct og_budget *b, struct og_err *err)
{
    struct stat st;
    int rc = 0;
    *t = (struct og_text){.fd = -1, .budget = b, .path = strdup(path)};
    if (!t->path)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    t->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not make us wait */
    if (t->fd < 0)
        OG_TRY(og__fail_errno(err, -errno, NULL, "%s: cannot open", path));
    if (fstat(t->fd, &st) < 0)
        OG_TRY(og__fail_errno(err, -errno, NULL, "%s", path));
    if (!S_ISREG(st.st_mode))
        OG_TRY(og__fail(err, -EINVAL, "it is read twice, so a pipe will not do: name a file",
                        "%s: not a plain file", path));
    t->file_bytes = (uint64_t)st.st_size;
    if (!(t->plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    OG_TRY(choose_room(t, err));
    if (!(t->buffer = og__alloc(b, t->room + 1, part, err)))
        OG_TRY(-ENOMEM);
    posix_fadvise(t->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
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
    if (t->gz)
        gzclose(t->gz);
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
    if (t->gz)
        gzclose(t->gz);
    t->gz = NULL;
    t->block = t->filled = 0;
    t->lines = 0;
    t->ended = false;
    if (lseek(t->fd, 0, SEEK_SET) < 0)
        return og__fail_errno(err, -errno, NULL, "%s", t->path);
    return start_gz(t, err);
}

/* Room in the buffer -> text. An archive that breaks off is an error, not an end. */
static int fill(struct og_text *t, struct og_err *err)
{
    while (t->filled < t->room && !t->ended) {
        int n = gzread(t->gz, t->buffer + t->filled, (unsigned)(t->room - t->filled));
        int why = Z_OK;
        const char *text = n <= 0 ? gzerror(t->gz, &why) : "";
        if (why == Z_ERRNO)
            return og__fail_errno(err, errno ? -errno : -EIO, NULL, "%s: cannot read", t->path);
        if (why == Z_MEM_ERROR)
            return og__fail_errno(err, -ENOMEM, NULL, "%s", t->path);
        if (why != Z_OK && why != Z_STREAM_END)
            return og__fail(err, -EINVAL, "the file was cut short or damaged: fetch it again",
                            "%s: byte %llu: %s", t->path, (unsigned long long)og__text_done(t),
                            why == Z_BUF_ERROR ? "ends inside its compressed data" : text);
        t->ended = n <= 0;
        t->filled += n > 0 ? (size_t)n : 0;
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

int og__text_block(struct og_text *t, const char **begin, const char **end, struct og_err *err)
{
    *begin = *end = NULL;
    t->lines += count_newlines(t->buffer, t->block);
    t->filled -= t->block;
    memmove(t->buffer, t->buffer + t->block, t->filled);
    t->block = 0;
    int rc = fill(t, err);
    if (rc < 0 || t->filled == 0)
        return rc;
    if (t->ended && t->buffer[t->filled - 1] != '\n')
        t->buffer[t->filled++] = '\n'; /* the one byte of spare room */
    const char *last = memrchr(t->buffer, '\n', t->filled);
    if (!last)
        return og__fail(err, -EINVAL, "it is a text file that is read here",
                        "%s: line %lld: longer than %zu bytes", t->path, (long long)t->lines + 1,
                        t->room);
    t->block = (size_t)(last + 1 - t->buffer);
    *begin = t->buffer;
    *end = last + 1;
    posix_fadvise(t->fd, 0, (off_t)og__text_done(t), POSIX_FADV_DONTNEED);
    return 0;
}

int64_t og__text_line(const struct og_text *t, const char *at)
{
    return t->lines + 1 + count_newlines(t->buffer, (size_t)(at - t->buffer));
}

uint64_t og__text_done(const struct og_text *t)
{
    z_off_t at = gzoffset(t->gz);
    return at > 0 ? OG_MIN((uint64_t)at, t->file_bytes) : 0;
}

int og__text_wrong(const struct og_text *t, const char *at, const char *hint, const char *why,
                   struct og_err *err)
{
    char here[41] = "";
    for (size_t i = 0; i + 1 < sizeof(here) && at[i] != '\n' && at[i] != '\r'; i++)
        here[i] = at[i] < ' ' || at[i] > '~' ? '?' : at[i];
    return og__fail(err, -EINVAL, hint, "%s: line %lld: %s, here: '%s'", t->path,
                    (long long)og__text_line(t, at), why, here);
}

/* ---- numbers ---- */

/* What is not plain digits: long mantissas, large exponents. The C library rounds those rightly. */
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

static const char *parse_word(const char *p, double *x)
{
    const char *digits = p + (*p == '-' || *p == '+');
    if (strncasecmp(digits, "nan", 3) == 0)
        *x = NAN;
    else if (strncasecmp(digits, "inf", 3) == 0)
        *x = *p == '-' ? -INFINITY : INFINITY;
    else
        return NULL;
    digits += 3;
    return strncasecmp(digits, "inity", 5) == 0 ? digits + 5 : digits;
}

/* Up to 15 digits and a power of ten up to 22 are both exact as double, so one operation rounds
 * once. */
const char *og__parse_real(const struct og_text *t, const char *p, double *x)
{
    static const double ten[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *start = p;
    uint64_t mantissa = 0;
    unsigned digits = 0;
    unsigned decimals = 0;
    if (*p == ',' || *p == ';' || *p == '\t' || *p == '\n' || *p == '\r') {
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
