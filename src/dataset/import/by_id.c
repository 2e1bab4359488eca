/* Rows in the order of a text -> rows in the order of nodes.
 *
 *   feat.csv ──> values in a nameless file, in input order
 *           └──> place[node] = position of its row in that file
 *
 * Reading the table follows `place`. If the text is sorted by id, as most are, that is one
 * sequential scan of the file. Memory: 4 bytes a node, and 8 for the ids if nodes were
 * renumbered. */
#include "dataset/import/by_id.h"

#include "base/temporary.h"
#include "dataset/import/moments.h"

#include <dirent.h>
#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char part[] = "import";
static const uint32_t NONE = UINT32_MAX;

/* ---- ids ---- */

static size_t list_bytes(const struct og_node_ids *ids)
{
    return (size_t)ids->n * sizeof(*ids->list);
}

int og__node_ids_load(struct og_importer *imp, struct og_err *err)
{
    struct og_node_ids *ids = &imp->ids;
    struct og_npy a = {.fd = -1};
    char *path = og__import_target(imp, "node_ids.npy");
    int rc;
    OG_TRY(path ? og__npy_open(&a, path, err) : og__fail_errno(err, -ENOMEM, NULL, "node ids"));
    ids->n = imp->graph.n_nodes;
    if (!(ids->list = og__alloc(imp->budget, list_bytes(ids), part, err)))
        OG_TRY(-ENOMEM);
    OG_TRY(og__npy_read_int64(&a, 0, ids->n, ids->list, err));
out:
    og__npy_close(&a);
    free(path);
    return rc;
}

void og__node_ids_drop(struct og_importer *imp)
{
    og__release(imp->budget, imp->ids.list, list_bytes(&imp->ids), part);
    imp->ids = (struct og_node_ids){0};
}

static void id_of(const struct og_importer *imp, int64_t node, struct og_id_text *out)
{
    const struct og_node_names *names = imp->named.names;
    if (names) {
        const struct og_word name = og__node_name(names, node);
        snprintf(out->text, sizeof(out->text), "%.*s", (int)name.len, name.text);
    } else {
        snprintf(out->text, sizeof(out->text), "%lld",
                 (long long)(imp->ids.list ? imp->ids.list[node] : node));
    }
}

