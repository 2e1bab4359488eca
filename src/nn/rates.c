#include "nn/rates.h"

#include <string.h>

#define POINTER(NAME, name) [OG_RATE_##NAME] = &og__rate_##name,
#define WORD(NAME, name)    [OG_RATE_##NAME] = #name,
static const struct og_rate_schedule *const schedules[] = {OG__RATES(POINTER)};
const char *const og__rate_words[] = {OG__RATES(WORD) NULL};

const char *og__rate_colon(int kind, int place)
{
    const char *const *name = schedules[kind]->parameters;
    while (*name && place-- > 0)
        name++;
    return *name;
}

bool og__rate_takes(int kind, const char *option)
{
    const char *name;
    for (int i = 0; (name = og__rate_colon(kind, i)); i++)
        if (strcmp(name, option) == 0)
            return true;
    return false;
}

double og__rate_at(const struct og_rate *r, uint64_t step, uint32_t epoch)
{
    if (step < r->warmup)
        return r->lr * (double)(step + 1) / (double)r->warmup;
    return schedules[r->kind]->at(r, step, epoch);
}

void og__rate_evaluated(struct og_rate *r, bool improved)
{
    if (schedules[r->kind]->evaluated)
        schedules[r->kind]->evaluated(r, improved);
}
