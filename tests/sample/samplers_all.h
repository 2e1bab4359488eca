/* Every sampler, as its own options and --draw have it. */
#ifndef TESTS_SAMPLERS_ALL_H
#define TESTS_SAMPLERS_ALL_H

#include "sample/sample.h"

/* uniform, the first, for what holds of all of them */
static const struct og_sampling ways[] = {
    {.kind = OG_SAMPLER_UNIFORM},
    {.kind = OG_SAMPLER_WEIGHTED},
    {.kind = OG_SAMPLER_WALK, .walks = 4, .walk_length = 3, .restart = 0.5},
    {.kind = OG_SAMPLER_LABOR},
    {.kind = OG_SAMPLER_LADIES},
    {.kind = OG_SAMPLER_UNIFORM, .once = true},
    {.kind = OG_SAMPLER_WEIGHTED, .once = true},
    {.kind = OG_SAMPLER_WALK, .walks = 4, .walk_length = 3, .restart = 0.5, .once = true},
    {.kind = OG_SAMPLER_LABOR, .once = true},
    {.kind = OG_SAMPLER_UNIFORM, .replace = true},
    {.kind = OG_SAMPLER_UNIFORM, .replace = true, .once = true},
};

#endif
