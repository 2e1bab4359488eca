"""Predictor: a process of the command `outgrow serve`, which any number of threads ask."""
import concurrent.futures
import functools
import json
import os
import subprocess
import threading
import weakref

import numpy as np

from ._classifier import refuse_others
from ._command import command, count_of, error_from, ids_of, words_of
from ._errors import OptionError, ProcessError, error_of
from ._ids import refuse_zeros_and_ones
from ._meta import said_by
from ._options import folder_of
from ._times import whole


class Line:
    """The process, its pipes, and requests that wait for an answer."""

    def __init__(self, words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0)
        self.lock, self.waiting, self.number, self.said, self.opened_by = threading.Lock(), {}, 0, [], os.getpid()
        self.writing = threading.Lock()  # a request may wait for room in the pipe while answers are read
        self.listener = threading.Thread(target=lambda: self.said.extend(self.process.stderr), name="outgrow", daemon=True)
        self.listener.start()
        self.reader = None
        first = self.process.stdout.readline()
        if not first or first == "{\n":  # an error has several lines
            out = first + self.process.stdout.read()
            self.close()
            raise error_from(self.process.returncode, out, "".join(self.said))
        self.about = json.loads(first)
        self.reader = threading.Thread(target=self.read, name="outgrow", daemon=True)
        self.reader.start()

    def read(self):
        for text in self.process.stdout:
            answer = json.loads(text)
            with self.lock:
                future = self.waiting.pop(answer["id"], None)
            if future is not None:
                future.set_result(answer)
        with self.lock:
            left, self.waiting = list(self.waiting.values()), None
        for future in left:
            future.set_exception(ProcessError("the predictor ended: " + ("".join(self.said).strip() or "it was closed")))

    def ask(self, **request):
        if os.getpid() != self.opened_by:  # where no thread reads answers
            raise ProcessError("the predictor was opened in another process", "open one in each process, after it has begun")
        future = concurrent.futures.Future()
        with self.writing:
            with self.lock:
                if self.waiting is None or self.process.stdin.closed:
                    raise ProcessError("the predictor is closed", "open another one")
                self.number += 1
                self.waiting[self.number] = future
            try:
                self.process.stdin.write(json.dumps({"id": self.number, **request}) + "\n")
                self.process.stdin.flush()
            except OSError as why:
                with self.lock:
                    (self.waiting or {}).pop(self.number, None)
                raise ProcessError("the predictor ended: " + "".join(self.said).strip()) from why
        return future.result()

    def close(self):
        with self.writing:
            if not self.process.stdin.closed:
                self.process.stdin.close()
        self.process.wait()
        self.listener.join()
        if self.reader not in (None, threading.current_thread()):
            self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


def nodes_of(nodes, graph):
    """A list of rows, or of names."""
    ids = ids_of([nodes] if isinstance(nodes, (str, bytes)) else nodes, graph)
    return [name.decode() for name in ids.tolist()] if ids.dtype.kind == "S" else ids.tolist()


def times_of(name, times, n):
    """The key of a request, if there are times."""
    if times is None:
        return {}
    times = whole(np.asarray(times.detach().cpu() if hasattr(times, "detach") else times).reshape(-1), name)
    if len(times) != n:
        raise OptionError(f"{name}: {len(times)} times, {n} nodes or edges", "give a time to each")
    return {name: times.tolist()}


