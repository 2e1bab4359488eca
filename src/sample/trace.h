/* A trace: the stored batches of one or more epochs. A folder of .npy files, batches concatenated,
 * `*_ptr` int64 offsets by batch, appended to while sampling:
 *
 *     seeds, seeds_ptr          the seed nodes, in batch order
 *     ids, ids_ptr              the distinct input nodes; seeds first, then as discovered
 *     hop<h>_src, hop<h>_dst    int32, sampled edges of hop h = 1, 2, ... as positions in ids
 *     hop<h>_ptr
 *     hop<h>_nodes              int64, nodes known after hop h, a number a batch
 *     hop<h>_degree             int32, og_block.degree, optional; batch by batch, one for each id
 *                               found in that hop
 *     hop<h>_weight             float32, og_block.weight, one an edge, optional
 *     hop<h>_edge               int32, og_block.edge, one an edge, optional; with units
 *     units, units_ptr          int32, og_batch.units of each batch, as 32 bits without a sign
 *     rows                      int32, og_batch.row, one a place; optional
 *     hop<h>_rel                uint8 or uint16, heterogeneous: the relation of each edge
 *     check                     uint64 [batches, 4]: XXH3-64 of each batch's ids, edges, degrees,
 *                               weights. A fifth is of units and places in them. Optional
 *     labels                    as the dataset's, a row per seed; optional
 *     degree_counts             int64 [n, 3], heterogeneous (degree_counts.h)
 *
 * seeds and ids are int32 while N < 2^31, else int64. */
#ifndef OG_TRACE_H
#define OG_TRACE_H

#include "base/places.h"
#include "dataset/graph.h"
#include "sample/batch_memory.h"

#include <jansson.h>

/* ---- writing ---- */

struct og_trace_writer;

struct og_trace_options {
    int n_hops;
    uint64_t n_nodes;     /* ids are int32 while they fit */
    uint32_t n_relations; /* heterogeneous */
    /* OG__WITH_...: stored too. OG__NESTED: edges of the last hop alone, for readers that use
     * NESTED */
    unsigned extras;
    int label_width; /* 0 = no labels, 1 for class numbers, classes when multi-label */
    bool multi_label;
    bool checks; /* stores checksums of batches, for later readers */
};
/* Writes into existing folders, each array in one of them (og__trace_home). */
OG_MUST_CHECK int og__trace_create(struct og_trace_writer **out, struct og_places dirs,
                                   const struct og_trace_options *opt, struct og_err *err);
/* Memory of a writer's buffers. Not counted here. */
size_t og__trace_writer_bytes(const struct og_trace_options *opt);
/* labels: int32 [n_seeds], or float32 [n_seeds, label_width]; NULL without labels. */
OG_MUST_CHECK int og__trace_append(struct og_trace_writer *w, const struct og_batch *batch,
                                   const void *labels, struct og_err *err);
uint64_t og__trace_written(const struct og_trace_writer *w); /* bytes of its files so far */
/* Bytes for a bound that folders share equally: those of the fullest folder, times the number of
 * folders. */
uint64_t og__trace_room(const struct og_trace_writer *w);
/* Bytes of an edge's relation. */
uint64_t og__trace_relation_bytes(const struct og_trace_options *opt);
/* og__trace_room over n folders in advance: without a batch (at most), and for each further one.
 * Without labels and checks. */
uint64_t og__trace_empty_bytes(const struct og_trace_options *opt);
uint64_t og__trace_batch_room(const struct og_trace_options *opt, const struct og_batch *batch,
                              uint32_t n);
/* Completes every header and frees. `checksums`, unless NULL, is an object that gets the XXH3 of
 * each file that `check` leaves out, by name. After an error elsewhere call discard instead. */
OG_MUST_CHECK int og__trace_finish(struct og_trace_writer *w, json_t *checksums,
                                   struct og_err *err);
void og__trace_discard(struct og_trace_writer *w);

/* ---- trace.json: what the folder says of itself ---- */

struct og_trace_type {
    const char *name; /* the description's */
    uint64_t end;     /* end of its nodes, and start of the next type's */
    int dim;          /* 0: it has no features */
    enum og_dtype dtype;
    uint32_t room; /* of a sparse row (dataset/sparse_rows.h); 0: dense */
};
struct og_trace_description {
    json_t *root;        /* all of it, with the options, the dataset's identity, the checksums */
    const char *dataset; /* its name */
    uint64_t n_nodes;    /* of the dataset; < 2^32 - 1 */
    int dim;
    enum og_dtype dtype;
    uint32_t room;
    size_t row_bytes; /* of a feature row */
    uint32_t batches_per_epoch;
    uint32_t every, draws;      /* epochs between two draws, and draws; 0 = absent */
    unsigned extras;            /* OG__WITH_...: its blocks have them */
    uint32_t n_relations;       /* heterogeneous; else 0 */
    bool has_types;             /* it names them; else there is one, with an empty name */
    uint32_t n_types;           /* at least 1 */
    struct og_trace_type *type; /* [n_types] */
};
/* Reads the description in folder `dir`, or (parse) in a text, with a name for messages. Fails with
 * -EINVAL if it is incomplete or altered: nothing is left to release. */
OG_MUST_CHECK int og__trace_describe(struct og_trace_description *d, const char *dir,
                                     struct og_err *err);
OG_MUST_CHECK int og__trace_parse(struct og_trace_description *d, const char *text, size_t len,
                                  const char *name, struct og_err *err);
void og__trace_description_release(struct og_trace_description *d);

/* ---- reading: what a policy needs of a trace that `outgrow sample` wrote ---- */

struct og_trace_folder {
    struct og_trace trace; /* of every batch in it */
    uint64_t n_ids;        /* capacity in ids */
    struct og_trace_description said;
    uint32_t batches_per_epoch; /* at least 1, at most trace.n_batches unless that is 0 */
    struct og_budget *budget;
};

/* Counts its arrays as "trace". The folder is untrusted: -EINVAL for an incomplete or altered
 * trace.json, offsets that do not ascend, a node out of range or twice in a batch. */
OG_MUST_CHECK int og__trace_open_dir(struct og_trace_folder *t, const char *dir,
                                     struct og_budget *b, struct og_err *err);
void og__trace_release(struct og_trace_folder *t);

/* Validates arrays from outside, for fuzzing: the trace of n_ids ids. `name` is for messages. */
OG_MUST_CHECK int og__trace_check(const struct og_trace *t, uint64_t n_ids, uint64_t n_nodes,
                                  struct og_budget *b, const char *name, struct og_err *err);

#endif
