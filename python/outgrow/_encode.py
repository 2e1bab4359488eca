"""Columns of tables as features: numbers, dates as days, and a column for each of few texts. What is missing has a column of its own."""
import numpy as np

from ._errors import OptionError, warn

MOST_WORDS = 32  # different texts of a column


def present(column):
    """Which rows have a value."""
    n = len(column)
    valid = np.ones(n, bool) if column.valid is None else column.valid.reshape(n, -1).all(1)
    if not column.is_text and column.values.dtype.kind == "M":
        valid = valid & ~np.isnat(column.values)
    elif not column.is_text and column.values.dtype.kind == "f" and column.values.ndim == 1:
        valid = valid & ~np.isnan(column.values)
    return valid


class Number:
    """A number, or the days of a date. A missing one is NaN, which --standardize makes the mean."""

    def __init__(self, name):
        self.name, self.missing = name, False

    def put(self, column):
        valid, values = present(column), column.values
        if values.dtype.kind == "M":
            values = values.astype("datetime64[s]").astype(np.int64) / 86400
        self.missing |= not valid.all()
        return np.where(valid, values, np.nan)[:, None]

    def names(self, theirs):
        return [self.name, *([f"{self.name} is missing"] if self.missing or f"{self.name} is missing" in theirs else [])]

    def features(self, rows, theirs):
        return [rows, *([np.isnan(rows)] if len(self.names(theirs)) > 1 else [])]


class Words:
    """A column for each text, in the order of their bytes. A missing one has 0 in all. Rows are numbers of texts until all are known."""

    def __init__(self, name):
        self.name, self.number = name, {}

    def put(self, column):
        ends, data = column.offsets.tolist(), column.data.tobytes()
        out = np.full((len(column), 1), np.nan)
        for i in np.flatnonzero(present(column)):
            out[i] = self.number.setdefault(data[ends[i]:ends[i + 1]], len(self.number))
            if len(self.number) > MOST_WORDS:
                return None
        return out

    def words(self, theirs):
        begin = f"{self.name}="
        return [name[len(begin):].encode() for name in theirs if name.startswith(begin)] or sorted(self.number)

    def names(self, theirs):
        words = self.words(theirs)
        if new := [word.decode(errors="replace") for word in sorted(self.number) if word not in words]:
            warn(f"column {self.name}: texts that the other dataset does not have, and which count as missing: {', '.join(new)}")
        return [f"{self.name}={word.decode(errors='replace')}" for word in words]

    def features(self, rows, theirs):
        return [rows == np.array([self.number.get(word, -1) for word in self.words(theirs)], float)]


class Listed:
    """Lists of numbers of one length."""

    def __init__(self, name):
        self.name, self.width = name, None

    def put(self, column):
        self.width = self.width or column.values.shape[1]
        if column.values.shape[1] != self.width:
            return None
        return column.values if column.valid is None else np.where(column.valid, column.values, np.nan)

    def names(self, theirs):
        return names_of(self.name, self.width)

    def features(self, rows, theirs):
        return [rows]


def names_of(name, width):
    return [f"{name}[{i}]" for i in range(width)]


class Encoder:
    """The columns that a table's first batch has. `theirs`: names of another dataset's features, or ()."""

    def __init__(self, batch, names, what, theirs):
        self.what, self.theirs = what, theirs
        self.of = [(Words if batch[name].is_text else Listed if batch[name].values.ndim > 1 else Number)(name) for name in names]
        self.widths = [1 if batch[name].is_text or batch[name].values.ndim == 1 else batch[name].values.shape[1] for name in names]
        narrow = all(batch[name].is_text or batch[name].values.dtype.kind in "biuf" and np.result_type(batch[name].values.dtype, np.float32) == np.float32 for name in names)
        self.dtype, self.left = np.float32 if narrow else np.float64, []

    def rows(self, batch):
        """Numbers of a batch, until all is known."""
        out = []
        for of, width in zip(self.of, self.widths):
            found = None if of in self.left or batch[of.name].why else of.put(batch[of.name])
            if found is None:
                self.left += [] if of in self.left else [of]
                found = np.zeros((len(batch[of.name]), width))
            out.append(found.astype(self.dtype, copy=False))
        return np.concatenate(out, 1)

    def close(self):
        """Call when all rows are known: sets the names of the features."""
        if self.left:
            warn(f"{self.what}: columns that are not read: {', '.join(of.name for of in self.left)} (texts of more than {MOST_WORDS} values)")
        own = [name for of in self.of if of not in self.left for name in of.names(self.theirs)]
        if twice := [name for name in own if own.count(name) > 1]:
            raise OptionError(f"{self.what}: two features are called {twice[0]}", "rename a column, or leave one out")
        self.names = list(self.theirs) or own
        at = {name: i for i, name in enumerate(own)}
        self.places = [at.get(name, -1) for name in self.names]
        absent = [name for name in self.names if name not in at]
        if absent and any(" is missing" not in name for name in absent):
            raise OptionError(f"{self.what}: no column for {next(name for name in absent if ' is missing' not in name)}, which the other dataset has", f"its features are {', '.join(own)}")
        if more := [name for name in own if name not in self.names]:
            warn(f"{self.what}: features that the other dataset does not have: {', '.join(more)}")

    def features(self, rows):
        """Pieces of rows as pieces of features."""
        firsts = np.cumsum([0, *self.widths])
        for piece in rows:
            parts = [part for of, first, width in zip(self.of, firsts, self.widths) if of not in self.left for part in of.features(piece[:, first:first + width], self.theirs)]
            own = np.concatenate([*parts, np.zeros((len(piece), 1))], 1)  # place -1
            yield own[:, self.places].astype(self.dtype, copy=False)
