"""Functions that require models: they run the command.

The extension is built without models. oneDNN uses its own OpenMP. Two OpenMP runtimes in one process (the other is PyTorch's) have
slowed programs down and given wrong results. A separate process avoids that.
"""
import contextlib
import glob
import hashlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

import numpy as np

from ._errors import Error, FileError, OptionError, error_of
from ._ids import is_zero_one, refuse_mask
from ._meta import meta_of
from ._names import is_words
from ._options import cache_folder, folder_of, texts_of
from ._results import Result
from ._words import choices, in_python

log = logging.getLogger("outgrow")
INTERRUPTED, FOUND = 130, 1
OWN_FLAGS = {"alternate", "full", "json", "json-epochs", "names", "overwrite", "probabilities", "quiet"}  # of the command alone
SAYS = "outgrow: "      # how a message begins, unlike progress
EPOCH = '{"progress":'  # how a line of train --json-epochs begins


def command():
    """Path of the command: $OUTGROW_COMMAND, else `outgrow` on the PATH."""
    named = os.environ.get("OUTGROW_COMMAND")
    found = shutil.which(named or "outgrow")
    if found:
        return found
    raise FileError(f"{named}: OUTGROW_COMMAND names no program" if named else "outgrow: the command is not on the PATH",
                    "train, predict, evaluate, plan and doctor run the command: build it with `make`, then `make install`, "
                    "or set OUTGROW_COMMAND to build/release/outgrow", -2)


def words_of(options):
    """Options as words of a command line. Flags have no value, and appear only if set. What is no flag keeps its value, so that the command refuses it by name."""
    texts = texts_of(options)
    if (shuffle := texts.pop("shuffle", None)) is not None:
        if shuffle not in ("true", "false"):
            raise OptionError(f"shuffle: {shuffle!r}", "give True or False")
        texts["no-shuffle"] = "true" if shuffle == "false" else "false"
    flags = OWN_FLAGS.union(name for name, words in choices().items() if words is None)
    for name, text in texts.items():
        text = {"1": "true", "0": "false"}.get(text, text) if name in flags else text
        if name not in flags:
            yield f"--{name}={text}"
        elif text == "true":
            yield f"--{name}"
        elif text != "false":
            raise OptionError(f"{name.replace('-', '_')}: {text!r}", "give True or False")


def error_from(status, out, said):
    """The exception of a failed command. With --json its output ends with an object of `code`, `error` and `hint`."""
    try:
        found = json.loads(out[out.rfind("\n{\n") + 1:])
        return error_of(found["code"], found["error"], found["hint"])
    except (ValueError, KeyError, TypeError):  # it was killed, or could not report
        return Error(f"the command ended with status {status}" + (f": {said.strip()}" if said else "; its output is above"))


def ended(process):
    """Both outputs of the process; forwards Ctrl-C once, and waits."""
    try:
        return process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.communicate()
        raise


def start(name, /, *args, progress=False, **options):
    """The process of `outgrow name args --options --json`."""
    words = [command(), name, "--json", *([] if progress else ["--quiet"]), *words_of(options), "--", *map(folder_of, args)]
    # Which it calls for Parquet. A program that embeds Python may not know its interpreter.
    env = {**({"OUTGROW_PYTHON": sys.executable} if sys.executable else {}), **os.environ}
    # Its own process group: a terminal's Ctrl-C reaches it once, through us.
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=None if progress else subprocess.PIPE,
                            text=True, process_group=0, env=env)


def result_of(process, out, said, finds=False):
    """What an ended process returns, or the exception. With `finds`, status 1 with a result is none."""
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if process.returncode != 0 and not (finds and process.returncode == FOUND and out.startswith("{") and "error" not in json.loads(out)):
        raise error_from(process.returncode, out, said or "")
    for line in (said or "").splitlines():
        log.warning("%s", in_python(line.removeprefix(SAYS)))
    return Result(json.loads(out))


def run(name, /, *args, progress=False, **options):
    """Run `outgrow name args --options --json`; returns its output as a dict."""
    with start(name, *args, progress=progress, **options) as process:
        out, said = ended(process)
    return result_of(process, out, said)


