"""What `outgrow import` and `predict` run: Parquet, and layouts that Python reads."""
import contextlib
import csv
import fnmatch
import glob
import json
import logging
import os
import sys
import warnings

from . import _tables
from ._errors import Error, FileError, OptionError, warn
from ._layouts import door_of
from ._meta import meta_of, said_by


def table_of(path):
    """A Parquet file through the first library that is installed, in batches."""
    try:
        import pyarrow
        import pyarrow.parquet
        file = pyarrow.parquet.ParquetFile(path)
        return pyarrow.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(batch_size=1 << 16))
    except ImportError:
        pass
    try:
        import duckdb
        return duckdb.read_parquet(path)
    except ImportError:
        pass
    try:
        import polars
        return polars.read_parquet(path)
    except ImportError:
        raise Error(f"{path}: no library that reads Parquet", "pip install pyarrow, duckdb or polars") from None


def tables_in(src):
    """nodes and edges of import_tables: of one file, which has edges, or of a folder."""
    if not os.path.isdir(src):
        return None, table_of(src)
    files = {os.path.basename(path)[:-8]: path for path in sorted(glob.glob(f"{glob.escape(src)}/*.parquet"))}
    typed = {tuple(name[6:].split("__")): path for name, path in files.items() if name.startswith("edges_")}
    nodes = {name[6:]: path for name, path in files.items() if name.startswith("nodes_")}
    other = [name for name in files if name not in ("nodes", "edges") and name[:6] not in ("nodes_", "edges_")]
    if other or typed and ("edges" in files or "nodes" in files or any(len(relation) != 3 for relation in typed)) or nodes and not typed:
        raise FileError(f"{src}: {', '.join(files)}: .parquet files of other names", "edges and nodes; or edges_<source>__<name>__<destination> and nodes_<type>")
    if typed:
        return {name: table_of(path) for name, path in nodes.items()}, {relation: table_of(path) for relation, path in typed.items()}
    return table_of(files["nodes"]) if "nodes" in files else None, table_of(files["edges"])


def expanded(names, columns, edges):
    """Names of columns. An asterisk stands for anything but an id, a weight, a time and a label: they are left out, and named once."""
    every = list(dict.fromkeys(name for table in edges.values() for name in (table.columns if hasattr(table, "columns") else table.schema.names)))
    roles = [role for role in ("id", "weight", "label", "edge_time") if role not in columns]
    ends = {name for name in every if any(name.lower() in of[role] for of in (_tables.KNOWN, _tables.LESS_USUAL) for role in _tables.ENDS) or name in (columns.get("src"), columns.get("dst"))}
    used = {name for name in every if name in columns.values() or any(name.lower() in _tables.KNOWN[role] for role in roles)} - ends
    others = [name for name in every if name not in ends | used]
    out, left = [], []
    for name in names:
        starred = "*" in name and name not in every
        found = fnmatch.filter(others, name) if starred else [name]
        if starred:
            left += fnmatch.filter(sorted(used), name)
        if not found:
            raise OptionError(f"edges: no column {name}", f"columns are {', '.join(every)}")
        out += found
    if left := [name for name in dict.fromkeys(left) if name not in out]:
        warn(f"edges: columns that * of --edge-features leaves out: {', '.join(left)}")
    return list(dict.fromkeys(out))


# ---- tables of predictions ----

def check():
    """Whether write can."""
    try:
        import pyarrow.csv
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        print("Parquet: pyarrow is not installed", "pip install pyarrow, or write .csv", sep="\n")
        sys.exit(1)


def read():
    """PARQUET CSV: a table of predictions as text, in batches. An error goes to the output, as a message and a hint, a line each."""
    source, out = sys.argv[1:]
    check()
    import pyarrow.csv
    import pyarrow.parquet
    try:
        file = pyarrow.parquet.ParquetFile(source)
        with pyarrow.csv.CSVWriter(out, file.schema_arrow) as writer:
            for batch in file.iter_batches():
                writer.write_batch(batch)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        print(f"{source}: {' '.join(str(error).split())}", "make it with `outgrow predict --probabilities`", sep="\n")
        sys.exit(1)


