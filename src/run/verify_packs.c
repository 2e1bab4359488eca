/* Packs of samples: a packed file a draw, or one for each type of nodes that has features. */
#include "base/file.h"
#include "dataset/features.h"
#include "flow/packs.h"
#include "gather/pack.h"
#include "run/verifier.h"

#include <stdlib.h>
#include <string.h>

static const char anew[] = "remove the folder pack and make it again with `outgrow pack`";

/* A draw's packed file of nodes [first, end), numbered from the first. */
struct packed_file {
    const char *path;
    uint32_t draw;
    uint64_t first, end;
    const struct og_group *said, *given; /* their rows; given: NULL = not known */
    struct og_reader *features;          /* of those given */
    struct og_pack *pack;
};

/* ---- a chunk ---- */

/* What the batch misses of the draw's list, ascending, into v->misses. */
static int list_misses(struct og_verifier *v, const struct packed_file *c, uint32_t batch,
                       uint32_t *n, struct og_err *err)
{
    struct og_io_counts read;
    OG_DO(og__samples_read(v->samples, batch, false, &v->batch, &read, err));
    const struct og_batch *b = &v->batch.batch;
    const size_t bytes = b->n_ids * sizeof(uint32_t);
    uint32_t *spare = og__verify_room(v, &v->spare, bytes, err);
    uint32_t *misses = spare ? og__verify_room(v, &v->misses, bytes, err) : NULL;
    if (!misses)
        return -ENOMEM;
    *n = 0;
    for (uint32_t i = 0; i < b->n_ids; i++) {
        const uint32_t node = b->ids[i];
        spare[*n] = node - (uint32_t)c->first;
        *n += node >= c->first && node < c->end && !og__bits_has(v->cached, node);
    }
    og__sort_ids(spare, misses, *n);
    return 0;
}

/* The rows that the chunk holds against those of the dataset. */
static int compare_rows(struct og_verifier *v, const struct packed_file *c, uint32_t n,
                        uint32_t chunk, struct og_err *err)
{
    const size_t bytes = n * og__row_bytes(c->given);
    char *rows = og__verify_room(v, &v->rows, bytes, err);
    if (!rows)
        return -ENOMEM;
    struct og_read_job job = {.rows = v->misses.data, .n = n, .out = rows};
    OG_DO(og__reader_submit(c->features, &job, err));
    OG_DO(og__reader_wait(c->features, &job, err));
    if (n > 0 && memcmp(rows, v->chunk.data, bytes) != 0)
        og__verify_tell(v, anew, "%s: chunk %u: rows are not those of %s", c->path, chunk,
                        c->given->graph->path);
    return 0;
}

/* The chunk holds what the batch misses. */
static int compare_batch(struct og_verifier *v, const struct packed_file *c, uint32_t chunk,
                         struct og_err *err)
{
    uint32_t n = 0;
    OG_DO(list_misses(v, c, c->draw * v->per_draw + chunk, &n, err));
    OG_DO(og__pack_holds(c->pack, chunk, v->misses.data, n, err));
    if (c->features)
        OG_DO(compare_rows(v, c, n, chunk, err));
    return 0;
}

static int verify_chunk(struct og_verifier *v, const struct packed_file *c, uint32_t chunk,
                        struct og_err *err)
{
    struct og_err why = {0};
    struct og_io_counts counts = {0};
    const bool training = v->cached && v->samples && chunk < v->per_draw;
    const size_t bytes = og__pack_rows(c->pack, chunk) * og__row_bytes(c->said);
    char *out = og__verify_room(v, &v->chunk, bytes, err);
    if (!out)
        return -ENOMEM;
    int rc;
    OG_TRY(og__pack_begin(c->pack, 0, chunk, out, &why));
    OG_TRY(og__pack_finish(c->pack, 0, &counts, &why));
    if (training)
        OG_TRY(compare_batch(v, c, chunk, &why));
out:
    rc = og__verify_judge(v, rc, &why, err);
    return OG_MIN(rc, 0);
}

/* ---- a packed file ---- */

static int verify_chunks(struct og_verifier *v, const struct packed_file *c, struct og_err *err)
{
    const uint32_t n = og__pack_batches(c->pack);
    int rc = 0;
    og__verify_begin(v);
    if (n < v->per_draw)
        og__verify_tell(v, anew, "%s: chunks for %u of %u batches", c->path, n, v->per_draw);
    for (uint32_t chunk = 0; chunk < n; chunk++) {
        OG_TRY(verify_chunk(v, c, chunk, err));
        og__verify_progress(v, c->draw * (uint64_t)n + chunk + 1, v->draws * (uint64_t)n);
    }
out:
    og__verify_end(v, c->path);
    return rc;
}

/* The dataset's rows in the form that packs have. */
static int open_features(const struct og_verifier *v, struct packed_file *c, struct og_err *err)
{
    struct og_reader_options reader = {.io = OG_IO_AUTO};
    if (!c->given)
        return 0;
    og__profile_load(c->given->graph->path, &reader.profile);
    return og__features_open(&c->features, c->given, &reader, v->budget, err);
}

