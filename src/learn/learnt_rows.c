#include "learn/learnt_rows.h"

#include "base/bits.h"
#include "base/file.h"
#include "base/hex.h"
#include "flow/places.h"
#include "options/fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL "model"

enum { ROOM = 256 * 1024 };

struct table {
    struct og_learnt *of;
    uint32_t group;
    const char *name;
    int64_t n_rows;
    int dim, record; /* numbers of a value, of a record */
    float *gradient; /* [capacity, dim] of the batch's rows, */
    float *placed;   /* the same by place; NULL: rows have one each */
    uint32_t n, capacity;
    const struct og_tensor *best; /* its values in the open best file */
};

struct og_learnt {
    const struct og_workload *f;
    const struct og_options *opt;
    struct og_gather *gather;
    struct og_budget *budget;
    const struct og_rows *rows; /* of the batch whose gradients were taken */
    float *room;                /* [room_bytes] of at least a record */
    size_t room_bytes;
    struct og_home *home;
    struct og_home_io io;          /* for checkpoints, not reported yet */
    struct og_base_rows base;      /* rows of the last checkpoint, */
    struct og_base_rows base_best; /* or of this file: */
    struct og_tensors_file best;
    char name[17];      /* of the checkpoint being written */
    char best_seal[17]; /* checksum of the best epoch's file, "": there is none; */
    bool best_named;    /* resume.safetensors names it */
    char *former;       /* a former one's path, or NULL */
    uint32_t n_tables;
    struct table table[OG_MOST_TYPES];
};

/* ---- open and close ---- */

static uint64_t rows_of_batch(const struct og_workload *f, uint32_t group)
{
    return og__nodes_of(&f->by_type, f->caps.n_hops, group);
}

static size_t widest(const struct og_workload *f)
{
    size_t most = 0;
    for (uint32_t k = 0; k < f->graph->n_groups; k++)
        if (f->graph->group[k].state > 0)
            most = OG_MAX(most, og__row_bytes(&f->graph->group[k]));
    return most;
}

static size_t room_bytes(const struct og_workload *f)
{
    return OG_MAX((size_t)ROOM, widest(f));
}

size_t og__learnt_bytes(const struct og_workload *f)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < f->graph->n_groups; k++)
        if (f->graph->group[k].state > 0)
            bytes += og__home_bytes((uint64_t)f->graph->group[k].n_nodes) +
                     (f->seeds.trees ? 2 : 1) * (size_t)rows_of_batch(f, k) *
                         (size_t)og__row_dim(&f->graph->group[k]) * sizeof(float);
    return bytes > 0 ? bytes + room_bytes(f) + og__home_buffer(widest(f)) : 0;
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

