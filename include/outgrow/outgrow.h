/* Outgrow: trains graph neural networks on graphs that outgrow memory.
 *
 * The short tour, which compiles (examples/train.c):
 *
 *     struct og_err err = {0};
 *     struct og_options *opt = NULL;
 *     char *summary = NULL;
 *     if (og_options_new(&opt, &err) < 0 ||
 *         og_options_set(opt, "memory", "4G", &err) < 0 ||
 *         og_options_set(opt, "fanout", "10,10", &err) < 0 ||
 *         og_train("papers100M", opt, NULL, &summary, &err) < 0)
 *         fprintf(stderr, "outgrow: %s\nhint: %s\n", err.message, err.hint);
 *     puts(summary ? summary : "");
 *     free(summary);
 *     og_options_free(opt);
 *
 * - version.h: the version
 * - err.h: errors
 * - options.h: options
 * - run.h: train, eval, predict, plan, sample, pack, simulate
 * - loader.h: mini-batches for a model of your own
 * - rows.h: feature rows by number, for a sampler of your own
 * - data.h: make and check datasets
 * - gone.h: functions of earlier versions
 *
 * Conventions of all calls:
 *
 * - Functions return 0, or a negative errno with `err` filled (err.h).
 * - Strings passed in are read during the call only.
 * - Functions that return JSON (docs/reference/json.md) store a malloc'ed string: free() it. Pass
 *   NULL to skip it. On error it is NULL.
 * - All sizes are bytes, all times seconds.
 * - Structs that begin with `size` may grow at their end in later versions. Set `size` to the
 *   sizeof of those that you fill: og_observer, og_loader_options, og_tiers_asked and
 *   og_executors_asked. The library reads no more than that; 0 is -EINVAL. In all other structs the
 *   library sets it; programs receive pointers to these. og_err and og_array do not change.
 * - Calls on different objects may run in different threads. One call uses as many threads as its
 *   options say, and they have ended when it returns. The library has no global state. */
#ifndef OUTGROW_H
#define OUTGROW_H

#include <outgrow/data.h>
#include <outgrow/err.h>
#include <outgrow/gone.h>
#include <outgrow/loader.h>
#include <outgrow/options.h>
#include <outgrow/rows.h>
#include <outgrow/run.h>
#include <outgrow/version.h>

#endif
