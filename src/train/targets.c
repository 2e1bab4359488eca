#include "train/targets.h"

#include <string.h>

void og__work_labels(const struct og_facts *f, const struct og_work *w, void *out)
{
    size_t width = og__labels_bytes(f->ds, 1);
    const char *labels = f->split[w->descriptor.split].labels;
    for (uint32_t i = 0; i < w->descriptor.n_seeds; i++)
        memcpy((char *)out + i * width, labels + w->seeds.place[i] * width, width);
}

const void *og__work_targets(const struct og_facts *f, const struct og_work *w, void *out)
{
    if (f->seeds.edges)
        return &w->seeds.pairs;
    og__work_labels(f, w, out);
    return out;
}
