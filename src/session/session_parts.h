/* What the files of a session share while it is opened. Each calls those below it:
 *
 *   session.c            opens it part by part, and closes it
 *   session_config.c     what the options say, and leave open
 *   session_types.c      types of nodes, and relations
 *   session_degrees.c    degrees of their relations
 *   session_task.c       what is learnt from which edges and nodes
 *   session_edges.c      places of edges, and groups of their rows
 *   session_learnt.c     learnable rows that batches change
 *   session_times.c      times of seeds
 *   session_classes.c    weights of classes and seeds, and seeds that balance classes
 *   session_order.c      which seeds are near each other
 *   session_place.c      where the topology is, tried in turn
 *   session_calibrate.c  how many threads sample and train
 *   session_plan.c       what it will do, and what of it memory holds
 *   session_caches.c     its caches
 *   session_reads.c      what it reads where caches have too little room
 *   session_workload.c   what is known before it is planned */
#ifndef OG_SESSION_PARTS_H
#define OG_SESSION_PARTS_H

#include "choose/profiling.h"
#include "session/session.h"

/* For a heterogeneous graph: what follows where a plan that is not compared was left open. Once
 * seeds are loaded, the types and relations that a model reads. */
OG_MUST_CHECK int og__session_check_types(struct og_session *s, struct og_err *err);
OG_MUST_CHECK int og__session_know_types(struct og_session *s, const struct og_model_config *model,
                                         struct og_err *err); /* model: a checkpoint's, or NULL */
void og__session_drop_types(struct og_session *s);
/* Degrees of relations that the model looks at, from a structure that is there: a pass over each.
 * Taken of the budget as "degrees"; and how many bytes those are. */
OG_MUST_CHECK int og__session_count_degrees(struct og_session *s, struct og_err *err);
size_t og__degrees_bytes(const struct og_workload *f);
void og__session_drop_degrees(struct og_session *s);
/* The graph without the edges that are held out, written into the folder and opened. */
OG_MUST_CHECK int og__session_write_left(struct og_session *s, const char *folder,
                                         struct og_graph **left, struct og_err *err);
/* Which relations --relation means, or all. */
OG_MUST_CHECK int og__session_ask_relations(const struct og_session *s, bool *requested,
                                            struct og_err *err);
/* The edges of a split, or those of --relation. */
OG_MUST_CHECK int og__session_load_triples(struct og_session *s, enum og__split which,
                                           struct og_split *out, struct og_err *err);
/* The caller's own links, of the one relation that there is, or that --relation names. */
OG_MUST_CHECK int og__session_load_links(struct og_session *s, struct og_split *out,
                                         struct og_err *err);

/* Options and what the session is opened for become its configuration. */
OG_MUST_CHECK int og__session_configure(struct og_config *c, const struct og_options *opt,
                                        const struct og_session_use *use,
                                        const struct og_observer *observer, struct og_err *err);
/* Feature bytes that an epoch reads as planned, 0 where that is not known. Are these many times the
 * file, or is there no cache? And the sentence; smaller: a --batch that reads less, 0 = not known
 * (session_reads.c). */
double og__session_reads(const struct og_session *s);
bool og__session_reads_much(const struct og_session *s);
void og__session_say_reads(const struct og_session *s, int smaller);
/* That a device had too little memory for any rows, once that is planned. */
void og__session_say_device(const struct og_session *s);
/* A heterogeneous graph, for which no pairs of policies are compared. The device's policy, where
 * open, follows the host's. */
OG_MUST_CHECK int og__session_resolve_typed_tiers(struct og_config *c, struct og_err *err);

/* What the dataset's labels are decides between classes, labels and values; the task between them
 * and edges. */
OG_MUST_CHECK int og__session_resolve_task(struct og_session *s, struct og_err *err);
/* Does the task take --class-weights, --label-smoothing and their like? Once it is resolved. */
OG_MUST_CHECK int og__session_check_classes(const struct og_session *s, struct og_err *err);
/* Weights of classes and seeds, and seeds that balance classes. Call once labels are loaded and the
 * model is known. */
