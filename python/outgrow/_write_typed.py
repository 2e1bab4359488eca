"""Heterogeneous graphs as the files of `import npy`. Nodes of all types are in one id space, a range per type."""
import json

import numpy as np

from ._arrays import PIECE, as_float32, counted, edges_of, is_bf16, is_iterator, labels_of, rows_of, save
from ._errors import OptionError
from ._ids import SplitPart, check_range, save_splits
from ._sparse import is_csr, save_csr
from ._times import NONE, times_of
from ._write_links import save_typed_links

SPLITS = {"train": "train_mask", "valid": "val_mask", "test": "test_mask"}
OF_TYPES = "x", "y", "num_nodes", "node_time", *SPLITS
OF_RELATIONS = "edge_weight", "edge_attr", "edge_time"


# ---- arguments ----

def is_name(name):
    """Whether a type or a relation of a dataset may be called so."""
    good = isinstance(name, str) and 0 < len(name.encode()) <= 63 and not name.startswith(".") and "__" not in name
    return good and not any(c in "/,;:=\x7f" or c < " " for c in name)


def check_name(name):
    if not is_name(name):
        raise OptionError(f"{name!r} cannot be the name of a type or a relation",
                          "use 1 to 63 bytes without / , ; : = and __ (the separator), not beginning with .")


def names_of(given):
    """Types, in the order of num_nodes, x and edge_index, and relations."""
    for key in *OF_RELATIONS, *OF_TYPES:
        if given.get(key) is not None and not hasattr(given[key], "items"):
            raise OptionError(f"{key}: not by types, as edge_index is", f"give {key}={{{'relation' if key.startswith('edge_') else 'type'}: ...}}")
    relations = list(given["edge_index"])
    for relation in relations:
        if not (isinstance(relation, tuple) and len(relation) == 3):
            raise OptionError(f"edge_index: {relation!r} names no relation", "give {(source, name, destination): [2, E], ...}")
    names = [*(given["num_nodes"] or ()), *(given["x"] or ()), *(end for s, _, d in relations for end in (s, d))]
    for name in [*names, *(name for _, name, _ in relations)]:
        check_name(name)
    return list(dict.fromkeys(names)), relations


def check_types(given, types, relations):
    for key in OF_TYPES:
        for name in given.get(key) or ():
            if name not in types:
                raise OptionError(f"{key}: {name!r} is no type", f"types that edge_index, x and num_nodes name: {', '.join(types)}")
    if given["edge_weight"] and set(given["edge_weight"]) != set(relations):
        raise OptionError("edge_weight: not of the relations that edge_index has", "give weights of all relations, or of none")
    for key, name in ((key, name) for key in OF_RELATIONS[1:] for name in given.get(key) or ()):
        if name not in relations:
            raise OptionError(f"{key}: {name!r} is no relation", f"relations of edge_index: {', '.join(map(str, relations))}")
    for key in SPLITS if given["y"] else ():
        for name in given[key] or ():
            if name not in given["y"]:
                raise OptionError(f"{key}: of {name}, and y is of {', '.join(given['y'])}", "give labels of each type that has nodes in a split")
    if given["train"]:
        for key in "valid", "test":
            for name in given[key] or ():
                if name not in given["train"]:
                    raise OptionError(f"{key}: of {name}, and no train of it", "give train of each type that the others have")


def of_one_type(given):
    """Arguments of a homogeneous graph if there is one type and one relation; else None."""
    if not hasattr(given["edge_index"], "items"):
        return given
    types, relations = names_of(given)
    if len(types) > 1 or len(relations) > 1:
        return None
    check_types(given, types, relations)
    return {key: next(iter(value.values()), None) if value is not None else None for key, value in given.items()}


# ---- nodes ----

class Ranges:
    """Range of each type's ids (`first`, `end`), and numbers of nodes."""

    def __init__(self, counts):
        ends = np.cumsum([*counts.values()], dtype=np.int64)
        self.count, self.end = counts, dict(zip(counts, ends.tolist()))
        self.first = {name: self.end[name] - n for name, n in counts.items()}
        self.nodes = int(ends[-1])


def save_rows(folder, given, types, as_stored):
    """Write the features of each type; returns the number of nodes per type."""
    counts = {}
    for name in types:
        said, n = (given["num_nodes"] or {}).get(name), None
        if given["x"] and name in given["x"]:
            what = f"x of {name}"
            x = given["x"][name]
            n = save_csr(f"{folder}/feat_{name}", x, what) if is_csr(x) else save(f"{folder}/feat_{name}.npy", what, as_stored(rows_of(x, what), what))
        if n is None and said is None:
            raise OptionError(f"num_nodes: not given for {name}, which has no x", "give num_nodes={type: n} for types without features")
        if None not in (n, said) and n != said:
            raise OptionError(f"x of {name}: {n} rows, for {said} nodes", "give a row a node")
        if said is not None and not hasattr(said, "__index__"):
            raise OptionError(f"num_nodes: {said!r} of {name}", "give a whole number")
        counts[name] = int(said) if n is None else n
        if counts[name] < 1:
            raise OptionError(f"{name}: no nodes", "leave the type out")
    return counts


