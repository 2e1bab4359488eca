"""A dataset as PyTorch Geometric's FeatureStore and GraphStore: for samplers that are not Outgrow's."""
import os

import numpy as np

from ._errors import FileError
from ._forms import import_for
from ._meta import meta_of, ranges_of, relations_of

NODE = "node"
EDGE = (NODE, "to", NODE)
SPLITS = "train", "valid", "test"


def array_in(dataset, name, about):
    """An array of a dataset, mapped: in its folder, or where meta.json says (docs/formats.md)."""
    entry = about.get("files", {}).get(name, {})
    path = os.path.join(dataset, entry.get("path", f"{name}.npy"))
    try:
        if "dtype" in entry:
            return np.memmap(path, entry["dtype"], "r", entry.get("offset", 0), tuple(entry["shape"]))
        return np.load(path, mmap_mode="r")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}", "`outgrow verify` checks a dataset", -(error.errno or 0)) from error


class Part:
    """Nodes of one type: arrays by the name that PyTorch Geometric has for them; of [first, end) of the array's rows."""

    def __init__(self, dataset, about, x, first=0, end=None, bf16=False, labelled=True):
        self.arrays, self.bf16, self.n = {}, bf16, end
        if x:
            self.arrays["x"] = array_in(dataset, x, about)
        if labelled:
            self.arrays["y"] = array_in(dataset, "labels", about)[first:end]

    def rows(self, torch, name, index):
        """A copy of rows, for the file is not to be written to."""
        if isinstance(index, torch.Tensor):
            index = index.numpy()
        got = np.array(self.arrays[name] if index is None else self.arrays[name][index])
        return torch.from_numpy(got.view(np.int16)).view(torch.bfloat16) if self.bf16 and name == "x" else torch.from_numpy(got)


def parts_of(dataset, about):
    """{type: Part}; those that have labels are of the type that has the seeds."""
    ranges = ranges_of(about)
    if not ranges:
        part = Part(dataset, about, "features", bf16=about.get("feature_dtype") == "bf16")
        part.n = len(part.arrays["x"])
        return {NODE: part}
    seed = next((int(ids[0]) for ids in (array_in(dataset, name, about) for name in SPLITS) if len(ids)), -1)
    labels = "labels" in about["checksums"] or os.path.exists(os.path.join(dataset, "labels.npy"))
    return {name: Part(dataset, about, f"features_{t}" if of.get("feature_dim") else None, *ranges[name],
                       bf16=of.get("feature_dtype") == "bf16", labelled=labels and ranges[name][0] <= seed < ranges[name][1])
            for t, (name, of) in enumerate(zip(ranges, about["node_types"]))}


def stores(dataset):
    """(feature_store, graph_store) of a dataset, for NeighborLoader and other samplers of PyTorch Geometric. Without types they know
    one node type, "node", and one relation, ("node", "to", "node"); else the graph's, ids being those within a type, and "y" the
    labels of the type that has the seeds.

    Without lookahead: a store is asked for what a sampler has just drawn, so nothing is planned, cached or read ahead; rows
    come through page faults, and the graph's structure is loaded into memory as a whole. Loader is what does better; this is for
    samplers that Outgrow does not have.
    """
    torch = import_for("stores", "torch")
    data = import_for("stores", "torch_geometric.data")
    dataset = os.fspath(dataset)
    about = meta_of(dataset)
    parts = parts_of(dataset, about)
    files = {relation: f"rel{r}_" for r, relation in enumerate(relations_of(about))} or {EDGE: ""}

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
            size = {name: part.n - (ranges_of(about).get(name, (0, 0))[0]) for name, part in parts.items()}
            return [data.EdgeAttr(relation, "csc", is_sorted=True, size=(size[relation[0]], size[relation[2]])) for relation in files]

    return Features(), Graph()
