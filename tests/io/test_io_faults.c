/* io: what goes wrong. Files cut short, disks that fail, kernels and containers that refuse. */
#include "io/io_fixture.h"

#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ENGINE(NAME, name) &og__io_##name,
static const struct og_io_ops *const engines[] = {OG__IO_ENGINES(ENGINE)};

static bool here(const struct og_io_ops *ops)
{
    const char *reason;
    return ops->available(&reason);
}

/* ---- an engine that fails on purpose ---- */

/* Reads when it is polled for completions, the latest request first. One at a time is enough: the
 * functions of the table find their orders here. */
static struct {
    uint64_t bad_offset; /* requests that cover this byte fail */
    int code;
    int refuse_submit_after, refuse_reap_after; /* calls; < 0 = never */
} orders;

struct og_io_engine {
    int fd;
    struct og_io_request *held[64];
    size_t n;
};

static bool lifo_available(const char **reason)
{
    (void)reason;
    return true;
}

static int lifo_open(struct og_io_engine **out, const struct og_io_setup *s, struct og_err *err)
{
    (void)err;
    *out = calloc(1, sizeof(**out));
    (*out)->fd = s->files[0].fd;
    return 0;
}

static void lifo_close(struct og_io_engine *e)
{
    free(e);
}

static int lifo_submit(struct og_io_engine *e, struct og_io_request **reqs, size_t n,
                       struct og_err *err)
{
    if (orders.refuse_submit_after-- == 0)
        return og__fail(err, -ENOMEM, "h", "submit refused");
    for (size_t i = 0; i < n; i++) {
        assert_true(e->n < OG_COUNT(e->held));
        e->held[e->n++] = reqs[i];
    }
    return 0;
}

static int lifo_reap(struct og_io_engine *e, struct og_io_request **reqs, size_t min, size_t max,
                     struct og_err *err)
{
    if (orders.refuse_reap_after-- == 0)
        return og__fail(err, -EINVAL, "h", "reap refused");
    size_t n = OG_MIN(OG_MIN(min, max), e->n);
    for (size_t i = 0; i < n; i++) {
        struct og_io_request *q = reqs[i] = e->held[--e->n];
        bool bad = orders.bad_offset >= q->offset && orders.bad_offset < q->offset + q->length;
        q->result = bad ? orders.code : (int32_t)pread(e->fd, q->data, q->length, (off_t)q->offset);
    }
    return (int)n;
}

static const struct og_io_ops lifo = {
    .name = "lifo",
    .available = lifo_available,
    .wants_direct = false,
    .open = lifo_open,
    .close = lifo_close,
    .submit = lifo_submit,
    .reap = lifo_reap,
};

enum { ROWS = 3000, BYTES = 1000, JOBS = 3 };

struct three {
    struct scratch s;
    struct og_budget *budget;
    struct og_reader *reader;
    uint32_t *rows;
    struct og_read_job jobs[JOBS];
    struct og_err err;
};

static void three_open(struct three *t)
{
    *t = (struct three){.budget = og__budget_new(0)};
    scratch_open(&t->s, (size_t)ROWS * BYTES);
    t->rows = calloc(ROWS, sizeof(*t->rows));
    size_t n = pick(SET_EVEN, ROWS, t->rows);
    for (int j = 0; j < JOBS; j++)
        t->jobs[j] =
            (struct og_read_job){.rows = t->rows, .n = n, .out = calloc((size_t)ROWS * BYTES, 1)};
    struct og_reader_options opt = {.profile = test_profile, .depth = 16};
    opt.profile.iops = 1e9; /* no gap: a request a row */
    assert_int_equal(
        og__reader_open_on(&t->reader, &lifo, t->s.path, 0, BYTES, ROWS, &opt, t->budget, &t->err),
        0);
}

static void three_close(struct three *t)
{
    og__reader_close(t->reader);
    for (int j = 0; j < JOBS; j++)
        free(t->jobs[j].out);
    free(t->rows);
    assert_int_equal(og__budget_used(t->budget), 0);
    og__budget_free(t->budget);
    scratch_close(&t->s);
}

static void completions_in_any_order_are_fine(void **state)
{
    (void)state;
    struct three t;
    orders.code = 0;
    orders.bad_offset = UINT64_MAX;
    orders.refuse_submit_after = orders.refuse_reap_after = -1;
    three_open(&t);
    for (int j = 0; j < JOBS; j++)
        assert_int_equal(og__reader_submit(t.reader, &t.jobs[j], &t.err), 0);
    for (int j = 0; j < JOBS; j++) {
        assert_int_equal(og__reader_wait(t.reader, &t.jobs[j], &t.err), 0);
        check_rows(&t.s, 0, BYTES, &t.jobs[j]);
    }
    three_close(&t);
}

