/* Common parts of passes over nodes: readers, remaining memory, progress. */
#include "infer/infer_passes.h"

#include "budget/config.h"
#include "dataset/features.h"
#include "learn/checkpoint.h"

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

int og__infer_reader(struct og_inference *f, struct og_reader **out, const struct og_matrix *x,
                     struct og_err *err)
{
    const struct og_reader_options features = og__infer_reader_options(f);
    const struct og_reader_options steps = options_of_steps(f);
    const struct og_row_files rows = {.paths = x->files.at.path,
                                      .stripes = x->files.stripes,
                                      .offset = OG__MATRIX_OFFSET,
                                      .row_bytes = og__matrix_row(x),
                                      .n_rows = x->n};
    if (x->features)
        return og__features_open(out, f->ds->group, &features, f->budget, err);
    return og__reader_open_parts(out, &rows, &steps, f->budget, err);
}

void og__infer_range(uint64_t first, uint32_t n, uint32_t *nodes)
{
    for (uint32_t i = 0; i < n; i++)
        nodes[i] = (uint32_t)first + i;
}

int og__infer_submit(const struct og_inference *f, struct og_infer_read *read,
                     const struct og_matrix *x, uint32_t *nodes, uint32_t n, char *out,
                     struct og_err *err)
{
    const uint32_t *ids = x->features ? f->needed.ids : NULL;
    int rc = 0;
    read->n = 0;
    for (uint32_t i = 0; ids && i < n; i++)
        nodes[i] = ids[nodes[i]];
    for (uint32_t first = 0, end; rc == 0 && first < n; first = end) {
        end = ids ? first + 1 : n;
        while (end < n && nodes[end - 1] < nodes[end])
            end++;
        struct og_read_job *job = &read->run[read->n++];
        *job = (struct og_read_job){
            .rows = nodes + first, .n = end - first, .out = out + first * og__matrix_row(x)};
        rc = og__reader_submit(read->reader, job, err);
    }
    return rc;
}

int og__infer_wait(struct og_inference *f, struct og_infer_read *read, struct og_err *err)
{
    int rc = 0;
    for (int i = 0; i < read->n; i++) {
        struct og_read_job *job = &read->run[i];
        const int one = og__reader_wait(read->reader, job, err);
        rc = rc < 0 ? rc : one;
        f->counts.reads += job->counts.reads;
        f->counts.bytes += job->counts.bytes;
    }
    read->n = 0;
    return rc;
}

size_t og__infer_left(const struct og_inference *f)
{
    size_t left = og__budget_left(f->budget), spare = 2 * OG_MIB;
    return left > spare ? left - spare : 0;
}

int og__infer_check_rows(int l, uint64_t first, uint32_t n, const float *rows, int dim,
                         struct og_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const float *row = rows + i * (size_t)dim;
        bool finite = true;
        for (int j = 0; j < dim; j++)
            finite &= fabsf(row[j]) <= FLT_MAX;
        if (!finite)
            return og__fail(err, -EDOM, og__diverged_hint,
                            "layer %d, node %llu: the output is not a finite number", l + 1,
                            (unsigned long long)first + i);
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

struct og_whole_layer og__infer_shape(const struct og_inference *f, int l)
{
    const struct og_relation *all = f->whole ? f->whole : f->lists;
    return og__whole_layer(&f->config, l, (uint64_t)all->n_nodes, (uint64_t)all->n_edges);
}

uint64_t og__infer_edges(const struct og_inference *f, int l)
{
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
