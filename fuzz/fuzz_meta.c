/* meta.json: any bytes are refused with a reason, or give a description that is consistent. Counts
 * and names are within bounds, and types and relations belong together. */
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

/* A homogeneous graph has one, called "". */
static void check_name(const struct og_meta *m, const char *name)
{
    const bool plain = m->format == OG__FORMAT_PLAIN;
    if (plain ? *name != 0 : og__check_type_name(name, "type", NULL) < 0)
        abort();
}

static void check_types(const struct og_meta *m)
{
    const bool plain = m->format == OG__FORMAT_PLAIN;
    int64_t total = 0;
    if (m->n_types < 1 || m->n_types > (plain ? 1 : OG_MOST_TYPES))
        abort();
    for (uint32_t t = 0; t < m->n_types; t++) {
        const struct og_type_meta *type = &m->type[t];
        check_name(m, type->name);
        if (type->count < (plain ? -1 : 1) || type->dim < -1 || type->dtype < -1 ||
            type->dtype >= OG_DTYPES)
            abort();
        total += type->count;
    }
    if (total != m->n_nodes || total >= UINT32_MAX)
        abort();
}

static void check_relations(const struct og_meta *m)
{
    if (m->n_relations < 1 || m->n_relations > OG_MOST_RELATIONS)
        abort();
    for (uint32_t r = 0; r < m->n_relations; r++) {
        const struct og_relation_meta *one = &m->relation[r];
        check_name(m, one->name);
        if (one->source >= m->n_types || one->destination >= m->n_types || one->n_edges < -1)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_meta m;
    struct og_meta_file f;
    struct og_err err = {0};
    if (og__meta_parse(&m, (const char *)data, size, "input", &err) < 0) {
        if (!err.message[0])
            abort();
        return 0;
    }
    if (m.n_nodes < -1 || m.n_nodes >= UINT32_MAX || m.n_edges < -1 || m.n_classes < 0)
        abort();
    check_types(&m);
    check_relations(&m);
    for (int i = 0; i < OG__ARRAYS; i++)
        check_file(&m.file[i]);
    if (og__meta_find_file(&m, "features_0", &f, "input", &err) < 0 && !err.message[0])
        abort();
    og__meta_release(&m);
    return 0;
}
