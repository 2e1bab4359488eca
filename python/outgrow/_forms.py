"""Forms of a Loader's batches. Each is a function of the extension's Batch, whose arrays are passed on without a copy. A framework
is imported when its form is requested."""
import collections.abc
import itertools
import typing

import numpy as np

from ._errors import OptionError
from ._sparse import CSR


class Hop(typing.NamedTuple):
    """One hop, a bipartite block; hop 0 is nearest the seeds. Positions refer to the batch's ids.

    n_dst, n_src   destinations are ids[:n_dst], sources ids[:n_src]
    n_edges, first_edge   edges are columns [first_edge, first_edge + n_edges) of edge_index
    indptr, src    CSR by destination: sources of destination i are src[indptr[i]:indptr[i + 1]]
    dst            destination of each edge, ascending
    weight         weight of each edge if the sampler has weights; else None
    e_id           place of each edge in the dataset's indices, with e_id=True; else None
    edge_attr      features of each edge, with edge_attr=True; else None, as of a relation without
    """
    n_dst: int
    n_src: int
    n_edges: int
    first_edge: int
    indptr: typing.Any
    src: typing.Any
    dst: typing.Any
    weight: typing.Any
    e_id: typing.Any
    edge_attr: typing.Any


class Nodes(typing.NamedTuple):
    """The nodes of one type.

    ids   int64 [n] within the type, seeds first, then in order of discovery
    x     [n, F] features; None for a type without
    n     ids[:n[h]] are destinations of hop h, the first n[0] seeds; n[-1] is the number of nodes
    tree  disjoint=True: int64 [n] the seed in whose neighbourhood each is; else None
    """
    ids: typing.Any
    x: typing.Any
    n: typing.Tuple[int, ...]
    tree: typing.Any = None


class Edges(typing.NamedTuple):
    """The edges of one relation; positions refer to the ids of its source type and destination type.

    edge_index   int64 [2, E]
    hops         list of Hop. Destinations are the first n_dst ids of the destination type, sources the first n_src of the source type
    pairs        links: int64 [2, P] positions; the first n_positive are edges, the next n_negative are negatives. P may be 0. In evaluation
                 ranking negatives follow: for edge 0, edge 1, ... equally many that keep the source, then as many that keep the
                 destination. A negative that is an edge is replaced by the positive edge. None for nodes
    n_positive, n_negative
    input_id     links: int64 [n_positive] position of each edge among the seed edges. None for nodes
    """
    edge_index: typing.Any
    hops: typing.List[Hop]
    pairs: typing.Any
    n_positive: int
    n_negative: int
    input_id: typing.Any


def hops_from(hops, convert):
    return [Hop(*hop[:4], *map(convert, hop[4:])) for hop in hops]


def hops_of(batch, convert):
    return hops_from(batch.hops, convert)


def types_of(types, convert):
    """{type: Nodes}"""
    return {name: Nodes(convert(ids), convert(x), n, convert(tree)) for name, n, ids, x, tree in types}


def pairs_of(batch):
    """Per relation int64 [2, P], n_positive, n_negative, input_id; pairs of a relation keep the batch's order: edges first."""
    if batch.pairs is None:
        return itertools.repeat((None, 0, 0, None))
    input_id = np.asarray(batch.input_id)
    pairs, of = np.asarray(batch.pairs), np.asarray(batch.pair_relation)
    kinds = np.repeat([0, 1, 2], [batch.n_positive, batch.n_negative, len(of) - batch.n_positive - batch.n_negative])
    return [(pairs[:, of == r], *(int(((of == r) & (kinds == k)).sum()) for k in (0, 1)), input_id[of[:batch.n_positive] == r]) for r in range(len(batch.relations))]


def relations_of(batch, convert, of_hops=None):
    """{(source, name, destination): Edges}; `of_hops` converts arrays of hops, None: as others."""
    return {(source, name, destination): Edges(convert(edge_index), hops_from(hops, of_hops or convert), *pairs)
            for (source, name, destination, edge_index, hops), pairs in zip(batch.relations, pairs_of(batch))}


