import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

__version__: str

Path = str | os.PathLike[str]
Size = int | str
Split = Literal["train", "valid", "test"]

class Error(Exception):
    message: str
    hint: str
    code: int
    def __init__(self, message: str, hint: str = "", code: int = 0) -> None: ...

class OptionError(Error, ValueError): ...
class BudgetError(Error, MemoryError): ...
class FileError(Error, OSError): ...
class ProcessError(Error, RuntimeError): ...
class UnsupportedError(Error, NotImplementedError): ...

class Hop(NamedTuple):
    n_dst: int
    n_src: int
    n_edges: int
    first_edge: int
    indptr: Any
    src: Any
    dst: Any
    weight: Any
    e_id: Any
    edge_attr: Any

class Nodes(NamedTuple):
    ids: Any
    x: Any
    n: tuple[int, ...]
    tree: Any = None

class Edges(NamedTuple):
    edge_index: Any
    hops: list[Hop]
    pairs: Any
    n_positive: int
    n_negative: int
    input_id: Any

class Adj(NamedTuple):
    edge_index: Any
    e_id: Any
    size: tuple[int, int]
    def to(self, *device: Any, **how: Any) -> Adj: ...

class Adjs(tuple[int, Any, Any, Any, Any]):
    batch_size: int
    n_id: Any
    adjs: list[Adj] | Adj
    x: Any
    y: Any
    input_id: Any

class Arrays(Mapping[str, Any]):
    ids: NDArray[np.int64]
    input_id: NDArray[np.int64]
    x: NDArray[Any]
    y: NDArray[Any] | None
    edge_index: NDArray[np.int64]
    pairs: NDArray[np.int64] | None
    tree: NDArray[np.int64] | None
    hops: list[Hop]
    types: dict[str, Nodes]
    relations: dict[tuple[str, str, str], Edges]
    dtype: str | dict[str, str | None]
    n_seeds: int
    n_positive: int
    n_negative: int
    epoch: int
    number: int
    batches: int
    split: str
    hits: int
    misses: int
    bytes_read: int
    stall_seconds: float
    def __getitem__(self, name: str) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

class _Epochs:
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def evaluate(self, split: Split = "valid") -> Iterator[Any]: ...
    @property
    def epoch(self) -> int: ...
    @property
    def plan(self) -> dict[str, Any]: ...
    @property
    def metrics(self) -> dict[str, Any]: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...
    def close(self) -> None: ...

class Loader(_Epochs):
    batch_size: int
    drop_last: bool
    num_workers: int
    dataset: range
    def __init__(
        self,
        dataset: Path,
        *,
        fanout: Sequence[int] | int | str | Mapping[Any, Sequence[int]] | None = None,
        batch: int = 1000,
        memory: Size | None = None,
        policy: str = "auto",
        split: Split | None = None,
        seeds: Any = None,
        form: Literal["pyg", "adjs", "dgl", "arrays"] = "pyg",
        epochs: int = 10,
        step_seconds: float | None = None,
        max_held: int | None = None,
        eval_every: int | None = None,
        progress: bool = False,
        num_neighbors: Sequence[int] | str | Mapping[Any, Sequence[int]] | None = None,
        batch_size: int | None = None,
        input_nodes: Any = ...,
        links: Any = None,
        source_repeats: int = 0,
        disjoint: bool = False,
        time_attr: str | None = None,
        input_time: Any = None,
        temporal_strategy: str = "uniform",
        time_window: int | None = None,
        drop_last: bool = False,
        e_id: bool = False,
        edge_attr: bool = False,
        rank: int = 0,
        world_size: int = 1,
        share: bool | str = True,
        hold: int | None = None,
        **options: Any,
    ) -> None: ...
    def enable_multithreading(self, worker_threads: int | None = None) -> AbstractContextManager[None]: ...
    def enable_cpu_affinity(self, loader_cores: list[int] | None = None) -> AbstractContextManager[None]: ...
    def enable_memory_log(self) -> AbstractContextManager[None]: ...
    def __enter__(self) -> Loader: ...
    def __exit__(self, *exception: object) -> None: ...

class _OfData:
    data: Any
    dataset: range
    batch_size: int
    num_workers: int
    drop_last: bool
    shuffle: bool
    sampler: Any
    batch_sampler: Any
    input_data: Any
    def __call__(self, index: Any) -> Any: ...
    def collate_fn(self, index: Any) -> Any: ...
    def filter_fn(self, batch: Any) -> Any: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

