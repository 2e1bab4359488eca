/* meta.json with types: any bytes either are refused with a reason or give types and relations that
 * belong together. */
#include "fuzz.h"

#include "dataset/typed_meta.h"

#include <stdlib.h>
#include <string.h>

static void check_types(const struct og_typed_meta *m)
{
    int64_t total = 0;
    if (m->n_types < 1 || m->n_types > OG_MOST_TYPES)
        abort();
    for (uint32_t t = 0; t < m->n_types; t++) {
        const struct og_type_meta *type = &m->type[t];
        if (og__check_type_name(type->name, "type", NULL) < 0 || type->count < 1 ||
            type->dim < -1 || type->dtype < -1 || type->dtype > OG_U8)
            abort();
        total += type->count;
    }
    if (total != m->plain.n_nodes || total >= UINT32_MAX)
        abort();
}

static void check_relations(const struct og_typed_meta *m)
{
    if (m->n_relations < 1 || m->n_relations > OG_MOST_RELATIONS)
        abort();
    for (uint32_t r = 0; r < m->n_relations; r++) {
        const struct og_relation_meta *one = &m->relation[r];
        if (og__check_type_name(one->name, "relation", NULL) < 0 || one->source >= m->n_types ||
            one->destination >= m->n_types || one->n_edges < -1)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_typed_meta m;
    struct og_meta_file f;
    struct og_err err = {0};
    bool typed = false;
    int is = og__meta_is_typed((const char *)data, size, &typed, &err);
    if (og__typed_meta_parse(&m, (const char *)data, size, "input", &err) < 0) {
        if (!err.message[0])
            abort();
        return 0;
    }
    if (is < 0 || !typed)
        abort();
    check_types(&m);
    check_relations(&m);
    if (og__meta_find_file(&m.plain, "features_0", &f, "input", &err) < 0 && !err.message[0])
        abort();
    og__typed_meta_release(&m);
    return 0;
}
