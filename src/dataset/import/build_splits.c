/* Lists of nodes or edges -> train.npy and its like. A list of nodes is of ids, or a mask. */
#include "dataset/import/random_split.h"

#include "dataset/convert.h"

#include <math.h>
#include <string.h>

static const char part[] = "import";

static void swap_ends(int64_t *ids, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        int64_t src = ids[2 * i + 1];
        ids[2 * i + 1] = ids[2 * i];
        ids[2 * i] = src;
    }
}

/* Marks a node of a list, one bit a node. Without the bits (NULL, for lack of memory) only loading
 * the list finds duplicates. */
static int note_id(uint64_t *seen, const struct og_table *t, int64_t row, int64_t id,
                   struct og_err *err)
{
    const char *hint = id <= 1
                           ? "a mask has an entry for every node; or write the ids of its nodes "
                             "(numpy.flatnonzero)"
                           : "remove the repeated ids (numpy.unique)";
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

enum { IDS = 8192 };

/* edges: a row is an edge, src and dst. */
static int copy_ids(struct og_importer *imp, struct og_table *t, int64_t nodes, bool edges,
                    uint64_t *seen, struct og_npy_writer *w, struct og_err *err)
{
    int64_t raw[IDS];
    int64_t ids[IDS];
    const int64_t width = t->columns;
    int64_t done = 0;
    for (int64_t n = 1; n > 0; done += n) {
        OG_DO(og__table_read(t, raw, IDS / width, &n, err));
        og__npy_widen(t->type, raw, (size_t)(n * width), ids);
        for (int64_t i = 0; i < n * width; i++) {
            if (ids[i] < 0 || ids[i] >= nodes)
                return og__fail(err, -EINVAL,
                                nodes < imp->graph.n_nodes ? "ids count from 0 within the type"
                                                           : "ids count from 0",
                                "%s: row %lld: node %lld of %lld", t->name,
                                (long long)(done + i / width), (long long)ids[i], (long long)nodes);
            OG_DO(note_id(seen, t, done + i, ids[i], err));
        }
        for (int64_t i = 0; imp->new_id && i < n * width; i++)
            ids[i] = imp->new_id[ids[i]];
        if (edges && imp->opt->reverse)
            swap_ends(ids, n);
        OG_DO(og__npy_append(w, ids, n, err));
    }
    if (done == 0 && t->ops->id_of)
        return og__fail(err, -EINVAL, "one id a line; or remove it", "%s: no ids", t->name);
    return 0;
}

/* ---- masks: a flag a node, or several, of which --split-column takes one ---- */

/* Reads the flags of the next nodes, at most IDS. Sets *n = 0 at the end; and at a value that is no
 * flag, with *flags false. */
static int next_flags(const struct og_piece *p, int64_t column, bool out[IDS], int64_t *n,
                      bool *flags, struct og_err *err)
{
    const struct og_table *t = p->t;
    int rc = og__table_read(p->t, p->raw, OG_MIN(p->room, (int64_t)IDS), n, err);
    *flags = true;
    for (int64_t i = 0; rc >= 0 && i < *n; i++) {
        /* a double holds every flag, and of other numbers it does not make one */
        const double x = og__number_at(t->type, p->raw, (size_t)(i * t->columns + column));
        out[i] = x == 1;
        *flags = *flags && (x == 0 || x == 1);
    }
    if (!*flags)
        *n = 0;
    return rc;
}

/* Are the numbers flags, not ids? They are if boolean, or if all are 0 or 1 and more than two: ids
 * would be repeated. */
static int are_flags(struct og_importer *imp, struct og_table *t, int64_t column, bool *flags,
                     struct og_err *err)
{
    struct og_piece p;
    bool flag[IDS];
    int rc;
    *flags = t->type == OG__NPY_BOOL;
    if (*flags || t->rows <= 2)
        return 0;
    OG_TRY(og__piece_take(&p, t, imp->budget, err));
    for (int64_t n = 1; rc >= 0 && n > 0;)
        rc = next_flags(&p, column, flag, &n, flags, err);
    OG_TRY(rc);
    OG_TRY(og__table_rewind(t, err));
out:
    og__piece_give(&p);
    return rc;
}

static int copy_mask(struct og_importer *imp, struct og_table *t, int64_t column, uint64_t *seen,
                     struct og_npy_writer *w, struct og_err *err)
{
    struct og_piece p;
    bool flag[IDS];
    bool flags = true;
    int64_t done = 0;
    int rc;
    OG_TRY(og__piece_take(&p, t, imp->budget, err));
    for (int64_t n = 1; n > 0; done += n) {
        OG_TRY(next_flags(&p, column, flag, &n, &flags, err));
        for (int64_t i = 0; i < n; i++) {
            const int64_t id = imp->new_id ? imp->new_id[done + i] : done + i;
            if (flag[i] && seen)
                OG_TRY(note_id(seen, t, done + i, done + i, err));
            if (flag[i])
                OG_TRY(og__npy_append(w, &id, 1, err));
        }
    }
    if (!flags)
        OG_TRY(og__fail(err, -EINVAL, "a mask has 0 or 1 for every node",
                        "%s: row %lld: neither 0 nor 1", t->name, (long long)done));
out:
    og__piece_give(&p);
    return rc;
}

/* Selects the column of a mask; -1 for a list of ids. */
static int find_mask(struct og_importer *imp, struct og_table *t, int64_t nodes, int64_t *column,
                     struct og_err *err)
{
    const int64_t chosen = imp->opt->split_column;
    bool flags = false;
    int rc;
    *column = -1;
    if (t->rows < 0)
        return 0;
    imp->many_masks |= t->columns > 1;
    if (t->columns > 1 && (chosen < 0 || chosen >= t->columns))
        return og__fail(err, -EINVAL,
                        t->rows != nodes && t->columns == nodes
                            ? "turn it round: array.T; a mask has a row a node"
                        : chosen >= 0
                            ? "columns count from 0"
                            : "of a mask [nodes, splits] --split-column K takes one, from 0",
                        "%s: %s [%lld, %lld]: a list of node ids, or a mask, is expected", t->name,
                        og__npy_name(t->type), (long long)t->rows, (long long)t->columns);
    OG_TRY(are_flags(imp, t, OG_MAX(chosen, (int64_t)0) % t->columns, &flags, err));
    if (!flags && t->columns > 1)
        OG_TRY(og__fail(err, -EINVAL, "a mask has 0 or 1 for every node",
                        "%s: %s [%lld, %lld] is no mask", t->name, og__npy_name(t->type),
                        (long long)t->rows, (long long)t->columns));
    if (!flags)
        return rc;
    if (t->rows != nodes)
        OG_TRY(og__fail(err, -EINVAL, "a mask has an entry for every node",
                        "%s: a mask of %lld entries, the graph has %lld nodes", t->name,
                        (long long)t->rows, (long long)nodes));
    *column = t->columns > 1 ? chosen : 0;
    if (t->columns > 1)
        og__import_say(imp, "%s: column %lld of %lld", t->name, (long long)chosen,
                       (long long)t->columns);
out:
    return rc;
}

/* ---- nodes that are in two lists ---- */

static int64_t count_shared(const uint64_t *a, const uint64_t *b, size_t words, int64_t *first)
{
    int64_t shared = 0;
    for (size_t i = 0; i < words; i++) {
        const uint64_t both = a[i] & b[i];
        if (both && shared == 0)
            *first = (int64_t)i * 64 + __builtin_ctzll(both);
        shared += __builtin_popcountll(both);
    }
    return shared;
}

static size_t seen_words(const struct og_importer *imp)
{
    return (size_t)(imp->graph.n_nodes / 64 + 1);
}

/* Nodes of it that have no label, where some nodes have. */
static void compare_labels(const struct og_importer *imp, const struct og_table *t,
                           const char *split, const uint64_t *seen)
{
    int64_t first = 0;
    if (!seen || !imp->labelled || imp->new_id)
        return;
    const int64_t all = count_shared(seen, seen, seen_words(imp), &first);
    const int64_t without = all - count_shared(seen, imp->labelled, seen_words(imp), &first);
    if (without > 0)
        og__import_warn(imp, "%s: %lld of %lld nodes have no label (%s)", t->name,
                        (long long)without, (long long)all, split);
}

static struct og_table_place place_of_node(const struct og_table *t, int64_t node)
{
    struct og_table_place p;
    if (t->ops->id_of)
        return og__table_place(t, node, -1);
    snprintf(p.text, sizeof(p.text), "node %lld", (long long)node);
    return p;
}

/* Takes ownership of `seen`. */
static void compare_splits(struct og_importer *imp, const struct og_table *t, const char *split,
                           uint64_t *seen)
{
    for (unsigned i = 0; seen && i < imp->n_splits; i++) {
        int64_t first = 0;
        const int64_t shared = count_shared(imp->split[i].seen, seen, seen_words(imp), &first);
        if (shared > 0)
            og__import_warn(imp, "%s: %lld %s node%s %s node%s of %s too, %s for one", t->name,
                            (long long)shared, split, shared == 1 ? " is a" : "s are",
                            imp->split[i].name, shared == 1 ? "" : "s", imp->split[i].file,
                            place_of_node(t, first).text);
    }
    if (seen && imp->n_splits < OG_COUNT(imp->split)) {
        struct og_split_seen *s = &imp->split[imp->n_splits++];
        const char *slash = strrchr(t->name, '/');
        s->seen = seen;
        snprintf(s->file, sizeof(s->file), "%s", slash ? slash + 1 : t->name);
        snprintf(s->name, sizeof(s->name), "%s", split);
    } else {
        og__release(imp->budget, seen, seen_words(imp) * sizeof(*seen), part);
    }
}

void og__import_drop_splits(struct og_importer *imp)
{
    for (unsigned i = 0; i < imp->n_splits; i++)
        og__release(imp->budget, imp->split[i].seen, seen_words(imp) * sizeof(uint64_t), part);
    og__release(imp->budget, imp->labelled, seen_words(imp) * sizeof(uint64_t), part);
    imp->n_splits = 0;
}

/* ---- both ---- */

static int check_list(const struct og_table *t, int width, struct og_err *err)
{
    if (og__npy_is_integer(t->type) && t->columns == width)
        return 0;
    if (t->rows < 0)
        return og__fail(err, -EINVAL, "a list of node ids, one a line", "%s: %lld columns", t->name,
                        (long long)t->columns);
    if (width == 1)
        return og__fail(err, -EINVAL,
                        "ids are whole numbers: array.astype('int64'), or array.astype(bool) of a "
                        "mask",
                        "%s: %s where node ids or a mask are expected", t->name,
                        og__npy_name(t->type));
    return og__fail(err, -EINVAL, "one row an edge: src, dst", "%s: %s [%lld, %lld]", t->name,
                    og__npy_name(t->type), (long long)t->rows, (long long)t->columns);
}

/* What a row of a list is. */
enum row { A_NODE, AN_EDGE, DESTINATIONS };

static int import_list(struct og_importer *imp, struct og_table *t, int64_t nodes, const char *name,
                       enum row row, struct og_err *err)
{
    const int width = row == A_NODE ? 1 : row == AN_EDGE ? 2 : (int)t->columns;
    struct og_npy_writer *w = NULL;
    const size_t seen_bytes = seen_words(imp) * sizeof(uint64_t);
    char split[16];
    uint64_t *seen = NULL;
    int64_t mask = -1;
    int rc = 0;
    snprintf(split, sizeof(split), "%.*s", (int)strcspn(name, "."), name);
    if (row == A_NODE && (og__npy_is_integer(t->type) || t->type == OG__NPY_BOOL))
        OG_TRY(find_mask(imp, t, nodes, &mask, err));
    if (mask < 0)
        OG_TRY(check_list(t, width, err));
    OG_TRY(og__array_create(&w, imp->dir.temporary, name, OG__NPY_I64, row == A_NODE ? 1 : 2, width,
                            err));
    if (row == A_NODE && seen_bytes <= og__budget_left(imp->budget) / 2 &&
        !(seen = og__alloc(imp->budget, seen_bytes, part, err)))
        OG_TRY(-ENOMEM);
    OG_TRY(mask >= 0 ? copy_mask(imp, t, mask, seen, w, err)
                     : copy_ids(imp, t, nodes, row == AN_EDGE, seen, w, err));
    if (og__npy_rows(w) == 0)
        og__import_warn(imp, "%s: no %s", t->name, row == A_NODE ? "nodes" : "edges");
    OG_TRY(og__array_finish(&w, name, imp->checksums, err));
    compare_labels(imp, t, split, seen);
    compare_splits(imp, t, split, seen);
    seen = NULL;
out:
    og__release(imp->budget, seen, seen_bytes, part);
    og__npy_discard(w);
    return rc;
}

int og__import_split(struct og_importer *imp, struct og_table *t, int64_t nodes, const char *name,
                     struct og_err *err)
{
    imp->has_splits = true;
    const int rc = og__random_split_refuse(imp, t->name, err);
    return rc < 0 ? rc : import_list(imp, t, nodes, name, A_NODE, err);
}

int og__import_edge_split(struct og_importer *imp, struct og_table *t, const char *name,
                          struct og_err *err)
{
    return import_list(imp, t, imp->graph.n_nodes, name, AN_EDGE, err);
}

/* What a row per edge of a list has. */
enum row_kind { CLASSES, LABELS, FEATURES };

static int append_class(const struct og_piece *p, int64_t i, int64_t row, struct og_npy_writer *w,
                        struct og_err *err)
{
    const double x = og__number_at(p->t->type, p->raw, (size_t)i);
    const int64_t class = (int64_t)x;
    if (x < -1 || x > INT32_MAX / 8)
        return og__fail(err, -EINVAL, "classes count from 0; -1 is a label that is not known",
                        "%s: row %lld: class %g", p->t->name, (long long)row, x);
    return og__npy_append(w, &class, 1, err);
}

static int append_values(const struct og_piece *p, int64_t i, int64_t row, enum row_kind kind,
                         float *values, struct og_npy_writer *w, struct og_err *err)
{
    const size_t columns = (size_t)p->t->columns;
    for (size_t j = 0; j < columns; j++) {
        values[j] = (float)og__number_at(p->t->type, p->raw, (size_t)i * columns + j);
        if (kind == FEATURES && !isfinite(values[j]))
            return og__fail(err, -EINVAL, "replace missing features, by 0 say",
                            "%s: row %lld: not a finite float32 (NaN or infinite)", p->t->name,
                            (long long)row);
        if (isinf(values[j]))
            return og__fail(err, -EINVAL, "NaN is a value that is not known",
                            "%s: row %lld: an infinite label", p->t->name, (long long)row);
    }
    return og__npy_append(w, values, 1, err);
}

static int copy_edge_rows(struct og_importer *imp, struct og_table *t, enum row_kind kind,
                          struct og_npy_writer *w, struct og_err *err)
{
    const size_t bytes = (size_t)t->columns * sizeof(float);
    struct og_piece p = {0};
    int64_t done = 0;
    int rc;
    float *values = og__alloc(imp->budget, bytes, part, err);
    OG_TRY(values ? og__piece_take(&p, t, imp->budget, err) : -ENOMEM);
    for (int64_t n = 1; n > 0; done += n) {
        OG_TRY(og__table_read(t, p.raw, p.room, &n, err));
        for (int64_t i = 0; i < n; i++)
            OG_TRY(kind == CLASSES ? append_class(&p, i, done + i, w, err)
                                   : append_values(&p, i, done + i, kind, values, w, err));
    }
out:
    og__piece_give(&p);
    og__release(imp->budget, values, bytes, part);
    return rc;
}

static int import_rows(struct og_importer *imp, struct og_table *t, const char *name,
                       enum row_kind kind, int64_t edges, struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    char file[32];
    int rc;
    snprintf(file, sizeof(file), "%s.npy", name);
    if (edges < 0 || t->rows != edges)
        return og__fail(err, -EINVAL, "a row per edge of the list, in its order",
                        "%s: %lld rows, for %lld edges", t->name, (long long)t->rows,
                        (long long)OG_MAX(edges, (int64_t)0));
    OG_TRY(og__array_create(&w, imp->dir.temporary, file,
                            kind == CLASSES ? OG__NPY_I64 : OG__NPY_F32, t->columns == 1 ? 1 : 2,
                            t->columns, err));
    OG_TRY(copy_edge_rows(imp, t, kind, w, err));
    rc = og__array_finish(&w, file, imp->checksums, err);
out:
    og__npy_discard(w);
    return rc;
}

int og__import_edge_labels(struct og_importer *imp, struct og_table *t, enum og__split split,
                           int64_t edges, struct og_err *err)
{
    const bool whole = og__npy_is_integer(t->type);
    const bool classes = whole || (t->type == OG__NPY_BOOL && t->columns == 1);
    if (whole && t->columns != 1)
        return og__fail(err, -EINVAL, "store several labels, or values, as float32",
                        "%s: %lld classes an edge", t->name, (long long)t->columns);
    if (!classes && t->columns == 1 && split == OG__TRAIN)
        og__import_say(imp,
                       "%s: floats are values, for regression; for classes store "
                       "array.astype('int64')",
                       t->name);
    return import_rows(imp, t, og__listed_name(OG__EDGE_LIST_LABELS, split),
                       classes ? CLASSES : LABELS, edges, err);
}

int og__import_edge_rows(struct og_importer *imp, struct og_table *t, enum og__split split,
                         int64_t edges, struct og_err *err)
{
    if (imp->link_width > 0 && t->columns != imp->link_width)
        return og__fail(err, -EINVAL, "give the edges of all splits the same features",
                        "%s: %lld columns, other splits have %lld", t->name, (long long)t->columns,
                        (long long)imp->link_width);
    imp->link_width = t->columns;
    return import_rows(imp, t, og__listed_name(OG__EDGE_LIST_ROWS, split), FEATURES, edges, err);
}

int og__import_negatives(struct og_importer *imp, struct og_table *t, enum og__split split,
                         bool each, int64_t edges, struct og_err *err)
{
    char name[32];
    snprintf(name, sizeof(name), "%s.npy", og__negatives_name(split, each));
    if (edges < 0)
        return og__fail(err, -EINVAL, "add the edges of this split, or remove the file",
                        "%s: negatives, but the split has no list of edges", t->name);
    if (each && t->rows != edges)
        return og__fail(
            err, -EINVAL, "a row of destinations for each edge; pairs for all edges are [m, 2]",
            "%s: %lld rows, for %lld edges", t->name, (long long)t->rows, (long long)edges);
    if (split == OG__TRAIN && (edges == 0 || t->rows == 0 || t->rows % edges != 0))
        return og__fail(err, -EINVAL, "give equally many negatives for each training edge",
                        "%s: %lld negatives for %lld edges", t->name, (long long)t->rows,
                        (long long)edges);
    if (t->columns < 1)
        return og__fail(err, -EINVAL, "give at least one for each edge, or remove the file",
                        "%s: no columns", t->name);
    if (t->columns > IDS)
        return og__fail(err, -EINVAL, "keep fewer", "%s: %lld destinations for an edge, at most %d",
                        t->name, (long long)t->columns, IDS);
    if (each && imp->opt->reverse)
        return og__fail(err, -EINVAL, "write edges as src, dst, without --reverse",
                        "%s: --reverse would make these destinations sources", t->name);
    return import_list(imp, t, imp->graph.n_nodes, name, each ? DESTINATIONS : AN_EDGE, err);
}
