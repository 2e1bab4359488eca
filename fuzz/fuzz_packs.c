/* The folder of packs, of a homogeneous graph and of a heterogeneous one. Any pack.json and any
 * list of nodes either are ignored or give nodes in ascending order, of each type no more than
 * the cache has slots for.   input: | u8 length of the list | the list, i8 | pack.json | */
#include "fuzz.h"
#include "memory_folder.h"
#include "self_checksum.h"

#include "flow/packs.h"

enum { NODES = 100 };

static void check_groups(const struct og_packs *p, const uint32_t *nodes, uint32_t n)
{
    uint64_t slots = 0;
    for (uint32_t k = 0; k < p->graph->n_groups; k++) {
        const struct og_group *g = &p->graph->group[k];
        uint32_t of_group = 0;
        for (uint32_t i = 0; i < n; i++)
            of_group += nodes[i] >= g->first && nodes[i] < g->first + g->n_nodes;
        if (of_group > p->group_rows[k])
            abort();
        slots += p->group_rows[k];
    }
    if (slots != p->cache_rows)
        abort();
}

static void check_list(const struct og_packs *p)
{
    struct og_err err = {0};
    uint32_t *nodes;
    uint32_t n;
    if (og__packs_cached(p, 0, NODES, NULL, &nodes, &n, &err) < 0) {
        if (!err.message[0] || !err.hint[0])
            abort();
        return;
    }
    if (n > p->cache_rows)
        abort();
    for (uint32_t i = 0; i < n; i++)
        if (nodes[i] >= NODES || (i > 0 && nodes[i] <= nodes[i - 1]))
            abort();
    check_groups(p, nodes, n);
    og__release(NULL, nodes, n * sizeof(*nodes), "policy");
}

static bool opens(const struct og_graph *g)
{
    struct og_packs *p = og__packs_open(memory_folder(), g, NULL);
    const bool open = p;
    if (p)
        check_list(p);
    og__packs_close(p);
    return open;
}

static bool open_packs(const char *description, size_t size)
{
    struct og_graph plain, typed;
    struct og_group all = {
        .graph = &plain, .name = "", .n_nodes = NODES, .dim = 2, .stored = OG_F32};
    struct og_group type[] = {
        {.graph = &typed, .name = "paper", .n_nodes = 40, .dim = 2, .stored = OG_F32},
        {.graph = &typed, .name = "author", .first = 40, .n_nodes = 30},
        {.graph = &typed,
         .name = "venue",
         .first = 70,
         .n_nodes = 30,
         .dim = 3,
         .stored = OG_F16,
         .dtype = OG_F16}};
    plain = (struct og_graph){.name = (char *)"graph",
                              .n_nodes = NODES,
                              .n_groups = 1,
                              .group = &all,
                              .identity.contents = 0x1234};
    typed = (struct og_graph){.name = (char *)"graph",
                              .has_types = true,
                              .n_nodes = NODES,
                              .n_groups = OG_COUNT(type),
                              .group = type,
                              .identity.contents = 0x1234};
    memory_folder_put("pack/pack.json", description, size);
    const bool one = opens(&plain);
    return opens(&typed) || one;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char dir[128];
    if (size == 0)
        return 0;
    snprintf(dir, sizeof(dir), "%s/pack", memory_folder());
    mkdir(dir, 0700);
    size_t n = OG_MIN((size_t)data[0], size - 1);
    memory_folder_array("pack/draw0_cached.npy", OG__NPY_I64, data + 1, n);
    try_self_checksum((const char *)data + 1 + n, size - 1 - n, open_packs);
    return 0;
}
