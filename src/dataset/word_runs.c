/* Runs are in one file. A run's words are in order; each leaves out what it shares with the last:
 *
 *   | first bytes shared | twice the length of the rest, plus 1 if added | rest |
 *
 * A merge reads runs side by side, and frees them as it goes. Each run with the word gets its
 * number, in a second file, as the distance from the number before; 0 = none. A run has room for 5
 * bytes a word there; what is not written takes no disk.
 *
 *   runs 0 .. 8 ──> 9     numbers of 0 .. 8 count the words of 9,
 *   9 .. 24 ──> 25        those of 9 .. 24 the words of 25,
 *   25 .. 30 ──> the end  and then final ones replace them all, from the last run to the first
 *
 * So the disk holds about three times the distinct words, however often each occurs. A single merge
 * at the end would compare less, but there a word is in every run that met it. */
#include "dataset/word_runs.h"

#include "base/file.h"
#include "base/temporary.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char part[] = "names";
enum {
    CODE = 5,                                 /* bytes of the longest code of a number */
    HEAD = 2 * CODE,                          /* of a word */
    LEAST_BYTES = 4 * (HEAD + OG__WORD_MOST), /* of a run being merged */
    MOST_BYTES = 1024 * 1024,
    WRITE_BYTES = 256 * 1024,
    FEW_RUNS = 8, /* are not merged before the end */
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

/* ---- codes: seven bits a byte ---- */

static unsigned char *put_code(unsigned char *p, uint32_t x)
{
    for (; x >= 0x80; x >>= 7)
        *p++ = (unsigned char)(x | 0x80);
    *p++ = (unsigned char)x;
    return p;
}

static const unsigned char *get_code(const unsigned char *p, uint32_t *x)
{
    uint32_t byte = *p++;
    *x = byte & 0x7f;
    for (unsigned shift = 7; byte & 0x80 && shift < 32; shift += 7) {
        byte = *p++;
        *x |= (byte & 0x7f) << shift;
    }
    return p;
}

/* ---- a run ---- */

static int new_run(struct og_word_runs *r, struct og_word_run *run, struct og_err *err)
{
    if (r->n == r->room) {
        const size_t room = OG_MAX(2 * r->room, (size_t)8);
        struct og_word_run *more = realloc(r->run, room * sizeof(*more));
        if (!more)
            return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
        r->run = more;
        r->room = room;
    }
    run->bytes = r->filled - run->at;
    run->numbers = r->numbered;
    r->numbered += run->n * CODE;
    r->run[r->n++] = *run;
    return 0;
}

/* A run being written. */
struct writer {
    struct og_word_runs *r;
    size_t filled;
    uint32_t len; /* of the last word */
    char last[OG__WORD_MOST];
    unsigned char buffer[WRITE_BYTES];
};

static int flush_words(struct writer *w, struct og_err *err)
{
    struct og_word_runs *r = w->r;
    const int rc = og__write_all(r->fd, w->buffer, w->filled, (off_t)r->filled, r->folder, err);
    r->filled += w->filled;
    og__write_behind(r->fd, &r->pushed, r->filled);
    w->filled = 0;
    return rc;
}

static int write_word(struct writer *w, const struct og_word *word, bool adds, struct og_err *err)
{
    const uint32_t most = OG_MIN(w->len, word->len);
    uint32_t shared = 0;
    int rc = 0;
    while (shared < most && w->last[shared] == word->text[shared])
        shared++;
    const uint32_t rest = word->len - shared;
    if (w->filled + HEAD + rest > WRITE_BYTES)
        OG_TRY(flush_words(w, err));
    unsigned char *p = put_code(w->buffer + w->filled, shared);
    p = put_code(p, 2 * rest + adds);
    memcpy(p, word->text + shared, rest);
    memcpy(w->last + shared, word->text + shared, rest);
    w->filled = (size_t)(p + rest - w->buffer);
    w->len = word->len;
out:
    return rc;
}

int og__word_runs_add(struct og_word_runs *r, struct og_word_set *s, uint64_t end,
                      struct og_err *err)
{
    struct og_word_run run = {.at = r->filled, .n = s->n, .end = end};
    struct writer *w = og__alloc(r->budget, sizeof(*w), part, err);
    const struct og_word_key *key;
    int rc = w ? 0 : -ENOMEM;
    OG_TRY(rc);
    w->r = r;
    w->filled = w->len = 0;
    if (r->fd < 0)
        OG_TRY(OG_MIN(r->fd = og__unnamed_file(r->folder, err), 0));
    key = og__word_set_sort(s);
    for (size_t i = 0; i < s->n; i++) {
        struct og_word_entry *entry = &s->entry[key[i].place];
        const struct og_word word = og__word_set_at(s, key[i].place);
        OG_TRY(write_word(w, &word, entry->len & 1, err));
        entry->at = (uint32_t)i;
    }
    OG_TRY(flush_words(w, err));
    OG_TRY(new_run(r, &run, err));
    r->most = OG_MAX(r->most, run.n);
out:
    og__release(r->budget, w, sizeof(*w), part);
    return rc;
}

/* ---- numbers of a run ---- */

/* Being written. */
struct numbers {
    unsigned char *code; /* [room] */
    size_t filled, room;
    uint64_t at;   /* in the file */
    uint32_t next; /* the last number + 1 */
};

static int flush_numbers(const struct og_word_runs *r, struct numbers *to, struct og_err *err)
{
    const int rc = og__write_all(r->numbers, to->code, to->filled, (off_t)to->at, r->folder, err);
    to->at += to->filled;
    to->filled = 0;
    return rc;
}

static int put_number(const struct og_word_runs *r, struct numbers *to, uint32_t number,
                      struct og_err *err)
{
    uint32_t code = 0;
    if (number != OG__NO_WORD) {
        code = number + 1 - to->next;
        to->next = number + 1;
    }
    to->filled = (size_t)(put_code(to->code + to->filled, code) - to->code);
    return to->filled + CODE > to->room ? flush_numbers(r, to, err) : 0;
}

static int other_bytes(struct og_err *err)
{
    return og__fail(err, -EIO, "check the disk", "%s: the disk returned other bytes", part);
}

/* Being read. */
struct reader {
    const struct og_word_runs *r;
    uint64_t at, end, left; /* in the file; numbers not taken yet */
    size_t next, filled;
    uint32_t last;
    unsigned char code[16 * 1024];
};

static void read_from(struct reader *from, const struct og_word_runs *r, size_t run)
{
    const struct og_word_run *of = &r->run[run];
    *from = (struct reader){
        .r = r, .at = of->numbers, .end = of->numbers + of->number_bytes, .left = of->n};
}

static int fill_codes(struct reader *from, struct og_err *err)
{
    const size_t kept = from->filled - from->next;
    memmove(from->code, from->code + from->next, kept);
    const size_t n = (size_t)OG_MIN(from->end - from->at, (uint64_t)(sizeof(from->code) - kept));
    const int rc = og__read_all(from->r->numbers, from->code + kept, n, (off_t)from->at, part, err);
    from->at += n;
    from->next = 0;
    from->filled = kept + n;
    return rc;
}

static int take_number(struct reader *from, uint32_t *number, struct og_err *err)
{
    if (from->filled - from->next < CODE && from->at < from->end) {
        const int rc = fill_codes(from, err);
        if (rc < 0)
            return rc;
    }
    uint32_t code;
    from->next = (size_t)(get_code(from->code + from->next, &code) - from->code);
    from->last += code;
    from->left--;
    *number = code ? from->last - 1 : OG__NO_WORD;
    return from->next <= from->filled ? 0 : other_bytes(err);
}

/* Numbers that count words of another run become those that its words have. */
static int replace_numbers(struct og_word_runs *r, size_t run, struct numbers *to,
                           struct og_err *err)
{
    struct og_word_run *of = &r->run[run];
    struct reader from;
    struct reader of_other;
    uint64_t freed = of->numbers;
    uint32_t number = 0;
    int rc = 0;
    read_from(&from, r, run);
    read_from(&of_other, r, of->into - 1);
    const uint64_t others = of_other.left;
    to->at = r->numbered;
    to->next = 0;
    for (uint32_t place; from.left > 0;) {
        OG_TRY(take_number(&from, &place, err));
        while (others - of_other.left <= place && of_other.left > 0)
            OG_TRY(take_number(&of_other, &number, err));
        OG_TRY(put_number(r, to, number, err));
        og__free_behind(r->numbers, &freed, from.at - (from.filled - from.next));
    }
    OG_TRY(flush_numbers(r, to, err));
    of->number_bytes = to->at - r->numbered;
    of->numbers = r->numbered;
    of->into = 0;
    r->numbered += of->n * CODE;
out:
    return rc;
}

/* Those of a merged run come before those that were merged into it. */
static int replace_all(struct og_word_runs *r, struct og_err *err)
{
    unsigned char code[16 * 1024];
    struct numbers to = {.code = code, .room = sizeof(code)};
    int rc = 0;
    for (size_t i = r->n; i-- > 0;)
        if (r->run[i].into)
            OG_TRY(replace_numbers(r, i, &to, err));
out:
    return rc;
}

int og__word_runs_numbers(const struct og_word_runs *r, size_t run, uint32_t *number,
                          struct og_err *err)
{
    struct reader from;
    int rc = 0;
    read_from(&from, r, run);
    while (from.left > 0)
        OG_TRY(take_number(&from, number++, err));
out:
    return rc;
}

/* ---- merging ---- */

/* A run being read, and its numbers being written. */
struct source {
    uint64_t at, bytes, freed; /* what is still in the file */
    unsigned char *text;       /* [m->bytes] */
    size_t next, filled;
    char *word; /* [OG__WORD_MOST] the present one */
    uint32_t len;
    bool adds, ended;
    struct numbers numbers;
};

struct merger {
    struct og_word_runs *r;
    size_t bytes;          /* of a source's text */
    size_t n_sources;      /* the last runs */
    struct source *source; /* [n_sources] */
    struct source **heap;  /* [n] the least word on top */
    struct source **same;  /* [n_same] those with the present word */
    size_t n, n_same;
    char *buffers;
    size_t buffer_bytes;
};

static bool comes_before(const struct source *a, const struct source *b)
{
    const int order = memcmp(a->word, b->word, OG_MIN(a->len, b->len));
    return order ? order < 0 : a->len < b->len;
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

static int refill(const struct merger *m, struct source *s, struct og_err *err)
{
    memmove(s->text, s->text + s->next, s->filled - s->next);
    s->filled -= s->next;
    s->next = 0;
    const size_t n = (size_t)OG_MIN(s->bytes, (uint64_t)(m->bytes - HEAD - s->filled));
    const int rc = og__read_all(m->r->fd, s->text + s->filled, n, (off_t)s->at, part, err);
    s->filled += n;
    s->at += n;
    s->bytes -= n;
    og__free_behind(m->r->fd, &s->freed, s->at);
    return rc;
}

static int next_word(const struct merger *m, struct source *s, struct og_err *err)
{
    if (s->filled - s->next < HEAD + OG__WORD_MOST && s->bytes > 0) {
        const int rc = refill(m, s, err);
        if (rc < 0)
            return rc;
    }
    s->ended = s->next == s->filled;
    if (s->ended)
        return 0;
    uint32_t shared;
    uint32_t rest;
    const unsigned char *p = get_code(s->text + s->next, &shared);
    p = get_code(p, &rest);
    s->adds = rest & 1;
    rest /= 2;
    if (shared > s->len || rest > OG__WORD_MOST - shared || p + rest > s->text + s->filled)
        return other_bytes(err);
    memcpy(s->word + shared, p, rest);
    s->len = shared + rest;
    s->next = (size_t)(p + rest - s->text);
    return 0;
}

/* Takes all sources of the least word off the heap. */
static bool take_same(struct merger *m)
{
    bool any = false;
    for (m->n_same = 0; m->n > 0;) {
        struct source *top = m->heap[0];
        if (m->n_same > 0 && comes_before(m->same[0], top))
            break;
        any = any || top->adds;
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

typedef int merged_fn(void *arg, const struct og_word *word, bool adds, bool *counts,
                      struct og_err *err);

static int merge_all(struct merger *m, merged_fn *each, void *arg, uint64_t *n, struct og_err *err)
{
    int rc = 0;
    for (*n = 0; m->n > 0;) {
        bool counts;
        const bool adds = take_same(m);
        const struct og_word word = {m->same[0]->word, m->same[0]->len};
        OG_TRY(each(arg, &word, adds, &counts, err));
        const uint32_t number = counts ? (uint32_t)(*n)++ : OG__NO_WORD;
        if (*n >= UINT32_MAX - 1)
            OG_TRY(og__fail(err, -EINVAL, "at most 4294967293", "names: too many distinct ones"));
        for (size_t i = 0; i < m->n_same; i++) {
            struct source *s = m->same[i];
            OG_TRY(put_number(m->r, &s->numbers, number, err));
            OG_TRY(next_word(m, s, err));
            if (!s->ended)
                push(m, s);
        }
    }
    for (size_t i = 0; i < m->n_sources; i++) {
        struct og_word_run *run = &m->r->run[m->r->merged + i];
        OG_TRY(flush_numbers(m->r, &m->source[i].numbers, err));
        run->number_bytes = m->source[i].numbers.at - run->numbers;
    }
out:
    return rc;
}

static int open_source(struct merger *m, size_t i, char *own, size_t each, struct og_err *err)
{
    const struct og_word_run *run = &m->r->run[m->r->merged + i];
    struct source *s = &m->source[i];
    const size_t codes = each / 8;
    m->bytes = each - OG__WORD_MOST - codes;
    *s = (struct source){.at = run->at,
                         .bytes = run->bytes,
                         .freed = run->at,
                         .word = own,
                         .text = (unsigned char *)own + OG__WORD_MOST + codes,
                         .numbers = {.code = (unsigned char *)own + OG__WORD_MOST,
                                     .room = codes,
                                     .at = run->numbers}};
    const int rc = next_word(m, s, err);
    if (rc == 0 && !s->ended)
        push(m, s);
    return rc;
}

/* Half of the memory, shared by the runs: an eighth for numbers. */
static int open_merger(struct merger *m, struct og_err *err)
{
    struct og_word_runs *r = m->r;
    const size_t left = og__budget_left(r->budget) / 2;
    const size_t each = OG_MIN(left / OG_MAX(m->n_sources, (size_t)1), (size_t)MOST_BYTES);
    int rc = 0;
    if (each < LEAST_BYTES)
        return og__fail(
            err, -ENOMEM, "give twice as much --memory",
            "--memory: too little to merge %zu parts of names, which take %zu bytes each",
            m->n_sources, (size_t)2 * LEAST_BYTES);
    m->buffer_bytes = each * m->n_sources;
    m->source = calloc(m->n_sources + 1, sizeof(*m->source));
    m->heap = calloc(m->n_sources + 1, sizeof(struct source *));
    m->same = calloc(m->n_sources + 1, sizeof(struct source *));
    m->buffers = og__alloc(r->budget, m->buffer_bytes, part, err);
    if (!m->buffers)
        return -ENOMEM;
    if (!m->source || !m->heap || !m->same)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", part);
    for (size_t i = 0; i < m->n_sources; i++)
        OG_TRY(open_source(m, i, m->buffers + i * each, each, err));
out:
    return rc;
}

/* Merges those runs that are not merged yet. */
static int merge(struct og_word_runs *r, merged_fn *each, void *arg, uint64_t *n,
                 struct og_err *err)
{
    struct merger m = {.r = r, .n_sources = r->n - r->merged};
    int rc = 0;
    if (r->numbers < 0)
        OG_TRY(OG_MIN(r->numbers = og__unnamed_file(r->folder, err), 0));
    OG_TRY(open_merger(&m, err));
    OG_TRY(merge_all(&m, each, arg, n, err));
out:
    og__release(r->budget, m.buffers, m.buffer_bytes, part);
    free(m.source);
    free(m.heap);
    free(m.same);
    return rc;
}

static int write_merged(void *arg, const struct og_word *word, bool adds, bool *counts,
                        struct og_err *err)
{
    *counts = true;
    return write_word(arg, word, adds, err);
}

static int merge_to_run(struct og_word_runs *r, struct og_err *err)
{
    struct og_word_run run = {.at = r->filled, .end = r->run[r->n - 1].end, .of_runs = true};
    struct writer *w = og__alloc(r->budget, sizeof(*w), part, err);
    int rc = w ? 0 : -ENOMEM;
    OG_TRY(rc);
    w->r = r;
    w->filled = w->len = 0;
    OG_TRY(merge(r, write_merged, w, &run.n, err));
    OG_TRY(flush_words(w, err));
    OG_TRY(new_run(r, &run, err));
    for (; r->merged < r->n - 1; r->merged++)
        r->run[r->merged].into = r->n;
out:
    og__release(r->budget, w, sizeof(*w), part);
    return rc;
}

int og__word_runs_shrink(struct og_word_runs *r, struct og_err *err)
{
    const struct og_word_run *first = &r->run[r->merged];
    const size_t n = r->n - r->merged;
    const uint64_t old = first->of_runs ? first->bytes : 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += first[i].bytes;
    const bool many = n > FEW_RUNS && bytes - old > 2 * old;
    const bool most =
        (n + 2) * 2 * LEAST_BYTES + sizeof(struct writer) > og__budget_left(r->budget);
    return n > 2 && (many || most) ? merge_to_run(r, err) : 0;
}

struct final {
    og_word_fn *each;
    void *arg;
};

static int pass_added(void *arg, const struct og_word *word, bool adds, bool *counts,
                      struct og_err *err)
{
    const struct final *f = arg;
    *counts = adds;
    return adds ? f->each(f->arg, word, err) : 0;
}

int og__word_runs_merge(struct og_word_runs *r, og_word_fn *each, void *arg, int64_t *n,
                        struct og_err *err)
{
    struct final f = {each, arg};
    uint64_t added = 0;
    int rc;
    OG_TRY(merge(r, pass_added, &f, &added, err));
    *n = (int64_t)added;
    close(r->fd); /* the words are not needed any more */
    r->fd = -1;
    rc = replace_all(r, err);
out:
    return rc;
}
