/* An array on disk: the .npy format, version 1 to 3.
 *
 *   offset  size  what
 *   0       6     "\x93NUMPY"
 *   6       2     version, major then minor
 *   8       2|4   length of the dictionary, u16 in version 1, u32 after; little endian
 *   10|12   ...   "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", spaces, newline
 *   then          the elements
 *
 * The dictionary is Python, but numpy writes only these three keys, so a parser of literals
 * suffices. Files are untrusted: every value is checked against the available bytes and the file's
 * size. No allocation here depends on the file's content. */
#include "dataset/graph.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- element types ---- */

static const struct {
    const char *code, *name; /* as in 'descr' without byte order; as NumPy prints it */
    size_t size;
} element_types[] = {
    [OG__NPY_F16] = {"f2", "float16", 2}, [OG__NPY_F32] = {"f4", "float32", 4},
    [OG__NPY_F64] = {"f8", "float64", 8}, [OG__NPY_I8] = {"i1", "int8", 1},
    [OG__NPY_I16] = {"i2", "int16", 2},   [OG__NPY_I32] = {"i4", "int32", 4},
    [OG__NPY_I64] = {"i8", "int64", 8},   [OG__NPY_U8] = {"u1", "uint8", 1},
    [OG__NPY_U16] = {"u2", "uint16", 2},  [OG__NPY_U32] = {"u4", "uint32", 4},
    [OG__NPY_U64] = {"u8", "uint64", 8},  [OG__NPY_BOOL] = {"b1", "bool", 1},
    [OG__NPY_TEXT] = {"S", "bytes", 1},   [OG__NPY_WIDE_TEXT] = {"U", "str", 4},
};

size_t og__npy_size(enum og__npy_type type)
{
    return element_types[type].size;
}

const char *og__npy_name(enum og__npy_type type)
{
    return element_types[type].name;
}

int og__npy_find_type(const char *name)
{
    for (int t = 0; t < OG__NPY_TEXT; t++)
        if (strcmp(element_types[t].name, name) == 0)
            return t;
    return -1;
}

/* ---- reading the dictionary ---- */

static const char save_hint[] = "save it with numpy.save(path, numpy.ascontiguousarray(array))";

struct cursor {
    const char *p, *end;
};

static void skip_space(struct cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n' || *c->p == '\r'))
        c->p++;
}

static bool accept(struct cursor *c, char want)
{
    skip_space(c);
    if (c->p == c->end || *c->p != want)
        return false;
    c->p++;
    return true;
}

static bool accept_word(struct cursor *c, const char *word)
{
    size_t len = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->p) < len || memcmp(c->p, word, len) != 0)
        return false;
    c->p += len;
    return true;
}

/* A quoted string without escapes, at most size - 1 characters. */
static bool accept_text(struct cursor *c, char *text, size_t size)
{
    skip_space(c);
    if (c->p == c->end || (*c->p != '\'' && *c->p != '"'))
        return false;
    char quote = *c->p++;
    size_t n = 0;
    for (; c->p < c->end && *c->p != quote; c->p++) {
        if (n + 1 == size || *c->p == 0)
            return false;
        text[n++] = *c->p;
    }
    text[n] = 0;
    return accept(c, quote);
}

static bool accept_number(struct cursor *c, int64_t *value)
{
    skip_space(c);
    const char *start = c->p;
    int64_t v = 0;
    for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *c->p - '0', &v))
            return false;
    *value = v;
    bool any = c->p > start;
    if (any && c->p < c->end && *c->p == 'L') /* Python 2 */
        c->p++;
    return any;
}

enum { MAX_DIMS = 2 };

/* (3, 4), (3,), (): counts every dimension, keeps the first two. */
static bool accept_shape(struct cursor *c, int *ndim, int64_t shape[2])
{
    if (!accept(c, '('))
        return false;
    for (*ndim = 0; !accept(c, ')'); ++*ndim) {
        int64_t n;
        if (*ndim > 32 || !accept_number(c, &n))
            return false;
        if (*ndim < MAX_DIMS)
            shape[*ndim] = n;
        if (!accept(c, ',')) {
            ++*ndim;
            return accept(c, ')');
        }
    }
    return true;
}

