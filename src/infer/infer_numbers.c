/* Inputs that decide the results of an inference, as text. A stopped inference resumes only if they
 * are equal. */
#include "infer/infer_passes.h"
#include "infer/infer_state.h"

#include "base/hex.h"
#include "dataset/identity.h"
#include "options/options.h"

#include <string.h>

char *og__infer_numbers(struct og_inference *f, struct og_err *err)
{
    const int weights = f->config.edge_weights;
    json_t *all = f->kind->numbers(f, err);
    if (!all)
        return NULL;
    all = og__json_with(all, "version", json_string(og_version()));
    all = og__json_with(all, "dataset", og__json_hex(og__dataset_state(&f->ds->identity)));
    if (f->ds->group->dtype != f->ds->group->stored) /* rounded: other results */
        all = og__json_with(all, "features", json_string(og__dtype_name(f->ds->group->dtype)));
    if (weights != OG_EDGE_WEIGHTS_OFF)
        all = og__json_with(all, "edge_weights",
                            json_string(og__option_word("edge-weights", weights)));
    char *text = og__json_print(all, JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_decref(all);
    if (!text)
        og__fail_errno(err, -ENOMEM, NULL, "inference");
    return text;
}

/* Whether options of the neighbours are equal. A state older than an option used its default. */
static bool same_neighbors(const json_t *there, const json_t *here)
{
    struct og_options standard;
    const char *name;
    json_t *value;
    if (!json_is_object(there) || !json_is_object(here))
        return json_equal(there, here);
    og__options_init(&standard);
    json_t *usual = og__options_json(&standard);
    og__options_release(&standard);
    bool same = usual != NULL;
    json_object_foreach((json_t *)here, name, value)
    {
        const json_t *said = json_object_get(there, name);
        same = same && json_equal(said ? said : json_object_get(usual, name), value);
    }
    json_decref(usual);
    return same;
}

bool og__infer_same_numbers(const char *there, const char *here)
{
    static const char key[] = "neighbors";
    if (!there || strcmp(there, here) == 0)
        return there;
    json_t *theirs = json_loads(there, 0, NULL);
    json_t *ours = json_loads(here, 0, NULL);
    bool same = theirs && same_neighbors(json_object_get(theirs, key), json_object_get(ours, key));
    if (same) { /* and the rest */
        json_object_del(theirs, key);
        json_object_del(ours, key);
        same = json_equal(theirs, ours);
    }
    json_decref(theirs);
    json_decref(ours);
    return same;
}
