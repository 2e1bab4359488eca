"""PyTorch Geometric's NeighborLoader over Outgrow's loader: its arguments, defaults and batches, and what LinkNeighborLoader shares."""
import contextlib
import copy
import difflib
import inspect
import operator
import os
import re
import types
import weakref

import numpy as np

from . import _outgrow
from ._arrays import array_of
from ._attributes import source_of_path, under_names, whole_of
from ._cache import ALL, NONE, SOME, as_sampled, changed, data_of_stores, how_to_have_edges, marks_of, renewed, renewed_by, source_of_data, source_without_edges
from ._errors import OptionError, UnsupportedError, warn
from ._fanouts import Fanouts
from ._forms import Nodes, import_for
from ._ids import check_range, ids_of, positions_of
from ._loader import ALIASES, NOT_NEEDED, ONLY, SPLITS, Loader, OwnThreads, is_the_same, ranks_of
from ._meta import meta_of, type_ranges
from ._sampling import Sampling
from ._stores import NODE, array_in, is_there
from ._times import of_seeds, options_of

FIXED = "batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers", "data"  # attributes that do not change, as of a DataLoader
SUBGRAPHS = "directional", "bidirectional", "induced"


def check_only(given):
    for name, (ours, instead) in ONLY.items():
        if name in given and not is_the_same(given[name], ours):
            value = getattr(given[name], "value", given[name])
            shown = repr(value) if isinstance(value, (bool, int, float, str)) else type(value).__name__
            raise UnsupportedError(f"{name}={shown}: outgrow's loader has no such sampling" if name not in ("custom_cls", "batch_sampler")
                                   else f"{name}: outgrow's loader has no such argument", instead)


def made_again(kind, arguments, keywords):
    return kind(*arguments, **keywords)


def known_options():
    own = {"time_attr", "temporal_strategy", "memory", "policy", "epochs", "step_seconds", "max_held", "hold", "progress", "rank", "world_size", "share"}
    return own | {name.replace("-", "_") for name in _outgrow.option_choices()} - {"fanout", "batch", "task", "draw", "relation", "edge_split", "no_shuffle"}


def seed_of(value):
    """A whole number, of any kind that Python takes for one, or its digits."""
    with contextlib.suppress(TypeError):
        value = value if isinstance(value, (bool, str)) else operator.index(value)
    if not re.fullmatch("[0-9]+", str(value)):
        raise OptionError(f"seed: {value!r}", "give a whole number, 0 or more; None draws one")
    return value


def subgraph_of(subgraph_type, directed):
    """The subgraph type's name; directed=False stands for induced, as there."""
    name = getattr(subgraph_type, "value", subgraph_type)
    if name not in SUBGRAPHS:
        raise OptionError(f"subgraph_type: {name!r}", f"give one of {', '.join(SUBGRAPHS)}")
    return name if directed else "induced"


def dataset_of_both(features, graph):
    """The folder of the dataset whose stores these are; None if they are not of one."""
    of = getattr(features, "dataset", None)
    return of if isinstance(of, str) and of == getattr(graph, "dataset", None) else None


def are_named(seeds):
    """Whether seeds or links name the type or the relation of a homogeneous graph's stores."""
    first = seeds[0] if isinstance(seeds, (tuple, list)) and len(seeds) > 0 else seeds
    return isinstance(first, str) and first == NODE or isinstance(first, (tuple, list)) and NODE in [name for name in first if isinstance(name, str)]


class Shown:
    """What a loader shows of a sampler, which is the library's."""

    def __init__(self, num_neighbors):
        vars(self)["num_neighbors"] = num_neighbors

    def __setattr__(self, name, value):
        raise OptionError(f"{name}: set after the loader was made", "make another loader")

    def __getattr__(self, name):
        raise AttributeError(f"{name}: of the sampler of an outgrow loader num_neighbors is shown alone; torch_geometric.sampler.NeighborSampler(outgrow.stores(path), [10]) is PyTorch Geometric's")


