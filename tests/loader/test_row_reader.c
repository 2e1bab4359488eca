/* og_row_reader: rows by number are those of the file, for any cache. */
#include "loader/loader_fixture.h"

#include <errno.h>
#include <jansson.h>

enum { EDGE_DIM = 7, MOST_IDS = 5000 };
static char path[128];

static int make_one_graph(void **state)
{
    char source[128];
    struct og_import how;
    struct og_err err = {0};
    assert_int_equal(make_folder(state), 0);
    snprintf(source, sizeof(source), "%s/source", folder);
    snprintf(path, sizeof(path), "%s/graph", folder);
    assert_int_equal(mkdir(source, 0700), 0);
    write_edges(source);
    write_nodes(source, OF_CLASSES);
    write_splits(source);
    float *rows = malloc((size_t)N_EDGES * EDGE_DIM * sizeof(*rows));
    for (uint32_t i = 0; i < N_EDGES * EDGE_DIM; i++)
        rows[i] = (float)(test_scramble(i + 3) % 1000);
    test_write_npy(source, "edge_attr.npy", OG__NPY_F32, 2, N_EDGES, EDGE_DIM, rows);
    free(rows);
    og__import_init(&how);
    how.memory = (struct og_amount){OG_BYTES, 64 << 20};
    if (og_import("npy", source, path, &how, NULL, &err) < 0)
        fail_msg("%s", err.message);
    return 0;
}

static json_int_t counted(const struct og_row_reader *r, const char *name)
{
    char *text = NULL;
    assert_int_equal(og_rows_about(r, &text, NULL), 0);
    json_t *root = json_loads(text, 0, NULL);
    const json_int_t n = json_integer_value(json_object_get(root, name));
    json_decref(root);
    free(text);
    return n;
}

/* Batches of any size, with rows that repeat in and between them. */
static void read_some(struct og_row_reader *r, const struct read_back *file, uint32_t seed)
{
    const size_t width = (size_t)file->width;
    int64_t *ids = malloc(MOST_IDS * sizeof(*ids));
    char *rows = malloc(MOST_IDS * width);
    assert_int_equal(og_rows_bytes(r), width);
    for (uint32_t batch = 0; batch < 12; batch++) {
        const uint32_t n = batch == 5 ? 0 : test_scramble(seed + batch) % MOST_IDS;
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t few = test_scramble(i) % 3 == 0 ? 100 : (uint32_t)OG_MAX(file->rows, 1);
            ids[i] = test_scramble(seed * 31 + batch * MOST_IDS + i) % few;
        }
        assert_int_equal(og_rows_read(r, ids, n, rows, NULL), 0);
        for (uint32_t i = 0; i < n; i++)
            assert_memory_equal(rows + i * width, (char *)file->data + (size_t)ids[i] * width,
                                width);
    }
    free(ids);
    free(rows);
}

static void rows_are_those_of_the_file(void **state)
{
    static const char *const policies[] = {"auto",  "s3fifo",  "lru", "clock",
                                           "sieve", "tinylfu", "rr",  "none"};
    static const char *const memory[] = {"4500K", "4700K", "64M"};
    const struct read_back of[] = {read_back(path, "features"), read_back(path, "edge_features")};
    (void)state;
    for (uint32_t at = 0; at < 2 * OG_COUNT(policies) * OG_COUNT(memory); at++) {
        struct og_options opt;
        struct og_row_reader *r;
        struct og_err err = {0};
        const char *policy = policies[at / 2 / OG_COUNT(memory)];
        set_up(&opt, (const char *[]){"policy", policy, "memory", memory[at / 2 % OG_COUNT(memory)],
                                      NULL});
        if (og_rows_open(&r, path, at % 2 ? OG_ROWS_OF_EDGES : OG_ROWS_OF_NODES, 0, &opt, &err) < 0)
            fail_msg("%s %s", policy, err.message);
        read_some(r, &of[at % 2], at);
        assert_int_equal(counted(r, "rows"), of[at % 2].rows);
        assert_int_equal(counted(r, "hits") + counted(r, "misses"), counted(r, "requested"));
        if (strcmp(policy, "none") == 0)
            assert_int_equal(counted(r, "hits") + counted(r, "cached_rows"), 0);
        else if (at / 2 % OG_COUNT(memory) == 2 && strcmp(policy, "rr") != 0) /* which has sets */
            assert_in_range(counted(r, "misses"), 1, of[at % 2].rows);
        og_rows_close(r);
        og__options_release(&opt);
    }
    free(of[0].data);
    free(of[1].data);
}

static void refuse(const char *dataset, enum og_rows_of of, uint32_t number,
                   const char *const *pairs, int rc, const char *words)
{
    struct og_options opt;
    struct og_row_reader *r = NULL;
    struct og_err err = {0};
    set_up(&opt, pairs);
    assert_int_equal(og_rows_open(&r, dataset, of, number, &opt, &err), rc);
    assert_null(r);
    if (!strstr(err.message, words))
        fail_msg("%s", err.message);
    og__options_release(&opt);
}

static void bad_input_is_refused(void **state)
{
    struct og_options opt;
    struct og_row_reader *r;
    struct og_err err = {0};
    char rows[2 * DIM * sizeof(float)];
    (void)state;
    refuse("nowhere", OG_ROWS_OF_NODES, 0, NULL, -ENOENT, "nowhere");
    refuse(path, OG_ROWS_OF_NODES, 1, NULL, -EINVAL, "no node type 1");
    refuse(path, OG_ROWS_OF_EDGES, 2, NULL, -EINVAL, "no relation 2");
    refuse(path, OG_ROWS_OF_NODES, 0, (const char *[]){"policy", "belady", NULL}, -EINVAL,
           "--policy belady");
    refuse(path, OG_ROWS_OF_NODES, 0, (const char *[]){"policy", "degree", NULL}, -EINVAL,
           "--policy degree");
    refuse(path, OG_ROWS_OF_NODES, 0, (const char *[]){"memory", "1M", NULL}, -ENOMEM, "--memory");
    set_up(&opt, NULL);
    assert_int_equal(og_rows_open(&r, path, OG_ROWS_OF_NODES, 0, &opt, &err), 0);
    assert_int_equal(og_rows_read(r, (const int64_t[]){4, N_NODES}, 2, rows, &err), -EINVAL);
    assert_int_equal(og_rows_read(r, (const int64_t[]){-1, 4}, 2, rows, &err), -EINVAL);
    assert_int_equal(counted(r, "requested"), 0);
    assert_int_equal(og_rows_read(r, (const int64_t[]){4, 4}, 2, rows, &err), 0);
    assert_memory_equal(rows, rows + sizeof(rows) / 2, sizeof(rows) / 2);
    og_rows_close(r);
    og_rows_close(NULL);
    og__options_release(&opt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_file),
        cmocka_unit_test(bad_input_is_refused),
    };
    return cmocka_run_group_tests(tests, make_one_graph, remove_folder);
}
