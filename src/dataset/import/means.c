/* Features of types without any. Each node gets the mean of its in-neighbours' rows, over all
 * relations from types with features. The baselines of MAG240M do so for authors, from their
 * papers, and for institutions, from their authors (Hu et al. 2021, OGB-LSC, §3.2).
 *
 *   nodes of the type   | a chunk, whose sums memory holds | the next | ...
 *   for each relation   lists of the chunk ──> requests by row ──> rows, each read once, in the
 *                       order of the file ──> sums ──> divided, appended to the file
 *
 * A node's rows are summed in the order of relations and of the file, for any chunks. So results
 * are bit-identical for any amount of memory. It fails if memory cannot hold the longest list. */
#include "dataset/import/means.h"

#include "base/allocs.h"
#include "base/bits.h"
#include "base/json.h"
#include "dataset/convert.h"
#include "dataset/features.h"
#include "dataset/graph.h"
#include "dataset/stream.h"

#include <stdlib.h>
#include <string.h>

static const char part[] = "means";
enum { JOBS = 2, JOB_BYTES = 1 << 20, BLOCK = 256, SLICE = 64 };

/* Rows that are read while others are added. */
struct job {
    struct og_read_job read;
    uint32_t *rows; /* [job_rows] */
    char *data;     /* [job_rows] as stored */
    uint32_t first; /* of them among the chunk's requested rows */
};

struct means {
    struct og_importer *imp;
    struct og_budget *budget;
    struct og_allocs arrays;
    const struct og_graph *g;
    uint32_t type;
    size_t dim;
    enum og_dtype dtype; /* of what is made */
    /* the chunk: nodes [first, first + n) */
    int64_t first, n;
    int64_t most_nodes, most_edges; /* of a chunk; of its lists by one relation */
    float *sum;                     /* [most_nodes][dim] */
    uint32_t *count;                /* [most_nodes] rows in it */
    int64_t *ptr;                   /* [most_nodes + 1] of the current relation: its lists, */
    int64_t *edge;                  /* [most_edges] their sources, */
    uint32_t *start;                /* [most_edges + 2] start of each requested row's nodes, */
    uint32_t *node;                 /* [most_edges] of the chunk, by requested row */
    const struct og_group *from;    /* the features */
    uint64_t *wanted;               /* [sources] bits */
    uint32_t *rank;                 /* of them */
    uint32_t n_wanted;
    uint32_t job_rows;
    struct job job[JOBS];
    struct og_reader *reader;
    float *row; /* [threads][dim] */
    char *out;  /* [BLOCK] rows to be written */
    struct og_npy_writer *writer;
    /* of a task */
    const struct job *adding;
    int64_t block; /* first node of it */
    int64_t unfit; /* a node whose mean exceeds the dtype, or -1 */
};

/* ---- what is taken ---- */

static bool takes(const struct means *m, uint32_t r)
{
    const struct og_relation *of = &m->g->relation[r];
    return of->destination == m->type && m->g->group[of->source].dim > 0 && of->n_edges > 0;
}

static const struct og_group *sources_of(const struct means *m, uint32_t r)
{
    return &m->g->group[m->g->relation[r].source];
}

/* As wide as they, and of their dtype where that is one of floats. */
static int know_rows(struct means *m, struct og_err *err)
{
    const char *name = m->g->group[m->type].name;
    bool same = true;
    for (uint32_t r = 0; r < m->g->n_relations; r++) {
        const struct og_group *from = takes(m, r) ? sources_of(m, r) : NULL;
        if (!from)
            continue;
        if (m->dim > 0 && (size_t)from->dim != m->dim)
            return og__fail(err, -EINVAL,
                            "leave out --mean-features, or give the type features of its own",
                            "--mean-features: neighbours of %s have features of %zu and of %lld",
                            name, m->dim, (long long)from->dim);
        same &= m->dim == 0 || from->stored == m->dtype;
        m->dim = (size_t)from->dim;
        m->dtype = from->stored;
    }
    if (m->dim == 0)
        return og__fail(
            err, -EINVAL,
            "add --reverse-relations, and name a type after those that it takes features from",
            "--mean-features: no edge leads to %s from a type with features", name);
    if (!same || m->dtype == OG_U8)
        m->dtype = OG_F32;
    if (m->imp->opt->feature_dtype >= 0)
        m->dtype = (enum og_dtype)m->imp->opt->feature_dtype;
    return 0;
}

