/* The ledger of a memory plan: what takes memory, and when. It makes the sums, and the words of a
 * refusal.
 *
 * Without phases everything is alive at once. But a loader releases a batch buffer first. With
 * --phased-memory a superbatch is sampled, planned, packed, and only then the cache has its rows;
 * parts come and go. Topology and samplers leave after sampling. The packed part of a trace stays,
 * and so do the tables that a policy needs once it has planned. The rows of the cache have what the
 * most of sampling, planning and packing leaves. */
#include "budget/memory_plan_parts.h"

#include <string.h>

enum phase {
    PREPARING = 1, /* without turns: a superbatch is, or none; without sweep and cache */
    PREPARING_FULL = 32,
    REPLAYING = 64, /* without turns: it is trained on */
    REPLAYING_FULL = 128,
    SAMPLING = 2, /* phased memory */
    PLANNING = 4,
    PACKING = 8,
    TRAINING = 16,
    ALWAYS = 255,
    PREPARED = PREPARING | PREPARING_FULL,
    REPLAYED = REPLAYING | REPLAYING_FULL,
    UNPHASED = PREPARED | REPLAYED,
    RELEASED = PREPARED | SAMPLING | PLANNING | PACKING, /* a batch buffer is */
};

/* `label`: in a refusal, where rows of one name are one; NULL: no option makes it much smaller. */
static const struct row {
    const char *label;
    size_t offset;
    unsigned phases;
} rows[] = {
#define ROW(field) offsetof(struct og_memory_plan, field)
    {"topology", ROW(topology), UNPHASED | SAMPLING},
    {NULL, ROW(topology_training), PLANNING | PACKING | TRAINING},
    {"activations", ROW(activations), ALWAYS},
    {"batches", ROW(batches), ALWAYS},
    {"batches", ROW(plans), ALWAYS},
    {"batches", ROW(sampler), UNPHASED | SAMPLING},
    {NULL, ROW(sampler_training), PLANNING | PACKING | TRAINING},
    {"batches handed over", ROW(handed), ALWAYS},
    {"model", ROW(model), ALWAYS},
    {"exchange", ROW(exchange), ALWAYS},
    {"samples", ROW(record), ALWAYS},
    {"seeds and labels", ROW(seeds), ALWAYS},
    {"seeds and labels", ROW(labels), ALWAYS},
    {"degrees", ROW(degrees), ALWAYS},
    {"read buffers", ROW(reader), ALWAYS},
    {"rings of victims", ROW(victim_buffer), ALWAYS},
    {"process", ROW(process), ALWAYS},
    {NULL, ROW(samples), ALWAYS},
    {NULL, ROW(staging), ALWAYS},
    {NULL, ROW(neighbors), UNPHASED | SAMPLING},
    {NULL, ROW(group_sampling), PREPARED | SAMPLING},
    {NULL, ROW(trace), PREPARED | SAMPLING | PLANNING},
    {NULL, ROW(trace_training), REPLAYED},
    {NULL, ROW(trace_tables), PACKING | TRAINING},
    {NULL, ROW(missed), PACKING},
    {NULL, ROW(spill), PREPARED | SAMPLING},
    {NULL, ROW(packing), PREPARED | PLANNING | PACKING},
    {NULL, ROW(sweep), PREPARING_FULL | PACKING},
    {NULL, ROW(policy), PREPARED | PLANNING},
    {NULL, ROW(policy_slots), PREPARED | PLANNING},
    {NULL, ROW(policy_training), REPLAYED | SAMPLING | PACKING | TRAINING},
    {NULL, ROW(policy_training_slots), REPLAYED | SAMPLING | PACKING | TRAINING},
    {NULL, ROW(cache), PREPARING_FULL | REPLAYING_FULL | TRAINING},
#undef ROW
};

static size_t bytes_of(const struct og_memory_plan *m, const struct row *r)
{
    return *(const size_t *)((const char *)m + r->offset);
}

/* ---- sums ---- */