OG_MUST_CHECK int og__session_balance(struct og_session *s, struct og_err *err);
/* The most negatives that a split gives for all its edges. */
size_t og__session_given(const struct og_session *s);
bool og__session_oversamples(const struct og_session *s); /* not who only judges */
void og__session_drop_classes(struct og_session *s);
/* The order of --locality. Call once the schedule is known. */
OG_MUST_CHECK int og__session_order(struct og_session *s, struct og_err *err);
void og__session_drop_order(struct og_session *s);
/* For link prediction, edges are held out, unless the dataset says which. The graph that is left is
 * the dataset from then on. */
OG_MUST_CHECK int og__session_hold_out(struct og_session *s, struct og_err *err);
/* Nodes or edges of each split, and their labels as far as `want` goes. */
OG_MUST_CHECK int og__session_load_seeds(struct og_session *s, unsigned want, struct og_err *err);
/* How they make batches. */
OG_MUST_CHECK int og__session_schedule(struct og_session *s, struct og_err *err);

/* Workload statistics: of the disks with features and scratch, of the graph, and of batches as
 * stored. The model's shape is with the last. Seeds and labels follow once they are loaded, batches
 * once some were sampled with the topology of s->exec. */
OG_MUST_CHECK int og__know_disks(struct og_workload *f, const struct og_options *opt,
                                 struct og_err *err);
OG_MUST_CHECK int og__know_graph(struct og_workload *f, const struct og_options *opt,
                                 struct og_err *err);
/* Decides whether the run's model sees features of edges. The given model says it, or
 * --edge-features. Warns where they have no effect. Before edges are held out: those that stay
 * have features if they are seen. */
OG_MUST_CHECK int og__session_use_edges(struct og_session *s, const struct og_model_config *model,
                                        struct og_err *err);
/* Learnable rows become a group's rows, in a file of their own or in the checkpoint to apply. Once
 * edges are held out; refuses options without them. */
OG_MUST_CHECK int og__session_store_rows(struct og_session *s, struct og_err *err);
/* Units of edges and their groups of rows, as far as batches have them. Once edges are held out and
 * the dtypes of rows are known; refuses options without them. */
OG_MUST_CHECK int og__session_know_edges(struct og_session *s, struct og_err *err);
void og__session_drop_edges(struct og_session *s);
/* Disjoint neighbourhoods, and times: refuses options without them. Then times of the seeds, once
 * these are loaded. */
enum og__split og__session_measured_by(const struct og_session *s); /* for the training split */
OG_MUST_CHECK int og__session_check_times(const struct og_session *s, struct og_err *err);
OG_MUST_CHECK int og__session_time_seeds(struct og_session *s, struct og_err *err);
OG_MUST_CHECK int og__session_check_learnt(const struct og_session *s, struct og_err *err);
void og__session_drop_times(struct og_session *s);
void og__know_trace(struct og_workload *f, const struct og_options *opt);
void og__know_splits(struct og_workload *f, unsigned want, uint32_t ranks);
OG_MUST_CHECK int og__know_batches(struct og_session *s, const struct og_profiling *profiling,
                                   struct og_err *err);

/* Finds a place for the topology and plans with it there (session_plan.c). Packs of --samples are
 * used if they fit. */
OG_MUST_CHECK int og__session_place(struct og_session *s, struct og_err *err);
/* With the topology open and batches known: what --executors leaves open; */
OG_MUST_CHECK int og__session_calibrate(struct og_session *s, struct og_err *err);
/* what memory holds but for caches of rows, the budget checked; */
OG_MUST_CHECK int og__session_plan(struct og_memory_plan *m, const struct og_plan_inputs *given,
                                   struct og_err *err);
/* and these, with lists of neighbours. Sizes, policies, and what the profiling batches predict of
 * static ones. */
OG_MUST_CHECK int og__session_decide_caches(struct og_session *s,
                                            const struct og_profiling *profiling,
                                            struct og_err *err);
/* Parts of the plan: the depth of victim buffers, and all that is of the largest batch. */
void og__session_resolve_victims(struct og_config *config, const struct og_plan_inputs *given);
OG_MUST_CHECK int og__session_plan_fixed(struct og_memory_plan *m,
                                         const struct og_plan_inputs *given, struct og_err *err);
void og__session_drop_hotness(struct og_session *s);

#endif
