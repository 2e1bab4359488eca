#include "dataset/word_map.h"

#include "base/file.h"
#include "base/temporary.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char part[] = "names";
enum { BUFFER = 64 * 1024, STEP = 64 }; /* places of the buffer; words that are hashed ahead */
enum { PACKED = BUFFER * sizeof(uint32_t) + 2 * sizeof(uint64_t) };

int og__word_map_open(struct og_word_map *w, const char *folder, uint64_t source_bytes,
                      struct og_budget *b, struct og_err *err)
{
    enum { LEAST = 256 * 1024, A_BYTE = 24 }; /* a word and its separator are 2 bytes or more */
    size_t bytes = og__budget_left(b) / 2;
    if (source_bytes > 0 && source_bytes < SIZE_MAX / A_BYTE)
        bytes = OG_MIN(bytes, LEAST + (size_t)source_bytes * A_BYTE);
    *w = (struct og_word_map){.budget = b, .fd = -1, .fresh = -1};
    og__word_runs_init(&w->runs, folder, b);
    int rc = og__word_set_open(&w->set, bytes, b, err);
    if (rc == 0 && (!(w->buffer = og__alloc(b, BUFFER * sizeof(*w->buffer), part, err)) ||
                    !(w->packed = og__alloc(b, PACKED, part, err))))
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
    if (w->fresh >= 0)
        close(w->fresh);
    og__word_set_close(&w->set, w->budget);
    og__release(w->budget, w->buffer, BUFFER * sizeof(*w->buffer), part);
    og__release(w->budget, w->packed, PACKED, part);
    og__release(w->budget, w->table, (size_t)w->runs.most * sizeof(*w->table), part);
    og__word_runs_release(&w->runs);
    *w = (struct og_word_map){.fd = -1, .fresh = -1};
}

/* ---- places in few bits ---- */

/* The bytes that n places take. */
static size_t pack(const uint32_t *place, size_t n, unsigned bits, unsigned char *out)
{
    const unsigned char *first = out;
    uint64_t some = 0;
    unsigned filled = 0;
    for (size_t i = 0; i < n; i++) {
        some |= (uint64_t)place[i] << filled;
        filled += bits;
        if (filled >= 32) {
            const uint32_t whole = (uint32_t)some;
            memcpy(out, &whole, sizeof(whole));
            out += sizeof(whole);
            some >>= 32;
            filled -= 32;
        }
    }
    memcpy(out, &some, sizeof(some));
    return (size_t)(out - first) + (filled + 7) / 8;
}

/* The first place begins at that bit. Looks at eight bytes more. */
static void unpack(const unsigned char *from, uint64_t bit, unsigned bits, size_t n,
                   uint32_t *place)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (size_t i = 0; i < n; i++, bit += bits) {
        uint64_t some;
        memcpy(&some, from + bit / 8, sizeof(some));
        place[i] = (uint32_t)(some >> bit % 8 & mask);
    }
}

/* ---- putting ---- */

static uint64_t first_of(const struct og_word_map *w, size_t run)
{
    return run > 0 ? w->runs.run[run - 1].end : 0;
}

static int flush(struct og_word_map *w, struct og_err *err)
{
    const size_t bytes = w->filled * sizeof(*w->buffer);
    const uint64_t at = (w->puts - w->filled - first_of(w, w->runs.n)) * sizeof(*w->buffer);
    int rc = 0;
    if (w->fresh < 0)
        OG_TRY(OG_MIN(w->fresh = og__unnamed_file(w->runs.folder, err), 0));
    OG_TRY(og__write_all(w->fresh, w->buffer, bytes, (off_t)at, w->runs.folder, err));
    og__write_behind(w->fresh, &w->fresh_pushed, at + bytes);
    w->filled = 0;
out:
    return rc;
}

