/* Options of everything that samples or trains: making a set of them, setting them by name, and the
 * list of all there are. Part of the public API; see outgrow.h for the tour. */
#ifndef OUTGROW_OPTIONS_H
#define OUTGROW_OPTIONS_H

#include <outgrow/err.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a set of options ---- */

/* What a call is asked for. Only functions look inside, so that an option more changes no program.
 * One thread at a time; calls that take it as const read it until they return. */
struct og_options;

/* All at their defaults. The caller gives it back with og_options_free; NULL is ignored there.
 * -ENOMEM, then *out is NULL. */
OG_EXPORT OG_MUST_CHECK int og_options_new(struct og_options **out, struct og_err *err);
OG_EXPORT void og_options_free(struct og_options *opt);
/* Another one with the same values, to be given back too. */
OG_EXPORT OG_MUST_CHECK int og_options_copy(struct og_options **out, const struct og_options *from,
                                            struct og_err *err);

/* Set one option by name from text, as the command line does. -EINVAL: no such option, or a
 * value outside its range; err says what would be accepted, and nothing has changed. Flags take
 * "true" or "false". */
OG_EXPORT OG_MUST_CHECK int og_options_set(struct og_options *opt, const char *name,
                                           const char *value, struct og_err *err);
/* Its value, as og_options_set takes it; "" = unset, which it does not take. *out is malloc'ed:
 * free() it. -EINVAL: no such option. */
OG_EXPORT OG_MUST_CHECK int og_options_get(const struct og_options *opt, const char *name,
                                           char **out, struct og_err *err);
/* Was it set by name or from a file? What was not a preset may set, and a checkpoint: og_train with
 * the option init, og_eval, og_predict. */
OG_EXPORT bool og_options_given(const struct og_options *opt, const char *name);

/* Set options from a YAML file of `name: value` lines (config.yaml of an earlier run is one), or
 * from JSON, one object of names and values. */
OG_EXPORT OG_MUST_CHECK int og_options_load(struct og_options *opt, const char *path,
                                            struct og_err *err);

/* ---- what options there are ---- */

enum { OG_MAX_HOPS = 16 };

/* Which text is a value of it. */
enum og_option_type {
    OG_OPTION_FLAG,   /* "true", "false" */
    OG_OPTION_INT,    /* a whole number, or one of the words in choices */
    OG_OPTION_INT64,  /* a whole number */
    OG_OPTION_REAL,   /* a decimal number */
    OG_OPTION_AMOUNT, /* a size, "512M" (2^20), "4G", or a share, "25%" */
    OG_OPTION_CHOICE, /* one of the words in choices; with parameters "hybrid:window=128" */
    OG_OPTION_LIST,   /* whole numbers with commas between, at most OG_MAX_HOPS */
    OG_OPTION_TEXT,   /* UTF-8 */
    OG_OPTION_SPLIT,  /* "3" trainers, "1:3" samplers and trainers, or the word in choices */
};

/* What an option decides, the less first. */
enum og_decides {
    OG_DECIDES_NOTHING, /* it moves bytes, or says where they lie */
    OG_DECIDES_EXTENT,  /* where a run begins and ends: it may go on with another */
    OG_DECIDES_NUMBERS, /* losses and parameters */
    OG_DECIDES_BATCHES, /* and what is sampled, too */
};

/* One option; the command line, the config file, the help text, the man page and summary.json are
 * all made from these. All is static. */
struct og_option {
    size_t size;          /* of this struct, as the library has it */
    const char *name;     /* "weight-decay" */
    const char *arg;      /* what its argument is called in help, NULL for a flag */
    const char *standard; /* default, as text; "" = unset */
    const char *group;    /* heading in the help text */
    int decides;          /* enum og_decides */
    const char *help;     /* one sentence */
    /* Ends with NULL. OG_OPTION_CHOICE: all words; OG_OPTION_INT: words that it takes beside
     * numbers; OG_OPTION_SPLIT: the word for none; else NULL. */
    const char *const *choices;
    int type;        /* enum og_option_type */
    double min, max; /* numbers outside are refused */
    /* The choice ("policy", "sampler", "model", "task") of which some kinds alone look at this
     * option, as its parameter; NULL = it is none. It may be given in the kind's word:
     * --policy hybrid:window=128,update=4. */
    const char *of;
    bool joins; /* it is told there alone: by its own name it is an alias, which help leaves out */
};
/* Number i of those of og_options_set, from 0; NULL = no more. */
OG_EXPORT const struct og_option *og_option(size_t i);

/* What PyTorch Geometric and DGL call some of them, and former names. og_options_set and config
 * files take these too; help, results and config.yaml have ours. All is static. */
struct og_option_alias {
    size_t size;              /* of this struct, as the library has it */
    const char *alias, *name; /* "batch-size", "batch" */
};
OG_EXPORT const struct og_option_alias *og_option_alias(size_t i);

/* The one of n words that was meant by `word`, when two letters less, more or other make it that;
 * NULL = none. */
OG_EXPORT const char *og_nearest_word(const char *const *words, size_t n, const char *word);

#ifdef __cplusplus
}
#endif

#endif
