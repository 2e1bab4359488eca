/* Ranks of one machine: starts this program n times, with a stream between any two. The launcher
 * computes nothing: it forwards signals, and ends all ranks when one fails. It keeps a stream to
 * each rank. There the rank reports whether it may be killed (og__comm_guard), and sees when the
 * launcher has ended. */
#include "comm/comm.h"

#include <outgrow/outgrow.h>

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Seconds between a failure and the end of ranks that have not noticed it. And seconds within which
 * signals count as one request: timeout(1) and systemd signal a process and its group. */
enum { GRACE_SECONDS = 5, SECONDS_TOGETHER = 1 };

struct launch {
    int n, left; /* workers, and those that have not ended */
    double grace;
    pid_t pid[OG__MOST_RANKS];
    int fd[OG__MOST_RANKS][OG__MOST_RANKS]; /* [from][to], [i][i] to the launcher; -1: closed */
    int line[OG__MOST_RANKS];               /* the ends that are here; -1: none */
    bool guarded[OG__MOST_RANKS];           /* has reported that it must not be killed */
    bool killed[OG__MOST_RANKS];            /* by this */
    int status;                             /* what the program is to end with so far */
    double failed;                          /* when the first of them did; 0: none */
    double requested;                       /* when the first signal came; 0: none */
    bool at_once;                           /* second request: without a checkpoint */
    bool early;                             /* one was stopped before it installed its handler */
    sigset_t awaited, before;
    struct sigaction children; /* the previous action for SIGCHLD */
    struct og_err *err;
};

/* ---- streams ---- */

/* Every pair takes two descriptors here, until all are started. */
static int open_stream(struct launch *l, int *one, int *other)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return og__fail_errno(l->err, -errno, "start fewer workers", "cannot connect %d workers",
                              l->n);
    *one = pair[0];
    *other = pair[1];
    return 0;
}

