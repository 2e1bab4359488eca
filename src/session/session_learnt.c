/* Learnable rows that batches bring and change (gather/written.h). They are a group of rows like
 * features, whose file is in a scratch folder and ends with the session. Checkpoints have files of
 * their own (learn/rows_home.h). */
#include "session/session_parts.h"

#include "base/file.h"
#include "base/scratch.h"
#include "learn/rows_home.h"
#include "nn/nn.h"
#include "nn/row_optimizers.h"
#include "options/options.h"
#include "options/trainer_count.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What does not go with them. */
static int check_options(const struct og_config *c, struct og_err *err)
{
    const struct og_options *opt = &c->opt;
    const struct og_trainers_setup trainers = og__trainers_setup(opt);
    const struct {
        bool given;
        const char *option, *hint;
    } others[] = {
        {opt->weight_decay > 0, "--weight-decay changes all rows", "use --weight-decay 0"},
        {OG_MAX((int)c->share.ranks, opt->workers) > 1,
         "several workers do not add gradients of rows yet",
         "use --workers 1, or --embedding-optimizer dense if all rows fit"},
        {opt->accumulate > 1, "--accumulate does not add gradients of rows yet",
         "use --accumulate 1 and a larger --batch, or --embedding-optimizer dense if all rows fit"},
        {opt->staleness > 0, "--staleness keeps no earlier rows", "use --staleness 0"},
        {og__trainers_all(&trainers) > 0 || opt->executors.samplers > 0,
         "--executors: trainers have no rows of their own", "leave --executors out"},
        {og__has_tiers(c), "rows on a device are not written back", "leave --device-memory out"},
        {opt->layout == OG_LAYOUT_PACKED || opt->layout == OG_LAYOUT_SEGMENTED,
         "--layout: packs are copies of rows, which change", "use --layout raw"},
        {og__policy_fills_during_training(opt->policy),
         "--policy sweep reads rows that other batches change", "use --policy belady"},
        {opt->alternate, "--phased-memory drops rows that were changed",
         "leave --phased-memory out"},
        {opt->samples != NULL, "--samples may have packs, which are copies of rows",
         "leave --samples out"},
    };
    for (size_t i = 0; i < OG_COUNT(others); i++)
        if (others[i].given)
            return og__fail(err, -ENOTSUP, others[i].hint, "--embedding-optimizer %s: %s",
                            og__option_word("embedding-optimizer", opt->embedding_optimizer),
                            others[i].option);
    return 0;
}

static void add_group(struct og_learnt_disk *d, const struct og_config *c, uint64_t n_rows)
{
    const struct og_options *opt = &c->opt;
    const uint64_t value = (uint64_t)opt->embedding * sizeof(float);
    const uint64_t row =
        value + (uint64_t)og__row_state(opt->embedding_optimizer, opt->embedding) * sizeof(float);
    const bool ahead = opt->policy == OG_POLICY_AUTO || og__policy_looks_ahead(opt->policy);
    const bool trains = c->want & OG__WANT_TRAINING, evaluates = opt->eval_every > 0;
    const uint64_t models = /* the last; the best one, a former one, and one being written */
        (opt->resume ? 2 : 1) + (evaluates ? 3 : 0);
    d->scratch += n_rows * (ahead ? (row + sizeof(uint32_t)) * 11 / 10 * (evaluates ? 2 : 1) : row);
    d->run += trains ? n_rows * (row + models * value) : 0;
    d->undo += trains ? n_rows * (row + sizeof(uint32_t)) : 0;
}

static bool on_one_disk(const char *a, const char *b)
{
    struct stat x;
    struct stat y;
    char *one = og__nearest_there(a), *other = og__nearest_there(b);
    const bool same =
        one && other && stat(one, &x) == 0 && stat(other, &y) == 0 && x.st_dev == y.st_dev;
    free(one);
    free(other);
    return same;
}

/* Names of one file have equal shares of its bytes. */
static uint64_t bytes_there(const char *folder, const char *name)
{
    struct stat st;
    char *path = og__path_join(folder, name);
    const bool there = path && stat(path, &st) == 0;
    free(path);
    return there ? (uint64_t)st.st_blocks * 512 / OG_MAX((uint64_t)st.st_nlink, (uint64_t)1) : 0;
}

/* What a resumed run has there already. */
static struct og_learnt_disk there_already(const struct og_options *opt, uint32_t n_groups)
{
    static const char *const models[] = {"best.safetensors", "best.safetensors.before",
                                         "checkpoint.safetensors"};
    struct og_learnt_disk there = {0};
    char name[32];
    if (!opt->resume || !opt->run)
        return there;
    for (size_t i = 0; i < OG_COUNT(models); i++)
        there.run += bytes_there(opt->run, models[i]);
    for (int k = -1; k < (int)n_groups; k++) {
        og__home_file(name, k);
        *(k < 0 ? &there.undo : &there.run) += bytes_there(opt->run, name);
    }
    return there;
}

/* undo: of the records that checkpoints after the first overwrite. */
static int check_room(const struct og_session *s, const char *folder, uint64_t bytes, uint64_t undo,
                      struct og_err *err)
{
    static const char hint[] = "give --scratch DIR and --run DIR on disks with more room";
    const uint64_t room = og__disk_free(folder);
    char need[32], has[32];
    if (room > 0 && bytes > room)
        return og__fail(err, -ENOSPC, hint, "--embedding: may write up to %s into %s, which has %s",
                        og__human_bytes(need, (double)bytes), folder,
                        og__human_bytes(has, (double)room));
    if (room > 0 && bytes + undo > room)
        og__say(&s->config.log, OG__WARN,
                "--embedding: %s has %s; checkpoints after the first may need %s in all", folder,
                og__human_bytes(has, (double)room), og__human_bytes(need, (double)(bytes + undo)));
    return 0;
}

