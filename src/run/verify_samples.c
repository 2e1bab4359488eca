/* og_verify_samples: reads what `outgrow sample` wrote, and its packs, once. Reports all that is
 * not what was written.
 *
 *   trace.json ──> files that have a checksum there
 *              ──> every batch, by check.npy         what it misses of each draw's list
 *   pack.json  ──> draw<d>_cached.npy, draw<d>.pack  is what the chunk holds, row by row */
#include "base/file.h"
#include "base/hex.h"
#include "base/sized.h"
#include "budget/config.h"
#include "dataset/identity.h"
#include "run/verifier.h"

#include <stdlib.h>
#include <string.h>

static const char anew[] = "make it again with `outgrow sample`";

/* ---- trace.json ---- */

/* What everything else is looked at by. */
static bool get_facts(struct og_verifier *v)
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
    v->said = (struct og_graph){.path = (char *)v->dir,
                                .has_types = d->has_types,
                                .n_nodes = (int64_t)d->n_nodes,
                                .identity = identity};
    return true;
}

/* What the dataset says of them, as far as rows of them may be packed. */
static int get_groups(struct og_verifier *v, struct og_err *err)
{
    const struct og_trace_description *d = &v->description;
    const struct og_trace_type *type = d->type;
    struct og_graph *g = &v->said;
    int64_t first = 0;
    g->n_groups = d->n_types;
    g->group = calloc(g->n_groups, sizeof(*g->group));
    if (!g->group)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", v->dir);
    for (uint32_t k = 0; k < g->n_groups; first = (int64_t)type[k++].end)
        g->group[k] = (struct og_group){.graph = g,
                                        .name = type[k].name,
                                        .first = first,
                                        .n_nodes = (int64_t)type[k].end - first,
                                        .dim = type[k].dim,
                                        .stored = type[k].dtype,
                                        .sparse.room = type[k].room,
                                        .contents = og__form_of(g)->group_contents(g, k)};
    return 0;
}

/* 1: nothing more can be said. */
static int read_description(struct og_verifier *v, struct og_err *err)
{
    struct og_err why = {0};
    int rc = og__trace_describe(&v->description, v->dir, &why);
    if (rc < 0)
        return rc == -EINVAL ? og__verify_judge(v, rc, &why, err)
                             : og__fail(err, rc, why.hint, "%s", why.message);
    if (get_facts(v))
        return get_groups(v, err);
    og__verify_tell(v, anew, "%s/trace.json: lacks what a folder of samples says of itself",
                    v->dir);
    return 1;
}

/* ---- files ---- */

static int verify_file(struct og_verifier *v, const char *file, const json_t *said,
                       struct og_err *err)
{
    struct og_err why = {0};
    uint64_t expected;
    uint64_t found = 0;
    char *path = og__path_join(v->dir, file);
    int rc;
    og__verify_begin(v);
    OG_TRY(path ? og__file_checksum(path, &found, &why)
                : og__fail_errno(&why, -ENOMEM, NULL, "%s", file));
    if (!og__json_hex_get(said, &expected) || expected != found)
        og__verify_tell(v, anew, "%s: checksum %s, trace.json says %.16s", path,
                        og__hex(found).digits,
                        json_is_string(said) ? json_string_value(said) : "none");
out:
    free(path);
    rc = og__verify_judge(v, rc, &why, err);
    return OG_MIN(rc, 0);
}

/* Names come from a file: none of them leads out of the folder. */
static int check_reference(struct og_verifier *v, const char *file)
{
    og__verify_begin(v);
    og__verify_tell(v, anew, "%s/trace.json: checksums: %.60s is not in the folder", v->dir, file);
    return 0;
}

static int verify_files(struct og_verifier *v, struct og_err *err)
{
    const char *file;
    json_t *said;
    json_object_foreach(json_object_get(v->description.root, "checksums"), file, said)
    {
        OG_DO(strchr(file, '/') ? check_reference(v, file) : verify_file(v, file, said, err));
    }
    return 0;
}

/* ---- batches ---- */

static int open_samples(struct og_verifier *v, struct og_err *err)
{
    struct og_err why = {0};
    og__verify_begin(v);
    int rc =
        og__verify_judge(v, og__samples_open(&v->samples, &v->arrays, v->budget, &why), &why, err);
    if (rc != 0 || og__samples_batches(v->samples) == v->draws * v->per_draw)
        return OG_MIN(rc, 0);
    og__verify_tell(v, anew, "%s: %u batches, trace.json says %u draws of %u", v->dir,
                    og__samples_batches(v->samples), v->draws, v->per_draw);
    og__samples_close(v->samples);
    v->samples = NULL;
    return 0;
}

/* n elements of size bytes each. Blocks without edges have no array. */
static bool same(const void *a, const void *b, size_t n, size_t size)
{
    return n == 0 || memcmp(a, b, n * size) == 0;
}

/* For relation r. */
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
    const size_t edges = here[n] - here[0];
    return same(k->dst + k->relation[r], next->dst + next->relation[r], n, sizeof(*k->dst)) &&
           same(k->src + here[0], next->src + there[0], edges, sizeof(*k->src)) &&
           (!k->weight ||
            same(k->weight + here[0], next->weight + there[0], edges, sizeof(*k->weight)));
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
           same(k->indptr, next->indptr, (size_t)k->n_dst + 1, sizeof(*k->indptr)) &&
           same(k->src, next->src, k->n_edges, sizeof(*k->src)) &&
           (!k->weight || same(k->weight, next->weight, k->n_edges, sizeof(*k->weight)));
}

