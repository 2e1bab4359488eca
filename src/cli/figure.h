/* Figures of a page (figure.c). A key says what numbers count, as in show.c: "seconds", "bytes". */
#ifndef OG_FIGURE_H
#define OG_FIGURE_H

#include "cli.h"

/* Text between tags, or between quotes of an attribute. */
void html_text(FILE *f, const char *text);
const char *shown_number(char buf[SHOWN_MAX], const char *key, double x);

/* One line: a value an epoch, NaN where there is none. */
struct series {
    const char *name;
    const double *y;
    size_t n;
};
void figure_lines(FILE *f, const char *title, const char *key, const struct series *s, size_t n);

struct bar {
    const char *name;
    double value;
    int look; /* bars of the same are of one colour */
};
void figure_bars(FILE *f, const char *title, const char *key, const struct bar *bars, size_t n);

/* Something that was done from `start` to `end`, in seconds. */
struct span {
    size_t lane;
    double start, end;
};
void figure_lanes(FILE *f, const char *title, const char *const *lane, size_t n_lanes,
                  const struct span *spans, size_t n);

#endif
