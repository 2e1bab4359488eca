#include "learn/learnt_rows.h"

#include "base/file.h"
#include "flow/places.h"
#include "options/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL "model"

enum { PARTS = 4, ROOM = 256 * 1024 }; /* values, at most two states, values of the best epoch */

/* An array of a table: columns [first, first + n) of each record, or the best file. */
struct part {
    struct og_learnt *of;
    struct table *table;
    int first, n; /* n = 0: of the best epoch */
};

struct table {
    uint32_t group;
    const char *name;
    int64_t n_rows;
    int dim, record; /* numbers of a value, of a record */
    int best;        /* file with the best epoch's values [n_rows, dim]; -1 = none */
    float *gradient; /* [capacity, dim] of the batch's rows, */
    float *placed;   /* the same by place; NULL: rows have one each */
    uint32_t n, capacity;
    struct part part[PARTS];
};

struct og_learnt {
    const struct og_workload *f;
    const struct og_options *opt;
    struct og_gather *gather;
    struct og_budget *budget;
    const struct og_rows *rows; /* of the batch whose gradients were taken */
    float *room;                /* [room_bytes] of at least a record */
    size_t room_bytes;
    char *path;                  /* of the best files, for messages */
    struct og_io_counts flushed; /* for checkpoints, so far */
    uint32_t n_tables;
    struct table table[OG_MOST_TYPES];
};

/* ---- open and close ---- */

static uint64_t rows_of_batch(const struct og_workload *f, uint32_t group)
{
    return og__nodes_of(&f->by_type, f->caps.n_hops, group);
}

static size_t room_bytes(const struct og_workload *f)
{
    size_t most = ROOM;
    for (uint32_t k = 0; k < f->graph->n_groups; k++)
        if (f->graph->group[k].state > 0)
            most = OG_MAX(most, og__row_bytes(&f->graph->group[k]));
    return most;
}

size_t og__learnt_bytes(const struct og_workload *f)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < f->graph->n_groups; k++)
        if (f->graph->group[k].state > 0)
            bytes += (f->seeds.trees ? 2 : 1) * (size_t)rows_of_batch(f, k) *
                     (size_t)og__row_dim(&f->graph->group[k]) * sizeof(float);
    return bytes > 0 ? bytes + room_bytes(f) : 0;
}

static void drop_gradients(struct og_learnt *l, struct table *t)
{
    const size_t bytes = t->capacity * (size_t)t->dim * sizeof(float);
    og__release(l->budget, t->gradient, bytes, MODEL);
    og__release(l->budget, t->placed, bytes, MODEL);
    t->gradient = t->placed = NULL;
    t->capacity = 0;
}

static int reserve(struct og_learnt *l, struct table *t, uint32_t n, struct og_err *err)
{
    const size_t row = (size_t)t->dim * sizeof(float);
    if (n <= t->capacity)
        return 0;
    drop_gradients(l, t);
    t->gradient = og__alloc(l->budget, n * row, MODEL, err);
    t->placed = l->f->seeds.trees ? og__alloc(l->budget, n * row, MODEL, err) : NULL;
    t->capacity = n;
    return t->gradient && (t->placed || !l->f->seeds.trees) ? 0 : -ENOMEM;
}

static void name_parts(struct og_learnt *l, struct table *t)
{
    const int states = og__row_states(l->opt->embedding_optimizer);
    const int width = (t->record - t->dim) / states;
    t->part[0] = (struct part){l, t, 0, t->dim};
    for (int i = 0; i < states; i++)
        t->part[1 + i] = (struct part){l, t, t->dim + i * width, width};
    t->part[PARTS - 1] = (struct part){.of = l, .table = t};
}

/* A file without a name. */
static int open_best(struct og_learnt *l, struct table *t, const char *scratch, struct og_err *err)
{
    if (!l->path && asprintf(&l->path, "%s/best_embedding.XXXXXX", scratch) < 0)
        return og__fail_errno(err, -ENOMEM, NULL, "embeddings");
    char *path = strdup(l->path);
    t->best = path ? mkostemp(path, O_CLOEXEC) : -1;
    const int rc = t->best >= 0 ? 0 : og__fail_errno(err, -errno, NULL, "%s: cannot create", path);
    if (rc == 0)
        unlink(path);
    free(path);
    return rc;
}

