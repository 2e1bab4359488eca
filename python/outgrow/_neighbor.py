"""PyTorch Geometric's NeighborLoader and LinkNeighborLoader over Outgrow's loader: their arguments, defaults and batches."""
import contextlib
import copy
import math
import os
import weakref

import numpy as np

from . import _outgrow
from ._attributes import source_of_path
from ._cache import source_of_data
from ._errors import OptionError, UnsupportedError, warn
from ._forms import Edges, Nodes, hops_of, import_for, relations_of, tensors, types_of
from ._arrays import array_of
from ._ids import check_range, ids_of
from ._loader import NOT_NEEDED, SPLITS, Loader, is_the_same
from ._meta import meta_of, type_ranges
from ._stores import array_in

# Arguments of theirs, the values that mean what is done here, and what to do in place of others.
SUBGRAPHS = "\"directional\" is what models need; torch_geometric.utils.to_undirected(batch.edge_index) adds reverse edges"
TIMES = "a dataset of the edges up to a time, outgrow.write of data.edge_index[:, time <= t], has no later ones"
ONLY = {
    "replace": (False, "neighbours are sampled without replacement; num_neighbors may be larger than a degree"),
    "subgraph_type": ("directional", SUBGRAPHS),
    "directed": (True, SUBGRAPHS),
    "disjoint": (False, "the seeds of a batch share one graph; batch_size=1 keeps them apart"),
    "temporal_strategy": ("uniform", TIMES),
    "time_attr": (None, TIMES),
    "input_time": (None, TIMES),
    "edge_label_time": (None, TIMES),
    "transform_sampler_output": (None, "transform= is applied to every batch"),
    "neighbor_sampler": (None, "torch_geometric.loader.NodeLoader(outgrow.stores(path), sampler) uses one"),
    "batch_sampler": (None, "sampler= with batch_size="),
    "custom_cls": (None, "transform= may make another object"),
    "in_order": (True, "batches come in order"),
}


def check_only(given):
    for name, (ours, instead) in ONLY.items():
        if name in given and not is_the_same(given[name], ours):
            value = getattr(given[name], "value", given[name])
            shown = repr(value) if isinstance(value, (bool, int, float, str)) else type(value).__name__
            raise UnsupportedError(f"{name}={shown}: outgrow's loader has no such sampling" if name not in ("transform_sampler_output", "custom_cls", "batch_sampler")
                                   else f"{name}: outgrow's loader has no such argument", instead)


class Fanouts:
    """Neighbours of each hop, of all relations alike or of each, cut before a hop that samples none; `padding`: how many hops that cuts."""

    def __init__(self, num_neighbors, relations, numbers):
        named = [name for name in relations if name is not None]
        if hasattr(num_neighbors, "get_values"):
            num_neighbors = num_neighbors.get_values(named or None)
        if hasattr(num_neighbors, "items"):
            if not named:
                raise OptionError("num_neighbors: by relations, of a graph without types", "give a list: [10, 10]")
            given = {canonical(name, named, "num_neighbors"): self.list_of(hops) for name, hops in num_neighbors.items()}
            if missing := [name for name in named if name not in given]:
                raise OptionError(f"num_neighbors: none of {missing[0]}", "give numbers of every relation")
        else:
            given = {name: self.list_of(num_neighbors) for name in relations}
        hops = {len(list_) for list_ in given.values()}
        if len(hops) != 1:
            raise OptionError(f"num_neighbors: lists of {sorted(hops)} hops", "give as many numbers of each relation")
        self.asked = hops.pop()
        used = {name: given[name] for name in numbers}
        last = next((h for h in range(self.asked) if not any(list_[h] for list_ in used.values())), self.asked)
        if last == 0:
            raise UnsupportedError("num_neighbors: the first hop samples no neighbours", "torch.utils.data.DataLoader over data.x serves")
        self.padding = self.asked - last
        self.values = {name: list_[:last] for name, list_ in used.items()}

    @staticmethod
    def list_of(hops):
        hops = hops.tolist() if hasattr(hops, "tolist") else hops
        if not isinstance(hops, (list, tuple)) or not hops or not all(hasattr(n, "__index__") and n >= -1 for n in hops):
            raise OptionError(f"num_neighbors: {hops!r}", "give a number of neighbours for each hop, -1 = all: [10, 10]")
        return [int(n) for n in hops]

    def option(self, relation_keys):
        """As Loader takes it; keys by which the dataset knows relations, None without types."""
        if relation_keys is None:
            return next(iter(self.values.values()))
        return {relation_keys[name]: list_ for name, list_ in self.values.items()}


