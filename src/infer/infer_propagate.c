/* propagate: hops of the features, by the passes of inference, without a model. */
#include "base/file.h"
#include "base/sized.h"
#include "base/temporary.h"
#include "infer/hop_rows.h"
#include "session/option_effects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct propagation {
    struct og_inference f;
    struct og_newdir dir;
    char *folder; /* hops, in the dataset */
    int64_t labelled;
};

/* ==== what is requested ==== */

static int is_second(const char *value, const char *first, const char *second, const char *option,
                     bool *is, struct og_err *err)
{
    *is = value && strcmp(value, second) == 0;
    if (!value || *is || strcmp(value, first) == 0)
        return 0;
    return og__fail(err, -EINVAL, NULL, "--%s %.20s: %s or %s expected", option, value, first,
                    second);
}

static int read_request(struct propagation *p, const struct og_propagate_options *how,
                        struct og_err *err)
{
    struct og_hops *h = &p->f.hops;
    if (how->hops < 1 || how->hops > OG_MAX_HOPS)
        return og__fail(err, -EINVAL, NULL, "--hops %d: 1 to %d expected", how->hops, OG_MAX_HOPS);
    p->f.config.layers = how->hops;
    p->f.overwrites = how->overwrite;
    h->loops = how->loops;
    h->last = how->last;
    OG_DO(is_second(how->norm, "sym", "row", "norm", &h->by_row, err));
    return is_second(how->rows, "all", "labelled", "rows", &h->labelled, err);
}

static int check_graph(struct propagation *p, struct og_err *err)
{
    const struct og_graph *g = p->f.ds;
    OG_DO(og__graph_refuse_types(g, err));
    if (g->group->dim == 0)
        return og__fail(err, -EINVAL, NULL, "%s: has no features to propagate", g->path);
    OG_DO(og__infer_check_weights(&p->f, err));
    OG_DO(og__hop_rows_count(g, &p->labelled, err));
    if (p->labelled == 0 && p->f.hops.labelled)
        return og__fail(err, -EINVAL, "use --rows all",
                        "%s: has no train.npy, valid.npy or test.npy", g->path);
    return 0;
}

static int open_propagation(struct propagation *p, const char *dataset,
                            const struct og_propagate_options *how, const struct og_options *opt,
                            struct og_err *err)
{
    struct og_inference *f = &p->f;
    og__infer_begins(f);
    OG_DO(read_request(p, how, err));
    OG_DO(og__infer_without_model(f, opt, OG__UNUSED_HOPS, "use --norm row --edge-weights multiply",
                                  err));
    OG_DO(og__graph_open(dataset, &f->ds, err));
    OG_DO(check_graph(p, err));
    f->degrees = true;
    f->degrees_of_others = f->hops.loops;
    f->config.hidden = f->config.n_classes = f->ds->group->dim;
    OG_DO(og__infer_take(f, err));
    return og__hop_rows_check(f, err);
}

/* ==== outputs ==== */

static int add_hops(struct og_inference *f, struct og_err *err)
{
    int rc = 0;
    for (int k = 1; rc == 0 && k <= f->config.layers; k++) {
        char *path = NULL;
        rc = asprintf(&path, "%s/hop%d.npy", f->ds->path, k) < 0
                 ? og__fail_errno(err, -ENOMEM, NULL, "%s", f->ds->path)
                 : og__infer_add_output(f, path, og__combine_step(k - 1), NULL, err);
        free(path);
    }
    return rc;
}

static int open_state(struct og_inference *f, struct og_err *err)
{
    char *folder = realpath(f->ds->path, NULL), *what = NULL;
    int rc = folder && asprintf(&what, "propagate %s", folder) > 0
                 ? og__infer_state_open(f, f->ds->path, what, err)
                 : og__fail_errno(err, -ENOMEM, NULL, "inference");
    free(folder);
    free(what);
    return rc;
}

