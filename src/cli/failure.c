/* What the command itself cannot do, told as the library tells its failures. */
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

/* Text of the library's making is JSON: what fails is for want of memory. */
int no_result(struct og_err *err)
{
    return failure(err, -ENOMEM, "close other programs", "result: out of memory");
}
