/* How a failure is told. Part of the public API; see outgrow.h for the tour. */
#ifndef OUTGROW_ERR_H
#define OUTGROW_ERR_H

#if defined(__GNUC__)
#define OG_MUST_CHECK __attribute__((warn_unused_result))
#define OG_EXPORT     __attribute__((visibility("default")))
#else
#define OG_MUST_CHECK
#define OG_EXPORT
#endif

/* Filled by a call that failed; the first failure of a call chain is the one that is kept.
 *
 * code     negative errno, or OG_INTERRUPTED; 0 while nothing has failed
 * message  "<what>: <why>", with file and position where there is one; no newline
 * hint     what to do about it, or ""
 *
 * The caller owns it and starts with `struct og_err err = {0};`. Every function that takes an
 * `err` accepts NULL. */
struct og_err {
    int code;
    char message[768];
    char hint[384];
};

/* The run was stopped by a signal and can be resumed. Outside the errno range. */
#define OG_INTERRUPTED (-4096)

#endif
