/* Staging areas and caches of feature rows, for what everything else leaves:
 *
 *   | all else | staging areas | slots of group 0 | of 1 | ... | slack |
 *                the more rows are cached the fewer are staged */
#include "budget/slots.h"

#include "budget/device_plan.h"
#include "budget/memory_plan_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READ_BLOCK = 512 }; /* whole ones are read */

/* ---- groups ---- */

struct og_group_bytes og__group_bytes_to(uint64_t end, size_t row_bytes, size_t file_row_bytes)
{
    return (struct og_group_bytes){
        .end = end, .row_bytes = row_bytes, .read_bytes = og__round_up(file_row_bytes, READ_BLOCK)};
}

struct og_group_bytes *og__group_bytes_of_graph(const struct og_graph *g)
{
    struct og_group_bytes *group = calloc(g->n_groups, sizeof(*group));
    for (uint32_t k = 0; group && k < g->n_groups; k++)
        group[k] =
            og__group_bytes_to((uint64_t)(g->group[k].first + g->group[k].n_nodes),
                               og__row_bytes(&g->group[k]), og__file_row_bytes(&g->group[k]));
    return group;
}

struct og_group_size *og__group_sizes(const struct og_graph *g)
{
    struct og_group_size *size = calloc(g->n_groups, sizeof(*size));
    for (uint32_t k = 0; size && k < g->n_groups; k++)
        size[k].row_bytes = og__row_bytes(&g->group[k]);
    return size;
}

static uint32_t groups_of(const struct og_workload *f, const uint64_t *slots,
                          struct og_group_slots *groups)
{
    uint32_t n = 0;
    for (uint32_t k = 0; n < f->n_group_slots; k++) {
        if (f->row_graph->group[k].dim == 0)
            continue;
        groups[n] = f->group_slots[n];
        groups[n++].n_slots = (uint32_t)slots[k];
    }
    return n;
}

uint32_t og__slots_of_groups(const struct og_workload *f, const struct og_group_size *size,
                             bool of_device, struct og_group_slots *groups)
{
    uint64_t slots[OG_MOST_TYPES];
    for (uint32_t k = 0; k < f->row_graph->n_groups; k++) {
        const uint64_t of[] = {size[k].slots, size[k].device_slots};
        slots[k] = of[of_device];
    }
    return groups_of(f, slots, groups);
}

/* ---- of an amount ---- */

static uint64_t sum_slots(const uint64_t *slots, uint32_t n)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < n; k++)
        sum += slots[k];
    return sum;
}

static size_t sum_bytes(const uint64_t *slots, const struct og_group_bytes *group, uint32_t n)
{
    size_t sum = 0;
    for (uint32_t k = 0; k < n; k++)
        sum += (size_t)slots[k] * group[k].row_bytes;
    return sum;
}

static uint64_t nodes_of(const struct og_group_bytes *group, uint32_t k)
{
    return group[k].end - (k > 0 ? group[k - 1].end : 0);
}

/* Rows above are not the host's; where others stay there, slots for what is left of each group. */
static void leave_upper(const struct og_upper_tier *upper, const struct og_group_bytes *group,
                        uint32_t n, uint64_t *slots)
{
    for (uint32_t k = 0; k < n; k++)
        slots[k] = OG_MIN(slots[k] - upper->first * upper->slots[k],
                          nodes_of(group, k) - upper->stay * upper->slots[k]);
}

/* As many of the worthiest rows as there is room for. With them are those above that come before
 * them in the same ranking. */
static int share_out(const uint32_t *worth, const struct og_group_bytes *group, uint32_t n,
                     struct og_capacity room, const struct og_upper_tier *upper,
                     struct og_worth_sums *sums, struct og_budget *b, uint64_t *slots,
                     struct og_err *err)
{
    room.bytes += OG_MIN(upper->first * upper->bytes, UINT64_MAX - room.bytes);
    room.rows += OG_MIN(upper->first * upper->rows, UINT64_MAX - room.rows);
    const int rc = og__worth_fit(worth, group, n, &room, sums, b, slots, err);
    if (rc == 0)
        leave_upper(upper, group, n, slots);
    return rc;
}

