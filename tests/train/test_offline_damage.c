/* Samples and packs that were damaged: what finds it, and what a run does. */
#include "train/offline_fixture.h"

/* ---- packs ---- */

static void damaged_packs_are_done_without(void **state)
{
    (void)state;
    static pairs_t none = {NULL};
    static pairs_t use = {"samples", "p", "preset", "diskgnn", "cache", "10%"};
    static const struct {
        const char *file, *says;
        off_t at;
    } cases[] = {
        {"p/pack/pack.json", "pack.json: damaged: its bytes have the checksum", 4},
        {"p/pack/draw1_cached.npy", "this run packs for itself", 4096 + 7},
        {"p/pack/draw1_cached.npy", "this run packs for itself", 200}, /* padding: by checksum */
        {"p/pack/draw0.pack", "this run packs for itself", 40},
        {"p/pack/draw2.pack", "this run packs for itself", 4096 + 16},
    };
    struct outcome whole = train(none);
    for (size_t i = 0; i < OG_COUNT(cases); i++) {
        test_shell("rm -rf %s && cp -r s %s", "p", "p");
        test_flip(cases[i].file, cases[i].at);
        struct outcome o = train(use);
        assert_same(&whole, &o);
        if (!strstr(o.said.text, cases[i].says))
            fail_msg("%s: %s", cases[i].file, o.said.text);
        drop(&o);
    }
    /* lists of other draws, of a pack without checksums: then chunks are not what batches miss */
    test_shell("rm -rf %s && cp -r s %s", "p", "p");
    test_shell("sed -i -e s/%s/%s/ -e s/xxh3/none/ p/pack/pack.json", "cached_checksums", "other");
    test_shell("cp p/pack/%s p/pack/%s", "draw0_cached.npy", "draw1_cached.npy");
    struct outcome o = train(use);
    assert_same(&whole, &o);
    assert_non_null(strstr(o.said.text, "has other rows than batch"));
    drop(&o);
    /* what is packed instead may be more than --disk has room for */
    static pairs_t little = {"samples", "p", "cache", "10%", "disk", "500K"};
    test_shell("rm -rf %s && cp -r s %s", "p", "p");
    test_flip("p/pack/draw1.pack", 40);
    o = train(little);
    assert_same(&whole, &o);
    assert_non_null(strstr(o.said.text, "this run packs for itself"));
    assert_non_null(strstr(o.said.text, "the others read the feature file"));
    drop(&o);
    drop(&whole);
}

/* ---- damage that only checksums find ---- */

static uint64_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

/* Where the chunks begin, by the format's description. */
static off_t rows_at(const char *path)
{
    uint64_t batches;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, &batches, sizeof(batches), 24), sizeof(batches));
    close(fd);
    return (off_t)(4096 + (batches * 32 + 4095) / 4096 * 4096);
}

static void damaged_rows_end_the_run(void **state)
{
    (void)state;
    static pairs_t use = {"samples", "p", "preset", "diskgnn", "cache", "10%"};
    static const char file[] = "p/pack/draw1.pack";
    const off_t places[] = {0, 4095, 96 * 7 + 1, -1}; /* of the rows; the last block's padding */
    for (size_t i = 0; i < OG_COUNT(places); i++) {
        struct og_options opt;
        struct og_err err = {0};
        test_shell("rm -rf %s && cp -r s %s", "p", "p");
        test_flip(file, places[i] < 0 ? (off_t)size_of(file) - 1 : rows_at(file) + places[i]);
        set_options(&opt, use);
        assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
        assert_int_equal(og_train("graph", &opt, NULL, NULL, &err), -EIO);
        assert_non_null(strstr(err.message, "draw1.pack: chunk "));
        assert_non_null(strstr(err.message, "is not what was written"));
        assert_non_null(strstr(err.hint, "make it again with `outgrow pack`"));
        og__options_release(&opt);
        test_shell("rm -rf %s%s", "run", "");
    }
}

