/* Degrees of relations, for a model that normalises by them: lists are of in-neighbours, so how
 * many edges leave a node is counted once, in a pass over each relation's lists, in memory or on
 * disk. They stay where the structure gives way to rows. */
#include "dataset/on_disk.h"
#include "session/session_parts.h"

static const char part[] = "degrees";

/* How many numbers there are: of the destination's nodes, and of the source's where that is another
 * type; within a type nobody asks for those. */
static size_t n_arriving(const struct og_facts *f, uint32_t relation)
{
    return (size_t)f->graph->group[f->types->relation[relation].destination].n_nodes;
}

static size_t n_leaving(const struct og_facts *f, uint32_t relation)
{
    const struct og_graph_relation *of = &f->types->relation[relation];
    return of->source == of->destination ? 0 : (size_t)f->graph->group[of->source].n_nodes;
}

size_t og__degrees_bytes(const struct og_facts *f)
{
    size_t n = 0;
    for (uint32_t r = 0; f->types && r < f->types->n_relations; r++)
        if (og__model_counts_relation(&f->shape, r))
            n += n_arriving(f, r) + n_leaving(f, r);
    return n * sizeof(uint32_t);
}

/* Zeros, which are what a relation without edges has. */
static int take(struct og_session *s, size_t n, uint32_t **counts, struct og_err *err)
{
    *counts = og__alloc(s->budget, n * sizeof(**counts), part, err);
    return *counts ? 0 : -ENOMEM;
}

static int count_within(const struct og_topology *lists, uint32_t *arriving, struct og_err *err)
{
    return lists->n_edges > 0 ? og__topology_count_neighbors(lists, arriving, err) : 0;
}

static int count_between(const struct og_topology *lists, uint32_t *arriving, uint32_t *leaving,
                         struct og_err *err)
{
    if (lists->n_edges == 0)
        return 0;
    for (uint32_t v = 0; v < lists->n_nodes; v++)
        arriving[v] = (uint32_t)og__degree(lists, v);
    return og__topology_count_sources(lists, leaving, err);
}

static int count_relation(struct og_session *s, uint32_t relation, struct og_err *err)
{
    const struct og_topology *lists = &s->structure.topology.relation[relation].lists;
    struct og_graph_relation *of = &s->facts.types->relation[relation];
    const bool between = of->source != of->destination;
    uint32_t *arriving, *leaving = NULL;
    int rc;
    OG_TRY(take(s, n_arriving(&s->facts, relation), &arriving, err));
    of->arriving = arriving;
    if (between)
        OG_TRY(take(s, n_leaving(&s->facts, relation), &leaving, err));
    of->leaving = leaving;
    rc =
        between ? count_between(lists, arriving, leaving, err) : count_within(lists, arriving, err);
out:
    return rc;
}

int og__session_count_degrees(struct og_session *s, struct og_err *err)
{
    struct og_io_counts read = {0};
    int rc = 0;
    if (og__degrees_bytes(&s->facts) == 0)
        return 0;
    OG_TRY(og__structure_fetch(&s->structure, &read, &s->prepare.bytes_written, err));
    for (uint32_t r = 0; r < s->facts.types->n_relations; r++)
        if (og__model_counts_relation(&s->facts.shape, r))
            OG_TRY(count_relation(s, r, err));
out:
    return rc;
}

void og__session_drop_degrees(struct og_session *s)
{
    const struct og_facts *f = &s->facts;
    for (uint32_t r = 0; f->types->relation && r < f->types->n_relations; r++) {
        const struct og_graph_relation *of = &f->types->relation[r];
        og__release(s->budget, (void *)of->arriving, n_arriving(f, r) * sizeof(uint32_t), part);
        og__release(s->budget, (void *)of->leaving, n_leaving(f, r) * sizeof(uint32_t), part);
    }
}
