"""Arrays whose rows have ids: rows, edges and splits of write in the order of the ids."""
import itertools

import numpy as np

from ._arrays import PIECE, array_of, edges_of, is_iterator
from ._errors import OptionError
from ._names import NONE, ROWS, NameMap, column_of, is_words, order_of

SPLITS = "train", "valid", "test"
LARGER = "give an array, which may be mapped from a file: numpy.load(\"x.npy\", mmap_mode=\"r\"); or batches of tables to outgrow.import_tables"


def in_parts(column):
    for at in range(0, len(column), ROWS):
        yield column.take(slice(at, min(at + ROWS, len(column))))


class Type:
    """The ids of a type's rows."""

    def __init__(self, folder, memory, prefix, ids, what):
        self.map, self.what = NameMap(folder, memory, prefix, what), what
        self.rows = self.put(ids, True, what)[1]

    def put(self, ids, adds, what):
        """The first occurrence, and how many."""
        if is_iterator(ids):
            raise OptionError(f"{what}: an iterator, with ids", LARGER)
        column, first = column_of(ids, what), self.map.puts
        for part in in_parts(column):
            self.map.put(part, adds, what)
        return first, len(column)

    def take(self, first, n, what):
        out = np.concatenate([np.empty(0, np.int64), *(self.map.take(at, min(ROWS, first + n - at)).astype(np.int64) for at in range(first, first + n, ROWS))])
        if (out == NONE).any():
            raise OptionError(f"{what}: entry {int(np.argmax(out == NONE))} is none of ids", "give each node a row")
        return out

    def sort(self):
        """rank[row] is the node of a row, order[node] its row."""
        self.map.sort()
        self.rank = self.take(0, self.rows, self.what)
        self.order = order_of(self.map, self.rank, self.what)

    def ordered(self, value, what):
        """Rows of an array in the order of nodes, in pieces."""
        if is_iterator(value):
            raise OptionError(f"{what}: an iterator, with ids", LARGER)
        array = array_of(value, what)
        if len(array) != self.rows:
            raise OptionError(f"{what}: {len(array)} rows, for {self.rows} ids", "give a row an id")
        step = max(1, PIECE // max(1, array[:1].nbytes))
        return (array[self.order[at:at + step]] for at in range(0, self.rows, step))


class Named:
    """Arguments of write in the order of ids, {type: ...} or of a homogeneous graph."""

    def __init__(self, folder, given, ids, memory):
        self.typed = hasattr(given["edge_index"], "items")
        if self.typed != hasattr(ids, "items"):
            raise OptionError("ids: by types, unlike edge_index" if not self.typed else "ids: not by types, as edge_index is", "give both by types, or neither")
        ids = ids if self.typed else {None: ids}
        share = memory // (2 * len(ids))
        self.given = {key: value if self.typed or value is None or key == "edge_index" else {None: value} for key, value in given.items()}
        relations = given["edge_index"] if self.typed else {(None, None, None): given["edge_index"]}
        for s, _, d in relations:
            for end in s, d:
                if end not in ids:
                    raise OptionError(f"ids: none given for {end}", "give ids for all types")
        self.types = {name: Type(folder, share, f"node_names{k if name else ''}", of, f"ids of {name}" if name else "ids") for k, (name, of) in enumerate(ids.items())}
        self.maps = {name: of.map for name, of in self.types.items()}
        self.edges = {relation: self.put_edges(relation, value) for relation, value in relations.items()}
        self.splits = {split: {name: self.put_split(name, split, value) for name, value in (self.given[split] or {}).items()} for split in SPLITS}
        for of in self.types.values():
            of.sort()

    def put_edges(self, relation, value):
        """What yields its edges once ids are sorted."""
        what, ends = "edge_index", (self.types[relation[0]], self.types[relation[2]])
        chunks = iter(value if is_iterator(value) else [value])
        first = next(chunks, None)
        chunks = [] if first is None else itertools.chain([first], chunks)
        if first is None or not is_words(first[0]):
            return lambda: (np.stack([of.rank[self.inside(rows[:, i], of)] for i, of in enumerate(ends)]) for chunk in chunks for rows in edges_of(chunk))
        places = []
        for chunk in chunks:
            columns = [column_of(end, what) for end in chunk]
            if len(columns) != 2 or len(columns[0]) != len(columns[1]):
                raise OptionError("edge_index: not as many sources as destinations", "give [2, E]")
            for pair in zip(*map(in_parts, columns)):
                places.append([(of.map.put(part, False, what), len(part)) for of, part in zip(ends, pair)])
        return lambda: (np.stack([of.take(*at, what) for of, at in zip(ends, pair)]) for pair in places)

    @staticmethod
    def inside(rows, of):
        if rows.size and not 0 <= rows.min() <= rows.max() < of.rows:
            raise OptionError(f"edge_index: {int(rows.min() if rows.min() < 0 else rows.max())}, of {of.rows} rows", "give rows, or ids that are words")
        return rows

    def put_split(self, name, split, value):
        of = self.types.get(name)
        if of is None:
            raise OptionError(f"{split}: {name!r} is no type of ids", f"types are {', '.join(map(str, self.types))}")
        if is_iterator(value) or not is_words(value):
            return lambda: of_rows(value, of, split)
        at = of.put(value, False, split)
        return lambda: of.take(*at, split)

    def given_to_write(self):
        def of(key, what):
            return {name: self.types[name].ordered(value, what) for name, value in (self.given[key] or {}).items()} or None
        out = {key: of(key, key) for key in ("x", "node_time")}
        out["y"] = {name: self.labels(name, y) for name, y in (self.given["y"] or {}).items()} or None
        out |= {split: {name: make() for name, make in made.items()} or None for split, made in self.splits.items()}
        out |= {"edge_index": {relation: make() for relation, make in self.edges.items()}, "num_nodes": {name: t.rows for name, t in self.types.items()}}
        out |= {key: self.given[key] for key in ("edge_weight", "edge_attr", "edge_time")}  # edges keep their order
        if self.typed:
            return out
        return {key: next(iter(value.values()), None) if value is not None else None for key, value in out.items()}

    def labels(self, name, y):
        of = self.types[name]
        if is_iterator(y) or not is_words(y):
            return of.ordered(y, "y")
        if len(y) != of.rows:
            raise OptionError(f"y: {len(y)} rows, for {of.rows} ids", "give a row an id")
        return np.asarray(y, dtype=object)[of.order]


def of_rows(value, of, split):
    """Nodes of a split given as rows or as a mask, in any form that write takes."""
    if is_iterator(value):
        return (of.rank[array_of(chunk, split)] for chunk in value)
    array = array_of(value, split)
    if array.dtype.kind == "b" or array.shape == (of.rows,) and bool(((array == 0) | (array == 1)).all()) and of.rows > 2:
        if array.shape != (of.rows,):
            raise OptionError(f"{split}: a mask {list(array.shape)}, of {of.rows} nodes", "pass a mask of this length, or ids")
        return array[of.order] != 0
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.size and not 0 <= array.min() <= array.max() < of.rows:
        raise OptionError(f"{split}: {array.dtype} {list(array.shape)}: neither rows nor a mask", "give rows, a mask, or ids that are words")
    return of.rank[array]