class Base(OwnThreads):
    """What both loaders have in common: whose batches, in which order, and how often."""

    # What else a DataLoader has. Who sees one by isinstance, as Lightning does, looks at these.
    multiprocessing_context = worker_init_fn = prefetch_factor = None
    pin_memory, pin_memory_device, persistent_workers, timeout = False, "", False, 0
    custom_cls = None
    _their = None  # module and name of PyTorch Geometric's class

    def __new__(cls, *arguments, **keywords):
        self = super().__new__(cls)
        vars(self).update(_given=(arguments, keywords), _later=())
        return self

    @property
    def __class__(self):
        """PyTorch Geometric's, for isinstance: its layer-wise inference and others check it."""
        return getattr(import_for("pyg", self._their[0]), self._their[1])

    def __dir__(self):
        return sorted({*vars(self), *dir(type(self))})

    def __setattr__(self, name, value):
        """As of a DataLoader. What is set after the loader was made, its copies have too."""
        if "dataset" in vars(self):
            if name in FIXED:
                raise OptionError(f"{name}: set after the loader was made", "make another loader")
            if name[0] != "_":
                vars(self)["_later"] = *self._later, name
        super().__setattr__(name, value)

    def _open(self, data, seeds, num_neighbors, weight_attr, transform, transform_sampler_output, subgraph, times, given, kwargs):
        self._torch = torch = import_for("pyg", "torch")
        classes = import_for("pyg", "torch_geometric.data")
        if type(batches := kwargs.get("batch_sampler")) is torch.utils.data.BatchSampler:
            kwargs |= {"batch_sampler": None, "sampler": batches.sampler, "batch_size": batches.batch_size, "drop_last": batches.drop_last}
        check_only(given | kwargs)
        self.batch_size, self.drop_last = kwargs.pop("batch_size", 1), bool(kwargs.pop("drop_last", False))
        self.shuffle, self.generator, self._sampler = bool(kwargs.pop("shuffle", False)), kwargs.pop("generator", None), None
        self.num_workers, self.transform, self.filter_per_worker = kwargs.get("num_workers", 0), transform, kwargs.pop("filter_per_worker", None)
        self.filter_per_worker = True if self.filter_per_worker is None else self.filter_per_worker  # as theirs of data in host memory
        self.transform_sampler_output = transform_sampler_output
        if not hasattr(self.batch_size, "__index__") or self.batch_size < 1:
            raise OptionError(f"batch_size: {self.batch_size!r}", "give a whole number, 1 or more")
        for name, call in ("transform", transform), ("transform_sampler_output", transform_sampler_output):
            if call is not None and not callable(call):
                raise OptionError(f"{name}: {call!r}", "give a function")
        if not isinstance(self.generator, (type(None), torch.Generator)):
            raise OptionError(f"generator: {self.generator!r}", "give a torch.Generator, such as torch.Generator().manual_seed(1); or seed=1")
        if (seed := kwargs.pop("seed", None)) is not None:
            kwargs["seed"] = seed_of(seed)
        if not isinstance(kwargs.get("sampler", ""), (str, type(None))):
            self._sampler = kwargs.pop("sampler")
            if not hasattr(self._sampler, "__iter__"):
                raise OptionError(f"sampler: {self._sampler!r}", "give a sampler of positions, or a list of them")
            if self.shuffle:
                raise OptionError("sampler and shuffle=True: both decide the order", "give one of them")
        for name in sorted((NOT_NEEDED | {"collate_fn", "dataset"}) & kwargs.keys()):
            value = kwargs.pop(name)
            if name in NOT_NEEDED:
                setattr(self, name, value)
            if value:
                warn("collate_fn is not called: transform= changes batches" if name == "collate_fn" else
                     f"{name} is not needed: the loader has threads of its own (option threads)")
        kwargs = {name: value for name, value in kwargs.items() if name not in ONLY}
        self._ranks = ranks_of(kwargs.get("rank", 0), kwargs.get("world_size", 1))[:2]
        if self._ranks[1] > 1:
            if self._sampler is not None:
                raise UnsupportedError("sampler with world_size: each process has an order of its own",
                                       "give shuffle=True, seed=1, or leave out rank and world_size where the sampler shares the seeds out")
            if self.generator is None:
                kwargs.setdefault("seed", 1)  # which is the same in all processes
        pair = isinstance(data, (list, tuple)) and len(data) == 2
        path = dataset_of_both(*data) if pair else data
        if isinstance(data, (list, tuple, classes.Dataset)) and len(data) and isinstance(data[0], (classes.Data, classes.HeteroData)):
            raise OptionError(f"data: {type(data).__name__} of {type(data[0]).__name__}", "give one of them, data[0]; or torch_geometric.data.Batch.from_data_list(data), their union")
        if pair and path is None and hasattr(data[0], "get_all_tensor_attrs") and hasattr(data[1], "coo"):
            data = data_of_stores(torch, classes, *data)
        if isinstance(path, (str, os.PathLike)):
            if weight_attr not in (None, "edge_weight"):
                raise OptionError(f"weight_attr: {weight_attr!r}", "a dataset has \"edge_weight\", which outgrow.write(edge_weight=) stored")
            self._source = source_of_path(torch, classes, os.fspath(path))
            if pair and data[0].named and self._source.nodes[0].name is None and are_named(seeds):
                self._source = under_names(classes, self._source)
            if weight_attr and not any("edge_weight" in part.by_place for part in self._source.edges):
                raise OptionError(f"weight_attr: {path} has no edge_weight", "outgrow.write(path, ..., edge_weight=) stores it")
            self._data = None
        elif isinstance(data, (classes.Data, classes.HeteroData)):
            self._source, self._data = source_without_edges(torch, data), data
        else:
            raise OptionError(f"data: {type(data).__name__}", "give a Data, a HeteroData, the folder of a dataset, outgrow.stores of one, or a FeatureStore and a GraphStore")
        self._fanouts = Fanouts(num_neighbors, [part.name for part in self._source.edges], {part.name: part.n for part in self._source.edges}, kwargs["replace"] or kwargs.get("sampler", "uniform") != "uniform")
        self.num_neighbors = num_neighbors
        if self._data is not None and self._fanouts.asked:
            for part, store in zip(self._source.edges, self._data.edge_stores):
                if "edge_index" not in store:
                    raise OptionError("data: no edge_index" + (f" of {part.name}" if part.name else ""), how_to_have_edges("adj_t" in store, part.name))
        if self._data is None and self._fanouts.hops == 0:
            raise UnsupportedError("num_neighbors: the first hop samples no neighbours", "without neighbours a batch is its seeds: rows of outgrow.stores(path)[0] are those")
        self._marks = self._write = self._shown = None
        if self._data is not None:
            self._looked_at = ALL if self._fanouts.hops > 0 else NONE
            self._marks = marks_of(data, self._looked_at)
            if self._fanouts.hops > 0:
                self._by_attributes = {"weight_attr": weight_attr, "time_attr": times["time_attr"]}
                self._write = lambda now: source_of_data(torch, now, **self._by_attributes)
                self._source = self._write(data)
        self._take_times(times, subgraph, transform_sampler_output, weight_attr, kwargs)
        if weight_attr:
            kwargs["sampler"] = "weighted"
        if not kwargs["replace"]:
            del kwargs["replace"]
        elif kwargs.get("sampler", "uniform") != "uniform":
            raise UnsupportedError(f"replace=True: with {'weight_attr' if weight_attr else 'sampler=' + repr(kwargs['sampler'])} neighbours are sampled without replacement",
                                   "leave one of the two out")
        for name in sorted(set(kwargs) - known_options()):
            near = difflib.get_close_matches(name, {*known_options(), *self._arguments(), "batch_size", "shuffle", "drop_last", "generator", "input_id", *NOT_NEEDED}, 1, 0.8)
            raise OptionError(f"{name}: no such argument", f"did you mean {near[0]}?" if near else
                              "`outgrow help train --all` lists the options that a loader takes, beside those of PyTorch Geometric")
        self._sampling = Sampling(torch, self._source, self._fanouts, subgraph, transform_sampler_output)
        self._name_options(kwargs)
        self._loader, self._using, self._epochs, self._turn = None, None, {}, 0

    @classmethod
    def _arguments(cls):
        return [*inspect.signature(cls.__init__).parameters][1:-1]

    def _take_times(self, times, subgraph, transform_sampler_output, weight_attr, kwargs):
        """Options of disjoint neighbourhoods into kwargs."""
        self._disjoint = bool(times["disjoint"] or times["time_attr"] is not None or kwargs.get("sampler") == "disjoint")
        for name in {"time", "time_strategy"} & kwargs.keys():
            raise OptionError(f"{name}: no such argument", "give time_attr and temporal_strategy")
        if self._disjoint:
            for name, other in ("subgraph_type=\"induced\"", subgraph == "induced"), ("transform_sampler_output", transform_sampler_output), ("weight_attr", weight_attr):
                if other:
                    raise UnsupportedError(f"{name}: not with disjoint neighbourhoods", f"leave out {name.split('=')[0]}, or time_attr and disjoint")
        if times["time_attr"] is None and times["given"] is not None:
            raise OptionError(f"{times['name']}: without time_attr", "give time_attr, the attribute that has the times")
        window, self._kind = kwargs.pop("time_window", None), None
        if self._source.path:
            attribute = times["time_attr"] if self._data is None or times["time_attr"] is None else "time"  # which the cached dataset has of one kind
            given = {"time_attr": attribute, "temporal_strategy": times["strategy"], "disjoint": self._disjoint, "time_window": window}
            self._kind = options_of(self._source.path, attribute, times["strategy"], self._disjoint, window).get("time")
            kwargs |= {name: value for name, value in given.items() if value not in (None, False, "uniform")}
        elif self._disjoint and (times["time_attr"] is not None or times["name"] != "input_time"):
            raise UnsupportedError("num_neighbors: samples no neighbours", "leave out disjoint and time_attr")

    def _name_options(self, kwargs):
        """Options of outgrow.Loader, by the names that the dataset has."""
        about = meta_of(self._source.path) if self._source.path else {}
        self._ranges = type_ranges(about)
        self._keys = [(r["source"], r["name"], r["destination"]) for r in about.get("relations", ())]
        names = {part.name: self._keys[part.number] for part in self._source.edges if part.number is not None} if self._keys else None
        self._options = {"fanout": self._fanouts.option(names), "draw": "once", **kwargs} if self._source.path else kwargs

    @property
    def data(self):
        """The Data or HeteroData; of a dataset one of what its files have of nodes, mapped."""
        if self._data is not None:
            return self._data
        if self._shown is None:
            self._shown = whole_of(self._torch, self._source)
            self._looked_at = SOME
            self._marks = self._first = marks_of(self._shown, SOME)
        return self._shown

    @property
    def sampler(self):
        """The one that was given, or PyTorch's for the order."""
        kinds = self._torch.utils.data
        if self._sampler is not None:
            return self._sampler
        return kinds.RandomSampler(self.dataset, generator=self.generator) if self.shuffle and len(self.dataset) else kinds.SequentialSampler(self.dataset)

    @property
    def batch_sampler(self):
        return self._torch.utils.data.BatchSampler(self.sampler, self.batch_size, self.drop_last)

    @property
    def node_sampler(self):
        """As layer-wise inference of PyTorch Geometric looks at it."""
        kind = import_for("pyg", "torch_geometric.sampler").NumNeighbors
        return Shown(self.num_neighbors if isinstance(self.num_neighbors, kind) else kind(self.num_neighbors))

    link_sampler = node_sampler

    # ---- whose ----

    def _times(self, times, given):
        """Times of a batch, of the type in which they were given."""
        return self._torch.from_numpy(times).to(given.dtype if isinstance(given, self._torch.Tensor) else self._torch.int64)

    @staticmethod
    def _numbered(input_id, n, what):
        input_id = array_of(input_id, "input_id")
        if input_id.shape != (n,):
            raise OptionError(f"input_id: {list(input_id.shape)}, for {n} {what}", "give one of each")
        return input_id

    def _node_part(self, name):
        for part in self._source.nodes:
            if part.name == name:
                return part
        raise OptionError(f"there are no nodes of type {name!r}", f"types: {', '.join(str(part.name) for part in self._source.nodes)}")

    def _known(self, part):
        """The dataset's name of a type, and its first node's id in the whole graph. None and 0 in a homogeneous graph."""
        return [(name, first) for name, (first, _) in self._ranges.items()][part.number] if self._ranges else (None, 0)

    def _busy(self):
        """Whether an iteration that shares the Loader has not ended."""
        return self._using is not None and (it := self._using()) is not None and not it.over

    def _renew(self):
        """Attributes of the data count as they are now. Features in a dataset that are others since are written again."""
        if self._marks is None or not (names := changed(self._marks, now := marks_of(self.data, self._looked_at))):
            return
        if self._data is None:
            self._marks, self._source = now, renewed_by(self._source, self._shown, self._first)
            self._sampling.take(self._source)
            return
        source = self._source
        if self._write:
            for argument, name in self._by_attributes.items():
                if name in names:
                    warn(f"{argument}: {name} of the data changed. Neighbours are sampled by what it was when the loader was made: make the loader again")
        if "x" in names and self._write:
            if self._loader is not None and self._loader._restored:
                raise OptionError("data: x changed after load_state_dict", "change it before")
            source = self._write(as_sampled(self._torch, self._data, source, **self._by_attributes))
            if [part.n for part in source.nodes] != [part.n for part in self._source.nodes]:
                raise OptionError("data: another number of nodes than when the loader was made", "make the loader again")
            if self._busy():  # that iteration has the former features, as it began
                self._loader = self._using = None
            else:
                self.close()
        self._marks, self._source = now, renewed(source, self._data)
        self._sampling.take(self._source)

    def _of_now(self):
        """What makes a single batch. Attributes of a data, features too, are read from it, so that nothing is compared."""
        if self._data is None:
            self._renew()
            return self._sampling
        out = copy.copy(self._sampling)
        out.take(renewed(self._source, self._data, True))
        return out

    # ---- iterating ----

    def __len__(self):
        """Number of batches, of this rank."""
        n = len(self._sampler) if self._sampler is not None else len(self.dataset)
        rank, ranks = self._ranks
        return n // self.batch_size // ranks if self.drop_last else (-(-n // self.batch_size) - rank + ranks - 1) // ranks

    def _drawn(self):
        """A number for this iteration, from the generator that PyTorch's loaders take it from; or the seed."""
        if (seed := self._options.get("seed")) is not None:
            return int(seed)
        return int(self._torch.empty((), dtype=self._torch.int64).random_(generator=self.generator)) % (1 << 31)

    @contextlib.contextmanager
    def _random(self):
        """With seed=, what PyTorch draws meanwhile follows from it and from how many iterations there were."""
        self._turn += 1
        if self._options.get("seed") is None:
            yield
            return
        with self._torch.random.fork_rng(devices=[]):
            self._torch.manual_seed((int(self._options["seed"]) << 20) + self._turn)
            yield

    def _drawn_once(self, drawn):
        """The seed of a Loader for one iteration: with seed=, of each another."""
        return drawn if self._options.get("seed") is None else (drawn + (self._turn - 1) * 0x9E3779B1) % (1 << 31)

    def _order(self):
        """Positions of this iteration, where Python decides them: a sampler, or a shuffle."""
        if self._sampler is not None:
            given = [*self._sampler]
            for i in given:
                if not hasattr(i, "__index__"):
                    raise OptionError(f"sampler: yields {i!r}", "give a sampler of single positions; batch_size= makes batches")
            return positions_of([int(i) for i in given], "sampler", len(self.dataset))
        n = len(self.dataset)
        return self._torch.randperm(n, generator=self.generator).numpy() if self.shuffle else np.arange(n)

    def _opened(self, drawn, batch, **how):
        known = self._draws_edges()
        return Loader(self._source.path, form=self._sampling.made, batch=batch, e_id=known,
                      edge_attr=known and any("edge_attr" in part.by_place for part in self._source.edges), **{"seed": drawn, "drop_last": self.drop_last} | self._options | how)

    def _draws_edges(self):
        """Whether the loader knows the places of edges at no cost. Else they are looked up."""
        return self._options.get("sampler", "uniform") in ("uniform", "disjoint", "weighted") and self._options.get("sample_on", "host") == "host"

    def _mine(self, order):
        """Positions of each batch of this rank."""
        rank, ranks = self._ranks
        batches = [order[at:at + self.batch_size] for at in range(0, len(order), self.batch_size)]
        if self.drop_last:
            n = len(order) // self.batch_size
            batches = batches[:n - n % ranks]
        return batches[rank::ranks]

    def _through(self, loader, order=None, size=None, sampling=None):
        """An iteration over a Loader whose seeds are at `order`, `size` in a batch. None: all of them, as they are."""
        return Iteration(self, map(lambda made: self._placed(*made, *self._places(made[0], made[2], order, size), sampling), iter(loader)))

    def _placed(self, batch, nodes, edges, places, pairs, sampling=None):
        return (sampling or self._sampling).data_of(batch, nodes, edges, lambda: self._metadata(places, pairs, self._input_id)), places, pairs

    def __iter__(self):
        self._renew()
        if self._sampler is None and len(self) == 0:
            return Iteration(self, iter(()))
        if self._fanouts.hops == 0:
            with self._random():
                return Iteration(self, map(self._of_seeds, self._mine(self._order())))
        if self._loader is not None and self._loader._restored:
            self._epochs.setdefault(("restored", self._loader.epoch), self._loader.epoch)
            return self._through(self._loader)
        drawn = self._drawn()
        if self._once():
            with self._random():
                order = self._order()
                if len(order) < (self.batch_size if self.drop_last else 1):
                    return Iteration(self, iter(()))
                return self._through(self._for_once(self._drawn_once(drawn), order, self.batch_size), order, self.batch_size)
        busy = self._busy()
        loader, epochs = (self._for_all(drawn), {}) if busy else (self._kept(drawn), self._epochs)
        loader._epoch = epochs.setdefault((drawn, len(epochs)) if "seed" in self._options else drawn, len(epochs) + 1) - 1
        out = self._through(loader)
        if not busy:
            self._using = weakref.ref(out)
        return out

    def _kept(self, drawn=None):
        """The Loader that all iterations share, but for those at the same time. If there is none yet it is opened with `drawn`."""
        if self._loader is None:
            if self._once() or self._fanouts.hops == 0:
                raise UnsupportedError(f"each iteration of this {type(self).__name__} opens a loader of its own" if self._once() else "nothing is sampled",
                                       "leave out sampler= and neg_sampling=, and sample neighbours")
            self._seed, self._epochs = self._drawn() if drawn is None else drawn, {}
            self._loader = self._for_all(self._seed)
        return self._loader

    @property
    def epoch(self):
        """The current or last iteration, from 1; 0 before the first."""
        return self._loader.epoch if self._loader else 0

    @property
    def plan(self):
        """As of an outgrow.Loader."""
        return self._kept().plan

    @property
    def metrics(self):
        """As of an outgrow.Loader."""
        return self._kept().metrics

    def state_dict(self):
        """The position after the last yielded batch. Save it with the model's state, after the step."""
        state = self._kept().state_dict()
        return state | {"seed": self._seed}

    def load_state_dict(self, state):
        """Continue at the position of state_dict(), with the same data and arguments. The next iteration yields the rest of that one."""
        self._renew()
        self.close()
        self._kept(state["seed"]).load_state_dict(state)
        self._epochs = {("restored", epoch): epoch for epoch in range(1, self._loader.epoch)}  # another draw of the same number is a new one

    def __call__(self, index):
        """The batch of these positions."""
        out = self.collate_fn(index)
        return out if self.filter_per_worker else self.filter_fn(out)

    def collate_fn(self, index):
        """What ZipLoader of PyTorch Geometric calls. With filter_per_worker the batch, else what filter_fn takes."""
        out = self._at(index)
        return self.filter_fn(out) if self.filter_per_worker else out

    def filter_fn(self, batch):
        """What an iteration yields of a batch. Subclasses may change it."""
        return batch if self.transform is None else self.transform(batch)

    def _at(self, index):
        sampling = self._of_now()
        with contextlib.suppress(TypeError):
            index = [operator.index(index)]
        index = positions_of(index, "index", len(self.dataset))
        if len(index) == 0:
            raise OptionError("index: no positions", "give those of one seed or more")
        if self._fanouts.hops == 0:
            return Iteration(self, iter([self._of_seeds(index, sampling)])).unfiltered()
        loader = self._for_once(self._drawn(), index, len(index), rank=0, world_size=1, drop_last=False)
        return self._through(loader, index, len(index), sampling).unfiltered()

    def _of_seeds(self, places, sampling=None):
        """A batch where nothing is sampled, the positions of its seeds, and pairs."""
        ids, pairs = self._seeds_at(places)
        nodes = [Nodes(self._torch.from_numpy(ids[part.name]), None, (len(ids[part.name]),), self._torch.arange(len(ids[part.name])) if self._disjoint else None)
                 if part.name in ids else None for part in self._source.nodes]
        return self._placed(types.SimpleNamespace(epoch=1, number=0), nodes, [], places, pairs, sampling)

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
        return made_again, (type(self), *self._given), {name: vars(self)[name] for name in ("_later", *self._later)}

    def __repr__(self):
        return f"{type(self).__name__}()"


