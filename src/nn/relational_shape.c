/* The convolutions of a heterogeneous model and their names, by the configuration alone. */
#include "nn/conv_edges.h"
#include "nn/relational.h"
#include "nn/tasks.h"

#include <stdio.h>
#include <string.h>

static bool has_rows(const struct og_graph_types *g, uint32_t type)
{
    return g->type[type].dim > 0;
}

/* A relation is live if both ends have rows; its destination then has rows after the layer. */
static void live_forwards(const struct og_model_config *c, struct og_live *live)
{
    const struct og_graph_types *g = c->types;
    bool rows[OG_MAX_HOPS + 1][OG_MOST_TYPES] = {{false}};
    for (uint32_t t = 0; t < g->n_types; t++)
        rows[0][t] = has_rows(g, t);
    for (int l = 0; l < c->layers; l++)
        for (uint32_t r = 0; r < g->n_relations; r++) {
            const struct og_graph_relation *of = &g->relation[r];
            live->of[l][r] = rows[l][of->source] && rows[l][of->destination];
            rows[l + 1][of->destination] |= live->of[l][r];
        }
}

bool og__makes_logits(const struct og_model_config *c, uint32_t type)
{
    const struct og_graph_types *g = og__types(c);
    return og__of_pairs(c) || (g->type ? g->type[type].target : type == g->target);
}

bool og__mixes_seeds(const struct og_model_config *c)
{
    const struct og_graph_types *g = og__types(c);
    uint32_t n = 0;
    for (uint32_t t = 0; t < g->n_types; t++)
        n += g->type[t].target;
    return og__of_pairs(c) || n > 1;
}

/* GCN between two types uses the sources alone, except for a residual. */
static bool reads_own(const struct og_model_config *c, uint32_t relation)
{
    const struct og_graph_relation *of = &c->types->relation[relation];
    return of->source == of->destination || c->residual || !og__conv_of(c)->sources_alone;
}

struct og_live og__live_relations(const struct og_model_config *c)
{
    const struct og_graph_types *g = c->types;
    struct og_live live = {.of = {{false}}};
    bool looked_at[OG_MAX_HOPS + 1][OG_MOST_TYPES] = {{false}};
    live_forwards(c, &live);
    for (uint32_t t = 0; t < g->n_types; t++)
        looked_at[c->layers][t] = og__makes_logits(c, t);
    for (int l = c->layers - 1; l >= 0; l--)
        for (uint32_t r = 0; r < g->n_relations; r++) {
            const struct og_graph_relation *of = &g->relation[r];
            live.of[l][r] &= looked_at[l + 1][of->destination];
            live.end[l][of->destination] |= live.of[l][r];
            looked_at[l][of->source] |= live.of[l][r];
            looked_at[l][of->destination] |= live.of[l][r] && reads_own(c, r);
        }
    return live;
}

uint32_t og__count_ends(const struct og_model_config *c, int layer)
{
    const struct og_live live = og__live_relations(c);
    uint32_t n = 0;
    for (uint32_t t = 0; t < c->types->n_types; t++)
        n += live.end[layer][t];
    return n;
}

struct og_model_config og__relation_config(const struct og_model_config *c, uint32_t relation)
{
    const struct og_graph_relation *of = &c->types->relation[relation];
    const struct og_graph_type *source = &c->types->type[of->source];
    const struct og_graph_type *own = &c->types->type[of->destination];
    struct og_model_config part = *c;
    part.types = NULL;
    part.in_dim = source->dim;
    part.own_dim = own->dim;
    part.entries = source->entries;
    part.own_entries = own->entries;
    part.apart = of->source != of->destination;
    part.edge_dim = c->edge_dim > 0 ? of->edge_dim : 0;
    part.trains_input = source->trained || own->trained;
    part.residual = false; /* these two belong to the sum */
    part.norm = OG_NORM_NONE;
    return part;
}

struct og_model_config og__type_config(const struct og_model_config *c, uint32_t type)
{
    struct og_model_config part = *c;
    part.types = NULL;
    part.in_dim = c->types->type[type].dim;
    part.entries = part.own_entries = c->types->type[type].entries;
    part.trains_input = c->types->type[type].trained;
    return part;
}

static bool same_width(const struct og_graph_types *g, uint32_t relation)
{
    const struct og_graph_relation *of = &g->relation[relation];
    return g->type[of->source].dim == g->type[of->destination].dim;
}

int og__relational_check(const struct og_model_config *c, struct og_err *err)
{
    const struct og_graph_types *g = c->types;
    const struct og_live live = og__live_relations(c);
    if (!og__conv_of(c)->by_relation)
        return og__fail(err, -ENOTSUP, "use --aggregator mean or max",
                        "--model %s --aggregator gcn: does not support heterogeneous graphs yet",
                        og__model_words[c->kind]);
    for (uint32_t r = 0; r < g->n_relations; r++)
        if (og__conv_of(c)->perceptron && live.of[0][r] && !same_width(g, r))
            return og__fail(err, -EINVAL, "use --model sage, or features of one width",
                            "--model %s: adds rows of %s to rows of %s, which have another width",
                            og__model_words[c->kind], g->type[g->relation[r].source].name,
                            g->type[g->relation[r].destination].name);
    for (uint32_t r = 0; r < g->n_relations; r++)
        if (og__conv_of(c)->needs_edges && live.of[0][r] && g->relation[r].edge_dim == 0)
            return og__fail(err, -EINVAL, "use --model gin, or give its edges features",
                            "--model %s: requires features of edges, and relation %s has none",
                            og__model_words[c->kind], g->relation[r].name);
    for (uint32_t t = 0; t < g->n_types; t++)
        if (og__makes_logits(c, t) && !live.end[c->layers - 1][t])
            return og__fail(err, -EINVAL,
                            "import it with --reverse-relations, or give types without features a "
                            "trained --embedding",
                            "type %s: no relation between types with features ends there",
                            g->type[t].name);
    return 0;
}
/* A ModuleDict has no dots in its names. */
static void put_signs(char *name)
{
    for (; *name; name++)
        if (*name == '.')
            *name = '#';
}

void og__relation_key(const struct og_graph_types *g, uint32_t number, char *out, size_t bytes)
{
    const struct og_graph_relation *r = &g->relation[number];
    snprintf(out, bytes, "<%s___%s___%s>", g->type[r->source].name, r->name,
             g->type[r->destination].name);
    put_signs(out);
}

void og__type_key(const struct og_graph_types *g, uint32_t number, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s", g->type[number].name);
    put_signs(out);
}

void og__name_of_relation(const struct og_model *part, const char *module, int layer,
                          const char *name, char *out, size_t bytes)
{
    const int head = snprintf(out, bytes, "%s.%d.%s.", module, layer, module);
    og__relation_key(part->whole->config.types, part->number, out + head, bytes - (size_t)head);
    const size_t used = strlen(out);
    snprintf(out + used, bytes - used, ".%s", name);
}

void og__name_of_type(const struct og_model *part, const char *module, int layer, const char *name,
                      char *out, size_t bytes)
{
    const int head = snprintf(out, bytes, "%s.%d.", module, layer);
    og__type_key(part->whole->config.types, part->number, out + head, bytes - (size_t)head);
    const size_t used = strlen(out);
    snprintf(out + used, bytes - used, ".%s", name);
}
