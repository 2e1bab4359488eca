"""Sparse rows (docs/reference/formats.md). From the bytes of a dataset to CSR, and CSR arrays to the files of an import."""
import os
import typing
from collections.abc import Mapping

import numpy as np

from ._errors import OptionError
from ._meta import meta_of, type_ranges

VALUES = {"f32": "<f4", "f16": "<f2", "bf16": "<u2", "u8": "<u1"}


class CSR(typing.NamedTuple):
    """Rows with few entries: those of row i are columns indices[indptr[i]:indptr[i + 1]], ascending, and values data[...]."""
    indptr: typing.Any
    indices: typing.Any
    data: typing.Any
    shape: typing.Tuple[int, int]

    @property
    def dtype(self):
        return str(self.data.dtype)

    def tensor(self, torch):
        """The same as torch.sparse_csr."""
        return torch.sparse_csr_tensor(*map(torch.from_numpy, self[:3]), size=self.shape)

    def rows(self, at):
        """Rows at [n], in this order, as CSR."""
        n = np.diff(self.indptr)[at]
        indptr = np.concatenate([[0], np.cumsum(n)])
        place = np.arange(indptr[-1]) - np.repeat(indptr[:-1] - self.indptr[:-1][at], n)
        return CSR(indptr, self.indices[place], self.data[place], (len(at), self.shape[1]))

    def dense(self):
        out = np.zeros(self.shape, np.float32)
        out[np.repeat(np.arange(self.shape[0]), np.diff(self.indptr)), self.indices] = self.data
        return out


class Form:
    """The form of a type's rows, and the entries that have no room in them."""

    def __init__(self, dataset, about, suffix):
        self.columns, self.room, self.dtype = about["feature_dim"], about["feature_entries"], about["feature_dtype"]
        self.column = np.dtype("<u2" if self.columns <= 65536 else "<u4")
        path = os.path.join(dataset, f"feature_rest{suffix}.npy")
        rest = np.load(path, mmap_mode="r") if os.path.exists(path) else np.empty(0, np.uint8)
        each = self.column.itemsize + (0 if self.dtype == "one" else np.dtype(VALUES[self.dtype]).itemsize)
        split = len(rest) // each * self.column.itemsize
        self.rest = rest[:split].view(self.column), rest[split:] if self.dtype == "one" else rest[split:].view(VALUES[self.dtype])

    def values(self, data):
        """Stored values as float32."""
        data = np.asarray(data).view(VALUES[self.dtype])
        return (data.astype("<u4") << 16).view("<f4") if self.dtype == "bf16" else data.astype(np.float32)

    def csr(self, rows):
        """Rows [n, bytes], as a dataset has them, as CSR."""
        rows = np.ascontiguousarray(rows)
        head = rows[:, :8].copy().view("<u4").astype(np.int64)
        n, at = head[:, 0], head[:, 1]
        end = 8 + self.room * self.column.itemsize
        columns = rows[:, 8:end].copy().view(self.column)
        indptr = np.concatenate([[0], np.cumsum(n)])
        place = np.arange(indptr[-1]) - np.repeat(indptr[:-1], n)
        row = np.repeat(np.arange(len(rows)), n)
        more = place >= self.room
        beyond = np.repeat(at, n)[more] + place[more] - self.room
        here = row[~more], place[~more]
        indices, data = np.empty(len(place), np.int64), np.ones(len(place), np.float32)
        indices[~more], indices[more] = columns[here], self.rest[0][beyond]
        if self.dtype != "one":
            data[~more] = self.values(rows[:, end:].copy().reshape(-1)).reshape(len(rows), self.room)[here]
            data[more] = self.values(self.rest[1][beyond])
        return CSR(indptr, indices, data, (len(rows), self.columns))


def forms_of(dataset):
    """{type: Form} of those whose rows are sparse; that of a homogeneous graph is None."""
    about = meta_of(dataset)
    if not type_ranges(about):
        return {None: Form(dataset, about, "")} if "feature_entries" in about else {}
    return {of["name"]: Form(dataset, of, f"_{t}") for t, of in enumerate(about["node_types"]) if "feature_entries" in of}


