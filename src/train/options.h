/* Options inside the library: the table of options.c and what is made of it. */
#ifndef OG_OPTIONS_H
#define OG_OPTIONS_H

#include <outgrow/outgrow.h>

#include "base/json.h"

/* A copy that owns its strings. *to need not be initialised. */
OG_MUST_CHECK int og__options_copy(struct og_options *to, const struct og_options *from,
                                   struct og_err *err);

/* The word for a value of an option that is a choice: "belady". */
const char *og__option_word(const char *name, int value);

/* The option's value as og_options_set takes it. Not for the fanout. */
const char *og__option_text(const struct og_options *opt, const char *name, char buf[32]);

/* The dtype that rows are kept in, of features stored as `stored`. */
enum og_dtype og__pack_dtype(const struct og_options *opt, enum og_dtype stored);

/* Where scratch goes: --scratch, else the run's folder, else the user's cache folder. It may not
 * exist yet; malloc'ed, NULL = nowhere. */
char *og__scratch_place(const struct og_options *opt);

/* Was the option set by name, on the command line or in a config file? */
bool og__options_given(const struct og_options *opt, const char *name);

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
