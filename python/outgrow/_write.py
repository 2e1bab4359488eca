"""Datasets from arrays: written in pieces as the files of `import npy`, then imported."""
import contextlib
import fcntl
import json
import operator
import os
import re
import shutil

import numpy as np

from ._arrays import array_of, as_float32, counted, edges_of, is_bf16, is_changed, is_iterator, labels_of, rows_of, save, unchanged
from ._attributes import save_attributes
from ._calls import convert, info, log
from ._errors import FileError, OptionError, warn
from ._ids import SplitPart, check_range, save_splits
from ._meta import meta_of
from ._names import class_numbers, is_words, leave_names, memory_of, node_ids_of
from ._options import folder_of
from ._sparse import is_csr, of_libraries, save_csr
from ._stores import NODE, parts_of
from ._times import times_of
from ._write_data import of_data, ones_for
from ._write_links import KINDS, LINKS, check_links, files_of, save_links, with_edge_classes
from ._write_named import Named
from ._write_typed import SPLITS, all_bf16, constant, of_one_type, save_typed

OF_FILES = {"edges": "edge_index", "feat": "x", "label": "y", "node_times": "node_time", "edge_times": "edge_time"}  # names of files that differ from their arguments


@contextlib.contextmanager
def folder_beside(path):
    """A temporary folder on the same disk. After a kill the next write or import to `path` removes it, because it has the name and
    lock of the library's own."""
    for n in range(1000):
        name = f"{path}.tmp-{os.getpid()}-{n}"
        try:
            os.mkdir(name)
            break
        except FileExistsError:
            continue
        except FileNotFoundError as error:
            parent = os.path.dirname(path) or "."
            raise FileError(f"{parent}: there is no such folder", f"os.makedirs({parent!r}) makes it", -error.errno) from None
    else:
        raise FileError(f"{path}.tmp-*: cannot create", "remove the folders with these names")
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield name
    finally:
        shutil.rmtree(name, ignore_errors=True)
        os.close(fd)


def said_of(name, num_classes, task):
    if not isinstance(name, str):
        raise OptionError(f"name: {name!r}", "give a text")
    if num_classes is not None:
        if not hasattr(num_classes, "__index__") or isinstance(num_classes, bool):
            raise OptionError(f"num_classes: {num_classes!r}", "give a whole number")
        num_classes = operator.index(num_classes)
    meta = {"name": name, "num_classes": num_classes, "task": task}
    return {key: value for key, value in meta.items() if value is not None}


def rows_known(x):
    """Number of rows, or None if it is unknown before reading."""
    if is_iterator(x):
        return None
    return len(x if getattr(x, "shape", ()) or isinstance(x, list) else array_of(x, "x"))


def edges_within(value, n):
    for rows in edges_of(value):
        for column in rows.T:
            check_range(column, "edge_index", n)
        yield rows


def save_plain(folder, given, meta, names, as_stored):
    """Write a homogeneous graph. Inputs that are checked quickly come first."""
    with open(f"{folder}/meta.json", "w") as f:
        json.dump(meta, f)
    def splits(n):
        return {key: [SplitPart(names[key], given[key], n)] for key in SPLITS if given[key] is not None}
    if is_csr(given["x"]):
        known = save_csr(f"{folder}/feat", given["x"], "x")
    else:
        known = rows_known(given["x"])
    if known is not None:
        save_splits(folder, splits(known))
    n = known if is_csr(given["x"]) else save(f"{folder}/feat.npy", "x", as_stored(counted(rows_of(given["x"], "x"), "x", given["num_nodes"], "node"), "x"))
    if known is None:
        save_splits(folder, splits(n))
    y = constant(-1, n) if given["y"] is None else labels_of(given["y"], "y", "task" in meta)
    save(f"{folder}/label.npy", "y", counted(y, "y", n, "node"))
    edges = save(f"{folder}/edges.npy", "edge_index", edges_within(given["edge_index"], n))
    if given["edge_weight"] is not None:
        weights = counted(rows_of(given["edge_weight"], "edge_weight"), "edge_weight", edges, "edge")
        save(f"{folder}/edge_weight.npy", "edge_weight", as_float32(weights, "edge_weight"))
    if given.get("edge_attr") is not None:
        rows = counted(rows_of(given.get("edge_attr"), "edge_attr"), "edge_attr", edges, "edge")
        save(f"{folder}/edge_attr.npy", "edge_attr", as_float32(rows, "edge_attr"))
    for name, rows in ("node_time", n), ("edge_time", edges):
        if given.get(name) is not None:
            save(f"{folder}/{name}s.npy", name, counted(times_of(given[name], name), name, rows, name[:4]))


