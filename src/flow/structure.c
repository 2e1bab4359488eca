#include "flow/structure.h"

#include "base/descriptors.h"
#include "base/persistent_cache.h"
#include "base/scratch.h"
#include "dataset/on_disk.h"
#include "options/fanouts.h"
#include "options/options.h"

#include <stdlib.h>
#include <string.h>

int og__structure_name(struct og_structure *g, const struct og_scratch *held_out,
                       struct og_err *err)
{
    char *own;
    OG_DO(og__scratch_first(&own, &g->given.config->opt, NULL, err));
    g->passing = held_out != NULL;
    if (held_out)
        g->neighbors_dir = og__path_join(og__scratch_path(held_out), "neighbors");
    else if (own)
        g->neighbors_dir = og__neighbors_folder(own, g->given.workload->graph);
    free(own);
    return 0;
}

int og__structure_fanouts(struct og_structure *g, struct og_err *err)
{
    free(g->fanouts);
    g->fanouts = NULL;
    return og__fanouts_of_relations(&g->given.config->opt, g->given.workload->graph, &g->fanouts,
                                    err);
}

/* ---- how large it is ---- */

static bool counts_degrees(const struct og_structure *g)
{
    return g->given.workload->trace.extras & OG__WITH_DEGREES;
}

static enum og_weights weights_of(const struct og_structure *g)
{
    const struct og_sampling how = og__sampling_setup(&g->given.config->opt, NULL);
    return og__sampling_weights(&how);
}

static enum og_times_kind times_of(const struct og_structure *g)
{
    return (enum og_times_kind)g->given.config->opt.time;
}

static bool is_shared(const struct og_structure *g)
{
    return g->given.config->sharing.shared_memory != NULL;
}

size_t og__structure_bytes(const struct og_structure *g, int topology)
{
    const struct og_graph *graph = g->given.workload->graph;
    const bool on_disk = topology == OG_TOPOLOGY_DISK;
    const size_t loops = counts_degrees(g) ? og__loops_bytes((uint64_t)graph->n_nodes) : 0;
    const size_t more = loops + og__times_bytes(graph, times_of(g), on_disk);
    if (on_disk)
        return og__topology_disk_bytes(graph) + more;
    if (is_shared(g))
        return og__topology_part_bytes(graph, weights_of(g), g->given.config->sharing.n) + more;
    return og__topology_bytes(graph, weights_of(g)) + more;
}

struct og_topology_disk_options og__structure_on_disk(const struct og_structure *g)
{
    const struct og_config *config = g->given.config;
    return (struct og_topology_disk_options){
        .cache_dir = g->neighbors_dir,
        .weights = weights_of(g) != OG__NO_WEIGHTS,
        .reader = {.io = config->opt.io, .profile = g->given.workload->lists},
        .log = &config->log};
}

struct og_read_rule og__structure_rule(const struct og_structure *g)
{
    const struct og_reader_options reader = og__structure_on_disk(g).reader;
    return og__read_rule_standard(0, OG__LIST_BLOCK, OG__LIST_BLOCK, &reader);
}

/* What a sampler takes that reads from disk. A relation's reader and buffers stay while others have
 * their turn. */
static size_t reading_bytes(const struct og_structure *g, const struct og_sampling *how,
                            const struct og_batch_caps *most)
{
    const struct og_topology_disk_options disk = og__structure_on_disk(g);
    const struct og_graph *graph = g->given.workload->graph;
    size_t bytes = og__sampler_disk_state_bytes(how);
    for (uint32_t r = 0; r < graph->n_relations; r++) {
        const struct og_relation *of = &graph->relation[r];
        const struct og_topology_disk_options own = og__relation_on_disk(of, &disk);
        struct og_batch_caps caps = *most;
        for (uint32_t h = 0; h < caps.n_hops; h++)
            caps.hop[h].n_drawn = OG_MIN(caps.hop[h].n_drawn, (uint64_t)of->n_edges);
        if (of->n_edges > 0)
            bytes += (g->topology.relation ? og__sampler_extra_bytes(&own, how) : 0) +
                     og__sampler_disk_bytes(of, &own, &caps, how,
                                            og__longest_list(og__lists_seen(&g->topology, r)));
    }
    return bytes;
}

