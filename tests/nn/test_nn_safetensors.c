/* safetensors: round trips, and files whose contents are false. Another program wrote
 * tests/nn/golden/nn_*.safetensors (json and struct of Python); test_nn_golden.c reads them. */
#include "support/testing.h"

#include "base/file.h"
#include "nn/nn.h"
#include "support/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[128];

static int make_folder(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof(folder), "%.80s/nn-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    static const float weight[6] = {1, 2, 3, 4, 5, 6.5f}, bias[3] = {-1, 0, 1};
    static const int64_t step[1] = {1234567890123};
    static const double sums[2] = {0.1, 1e300};
    struct og_tensor tensor[] = {
        {"convs.0.weight", OG_TENSOR_F32, 2, {2, 3}, weight, sizeof(weight), 0, NULL, NULL, NULL},
        {"step", OG_TENSOR_I64, 0, {0}, step, sizeof(step), 0, NULL, NULL, NULL},
        {"convs.0.bias", OG_TENSOR_F32, 1, {3}, bias, sizeof(bias), 0, NULL, NULL, NULL},
        {"sums", OG_TENSOR_F64, 1, {2}, sums, sizeof(sums), 0, NULL, NULL, NULL},
        {"empty", OG_TENSOR_F32, 1, {0}, NULL, 0, 0, NULL, NULL, NULL},
    };
    struct og_metadata metadata[] = {{(char *)"model", (char *)"{\"a\": \"\xc3\xa9\"}"}};
    struct og_tensors t = {.tensor = tensor, .n = 5, .metadata = metadata, .n_metadata = 1};
    struct og_tensors_file back;
    char path[160], again[160];
    struct og_err err = {0};
    snprintf(path, sizeof(path), "%s/a.safetensors", folder);
    snprintf(again, sizeof(again), "%s/b.safetensors", folder);
    assert_int_equal(og__tensors_write(path, &t, &err), 0);
    assert_int_equal(og__tensors_write(again, &t, &err), 0);
    assert_int_equal(og__tensors_open(&back, path, &err), 0);
    assert_int_equal(back.all.n, 5);
    for (size_t i = 0; i < 5; i++) {
        const struct og_tensor *got = og__tensors_find(&back.all, tensor[i].name);
        assert_non_null(got);
        assert_int_equal(got->dtype, tensor[i].dtype);
        assert_int_equal(got->ndim, tensor[i].ndim);
        assert_memory_equal(got->shape, tensor[i].shape, sizeof(got->shape));
        assert_int_equal(got->bytes, tensor[i].bytes);
        char data[64];
        assert_true(got->bytes <= sizeof(data));
        assert_int_equal(og__tensors_load(&back, got, 0, got->bytes, data, &err), 0);
        if (got->bytes)
            assert_memory_equal(data, tensor[i].data, got->bytes);
    }
    assert_null(og__tensors_find(&back.all, "nothing"));
    assert_string_equal(back.all.metadata[0].value, metadata[0].value);
    og__tensors_close(&back);

    /* the layout by hand: length, header padded to 8, 8-byte elements first, no holes */
    size_t len, len2;
    char *bytes = test_read(path, &len), *bytes2 = test_read(again, &len2);
    uint64_t header;
    memcpy(&header, bytes, 8);
    assert_int_equal(header % 8, 0);
    assert_int_equal(len, 8 + header + 8 + 16 + 24 + 12);
    assert_memory_equal(bytes + 8 + header, step, 8);
    assert_memory_equal(bytes + 8 + header + 8, sums, 16);
    assert_memory_equal(bytes + 8 + header + 24, weight, 24);
    assert_memory_equal(bytes + 8 + header + 48, bias, 12);
    assert_int_equal(len, len2);
    assert_memory_equal(bytes, bytes2, len);
    free(bytes);
    free(bytes2);
    unlink(path);
    unlink(again);
}

static void any_damage_is_noticed(void **state)
{
    (void)state;
    static const float values[] = {1, 2, 3};
    struct og_tensor tensor = {"w", OG_TENSOR_F32, 1,    {3}, values, sizeof(values),
                               0,   NULL,          NULL, NULL};
    struct og_metadata metadata = {(char *)"state", (char *)"17"};
    struct og_tensors t = {.tensor = &tensor, .n = 1, .metadata = &metadata, .n_metadata = 1}, back;
    char path[160];
    size_t len;
    snprintf(path, sizeof(path), "%s/c.safetensors", folder);
    assert_int_equal(og__tensors_write(path, &t, NULL), 0);
    char *bytes = test_read(path, &len);
    for (size_t i = 0; i < len * 8; i++) {
        struct og_err err = {0};
        bytes[i / 8] ^= (char)(1 << i % 8);
        /* where the checksum's own name is hit there is none to hold against */
        const char *key = memmem(bytes, len, "\"xxh3\":\"", 8);
        const int parsed = og__tensors_parse(bytes, len, path, &back, &err);
        struct og_tensors_file f;
        assert_int_equal(og__write_text(path, bytes, len, NULL), 0);
        int opened = og__tensors_open(&f, path, NULL);
        if (opened == 0)
            opened = og__tensors_check(&f, NULL);
        og__tensors_close(&f);
        assert_int_equal(opened, parsed);
        if (parsed == 0) {
            if (key)
                fail_msg("bit %zu", i);
            og__tensors_release(&back);
        } else {
            assert_non_null(strstr(err.message, path));
        }
        bytes[i / 8] ^= (char)(1 << i % 8);
    }
    assert_int_equal(og__tensors_parse(bytes, len, path, &back, NULL), 0);
    assert_int_equal(back.n_metadata, 1); /* the checksum is the file's, not the user's */
    og__tensors_release(&back);
    free(bytes);
    unlink(path);
}

