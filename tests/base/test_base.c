/* base: budget, arena, random numbers, permutation, pool, queue, files. */
#include "support/testing.h"

#include "base/file.h"
#include "base/hex.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/sized.h"
#include "base/sort.h"
#include "base/thread.h"
#include "support/files.h"
#include "support/no_sync.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void budget_refuses_what_does_not_fit(void **state)
{
    (void)state;
    struct og_err err = {0};
    struct og_budget *b = og__budget_new(4 * OG_MIB);
    void *p = og__alloc(b, 3 * OG_MIB, "cache", &err);
    assert_non_null(p);
    assert_null(og__alloc(b, 2 * OG_MIB, "staging", &err));
    assert_int_equal(err.code, -ENOMEM);
    assert_non_null(strstr(err.message, "staging"));
    og__release(b, p, 3 * OG_MIB, "cache");
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
}

/* A sanitizer's own memory grows and is touched as well. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool counts_are_ours = false;
#else
static const bool counts_are_ours = true;
#endif

/* Pages that this process has touched for the first time. */
static long faults(void)
{
    struct rusage u;
    assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
    return u.ru_minflt;
}

static void touch(char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4096)
        p[i] = 1;
}

static bool all_zero(const char *p, size_t bytes)
{
    return p[0] == 0 && memcmp(p, p + 1, bytes - 1) == 0;
}

/* By /proc/self/maps. */
static bool may_be_written(const char *p)
{
    char line[512];
    bool writable = false;
    FILE *f = fopen("/proc/self/maps", "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        char *end = NULL;
        const uintptr_t from = strtoull(line, &end, 16);
        const uintptr_t to = strtoull(end + 1, &end, 16);
        if ((uintptr_t)p >= from && (uintptr_t)p < to)
            writable = end[2] == 'w';
    }
    fclose(f);
    return writable;
}

static void memory_given_back_is_there_for_the_next(void **state)
{
    (void)state;
    enum { LARGE = 40 * 1024 * 1024, SMALL = 13 * 1024 * 1024 + 5 };
    struct og_err err = {0};
    struct og_budget *b = og__budget_new(128 * OG_MIB);
    char *p = og__alloc(b, LARGE, "cache", &err);
    assert_non_null(p);
    memset(p, 0xff, LARGE);
    og__release(b, p, LARGE, "cache");
    assert_int_equal(og__budget_used(b), 0);
    long before = faults();
    char *q = og__alloc(b, SMALL, "staging", &err);
    assert_true(q >= p && q < p + LARGE);
    assert_true(all_zero(q, SMALL));
    assert_true(!counts_are_ours || faults() - before < 8);
    /* the rest goes where address space waits for memory, into whole huge pages */
    char *space = og__address_reserve(LARGE, &err);
    assert_non_null(space);
    assert_int_equal(og__budget_charge(b, LARGE, "cache", &err), 0);
    assert_false(may_be_written(space)); /* nor is it promised by the kernel */
    og__address_furnish(b, space + 4096, LARGE - 4096);
    assert_int_equal(og__address_open(space, LARGE, &err), 0);
    assert_true(may_be_written(space) && may_be_written(space + LARGE - 1));
    before = faults();
    touch(space + 2 * OG_MIB, LARGE - SMALL - 6 * OG_MIB);
    assert_true(!counts_are_ours || faults() - before < 8);
    touch(space, LARGE);
    og__budget_uncharge(b, LARGE, "cache");
    og__address_release(space, LARGE);
    og__release(b, q, SMALL, "staging");
    og__budget_free(b);
}

/* Pieces of kept memory serve a larger allocation together. As much stays kept as the budget has
 * spare. */
