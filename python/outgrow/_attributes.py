"""Attributes of a PyTorch Geometric graph: of nodes, of edges, and of the whole. Features of any type, too. Files are in a dataset's folder `attributes`."""
import copy
import json
import os
import typing
import warnings

import numpy as np

from . import _outgrow
from ._arrays import array_of, native, pieces, plain
from ._errors import OptionError
from ._meta import meta_of, relation_names, type_ranges
from ._stores import EDGE, NODE, array_in, edge_features_of, files_of, is_there, mapped, parts_of, weights_of

FOLDER, TABLE = "attributes", "attributes.json"
NATIVE = "float32", "float16", "bfloat16", "uint8"  # that features are stored in
NODE_TIME, EDGE_TIME = "time", "edge_time"           # attributes that outgrow.write takes for times; of edges also the first
USUAL = "x", "edge_index", "edge_attr", "y"           # the order of attributes in a Data
NO_TIME = np.iinfo(np.int64).min                     # of nodes of types without


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


# ---- features ----

class Features(typing.NamedTuple):
    """What a row of features was before it was stored. Its type ("" where that is not known to differ), its shape, and whether its bytes
    are stored."""
    dtype: str
    shape: typing.Tuple[int, ...]
    as_bytes: bool

    def restored(self, torch, x):
        if not self.dtype:
            return x
        dtype = getattr(torch, self.dtype)
        return (x.view(dtype) if self.as_bytes else x.to(dtype)).view(len(x), *self.shape)

    def none(self, torch):
        return torch.empty(0, *self.shape, dtype=getattr(torch, self.dtype))


def is_finite(torch, rows):
    if not isinstance(rows, torch.Tensor):
        return all(bool(np.isfinite(piece).all()) for piece in pieces(rows))
    return all(bool(torch.isfinite(piece).all()) for piece in rows.split(max(1, (1 << 22) // rows.size(1))))


def storable(torch, x):
    """Rows [N, F] that outgrow.write stores as they are, and what they were. Numbers that the library has no type for go as their bytes."""
    rows = plain(x).contiguous() if isinstance(x, torch.Tensor) else np.ascontiguousarray(native(x))
    rows = rows.reshape(len(rows), -1)
    try:
        dtype = name_of(rows.dtype if isinstance(rows, torch.Tensor) else torch.from_numpy(np.empty(0, rows.dtype)).dtype)
    except TypeError:
        raise OptionError(f"data: x is of {x.dtype}, which PyTorch has not", "data.x = data.x.astype(\"int64\")" if x.dtype.kind == "u" else "data.x = data.x.astype(\"float64\")") from None
    as_bytes = dtype not in NATIVE or not is_finite(torch, rows)
    if as_bytes:
        rows = rows.view(torch.uint8 if isinstance(rows, torch.Tensor) else np.uint8)
    return rows, Features(dtype, tuple(x.shape[1:]), as_bytes)


# ---- the edges of a batch ----

def order_of(edge_index):
    """Which edge is at each position of a dataset. It sorts them by destination, then by source, equal ones as they were."""
    src, dst = np.asarray(edge_index)
    return np.lexsort((src, dst)).astype(np.int32 if len(src) < 1 << 31 else np.int64)


class Lists(typing.NamedTuple):
    """In-neighbours by destination, as a dataset has them, mapped. Also which edge each was, None where that is not known; and its number
    in the source of an import, which an edge and its reverse may share, likewise."""
    indptr: typing.Any
    indices: typing.Any
    order: typing.Any
    ids: typing.Any = None

    def numbers(self, place):
        """What users know edges by, int64."""
        known = self.ids if self.order is None else self.order
        return place if known is None else known[place].astype(np.int64, copy=False)

    def edge_index(self):
        """int64 [2, E] of all edges, as they were given."""
        lists = np.stack([np.asarray(self.indices, np.int64), np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))])
        if self.order is None:
            return lists
        out = np.empty_like(lists)
        out[:, self.order] = lists
        return out

    def lower(self, source, destination):
        """The first place in the list of each destination whose source is not less."""
        out = np.empty(len(source), np.int64)
        _outgrow.places(self.indptr, self.indices, np.ascontiguousarray(source), np.ascontiguousarray(destination), out)
        return out

    def places(self, source, destination, list_, rng):
        """Positions of sampled edges; `list_` distinguishes lists of one destination. Between the same nodes it takes as many different edges as there are, any of
        them."""
        first = self.lower(source, destination)
        again = np.flatnonzero(first + 1 < self.indptr[destination + 1])
        again = again[self.indices[first[again] + 1] == source[again]]
        if len(again) == 0:
            return first
        copies = self.lower(source[again] + 1, destination[again]) - first[again]
        order = np.lexsort((first[again], list_[again]))
        key = np.stack([first[again], list_[again]])[:, order]
        starts = np.flatnonzero(np.append(True, (key[:, 1:] != key[:, :-1]).any(0)))
        group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(order))))
        rank = np.arange(len(order)) - starts[group] + rng.integers(0, 1 << 30, len(starts))[group]
        first[again[order]] += rank % copies[order]
        return first


