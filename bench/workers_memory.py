#!/usr/bin/env python3
"""Workers against one process with the same steps: seconds, and the highest memory of all of their processes. The kernel counts it: the sum of their Pss, in which
a page that n processes have counts 1/n for each. One process also runs with N trainers. These compute as many mini-batches at a time as workers do.

    workers_memory.py OUTGROW GRAPH [--workers N] [TRAIN OPTIONS ...]

Parts: `shared` is what workers have in common. `files` are libraries and the command. `own` is the rest.
"""
import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

MAPPING = re.compile(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)")


def read(pid, name):
    try:
        return pathlib.Path(f"/proc/{pid}/{name}").read_text()
    except OSError:
        return ""


def children(pid):
    return [int(x) for x in read(pid, f"task/{pid}/children").split()]


def pss(pid):
    """Bytes, page cache of files that others may drop included."""
    text = read(pid, "smaps_rollup")
    return 1024 * int(text.split("Pss:")[1].split()[0]) if text else 0


def parts(pid):
    """Bytes of each part."""
    sums, of = collections.Counter(), None
    for line in read(pid, "smaps").splitlines():
        mapping = MAPPING.match(line)
        if mapping:
            name = mapping[1]
            of = "shared" if name.startswith("/memfd:") else "files" if name.startswith("/") else "own"
        elif line.startswith("Pss:"):
            sums[of] += 1024 * int(line.split()[1])
    return sums


def together(pids):
    """The smaller of two looks at each: what one gives up in between counts more in others."""
    first = [pss(pid) for pid in pids]
    return sum(min(before, pss(pid)) for before, pid in zip(first, pids))


def measure(command):
    start = time.monotonic()
    job = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak, of = 0, {}
    while job.poll() is None:
        pids = (job.pid, *children(job.pid))
        now = together(pids)
        if now > 1.01 * peak:
            of = sum((parts(pid) for pid in pids), collections.Counter())
        peak = max(peak, now)
        time.sleep(0.02)
    assert job.returncode == 0, command
    return time.monotonic() - start, peak, of


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outgrow")
    parser.add_argument("graph")
    parser.add_argument("--workers", type=int, default=2)
    known, words = parser.parse_known_args()
    n = str(known.workers)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, more in (("one process", []), (f"one, {n} trainers", ["--executors", n]), (f"{n} workers", ["--workers", n])):
            command = [known.outgrow, "train", known.graph, "--run", f"{folder}/run", "--quiet", "--accumulate", n, *words, *more]
            seconds, peak, of = measure(command)
            summary = json.loads(pathlib.Path(folder, "run", "summary.json").read_text())
            epochs = summary["epochs"]
            rows.append((name, seconds, peak, of, sum(e["hits"] for e in epochs) / sum(e["rows"] for e in epochs), summary["test_acc"]))
            shutil.rmtree(f"{folder}/run")
    planned = summary["plan"]["memory"]
    print("                    seconds   peak MiB   of one's   shared   files     own   rows from the cache   test accuracy")
    for name, seconds, peak, of, hits, accuracy in rows:
        mib = "".join(f"{of[part] / 2**20:8.0f}" for part in ("shared", "files", "own"))
        print(f"{name:16}{seconds:11.1f}{peak / 2**20:11.0f}{peak / rows[0][2]:11.2f}{mib}{100 * hits:20.1f} %{accuracy:16.4f}")
    print("planned of each worker, MiB: " + ", ".join(f"{part} {planned[part] / 2**20:.1f}" for part in planned
                                                      if part not in ("limit", "smallest", "slack") and planned[part] > 2**19))


main()
