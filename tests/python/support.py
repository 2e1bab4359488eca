"""What the tests of the Python package share. Each is a program:

    NAME.py OUTGROW     with the package on PYTHONPATH and the command OUTGROW. Exits 77 where what it needs is not installed
"""
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import outgrow
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

COMMAND = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "outgrow"
os.environ["OUTGROW_COMMAND"] = COMMAND
NODES, EDGES, DIM, CLASSES = 2000, 16000, 24, 5


def need(*names):
    """Modules by name, or the end of the test."""
    import importlib
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(77)


def command(*words):
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def arrays_of_a_graph(seed=1, nodes=NODES, edges=EDGES, dtype=np.float32):
    """Hubs, loops, equal edges, and nodes without any."""
    rng = np.random.default_rng(seed)
    src = (rng.random(edges) ** 3 * nodes).astype(np.int64)
    dst = rng.integers(0, nodes - nodes // 20, edges)
    ids = rng.permutation(nodes)
    x = rng.standard_normal((nodes, DIM)) * 3
    return {"edge_index": np.stack([src, dst]), "x": x.astype(dtype), "y": rng.integers(0, CLASSES, nodes), "train": ids[:nodes // 2],
            "valid": ids[nodes // 2:-nodes // 4], "test": ids[-nodes // 4:], "edge_weight": rng.random(edges).astype(np.float32)}


def options_of(given):
    """Keyword arguments as words of the command."""
    for name, value in given.items():
        if value is not True:
            yield f"--{name.replace('_', '-')}={','.join(map(str, value)) if isinstance(value, list) else value}"
        else:
            yield f"--{name.replace('_', '-')}"


class Trace:
    """What `outgrow sample --with-features` wrote, read by NumPy alone."""

    def __init__(self, folder):
        self.arrays = {}
        for name in os.listdir(folder):
            if name.endswith(".npy"):
                self.arrays[name[:-4]] = np.load(os.path.join(folder, name))
        with open(os.path.join(folder, "trace.json")) as f:
            self.about = json.load(f)
        self.hops = max(int(name[3:-4]) for name in self.arrays if name.startswith("hop") and name.endswith("_src"))

    def part(self, name, b, of=None):
        ptr = self.arrays[f"{of or name}_ptr"]
        return self.arrays[name][ptr[b]:ptr[b + 1]]

    def epoch(self, e):
        """Numbers of the batches of epoch e, from 1."""
        n = self.about["batches_per_epoch"]
        return range((e - 1) * n, e * n)


def sample(dataset, out, **options):
    command("sample", dataset, "--out", out, "--with-features", "--quiet", *options_of(options))
    return Trace(out)


def same(what, got, want):
    assert got.shape == want.shape and np.array_equal(got, want), (what, got.shape, want.shape, got.ravel()[:8], want.ravel()[:8])


def options_of_a_shell(text):
    """Options as --name, which Python cannot type, outside of commands in backticks."""
    return re.findall(r"--[a-z][a-z-]*", re.sub(r"`[^`]*`", "", text))


@contextlib.contextmanager
def raises(kind, *words):
    seen = []
    try:
        yield seen
    except kind as error:
        seen.append(error)
        assert all(word in str(error) for word in words), (words, str(error))
        assert not options_of_a_shell(str(error)), str(error)
    else:
        raise AssertionError(f"{kind.__name__} expected")


def warned(call):
    """What is warned of meanwhile, at this package's callers."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call()
    assert not any(options_of_a_shell(str(w.message)) for w in said), [str(w.message) for w in said]
    assert not any("outgrow/" in w.filename for w in said), [w.filename for w in said]
    return [str(w.message) for w in said]


def main(names):
    """Run every function test_* of a program, or those named after OUTGROW. The folder is a new one."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, test in list(names.items()):
            if name.startswith("test_") and (not sys.argv[2:] or name in sys.argv[2:]):
                test()
                print(f"{name}: ok", flush=True)
        os.chdir("/")