/* A byte of each chunk, or of each shared row, where the run keeps them. */
static void damage_scratch(const char *file)
{
    uint64_t head[9];
    glob_t found;
    char pattern[64];
    snprintf(pattern, sizeof(pattern), "scr/*/%s0", file); /* of the only width */
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    int fd = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(fd, head, sizeof(head), 0), sizeof(head));
    const bool shared = strcmp(file, "shared") == 0;
    const uint64_t n = shared ? head[4] : head[3];
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = 4096 + i * 24 * 4;
        if (!shared)
            assert_int_equal(pread(fd, &at, sizeof(at), (off_t)(4096 + 32 * i)), sizeof(at));
        test_flip(found.gl_pathv[0], (off_t)at);
    }
    close(fd);
    globfree(&found);
}

static void on_first_epoch(void *arg, const char *json)
{
    const char **file = arg;
    (void)json;
    if (*file)
        damage_scratch(*file);
    *file = NULL;
}

static void what_the_disk_loses_during_a_run_ends_it(void **state)
{
    (void)state;
    static pairs_t ways[] = {
        {"layout", "packed", "policy", "none", "resample-every", "3", "scratch", "scr"},
        {"layout", "segmented", "policy", "none", "resample-every", "3", "scratch", "scr", "disk",
         "900K"}};
    static const char *const files[] = {"pack", "shared"};
    for (size_t i = 0; i < OG_COUNT(ways); i++) {
        const char *file = files[i];
        const struct og_observer seen = {
            .size = sizeof(seen), .arg = &file, .epoch = on_first_epoch};
        struct og_options opt;
        struct og_err err = {0};
        set_options(&opt, ways[i]);
        assert_int_equal(og_options_set(&opt, "run", "run", NULL), 0);
        assert_int_equal(og_train("graph", &opt, &seen, NULL, &err), -EIO);
        assert_null(file);
        assert_non_null(strstr(err.message, "not what w"));
        assert_non_null(strstr(err.message, "scr/"));
        assert_non_null(strstr(err.hint, "--scratch"));
        og__options_release(&opt);
        test_shell("rm -rf %s %s", "run", "scr");
    }
}

struct findings {
    int n;
    char text[1 << 14];
};

static void note_finding(void *arg, const char *text, const char *hint)
{
    struct findings *f = arg;
    assert_true(text[0] != 0);
    f->n++;
    snprintf(f->text + strlen(f->text), sizeof(f->text) - strlen(f->text), "%s: %s\n", text, hint);
}

static int verify(const char *dir, const char *dataset, struct findings *f)
{
    struct og_err err = {0};
    *f = (struct findings){0};
    int n = og_verify_samples(dir, dataset, note_finding, f, NULL, &err);
    if (n < 0)
        fail_msg("%s: %s", err.message, err.hint);
    assert_int_equal(n, f->n);
    return n;
}

/* Somewhere among the elements of an array, or in any place of a packed file. */
static void verify_finds(const char *file, off_t at)
{
    char path[160];
    struct findings f;
    snprintf(path, sizeof(path), "v/%s", file);
    test_flip(path, at);
    if (verify("v", NULL, &f) == 0)
        fail_msg("%s: byte %lld is not missed", file, (long long)at);
    test_flip(path, at);
}