int og__learnt_open(struct og_learnt **out, const struct og_workload *f,
                    const struct og_options *opt, struct og_gather *gather, const char *scratch,
                    struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    if (og__learnt_bytes(f) == 0)
        return 0;
    struct og_learnt *l = *out = calloc(1, sizeof(*l));
    if (!l)
        return og__fail_errno(err, -ENOMEM, NULL, "embeddings");
    *l = (struct og_learnt){.f = f, .opt = opt, .gather = gather, .budget = b};
    l->room_bytes = room_bytes(f);
    l->room = og__alloc(b, l->room_bytes, MODEL, err);
    OG_DO(l->room ? 0 : -ENOMEM);
    for (uint32_t k = 0; k < f->graph->n_groups; k++) {
        const struct og_group *group = &f->graph->group[k];
        if (group->state == 0)
            continue;
        struct table *t = &l->table[l->n_tables++];
        *t = (struct table){.group = k,
                            .name = group->name,
                            .n_rows = group->n_nodes,
                            .dim = og__row_dim(group),
                            .record = group->dim,
                            .best = -1};
        name_parts(l, t);
        OG_DO(open_best(l, t, scratch, err));
        OG_DO(reserve(l, t, (uint32_t)rows_of_batch(f, k), err));
    }
    return 0;
}

void og__learnt_close(struct og_learnt *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; i < l->n_tables; i++) {
        struct table *t = &l->table[i];
        drop_gradients(l, t);
        if (t->best >= 0)
            close(t->best);
    }
    og__release(l->budget, l->room, l->room ? l->room_bytes : 0, MODEL);
    free(l->path);
    free(l);
}

uint64_t og__learnt_flushed(struct og_learnt *l)
{
    const uint64_t bytes = l ? l->flushed.bytes : 0;
    if (l)
        l->flushed = (struct og_io_counts){0};
    return bytes;
}

struct og_io_counts og__learnt_exported(struct og_learnt *l)
{
    return l ? og__gather_exported(l->gather) : (struct og_io_counts){0};
}

uint64_t og__learnt_trained(const struct og_learnt *l)
{
    uint64_t n = 0;
    for (uint32_t i = 0; l && i < l->n_tables; i++)
        n += (uint64_t)l->table[i].n_rows * (uint64_t)l->table[i].dim;
    return n;
}

/* ---- a step ---- */

static double sum_of_squares(const float *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

int og__learnt_take(struct og_learnt *l, struct og_model *m, const struct og_rows *rows,
                    const struct og_places_view *places, double *square, struct og_err *err)
{
    const bool shown = places && places->shown;
    l->rows = shown ? places->own : rows;
    for (uint32_t i = 0; i < l->n_tables; i++) {
        struct table *t = &l->table[i];
        OG_DO(reserve(l, t, rows[t->group].n, err));
        OG_DO(og__model_row_gradient(m, t->group, shown ? t->placed : t->gradient, &t->n, err));
        if (shown && t->n > 0) {
            og__places_sum(places, l->f->row_graph, t->group, t->dim, t->placed, t->gradient);
            t->n = l->rows[t->group].n;
        }
        *square += sum_of_squares(t->gradient, (size_t)t->n * (size_t)t->dim);
    }
    return 0;
}

static bool all_finite(const float *x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] - x[i];
    return sum == 0;
}

static int update_table(struct og_learnt *l, struct table *t, const struct og_row_step *step,
                        struct og_err *err)
{
    const struct og_rows *rows = &l->rows[t->group];
    for (uint32_t i = 0; i < t->n; i++) {
        float *record = (float *)(uintptr_t)og__row(rows, i);
        og__row_update(l->opt->embedding_optimizer, step, record,
                       t->gradient + (size_t)i * (size_t)t->dim, t->dim);
        if (!all_finite(record, t->record))
            return og__fail(err, -EDOM,
                            "lower --embedding-lr, or look for extreme values with "
                            "`outgrow verify`",
                            "a value of embeddings.%s.weight is not a finite number", t->name);
    }
    if (t->n > 0)
        og__gather_touch(l->gather, l->rows, t->group);
    return 0;
}

int og__learnt_update(struct og_learnt *l, const struct og_pace *pace, double scale, uint64_t step,
                      struct og_err *err)
{
    const struct og_options *opt = l->opt;
    struct og_pace own = *pace;
    if (opt->embedding_lr > 0)
        own.lr = opt->lr > 0 ? opt->embedding_lr * (pace->lr / opt->lr) : opt->embedding_lr;
    const struct og_row_step how = og__row_step(opt->embedding_optimizer, &own, scale, step);
    for (uint32_t i = 0; i < l->n_tables; i++)
        OG_DO(update_table(l, &l->table[i], &how, err));
    return 0;
}

/* ---- all rows, piece by piece ---- */

/* Rows whose records, or whose values, the room has space for. */
static int64_t piece_of(const struct table *t, int64_t first, int width)
{
    const int64_t most = ROOM / ((int64_t)width * (int64_t)sizeof(float));
    return OG_MIN(t->n_rows - first, OG_MAX(most, (int64_t)1));
}