static void an_io_error_names_file_and_place_and_drains(void **state)
{
    (void)state;
    struct three t;
    orders.code = -EIO;
    orders.bad_offset = 2000 * BYTES + 5;
    orders.refuse_submit_after = orders.refuse_reap_after = -1;
    three_open(&t);
    for (int j = 0; j < JOBS; j++)
        assert_int_equal(og__reader_submit(t.reader, &t.jobs[j], &t.err), 0);
    assert_int_equal(og__reader_wait(t.reader, &t.jobs[0], &t.err), -EIO);
    assert_non_null(strstr(t.err.message, t.s.path));
    assert_non_null(strstr(t.err.message, "2000000"));
    assert_true(t.err.hint[0] != 0);
    for (int j = 0; j < JOBS; j++) /* nothing may write to them any more */
        assert_int_equal(t.jobs[j].in_flight, 0);
    for (int j = 1; j < JOBS; j++) {
        struct og_err err = {0};
        assert_int_equal(og__reader_wait(t.reader, &t.jobs[j], &err), -EIO);
        assert_non_null(strstr(err.message, "2000000"));
    }
    /* A passing fault: the reader continues. */
    struct og_err err = {0};
    orders.bad_offset = UINT64_MAX;
    assert_int_equal(og__reader_submit(t.reader, &t.jobs[0], &err), 0);
    assert_int_equal(og__reader_wait(t.reader, &t.jobs[0], &err), 0);
    check_rows(&t.s, 0, BYTES, &t.jobs[0]);
    three_close(&t);
}

/* The engine itself fails, at every possible moment: submit k or reap k. */
static void a_failing_engine_ends_every_job(void **state)
{
    (void)state;
    orders.code = 0;
    orders.bad_offset = UINT64_MAX;
    for (int k = 0; k < 60; k++) {
        struct three t;
        three_open(&t);
        bool submit = k % 2;
        orders.refuse_submit_after = submit ? k / 2 : -1;
        orders.refuse_reap_after = submit ? -1 : k / 2;
        int rc = 0;
        for (int j = 0; j < JOBS && rc == 0; j++)
            rc = og__reader_submit(t.reader, &t.jobs[j], &t.err);
        for (int j = 0; j < JOBS && rc == 0; j++)
            rc = og__reader_wait(t.reader, &t.jobs[j], &t.err);
        assert_int_equal(rc, submit ? -ENOMEM : -EINVAL);
        assert_non_null(strstr(t.err.message, submit ? "submit refused" : "reap refused"));
        three_close(&t);
    }
}

/* ---- files that are not what they were ---- */

static void a_short_file_is_refused_at_open(void **state)
{
    (void)state;
    struct scratch s;
    struct og_reader *r;
    const struct og_reader_options opt = {.profile = test_profile};
    scratch_open(&s, 10000);
    for (size_t e = 0; e < OG_COUNT(engines); e++) {
        struct og_err err = {0};
        if (!here(engines[e]))
            continue;
        assert_int_equal(og__reader_open_on(&r, engines[e], s.path, 1, 1000, 10, &opt, NULL, &err),
                         -EIO);
        assert_non_null(strstr(err.message, "ends early"));
        err = (struct og_err){0};
        assert_int_equal(og__reader_open_on(&r, engines[e], s.path, UINT64_MAX - 10, 1000,
                                            UINT64_MAX / 500, &opt, NULL, &err),
                         -EINVAL);
        err = (struct og_err){0};
        assert_int_equal(og__reader_open_on(&r, engines[e], s.dir, 0, 1000, 10, &opt, NULL, &err),
                         -EISDIR);
        err = (struct og_err){0};
        assert_int_equal(
            og__reader_open_on(&r, engines[e], "/nowhere/at/all", 0, 1, 1, &opt, NULL, &err),
            -ENOENT);
        assert_non_null(strstr(err.message, "/nowhere/at/all"));
    }
    scratch_close(&s);
}