static void verify_finds_all_damage(void **state)
{
    (void)state;
    static const char *const arrays[] = {"seeds",    "seeds_ptr", "ids",        "ids_ptr",
                                         "hop1_src", "hop1_dst",  "hop1_ptr",   "hop2_src",
                                         "hop2_dst", "hop2_ptr",  "hop2_nodes", "check",
                                         "labels",   "features",  "hop1_nodes"};
    static pairs_t none = {NULL};
    static pairs_t packed = {"samples", "v", "cache", "10%", "epochs", "3"};
    struct findings f;
    struct og_options opt;
    set_options(&opt, none);
    assert_int_equal(og_sample("graph", "v", true, &opt, NULL, NULL, NULL), 0);
    og__options_release(&opt);
    pack(packed);
    assert_int_equal(verify("v", NULL, &f), 0);
    assert_int_equal(verify("v", "graph", &f), 0);
    assert_int_equal(verify("v", "other", &f), 1);
    assert_non_null(strstr(f.text, "not samples of other: of another dataset"));
    for (size_t i = 0; i < OG_COUNT(arrays); i++) {
        char file[64];
        char path[80];
        snprintf(file, sizeof(file), "%s.npy", arrays[i]);
        snprintf(path, sizeof(path), "v/%s", file);
        const off_t size = (off_t)size_of(path);
        verify_finds(file, 4096);
        verify_finds(file, 4096 + (size - 4096) / 3);
        verify_finds(file, size - 1);
    }
    for (int draw = 0; draw < 3; draw++) {
        char file[64];
        char path[80];
        snprintf(file, sizeof(file), "pack/draw%d_cached.npy", draw);
        verify_finds(file, 4096 + 11);
        snprintf(file, sizeof(file), "pack/draw%d.pack", draw);
        snprintf(path, sizeof(path), "v/%s", file);
        const off_t size = (off_t)size_of(path);
        const off_t places[] = {0,
                                9,
                                20,
                                30,
                                53,
                                57,
                                4095,
                                4096,
                                5000,
                                8191,
                                rows_at(path),
                                size / 2 + 1,
                                size - 4096,
                                size - 1};
        for (size_t i = 0; i < OG_COUNT(places); i++)
            verify_finds(file, places[i]);
    }
    verify_finds("pack/pack.json", 4);
    verify_finds("trace.json", 4);
}

/* ---- damage of what describes them ---- */

static void put_byte(const char *path, size_t at, char byte)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0 && pwrite(fd, &byte, 1, (off_t)at) == 1);
    close(fd);
}

/* Does a description say what it said, whatever the checksum is called now? */
static bool same_but_for_its_seal(const json_t *whole, const json_t *now)
{
    const char *key;
    json_t *value;
    bool same = json_object_size(whole) == json_object_size(now);
    json_object_foreach((json_t *)whole, key, value) same =
        same && (strcmp(key, "xxh3") == 0 || json_equal(value, json_object_get(now, key)));
    return same;
}

static void no_byte_of_trace_json_changes_unnoticed(void **state)
{
    (void)state;
    static const char flips[] = {1, 4, 0x20};
    static const char file[] = "v/trace.json";
    size_t len;
    size_t believed = 0;
    struct og_trace_description whole;
    char *text = test_read(file, &len);
    assert_int_equal(og__trace_describe(&whole, "v", NULL), 0);
    for (size_t i = 0; i < len * sizeof(flips); i++) {
        struct og_err err = {0};
        struct og_trace_description now;
        const size_t at = i / sizeof(flips);
        put_byte(file, at, (char)(text[at] ^ flips[i % sizeof(flips)]));
        if (og__trace_describe(&now, "v", &err) == 0) {
            believed++;
            if (!same_but_for_its_seal(whole.root, now.root))
                fail_msg("byte %zu is not missed", at);
        } else {
            assert_non_null(strstr(err.message, file));
            assert_non_null(strstr(err.hint, "make it again with `outgrow sample`"));
        }
        og__trace_description_release(&now);
        put_byte(file, at, text[at]);
    }
    assert_true(believed <= strlen("xxh3") * sizeof(flips));
    og__trace_description_release(&whole);
    free(text);
}

