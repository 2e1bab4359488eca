/* og_verify_samples: reads once what `outgrow sample` wrote, and the packs beside it, and tells all
 * that is not what was written.
 *
 *   trace.json ──> files that have a checksum there
 *              ──> every batch, by check.npy         what it misses of each draw's list
 *   pack.json  ──> draw<d>_cached.npy, draw<d>.pack  is what the chunk holds, row by row
 */
#include "base/file.h"
#include "base/hex.h"
#include "budget/config.h"
#include "dataset/features.h"
#include "dataset/identity.h"
#include "gather/pack.h"
#include "train/offline.h"
#include "train/packs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TOLD_A_FILE = 3 };

static const char part[] = "verify";
static const char anew[] = "make it anew with `outgrow sample`";
static const char pack_anew[] = "remove the folder pack and make it anew with `outgrow pack`";

struct room {
    void *data;
    size_t bytes;
};

struct verifier {
    const char *dir;
    void (*finding)(void *arg, const char *text, const char *hint);
    void *arg;
    const struct og_observer *seen;
    struct og_budget *budget; /* there is no --memory: of what is free */
    int n_findings;
    uint64_t wrong; /* of what is looked at; only the first few are told one by one */
    /* what trace.json says */
    struct og_trace_description description;
    uint32_t draws, per_draw;
    bool once; /* --draw once */
    struct og_samples_options arrays;
    struct og_dataset said; /* of the dataset; no files */
    /* the dataset itself, where one is given and it is that */
    struct og_dataset *given;
    struct og_reader *features;
    struct og_samples *samples; /* NULL: cannot be opened */
    struct og_batch_memory batch;
    uint64_t *cached; /* bit a node: in the draw's list */
    struct room misses, spare, chunk, rows;
};

/* ---- telling ---- */

static void report_text(struct verifier *v, const char *text, const char *hint)
{
    if (v->wrong++ >= TOLD_A_FILE)
        return;
    v->finding(v->arg, text, hint);
    v->n_findings++;
}

static void tell(struct verifier *v, const char *hint, const char *fmt, ...) OG_PRINTF(3, 4);

static void tell(struct verifier *v, const char *hint, const char *fmt, ...)
{
    char text[768];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    report_text(v, text, hint);
}

static void begin(struct verifier *v)
{
    v->wrong = 0;
}

static void end(struct verifier *v, const char *what)
{
    char text[768];
    if (v->wrong <= TOLD_A_FILE)
        return;
    snprintf(text, sizeof(text), "%s: and %" PRIu64 " more like it", what, v->wrong - TOLD_A_FILE);
    v->finding(v->arg, text, "");
    v->n_findings++;
}

/* What is wrong with a file, or cannot be read of it, is a finding: 1. What keeps us from looking
 * at any is a failure. */
static int judge(struct verifier *v, int rc, const struct og_err *why, struct og_err *err)
{
    if (rc >= 0)
        return 0;
    if (rc != -EINVAL && rc != -EIO && rc != -ENOENT)
        return og__fail(err, rc, why->hint, "%s", why->message);
    report_text(v, why->message, why->hint);
    return 1;
}

static void *grow(const struct verifier *v, struct room *room, size_t bytes, struct og_err *err)
{
    if (room->bytes < bytes || !room->data) {
        og__release(v->budget, room->data, room->bytes, part);
        room->data = og__alloc(v->budget, bytes, part, err);
        room->bytes = room->data ? bytes : 0;
    }
    return room->data;
}

static void show_progress(const struct verifier *v, uint64_t done, uint64_t total)
{
    const struct og_progress p = {.stage = "verify", .done = done, .total = total};
    og__observe(v->seen, &p);
}

/* ---- trace.json ---- */

