/* Runs are consecutive in one file; a run's words are in order:
 *
 *   | u32: twice the length, plus 1 if added | u32: place in its set | bytes |
 *
 * A merge reads all runs side by side. A word's number goes to each run that has it, as pairs of
 * place and number in a second file, at the run's own range. */
#include "dataset/word_runs.h"

#include "base/file.h"
#include "base/temporary.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char part[] = "names";
enum {
    HEAD = 2 * sizeof(uint32_t),
    LEAST_BYTES = 4 * (HEAD + OG__WORD_MOST), /* of a run being merged */
    MOST_BYTES = 1024 * 1024,
    WRITE_BYTES = 256 * 1024,
};

void og__word_runs_init(struct og_word_runs *r, const char *folder, struct og_budget *b)
{
    *r = (struct og_word_runs){.budget = b, .folder = folder, .fd = -1, .numbers = -1};
}

void og__word_runs_release(struct og_word_runs *r)
{
    if (!r->folder)
        return;
    if (r->fd >= 0)
        close(r->fd);
    if (r->numbers >= 0)
        close(r->numbers);
    free(r->run);
    og__word_runs_init(r, r->folder, r->budget);
}

/* ---- a run ---- */

static int new_run(struct og_word_runs *r, const struct og_word_run *run, struct og_err *err)
{
    if (r->n == r->room) {
        const size_t room = OG_MAX(2 * r->room, (size_t)8);
        struct og_word_run *more = realloc(r->run, room * sizeof(*more));
        if (!more)
            return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
        r->run = more;
        r->room = room;
    }
    r->run[r->n++] = *run;
    r->most = OG_MAX(r->most, run->n);
    return 0;
}

static int append(struct og_word_runs *r, const char *data, size_t bytes, struct og_err *err)
{
    const int rc = og__write_all(r->fd, data, bytes, (off_t)r->filled, part, err);
    r->filled += bytes;
    og__write_behind(r->fd, &r->pushed, r->filled);
    return rc;
}

static int write_words(struct og_word_runs *r, const struct og_word_set *s,
                       const struct og_word_key *key, char *buffer, struct og_err *err)
{
    size_t filled = 0;
    for (size_t i = 0; i < s->n; i++) {
        const uint32_t place = key[i].place;
        const struct og_word word = og__word_set_at(s, place);
        const uint32_t head[2] = {s->entry[place].len, place};
        if (filled + HEAD + word.len > WRITE_BYTES) {
            OG_DO(append(r, buffer, filled, err));
            filled = 0;
        }
        memcpy(buffer + filled, head, HEAD);
        memcpy(buffer + filled + HEAD, word.text, word.len);
        filled += HEAD + word.len;
    }
    return append(r, buffer, filled, err);
}

int og__word_runs_add(struct og_word_runs *r, struct og_word_set *s, uint64_t end,
                      struct og_err *err)
{
    const struct og_word_run *before = r->n > 0 ? &r->run[r->n - 1] : NULL;
    struct og_word_run run = {.at = r->filled,
                              .n = s->n,
                              .end = end,
                              .numbers = before ? before->numbers + before->n : 0};
    char *buffer = og__alloc(r->budget, WRITE_BYTES, part, err);
    int rc = buffer ? 0 : -ENOMEM;
    OG_TRY(rc);
    if (r->fd < 0)
        OG_TRY(OG_MIN(r->fd = og__unnamed_file(r->folder, err), 0));
    OG_TRY(write_words(r, s, og__word_set_sort(s), buffer, err));
    run.bytes = r->filled - run.at;
    rc = new_run(r, &run, err);
    og__word_set_clear(s);
out:
    og__release(r->budget, buffer, WRITE_BYTES, part);
    return rc;
}

/* ---- merging ---- */

/* A run being read, and its numbers being written. */
struct source {
    struct og_word_run rest; /* in the files */
    char *text;              /* [bytes] */
    size_t next, filled;
    uint32_t *pair; /* [pairs, 2] */
    size_t pairs;
};

