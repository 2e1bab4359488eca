#include "sample/degree_counts.h"

#include "base/file.h"
#include "base/sort.h"
#include "dataset/writer.h"

#include <stdlib.h>
#include <string.h>

static const char file_name[] = "degree_counts.npy";
static const char part[] = "trace";
static const char hint[] = "make it again with `outgrow sample`";
enum { COLUMNS = 3, CHUNK = 1024 };

/* ---- writing ---- */

/* Small degrees have a counter each; the few larger ones are sorted. */
enum { SMALL = 1 << 16 };

size_t og__degree_counts_bytes(void)
{
    return SMALL * sizeof(uint64_t);
}

static int write_row(struct og_npy_writer *w, uint32_t type, uint64_t degree, uint64_t n,
                     struct og_err *err)
{
    const int64_t row[COLUMNS] = {(int64_t)type, (int64_t)degree, (int64_t)n};
    return n > 0 ? og__npy_append(w, row, 1, err) : 0;
}

static int write_large(struct og_npy_writer *w, uint32_t type, const uint32_t *degree, uint64_t n,
                       uint64_t n_large, struct og_err *err)
{
    uint32_t *large = malloc((n_large + 1) * sizeof(*large));
    uint64_t k = 0;
    int rc = large ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", file_name);
    for (uint64_t v = 0; large && v < n; v++)
        if (degree[v] >= SMALL)
            large[k++] = degree[v];
    if (large)
        qsort(large, k, sizeof(*large), og__by_number);
    for (uint64_t i = 0, end; rc == 0 && i < k; i = end) {
        for (end = i; end < k && large[end] == large[i];)
            end++;
        rc = write_row(w, type, large[i], end - i, err);
    }
    free(large);
    return rc;
}

static int write_type(struct og_npy_writer *w, uint32_t type, const uint32_t *degree, uint64_t n,
                      uint64_t *small, struct og_err *err)
{
    uint64_t n_large = 0;
    memset(small, 0, og__degree_counts_bytes());
    for (uint64_t v = 0; v < n; v++) {
        n_large += degree[v] >= SMALL;
        small[degree[v] % SMALL] += degree[v] < SMALL;
    }
    for (uint64_t d = 0; d < SMALL; d++)
        OG_DO(write_row(w, type, d, small[d], err));
    return write_large(w, type, degree, n, n_large, err);
}

int og__degree_counts_write(const char *dir, const struct og_trace_type *type, uint32_t n_types,
                            const uint32_t *degree, struct og_budget *b, uint64_t *written,
                            json_t *checksums, struct og_err *err)
{
    struct og_npy_writer *w = NULL;
    uint64_t *small = og__alloc(b, og__degree_counts_bytes(), part, err);
    int rc = small ? 0 : -ENOMEM;
    OG_TRY(rc);
    OG_TRY(og__array_create(&w, dir, file_name, OG__NPY_I64, 2, COLUMNS, err));
    for (uint32_t t = 0; t < n_types; t++) {
        const uint64_t first = t > 0 ? type[t - 1].end : 0;
        if (type[t].dim > 0)
            OG_TRY(write_type(w, t, degree + first, type[t].end - first, small, err));
    }
    *written += og__npy_bytes(w);
    rc = og__array_finish(&w, file_name, checksums, err);
out:
    og__npy_discard(w);
    og__release(b, small, og__degree_counts_bytes(), part);
    return rc;
}

/* ---- reading ---- */

struct og_degree_counts og__degree_counts_begin(const struct og_trace_description *of,
                                                uint32_t *degree, const char *name)
{
    return (struct og_degree_counts){.of = of, .degree = degree, .name = name, .last = -1};
}

static uint64_t first_of(const struct og_degree_counts *c, uint32_t type)
{
    return type > 0 ? c->of->type[type - 1].end : 0;
}

static int wrong(const struct og_degree_counts *c, const char *what, struct og_err *err)
{
    return og__fail(err, -EINVAL, hint, "%s: %s", c->name, what);
}

/* Nodes of types from here up to `type` are all there, or have no features. */
static int go_on_to(struct og_degree_counts *c, uint32_t type, struct og_err *err)
{
    for (; c->type < type; c->type++) {
        const bool counts = c->of->type[c->type].dim > 0;
        if (counts && first_of(c, c->type) + c->at != c->of->type[c->type].end)
            return wrong(c, "not a degree for each node of a type", err);
        c->at = 0;
        c->last = -1;
    }
    return 0;
}

int og__degree_counts_add(struct og_degree_counts *c, const int64_t row[COLUMNS],
                          struct og_err *err)
{
    if (row[0] < c->type || row[0] >= c->of->n_types)
        OG_DO(wrong(c, "types that do not ascend, or are not the graph's", err));
    OG_DO(go_on_to(c, (uint32_t)row[0], err));
    const struct og_trace_type *t = &c->of->type[c->type];
    const uint64_t first = first_of(c, c->type) + c->at;
    if (t->dim == 0 || row[1] <= c->last || row[1] > UINT32_MAX)
        OG_DO(wrong(c, "degrees that do not ascend, or of a type without features", err));
    if (row[2] < 1 || (uint64_t)row[2] > t->end - first)
        OG_DO(wrong(c, "more nodes than the type has, or none", err));
    for (uint64_t i = 0; i < (uint64_t)row[2]; i++)
        c->degree[first + i] = (uint32_t)row[1];
    c->at += (uint64_t)row[2];
    c->last = row[1];
    return 0;
}

int og__degree_counts_end(struct og_degree_counts *c, struct og_err *err)
{
    return go_on_to(c, c->of->n_types, err);
}

static int read_rows(const struct og_npy *a, struct og_degree_counts *c, struct og_err *err)
{
    int64_t rows[CHUNK][COLUMNS];
    if (a->type != OG__NPY_I64 || a->ndim != 2 || a->shape[1] != COLUMNS)
        return wrong(c, "not rows of type, degree and nodes", err);
    for (int64_t done = 0, n; done < a->shape[0]; done += n) {
        n = OG_MIN(a->shape[0] - done, (int64_t)CHUNK);
        OG_DO(og__npy_read(a, done, n, rows, err));
        for (int64_t i = 0; i < n; i++)
            OG_DO(og__degree_counts_add(c, rows[i], err));
    }
    return og__degree_counts_end(c, err);
}

int og__degree_counts_read(const char *dir, const struct og_trace_description *of, uint32_t *degree,
                           struct og_err *err)
{
    struct og_npy a = {.fd = -1};
    int rc = og__exists(dir, file_name, err);
    if (rc <= 0)
        return rc < 0 ? rc
                      : og__fail(err, -ENOENT, "give the dataset, and the trace with --samples",
                                 "%s: has no degrees of nodes", dir);
    char *path = og__path_join(dir, file_name);
    OG_TRY(path ? og__npy_open(&a, path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", dir));
    memset(degree, 0, of->n_nodes * sizeof(*degree));
    struct og_degree_counts c = og__degree_counts_begin(of, degree, path);
    OG_TRY(read_rows(&a, &c, err));
out:
    og__npy_close(&a);
    free(path);
    return rc;
}
