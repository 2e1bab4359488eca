"""What `outgrow import` and `predict` run: Parquet, and layouts that Python reads."""
import contextlib
import csv
import fnmatch
import glob
import logging
import os
import re
import sys
import warnings

from . import _tables
from ._errors import Error, FileError, OptionError, warn
from ._layouts import door_of
from ._meta import meta_of, said_by
from ._names import as_option, memory_of, part_of
from ._options import text_of


class File:
    """A Parquet file by pyarrow, which may be read again."""

    def __init__(self, path):
        import pyarrow.parquet
        self.path, self.columns = path, pyarrow.parquet.read_schema(path).names

    def __arrow_c_stream__(self, requested_schema=None):
        import pyarrow
        file = pyarrow.parquet.ParquetFile(self.path)
        return pyarrow.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(batch_size=1 << 16)).__arrow_c_stream__()


def table_of(path):
    """A Parquet file through the first library that is installed."""
    try:
        return File(path)
    except ImportError:
        pass
    except (OSError, ValueError) as why:
        raise FileError(f"{path}: {' '.join(str(why).split())}", "is the file complete, and Parquet?") from why
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
    if not typed and "edges" not in files:
        raise FileError(f"{src}: no edges.parquet", "name the table of edges so, or give its file")
    if typed:
        return {name: table_of(path) for name, path in nodes.items()}, {relation: table_of(path) for relation, path in typed.items()}
    return table_of(files["nodes"]) if "nodes" in files else None, table_of(files["edges"])


def expanded(names, columns, edges):
    """Names of columns. An asterisk stands for anything but an id, a weight, a time and a label: they are left out, and named once."""
    every = list(dict.fromkeys(name for table in edges.values() for name in table.columns))
    roles = [role for role in ("id", "weight", "label", "edge_time") if role not in columns]
    ends = {name for name in every if any(name.lower() in of[role] for of in (_tables.KNOWN, _tables.LESS_USUAL) for role in _tables.ENDS) or name in [of for role, of in columns.items() if role[:3] in _tables.ENDS]}
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


def by_tables(tables, given, role, option):
    """columns of import_tables: each name is of the tables that have it, of one at least."""
    columns = {}
    for name in given.split(","):
        having = [key for key, table in tables.items() if name in table.columns]
        if not having:
            every = list(dict.fromkeys(column for table in tables.values() for column in table.columns))
            raise OptionError(f"{option}: no column {name}", f"columns are {', '.join(every)}" if tables else "SRC is a folder with nodes.parquet and edges.parquet")
        for key in having:
            if role in columns.setdefault(key, {}):
                raise OptionError(f"{option}: columns {columns[key][role]} and {name} of one table", "name one of them")
            columns[key][role] = name
    return columns


OF_COLUMNS = "columns", "id_columns", "node_id", "node_label", "edge_time", "edge_features", "weight_column"


def columns_of(nodes, edges, options):
    """columns of import_tables, from the options of edge lists and nodes.csv, as texts."""
    typed = isinstance(edges, dict)
    ends, things = edges if typed else {None: edges}, (nodes if typed else {None: nodes} if nodes is not None else {})
    columns, all_of = {}, {}

    def add(tables, name, role, option):
        for key, of in by_tables(tables, name, role, option).items():
            (columns if key is None else columns.setdefault(key, {})).update(of)
    if names := options.get("columns"):
        raise OptionError("--columns: Parquet files name their columns", f"give --id-columns {','.join(names.split(',')[:2])}" if "," in names else "leave it out")
    if pair := options.get("id_columns"):
        if pair.count(",") != 1:
            raise OptionError(f"--id-columns: '{pair}'", "give two names: --id-columns SRC,DST")
        for role, name in zip(_tables.ENDS, pair.split(",")):
            add(ends, name, role, "--id-columns")
    for option, role in ("node_id", "id"), ("node_label", "label"):
        if option in options:
            add(things, options[option], role, f"--{option.replace('_', '-')}")
    if "edge_time" in options:
        all_of["edge_time"] = options["edge_time"]
    if (number := options.get("weight_column")) is not None:
        names = [] if typed else edges.columns
        if number != "0" and not (number.isdigit() and int(number) <= len(names)):
            raise OptionError(f"--weight-column: {number}", "call the column weight, or give --weight-column 0 to leave weights out")
        all_of["weight"] = names[int(number) - 1] if number != "0" else None
    if "edge_features" in options:
        own = {f"{role} {key}": of[role] for key, of in [(None, columns), *columns.items()] if isinstance(of, dict) for role in _tables.ENDS if role in of}
        all_of["edge_features"] = expanded(options["edge_features"].split(","), own | all_of, ends)
    return columns | all_of


