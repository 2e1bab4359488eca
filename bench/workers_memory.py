#!/usr/bin/env python3
"""Workers against one process with the same steps: seconds, and the highest memory of all of their processes. The kernel counts it: the sum of their Pss, in which
a page that n processes have counts 1/n for each.

    workers_memory.py OUTGROW GRAPH [--workers N] [TRAIN OPTIONS ...]
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile
import time


def children(pid):
    try:
        return [int(x) for x in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def pss(pid):
    """Bytes, page cache of files that others may drop included."""
    try:
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return 1024 * int(text.split("Pss:")[1].split()[0])


def together(pids):
    """The smaller of two looks at each: what one gives up in between counts more in others."""
    first = [pss(pid) for pid in pids]
    return sum(min(before, pss(pid)) for before, pid in zip(first, pids))


def measure(command):
    start = time.monotonic()
    job = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0
    while job.poll() is None:
        peak = max(peak, together((job.pid, *children(job.pid))))
        time.sleep(0.02)
    assert job.returncode == 0, command
    return time.monotonic() - start, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outgrow")
    parser.add_argument("graph")
    parser.add_argument("--workers", type=int, default=2)
    known, words = parser.parse_known_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n in (1, known.workers):
            run = f"{folder}/{n}"
            command = [known.outgrow, "train", known.graph, "--run", run, "--quiet", "--accumulate", str(known.workers), *words]
            seconds, peak = measure(command + (["--workers", str(n)] if n > 1 else []))
            summary = json.loads(pathlib.Path(run, "summary.json").read_text())
            epochs = summary["epochs"]
            rows.append((n, seconds, peak, sum(e["hits"] for e in epochs) / sum(e["rows"] for e in epochs), summary["test_acc"]))
            shutil.rmtree(run)
    print("workers   seconds   peak MiB   of one's   rows from the cache   test accuracy")
    for n, seconds, peak, hits, accuracy in rows:
        print(f"{n:7}{seconds:10.1f}{peak / 2**20:11.0f}{peak / rows[0][2]:11.2f}{100 * hits:19.1f} %{accuracy:16.4f}")


main()