struct og_capacity og__amount_room(const struct og_amount *cache, uint64_t n_nodes)
{
    return (struct og_capacity){.bytes =
                                    cache->unit == OG_BYTES ? (uint64_t)cache->value : UINT64_MAX,
                                .rows = og__cache_rows(cache, n_nodes, 0)};
}

int og__amount_slots(const uint32_t *worth, const struct og_amount *cache,
                     const struct og_group_bytes *group, uint32_t n,
                     const struct og_upper_tier *upper, struct og_budget *b, uint64_t *slots,
                     struct og_err *err)
{
    const uint64_t n_nodes = group[n - 1].end;
    if (worth)
        return share_out(worth, group, n, og__amount_room(cache, n_nodes), upper, NULL, b, slots,
                         err);
    slots[0] = og__cache_rows(cache, n_nodes, group->row_bytes);
    return 0;
}

/* ---- a device's cache over the host's ---- */

int og__upper_tier_plan(struct og_upper_tier *out, const struct og_plan_inputs *p,
                        const uint32_t *worth, struct og_worth_sums *sums, struct og_budget *b,
                        struct og_err *err)
{
    const struct og_graph *g = p->workload->row_graph;
    *out = (struct og_upper_tier){0};
    if (!og__policy_caches(p->exec->device_policy))
        return 0;
    const struct og_device_plan device = og__device_plan(p);
    const struct og_capacity room = {device.slots, UINT64_MAX};
    struct og_group_bytes *group = og__group_bytes_of_graph(g);
    int rc = group ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache");
    out->slots[0] = device.rows.n_slots;
    if (rc == 0 && worth)
        rc = og__worth_fit(worth, group, g->n_groups, &room, sums, b, out->slots, err);
    if (rc == 0) {
        out->rows = sum_slots(out->slots, g->n_groups);
        out->bytes = sum_bytes(out->slots, group, g->n_groups);
        out->stay =
            og__policy_is_static(p->exec->device_policy) && og__policy_is_static(p->exec->policy);
        out->first = out->stay && og__ranks_alike(p);
    }
    free(group);
    return rc;
}

/* ---- a cache of some memory ---- */

struct sizing {
    const struct og_plan_inputs *given;
    const struct og_slots_given *from;
    struct og_group_bytes *group; /* [n] of nodes by the policy's numbers; malloc'ed */
    uint32_t n;                   /* groups */
    struct og_capacity requested; /* of the host's cache */
    size_t room;                  /* for it and for staging */
    uint64_t copies;              /* of what is staged */
};

/* What is settled, as far as it goes. */
struct settled {
    struct og_memory_plan memory;
    uint64_t slots[OG_MOST_TYPES];
    uint64_t staged[OG_MOST_TYPES]; /* of groups with rows; bytes: */
    size_t bytes;
};

static uint64_t all_rows(const struct sizing *z)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < z->n; k++)
        n += z->group[k].row_bytes > 0 ? nodes_of(z->group, k) : 0;
    return n;
}

/* Rows that the host's cache may hold: those of --cache, none that stay above. */
static struct og_capacity requested_of(const struct sizing *z)
{
    const struct og_plan_inputs *p = z->given;
    const struct og_amount *cache = &p->config->opt.cache;
    const struct og_upper_tier *upper = z->from->upper;
    const uint64_t most = all_rows(z) - upper->stay * upper->rows;
    struct og_capacity room = {UINT64_MAX, most};
    if (!og__policy_caches(p->exec->policy))
        return (struct og_capacity){0};
    if (z->from->worth && cache->unit != OG_UNSET)
        return og__amount_room(cache, p->workload->n_nodes);
    if (!z->from->worth)
        room.rows = OG_MIN(p->workload->cache_rows, most);
    return room;
}

