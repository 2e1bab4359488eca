"""Datasets of a Data or HeteroData of PyTorch Geometric. Each is written once, to a folder that is known by its contents."""
import concurrent.futures
import copy
import fcntl
import hashlib
import os
import shutil

import numpy as np

from . import _outgrow
from ._arrays import PIECE, array_of, native, plain
from ._attributes import FOLDER, TABLE, EdgePart, Folder, NodePart, Source, lists_of, node_time_of, order_of, storable
from ._calls import leaving_out
from ._errors import FileError, OptionError, warn
from ._forms import import_for
from ._meta import meta_of, type_ranges
from ._options import cache_folder
from ._stores import array_in, files_of, is_there
from ._times import whole
from ._write import folder_beside, write

FORM = b"1"  # of the folders: another one has other names
NONE, SOME, ALL = 0, 1 << 24, 1 << 62  # bytes of features that are looked at for changes


# ---- what of a Data is written ----

def is_sparse(torch, value):
    return isinstance(value, torch.Tensor) and value.layout != torch.strided


def stays(torch, x):
    """Whether features are of a kind that no dataset has: rows are selected in memory."""
    return is_sparse(torch, x) or getattr(x, "is_quantized", False)


def bytes_of(torch, value):
    """The array's elements as they lie in memory."""
    if isinstance(value, torch.Tensor):
        value = plain(value).contiguous().view(-1).view(torch.uint8).numpy()
    return np.ascontiguousarray(value)


def how_to_have_edges(sparse, name=None):
    of = "data" if name is None else f"data{[*name]}"
    return f"of a sparse adjacency: {of}.edge_index = torch_geometric.utils.to_edge_index({of}.adj_t.t())[0]" if sparse else \
        f"give {of}.edge_index = [2, E]: all sources, then all destinations; num_neighbors=[] samples none"


def edges_of(torch, store, what):
    edges = getattr(store, "edge_index", None) if "edge_index" in store else None
    if edges is None:
        raise OptionError(f"data: no edge_index{what}", how_to_have_edges("adj_t" in store))
    if isinstance(edges, torch.Tensor) and not is_sparse(torch, edges):
        return (edges.as_tensor() if hasattr(edges, "as_tensor") else edges).detach().cpu()
    edges = array_of(edges, f"edge_index{what}")
    return torch.from_numpy(edges.astype(np.int64) if edges.dtype.kind == "u" else native(edges))


def weights_of(torch, store, name, what):
    if name not in store:
        raise OptionError(f"weight_attr: the data has no {name}{what}", "name an attribute of all edges")
    weights = torch.as_tensor(store[name]).detach().cpu()
    return weights.view(-1) if weights.dim() == 2 and weights.size(1) == 1 else weights


def times_of(types, relations, time_attr):
    """{type: times} of nodes and {relation: times} of edges by this attribute, which one of the two has."""
    if time_attr is None:
        return {}, {}
    nodes = {name: store[time_attr] for name, store in types.items() if time_attr in store and store.is_node_attr(time_attr)}
    edges = {name: store[time_attr] for name, store in relations.items() if time_attr in store and store.is_edge_attr(time_attr) and name not in nodes}
    if bool(nodes) == bool(edges):
        raise OptionError(f"time_attr: the data has {'both' if nodes else 'neither'} nodes {'and' if nodes else 'nor'} edges with {time_attr!r}",
                          "name an attribute of nodes, or of edges: int64, a number each")
    return tuple({name: whole(values, f"time_attr {time_attr!r}") for name, values in of.items() if len(values)} for of in (nodes, edges))