@contextlib.contextmanager
def by_arguments(folder, names, path=""):
    """Errors and warnings name arguments instead of the files written from them."""
    def argument(file):
        name = file[1]
        for prefix, of in ("feat_", "x"), ("edge_attr_", "edge_attr"), ("edge_times_", "edge_time"):
            if name.startswith(prefix):
                return f"{of} of {name[len(prefix):]}"
        return names.get(name) or OF_FILES.get(name, name)

    def told(text):
        text = text.replace('put {"task": "regression"} into its meta.json', "give regression=True")
        text = text.replace("num_classes of meta.json, or of the source's own description, says how many there are", "give a larger num_classes, or none")
        text = text.replace("a graph without edges has nothing to sample", "outgrow.NeighborLoader(data, ...) takes a Data without edges as it is")
        text = re.sub(rf"\b({'|'.join(map(re.escape, {*names, 'feat', 'label'}))})\.npy", argument, re.sub(rf"{re.escape(folder)}/(.+?)\.npy", argument, text))
        return text.replace(folder, path or folder)

    def rename(record):
        if isinstance(record.args, tuple):
            record.args = tuple(told(str(a)) if folder in str(a) else a for a in record.args)
        return True
    log.addFilter(rename)
    try:
        yield
    except OptionError as error:
        raise OptionError(told(error.message), told(error.hint), error.code) from error
    finally:
        log.removeFilter(rename)


# Names of write's arguments in other libraries.
OTHER_NAMES = {"edge_feat": "edge_attr", "edge_features": "edge_attr", "features": "x", "feat": "x", "labels": "y", "label": "y", "edges": "edge_index", "edge_weights": "edge_weight", "weight": "edge_weight",
               "train_mask": "train", "train_idx": "train", "val": "valid", "val_mask": "valid", "val_idx": "valid", "valid_mask": "valid", "valid_idx": "valid",
               "test_mask": "test", "test_idx": "test", "node_times": "node_time", "edge_times": "edge_time"}
OTHER_NAMES |= {f"{other}_{name}": f"{split}_{kind}" for kind, (_, file) in KINDS.items() for split in SPLITS for other in ({split, "val"} if split == "valid" else {split})
                for name in (kind, file) if f"{other}_{name}" not in LINKS}


def with_classes(given):
    """Labels that are words as classes, and the names of these, or None."""
    typed = hasattr(given["y"], "items")
    ys = given["y"] if typed else {"": given["y"]}
    words = [name for name, y in ys.items() if y is not None and not is_iterator(y) and is_words(y)]
    if not words:
        return given, None
    if len(words) < len(ys):
        raise OptionError(f"y of {words[0]}: words, unlike y of {next(name for name in ys if name not in words)}", "give labels of all types as words, or all as numbers")
    whole = next(iter(ys.values())) if len(ys) == 1 else np.concatenate([np.asarray(y, object) for y in ys.values()])
    numbers, names = class_numbers(whole, f"y of {', '.join(ys)}" if typed else "y")
    of_types = dict(zip(ys, np.split(numbers, np.cumsum([len(y) for y in ys.values()])[:-1])))
    return given | {"y": of_types if typed else of_types[""]}, names


def store(path, given, about, options, *, progress=False, maps=None, classes=None, arguments=None, links=None, rest=None):
    """Write the arguments of write as the files of an import, and import them; returns `info`.

    about      num_classes, task or None, name, perhaps feature_names {type: names}
    maps       {type: NameMap} of ids
    classes    names of classes
    arguments  what errors call splits
    links      {argument: value} of LINKS
    rest       called with the source and the dataset before the dataset appears
    """
    plain = of_one_type(given)
    if plain and plain["x"] is None:
        raise OptionError("x: not given", "pass [N, F], for example a column of ones")
    if os.path.lexists(path):
        raise FileError(f"{path}: exists already", "choose another folder, or remove it", -17)
    given, words = with_classes(given)
    check_links(links or {})
    links, edge_classes = with_edge_classes(links or {})
    plain, classes = of_one_type(given), words or classes
    maps = {None: next(iter(maps.values()))} if plain and maps else maps or {}
    if any(map(is_csr, [plain["x"]] if plain else (given["x"] or {}).values())):
        options.setdefault("feature_layout", "sparse")
    if is_bf16(plain["x"]) if plain else all_bf16(given):
        options.setdefault("feature_dtype", "bf16")
    changes = any(options.get(key) for key in ("row_normalize", "standardize", "standardize_as"))
    as_stored = as_float32 if options.get("feature_dtype") in (None, "f32") and not changes else unchanged
    arguments = arguments or {key: key for key in SPLITS}
    with folder_beside(path) as folder, folder_beside(path) as other, by_arguments(folder, arguments | files_of(links), path):
        said = said_of(about["name"] or os.path.basename(path), about["num_classes"], about["task"])
        if classes:
            said["class_names"] = classes
        if names := about.get("feature_names"):
            said["feature_names"] = next(iter(names.values())) if plain else names
        if edge_classes:
            said["edge_class_names"] = edge_classes
        if plain:
            save_plain(folder, plain, said, arguments, as_stored)
            save_links(folder, links, list(given["edge_index"]) if hasattr(given["edge_index"], "items") else [])
        else:
            save_typed(folder, given, said, arguments, as_stored, links)
        leave_names(maps, folder)
        node_ids = node_ids_of(maps) if maps else None
        if rest is None and node_ids is None or os.path.lexists(path):  # which import refuses
            return convert("npy", folder, path, progress=progress, **options)
        whole = os.path.join(other, "dataset")
        convert("npy", folder, whole, progress=progress, **options)
        if rest:
            rest(folder, whole)
        if node_ids is not None:
            np.save(f"{whole}/node_ids.npy", node_ids)
        os.rename(whole, path)  # last: a dataset has its attributes or is not there
        return info(path)


