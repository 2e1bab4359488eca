/* Collects names for a message: "a, b and 3 others". */
#ifndef OG_DATASET_NAMES_H
#define OG_DATASET_NAMES_H

#include "base/base.h"

struct og_names {
    char text[400];
    size_t n, others;
};
void og__names_add(struct og_names *names, const char *name);
const char *og__names_text(struct og_names *names);

#endif
