#!/usr/bin/env python3
"""Figures of docs/gallery: each graph trained as its page says, and with the defaults that the page changes. Means and standard deviations over seeds.

    bench/gallery.py [--outgrow PATH] [--data DIR] [--pages DIR] [--scratch DIR] [--seeds 5] [--graphs NAME,...] [--ways page,defaults]

The commands are those of the pages. `defaults` leaves out what docs/guides/training-practice.md describes: optimizer, schedule, warm-up, clipping and patience.
Seconds are those of a whole run, evaluation included. Memory is the peak without the program itself.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import statistics

import suite
from suite import Suite, table

PRACTICE = "--optimizer", "--lr-schedule", "--warmup", "--lr-min", "--clip", "--patience", "--min-delta"


def commands(page):
    """Words of the page's commands of outgrow, by their name."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", page.read_text(), re.M | re.S)
    found = [shlex.split(line) for block in blocks for line in block.replace("\\\n", " ").splitlines() if line.startswith("outgrow ")]
    return {words[1]: words[2:] for words in found}


def defaults_of(words):
    """Without what the guide describes. A decay of adamw goes with it: of adam it is another thing."""
    return without(words, (*PRACTICE, "--weight-decay") if "--optimizer" in words else PRACTICE)


def without(words, names):
    out, skip = [], False
    for word in words:
        if not skip and word not in names:
            out.append(word)
        skip = not skip and word in names
    return out


def figure(summary):
    """The test figure that the page selects by."""
    return 100 * summary["test_metrics"][summary["best_by"]]


def spread(values, digits=2):
    return f"{statistics.mean(values):.{digits}f} ({statistics.stdev(values) if len(values) > 1 else 0:.{digits}f})"


def measure(b, dataset, options, seeds):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    runs = [b.train(dataset, *options, "--seed", seed) for seed in range(1, seeds + 1)]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / seeds
    return [spread([figure(run) for run in runs]), spread([run["seconds"] for run in runs], 1), f"{cpu:.1f}", f"{statistics.mean(run['best_epoch'] for run in runs):.0f}",
            f"{statistics.mean(run['stopped_epoch'] for run in runs):.0f}", f"{max(run['peak_rss_bytes'] for run in runs) / 2**20:.0f}"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(suite.ROOT / "build/release/outgrow"))
    p.add_argument("--data", default=os.environ.get("OUTGROW_DATA", str(suite.ROOT / "../shared/data")))
    p.add_argument("--pages", default=str(suite.ROOT / "docs/gallery"))
    p.add_argument("--scratch", default=None)
    p.add_argument("--graphs", default=None)
    p.add_argument("--ways", default="page,defaults")
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--threads", type=int, default=2)
    args = p.parse_args()
    args.reader = None
    pages = [pathlib.Path(args.pages) / f"{name}.md" for name in args.graphs.split(",")] if args.graphs else sorted(pathlib.Path(args.pages).glob("*.md"))
    b, rows = Suite(args), []
    try:
        for page in pages:
            words = commands(page)
            if "import" not in words:
                continue
            dataset = b.scratch / page.stem
            source, options = words["import"][1], words["import"][3:]
            b.run("import", words["import"][0], pathlib.Path(args.data) / source, dataset, *options)
            training = [*without(words["train"][1:], ["--run", "--seed"]), "--threads", args.threads]
            for way in args.ways.split(","):
                rows.append([page.stem, way, *measure(b, dataset, training if way == "page" else defaults_of(training), args.seeds)])
                print(json.dumps(rows[-1]), flush=True)
            shutil.rmtree(dataset)
    finally:
        shutil.rmtree(b.scratch, ignore_errors=True)
    table("The gallery", ["graph", "options", f"test figure % ({args.seeds} seeds)", "seconds", "CPU seconds", "best epoch", "epochs", "MiB"], rows)


if __name__ == "__main__":
    main()