struct merger {
    struct og_word_runs *r;
    size_t bytes, pairs;   /* of a source's buffers */
    struct source *source; /* [r->n] */
    struct source **heap;  /* [n] the least word on top */
    struct source **same;  /* [n_same] those with the present word */
    size_t n, n_same;
    uint64_t pushed;
    char *buffers;
    size_t buffer_bytes;
};

static struct og_word word_of(const struct source *s, bool *adds)
{
    uint32_t len;
    memcpy(&len, s->text + s->next, sizeof(len));
    *adds = len & 1;
    return (struct og_word){s->text + s->next + HEAD, len / 2};
}

static int compare(const struct og_word *a, const struct og_word *b)
{
    const int order = memcmp(a->text, b->text, OG_MIN(a->len, b->len));
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static bool comes_before(const struct source *a, const struct source *b)
{
    bool adds;
    const struct og_word x = word_of(a, &adds);
    const struct og_word y = word_of(b, &adds);
    return compare(&x, &y) < 0;
}

static void sink(struct merger *m, size_t i)
{
    struct source *s = m->heap[i];
    for (size_t child; (child = 2 * i + 1) < m->n; i = child) {
        if (child + 1 < m->n && comes_before(m->heap[child + 1], m->heap[child]))
            child++;
        if (!comes_before(m->heap[child], s))
            break;
        m->heap[i] = m->heap[child];
    }
    m->heap[i] = s;
}

/* Makes sure that a whole word is in the buffer, if there is one more. */
static int refill(struct merger *m, struct source *s, struct og_err *err)
{
    if (s->filled - s->next >= HEAD + OG__WORD_MOST || s->rest.bytes == 0)
        return 0;
    memmove(s->text, s->text + s->next, s->filled - s->next);
    s->filled -= s->next;
    s->next = 0;
    const size_t n = (size_t)OG_MIN(s->rest.bytes, (uint64_t)(m->bytes - s->filled));
    const int rc = og__read_all(m->r->fd, s->text + s->filled, n, (off_t)s->rest.at, part, err);
    posix_fadvise(m->r->fd, (off_t)s->rest.at, (off_t)n, POSIX_FADV_DONTNEED);
    s->filled += n;
    s->rest.at += n;
    s->rest.bytes -= n;
    return rc;
}

static int flush(const struct merger *m, struct source *s, struct og_err *err)
{
    const size_t bytes = s->pairs * 2 * sizeof(*s->pair);
    const int rc = og__write_all(m->r->numbers, s->pair, bytes,
                                 (off_t)(s->rest.numbers * 2 * sizeof(*s->pair)), part, err);
    s->rest.numbers += s->pairs;
    s->pairs = 0;
    return rc;
}

/* The source's word gets its number; continues with the next one. */
static int number(struct merger *m, struct source *s, uint32_t of_word, struct og_err *err)
{
    bool adds;
    const struct og_word word = word_of(s, &adds);
    int rc = 0;
    memcpy(&s->pair[2 * s->pairs], s->text + s->next + sizeof(uint32_t), sizeof(uint32_t));
    s->pair[2 * s->pairs + 1] = of_word;
    if (++s->pairs == m->pairs)
        rc = flush(m, s, err);
    s->next += HEAD + word.len;
    return rc < 0 ? rc : refill(m, s, err);
}

/* Takes all sources of the least word off the heap. */
static bool take_same(struct merger *m)
{
    bool any = false;
    for (m->n_same = 0; m->n > 0;) {
        struct source *top = m->heap[0];
        bool adds;
        if (m->n_same > 0 && comes_before(m->same[0], top))
            break;
        (void)word_of(top, &adds);
        any = any || adds;
        m->same[m->n_same++] = top;
        m->heap[0] = m->heap[--m->n];
        if (m->n > 0)
            sink(m, 0);
    }
    return any;
}

static void push(struct merger *m, struct source *s)
{
    size_t i = m->n++;
    for (; i > 0 && comes_before(s, m->heap[(i - 1) / 2]); i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = s;
}

static int merge_all(struct merger *m, og_word_fn *each, void *arg, int64_t *n, struct og_err *err)
{
    int rc = 0;
    for (*n = 0; m->n > 0;) {
        bool unused;
        const bool adds = take_same(m);
        const struct og_word word = word_of(m->same[0], &unused);
        if (adds)
            OG_TRY(each(arg, &word, err));
        const uint32_t of_word = adds ? (uint32_t)(*n)++ : OG__NO_WORD;
        if (*n >= UINT32_MAX - 1)
            OG_TRY(og__fail(err, -EINVAL, "at most 4294967293", "names: too many distinct ones"));
        for (size_t i = 0; i < m->n_same; i++) {
            struct source *s = m->same[i];
            OG_TRY(number(m, s, of_word, err));
            if (s->next < s->filled)
                push(m, s);
        }
    }
    for (size_t i = 0; i < m->r->n; i++)
        OG_TRY(flush(m, &m->source[i], err));
out:
    return rc;
}

/* Half of the memory, shared by the runs: three quarters for words, a quarter for numbers. */
static int open_merger(struct merger *m, struct og_err *err)
{
    struct og_word_runs *r = m->r;
    const size_t left = og__budget_left(r->budget) / 2;
    const size_t each = OG_MIN(left / OG_MAX(r->n, (size_t)1), (size_t)MOST_BYTES);
    if (each < LEAST_BYTES)
        return og__fail(
            err, -ENOMEM, "give twice as much --memory",
            "--memory: too little to merge %zu parts of names, which take %zu bytes each", r->n,
            (size_t)2 * LEAST_BYTES);
    m->pairs = each / 4 / (2 * sizeof(uint32_t));
    m->bytes = each - m->pairs * 2 * sizeof(uint32_t);
    m->buffer_bytes = each * r->n;
    m->source = calloc(r->n + 1, sizeof(*m->source));
    m->heap = calloc(r->n + 1, sizeof(struct source *));
    m->same = calloc(r->n + 1, sizeof(struct source *));
    m->buffers = og__alloc(r->budget, m->buffer_bytes, part, err);
    if (!m->buffers)
        return -ENOMEM;
    if (!m->source || !m->heap || !m->same)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    for (size_t i = 0; i < r->n; i++) {
        char *own = m->buffers + i * each;
        m->source[i] = (struct source){.rest = r->run[i],
                                       .pair = (uint32_t *)own,
                                       .text = own + m->pairs * 2 * sizeof(uint32_t)};
        OG_DO(refill(m, &m->source[i], err));
        if (m->source[i].filled > 0)
            push(m, &m->source[i]);
    }
    return 0;
}

int og__word_runs_merge(struct og_word_runs *r, og_word_fn *each, void *arg, int64_t *n,
                        struct og_err *err)
{
    struct merger m = {.r = r};
    int rc = 0;
    *n = 0;
    if (r->n == 0)
        return 0;
    OG_TRY(OG_MIN(r->numbers = og__unnamed_file(r->folder, err), 0));
    OG_TRY(open_merger(&m, err));
    OG_TRY(merge_all(&m, each, arg, n, err));
    close(r->fd); /* the words are not needed any more */
    r->fd = -1;
out:
    og__release(r->budget, m.buffers, m.buffer_bytes, part);
    free(m.source);
    free(m.heap);
    free(m.same);
    return rc;
}

int og__word_runs_numbers(const struct og_word_runs *r, size_t run, uint32_t *number,
                          struct og_err *err)
{
    enum { PAIRS = 4096 };
    uint32_t pair[2 * PAIRS];
    const struct og_word_run *of = &r->run[run];
    for (uint64_t first = 0, n; first < of->n; first += n) {
        n = OG_MIN(of->n - first, (uint64_t)PAIRS);
        OG_DO(og__read_all(r->numbers, pair, (size_t)n * 2 * sizeof(*pair),
                           (off_t)((of->numbers + first) * 2 * sizeof(*pair)), part, err));
        for (uint64_t i = 0; i < n; i++)
            number[pair[2 * i]] = pair[2 * i + 1];
    }
    return 0;
}