def draws_once(hops):
    """Whether the last hop has all edges and begins with those of the other hops (draw="once")."""
    return all(hop.first_edge == 0 for hop in hops)


def new_nodes(hops, n_seeds):
    return [n_seeds] + [hop.n_src - hop.n_dst for hop in hops]


def new_edges(hops):
    """Number of edges that each hop adds to edge_index."""
    if not draws_once(hops):
        return [hop.n_edges for hop in hops]
    return [hop.n_edges - before for hop, before in zip(hops, [0] + [hop.n_edges for hop in hops])]


# ---- NumPy ----

class Arrays(collections.abc.Mapping):
    """A mini-batch as NumPy arrays: batch.x or batch["x"], views of the loader's memory, which may be written to.

    ids          int64 [n]: the input nodes, seeds first
    input_id     int64 [n_seeds]: position of each seed in `seeds` or the split; links: [n_positive], of each edge
    x            [n, F] with the dataset's dtype; i8 and e4m3 as float32, bf16 as uint16 (`dtype` is "bfloat16"). Sparse rows are
                 a CSR (indptr, indices, data, shape), in other forms torch.sparse_csr
    y            int64 [n_seeds] classes, -1 = none; float32 [n_seeds, C] labels or values; None for links
    edge_index   int64 [2, E]: source and destination of each edge, as positions in ids
    hops         list of Hop, the first nearest the seeds
    pairs        links: int64 [2, P] positions in ids; the first n_positive are edges, the next n_negative are negatives
    tree         disjoint=True: int64 [n], for each of ids the position of the seed in whose neighbourhood it is. A node is once in each; else None

    For a heterogeneous graph ids are of the whole graph, where each type has a range. Then x, edge_index, hops and pairs are in

    types        {name: Nodes}
    relations    {(source, name, destination): Edges}

    Also n_seeds, n_positive, n_negative, epoch, number (of the batch), batches (of the epoch) and split. And dtype (of x; by type if
    heterogeneous), hits, misses, bytes_read, stall_seconds
    """
    NUMBERS = ("n_seeds", "n_positive", "n_negative", "epoch", "number", "batches", "split", "hits", "misses", "bytes_read",
               "stall_seconds")

    def __init__(self, batch):
        x = batch.x
        self.x, self.dtype = numpy_of(x), None if x is None else x.dtype
        self.ids, self.input_id, self.y = (numpy_of(array) for array in (batch.ids, batch.input_id, batch.y))
        self.tree = numpy_of(batch.tree)
        if (types := batch.types) is None:
            self.edge_index, self.pairs, self.hops = numpy_of(batch.edge_index), numpy_of(batch.pairs), hops_of(batch, numpy_of)
        else:
            del self.x
            self.dtype = {name: None if x is None else x.dtype for name, _, _, x, _ in types}
            self.types, self.relations = types_of(types, numpy_of), relations_of(batch, numpy_of)
        for name in self.NUMBERS:
            setattr(self, name, getattr(batch, name))

    def __getitem__(self, name):
        return self.__dict__[name]

    def __iter__(self):
        return iter(self.__dict__)

    def __len__(self):
        return len(self.__dict__)

    def __repr__(self):
        arrays = {name: list(v.shape) for name, v in self.items() if isinstance(v, np.ndarray)}
        return f"Arrays({self.split} {self.epoch}.{self.number}, {', '.join(f'{n}={s}' for n, s in arrays.items())})"


def numpy_of(array):
    return array if array is None or isinstance(array, CSR) else np.asarray(array)


# ---- PyTorch ----

def import_for(form, name):
    import importlib
    try:
        return importlib.import_module(name)
    except ImportError as error:
        what = f"outgrow.{form}" if form in ("graphbolt", "stores") else f"form={form!r}"
        raise ImportError(f"{what} requires {name}, which cannot be imported ({error})\n"
                          "hint: install it, or use outgrow.Loader(path, form=\"arrays\"), which requires NumPy only") from error


def tensors(torch):
    def tensor_of(array):
        if isinstance(array, CSR):
            return array.tensor(torch)
        return None if array is None else torch.from_dlpack(array)
    return tensor_of


