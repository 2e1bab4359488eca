"""A Data or HeteroData of PyTorch Geometric as arguments of outgrow.write. What the files of a dataset cannot have becomes attributes of batches."""
import math

import numpy as np

from ._arrays import array_of, is_float_rows
from ._errors import OptionError, warn
from ._names import is_words
from ._sparse import is_csr, of_libraries
from ._times import EDGE, NODE, is_time
from ._write_typed import SPLITS, is_name, of_one_type

ARRAYS = "edge_index", "x", "y", "edge_weight", "num_nodes"


def ones_for(given, data):
    """Features for a homogeneous graph whose data has none: training needs some."""
    plain = of_one_type(given)
    if not plain or plain["x"] is not None:
        return given["x"]
    warn("data: no x, so that outgrow.write stores a column of ones for training. Batches have none")
    ones = np.broadcast_to(np.uint8(1), (data.num_nodes, 1))
    return {next(iter(given["edge_index"]))[0]: ones} if hasattr(given["edge_index"], "items") else ones


def keys_of(data):
    """Attributes of a Data, in the order given. Its own keys() has them in another order in each process."""
    if hasattr(data, "stores"):
        return list(dict.fromkeys(key for store in data.stores for key in store.keys()))
    keys = getattr(data, "keys", None)
    return list(keys() if callable(keys) else keys or vars(data))


def edges_of_adjacency(adj_t):
    """[2, E] sources and destinations of a transposed adjacency: a SparseTensor, or a sparse tensor of PyTorch."""
    row, col = adj_t.coo()[:2] if hasattr(adj_t, "coo") else adj_t.to_sparse_coo().coalesce().indices()
    return np.stack([np.asarray(col), np.asarray(row)])


class Given:
    """Arguments of write from a Data, and what is left of it.

    unused   {type, relation, "" or None: names of attributes}
    names    {type or relation of the dataset: that of the data}; None of a Data
    empty    types without nodes and relations without edges"""

    def __init__(self, arguments, unused, names=None):
        self.arguments, self.unused, self.names, self.empty = arguments, unused, names, []
        self.regression = False
        self.times = {}  # {"node" or "edge": the attribute with these times}


def of_data(data, regression, time_attr=None):
    if isinstance(data, dict):
        raise OptionError("data: a dict", "give its arrays by themselves: outgrow.write(path, **data)")
    if hasattr(data, "src") and hasattr(data, "msg"):
        raise OptionError(f"data: {type(data).__name__}", "give its arrays: edge_index=torch.stack([data.src, data.dst]), edge_time=data.t, edge_attr=data.msg, x=, ...")
    if not hasattr(data, "stores"):
        several = hasattr(data, "__getitem__") and not isinstance(data, (str, bytes))
        raise OptionError(f"data: {type(data).__name__}", "give one of them, data[0]" if several else "give a Data or HeteroData, or its arrays: edge_index=, x=, ...")
    own = next((kind for kind in type(data).__mro__ if kind.__module__.startswith("torch_geometric.")), type(data))
    if own is not type(data):
        warn(f"data: of class {type(data).__name__}, which is not stored: batches of the dataset are {own.__name__}")
    given = of_hetero(data, regression) if hasattr(data, "edge_types") else of_homogeneous(data, regression)
    take_times(given, data, time_attr)
    return given


def take_times(given, data, time_attr):
    """Attributes that are times, for loaders with time_attr; batches have them in any case."""
    typed = hasattr(data, "edge_types")
    nodes, edges = (dict(zip(data.node_types, data.node_stores)), dict(zip(data.edge_types, data.edge_stores))) if typed else ({None: data._store}, {None: data._store})
    back = {old: new for new, old in (given.names or {}).items()}
    for kind, stores, usual in ("node", nodes, (NODE,)), ("edge", edges, (EDGE, NODE)):
        for attribute in usual if time_attr is None else (time_attr,):
            is_one = {name: store.is_node_attr if kind == "node" else store.is_edge_attr for name, store in stores.items()}
            found = {name: store[attribute] for name, store in stores.items() if attribute in store and is_one[name](attribute) and is_time(store[attribute])}
            found = {back.get(name, name): times for name, times in found.items() if name not in given.empty and len(times)}
            if found and kind not in given.times:
                given.times[kind] = attribute
                given.arguments[f"{kind}_time"] = found if typed else found[None]
    if time_attr is not None and not given.times:
        raise OptionError(f"time_attr: the data has no times {time_attr!r} of nodes or edges", "give an attribute with a whole number of each, int64")


