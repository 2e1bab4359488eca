"""The loader: epochs of mini-batches for the user's model."""
import contextlib
import gc
import json
import os
import weakref

import numpy as np

from . import _outgrow
from ._arrays import array_of
from ._calls import Bar, leaving_out, tell, watched
from ._errors import BudgetError, Error, OptionError, warn
from ._forms import MAKERS
from ._ids import ids_of
from ._meta import meta_of, relation_names, type_ranges
from ._sparse import with_sparse
from ._options import one_of, text_of, texts_of
from ._stores import is_there, mapped
from ._times import of_seeds, options_of

# Arguments of PyG's NeighborLoader and PyTorch's DataLoader that have no effect here.
NOT_NEEDED = {"num_workers", "persistent_workers", "prefetch_factor", "pin_memory", "pin_memory_device", "multiprocessing_context",
              "filter_per_worker", "timeout", "worker_init_fn"}
# Arguments of theirs that no loader here has. Each has the value that is used here, and what to do in place of others.
ANY = object()
ONLY = {
    "neighbor_sampler": (None, "torch_geometric.loader.NodeLoader(outgrow.stores(path), sampler) uses one"),
    "batch_sampler": (None, "sampler= with batch_size="),
    "custom_cls": (None, "transform= may make another object"),
    "in_order": (True, "batches come in order"),
}
# Those that NeighborLoader and LinkNeighborLoader alone have here, and the value that is this loader's behaviour.
THEIRS = {"subgraph_type": "directional", "directed": True, "weight_attr": None, "transform": None, "transform_sampler_output": None, "is_sorted": ANY,
          "generator": None, "edge_label_index": None, "edge_label": None, "edge_label_time": None, "neg_sampling": None, "neg_sampling_ratio": None}
WITHOUT_EFFECT = {"model": "the model is yours", "run": "it writes no files of a run", "device": "batches are in host memory; batch.to(device) copies one"}
SPLITS = ("train", "valid", "test")
ALIASES = {"val": "valid", "validation": "valid"}  # of splits
# Arguments that this loader alone has. A call with one of them is not NeighborLoader's, whatever it calls its fanout.
OWN = {"fanout", "batch", "split", "seeds", "links", "source_repeats", "form", "eval_every", "no_shuffle", "draw", "e_id", "edge_attr"}
LEFT_OUT = "input_nodes: left out, so outgrow.Loader takes the training split, where NeighborLoader takes all nodes. " \
           "Give input_nodes=\"train\" for these seeds, input_nodes=None for all nodes"
OF_NO_EDGES = "walk", "ladies"  # samplers, whose neighbours are not along edges of the graph, hop by hop
ALL_TRAIN = "100/0/0"  # edge_split
OF_LINKS = {"edge_label_index", "edge_label", "edge_label_time", "neg_sampling", "neg_sampling_ratio"}


def seeds_of(about, nodes, name):
    """Ids of the whole graph, from ids or a mask. For a heterogeneous graph from (type, ids or a mask within the type, or None: all). `name` is the argument's
    name."""
    ranges = type_ranges(about)
    typed = isinstance(nodes, tuple) and len(nodes) == 2 and isinstance(nodes[0], str)
    if not ranges and not typed:
        return np.arange(about["num_nodes"]) if nodes is None else ids_of(nodes, name, about["num_nodes"])
    if not typed:
        raise OptionError(f"{name}: of which type?", f"give (type, ids), the type one of {', '.join(ranges)}")
    of, nodes = nodes
    if of not in ranges:
        raise OptionError(f"{name}: there are no nodes of type {of!r}", f"types: {', '.join(ranges)}" if ranges else "the graph has none: give ids alone")
    first, end = ranges[of]
    return (np.arange(end - first) if nodes is None else ids_of(nodes, name, end - first, f"the type {of}")) + first