def as_it_is(array):
    return array


def of_edges(hops, name, convert, cat):
    """An array of the edges of edge_index, or None."""
    if not hops or getattr(hops[-1], name) is None:
        return None
    return convert(getattr(hops[-1], name)) if draws_once(hops) else cat([convert(getattr(hop, name)) for hop in hops])


def make_pyg():
    torch = import_for("pyg", "torch")
    classes = import_for("pyg", "torch_geometric.data")
    tensor_of = tensors(torch)

    def pyg(batch):
        """A batch of NeighborLoader, or for links of LinkNeighborLoader."""
        types = batch.types
        return of_types(batch, types) if types else of_one(batch)

    def set_labels(store, pairs, n_positive, n_negative):
        n = n_positive + n_negative
        store.edge_label_index = pairs[:, :n]
        store.edge_label = (torch.arange(n) < n_positive).float()

    def set_edges(store, edges):
        store.edge_index, store.num_sampled_edges = edges.edge_index, new_edges(edges.hops)
        for key, name in ("edge_weight", "weight"), ("e_id", "e_id"), ("edge_attr", "edge_attr"):
            if (values := of_edges(edges.hops, name, tensor_of, torch.cat)) is not None:
                store[key] = values
        if edges.pairs is not None:
            set_labels(store, torch.from_numpy(edges.pairs), edges.n_positive, edges.n_negative)
            store.input_id = torch.from_numpy(edges.input_id)

    def of_types(batch, types):
        data = classes.HeteroData()
        for name, nodes in types_of(types, tensor_of).items():
            store = data[name]
            store.n_id, store.num_nodes = nodes.ids, nodes.n[-1]
            store.num_sampled_nodes = [nodes.n[0], *(b - a for a, b in zip(nodes.n, nodes.n[1:]))]
            if nodes.x is not None:
                store.x = nodes.x
            if nodes.tree is not None:
                store.batch = nodes.tree
            if nodes.n[0] > 0:
                store.batch_size = nodes.n[0]
                if batch.pairs is None:
                    store.input_id = tensor_of(batch.input_id)
                if (y := tensor_of(batch.y)) is not None:
                    store.y = y
        for relation, edges in relations_of(batch, tensor_of, as_it_is).items():
            set_edges(data[relation], edges)
        return data

    def of_one(batch):
        hops = hops_of(batch, as_it_is)
        data = classes.Data(x=tensor_of(batch.x), edge_index=tensor_of(batch.edge_index), y=tensor_of(batch.y), n_id=tensor_of(batch.ids))
        data.input_id, data.batch_size = tensor_of(batch.input_id), batch.n_seeds
        data.num_sampled_nodes, data.num_sampled_edges = new_nodes(hops, batch.n_seeds), new_edges(hops)
        for key, name in ("edge_weight", "weight"), ("e_id", "e_id"), ("edge_attr", "edge_attr"):
            if (values := of_edges(hops, name, tensor_of, torch.cat)) is not None:
                data[key] = values
        if (tree := tensor_of(batch.tree)) is not None:
            data.batch = tree
        if (pairs := tensor_of(batch.pairs)) is not None:
            set_labels(data, pairs, batch.n_positive, batch.n_negative)
        return data
    return pyg


class Adj(typing.NamedTuple):
    """One hop as of PyG's NeighborSampler: edge_index int64 [2, e], e_id [e] or None, size (sources, destinations)."""
    edge_index: typing.Any
    e_id: typing.Any
    size: typing.Tuple[int, int]

    def to(self, *device, **how):
        return Adj(self.edge_index.to(*device, **how), self.e_id if self.e_id is None else self.e_id.to(*device, **how), self.size)


class AdjsFields(typing.NamedTuple):
    batch_size: int
    n_id: typing.Any
    adjs: typing.List[Adj]
    x: typing.Any
    y: typing.Any


class Adjs(AdjsFields):
    """A batch in the form of PyG's NeighborSampler, with features and labels. `adjs[0]` is for the first layer; with one hop adjs is that itself. Another
    attribute is input_id."""
    input_id: typing.Any


