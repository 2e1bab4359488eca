/* Runs of tests/nn/golden/nn_typed_make.py and nn_rgcn_make.py as batches, and rows of each type.
 */
#ifndef OG_TYPED_FIXTURE_H
#define OG_TYPED_FIXTURE_H

#include "nn/nn_fixture.h"

#include "nn/ops.h"
#include "sample/by_type.h"

#include <stdio.h>
#include <string.h>

enum { TYPED_MOST = 8 };

struct typed {
    struct fixture f; /* without features */
    struct og_graph_types types;
    struct og_graph_type type[TYPED_MOST];
    struct og_graph_relation relation[TYPED_MOST];
    char *words[2];                   /* what their names lie in */
    struct og_rows rows[TYPED_MOST];  /* of all nodes, by type; of the batches: */
    uint32_t *index[FIXTURE_BATCHES]; /* of each type's nodes, one type after the other */
    struct og_rows x[FIXTURE_BATCHES][TYPED_MOST];
};

/* ---- a case ---- */

static inline uint32_t typed_number(char **save)
{
    return (uint32_t)strtoul(strtok_r(NULL, " ", save), NULL, 10);
}

static inline void typed_read_types(struct typed *t)
{
    char *save;
    uint32_t end = 0;
    t->words[0] = strdup(fixture_text(&t->f, "types"));
    for (char *w = strtok_r(t->words[0], " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        struct og_graph_type *of = &t->type[t->types.n_types++];
        *of = (struct og_graph_type){.name = w, .end = end += typed_number(&save)};
        of->dim = (int)typed_number(&save);
        of->trained = typed_number(&save);
    }
}

static inline uint32_t typed_find_type(const struct typed *t, const char *name)
{
    for (uint32_t i = 0; i < t->types.n_types; i++)
        if (strcmp(t->type[i].name, name) == 0)
            return i;
    fail_msg("no type %s", name);
    return 0;
}

static inline void typed_read_relations(struct typed *t)
{
    char *save;
    t->words[1] = strdup(fixture_text(&t->f, "relations"));
    for (char *w = strtok_r(t->words[1], " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        struct og_graph_relation *of = &t->relation[t->types.n_relations++];
        of->source = typed_find_type(t, w);
        of->name = strtok_r(NULL, " ", &save);
        of->destination = typed_find_type(t, strtok_r(NULL, " ", &save));
    }
}

/* For those that have any. */
static inline uint32_t *typed_degrees(const struct fixture *f, const char *what, uint32_t relation)
{
    char name[64];
    snprintf(name, sizeof(name), "%s.%u", what, relation);
    const struct og_tensor *t = og__tensors_find(&f->t, name);
    return t ? fixture_u32(t) : NULL;
}

static inline void typed_read_degrees(struct typed *t)
{
    const struct og_tensor *fanout = og__tensors_find(&t->f.t, "fanout");
    t->types.fanout = fanout ? (int *)fixture_u32(fanout) : NULL;
    for (uint32_t r = 0; r < t->types.n_relations; r++) {
        t->relation[r].arriving = typed_degrees(&t->f, "arriving", r);
        t->relation[r].leaving = typed_degrees(&t->f, "leaving", r);
    }
}

static inline void typed_free_degrees(struct typed *t)
{
    free((void *)t->types.fanout);
    for (uint32_t r = 0; r < t->types.n_relations; r++) {
        free((void *)t->relation[r].arriving);
        free((void *)t->relation[r].leaving);
    }
}

static inline uint32_t *typed_numbers(const struct fixture *f, uint32_t batch, uint32_t hop,
                                      const char *what)
{
    char name[64];
    snprintf(name, sizeof(name), "%u.%u.%s", batch, hop, what);
    return fixture_u32(fixture_tensor(f, name));
}

static inline void typed_read_batch(struct typed *t, uint32_t b)
{
    char name[64];
    struct og_batch *out = &t->f.batch[b];
    snprintf(name, sizeof(name), "%u.ids", b);
    const struct og_tensor *ids = fixture_tensor(&t->f, name);
    *out = (struct og_batch){.n_hops = (uint32_t)t->f.config.layers,
                             .ids = fixture_u32(ids),
                             .n_ids = (uint32_t)ids->shape[0]};
    for (uint32_t h = 0; h < out->n_hops; h++) {
        uint32_t *sizes = typed_numbers(&t->f, b, h, "sizes");
        struct og_block *k = &out->hop[h];
        *k = (struct og_block){.n_dst = sizes[0],
                               .n_src = sizes[1],
                               .n_relations = t->types.n_relations,
                               .relation = typed_numbers(&t->f, b, h, "relation"),
                               .dst = typed_numbers(&t->f, b, h, "dst"),
                               .indptr = typed_numbers(&t->f, b, h, "indptr"),
                               .src = typed_numbers(&t->f, b, h, "src"),
                               .edge = fixture_edge(&t->f, b, h)};
        k->n_lists = k->relation[k->n_relations];
        k->n_edges = k->indptr[k->n_lists];
        snprintf(name, sizeof(name), "%u.%u.weight", b, h);
        const struct og_tensor *weight = og__tensors_find(&t->f.t, name);
        k->weight = weight ? weight->data : NULL;
        free(sizes);
    }
    out->n_seeds = out->hop[0].n_dst;
    t->f.labels[b] = fixture_labels(&t->f, b); /* papers are the first type */
}

static inline void typed_read_rows(struct typed *t, uint32_t b)
{
    const struct og_batch *batch = &t->f.batch[b];
    uint32_t *index = t->index[b] = malloc(batch->n_ids * sizeof(*index));
    for (uint32_t i = 0; i < t->types.n_types; i++) {
        struct og_rows *x = &t->x[b][i];
        *x = t->rows[i];
        x->index = index;
        for (uint32_t k = 0; k < batch->n_ids; k++)
            if (og__graph_type(&t->types, batch->ids[k]) == i)
                *index++ = batch->ids[k] - og__first_id(&t->types, i);
        x->n = (uint32_t)(index - x->index);
    }
}

static inline void typed_open(struct typed *t, const char *name)
{
    char path[512];
    memset(t, 0, sizeof(*t));
    fixture_path(path, sizeof(path), name);
    t->f.bytes = whole_tensors(path, &t->f.t);
    t->types.type = t->type;
    t->types.relation = t->relation;
    t->types.by_relation = true;
    t->types.target = (uint32_t)strtoul(fixture_text(&t->f, "target"), NULL, 10);
    typed_read_types(t);
    t->type[t->types.target].target = true;
    typed_read_relations(t);
    typed_read_degrees(t);
    t->f.config = (struct og_model_config){
        .layers = (int)strtol(fixture_text(&t->f, "layers"), NULL, 10),
        .in_dim =
            fixture_option(&t->f, "dim") ? (int)strtol(fixture_text(&t->f, "dim"), NULL, 10) : 64,
        .hidden = (int)strtol(fixture_text(&t->f, "hidden"), NULL, 10),
        .n_classes = (int)strtol(fixture_text(&t->f, "classes"), NULL, 10),
        .types = &t->types};
    fixture_model(&t->f);
    fixture_task(&t->f);
    fixture_edges(&t->f);
    for (uint32_t r = 0; r < t->types.n_relations; r++)
        t->relation[r].edge_dim = t->f.edges[r].dim;
    t->f.lr = strtod(fixture_text(&t->f, "lr"), NULL);
    t->f.weight_decay = strtod(fixture_text(&t->f, "weight_decay"), NULL);
    t->f.n_batches = (uint32_t)strtoul(fixture_text(&t->f, "batches"), NULL, 10);
    for (uint32_t i = 0; i < t->types.n_types; i++) {
        snprintf(path, sizeof(path), "features.%s", t->type[i].name);
        const struct og_tensor *x = og__tensors_find(&t->f.t, path);
        if (x)
            t->rows[i] = og__dense(x->data, (uint32_t)x->shape[0], (int)x->shape[1]);
    }
    for (uint32_t b = 0; b < t->f.n_batches; b++) {
        typed_read_batch(t, b);
        typed_read_rows(t, b);
    }
}

static inline void typed_close(struct typed *t)
{
    for (uint32_t b = 0; b < t->f.n_batches; b++) {
        for (uint32_t h = 0; h < t->f.batch[b].n_hops; h++) {
            free(t->f.batch[b].hop[h].relation);
            free(t->f.batch[b].hop[h].dst);
        }
        free(t->index[b]);
    }
    typed_free_degrees(t);
    free(t->words[0]);
    free(t->words[1]);
    fixture_close(&t->f);
}

/* ---- memory ---- */

static inline void typed_include_hops(struct og_batch_caps *caps, const struct og_batch *batch)
{
    for (uint32_t h = 0; h < batch->n_hops; h++) {
        const struct og_block *b = &batch->hop[h];
        caps->hop[h].n_dst = OG_MAX(caps->hop[h].n_dst, (uint64_t)b->n_dst);
        caps->hop[h].n_src = OG_MAX(caps->hop[h].n_src, (uint64_t)b->n_src);
        caps->hop[h].n_edges = OG_MAX(caps->hop[h].n_edges, b->n_edges);
        caps->hop[h].n_lists = OG_MAX(caps->hop[h].n_lists, (uint64_t)b->n_lists);
    }
}

/* For the largest batch; most: to be released. */
static inline struct og_batch_caps typed_caps(const struct typed *t, struct og_type_counts *most)
{
    struct og_type_counts counts;
    struct og_batch_caps caps = {
        .n_hops = (uint32_t)t->f.config.layers, .n_relations = t->types.n_relations, .types = most};
    assert_int_equal(og__type_counts_init(most, &t->types, caps.n_hops, NULL), 0);
    assert_int_equal(og__type_counts_init(&counts, &t->types, caps.n_hops, NULL), 0);
    for (uint32_t b = 0; b < t->f.n_batches; b++) {
        og__count_types(&t->types, &t->f.batch[b], NULL, &counts);
        og__type_counts_include(most, &counts);
        typed_include_hops(&caps, &t->f.batch[b]);
        if (fixture_of_pairs(&t->f))
            caps.n_pairs = caps.n_scores =
                OG_MAX(caps.n_pairs, (uint64_t)((struct og_pairs *)t->f.labels[b])->n);
    }
    og__type_counts_release(&counts);
    return caps;
}

#endif