def whose(dataset, split, seeds, input_nodes):
    """Resolve the three arguments of seeds: split, ids of the whole graph, and whether to keep their order. None and None if none is given."""
    given = input_nodes is not ...
    if given and input_nodes is None and (split or seeds is not None):
        given = False
    if seeds is not None or given:
        if given and seeds is not None or split not in (None, "train"):
            raise OptionError(f"{'seeds' if seeds is not None else 'split'} and {'input_nodes' if given else 'split'} stand for the same", "give one of them")
        split = None
    if not given:
        return split, None if seeds is None else seeds_of(meta_of(dataset), seeds, "seeds"), False
    if isinstance(input_nodes, str):
        types = type_ranges(meta_of(dataset))
        split = input_nodes if input_nodes in types else ALIASES.get(input_nodes, input_nodes)
        if split in SPLITS:
            return split, None, True
        if input_nodes not in types:
            raise OptionError(f"input_nodes: {input_nodes!r} is no split{' and no type' if types else ''}", f"one of {', '.join([*SPLITS, *types])}, or ids of nodes")
        input_nodes = input_nodes, None
    return None, seeds_of(meta_of(dataset), input_nodes, "input_nodes"), True


def links_of(links):
    """int64 [n, 2], in C order."""
    links = array_of(links, "links")
    if links.ndim != 2 or links.shape[1] != 2 or links.dtype.kind not in "iu":
        raise OptionError(f"links: {links.dtype} {list(links.shape)}", "give pairs of nodes, integers [n, 2]: source and destination of each")
    return np.ascontiguousarray(links, np.int64)


def fanout_of(about, fanout):
    """The option's text from a dict by relation, as in PyTorch Geometric."""
    relations = relation_names(about)
    if not relations:
        raise OptionError("fanout: by relations, of a graph without types", "give the numbers alone: [10, 10]")
    named = {name if isinstance(name, str) else "__".join(name): numbers for name, numbers in fanout.items()}
    missing = [r for r in relations if "__".join(r) not in named and r[1] not in named]
    if missing:
        raise OptionError(f"fanout: no numbers for {missing[0]}", "give numbers for every relation, or fanout=\"10,10;cites=15,10\": the first part is all others'")
    texts = {name: text_of("fanout", numbers) for name, numbers in named.items()}
    hops = next(iter(texts.values())).count(",") + 1
    return ";".join([",".join(["1"] * hops), *(f"{name}={text}" for name, text in texts.items())])  # no relation uses the first part


def is_the_same(value, ours):
    value = getattr(value, "value", value)  # an enumeration
    return ours is ANY or value is ours or isinstance(value, type(ours)) and value == ours


def is_theirs(name, value):
    """Whether this loader refuses the argument, and NeighborLoader or LinkNeighborLoader has it."""
    if name == "sampler":
        return not isinstance(value, (str, type(None)))
    return name in THEIRS and value is not None and not is_the_same(value, THEIRS[name])


def without_theirs(options):
    """Options without those of PyTorch Geometric's loaders, whose values must be this loader's behaviour."""
    for name, (ours, instead) in (ONLY | {"collate_fn": (None, "change batches in the loop")}).items():
        if name in options and not is_the_same(options[name], ours):
            raise OptionError(f"{name}: the loader has no such argument", instead)
    for name, value in options.items():
        if is_theirs(name, value):
            raise OptionError(f"{name}: the loader has no such argument" if name in THEIRS else f"sampler: {type(value).__name__} is not an Outgrow sampler",
                              f"outgrow.{'Link' * (name in OF_LINKS)}NeighborLoader takes it, with num_neighbors= in place of fanout=")
    return {name: value for name, value in options.items() if name not in ONLY and name not in THEIRS and name != "collate_fn"}


def options_for(form, options):
    """Options of the library from arguments of this and of other loaders."""
    options = without_theirs(options)
    given = sorted(NOT_NEEDED & options.keys())
    if any(options[name] for name in given):
        warn(f"{given[0]} is not needed: the loader has threads of its own (option threads)")
    options = {name: value for name, value in options.items() if name not in NOT_NEEDED}
    for name, why in WITHOUT_EFFECT.items():
        if options.get(name) is not None and (name != "device" or options.get("sample_on") is None):
            warn(f"{name} has no effect in a loader: {why}")
    if "shuffle" in options:
        options["no_shuffle"] = not options.pop("shuffle")
    if form == "pyg" and options.get("sampler") != "ladies":  # layer-wise
        options.setdefault("draw", "once")
    return options


