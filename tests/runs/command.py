"""The command under test, whose path is the first argument, and the runs that it makes."""
import json
import os
import pathlib
import subprocess
import sys

OUTGROW = os.path.abspath(sys.argv[1])


def run(*args, fails=False):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (args, done.stderr)
    return done


def same(one, other, figures):
    """These figures of every epoch, and the bytes of both models."""
    rows = [[[e[key] for key in figures] for e in json.loads(pathlib.Path(name, "summary.json").read_text())["epochs"]] for name in (one, other)]
    assert rows[0] == rows[1], (one, other, rows)
    for name in "checkpoint.safetensors", "best.safetensors":
        assert pathlib.Path(one, name).read_bytes() == pathlib.Path(other, name).read_bytes(), (one, other, name)
