/* Common parts of passes over nodes: readers, remaining memory, progress. */
#include "infer/infer_passes.h"

#include "budget/config.h"
#include "dataset/convert.h"
#include "dataset/features.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

struct og_reader_options og__infer_reader_options(const struct og_inference *f)
{
    return (struct og_reader_options){.io = f->opt.io, .profile = f->profile, .log = &f->log};
}

static struct og_reader_options options_of_steps(const struct og_inference *f)
{
    return (struct og_reader_options){.io = f->opt.io, .profile = f->away, .log = &f->log};
}

size_t og__infer_reader_bytes(const struct og_inference *f)
{
    const struct og_reader_options features = og__infer_reader_options(f);
    const struct og_reader_options steps = options_of_steps(f);
    return OG_MAX(og__reader_bytes(&features), og__reader_bytes(&steps));
}

/* Whether rows come from several groups, or are widened. */
static bool is_joined(const struct og_inference *f, const struct og_matrix *x)
{
    return x->features && (f->n_inputs > 1 || f->input[0] != f->ds->group);
}

/* Rows of one group that are read at once, before they are joined. */
static uint32_t piece_rows(const struct og_inference *f)
{
    const size_t row = (size_t)f->input[0]->dim * sizeof(float);
    return (uint32_t)OG_MAX(OG_MIB / row, (size_t)1);
}

static size_t piece_bytes(const struct og_inference *f)
{
    return piece_rows(f) * ((size_t)f->input[0]->dim * sizeof(float) + sizeof(uint32_t));
}

size_t og__infer_read_bytes(const struct og_inference *f, const struct og_matrix *x)
{
    const size_t one = og__infer_reader_bytes(f);
    return is_joined(f, x) ? (size_t)f->n_inputs * one + piece_bytes(f) : one;
}

static int open_joined(struct og_inference *f, struct og_infer_read *out, struct og_err *err)
{
    const struct og_reader_options how = og__infer_reader_options(f);
    out->piece = og__alloc(f->budget, piece_bytes(f), "inference rows", err);
    OG_DO(out->piece ? 0 : -ENOMEM);
    for (; out->n_readers < f->n_inputs; out->n_readers++)
        OG_DO(og__features_open(&out->reader[out->n_readers], f->input[out->n_readers], &how,
                                f->budget, err));
    return 0;
}

int og__infer_read_open(struct og_inference *f, struct og_infer_read *out,
                        const struct og_matrix *x, struct og_err *err)
{
    const struct og_reader_options features = og__infer_reader_options(f);
    const struct og_reader_options steps = options_of_steps(f);
    const struct og_row_files rows = {.paths = x->files.at.path,
                                      .stripes = x->files.stripes,
                                      .offset = OG__MATRIX_OFFSET,
                                      .row_bytes = og__matrix_row(x),
                                      .n_rows = x->n};
    *out = (struct og_infer_read){.x = x};
    if (is_joined(f, x))
        return open_joined(f, out, err);
    out->n_readers = 1;
    if (x->features)
        return og__features_open(&out->reader[0], f->ds->group, &features, f->budget, err);
    return og__reader_open_parts(&out->reader[0], &rows, &steps, f->budget, err);
}

void og__infer_read_close(struct og_inference *f, struct og_infer_read *read)
{
    for (int k = 0; k < read->n_readers; k++)
        og__reader_close(read->reader[k]);
    if (read->piece)
        og__release(f->budget, read->piece, piece_bytes(f), "inference rows");
}

void og__infer_range(uint64_t first, uint32_t n, uint32_t *nodes)
{
    for (uint32_t i = 0; i < n; i++)
        nodes[i] = (uint32_t)first + i;
}

/* Queue runs of ascending rows with reader k. */
static int submit_runs(struct og_infer_read *read, int k, const uint32_t *rows, uint32_t n,
                       bool in_runs, size_t row_bytes, char *out, struct og_err *err)
{
    int rc = 0;
    read->n = 0;
    for (uint32_t first = 0, end; rc == 0 && first < n; first = end) {
        end = in_runs ? first + 1 : n;
        while (end < n && rows[end - 1] < rows[end])
            end++;
        struct og_read_job *job = &read->run[read->n++];
        *job = (struct og_read_job){
            .rows = rows + first, .n = end - first, .out = out + first * row_bytes};
        rc = og__reader_submit(read->reader[k], job, err);
    }
    return rc;
}

static int wait_runs(struct og_inference *f, struct og_infer_read *read, int k, struct og_err *err)
{
    int rc = 0;
    for (int i = 0; i < read->n; i++) {
        struct og_read_job *job = &read->run[i];
        const int one = og__reader_wait(read->reader[k], job, err);
        rc = rc < 0 ? rc : one;
        f->counts.reads += job->counts.reads;
        f->counts.bytes += job->counts.bytes;
    }
    read->n = 0;
    return rc;
}

