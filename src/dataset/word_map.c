#include "dataset/word_map.h"

#include "base/file.h"
#include "base/temporary.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char part[] = "names";
enum { BUFFER = 64 * 1024, STEP = 64 }; /* places of the buffer; words that are hashed ahead */

int og__word_map_open(struct og_word_map *w, const char *folder, uint64_t source_bytes,
                      struct og_budget *b, struct og_err *err)
{
    enum { LEAST = 256 * 1024, A_BYTE = 24 }; /* a word and its separator are 2 bytes or more */
    size_t bytes = og__budget_left(b) / 2;
    if (source_bytes > 0 && source_bytes < SIZE_MAX / A_BYTE)
        bytes = OG_MIN(bytes, LEAST + (size_t)source_bytes * A_BYTE);
    *w = (struct og_word_map){.budget = b, .fd = -1};
    og__word_runs_init(&w->runs, folder, b);
    int rc = og__word_set_open(&w->set, bytes, b, err);
    if (rc == 0 && !(w->buffer = og__alloc(b, BUFFER * sizeof(*w->buffer), part, err)))
        rc = -ENOMEM;
    if (rc < 0)
        og__word_map_close(w);
    return rc;
}

void og__word_map_close(struct og_word_map *w)
{
    if (!w->runs.folder)
        return;
    if (w->fd >= 0)
        close(w->fd);
    og__word_set_close(&w->set, w->budget);
    og__release(w->budget, w->buffer, BUFFER * sizeof(*w->buffer), part);
    og__release(w->budget, w->table, (size_t)w->runs.most * sizeof(*w->table), part);
    og__word_runs_release(&w->runs);
    *w = (struct og_word_map){.fd = -1};
}

/* ---- putting ---- */

static int flush(struct og_word_map *w, struct og_err *err)
{
    const size_t bytes = w->filled * sizeof(*w->buffer);
    const uint64_t at = (w->puts - w->filled) * sizeof(*w->buffer);
    if (w->fd < 0)
        OG_DO(OG_MIN(w->fd = og__unnamed_file(w->runs.folder, err), 0));
    OG_DO(og__write_all(w->fd, w->buffer, bytes, (off_t)at, part, err));
    og__write_behind(w->fd, &w->pushed, at + bytes);
    w->filled = 0;
    return 0;
}

static int put_one(struct og_word_map *w, const struct og_word *word, uint32_t hash, bool adds,
                   struct og_err *err)
{
    uint32_t place = 0;
    int rc = og__word_set_find(&w->set, word, hash, adds, &place, w->budget, err);
    if (rc == 1) {
        rc = og__word_runs_add(&w->runs, &w->set, w->puts, err);
        if (rc >= 0)
            rc = og__word_set_find(&w->set, word, hash, adds, &place, w->budget, err);
    }
    if (rc < 0)
        return rc;
    w->buffer[w->filled++] = place;
    w->puts++;
    w->longest = OG_MAX(w->longest, word->len);
    return w->filled == BUFFER ? flush(w, err) : 0;
}

int og__word_map_put(struct og_word_map *w, const struct og_word *word, size_t n, bool adds,
                     struct og_err *err)
{
    uint32_t hash[STEP];
    for (size_t first = 0, some; first < n; first += some) {
        some = OG_MIN(n - first, (size_t)STEP);
        og__word_set_hash(&w->set, word + first, some, hash);
        for (size_t i = 0; i < some; i++)
            OG_DO(put_one(w, &word[first + i], hash[i], adds, err));
    }
    return 0;
}

int og__word_map_sort(struct og_word_map *w, og_word_fn *each, void *arg, struct og_err *err)
{
    int rc;
    OG_TRY(flush(w, err));
    OG_TRY(og__word_runs_add(&w->runs, &w->set, w->puts, err));
    og__word_set_close(&w->set, w->budget);
    OG_TRY(og__word_runs_merge(&w->runs, each, arg, &w->n, err));
    w->table = og__alloc(w->budget, (size_t)w->runs.most * sizeof(*w->table), part, err);
    OG_TRY(w->table ? 0 : -ENOMEM);
    w->sorted = true;
    og__word_map_seek(w, 0);
out:
    return rc;
}

/* ---- taking ---- */

void og__word_map_seek(struct og_word_map *w, uint64_t occurrence)
{
    w->at = w->buffered = occurrence;
    w->filled = 0;
}

static int fill(struct og_word_map *w, struct og_err *err)
{
    const uint64_t n = OG_MIN(w->puts - w->at, (uint64_t)BUFFER);
    const off_t at = (off_t)(w->at * sizeof(*w->buffer));
    if (n == 0)
        return og__fail(err, -EIO, "import a file that nobody writes to",
                        "names: the source changed while it was read");
    w->buffered = w->at;
    w->filled = (size_t)n;
    const int rc = og__read_all(w->fd, w->buffer, (size_t)n * sizeof(*w->buffer), at, part, err);
    posix_fadvise(w->fd, at, (off_t)(n * sizeof(*w->buffer)), POSIX_FADV_DONTNEED);
    return rc;
}

/* The run that has the next occurrence. */
static int load_run(struct og_word_map *w, struct og_err *err)
{
    size_t run = 0;
    while (w->runs.run[run].end <= w->at)
        run++;
    w->run = run + 1;
    return og__word_runs_numbers(&w->runs, run, w->table, err);
}

static bool has_run(const struct og_word_map *w)
{
    if (w->run == 0)
        return false;
    const size_t run = w->run - 1;
    return w->at < w->runs.run[run].end && (run == 0 || w->at >= w->runs.run[run - 1].end);
}

int og__word_map_take(struct og_word_map *w, uint32_t *number, size_t n, struct og_err *err)
{
    for (size_t i = 0; i < n; i++, w->at++) {
        if (w->at == w->buffered + w->filled)
            OG_DO(fill(w, err));
        if (!has_run(w))
            OG_DO(load_run(w, err));
        number[i] = w->table[w->buffer[w->at - w->buffered]];
    }
    return 0;
}
