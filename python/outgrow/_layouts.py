"""Layouts of other projects that Python reads: the Temporal Graph Benchmark, OGB's links, and databases (_relbench.py)."""
import contextlib
import csv
import glob
import itertools
import os
import re

import numpy as np

from ._calls import convert, log
from ._errors import Error, FileError, OptionError, warn
from ._pickled import load
from ._relbench import import_database
from ._tables import Spool
from ._write import folder_beside, write

SPLITS = {"train": "train", "valid": "val", "test": "test"}
LINES = 1 << 16  # of a text, at a time


# ---- OGB's links ----

@contextlib.contextmanager
def called(folder, src):
    """Errors and messages name the source instead of a folder that stands for it."""
    def rename(record):
        if isinstance(record.args, tuple):
            record.args = tuple(str(a).replace(folder, src) if folder in str(a) else a for a in record.args)
        return True
    log.addFilter(rename)
    try:
        yield
    except Error as error:
        raise type(error)(error.message.replace(folder, src), error.hint.replace(folder, src), error.code) from error
    finally:
        log.removeFilter(rename)


def integers(value, path, key):
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
        raise OptionError(f"{path}: {key}: {getattr(value, 'dtype', type(value).__name__)}, no ids of nodes", "give integers, as OGB publishes them")
    return value


def lists_of(path, split, years):
    """{file of `import npy`: array} of what torch.save wrote for a split. A citation is as late as its source."""
    found = load(path)
    if not isinstance(found, dict):
        raise OptionError(f"{path}: {type(found).__name__}, no dict of arrays", "fetch the dataset again")
    taken = {key: integers(found.pop(key), path, key) for key in ("source_node", "target_node", "target_node_neg", "edge", "edge_neg", "year") if key in found}
    if {"source_node", "target_node"} <= set(taken):
        source, target = taken["source_node"], taken["target_node"]
        if source.ndim != 1 or source.shape != target.shape:
            raise OptionError(f"{path}: source_node {list(source.shape)} and target_node {list(target.shape)}", "give as many of both")
        out = {f"{split}_edges": np.stack([source, target], 1)}
        if years is not None and len(source) and 0 <= source.min() <= source.max() < len(years):
            out[f"{split}_edge_times"] = years[source]
    elif "edge" in taken:
        out = {f"{split}_edges": taken["edge"]}
    else:
        raise OptionError(f"{path}: neither source_node and target_node nor edge, but {', '.join(map(str, [*taken, *found])) or 'nothing'}", "triples and graphs of several relations are not read")
    for key, file in ("target_node_neg", "neg_dst"), ("edge_neg", "neg_edges"), ("year", "edge_times"):
        if key in taken:
            out[f"{split}_{file}"] = taken[key]
    if found:
        warn(f"{path}: not read: {', '.join(map(str, found))}")
    return out


def years_in(path):
    if not os.path.exists(path):
        return None
    try:
        return np.loadtxt(path, np.int64, ndmin=1)
    except (OSError, EOFError, ValueError) as error:
        raise FileError(f"{path}: {' '.join(str(error).split())}", "fetch the dataset again: a year a line") from error


def parts_of_links(src):
    """{split: file} of a dataset of links, or None."""
    folders = [os.path.dirname(path) for path in glob.glob(f"{glob.escape(os.fspath(src))}/split/*/train.pt")]
    if len(folders) > 1:
        raise FileError(f"{src}/split: {len(folders)} folders", "leave one of them")
    return {split: f"{folders[0]}/{split}.pt" for split in SPLITS} if folders else None


def import_links(src, out, progress, **options):
    """The graph as `import ogb` reads it, with lists of edges. One file of a split is in memory at a time."""
    src = os.path.abspath(src)
    with folder_beside(out) as other, called(source := f"{other}/{os.path.basename(src)}", src):
        os.mkdir(source)
        os.symlink(f"{src}/raw", f"{source}/raw")
        years = years_in(f"{src}/raw/node_year.csv.gz")
        for split, path in parts_of_links(src).items():
            for name, array in lists_of(path, split, years).items():
                np.save(f"{source}/{name}.npy", array)
        return convert("ogb", source, out, progress=progress, **options)


# ---- TGB ----

ENDS = {"src": ("user_id", "u", "src", "source", "nation", "user"), "dst": ("item_id", "i", "dst", "destination", "trading nation", "genre", "subreddit", "item"),
        "time": ("timestamp", "ts", "time", "day", "year", "date")}