/* What stays while phased memory trains. Processes share all of it; of a topology on disk it is
 * loops and the bits of relations. */
static size_t training_bytes(const struct og_structure *g, int topology)
{
    const struct og_graph *graph = g->given.workload->graph;
    const size_t all = og__structure_bytes(g, topology);
    if (topology == OG_TOPOLOGY_DISK)
        return all - og__topology_offsets_bytes(graph) - og__times_bytes(graph, times_of(g), true);
    return is_shared(g) ? all : 0;
}

void og__structure_sizes(const struct og_structure *g, int topology, struct og_workload *f)
{
    const struct og_sampling how = og__sampling_setup(&g->given.config->opt, f->edge_units);
    f->bytes.structure = og__structure_bytes(g, topology);
    f->bytes.structure_training = training_bytes(g, topology);
    f->bytes.sampler_reading = 0;
    if (topology != OG_TOPOLOGY_DISK)
        return;
    f->group_sampling = og__group_sampling_shape(f->graph, &g->topology, &how);
    f->bytes.sampler_reading = reading_bytes(g, &how, &f->caps);
}

/* ---- open and close ---- */

static int find_loops(struct og_structure *g, struct og_err *err)
{
    return counts_degrees(g) ? og__loops_find(&g->topology, err) : 0;
}

static int load_times(struct og_structure *g, struct og_err *err)
{
    og__times_release(&g->times);
    return og__times_load(g->given.workload->graph, times_of(g), &g->topology, g->budget, &g->times,
                          err);
}

static int load(struct og_structure *g, struct og_err *err)
{
    const struct og_graph *graph = g->given.workload->graph;
    const enum og_weights weights = weights_of(g);
    struct og_topology *t = &g->topology;
    int rc;
    if (is_shared(g))
        rc = og__topology_share(graph, weights, &g->given.config->sharing, g->budget, t, err);
    else if (t->budget) /* unloaded */
        rc = og__topology_reload(graph, weights, t, err);
    else
        rc = og__topology_load(graph, weights, g->budget, t, err);
    OG_TRY(rc);
    OG_TRY(find_loops(g, err));
    OG_TRY(load_times(g, err));
out:
    return rc;
}

/* Each sampler reads each relation through files of its own, and visits are sampled by as many. */
int og__structure_check_files(const struct og_structure *g, struct og_err *err)
{
    const struct og_topology_disk_options opt = og__structure_on_disk(g);
    enum { BESIDE = 64, OF_TYPE = 5 }; /* arrays of traces; what reads and writes a type's rows */
    const struct og_graph *graph = g->given.workload->graph;
    const struct og_config *config = g->given.config;
    const bool visits = og__policy_hotness(g->given.exec->policy) == OG__HOTNESS_VISITS;
    const int samplers = OG_MAX(og__samplers(g->given.exec), visits ? config->opt.threads : 1);
    const int each = (1 + (weights_of(g) != OG__NO_WEIGHTS) + (times_of(g) == OG_TIMES_EDGE)) *
                     (1 + og__reader_descriptors(&opt.reader));
    uint64_t n = BESIDE;
    if (config->want & OG__WANT_FEATURES)
        n += (uint64_t)OF_TYPE * graph->n_groups;
    for (uint32_t r = 0; r < graph->n_relations; r++)
        if (graph->relation[r].n_edges > 0)
            n += (uint64_t)samplers * (uint64_t)each;
    return og__descriptors_check(n, "--topology disk", "fewer --threads, or --topology memory",
                                 err);
}

static int open_on_disk(struct og_structure *g, struct og_err *err)
{
    const struct og_topology_disk_options opt = og__structure_on_disk(g);
    const int rc = og__structure_check_files(g, err);
    return rc < 0 ? rc
                  : og__topology_open_disk(g->given.workload->graph, &opt, g->budget, &g->topology,
                                           err);
}

int og__structure_open(struct og_structure *g, struct og_err *err)
{
    if (g->given.exec->topology == OG_TOPOLOGY_MEMORY)
        return load(g, err);
    OG_DO(open_on_disk(g, err));
    OG_DO(find_loops(g, err));
    return load_times(g, err);
}