# ---- the folder ----

def table_of(path):
    """The table of what the folder has; {} without one.

    types       {type: its name in the data}
    relations   {number of the relation: its name in the data}
    empty       [[type or relation, dtype and shape of a row of features]]
    features    {type: [dtype, shape, as_bytes]}; null where the data has none, and the dataset ones
    orders      {number of the relation: file}
    edge_index  {number of the relation: its dtype, unless it is int64}
    nodes       {type: {name: [file, dimension, type of its bytes or ""]}}; edges likewise
    graph       {name: value}
    stores      {type or relation: {name: value}}, of no node or edge
    arrays      {type, relation or "": {name: [file, PyTorch's type or ""]}}, likewise
    times       {"node" or "edge": the attribute that is node_times.npy or edge_times.npy}
    names       {type or relation: names of attributes in the data's order}
    """
    try:
        with open(os.path.join(path, FOLDER, TABLE)) as f:
            return json.load(f)
    except FileNotFoundError:
        return {}


class Folder:
    """The folder while it is made, next to the dataset: `move` puts it there in one step."""

    def __init__(self, path):
        self.path, self.n = os.path.join(path, FOLDER), 0
        self.table = {"features": {}, "orders": {}, "edge_index": {}, "nodes": {}, "edges": {}, "graph": {}, "stores": {}, "arrays": {}}
        os.mkdir(self.path)

    def save(self, array):
        name = f"{self.n}.npy"
        np.save(os.path.join(self.path, name), array)
        self.n += 1
        return name

    def move(self, dataset):
        with open(os.path.join(self.path, TABLE), "w") as f:
            json.dump(self.table, f)
        os.rename(self.path, os.path.join(dataset, FOLDER))


def loaded(path, name):
    return mapped(os.path.join(path, FOLDER, name))


def tensor_in(torch, path, name, dtype):
    """A file as a tensor of PyTorch's type. What is written to it stays in memory."""
    array = torch.from_numpy(np.asarray(mapped(os.path.join(path, FOLDER, name), "c")))
    return array.view(torch.bfloat16) if dtype == "bfloat16" else array


def key_of(name):
    """A type or relation as a key of the table; "" of a graph without."""
    return name if isinstance(name, str) else "__".join(name or ())


def in_torch(array):
    """An array in a type that PyTorch has too, or None."""
    if array.dtype.kind == "u" and array.itemsize > 1:
        return array.astype(np.int64) if array.size == 0 or array.max() < 1 << 63 else None
    return native(array) if array.dtype.kind in "biufc" and array.dtype not in (np.longdouble, np.clongdouble) else None


def bits_of(value):
    """A tensor of bfloat16, which NumPy lacks, as int16."""
    import torch
    return value.view(torch.int16)


def array_or_none(value):
    """What a .npy file holds, and PyTorch's type of a tensor or ""; or None."""
    dtype = ""
    if hasattr(value, "detach"):
        if str(value.layout) != "torch.strided":
            return None
        try:
            value, dtype = plain(value), name_of(value.dtype)
            value = np.asarray(bits_of(value) if dtype == "bfloat16" else value)
        except (TypeError, RuntimeError):  # of tensors without numbers, and quantized ones
            return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of lists that are no arrays
            array = None if value is None else in_torch(np.asarray(value))
    except (TypeError, ValueError):
        return None
    return None if array is None else (array, dtype)


