#include "options/fanouts.h"
#include "options/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20 };

/* ---- reading ---- */

/* Parses a part "NAME=N,N": length of the name, and numbers. Returns its end, or NULL if it is not
 * one. */
static const char *read_part(const char *p, size_t *name, int *n, int number[OG_MAX_HOPS])
{
    *name = strcspn(p, "=;,");
    if (*name == 0 || p[*name] != '=')
        return NULL;
    p += *name;
    for (*n = 0; *n < OG_MAX_HOPS && (*n == 0 ? *p == '=' : *p == ','); ++*n) {
        char *end;
        const long value = strtol(++p, &end, 10);
        const bool digit = (*p >= '0' && *p <= '9') || *p == '-';
        if (!digit || value < -1 || value > MOST)
            return NULL;
        number[*n] = (int)value;
        p = end;
    }
    return *p == 0 || *p == ';' ? p : NULL;
}

/* ---- fanouts of a graph ---- */

bool og__relation_is_named(const struct og_graph *g, const struct og_relation *r, const char *name,
                           size_t len)
{
    char whole[4 * (OG__TYPE_NAME_MAX + 1)];
    snprintf(whole, sizeof(whole), "%s__%s__%s", g->group[r->source].name, r->name,
             g->group[r->destination].name);
    return (strlen(r->name) == len && memcmp(r->name, name, len) == 0) ||
           (strlen(whole) == len && memcmp(whole, name, len) == 0);
}

/* Whether r is the first relation with its name. */
static bool is_new(const struct og_graph *g, uint32_t r)
{
    for (uint32_t k = 0; k < r; k++)
        if (strcmp(g->relation[k].name, g->relation[r].name) == 0)
            return false;
    return true;
}

/* Names of relations, each once, as many as fit. */
static void list_names(const struct og_graph *g, char *out, size_t size)
{
    enum { MORE = sizeof(" and 1024 more") };
    size_t used = (size_t)snprintf(out, size, "its relations:");
    uint32_t told = 0;
    uint32_t left = 0;
    for (uint32_t r = 0; r < g->n_relations; r++) {
        const char *name = g->relation[r].name;
        if (!is_new(g, r))
            continue;
        if (left > 0 || used + strlen(name) + 2 + MORE > size)
            left++;
        else
            used += (size_t)snprintf(out + used, size - used, "%s%s", told++ ? ", " : " ", name);
    }
    if (left > 0)
        snprintf(out + used, size - used, " and %u more", left);
}

int og__refuse_relation(const struct og_graph *g, const char *option, const char *name, size_t len,
                        struct og_err *err)
{
    char hint[200];
    list_names(g, hint, sizeof(hint));
    return og__fail(err, -EINVAL, hint, "--%s: %s has no relation '%.*s'", option, g->path,
                    (int)OG_MIN(len, (size_t)100), name);
}

/* Fanouts of the relations parsed so far. */
struct fanouts {
    const struct og_graph *g;
    int n_hops;
    int *number;   /* [n_relations][n_hops] */
    bool *settled; /* [n_relations] was named */
};

/* Sets the numbers of every relation of that name. */
static int settle(const struct fanouts *f, const char *name, size_t len, const int *number,
                  struct og_err *err)
{
    bool found = false;
    for (uint32_t r = 0; r < f->g->n_relations; r++) {
        if (!og__relation_is_named(f->g, &f->g->relation[r], name, len))
            continue;
        if (f->settled[r])
            return og__fail(err, -EINVAL, "name each relation once",
                            "--relation-fanout: relation '%.*s' is named twice",
                            (int)OG_MIN(len, (size_t)100), name);
        memcpy(f->number + r * (size_t)f->n_hops, number, (size_t)f->n_hops * sizeof(*number));
        f->settled[r] = found = true;
    }
    return found ? 0 : og__refuse_relation(f->g, "relation-fanout", name, len, err);
}

static int take_part(const struct fanouts *f, const char **p, struct og_err *err)
{
    int number[OG_MAX_HOPS];
    int n = 0;
    size_t len = 0;
    const char *name = *p;
    *p = read_part(name, &len, &n, number);
    if (!*p)
        return og__fail(err, -EINVAL, "use NAME=N,N;NAME=N,N",
                        "--relation-fanout: '%.100s': a name and numbers expected", name);
    if (n != f->n_hops)
        return og__fail(err, -EINVAL, "use as many numbers as --fanout",
                        "--relation-fanout: %d numbers for '%.*s', %d hops", n,
                        (int)OG_MIN(len, (size_t)100), name, f->n_hops);
    return settle(f, name, len, number, err);
}

static int take_parts(const struct fanouts *f, const char *p, struct og_err *err)
{
    while (p && *p) {
        OG_DO(take_part(f, &p, err));
        p += *p == ';';
    }
    return 0;
}

int og__fanouts_of_relations(const struct og_options *opt, const struct og_graph *g, int **out,
                             struct og_err *err)
{
    const size_t n_hops = (size_t)opt->n_fanout;
    int rc;
    *out = NULL;
    struct fanouts f = {.g = g,
                        .n_hops = opt->n_fanout,
                        .number = malloc(g->n_relations * n_hops * sizeof(*f.number)),
                        .settled = calloc(g->n_relations, sizeof(*f.settled))};
    OG_TRY(f.number && f.settled ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", g->path));
    for (uint32_t r = 0; r < g->n_relations; r++)
        memcpy(f.number + r * n_hops, opt->fanout, n_hops * sizeof(*f.number));
    if (*g->relation->name) /* else it has none that could be named (session/option_effects.c) */
        OG_TRY(take_parts(&f, opt->relation_fanout, err));
    *out = f.number;
    f.number = NULL;
out:
    free(f.number);
    free(f.settled);
    return rc;
}
