#!/usr/bin/env python3
"""--pack-dtype against NumPy: a run has the checkpoint, byte for byte, of one over features that NumPy converted.

    pack_dtype.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = sys.argv[1]
BASE = ["--fanout", "5,5", "--batch", "200", "--epochs", "2", "--hidden", "16", "--memory", "96M", "--threads", "2", "--quiet"]


def run(*args):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0, (args, done.stderr)


def trained(dataset, *options):
    shutil.rmtree("run", ignore_errors=True)
    run("train", dataset, "--run", "run", *BASE, *options)
    return pathlib.Path("run/checkpoint.safetensors").read_bytes()


def bfloat16(x):
    """As uint16: x is between two numbers whose bits are its upper half and the next. The nearer, or the even one."""
    bits = x.view(np.uint32)
    low, high = bits & 0xFFFF0000, (bits & 0xFFFF0000) + 0x10000
    below = np.abs(x.astype(np.float64) - low.view(np.float32))
    above = np.abs(high.view(np.float32) - x.astype(np.float64))
    up = (above < below) | ((above == below) & ((low >> 16) % 2 == 1))
    return (np.where(up, high, low) >> 16).astype(np.uint16)


def converted(dtype):
    shutil.copytree("graph", dtype)
    x = np.load("graph/features.npy")
    np.save(f"{dtype}/features.npy", x.astype(np.float16) if dtype == "f16" else bfloat16(x))
    meta = json.loads(pathlib.Path("graph/meta.json").read_text())
    del meta["checksums"]
    pathlib.Path(dtype, "meta.json").write_text(json.dumps({**meta, "feature_dtype": dtype}))


def check_inference(dtype):
    """All nodes, layer by layer: from the converted features, not those that are stored. Files are read as they are."""
    checkpoint = ["--checkpoint", "run/checkpoint.safetensors", "--memory", "64M", "--threads", "2", "--quiet"]
    told = {}
    for name, graph, options in (("stored", "graph", []), ("asked", "graph", ["--pack-dtype", dtype]), ("same", dtype, []), ("said", dtype, ["--pack-dtype", dtype])):
        run("predict", graph, *checkpoint, *options, "--out", f"{dtype}-{name}.npy", "--embeddings", f"{dtype}-{name}-last.npy")
        told[name] = json.loads(subprocess.run([OUTGROW, "eval", graph, *checkpoint, *options, "--full", "--json"], capture_output=True, text=True, check=True).stdout)
    for end in (".npy", "-last.npy"):
        read = lambda name: pathlib.Path(f"{dtype}-{name}{end}").read_bytes()
        assert read("asked") == read("same") == read("said") != read("stored"), (dtype, end)
    assert told["asked"]["metrics"] == told["same"]["metrics"] != told["stored"]["metrics"], (dtype, told)
    least = {name: of["layers"][0]["bytes_least"] for name, of in told.items()}
    assert least["asked"] == least["stored"] > least["same"], least


os.chdir(tempfile.mkdtemp(prefix="og-pack-dtype-"))
os.environ["XDG_CACHE_HOME"] = os.getcwd()
try:
    run("generate", "graph", "--nodes", 4000, "--dim", 33, "--quiet")
    stored = trained("graph")
    for dtype in ("f16", "bf16"):
        converted(dtype)
        want = trained(dtype)
        assert want != stored
        for way in (["--layout", "raw"], ["--layout", "packed", "--policy", "frequency", "--cache", "10%"],
                    ["--layout", "segmented", "--policy", "degree", "--cache", "5%"]):
            assert trained("graph", "--pack-dtype", dtype, *way) == want, (dtype, way)
        check_inference(dtype)
finally:
    shutil.rmtree(os.getcwd())
