/* Topology on disk: a neighbour cache is kept and never trusted; what fails is one error. */
#include "sample/topology_fixture.h"

/* ---- what was saved ---- */

static struct stat stat_of(const char *dir, const char *file)
{
    char path[800];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    if (stat(path, &st) < 0)
        memset(&st, 0, sizeof(st));
    return st;
}

static void a_saved_cache_is_used(void **state)
{
    (void)state;
    struct graph g = make_graph(2600, 900);
    write_graph("kept", &g, OURS);
    struct og_graph *ds = open_dataset("kept");
    const char *dir = path_in("kept-cache");
    size_t capacity = whole_bytes(ds) / 3;
    struct heard heard = {0};
    struct og_budget *b = og__budget_new(0);
    struct og_topology t = open_disk(ds, b, capacity, dir, &heard);
    assert_int_equal(heard.lines, 1);
    assert_non_null(strstr(heard.last, "building"));
    struct stat before = stat_of(dir, "ids.npy");
    size_t held = og__budget_used(b);
    struct og_topology memory;
    const int fanout[2] = {10, 10};
    assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &memory, NULL), 0);
    /* given back, and fetched again */
    og__neighbors_unload(&t);
    assert_int_equal(og__budget_used(b), og__topology_disk_bytes(ds));
    compare(ds, &memory, &t, fanout, 2, 2);
    assert_int_equal(og__neighbors_load(&t, NULL), 0);
    assert_int_equal(og__budget_used(b), held);
    compare(ds, &memory, &t, fanout, 2, 2);
    /* with the offsets */
    og__stored_unload(&t);
    assert_false(og__stored_is_loaded(&t));
    assert_int_equal(og__budget_used(b),
                     og__topology_disk_bytes(ds) - og__topology_offsets_bytes(ds));
    assert_int_equal(og__stored_load(&t, NULL), 0);
    assert_true(og__stored_is_loaded(&t));
    assert_int_equal(og__budget_used(b), held);
    compare(ds, &memory, &t, fanout, 2, 2);
    og__topology_release(&t);
    /* by the next program: no more memory than it takes, so nothing can have been built */
    struct og_budget *tight = og__budget_new(og__topology_disk_bytes(ds) + 4 * OG_MIB);
    t = open_disk(ds, tight, capacity, dir, &heard);
    assert_int_equal(heard.lines, 1);
    assert_int_equal(og__budget_used(tight), held);
    compare(ds, &memory, &t, fanout, 2, 2);
    /* without memory for them nothing is there, and the next time all */
    og__stored_unload(&t);
    const size_t taken = og__budget_left(tight) - OG_MIB;
    assert_int_equal(og__budget_charge(tight, taken, "test", NULL), 0);
    assert_int_equal(og__stored_load(&t, NULL), -ENOMEM);
    assert_false(og__stored_is_loaded(&t));
    og__budget_uncharge(tight, taken, "test");
    assert_int_equal(og__stored_load(&t, NULL), 0);
    compare(ds, &memory, &t, fanout, 2, 2);
    og__topology_release(&t);
    og__budget_free(tight);
    struct stat after = stat_of(dir, "ids.npy");
    assert_true(before.st_ino == after.st_ino && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    /* a folder that cannot be is said, and no error */
    t = open_disk(ds, b, capacity, "/proc/none", &heard);
    assert_non_null(strstr(heard.last, "again next time"));
    compare(ds, &memory, &t, fanout, 2, 1);
    og__topology_release(&t);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    og__topology_release(&memory);
    og__graph_close(ds);
    free_graph(&g);
}

/* Caches of all relations are one, and files that were written to since are noticed. */
static void so_is_that_of_relations(void **state)
{
    static const int first[3] = {10, 10, 10};
    (void)state;
    struct graph lists[RELATIONS];
    struct heard heard = {0};
    struct og_topology memory;
    int fanout[RELATIONS * 3];
    make_typed(lists);
    write_typed("kept-typed", lists, OURS);
    struct og_graph *ds = open_dataset("kept-typed");
    const char *dir = path_in("kept-typed-cache");
    const size_t capacity = whole_bytes(ds) / 3;
    assert_int_equal(og__topology_load(ds, OG__WEIGHT_TABLES, NULL, &memory, NULL), 0);
    typed_fanouts(first, fanout);
    for (int i = 0; i < 3; i++) { /* built, loaded, and built for new files */
        struct og_budget *b = og__budget_new(0);
        const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = 77}};
        if (i == 2) {
            assert_int_equal(futimens(ds->relation[1].indices.fd, times), 0);
            og__graph_close(ds);
            ds = open_dataset("kept-typed");
        }
        struct og_topology t = open_disk(ds, b, capacity, dir, &heard);
        assert_int_equal(heard.lines, i == 2 ? 2 : 1);
        assert_true(og__budget_used(b) <= og__topology_disk_bytes(ds) + capacity);
        const size_t held = og__budget_used(b);
        og__stored_unload(&t);
        assert_true(og__budget_used(b) <=
                    og__topology_disk_bytes(ds) - og__topology_offsets_bytes(ds));
        assert_int_equal(og__stored_load(&t, NULL), 0);
        assert_int_equal(og__budget_used(b), held);
        for (size_t w = 0; w < 2 * OG_COUNT(ways); w++) {
            struct og_sampling how = ways[w / 2];
            how.weights = w % 2 && how.kind != OG_SAMPLER_WALK;
            compare_as(ds, &memory, &t, &how, fanout, 3, 2);
        }
        og__topology_release(&t);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
    assert_non_null(strstr(heard.last, "other files"));
    og__topology_release(&memory);
    og__graph_close(ds);
    free_typed(lists);
}

