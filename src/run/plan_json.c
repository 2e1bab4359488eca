#include "run/plan_json.h"

#include "base/json.h"
#include "budget/device_plan.h"
#include "lookahead/lookahead.h"
#include "options/options.h"

#include <math.h>

/* Seconds of the chosen execution plan, by the model that compares them. Without it, by what the
 * plan reads and samples. */
static double predicted_seconds(const struct og_session *s)
{
    const struct og_predicted *p = &s->predicted;
    if (s->choice.estimate.possible && s->choice.estimate.counted)
        return s->choice.estimate.epoch;
    double batches = (double)og__schedule_batches(&s->workload.schedule, OG__TRAIN);
    double sampling = batches * s->workload.profiling_seconds / og__samplers(&s->exec);
    double reading = (double)(p->plan.reads + p->topology_reads) / s->workload.profile.iops;
    double moving = (double)(p->plan.bytes + p->topology_bytes + p->trace.bytes) /
                    s->workload.profile.bandwidth;
    if (s->exec.one_by_one)
        return sampling + reading + moving;
    return OG_MAX(sampling, OG_MAX(reading, moving));
}

static json_t *memory_json(const struct og_memory_plan *m)
{
    return json_pack("{s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I s:I "
                     "s:I s:I s:I s:I}",
                     "limit", (json_int_t)m->limit, "smallest", (json_int_t)m->smallest, "process",
                     (json_int_t)m->process, "samples", (json_int_t)m->samples, "topology",
                     (json_int_t)m->topology, "neighbour cache", (json_int_t)m->neighbors, "seeds",
                     (json_int_t)m->seeds, "labels", (json_int_t)m->labels, "degrees",
                     (json_int_t)m->degrees, "policy",
                     (json_int_t)(m->alternates ? m->policy_training + m->policy_training_slots
                                                : m->policy + m->policy_slots),
                     "trace", (json_int_t)m->trace, "samplers",
                     (json_int_t)(m->sampler + m->group_sampling), "batches",
                     (json_int_t)m->batches, "plans", (json_int_t)m->plans, "read buffers",
                     (json_int_t)m->reader, "model", (json_int_t)m->model, "activations",
                     (json_int_t)m->activations, "batches handed over", (json_int_t)m->handed,
                     "victims", (json_int_t)m->victim_buffer, "exchange", (json_int_t)m->exchange,
                     "staging", (json_int_t)m->staging, "feature cache", (json_int_t)m->cache,
                     "slack", (json_int_t)m->slack);
}

/* What goes between tiers, by groups of rows. */
struct between {
    uint64_t to, back, peers; /* bytes */
};

static struct between bytes_between(const struct og_session *s)
{
    struct between sum = {0};
    for (uint32_t k = 0; k < s->workload.graph->n_groups; k++) {
        const struct og_group_size *of = &s->size[k];
        sum.to += og__tiers_linked(&of->epoch_tiers, of->epoch.rows) * of->row_bytes;
        sum.back += og__tiers_linked_back(&of->epoch_tiers) * of->row_bytes;
        sum.peers += og__tiers_to_peers(&of->epoch_tiers) * of->row_bytes;
    }
    return sum;
}

/* With a device's cache. */
static json_t *with_tiers(json_t *told, const struct og_session *s)
{
    const struct og_tiers_cost *c = &s->predicted.tiers;
    const struct between bytes = bytes_between(s);
    const struct {
        const char *key;
        uint64_t n;
    } all[] = {{"device_hits", c->device_hits},
               {"host_hits", c->host_hits},
               {"victim_hits", c->victim_hits},
               {"victim_pushed", c->victim_pushed},
               {"victim_dropped", c->victim_dropped},
               {"demoted", c->demoted},
               {"link_bytes", bytes.to},
               {"link_bytes_back", bytes.back},
               {"peer_hits", c->peer_hits},
               {"peer_bytes", bytes.peers}};
    for (size_t i = 0; i < OG_COUNT(all); i++)
        told = og__json_with(told, all[i].key, json_integer((json_int_t)all[i].n));
    return told;
}

