"""A dataset as PyTorch Geometric's FeatureStore and GraphStore, for other samplers than Outgrow's."""
import itertools
import os
import typing

import numpy as np

from ._arrays import native
from ._errors import FileError, OptionError, UnsupportedError
from ._forms import import_for
from ._meta import meta_of, relation_names, type_ranges
from ._options import folder_of
from ._sparse import forms_of

NODE = "node"
EDGE = (NODE, "to", NODE)
SPLITS = "train", "valid", "test"
MASKS = "train_mask", "val_mask", "test_mask"
SCALED = "i8", "e4m3"  # types of features with a scale per column


def mapped(path, mode="r"):
    """Maps a .npy file; one without elements, which cannot be mapped, is read."""
    try:
        return np.load(path, mmap_mode=mode)
    except ValueError:
        if (array := np.load(path)).size:
            raise
        return array


def array_in(dataset, name, about, mode="r"):
    """Map an array of a dataset, in its folder or at meta.json's path (docs/reference/formats.md). With mode "c" what is written stays in memory."""
    entry = about.get("files", {}).get(name, {})
    path = os.path.join(dataset, entry.get("path", f"{name}.npy"))
    try:
        if "dtype" in entry:
            return np.memmap(path, entry["dtype"], mode, entry.get("offset", 0), tuple(entry["shape"]))
        return mapped(path, mode)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}", "`outgrow verify` checks a dataset", -(error.errno or 0)) from error


def is_there(dataset, name, about):
    return name in about.get("files", {}) or os.path.exists(os.path.join(dataset, f"{name}.npy"))


def files_of(about):
    """{relation: what its files' names begin with}"""
    return {relation: f"rel{r}_" for r, relation in enumerate(relation_names(about))} or {EDGE: ""}


def weights_of(dataset, about):
    """{relation: weights of its edges, in the order of the dataset}, where there are any."""
    return {relation: array_in(dataset, f"{prefix}weights", about) for relation, prefix in files_of(about).items() if is_there(dataset, f"{prefix}weights", about)}


def edge_features_of(dataset, about, mode="r"):
    """{relation: Part of its edges, in the order of the dataset}, where they have features, as its "x"."""
    said = about.get("relations") or [about]
    arrays = {relation: array_in(dataset, f"{prefix}edge_features", about, mode) for relation, prefix in files_of(about).items()
              if is_there(dataset, f"{prefix}edge_features", about)}
    return {relation: Part(len(arrays[relation]), arrays[relation], None, of.get("edge_feature_dtype"))
            for relation, of in zip(files_of(about), said) if relation in arrays}


def index_of(torch, index):
    return index.numpy() if isinstance(index, torch.Tensor) else index


def values_of_e4m3():
    """float32 [256]: the value of each byte."""
    byte = np.arange(127)
    exponent, mantissa = byte >> 3, byte & 7
    value = np.append(np.where(exponent == 0, np.ldexp(mantissa, -9), np.ldexp(8 + mantissa, exponent - 10)), np.nan).astype(np.float32)
    return np.concatenate([value, -value])


def widened(got, dtype, scale):
    """The floats of rows whose columns have scales, as in Outgrow's loaders."""
    return (got.astype(np.float32) if dtype == "i8" else values_of_e4m3()[got]) * scale


class Part:
    """Nodes of one type: their number, and arrays by PyTorch Geometric's name."""

    def __init__(self, n, x, y, dtype, scale=None):
        self.n, self.dtype, self.bf16 = n, dtype, dtype == "bf16"
        self.scale = scale if dtype in SCALED else None
        self.form = None
        self.arrays = {name: array for name, array in (("x", x), ("y", y)) if array is not None}

    def rows(self, torch, name, index):
        """Copy rows, since the file must not be written to. Sparse ones become dense."""
        if self.form is not None and name == "x":
            rows = self.arrays[name]
            return torch.from_numpy(self.form.csr(np.atleast_2d(rows if index is None else rows[index_of(torch, index)])).dense())
        return self.tensor(torch, name, np.array(self.arrays[name] if index is None else self.arrays[name][index_of(torch, index)]))

    def tensor(self, torch, name, got):
        if self.scale is not None and name == "x":
            return torch.from_numpy(widened(got, self.dtype, self.scale))
        return torch.from_numpy(got.view(np.int16)).view(torch.bfloat16) if self.bf16 and name == "x" else torch.from_numpy(got)


def labelled_types(dataset, about, ranges):
    """Those of the splits. Without any: the first type with a known label."""
    splits = [array_in(dataset, split, about) for split in SPLITS if is_there(dataset, split, about)]
    names, ends = list(ranges), [end for _, end in ranges.values()]
    if any(len(ids) for ids in splits):
        return {names[t] for ids in splits for t in np.unique(np.searchsorted(ends, ids, side="right"))}
    labels = array_in(dataset, "labels", about)
    if labels.ndim > 1:  # where others have zeros
        return set()
    known = np.isfinite if labels.dtype.kind == "f" else lambda rows: rows >= 0
    return {next((name for name, (first, end) in ranges.items() if known(labels[first:end]).any()), None)}


