/* Figures as SVG inside a page: lines, bars and lanes, drawn here so that a report needs no other
 * program. Each has a title and a description, which a screen reader reads in its place; colours
 * come from the page's style, and lines differ by dashes too. */
#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 640,
    HEIGHT = 250,
    LEFT = 76,
    RIGHT = 14,
    TOP = 30, /* the legend stands there */
    BOTTOM = 40,
    BAR_LEFT = 190,
    BAR_RIGHT = 120,
    BAR_STEP = 22,
};

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

const char *shown_number(char buf[SHOWN_MAX], const char *key, double x)
{
    json_t *value = x == floor(x) && fabs(x) < 1e15 ? json_integer((json_int_t)x) : json_real(x);
    show_value(buf, key, value);
    json_decref(value);
    return buf;
}

/* Opens <figure><svg> with its title; the description is the caller's, up to end_description. */
static void begin(FILE *f, const char *title, int height)
{
    fprintf(f, "<figure><svg role=\"img\" viewBox=\"0 0 %d %d\"><title>", WIDTH, height);
    html_text(f, title);
    fputs("</title><desc>", f);
}

static void end_description(FILE *f)
{
    fputs("</desc>\n", f);
}

static void end(FILE *f, const char *title)
{
    fputs("</svg><figcaption>", f);
    html_text(f, title);
    fputs("</figcaption></figure>\n", f);
}

static void label(FILE *f, double x, double y, const char *anchor, const char *text)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    html_text(f, text);
    fputs("</text>\n", f);
}

/* ---- scales ---- */

struct range {
    double from, to;
};

/* 1, 2 or 5 times a power of ten, so that about `count` of them make the range. */
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

/* Amounts begin at nothing; losses and shares where they are. */
static struct range values_range(const char *key, const struct series *s, size_t n)
{
    bool amount = strcmp(key, "bytes") == 0 || strcmp(key, "seconds") == 0;
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

static void describe_series(FILE *f, const char *key, const struct series *s)
{
    char a[SHOWN_MAX];
    char b[SHOWN_MAX];
    size_t first = 0;
    size_t last = s->n;
    while (first < s->n && isnan(s->y[first]))
        first++;
    while (last > first && isnan(s->y[last - 1]))
        last--;
    if (first == last)
        return;
    html_text(f, s->name);
    fprintf(f, ": %s at epoch %zu, %s at epoch %zu. ", shown_number(a, key, s->y[first]), first + 1,
            shown_number(b, key, s->y[last - 1]), last);
}

static void draw_axes(FILE *f, const char *key, struct range x, struct range y)
{
    char text[SHOWN_MAX];
    const double step = tick_step(y, 5, key);
    for (long i = (long)ceil(y.from / step); (double)i * step <= y.to; i++) {
        double v = (double)i * step;
        double at = place(y, v, HEIGHT - BOTTOM, TOP);
        fprintf(f, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT,
                WIDTH - RIGHT, at, at);
        label(f, LEFT - 6, at + 4, "end", shown_number(text, key, v));
    }
    const long by = (long)fmax(1, tick_step(x, 8, "epoch"));
    for (long epoch = by; (double)epoch <= x.to; epoch += by) {
        snprintf(text, sizeof(text), "%ld", epoch);
        label(f, place(x, (double)epoch, LEFT, WIDTH - RIGHT), HEIGHT - BOTTOM + 16, "middle",
              text);
    }
    label(f, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 6, "middle", "epoch");
}

static void draw_series(FILE *f, const struct series *s, size_t look, struct range x,
                        struct range y)
{
    fprintf(f, "<polyline class=\"line s%zu\" points=\"", look % 8);
    for (size_t k = 0; k < s->n; k++)
        if (!isnan(s->y[k]))
            fprintf(f, "%.1f,%.1f ", place(x, (double)k + 1, LEFT, WIDTH - RIGHT),
                    place(y, s->y[k], HEIGHT - BOTTOM, TOP));
    fputs("\"/>\n", f);
    for (size_t k = 0; k < s->n && s->n <= 60; k++)
        if (!isnan(s->y[k]))
            fprintf(f, "<circle class=\"s%zu\" r=\"2.5\" cx=\"%.1f\" cy=\"%.1f\"/>", look % 8,
                    place(x, (double)k + 1, LEFT, WIDTH - RIGHT),
                    place(y, s->y[k], HEIGHT - BOTTOM, TOP));
    fputc('\n', f);
}

static void draw_legend(FILE *f, const struct series *s, size_t n)
{
    double room = (double)(WIDTH - LEFT - RIGHT) / (double)n;
    for (size_t i = 0; i < n; i++) {
        double at = LEFT + (double)i * room;
        fprintf(f, "<line class=\"line s%zu\" x1=\"%.1f\" x2=\"%.1f\" y1=\"12\" y2=\"12\"/>", i % 8,
                at, at + 22);
        label(f, at + 27, 16, "start", s[i].name);
    }
}

void figure_lines(FILE *f, const char *title, const char *key, const struct series *s, size_t n)
{
    struct range x = {1, 2};
    const struct range y = values_range(key, s, n);
    for (size_t i = 0; i < n; i++)
        x.to = fmax(x.to, (double)s[i].n);
    begin(f, title, HEIGHT);
    for (size_t i = 0; i < n; i++)
        describe_series(f, key, &s[i]);
    end_description(f);
    draw_axes(f, key, x, y);
    for (size_t i = 0; i < n; i++)
        draw_series(f, &s[i], i, x, y);
    draw_legend(f, s, n);
    end(f, title);
}

/* ---- bars ---- */

void figure_bars(FILE *f, const char *title, const char *key, const struct bar *bars, size_t n)
{
    char text[SHOWN_MAX];
    double most = 0;
    begin(f, title, (int)n * BAR_STEP + 8);
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, bars[i].value);
        html_text(f, bars[i].name);
        fprintf(f, ": %s. ", shown_number(text, key, bars[i].value));
    }
    end_description(f);
    for (size_t i = 0; i < n; i++) {
        const double room = WIDTH - BAR_LEFT - BAR_RIGHT;
        double top = (double)i * BAR_STEP + 4;
        double wide = most > 0 ? bars[i].value / most * room : 0;
        label(f, BAR_LEFT - 8, top + 13, "end", bars[i].name);
        fprintf(f, "<rect class=\"s%d\" x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>",
                bars[i].look % 8, BAR_LEFT, top, fmax(wide, 1), BAR_STEP - 5);
        label(f, BAR_LEFT + wide + 6, top + 13, "start", shown_number(text, key, bars[i].value));
    }
    end(f, title);
}

/* ---- lanes: when which stage worked ---- */

void figure_lanes(FILE *f, const char *title, const char *const *lane, size_t n_lanes,
                  const struct span *spans, size_t n)
{
    enum { STEP = 30, ROOM_LEFT = 90 };
    char text[SHOWN_MAX];
    struct range x = {0, 0};
    const int height = (int)n_lanes * STEP + BOTTOM;
    begin(f, title, height);
    for (size_t i = 0; i < n; i++)
        x.to = fmax(x.to, spans[i].end);
    fprintf(f, "%zu spans of %zu stages in %s. ", n, n_lanes, shown_number(text, "seconds", x.to));
    for (size_t l = 0; l < n_lanes; l++) {
        double busy = 0;
        for (size_t i = 0; i < n; i++)
            busy += spans[i].lane == l ? spans[i].end - spans[i].start : 0;
        html_text(f, lane[l]);
        fprintf(f, " works %s. ", shown_number(text, "seconds", busy));
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
              shown_number(text, "seconds", v + 1e-9));
    }
    end(f, title);
}