KEEP_EDGES = {"memory", "threads", "feature_dtype", "feature_layout", "edge_feature_dtype", "edge_ids", "row_normalize", "standardize", "standardize_as", "feature_scales", "split",
              "seed"}  # options with which all edges are stored, each once


def named(given):
    """Names of attributes that are left, but for x and y, which the dataset has in some form."""
    return [key if name in (None, "") else f"{name if isinstance(name, str) else '__'.join(name)}.{key}" for name, keys in given.unused.items() for key in keys
            if key not in ("x", "y")]


def save_rest(folder, path, data, given, edges_stay, its_x, its_y):
    """What the dataset's own files do not have of a Data, whose are x and y. Says what stays out."""
    typed, parts, new = hasattr(data, "edge_types"), parts_of(path, meta_of(path)), {old: name for name, old in (given.names or {}).items()}
    for name, store in zip(data.node_types, data.node_stores) if typed else [(None, data)]:
        y, x = (store[key] if key in store else None for key in ("y", "x"))
        labelled = name not in given.empty and "y" in parts[new[name] if new.get(name) in parts else NODE].arrays
        if its_y and y is not None and not (labelled and str(getattr(y, "dtype", "")).endswith("int64") and y.ndim == 1) and "y" not in given.unused[name]:
            given.unused[name].append("y")  # which labels.npy does not keep, or whose type or shape
        if its_x and x is not None and not is_csr(of_libraries(x, "x")) and "x" not in given.unused[name] and is_changed(x):
            given.unused[name].append("x")
    if any("edge_label_index" in store for store in (data.edge_stores if typed else [data])):
        warn("data: edge_label_index does not become the dataset's links: give it to LinkNeighborLoader, or to Loader(links=)")
    both = {*given.times.values(), *SPLITS.values(), *(("edge_weight",) if given.arguments.get("edge_weight") is not None else ())}  # which training has too
    before = [name for name in named(given) if name.split(".")[-1] not in both]
    save_attributes(folder, path, data, given, edges_stay, its_x)
    left = [name for name in named(given) if name.split(".")[-1] != "edge_weight" or "edge_weight" not in both]
    kept = [name for name in before if name not in left]
    if kept:
        warn(f"data: outgrow.write stores {', '.join(kept)} for batches, not for training")
    if left:
        warn(f"data: outgrow.write does not store {', '.join(left)}")