LABELS = "state_label", "label"
PLACES = {"time": 0, "src": 1, "dst": 2}  # in tgbn's files, whose names of columns differ


def edge_list_in(src):
    """The newest version of a dataset's list of edges, or None."""
    src = os.fspath(src)
    found = {path: re.fullmatch(r"(.+)_edgelist(?:_v(\d+))?\.csv", os.path.basename(path)) for path in glob.glob(f"{glob.escape(src)}/*_edgelist*.csv")}
    found = {path: of for path, of in found.items() if of and not of[1].endswith("_static")}
    if len(names := {of[1] for of in found.values()}) > 1:
        raise FileError(f"{src}: lists of edges of {' and '.join(sorted(names))}", "leave those of one dataset")
    return max(found, key=lambda path: int(found[path][2] or 1)) if found else None


class EdgeList:
    """The edges of a CSV file with their times. Features go to a file, so that they may exceed memory. Words are nodes in the order of their first occurrence,
    of `known` alone if that is given. `places`: of columns, which are then words."""

    def __init__(self, path, folder, places=None, known=None):
        self.path, self.attr, self.parts, self.texts = path, Spool(f"{folder}/{os.path.basename(path)}", path), [], None
        self.places, self.known, self.grows = places, {} if known is None else known, known is None
        try:
            self.read_all()
        except (UnicodeDecodeError, csv.Error) as error:
            raise FileError(f"{path}: {error}", "give text in UTF-8, as the dataset's authors publish it") from error
        if not self.parts:
            raise FileError(f"{path}: no edges", "fetch the dataset again")
        self.src, self.dst, self.time = (np.concatenate(parts) for parts in zip(*self.parts))
        self.parts = None

    def read_all(self):
        with open(self.path, newline="", encoding="utf-8") as file:
            self.header = [name.strip().lower() for name in next(csv.reader(file), [])]
            row = 2
            self.roles = self.places or {role: self.find(role, names) for role, names in ENDS.items()}
            while lines := list(itertools.islice(file, LINES)):
                self.read(lines, row)
                row += len(lines)

    def find(self, role, names):
        found = [self.header.index(name) for name in names if name in self.header]
        if not found:
            raise FileError(f"{self.path}: no column of {role} in its first line, but {', '.join(self.header)}", f"call it {names[0]}")
        return found[0]

    def wrong(self, at, column, value):
        name = self.header[min(column, len(self.header) - 1)]
        return FileError(f"{self.path}: line {self.line[at]}: {name}: '{value}'", "give whole numbers; of times also days, as 2019-01-31")

    def choose(self, first):
        """What columns are, by the first row. The last name may stand for several columns."""
        self.width = len(first)
        rest = [k for k in range(self.width) if k not in self.roles.values() and (k >= len(self.header) or self.header[k] not in LABELS)]
        self.columns = [k for k in rest if can_be(float, first[k])]
        self.texts = {role: not can_be(float, first[k]) for role, k in self.roles.items()}
        self.counts = not self.places and not self.texts["src"] and not self.texts["dst"]  # ids are numbers
        if left := [self.header[min(k, len(self.header) - 1)] for k in range(self.width) if k not in (*self.columns, *self.roles.values())]:
            warn(f"{self.path}: columns that are not read: {', '.join(dict.fromkeys(left))}")

    def read(self, lines, row):
        found = [(row + k, of) for k, of in enumerate(csv.reader(lines)) if of]  # blank lines are none
        if not found:
            return
        self.line, rows = zip(*found)
        if max(self.roles.values()) >= len(rows[0]):
            raise FileError(f"{self.path}: line {self.line[0]}: {len(rows[0])} columns, without {self.header[max(self.roles.values())]}", "fetch the dataset again")
        if self.texts is None:
            self.choose(rows[0])
        if wrong := [k for k, of in enumerate(rows) if len(of) != self.width]:
            raise FileError(f"{self.path}: line {self.line[wrong[0]]}: {len(rows[wrong[0]])} columns, others have {self.width}", "fetch the dataset again")
        columns = list(zip(*rows))
        ends = [self.whole(columns[self.roles[role]], role) if self.counts else columns[self.roles[role]] for role in ("src", "dst")]
        self.parts.append((*(ends if self.counts and self.roles["src"] == 0 else self.numbered(*ends)), self.times(columns[self.roles["time"]])))
        if self.columns:
            self.attr.put(np.stack([self.numbers(columns[k], k) for k in self.columns], 1).astype(np.float32))

    def numbers(self, values, column):
        try:
            return np.array(values, np.float64)
        except ValueError:
            at = next(i for i, value in enumerate(values) if not can_be(float, value))
            raise self.wrong(at, column, values[at]) from None

    def whole(self, values, role):
        """Whole numbers, exactly; written as floats only below 2^53."""
        try:
            return np.array(values, np.int64)
        except (ValueError, OverflowError):
            found = self.numbers(values, self.roles[role])
        if not (good := (found == np.rint(found)) & (np.abs(found) < 2.0 ** 53)).all():
            raise self.wrong(int(np.argmin(good)), self.roles[role], values[int(np.argmin(good))])
        return found.astype(np.int64)

    def numbered(self, src, dst):
        """Numbers of both ends, line after line."""
        ends = (end.tolist() if self.counts else end for end in (src, dst))
        words = [word for pair in zip(*ends) for word in pair]
        if self.grows:
            numbers = [self.known.setdefault(word, len(self.known)) for word in words]
        elif None in (numbers := list(map(self.known.get, words))):
            at = numbers.index(None)
            raise FileError(f"{self.path}: line {self.line[at // 2]}: '{words[at]}' is on no edge", "fetch the edges and the labels of one version")
        return np.array(numbers, np.int64).reshape(-1, 2).T

    def times(self, values):
        if not self.texts["time"]:
            return self.whole(values, "time")
        try:
            found = np.array(list(map(day_of, values)))
        except ValueError:
            at = next(i for i, value in enumerate(values) if not can_be(day_of, value))
            raise self.wrong(at, self.roles["time"], values[at]) from None
        return found.astype(np.int64)


