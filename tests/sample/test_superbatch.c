/* sample: superbatches give back what the sampler made, wherever they were kept, and leave no
 * file. */
#include "dataset/generate/options.h"
#include "options/fields.h"
#include "sample/batch_fixture.h"

#include "base/file.h"
#include "base/scratch.h"
#include "base/temporary.h"
#include "dataset/writer.h"
#include "sample/superbatch.h"
#include "sample/trace.h"
#include "support/files.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void remove_empty(char *path)
{
    assert_int_equal(rmdir(path), 0); /* nothing was left in it */
    free(path);
}

static void append_epoch(struct og_superbatch *s, struct source *k, uint32_t epoch)
{
    for (uint32_t i = 0; i < BATCHES; i++)
        assert_int_equal(og__superbatch_append(s, batch_of(k, epoch, i), NULL), 0);
    assert_int_equal(og__superbatch_finish(s, NULL), 0);
}

static void check_trace(const struct og_superbatch *s, struct source *k, uint32_t epoch)
{
    struct og_trace t = og__superbatch_trace(s);
    assert_int_equal(t.n_batches, BATCHES);
    assert_int_equal(t.ptr[0], 0);
    for (uint32_t i = 0; i < BATCHES; i++) {
        const struct og_batch *b = batch_of(k, epoch, i);
        assert_int_equal(t.ptr[i + 1] - t.ptr[i], b->n_ids);
        assert_memory_equal(t.ids + t.ptr[i], b->ids, b->n_ids * 4);
    }
}

static struct og_io_counts replay_epoch(struct og_superbatch *s, struct source *k, uint32_t epoch,
                                        struct og_batch_memory *out)
{
    struct og_io_counts sum = {0};
    for (uint32_t i = 0; i < BATCHES; i++) {
        struct og_io_counts read;
        assert_int_equal(og__superbatch_replay(s, i, i + 1, out, &read, NULL), 0);
        assert_same_batch(&out->batch, batch_of(k, epoch, i));
        sum.reads += read.reads;
        sum.bytes += read.bytes;
    }
    return sum;
}

/* For no, some and all batches in memory; used again after clear. */
static void replay_gives_back_what_was_sampled(void **state)
{
    (void)state;
    static const size_t shares[] = {0, 40000, SIZE_MAX};
    for (int run = 0; run < 6; run++) {
        bool degrees = run % 2;
        char *scratch = fresh_folder();
        struct source k;
        open_source(&k, (uint32_t)run + 1, degrees);
        struct og_budget *b = og__budget_new(64 * OG_MIB);
        const struct og_superbatch_options opt = {.scratch = OG__ONE_PLACE(scratch),
                                                  .memory = shares[run / 2],
                                                  .n_hops = HOPS,
                                                  .n_nodes = N,
                                                  .extras = degrees ? OG__WITH_DEGREES : 0u};
        struct og_superbatch *s;
        struct og_batch_memory out;
        og__batch_init(&out, b);
        assert_int_equal(og__superbatch_open(&s, &opt, b, NULL), 0);
        uint64_t written = 0;
        for (uint32_t epoch = 0; epoch < 3; epoch++) {
            append_epoch(s, &k, epoch);
            check_trace(s, &k, epoch);
            for (int again = 0; again < 3; again++) {
                struct og_io_counts read = replay_epoch(s, &k, epoch, &out);
                assert_int_equal(read.bytes == 0, run / 2 == 2);
                assert_int_equal(read.reads == 0, run / 2 == 2);
                assert_true(read.bytes <= og__superbatch_written(s) - written);
                /* with the ids in memory, and without where all of it is spilled */
                size_t used = og__budget_used(b);
                assert_int_equal(og__superbatch_release_ids(s, 0, NULL), 0);
                assert_int_equal(og__budget_used(b) < used, run / 2 == 0 && again == 0);
            }
            assert_int_equal(og__superbatch_written(s) > written, run / 2 != 2);
            written = og__superbatch_written(s);
            og__superbatch_clear(s);
        }
        assert_int_equal(test_entries(scratch), run / 2 != 2);
        og__superbatch_close(s);
        og__batch_release(&out);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
        close_source(&k);
        remove_empty(scratch);
    }
}

