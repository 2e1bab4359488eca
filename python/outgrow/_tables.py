"""Datasets from tables: a node a row and an edge a row, in batches."""
import contextlib
import json
import os
from collections.abc import Mapping

import numpy as np

from ._arrays import PIECE, keeps
from ._arrow import Index, batches
from ._calls import notices
from ._encode import Encoder, names_of
from ._errors import OptionError, warn
from ._meta import meta_of
from ._names import NONE, ROWS, Classes, NameMap, as_option, memory_of, order_of, part_of
from ._options import folder_of
from ._times import whole
from ._write import folder_beside, store
from ._write_typed import constant, of_one_type

# What a column is, by its name in lower case. `import edgelist` reads times and features of edges that its options name.
KNOWN = {
    "id": ("id", "node", "node_id", "nodeid", "n_id", "nid", "vertex", "vertex_id", "index", "idx", "__index_level_0__"),
    "src": ("src", "source", "from", "u", "src_id", "source_id", "from_id", "src_node", "source_node", "from_node", "head", "start"),
    "dst": ("dst", "dest", "destination", "target", "to", "v", "dst_id", "dest_id", "target_id", "to_id", "dst_node", "target_node", "to_node", "tail", "end"),
    "weight": ("weight", "weights", "w", "wt", "edge_weight", "edgeweight"),
    "label": ("label", "labels", "y", "class", "classes", "target_class", "target", "targets"),
    "split": ("split", "set", "fold"),
    "train": ("train", "train_mask"), "valid": ("valid", "val", "valid_mask", "val_mask"), "test": ("test", "test_mask"),
    "node_time": ("node_time", "node_times"),
    "edge_time": ("edge_time", "edge_times", "time", "times", "timestamp", "timestamps", "ts", "t"),
    "edge_features": ("edge_attr", "edge_feat", "edge_features", "attr", "features"),
}
# Names that count where none of the above is there: next to src, a "sender" is something else.
LESS_USUAL = {
    "src": ("fromnodeid", "from_node_id", "node1", "node_1", "id1", "id_1", "n1", ":start_id", "citing", "follower", "sender"),
    "dst": ("tonodeid", "to_node_id", "node2", "node_2", "id2", "id_2", "n2", ":end_id", "cited", "followee", "receiver"),
}
OF_NODES = "id", "label", "split", "train", "valid", "test", "node_time", "features"
OF_EDGES = "src", "dst", "weight", "edge_time", "edge_features"
ENDS = "src", "dst"
LISTS = "features", "edge_features"  # roles of several columns
NO_NULLS = "give each an id, or leave these rows out"
SPLIT_BITS = {"train": 1, "valid": 2, "test": 4}
SPLIT_WORDS = {"train": "train", "training": "train", "valid": "valid", "val": "valid", "validation": "valid", "test": "test", "testing": "test"}


def names_in(value):
    """Names of the columns that were given for a role."""
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def taken_of(given, roles):
    """Columns that were given for some role, so that no other has them by their name."""
    return {name for role in roles for name in names_in(given.get(role))}


def argument(role, value, key=None):
    """How a column is named: of a type or a relation under its key."""
    inner = f'{{"{role}": {value if value == "..." else json.dumps(value, ensure_ascii=False)}}}'
    return f"columns={inner}" if key in (None, (None, None, None)) else f"columns={{{json.dumps(key) if isinstance(key, str) else key}: {inner}}}"


def find(names, role, given, taken, what, key=None, needed=False):
    """The column of a role: the given one, or one of a known name, or None."""
    if role in given and not (needed and given[role] is None):
        if given[role] is not None and given[role] not in names:
            raise OptionError(f"{what}: no column {given[role]}", f"its columns are {', '.join(map(str, names))}")
        return given[role]
    for known in KNOWN[role], LESS_USUAL.get(role, ()):
        found = [name for name in names if name.lower() in known and name not in taken]
        found = [name for name in found if not isinstance(name, Index)] or found
        if len(found) > 1:
            raise OptionError(f"{what}: columns {' and '.join(found)} may both be {role}", f"name it: {argument(role, found[0], key)}")
        if found:
            return found[0]
    if needed:
        numbered = ', or number the rows: reset_index(names="id")' if role == "id" else ""
        raise OptionError(f"{what}: no column is called {role}", f"name it: {argument(role, '...', key)}{numbered}; its columns are {', '.join(map(str, names))}")
    return None


