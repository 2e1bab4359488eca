/* GraphBolt's metadata.yaml: any bytes either are refused with a reason or give lists. Lists are as
 * long as they say, of names that the check of paths can judge. */
#include "fuzz.h"

#include "dataset/import/graphbolt_meta.h"
#include "dataset/import/import.h"

#include <stdlib.h>
#include <string.h>

static void check_path(const char *path)
{
    if (path && og__import_inside(path, "input", NULL) == 0 &&
        (path[0] == '/' || strncmp(path, "../", 3) == 0 || strstr(path, "/../") ||
         strcmp(path, "..") == 0))
        abort();
}

static void check_data(const struct og_gb_data *data, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        check_path(data[i].path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct og_err err = {0};
    struct og_gb_meta *m;
    if (og__gb_meta_parse(&m, (const char *)data, size, "input", &err) < 0) {
        if (!err.message[0] || !err.hint[0])
            abort();
        return 0;
    }
    check_data(m->graph.edges, m->graph.n_edges);
    check_data(m->features, m->n_features);
    for (unsigned t = 0; t < m->n_tasks; t++)
        for (int s = 0; s < 3; s++)
            for (unsigned i = 0; i < m->tasks[t].n_sets[s]; i++)
                check_data(m->tasks[t].set[s][i].data, m->tasks[t].set[s][i].n_data);
    og__gb_meta_free(m);
    return 0;
}