/* Loops would be found again by reading the whole file. */
int og__structure_move(struct og_structure *g, struct og_err *err)
{
    struct og_topology loops = {
        .n_nodes = g->topology.n_nodes, .budget = g->topology.budget, .loops = g->topology.loops};
    if (g->given.exec->topology != OG_TOPOLOGY_DISK) {
        og__topology_release(&g->topology);
        return load(g, err);
    }
    g->topology.loops = (struct og_loops){0};
    og__topology_release(&g->topology);
    const int rc = open_on_disk(g, err);
    if (rc < 0)
        og__loops_release(&loops);
    else
        g->topology.loops = loops.loops;
    return rc < 0 ? rc : load_times(g, err);
}

int og__structure_add_neighbors(struct og_structure *g, size_t bytes, uint64_t room,
                                uint64_t *written, struct og_err *err)
{
    const struct og_config *config = g->given.config;
    struct og_stored_topology *stored = g->topology.stored;
    if (!stored || bytes == 0)
        return 0;
    stored->opt.cache_bytes = bytes;
    g->on_disk = bytes <= room ? bytes : 0;
    if (bytes > room) /* then every run makes its own */
        og__neighbors_keep_none(&g->topology);
    OG_DO(og__neighbors_load(&g->topology, err));
    *written += stored->written;
    if (!g->passing && stored->opt.cache_dir)
        og__persistent_cache_trim(g->neighbors_dir, &og__neighbors_kind,
                                  og__persistent_cache_bytes(g->neighbors_dir),
                                  OG__PERSISTENT_CACHE_SECONDS, &config->log);
    return 0;
}

void og__structure_close(struct og_structure *g)
{
    og__times_release(&g->times);
    og__topology_release(&g->topology);
    free(g->fanouts);
    g->fanouts = NULL;
    free(g->neighbors_dir);
    g->neighbors_dir = NULL;
}

/* ---- given back and fetched again ---- */

void og__structure_drop(struct og_structure *g)
{
    if (g->topology.shared.of)
        return; /* others have it as well: nothing would come free */
    og__times_release(&g->times);
    if (g->given.exec->topology == OG_TOPOLOGY_MEMORY)
        og__topology_unload(&g->topology);
    else if (g->topology.stored)
        og__stored_unload(&g->topology);
}

int og__structure_fetch(struct og_structure *g, struct og_io_counts *read, uint64_t *written,
                        struct og_err *err)
{
    const struct og_stored_topology *stored = g->topology.stored;
    if (og__topology_is_loaded(&g->topology)) /* times may have gone alone */
        return times_of(g) != OG_TIMES_OFF && !g->times.of ? load_times(g, err) : 0;
    const struct og_io_counts before = og__io_made();
    int rc = stored ? og__stored_load(&g->topology, err) : load(g, err);
    if (rc == 0 && stored)
        rc = load_times(g, err);
    og__io_add_since(read, before);
    if (stored)
        *written += stored->written;
    return rc;
}

/* ---- sampling from it ---- */

int og__structure_sampler(const struct og_structure *g, struct og_sampler **out,
                          struct og_budget *b, struct og_err *err)
{
    const struct og_options *opt = &g->given.config->opt;
    struct og_sampling how = og__sampling_setup(opt, g->given.workload->edge_units);
    int rc =
        og__sampler_open(out, &g->topology, g->fanouts, opt->n_fanout, (uint64_t)opt->seed, b, err);
    if (rc < 0)
        return rc;
    const struct og_schedule whole = og__schedule_whole(&g->given.workload->schedule);
    how.batches = og__schedule_batches(&whole, OG__TRAIN);
    if (g->topology.mapped) /* only sizes are needed */
        how.weights = false;
    else if (how.time != OG_TIMES_OFF)
        how.times = &g->times;
    if (og__sampling_reads_weights(how.kind) && g->topology.mapped)
        how = (struct og_sampling){.once = how.once, .edges = how.edges};
    if (counts_degrees(g))
        og__sampler_keep_degrees(*out);
    rc = og__sampler_choose(*out, &how, err);
    if (rc < 0) {
        og__sampler_close(*out);
        *out = NULL;
    }
    return rc;
}
