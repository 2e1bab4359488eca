"""Data and HeteroData of a Loader's batches."""
import copy
import warnings

import numpy as np

from ._arrays import native
from ._attributes import put_in_order
from ._errors import UnsupportedError
from ._forms import Edges, Nodes, as_it_is, hops_of, import_for, of_edges, relations_of, tensors, types_of
from ._sparse import CSR
from ._subgraph import Graph, graph_of_output, induced, output_of, positions


ADDED = "n_id", "e_id", "batch", "num_sampled_nodes", "num_sampled_edges"  # their order in batches of PyTorch Geometric


def sparse_rows(torch, x, at):
    """Rows of a torch.sparse_csr, which PyTorch does not select."""
    parts = x.crow_indices(), x.col_indices(), x.values()
    return CSR(*(part.numpy() for part in parts), tuple(x.shape)).rows(np.asarray(at)).tensor(torch)


def as_tensors(torch, attributes):
    """The attributes, arrays as tensors of the same memory: PyTorch selects their rows faster. Rows are only read, so the memory may be read-only."""
    def one(value):
        if not isinstance(value, np.ndarray):
            return value
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                return torch.from_numpy(native(value))
            except (TypeError, ValueError):  # a type or strides that PyTorch has not
                return value
    return {key: (one(value), dim) for key, (value, dim) in attributes.items()}


