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
 * version.h, err.h, options.h; run.h (train, eval, predict, plan, sample, pack, simulate); loader.h
 * (mini-batches for a model of your own); data.h (make and check datasets); gone.h (what there
 * was).
 *
 * Conventions, stated once. Functions return 0, or a negative errno with `err` filled (err.h).
 * Strings passed in are read during the call only. Results too rich for a struct are JSON text
 * in the schema of docs/reference/json.md, malloc'ed: free() it. Where it would go may be NULL:
 * then nothing is told. After an error it is NULL. All sizes are bytes, all times seconds. Structs
 * that begin with `size` may have more members in later versions, behind those of before. Who makes
 * one sets it to its sizeof: the caller of og_observer, og_loader_options, og_tiers_asked and
 * og_executors_asked, where the library looks at no more and 0 is -EINVAL; of all others the
 * library, which hands out pointers to them. og_err and og_array stay as they are.
 * Calls on different objects may run in different threads; one call uses as many threads as its
 * options say and returns when they have ended. The library keeps no global state. */
#ifndef OUTGROW_H
#define OUTGROW_H

#include <outgrow/data.h>
#include <outgrow/err.h>
#include <outgrow/gone.h>
#include <outgrow/loader.h>
#include <outgrow/options.h>
#include <outgrow/run.h>
#include <outgrow/version.h>

#endif
