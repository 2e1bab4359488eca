/* The folder beside samples, of a graph without types and of one with them: any pack.json and any
 * list of nodes either are left alone or give nodes in ascending order, of each type no more than
 * the cache has slots for.   input: | u8 length of the list | the list, i8 | pack.json | */
#include "fuzz.h"
#include "memory_folder.h"
#include "sealed.h"

#include "flow/packs.h"

enum { NODES = 100 };

static void check_types(const struct og_packs *p, const uint32_t *nodes, uint32_t n)
{
    uint64_t first = 0, slots = 0;
    for (uint32_t t = 0; t < p->n_types; first = p->type[t++].end) {
        uint32_t of_type = 0;
        for (uint32_t i = 0; i < n; i++)
            of_type += nodes[i] >= first && nodes[i] < p->type[t].end;
        if (of_type > p->type[t].cache_rows)
            abort();
        slots += p->type[t].cache_rows;
    }
    if (p->n_types > 0 && (first != NODES || slots != p->cache_rows))
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
    check_types(p, nodes, n);
    og__release(NULL, nodes, n * sizeof(*nodes), "policy");
}

static bool opens(const struct og_dataset *ds, const struct og_typed *typed)
{
    struct og_packs *p = og__packs_open(memory_folder(), ds, typed, NULL);
    const bool open = p;
    if (p)
        check_list(p);
    og__packs_close(p);
    return open;
}

static bool open_packs(const char *description, size_t size)
{
    const struct og_dataset ds = {.name = (char *)"graph",
                                  .n_nodes = NODES,
                                  .dim = 2,
                                  .dtype = OG_F32,
                                  .identity.contents = 0x1234};
    struct og_node_type type[] = {
        {"paper", 0, {.n_nodes = 40, .dim = 2, .dtype = OG_F32}},
        {"author", 40, {.n_nodes = 30}},
        {"venue", 70, {.n_nodes = 30, .dim = 3, .dtype = OG_F16, .kept = OG_F16}}};
    const struct og_typed typed = {.n_types = OG_COUNT(type), .type = type};
    memory_folder_put("pack/pack.json", description, size);
    const bool plain = opens(&ds, NULL);
    return opens(&ds, &typed) || plain;
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
    try_sealed((const char *)data + 1 + n, size - 1 - n, open_packs);
    return 0;
}
