"""A dataset as PyTorch Geometric's FeatureStore and GraphStore, for other samplers than Outgrow's."""
import os

import numpy as np

from ._errors import FileError
from ._forms import import_for
from ._meta import meta_of, relation_names, type_ranges

NODE = "node"
EDGE = (NODE, "to", NODE)
SPLITS = "train", "valid", "test"


def array_in(dataset, name, about):
    """Map an array of a dataset, in its folder or at meta.json's path (docs/reference/formats.md)."""
    entry = about.get("files", {}).get(name, {})
    path = os.path.join(dataset, entry.get("path", f"{name}.npy"))
    try:
        if "dtype" in entry:
            return np.memmap(path, entry["dtype"], "r", entry.get("offset", 0), tuple(entry["shape"]))
        return np.load(path, mmap_mode="r")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}", "`outgrow verify` checks a dataset", -(error.errno or 0)) from error


def is_there(dataset, name, about):
    return name in about.get("files", {}) or os.path.exists(os.path.join(dataset, f"{name}.npy"))


class Part:
    """Nodes of one type: their number, and arrays by PyTorch Geometric's name."""

    def __init__(self, n, x, y, dtype):
        self.n, self.bf16 = n, dtype == "bf16"
        self.arrays = {name: array for name, array in (("x", x), ("y", y)) if array is not None}

    def rows(self, torch, name, index):
        """Copy rows, since the file must not be written to."""
        if isinstance(index, torch.Tensor):
            index = index.numpy()
        got = np.array(self.arrays[name] if index is None else self.arrays[name][index])
        return torch.from_numpy(got.view(np.int16)).view(torch.bfloat16) if self.bf16 and name == "x" else torch.from_numpy(got)


def type_of_seeds(dataset, about, ranges):
    for split in SPLITS:
        if is_there(dataset, split, about) and len(ids := array_in(dataset, split, about)):
            return next(name for name, (first, end) in ranges.items() if first <= ids[0] < end)


def parts_of(dataset, about):
    """{type: Part}; only the type with the splits has labels."""
    def rows(name, wanted=True):
        return array_in(dataset, name, about) if wanted else None
    ranges = type_ranges(about)
    if not ranges:
        return {NODE: Part(about["num_nodes"], rows("features"), rows("labels"), about.get("feature_dtype"))}
    labelled = type_of_seeds(dataset, about, ranges) if is_there(dataset, "labels", about) else None
    parts = {}
    for t, (of, (name, (first, end))) in enumerate(zip(about["node_types"], ranges.items())):
        y = rows("labels")[first:end] if name == labelled else None
        parts[name] = Part(end - first, rows(f"features_{t}", of.get("feature_dim", 0) > 0), y, of.get("feature_dtype"))
    return parts


def stores(dataset):
    """Open (feature_store, graph_store) of a dataset, for NeighborLoader and other samplers of PyTorch Geometric.

    A homogeneous graph has node type "node" and relation ("node", "to", "node"). A heterogeneous graph has its own, with ids within
    the type; "y" exists for the type with the splits.

    There is no lookahead: a store serves rows that were just sampled, so nothing is planned, cached or prefetched. Rows are read by
    page faults, and the whole topology is loaded into memory. Use Loader if Outgrow has the sampler.
    """
    torch = import_for("stores", "torch")
    data = import_for("stores", "torch_geometric.data")
    dataset = os.fspath(dataset)
    about = meta_of(dataset)
    parts = parts_of(dataset, about)
    files = {relation: f"rel{r}_" for r, relation in enumerate(relation_names(about))} or {EDGE: ""}

    class Features(data.FeatureStore):
        def _put_tensor(self, tensor, attr):
            return False

        def _remove_tensor(self, attr):
            return False

        def _get_tensor(self, attr):
            part = parts.get(attr.group_name)
            return part.rows(torch, attr.attr_name, attr.index) if part and attr.attr_name in part.arrays else None

        def _get_tensor_size(self, attr):
            return tuple(parts[attr.group_name].arrays[attr.attr_name].shape)

        def get_all_tensor_attrs(self):
            return [data.TensorAttr(name, array, index=None) for name, part in parts.items() for array in part.arrays]

    class Graph(data.GraphStore):
        def _put_edge_index(self, edge_index, edge_attr):
            return False

        def _remove_edge_index(self, edge_attr):
            return False

        def _get_edge_index(self, edge_attr):
            prefix = files.get(tuple(edge_attr.edge_type))
            if prefix is None or edge_attr.layout.value != "csc":
                return None
            indices, indptr = (np.array(array_in(dataset, prefix + name, about), np.int64) for name in ("indices", "indptr"))
            return torch.from_numpy(indices), torch.from_numpy(indptr)

        def get_all_edge_attrs(self):
            return [data.EdgeAttr(relation, "csc", is_sorted=True, size=(parts[relation[0]].n, parts[relation[2]].n)) for relation in files]

    return Features(), Graph()