struct dictionary {
    char descr[32];
    bool has_descr, has_order, has_shape, fortran;
    bool records; /* a structured dtype: descr is a list */
    int ndim;
    int64_t shape[2];
};

static bool read_entry(struct cursor *c, struct dictionary *d)
{
    char key[32];
    if (!accept_text(c, key, sizeof(key)) || !accept(c, ':'))
        return false;
    if (strcmp(key, "descr") == 0 && !d->has_descr) {
        d->records = accept(c, '[');
        return d->has_descr = accept_text(c, d->descr, sizeof(d->descr));
    }
    if (strcmp(key, "shape") == 0 && !d->has_shape)
        return d->has_shape = accept_shape(c, &d->ndim, d->shape);
    if (strcmp(key, "fortran_order") == 0 && !d->has_order) {
        d->fortran = accept_word(c, "True");
        return d->has_order = d->fortran || accept_word(c, "False");
    }
    return false;
}

static bool read_dictionary(struct cursor c, struct dictionary *d)
{
    *d = (struct dictionary){.shape = {1, 1}};
    if (!accept(&c, '{'))
        return false;
    while (!accept(&c, '}')) {
        if (!read_entry(&c, d))
            return false;
        if (!accept(&c, ',')) {
            if (!accept(&c, '}'))
                return false;
            break;
        }
    }
    skip_space(&c);
    return c.p == c.end && d->has_descr && d->has_order && d->has_shape;
}

/* ---- from dictionary to array ---- */

static const char text_hint[] =
    "numbers as text: array.astype('float32'), or 'int64' for ids; classes that are words: "
    "numpy.unique(array, return_inverse=True)[1]";

/* Kinds of elements that are not numbers, by the letter of NumPy. */
static const struct {
    char letter;
    const char *what, *hint;
} other_kinds[] = {
    {'U', "text", text_hint},
    {'S', "text", text_hint},
    {'M', "dates", "store them as whole numbers: array.astype('int64')"},
    {'m', "time differences", "store them as whole numbers: array.astype('int64')"},
    {'O', "Python objects", "store them as numbers: array.astype('float32'), or 'int64'"},
    {'c', "complex numbers", "store two columns: array.real and array.imag"},
    {'V', "raw bytes", "store them as numbers: array.view('uint8')"},
};

static int find_type(const char *descr, const char *name, enum og__npy_type *type,
                     struct og_err *err)
{
    for (int t = 0; descr[0] && strchr("<|=>", descr[0]) && t < OG__NPY_TEXT; t++) {
        if (strcmp(descr + 1, element_types[t].code) == 0) {
            *type = (enum og__npy_type)t;
            return 0;
        }
    }
    for (size_t k = 0; descr[0] && k < OG_COUNT(other_kinds); k++)
        if (descr[1] == other_kinds[k].letter)
            return og__fail(err, -EINVAL, other_kinds[k].hint, "%s: elements are %s ('%s')", name,
                            other_kinds[k].what, descr);
    return og__fail(err, -EINVAL, "integers, bool, float16, float32 and float64 are read",
                    "%s: elements of unknown type '%s'", name, descr);
}

int og__npy_fit(struct og_npy *a, uint64_t file_size, const char *name, struct og_err *err)
{
    int64_t bytes = (int64_t)element_types[a->type].size;
    int64_t end;
    if (__builtin_mul_overflow(bytes, a->shape[0], &bytes) ||
        __builtin_mul_overflow(bytes, a->shape[1], &bytes) ||
        __builtin_add_overflow(bytes, a->offset, &end))
        return og__fail(err, -EINVAL, save_hint, "%s: its shape overflows", name);
    if ((uint64_t)end > file_size)
        return og__fail(err, -EINVAL,
                        "the file was cut short, or its header is wrong: make it again",
                        "%s: its header promises %lld bytes, the file has %llu", name,
                        (long long)end, (unsigned long long)file_size);
    a->bytes = bytes;
    return 0;
}

