"""A dataset from arrays: they are written as the files that `import npy` takes, piece by piece, and imported."""
import contextlib
import fcntl
import json
import os
import shutil

from ._arrays import edges_of, is_bf16, labels_of, nodes_of, rows_of, save
from ._calls import import_
from ._errors import FileError, OptionError
from ._write_typed import SPLITS, all_bf16, constant, of_hetero, of_one_type, save_typed


def of_data(data):
    """The arguments that a torch_geometric.data.Data stands for, or a HeteroData."""
    if hasattr(data, "edge_types"):
        return of_hetero(data)

    def get(name):
        return getattr(data, name, None)
    given = {"edge_index": get("edge_index"), "x": get("x"), "y": get("y"), "edge_weight": get("edge_weight")}
    if given["edge_index"] is None:
        raise OptionError(f"data: {type(data).__name__} has no edge_index", "give edge_index=, x=, ... by themselves")
    return given | {split: get(mask) for split, mask in SPLITS.items()}


@contextlib.contextmanager
def folder_beside(path):
    """A folder on the same disk that goes in any case. After a kill the next write or import to `path` removes it: it has
    the name and the lock of what the library itself leaves."""
    for n in range(1000):
        name = f"{path}.tmp-{os.getpid()}-{n}"
        try:
            os.mkdir(name)
            break
        except FileExistsError:
            continue
    else:
        raise FileError(f"{path}.tmp-*: cannot create", "remove what is called so")
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield name
    finally:
        shutil.rmtree(name, ignore_errors=True)
        os.close(fd)


def said_of(name, num_classes, regression):
    meta = {"name": name, "num_classes": num_classes, "task": "node regression" if regression else None}
    return {key: value for key, value in meta.items() if value is not None}


def save_plain(folder, given, meta):
    """A graph without types."""
    with open(f"{folder}/meta.json", "w") as f:
        json.dump(meta, f)
    save(f"{folder}/edges.npy", "edge_index", edges_of(given["edge_index"]))
    n = save(f"{folder}/feat.npy", "x", rows_of(given["x"], "x"))
    if given["num_nodes"] not in (None, n):
        raise OptionError(f"x: {n} rows, for {given['num_nodes']} nodes", "give a row a node")
    save(f"{folder}/label.npy", "y", constant(-1, n) if given["y"] is None else labels_of(given["y"]))
    if given["edge_weight"] is not None:
        save(f"{folder}/edge_weight.npy", "edge_weight", rows_of(given["edge_weight"], "edge_weight"))
    for key in SPLITS:
        if given[key] is not None:
            save(f"{folder}/{key}.npy", key, nodes_of(given[key], key))


def write(path, data=None, *, edge_index=None, x=None, y=None, train=None, valid=None, test=None, edge_weight=None, num_nodes=None,
          num_classes=None, regression=False, name=None, progress=False, **options):
    """Make a dataset in the new folder `path`; returns its `info`.

    data         a torch_geometric.data.Data with edge_index, x, y, train_mask, val_mask, test_mask, or a HeteroData with these,
                 instead of the rest
    edge_index   [2, E] sources and destinations, or a pair of arrays
    x, y         [N, F] features; [N] classes (-1 = none), [N, C] several labels, or values with regression=True
    train, valid, test   ids of nodes, or masks, bool [N]
    edge_weight  [E]
    num_classes  where it is more than y shows
    num_nodes    with types {type: n}, of those without features; where there is x it has as many rows
    options      those of `outgrow import`: memory="2G" bounds it, symmetrize=True adds reverse edges, feature_dtype="f16", ...

    With types of nodes and relations edge_index is {(source, name, destination): [2, E], ...}, edge_weight likewise, x, y, train, valid
    and test are {type: ...}, and ids are those within a type; labels and splits are of one type, and types may have no x. One type with
    one relation is a graph without types.

    Arrays are NumPy's or PyTorch's. Any of them may be an iterator of chunks instead, each [2, e] for edge_index and of rows for
    the others: then no more than a chunk is in memory, besides what `memory` allows the import. Meanwhile the disk holds it
    twice. Whether it fails or is killed, nothing half-written stays at `path`; it appears when it is complete.
    """
    path = os.fspath(path).rstrip("/") or "/"
    given = {"edge_index": edge_index, "x": x, "y": y, "train": train, "valid": valid, "test": test, "edge_weight": edge_weight, "num_nodes": num_nodes}
    if data is not None:
        given |= {key: value for key, value in of_data(data).items() if given[key] is None}
    if given["edge_index"] is None:
        raise OptionError("edge_index: not given", "give [2, E]: all sources, then all destinations")
    plain = of_one_type(given)
    if plain and plain["x"] is None:
        raise OptionError("x: not given", "give [N, F]; a column of ones serves")
    if os.path.lexists(path):
        raise FileError(f"{path}: it exists", "choose another folder, or remove it", -17)
    if is_bf16(plain["x"]) if plain else all_bf16(given):
        options.setdefault("feature_dtype", "bf16")
    with folder_beside(path) as folder:
        said = said_of(name or os.path.basename(path), num_classes, regression)
        if plain:
            save_plain(folder, plain, said)
        else:
            save_typed(folder, given, said)
        return import_("npy", folder, path, progress=progress, **options)
