"""A dataset as GraphBolt's of DGL: its graph, features and tasks. Features stay on disk and are read through a cache."""
import concurrent.futures
import json
import os
import types

import numpy as np

from . import _outgrow
from ._errors import OptionError, UnsupportedError
from ._forms import import_for
from ._meta import meta_of, relation_names, type_ranges
from ._options import folder_of, text_of, texts_of
from ._stores import SPLITS, array_in, edge_features_of, files_of, is_there, labelled_types, parts_of, weights_of

FEATURE, WEIGHT = "feat", "weight"
LEAST = 24 << 20  # of one feature: half of it are buffers of reads


def edge_name(relation):
    return ":".join(relation)


# ---- features ----

def feature_of(dataset, domain, number, options):
    """A gb.Feature of a node type's or a relation's rows. It opens them at the first read, and again in another process."""
    torch, gb = import_for("graphbolt", "torch"), import_for("graphbolt", "dgl.graphbolt")
    about = meta_of(dataset)
    edges = domain == "edge"
    part = (list(edge_features_of(dataset, about, "c").values()) if edges else list(parts_of(dataset, about, "c").values()))[number]
    rows = part.arrays["x"]
    if not edges and part.form is not None:
        raise UnsupportedError("graphbolt: sparse rows", "use outgrow.Loader, or import the graph with feature_layout=\"dense\"")

    class Feature(gb.Feature):
        def __init__(self):
            super().__init__()
            self._process = self._reader = self._thread = None

        def __reduce__(self):
            return feature_of, (dataset, domain, number, options)

        def __repr__(self):
            return f"outgrow's feature of {domain} {number} of {dataset!r}: {list(rows.shape)}"

        def _submit(self, call, *arguments):
            """Runs it on the thread that reads, one at a time."""
            if self._process != os.getpid():
                self._thread, self._reader, self._process = concurrent.futures.ThreadPoolExecutor(1, "outgrow"), None, os.getpid()
            return self._thread.submit(call, *arguments)

        def _open(self):
            if self._reader is None:
                relation = [*files_of(about)].index([*edge_features_of(dataset, about)][number]) if edges else number
                self._reader = _outgrow.open_rows(dataset, edges, relation, options)
            return self._reader

        def _read(self, ids):
            ids = ids.detach().cpu().to(torch.int64).contiguous()
            out = np.empty((len(ids), *rows.shape[1:]), rows.dtype)
            self._open().read(ids.numpy(), out)
            return part.tensor(torch, "x", out)

        def read(self, ids=None):
            if ids is None:
                return part.tensor(torch, "x", rows)
            return self._submit(self._read, ids).result().to(ids.device)

        def read_async(self, ids):
            future = self._submit(self._read, ids)
            yield types.SimpleNamespace(wait=lambda: future.result().to(ids.device))

        def read_async_num_stages(self, ids_device):
            return 1

        def size(self):
            return torch.Size(rows.shape[1:])

        def count(self):
            return len(rows)

        def update(self, value, ids=None):
            raise UnsupportedError("update: a dataset is read only", "gb.TorchBasedFeature(feature.read()) is a copy in memory")

        def is_pinned(self):
            return False

        def counters(self):
            """Rows that were requested, hits, misses and bytes read since the first read."""
            return self._submit(lambda: json.loads(self._open().about())).result()

    return Feature()