def write(path, data=None, *, edge_index=None, x=None, y=None, train=None, valid=None, test=None, edge_weight=None, edge_attr=None,
          node_time=None, edge_time=None, time_attr=None, num_nodes=None, ids=None, num_classes=None, regression=False, shares=False, name=None, progress=False,
          **options):
    """Write a dataset into the new folder `path`; returns its `info`.

    data         a torch_geometric.data.Data or HeteroData instead of the other arguments. It has edge_index, x, y, edge_weight, edge_attr,
                 num_nodes, train_mask, val_mask, test_mask. Other attributes of nodes, edges and the graph are stored for
                 NeighborLoader. So is what a dataset cannot have: labels of types without train_mask, types without nodes, names, an
                 edge_attr that is no matrix of floats, any shape of x and y. Without x a homogeneous graph has ones, for training alone.
                 A warning names attributes that are not stored: sparse ones, and of edges if options change the edges
    edge_index   [2, E] sources and destinations, or a pair of arrays
    x, y         [N, F] features, or a sparse CSR matrix. [N] classes (-1 = none) or words for classes. Also [N, C] several labels, values with regression=True, or
                 shares of C classes with shares=True: at least 0, NaN of a node without
    train, valid, test   distinct node ids, or masks [N], bool or zeros and ones. A warning names splits that overlap
    edge_weight  [E]
    edge_attr    [E, D] features of edges, stored in the order of the dataset's edges (edge_features.npy)
    node_time, edge_time   [N] and [E] times: whole numbers. Those of the nodes of a split, in its order: train_time, valid_time, test_time
    time_attr    the attribute of data that has them ["time" of nodes, "edge_time" or "time" of edges]
    ids          [N] the id of each row of x, words or whole numbers. The dataset has its nodes in the order of their ids, which
                 node_names.npy or node_ids.npy stores. Then edge_index and splits may have ids that are words, or rows as without ids
    num_classes  if there are more classes than in y
    num_nodes    heterogeneous: {type: n} for types without x
    options      options of `outgrow import`: memory="2G" limits it, symmetrize=True adds reverse edges, feature_dtype="f16", ...
                 Also train_edges, valid_edges and test_edges: links [n, 2] of these splits. Their given negatives are
                 train_neg, valid_neg and test_neg: pairs [m, 2] of all, or k destinations of each, [n, k]; valid_neg_edges and valid_neg_dst say which.
                 For task="edge": train_edge_labels, ...: [n] classes, -1 = none; [n] or [n, C] floats. And train_edge_attr, ...: [n, D]
                 features of these edges. With time=: train_edge_time, ...: [n]

    For a heterogeneous graph edge_index is {(source, name, destination): [2, E], ...}, and edge_weight, edge_attr and links likewise. Nodes of x, y, train, valid and
    test are {type: ...}, with ids within the type. Types may have no x. Several types may have labels, of one kind: a class is the same number in all.
    One type with one relation is stored as a homogeneous graph.

    Arrays are NumPy's or PyTorch's, columns pandas' or Polars'. Any of them may be an iterator of chunks, each [2, e] for edge_index and of rows for the others.
    Then only one chunk is in memory, in addition to the import's `memory`. The disk temporarily needs twice the space. A warning
    names numbers of x, edge_weight or values in y that float32 changes. `path` appears only when complete; failures leave nothing there.
    """
    links = {key: value for key in LINKS if (value := options.pop(key, None)) is not None}
    if time_attr is not None and data is None:
        raise OptionError("time_attr: without data", "give node_time= or edge_time=")
    for key in options:
        if key in OTHER_NAMES:
            raise OptionError(f"{key}: no such argument", f"it is called {OTHER_NAMES[key]}")
    path = folder_of(path, "path").rstrip("/") or "/"
    given = {"edge_index": edge_index, "x": x, "y": y, "train": train, "valid": valid, "test": test, "edge_weight": edge_weight, "edge_attr": edge_attr,
             "node_time": node_time, "edge_time": edge_time, "num_nodes": num_nodes}
    given, links = ({key: of_libraries(value, key) for key, value in of.items()} for of in (given, links))
    ids = of_libraries(ids, "ids")
    names = {key: key for key in SPLITS}
    if data is not None:
        of = of_data(data, regression or shares, time_attr)
        regression |= of.regression and y is None
        names |= {key: mask for key, mask in SPLITS.items() if given[key] is None and key in of.arguments}
        if of.arguments.get("edge_attr") is not None and edge_attr is None and len(of.arguments["edge_attr"]):
            warn("edge_attr: stored as features of edges, which the models gat, gatv2, gine and transformer use")
        given |= {key: value for key, value in of.arguments.items() if given[key] is None}
    if given["edge_index"] is None:
        raise OptionError("edge_index: not given", "give [2, E]: all sources, then all destinations")
    if data is not None:
        given["x"] = ones_for(given, data)
    kept = None
    if ids is not None and data is not None:
        raise OptionError("ids: with data", "give its arrays by themselves: edge_index=, x=, ...")
    if ids is not None and links:
        raise OptionError(f"ids: with {(key := next(iter(links)))}", "sort all rows by id (numpy.argsort(ids)) and leave ids out" if LINKS[key][1] == "time" else
                          "split links with edge_split, or give LinkNeighborLoader(edge_label_index=)")
    with contextlib.ExitStack() as open_folders:
        if ids is not None:
            kept = Named(open_folders.enter_context(folder_beside(path)), given, ids, memory_of(options))
            given = kept.given_to_write()
        if shares and regression:
            raise OptionError("regression: with shares", "give one of them")
        said = {"num_classes": num_classes, "task": "node shares" if shares else "node regression" if regression else None, "name": name}
        if data is None:
            return store(path, given, said, options, progress=progress, maps=kept and kept.maps, arguments=names, links=links)
        return store(path, given, said, options, progress=progress, arguments=names, links=links, rest=lambda folder, whole: save_rest(
            folder, whole, data, of, KEEP_EDGES.issuperset(options) and edge_index is None, x is None and not any(options.get(key) for key in ("row_normalize", "standardize", "standardize_as")), y is None))
