/* .npy: files that NumPy wrote (golden/make_npy.py), headers that lie, our own headers. */
#include "support/own_folder.h"

#include "support/no_sync.h"

#include "dataset/graph.h"
#include "dataset/writer.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void golden_path(char path[512], const char *name)
{
    snprintf(path, 512, TEST_NPY "/%s.npy", name);
}

static int open_golden(struct og_npy *a, const char *name, struct og_err *err)
{
    char path[512];
    golden_path(path, name);
    return og__npy_open(a, path, err);
}

static void reads_what_numpy_wrote(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        enum og__npy_type type;
        int ndim;
        int64_t rows, columns;
    } cases[] = {
        {"float32_2d", OG__NPY_F32, 2, 3, 4}, {"float16", OG__NPY_F16, 1, 2, 1},
        {"float64", OG__NPY_F64, 1, 2, 1},    {"bool", OG__NPY_BOOL, 1, 3, 1},
        {"version2", OG__NPY_I64, 1, 3, 1},   {"version3", OG__NPY_I64, 1, 3, 1},
        {"no_rows", OG__NPY_F32, 2, 0, 3},
    };
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        struct og_err err = {0};
        struct og_npy a;
        assert_int_equal(open_golden(&a, cases[i].file, &err), 0);
        assert_int_equal(a.type, cases[i].type);
        assert_int_equal(a.ndim, cases[i].ndim);
        assert_int_equal(a.shape[0], cases[i].rows);
        assert_int_equal(a.shape[1], cases[i].columns);
        og__npy_close(&a);
    }
    struct og_npy a;
    float row[4];
    assert_int_equal(open_golden(&a, "float32_2d", NULL), 0);
    assert_int_equal(og__npy_read(&a, 2, 1, row, NULL), 0);
    assert_true(row[0] == 2.0f && row[3] == 2.75f);
    assert_int_equal(og__npy_read(&a, 3, 1, row, NULL), -EINVAL);
    assert_int_equal(og__npy_read(&a, 2, 2, row, NULL), -EINVAL);
    assert_int_equal(og__npy_read(&a, 4, 0, row, NULL), -EINVAL);
    assert_int_equal(og__npy_read(&a, -1, 1, row, NULL), -EINVAL);
    assert_int_equal(og__npy_read(&a, 2, -1, row, NULL), -EINVAL);
    assert_int_equal(og__npy_read(&a, 3, 0, row, NULL), 0);
    og__npy_close(&a);
}

/* numpy.arange(12).reshape(3, 4), column by column: the rows of its transpose. */
static void reads_either_order_where_asked(void **state)
{
    (void)state;
    char path[512];
    struct og_npy a;
    float row[3];
    struct og_npy_order order;
    golden_path(path, "refuse_fortran");
    assert_int_equal(og__npy_open_any(&a, path, &order, NULL), 0);
    assert_true(order.columns && a.ndim == 2 && a.shape[0] == 4 && a.shape[1] == 3);
    assert_int_equal(og__npy_read(&a, 1, 1, row, NULL), 0);
    assert_true(row[0] == 1 && row[1] == 5 && row[2] == 9);
    og__npy_close(&a);
    golden_path(path, "float32_2d");
    assert_int_equal(og__npy_open_any(&a, path, &order, NULL), 0);
    assert_true(!order.columns && a.shape[0] == 3 && a.shape[1] == 4);
    og__npy_close(&a);
    golden_path(path, "refuse_3d");
    assert_int_equal(og__npy_open_any(&a, path, &order, NULL), -EINVAL);
}

static void widens_every_integer(void **state)
{
    (void)state;
    static const char *const names[] = {"int8",  "int16",  "int32",  "int64",
                                        "uint8", "uint16", "uint32", "uint64"};
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        struct og_npy a;
        int64_t v[4];
        assert_int_equal(open_golden(&a, names[i], NULL), 0);
        assert_string_equal(og__npy_name(a.type), names[i]);
        assert_int_equal(og__npy_find_type(names[i]), a.type);
        assert_int_equal(og__npy_read_int64(&a, 1, 4, v, NULL), 0);
        assert_true(v[0] == 1 && v[1] == 100 && v[2] == 7 && v[3] == 127);
        og__npy_close(&a);
    }
    struct og_npy a;
    int64_t v[2];
    struct og_err err = {0};
    assert_int_equal(open_golden(&a, "float64", NULL), 0);
    assert_int_equal(og__npy_read_int64(&a, 0, 2, v, &err), -EINVAL);
    assert_non_null(strstr(err.message, "float64"));
    og__npy_close(&a);
}