/* Reads where the dictionary starts, and its length. */
static bool says_length(const unsigned char *head, size_t len, size_t *start, size_t *size)
{
    if (len < 10 || memcmp(head, "\x93NUMPY", 6) != 0 || head[6] < 1 || head[6] > 3)
        return false;
    *start = head[6] == 1 ? 10 : 12;
    *size = (size_t)head[8] | (size_t)head[9] << 8;
    if (*start == 12 && len >= 12)
        *size |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    return true;
}

/* Finds the dictionary; -EINVAL if the first bytes are not a .npy file's. */
static int find_dictionary(const unsigned char *head, size_t len, const char *name, size_t *start,
                           size_t *size, struct og_err *err)
{
    if (len < 10 || memcmp(head, "\x93NUMPY", 6) != 0)
        return og__fail(err, -EINVAL, save_hint, "%s: not a .npy file", name);
    if (!says_length(head, len, start, size))
        return og__fail(err, -EINVAL, save_hint, "%s: .npy version %d is not known", name, head[6]);
    if (len >= *start && *size <= len - *start)
        return 0;
    if (*size > OG__NPY_HEAD_MAX - *start)
        return og__fail(err, -EINVAL, save_hint, "%s: a header of %zu bytes, at most %d are read",
                        name, *size, OG__NPY_HEAD_MAX);
    return og__fail(err, -EINVAL, "the file was cut short: make it again",
                    "%s: ends inside its header", name);
}

/* "|S20" or "<U20": texts of so many characters. */
static bool is_text(const struct dictionary *d, const char *kind, int64_t *characters)
{
    struct cursor c = {d->descr + 2, d->descr + strlen(d->descr)};
    return strncmp(d->descr, kind, 2) == 0 && d->ndim == 1 && accept_number(&c, characters) &&
           c.p == c.end && *characters > 0;
}

/* With `text` also texts, as OG__NPY_TEXT. */
static int parse(struct og_npy *a, const void *head, size_t len, uint64_t file_size,
                 const char *name, bool text_too, struct og_npy_order *order, struct og_err *err)
{
    size_t start = 0;
    size_t size = 0;
    struct dictionary d;
    int rc = find_dictionary(head, len, name, &start, &size, err);
    if (rc < 0)
        return rc;
    const char *text = (const char *)head + start;
    const bool whole = read_dictionary((struct cursor){text, text + size}, &d);
    if (d.records)
        return og__fail(err, -EINVAL,
                        "save each field as an array of its own: numpy.save(path, array['field'])",
                        "%s: elements are records (a structured dtype)", name);
    if (!whole)
        return og__fail(err, -EINVAL, save_hint, "%s: its header is not NumPy's", name);
    if (text_too && strncmp(d.descr, "|O", 2) == 0)
        return og__fail(err, -EINVAL, "save it as text: numpy.save(path, array.astype('U'))",
                        "%s: elements are Python objects ('|O')", name);
    if (text_too && is_text(&d, "|S", &d.shape[1]))
        a->type = OG__NPY_TEXT;
    else if (text_too && is_text(&d, "<U", &d.shape[1]))
        a->type = OG__NPY_WIDE_TEXT;
    else if ((rc = find_type(d.descr, name, &a->type, err)) < 0)
        return rc;
    if (d.ndim < 1 || d.ndim > MAX_DIMS)
        return og__fail(err, -EINVAL, "reshape it to one or two dimensions", "%s: %d dimensions",
                        name, d.ndim);
    order->columns = d.fortran && d.ndim == 2;
    order->swapped = d.descr[0] == '>' && element_types[a->type].size > 1;
    a->ndim = d.ndim;
    a->shape[0] = d.shape[order->columns];
    a->shape[1] = d.shape[!order->columns];
    a->offset = (int64_t)(start + size);
    return og__npy_fit(a, file_size, name, err);
}

