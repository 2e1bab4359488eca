/* A session's hold on the graph's structure: in memory or on disk, given back and fetched again. */
#include "base/file.h"
#include "base/kept.h"
#include "train/session_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct og_topology_disk_options og__session_topology(const struct og_session *s)
{
    return (struct og_topology_disk_options){
        .cache_dir = s->neighbors_dir,
        .cache_bytes = s->memory.neighbors,
        .reader = {.io = s->config.opt.io, .profile = s->facts.profile},
        .log = &s->config.log};
}

/* In --scratch or the user's cache folder, by where the dataset lies; of a graph that edges were
 * held out of beside it, where it lives no longer than that. */
void og__session_name_neighbors(struct og_session *s)
{
    char *own = s->config.opt.scratch ? strdup(s->config.opt.scratch) : og__cache_dir();
    if (s->held_out)
        s->neighbors_dir = og__path_join(og__scratch_path(s->held_out), "neighbors");
    else if (own)
        s->neighbors_dir = og__neighbors_folder(own, s->facts.ds);
    free(own);
}

static bool counts_degrees(const struct og_session *s)
{
    return s->facts.trace.extras & OG__WITH_DEGREES;
}

size_t og__session_structure_bytes(const struct og_session *s)
{
    size_t loops = counts_degrees(s) ? og__loops_bytes((uint64_t)s->facts.ds->n_nodes) : 0;
    if (s->way.topology == OG_TOPOLOGY_DISK)
        return og__topology_disk_bytes(s->facts.ds) + loops;
    return og__topology_bytes(s->facts.ds) + loops +
           (og__sampling_reads_weights((enum og_sampler_kind)s->config.opt.sampler)
                ? og__weights_bytes(s->facts.ds)
                : 0);
}

static int load_topology(struct og_session *s, struct og_err *err)
{
    int rc;
    OG_TRY(og__topology_load(s->facts.ds, s->budget, &s->topology, err));
    if (og__sampling_reads_weights((enum og_sampler_kind)s->config.opt.sampler))
        OG_TRY(og__weights_load(s->facts.ds, &s->topology, err));
    if (counts_degrees(s))
        OG_TRY(og__loops_find(&s->topology, err));
out:
    return rc;
}

int og__session_open_topology(struct og_session *s, struct og_err *err)
{
    if (s->way.topology == OG_TOPOLOGY_MEMORY)
        return load_topology(s, err);
    struct og_topology_disk_options opt = og__session_topology(s);
    opt.cache_bytes = 0; /* its size is not known yet */
    int rc;
    OG_TRY(og__topology_open_disk(s->facts.ds, &opt, s->budget, &s->topology, err));
    if (counts_degrees(s))
        OG_TRY(og__loops_find(&s->topology, err));
out:
    return rc;
}

int og__session_open_neighbors(struct og_session *s, struct og_err *err)
{
    if (!s->topology.disk || s->memory.neighbors == 0)
        return 0;
    s->topology.disk->opt.cache_bytes = s->memory.neighbors;
    if ((double)s->memory.neighbors > s->config.opt.disk.value) /* then every run makes its own */
        og__neighbors_keep_none(&s->topology);
    int rc;
    OG_TRY(og__neighbors_load(&s->topology, err));
    s->prepare.bytes_written += s->topology.disk->cache.bytes_written;
    if (!s->held_out && s->topology.disk->opt.cache_dir)
        og__kept_trim(s->neighbors_dir, &og__neighbors_kind, og__kept_bytes(s->neighbors_dir),
                      OG__KEPT_SECONDS, &s->config.log);
out:
    return rc;
}

void og__session_drop_topology(struct og_session *s)
{
    if (s->topology.disk)
        og__neighbors_unload(&s->topology);
    else
        og__topology_release(&s->topology);
}

int og__session_fetch_topology(struct og_session *s, struct og_io_counts *read, uint64_t *written,
                               struct og_err *err)
{
    bool there = s->topology.disk ? s->topology.disk->cache.bits || s->memory.neighbors == 0
                                  : s->topology.indptr != NULL;
    if (there)
        return 0;
    const struct og_io_counts before = og__io_made();
    int rc = s->topology.disk ? og__neighbors_load(&s->topology, err) : load_topology(s, err);
    og__io_add_since(read, before);
    if (s->topology.disk)
        *written += s->topology.disk->cache.bytes_written;
    return rc;
}
