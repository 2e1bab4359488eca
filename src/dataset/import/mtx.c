/* Matrix Market files, gzipped or not: coordinate; pattern, real or integer; general or symmetric.
 *
 *   %%MatrixMarket matrix coordinate real general
 *   % comments
 *   rows columns entries
 *   i j value            counted from 1: an edge of this weight from i - 1 to j - 1
 *
 * SRC is such a file, or a folder with graph.mtx or graph.mtx.gz. The folder may have node arrays
 * as in the npy layout. An off-diagonal entry of a symmetric matrix is two edges. */
#include "dataset/import/mtx.h"
#include "dataset/import/edge_text.h"

#include <stdlib.h>
#include <string.h>

struct matrix {
    struct og_importer *imp;
    struct og_edge_text pairs;
    struct og_mtx_head head;
    int64_t seen;  /* entries */
    uint32_t *ids; /* [2 * STEP] */
};

enum { STEP = 8192, IDS_BYTES = 2 * STEP * sizeof(uint32_t) };
static const char part[] = "matrix";
static const char header_hint[] =
    "coordinate matrices are read: pattern, real or integer, general or symmetric";

/* ---- header; a newline ends every scan ---- */

/* The next word of a line, in lower case. */
static const char *next_word(const char *p, char word[32])
{
    size_t n = 0;
    while (*p == ' ' || *p == '\t')
        p++;
    for (; *p > ' ' && *p <= '~'; p++)
        if (n < 31)
            word[n++] = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
    word[n] = 0;
    return p;
}

static int read_banner(struct og_mtx_head *head, const struct og_text *t, const char *line,
                       struct og_err *err)
{
    static const char *const expected[] = {"%%matrixmarket", "matrix", "coordinate"};
    char word[32];
    const char *p = line;
    for (size_t i = 0; i < OG_COUNT(expected); i++) {
        p = next_word(p, word);
        if (strcmp(word, expected[i]) != 0)
            return og__text_wrong(t, line, header_hint,
                                  "no coordinate matrix in Matrix Market format", err);
    }
    p = next_word(p, word);
    head->weighted = strcmp(word, "pattern") != 0;
    if (head->weighted && strcmp(word, "real") != 0 && strcmp(word, "integer") != 0 &&
        strcmp(word, "unsigned-integer") != 0) /* as SciPy writes it */
        return og__text_wrong(t, line, header_hint, "entries of a kind not read", err);
    next_word(p, word);
    head->symmetric = strcmp(word, "symmetric") == 0;
    if (!head->symmetric && strcmp(word, "general") != 0)
        return og__text_wrong(t, line, header_hint, "a symmetry not read", err);
    return 0;
}

/* Can the file hold so many entries? Each takes at least four bytes of text, and a byte of gzip
 * holds 1032 at most. */
static bool believable(uint64_t count, const struct og_text *t)
{
    return count / (1032 / 4) <= t->file_bytes;
}

static int read_size(struct og_mtx_head *head, const struct og_text *t, const char *line,
                     struct og_err *err)
{
    uint64_t n[3] = {0};
    const char *p = line;
    for (size_t i = 0; i < OG_COUNT(n) && p; i++)
        p = og__parse_id(p + strspn(p, " \t"), &n[i]);
    if (!p || p[strspn(p, " \t\r")] != '\n')
        return og__text_wrong(t, line, "the line after the comments: rows columns entries",
                              "no size", err);
    if (n[0] != n[1])
        return og__text_wrong(t, line, "a graph's matrix has a row and a column a node",
                              "not a square matrix", err);
    if (n[2] == 0)
        return og__text_wrong(t, line, og__no_edges_hint, "an empty graph: no edges", err);
    if (!believable(n[0], t) || !believable(n[2], t))
        return og__text_wrong(t, line, "the file was cut short, or its size line is wrong",
                              "more than the file can hold", err);
    head->nodes = (int64_t)n[0];
    head->entries = (int64_t)n[2];
    return 0;
}

static const char *line_after(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline + 1 : end;
}

int og__mtx_head(struct og_mtx_head *head, const struct og_text *t, const char *begin,
                 const char *end, struct og_err *err)
{
    const char *p = begin;
    *head = (struct og_mtx_head){.lines = 1};
    OG_DO(read_banner(head, t, p, err));
    do {
        p = line_after(p, end);
        head->lines++;
    } while (p < end && (*p == '%' || p[strspn(p, " \t\r")] == '\n'));
    if (p == end)
        return og__fail(err, -EINVAL, header_hint,
                        t->ended ? "%s: ends before its size" : "%s: comments beyond its first MiB",
                        t->path);
    return read_size(head, t, p, err);
}

