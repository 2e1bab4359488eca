#include "dataset/identity.h"

#include "base/hex.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { PAGE = 4096, PAGES = 256, PIECE = 16 * PAGE };

static uint64_t mix(uint64_t sum, const void *data, size_t bytes)
{
    return XXH3_64bits_withSeed(data, bytes, sum);
}

/* ---- the contents of an array ---- */

/* Byte offset in the elements of sampled page k. It is the first page, the last, or one at random
 * within one of the equal parts between them. So no period of the array aligns with the pages. */
static int64_t page_at(int64_t bytes, uint64_t k)
{
    const uint64_t pages = (uint64_t)bytes / PAGE;
    const uint64_t from = k * pages / PAGES;
    const uint64_t to = (k + 1) * pages / PAGES;
    if (k == 0)
        return 0;
    if (k == PAGES - 1)
        return bytes - PAGE;
    return (int64_t)(from + XXH3_64bits(&k, sizeof(k)) % (to - from)) * PAGE;
}

/* Requests all pages before the first wait: a disk serves them in parallel. */
static int look_at_pages(const struct og_npy *a, char *buffer, uint64_t *sum, struct og_err *err)
{
    for (uint64_t k = 0; k < PAGES; k++) {
        const struct og_npy_piece p = og__npy_piece(a, page_at(a->bytes, k), PAGE);
        posix_fadvise(p.file->fd, p.at, (off_t)p.bytes, POSIX_FADV_WILLNEED);
    }
    for (uint64_t k = 0; k < PAGES; k++) {
        OG_DO(og__npy_read_bytes(a, page_at(a->bytes, k), PAGE, buffer, err));
        *sum = mix(*sum, buffer, PAGE);
    }
    return 0;
}

static int look_at_all(const struct og_npy *a, char *buffer, uint64_t *sum, struct og_err *err)
{
    for (int64_t at = 0; at < a->bytes; at += PIECE) {
        size_t n = (size_t)OG_MIN(a->bytes - at, (int64_t)PIECE);
        OG_DO(og__npy_read_bytes(a, at, n, buffer, err));
        *sum = mix(*sum, buffer, n);
    }
    return 0;
}

static int look_at(const struct og_npy *a, char *buffer, uint64_t *sum, struct og_err *err)
{
    const int64_t shape[] = {(int64_t)a->type, a->ndim, a->shape[0], a->shape[1]};
    *sum = mix(0, shape, sizeof(shape));
    return a->bytes > (int64_t)PAGES * PAGE ? look_at_pages(a, buffer, sum, err)
                                            : look_at_all(a, buffer, sum, err);
}