def constant(value, n, dtype=np.int64, width=()):
    """Yield n equal rows, in pieces."""
    rows = max(1, PIECE // (np.dtype(dtype).itemsize * int(np.prod(width))))
    for at in range(0, n, rows):
        yield np.full((min(n - at, rows), *width), value, dtype)


def labels_of_type(labels, name, n, like, values):
    """Labels of the n nodes of a type, in pieces of the dtype `like`, if that is given."""
    seen = 0
    for rows in labels_of(labels, f"y of {name}", values):
        if rows.dtype.kind in "iub" and rows.ndim == 1:
            rows = rows.astype(np.float64 if values else np.int64)
        if like is not None and (rows.dtype.kind != like.dtype.kind or rows.shape[1:] != like.shape[1:]):
            raise OptionError(f"y of {name}: {rows.dtype} {list(rows.shape)}, others are {like.dtype} {['nodes', *like.shape[1:]]}",
                              "give labels of all types as classes, or with as many columns")
        seen += len(rows)
        yield rows if like is None else rows.astype(like.dtype, copy=False)
    if seen != n:
        raise OptionError(f"y of {name}: {seen} rows, for {n} nodes", "give a row a node, -1 = none")


def labels_of_all(labels, ranges, values):
    """Labels of all nodes. Types may have none. `values`: they are real numbers, else classes or several labels per node."""
    name = next(name for name in ranges.count if name in labels)
    rows = labels_of_type(labels[name], name, ranges.count[name], None, values)
    like = next(rows, np.empty(0, np.int64))
    floats = like.dtype.kind == "f" and (values or like.ndim == 1)
    none = np.nan if floats else 0 if like.ndim > 1 else -1
    for of, n in ranges.count.items():
        if of == name:
            yield like
            yield from rows
        elif of in labels:
            yield from labels_of_type(labels[of], of, n, like, values)
        else:
            yield from constant(none, n, like.dtype, like.shape[1:])


def save_nodes(folder, given, ranges, names, values):
    """Write the types of all nodes, labels and splits."""
    save(f"{folder}/node_type.npy", "types", (part for t, n in enumerate(ranges.count.values()) for part in constant(t, n, np.int16)))
    save(f"{folder}/label.npy", "y", labels_of_all(given["y"], ranges, values) if given["y"] else constant(-1, ranges.nodes))
    save_splits(folder, {key: [SplitPart(f"{names[key]} of {name}", given[key][name], n, ranges.first[name], f"the type {name}")
                               for name, n in ranges.count.items() if name in given[key]] for key in SPLITS if given[key]})


# ---- edges ----

def typed_edges(given, ranges, seen):
    """Yield rows (src, dst) of all relations in turn, as ids of the whole graph. `seen[relation]` becomes the count."""
    for relation, value in given["edge_index"].items():
        source, _, destination = relation
        seen[relation] = 0
        for rows in edges_of(value):
            for column, name in enumerate((source, destination)):
                check_range(rows[:, column], f"edge_index of {relation}", ranges.count[name], f"the type {name}")
            seen[relation] += len(rows)
            yield rows.astype(np.int64) + [ranges.first[source], ranges.first[destination]]
        if seen[relation] == 0:
            raise OptionError(f"edge_index of {relation}: no edges", "leave the relation out")


def typed_weights(given, seen):
    for relation, edges in seen.items():
        name = f"edge_weight of {relation}"
        for rows in as_float32(counted(rows_of(given["edge_weight"][relation], name), name, edges, "edge"), name):
            yield rows.astype(np.float32)  # in one file, whatever type those of each relation have


def save_edges(folder, given, ranges, numbers):
    seen = {}
    save(f"{folder}/edges.npy", "edge_index", typed_edges(given, ranges, seen))
    save(f"{folder}/edge_type.npy", "edge_index", (part for (_, name, _), n in seen.items() for part in constant(numbers[name], n, np.int16)))
    if given["edge_weight"]:
        save(f"{folder}/edge_weight.npy", "edge_weight", typed_weights(given, seen))
    for relation, rows in (given.get("edge_attr") or {}).items():
        name = f"edge_attr of {relation}"
        save(f"{folder}/edge_attr_{'__'.join(relation)}.npy", name, as_float32(counted(rows_of(rows, name), name, seen[relation], "edge"), name))
    for relation, times in (given.get("edge_time") or {}).items():
        name = f"edge_time of {relation}"
        save(f"{folder}/edge_times_{'__'.join(relation)}.npy", name, counted(times_of(times, name), name, seen[relation], "edge"))


def node_times(given, ranges):
    """The times of all nodes; NONE in types without."""
    for name, n in ranges.count.items():
        what = f"node_time of {name}"
        times = given["node_time"].get(name)
        yield from constant(NONE, n) if times is None else counted(times_of(times, what), what, n, "node")


def save_typed(folder, given, meta, names, as_stored, links):
    types, relations = names_of(given)
    check_types(given, types, relations)
    ranges = Ranges(save_rows(folder, given, types, as_stored))
    numbers = {name: i for i, name in enumerate(dict.fromkeys(name for _, name, _ in relations))}
    save_edges(folder, given, ranges, numbers)
    save_typed_links(folder, links, ranges, numbers, relations, given)
    save_nodes(folder, given, ranges, names, "task" in meta)
    if given.get("node_time"):
        save(f"{folder}/node_times.npy", "node_time", node_times(given, ranges))
    kinds = {"node_types": [{"type": t, "name": name} for t, name in enumerate(types)],
             "edge_types": [{"edge_type": i, "name": name} for name, i in numbers.items()]}
    with open(f"{folder}/meta.json", "w") as f:
        json.dump(meta | kinds, f)


def all_bf16(given):
    """Whether all features are bf16, a dtype that NumPy lacks."""
    x = (given["x"] or {}).values()
    return bool(x) and all(not is_iterator(value) and is_bf16(value) for value in x)
