"""Times of nodes and edges, and loaders whose neighbourhoods know no future."""
import numpy as np

from ._arrays import array_of, is_iterator
from ._attributes import EDGE_TIME as EDGE, NO_TIME as NONE, NODE_TIME as NODE, table_of
from ._errors import OptionError
from ._meta import meta_of, relation_names
from ._stores import array_in, is_there

HINT = "give whole numbers, int64: seconds, days or any other steps. times.astype(\"datetime64[s]\").astype(int) has seconds"


def whole(values, name, first=0):
    """Times as int64 [n]. `first` is the number of the first row."""
    if getattr(getattr(values, "dtype", None), "kind", "-") in "mM":
        raise OptionError(f"{name}: {values.dtype} has a unit of its own", HINT)
    values = array_of(values, name)
    values = values.reshape(len(values)) if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise OptionError(f"{name}: {values.dtype} {list(values.shape)} are no times", HINT)
    if values.dtype.kind == "f":
        most = 2.0 ** (np.finfo(values.dtype).nmant + 1)
        refuse_first(~np.isfinite(values) | (values != np.rint(values)), values, name, first, "no whole number", HINT)
        refuse_first(np.abs(values) >= most, values, name, first, f"{values.dtype} is exact below {int(most)}", HINT)
    else:
        refuse_first(values > np.iinfo(np.int64).max, values, name, first, "beyond int64", HINT)
    times = np.ascontiguousarray(values, np.int64)
    refuse_first(times == NONE, times, name, first, "the least int64, which NaT becomes", "leave the row out, or give it the time from which on it is known")
    return times


def refuse_first(wrong, values, name, first, why, hint):
    if wrong.any():
        at = int(np.argmax(wrong))
        raise OptionError(f"{name}: row {first + at}: {values[at]}: {why}", hint)


def times_of(values, name):
    """Yield times, of an array or of each chunk."""
    first = 0
    for part in values if is_iterator(values) else [values]:
        yield whole(part, name, first)
        first += len(part)


def is_time(values):
    """Whether an attribute can be times."""
    dtype = str(getattr(values, "dtype", "")).removeprefix("torch.")
    return getattr(values, "ndim", 0) == 1 and (dtype.startswith("int") or dtype in ("uint8", "uint16", "uint32"))


def kind_of(path, time_attr):
    """Which times of a dataset an attribute is: "node" or "edge"."""
    about, named = meta_of(path), table_of(path).get("times", {})
    has = {"node": is_there(path, "node_times", about),
           "edge": any(is_there(path, f"{prefix}edge_times", about) for prefix in ([f"rel{r}_" for r in range(len(relation_names(about)))] or [""]))}
    usual = {"node": ("node_time", "node_times", NODE), "edge": (EDGE, "edge_times", "time")}
    for kind in "node", "edge":
        if has[kind] and (time_attr == named[kind] if kind in named else time_attr in usual[kind]):
            return kind
    known = [named.get(kind, usual[kind][0]) for kind in has if has[kind]]
    raise OptionError(f"time_attr: the dataset has no times {time_attr!r}",
                      f"it has {' and '.join(map(repr, known))}" if known else f"write it with outgrow.write(path, data, time_attr={time_attr!r})")


def options_of(path, time_attr, temporal_strategy, disjoint, time_window):
    """Options of the library for these arguments; {} without."""
    strategy = getattr(temporal_strategy, "value", temporal_strategy)
    if strategy not in ("uniform", "last"):
        raise OptionError(f"temporal_strategy: {strategy!r}", "give \"uniform\" or \"last\"")
    if time_attr is None:
        if time_window or strategy == "last":
            raise OptionError(f"{'time_window' if time_window else 'temporal_strategy'}: without time_attr", "give time_attr, the attribute that has the times")
        return {"disjoint": True} if disjoint else {}
    options = {"time": kind_of(path, time_attr), "disjoint": True}
    if strategy != "uniform":
        options["time_strategy"] = strategy
    if time_window:
        if not hasattr(time_window, "__index__") or time_window < 0:
            raise OptionError(f"time_window: {time_window!r}", "give a whole number in the unit of the times; None has no limit")
        options["time_window"] = int(time_window)
    return options


def of_seeds(times, name, n, ids=None, of=None):
    """int64 [n], a time of each seed. As many as there are nodes: those of the seeds among them."""
    if times is None:
        return None
    times = whole(times, name)
    if len(times) == n:
        return times
    if ids is not None and len(times) == of:
        return times[ids]
    raise OptionError(f"{name}: {len(times)} times, for {n} {'links' if name == 'edge_label_time' else 'seeds'}", "give one of each")


def node_times(path):
    """The times of all nodes, mapped; None of a dataset without."""
    about = meta_of(path)
    return np.asarray(array_in(path, "node_times", about)) if is_there(path, "node_times", about) else None
