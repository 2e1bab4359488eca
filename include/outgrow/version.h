/* The version of the library. Part of the public API; see outgrow.h for the tour. */
#ifndef OUTGROW_VERSION_H
#define OUTGROW_VERSION_H

#include <outgrow/err.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header, at compile time. CMake reads the library's version from here. */
#define OG_VERSION_MAJOR  0
#define OG_VERSION_MINOR  1
#define OG_VERSION_PATCH  0
#define OG_VERSION_NUMBER (OG_VERSION_MAJOR * 10000 + OG_VERSION_MINOR * 100 + OG_VERSION_PATCH)

/* Version of the library at run time, such as "0.1.0". Static storage. */
OG_EXPORT const char *og_version(void);
/* OG_VERSION_NUMBER of the library at run time. */
OG_EXPORT int og_version_number(void);

#ifdef __cplusplus
}
#endif

#endif