/* Records of the last checkpoint. */
static int get_saved(void *self, uint32_t group, uint64_t first, size_t n, float *records,
                     struct og_err *err)
{
    const struct og_learnt *l = self;
    const uint64_t *there = og__home_there(l->home, group);
    const size_t record = (size_t)l->f->graph->group[group].dim;
    const int rc = og__home_get(l->home, group, first, n, records, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (!og__bits_has(there, first + i))
            og__gather_make(l->gather, group, (uint32_t)(first + i), records + i * record);
    return rc;
}

static struct table *table_of(struct og_learnt *l, uint32_t group)
{
    uint32_t i = 0;
    while (l->table[i].group != group)
        i++;
    return &l->table[i];
}

/* Values [n, dim] at the records' place become records, with states of 0. */
static void widen(float *records, size_t n, size_t dim, size_t record)
{
    for (size_t i = n; i-- > 0;) {
        memmove(records + i * record, records + i * dim, dim * sizeof(float));
        memset(records + i * record + dim, 0, (record - dim) * sizeof(float));
    }
}

static int get_best(void *self, uint32_t group, uint64_t first, size_t n, float *records,
                    struct og_err *err)
{
    struct og_learnt *l = self;
    const struct table *t = table_of(l, group);
    const size_t bytes = (size_t)t->dim * sizeof(float);
    const int rc = og__tensors_load(&l->best, t->best, first * bytes, n * bytes, records, err);
    widen(records, n, (size_t)t->dim, (size_t)t->record);
    return rc;
}

int og__learnt_open(struct og_learnt **out, const struct og_workload *f,
                    const struct og_options *opt, struct og_gather *gather, const char *folder,
                    struct og_budget *b, struct og_err *err)
{
    *out = NULL;
    if (og__learnt_bytes(f) == 0)
        return 0;
    struct og_learnt *l = *out = calloc(1, sizeof(*l));
    if (!l)
        return og__fail_errno(err, -ENOMEM, NULL, "embeddings");
    *l = (struct og_learnt){.f = f,
                            .opt = opt,
                            .gather = gather,
                            .budget = b,
                            .base = {l, get_saved},
                            .base_best = {l, get_best},
                            .best = {.fd = -1}};
    l->room_bytes = room_bytes(f);
    l->room = og__alloc(b, l->room_bytes, MODEL, err);
    OG_DO(l->room ? 0 : -ENOMEM);
    OG_DO(og__home_open(&l->home, folder, f->graph, opt->resume, &l->io, b, err));
    for (uint32_t k = 0; k < f->graph->n_groups; k++) {
        const struct og_group *group = &f->graph->group[k];
        if (group->state == 0)
            continue;
        struct table *t = &l->table[l->n_tables++];
        *t = (struct table){.of = l,
                            .group = k,
                            .name = group->name,
                            .n_rows = group->n_nodes,
                            .dim = og__row_dim(group),
                            .record = group->dim};
        OG_DO(reserve(l, t, (uint32_t)rows_of_batch(f, k), err));
    }
    return 0;
}

void og__learnt_close(struct og_learnt *l)
{
    if (!l)
        return;
    og__gather_settle(l->gather);
    for (uint32_t i = 0; i < l->n_tables; i++)
        drop_gradients(l, &l->table[i]);
    og__home_close(l->home);
    og__tensors_close(&l->best);
    og__release(l->budget, l->room, l->room ? l->room_bytes : 0, MODEL);
    free(l->former);
    free(l);
}

struct og_home_io og__learnt_io(struct og_learnt *l)
{
    const struct og_home_io io = l ? l->io : (struct og_home_io){{0}, {0}};
    if (l)
        l->io = (struct og_home_io){{0}, {0}};
    return io;
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

/* ---- the run's files ---- */

struct putting {
    struct og_home *home;
    uint32_t group;
};

static int put(void *arg, uint32_t row, const void *record, struct og_err *err)
{
    const struct putting *p = arg;
    return og__home_put(p->home, p->group, row, record, err);
}

/* They get all rows as of now. */
static int update_home(struct og_learnt *l, struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < l->n_tables; i++)
        OG_TRY(og__home_protect(l->home, l->table[i].group,
                                og__gather_changed(l->gather, l->table[i].group), err));
    OG_TRY(og__home_protected(l->home, err));
    for (uint32_t i = 0; i < l->n_tables; i++) {
        struct putting p = {l->home, l->table[i].group};
        OG_TRY(og__gather_bring(l->gather, p.group, put, &p, &l->io.read, err));
    }
    OG_TRY(og__home_sync(l->home, err));
out:
    return rc;
}

/* Batches change them from there. */
static int base_on_home(struct og_learnt *l, struct og_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < l->n_tables; i++) {
        const uint32_t k = l->table[i].group;
        OG_TRY(og__gather_base(l->gather, k, &l->base, og__home_there(l->home, k), err));
    }
out:
    return rc;
}

/* ---- in files ---- */

/* Rows whose records the room has space for. */
static size_t rows_at_once(const struct table *t)
{
    return OG_MAX((size_t)ROOM / ((size_t)t->record * sizeof(float)), (size_t)1);
}

/* Bytes [at, at + bytes) of the values of the last checkpoint. */
static int read_values(void *self, size_t at, size_t bytes, void *out, struct og_err *err)
{
    const struct table *t = self;
    struct og_learnt *l = t->of;
    const size_t width = (size_t)t->dim, record = (size_t)t->record;
    size_t i = at / sizeof(float), end = (at + bytes) / sizeof(float);
    float *to = out;
    int rc = 0;
    while (i < end) {
        const size_t first = i / width, wanted = (end + width - 1) / width - first;
        const size_t n = OG_MIN(rows_at_once(t), wanted);
        OG_TRY(get_saved(l, t->group, first, n, l->room, err));
        for (const size_t last = OG_MIN(end, (first + n) * width); i < last; i++)
            *to++ = l->room[(i / width - first) * record + i % width];
    }
out:
    return rc;
}