/* What everything else is looked at by. */
static bool get_facts(struct verifier *v)
{
    const struct og_trace_description *d = &v->description;
    const json_t *options = json_object_get(d->root, "options");
    const char *draw = json_string_value(json_object_get(options, "draw"));
    const size_t n_hops = json_array_size(json_object_get(options, "fanout"));
    struct og_identity identity;
    if (n_hops < 1 || n_hops > OG_MAX_HOPS || d->n_nodes < 1 || d->draws < 1 ||
        d->batches_per_epoch < 1 || d->draws > UINT32_MAX / d->batches_per_epoch ||
        !og__identity_get(d->root, &identity))
        return false;
    v->draws = d->draws;
    v->per_draw = d->batches_per_epoch;
    v->once = draw && strcmp(draw, "once") == 0;
    v->arrays = (struct og_samples_options){.dir = v->dir,
                                            .n_hops = (int)n_hops,
                                            .extras = d->extras,
                                            .n_relations = d->n_relations,
                                            .n_nodes = d->n_nodes};
    v->said = (struct og_dataset){.path = (char *)v->dir,
                                  .n_nodes = (int64_t)d->n_nodes,
                                  .dim = d->dim,
                                  .dtype = d->dtype,
                                  .identity = identity};
    return true;
}

/* 1: nothing more can be said. */
static int read_description(struct verifier *v, struct og_err *err)
{
    struct og_err why = {0};
    int rc = og__trace_describe(&v->description, v->dir, &why);
    if (rc < 0)
        return rc == -EINVAL ? judge(v, rc, &why, err)
                             : og__fail(err, rc, why.hint, "%s", why.message);
    if (get_facts(v))
        return 0;
    tell(v, anew, "%s/trace.json: lacks what a folder of samples says of itself", v->dir);
    return 1;
}

/* ---- files ---- */

static int verify_file(struct verifier *v, const char *file, const json_t *said, struct og_err *err)
{
    struct og_err why = {0};
    uint64_t expected;
    uint64_t found = 0;
    char *path = og__path_join(v->dir, file);
    int rc;
    begin(v);
    OG_TRY(path ? og__file_checksum(path, &found, &why)
                : og__fail_errno(&why, -ENOMEM, NULL, "%s", file));
    if (!og__json_hex_get(said, &expected) || expected != found)
        tell(v, anew, "%s: checksum %s, trace.json says %.16s", path, og__hex(found).digits,
             json_is_string(said) ? json_string_value(said) : "none");
out:
    free(path);
    rc = judge(v, rc, &why, err);
    return OG_MIN(rc, 0);
}

/* Names come from a file: none of them leads out of the folder. */
static int check_reference(struct verifier *v, const char *file)
{
    begin(v);
    tell(v, anew, "%s/trace.json: checksums: %.60s is not in the folder", v->dir, file);
    return 0;
}

static int verify_files(struct verifier *v, struct og_err *err)
{
    const char *file;
    json_t *said;
    int rc = 0;
    json_object_foreach(json_object_get(v->description.root, "checksums"), file, said)
    {
        OG_TRY(strchr(file, '/') ? check_reference(v, file) : verify_file(v, file, said, err));
    }
out:
    return rc;
}

/* ---- batches ---- */

static int open_samples(struct verifier *v, struct og_err *err)
{
    struct og_err why = {0};
    begin(v);
    int rc = judge(v, og__samples_open(&v->samples, &v->arrays, v->budget, &why), &why, err);
    if (rc != 0 || og__samples_batches(v->samples) == v->draws * v->per_draw)
        return OG_MIN(rc, 0);
    tell(v, anew, "%s: %u batches, trace.json says %u draws of %u", v->dir,
         og__samples_batches(v->samples), v->draws, v->per_draw);
    og__samples_close(v->samples);
    v->samples = NULL;
    return 0;
}

/* Of relation r. */
static bool lists_begin(const struct og_block *k, const struct og_block *next, uint32_t r)
{
    const uint32_t n = k->relation[r + 1] - k->relation[r];
    const uint32_t *here = k->indptr + k->relation[r];
    const uint32_t *there = next->indptr + next->relation[r];
    if (n > next->relation[r + 1] - next->relation[r])
        return false;
    for (uint32_t i = 0; i <= n; i++)
        if (here[i] - here[0] != there[i] - there[0])
            return false;
    return memcmp(k->dst + k->relation[r], next->dst + next->relation[r], n * sizeof(*k->dst)) ==
               0 &&
           memcmp(k->src + here[0], next->src + there[0], (here[n] - here[0]) * sizeof(*k->src)) ==
               0;
}