static void pieces_given_back_serve_together(void **state)
{
    (void)state;
    enum { PIECES = 3, EACH = 20 * 1024 * 1024, ALL = 56 * 1024 * 1024 };
    struct og_err err = {0};
    struct og_budget *b = og__budget_new(128 * OG_MIB);
    char *piece[PIECES];
    for (int i = 0; i < PIECES; i++) {
        piece[i] = og__alloc(b, EACH, "cache", &err);
        assert_non_null(piece[i]);
        memset(piece[i], 0xff, EACH);
    }
    for (int i = 0; i < PIECES; i++)
        og__release(b, piece[i], EACH, "cache");
    long before = faults();
    char *all = og__alloc(b, ALL, "staging", &err);
    assert_true(all_zero(all, ALL));
    assert_true(!counts_are_ours || faults() - before < 8);
    og__release(b, all, ALL, "staging");

    /* 20 of 128 MiB are spare. 60 that are used leave room for 48 of the 60 that are kept. */
    assert_int_equal(og__budget_charge(b, 60 * OG_MIB, "elsewhere", &err), 0);
    og__budget_uncharge(b, 60 * OG_MIB, "elsewhere");
    before = faults();
    all = og__alloc(b, 44 * OG_MIB, "staging", &err);
    assert_true(all_zero(all, 44 * OG_MIB));
    assert_true(!counts_are_ours || faults() - before < 8);
    og__release(b, all, 44 * OG_MIB, "staging");
    og__budget_free(b);
}

/* ---- a process may have so many mappings, and not one more ---- */

static int mappings_left = INT_MAX; /* that may be moved or put in a place */

void *__real_mremap(void *from, size_t size, size_t new_size, int flags, void *to);
void *__wrap_mremap(void *from, size_t size, size_t new_size, int flags, void *to);
void *__real_mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset);

static bool may_map(void)
{
    mappings_left -= mappings_left < INT_MAX;
    errno = ENOMEM;
    return mappings_left >= 0;
}

void *__wrap_mremap(void *from, size_t size, size_t new_size, int flags, void *to)
{
    return may_map() ? __real_mremap(from, size, new_size, flags, to) : MAP_FAILED;
}

void *__wrap_mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset)
{
    if ((flags & MAP_FIXED) && !may_map())
        return MAP_FAILED;
    return __real_mmap(at, size, rights, flags, fd, offset);
}

/* New memory is zero also when pages can no longer be moved into it. Pages that were not moved are
 * returned to the system. */
static void memory_that_cannot_move_is_given_up(void **state)
{
    (void)state;
    enum { PIECE = 30 * 1024 * 1024, MORE = 40 * 1024 * 1024, MOVED = 5 };
    struct og_err err = {0};
    const size_t before = og__rss_now();
    for (int left = 0; left <= MOVED; left += MOVED) {
        struct og_budget *b = og__budget_new(128 * OG_MIB);
        char *p = og__alloc(b, PIECE, "cache", &err);
        assert_non_null(p);
        memset(p, 0xff, PIECE);
        og__release(b, p, PIECE, "cache");
        mappings_left = left;
        char *q = og__alloc(b, MORE, "staging", &err);
        mappings_left = INT_MAX;
        assert_true(all_zero(q, MORE));
        assert_true(!counts_are_ours || og__rss_now() - before < (size_t)(left + 8) * 2 * OG_MIB);
        og__release(b, q, MORE, "staging");

        char *space = og__address_reserve(PIECE, &err);
        assert_int_equal(og__address_open(space, PIECE, &err), 0);
        memset(space, 0xff, PIECE);
        mappings_left = left;
        og__address_empty(b, space, PIECE);
        mappings_left = INT_MAX;
        assert_true(all_zero(space, PIECE));
        og__address_release(space, PIECE);
        og__budget_free(b);
        assert_true(!counts_are_ours || og__rss_now() - before < 4 * OG_MIB);
    }
}

