/* The columns of features that a model was trained on: their names, and how they were standardized.
 * A checkpoint has them as {type: {"feature_names": [...], "standardized": XXH3}}, with "" for the
 * type of a homogeneous graph. What is not known is left out. */
#include "base/hex.h"
#include "base/json.h"
#include "dataset/graph.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

static const char names_key[] = "feature_names";
static const char scale_key[] = "standardized";

static json_t *with_scale(json_t *of, const json_t *meta)
{
    char *means = og__json_print(json_object_get(meta, "feature_means"), JSON_COMPACT);
    char *deviations = og__json_print(json_object_get(meta, "feature_deviations"), JSON_COMPACT);
    if (means && deviations) {
        const uint64_t hash = XXH3_64bits(means, strlen(means));
        of =
            og__json_with(of, scale_key,
                          og__json_hex(XXH3_64bits_withSeed(deviations, strlen(deviations), hash)));
    }
    free(deviations);
    free(means);
    return of;
}

static json_t *with_type(json_t *all, const char *type, const json_t *meta)
{
    json_t *names = json_object_get(meta, names_key);
    json_t *of = json_object();
    if (json_array_size(names) > 0)
        of = og__json_with(of, names_key, json_incref(names));
    of = with_scale(of, meta);
    if (json_object_size(of) > 0)
        return og__json_with(all, type, of);
    json_decref(of);
    return all;
}

json_t *og__graph_columns(const struct og_graph *g)
{
    const json_t *groups = json_object_get(g->meta, "node_types"), *one;
    json_t *all = json_object();
    size_t i;
    if (!groups)
        return with_type(all, "", g->meta);
    json_array_foreach(groups, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        all = name ? with_type(all, name, one) : all;
    }
    return all;
}

/* Names of CSV are in lower case, whatever the file has. */
static int same_names(const struct og_graph *g, const char *type, const json_t *ours,
                      const json_t *theirs, struct og_err *err)
{
    const size_t n = OG_MIN(json_array_size(ours), json_array_size(theirs));
    for (size_t j = 0; j < n; j++) {
        const char *a = json_string_value(json_array_get(ours, j));
        const char *b = json_string_value(json_array_get(theirs, j));
        if (a && b && strcasecmp(a, b) != 0)
            return og__fail(err, -EINVAL,
                            "import the columns of training, in their order and by their names",
                            "%s: feature %zu%s%.80s is %.80s, the checkpoint learnt %.80s", g->path,
                            j, *type ? " of " : "", type, a, b);
    }
    return 0;
}

static void compare_scales(const struct og_graph *g, const char *type, const json_t *ours,
                           const json_t *theirs, const struct og_log *log)
{
    static const char as[] = "import with --standardize-as DATASET, that of training";
    const char *of = *type ? " of " : "";
    if (theirs && !ours)
        og__say(log, OG__WARN,
                "%s: nothing says that features%s%.80s are standardized as in training: %s",
                g->path, of, type, as);
    else if (theirs && !json_equal(ours, theirs))
        og__say(log, OG__WARN,
                "%s: features%s%.80s are standardized by other means than those of training: %s",
                g->path, of, type, as);
    else if (ours && !theirs)
        og__say(log, OG__WARN,
                "%s: features%s%.80s are standardized, those of training were not: import without "
                "--standardize",
                g->path, of, type);
}

int og__graph_same_columns(const struct og_graph *g, const json_t *theirs, const struct og_log *log,
                           struct og_err *err)
{
    json_t *ours = og__graph_columns(g);
    json_t *their;
    const char *type;
    int rc = ours ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    json_object_foreach((json_t *)theirs, type, their)
    {
        const json_t *our = json_object_get(ours, type);
        OG_TRY(same_names(g, type, json_object_get(our, names_key),
                          json_object_get(their, names_key), err));
        compare_scales(g, type, json_object_get(our, scale_key), json_object_get(their, scale_key),
                       log);
    }
out:
    json_decref(ours);
    return rc;
}
