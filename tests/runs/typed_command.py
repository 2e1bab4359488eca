"""The command under test, as the tests of heterogeneous graphs call it: its path is their first argument."""
import os
import pathlib
import subprocess
import sys

OUTGROW = os.path.abspath(sys.argv[1])
SANITIZED = any(word in pathlib.Path(OUTGROW).read_bytes() for word in (b"__asan_init", b"__tsan_init"))  # which has memory of its own

STEP = int(os.environ.get("OG_WAYS_STEP", 1))


def some(ways, turn, n):
    """The repetitions of a run that are made: all, or one in OG_WAYS_STEP, at least one in n. OG_WAYS_STEP is for builds that are slow and test something
    else. Each turn takes others."""
    step = min(STEP, n)
    return list(ways)[turn % step::step]


def outgrow(*args):
    return subprocess.run([OUTGROW, *map(str, args), "--quiet"], capture_output=True, text=True)


def run(*args):
    done = outgrow(*args)
    assert done.returncode == 0, (args, done.stderr)
    return done.stdout


def refused(*args):
    done = outgrow(*args)
    assert done.returncode == 1, (args, done.returncode, done.stderr)
    assert "hint: " in done.stderr, (args, done.stderr)
    return done.stderr
