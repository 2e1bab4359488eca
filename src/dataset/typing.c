#include "dataset/typing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- types and relations ---- */

int og__typing_init(struct og_typing *t, struct og_err *err)
{
    *t = (struct og_typing){0};
    t->type = calloc(OG_MOST_TYPES, sizeof(*t->type));
    t->relation = calloc(OG_MOST_RELATIONS, sizeof(*t->relation));
    if (t->type && t->relation)
        return 0;
    og__typing_release(t);
    return og__fail_errno(err, -ENOMEM, NULL, "types");
}

void og__typing_release(struct og_typing *t)
{
    for (uint32_t i = 0; t->type && i < t->n_types; i++)
        free(t->type[i].name);
    for (uint32_t i = 0; t->relation && i < t->n_relations; i++)
        free(t->relation[i].name);
    free(t->type);
    free(t->relation);
    *t = (struct og_typing){0};
}

int og__typing_find(const struct og_typing *t, const char *name)
{
    for (uint32_t i = 0; i < t->n_types; i++)
        if (strcmp(t->type[i].name, name) == 0)
            return (int)i;
    return -1;
}

int og__typing_add_type(struct og_typing *t, const char *name, int64_t count, const char *said_by,
                        struct og_err *err)
{
    int rc = og__check_type_name(name, said_by, err);
    if (rc < 0)
        return rc;
    if (og__typing_find(t, name) >= 0)
        return og__fail(err, -EINVAL, "types have names of their own", "%s: type '%s' twice",
                        said_by, name);
    if (count < 1 || count >= UINT32_MAX - 1)
        return og__fail(err, -EINVAL, "from 1 to 4294967293 nodes", "%s: type '%s': %lld nodes",
                        said_by, name, (long long)count);
    if (t->n_types == OG_MOST_TYPES)
        return og__fail(err, -EINVAL, "256 types at most", "%s: too many types of nodes", said_by);
    struct og_typing_type type = {.name = strdup(name), .count = count};
    if (!type.name)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", said_by);
    t->type[t->n_types++] = type;
    return 0;
}

int og__typing_add_relation(struct og_typing *t, uint32_t source, const char *name,
                            uint32_t destination, const char *said_by, struct og_err *err)
{
    int rc = og__check_type_name(name, said_by, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < t->n_relations; i++) {
        const struct og_typing_relation *r = &t->relation[i];
        if (r->source == source && r->destination == destination && strcmp(r->name, name) == 0)
            return og__fail(err, -EINVAL, "relations differ in source, name or destination",
                            "%s: relation '%s' from '%s' to '%s' twice", said_by, name,
                            t->type[source].name, t->type[destination].name);
    }
    if (t->n_relations == OG_MOST_RELATIONS)
        return og__fail(err, -EINVAL, "1024 relations at most, reverses among them",
                        "%s: too many relations", said_by);
    struct og_typing_relation r = {
        .name = strdup(name), .source = source, .destination = destination};
    if (!r.name)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", said_by);
    t->relation[t->n_relations++] = r;
    return 0;
}

static int add_reverses(struct og_typing *t, const char *said_by, struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < t->n_forward; i++) {
        const struct og_typing_relation r = t->relation[i];
        char name[OG__TYPE_NAME_MAX + 8];
        snprintf(name, sizeof(name), "rev_%s", r.name);
        OG_TRY(og__typing_add_relation(t, r.destination, name, r.source, said_by, err));
    }
out:
    return rc;
}

int og__typing_settle(struct og_typing *t, bool reverses, const char *said_by, struct og_err *err)
{
    int rc = 0;
    t->n_forward = t->n_relations;
    t->n_nodes = t->n_rows = 0;
    if (reverses)
        OG_TRY(add_reverses(t, said_by, err));
    for (uint32_t i = 0; i < t->n_types; i++) {
        t->type[i].first = t->n_nodes;
        t->n_nodes += t->type[i].count;
    }
    for (uint32_t i = 0; i < t->n_relations; i++) {
        t->relation[i].row = t->n_rows;
        t->n_rows += t->type[t->relation[i].destination].count;
    }
    if (t->n_nodes >= UINT32_MAX - 1 || t->n_rows >= UINT32_MAX - 1)
        OG_TRY(og__fail(err, -EINVAL, "fewer than 2^32 - 1 of each",
                        "%s: %lld nodes, %lld lists of all relations", said_by,
                        (long long)t->n_nodes, (long long)t->n_rows));
out:
    return rc;
}