/* Replace `from` in the note by `to` of the same length or other. */
static void edit_note(const char *dir, const char *key, const char *value)
{
    char path[800];
    char *text;
    char out[2000];
    size_t len;
    snprintf(path, sizeof(path), "%s/neighbors.json", dir);
    assert_int_equal(og__read_text(path, 4000, &text, &len, NULL), 0);
    char *at = strstr(text, key);
    assert_non_null(at);
    at += strlen(key) + 3; /* ": */
    char *end = at + strcspn(at, ",\n}");
    snprintf(out, sizeof(out), "%.*s%s%s", (int)(at - text), text, value, end);
    free(text);
    assert_int_equal(og__write_text(path, out, strlen(out), NULL), 0);
}

static void poke(const char *dir, const char *file, int64_t at, const void *data, size_t bytes)
{
    char path[800];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(pwrite(fd, data, bytes, at < 0 ? st.st_size + at : at), bytes);
    close(fd);
}

static void cut(const char *dir, const char *file, int64_t by)
{
    char path[800];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    struct stat st = stat_of(dir, file);
    assert_int_equal(truncate(path, by < 0 ? 0 : st.st_size - by), 0);
}

/* A checksum in the note that matches what is now in the file. */
static void forge(const char *dir, const char *file, const char *key)
{
    char path[800];
    char hex[32];
    char *data;
    size_t len;
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    assert_int_equal(og__read_text(path, 1 << 24, &data, &len, NULL), 0);
    snprintf(hex, sizeof(hex), "\"%016llx\"",
             (unsigned long long)XXH3_64bits(data + 4096, len - 4096));
    free(data);
    edit_note(dir, key, hex);
}

static const uint32_t beyond = 2600; /* no node of the graph */
static const float negative = -1;    /* no weight */
static const uint64_t all_bits = UINT64_MAX;
static const char note_file[] = "neighbors.json";
static const char nodes_file[] = "nodes.npy";
static const char ids_file[] = "ids.npy";
static const char weights_file[] = "weights.npy";

/* What is done to what was saved, in this order; `forge` makes the checksums right again. */
static const struct damage {
    const char *key, *value; /* in the note */
    const char *file;
    int64_t cut; /* bytes off its end; -1: all of it */
    const void *bytes;
    size_t n;
    int64_t at; /* from the end when negative */
    const char *forge, *copy;
} damages[] = {
    {.file = note_file, .cut = -1},
    {.file = note_file, .cut = 5},
    {.file = note_file, .bytes = "\xff\xfe", .n = 2, .at = 20},
    {.key = "format", .value = "2"},
    {.key = "structure", .value = "\"0123456789abcdef\""},
    {.key = "structure", .value = "\"0123\""},
    {.key = "capacity", .value = "77"},
    {.key = "num_nodes", .value = "2599"},
    {.key = "num_edges", .value = "1"},
    {.key = "lists", .value = "-3"},
    {.key = "lists", .value = "9223372036854775807"},
    {.key = "ids", .value = "12"},
    {.key = "ids_checksum", .value = "\"0123456789abcdef\""},
    {.key = "nodes_checksum", .value = "7"},
    {.key = "weights_checksum", .value = "\"0123456789abcdef\""},
    {.file = nodes_file, .cut = 1},
    {.file = nodes_file, .cut = -1},
    {.file = ids_file, .cut = 4},
    {.file = weights_file, .cut = 4},
    {.file = weights_file, .bytes = "\x01", .n = 1, .at = 4096 + 40},
    {.file = weights_file, .bytes = &negative, .n = 4, .at = -4, .forge = "weights_checksum"},
    {.file = ids_file, .bytes = "\x01", .n = 1, .at = 4096 + 40},
    {.file = nodes_file, .bytes = &all_bits, .n = 8, .at = 4096 + 8},
    {.file = nodes_file, .bytes = &all_bits, .n = 8, .at = -8, .forge = "nodes_checksum"},
    {.file = ids_file, .bytes = &beyond, .n = 4, .at = -4, .forge = "ids_checksum"},
    {.file = ids_file, .bytes = "\x92", .n = 1, .at = 0}, /* no .npy */
    {.file = ids_file, .bytes = "<i4", .n = 3, .at = 21}, /* the type */
    {.copy = ids_file},                                   /* of another capacity */
    {.copy = nodes_file},
    {.copy = weights_file},
    {.copy = note_file},
};

