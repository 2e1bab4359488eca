#include "train/fanouts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20 };

/* ---- reading ---- */

/* A part "NAME=N,N": the name, and how many numbers there are; NULL: it is none. */
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

/* ---- of a graph ---- */

static bool is_named(const struct og_typed *g, const struct og_relation *r, const char *name,
                     size_t len)
{
    char whole[4 * (OG__TYPE_NAME_MAX + 1)];
    snprintf(whole, sizeof(whole), "%s__%s__%s", g->type[r->source].name, r->name,
             g->type[r->destination].name);
    return (strlen(r->name) == len && memcmp(r->name, name, len) == 0) ||
           (strlen(whole) == len && memcmp(whole, name, len) == 0);
}

static int refuse_name(const struct og_typed *g, const char *name, size_t len, struct og_err *err)
{
    char hint[160] = "";
    size_t used = 0;
    for (uint32_t r = 0; r < g->n_relations && used < sizeof(hint); r++)
        used += (size_t)snprintf(hint + used, sizeof(hint) - used, "%s%s",
                                 used ? ", " : "its relations: ", g->relation[r].name);
    return og__fail(err, -EINVAL, hint, "--relation-fanout: %s has no relation '%.*s'",
                    g->nodes.path, (int)OG_MIN(len, (size_t)100), name);
}

static int take_part(const struct og_typed *g, int n_hops, int *out, const char **p,
                     struct og_err *err)
{
    int number[OG_MAX_HOPS];
    int n = 0;
    size_t len = 0;
    bool found = false;
    const char *name = *p;
    *p = read_part(name, &len, &n, number);
    if (!*p)
        return og__fail(err, -EINVAL, "NAME=N,N;NAME=N,N", "--relation-fanout: '%.100s'", name);
    if (n != n_hops)
        return og__fail(err, -EINVAL, "as many numbers as --fanout has",
                        "--relation-fanout: %d numbers for '%.*s', %d hops", n,
                        (int)OG_MIN(len, (size_t)100), name, n_hops);
    for (uint32_t r = 0; r < g->n_relations; r++) {
        if (!is_named(g, &g->relation[r], name, len))
            continue;
        memcpy(out + r * (size_t)n_hops, number, (size_t)n_hops * sizeof(*out));
        found = true;
    }
    return found ? 0 : refuse_name(g, name, len, err);
}

int og__fanouts_of_relations(const struct og_options *opt, const struct og_typed *g, int **out,
                             struct og_err *err)
{
    const char *p = opt->relation_fanout;
    *out = NULL;
    if (!g)
        return 0;
    const size_t n_hops = (size_t)opt->n_fanout;
    int *fanout = malloc(g->n_relations * n_hops * sizeof(*fanout));
    if (!fanout)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->nodes.path);
    for (uint32_t r = 0; r < g->n_relations; r++)
        memcpy(fanout + r * n_hops, opt->fanout, n_hops * sizeof(*fanout));
    int rc = 0;
    while (rc == 0 && p && *p) {
        rc = take_part(g, opt->n_fanout, fanout, &p, err);
        if (rc == 0 && *p == ';')
            p++;
    }
    if (rc < 0)
        free(fanout);
    else
        *out = fanout;
    return rc;
}