static int read_header(struct matrix *m, struct og_err *err)
{
    const char *begin;
    const char *end;
    OG_DO(og__text_block(&m->pairs.text, &begin, &end, err));
    if (!begin)
        return og__fail(err, -EINVAL, header_hint, "%s: empty", m->pairs.text.path);
    OG_DO(og__mtx_head(&m->head, &m->pairs.text, begin, end, err));
    m->imp->nodes_from = "graph.mtx";
    OG_DO(og__import_set_nodes(m->imp, m->head.nodes, err));
    m->pairs.skip = m->head.lines;
    m->pairs.base = 1;
    m->pairs.limit = (uint64_t)m->head.nodes;
    if (m->imp->opt->weight_column == 0)
        m->head.weighted = false;
    m->pairs.weight_column = m->head.weighted ? 3 : m->imp->opt->weight_column == 0 ? 0 : -1;
    m->pairs.exact = m->pairs.weight_column != 0;
    m->pairs.line_hint = m->head.weighted ? "a line is: row column value, counted from 1"
                                          : "a line is: row column, counted from 1";
    return og__edge_text_rewind(&m->pairs, err);
}

/* ---- entries ---- */

static int add_edges(const struct matrix *m, const uint32_t *src, const uint32_t *dst,
                     const float *weight, size_t n, struct og_err *err)
{
    bool reverse = m->imp->opt->reverse;
    return og__import_add_edges(m->imp, 0, reverse ? dst : src, reverse ? src : dst, weight, n,
                                err);
}

static int add_part(struct matrix *m, const struct og_edge_text_part *p, struct og_err *err)
{
    uint32_t *src = m->ids;
    uint32_t *dst = m->ids + STEP;
    for (size_t first = 0; first < p->n; first += STEP) {
        size_t n = OG_MIN(p->n - first, (size_t)STEP);
        const float *weight = p->weight ? p->weight + first : NULL;
        for (size_t i = 0; i < n; i++) {
            src[i] = (uint32_t)p->src[first + i];
            dst[i] = (uint32_t)p->dst[first + i];
        }
        OG_DO(add_edges(m, src, dst, weight, n, err));
        for (size_t i = 0; m->head.symmetric && !m->imp->both_ways && i < n; i++)
            if (src[i] != dst[i])
                OG_DO(add_edges(m, dst + i, src + i, weight ? weight + i : NULL, 1, err));
    }
    m->seen += (int64_t)p->n;
    return 0;
}

static int read_entries(struct matrix *m, struct og_err *err)
{
    OG_DO(og__import_open_edges(m->imp, m->head.weighted,
                                m->head.entries * (m->head.symmetric ? 2 : 1), err));
    do {
        OG_DO(og__edge_text_next(&m->pairs, err));
        for (size_t i = 0; i < m->pairs.parts; i++)
            OG_DO(add_part(m, &m->pairs.part[i], err));
        OG_DO(
            og__writing_goes_on(m->imp->observer, "edges", "edges", m->seen, m->head.entries, err));
    } while (m->pairs.parts > 0);
    og__import_tell_rounded(m->imp, m->pairs.text.path, m->pairs.n_rounded, m->pairs.most_rounded);
    if (m->seen != m->head.entries)
        return og__fail(err, -EINVAL, "the file was cut short, or its size line is wrong",
                        "%s: %lld entries where its header says %lld", m->pairs.text.path,
                        (long long)m->seen, (long long)m->head.entries);
    return og__import_close_edges(m->imp, err);
}

/* ---- all ---- */

static int read_matrix(struct matrix *m, struct og_err *err)
{
    int rc;
    OG_TRY(read_header(m, err));
    m->ids = og__alloc(m->imp->budget, IDS_BYTES, part, err);
    OG_TRY(m->ids ? 0 : -ENOMEM);
    OG_TRY(read_entries(m, err));
out:
    og__release(m->imp->budget, m->ids, IDS_BYTES, part);
    return rc;
}

static int import_mtx(struct og_importer *imp, struct og_err *err)
{
    struct matrix m = {.imp = imp};
    bool is_folder;
    char *path;
    int rc;
    OG_TRY(og__import_graph_file(imp, "graph.mtx", &path, &is_folder, err));
    OG_TRY(og__edge_text_open(&m.pairs, path, imp->budget, imp->pool, err));
    rc = read_matrix(&m, err);
    og__edge_text_close(&m.pairs);
    OG_TRY(rc);
    OG_TRY(og__import_nodes_of(imp, is_folder, err));
out:
    free(path);
    return rc;
}

const struct og_format og__format_mtx = {
    .info =
        {.size = sizeof(struct og_import_format),
         .name = "mtx",
         .files =
             "SRC is a coordinate matrix in Matrix Market format, or a folder with graph.mtx(.gz) "
             "and node arrays.",
         .signs = (const char *const[]){"graph.mtx", "graph.mtx.gz", NULL},
         .begins = "%%MatrixMarket",
         .ends = (const char *const[]){".mtx", ".mtx.gz", NULL},
         .node_arrays = true},
    .read = import_mtx,
    .takes = OG__TAKES_WEIGHTS};