def canonical(name, relations, argument):
    """(source, name, destination), from it or from what stands for it where that is one relation."""
    if isinstance(name, str):
        found = [r for r in relations if name in ("__".join(r), r[1])]
    else:
        name = tuple(name)
        found = [r for r in relations if name == r or len(name) == 2 and name == (r[0], r[2])]
    if len(found) != 1:
        raise OptionError(f"{argument}: {name!r} is {'no relation' if not found else 'several relations'}", f"relations: {', '.join(map(str, relations))}")
    return found[0]


class Sampling:
    """The part of both loaders that makes batches: a Loader whose batches become Data or HeteroData."""

    def __init__(self, torch, source, fanouts):
        self.torch, self.source, self.fanouts = torch, source, fanouts
        self.tensor_of = tensors(torch)
        self.select = import_for("pyg", "torch_geometric.loader.utils").index_select

    def parts_of(self, batch):
        """Nodes by number of the type, Edges by number of the relation."""
        if batch.types:
            return [*types_of(batch.types, self.tensor_of).values()], [*relations_of(batch, self.tensor_of).values()]
        hops = hops_of(batch, self.tensor_of)
        pairs = None if batch.pairs is None else np.asarray(batch.pairs)
        return ([Nodes(self.tensor_of(batch.ids), self.tensor_of(batch.x), (batch.n_seeds, *(hop.n_src for hop in hops)))],
                [Edges(self.tensor_of(batch.edge_index), hops, pairs, batch.n_positive, 0, np.asarray(batch.input_id))])

    def nodes_into(self, store, part, nodes):
        torch, padding = self.torch, [0] * self.fanouts.padding
        ids = nodes.ids if nodes else torch.empty(0, dtype=torch.int64)
        for key, (value, dim) in part.attributes.items():
            store[key] = self.rows_of(value, ids, dim)
        if part.features:
            store["x"] = part.features.restored(torch, nodes.x) if nodes else part.features.none(torch)
        if part.counted:
            store["num_nodes"] = len(ids)
        store["n_id"] = ids
        n = nodes.n if nodes else [0] * (self.fanouts.asked - self.fanouts.padding + 1)
        store["num_sampled_nodes"] = [n[0], *(b - a for a, b in zip(n, n[1:])), *padding]

    def rows_of(self, value, index, dim):
        return self.select(value, index.to(value.device) if isinstance(value, self.torch.Tensor) else index, dim=dim)

    def edges_into(self, store, part, edges, source_ids, destination_ids, rng):
        torch, hops = self.torch, self.fanouts.asked
        if edges is None or part.lists is None:
            store["edge_index"] = torch.empty(2, 0, dtype=torch.int64)
            place = id_ = np.empty(0, np.int64)
            counts = [0] * hops
        else:
            store["edge_index"] = edges.edge_index
            local = edges.edge_index.numpy()
            place = part.lists.places(source_ids.numpy()[local[0]], destination_ids.numpy()[local[1]], local[1], rng)
            id_ = place if part.lists.order is None else part.lists.order[place].astype(np.int64)
            ends = [hop.n_edges for hop in edges.hops]
            counts = [b - a for a, b in zip([0, *ends], ends)] + [0] * self.fanouts.padding
        store["e_id"], place = torch.from_numpy(id_), torch.from_numpy(place)
        for values, index in (part.by_place, place), (part.attributes, store["e_id"]):
            for key, value in values.items():
                value, dim = value if isinstance(value, tuple) else (value, 0)
                store[key] = self.rows_of(value, index, dim)
        store["num_sampled_edges"] = counts

    def data_of(self, batch):
        """What PyTorch Geometric's loader yields of this batch, but for whose it is; the batch, and its Edges by number."""
        nodes, edges = self.parts_of(batch)
        out = copy.copy(self.source.blank)
        rng = np.random.default_rng((batch.epoch, batch.number))
        ids = {}
        for part in self.source.nodes:
            mine = None if part.number is None else nodes[part.number]
            self.nodes_into(out._store if part.name is None else out[part.name], part, mine)
            ids[part.name] = mine.ids if mine else None
        for part in self.source.edges:
            ends = (None, None) if part.name is None else (part.name[0], part.name[2])
            self.edges_into(out._store if part.name is None else out[part.name], part, None if part.number is None else edges[part.number],
                            ids[ends[0]], ids[ends[1]], rng)
        return out, batch, edges


