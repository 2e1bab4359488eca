"""Tables through the Arrow C stream interface: the structs of its ABI, without a library.

https://arrow.apache.org/docs/format/CStreamInterface.html
"""
import ctypes
import json
import os
import struct
from ctypes import POINTER, c_char_p, c_int, c_int64, c_void_p

import numpy as np

from ._errors import Error, OptionError


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


Schema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
                   ("children", POINTER(POINTER(Schema))), ("dictionary", POINTER(Schema)), ("release", c_void_p), ("private_data", c_void_p)]
Array._fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
                  ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(Array))), ("dictionary", POINTER(Array)), ("release", c_void_p),
                  ("private_data", c_void_p)]
Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(c_int, POINTER(Stream), POINTER(Schema))),
                   ("get_next", ctypes.CFUNCTYPE(c_int, POINTER(Stream), POINTER(Array))),
                   ("get_last_error", ctypes.CFUNCTYPE(c_char_p, POINTER(Stream))), ("release", c_void_p), ("private_data", c_void_p)]

NUMBERS = {"c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8", "e": "f2", "f": "f4", "g": "f8"}
KINDS = {"d": "decimal numbers", "t": "times", "w": "bytes of one length", "+": "nested values"}
DATES = {"tdD": ("i4", "D"), "tdm": ("i8", "ms"), "tss:": ("i8", "s"), "tsm:": ("i8", "ms"), "tsu:": ("i8", "us"), "tsn:": ("i8", "ns")}


class Index(str):
    """Name of a column that pandas had as the index."""


class Column:
    """Values of a batch: numbers or datetime64 [n], numbers [n, width], or texts.

    Texts are bytes with offsets [n + 1]. valid is None, or bool of the values' shape. `why` is the error of a column that is not read.
    """

    def __init__(self, values=None, offsets=None, data=None, valid=None, why=None):
        self.values, self.offsets, self.data, self.valid, self.why = values, offsets, data, valid, why

    @property
    def is_text(self):
        return self.offsets is not None

    def __len__(self):
        return len(self.offsets) - 1 if self.is_text else len(self.values)

    def take(self, rows):
        """The column of these rows, a slice of step 1 or an array."""
        valid = None if self.valid is None else self.valid[rows]
        if not self.is_text:
            return Column(self.values[rows], valid=valid)
        starts, ends = self.offsets[:-1][rows], self.offsets[1:][rows]
        if isinstance(rows, slice):
            return Column(offsets=self.offsets[rows.start:rows.start + len(starts) + 1], data=self.data, valid=valid)
        return Column(*text_at(self.data, starts, ends - starts), valid=valid)


