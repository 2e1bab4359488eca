/* base: scratch folders go with their process, and nothing else does. */
#include "support/testing.h"

#include "base/scratch.h"
#include "support/files.h"
#include "support/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[TEST_PATH];

static int make_root(void **state)
{
    (void)state;
    return test_folder(root, "scratch") ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    return rmdir(root); /* every test leaves it empty */
}

/* root/name, and a path within it. */
static const char *at(const char *name)
{
    static char path[4][512];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", root, name);
    return path[turn];
}

static void touch(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void touch_in(const struct og_scratch *s, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", og__scratch_path(s), name);
    touch(path);
}

static bool there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void it_goes_with_what_is_in_it(void **state)
{
    (void)state;
    struct og_scratch *s;
    assert_int_equal(og__scratch_open(&s, OG__ONE_PLACE(root), NULL), 0);
    assert_int_equal(test_entries(root), 1);
    touch_in(s, "a");
    char inner[256];
    snprintf(inner, sizeof(inner), "%s/inner", og__scratch_path(s));
    assert_int_equal(mkdir(inner, 0700), 0);
    touch_in(s, "inner/b");
    og__scratch_clear(s);
    assert_int_equal(test_entries(og__scratch_path(s)), 1); /* the lock */
    touch_in(s, "a");
    og__scratch_close(s);
    assert_int_equal(test_entries(root), 0);
}

static void its_parent_goes_only_if_it_was_made_and_is_empty(void **state)
{
    (void)state;
    struct og_scratch *s;
    assert_int_equal(og__scratch_open(&s, OG__ONE_PLACE(at("under")), NULL), 0);
    og__scratch_close(s);
    assert_false(there(at("under")));

    assert_int_equal(og__scratch_open(&s, OG__ONE_PLACE(at("under")), NULL), 0);
    touch(at("under/mine"));
    og__scratch_close(s);
    assert_true(there(at("under/mine")));
    assert_int_equal(unlink(at("under/mine")), 0);

    assert_int_equal(og__scratch_open(&s, OG__ONE_PLACE(at("under")), NULL), 0);
    og__scratch_close(s);
    assert_int_equal(rmdir(at("under")), 0);
}

static void where_no_folder_can_be_is_said(void **state)
{
    (void)state;
    struct og_scratch *s;
    struct og_err err = {0};
    touch(at("file"));
    assert_int_equal(og__scratch_open(&s, OG__ONE_PLACE(at("file")), &err), -ENOTDIR);
    assert_non_null(strstr(err.message, "file"));
    assert_null(s);
    assert_int_equal(unlink(at("file")), 0);
}

/* Runs fn in a child and waits until it has said that it is ready. */
static pid_t start(void (*fn)(int ready))
{
    int fds[2];
    char byte;
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fn(fds[1]);
        _exit(0);
    }
    close(fds[1]);
    assert_int_equal(read(fds[0], &byte, 1), 1);
    close(fds[0]);
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void open_and_stay(int ready)
{
    struct og_scratch *s;
    if (og__scratch_open(&s, OG__ONE_PLACE(root), NULL) < 0)
        _exit(1);
    touch_in(s, "data");
    if (write(ready, "r", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void what_a_killed_process_left_goes(void **state)
{
    (void)state;
    struct og_scratch *s;
    pid_t pid = start(open_and_stay);
    assert_int_equal(test_entries(root), 1);
    assert_int_equal(og__scratch_open(&s, OG__ONE_PLACE(root), NULL), 0);
    assert_int_equal(test_entries(root), 2); /* it lives: ignored */
    og__scratch_close(s);
    assert_int_equal(test_entries(root), 1);
    end(pid);
    assert_int_equal(test_entries(root), 1);
    assert_int_equal(og__scratch_open(&s, OG__ONE_PLACE(root), NULL), 0);
    assert_int_equal(test_entries(root), 1); /* its own */
    og__scratch_close(s);
    assert_int_equal(test_entries(root), 0);
}

/* NFS makes of flock a lock that excludes writers, for which the descriptor must be one. */
static bool on_nfs;
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

int __wrap_flock(int fd, int operation)
{
    if (on_nfs && (operation & LOCK_EX) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
        errno = EBADF;
        return -1;
    }
    return __real_flock(fd, operation);
}

static void what_was_left_on_nfs_goes(void **state)
{
    on_nfs = true;
    what_a_killed_process_left_goes(state);
    on_nfs = false;
}

/* A folder as a dead process would leave it. */
static void make_stale(const char *name)
{
    char path[256];
    assert_int_equal(mkdir(at(name), 0700), 0);
    snprintf(path, sizeof(path), "%s/lock", name);
    touch(at(path));
}

static void sign(const char *name, const char *host)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/lock", name);
    int fd = open(at(path), O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, host, strlen(host)), (ssize_t)strlen(host));
    close(fd);
}

static void open_and_close(void)
{
    struct og_scratch *s;
    assert_int_equal(og__scratch_open(&s, OG__ONE_PLACE(root), NULL), 0);
    og__scratch_close(s);
}

/* Where no file can be opened it cannot be emptied: the next start does. */
static void what_could_not_be_emptied_goes_later(void **state)
{
    (void)state;
    struct og_scratch *s;
    struct rlimit few;
    assert_int_equal(og__scratch_open(&s, OG__ONE_PLACE(root), NULL), 0);
    touch_in(s, "left");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &few), 0);
    const rlim_t most = few.rlim_cur;
    few.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    og__scratch_close(s);
    few.rlim_cur = most;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(test_entries(root), 1);
    og__scratch_sweep(OG__ONE_PLACE(root));
    assert_int_equal(test_entries(root), 0);
}

