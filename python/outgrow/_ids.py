"""Ids of nodes, from what users give: ids or masks, by the name of the argument."""
import numpy as np

from ._arrays import array_of
from ._errors import OptionError


def is_zero_one(array, n):
    """Does it look like a mask of n nodes, whatever its type?"""
    return array.ndim > 0 and len(array) == n and array.size > 0 and bool(((array == 0) | (array == 1)).all())


def refuse_mask(array, name, n):
    shape = list(array.shape)
    if array.ndim == 2 and len(array) == n:
        raise OptionError(f"{name}: a mask {shape} of {n} nodes: it has {shape[1]} columns, a split each", f"choose one, such as mask[:, 0] for {name}")
    raise OptionError(f"{name}: a mask {shape}, of {n} nodes", "give a mask of as many, or ids")


def check_range(ids, name, n, within=""):
    """int64 ids, each below n."""
    if ids.size and not 0 <= ids.min() <= ids.max() < n:
        at = int(np.argmax((ids < 0) | (ids >= n)))
        raise OptionError(f"{name}: not all of 0 .. {n - 1}: position {at} has {int(ids[at])}", f"give ids within {within or 'the graph'}")
    return ids.astype(np.int64, copy=False)


def ids_of(value, name, n, within="", distinct=False):
    """int64 ids of nodes, from ids or a mask of n nodes: a tensor, an array or a list. Zeros and ones in place of a mask are one where ids
    are distinct, which they could not be; otherwise it is not known what they are."""
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
            raise OptionError(f"{name}: {array.dtype} {shape} of zeros and ones: a mask, or the nodes 0 and 1 again and again?",
                              f"give a mask as bool: mask != 0 for {name}")
        return np.flatnonzero(array)
    return check_range(array, name, n, within)