int og__array_contents(const struct og_npy *a, uint64_t *sum, struct og_err *err)
{
    char *buffer = malloc(PIECE);
    int rc =
        buffer ? look_at(a, buffer, sum, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", a->path);
    free(buffer);
    return rc;
}

/* The checksum that meta.json has for it; of one in parts, for the file that it was in. */
static uint64_t declared(const struct og_meta *m, enum og__array a, uint64_t sum)
{
    char file[32];
    const json_t *all = json_object_get(m->root, "checksums");
    const json_t *own = json_object_get(json_object_get(m->root, "files"), og__array_name(a));
    snprintf(file, sizeof(file), "%s.npy", og__array_name(a));
    const char *said = m->file[a].stripes.parts
                           ? json_string_value(json_object_get(own, "checksum"))
                           : json_string_value(json_object_get(all, file));
    return said ? mix(sum, said, strlen(said)) : sum;
}

/* ---- the state of its file ---- */

/* A file's identity and state. */
struct file_state {
    uint64_t file[3];    /* inode and birth */
    uint64_t written[3]; /* size and time of the last change */
    bool has_birth;
};

/* Old kernels and some sandboxes lack statx, and some file systems lack birth times. */
static int stat_file(const struct og_npy *a, struct file_state *s, struct og_err *err)
{
    struct statx st = {0};
    struct stat plain;
    int rc = statx(a->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st);
    if (rc < 0 && (errno == ENOSYS || errno == EPERM) && (rc = fstat(a->fd, &plain)) == 0) {
        st.stx_size = (uint64_t)plain.st_size;
        st.stx_mtime.tv_sec = plain.st_mtim.tv_sec;
        st.stx_mtime.tv_nsec = (uint32_t)plain.st_mtim.tv_nsec;
    }
    if (rc < 0)
        return og__fail_errno(err, -errno, NULL, "%s", a->path);
    *s = (struct file_state){
        .file = {st.stx_ino, (uint64_t)st.stx_btime.tv_sec, st.stx_btime.tv_nsec},
        .written = {st.stx_size, (uint64_t)st.stx_mtime.tv_sec, st.stx_mtime.tv_nsec},
        .has_birth = st.stx_mask & STATX_BTIME};
    return 0;
}

static bool is_later(const uint64_t a[3], const uint64_t b[3])
{
    return (int64_t)a[1] > (int64_t)b[1] || (a[1] == b[1] && a[2] > b[2]);
}

/* An array in parts counts as one file. Its length is the original file's, or that of one with the
 * first part's header. */
static int look_at_parts(const struct og_npy *a, const struct og_meta_file *declared,
                         struct og_array_state *s, struct og_err *err)
{
    const struct og_npy_parts *all = a->parts;
    const int64_t whole = declared->whole;
    uint64_t written[3] = {(uint64_t)(whole >= 0 ? whole : all->part[0].offset + a->bytes), 0, 0};
    bool has_birth = true;
    for (uint32_t p = 0; p < all->stripes.parts; p++) {
        struct file_state one = {0};
        OG_DO(stat_file(&all->part[p], &one, err));
        if (p == 0 || is_later(one.written, written))
            memcpy(&written[1], &one.written[1], 2 * sizeof(*written));
        s->file = mix(s->file, one.file, sizeof(one.file));
        has_birth &= one.has_birth;
    }
    s->written = mix(0, written, sizeof(written));
    s->file = has_birth ? s->file : 0;
    return 0;
}

static int look_at_file(const struct og_npy *a, const struct og_meta_file *declared,
                        struct og_array_state *s, struct og_err *err)
{
    struct file_state one = {0};
    if (a->parts)
        return look_at_parts(a, declared, s, err);
    OG_DO(stat_file(a, &one, err));
    s->written = mix(0, one.written, sizeof(one.written));
    s->file = one.has_birth ? mix(0, one.file, sizeof(one.file)) : 0;
    return 0;
}

/* ---- a graph ---- */

/* Earlier releases had no such array. An absent one leaves no trace, so files of theirs stay valid.
 */
static bool came_later(enum og__array a)
{
    return a == OG__EDGE_IDS || a == OG__EDGE_FEATURES || a == OG__EDGE_TIMES ||
           a == OG__NODE_TIMES;
}

/* Hashes declarations of meta.json that the arrays do not contain. */
static uint64_t meaning(const struct og_graph *g)
{
    const int64_t values = g->regression + g->shares;
    const int64_t workload[] = {g->n_classes, g->group->stored, values, g->symmetric};
    return mix(0, workload, sizeof(workload));
}

/* What rows mean beyond their bytes. */
static uint64_t mix_scales(uint64_t sum, const struct og_group *g)
{
    const int64_t sparse[] = {g->dim, g->sparse.room, g->sparse.longest};
    if (g->sparse.room > 0)
        sum = mix(sum, sparse, sizeof(sparse));
    if (g->rest_bytes)
        sum = mix(sum, g->rest_bytes, (size_t)g->rest.shape[0]);
    return g->scale ? mix(sum, g->scale, (size_t)g->dim * sizeof(*g->scale)) : sum;
}

int og__identify_arrays(struct og_graph *g, const struct og_meta *m, struct og_err *err)
{
    int rc = 0;
    struct og_identity *id = &g->identity;
    char *buffer = malloc(PIECE);
    if (!buffer)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    *id = (struct og_identity){.contents = meaning(g)};
    for (enum og__array a = 0; a < OG__ARRAYS; a++) {
        const struct og_npy *array = og__array_of(g, a);
        struct og_array_state *s = &id->array[a];
        if (!og__npy_there(array))
            continue;
        OG_TRY(look_at(array, buffer, &s->contents, err));
        OG_TRY(look_at_file(array, &m->file[a], s, err));
        s->contents = m->file[a].workers ? m->file[a].contents : declared(m, a, s->contents);
    }
    for (enum og__array a = 0; a < OG__ARRAYS; a++)
        if (id->array[a].contents || !came_later(a))
            id->contents = mix(id->contents, &id->array[a].contents, sizeof(uint64_t));
    for (enum og__split s = OG__TRAIN; s < OG__SPLITS; s++) {
        uint64_t contents = 0;
        if (!og__npy_there(&g->negatives[s]))
            continue;
        OG_TRY(look_at(&g->negatives[s], buffer, &contents, err));
        id->contents = mix(id->contents, &contents, sizeof(contents));
    }
    for (int i = 0; i < OG__LISTED * OG__SPLITS; i++) {
        const struct og_npy *a = &g->listed[i / OG__SPLITS][i % OG__SPLITS];
        uint64_t contents = 0;
        if (!og__npy_there(a))
            continue;
        OG_TRY(look_at(a, buffer, &contents, err));
        id->contents = mix(id->contents, &contents, sizeof(contents));
    }
    id->contents = mix_scales(id->contents, g->group);
out:
    free(buffer);
    return rc;
}

/* A heterogeneous graph has one hash, of the values and arrays of each part in turn. A part has the
 * fields of a format 1 graph, most of them 0 or absent. */
struct part {
    int64_t n_nodes, n_sources, n_edges, dim, dtype, n_classes, regression;
};

static int mix_array(uint64_t *sum, const struct og_npy *a, struct og_err *err)
{
    uint64_t one = 0;
    int rc = a && og__npy_there(a) ? og__array_contents(a, &one, err) : 0;
    *sum = mix(*sum, &one, sizeof(one));
    return rc;
}

static int mix_part(uint64_t *sum, const struct part *p, const struct og_npy *const *array,
                    struct og_err *err)
{
    *sum = mix(*sum, p, sizeof(*p));
    for (enum og__array a = 0; a < OG__ARRAYS; a++)
        if (!came_later(a) || (array[a] && og__npy_there(array[a])))
            OG_DO(mix_array(sum, array[a], err));
    return 0;
}

static int mix_lists(uint64_t *sum, struct og_graph *g, struct og_err *err)
{
    const struct og_npy *array[OG__ARRAYS] = {NULL};
    const struct part p = {.n_nodes = g->n_nodes,
                           .n_sources = g->n_nodes,
                           .n_edges = g->n_edges,
                           .n_classes = g->n_classes,
                           .regression = g->regression + g->shares};
    for (enum og__array a = OG__LABELS; a < OG__ARRAYS; a++)
        array[a] = og__array_of(g, a);
    return mix_part(sum, &p, array, err);
}

static int mix_group(uint64_t *sum, const struct og_group *g, struct og_err *err)
{
    const struct og_npy *array[OG__ARRAYS] = {[OG__FEATURES] = &g->rows};
    const struct part p = {
        .n_nodes = g->n_nodes, .n_sources = g->n_nodes, .dim = g->dim, .dtype = g->stored};
    *sum = mix_scales(mix(*sum, g->name, strlen(g->name) + 1), g);
    return mix_part(sum, &p, array, err);
}

static int mix_relation(uint64_t *sum, const struct og_relation *r, struct og_err *err)
{
    const struct og_npy *array[OG__ARRAYS] = {[OG__INDPTR] = &r->indptr,
                                              [OG__INDICES] = &r->indices,
                                              [OG__WEIGHTS] = &r->weights,
                                              [OG__EDGE_IDS] = &r->edge_ids,
                                              [OG__EDGE_FEATURES] = &r->edges.rows,
                                              [OG__EDGE_TIMES] = &r->edge_times};
    const struct part p = {.n_nodes = r->n_nodes, .n_sources = r->n_sources, .n_edges = r->n_edges};
    const uint32_t ends[] = {r->source, r->destination};
    *sum = mix(*sum, r->name, strlen(r->name) + 1);
    *sum = mix(*sum, ends, sizeof(ends));
    return mix_part(sum, &p, array, err);
}

int og__identify_parts(struct og_graph *g, const struct og_meta *m, struct og_err *err)
{
    uint64_t *sum = &g->identity.contents;
    (void)m;
    OG_DO(mix_lists(sum, g, err));
    for (uint32_t k = 0; k < g->n_groups; k++)
        OG_DO(mix_group(sum, &g->group[k], err));
    for (uint32_t r = 0; r < g->n_relations; r++)
        OG_DO(mix_relation(sum, &g->relation[r], err));
    for (int s = 0; s < OG__SPLITS; s++) {
        if (g->edge_relations[s].fd >= 0)
            OG_DO(mix_array(sum, &g->edge_relations[s], err));
        for (int i = 0; i < OG__LISTED; i++)
            if (g->listed[i][s].fd >= 0)
                OG_DO(mix_array(sum, &g->listed[i][s], err));
    }
    return 0;
}

uint64_t og__contents_of_all(const struct og_graph *g, uint32_t group)
{
    (void)group;
    return g->identity.contents;
}

uint64_t og__contents_of_group(const struct og_graph *g, uint32_t group)
{
    return mix(g->identity.contents, &group, sizeof(group));
}

int og__graph_identify(struct og_graph *g, const struct og_meta *m, struct og_err *err)
{
    const int rc = og__form_of(g)->identify(g, m, err);
    for (uint32_t k = 0; k < g->n_groups; k++)
        g->group[k].contents = og__form_of(g)->group_contents(g, k);
    return rc;
}

static int mix_file(uint64_t *sum, const struct og_npy *a, struct og_err *err)
{
    struct file_state one = {0};
    const int rc = og__npy_there(a) ? stat_file(a, &one, err) : 0;
    *sum = mix(*sum, one.file, sizeof(one.file));
    *sum = mix(*sum, one.written, sizeof(one.written));
    return rc;
}

/* The identity of a heterogeneous graph has contents alone. */
static int mix_files(uint64_t *sum, const struct og_graph *g, bool weights, struct og_err *err)
{
    for (uint32_t r = 0; r < g->n_relations; r++) {
        OG_DO(mix_file(sum, &g->relation[r].indptr, err));
        OG_DO(mix_file(sum, &g->relation[r].indices, err));
        if (weights)
            OG_DO(mix_file(sum, &g->relation[r].weights, err));
    }
    return 0;
}

int og__structure_state(const struct og_graph *g, bool weights, uint64_t *state, struct og_err *err)
{
    const struct og_identity *id = &g->identity;
    if (g->has_types) {
        *state = id->contents;
        return mix_files(state, g, weights, err);
    }
    *state = mix(0, &id->array[OG__INDPTR], sizeof(id->array[0]));
    *state = mix(*state, &id->array[OG__INDICES], sizeof(id->array[0]));
    if (weights)
        *state = mix(*state, &id->array[OG__WEIGHTS], sizeof(id->array[0]));
    return 0;
}

uint64_t og__dataset_state(const struct og_identity *id)
{
    return mix(id->contents, id->array, sizeof(id->array));
}

/* ---- then and now ---- */

/* The array that has a contents of its own; OG__ARRAYS where more than one has, or none. */
static enum og__array odd_one(const struct og_identity *then, const struct og_identity *now)
{
    enum og__array odd = OG__ARRAYS;
    for (enum og__array a = 0; a < OG__ARRAYS; a++) {
        if (then->array[a].contents == now->array[a].contents)
            continue;
        if (odd < OG__ARRAYS)
            return OG__ARRAYS;
        odd = a;
    }
    return odd;
}

static bool same_file(const struct og_array_state *then, const struct og_array_state *now)
{
    return then->file && then->file == now->file;
}

static bool is_of(const struct og_identity *then, const struct og_identity *now)
{
    for (enum og__array a = 0; a < OG__ARRAYS; a++)
        if (same_file(&then->array[a], &now->array[a]))
            return true;
    return false;
}

bool og__identity_same(const struct og_identity *then, const struct og_identity *now,
                       char why[OG__WHY])
{
    const bool those = is_of(then, now);
    if (then->contents != now->contents) {
        enum og__array odd = odd_one(then, now);
        snprintf(why, OG__WHY, "of another dataset");
        if (odd < OG__ARRAYS)
            snprintf(why, OG__WHY, "%s.npy has other contents", og__array_name(odd));
        return false;
    }
    for (enum og__array a = 0; a < OG__ARRAYS; a++) {
        const struct og_array_state *before = &then->array[a];
        const struct og_array_state *after = &now->array[a];
        if (!those || !before->file || !after->file || before->written == after->written)
            continue;
        snprintf(why, OG__WHY, "%s.npy was %s since", og__array_name(a),
                 same_file(before, after) ? "written to" : "replaced");
        return false;
    }
    return true;
}

/* ---- as text ---- */

static const char key_contents[] = "dataset_checksum";
static const char key_files[] = "dataset_files";

json_t *og__identity_with(json_t *root, const struct og_identity *id)
{
    json_t *files = json_object();
    for (enum og__array a = 0; a < OG__ARRAYS; a++) {
        const struct og_array_state *s = &id->array[a];
        if (!s->contents)
            continue;
        json_t *numbers = og__json_append(json_array(), og__json_hex(s->contents));
        numbers = og__json_append(numbers, og__json_hex(s->file));
        numbers = og__json_append(numbers, og__json_hex(s->written));
        files = og__json_with(files, og__array_name(a), numbers);
    }
    root = og__json_with(root, key_contents, og__json_hex(id->contents));
    return og__json_with(root, key_files, files);
}

bool og__identity_get(const json_t *root, struct og_identity *id)
{
    const json_t *files = json_object_get(root, key_files);
    *id = (struct og_identity){0};
    for (enum og__array a = 0; a < OG__ARRAYS; a++) {
        const json_t *numbers = json_object_get(files, og__array_name(a));
        struct og_array_state *s = &id->array[a];
        if (!og__json_hex_get(json_array_get(numbers, 0), &s->contents) ||
            !og__json_hex_get(json_array_get(numbers, 1), &s->file) ||
            !og__json_hex_get(json_array_get(numbers, 2), &s->written))
            *s = (struct og_array_state){0};
    }
    return og__json_hex_get(json_object_get(root, key_contents), &id->contents);
}