static void refuses_what_we_cannot_use(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"refuse_fortran", "Fortran"}, {"refuse_big_endian", "big-endian"},
        {"refuse_3d", "3 dimensions"}, {"refuse_scalar", "0 dimensions"},
        {"refuse_struct", "records"},  {"refuse_complex", "c8"},
        {"refuse_text", "U2"},
    };
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        struct og_err err = {0};
        struct og_npy a;
        assert_int_equal(open_golden(&a, cases[i][0], &err), -EINVAL);
        assert_int_equal(a.fd, -1);
        assert_non_null(strstr(err.message, cases[i][1]));
        assert_non_null(strstr(err.message, cases[i][0])); /* names the file */
        assert_true(err.hint[0] != 0);
    }
    struct og_npy a;
    struct og_err err = {0};
    assert_int_equal(open_golden(&a, "there_is_none", &err), -ENOENT);
    assert_int_equal(og__npy_open(&a, TEST_NPY, NULL), -EINVAL); /* a folder */
}

/* A version 1 file with this dictionary and `data` bytes after it. */
static int parse(const char *dict, uint64_t data, struct og_npy *a, struct og_err *err)
{
    char head[1024] = "\x93NUMPY\x01";
    size_t n = strlen(dict);
    head[8] = (char)(n & 0xff);
    head[9] = (char)(n >> 8);
    memcpy(head + 10, dict, n);
    *a = (struct og_npy){.fd = -1};
    return og__npy_parse(a, head, 10 + n, 10 + n + data, "x", err);
}

static void refuses_headers_that_lie(void **state)
{
    (void)state;
    static const struct {
        const char *dict;
        uint64_t data;
        int rc;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 12, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n", 11, -EINVAL},
        {"{\"shape\":(3,2),\"descr\":\"|u1\",\"fortran_order\":False}", 6, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 1L)}", 12, 0},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (3,)}", 12, 0}, /* same thing in 1-D */
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", 99, -EINVAL},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 2)}", 9, -EINVAL},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9223372036854775807)}", 9, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 9, -EINVAL},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", 12, -EINVAL},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}", 99, -EINVAL},
        {"{'descr': '<f4', 'fortran_order': False}", 99, -EINVAL},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 99, -EINVAL},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", 99, -EINVAL},
        {"{'descr': '<f4", 99, -EINVAL},
        {"{'descr': '', 'fortran_order': False, 'shape': (3,)}", 99, -EINVAL},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x", 99, -EINVAL},
        {"", 0, -EINVAL},
    };
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        struct og_npy a;
        struct og_err err = {0};
        int rc = parse(cases[i].dict, cases[i].data, &a, &err);
        if (rc != cases[i].rc)
            fail_msg("case %zu: %d, %s", i, rc, err.message);
    }
}

static void refuses_every_truncation(void **state)
{
    (void)state;
    char head[4096];
    const int64_t shape[2] = {3, 4};
    size_t n = og__npy_header(head, OG__NPY_F32, 2, shape, 192);
    for (size_t len = 0; len < n; len++) {
        char *copy = malloc(len + 1); /* exact, so that asan sees a read too far */
        memcpy(copy, head, len);
        struct og_npy a;
        assert_int_equal(og__npy_parse(&a, copy, len, len, "x", NULL), -EINVAL);
        free(copy);
    }
    /* version 2 claims a header of 4 GiB */
    unsigned char huge[16] = "\x93NUMPY\x02";
    memset(huge + 8, 0xff, 4);
    struct og_npy a;
    assert_int_equal(og__npy_parse(&a, huge, sizeof(huge), UINT64_MAX, "x", NULL), -EINVAL);
}

static void our_headers_come_back(void **state)
{
    (void)state;
    const int64_t shape[2] = {(int64_t)1 << 40, 100};
    for (int type = OG__NPY_F16; type <= OG__NPY_BOOL; type++) {
        for (int ndim = 1; ndim <= 2; ndim++) {
            char head[4096];
            struct og_npy a = {.fd = -1};
            size_t n = og__npy_header(head, (enum og__npy_type)type, ndim, shape, 4096);
            assert_int_equal(n, 4096);
            assert_int_equal(og__npy_parse(&a, head, n, UINT64_MAX / 2, "x", NULL), 0);
            assert_int_equal(a.type, type);
            assert_int_equal(a.ndim, ndim);
            assert_int_equal(a.offset, 4096);
            assert_true(a.shape[0] == shape[0] && a.shape[1] == (ndim == 2 ? 100 : 1));
        }
    }
}

