/* Locality of batches: the order that chunks of seeds are taken from, and what speaks against it.
 */
#include "session/session_parts.h"

#include "dataset/hops.h"
#include "dataset/seed_order.h"

#include <string.h>
#include <xxhash.h>

static const char part[] = "seeds";

static const char *seeds_name(const struct og_session *s)
{
    return s->workload.seeds.edges ? "training edges" : "training nodes";
}

/* Batches are made, and seeds are shuffled. */
static bool has_chunks(const struct og_session *s)
{
    const bool draws = !(s->config.want & OG__WANT_MODEL) || s->config.want & OG__WANT_TRAINING;
    return draws && s->config.opt.locality > 1 && !s->config.opt.no_shuffle &&
           !og__session_oversamples(s);
}

/* ---- the order ---- */

/* Propagated rows have no edges. Their training nodes are those of the graph, in the same order. */
static int refuse_hops(const struct og_session *s, struct og_err *err)
{
    const char *path = s->workload.graph->path;
    const int n = (int)strlen(path) - (int)strlen("/" OG__HOPS_FOLDER);
    char hint[600];
    snprintf(hint, sizeof(hint),
             "run `outgrow order '%.*s'`, then use --order '%.*s/order_train.npy'", n, path, n,
             path);
    return og__fail(err, -EINVAL, hint, "--order minhash: propagated rows have no neighbours");
}

static int check_order(const struct og_session *s, struct og_err *err)
{
    const struct og_options *opt = &s->config.opt;
    const uint64_t n = (uint64_t)s->workload.split[OG__TRAIN].n;
    const bool by_hash = opt->order && strcmp(opt->order, "minhash") == 0;
    if ((uint64_t)opt->locality > n)
        return og__fail(err, -EINVAL, "use smaller chunks, such as --locality 10",
                        "--locality %d: there are %llu %s", opt->locality, (unsigned long long)n,
                        seeds_name(s));
    if (by_hash && s->workload.seeds.edges)
        return og__fail(err, -EINVAL, "use --order file, or a file",
                        "--order minhash: seeds are edges");
    if (by_hash && json_object_get(s->workload.graph->meta, "hops"))
        return refuse_hops(s, err);
    if (opt->order && n > UINT32_MAX)
        return og__fail(err, -EOVERFLOW, "use --order file",
                        "--order %s: more than 2^32 training edges", opt->order);
    return 0;
}

static int load_order(struct og_session *s, struct og_err *err)
{
    struct og_workload *f = &s->workload;
    const struct og_split *train = &f->split[OG__TRAIN];
    const char *order = s->config.opt.order;
    const size_t bytes = (size_t)train->n * sizeof(*f->order);
    int rc = check_order(s, err);
    if (rc < 0 || !order)
        return rc;
    f->order = og__alloc(s->budget, bytes, part, err);
    if (!f->order)
        return -ENOMEM;
    f->bytes.seeds += bytes;
    f->schedule.order = f->order;
    rc = strcmp(order, "minhash") == 0
             ? og__order_by_minhash(f->graph, train->ids, (uint32_t)train->n, s->budget, f->order,
                                    err)
             : og__order_read(order, seeds_name(s), (uint32_t)train->n, s->budget, f->order, err);
    f->schedule.order_checksum = XXH3_64bits(f->order, bytes);
    return rc;
}

/* ---- chunks of one class ---- */

/* Those of the order, or of a random one. */
static uint64_t count_alike(const struct og_workload *f, uint32_t size,
                            const struct og_permutation *random)
{
    const struct og_split *train = &f->split[OG__TRAIN];
    const uint64_t chunks = (uint64_t)train->n / size;
    const int32_t *labels = train->labels;
    uint64_t alike = 0;
    for (uint64_t c = 0; c < chunks; c++) {
        int32_t first = -1;
        bool same = true;
        for (uint64_t i = c * size; same && i < (c + 1) * size; i++) {
            const uint64_t at = random ? og__permutation_at(random, i) : i;
            const int32_t label = labels[f->order && !random ? f->order[at] : at];
            first = i == c * size ? label : first;
            same = label >= 0 && label == first;
        }
        alike += same;
    }
    return alike;
}

double og__session_one_class(const struct og_session *s, uint32_t size, bool *much)
{
    const struct og_workload *f = &s->workload;
    const struct og_split *train = &f->split[OG__TRAIN];
    const uint64_t chunks = (uint64_t)train->n / size;
    struct og_permutation random;
    *much = false;
    if (!train->labels || og__float_labels(f->graph) || chunks == 0)
        return -1;
    og__permutation_init(&random, (uint64_t)train->n, f->schedule.seed, 1);
    const uint64_t alike = count_alike(f, size, NULL);
    *much = 2 * alike > chunks && alike > 2 * count_alike(f, size, &random);
    return (double)alike / (double)chunks;
}

static void warn_of_chunks(const struct og_session *s)
{
    const struct og_options *opt = &s->config.opt;
    const int size = opt->locality;
    bool much;
    const double share = og__session_one_class(s, (uint32_t)size, &much);
    if (much)
        og__say(
            &s->config.log, OG__WARN,
            "--locality %d --order %s: %.0f %% of the chunks are of one class. Use smaller chunks "
            "or another --order",
            size, opt->order ? opt->order : "file", 100 * share);
    if (opt->batch % size != 0)
        og__say(&s->config.log, OG__WARN,
                "--locality %d: --batch %d is no multiple of it, and batches split chunks", size,
                opt->batch);
}

/* ---- dependent batches ---- */

/* Random numbers that change too seldom leave the same neighbours out for long. */
static void warn_of_dependency(const struct og_session *s)
{
    const struct og_options *opt = &s->config.opt;
    const bool draws = !(s->config.want & OG__WANT_MODEL) || s->config.want & OG__WANT_TRAINING;
    const struct og_schedule whole = og__schedule_whole(&s->workload.schedule);
    const uint64_t batches = og__schedule_batches(&whole, OG__TRAIN);
    if (draws && opt->batch_dependency > 1 &&
        og__sampling_takes(opt->sampler, "batch-dependency") &&
        2 * (uint64_t)opt->batch_dependency > batches)
        og__say(&s->config.log, OG__WARN,
                "--batch-dependency %d: an epoch has %llu batches. Use at most %llu, or the model "
                "may be worse",
                opt->batch_dependency, (unsigned long long)batches,
                (unsigned long long)OG_MAX(batches / 2, (uint64_t)1));
}

/* ---- opening and closing ---- */

int og__session_order(struct og_session *s, struct og_err *err)
{
    warn_of_dependency(s);
    if (!has_chunks(s))
        return 0;
    OG_DO(load_order(s, err));
    s->workload.schedule.locality = (uint32_t)s->config.opt.locality;
    warn_of_chunks(s);
    return 0;
}

void og__session_drop_order(struct og_session *s)
{
    struct og_workload *f = &s->workload;
    og__release(s->budget, f->order, (size_t)f->split[OG__TRAIN].n * sizeof(*f->order), part);
    f->order = NULL;
}