static int flush(struct og_learnt *l, struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < l->n_tables; i++)
        OG_TRY(og__gather_flush(l->gather, l->table[i].group, &l->flushed, err));
out:
    return rc;
}

static off_t best_at(const struct table *t, int64_t row)
{
    return (off_t)row * t->dim * (off_t)sizeof(float);
}

static int keep_table(struct og_learnt *l, struct table *t, struct og_err *err)
{
    const size_t width = (size_t)t->dim, record = (size_t)t->record;
    int rc = 0;
    for (int64_t first = 0, n; first < t->n_rows; first += n) {
        n = piece_of(t, first, t->record);
        OG_TRY(og__gather_get(l->gather, t->group, (uint64_t)first, (size_t)n, l->room, err));
        for (size_t i = 0; i < (size_t)n; i++)
            memmove(l->room + i * width, l->room + i * record, width * sizeof(float));
        OG_TRY(og__write_all(t->best, l->room, (size_t)n * width * sizeof(float), best_at(t, first),
                             l->path, err));
    }
out:
    return rc;
}

int og__learnt_keep_best(struct og_learnt *l, struct og_err *err)
{
    int rc = l ? flush(l, err) : 0;
    for (uint32_t i = 0; l && rc == 0 && i < l->n_tables; i++)
        rc = keep_table(l, &l->table[i], err);
    return rc;
}

static int use_table(struct og_learnt *l, struct table *t, struct og_err *err)
{
    const size_t width = (size_t)t->dim, record = (size_t)t->record;
    int rc = 0;
    for (int64_t first = 0, n; first < t->n_rows; first += n) {
        n = piece_of(t, first, t->record);
        OG_TRY(og__read_all(t->best, l->room, (size_t)n * width * sizeof(float), best_at(t, first),
                            l->path, err));
        for (size_t i = (size_t)n; i-- > 0;) {
            memmove(l->room + i * record, l->room + i * width, width * sizeof(float));
            memset(l->room + i * record + width, 0, (record - width) * sizeof(float));
        }
        OG_TRY(og__gather_set(l->gather, t->group, (uint64_t)first, (size_t)n, l->room, err));
    }
out:
    return rc;
}

int og__learnt_use_best(struct og_learnt *l, struct og_err *err)
{
    int rc = l ? flush(l, err) : 0;
    for (uint32_t i = 0; l && rc == 0 && i < l->n_tables; i++)
        rc = use_table(l, &l->table[i], err);
    return l && rc == 0 ? og__gather_reload(l->gather, err) : rc;
}

/* ---- in files ---- */

static const char *const prefixes[][2] = {
    [OG_ROWS_SPARSE_ADAM] = {"adam.m.", "adam.v."},
    [OG_ROWS_ADAGRAD] = {"adagrad."},
    [OG_ROWS_ROW_ADAGRAD] = {"adagrad."},
};

static const char *prefix_of(const struct og_learnt *l, int state)
{
    return prefixes[l->opt->embedding_optimizer][state];
}

/* Bytes [at, at + bytes) of a part's array. */
static int read_part(void *self, size_t at, size_t bytes, void *out, struct og_err *err)
{
    const struct part *p = self;
    struct og_learnt *l = p->of;
    const struct table *t = p->table;
    float *to = out;
    int rc = 0;
    if (p->n == 0)
        return og__read_all(t->best, out, bytes, (off_t)at, l->path, err);
    const size_t width = (size_t)p->n, record = (size_t)t->record;
    size_t i = at / sizeof(float), end = (at + bytes) / sizeof(float);
    while (i < end) {
        const int64_t first = (int64_t)(i / width);
        const int64_t wanted = (int64_t)((end + width - 1) / width) - first;
        const size_t n = (size_t)OG_MIN(piece_of(t, first, t->record), wanted);
        OG_TRY(og__gather_get(l->gather, t->group, (uint64_t)first, n, l->room, err));
        for (const size_t last = OG_MIN(end, ((size_t)first + n) * width); i < last; i++)
            *to++ = l->room[(i / width - (size_t)first) * record + (size_t)p->first + i % width];
    }
out:
    return rc;
}

static struct og_tensor tensor_of(struct part *p, const char *prefix)
{
    const struct table *t = p->table;
    const int width = p->n > 0 ? p->n : t->dim;
    const bool flat = p->n == 1 && t->dim > 1;
    struct og_tensor out = {.dtype = OG_TENSOR_F32,
                            .ndim = flat ? 1 : 2,
                            .shape = {t->n_rows, flat ? 1 : width, 1},
                            .bytes = (size_t)t->n_rows * (size_t)width * sizeof(float),
                            .read = read_part,
                            .self = p};
    snprintf(out.name, sizeof(out.name), "%sembeddings.%s.weight", prefix, t->name);
    return out;
}