static json_t *predicted_json(const struct og_session *s)
{
    const struct og_predicted *p = &s->predicted;
    if (!p->known)
        return json_null();
    json_t *told =
        json_pack("{s:I s:I s:I s:I s:I s:I s:I s:I s:I s:f}", "rows", (json_int_t)p->plan.rows,
                  "hits", (json_int_t)p->plan.hits, "misses", (json_int_t)p->plan.misses, "reads",
                  (json_int_t)(p->plan.reads + p->topology_reads + p->trace.reads), "bytes_read",
                  (json_int_t)(p->plan.bytes + p->topology_bytes + p->trace.bytes),
                  "feature_bytes_read", (json_int_t)p->plan.bytes, "topology_bytes_read",
                  (json_int_t)p->topology_bytes, "topology_passes", (json_int_t)p->topology_passes,
                  "trace_bytes_read", (json_int_t)p->trace.bytes, "seconds", predicted_seconds(s));
    const struct og_estimate *e = &s->choice.estimate;
    /* other policies keep rows over superbatches, which candidates do not count */
    const bool fills =
        e->possible && e->counted && og__policy_fills_during_training(s->exec.policy);
    told = og__json_with(told, "fill_bytes_read",
                         fills ? json_integer((json_int_t)(e->io.fill.bytes + e->io.sweep.bytes))
                               : json_null());
    return s->exec.tiers ? with_tiers(told, s) : told;
}

/* Seconds an epoch of each thing by itself. */
static json_t *terms_json(const struct og_estimate *e)
{
    static const char *const names[] = {
        [OG__SAMPLING] = "sampling",     [OG__PLANNING] = "planning", [OG__SWEEPING] = "sweeping",
        [OG__SPILLING] = "spilling",     [OG__WRITING] = "writing",   [OG__COPYING] = "copying",
        [OG__FILLING] = "filling",       [OG__READING] = "reading",   [OG__LINKING] = "linking",
        [OG__COLLECTING] = "collecting", [OG__TRAINING] = "training"};
    json_t *terms = json_object();
    for (size_t i = 0; i < OG_COUNT(names); i++)
        terms = og__json_with(terms, names[i], og__json_real(e->term[i]));
    return terms;
}

/* What there is besides where a device has a cache. */
static json_t *with_device(json_t *exec, const struct og_chosen *c)
{
    const struct og_estimate *e = &c->estimate;
    exec = og__json_with(exec, "device_policy", json_string(og__policy_word(c->device_policy)));
    exec = og__json_with(exec, "device_hits", json_integer((json_int_t)e->device_hits));
    exec = og__json_with(exec, "host_hits", json_integer((json_int_t)e->host_hits));
    exec = og__json_with(exec, "victim_hits", json_integer((json_int_t)e->victim_hits));
    exec = og__json_with(exec, "link_bytes", json_integer((json_int_t)e->link_bytes));
    return og__json_with(exec, "link_bytes_back", json_integer((json_int_t)e->link_bytes_back));
}

static json_t *compared_json(const struct og_session *s)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < s->choice.n_compared; i++) {
        const struct og_chosen *c = &s->choice.compared[i];
        const struct og_estimate *e = &c->estimate;
        json_t *exec = json_pack(
            "{s:s s:s s:s s:b s:b s:I s:b s:o s:o s:o s:I s:I s:I s:I s:s}", "policy",
            og__option_word("policy", c->policy), "layout", og__option_word("layout", c->layout),
            "topology", og__option_word("topology", c->topology), "phased_memory", c->alternate,
            "alternates", c->alternate, "cache_rows", (json_int_t)c->n_slots, "possible",
            e->possible, "seconds", og__json_real(e->seconds), "prepare_seconds",
            og__json_real(e->prepare), "terms", terms_json(e), "reads", (json_int_t)e->reads,
            "bytes_read", (json_int_t)e->bytes_read, "bytes_written", (json_int_t)e->bytes_written,
            "memory", (json_int_t)e->memory, "why", e->why);
        list = og__json_append(list, s->exec.tiers ? with_device(exec, c) : exec);
    }
    return list;
}