static bool related_begin(const struct og_block *k, const struct og_block *next)
{
    bool begin = true;
    for (uint32_t r = 0; begin && r < k->n_relations; r++)
        begin = lists_begin(k, next, r);
    return begin;
}

static bool all_begin(const struct og_block *k, const struct og_block *next)
{
    if (k->relation)
        return related_begin(k, next);
    return k->n_edges <= next->n_edges &&
           memcmp(k->indptr, next->indptr, ((size_t)k->n_dst + 1) * sizeof(*k->indptr)) == 0 &&
           memcmp(k->src, next->src, k->n_edges * sizeof(*k->src)) == 0 &&
           (!k->weight || memcmp(k->weight, next->weight, k->n_edges * sizeof(*k->weight)) == 0);
}

/* Of nodes that draw once a hop has what the one before it has, and then its own. */
static void compare_hops(struct verifier *v, uint32_t i)
{
    const struct og_batch *b = &v->batch.batch;
    for (uint32_t h = 0; v->once && h + 1 < b->n_hops; h++) {
        if (!all_begin(&b->hop[h], &b->hop[h + 1]))
            tell(v, anew, "%s: batch %u: hop %u does not begin with hop %u, as --draw once has it",
                 v->dir, i, h + 2, h + 1);
    }
}

static int verify_batches(struct verifier *v, struct og_err *err)
{
    const uint32_t n = v->samples ? og__samples_batches(v->samples) : 0;
    int rc = 0;
    begin(v);
    for (uint32_t i = 0; rc >= 0 && i < n; i++) {
        struct og_err why = {0};
        struct og_io_counts read;
        rc = og__samples_read(v->samples, i, true, &v->batch, &read, &why);
        rc = judge(v, rc, &why, err);
        if (rc == 0)
            compare_hops(v, i);
        show_progress(v, i + 1, n);
    }
    end(v, v->dir);
    return OG_MIN(rc, 0);
}

/* ---- packs ---- */

/* What the batch misses of the draw's list, ascending, into v->misses. */
static int list_misses(struct verifier *v, uint32_t batch, uint32_t *n, struct og_err *err)
{
    struct og_io_counts read;
    int rc = og__samples_read(v->samples, batch, false, &v->batch, &read, err);
    if (rc < 0)
        return rc;
    const struct og_batch *b = &v->batch.batch;
    uint32_t *spare = grow(v, &v->spare, b->n_ids * sizeof(*spare), err);
    uint32_t *misses = spare ? grow(v, &v->misses, b->n_ids * sizeof(*misses), err) : NULL;
    if (!misses)
        return -ENOMEM;
    *n = 0;
    for (uint32_t i = 0; i < b->n_ids; i++) {
        spare[*n] = b->ids[i];
        *n += !og__bits_has(v->cached, b->ids[i]);
    }
    og__sort_ids(spare, misses, *n);
    return 0;
}

/* The rows that the chunk holds against those of the dataset. */
static int compare_rows(struct verifier *v, uint32_t n, const char *path, uint32_t chunk,
                        struct og_err *err)
{
    const size_t bytes = n * og__row_bytes(v->given);
    char *rows = grow(v, &v->rows, bytes, err);
    if (!rows)
        return -ENOMEM;
    struct og_read_job job = {.rows = v->misses.data, .n = n, .out = rows};
    int rc;
    OG_TRY(og__reader_submit(v->features, &job, err));
    OG_TRY(og__reader_wait(v->features, &job, err));
    if (n > 0 && memcmp(rows, v->chunk.data, bytes) != 0)
        tell(v, pack_anew, "%s: chunk %u: rows are not those of %s", path, chunk, v->given->path);
out:
    return rc;
}

/* Chunk c of the draw holds what the batch misses. */
static int compare_batch(struct verifier *v, const struct og_pack *pack, uint32_t draw, uint32_t c,
                         const char *path, struct og_err *err)
{
    uint32_t n = 0;
    int rc;
    OG_TRY(list_misses(v, draw * v->per_draw + c, &n, err));
    OG_TRY(og__pack_holds(pack, c, v->misses.data, n, err));
    if (v->features)
        OG_TRY(compare_rows(v, n, path, c, err));
out:
    return rc;
}