def made_again(kind, arguments, keywords):
    return kind(*arguments, **keywords)


def known_options():
    own = {"memory", "policy", "epochs", "step_seconds", "hold", "progress"}
    return own | {name.replace("-", "_") for name in _outgrow.option_names()} - {"fanout", "batch", "task", "draw", "relation", "edge_split", "no_shuffle"}


class Base:
    """What both loaders have in common: whose batches, in which order, and how often."""

    def __new__(cls, *arguments, **keywords):
        self = super().__new__(cls)
        self._given = arguments, keywords
        return self

    def _open(self, data, num_neighbors, weight_attr, transform, given, kwargs):
        self._torch = torch = import_for("pyg", "torch")
        classes = import_for("pyg", "torch_geometric.data")
        check_only(given | kwargs)
        self.batch_size, self.drop_last = kwargs.pop("batch_size", 1), bool(kwargs.pop("drop_last", False))
        self.shuffle, self.generator, self.sampler = bool(kwargs.pop("shuffle", False)), kwargs.pop("generator", None), None
        self.num_workers, self.transform, self.data = kwargs.get("num_workers", 0), transform, data
        if not hasattr(self.batch_size, "__index__") or self.batch_size < 1:
            raise OptionError(f"batch_size: {self.batch_size!r}", "give a whole number, 1 or more")
        if not isinstance(kwargs.get("sampler", ""), (str, type(None))):
            self.sampler = kwargs.pop("sampler")
            if self.shuffle:
                raise OptionError("sampler and shuffle=True: both decide the order", "give one of them")
        for name in sorted((NOT_NEEDED | {"collate_fn", "dataset"}) & kwargs.keys()):
            if kwargs.pop(name):
                warn(f"{name} is not needed: the loader has threads of its own (option threads)")
        kwargs = {name: value for name, value in kwargs.items() if name not in ONLY}
        path = getattr(data[0], "dataset", None) if isinstance(data, tuple) and len(data) == 2 else data
        if isinstance(path, (str, os.PathLike)):
            if weight_attr not in (None, "edge_weight"):
                raise OptionError(f"weight_attr: {weight_attr!r}", "a dataset has \"edge_weight\", which outgrow.write(edge_weight=) stored")
            self._source = source_of_path(torch, classes, os.fspath(path))
        elif isinstance(data, (classes.Data, classes.HeteroData)):
            self._source = source_of_data(torch, data, weight_attr)
        else:
            raise OptionError(f"data: {type(data).__name__}", "give a Data, a HeteroData, the folder of a dataset, or outgrow.stores of one")
        if weight_attr:
            kwargs["sampler"] = "weighted"
        about = meta_of(self._source.path)
        self._ranges = type_ranges(about)
        self._keys = [(r["source"], r["name"], r["destination"]) for r in about.get("relations", ())]
        relations = [part.name for part in self._source.edges]
        numbers = {part.name: part.number for part in self._source.edges if part.number is not None}
        fanouts = Fanouts(num_neighbors, relations, numbers)
        self.num_neighbors = num_neighbors
        self._sampling = Sampling(torch, self._source, fanouts)
        self._options = {"fanout": fanouts.option({name: self._keys[number] for name, number in numbers.items()} if self._keys else None),
                         "draw": "once", **kwargs}
        unknown = sorted(set(kwargs) - known_options())
        if unknown:
            raise OptionError(f"{unknown[0]}: no such argument", "`outgrow help train --all` lists the options that a loader takes, beside those of PyTorch Geometric")
        self._loader, self._using, self._epochs = None, None, {}

    # ---- whose ----

    def _node_part(self, name):
        for part in self._source.nodes:
            if part.name == name:
                return part
        raise OptionError(f"there are no nodes of type {name!r}", f"types: {', '.join(str(part.name) for part in self._source.nodes)}")

    def _known(self, part):
        """The dataset's name of a type, and the id in the whole graph of its first node; None and 0 without types."""
        return [(name, first) for name, (first, _) in self._ranges.items()][part.number] if self._ranges else (None, 0)

    # ---- iterating ----

    def __len__(self):
        n = len(self.sampler) if self.sampler is not None else len(self.dataset)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def _drawn(self):
        """A number for this iteration, from the generator that PyTorch's loaders take it from."""
        return int(self._torch.empty((), dtype=self._torch.int64).random_(generator=self.generator)) % (1 << 31)

    def _order(self):
        """Positions of this iteration, where Python decides them: a sampler, or a shuffle."""
        if self.sampler is not None:
            return np.array([int(i) for i in self.sampler], np.int64)
        n = len(self.dataset)
        return self._torch.randperm(n, generator=self.generator).numpy() if self.shuffle else np.arange(n)

    def _opened(self, drawn, batch, **how):
        return Loader(self._source.path, form=self._sampling.data_of, batch=batch, **{"seed": drawn} | self._options | how)

    def __iter__(self):
        drawn = self._options.get("seed")
        drawn = self._drawn() if drawn is None else drawn
        if self._once():
            return Iteration(self, *self._for_once(drawn))
        busy = self._using is not None and (it := self._using()) is not None and not it.over
        if self._loader is None or busy:
            epochs = {}
            loader = self._for_all(drawn)
            if not busy:
                self._loader, self._epochs = loader, epochs
        else:
            loader, epochs = self._loader, self._epochs
        epoch = epochs.setdefault((drawn, len(epochs)) if "seed" in self._options else drawn, len(epochs) + 1)
        loader._epoch = epoch - 1
        out = Iteration(self, loader, None)
        if not busy:
            self._using = weakref.ref(out)
        return out

    def __call__(self, index):
        """The batch of these positions."""
        index = np.asarray(index.cpu() if hasattr(index, "cpu") else index, np.int64).reshape(-1)
        return next(Iteration(self, *self._for_once(self._drawn(), index, len(index))))

    def close(self):
        """Ends its threads; the next iteration opens it again."""
        if self._loader is not None:
            self._loader.close()
        self._loader = self._using = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __reduce__(self):
        """Another process opens the dataset again."""
        return made_again, (type(self), *self._given)

    def __repr__(self):
        return f"{type(self).__name__}()"

    @contextlib.contextmanager
    def enable_multithreading(self, worker_threads=None):
        warn("enable_multithreading is not needed: the loader has threads of its own (option threads)")
        yield

    @contextlib.contextmanager
    def enable_cpu_affinity(self, loader_cores=None):
        warn("enable_cpu_affinity is not needed: the loader has threads of its own (option threads)")
        yield


