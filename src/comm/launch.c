/* Ranks of one machine: this program, started so many times, with a stream between any two. Who
 * started them computes nothing: it hands signals on, and sees to it that all end when one does. */
#include "comm/comm.h"

#include <outgrow/outgrow.h>

#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRACE_SECONDS = 5 };

struct launch {
    int n, left; /* workers, and those that have not ended */
    pid_t pid[OG__MOST_RANKS];
    int fd[OG__MOST_RANKS][OG__MOST_RANKS]; /* from whom, to whom; -1: closed, or none */
    int status;                             /* what the program is to end with so far */
    double failed;                          /* when the first of them did; 0: none */
    bool killed;                            /* those that were left then */
    sigset_t awaited, before;
    struct og_err *err;
};

/* ---- streams ---- */

/* Every pair takes two descriptors here, until all are started. */
static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int open_streams(struct launch *l)
{
    raise_limit();
    for (int i = 0; i < l->n; i++)
        for (int k = 0; k < i; k++) {
            int pair[2];
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return og__fail_errno(l->err, -errno, "start fewer workers",
                                      "cannot connect %d workers", l->n);
            l->fd[i][k] = pair[0];
            l->fd[k][i] = pair[1];
        }
    return 0;
}

static void close_streams(struct launch *l)
{
    for (int i = 0; i < l->n; i++)
        for (int k = 0; k < l->n; k++)
            if (l->fd[i][k] >= 0)
                close(l->fd[i][k]);
}

/* ---- starting ---- */

/* This environment, and in it who the worker is; its strings but the first are not its own. */
static char **environment_of(const struct launch *l, int rank)
{
    size_t n = 0;
    while (environ[n])
        n++;
    char **all = calloc(n + 2, sizeof(*all));
    char *own = NULL;
    size_t size;
    FILE *f = all ? open_memstream(&own, &size) : NULL;
    if (!f) {
        free(all);
        return NULL;
    }
    fprintf(f, OG__WORKER_ENV "=%d/%d:", rank, l->n);
    for (int i = 0; i < l->n; i++)
        fprintf(f, "%s%d", i ? "," : "", l->fd[rank][i]);
    if (fclose(f) != 0) {
        free(own);
        free(all);
        return NULL;
    }
    all[0] = own;
    memcpy(all + 1, environ, n * sizeof(*all));
    return all;
}

static int spawn(struct launch *l, int rank, char *const *argv, char **environment)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    if (posix_spawn_file_actions_init(&files) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&how) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    int rc = posix_spawnattr_setsigmask(&how, &l->before);
    if (rc == 0)
        rc = posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
    for (int i = 0; rc == 0 && i < l->n; i++)
        if (i != rank) /* onto itself: it stays open */
            rc = posix_spawn_file_actions_adddup2(&files, l->fd[rank][i], l->fd[rank][i]);
    if (rc == 0)
        rc = posix_spawn(&l->pid[rank], "/proc/self/exe", &files, &how, argv, environment);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

static int start_worker(struct launch *l, int rank, char *const *argv)
{
    char **environment = environment_of(l, rank);
    int rc = environment ? spawn(l, rank, argv, environment) : ENOMEM;
    if (environment)
        free(environment[0]);
    free(environment);
    if (rc != 0)
        return og__fail_errno(l->err, -rc, "start fewer workers", "cannot start worker %d", rank);
    l->left++;
    return 0;
}

/* ---- until all have ended ---- */

static void tell_all(const struct launch *l, int number)
{
    for (int i = 0; i < l->n; i++)
        if (l->pid[i] > 0)
            kill(l->pid[i], number);
}

/* By something else than this: others may notice that a worker is dying, and end, before it has
 * ended. */
static bool was_killed(const struct launch *l, int status)
{
    return WIFSIGNALED(status) && !l->killed && (l->failed == 0 || WTERMSIG(status) != SIGTERM);
}

/* Who fails says why; who is killed cannot. */
static void note_end(struct launch *l, int rank, int status)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    const bool first = l->failed == 0;
    if (was_killed(l, status))
        og__fail(l->err, -ECONNABORTED, "go on with --resume",
                 "worker %d was ended by signal %d (SIG%s)", rank, WTERMSIG(status),
                 sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?");
    l->pid[rank] = 0;
    l->left--;
    if (code == 0)
        return;
    if (code == 130 && l->status == 0)
        l->status = code;
    if (code == 130)
        return;
    if (first) {
        l->failed = og__now();
        tell_all(l, SIGTERM);
    }
    if (first || l->status == 130)
        l->status = code;
}

static void reap(struct launch *l)
{
    for (int i = 0; i < l->n; i++) {
        int status;
        if (l->pid[i] > 0 && waitpid(l->pid[i], &status, WNOHANG) == l->pid[i])
            note_end(l, i, status);
    }
}

/* What a terminal sends, it has sent to the workers, too. */
static void hand_on(const struct launch *l, int number, const siginfo_t *info)
{
    if ((number == SIGINT || number == SIGTERM) && info->si_code != SI_KERNEL)
        tell_all(l, number);
}

static void wait_for_all(struct launch *l)
{
    const struct timespec second = {.tv_sec = 1};
    while (l->left > 0) {
        siginfo_t info;
        const int number = sigtimedwait(&l->awaited, &info, &second);
        if (number > 0)
            hand_on(l, number, &info);
        reap(l);
        if (l->failed > 0 && og__now() - l->failed > GRACE_SECONDS) {
            l->killed = true;
            tell_all(l, SIGKILL);
        }
    }
}

static void begin(struct launch *l, int n, struct og_err *err)
{
    *l = (struct launch){.n = n, .err = err};
    memset(l->fd, -1, sizeof(l->fd));
    sigemptyset(&l->awaited);
    sigaddset(&l->awaited, SIGINT);
    sigaddset(&l->awaited, SIGTERM);
    sigaddset(&l->awaited, SIGCHLD);
    sigprocmask(SIG_BLOCK, &l->awaited, &l->before);
}

int og_workers_run(int n, char *const *argv, struct og_err *err)
{
    struct og_err own = {0};
    struct launch l;
    int rc = 0;
    if (n < 2 || n > OG__MOST_RANKS)
        return og__fail(err, -EINVAL, NULL, "--workers %d: 2 to %d", n, OG__MOST_RANKS);
    begin(&l, n, err ? err : &own);
    OG_TRY(open_streams(&l));
    for (int i = 0; i < n; i++)
        OG_TRY(start_worker(&l, i, argv));
    close_streams(&l);
    wait_for_all(&l);
    rc = l.err->code < 0 ? l.err->code : l.status;
    memset(l.fd, -1, sizeof(l.fd));
out:
    close_streams(&l);
    tell_all(&l, SIGKILL);
    wait_for_all(&l);
    sigprocmask(SIG_SETMASK, &l.before, NULL);
    return rc;
}

int og_worker(void)
{
    const char *text = getenv(OG__WORKER_ENV);
    if (!text)
        return og__mpi_rank();
    return (int)strtol(text, NULL, 10);
}
