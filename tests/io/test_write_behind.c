/* io: rows that a thread writes while their owner continues. The file has what was pushed last. */
#include "io/io_fixture.h"

#include "io/write_behind.h"
#include "support/files.h"

#include <fcntl.h>
#include <unistd.h>

enum { ROWS = 5000, WIDTH = 300, OFFSET = 129 }; /* numbers of a row; bytes before row 0 */

static const char *row_at(void *arg, size_t i)
{
    return (const char *)arg + i * WIDTH * sizeof(uint32_t);
}

static void make_file_of_holes(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, OFFSET + (off_t)ROWS * WIDTH * 4), 0);
    close(fd);
}

/* Distinct rows, ascending, whose numbers depend on the turn. */
static size_t make_push(uint32_t turn, uint32_t *rows, uint32_t *records)
{
    size_t n = 0;
    for (uint32_t row = turn % 3; row < ROWS; row += 1 + (row + turn) % 5) {
        for (uint32_t j = 0; j < WIDTH; j++)
            records[n * WIDTH + j] = turn * 1000003 + row * 17 + j;
        rows[n++] = row;
    }
    return n;
}

static void the_last_push_is_in_the_file(void **state)
{
    (void)state;
    struct scratch s;
    struct og_err err = {0};
    struct og_budget *b = og__budget_new(1 << 30);
    struct og_write_behind *w;
    struct og_row_writer *file;
    struct og_io_counts written = {0}, predicted = {0};
    char path[400];
    scratch_open(&s, 1);
    snprintf(path, sizeof(path), "%s/rows", s.dir);
    make_file_of_holes(path);
    uint32_t *rows = malloc(ROWS * sizeof(*rows)), *expected = calloc(ROWS * WIDTH, 4);
    uint32_t *records = malloc(ROWS * WIDTH * 4);
    uint32_t found[WIDTH];
    uint64_t pushed = 0;
    const int fd = open(path, O_RDONLY);
    assert_int_equal(og__write_behind_open(&w, path, OFFSET, WIDTH * 4, ROWS, b, &err), 0);
    assert_true(og__write_behind_rows(WIDTH * 4, ROWS) < ROWS); /* pushes wait for space */
    for (uint32_t turn = 0; turn < 12; turn++) {
        const size_t n = make_push(turn, rows, records);
        assert_int_equal(og__write_behind_push(w, rows, n, row_at, records, &written, &err), 0);
        pushed += n;
        assert_int_equal(og__write_behind_pushed(w), pushed);
        if (turn % 3 == 0) { /* what is awaited can be read by others */
            og__write_behind_await(w, pushed);
            assert_int_equal(pread(fd, found, sizeof(found), OFFSET + (off_t)rows[0] * WIDTH * 4),
                             sizeof(found));
            assert_memory_equal(found, records, sizeof(found));
        }
        const uint32_t held = og__write_behind_rows(WIDTH * 4, ROWS);
        for (size_t back = 1; back <= OG_MIN(n, (size_t)held); back++)
            assert_memory_equal(og__write_behind_recall(w, back), records + (n - back) * WIDTH,
                                WIDTH * 4);
        for (size_t i = 0; i + held < n; i++) { /* the others are in the file */
            assert_int_equal(og__row_writer_get(og__write_behind_file(w), rows[i], 1, found, &err),
                             0);
            assert_memory_equal(found, records + i * WIDTH, sizeof(found));
        }
        const struct og_io_counts c = og__row_writer_predict(WIDTH * 4, rows, n);
        predicted.reads += c.reads;
        predicted.bytes += c.bytes;
        for (size_t i = 0; i < n; i++)
            memcpy(expected + (size_t)rows[i] * WIDTH, records + i * WIDTH, WIDTH * 4);
    }
    assert_int_equal(og__write_behind_settle(w, &file, &err), 0);
    assert_int_equal(written.reads, predicted.reads);
    assert_int_equal(written.bytes, predicted.bytes);
    assert_int_equal(og__row_writer_get(file, 0, ROWS, records, &err), 0);
    assert_memory_equal(records, expected, ROWS * WIDTH * 4);
    og__write_behind_close(w);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    free(rows);
    free(expected);
    free(records);
    close(fd);
    unlink(path);
    scratch_close(&s);
}

/* A write that fails is reported by a later call, and nobody waits for ever. */
static void a_failure_is_reported(void **state)
{
    (void)state;
    struct scratch s;
    struct og_err err = {0};
    struct og_budget *b = og__budget_new(1 << 30);
    struct og_write_behind *w;
    struct og_row_writer *file;
    struct og_io_counts written = {0};
    scratch_open(&s, 1);
    uint32_t *rows = malloc(ROWS * sizeof(*rows)), *records = malloc(ROWS * WIDTH * 4);
    const size_t n = make_push(0, rows, records);
    assert_int_equal(og__write_behind_open(&w, "/dev/full", 0, WIDTH * 4, ROWS, b, &err), 0);
    int rc = og__write_behind_push(w, rows, n, row_at, records, &written, &err);
    rc = rc < 0 ? rc : og__write_behind_settle(w, &file, &err);
    assert_int_equal(rc, -ENOSPC);
    assert_non_null(strstr(err.message, "/dev/full"));
    og__write_behind_close(w);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    free(rows);
    free(records);
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_push_is_in_the_file),
        cmocka_unit_test(a_failure_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
