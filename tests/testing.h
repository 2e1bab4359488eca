/* What every cmocka program includes. */
#ifndef OG_TESTING_H
#define OG_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#endif
