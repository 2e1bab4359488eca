/* og_stripe_part: makes a dataset for one of several machines whose workers exchange rows.
 *
 *   DATASET   indptr  indices  labels  ...   features  0 1 2 3 4 5 6 7 8      rows
 *                │       │       │                     │       │       │
 *   part 0 of 4  indptr  indices  labels  ...  features 0       4       8     1/4 of them
 *
 * It copies everything but features. Their copied rows are those of the nodes that worker `part`
 * owns (plan/owners.h). It has the identity of the whole dataset if that has checksums of its
 * arrays, as all datasets written here do. Otherwise the contents are the part's own. */
#include "base/file.h"
#include "base/hex.h"
#include "base/sized.h"
#include "dataset/identity.h"
#include "dataset/writer.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 4 * 1024 * 1024 };

struct parter {
    struct og_graph *ds;
    struct og_newdir dir;
    const struct og_observer *observer;
    uint32_t parts, part;
    json_t *meta, *checksums;
    char *buffer;
    size_t bytes; /* of it: a row at least */
    int64_t done, total;
};

static int no_memory(const struct parter *p, struct og_err *err)
{
    return og__fail_errno(err, -ENOMEM, NULL, "%s: part", p->ds->path);
}

/* Rows of the piece to the writer: all of them, or every parts-th. */
static int put_rows(const struct parter *p, struct og_npy_writer *w, int64_t first, int64_t n,
                    size_t row, bool own, struct og_err *err)
{
    const int64_t parts = p->parts;
    if (!own)
        return og__npy_append(w, p->buffer, n, err);
    for (int64_t i = (p->part + parts - first % parts) % parts; i < n; i += parts)
        OG_DO(og__npy_append(w, p->buffer + (size_t)i * row, 1, err));
    return 0;
}

static int copy_rows(struct parter *p, const struct og_npy *a, struct og_npy_writer *w, bool own,
                     struct og_err *err)
{
    const size_t row = og__npy_size(a->type) * (size_t)a->shape[1];
    const int64_t most = (int64_t)(p->bytes / OG_MAX(row, (size_t)1));
    for (int64_t at = 0; at < a->shape[0]; at += most) {
        const int64_t n = OG_MIN(most, a->shape[0] - at);
        OG_DO(og__npy_read(a, at, n, p->buffer, err));
        OG_DO(put_rows(p, w, at, n, row, own, err));
        p->done += n * (int64_t)row;
        OG_DO(og__writing_goes_on(p->observer, "stripe", "bytes", p->done, p->total, err));
    }
    return 0;
}

/* own: rows of this part's nodes alone. */
static int copy_array(struct parter *p, const struct og_npy *a, const char *array, bool own,
                      struct og_err *err)
{
    char name[32];
    struct og_npy_writer *w = NULL;
    int rc;
    snprintf(name, sizeof(name), "%s.npy", array);
    OG_TRY(og__array_create(&w, p->dir.temporary, name, a->type, a->ndim, a->shape[1], err));
    OG_TRY(copy_rows(p, a, w, own, err));
    OG_TRY(og__array_finish(&w, name, p->checksums, err));
out:
    og__npy_discard(w);
    return rc;
}

/* Counts its bytes; *row: of the widest row. */
static void look_at(struct parter *p, const struct og_npy *a, size_t *row)
{
    if (!og__npy_there(a))
        return;
    p->total += a->bytes;
    *row = OG_MAX(*row, og__npy_size(a->type) * (size_t)a->shape[1]);
}