/* A stretch of reserved space releases its memory, and has it again. */
static void address_space_lends_its_memory(void **state)
{
    (void)state;
    enum { LARGE = 40 * 1024 * 1024, LENT = 30 * 1024 * 1024 };
    struct og_err err = {0};
    struct og_budget *b = og__budget_new(128 * OG_MIB);
    char *space = og__address_reserve(LARGE, &err);
    assert_non_null(space);
    assert_int_equal(og__budget_charge(b, LARGE, "cache", &err), 0);
    assert_int_equal(og__address_open(space, LARGE, &err), 0);
    memset(space, 0xff, LARGE);
    og__budget_uncharge(b, LENT, "cache");
    og__address_empty(b, space + LARGE - LENT, LENT);
    assert_true(
        all_zero(space + LARGE - LENT, LENT)); /* reading finds the kernel's page of zeros */
    assert_int_equal((unsigned char)space[LARGE - LENT - 1], 0xff);
    long before = faults();
    char *lent = og__alloc(b, LENT - 4 * OG_MIB, "staging", &err);
    assert_true(all_zero(lent, LENT - 4 * OG_MIB));
    assert_true(!counts_are_ours || faults() - before < 8);
    og__release(b, lent, LENT - 4 * OG_MIB, "staging");
    og__address_furnish(b, space + LARGE - LENT, LENT);
    assert_int_equal(og__budget_charge(b, LENT, "cache", &err), 0);
    before = faults();
    touch(space + LARGE - LENT + 2 * OG_MIB, LENT - 8 * OG_MIB);
    assert_true(!counts_are_ours || faults() - before < 8);
    og__budget_uncharge(b, LARGE, "cache");
    og__address_release(space, LARGE);
    og__budget_free(b);
}

#if OG_ADDRESS_SANITIZER
static bool nobodys(const char *p)
{
    return __asan_address_is_poisoned(p);
}

static bool ours(char *p, size_t bytes)
{
    return !__asan_region_is_poisoned(p, bytes);
}

/* Blocks of malloc's size and mapped ones, new and kept. */
static void blocks_end_where_they_were_asked_to(void **state)
{
    (void)state;
    static const size_t sizes[] = {1,
                                   63,
                                   64,
                                   4096,
                                   2 * OG_MIB - 1,
                                   2 * OG_MIB,
                                   2 * OG_MIB + 5,
                                   5 * OG_MIB - 4096,
                                   6 * OG_MIB - 64};
    struct og_budget *b = og__budget_new(256 * OG_MIB);
    for (size_t i = 0; i < 3 * OG_COUNT(sizes); i++) {
        const size_t bytes = sizes[i % OG_COUNT(sizes)];
        char *p = og__alloc(b, bytes, "cache", NULL);
        assert_true(ours(p, bytes) && nobodys(p + bytes));
        assert_true(bytes < 2 * OG_MIB || nobodys(p + bytes + 4000));
        memset(p, 1, bytes);
        og__release(b, p, bytes, "cache");
        assert_true(nobodys(p));
    }
    og__budget_free(b);
}

static void arrays_of_an_arena_are_apart(void **state)
{
    (void)state;
    struct og_arena a;
    assert_int_equal(og__arena_init(&a, og__host_memory(NULL),
                                    og__arena_room(100) + og__arena_room(64), "x", NULL),
                     0);
    assert_true(nobodys(a.base));
    char *one = og__arena_take(&a, 100);
    char *two = og__arena_take(&a, 64);
    assert_true(ours(one, 100) && nobodys(one + 100) && nobodys(two - 1));
    assert_true(ours(two, 64) && nobodys(two + 64));
    assert_null(og__arena_take(&a, 1));
    og__arena_rewind(&a, og__arena_room(100));
    assert_true(ours(one, 100) && nobodys(two));
    assert_ptr_equal(og__arena_take(&a, 10), two);
    assert_true(ours(two, 10) && nobodys(two + 10));
    og__arena_release(&a);
}

/* The program stops: the difference would be someone else's. */
static void as_much_is_given_back_as_was_asked_for(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{100, 99},
                                      {100, 101},
                                      {3 * OG_MIB, 3 * OG_MIB - 1},
                                      {3 * OG_MIB, 3 * OG_MIB + 1},
                                      {3 * OG_MIB, OG_MIB}};
    for (size_t i = 0; i < OG_COUNT(sizes); i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            (void)!freopen("/dev/null", "w", stderr);
            void *p = og__alloc(NULL, sizes[i][0], "cache", NULL);
            og__release(NULL, p, sizes[i][1], "cache");
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_not_equal(status, 0);
    }
}
#endif

