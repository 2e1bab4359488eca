/* ogbn-mag and what else OGB publishes with types, as the archive unpacks:
 *
 *   raw/num-node-dict.csv.gz          names of types; nodes of each
 *   raw/triplet-type-list.csv.gz      source,name,destination: a relation a line
 *   raw/nodetype-has-label.csv.gz     names of types; True or False
 *   raw/relations/<source>___<name>___<destination>/edge.csv.gz, num-edge-list.csv.gz
 *   raw/node-feat/<type>/node-feat.csv.gz, raw/node-label/<type>/node-label.csv.gz
 *   split/<name>/<type>/{train,valid,test}.csv.gz
 *
 * The type that has labels becomes the first, the others follow in the order of the file; relations
 * come in that of theirs. */
#include "dataset/import/ogb.h"
#include "dataset/import/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- small files of words ---- */

enum { MOST_LINES = OG_MOST_RELATIONS, MOST_WORDS = OG_MOST_TYPES };

struct lines {
    char *path, *text; /* cut into words */
    size_t n;
    struct line {
        char **word;
        size_t n;
    } line[MOST_LINES];
};

static void free_lines(struct lines *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        free(l->line[i].word);
    free(l->text);
    free(l->path);
    free(l);
}

static int wrong_lines(const struct lines *l, const char *what, struct og_err *err)
{
    return og__fail(err, -EINVAL, "fetch the dataset again: this is not as OGB publishes it",
                    "%s: %s", l->path, what);
}

/* The words of a line between commas; what is there is cut. */
static int cut_line(struct lines *l, char *text, struct og_err *err)
{
    if (l->n == MOST_LINES)
        return wrong_lines(l, "too many lines", err);
    struct line *line = &l->line[l->n];
    line->word = calloc(MOST_WORDS, sizeof(*line->word));
    if (!line->word)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", l->path);
    l->n++;
    for (char *word; (word = strsep(&text, ","));) {
        if (line->n == MOST_WORDS)
            return wrong_lines(l, "too many columns", err);
        line->word[line->n++] = word;
    }
    return 0;
}

static int take_text(struct lines *l, struct og_text *t, struct og_err *err)
{
    const char *begin;
    const char *end;
    int rc;
    OG_TRY(og__text_block(t, &begin, &end, err));
    if (!begin)
        return wrong_lines(l, "empty", err);
    if (memchr(begin, 0, (size_t)(end - begin)))
        return wrong_lines(l, "no text", err);
    l->text = strndup(begin, (size_t)(end - begin));
    OG_TRY(l->text ? og__text_block(t, &begin, &end, err)
                   : og__fail_errno(err, -ENOMEM, NULL, "%s", l->path));
    if (begin)
        return wrong_lines(l, "too long", err);
    char *rest = l->text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        const size_t n = strlen(line);
        if (n > 0 && line[n - 1] == '\r')
            line[n - 1] = 0;
        if (line[0])
            OG_TRY(cut_line(l, line, err));
    }
out:
    return rc;
}

static int read_lines(const struct og_importer *imp, const char *name, struct lines **out,
                      struct og_err *err)
{
    struct og_text text = {0};
    struct lines *l = calloc(1, sizeof(*l));
    int rc;
    *out = l;
    OG_TRY(l && (l->path = og__import_source(imp, name))
               ? 0
               : og__fail_errno(err, -ENOMEM, NULL, "%s", name));
    OG_TRY(og__text_open(&text, l->path, imp->budget, err));
    OG_TRY(take_text(l, &text, err));
out:
    og__text_close(&text);
    return rc;
}

/* Two lines: names, and what each of them has. */
static int read_table(const struct og_importer *imp, const char *name, struct lines **out,
                      struct og_err *err)
{
    int rc = read_lines(imp, name, out, err);
    if (rc < 0 || ((*out)->n == 2 && (*out)->line[0].n == (*out)->line[1].n))
        return rc;
    return wrong_lines(*out, "two lines expected, names and a word for each", err);
}