static int verify_chunk(struct verifier *v, struct og_pack *pack, uint32_t draw, uint32_t c,
                        const char *path, struct og_err *err)
{
    struct og_err why = {0};
    struct og_io_counts counts = {0};
    const bool training = v->cached && v->samples && c < v->per_draw;
    char *out = grow(v, &v->chunk, og__pack_rows(pack, c) * og__row_bytes(&v->said), err);
    if (!out)
        return -ENOMEM;
    int rc;
    OG_TRY(og__pack_begin(pack, 0, c, out, &why));
    OG_TRY(og__pack_finish(pack, 0, &counts, &why));
    if (training)
        OG_TRY(compare_batch(v, pack, draw, c, path, &why));
out:
    rc = judge(v, rc, &why, err);
    return OG_MIN(rc, 0);
}

static int verify_chunks(struct verifier *v, struct og_pack *pack, uint32_t draw, const char *path,
                         struct og_err *err)
{
    const uint32_t n = og__pack_batches(pack);
    int rc = 0;
    begin(v);
    if (n < v->per_draw)
        tell(v, pack_anew, "%s: chunks for %u of %u batches", path, n, v->per_draw);
    for (uint32_t c = 0; c < n; c++) {
        OG_TRY(verify_chunk(v, pack, draw, c, path, err));
        show_progress(v, draw * (uint64_t)n + c + 1, v->draws * (uint64_t)n);
    }
out:
    end(v, path);
    return rc;
}

static int verify_container(struct verifier *v, const struct og_packs *packs, uint32_t draw,
                            struct og_err *err)
{
    struct og_err why = {0};
    struct og_reader_options reader = {.io = OG_IO_AUTO};
    struct og_pack *pack = NULL;
    char *path = og__packs_container(packs->dir, draw);
    if (!path)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", packs->dir);
    og__profile_load(path, &reader.profile);
    begin(v);
    int rc = og__pack_open(&pack, OG__ONE_PLACE(path), &v->said, 1, &reader, v->budget, &why);
    rc = judge(v, rc, &why, err);
    if (rc == 0) /* nothing was found */
        rc = verify_chunks(v, pack, draw, path, err);
    og__pack_close(pack);
    free(path);
    return OG_MIN(rc, 0);
}

/* The draw's list into bits; NULL where it cannot be believed. */
static int read_list(struct verifier *v, const struct og_packs *packs, uint32_t draw,
                     struct og_err *err)
{
    struct og_err why = {0};
    const size_t bytes = og__bits_words(v->arrays.n_nodes) * sizeof(*v->cached);
    uint32_t *nodes = NULL;
    uint32_t n = 0;
    begin(v);
    int rc = og__packs_cached(packs, draw, v->arrays.n_nodes, v->budget, &nodes, &n, &why);
    og__release(v->budget, v->cached, bytes, part);
    v->cached = NULL;
    rc = judge(v, rc, &why, err);
    if (rc != 0)
        return OG_MIN(rc, 0);
    v->cached = og__alloc(v->budget, bytes, part, err);
    for (uint32_t i = 0; v->cached && i < n; i++)
        og__bits_add(v->cached, nodes[i]);
    og__release(v->budget, nodes, n * sizeof(*nodes), "policy");
    return v->cached ? 0 : -ENOMEM;
}

/* The dataset's rows in the form that packs have. */
static int open_features(struct verifier *v, struct og_err *err)
{
    struct og_reader_options reader = {.io = OG_IO_AUTO};
    if (!v->given)
        return 0;
    og__profile_load(v->given->path, &reader.profile);
    int rc = og__features_keep(v->given, v->said.kept, err);
    return rc < 0 ? rc : og__features_open(&v->features, v->given, &reader, v->budget, err);
}

static void on_message(void *arg, int level, const char *text)
{
    if (level == OG__WARN)
        report_text(arg, text, "");
}