class Iteration:
    """One iteration over a loader. order: the positions that its Loader has, in turn, where Python decided them."""

    def __init__(self, of, loader, order):
        self._of, self._loader, self._order, self._pass, self.over = of, loader, order, iter(loader), False

    def __iter__(self):
        return self

    def __next__(self):
        out = None
        if not self.over:
            made = next(self._pass, None)
            out = made and self._of._finished(*made, self._order)
        if out is None:
            self.over, self._loader = True, None
            raise StopIteration
        return out if self._of.transform is None else self._of.transform(out)


class NeighborLoader(Base):
    """PyTorch Geometric's NeighborLoader over a graph that may be larger than memory: its arguments, defaults and batches.

    data            a Data or HeteroData, which is written once to a folder that is known by its contents ($OUTGROW_CACHE, or
                    ~/.cache/outgrow), the folder of a dataset, or outgrow.stores of one
    num_neighbors   neighbours of each hop, the first nearest the seeds, -1 = all; with types also {relation: numbers}, or a NumNeighbors
    input_nodes     ids or a mask; None: all nodes. With types a type, or (type, ids, a mask or None). Of a dataset also "train", "valid", "test"
    weight_attr     the attribute of edges that neighbours are sampled by
    transform       is applied to every batch
    kwargs          those of PyTorch's DataLoader: batch_size=1, shuffle=False, drop_last=False, sampler=, generator=, ...; and options of
                    outgrow.Loader: memory="4G", policy, epochs, hold, threads, cache, topology, seed, ...

    Batches have x, edge_index, y and all other attributes of their nodes and edges, those of the graph, n_id, e_id, input_id, batch_size,
    num_sampled_nodes and num_sampled_edges. Attributes but x are those of the data in memory; of a dataset those that outgrow.write stored.

    Order and neighbours follow from PyTorch's random numbers: each iteration takes one from `generator`, or from torch.manual_seed's. One
    that was there before, after another torch.manual_seed, gives that epoch again. With seed= they follow from it. Several iterations at
    a time, and sampler=, open the dataset for each. Arguments for which there is no sampling here, such as disjoint and time_attr, raise
    UnsupportedError, a NotImplementedError.
    """

    def __init__(self, data, num_neighbors, input_nodes=None, input_time=None, replace=False, subgraph_type="directional", disjoint=False,
                 temporal_strategy="uniform", time_attr=None, weight_attr=None, transform=None, transform_sampler_output=None, is_sorted=False,
                 filter_per_worker=None, neighbor_sampler=None, directed=True, **kwargs):
        given = {"input_time": input_time, "replace": replace, "subgraph_type": subgraph_type, "disjoint": disjoint, "temporal_strategy": temporal_strategy,
                 "time_attr": time_attr, "transform_sampler_output": transform_sampler_output, "neighbor_sampler": neighbor_sampler, "directed": directed}
        input_id = kwargs.pop("input_id", None)
        self._open(data, num_neighbors, weight_attr, transform, given, kwargs)
        self.input_nodes = input_nodes
        self._part, self._nodes, mask = self._nodes_of(input_nodes)
        self._input_id = self._nodes if mask else np.arange(len(self._nodes))
        if input_id is not None:
            self._input_id = array_of(input_id, "input_id")
            if len(self._input_id) != len(self._nodes):
                raise OptionError(f"input_id: {len(self._input_id)}, for {len(self._nodes)} input_nodes", "give one of each")
        self.dataset = range(len(self._nodes))

    def _nodes_of(self, given):
        """Their type, ids within it, and whether a mask said them."""
        names = [part.name for part in self._source.nodes]
        if isinstance(given, str) and given not in names:
            return self._split_of(given)
        if names[0] is None:
            part = self._source.nodes[0]
        elif isinstance(given, str):
            part, given = self._node_part(given), None
        elif isinstance(given, (tuple, list)) and len(given) == 2 and isinstance(given[0], str):
            part, given = self._node_part(given[0]), given[1]
        else:
            raise OptionError("input_nodes: of which type?", f"give a type or (type, ids), the type one of {', '.join(names)}")
        if given is None:
            return part, np.arange(part.n), False
        mask = array_of(given, "input_nodes").dtype.kind == "b"
        return part, ids_of(given, "input_nodes", part.n, "the graph" if part.name is None else f"the type {part.name}"), mask

    def _split_of(self, name):
        if name not in SPLITS or self.data is not None and not isinstance(self.data, (str, os.PathLike, tuple)):
            raise OptionError(f"input_nodes: there are no nodes of type {name!r}", f"types: {', '.join(str(part.name) for part in self._source.nodes)}")
        ids = np.asarray(array_in(self._source.path, name, meta_of(self._source.path)))
        for part in self._source.nodes:
            first = self._known(part)[1]
            if len(ids) and first <= ids[0] < first + part.n:
                return part, ids - first, False
        raise OptionError(f"input_nodes: the split {name!r} is empty", "give ids, a mask, or None for all nodes")

    def _seeds(self, nodes):
        name, _ = self._known(self._part)
        return nodes if name is None else (name, nodes)

    def _once(self):
        return self.sampler is not None

    def _for_all(self, drawn):
        return self._opened(drawn, self.batch_size, seeds=self._seeds(self._nodes), shuffle=self.shuffle)

    def _for_once(self, drawn, order=None, batch=None):
        order = self._order() if order is None else order
        return self._opened(drawn, batch or self.batch_size, seeds=self._seeds(self._nodes[order]), shuffle=False, epochs=1), order

    def _finished(self, out, batch, edges, order):
        if self.drop_last and batch.n_seeds < self.batch_size:
            return None
        place = np.asarray(batch.input_id)
        store = out._store if self._part.name is None else out[self._part.name]
        store["input_id"] = self._torch.from_numpy(self._input_id[place if order is None else order[place]])
        store["batch_size"] = batch.n_seeds
        return out


