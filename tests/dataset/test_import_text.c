/* Text of an import, each part against something simpler. Blocks are compared with the whole text,
 * numbers with the C library's, node ids with a sorted array. */
#include "support/testing.h"

#include "dataset/import/ids.h"
#include "dataset/import/text.h"
#include "dataset/word_map.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* ---- blocks ---- */

static void write_text(const char *path, bool zipped, const char *text, size_t len)
{
    gzFile f = gzopen(path, zipped ? "wb" : "wbT");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, text, (unsigned)len), len);
    assert_int_equal(gzclose(f), Z_OK);
}

/* All of it, a newline added where the last line has none. */
static void check_text(const char *path, const char *text, size_t len)
{
    struct og_text t;
    struct og_budget *b = og__budget_new(0);
    const char *begin;
    const char *end;
    size_t seen = 0;
    assert_int_equal(og__text_open(&t, path, b, NULL), 0);
    if (len < 100)
        assert_true(og__budget_used(b) < OG_MIB / 4); /* by the file's size */
    while (og__text_block(&t, &begin, &end, NULL) == 0 && begin) {
        size_t n = (size_t)(end - begin);
        assert_true(end[-1] == '\n' && seen + n <= len + 1);
        assert_memory_equal(begin, text + seen, n - (seen + n > len));
        seen += n;
    }
    assert_int_equal(seen, len + (len > 0 && text[len - 1] != '\n'));
    og__text_close(&t);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
}

/* Lines of 8 bytes, cut off anywhere. */
static void blocks_hold_all_of_a_file_and_take_no_more_than_it_needs(void **unused)
{
    (void)unused;
    static const size_t lengths[] = {0,
                                     1,
                                     2,
                                     7,
                                     8,
                                     9,
                                     63,
                                     64,
                                     65,
                                     OG__TEXT_BLOCK - 1,
                                     OG__TEXT_BLOCK,
                                     OG__TEXT_BLOCK + 1,
                                     3 * OG__TEXT_BLOCK + 5};
    static char text[3 * OG__TEXT_BLOCK + 8];
    char path[] = "/tmp/og-text-XXXXXX";
    close(mkstemp(path));
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = i % 8 == 7 ? '\n' : (char)('0' + i / 8 % 10);
    for (size_t i = 0; i < OG_COUNT(lengths); i++) {
        for (int zipped = 0; zipped < 2; zipped++) {
            write_text(path, zipped, text, lengths[i]);
            check_text(path, text, lengths[i]);
        }
    }
    unlink(path);
}

/* ---- numbers ---- */

static void open_empty(struct og_text *t)
{
    char path[] = "/tmp/og-text-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(og__text_open(t, path, NULL, NULL), 0);
    unlink(path);
}

static void reals_are_those_of_strtod(void **unused)
{
    (void)unused;
    static const char *const formats[] = {"%.3f,", "%.9g\n", "%.17g\t", "%.6e,", "%+.1f,", "%.0f;"};
    struct og_text t;
    open_empty(&t);
    for (int i = 0; i < 200000; i++) {
        char text[512];
        double want = ((double)next() / 1e19 - 0.9) * pow(10, (double)(next() % 40) - 20);
        snprintf(text, sizeof(text), formats[next() % 6], want);
        want = strtod(text, NULL);
        double got = 0;
        const char *end = og__parse_real(&t, text, &got);
        if (strlen(text) > 60)
            continue; /* longer than any number worth reading: may be refused */
        if (!end || got != want || !strchr(",;\t\n", *end))
            fail_msg("%s read as %.17g", text, got);
    }
    og__text_close(&t);
}

