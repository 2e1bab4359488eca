/* sample: pre-sampled batches come back from their folder as the sampler made them, in any order.
 * Nothing in the folder is trusted. */
#include "sample/batch_fixture.h"

#include "base/file.h"
#include "sample/superbatch.h"
#include "sample/trace.h"
#include "sample/trace_files.h"
#include "support/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const arrays[] = {"seeds",       "seeds_ptr",   "ids",        "ids_ptr",
                                     "hop1_src",    "hop1_dst",    "hop1_ptr",   "hop1_nodes",
                                     "hop1_degree", "hop2_src",    "hop2_dst",   "hop2_ptr",
                                     "hop2_nodes",  "hop2_degree", "hop3_src",   "hop3_dst",
                                     "hop3_ptr",    "hop3_nodes",  "hop3_degree"};

static void array_path(char out[256], const char *dir, const char *name)
{
    snprintf(out, 256, "%s/%s.npy", dir, name);
}

static void remove_trace(char *dir)
{
    char path[256];
    for (size_t i = 0; i < OG_COUNT(arrays); i++) {
        array_path(path, dir, arrays[i]);
        unlink(path);
    }
    array_path(path, dir, "check");
    unlink(path);
    assert_int_equal(rmdir(dir), 0);
    free(dir);
}

/* A folder with `draws` epochs of batches. n_nodes beyond int32 makes ids of 8 bytes. */
static char *make_checked(struct source *k, uint32_t draws, unsigned extras, uint64_t n_nodes,
                          bool checks)
{
    char *dir = fresh_folder();
    const struct og_trace_options opt = {
        .n_hops = HOPS, .n_nodes = n_nodes, .extras = extras, .checks = checks};
    struct og_trace_writer *w;
    assert_int_equal(og__trace_create(&w, OG__ONE_PLACE(dir), &opt, NULL), 0);
    for (uint32_t d = 0; d < draws; d++)
        for (uint32_t i = 0; i < BATCHES; i++)
            assert_int_equal(og__trace_append(w, batch_of(k, d, i), NULL, NULL), 0);
    assert_int_equal(og__trace_finish(w, NULL, NULL), 0);
    return dir;
}

static char *make_trace(struct source *k, uint32_t draws, unsigned extras, uint64_t n_nodes)
{
    return make_checked(k, draws, extras, n_nodes, false);
}

static int open_samples(struct og_samples **out, const char *dir, unsigned extras,
                        struct og_budget *b, struct og_err *err)
{
    const struct og_samples_options opt = {
        .dir = dir, .n_hops = HOPS, .extras = extras, .n_nodes = N};
    return og__samples_open(out, &opt, b, err);
}

static void batches_come_back_in_any_order(void **state)
{
    (void)state;
    for (int run = 0; run < 4; run++) {
        unsigned extras = run % 2 ? OG__WITH_DEGREES : 0u;
        struct source k;
        struct og_samples *s;
        struct og_batch_memory out;
        open_source(&k, (uint32_t)run + 1, extras != 0);
        char *dir = make_trace(&k, 2, extras, run < 2 ? N : (uint64_t)1 << 33);
        struct og_budget *b = og__budget_new(64 * OG_MIB);
        og__batch_init(&out, b);
        assert_int_equal(open_samples(&s, dir, extras, b, NULL), 0);
        assert_int_equal(og__samples_batches(s), 2 * BATCHES);
        assert_true(og__budget_used(b) >= og__samples_memory(s));
        struct og_io_counts all = {0};
        for (uint32_t j = 0; j < 2 * BATCHES; j++) {
            uint32_t i = j * 37 % (2 * BATCHES);
            struct og_io_counts read;
            assert_int_equal(og__samples_read(s, i, true, &out, &read, NULL), 0);
            assert_same_batch(&out.batch, batch_of(&k, i / BATCHES, i % BATCHES));
            all.reads += read.reads;
            all.bytes += read.bytes;
            og__samples_prefetch(s, 0);
        }
        const struct og_io_counts told = og__samples_asks(s);
        assert_int_equal(told.reads, all.reads);
        assert_int_equal(told.bytes, all.bytes);
        og__samples_close(s);
        og__batch_release(&out);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
        close_source(&k);
        remove_trace(dir);
    }
}

static void ids_come_without_blocks(void **state)
{
    (void)state;
    struct source k;
    struct og_samples *s;
    struct og_batch_memory out;
    struct og_io_counts read;
    open_source(&k, 5, false);
    char *dir = make_trace(&k, 1, 0, N);
    og__batch_init(&out, NULL);
    assert_int_equal(open_samples(&s, dir, 0, NULL, NULL), 0);
    for (uint32_t i = 0; i < BATCHES; i++) {
        const struct og_batch *b = batch_of(&k, 0, i);
        assert_int_equal(og__samples_read(s, i, false, &out, &read, NULL), 0);
        assert_int_equal(read.bytes, b->n_ids * 4);
        assert_int_equal(out.batch.n_ids, b->n_ids);
        assert_int_equal(out.batch.n_seeds, b->n_seeds);
        assert_memory_equal(out.batch.ids, b->ids, b->n_ids * 4);
        assert_null(out.batch.hop[HOPS - 1].src);
        assert_int_equal(out.batch.hop[HOPS - 1].n_edges, b->hop[HOPS - 1].n_edges);
    }
    og__samples_close(s);
    og__batch_release(&out);
    close_source(&k);
    remove_trace(dir);
}