/* Cut at a block, inside a block, to nothing. No engine may hang, and mmap may not be killed. */
static void a_file_cut_while_open_is_told(void **state)
{
    (void)state;
    const off_t cuts[] = {262144, 100000, 600, 0};
    const struct og_reader_options opt = {.profile = test_profile};
    for (size_t e = 0; e < OG_COUNT(engines); e++) {
        for (size_t c = 0; c < OG_COUNT(cuts) && here(engines[e]); c++) {
            struct scratch s;
            struct og_reader *r;
            struct og_err err = {0};
            uint32_t rows[500];
            scratch_open(&s, 500 * 1000);
            char *out = malloc(500 * 1000);
            struct og_read_job job = {.rows = rows, .n = pick(SET_EVEN, 500, rows), .out = out};
            assert_int_equal(
                og__reader_open_on(&r, engines[e], s.path, 0, 1000, 500, &opt, NULL, &err), 0);
            assert_int_equal(truncate(s.path, cuts[c]), 0);
            int rc = og__reader_submit(r, &job, &err);
            rc = rc < 0 ? rc : og__reader_wait(r, &job, &err);
            assert_int_equal(rc, -EIO);
            assert_non_null(strstr(err.message, "ends early"));
            assert_non_null(strstr(err.message, s.path));
            og__reader_close(r);
            free(out);
            scratch_close(&s);
        }
    }
}

static void a_row_beyond_the_file_is_refused(void **state)
{
    (void)state;
    struct scratch s;
    struct og_reader *r;
    struct og_err err = {0};
    const uint32_t rows[] = {1, 10};
    char out[2000];
    const struct og_reader_options opt = {.profile = test_profile};
    struct og_read_job job = {.rows = rows, .n = 2, .out = out};
    scratch_open(&s, 10000);
    assert_int_equal(og__reader_open(&r, s.path, 0, 1000, 10, &opt, NULL, &err), 0);
    assert_int_equal(og__reader_submit(r, &job, &err), -EINVAL);
    assert_int_equal(og__reader_wait(r, &job, &err), -EINVAL);
    og__reader_close(r);
    scratch_close(&s);
}

/* A direct read that stops between blocks, at the end, or nowhere. */
static void short_reads_go_on_from_whole_blocks(void **state)
{
    (void)state;
    const struct og_io_file direct = {.size = 10000, .align_offset = 512, .align_memory = 512};
    const struct og_io_file plain = {.size = 10000, .align_offset = 1, .align_memory = 1};
    struct og_io_request q = {.offset = 512, .length = 4096};
    assert_false(og__io_advance(&direct, &q, 1000));
    assert_int_equal(q.done, 512);
    assert_false(og__io_advance(&direct, &q, 512));
    assert_int_equal(q.done, 1024);
    assert_true(og__io_advance(&direct, &q, 3072));
    assert_int_equal(q.result, 4096);
    q = (struct og_io_request){.offset = 9728, .length = 512};
    assert_true(og__io_advance(&direct, &q, 272)); /* the file's tail */
    assert_int_equal(q.result, 272);
    q = (struct og_io_request){.offset = 512, .length = 4096};
    assert_true(og__io_advance(&direct, &q, 88)); /* shrunk: the same would come again */
    assert_int_equal(q.result, 88);
    q = (struct og_io_request){.offset = 0, .length = 100};
    assert_false(og__io_advance(&plain, &q, 1));
    assert_true(og__io_advance(&plain, &q, 0));
    assert_int_equal(q.result, 1);
}

/* ---- refusals, each in a child of its own ---- */

struct child {
    struct scratch *s;
    struct heard heard;
    const char *engine;
};