/* Arrays are whole in one of several folders. The count is what equal shares would need for the
 * fullest one, as predicted by each batch. */
static void the_fullest_folder_counts(void **state)
{
    (void)state;
    enum { FOLDERS = 3, LOCK = 256 };
    for (uint32_t pieces = 1; pieces <= FOLDERS; pieces++) {
        char *at[FOLDERS] = {fresh_folder(), fresh_folder(), fresh_folder()};
        struct source k;
        open_source(&k, pieces, true);
        struct og_budget *b = og__budget_new(64 * OG_MIB);
        const struct og_superbatch_options opt = {.scratch = {FOLDERS, (const char *const *)at},
                                                  .n_hops = HOPS,
                                                  .n_nodes = N,
                                                  .extras = OG__WITH_DEGREES};
        const struct og_trace_options form = {
            .n_hops = HOPS, .n_nodes = N, .extras = OG__WITH_DEGREES};
        struct og_superbatch *s;
        uint64_t told = FOLDERS * pieces * og__trace_empty_bytes(&form);
        assert_int_equal(og__superbatch_open(&s, &opt, b, NULL), 0);
        for (uint32_t i = 0; i < BATCHES; i++) {
            if (i % (BATCHES / pieces) == 0)
                assert_int_equal(og__superbatch_cut(s, NULL), 0);
            assert_int_equal(og__superbatch_append(s, batch_of(&k, 0, i), NULL), 0);
            told += og__trace_batch_room(&form, batch_of(&k, 0, i), FOLDERS);
        }
        assert_int_equal(og__superbatch_finish(s, NULL), 0);
        uint64_t most = 0;
        for (int i = 0; i < FOLDERS; i++)
            most = OG_MAX(most, test_bytes_under(at[i]));
        const uint64_t room = og__superbatch_room(s);
        assert_in_range(room, FOLDERS * (most - LOCK), told);
        assert_true(pieces > 1 || room <= FOLDERS * most);
        assert_true(pieces > 1 || room > og__superbatch_written(s) * 11 / 10);
        og__superbatch_close(s);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
        close_source(&k);
        for (int i = 0; i < FOLDERS; i++)
            remove_empty(at[i]);
    }
}

/* ---- a window that slides ---- */

/* Batches [first, last) of epoch 0 are what there is. */
static void check_window(struct og_superbatch *s, struct source *k, uint32_t first, uint32_t last,
                         struct og_batch_memory *out)
{
    struct og_trace t = og__superbatch_trace(s);
    assert_int_equal(t.n_batches, last - first);
    assert_int_equal(t.ptr[0], 0);
    for (uint32_t i = 0; i < last - first; i++) {
        struct og_io_counts read;
        const struct og_batch *b = batch_of(k, 0, first + i);
        assert_int_equal(t.ptr[i + 1] - t.ptr[i], b->n_ids);
        assert_memory_equal(t.ids + t.ptr[i], b->ids, b->n_ids * 4);
        assert_int_equal(og__superbatch_replay(s, i, i + 1, out, &read, NULL), 0);
        assert_same_batch(&out->batch, batch_of(k, 0, first + i));
    }
}

/* Own batches, and as many after them as a tail has, `step` by `step`. Cut where superbatches end,
 * what is spilled is what there is. */
