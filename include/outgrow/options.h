/* Options of all calls that sample or train. Sets of options, their values by name, and the list of
 * all options. Part of the public API; see outgrow.h for the tour. */
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

/* A set of options, the input of most calls. Opaque, so that new options do not change the ABI. Not
 * thread-safe; calls that take it as const read it until they return. */
struct og_options;

/* Allocate a set of options with all defaults. The caller frees it with og_options_free. -ENOMEM:
 * then *out is NULL. */
OG_EXPORT OG_MUST_CHECK int og_options_new(struct og_options **out, struct og_err *err);
/* Free a set of options. NULL is ignored. */
OG_EXPORT void og_options_free(struct og_options *opt);
/* Copy a set of options; the caller frees the copy with og_options_free. -ENOMEM: then *out is
 * NULL. */
OG_EXPORT OG_MUST_CHECK int og_options_copy(struct og_options **out, const struct og_options *from,
                                            struct og_err *err);

/* Set one option by name from text, as the command line does. Flags take "true" or "false". Returns
 * -EINVAL if there is no such option or the value is outside its range. Then nothing has changed,
 * and `err` has the accepted values. */
OG_EXPORT OG_MUST_CHECK int og_options_set(struct og_options *opt, const char *name,
                                           const char *value, struct og_err *err);
/* Get the value of an option as text that og_options_set accepts. *out is malloc'ed: free() it. An
 * unset option is "", which og_options_set does not accept. Returns -EINVAL if there is no such
 * option, or -ENOMEM. */
OG_EXPORT OG_MUST_CHECK int og_options_get(const struct og_options *opt, const char *name,
                                           char **out, struct og_err *err);
/* Whether an option was set explicitly, by name or from a file. Presets may set the other options.
 * So may checkpoints, in og_eval, og_predict, and og_train with the option init. */
OG_EXPORT bool og_options_given(const struct og_options *opt, const char *name);

/* Set options from a YAML file of `name: value` lines, or from a JSON object of them. The
 * config.yaml of a run is such a file. Returns -EINVAL if a name or value is refused; `err` has its
 * line, and options of earlier lines are set. Returns -ENOENT, -EIO, ... if the file cannot be
 * read. */
OG_EXPORT OG_MUST_CHECK int og_options_load(struct og_options *opt, const char *path,
                                            struct og_err *err);

/* ---- what options there are ---- */

enum { OG_MAX_HOPS = 16 };

/* The text that a value of an option is. */
enum og_option_type {
    OG_OPTION_FLAG,   /* "true", "false" */
    OG_OPTION_INT,    /* a whole number, or one of the words in choices */
    OG_OPTION_INT64,  /* a whole number */
    OG_OPTION_REAL,   /* a decimal number */
    OG_OPTION_AMOUNT, /* a size, "512M" (2^20), "4G", or a share, "25%" */
    OG_OPTION_CHOICE, /* one of the words in choices; with parameters "hybrid:window=128" */
    OG_OPTION_LIST,   /* whole numbers separated by commas, at most OG_MAX_HOPS */
    OG_OPTION_TEXT,   /* UTF-8 */
    OG_OPTION_SPLIT,  /* "3" trainers, "1:3" samplers and trainers, or the word in choices */
};

/* What an option decides, in increasing order. */
enum og_decides {
    OG_DECIDES_NOTHING, /* it moves bytes, or names folders */
    OG_DECIDES_EXTENT,  /* where a run begins and ends; a resumed run may have another value */
    OG_DECIDES_NUMBERS, /* losses and parameters */
    OG_DECIDES_BATCHES, /* losses, parameters and samples */
};

/* One option. Command line, config files, help, man page and summary.json are made from these.
 * Static storage. */
struct og_option {
    size_t size;          /* of this struct, as the library has it */
    const char *name;     /* "weight-decay" */
    const char *arg;      /* name of the argument in help, NULL for a flag */
    const char *standard; /* default, as text; "" = unset */
    const char *group;    /* heading in the help text */
    int decides;          /* enum og_decides */
    const char *help;     /* one sentence */
    /* Ends with NULL. OG_OPTION_CHOICE: all words. OG_OPTION_INT: words that it takes in addition
     * to numbers. OG_OPTION_SPLIT: the word for none. Otherwise NULL. */
    const char *const *choices;
    int type;        /* enum og_option_type */
    double min, max; /* numbers outside are refused */
    /* Choice that has this option as a parameter of some of its kinds; NULL = none. Choices with
     * parameters are "policy", "sampler", "model", "task", "loss" and "lr-schedule". A parameter
     * may follow the kind's word: --policy hybrid:window=128,update=4. */
    const char *of;
    bool joins; /* help shows it only with that choice; its own name is an alias */
};
/* Option number i of og_options_set, from 0; NULL past the last. Static storage. */
OG_EXPORT const struct og_option *og_option(size_t i);
/* Whether a command such as "predict" uses that option. Others it accepts and reports. */
OG_EXPORT bool og_option_used(const char *command, size_t i);

/* A name of an option in PyTorch Geometric or DGL, or a former name. Both og_options_set and config
 * files accept it; help, results and config.yaml have the option's own name. Static storage. */
struct og_option_alias {
    size_t size;              /* of this struct, as the library has it */
    const char *alias, *name; /* "batch-size", "batch" */
    bool former;              /* this program had the option under that name */
};
/* Alias number i, from 0; NULL past the last. Static storage. */
OG_EXPORT const struct og_option_alias *og_option_alias(size_t i);

/* The word nearest to `word` among n words, at an edit distance of at most 2. NULL if there is
 * none. Returns one of `words`. */
OG_EXPORT const char *og_nearest_word(const char *const *words, size_t n, const char *word);

#ifdef __cplusplus
}
#endif

#endif
