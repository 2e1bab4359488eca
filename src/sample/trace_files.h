/* The files of a trace, read back batch by batch: a superbatch's spilled batches, and pre-sampled
 * batches. `dst` of every edge becomes `indptr`. Pages are dropped after a read: all others are
 * needed before they are again.
 *
 * Positions and node ids are checked against the batch's sizes. The caller makes sure that these
 * are within the files. */
#ifndef OG_TRACE_FILES_H
#define OG_TRACE_FILES_H

#include "base/places.h"
#include "dataset/graph.h"
#include "io/io.h"
#include "sample/trace.h"

/* A batch's sizes, and its start in the files, hop after hop. */
struct og_trace_spot {
    uint64_t n_seeds, n_ids, first_id;
    uint64_t n_units, first_unit;
    uint64_t first_place; /* of trees; places are as many as the last hop's sources */
    uint64_t kept, at;    /* for callers that store batches in other places too */
    struct og_trace_hop {
        uint64_t n_src, n_edges;
        uint64_t first_edge, first_degree;
    } hop[];
};
static inline size_t og__trace_spot_bytes(int n_hops)
{
    return sizeof(struct og_trace_spot) + (size_t)n_hops * sizeof(struct og_trace_hop);
}
static inline uint64_t og__trace_spot_dst(const struct og_trace_spot *p, int hop)
{
    return hop == 0 ? p->n_seeds : p->hop[hop - 1].n_src;
}
static inline uint64_t og__trace_spot_places(const struct og_trace_spot *p, int n_hops)
{
    return og__trace_spot_dst(p, n_hops);
}
/* The start of the next batch: first_id, first_unit, first_place, first_edge, first_degree of
 * `next`. */
void og__trace_spot_next(const struct og_trace_spot *p, int n_hops, struct og_trace_spot *next);

struct og_trace_files {
    int n_hops;
    uint32_t n_relations; /* heterogeneous */
    /* OG__WITH_...: read too. OG__NESTED: reads edges of the last hop alone, whose prefixes are the
     * others */
    unsigned extras;
    uint64_t n_nodes;
    const char *hint;  /* hint for invalid files; static storage */
    struct og_npy ids; /* fd -1: closed, as the others */
    struct og_npy units, rows;
    struct og_hop_files {
        struct og_npy src, dst, degree, weight, edge, rel;
    } hop[OG_MAX_HOPS];
};

/* Opens the files in these folders. The caller sets n_hops, extras, n_nodes and hint. -EINVAL for
 * an array of another type. */
OG_MUST_CHECK int og__trace_files_open(struct og_trace_files *f, struct og_places dirs,
                                       struct og_err *err);
/* The folder, of n, of an array: "_src" of hop 1, ... A batch is read from all of them at once, so
 * the two large arrays of a hop, equally long, are on different disks. */
uint32_t og__trace_home(uint32_t n, int hop, const char *array);
void og__trace_files_close(struct og_trace_files *f); /* also after a failed open */
/* Opens an array of the folder: "ids.npy", or a hop's, counted from 1: "hop2_src.npy". */
OG_MUST_CHECK int og__trace_array_open(struct og_npy *a, const char *dir, int hop, const char *name,
                                       struct og_err *err);

/* Sets the batch's counts in out->batch, and allocates its arrays. */
OG_MUST_CHECK int og__trace_files_shape(const struct og_trace_files *f,
                                        const struct og_trace_spot *p, struct og_batch_memory *out,
                                        struct og_err *err);
/* Reads into a batch so allocated. `chunk` is scratch. Adds to *read. -EIO if a position or an id
 * is out of range. */
enum { OG__TRACE_CHUNK = 64 * 1024 };
OG_MUST_CHECK int og__trace_files_ids(const struct og_trace_files *f, const struct og_trace_spot *p,
                                      uint32_t *chunk, struct og_batch *out,
                                      struct og_io_counts *read, struct og_err *err);
OG_MUST_CHECK int og__trace_files_units(const struct og_trace_files *f,
                                        const struct og_trace_spot *p, uint32_t *units,
                                        struct og_io_counts *read, struct og_err *err);
OG_MUST_CHECK int og__trace_files_blocks(const struct og_trace_files *f,
                                         const struct og_trace_spot *p,
                                         uint32_t chunk[OG__TRACE_CHUNK],
                                         struct og_batch_memory *out, struct og_io_counts *read,
                                         struct og_err *err);
/* The reads, requested from the kernel, of a batch of these sizes: its blocks and maybe its ids. */
struct og_io_counts og__trace_files_asks(const struct og_trace_options *form,
                                         const struct og_batch *sizes, bool ids);
/* A batch's checksums in a trace: XXH3-64 of ids, edges, degrees and weights in their form in
 * memory. Rows of places count with edges. Without `blocks`, of ids alone. */
enum {
    OG__CHECK_IDS,
    OG__CHECK_EDGES,
    OG__CHECK_DEGREES,
    OG__CHECK_WEIGHTS,
    OG__CHECK_UNITS, /* and places in them; in files of batches that have them */
    OG__CHECKS
};
void og__trace_batch_check(const struct og_batch *b, bool blocks, uint64_t out[OG__CHECKS]);
/* Loads the checksums of all n batches in folder `dir`, [n][OG__CHECKS] from the budget as "trace".
 * NULL if a trace has none. */
OG_MUST_CHECK int og__trace_checks_load(const char *dir, uint32_t n, struct og_budget *b,
                                        const char *hint, uint64_t **out, struct og_err *err);
static inline size_t og__trace_checks_bytes(uint32_t n)
{
    return (size_t)n * OG__CHECKS * sizeof(uint64_t);
}

/* Starts reading a batch in the background. */
void og__trace_files_prefetch(const struct og_trace_files *f, const struct og_trace_spot *p,
                              bool ids);

#endif