def day_of(value):
    found = np.datetime64(value.strip().replace(" ", "T"), "s")
    if np.isnat(found):
        raise ValueError(value)
    return found


def can_be(kind, value):
    try:
        kind(value)
        return True
    except ValueError:
        return False


def follow_users(edges):
    """TGB's numbers where users and items count from 0 by themselves, in the first columns: items follow users."""
    if edges.counts and edges.roles["src"] == 0:
        if min(edges.src.min(), edges.dst.min()) < 0:
            raise FileError(f"{edges.path}: negative ids", "fetch the dataset again")
        edges.dst += edges.src.max() + 1


def negatives_of(path, rows):
    """[n, k] destinations for these edges, (src, dst, time) each."""
    found = load(path)
    if not isinstance(found, dict):
        raise OptionError(f"{path}: {type(found).__name__}, no dict of (source, destination, time)", "fetch the dataset again")
    out = []
    for row in map(tuple, rows.tolist()):
        if row not in found:
            raise OptionError(f"{path}: no negatives of the edge {row[0]}, {row[1]} at {row[2]}", "fetch the edges and the negatives of one version")
        out.append(np.asarray(found[row]).ravel())
    shortest, longest = min(map(len, out)), max(map(len, out))
    if not shortest:
        raise OptionError(f"{path}: an edge without negatives", "fetch the dataset again")
    if shortest < longest:
        warn(f"{path}: {shortest} to {longest} negatives for an edge; the first {shortest} of each are taken")
    return integers(np.stack([of[:shortest] for of in out]), path, "negatives")


def splits_of(time):
    """Rows of each split: 70, 15 and 15 % by time, of which equal ones stay together."""
    valid, test = np.quantile(time, [0.7, 0.85])
    return {"train": np.flatnonzero(time <= valid), "valid": np.flatnonzero((time > valid) & (time <= test)), "test": np.flatnonzero(time > test)}


def name_of(path):
    """The path of a dataset's files up to what they contain, and their version."""
    return re.fullmatch(r"(.+)_edgelist((?:_v\d+)?)\.csv", path).groups()