def import_parquet(src, out, progress, **options):
    given = {name: text_of(name, options.pop(name)) for name in OF_COLUMNS if options.get(name) is not None}
    nodes, edges = tables_in(src)
    return _tables.import_tables(out, nodes=nodes, edges=edges, columns=columns_of(nodes, edges, given), progress=progress, **options)


IN_PYTHON = re.compile(r'columns=\{(?:("[^"]*"|\([^()]*\)): \{)?"(\w+)": (?:"([^"]*)"|\.\.\.)\}?\}')
OPTION_OF = {"id": "--node-id NAME", "label": "--node-label NAME", "src": "--id-columns SRC,DST", "dst": "--id-columns SRC,DST", "edge_time": "--edge-time NAME"}


def in_command(text):
    """The text with arguments of Python as options of the command."""
    def option(match):
        shown = OPTION_OF.get(match[2], "another name for the column, in the file")
        return shown.replace("NAME", match[3]) if match[3] else shown
    text = text.replace(', or number the rows: reset_index(names="id")', "")
    return re.sub(r"(outgrow\.import_tables\(\.\.\., )?\bregression=True(?(1)\)?)", "outgrow.import_tables(..., regression=True) in Python",
                  re.sub(r"\bstandardize=True", "--standardize", re.sub(r'\bsplit="([^"]*)"', r"--split \1", re.sub(r"\bsymmetrize=True", "--symmetrize", IN_PYTHON.sub(option, text)))))


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
        columns = [name for name in file.schema_arrow.names if not name.startswith("__index_level_")]  # those of pandas' index
        schema = pyarrow.schema([file.schema_arrow.field(name) for name in columns])
        with pyarrow.csv.CSVWriter(out, schema) as writer:
            for batch in file.iter_batches(columns=columns):
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

def held(src):
    """Bytes of this process, and of twice the largest row group."""
    import pyarrow.parquet
    paths = glob.glob(f"{glob.escape(src)}/*.parquet") if os.path.isdir(src) else [src]
    groups = [found.row_group(i).total_byte_size for found in map(pyarrow.parquet.read_metadata, paths) for i in range(found.num_row_groups)]
    with open("/proc/self/status") as status:
        own = next((int(line.split()[1]) for line in status if line.startswith("RssAnon")), 0)
    return (own << 10) + 2 * max(groups, default=0)


def without_held(memory, src):
    """Bytes of --memory that are left for the import, half at least."""
    size = memory_of({"memory": memory})
    try:
        import pyarrow
        return max(size - held(src), size // 2)
    except (ImportError, OSError, ValueError, pyarrow.ArrowException):
        return size


def main():
    """FORMAT SRC OUT [--option=value ...]; FORMAT "" is by the files. An error goes to the output, as a message and a hint, a line each."""
    format, src, out, *words = sys.argv[1:]
    logging.basicConfig(format="outgrow: %(message)s")
    warnings.showwarning = lambda message, *_: print("outgrow:", in_command(str(message)), file=sys.stderr)
    options = dict(word.removeprefix("--").split("=", 1) for word in words)
    try:
        door = door_of(format or None, src) or import_parquet
        options = {key.replace("-", "_"): value for key, value in options.items()}
        whole = memory_of(options)
        left = without_held(options["memory"], src) if door is import_parquet and "memory" in options else whole
        with part_of(whole, left):
            door(src, out, False, **options | ({"memory": as_option(left)} if left < whole else {}))
    except (AttributeError, LookupError, TypeError) as error:
        print(f"{src}: {type(error).__name__}: {' '.join(str(error).split())}", "are these files as their authors publish them? Otherwise this is an error of outgrow", sep="\n")
        sys.exit(1)
    except (Error, OSError, ValueError) as error:
        print(*map(in_command, (getattr(error, "message", None) or " ".join(str(error).split()), getattr(error, "hint", ""))), sep="\n")
        sys.exit(1)