static const char *value_of(const struct lines *l, const char *name)
{
    for (size_t i = 0; i < l->line[0].n; i++)
        if (strcmp(l->line[0].word[i], name) == 0)
            return l->line[1].word[i];
    return "";
}

/* ---- types and relations ---- */

struct ogb_types {
    struct og_importer *imp;
    struct lines *nodes, *triplets, *has_label;
    struct og_edges edges;
};

static int open_named(struct og_importer *imp, enum og__npy_type type, int64_t columns,
                      struct og_table **out, struct og_err *err, const char *fmt, ...)
    OG_PRINTF(6, 7);

static int open_named(struct og_importer *imp, enum og__npy_type type, int64_t columns,
                      struct og_table **out, struct og_err *err, const char *fmt, ...)
{
    char *name = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&name, fmt, ap);
    va_end(ap);
    if (n < 0)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src);
    char *path; /* names of types come from files of the source */
    int rc = og__import_named(imp, name, imp->src, &path, err);
    if (rc == 0)
        rc = og__table_csv(out, path, type, columns, imp->budget, err);
    free(path);
    free(name);
    return rc;
}

static int add_type(struct ogb_types *o, size_t i, struct og_err *err)
{
    uint64_t count;
    const char *text = o->nodes->line[1].word[i];
    const char *end = og__parse_id(text, &count);
    if (!end || (*end && strcmp(end, ".0") != 0))
        return wrong_lines(o->nodes, "a number of nodes for each type expected", err);
    return og__schema_add_group(&o->imp->graph, o->nodes->line[0].word[i], (int64_t)count,
                                o->nodes->path, err);
}

static int add_types(struct ogb_types *o, struct og_err *err)
{
    const struct line *names = &o->nodes->line[0];
    size_t labelled = names->n;
    int rc = 0;
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(value_of(o->has_label, names->word[i]), "True") != 0)
            continue;
        if (labelled < names->n)
            OG_TRY(og__fail(err, -ENOTSUP, "one type may have labels",
                            "%s: several types have them", o->has_label->path));
        labelled = i;
    }
    if (labelled < names->n)
        OG_TRY(add_type(o, labelled, err));
    for (size_t i = 0; i < names->n; i++)
        if (i != labelled)
            OG_TRY(add_type(o, i, err));
out:
    return rc;
}

static int add_relations(struct ogb_types *o, struct og_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < o->triplets->n; i++) {
        char *const *word = o->triplets->line[i].word;
        if (o->triplets->line[i].n != 3)
            OG_TRY(wrong_lines(o->triplets, "source,name,destination expected", err));
        const int source = og__schema_find(&o->imp->graph, word[0]);
        const int destination = og__schema_find(&o->imp->graph, word[2]);
        if (source < 0 || destination < 0)
            OG_TRY(wrong_lines(o->triplets, "a type that num-node-dict.csv.gz does not have", err));
        OG_TRY(og__schema_add_relation(&o->imp->graph, (uint32_t)source, word[1],
                                       (uint32_t)destination, o->triplets->path, err));
    }
out:
    return rc;
}

/* ---- edges ---- */

static int import_relation(struct ogb_types *o, uint32_t r, struct og_err *err)
{
    char *const *word = o->triplets->line[r].word;
    struct og_table *t = NULL;
    int64_t said = -1;
    int rc;
    OG_TRY(open_named(o->imp, OG__NPY_I64, 1, &t, err,
                      "raw/relations/%s___%s___%s/num-edge-list.csv.gz", word[0], word[1],
                      word[2]));
    OG_TRY(og__ogb_number(t, &said, err));
    OG_TRY(open_named(o->imp, OG__NPY_I64, 2, &o->edges.pairs, err,
                      "raw/relations/%s___%s___%s/edge.csv.gz", word[0], word[1], word[2]));
    OG_TRY(og__import_relation(o->imp, r, &o->edges, err));
    if (o->edges.pairs->next != said)
        OG_TRY(og__fail(err, -EINVAL, "fetch the files again: they belong together",
                        "%s: %lld edges where num-edge-list.csv.gz says %lld", o->edges.pairs->name,
                        (long long)o->edges.pairs->next, (long long)said));
    og__table_close(o->edges.pairs);
    o->edges.pairs = NULL;
out:
    return rc;
}

