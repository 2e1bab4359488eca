/* npy: an array on disk and its element type. */
#ifndef OG_DATASET_NPY_H
#define OG_DATASET_NPY_H

#include <outgrow/outgrow.h>

#include "base/base.h"
#include "base/choices.h"
#include "io/stripes.h"

enum og__npy_type {
    OG__NPY_F16,
    OG__NPY_F32,
    OG__NPY_F64,
    OG__NPY_I8,
    OG__NPY_I16,
    OG__NPY_I32,
    OG__NPY_I64,
    OG__NPY_U8,
    OG__NPY_U16,
    OG__NPY_U32,
    OG__NPY_U64,
    OG__NPY_BOOL,
    OG__NPY_TEXT, /* texts of shape[1] bytes, zeros at the end; only og__npy_open_text opens one */
    OG__NPY_WIDE_TEXT, /* likewise of 32-bit characters; only og__npy_open_words */
};
size_t og__npy_size(enum og__npy_type type);      /* bytes an element */
const char *og__npy_name(enum og__npy_type type); /* "float32" */
int og__npy_find_type(const char *name);          /* enum og__npy_type, or -1 */
bool og__npy_is_integer(enum og__npy_type type);  /* bool is not */

/* An open .npy file, or a raw file declared in meta.json. Little endian, C order. */
struct og_npy {
    int fd; /* -1 = absent */
    char *path;
    enum og__npy_type type;
    int ndim;
    int64_t shape[2];           /* shape[1] = 1 when ndim is 1 */
    int64_t offset;             /* byte of the first element */
    int64_t bytes;              /* of the elements; the file is at least offset + bytes long */
    struct og_npy_parts *parts; /* NULL, or the files that hold the array in parts */
};

/* Rows of an array in several files (io/stripes.h), whose first rows start at the same byte. The
 * array has no descriptor then; its path, for messages, is the first part's. */
struct og_npy_parts {
    struct og_stripes stripes;
    struct og_npy part[]; // [stripes.parts]
};

static inline bool og__npy_there(const struct og_npy *a)
{
    return a->fd >= 0 || a->parts;
}

/* The leading piece of elements' bytes [at, at + bytes) that is in one file: file, offset,
 * length. */
struct og_npy_piece {
    const struct og_npy *file;
    int64_t at; /* byte of the file */
    size_t bytes;
};
struct og_npy_piece og__npy_piece(const struct og_npy *a, int64_t at, size_t bytes);

/* Reads those bytes from all files that hold some. */
OG_MUST_CHECK int og__npy_read_bytes(const struct og_npy *a, int64_t at, size_t bytes, void *out,
                                     struct og_err *err);

/* Fails with -ENOENT, -EACCES, or -EINVAL for any other content. That is wrong magic, a header that
 * contradicts the size, Fortran order, big endian, or more than two dimensions. */
OG_MUST_CHECK int og__npy_open(struct og_npy *a, const char *path, struct og_err *err);
/* Element layouts of other programs' files. */
struct og_npy_order {
    /* Fortran order, two dimensions: shape is the transpose's, which has identical bytes in C
     * order */
    bool columns;
    bool swapped; /* big endian */
};
/* Also takes both. */
OG_MUST_CHECK int og__npy_open_any(struct og_npy *a, const char *path, struct og_npy_order *order,
                                   struct og_err *err);
/* A one-dimensional array of texts (NumPy's S<k>): shape[1] is k. */
OG_MUST_CHECK int og__npy_open_text(struct og_npy *a, const char *path, struct og_err *err);
/* Numbers as og__npy_open takes them, or texts of either kind (S<k>, U<k>). */
OG_MUST_CHECK int og__npy_open_words(struct og_npy *a, const char *path, struct og_err *err);
/* Turns the bytes of n elements around. */
void og__npy_swap(enum og__npy_type type, void *elements, size_t n);
void og__npy_close(struct og_npy *a);

/* The two steps of opening a headerless file. First open it and get its size. Then the caller fills
 * type, ndim, shape and offset; the second checks that the elements fit, and sets bytes. */
OG_MUST_CHECK int og__npy_open_file(struct og_npy *a, const char *path, uint64_t *size,
                                    struct og_err *err);
OG_MUST_CHECK int og__npy_fit(struct og_npy *a, uint64_t file_size, const char *name,
                              struct og_err *err);

/* Parses a header, for fuzzing and archives. `head` holds the first `len` bytes of a file of
 * `file_size` bytes. Fills type, ndim, shape, offset, bytes. `name` is for messages. */
OG_MUST_CHECK int og__npy_parse(struct og_npy *a, const void *head, size_t len, uint64_t file_size,
                                const char *name, struct og_err *err);
OG_MUST_CHECK int og__npy_parse_any(struct og_npy *a, const void *head, size_t len,
                                    uint64_t file_size, const char *name,
                                    struct og_npy_order *order, struct og_err *err);

/* Enough bytes to hold any header we accept. */
enum { OG__NPY_HEAD_MAX = 64 * 1024 };

/* Writes a header for ndim, shape and type, padded to `pad` bytes. A multiple of 64; 4096 for our
 * own files. Returns the bytes written to buf[4096]. NumPy reads it. */
size_t og__npy_header(char buf[4096], enum og__npy_type type, int ndim, const int64_t shape[2],
                      size_t pad);

/* Reads rows [first, first + count) into out, as stored. */
OG_MUST_CHECK int og__npy_read(const struct og_npy *a, int64_t first, int64_t count, void *out,
                               struct og_err *err);

/* Converts n integers (or bools) of `type` to int64; uint64 beyond int64 comes out negative. */
void og__npy_widen(enum og__npy_type type, const void *in, size_t n, int64_t *out);

/* Reads [first, first + count) of a one-dimensional array of any integer type as int64. */
OG_MUST_CHECK int og__npy_read_int64(const struct og_npy *a, int64_t first, int64_t count,
                                     int64_t *out, struct og_err *err);

/* Both numbers of each row of [n, 2], one after another. */
static inline struct og_npy og__npy_flat(const struct og_npy *a)
{
    struct og_npy flat = *a;
    flat.ndim = 1;
    flat.shape[0] = a->shape[0] * a->shape[1];
    flat.shape[1] = 1;
    return flat;
}

/* ---- feature dtypes ---- */

size_t og__dtype_size(enum og_dtype dtype);
const char *og__dtype_name(enum og_dtype dtype); /* "f32" */
int og__dtype_find(const char *name);            /* enum og_dtype, or -1 */
/* bf16 is stored as uint16, e4m3 as uint8 */
enum og__npy_type og__dtype_stored(enum og_dtype dtype);
/* Does each column have a scale, by which its values are multiplied? */
static inline bool og__dtype_scaled(enum og_dtype dtype)
{
    return dtype == OG_I8 || dtype == OG_E4M3;
}

#endif
