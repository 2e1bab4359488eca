"""Node ids from ids or masks; errors name the argument."""
import itertools
import typing

import numpy as np

from ._arrays import array_of, is_iterator, pieces, save
from ._errors import OptionError, warn


def is_zero_one(array, n):
    """Whether the array looks like a mask of n nodes, of any dtype."""
    return array.ndim > 0 and len(array) == n and array.size > 0 and bool(((array == 0) | (array == 1)).all())


def refuse_mask(array, name, n):
    shape = list(array.shape)
    if array.ndim == 2 and len(array) == n:
        split = {"train_mask": "train", "val_mask": "valid", "test_mask": "test"}.get(name)  # of a Data
        raise OptionError(f"{name}: a mask {shape} of {n} nodes: it has {shape[1]} columns, one per split",
                          f"give one of them: {split}=data.{name}[:, 0]" if split else f"select one, such as mask[:, 0] for {name}")
    raise OptionError(f"{name}: a mask {shape}, of {n} nodes", "pass a mask of this length, or ids")


def refuse_zeros_and_ones(name, kind, n):
    raise OptionError(f"{name}: {kind} [{n}] of zeros and ones: a mask, or the nodes 0 and 1 again and again?",
                      f"give a mask as bool: mask != 0 for {name}")


def check_range(ids, name, n, within=""):
    """int64 ids, each below n."""
    if ids.size and not 0 <= ids.min() <= ids.max() < n:
        wrong = ids[(ids < 0) | (ids >= n)][0]
        raise OptionError(f"{name}: not all of 0 .. {n - 1}: {int(wrong)} is among them", f"pass ids within {within or 'the graph'}")
    return np.ascontiguousarray(ids, dtype=np.int64)


def ids_of(value, name, n, within="", distinct=False):
    """int64 node ids from ids or a mask of n nodes: a tensor, an array or a list.

    Integer zeros and ones count as a mask if ids must be distinct: then they cannot be ids. Otherwise they are ambiguous and refused.
    """
    array = array_of(value, name)
    kind, shape = array.dtype.kind, list(array.shape)
    if kind == "b" and array.shape == (n,):
        return np.flatnonzero(array)
    zero_one = kind != "b" and is_zero_one(array, n)
    if kind == "b" or zero_one and array.ndim > 1:
        refuse_mask(array, name, n)
    if array.ndim != 1 or kind not in "iu" and array.size > 0:
        hint = f"give a mask as bool: mask != 0 for {name}" if zero_one else "give ids of nodes, integers [n], or a mask, bool [N]"
        raise OptionError(f"{name}: {array.dtype} {shape}: neither ids nor a mask", hint)
    if zero_one and (n > 2 or n == 2 and array[0] == array[1]):
        if not distinct:
            refuse_zeros_and_ones(name, array.dtype, len(array))
        return np.flatnonzero(array)
    return check_range(array, name, n, within)


def positions_of(value, name, n):
    """int64 positions among n things. They may count from the end, or be a mask of n."""
    array = array_of(value, name)
    if array.dtype.kind == "b" and array.shape == (n,):
        return np.flatnonzero(array)
    if array.ndim > 1 or array.dtype.kind not in "iu" and array.size:
        raise OptionError(f"{name}: {array.dtype} {list(array.shape)}", f"give positions, integers below {n}")
    array = array.reshape(-1).astype(np.int64)
    if (wrong := array[(array < -n) | (array >= n)]).size:
        raise OptionError(f"{name}: {wrong[0]}, there are {n}", f"give positions, integers below {n}")
    return np.where(array < 0, array + n, array)


# ---- splits of a dataset ----

def chunk_of_ids(chunk, name, n, within):
    chunk = array_of(chunk, name)
    if chunk.ndim != 1 or chunk.dtype.kind not in "iu" and chunk.size:
        raise OptionError(f"{name}: chunks of {chunk.dtype} {list(chunk.shape)}", "give chunks of ids, or ids or a mask as one array")
    return check_range(chunk, name, n, within)


def split_ids(value, name, n, within, seen, bit):
    """Yield int64 ids in pieces, and record them in `seen`."""
    for part in (chunk_of_ids(chunk, name, n, within) for chunk in value) if is_iterator(value) else pieces(ids_of(value, name, n, within, distinct=True)):
        again = seen[part] & bit != 0
        seen[part] |= bit
        if again.any() or len(np.unique(part)) < len(part):
            ids, times = np.unique(part, return_counts=True)
            node = part[again][0] if again.any() else ids[times > 1][0]
            raise OptionError(f"{name}: node {int(node)} is listed twice", "remove the repeated ids (numpy.unique)")
        yield part


class SplitPart(typing.NamedTuple):
    """Nodes of a split: ids or a mask of n nodes, or an iterator of ids. `first` is added to the ids."""
    argument: str
    nodes: typing.Any
    n: int
    first: int = 0
    within: str = ""


def save_splits(folder, splits):
    """Saves splits, {file: parts, one after another}, and warns of overlaps."""
    ends = [part.first + part.n for parts in splits.values() for part in parts]
    seen = np.zeros(max(ends, default=0), np.uint8)

    def ids(parts, bit):
        for part in parts:
            within = seen[part.first:part.first + part.n]
            yield from (some + part.first for some in split_ids(part.nodes, part.argument, part.n, part.within, within, bit))
    names = [", ".join(part.argument for part in parts) for parts in splits.values()]
    for at, (file, parts) in enumerate(splits.items()):
        save(f"{folder}/{file}.npy", names[at], ids(parts, 1 << at))
    for (a, name), (b, other) in itertools.combinations(enumerate(names), 2):
        both = int(((seen >> a) & (seen >> b) & 1).sum())
        if both:
            warn(f"{name} and {other}: {both} {'node is' if both == 1 else 'nodes are'} in both")
