#include "dataset/node_names.h"

#include "base/file.h"
#include "dataset/writer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_WIDTH = 32 }; /* bytes of a name in an array of texts */
static const char again_hint[] =
    "the dataset is damaged or half copied: see `outgrow verify`, or import it again";

struct og_array_name og__node_names_prefix(const struct og_graph *g, uint32_t group)
{
    const struct og_array_name rows = og__group_array(g, group);
    struct og_array_name name;
    snprintf(name.text, sizeof(name.text), "node_names%.20s", rows.text + strlen("features"));
    return name;
}

/* ---- reading ---- */

struct mapped {
    struct og_npy a;
    void *file; /* all of it */
    size_t bytes;
};

struct og_node_names {
    int64_t n;
    struct mapped text, offsets; /* offsets: absent if texts have one width */
    const char *byte;
    const int64_t *offset; /* or NULL */
    size_t width;
};

static int map(struct mapped *m, struct og_err *err)
{
    m->bytes = (size_t)(m->a.offset + m->a.bytes);
    m->file = mmap(NULL, m->bytes, PROT_READ, MAP_SHARED, m->a.fd, 0);
    if (m->file != MAP_FAILED)
        return 0;
    m->file = NULL;
    return og__fail_errno(err, -errno, NULL, "%s: cannot map", m->a.path);
}

static void unmap(struct mapped *m)
{
    if (m->file)
        munmap(m->file, m->bytes);
    og__npy_close(&m->a);
}

static int open_mapped(struct mapped *m, const char *folder, const char *prefix, const char *end,
                       struct og_err *err)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s%s.npy", folder, prefix, end) < 0)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", folder);
    int rc = *end ? og__npy_open(&m->a, path, err) : og__npy_open_text(&m->a, path, err);
    free(path);
    return rc < 0 ? rc : map(m, err);
}

static int has(const char *folder, const char *prefix, const char *end, struct og_err *err)
{
    char name[sizeof(struct og_array_name) + 24];
    snprintf(name, sizeof(name), "%s%s.npy", prefix, end);
    return og__exists(folder, name, err);
}

static int open_long(struct og_node_names *names, const char *folder, const char *prefix,
                     struct og_err *err)
{
    OG_DO(open_mapped(&names->offsets, folder, prefix, "_offsets", err));
    OG_DO(open_mapped(&names->text, folder, prefix, "_bytes", err));
    const struct og_npy *o = &names->offsets.a;
    const struct og_npy *b = &names->text.a;
    if (o->type != OG__NPY_I64 || o->shape[1] != 1 || o->shape[0] < 1 || b->shape[1] != 1 ||
        og__npy_size(b->type) != 1)
        return og__fail(err, -EINVAL, again_hint, "%s: must be int64, and %s uint8", o->path,
                        b->path);
    names->n = o->shape[0] - 1;
    names->offset = (const int64_t *)((const char *)names->offsets.file + o->offset);
    if (names->offset[0] != 0 || names->offset[names->n] != b->bytes)
        return og__fail(err, -EINVAL, again_hint, "%s: from 0 to %lld expected", o->path,
                        (long long)b->bytes);
    return 0;
}

int og__node_names_in(struct og_node_names **out, const char *folder, const char *prefix, int64_t n,
                      struct og_err *err)
{
    struct og_node_names *names = NULL;
    int rc;
    *out = NULL;
    const int wide = has(folder, prefix, "", err);
    const int lengths = wide == 0 ? has(folder, prefix, "_offsets", err) : 0;
    OG_TRY(OG_MIN(wide, lengths));
    if (!wide && !lengths)
        return 0;
    if (!(names = calloc(1, sizeof(*names))))
        OG_TRY(og__fail_errno(err, -ENOMEM, NULL, "%s", folder));
    names->text.a.fd = names->offsets.a.fd = -1;
    if (wide) {
        OG_TRY(open_mapped(&names->text, folder, prefix, "", err));
        names->n = names->text.a.shape[0];
        names->width = (size_t)names->text.a.shape[1];
    } else {
        OG_TRY(open_long(names, folder, prefix, err));
    }
    names->byte = (const char *)names->text.file + names->text.a.offset;
    if (names->n != n)
        OG_TRY(og__fail(err, -EINVAL, again_hint, "%s: %lld names, the graph has %lld nodes",
                        names->text.a.path, (long long)names->n, (long long)n));
    *out = names;
    names = NULL;
out:
    og__node_names_close(names);
    return rc;
}

int og__node_names_open(struct og_node_names **out, const struct og_graph *g, uint32_t group,
                        struct og_err *err)
{
    return og__node_names_in(out, g->path, og__node_names_prefix(g, group).text,
                             g->group[group].n_nodes, err);
}

int og__node_names_refuse(const struct og_node_names *names, const char *what, struct og_err *err)
{
    const struct og_word name = names->n > 0 ? og__node_name(names, 0) : (struct og_word){"", 0};
    return og__fail(err, -EINVAL, "give names, as a table of predictions has them",
                    "%s: a number, and nodes have names, such as %.*s", what,
                    (int)OG_MIN(name.len, (uint32_t)100), name.text);
}

void og__node_names_close(struct og_node_names *names)
{
    if (!names)
        return;
    unmap(&names->text);
    unmap(&names->offsets);
    free(names);
}

