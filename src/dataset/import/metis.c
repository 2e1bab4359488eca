/* METIS graph files, gzipped or not: a line a node, with its neighbours.
 *
 *   % comments
 *   nodes edges [fmt [ncon]]
 *   [size] [ncon weights of the node] neighbour [weight] neighbour [weight] ...
 *
 * fmt has three digits, each 0 or 1. 1 means that lines have, in this order, sizes of nodes,
 * weights of nodes, weights of edges. By default ncon is 1. Nodes count from 1, and an edge is in
 * the lines of both its ends. A node without edges has an empty line. SRC is such a file, or a
 * folder with graph.metis or graph.metis.gz and node arrays as in the npy layout.
 *
 * A hub's line may be longer than a block of text, so it is read in pieces. */
#include "dataset/convert.h"
#include "dataset/import/import.h"
#include "dataset/import/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 8192 };
static const char part[] = "metis";
static const char header_hint[] =
    "the first line: nodes edges, then perhaps fmt, of digits 0 and 1, and ncon";
static const char line_hint[] =
    "a line has a node's neighbours, counted from 1, each with its weight if fmt ends in 1";

struct entries {
    uint32_t src[STEP], dst[STEP];
    float weight[STEP];
    size_t n;
};

struct metis {
    struct og_importer *imp;
    struct og_text text;
    struct entries *entries;
    /* the header: n_header numbers of it are read; begun: past the comments and the header */
    uint64_t header[4];
    int n_header;
    bool begun;
    int skipped; /* numbers of a line before the neighbours */
    bool weighted, weights_kept;
    int64_t n_rounded; /* weights that f32 changes, by so much at most: */
    double most_rounded;
    /* the line under way */
    bool inside, remark; /* something of it was read; it is a remark */
    int64_t node;        /* of the current line, from 0 */
    int passed;          /* of `skipped` */
    bool waits;          /* for the weight of the last neighbour */
    int64_t seen;        /* entries of all lines */
};

/* ---- header ---- */

/* Can the file hold so many nodes or edges? Each takes at least a byte of text, and a byte of gzip
 * holds 1032 at most. */
static bool believable(uint64_t count, const struct og_text *t)
{
    return count / 1032 <= t->file_bytes;
}

/* The header's line has ended, before `at`. */
static int begin_lines(struct metis *m, const char *at, struct og_err *err)
{
    const uint64_t fmt = m->n_header > 2 ? m->header[2] : 0;
    const uint64_t ncon = m->n_header > 3 ? m->header[3] : 1;
    const bool sizes = fmt / 100 == 1, of_nodes = fmt / 10 % 10 == 1;
    if (m->n_header < 2 || fmt / 100 > 1 || fmt / 10 % 10 > 1 || fmt % 10 > 1 || ncon > 1000)
        return og__text_wrong(&m->text, at, header_hint, "no header before it", err);
    if (!believable(m->header[0], &m->text) || !believable(m->header[1], &m->text))
        return og__text_wrong(&m->text, at, "the file was cut short, or its header is wrong",
                              "before it more nodes or edges than the file can hold", err);
    if (m->header[1] == 0)
        return og__text_wrong(&m->text, at, og__no_edges_hint, "an empty graph: no edges", err);
    m->weighted = fmt % 10 == 1;
    m->weights_kept = m->weighted && m->imp->opt->weight_column != 0;
    m->skipped = (int)sizes + (of_nodes ? (int)ncon : 0);
    if (m->skipped > 0)
        og__import_warn(m->imp, "%s: sizes and weights of nodes are not read", m->text.path);
    m->imp->nodes_from = "graph.metis";
    m->imp->symmetric = "METIS graphs are symmetric";
    m->begun = true;
    OG_DO(og__import_set_nodes(m->imp, (int64_t)m->header[0], err));
    return og__import_open_edges(m->imp, m->weights_kept, 2 * (int64_t)m->header[1], err);
}

/* ---- numbers ---- */

static int give_entries(struct metis *m, struct og_err *err)
{
    const bool reverse = m->imp->opt->reverse;
    struct entries *e = m->entries;
    const size_t n = e->n;
    e->n = 0;
    return og__import_add_edges(m->imp, 0, reverse ? e->dst : e->src, reverse ? e->src : e->dst,
                                m->weights_kept ? e->weight : NULL, n, err);
}

static int take_neighbor(struct metis *m, const char *at, uint64_t id, struct og_err *err)
{
    struct entries *e = m->entries;
    if (id < 1 || id > m->header[0])
        return og__text_wrong(&m->text, at, line_hint, "a node that the graph does not have", err);
    OG_DO(e->n == STEP ? give_entries(m, err) : 0);
    e->src[e->n] = (uint32_t)m->node;
    e->dst[e->n++] = (uint32_t)(id - 1);
    m->seen++;
    m->waits = m->weighted;
    return 0;
}

/* Parses the weight of the preceding neighbour. Returns the end of the number, or NULL. */
static const char *take_weight(struct metis *m, const char *at)
{
    double x = NAN;
    const char *end = og__parse_real(&m->text, at, &x);
    m->entries->weight[m->entries->n - 1] = (float)x;
    if (m->weights_kept && og__text_changes(x, (float)x)) {
        m->n_rounded++;
        m->most_rounded = OG_MAX(m->most_rounded, fabs(x - (double)(float)x));
    }
    m->waits = false;
    return end && isfinite((float)x) && x >= 0 ? end : NULL;
}