int og__npy_parse_any(struct og_npy *a, const void *head, size_t len, uint64_t file_size,
                      const char *name, struct og_npy_order *order, struct og_err *err)
{
    return parse(a, head, len, file_size, name, false, order, err);
}

/* Datasets are read in place, so their arrays must be in C order and little endian. */
static int check_order(const struct og_npy_order *order, const char *name, struct og_err *err)
{
    if (order->columns)
        return og__fail(err, -EINVAL, save_hint, "%s: stored in Fortran order, C order is needed",
                        name);
    if (order->swapped)
        return og__fail(err, -EINVAL, "convert it: array.astype(array.dtype.newbyteorder('<'))",
                        "%s: big-endian elements", name);
    return 0;
}

int og__npy_parse(struct og_npy *a, const void *head, size_t len, uint64_t file_size,
                  const char *name, struct og_err *err)
{
    struct og_npy_order order;
    int rc = og__npy_parse_any(a, head, len, file_size, name, &order, err);
    return rc < 0 ? rc : check_order(&order, name, err);
}

void og__npy_swap(enum og__npy_type type, void *elements, size_t n)
{
    uint16_t *two = elements;
    uint32_t *four = elements;
    uint64_t *eight = elements;
    for (size_t i = 0; i < n; i++) {
        if (element_types[type].size == 2)
            two[i] = __builtin_bswap16(two[i]);
        else if (element_types[type].size == 4)
            four[i] = __builtin_bswap32(four[i]);
        else if (element_types[type].size == 8)
            eight[i] = __builtin_bswap64(eight[i]);
    }
}

size_t og__npy_header(char buf[4096], enum og__npy_type type, int ndim, const int64_t shape[2],
                      size_t pad)
{
    char text[128];
    const char *order = element_types[type].size == 1 ? "|" : "<";
    int n =
        type == OG__NPY_TEXT
            ? snprintf(text, sizeof(text),
                       "{'descr': '|S%lld', 'fortran_order': False, 'shape': (%lld,), }",
                       (long long)shape[1], (long long)shape[0])
        : ndim == 1
            ? snprintf(text, sizeof(text),
                       "{'descr': '%s%s', 'fortran_order': False, 'shape': (%lld,), }", order,
                       element_types[type].code, (long long)shape[0])
            : snprintf(text, sizeof(text),
                       "{'descr': '%s%s', 'fortran_order': False, 'shape': (%lld, %lld), }", order,
                       element_types[type].code, (long long)shape[0], (long long)shape[1]);
    size_t total = OG_MAX(pad, (size_t)128 + 64); /* 64 divides it, and the longest text fits */
    size_t dict = total - 10;
    memset(buf, ' ', total);
    memcpy(buf, "\x93NUMPY\x01\x00", 8);
    buf[8] = (char)(dict & 0xff);
    buf[9] = (char)(dict >> 8);
    memcpy(buf + 10, text, (size_t)n);
    buf[total - 1] = '\n';
    return total;
}

/* ---- files ---- */

