"""Databases as RelBench stores them. A table is a type of nodes, a foreign key a relation and its reverse. A row of a task is a node to learn."""
import glob
import json
import os

import numpy as np

from ._arrow import Column, batches
from ._encode import present
from ._errors import Error, FileError, OptionError, warn
from ._names import text_column
from ._tables import OF_NODES, import_tables

SPLITS = {"train": "train", "val": "valid", "test": "test"}


# ---- tables ----

class Table:
    """A table with its keys: of a Parquet file, or an object that has a data frame."""

    def __init__(self, name, source):
        self.name, self.path, self.words = name, os.fspath(source) if isinstance(source, (str, os.PathLike)) else None, False
        if self.path:
            about = parquet(self.path).schema_arrow.metadata or {}
            try:
                self.fkeys, self.pkey, self.time = (json.loads(about[key]) for key in (b"fkey_col_to_pkey_table", b"pkey_col", b"time_col"))
            except (KeyError, ValueError):
                raise FileError(f"{self.path}: no keys in its metadata", "fkey_col_to_pkey_table, pkey_col and time_col, as relbench.base.Table.save writes them") from None
        else:
            keys = "df", "fkey_col_to_pkey_table", "pkey_col", "time_col"
            if lacking := [key for key in keys if not hasattr(source, key)]:
                raise OptionError(f"table {name}: {type(source).__name__}, without {lacking[0]}", "give a relbench.base.Table, or the path of a .parquet file that its save wrote")
            self.df, self.fkeys, self.pkey, self.time = (getattr(source, key) for key in keys)
        self.what = self.path or f"table {name}"
        self.keys = [key for key in (self.pkey, self.time, *self.fkeys) if key is not None]
        names = parquet(self.path).schema_arrow.names if self.path else list(self.df)
        self.rest = [key for key in names if key not in self.keys]
        if lost := [key for key in self.keys if key not in names]:
            raise OptionError(f"{self.what}: no column {lost[0]}, which its metadata names", f"its columns are {', '.join(map(str, names))}")

    def batches(self, columns):
        """Yield the first row's number, the number of rows, and {name: Column} of these columns."""
        first = 0
        columns = list(dict.fromkeys(columns))
        if self.path:
            import pyarrow
            file = parquet(self.path)
            table = pyarrow.RecordBatchReader.from_batches(pyarrow.schema([file.schema_arrow.field(name) for name in columns]), file.iter_batches(1 << 16, columns=columns))
        else:
            table = self.df[columns]
        for batch in batches(table, self.what):
            n = len(next(iter(batch.values())))
            yield first, n, batch
            first += n

    def ids(self, first, n, batch):
        if self.pkey is not None:
            return key_of(batch[self.pkey], f"{self.what}: column {self.pkey}", self.words)
        return key_of(Column(np.arange(first, first + n)), self.what, self.words)

    def id_columns(self):
        """Columns that number the rows: the key, or any other."""
        return [self.pkey if self.pkey is not None else (self.keys or self.rest)[0]]

    def times(self, batch):
        column = batch[self.time]
        what = f"{self.what}: column {self.time}"
        if column.why or column.is_text:
            raise OptionError(f"{what}: no times", "store timestamps, or whole numbers")
        if not (valid := present(column)).all():
            raise OptionError(f"{what}: row {int(np.argmin(valid))} of a batch has no time", "leave such rows out, or give them the time from which on they are known")
        return column.values.astype("datetime64[s]").astype(np.int64) if column.values.dtype.kind == "M" else column.values


class Rows:
    """A table as nodes: id, node_time and all columns but keys, of which import_tables makes features."""

    def __init__(self, table):
        self.table, self.id = table, "id"
        while self.id in table.rest:
            self.id += "_"
        self.linked = dict.fromkeys(table.fkeys, 0)
        for _, _, batch in table.batches([*table.id_columns(), *table.fkeys]) if table.fkeys else ():
            for key in table.fkeys:
                if batch[key].why:
                    raise batch[key].why
                self.linked[key] += int(present(batch[key]).sum())
        # What each column is; others have no role, whatever their names are.
        self.columns = dict.fromkeys(OF_NODES[:-1]) | {"id": self.id, "node_time": table.time}

    def column_batches(self):
        of = self.table
        for first, n, batch in of.batches([*of.id_columns(), *([of.time] if of.time is not None else []), *of.rest]):
            out = {self.id: of.ids(first, n, batch)} | {name: batch[name] for name in of.rest}
            if of.time is not None:
                out[of.time] = Column(of.times(batch))
            yield out