static void no_byte_of_pack_json_changes_unnoticed(void **state)
{
    (void)state;
    static const char flips[] = {1, 4, 0x20};
    static const char file[] = "v/pack/pack.json";
    struct og_graph *ds;
    size_t len;
    char *text = test_read(file, &len);
    assert_int_equal(og__graph_open("graph", &ds, NULL), 0);
    struct og_packs *whole = og__packs_open("v", ds, NULL);
    assert_non_null(whole);
    for (size_t i = 0; i < len * sizeof(flips); i++) {
        struct test_said said = {{0}};
        const struct og_log log = {test_note_message, &said};
        const size_t at = i / sizeof(flips);
        put_byte(file, at, (char)(text[at] ^ flips[i % sizeof(flips)]));
        struct og_packs *p = og__packs_open("v", ds, &log);
        if (p && (p->draws != whole->draws || p->cache_rows != whole->cache_rows ||
                  !json_equal(p->checksums, whole->checksums)))
            fail_msg("byte %zu is not missed", at);
        if (!p && !strstr(said.text, "make it again with `outgrow pack`"))
            fail_msg("byte %zu: %s", at, said.text);
        og__packs_close(p);
        put_byte(file, at, text[at]);
    }
    og__packs_close(whole);
    og__graph_close(ds);
    free(text);
}

/* The last digit of a number that nothing else is held against. */
static void change_digit(const char *file, const char *key)
{
    static const char digits[] = "0123456789";
    size_t len;
    char *text = test_read(file, &len);
    size_t at = 0;
    while (at < len && strncmp(text + at, key, strlen(key)) != 0)
        at++;
    at += strcspn(text + at, digits);
    at += strspn(text + at, digits);
    assert_true(at < len);
    put_byte(file, at - 1, (char)(text[at - 1] ^ 1));
    free(text);
}

static void assert_damaged(int rc, const struct og_err *err)
{
    assert_int_equal(rc, -EINVAL);
    assert_non_null(strstr(err->message, "trace.json: damaged: its bytes have the checksum"));
    assert_non_null(strstr(err->hint, "`outgrow sample`"));
}

static void a_damaged_description_is_refused_by_all(void **state)
{
    (void)state;
    static pairs_t use = {"samples", "w", "run", "run"};
    struct findings f;
    struct og_options opt;
    char *out = NULL;
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    change_digit("w/trace.json", "\"rows\"");
    assert_int_equal(verify("w", NULL, &f), 1);
    assert_non_null(strstr(f.text, "w/trace.json: damaged: "));
    set_options(&opt, use);
    struct og_err err = {0};
    assert_damaged(og_train("graph", &opt, NULL, NULL, &err), &err);
    err = (struct og_err){0};
    assert_damaged(og_plan("graph", &opt, NULL, &out, &err), &err);
    err = (struct og_err){0};
    assert_damaged(og_pack("graph", &opt, NULL, &out, &err), &err);
    err = (struct og_err){0};
    assert_damaged(og_simulate("w", "degree", "10%", NULL, &opt, NULL, &out, &err), &err);
    og__options_release(&opt);
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    change_digit("w/pack/pack.json", "\"cache_rows\"");
    assert_int_equal(verify("w", NULL, &f), 1);
    assert_non_null(strstr(f.text, "w/pack/pack.json: damaged: "));
    test_shell("rm -rf %s %s", "w", "run");
}

/* As older versions wrote them, and other programs do. */
static void descriptions_without_a_checksum_are_taken(void **state)
{
    (void)state;
    struct findings f;
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    test_shell("sed -i s/xxh3/none/ %s/trace.json %s/pack/pack.json", "w", "w");
    assert_int_equal(verify("w", "graph", &f), 0);
    change_digit("w/trace.json", "\"rows\"");
    assert_int_equal(verify("w", "graph", &f), 0);
    test_shell("rm -rf %s%s", "w", "");
}

/* Samples without checksums, as another program writes them. Hops that each draw are no hops of
 * nodes that draw once. */
static void verify_compares_hops_of_nodes_that_draw_once(void **state)
{
    (void)state;
    static pairs_t once = {"draw", "once"};
    static pairs_t each = {"draw", "each"};
    struct findings f;
    struct og_options opt;
    for (int i = 0; i < 2; i++) {
        set_options(&opt, i ? each : once);
        assert_int_equal(og_sample("graph", "w", false, &opt, NULL, NULL, NULL), 0);
        og__options_release(&opt);
        test_shell("rm %s/check.npy && sed -i 's/xxh3/none/;s/checksums/were/' %s/trace.json", "w",
                   "w");
        assert_int_equal(verify("w", NULL, &f), 0);
        test_shell("sed -i 's/\"each\"/\"once\"/' %s/trace.%s", "w", "json");
        assert_int_equal(verify("w", NULL, &f) > 0, i == 1);
        assert_int_equal(strstr(f.text, "hop 2 does not begin with hop 1") != NULL, i == 1);
        test_shell("rm -rf %s%s", "w", "");
    }
}

