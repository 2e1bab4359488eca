/* runs: the draws of a hop in group sampling, in the order in which the topology was read.
 *
 *     frontier of batch b:  node, node, ...      each draws positions in its list: by degrees alone
 *     requested blocks:     | range 0 | range 1 | ... |          of all batches, each block once
 *     store:                | b 0 | b 1 | ... | b 0 | b 1 | ...  neighbours of range 0, of range 1
 *
 * A run is what one batch drew from one range. Its neighbours are in the order of its frontier and,
 * for a node, of its draws. Draws are keyed, so a second pass over the frontier knows the run of
 * each neighbour, and that it is the next there. So runs do not store edges. If draws depend on the
 * data read, a node's neighbours follow their number. A neighbour is a word, its id; with
 * how.weights it is two, and the second has the bits of its edge's weight. */
#ifndef OG_SAMPLE_RUNS_H
#define OG_SAMPLE_RUNS_H

#include "base/bits.h"
#include "base/spill.h"
#include "sample/hop.h"
#include "sample/ranges.h"

struct og_run {
    uint64_t at; /* byte of the store */
    uint32_t n;  /* words */
};

/* One hop of all batches in one relation. */
struct og_pass {
    struct og_block_requests requested;
    unsigned shift; /* a range is made for 2^shift blocks */
    uint32_t *cut;  /* by lists [requested.n_ranges + 1]: the first node of each range */
    uint32_t n_batches;
    struct og_run *run; /* [wanted.n_ranges][n_batches] */
};

static inline struct og_run *og__run_of(const struct og_pass *p, uint32_t range, uint32_t batch)
{
    return &p->run[(size_t)range * p->n_batches + batch];
}

/* A growing, reusable array. */
struct og_words {
    uint32_t *data;
    size_t capacity;
};
OG_MUST_CHECK int og__words_reserve(struct og_words *w, size_t n, struct og_budget *b,
                                    struct og_err *err);
void og__words_release(struct og_words *w, struct og_budget *b);

/* ---- how a sampler sees a pass: a row of kinds.h names one ---- */

/* The words that nodes took, in sequence. */
struct og_taken {
    struct og_words *words;
    size_t n;
};
/* Makes room for n more, with some to spare. */
OG_MUST_CHECK int og__taken_grow(struct og_taken *t, size_t n, struct og_budget *b,
                                 struct og_err *err);
static inline int og__take(struct og_taken *t, uint32_t word, struct og_budget *b,
                           struct og_err *err)
{
    int rc = OG_UNLIKELY(t->n == t->words->capacity) ? og__taken_grow(t, 1, b, err) : 0;
    if (rc == 0)
        t->words->data[t->n++] = word;
    return rc;
}

/* The nodes of one batch that read the topology in a pass, by their numbers in the relation. */
struct og_frontier {
    struct og_nodes {
        const uint32_t *id;
        const uint32_t *tree; /* [n] of each; NULL: of no tree (trees.h) */
        size_t n;
    } part[OG_MAX_HOPS]; /* [n] those that sample in the hop */
    int n;
    uint32_t step;            /* of the hop's passes */
    struct og_walkers *going; /* by walks: the active walkers */
};

struct og_walkers {
    struct og_words words;
    size_t n;
};

struct og_pass_ops {
    bool whole; /* each list is within one range */
    /* Passes that a hop takes; NULL: one. */
    uint32_t (*steps)(const struct og_sampling *how);
    /* Requests the blocks they need; *n_drawn: words they draw, 0 if unknown. Any number of
     * threads; the sampler has the batch's runs. */
    OG_MUST_CHECK int (*want)(const struct og_hop *h, struct og_pass *p,
                              const struct og_frontier *f, size_t *n_drawn, struct og_err *err);
    /* Divides the requested blocks into the stretches of requested->n_ranges, which have room. */
    void (*cut)(const struct og_topology *t, struct og_pass *p);
    /* Collects their draws from a range. -EINVAL for an invalid id. The sampler's window must be
     * empty. */
    OG_MUST_CHECK int (*gather)(const struct og_hop *h, const struct og_pass *p,
                                const struct og_range *range, const struct og_frontier *f,
                                struct og_taken *out, struct og_err *err);
    /* Assembles a hop, in place of the sampler's own. */
    OG_MUST_CHECK int (*join)(struct og_hop *h, struct og_err *err);
};
/* Passes by degrees alone, by whole lists one by one, by all lists in order, and by walks. */
extern const struct og_pass_ops og__pass_by_positions, og__pass_by_lists, og__pass_of_lists,
    og__pass_by_walks;

/* A batch's runs, for the sampler that assembles it: og_sampler.runs. */
struct og_runs {
    const struct og_pass *pass; /* [hops][n_lists][steps] */
    uint32_t n_lists, steps;
    uint32_t batch;
    struct og_spill *store;
    struct og_words *drawn; /* of the current hop, run after run */
    size_t n_drawn;
    struct og_words *cursor;        /* in it, one a run; */
    uint32_t first[OG__MOST_STEPS]; /* of a step */
    struct og_words *taken;         /* from lists in memory */
    uint64_t read;                  /* bytes requested from the kernel for them */
};