def is_json(value):
    kinds = (str, bool, int, float, type(None))
    return isinstance(value, kinds) or isinstance(value, list) and all(map(is_json, value)) or \
        isinstance(value, dict) and all(isinstance(key, str) and is_json(v) for key, v in value.items())


def stores_of(data):
    """{name: its attributes} of each type and relation; of a Data, which is both, of None."""
    if not hasattr(data, "edge_types"):
        return {None: data._store}
    return dict(zip(data.node_types, data.node_stores)) | dict(zip(data.edge_types, data.edge_stores)) | {"": data._global_store}


def width_of(store):
    """Dtype and shape of a row of features; None and () without."""
    x = store["x"] if store is not None and "x" in store else None
    return (name_of(x.dtype), list(x.shape[1:])) if hasattr(x, "dtype") else (None, [])


def save_attributes(beside, dataset, data, given, edges_stay, its_x):
    """Saves what a Data or HeteroData has in addition to a dataset's own files.

    `given.unused` is {name of a type or relation: attributes}; those that are saved are removed from it. `edges_stay`: the dataset has all its edges, each
    once. `its_x`: the dataset has its features. `beside` is a folder on the same disk."""
    folder, about, stores = Folder(beside), meta_of(dataset), stores_of(data)
    typed, table = bool(type_ranges(about)), folder.table
    table["times"] = given.times
    relations = relation_names(about) or [None]
    own = dict.fromkeys(relations) if given.names is None else \
        {name: given.names[name] for name in relations} if typed else {None: next(name for name in given.names.values() if isinstance(name, tuple))}
    if given.names is not None:
        table["types"] = {name if typed else "": old for name, old in given.names.items() if isinstance(old, str)}
        table["relations"] = {str(number): own[name] for number, name in enumerate(relations)}
        table["empty"] = [[name, *width_of(None if isinstance(name, tuple) else stores[name])] for name in given.empty]
    for name, attributes in given.unused.items():
        store = stores[name]
        for attribute in list(attributes):
            value, found = store[attribute], array_or_none(store[attribute])
            array, dtype = found or (None, "")
            kind = "nodes" if name != "" and not isinstance(name, tuple) and store.is_node_attr(attribute) else \
                "edges" if (name is None or isinstance(name, tuple)) and store.is_edge_attr(attribute) else "graph"
            if kind == "graph" and is_json(value):
                (table["graph"] if name in (None, "") else table["stores"].setdefault(key_of(name), {}))[attribute] = value
            elif kind == "graph" and array is not None and (dtype or isinstance(value, np.ndarray)):
                table["arrays"].setdefault(key_of(name), {})[attribute] = folder.save(array), dtype
            elif kind == "nodes" and array is not None or kind == "edges" and array is not None and edges_stay:
                dim = store._parent().__cat_dim__(attribute, value, store)
                table[kind].setdefault(key_of(name if typed or name in given.empty else None), {})[attribute] = folder.save(array), dim, dtype
            else:
                continue
            attributes.remove(attribute)
    if edges_stay:
        for number, name in enumerate(relations):
            store = stores[own[name]]
            if "edge_index" not in store:
                continue
            if name_of(getattr(store["edge_index"], "dtype", "")) == "int32":
                table["edge_index"][str(number)] = "int32"
            table["orders"][str(number)] = folder.save(order_of(np.stack([np.asarray(array_of(end, "edge_index")) for end in store["edge_index"]])))
    table["names"] = {key_of(name): [*store.keys()] for name, store in stores.items() if name != ""}
    for name, store in stores.items():
        x = store["x"] if name != "" and not isinstance(name, tuple) and "x" in store else None
        if its_x and name not in given.empty and hasattr(x, "dtype") and str(getattr(x, "layout", "torch.strided")) == "torch.strided":
            like = x if hasattr(x, "detach") else in_torch(np.empty(0, x.dtype))
            table["features"][key_of(name if typed else None)] = "" if like is None else name_of(like.dtype), list(x.shape[1:]), False
    if its_x and not typed and not any("x" in store for name, store in stores.items() if not isinstance(name, tuple) and name not in given.empty):
        table["features"][""] = None
    folder.move(dataset)


