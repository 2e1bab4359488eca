/* og_pack: for each draw of pre-sampled batches, what the cache is to hold while it is trained. And
 * a packed file of what its batches miss then. */
#include "base/file.h"
#include "base/sized.h"
#include "dataset/writer.h"
#include "lookahead/lookahead.h"
#include "options/options.h"
#include "report/json.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

struct packer {
    struct og_session *s;
    struct og_newdir dir;
    struct og_packs packs;
    struct og_lookahead_counts done;
    uint64_t *rows; /* [n_types] in all packed files; of one type alone: one */
    double start;
};

/* ---- options: what decides the batches is as they were sampled ---- */

static char *list_text(const json_t *list)
{
    char *text = strdup("");
    for (size_t i = 0; text && i < json_array_size(list); i++) {
        char *longer = NULL;
        if (asprintf(&longer, "%s%s%lld", text, i ? "," : "",
                     (long long)json_integer_value(json_array_get(list, i))) < 0)
            longer = NULL;
        free(text);
        text = longer;
    }
    return text;
}

static char *value_text(const json_t *value)
{
    if (json_is_array(value))
        return list_text(value);
    return json_is_string(value) ? strdup(json_string_value(value))
                                 : og__json_print(value, JSON_ENCODE_ANY);
}

static int adopt_option(struct og_options *opt, const char *name, const json_t *value,
                        struct og_err *err)
{
    char *text = value_text(value);
    int rc = text ? og_options_set(opt, name, text, err)
                  : og__fail_errno(err, -ENOMEM, NULL, "--samples");
    free(text);
    return rc;
}

/* Those that decide numbers, as far as none is given here. */
static int adopt_options(struct og_options *opt, const json_t *theirs, struct og_err *err)
{
    const struct og_option *option;
    for (size_t i = 0; (option = og_option(i)); i++) {
        const json_t *value = json_object_get(theirs, option->name);
        const bool wanted = option->decides >= OG_DECIDES_NUMBERS && value &&
                            !json_is_null(value) && !og_options_given(opt, option->name);
        if (wanted)
            OG_DO(adopt_option(opt, option->name, value, err));
    }
    return 0;
}

/* Every draw of the folder, and a cache that stays as it is while one is trained. */
static int resolve_options(struct og_options *opt, struct packer *p, struct og_err *err)
{
    struct og_trace_description said;
    if (!opt->samples)
        return og__fail(err, -EINVAL, "make one with `outgrow sample`",
                        "--samples DIR: the folder to be packed expected");
    int rc = og__offline_describe(&said, opt->samples, err);
    if (rc < 0)
        return rc;
    const uint32_t every = said.every;
    p->packs.draws = said.draws;
    OG_TRY(adopt_options(opt, json_object_get(said.root, "options"), err));
    OG_TRY(og_options_set(opt, "policy", og__policy_word(og__policy_that_adopts()), err));
    OG_TRY(og_options_set(opt, "layout", "packed", err));
    if (!opt->scratch)
        OG_TRY(og_options_set(opt, "scratch", opt->samples, err));
    if ((uint64_t)every * p->packs.draws > INT32_MAX)
        OG_TRY(og__fail(err, -EINVAL, NULL, "%s: more epochs than there can be", opt->samples));
    opt->resample_every = (int)every;
    opt->epochs = (int)((p->packs.draws - 1) * every + 1);
out:
    og__trace_description_release(&said);
    return rc;
}

/* ---- a draw ---- */

static int pack_files(struct packer *p, uint32_t draw, struct og_npy_writer *cached,
                      struct og_err *err)
{
    uint32_t epoch = draw * (uint32_t)p->s->workload.schedule.resample_every + 1;
    const struct og_draw_files to = {.dir = p->dir.temporary, .draw = draw, .cached = cached};
    struct og_progress progress = {.size = sizeof(progress),
                                   .stage = "pack",
                                   .done = draw + 1,
                                   .total = p->packs.draws,
                                   .epochs = p->s->config.opt.epochs};
    int rc = og__pack_draw(&p->s->path, epoch, &to, &p->done, p->rows, err);
    og__observe(p->s->config.observer, &progress);
    return rc;
}

static int pack_draw(struct packer *p, uint32_t draw, struct og_err *err)
{
    char *list = og__packs_list(p->dir.temporary, draw);
    struct og_npy_writer *cached = NULL;
    uint64_t checksum = 0;
    int rc;
    OG_TRY(list ? og__npy_create(&cached, list, OG__NPY_I64, 1, 1, err)
                : og__fail_errno(err, -ENOMEM, NULL, "%s", p->dir.path));
    OG_TRY(pack_files(p, draw, cached, err));
    p->done.bytes_written += og__npy_bytes(cached);
    rc = og__npy_finish(cached, &checksum, err);
    cached = NULL; /* gone either way */
    OG_TRY(rc < 0 ? rc : og__packs_note(&p->packs, checksum, err));
out:
    og__npy_discard(cached);
    free(list);
    return rc;
}

