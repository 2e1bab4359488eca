/* Lists of nodes or edges -> train.npy and its like. */
#include "dataset/import/import.h"

static const char part[] = "import";

static void swap_ends(int64_t *ids, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        int64_t src = ids[2 * i + 1];
        ids[2 * i + 1] = ids[2 * i];
        ids[2 * i] = src;
    }
}

/* Nodes that a list has had: a bit each. Without (NULL, where memory has no room for them) nothing
 * is told here, but when the list is loaded. */
static int note_id(uint64_t *seen, const struct og_table *t, int64_t row, int64_t id,
                   struct og_err *err)
{
    static const char hint[] = "remove the repeated ids (numpy.unique)";
    uint64_t bit = (uint64_t)1 << id % 64;
    if (seen && (seen[id / 64] & bit))
        return t->ops->id_of
                   ? og__fail(err, -EINVAL, hint, "%s: %s is listed twice", t->name,
                              og__table_place(t, id, -1).text)
                   : og__fail(err, -EINVAL, hint, "%s: row %lld: node %lld is listed twice",
                              t->name, (long long)row, (long long)id);
    if (seen)
        seen[id / 64] |= bit;
    return 0;
}

static int copy_ids(struct og_importer *imp, struct og_table *t, uint64_t *seen,
                    struct og_npy_writer *w, struct og_err *err)
{
    enum { IDS = 8192 };
    int64_t raw[IDS];
    int64_t ids[IDS];
    const int64_t width = t->columns;
    int64_t done = 0;
    int rc = 0;
    for (int64_t n = 1; n > 0; done += n) {
        OG_TRY(og__table_read(t, raw, IDS / width, &n, err));
        og__npy_widen(t->type, raw, (size_t)(n * width), ids);
        for (int64_t i = 0; i < n * width; i++) {
            if (ids[i] < 0 || ids[i] >= imp->n_nodes)
                OG_TRY(og__fail(err, -EINVAL, "ids count from 0", "%s: row %lld: node %lld of %lld",
                                t->name, (long long)(done + i / width), (long long)ids[i],
                                (long long)imp->n_nodes));
            OG_TRY(note_id(seen, t, done + i, ids[i], err));
        }
        for (int64_t i = 0; imp->new_id && i < n * width; i++)
            ids[i] = imp->new_id[ids[i]];
        if (width == 2 && imp->opt->reverse)
            swap_ends(ids, n);
        OG_TRY(og__npy_append(w, ids, n, err));
    }
    if (done == 0 && t->ops->id_of)
        OG_TRY(og__fail(err, -EINVAL, "one id a line; or remove it", "%s: no ids", t->name));
out:
    return rc;
}

static int check_list(const struct og_table *t, int width, struct og_err *err)
{
    if (og__npy_is_integer(t->type) && t->columns == width)
        return 0;
    if (t->rows < 0)
        return og__fail(err, -EINVAL, "a list of node ids, one a line", "%s: %lld columns", t->name,
                        (long long)t->columns);
    return og__fail(err, -EINVAL,
                    width == 1 ? "a list of node ids, int64" : "one row an edge: src, dst",
                    "%s: %s [%lld, %lld]", t->name, og__npy_name(t->type), (long long)t->rows,
                    (long long)t->columns);
}

static int import_list(struct og_importer *imp, struct og_table *t, const char *name, int width,
                       struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    size_t seen_bytes = (size_t)(imp->n_nodes / 64 + 1) * sizeof(uint64_t);
    uint64_t *seen = NULL;
    int rc;
    OG_TRY(check_list(t, width, err));
    OG_TRY(og__import_create(imp, &w, name, OG__NPY_I64, width, width, err));
    if (width == 1 && seen_bytes <= og__budget_left(imp->budget) &&
        !(seen = og__alloc(imp->budget, seen_bytes, part, err)))
        OG_TRY(-ENOMEM);
    OG_TRY(copy_ids(imp, t, seen, w, err));
    rc = og__import_finish(imp, w, name, err);
    w = NULL;
out:
    og__release(imp->budget, seen, seen_bytes, part);
    og__npy_discard(w);
    return rc;
}

int og__import_split(struct og_importer *imp, struct og_table *t, const char *name,
                     struct og_err *err)
{
    return import_list(imp, t, name, 1, err);
}

int og__import_edge_split(struct og_importer *imp, struct og_table *t, const char *name,
                          struct og_err *err)
{
    return import_list(imp, t, name, 2, err);
}
