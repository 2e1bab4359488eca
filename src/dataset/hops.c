#include "dataset/hops.h"

#include "base/file.h"
#include "base/hex.h"
#include "base/json.h"
#include "dataset/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The command that makes them; the old ones go first. */
static void make_hint(char *out, size_t size, const char *dataset, bool there, int first, int last)
{
    char gone[600] = "";
    if (there)
        snprintf(gone, sizeof(gone), "rm -rf '%s/hops' '%s'/hop[0-9]*.npy; ", dataset, dataset);
    snprintf(out, size, "%soutgrow propagate '%s' --hops %d%s", gone, dataset, last,
             first == last ? " --last" : "");
}

static int refuse(const char *dataset, bool there, int first, int last, const char *why,
                  struct og_err *err)
{
    char hint[1000], inputs[16];
    make_hint(hint, sizeof(hint), dataset, there, first, last);
    snprintf(inputs, sizeof(inputs), first == last ? "%d" : "0-%d", last);
    return og__fail(err, -EINVAL, hint, "--inputs %s: %s/%s%s", inputs, dataset, OG__HOPS_FOLDER,
                    why);
}

static int check(const struct og_graph *g, const struct og_graph *rows, int first, int last,
                 struct og_err *err)
{
    const char *dataset = g->path;
    const json_t *made = json_object_get(rows->meta, "hops");
    const char *of = json_string_value(json_object_get(made, "graph"));
    if (!of || strcmp(of, og__hex(g->identity.contents).digits) != 0)
        return refuse(dataset, true, first, last,
                      " has rows of another graph, or of before it changed", err);
    if (json_integer_value(json_object_get(made, "first")) == first &&
        json_integer_value(json_object_get(made, "hops")) == last)
        return 0;
    return refuse(dataset, true, first, last, " has rows of other hops", err);
}

/* The rows of g's labelled nodes. */
static int open_rows(const struct og_graph *g, int first, int last, struct og_graph **out,
                     struct og_err *err)
{
    char *folder = og__path_join(g->path, OG__HOPS_FOLDER);
    struct og_graph *rows = NULL;
    int rc;
    OG_TRY(folder ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", g->path));
    if (access(folder, F_OK) < 0)
        OG_TRY(refuse(g->path, false, first, last, " is missing", err));
    OG_TRY(og__graph_open(folder, &rows, err));
    OG_TRY(check(g, rows, first, last, err));
    *out = rows;
    rows = NULL;
out:
    og__graph_close(rows);
    free(folder);
    return rc;
}

int og__hops_open(const char *dataset, int first, int last, struct og_graph **out,
                  struct og_err *err)
{
    struct og_graph *g;
    int rc = og__graph_open(dataset, &g, err);
    *out = NULL;
    if (rc < 0)
        return rc;
    rc = open_rows(g, first, last, out, err);
    og__graph_close(g);
    return rc;
}

/* ---- rows of all nodes ---- */

static int open_hop(const struct og_graph *g, const json_t *made, int k, struct og_group *out,
                    struct og_err *err)
{
    const char *said =
        json_string_value(json_array_get(json_object_get(made, "files"), (size_t)k - 1));
    struct og_npy *a = &out->rows;
    char *path = NULL;
    uint64_t contents;
    int rc;
    *out = *g->group;
    *a = (struct og_npy){.fd = -1};
    out->stored = out->dtype = OG_F32;
    if (asprintf(&path, "%s/hop%d.npy", g->path, k) < 0)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", g->path);
    OG_TRY(og__npy_open(a, path, err));
    OG_TRY(og__array_contents(a, &contents, err));
    if (!said || strcmp(said, og__hex(contents).digits) != 0 || a->type != OG__NPY_F32 ||
        a->shape[0] != g->n_nodes || a->shape[1] != g->group->dim)
        rc = -EINVAL;
out:
    free(path);
    return rc;
}

int og__hop_files_open(const struct og_graph *g, int first, int last, struct og_hop_files *out,
                       struct og_err *err)
{
    struct og_graph *rows = NULL;
    int rc = open_rows(g, first, last, &rows, err);
    for (int k = OG_MAX(first, 1); rc == 0 && k <= last; k++) {
        rc = open_hop(g, json_object_get(rows->meta, "hops"), k, &out->group[k], NULL);
        if (rc < 0)
            rc = refuse(g->path, true, first, last,
                        " says nothing of the hop<k>.npy that are there, or some are missing", err);
    }
    og__graph_close(rows);
    return rc;
}

void og__hop_files_close(struct og_hop_files *h)
{
    for (int k = 1; k <= OG_MAX_HOPS; k++)
        if (h->group[k].graph)
            og__npy_close(&h->group[k].rows);
}