class Links:
    """A foreign key as edges, of rows that have one."""

    def __init__(self, table, key, back):
        self.table, self.key, self.ends = table, key, ("dst", "src") if back else ("src", "dst")

    def column_batches(self):
        for first, n, batch in self.table.batches([*self.table.id_columns(), self.key]):
            rows = np.flatnonzero(present(batch[self.key]))
            if len(rows):
                yield dict(zip(self.ends, (self.table.ids(first, n, batch).take(rows), key_of(batch[self.key].take(rows), f"{self.table.what}: column {self.key}", self.table.words))))


class Task:
    """Rows of train, val and test as nodes. Each has a label, and an edge from its entity."""

    def __init__(self, name, tables, target, database):
        self.name, self.tables, first = name, tables, tables["train"]
        self.what = f"task {name}"
        if len(first.fkeys) != 1:
            raise OptionError(f"{self.what}: {len(first.fkeys)} entities a row", "tasks of one entity are read, not recommendation")
        (self.key, self.entity), = first.fkeys.items()
        if self.entity not in database:
            raise OptionError(f"{self.what}: its entity's table {self.entity} is not there", f"tables are {', '.join(database)}")
        if first.time is None:
            raise OptionError(f"{self.what}: no column of times", "name it as time_col")
        if target is None and len(first.rest) != 1:
            raise OptionError(f"{self.what}: columns {', '.join(first.rest) or 'none'} may be the label", f"name it: outgrow.import_(\"relbench\", ..., target=\"{(first.rest or ['NAME'])[-1]}\")")
        self.target = target or first.rest[0]
        if self.target not in first.rest:
            raise OptionError(f"{self.what}: no column {self.target}", f"its columns are {', '.join(first.rest)}")

    def labels(self, table, batch, n, text):
        if self.target not in table.rest:  # a test whose labels are withheld
            return Column(np.zeros(n), np.zeros(n + 1, np.int64) if text else None, np.zeros(0, np.uint8), np.zeros(n, bool))
        column = batch[self.target]
        if column.why or not column.is_text and column.values.dtype.kind not in "biuf":
            raise OptionError(f"{table.what}: column {self.target}: no labels", "store numbers or texts")
        return column

    def read(self, columns):
        """Yield the split, its table, the number of the first row among all, and a batch."""
        before = 0
        for split, table in self.tables.items():
            rows = 0
            for first, n, batch in table.batches([*table.keys, *(name for name in columns if name in table.rest)]):
                yield split, table, before + first, n, batch
                rows = first + n
            before += rows

    def ids(self, first, n):
        return key_of(Column(np.arange(first, first + n)), self.what, self.tables["train"].words)

    def column_batches(self):
        text = False
        for split, table, first, n, batch in self.read([self.target]):
            label = self.labels(table, batch, n, text)
            text = label.is_text
            yield {"id": self.ids(first, n), "node_time": Column(table.times(batch)), "x": Column(np.ones((n, 1), np.float32)), "label": label,
                   "split": text_column(np.full(n, SPLITS[split], object), self.what)}

    def is_of_values(self):
        """Whether labels are floats in train, or fractions in another split."""
        for split, table, _, n, batch in self.read([self.target]):
            label = self.labels(table, batch, n, False)
            if not label.is_text and label.values.dtype.kind == "f" and (split == "train" or (label.values[np.isfinite(label.values)] % 1).any()):
                return True
        return False


class Asked:
    """The edge from its entity to each row of a task."""

    def __init__(self, task):
        self.task = task

    def column_batches(self):
        for _, table, first, n, batch in self.task.read([]):
            column = batch[self.task.key]
            if not present(column).all():
                raise OptionError(f"{table.what}: column {self.task.key}: a row without its entity", "leave it out")
            yield {"src": key_of(column, table.what, table.words), "dst": self.task.ids(first, n)}


# ---- keys ----

def key_of(column, what, words):
    """Ids, of numbers that a data frame made floats to have room for missing ones. `words`: as texts."""
    if column.why:
        raise OptionError(f"{what}: a key of a kind that is no id", "give texts or whole numbers")
    if column.is_text or column.values.dtype.kind not in "iuf":
        return column
    values = column.values
    if values.dtype.kind == "f":
        if (wrong := ~(np.abs(values) < 2.0 ** 53) | (values != np.rint(values))).any():
            raise OptionError(f"{what}: {values[wrong][0]}: no id", "give texts or whole numbers")
        values = values.astype(np.int64)
    if not words:
        return Column(values, valid=column.valid)
    found = text_column(values.astype(str).astype(object), what)
    return Column(None, found.offsets, found.data, column.valid)


