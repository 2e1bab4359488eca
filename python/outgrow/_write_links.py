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


def features(value, name):
    value = rows(value, name)
    if not np.isfinite(value).all():
        raise OptionError(f"{name}: row {int(np.argmin(np.isfinite(value.reshape(len(value), -1)).all(1)))}: not a finite number", "replace it, with 0 for example")
    return value


# Arguments of write after a split's name: how they are read, and their file.
KINDS = {"edges": (pairs, "edges"), "edge_labels": (rows, "edge_labels"), "edge_attr": (features, "edge_attr"), "edge_time": (whole, "edge_times"), "time": (whole, "times"),
         "neg": (negatives, "neg"), "neg_edges": (pairs, "neg_edges"), "neg_dst": (negatives, "neg_dst")}
LINKS = {f"{split}_{kind}": (split, kind) for kind in KINDS for split in SPLITS}


def said_of(key, relation):
    return key if relation is None else f"{key} of {relation}"


def files_of(links):
    """{name of a file: argument}"""
    return {f"{LINKS[key][0]}_{KINDS[LINKS[key][1]][1]}": key for key in links}


def with_edge_classes(links):
    """Labels of links that are words as classes, those of all splits together, and their names or None."""
    labels = {(key, of): y for key, value in links.items() if key.endswith("edge_labels") for of, y in (value.items() if hasattr(value, "items") else [(None, value)])}
    found = {name: np.asarray(y, object) for name, y in labels.items() if is_words(y)}
    if not found:
        return links, None
    if other := [name for name, y in labels.items() if name not in found and len(y)]:
        raise OptionError(f"{said_of(*other[0])}: no words, and {said_of(*next(iter(found)))} has words", "give all labels of links as words, or all as numbers")
    numbers, names = class_numbers(np.concatenate(list(found.values())), ", ".join(dict.fromkeys(key for key, _ in found)))
    links = {key: dict(value) if hasattr(value, "items") else value for key, value in links.items()}
    for (key, of), part in zip(found, np.split(numbers, np.cumsum([len(y) for y in found.values()])[:-1])):
        if of is None:
            links[key] = part
        else:
            links[key][of] = part
    return links, names


def check_links(links):
    """What splits have in common, and lists without their edges."""
    for key, (split, kind) in LINKS.items():
        if key in links and kind != "time" and f"{split}_edges" not in links:
            raise OptionError(f"{key}: without {split}_edges", f"give {split}_edges, the links that it belongs to")
    for split in SPLITS:
        if len(several := [key for kind in ("neg", "neg_edges", "neg_dst") if (key := f"{split}_{kind}") in links]) > 1:
            raise OptionError(f"{' and '.join(several)}: both are negatives of {split}_edges", "give one of them")
    widths = {key: {np.shape(part)[1:] for part in (value.values() if hasattr(value, "items") else [value])} for key, value in links.items() if key.endswith("edge_attr")}
    if len(set().union(*widths.values())) > 1:
        raise OptionError(f"{', '.join(widths)}: rows of different widths", "give links of all splits the same features, [n, D]")


def save_links(folder, links, relations):
    """Write the lists of a homogeneous graph. relations: its one, or none if edge_index is an array."""
    for key, value in links.items():
        split, kind = LINKS[key]
        read, file = KINDS[kind]
        if hasattr(value, "items"):
            if list(value) != relations:
                raise OptionError(f"{key}: of {', '.join(map(str, value))}", f"give {key}={{{relations[0]}: ...}}, the relation of edge_index" if relations else
                                  f"give an array, {key}=..., as edge_index is one")
            value = value[relations[0]]
        save(f"{folder}/{split}_{file}.npy", key, [read(value, key)])


def of_relation(value, key, relation, ranges):
    """Ids within types as ids of the whole graph; other rows as they are."""
    kind, name = LINKS[key][1], f"{key} of {relation}"
    value = KINDS[kind][0](value, name)
    if kind not in ("edges", "neg", "neg_edges", "neg_dst"):
        return value
    ends = relation[::2] if kind in ("edges", "neg_edges") or kind == "neg" and value.shape[1] == 2 else [relation[2]] * value.shape[1]
    return np.stack([check_range(value[:, i], name, ranges.count[of], f"the type {of}") + ranges.first[of] for i, of in enumerate(ends)], 1)


def check_rows(key, parts, edges, pairs_of_all):
    """Each relation has a row an edge, or as many pairs an edge as the others. In files they follow one another.

    parts, edges: {relation: rows}"""
    each = {}
    for relation, part in parts.items():
        rows, n = len(part), len(edges[relation])
        if rows != n and not pairs_of_all:
            raise OptionError(f"{key} of {relation}: {rows} rows, for {n} edges", "give a row an edge")
        if rows and (not n or rows % n):
            raise OptionError(f"{key} of {relation}: {rows} pairs, for {n} edges", "give as many pairs of each edge, those of an edge after one another")
        if n:
            each[relation] = rows // n
    if len(set(each.values())) > 1:
        raise OptionError(f"{key}: {', '.join(f'{k} pairs an edge of {relation}' for relation, k in each.items())}", "give as many of each edge in all relations")


def save_typed_links(folder, links, ranges, numbers, relations):
    """Write the lists of a heterogeneous graph, {relation: ...} each. numbers: of relations' names."""
    for key, value in links.items():
        split, kind = LINKS[key]
        if kind == "time":
            raise OptionError(f"{key}: of a graph with types", "import_(\"npy\", ...) reads a file of this name")
        if not hasattr(value, "items"):
            raise OptionError(f"{key}: not by relations, as edge_index is", f"give {key}={{relation: ...}}, with ids within each type")
        of = list(links.get(f"{split}_edges") or ())
        if unknown := [name for name in of if name not in relations]:
            raise OptionError(f"{split}_edges: {unknown[0]} is no relation of edge_index", f"it has {', '.join(map(str, relations))}")
        if set(of) != set(value):
            raise OptionError(f"{key}: of {', '.join(map(str, value))}", f"give what {split}_edges has: {', '.join(map(str, of)) or 'nothing'}")
        pairs_of_all = kind == "neg_edges" or kind == "neg" and any(array_of(v, key).shape[1:] == (2,) for v in value.values())
        if pairs_of_all and split != "train" and len(of) > 1:
            raise OptionError(f"{key}: pairs for {len(of)} relations", "give destinations of each edge, [n, k], or edges of one relation")
        parts = [of_relation(value[relation], key, relation, ranges) for relation in of]
        if len({part.shape[1:] for part in parts}) > 1:
            raise OptionError(f"{key}: {' and '.join(str(list(part.shape)) for part in parts)}", "give as many columns for each relation")
        if len(of) > 1:  # else import counts
            check_rows(key, dict(zip(of, parts)), links[f"{split}_edges"], pairs_of_all)
        save(f"{folder}/{split}_{KINDS[kind][1]}.npy", key, parts)
        if kind == "edges":
            save(f"{folder}/{split}_edge_type.npy", key, [np.repeat([numbers[name] for _, name, _ in of], [len(part) for part in parts])])