static void slide(struct og_superbatch *s, struct source *k, uint32_t step, uint32_t tail,
                  bool give_back, struct og_batch_memory *out)
{
    struct og_io_counts read;
    uint32_t sampled = 0;
    for (uint32_t first = 0; first < BATCHES; first += step) {
        const uint32_t last = OG_MIN(first + step, (uint32_t)BATCHES);
        for (; sampled < OG_MIN(last + tail, (uint32_t)BATCHES); sampled++) {
            if (sampled % step == 0)
                assert_int_equal(og__superbatch_cut(s, NULL), 0);
            assert_int_equal(og__superbatch_append(s, batch_of(k, 0, sampled), NULL), 0);
        }
        assert_int_equal(og__superbatch_finish(s, NULL), 0);
        check_window(s, k, first, sampled, out);
        if (give_back)
            assert_int_equal(og__superbatch_release_ids(s, 0, NULL), 0);
        const uint64_t before = og__superbatch_room(s);
        assert_int_equal(og__superbatch_drop(s, last - first, out, &read, NULL), 0);
        assert_int_equal(og__superbatch_room(s) < before, before > 0);
        assert_int_equal(og__superbatch_finish(s, NULL), 0);
        assert_int_equal(og__superbatch_drop(s, 0, out, &read, NULL), 0); /* without own batches */
    }
    assert_int_equal(og__superbatch_trace(s).n_batches, 0);
    assert_int_equal(og__superbatch_room(s), 0);
}

static void what_is_dropped_frees_its_disk(void **state)
{
    (void)state;
    static const uint32_t tails[] = {0, 2, 10};
    static const uint32_t steps[] = {3, 7};
    for (size_t run = 0; run < OG_COUNT(tails) * OG_COUNT(steps) * 3; run++) {
        const uint32_t tail = tails[run % OG_COUNT(tails)];
        const uint32_t step = steps[run / OG_COUNT(tails) % OG_COUNT(steps)];
        const size_t kind = run / OG_COUNT(tails) / OG_COUNT(steps); /* spilled; with ids; not */
        char *scratch = fresh_folder();
        struct source k;
        open_source(&k, (uint32_t)run + 1, true);
        struct og_budget *b = og__budget_new(64 * OG_MIB);
        const struct og_superbatch_options opt = {.scratch = OG__ONE_PLACE(scratch),
                                                  .memory = kind == 2 ? SIZE_MAX : 0,
                                                  .n_hops = HOPS,
                                                  .n_nodes = N,
                                                  .extras = OG__WITH_DEGREES};
        struct og_superbatch *s;
        struct og_batch_memory out;
        og__batch_init(&out, b);
        assert_int_equal(og__superbatch_open(&s, &opt, b, NULL), 0);
        slide(s, &k, step, tail, kind == 1, &out);
        assert_int_equal(og__superbatch_written(s) > 0, kind != 2);
        og__superbatch_close(s);
        og__batch_release(&out);
        assert_int_equal(og__budget_used(b), 0);
        og__budget_free(b);
        close_source(&k);
        remove_empty(scratch);
    }
}

/* ---- reading it as a trace ---- */

/* The only folder in `path`. */
static char *only_child(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    struct dirent *entry;
    char *child = NULL;
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.' && entry->d_type == DT_DIR) {
            assert_null(child);
            child = og__path_join(path, entry->d_name);
        }
    closedir(dir);
    assert_non_null(child);
    return child;
}

/* The only piece that was spilled to `scratch`. */
static char *only_piece(const char *scratch)
{
    char *own = only_child(scratch);
    char *piece = only_child(own);
    free(own);
    return piece;
}

static void write_in(const char *dir, const char *name, const char *text)
{
    char *path = og__path_join(dir, name);
    assert_int_equal(og__write_text(path, text, strlen(text), NULL), 0);
    free(path);
}

static void *read_in(const char *dir, const char *name, enum og__npy_type type, int64_t count)
{
    struct og_npy a;
    char *path = og__path_join(dir, name);
    assert_int_equal(og__npy_open(&a, path, NULL), 0);
    assert_int_equal(a.type, type);
    assert_int_equal(a.shape[0], count);
    void *data = calloc(1, (size_t)a.bytes + 1);
    assert_int_equal(og__npy_read(&a, 0, count, data, NULL), 0);
    og__npy_close(&a);
    free(path);
    return data;
}

