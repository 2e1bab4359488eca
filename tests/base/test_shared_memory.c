/* Memory that processes share, each part of it filled once. */
#include "support/testing.h"

#include "base/named_memory.h"
#include "base/shared_memory.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NUMBERS = 700000 }; /* more than a huge page */

/* ---- parts of numbers ---- */

struct numbers {
    uint32_t first;
    int rc;     /* what filling comes to */
    bool dies;  /* half-way */
    int filled; /* how often it was called */
};

static int fill(void *arg, void *at, struct og_err *err)
{
    struct numbers *n = arg;
    uint32_t *out = at;
    n->filled++;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        assert_int_equal(out[i], 0);
        out[i] = n->first + i;
        if (n->dies && i == NUMBERS / 2)
            raise(SIGKILL);
    }
    return n->rc < 0 ? og__fail(err, n->rc, NULL, "not today") : 0;
}

static int take(struct og_shared_memory *c, uint64_t key, struct numbers *n,
                struct og_shared_memory_piece *out)
{
    const struct og_shared_memory_part part = {
        .key = key, .bytes = NUMBERS * sizeof(uint32_t), .fill = fill, .arg = n};
    return og__shared_memory_take(c, &part, out, NULL);
}

static bool holds(const struct og_shared_memory_piece *piece, uint32_t first)
{
    const uint32_t *at = piece->at;
    for (uint32_t i = 0; i < NUMBERS; i++)
        if (at[i] != first + i)
            return false;
    return true;
}

static struct og_shared_memory *make(void)
{
    struct og_shared_memory *c;
    assert_int_equal(og__shared_memory_make(&c, NULL), 0);
    return c;
}