static struct og_tensor values_of(struct table *t)
{
    struct og_tensor out = {.dtype = OG_TENSOR_F32,
                            .ndim = 2,
                            .shape = {t->n_rows, t->dim},
                            .bytes = (size_t)t->n_rows * (size_t)t->dim * sizeof(float),
                            .read = read_values,
                            .self = t};
    snprintf(out.name, sizeof(out.name), "embeddings.%s.weight", t->name);
    return out;
}

static struct og_tensor bits_of(struct og_learnt *l, const struct table *t)
{
    const size_t words = og__bits_words((uint64_t)t->n_rows);
    struct og_tensor out = {.dtype = OG_TENSOR_I64,
                            .ndim = 1,
                            .shape = {(int64_t)words},
                            .bytes = words * sizeof(uint64_t),
                            .data = og__home_there(l->home, t->group)};
    snprintf(out.name, sizeof(out.name), "there.embeddings.%s", t->name);
    return out;
}

size_t og__learnt_tensors(const struct og_learnt *l)
{
    return l ? (size_t)l->n_tables : 0;
}

int og__learnt_add(struct og_learnt *l, struct og_tensors *t, struct og_err *err)
{
    const int rc = l ? update_home(l, err) : 0;
    for (uint32_t i = 0; l && rc == 0 && i < l->n_tables; i++)
        t->tensor[t->n++] = values_of(&l->table[i]);
    return rc;
}

#define NAME "rows"
#define BEST "best_rows"

int og__learnt_save(struct og_learnt *l, struct og_tensors *t, struct og_err *err)
{
    const int rc = l ? update_home(l, err) : 0;
    if (!l || rc < 0)
        return rc;
    snprintf(l->name, sizeof(l->name), "%s", og__hex(og__home_name(l->home)).digits);
    t->metadata[t->n_metadata++] = (struct og_metadata){(char *)NAME, l->name};
    if (l->best_seal[0])
        t->metadata[t->n_metadata++] = (struct og_metadata){(char *)BEST, l->best_seal};
    for (uint32_t i = 0; i < l->n_tables; i++)
        t->tensor[t->n++] = bits_of(l, &l->table[i]);
    return 0;
}

int og__learnt_saved(struct og_learnt *l, struct og_err *err)
{
    if (!l)
        return 0;
    l->best_named = l->best_seal[0];
    if (l->former)
        unlink(l->former);
    free(l->former);
    l->former = NULL;
    return og__home_commit(l->home, err);
}

static int find(const struct og_tensors_file *f, const struct og_tensor *wanted,
                const struct og_tensor **out, struct og_err *err)
{
    const struct og_tensor *t = *out = og__tensors_find(&f->all, wanted->name);
    if (!t)
        return og__fail(err, -EINVAL, "is it a checkpoint of the same model, layers and sizes?",
                        "%s: no tensor %s", f->path, wanted->name);
    if (t->dtype != wanted->dtype || t->ndim != wanted->ndim || t->bytes != wanted->bytes ||
        t->shape[0] != wanted->shape[0])
        return og__fail(err, -EINVAL, "train on this graph, with the same --embedding",
                        "%s: %s: embeddings of %lld nodes, this graph has %lld of that type",
                        f->path, t->name, (long long)t->shape[0], (long long)wanted->shape[0]);
    return 0;
}

int og__learnt_resume(struct og_learnt *l, const struct og_tensors_file *f, struct og_err *err)
{
    const char *best = og__tensors_said(&f->all, BEST);
    uint64_t name;
    int rc = 0;
    if (!l)
        return 0;
    if (!og__hex_parse(og__tensors_said(&f->all, NAME), &name))
        return og__fail(
            err, -ENOTSUP,
            "go on with that version, or start another run; --init takes values of rows",
            "%s: rows of embeddings as an earlier version wrote them", f->path);
    for (uint32_t i = 0; i < l->n_tables; i++) {
        const struct og_tensor wanted = bits_of(l, &l->table[i]), *t;
        OG_TRY(find(f, &wanted, &t, err));
        OG_TRY(og__tensors_load(f, t, 0, t->bytes, (void *)wanted.data, err));
    }
    OG_TRY(og__home_restore(l->home, name, f->path, err));
    snprintf(l->best_seal, sizeof(l->best_seal), "%s", best ? best : "");
    l->best_named = best;
    OG_TRY(base_on_home(l, err));
out:
    return rc;
}

