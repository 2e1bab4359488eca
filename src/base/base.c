#include "base/base.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Room for two paths of any length. */
enum { LONGEST_TEXT = 9 * 1024 };

/* Messages quote names and text of foreign files. Line breaks and terminal control characters in
 * them become question marks. */
static void keep_printable(char *text)
{
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
}

/* Shortens to one line of at most size - 1 bytes. Cuts the middle: the start names the place, the
 * end the cause. */
static void fit_line(char *out, size_t size, char *text)
{
    static const char gap[] = " ... ";
    size_t len = strlen(text);
    size_t head = size / 3;
    const char *tail = text + len - OG_MIN(len, size - 1 - head - strlen(gap));
    keep_printable(text);
    if (len < size) {
        memcpy(out, text, len + 1);
        return;
    }
    while (head > 0 && ((unsigned char)text[head] & 0xc0) == 0x80) /* whole characters */
        head--;
    while (((unsigned char)*tail & 0xc0) == 0x80)
        tail++;
    snprintf(out, size, "%.*s%s%s", (int)head, text, gap, tail);
}

static void fail_with(struct og_err *err, int code, const char *hint, const char *fmt, va_list ap)
{
    char text[LONGEST_TEXT];
    if (!err || err->code)
        return;
    err->code = code;
    vsnprintf(text, sizeof(text), fmt, ap);
    fit_line(err->message, sizeof(err->message), text);
    snprintf(err->hint, sizeof(err->hint), "%s", hint ? hint : "");
}

/* Names in brackets: what base.h makes of them for the analyzer is not meant here. */
int(og__fail)(struct og_err *err, int code, const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_with(err, code, hint, fmt, ap);
    va_end(ap);
    return code;
}

/* The hint for a system error whose caller gave none. */
static const char *usual_hint(int code)
{
    switch (-code) {
    case EACCES:
    case EPERM:
        return "check the permissions of the file and of its folder";
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
        return "look at the name";
    case ELOOP:
        return "a symbolic link leads back to itself, or stands where none may: remove it";
    case EROFS:
        return "that disk is mounted read-only: write to another one";
    case EFBIG:
        return "raise the limit of file sizes: ulimit -f";
    case ENOSPC:
    case EDQUOT:
        return "free space on that disk, or write to another one";
    case ENOMEM:
        return "close other programs, or give it less to do at once";
    case EMFILE:
    case ENFILE:
        return "raise the limit of open files: ulimit -n";
    default:
        return NULL;
    }
}

int(og__fail_errno)(struct og_err *err, int code, const char *hint, const char *fmt, ...)
{
    char what[LONGEST_TEXT - 96];
    char why[80];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    return og__fail(err, code, hint ? hint : usual_hint(code), "%s: %s", what,
                    strerror_r(-code, why, sizeof(why)));
}

void og__say(const struct og_log *log, enum og__level level, const char *fmt, ...)
{
    if (!log || !log->fn)
        return;
    char text[LONGEST_TEXT];
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    fit_line(line, sizeof(line), text);
    log->fn(log->arg, level, line);
}

static double read_clock(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

double og__now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double og__thread_time(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* Reads a file of /proc, as much as fits. */
static void read_proc(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
    text[OG_MAX(n, 0)] = 0;
    if (fd >= 0)
        close(fd);
}

/* The number after `key` at the start of a line, times `unit`; 0 if absent. */
static size_t field_of(const char *text, const char *key, size_t unit)
{
    const size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) == 0)
            return (size_t)strtoull(line + n, NULL, 10) * unit;
    }
    return 0;
}

static size_t read_status(const char *key)
{
    char text[4096];
    read_proc("/proc/self/status", text, sizeof(text));
    return field_of(text, key, OG_KIB);
}

size_t og__rss_peak(void)
{
    return read_status("VmHWM:");
}

size_t og__rss_now(void)
{
    return read_status("VmRSS:");
}

size_t og__rss_file(void)
{
    return read_status("RssFile:");
}

static struct {
    atomic_uint_fast64_t reads, bytes;
} made;

void og__count_reads(uint64_t reads, uint64_t bytes)
{
    atomic_fetch_add_explicit(&made.reads, reads, memory_order_relaxed);
    atomic_fetch_add_explicit(&made.bytes, bytes, memory_order_relaxed);
}

void og__reads_made(uint64_t *reads, uint64_t *bytes)
{
    *reads = atomic_load_explicit(&made.reads, memory_order_relaxed);
    *bytes = atomic_load_explicit(&made.bytes, memory_order_relaxed);
}

const char *og__human_bytes(char buf[32], double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t u = 0;
    while (bytes >= 1024 && u + 1 < OG_COUNT(units)) {
        bytes /= 1024;
        u++;
    }
    snprintf(buf, 32, u ? "%.2f %s" : "%.0f %s", bytes, units[u]);
    return buf;
}

char *og__path_join(const char *a, const char *b)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", a, b) < 0 ? NULL : path;
}
