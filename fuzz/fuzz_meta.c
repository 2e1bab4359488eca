/* meta.json: any bytes either are refused with a reason or give counts and names within bounds. */
#include "fuzz.h"

#include "dataset/meta.h"

#include <stdlib.h>

static void check_parts(const struct og_meta_file *f)
{
    if (f->stripes.parts < 2 || f->stripes.parts > OG_MOST_PARTS || f->stripes.unit < 1 || f->path)
        abort();
    for (uint32_t p = 0; p < f->stripes.parts; p++) {
        const struct og_meta_part part = og__meta_part(f, p);
        if (!part.path || !*part.path)
            abort();
    }
}

static void check_file(const struct og_meta_file *f)
{
    if (f->stripes.parts > 0)
        check_parts(f);
    if (!f->raw)
        return;
    if (!f->path || f->ndim < 1 || f->ndim > 2 || f->shape[0] < 0 || f->shape[1] < 0 ||
        f->offset < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_meta m;
    struct og_err err = {0};
    if (og__meta_parse(&m, OG__FORMAT_PLAIN, (const char *)data, size, "input", &err) < 0) {
        if (!err.message[0])
            abort();
        return 0;
    }
    if (m.n_nodes < -1 || m.n_nodes >= UINT32_MAX || m.n_edges < -1 || m.dim < -1 ||
        m.n_classes < 0 || m.dtype < -1 || m.dtype > OG_U8)
        abort();
    for (int i = 0; i < OG__ARRAYS; i++)
        check_file(&m.file[i]);
    og__meta_release(&m);
    return 0;
}
