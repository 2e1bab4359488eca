/* Errors of the command itself, in the library's format. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int failure(struct og_err *err, int code, const char *hint, const char *fmt, ...)
{
    va_list args;
    err->code = code;
    va_start(args, fmt);
    vsnprintf(err->message, sizeof(err->message), fmt, args);
    va_end(args);
    snprintf(err->hint, sizeof(err->hint), "%s", hint ? hint : "");
    return code;
}

/* The library's text is valid JSON, so the only failure is out of memory. */
int no_result(struct og_err *err)
{
    return failure(err, -ENOMEM, "close other programs", "result: out of memory");
}