/* Phased memory: what sampling, planning and packing leave besides so much staging; else all. */
static size_t left_before(const struct og_memory_plan *m, size_t staging)
{
    struct og_memory_plan with = *m;
    with.staging = staging;
    const size_t before = m->alternates ? og__memory_plan_before_training(&with) : 0;
    return m->limit - OG_MIN(m->limit, before);
}

/* What the policy's tables of slots add to all that is alive at once. */
static size_t tables_of(const struct og_memory_plan *m)
{
    struct og_memory_plan none = *m;
    none.policy_slots = none.policy_training_slots = 0;
    return og__memory_plan_sum(m) - og__memory_plan_sum(&none);
}

/* Slots of one group: a cached row takes its slot and what the policy notes of it. */
static void fit_one(const struct sizing *z, struct settled *s, size_t left)
{
    const size_t row = z->group->row_bytes;
    struct og_memory_plan *m = &s->memory;
    uint64_t low = 0;
    for (uint64_t high = z->requested.rows > 0 ? OG_MIN(z->requested.rows, left / row) : 0;
         low < high;) {
        const uint64_t middle = low + (high - low + 1) / 2;
        og__memory_plan_slots(m, z->given, middle);
        if (middle * row + tables_of(m) <= left)
            low = middle;
        else
            high = middle - 1;
    }
    og__memory_plan_slots(m, z->given, low);
    s->slots[0] = low;
    m->cache = low * row;
}

/* Slots of several, of so many bytes without the policy's tables. */
static int fit_rows(const struct sizing *z, struct settled *s, size_t bytes, struct og_err *err)
{
    struct og_group_slots groups[OG_MOST_TYPES];
    const struct og_slots_given *from = z->from;
    const struct og_capacity room = {OG_MIN(bytes, z->requested.bytes), z->requested.rows};
    OG_DO(share_out(from->worth, z->group, z->n, room, from->upper, from->sums, from->budget,
                    s->slots, err));
    (void)groups_of(z->given->workload, s->slots, groups);
    og__memory_plan_group_slots(&s->memory, z->given, groups);
    s->memory.cache = sum_bytes(s->slots, z->group, z->n);
    s->memory.n_slots = (uint32_t)sum_slots(s->slots, z->n);
    return 0;
}

/* The most that fits into `left` bytes. With several groups, memory for the tables is what fewer
 * rows leave. */
static int fit(const struct sizing *z, struct settled *s, size_t left, struct og_err *err)
{
    if (!z->from->worth) {
        fit_one(z, s, left);
        return 0;
    }
    OG_DO(fit_rows(z, s, left, err));
    const size_t tables = tables_of(&s->memory);
    if (s->memory.cache + tables > left)
        OG_DO(fit_rows(z, s, left - OG_MIN(left, tables), err));
    return 0;
}

/* ---- all rows ---- */

/* A cache of all rows that nobody changes is the same for all who share memory. Each row is at the
 * slot of its number, so nothing is missed, and nothing staged. */
static bool takes_whole(const struct sizing *z, struct settled *s, size_t left)
{
    const struct og_plan_inputs *p = z->given;
    const struct og_sharing *with = &p->config->sharing;
    struct og_memory_plan *m = &s->memory;
    const uint64_t n = all_rows(z);
    if (!with->shared_memory || og__exchanges(p->config) ||
        !og__policy_is_static(p->exec->policy) || og__samples_ahead(p->exec) || p->exec->tiers ||
        n == 0 || n > UINT32_MAX || z->requested.rows < n)
        return false;
    for (uint32_t k = 0; k < z->n; k++)
        s->slots[k] = z->group[k].row_bytes > 0 ? nodes_of(z->group, k) : 0;
    const size_t all = sum_bytes(s->slots, z->group, z->n);
    if (z->requested.bytes < all)
        return false;
    struct og_group_slots groups[OG_MOST_TYPES];
    if (groups_of(p->workload, s->slots, groups) > 0)
        og__memory_plan_group_slots(m, p, groups);
    else
        og__memory_plan_slots(m, p, n);
    m->n_slots = (uint32_t)n;
    m->cache = (all + (size_t)with->n - 1) / (size_t)with->n;
    m->whole = m->cache + tables_of(m) <= left;
    m->n_staging = OG__MOST_STAGING;
    m->slack = OG_MIN(m->limit / OG__SLACK_SHARE, left - OG_MIN(left, m->cache + tables_of(m)));
    return m->whole;
}

