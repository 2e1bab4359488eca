#include "infer/infer_passes.h"

#include "dataset/stream.h"

#define LISTS "inference lists"

/* ==== the survey ==== */

struct survey {
    struct og_inference *f;
    struct og_indptr_check check;
    uint64_t group; /* edges of the current group */
    int64_t last;   /* start of the previous list */
    uint64_t v;     /* node of the current list, */
    uint64_t left;  /* and its remaining edges */
};

static int look_at_indptr(void *arg, const void *data, int64_t first_byte, size_t bytes,
                          struct og_err *err)
{
    struct survey *s = arg;
    const int64_t *p = data;
    int64_t first = first_byte / 8;
    int rc;
    OG_TRY(og__check_indptr(&s->check, p, first, bytes / 8, err));
    for (size_t i = first == 0; i < bytes / 8; i++) {
        uint64_t v = (uint64_t)first + i - 1, before = (uint64_t)(i > 0 ? p[i - 1] : s->last);
        uint64_t degree = (uint64_t)p[i] - before;
        s->group = (v % OG__WHOLE_ROWS ? s->group : 0) + degree;
        s->f->longest = OG_MAX(s->f->longest, s->group);
        if (s->f->degree)
            s->f->degree[v] = (uint32_t)degree;
    }
out:
    s->last = p[bytes / 8 - 1];
    return rc;
}

/* Excludes self-loops from degrees. */
static void look_at_loop(struct survey *s, uint64_t u)
{
    while (s->left == 0)
        s->left = s->f->degree[++s->v];
    s->left--;
    s->f->degree[s->v] -= u == s->v;
}

static int look_at_indices(void *arg, const void *data, int64_t first_byte, size_t bytes,
                           struct og_err *err)
{
    struct survey *s = arg;
    const struct og_relation *r = s->f->lists;
    bool narrow = r->indices.type == OG__NPY_I32;
    OG_DO(og__check_indices((void *)r, data, first_byte, bytes, err));
    for (size_t i = 0; i < bytes / (narrow ? 4 : 8); i++) {
        uint64_t u = narrow ? ((const uint32_t *)data)[i] : ((const uint64_t *)data)[i];
        s->f->feeds[u]++;
        if (s->f->degrees_of_others)
            look_at_loop(s, u);
    }
    return 0;
}

int og__infer_sum_weights(struct og_inference *f, bool loops, struct og_err *err)
{
    const size_t bytes = (size_t)f->lists->n_nodes * sizeof(*f->weights.mean);
    f->weights.mean = og__alloc(f->budget, bytes, OG__INFER_NODES, err);
    if (f->weights.mean && loops)
        f->weights.loop = og__alloc(f->budget, bytes, OG__INFER_NODES, err);
    return f->weights.mean && (f->weights.loop || !loops)
               ? og__weight_sums_fill(f->lists, f->budget, &f->weights, err)
               : -ENOMEM;
}

int og__infer_survey(struct og_inference *f, struct og_err *err)
{
    struct survey s = {.f = f, .check = {f->lists, 0}, .v = (uint64_t)-1};
    size_t bytes = (size_t)f->lists->n_nodes * sizeof(uint32_t);
    int rc = 0;
    void *buffer = NULL;
    f->feeds = og__alloc(f->budget, bytes, OG__INFER_NODES, err);
    if (f->degrees)
        f->degree = og__alloc(f->budget, bytes, OG__INFER_NODES, err);
    if (!f->feeds || (f->degrees && !f->degree))
        OG_TRY(-ENOMEM);
    if (f->alone)
        return 0;
    buffer = og__alloc(f->budget, OG__CHUNK, LISTS, err);
    OG_TRY(buffer ? 0 : -ENOMEM);
    OG_TRY(og__npy_stream(&f->lists->indptr, buffer, look_at_indptr, &s, err));
    OG_TRY(og__check_indptr_end(&s.check, err));
    if (f->longest > UINT32_MAX)
        OG_TRY(og__fail(err, -ENOTSUP, NULL,
                        "%s: %d consecutive adjacency lists have 2^32 edges or more", f->ds->path,
                        (int)OG__WHOLE_ROWS));
    OG_TRY(og__npy_stream(&f->lists->indices, buffer, look_at_indices, &s, err));
    OG_TRY(f->kind->survey(f, err));
out:
    og__release(f->budget, buffer, OG__CHUNK, LISTS);
    return rc;
}

/* ==== a layer ==== */

static int input_step(int l)
{
    return l == 0 ? OG__INFER_INPUT : og__combine_step(l - 1);
}

int og__infer_own_step(const struct og_inference *f, int l)
{
    return f->kind->own ? f->kind->own(f, l) : input_step(l);
}

/* The own rows of layer l. The caller frees their files, also on failure. */
static int own_rows(struct og_inference *f, int l, struct og_matrix *own, struct og_err *err)
{
    const int step = og__infer_own_step(f, l);
    *own = og__infer_features(f);
    if (step == OG__INFER_INPUT)
        return 0;
    if (step % 2)
        return og__infer_output_of(f, step / 2, own, err);
    *own = (struct og_matrix){.n = og__infer_nodes(f, step / 2),
                              .dim = f->kind->shape(f, step / 2).n_source,
                              .dtype = OG_F32};
    return og__infer_step_files(f, step, &own->files, err);
}

static int too_small(const struct og_inference *f, size_t missing, struct og_err *err)
{
    char has[32], wants[32], hint[80];
    const size_t limit = og__budget_limit(f->budget), smallest = limit + missing;
    snprintf(hint, sizeof(hint), "use --memory %zuM or more", (smallest + OG_MIB - 1) / OG_MIB);
    return og__fail(err, -ENOMEM, hint, "--memory %s: inference needs %s",
                    og__human_bytes(has, (double)limit), og__human_bytes(wants, (double)smallest));
}