/* Bytes that this process has read. */
static long long bytes_read(void)
{
    char line[64];
    FILE *f = fopen("/proc/self/io", "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof(line), f));
    fclose(f);
    assert_memory_equal(line, "rchar: ", 7);
    return strtoll(line + 7, NULL, 10);
}

/* Metadata and shapes take the header alone, also of a file whose data is damaged. */
static void a_header_is_read_without_the_data(void **state)
{
    (void)state;
    enum { VALUES = 1 << 20 };
    float *values = calloc(VALUES, sizeof(*values));
    struct og_tensor tensor = {.name = "w",
                               .dtype = OG_TENSOR_F32,
                               .ndim = 1,
                               .shape = {VALUES},
                               .data = values,
                               .bytes = VALUES * sizeof(*values)};
    struct og_metadata metadata = {(char *)"state", (char *)"17"};
    struct og_tensors t = {.tensor = &tensor, .n = 1, .metadata = &metadata, .n_metadata = 1};
    struct og_tensors_file f;
    struct og_err err = {0};
    char path[160];
    snprintf(path, sizeof(path), "%s/e.safetensors", folder);
    assert_int_equal(og__tensors_write(path, &t, NULL), 0);
    for (int damaged = 0; damaged < 2; damaged++) {
        const long long before = bytes_read();
        assert_int_equal(og__tensors_open(&f, path, &err), 0);
        assert_true(bytes_read() - before < 64 * 1024);
        assert_string_equal(og__tensors_said(&f.all, "state"), "17");
        assert_int_equal(og__tensors_check(&f, &err), damaged ? -EINVAL : 0);
        assert_true(bytes_read() - before > VALUES * (long long)sizeof(*values));
        og__tensors_close(&f);
        FILE *out = fopen(path, "r+b"); /* at once, and with as many bytes */
        assert_non_null(out);
        assert_int_equal(fseek(out, -1, SEEK_END), 0);
        assert_int_equal(fputc(1, out), 1);
        fclose(out);
    }
    assert_non_null(strstr(err.message, path));
    free(values);
    unlink(path);
}

static void refuse(const char *header, size_t data, const char *why)
{
    char bytes[1024] = {0};
    struct og_tensors t;
    struct og_err err = {0};
    uint64_t len = strlen(header);
    memcpy(bytes, &len, 8);
    memcpy(bytes + 8, header, len);
    if (og__tensors_parse(bytes, 8 + len + data, "x.safetensors", &t, &err) != -EINVAL)
        fail_msg("taken: %s", header);
    if (!strstr(err.message, why) || !strstr(err.message, "x.safetensors") || !err.hint[0])
        fail_msg("%s: '%s' does not say '%s'", header, err.message, why);
    assert_null(t.tensor);
}

static void files_that_lie_are_refused(void **state)
{
    (void)state;
    struct og_tensors t;
    struct og_err err = {0};
    assert_int_equal(og__tensors_parse("1234", 4, "x", &t, &err), -EINVAL);
    const unsigned char huge[16] = {255, 255, 255, 255, 255, 255, 255, 255};
    assert_int_equal(og__tensors_parse(huge, 16, "x", &t, NULL), -EINVAL);
    refuse("", 0, "byte");
    refuse("[1]", 0, "object");
    refuse("{\"a\":", 0, "byte");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":1}", 4, "byte");
    refuse("{\"a\":1}", 0, "dtype");
    refuse("{\"a\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]}}", 2, "dtype");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "shape");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1],\"data_offsets\":[0,4]}}", 4, "shape");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,4]}}",
           4, "shape");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "pair");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "beyond");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4, "beyond");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}", 8, "fit");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8, "hole");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 8, "hole");
    refuse("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
           "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
           8, "overlap");
    refuse("{\"__metadata__\":[]}", 0, "__metadata__");
    refuse("{\"__metadata__\":{\"a\":1}}", 0, "not text");
}

/* Every prefix of a good file is refused, and none is read beyond its end (address sanitizer). */
static void every_truncation_is_refused(void **state)
{
    (void)state;
    size_t len;
    char *bytes = test_read(TEST_GOLDEN "/nn_gcn1.safetensors", &len);
    for (size_t n = 0; n < len; n += n < 4096 ? 7 : 997) {
        struct og_tensors t;
        char *copy = malloc(n + 1);
        memcpy(copy, bytes, n);
        assert_int_equal(og__tensors_parse(copy, n, "x", &t, NULL), -EINVAL);
        free(copy);
    }
    free(bytes);
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    struct og_tensors_file f;
    struct og_err err = {0};
    assert_int_equal(og__tensors_open(&f, "/nowhere/x.safetensors", &err), -ENOENT);
    assert_non_null(strstr(err.message, "/nowhere/x.safetensors"));
    err = (struct og_err){0};
    assert_int_equal(og__tensors_open(&f, "/", &err), -EINVAL);
    struct og_tensors none = {0};
    err = (struct og_err){0};
    assert_true(og__tensors_write("/nowhere/x.safetensors", &none, &err) < 0);
    assert_non_null(strstr(err.message, "/nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(any_damage_is_noticed),
        cmocka_unit_test(a_header_is_read_without_the_data),
        cmocka_unit_test(files_that_lie_are_refused),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(a_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