/* ---- executors ---- */

static json_t *groups_json(const struct og_calibration *h)
{
    json_t *list = json_array();
    for (int i = 0; i < h->n_tried; i++) {
        const struct og_trainer_time *t = &h->tried[i];
        json_t *seconds = t->seconds > 0 ? json_real(t->seconds) : json_null();
        list = og__json_append(list, json_pack("{s:i s:i s:o}", "trainers", t->trainers,
                                               "threads_each", t->threads, "seconds", seconds));
    }
    return list;
}

static json_t *told_json(double seconds)
{
    return seconds < HUGE_VAL ? json_real(seconds) : json_null();
}

static json_t *executors_json(const struct og_session *s)
{
    const struct og_options *opt = &s->config.opt;
    const struct og_trainers_setup setup = og__trainers_setup(opt);
    const struct og_calibration *h = &s->calibration;
    const uint64_t tickets = og__schedule_batches(&s->workload.schedule, OG__TRAIN);
    struct og_executed with;
    struct og_executed without;
    if (!h->known)
        return json_null();
    og__calibration_predict(h, opt, &s->exec, tickets, true, &with);
    og__calibration_predict(h, opt, &s->exec, tickets, false, &without);
    return json_pack("{s:i s:i s:i s:i s:i s:f s:f s:f s:o s:o s:I}", "samplers",
                     opt->executors.samplers, "samplers_by_rule",
                     og__executors_samplers(opt->executors.samplers + setup.n, h->sample,
                                            setup.n > 0 ? h->train : h->standby),
                     "trainers", setup.n, "standby", setup.standby, "threads_each", setup.threads,
                     "sample_seconds_each", h->sample, "train_seconds_each", h->train,
                     "standby_seconds_each", h->standby, "seconds", told_json(with.seconds),
                     "seconds_without_switching", told_json(without.seconds), "switched",
                     (json_int_t)with.switched);
}

/* What FGNN's rule followed from; null where half of the threads sample, or --executors says. */
static json_t *rule_json(const struct og_calibration *h)
{
    return h->by_rule == 0
               ? json_null()
               : json_pack("{s:f s:f}", "sample_seconds", h->sample, "train_seconds", h->train);
}

/* Where sampling ahead spills, if --scratch says it, how much it may take, and the rate of
 * writing. */
static json_t *scratch_json(const struct og_session *s)
{
    const struct og_places *at = &s->path.stores.scratch;
    json_t *folders = json_array();
    for (uint32_t i = 0; s->config.opt.scratch && i < at->n; i++)
        folders = og__json_append(folders, og__json_text(at->path[i]));
    return json_pack("{s:o s:i s:I s:f s:b}", "folders", folders, "disks",
                     OG_MAX(s->workload.away.disks, 1), "limit",
                     (json_int_t)s->config.opt.disk.value, "write", s->workload.away.write,
                     "measured", s->workload.away.measured);
}

/* As it was measured. */
static json_t *link_json(const struct og_link_rates *link)
{
    return json_pack("{s:f s:f s:f}", "bandwidth", link->bandwidth, "latency", link->latency,
                     "collect", link->collect);
}

/* What each of several devices takes of its memory, and the links to those that keep rows. */
static json_t *devices_json(const struct og_session *s)
{
    const struct og_devices *d = &s->learner.devices;
    json_t *list = json_array();
    for (int k = 0; k < d->n; k++) {
        const struct og_device_use t =
            og__learner_device_use(&s->learner, &s->workload, &s->config, k);
        list = og__json_append(list, json_pack("{s:i s:i s:I s:I}", "number", d->number[k],
                                               "trainers", t.trainers, "model", (json_int_t)t.model,
                                               "activations", (json_int_t)t.activations));
        if (k < s->workload.links.n)
            json_object_set_new(json_array_get(list, (size_t)k), "link",
                                link_json(&s->workload.links.each[k]));
    }
    return list;
}