/* With nodes that draw once, a hop begins with the edges of the one before it. */
static void compare_hops(struct og_verifier *v, uint32_t i)
{
    const struct og_batch *b = &v->batch.batch;
    for (uint32_t h = 0; v->once && h + 1 < b->n_hops; h++) {
        if (!all_begin(&b->hop[h], &b->hop[h + 1]))
            og__verify_tell(
                v, anew, "%s: batch %u: hop %u does not begin with hop %u, as --draw once has it",
                v->dir, i, h + 2, h + 1);
    }
}

static int verify_batches(struct og_verifier *v, struct og_err *err)
{
    const uint32_t n = v->samples ? og__samples_batches(v->samples) : 0;
    int rc = 0;
    og__verify_begin(v);
    for (uint32_t i = 0; rc >= 0 && i < n; i++) {
        struct og_err why = {0};
        struct og_io_counts read;
        rc = og__samples_read(v->samples, i, true, &v->batch, &read, &why);
        rc = og__verify_judge(v, rc, &why, err);
        if (rc == 0)
            compare_hops(v, i);
        og__verify_progress(v, i + 1, n);
    }
    og__verify_end(v, v->dir);
    return OG_MIN(rc, 0);
}

/* ---- all of it ---- */

/* Are rows looked up by the same groups? */
static bool same_groups(const struct og_graph *said, const struct og_graph *given)
{
    bool same = said->n_groups == given->n_groups;
    for (uint32_t k = 0; same && k < said->n_groups; k++) {
        const struct og_group *a = &said->group[k];
        const struct og_group *b = &given->group[k];
        same = strcmp(a->name, b->name) == 0 && a->n_nodes == b->n_nodes && a->dim == b->dim &&
               (a->dim == 0 || (a->stored == b->stored && a->sparse.room == b->sparse.room));
    }
    return same;
}

/* Is it the same graph, whose features may differ? Lists of several relations are not known by
 * themselves. */
static bool same_structure(const struct og_graph *said, const struct og_graph *given)
{
    static const enum og__array lists[] = {OG__INDPTR, OG__INDICES};
    bool same = same_groups(said, given);
    for (size_t i = 0; i < OG_COUNT(lists); i++) {
        const uint64_t own = given->identity.array[lists[i]].contents;
        same = same && own != 0 && said->identity.array[lists[i]].contents == own;
    }
    return same;
}

static void close_given(struct og_verifier *v)
{
    og__graph_close(v->given);
    v->given = NULL;
}

/* The dataset that the samples are said to be of. Where it is not, but the same graph, packed rows
 * are compared all the same: it may be only others that changed. */
static int open_given(struct og_verifier *v, const char *dataset, struct og_err *err)
{
    char why[OG__WHY];
    OG_DO(og__graph_open(dataset, &v->given, err));
    const bool same = og__identity_same(&v->said.identity, &v->given->identity, why);
    if (same && v->given->has_types && !v->said.has_types) { /* it does not say of which types */
        close_given(v);
        return 0;
    }
    if (same && same_groups(&v->said, v->given))
        return 0;
    og__verify_begin(v);
    og__verify_tell(v, "sample this dataset: `outgrow sample DATASET --out DIR`",
                    "%s/trace.json: not samples of %s: %s", v->dir, v->given->path,
                    same ? "of other types of nodes" : why);
    if (!same_structure(&v->said, v->given))
        close_given(v);
    return 0;
}

static int verify_all(struct og_verifier *v, const char *dataset, struct og_err *err)
{
    int rc = read_description(v, err);
    if (rc != 0)
        return OG_MIN(rc, 0);
    if (dataset)
        OG_TRY(open_given(v, dataset, err));
    OG_TRY(verify_files(v, err));
    OG_TRY(open_samples(v, err));
    OG_TRY(verify_batches(v, err));
    OG_TRY(og__verify_packs(v, err));
out:
    return rc;
}

int og_verify_samples(const char *samples, const char *dataset,
                      void (*finding)(void *arg, const char *text, const char *hint), void *arg,
                      const struct og_observer *observer, struct og_err *err)
{
    struct og_verifier v = {.dir = samples, .finding = finding, .arg = arg, .observer = observer};
    struct og_verify_room *const rooms[] = {&v.misses, &v.spare, &v.chunk, &v.rows};
    int rc = OG_SIZED(observer, "og_observer", err);
    if (rc < 0)
        return rc;
    v.budget = og__budget_new(og__memory_amount(&(struct og_amount){.unit = OG_UNSET}));
    if (!v.budget)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", samples);
    og__batch_init(&v.batch, v.budget);
    rc = verify_all(&v, dataset, err);
    close_given(&v);
    og__samples_close(v.samples);
    og__batch_release(&v.batch);
    for (size_t i = 0; i < OG_COUNT(rooms); i++)
        og__release(v.budget, rooms[i]->data, rooms[i]->bytes, OG__VERIFY_PART);
    og__release(v.budget, v.cached, og__bits_words(v.arrays.n_nodes) * sizeof(*v.cached),
                OG__VERIFY_PART);
    og__budget_free(v.budget);
    free(v.said.group);
    og__trace_description_release(&v.description);
    return rc < 0 ? rc : v.n_findings;
}