/* Every third batch is sampled again. It is kept in memory or spilled, next to the others, which
 * stay in their folder. */
static void a_superbatch_refers_to_samples(void **state)
{
    (void)state;
    static const size_t shares[] = {0, 20000, SIZE_MAX};
    for (size_t share = 0; share < OG_COUNT(shares); share++) {
        struct source k;
        struct og_samples *samples;
        struct og_superbatch *s;
        struct og_batch_memory out;
        struct og_io_counts read;
        open_source(&k, 7, true);
        char *dir = make_trace(&k, 1, OG__WITH_DEGREES, N);
        char *scratch = fresh_folder();
        const struct og_superbatch_options opt = {.scratch = OG__ONE_PLACE(scratch),
                                                  .memory = shares[share],
                                                  .n_hops = HOPS,
                                                  .n_nodes = N,
                                                  .extras = OG__WITH_DEGREES};
        og__batch_init(&out, NULL);
        assert_int_equal(open_samples(&samples, dir, OG__WITH_DEGREES, NULL, NULL), 0);
        assert_int_equal(og__superbatch_open(&s, &opt, NULL, NULL), 0);
        for (int again = 0; again < 2; again++) {
            for (uint32_t i = 0; i < BATCHES; i++) {
                assert_int_equal(og__samples_read(samples, i, false, &out, &read, NULL), 0);
                int rc = i % 3 ? og__superbatch_refer(s, &out.batch, samples, i, NULL)
                               : og__superbatch_append(s, batch_of(&k, 0, i), NULL);
                assert_int_equal(rc, 0);
            }
            assert_int_equal(og__superbatch_finish(s, NULL), 0);
            for (int pass = 0; pass < 2; pass++) {
                for (uint32_t j = 0; j < BATCHES; j++) {
                    uint32_t i = j * 7 % BATCHES;
                    assert_int_equal(
                        og__superbatch_replay(s, i, (i + 7) % BATCHES, &out, &read, NULL), 0);
                    assert_same_batch(&out.batch, batch_of(&k, 0, i));
                }
                assert_int_equal(og__superbatch_release_ids(s, 0, NULL), 0);
            }
            og__superbatch_clear(s);
        }
        og__superbatch_close(s);
        og__samples_close(samples);
        og__batch_release(&out);
        close_source(&k);
        assert_int_equal(rmdir(scratch), 0);
        free(scratch);
        remove_trace(dir);
    }
}

/* ---- damage ---- */

/* Opens and reads all of it. */
static int read_all(const char *dir, struct og_batch_memory *out, void (*look)(struct og_batch *),
                    struct og_err *err)
{
    struct og_samples *s;
    struct og_io_counts read;
    int rc = open_samples(&s, dir, OG__WITH_DEGREES, NULL, err);
    for (uint32_t i = 0; rc == 0 && i < og__samples_batches(s); i++) {
        rc = og__samples_read(s, i, true, out, &read, err);
        if (rc == 0)
            look(&out->batch);
    }
    if (rc < 0 && s)
        assert_true(rc == -EIO || rc == -ENOMEM);
    og__samples_close(s);
    return rc;
}

/* All that later code takes for granted. */
static void assert_sound(struct og_batch *b)
{
    static bool seen[N];
    memset(seen, 0, sizeof(seen));
    assert_true(b->n_seeds <= b->n_ids && b->hop[HOPS - 1].n_src == b->n_ids);
    for (uint32_t i = 0; i < b->n_ids; i++) {
        assert_true(b->ids[i] < N && !seen[b->ids[i]]);
        seen[b->ids[i]] = true;
    }
    for (uint32_t h = 0; h < b->n_hops; h++) {
        const struct og_block *k = &b->hop[h];
        assert_int_equal(k->n_dst, h ? b->hop[h - 1].n_src : b->n_seeds);
        assert_true(k->n_src >= k->n_dst);
        assert_true(k->indptr[0] == 0 && k->indptr[k->n_dst] == k->n_edges);
        for (uint32_t d = 0; d < k->n_dst; d++)
            assert_true(k->indptr[d] <= k->indptr[d + 1]);
        for (uint64_t e = 0; e < k->n_edges; e++)
            assert_true(k->src[e] < k->n_src);
    }
}

static void put_back(const char *path, const char *data, size_t n)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(pwrite(fd, data, n, 0), n);
    close(fd);
}

static void damage(const char *path, char *data, size_t n, struct og_rng *r)
{
    size_t at =
        og__rng_below(r, 4) ? 4096 + og__rng_below(r, (uint32_t)(n - 4096)) : og__rng_below(r, 200);
    char was = data[at];
    data[at] = (char)(was ^ (1 << og__rng_below(r, 8)));
    put_back(path, data, og__rng_below(r, 8) ? n : n - 1 - og__rng_below(r, 64));
    data[at] = was;
}