class Written:
    """A Data or HeteroData as outgrow.write takes it. Types and relations are t0, t1, ... and r0, r1, ... there, for theirs may have any
    names; types without nodes and relations without edges are left out."""

    def __init__(self, torch, data, weight_attr, time_attr=None):
        self.torch = torch
        self.types, self.relations = stores_of(data)
        self.counts = {name: number_of_nodes(store, name) for name, store in self.types.items()}
        self.rows, self.features, self.edges, self.weights = {}, {}, {}, {}
        self.node_times, self.edge_times = times_of(self.types, self.relations, time_attr)
        for name, store in self.types.items():
            x = store["x"] if "x" in store else None
            if hasattr(x, "dtype") and getattr(x.dtype, "kind", "f") in "biufc" and getattr(x, "ndim", 0) > 0 and len(x) == self.counts[name] and 0 not in x.shape and not stays(torch, x):
                self.rows[name], self.features[name] = storable(torch, x)
        weighted = any(weight_attr in store for store in self.relations.values())  # edges of others are sampled alike
        for name, store in self.relations.items():
            edges = edges_of(torch, store, "" if name is None else f" of {name}")
            if edges.shape[1] > 0:
                self.edges[name] = edges
                if weight_attr:
                    self.weights[name] = weights_of(torch, store, weight_attr, "" if name is None else f" of {name}") if weight_attr in store or not weighted else torch.ones(edges.shape[1])
        self.type_number = {name: t for t, name in enumerate(name for name, n in self.counts.items() if n > 0)}
        self.relation_number = {name: r for r, name in enumerate(self.edges)}

    def ends(self, relation):
        return (0, 0) if relation is None else (self.type_number[relation[0]], self.type_number[relation[2]])

    def digest(self):
        """The checksum of all that is written, in hexadecimal."""
        arrays = [*self.rows.values(), *self.edges.values(), *self.weights.values(), *self.node_times.values(), *self.edge_times.values()]
        about = [[self.counts[name] for name in self.type_number], [(self.type_number[name], f) for name, f in self.features.items()],
                 [self.ends(name) for name in self.edges], bool(self.weights), *self.timed(), [(tuple(a.shape), str(a.dtype)) for a in arrays]]
        digest = hashlib.blake2b(FORM + repr(about).encode(), digest_size=16)
        for array in arrays:
            digest.update(bytes_of(self.torch, array))
        return digest.hexdigest()

    def timed(self):
        """The types and relations with times, by number; nothing of a data without."""
        if not self.node_times and not self.edge_times:
            return ()
        return [self.type_number[name] for name in self.node_times], [self.relation_number[name] for name in self.edge_times]

    def write(self, path):
        types = {name: f"t{t}" for name, t in self.type_number.items()}
        relations = {name: (f"t{s}", f"r{r}", f"t{d}") for r, name in enumerate(self.edges) for s, d in [self.ends(name)]}
        rows = {types[name]: x for name, x in self.rows.items()}
        if len(types) == len(relations) == 1 and not rows:
            rows = {"t0": np.zeros((max(self.counts.values()), 1), np.uint8)}  # for a homogeneous graph has features
        write(path, edge_index={relations[name]: edges for name, edges in self.edges.items()}, x=rows or None,
              edge_weight={relations[name]: w for name, w in self.weights.items()} or None,
              node_time={types[name]: t for name, t in self.node_times.items()} or None,
              edge_time={relations[name]: t for name, t in self.edge_times.items()} or None, num_nodes={types[name]: self.counts[name] for name in types})
        with folder_beside(path) as beside:
            folder = Folder(beside)
            folder.table["orders"] = {str(r): folder.save(order_of(edges)) for r, edges in enumerate(self.edges.values())}
            folder.move(path)


