"""A dataset as PyTorch Geometric's FeatureStore and GraphStore: for samplers that are not Outgrow's."""
import json
import os

import numpy as np

from ._errors import FileError
from ._forms import import_for

NODE = "node"
EDGE = (NODE, "to", NODE)


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


def stores(dataset):
    """(feature_store, graph_store) of a dataset, for NeighborLoader and other samplers of PyTorch Geometric, which know one node
    type, "node", and one relation, ("node", "to", "node").

    Without lookahead: a store is asked for what a sampler has just drawn, so nothing is planned, cached or read ahead; rows
    come through page faults, and the graph's structure is loaded into memory as a whole. Loader is what does better; this is for
    samplers that Outgrow does not have.
    """
    torch = import_for("stores", "torch")
    data = import_for("stores", "torch_geometric.data")
    dataset = os.fspath(dataset)
    try:
        with open(os.path.join(dataset, "meta.json")) as f:
            about = json.load(f)
    except OSError as error:
        raise FileError(f"{error.filename}: {error.strerror}", "name a folder made by outgrow.write or outgrow.import_", -error.errno) from error
    if "node_types" in about:
        raise FileError(f"{dataset}: a graph with types of nodes and relations, not taken here yet",
                        "import the source with drop_types=True for a graph of one type", -22)
    arrays = {"x": array_in(dataset, "features", about), "y": array_in(dataset, "labels", about)}
    bf16 = about.get("feature_dtype") == "bf16"

    def rows(name, index):
        """A copy of rows, for the file is not to be written to."""
        if isinstance(index, torch.Tensor):
            index = index.numpy()
        got = np.array(arrays[name] if index is None else arrays[name][index])
        return torch.from_numpy(got.view(np.int16)).view(torch.bfloat16) if bf16 and name == "x" else torch.from_numpy(got)

    class Features(data.FeatureStore):
        def _put_tensor(self, tensor, attr):
            return False

        def _remove_tensor(self, attr):
            return False

        def _get_tensor(self, attr):
            return rows(attr.attr_name, attr.index) if attr.group_name == NODE and attr.attr_name in arrays else None

        def _get_tensor_size(self, attr):
            return tuple(arrays[attr.attr_name].shape)

        def get_all_tensor_attrs(self):
            return [data.TensorAttr(NODE, name, index=None) for name in arrays]

    class Graph(data.GraphStore):
        def _put_edge_index(self, edge_index, edge_attr):
            return False

        def _remove_edge_index(self, edge_attr):
            return False

        def _get_edge_index(self, edge_attr):
            if edge_attr.edge_type != EDGE or edge_attr.layout.value != "csc":
                return None
            indices, indptr = (np.array(array_in(dataset, name, about), np.int64) for name in ("indices", "indptr"))
            return torch.from_numpy(indices), torch.from_numpy(indptr)

        def get_all_edge_attrs(self):
            n = len(arrays["x"])
            return [data.EdgeAttr(EDGE, "csc", is_sorted=True, size=(n, n))]

    return Features(), Graph()
