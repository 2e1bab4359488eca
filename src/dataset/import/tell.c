/* Remarks to the user while a dataset is imported. */
#include "dataset/import/import.h"

static void say(const struct og_importer *imp, enum og__level level, const char *fmt, va_list ap)
{
    char text[1024];
    if (!imp->observer)
        return;
    vsnprintf(text, sizeof(text), fmt, ap);
    og__say(&(struct og_log){imp->observer->message, imp->observer->arg}, level, "%s", text);
}

void og__import_warn(const struct og_importer *imp, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(imp, OG__WARN, fmt, ap);
    va_end(ap);
}

void og__import_tell_changed(const struct og_importer *imp, const struct og_table *t,
                             const struct og_changed *c, const char *stored_as)
{
    if (c->n > 0)
        og__import_warn(imp, "%s: %s stored as %s: %lld number%s change%s, by at most %.3g (%s)",
                        t->name, t->text ? "text" : og__npy_name(t->type), stored_as,
                        (long long)c->n, c->n == 1 ? "" : "s", c->n == 1 ? "s" : "", c->most,
                        og__table_place(t, c->row, c->column).text);
}

void og__import_tell_rounded(const struct og_importer *imp, const char *name, int64_t n,
                             double most)
{
    if (n > 0)
        og__import_warn(imp, "%s: weights stored as f32: %lld number%s change%s, by at most %.3g",
                        name, (long long)n, n == 1 ? "" : "s", n == 1 ? "s" : "", most);
}

void og__import_say(const struct og_importer *imp, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(imp, OG__INFO, fmt, ap);
    va_end(ap);
}