static int copy_arrays(struct parter *p, struct og_err *err)
{
    size_t row = 8;
    for (enum og__array a = 0; a < OG__ARRAYS; a++)
        look_at(p, og__array_of(p->ds, a), &row);
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++)
        look_at(p, &p->ds->negatives[s], &row);
    for (int i = 0; i < OG__LISTED * OG__SPLITS; i++)
        look_at(p, &p->ds->listed[i / OG__SPLITS][i % OG__SPLITS], &row);
    look_at(p, &p->ds->group->scales, &row);
    look_at(p, &p->ds->group->rest, &row);
    p->bytes = OG_MAX(row, (size_t)PIECE);
    p->buffer = malloc(p->bytes);
    OG_DO(p->buffer ? 0 : no_memory(p, err));
    for (enum og__array a = 0; a < OG__ARRAYS; a++)
        if (og__npy_there(og__array_of(p->ds, a)))
            OG_DO(copy_array(p, og__array_of(p->ds, a), og__array_name(a), a == OG__FEATURES, err));
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++)
        if (og__npy_there(&p->ds->negatives[s]))
            OG_DO(copy_array(p, &p->ds->negatives[s],
                             og__negatives_name(s, p->ds->negatives_each[s]), false, err));
    for (enum og__listed i = 0; i < OG__LISTED; i++)
        for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++)
            if (og__npy_there(&p->ds->listed[i][s]))
                OG_DO(copy_array(p, &p->ds->listed[i][s], og__listed_name(i, s), false, err));
    if (og__npy_there(&p->ds->group->scales))
        OG_DO(copy_array(p, &p->ds->group->scales, og__scales_array(p->ds, 0).text, false, err));
    if (og__npy_there(&p->ds->group->rest))
        OG_DO(copy_array(p, &p->ds->group->rest, og__rest_array(p->ds, 0).text, false, err));
    return 0;
}

/* Copies the dataset's declarations, except locations of arrays. */
static int copy_meta(struct parter *p, struct og_err *err)
{
    p->meta = json_deep_copy(p->ds->meta);
    json_object_del(p->meta, "files");
    p->checksums = json_object();
    return p->meta && p->checksums ? 0 : no_memory(p, err);
}

static int write_meta(struct parter *p, struct og_err *err)
{
    json_t *own = og__json_with(json_object(), "path", json_string("features.npy"));
    own = og__json_with(own, "workers", json_integer(p->parts));
    own = og__json_with(own, "worker", json_integer(p->part));
    own =
        og__json_with(own, "contents", og__json_hex(p->ds->identity.array[OG__FEATURES].contents));
    json_t *files = og__json_with(json_object(), "features", own);
    p->meta = og__json_with(p->meta, "files", files);
    p->meta = og__json_with(p->meta, "checksums", json_incref(p->checksums));
    return og__meta_write(p->dir.temporary, json_incref(p->meta), err);
}

static int write_part(struct parter *p, struct og_err *err)
{
    OG_DO(copy_meta(p, err));
    OG_DO(copy_arrays(p, err));
    OG_DO(write_meta(p, err));
    return og__newdir_commit(&p->dir, err);
}

int og_stripe_part(const char *dataset, const char *out, int parts, int part,
                   const struct og_observer *observer, struct og_err *err)
{
    struct parter p = {.observer = observer, .parts = (uint32_t)parts, .part = (uint32_t)part};
    int rc;
    if (parts < 2 || parts > OG_MOST_PARTS || part < 0 || part >= parts)
        return og__fail(err, -EINVAL, "parts are numbered from 0: --parts 4 --part 0 to --part 3",
                        "part %d of %d", part, parts);
    OG_TRY(OG_SIZED(observer, "og_observer", err));
    OG_TRY(og__graph_open(dataset, &p.ds, err));
    OG_TRY(og__graph_refuse_types(p.ds, err));
    OG_TRY(og__graph_refuse_edge_features(p.ds, "stripe --parts", err));
    OG_TRY(og__check_apart(dataset, out, err));
    OG_TRY(og__newdir_begin(&p.dir, out, err));
    OG_TRY(write_part(&p, err));
out:
    og__newdir_abandon(&p.dir);
    json_decref(p.meta);
    json_decref(p.checksums);
    free(p.buffer);
    og__graph_close(p.ds);
    return rc;
}
