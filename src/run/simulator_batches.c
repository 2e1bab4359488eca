/* The batches that are simulated over: of a dataset, or of a trace. */
#include "run/simulator_groups.h"

#include "flow/pipeline.h"
#include "options/options.h"

#include <stdlib.h>
#include <string.h>

/* ---- a dataset: its batches are sampled ---- */

/* Bounds of what will be sampled are known from the session's profiling batches. */
int og__simulator_open_dataset(struct simulator *m, const char *dataset, struct og_err *err)
{
    if (m->opt.epochs == 0)
        return og__fail(err, -EINVAL, "give --epochs 1 or more", "--epochs 0: no batches");
    OG_DO(og__session_open(&m->s, dataset, &m->opt, OG__WANT_UNEVALUATED | OG__WANT_COUNTED, NULL,
                           m->observer, err));
    struct og_session *s = m->s;
    m->most_batches = (uint32_t)og__schedule_items(&s->workload.schedule);
    m->longest = OG_MIN(og__input_rows(&s->workload), s->workload.n_nodes);
    m->most_rows = m->longest * m->most_batches;
    m->epoch = (uint32_t)og__schedule_batches(&s->workload.schedule, OG__TRAIN);
    m->n_nodes = (uint64_t)s->workload.graph->n_nodes;
    m->sim.n_nodes = s->workload.n_nodes;
    m->sim.pool = s->pool;
    m->sim.budget = s->budget;
    return og__simulator_know_graph(m, err);
}

static int keep_batch(void *arg, struct og_work *w, struct og_err *err)
{
    struct simulator *m = arg;
    const struct og_batch *batch = &w->sampled.batch;
    const uint32_t n_units = og__plans_units(&m->s->workload) ? batch->n_units : 0;
    if ((uint64_t)batch->n_ids + n_units > m->most_rows - m->rows)
        return og__fail(err, -ENOMEM, "try another --seed",
                        "trace: a batch has more rows than the profiling batches predicted");
    m->rows += og__simulator_ids_with_rows(m, batch->ids, batch->n_ids, m->ids + m->rows);
    m->rows += og__simulator_ids_with_rows(m, batch->units, n_units, m->ids + m->rows);
    m->ptr[++m->n_batches] = m->rows;
    struct og_progress p = {.size = sizeof(p),
                            .stage = "sample",
                            .epoch = (int)w->descriptor.epoch,
                            .epochs = m->opt.epochs,
                            .done = w->descriptor.batch + 1,
                            .total = m->epoch};
    og__observe(m->observer, &p);
    return 0;
}

int og__simulator_sample(struct simulator *m, struct og_err *err)
{
    struct og_session *s = m->s;
    m->ids = og__alloc(s->budget, m->most_rows * sizeof(*m->ids), "trace", err);
    m->ptr = og__alloc(s->budget, ((size_t)m->most_batches + 1) * sizeof(*m->ptr), "trace", err);
    if (!m->ids || !m->ptr)
        return -ENOMEM;
    struct og_pipeline p;
    og__pipeline_sample(&p, &s->path,
                        (struct og_items){&s->workload.schedule, OG__SPLITS, 0, m->most_batches},
                        false);
    int rc = og__pipeline_run(&p, keep_batch, m, err);
    m->sim.trace = (struct og_trace){m->n_batches, m->ptr, m->ids};
    return rc;
}

/* ---- a trace: its batches are read ---- */

static int open_column(struct og_npy *a, const char *dir, const char *name, struct og_err *err)
{
    char *path = og__path_join(dir, name);
    int rc = path ? og__npy_open(a, path, err) : og__fail_errno(err, -ENOMEM, NULL, "%s", dir);
    free(path);
    return rc;
}

/* The longest batch by its offsets, which are not believed before the trace is read. */
static int measure_batches(struct simulator *m, const struct og_npy *ptr, struct og_err *err)
{
    int64_t offset[512];
    int64_t before = 0;
    for (int64_t first = 0; first < ptr->shape[0]; first += (int64_t)OG_COUNT(offset)) {
        int64_t n = OG_MIN(ptr->shape[0] - first, (int64_t)OG_COUNT(offset));
        OG_DO(og__npy_read_int64(ptr, first, n, offset, err));
        for (int64_t i = 0; i < n; i++) {
            uint64_t rows = offset[i] > before ? (uint64_t)offset[i] - (uint64_t)before : 0;
            m->longest = OG_MAX(m->longest, OG_MIN(rows, m->sim.n_nodes));
            before = offset[i];
        }
    }
    return 0;
}

/* What the trace will take, before anything large is read. */
static int measure_trace(struct simulator *m, const char *dir, struct og_err *err)
{
    struct og_npy ids = {.fd = -1};
    struct og_npy ptr = {.fd = -1};
    int rc;
    OG_TRY(open_column(&ids, dir, "ids.npy", err));
    OG_TRY(open_column(&ptr, dir, "ids_ptr.npy", err));
    m->most_rows = (uint64_t)ids.shape[0];
    m->most_batches = (uint32_t)OG_MIN(OG_MAX(ptr.shape[0], 1) - 1, (int64_t)UINT32_MAX);
    OG_TRY(measure_batches(m, &ptr, err));
out:
    og__npy_close(&ids);
    og__npy_close(&ptr);
    return rc;
}

int og__simulator_open_trace(struct simulator *m, const char *dir, struct og_err *err)
{
    const struct og_log log = {m->observer ? m->observer->message : NULL,
                               m->observer ? m->observer->arg : NULL};
    OG_DO(og__options_resolve(&m->opt, &log, err));
    OG_DO(og__trace_describe(&m->folder.said, dir, err));
    m->dir = dir;
    OG_DO(og__simulator_know_trace(m, err));
    OG_DO(og__pool_open(&m->pool, m->opt.threads, err));
    m->n_nodes = m->sim.n_nodes = m->folder.said.n_nodes;
    m->sim.pool = m->pool;
    m->sim.budget = m->budget = og__budget_new((size_t)m->opt.memory.value);
    if (!m->budget)
        return og__fail_errno(err, -ENOMEM, NULL, "budget");
    OG_DO(measure_trace(m, dir, err));
    m->epoch = OG_MIN(OG_MAX(m->folder.said.batches_per_epoch, 1u), OG_MAX(m->most_batches, 1u));
    return 0;
}

int og__simulator_read(struct simulator *m, const char *dir, struct og_err *err)
{
    og__trace_release(&m->folder);
    int rc = og__trace_open_dir(&m->folder, dir, m->budget, err);
    if (rc < 0)
        return rc;
    OG_TRY(og__simulator_keep_rows(m, err));
    m->sim.trace = m->folder.trace;
    m->n_batches = m->folder.trace.n_batches;
    m->rows = m->folder.trace.ptr[m->n_batches];
out:
    return rc;
}