class Epochs:
    """Who follows the epochs of a run: tqdm's bar, TensorBoard, a callback."""

    def __init__(self, total, progress, tensorboard, on_epoch):
        if on_epoch is not None and not callable(on_epoch):
            raise OptionError(f"on_epoch: {on_epoch!r}", "give a function of an epoch's metrics")
        self.bar, self.board, self.on_epoch, self.seen = None, None, on_epoch, []
        if progress:
            try:
                from tqdm.auto import tqdm
                self.bar = tqdm(total=total, desc="epochs")
            except ImportError:
                pass
        if tensorboard is not None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as why:
                self.close()
                raise Error("tensorboard: it is not installed here", "pip install torch tensorboard, or use on_epoch") from why
            self.board = SummaryWriter(os.fspath(tensorboard))

    def wanted(self):
        return self.bar is not None or self.board is not None or self.on_epoch is not None

    def add(self, epoch):
        """Whether the run is to stop."""
        self.seen.append(epoch)
        if self.bar is not None:
            self.bar.set_postfix({k: epoch[k] for k in ("loss", "valid_acc") if isinstance(epoch.get(k), float)}, refresh=False)
            self.bar.update(1)
        if self.board is not None:
            for name, value in epoch.items():
                if isinstance(value, (int, float)) and name != "epoch":
                    self.board.add_scalar(name, value, epoch["epoch"])
        return bool(self.on_epoch and self.on_epoch(epoch))

    def close(self):
        for one in self.bar, self.board:
            if one is not None:
                one.close()


def follow(process, epochs):
    """Both outputs of the process, and whether a callback stopped it."""
    said, rest, stopped = [], [], False
    reader = threading.Thread(target=lambda: said.extend(process.stderr or ()), daemon=True)
    reader.start()  # a full pipe would block the command
    try:
        for line in process.stdout:
            if not line.startswith(EPOCH):
                rest.append(line)
            elif not stopped and epochs.add(json.loads(line)["progress"]):
                stopped = True
                process.send_signal(signal.SIGINT)
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        raise
    finally:
        process.wait()
        reader.join()
    return "".join(rest), "".join(said), stopped


def count_of(dataset):
    """Number of nodes, or None, where the command says what is wrong."""
    try:
        return meta_of(dataset)["num_nodes"]
    except (FileError, ValueError, KeyError, TypeError):
        return None


TO_WRITE = 'give the file to write: "pred.npy", or "pred.csv" for a table'


def order_of(dataset):
    """The file with the order of nodes, where it is not that of a table; or None."""
    dataset = folder_of(dataset)
    names = sorted(glob.glob(f"{glob.escape(dataset)}/node_names*.npy"))
    return os.path.basename(names[0]) if names else "node_ids.npy" if os.path.exists(f"{dataset}/node_ids.npy") else None


def ids_of(nodes, dataset, distinct=False):
    """Rows of nodes, or bytes: names, and numbers where the dataset has ids of a table. Zeros and ones are a mask too if ids must be distinct."""
    if np.ma.is_masked(nodes):
        raise OptionError("nodes: a masked array with masked values", "give ids: compressed()")
    try:
        ids = np.asarray(nodes.detach().cpu() if hasattr(nodes, "detach") else nodes)
    except ValueError:  # lists of several lengths
        ids = np.empty((0, 0), object)
    if ids.ndim == 1 and ids.size and is_words(ids):
        return np.char.encode(ids.astype(str), "utf-8") if ids.dtype.kind != "S" else ids
    n = count_of(dataset) if ids.dtype == bool or distinct else None
    if n is not None and ids.ndim == 1 and (ids.dtype == bool or distinct and n > 2 and ids.dtype.kind in "iu" and is_zero_one(ids, n)):
        if len(ids) != n:
            refuse_mask(ids, "nodes", n)
        if order := order_of(dataset):
            raise OptionError(f"nodes: a mask, and nodes of {dataset} are in the order of {order}, not of a table", 'give ids: nodes=table["id"][mask]')
        return np.flatnonzero(ids)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise OptionError(f"nodes: an array of {ids.ndim} dimensions of {ids.dtype}", "pass a list of node ids, or a mask")
    if ids.dtype == np.uint64 and ids.size and ids.max() >= 1 << 63:
        raise OptionError(f"nodes: {int(ids.max())}", "ids are below 2^63: look for a -1 that was cast to uint64")
    return np.char.mod("%d", ids).astype("S") if os.path.exists(f"{folder_of(dataset)}/node_ids.npy") else ids.astype(np.int64)


def numbers_of(name, value):
    """A list or array of numbers."""
    try:
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    except ValueError:  # lists of several lengths
        array = np.empty((0, 0), object)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise OptionError(f"{name}: an array of {array.ndim} dimensions of {array.dtype}", "pass a list of numbers, or the path of a .npy file")
    return array


FILES = "class_weights", "seed_weights", "order", "nodes"
RESUMED = "class_weights", "seed_weights", "order"  # a resumed run is given them again


def saved(folder, name, array):
    """The file of an array, which its contents name."""
    path = f"{folder}/{name}-{hashlib.blake2b(array.tobytes() + array.dtype.str.encode(), digest_size=8).hexdigest()}.npy"
    os.makedirs(folder, exist_ok=True)
    part = f"{path}.{os.getpid()}"
    with open(part, "wb") as f:
        np.save(f, array)
    os.replace(part, path)
    return path