static void odd_reals(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        double value; /* NAN: either */
        bool good;
    } cases[] = {{"nan,", NAN, true},
                 {"NaN\n", NAN, true},
                 {",1", NAN, true},
                 {"\n", NAN, true},
                 {"-inf,", -INFINITY, true},
                 {"Infinity,", INFINITY, true},
                 {"1e400,", INFINITY, true},
                 {"1e-400,", 0, true},
                 {".5,", 0.5, true},
                 {"5.,", 5, true},
                 {"1e5,", 1e5, true},
                 {"x\n", NAN, false},
                 {"-\n", NAN, false},
                 {".\n", NAN, false},
                 {"1e\n", NAN, false},
                 {"1e+-5\n", NAN, false},
                 {"0000000000000000000000001.5,", 1.5, true}};
    struct og_text t;
    open_empty(&t);
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        double got = 0;
        const char *end = og__parse_real(&t, cases[i].text, &got);
        if ((end != NULL) != cases[i].good ||
            (end && !isnan(cases[i].value) && got != cases[i].value) ||
            (end && isnan(cases[i].value) && !isnan(got)))
            fail_msg("'%s' read as %g", cases[i].text, got);
    }
    og__text_close(&t);
}

/* ---- ids ---- */

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void check_map(const struct og_ids *ids, const uint64_t *sorted, size_t n)
{
    int64_t list[1000];
    uint64_t at = 0;
    size_t seen = 0;
    size_t got;
    do {
        assert_int_equal(og__ids_list(ids, &at, list, OG_COUNT(list), &got, NULL), 0);
        for (size_t i = 0; i < got; i++)
            assert_int_equal(list[i], sorted[seen++]);
    } while (got > 0);
    assert_int_equal(seen, n);
}

/* Ids below `limit`, many of them often, against sort and search. */
static void check_ids(uint64_t limit, bool wide)
{
    enum { N = 20000 };
    struct og_ids ids;
    uint64_t *id = calloc(N, sizeof(*id));
    uint64_t *sorted = calloc(N, sizeof(*sorted));
    uint32_t *rank = calloc(N, sizeof(*rank));
    size_t n = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < N; i++) {
        id[i] = next() % limit & ~(next() % 4); /* multiples of 4 more often */
        most = OG_MAX(most, id[i]);
    }
    memcpy(sorted, id, N * sizeof(*id));
    qsort(sorted, N, sizeof(*sorted), compare);
    for (size_t i = 0; i < N; i++)
        if (n == 0 || sorted[i] != sorted[n - 1])
            sorted[n++] = sorted[i];
    struct og_budget *b = og__budget_new((size_t)1 << 31);
    assert_int_equal(og__ids_open(&ids, UINT64_MAX, "/tmp", b, NULL), 0);
    assert_int_equal(og__ids_cover(&ids, most), !wide);
    if (wide)
        assert_int_equal(og__ids_widen(&ids, NULL), 0);
    assert_int_equal(og__ids_mark(&ids, id, N, NULL), 0);
    assert_int_equal(og__ids_resolve(&ids, NULL), 0);
    assert_int_equal(ids.n, n);
    assert_int_equal(og__ids_dense(&ids), most + 1 == n);
    og__ids_rank(&ids, id, N, rank);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(sorted[rank[i]], id[i]);
    check_map(&ids, sorted, n);
    og__ids_close(&ids);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    free(id);
    free(sorted);
    free(rank);
}

static void ids_become_their_places(void **unused)
{
    (void)unused;
    check_ids(700, false);
    check_ids(1 << 20, false);
    check_ids((uint64_t)1 << 31, false);
    check_ids((uint64_t)1 << 40, true);
    check_ids((uint64_t)1 << 63, true);
}

/* Draws of n distinct random ids; sorted. */
static uint64_t *draw_far(uint64_t *sorted, size_t n, size_t draws)
{
    uint64_t *id = calloc(draws, sizeof(*id));
    for (size_t i = 0; i < n; i++)
        id[i] = sorted[i] = next() >> 1;
    for (size_t i = n; i < draws; i++)
        id[i] = id[next() % n];
    qsort(sorted, n, sizeof(*sorted), compare);
    return id;
}