/* ---- edges ---- */

int64_t og__typing_sorted_nodes(const struct og_typing *t)
{
    int64_t n = t->n_rows;
    for (uint32_t i = 0; i < t->n_types; i++)
        n = OG_MAX(n, t->type[i].count);
    return n;
}

int og__typing_add_edges(const struct og_typing *t, struct og_edge_sorter *sorter,
                         const struct og_typed_edges *e, struct og_err *err)
{
    for (size_t i = 0; i < e->n; i++)
        e->rows[i] = (uint32_t)t->relation[e->relation[i]].row + e->dst[i];
    int rc = og__sorter_add(sorter, e->src, e->rows, e->weight, e->n, err);
    if (rc < 0 || t->n_forward == t->n_relations)
        return rc;
    for (size_t i = 0; i < e->n; i++)
        e->rows[i] = (uint32_t)t->relation[t->n_forward + e->relation[i]].row + e->src[i];
    return og__sorter_add(sorter, e->dst, e->rows, e->weight, e->n, err);
}

/* ---- what the sorter wrote, cut ---- */

enum { PIECE = 8192 };

struct cutting {
    const struct og_typing *t;
    const char *folder;
    json_t *checksums;
    struct og_npy indptr, indices, weights;
};

static int open_sorted(const struct cutting *c, const char *name, struct og_npy *a,
                       struct og_err *err)
{
    char *path = og__path_join(c->folder, name);
    int rc = path ? og__npy_open(a, path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    free(path);
    return rc;
}

static int create(const struct cutting *c, uint32_t r, const char *array, enum og__npy_type type,
                  char name[32], struct og_npy_writer **w, struct og_err *err)
{
    snprintf(name, 32, "rel%u_%s.npy", r, array);
    char *path = og__path_join(c->folder, name);
    int rc = path ? og__npy_create(w, path, type, 1, 1, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", name);
    free(path);
    return rc;
}

static int finish(const struct cutting *c, const char *name, struct og_npy_writer **w,
                  struct og_err *err)
{
    uint64_t checksum;
    int rc = og__npy_finish(*w, &checksum, err);
    *w = NULL;
    return rc < 0 ? rc : og__meta_set_checksum(c->checksums, name, checksum, err);
}

/* Entries [row, row + count] less the first; which edges they are. */
static int cut_indptr(const struct cutting *c, uint32_t r, int64_t *first, int64_t *end,
                      struct og_err *err)
{
    const struct og_typing_relation *rel = &c->t->relation[r];
    const int64_t count = c->t->type[rel->destination].count + 1;
    struct og_npy_writer *w = NULL;
    int64_t piece[PIECE];
    char name[32];
    int rc;
    OG_TRY(create(c, r, "indptr", OG__NPY_I64, name, &w, err));
    OG_TRY(og__npy_read_int64(&c->indptr, rel->row, 1, first, err));
    for (int64_t at = 0, n; at < count; at += n) {
        n = OG_MIN(count - at, (int64_t)PIECE);
        OG_TRY(og__npy_read_int64(&c->indptr, rel->row + at, n, piece, err));
        *end = piece[n - 1];
        for (int64_t i = 0; i < n; i++)
            piece[i] -= *first;
        OG_TRY(og__npy_append(w, piece, n, err));
    }
    OG_TRY(finish(c, name, &w, err));
out:
    og__npy_discard(w);
    return rc;
}

static int cut_indices(const struct cutting *c, uint32_t r, int64_t first, int64_t end,
                       struct og_err *err)
{
    const bool narrow = c->t->type[c->t->relation[r].source].count <= INT32_MAX;
    struct og_npy_writer *w = NULL;
    int64_t piece[PIECE];
    int32_t small[PIECE];
    char name[32];
    int rc;
    OG_TRY(create(c, r, "indices", narrow ? OG__NPY_I32 : OG__NPY_I64, name, &w, err));
    for (int64_t n; first < end; first += n) {
        n = OG_MIN(end - first, (int64_t)PIECE);
        OG_TRY(og__npy_read_int64(&c->indices, first, n, piece, err));
        for (int64_t i = 0; narrow && i < n; i++)
            small[i] = (int32_t)piece[i];
        OG_TRY(og__npy_append(w, narrow ? (void *)small : (void *)piece, n, err));
    }
    OG_TRY(finish(c, name, &w, err));
out:
    og__npy_discard(w);
    return rc;
}

static int cut_weights(const struct cutting *c, uint32_t r, int64_t first, int64_t end,
                       struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    float piece[PIECE];
    char name[32];
    int rc;
    OG_TRY(create(c, r, "weights", OG__NPY_F32, name, &w, err));
    for (int64_t n; first < end; first += n) {
        n = OG_MIN(end - first, (int64_t)PIECE);
        OG_TRY(og__npy_read(&c->weights, first, n, piece, err));
        OG_TRY(og__npy_append(w, piece, n, err));
    }
    OG_TRY(finish(c, name, &w, err));
out:
    og__npy_discard(w);
    return rc;
}

static int drop(struct og_npy *a, struct og_err *err)
{
    if (a->fd < 0 || unlink(a->path) == 0)
        return 0;
    return og__fail_errno(err, -errno, NULL, "%s", a->path);
}

int og__typing_split(struct og_typing *t, const char *folder, bool weighted, json_t *checksums,
                     struct og_err *err)
{
    struct cutting c = {.t = t,
                        .folder = folder,
                        .checksums = checksums,
                        .indptr = {.fd = -1},
                        .indices = {.fd = -1},
                        .weights = {.fd = -1}};
    int rc;
    OG_TRY(open_sorted(&c, "indptr.npy", &c.indptr, err));
    OG_TRY(open_sorted(&c, "indices.npy", &c.indices, err));
    if (weighted)
        OG_TRY(open_sorted(&c, "weights.npy", &c.weights, err));
    t->n_edges = 0;
    for (uint32_t r = 0; r < t->n_relations; r++) {
        int64_t first = 0;
        int64_t end = 0;
        OG_TRY(cut_indptr(&c, r, &first, &end, err));
        OG_TRY(cut_indices(&c, r, first, end, err));
        if (weighted)
            OG_TRY(cut_weights(&c, r, first, end, err));
        t->relation[r].n_edges = end - first;
        t->n_edges += end - first;
    }
    OG_TRY(drop(&c.indptr, err));
    OG_TRY(drop(&c.indices, err));
    OG_TRY(drop(&c.weights, err));
out:
    og__npy_close(&c.indptr);
    og__npy_close(&c.indices);
    og__npy_close(&c.weights);
    return rc;
}

/* ---- meta.json ---- */

json_t *og__typing_types_json(const struct og_typing *t)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < t->n_types; i++) {
        const struct og_typing_type *type = &t->type[i];
        json_t *one = json_pack("{s:s s:I}", "name", type->name, "count", (json_int_t)type->count);
        if (type->dim > 0) {
            one = og__json_with(one, "feature_dim", json_integer(type->dim));
            one = og__json_with(one, "feature_dtype", json_string(og__dtype_name(type->dtype)));
        }
        list = og__json_append(list, one);
    }
    return list;
}

json_t *og__typing_relations_json(const struct og_typing *t)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < t->n_relations; i++) {
        const struct og_typing_relation *r = &t->relation[i];
        list = og__json_append(list, json_pack("{s:s s:s s:s s:I}", "source",
                                               t->type[r->source].name, "name", r->name,
                                               "destination", t->type[r->destination].name,
                                               "num_edges", (json_int_t)r->n_edges));
    }
    return list;
}