/* Rows that devices have slots for, and what those of each device take. */
static void count_slots(const struct og_session *s, const struct og_device_plan *d, uint64_t *slots,
                        size_t *bytes)
{
    const size_t n = (size_t)OG_MAX(d->n_devices, 1);
    *slots = 0;
    *bytes = 0;
    for (uint32_t k = 0; s->size && k < s->workload.graph->n_groups; k++) {
        const struct og_group_size *of = &s->size[k];
        *slots += of->device_slots;
        *bytes += (size_t)(of->device_slots + n - 1) / n * of->row_bytes;
    }
}

/* What --device-memory is shared out to; null where a device keeps no rows. */
static json_t *device_json(const struct og_session *s)
{
    const struct og_device_plan d = og__device_plan(&s->given);
    const struct og_tiers_setup tiers = og__plan_inputs_tiers(&s->given, s->memory.n_slots);
    const uint64_t rings = og__victim_places(&tiers.victim) * s->workload.n_groups;
    uint64_t slots;
    size_t cache;
    if (!s->exec.tiers)
        return json_null();
    count_slots(s, &d, &slots, &cache);
    return json_pack(
        "{s:s s:i s:I s:I s:I s:o s:i s:{s:I s:I s:I s:I s:I s:I s:I s:I}}", "policy",
        og__policy_word(s->exec.device_policy), "devices", d.n_devices, "cache_rows",
        (json_int_t)slots, "victim_rows", (json_int_t)rings, "threshold",
        (json_int_t)og__tiers_setup(s->path.tiers)->device.threshold, "row_bytes",
        og__shares_slots(&s->workload) ? json_null()
                                       : json_integer((json_int_t)s->workload.row_bytes),
        "batches", d.rows.n_rooms, "memory", "limit", (json_int_t)d.limit, "smallest",
        (json_int_t)d.smallest, "model", (json_int_t)d.model, "activations",
        (json_int_t)d.activations, "sampling", (json_int_t)d.sampling, "batches",
        (json_int_t)d.rooms, "feature cache", (json_int_t)cache, "slack", (json_int_t)d.slack);
}

static json_t *counted_json(bool known, uint64_t n)
{
    return known ? json_integer((json_int_t)n) : json_null();
}

/* What is kept of a group, and what an epoch reads, where that is known. */
static json_t *group_json(const struct og_session *s, uint32_t k, json_t *row)
{
    const struct og_group_size *told = &s->size[k];
    const bool known = s->predicted.known;
    return og__json_joined(row, json_pack("{s:I s:I s:I s:o s:o s:o s:o s:o}", "row_bytes",
                                          (json_int_t)told->row_bytes, "cache_rows",
                                          (json_int_t)told->slots, "cache_bytes",
                                          (json_int_t)(told->slots * told->row_bytes), "rows",
                                          counted_json(known, told->epoch.rows), "hits",
                                          counted_json(known, told->epoch.hits), "misses",
                                          counted_json(known, told->epoch.misses), "reads",
                                          counted_json(known, told->epoch.reads), "bytes_read",
                                          counted_json(known, told->epoch.bytes)));
}

/* A row a relation whose edges have rows, which come in units. */
static json_t *edges_json(const struct og_session *s)
{
    const struct og_workload *f = &s->workload;
    json_t *list = json_array();
    for (uint32_t k = f->graph->n_groups; k < f->row_graph->n_groups; k++) {
        const struct og_group *of = &f->row_graph->group[k];
        const struct og_relation *r = &f->graph->relation[of->relation];
        if (of->dim > 0)
            list = og__json_append(
                list, group_json(s, k,
                                 json_pack("{s:s s:I s:i s:I s:I}", "name", r->name, "edges",
                                           (json_int_t)r->n_edges, "width", r->edges.dim, "units",
                                           (json_int_t)of->n_nodes, "edges_of_unit",
                                           (json_int_t)f->edge_units[of->relation].rows)));
    }
    return list;
}