/* In --scratch, else in the folder that the run's is in. */
static int make_folder(struct og_session *s, struct og_err *err)
{
    const struct og_options *opt = &s->config.opt;
    const struct og_learnt_disk *d = &s->learnt_disk;
    const char *run = opt->run ? opt->run : ".";
    char *parent = strdup(run);
    const bool trains = s->config.want & OG__WANT_TRAINING;
    char *own = NULL;
    int rc = parent ? 0 : og__fail_errno(err, -ENOMEM, NULL, "embeddings");
    OG_TRY(rc);
    OG_TRY(og__scratch_first(&own, opt, trains ? dirname(parent) : NULL, err));
    if (!own)
        OG_TRY(og__fail(err, -ENOENT, "give --scratch DIR", "no folder for learnable embeddings"));
    const struct og_learnt_disk there = there_already(opt, s->workload.graph->n_groups);
    const uint64_t more = d->run - OG_MIN(d->run, there.run);
    const uint64_t undo = d->undo - OG_MIN(d->undo, there.undo);
    const bool together = on_one_disk(own, run);
    if (!(s->config.want & OG__WANT_PLAN_ONLY)) {
        OG_TRY(check_room(s, own, d->scratch + (together ? more : 0), together ? undo : 0, err));
        if (!together)
            OG_TRY(check_room(s, run, more, undo, err));
    }
    OG_TRY(og__scratch_open(&s->learnt, OG__ONE_PLACE(own), err));
out:
    free(parent);
    free(own);
    return rc;
}

static int make_file(const char *path, const int64_t shape[2], struct og_err *err)
{
    char header[4096];
    const size_t head = og__npy_header(header, OG__NPY_F32, 2, shape, sizeof(header));
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return og__fail_errno(err, -errno, NULL, "%s: cannot create", path);
    int rc = og__write_all(fd, header, head, 0, path, err);
    const off_t size = (off_t)head + (off_t)shape[0] * shape[1] * (off_t)sizeof(float);
    if (rc == 0 && ftruncate(fd, size) != 0)
        rc = og__fail_errno(err, -errno, NULL, "%s: cannot make a file of %lld bytes", path,
                            (long long)size);
    close(fd);
    return rc;
}

static int store_group(struct og_session *s, uint32_t k, struct og_err *err)
{
    const struct og_options *opt = &s->config.opt;
    struct og_group *group = &s->workload.graph->group[k];
    const int state = og__row_state(opt->embedding_optimizer, opt->embedding);
    const int64_t shape[2] = {group->n_nodes, opt->embedding + state};
    char *path;
    if (asprintf(&path, "%s/embedding_%u.npy", og__scratch_path(s->learnt), k) < 0)
        return og__fail_errno(err, -ENOMEM, NULL, "embeddings");
    int rc;
    OG_TRY(make_file(path, shape, err));
    OG_TRY(og__npy_open(&group->rows, path, err));
    group->dim = (int)shape[1];
    group->state = state;
    group->learnt = true;
    group->stored = group->dtype = OG_F32;
out:
    free(path);
    return rc;
}

/* Rows of a checkpoint are read from it, as features are; og__checkpoint_load checks them. Others
 * the model holds, and refuses. */
static int find_group(struct og_session *s, const struct og_tensors_file *f, uint32_t k,
                      struct og_err *err)
{
    struct og_group *group = &s->workload.graph->group[k];
    char name[sizeof(f->all.tensor->name)];
    uint64_t size;
    snprintf(name, sizeof(name), "embeddings.%s.weight", group->name);
    const struct og_tensor *t = og__tensors_find(&f->all, name);
    if (!t || t->dtype != OG_TENSOR_F32 || t->ndim != 2 || t->shape[0] != group->n_nodes)
        return 0;
    OG_DO(og__npy_open_file(&group->rows, f->path, &size, err));
    group->rows.type = OG__NPY_F32;
    group->rows.ndim = 2;
    group->rows.shape[0] = t->shape[0];
    group->rows.shape[1] = t->shape[1];
    group->rows.offset = (int64_t)t->at;
    group->rows.bytes = (int64_t)t->bytes;
    group->dim = (int)t->shape[1];
    group->stored = group->dtype = OG_F32;
    group->learnt = true;
    return 0;
}

static int find_rows(struct og_session *s, struct og_err *err)
{
    const struct og_graph *g = s->workload.graph;
    struct og_tensors_file f;
    int rc = og__tensors_open(&f, s->config.checkpoint, err);
    for (uint32_t k = 0; rc == 0 && k < g->n_groups; k++)
        if (g->group[k].dim == 0)
            rc = find_group(s, &f, k, err);
    og__tensors_close(&f);
    return rc;
}

int og__session_store_rows(struct og_session *s, struct og_err *err)
{
    struct og_options *opt = &s->config.opt;
    const struct og_graph *g = s->workload.graph;
    if (s->config.checkpoint && s->config.opt.embedding > 0)
        return find_rows(s, err);
    if (!s->config.stores_rows)
        return 0;
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].dim == 0)
            add_group(&s->learnt_disk, &s->config, (uint64_t)g->group[k].n_nodes);
    s->config.stores_rows = s->learnt_disk.scratch > 0;
    if (!s->config.stores_rows)
        return 0;
    OG_DO(check_options(&s->config, err));
    if (opt->layout == OG_LAYOUT_AUTO)
        opt->layout = OG_LAYOUT_RAW;
    OG_DO(make_folder(s, err));
    for (uint32_t k = 0; k < g->n_groups; k++)
        if (g->group[k].dim == 0)
            OG_DO(store_group(s, k, err));
    return 0;
}