/* Whether the folder has the rows that would be written. */
static bool has_same_rows(struct propagation *p)
{
    struct og_graph *there = NULL;
    if (og__graph_open(p->folder, &there, NULL) < 0)
        return false;
    json_t *ours = og__hop_rows_json(&p->f);
    const bool same = ours && json_equal(ours, json_object_get(there->meta, "hops"));
    json_decref(ours);
    og__graph_close(there);
    return same;
}

static bool is_of_hops(const char *folder)
{
    struct og_graph *rows = NULL;
    const bool is = og__graph_open(folder, &rows, NULL) == 0 && json_object_get(rows->meta, "hops");
    og__graph_close(rows);
    return is;
}

/* It must not be there. With --overwrite or a state to resume, an older one goes. A folder of
 * something else stays. */
static int check_folder(struct propagation *p, struct og_err *err)
{
    if (p->labelled == 0)
        return 0;
    p->folder = og__path_join(p->f.ds->path, OG__HOPS_FOLDER);
    if (!p->folder)
        return og__fail_errno(err, -ENOMEM, NULL, "%s", p->f.ds->path);
    p->f.hops.folder = p->folder;
    if (!is_of_hops(p->folder))
        return og__check_absent(p->folder, err);
    return p->f.opt.resume || p->f.overwrites ? 0 : og__output_file_absent(p->folder, err);
}

static int write_folder(struct propagation *p, struct og_err *err)
{
    int rc;
    if (!p->folder || has_same_rows(p))
        return 0;
    if (access(p->folder, F_OK) == 0)
        og__remove_tree(p->folder);
    OG_TRY(og__newdir_begin(&p->dir, p->folder, err));
    OG_TRY(og__hop_rows_write(&p->f, p->dir.temporary, err));
    p->f.folder = &p->dir;
out:
    return rc;
}

/* With --overwrite, hops of an earlier propagation that these do not replace. */
static void remove_others(const struct og_inference *f)
{
    for (int k = f->hops.labelled ? 1 : f->config.layers + 1; k <= OG_MAX_HOPS; k++) {
        char *path = NULL;
        if (f->overwrites && asprintf(&path, "%s/hop%d.npy", f->ds->path, k) > 0 &&
            unlink(path) == 0)
            og__say(&f->log, OG__INFO, "%s: removed, of other hops", path);
        free(path);
    }
}

static int propagate(struct propagation *p, char **text, struct og_err *err)
{
    struct og_inference *f = &p->f;
    int rc = 0;
    OG_TRY(check_folder(p, err));
    if (!f->hops.labelled)
        OG_TRY(add_hops(f, err));
    OG_TRY(open_state(f, err));
    OG_TRY(og__infer_run(f, err));
    OG_TRY(write_folder(p, err));
    json_t *root = og__infer_figures(f);
    root = og__json_with(root, "hops", json_integer(f->config.layers));
    root = og__json_with(root, "norm", json_string(f->hops.by_row ? "row" : "sym"));
    root = og__json_with(root, "loops", json_boolean(f->hops.loops));
    root = og__json_with(root, "rows", json_string(f->hops.labelled ? "labelled" : "all"));
    root = og__json_with(root, "last", json_boolean(f->hops.last));
    root = og__json_with(root, "labelled", json_integer((json_int_t)p->labelled));
    OG_TRY(og__json_deliver(root, NULL, text, err)); /* failures must come before the files */
    OG_TRY(og__infer_deliver(f, err));
    remove_others(f);
out:
    return rc;
}

int og_propagate(const char *dataset, const struct og_propagate_options *how,
                 const struct og_options *opt, const struct og_observer *observer, char **out,
                 struct og_err *err)
{
    struct propagation p = {.f = {.kind = &og__infer_of_hops, .observer = observer}};
    int rc;
    if (out)
        *out = NULL;
    OG_TRY(OG_SIZED(observer, "og_observer", err));
    OG_TRY(OG_SIZED(how, "og_propagate_options", err));
    OG_TRY(open_propagation(&p, dataset, how, opt, err));
    OG_TRY(propagate(&p, out, err));
out:
    if (rc < 0 && out) {
        free(*out);
        *out = NULL;
    }
    og__newdir_abandon(&p.dir);
    free(p.folder);
    og__infer_free(&p.f);
    return rc;
}
