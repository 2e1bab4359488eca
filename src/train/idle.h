/* Options that have no effect beside others. What is asked for and does nothing is said, once, when
 * all is decided. */
#ifndef OG_IDLE_H
#define OG_IDLE_H

#include "budget/memory_plan.h"

/* Options with another value than their own default. */
struct og_option_set og__options_set_apart(const struct og_options *opt);

/* A line for each option that was asked for and that a session, with all that was decided for it,
 * has no use for. Those without bearing on the command as a whole are not told of. */
void og__say_idle(const struct og_premises *p);

/* One such line; before: what it begins with, "" = nothing. */
void og__say_without_effect(const struct og_log *log, const char *before, const char *name,
                            const char *other, const char *value, const char *why);

#endif
