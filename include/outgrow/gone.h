/* Functions of earlier headers. Using one is a compile error that names its replacement, or a
 * warning with older compilers. docs/reference/c-api.md has an example under "How does a program
 * move to this version?". Part of the public API; see outgrow.h for the tour. */
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

/* Declared so that any call of the former signature reaches the message. */
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