/* So often and so many that runs are merged more than once, and that ranges are several. */
static void ids_that_do_not_fit_are_sorted_on_disk(void **unused)
{
    (void)unused;
    enum { N = 200000, DRAWS = 2000000, STEP = 999 };
    struct og_budget *b = og__budget_new(OG_MIB / 2);
    struct og_ids ids;
    uint64_t *sorted = calloc(N, sizeof(*sorted));
    uint64_t *id = draw_far(sorted, N, DRAWS);
    uint32_t rank[STEP];
    assert_int_equal(og__ids_open(&ids, UINT64_MAX, "/tmp", b, NULL), 0);
    assert_false(og__ids_cover(&ids, sorted[N - 1]));
    assert_int_equal(og__ids_widen(&ids, NULL), 0);
    for (size_t i = 0; i < DRAWS; i += STEP)
        assert_int_equal(og__ids_mark(&ids, id + i, OG_MIN(DRAWS - i, (size_t)STEP), NULL), 0);
    assert_true(ids.runs.n > 64);
    assert_int_equal(og__ids_resolve(&ids, NULL), 0);
    assert_true(ids.far);
    assert_int_equal(ids.n, N);
    check_map(&ids, sorted, N);
    for (size_t i = 0; i < DRAWS; i += STEP)
        assert_int_equal(og__ids_put(&ids, id + i, OG_MIN(DRAWS - i, (size_t)STEP), NULL), 0);
    assert_true(ids.ranges.n > 8);
    assert_int_equal(og__ids_find(&ids, NULL), 0);
    for (size_t i = 0; i < DRAWS; i += STEP) {
        size_t n = OG_MIN(DRAWS - i, (size_t)STEP);
        assert_int_equal(og__ids_take(&ids, id + i, n, rank, NULL), 0);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(sorted[rank[k]], id[i + k]);
    }
    struct og_err err = {0}; /* more than were put */
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < 1000000; i++)
        rc = og__ids_take(&ids, id, 1, rank, &err);
    assert_int_equal(rc, -EIO);
    assert_true(err.message[0] && err.hint[0]);
    og__ids_close(&ids);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    free(id);
    free(sorted);
}

static void ids_beyond_all_memory_are_refused(void **unused)
{
    (void)unused;
    enum { N = 40000 };
    struct og_budget *b = og__budget_new(OG_MIB / 8);
    struct og_ids ids;
    struct og_err err = {0};
    uint64_t *sorted = calloc(N, sizeof(*sorted));
    uint64_t *id = draw_far(sorted, N, N);
    assert_int_equal(og__ids_open(&ids, UINT64_MAX, "/tmp", b, NULL), 0);
    assert_int_equal(og__ids_widen(&ids, NULL), 0);
    assert_int_equal(og__ids_mark(&ids, id, N, NULL), 0);
    assert_int_equal(og__ids_resolve(&ids, NULL), 0);
    assert_int_equal(og__ids_put(&ids, id, N, &err), -ENOMEM);
    assert_non_null(strstr(err.hint, "--memory"));
    og__ids_close(&ids);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    free(id);
    free(sorted);
}

/* ---- names ---- */

enum { NAMES = 100000, TIMES = 8 }; /* each is put so often; the last tenth without `adds` */

struct names {
    char text[NAMES][48];
    uint32_t number[NAMES];      /* expected */
    uint32_t put[NAMES * TIMES]; /* in what order */
    uint32_t *sorted;            /* [NAMES] */
    int64_t n;
};
static struct names names;

static int by_name(const void *a, const void *b)
{
    return strcmp(names.text[*(const uint32_t *)a], names.text[*(const uint32_t *)b]);
}

/* Most share a long beginning, some have none. */
static void draw_names(void)
{
    names.sorted = calloc(NAMES, sizeof(*names.sorted));
    for (uint32_t v = 0; v < NAMES; v++) {
        snprintf(names.text[v], sizeof(names.text[v]), "%s%.*s%05x",
                 v % 7 ? "https://example.org/" : "", (int)(next() % 4), "zzz",
                 v * 40503 % 0x100000);
        names.sorted[v] = v;
    }
    qsort(names.sorted, NAMES, sizeof(*names.sorted), by_name);
    for (uint32_t i = 0, number = 0; i < NAMES; i++)
        names.number[names.sorted[i]] = names.sorted[i] < NAMES / 10 * 9 ? number++ : OG__NO_WORD;
    for (uint32_t i = 0; i < NAMES * TIMES; i++) {
        const uint64_t other = next() % (i + 1);
        names.put[i] = names.put[other];
        names.put[other] = i % NAMES;
    }
    names.n = 0;
}

