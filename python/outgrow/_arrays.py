"""Arrays, tensors and iterators of chunks, piece by piece, and .npy files of them."""
import numpy as np

from ._errors import OptionError

PIECE = 1 << 24     # bytes that are converted at once
HEADER = 128        # of a .npy file here: its shape is put in when it is known


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
