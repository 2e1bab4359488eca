/* Remarks to the user while a dataset is imported. */
#include "dataset/import/import.h"

void og__import_say(const struct og_importer *imp, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    if (!imp->seen)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    og__say(&(struct og_log){imp->seen->message, imp->seen->arg}, OG__INFO, "%s", text);
}