class SparseBatch:
    """A batch of the extension whose x are CSR."""

    def __init__(self, batch, forms):
        self._batch, self._forms = batch, forms

    def __getattr__(self, name):
        return getattr(self._batch, name)

    def _csr(self, name, x):
        return x if x is None or name not in self._forms else self._forms[name].csr(np.asarray(x))

    @property
    def x(self):
        return self._csr(None, self._batch.x)

    @property
    def types(self):
        types = self._batch.types
        return types and tuple((name, n, ids, self._csr(name, x), tree) for name, n, ids, x, tree in types)


def with_sparse(dataset, form):
    """The form, of batches with sparse rows where the dataset has them."""
    forms = forms_of(dataset)
    return (lambda batch: form(SparseBatch(batch, forms))) if forms else form


# ---- writing ----

def is_csr(value):
    """CSR, torch.sparse_csr, or a csr_matrix or csr_array of SciPy."""
    return isinstance(value, CSR) or str(getattr(value, "layout", "")) == "torch.sparse_csr" or (getattr(value, "format", "") == "csr" and hasattr(value, "indptr"))


def of_libraries(value, name):
    """Columns of pandas and Polars as arrays, sparse matrices of x as CSR; also by types."""
    if isinstance(value, Mapping) and not hasattr(value, "tocsr"):  # one of SciPy's matrices is both
        return {key: of_libraries(part, name) for key, part in value.items()}
    if name == "edge_index" and len(getattr(value, "columns", ())) == 2 and all(isinstance(column, str) for column in value.columns):
        src, dst = value.columns
        raise OptionError("edge_index: a table with a row an edge", f"give its columns: edge_index=(table[{src!r}], table[{dst!r}])")
    if hasattr(value, "to_numpy"):
        return value.to_numpy()
    if hasattr(value, "tocsr") or str(getattr(value, "layout", "")) in ("torch.sparse_coo", "torch.sparse_csc"):
        if name != "x":
            raise OptionError(f"{name}: a sparse matrix", "give its entries: a = m.tocoo(), edge_index=numpy.stack([a.row, a.col]), edge_weight=a.data"
                              if name == "edge_index" else "give an array")
        return value.tocsr() if hasattr(value, "tocsr") else csr_of(value) if "coo" in str(value.layout) else value.to_sparse_csr()
    return value


def csr_of(value):
    """A torch.sparse_coo as CSR; PyTorch's own conversion warns of its age."""
    if (value.sparse_dim(), value.dense_dim()) != (2, 0):
        raise OptionError(f"x: sparse in {value.sparse_dim()} of {value.dim()} dimensions", "give a matrix [N, F]")
    value = value.detach().cpu().coalesce()
    row, column = value.indices().numpy()
    values = value.values().float() if str(value.dtype) == "torch.bfloat16" else value.values()
    return CSR(np.append(0, np.cumsum(np.bincount(row, minlength=value.shape[0]))), column, values.numpy(), tuple(value.shape))


def save_csr(prefix, value, name):
    """Write <prefix>_indptr.npy, _indices.npy, _data.npy and _shape.npy; returns the number of rows."""
    if hasattr(value, "indptr"):
        parts = value.indptr, value.indices, value.data
    else:
        value = value.detach().cpu()
        values = value.values().float() if str(value.dtype) == "torch.bfloat16" else value.values()
        parts = value.crow_indices().numpy(), value.col_indices().numpy(), values.numpy()
    if len(value.shape) != 2 or parts[2].ndim != 1:
        raise OptionError(f"{name}: {list(value.shape)}", "give a matrix [N, F]")
    for part, data in zip(("indptr", "indices", "data", "shape"), (*parts, np.array(value.shape, np.int64))):
        np.save(f"{prefix}_{part}.npy", data.astype(np.uint8) if data.dtype == bool else data)
    return int(value.shape[0])
