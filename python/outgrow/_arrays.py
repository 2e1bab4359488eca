"""Arrays, tensors and iterators of chunks in pieces, and .npy files of them."""
import numpy as np

from ._errors import OptionError, warn

PIECE = 1 << 24     # bytes converted at a time
HEADER = 128        # bytes of a .npy header; the shape is written at the end


# ---- inputs ----

def is_missing(value):
    """None, NaN, and NA of pandas, which has no truth value."""
    return value is None or type(value).__name__ == "NAType" or isinstance(value, (float, np.floating)) and value != value


def of_objects(value, name, missing):
    """Numbers of an array of objects, as pandas has for columns of several types. `missing`: None and NA become NaN."""
    flat = value.ravel().tolist()
    for v in flat:
        if not isinstance(v, (int, float, np.number, np.bool_)) and not (missing and is_missing(v)):
            raise OptionError(f"{name}: objects, one of them of type {type(v).__name__}", "give numbers, of 64 bits at most")
    return np.array([np.nan if is_missing(v) else v for v in flat]).reshape(value.shape)


def plain(tensor):
    """A tensor in host memory whose bytes are its numbers, without a gradient. Views of conjugates and negatives are copied."""
    tensor = tensor.detach().cpu()
    return tensor.resolve_conj().resolve_neg() if str(tensor.layout) == "torch.strided" else tensor


def array_of(value, name, missing=False):
    """A NumPy view of an array or tensor, or a copy of a list. Values in bf16 become float32, since .npy has no bf16. `missing`: objects may be None."""
    if hasattr(value, "detach"):
        value = plain(value)
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
        if str(value.layout) != "torch.strided":
            raise OptionError(f"{name}: a sparse tensor", "give a dense one: to_dense(), or chunks of rows")
        if value.is_quantized:
            raise OptionError(f"{name}: a quantized tensor", "give its numbers: dequantize()")
        value = value.numpy()
    if np.ma.is_masked(value):
        raise OptionError(f"{name}: a masked array with masked values", "give numbers: filled()")
    given = value
    try:
        value = np.asarray(value)
    except ValueError as error:
        raise OptionError(f"{name}: {type(given).__name__} that is no array: rows of several lengths?", "give numbers, as many in each row") from error
    value = of_objects(value, name, missing) if value.dtype.kind == "O" and value.ndim else value
    if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
        raise OptionError(f"{name}: {value.dtype if value.ndim else type(given).__name__}", "give numbers, of 64 bits at most")
    if value.ndim == 0:
        raise OptionError(f"{name}: {value}, which is no array", "give an array, a tensor, a list or an iterator of these")
    return value