/* Blocks of random sizes come and go: each is zero at first and its owner's alone. All memory, kept
 * or not, stays within the limit. */
static void kept_memory_is_nobodys_and_within_the_limit(void **state)
{
    (void)state;
    enum { BLOCKS = 12, ROUNDS = 400 };
    const size_t limit = 48 * OG_MIB;
    const size_t noise = 8 * OG_MIB;
    struct {
        char *p;
        size_t bytes;
        char mark;
    } block[BLOCKS] = {0};
    struct og_budget *b = og__budget_new(limit);
    size_t start = og__rss_now();
    size_t most = 0;
    struct og_rng rng;
    og__rng_at(&rng, 7, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t i = og__rng_below(&rng, BLOCKS);
        if (block[i].p) {
            assert_int_equal(block[i].p[0], block[i].mark);
            assert_memory_equal(block[i].p, block[i].p + 1, block[i].bytes - 1);
            og__release(b, block[i].p, block[i].bytes, "cache");
            block[i].p = NULL;
            continue;
        }
        block[i].bytes = 4096 + og__rng_below(&rng, 8 * 1024 * 1024);
        block[i].mark = (char)(1 + og__rng_below(&rng, 100));
        block[i].p = og__alloc(b, block[i].bytes, "cache", NULL);
        if (!block[i].p)
            continue;
        assert_true(all_zero(block[i].p, block[i].bytes));
        memset(block[i].p, block[i].mark, block[i].bytes);
        most = OG_MAX(most, og__rss_now());
    }
    assert_true(!counts_are_ours || most < start + limit + noise);
    assert_true(most > start + limit / 2);
    for (int i = 0; i < BLOCKS; i++)
        og__release(b, block[i].p, block[i].bytes, "cache");
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
}

static void first_message_wins(void **state)
{
    (void)state;
    struct og_err err = {0};
    assert_int_equal(og__fail(&err, -EIO, "h", "first"), -EIO);
    assert_int_equal(og__fail(&err, -EINVAL, NULL, "second"), -EINVAL);
    assert_string_equal(err.message, "first");
    assert_int_equal(err.code, -EIO);
}

/* Foreign names and texts are in messages. */
static void messages_are_one_line_that_fits(void **state)
{
    (void)state;
    struct og_err err = {0};
    char path[5000];
    og__fail(&err, -EINVAL, NULL, "%s: why", "a\nb\x1b[31m\tc\x7f\xc3\xa9");
    assert_string_equal(err.message, "a?b?[31m?c?\xc3\xa9: why");
    /* of a long name the middle goes, by whole characters: its end, and why, stay */
    for (size_t i = 0; i + 2 < sizeof(path); i += 2)
        memcpy(path + i, "\xc3\xa9", 3);
    for (int shift = 0; shift < 2; shift++) {
        err = (struct og_err){0};
        og__fail_errno(&err, -ENOENT, NULL, "%s/%s/x.npy", shift ? "ab" : "a", path);
        assert_true(strlen(err.message) < sizeof(err.message) - 1);
        assert_int_equal(strncmp(err.message, shift ? "ab/" : "a/", 2), 0);
        assert_non_null(strstr(err.message, "/x.npy: No such file or directory"));
        const char *gap = strstr(err.message, " ... ");
        assert_non_null(gap);
        assert_int_equal((unsigned char)gap[-1], 0xa9);
        assert_int_equal((unsigned char)gap[5], 0xc3);
        assert_string_equal(err.hint, "look at the name");
    }
}

