/* What a simulation found, as JSON. */
#include "run/simulator_groups.h"

#include "report/json.h"

static double share(uint64_t part, uint64_t of)
{
    return of ? (double)part / (double)of : 0;
}

json_t *og__simulated_counts_json(const struct og_simulated *r)
{
    const struct og_plan_cost *cost = &r->cost;
    return json_pack("{s:f s:f s:I s:I s:I s:I s:I s:I}", "hit_rate", share(cost->hits, cost->rows),
                     "hit_rate_with_prefill", 1 - share(cost->misses + r->prefill, cost->rows),
                     "rows", (json_int_t)cost->rows, "hits", (json_int_t)cost->hits, "misses",
                     (json_int_t)cost->misses, "prefill", (json_int_t)r->prefill, "reads",
                     (json_int_t)cost->reads, "bytes_read", (json_int_t)cost->bytes);
}

json_t *og__simulated_json(const struct simulator *m, const struct requested_policy *p,
                           const struct requested_cache *c, const struct og_simulated *of)
{
    json_t *row = json_pack("{s:s s:s s:I}", "policy", p->name, "cache", c->name, "cache_rows",
                            (json_int_t)m->size[c->place]);
    return og__json_joined(row, og__simulated_counts_json(of));
}

struct group_rows og__group_rows(void)
{
    return (struct group_rows){json_array(), json_array()};
}

void og__group_rows_add(struct group_rows *rows, const struct simulated_group *of, json_t *row)
{
    json_t **list = of->of_edges ? &rows->edges : &rows->nodes;
    *list = og__json_append(*list, row);
}

json_t *og__with_group_rows(json_t *row, struct group_rows rows)
{
    const bool has_edges = json_array_size(rows.edges) > 0;
    row = og__json_with(row, "types", rows.nodes);
    if (has_edges)
        return og__json_with(row, "edges", rows.edges);
    json_decref(rows.edges);
    return row;
}

json_t *og__simulated_group_json(const struct simulator *m, uint32_t k, uint64_t slots,
                                 const struct og_simulated *of)
{
    json_t *row =
        json_pack("{s:s s:I s:I}", "name", m->group[k].name, "cache_rows", (json_int_t)slots,
                  "cache_bytes", (json_int_t)(slots * m->bytes[k].row_bytes));
    row = og__json_joined(row, og__simulated_counts_json(of));
    if (m->group[k].written_row == 0)
        return row;
    return og__json_joined(row,
                           json_pack("{s:I s:I s:I}", "rows_written", (json_int_t)of->rows_written,
                                     "row_writes", (json_int_t)of->writes.reads,
                                     "row_bytes_written", (json_int_t)of->writes.bytes));
}

static json_t *names_json(const struct simulator *m, bool policies)
{
    json_t *names = json_array();
    for (int i = 0; i < (policies ? m->n_policies : m->n_caches); i++)
        names =
            og__json_append(names, json_string(policies ? m->policy[i].name : m->cache[i].name));
    return names;
}

int og__simulation_add_exchange(const struct simulator *m, json_t *root, struct og_err *err)
{
    const struct og_partitioned partitioned = og__simulator_partitioned(m, false, true);
    uint64_t requested[MOST_WORKERS];
    if (root && m->workers > 1 && !og__simulates_exchange(m))
        json_object_set_new(root, "workers", json_integer(m->workers));
    if (!root || !og__simulates_exchange(m))
        return 0;
    const uint64_t kept = og__partitioned_rows(&m->sim.trace, &partitioned, requested);
    const uint64_t moved = m->rows - kept;
    json_t *of_owner = json_array();
    for (int i = 0; i < m->workers; i++)
        of_owner = og__json_append(of_owner, json_integer((json_int_t)requested[i]));
    json_t *more = json_pack(
        "{s:i s:I s:I s:I s:o}", "workers", m->workers, "rows_local", (json_int_t)kept,
        "rows_exchanged", (json_int_t)moved, "exchanged_bytes",
        (json_int_t)(moved * (m->bytes->row_bytes + sizeof(uint32_t))), "rows_asked", of_owner);
    const bool added = more && json_object_update(root, more) == 0;
    json_decref(more);
    return added ? 0 : og__fail_errno(err, -ENOMEM, NULL, "simulate");
}

/* With that of two tiers, where there are two. */
static json_t *with_device(const struct simulator *m, json_t *root)
{
    if (!m->device)
        return root;
    root = og__json_with(root, "device_policies", names_json(m->device, true));
    root = og__json_with(root, "device_memory", names_json(m->device, false));
    root = og__json_with(root, "devices", json_integer(og__simulator_keepers(m)));
    return og__json_with(root, "victim", json_string(m->victim.name));
}

json_t *og__simulation_json(const struct simulator *m, json_t *results, double opening,
                            double simulating)
{
    uint32_t epochs = (m->n_batches + m->epoch - 1) / OG_MAX(m->epoch, 1u);
    json_t *root = json_pack(
        "{s:s s:I s:I s:I s:I s:I s:I s:f s:f s:o s:o s:O}", "dataset",
        m->s ? m->s->workload.graph->name : m->folder.said.dataset, "num_nodes",
        (json_int_t)m->n_nodes, "row_bytes",
        (json_int_t)(m->n_groups == 1 ? m->group->rule.row_bytes : 0), "epochs", (json_int_t)epochs,
        "batches", (json_int_t)m->n_batches, "superbatch", (json_int_t)og__simulator_superbatch(m),
        "rows", (json_int_t)m->rows, "sample_seconds", opening, "simulate_seconds", simulating,
        "policies", names_json(m, true), "caches", names_json(m, false), "results", results);
    return og__with_group_rows(with_device(m, root), og__simulated_groups(m));
}