def of_homogeneous(data, regression):
    used = {name: name for name in ARRAYS} | SPLITS
    if is_float_rows(getattr(data, "edge_attr", None)):
        used["edge_attr"] = "edge_attr"
    keys = keys_of(data)
    arguments = {name: getattr(data, attribute) for name, attribute in used.items() if attribute in keys}
    if arguments.get("edge_index") is None:
        if getattr(data, "adj_t", None) is None:
            raise OptionError(f"data: {type(data).__name__} has no edge_index", "give edge_index=, x=, ... by themselves")
        arguments["edge_index"] = edges_of_adjacency(data.adj_t)
    given = Given(arguments, {None: [key for key in keys if key not in (*used.values(), "adj_t") and getattr(data, key) is not None]})
    take_masks(given, None, arguments, data)
    if arguments.get("x") is not None:
        arguments["x"] = fitting_features(given, None, arguments["x"])
    if arguments.get("y") is not None:
        arguments["y"] = fitting_labels(given, None, arguments["y"], regression, data.num_nodes)
    if arguments.get("edge_weight") is not None and not are_weights(given, None, arguments["edge_weight"]):
        del arguments["edge_weight"]
    return given


def are_weights(given, name, weights):
    """Whether training can have them: a number of 0 or more for each edge. Those of another type than float32 stay in batches as they are."""
    array = array_of(weights, "edge_weight")
    good = array.size == len(array) and array.dtype.kind in "biuf" and bool(np.isfinite(array).all() and (array >= 0).all())
    if not good:
        warn("data: edge_weight is no number of 0 or more for each edge, so outgrow.write keeps it for batches alone")
    if not good or str(getattr(weights, "dtype", "")).removeprefix("torch.") != "float32" or array.ndim > 1:
        given.unused[name].append("edge_weight")
    return good


def take_masks(given, name, arguments, store):
    """Masks that no split can be stay in batches: not of bool, of several columns, of no node."""
    masks = {mask: store[mask] for key, mask in SPLITS.items() if key in arguments and hasattr(store[mask], "dtype")}
    given.unused[name] += [mask for mask, value in masks.items() if "bool" not in str(value.dtype) or value.ndim > 1 or not value.any()]


# ---- features and labels ----

def fitting_features(given, name, x):
    """Features as rows of numbers; None of those without columns."""
    what = f"data: x{f' of {name}' if name else ''}"
    x = of_libraries(x, "x")
    shape = tuple(getattr(x, "shape", ()))
    if is_csr(x):
        warn(f"{what} is sparse, which batches have as torch.sparse_csr")
    elif 0 in shape[1:]:
        warn(f"{what} has no columns, which outgrow.write keeps for batches alone")
        given.unused[name].append("x")
        return None
    elif len(shape) > 2:
        warn(f"{what} has {len(shape)} dimensions, which outgrow.write stores as rows of {math.prod(shape[1:])} numbers. Batches have its shape")
        return x.reshape(shape[0], -1)
    return x


def fitting_labels(given, name, y, regression, n):
    """Labels that training can have, or None. Others stay as they are in batches. n: number of nodes."""
    if is_words(y):
        return y
    array = array_of(y, "y", True)
    if not regression and (array.ndim > 2 or len(array) != n):
        warn(f"data: y is {list(array.shape)}, for {n} nodes{f' of {name}' if name else ''}, which outgrow.write keeps for batches alone")
        given.unused[name].append("y")
        return None
    column = array.reshape(len(array)) if array.ndim == 2 and array.shape[1] == 1 else array
    if regression or column.dtype.kind not in "iuf":
        return y
    if column.dtype.kind == "f":
        known = column[np.isfinite(column)]
        given.regression = column.ndim == 1 and bool((known != np.rint(known)).any())
        if given.regression:
            warn("data: y has values that are no classes, so that outgrow.write makes the task node regression")
        return y
    if column.ndim == 1 and (column < -1).any():
        warn(f"data: y is below -1 at {int((column < -1).sum())} nodes, which outgrow.write leaves without a class for training")
        given.unused[name].append("y")
        return np.where(column < 0, -1, column)
    if column.ndim == 2 and ((column < 0) | (column > 1)).any():
        warn(f"data: y has {column.shape[1]} columns of classes, which outgrow.write keeps for batches alone")
        given.unused[name].append("y")
        return None
    return y


# ---- several types ----

