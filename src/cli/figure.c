/* Figures as SVG (lines, bars and lanes), without another program. Each has a title and a
 * description for screen readers; lines differ by dashes too. */
#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = FIGURE_WIDTH,
    PLOT = 180, /* height of lines, between legend and axis */
    LEFT = 76,
    RIGHT = 24,
    LEGEND = 18, /* a row of it, and its entries */
    LEGEND_COLUMNS = 3,
    BOTTOM = 40,
    BAR_LEFT = 190,
    BAR_RIGHT = 120,
    BAR_STEP = 22,
};

const char figure_style[] =
    ":root{color-scheme:light dark;--c0:#0072b2;--c1:#d55e00;--c2:#009e73;--c3:#cc79a7;"
    "--c4:#b8860b;--c5:#4aa3d8;--c6:#7f3c8d;--c7:#777}"
    "svg text{font:12px system-ui,sans-serif;fill:currentColor}"
    ".grid{stroke:#8884}.line{fill:none;stroke-width:2}"
    "rect.s0,circle.s0{fill:var(--c0)}rect.s1,circle.s1{fill:var(--c1)}"
    "rect.s2,circle.s2{fill:var(--c2)}rect.s3,circle.s3{fill:var(--c3)}"
    "rect.s4,circle.s4{fill:var(--c4)}rect.s5,circle.s5{fill:var(--c5)}"
    "rect.s6,circle.s6{fill:var(--c6)}rect.s7,circle.s7{fill:var(--c7)}"
    ".line.s0{stroke:var(--c0)}.line.s1{stroke:var(--c1);stroke-dasharray:7 3}"
    ".line.s2{stroke:var(--c2);stroke-dasharray:2 3}"
    ".line.s3{stroke:var(--c3);stroke-dasharray:9 3 2 3}.line.s4{stroke:var(--c4)}"
    ".line.s5{stroke:var(--c5);stroke-dasharray:7 3}"
    ".line.s6{stroke:var(--c6);stroke-dasharray:2 3}"
    ".line.s7{stroke:var(--c7);stroke-dasharray:9 3 2 3}"
    ".line.again{stroke-opacity:.45}circle.again{fill-opacity:.45}";

/* ---- text ---- */

void html_text(FILE *f, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", f);
        else if (*text == '>')
            fputs("&gt;", f);
        else if (*text == '&')
            fputs("&amp;", f);
        else if (*text == '"')
            fputs("&quot;", f);
        else
            fputc((unsigned char)*text < ' ' ? ' ' : *text, f);
    }
}

/* Opens <svg> with its title; the caller writes the description, up to end_description. */
static void begin(FILE *f, const char *title, int height)
{
    fprintf(f, "<svg role=\"img\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\"><title>", WIDTH,
            height, WIDTH, height);
    html_text(f, title);
    fputs("</title><desc>", f);
}

static void end_description(FILE *f)
{
    fputs("</desc>\n", f);
}

static void label(FILE *f, double x, double y, const char *anchor, const char *text)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    html_text(f, text);
    fputs("</text>\n", f);
}

void figure_open(FILE *f)
{
    fputs("<figure>", f);
}

void figure_close(FILE *f, const char *title)
{
    fputs("<figcaption>", f);
    html_text(f, title);
    fputs("</figcaption></figure>\n", f);
}

/* ---- scales ---- */

struct range {
    double from, to;
};

/* A step of 1, 2 or 5 times a power of ten, about `count` per range. */
static double tick_step(struct range r, int count, const char *key)
{
    double raw = (r.to - r.from) / count;
    double unit = 1;
    while (strcmp(key, "bytes") == 0 && raw / unit >= 1024) /* KiB, MiB, ... */
        unit *= 1024;
    raw /= unit;
    double power = pow(10, floor(log10(raw)));
    double factor = raw / power;
    return unit * power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

/* Amounts and hit rates start at zero; losses and accuracies at their minimum. */
static struct range values_range(const char *key, const struct series *s, size_t n)
{
    bool amount =
        strcmp(key, "bytes") == 0 || strcmp(key, "seconds") == 0 || strcmp(key, "hit_rate") == 0;
    struct range r = {amount ? 0 : INFINITY, -INFINITY};
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < s[i].n; k++) {
            if (isnan(s[i].y[k]))
                continue;
            r.from = fmin(r.from, s[i].y[k]);
            r.to = fmax(r.to, s[i].y[k]);
        }
    }
    if (r.from > r.to || (amount && r.to == 0))
        return (struct range){0, 1};
    if (amount)
        return (struct range){0, r.to * 1.05};
    double room = r.to > r.from ? (r.to - r.from) * 0.05 : fmax(fabs(r.to), 1) * 0.05;
    return (struct range){r.from - room, r.to + room};
}