def parts_of(dataset, about, mode="r"):
    """{type: Part}, with the labels of some types."""
    def rows(name, wanted=True):
        return array_in(dataset, name, about, mode) if wanted else None

    def scales(name):
        return np.array(array_in(dataset, name, about)) if is_there(dataset, name, about) else None
    ranges = type_ranges(about)
    if not ranges:
        part = Part(about["num_nodes"], rows("features"), rows("labels", is_there(dataset, "labels", about)), about.get("feature_dtype"), scales("feature_scales"))
        part.form = forms_of(dataset).get(None)
        return {NODE: part}
    labelled = labelled_types(dataset, about, ranges) if is_there(dataset, "labels", about) else ()
    parts = {}
    for t, (of, (name, (first, end))) in enumerate(zip(about["node_types"], ranges.items())):
        y = rows("labels")[first:end] if name in labelled else None
        parts[name] = part = Part(end - first, rows(f"features_{t}", of.get("feature_dim", 0) > 0), y, of.get("feature_dtype"), scales(f"feature_scales_{t}"))
        part.form = forms_of(dataset).get(name)
    return parts


class Untyped(dict):
    """The order of edges of a homogeneous graph, in stores that name its one relation. Samplers of such stores are known by it. A place is an edge's e_id."""

    def __missing__(self, key):
        if not hasattr(key, "dtype"):
            raise KeyError(key)
        return key


class OfTheRelation:
    """An attribute that PyTorch Geometric's NeighborSampler lacks where stores name one relation. With it
    input_nodes=ids makes batches that are Data, where an AttributeError named nothing of that."""

    def __init__(self, name):
        self.name = name

    def __get__(self, sampler, kind=None):
        if sampler is None or not isinstance(vars(sampler).get("perm"), Untyped):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {self.name!r}")
        return next(iter(vars(sampler)[f"{self.name}_dict"].values()))


class Count(int):
    """A number of nodes in stores without a type. Samplers of such stores are known by it."""


class OfTypes:
    """An attribute that the sampler lacks where stores have no type. Seeds with a type are refused by name."""

    def __init__(self, name):
        self.name = name

    def __get__(self, sampler, kind=None):
        if sampler is not None and isinstance(vars(sampler).get("num_nodes"), Count):
            raise OptionError("input_nodes: of a type, and stores with homogeneous=True have none", "give ids alone, or open outgrow.stores(path)")
        raise AttributeError(f"{kind.__name__!r} object has no attribute {self.name!r}")


def teach_samplers():
    """The stores do not see whether seeds have a type, but samplers do."""
    kind = import_for("stores", "torch_geometric.sampler").NeighborSampler
    for attribute in OfTheRelation("colptr"), OfTheRelation("row"), OfTypes("colptr_dict"), OfTypes("row_dict"):
        if not hasattr(kind, attribute.name):
            setattr(kind, attribute.name, attribute)


def refuse(*_):
    raise UnsupportedError("stores: a dataset is read only", "write another one: outgrow.write")


class Served(typing.NamedTuple):
    """An attribute: the shape of all rows, and a function that copies rows at places or all."""
    shape: tuple
    rows: typing.Callable


def of_array(torch, value, dim=0, order=None):
    """Rows of an array along a dimension. `order`: which of them each is."""
    def rows(index):
        index = slice(None) if index is None else index_of(torch, index)
        got = value[(*[slice(None)] * dim, index if order is None else order[index])]
        return got.clone() if isinstance(got, torch.Tensor) else torch.from_numpy(native(np.array(got)))
    return Served(tuple(value.shape), rows)


def of_features(torch, part, of):
    """Rows of x, in the type and shape of the data that was written. `of` is None for a type without nodes."""
    if of is None:
        return of_array(torch, part.features.none(torch))
    known = part.features.dtype
    width = part.features.shape if known else of.arrays["x"].shape[1:] if of.form is None else (of.form.columns,)

    def rows(index):
        got = of.rows(torch, "x", index)
        return got.to(getattr(torch, known)).reshape((*got.shape[:-1], *width)) if known else got
    return Served((of.n, *width), rows)


def served_of(torch, source, about, homogeneous):
    """{(type or relation, name): Served} of all that batches have."""
    out = {}
    for part, of in itertools.zip_longest(source.nodes, parts_of(source.path, about).values()):  # types without nodes come last
        group = None if homogeneous else part.name or NODE
        if part.features:
            out[group, "x"] = of_features(torch, part, of)
        out |= {(group, name): of_array(torch, *value) for name, value in part.attributes.items()}
    for part in source.edges:
        group = part.name or EDGE
        out |= {(group, name): of_array(torch, *value) for name, value in part.by_place.items()}
        out |= {(group, name): of_array(torch, *value, part.lists and part.lists.order) for name, value in part.attributes.items()}
    return out


