/* Errors: the struct that a failed call fills. Part of the public API; see outgrow.h for the tour.
 */
#ifndef OUTGROW_ERR_H
#define OUTGROW_ERR_H

#if defined(__GNUC__)
#define OG_MUST_CHECK __attribute__((warn_unused_result))
#define OG_EXPORT     __attribute__((visibility("default")))
#else
#define OG_MUST_CHECK
#define OG_EXPORT
#endif

/* The error of a failed call. In a chain of calls, it is the first failure.
 *
 * code     negative errno, or OG_INTERRUPTED; 0 while nothing has failed
 * message  "<what>: <why>", with file and position if there is one; no newline
 * hint     the remedy, or ""
 *
 * The caller owns it and starts with `struct og_err err = {0};`. Every function with an `err`
 * accepts NULL. */
struct og_err {
    int code;
    char message[768];
    char hint[384];
};

/* A signal or the observer stopped the run, which can be resumed. Outside the range of errno. */
#define OG_INTERRUPTED (-4096)

#endif
