/* Figures of a report in their own file. */
#include "figure.h"

#include <stdlib.h>
#include <string.h>

enum { TITLE = 28 }; /* height of a line of text */

static int open_plot(struct plot *p, const char *path, struct og_err *err)
{
    const size_t n = strlen(path);
    *p = (struct plot){.page = n >= 5 && strcmp(path + n - 5, ".html") == 0};
    p->body = open_memstream(&p->text, &p->len);
    return p->body ? 0 : no_result(err);
}

void plot_begin(struct plot *p, const char *title)
{
    if (p->page) {
        figure_open(p->body);
        return;
    }
    fprintf(p->body, "<text class=\"title\" x=\"8\" y=\"%d\">", p->height + TITLE - 8);
    html_text(p->body, title);
    fprintf(p->body, "</text>\n<g transform=\"translate(0,%d)\">", p->height + TITLE);
}

void plot_end(struct plot *p, const char *title, int height)
{
    p->height += TITLE + height + 8;
    if (p->page)
        figure_close(p->body, title);
    else
        fputs("</g>\n", p->body);
}

static void write_page(const struct plot *p, const char *title, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
          "<link rel=\"icon\" href=\"data:,\"><title>",
          out);
    html_text(out, title);
    fprintf(out,
            "</title><style>%sbody{font:16px system-ui,sans-serif;max-width:60rem;"
            "margin:2rem auto}</style></head><body>\n<h1>",
            figure_style);
    html_text(out, title);
    fprintf(out, "</h1>\n%s</body></html>\n", p->text);
}

/* White background: an SVG viewer may not support dark colours. */
static void write_svg(const struct plot *p, const char *title, FILE *out)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\"><title>",
            FIGURE_WIDTH, p->height, FIGURE_WIDTH, p->height);
    html_text(out, title);
    fprintf(out,
            "</title><style>%s:root{color-scheme:light;background:#fff;color:#222}"
            "svg text.title{font-weight:bold}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n%s</svg>\n",
            figure_style, p->text);
}

static int write_plot(struct plot *p, const char *title, FILE *out, struct og_err *err)
{
    if (fflush(p->body) != 0)
        return no_result(err);
    if (p->page)
        write_page(p, title, out);
    else
        write_svg(p, title, out);
    return 0;
}

int plot_file(const char *text, plot_draw *draw, const char *title, const char *path,
              struct output *file, struct og_err *err)
{
    struct plot p = {0};
    int rc = 0;
    if (!path)
        return 0;
    json_t *root = json_loads(text, 0, NULL);
    TRY(root ? open_plot(&p, path, err) : no_result(err));
    TRY(draw(root, &p, err));
    TRY(write_plot(&p, title, file->file, err));
    rc = output_commit(file, err);
out:
    if (p.body)
        fclose(p.body);
    free(p.text);
    json_decref(root);
    return rc;
}
