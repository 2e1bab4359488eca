/* Ranks that mpirun, or srun, has started: by a plugin that is loaded when there are several. */
#include "comm/mpi_table.h"

#include "base/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Variables in which launchers store the number of ranks and the rank. */
static const struct {
    const char *count, *rank;
} launchers[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                 {"PMI_SIZE", "PMI_RANK"},
                 {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
                 {"SLURM_NTASKS", "PMIX_RANK"}};

int og__mpi_rank(void)
{
    for (size_t i = 0; i < OG_COUNT(launchers); i++) {
        const char *count = getenv(launchers[i].count);
        const char *rank = getenv(launchers[i].rank);
        if (count && rank)
            return strtol(count, NULL, 10) > 1 ? (int)strtol(rank, NULL, 10) : -1;
    }
    return -1;
}

/* ---- the plugin ---- */

struct plugin {
    void *library;
    const struct og_mpi_table *table;
};

static void *find_plugin(void)
{
    return og__plugin_open(OG__MPI_PLUGIN, "OUTGROW_MPI", RTLD_GLOBAL);
}

bool og__mpi_there(void)
{
    void *library = find_plugin();
    if (library)
        dlclose(library);
    return library != NULL;
}

static int load(struct plugin *p, struct og_err *err)
{
    p->library = find_plugin();
    if (!p->library)
        return og__fail(err, -ENOENT,
                        "build where libopenmpi-dev is installed, or use --workers on one machine",
                        "started with others by mpirun, but " OG__MPI_PLUGIN
                        " cannot be loaded: %s",
                        dlerror());
    p->table = dlsym(p->library, OG__MPI_TABLE);
    if (!p->table || p->table->version != OG__MPI_VERSION)
        return og__fail(err, -EINVAL, "build the program and its plugin together",
                        OG__MPI_PLUGIN ": of another version");
    return 0;
}

/* ---- a comm by it ---- */

static const struct og_mpi_table *table_of(const struct og_comm *c)
{
    return ((const struct plugin *)c->self)->table;
}

static int exchange(struct og_comm *c, const struct og_message *send,
                    const struct og_message *receive, struct og_err *err)
{
    return table_of(c)->exchange(c, send, receive, err);
}

/* The library stays: MPI cannot be begun twice, nor taken out of a process. */
static void close_mpi(struct og_comm *c)
{
    table_of(c)->close(c);
    free(c->self);
    free(c);
}

static const struct og_comm_kind kind = {.name = "mpi", .exchange = exchange, .close = close_mpi};

int og__comm_mpi(struct og_comm **out, struct og_err *err)
{
    struct og_comm *c = calloc(1, sizeof(*c));
    struct plugin *p = calloc(1, sizeof(*p));
    int rc = c && p ? 0 : og__fail_errno(err, -ENOMEM, NULL, "workers");
    *out = NULL;
    OG_TRY(rc);
    OG_TRY(load(p, err));
    *c = (struct og_comm){.kind = &kind, .line = -1, .self = p};
    OG_TRY(p->table->open(c, err));
    if (c->n < 2)
        OG_TRY(og__fail(err, -EINVAL,
                        "start it with the mpirun of the MPI that the plugin was built with",
                        "mpirun started several processes, but the MPI library sees one"));
    if (c->n > OG__MOST_RANKS)
        OG_TRY(
            og__fail(err, -EINVAL, "start fewer", "%d workers: at most %d", c->n, OG__MOST_RANKS));
    *out = c;
    return 0;
out:
    free(c);
    free(p);
    return rc;
}