def say_unread(what, names, batch, may_be_encoded=False):
    """An index of pandas without a name is the numbers of rows. `may_be_encoded`: some columns may be features otherwise."""
    if left := [name for name in names if not (isinstance(name, Index) and name.startswith("__index_level_"))]:
        other = may_be_encoded and any(is_encoded(batch[name]) for name in left)
        why = next((f". {batch[name].why.message.removeprefix(f'{what}: ')}; {batch[name].why.hint}" for name in left if batch[name].why), "")
        warn(f"{what}: columns that are not read: {', '.join(left)}{why}{'. standardize=True takes dates, and texts of at most 32 values' if other else ''}")


def is_feature(column):
    """Whether it is one by default. Lists that make no matrix are, so that they are refused."""
    return hasattr(column.why, "of_numbers") or not (column.why or column.is_text or column.values.dtype.kind == "M")


def is_encoded(column):
    """Whether standardize=True makes a feature of it."""
    return not column.why and (column.is_text or column.values.dtype.kind == "M")


def parts(column):
    for at in range(0, len(column), ROWS):
        yield column.take(slice(at, min(at + ROWS, len(column))))


def has_nulls(column):
    return column.valid is not None and not column.valid.all()


def check_nulls(column, what, row, hint):
    """`row` is the number of the first one."""
    if column.why:
        raise column.why
    if has_nulls(column):
        raise OptionError(f"{what}: row {row + int(np.argmin(column.valid)) // (column.valid.size // len(column))} is null", hint)


FILL = "fill it, with 0 for example (fillna, fill_null), or leave the column out"
STANDARD = "; with standardize=True it counts as the mean"


def numbers(column, what, row, kinds="biuf", hint=FILL):
    """Its values without nulls."""
    check_nulls(column, what, row, hint)
    if getattr(column.values, "dtype", None) is None or column.values.dtype.kind not in kinds:
        raise OptionError(f"{what}: no numbers", "cast it: astype('float32')")
    return column.values


def times(batch, name, what, row):
    """int64; of dates and timestamps whole seconds since 1970."""
    what = f"{what}: column {name}"
    values = numbers(batch[name], what, row, "biufM")
    if values.dtype.kind == "M":
        seconds = values.astype("datetime64[s]")
        if (seconds != values).any():
            warn(f"{what}: times are whole seconds: fractions are left out, as in row {row + int(np.argmax(seconds != values))}")
        return seconds.astype(np.int64)
    return whole(values, what)


def can_be_time(column):
    """Whether a column that has a time's name has times: whole numbers, or dates."""
    return not column.why and not column.is_text and column.values.ndim == 1 and column.values.dtype.kind in "iuM" and not has_nulls(column)


def dtype_of(batch, columns, what):
    """The dtype that these columns have together, of features."""
    for name in columns:
        if name not in batch:
            raise OptionError(f"{what}: no column {name}", f"its columns are {', '.join(batch)}")
        if batch[name].why:
            raise batch[name].why
        if batch[name].is_text or batch[name].values.dtype.kind == "M":
            raise OptionError(f"{what}: column {name} has {'texts' if batch[name].is_text else 'dates'}, no features", "give columns of numbers, or lists of them")
    kinds = [batch[name].values.dtype for name in columns]
    return np.result_type(*(np.uint8 if k.kind == "b" else k for k in kinds)) if kinds else None


def classes_in(column, what, row):
    """Labels as int64; NaN is none, -1. `row` is the number of the first one."""
    values = column.values
    known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), bool)
    out = np.full(len(values), -1, np.int64)
    with np.errstate(invalid="ignore"):
        out[known] = values[known]
    wrong = known & ((out != values) | (out < -1)) & (True if column.valid is None else column.valid)
    if wrong.any():
        raise OptionError(f"{what}: row {row + int(np.argmax(wrong))}: {values[wrong][0]} is no class", "classes are 0, 1, ..., and -1 is none; values are learned with outgrow.import_tables(..., regression=True)")
    return out


