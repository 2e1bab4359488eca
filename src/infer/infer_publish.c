/* Outputs that are no file of a step: of some nodes, narrowed, or as a table. */
#include "infer/infer_passes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ROWS "inference rows"

struct publishing {
    struct og_inference *f;
    struct og_infer_read read;
    struct og_matrix from;
    uint64_t n;      /* rows of the output */
    uint32_t n_rows; /* at once */
    char *memory;
    /* of rows at hand, in the order of the output, and of the file */
    float *rows, *sorted;
    uint64_t *order; /* number << 32 | position */
    uint32_t *nodes, *numbers;
};

static size_t memory_bytes(const struct publishing *p)
{
    const size_t each = 2 * og__matrix_row(&p->from) + sizeof(uint64_t) + 2 * sizeof(uint32_t);
    return p->n_rows * each;
}

static int open_publishing(struct publishing *p, int step, struct og_err *err)
{
    struct og_inference *f = p->f;
    const struct og_whole_layer shape = f->kind->shape(f, step / 2);
    p->from = (struct og_matrix){
        .n = og__infer_nodes(f, step / 2 + 1), .dim = shape.n_out, .dtype = OG_F32};
    p->n = f->needed.requested ? (uint64_t)f->needed.n_requested : p->from.n;
    p->n_rows = (uint32_t)OG_MAX(OG_MIB / og__matrix_row(&p->from), (size_t)1);
    p->n_rows = (uint32_t)OG_MIN((uint64_t)p->n_rows, p->n);
    p->memory = og__alloc(f->budget, memory_bytes(p), ROWS, err);
    OG_DO(p->memory ? og__infer_step_files(f, step, &p->from.files, err) : -ENOMEM);
    const size_t floats = p->n_rows * (size_t)p->from.dim;
    p->order = (uint64_t *)(void *)p->memory;
    p->rows = (float *)(p->order + p->n_rows);
    p->sorted = p->rows + floats;
    p->nodes = (uint32_t *)(p->sorted + floats);
    p->numbers = p->nodes + p->n_rows;
    return og__infer_read_open(f, &p->read, &p->from, err);
}

static void close_publishing(struct publishing *p)
{
    og__infer_read_close(p->f, &p->read);
    og__release(p->f->budget, p->memory, memory_bytes(p), ROWS);
    og__step_files_free(&p->from.files);
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Reads the rows of output rows [first, first + n), in the order of their file. */
static int read_rows(struct publishing *p, uint64_t first, uint32_t n, struct og_err *err)
{
    const struct og_needed *d = &p->f->needed;
    const size_t dim = (size_t)p->from.dim;
    int rc;
    for (uint32_t i = 0; i < n; i++) {
        p->nodes[i] = d->requested ? d->requested[first + i] : (uint32_t)(first + i);
        const uint32_t number =
            d->requested ? og__needed_number(d, p->nodes[i]) : (uint32_t)(first + i);
        p->order[i] = (uint64_t)number << 32 | i;
    }
    qsort(p->order, n, sizeof(*p->order), ascending);
    for (uint32_t i = 0; i < n; i++)
        p->numbers[i] = (uint32_t)(p->order[i] >> 32);
    rc = og__infer_submit(p->f, &p->read, p->numbers, n, (char *)p->sorted, err);
    const int waited = og__infer_wait(p->f, &p->read, err);
    for (uint32_t i = 0; i < n; i++)
        memcpy(p->rows + (uint32_t)p->order[i] * dim, p->sorted + i * dim, dim * sizeof(float));
    return rc < 0 ? rc : waited;
}

static int publish_rows(struct publishing *p, struct og_prediction_file *to, struct og_err *err)
{
    int rc = 0;
    for (uint64_t first = 0; first < p->n; first += p->n_rows) {
        const uint32_t n = (uint32_t)OG_MIN(p->n - first, (uint64_t)p->n_rows);
        OG_TRY(read_rows(p, first, n, err));
        OG_TRY(og__prediction_rows(to, p->nodes, p->rows, n, err));
        og__infer_observe(p->f, "write", p->f->config.layers - 1, first + n, p->n);
    }
out:
    return rc;
}

static int publish(struct og_inference *f, const struct og_infer_output *o, struct og_err *err)
{
    struct publishing p = {.f = f};
    struct og_prediction_file *to = NULL;
    const struct og_output_file *w = &o->file;
    struct stat st;
    int rc;
    if (o->is_step)
        return 0;
    OG_TRY(open_publishing(&p, o->step, err));
    OG_TRY(og__prediction_open(&to, w->fd, w->part, o->form, p.from.dim, &f->config, f->ds, err));
    OG_TRY(publish_rows(&p, to, err));
out:
    rc = og__prediction_end(to, rc, err);
    if (rc >= 0 && fstat(w->fd, &st) == 0)
        f->bytes_written += (uint64_t)st.st_size;
    close_publishing(&p);
    return rc;
}

int og__infer_publish(struct og_inference *f, struct og_err *err)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < f->state.n_outputs; i++)
        rc = publish(f, &f->state.output[i], err);
    return rc;
}