/* ---- memory ---- */

static uint64_t most_sources(const struct means *m)
{
    uint64_t most = 0;
    for (uint32_t r = 0; r < m->g->n_relations; r++)
        if (takes(m, r))
            most = OG_MAX(most, (uint64_t)sources_of(m, r)->n_nodes);
    return most;
}

static size_t widest_row(const struct means *m)
{
    return m->dim * sizeof(float);
}

static size_t node_bytes(const struct means *m)
{
    return widest_row(m) + sizeof(*m->count) + sizeof(*m->ptr);
}

enum { EDGE_BYTES = sizeof(int64_t) + 2 * sizeof(uint32_t) };

static void take_jobs(struct means *m, struct og_err *err)
{
    const size_t words = og__bits_words(most_sources(m));
    struct og_allocs *a = &m->arrays;
    m->job_rows = (uint32_t)OG_MAX((size_t)JOB_BYTES / widest_row(m), (size_t)1);
    for (int i = 0; i < JOBS; i++) {
        struct job *j = &m->job[i];
        j->rows = og__allocs_take(a, m->job_rows * sizeof(*j->rows), err);
        j->data = og__allocs_take(a, m->job_rows * widest_row(m), err);
    }
    m->wanted = og__allocs_take(a, words * sizeof(*m->wanted), err);
    m->rank = og__allocs_take(a, words * sizeof(*m->rank), err);
    m->row = og__allocs_take(a, (size_t)og__pool_threads(m->imp->pool) * widest_row(m), err);
    m->out = og__allocs_take(a, BLOCK * widest_row(m), err);
}

static struct og_reader_options reading(const struct og_group *from)
{
    struct og_reader_options opt = {0};
    og__features_profile(from, &opt.profile);
    return opt;
}

static size_t reader_bytes(const struct means *m)
{
    size_t most = 0;
    for (uint32_t r = 0; r < m->g->n_relations; r++) {
        if (!takes(m, r))
            continue;
        const struct og_reader_options opt = reading(sources_of(m, r));
        most = OG_MAX(most, og__reader_bytes(&opt));
    }
    return most;
}

/* Divides the memory left by a reader and a writer: two thirds for sums, the rest for lists. */
static void take_chunk(struct means *m, struct og_err *err)
{
    const struct og_budget *b = m->budget;
    struct og_allocs *a = &m->arrays;
    const size_t beside = reader_bytes(m) + OG__NPY_BUFFER;
    const size_t left = og__budget_left(b) - OG_MIN(og__budget_left(b), beside);
    const int64_t all = m->g->group[m->type].n_nodes;
    int64_t longest = 0;
    for (uint32_t r = 0; r < m->g->n_relations; r++)
        longest = OG_MAX(longest, takes(m, r) ? m->g->relation[r].n_edges : 0);
    m->most_nodes = (int64_t)OG_MIN((uint64_t)all, OG_MAX(left / 3 * 2 / node_bytes(m), (size_t)1));
    m->most_edges = (int64_t)OG_MIN((uint64_t)longest, OG_MAX(left / 4 / EDGE_BYTES, (size_t)1));
    m->most_edges = OG_MIN(m->most_edges, (int64_t)UINT32_MAX - 2);
    const size_t nodes = (size_t)m->most_nodes;
    const size_t edges = (size_t)m->most_edges;
    m->sum = og__allocs_take(a, nodes * widest_row(m), err);
    m->count = og__allocs_take(a, nodes * sizeof(*m->count), err);
    m->ptr = og__allocs_take(a, (nodes + 1) * sizeof(*m->ptr), err);
    m->edge = og__allocs_take(a, edges * sizeof(*m->edge), err);
    m->start = og__allocs_take(a, (edges + 2) * sizeof(*m->start), err);
    m->node = og__allocs_take(a, edges * sizeof(*m->node), err);
}