def matrix(batch, columns, dtype, n, what, row, more=""):
    """`more`: another remedy for what is missing."""
    out = [numbers(batch[name], f"{what}: column {name}", row, hint=FILL + more).reshape(n, -1) for name in columns]
    for name, part in zip(columns, out):
        if part.dtype.kind == "f" and not (good := np.isfinite(part).all(1)).all():
            raise OptionError(f"{what}: column {name}: row {row + int(np.argmin(good))} is NaN or infinite", FILL + more)
    return np.concatenate([part.astype(dtype, copy=False) for part in out], axis=1)


class Spool:
    """Rows that are read again in another order: a file of one dtype and width."""

    def __init__(self, path, what):
        self.path, self.what, self.file, self.dtype, self.width = path, what, None, None, None

    def __del__(self):  # after a failure
        if self.file:
            self.file.close()

    def put(self, rows):
        if self.dtype is None:
            self.file, self.dtype, self.width = open(self.path, "wb"), rows.dtype, rows.shape[1:]
        if rows.shape[1:] != self.width:
            raise OptionError(f"{self.what}: rows of {list(rows.shape[1:])} after rows of {list(self.width)}", "give lists of one length")
        if rows.dtype != self.dtype and not keeps(rows, self.dtype):
            raise OptionError(f"{self.what}: {rows.dtype} after {self.dtype}", "give batches of one dtype")
        np.ascontiguousarray(rows, self.dtype).tofile(self.file)

    def keep(self, columns, dtype):
        """Only these columns of the matrix, as another dtype; more rows may follow."""
        self.file.close()
        if not len(columns):
            self.file, self.dtype = None, None
            return
        with open(f"{self.path}.kept", "wb") as file:
            for part in self.rows():
                np.ascontiguousarray(part[:, columns], dtype).tofile(file)
        os.rename(f"{self.path}.kept", self.path)
        self.file, self.dtype, self.width = open(self.path, "ab"), np.dtype(dtype), (len(columns),)

    def rows(self, order=None):
        """Yield the rows of `order`, or all as they are, in pieces."""
        if self.dtype is None:
            return
        self.file.close()
        row = self.dtype.itemsize * int(np.prod(self.width, dtype=np.int64))
        n = os.path.getsize(self.path) // row
        whole = np.memmap(self.path, self.dtype, "r", shape=(n, *self.width))
        step = max(1, PIECE // row)
        for at in range(0, n if order is None else len(order), step):
            yield whole[at:at + step] if order is None else whole[order[at:at + step]]


class NodeTable:
    """The table of a type's nodes, read once."""

    def __init__(self, folder, memory, prefix, name, columns, regression, shared, standard):
        """shared: has the classes of all types, once a label is a word.

        standard: None, or names of features that another dataset has."""
        self.what, self.name, self.shared, self.standard, self.encoder = f"nodes of {name}" if name else "nodes", name, shared, standard, None
        self.map = NameMap(folder, memory, prefix, self.what)
        self.features, self.labels = Spool(f"{folder}/{prefix}.x", f"{self.what}: features"), Spool(f"{folder}/{prefix}.y", f"{self.what}: labels")
        self.times = Spool(f"{folder}/{prefix}.t", f"{self.what}: times")
        self.folder, self.memory, self.given, self.regression = folder, memory, columns, regression
        self.roles, self.classes, self.splits, self.rows = None, None, [], 0

    def read(self, table):
        for batch in batches(table, self.what):
            if self.roles is None:
                self.choose(batch)
            n = len(batch[self.roles["id"]])
            check_nulls(batch[self.roles["id"]], f"{self.what}: column {self.roles['id']}", self.rows, NO_NULLS)
            for part in parts(batch[self.roles["id"]]):
                self.map.put(part, True, f"{self.what}: column {self.roles['id']}")
            if self.encoder:
                self.features.put(self.encoder.rows(batch))
            elif self.columns:
                self.features.put(matrix(batch, self.columns, self.dtype, n, self.what, self.rows, STANDARD))
            if self.roles["node_time"]:
                self.times.put(times(batch, self.roles["node_time"], self.what, self.rows))
            if self.roles["label"]:
                self.put_labels(batch[self.roles["label"]])
            if self.roles["split"] or any(self.roles[s] for s in SPLIT_BITS):
                self.splits.append(self.codes(batch, n))
            self.rows += n
        if not self.rows:
            raise OptionError(f"{self.what}: no rows", "give a row a node")
        if self.encoder:
            self.encoder.close()
            self.feature_names = self.encoder.names
        return self

    def choose(self, batch):
        """What each column is, by the first batch."""
        names, given, taken = list(batch), self.given, taken_of(self.given, OF_NODES)
        self.roles = {role: find(names, role, given, taken, self.what, self.name, role == "id") for role in OF_NODES if role not in LISTS}
        used = set(self.roles.values())
        rest = [name for name in names if name not in used]
        encodes = self.standard is not None
        self.columns = names_in(given["features"]) if "features" in given else [
            name for name in rest if (is_feature(batch[name]) or encodes and is_encoded(batch[name])) and not isinstance(name, Index)]
        numbers_alone = [name for name in self.columns if not (encodes and name in batch and is_encoded(batch[name]))]
        self.dtype = dtype_of(batch, numbers_alone, self.what)
        self.encoder = Encoder(batch, self.columns, self.what, self.standard) if encodes and self.columns else None
        wide = {name: batch[name].values.shape[1] for name in numbers_alone if batch[name].values.ndim > 1}
        self.feature_names = [name for column in self.columns for name in (names_of(column, wide[column]) if column in wide else [column])]
        say_unread(self.what, [name for name in rest if name not in self.columns], batch, not encodes)

    def put_labels(self, column):
        if column.why or not column.is_text and column.values.dtype.kind == "M":
            raise column.why or OptionError(f"{self.what}: labels are dates", "give numbers, or words")
        if self.rows and column.is_text != bool(self.classes):
            raise OptionError(f"{self.what}: labels are words in some batches, numbers in others", "give all of one kind")
        if column.is_text:
            if self.regression:
                raise OptionError(f"{self.what}: labels are words", "values to predict are numbers")
            if not self.shared:
                self.shared.append(Classes(self.folder, self.memory, f"{self.what}: labels"))
            self.classes = self.shared[0]
            first = self.puts.start if self.puts else len(self.classes.parts)
            for part in parts(column):
                self.classes.put(part)
            self.puts = slice(first, len(self.classes.parts))
            return
        floats = self.regression or column.values.ndim > 1
        values = column.values.astype(np.float64) if floats else classes_in(column, f"{self.what}: column {self.roles['label']}", self.rows)
        if column.valid is not None:
            values[~column.valid] = np.nan if floats else -1
        self.labels.put(values)

    def codes(self, batch, n):
        """A bit for each split that a row is in."""
        out = np.zeros(n, np.uint8)
        for split, bit in SPLIT_BITS.items():
            if name := self.roles[split]:
                column = batch[name]
                flags = column.values if not column.is_text else None
                if flags is None or flags.ndim > 1 or not np.isin(flags, (0, 1)).all():
                    raise OptionError(f"{self.what}: column {name} is no mask", "give true and false, or 1 and 0")
                out |= np.where(flags.astype(bool) & (True if column.valid is None else column.valid), bit, 0).astype(np.uint8)
        if name := self.roles["split"]:
            column = batch[name]
            if not column.is_text:
                raise OptionError(f"{self.what}: column {name} is no split", "give the words train, valid and test")
            for i in range(n):
                word = bytes(column.data[column.offsets[i]:column.offsets[i + 1]]).decode(errors="replace").lower()
                if (column.valid is None or column.valid[i]) and word:
                    if word not in SPLIT_WORDS:
                        raise OptionError(f"{self.what}: column {name}: '{word}'", "splits are train, valid and test; null is none")
                    out[i] |= SPLIT_BITS[SPLIT_WORDS[word]]
        return out

    def sort(self):
        """Numbers the nodes; order[v] is the row of node v."""
        self.map.sort()
        rank = np.concatenate([self.map.take(at, min(ROWS, self.rows - at)) for at in range(0, self.rows, ROWS)])
        self.order = order_of(self.map, rank, self.what)

    def given_to_write(self):
        """Arguments of write."""
        x = self.features.rows(self.order) if self.columns else None
        if self.encoder:
            x = self.encoder.features(x) if self.feature_names else None
        if x is None and self.standard is not None and self.name:
            x, self.feature_names = constant(1, self.rows, np.float32, (1,)), []
        out = {"x": x, "node_time": self.times.rows(self.order) if self.roles["node_time"] else None}
        if self.classes:
            self.class_names = self.classes.sort()
            y = np.concatenate([*self.classes.take(self.puts)])
            out["y"] = y[self.order]
        elif self.roles["label"]:
            out["y"] = self.labels.rows(self.order)
        if self.splits:
            codes = np.concatenate(self.splits)[self.order]
            for split, bit in SPLIT_BITS.items():
                if self.roles["split"] or self.roles[split]:
                    ids = np.flatnonzero(codes & bit)
                    out[split] = ids if len(ids) else None
        return out

    class_names, puts = None, None


class EdgeTable:
    """The edges of a relation, read once: their nodes have numbers when both maps are sorted."""

    def __init__(self, folder, number, relation, table, source, destination, columns, own, unseen, last):
        """own: columns that this relation was given by itself.

        unseen: columns given to all that no relation had so far. After the last relation there is none."""
        self.what, self.relation, self.table = f"edges of {relation}" if relation else "edges", relation, table
        self.maps, self.given, self.own, self.roles, self.number, self.unseen, self.last = (source, destination), columns, own, None, number, unseen, last
        self.spools = {key: Spool(f"{folder}/{key}{number}", f"{self.what}: {key}") for key in ("edge_weight", "edge_time", "edge_attr")}
        self.pieces = []

    def choose(self, batch):
        """What each column is, by the first batch."""
        names, taken = list(batch), taken_of(self.given, OF_EDGES)
        given = {role: [name for name in names_in(self.given[role]) if name in batch] for role in OF_EDGES if role in self.given and role not in ENDS}
        self.unseen.difference_update(names)
        if lacking := self.own.difference(names):
            raise OptionError(f"{self.what}: no column {min(lacking)}", f"its columns are {', '.join(names)}")
        if self.unseen and self.last:
            raise OptionError(f"{self.what}: no column {min(self.unseen)}{', nor in another relation' if self.number else ''}", f"its columns are {', '.join(names)}")
        self.roles = {role: find(names, role, self.given, taken, self.what, self.relation, True) for role in ENDS}
        self.roles["weight"] = next(iter(given["weight"]), None) if "weight" in given else find(names, "weight", {}, taken, self.what, self.relation)
        unclear = []
        if "edge_time" in given:
            self.roles["edge_time"] = next(iter(given["edge_time"]), None)
        else:
            found = [name for name in names if name.lower() in KNOWN["edge_time"] and name not in taken and can_be_time(batch[name])]
            self.roles["edge_time"] = found[0] if len(found) == 1 else None
            unclear = found[1:] and found
        used = {*self.roles.values(), *unclear}
        self.columns = given.get("edge_features")
        if self.columns is None:
            self.columns = [name for name in names if name.lower() in KNOWN["edge_features"] and name not in taken | used and is_feature(batch[name]) and not has_nulls(batch[name])]
        self.dtype = dtype_of(batch, self.columns, self.what)
        if unclear:
            warn(f"{self.what}: columns {' and '.join(unclear)} may both be edge_time, and none is read; name it: {argument('edge_time', unclear[0], self.relation)}")
        self.unclear = unclear

    def drop_nulls(self, batch):
        """Columns that nobody gave are not read if any batch has nulls in them."""
        if "edge_time" not in self.given and (name := self.roles["edge_time"]) and has_nulls(batch[name]):
            self.roles["edge_time"] = None
            self.spools["edge_time"].keep([], None)
        left = [name for name in self.columns if "edge_features" in self.given or not has_nulls(batch[name])]
        if left != self.columns:
            owner = np.repeat(self.columns, [int(np.prod(batch[name].values.shape[1:])) for name in self.columns])
            self.columns, self.dtype = left, dtype_of(batch, left, self.what)
            self.spools["edge_attr"].keep(np.flatnonzero(np.isin(owner, left)), self.dtype)

    def read(self, known):
        """known: whether the ends' types have tables."""
        last, row = {}, 0
        for batch in batches(self.table, self.what):
            last = batch
            if self.roles is None:
                self.choose(batch)
            else:
                self.drop_nulls(batch)
            for role in ENDS:
                check_nulls(batch[self.roles[role]], f"{self.what}: column {self.roles[role]}", row, NO_NULLS)
            for ends in zip(*(parts(batch[self.roles[role]]) for role in ENDS)):
                at = [m.put(end, not of, f"{self.what}: column {self.roles[role]}") for m, end, of, role in zip(self.maps, ends, known, ENDS)]
                self.pieces.append((*at, len(ends[0])))
            if name := self.roles["weight"]:
                self.spools["edge_weight"].put(numbers(batch[name], f"{self.what}: column {name}", row))
            if name := self.roles["edge_time"]:
                self.spools["edge_time"].put(times(batch, name, self.what, row))
            n = len(batch[self.roles["src"]])
            if self.columns:
                self.spools["edge_attr"].put(matrix(batch, self.columns, self.dtype, n, self.what, row))
            row += n
        if not self.pieces:
            raise OptionError(f"{self.what}: no rows", "give a row an edge")
        say_unread(self.what, [name for name in last if name not in (*self.roles.values(), *self.columns, *self.unclear)], last)
        return self

    def id_at(self, role, row):
        """The id there, if the table can be read again."""
        with contextlib.suppress(Exception):  # of a library that we do not know
            for batch in batches(self.table, self.what):
                column = batch[self.roles[role]]
                if row < len(column):
                    one = column.take(np.array([row]))
                    return f" {one.data.tobytes().decode(errors='replace') if one.is_text else one.values[0]}"
                row -= len(column)
        return ""

    def edges(self):
        """Yield [2, e] of numbers."""
        row = 0
        for src, dst, n in self.pieces:
            ends = np.stack([m.take(first, n) for m, first in zip(self.maps, (src, dst))]).astype(np.int64)
            for role, end in zip(("src", "dst"), ends):
                if (end == NONE).any():
                    at = row + int(np.argmax(end == NONE))
                    raise OptionError(f"{self.what}: row {at}: {self.roles[role]}{self.id_at(role, at)} is the id of no node", "give each node a row of its table, or leave these edges out")
            yield ends
            row += n

    def given_to_write(self):
        """{argument of write: rows} of what there is."""
        return {key: spool.rows() for key, spool in self.spools.items() if spool.dtype is not None}


# ---- all of it ----

def check_columns(columns, roles, what):
    for role, value in columns.items():
        if role not in roles:
            raise OptionError(f"{what}: {role}", f"one of {', '.join(roles)}")
        if value is not None and not isinstance(value, (list, tuple) if role in LISTS else str):
            raise OptionError(f"{what}: {role}: {type(value).__name__}", "give a list of names" if role in LISTS else "give the name of one column")


def own_of(columns, key):
    """Columns of one type or relation alone."""
    own = columns.get(key)
    return dict(own) if isinstance(own, Mapping) else {}


class Tables:
    """Tables of nodes and edges, {type: table} and {relation: table}; homogeneous under None."""

    def __init__(self, folder, nodes, edges, columns, regression, memory, standard):
        """standard: None, or a function of a type: names of its features in another dataset."""
        types = list(dict.fromkeys([*nodes, *(end for s, _, d in edges for end in (s, d))]))
        share = memory // (2 * len(types) + 2)
        self.folder, self.types, self.relations = folder, types, list(edges)
        prefix = {name: f"node_names{k if name else ''}" for k, name in enumerate(types)}
        of_all = {role: name for role, name in columns.items() if not isinstance(name, Mapping)}
        shared = []
        self.nodes = {name: NodeTable(folder, share, prefix[name], name, of_all | own_of(columns, name), regression, shared, standard and standard(name)) for name in nodes}
        self.maps = {name: self.nodes[name].map if name in nodes else NameMap(folder, share, prefix[name], f"nodes of {name}") for name in types}
        for name, table in nodes.items():
            self.nodes[name].read(table)
        words = {bool(of.classes): of.what for of in self.nodes.values() if of.roles["label"]}
        if len(words) > 1:
            raise OptionError(f"{words[True]}: labels are words, unlike those of {words[False]}", "give labels of all types as words, or all as numbers")
        self.ends, unseen = {}, taken_of(of_all, [role for role in OF_EDGES if role not in ENDS])
        for i, ((s, name, d), table) in enumerate(edges.items()):
            own = own_of(columns, (s, name, d))
            ends = EdgeTable(folder, i, (s, name, d) if name else None, table, self.maps[s], self.maps[d], of_all | own, taken_of(own, OF_EDGES), unseen, i == len(edges) - 1)
            self.ends[s, name, d] = ends.read((s in nodes, d in nodes))
            weighted = {bool(of.roles["weight"]): relation for relation, of in self.ends.items()}
            if len(weighted) > 1:
                raise OptionError(f"edges of {weighted[False]}: no weights, which {weighted[True]} has", "give weights to all relations, or read none: columns={\"weight\": None}")
        for name in types:
            self.nodes[name].sort() if name in nodes else self.maps[name].sort()
        self.held = share * (len(types) + len(shared))

    def given_to_write(self):
        """Arguments of write: by type, or of a homogeneous graph."""
        of_nodes = {name: nodes.given_to_write() for name, nodes in self.nodes.items()}
        of_edges = {relation: ends.given_to_write() for relation, ends in self.ends.items()}
        given = {key: {name: of[key] for name, of in which.items() if of.get(key) is not None} or None
                 for which, keys in ((of_nodes, ("x", "y", "node_time", *SPLIT_BITS)), (of_edges, ("edge_weight", "edge_time", "edge_attr"))) for key in keys}
        given |= {"edge_index": {relation: ends.edges() for relation, ends in self.ends.items()}, "num_nodes": {name: m.n for name, m in self.maps.items()}}
        if self.types == [None]:
            return {key: next(iter(value.values()), None) if value else None for key, value in given.items()}
        return given

    def feature_names(self):
        """{type: names}"""
        return {name: nodes.feature_names for name, nodes in self.nodes.items() if nodes.feature_names}

    def class_names(self):
        return next((nodes.class_names for nodes in self.nodes.values() if nodes.class_names), None)


def by_type(tables, what):
    """{type or relation: table}; None, or three of them, if homogeneous."""
    if tables is None:
        return {}
    if isinstance(tables, Mapping) and not hasattr(tables, "__arrow_c_stream__"):
        for name in tables:
            wanted, is_it = ("the name of a type", isinstance(name, str)) if what == "nodes" else (
                "(source, name, destination)", isinstance(name, tuple) and [type(part) for part in name] == [str] * 3)
            if not is_it:
                raise OptionError(f"{what}: {name!r} is not {wanted}", f"give {{{wanted}: table}}; or one table, such as pandas.DataFrame(...), of a graph without types")
        return dict(tables)
    return {None if what == "nodes" else (None, None, None): tables}


def import_tables(path, nodes=None, edges=None, *, columns=None, num_classes=None, regression=False, name=None, progress=False, **options):
    """Write a dataset into the new folder `path` from tables of nodes and edges; returns its `info`.

    nodes      a table with a row a node, or {type: table}. None: the nodes that edges have, without features
    edges      a table with a row an edge, or {(source, name, destination): table}
    columns    {"id": name, ...}: id, src, dst, weight, label, split, node_time, edge_time, and lists for features and edge_features.
               For one type or relation: {"user": {"id": name}, ...}.
               By default these, or source, target, y, edge_attr, and of edges time or timestamp; None: no such column. Relations
               may lack columns of edge_time and edge_features. Dates and timestamps are times in whole seconds since 1970. `import edgelist` reads times and features by edge_time= and edge_features=.
               Features of nodes are all other columns of numbers, and of lists of one length, in the order of the table. Splits may also be
               columns of true and false called train, valid and test
    options    options of `outgrow import`: memory="2G", symmetrize=True, split=(60, 20, 20), ...

    standardize=True scales each column of features to mean 0 and deviation 1. It also takes dates as days, and a column for each text where
    at most 32 differ. A missing number counts as the mean, and has 1 in a further column. standardize_as="graph" takes means and texts
    of this dataset, on which a model was trained.

    A table is anything with __arrow_c_stream__: of pandas, Polars, pyarrow, DuckDB, arro3. It is read once, in its batches, of which one is
    in memory in addition to `memory`.
    Ids are texts or whole numbers. Nodes are numbered in the order of their ids; node_names.npy or node_ids.npy of the dataset has the id of
    each row. Labels that are words become classes in alphabetical order, whose names are class_names of meta.json. Null ids, ids that occur
    twice and edges of unknown nodes are errors.

    >>> outgrow.import_tables("graph", nodes=pandas.read_parquet("nodes.parquet"), edges=pandas.read_parquet("edges.parquet"))
    """
    path = folder_of(path, "path").rstrip("/") or "/"
    nodes, edges = by_type(nodes, "nodes"), by_type(edges, "edges")
    if not edges:
        raise OptionError("edges: not given", "give a table with a row an edge")
    typed = (None, None, None) not in edges
    if nodes and typed == (None in nodes):
        raise OptionError("nodes and edges: one of them is by types", "give {type: table} and {(source, name, destination): table}, or a table each")
    if typed and options.get("drop_types"):
        raise OptionError("drop_types: the tables are by types", "leave it out, or give one table of nodes and one of edges")
    columns = dict(columns or {})
    for key, value in columns.items():
        if not isinstance(value, Mapping):
            check_columns({key: value}, dict.fromkeys((*KNOWN, *LISTS)), "columns")
        elif key in nodes or key in edges:
            check_columns(value, OF_NODES if key in nodes else OF_EDGES, f"columns of {key}")
        else:
            raise OptionError(f"columns: {key!r} has no table", f"one of {', '.join(map(str, (*nodes, *edges)))}")
    with folder_beside(path) as folder:
        memory = memory_of(options)
        tables = Tables(folder, nodes, edges, columns, regression, memory, standard_of(options))
        left = memory if options.get("memory") is None else memory - tables.held  # what its names hold is not the import's
        options |= {"memory": as_option(left)} if left < memory else {}
        given = tables.given_to_write()
        given = of_one_type(given) or given
        if given["x"] is None and not hasattr(given["edge_index"], "items"):
            warn("nodes: no features: each node gets one constant feature, without information")
            given["x"] = constant(1, given["num_nodes"], np.float32, (1,))
        about = {"num_classes": num_classes, "task": "node regression" if regression else None, "name": name, "feature_names": tables.feature_names()}
        with notices() as told, part_of(memory, left):
            found = store(path, given, about, options, progress=progress, maps=tables.maps, classes=tables.class_names())
        say_notices(path, given, options, told)
        return found


def standard_of(options):
    """None, or what gives the names of a type's features in the dataset of standardize_as."""
    other = options.get("standardize_as")
    if other is None:
        return (lambda name: ()) if str(options.get("standardize")).lower() in ("true", "1") else None
    meta = meta_of(folder_of(other, "standardize_as"))
    types = {of["name"]: of for of in meta.get("node_types", [])}
    return lambda name: (types.get(name, {}) if types else meta).get("feature_names", ())


def say_notices(path, given, options, told):
    """One warning of what a model would learn badly from."""
    if given.get("y") is not None and all(given.get(split) is None for split in SPLIT_BITS) and not options.get("split"):
        told.append('no splits: split="60/20/20" takes random ones of the nodes with a label, a column split those that you choose')
    told = [text.replace("symmetrize adds", "symmetrize=True adds") for text in told if "symmetrize" not in options or "symmetrize" not in text]
    if told:
        warn(f"{path}: {'; '.join(told)}")