def import_tgb(src, out, progress, **options):
    path = edge_list_in(src)
    if not path:
        raise FileError(f"{src}: no ..._edgelist.csv", "give the folder that the Temporal Graph Benchmark unpacked")
    of_nodes = "tgbn" in os.path.basename(path)
    if not of_nodes and "tgbl" not in os.path.basename(path):
        raise FileError(f"{path}: tgbl-... and tgbn-... are read", "give its columns to outgrow.import_tables")
    if "symmetrize" in options or "reverse_relations" in options:
        raise OptionError("symmetrize, reverse_relations: both directions are there already", "leave it out")
    with folder_beside(out) as folder:
        edges = EdgeList(path, folder, PLACES if of_nodes else None)
        if of_nodes:
            return write_labelled(out, edges, folder, options, progress)
        follow_users(edges)
        return write_tgb(out, edges, options, progress)


class Labels:
    """The labels of a tgbn dataset: a share of each class, at a time of a node. They are nodes too, by time, so that one node may have many."""

    def __init__(self, rows, node, column, classes, path):
        """rows: an EdgeList whose ends are nodes and classes, with these numbers."""
        keys, self.row = np.unique(np.stack([rows.time, node], 1), axis=0, return_inverse=True)
        self.time, self.node = keys.T
        self.column, self.classes = column, classes
        if rows.attr.width != (1,):
            raise FileError(f"{path}: {rows.width} columns", "fetch the dataset again: a time, a node, a class and its share a line")
        self.share = np.concatenate(list(rows.attr.rows()))[:, 0]

    def shares(self):
        """Yield float32 [n, classes]. The last line of a class counts."""
        order = np.argsort(self.row.ravel(), kind="stable")
        row, column, share = self.row.ravel()[order], self.column[order], self.share[order]
        step = max(1, (8 << 20) // (4 * self.classes))
        for first in range(0, len(self.time), step):
            n = min(step, len(self.time) - first)
            at = slice(*np.searchsorted(row, [first, first + n]))
            out = np.zeros((n, self.classes), np.float32)
            out[row[at] - first, column[at]] = share[at]
            yield out


def write_labelled(out, edges, folder, options, progress):
    """Labels are nodes with an edge from theirs. They know what was there before their time."""
    if str(options.pop("drop_types", False)).lower() == "true":
        raise OptionError("drop_types: labels are nodes of a type of their own", "leave it out")
    name, version = name_of(edges.path)
    path = f"{name}_node_labels{version}.csv"
    if not os.path.exists(path):
        raise FileError(f"{path}: not there", "fetch the dataset again")
    rows = EdgeList(path, folder, PLACES, edges.known)
    side = np.zeros(len(edges.known), np.int8)  # 1: nodes with edges, 2: those that they lead to
    side[edges.src] |= 1
    side[edges.dst] |= 2
    number, sizes = np.arange(len(side)), {"node": len(side)}
    if both_sides := not (side == 3).any():
        sizes = {"user": int((side == 1).sum()), "item": int((side == 2).sum())}
        for k, n in enumerate(sizes.values()):
            number[side == k + 1] = np.arange(n)
        if len(wrong := np.flatnonzero((side[rows.src] != 1) | (side[rows.dst] != 2))):
            raise FileError(f"{path}: line {wrong[0] + 2}: a label that leads from no user to an item", "fetch the edges and the labels of one version")
    kinds = list(sizes)
    labels = Labels(rows, number[rows.src], number[rows.dst], sizes[kinds[-1]], path)
    ends, attr = number[np.stack([edges.src, edges.dst])], edges.attr if edges.columns else None
    if both_sides:
        of = ("user", "to", "item"), ("item", "rev_to", "user")
        index, times, attrs = dict(zip(of, (ends, ends[::-1]))), dict.fromkeys(of, edges.time), {r: attr.rows() for r in of} if attr else None
    else:
        of = "node", "to", "node"
        index, times = {of: np.concatenate([ends, ends[::-1]], 1)}, {of: np.tile(edges.time, 2)}
        attrs = {of: itertools.chain(attr.rows(), attr.rows())} if attr else None
    index[kinds[0], "entity", "label"] = np.stack([labels.node, np.arange(len(labels.node))])
    bounds = np.searchsorted(labels.time, [-np.inf, *np.quantile(edges.time, [0.7, 0.85]), np.inf])
    parts = {split: np.arange(*bounds[k:k + 2]) for k, split in enumerate(SPLITS)}
    if empty := [split for split, part in parts.items() if not len(part)]:
        raise FileError(f"{path}: no labels to {empty[0]}, split by time", "fetch the edges and the labels of one version")
    return write(out, edge_index=index, edge_time=times, edge_attr=attrs, num_nodes=sizes, x={"label": np.ones((len(labels.time), 1), np.float32)}, y={"label": labels.shares()},
                 **{split: {"label": part} for split, part in parts.items()}, **{f"{split}_time": {"label": labels.time[part] - 1} for split, part in parts.items()},
                 shares=True, name=os.path.basename(name), progress=progress, **options)


def write_tgb(out, edges, options, progress):
    """Both directions, so that both ends know their past."""
    first, nodes = int(edges.dst.min()), int(max(edges.src.max(), edges.dst.max())) + 1
    drop = str(options.pop("drop_types", False)).lower() == "true"
    both_sides = first > edges.src.max() and not drop
    of, back = (("user", "to", "item"), ("item", "rev_to", "user")) if both_sides else (None, None)
    if not both_sides:
        first = 0
    src_of, dst_of = edges.src, edges.dst - first
    links, (name, version) = {}, name_of(edges.path)
    for split, rows in splits_of(edges.time).items():
        if not len(rows):
            raise FileError(f"{edges.path}: no edges to {split}, split by time", "times of edges are all equal, or nearly")
        links[f"{split}_edges"], links[f"{split}_edge_time"] = np.stack([src_of[rows], dst_of[rows]], 1), edges.time[rows]
        given = next((p for end in (version, "") if os.path.exists(p := f"{name}_{SPLITS[split]}_ns{end}.pkl")), None)
        if given and split != "train":
            found = negatives_of(given, np.stack([edges.src[rows], edges.dst[rows], edges.time[rows]], 1))
            if not first <= found.min() <= found.max() < nodes:
                raise OptionError(f"{given}: node {int(found.min() if found.min() < first else found.max())}, of {nodes}{' that may be destinations' if first else ''}",
                                  "fetch the edges and the negatives of one version")
            links[f"{split}_neg_dst"] = found - first
        elif split != "train":
            warn(f"{name}_{SPLITS[split]}_ns{version}.pkl: not there; negatives of {split} are drawn")
    forth, reverse = np.stack([src_of, dst_of]), np.stack([dst_of, src_of])
    attr = edges.attr if edges.columns else None
    if both_sides:
        given = {"edge_index": {of: forth, back: reverse}, "edge_time": {of: edges.time, back: edges.time}, "num_nodes": {"user": first, "item": nodes - first}}
        if attr:
            given["edge_attr"] = {of: attr.rows(), back: attr.rows()}
        links = {key: {of: value} for key, value in links.items()}
    else:
        given = {"edge_index": np.concatenate([forth, reverse], 1), "edge_time": np.tile(edges.time, 2), "x": np.ones((nodes, 1), np.float32)}
        if attr:
            given["edge_attr"] = itertools.chain(attr.rows(), attr.rows())
    return write(out, **given, **links, name=os.path.basename(name), progress=progress, **options)


# ---- all of them ----

def door_of(format, src):
    """What imports SRC if Python reads it, else None. `format` is None where the files say which."""
    if format in ("tgb", "relbench"):
        return import_tgb if format == "tgb" else import_database
    if format == "ogb" or not format and os.path.isdir(f"{src}/split"):
        return import_links if parts_of_links(src) else None
    if not format and edge_list_in(src):
        return import_tgb
    return import_database if not format and (os.path.exists(f"{src}/train.parquet") or glob.glob(f"{glob.escape(src)}/db/*.parquet")) else None


def import_(format, src, out, *, progress=False, **options):
    """Convert files in another format into the new dataset folder `out`; returns its `info`. Formats are "npy", "ogb", "igb", "graphbolt",
    "edgelist", "mtx", "metis", "parquet", "tgb" and "relbench" (docs/guides/import.md). Options are those of `outgrow import`: memory, symmetrize,
    drop_self_loops, feature_dtype, ... 

    For "relbench" src may also be a relbench.base.Database. It has more options:
    task         the folder or name of train.parquet, val.parquet and test.parquet, or an EntityTask
    target       the column of its labels, where several may be
    regression   whether labels are values [those that are floats]
    """
    if not isinstance(format, str):
        raise OptionError(f"format: {format!r}", "name the format of src, such as \"npy\" or \"edgelist\"")
    if format == "parquet":
        from ._parquet import import_parquet as door
    else:
        door = door_of(format, src)
    return door(src, out, progress, **options) if door else convert(format, src, out, progress=progress, **options)
