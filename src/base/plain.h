/* Numbers as text, with a decimal point whatever locale the calling program has set. */
#ifndef OG_PLAIN_H
#define OG_PLAIN_H

#include <locale.h>

/* As strtod. */
double og__plain_number(const char *text, char **end);

/* Between the two, this thread's printf writes a point. */
locale_t og__plain_begin(void);
void og__plain_end(locale_t before);

#endif