static struct og_id_text text_of(const struct og_importer *imp, int64_t node)
{
    struct og_id_text id;
    id_of(imp, node, &id);
    return id;
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* -1 where no node has the id. */
static int64_t node_of(const struct og_importer *imp, int64_t id)
{
    const struct og_node_ids *ids = &imp->ids;
    if (imp->named.words)
        return id; /* a number already */
    if (!ids->list)
        return id < imp->graph.n_nodes ? id : -1;
    const int64_t *found = bsearch(&id, ids->list, (size_t)ids->n, sizeof(*ids->list), by_value);
    return found ? found - ids->list : -1;
}

static int find_node(const struct og_importer *imp, const struct og_table *t, int64_t id,
                     int64_t *node, struct og_err *err)
{
    *node = node_of(imp, id);
    if (*node >= 0)
        return 0;
    if (imp->named.words)
        return og__table_csv_no_node(t, imp->graph.n_nodes, err);
    return og__fail(err, -EINVAL,
                    imp->ids.list
                        ? "ids are those of the edges, of feat.csv, label.csv and node_times.csv"
                        : "ids count from 0",
                    "%s: id %lld: no such node, of %lld", t->name, (long long)id,
                    (long long)imp->graph.n_nodes);
}

/* ---- the text ---- */

struct file_name {
    char text[64];
    enum og_node_column of_nodes; /* it is nodes.csv: what NAME has; else UNREAD */
};

static const char nodes_file[] = "nodes.csv";

/* What of nodes.csv stands for a file, and other files of it: two are one too many. */
static const struct {
    const char *file, *others;
    enum og_node_column what;
} of_nodes[] = {
    {"feat.csv", "@(feat|feat_indptr|x).@(npy|npz|[ct]sv?(.gz))", OG__NODE_FEATURE},
    {"label.csv", "@(label|y).@(npy|[ct]sv?(.gz))", OG__NODE_LABEL},
    {"node_times.csv", "node_time?(s).@(npy|[ct]sv?(.gz))", OG__NODE_TIME},
    {"train.csv", "train?(_idx|_mask).@(npy|[ct]sv?(.gz))", OG__NODE_TRAIN},
    {"valid.csv", "val?(id)?(_idx|_mask).@(npy|[ct]sv?(.gz))", OG__NODE_VALID},
    {"test.csv", "test?(_idx|_mask).@(npy|[ct]sv?(.gz))", OG__NODE_TEST},
};

/* NAME.csv, NAME.tsv, or one of them gzipped: 1 and which is there, 0, or negative. */
static int find_file(const struct og_importer *imp, const char *name, struct file_name *found,
                     struct og_err *err)
{
    static const char *const ends[] = {".csv", ".csv.gz", ".tsv", ".tsv.gz"};
    int has = 0;
    found->of_nodes = OG__NODE_UNREAD;
    for (size_t i = 0; has == 0 && i < OG_COUNT(ends); i++) {
        snprintf(found->text, sizeof(found->text), "%.*s%s", (int)(strlen(name) - 4), name,
                 ends[i]);
        has = og__import_has(imp, found->text, err);
    }
    return has;
}

static int open_text(const struct og_importer *imp, const char *file, struct og_csv_use *use,
                     struct og_table **out, struct og_err *err)
{
    char *path = og__import_source(imp, file);
    use->names = (struct og_node_options){imp->opt->node_id, imp->opt->node_label};
    const int rc = path ? og__table_csv_by_id(out, path, use, imp->budget, err)
                        : og__fail_errno(err, -ENOMEM, NULL, "%s", file);
    free(path);
    return rc;
}

/* The file NAME, or else nodes.csv if it has such columns. */
static int find_text(const struct og_importer *imp, const char *name, struct file_name *found,
                     struct og_err *err)
{
    struct og_csv_use use = {.rows = OG__CSV_IDS};
    struct og_table *t;
    int rc = find_file(imp, name, found, err);
    for (size_t i = 0; i < OG_COUNT(of_nodes); i++)
        if (strcmp(of_nodes[i].file, name) == 0)
            use.of_nodes = of_nodes[i].what;
    if (rc != 0 || use.of_nodes == OG__NODE_UNREAD ||
        (rc = find_file(imp, nodes_file, found, err)) <= 0)
        return rc;
    rc = open_text(imp, found->text, &use, &t, err);
    if (rc < 0)
        return rc;
    found->of_nodes = use.of_nodes;
    rc = og__table_csv_has(t, use.of_nodes);
    og__table_close(t);
    return rc;
}

/* The first entry of the source that has such a name; false = there is none. */
static bool find_entry(const struct og_importer *imp, const char *pattern, char name[NAME_MAX + 1])
{
    DIR *const dir = opendir(imp->src);
    const struct dirent *e;
    bool found = false;
    while (dir && !found && (e = readdir(dir))) {
        found = fnmatch(pattern, e->d_name, FNM_EXTMATCH) == 0;
        if (found)
            snprintf(name, NAME_MAX + 1, "%s", e->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* Two files with the same content are one too many. */
static int refuse_beside(const struct og_importer *imp, const char *nodes, const char *pattern,
                         struct og_err *err)
{
    char name[NAME_MAX + 1];
    if (!find_entry(imp, pattern, name))
        return 0;
    return og__fail(err, -EINVAL, "remove one of them, or its columns", "%s: both %s and %s",
                    imp->src, nodes, name);
}

/* Tables of a type, where nothing else has data of nodes. */
static int refuse_types(const struct og_importer *imp, struct og_err *err)
{
    char name[NAME_MAX + 1], features[NAME_MAX + 1];
    if (!find_entry(imp, "nodes.+(?).[ct]sv?(.gz)", name) ||
        find_entry(imp, of_nodes[0].others, features))
        return 0;
    return og__fail(err, -EINVAL,
                    "give the table of each type to outgrow.import_tables in Python, or use "
                    "`import npy` with node_type.npy",
                    "%s/%s: CSV has no types of nodes", imp->src, name);
}

/* Once of each file, when it is read for good. */
static void name_unread(const struct og_importer *imp, struct og_table *text)
{
    struct og_names *names = og__table_csv_unread(text);
    if (og__table_csv_unnamed_id(text))
        og__import_warn(imp,
                        "%s: the first column, which has no name, is taken for the ids of nodes",
                        text->name);
    if (names->n > 0)
        og__import_warn(imp, "%s: columns that are not read: %s", text->name,
                        og__names_text(names));
}

int og__by_id_check(const struct og_importer *imp, struct og_err *err)
{
    struct file_name nodes;
    struct og_csv_use use = {.rows = OG__CSV_IDS, .of_nodes = OG__NODE_ID};
    struct og_table *t = NULL;
    int rc;
    OG_TRY(find_file(imp, nodes_file, &nodes, err));
    OG_TRY(rc == 0 ? refuse_types(imp, err) : rc);
    if (rc == 0 && (imp->opt->node_id || imp->opt->node_label))
        OG_TRY(og__fail(err, -ENOENT,
                        "SRC is a folder with nodes.csv, whose first line names the columns, and "
                        "edges.csv",
                        "%s: --node-id, --node-label: no nodes.csv", imp->src));
    if (rc == 0)
        return 0;
    OG_TRY(open_text(imp, nodes.text, &use, &t, err));
    name_unread(imp, t);
    for (size_t i = 0; i < OG_COUNT(of_nodes); i++)
        if (og__table_csv_has(t, of_nodes[i].what))
            OG_TRY(refuse_beside(imp, nodes.text, of_nodes[i].others, err));
out:
    og__table_close(t);
    return rc;
}

int og__by_id_has(const struct og_importer *imp, const char *name, struct og_err *err)
{
    struct file_name found;
    return find_text(imp, name, &found, err);
}

static enum og_csv_rows rows_of(const char *name)
{
    return strncmp(name, "feat", 4) == 0 || strncmp(name, "node_times", 10) == 0 ? OG__CSV_FEATURES
           : strncmp(name, "label", 5) == 0                                      ? OG__CSV_LABELS
                                                                                 : OG__CSV_IDS;
}

/* The occurrence of a file's first id: noted when it is first opened. */
static int first_word(struct og_importer *imp, const char *file, uint64_t *first,
                      struct og_err *err)
{
    struct og_named_ids *named = &imp->named;
    for (size_t i = 0; i < named->n; i++) {
        *first = named->of[i].first;
        if (strcmp(named->of[i].file, file) == 0)
            return 0;
    }
    if (named->n == OG_COUNT(named->of) || named->words->sorted)
        return og__fail(err, -EINVAL, "import a folder that no program writes to",
                        "%s: appeared while the folder was read", file);
    *first = named->words->puts;
    snprintf(named->of[named->n].file, sizeof(named->of->file), "%s", file);
    named->of[named->n++].first = *first;
    return 0;
}

int og__by_id_text(struct og_importer *imp, const char *name, bool ids_only, struct og_table **out,
                   struct og_err *err)
{
    struct file_name found = {.of_nodes = OG__NODE_UNREAD};
    struct og_csv_use use = {.rows = rows_of(name),
                             .ids_only = ids_only,
                             .words = imp->named.words,
                             .kinds = &imp->named.kinds,
                             .takes_classes = !imp->values && rows_of(name) == OG__CSV_LABELS};
    *out = NULL;
    const bool nodes = strcmp(name, nodes_file) == 0;
    int rc = ids_only ? find_file(imp, name, &found, err) : find_text(imp, name, &found, err);
    if (rc <= 0)
        return rc;
    use.of_nodes = nodes ? OG__NODE_ID : found.of_nodes;
    use.adds = nodes || use.rows != OG__CSV_IDS; /* a split has nodes that are elsewhere too */
    if (use.words)
        OG_TRY(first_word(imp, found.text, &use.first, err));
    rc = open_text(imp, found.text, &use, out, err);
out:
    return rc;
}

const char *const og__by_id_lists[] = {"train.csv", "valid.csv", "val.csv", "test.csv", NULL};

/* ---- rows by node ---- */

struct by_id {
    struct og_table t;
    const struct og_importer *imp;
    struct og_importer *writes; /* the same: its class names */
    int fd;                     /* values, as they come */
    uint32_t *place;            /* [rows] */
    bool gaps;                  /* numbers may be missing */
};

static size_t place_bytes(const struct by_id *b)
{
    return (size_t)b->t.rows * sizeof(*b->place);
}

static void fill_nan(double *row, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        row[j] = NAN;
}

static int by_id_read(struct og_table *t, void *out, int64_t want, int64_t *got, struct og_err *err)
{
    const struct by_id *b = (const struct by_id *)t;
    const size_t row = og__table_row_bytes(t);
    for (int64_t n; *got < want; *got += n) {
        const uint32_t *place = b->place + t->next + *got;
        char *to = (char *)out + (size_t)*got * row;
        n = 1;
        if (place[0] == NONE) {
            fill_nan((double *)to, t->columns);
            continue;
        }
        while (*got + n < want && place[n] == place[0] + n)
            n++;
        OG_DO(og__read_all(b->fd, to, (size_t)n * row, (off_t)(place[0] * row), t->name, err));
    }
    return 0;
}

static int by_id_rewind(struct og_table *t, struct og_err *err)
{
    (void)t;
    (void)err;
    return 0;
}

static void by_id_close(struct og_table *t)
{
    struct by_id *b = (struct by_id *)t;
    og__release(b->imp->budget, b->place, place_bytes(b), part);
    if (b->fd >= 0)
        close(b->fd);
    free(b);
}

static void by_id_id_of(const struct og_table *t, int64_t node, struct og_id_text *out)
{
    id_of(((const struct by_id *)t)->imp, node, out);
}

static const struct og_table_ops by_id_ops = {by_id_read, by_id_rewind, by_id_close, by_id_id_of};

static int check_finite(const struct by_id *b, const struct og_table *text, int64_t node,
                        const double *x, struct og_err *err)
{
    static const char hint[] =
        "fill it in: a feature by 0 say, a time by that from which on the node is known";
    static const char what[] = "not a finite number (NaN or infinite)";
    struct og_column_name name;
    for (int64_t j = 0; j < b->t.columns; j++) {
        if (isfinite(x[j]) || (isnan(x[j]) && b->gaps))
            continue;
        if (og__table_csv_name(text, j, &name))
            return og__fail(err, -EINVAL, hint, "%s: id %s, column %s: %s", b->t.name,
                            text_of(b->imp, node).text, name.text, what);
        return og__fail(err, -EINVAL, hint, "%s: %s: %s", b->t.name,
                        og__table_place(&b->t, node, j).text, what);
    }
    return 0;
}

/* Rows [first, first + n) of the text: their places noted, in `raw` their values alone. */
static int place_rows(struct by_id *b, const struct og_table *text, bool whole, char *raw,
                      int64_t first, int64_t n, struct og_err *err)
{
    const size_t row = og__table_row_bytes(&b->t);
    for (int64_t i = 0; i < n; i++) {
        char *from = raw + (size_t)i * og__table_row_bytes(text);
        int64_t node;
        int64_t id;
        memcpy(&id, from, sizeof(id));
        OG_DO(find_node(b->imp, text, id, &node, err));
        if (b->place[node] != NONE)
            return og__fail(err, -EINVAL, "a line a node; is the first column the node's id?",
                            "%s: id %s is there twice", text->name, text_of(b->imp, node).text);
        b->place[node] = (uint32_t)(first + i);
        memmove(raw + (size_t)i * row, from + sizeof(id), row);
        if (whole)
            OG_DO(check_finite(b, text, node, (const double *)(raw + (size_t)i * row), err));
    }
    return 0;
}

static int place_all(struct by_id *b, struct og_table *text, bool whole, int64_t *rows,
                     struct og_err *err)
{
    const struct og_importer *imp = b->imp;
    const size_t row = og__table_row_bytes(&b->t);
    struct og_piece p;
    uint64_t pushed = 0;
    int64_t done = 0;
    int rc;
    OG_TRY(og__piece_take(&p, text, imp->budget, err));
    for (int64_t n = 1; n > 0; done += n) {
        OG_TRY(og__table_read(text, p.raw, p.room, &n, err));
        OG_TRY(place_rows(b, text, whole, p.raw, done, n, err));
        OG_TRY(og__write_all(b->fd, p.raw, (size_t)n * row, (off_t)((size_t)done * row), b->t.name,
                             err));
        og__write_behind(b->fd, &pushed, (uint64_t)(done + n) * row);
        OG_TRY(og__writing_goes_on(imp->observer, "reading nodes", "lines", done + n, 0, err));
    }
out:
    og__piece_give(&p);
    *rows = done;
    return rc;
}

/* Nodes that have no row. */
static int check_missing(const struct by_id *b, bool whole, int64_t missing, struct og_err *err)
{
    const struct og_importer *imp = b->imp;
    char others[48] = "";
    int64_t v = 0;
    if (missing == 0)
        return 0;
    while (b->place[v] != NONE)
        v++;
    if (missing > 1)
        snprintf(others, sizeof(others), ", nor for %lld others", (long long)missing - 1);
    if (whole || (b->t.columns > 1 && !imp->values))
        return og__fail(err, -EINVAL,
                        "every node needs a row; the edges are of nodes without, or remove them",
                        "%s: no row for id %s%s", b->t.name, text_of(imp, v).text, others);
    if (missing >= imp->graph.n_nodes / 2)
        og__import_warn(imp, "%s: no row for id %s%s, of %lld: are its ids those of the edges?",
                        b->t.name, text_of(imp, v).text, others, (long long)imp->graph.n_nodes);
    else
        og__import_say(imp, "%s: no row for id %s%s: %s no label", b->t.name, text_of(imp, v).text,
                       others, missing > 1 ? "they have" : "it has");
    return 0;
}

/* Once more with words as classes, if a label is one. */
static int place_words(struct by_id *b, struct og_table *text, struct og_word_map *classes,
                       int64_t *rows, struct og_err *err)
{
    OG_DO(og__classes_collect(b->writes, text, classes, err));
    memset(b->place, 0xff, place_bytes(b));
    return place_all(b, text, false, rows, err);
}

static int fill(struct by_id *b, struct og_table *text, bool whole, struct og_word_map *classes,
                struct og_err *err)
{
    const struct og_importer *imp = b->imp;
    int64_t rows = 0;
    int rc;
    OG_TRY(og__import_check_columns(&b->t, "rows", err));
    if (!(b->place = og__alloc(imp->budget, place_bytes(b), part, err)))
        OG_TRY(-ENOMEM);
    memset(b->place, 0xff, place_bytes(b));
    OG_TRY(b->fd = og__unnamed_file(imp->dir.temporary, err));
    rc = place_all(b, text, whole, &rows, err);
    if (rc < 0 && !whole && og__table_csv_met_class(text)) {
        if (err)
            *err = (struct og_err){0};
        rc = place_words(b, text, classes, &rows, err);
    }
    OG_TRY(rc);
    rc = check_missing(b, whole, imp->graph.n_nodes - rows, err);
out:
    return rc;
}

int og__by_id_count(struct og_importer *imp, const char *name, int64_t *rows, struct og_err *err)
{
    struct og_table *text;
    struct og_piece p = {0};
    *rows = -1;
    int rc = og__by_id_text(imp, name, false, &text, err);
    if (rc < 0 || !text)
        return rc;
    OG_TRY(og__piece_take(&p, text, imp->budget, err));
    *rows = 0;
    for (int64_t n = 1; n > 0; *rows += n) {
        OG_TRY(og__table_read(text, p.raw, p.room, &n, err));
        OG_TRY(og__writing_goes_on(imp->observer, "counting nodes", "lines", *rows + n, 0, err));
    }
out:
    og__piece_give(&p);
    og__table_close(text);
    return rc;
}

int og__by_id_open(struct og_importer *imp, const char *name, bool whole, struct og_table **out,
                   struct og_err *err)
{
    struct og_table *text;
    struct by_id *b = NULL;
    struct og_word_map classes = {.fd = -1};
    *out = NULL;
    int rc = og__by_id_text(imp, name, false, &text, err);
    if (rc < 0 || !text)
        return rc;
    if (!(b = og__table_new(sizeof(*b), &by_id_ops, text->name, err)))
        OG_TRY(-ENOMEM);
    b->imp = b->writes = imp;
    b->gaps = strcmp(name, of_nodes[0].file) == 0 && og__standardizes(imp->opt);
    b->fd = -1;
    b->t.type = OG__NPY_F64;
    b->t.text = true;
    b->t.rows = imp->graph.n_nodes;
    b->t.columns = text->columns - 1;
    b->t.ndim = b->t.columns > 1 ? 2 : 1;
    OG_TRY(fill(b, text, whole, &classes, err));
    name_unread(imp, text);
    struct og_column_name first;
    if (strcmp(name, of_nodes[0].file) == 0 && og__table_csv_name(text, 0, &first))
        og__column_note(imp, "", "feature_names", og__table_csv_names(text));
    *out = &b->t;
out:
    if (rc < 0 && b)
        og__table_close(&b->t);
    og__table_close(text);
    og__word_map_close(&classes);
    return rc < 0 ? rc : 0;
}

/* ---- lists ---- */

struct id_list {
    struct og_table t;
    const struct og_importer *imp;
    struct og_table *text;
};

static int list_read(struct og_table *t, void *out, int64_t want, int64_t *got, struct og_err *err)
{
    const struct id_list *l = (const struct id_list *)t;
    int64_t *ids = out;
    for (int64_t n = 1; *got < want && n > 0; *got += n) { /* one by one: an error names the line */
        OG_DO(og__table_read(l->text, &ids[*got], 1, &n, err));
        if (n > 0)
            OG_DO(find_node(l->imp, l->text, ids[*got], &ids[*got], err));
    }
    return 0;
}

static void list_id_of(const struct og_table *t, int64_t node, struct og_id_text *out)
{
    id_of(((const struct id_list *)t)->imp, node, out);
}

static int list_rewind(struct og_table *t, struct og_err *err)
{
    return og__table_rewind(((struct id_list *)t)->text, err);
}

static void list_close(struct og_table *t)
{
    og__table_close(((struct id_list *)t)->text);
    free(t);
}

static const struct og_table_ops list_ops = {list_read, list_rewind, list_close, list_id_of};

/* Are there nodes in a split of nodes.csv? */
static int has_rows(struct og_table *text, struct og_err *err)
{
    int64_t id;
    int64_t n = 0;
    OG_DO(og__table_read(text, &id, 1, &n, err));
    OG_DO(og__table_rewind(text, err));
    return n > 0;
}

int og__by_id_list(struct og_importer *imp, const char *name, struct og_table **out,
                   struct og_err *err)
{
    struct og_table *text;
    *out = NULL;
    int rc = og__by_id_text(imp, name, false, &text, err);
    if (rc < 0 || !text)
        return rc;
    rc = og__table_csv_has(text, OG__NODE_ID) ? has_rows(text, err) : 1;
    if (rc <= 0) {
        og__table_close(text);
        return rc;
    }
    struct id_list *l = og__table_new(sizeof(*l), &list_ops, text->name, err);
    if (!l) {
        og__table_close(text);
        return -ENOMEM;
    }
    name_unread(imp, text);
    l->imp = imp;
    l->text = text;
    l->t.type = OG__NPY_I64;
    l->t.rows = -1;
    l->t.columns = text->columns;
    l->t.ndim = 1;
    *out = &l->t;
    return 0;
}
