"""Outgrow: mini-batches of graphs that outgrow memory, for models of your own.

    import outgrow

    outgrow.write("graph", edge_index=edges, x=features, y=labels, train=ids)    # or import_, generate
    for batch in outgrow.Loader("graph", fanout=[10, 10], batch=1000, memory="4G"):
        ...

help(Loader) has a script each for PyTorch Geometric, DGL and NumPy.
"""
from . import _outgrow
from ._calls import generate, info, simulate
from ._classifier import GraphClassifier
from ._command import doctor, evaluate, plan, predict, smooth, train
from ._errors import BudgetError, Error, FileError, OptionError, ProcessError, UnsupportedError
from ._forms import Adj, Adjs, Arrays, Edges, Hop, Nodes
from ._graphbolt import graphbolt
from ._layouts import import_
from ._links import LinkNeighborLoader
from ._loader import Loader
from ._neighbor import NeighborLoader
from ._predictor import Predictor
from ._stores import stores
from ._tables import import_tables
from ._write import write

for _kind in BudgetError, Error, FileError, OptionError, ProcessError, UnsupportedError:
    _kind.__module__ = "outgrow"  # the name in tracebacks
del _kind

__version__ = _outgrow.version
__all__ = ["Adj", "Adjs", "Arrays", "BudgetError", "Edges", "Error", "FileError", "GraphClassifier", "Hop", "LinkNeighborLoader", "Loader", "NeighborLoader",
           "Nodes", "OptionError", "Predictor", "ProcessError", "UnsupportedError", "doctor", "evaluate", "generate", "graphbolt", "import_", "import_tables", "info", "plan", "predict", "simulate",
           "smooth", "stores", "train", "write"]
