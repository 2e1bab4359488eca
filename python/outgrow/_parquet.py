"""`outgrow import` of Parquet: what the command runs."""
import glob
import logging
import os
import sys
import warnings

from . import _tables
from ._errors import Error, FileError


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


def main():
    """SRC OUT [--option=value ...]. An error goes to the output, as a message and a hint, a line each."""
    src, out, *words = sys.argv[1:]
    logging.basicConfig(format="outgrow: %(message)s")
    warnings.showwarning = lambda message, *_: print("outgrow:", message, file=sys.stderr)
    options = dict(word.removeprefix("--").split("=", 1) for word in words)
    try:
        nodes, edges = tables_in(src)
        columns = {}
        if "id-columns" in options:
            columns["src"], columns["dst"] = options.pop("id-columns").split(",")
        _tables.import_tables(out, nodes=nodes, edges=edges, columns=columns, **options)
    except (Error, OSError, ValueError) as error:
        print(getattr(error, "message", None) or " ".join(str(error).split()), getattr(error, "hint", ""), sep="\n")
        sys.exit(1)
