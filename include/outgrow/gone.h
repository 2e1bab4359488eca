/* What earlier headers had: using it is an error, or with compilers that know none a warning, that
 * says what to use now. docs/reference/c-api.md, "How does a program move to this version?", has an
 * example. Part of the public API; see outgrow.h for the tour. */
#ifndef OUTGROW_GONE_H
#define OUTGROW_GONE_H

#include <outgrow/err.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__has_attribute)
#if __has_attribute(unavailable)
#define OG_GONE(text) __attribute__((unavailable(text)))
#else
#define OG_GONE(text) __attribute__((deprecated(text)))
#endif
#else
#define OG_GONE(text)
#endif

#define OG_GONE_MEMBERS                                                                        \
    "struct og_options has no members to set any more: og_options_new(&opt, &err) makes one, " \
    "og_options_set(opt, \"epochs\", \"3\", &err) sets it, og_options_free(opt) gives it back"

/* The arguments are those of any call that there was. */
OG_GONE(OG_GONE_MEMBERS) void og_options_init(const void *opt, ...);
OG_GONE(OG_GONE_MEMBERS) void og_options_release(const void *opt, ...);
OG_GONE("og_import_new(&opt, &err) makes a struct og_import, og_import_set(opt, \"reverse\", "
        "\"true\", &err) sets it, og_import_free(opt) gives it back")
void og_import_init(const void *opt, ...);
OG_GONE("og_generate_new(&g, &err) makes a struct og_generate, og_generate_set(g, \"nodes\", "
        "\"1000\", &err) sets it, og_generate_free(g) gives it back")
void og_generate_init(const void *g, ...);
OG_GONE("og_option(i) is number i of the options, NULL behind the last")
const void *og_option_table(const void *count, ...);
OG_GONE("og_option_alias(i) is number i of the aliases, NULL behind the last")
const void *og_option_aliases(const void *count, ...);
OG_GONE("og_options_set, og_import_set and og_generate_set take an option's text by its name")
int og_option_read(const void *row, ...);
OG_GONE("og_verify tells what would mend a finding: its callback has a third argument, hint")
int og_verify_hints(const void *dataset, ...);
OG_GONE("og_sample takes `out` before err: NULL where its figures are not wanted")
int og_sample_figures(const void *dataset, ...);
OG_GONE("og_simulate takes `tiers` behind caches: NULL without a device")
int og_simulate_tiers(const void *source, ...);

#undef OG_GONE_MEMBERS
#undef OG_GONE

#ifdef __cplusplus
}
#endif

#endif