static size_t sum_of(const struct og_memory_plan *m, enum phase phase)
{
    size_t sum = 0;
    for (size_t i = 0; i < OG_COUNT(rows); i++)
        sum += rows[i].phases & phase ? bytes_of(m, &rows[i]) : 0;
    return sum - (phase & RELEASED ? m->handed_released : 0);
}

size_t og__memory_plan_before_training(const struct og_memory_plan *m)
{
    return OG_MAX(sum_of(m, SAMPLING), OG_MAX(sum_of(m, PLANNING), sum_of(m, PACKING)));
}

size_t og__memory_plan_without_rows(const struct og_memory_plan *m)
{
    return m->alternates ? og__memory_plan_before_training(m)
                         : OG_MAX(sum_of(m, PREPARING), sum_of(m, REPLAYING));
}

size_t og__memory_plan_sum(const struct og_memory_plan *m)
{
    return m->alternates ? sum_of(m, TRAINING)
                         : OG_MAX(sum_of(m, PREPARING_FULL), sum_of(m, REPLAYING_FULL));
}

/* ---- messages ---- */

/* The rows of the name of rows[i], which are consecutive; *next: the first after them. */
static size_t named(const struct og_memory_plan *m, size_t i, size_t *next)
{
    size_t sum = 0;
    size_t k = i;
    for (; k < OG_COUNT(rows) && rows[k].label && strcmp(rows[k].label, rows[i].label) == 0; k++)
        sum += bytes_of(m, &rows[k]);
    *next = k;
    return sum;
}

void og__ledger_list(const struct og_memory_plan *m, char *text, size_t size)
{
    char bytes[32];
    size_t listed = 0;
    text[0] = 0;
    for (size_t i = 0, next; i < OG_COUNT(rows); i = next) {
        next = i + 1;
        if (!rows[i].label)
            continue;
        const size_t used = strlen(text);
        const size_t sum = named(m, i, &next);
        if (sum < OG_MIB)
            continue;
        snprintf(text + used, size - used, "%s%s %s", used ? ", " : "", rows[i].label,
                 og__human_bytes(bytes, (double)sum));
        listed += sum;
    }
    const size_t used = strlen(text);
    if (m->smallest > listed)
        snprintf(text + used, size - used,
                 "%sthe smallest cache, room for missed rows and small parts %s", used ? ", " : "",
                 og__human_bytes(bytes, (double)(m->smallest - listed)));
}

/* The largest by name; no option makes the process smaller. */
static const char *largest(const struct og_memory_plan *m)
{
    const char *name = NULL;
    size_t most = 0;
    for (size_t i = 0, next; i < OG_COUNT(rows); i = next) {
        next = i + 1;
        if (!rows[i].label || rows[i].offset == offsetof(struct og_memory_plan, process))
            continue;
        const size_t sum = named(m, i, &next);
        if (!name || sum > most) {
            name = rows[i].label;
            most = sum;
        }
    }
    return name;
}

const char *og__ledger_remedy(const struct og_memory_plan *m)
{
    static const struct {
        const char *part, *options;
        bool of_model;
    } known[] = {
        {"model", "a smaller --hidden needs", true},
        {"activations", "smaller --batch, --fanout or --hidden need", true},
        {"rings of victims", "--victim pvp, whose rings fit, or a smaller depth needs", false}};
    const bool activations = strcmp(largest(m), "activations") == 0;
    if (m->negatives && (activations || strcmp(largest(m), "batches") == 0))
        return activations && m->trains
                   ? "smaller --batch, --fanout, --eval-negatives or --hidden need"
                   : "smaller --batch, --eval-negatives or --fanout need";
    for (size_t i = 0; i < OG_COUNT(known); i++)
        if (strcmp(largest(m), known[i].part) == 0 && (m->trains || !known[i].of_model))
            return known[i].options;
    return m->trains && m->model + m->activations >= OG_MIB
               ? "smaller --batch, --fanout or --hidden need"
               : "smaller --batch or --fanout need";
}