/* A version 2 file with a header of `header` bytes, and `rows` rows of one byte after it. */
static void write_file(const char *path, size_t header, int rows)
{
    FILE *f = fopen(path, "wb");
    char *text = malloc(header);
    assert_non_null(f);
    assert_non_null(text);
    memset(text, ' ', header);
    memcpy(text, "\x93NUMPY\x02\x00", 8);
    const uint32_t size = (uint32_t)header - 12;
    memcpy(text + 8, &size, sizeof(size));
    const int n =
        snprintf(text + 12, size, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d,)}", rows);
    text[12 + n] = ' ';
    assert_int_equal(fwrite(text, 1, header, f), header);
    for (int i = 0; i < rows; i++)
        fputc(i & 0xff, f);
    assert_int_equal(fclose(f), 0);
    free(text);
}

/* Opening reads a page at most, or the header alone where that has more than a page. */
static void opening_reads_the_header_alone(void **state)
{
    (void)state;
    enum { ROWS = 100000 };
    static const size_t headers[] = {128, 4095, 4096, 4097, 10000, 64 * 1024};
    char path[TEST_PATH + 16];
    snprintf(path, sizeof(path), "%s/rows.npy", folder);
    for (size_t i = 0; i < OG_COUNT(headers); i++) {
        uint64_t reads, before, after;
        uint8_t last = 0;
        struct og_npy a;
        write_file(path, headers[i], ROWS);
        og__reads_made(&reads, &before);
        assert_int_equal(og__npy_open(&a, path, NULL), 0);
        og__reads_made(&reads, &after);
        assert_true(a.shape[0] == ROWS && a.offset == (int64_t)headers[i]);
        assert_int_equal(after - before, OG_MAX(headers[i], (size_t)4096));
        assert_int_equal(og__npy_read(&a, ROWS - 1, 1, &last, NULL), 0);
        assert_int_equal(last, (ROWS - 1) & 0xff);
        og__npy_close(&a);
    }
    write_file(path, 64 * 1024 + 1, ROWS);
    struct og_npy a;
    assert_int_equal(og__npy_open(&a, path, NULL), -EINVAL);
}

static void dtypes_have_names(void **state)
{
    (void)state;
    for (enum og_dtype d = OG_F32; d <= OG_U8; d++) {
        assert_int_equal(og__dtype_find(og__dtype_name(d)), d);
        assert_int_equal(og__dtype_size(d), og__npy_size(og__dtype_stored(d)));
    }
    assert_int_equal(og__dtype_find("f64"), -1);
}

/* Bytes that the file had whenever fsync was called. */
static off_t synced[4];
static size_t n_synced;

static void note_sync(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(n_synced < OG_COUNT(synced));
    synced[n_synced++] = st.st_size;
}

static void a_finished_array_outlives_the_machine(void **state)
{
    (void)state;
    const int64_t values[3] = {1, 2, 3};
    char path[TEST_PATH + 16];
    struct og_npy_writer *w = NULL;
    snprintf(path, sizeof(path), "%s/synced.npy", folder);
    on_sync = note_sync;
    assert_int_equal(og__npy_create(&w, path, OG__NPY_I64, 1, 1, NULL), 0);
    assert_int_equal(og__npy_append(w, values, 2, NULL), 0);
    assert_int_equal(og__npy_sync(w, NULL), 0);
    assert_int_equal(og__npy_append(w, values + 2, 1, NULL), 0);
    assert_int_equal(og__npy_finish(w, NULL, NULL), 0);
    on_sync = NULL;
    assert_int_equal(n_synced, 2);
    assert_int_equal(synced[0], OG__NPY_HEADER + 16);
    assert_int_equal(synced[1], OG__NPY_HEADER + 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_numpy_wrote),
        cmocka_unit_test(widens_every_integer),
        cmocka_unit_test(reads_either_order_where_asked),
        cmocka_unit_test(refuses_what_we_cannot_use),
        cmocka_unit_test(refuses_headers_that_lie),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(our_headers_come_back),
        cmocka_unit_test(opening_reads_the_header_alone),
        cmocka_unit_test(dtypes_have_names),
        cmocka_unit_test(a_finished_array_outlives_the_machine),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