/* Whose locks need not be seen here. */
static void what_another_host_uses_stays(void **state)
{
    (void)state;
    char host[256] = {0};
    assert_int_equal(gethostname(host, sizeof(host) - 2), 0);
    make_stale("outgrow-scratch-1-0");
    sign("outgrow-scratch-1-0", host);
    make_stale("outgrow-scratch-1-1");
    host[strlen(host)] = 'x';
    sign("outgrow-scratch-1-1", host);
    open_and_close();
    assert_false(there(at("outgrow-scratch-1-0")));
    assert_true(there(at("outgrow-scratch-1-1/lock")));
    assert_int_equal(unlink(at("outgrow-scratch-1-1/lock")), 0);
    assert_int_equal(rmdir(at("outgrow-scratch-1-1")), 0);
}

static void links_are_not_followed(void **state)
{
    (void)state;
    assert_int_equal(mkdir(at("kept"), 0700), 0);
    touch(at("kept/lock"));
    touch(at("kept/data"));
    make_stale("outgrow-scratch-1-0");
    assert_int_equal(symlink(at("kept"), at("outgrow-scratch-1-0/link")), 0);
    assert_int_equal(symlink(at("kept"), at("outgrow-scratch-1-1")), 0); /* the folder itself */
    assert_int_equal(mkdir(at("outgrow-scratch-1-2"), 0700), 0);
    assert_int_equal(symlink(at("kept/lock"), at("outgrow-scratch-1-2/lock")), 0);
    open_and_close();
    assert_false(there(at("outgrow-scratch-1-0")));
    assert_true(there(at("kept/data")));
    assert_true(there(at("kept/lock")));
    assert_int_equal(unlink(at("outgrow-scratch-1-1")), 0);
    assert_int_equal(unlink(at("outgrow-scratch-1-2/lock")), 0);
    assert_int_equal(rmdir(at("outgrow-scratch-1-2")), 0);
    assert_int_equal(unlink(at("kept/lock")), 0);
    assert_int_equal(unlink(at("kept/data")), 0);
    assert_int_equal(rmdir(at("kept")), 0);
}

static void what_is_not_ours_stays(void **state)
{
    (void)state;
    static const char *const names[] = {"outgrow-scratch-1-2x",  "outgrow-scratch-1",
                                        "outgrow-scratch--1",    "outgrow-scratch-1-",
                                        "outgrow-scratch-x-1",   "outgrow-scratch-1-1-1",
                                        "my-outgrow-scratch-1-1"};
    for (size_t i = 0; i < OG_COUNT(names); i++)
        make_stale(names[i]);
    assert_int_equal(mkdir(at("outgrow-scratch-2-0"), 0700), 0); /* no lock, not empty */
    touch(at("outgrow-scratch-2-0/data"));
    assert_int_equal(mkdir(at("outgrow-scratch-2-1"), 0700), 0); /* its lock is no plain file */
    assert_int_equal(mkfifo(at("outgrow-scratch-2-1/lock"), 0600), 0);
    touch(at("outgrow-scratch-2-2"));
    assert_int_equal(mkdir(at("outgrow-scratch-2-3"), 0700), 0); /* cut off right after mkdir */
    open_and_close();
    for (size_t i = 0; i < OG_COUNT(names); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/lock", names[i]);
        assert_int_equal(unlink(at(path)), 0);
        assert_int_equal(rmdir(at(names[i])), 0);
    }
    assert_int_equal(unlink(at("outgrow-scratch-2-0/data")), 0);
    assert_int_equal(rmdir(at("outgrow-scratch-2-0")), 0);
    assert_int_equal(unlink(at("outgrow-scratch-2-1/lock")), 0);
    assert_int_equal(rmdir(at("outgrow-scratch-2-1")), 0);
    assert_int_equal(unlink(at("outgrow-scratch-2-2")), 0);
    assert_false(there(at("outgrow-scratch-2-3")));
}

/* Opens and closes over and over; its folder must be there, with what was put in, until closed. */
static void come_and_go(int ready)
{
    if (write(ready, "r", 1) != 1)
        _exit(1);
    for (int i = 0; i < 300; i++) {
        struct og_scratch *s;
        if (i % 32 == 0)
            rmdir(at("busy")); /* as if its maker had gone */
        char path[256];
        if (og__scratch_open(&s, OG__ONE_PLACE(at("busy")), NULL) < 0)
            _exit(2);
        snprintf(path, sizeof(path), "%s/data", og__scratch_path(s));
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd < 0)
            _exit(3);
        close(fd);
        if (i % 8 == 0)
            usleep(200);
        if (unlink(path) < 0)
            _exit(4);
        og__scratch_close(s);
    }
}

static void many_processes_share_a_place(void **state)
{
    (void)state;
    enum { PROCESSES = 6 };
    pid_t pid[PROCESSES];
    for (int i = 0; i < PROCESSES; i++)
        pid[i] = start(come_and_go);
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
    rmdir(at("busy")); /* its maker may have gone before others */
    assert_false(there(at("busy")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_with_what_is_in_it),
        cmocka_unit_test(its_parent_goes_only_if_it_was_made_and_is_empty),
        cmocka_unit_test(where_no_folder_can_be_is_said),
        cmocka_unit_test(what_a_killed_process_left_goes),
        cmocka_unit_test(what_was_left_on_nfs_goes),
        cmocka_unit_test(what_another_host_uses_stays),
        cmocka_unit_test(what_could_not_be_emptied_goes_later),
        cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(what_is_not_ours_stays),
        cmocka_unit_test(many_processes_share_a_place),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