# ---- what batches are made of ----

class NodePart(typing.NamedTuple):
    """Nodes of one type. Its name, None in a Data; its number in the dataset, None if it has no nodes there; how many nodes; attributes {name: (value,
    dimension)}. Features, None where there are none; and whether num_nodes is an attribute."""
    name: typing.Optional[str]
    number: typing.Optional[int]
    n: int
    attributes: dict
    features: typing.Optional[Features]
    counted: bool


class EdgePart(typing.NamedTuple):
    """Edges of one relation, as NodePart has nodes. `by_place` has attributes in the order of the dataset, `dtype` is that of edge_index, None: int64."""
    name: typing.Optional[tuple]
    number: typing.Optional[int]
    n: int
    lists: typing.Optional[Lists]
    attributes: dict
    by_place: dict
    dtype: typing.Any


class Source(typing.NamedTuple):
    """A dataset, and what its batches are to look like. `blank` is a Data or HeteroData with what all batches have, `names` is the order of attributes by type
    and relation."""
    path: str
    blank: typing.Any
    nodes: typing.List[NodePart]
    edges: typing.List[EdgePart]
    names: typing.Dict[typing.Any, typing.List[str]]


def lists_of(path, about, number):
    prefix = f"rel{number}_" if relation_names(about) else ""
    order = table_of(path).get("orders", {}).get(str(number))
    return Lists(*(np.asarray(array) for array in (array_in(path, f"{prefix}indptr", about), array_in(path, f"{prefix}indices", about))),
                 np.asarray(loaded(path, order)) if order else None,
                 np.asarray(array_in(path, f"{prefix}edge_ids", about)) if is_there(path, f"{prefix}edge_ids", about) else None)


def masks_of(path, about, first, n):
    """The splits that have nodes among n from `first` on."""
    for split, name in ("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask"):
        if is_there(path, split, about):
            ids = np.asarray(array_in(path, split, about)) - first
            ids = ids[(ids >= 0) & (ids < n)]
            if len(ids) or n == about["num_nodes"]:
                mask = np.zeros(n, bool)
                mask[ids] = True
                yield name, mask


def node_time_of(path, about, table, first, n):
    """{attribute: times of n nodes from `first` on}; nothing of a type without."""
    times = array_in(path, "node_times", about)[first:first + n] if n and is_there(path, "node_times", about) else ()
    return {table.get("times", {}).get("node", NODE_TIME): (times, 0)} if len(times) and times[0] != NO_TIME else {}