class Iteration:
    """One iteration over a loader. `made` has its batches, the positions of their seeds, and pairs; `input_id` those of all positions."""

    def __init__(self, of, made, input_id=None):
        self._of, self._made, self._input_id, self.over = of, made, of._input_id if input_id is None else input_id, False

    def __iter__(self):
        return self

    def __len__(self):
        """Number of batches, those that were yielded included."""
        return len(self._of)

    def unfiltered(self):
        made = None if self.over else next(self._made, None)
        if made is None:
            self.over, self._made = True, None
            raise StopIteration
        return self._of._finished(*made, self._input_id)

    def __next__(self):
        return self._of.filter_fn(self.unfiltered())


class NeighborLoader(Base):
    """PyTorch Geometric's NeighborLoader over a graph that may be larger than memory: its arguments, defaults and batches.

    data            a Data or HeteroData. It is written once to a folder named by its contents ($OUTGROW_CACHE, or
                    ~/.cache/outgrow). Or the folder of a dataset, outgrow.stores of one, or a FeatureStore and a GraphStore, which are read whole
    num_neighbors   neighbours of each hop, the first nearest the seeds, -1 = all. Heterogeneous also {relation: numbers}, or a NumNeighbors
    input_nodes     ids or a mask; None: all nodes. Heterogeneous: a type, or (type, ids, a mask or None). With a dataset also "train", "valid", "test"
    weight_attr     the attribute of edges that neighbours are sampled by
    time_attr, input_time, temporal_strategy, disjoint   those of outgrow.Loader; batches have `batch` and seed_time
    subgraph_type   "directional", "bidirectional" or "induced". The second has sampled edges and their reverses, the third all edges between
                    the batch's nodes, from lists that are mapped
    transform       is applied to every batch; transform_sampler_output to PyTorch Geometric's SamplerOutput of it
    kwargs          those of PyTorch's DataLoader: batch_size=1, shuffle=False, drop_last=False, sampler=, generator=, ... Also arguments of
                    outgrow.Loader: memory="4G", rank, world_size, share, policy, epochs, max_held, threads, cache, topology, seed, ...

    Batches have x, edge_index, y and all other attributes of their nodes and edges, and the graph's. They also have n_id, e_id, input_id, batch_size,
    num_sampled_nodes and num_sampled_edges. Attributes but x are those of the data in memory; of a dataset those that outgrow.write stored.

    Order and neighbours follow from PyTorch's random numbers: each iteration takes one from `generator`, or from torch.manual_seed's. One
    that was there before, after another torch.manual_seed, gives that epoch again. With seed= they follow from it; with world_size= and no
    generator, seed is 1. Several iterations at a time, and sampler=, open the dataset for each. A graph without edges, or num_neighbors
    without neighbours, needs no dataset. isinstance of PyTorch Geometric's NeighborLoader is true, so that GraphSAGE.inference takes a
    loader; type() is this class. Arguments for which there is no sampling here, such as neighbor_sampler, raise
    UnsupportedError, a NotImplementedError.
    """

    def __init__(self, data, num_neighbors, input_nodes=None, input_time=None, replace=False, subgraph_type="directional", disjoint=False,
                 temporal_strategy="uniform", time_attr=None, weight_attr=None, transform=None, transform_sampler_output=None, is_sorted=False,
                 filter_per_worker=None, neighbor_sampler=None, directed=True, **kwargs):
        times = {"given": input_time, "name": "input_time", "disjoint": disjoint, "strategy": temporal_strategy, "time_attr": time_attr}
        given = {"neighbor_sampler": neighbor_sampler}
        input_id = kwargs.pop("input_id", None)
        self._open(data, input_nodes, num_neighbors, weight_attr, transform, transform_sampler_output, subgraph_of(subgraph_type, directed), times, given, kwargs | {"replace": bool(replace)})
        self.input_nodes = input_nodes
        self._part, self._nodes, mask = self._nodes_of(input_nodes)
        self._input_id = self._nodes if mask else np.arange(len(self._nodes))
        if input_id is not None:
            self._input_id = self._numbered(input_id, len(self._nodes), "input_nodes")
        self.input_time, self.input_id = input_time, input_id
        self._time = of_seeds(input_time, "input_time", len(self._nodes), self._nodes, self._part.n)
        self.dataset = range(len(self._nodes))

    _their = "torch_geometric.loader.neighbor_loader", "NeighborLoader"

    @property
    def input_data(self):
        """The seeds, as PyTorch Geometric's loader has them."""
        tensor = self._torch.from_numpy
        return import_for("pyg", "torch_geometric.sampler").NodeSamplerInput(tensor(self._input_id), tensor(self._nodes), self._time if self._time is None else self._times(self._time, self.input_time), self._part.name)

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
        if part.name is not None and isinstance(given, str):
            return self._split_of(given, part)
        if part.name is None and isinstance(given, (tuple, list)) and len(given) == 2 and isinstance(given[0], str):
            raise OptionError(f"input_nodes: of type {given[0]!r}, of a graph without types", "give ids, a mask, or None for all nodes")
        mask = array_of(given, "input_nodes").dtype.kind == "b"
        return part, ids_of(given, "input_nodes", part.n, "the graph" if part.name is None else f"the type {part.name}"), mask

    def _split_of(self, name, of=None):
        """Nodes of a dataset's split, of one type."""
        name = ALIASES.get(name, name)
        if name not in SPLITS or self._data is not None:
            known = [*(SPLITS if self._data is None else ()), *(part.name for part in self._source.nodes if part.name is not None and of is None)]
            raise OptionError(f"input_nodes: {name!r} is no split{'' if of else ' and no type'}", f"one of {', '.join(known)}, or ids, or a mask" if known else "give ids or a mask")
        if not is_there(self._source.path, name, meta_of(self._source.path)):
            raise OptionError(f"input_nodes: {self._source.path} has no split {name!r}", "give ids, a mask, or None for all nodes")
        ids = np.asarray(array_in(self._source.path, name, meta_of(self._source.path)))
        found = []
        for part in self._source.nodes:
            first = self._known(part)[1]
            inside = ids[(ids >= first) & (ids < first + part.n)] - first
            if len(inside) and of in (None, part):
                found.append((part, inside, False))
        if len(found) > 1:
            raise OptionError(f"input_nodes: the split {name!r} has nodes of {', '.join(part.name for part, *_ in found)}", f"name one: ({found[0][0].name!r}, {name!r})")
        if not found:
            raise OptionError(f"input_nodes: the split {name!r} is empty", "give ids, a mask, or None for all nodes")
        return found[0]

    def evaluate(self, split="valid"):
        """Iterate once over a split of a dataset, in order, with the same samples every time."""
        if self._data is not None:
            raise UnsupportedError("evaluate: a Data has no splits", "open an outgrow.NeighborLoader with input_nodes=data.val_mask")
        batches = self._kept().evaluate(split)
        n = len(array_in(self._source.path, ALIASES.get(split, split), meta_of(self._source.path)))
        return Iteration(self, (self._placed(*made, np.asarray(made[0].input_id), None) for made in batches), np.arange(n))

    def _seeds(self, nodes):
        name, _ = self._known(self._part)
        return nodes if name is None else (name, nodes)

    def _once(self):
        return self._sampler is not None

    def _renew(self):
        """Seeds, too. An array of ids is used as it is, as there, so that they may change between iterations."""
        super()._renew()
        if self._loader is not None and not self._loader._restored and not np.array_equal(self._nodes, self._opened_nodes):
            check_range(self._nodes, "input_nodes", self._part.n)
            self._loader = self._using = None if self._busy() else self.close()

    def _for_all(self, drawn):
        self._opened_nodes = self._nodes.copy()
        return self._opened(drawn, self.batch_size, seeds=self._seeds(self._nodes), shuffle=self.shuffle, input_time=self._time)

    def _for_once(self, drawn, order, batch, **how):
        time = None if self._time is None else self._time[order]
        return self._opened(drawn, batch, seeds=self._seeds(self._nodes[order]), input_time=time, **{"seed": drawn, "shuffle": False, "epochs": 1} | how)

    def _seeds_at(self, places):
        return {self._part.name: self._nodes[places]}, None

    @staticmethod
    def _places(batch, edges, order, size):
        place = np.asarray(batch.input_id)
        return place if order is None else order[place], None

    def _metadata(self, places, pairs, input_id):
        """As PyTorch Geometric's sampler has it."""
        return self._torch.from_numpy(input_id[places]), None if self._time is None else self._times(self._time[places], self.input_time)

    def _finished(self, out, places, pairs, input_id):
        store = out._store if self._part.name is None else out[self._part.name]
        if self._part.name is not None:
            out.input_type = self._part.name
        store["input_id"], store["seed_time"] = self._metadata(places, pairs, input_id)
        store["batch_size"] = len(places)
        return out