/* ---- with staging areas ---- */

static size_t staged_bytes(const struct og_workload *f, const uint64_t *rows)
{
    size_t bytes = 0;
    for (uint32_t k = 0; k < f->n_groups; k++)
        bytes += (size_t)rows[k] * f->group[k].row_bytes;
    return bytes;
}

/* The worst batch's misses under the slots there are. */
static int count_misses(const struct sizing *z, struct settled *s, struct og_err *err)
{
    const struct og_workload *f = z->given->workload;
    const struct og_upper_tier *upper = z->from->upper;
    uint64_t slots[OG_MOST_TYPES];
    for (uint32_t g = 0, k = 0; k < f->n_groups; g++)
        if (z->group[g].row_bytes > 0)
            slots[k++] = s->slots[g] + upper->first * upper->slots[g];
    const int rc = z->from->misses->worst(z->from->misses->arg, slots, s->staged, err);
    s->bytes = staged_bytes(f, s->staged);
    return rc;
}

/* Two staging areas where they fit and leave as many slots as there are; else one. With several
 * groups they take at most half of the memory: there are few rounds to grow the cache again. */
static int fit_beside(const struct sizing *z, const struct settled *now, struct settled *next,
                      struct og_err *err)
{
    enum { LEAST = 1, MOST = OG__MOST_STAGING };
    const size_t two = MOST * now->bytes;
    const size_t most = z->from->worth ? z->room / 2 : z->room;
    const size_t one = (LEAST + z->copies) * now->bytes;
    *next = *now;
    next->memory.n_staging = MOST;
    /* rows that are exchanged leave it before the next are read */
    if (!og__exchanges(z->given->config) && two <= most) {
        OG_DO(fit(z, next, z->room - two, err));
        if (next->memory.n_slots >= now->memory.n_slots &&
            left_before(&next->memory, two) >= now->memory.slack)
            return 0;
    }
    next->memory.n_staging = LEAST;
    return fit(z, next, z->room - OG_MIN(z->room, one), err);
}

/* Grow the cache into what its own hits free of staging. A few rounds settle it, and a second
 * staging area as soon as the misses are few enough. Misses never grow with the cache, so each
 * round's staging suffices for the next round's larger cache. Ranking several groups takes passes
 * over all nodes: fewer rounds. */
static int settle(const struct sizing *z, struct settled *s, struct og_err *err)
{
    const int rounds = z->from->worth ? 3 : 6;
    int rc = 0;
    s->memory.n_staging = 1;
    for (int round = 0; round < rounds; round++) {
        struct settled next;
        OG_TRY(fit_beside(z, s, &next, err));
        const bool grows = next.memory.n_slots > s->memory.n_slots;
        if (round > 0 && !grows && next.memory.n_staging == s->memory.n_staging)
            break;
        if (grows || round == 0)
            *s = next;
        s->memory.n_staging = next.memory.n_staging;
        if (round + 1 < rounds)
            OG_TRY(count_misses(z, s, err));
    }
out:
    return rc;
}