def source_of_path(torch, classes, path):
    """A dataset: what its folder has, and labels and splits as NeighborLoader's users know them."""
    about, table = meta_of(path), table_of(path)
    ranges, names = type_ranges(about), table.get("types", {})
    blank = classes.HeteroData() if ranges or names else classes.Data()
    for name, value in table.get("graph", {}).items():
        blank[name] = value

    def attributes(kind, name, empty=False):
        key = key_of(name if ranges or empty else None)
        return {attribute: (tensor_in(torch, path, file, *dtype) if dtype == ["bfloat16"] else loaded(path, file), dim)
                for attribute, (file, dim, *dtype) in table.get(kind, {}).get(key, {}).items()}

    nodes, edges, weights, known = [], [], weights_of(path, about), table.get("names", {})
    features_of_edges, files = edge_features_of(path, about, "c"), files_of(about)
    for number, (name, part) in enumerate(parts_of(path, about).items()):
        first = ranges[name][0] if ranges else 0
        own = names.get(name if ranges else "", name if ranges else None)
        mine = {key: (mask, 0) for key, mask in masks_of(path, about, first, part.n)}
        mine |= {"y": (part.arrays["y"], 0)} if "y" in part.arrays else {}
        mine |= node_time_of(path, about, table, first, part.n)
        mine |= attributes("nodes", own)
        nodes.append(NodePart(own, number, part.n, mine, features_of(table, own if ranges else "", "x" in part.arrays and "x" not in mine),
                              "num_nodes" in known.get(key_of(own), ("num_nodes",) if "x" not in part.arrays else ())))
    for number, name in enumerate(relation_names(about) or [None]):
        lists, dtype = lists_of(path, about, number), table.get("edge_index", {}).get(str(number))
        own = tuple(table.get("relations", {}).get(str(number), name or ())) or None
        by_place = {"edge_weight": (weights[name or EDGE], 0)} if (name or EDGE) in weights else {}
        if part := features_of_edges.get(name or EDGE):
            by_place["edge_attr"] = part.tensor(torch, "x", np.asarray(part.arrays["x"])), 0
        if is_there(path, times := f"{files[name or EDGE]}edge_times", about):
            by_place[table.get("times", {}).get("edge", EDGE_TIME)] = array_in(path, times, about), 0
        edges.append(EdgePart(own, number, len(lists.indices), lists, attributes("edges", own), by_place, dtype and getattr(torch, dtype)))
    for name, dtype, shape in table.get("empty", ()):
        if isinstance(name, str):
            nodes.append(NodePart(name, None, 0, attributes("nodes", name, True), Features(dtype, tuple(shape), False) if dtype else None, dtype is None))
        else:
            edges.append(EdgePart(tuple(name), None, 0, None, attributes("edges", name, True), {}, None))
    order = {key: at for at, key in enumerate(known)}
    for name in [None, *sorted((part.name for part in (*nodes, *edges) if part.name), key=lambda name: order.get(key_of(name), len(order)))]:
        store, key = (blank, "") if name is None else (blank[name], key_of(name))  # which also puts types and relations in the data's order
        for attribute, value in table.get("stores", {}).get(key, {}).items():
            store[attribute] = value
        for attribute, (file, dtype) in table.get("arrays", {}).get(key, {}).items():
            store[attribute] = tensor_in(torch, path, file, dtype) if dtype else np.array(loaded(path, file))
    return Source(path, blank, nodes, edges, {part.name: known.get(key_of(part.name), USUAL) for part in (*nodes, *edges)})


def under_names(classes, source):
    """The source of a homogeneous graph with the names that its stores have. Batches are HeteroData."""
    blank = classes.HeteroData()
    for name, value in source.blank._store.items():
        blank[name] = value
    return source._replace(blank=blank, nodes=[part._replace(name=NODE) for part in source.nodes], edges=[part._replace(name=EDGE) for part in source.edges],
                           names=dict.fromkeys((NODE, EDGE), source.names[None]))


def features_of(table, key, are_there):
    """What rows of features are to be; None if they are not from the dataset's own."""
    known = table.get("features", {}).get(key, ("", (), False))
    return Features(known[0], tuple(known[1]), known[2]) if are_there and known else None


def put_in_order(data, names, added=()):
    """Attributes in the order of the data that was written, then `added` ones, as PyTorch Geometric has them."""
    for name, keys in names.items():
        store = data._store if name is None else data[name]
        store._mapping = {key: store._mapping[key] for key in (*keys, *added) if key in store._mapping} | store._mapping


def whole_of(torch, source):
    """A Data or HeteroData of a dataset's nodes, and how many edges there are. `x` is mapped, so it may be larger than memory."""
    out = copy.copy(source.blank)
    about = meta_of(source.path)
    for part, mapped in zip(source.nodes, parts_of(source.path, about, "c").values()):
        store = out._store if part.name is None else out[part.name]
        store["num_nodes"] = part.n
        for key, (value, _) in part.attributes.items():
            store[key] = value if isinstance(value, torch.Tensor) else torch.from_numpy(np.array(value))
        if part.features and mapped.form:
            store["x"] = mapped.form.csr(np.asarray(mapped.arrays["x"])).tensor(torch)
        elif part.features:
            store["x"] = part.features.restored(torch, mapped.tensor(torch, "x", np.asarray(mapped.arrays["x"])))
    for part in source.edges:
        (out._store if part.name is None else out[part.name])["num_edges"] = part.n
    put_in_order(out, source.names)
    return out