static double place(struct range r, double x, double from, double to)
{
    return from + (x - r.from) / (r.to - r.from) * (to - from);
}

/* ---- lines ---- */

/* Area of the values. */
struct frame {
    const struct axes *axes;
    struct range x, y;
    int top, bottom;
};

static double x_of(const struct series *s, size_t k)
{
    return s->x ? s->x[k] : (double)k + 1;
}

static double at_x(const struct frame *r, double x)
{
    return place(r->x, x, LEFT, WIDTH - RIGHT);
}

static double at_y(const struct frame *r, double y)
{
    return place(r->y, y, r->bottom, r->top);
}

static int legend_rows(size_t n)
{
    return (int)((n + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS);
}

/* Epochs start at 1, sizes at zero. */
static struct frame frame_of(const struct axes *axes, const struct series *s, size_t n)
{
    const int top = legend_rows(n) * LEGEND + 12;
    struct frame r = {axes, {1, 2}, values_range(axes->y, s, n), top, top + PLOT};
    if (n > 0 && s[0].x)
        r.x = (struct range){0, 1e-9};
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < s[i].n; k++)
            r.x.to = fmax(r.x.to, x_of(&s[i], k));
    return r;
}

static void describe_series(FILE *f, const struct axes *axes, const struct series *s)
{
    size_t first = 0;
    size_t last = s->n;
    while (first < s->n && isnan(s->y[first]))
        first++;
    while (last > first && isnan(s->y[last - 1]))
        last--;
    if (first == last)
        return;
    html_text(f, s->name);
    fprintf(f, ": %s", shown_number(axes->y, s->y[first]));
    fprintf(f, " at %s %s", axes->x_title, shown_number(axes->x, x_of(s, first)));
    fprintf(f, ", %s", shown_number(axes->y, s->y[last - 1]));
    fprintf(f, " at %s %s. ", axes->x_title, shown_number(axes->x, x_of(s, last - 1)));
}

static void draw_y_axis(FILE *f, const struct frame *r)
{
    const double step = tick_step(r->y, 5, r->axes->y);
    for (long i = (long)ceil(r->y.from / step); (double)i * step <= r->y.to; i++) {
        double v = (double)i * step;
        fprintf(f, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT,
                WIDTH - RIGHT, at_y(r, v), at_y(r, v));
        label(f, LEFT - 6, at_y(r, v) + 4, "end", shown_number(r->axes->y, v));
    }
}

static void draw_x_axis(FILE *f, const struct frame *r)
{
    const double raw = tick_step(r->x, 8, r->axes->x);
    const double step = strcmp(r->axes->x, "epoch") == 0 ? fmax(1, floor(raw)) : raw;
    for (long i = (long)ceil(r->x.from / step); (double)i * step <= r->x.to * 1.000001; i++)
        label(f, at_x(r, (double)i * step), r->bottom + 16, "middle",
              shown_number(r->axes->x, (double)i * step));
    label(f, (LEFT + WIDTH - RIGHT) / 2.0, r->bottom + 34, "middle", r->axes->x_title);
}

/* From the ninth line on styles repeat, paler. */
static const char *again(size_t look)
{
    return look < 8 ? "" : " again";
}

static void draw_series(FILE *f, const struct series *s, size_t look, const struct frame *r)
{
    fprintf(f, "<polyline class=\"line s%zu%s\" points=\"", look % 8, again(look));
    for (size_t k = 0; k < s->n; k++)
        if (!isnan(s->y[k]))
            fprintf(f, "%.1f,%.1f ", at_x(r, x_of(s, k)), at_y(r, s->y[k]));
    fputs("\"/>\n", f);
    for (size_t k = 0; k < s->n && s->n <= 60; k++)
        if (!isnan(s->y[k]))
            fprintf(f, "<circle class=\"s%zu%s\" r=\"2.5\" cx=\"%.1f\" cy=\"%.1f\"/>", look % 8,
                    again(look), at_x(r, x_of(s, k)), at_y(r, s->y[k]));
    fputc('\n', f);
}

static void draw_legend(FILE *f, const struct series *s, size_t n)
{
    const size_t columns = n < LEGEND_COLUMNS ? n : LEGEND_COLUMNS;
    for (size_t i = 0; i < n; i++) {
        double at = LEFT + (double)(i % columns) * (WIDTH - LEFT - RIGHT) / (double)columns;
        int y = 12 + (int)(i / columns) * LEGEND;
        fprintf(f, "<line class=\"line s%zu%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>",
                i % 8, again(i), at, at + 22, y, y);
        label(f, at + 27, y + 4, "start", s[i].name);
    }
}