static int refuse_cache(const struct sizing *z, const struct settled *s, const uint64_t *want,
                        struct og_err *err)
{
    const struct og_memory_plan *m = &s->memory;
    const size_t short_of = sum_bytes(want, z->group, z->n) - m->cache;
    const size_t before = m->limit - m->slack + short_of; /* and slack is a share of all */
    char hint[128];
    snprintf(hint, sizeof(hint), "give --memory %zuM, or a smaller --cache",
             og__memory_plan_all(m, before + before / (OG__SLACK_SHARE - 1)) / OG_MIB + 1);
    return og__fail(err, -ENOMEM, hint, "--cache: %llu rows requested, --memory has room for %llu",
                    (unsigned long long)sum_slots(want, z->n), (unsigned long long)m->n_slots);
}

/* An explicit cache size is met, or refused. */
static int check_requested(const struct sizing *z, const struct settled *s, struct og_err *err)
{
    uint64_t want[OG_MOST_TYPES] = {z->requested.rows};
    const struct og_slots_given *from = z->from;
    if (z->given->config->opt.cache.unit == OG_UNSET)
        return 0;
    if (from->worth)
        OG_DO(share_out(from->worth, z->group, z->n, z->requested, from->upper, from->sums,
                        from->budget, want, err));
    if (s->memory.n_slots < sum_slots(want, z->n))
        OG_DO(refuse_cache(z, s, want, err));
    return 0;
}

/* Enlarges staging, so that a device's slots are filled in large steps. Rows come to the device
 * through one staging area. It takes only memory that is otherwise unused. */
static void fill_at_once(const struct sizing *z, struct settled *s)
{
    enum { AREA = 4 << 20 };
    const struct og_plan_inputs *p = z->given;
    const struct og_workload *f = p->workload;
    struct og_memory_plan *m = &s->memory;
    const size_t taken = m->cache + tables_of(m) + s->bytes * (size_t)m->n_staging;
    const size_t left = (z->room - OG_MIN(z->room, taken)) / (size_t)m->n_staging;
    if (p->exec->alternate || !og__policy_prefills(p->exec->device_policy))
        return;
    for (uint32_t g = 0, k = 0; k < f->n_groups; g++) {
        if (z->group[g].row_bytes == 0)
            continue;
        const size_t area = OG_MIN((size_t)AREA, left) / f->n_groups;
        const uint64_t rows =
            OG_MIN((uint64_t)(area / z->group[g].row_bytes), z->from->upper->slots[g]);
        s->staged[k] = OG_MAX(s->staged[k], rows);
        k++;
    }
    s->bytes = staged_bytes(f, s->staged);
}

/* ---- phased memory ---- */

/* Slots, from the first, that so many bytes have room for. */
static uint32_t slots_within(const struct sizing *z, const uint64_t *slots, size_t bytes)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < z->n; k++) {
        const size_t row = z->group[k].row_bytes;
        const uint64_t fit = row > 0 ? OG_MIN(slots[k], bytes / row) : 0;
        n += fit;
        if (fit < slots[k])
            break;
        bytes -= (size_t)fit * row;
    }
    return (uint32_t)n;
}

/* The last slots give way to topology, trace and tables while batches are sampled ahead. All do
 * where they are pinned, for that is given back as a whole. */
static int resolve_released(const struct sizing *z, struct settled *s, struct og_err *err)
{
    struct og_memory_plan *m = &s->memory;
    const struct og_exec_plan *exec = z->given->exec;
    const size_t before = og__memory_plan_before_training(m) + m->slack;
    if (before > m->limit)
        return og__memory_plan_refuse_superbatch(m, exec, before, err);
    const uint32_t kept = slots_within(z, s->slots, m->limit - before);
    m->n_released = exec->tiers && kept < m->n_slots ? m->n_slots : m->n_slots - kept;
    return 0;
}

/* ---- all of it ---- */

/* Rows in a cache that nobody changes are read there by others. Only missing rows are copied to
 * where all read them: a multiple of what is staged, instead of all that is read. */