static bool ends_number(const char *p)
{
    return *p == ' ' || *p == '\t' || *p == '\n' || (*p == '\r' && p[1] == '\n');
}

/* *at is no blank. */
static int take_number(struct metis *m, const char **at, struct og_err *err)
{
    const char *const begin = *at;
    uint64_t id = 0;
    int rc = 0;
    const bool weight = m->begun && m->waits;
    if (m->begun && m->node >= (int64_t)m->header[0])
        return og__text_wrong(&m->text, begin, header_hint, "more lines than nodes", err);
    *at = weight ? take_weight(m, begin) : og__parse_id(begin, &id);
    if (!*at || !ends_number(*at))
        return og__text_wrong(
            &m->text, begin, m->begun ? line_hint : header_hint,
            weight ? "no weight, which is finite and not negative" : "no whole number", err);
    m->inside = true;
    if (!m->begun && m->n_header == 4)
        rc = og__text_wrong(&m->text, begin, header_hint, "more than four numbers", err);
    else if (!m->begun)
        m->header[m->n_header++] = id;
    else if (m->passed < m->skipped)
        m->passed++;
    else if (!weight)
        rc = take_neighbor(m, begin, id, err);
    return rc;
}

static int end_line(struct metis *m, const char *at, struct og_err *err)
{
    if (m->remark || (!m->begun && !m->inside)) {
        m->remark = m->inside = false;
        return 0;
    }
    if (!m->begun) {
        m->inside = false;
        return begin_lines(m, at, err);
    }
    if (m->waits || (m->inside && m->passed < m->skipped))
        return og__text_wrong(&m->text, at, line_hint, "a line ends before its last number", err);
    m->inside = false;
    m->passed = 0;
    m->node++;
    return 0;
}

static int read_block(struct metis *m, const char *begin, const char *end, struct og_err *err)
{
    for (const char *p = begin; p < end;) {
        if (*p == '\n') {
            OG_DO(end_line(m, p, err));
            p++;
        } else if (m->remark || *p == ' ' || *p == '\t' || *p == '\r')
            p++;
        else if (*p == '%' && !m->inside) {
            m->remark = true;
            p++;
        } else
            OG_DO(take_number(m, &p, err));
    }
    return 0;
}

/* ---- all ---- */

static int check_end(const struct metis *m, struct og_err *err)
{
    const int64_t nodes = (int64_t)m->header[0], edges = (int64_t)m->header[1];
    if (!m->begun)
        return og__fail(err, -EINVAL, header_hint, "%s: ends before its header", m->text.path);
    if (m->node < nodes)
        return og__fail(err, -EINVAL, line_hint, "%s: %lld lines for %lld nodes", m->text.path,
                        (long long)m->node, (long long)nodes);
    if (m->seen != 2 * edges)
        return og__fail(err, -EINVAL, "an edge is in the lines of both its ends",
                        "%s: %lld neighbours where its header says %lld edges", m->text.path,
                        (long long)m->seen, (long long)edges);
    return 0;
}

static int read_lines(struct metis *m, struct og_err *err)
{
    const char *begin;
    const char *end;
    do {
        OG_DO(og__text_block(&m->text, &begin, &end, err));
        if (begin)
            OG_DO(read_block(m, begin, end, err));
        OG_DO(og__writing_goes_on(m->imp->observer, "edges", "edges", m->seen,
                                  2 * (int64_t)m->header[1], err));
    } while (begin);
    OG_DO(check_end(m, err));
    OG_DO(give_entries(m, err));
    og__import_tell_rounded(m->imp, m->text.path, m->n_rounded, m->most_rounded);
    return og__import_close_edges(m->imp, err);
}

static int read_file(struct metis *m, const char *path, struct og_err *err)
{
    struct og_budget *b = m->imp->budget;
    int rc;
    OG_TRY(og__text_open(&m->text, path, b, err));
    m->text.in_pieces = true;
    m->entries = og__alloc(b, sizeof(*m->entries), part, err);
    OG_TRY(m->entries ? 0 : -ENOMEM);
    m->entries->n = 0;
    OG_TRY(read_lines(m, err));
out:
    og__release(b, m->entries, sizeof(*m->entries), part);
    og__text_close(&m->text);
    return rc;
}

static int import_metis(struct og_importer *imp, struct og_err *err)
{
    struct metis m = {.imp = imp};
    bool is_folder;
    char *path;
    int rc;
    OG_TRY(og__import_graph_file(imp, "graph.metis", &path, &is_folder, err));
    OG_TRY(read_file(&m, path, err));
    OG_TRY(og__import_nodes_of(imp, is_folder, err));
out:
    free(path);
    return rc;
}

const struct og_format og__format_metis = {
    .info =
        {.size = sizeof(struct og_import_format),
         .name = "metis",
         .files =
             "SRC is a METIS graph: a line with the numbers of nodes and edges, then a line a node "
             "with its neighbours. Or SRC is a folder with graph.metis(.gz) and node arrays.",
         .signs = (const char *const[]){"graph.metis", "graph.metis.gz", NULL},
         .ends = (const char *const[]){".metis", ".metis.gz", ".graph", ".graph.gz", NULL},
         .node_arrays = true},
    .read = import_metis,
    .takes = OG__TAKES_WEIGHTS};