static void damage(const char *dir, const char *other, const struct damage *d)
{
    char command[1400];
    if (d->key)
        edit_note(dir, d->key, d->value);
    if (d->cut)
        cut(dir, d->file, d->cut);
    if (d->n)
        poke(dir, d->file, d->at, d->bytes, d->n);
    if (d->forge)
        forge(dir, d->file, d->forge);
    if (d->copy) {
        snprintf(command, sizeof(command), "cp '%s/%s' '%s/'", other, d->copy, dir);
        assert_int_equal(system(command), 0);
    }
}

static void a_damaged_cache_is_built_anew(void **state)
{
    (void)state;
    struct graph g = make_graph(2600, 900);
    write_graph("hurt", &g, OURS);
    struct og_graph *ds = open_dataset("hurt");
    struct og_topology memory;
    const int fanout[2] = {10, 10};
    const char dir[] = "hurt-cache";
    char path[400];
    char other[400];
    struct heard heard = {0};
    snprintf(path, sizeof(path), "%s/%s", folder, dir);
    snprintf(other, sizeof(other), "%s/%s-other", folder, dir);
    assert_int_equal(og__topology_load(ds, OG__NO_WEIGHTS, NULL, &memory, NULL), 0);
    size_t capacity = whole_bytes(ds) / 3;
    struct og_topology t = open_disk(ds, NULL, capacity / 2, other, NULL);
    og__topology_release(&t);
    t = open_disk(ds, NULL, capacity, path, NULL);
    uint64_t n_ids = t.disk->cache.n_ids;
    uint32_t *ids = malloc(n_ids * 4);
    memcpy(ids, t.disk->cache.ids, n_ids * 4);
    og__topology_release(&t);
    for (int way = 0; way < (int)OG_COUNT(damages); way++) {
        struct og_budget *b = og__budget_new(0);
        damage(path, other, &damages[way]);
        heard = (struct heard){0};
        t = open_disk(ds, b, capacity, path, &heard);
        if (heard.lines != 1 || !strstr(heard.last, "building"))
            fail_msg("way %d: %d lines, the last \"%s\"", way, heard.lines, heard.last);
        assert_int_equal(t.disk->cache.n_ids, n_ids);
        assert_memory_equal(t.disk->cache.ids, ids, n_ids * 4);
        compare(ds, &memory, &t, fanout, 2, 1);
        og__topology_release(&t);
        t = open_disk(ds, b, capacity, path, &heard); /* healed */
        assert_int_equal(heard.lines, 1);
        og__topology_release(&t);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
    free(ids);
    og__topology_release(&memory);
    og__graph_close(ds);
    free_graph(&g);
}

/* Killed at any moment of building and saving: what is there afterwards is right or built again. */
static void a_killed_build_leaves_no_lie(void **state)
{
    (void)state;
    struct graph g = make_graph(2600, 900);
    write_graph("killed", &g, OURS);
    struct og_graph *ds = open_dataset("killed");
    const char *dir = path_in("killed-cache");
    size_t capacity = whole_bytes(ds) / 3;
    struct og_topology right = open_disk(ds, NULL, capacity, NULL, NULL);
    for (int i = 0; i < 12; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) { /* other capacities in turn, so that files of several lie about */
            for (size_t k = 1;; k++) {
                struct og_topology t = open_disk(ds, NULL, capacity / (1 + k % 3), dir, NULL);
                og__topology_release(&t);
            }
        }
        usleep(3000 + (useconds_t)test_scramble((uint32_t)i) % 20000);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        struct og_topology t = open_disk(ds, NULL, capacity, dir, NULL);
        assert_int_equal(t.disk->cache.n_ids, right.disk->cache.n_ids);
        assert_memory_equal(t.disk->cache.ids, right.disk->cache.ids, right.disk->cache.n_ids * 4);
        og__topology_release(&t);
    }
    og__topology_release(&right);
    og__graph_close(ds);
    free_graph(&g);
}

