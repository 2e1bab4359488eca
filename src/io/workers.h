/* Threads for blocking reads, shared by the pread and mmap engines. */
#ifndef OG_IO_WORKERS_H
#define OG_IO_WORKERS_H

#include "io/engine.h"

#include <sys/types.h>

struct og_workers;

/* serve fills one request's result; many threads call it at once. */
OG_MUST_CHECK int og__workers_open(struct og_workers **out, int threads,
                                   void (*serve)(void *arg, struct og_io_request *q), void *arg,
                                   struct og_err *err);
void og__workers_close(struct og_workers *w); /* accepts NULL */

/* As the engine functions of these names; one owner at a time. */
void og__workers_submit(struct og_workers *w, struct og_io_request **reqs, size_t n);
size_t og__workers_reap(struct og_workers *w, struct og_io_request **reqs, size_t min, size_t max);

/* Kernel ids of the threads that have started; returns their number. */
size_t og__workers_ids(struct og_workers *w, pid_t *ids, size_t max);

#endif