int figure_lines(FILE *f, const char *title, const struct axes *axes, const struct series *s,
                 size_t n)
{
    const struct frame r = frame_of(axes, s, n);
    begin(f, title, r.bottom + BOTTOM);
    for (size_t i = 0; i < n; i++)
        describe_series(f, axes, &s[i]);
    end_description(f);
    draw_y_axis(f, &r);
    draw_x_axis(f, &r);
    for (size_t i = 0; i < n; i++)
        draw_series(f, &s[i], i, &r);
    draw_legend(f, s, n);
    fputs("</svg>", f);
    return r.bottom + BOTTOM;
}

/* ---- bars ---- */

int figure_bars(FILE *f, const char *title, const char *key, const struct bar *bars, size_t n)
{
    double most = 0;
    const int height = (int)n * BAR_STEP + 8;
    begin(f, title, height);
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, bars[i].value);
        html_text(f, bars[i].name);
        fprintf(f, ": %s. ", shown_number(key, bars[i].value));
    }
    end_description(f);
    for (size_t i = 0; i < n; i++) {
        const double room = WIDTH - BAR_LEFT - BAR_RIGHT;
        double top = (double)i * BAR_STEP + 4;
        double wide = most > 0 ? bars[i].value / most * room : 0;
        label(f, BAR_LEFT - 8, top + 13, "end", bars[i].name);
        fprintf(f, "<rect class=\"s%d\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>",
                bars[i].look % 8, BAR_LEFT, top, fmax(wide, 1), BAR_STEP - 5);
        label(f, BAR_LEFT + wide + 6, top + 13, "start", shown_number(key, bars[i].value));
    }
    fputs("</svg>", f);
    return height;
}

/* Orders by value, descending. */
static int by_value(const void *a, const void *b)
{
    const struct bar *x = a;
    const struct bar *y = b;
    return (x->value < y->value) - (x->value > y->value);
}

size_t memory_bars(const json_t *plan, struct bar bars[MOST_PARTS])
{
    size_t n = 0;
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(plan, "memory"), key, value)
    {
        bool part = strcmp(key, "limit") != 0 && strcmp(key, "smallest") != 0;
        if (part && json_number_value(value) > 0 && n < MOST_PARTS)
            bars[n++] = (struct bar){key, json_number_value(value), 0};
    }
    qsort(bars, n, sizeof(*bars), by_value);
    return n;
}

/* ---- lanes: when which stage worked ---- */

int figure_lanes(FILE *f, const char *title, const char *const *lane, size_t n_lanes,
                 const struct span *spans, size_t n)
{
    enum { STEP = 30, ROOM_LEFT = 90 };
    struct range x = {0, 0};
    const int height = (int)n_lanes * STEP + BOTTOM;
    begin(f, title, height);
    for (size_t i = 0; i < n; i++)
        x.to = fmax(x.to, spans[i].end);
    fprintf(f, "%zu spans of %zu stages in %s. ", n, n_lanes, shown_number("seconds", x.to));
    for (size_t l = 0; l < n_lanes; l++) {
        double busy = 0;
        for (size_t i = 0; i < n; i++)
            busy += spans[i].lane == l ? spans[i].end - spans[i].start : 0;
        html_text(f, lane[l]);
        fprintf(f, " works %s. ", shown_number("seconds", busy));
    }
    end_description(f);
    for (size_t l = 0; l < n_lanes; l++)
        label(f, ROOM_LEFT - 8, (double)l * STEP + 20, "end", lane[l]);
    for (size_t i = 0; i < n && x.to > 0; i++) {
        double from = place(x, spans[i].start, ROOM_LEFT, WIDTH - RIGHT);
        double to = place(x, spans[i].end, ROOM_LEFT, WIDTH - RIGHT);
        fprintf(f, "<rect class=\"s%zu span\" x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\"/>",
                spans[i].lane % 8, from, spans[i].lane * STEP + 5, fmax(to - from, 0.4), STEP - 8);
    }
    for (int i = 0; i <= 4; i++) {
        double v = x.to * i / 4;
        label(f, place((struct range){0, fmax(x.to, 1e-9)}, v, ROOM_LEFT, WIDTH - RIGHT),
              height - 14,
              i == 0   ? "start"
              : i == 4 ? "end"
                       : "middle",
              shown_number("seconds", v + 1e-9));
    }
    fputs("</svg>", f);
    return height;
}