/* What the cache has room for, of each group. */
static int begin_packs(struct packer *p, struct og_err *err)
{
    const struct og_session *s = p->s;
    const struct og_graph *g = s->workload.graph;
    int rc;
    OG_TRY(og__packs_begin(&p->packs, g, err));
    p->packs.cache_rows = s->memory.n_slots;
    for (uint32_t k = 0; k < g->n_groups; k++)
        p->packs.group_rows[k] = (uint32_t)s->size[k].slots;
    p->rows = calloc(g->n_groups, sizeof(*p->rows));
    OG_TRY(p->rows ? 0 : og__fail_errno(err, -ENOMEM, NULL, "%s", p->dir.path));
    if (og__feature_bytes(g) == 0)
        OG_TRY(og__fail(err, -EINVAL,
                        "leave `outgrow pack` out: learnable embeddings are in memory",
                        "%s: no type of nodes has features to be packed", g->path));
out:
    return rc;
}

static int pack_all(struct packer *p, struct og_err *err)
{
    OG_DO(begin_packs(p, err));
    for (uint32_t d = 0; d < p->packs.draws; d++) {
        OG_DO(pack_draw(p, d, err));
        OG_DO(og__stopped(&p->s->config, "stopped while packing", err));
    }
    return og__packs_describe(&p->packs, p->dir.temporary, err);
}

static json_t *types_json(const struct packer *p)
{
    const struct og_graph *g = p->s->workload.graph;
    json_t *list = json_array();
    for (uint32_t k = 0; k < g->n_groups; k++) {
        const struct og_group *rows = &g->group[k];
        if (rows->dim == 0)
            continue;
        list = og__json_append(list, json_pack("{s:s s:I s:I s:I}", "name", rows->name, "row_bytes",
                                               (json_int_t)og__row_bytes(rows), "cache_rows",
                                               (json_int_t)p->packs.group_rows[k], "rows",
                                               (json_int_t)p->rows[k]));
    }
    return list;
}

static json_t *result_json(const struct packer *p, const char *path)
{
    const struct og_prepare_counters *before = &p->s->prepare;
    uint64_t rows = 0;
    for (uint32_t t = 0; t < p->s->workload.graph->n_groups; t++)
        rows += p->rows[t];
    json_t *root = json_pack("{s:s s:I s:I s:I s:I s:I s:I s:f}", "pack", path, "draws",
                             (json_int_t)p->packs.draws, "cache_rows",
                             (json_int_t)p->packs.cache_rows, "rows", (json_int_t)rows,
                             "bytes_read", (json_int_t)(before->bytes_read + p->done.read.bytes),
                             "prepare_bytes_read", (json_int_t)before->bytes_read, "bytes_written",
                             (json_int_t)(before->bytes_written + p->done.bytes_written), "seconds",
                             og__now() - p->start);
    return og__json_with(root, "types", types_json(p));
}

static int run_pack(struct packer *p, const char *dataset, struct og_options *own,
                    const struct og_observer *observer, char **out, struct og_err *err)
{
    unsigned want =
        OG__WANT_FEATURES | OG__WANT_PLAN_ONLY | OG__WANT_WHOLE_DRAWS | og__learner_wants();
    char *path = NULL;
    int rc;
    OG_TRY(resolve_options(own, p, err));
    path = og__path_join(own->samples, "pack");
    OG_TRY(path ? og__newdir_begin(&p->dir, path, err)
                : og__fail_errno(err, -ENOMEM, NULL, "--samples"));
    OG_TRY(og__session_open(&p->s, dataset, own, want, NULL, observer, err));
    if (og__plans_units(&p->s->workload))
        OG_TRY(og__fail(err, -ENOTSUP,
                        "train with --samples: --layout packed packs what its batches miss",
                        "pack: does not support features of edges yet"));
    OG_TRY(pack_all(p, err));
    OG_TRY(og__json_deliver(result_json(p, path), NULL, out, err));
    OG_TRY(og__newdir_commit(&p->dir, err)); /* last: without a result there is no folder */
out:
    free(path);
    return rc;
}

int og_pack(const char *dataset, const struct og_options *opt, const struct og_observer *observer,
            char **out, struct og_err *err)
{
    struct packer p = {.start = og__now()};
    struct og_options own;
    if (out)
        *out = NULL;
    int rc = OG_SIZED(observer, "og_observer", err);
    rc = rc < 0 ? rc : og__options_copy(&own, opt, err);
    if (rc < 0)
        return rc;
    rc = run_pack(&p, dataset, &own, observer, out, err);
    if (rc < 0 && out) {
        free(*out);
        *out = NULL;
    }
    og__packs_release(&p.packs);
    free(p.rows);
    og__newdir_abandon(&p.dir);
    og__session_close(p.s);
    og__options_release(&own);
    return rc;
}
