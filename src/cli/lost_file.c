/* A mapped file that can no longer be read stops the thread that reads it by SIGBUS. It was
 * truncated, or the disk failed. The library cannot return an error, because the thread cannot
 * continue. The command reports the file and exits. What it leaves is what SIGKILL would leave; the
 * next start cleans up.
 *
 * Everything called here is async-signal-safe. */
#include "cli.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static bool on_terminal;
static atomic_flag told = ATOMIC_FLAG_INIT; /* several threads may read the file at once */

static void say(const char *text)
{
    size_t n = strlen(text);
    while (n > 0) {
        ssize_t written = write(STDERR_FILENO, text, n);
        if (written <= 0)
            return;
        text += written;
        n -= (size_t)written;
    }
}

/* Parses a hexadecimal number; returns its end. */
static const char *read_hex(const char *p, uintptr_t *out)
{
    static const char digits[] = "0123456789abcdef";
    *out = 0;
    for (const char *d; *p && (d = strchr(digits, *p)) != NULL; p++)
        *out = *out << 4 | (uintptr_t)(d - digits);
    return p;
}

/* The file in a line of maps, "begin-end mode offset device inode   /path", if it holds `at`. */
static const char *file_at(const char *line, uintptr_t at)
{
    uintptr_t begin;
    uintptr_t end;
    const char *rest = read_hex(line, &begin);
    rest = *rest == '-' ? read_hex(rest + 1, &end) : NULL;
    return rest && at >= begin && at < end ? strchr(rest, '/') : NULL;
}

/* Reports the file mapped at an address; false: none. */
static bool say_file(const void *at)
{
    char block[1024];
    char line[PATH_MAX + 128];
    size_t used = 0;
    const char *name = NULL;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (ssize_t n; fd >= 0 && !name && (n = read(fd, block, sizeof(block))) > 0;) {
        for (ssize_t i = 0; i < n && !name; i++) {
            if (block[i] != '\n' && used + 1 < sizeof(line)) {
                line[used++] = block[i];
            } else if (block[i] == '\n') {
                line[used] = 0;
                used = 0;
                name = file_at(line, (uintptr_t)at);
            }
        }
    }
    if (fd >= 0)
        close(fd);
    if (name) {
        say(on_terminal ? "\r\033[Koutgrow: "
                        : "outgrow: "); /* over the progress bar, if there is one */
        say(name);
    }
    return name;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (atomic_flag_test_and_set(&told))
        for (;;)
            pause();
    if (info->si_code == BUS_ADRERR && say_file(info->si_addr)) {
        say(": mapped, and cannot be read any more\nhint: was it truncated while in use, or did "
            "its "
            "disk fail (see dmesg)? --io uring or --io pread shows the cause\n");
        _exit(1);
    }
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(number, &usual, NULL);
    raise(number); /* kills once this returns */
    atomic_flag_clear(&told);
}

void tell_lost_files(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    on_terminal = isatty(STDERR_FILENO) == 1;
    sigaction(SIGBUS, &action, NULL);
}