int og__npy_open_file(struct og_npy *a, const char *path, uint64_t *size, struct og_err *err)
{
    *a = (struct og_npy){.fd = -1, .path = strdup(path), .shape = {0, 1}};
    if (!a->path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    int rc = a->fd = og__open_plain(path, size, err);
    if (rc < 0)
        og__npy_close(a);
    return OG_MIN(rc, 0);
}

/* The first page holds nearly every header; longer ones are read further. */
static int read_head(const struct og_npy *a, uint64_t size, char **head, size_t *len,
                     struct og_err *err)
{
    enum { PAGE = 4096 };
    const size_t most = (size_t)OG_MIN(size, (uint64_t)OG__NPY_HEAD_MAX);
    const size_t first = OG_MIN(most, (size_t)PAGE);
    size_t start, rest, more = 0;
    if (!(*head = malloc(most + 1)))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", a->path);
    OG_DO(og__read_all(a->fd, *head, first, 0, a->path, err));
    if (first == PAGE && says_length((unsigned char *)*head, first, &start, &rest))
        more = OG_MIN(most, start + rest) - OG_MIN(first, start + rest);
    OG_DO(og__read_all(a->fd, *head + first, more, (off_t)first, a->path, err));
    *len = first + more;
    return 0;
}

static int open_any(struct og_npy *a, const char *path, bool text_too, struct og_npy_order *order,
                    struct og_err *err)
{
    uint64_t size = 0;
    char *head = NULL;
    int rc = og__npy_open_file(a, path, &size, err);
    if (rc < 0)
        return rc;
    size_t len = 0;
    OG_TRY(read_head(a, size, &head, &len, err));
    OG_TRY(parse(a, head, len, size, path, text_too, order, err));
out:
    free(head);
    if (rc < 0)
        og__npy_close(a);
    return rc;
}

int og__npy_open_any(struct og_npy *a, const char *path, struct og_npy_order *order,
                     struct og_err *err)
{
    return open_any(a, path, false, order, err);
}

int og__npy_open_text(struct og_npy *a, const char *path, struct og_err *err)
{
    struct og_npy_order order;
    const int rc = open_any(a, path, true, &order, err);
    if (rc < 0 || a->type == OG__NPY_TEXT)
        return rc;
    og__npy_close(a);
    return og__fail(err, -EINVAL, "an array of texts: array.astype('S')",
                    "%s: elements are no texts", path);
}

static int open_ordered(struct og_npy *a, const char *path, bool text_too, struct og_err *err)
{
    struct og_npy_order order;
    int rc = open_any(a, path, text_too, &order, err);
    if (rc < 0)
        return rc;
    rc = check_order(&order, path, err);
    if (rc < 0)
        og__npy_close(a);
    return rc;
}

int og__npy_open(struct og_npy *a, const char *path, struct og_err *err)
{
    return open_ordered(a, path, false, err);
}

int og__npy_open_words(struct og_npy *a, const char *path, struct og_err *err)
{
    return open_ordered(a, path, true, err);
}

void og__npy_close(struct og_npy *a)
{
    if (!a)
        return;
    for (uint32_t p = 0; a->parts && p < a->parts->stripes.parts; p++)
        og__npy_close(&a->parts->part[p]);
    free(a->parts);
    if (a->fd >= 0)
        close(a->fd);
    free(a->path);
    *a = (struct og_npy){.fd = -1};
}

struct og_npy_piece og__npy_piece(const struct og_npy *a, int64_t at, size_t bytes)
{
    if (!a->parts)
        return (struct og_npy_piece){a, a->offset + at, bytes};
    const int64_t row_bytes = (int64_t)element_types[a->type].size * a->shape[1];
    const struct og_unit u = og__unit_of(&a->parts->stripes, (uint64_t)(at / row_bytes));
    const struct og_npy *file = &a->parts->part[u.part];
    const int64_t into_unit = at - (int64_t)u.first * row_bytes;
    const int64_t left = (int64_t)(u.end - u.first) * row_bytes - into_unit;
    return (struct og_npy_piece){file, file->offset + (int64_t)u.at * row_bytes + into_unit,
                                 OG_MIN(bytes, (size_t)left)};
}

int og__npy_read_bytes(const struct og_npy *a, int64_t at, size_t bytes, void *out,
                       struct og_err *err)
{
    char *to = out;
    do {
        const struct og_npy_piece p = og__npy_piece(a, at, bytes);
        OG_DO(og__read_all(p.file->fd, to, p.bytes, p.at, p.file->path, err));
        at += (int64_t)p.bytes;
        to += p.bytes;
        bytes -= p.bytes;
    } while (bytes > 0);
    return 0;
}

int og__npy_read(const struct og_npy *a, int64_t first, int64_t count, void *out,
                 struct og_err *err)
{
    if (first < 0 || count < 0 || first > a->shape[0] || count > a->shape[0] - first)
        return og__fail(err, -EINVAL, NULL, "%s: rows %lld to %lld of %lld", a->path,
                        (long long)first, (long long)(first + count), (long long)a->shape[0]);
    size_t row = element_types[a->type].size * (size_t)a->shape[1];
    return og__npy_read_bytes(a, first * (int64_t)row, (size_t)count * row, out, err);
}

/* ---- integers of any width ---- */

bool og__npy_is_integer(enum og__npy_type type)
{
    return type >= OG__NPY_I8 && type <= OG__NPY_U64;
}

#define WIDEN(c_type)                  \
    do {                               \
        const c_type *p = in;          \
        for (size_t i = 0; i < n; i++) \
            out[i] = (int64_t)p[i];    \
    } while (0)

void og__npy_widen(enum og__npy_type type, const void *in, size_t n, int64_t *out)
{
    switch (type) {
    case OG__NPY_I8:
        WIDEN(int8_t);
        break;
    case OG__NPY_I16:
        WIDEN(int16_t);
        break;
    case OG__NPY_I32:
        WIDEN(int32_t);
        break;
    case OG__NPY_U8:
    case OG__NPY_BOOL:
        WIDEN(uint8_t);
        break;
    case OG__NPY_U16:
        WIDEN(uint16_t);
        break;
    case OG__NPY_U32:
        WIDEN(uint32_t);
        break;
    default: /* uint64 beyond int64 turns negative: out of range for every caller */
        WIDEN(int64_t);
    }
}

int og__npy_read_int64(const struct og_npy *a, int64_t first, int64_t count, int64_t *out,
                       struct og_err *err)
{
    enum { CHUNK = 4096 };
    _Alignas(8) char chunk[CHUNK * 8];
    if (!og__npy_is_integer(a->type))
        return og__fail(err, -EINVAL, "convert it: array.astype('int64')",
                        "%s: %s where integers are expected", a->path, element_types[a->type].name);
    if (a->shape[1] != 1)
        return og__fail(err, -EINVAL, "flatten it: array.ravel()",
                        "%s: two dimensions where one is expected", a->path);
    for (int64_t done = 0; done < count; done += CHUNK) {
        int64_t n = OG_MIN(count - done, (int64_t)CHUNK);
        OG_DO(og__npy_read(a, first + done, n, chunk, err));
        og__npy_widen(a->type, chunk, (size_t)n, out + done);
    }
    return 0;
}

/* ---- feature dtypes ---- */

static const struct {
    const char *name;
    size_t size;
    enum og__npy_type stored;
} dtypes[] = {
    [OG_F32] = {"f32", 4, OG__NPY_F32},   [OG_F16] = {"f16", 2, OG__NPY_F16},
    [OG_BF16] = {"bf16", 2, OG__NPY_U16}, [OG_U8] = {"u8", 1, OG__NPY_U8},
    [OG_I8] = {"i8", 1, OG__NPY_I8},      [OG_E4M3] = {"e4m3", 1, OG__NPY_U8},
    [OG_ONE] = {"one", 0, OG__NPY_U8},
};

size_t og__dtype_size(enum og_dtype dtype)
{
    return dtypes[dtype].size;
}

const char *og__dtype_name(enum og_dtype dtype)
{
    return dtypes[dtype].name;
}

enum og__npy_type og__dtype_stored(enum og_dtype dtype)
{
    return dtypes[dtype].stored;
}

int og__dtype_find(const char *name)
{
    for (size_t t = 0; t < OG_COUNT(dtypes); t++)
        if (strcmp(dtypes[t].name, name) == 0)
            return (int)t;
    return -1;
}