class Sampling:
    """The part of both loaders that makes batches: a Loader's become Data or HeteroData."""

    def __init__(self, torch, source, fanouts, subgraph, transform):
        self.torch, self.fanouts, self.subgraph, self.transform = torch, fanouts, subgraph, transform
        self.take(source)
        self.tensor_of = tensors(torch)
        self.select = import_for("pyg", "torch_geometric.loader.utils").index_select

    def take(self, source):
        """What batches from now on are made of."""
        torch = self.torch
        self.source = source._replace(nodes=[part._replace(attributes=as_tensors(torch, part.attributes)) for part in source.nodes],
                                      edges=[part._replace(attributes=as_tensors(torch, part.attributes), by_place=as_tensors(torch, part.by_place)) for part in source.edges])

    def parts_of(self, batch):
        """Nodes by number of the type, Edges by number of the relation. Arrays of hops are as the batch has them: `of_edges` converts those in use."""
        if batch.types:
            return [*types_of(batch.types, self.tensor_of).values()], [*relations_of(batch, self.tensor_of, as_it_is).values()]
        hops = hops_of(batch, as_it_is)
        pairs = None if batch.pairs is None else np.asarray(batch.pairs)
        return ([Nodes(self.tensor_of(batch.ids), self.tensor_of(batch.x), (batch.n_seeds, *(hop.n_src for hop in hops)), self.tensor_of(batch.tree))],
                [Edges(self.tensor_of(batch.edge_index), hops, pairs, batch.n_positive, 0, np.asarray(batch.input_id))])

    # ---- the graph ----

    def graph_of(self, nodes, edges, random):
        """`random` is the seed of what is drawn where the places of edges are not known."""
        torch, hops, rng = self.torch, self.fanouts.asked, None
        node, edge_index, place, num_nodes, num_edges = {}, {}, {}, {}, {}
        for part in self.source.nodes:
            mine = None if part.number is None else nodes[part.number]
            node[part.name] = mine.ids if mine else torch.empty(0, dtype=torch.int64)
            n = mine.n if mine else [0] * (self.fanouts.hops + 1)
            num_nodes[part.name] = [n[0], *(b - a for a, b in zip(n, n[1:])), *([0] * self.fanouts.padding)]
        for part in self.source.edges:
            mine = None if part.number is None or part.lists is None else edges[part.number]
            if mine is None:
                edge_index[part.name], place[part.name] = torch.empty(2, 0, dtype=torch.int64), np.empty(0, np.int64)
                num_edges[part.name] = [0] * hops
                continue
            edge_index[part.name] = mine.edge_index
            if (drawn := of_edges(mine.hops, "e_id", self.tensor_of, torch.cat)) is None:
                rng = rng or np.random.default_rng(random)
                local = mine.edge_index.numpy()
                source, destination = (node[None if part.name is None else part.name[end]].numpy() for end in (0, -1))
                place[part.name] = part.lists.places(source[local[0]], destination[local[1]], local[1], rng)
            else:
                place[part.name] = drawn.numpy()
            ends = [hop.n_edges for hop in mine.hops]
            num_edges[part.name] = [b - a for a, b in zip([0, *ends], ends)] + [0] * self.fanouts.padding
        return Graph(node, edge_index, place, num_nodes, num_edges)

    def changed(self, graph, metadata):
        """It as the arguments subgraph_type and transform_sampler_output have it. `metadata` is a function."""
        if self.subgraph == "induced":
            graph = induced(self.torch, graph, self.source.edges)
        if self.subgraph != "bidirectional" and self.transform is None:
            return graph
        out = output_of(self.torch, graph, metadata())
        out = out.to_bidirectional() if self.subgraph == "bidirectional" else out
        return graph_of_output(self.torch, out if self.transform is None else self.transform(out), graph)

    # ---- attributes ----

    def rows_of(self, name, value, index, dim):
        """The rows of an attribute of nodes or edges. Lists and arrays of words have some, too."""
        if isinstance(value, (list, tuple)):
            return [value[i] for i in index.tolist()]
        if isinstance(value, np.ndarray) and value.dtype.kind not in "biufc":
            return value.take(index.numpy(), dim)
        try:
            return self.select(value, index.to(value.device), dim=dim).cpu() if isinstance(value, self.torch.Tensor) else self.select(value, index, dim=dim)
        except (NotImplementedError, TypeError, ValueError) as error:
            form = f" of layout {value.layout}" if hasattr(value, "layout") else f" of {value.dtype}" if hasattr(value, "dtype") else ""
            raise UnsupportedError(f"{name}: no rows can be selected from a {type(value).__name__}{form}",
                                   "make a dense tensor, an array of a type that PyTorch has or a list of it, or delete it from the data") from error

    def nodes_into(self, store, part, ids, x, tree):
        for key, (value, dim) in part.attributes.items():
            store[key] = self.rows_of(key, value, ids, dim)
        if part.features:
            store["x"] = part.features.none(self.torch) if x is None else part.features.restored(self.torch, x)
        if part.counted:
            store["num_nodes"] = len(ids)
        if tree is not None or part.name is None:  # as there, where that of a Data is dropped
            store["batch"] = tree
        if "n_id" not in part.attributes:
            store["n_id"] = ids

    def edge_rows(self, edges, place, drawn):
        """Features of the edges at these places, from those of the edges that were drawn. None where the batch has none, or not of all."""
        rows = None if edges is None else of_edges(edges.hops, "edge_attr", self.tensor_of, self.torch.cat)
        if rows is None or place is drawn or np.array_equal(place, drawn):
            return rows
        order = np.argsort(drawn, kind="stable")
        at = np.minimum(np.searchsorted(drawn[order], place), max(len(drawn) - 1, 0))
        return self.rows_of("edge_attr", rows, self.torch.from_numpy(order[at]), 0) if len(drawn) and np.array_equal(drawn[order[at]], place) else None

    def edges_into(self, store, part, edge_index, place, rows):
        torch = self.torch
        store["edge_index"] = edge_index if part.dtype is None else edge_index.to(part.dtype)
        if place is None:
            return
        store["e_id"] = torch.from_numpy(place if part.lists is None else part.lists.numbers(place))
        if rows is not None:
            store["edge_attr"] = rows
        for values, index in (part.by_place, torch.from_numpy(place)), (part.attributes, store["e_id"]):
            for key, (value, dim) in values.items():
                if key != "edge_attr" or rows is None:
                    store[key] = self.rows_of(key, value, index, dim)

    def data_of(self, batch, nodes, edges, metadata):
        """What PyTorch Geometric's loader yields of these nodes and edges, but for whose it is, which `metadata` returns."""
        torch, out = self.torch, copy.copy(self.source.blank)
        sampled = self.graph_of(nodes, edges, (batch.epoch, batch.number))
        graph = self.changed(sampled, metadata)
        for part in self.source.nodes:
            store = out._store if part.name is None else out[part.name]
            mine = None if part.number is None else nodes[part.number]
            x = mine and mine.x
            ids = graph.node.get(part.name, sampled.node[part.name])
            if graph is not sampled and x is not None and (at := positions(torch, ids, sampled.node[part.name])) is not None:
                x = x[at] if x.layout is torch.strided else sparse_rows(torch, x, at)
            tree = mine and mine.tree
            self.nodes_into(store, part, ids, x, tree if tree is not None or not any(n is not None and n.tree is not None for n in nodes) else ids.new_empty(0))
            store["num_sampled_nodes"] = graph.num_nodes and graph.num_nodes.get(part.name)
        for part in self.source.edges:
            store = out._store if part.name is None else out[part.name]
            place = graph.place.get(part.name, np.empty(0, np.int64))
            rows = self.edge_rows(edges[part.number], place, sampled.place[part.name]) if place is not None and part.number is not None and edges else None
            self.edges_into(store, part, graph.edge_index.get(part.name, torch.empty(2, 0, dtype=torch.int64)), place, rows)
            store["num_sampled_edges"] = graph.num_edges and graph.num_edges.get(part.name)
        put_in_order(out, self.source.names, ADDED)
        return out

    def made(self, batch):
        """The extension's batch, its Nodes and its Edges by number."""
        return batch, *self.parts_of(batch)
