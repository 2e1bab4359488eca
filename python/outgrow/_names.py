"""Ids and labels that are words, or numbers with gaps: numbered in bounded memory (og_name_map)."""
import contextlib
import os
import re
import tempfile

import numpy as np

from . import _outgrow
from ._arrays import is_missing
from ._arrow import Column
from ._errors import Error, OptionError, warn
from ._options import text_of

NONE = 2**32 - 1
ROWS = 1 << 16      # of a put or take
MISSING = {"nan", "null", "none", "na", "n/a", "<na>"}


def is_words(array):
    """Whether an array or a list has texts."""
    array = array if hasattr(array, "dtype") else np.asarray(array, dtype=object) if isinstance(array, (list, tuple)) else array
    kind = getattr(getattr(array, "dtype", None), "kind", "")
    return kind in "USTO" and kind != "" and (kind != "O" or any(isinstance(v, (str, bytes)) for v in np.ravel(array)[:1000]))


def text_column(array, what):
    """A column of texts from str or bytes; None and NaN are missing."""
    array = np.asarray(array, dtype=None if hasattr(array, "dtype") else object)
    if array.ndim != 1:
        raise OptionError(f"{what}: words of shape {list(array.shape)}", "give one a row")
    texts, valid = [], np.ones(len(array), bool)
    for i, value in enumerate(array.tolist()):
        if isinstance(value, str):
            value = value.encode()
        if is_missing(value):
            value, valid[i] = b"", False
        if not isinstance(value, bytes):
            raise OptionError(f"{what}: row {i}: {type(value).__name__} among words", "give texts alone: str(value)")
        texts.append(value)
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
    return Column(offsets=offsets, data=np.frombuffer(b"".join(texts), np.uint8), valid=None if valid.all() else valid)


def column_of(array, what):
    """A column of texts or numbers from an array, a tensor or a list."""
    if hasattr(array, "detach"):
        array = array.detach().cpu().numpy()
    return text_column(array, what) if is_words(array) else Column(np.asarray(array))


def memory_of(options):
    """Bytes of an import's option memory; unless it is given, 1 GiB."""
    value = options.get("memory")
    return 1 << 30 if value is None else _outgrow.import_memory(text_of("memory", value))


def as_option(size):
    """Bytes as an import's option memory, which is 1 MiB at least."""
    return f"{max(size, 1 << 20) >> 10}K"


@contextlib.contextmanager
def part_of(whole, part):
    """Where `part` of the memory is too little, the hint has as much more of the whole."""
    try:
        yield
    except Error as error:
        if not error.hint or part == whole:
            raise
        hint = re.sub(r"(memory[ =]\W?)(\d+)M", lambda m: f"{m[1]}{int(m[2]) * whole // part + 1}M", error.hint)
        raise type(error)(error.message, hint, error.code) from error


class NameMap:
    """Ids of one type of nodes, or labels -> numbers from 0. Whole numbers are ordered by value, texts by their bytes."""

    def __init__(self, folder, memory, prefix, what):
        self.map, self.folder, self.prefix, self.what = _outgrow.Names(folder, memory), folder, prefix, what
        self.kind, self.first, self.puts, self.n = None, None, 0, None

    def put(self, column, adds, what):
        """Put a column, ROWS at most; returns the number of its first occurrence."""
        kind = "text" if column.is_text else column.values.dtype.kind
        if kind not in ("text", "i", "u") or not column.is_text and column.values.ndim > 1:
            raise OptionError(f"{what}: {column.values.dtype if column.values.ndim == 1 else 'lists'}: no ids", f"give texts or whole numbers: astype({'str' if column.values.ndim > 1 else repr('int64')})")
        kind = "text" if column.is_text else "whole numbers"
        if self.kind not in (None, kind):
            raise OptionError(f"{what}: {kind}, where {self.first} has {self.kind}", "cast both columns to one kind, astype(str) for example: '1' and 1 are no equal ids")
        if column.valid is not None and not column.valid.all():
            raise OptionError(f"{what}: row {int(np.argmin(column.valid))} of a batch is null", "give each an id, or leave these rows out")
        self.kind, self.first = kind, self.first or what
        at, n = self.puts, len(column)
        if column.is_text:
            data, offsets = column.data, np.ascontiguousarray(column.offsets)
        else:
            if column.values.dtype == np.uint64 and n and column.values.max() >= 2**63:
                raise OptionError(f"{what}: {int(column.values.max())}", "ids are below 2^63; cast them to text")
            data = (column.values.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)).astype(">u8").view(np.uint8)
            offsets = np.arange(n + 1, dtype=np.int64) * 8
        try:
            self.map.put(np.ascontiguousarray(data), offsets, adds, column.is_text)
        except OptionError as error:
            raise OptionError(f"{what}: {error.message}", error.hint or "give each row a word") from error
        self.puts += n
        return at

    def sort(self):
        self.n = self.map.sort(self.prefix)
        return self.n

    def take(self, first, n):
        out = np.empty(n, np.uint32)
        self.map.take(first, out)
        return out

    def files(self):
        """{end of the name: path} of the files that hold the names."""
        ends = ("", "_offsets", "_bytes")
        return {end: path for end in ends if os.path.exists(path := f"{self.folder}/{self.prefix}{end}.npy")}

    def name(self, i):
        """One name, as text."""
        files = self.files()
        if "" in files:
            word = np.load(files[""], mmap_mode="r")[i:i + 1]
            return str(word.view(">u8")[0].astype(np.uint64) ^ np.uint64(1 << 63)) if self.kind != "text" else word[0].decode()
        begin, end = np.load(files["_offsets"], mmap_mode="r")[i:i + 2]
        return bytes(np.load(files["_bytes"], mmap_mode="r")[begin:end]).decode()

    def names(self):
        return [self.name(i) for i in range(self.n)]

    def numbers(self):
        """The whole numbers, int64 in order."""
        keys = np.load(self.files()[""])
        return (np.frombuffer(keys.tobytes(), ">u8").astype(np.uint64) ^ np.uint64(1 << 63)).view(np.int64)