static const char description[] =
    "{\"format\": 1, \"dataset\": \"g\", \"num_nodes\": 3000, \"feature_dim\": 7,"
    " \"feature_dtype\": \"f16\", \"batches_per_epoch\": 10}";

static void check_spilled_hop(const char *dir, struct source *k, int h)
{
    char name[64];
    int64_t edges = 0;
    for (uint32_t i = 0; i < BATCHES; i++)
        edges += (int64_t)batch_of(k, 0, i)->hop[h].n_edges;
    snprintf(name, sizeof(name), "hop%d_src.npy", h + 1);
    uint32_t *src = read_in(dir, name, OG__NPY_I32, edges);
    snprintf(name, sizeof(name), "hop%d_dst.npy", h + 1);
    uint32_t *dst = read_in(dir, name, OG__NPY_I32, edges);
    snprintf(name, sizeof(name), "hop%d_ptr.npy", h + 1);
    int64_t *ptr = read_in(dir, name, OG__NPY_I64, BATCHES + 1);
    for (uint32_t i = 0; i < BATCHES; i++) {
        const struct og_block *block = &batch_of(k, 0, i)->hop[h];
        assert_int_equal(ptr[i + 1] - ptr[i], block->n_edges);
        for (uint32_t d = 0; d < block->n_dst; d++) {
            for (uint32_t e = block->indptr[d]; e < block->indptr[d + 1]; e++) {
                assert_int_equal(dst[ptr[i] + e], d);
                assert_int_equal(src[ptr[i] + e], block->src[e]);
            }
        }
    }
    free(src);
    free(dst);
    free(ptr);
}

static void a_spill_is_a_trace(void **state)
{
    (void)state;
    char *scratch = fresh_folder();
    struct source k;
    open_source(&k, 5, false);
    struct og_budget *b = og__budget_new(64 * OG_MIB);
    const struct og_superbatch_options opt = {
        .scratch = OG__ONE_PLACE(scratch), .n_hops = HOPS, .n_nodes = N};
    struct og_superbatch *s;
    assert_int_equal(og__superbatch_open(&s, &opt, b, NULL), 0);
    append_epoch(s, &k, 0);
    char *dir = only_piece(scratch);
    write_in(dir, "trace.json", description);
    struct og_trace_folder t;
    assert_int_equal(og__trace_open_dir(&t, dir, b, NULL), 0);
    assert_string_equal(t.said.dataset, "g");
    assert_int_equal(t.said.n_nodes, N);
    assert_int_equal(t.said.row_bytes, 14);
    assert_int_equal(t.batches_per_epoch, 10);
    struct og_trace expect = og__superbatch_trace(s);
    assert_int_equal(t.trace.n_batches, expect.n_batches);
    assert_memory_equal(t.trace.ptr, expect.ptr, (BATCHES + 1) * 8);
    assert_memory_equal(t.trace.ids, expect.ids, expect.ptr[BATCHES] * 4);
    og__trace_release(&t);
    for (int h = 0; h < HOPS; h++)
        check_spilled_hop(dir, &k, h);
    free(dir);
    og__superbatch_close(s);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    close_source(&k);
    remove_empty(scratch);
}