size_t og__learnt_tensors(const struct og_learnt *l)
{
    return l ? (size_t)l->n_tables * PARTS : 0;
}

int og__learnt_add(struct og_learnt *l, enum og_learnt_what what, const char *prefix,
                   struct og_tensors *t, struct og_err *err)
{
    int rc = l ? flush(l, err) : 0;
    if (!l || rc < 0)
        return rc;
    const int states = og__row_states(l->opt->embedding_optimizer);
    for (uint32_t i = 0; i < l->n_tables; i++) {
        struct part *p = l->table[i].part;
        if (what == OG__LEARNT_STATES)
            for (int k = 0; k < states; k++)
                t->tensor[t->n++] = tensor_of(&p[1 + k], prefix_of(l, k));
        else
            t->tensor[t->n++] = tensor_of(what == OG__LEARNT_BEST ? &p[PARTS - 1] : &p[0], prefix);
    }
    return 0;
}

static int find(const struct og_tensors_file *f, struct part *p, const char *prefix,
                const struct og_tensor **out, struct og_err *err)
{
    const struct og_tensor wanted = tensor_of(p, prefix);
    const struct og_tensor *t = *out = og__tensors_find(&f->all, wanted.name);
    if (!t)
        return og__fail(err, -EINVAL, "is it a checkpoint of the same model, layers and sizes?",
                        "%s: no tensor %s", f->path, wanted.name);
    if (t->dtype != OG_TENSOR_F32 || t->ndim != wanted.ndim || t->bytes != wanted.bytes ||
        t->shape[0] != wanted.shape[0])
        return og__fail(err, -EINVAL, "train on this graph, with the same --embedding",
                        "%s: %s: embeddings of %lld nodes, this graph has %lld of that type",
                        f->path, t->name, (long long)t->shape[0], (long long)wanted.shape[0]);
    return 0;
}

/* Rows [first, first + n) of a tensor, into their columns of the records. */
static int load_part(const struct og_tensors_file *f, const struct og_tensor *t,
                     const struct part *p, int64_t first, int64_t n, float *records,
                     struct og_err *err)
{
    float row[4096];
    const size_t width = (size_t)p->n, record = (size_t)p->table->record;
    const size_t end = (size_t)(first + n) * width;
    for (size_t i = (size_t)first * width, k; i < end; i += k) {
        k = OG_MIN(end - i, OG_COUNT(row));
        OG_DO(og__tensors_load(f, t, i * sizeof(float), k * sizeof(float), row, err));
        for (size_t j = 0; j < k; j++)
            records[((i + j) / width - (size_t)first) * record + (size_t)p->first +
                    (i + j) % width] = row[j];
    }
    return 0;
}

static int restore_table(struct og_learnt *l, struct table *t, const struct og_tensors_file *f,
                         bool with_states, struct og_err *err)
{
    const struct og_tensor *tensor[PARTS];
    const int parts = with_states ? 1 + og__row_states(l->opt->embedding_optimizer) : 1;
    int rc = 0;
    for (int i = 0; i < parts; i++)
        OG_TRY(find(f, &t->part[i], i > 0 ? prefix_of(l, i - 1) : "", &tensor[i], err));
    for (int64_t first = 0, n; first < t->n_rows; first += n) {
        n = piece_of(t, first, t->record);
        memset(l->room, 0, (size_t)n * (size_t)t->record * sizeof(float));
        for (int i = 0; i < parts; i++)
            OG_TRY(load_part(f, tensor[i], &t->part[i], first, n, l->room, err));
        OG_TRY(og__gather_set(l->gather, t->group, (uint64_t)first, (size_t)n, l->room, err));
    }
out:
    return rc;
}

static int restore_best(struct og_learnt *l, struct table *t, const struct og_tensors_file *f,
                        struct og_err *err)
{
    const struct og_tensor *tensor;
    const size_t row = (size_t)t->dim * sizeof(float);
    OG_DO(find(f, &t->part[PARTS - 1], "best.", &tensor, err));
    for (int64_t first = 0, n; first < t->n_rows; first += n) {
        n = piece_of(t, first, t->dim);
        OG_DO(og__tensors_load(f, tensor, (size_t)first * row, (size_t)n * row, l->room, err));
        OG_DO(og__write_all(t->best, l->room, (size_t)n * row, best_at(t, first), l->path, err));
    }
    return 0;
}

int og__learnt_restore(struct og_learnt *l, const struct og_tensors_file *f, bool states, bool best,
                       struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; l && i < l->n_tables; i++) {
        OG_TRY(restore_table(l, &l->table[i], f, states, err));
        if (best)
            OG_TRY(restore_best(l, &l->table[i], f, err));
    }
    if (l)
        OG_TRY(og__gather_reload(l->gather, err));
out:
    return rc;
}