def native(array):
    """It in the byte order of this machine, the only one that PyTorch takes."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def is_bf16(value):
    return str(getattr(value, "dtype", "")) == "torch.bfloat16"


def is_float_rows(value):
    """Whether an import stores it as it is: a matrix of float32 or float16, all finite."""
    kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if kind not in ("float32", "float16") or value.ndim != 2 or 0 in value.shape or str(getattr(value, "layout", "torch.strided")) != "torch.strided":
        return False
    return all(bool(np.isfinite(piece).all()) for piece in pieces(array_of(value, "edge_attr")))


def is_iterator(value):
    return hasattr(value, "__next__")


def pieces(array):
    """Views of an array's rows, PIECE bytes each."""
    rows = max(1, PIECE // max(1, array[:1].nbytes))
    for at in range(0, max(len(array), 1), rows):
        yield array[at:at + rows]


def rows_of(value, name, missing=False):
    """Yield arrays of rows from one array or an iterator of arrays."""
    for chunk in value if is_iterator(value) else [value]:
        yield from pieces(array_of(chunk, name, missing))


def edges_of(value):
    """Yield rows (src, dst) from [2, E], a pair of arrays, or an iterator of either."""
    for chunk in value if is_iterator(value) else [value]:
        chunk = chunk if isinstance(chunk, (tuple, list)) else array_of(chunk, "edge_index")
        if getattr(chunk, "ndim", 2) != 2:
            raise OptionError("edge_index: not a matrix", "give [2, E]: all sources, then all destinations")
        if len(chunk) != 2:
            raise OptionError(f"edge_index: {len(chunk)} rows", "give [2, E]: all sources, then all destinations; transpose [E, 2]")
        src, dst = (array_of(part, "edge_index") for part in (chunk[0], chunk[1]))
        for part in src, dst:
            if part.dtype.kind not in "iu" and part.size:
                raise OptionError(f"edge_index: {part.dtype}", "give ids of nodes, integers")
        if src.shape != dst.shape or src.ndim != 1:
            raise OptionError(f"edge_index: {src.shape} sources and {dst.shape} destinations", "give as many of each")
        for a, b in zip(pieces(src), pieces(dst)):
            yield np.stack([a, b], axis=1)


# ---- conversions ----

def largest_difference(array, name):
    """Largest difference between the numbers and their float32 values."""
    if np.can_cast(array.dtype, np.float32, "safe") or array.size == 0:
        return 0
    with np.errstate(over="ignore"):
        rounded = array.astype(np.float32)
    if (np.isinf(rounded) & np.isfinite(array)).any():
        raise OptionError(f"{name}: {array.dtype}, with numbers that float32 has no room for", "scale them")
    wide = np.longdouble if array.dtype.itemsize == 8 and array.dtype.kind in "iu" else np.float64
    with np.errstate(invalid="ignore"):  # of infinities
        return np.nanmax(np.abs(array.astype(wide) - rounded.astype(wide)), initial=0)


def is_changed(value):
    """Whether a dataset, which has float32 and narrower features, stores other numbers than these."""
    if not hasattr(value, "dtype") or is_bf16(value):
        return False
    array = array_of(value, "x")
    return not np.can_cast(array.dtype, np.float32, "safe") and any((piece.astype(np.float32).astype(piece.dtype) != piece).any() for piece in pieces(array))


def as_float32(chunks, name, least_dims=1):
    """Yield the chunks as float32 if they have `least_dims` dimensions or more. Warns at the end if values changed."""
    most, kind = 0, None
    for chunk in chunks:
        difference = largest_difference(chunk, name) if chunk.ndim >= least_dims else 0
        if difference > most:
            most, kind = difference, chunk.dtype
        yield chunk.astype(np.float32) if chunk.ndim >= least_dims and chunk.dtype.kind == "f" and chunk.itemsize > 4 else chunk
    if most > 0:
        warn(f"{name}: outgrow.write stores {kind} as float32; the largest difference is {most:.6g}")


def unchanged(chunks, name):
    return chunks


def labels_of(value, name, values):
    """Rows of labels; [N, 1] becomes [N]. Values and several labels per node are stored as float32."""
    for rows in as_float32(rows_of(value, name, True), name, 1 if values else 2):
        yield rows[:, 0] if rows.ndim == 2 and rows.shape[1] == 1 else rows


def counted(chunks, name, n, each):
    """Yield the chunks; checks that they have n rows together."""
    rows = 0
    for chunk in chunks:
        rows += len(chunk)
        yield chunk
    if n is not None and rows != n:
        raise OptionError(f"{name}: {rows} rows, for {n} {each}s", f"give a row {'an' if each == 'edge' else 'a'} {each}")


# ---- writing .npy files ----

def header(dtype, shape):
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    return b"\x93NUMPY\x01\x00" + (HEADER - 10).to_bytes(2, "little") + text.ljust(HEADER - 11).encode() + b"\n"


def keeps(chunk, dtype):
    """Whether the numbers are equal in the other type."""
    with np.errstate(all="ignore"):
        cast = chunk.astype(dtype)
    return np.can_cast(chunk.dtype, dtype, "same_kind") and np.array_equal(cast, chunk, equal_nan=chunk.dtype.kind == "f")


def save(path, name, chunks):
    """Write chunks of rows as one array, with the first one's dtype and width. Returns the number of rows."""
    dtype, width, rows = None, None, 0
    with open(path, "wb") as f:
        f.write(bytes(HEADER))
        for chunk in chunks:
            if dtype is None:
                dtype, width = chunk.dtype.newbyteorder("<"), chunk.shape[1:]
            if chunk.shape[1:] != width:
                raise OptionError(f"{name}: rows of {chunk.shape[1:]} after rows of {width}", "give chunks of one width")
            if not np.can_cast(chunk.dtype, dtype) and not keeps(chunk, dtype):
                raise OptionError(f"{name}: {chunk.dtype} after {dtype}", "give chunks of one dtype")
            np.ascontiguousarray(chunk, dtype=dtype).tofile(f)
            rows += len(chunk)
        if dtype is None:
            raise OptionError(f"{name}: empty", "pass at least one row, or leave it out")
        f.seek(0)
        f.write(header(dtype, (rows, *width)))
    return rows