/* One batch of one seed on a graph of `n_nodes`, written and read back. */
static void check_id_type(uint64_t n_nodes, enum og__npy_type type)
{
    char *dir = fresh_folder();
    uint32_t indptr[2] = {0, 1};
    uint32_t src[1] = {1};
    uint32_t ids[2] = {(uint32_t)(n_nodes - 1), 2};
    const struct og_batch batch = {
        .n_hops = 1,
        .n_ids = 2,
        .ids = ids,
        .n_seeds = 1,
        .hop[0] = {.n_dst = 1, .n_src = 2, .n_edges = 1, .indptr = indptr, .src = src}};
    const struct og_trace_options opt = {.n_hops = 1, .n_nodes = n_nodes};
    struct og_trace_writer *w;
    assert_int_equal(og__trace_create(&w, OG__ONE_PLACE(dir), &opt, NULL), 0);
    assert_int_equal(og__trace_append(w, &batch, NULL, NULL), 0);
    assert_int_equal(og__trace_finish(w, NULL, NULL), 0);
    free(read_in(dir, "ids.npy", type, 2));
    free(read_in(dir, "seeds.npy", type, 1));
    char text[256];
    snprintf(text, sizeof(text),
             "{\"format\": 1, \"dataset\": \"g\", \"num_nodes\": %llu, \"feature_dim\": 7,"
             " \"feature_dtype\": \"u8\", \"batches_per_epoch\": 3}",
             (unsigned long long)n_nodes);
    write_in(dir, "trace.json", text);
    struct og_trace_folder t;
    assert_int_equal(og__trace_open_dir(&t, dir, NULL, NULL), 0);
    assert_int_equal(t.batches_per_epoch, 1);
    assert_memory_equal(t.trace.ids, ids, sizeof(ids));
    og__trace_release(&t);
    og__remove_tree(dir);
    free(dir);
}

static void ids_are_as_wide_as_they_must_be(void **state)
{
    (void)state;
    check_id_type((uint64_t)INT32_MAX, OG__NPY_I32);
    check_id_type((uint64_t)INT32_MAX + 1, OG__NPY_I64);
    check_id_type((uint64_t)UINT32_MAX - 1, OG__NPY_I64);
}

/* ---- when things go wrong ---- */

static void beyond_the_budget_keeps_what_was_there(void **state)
{
    (void)state;
    char *scratch = fresh_folder();
    struct source k;
    open_source(&k, 3, true);
    struct og_budget *b = og__budget_new(256 * OG_KIB);
    const struct og_superbatch_options opt = {.scratch = OG__ONE_PLACE(scratch),
                                              .memory = SIZE_MAX,
                                              .n_hops = HOPS,
                                              .n_nodes = N,
                                              .extras = OG__WITH_DEGREES};
    struct og_superbatch *s;
    struct og_batch_memory out;
    struct og_io_counts read;
    struct og_err err = {0};
    og__batch_init(&out, NULL);
    assert_int_equal(og__superbatch_open(&s, &opt, b, NULL), 0);
    uint32_t n = 0;
    int rc;
    while ((rc = og__superbatch_append(s, batch_of(&k, 0, n), &err)) == 0)
        n++;
    assert_int_equal(rc, -ENOMEM);
    assert_non_null(strstr(err.message, "trace"));
    assert_true(n > 2);
    assert_int_equal(og__superbatch_trace(s).n_batches, n);
    assert_int_equal(og__superbatch_finish(s, NULL), 0);
    for (uint32_t i = n; i-- > 0;) { /* in another order than usual */
        assert_int_equal(og__superbatch_replay(s, i, i + 1, &out, &read, NULL), 0);
        assert_same_batch(&out.batch, batch_of(&k, 0, i));
    }
    og__superbatch_close(s);
    og__batch_release(&out);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    close_source(&k);
    remove_empty(scratch);
}

static void a_spill_is_read_in_any_order(void **state)
{
    (void)state;
    char *scratch = fresh_folder();
    struct source k;
    open_source(&k, 4, true);
    const struct og_superbatch_options opt = {.scratch = OG__ONE_PLACE(scratch),
                                              .memory = 40000,
                                              .n_hops = HOPS,
                                              .n_nodes = N,
                                              .extras = OG__WITH_DEGREES};
    struct og_superbatch *s;
    struct og_batch_memory out;
    struct og_io_counts read;
    og__batch_init(&out, NULL);
    assert_int_equal(og__superbatch_open(&s, &opt, NULL, NULL), 0);
    append_epoch(s, &k, 0);
    for (uint32_t i = 0; i < BATCHES; i++) {
        uint32_t j = i * 7 % BATCHES;
        assert_int_equal(og__superbatch_replay(s, j, j + 1, &out, &read, NULL), 0);
        assert_same_batch(&out.batch, batch_of(&k, 0, j));
    }
    og__superbatch_close(s);
    og__batch_release(&out);
    close_source(&k);
    remove_empty(scratch);
}