/* Known answers of Philox 4x32-10 from the Random123 distribution. */
static void philox_matches_known_answers(void **state)
{
    (void)state;
    philox4x32_ctr_t zero = {{0, 0, 0, 0}};
    philox4x32_key_t key = {{0, 0}};
    philox4x32_ctr_t r = philox4x32(zero, key);
    const uint32_t expect[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    assert_memory_equal(r.v, expect, sizeof(expect));
}

/* 2^16 blocks fit the counter. Blocks after them must not be another layer's, or with the last
 * layer another stream's, and both draws continue to the same ones. */
static void long_runs_of_words_stay_their_own(void **state)
{
    (void)state;
    enum { ROOM = 1 << 16, BEYOND = 8 };
    static const uint32_t layers[] = {0, 255};
    for (size_t l = 0; l < OG_COUNT(layers); l++) {
        struct og_rng r;
        uint32_t word[4], same[4], first[4], next[4];
        og__philox(9, OG__STREAM_SAMPLE, 2, 3, layers[l], 7, 0, first);
        og__philox(9, (enum og__stream)(OG__STREAM_SAMPLE + layers[l] / 255), 2, 3,
                   (layers[l] + 1) % 256, 7, 0, next);
        og__rng_at(&r, 9, OG__STREAM_SAMPLE, 2, 3, layers[l], 7);
        for (uint32_t block = 0; block < 3 * ROOM + BEYOND; block++) {
            og__rng_block(&r, word);
            if (block % ROOM >= BEYOND)
                continue;
            og__philox(9, OG__STREAM_SAMPLE, 2, 3, layers[l], 7, block, same);
            assert_memory_equal(word, same, sizeof(word));
            assert_memory_not_equal(word, next, sizeof(word));
            if (block > 0)
                assert_memory_not_equal(word, first, sizeof(word));
        }
    }
}

static void below_is_uniform(void **state)
{
    (void)state;
    enum { N = 7, DRAWS = 70000 };
    uint32_t count[N] = {0};
    for (uint32_t i = 0; i < DRAWS; i++) {
        struct og_rng r;
        og__rng_at(&r, 42, OG__STREAM_BENCH, 0, 0, 0, i);
        count[og__rng_below(&r, N)]++;
    }
    double chi2 = 0;
    for (int i = 0; i < N; i++)
        chi2 += (count[i] - 1e4) * (count[i] - 1e4) / 1e4;
    assert_true(chi2 < 22.46); /* 6 degrees of freedom, p = 0.001 */
}

static void permutation_is_a_bijection(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1, 2, 3, 5, 140, 1000, 65537};
    for (size_t s = 0; s < OG_COUNT(sizes); s++) {
        uint64_t n = sizes[s];
        char *seen = calloc(n, 1);
        struct og_permutation p;
        og__permutation_init(&p, n, 1, 3);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t x = og__permutation_at(&p, i);
            assert_true(x < n);
            assert_int_equal(seen[x]++, 0);
        }
        free(seen);
    }
}

/* Elements that are computed side by side are those that are computed alone. */
static void permutation_in_pieces_is_the_same(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1, 2, 3, 5, 140, 1000, 65537, ((uint64_t)1 << 33) + 7};
    for (size_t s = 0; s < OG_COUNT(sizes); s++) {
        uint64_t got[100];
        const uint64_t n = OG_MIN(sizes[s], (uint64_t)OG_COUNT(got));
        struct og_permutation p;
        og__permutation_init(&p, sizes[s], 0x123456789abcdef, 5);
        og__permutation_get(&p, sizes[s] - n, n, got);
        for (uint64_t i = 0; i < n; i++)
            assert_int_equal(got[i], og__permutation_at(&p, sizes[s] - n + i));
    }
}

/* Every element lands in every place about equally often over many epochs. */
static void permutation_is_fair(void **state)
{
    (void)state;
    enum { N = 10, EPOCHS = 20000 };
    const double expected = (double)EPOCHS / N;
    uint32_t count[N][N] = {{0}};
    for (uint32_t e = 0; e < EPOCHS; e++) {
        struct og_permutation p;
        og__permutation_init(&p, N, 7, e);
        for (uint32_t i = 0; i < N; i++)
            count[i][og__permutation_at(&p, i)]++;
    }
    double chi2 = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            chi2 += pow(count[i][j] - expected, 2) / expected;
    /* Rows and columns both sum to 1, so the sum has only 81 degrees of freedom. It is N/(N-1)
     * times chi-square, whose p = 0.001 point is 126.1. */
    assert_true(chi2 * (N - 1) / N < 126.1);
}