def write_once(written, path):
    """One process at a time; what another one, or a kill, left half-written is written again."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        opened = open(f"{path}.lock", "w")
    except OSError as why:
        raise FileError(f"{os.path.dirname(path)}: no folder for the data: {why.strerror}", "OUTGROW_CACHE names another one", -why.errno) from why
    with opened as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(os.path.join(path, FOLDER, TABLE)):
            return
        shutil.rmtree(path, ignore_errors=True)
        with leaving_out("Models learn badly"):  # features may be stored as bytes, and the model is the caller's
            written.write(path)
    warn(f"data: written to {path}, where loaders of equal data find it. Remove it when it is not needed; OUTGROW_CACHE names another folder")


# ---- what of a Data its batches have ----

def selectable(value):
    """It, or the layout of a sparse tensor that rows can be selected from."""
    return value.to_sparse() if str(getattr(value, "layout", "")) == "torch.sparse_csr" else value


def attributes_of(store, is_one):
    """{name: (value, dimension)} of the attributes that are one of each node, or of each edge."""
    return {key: (selectable(value), store._parent().__cat_dim__(key, value, store))
            for key, value in store.items() if key not in ("num_nodes", "adj_t") and is_one(key)}


def stores_of(data):
    """{type: its attributes} and {relation: its attributes}; of a Data, which is both, of None."""
    if not hasattr(data, "edge_types"):
        return {None: data._store}, {None: data._store}
    for relation in data.edge_types:
        for end in relation[::2]:
            if end not in data.node_types:
                raise OptionError(f"data: {relation} is of {end!r}, which is no type of nodes", f"set data[{end!r}].num_nodes, or its x")
    return dict(zip(data.node_types, data.node_stores)), dict(zip(data.edge_types, data.edge_stores))


def number_of_edges(store, what):
    if "edge_index" not in store:
        return 0
    edges = store["edge_index"]
    shape = tuple(edges.shape if hasattr(edges, "shape") else array_of(edges, f"edge_index{what}").shape)
    if len(shape) != 2 or shape[0] != 2:
        raise OptionError(f"edge_index{what}: {list(shape)}", "give [2, E]: all sources, then all destinations; transpose [E, 2]")
    return shape[1]


def number_of_nodes(store, name):
    if store.num_nodes is None:
        raise OptionError("num_nodes: not known" + (f" of {name}" if name else ""), "set num_nodes of it")
    return store.num_nodes


def source_without_edges(torch, data):
    """What batches of its nodes alone have, of which nothing is written. Edges are counted, not looked at."""
    types, relations = stores_of(data)
    nodes = [NodePart(name, number, number_of_nodes(store, name), attributes_of(store, store.is_node_attr), None, "num_nodes" in store)
             for number, (name, store) in enumerate(types.items())]
    edges = [EdgePart(name, None, number_of_edges(store, "" if name is None else f" of {name}"), None, edge_attributes_of(store), {}, None)
             for name, store in relations.items()]
    return Source(None, blank_of(data, nodes, edges), nodes, edges, order_of_names(types, relations))


def source_of_data(torch, data, weight_attr, time_attr=None):
    """Writes the data's dataset, unless it exists, and returns the Source of its batches. Attributes are those of the data itself, as it is now."""
    written = Written(torch, data, weight_attr, time_attr)
    path = os.path.join(cache_folder(), written.digest())
    try:
        write_once(written, path)
    except OptionError as error:
        raise OptionError(error.message.replace("edge_weight", f"weight_attr {weight_attr!r}"), error.hint, error.code) from error
    about = meta_of(path)
    nodes, edges = [], []
    tell_of_devices(torch, data)
    tell_of_features(torch, written.types)
    tell_of_edges(written.relations)
    for name, store in written.types.items():
        attributes = attributes_of(store, store.is_node_attr)
        features = written.features.get(name)
        if features:
            del attributes["x"]
        nodes.append(NodePart(name, written.type_number.get(name), written.counts[name], attributes, features, "num_nodes" in store))
    for name, store in written.relations.items():
        number = written.relation_number.get(name)
        lists = None if number is None else lists_of(path, about, number)
        n = 0 if number is None else written.edges[name].shape[1]
        edges.append(EdgePart(name, number, n, lists, edge_attributes_of(store), {}, torch.int32 if n and written.edges[name].dtype == torch.int32 else None))
    return Source(path, blank_of(data, nodes, edges), nodes, edges, order_of_names(written.types, written.relations))


