"""GraphClassifier: the command's models, with the methods of scikit-learn."""
import json
import os
import shutil
import tempfile
import weakref

import numpy as np

from ._command import evaluate, order_of, predict, train
from ._errors import FileError, OptionError, warn
from ._meta import meta_of, said_by
from ._options import folder_of


def refuse_others(graph, task, who="GraphClassifier", hint="outgrow.train, evaluate and predict take every task"):
    """Models whose outputs are not scores of one class: the largest of them says nothing."""
    try:
        with open(f"{graph}/meta.json", encoding="utf-8") as f:
            meta = json.load(f)
    except (OSError, ValueError):
        return  # training says what is wrong
    found = f"task={task!r}" if task not in (None, "node") else "several labels a node" if meta.get("multi_label") \
        else {"node regression": "values, no classes", "node shares": "shares of classes"}.get(meta.get("task"))
    if found:
        raise OptionError(f"{who}: {graph} with {found}" if found[:4] == "task" else f"{who}: labels of {graph} are {found}", hint)


class Folder:
    """A temporary folder, which is removed with the last classifier that uses it. Copies use it too, but not in another process."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="outgrow-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __deepcopy__(self, known):
        return self

    def __reduce__(self):
        return str, (self.path,)


class GraphClassifier:
    """A classifier of nodes with the methods of scikit-learn.

    >>> model = outgrow.GraphClassifier(model="sage", fanout=[10, 10], epochs=5, memory="2G").fit("graph")
    >>> model.predict("test"), model.score("test")

    Options are those of `train`. Without run= the run's files are in a temporary folder, which is removed with this object.

    Nodes are names, where the dataset has names, or ids as a table of predictions has them. An answer has their order. That of a split is the order of
    its rows in the source. That of all nodes is the dataset's, not that of a table with ids, so a mask of such a table is refused.

    >>> model = outgrow.GraphClassifier.load("runs/first", "graph")      # in a new process
    >>> model.predict(table["id"])"""

    def __init__(self, model="sage", **options):
        self.options = {"model": model, **options}

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"

    def get_params(self, deep=True):
        return dict(self.options)

    def set_params(self, **options):
        self.options.update(options)
        return self

    @staticmethod
    def load(run, graph, **options):
        """The classifier of a finished run: its folder, or a checkpoint. `graph` is the dataset to predict; options, such as memory=, are for that."""
        model, path = GraphClassifier(**options), folder_of(run, "run")
        model.options.pop("model")
        model.run_, model.graph_ = (os.path.dirname(path) or ".", path)[os.path.isdir(path)], folder_of(graph)
        model._file = None if os.path.isdir(path) else path
        refuse_others(model.graph_, said_by(model.checkpoint()).get("task"))
        model.classes_ = model._names()
        return model

    def fit(self, graph, y=None, **options):
        """Train on the dataset in folder `graph`, with more options, such as on_epoch=; `result_` has the summary."""
        if y is not None or not isinstance(graph, (str, bytes, os.PathLike)):
            raise OptionError("fit takes the folder of a dataset, which has features, labels and edges",
                              'outgrow.import_tables("graph", nodes=table, edges=edges), or outgrow.write, then fit("graph")')
        self._file = None
        self.graph_ = folder_of(graph)
        options = {**self.options, **options}
        refuse_others(self.graph_, options.get("task"))
        if options.get("run") is None:
            self._folder = Folder()
            options["run"] = f"{self._folder.path}/run"
        self.run_ = os.fspath(options["run"])
        self.result_ = train(self.graph_, **options)
        self.classes_ = self._names()
        return self

    def _names(self):
        """What the checkpoint calls its classes, else the dataset."""
        meta, said = meta_of(self.graph_), said_by(self.checkpoint())
        names = json.loads(said["class_names"]) if "class_names" in said else meta.get("class_names", ())
        n = int(said.get("n_classes", meta["num_classes"]))
        return np.array(names) if len(names) == n else np.arange(n)

    def checkpoint(self):
        """File of the parameters: of the best epoch, if there was a validation."""
        if not hasattr(self, "run_"):
            raise OptionError("the classifier is not fitted", "call fit(graph) first, or GraphClassifier.load(run, graph)")
        if self._file:
            return self._file
        best = f"{self.run_}/best.safetensors"
        path = best if os.path.exists(best) else f"{self.run_}/checkpoint.safetensors"
        if not os.path.exists(path):
            raise FileError(f"{path}: there is no such file", "a run without run= is removed with the classifier that was fitted: give run=\"runs/first\", and fit again")
        return path

    def _given(self, *names):
        return {name: self.options[name] for name in names if self.options.get(name) is not None}

    def decision_function(self, nodes=None, **options):
        """Logits, float32 [n, C]. Nodes are ids, names, a split's name, or None: all. graph= is another dataset than that of fit."""
        checkpoint = self.checkpoint()
        if nodes is None and (order := order_of(options.get("graph", self.graph_))):
            warn(f"all nodes are in the order of {order} of the dataset, not of a table: predict(table[\"id\"]) has that order")
        with tempfile.TemporaryDirectory(prefix="outgrow-") as folder:
            given = {**self._given("memory", "threads", "scratch"), **options}
            predict(given.pop("graph", self.graph_), checkpoint, f"{folder}/out.npy", nodes=nodes, **given)
            return np.load(f"{folder}/out.npy")

    def predict_proba(self, nodes=None, **options):
        """Probabilities of classes, float32 [n, C]."""
        return self.decision_function(nodes, **options, probabilities=True)

    def predict(self, nodes=None, **options):
        """The most likely class of each node. It is a name, if the model or the dataset has names, else a number."""
        best = self.decision_function(nodes, **options).argmax(1)
        return self.classes_[best]

    def score(self, split="test"):
        """Accuracy on a split, "valid" or "test", with neighbours sampled as in training."""
        if not isinstance(split, str):
            raise OptionError(f"score: {type(split).__name__}, the name of a split expected", 'give "valid" or "test"; of other nodes, (model.predict(ids) == labels).mean()')
        checkpoint = self.checkpoint()
        return evaluate(self.graph_, checkpoint, split=split, **self._given("memory", "threads", "fanout", "batch"))["acc"]
