/* Workers that end as they should not, and who started them. This program is all of them: as a
 * worker it plays the part that OG_PART names. */
#include "support/testing.h"

#include "comm/comm.h"
#include "support/files.h"
#include "support/folder.h"

#include <outgrow/outgrow.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILED = 3 };

static char folder[TEST_PATH];

/* ---- parts; each returns what the worker ends with ---- */

static void leave_note(const char *name)
{
    char path[TEST_PATH + 32];
    snprintf(path, sizeof(path), "%s/%s", getenv("OG_FOLDER"), name);
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

static bool has_note(const char *name)
{
    char path[TEST_PATH + 32];
    snprintf(path, sizeof(path), "%s/%s", getenv("OG_FOLDER"), name);
    return access(path, F_OK) == 0;
}

static void wait_for_note(const char *name)
{
    while (!has_note(name))
        usleep(1000);
}

/* Worker 1 fails while worker 0 writes, which takes longer than others have. */
static int fail_while_one_writes(struct og_comm *c)
{
    if (c->rank == 1) {
        wait_for_note("begun");
        return FAILED;
    }
    signal(SIGTERM, SIG_IGN); /* its handler asks to stop, no more */
    og__comm_guard(c, true);
    leave_note("begun");
    usleep(1500000);
    leave_note("written");
    return 0;
}

/* The same, but it was through with writing, and hangs. */
static int fail_while_one_hangs(struct og_comm *c)
{
    if (c->rank == 1) {
        wait_for_note("begun");
        return FAILED;
    }
    signal(SIGTERM, SIG_IGN);
    og__comm_guard(c, true);
    og__comm_guard(c, false);
    leave_note("begun");
    while (has_note("begun"))
        pause();
    return 0;
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

/* Until it is stopped; what it has it writes first, which takes some time. */
static int stop(struct og_comm *c)
{
    char name[16];
    signal(SIGTERM, count_signal);
    snprintf(name, sizeof(name), "worker-%d", c->rank);
    leave_note(name);
    while (signals == 0)
        usleep(1000);
    usleep(200000);
    snprintf(name, sizeof(name), "stopped-%d", c->rank);
    leave_note(name);
    return 130;
}

/* Worker 0 is ended by the signal, for which it has no handler. Worker 1 fails, since the other is
 * gone. `before`: worker 1 ends first. */
static int miss_one(struct og_comm *c, bool before)
{
    char name[16];
    sigset_t requested;
    sigemptyset(&requested);
    sigaddset(&requested, SIGTERM);
    sigprocmask(SIG_BLOCK, &requested, NULL);
    snprintf(name, sizeof(name), "worker-%d", c->rank);
    leave_note(name);
    sigwaitinfo(&requested, NULL);
    if ((c->rank == 0) == before)
        usleep(300000);
    if (c->rank == 1)
        return FAILED;
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
    sigprocmask(SIG_UNBLOCK, &requested, NULL);
    return 0;
}

static int miss_one_before(struct og_comm *c)
{
    return miss_one(c, true);
}

static int miss_one_behind(struct og_comm *c)
{
    return miss_one(c, false);
}

/* Never, whoever asks. */
static int stay(struct og_comm *c)
{
    char name[16];
    signal(SIGTERM, SIG_IGN);
    og__comm_guard(c, true);
    snprintf(name, sizeof(name), "worker-%d", c->rank);
    leave_note(name);
    while (has_note(name))
        pause();
    return 0;
}

static int succeed(struct og_comm *c)
{
    uint64_t all[2] = {0};
    return og__comm_gather(c, all, sizeof(*all), NULL) < 0;
}

static const struct {
    const char *name;
    int (*play)(struct og_comm *c);
} parts[] = {{"fail_while_one_writes", fail_while_one_writes},
             {"fail_while_one_hangs", fail_while_one_hangs},
             {"stop", stop},
             {"miss_one_before", miss_one_before},
             {"miss_one_behind", miss_one_behind},
             {"stay", stay},
             {"succeed", succeed}};

static int play(size_t part, struct og_comm *c)
{
    const int status = parts[part].play(c);
    og__comm_close(c);
    return status;
}

static int work(void)
{
    struct og_comm *c;
    const char *part = getenv("OG_PART");
    if (!part || og__comm_find(&c, NULL) < 0)
        return 99;
    for (size_t i = 0; i < OG_COUNT(parts); i++)
        if (strcmp(parts[i].name, part) == 0)
            return play(i, c);
    return 98;
}

/* ---- who starts them ---- */

static int launch(const char *part, double grace, struct og_err *err)
{
    char *argv[] = {(char[]){"test_launch"}, NULL};
    assert_int_equal(setenv("OG_PART", part, 1), 0);
    return og__workers_run(2, argv, grace, err);
}

static int begin(void **state)
{
    (void)state;
    assert_non_null(test_folder(folder, "launch"));
    return setenv("OG_FOLDER", folder, 1);
}

static int end(void **state)
{
    (void)state;
    test_shell("rm -r %s", folder);
    return 0;
}

static void one_that_writes_is_not_killed(void **state)
{
    (void)state;
    struct og_err err = {0};
    assert_int_equal(launch("fail_while_one_writes", 0.1, &err), FAILED);
    assert_int_equal(err.code, 0);
    assert_true(has_note("written"));
}

static void one_that_hangs_is_killed(void **state)
{
    (void)state;
    struct og_err err = {0};
    assert_int_equal(launch("fail_while_one_hangs", 0.1, &err), FAILED);
    assert_int_equal(err.code, 0); /* that it was killed is nobody's failure */
}

/* As from nohup, or a parent that waits for nobody: ended children are not kept then. */
static void ends_are_noticed_where_they_were_ignored(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(launch("succeed", 5, NULL), 0);
    assert_ptr_equal(signal(SIGCHLD, SIG_DFL), SIG_IGN); /* as before */
}

/* A launcher of its own, until both workers are there. */
static pid_t launch_apart(const char *part)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGTERM, SIG_IGN); /* one that comes when all is over */
        _exit(launch(part, 5, NULL));
    }
    wait_for_note("worker-0");
    wait_for_note("worker-1");
    return pid;
}