static int import_edges(struct ogb_types *o, struct og_err *err)
{
    int rc;
    OG_TRY(og__import_settle(o->imp, err));
    OG_TRY(og__import_take_piece(o->imp, err));
    OG_TRY(og__import_open_edges(o->imp, false, -1, err));
    for (uint32_t r = 0; r < o->triplets->n; r++)
        OG_TRY(import_relation(o, r, err));
    OG_TRY(og__import_close_edges(o->imp, err));
out:
    return rc;
}

/* ---- nodes ---- */

static int import_features(struct ogb_types *o, uint32_t type, struct og_err *err)
{
    struct og_importer *imp = o->imp;
    struct og_table *t = NULL;
    char *name = NULL;
    int rc = 0;
    if (asprintf(&name, "raw/node-feat/%s/node-feat.csv.gz", imp->graph.group[type].name) < 0)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", imp->src);
    int there = og__import_has(imp, name, err);
    OG_TRY(OG_MIN(there, 0));
    if (there) {
        OG_TRY(open_named(imp, OG__NPY_F64, 0, &t, err, "%s", name));
        OG_TRY(og__import_features(imp, type, t, NULL, err));
    }
out:
    og__table_close(t);
    free(name);
    return rc;
}

/* Of the first type. */
static int import_labels(struct ogb_types *o, struct og_err *err)
{
    const struct og_group *first = o->imp->graph.group;
    struct og_table *t = NULL;
    int rc;
    if (strcmp(value_of(o->has_label, first->name), "True") != 0)
        return og__import_labels(o->imp, NULL, 0, -1, err);
    OG_TRY(open_named(o->imp, OG__NPY_F64, 0, &t, err, "raw/node-label/%s/node-label.csv.gz",
                      first->name));
    OG_TRY(og__import_labels(o->imp, t, first->n_nodes, -1, err));
out:
    og__table_close(t);
    return rc;
}

static int import_splits(struct ogb_types *o, struct og_err *err)
{
    static const char *const splits[] = {"train", "valid", "test"};
    struct og_table *t = NULL;
    char *folder = NULL;
    int rc;
    OG_TRY(og__ogb_split(o->imp, &folder, err));
    for (size_t i = 0; i < OG_COUNT(splits); i++) {
        char out[16];
        snprintf(out, sizeof(out), "%s.npy", splits[i]);
        OG_TRY(open_named(o->imp, OG__NPY_I64, 1, &t, err, "split/%s/%s/%s.csv.gz", folder,
                          o->imp->graph.group->name, splits[i]));
        OG_TRY(og__import_split(o->imp, t, o->imp->graph.group->n_nodes, out, err));
        og__table_close(t);
        t = NULL;
    }
out:
    og__table_close(t);
    free(folder);
    return rc;
}

/* ---- all of it ---- */

static int import_all(struct ogb_types *o, struct og_err *err)
{
    struct og_importer *imp = o->imp;
    int rc;
    OG_TRY(read_table(imp, "raw/num-node-dict.csv.gz", &o->nodes, err));
    OG_TRY(read_table(imp, "raw/nodetype-has-label.csv.gz", &o->has_label, err));
    OG_TRY(read_lines(imp, "raw/triplet-type-list.csv.gz", &o->triplets, err));
    OG_TRY(add_types(o, err));
    OG_TRY(add_relations(o, err));
    OG_TRY(import_edges(o, err));
    for (uint32_t t = 0; t < o->imp->graph.n_groups; t++)
        OG_TRY(import_features(o, t, err));
    OG_TRY(import_labels(o, err));
    OG_TRY(import_splits(o, err));
out:
    return rc;
}

int og__import_ogb_typed(struct og_importer *imp, struct og_err *err)
{
    struct ogb_types o = {.imp = imp};
    int rc = og__import_with_types(imp, err);
    if (rc == 0)
        rc = import_all(&o, err);
    og__table_close(o.edges.pairs);
    free_lines(o.nodes);
    free_lines(o.triplets);
    free_lines(o.has_label);
    return rc;
}