static int init_table(struct og_learnt *l, struct table *t, const struct og_tensors_file *f,
                      struct og_err *err)
{
    const struct og_tensor wanted = values_of(t), *from;
    const size_t row = (size_t)t->dim * sizeof(float);
    uint64_t *there = og__home_there(l->home, t->group);
    OG_DO(find(f, &wanted, &from, err));
    for (size_t first = 0, n; first < (size_t)t->n_rows; first += n) {
        n = OG_MIN(rows_at_once(t), (size_t)t->n_rows - first);
        OG_DO(og__tensors_load(f, from, first * row, n * row, l->room, err));
        widen(l->room, n, (size_t)t->dim, (size_t)t->record);
        for (size_t i = 0; i < n; i++) {
            OG_DO(og__home_put(l->home, t->group, (uint32_t)(first + i),
                               l->room + i * (size_t)t->record, err));
            og__bits_add(there, first + i);
        }
    }
    return 0;
}

int og__learnt_init(struct og_learnt *l, const struct og_tensors_file *f, struct og_err *err)
{
    int rc = l ? og__home_sync(l->home, err) : 0; /* begins it */
    for (uint32_t i = 0; l && rc == 0 && i < l->n_tables; i++)
        rc = init_table(l, &l->table[i], f, err);
    if (!l || rc < 0)
        return rc;
    rc = og__home_sync(l->home, err);
    return rc < 0 ? rc : base_on_home(l, err);
}

/* ---- the best epoch's ---- */

static char *former_of(const char *path)
{
    char *former;
    return asprintf(&former, "%s.before", path) < 0 ? NULL : former;
}

int og__learnt_begin_best(struct og_learnt *l, const char *path, struct og_err *err)
{
    if (!l || !l->best_named)
        return 0;
    l->former = former_of(path);
    if (!l->former)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    l->best_named = false;
    unlink(l->former);
    if (link(path, l->former) == 0 ||
        rename(path, l->former) == 0 || /* without links for a while */
        errno == ENOENT)                /* nothing to keep */
        return 0;
    return og__fail_errno(err, -errno, NULL, "%s: cannot keep it as %s", path, l->former);
}

int og__learnt_end_best(struct og_learnt *l, const char *path, struct og_err *err)
{
    return l ? og__tensors_seal(path, l->best_seal, err) : 0;
}

int og__learnt_find_best(struct og_learnt *l, const char *path, struct og_err *err)
{
    char *former = former_of(path), seal[17] = "";
    int rc = former ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", path);
    OG_TRY(rc);
    if (og__tensors_seal(path, seal, NULL) == 0 && strcmp(seal, l->best_seal) == 0)
        unlink(former);
    else if (og__tensors_seal(former, seal, NULL) != 0 || strcmp(seal, l->best_seal) != 0)
        rc = og__fail(err, -EINVAL, "bring back the file, or start another run",
                      "%s: not the file of the best epoch so far, which has its embeddings", path);
    else if (rename(former, path) < 0)
        rc = og__fail_errno(err, -errno, NULL, "%s: cannot be %s again", former, path);
out:
    free(former);
    return rc;
}

static int use_best(struct og_learnt *l, const char *path, struct og_err *err)
{
    int rc = og__tensors_open(&l->best, path, err);
    rc = rc < 0 ? rc : og__tensors_check(&l->best, err);
    for (uint32_t i = 0; rc == 0 && i < l->n_tables; i++) {
        const struct og_tensor wanted = values_of(&l->table[i]);
        OG_TRY(find(&l->best, &wanted, &l->table[i].best, err));
    }
    for (uint32_t i = 0; rc == 0 && i < l->n_tables; i++)
        rc = og__gather_base(l->gather, l->table[i].group, &l->base_best, NULL, err);
out:
    return rc;
}

int og__learnt_use(struct og_learnt *l, const char *path, struct og_err *err)
{
    if (l && path)
        return use_best(l, path, err);
    return l && og__gather_foreseen(l->gather, l->table[0].group) ? base_on_home(l, err) : 0;
}