static void give_all(struct means *m)
{
    og__reader_close(m->reader);
    og__npy_discard(m->writer);
    og__allocs_release(&m->arrays);
}

/* ---- a chunk ---- */

/* Reads the offsets of the lists of nodes from `first` on, [n + 1]. */
static int read_lists(struct means *m, const struct og_relation *lists, int64_t n,
                      struct og_err *err)
{
    struct og_indptr_check check = {.of = lists};
    OG_DO(og__npy_read_int64(&lists->indptr, m->first, n + 1, m->ptr, err));
    return og__check_indptr(&check, m->ptr, m->first, (size_t)n + 1, err);
}

/* As many nodes as there is room for, lists and all. */
static int begin_chunk(struct means *m, struct og_err *err)
{
    m->n = OG_MIN(m->most_nodes, m->g->group[m->type].n_nodes - m->first);
    for (uint32_t r = 0; r < m->g->n_relations; r++) {
        if (!takes(m, r))
            continue;
        OG_DO(read_lists(m, &m->g->relation[r], m->n, err));
        while (m->n > 0 && m->ptr[m->n] - m->ptr[0] > m->most_edges)
            m->n--;
        if (m->n == 0)
            return og__fail(err, -ENOMEM, "give more --memory",
                            "--mean-features: no memory for the %lld in-neighbours of a node of %s",
                            (long long)(m->ptr[1] - m->ptr[0]), m->g->group[m->type].name);
    }
    memset(m->sum, 0, (size_t)m->n * widest_row(m));
    memset(m->count, 0, (size_t)m->n * sizeof(*m->count));
    return 0;
}

/* ---- requests by row ---- */

static uint32_t place_of(const struct means *m, int64_t source)
{
    return og__bits_rank(m->wanted, m->rank, (uint64_t)source);
}

/* Nodes of the chunk by the rows that they want: counts, sums of them, nodes. */
static void turn_lists(struct means *m)
{
    const int64_t n = m->ptr[m->n] - m->ptr[0];
    const uint64_t sources = (uint64_t)m->from->n_nodes;
    memset(m->wanted, 0, og__bits_words(sources) * sizeof(*m->wanted));
    for (int64_t i = 0; i < n; i++)
        og__bits_add(m->wanted, (uint64_t)m->edge[i]);
    m->n_wanted = og__bits_count(m->wanted, sources, m->rank);
    memset(m->start, 0, ((size_t)m->n_wanted + 2) * sizeof(*m->start));
    for (int64_t i = 0; i < n; i++)
        m->start[place_of(m, m->edge[i]) + 2]++;
    for (uint32_t k = 2; k <= m->n_wanted; k++)
        m->start[k + 1] += m->start[k];
    for (int64_t v = 0; v < m->n; v++)
        for (int64_t i = m->ptr[v] - m->ptr[0]; i < m->ptr[v + 1] - m->ptr[0]; i++) {
            m->node[m->start[place_of(m, m->edge[i]) + 1]++] = (uint32_t)v;
            m->count[v]++;
        }
}

/* ---- rows ---- */

/* The next rows in the order of the file; none: n = 0. */
static int begin_job(struct means *m, struct job *j, uint64_t *at, uint32_t *done,
                     struct og_err *err)
{
    const uint64_t sources = (uint64_t)m->from->n_nodes;
    uint32_t n = 0;
    j->first = *done;
    for (; n < m->job_rows && *done < m->n_wanted; (*done)++) {
        *at = og__bits_next(m->wanted, sources, *at);
        j->rows[n++] = (uint32_t)(*at)++;
    }
    j->read = (struct og_read_job){.rows = j->rows, .n = n, .out = j->data};
    return n > 0 ? og__reader_submit(m->reader, &j->read, err) : 0;
}

static size_t slices(const struct means *m)
{
    return (m->dim + SLICE - 1) / SLICE;
}