static json_t *type_json(const struct og_session *s, uint32_t t)
{
    const struct og_group_size *told = &s->size[t];
    const struct og_graph_type *of = &s->workload.types->type[t];
    const bool known = s->predicted.known;
    json_t *row = group_json(s, t,
                             json_pack("{s:s s:I s:i s:b}", "name", of->name, "nodes",
                                       (json_int_t)(of->end - og__first_id(s->workload.types, t)),
                                       "width", of->dim, "learnt", of->trained));
    if (of->stored)
        row = og__json_with(row, "row_bytes_written",
                            counted_json(s->predicted.writes, told->epoch_written));
    row = og__json_with(row, "device_rows", json_integer((json_int_t)told->device_slots));
    row = og__json_with(row, "device_bytes",
                        json_integer((json_int_t)(told->device_slots * told->row_bytes)));
    return og__json_with(row, "device_hits", counted_json(known, told->epoch_tiers.device_hits));
}

static json_t *types_json(const struct og_session *s)
{
    json_t *list = json_array();
    for (uint32_t t = 0; t < s->workload.graph->n_groups; t++)
        list = og__json_append(list, type_json(s, t));
    return list;
}

/* Batches of the first superbatch. One that is shorter than an epoch divides it evenly. */
static uint64_t superbatch_of(const struct og_session *s)
{
    const uint64_t items = og__schedule_stretch(&s->workload.schedule, 0);
    if (s->memory.superbatch == 0 || items == 0)
        return s->memory.superbatch;
    return OG_MIN(s->memory.superbatch, og__superbatch_end(&s->path, OG__SPLITS, 0, items));
}

json_t *og__session_plan_json(const struct og_session *s)
{
    json_t *options = og__options_json(&s->config.opt);
    json_t *plan =
        json_pack("{s:O s:s s:O s:I s:I s:I s:I s:I s:b s:b s:o s:o s:o s:o s:o s:o s:o}", "policy",
                  json_object_get(options, "policy"), "layout",
                  json_string_value(json_object_get(options, "layout")), "topology",
                  json_object_get(options, "topology"), "cache_rows", (json_int_t)s->memory.n_slots,
                  "superbatch", (json_int_t)superbatch_of(s), "together",
                  (json_int_t)s->memory.sample_group.batches, "tail", (json_int_t)s->memory.tail,
                  "staging_batches", (json_int_t)s->memory.n_staging, "alternates",
                  s->memory.alternates, "disk_measured", s->workload.profile.measured, "memory",
                  memory_json(&s->memory), "predicted", predicted_json(s), "candidates",
                  compared_json(s), "trainers", groups_json(&s->calibration), "executors",
                  executors_json(s), "scratch", scratch_json(s), "device", device_json(s));
    plan =
        og__json_with(plan, "not_compared",
                      s->choice.not_compared ? json_string(s->choice.not_compared) : json_null());
    plan = og__json_with(plan, "lent_rows", json_integer(s->memory.n_released));
    plan = og__json_with(
        plan, "topology_bytes",
        json_integer((json_int_t)og__structure_bytes(&s->structure, OG_TOPOLOGY_MEMORY)));
    plan = og__json_with(plan, "phased_memory", json_boolean(s->memory.alternates));
    plan = og__json_with(plan, "sample_group", json_integer(s->memory.sample_group.batches));
    plan = og__json_with(plan, "samplers", json_integer(og__samplers(&s->exec)));
    plan = og__json_with(plan, "samplers_rule", rule_json(&s->calibration));
    if (s->exec.tiers)
        plan = og__json_with(plan, "link", link_json(&s->workload.links.all));
    if (s->learner.devices.n > 1)
        plan = og__json_with(plan, "devices", devices_json(s));
    if (s->size)
        plan = og__json_with(plan, "types", types_json(s));
    if (s->config.stores_rows)
        plan = og__json_with(plan, "embeddings",
                             json_pack("{s:I s:I s:I}", "scratch_bytes",
                                       (json_int_t)s->learnt_disk.scratch, "run_bytes",
                                       (json_int_t)s->learnt_disk.run, "undo_bytes",
                                       (json_int_t)s->learnt_disk.undo));
    if (s->size && og__plans_units(&s->workload))
        plan = og__json_with(plan, "edges", edges_json(s));
    json_decref(options);
    return plan;
}