def of_hetero(data, regression):
    nodes, edges = dict(zip(data.node_types, data.node_stores)), dict(zip(data.edge_types, data.edge_stores))

    def of(stores, name):
        return {kind: store[name] for kind, store in stores.items() if name in store}
    arguments = {name: of(edges, name) for name in ("edge_index", "edge_weight")} | {name: of(nodes, name) for name in ("x", "y")}
    arguments |= {split: of(nodes, mask) for split, mask in SPLITS.items()}
    arguments["edge_attr"] = {name: rows for name, rows in of(edges, "edge_attr").items() if is_float_rows(rows)}
    arguments["num_nodes"] = {name: store.num_nodes for name, store in nodes.items() if store.num_nodes is not None}
    unused = {"": list(data.to_dict().get("_global_store", ()))}
    unused |= {name: [key for key in store.keys() if key not in ("x", "y", "num_nodes", *SPLITS.values())] for name, store in nodes.items()}
    unused |= {name: [key for key in store.keys() if key not in ("edge_index", "edge_weight") and not (key == "edge_attr" and name in arguments[key])]
               for name, store in edges.items()}
    given = Given(arguments, unused)
    for name, store in nodes.items():
        take_masks(given, name, [key for key in SPLITS if name in arguments[key]], store)
    leave_out_empty(given)
    choose_labels(given)
    choose_weights(given)
    arguments["x"] = {name: fitting_features(given, name, x) for name, x in arguments["x"].items()}
    arguments["y"] = {name: fitting_labels(given, name, y, regression, arguments["num_nodes"].get(name)) for name, y in arguments["y"].items()}
    for key in "x", "y":
        arguments[key] = {name: value for name, value in arguments[key].items() if value is not None}
    rename(given)
    given.arguments = {name: value for name, value in given.arguments.items() if value}
    return given


def leave_out_empty(given):
    edges, counts = given.arguments["edge_index"], given.arguments["num_nodes"]
    full = {name: value for name, value in edges.items() if np.shape(value)[1:] != (0,)}
    if edges and not full:
        raise OptionError("data: no relation has edges", "outgrow.NeighborLoader(data, ...) takes a HeteroData without edges as it is")
    given.arguments["edge_index"] = full
    given.empty = [name for name in edges if name not in full]
    given.empty += [name for name, n in counts.items() if n == 0]
    known = {"y": "y", "edge_weight": "edge_weight"} | SPLITS
    for name in given.empty:
        for key, values in given.arguments.items():
            if values.pop(name, None) is not None and key in known and known[key] not in given.unused[name]:
                given.unused[name].append(known[key])


def choose_labels(given):
    """Leaves labels and splits to types that train on labels of one kind. Without such to the first."""
    def kind(name):
        y = given.arguments["y"].get(name)
        return y if y is None else (array_of(y, "y").dtype.kind in "iub", np.shape(y)[1:])
    split = [name for name, value in given.arguments["train"].items() if value is not None]
    labelled = [*split, *given.arguments["y"], *(name for key in SPLITS for name in given.arguments[key])]
    stay = [name for name in split if kind(name) == kind(split[0])] or labelled[:1]
    left = [name for name in dict.fromkeys(labelled) if name not in stay]
    for name in left:
        for key, attribute in ("y", "y"), *SPLITS.items():
            if given.arguments[key].pop(name, None) is not None:
                given.unused[name].append(attribute)
    if left:
        warn(f"data: outgrow.write keeps the labels and splits of {', '.join(stay)} for training, those of {', '.join(left)} for batches alone")


def choose_weights(given):
    """Leaves weights to training where all relations have them."""
    weights = given.arguments["edge_weight"] = {name: value for name, value in given.arguments["edge_weight"].items() if are_weights(given, name, value)}
    if weights and set(weights) != set(given.arguments["edge_index"]):
        for name in weights:
            given.unused[name] = [*dict.fromkeys([*given.unused[name], "edge_weight"])]
        warn(f"data: some relations have no edge_weight, so outgrow.write keeps that of {', '.join(map(str, weights))} for batches alone")
        given.arguments["edge_weight"] = {}


def fitting(name, taken):
    """The name, or another one that a type or relation of a dataset may have."""
    new = name
    if not is_name(name):
        new = "".join("_" if c in "/,;:=\x7f" or c < " " else c for c in name).lstrip(".")
        while "__" in new:
            new = new.replace("__", "_")
        new = new.encode()[:60].decode(errors="ignore") or "_"
    while new in taken:
        new += "x"
    taken.add(new)
    return new


def rename(given):
    arguments = given.arguments
    relations = list(arguments["edge_index"])
    taken, types = set(), {}
    for name in dict.fromkeys([*arguments["num_nodes"], *(end for s, _, d in relations for end in (s, d))]):
        types[name] = fitting(name, taken)
    taken, words = set(), {}
    for _, word, _ in relations:
        words[word] = words.get(word) or fitting(word, taken)
    new = {(s, word, d): (types[s], words[word], types[d]) for s, word, d in relations}
    changed = {old: name for old, name in (types | words).items() if old != name}
    if changed:
        warn(f"data: outgrow.write calls {', '.join(f'{old} {name}' for old, name in changed.items())}; batches have their own names")
    for key, values in arguments.items():
        by = new if key in ("edge_index", "edge_weight", "edge_attr") else types
        arguments[key] = {by[name]: value for name, value in values.items()}
    given.names = {name: old for old, name in types.items()} | {name: old for old, name in new.items()}