struct og_word og__node_name(const struct og_node_names *names, int64_t v)
{
    if (names->offset) {
        const int64_t begin = names->offset[v];
        const int64_t end = names->offset[v + 1];
        const bool good = begin >= 0 && begin <= end && end <= names->text.a.bytes;
        return (struct og_word){names->byte + (good ? begin : 0),
                                good ? (uint32_t)(end - begin) : 0};
    }
    const char *text = names->byte + (size_t)v * names->width;
    return (struct og_word){text, (uint32_t)strnlen(text, names->width)};
}

static int compare(const struct og_word *a, const struct og_word *b)
{
    const int order = memcmp(a->text, b->text, OG_MIN(a->len, b->len));
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

int64_t og__node_names_wrong(const struct og_node_names *names)
{
    for (int64_t v = 1; v < names->n; v++) {
        const struct og_word before = og__node_name(names, v - 1);
        const struct og_word here = og__node_name(names, v);
        if (compare(&before, &here) >= 0)
            return v;
    }
    return -1;
}

int64_t og__node_names_find(const struct og_node_names *names, const struct og_word *name)
{
    int64_t first = 0, end = names->n;
    while (first < end) {
        const int64_t middle = first + (end - first) / 2;
        const struct og_word here = og__node_name(names, middle);
        const int order = compare(&here, name);
        if (order == 0)
            return middle;
        if (order < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return -1;
}

/* ---- writing ---- */

struct og_node_names_writer {
    char prefix[sizeof(struct og_array_name)];
    struct og_npy_writer *text, *offsets; /* offsets: NULL if texts have one width */
    uint32_t width;
    int64_t end;
};

int og__node_names_create(struct og_node_names_writer **out, const char *folder, const char *prefix,
                          uint32_t longest, struct og_err *err)
{
    struct og_node_names_writer *w = *out = calloc(1, sizeof(*w));
    char file[sizeof(w->prefix) + 24];
    int rc;
    if (!w)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", folder);
    snprintf(w->prefix, sizeof(w->prefix), "%s", prefix);
    w->width = longest <= MOST_WIDTH ? OG_MAX(longest, (uint32_t)1) : 0;
    if (w->width > 0) {
        snprintf(file, sizeof(file), "%s.npy", prefix);
        OG_TRY(og__array_create(&w->text, folder, file, OG__NPY_TEXT, 2, w->width, err));
    } else {
        snprintf(file, sizeof(file), "%s_offsets.npy", prefix);
        OG_TRY(og__array_create(&w->offsets, folder, file, OG__NPY_I64, 1, 1, err));
        OG_TRY(og__npy_append(w->offsets, &w->end, 1, err));
        snprintf(file, sizeof(file), "%s_bytes.npy", prefix);
        OG_TRY(og__array_create(&w->text, folder, file, OG__NPY_U8, 1, 1, err));
    }
out:
    if (rc < 0) {
        og__node_names_discard(w);
        *out = NULL;
    }
    return rc;
}

int og__node_names_append(void *writer, const struct og_word *name, struct og_err *err)
{
    struct og_node_names_writer *w = writer;
    char wide[MOST_WIDTH] = {0};
    if (w->width > 0) {
        memcpy(wide, name->text, name->len);
        return og__npy_append(w->text, wide, 1, err);
    }
    w->end += name->len;
    OG_DO(og__npy_append(w->text, name->text, name->len, err));
    return og__npy_append(w->offsets, &w->end, 1, err);
}

int og__node_names_finish(struct og_node_names_writer **writer, json_t *checksums,
                          struct og_err *err)
{
    struct og_node_names_writer *w = *writer;
    char file[sizeof(w->prefix) + 24];
    int rc;
    *writer = NULL;
    snprintf(file, sizeof(file), "%s%s.npy", w->prefix, w->offsets ? "_bytes" : "");
    OG_TRY(og__array_finish(&w->text, file, checksums, err));
    snprintf(file, sizeof(file), "%s_offsets.npy", w->prefix);
    OG_TRY(og__array_finish(&w->offsets, file, checksums, err));
out:
    og__node_names_discard(w);
    return rc;
}

void og__node_names_discard(struct og_node_names_writer *w)
{
    if (!w)
        return;
    og__npy_discard(w->text);
    og__npy_discard(w->offsets);
    free(w);
}

/* ---- copying ---- */

static uint32_t longest_of(const struct og_node_names *names)
{
    uint32_t most = 0;
    for (int64_t v = 0; v < names->n; v++) {
        const struct og_word name = og__node_name(names, v);
        most = OG_MAX(most, name.len);
    }
    return most;
}

int og__node_names_copy(const struct og_node_names *names, const char *folder, const char *prefix,
                        json_t *checksums, struct og_err *err)
{
    struct og_node_names_writer *w;
    const int64_t wrong = og__node_names_wrong(names);
    int rc;
    if (wrong >= 0)
        return og__fail(err, -EINVAL, "names are distinct, and in the order of their bytes",
                        "%s: row %lld comes before the row before it, or equals it",
                        names->text.a.path, (long long)wrong);
    OG_TRY(og__node_names_create(&w, folder, prefix, longest_of(names), err));
    for (int64_t v = 0; rc >= 0 && v < names->n; v++) {
        const struct og_word name = og__node_name(names, v);
        rc = og__node_names_append(w, &name, err);
    }
    if (rc >= 0)
        return og__node_names_finish(&w, checksums, err);
    og__node_names_discard(w);
out:
    return rc;
}