def features_of(dataset, homogeneous):
    """The feature store, in this process or in one that it was sent to. PyTorch Geometric takes all attributes of a homogeneous one to be of nodes."""
    from ._attributes import source_of_path  # which is built on this module
    torch = import_for("stores", "torch")
    data = import_for("stores", "torch_geometric.data")
    there = served_of(torch, source_of_path(torch, data, dataset), meta_of(dataset), homogeneous)
    listed = [key for key in there if key[1] not in MASKS and not (homogeneous and isinstance(key[0], tuple))]

    class Features(data.FeatureStore):
        _put_tensor = _remove_tensor = refuse

        def __init__(self):
            super().__init__()
            self.__dict__.update(dataset=dataset, named=not homogeneous)

        def __reduce__(self):
            return features_of, (dataset, homogeneous)

        def _served(self, attr):
            if (attr.group_name, attr.attr_name) not in there:
                raise KeyError(f"{attr.group_name}, {attr.attr_name}: the dataset has {', '.join(f'{group}, {name}' for group, name in there)}")
            return there[attr.group_name, attr.attr_name]

        def _get_tensor(self, attr):
            return self._served(attr).rows(attr.index)

        def _get_tensor_size(self, attr):
            return self._served(attr).shape

        def _multi_get_tensor(self, attrs):
            """For input_nodes without a type PyTorch Geometric requests all attributes by the ids of nodes."""
            asked = {id(attr.index) for attr in attrs if isinstance(attr.group_name, str) and attr.index is not None}
            for attr in attrs:
                if isinstance(attr.group_name, tuple) and id(attr.index) in asked:
                    raise OptionError(f"stores: {attr.attr_name} of edges, and input_nodes without a type", "outgrow.stores(path, homogeneous=True) has attributes of nodes alone")
            return super()._multi_get_tensor(attrs)

        def get_all_tensor_attrs(self):
            return [data.TensorAttr(group, name, index=None) for group, name in listed]

    return Features()


def graph_of(dataset, homogeneous):
    """The graph store, likewise."""
    from ._attributes import source_of_path
    torch = import_for("stores", "torch")
    data = import_for("stores", "torch_geometric.data")
    about = meta_of(dataset)
    source = source_of_path(torch, data, dataset)
    n = {part.name or NODE: part.n for part in source.nodes}
    edges = {part.name or EDGE: part for part in source.edges}
    sizes = {relation: (n[relation[0]], n[relation[2]]) for relation in edges}
    untyped = len(n) == len(edges) == 1
    by_time = all(about.get("by_time", ["off"])[part.number] != "off" for part in source.edges if part.number is not None)
    if homogeneous:
        edges, sizes = {None: next(iter(edges.values()))}, {None: tuple(map(Count, next(iter(sizes.values()))))}
    if untyped:
        teach_samplers()

    class Graph(data.GraphStore):
        _put_edge_index = _remove_edge_index = refuse

        def __init__(self):
            super().__init__()
            self.__dict__.update(dataset=dataset, named=not homogeneous)

        def __reduce__(self):
            return graph_of, (dataset, homogeneous)

        def csc(self, *arguments, **keywords):
            row, colptr, order = super().csc(*arguments, **keywords)
            return row, colptr, Untyped(order) if untyped and not homogeneous else order

        def _get_edge_index(self, edge_attr):
            part = edges.get(edge_attr.edge_type and tuple(edge_attr.edge_type))
            if part is None or edge_attr.layout.value not in ("csc", "coo"):
                return None
            lists = (np.empty(0), np.zeros(sizes[part.name][1] + 1)) if part.lists is None else (part.lists.indices, part.lists.indptr)
            row, colptr = (torch.from_numpy(np.array(array, np.int64)) for array in lists)
            return row, colptr if edge_attr.layout.value == "csc" else torch.arange(len(colptr) - 1).repeat_interleave(colptr.diff())

        def get_all_edge_attrs(self):
            attrs = [data.EdgeAttr(relation, "csc", size=size) for relation, size in sizes.items()]
            for attr in attrs:
                attr.is_sorted = by_time  # that of PyTorch Geometric's samplers refuses time_attr unless lists are sorted by time
            return attrs

    return Graph()


def stores(dataset, homogeneous=False):
    """Open (feature_store, graph_store) of a dataset, for NeighborLoader and other samplers of PyTorch Geometric.

    A homogeneous graph has node type "node" and relation ("node", "to", "node"). Batches are HeteroData then, of input_nodes=("node", ids), and Data of
    input_nodes=ids. With homogeneous=True it has no type, for samplers that look at it. A heterogeneous graph has its own types, with ids within
    the type. Attributes are those that batches of NeighborLoader have, edges' in the order of the graph store. train_mask, val_mask and test_mask are not
    listed, so that batches are without them. Stores are read only and can be pickled. time_attr needs lists by time: those of `outgrow import --by-time`.

    There is no lookahead. A store serves rows that were just sampled, so nothing is planned, cached or prefetched. Rows are read by page faults, and the whole
    topology is loaded into memory. Use Loader if Outgrow has the sampler.
    """
    dataset = folder_of(dataset)
    if homogeneous and (types := type_ranges(meta_of(dataset))):
        raise OptionError(f"homogeneous: {dataset} has types {', '.join(types)}", "leave out homogeneous")
    return features_of(dataset, homogeneous), graph_of(dataset, homogeneous)