def text_at(data, starts, lengths):
    """None, offsets and bytes of texts at these places."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    places = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    return None, offsets, data[places]


def view(address, dtype, n, first=0):
    """n elements of a buffer from `first` on, not copied."""
    dtype = np.dtype(dtype)
    if n == 0 or not address:
        return np.zeros(n, dtype)
    memory = (ctypes.c_char * (n * dtype.itemsize)).from_address(address + first * dtype.itemsize)
    return np.frombuffer(memory, dtype)


def bits(address, first, n):
    whole = view(address, np.uint8, (first % 8 + n + 7) // 8, first // 8)
    return np.unpackbits(whole, bitorder="little")[first % 8:first % 8 + n].astype(bool)


def views(array, first, n):
    """Offsets and bytes of texts stored as views: in place, or in one of several buffers."""
    view_of = view(array.buffers[1], np.dtype([("n", "<i4"), ("prefix", "<i4"), ("buffer", "<i4"), ("at", "<i4")]), n, first)
    lengths, short = view_of["n"].astype(np.int64), view_of["n"] <= 12
    sizes = view(array.buffers[array.n_buffers - 1], np.int64, array.n_buffers - 3)
    buffers = [np.frombuffer(view_of.tobytes(), np.uint8), *(view(array.buffers[2 + i], np.uint8, int(size)) for i, size in enumerate(sizes))]
    firsts = np.cumsum([0, *map(len, buffers)])
    where = np.where(short, 0, view_of["buffer"] + 1)
    starts = firsts[where] + np.where(short, np.arange(n) * 16 + 4, view_of["at"])
    return text_at(np.concatenate(buffers), starts, lengths)


def lists(schema, array, first, n, valid, name):
    """Lists of one length as rows of a matrix, and which values are there. A null is a row without values."""
    kind = schema.format.decode()
    child, values = schema.children[0].contents, array.children[0].contents
    if kind.startswith("+w:"):
        offsets = (first + np.arange(n + 1)) * int(kind[3:])
    else:
        offsets = view(array.buffers[1], np.int32 if kind == "+l" else np.int64, n + 1, first).astype(np.int64)
    begin, present = offsets[0], np.ones(n, bool) if valid is None else valid
    inner = column_of(child, values, int(begin), int(offsets[-1] - begin), name)
    if inner.is_text or inner.values.ndim > 1 or inner.values.dtype.kind == "M":
        raise OptionError(f"{name}: lists of {'texts' if inner.is_text else 'lists' if inner.values.ndim > 1 else 'dates'}", "give lists of numbers")
    widths = np.unique(np.diff(offsets)[present])
    if len(widths) > 1 or (widths == 0).any():
        why = OptionError(f"{name}: {f'lists of {widths[0]} and of {widths[-1]} values' if len(widths) > 1 else 'empty lists'}",
                          "give lists of one length, or name the columns to read: columns={\"features\": [...]}")
        why.of_numbers = True
        raise why
    if present.all():
        return Column(inner.values.reshape(n, -1), valid=None if inner.valid is None else inner.valid.reshape(n, -1))
    places = (offsets[:-1] - begin)[present, None] + np.arange(widths[0] if len(widths) else 1)
    out, there = np.zeros((n, places.shape[1]), inner.values.dtype), np.zeros((n, places.shape[1]), bool)
    out[present], there[present] = inner.values[places], True if inner.valid is None else inner.valid[places]
    return Column(out, valid=there)


def decimals(schema, array, first, n, valid):
    """Decimal numbers of 128 bits: int64 if all are whole and fit, else float64."""
    halves = view(array.buffers[1], np.dtype([("low", "<u8"), ("high", "<i8")]), n, first)
    scale = int(schema.format.decode().split(",")[1])
    small = halves["high"] == halves["low"].view(np.int64) >> 63
    if scale == 0 and (small if valid is None else small | ~valid).all():
        return Column(halves["low"].view(np.int64), valid=valid)
    whole = np.where(small, halves["low"].view(np.int64), halves["high"] * 2.0 ** 64 + halves["low"])
    return Column(whole / 10.0 ** scale, valid=valid)


def metadata_of(schema):
    """What a library notes with a table or a column, {bytes: bytes}."""
    at = schema.metadata

    def take():
        nonlocal at
        n = struct.unpack("=i", ctypes.string_at(at, 4))[0]
        at += 4
        return n

    def text():
        nonlocal at
        n = take()
        at += n
        return ctypes.string_at(at - n, n)
    return {text(): text() for _ in range(take() if at else 0)}


def column_of(schema, array, first, n, name):
    """n values of an array from `first` on, plus its own offset."""
    kind, first = schema.format.decode(), first + array.offset
    if metadata_of(schema).get(b"ARROW:extension:name") == b"pandas.period":
        raise OptionError(f"{name}: periods are not read", "cast it to dates: dt.to_timestamp()")
    valid = bits(array.buffers[0], first, n) if kind != "n" and array.null_count != 0 and array.buffers[0] else None
    if schema.dictionary:
        words = column_of(schema.dictionary.contents, array.dictionary.contents, 0, array.dictionary.contents.length, name)
        codes = view(array.buffers[1], NUMBERS[kind], n, first).astype(np.int64)
        codes = codes if valid is None else np.where(valid, codes, 0)
        if len(words) == 0:
            return Column(np.zeros(n), valid=np.zeros(n, bool))
        found = words.take(codes)
        found.valid = valid if found.valid is None else found.valid if valid is None else found.valid & valid
        return found
    if kind in NUMBERS:
        return Column(view(array.buffers[1], NUMBERS[kind], n, first), valid=valid)
    if kind == "b":
        return Column(bits(array.buffers[1], first, n), valid=valid)
    if kind == "n":
        return Column(np.zeros(n), valid=np.zeros(n, bool))
    if kind in ("u", "U", "z", "Z"):  # z: bytes without a kind, as some Parquet files have texts
        offsets = view(array.buffers[1], np.int32 if kind in "uz" else np.int64, n + 1, first).astype(np.int64)
        return Column(offsets=offsets, data=view(array.buffers[2], np.uint8, int(offsets[-1])), valid=valid)
    if kind in ("vu", "vz"):
        return Column(*views(array, first, n), valid=valid)
    if kind in ("+l", "+L") or kind.startswith("+w:"):
        return lists(schema, array, first, n, valid, name)
    if date := DATES.get(kind[:4]):
        return Column(view(array.buffers[1], date[0], n, first).astype(np.int64).view(f"datetime64[{date[1]}]"), valid=valid)
    if kind[0] == "d" and kind.split(",")[2:] in ([], ["128"]):
        return decimals(schema, array, first, n, valid)
    raise OptionError(f"{name}: {KINDS.get(kind[0], 'values of a kind')} (Arrow's {kind!r}) are not read", "cast it to numbers or texts")


def column_or_why(schema, array, first, n, name):
    try:
        return column_of(schema, array, first, n, name)
    except OptionError as why:
        return Column(np.zeros(n), valid=np.zeros(n, bool), why=why)


def released(owned):
    if owned.release:
        ctypes.CFUNCTYPE(None, POINTER(type(owned)))(owned.release)(ctypes.byref(owned))


def index_of(schema):
    """Names of the columns that are an index, as pandas notes them with a table."""
    try:
        return {name for name in json.loads(metadata_of(schema).get(b"pandas", b"{}"))["index_columns"] if isinstance(name, str)}
    except (ValueError, KeyError, TypeError):
        return set()


def stream_of(table, what):
    if not hasattr(table, "__arrow_c_stream__"):
        if isinstance(table, (str, os.PathLike)):
            raise OptionError(f"{what}: the name of a file", "read it: pandas.read_csv(...), polars.read_csv(...) or pyarrow.parquet.read_table(...)")
        raise OptionError(f"{what}: {type(table).__name__}, without __arrow_c_stream__", "give what its collect() returns" if hasattr(table, "collect") else
                          "give a table of pandas (2.2 or later, with pyarrow), Polars, pyarrow, DuckDB or arro3")
    try:
        capsule = table.__arrow_c_stream__()
    except Exception as why:  # of a library that we do not know
        text = str(why.args[0] if why.args else why)
        hint = "rename one of the columns with one name" if "uplicate" in text else "a column has values of one kind: cast it, astype(str) for example"
        raise OptionError(f"{what}: {type(table).__name__} cannot be given as Arrow: {text}", "" if type(why).__module__.startswith(("duckdb", "_duckdb")) else hint) from why
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    return capsule, Stream.from_address(pointer(capsule, b"arrow_array_stream"))


def batches(table, what):
    """Yield {name: Column} of each batch that has rows. The columns are valid until the next one. A table may bring them itself."""
    if hasattr(table, "column_batches"):
        yield from table.column_batches()
        return
    capsule, stream = stream_of(table, what)  # the capsule owns the stream
    schema = Schema()

    def check(status):
        if status:
            said = stream.get_last_error(ctypes.byref(stream))
            raise Error(f"{what}: {said.decode(errors='replace') if said else f'the stream ended with error {status}'}")
    try:
        check(stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)))
        if schema.format != b"+s":
            raise OptionError(f"{what}: no table of columns", "give a table, not a column")
        fields = [schema.children[i].contents for i in range(schema.n_children)]
        names = [field.name.decode() for field in fields]
        index = index_of(schema)
        names = [Index(name) if name in index else name for name in names]
        if len(set(names)) < len(names):
            raise OptionError(f"{what}: two columns have one name", "rename one of them")
        while True:
            array = Array()
            check(stream.get_next(ctypes.byref(stream), ctypes.byref(array)))
            if not array.release:
                return
            try:
                if array.length:
                    yield {name: column_or_why(field, array.children[i].contents, array.offset, array.length, f"{what}: column {name}")
                           for i, (name, field) in enumerate(zip(names, fields))}
            finally:
                released(array)
    finally:
        released(schema)
        del capsule