/* Arrays that were changed meanwhile must not be followed out of bounds. */
static void a_changed_spill_is_refused(void **state)
{
    (void)state;
    static const char *const files[] = {"hop2_dst.npy", "hop3_src.npy"};
    for (size_t f = 0; f < OG_COUNT(files); f++) {
        char *scratch = fresh_folder();
        struct source k;
        open_source(&k, 4, false);
        const struct og_superbatch_options opt = {
            .scratch = OG__ONE_PLACE(scratch), .n_hops = HOPS, .n_nodes = N};
        struct og_superbatch *s;
        struct og_batch_memory out;
        struct og_io_counts read;
        struct og_err err = {0};
        og__batch_init(&out, NULL);
        assert_int_equal(og__superbatch_open(&s, &opt, NULL, NULL), 0);
        append_epoch(s, &k, 0);
        char *dir = only_piece(scratch);
        char *path = og__path_join(dir, files[f]);
        FILE *file = fopen(path, "r+");
        assert_non_null(file);
        const uint32_t wild = 0x7fffffff;
        assert_int_equal(fseek(file, 4096 + 100 * 4, SEEK_SET), 0);
        assert_int_equal(fwrite(&wild, 4, 1, file), 1);
        fclose(file);
        int rc = 0;
        for (uint32_t i = 0; rc == 0 && i < BATCHES; i++)
            rc = og__superbatch_replay(s, i, i + 1, &out, &read, &err);
        assert_int_equal(rc, -EIO);
        assert_non_null(strstr(err.message, files[f]));
        og__superbatch_close(s);
        og__batch_release(&out);
        close_source(&k);
        free(path);
        free(dir);
        remove_empty(scratch);
    }
}

/* In a child, where assertions cannot be said. */
#define EXPECT(x)                                                   \
    do {                                                            \
        if (!(x)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
            _exit(1);                                               \
        }                                                           \
    } while (0)

static int child_status(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Appends until a spill fails with `code`, which must leave no file, then works in memory. */
static void fill_up(const char *scratch, int code, uint32_t most)
{
    struct source k;
    open_source(&k, 6, true);
    struct og_budget *b = og__budget_new(64 * OG_MIB);
    const struct og_superbatch_options opt = {.scratch = OG__ONE_PLACE(scratch),
                                              .memory = 40000,
                                              .n_hops = HOPS,
                                              .n_nodes = N,
                                              .extras = OG__WITH_DEGREES};
    struct og_superbatch *s;
    struct og_err err = {0};
    struct og_batch_memory out;
    struct og_io_counts read;
    og__batch_init(&out, b);
    EXPECT(og__superbatch_open(&s, &opt, b, NULL) == 0);
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < most; i++)
        rc = og__superbatch_append(s, batch_of(&k, 0, i), &err);
    if (rc == 0)
        rc = og__superbatch_finish(s, &err);
    EXPECT(rc == code);
    EXPECT(strstr(err.message, scratch));
    EXPECT(test_entries(scratch) == 0);
    EXPECT(og__superbatch_written(s) > 0);
    EXPECT(og__superbatch_finish(s, NULL) == code);
    og__superbatch_clear(s);
    EXPECT(og__superbatch_append(s, batch_of(&k, 0, 0), NULL) == 0);
    EXPECT(og__superbatch_finish(s, NULL) == 0);
    EXPECT(og__superbatch_replay(s, 0, 1, &out, &read, NULL) == 0);
    og__superbatch_close(s);
    og__batch_release(&out);
    EXPECT(og__budget_used(b) == 0);
    og__budget_free(b);
    close_source(&k);
    EXPECT(test_entries(scratch) == 0);
}

