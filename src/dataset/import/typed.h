/* Sources with types of nodes and relations: what their importers share.
 *
 *   types and relations to `typing` ──> open ──> edges of all relations ──> features, labels,
 *   splits by ids of the whole ──> close */
#ifndef OG_IMPORT_TYPED_H
#define OG_IMPORT_TYPED_H

#include "dataset/import/import.h"

struct og_typed_import {
    struct og_importer *imp;
    struct og_typing typing;
    struct og_edge_sorter *sorter;
    bool weighted;
    struct og_edge_piece *piece;
    uint32_t *relation, *rows; /* [OG__EDGES_A_PIECE] */
    int64_t n_self_loops;      /* dropped */
};

OG_MUST_CHECK int og__typed_init(struct og_typed_import *ti, struct og_importer *imp,
                                 struct og_err *err);
void og__typed_release(struct og_typed_import *ti); /* also a zeroed one */

/* Room for pieces of edges, for who reads them before that. */
OG_MUST_CHECK int og__typed_take_pieces(struct og_typed_import *ti, struct og_err *err);
/* All types and relations are known: ids of the whole are, and imp->n_nodes. expected = edges that
 * will come, -1 = not known. */
OG_MUST_CHECK int og__typed_open_edges(struct og_typed_import *ti, bool weighted, int64_t expected,
                                       struct og_err *err);
/* All edges of a relation, by ids within its types. */
OG_MUST_CHECK int og__typed_relation(struct og_typed_import *ti, uint32_t relation,
                                     struct og_edges *e, struct og_err *err);
/* n <= OG__EDGES_A_PIECE edges that lie in ti->piece by ids within the types of ti->relation. */
OG_MUST_CHECK int og__typed_piece(struct og_typed_import *ti, size_t n, struct og_err *err);
/* All edges have come. */
OG_MUST_CHECK int og__typed_close_edges(struct og_typed_import *ti, struct og_err *err);
/* What types have is known too: the keys of meta.json. */
void og__typed_note(const struct og_typed_import *ti);

/* A list of nodes by ids within a type, as one by ids of the whole. */
OG_MUST_CHECK int og__typed_split(struct og_typed_import *ti, struct og_table *t, uint32_t type,
                                  const char *name, struct og_err *err);

/* ---- rows of a table by types (of_type.c) ---- */

/* Which type each node of the source is of, and how they are numbered here: by types, within a type
 * in the source's order. */
struct og_node_order {
    int64_t n;
    bool by_type;     /* the source's order is ours: then the arrays are NULL */
    uint8_t *type;    /* [n] of the source's nodes */
    uint32_t *new_id; /* [n] */
    uint32_t n_types;
    int64_t first[OG_MOST_TYPES + 1];
};

/* Rows of `base`, a row a node of the source, as those of one type; type -1 = of all, in our order.
 * base stays the caller's, and is read by nobody else meanwhile; `order` must outlive it. */
OG_MUST_CHECK int og__table_of_type(struct og_table **out, struct og_table *base,
                                    const struct og_node_order *order, int type,
                                    struct og_budget *b, struct og_err *err);

#endif