def make_adjs():
    tensor_of = tensors(import_for("adjs", "torch"))

    def adjs(batch):
        if batch.types:
            raise OptionError("form='adjs': an adjacency has no types", "use form=\"pyg\", \"dgl\" or \"arrays\"")
        edges = tensor_of(batch.edge_index)
        list_ = [Adj(edges[:, hop[3]:hop[3] + hop[2]], tensor_of(hop[8]), (hop[1], hop[0])) for hop in reversed(batch.hops)]
        out = Adjs(batch.n_seeds, tensor_of(batch.ids), list_ if len(list_) > 1 else list_[0], tensor_of(batch.x), tensor_of(batch.y))
        out.input_id = tensor_of(batch.input_id)
        return out
    return adjs


# ---- DGL ----

def make_dgl():
    torch = import_for("dgl", "torch")
    dgl = import_for("dgl", "dgl")
    tensor_of = tensors(torch)

    def block_of(hop, ids):
        block = dgl.create_block(("csc", (hop.indptr, hop.src, torch.empty(0, dtype=torch.int64))),
                                 num_src_nodes=hop.n_src, num_dst_nodes=hop.n_dst)
        block.srcdata[dgl.NID], block.dstdata[dgl.NID] = ids[:hop.n_src], ids[:hop.n_dst]
        for key, value in ("weight", hop.weight), (dgl.EID, hop.e_id), ("feat", hop.edge_attr):
            if value is not None:
                block.edata[key] = value
        return block

    def set_seeds(data, batch):
        if (y := tensor_of(batch.y)) is not None:
            data["label"] = y
        if batch.pairs is None:
            data["input_id"] = tensor_of(batch.input_id)

    def typed_block(h, types, relations):
        hops = {relation: edges.hops[h] for relation, edges in relations.items()}
        none = torch.empty(0, dtype=torch.int64)
        block = dgl.create_block({relation: ("csc", (hop.indptr, hop.src, none)) for relation, hop in hops.items()},
                                 num_src_nodes={name: nodes.n[h + 1] for name, nodes in types.items()},
                                 num_dst_nodes={name: nodes.n[h] for name, nodes in types.items()})
        for name, nodes in types.items():
            block.srcnodes[name].data[dgl.NID], block.dstnodes[name].data[dgl.NID] = nodes.ids[:nodes.n[h + 1]], nodes.ids[:nodes.n[h]]
        for relation, hop in hops.items():
            for key, value in ("weight", hop.weight), (dgl.EID, hop.e_id), ("feat", hop.edge_attr):
                if value is not None:
                    block.edges[relation].data[key] = value
        return block

    def of_types(batch, types):
        types, relations = types_of(types, tensor_of), relations_of(batch, tensor_of)
        list_ = [typed_block(h, types, relations) for h in reversed(range(len(next(iter(types.values())).n) - 1))]
        for name, nodes in types.items():
            if nodes.x is not None:
                list_[0].srcnodes[name].data["feat"] = nodes.x
            if nodes.n[0] > 0:
                set_seeds(list_[-1].dstnodes[name].data, batch)
        return ({name: nodes.ids for name, nodes in types.items()},
                {name: nodes.ids[:nodes.n[0]] for name, nodes in types.items() if nodes.n[0] > 0}, list_)

    def blocks(batch):
        """input_nodes, output_nodes, blocks, as from dgl.dataloading.DataLoader. Features are blocks[0].srcdata["feat"], labels
        blocks[-1].dstdata["label"], next to "input_id"; by type if heterogeneous."""
        if types := batch.types:
            return of_types(batch, types)
        ids = tensor_of(batch.ids)
        list_ = [block_of(hop, ids) for hop in reversed(hops_of(batch, tensor_of))]
        if (x := tensor_of(batch.x)) is not None:
            list_[0].srcdata["feat"] = x
        set_seeds(list_[-1].dstdata, batch)
        return ids, ids[:batch.n_seeds], list_
    return blocks


MAKERS = {"pyg": make_pyg, "adjs": make_adjs, "dgl": make_dgl, "arrays": lambda: Arrays}