static void add_task(void *arg, size_t task, int thread)
{
    (void)thread;
    atomic_fetch_add((atomic_size_t *)arg, task + 1);
}

static void pool_runs_every_task_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        struct og_pool *pool;
        assert_int_equal(og__pool_open(&pool, threads, NULL), 0);
        for (size_t n = 0; n < 200; n++) {
            atomic_size_t sum = 0;
            og__pool_run(pool, n, add_task, &sum);
            assert_int_equal(sum, n * (n + 1) / 2);
        }
        og__pool_close(pool);
    }
}

struct producer {
    struct og_queue *q;
    atomic_uint *next;
};

static void *produce(void *arg)
{
    struct producer *p = arg;
    unsigned seq;
    while ((seq = atomic_fetch_add(p->next, 1)) < 500)
        if (!og__queue_push(p->q, seq, (void *)(uintptr_t)(seq + 1)))
            break;
    return NULL;
}

static void queue_keeps_the_order_of_numbers(void **state)
{
    (void)state;
    struct og_queue *q;
    assert_int_equal(og__queue_open(&q, 3, 0, NULL), 0);
    atomic_uint next = 0;
    struct producer p = {q, &next};
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, produce, &p);
    for (uintptr_t i = 0; i < 500; i++) {
        void *item = NULL;
        assert_true(og__queue_pop(q, &item));
        assert_int_equal((uintptr_t)item, i + 1);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    og__queue_shut(q);
    void *item;
    assert_false(og__queue_pop(q, &item));
    og__queue_free(q);
}

static void files_appear_whole_or_not_at_all(void **state)
{
    (void)state;
    char dir[] = "/tmp/og-base-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char *path = og__path_join(dir, "x");
    assert_int_equal(og__write_text(path, "one", 3, NULL), 0);
    struct og_newfile f;
    assert_int_equal(og__newfile_open(&f, path, NULL), 0);
    assert_int_equal(og__write_all(f.fd, "two", 3, 0, path, NULL), 0);
    og__newfile_abandon(&f);
    char *text;
    size_t len;
    assert_int_equal(og__read_text(path, 100, &text, &len, NULL), 0);
    assert_string_equal(text, "one");
    free(text);

    struct og_err err = {0};
    struct og_newdir d;
    assert_int_equal(og__newdir_begin(&d, dir, &err), -EEXIST);
    assert_true(err.hint[0]);
    char *sub = og__path_join(dir, "out");
    assert_int_equal(og__newdir_begin(&d, sub, NULL), 0);
    char *inner = og__path_join(d.temporary, "y");
    assert_int_equal(og__write_text(inner, "", 0, NULL), 0);
    og__newdir_abandon(&d);
    assert_int_equal(access(inner, F_OK), -1);
    unlink(path);
    assert_int_equal(rmdir(dir), 0); /* nothing else was left */
    free(inner);
    free(sub);
    free(path);
}

/* What was there whenever fsync was called: two characters a call. `f`, `e` or `d`: a file, an
 * empty file or a folder was synced. `+` or `-`: the file had its name or not. */
static struct {
    const char *path;
    char order[8];
    size_t n;
} synced;

static void note_sync(int fd)
{
    struct stat st, named;
    assert_int_equal(fstat(fd, &st), 0);
    bool placed = stat(synced.path, &named) == 0 && named.st_size > 0;
    assert_true(synced.n + 2 < sizeof(synced.order));
    synced.order[synced.n++] = S_ISDIR(st.st_mode) ? 'd' : st.st_size > 0 ? 'f' : 'e';
    synced.order[synced.n++] = placed ? '+' : '-';
}

/* A file is on the disk before it has its name. The name is on the disk before anyone learns of
 * it. */
