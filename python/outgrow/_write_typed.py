"""Types of nodes and relations as the files that `import npy` takes: nodes of all types in one space of ids, a range each."""
import json

import numpy as np

from ._arrays import PIECE, edges_of, is_bf16, is_iterator, labels_of, nodes_of, rows_of, save
from ._errors import OptionError

SPLITS = {"train": "train_mask", "valid": "val_mask", "test": "test_mask"}


def of_hetero(data):
    """The arguments that a torch_geometric.data.HeteroData stands for."""
    def of(stores, name):
        return {kind: store[name] for kind, store in stores if name in store} or None
    nodes, edges = list(zip(data.node_types, data.node_stores)), list(zip(data.edge_types, data.edge_stores))
    given = {name: of(edges, name) for name in ("edge_index", "edge_weight")} | {name: of(nodes, name) for name in ("x", "y")}
    return given | {split: of(nodes, mask) for split, mask in SPLITS.items()} | {"num_nodes": {name: store.num_nodes for name, store in nodes}}


def check_keys(given, types, relations):
    """Names that are used, and one type for all labels and seeds."""
    for key in "x", "y", "num_nodes", *SPLITS:
        for name in given[key] or ():
            if name not in types:
                raise OptionError(f"{key}: {name!r} is no type", f"types that edge_index, x and num_nodes name: {', '.join(types)}")
    weights = given["edge_weight"]
    if weights and set(weights) != set(relations):
        raise OptionError("edge_weight: not of the relations that edge_index has", "give weights of all relations, or of none")
    labelled = {name for key in ("y", *SPLITS) for name in given[key] or ()}
    if len(labelled) > 1:
        raise OptionError(f"y, train, valid, test: of {' and '.join(sorted(labelled))}", "give those of one type")
    return next(iter(labelled), None)


def types_of(given):
    """In the order in which num_nodes, x and edge_index name them."""
    relations = list(given["edge_index"])
    for relation in relations:
        if not (isinstance(relation, tuple) and len(relation) == 3):
            raise OptionError(f"edge_index: {relation!r} names no relation", "give {(source, name, destination): [2, E], ...}")
    names = [*(given["num_nodes"] or ()), *(given["x"] or ()), *(end for s, _, d in relations for end in (s, d))]
    return list(dict.fromkeys(names)), relations


def within(ids, n, what):
    if ids.size and not 0 <= ids.min() <= ids.max() < n:
        raise OptionError(f"{what}: not all of 0 .. {n - 1}", "give ids within the type")
    return ids


class Ranges:
    """Where the ids of each type begin and end: `first`, `end`; how many in all: `nodes`."""

    def __init__(self, counts):
        ends = np.cumsum([*counts.values()], dtype=np.int64)
        self.end = dict(zip(counts, ends.tolist()))
        self.first = {name: self.end[name] - n for name, n in counts.items()}
        self.nodes = int(ends[-1])


def save_rows(folder, given, types):
    """Features of each type; returns how many nodes each type has."""
    counts = {}
    for name in types:
        said, n = (given["num_nodes"] or {}).get(name), None
        if given["x"] and name in given["x"]:
            n = save(f"{folder}/feat_{name}.npy", f"x of {name}", rows_of(given["x"][name], f"x of {name}"))
        if n is None and said is None:
            raise OptionError(f"num_nodes: none of {name}, which has no x", "give num_nodes={type: n} of types without features")
        if None not in (n, said) and n != said:
            raise OptionError(f"x of {name}: {n} rows, for {said} nodes", "give a row a node")
        counts[name] = said if n is None else n
    return counts


def constant(value, n, dtype=np.int64, width=()):
    for at in range(0, n, PIECE // 8):
        yield np.full((min(n - at, PIECE // 8), *width), value, dtype)


def typed_edges(given, ranges, seen):
    """Rows (src, dst) of all relations, one behind the other, by ids of the whole; seen[relation] becomes how many."""
    for relation, value in given["edge_index"].items():
        source, _, destination = relation
        what = f"edge_index of {relation}"
        seen[relation] = 0
        for rows in edges_of(value):
            for column, name in enumerate((source, destination)):
                within(rows[:, column], ranges.end[name] - ranges.first[name], what)
            seen[relation] += len(rows)
            yield rows.astype(np.int64) + [ranges.first[source], ranges.first[destination]]


def save_edges(folder, given, ranges, numbers):
    seen = {}
    save(f"{folder}/edges.npy", "edge_index", typed_edges(given, ranges, seen))
    save(f"{folder}/edge_type.npy", "edge_index", (part for relation, n in seen.items()
                                                   for part in constant(numbers[relation[1]], n, np.int16)))
    if given["edge_weight"]:
        save(f"{folder}/edge_weight.npy", "edge_weight",
             (part for relation in seen for part in rows_of(given["edge_weight"][relation], "edge_weight")))


def labels_around(labels, ranges, name):
    """Of all nodes: those of one type, none of the others'."""
    rows = labels_of(labels)
    first = next(rows)
    none = -1 if first.dtype.kind in "iub" and first.ndim == 1 else 0
    dtype = np.int64 if none else first.dtype
    yield from constant(none, ranges.first[name], dtype, first.shape[1:])
    yield first.astype(dtype)
    n = len(first)
    for more in rows:
        n += len(more)
        yield more.astype(dtype)
    if n != ranges.end[name] - ranges.first[name]:
        raise OptionError(f"y of {name}: {n} rows, for {ranges.end[name] - ranges.first[name]} nodes", "give a row a node, -1 = none")
    yield from constant(none, ranges.nodes - ranges.end[name], dtype, first.shape[1:])


def save_nodes(folder, given, ranges, name):
    """Labels, and whose they are: of one type."""
    save(f"{folder}/label.npy", "y", constant(-1, ranges.nodes) if not given["y"] else labels_around(given["y"][name], ranges, name))
    for key in SPLITS:
        if given[key]:
            n = ranges.end[name] - ranges.first[name]
            ids = nodes_of(given[key][name], key)
            save(f"{folder}/{key}.npy", key, (within(part, n, f"{key} of {name}").astype(np.int64) + ranges.first[name] for part in ids))


def save_typed(folder, given, meta):
    types, relations = types_of(given)
    labelled = check_keys(given, types, relations)
    ranges = Ranges(save_rows(folder, given, types))
    numbers = {name: i for i, name in enumerate(dict.fromkeys(name for _, name, _ in relations))}
    save(f"{folder}/node_type.npy", "types", (part for t, name in enumerate(types)
                                              for part in constant(t, ranges.end[name] - ranges.first[name], np.int16)))
    save_edges(folder, given, ranges, numbers)
    save_nodes(folder, given, ranges, labelled)
    names = {"node_types": [{"type": t, "name": name} for t, name in enumerate(types)],
             "edge_types": [{"edge_type": i, "name": name} for name, i in numbers.items()]}
    with open(f"{folder}/meta.json", "w") as f:
        json.dump(meta | names, f)


def narrow(given):
    """Whether all features are bf16, which NumPy has not."""
    x = (given["x"] or {}).values()
    return bool(x) and all(not is_iterator(value) and is_bf16(value) for value in x)