static struct og_word name_of(uint32_t v)
{
    return (struct og_word){names.text[v], (uint32_t)strlen(names.text[v])};
}

static int expect_next(void *arg, const struct og_word *word, struct og_err *err)
{
    (void)arg, (void)err;
    while (names.number[*names.sorted] == OG__NO_WORD)
        names.sorted++;
    assert_int_equal(names.number[*names.sorted], names.n++);
    assert_int_equal(word->len, strlen(names.text[*names.sorted]));
    assert_memory_equal(word->text, names.text[*names.sorted++], word->len);
    return 0;
}

static void check_taken(struct og_word_map *w, uint64_t first, size_t n)
{
    uint32_t number[1000];
    og__word_map_seek(w, first);
    for (uint64_t done = 0, some; done < n; done += some) {
        some = OG_MIN(n - done, (uint64_t)OG_COUNT(number));
        assert_int_equal(og__word_map_take(w, number, some, NULL), 0);
        for (size_t i = 0; i < some; i++)
            assert_int_equal(number[i], names.number[names.put[first + done + i]]);
    }
}

static uint64_t on_disk(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

/* In so little memory that the names are merged several times. */
static void names_become_numbers_and_take_disk_but_once(void **unused)
{
    (void)unused;
    struct og_budget *b = og__budget_new(2 * OG_MIB);
    struct og_word_map w;
    uint64_t bytes = 0;
    draw_names();
    uint32_t *sorted = names.sorted;
    assert_int_equal(og__word_map_open(&w, "/tmp", 0, b, NULL), 0);
    for (size_t i = 0; i < (size_t)NAMES * TIMES; i++) {
        const struct og_word word = name_of(names.put[i]);
        assert_int_equal(
            og__word_map_put(&w, &word, 1, names.number[names.put[i]] != OG__NO_WORD, NULL), 0);
    }
    for (uint32_t v = 0; v < NAMES; v++)
        bytes += name_of(v).len;
    const bool frees =
        fallocate(w.runs.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1 << 30, 4096) == 0;
    assert_true(w.runs.n > 20 && w.runs.merged > 10);
    assert_true(!frees || on_disk(w.runs.fd) < 2 * bytes);
    assert_int_equal(og__word_map_sort(&w, expect_next, NULL, NULL), 0);
    assert_int_equal(names.n, NAMES / 10 * 9);
    assert_true(!frees || on_disk(w.runs.numbers) < 3 * (uint64_t)NAMES * TIMES);
    check_taken(&w, 0, (size_t)NAMES * TIMES);
    for (int i = 0; i < 20; i++)
        check_taken(&w, next() % ((uint64_t)NAMES * TIMES - 500), 500);
    const uint64_t before = on_disk(w.fd);
    assert_true(before < 3 * (uint64_t)NAMES * TIMES);
    w.last = true;
    check_taken(&w, 0, (size_t)NAMES * TIMES);
    assert_true(!frees || on_disk(w.fd) < before / 4);
    uint32_t number;
    assert_int_equal(og__word_map_take(&w, &number, 1, NULL), -EIO); /* there are no more */
    og__word_map_close(&w);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    free(sorted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_hold_all_of_a_file_and_take_no_more_than_it_needs),
        cmocka_unit_test(reals_are_those_of_strtod),
        cmocka_unit_test(odd_reals),
        cmocka_unit_test(ids_become_their_places),
        cmocka_unit_test(ids_that_do_not_fit_are_sorted_on_disk),
        cmocka_unit_test(ids_beyond_all_memory_are_refused),
        cmocka_unit_test(names_become_numbers_and_take_disk_but_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
