"""The forms in which a Loader yields its batches. Each is a function from the extension's Batch, whose arrays are handed
on without a copy; frameworks are imported when a form of theirs is asked for."""
import collections.abc
import typing

import numpy as np


class Hop(typing.NamedTuple):
    """One hop, a bipartite block; hop 0 is nearest the seeds. Positions count in the batch's ids.

    n_dst, n_src   destinations are ids[:n_dst], sources ids[:n_src]
    n_edges, first_edge   its edges are columns [first_edge, first_edge + n_edges) of edge_index
    indptr, src    CSR by destination: sources of destination i are src[indptr[i]:indptr[i + 1]]
    dst            of each edge, ascending
    weight         of each edge, where the sampler weighs them; else None
    """
    n_dst: int
    n_src: int
    n_edges: int
    first_edge: int
    indptr: typing.Any
    src: typing.Any
    dst: typing.Any
    weight: typing.Any


def hops_of(batch, convert):
    return [Hop(*hop[:4], *map(convert, hop[4:])) for hop in batch.hops]


def draws_once(hops):
    """Whether the last hop has all edges and the others are its beginnings (draw="once")."""
    return all(hop.first_edge == 0 for hop in hops)


def new_nodes(hops, n_seeds):
    return [n_seeds] + [hop.n_src - hop.n_dst for hop in hops]


def new_edges(hops):
    """Edges that each hop adds to edge_index."""
    if not draws_once(hops):
        return [hop.n_edges for hop in hops]
    return [hop.n_edges - before for hop, before in zip(hops, [0] + [hop.n_edges for hop in hops])]


# ---- NumPy ----

class Arrays(collections.abc.Mapping):
    """A mini-batch as NumPy arrays: batch.x or batch["x"], views of the loader's memory, which may be written to.

    ids          int64 [n]: the input nodes, seeds first
    x            [n, F] in the dataset's type; bf16 as its bits in uint16 (`dtype` is then "bfloat16")
    y            int64 [n_seeds] classes, -1 = none; float32 [n_seeds, C] labels or values; None of links
    edge_index   int64 [2, E]: source and destination of each edge, as positions in ids
    hops         list of Hop, the first nearest the seeds
    pairs        of links: int64 [2, P] positions in ids, the first n_positive are edges, the next n_negative are not
    n_seeds, n_positive, n_negative, epoch, number (of the batch), batches (in the epoch), split, dtype (of x, a name),
    hits, misses, bytes_read, stall_seconds
    """
    NUMBERS = ("n_seeds", "n_positive", "n_negative", "epoch", "number", "batches", "split", "hits", "misses", "bytes_read",
               "stall_seconds")

    def __init__(self, batch):
        x = batch.x
        self.x, self.dtype = numpy_of(x), None if x is None else x.dtype
        for name in "ids", "y", "edge_index", "pairs":
            setattr(self, name, numpy_of(getattr(batch, name)))
        self.hops = hops_of(batch, numpy_of)
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
    return None if array is None else np.asarray(array)


# ---- PyTorch ----

def import_for(form, name):
    import importlib
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"form={form!r} needs {name}, which cannot be imported ({error})\n"
                          f"hint: install it, or take form=\"arrays\", which needs NumPy alone") from error


def tensors(torch):
    def tensor_of(array):
        return None if array is None else torch.from_dlpack(array)
    return tensor_of


def weights_of(hops, cat):
    """Of the edges of edge_index, or None."""
    if not hops or hops[-1].weight is None:
        return None
    return hops[-1].weight if draws_once(hops) else cat([hop.weight for hop in hops])


def make_pyg():
    torch = import_for("pyg", "torch")
    Data = import_for("pyg", "torch_geometric.data").Data
    tensor_of = tensors(torch)

    def pyg(batch):
        """What NeighborLoader yields; of links what LinkNeighborLoader does."""
        hops = hops_of(batch, tensor_of)
        data = Data(x=tensor_of(batch.x), edge_index=tensor_of(batch.edge_index), y=tensor_of(batch.y), n_id=tensor_of(batch.ids))
        data.batch_size = batch.n_seeds
        data.num_sampled_nodes, data.num_sampled_edges = new_nodes(hops, batch.n_seeds), new_edges(hops)
        if (weights := weights_of(hops, torch.cat)) is not None:
            data.edge_weight = weights
        if (pairs := tensor_of(batch.pairs)) is not None:
            n = batch.n_positive + batch.n_negative
            data.edge_label_index = pairs[:, :n]
            data.edge_label = (torch.arange(n) < batch.n_positive).float()
        return data
    return pyg


class Adj(typing.NamedTuple):
    """One hop as PyG's NeighborSampler has it: edge_index int64 [2, e], e_id None, size (sources, destinations)."""
    edge_index: typing.Any
    e_id: None
    size: typing.Tuple[int, int]


class Adjs(typing.NamedTuple):
    """A batch as PyG's NeighborSampler has it, and its features and labels. adjs[0] is what the first layer takes."""
    batch_size: int
    n_id: typing.Any
    adjs: typing.List[Adj]
    x: typing.Any
    y: typing.Any


def make_adjs():
    tensor_of = tensors(import_for("adjs", "torch"))

    def adjs(batch):
        edges = tensor_of(batch.edge_index)
        list_ = [Adj(edges[:, hop[3]:hop[3] + hop[2]], None, (hop[1], hop[0])) for hop in reversed(batch.hops)]
        return Adjs(batch.n_seeds, tensor_of(batch.ids), list_, tensor_of(batch.x), tensor_of(batch.y))
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
        if hop.weight is not None:
            block.edata["weight"] = hop.weight
        return block

    def blocks(batch):
        """input_nodes, output_nodes, blocks, as dgl.dataloading.DataLoader yields them; features are
        blocks[0].srcdata["feat"], labels blocks[-1].dstdata["label"]."""
        ids = tensor_of(batch.ids)
        list_ = [block_of(hop, ids) for hop in reversed(hops_of(batch, tensor_of))]
        if (x := tensor_of(batch.x)) is not None:
            list_[0].srcdata["feat"] = x
        if (y := tensor_of(batch.y)) is not None:
            list_[-1].dstdata["label"] = y
        return ids, ids[:batch.n_seeds], list_
    return blocks


MAKERS = {"pyg": make_pyg, "adjs": make_adjs, "dgl": make_dgl, "arrays": lambda: Arrays}
