/* og_order: an order of the training nodes, in a file. */
#include "base/option_rows.h"
#include "dataset/seed_order.h"
#include "report/json.h"

#include <stdlib.h>

static const char part[] = "seeds";

static int write_order(const struct og_graph *g, const char *path, struct og_budget *b, char **out,
                       struct og_err *err)
{
    uint32_t *nodes = NULL, *place = NULL;
    int64_t n = 0;
    int rc;
    OG_TRY(og__graph_split(g, OG__TRAIN, b, &nodes, &n, err));
    if (n == 0)
        OG_TRY(og__fail(err, -EINVAL, "import the graph with train.npy", "%s: no training nodes",
                        g->path));
    place = og__alloc(b, (size_t)n * sizeof(*place), part, err);
    OG_TRY(place ? 0 : -ENOMEM);
    OG_TRY(og__order_by_minhash(g, nodes, (uint32_t)n, b, place, err));
    OG_TRY(og__order_write(path, place, (uint32_t)n, err));
    OG_TRY(og__json_deliver(json_pack("{s:s s:I s:o}", "order", "minhash", "nodes", (json_int_t)n,
                                      "file", og__json_text(path)),
                            NULL, out, err));
out:
    og__release(b, place, (size_t)n * sizeof(*place), part);
    og__release(b, nodes, (size_t)n * sizeof(*nodes), part);
    return rc;
}

int og_order(const char *dataset, const char *file, char **out, struct og_err *err)
{
    struct og_budget *b = og__budget_new(og__memory_amount(&(struct og_amount){.unit = OG_UNSET}));
    struct og_graph *g = NULL;
    char *own = NULL;
    int rc;
    if (out)
        *out = NULL;
    OG_TRY(b ? 0 : og__fail_errno(err, -ENOMEM, NULL, "order"));
    OG_TRY(og__graph_open_share(dataset, &g, err));
    if (!file)
        OG_TRY((own = og__path_join(dataset, "order_train.npy"))
                   ? 0
                   : og__fail_errno(err, -ENOMEM, NULL, "order"));
    rc = write_order(g, file ? file : own, b, out, err);
out:
    free(own);
    og__graph_close(g);
    og__budget_free(b);
    return rc;
}