static void too_large_a_file_fails_cleanly(void **state)
{
    (void)state;
    static const uint32_t most[] = {BATCHES, 5000}; /* fails when finished, when appended to */
    for (size_t i = 0; i < OG_COUNT(most); i++) {
        char *scratch = fresh_folder();
        pid_t pid = fork();
        if (pid == 0) {
            const struct rlimit limit = {8192, 8192};
            signal(SIGXFSZ, SIG_IGN);
            EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
            fill_up(scratch, -EFBIG, most[i]);
            _exit(0);
        }
        assert_int_equal(child_status(pid), 0);
        remove_empty(scratch);
    }
}

static void a_full_disk_fails_cleanly(void **state)
{
    (void)state;
    enum { NO_MOUNT = 77 };
    char *scratch = fresh_folder();
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
            _exit(NO_MOUNT);
        if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", scratch, "tmpfs", 0, "size=2m") < 0)
            _exit(NO_MOUNT);
        fill_up(scratch, -ENOSPC, 5000);
        _exit(0);
    }
    int status = child_status(pid);
    remove_empty(scratch);
    if (status == NO_MOUNT)
        skip();
    assert_int_equal(status, 0);
}

static void what_a_killed_process_spilled_goes(void **state)
{
    (void)state;
    char *scratch = fresh_folder();
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct source k;
        struct og_superbatch *s;
        open_source(&k, 8, false);
        const struct og_superbatch_options opt = {
            .scratch = OG__ONE_PLACE(scratch), .n_hops = HOPS, .n_nodes = N};
        EXPECT(og__superbatch_open(&s, &opt, NULL, NULL) == 0);
        for (uint32_t i = 0;; i++) {
            EXPECT(og__superbatch_append(s, batch_of(&k, 0, i), NULL) == 0);
            EXPECT(i != 10 || write(ready[1], "r", 1) == 1);
        }
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(child_status(pid), -SIGKILL);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(test_entries(scratch), 1);
    struct og_scratch *next;
    assert_int_equal(og__scratch_open(&next, OG__ONE_PLACE(scratch), NULL), 0);
    og__scratch_close(next);
    remove_empty(scratch);
}

/* ---- traces from outside ---- */

/* One JSON, offsets and ids as a folder; the code og__trace_open_dir gives. */
static int open_made_up(const char *json, const int64_t *ptr, int64_t n_ptr, const int64_t *ids,
                        int64_t n_ids)
{
    char *dir = fresh_folder();
    const struct {
        const char *name;
        const int64_t *data;
        int64_t n;
    } arrays[] = {{"ids_ptr.npy", ptr, n_ptr}, {"ids.npy", ids, n_ids}};
    write_in(dir, "trace.json", json);
    for (size_t i = 0; i < OG_COUNT(arrays); i++) {
        struct og_npy_writer *w;
        char *path = og__path_join(dir, arrays[i].name);
        assert_int_equal(og__npy_create(&w, path, OG__NPY_I64, 1, 1, NULL), 0);
        assert_int_equal(og__npy_append(w, arrays[i].data, arrays[i].n, NULL), 0);
        assert_int_equal(og__npy_finish(w, NULL, NULL), 0);
        free(path);
    }
    struct og_trace_folder t;
    struct og_err err = {0};
    struct og_budget *b = og__budget_new(OG_MIB);
    int rc = og__trace_open_dir(&t, dir, b, &err);
    assert_int_equal(rc < 0, err.message[0] != 0);
    if (rc == 0)
        og__trace_release(&t);
    assert_int_equal(og__budget_used(b), 0);
    og__budget_free(b);
    og__remove_tree(dir);
    free(dir);
    return rc;
}