static uint64_t copies_of_misses(const struct og_plan_inputs *p)
{
    const bool stay = og__policy_is_static(p->exec->policy) && !og__samples_ahead(p->exec);
    const bool planned = p->config->want & OG__WANT_FEATURES;
    return planned && stay && og__exchanges_in_place(p->config, p->workload) ? OG__COPIES : 0;
}

/* What batches larger than the profiling batches' may grow into, where there is that much. The rest
 * is `room`. */
static void set_room(struct sizing *z, struct og_memory_plan *m)
{
    const struct og_workload *f = z->given->workload;
    const size_t free = m->limit - OG_MIN(m->limit, og__memory_plan_sum(m));
    const size_t need = (1 + z->copies) * f->bytes.read;
    struct og_memory_plan most = *m;
    og__memory_plan_most_slots(&most, z->given, m->limit);
    const size_t spare = OG_MIN(free - OG_MIN(free, need), left_before(&most, need));
    m->slack = OG_MIN(m->limit / OG__SLACK_SHARE, spare);
    z->room = free - m->slack;
    if (z->from->worth)
        z->room -= OG_MIN(z->room, (size_t)OG__WORTH_FIT_BYTES);
}

static void keep(struct og_memory_plan *m, const struct sizing *z, const struct settled *s,
                 struct og_group_size *size)
{
    *m = s->memory;
    for (uint32_t g = 0, k = 0; g < z->n; g++) {
        const bool has_rows = z->group[g].row_bytes > 0;
        size[g].slots = s->slots[g];
        size[g].device_slots = z->from->upper->slots[g];
        size[g].staging_rows = has_rows ? s->staged[k] : 0;
        k += has_rows;
    }
}

static int resolve_all(struct sizing *z, struct settled *s, struct og_err *err)
{
    const struct og_workload *f = z->given->workload;
    struct og_memory_plan *m = &s->memory;
    for (uint32_t k = 0; k < f->n_groups; k++)
        s->staged[k] = f->group[k].read;
    s->bytes = staged_bytes(f, s->staged);
    OG_DO(settle(z, s, err));
    OG_DO(check_requested(z, s, err));
    fill_at_once(z, s);
    m->staging = s->bytes * (size_t)m->n_staging;
    m->shown = z->copies > 0 && m->n_slots > 0;
    m->exchange += z->copies * (m->shown ? s->bytes : f->bytes.read);
    return m->alternates ? resolve_released(z, s, err) : 0;
}

int og__memory_plan_cache(struct og_memory_plan *m, const struct og_plan_inputs *p,
                          const struct og_slots_given *given, struct og_group_size *size,
                          struct og_err *err)
{
    struct sizing z = {.given = p,
                       .from = given,
                       .group = og__group_bytes_of_graph(p->workload->row_graph),
                       .n = p->workload->row_graph->n_groups,
                       .copies = copies_of_misses(p)};
    struct settled s;
    int rc = z.group ? 0 : og__fail_errno(err, -ENOMEM, NULL, "cache");
    if (rc < 0)
        return rc;
    for (uint32_t k = 0; k < z.n; k++) /* of own nodes alone where rows are exchanged */
        z.group[k].end = og__nodes_known(p->config, z.group[k].end);
    memset(&s, 0, sizeof(s));
    og__memory_plan_slots(m, p, 0); /* known below */
    m->exchange -= z.copies * p->workload->bytes.read;
    z.requested = requested_of(&z);
    const size_t free_bytes = m->limit - OG_MIN(m->limit, og__memory_plan_sum(m));
    s.memory = *m;
    if (!takes_whole(&z, &s, free_bytes)) {
        memset(&s, 0, sizeof(s));
        set_room(&z, m);
        s.memory = *m;
        rc = resolve_all(&z, &s, err);
    }
    keep(m, &z, &s, size);
    free(z.group);
    return rc;
}
