#include "nn/optimizers.h"

#include <string.h>

#define POINTER(NAME, name) [OG_OPTIMIZER_##NAME] = &og__optimizer_##name,
#define WORD(NAME, name)    [OG_OPTIMIZER_##NAME] = #name,
static const struct og_optimizer *const optimizers[] = {OG__OPTIMIZERS(POINTER)};
const char *const og__optimizer_words[] = {OG__OPTIMIZERS(WORD) NULL};

const struct og_optimizer *og__optimizer(int kind)
{
    return optimizers[kind];
}

bool og__optimizer_takes(int kind, const char *option)
{
    for (const char *const *p = og__optimizer(kind)->parameters; p && *p; p++)
        if (strcmp(*p, option) == 0)
            return true;
    return false;
}
