/* What every cmocka program includes. */
#ifndef OG_TESTING_H
#define OG_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* cmocka's assertions leave by longjmp, which the analyzer does not see. */
#ifdef __clang_analyzer__
#include <stdlib.h>
#define OG_ELSE_ABORT(holds) \
    do {                     \
        if (!(holds))        \
            abort();         \
    } while (0)
#undef assert_true
#define assert_true(x) OG_ELSE_ABORT(x)
#undef assert_false
#define assert_false(x) OG_ELSE_ABORT(!(x))
#undef assert_non_null
#define assert_non_null(p) OG_ELSE_ABORT((p) != NULL)
#undef assert_int_equal
#define assert_int_equal(a, b) OG_ELSE_ABORT((a) == (b))
#undef fail_msg
#define fail_msg(...) abort()
#endif

#endif
