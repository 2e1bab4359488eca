#include "budget/device_plan.h"

#include "budget/plan_inputs.h"

#include <stdio.h>

enum { SLACK_SHARE = 32 };

/* For all groups. */
static size_t room_bytes(const struct og_workload *f)
{
    size_t sum = 0;
    for (uint32_t k = 0; k < f->n_groups; k++)
        sum += og__round_up((size_t)f->group[k].rows * f->group[k].row_bytes, 256);
    return sum;
}

/* Divides `left` bytes of each of n devices; with several, each group's slots may leave one
 * empty. */
static void share_slots(struct og_device_plan *d, const struct og_workload *f, size_t left,
                        size_t n)
{
    size_t spare = 0;
    if (!og__shares_slots(f)) {
        d->rows.n_slots = (uint32_t)OG_MIN((uint64_t)og__most_slots(f, left) * n, f->n_nodes);
        d->cache = (d->rows.n_slots + n - 1) / n * f->row_bytes;
        return;
    }
    for (uint32_t k = 0; n > 1 && k < f->n_group_slots; k++)
        spare += f->group[k].row_bytes;
    d->slots = (left - OG_MIN(left, spare)) * n;
}

/* As many rooms as let reading, gathering and training run in parallel. All but the first are
 * within half of what is left. */
static int rooms_in(size_t left, size_t room)
{
    int n = OG__MOST_ROOMS;
    while (n > 1 && (size_t)n * room > left / 2)
        n--;
    return n;
}

/* A default limit that is too small becomes all free memory, and rows get none. It is refused only
 * if that is too small as well. */
static void take_free(struct og_device_plan *d)
{
    d->is_short = d->free > 0 && d->limit < d->smallest;
    if (d->is_short)
        d->limit = d->free;
}

struct og_device_plan og__device_plan(const struct og_plan_inputs *p)
{
    const struct og_workload *f = p->workload;
    if (!og__has_tiers(p->config))
        return (struct og_device_plan){0};
    const size_t n = (size_t)OG_MAX(f->keepers, 1), trainers = (size_t)f->first_trainers;
    struct og_device_plan d = {.limit = (size_t)p->config->opt.device_memory.value,
                               .free = (size_t)p->config->device_free,
                               .n_devices = (int)n,
                               .model = f->bytes.device_model,
                               .activations = f->bytes.device_activations,
                               .sampling = f->bytes.device_sampling};
    const size_t room = room_bytes(f);
    const size_t fixed = d.model + d.activations + d.sampling;
    d.smallest = fixed + room;
    take_free(&d);
    size_t left = d.limit - OG_MIN(d.limit, fixed);
    d.rows = (struct og_rows_setup){
        .n_rooms = rooms_in(left, room), .room_rows = og__input_rows(f), .row_bytes = f->row_bytes};
    d.rooms = (size_t)d.rows.n_rooms * room;
    left -= OG_MIN(left, d.rooms);
    d.slack = OG_MIN(left, d.limit / SLACK_SHARE);
    left -= d.slack;
    if (og__policy_caches(p->exec->device_policy) && !d.is_short)
        share_slots(&d, f, left, n);
    d.of_trainer = f->bytes.device_trainer + d.slack / (trainers + 1);
    d.of_rows = d.limit - OG_MIN(d.limit, trainers * d.of_trainer);
    return d;
}

/* What takes how much, in brackets. */
static void list_parts(const struct og_device_plan *d, char *out, size_t size)
{
    char model[32];
    char activations[32];
    char sampling[32];
    char rows[32];
    snprintf(out, size, "(model %s, activations %s, sampling %s, rows of a batch %s)",
             og__human_bytes(model, (double)d->model),
             og__human_bytes(activations, (double)d->activations),
             og__human_bytes(sampling, (double)d->sampling),
             og__human_bytes(rows, (double)d->rooms / OG_MAX(d->rows.n_rooms, 1)));
}

int og__device_plan_check(const struct og_device_plan *d, struct og_err *err)
{
    char limit[32];
    char smallest[32];
    char parts[160];
    char hint[128];
    if (d->limit >= d->smallest)
        return 0;
    list_parts(d, parts, sizeof(parts));
    og__human_bytes(limit, (double)d->limit);
    if (d->is_short)
        return og__fail(err, -ENOMEM,
                        "smaller --batch, --fanout or --hidden need less; what other processes "
                        "have of the device is not free",
                        "the device has %s free, training takes %s %s", limit,
                        og__human_bytes(smallest, (double)d->smallest), parts);
    snprintf(hint, sizeof(hint),
             "the smallest that would do is --device-memory %zuM; smaller --batch, --fanout or "
             "--hidden need less",
             og__round_up(d->smallest, OG_MIB) / OG_MIB);
    return og__fail(err, -ENOMEM, hint, "--device-memory %s: too little %s", limit, parts);
}

struct og_tiers_setup og__plan_inputs_tiers(const struct og_plan_inputs *p, uint64_t n_slots)
{
    const struct og_config *c = p->config;
    struct og_tiers_setup s = {
        .device = og__policy_setup(&c->upper, p->exec->device_policy, p->workload->n_nodes),
        .host = og__plan_inputs_policy(p),
        .victim = og__victim_setup(&c->victim, &c->upper, og__input_rows(p->workload))};
    s.keepers = (uint32_t)p->workload->keepers;
    s.device.groups = s.host.groups;
    s.device.n_groups = s.host.n_groups;
    s.device.n_slots = og__device_plan(p).rows.n_slots;
    s.host.n_slots = (uint32_t)n_slots;
    return s;
}