/* Whole files, each sound, that do not belong together. */
static void verify_compares_what_belongs_together(void **state)
{
    (void)state;
    struct findings f;
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    test_shell("cp %s %s", "v/pack/draw0.pack", "w/pack/draw1.pack");
    assert_true(verify("w", NULL, &f) > 0);
    assert_non_null(strstr(f.text, "draw1.pack: chunk 0 has other rows than batch 0 misses"));
    assert_non_null(strstr(f.text, "more like it"));
    test_shell("rm -rf %s%s", "w/pack/draw2.pack", "");
    assert_true(verify("w", NULL, &f) > 0);
    assert_non_null(strstr(f.text, "draw2.pack: cannot open"));
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    test_shell("rm %s%s", "w/hop1_src.npy", "");
    assert_true(verify("w", NULL, &f) > 0);
    assert_non_null(strstr(f.text, "hop1_src.npy"));
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    test_shell("rm %s%s", "w/pack/pack.json", "");
    assert_int_equal(verify("w", NULL, &f), 1);
    assert_non_null(strstr(f.text, "pack.json: missing"));
    /* features of the same description that are others */
    test_shell("rm -rf %s && cp -r graph %s", "x", "x");
    test_flip("x/features.npy", 4096 + 24 * 4 * 1500);
    test_flip("x/features.npy", 4096 + 24 * 4 * 700);
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    assert_int_equal(verify("w", NULL, &f), 0);
    assert_true(verify("w", "x", &f) > 0);
    assert_non_null(strstr(f.text, "not samples of x: features.npy has other contents"));
    assert_non_null(strstr(f.text, "rows are not those of x"));
}

/* Files that have a checksum and are gone are each reported, however many. */
static void verify_tells_every_missing_file(void **state)
{
    (void)state;
    struct findings f;
    const char *file;
    json_t *sum;
    test_shell("rm -rf %s && cp -r v %s", "w", "w");
    test_shell("rm %s/*.npy%s", "w", "");
    verify("w", NULL, &f);
    json_t *said = json_load_file("w/trace.json", 0, NULL);
    json_t *sums = json_object_get(said, "checksums");
    assert_true(json_object_size(sums) > 3);
    json_object_foreach(sums, file, sum)
    {
        char wanted[96];
        snprintf(wanted, sizeof(wanted), "w/%.60s: cannot open", file);
        if (!strstr(f.text, wanted))
            fail_msg("%s is not told:\n%s", wanted, f.text);
    }
    json_decref(said);
}

/* Samples in s, packed. */
static int set_up_packs(void **state)
{
    static pairs_t none = {NULL};
    static pairs_t packed = {"samples", "s", "cache", "10%"};
    int rc = set_up(state);
    if (rc < 0)
        return rc;
    sample("s", none);
    pack(packed);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_packs_are_done_without),
        cmocka_unit_test(damaged_rows_end_the_run),
        cmocka_unit_test(what_the_disk_loses_during_a_run_ends_it),
        cmocka_unit_test(verify_finds_all_damage),
        cmocka_unit_test(no_byte_of_trace_json_changes_unnoticed),
        cmocka_unit_test(no_byte_of_pack_json_changes_unnoticed),
        cmocka_unit_test(a_damaged_description_is_refused_by_all),
        cmocka_unit_test(descriptions_without_a_checksum_are_taken),
        cmocka_unit_test(verify_compares_hops_of_nodes_that_draw_once),
        cmocka_unit_test(verify_compares_what_belongs_together),
        cmocka_unit_test(verify_tells_every_missing_file),
    };
    return cmocka_run_group_tests(tests, set_up_packs, tear_down);
}