/* ---- failing ---- */

static void a_failed_read_is_one_error(void **state)
{
    (void)state;
    struct graph g = make_graph(60000, 900);
    for (int way = 0; way < 2; way++) {
        write_graph("short", &g, OURS);
        struct og_graph *ds = open_dataset("short");
        struct og_budget *b = og__budget_new(0);
        struct og_topology t = open_disk(ds, b, 0, NULL, NULL);
        struct og_sampler *s;
        struct og_batch_memory m;
        const int fanout[3] = {10, 10, 10};
        uint32_t seeds[SEEDS];
        struct og_err err = {0};
        pick_seeds(g.n, 0, seeds);
        og__batch_init(&m, b);
        assert_int_equal(og__sampler_open(&s, &t, fanout, 3, 1, b, &err), 0);
        assert_int_equal(
            og__sample(s, seeds, SEEDS,
                       &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = 0, .batch = 0},
                       &m, &err),
            0);
        if (way == 0)
            assert_int_equal(truncate(ds->relation->indices.path, 100000), 0);
        for (int64_t e = 50000; way == 1 && e < g.indptr[g.n]; e++)
            g.indices[e] = 60000;
        if (way == 1)
            poke(ds->path, "indices.npy", 4096 + 200000, g.indices + 50000,
                 (size_t)(g.indptr[g.n] - 50000) * 4);
        for (int again = 0; again < 3; again++) { /* and once more, with no harm */
            struct og_err why = {0};
            int rc = og__sample(
                s, seeds, SEEDS,
                &(struct og_sample_key){.stream = OG__STREAM_SAMPLE, .epoch = 0, .batch = 0}, &m,
                &why);
            assert_int_equal(rc, way ? -EINVAL : -EIO);
            assert_non_null(strstr(why.message, "indices.npy"));
            assert_true(why.hint[0]);
        }
        og__sampler_close(s);
        og__batch_release(&m);
        struct og_err why = {0};
        uint32_t *count = malloc((size_t)g.n * 4);
        assert_true(og__topology_out_degrees(&t, count, &why) < 0 && why.message[0]);
        free(count);
        og__topology_release(&t);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
        og__graph_close(ds);
    }
    free_graph(&g);
}

static void what_cannot_be_held_is_refused(void **state)
{
    (void)state;
    struct graph g = make_graph(2600, 900);
    write_graph("refused", &g, OURS);
    struct og_graph *ds = open_dataset("refused");
    size_t capacity = whole_bytes(ds);
    size_t all = og__topology_disk_bytes(ds) + capacity + og__neighbors_build_bytes(ds);
    for (size_t limit = 1; limit < all; limit += all / 50) {
        struct og_budget *b = og__budget_new(limit);
        struct og_err err = {0};
        struct og_topology t;
        struct og_topology_disk_options opt = {.cache_bytes = capacity, .weights = has_weights(ds)};
        int rc = og__topology_open_disk(ds, &opt, b, &t, &err);
        assert_true(rc == 0 || (rc == -ENOMEM && err.message[0]));
        og__topology_release(&t);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
    }
    og__graph_close(ds);
    g.indptr[5] = g.indptr[6] + 1; /* falls after it */
    write_graph("refused", &g, OURS);
    ds = open_dataset("refused");
    struct og_err err = {0};
    struct og_topology t;
    struct og_topology_disk_options opt = {0};
    assert_int_equal(og__topology_open_disk(ds, &opt, NULL, &t, &err), -EINVAL);
    assert_non_null(strstr(err.message, "entry 6"));
    og__graph_close(ds);
    free_graph(&g);
    /* two numbers too far apart for one base */
    struct og_offsets o;
    assert_int_equal(og__offsets_init(&o, 3000, NULL, "topology", NULL), 0);
    assert_true(og__offsets_put(&o, 1024, (int64_t)1 << 40));
    assert_true(og__offsets_put(&o, 1025, ((int64_t)1 << 40) + UINT32_MAX));
    assert_int_equal(og__offset(&o, 1025), ((int64_t)1 << 40) + UINT32_MAX);
    assert_false(og__offsets_put(&o, 1026, ((int64_t)1 << 40) + UINT32_MAX + 1));
    og__offsets_release(&o, NULL, "topology");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_saved_cache_is_used),
        cmocka_unit_test(so_is_that_of_relations),
        cmocka_unit_test(a_damaged_cache_is_built_anew),
        cmocka_unit_test(a_killed_build_leaves_no_lie),
        cmocka_unit_test(a_failed_read_is_one_error),
        cmocka_unit_test(what_cannot_be_held_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
