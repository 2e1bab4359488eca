/* Parses the specification of a synthetic graph: node groups and relations between them. */
#include "base/plain.h"
#include "dataset/generate/maker.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int check(const struct og_generate *g, struct og_err *err)
{
    if (g->nodes < 2 || g->nodes >= UINT32_MAX - 1)
        return og__fail(err, -EINVAL, "from 2 to 4294967293",
                        "--nodes %lld: too few or too many nodes", (long long)g->nodes);
    if (g->dim < 1 || g->classes < 1)
        return og__fail(err, -EINVAL, "at least 1", "--dim %d --classes %d: a number is too small",
                        g->dim, g->classes);
    if (g->classes > g->nodes) {
        char hint[64];
        snprintf(hint, sizeof(hint), "use --classes %lld, or more nodes", (long long)g->nodes);
        return og__fail(err, -EINVAL, hint, "--classes %d: more classes than the %lld nodes",
                        g->classes, (long long)g->nodes);
    }
    if (!(g->degree > 0) || g->degree * (double)g->nodes > 0x1p46)
        return og__fail(err, -EINVAL, "use --degree 15, the default",
                        "--degree %g: more than 0 and at most 2^46 edges in all expected",
                        g->degree);
    if (!(g->train_fraction > 0) || g->train_fraction > 1.0 / 3)
        return og__fail(err, -EINVAL, "valid and test are as large: at most 1/3",
                        "--train-fraction %g: more than 0 and at most 1/3 expected",
                        g->train_fraction);
    if (!(g->homophily >= 0 && g->homophily <= 1))
        return og__fail(err, -EINVAL, "use --homophily 0.8, the default",
                        "--homophily %g: 0 to 1 expected", g->homophily);
    return 0;
}

/* Seeds of groups and relations follow from the run's, the first group's being that one. */
static uint64_t seed_of(const struct og_maker *k, uint32_t number)
{
    return (uint64_t)k->g.seed + number * 0x9E3779B97F4A7C15u;
}

/* ---- --types and --relations ---- */

static int not_so(const char *option, const char *word, const char *form, struct og_err *err)
{
    return og__fail(err, -EINVAL, form, "--%s: '%.80s'", option, word);
}

/* The parts of a word between colons, which are cut there; how many, at most 4. */
static int cut_word(char *word, char *out[4])
{
    int n = 0;
    for (char *p = word; p && n < 4;) {
        out[n++] = p;
        p = strchr(p, ':');
        if (p)
            *p++ = 0;
    }
    return n;
}

static bool read_number(const char *text, double least, double most, double *out)
{
    char *end;
    errno = 0;
    *out = og__plain_number(text, &end);
    return end != text && !*end && errno == 0 && *out >= least && *out <= most;
}

static int add_type(struct og_maker *k, char *word, struct og_err *err)
{
    static const char form[] = "NAME:NODES or NAME:NODES:FEATURES each, commas between them";
    char *at[4];
    double nodes = 0;
    double dim = 0;
    int n = cut_word(word, at);
    if (n < 2 || n > 3 || !read_number(at[1], 1, UINT32_MAX - 2, &nodes) || nodes != floor(nodes) ||
        (n == 3 && (!read_number(at[2], 0, 1 << 20, &dim) || dim != floor(dim))))
        return not_so("types", word, form, err);
    if (nodes < k->g.classes)
        return og__fail(err, -EINVAL, "as many nodes as classes at least, or fewer --classes",
                        "--types: '%s' has %.0f nodes, there are %d classes", at[0], nodes,
                        k->g.classes);
    OG_DO(og__schema_add_group(&k->graph, at[0], (int64_t)nodes, "--types", err));
    const uint32_t t = k->graph.n_groups - 1;
    k->group[t].g = k->g;
    k->group[t].g.nodes = (int64_t)nodes;
    k->group[t].g.dim = (int)dim;
    k->group[t].g.seed = (int64_t)seed_of(k, t);
    return 0;
}

