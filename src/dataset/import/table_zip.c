/* A member of an archive, as a stream: seeking reads and drops what precedes. */
#include "dataset/import/table.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>
#include <zlib.h>

struct zip_table {
    struct og_table t;
    zip_t *archive;
    zip_file_t *member;
    zip_uint64_t index;
    int64_t start; /* of the elements in the member */
    int64_t bytes; /* of the member */
    uint64_t file_bytes;
};

static const char zip_hint[] = "the archive was cut short or damaged: fetch it again";

static int zip_wrong(const struct zip_table *z, struct og_err *err)
{
    zip_error_t *error = z->member ? zip_file_get_error(z->member) : zip_get_error(z->archive);
    bool in_zlib = zip_error_code_zip(error) == ZIP_ER_ZLIB;
    if (zip_error_code_zip(error) == ZIP_ER_MEMORY ||
        (in_zlib && zip_error_code_system(error) == Z_MEM_ERROR))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", z->t.name);
    const char *why = zip_error_strerror(error);
    return og__fail(err, -EINVAL, zip_hint, "%s: row %lld: %s", z->t.name, (long long)z->t.next,
                    why);
}

/* Inflates all of `bytes`, or fails: the archive may declare more than it holds. */
static int inflate_all(struct zip_table *z, char *out, uint64_t bytes, struct og_err *err)
{
    while (bytes > 0) {
        zip_int64_t n = zip_fread(z->member, out, OG_MIN(bytes, (uint64_t)1 << 30));
        if (n < 0)
            return zip_wrong(z, err);
        if (n == 0)
            return og__fail(err, -EINVAL, zip_hint, "%s: row %lld: ends early", z->t.name,
                            (long long)z->t.next);
        out += n;
        bytes -= (uint64_t)n;
    }
    return 0;
}

/* The archive's checksum is only compared after the last byte. */
static int end_member(struct zip_table *z, struct og_err *err)
{
    char more;
    zip_int64_t n = zip_fread(z->member, &more, 1);
    if (n < 0)
        return zip_wrong(z, err);
    return n == 0 ? 0 : og__fail(err, -EINVAL, zip_hint, "%s: longer than it says", z->t.name);
}

static int zip_read(struct og_table *t, void *out, int64_t want, int64_t *got, struct og_err *err)
{
    struct zip_table *z = (struct zip_table *)t;
    int64_t row = (int64_t)og__table_row_bytes(t);
    int rc;
    OG_TRY(inflate_all(z, out, (uint64_t)(want * row), err));
    if (z->start + t->skip + (t->next + want) * row == z->bytes)
        OG_TRY(end_member(z, err));
out:
    *got = rc < 0 ? 0 : want;
    return rc;
}

static int reopen_member(struct zip_table *z, struct og_err *err)
{
    if (z->member)
        zip_fclose(z->member);
    z->member = zip_fopen_index(z->archive, z->index, 0);
    return z->member ? 0 : zip_wrong(z, err);
}

static int zip_rewind(struct og_table *t, struct og_err *err)
{
    struct zip_table *z = (struct zip_table *)t;
    char dropped[16 * 1024];
    OG_DO(reopen_member(z, err));
    for (int64_t left = z->start + t->skip; left > 0;) {
        int64_t n = OG_MIN(left, (int64_t)sizeof(dropped));
        OG_DO(inflate_all(z, dropped, (uint64_t)n, err));
        left -= n;
    }
    return 0;
}

static void zip_close_table(struct og_table *t)
{
    struct zip_table *z = (struct zip_table *)t;
    if (z->member)
        zip_fclose(z->member);
    if (z->archive)
        zip_discard(z->archive);
    free(z);
}

static const struct og_table_ops zip_ops = {zip_read, zip_rewind, zip_close_table, NULL};

/* Deflate makes at most 1032 bytes of one, and none that the archive does not have. */
static bool believable(const struct zip_table *z, const zip_stat_t *st)
{
    return st->comp_size <= z->file_bytes &&
           (st->comp_method == ZIP_CM_STORE ? st->size == st->comp_size
                                            : st->size / 1032 <= st->comp_size);
}

/* Refuses two members of one name: programs differ in which one they read. */
static int find_member(struct zip_table *z, const char *member, struct og_err *err)
{
    zip_int64_t n = zip_get_num_entries(z->archive, 0);
    int found = 0;
    for (zip_int64_t i = 0; i < n; i++) {
        const char *name = zip_get_name(z->archive, (zip_uint64_t)i, 0);
        if (!name || strcmp(name, member) != 0)
            continue;
        z->index = (zip_uint64_t)i;
        found++;
    }
    if (found == 0)
        return og__fail(err, -ENOENT, "is it the archive that the project publishes?",
                        "%s: not in the archive", z->t.name);
    return found == 1
               ? 0
               : og__fail(err, -EINVAL, zip_hint, "%s: %d members of this name", z->t.name, found);
}