@contextlib.contextmanager
def in_files(options, dataset=None):
    """The options, with arrays and lists of FILES as .npy files. Those of RESUMED stay in the cache, as config.yaml of a run names them. Nodes are the dataset's."""
    given = {name: options[name] for name in FILES if options.get(name) is not None and not isinstance(options[name], (str, os.PathLike))}
    with tempfile.TemporaryDirectory() as folder:
        def array(name, value):
            return ids_of(value, dataset, True) if name == "nodes" else numbers_of(name, value)
        files = {name: saved(os.path.join(cache_folder(), "arrays") if name in RESUMED else folder, name, array(name, value)) for name, value in given.items()}
        try:
            yield {**options, **files}
        except Error as why:
            if not any(path in str(why) for path in files.values()):
                raise
            message, hint = why.message, why.hint
            for name, path in files.items():
                message, hint = message.replace(f"{name} {path}", name).replace(path, name), hint.replace(path, name)
            raise type(why)(message, hint, why.code) from None


def doctor(path=None, *, scratch=None):
    """Find what makes training slow or impossible, with remedies. Checks this machine, a dataset, or the folder of a run. Returns the
    output of `outgrow doctor --json`; a check whose verdict is "stops" raises nothing. Runs the command (see `train`)."""
    with start("doctor", *([] if path is None else [path]), **({} if scratch is None else {"scratch": scratch})) as process:
        out, said = ended(process)
    return result_of(process, out, said, finds=True)


def plan(dataset, *, progress=False, **options):
    """Plan training with these options: memory, hits, reads and time, as plan.json. Runs the command (see `train`). A Loader's
    own plan is `Loader.plan`."""
    with in_files(options) as options:
        return run("plan", dataset, progress=progress, **options)


def train(dataset, *, progress=False, on_epoch=None, tensorboard=None, **options):
    """Train one of the library's models; returns summary.json. Options are those of `outgrow train`, with _ for -: model="sage",
    fanout=[10, 10], memory="4G", run="runs/first", resume=True, ...

    on_epoch     called with the metrics of each epoch, a dict as in summary.json. If it returns a true value the run stops, and
                 `resume=True` continues it; the result then has the epochs so far and "stopped_by".
    tensorboard  a folder for TensorBoard, if that is installed
    progress     tqdm's bar of epochs, or without tqdm the command's own on stderr

    class_weights, seed_weights and order may be arrays or lists.

    Runs the command `outgrow` from the PATH or $OUTGROW_COMMAND, because this package has no models. Ctrl-C stops it as in a
    shell; `resume=True` continues."""
    epochs = Epochs(options.get("epochs"), progress, tensorboard, on_epoch)
    try:
        with in_files(options) as options:
            if not epochs.wanted():
                return run("train", dataset, progress=progress, **options)
            with start("train", dataset, progress=progress and epochs.bar is None, json_epochs=True, **options) as process:
                out, said, stopped = follow(process, epochs)
        if stopped and process.returncode == INTERRUPTED:
            return Result(epochs=epochs.seen, stopped_epoch=epochs.seen[-1]["epoch"], stopped_by="on_epoch")
        return result_of(process, out, said)
    finally:
        epochs.close()


def predict(dataset, checkpoint, out, *, progress=False, **options):
    """Compute the logits of every node with all its neighbours, float32 [N, C] in the .npy file `out`. Also embeddings="emb.npy".
    With out="pred.csv" a table with the source's ids and the model's names of classes. nodes= selects some: "test", "unlabelled", a file,
    names, ids of the table. Also probabilities=True, top_k=3, dtype="f16", overwrite=True. Returns counters of
    reads and writes. Runs the command (see `train`)."""
    with in_files(options, dataset) as options:
        return run("predict", dataset, progress=progress, checkpoint=folder_of(checkpoint, "checkpoint"), out=folder_of(out, "out", TO_WRITE), **options)


def smooth(dataset, predictions, out, *, progress=False, **options):
    """Correct and smooth predictions along the edges (Correct & Smooth). It gains where neighbours often share a class. `predictions` are of
    predict(..., probabilities=True): .npy, or a table. `out` as in `predict`. Returns accuracies before and after. Runs the command (see
    `train`)."""
    return run("smooth", dataset, folder_of(predictions, "predictions"), progress=progress, out=folder_of(out, "out", TO_WRITE), **options)


def evaluate(dataset, checkpoint, *, split="test", progress=False, **options):
    """Evaluate a checkpoint on a split: loss and metrics. full=True uses all neighbours. Runs the command (see `train`)."""
    return run("eval", dataset, progress=progress, checkpoint=folder_of(checkpoint, "checkpoint"), split=split, **options)
