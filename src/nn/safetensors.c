/* safetensors: nn.h describes the layout.
 *
 * A header is compared with the file's real size before use. Every range is inside the file and as
 * long as dtype and shape require. Ranges are consecutive from the first byte of data to the last.
 */
#include "base/file.h"
#include "base/self_checksum.h"
#include "nn/nn.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const dtype_name[] = {"F32", "F64", "I64"};
static const size_t dtype_bytes[] = {4, 8, 8};
static const char *const hint = "is it a safetensors file, and complete?";

/* ==== writing ==== */

static json_t *entry_json(const struct og_tensor *t, size_t begin)
{
    json_t *shape = json_array();
    for (int i = 0; i < t->ndim; i++)
        shape = og__json_append(shape, json_integer(t->shape[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", dtype_name[t->dtype], "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)(begin + t->bytes));
}

static json_t *metadata_json(const struct og_tensors *t)
{
    json_t *all = og__self_checksum_begin(json_object());
    for (size_t i = 0; i < t->n_metadata; i++)
        all = og__json_with(all, t->metadata[i].key, json_string(t->metadata[i].value));
    return all;
}

/* Tensors of 8-byte elements go first, so everything is aligned without holes. */
static bool has_number_size(const struct og_tensor *t, size_t size)
{
    return dtype_bytes[t->dtype] == size;
}

/* Header text, padded with spaces to a multiple of 8 bytes. NULL on lack of memory. */
static char *header_text(const struct og_tensors *t, size_t *len)
{
    json_t *root = og__json_with(json_object(), "__metadata__", metadata_json(t));
    size_t begin = 0;
    for (size_t size = 8; size >= 4; size -= 4) {
        for (size_t i = 0; i < t->n; i++) {
            if (!has_number_size(&t->tensor[i], size))
                continue;
            root = og__json_with(root, t->tensor[i].name, entry_json(&t->tensor[i], begin));
            begin += t->tensor[i].bytes;
        }
    }
    char *text = og__json_print(root, JSON_COMPACT);
    json_decref(root);
    if (!text)
        return NULL;
    size_t n = strlen(text);
    *len = og__round_up(n, 8);
    char *padded = realloc(text, *len + 1);
    if (!padded)
        free(text);
    else
        memset(padded + n, ' ', *len - n);
    return padded;
}

/* Calls `take` with all data in the order of the file. Other data than the host's comes in pieces.
 */
typedef int take_bytes(void *arg, const void *bytes, size_t n, struct og_err *err);

static int each_piece(const struct og_tensor *t, take_bytes *take, void *arg, struct og_err *err)
{
    enum { PIECE = 32 * 1024 };
    char piece[PIECE];
    int rc = 0;
    if (!t->where && !t->read)
        return take(arg, t->data, t->bytes, err);
    for (size_t at = 0, n; at < t->bytes; at += n) {
        n = OG_MIN(t->bytes - at, (size_t)PIECE);
        OG_TRY(t->read ? t->read(t->self, at, n, piece, err)
                       : og__model_fetch(t->where, piece, (const char *)t->data + at, n, err));
        OG_TRY(take(arg, piece, n, err));
    }
out:
    return rc;
}

static int each_tensor(const struct og_tensors *t, take_bytes *take, void *arg, struct og_err *err)
{
    int rc = 0;
    for (size_t size = 8; size >= 4; size -= 4)
        for (size_t i = 0; i < t->n; i++)
            if (has_number_size(&t->tensor[i], size))
                OG_TRY(each_piece(&t->tensor[i], take, arg, err));
out:
    return rc;
}

struct output {
    int fd;
    off_t at;
    const char *path;
    XXH3_state_t *state;
    uint64_t written_out;
};

static int write_bytes(void *arg, const void *bytes, size_t n, struct og_err *err)
{
    struct output *out = arg;
    const int rc = og__write_all(out->fd, bytes, n, out->at, out->path, err);
    XXH3_64bits_update(out->state, bytes, n);
    out->at += (off_t)n;
    og__write_behind(out->fd, &out->written_out, (uint64_t)out->at);
    return rc;
}

/* Data are read once: the header with its checksum comes last. */
static int write_file(struct output *out, char *header, size_t len, const struct og_tensors *t,
                      struct og_err *err)
{
    const uint64_t length = htole64(len);
    int rc;
    XXH3_64bits_reset(out->state);
    OG_TRY(write_bytes(out, &length, sizeof(length), err));
    OG_TRY(write_bytes(out, header, len, err));
    OG_TRY(each_tensor(t, write_bytes, out, err));
    og__self_checksum_print(og__self_checksum_find(header, len), out->state);
    OG_TRY(og__write_all(out->fd, header, len, sizeof(length), out->path, err));
out:
    return rc;
}

int og__tensors_write(const char *path, const struct og_tensors *t, struct og_err *err)
{
    int rc = 0;
    size_t len = 0;
    struct og_newfile f = {.fd = -1};
    struct output out = {.path = path, .state = XXH3_createState()};
    char *header = header_text(t, &len);
    if (!header || !out.state)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    OG_TRY(og__newfile_open(&f, path, err));
    out.fd = f.fd;
    OG_TRY(write_file(&out, header, len, t, err));
    OG_TRY(og__newfile_commit(&f, err));
out:
    og__newfile_abandon(&f);
    XXH3_freeState(out.state);
    free(header);
    return rc;
}

/* ==== parsing ==== */

/* Range of a tensor's data in the file. */
struct range {
    uint64_t begin, end;
};

struct parse {
    const char *name;          /* of the file, for messages */
    uint64_t data, data_bytes; /* start and size of the data in the file */
    struct range *range;       /* [out->n] */
    struct og_tensors *out;
    struct og_err *err;
};

static int refuse_tensor(const struct parse *p, const char *tensor, const char *why)
{
    return og__fail(p->err, -EINVAL, hint, "%s: tensor '%.60s': %s", p->name, tensor, why);
}

static bool read_natural(const json_t *v, uint64_t *out)
{
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

static bool read_dtype(const json_t *v, struct og_tensor *t)
{
    const char *text = json_string_value(v);
    for (size_t i = 0; text && i < OG_COUNT(dtype_name); i++) {
        if (strcmp(text, dtype_name[i]) == 0) {
            t->dtype = (int)i;
            return true;
        }
    }
    return false;
}

/* Sets ndim, shape and bytes. */
static bool read_shape(const json_t *v, struct og_tensor *t)
{
    size_t ndim = json_array_size(v);
    if (!json_is_array(v) || ndim > OG_COUNT(t->shape))
        return false;
    t->ndim = (int)ndim;
    t->bytes = dtype_bytes[t->dtype];
    for (size_t i = 0; i < ndim; i++) {
        uint64_t n;
        if (!read_natural(json_array_get(v, i), &n) ||
            __builtin_mul_overflow(t->bytes, n, &t->bytes))
            return false;
        t->shape[i] = (int64_t)n;
    }
    return true;
}

static int read_entry(struct parse *p, const char *key, const json_t *v, struct og_tensor *t,
                      struct range *r)
{
    const json_t *offsets = json_object_get(v, "data_offsets");
    if (strlen(key) >= sizeof(t->name))
        return refuse_tensor(p, key, "name is too long");
    memcpy(t->name, key, strlen(key) + 1);
    if (!read_dtype(json_object_get(v, "dtype"), t))
        return refuse_tensor(p, key, "dtype is none of F32, F64, I64");
    if (!read_shape(json_object_get(v, "shape"), t))
        return refuse_tensor(p, key, "shape is not a list of at most 4 sizes");
    if (json_array_size(offsets) != 2 || !read_natural(json_array_get(offsets, 0), &r->begin) ||
        !read_natural(json_array_get(offsets, 1), &r->end))
        return refuse_tensor(p, key, "data_offsets is not a pair of positions");
    if (r->begin > r->end || r->end > p->data_bytes)
        return refuse_tensor(p, key, "data_offsets reach beyond the end of the file");
    if (r->end - r->begin != t->bytes)
        return refuse_tensor(p, key, "data_offsets do not fit dtype and shape");
    return 0;
}

static int read_metadata(struct parse *p, json_t *all)
{
    struct og_tensors *out = p->out;
    const char *key;
    json_t *v;
    if (!json_is_object(all))
        return og__fail(p->err, -EINVAL, hint, "%s: __metadata__ is not an object", p->name);
    out->metadata = calloc(json_object_size(all) + 1, sizeof(*out->metadata));
    if (!out->metadata)
        return og__fail_errno(p->err, -ENOMEM, NULL, "%s", p->name);
    json_object_foreach(all, key, v)
    {
        if (!json_is_string(v))
            return og__fail(p->err, -EINVAL, hint, "%s: __metadata__ '%.60s' is not text", p->name,
                            key);
        if (strcmp(key, OG__SELF_CHECKSUM_KEY) == 0)
            continue;
        struct og_metadata *m = &out->metadata[out->n_metadata++];
        m->key = strdup(key);
        m->value = strdup(json_string_value(v));
        if (!m->key || !m->value)
            return og__fail_errno(p->err, -ENOMEM, NULL, "%s", p->name);
    }
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int check_no_holes(const struct parse *p)
{
    size_t n = p->out->n;
    uint64_t at = 0;
    struct range *sorted = malloc((n + 1) * sizeof(*sorted));
    if (!sorted)
        return og__fail_errno(p->err, -ENOMEM, NULL, "%s", p->name);
    memcpy(sorted, p->range, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_begin);
    for (size_t i = 0; i < n && sorted[i].begin == at; i++)
        at = sorted[i].end;
    bool whole = at == p->data_bytes;
    free(sorted);
    if (whole)
        return 0;
    return og__fail(p->err, -EINVAL, hint, "%s: data has a hole or an overlap at byte %llu of %llu",
                    p->name, (unsigned long long)at, (unsigned long long)p->data_bytes);
}

static int read_header(struct parse *p, json_t *root)
{
    const char *key;
    json_t *v;
    struct og_tensors *out = p->out;
    if (!json_is_object(root))
        return og__fail(p->err, -EINVAL, hint, "%s: header is not a JSON object", p->name);
    out->tensor = calloc(json_object_size(root) + 1, sizeof(*out->tensor));
    p->range = calloc(json_object_size(root) + 1, sizeof(*p->range));
    if (!out->tensor || !p->range)
        return og__fail_errno(p->err, -ENOMEM, NULL, "%s", p->name);
    json_object_foreach(root, key, v)
    {
        if (strcmp(key, "__metadata__") == 0) {
            OG_DO(read_metadata(p, v));
            continue;
        }
        OG_DO(read_entry(p, key, v, &out->tensor[out->n], &p->range[out->n]));
        out->tensor[out->n].at = p->data + p->range[out->n].begin;
        out->n++;
    }
    return check_no_holes(p);
}

/* The checksum is in __metadata__, which other safetensors programs ignore. */
static const char seal_hint[] =
    "take another copy; if it was edited on purpose, drop xxh3 from its metadata";

/* Length of the header that begins with these bytes. */
static int header_bytes(const void *bytes, uint64_t size, const char *name, uint64_t *header,
                        struct og_err *err)
{
    if (size < sizeof(*header))
        return og__fail(err, -EINVAL, hint, "%s: ends within the first 8 bytes", name);
    memcpy(header, bytes, sizeof(*header));
    *header = le64toh(*header);
    if (*header > size - sizeof(*header))
        return og__fail(err, -EINVAL, hint, "%s: header of %llu bytes in a file of %llu", name,
                        (unsigned long long)*header, (unsigned long long)size);
    return 0;
}

/* `text` is the header of a file of `size` bytes. */
static int parse_header(const char *text, uint64_t header, uint64_t size, const char *name,
                        struct og_tensors *out, struct og_err *err)
{
    int rc = 0;
    json_error_t why;
    const uint64_t data = sizeof(header) + header;
    struct parse p = {
        .name = name, .data = data, .data_bytes = size - data, .out = out, .err = err};
    *out = (struct og_tensors){0};
    json_t *root = json_loadb(text, header, JSON_REJECT_DUPLICATES, &why);
    if (!root && og__json_lacked_memory(&why))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", name));
    if (!root)
        OG_TRY(og__fail(err, -EINVAL, hint, "%s: header, byte %d: %s", name, why.position + 8,
                        why.text));
    OG_TRY(read_header(&p, root));
out:
    json_decref(root);
    free(p.range);
    if (rc < 0)
        og__tensors_release(out);
    return rc;
}

int og__tensors_parse(const void *bytes, size_t len, const char *name, struct og_tensors *out,
                      struct og_err *err)
{
    uint64_t header = 0;
    *out = (struct og_tensors){0};
    OG_DO(header_bytes(bytes, len, name, &header, err));
    const char *text = (const char *)bytes + sizeof(header);
    OG_DO(og__self_checksum_check(bytes, len, og__self_checksum_find(text, header), name, seal_hint,
                                  err));
    OG_DO(parse_header(text, header, len, name, out, err));
    for (size_t i = 0; i < out->n; i++)
        out->tensor[i].data = (const char *)bytes + out->tensor[i].at;
    return 0;
}

/* ==== files ==== */

/* Its first bytes, up to the data; malloc'ed. */
static int read_head(const struct og_tensors_file *f, uint64_t size, char **head, uint64_t *header,
                     struct og_err *err)
{
    enum { MOST = 100 * 1000 * 1000 }; /* limit of the format */
    char first[sizeof(*header)] = {0};
    OG_DO(og__read_all(f->fd, first, OG_MIN(size, sizeof(first)), 0, f->path, err));
    OG_DO(header_bytes(first, size, f->path, header, err));
    if (*header > MOST)
        return og__fail(err, -EFBIG, "is it a checkpoint of a model that trained here?",
                        "%s: header of %llu bytes", f->path, (unsigned long long)*header);
    const size_t bytes = sizeof(*header) + (size_t)*header;
    *head = malloc(bytes + 1);
    return *head ? og__read_all(f->fd, *head, bytes, 0, f->path, err)
                 : og__fail_errno(err, -ENOMEM, NULL, "%s", f->path);
}

int og__tensors_open(struct og_tensors_file *f, const char *path, struct og_err *err)
{
    int rc = 0;
    uint64_t size = 0;
    uint64_t header = 0;
    char *head = NULL;
    *f = (struct og_tensors_file){.path = strdup(path), .fd = -1};
    if (!f->path)
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", path));
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        OG_TRY(og__fail(err, -EINVAL,
                        "a run's folder has best.safetensors and checkpoint.safetensors",
                        "%s: a folder, not a checkpoint", path));
    f->fd = og__open_plain(path, &size, err);
    OG_TRY(OG_MIN(f->fd, 0));
    OG_TRY(read_head(f, size, &head, &header, err));
    OG_TRY(parse_header(head + sizeof(header), header, size, path, &f->all, err));
out:
    free(head);
    if (rc < 0)
        og__tensors_close(f);
    return rc;
}

int og__tensors_check(const struct og_tensors_file *f, struct og_err *err)
{
    uint64_t header = 0;
    char *head = NULL;
    struct stat st;
    int rc = fstat(f->fd, &st) < 0 ? og__fail_errno(err, -errno, NULL, "%s", f->path) : 0;
    if (rc < 0)
        return rc;
    OG_TRY(read_head(f, (uint64_t)st.st_size, &head, &header, err));
    const char *digits = og__self_checksum_find(head + sizeof(header), (size_t)header);
    rc = og__self_checksum_check_file(f->fd, (uint64_t)st.st_size, head,
                                      sizeof(header) + (size_t)header, digits, f->path, seal_hint,
                                      err);
out:
    free(head);
    return rc;
}

void og__tensors_close(struct og_tensors_file *f)
{
    og__tensors_release(&f->all);
    free(f->path);
    if (f->fd >= 0)
        close(f->fd);
    *f = (struct og_tensors_file){.fd = -1};
}

int og__tensors_load(const struct og_tensors_file *f, const struct og_tensor *t, size_t first,
                     size_t bytes, void *out, struct og_err *err)
{
    return og__read_all(f->fd, out, bytes, (off_t)(t->at + first), f->path, err);
}

int og__tensors_seal(const char *path, char seal[17], struct og_err *err)
{
    uint64_t size = 0;
    uint64_t header = 0;
    char *head = NULL;
    struct og_tensors_file f = {.path = (char *)path};
    int rc = f.fd = og__open_plain(path, &size, err);
    if (rc < 0)
        return rc;
    OG_TRY(read_head(&f, size, &head, &header, err));
    const char *digits = og__self_checksum_find(head + sizeof(header), (size_t)header);
    snprintf(seal, 17, "%.16s", digits ? digits : "");
out:
    free(head);
    close(f.fd);
    return rc;
}

/* ==== use ==== */

void og__tensors_release(struct og_tensors *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_metadata; i++) {
        free(t->metadata[i].key);
        free(t->metadata[i].value);
    }
    free(t->metadata);
    free(t->tensor);
    *t = (struct og_tensors){0};
}

const struct og_tensor *og__tensors_find(const struct og_tensors *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->tensor[i].name, name) == 0)
            return &t->tensor[i];
    return NULL;
}

const char *og__tensors_said(const struct og_tensors *t, const char *key)
{
    for (size_t i = 0; i < t->n_metadata; i++)
        if (strcmp(t->metadata[i].key, key) == 0)
            return t->metadata[i].value;
    return NULL;
}