/* Read with the engine that AUTO finds, in this process as it is now. 0 if the bytes are right. */
static int read_with_auto(struct child *c)
{
    struct og_reader *r;
    struct og_err err = {0};
    uint32_t rows[100];
    static char out[100 * 1000];
    struct og_log log = {.fn = hear, .arg = &c->heard};
    const struct og_reader_options opt = {.io = OG_IO_AUTO, .profile = test_profile, .log = &log};
    struct og_read_job job = {.rows = rows, .n = pick(SET_EVEN, 100, rows), .out = out};
    if (og__reader_open(&r, c->s->path, 0, 1000, 100, &opt, NULL, &err) < 0 ||
        og__reader_submit(r, &job, &err) < 0 || og__reader_wait(r, &job, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    c->engine = og__reader_engine(r);
    for (size_t i = 0; i < job.n; i++)
        if (memcmp(out + i * 1000, c->s->bytes + rows[i] * 1000, 1000) != 0)
            return 2;
    og__reader_close(r);
    return 0;
}

/* Runs `change` then the reads in a child; what the child says of itself is checked there. */
static void in_child(int (*body)(struct child *c, int arg), int arg)
{
    struct scratch s;
    int status;
    scratch_open(&s, 100 * 1000);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct child c = {.s = &s};
        int rc = body(&c, arg);
        if (rc != 0)
            fprintf(stderr, "child: %d, engine %s, heard: %s\n", rc, c.engine ? c.engine : "-",
                    c.heard.text);
        _exit(rc);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    scratch_close(&s);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* From here on io_uring_setup fails with this errno, as under Docker's seccomp profile. */
static int refuse_io_uring(int code)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = OG_COUNT(filter), .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

static int refused_ring(struct child *c, int code)
{
    if (refuse_io_uring(code) < 0)
        return 77;
    int rc = read_with_auto(c);
    if (rc != 0)
        return rc;
    if (strcmp(c->engine, "pread") != 0)
        return 3;
    return strstr(c->heard.text, "engine uring") && strstr(c->heard.text, "pread") ? 0 : 4;
}

static void without_io_uring_pread_reads(void **state)
{
    (void)state;
    in_child(refused_ring, ENOSYS);
    in_child(refused_ring, EPERM);
    in_child(refused_ring, ENOMEM);
}

/* An ordinary user with `kib` of lockable memory. One of its own, because the kernel counts by user
 * and gives back late. */
static int ordinary_user(int kib)
{
    struct rlimit limit = {(rlim_t)kib * 1024, (rlim_t)kib * 1024};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) < 0)
        return 77;
    if (getuid() != 0)
        return 0;
    return setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(60000 + (uid_t)kib) == 0 ? 0
                                                                                            : 77;
}

static int little_lockable(struct child *c, int kib)
{
    int rc = here(&og__io_uring) ? ordinary_user(kib) : 77;
    if (rc != 0)
        return rc;
    rc = read_with_auto(c);
    if (rc != 0)
        return rc;
    bool plain = strstr(c->heard.text, "ulimit -l") != NULL;
    if (kib >= 8192) /* the usual limit: everything registered, nothing to say */
        return strcmp(c->engine, "uring") != 0 || plain ? 3 : 0;
    if (kib >= 1024) /* the ring, but not its buffers */
        return strcmp(c->engine, "uring") != 0 || !plain ? 4 : 0;
    return strcmp(c->engine, "pread") != 0 && !plain ? 5 : 0; /* newer kernels count rings, too */
}

static void eight_mib_of_lockable_memory_do(void **state)
{
    (void)state;
    in_child(little_lockable, 8192);
}

/* Reader after reader: what one had locked is free for the next. */
static int many_readers(struct child *c, int kib)
{
    int rc = here(&og__io_uring) ? ordinary_user(kib) : 77;
    for (int i = 0; rc == 0 && i < 20; i++) {
        rc = read_with_auto(c);
        if (rc == 0 && (strcmp(c->engine, "uring") != 0 || c->heard.text[0]))
            rc = 3;
    }
    return rc;
}

static void closed_readers_give_lockable_memory_back(void **state)
{
    (void)state;
    in_child(many_readers, 8191);
}

static void without_lockable_memory_plain_buffers_do(void **state)
{
    (void)state;
    in_child(little_lockable, 1024);
    in_child(little_lockable, 64);
    in_child(little_lockable, 0);
}

/* tmpfs: memory is the disk, and O_DIRECT means nothing. */
static void tmpfs_is_read_buffered(void **state)
{
    (void)state;
    struct stat st;
    if (stat("/dev/shm", &st) < 0 || access("/dev/shm", W_OK) < 0)
        skip();
    const char *before = getenv("TMPDIR");
    char *keep = before ? strdup(before) : NULL;
    setenv("TMPDIR", "/dev/shm", 1);
    struct scratch s;
    scratch_open(&s, 100 * 1000);
    struct child c = {.s = &s};
    struct og_io_file f;
    assert_int_equal(og__io_file_open(&f, s.path, true, NULL, NULL), 0);
    assert_false(f.direct);
    og__io_file_close(&f);
    assert_int_equal(read_with_auto(&c), 0);
    assert_non_null(strstr(c.heard.text, "page cache"));
    scratch_close(&s);
    if (keep)
        setenv("TMPDIR", keep, 1);
    else
        unsetenv("TMPDIR");
    free(keep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions_in_any_order_are_fine),
        cmocka_unit_test(an_io_error_names_file_and_place_and_drains),
        cmocka_unit_test(a_failing_engine_ends_every_job),
        cmocka_unit_test(a_short_file_is_refused_at_open),
        cmocka_unit_test(a_file_cut_while_open_is_told),
        cmocka_unit_test(a_row_beyond_the_file_is_refused),
        cmocka_unit_test(short_reads_go_on_from_whole_blocks),
        cmocka_unit_test(without_io_uring_pread_reads),
        cmocka_unit_test(eight_mib_of_lockable_memory_do),
        cmocka_unit_test(closed_readers_give_lockable_memory_back),
        cmocka_unit_test(without_lockable_memory_plain_buffers_do),
        cmocka_unit_test(tmpfs_is_read_buffered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