def order_of(names, rank, what):
    """The row of each node, from the node of each row."""
    order = np.full(names.n, NONE, np.uint32)
    order[rank] = np.arange(len(rank), dtype=np.uint32)
    if names.n < len(rank):
        again = np.flatnonzero(order[rank] != np.arange(len(rank)))[0]
        raise OptionError(f"{what}: {names.name(int(rank[again]))} is there twice", "give each row an id of its own")
    return order


def leave_names(maps, folder):
    """Put the files of {type: map} that has words into the source of an import."""
    for name, names in maps.items():
        for end, path in names.files().items() if names.kind == "text" else ():
            os.rename(path, f"{folder}/node_names{'_' + name if name else ''}{end}.npy")


def node_ids_of(maps):
    """int64 ids of all nodes, or None if they are words, or rows of the whole graph. Nodes with names have their row in the type."""
    if all(names.kind == "text" for names in maps.values()):
        return None
    ids = np.concatenate([np.arange(names.n) if names.kind == "text" else names.numbers() for names in maps.values()])
    return None if np.array_equal(ids, np.arange(len(ids))) else ids


class Classes:
    """Labels that are words."""

    def __init__(self, folder, memory, what):
        self.map, self.parts, self.what, self.missing, self.names = NameMap(folder, memory, "class_names", what), [], what, 0, None

    def put(self, column):
        """Put ROWS labels at most; returns nothing. Null, empty, nan, null, none and na are no label."""
        texts = column.offsets
        valid = np.diff(texts) > 0 if column.valid is None else column.valid & (np.diff(texts) > 0)
        short = np.flatnonzero(valid & (np.diff(texts) <= 4))
        for i in short:
            if bytes(column.data[texts[i]:texts[i + 1]]).decode(errors="replace").lower() in MISSING:
                valid[i] = False
                self.missing += 1
        rows = np.flatnonzero(valid)
        present = column.take(rows) if len(rows) < len(column) else Column(offsets=texts, data=column.data)
        present.valid = None
        self.parts.append((self.map.put(present, True, self.what), valid))

    def sort(self):
        """Their names; at the first call the labels are numbered."""
        if self.names is not None:
            return self.names
        n = self.map.sort() if self.map.puts else 0
        if self.missing:
            warn(f"{self.what}: {self.missing} labels are nan, null, none or na: these nodes have no label")
        sizes = sum(map(os.path.getsize, self.map.files().values()))
        if n and sizes > 1 << 19:
            raise OptionError(f"{self.what}: {n} different labels that are words", "at most 512 KiB of names; are they ids?")
        self.names = self.map.names() if n else []
        return self.names

    def take(self, puts=slice(None)):
        """int64 classes in the order of the puts, or of some of them, -1 for none."""
        for first, valid in self.parts[puts]:
            out = np.full(len(valid), -1, np.int64)
            out[valid] = self.map.take(first, int(valid.sum()))
            yield out


def class_numbers(y, what):
    """int64 classes of an array of words, and their names in order."""
    column = text_column(y, what)
    with tempfile.TemporaryDirectory() as folder:
        classes = Classes(folder, 1 << 28, what)
        for at in range(0, len(column), ROWS):
            classes.put(column.take(slice(at, at + ROWS)))
        names = classes.sort()
        return np.concatenate([*classes.take(), np.empty(0, np.int64)]), names