static int add_relation(struct og_maker *k, char *word, struct og_err *err)
{
    static const char form[] = "SOURCE:NAME:DESTINATION or SOURCE:NAME:DESTINATION:DEGREE each, of "
                               "--types, commas between them";
    char *at[4];
    double degree = k->g.degree;
    int n = cut_word(word, at);
    const int source = n >= 3 ? og__schema_find(&k->graph, at[0]) : -1;
    const int destination = n >= 3 ? og__schema_find(&k->graph, at[2]) : -1;
    if (source < 0 || destination < 0 || (n == 4 && !read_number(at[3], 0, 1e6, &degree)))
        return not_so("relations", word, form, err);
    OG_DO(og__schema_add_relation(&k->graph, (uint32_t)source, at[1], (uint32_t)destination,
                                  "--relations", err));
    const uint32_t r = k->graph.n_relations - 1;
    k->degree[r] = degree;
    k->seed[r] = seed_of(k, OG_MOST_TYPES + r);
    return 0;
}

static int each_word(struct og_maker *k, const char *list,
                     int (*add)(struct og_maker *k, char *word, struct og_err *err),
                     struct og_err *err)
{
    char *copy = strdup(list);
    char *rest = copy;
    int rc = copy ? 0 : og__fail_errno(err, -ENOMEM, NULL, "generate");
    for (char *word; rc == 0 && (word = strsep(&rest, ","));)
        rc = add(k, word, err);
    free(copy);
    return rc;
}

static int be_plain(struct og_maker *k)
{
    og__schema_plain(&k->graph, k->g.nodes);
    k->group->g = k->g;
    k->degree[0] = k->g.degree;
    k->seed[0] = (uint64_t)k->g.seed;
    k->edges = k->g.model == OG_RMAT ? &og__rmat : &og__planted;
    return 0;
}

/* Turns one group and one relation with features into the homogeneous graph of the same size. */
static int drop_names(struct og_maker *k)
{
    k->g = k->group->g;
    k->g.degree = k->degree[0];
    k->g.types = k->g.relations = NULL;
    return be_plain(k);
}

static int read_types(struct og_maker *k, struct og_err *err)
{
    const struct og_generate *g = &k->g;
    int rc;
    if (!g->types || !g->relations)
        return og__fail(err, -EINVAL,
                        "--types paper:1000:128,author:5000 --relations "
                        "author:writes:paper:3",
                        "--types and --relations belong together");
    if (g->model != OG_PLANTED)
        return og__fail(err, -EINVAL, "leave out --model",
                        "--types: planted graphs alone have them");
    OG_TRY(each_word(k, g->types, add_type, err));
    OG_TRY(each_word(k, g->relations, add_relation, err));
    OG_TRY(og__schema_resolve(&k->graph, false, "--types", err));
    k->g.nodes = OG_MAX(k->group->g.nodes, (int64_t)2);
    k->edges = &og__planted_between;
    if (k->graph.n_groups == 1 && k->graph.n_relations == 1 && k->group->g.dim > 0)
        rc = drop_names(k);
out:
    return rc;
}

/* ---- all of it ---- */

int og__maker_request(struct og_maker *k, const struct og_generate *g, struct og_err *err)
{
    int rc;
    k->g = *g;
    OG_TRY(og__schema_init(&k->graph, err));
    k->group = calloc(OG_MOST_TYPES, sizeof(*k->group));
    k->degree = calloc(OG_MOST_RELATIONS, sizeof(*k->degree));
    k->seed = calloc(OG_MOST_RELATIONS, sizeof(*k->seed));
    OG_TRY(k->group && k->degree && k->seed ? 0 : og__fail_errno(err, -ENOMEM, NULL, "generate"));
    OG_TRY(g->types || g->relations ? read_types(k, err) : be_plain(k));
    OG_TRY(check(&k->g, err));
    for (uint32_t t = 0; t < k->graph.n_groups; t++) {
        k->graph.group[t].dim = k->group[t].g.dim;
        k->graph.group[t].stored = (enum og_dtype)k->g.dtype;
        og__graph_model_init(&k->group[t].model, &k->group[t].g);
    }
out:
    return rc;
}

void og__maker_release(struct og_maker *k)
{
    og__schema_release(&k->graph);
    free(k->group);
    free(k->degree);
    free(k->seed);
}