/* Fresh places, in the set, become places in the run. */
static int pack_run(struct og_word_map *w, struct og_word_run *run, struct og_err *err)
{
    const uint64_t n = run->end - first_of(w, w->runs.n - 1);
    uint64_t freed = 0;
    int rc = 0;
    if (w->fd < 0)
        OG_TRY(OG_MIN(w->fd = og__unnamed_file(w->runs.folder, err), 0));
    run->places = w->written;
    while (run->n > (uint64_t)1 << run->place_bits)
        run->place_bits++;
    for (uint64_t done = 0, some; done < n; done += some) {
        some = OG_MIN(n - done, (uint64_t)BUFFER);
        OG_TRY(og__read_all(w->fresh, w->buffer, (size_t)some * sizeof(*w->buffer),
                            (off_t)(done * sizeof(*w->buffer)), part, err));
        og__free_behind(w->fresh, &freed, (done + some) * sizeof(*w->buffer));
        for (size_t i = 0; i < some; i++)
            w->buffer[i] = w->set.entry[w->buffer[i]].at;
        const size_t bytes = pack(w->buffer, (size_t)some, run->place_bits, w->packed);
        OG_TRY(og__write_all(w->fd, w->packed, bytes, (off_t)w->written, w->runs.folder, err));
        w->written += bytes;
        og__write_behind(w->fd, &w->pushed, w->written);
    }
    w->fresh_pushed = 0;
    if (ftruncate(w->fresh, 0) < 0)
        OG_TRY(og__fail_errno(err, -errno, NULL, "%s: cannot truncate", part));
out:
    return rc;
}

static int end_run(struct og_word_map *w, struct og_err *err)
{
    int rc;
    OG_TRY(flush(w, err));
    OG_TRY(og__word_runs_add(&w->runs, &w->set, w->puts, err));
    OG_TRY(pack_run(w, &w->runs.run[w->runs.n - 1], err));
    og__word_set_clear(&w->set);
out:
    return rc;
}

static int put_one(struct og_word_map *w, const struct og_word *word, uint32_t hash, bool adds,
                   struct og_err *err)
{
    uint32_t place = 0;
    int rc = og__word_set_find(&w->set, word, hash, adds, &place, w->budget, err);
    if (rc == 1) {
        rc = end_run(w, err);
        if (rc == 0)
            rc = og__word_runs_shrink(&w->runs, err);
        if (rc == 0)
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
    int rc = 0;
    for (size_t first = 0, some; first < n; first += some) {
        some = OG_MIN(n - first, (size_t)STEP);
        og__word_set_hash(&w->set, word + first, some, hash);
        for (size_t i = 0; i < some; i++)
            OG_TRY(put_one(w, &word[first + i], hash[i], adds, err));
    }
out:
    return rc;
}

int og__word_map_sort(struct og_word_map *w, og_word_fn *each, void *arg, struct og_err *err)
{
    int rc;
    OG_TRY(end_run(w, err));
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

/* The run that has the next occurrence, and its numbers. */
static int load_run(struct og_word_map *w, struct og_err *err)
{
    size_t run = 0;
    if (w->at == w->puts)
        return og__fail(err, -EIO, "import a file that nobody writes to",
                        "names: the source changed while it was read");
    while (w->runs.run[run].end <= w->at)
        run++;
    if (w->run == run + 1)
        return 0;
    w->run = run + 1;
    return og__word_runs_numbers(&w->runs, run, w->table, err);
}

/* Next occurrences, all of one run. */
static int fill(struct og_word_map *w, struct og_err *err)
{
    int rc;
    OG_TRY(load_run(w, err));
    const struct og_word_run *run = &w->runs.run[w->run - 1];
    const uint64_t n = OG_MIN(run->end - w->at, (uint64_t)BUFFER);
    const uint64_t bit = (w->at - first_of(w, w->run - 1)) * run->place_bits;
    const uint64_t at = run->places + bit / 8;
    const size_t bytes = (size_t)((bit % 8 + n * run->place_bits + 7) / 8);
    OG_TRY(og__read_all(w->fd, w->packed, bytes, (off_t)at, part, err));
    unpack(w->packed, bit % 8, run->place_bits, (size_t)n, w->buffer);
    if (w->last)
        og__free_behind(w->fd, &w->freed, at);
    else
        posix_fadvise(w->fd, (off_t)at, (off_t)bytes, POSIX_FADV_DONTNEED);
    w->buffered = w->at;
    w->filled = (size_t)n;
out:
    return rc;
}

int og__word_map_take(struct og_word_map *w, uint32_t *number, size_t n, struct og_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < n; i++, w->at++) {
        if (w->at == w->buffered + w->filled)
            OG_TRY(fill(w, err));
        number[i] = w->table[w->buffer[w->at - w->buffered]];
    }
out:
    return rc;
}