static int open_streams(struct launch *l)
{
    og_files_raise();
    for (int i = 0; i < l->n; i++) {
        OG_DO(open_stream(l, &l->fd[i][i], &l->line[i]));
        for (int k = 0; k < i; k++)
            OG_DO(open_stream(l, &l->fd[i][k], &l->fd[k][i]));
    }
    return 0;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The ends that workers have. */
static void close_streams(struct launch *l)
{
    for (int i = 0; i < l->n; i++)
        for (int k = 0; k < l->n; k++)
            close_one(&l->fd[i][k]);
}

/* ---- starting ---- */

/* A copy of the environment with the worker's variable; only its first string is its own. */
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
    for (int i = 0; rc == 0 && i < l->n; i++) /* onto itself: it stays open */
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

/* The last word of each counts, also after it has closed its end. */
static void hear(struct launch *l)
{
    char said[64];
    for (int i = 0; i < l->n; i++)
        for (ssize_t n; (n = recv(l->line[i], said, sizeof(said), MSG_DONTWAIT)) > 0;)
            l->guarded[i] = said[n - 1] == OG__GUARDED;
}

/* Kills workers that compute or hang. One that writes, or that is stopping already, ends by
 * itself. */
static void kill_rest(struct launch *l, bool guarded_too)
{
    hear(l);
    for (int i = 0; i < l->n; i++) {
        if (l->pid[i] <= 0 || (l->guarded[i] && !guarded_too))
            continue;
        l->killed[i] = true;
        kill(l->pid[i], SIGKILL);
    }
}

/* Was the rank stopped by the first request, before it installed its handler? */
static bool was_stopped(const struct launch *l, int status)
{
    return l->requested > 0 && WIFSIGNALED(status) &&
           (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM ||
            WTERMSIG(status) == SIGUSR1);
}

/* Was it killed by another process? Workers that notice a dying one may end before it has ended. */
static bool was_killed(const struct launch *l, int rank, int status)
{
    return WIFSIGNALED(status) && !l->killed[rank] && !was_stopped(l, status) &&
           (l->failed == 0 || WTERMSIG(status) != SIGTERM);
}

/* A rank that fails reports why; a killed one cannot. If one was stopped early, failures of other
 * ranks that miss it do not count, in any order. */
static void note_end(struct launch *l, int rank, int status)
{
    const bool early = was_stopped(l, status);
    const int code = early ? 130 : WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    const bool first = l->failed == 0;
    if (was_killed(l, rank, status))
        og__fail(l->err, -ECONNABORTED, "go on with --resume",
                 "worker %d was ended by signal %d (SIG%s)", rank, WTERMSIG(status),
                 sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?");
    l->pid[rank] = 0;
    l->left--;
    l->early |= early;
    if (code == 0 || (l->killed[rank] && l->at_once))
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

/* Forwards a stop request, except a terminal's, which the workers get too. SIGINT, SIGTERM and
 * SIGUSR1 request the same. */
static void hand_on(struct launch *l, int number, const siginfo_t *info)
{
    const double now = og__now();
    if (number == SIGCHLD)
        return;
    if (l->requested == 0)
        l->requested = now;
    if (now - l->requested >= SECONDS_TOGETHER) {
        l->at_once = true;
        l->status = 130;
        kill_rest(l, true);
    } else if (info->si_code != SI_KERNEL) {
        tell_all(l, number == SIGUSR1 ? SIGTERM : number);
    }
}

static void wait_for_all(struct launch *l)
{
    const struct timespec second = {.tv_sec = 1};
    while (l->left > 0) {
        siginfo_t info;
        const int number = sigtimedwait(&l->awaited, &info, &second);
        if (number > 0)
            hand_on(l, number, &info);
        hear(l); /* it holds few words */
        reap(l);
        if (l->failed > 0 && og__now() - l->failed > l->grace)
            kill_rest(l, false);
    }
}

static void begin(struct launch *l, int n, double grace, struct og_err *err)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    *l = (struct launch){.n = n, .grace = grace, .err = err};
    memset(l->fd, -1, sizeof(l->fd));
    memset(l->line, -1, sizeof(l->line));
    sigaction(SIGCHLD, &usual, &l->children); /* if it were ignored, no child could be waited for */
    sigemptyset(&l->awaited);
    sigaddset(&l->awaited, SIGINT);
    sigaddset(&l->awaited, SIGTERM);
    sigaddset(&l->awaited, SIGUSR1);
    sigaddset(&l->awaited, SIGCHLD);
    sigprocmask(SIG_BLOCK, &l->awaited, &l->before);
}

static void end(struct launch *l)
{
    close_streams(l);
    kill_rest(l, true);
    wait_for_all(l);
    for (int i = 0; i < l->n; i++)
        close_one(&l->line[i]);
    sigaction(SIGCHLD, &l->children, NULL);
    while (sigtimedwait(&l->awaited, NULL, &(struct timespec){0}) > 0) /* no rank is left to stop */
        ;
    sigprocmask(SIG_SETMASK, &l->before, NULL);
}

int og__workers_run(int n, char *const *argv, double grace, struct og_err *err)
{
    struct og_err own = {0};
    struct launch l;
    int rc = 0;
    if (n < 2 || n > OG__MOST_RANKS)
        return og__fail(err, -EINVAL, NULL, "--workers %d: 2 to %d", n, OG__MOST_RANKS);
    begin(&l, n, grace, err ? err : &own);
    OG_TRY(open_streams(&l));
    for (int i = 0; i < n; i++)
        OG_TRY(start_worker(&l, i, argv));
    close_streams(&l);
    wait_for_all(&l);
    rc = l.err->code < 0 ? l.err->code : l.early ? 130 : l.status;
out:
    end(&l);
    return rc;
}

int og_workers_run(int n, char *const *argv, struct og_err *err)
{
    return og__workers_run(n, argv, GRACE_SECONDS, err);
}

int og_worker(void)
{
    const char *text = getenv(OG__WORKER_ENV);
    if (!text)
        return og__mpi_rank();
    return (int)strtol(text, NULL, 10);
}
