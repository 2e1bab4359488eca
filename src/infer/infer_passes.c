/* Common parts of passes over all nodes: readers, remaining memory, progress. */
#include "infer/infer_passes.h"

#include "budget/config.h"
#include "dataset/features.h"
#include "learn/checkpoint.h"

#include <float.h>
#include <math.h>

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
                                      .n_rows = (uint64_t)f->ds->n_nodes};
    if (x->features)
        return og__features_open(out, f->ds->group, &features, f->budget, err);
    return og__reader_open_parts(out, &rows, &steps, f->budget, err);
}

int og__infer_submit(struct og_reader *r, struct og_read_job *job, uint64_t first, uint32_t n,
                     uint32_t *ids, char *out, struct og_err *err)
{
    for (uint32_t i = 0; i < n; i++)
        ids[i] = (uint32_t)first + i;
    *job = (struct og_read_job){.rows = ids, .n = n, .out = out};
    return og__reader_submit(r, job, err);
}

void og__infer_count(struct og_inference *f, const struct og_read_job *job)
{
    f->counts.reads += job->counts.reads;
    f->counts.bytes += job->counts.bytes;
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

void og__infer_observe(const struct og_inference *f, const char *stage, int l, uint64_t done)
{
    struct og_progress p = {.size = sizeof(p),
                            .stage = stage,
                            .epoch = l + 1,
                            .epochs = f->config.layers,
                            .done = done,
                            .total = (uint64_t)f->ds->n_nodes};
    og__observe(f->observer, &p);
}
