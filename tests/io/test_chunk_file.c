/* io: records that wait in chunks. A table of what each chunk has says what is read. */
#include "io/io_fixture.h"

#include "io/chunk_file.h"
#include "support/files.h"

#include <dirent.h>
#include <unistd.h>

enum { ROWS = 3000, CHUNKS = 7, MOST = 2 * ROWS };

struct model {
    uint32_t rows[CHUNKS][MOST], n[CHUNKS];
    struct og_chunk_count count[CHUNKS];
    uint32_t free[ROWS], n_free; /* rows in no chunk */
    uint64_t blocks;             /* written */
};

static void make_record(uint32_t row, uint32_t turn, uint32_t *record, size_t numbers)
{
    for (size_t i = 0; i < numbers; i++)
        record[i] = row * 7919 + turn * 31 + (uint32_t)i;
}

struct reading {
    const uint32_t *turn; /* [ROWS] of the last push */
    size_t bytes;
    uint32_t n;
    unsigned char seen[ROWS];
};

static int look(void *arg, uint32_t row, const char *record, struct og_err *err)
{
    struct reading *r = arg;
    uint32_t expected[4096];
    (void)err;
    assert_true(row < ROWS);
    make_record(row, r->turn[row], expected, r->bytes / 4);
    assert_memory_equal(record, expected, r->bytes);
    r->seen[row]++;
    r->n++;
    return 0;
}

static void check_chunk(struct og_chunk_file *f, const struct model *m, uint32_t c, bool aside,
                        const uint32_t *turn, const struct og_chunk_form *form)
{
    struct og_err err = {0};
    struct og_io_counts read = {0};
    struct reading r = {.turn = turn, .bytes = form->row_bytes};
    assert_int_equal(og__chunk_each(f, c, aside, look, &r, &read, &err), 0);
    assert_int_equal(r.n, m->n[c]);
    for (uint32_t i = 0; i < m->n[c]; i++)
        assert_int_equal(r.seen[m->rows[c][i]], 1);
    assert_int_equal(read.reads, m->count[c].blocks);
    assert_int_equal(read.bytes, m->count[c].blocks * form->block);
}

static void empty(struct model *m, uint32_t c)
{
    for (uint32_t i = 0; i < m->n[c]; i++)
        m->free[m->n_free++] = m->rows[c][i];
    m->n[c] = 0;
    m->count[c] = (struct og_chunk_count){0};
}

