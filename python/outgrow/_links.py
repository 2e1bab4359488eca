"""PyTorch Geometric's LinkNeighborLoader over Outgrow's loader."""
import math

import numpy as np

from ._arrays import array_of
from ._attributes import EdgePart, in_torch
from ._cache import edges_of
from ._errors import OptionError, UnsupportedError, warn
from ._fanouts import canonical
from ._forms import import_for
from ._ids import check_range
from ._loader import Loader
from ._neighbor import Base, subgraph_of
from ._times import node_times, of_seeds


class LinkNeighborLoader(Base):
    """PyTorch Geometric's LinkNeighborLoader over a graph that may be larger than memory: its arguments, defaults and batches.

    data, num_neighbors, weight_attr, transform, kwargs   those of NeighborLoader
    edge_label_index   [2, n] sources and destinations; None: all edges. For a heterogeneous graph a relation, or (relation, [2, n] or None). Given links may be
                       of a relation that the graph lacks, if it has edges between these types
    edge_label         of each link
    neg_sampling       a NegativeSampling, "binary", "triplet" or {"mode": ..., "amount": ...}; neg_sampling_ratio=1.0 is "binary"

    Batches have what those of NeighborLoader have, and edge_label_index, edge_label and input_id, or src_index, dst_pos_index and
    dst_neg_index. Links stay in the graph, and negatives are drawn from all nodes, as there. With negatives the dataset is opened for
    each iteration.
    """

    def __init__(self, data, num_neighbors, edge_label_index=None, edge_label=None, edge_label_time=None, replace=False, subgraph_type="directional",
                 disjoint=False, temporal_strategy="uniform", neg_sampling=None, neg_sampling_ratio=None, time_attr=None, weight_attr=None,
                 transform=None, transform_sampler_output=None, is_sorted=False, filter_per_worker=None, neighbor_sampler=None, directed=True, **kwargs):
        times = {"given": edge_label_time, "name": "edge_label_time", "disjoint": disjoint, "strategy": temporal_strategy, "time_attr": time_attr}
        given = {"neighbor_sampler": neighbor_sampler}
        input_id = kwargs.pop("input_id", None)
        self._open(data, edge_label_index, num_neighbors, weight_attr, transform, transform_sampler_output, subgraph_of(subgraph_type, directed), times, given, kwargs | {"replace": bool(replace)})
        self.edge_label_index = edge_label_index
        self._part, self._links = self._links_of(edge_label_index)
        self._ends = [self._source.nodes[0]] * 2 if self._part.name is None else [self._node_part(self._part.name[0]), self._node_part(self._part.name[2])]
        self._by, self._back = self._like(self._part) if self._fanouts.hops > 0 and self._links.size else (self._part, False)
        for end, ids in zip(self._ends, self._links):
            check_range(ids, "edge_label_index", end.n)
        n = self._links.shape[1]
        self._input_id = np.arange(n) if input_id is None else self._numbered(input_id, n, "links")
        if time_attr is not None and edge_label_time is None:
            raise OptionError("time_attr: 'edge_label_time' is not set", "give edge_label_time=, the time of each link: no neighbour is later")
        self.edge_label_time, self._time = edge_label_time, of_seeds(edge_label_time, "edge_label_time", n)
        self._born = {}  # {type: its nodes by time, their times}, for negatives
        self.neg_sampling = self._negatives(neg_sampling, neg_sampling_ratio)
        for of, end in zip(("src", "dst"), self._ends):
            if (weight := getattr(self.neg_sampling, f"{of}_weight", None)) is not None and weight.numel() != end.n:
                raise OptionError(f"neg_sampling: {of}_weight has {weight.numel()} numbers, for {end.n} nodes{f' of {end.name}' if end.name else ''}", "give one of each")
        self._label = self._labels(edge_label, n)
        self._evaluating = None
        self.dataset = range(n)
        if edge_label is None and self._data is None and "edge_label" in self._part.attributes:
            warn("outgrow.LinkNeighborLoader: the edges have an attribute edge_label, which only edge_label= gives to links")

    _their = "torch_geometric.loader.link_neighbor_loader", "LinkNeighborLoader"

    @property
    def input_data(self):
        """The links, as PyTorch Geometric's loader has them."""
        tensor = self._torch.from_numpy
        return import_for("pyg", "torch_geometric.sampler").EdgeSamplerInput(tensor(self._input_id), *map(tensor, self._links), self._label, self._time if self._time is None else self._times(self._time, self.edge_label_time), self._part.name)

    def evaluate(self, split="valid"):
        """Iterate once over the links of a split of a dataset, with negatives. They come from an outgrow.Loader with task="link", which takes as much memory again."""
        if self._data is not None:
            raise UnsupportedError("evaluate: a Data has no splits", "open an outgrow.LinkNeighborLoader with edge_label_index= and edge_label= of the split")
        if self._by is not self._part:
            raise UnsupportedError(f"evaluate: the graph has no edges of {self._part.name}", "open an outgrow.LinkNeighborLoader with edge_label_index= of the split")
        if self._evaluating is None:
            self._evaluating = Loader(self._source.path, batch=self.batch_size, task="link", **self._options | self._relation())
        return self._evaluating.evaluate(split)

    def close(self):
        """Ends its threads; the next iteration opens it again."""
        super().close()
        if self._evaluating is not None:
            self._evaluating.close()
            self._evaluating = None

    def _relation(self):
        return {"relation": "__".join(self._keys[self._by.number])} if self._keys else {}

    def _like(self, part):
        """The relation that stands for one without edges: of the same types. And whether it is the other way round."""
        for back in False, True:
            for by in self._source.edges:
                if by.number is not None and (by.name == part.name or part.n == 0 and part.name[::2] == (by.name[::-2] if back else by.name[::2])):
                    return by, back
        raise UnsupportedError(f"edge_label_index: the graph has no edges between {part.name[0]} and {part.name[2]}, and {part.name} has none",
                               "add edges between these types: links are found by them")

    def _links_of(self, given):
        relations = [part.name for part in self._source.edges]
        name = None
        if self._source.nodes[0].name is not None:
            pair = isinstance(given, (tuple, list)) and len(given) == 2 and not isinstance(given[0], str)
            if given is None or not isinstance(given, (tuple, list, str)) or pair and not isinstance(given[0], (tuple, list)):
                raise OptionError("edge_label_index: of which relation?", f"give a relation or (relation, [2, n]), one of {', '.join(map(str, relations))}")
            name, given = given if pair else (given, None)
            new = given is not None and isinstance(name, (tuple, list)) and len(name) == 3 and tuple(name) not in relations  # one that the graph has not
            name = tuple(name) if new else canonical(name, relations, "edge_label_index")
            if new:
                warn(f"edge_label_index: the graph has no relation {name}, so that models pass no messages along it")
        none = EdgePart(name, None, 0, None, {}, {}, None)  # links may be of a relation that the graph has not
        part = next((part for part in self._source.edges if part.name == name), none)
        if name is None and isinstance(given, (tuple, list)) and given and isinstance(given[0], (str, tuple)):
            raise OptionError(f"edge_label_index: of relation {given if isinstance(given[0], str) else given[0]!r}, of a graph without types", "give [2, n], or None for all edges")
        if given is None and part.n == 0:
            return part, np.empty((2, 0), np.int64)
        if given is None:
            return part, part.lists.edge_index() if part.lists else edges_of(self._torch, self._whole_store(name), "").numpy().astype(np.int64)
        if isinstance(given, (tuple, list)) and len(given) == 2:
            ends = [array_of(end, "edge_label_index") for end in given]
            if ends[0].shape != ends[1].shape:
                raise OptionError(f"edge_label_index: {list(ends[0].shape)} sources and {list(ends[1].shape)} destinations", "give as many of each")
            given = np.stack(ends)
        links = array_of(given, "edge_label_index")
        if links.ndim != 2 or len(links) != 2 or links.dtype.kind not in "iu":
            raise OptionError(f"edge_label_index: {links.dtype} {list(links.shape)}", "give integers [2, n]: all sources, then all destinations")
        return part, links.astype(np.int64)

    def _whole_store(self, name):
        return self.data._store if name is None else self.data[name]

    @staticmethod
    def _negatives(neg_sampling, ratio):
        kind = import_for("pyg", "torch_geometric.sampler").NegativeSampling
        try:
            return kind("binary", ratio) if ratio else kind.cast(neg_sampling)
        except (AssertionError, NotImplementedError, TypeError, ValueError) as error:  # of theirs, which do not name the argument
            raise OptionError(f"neg_sampling{f'_ratio: {ratio!r}' if ratio else f': {neg_sampling!r}'}{f': {error}' if str(error) else ''}",
                              "give a number above 0" if ratio else "give \"binary\", \"triplet\", {\"mode\": \"binary\", \"amount\": 1} or None") from error

    def _labels(self, edge_label, n):
        if edge_label is None:
            return None
        label = edge_label.cpu() if isinstance(edge_label, self._torch.Tensor) else self._torch.from_numpy(np.array(in_torch(array_of(edge_label, "edge_label"))))
        if label.shape[:1] != (n,):
            raise OptionError(f"edge_label: {len(label) if label.ndim else edge_label!r}, for {n} links", "give one of each link")
        if self.neg_sampling is not None and self.neg_sampling.is_triplet():
            raise OptionError("edge_label: triplets have none", "leave it out, or take neg_sampling=\"binary\"")
        return label + 1 if self.neg_sampling is not None and len(label) and label.min() == 0 else label  # 0 is that of negatives

    def _whole(self, links):
        """[n, 2] in ids of the whole graph, in the direction of the relation that stands for theirs."""
        whole = links.T + [self._known(end)[1] for end in self._ends]
        return np.ascontiguousarray(whole[:, ::-1] if self._back else whole)

    def _opened_for(self, drawn, batch, links, **how):
        return self._opened(drawn, batch, links=self._whole(links), task="link", **self._relation(), **how)

    def _once(self):
        return self._sampler is not None or self.neg_sampling is not None

    def _for_all(self, drawn):
        return self._opened_for(drawn, self.batch_size, self._links, shuffle=self.shuffle, input_time=self._time)

    def _there(self, end):
        """Nodes of an end by time, and their times; None if they have none."""
        if self._kind != "node":
            return None
        if end.name not in self._born:
            first = self._known(end)[1]
            times = node_times(self._source.path)[first:first + end.n]
            order = np.argsort(times, kind="stable")
            self._born[end.name] = order, times[order]
        return self._born[end.name]

    def _negative_nodes(self, n, end, times):
        """Nodes drawn for one end of n negatives: any, or those that were there at their times."""
        of = ("src", "dst")[end]
        there = None if times is None else self._there(self._ends[end])
        if there is not None and getattr(self.neg_sampling, f"{of}_weight", None) is not None:
            raise UnsupportedError(f"neg_sampling: {of}_weight with times of nodes", "leave out the weights, or time_attr")
        if there is None:
            return self.neg_sampling.sample(n, of, self._ends[end].n).numpy()
        order, born = there
        count = np.searchsorted(born, times, "right")
        if (count == 0).any():
            raise OptionError(f"edge_label_time: {int(times[np.argmin(count)])}, when there was no node of {self._ends[end].name or 'the graph'}", "give later times, or neg_sampling=None")
        return order[(self._torch.rand(n, dtype=self._torch.float64).numpy() * count).astype(np.int64)]

    def _against(self, links, time):
        """Pairs that stand against some links, drawn as PyTorch Geometric does."""
        neg, n = self.neg_sampling, math.ceil(links.shape[1] * self.neg_sampling.amount)
        times = None if time is None else time[np.arange(n) % links.shape[1]]
        source = np.tile(links[0], neg.amount) if neg.is_triplet() else self._negative_nodes(n, 0, times)
        return np.stack([source, self._negative_nodes(n, 1, times)])

    def _pairs_at(self, places):
        """Links, then their negatives."""
        links = self._links[:, places]
        return links if self.neg_sampling is None else np.concatenate([links, self._against(links, None if self._time is None else self._time[places])], 1)

    def _times_at(self, places, n):
        """The times of these links and their negatives, n in all."""
        return None if self._time is None else self._time[places][np.arange(n) % len(places)]

    def _for_once(self, drawn, order, batch, **how):
        how = {"seed": drawn, "shuffle": False, "epochs": 1} | how
        if self.drop_last and len(order) > batch:
            order = order[:len(order) // batch * batch]
        if self.neg_sampling is None:
            return self._opened_for(drawn, batch, self._links[:, order], input_time=self._times_at(order, len(order)), **how)
        places = [order[at:at + batch] for at in range(0, len(order), batch)]
        links = [self._pairs_at(of) for of in places]
        times = None if self._time is None else np.concatenate([self._times_at(of, pairs.shape[1]) for of, pairs in zip(places, links)])
        repeats = self.neg_sampling.amount if self._disjoint and self.neg_sampling.is_triplet() else 0
        if repeats and self._back:
            raise UnsupportedError(f"disjoint triplets of {self._part.name}: the graph has edges from {self._part.name[2]} to {self._part.name[0]} alone", "add edges the other way, or take neg_sampling=\"binary\"")
        return self._opened_for(drawn, batch + math.ceil(batch * self.neg_sampling.amount), np.concatenate(links, 1), input_time=times, source_repeats=repeats, **how)

    def _seeds_at(self, places):
        """Ids of the ends by type, in order of discovery, and the pairs as positions among them."""
        pairs = self._pairs_at(places)
        ids, local = {}, np.empty_like(pairs)
        one = self._ends[0].name == self._ends[1].name
        for rows in ([0, 1],) if one else ([0], [1]):
            distinct, first, back = np.unique(pairs[rows], return_index=True, return_inverse=True)
            order = np.argsort(first)
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
            ids[self._ends[rows[0]].name], local[rows] = distinct[order], rank[back].reshape(len(rows), -1)
        return ids, local

    def _places(self, batch, edges, order, size):
        if self.neg_sampling is None:
            place = np.array(batch.input_id)
            place = place if order is None else order[place]
        else:
            place = order[batch.number * size:][:size]
        pairs = edges[self._by.number].pairs
        return place, pairs[::-1] if self._back else pairs

    def _number_links(self, out, n, total):
        """`batch` of each node: its link, or the one that its negative belongs to. All `total` pairs have trees at both ends; those of triplets
        have the sources of the n links."""
        for part in self._source.nodes:
            store = out._store if part.name is None else out[part.name]
            store["batch"] = store["batch"] % total % n

    def _metadata(self, places, pairs, input_id):
        """As PyTorch Geometric's sampler has it: of links, or of triplets."""
        torch, neg, n = self._torch, self.neg_sampling, len(places)
        pairs = torch.from_numpy(np.array(pairs, order="C"))
        ids = torch.from_numpy(input_id[places])
        if neg is None or neg.is_binary():
            label = None if self._label is None else self._label[torch.from_numpy(places)]
            if neg is not None:
                label = torch.ones(n) if label is None else label
                label = torch.cat([label, label.new_zeros(pairs.size(1) - n, *label.shape[1:])])
            return ids, pairs, label, None if self._time is None else self._times(self._times_at(places, pairs.size(1)), self.edge_label_time)
        negatives = pairs[1, n:].view(-1, n).t() if self._disjoint else pairs[1, n:]
        return ids, pairs[0, :n], pairs[1, :n], negatives.view(n, -1).squeeze(-1), None if self._time is None else self._times(self._time[places], self.edge_label_time)

    def _finished(self, out, places, pairs, input_id):
        neg, name = self.neg_sampling, self._part.name
        store = out._store if name is None else out[name]
        if name is not None:
            out.input_type = name
        store["input_id"], *of = self._metadata(places, pairs, input_id)
        if self._disjoint:
            self._number_links(out, len(places), pairs.shape[1])
        if neg is None or neg.is_binary():
            store["edge_label_index"], store["edge_label"], store["edge_label_time"] = of
            return out
        source, destination = (store, store) if name is None else (out[name[0]], out[name[2]])
        source["src_index"], destination["dst_pos_index"], destination["dst_neg_index"], time = of
        source["seed_time"] = destination["seed_time"] = time
        for key in "edge_label_index", "edge_label_time":  # of the data
            if key in store:
                del store[key]
        return out