static void nothing_in_it_is_believed(void **state)
{
    (void)state;
    struct source k;
    struct og_batch_memory out;
    struct og_rng r;
    int refused = 0;
    open_source(&k, 9, true);
    char *dir = make_trace(&k, 1, OG__WITH_DEGREES, N);
    og__batch_init(&out, NULL);
    og__rng_at(&r, 11, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int trial = 0; trial < 400; trial++) {
        struct og_err err = {0};
        char path[256];
        size_t n;
        array_path(path, dir, arrays[(size_t)trial % OG_COUNT(arrays)]);
        char *data = test_read(path, &n);
        damage(path, data, n, &r);
        if (read_all(dir, &out, assert_sound, &err) < 0) {
            assert_true(err.message[0]);
            refused++;
        }
        put_back(path, data, n);
        free(data);
    }
    assert_true(refused > 200);
    assert_int_equal(read_all(dir, &out, assert_sound, NULL), 0);
    og__batch_release(&out);
    close_source(&k);
    remove_trace(dir);
}

/* Whatever bit of it it is; a run compares seeds with its own. */
static void a_batch_that_was_changed_is_told(void **state)
{
    (void)state;
    struct source k;
    struct og_batch_memory out;
    struct og_rng r;
    open_source(&k, 9, true);
    char *dir = make_checked(&k, 1, OG__WITH_DEGREES, N, true);
    og__batch_init(&out, NULL);
    assert_int_equal(read_all(dir, &out, assert_sound, NULL), 0);
    og__rng_at(&r, 12, OG__STREAM_BENCH, 0, 0, 0, 0);
    for (int trial = 0; trial < 400; trial++) {
        const char *name = arrays[(size_t)trial % OG_COUNT(arrays)];
        struct og_err err = {0};
        char path[256];
        size_t n;
        if (strcmp(name, "seeds") == 0)
            continue;
        array_path(path, dir, name);
        char *data = test_read(path, &n);
        size_t at = 4096 + og__rng_below(&r, (uint32_t)(n - 4096));
        char was = data[at];
        data[at] = (char)(was ^ 1 << og__rng_below(&r, 8));
        put_back(path, data, n);
        if (read_all(dir, &out, assert_sound, &err) == 0)
            fail_msg("%s: byte %zu", name, at);
        assert_true(err.message[0] && err.hint[0]);
        data[at] = was;
        put_back(path, data, n);
        free(data);
    }
    og__batch_release(&out);
    close_source(&k);
    remove_trace(dir);
}

/* A hop without edges has one checksum, whether or not the batch has memory for its edges. */
static void a_hop_without_edges_has_one_checksum(void **state)
{
    (void)state;
    uint32_t ids[] = {7};
    uint32_t indptr[] = {0, 0};
    uint32_t word = 0;
    float weight = 0;
    struct og_batch lean = {.n_hops = 1, .n_seeds = 1, .n_ids = 1, .ids = ids};
    uint64_t of_lean[OG__CHECKS];
    uint64_t of_roomy[OG__CHECKS];
    lean.hop[0] = (struct og_block){.n_dst = 1, .n_src = 1, .indptr = indptr};
    struct og_batch roomy = lean;
    roomy.hop[0].src = roomy.hop[0].degree = &word;
    roomy.hop[0].weight = &weight;
    og__trace_batch_check(&lean, true, of_lean);
    og__trace_batch_check(&roomy, true, of_roomy);
    assert_memory_equal(of_lean, of_roomy, sizeof(of_lean));
}

static void an_array_that_is_gone_is_named(void **state)
{
    (void)state;
    struct source k;
    open_source(&k, 3, false);
    char *dir = make_trace(&k, 1, 0, N);
    for (size_t i = 0; i < OG_COUNT(arrays); i++) {
        struct og_err err = {0};
        struct og_samples *s;
        char path[256];
        char away[300];
        bool wanted = strstr(arrays[i], "degree") == NULL;
        array_path(path, dir, arrays[i]);
        snprintf(away, sizeof(away), "%s.away", path);
        int moved = rename(path, away);
        assert_int_equal(moved == 0, wanted);
        int rc = open_samples(&s, dir, wanted ? 0u : (unsigned)OG__WITH_DEGREES, NULL, &err);
        assert_int_equal(rc, -ENOENT);
        assert_non_null(strstr(err.message, arrays[i] + (wanted ? 0 : 4)));
        if (wanted)
            assert_int_equal(rename(away, path), 0);
    }
    close_source(&k);
    remove_trace(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_come_back_in_any_order),
        cmocka_unit_test(ids_come_without_blocks),
        cmocka_unit_test(a_superbatch_refers_to_samples),
        cmocka_unit_test(nothing_in_it_is_believed),
        cmocka_unit_test(a_batch_that_was_changed_is_told),
        cmocka_unit_test(a_hop_without_edges_has_one_checksum),
        cmocka_unit_test(an_array_that_is_gone_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
