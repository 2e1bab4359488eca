/* Labels in CSV that are words: classes, in the order of their bytes. */
#include "dataset/import/by_id.h"

static const char many_hint[] = "at most 512 KiB of names; are they ids?";
enum { MOST_BYTES = 512 * 1024 }; /* of names: meta.json has at most twice as many */

struct list {
    json_t *names;
    size_t bytes;
    const char *file;
};

static int add_class(void *arg, const struct og_word *word, struct og_err *err)
{
    struct list *l = arg;
    l->bytes += word->len + 4;
    if (l->bytes > MOST_BYTES)
        return og__fail(err, -EINVAL, many_hint, "%s: too many different labels, '%.*s' for one",
                        l->file, (int)OG_MIN(word->len, (uint32_t)40), word->text);
    l->names = og__json_append(l->names, json_stringn(word->text, word->len));
    return l->names ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", l->file);
}

static int put_all(struct og_importer *imp, struct og_table *text, struct og_err *err)
{
    struct og_piece p;
    int64_t done = 0;
    int rc;
    OG_TRY(og__piece_take(&p, text, imp->budget, err));
    for (int64_t n = 1; n > 0; done += n) {
        OG_TRY(og__table_read(text, p.raw, p.room, &n, err));
        OG_TRY(og__writing_goes_on(imp->observer, "collecting labels", "lines", done + n, 0, err));
    }
out:
    og__piece_give(&p);
    return rc;
}

static void tell_classes(const struct og_importer *imp, const char *file, int64_t classes,
                         const struct og_word_kinds *kinds)
{
    const int64_t numbers = kinds->n[OG__WORD_WHOLE] + kinds->n[OG__WORD_REAL];
    og__import_say(imp, "%s: labels are words: %lld classes, in class_names of meta.json", file,
                   (long long)classes);
    if (numbers > 0 && kinds->n[OG__WORD_TRUE] == 0)
        og__import_warn(imp, "%s: labels are larger than classes may be: each number is a class",
                        file);
    else if (numbers > 0)
        og__import_warn(imp, "%s: %lld labels are numbers, %lld words: all are classes", file,
                        (long long)numbers, (long long)kinds->n[OG__WORD_TRUE]);
    if (kinds->n[OG__WORD_MISSING] > 0)
        og__import_warn(imp, "%s: %lld labels are nan, null, none or na: no label", file,
                        (long long)kinds->n[OG__WORD_MISSING]);
}

int og__classes_collect(struct og_importer *imp, struct og_table *text, struct og_word_map *classes,
                        struct og_err *err)
{
    struct list list = {.names = json_array(), .file = text->name};
    struct og_word_kinds kinds = {0};
    int rc;
    OG_TRY(og__word_map_open(classes, imp->dir.temporary, MOST_BYTES, imp->budget, err));
    OG_TRY(og__table_csv_classes(text, classes, true, &kinds, err));
    OG_TRY(put_all(imp, text, err));
    OG_TRY(og__word_map_sort(classes, add_class, &list, err));
    tell_classes(imp, text->name, classes->n, &kinds);
    OG_TRY(og__table_csv_classes(text, classes, false, NULL, err));
    json_decref(imp->class_names);
    imp->class_names = json_incref(list.names);
out:
    json_decref(list.names);
    return rc;
}