def types_of(header, dataset, checkpoint):
    """Types of the columns by their names, the dataset's and the checkpoint's, whatever the rows are."""
    import pyarrow
    meta = meta_of(dataset)
    edges = header[0] == "src"
    words, number = pyarrow.string(), pyarrow.int64()
    id_type = words if glob.glob(f"{glob.escape(dataset)}/node_names*.npy") else number
    class_type = words if "class_names" in (said_by(checkpoint) if checkpoint else {}) or meta.get("edge_class_names" if edges else "class_names") else number
    types = {name: id_type for name in ("id", "src", "dst") if name in header[:3]}
    at = len(types) + (header[1:2] == ["relation"])
    types |= {"relation": words} if header[1:2] == ["relation"] else {}
    top = header[at:at + 2] == ["class_1", "score_1"]
    for k, name in enumerate(header[at:]):
        chosen = top and k % 2 == 0 or not top and k == 0 and name == "class"
        types[name] = class_type if chosen else pyarrow.float32()
    return types


def write():
    """DATASET CHECKPOINT CSV OUT: a table of predictions as Parquet, in batches. An error goes to the output, as a message and a hint, a line each."""
    import pyarrow.csv
    import pyarrow.parquet
    dataset, checkpoint, source, out = sys.argv[1:]
    part = f"{out}.part"
    try:
        with open(source, newline="", encoding="utf-8") as file:
            header = next(csv.reader(file))
        if len(set(header)) < len(header):
            raise FileError(f"{out}: two columns have one name", "write .csv, or name classes otherwise")
        options = pyarrow.csv.ConvertOptions(column_types=types_of(header, dataset, checkpoint), strings_can_be_null=False, null_values=[])
        parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
        with pyarrow.csv.open_csv(source, parse_options=parse, convert_options=options) as reader, pyarrow.parquet.ParquetWriter(part, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        os.rename(part, out)
    except (Error, OSError, ValueError, pyarrow.ArrowException) as error:
        with contextlib.suppress(OSError):
            os.unlink(part)
        print(getattr(error, "message", None) or " ".join(str(error).split()), getattr(error, "hint", ""), sep="\n")
        sys.exit(1)


# ---- import ----

def main():
    """FORMAT SRC OUT [--option=value ...]; FORMAT "" is by the files. An error goes to the output, as a message and a hint, a line each."""
    format, src, out, *words = sys.argv[1:]
    logging.basicConfig(format="outgrow: %(message)s")
    warnings.showwarning = lambda message, *_: print("outgrow:", message, file=sys.stderr)
    options = dict(word.removeprefix("--").split("=", 1) for word in words)
    try:
        if door := door_of(format or None, src):
            door(src, out, False, **{key.replace("-", "_"): value for key, value in options.items()})
            return
        nodes, edges = tables_in(src)
        columns = {}
        if "id-columns" in options:
            columns["src"], columns["dst"] = options.pop("id-columns").split(",")
        if "edge-time" in options:
            columns["edge_time"] = options.pop("edge-time")
        if "edge-features" in options:
            columns["edge_features"] = expanded(options.pop("edge-features").split(","), columns, edges if isinstance(edges, dict) else {"": edges})
        _tables.import_tables(out, nodes=nodes, edges=edges, columns=columns, **options)
    except (AttributeError, LookupError, TypeError) as error:
        print(f"{src}: {type(error).__name__}: {' '.join(str(error).split())}", "are these files as their authors publish them? Otherwise this is an error of outgrow", sep="\n")
        sys.exit(1)
    except (Error, OSError, ValueError) as error:
        print(getattr(error, "message", None) or " ".join(str(error).split()), getattr(error, "hint", ""), sep="\n")
        sys.exit(1)