def ranks_of(rank, world_size):
    """Rank, ranks, and how many of these are on this machine, as torchrun says; else all."""
    for name, value, least in ("world_size", world_size, 1), ("rank", rank, 0):
        if not hasattr(value, "__index__") or value < least:
            raise OptionError(f"{name}: {value!r}", "give torch.distributed.get_rank() and get_world_size()")
    if rank >= world_size:
        raise OptionError(f"rank: {rank}, of {world_size}", "ranks count from 0: give rank=torch.distributed.get_rank()")
    local = os.environ.get("LOCAL_WORLD_SIZE", "")
    return int(rank), int(world_size), min(int(local), int(world_size)) if local.isdecimal() else 0


def share_of(share):
    """The name of shared memory. None: no further name. "": copies of their own."""
    if not isinstance(share, (bool, str)):
        raise OptionError(f"share: {share!r}", "give True, False, or a name in which ranks agree")
    return (None if share else "") if isinstance(share, bool) else share


def in_their_words(dataset, arguments, options):
    """Whether a call is one of NeighborLoader or LinkNeighborLoader."""
    if hasattr(dataset, "stores") or isinstance(dataset, tuple) or arguments:
        return True
    own = any(name in OWN for name in options) or options.get("sampler") in OF_NO_EDGES or options.get("edge_split") not in (None, ALL_TRAIN)
    return "num_neighbors" in options and (not own or any(is_theirs(name, value) for name, value in options.items()))


def their_loader(dataset, arguments, options):
    """NeighborLoader or LinkNeighborLoader for a call with their arguments. With task="link" it is LinkNeighborLoader over all edges, with a negative for
    each."""
    from . import _links, _neighbor  # which are built on this module
    task, relation = options.pop("task", None), options.pop("relation", None)
    links = task == "link" or any(options.get(name) is not None for name in OF_LINKS)
    if not arguments and "num_neighbors" not in options:
        raise OptionError("num_neighbors: not given", "a Loader of a Data is an outgrow.NeighborLoader: give num_neighbors=[10, 10], batch_size=1000, ... of that")
    if links:
        options.pop("edge_split", None)
        if not any(options.get(name) is not None for name in OF_LINKS):
            options |= {"neg_sampling": "binary", "edge_label_index": relation}
        return _links.LinkNeighborLoader(dataset, *arguments, **options)
    if "input_nodes" not in options and len(arguments) < 2 and isinstance(dataset, (str, os.PathLike)) and is_there(dataset, "train", meta_of(dataset)):
        options["input_nodes"] = "train"
        warn(LEFT_OUT)
    mask = options.get("input_nodes")
    if "input_id" not in options and "bool" in str(getattr(mask, "dtype", "")) and not hasattr(dataset, "stores"):
        options["input_id"] = np.arange(int(mask.sum()))  # as this loader has them, positions among the seeds
    return _neighbor.NeighborLoader(dataset, *arguments, **options)


class OwnThreads:
    """Methods of PyTorch Geometric's loaders about worker processes, which have no effect here."""

    num_workers = 0

    @contextlib.contextmanager
    def enable_multithreading(self, worker_threads=None):
        warn("enable_multithreading is not needed: the loader has threads of its own (option threads)")
        yield

    @contextlib.contextmanager
    def enable_cpu_affinity(self, loader_cores=None):
        warn("enable_cpu_affinity is not needed: the loader has threads of its own (option threads)")
        yield

    @contextlib.contextmanager
    def enable_memory_log(self):
        warn("enable_memory_log has no effect: the loader has no worker processes; metrics has what it reads")
        yield


