"""Functions that need the model part: they run the command.

The extension is built without it. oneDNN brings an OpenMP of its own, and two of them in one process, PyTorch's being
the other, have slowed programs down and given wrong results. In a process of its own it harms nobody.
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
                    "train, predict, evaluate and plan run the command: `make` builds build/release/outgrow; put it on the PATH "
                    "(make install), or let OUTGROW_COMMAND name it", -2)


def words_of(options):
    """Options as words of a command line. Flags stand alone, and only if they are set."""
    for name, text in texts_of(options).items():
        if text == "true":
            yield f"--{name}"
        elif text != "false":
            yield f"--{name}={text}"


def error_from(status, said):
    """The exception for what the command wrote: `outgrow: <message>` and perhaps `hint: <hint>`."""
    lines = [line for line in said.splitlines() if line]
    at = max((i for i, line in enumerate(lines) if line.startswith("outgrow: ")), default=None)
    if at is None:
        return Error(f"the command ended with status {status}" + (f": {said.strip()}" if said else "; what it said is above"))
    hint = lines[at + 1].removeprefix("hint: ") if lines[at + 1:] and lines[at + 1].startswith("hint: ") else ""
    return (OptionError if status == USAGE else Error)(lines[at].removeprefix("outgrow: "), hint)


def ended(process):
    """What it wrote to both; Ctrl-C is passed on once, and waited for."""
    try:
        return process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.communicate()
        raise


def run(name, *args, progress=False, **options):
    """`outgrow name args --options --json`: what it prints, as a dict."""
    words = [command(), name, "--json", *([] if progress else ["--quiet"]), *words_of(options), "--", *map(os.fspath, args)]
    # A process group of its own: a terminal's Ctrl-C reaches it through us, not twice.
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
    """What training with these options would keep where and read, and how long it would take: plan.json.
    Runs the command (see `train`). A Loader's own plan is `Loader.plan`."""
    return run("plan", dataset, progress=progress, **options)


def train(dataset, *, progress=False, **options):
    """Train one of the library's own models: summary.json. Options are those of `outgrow train`, with _ for -: model="sage",
    fanout=[10, 10], memory="4G", run="runs/first", resume=True, ...

    Runs the command `outgrow`, found on the PATH or named by $OUTGROW_COMMAND, since this package has no model part. Ctrl-C
    stops it as it does in a shell: `resume=True` goes on. With progress=True it writes its bar to stderr."""
    return run("train", dataset, progress=progress, **options)


def predict(dataset, checkpoint, out, *, progress=False, **options):
    """The logits of every node, float32 [N, C] in the .npy file `out`, layer by layer with all neighbours; also
    embeddings="emb.npy". Returns what was read and written. Runs the command (see `train`)."""
    return run("predict", dataset, progress=progress, checkpoint=checkpoint, out=out, **options)


def evaluate(dataset, checkpoint, *, split="test", progress=False, **options):
    """Loss and metrics of a checkpoint on a split; full=True takes all neighbours. Runs the command (see `train`)."""
    return run("eval", dataset, progress=progress, checkpoint=checkpoint, split=split, **options)