static int status_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void signals_that_come_together_are_one(void **state)
{
    (void)state;
    const pid_t pid = launch_apart("stop");
    for (int i = 0; i < 3; i++) {
        kill(pid, SIGTERM);
        usleep(10000); /* those that wait together are one anyway */
    }
    assert_int_equal(status_of(pid), 130);
    assert_true(has_note("stopped-0") && has_note("stopped-1")); /* nobody was killed */
}

static void who_misses_one_that_was_stopped_has_not_failed(void **state)
{
    (void)state;
    static const char *const parts_of[] = {"miss_one_before", "miss_one_behind"};
    for (size_t i = 0; i < OG_COUNT(parts_of); i++) {
        const pid_t pid = launch_apart(parts_of[i]);
        kill(pid, SIGUSR1);
        assert_int_equal(status_of(pid), 130);
        test_shell("rm %s/worker-*", folder);
    }
}

static void one_that_comes_later_kills(void **state)
{
    (void)state;
    const pid_t pid = launch_apart("stay");
    int status;
    kill(pid, SIGTERM);
    while (waitpid(pid, &status, WNOHANG) == 0) { /* when it has noticed the first nobody knows */
        usleep(100000);
        kill(pid, SIGTERM);
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    if (og_worker() >= 0)
        return work();
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(one_that_writes_is_not_killed),
        IN_A_FOLDER(one_that_hangs_is_killed),
        IN_A_FOLDER(ends_are_noticed_where_they_were_ignored),
        IN_A_FOLDER(signals_that_come_together_are_one),
        IN_A_FOLDER(who_misses_one_that_was_stopped_has_not_failed),
        IN_A_FOLDER(one_that_comes_later_kills),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