static void what_is_committed_outlives_the_machine(void **state)
{
    (void)state;
    char dir[] = "/tmp/og-base-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char *path = og__path_join(dir, "x"), *sub = og__path_join(dir, "out");
    synced.path = path;
    on_sync = note_sync;
    assert_int_equal(og__write_text(path, "one", 3, NULL), 0);
    assert_string_equal(synced.order, "f-d+");
    memset(synced.order, 0, sizeof(synced.order));
    synced.n = 0;
    synced.path = sub;
    struct og_newdir d;
    assert_int_equal(og__newdir_begin(&d, sub, NULL), 0);
    char *inner = og__path_join(d.temporary, "y");
    assert_int_equal(og__write_text(inner, "two", 3, NULL), 0);
    assert_int_equal(og__newdir_commit(&d, NULL), 0);
    assert_string_equal(synced.order, "f-d-d+"); /* what is in it, its names, its own name */
    free(inner);
    on_sync = NULL;
    inner = og__path_join(sub, "y");
    assert_int_equal(unlink(path) | unlink(inner) | rmdir(sub) | rmdir(dir), 0);
    free(inner);
    free(path);
    free(sub);
}

/* Ends without cleaning up: a file and a folder under temporary names. */
static void die_half_way(const char *file, const char *folder)
{
    struct og_newfile f;
    struct og_newdir d;
    int bad = og__newfile_open(&f, file, NULL) | og__newdir_begin(&d, folder, NULL);
    char *inner = og__path_join(d.temporary, "inner");
    _exit(bad | mkdir(inner, 0777) | symlink("/etc", og__path_join(d.temporary, "link")));
}

static void what_a_killed_process_left_goes(void **state)
{
    (void)state;
    char dir[] = "/tmp/og-base-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char *file = og__path_join(dir, "x"), *folder = og__path_join(dir, "out");
    char *like_ours = og__path_join(dir, "x.tmp-notes"), *other = og__path_join(dir, "y.tmp-1-0");
    assert_int_equal(og__write_text(like_ours, "", 0, NULL), 0);
    assert_int_equal(og__write_text(other, "", 0, NULL), 0);
    pid_t child = fork();
    if (child == 0)
        die_half_way(file, folder);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    char left[2][64];
    snprintf(left[0], sizeof(left[0]), "%s/x.tmp-%d-0", dir, (int)child);
    snprintf(left[1], sizeof(left[1]), "%s/out.tmp-%d-0", dir, (int)child);
    assert_true(test_is_there(left[0]) && test_is_there(left[1]));
    /* one that is being written stays, whoever opens another */
    struct og_newfile alive, second;
    assert_int_equal(og__newfile_open(&alive, file, NULL), 0);
    assert_int_equal(og__newfile_open(&second, file, NULL), 0);
    assert_true(test_is_there(alive.temporary) && test_is_there(second.temporary));
    assert_false(test_is_there(left[0]));
    og__newfile_abandon(&alive);
    og__newfile_abandon(&second);
    struct og_newdir d;
    assert_int_equal(og__newdir_begin(&d, folder, NULL), 0);
    assert_false(test_is_there(left[1]));
    og__newdir_abandon(&d);
    assert_true(test_is_there(like_ours) && test_is_there(other) && test_is_there("/etc"));
    unlink(like_ours);
    unlink(other);
    assert_int_equal(rmdir(dir), 0);
    free(file);
    free(folder);
    free(like_ours);
    free(other);
}

static void checksums_are_16_digits_of_lower_case(void **state)
{
    static const char *const wrong[] = {"",
                                        "fedcba987654321",
                                        "fedcba98765432100",
                                        "FEDCBA9876543210",
                                        "0xfedcba98765432",
                                        " edcba9876543210",
                                        NULL};
    uint64_t value = 1;
    (void)state;
    assert_string_equal(og__hex(0x0123456789abcdef).digits, "0123456789abcdef");
    assert_string_equal(og__hex(7).digits, "0000000000000007");
    assert_true(og__hex_parse("fedcba9876543210", &value));
    assert_true(value == 0xfedcba9876543210);
    for (size_t i = 0; i < OG_COUNT(wrong); i++) {
        value = 1;
        assert_false(og__hex_parse(wrong[i], &value));
        assert_true(value == 0);
    }
}

