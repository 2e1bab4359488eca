/* Which version this is. Part of the public API; see outgrow.h for the tour. */
#ifndef OUTGROW_VERSION_H
#define OUTGROW_VERSION_H

#include <outgrow/err.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the header, when a program is compiled. CMake takes its own from here. */
#define OG_VERSION_MAJOR  0
#define OG_VERSION_MINOR  1
#define OG_VERSION_PATCH  0
#define OG_VERSION_NUMBER (OG_VERSION_MAJOR * 10000 + OG_VERSION_MINOR * 100 + OG_VERSION_PATCH)

/* Of the library that a program runs with: "0.1.0", static storage; and OG_VERSION_NUMBER of it. */
OG_EXPORT const char *og_version(void);
OG_EXPORT int og_version_number(void);

#ifdef __cplusplus
}
#endif

#endif