class LinkNeighborLoader(Base):
    """PyTorch Geometric's LinkNeighborLoader over a graph that may be larger than memory: its arguments, defaults and batches.

    data, num_neighbors, weight_attr, transform, kwargs   those of NeighborLoader
    edge_label_index   [2, n] sources and destinations; None: all edges. With types a relation, or (relation, [2, n] or None)
    edge_label         of each link
    neg_sampling       a NegativeSampling, "binary", "triplet" or {"mode": ..., "amount": ...}; neg_sampling_ratio=1.0 is "binary"

    Batches have what those of NeighborLoader have, and edge_label_index, edge_label and input_id, or src_index, dst_pos_index and
    dst_neg_index. Links stay in the graph, and negatives are drawn from all nodes, as there. With negatives the dataset is opened for
    each iteration.
    """

    def __init__(self, data, num_neighbors, edge_label_index=None, edge_label=None, edge_label_time=None, replace=False, subgraph_type="directional",
                 disjoint=False, temporal_strategy="uniform", neg_sampling=None, neg_sampling_ratio=None, time_attr=None, weight_attr=None,
                 transform=None, transform_sampler_output=None, is_sorted=False, filter_per_worker=None, neighbor_sampler=None, directed=True, **kwargs):
        given = {"edge_label_time": edge_label_time, "replace": replace, "subgraph_type": subgraph_type, "disjoint": disjoint, "temporal_strategy": temporal_strategy,
                 "time_attr": time_attr, "transform_sampler_output": transform_sampler_output, "neighbor_sampler": neighbor_sampler, "directed": directed}
        input_id = kwargs.pop("input_id", None)
        self._open(data, num_neighbors, weight_attr, transform, given, kwargs)
        self.edge_label_index = edge_label_index
        self._part, self._links = self._links_of(edge_label_index)
        self._ends = [self._source.nodes[0]] * 2 if self._part.name is None else [self._node_part(self._part.name[0]), self._node_part(self._part.name[2])]
        for end, ids in zip(self._ends, self._links):
            check_range(ids, "edge_label_index", end.n)
        n = self._links.shape[1]
        self._input_id = np.arange(n) if input_id is None else array_of(input_id, "input_id")
        self.neg_sampling = self._negatives(neg_sampling, neg_sampling_ratio)
        self._label = self._labels(edge_label, n)
        self.dataset = range(n)

    def _links_of(self, given):
        relations = [part.name for part in self._source.edges]
        name = None
        if relations[0] is not None:
            pair = isinstance(given, (tuple, list)) and len(given) == 2 and not isinstance(given[0], str)
            if given is None or not isinstance(given, (tuple, list)) or pair and not isinstance(given[0], (tuple, list)):
                raise OptionError("edge_label_index: of which relation?", f"give a relation or (relation, [2, n]), one of {', '.join(map(str, relations))}")
            name, given = given if pair else (given, None)
            name = canonical(name, relations, "edge_label_index")
        part = self._source.edges[relations.index(name)]
        if part.lists is None:
            raise UnsupportedError(f"edge_label_index: the graph has no edges of {name}", "links are of a relation that has edges")
        if given is None:
            return part, part.lists.edge_index()
        links = array_of(given if hasattr(given, "shape") else np.asarray(given), "edge_label_index")
        if links.ndim != 2 or len(links) != 2 or links.dtype.kind not in "iu":
            raise OptionError(f"edge_label_index: {links.dtype} {list(links.shape)}", "give integers [2, n]: all sources, then all destinations")
        return part, links.astype(np.int64)

    @staticmethod
    def _negatives(neg_sampling, ratio):
        kind = import_for("pyg", "torch_geometric.sampler").NegativeSampling
        return kind("binary", ratio) if ratio else kind.cast(neg_sampling)

    def _labels(self, edge_label, n):
        if edge_label is None:
            return None
        label = self._torch.as_tensor(edge_label)
        if len(label) != n:
            raise OptionError(f"edge_label: {len(label)}, for {n} links", "give one of each link")
        if self.neg_sampling is not None and self.neg_sampling.is_triplet():
            raise OptionError("edge_label: triplets have none", "leave it out, or take neg_sampling=\"binary\"")
        return label + 1 if self.neg_sampling is not None and len(label) and label.min() == 0 else label  # 0 is that of negatives

    def _whole(self, links):
        """[n, 2] in ids of the whole graph."""
        return np.ascontiguousarray(links.T) + [self._known(end)[1] for end in self._ends]

    def _opened_for(self, drawn, batch, links, **how):
        relation = {"relation": "__".join(self._keys[self._part.number])} if self._keys else {}
        return self._opened(drawn, batch, links=self._whole(links), task="link", **relation, **how)

    def _once(self):
        return self.sampler is not None or self.neg_sampling is not None

    def _for_all(self, drawn):
        return self._opened_for(drawn, self.batch_size, self._links, shuffle=self.shuffle)

    def _against(self, links):
        """Pairs that stand against some links, drawn as PyTorch Geometric does."""
        neg, n = self.neg_sampling, math.ceil(links.shape[1] * self.neg_sampling.amount)
        destination = neg.sample(n, "dst", self._ends[1].n).numpy()
        source = np.repeat(links[0], neg.amount) if neg.is_triplet() else neg.sample(n, "src", self._ends[0].n).numpy()
        return np.stack([source, destination])

    def _for_once(self, drawn, order=None, batch=None):
        order, batch = self._order() if order is None else order, batch or self.batch_size
        if self.drop_last:
            order = order[:len(order) // batch * batch]
        if self.neg_sampling is None:
            return self._opened_for(drawn, batch, self._links[:, order], shuffle=False, epochs=1), order
        links = []
        for at in range(0, len(order), batch):
            positive = self._links[:, order[at:at + batch]]
            links += [positive, self._against(positive)]
        each = batch + math.ceil(batch * self.neg_sampling.amount)
        return self._opened_for(drawn, each, np.concatenate(links, 1), shuffle=False, epochs=1), order

    def _finished(self, out, batch, edges, order):
        torch, neg = self._torch, self.neg_sampling
        pairs = torch.from_numpy(np.array(edges[self._part.number].pairs))
        if neg is None:
            place = np.array(batch.input_id)
            place = place if order is None else order[place]
        else:
            place = order[batch.number * self.batch_size:][:self.batch_size] if batch.batches > 1 else order
        n = len(place)
        if self.drop_last and n < self.batch_size:
            return None
        name = self._part.name
        store = out._store if name is None else out[name]
        store["input_id"] = torch.from_numpy(self._input_id[place])
        if neg is None or neg.is_binary():
            store["edge_label_index"] = pairs
            label = None if self._label is None else self._label[torch.from_numpy(place)]
            if neg is not None:
                label = torch.ones(n) if label is None else label
                label = torch.cat([label, label.new_zeros(pairs.size(1) - n, *label.shape[1:])])
            store["edge_label"] = label
            return out
        source, destination = (store, store) if name is None else (out[name[0]], out[name[2]])
        source["src_index"], destination["dst_pos_index"] = pairs[0, :n], pairs[1, :n]
        destination["dst_neg_index"] = pairs[1, n:].view(n, -1).squeeze(-1)
        for key in "edge_label_index", "edge_label":
            if key in store:
                del store[key]
        return out