static int verify_packed_file(struct og_verifier *v, struct packed_file *c, struct og_err *err)
{
    struct og_err why = {0};
    struct og_reader_options reader = {.io = OG_IO_AUTO};
    og__profile_load(c->path, &reader.profile);
    og__verify_begin(v);
    int rc = og__pack_open(&c->pack, OG__ONE_PLACE((char *)c->path), c->said, 1, &reader, v->budget,
                           &why);
    rc = og__verify_judge(v, rc, &why, err);
    if (rc == 0) /* nothing was found */
        rc = open_features(v, c, err);
    if (rc == 0)
        rc = verify_chunks(v, c, err);
    og__reader_close(c->features);
    og__pack_close(c->pack);
    return OG_MIN(rc, 0);
}

static int verify_group(struct og_verifier *v, const struct og_packs *packs, uint32_t draw,
                        uint32_t k, struct og_err *err)
{
    const struct og_group *g = &v->said.group[k];
    char *path = og__packs_file(packs->dir, draw, g);
    struct packed_file c = {.path = path,
                            .draw = draw,
                            .first = (uint64_t)g->first,
                            .end = (uint64_t)(g->first + g->n_nodes),
                            .said = g,
                            .given = v->given ? &v->given->group[k] : NULL};
    int rc = path ? verify_packed_file(v, &c, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", packs->dir);
    free(path);
    return rc;
}

/* ---- a draw ---- */

/* The draw's list into bits; NULL where it cannot be believed. */
static int read_list(struct og_verifier *v, const struct og_packs *packs, uint32_t draw,
                     struct og_err *err)
{
    struct og_err why = {0};
    const size_t bytes = og__bits_words(v->arrays.n_nodes) * sizeof(*v->cached);
    uint32_t *nodes = NULL;
    uint32_t n = 0;
    og__verify_begin(v);
    int rc = og__packs_cached(packs, draw, v->arrays.n_nodes, v->budget, &nodes, &n, &why);
    og__release(v->budget, v->cached, bytes, OG__VERIFY_PART);
    v->cached = NULL;
    rc = og__verify_judge(v, rc, &why, err);
    if (rc != 0)
        return OG_MIN(rc, 0);
    v->cached = og__alloc(v->budget, bytes, OG__VERIFY_PART, err);
    for (uint32_t i = 0; v->cached && i < n; i++)
        og__bits_add(v->cached, nodes[i]);
    og__release(v->budget, nodes, n * sizeof(*nodes), "policy");
    return v->cached ? 0 : -ENOMEM;
}

static int verify_draw(struct og_verifier *v, const struct og_packs *packs, uint32_t draw,
                       struct og_err *err)
{
    OG_DO(read_list(v, packs, draw, err));
    for (uint32_t k = 0; k < v->said.n_groups; k++)
        if (v->said.group[k].dim > 0)
            OG_DO(verify_group(v, packs, draw, k, err));
    return 0;
}

/* ---- all of them ---- */

static void on_message(void *arg, int level, const char *text)
{
    if (level == OG__WARN)
        og__verify_report(arg, text, "");
}

/* NULL where there are none, or none that can be looked at. */
static int open_packs(struct og_verifier *v, struct og_packs **out, struct og_err *err)
{
    const struct og_log log = {.fn = on_message, .arg = v};
    *out = NULL;
    og__verify_begin(v);
    int rc = og__exists(v->dir, "pack", err);
    if (rc <= 0)
        return rc;
    rc = og__exists(v->dir, "pack/pack.json", err);
    if (rc == 0)
        og__verify_tell(v, anew, "%s/pack/pack.json: missing", v->dir);
    if (rc <= 0)
        return rc;
    og__packs_take_dtype(v->dir, &v->said);
    *out = og__packs_open(v->dir, &v->said, &log);
    if (*out && (*out)->draws != v->draws)
        og__verify_tell(v, anew, "%s: %u draws, the samples have %u", v->dir, (*out)->draws,
                        v->draws);
    return *out || v->wrong > 0 ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", v->dir);
}

/* Those of the dataset, as packs have them. */
static int keep_rows(struct og_verifier *v, struct og_err *err)
{
    int rc = 0;
    for (uint32_t k = 0; v->given && rc == 0 && k < v->given->n_groups; k++)
        if (v->said.group[k].dim > 0)
            rc = og__features_keep(&v->given->group[k], v->said.group[k].dtype, err);
    return rc;
}

int og__verify_packs(struct og_verifier *v, struct og_err *err)
{
    struct og_packs *packs;
    int rc;
    OG_TRY(open_packs(v, &packs, err));
    if (rc < 0 || !packs)
        return rc;
    OG_TRY(keep_rows(v, err));
    for (uint32_t d = 0; d < OG_MIN(packs->draws, v->draws); d++)
        OG_TRY(verify_draw(v, packs, d, err));
out:
    og__packs_close(packs);
    return rc;
}
