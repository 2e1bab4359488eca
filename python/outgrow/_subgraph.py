"""The graph of a batch: which edges are between its nodes. PyTorch Geometric's subgraph types define it."""
import typing

import numpy as np

from ._errors import OptionError, UnsupportedError

PIECE = 1 << 22  # edges looked at together


class Graph(typing.NamedTuple):
    """The nodes and edges of a batch, each a dict by type or relation. In a Data the key is None.

    node        int64 ids
    edge_index  int64 [2, E] positions among the nodes
    place       int64 [E] of each edge in the dataset's lists; None: not known, so it has no attributes
    num_nodes   of each hop, num_edges likewise; None: not known
    """
    node: dict
    edge_index: dict
    place: dict
    num_nodes: typing.Optional[dict]
    num_edges: typing.Optional[dict]


def edges_among(lists, sources, destinations):
    """Sources, destinations and places of all edges from some nodes to some, by destination. Nodes are ids, edges have positions among
    them. If a source is listed twice, the first counts."""
    begin = np.asarray(lists.indptr[destinations], np.int64)
    ends = np.cumsum(np.asarray(lists.indptr[destinations + 1], np.int64) - begin)
    order = np.argsort(sources, kind="stable")
    known = sources[order]
    found, first = [], 0
    while first < len(destinations):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + PIECE, "right")))
        counts = np.diff(ends[first:last], prepend=before)
        place = np.arange(counts.sum()) + np.repeat(begin[first:last] - (ends[first:last] - counts - before), counts)
        source = np.asarray(lists.indices[place], np.int64)
        at = np.minimum(np.searchsorted(known, source), len(known) - 1)
        here = known[at] == source
        found.append(np.stack([order[at], np.repeat(np.arange(first, last), counts), place])[:, here])
        first = last
    return np.concatenate(found, 1) if found else np.empty((3, 0), np.int64)


def induced(torch, graph, parts):
    """All edges of the graph between the batch's nodes."""
    edge_index, place = dict(graph.edge_index), dict(graph.place)
    for part in parts:
        if part.lists is not None:
            source, destination = (graph.node[part.name if part.name is None else part.name[end]].numpy() for end in (0, -1))
            found = edges_among(part.lists, source, destination)
            edge_index[part.name], place[part.name] = torch.from_numpy(found[:2]), found[2]
    return Graph(graph.node, edge_index, place, None, None)


def output_of(torch, graph, metadata):
    """PyTorch Geometric's form of it, whose `edge` are places."""
    from torch_geometric.sampler import HeteroSamplerOutput, SamplerOutput
    place = {name: None if value is None else torch.from_numpy(value) for name, value in graph.place.items()}
    ends = [{name: edges[end] for name, edges in graph.edge_index.items()} for end in (0, 1)]
    fields = graph.node, *ends, place
    counts = {"num_sampled_nodes": graph.num_nodes, "num_sampled_edges": graph.num_edges}
    if list(graph.node) == [None]:
        return SamplerOutput(*(field[None] for field in fields), **{name: value and value[None] for name, value in counts.items()}, metadata=metadata)
    return HeteroSamplerOutput(*fields, **counts, metadata=metadata)


def graph_of_output(torch, out, before):
    """Back from that form, whatever was done to it meanwhile."""
    def by_name(value):
        return value if list(before.node) != [None] or value is None else {None: value}
    if not hasattr(out, "num_sampled_nodes"):
        raise OptionError(f"transform_sampler_output: returns {type(out).__name__}", "return the SamplerOutput that it was given, changed or not")
    row, col, edge = by_name(out.row), by_name(out.col), by_name(out.edge) or {}
    if out.batch is not None:
        raise UnsupportedError("transform_sampler_output: disjoint subgraphs, `batch`", "the seeds of a batch share one graph; batch_size=1 keeps them apart")
    return Graph(by_name(out.node), {name: torch.stack([row[name], col[name]]) for name in row},
                 {name: None if edge.get(name) is None else edge[name].numpy().astype(np.int64) for name in row},
                 by_name(out.num_sampled_nodes), by_name(out.num_sampled_edges))


def positions(torch, node, among):
    """Where each node is in `among`, or None if they are the same."""
    if node is among or torch.equal(node, among):
        return None
    if len(among) == 0 and len(node) == 0:
        return node
    known, order = torch.sort(among, stable=True)
    at = torch.searchsorted(known, node).clamp_(max=len(known) - 1)
    if not torch.equal(known[at], node):
        raise UnsupportedError("transform_sampler_output: adds nodes", "features are read of the nodes that were sampled: remove nodes, or change edges")
    return order[at]
