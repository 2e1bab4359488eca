"""Edges to learn, to validate and to test, with what belongs to each, as files of `import npy`."""
import numpy as np

from ._arrays import array_of, save
from ._errors import OptionError
from ._ids import check_range
from ._names import class_numbers, is_words
from ._times import whole

SPLITS = "train", "valid", "test"


def pairs(value, name):
    value = array_of(value, name)
    if value.ndim != 2 or value.shape[1] != 2 or value.dtype.kind not in "iu":
        raise OptionError(f"{name}: {value.dtype} {list(value.shape)}", "give pairs of nodes, integers [n, 2]: source and destination of each")
    return value


def negatives(value, name):
    value = array_of(value, name)
    if value.ndim != 2 or value.dtype.kind not in "iu":
        raise OptionError(f"{name}: {value.dtype} {list(value.shape)}", "give pairs of nodes, integers [m, 2], or k destinations for each edge, [n, k]")
    return value


def rows(value, name):
    value = array_of(value, name)
    if value.dtype.kind not in "iuf" or value.ndim not in (1, 2):
        raise OptionError(f"{name}: {value.dtype} {list(value.shape)}", "give one label per link: integers [n], or floats [n] or [n, C]")
    return value


# Arguments of write after a split's name: how they are read, and their file.
KINDS = {"edges": (pairs, "edges"), "edge_labels": (rows, "edge_labels"), "edge_attr": (rows, "edge_attr"), "edge_time": (whole, "edge_times"), "time": (whole, "times"),
         "neg": (negatives, "neg"), "neg_edges": (pairs, "neg_edges"), "neg_dst": (negatives, "neg_dst")}
LINKS = {f"{split}_{kind}": (split, kind) for kind in KINDS for split in SPLITS}


def with_edge_classes(links):
    """Labels of links that are words as classes, those of all splits together, and their names or None."""
    found = {(key, of): np.asarray(y, object) for key, value in links.items() if key.endswith("edge_labels")
             for of, y in (value.items() if hasattr(value, "items") else [(None, value)]) if is_words(y)}
    if not found:
        return links, None
    numbers, names = class_numbers(np.concatenate(list(found.values())), ", ".join(dict.fromkeys(key for key, _ in found)))
    links = {key: dict(value) if hasattr(value, "items") else value for key, value in links.items()}
    for (key, of), part in zip(found, np.split(numbers, np.cumsum([len(y) for y in found.values()])[:-1])):
        if of is None:
            links[key] = part
        else:
            links[key][of] = part
    return links, names


def save_links(folder, links):
    """Write the lists of a homogeneous graph."""
    for key, value in links.items():
        split, kind = LINKS[key]
        read, file = KINDS[kind]
        value = next(iter(value.values())) if hasattr(value, "items") and len(value) == 1 else value  # of one relation
        save(f"{folder}/{split}_{file}.npy", key, [read(value, key)])


def of_relation(value, key, relation, ranges):
    """Ids within types as ids of the whole graph; other rows as they are."""
    kind, name = LINKS[key][1], f"{key} of {relation}"
    value = KINDS[kind][0](value, name)
    if kind not in ("edges", "neg", "neg_edges", "neg_dst"):
        return value
    ends = relation[::2] if kind in ("edges", "neg_edges") or kind == "neg" and value.shape[1] == 2 else [relation[2]] * value.shape[1]
    return np.stack([check_range(value[:, i], name, ranges.count[of], f"the type {of}") + ranges.first[of] for i, of in enumerate(ends)], 1)


def save_typed_links(folder, links, ranges, numbers, relations):
    """Write the lists of a heterogeneous graph, {relation: ...} each. numbers: of relations' names."""
    for key, value in links.items():
        split, kind = LINKS[key]
        if kind == "time":
            raise OptionError(f"{key}: of a graph with types", "import_(\"npy\", ...) reads a file of this name")
        if not hasattr(value, "items"):
            raise OptionError(f"{key}: not by relations, as edge_index is", f"give {key}={{relation: ...}}, with ids within each type")
        of = list(links.get(f"{split}_edges") or ())
        if sorted(of) != sorted(value) or not set(of) <= set(relations):
            raise OptionError(f"{key}: of {', '.join(map(str, value))}", f"give what {split}_edges has, relations of edge_index: {', '.join(map(str, of or relations))}")
        pairs_of_all = kind == "neg_edges" or kind == "neg" and any(array_of(v, key).shape[1:] == (2,) for v in value.values())
        if pairs_of_all and split != "train" and len(of) > 1:
            raise OptionError(f"{key}: pairs for {len(of)} relations", "give destinations of each edge, [n, k], or edges of one relation")
        parts = [of_relation(value[relation], key, relation, ranges) for relation in of]
        if len({part.shape[1:] for part in parts}) > 1:
            raise OptionError(f"{key}: {' and '.join(str(list(part.shape)) for part in parts)}", "give as many columns for each relation")
        save(f"{folder}/{split}_{KINDS[kind][1]}.npy", key, parts)
        if kind == "edges":
            save(f"{folder}/{split}_edge_type.npy", key, [np.repeat([numbers[name] for _, name, _ in of], [len(part) for part in parts])])