def shares_of(arrays, memory):
    """Bytes of memory for each array, in proportion to its size."""
    whole, sizes = _outgrow.import_memory(text_of("memory", memory)), {key: max(array.nbytes, 1) for key, array in arrays.items()}
    spare = whole - LEAST * len(arrays)
    if spare < 0:
        raise OptionError(f"memory: {whole >> 20} MiB for {len(arrays)} arrays of features", f"give at least {LEAST * len(arrays) >> 20} MiB")
    return {key: LEAST + spare * n // sum(sizes.values()) for key, n in sizes.items()}


def features_of(gb, dataset, about, memory, options):
    parts, edges, named = parts_of(dataset, about), edge_features_of(dataset, about), bool(type_ranges(about))
    numbers = {("node", name if named else None, FEATURE): number for number, name in enumerate(parts) if "x" in parts[name].arrays}
    numbers |= {("edge", edge_name(name) if named else None, FEATURE): number for number, name in enumerate(edges)}
    arrays = {key: (edges if key[0] == "edge" else parts) for key in numbers}
    arrays = {key: [*of.values()][numbers[key]].arrays["x"] for key, of in arrays.items()}
    shares = shares_of(arrays, memory)
    return gb.BasicFeatureStore({key: feature_of(dataset, key[0], number, options | {"memory": str(shares[key])}) for key, number in numbers.items()})


# ---- the graph ----

def fused(about, lists):
    """The lists of all relations as one, those of a node by relation. Also places in it of each relation's edges, in their order."""
    ranges, relations = type_ranges(about), relation_names(about)
    degree = np.zeros(max(end for _, end in ranges.values()) + 1, np.int64)
    for (_, _, end), (indptr, _) in zip(relations, lists):
        first, last = ranges[end]
        degree[first + 1:last + 1] += np.diff(indptr)
    whole = np.cumsum(degree)
    at, places = whole[:-1].copy(), []
    for (_, _, end), (indptr, _) in zip(relations, lists):
        first, last = ranges[end]
        places.append(np.repeat(at[first:last] - indptr[:-1], np.diff(indptr)) + np.arange(indptr[-1]))
        at[first:last] += np.diff(indptr)
    return whole, places


def spread(places, values, dtype):
    """An array of all edges, from one of each relation."""
    out = np.empty(sum(map(len, places)), dtype)
    for place, value in zip(places, values):
        out[place] = value
    return out


def graph_of(torch, gb, dataset, about):
    """gb.FusedCSCSamplingGraph. A homogeneous graph's files are mapped; of a heterogeneous one relations are joined in memory."""
    lists = [tuple(array_in(dataset, f"{prefix}{name}", about, "c") for name in ("indptr", "indices")) for prefix in files_of(about).values()]
    weights, edges = list(weights_of(dataset, about).values()), edge_features_of(dataset, about)
    relations, ranges, more, attributes = relation_names(about), type_ranges(about), {}, {}
    if not relations:
        (indptr, indices), numbers = lists[0], np.arange(len(lists[0][1]) if edges else 0)
        weights = array_in(dataset, "weights", about, "c") if weights else None
    else:
        indptr, places = fused(about, lists)
        indices = spread(places, (of + ranges[name[0]][0] for name, (_, of) in zip(relations, lists)), np.int64)
        numbers = spread(places, (np.arange(len(place)) for place in places), np.int64) if edges else []
        weights = spread(places, weights, np.float32) if len(weights) == len(relations) else None
        more = {"node_type_offset": torch.tensor([*(first for first, _ in ranges.values()), len(indptr) - 1]),
                "type_per_edge": torch.from_numpy(spread(places, range(len(places)), np.uint8 if len(places) < 256 else np.int16)),
                "node_type_to_id": {name: i for i, name in enumerate(ranges)}, "edge_type_to_id": {edge_name(name): i for i, name in enumerate(relations)}}
    if len(numbers):
        attributes[gb.base.ORIGINAL_EDGE_ID] = torch.from_numpy(numbers)
    if weights is not None:
        attributes[WEIGHT] = torch.from_numpy(weights)
    return gb.fused_csc_sampling_graph(torch.from_numpy(indptr), torch.from_numpy(indices), edge_attributes=attributes or None, **more)


# ---- tasks ----

def tasks_of(torch, gb, dataset, about, dtype):
    """Node classification or regression over the splits."""
    ranges = type_ranges(about)
    if not is_there(dataset, "labels", about):
        return []
    names = [name for name in labelled_types(dataset, about, ranges) if name] if ranges else [None]
    labels = array_in(dataset, "labels", about)
    seeds = "seed_nodes" if hasattr(gb.MiniBatch, "seed_nodes") else "seeds"  # until DGL 2.2

    def items(split):
        ids = np.array(array_in(dataset, split, about)) if is_there(dataset, split, about) else np.empty(0, np.int64)
        of = {}
        for name in names:
            first, end = ranges[name] if name else (0, about["num_nodes"])
            mine = ids[(ids >= first) & (ids < end)]
            of[name] = gb.ItemSet((torch.from_numpy(mine - first).to(dtype), torch.from_numpy(labels[mine])), names=(seeds, "labels"))
        return gb.ItemSetDict(of) if ranges else of[None]
    metadata = {"name": about.get("task", "node classification").replace(" ", "_"), "num_classes": about.get("num_classes")}
    return [gb.OnDiskTask(metadata, *map(items, SPLITS))]


def graphbolt(dataset, *, memory="4G", policy=None, io=None):
    """Open a dataset for GraphBolt of DGL: an object like gb.OnDiskDataset, whose features stay on disk.

    It takes the place of gb.OnDiskDataset(path).load(): docs/guides/python.md has a pipeline.

    dataset   folder of a dataset
    memory    bounds the caches of features and what reads them. Each array has a share in proportion to its size
    policy    of the caches, an adaptive one: s3fifo [the default], lru, clock, sieve, tinylfu, rr; or none
    io        engine for reading files: uring, pread, mmap [auto]

    Has graph, a gb.FusedCSCSamplingGraph; feature, a feature store with "feat" of nodes and edges; tasks; all_nodes_set. Types and relations have their names,
    such as "paper" and "author:writes:paper". A dataset's edge weights are the edge attribute "weight", for prob_name. Seeds have the dtype of graph.indices.

    GraphBolt samples from a mapped file, or, of a heterogeneous graph, from lists in memory. `memory` does not include them. Nothing is planned: batches
    are not known in advance. Loader plans, and reads less. Features are read only; update raises UnsupportedError. A process that is forked, or to
    which a feature is sent, has caches of its own.
    """
    torch, gb = import_for("graphbolt", "torch"), import_for("graphbolt", "dgl.graphbolt")
    dataset = folder_of(dataset)
    about = meta_of(dataset)
    graph = graph_of(torch, gb, dataset, about)
    feature = features_of(gb, dataset, about, memory, texts_of({"policy": policy, "io": io}))

    class Dataset(gb.Dataset):
        def load(self, tasks=None):
            return self
        dataset_name = about.get("name", os.path.basename(os.path.abspath(dataset)))
        tasks = tasks_of(torch, gb, dataset, about, graph.indices.dtype)
        all_nodes_set = gb.ItemSetDict({name: gb.ItemSet(n, names="seed_nodes") for name, n in graph.num_nodes.items()}) \
            if isinstance(graph.num_nodes, dict) else gb.ItemSet(graph.num_nodes, names="seed_nodes")

    Dataset.graph, Dataset.feature = graph, feature
    return Dataset()
