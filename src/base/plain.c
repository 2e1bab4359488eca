#include "base/plain.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t
    plain; /* kept until the program ends; 0 where memory is short: that of the program */

static void open_plain(void)
{
    plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
}

double og__plain_number(const char *text, char **end)
{
    pthread_once(&once, open_plain);
    return plain ? strtod_l(text, end, plain) : strtod(text, end);
}

locale_t og__plain_begin(void)
{
    pthread_once(&once, open_plain);
    return uselocale(plain);
}

void og__plain_end(locale_t before)
{
    uselocale(before);
}
