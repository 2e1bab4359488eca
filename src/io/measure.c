/* A steady load on an engine: measures the disk, without rows and scattering.
 *
 * Random request k goes to position k of a keyed permutation of the file. So no position is read
 * twice. The page cache (with mmap) cannot serve it; a host's cache can only as far as it holds the
 * file already. */
#include "base/random.h"
#include "io/engine.h"
#include "io/slab.h"

#include <stdlib.h>

struct run {
    const struct og_io_ops *ops;
    const struct og_io_file *file;
    const struct og_io_load *load;
    struct og_io_engine *engine;
    struct og_permutation order;
    uint64_t places, next;
    size_t bytes;
    struct og_slab slab;
    struct og_io_request *requests; // [depth]
    struct og_io_request **batch;   // [depth]
    size_t in_flight;
    uint64_t finished;
};

static void place(struct run *m, struct og_io_request *q)
{
    uint64_t k = m->next++;
    uint64_t at = m->load->sequential ? k % m->places : og__permutation_at(&m->order, k);
    q->file = m->file;
    q->offset = at * m->bytes;
    q->length = (uint32_t)m->bytes;
    q->done = q->tries = 0;
}

static bool exhausted(const struct run *m)
{
    return !m->load->sequential && m->next >= m->places;
}

/* batch[0..n) are free requests: send them out again. */
static int start(struct run *m, size_t n, struct og_err *err)
{
    size_t used = 0;
    while (used < n && !exhausted(m))
        place(m, m->batch[used++]);
    int rc = used ? m->ops->submit(m->engine, m->batch, used, err) : 0;
    m->in_flight += rc < 0 ? 0 : used;
    return rc;
}

static int collect(struct run *m, size_t *n, struct og_err *err)
{
    size_t share = OG_MAX(m->in_flight / 8, 1);
    int got =
        m->ops->reap(m->engine, m->batch, OG_MIN(share, m->in_flight), (size_t)m->load->depth, err);
    *n = (size_t)OG_MAX(got, 0);
    m->in_flight -= *n;
    m->finished += *n;
    for (size_t i = 0; i < *n; i++) {
        const struct og_io_request *q = m->batch[i];
        if (q->result < 0)
            return og__fail_errno(err, q->result, NULL, "%s: at byte %llu", m->file->path,
                                  (unsigned long long)q->offset);
    }
    return OG_MIN(got, 0);
}

static bool stopped(const struct og_io_load *l)
{
    return og__stop_requested(l->stop);
}

/* The buffers are freed after this. */
static void drain(struct run *m)
{
    size_t n = 1;
    while (m->in_flight > 0 && n > 0)
        (void)!collect(m, &n, NULL);
}

static int steady(struct run *m, struct og_io_rate *out, struct og_err *err)
{
    size_t n = (size_t)m->load->depth;
    for (size_t i = 0; i < n; i++)
        m->batch[i] = &m->requests[i];
    double begin = og__now(), now = begin, seconds;
    int rc;
    OG_TRY(start(m, n, err));
    while (m->in_flight > 0 && now - begin < m->load->seconds && !stopped(m->load)) {
        rc = collect(m, &n, err);
        now = og__now();
        if (rc < 0)
            goto out;
        OG_TRY(start(m, n, err));
    }
out:
    seconds = OG_MAX(now - begin, 1e-9);
    *out = (struct og_io_rate){(double)m->finished / seconds,
                               (double)(m->finished * m->bytes) / seconds, 0};
    drain(m);
    out->bytes = m->finished * m->bytes;
    return rc;
}

static int prepare(struct run *m, struct og_err *err)
{
    size_t depth = (size_t)m->load->depth;
    m->bytes = og__round_up(m->load->bytes, m->file->align_offset);
    m->places = m->file->size / m->bytes;
    if (m->places == 0)
        return og__fail(err, -EINVAL, NULL, "%s: too small to measure", m->file->path);
    og__permutation_init(&m->order, m->places, m->load->seed, 0);
    OG_DO(og__slab_init(&m->slab, depth * og__round_up(m->bytes, OG_SLAB_UNIT), NULL, err));
    m->requests = calloc(depth, sizeof(*m->requests));
    m->batch = calloc(depth, sizeof(*m->batch));
    if (!m->requests || !m->batch)
        return og__fail_errno(err, -ENOMEM, NULL, "measuring");
    for (size_t i = 0; i < depth; i++)
        m->requests[i].data = og__slab_take(&m->slab, m->bytes);
    struct og_io_setup setup = {
        .files = m->file,
        .n_files = 1,
        .depth = m->load->depth,
        .threads = m->load->threads,
        .buffers = m->slab.base,
        .buffer_bytes = m->slab.n_units * OG_SLAB_UNIT,
    };
    return m->ops->open(&m->engine, &setup, err);
}

int og__io_measure(const struct og_io_ops *ops, const struct og_io_file *file,
                   const struct og_io_load *load, struct og_io_rate *out, struct og_err *err)
{
    struct run m = {.ops = ops, .file = file, .load = load};
    int rc;
    OG_TRY(prepare(&m, err));
    OG_TRY(steady(&m, out, err));
out:
    if (m.engine)
        ops->close(m.engine);
    og__slab_release(&m.slab);
    free(m.requests);
    free(m.batch);
    return rc;
}
