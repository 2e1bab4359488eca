/* Runs are consecutive in one file:
 *
 *   | run | run | run | ... | merged | merged | ... | all |
 *
 * A merge takes the earliest runs and appends a new one. It takes as many as there is memory for
 * buffers of 4 KiB. Merges end when one run is left. */
#include "dataset/import/id_runs.h"

#include "base/file.h"
#include "base/temporary.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char part[] = "node ids";
enum { LEAST_IDS = 512, MOST_IDS = 128 * 1024, LEAST_RUNS = 2 }; /* ids of a buffer */

void og__id_runs_init(struct og_id_runs *r, const char *folder, struct og_budget *b)
{
    *r = (struct og_id_runs){.budget = b, .folder = folder, .fd = -1};
}

void og__id_runs_release(struct og_id_runs *r)
{
    if (!r->folder)
        return;
    if (r->fd >= 0)
        close(r->fd);
    free(r->run);
    og__id_runs_init(r, r->folder, r->budget);
}

/* ---- the file ---- */

static int append(struct og_id_runs *r, const uint64_t *id, size_t n, struct og_err *err)
{
    off_t at = (off_t)(r->end * sizeof(*id));
    int rc = og__write_all(r->fd, id, n * sizeof(*id), at, part, err);
    r->end += n;
    og__write_behind(r->fd, &r->pushed, r->end * sizeof(*id));
    return rc;
}

static int start_run(struct og_id_runs *r, struct og_err *err)
{
    if (r->n == r->room) {
        size_t room = OG_MAX(2 * r->room, (size_t)8);
        struct og_id_run *run = realloc(r->run, room * sizeof(*run));
        if (!run)
            return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
        r->run = run;
        r->room = room;
    }
    r->run[r->n++] = (struct og_id_run){.at = r->end};
    return 0;
}

int og__id_runs_add(struct og_id_runs *r, const uint64_t *id, size_t n, struct og_err *err)
{
    int rc = 0;
    if (r->fd < 0)
        rc = r->fd = og__unnamed_file(r->folder, err);
    if (rc >= 0)
        rc = start_run(r, err);
    if (rc >= 0)
        rc = append(r, id, n, err);
    if (rc >= 0)
        r->run[r->n - 1].n = n;
    return OG_MIN(rc, 0);
}

int og__id_runs_read(const struct og_id_runs *r, uint64_t first, size_t n, uint64_t *out,
                     struct og_err *err)
{
    return og__read_all(r->fd, out, n * sizeof(*out),
                        (off_t)((r->run[0].at + first) * sizeof(*out)), part, err);
}

/* ---- merging ---- */

/* A run being read. */
struct source {
    struct og_id_run rest; /* in the file */
    uint64_t *id;          /* [ids] */
    size_t next, n;
};

struct merger {
    struct og_id_runs *r;
    size_t ids;          /* of a buffer */
    struct source *heap; /* [n], the least id on top */
    size_t n;
    uint64_t *out; /* [ids] */
    size_t filled;
    bool begun;
    uint64_t last;
};

static uint64_t least_of(const struct source *s)
{
    return s->id[s->next];
}

static void sink(struct merger *m, size_t i)
{
    struct source s = m->heap[i];
    for (size_t child; (child = 2 * i + 1) < m->n; i = child) {
        if (child + 1 < m->n && least_of(&m->heap[child + 1]) < least_of(&m->heap[child]))
            child++;
        if (least_of(&m->heap[child]) >= least_of(&s))
            break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = s;
}

static int refill(struct merger *m, struct source *s, struct og_err *err)
{
    s->next = 0;
    s->n = (size_t)OG_MIN(s->rest.n, (uint64_t)m->ids);
    off_t at = (off_t)(s->rest.at * sizeof(*s->id));
    int rc = og__read_all(m->r->fd, s->id, s->n * sizeof(*s->id), at, part, err);
    posix_fadvise(m->r->fd, at, (off_t)(s->n * sizeof(*s->id)), POSIX_FADV_DONTNEED);
    s->rest.at += s->n;
    s->rest.n -= s->n;
    return rc;
}

static int flush(struct merger *m, struct og_err *err)
{
    int rc = append(m->r, m->out, m->filled, err);
    m->r->run[m->r->n - 1].n += m->filled;
    m->filled = 0;
    return rc;
}

static int put(struct merger *m, uint64_t id, struct og_err *err)
{
    if (m->begun && id == m->last)
        return 0;
    m->begun = true;
    m->last = m->out[m->filled++] = id;
    return m->filled == m->ids ? flush(m, err) : 0;
}

/* The top's next id to the output. */
static int step(struct merger *m, struct og_err *err)
{
    struct source *top = &m->heap[0];
    int rc;
    OG_TRY(put(m, least_of(top), err));
    top->next++;
    if (top->next == top->n && top->rest.n > 0)
        OG_TRY(refill(m, top, err));
out:
    if (top->next == top->n)
        *top = m->heap[--m->n];
    if (m->n > 0)
        sink(m, 0);
    return rc;
}

/* The first `count` runs become one at the end. */
static int merge_first(struct og_id_runs *r, size_t count, size_t ids, uint64_t *buffers,
                       struct og_err *err)
{
    struct source *heap = calloc(count, sizeof(*heap));
    struct merger m = {.r = r, .ids = ids, .heap = heap, .out = buffers + count * ids};
    int rc;
    OG_TRY(heap ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", part));
    for (; m.n < count; m.n++) {
        heap[m.n] = (struct source){.rest = r->run[m.n], .id = buffers + m.n * ids};
        OG_TRY(refill(&m, &heap[m.n], err));
    }
    OG_TRY(start_run(r, err));
    for (size_t i = m.n / 2; i-- > 0;)
        sink(&m, i);
    while (m.n > 0)
        OG_TRY(step(&m, err));
    OG_TRY(flush(&m, err));
out:
    free(heap);
    r->n -= OG_MIN(count, r->n);
    memmove(r->run, r->run + count, r->n * sizeof(*r->run));
    return rc;
}

int og__id_runs_merge(struct og_id_runs *r, struct og_err *err)
{
    size_t most = og__budget_left(r->budget) / 2 / sizeof(uint64_t); /* ids in all buffers */
    while (r->n > 1) {
        size_t count = OG_MAX(OG_MIN(r->n, most / LEAST_IDS - 1), (size_t)LEAST_RUNS);
        size_t ids = OG_MIN(OG_MAX(most / (count + 1), (size_t)LEAST_IDS), (size_t)MOST_IDS);
        size_t bytes = (count + 1) * ids * sizeof(uint64_t);
        uint64_t *buffers = og__alloc(r->budget, bytes, part, err);
        int rc = buffers ? merge_first(r, count, ids, buffers, err) : -ENOMEM;
        og__release(r->budget, buffers, bytes, part);
        if (rc < 0)
            return rc;
    }
    return 0;
}