static void a_made_up_trace_is_refused(void **state)
{
    (void)state;
    static const int64_t ptr[] = {0, 2, 4};
    static const int64_t ids[] = {1, 2, 2999, 1};
    assert_int_equal(open_made_up(description, ptr, 3, ids, 4), 0);
    assert_int_equal(open_made_up(description, ptr, 1, ids, 0), 0); /* no batch at all */
    assert_int_equal(open_made_up(description, ptr, 0, ids, 0), -EINVAL);
    assert_int_equal(open_made_up(description, ptr, 3, ids, 3), -EINVAL);
    assert_int_equal(open_made_up("{}", ptr, 3, ids, 4), -EINVAL);
    static const int64_t bad_ptr[][3] = {{1, 2, 4}, {0, 5, 4}, {0, -1, 4}, {0, 2, 3}};
    for (size_t i = 0; i < OG_COUNT(bad_ptr); i++)
        assert_int_equal(open_made_up(description, bad_ptr[i], 3, ids, 4), -EINVAL);
    static const int64_t bad_ids[][4] = {
        {1, 1, 2, 3}, {1, 2, 3, 3000}, {1, 2, 3, -1}, {1, 2, 3, ((int64_t)1 << 32) + 1}};
    for (size_t i = 0; i < OG_COUNT(bad_ids); i++)
        assert_int_equal(open_made_up(description, ptr, 3, bad_ids[i], 4), -EINVAL);
}

/* What the command writes is read: each batch begins with its seeds. */
static void a_sampled_trace_is_read(void **state)
{
    (void)state;
    char *root = fresh_folder();
    char *dataset = og__path_join(root, "graph");
    char *dir = og__path_join(root, "trace");
    struct og_generate g;
    struct og_options opt;
    og__generate_init(&g);
    g.nodes = 2000;
    g.dim = 12;
    g.threads = 1;
    assert_int_equal(og_generate(dataset, &g, NULL, NULL), 0);
    og__options_init(&opt);
    opt.epochs = 2;
    opt.batch = 64;
    assert_int_equal(og_sample(dataset, dir, false, &opt, NULL, NULL, NULL), 0);
    struct og_trace_folder t;
    assert_int_equal(og__trace_open_dir(&t, dir, NULL, NULL), 0);
    assert_string_equal(t.said.dataset, "graph");
    assert_int_equal(t.said.n_nodes, 2000);
    assert_int_equal(t.said.row_bytes, 48);
    assert_int_equal(t.trace.n_batches, 2 * t.batches_per_epoch);
    int64_t *ptr = read_in(dir, "seeds_ptr.npy", OG__NPY_I64, t.trace.n_batches + (int64_t)1);
    uint32_t *seeds = read_in(dir, "seeds.npy", OG__NPY_I32, ptr[t.trace.n_batches]);
    for (uint32_t i = 0; i < t.trace.n_batches; i++)
        assert_memory_equal(seeds + ptr[i], t.trace.ids + t.trace.ptr[i],
                            (size_t)(ptr[i + 1] - ptr[i]) * 4);
    free(ptr);
    free(seeds);
    og__trace_release(&t);
    free(dataset);
    free(dir);
    og__remove_tree(root);
    free(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay_gives_back_what_was_sampled),
        cmocka_unit_test(the_fullest_folder_counts),
        cmocka_unit_test(what_is_dropped_frees_its_disk),
        cmocka_unit_test(a_spill_is_a_trace),
        cmocka_unit_test(ids_are_as_wide_as_they_must_be),
        cmocka_unit_test(a_spill_is_read_in_any_order),
        cmocka_unit_test(beyond_the_budget_keeps_what_was_there),
        cmocka_unit_test(a_changed_spill_is_refused),
        cmocka_unit_test(too_large_a_file_fails_cleanly),
        cmocka_unit_test(a_full_disk_fails_cleanly),
        cmocka_unit_test(what_a_killed_process_spilled_goes),
        cmocka_unit_test(a_made_up_trace_is_refused),
        cmocka_unit_test(a_sampled_trace_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