class Loader(OwnThreads):
    """Mini-batches of a dataset that may be larger than memory, for PyTorch Geometric, DGL or NumPy.

    The library's threads sample ahead, plan which feature rows to cache for each batch, and read the others. Each finished batch is
    copied once, into a buffer that tensors share. Batches and their order are those of `outgrow sample` with the same options, for
    any memory, policy and threads.

    dataset       folder of a dataset, from outgrow.write or outgrow.import_. For a Data or HeteroData, or with num_neighbors in place of fanout,
                  the result is an outgrow.NeighborLoader or LinkNeighborLoader, with its defaults. An argument that this loader alone has
                  (batch, split, seeds, links, form, eval_every) prevents that
    fanout        neighbours per node and hop, the hop nearest the seeds first, -1 = all; alias num_neighbors. For a heterogeneous
                  graph numbers for all relations, {relation: numbers}, or "10,10;cites=15,10"
    batch         seeds per batch; alias batch_size
    memory        "4G", "25%" or bytes: limit of all memory of the loader [90 % of the free memory]
    policy        which rows the cache keeps: "auto" measures, "belady" uses the future, ... (docs/reference/policies.md)
    split         "train", "valid" or "test" ["train"]: the seeds, shuffled in each epoch
    seeds         or these nodes, shuffled likewise: ids, which may repeat, or a mask. For a heterogeneous graph
                  (type, ids or a mask within the type, or None: all)
    input_nodes   or the seeds as in NeighborLoader: ids, a mask, or the name of a split or type. None: all
                  nodes. They are used in this order, unless shuffle=True
    form          "pyg": torch_geometric.data.Data as from NeighborLoader: x, edge_index, y (of the seeds), n_id, batch_size,
                  num_sampled_nodes, num_sampled_edges. Nodes sample their neighbours once per batch (draw="once"), so that all
                  layers use one edge_index, with or without trim_to_layer. For a heterogeneous graph a HeteroData.
                  "adjs":  (batch_size, n_id, adjs, x, y), with adjs as from PyG's NeighborSampler.
                  "dgl":  (input_nodes, output_nodes, blocks) as from DGL's DataLoader, with blocks[0].srcdata["feat"] and
                  blocks[-1].dstdata["label"]; by type for a heterogeneous graph.
                  "arrays":  NumPy arrays, see outgrow.Arrays
    epochs        number of epochs to plan for; later epochs may be iterated over too
    step_seconds  seconds of the caller's step, an input of policy="auto"
    max_held      batches that the caller retains in addition to the last one; each has a planned buffer [2]. A training loop retains
                  one, through its loss; evaluation in between adds one. More take further memory, as a list of all does, with one
                  warning. With an explicit number more raise BudgetError
    eval_every    evaluate("valid") follows every so many epochs, and the last. Its batches are planned and prefetched like an
                  epoch's. By default an evaluation drops what was planned and prefetched, and the next epoch restarts
    progress      show tqdm's progress bar, if installed
    drop_last     end an epoch before a batch with fewer seeds. With several ranks also before a round without a batch for each
    e_id          batches have e_id, the place of each edge in indices.npy. A relation has rel<r>_indices.npy. The order is that of weights.npy,
                  edge_features.npy and edge_ids.npy. Not for walks, pre-sampled batches and a device that samples
    edge_attr     batches have edge_attr, the dataset's features of each edge, in DGL's blocks edata["feat"]. Rows of edges are planned, cached and
                  read within `memory` as rows of nodes are. As e_id
    rank, world_size   of a process that trains together with others, as under torch.distributed. It has the batches whose number modulo
                  world_size is rank. So the processes' batches are those of one process, a round of world_size batches in the place of
                  each world_size batches. All processes give the same arguments; those of one machine share `memory`
    share         ranks of one machine share one topology, and one static cache of all features. A name keeps them apart from other runs
                  over the dataset; False: copies of their own
    disjoint      each seed has a neighbourhood of its own, in which a node is once. Batches have `batch`, the seed of each node
    time_attr     the attribute with times of nodes or edges (outgrow.write). No edge of a neighbourhood is later than its seed, whose
                  time is that of the node or input_time. Neighbourhoods are disjoint. An edge has the time of its source, or its own
    input_time    [n] with seeds or input_nodes: the time of each
    temporal_strategy, time_window   "uniform" or "last": any of the allowed edges, or the latest. Edges that are at most so much
                  earlier than the seed
    links         for task="link", in place of the graph's edges: [n, 2] source and destination of each. Ids are of the whole graph; for a
                  heterogeneous graph of relation=. Batches keep edges that links repeat, and no negatives are drawn
    source_repeats  with links, disjoint and shuffle=False: links after each that have its source and its neighbourhood. The first
                  m = n / (1 + source_repeats) of a batch's n links have sources of their own, link i that of link i % m
    options       any other option of training that concerns batches: sampler="labor", seed=1, threads=4, topology="disk",
                  cache="10%", shuffle=False, ... (`outgrow help train`)

    Iterating n times yields epochs 1 to n; leaving an epoch early ends it. A batch stays valid while any part of it is referenced,
    also after close(). Any thread may use a loader, but only one iteration at a time; several loaders may exist. In a forked
    process, such as a DataLoader's worker, it raises an error: num_workers is not needed.

    PyTorch Geometric:

        import torch, torch.nn.functional as F
        from torch_geometric.nn import GraphSAGE
        import outgrow

        loader = outgrow.Loader("graph", fanout=[10, 10], batch=1000, memory="2G", epochs=5)
        info = outgrow.info("graph")
        model = GraphSAGE(info["feature_dim"], 64, 2, info["num_classes"])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for epoch in range(5):
            for batch in loader:
                optimizer.zero_grad()
                out = model(batch.x, batch.edge_index)[:batch.batch_size]
                loss = F.cross_entropy(out, batch.y[:batch.batch_size])
                loss.backward()
                optimizer.step()
            print(epoch, loss.item(), loader.metrics["epochs"][-1]["hits"])

    DGL:

        import torch, torch.nn.functional as F
        from dgl.nn import SAGEConv
        import outgrow

        loader = outgrow.Loader("graph", fanout=[10, 10], batch=1000, memory="2G", epochs=5, form="dgl")
        info = outgrow.info("graph")
        layers = torch.nn.ModuleList([SAGEConv(info["feature_dim"], 64, "mean"), SAGEConv(64, info["num_classes"], "mean")])
        optimizer = torch.optim.Adam(layers.parameters(), lr=0.01)
        for epoch in range(5):
            for input_nodes, output_nodes, blocks in loader:
                h = F.relu(layers[0](blocks[0], blocks[0].srcdata["feat"]))
                loss = F.cross_entropy(layers[1](blocks[1], h), blocks[1].dstdata["label"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(epoch, loss.item())

    Heterogeneous graphs, in PyTorch Geometric:

        import torch, torch.nn.functional as F
        from torch_geometric.nn import HeteroConv, SAGEConv
        import outgrow

        loader = outgrow.Loader("typed", fanout=[10, 10], batch=1000, memory="2G", epochs=5)
        widths = {("paper", "cites", "paper"): (32, 32), ("author", "writes", "paper"): (16, 32), ("paper", "written", "author"): (32, 16)}
        layers = torch.nn.ModuleList([HeteroConv({r: SAGEConv(w, 64) for r, w in widths.items()}), HeteroConv({r: SAGEConv(64, 16) for r in widths})])
        optimizer = torch.optim.Adam(layers.parameters(), lr=0.01)
        for epoch in range(5):
            for batch in loader:
                h = {name: x.relu() for name, x in layers[0](batch.x_dict, batch.edge_index_dict).items()}
                loss = F.cross_entropy(layers[1](h, batch.edge_index_dict)["paper"][:batch["paper"].batch_size], batch["paper"].y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(epoch, loss.item())

    NumPy only, the mean of the features of each seed's sampled neighbours:

        import numpy as np
        import outgrow

        with outgrow.Loader("graph", fanout=[10], batch=1000, memory="2G", epochs=1, form="arrays") as loader:
            for batch in loader:
                hop = batch.hops[0]
                sums = np.zeros((hop.n_dst, batch.x.shape[1]))
                np.add.at(sums, hop.dst, batch.x[hop.src])
                means = sums / np.maximum(np.diff(hop.indptr), 1)[:, None]
                print(batch.number, means.mean(), np.bincount(batch.y[batch.y >= 0]))
    """

    def __new__(cls, dataset, *arguments, **options):
        if in_their_words(dataset, arguments, options):
            return their_loader(dataset, arguments, options)
        return super().__new__(cls)

    def __init__(self, dataset, *, fanout=None, batch=1000, memory=None, policy="auto", split=None, seeds=None, form="pyg",
                 epochs=10, step_seconds=None, max_held=None, eval_every=None, progress=False, num_neighbors=None, batch_size=None, input_nodes=...,
                 links=None, source_repeats=0, disjoint=False, time_attr=None, input_time=None, temporal_strategy="uniform", time_window=None, drop_last=False, e_id=False, edge_attr=False, rank=0, world_size=1, share=True, hold=None, **options):
        if not callable(form) and form not in MAKERS:
            raise OptionError(f"form: {form!r} is not one of {', '.join(MAKERS)}")
        self._form = form if callable(form) else MAKERS[form]()
        self._progress = progress
        self._native = None
        if not isinstance(dataset, (str, bytes, os.PathLike)):
            raise OptionError(f"dataset: {type(dataset).__name__} is no folder", "use outgrow.write(\"graph\", data), then Loader(\"graph\")")
        self._form = with_sparse(os.fspath(dataset), self._form)
        fanout = one_of("fanout", fanout, None, "num_neighbors", num_neighbors)
        if fanout is None:
            raise OptionError("fanout: not given", "pass fanout=[10, 10]: neighbours per node in each hop, the hop nearest the seeds first")
        if hasattr(fanout, "items"):
            fanout = fanout_of(meta_of(dataset), fanout)
        batch = one_of("batch", batch, 1000, "batch_size", batch_size)
        self.batch_size, self.drop_last = batch, bool(drop_last)
        links = None if links is None else links_of(links)
        split = ALIASES.get(split, split)
        split, seeds, ordered = whose(dataset, split, seeds, input_nodes) if links is None else (None, links, False)
        if ordered and "no_shuffle" not in options:
            options.setdefault("shuffle", False)
        if not (split or seeds is not None):
            split = "train"
            if options.get("task") != "link" and not (num_neighbors is None and batch_size is None):
                warn(LEFT_OUT)
        if input_time is not None and time_attr is None:
            raise OptionError("input_time: without time_attr", "give time_attr, the attribute that has the times")
        if input_time is not None and seeds is None:
            raise OptionError("input_time: of a split", f"give input_nodes= ids of nodes; or {split}_times.npy to the import")
        times = of_seeds(input_time, "input_time", 0 if seeds is None else len(seeds), seeds if links is None else None, meta_of(dataset)["num_nodes"])
        options |= options_of(dataset, time_attr, temporal_strategy, disjoint, time_window)
        texts = texts_of({"fanout": fanout, "batch": batch, "memory": memory, "policy": policy, "epochs": epochs,
                          "eval_every": eval_every, **options_for(form, options)})
        if hold is not None:
            warn("outgrow.Loader: hold= is called max_held= now")
        max_held = one_of("max_held", max_held, None, "hold", hold)
        if max_held is not None and (not hasattr(max_held, "__index__") or not 0 <= max_held <= 1000):
            raise OptionError(f"max_held: {max_held!r}", "give a whole number, 0 to 1000; 1 is enough for a plain loop")
        if step_seconds is not None and (isinstance(step_seconds, str) or not hasattr(step_seconds, "__float__")):
            raise OptionError(f"step_seconds: {step_seconds!r}", "give a number")
        self._held, self._grows = 2 if max_held is None else max_held, max_held is None
        self._watch = _outgrow.Watch()
        with leaving_out("draw has no effect"):  # which batches of PyTorch Geometric have unless it is given
            self._native = watched(_outgrow.open_loader, os.fspath(dataset), texts, split, seeds, self._held, step_seconds or 0.0,
                                   bool(eval_every), ranks_of(rank, world_size), share_of(share), bool(drop_last), bool(e_id), bool(edge_attr), times, source_repeats, watch=self._watch)
        if seeds is not None or options.get("task") != "link":
            self.dataset = range(len(seeds if seeds is not None else mapped(os.path.join(os.fspath(dataset), f"{split}.npy"))))
        self._epoch = 0  # of the latest iteration
        self._turn = 0   # number of the iteration that may continue
        self._restored = False
        self._added = 0  # buffers, beyond those that memory has room for

    # ---- iterating ----

    def __len__(self):
        """Number of batches per epoch, of this rank."""
        return self._native.batches(None)

    def __iter__(self):
        if self._restored:
            self._restored = False
        else:
            self._native.start(self._epoch + 1)
            self._epoch += 1
        return Pass(self, len(self), f"epoch {self._epoch}")

    def evaluate(self, split="valid"):
        """Iterate once over a split, in order, with the same samples every time. Use it between epochs: it ends a current epoch, and
        drops what was prefetched, except for "valid" with eval_every."""
        split = ALIASES.get(split, split)
        if split not in SPLITS:
            raise OptionError(f"split: {split!r} is not one of {', '.join(SPLITS)}")
        self._native.evaluate(split)
        return Pass(self, self._native.batches(split), split)

    def __repr__(self):
        return f"{type(self).__name__}()"

    def __getitem__(self, index):
        raise OptionError("a Loader is iterated over as it is, without a DataLoader: num_workers is not needed")

    def __reduce__(self):
        raise OptionError("a Loader cannot be sent to another process: num_workers is not needed, it has threads of its own")

    # ---- properties ----

    @property
    def epoch(self):
        """The current or last epoch, from 1; 0 before the first."""
        return self._epoch

    @property
    def plan(self):
        """The plan of memory and reads, as in plan.json (docs/reference/json.md)."""
        return json.loads(self._native.plan())

    @property
    def metrics(self):
        """Counters of the yielded batches: {"prepare", "epochs": [{"epoch", "rows", "hits", "misses", "bytes_read", "stall_seconds",
        ...}], ...}."""
        return json.loads(self._native.metrics())

    # ---- resuming ----

    def state_dict(self):
        """The position after the last yielded batch. Save it with the model's state, after the step."""
        return {"outgrow": self._native.state()}

    def load_state_dict(self, state):
        """Continue at the position of state_dict(), with the same dataset and options. The next iteration yields the rest of that
        epoch, possibly nothing, and `epoch` is its number at once."""
        self._native.restore(state["outgrow"])
        self._epoch, self._restored = json.loads(state["outgrow"])["epoch"], True

    # ---- the end ----

    def close(self):
        """End the threads and free the memory, except that of retained batches. May be called twice."""
        self._turn += 1
        if self._native is not None:
            self._native.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class Pass:
    """One iteration over a loader."""

    def __init__(self, loader, batches, name):
        self._loader, self._name, self._batches = loader, name, batches
        self._bar, self._n = Bar(loader._progress), 0
        if loader._progress:  # else without a finalizer, in which Ctrl-C would be lost
            weakref.finalize(self, self._bar.close)
        loader._turn += 1
        self._turn = loader._turn

    def __iter__(self):
        return self

    def __next__(self):
        loader = self._loader
        if loader is None:
            raise StopIteration
        if loader._turn != self._turn:
            self._end()
            raise Error("this iteration is over: another one of the same loader has begun since, or it was closed",
                        "open a loader for each of them")
        try:
            batch = self._take(loader)
        except BaseException:
            self._bar.close()
            raise
        tell(loader._watch)
        if batch is None:
            self._end()
            raise StopIteration
        self._n += 1
        self._bar.show(self._name, self._n, self._batches)
        return loader._form(batch)

    def _take(self, loader):
        """Get the next batch. If no buffer is free, collect reference cycles that may retain batches; then add a buffer.
        Where buffers are added, cycles are collected when their number has doubled, since a collection takes milliseconds."""
        native, added = loader._native, loader._added
        if not loader._grows or added & (added - 1) == 0:
            try:
                return native.next()
            except BudgetError:
                gc.collect()
        try:
            return native.next()
        except BudgetError as error:
            if not loader._grows:
                raise
            if not added:
                warn(f"outgrow: {error.message}: each further one takes memory of its own, beside `memory`. "
                     "Release batches, or give max_held=, which memory has room for and which is not exceeded")
        loader._added += 1
        native.grow()
        return native.next()

    def _end(self):
        self._bar.close()
        self._loader = None
