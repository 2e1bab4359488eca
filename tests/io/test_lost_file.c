/* A mapped file that can no longer be read ends the command with status 1 and its name. Any other
 * bus error kills as ever. */
#include "support/testing.h"

#include "io/workers.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

void tell_lost_files(void); /* of the command, cli/cli.h */

enum { PAGE = 4096, PAGES = 4 };

static char path[] = "/tmp/og-lost-file-XXXXXX";

/* A file that is mapped, and then has its first page only. */
static volatile char *map_and_cut(void)
{
    int fd = mkstemp(path);
    char *map = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)PAGES * PAGE) == 0)
        map = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED || ftruncate(fd, PAGE) != 0)
        abort();
    close(fd);
    return map;
}

static void touch(void *map, struct og_io_request *q)
{
    q->result = ((volatile unsigned char *)map)[q->offset];
}

static void touch_here(void)
{
    volatile char *map = map_and_cut();
    (void)map[0];
    (void)map[3 * PAGE];
}

/* As --io mmap does, by a thread that takes no other signals. */
static void touch_in_workers(void)
{
    enum { REQUESTS = 16 };
    struct og_workers *w;
    struct og_io_request q[REQUESTS], *list[REQUESTS];
    for (size_t i = 0; i < REQUESTS; i++) {
        q[i] = (struct og_io_request){.offset = (uint64_t)PAGE * (i % PAGES)};
        list[i] = &q[i];
    }
    if (og__workers_open(&w, 4, touch, (void *)(uintptr_t)map_and_cut(), NULL) < 0)
        abort();
    og__workers_submit(w, list, REQUESTS);
    og__workers_reap(w, list, REQUESTS, REQUESTS);
}

static void raise_it(void)
{
    raise(SIGBUS);
}

/* Its status as waitpid has it; what it wrote to standard error. */
static int end_of(void (*fn)(void), char *text, size_t size)
{
    const struct rlimit no_core = {0};
    int pipe_of[2];
    int status = 0;
    size_t used = 0;
    memcpy(path, "/tmp/og-lost-file-XXXXXX", sizeof(path));
    assert_int_equal(pipe(pipe_of), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        dup2(pipe_of[1], STDERR_FILENO);
        close(pipe_of[0]);
        close(pipe_of[1]);
        signal(SIGBUS, SIG_DFL); /* not a sanitizer's */
        tell_lost_files();
        fn();
        _exit(0);
    }
    close(pipe_of[1]);
    for (ssize_t n; (n = read(pipe_of[0], text + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    text[used] = 0;
    close(pipe_of[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void assert_told(int status, const char *text)
{
    char name[64];
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_int_equal(sscanf(text, "outgrow: %63[^:]: mapped, and cannot be read", name), 1);
    assert_int_equal(strncmp(name, "/tmp/og-lost-file-", 18), 0);
    const char *hint = strstr(text, "\nhint: was it truncated");
    assert_non_null(hint);
    assert_string_equal(strchr(hint + 1, '\n'), "\n"); /* reported once */
    unlink(name);
}

static void a_file_cut_while_mapped_is_told(void **state)
{
    (void)state;
    char text[1024];
    assert_told(end_of(touch_here, text, sizeof(text)), text);
    for (int i = 0; i < 20; i++) /* several threads at once */
        assert_told(end_of(touch_in_workers, text, sizeof(text)), text);
}

static void another_bus_error_kills(void **state)
{
    (void)state;
    char text[1024];
    int status = end_of(raise_it, text, sizeof(text));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_cut_while_mapped_is_told),
        cmocka_unit_test(another_bus_error_kills),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
