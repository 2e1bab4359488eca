/* Options inside the library: the table of options.c and what is made of it. */
#ifndef OG_OPTIONS_H
#define OG_OPTIONS_H

#include "base/json.h"
#include "base/places.h"
#include "options/fields.h"

/* A copy that owns its strings. *to need not be initialised. */
OG_MUST_CHECK int og__options_copy(struct og_options *to, const struct og_options *from,
                                   struct og_err *err);

/* ---- the table ---- */

const struct og_row *og__option_row(size_t i); /* as og_option has it; NULL behind the last */
/* By our name for it, or by another one; NULL = none, which og__option_unknown says. */
const struct og_row *og__option_named(const char *name);
int og__option_unknown(const char *name, struct og_err *err);

/* The word for a value of an option that is a choice: "belady"; and back, -1 = none. */
const char *og__option_word(const char *name, int value);
int og__option_choice(const char *name, const char *word);

/* Sets of rows. */
bool og__option_set_has(const struct og_option_set *s, size_t row);
void og__option_set_add(struct og_option_set *s, size_t row);
void og__option_set_join(struct og_option_set *s, const struct og_option_set *other);
/* Of s what is in `in` and not in `out`. */
void og__option_set_keep(struct og_option_set *s, const struct og_option_set *in,
                         const struct og_option_set *out);
bool og__option_sets_meet(const struct og_option_set *a, const struct og_option_set *b);

/* Has the option an effect, as far as that depends on the kinds that it is a parameter of? And
 * which have it: "rr and hybrid". */
bool og__option_counts(const struct og_options *opt, const struct og_option *option);
void og__option_takers(const struct og_option *option, char *out, size_t size);

/* Those that decide `least` or more, as JSON by name. NULL on lack of memory. */
json_t *og__options_deciding(const struct og_options *opt, enum og_decides least);

/* Do those that have an effect and decide `least` or more have the values that `theirs` has, an
 * object of them? One that it has not counts as its standard value. If not, -EINVAL: "<what>
 * another --seed (1, this run has 2)". */
OG_MUST_CHECK int og__options_match(const struct og_options *opt, const json_t *theirs,
                                    enum og_decides least, const char *what, const char *hint,
                                    struct og_err *err);

/* The option's value as og_options_set takes it. Not for the fanout. */
const char *og__option_text(const struct og_options *opt, const char *name, char buf[32]);

/* The dtype that rows are kept in, of features stored as `stored`. */
enum og_dtype og__pack_dtype(const struct og_options *opt, enum og_dtype stored);

/* Where scratch goes: the folders of --scratch, else `otherwise`, else the user's cache folder.
 * They may not exist yet, and there may be none; to be freed. */
OG_MUST_CHECK int og__scratch_folders(struct og_places *out, const struct og_options *opt,
                                      const char *otherwise, struct og_err *err);
/* The first of them, for what is kept as a whole; malloc'ed. NULL: there is none (0), or failure.
 */
OG_MUST_CHECK int og__scratch_first(char **out, const struct og_options *opt, const char *otherwise,
                                    struct og_err *err);

/* Are sampling and training to take turns, by --alternate or by a preset that sets it? Of options
 * that are resolved or not. */
bool og__options_alternate(const struct og_options *opt);

/* -EINVAL where workers are asked of what one process does; and where they are asked to share out
 * what they cannot. */
OG_MUST_CHECK int og__alone(const struct og_options *opt, struct og_err *err);
OG_MUST_CHECK int og__workers_check(const struct og_options *opt, int workers, struct og_err *err);

/* Resolve what is left to the program: preset, auto, percentages, the number of threads. */
OG_MUST_CHECK int og__options_resolve(struct og_options *opt, const struct og_log *log,
                                      struct og_err *err);

/* One key an option, named as on the command line: "config" of summary.json. Sizes are bytes or
 * "25%", the fanout is a list, what is unset is null. NULL on lack of memory. */
json_t *og__options_json(const struct og_options *opt);

/* Write config.yaml, which og_options_load takes: all but `run` and `resume`, which name one run.
 */
OG_MUST_CHECK int og__options_write_yaml(const struct og_options *opt, const char *path,
                                         struct og_err *err);
/* Its text, malloc'ed; NULL on lack of memory. */
char *og__options_yaml(const struct og_options *opt);

/* og_options_load on text; `name` is for messages. */
OG_MUST_CHECK int og__options_parse(struct og_options *opt, const char *text, size_t len,
                                    const char *name, struct og_err *err);

#endif
