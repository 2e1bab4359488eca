"""Functions that require models: they run the command.

The extension is built without models. oneDNN uses its own OpenMP. Two OpenMP runtimes in one process (the other is PyTorch's) have
slowed programs down and given wrong results. A separate process avoids that.
"""
import json
import logging
import os
import shutil
import signal
import subprocess

from ._errors import Error, FileError, OptionError
from ._options import texts_of

log = logging.getLogger("outgrow")
INTERRUPTED, USAGE = 130, 2


def command():
    """Path of the command: $OUTGROW_COMMAND, else `outgrow` on the PATH."""
    named = os.environ.get("OUTGROW_COMMAND")
    found = shutil.which(named or "outgrow")
    if found:
        return found
    raise FileError(f"{named}: OUTGROW_COMMAND names no program" if named else "outgrow: the command is not on the PATH",
                    "train, predict, evaluate and plan run the command: build it with `make`, then `make install`, "
                    "or set OUTGROW_COMMAND to build/release/outgrow", -2)


def words_of(options):
    """Options as words of a command line. Flags have no value, and appear only if set."""
    for name, text in texts_of(options).items():
        if text == "true":
            yield f"--{name}"
        elif text != "false":
            yield f"--{name}={text}"


def error_from(status, said):
    """The exception for the command's output: `outgrow: <message>` and optionally `hint: <hint>`."""
    lines = [line for line in said.splitlines() if line]
    at = max((i for i, line in enumerate(lines) if line.startswith("outgrow: ")), default=None)
    if at is None:
        return Error(f"the command ended with status {status}" + (f": {said.strip()}" if said else "; its output is above"))
    hint = lines[at + 1].removeprefix("hint: ") if lines[at + 1:] and lines[at + 1].startswith("hint: ") else ""
    return (OptionError if status == USAGE else Error)(lines[at].removeprefix("outgrow: "), hint)


def ended(process):
    """Both outputs of the process; forwards Ctrl-C once, and waits."""
    try:
        return process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.communicate()
        raise


def run(name, *args, progress=False, **options):
    """Run `outgrow name args --options --json`; returns its output as a dict."""
    words = [command(), name, "--json", *([] if progress else ["--quiet"]), *words_of(options), "--", *map(os.fspath, args)]
    # Its own process group: a terminal's Ctrl-C reaches it once, through us.
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=None if progress else subprocess.PIPE,
                          text=True, process_group=0) as process:
        out, said = ended(process)
    if process.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if process.returncode != 0:
        raise error_from(process.returncode, said or "")
    for line in (said or "").splitlines():
        log.warning("%s", line.removeprefix("outgrow: "))
    return json.loads(out)


def plan(dataset, *, progress=False, **options):
    """Plan training with these options: memory, hits, reads and time, as plan.json. Runs the command (see `train`). A Loader's
    own plan is `Loader.plan`."""
    return run("plan", dataset, progress=progress, **options)


def train(dataset, *, progress=False, **options):
    """Train one of the library's models; returns summary.json. Options are those of `outgrow train`, with _ for -: model="sage",
    fanout=[10, 10], memory="4G", run="runs/first", resume=True, ...

    Runs the command `outgrow` from the PATH or $OUTGROW_COMMAND, because this package has no models. Ctrl-C stops it as in a
    shell; `resume=True` continues. With progress=True its progress bar is on stderr."""
    return run("train", dataset, progress=progress, **options)


def predict(dataset, checkpoint, out, *, progress=False, **options):
    """Compute the logits of every node with all its neighbours, float32 [N, C] in the .npy file `out`; also embeddings="emb.npy".
    Returns counters of reads and writes. Runs the command (see `train`)."""
    return run("predict", dataset, progress=progress, checkpoint=checkpoint, out=out, **options)


def evaluate(dataset, checkpoint, *, split="test", progress=False, **options):
    """Evaluate a checkpoint on a split: loss and metrics. full=True uses all neighbours. Runs the command (see `train`)."""
    return run("eval", dataset, progress=progress, checkpoint=checkpoint, split=split, **options)