/* ---- what they have in common ---- */

/* The pass of the hop's relation. */
static inline const struct og_pass *og__pass_of(const struct og_hop *h, uint32_t step)
{
    const struct og_runs *r = h->s->runs;
    return &r->pass[((size_t)h->number * r->n_lists + h->relation) * r->steps + step];
}
/* Words of a neighbour. */
static inline uint32_t og__neighbor_words(const struct og_sampling *how)
{
    return how->weights ? 2 : 1;
}
/* Where an edge's element is. */
static inline struct og_list_place og__place_in(const struct og_requested_blocks *w, int64_t edge)
{
    return og__list_place(w->of, (uint64_t)edge * w->of->size);
}
/* The block before, or the last: an edge of the tail is in the last range. */
static inline uint32_t og__range_of_block(const struct og_pass *p, uint32_t block)
{
    const struct og_requested_blocks *w = &p->requested.array[0];
    return block < w->n_blocks ? og__bits_rank(w->bits, w->rank, block) >> p->shift
                               : p->requested.n_ranges - 1;
}

/* Requests a block, or the tail. Any number of threads. */
void og__runs_want(struct og_requested_blocks *w, uint32_t block);
/* The next neighbour of a hop, as words in memory. edge: -1 if not known. */
static inline int og__push_words(struct og_hop *h, const uint32_t *word, int64_t edge,
                                 struct og_err *err)
{
    float weight;
    if (!h->s->how.weights)
        return og__push_node(h, word[0], edge, err);
    memcpy(&weight, &word[1], sizeof(weight));
    return og__push_weighed(h, word[0], weight, edge, err);
}
/* Calls want for each node of the frontier; returns the sum of the results. */
static inline size_t
og__runs_each(const struct og_hop *h, struct og_pass *p, const struct og_frontier *f,
              uint32_t (*want)(const struct og_hop *h, struct og_pass *p, uint32_t v))
{
    size_t sum = 0;
    for (int k = 0; k < f->n; k++) {
        const struct og_nodes *nodes = &f->part[k];
        for (size_t i = 0; i < nodes->n; i++) {
            if (i + OG__PREFETCH_DISTANCE < nodes->n)
                og__prefetch_degree(h->s->topology, nodes->id[i + OG__PREFETCH_DISTANCE]);
            sum += want(h, p, nodes->id[i]);
        }
    }
    return sum;
}
/* Every 2^shift blocks are a range. */
void og__runs_cut(const struct og_topology *t, struct og_pass *p);
/* Loads the runs of the hop's passes step .. step + n, in sequence. */
OG_MUST_CHECK int og__runs_fetch(const struct og_hop *h, uint32_t step, uint32_t n,
                                 struct og_err *err);
/* Rewinds the runs to their start. */
void og__runs_rewind(const struct og_hop *h, uint32_t step, uint32_t n);
/* Returns element `place` of the list of v, from cache or run. It must be the next one drawn
 * there, in a loaded step. */
OG_MUST_CHECK int og__runs_next(const struct og_hop *h, uint32_t step, uint32_t v, int64_t place,
                                uint32_t *id, struct og_err *err);
/* -EIO: another process may have written to scratch. */
int og__runs_foreign(struct og_err *err);
/* Inlined, or gcc drops it: it has no other effect. */
static inline __attribute__((always_inline)) void og__runs_prefetch(const struct og_topology *t,
                                                                    uint32_t v)
{
    og__prefetch_degree(t, v);
    if (t->disk->cache.bits)
        __builtin_prefetch(&t->disk->cache.bits[v >> 6]);
}

/* The first node whose list starts in the block or after it. */
uint32_t og__runs_node_from(const struct og_topology *t, const struct og_blocks *of,
                            uint64_t block);
/* Nodes whose lists may overlap a stretch of blocks. Lists are in the order of nodes, so the
 * others' lists need no look-up. */
struct og_span {
    uint32_t first, n;
};
struct og_span og__runs_span(const struct og_topology *t, const struct og_stretch *stretch);
static inline bool og__runs_spans(const struct og_span *span, uint32_t v)
{
    return v - span->first < span->n;
}

/* Copies neighbours from a range in windows, so that addresses are known before they are read. */
struct og_gathering {
    const struct og_hop *hop;
    const struct og_block_requests *requested;
    const struct og_range *range;
    struct og_taken *out;
    size_t size, filled; /* of an element; of the window */
    int64_t edge[OG__WINDOW];
    const char *at[OG__WINDOW], *weight_at[OG__WINDOW];
    struct { /* of each array: the last block that was looked up; NULL: none */
        uint32_t block;
        const char *data;
    } last[OG__PASS_ARRAYS];
};
struct og_gathering og__gathering(const struct og_hop *h, const struct og_pass *p,
                                  const struct og_range *range, struct og_taken *out);
/* Adds the edge if it is in the range. */
OG_MUST_CHECK int og__gather_edge(struct og_gathering *g, int64_t edge, struct og_err *err);
OG_MUST_CHECK int og__gather_window(struct og_gathering *g, struct og_err *err);

#endif