static int files_of(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void pushes_are_read(size_t numbers, int io)
{
    struct scratch s;
    struct og_err err = {0};
    struct og_budget *b = og__budget_new(1 << 30);
    struct og_chunk_file *f;
    const struct og_reader_options like = {.io = io, .threads = 2, .profile = test_profile};
    const struct og_reader_options own = og__chunk_reader_options(&like);
    const struct og_chunk_form form = og__chunk_form(numbers * 4, ROWS, CHUNKS);
    struct model *m = calloc(1, sizeof(*m));
    uint32_t *turn_of = calloc(ROWS, sizeof(*turn_of)), record[4096];
    struct og_io_counts written = {0};
    char path[300];
    scratch_open(&s, 1);
    snprintf(path, sizeof(path), "%s/chunks", s.dir);
    assert_int_equal(og__chunk_file_open(&f, path, &form, &like, b, &err), 0);
    assert_int_equal(files_of(s.dir), 1); /* it has no name */
    assert_true(og__budget_used(b) <= og__chunk_file_bytes(&form) + og__reader_bytes(&own));
    for (uint32_t row = 0; row < ROWS; row++)
        m->free[m->n_free++] = row;
    for (uint32_t turn = 1; turn < 60000; turn++) {
        const uint32_t draw = test_scramble(turn * 5 + 1), c = draw % (CHUNKS - 1);
        if (draw / 7 % 900 == 0) { /* a chunk is used up */
            check_chunk(f, m, c, turn % 2 == 0, turn_of, &form);
            og__chunk_drop(f, c);
            empty(m, c);
        } else if (draw / 7 % 900 == 1) { /* or moves, and is distributed */
            const uint32_t to = CHUNKS - 1;
            og__chunk_move(f, c, to);
            memcpy(m->rows[to], m->rows[c], sizeof(m->rows[c]));
            m->n[to] = m->n[c];
            m->count[to] = m->count[c];
            m->n[c] = 0;
            m->count[c] = (struct og_chunk_count){0};
            check_chunk(f, m, c, false, turn_of, &form);
            check_chunk(f, m, to, false, turn_of, &form);
            og__chunk_drop(f, to);
            empty(m, to);
        } else if (m->n_free > 0) {
            const uint32_t row = m->free[--m->n_free];
            turn_of[row] = turn;
            make_record(row, turn, record, numbers);
            assert_int_equal(og__chunk_push(f, c, row, record, &written, &err), 0);
            m->rows[c][m->n[c]++] = row;
            m->blocks += og__chunk_count_push(&form, &m->count[c]);
        }
    }
    for (uint32_t c = 0; c < CHUNKS; c++)
        check_chunk(f, m, c, c % 2 == 0, turn_of, &form);
    assert_true(m->blocks > 100);
    assert_int_equal(written.reads, m->blocks);
    assert_int_equal(written.bytes, m->blocks * form.block);
    og__chunk_file_close(f);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    free(m);
    free(turn_of);
    scratch_close(&s);
}

static void chunks_have_what_was_pushed(void **state)
{
    (void)state;
    pushes_are_read(5, OG_IO_AUTO);
    pushes_are_read(300, OG_IO_AUTO);
    pushes_are_read(300, OG_IO_PREAD);
    pushes_are_read(48, OG_IO_MMAP);
    pushes_are_read(3000, OG_IO_PREAD);
}

/* Little of a block is unused, and blocks of large files suit a disk. */
static void blocks_suit_their_records(void **state)
{
    (void)state;
    for (size_t bytes = 4; bytes < 60000; bytes += 388) {
        for (uint64_t rows = 10; rows < 200000000; rows *= 50) {
            const struct og_chunk_form f = og__chunk_form(bytes, rows, 100);
            const size_t used = f.rows * (bytes + 4);
            assert_true(f.block % 4096 == 0 && used <= f.block && used >= f.block / 5 * 4 - 400);
            assert_true((uint64_t)f.n_blocks * f.rows >= 3 * rows);
            if (rows * bytes > (uint64_t)8 << 20) /* requests cost more than their bytes */
                assert_true(f.block >= 32 * 1024 && f.block <= 4 * (bytes + 4) + 160 * 1024);
            if (rows * bytes > (uint64_t)2 << 30)
                assert_true(f.block >= 128 * 1024);
        }
    }
}

/* A later call says why a block was not written, and nobody waits for ever. */
static void a_failure_is_reported(void **state)
{
    (void)state;
    struct scratch s;
    struct og_err err = {0};
    struct og_budget *b = og__budget_new(1 << 30);
    struct og_chunk_file *f;
    const struct og_chunk_form form = og__chunk_form(400, ROWS, CHUNKS);
    const struct og_reader_options like = {
        .io = OG_IO_PREAD, .threads = 1, .profile = test_profile};
    char path[300], record[400] = {0};
    struct og_io_counts written = {0};
    scratch_open(&s, 1);
    snprintf(path, sizeof(path), "%s/chunks", s.dir);
    assert_int_equal(og__chunk_file_open(&f, path, &form, &like, b, &err), 0);
    int rc = 0; /* more blocks than all rows take: the file ends */
    for (uint32_t i = 0; rc == 0 && i < 10 * ROWS; i++)
        rc = og__chunk_push(f, 0, i % ROWS, record, &written, &err);
    assert_int_equal(rc, -ENOSPC);
    assert_non_null(strstr(err.message, "chunks"));
    og__chunk_file_close(f);
    assert_int_equal(og__chunk_file_open(&f, "/nowhere/at/all", &form, &like, b, &err), -ENOENT);
    og__chunk_file_close(f);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_have_what_was_pushed),
        cmocka_unit_test(blocks_suit_their_records),
        cmocka_unit_test(a_failure_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