# ---- files ----

def parquet(path):
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Error(f"{path}: pyarrow is not installed", "pip install pyarrow") from None
    try:
        return pyarrow.parquet.ParquetFile(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise FileError(f"{path}: {' '.join(str(error).split())}", "give a Parquet file") from error


def database_of(src):
    """{name: Table} of a folder of .parquet files, or of an object with table_dict."""
    if hasattr(src, "table_dict"):
        found = dict(src.table_dict)
    else:
        found = {os.path.basename(path)[:-8]: path for path in sorted(glob.glob(f"{glob.escape(os.fspath(src))}/*.parquet"))}
    tables = {name: Table(name, source) for name, source in found.items()}
    if not tables:
        raise FileError(f"{src}: no .parquet files", "give the folder db of a RelBench dataset, or a relbench.base.Database")
    for table in tables.values():
        for key, parent in table.fkeys.items():
            if parent not in tables:
                raise OptionError(f"{table.what}: column {key} is of a table {parent}, which is not there", f"tables are {', '.join(tables)}")
            if tables[parent].pkey is None:
                raise OptionError(f"{table.what}: column {key} is of {parent}, which has no primary key", "name it as pkey_col")
    return tables


def task_of(task, target, database):
    if hasattr(task, "get_table"):
        name, found = getattr(task, "name", None) or "task", {split: task.get_table(split, mask_input_cols=False) for split in SPLITS}
    elif hasattr(task, "items"):
        name, found = "task", dict(task)
    else:
        task = os.fspath(task)
        name, found = os.path.basename(os.path.abspath(task)), {split: f"{task}/{split}.parquet" for split in SPLITS if os.path.exists(f"{task}/{split}.parquet")}
    if "train" not in found or any(split not in SPLITS for split in found):
        raise OptionError(f"task {name}: {', '.join(map(str, found)) or 'no tables'}", "give train, val and test")
    if name in database:
        raise OptionError(f"task {name}: a table has this name", "call the task otherwise")
    return Task(name, {split: Table(f"{name}/{split}", found[split]) for split in SPLITS if split in found}, target, database)


def places(src, task):
    """The folder of tables and that of the task, from any folder of a dataset."""
    if hasattr(src, "table_dict"):
        return src, task
    if not isinstance(src, (str, os.PathLike)):
        raise OptionError(f"{type(src).__name__}, no database", "give the folder of a RelBench dataset, or a relbench.base.Database")
    src = os.fspath(src)
    if task is None and os.path.exists(f"{src}/train.parquet"):
        return f"{src}/../../db", src
    src = f"{src}/db" if os.path.isdir(f"{src}/db") else src
    if isinstance(task, str) and not os.path.isdir(task) and os.path.isdir(f"{src}/../tasks/{task}"):
        task = f"{src}/../tasks/{task}"
    return src, task


def import_database(src, out, progress, task=None, target=None, regression=None, **options):
    src, task = places(src, task)
    tables = database_of(src)
    task = task_of(task, target, tables) if task is not None else None
    every = [*tables.values(), *(task.tables.values() if task else ())]
    nodes = {name: Rows(table) for name, table in tables.items()}
    words = any(table.pkey is not None and next((batch[table.pkey].is_text for _, _, batch in table.batches([table.pkey])), False) for table in tables.values())
    for table in every:
        table.words = words
    edges = {}
    for name, table in tables.items():
        for key, parent in table.fkeys.items():
            if nodes[name].linked[key]:
                edges[name, f"f2p_{key}", parent], edges[parent, f"rev_f2p_{key}", name] = Links(table, key, False), Links(table, key, True)
            else:
                warn(f"{table.what}: column {key}: no row has this key")
    columns = {name: rows.columns for name, rows in nodes.items()}
    if task:
        nodes = {task.name: task, **nodes}
        edges[task.entity, "entity", task.name] = Asked(task)
        regression = task.is_of_values() if regression is None else regression
    return import_tables(out, nodes=nodes, edges=edges, columns=columns, regression=bool(regression), progress=progress, **{"standardize": not options.get("drop_features")} | options)
