#include "dataset/features.h"

#include "dataset/convert.h"

/* NULL: rows are kept as they are stored. */
static const struct og_recode *recode_of(const struct og_dataset *ds)
{
    static const struct og_recode to_half = {
        .from = 4,
        .to = 2,
        .fn = og__narrow_to_half,
        .refusal = "beyond 65504, the largest f16",
        .hint = "bf16 holds it: --pack-dtype bf16, or leave the option out"};
    static const struct og_recode to_bfloat = {.from = 4,
                                               .to = 2,
                                               .fn = og__narrow_to_bfloat,
                                               .refusal = "beyond 3.39e38, the largest bf16",
                                               .hint = "leave --pack-dtype out"};
    if (ds->kept == ds->dtype)
        return NULL;
    return ds->kept == OG_F16 ? &to_half : &to_bfloat;
}

int og__features_keep(struct og_dataset *ds, enum og_dtype kept, struct og_err *err)
{
    bool narrower = ds->dtype == OG_F32 && (kept == OG_F16 || kept == OG_BF16);
    if (kept != ds->dtype && !narrower)
        return og__fail(err, -EINVAL,
                        "leave --pack-dtype out: only f32 is made narrower, to f16 or bf16",
                        "--pack-dtype %s: the features of %s are %s", og__dtype_name(kept),
                        ds->path, og__dtype_name(ds->dtype));
    ds->kept = kept;
    return 0;
}

int og__features_open(struct og_reader **out, const struct og_dataset *ds,
                      const struct og_reader_options *opt, struct og_budget *b, struct og_err *err)
{
    struct og_reader_options own = *opt;
    own.recode = recode_of(ds);
    return og__reader_open(out, ds->features.path, (uint64_t)ds->features.offset,
                           og__file_row_bytes(ds), (uint64_t)ds->n_nodes, &own, b, err);
}
