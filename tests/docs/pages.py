#!/usr/bin/env python3
"""Every block of a page that is marked `sh` runs as it is. Those of a page run in order, in one folder.
Pages of docs/gallery have a graph of their name in the folder OUTGROW_DATA, or do not run. They train one epoch.

    pages.py OUTGROW DOCS [PAGE...]      exits 77 without NumPy
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

try:
    import numpy  # noqa: F401, used by blocks
except ImportError:
    sys.exit(77)

OUTGROW, DOCS = (os.path.abspath(word) for word in sys.argv[1:3])


def pages():
    found = sorted(pathlib.Path(DOCS).glob("*/*.md"))
    return [path for path in found if len(sys.argv) < 4 or path.stem in sys.argv[3:]]


def blocks_of(path, folder):
    blocks = re.findall(r"^```sh\n(.*?)^```$", path.read_text(), re.M | re.S)
    if path.parent.name != "gallery" or not blocks:
        return blocks
    graph = pathlib.Path(os.environ.get("OUTGROW_DATA", "absent"), path.stem)
    if not graph.is_dir():
        return []
    os.symlink(graph.resolve(), f"{folder}/{path.stem}")
    return [re.sub(r"--epochs \d+", "--epochs 1", block) for block in blocks]


def run_page(path, folder):
    """The number of its blocks."""
    blocks = blocks_of(path, folder)
    search = f"{folder}/bin:{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
    os.makedirs(f"{folder}/bin")
    os.symlink(OUTGROW, f"{folder}/bin/outgrow")
    for block in blocks:
        done = subprocess.run(["sh", "-euc", block], cwd=folder, env={**os.environ, "PATH": search}, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{path}:\n{block}\n{done.stdout}{done.stderr}"
    return len(blocks)


def main():
    blocks = 0
    for path in pages():
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            n = run_page(path, folder)
        if n:
            print(f"{path.parent.name}/{path.name}: {n} blocks, {time.monotonic() - began:.1f} s", flush=True)
        blocks += n
    assert blocks or not pages(), "no block was found"


main()
