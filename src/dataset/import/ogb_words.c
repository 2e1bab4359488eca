/* Small files of words, a few lines with commas between. */
#include "dataset/import/ogb.h"

#include "dataset/import/text.h"

#include <stdlib.h>
#include <string.h>

void og__words_free(struct og_words *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->n; i++)
        free(l->line[i].word);
    free(l->text);
    free(l->path);
    free(l);
}

int og__words_wrong(const struct og_words *l, const char *what, struct og_err *err)
{
    return og__fail(err, -EINVAL, "fetch the dataset again: this is not as OGB publishes it",
                    "%s: %s", l->path, what);
}

/* The words of a line between commas; what is there is cut. */
static int cut_line(struct og_words *l, char *text, struct og_err *err)
{
    if (l->n == OG__MOST_LINES)
        return og__words_wrong(l, "too many lines", err);
    struct og_words_line *line = &l->line[l->n];
    line->word = calloc(OG__MOST_WORDS, sizeof(*line->word));
    if (!line->word)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", l->path);
    l->n++;
    for (char *word; (word = strsep(&text, ","));) {
        if (line->n == OG__MOST_WORDS)
            return og__words_wrong(l, "too many columns", err);
        line->word[line->n++] = word;
    }
    return 0;
}

static int take_text(struct og_words *l, struct og_text *t, struct og_err *err)
{
    const char *begin;
    const char *end;
    OG_DO(og__text_block(t, &begin, &end, err));
    if (!begin)
        return og__words_wrong(l, "empty", err);
    if (memchr(begin, 0, (size_t)(end - begin)))
        return og__words_wrong(l, "no text", err);
    l->text = strndup(begin, (size_t)(end - begin));
    OG_DO(l->text ? og__text_block(t, &begin, &end, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "%s", l->path));
    if (begin)
        return og__words_wrong(l, "too long", err);
    char *rest = l->text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        const size_t n = strlen(line);
        if (n > 0 && line[n - 1] == '\r')
            line[n - 1] = 0;
        if (line[0])
            OG_DO(cut_line(l, line, err));
    }
    return 0;
}

int og__words_read(const struct og_importer *imp, const char *name, struct og_words **out,
                   struct og_err *err)
{
    struct og_text text = {0};
    struct og_words *l = calloc(1, sizeof(*l));
    int rc;
    *out = l;
    OG_TRY(l && (l->path = og__import_source(imp, name))
               ? 0
               : og__fail_errno(err, -ENOMEM, NULL, "%s", name));
    OG_TRY(og__text_open(&text, l->path, imp->budget, err));
    OG_TRY(take_text(l, &text, err));
out:
    og__text_close(&text);
    return rc;
}

int og__words_table(const struct og_importer *imp, const char *name, struct og_words **out,
                    struct og_err *err)
{
    int rc = og__words_read(imp, name, out, err);
    if (rc < 0 || ((*out)->n == 2 && (*out)->line[0].n == (*out)->line[1].n))
        return rc;
    return og__words_wrong(*out, "two lines expected, names and a word for each", err);
}

const char *og__words_value(const struct og_words *l, const char *name)
{
    for (size_t i = 0; i < l->line[0].n; i++)
        if (strcmp(l->line[0].word[i], name) == 0)
            return l->line[1].word[i];
    return "";
}
