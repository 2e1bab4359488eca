/* The command: a format by its name, a new folder, its meta.json. */
#include "base/sized.h"
#include "dataset/import/by_id.h"
#include "dataset/import/formats.h"
#include "dataset/import/means.h"
#include "dataset/import/moments.h"
#include "dataset/import/random_split.h"
#include "dataset/import/unused.h"

#include <string.h>
#include <unistd.h>

#define FORMAT(name) &og__format_##name,
static const struct og_format *const formats[] = {OG__FORMATS(FORMAT)};
#undef FORMAT

const struct og_import_format *og_import_format(size_t i)
{
    return i < OG_COUNT(formats) ? &formats[i]->info : NULL;
}

static const struct og_format *find_format(const char *name, struct og_err *err)
{
    char names[200] = "leave the format out, or give one of";
    for (size_t i = 0; i < OG_COUNT(formats); i++) {
        const size_t used = strlen(names);
        if (strcmp(formats[i]->info.name, name) == 0)
            return formats[i];
        snprintf(names + used, sizeof(names) - used, "%s %s", i ? "," : "", formats[i]->info.name);
    }
    const size_t used = strlen(names);
    snprintf(names + used, sizeof(names) - used,
             "; by the Python package parquet, tgb, relbench, ogb with links");
    og__fail(err, -EINVAL, names, "import %s: no such format", name);
    return NULL;
}

/* Sets the keys of meta.json that are independent of the arrays. */
static int start_meta(struct og_importer *imp, const char *format, struct og_err *err)
{
    const struct og_import *o = imp->opt;
    const char *slash = strrchr(imp->dir.path, '/');
    imp->checksums = json_object();
    imp->columns = json_object();
    imp->meta =
        json_pack("{s:s s:s s:O s:{s:s s:s s:s s:b s:b s:b s:b s:b}}", "name",
                  slash ? slash + 1 : imp->dir.path, "task", "node classification", "checksums",
                  imp->checksums, "provenance", "importer", og_version(), "format", format,
                  "source", imp->src, "symmetrize", o->symmetrize, "drop_duplicates",
                  o->symmetrize || o->drop_duplicates, "drop_self_loops", o->drop_self_loops,
                  "row_normalize", o->row_normalize, "reverse", o->reverse);
    if (imp->meta && o->split)
        json_object_set_new(
            json_object_get(imp->meta, "provenance"), "split",
            json_pack("{s:s s:I}", "percent", o->split, "seed", (json_int_t)o->seed));
    return imp->meta ? 0 : og__fail_errno(err, -ENOMEM, NULL, "import");
}

static void tell_pace(const struct og_importer *imp)
{
    const double seconds = og__now() - imp->began;
    const double rate = (double)imp->graph.n_edges / seconds;
    const bool fast = rate >= 1e6;
    og__import_say(imp, "%lld edges and all node data in %.2f s, %.3g %s edges a second",
                   (long long)imp->graph.n_edges, seconds, rate / (fast ? 1e6 : 1e3),
                   fast ? "million" : "thousand");
}

static int import_into(struct og_importer *imp, const struct og_format *format, struct og_err *err)
{
    int rc;
    OG_TRY(og__import_check_options(imp->opt, format, err));
    OG_TRY(og__moments_check(imp, err));
    imp->of_arrays = format->info.node_arrays;
    OG_TRY(format->info.node_arrays ? og__by_id_check(imp, err) : 0);
    OG_TRY(start_meta(imp, format->info.name, err));
    OG_TRY(format->read(imp, err));
    OG_TRY(og__import_random_split(imp, err));
    og__import_note_schema(imp);
    OG_TRY(og__columns_note(imp, err));
    OG_TRY(og__import_means(imp, err));
    OG_TRY(og__import_tell_unread(imp, format->deep, err));
    og__import_tell_idle(imp, format);
    OG_TRY(og__meta_write(imp->dir.temporary, json_incref(imp->meta), err));
    OG_TRY(og__newdir_commit(&imp->dir, err));
    tell_pace(imp);
out:
    return rc;
}

int og_import(const char *format, const char *src, const char *out, const struct og_import *opt,
              const struct og_observer *observer, struct og_err *err)
{
    struct og_importer imp = {.opt = opt,
                              .observer = observer,
                              .src = src,
                              .began = og__now(),
                              .both_ways = opt->symmetrize,
                              .numbered = opt->edge_ids};
    const struct og_format *reader = find_format(format, err);
    if (!reader)
        return -EINVAL;
    int rc = OG_SIZED(observer, "og_observer", err);
    rc = rc < 0 ? rc : og__random_split_check(opt, err);
    if (rc < 0)
        return rc;
    imp.budget = og__budget_new((size_t)og_import_memory(opt));
    imp.files = og__source_files_new();
    OG_TRY(imp.budget && imp.files ? 0 : og__fail_errno(err, -ENOMEM, NULL, "import"));
    OG_TRY(og__schema_init(&imp.graph, err));
    OG_TRY(og__pool_open(&imp.pool, opt->threads ? opt->threads : og__cpu_count(), err));
    if (access(src, F_OK) < 0)
        OG_TRY(og__fail(err, -ENOENT, "name a file or folder to import", "%s: not there", src));
    OG_TRY(og__check_apart(src, out, err));
    OG_TRY(og__newdir_begin(&imp.dir, out, err));
    OG_TRY(import_into(&imp, reader, err));
out:
    og__import_drop_edges(&imp);
    og__node_ids_drop(&imp);
    json_decref(imp.class_names);
    json_decref(imp.columns);
    json_decref(imp.theirs);
    og__import_drop_splits(&imp);
    og__schema_release(&imp.graph);
    og__source_files_free(imp.files);
    og__newdir_abandon(&imp.dir);
    og__pool_close(imp.pool);
    og__budget_free(imp.budget);
    json_decref(imp.meta);
    json_decref(imp.checksums);
    return rc;
}