int og__infer_check(const struct og_inference *f, struct og_err *err)
{
    size_t least = 0, left = og__infer_left(f);
    for (int l = 0; l < f->config.layers; l++) {
        struct og_whole_layer s = f->kind->shape(f, l);
        struct og_matrix in = og__infer_features(f);
        if (l > 0)
            in = (struct og_matrix){.dim = s.n_in, .dtype = OG_F32};
        struct og_matrix made = {.dim = s.n_source, .dtype = OG_F32}, own = in;
        if (l > 0 && og__infer_own_step(f, l) == OG__INFER_INPUT)
            own = og__infer_features(f);
        size_t combine = og__infer_combine_least(f, l, s.transforms ? &made : &in, &own, &s);
        size_t transform = s.transforms ? og__infer_transform_least(f, l, &in, &s) : 0;
        least = OG_MAX(least, OG_MAX(combine, transform));
    }
    return least > left ? too_small(f, least - left, err) : 0;
}

/* Bytes of the lists of the nodes that a layer makes rows of. */
static uint64_t lists_bytes(const struct og_inference *f, int l)
{
    const struct og_relation *g = f->lists;
    const uint64_t n = og__infer_nodes(f, l + 1), edges = og__infer_edges(f, l);
    if (f->alone)
        return 0;
    const size_t each = og__npy_size(g->indices.type) +
                        (og__infer_reads_weights(f) ? og__npy_size(g->weights.type) : 0);
    return (n + 1) * og__npy_size(g->indptr.type) + edges * each;
}

static uint64_t rows_bytes(const struct og_inference *f, const struct og_matrix *x)
{
    size_t each = x->features ? 0 : og__matrix_row(x);
    for (int k = 0; x->features && k < f->n_inputs; k++)
        each += og__file_row_bytes(f->input[k]);
    return x->n * each;
}

static int tell(struct og_inference *f, int l, const struct og_matrix *in,
                const struct og_matrix *own, const struct og_blocks_used *used, double seconds,
                struct og_err *err)
{
    uint64_t least = rows_bytes(f, in) + (own ? rows_bytes(f, own) : 0) + lists_bytes(f, l);
    json_t *row =
        json_pack("{s:i s:f s:I s:I s:I s:I s:f s:I s:I}", "layer", l + 1, "seconds", seconds,
                  "reads", (json_int_t)f->counts.reads, "bytes_read", (json_int_t)f->counts.bytes,
                  "bytes_written", (json_int_t)f->bytes_written, "bytes_least", (json_int_t)least,
                  "read_amplification", (double)f->counts.bytes / (double)least, "rows_kept",
                  (json_int_t)used->n_hot, "nodes_a_block", (json_int_t)used->n_dst);
    return json_array_append_new(f->layers, row) == 0
               ? 0
               : og__fail_errno(err, -ENOMEM, NULL, "figures of layer %d", l + 1);
}

/* Whether the current step is `step` or a later one of its layer. */
static bool to_do(const struct og_inference *f, int step)
{
    return f->state.step <= step;
}

static int transform(struct og_inference *f, int l, const struct og_matrix *in,
                     const struct og_whole_layer *shape, struct og_err *err)
{
    int rc = og__infer_transform(f, l, in, shape, err);
    return rc < 0 ? rc : og__infer_next_step(f, og__combine_step(l), err);
}

static void drop_input(struct og_inference *f, int l, int step)
{
    if (l == f->config.layers - 1 || og__infer_own_step(f, l + 1) != step)
        og__infer_drop_step(f, step);
}

/* Removes input files of a layer that is done. Features, requested outputs and what the next layer
 * reads again stay. */
static void drop_inputs(struct og_inference *f, int l)
{
    if (f->hops.labelled) /* hop_rows.c reads all of them */
        return;
    if (l > 0)
        drop_input(f, l, og__combine_step(l - 1));
    if (f->kind->shape(f, l).transforms)
        drop_input(f, l, og__transform_step(l));
}

/* With labels to compare, logits are no finished step: the comparison is not stored. */
static int end_layer(struct og_inference *f, int l, const struct og_matrix *in,
                     const struct og_matrix *own, const struct og_blocks_used *used,
                     struct og_err *err)
{
    OG_DO(tell(f, l, in, own, used, og__now() - f->layer_start, err));
    f->counts = (struct og_io_counts){0};
    f->bytes_written = 0;
    f->layer_start = og__now();
    bool judged = f->judged && l == f->config.layers - 1;
    return judged ? 0 : og__infer_next_step(f, og__transform_step(l + 1), err);
}

int og__infer_layer(struct og_inference *f, int l, const struct og_matrix *in, struct og_err *err)
{
    struct og_blocks_used used = {0};
    struct og_whole_layer shape = f->kind->shape(f, l);
    struct og_matrix made = {.n = in->n, .dim = shape.n_source, .dtype = OG_F32}, apart = {0};
    const struct og_matrix *own = og__infer_own_step(f, l) == input_step(l) ? NULL : &apart;
    int rc;
    OG_TRY(own ? own_rows(f, l, &apart, err) : 0);
    OG_TRY(og__infer_step_files(f, og__transform_step(l), &made.files, err));
    if (shape.transforms && to_do(f, og__transform_step(l)))
        OG_TRY(transform(f, l, in, &shape, err));
    f->state.step = og__combine_step(l);
    OG_TRY(
        og__infer_combine(f, l, shape.transforms ? &made : in, own ? own : in, &shape, &used, err));
    OG_TRY(end_layer(f, l, in, own, &used, err));
    drop_inputs(f, l);
out:
    og__step_files_free(&apart.files);
    og__step_files_free(&made.files);
    return rc;
}
