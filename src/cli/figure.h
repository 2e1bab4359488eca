/* Figures (figure.c), one <svg> each, and files of figures (plot.c). A key gives the unit of
 * values, as in show.c: "seconds", "bytes". */
#ifndef OG_FIGURE_H
#define OG_FIGURE_H

#include "cli.h"

/* Write text between tags, or in an attribute's quotes, escaped. */
void html_text(FILE *f, const char *text);

enum { FIGURE_WIDTH = 640, MOST_PARTS = 32 };
extern const char figure_style[]; /* of the page or SVG with the figures */

/* Write the elements around an <svg> in a page. */
void figure_open(FILE *f);
void figure_close(FILE *f, const char *title);

/* All figures return their height. */

struct axes {
    const char *y, *x; /* keys */
    const char *x_title;
};
/* One line; NaN where there is no value. Without x, values are of epochs 1, 2, ... */
struct series {
    const char *name;
    const double *x, *y;
    size_t n;
};
int figure_lines(FILE *f, const char *title, const struct axes *axes, const struct series *s,
                 size_t n);

struct bar {
    const char *name;
    double value;
    int look; /* bars with the same look have one colour */
};
int figure_bars(FILE *f, const char *title, const char *key, const struct bar *bars, size_t n);
/* Parts of a plan's memory, largest first; returns their number. */
size_t memory_bars(const json_t *plan, struct bar bars[MOST_PARTS]);

/* An activity from `start` to `end`, in seconds. */
struct span {
    size_t lane;
    double start, end;
};
int figure_lanes(FILE *f, const char *title, const char *const *lane, size_t n_lanes,
                 const struct span *spans, size_t n);

/* ---- plot.c ---- */

/* Figures in one file, one below the other. A page if its name ends in .html, else SVG. */
struct plot {
    bool page;
    FILE *body; /* writes to text */
    char *text;
    size_t len;
    int height;
};
/* Call before and after each figure; height: from the figure. */
void plot_begin(struct plot *p, const char *title);
void plot_end(struct plot *p, const char *title, int height);
/* Writes the figures that `draw` makes of a result (JSON) to the file; path NULL: does nothing. */
typedef int plot_draw(const json_t *root, struct plot *p, struct og_err *err);
int plot_file(const char *text, plot_draw *draw, const char *title, const char *path,
              struct output *file, struct og_err *err);

#endif