def tell_of_devices(torch, data):
    there = {str(value.device) for store in data.stores for value in store.values() if isinstance(value, torch.Tensor) and value.device.type != "cpu"}
    if there:
        warn(f"data: on {', '.join(sorted(there))}. Rows of nodes and edges in batches are in host memory: batch.to(device) copies them")


def tell_of_features(torch, types):
    """Warn of features that are not read from the dataset, and of those without the data's gradient."""
    for name, store in types.items():
        x, of = store["x"] if "x" in store else None, f" of {name}" if name else ""
        if stays(torch, x):
            warn(f"data: x{of} is {'sparse' if is_sparse(torch, x) else 'quantized'}. It stays in memory, where its rows are selected")
        elif getattr(x, "requires_grad", False):
            warn(f"data: x{of} requires grad, which x of batches does not. Train what is outside of the data: embedding(batch.n_id)")


def tell_of_edges(relations):
    for name, store in relations.items():
        if "adj_t" in store:
            warn(f"data: adj_t{f' of {name}' if name else ''} is not in batches, which have edge_index. transform=torch_geometric.transforms.ToSparseTensor() makes one of each batch")


def edge_attributes_of(store):
    return attributes_of(store, lambda key: key != "edge_index" and store.is_edge_attr(key))


def order_of_names(types, relations):
    return {name: [*store.keys()] for name, store in (types | relations).items()}


def blank_of(data, nodes, edges):
    """The data without what is of its nodes and edges."""
    blank = copy.copy(data)
    for parts in nodes, edges:
        for part in parts:
            store = blank._store if part.name is None else blank[part.name]
            for key in (*part.attributes, *(("edge_index", "adj_t") if parts is edges else ("x",) if part.features else ())):
                if key in store:
                    del store[key]
    return blank


# ---- a Data that is changed ----