static int check_member(struct zip_table *z, zip_stat_t *st, struct og_err *err)
{
    if (zip_stat_index(z->archive, z->index, 0, st) < 0)
        return zip_wrong(z, err);
    if (st->encryption_method != ZIP_EM_NONE ||
        (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE))
        return og__fail(err, -EINVAL, "write it with numpy.savez or numpy.savez_compressed",
                        "%s: neither stored nor deflated", z->t.name);
    return believable(z, st)
               ? 0
               : og__fail(err, -EINVAL, zip_hint, "%s: %llu bytes from %llu: impossible", z->t.name,
                          (unsigned long long)st->size, (unsigned long long)st->comp_size);
}

static int read_header(struct zip_table *z, const zip_stat_t *st, struct og_err *err)
{
    struct og_npy a = {.fd = -1};
    struct og_npy_order order;
    size_t len = (size_t)OG_MIN(st->size, (zip_uint64_t)OG__NPY_HEAD_MAX);
    char *head = malloc(len + 1);
    int rc;
    OG_TRY(head ? reopen_member(z, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", z->t.name));
    OG_TRY(inflate_all(z, head, len, err));
    OG_TRY(og__npy_parse_any(&a, head, len, st->size, z->t.name, &order, err));
    if (order.columns)
        OG_TRY(og__fail(err, -EINVAL, "an archive is read front to back: save it in C order",
                        "%s: stored in Fortran order", z->t.name));
    z->t.swapped = order.swapped;
    z->t.type = a.type;
    z->t.ndim = a.ndim;
    z->t.rows = a.shape[0];
    z->t.columns = a.shape[1];
    z->start = a.offset;
    z->bytes = (int64_t)st->size;
    if (a.offset + a.bytes != z->bytes)
        OG_TRY(og__fail(err, -EINVAL, zip_hint, "%s: %lld bytes, its header promises %lld",
                        z->t.name, (long long)z->bytes, (long long)(a.offset + a.bytes)));
out:
    free(head);
    return rc;
}

static int open_archive(struct zip_table *z, const char *path, struct og_err *err)
{
    zip_error_t why;
    int code = 0;
    int fd = og__open_plain(path, &z->file_bytes, err);
    if (fd < 0)
        return fd;
    close(fd);
    if ((z->archive = zip_open(path, ZIP_RDONLY, &code)))
        return 0;
    zip_error_init_with_code(&why, code);
    int rc = code == ZIP_ER_MEMORY
                 ? og__fail_errno(err, -ENOMEM, NULL, "%s", path)
                 : og__fail(err, -EINVAL, zip_hint, "%s: %s", path, zip_error_strerror(&why));
    zip_error_fini(&why);
    return rc;
}

static int open_table(struct zip_table **out, const char *path, const char *member, zip_stat_t *st,
                      struct og_err *err)
{
    char *name = NULL;
    if (asprintf(&name, "%s:%s", path, member) < 0)
        name = NULL;
    struct zip_table *z = name ? og__table_new(sizeof(*z), &zip_ops, name, err) : NULL;
    free(name);
    if (!(*out = z))
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    OG_DO(open_archive(z, path, err));
    OG_DO(find_member(z, member, err));
    return check_member(z, st, err);
}

int og__table_zip(struct og_table **out, const char *path, const char *member, struct og_err *err)
{
    struct zip_table *z = NULL;
    zip_stat_t st;
    int rc;
    *out = NULL;
    OG_TRY(open_table(&z, path, member, &st, err));
    OG_TRY(read_header(z, &st, err));
    OG_TRY(og__table_rewind(&z->t, err));
    *out = &z->t;
out:
    if (rc < 0 && z)
        og__table_close(&z->t);
    return rc;
}

int og__zip_ends(const char *path, const char *member, char *out, size_t bytes, struct og_err *err)
{
    struct zip_table *z = NULL;
    zip_stat_t st;
    int rc;
    OG_TRY(open_table(&z, path, member, &st, err));
    OG_TRY(reopen_member(z, err));
    if (st.size < bytes)
        OG_TRY(og__fail(err, -ENOENT, zip_hint, "%s: %llu bytes", z->t.name,
                        (unsigned long long)st.size));
    for (zip_uint64_t left = st.size - bytes; left > 0; left--)
        OG_TRY(inflate_all(z, out, 1, err));
    OG_TRY(inflate_all(z, out, bytes, err));
out:
    if (z)
        og__table_close(&z->t);
    return rc;
}