/* Some columns of all rows of the job. */
static void add_slice(void *arg, size_t task, int thread)
{
    struct means *m = arg;
    const struct job *j = m->adding;
    const size_t first = task * SLICE, n = OG_MIN(m->dim - first, (size_t)SLICE);
    const size_t row_bytes = og__file_row_bytes(m->from);
    float *x = m->row + (size_t)thread * m->dim;
    for (size_t i = 0; i < j->read.n; i++) {
        const uint32_t wanted = j->first + (uint32_t)i;
        og__widen(x, j->data + i * row_bytes, m->from->stored, m->from->scale, first, n);
        for (uint32_t k = m->start[wanted]; k < m->start[wanted + 1]; k++) {
            float *sum = m->sum + (size_t)m->node[k] * m->dim + first;
            for (size_t c = 0; c < n; c++)
                sum[c] += x[c];
        }
    }
}

static int add_rows(struct means *m, struct og_err *err)
{
    uint64_t at = 0;
    uint32_t done = 0;
    for (int i = 0; i < JOBS; i++)
        OG_DO(begin_job(m, &m->job[i], &at, &done, err));
    for (int i = 0; m->job[i].read.n > 0; i = (i + 1) % JOBS) {
        OG_DO(og__reader_wait(m->reader, &m->job[i].read, err));
        m->adding = &m->job[i];
        og__pool_run(m->imp->pool, slices(m), add_slice, m);
        OG_DO(begin_job(m, &m->job[i], &at, &done, err));
    }
    return 0;
}

static int add_relation(struct means *m, uint32_t r, struct og_err *err)
{
    const struct og_relation *lists = &m->g->relation[r];
    const struct og_reader_options opt = reading(sources_of(m, r));
    int rc;
    m->from = sources_of(m, r);
    OG_TRY(read_lists(m, lists, m->n, err));
    OG_TRY(og__read_indices(lists, m->ptr[0], m->ptr[m->n] - m->ptr[0], m->edge, err));
    turn_lists(m);
    OG_TRY(og__features_open_stored(&m->reader, m->from, &opt, m->budget, err));
    OG_TRY(add_rows(m, err));
out:
    og__reader_close(m->reader);
    m->reader = NULL;
    return rc;
}

/* ---- what is written ---- */

/* Divides one node's sums. */
static void finish_node(void *arg, size_t task, int thread)
{
    struct means *m = arg;
    const int64_t v = m->block + (int64_t)task;
    float *x = m->sum + (size_t)v * m->dim;
    (void)thread;
    for (size_t c = 0; m->count[v] > 0 && c < m->dim; c++)
        x[c] /= (float)m->count[v];
    if (og__store_row(m->dtype, m->out + task * m->dim * og__dtype_size(m->dtype), x, NULL,
                      m->dim) >= 0)
        __atomic_store_n(&m->unfit, m->first + v, __ATOMIC_RELAXED);
}

static int write_chunk(struct means *m, struct og_err *err)
{
    for (m->block = 0; m->block < m->n; m->block += BLOCK) {
        const int64_t n = OG_MIN(m->n - m->block, (int64_t)BLOCK);
        og__pool_run(m->imp->pool, (size_t)n, finish_node, m);
        if (m->unfit >= 0)
            return og__fail(err, -EINVAL, "choose another --feature-dtype",
                            "--mean-features: the mean of node %lld of %s does not fit %s",
                            (long long)m->unfit, m->g->group[m->type].name,
                            og__dtype_name(m->dtype));
        OG_DO(og__npy_append(m->writer, m->out, n, err));
    }
    return 0;
}

static int make_rows(struct means *m, struct og_err *err)
{
    const int64_t all = m->g->group[m->type].n_nodes;
    for (m->first = 0; m->first < all; m->first += m->n) {
        OG_DO(begin_chunk(m, err));
        for (uint32_t r = 0; r < m->g->n_relations; r++)
            if (takes(m, r))
                OG_DO(add_relation(m, r, err));
        OG_DO(write_chunk(m, err));
        OG_DO(
            og__writing_goes_on(m->imp->observer, "features", "nodes", m->first + m->n, all, err));
    }
    return 0;
}