int og__infer_submit(const struct og_inference *f, struct og_infer_read *read, uint32_t *nodes,
                     uint32_t n, char *out, struct og_err *err)
{
    const uint32_t *ids = read->x->features ? f->needed.ids : NULL;
    for (uint32_t i = 0; ids && i < n; i++)
        nodes[i] = ids[nodes[i]];
    read->nodes = nodes;
    read->n_nodes = n;
    read->out = out;
    if (is_joined(f, read->x))
        return 0; /* all is read by og__infer_wait */
    return submit_runs(read, 0, nodes, n, ids, og__matrix_row(read->x), out, err);
}

/* Rows `first` to `first` + n of input k, into their columns. */
static int join_piece(struct og_inference *f, struct og_infer_read *read, int k, uint32_t first,
                      uint32_t n, struct og_err *err)
{
    const struct og_group *of = f->input[k];
    const size_t dim = (size_t)of->dim;
    int rc = submit_runs(read, k, read->nodes + first, n, f->needed.ids, og__row_bytes(of),
                         read->piece, err);
    const int waited = wait_runs(f, read, k, err);
    if (rc < 0 || waited < 0)
        return rc < 0 ? rc : waited;
    float *out = (float *)(void *)read->out + (size_t)first * dim * (size_t)f->n_inputs;
    for (uint32_t i = 0; i < n; i++)
        og__widen_row(out + (i * (size_t)f->n_inputs + (size_t)k) * dim,
                      read->piece + i * og__row_bytes(of), of->dim, of->dtype, og__row_scale(of),
                      og__row_form(of));
    return 0;
}

int og__infer_wait(struct og_inference *f, struct og_infer_read *read, struct og_err *err)
{
    const uint32_t most = piece_rows(f);
    int rc = 0;
    if (!read->x || !is_joined(f, read->x))
        return wait_runs(f, read, 0, err);
    for (uint32_t first = 0; first < read->n_nodes; first += most)
        for (int k = 0; rc == 0 && k < f->n_inputs; k++)
            rc = join_piece(f, read, k, first, OG_MIN(read->n_nodes - first, most), err);
    read->n_nodes = 0;
    return rc;
}

size_t og__infer_left(const struct og_inference *f)
{
    size_t left = og__budget_left(f->budget), spare = 2 * OG_MIB;
    return left > spare ? left - spare : 0;
}

int og__infer_check_rows(const struct og_infer_kind *kind, int l, uint64_t first, uint32_t n,
                         const float *rows, int dim, struct og_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const float *row = rows + i * (size_t)dim;
        bool finite = true;
        for (int j = 0; j < dim; j++)
            finite &= fabsf(row[j]) <= FLT_MAX;
        if (!finite)
            return og__fail(err, -EDOM, kind->undefined_hint,
                            "%s %d, node %llu: the output is not a finite number", kind->layer,
                            l + 1, (unsigned long long)first + i);
    }
    return 0;
}

void og__infer_observe(const struct og_inference *f, const char *stage, int l, uint64_t done,
                       uint64_t total)
{
    struct og_progress p = {.size = sizeof(p),
                            .stage = stage,
                            .epoch = l + 1,
                            .epochs = f->config.layers,
                            .done = done,
                            .total = total};
    og__observe(f->observer, &p);
}

uint64_t og__infer_edges(const struct og_inference *f, int l)
{
    if (f->alone)
        return 0;
    return f->needed.ids ? f->needed.edges[f->config.layers - l - 1] : (uint64_t)f->lists->n_edges;
}

uint64_t og__infer_nodes(const struct og_inference *f, int l)
{
    return f->needed.ids ? f->needed.end[f->config.layers - l] : (uint64_t)f->lists->n_nodes;
}

/* ---- arrays in the folder of the state ---- */

int og__infer_array_new(const struct og_inference *f, const char *name, enum og__npy_type type,
                        int64_t row, struct og_npy_writer **out, struct og_err *err)
{
    char *path = og__path_join(f->state.home[0].path, name);
    int rc;
    OG_TRY(path ? 0 : og__fail_errno(err, -ENOMEM, NULL, "inference"));
    unlink(path);
    OG_TRY(og__npy_create(out, path, type, row > 1 ? 2 : 1, row, err));
out:
    free(path);
    return rc;
}

int og__infer_array_end(struct og_inference *f, struct og_npy_writer **from, const char *name,
                        struct og_npy *to, struct og_err *err)
{
    struct og_npy_writer *writer = *from;
    char *path = og__path_join(f->state.home[0].path, name);
    int rc;
    *from = NULL;
    f->prepare_written += og__npy_bytes(writer);
    OG_TRY(og__npy_finish(writer, NULL, err));
    OG_TRY(path ? og__npy_open(to, path, err) : og__fail_errno(err, -ENOMEM, NULL, "inference"));
out:
    free(path);
    return rc;
}