/* A struct of a program is read as far as both know it, and unknown members are reported. */
static void sizes_of_callers_are_looked_at(void **state)
{
    (void)state;
    struct first {
        size_t size;
        int a, b;
    } s = {.size = sizeof(s), .a = 1};
    struct later {
        struct first s;
        int c[4];
    } later = {.s = {.size = sizeof(later)}};
    struct og_err err = {0};
    assert_int_equal(OG_SIZED(&s, "first", &err), 0);
    assert_int_equal(OG_SIZED((struct first *)NULL, "first", &err), 0);
    assert_int_equal(OG_SIZED(&later.s, "first", &err), 0);
    static const size_t wrong[] = {0, 1, sizeof(size_t), sizeof(s) - 1, SIZE_MAX, 4097};
    for (size_t i = 0; i < OG_COUNT(wrong); i++) {
        struct og_err why = {0};
        s.size = wrong[i];
        assert_int_equal(OG_SIZED(&s, "first", &why), -EINVAL);
        assert_non_null(strstr(why.message, "struct first: its size is"));
        assert_non_null(strstr(why.hint, "struct first s = {.size = sizeof(s)}"));
    }
    later.c[3] = 1; /* what no version here knows */
    assert_int_equal(OG_SIZED(&later.s, "first", &err), -EINVAL);
    assert_non_null(strstr(err.message, "does not know"));
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Against qsort, with few values, many and all alike. */
static void sorting_in_place_is_sorting(void **state)
{
    (void)state;
    static const uint32_t values[] = {1, 7, UINT32_MAX};
    struct og_rng rng;
    og__rng_at(&rng, 3, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (size_t n = 0; n < 300; n++)
        for (size_t v = 0; v < OG_COUNT(values); v++) {
            uint64_t got[300], want[300];
            for (size_t i = 0; i < n; i++)
                got[i] = want[i] = og__rng_below(&rng, values[v]);
            og__sort_in_place(got, n, sizeof(*got), by_value);
            qsort(want, n, sizeof(*want), by_value);
            assert_memory_equal(got, want, n * sizeof(*got));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_16_digits_of_lower_case),
        cmocka_unit_test(budget_refuses_what_does_not_fit),
        cmocka_unit_test(memory_given_back_is_there_for_the_next),
        cmocka_unit_test(pieces_given_back_serve_together),
        cmocka_unit_test(memory_that_cannot_move_is_given_up),
        cmocka_unit_test(address_space_lends_its_memory),
#if OG_ADDRESS_SANITIZER
        cmocka_unit_test(blocks_end_where_they_were_asked_to),
        cmocka_unit_test(arrays_of_an_arena_are_apart),
        cmocka_unit_test(as_much_is_given_back_as_was_asked_for),
#endif
        cmocka_unit_test(kept_memory_is_nobodys_and_within_the_limit),
        cmocka_unit_test(first_message_wins),
        cmocka_unit_test(messages_are_one_line_that_fits),
        cmocka_unit_test(philox_matches_known_answers),
        cmocka_unit_test(long_runs_of_words_stay_their_own),
        cmocka_unit_test(below_is_uniform),
        cmocka_unit_test(permutation_is_a_bijection),
        cmocka_unit_test(permutation_in_pieces_is_the_same),
        cmocka_unit_test(permutation_is_fair),
        cmocka_unit_test(pool_runs_every_task_once),
        cmocka_unit_test(queue_keeps_the_order_of_numbers),
        cmocka_unit_test(files_appear_whole_or_not_at_all),
        cmocka_unit_test(what_is_committed_outlives_the_machine),
        cmocka_unit_test(what_a_killed_process_left_goes),
        cmocka_unit_test(sizes_of_callers_are_looked_at),
        cmocka_unit_test(sorting_in_place_is_sorting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
