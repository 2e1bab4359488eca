/* Rows of edges among those of a batch. */
#include "flow/data_path.h"

struct og_edge_rows og__rows_of_edges(const struct og_workload *f, const struct og_rows *rows,
                                      uint32_t relation)
{
    const struct og_graph *g = f->row_graph;
    for (uint32_t k = f->graph->n_groups; k < g->n_groups; k++)
        if (g->group[k].relation == relation && g->group[k].dim > 0)
            return (struct og_edge_rows){.units = rows[k],
                                         .rows = f->edge_units[relation].rows,
                                         .dim = g->relation[relation].edges.dim};
    /* a relation without edges: no row is read */
    return (struct og_edge_rows){.rows = f->edge_units[relation].rows,
                                 .dim = g->relation[relation].edges.dim};
}
