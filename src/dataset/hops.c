#include "dataset/hops.h"

#include "base/file.h"
#include "base/hex.h"
#include "base/json.h"
#include "dataset/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void og__hops_how(const struct og_graph *rows, char how[OG__HOPS_HOW])
{
    const json_t *made = json_object_get(rows->meta, "hops");
    const char *norm = json_string_value(json_object_get(made, "norm"));
    const char *weights = json_string_value(json_object_get(made, "edge_weights"));
    snprintf(how, OG__HOPS_HOW, "%.8s%s%s", norm ? norm : "",
             json_is_true(json_object_get(made, "loops")) ? ",loops" : "",
             weights && strcmp(weights, "multiply") == 0 ? ",multiply" : "");
}

/* ---- refusing them ---- */

struct wanted {
    int first, last;
    const char *how;
};

/* The command that makes them, where a dataset's name needs no more than quotes. */
static void make_hint(char *out, size_t size, const char *dataset, bool there,
                      const struct wanted *w)
{
    enum { LONGEST = 240 };
    if (strchr(dataset, '\'') || strlen(dataset) > LONGEST) {
        snprintf(out, size, "make them again with `outgrow propagate`, --hops %d", w->last);
        return;
    }
    snprintf(out, size, "outgrow propagate '%s' --hops %d%s%s%s%s%s", dataset, w->last,
             w->first == w->last ? " --last" : "", strstr(w->how, "row") ? " --norm row" : "",
             strstr(w->how, "loops") ? " --loops" : "",
             strstr(w->how, "multiply") ? " --edge-weights multiply" : "",
             there ? " --overwrite" : "");
}

static int refuse(const char *dataset, bool there, const struct wanted *w, const char *why,
                  struct og_err *err)
{
    char hint[1000], inputs[16];
    make_hint(hint, sizeof(hint), dataset, there, w);
    snprintf(inputs, sizeof(inputs), w->first == w->last ? "%d" : "0-%d", w->last);
    return og__fail(err, -EINVAL, hint, "--inputs %s: %s/%s%s", inputs, dataset, OG__HOPS_FOLDER,
                    why);
}

static int check(const struct og_graph *g, const struct og_graph *rows, const struct wanted *w,
                 struct og_err *err)
{
    const char *dataset = g->path;
    const json_t *made = json_object_get(rows->meta, "hops");
    const char *of = json_string_value(json_object_get(made, "graph"));
    char how[OG__HOPS_HOW], why[128];
    og__hops_how(rows, how);
    /* those that are there say how others are to be made */
    const struct wanted again = {w->first, w->last, *w->how ? w->how : how};
    if (!of || strcmp(of, og__hex(g->identity.contents).digits) != 0)
        return refuse(dataset, true, &again, " has rows of another graph, or of before it changed",
                      err);
    if (json_integer_value(json_object_get(made, "first")) != w->first ||
        json_integer_value(json_object_get(made, "hops")) != w->last)
        return refuse(dataset, true, &again, " has rows of other hops", err);
    if (strcmp(again.how, how) == 0)
        return 0;
    snprintf(why, sizeof(why), " has rows made with %s, required are rows made with %s", how,
             w->how);
    return refuse(dataset, true, &again, why, err);
}

/* The rows of g's labelled nodes. */
static int open_rows(const struct og_graph *g, const struct wanted *w, struct og_graph **out,
                     struct og_err *err)
{
    char *folder = og__path_join(g->path, OG__HOPS_FOLDER);
    struct og_graph *rows = NULL;
    int rc;
    OG_TRY(folder ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", g->path));
    if (access(folder, F_OK) < 0)
        OG_TRY(refuse(g->path, false, w, " is missing", err));
    OG_TRY(og__graph_open(folder, &rows, err));
    OG_TRY(check(g, rows, w, err));
    *out = rows;
    rows = NULL;
out:
    og__graph_close(rows);
    free(folder);
    return rc;
}

int og__hops_open(const char *dataset, int first, int last, const char *how, struct og_graph **out,
                  struct og_err *err)
{
    const struct wanted w = {first, last, how};
    struct og_graph *g;
    int rc = og__graph_open(dataset, &g, err);
    *out = NULL;
    if (rc < 0)
        return rc;
    rc = open_rows(g, &w, out, err);
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
    out->sparse = (struct og_sparse_rows){0};
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

int og__hop_files_open(const struct og_graph *g, int first, int last, const char *how,
                       struct og_hop_files *out, struct og_err *err)
{
    const struct wanted w = {first, last, how};
    struct og_graph *rows = NULL;
    int rc = open_rows(g, &w, &rows, err);
    for (int k = OG_MAX(first, 1); rc == 0 && k <= last; k++) {
        rc = open_hop(g, json_object_get(rows->meta, "hops"), k, &out->group[k], NULL);
        if (rc < 0)
            rc = refuse(g->path, true, &w,
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