class NeighborLoader(_Epochs, _OfData):
    def __init__(
        self,
        data: Any,
        num_neighbors: Any,
        input_nodes: Any = None,
        input_time: Any = None,
        replace: bool = False,
        subgraph_type: Any = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        time_attr: str | None = None,
        weight_attr: str | None = None,
        transform: Callable[[Any], Any] | None = None,
        transform_sampler_output: Any = None,
        is_sorted: bool = False,
        filter_per_worker: bool | None = None,
        neighbor_sampler: Any = None,
        directed: bool = True,
        **kwargs: Any,
    ) -> None: ...

class LinkNeighborLoader(_Epochs, _OfData):
    def __init__(
        self,
        data: Any,
        num_neighbors: Any,
        edge_label_index: Any = None,
        edge_label: Any = None,
        edge_label_time: Any = None,
        replace: bool = False,
        subgraph_type: Any = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        neg_sampling: Any = None,
        neg_sampling_ratio: float | None = None,
        time_attr: str | None = None,
        weight_attr: str | None = None,
        transform: Callable[[Any], Any] | None = None,
        transform_sampler_output: Any = None,
        is_sorted: bool = False,
        filter_per_worker: bool | None = None,
        neighbor_sampler: Any = None,
        directed: bool = True,
        **kwargs: Any,
    ) -> None: ...

class Predictor:
    columns: int
    classes: Any
    info: dict[str, Any]
    def __init__(self, checkpoint: Path, graph: Path, *, callers: int = 4, **options: Any) -> None: ...
    def __call__(self, nodes: Any, input_time: Any = None) -> Any: ...
    def edges(self, src: Any, dst: Any, edge_attr: Any = None, relation: Any = None, edge_label_time: Any = None) -> Any: ...
    def predict(self, nodes: Any, input_time: Any = None) -> Any: ...
    def close(self) -> None: ...
    def __enter__(self) -> Predictor: ...
    def __exit__(self, *exception: object) -> None: ...

class GraphClassifier:
    def __init__(self, model: str = "sage", **options: Any) -> None: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **options: Any) -> GraphClassifier: ...
    @staticmethod
    def load(run: Path, graph: Path, **options: Any) -> GraphClassifier: ...
    def fit(self, graph: Path, y: None = None, **options: Any) -> GraphClassifier: ...
    def checkpoint(self) -> str: ...
    def decision_function(self, nodes: Any = None, **options: Any) -> Any: ...
    def predict_proba(self, nodes: Any = None, **options: Any) -> Any: ...
    def predict(self, nodes: Any = None, **options: Any) -> Any: ...
    def score(self, split: str = "test") -> float: ...

def stores(dataset: Path, homogeneous: bool = False) -> tuple[Any, Any]: ...
def graphbolt(dataset: Path, *, memory: Size = "4G", policy: str | None = None, io: str | None = None) -> Any: ...
def info(dataset: Path) -> dict[str, Any]: ...
def doctor(path: Path | None = None, *, scratch: Path | None = None) -> dict[str, Any]: ...
def plan(dataset: Path, *, progress: bool = False, **options: Any) -> dict[str, Any]: ...
def simulate(
    source: Path, policy: str | Sequence[str], cache: str | Sequence[str], *, progress: bool = False, **options: Any
) -> dict[str, Any]: ...
def train(
    dataset: Path, *, progress: bool = False, on_epoch: Any = None, tensorboard: Path | None = None, **options: Any
) -> dict[str, Any]: ...
def predict(dataset: Path, checkpoint: Path, out: Path, *, progress: bool = False, **options: Any) -> dict[str, Any]: ...
def smooth(dataset: Path, predictions: Path, out: Path, *, progress: bool = False, **options: Any) -> dict[str, Any]: ...
def evaluate(dataset: Path, checkpoint: Path, *, split: str = "test", progress: bool = False, **options: Any) -> dict[str, Any]: ...
def generate(out: Path, *, progress: bool = False, **options: Any) -> dict[str, Any]: ...
def import_(format: str, src: Path, out: Path, *, progress: bool = False, **options: Any) -> dict[str, Any]: ...
def write(
    path: Path,
    data: Any = None,
    *,
    edge_index: Any = None,
    x: Any = None,
    y: Any = None,
    train: Any = None,
    valid: Any = None,
    test: Any = None,
    edge_weight: Any = None,
    edge_attr: Any = None,
    node_time: Any = None,
    edge_time: Any = None,
    time_attr: str | None = None,
    num_nodes: Mapping[str, int] | None = None,
    ids: Any = None,
    num_classes: int | None = None,
    regression: bool = False,
    shares: bool = False,
    name: str | None = None,
    progress: bool = False,
    **options: Any,
) -> dict[str, Any]: ...
def import_tables(
    path: Path,
    nodes: Any = None,
    edges: Any = None,
    *,
    columns: Mapping[str, Any] | None = None,
    num_classes: int | None = None,
    regression: bool = False,
    name: str | None = None,
    progress: bool = False,
    **options: Any,
) -> dict[str, Any]: ...