/* NULL where there are none, or none that can be looked at. */
static int open_packs(struct verifier *v, struct og_packs **out, struct og_err *err)
{
    const struct og_log log = {.fn = on_message, .arg = v};
    *out = NULL;
    begin(v);
    int rc = og__exists(v->dir, "pack", err);
    if (rc <= 0)
        return rc;
    rc = og__exists(v->dir, "pack/pack.json", err);
    if (rc == 0)
        tell(v, pack_anew, "%s/pack/pack.json: missing", v->dir);
    if (rc <= 0)
        return rc;
    v->said.kept = og__packs_dtype(v->dir, v->said.dtype);
    *out = og__packs_open(v->dir, &v->said, &log);
    if (*out && (*out)->draws != v->draws)
        tell(v, pack_anew, "%s: %u draws, the samples have %u", v->dir, (*out)->draws, v->draws);
    return *out || v->wrong > 0 ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", v->dir);
}

static int verify_packs(struct verifier *v, struct og_err *err)
{
    struct og_packs *packs;
    int rc;
    OG_TRY(open_packs(v, &packs, err));
    if (rc < 0 || !packs)
        return rc;
    OG_TRY(open_features(v, err));
    for (uint32_t d = 0; d < OG_MIN(packs->draws, v->draws); d++) {
        OG_TRY(read_list(v, packs, d, err));
        OG_TRY(verify_container(v, packs, d, err));
    }
out:
    og__packs_close(packs);
    return rc;
}

/* ---- all of it ---- */

/* Could rows packed for the one be rows of the other? */
static bool same_rows(const struct og_dataset *said, const struct og_dataset *given)
{
    static const enum og__array lists[] = {OG__INDPTR, OG__INDICES};
    bool same =
        said->n_nodes == given->n_nodes && said->dim == given->dim && said->dtype == given->dtype;
    for (size_t i = 0; i < OG_COUNT(lists); i++)
        same = same &&
               said->identity.array[lists[i]].contents == given->identity.array[lists[i]].contents;
    return same;
}

/* The dataset that the samples are said to be of. Where it is not, but the same graph, packed rows
 * are compared all the same: it may be only others that changed. */
static int open_given(struct verifier *v, const char *dataset, struct og_err *err)
{
    char why[OG__WHY];
    int rc = og__dataset_open(dataset, &v->given, err);
    if (rc < 0 || og__identity_same(&v->said.identity, &v->given->identity, why))
        return rc;
    begin(v);
    tell(v, "sample this dataset: `outgrow sample DATASET --out DIR`",
         "%s/trace.json: not samples of %s: %s", v->dir, v->given->path, why);
    if (same_rows(&v->said, v->given))
        return 0;
    og__dataset_close(v->given);
    v->given = NULL;
    return 0;
}

static int verify_all(struct verifier *v, const char *dataset, struct og_err *err)
{
    int rc = read_description(v, err);
    if (rc != 0)
        return OG_MIN(rc, 0);
    if (dataset)
        OG_TRY(open_given(v, dataset, err));
    OG_TRY(verify_files(v, err));
    OG_TRY(open_samples(v, err));
    OG_TRY(verify_batches(v, err));
    OG_TRY(verify_packs(v, err));
out:
    return rc;
}

int og_verify_samples(const char *samples, const char *dataset,
                      void (*finding)(void *arg, const char *text, const char *hint), void *arg,
                      const struct og_observer *seen, struct og_err *err)
{
    struct verifier v = {.dir = samples, .finding = finding, .arg = arg, .seen = seen};
    struct room *const rooms[] = {&v.misses, &v.spare, &v.chunk, &v.rows};
    v.budget = og__budget_new(og__memory_amount(&(struct og_amount){.unit = OG_UNSET}));
    if (!v.budget)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", samples);
    og__batch_init(&v.batch, v.budget);
    int rc = verify_all(&v, dataset, err);
    og__reader_close(v.features);
    og__dataset_close(v.given);
    og__samples_close(v.samples);
    og__batch_release(&v.batch);
    for (size_t i = 0; i < OG_COUNT(rooms); i++)
        og__release(v.budget, rooms[i]->data, rooms[i]->bytes, part);
    og__release(v.budget, v.cached, og__bits_words(v.arrays.n_nodes) * sizeof(*v.cached), part);
    og__budget_free(v.budget);
    og__trace_description_release(&v.description);
    return rc < 0 ? rc : v.n_findings;
}