/* Sets the type's features in meta.json. */
static int note_type(const struct means *m, struct og_err *err)
{
    json_t *type = json_array_get(json_object_get(m->imp->meta, "node_types"), m->type);
    int bad = json_object_set_new(type, "feature_dim", json_integer((json_int_t)m->dim));
    bad |= json_object_set_new(type, "feature_dtype", json_string(og__dtype_name(m->dtype)));
    return bad ? og__fail_errno(err, -ENOMEM, NULL, "import") : 0;
}

static int make_file(struct means *m, struct og_err *err)
{
    char name[32];
    snprintf(name, sizeof(name), "features_%u.npy", m->type);
    OG_DO(know_rows(m, err));
    take_jobs(m, err);
    take_chunk(m, err);
    OG_DO(og__allocs_taken(&m->arrays));
    OG_DO(og__array_create(&m->writer, m->imp->dir.temporary, name, og__dtype_stored(m->dtype), 2,
                           (int64_t)m->dim, err));
    OG_DO(make_rows(m, err));
    OG_DO(og__array_finish(&m->writer, name, m->imp->checksums, err));
    return note_type(m, err);
}

/* ---- the types that are named ---- */

static int find_type(const struct og_graph *g, const char *src, const char *name, size_t len,
                     uint32_t *type, struct og_err *err)
{
    for (*type = 0; *type < g->n_groups; (*type)++)
        if (strlen(g->group[*type].name) == len && memcmp(g->group[*type].name, name, len) == 0)
            break;
    if (*type == g->n_groups)
        return og__fail(err, -EINVAL, "types without features, with commas between",
                        "--mean-features: no type '%.*s' in %s", (int)OG_MIN(len, (size_t)100),
                        name, src);
    if (g->group[*type].dim > 0)
        return og__fail(err, -EINVAL, "leave out --mean-features",
                        "--mean-features: %s has features", g->group[*type].name);
    return 0;
}

/* Computes one type's features from the dataset as written so far. */
static int make_one(struct og_importer *imp, const char *name, size_t len, struct og_err *err)
{
    struct og_graph *g = NULL;
    struct means m = {
        .imp = imp, .budget = imp->budget, .arrays = og__allocs(imp->budget, part), .unfit = -1};
    int rc;
    OG_TRY(og__meta_write(imp->dir.temporary, json_incref(imp->meta), err));
    OG_TRY(og__graph_open(imp->dir.temporary, &g, err));
    m.g = g;
    OG_TRY(find_type(g, imp->src, name, len, &m.type, err));
    OG_TRY(make_file(&m, err));
out:
    if (g)
        give_all(&m);
    og__graph_close(g);
    return rc;
}

int og__import_means(struct og_importer *imp, struct og_err *err)
{
    const char *name = imp->opt->mean_features;
    int rc = 0;
    if (!name)
        return 0;
    if (og__form_of(&imp->graph)->needs_rows)
        return og__fail(err, -EINVAL, "leave out --mean-features",
                        "--mean-features: the graph is homogeneous");
    const int dtype = imp->opt->feature_dtype;
    if (imp->opt->feature_layout != OG_FEATURES_DENSE)
        return og__fail(err, -EINVAL, "leave out --mean-features, or --feature-layout sparse",
                        "--mean-features: means of sparse rows are dense");
    if (imp->opt->feature_scales || (dtype >= 0 && og__dtype_scaled((enum og_dtype)dtype)))
        return og__fail(err, -EINVAL, "use --feature-dtype f16, without --feature-scales",
                        "--mean-features: means have no scales of their columns");
    for (;; name++) {
        const size_t len = strcspn(name, ",");
        OG_TRY(make_one(imp, name, len, err));
        name += len;
        if (!*name)
            break;
    }
    og__import_say(imp, "features of %s: the mean of their in-neighbours'",
                   imp->opt->mean_features);
out:
    return rc;
}
