/* Lists of nodes and edges: any .npy file is refused with a reason, or gives the graph's ids. A
 * list of nodes has each once.   input: | u8: nodes - 1 | u8: which | file | */
#include "fuzz.h"
#include "memory_file.h"

#include "dataset/graph.h"

static void check_ids(const uint32_t *ids, int64_t n, int64_t n_nodes, bool once)
{
    bool seen[256] = {false};
    for (int64_t i = 0; i < n; i++) {
        if (ids[i] >= n_nodes || (once && seen[ids[i]]))
            abort();
        seen[ids[i]] = true;
    }
}

/* As a dataset that was opened has them. */
static bool fits(const struct og_npy *a, bool edges, int64_t n_nodes)
{
    return og__npy_is_integer(a->type) && a->shape[1] == (edges ? 2 : 1) &&
           (edges || a->shape[0] <= n_nodes);
}

static void read_list(struct og_graph *ds, bool edges)
{
    struct og_err err = {0};
    uint32_t *ids;
    int64_t n;
    int rc = edges ? og__graph_edges(ds, OG__TRAIN, NULL, &ids, &n, &err)
                   : og__graph_split(ds, OG__TRAIN, NULL, &ids, &n, &err);
    if (rc < 0) {
        if (!err.message[0] || !err.hint[0])
            abort();
        return;
    }
    check_ids(ids, edges ? 2 * n : n, ds->n_nodes, !edges);
    og__release(NULL, ids, (size_t)n * (edges ? 8 : 4), "seeds");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_err err = {0};
    struct og_graph ds = {0};
    char path[32];
    if (size < 2)
        return 0;
    bool edges = data[1] & 1;
    struct og_npy *list = edges ? &ds.edges[OG__TRAIN] : &ds.split[OG__TRAIN];
    ds.n_nodes = (int64_t)data[0] + 1;
    int fd = memory_file(data + 2, size - 2, path);
    if (og__npy_open(list, path, &err) == 0) {
        if (fits(list, edges, ds.n_nodes))
            read_list(&ds, edges);
        og__npy_close(list);
    } else if (!err.message[0]) {
        abort();
    }
    close(fd);
    return 0;
}
