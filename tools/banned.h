/* Calls this code base does without, each a compile error. Forced in front of our own sources by
 * CMakeLists.txt (-include). The system headers come first, so that their declarations survive. */
#ifndef OG_BANNED_H
#define OG_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OG_BANNED(call, instead) banned_##call##_use_##instead

/* no bound on what they write, or no terminator after it */
#undef strcpy
#define strcpy(...) OG_BANNED(strcpy, snprintf)
#undef strcat
#define strcat(...) OG_BANNED(strcat, snprintf)
#undef stpcpy
#define stpcpy(...) OG_BANNED(stpcpy, snprintf)
#undef strncpy
#define strncpy(...) OG_BANNED(strncpy, snprintf)
#undef strncat
#define strncat(...) OG_BANNED(strncat, snprintf)
#undef sprintf
#define sprintf(...) OG_BANNED(sprintf, snprintf)
#undef vsprintf
#define vsprintf(...) OG_BANNED(vsprintf, vsnprintf)
#undef gets
#define gets(...) OG_BANNED(gets, fgets)
#undef alloca
#define alloca(...) OG_BANNED(alloca, arena)

/* a result in static storage, which threads would share */
#undef strtok
#define strtok(...) OG_BANNED(strtok, strcspn)
#undef strerror
#define strerror(...) OG_BANNED(strerror, og__fail_errno)
#undef gmtime
#define gmtime(...) OG_BANNED(gmtime, gmtime_r)
#undef localtime
#define localtime(...) OG_BANNED(localtime, localtime_r)
#undef ctime
#define ctime(...) OG_BANNED(ctime, strftime)
#undef asctime
#define asctime(...) OG_BANNED(asctime, strftime)

/* cannot distinguish "0" from what is not a number */
#undef atoi
#define atoi(...) OG_BANNED(atoi, strtol)
#undef atol
#define atol(...) OG_BANNED(atol, strtol)
#undef atoll
#define atoll(...) OG_BANNED(atoll, strtoll)
#undef atof
#define atof(...) OG_BANNED(atof, strtod)

/* random numbers come from base/random.h, a pure function of where they are used */
#undef rand
#define rand(...) OG_BANNED(rand, og__rng)
#undef srand
#define srand(...) OG_BANNED(srand, og__rng)
#undef random
#define random(...) OG_BANNED(random, og__rng)
#undef drand48
#define drand48(...) OG_BANNED(drand48, og__rng)

/* a race between the name and the file */
#undef mktemp
#define mktemp(...) OG_BANNED(mktemp, mkstemp)
#undef tmpnam
#define tmpnam(...) OG_BANNED(tmpnam, mkstemp)

#endif
