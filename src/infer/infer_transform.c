/* The first pass of a layer: every row multiplied, from one file into another. */
#include "infer/infer_passes.h"

#define ROWS "inference rows"

enum {
    GROUP = OG__WHOLE_ROWS,
    CHUNK_ROWS = 1 << 14, /* rows multiplied at once */
};

struct chunk {
    struct og_infer_read read;
    uint32_t *ids;
    uint32_t n;
    char *rows;
};

struct transform {
    struct og_inference *f;
    int l;
    const struct og_matrix *in;
    struct og_whole_layer shape;
    uint32_t n_rows;             /* per chunk */
    struct og_infer_read opened; /* each chunk has a copy */
    struct og_step_writer *writer;
    uint64_t first;        /* first row not there yet */
    struct chunk chunk[2]; /* one being read, one being multiplied */
    float *out;
};

static size_t chunk_bytes(const struct transform *t, size_t rows)
{
    return rows * (sizeof(uint32_t) + og__matrix_row(t->in));
}

static size_t transform_bytes(const struct og_inference *f, const struct transform *t,
                              uint32_t rows)
{
    struct og_whole_caps caps = {rows, rows, 0};
    return 2 * chunk_bytes(t, rows) + rows * (size_t)t->shape.n_source * sizeof(float) +
           og__infer_kind_bytes(f, t->l, &caps);
}

static int open_transform(struct transform *t, struct og_err *err)
{
    struct og_inference *f = t->f;
    int rc = og__infer_read_open(f, &t->opened, t->in, err);
    if (rc < 0)
        return rc;
    size_t left = og__infer_left(f);
    t->n_rows = GROUP;
    while (t->n_rows < CHUNK_ROWS && transform_bytes(f, t, 2 * t->n_rows) <= left / 2)
        t->n_rows *= 2;
    for (int i = 0; i < 2; i++) {
        t->chunk[i].rows = og__alloc(f->budget, chunk_bytes(t, t->n_rows), ROWS, err);
        if (!t->chunk[i].rows)
            return -ENOMEM;
        t->chunk[i].ids =
            (uint32_t *)(void *)(t->chunk[i].rows + t->n_rows * og__matrix_row(t->in));
    }
    size_t out_bytes = t->n_rows * (size_t)t->shape.n_source * sizeof(float);
    struct og_whole_caps caps = {t->n_rows, t->n_rows, 0};
    t->out = og__alloc(f->budget, out_bytes, ROWS, err);
    rc = t->out ? og__infer_kind_reserve(f, t->l, &caps, err) : -ENOMEM;
    return rc < 0 ? rc : og__infer_create(f, og__transform_step(t->l), &t->writer, &t->first, err);
}

static void close_transform(struct transform *t)
{
    struct og_inference *f = t->f;
    og__infer_kind_release(f);
    og__infer_read_close(f, &t->opened);
    for (int i = 0; i < 2; i++)
        og__release(f->budget, t->chunk[i].rows, chunk_bytes(t, t->n_rows), ROWS);
    og__release(f->budget, t->out, t->n_rows * (size_t)t->shape.n_source * sizeof(float), ROWS);
}

static struct chunk *chunk_of(struct transform *t, uint64_t first)
{
    return &t->chunk[(first - t->first) / t->n_rows % 2];
}

static int submit_chunk(struct transform *t, uint64_t first, struct og_err *err)
{
    struct chunk *c = chunk_of(t, first);
    if (first >= t->in->n)
        return 0;
    c->n = (uint32_t)OG_MIN(t->in->n - first, (uint64_t)t->n_rows);
    c->read = t->opened;
    og__infer_range(first, c->n, c->ids);
    return og__infer_submit(t->f, &c->read, c->ids, c->n, c->rows, err);
}

static int transform_rows(struct transform *t, struct og_err *err)
{
    struct og_inference *f = t->f;
    int rc = 0;
    OG_TRY(submit_chunk(t, t->first, err));
    for (uint64_t first = t->first; first < t->in->n; first += t->n_rows) {
        struct chunk *c = chunk_of(t, first);
        OG_TRY(submit_chunk(t, first + t->n_rows, err));
        OG_TRY(og__infer_wait(f, &c->read, err));
        struct og_rows x = {.base = c->rows,
                            .stride = og__matrix_row(t->in),
                            .n = c->n,
                            .dim = t->in->dim,
                            .dtype = t->in->dtype,
                            .sparse = t->in->sparse,
                            .scale = t->in->scale};
        OG_TRY(f->kind->transform(f, t->l, first, x, t->out, err));
        OG_TRY(og__infer_append(f, t->writer, t->out, x.n, t->shape.n_source, err));
        og__infer_observe(f, "transform", t->l, first + x.n, t->in->n);
        OG_TRY(og__infer_mark(f, t->writer, first + x.n, err));
    }
out:
    return rc;
}

int og__infer_transform(struct og_inference *f, int l, const struct og_matrix *in,
                        const struct og_whole_layer *shape, struct og_err *err)
{
    struct transform t = {.f = f, .l = l, .in = in, .shape = *shape};
    int rc;
    OG_TRY(open_transform(&t, err));
    OG_TRY(transform_rows(&t, err));
out:
    close_transform(&t);
    return og__step_writer_end(t.writer, rc, err);
}

size_t og__infer_transform_least(const struct og_inference *f, int l, const struct og_matrix *in,
                                 const struct og_whole_layer *shape)
{
    struct transform t = {.in = in, .l = l, .shape = *shape};
    return og__infer_reader_bytes(f) + transform_bytes(f, &t, GROUP);
}
