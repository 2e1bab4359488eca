/* predict and eval --full: layer by layer where nodes have no types, else a batch at a time. */
#include "base/sized.h"
#include "dataset/graph.h"
#include "infer/whole_graph.h"
#include "run/typed_eval.h"
#include "run/typed_predict.h"

#include <string.h>

int og_predict(const char *dataset, const char *checkpoint, const char *out, const char *embeddings,
               const struct og_options *opt, const struct og_observer *seen, char **text,
               struct og_err *err)
{
    bool typed;
    if (text)
        *text = NULL;
    int rc = OG_SIZED(seen, "og_observer", err);
    if (rc < 0)
        return rc;
    rc = og__graph_has_types(dataset, &typed, err);
    if (rc < 0)
        return rc;
    return (typed ? og__typed_predict : og__whole_predict)(dataset, checkpoint, out, embeddings,
                                                           opt, seen, text, err);
}

int og_eval_full(const char *dataset, const char *checkpoint, const char *split,
                 const struct og_options *opt, const struct og_observer *seen, char **out,
                 struct og_err *err)
{
    const enum og__split which = strcmp(split, "valid") == 0 ? OG__VALID : OG__TEST;
    bool typed;
    if (out)
        *out = NULL;
    if (which == OG__TEST && strcmp(split, "test") != 0)
        return og__fail(err, -EINVAL, "valid or test", "--split %s: no such split", split);
    int rc = OG_SIZED(seen, "og_observer", err);
    if (rc < 0)
        return rc;
    rc = og__graph_has_types(dataset, &typed, err);
    if (rc < 0)
        return rc;
    return (typed ? og__typed_eval_full : og__whole_eval)(dataset, checkpoint, which, opt, seen,
                                                          out, err);
}