class Predictor:
    """Predictions of a few nodes or edges at a time, from disk, within `memory`. Any number of threads may call it.

    >>> with outgrow.Predictor("runs/first/best.safetensors", "graph", memory="1G") as predictor:
    ...     predictor([3, 1, 4])          # logits, float32 [3, C]
    ...     predictor.predict(["ann", "bob"])    # classes of nodes by their names

    checkpoint  file of a trained model
    graph       folder of a dataset, of this or another graph of the same kind
    memory      bounds everything; half is for topology and model, half for requests
    fanout      None: all neighbours, as `predict` computes them; [10, 10]: sampled, by `seed` and node alone
    callers     requests that are computed at the same time
    options     others of `outgrow serve`: batch=16, threads, topology="disk", ...

    Nodes are names, where the dataset has some, or ids as a table of predictions has them. `classes` has the names of the columns,
    or their numbers. Starts the command `outgrow`, as `train` does."""

    def __init__(self, checkpoint, graph, *, callers=4, **options):
        checkpoint, graph = folder_of(checkpoint, "checkpoint"), folder_of(graph)
        self._graph = graph
        self._given = functools.partial(type(self), callers=callers, **options), (checkpoint, graph)
        words = words_of({"checkpoint": checkpoint, "callers": callers, **options})
        self._line = Line([command(), "serve", "--json", "--quiet", *words, "--", graph])
        self._end = weakref.finalize(self, self._line.close)
        self._n = count_of(graph)
        self._no_classes, task = None, said_by(checkpoint).get("task")
        try:
            refuse_others(graph, task, "Predictor.predict", "predictor(nodes) has the numbers of nodes, predictor.edges(src, dst) those of edges")
        except OptionError as why:
            self._no_classes = why
        self.columns, self.info = self._line.about["columns"], self._line.about
        self.classes = np.array(self.info.get("class_names") or range(self.columns or self.info["edge_columns"]))

    def __call__(self, nodes, input_time=None):
        """Logits of these nodes, float32 [n, columns]; for links the decoder's inputs.

        input_time  [n] by models of `time`: no edge of a neighbourhood is later; None: the nodes' own times"""
        nodes = nodes_of(nodes, self._graph)
        if self._n is not None and len(nodes) == self._n > 2 and {*map(str, nodes)} <= {"0", "1"}:
            refuse_zeros_and_ones("nodes", "numbers", len(nodes))
        return self._rows(len(nodes), self.columns, nodes=nodes, **times_of("input_time", input_time, len(nodes)))

    def edges(self, src, dst, edge_attr=None, relation=None, edge_label_time=None):
        """Logits of edges, float32 [n, edge columns], by a model of edges. Scores of pairs, [n], by one of links.

        edge_attr   [n, D] features of the edges, if the model was trained with some
        relation    of the edges, "name" or (source, name, destination): distmult, complex and transe score by it
        edge_label_time  [n] by models of `time`: no edge of a neighbourhood is later. Give t - 1 for an edge of time t, else edges
                    of the same moment count, and itself if it is stored"""
        src, dst = nodes_of(src, self._graph), nodes_of(dst, self._graph)
        if len(src) != len(dst):
            raise OptionError(f"src: {len(src)}, dst: {len(dst)} nodes", "give both ends of each edge")
        more = {} if edge_attr is None else {"edge_attr": np.asarray(edge_attr, np.float64).reshape(len(src), -1 if len(src) else 0).tolist()}
        if relation is not None:
            parts = [relation] if isinstance(relation, str) else relation
            if not isinstance(parts, (tuple, list)) or not all(isinstance(part, str) for part in parts):
                raise OptionError(f"relation: {relation!r}", "give its name, or (source, name, destination)")
            more["relation"] = "__".join(parts)
        rows = self._rows(len(src), self.info["edge_columns"], edges=list(zip(src, dst)), **more,
                          **times_of("edge_label_time", edge_label_time, len(src)))
        return rows.reshape(-1) if self.columns else rows

    def _rows(self, n, columns, **request):
        answer = self._line.ask(**request)
        if "error" in answer:
            raise error_of(answer["code"], answer["error"], answer["hint"])
        rows = np.array(answer["rows"], np.float32)
        if rows.size != n * columns:
            raise OptionError("the model's results are not finite", "its training diverged: see the loss in metrics.jsonl")
        return rows.reshape(n, columns)

    def predict(self, nodes, input_time=None):
        """The class with the largest logit. It is a name, if the model or the dataset has names, else a number."""
        if self._no_classes:
            raise self._no_classes
        return self.classes[self(nodes, input_time).argmax(1)]

    def close(self):
        self._end()

    def __reduce__(self):
        """Another process opens one of its own."""
        return self._given

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
