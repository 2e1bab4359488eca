"""A dataset from arrays: they are written as the files that `import npy` takes, piece by piece, and imported."""
import contextlib
import fcntl
import json
import os
import shutil

import numpy as np

from ._calls import import_
from ._errors import FileError, OptionError

PIECE = 1 << 24     # bytes that are converted at once
HEADER = 128        # of a .npy file here: its shape is put in when it is known
SPLITS = {"train": "train_mask", "valid": "val_mask", "test": "test_mask"}  # and what PyG calls their masks


# ---- what is given ----

def array_of(value, name):
    """A NumPy view of an array or a tensor, or a copy of a list; bf16 as float32, for .npy has no bf16."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
        value = value.numpy()
    value = np.asarray(value)
    if value.dtype.kind not in "biuf":
        raise OptionError(f"{name}: {value.dtype}", "give numbers")
    return value


def is_bf16(value):
    return str(getattr(value, "dtype", "")) == "torch.bfloat16"


def is_iterator(value):
    return hasattr(value, "__next__")


def pieces(array):
    """Views of an array's rows, PIECE bytes each."""
    rows = max(1, PIECE // max(1, array[:1].nbytes))
    for at in range(0, max(len(array), 1), rows):
        yield array[at:at + rows]


def rows_of(value, name):
    """Arrays of rows, in turn, from one array or from an iterator of them."""
    for chunk in value if is_iterator(value) else [value]:
        yield from pieces(array_of(chunk, name))


def edges_of(value):
    """Rows (src, dst), in turn, from [2, E], a pair of arrays, or an iterator of either."""
    for chunk in value if is_iterator(value) else [value]:
        if not isinstance(chunk, (tuple, list)) and getattr(chunk, "ndim", 0) != 2:
            raise OptionError("edge_index: it is no matrix", "give [2, E]: all sources, then all destinations")
        if len(chunk) != 2:
            raise OptionError(f"edge_index: {len(chunk)} rows", "give [2, E]: all sources, then all destinations; transpose [E, 2]")
        src, dst = (array_of(part, "edge_index") for part in (chunk[0], chunk[1]))
        if src.shape != dst.shape or src.ndim != 1:
            raise OptionError(f"edge_index: {src.shape} sources and {dst.shape} destinations", "give as many of each")
        for a, b in zip(pieces(src), pieces(dst)):
            yield np.stack([a, b], axis=1)


def nodes_of(value, name):
    """Ids, in turn, from ids or a mask."""
    if is_iterator(value):
        return rows_of(value, name)
    value = array_of(value, name)
    return pieces(np.flatnonzero(value) if value.dtype == bool else value)


def labels_of(value):
    """Rows of labels; [N, 1] is [N]."""
    for rows in rows_of(value, "y"):
        yield rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows


def of_data(data):
    """The arguments that a torch_geometric.data.Data stands for."""
    def get(name):
        return getattr(data, name, None)
    given = {"edge_index": get("edge_index"), "x": get("x"), "y": get("y"), "edge_weight": get("edge_weight")}
    if given["edge_index"] is None:
        raise OptionError(f"data: {type(data).__name__} has no edge_index", "give edge_index=, x=, ... by themselves")
    return given | {split: get(mask) for split, mask in SPLITS.items()}


# ---- .npy files, written from the front ----

def header(dtype, shape):
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    return b"\x93NUMPY\x01\x00" + (HEADER - 10).to_bytes(2, "little") + text.ljust(HEADER - 11).encode() + b"\n"


def save(path, name, chunks):
    """Chunks of rows as one array; the first says type and width. Returns how many rows."""
    dtype, width, rows = None, None, 0
    with open(path, "wb") as f:
        f.write(bytes(HEADER))
        for chunk in chunks:
            if dtype is None:
                dtype, width = chunk.dtype.newbyteorder("<"), chunk.shape[1:]
            if chunk.shape[1:] != width:
                raise OptionError(f"{name}: rows of {chunk.shape[1:]} behind rows of {width}", "give chunks of one width")
            if not np.can_cast(chunk.dtype, dtype, "same_kind"):
                raise OptionError(f"{name}: {chunk.dtype} behind {dtype}", "give chunks of one type")
            np.ascontiguousarray(chunk, dtype=dtype).tofile(f)
            rows += len(chunk)
        if dtype is None:
            raise OptionError(f"{name}: it is empty", "give at least one row, or leave it out")
        f.seek(0)
        f.write(header(dtype, (rows, *width)))
    return rows


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


def no_labels(n):
    """-1 for each node."""
    for at in range(0, n, PIECE // 8):
        yield np.full(min(n - at, PIECE // 8), -1)


def save_meta(folder, name, num_classes, regression):
    meta = {"name": name, "num_classes": num_classes}
    if regression:
        meta["task"] = "node regression"
    with open(f"{folder}/meta.json", "w") as f:
        json.dump({key: value for key, value in meta.items() if value is not None}, f)


def write(path, data=None, *, edge_index=None, x=None, y=None, train=None, valid=None, test=None, edge_weight=None, num_classes=None,
          regression=False, name=None, progress=False, **options):
    """Make a dataset in the new folder `path`; returns its `info`.

    data         a torch_geometric.data.Data with edge_index, x, y, train_mask, val_mask, test_mask, instead of the rest
    edge_index   [2, E] sources and destinations, or a pair of arrays
    x, y         [N, F] features; [N] classes (-1 = none), [N, C] several labels, or values with regression=True
    train, valid, test   ids of nodes, or masks, bool [N]
    edge_weight  [E]
    num_classes  where it is more than y shows
    options      those of `outgrow import`: memory="2G" bounds it, symmetrize=True adds reverse edges, feature_dtype="f16", ...

    Arrays are NumPy's or PyTorch's. Any of them may be an iterator of chunks instead, each [2, e] for edge_index and of rows for
    the others: then no more than a chunk is in memory, besides what `memory` allows the import. Meanwhile the disk holds it
    twice. Whether it fails or is killed, nothing half-written stays at `path`; it appears when it is complete.
    """
    path = os.fspath(path).rstrip("/") or "/"
    given = {"edge_index": edge_index, "x": x, "y": y, "train": train, "valid": valid, "test": test, "edge_weight": edge_weight}
    if data is not None:
        given = of_data(data) | {key: value for key, value in given.items() if value is not None}
    for key, hint in ("edge_index", "give [2, E]: all sources, then all destinations"), ("x", "give [N, F]; a column of ones serves"):
        if given[key] is None:
            raise OptionError(f"{key}: not given", hint)
    if os.path.lexists(path):
        raise FileError(f"{path}: it exists", "choose another folder, or remove it", -17)
    if is_bf16(given["x"]):
        options.setdefault("feature_dtype", "bf16")
    with folder_beside(path) as folder:
        save_meta(folder, name or os.path.basename(path), num_classes, regression)
        save(f"{folder}/edges.npy", "edge_index", edges_of(given["edge_index"]))
        n = save(f"{folder}/feat.npy", "x", rows_of(given["x"], "x"))
        save(f"{folder}/label.npy", "y", no_labels(n) if given["y"] is None else labels_of(given["y"]))
        if given["edge_weight"] is not None:
            save(f"{folder}/edge_weight.npy", "edge_weight", rows_of(given["edge_weight"], "edge_weight"))
        for key in SPLITS:
            if given[key] is not None:
                save(f"{folder}/{key}.npy", key, nodes_of(given[key], key))
        return import_("npy", folder, path, progress=progress, **options)
