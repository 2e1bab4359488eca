/* Options inside the library: the table of options.c and its uses. */
#ifndef OG_OPTIONS_H
#define OG_OPTIONS_H

#include "base/json.h"
#include "base/places.h"
#include "options/fields.h"

/* Copy options, with copies of their strings. *to may be uninitialised. */
OG_MUST_CHECK int og__options_copy(struct og_options *to, const struct og_options *from,
                                   struct og_err *err);

/* ---- the table ---- */

const struct og_row *og__option_row(size_t i);      /* like og_option; NULL past the last */
size_t og__option_number(const struct og_row *row); /* of a row, from 0 */
/* Find a row by the option's name or an alias; NULL = none. og__option_unknown sets the error for
 * that. */
const struct og_row *og__option_named(const char *name);
int og__option_unknown(const char *name, struct og_err *err);

/* The word of a choice's value, such as "belady"; and the value of a word, -1 = none. */
const char *og__option_word(const char *name, int value);
int og__option_choice(const char *name, const char *word);

/* Sets of rows. */
bool og__option_set_has(const struct og_option_set *s, size_t row);
void og__option_set_add(struct og_option_set *s, size_t row);
void og__option_set_join(struct og_option_set *s, const struct og_option_set *other);
/* Keep what is in `in` and not in `out`. */
void og__option_set_keep(struct og_option_set *s, const struct og_option_set *in,
                         const struct og_option_set *out);
bool og__option_sets_meet(const struct og_option_set *a, const struct og_option_set *b);

/* Whether the option has an effect with the selected kinds. And the kinds that have it as a
 * parameter: "rr and hybrid". */
bool og__option_counts(const struct og_options *opt, const struct og_option *option);
void og__option_takers(const struct og_option *option, char *out, size_t size);

/* Options that decide `least` or more, as JSON by name. NULL if out of memory. */
json_t *og__options_deciding(const struct og_options *opt, enum og_decides least);

/* Compare the options that have an effect and decide `least` or more with `theirs`, a JSON object.
 * Missing ones count as their default. Returns -EINVAL with "<what> another --seed (1, this run has
 * 2)" if one differs. */
OG_MUST_CHECK int og__options_match(const struct og_options *opt, const json_t *theirs,
                                    enum og_decides least, const char *what, const char *hint,
                                    struct og_err *err);

/* The option's value as text for og_options_set. Not for the fanout. */
const char *og__option_text(const struct og_options *opt, const char *name, char buf[32]);

/* A --fanout left at its default gets as many numbers as there are layers. */
void og__fanout_follow(struct og_options *opt, int layers);
/* A walk samples --neighbors in every hop, and a model of single nodes none. Then --fanout only has
 * the number of hops. */
void og__fanout_resolve(struct og_options *opt);
/* The model's use of edge weights, enum og_edge_weights_kind. It is off for models that ignore them
 * and while `auto` is not resolved. */
int og__edge_weights(const struct og_options *opt);
/* The hops that a row of the model has side by side. Hop 0 is the features. `how` they were made,
 * as in dataset/hops.h: sessions and checkpoints name it. */
struct og_inputs {
    int first, last;
    char how[32]; /* "": in any way */
};
OG_MUST_CHECK int og__inputs(const struct og_options *opt, struct og_inputs *out,
                             struct og_err *err);

/* The dtype of cached and packed rows, for features stored as `stored`. */
enum og_dtype og__pack_dtype(const struct og_options *opt, enum og_dtype stored);

/* Folders for scratch: those of --scratch, else `otherwise`, else the user's cache folder. They may
 * not exist yet, and there may be none. The caller frees *out. */
OG_MUST_CHECK int og__scratch_folders(struct og_places *out, const struct og_options *opt,
                                      const char *otherwise, struct og_err *err);
/* The first of them, for files that are not split; malloc'ed. NULL: there is none (returns 0), or
 * an error. */
OG_MUST_CHECK int og__scratch_first(char **out, const struct og_options *opt, const char *otherwise,
                                    struct og_err *err);

/* Whether memory is phased, by --phased-memory or a preset. For options before and after
 * og__options_resolve. */
bool og__options_alternate(const struct og_options *opt);
/* Is the policy left open, by --policy and by the preset? The same. */
bool og__options_leave_policy(const struct og_options *opt);

/* Returns -EINVAL if several workers are requested of a call that runs in one process. And if
 * workers cannot share the batches. */
OG_MUST_CHECK int og__alone(const struct og_options *opt, struct og_err *err);
OG_MUST_CHECK int og__workers_check(const struct og_options *opt, int workers, struct og_err *err);

/* Resolve preset, auto, percentages and the number of threads. */
OG_MUST_CHECK int og__options_resolve(struct og_options *opt, const struct og_log *log,
                                      struct og_err *err);

/* All options by name: "config" of summary.json. Sizes are bytes or "25%", the fanout is a list,
 * unset options are null. NULL if out of memory. */
json_t *og__options_json(const struct og_options *opt);
/* Those that were set explicitly: "requested" of summary.json. */
json_t *og__options_requested(const struct og_options *opt);

/* Write config.yaml for og_options_load, without `run` and `resume`, which name one run. */
OG_MUST_CHECK int og__options_write_yaml(const struct og_options *opt, const char *path,
                                         struct og_err *err);
/* Text of config.yaml, malloc'ed; NULL if out of memory. */
char *og__options_yaml(const struct og_options *opt);

/* og_options_load for text; `name` is for messages. */
OG_MUST_CHECK int og__options_parse(struct og_options *opt, const char *text, size_t len,
                                    const char *name, struct og_err *err);

#endif
