#include "dataset/features.h"

#include "dataset/convert.h"

/* By the dtype in memory. */
static const struct og_recode recodes[OG_DTYPES] = {
    [OG_F16] = {.from = 4,
                .to = 2,
                .fn = og__narrow_to_half,
                .refusal = "beyond 65504, the largest f16",
                .hint = "bf16 holds it: --pack-dtype bf16, or leave the option out"},
    [OG_BF16] = {.from = 4,
                 .to = 2,
                 .fn = og__narrow_to_bfloat,
                 .refusal = "beyond 3.39e38, the largest bf16",
                 .hint = "leave --pack-dtype out"},
    [OG_I8] = {.from = 4,
               .to = 1,
               .scaled = og__narrow_to_i8,
               .refusal = "NaN, or beyond its column's scale",
               .hint = "import the graph again if its features changed; leave --pack-dtype out"},
    [OG_E4M3] = {.from = 4,
                 .to = 1,
                 .scaled = og__narrow_to_e4m3,
                 .refusal = "NaN, or beyond its column's scale",
                 .hint = "import the graph again if its features changed; leave --pack-dtype out"},
};

int og__features_keep(struct og_group *g, enum og_dtype kept, struct og_err *err)
{
    if (kept != g->stored && g->sparse.room > 0)
        return og__fail(
            err, -EINVAL, "leave --pack-dtype out, or import the graph with --feature-dtype f16",
            "--pack-dtype %s: the rows of %s are sparse", og__dtype_name(kept), g->rows.path);
    if (kept != g->stored && !(g->stored == OG_F32 && recodes[kept].from > 0))
        return og__fail(err, -EINVAL,
                        "leave --pack-dtype out: only f32 is made narrower, to f16, bf16, i8 or "
                        "e4m3",
                        "--pack-dtype %s: the features of %s are %s", og__dtype_name(kept),
                        g->rows.path, og__dtype_name(g->stored));
    if (kept != g->stored && og__dtype_scaled(kept) && !g->scale)
        return og__fail(
            err, -EINVAL, "import the graph with --feature-scales, or use --pack-dtype bf16",
            "--pack-dtype %s: %s has no scales of its columns", og__dtype_name(kept), g->rows.path);
    g->dtype = kept;
    return 0;
}

/* The feature files of a group; the dataset owns paths[n]. */
static int list_paths(const struct og_group *g, const char *paths[OG_MOST_PARTS])
{
    const struct og_npy_parts *parts = g->rows.parts;
    paths[0] = g->rows.path;
    for (uint32_t p = 0; parts && p < parts->stripes.parts; p++)
        paths[p] = parts->part[p].path;
    return parts ? (int)parts->stripes.parts : 1;
}

void og__features_profile(const struct og_group *g, struct og_disk_profile *out)
{
    const char *paths[OG_MOST_PARTS];
    const int n = list_paths(g, paths);
    og__profile_load_all(paths, n, out);
}

bool og__features_apart(const struct og_group *g, const char *path)
{
    const char *paths[OG_MOST_PARTS];
    const int n = list_paths(g, paths);
    for (int i = 0; i < n; i++)
        if (og__same_disk(paths[i], path))
            return false;
    return true;
}

static int open_rows(struct og_reader **out, const struct og_group *g,
                     const struct og_recode *recode, const struct og_reader_options *opt,
                     struct og_budget *b, struct og_err *err)
{
    struct og_reader_options own = *opt;
    const char *paths[OG_MOST_PARTS];
    list_paths(g, paths);
    const uint64_t bytes =
        (uint64_t)g->rows.shape[0] * (uint64_t)g->rows.shape[1] * og__npy_size(g->rows.type);
    const size_t row_bytes = og__file_row_bytes(g);
    const struct og_row_files rows = {
        .paths = paths,
        .stripes = g->rows.parts ? g->rows.parts->stripes : (struct og_stripes){0},
        .offset = (uint64_t)g->rows.offset,
        .row_bytes = row_bytes,
        .n_rows = (bytes + row_bytes - 1) / row_bytes,
        .bytes = bytes % row_bytes > 0 ? bytes : 0,
    };
    own.recode = recode;
    return og__reader_open_parts(out, &rows, &own, b, err);
}

int og__features_open(struct og_reader **out, const struct og_group *g,
                      const struct og_reader_options *opt, struct og_budget *b, struct og_err *err)
{
    struct og_recode how = recodes[g->dtype];
    how.scale = g->scale;
    how.columns = (size_t)g->dim;
    return open_rows(out, g, g->dtype == g->stored ? NULL : &how, opt, b, err);
}

int og__features_open_stored(struct og_reader **out, const struct og_group *g,
                             const struct og_reader_options *opt, struct og_budget *b,
                             struct og_err *err)
{
    return open_rows(out, g, NULL, opt, b, err);
}