/* What a process of its own returns: 0 to 99; -1: it was killed. */
static int apart(const struct og_shared_memory_place *place, int (*fn)(struct og_shared_memory *c))
{
    int status;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct og_shared_memory *c;
        signal(SIGSEGV, SIG_DFL); /* cmocka would go on with the next test */
        const int rc = og__shared_memory_open(&c, place, NULL);
        _exit(rc < 0 ? 99 : fn(c));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- */

/* It finds what the other has filled. */
static int look(struct og_shared_memory *c)
{
    struct numbers other = {.first = 5};
    struct og_shared_memory_piece one, two;
    if (take(c, 1, &other, &one) < 0 || other.filled || !holds(&one, 1000))
        return 1;
    if (take(c, 2, &other, &two) < 0 || other.filled != 1 || !holds(&two, 5))
        return 2;
    og__shared_memory_give(&one); /* and ends with the other */
    return 0;
}

static void each_part_is_filled_once(void **state)
{
    (void)state;
    struct og_shared_memory *c = make();
    const struct og_shared_memory_place place = og__shared_memory_place(c);
    struct numbers own = {.first = 1000};
    struct og_shared_memory_piece one, two;
    assert_int_equal(take(c, 1, &own, &one), 0);
    assert_true(own.filled == 1 && holds(&one, 1000));
    assert_int_equal(apart(&place, look), 0);
    assert_int_equal(take(c, 2, &own, &two), 0); /* that one's, which has ended */
    assert_true(own.filled == 1 && holds(&two, 5));
    og__shared_memory_give(&two);
    assert_null(two.of);
    og__shared_memory_give(&two);
    og__shared_memory_give(&one);
    og__shared_memory_close(c);
}

/* Bytes of its memory that the kernel has. */
static int64_t held(const struct og_shared_memory *c)
{
    struct stat st;
    assert_int_equal(fstat((int)og__shared_memory_place(c).fd, &st), 0);
    return (int64_t)st.st_blocks * 512;
}

static void what_nobody_has_is_given_back(void **state)
{
    (void)state;
    struct og_shared_memory *c = make();
    struct numbers own = {.first = 1000};
    struct og_shared_memory_piece one, again;
    const int64_t before = held(c);
    assert_int_equal(take(c, 1, &own, &one), 0);
    assert_int_equal(take(c, 1, &own, &again), 0);
    assert_int_equal(own.filled, 1);
    assert_true(held(c) >= before + (int64_t)(NUMBERS * sizeof(uint32_t)));
    og__shared_memory_give(&one);
    assert_true(holds(&again, 1000));
    og__shared_memory_give(&again);
    assert_int_equal(held(c), before);
    assert_int_equal(take(c, 1, &own, &one), 0); /* again, of zeroed memory */
    assert_true(own.filled == 2 && holds(&one, 1000));
    og__shared_memory_give(&one);
    og__shared_memory_close(c);
}

static int die_filling(struct og_shared_memory *c)
{
    struct numbers half = {.first = 77, .dies = true};
    struct og_shared_memory_piece piece;
    return take(c, 1, &half, &piece) == 0 ? 1 : 2;
}

static void what_was_not_filled_is_filled_by_the_next(void **state)
{
    (void)state;
    struct og_shared_memory *c = make();
    const struct og_shared_memory_place place = og__shared_memory_place(c);
    struct numbers failing = {.first = 3, .rc = -EIO};
    struct numbers good = {.first = 1000};
    struct og_shared_memory_piece piece;
    assert_int_equal(take(c, 1, &failing, &piece), -EIO);
    assert_null(piece.of);
    assert_int_equal(apart(&place, die_filling), -1);
    assert_int_equal(take(c, 1, &good, &piece), 0); /* zeroed: fill looks */
    assert_true(holds(&piece, 1000));
    assert_int_equal(apart(&place, look), 0);
    og__shared_memory_give(&piece);
    og__shared_memory_close(c);
}

static int write_to_it(struct og_shared_memory *c)
{
    struct numbers own = {.first = 1000};
    struct og_shared_memory_piece piece;
    if (take(c, 1, &own, &piece) < 0)
        return 11;
    *(volatile uint32_t *)(uintptr_t)piece.at = 0;
    return 12;
}

static void nobody_writes_to_what_is_full(void **state)
{
    (void)state;
    struct og_shared_memory *c = make();
    const struct og_shared_memory_place place = og__shared_memory_place(c);
    const int end = apart(&place, write_to_it);
    assert_true(end != 11 && end != 12);
    assert_int_equal(apart(&place, look), 0);
    og__shared_memory_close(c);
}

/* No file of another process is taken for it. */
static void another_file_is_refused(void **state)
{
    (void)state;
    struct og_shared_memory *c = make();
    struct og_shared_memory *found;
    const struct og_shared_memory_place place = og__shared_memory_place(c);
    const struct og_shared_memory_place bad[] = {{place.pid, place.fd, place.token + 1},
                                                 {place.pid, 0, place.token},
                                                 {place.pid, place.fd + 1000, place.token},
                                                 {1 << 30, place.fd, place.token}};
    for (size_t i = 0; i < OG_COUNT(bad); i++) {
        struct og_err err = {0};
        assert_int_equal(og__shared_memory_open(&found, &bad[i], &err), -ENOENT);
        assert_null(found);
        assert_true(err.message[0]);
    }
    assert_int_equal(og__shared_memory_open(&found, &place, NULL), 0);
    og__shared_memory_close(found);
    og__shared_memory_close(c);
    og__shared_memory_close(NULL);
}

/* ---- areas ---- */

enum { WIDE = 1 << 30, FAR = WIDE / 2 }; /* far more than is written */

static int area_of(struct og_shared_memory *c, struct og_shared_memory_piece *out)
{
    return og__shared_memory_area(c, 9, WIDE, NULL, out, NULL);
}

static char *place_in(const struct og_shared_memory_piece *area, size_t at)
{
    return (char *)(uintptr_t)area->at + at;
}

static int write_far(struct og_shared_memory *c)
{
    struct og_shared_memory_piece area;
    if (area_of(c, &area) < 0 || *place_in(&area, 7) != 'a')
        return 1;
    if (og__shared_memory_room(&area, FAR, 3, NULL) < 0)
        return 2;
    *place_in(&area, FAR) = 'b';
    og__shared_memory_give(&area);
    return 0;
}

static void all_write_to_an_area(void **state)
{
    (void)state;
    struct og_shared_memory *c = make();
    const struct og_shared_memory_place place = og__shared_memory_place(c);
    const int64_t before = held(c);
    struct numbers own = {.first = 1000};
    struct og_shared_memory_piece area, part;
    assert_int_equal(area_of(c, &area), 0);
    assert_int_equal(held(c), before);
    assert_int_equal(take(c, 1, &own, &part), 0); /* after it */
    og__shared_memory_give(&part);
    assert_int_equal(og__shared_memory_room(&area, 7, 1, NULL), 0);
    *place_in(&area, 7) = 'a';
    assert_int_equal(apart(&place, write_far), 0);
    assert_int_equal(*place_in(&area, FAR), 'b');
    assert_int_equal(*place_in(&area, FAR + 1), 0);
    assert_true(held(c) > before && held(c) < before + (1 << 20));
    og__shared_memory_give(&area);
    assert_int_equal(held(c), before);
    assert_int_equal(area_of(c, &area), 0);
    assert_int_equal(*place_in(&area, 7), 0);
    og__shared_memory_give(&area);
    og__shared_memory_close(c);
}

static void an_area_tells_what_was_touched(void **state)
{
    (void)state;
    enum { BYTES = 1 << 22 }; /* more entries than are read at once */
    struct og_shared_memory *c = make();
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct og_shared_memory_piece area;
    assert_int_equal(area_of(c, &area), 0);
    assert_int_equal(og__shared_memory_room(&area, FAR, BYTES, NULL), 0);
    assert_int_equal(og__shared_memory_touched(&area, 0, WIDE), 0); /* room is not touched */
    for (size_t at = 0; at < BYTES; at += page)
        *place_in(&area, FAR + at) = 'c';
    assert_int_equal(og__shared_memory_touched(&area, FAR, BYTES), BYTES);
    assert_int_equal(og__shared_memory_touched(&area, FAR + 1, page), 2 * page);
    assert_int_equal(og__shared_memory_touched(&area, 0, FAR), 0);
    assert_int_equal(og__shared_memory_touched(&area, 0, WIDE), BYTES);
    og__shared_memory_give(&area);
    og__shared_memory_close(c);
}

/* In what was reserved, and nothing else comes to lie there when it is given back. */
static void an_area_lies_where_it_is_to(void **state)
{
    (void)state;
    struct og_shared_memory *c = make();
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *base = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct og_shared_memory_piece placed, other;
    assert_true(base != MAP_FAILED);
    assert_int_equal(og__shared_memory_area(c, 9, page, base + page, &placed, NULL), 0);
    assert_ptr_equal(placed.at, base + page);
    assert_int_equal(og__shared_memory_area(c, 9, page, NULL, &other, NULL), 0);
    base[page] = 'd';
    assert_int_equal(*place_in(&other, 0), 'd');
    og__shared_memory_give(&placed);
    assert_true(mmap(base + page, page, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED);
    og__shared_memory_give(&other);
    munmap(base, 3 * page);
    og__shared_memory_close(c);
}

static void parts_are_so_many(void **state)
{
    (void)state;
    struct og_shared_memory *c = make();
    struct og_shared_memory_piece piece;
    struct og_err err = {0};
    uint64_t n = 0;
    while (og__shared_memory_area(c, n, 1, NULL, &piece, &err) == 0)
        n++;
    assert_true(n >= 100); /* a cache of each of 64 workers, and more */
    assert_true(err.code == -ENOSPC && !piece.of);
    /* those that are there stay */
    assert_int_equal(og__shared_memory_area(c, n - 1, 1, NULL, &piece, NULL), 0);
    og__shared_memory_give(&piece);
    og__shared_memory_close(c);
}

/* ---- by number ---- */

static uint64_t number(void)
{
    return 0xabcdef0000000000u + (uint64_t)getpid();
}

static struct og_named_memory join(uint64_t n)
{
    struct og_named_memory named;
    assert_int_equal(og__named_memory_join(&named, n, NULL), 0);
    return named;
}

/* A process that joins, reports how often it had to fill, and stays until end_member. */
struct member {
    pid_t pid;
    int to, from; /* pipes */
};

static struct member start_member(uint64_t n)
{
    int to[2];
    int from[2];
    assert_true(pipe(to) == 0 && pipe(from) == 0);
    struct member m = {fork(), to[1], from[0]};
    assert_true(m.pid >= 0);
    if (m.pid == 0) {
        struct numbers own = {.first = 7};
        struct og_shared_memory_piece piece;
        struct og_named_memory named;
        char word = 0;
        int rc = og__named_memory_join(&named, n, NULL);
        rc = rc < 0 ? rc : take(named.memory, 1, &own, &piece);
        word = rc < 0 || !holds(&piece, 7) ? 'x' : (char)('0' + own.filled);
        close(to[1]);
        if (write(from[1], &word, 1) == 1 && read(to[0], &word, 1) == 1) {
            og__shared_memory_give(&piece);
            og__named_memory_leave(&named);
        }
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    return m;
}

static char word_of(const struct member *m)
{
    char word = 0;
    return read(m->from, &word, 1) == 1 ? word : 0;
}

static void end_member(const struct member *m)
{
    int status;
    assert_true(write(m->to, "e", 1) == 1);
    assert_int_equal(waitpid(m->pid, &status, 0), m->pid);
    close(m->to);
    close(m->from);
}

/* It exists while any member has it open. A killed one is skipped; the last removes the file. */
static void members_find_each_other(void **state)
{
    (void)state;
    struct og_named_memory own = join(number());
    struct numbers mine = {.first = 7};
    struct og_shared_memory_piece piece;
    assert_int_equal(take(own.memory, 1, &mine, &piece), 0);
    const struct member second = start_member(number());
    assert_int_equal(word_of(&second), '0');
    og__shared_memory_give(&piece);
    og__named_memory_leave(&own);
    assert_null(own.memory);
    const struct member killed = start_member(number()); /* through the second */
    assert_int_equal(word_of(&killed), '0');
    kill(killed.pid, SIGKILL);
    assert_int_equal(waitpid(killed.pid, NULL, 0), killed.pid);
    close(killed.to);
    close(killed.from);
    struct og_named_memory again = join(number());
    assert_int_equal(take(again.memory, 1, &mine, &piece), 0);
    assert_int_equal(mine.filled, 1);
    char path[64];
    snprintf(path, sizeof(path), "%s", again.path);
    og__shared_memory_give(&piece);
    og__named_memory_leave(&again);
    assert_int_equal(access(path, F_OK), 0);
    end_member(&second);
    assert_int_equal(access(path, F_OK), -1);
}

static void another_number_is_another_segment(void **state)
{
    (void)state;
    struct og_named_memory one = join(number() + 1);
    struct og_named_memory two = join(number() + 2);
    struct numbers first = {.first = 7};
    struct numbers second = {.first = 7};
    struct og_shared_memory_piece a, b;
    assert_int_equal(take(one.memory, 1, &first, &a), 0);
    assert_int_equal(take(two.memory, 1, &second, &b), 0);
    assert_int_equal(second.filled, 1);
    og__shared_memory_give(&a);
    og__shared_memory_give(&b);
    og__named_memory_leave(&one);
    og__named_memory_leave(&two);
    og__named_memory_leave(&two);
}

/* After a list of killed processes alone there is a new segment. */
static void all_may_be_killed(void **state)
{
    (void)state;
    const uint64_t n = number() + 3;
    const struct member m = start_member(n);
    assert_int_equal(word_of(&m), '1');
    kill(m.pid, SIGKILL);
    assert_int_equal(waitpid(m.pid, NULL, 0), m.pid);
    close(m.to);
    close(m.from);
    struct og_named_memory own = join(n);
    struct numbers mine = {.first = 7};
    struct og_shared_memory_piece piece;
    assert_int_equal(take(own.memory, 1, &mine, &piece), 0);
    assert_int_equal(mine.filled, 1);
    og__shared_memory_give(&piece);
    og__named_memory_leave(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_is_filled_once),
        cmocka_unit_test(what_nobody_has_is_given_back),
        cmocka_unit_test(what_was_not_filled_is_filled_by_the_next),
        cmocka_unit_test(nobody_writes_to_what_is_full),
        cmocka_unit_test(another_file_is_refused),
        cmocka_unit_test(all_write_to_an_area),
        cmocka_unit_test(an_area_tells_what_was_touched),
        cmocka_unit_test(an_area_lies_where_it_is_to),
        cmocka_unit_test(parts_are_so_many),
        cmocka_unit_test(members_find_each_other),
        cmocka_unit_test(another_number_is_another_segment),
        cmocka_unit_test(all_may_be_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