def sums_of(value, most):
    """Checksums of features. They are of all rows up to `most` bytes, beyond that of evenly spaced ones. None of what no dataset has, and of read-only memory."""
    torch = import_for("pyg", "torch")
    if isinstance(value, torch.Tensor):
        if stays(torch, value) or value.device.type != "cpu" or value.dim() == 0:
            return None
        size = value.nelement() * value.element_size()
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biufc" and value.ndim > 0 and value.flags.writeable:
        size = value.nbytes
    else:
        return None
    value = value[::max(1, -(-size // most))]
    rows = max(1, PIECE * len(value) // max(min(size, most), 1))
    pieces = [value[at:at + rows] for at in range(0, len(value), rows)]
    with concurrent.futures.ThreadPoolExecutor(max(1, min(len(pieces), len(os.sched_getaffinity(0))))) as threads:
        return [*threads.map(lambda piece: _outgrow.checksum(bytes_of(torch, piece)), pieces)]


def marks_of(data, most):
    """What a data has. A tensor comes with the number of writes to it. NumPy and tensor.data count none, so features come with checksums of `most` bytes."""
    def writes(value):
        try:
            return value._version
        except (AttributeError, RuntimeError):  # no tensor, or one without a count
            return None
    return {(number, key): (value, (writes(value), sums_of(value, most) if most and key == "x" else None))
            for number, store in enumerate(data.stores) for key, value in store.items()}


def places_changed(before, now):
    """Numbers of stores and names of what is not as before."""
    return {key for key in before.keys() | now.keys()
            if (key in before) != (key in now) or before[key][0] is not now[key][0] or before[key][1] != now[key][1]}


def changed(before, now):
    return {name for _, name in places_changed(before, now)}


def as_sampled(torch, data, source, weight_attr, time_attr):
    """The data with the edges, weights and times of a dataset. It had these when the loader was made, and neighbours are sampled by them."""
    data, path, about = copy.copy(data), source.path, meta_of(source.path)
    types, relations = stores_of(data)
    firsts, files = [first for first, _ in type_ranges(about).values()] or [0], [*files_of(about).values()]
    for part in source.edges:
        store = relations[part.name]
        store["edge_index"] = torch.from_numpy(part.lists.edge_index()).to(part.dtype or torch.int64) if part.lists else torch.empty(2, 0, dtype=torch.int64)
        for name, file in (weight_attr, "weights"), (time_attr, "edge_times"):
            if name and part.lists and is_there(path, file := f"{files[part.number]}{file}", about):
                values = np.asarray(array_in(path, file, about))
                given = np.empty_like(values)
                given[part.lists.order] = values
                store[name] = torch.from_numpy(given)
    for part in source.nodes if time_attr else ():
        if part.number is not None:
            for values, _ in node_time_of(path, about, {}, firsts[part.number], part.n).values():
                types[part.name][time_attr] = torch.from_numpy(np.array(values))
    return data


def renewed(source, data, x_too=False):
    """The source with the attributes that the data has now. `x_too`: features are those of the data, not the dataset's."""
    types, relations = stores_of(data)
    for part in source.nodes:
        if number_of_nodes(types[part.name], part.name) != part.n:
            raise OptionError(f"data: {types[part.name].num_nodes} nodes{f' of {part.name}' if part.name else ''}, {part.n} when the loader was made", "make the loader again")
    nodes = [part._replace(features=None) if x_too else part for part in source.nodes]
    nodes = [part._replace(attributes={key: value for key, value in attributes_of(types[part.name], types[part.name].is_node_attr).items() if key != "x" or not part.features})
             for part in nodes]
    edges = [part._replace(attributes=edge_attributes_of(relations[part.name])) for part in source.edges]
    return source._replace(blank=blank_of(data, nodes, edges), nodes=nodes, edges=edges, names=order_of_names(types, relations))


def renewed_by(source, whole, before):
    """The source of a dataset with the attributes of nodes and of the graph that `whole` has now. Marks `before` are of the dataset's own."""
    nodes, blank = [], copy.copy(source.blank)
    number, different = {id(store): i for i, store in enumerate(whole.stores)}, places_changed(before, marks_of(whole, SOME))
    for part in source.nodes:
        store = whole._store if part.name is None else whole[part.name]
        own = "x" in store and (number[id(store)], "x") not in different
        attributes = attributes_of(store, lambda key: store.is_node_attr(key) and not (own and part.features and key == "x"))  # noqa: B023
        nodes.append(part._replace(attributes=attributes, features=part.features if own else None))
        for key, value in store.items():
            if key not in (*attributes, "x", "num_nodes", "num_edges", "edge_index"):
                (blank._store if part.name is None else blank[part.name])[key] = value
    for key, value in whole._global_store.items() if hasattr(whole, "edge_types") else ():
        blank[key] = value
    return source._replace(blank=blank, nodes=nodes)


def data_of_stores(torch, classes, features, graph):
    """A Data or HeteroData of all that a FeatureStore and a GraphStore have. Their tensors are read whole."""
    row, col, _ = graph.coo()
    typed = isinstance(row, dict)
    row, col, out = (row, col, classes.HeteroData()) if typed else ({None: row}, {None: col}, classes.Data())
    counts = {}
    for attr in graph.get_all_edge_attrs():
        for end, n in zip((0, -1), attr.size or (0, 0)):
            name = None if attr.edge_type is None else attr.edge_type[end]
            counts[name] = max(counts.get(name, 0), n or 0)
    for attr in features.get_all_tensor_attrs():
        value = features.get_tensor(group_name=attr.group_name, attr_name=attr.attr_name, index=None)
        (out._store if attr.group_name is None else out[attr.group_name])[attr.attr_name] = value
        if not isinstance(attr.group_name, tuple):
            counts[attr.group_name] = max(counts.get(attr.group_name, 0), len(value))
    for name, n in counts.items():
        (out._store if name is None else out[name])["num_nodes"] = n
    for name in row:
        (out._store if name is None else out[name])["edge_index"] = torch.stack([row[name], col[name]])
    return out
