#!/usr/bin/env python3
"""SIGKILL at random moments: what is started next works, and ends with the bytes of an unbroken run.

    bench/kills.py [--outgrow PATH] [--kills 100] [--seed 1] [--scratch DIR] [--nodes 20000]

Kills alternate between training, sampling ahead, packing, reusing samples, predicting and importing. Training writes a checkpoint after every batch; sampling
ahead spills much. A run that was killed is started again with --resume, and killed again, until it gets through. Then its parameters and losses are compared
with those of an unbroken run, and its folder with the files that belong there. Predictions resume with --resume as well. An import that was killed leaves
nothing under its name, and the next one is the unbroken one, file by file. Exit status 1 at the first difference.
"""
import argparse
import array
import json
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMON = ["--batch", "200", "--fanout", "5,5", "--hidden", "32", "--epochs", "4", "--memory", "200M", "--quiet"]
AHEAD = ["--policy", "belady", "--superbatch", "12", "--cache", "5%"]
TRAININGS = {
    "training": ["--checkpoint-every", "1"],
    "checkpointing": ["--checkpoint-every", "0"],
    "sampling ahead": ["--checkpoint-every", "0", *AHEAD],
    "in turns": ["--checkpoint-every", "0", *AHEAD, "--phased-memory"],
    "packing": ["--checkpoint-every", "0", *AHEAD, "--layout", "packed"],
    "reusing": ["--checkpoint-every", "0", "--resample-every", "2", "--policy", "frequency", "--cache", "5%", "--layout", "packed"],
}
# Options that decide the numbers, of those that have others than the rest.
NUMBERS = {"reusing": ["--resample-every", "2"]}
RUN_FILES = {"checkpoint.safetensors", "best.safetensors", "resume.safetensors", "summary.json", "metrics.jsonl", "plan.json", "config.yaml"}


def refuse(what):
    sys.exit(f"kills: {what}")


def npy(path, descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def npy_data(path, code):
    raw = path.read_bytes()
    values = array.array(code)
    values.frombytes(raw[10 + struct.unpack("<H", raw[8:10])[0]:])
    return values


def make_source(dataset, source):
    """The dataset in the neutral layout."""
    source.mkdir()
    for name, to in ("features", "feat"), ("labels", "label"), ("train", "train"):
        shutil.copy(dataset / f"{name}.npy", source / f"{to}.npy")
    ptr, indices = npy_data(dataset / "indptr.npy", "q"), npy_data(dataset / "indices.npy", "i")
    edges = array.array("q")
    for v in range(len(ptr) - 1):
        for u in indices[ptr[v]:ptr[v + 1]]:
            edges.extend((u, v))
    npy(source / "edges.npy", "<i8", (len(edges) // 2, 2), edges.tobytes())


def files_of(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def check_whole(run):
    """Whatever moment it was, a checkpoint that is there is complete."""
    for path in run.glob("*.safetensors"):
        raw = path.read_bytes()
        length = struct.unpack("<Q", raw[:8])[0]
        header = json.loads(raw[8:8 + length])
        end = max(t["data_offsets"][1] for name, t in header.items() if name != "__metadata__")
        if len(raw) != 8 + length + end:
            refuse(f"{path}: half-written")


class Kills:
    def __init__(self, args):
        self.outgrow = args.outgrow
        self.random = random.Random(args.seed)
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="outgrow-kills-", dir=args.scratch))
        self.dataset = self.scratch / "graph"
        self.source = self.scratch / "source"
        self.counts = {}
        self.whole_runs = 0
        self.taken = {}
        self.must("generate", self.dataset, "--nodes", str(args.nodes), "--dim", "32", "--train-fraction", "0.2")
        make_source(self.dataset, self.source)

    def start(self, *words):
        return subprocess.Popen([self.outgrow, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def must(self, *words):
        start = time.monotonic()
        process = self.start(*words)
        _, said = process.communicate()
        if process.returncode:
            refuse(f"outgrow {' '.join(map(str, words))}: exit {process.returncode}\n{said.decode()}")
        return time.monotonic() - start

    def killed(self, what, longest, *words):
        """True: it was killed. False: it got through before; then later kills come no later than that."""
        start = time.monotonic()
        process = self.start(*words)
        try:
            process.wait(self.random.uniform(0, self.taken.get(what, longest)))
            self.taken[what] = min(self.taken.get(what, longest), time.monotonic() - start)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        _, said = process.communicate()
        if process.returncode == -signal.SIGKILL:
            self.counts[what] = self.counts.get(what, 0) + 1
            return True
        if process.returncode:
            refuse(f"{what}: the next start failed: exit {process.returncode}\n{said.decode()}")
        return False

    def train(self, run, *options):
        return ["train", self.dataset, "--run", run, *COMMON, *options]

    def predict(self, out, *options):
        return ["predict", self.dataset, "--checkpoint", self.scratch / "whole" / "best.safetensors", "--out", out / "p.npy",
                "--embeddings", out / "e.npy", "--memory", "32M", "--checkpoint-every", "0", "--quiet", *options]

    def unbroken(self):
        whole = {name: self.scratch / f"whole{'-' + name if name in NUMBERS else ''}" for name in TRAININGS}
        seconds = {name: self.must(*self.train(self.scratch / name, *options)) for name, options in TRAININGS.items()}
        for name, run in {run: (name, run) for name, run in whole.items()}.values():
            self.must(*self.train(run, *NUMBERS.get(name, [])))
        seconds["importing"] = self.must("import", "npy", self.source, self.scratch / "imported")
        (self.scratch / "predicted").mkdir()
        seconds["predicting"] = self.must(*self.predict(self.scratch / "predicted"))
        for name in TRAININGS:
            self.compare(self.scratch / name, whole[name], name)
            shutil.rmtree(self.scratch / name)
        return whole, seconds

    def compare(self, run, whole, what):
        for name in "checkpoint.safetensors", "best.safetensors":
            if (run / name).read_bytes() != (whole / name).read_bytes():
                refuse(f"{what}: {name} differs from that of an unbroken run")
        told = [json.loads((folder / "summary.json").read_text()) for folder in (run, whole)]
        keys = "loss", "train_acc", "valid_acc"
        numbers = [[t["best_epoch"], t["test_acc"]] + [e[k] for e in t["epochs"] for k in keys] for t in told]
        if numbers[0] != numbers[1]:
            refuse(f"{what}: losses differ from those of an unbroken run")
        strange = set(files_of(run)) - RUN_FILES
        if strange:
            refuse(f"{what}: left in the folder: {', '.join(sorted(strange))}")
        self.whole_runs += 1

    def broken_training(self, what, whole, seconds, most):
        run = self.scratch / "broken"
        n = 0
        while n < most and self.killed(what, seconds, *self.train(run, "--resume", *TRAININGS[what])):
            n += 1
            if run.exists():
                check_whole(run)
        self.must(*self.train(run, "--resume", *TRAININGS[what]))
        self.compare(run, whole, what)
        shutil.rmtree(run)
        return n

    def broken_prediction(self, seconds, most):
        out = self.scratch / "out"
        out.mkdir()
        n = 0
        while n < most and self.killed("predicting", seconds, *self.predict(out, "--resume", "--overwrite")):
            n += 1
        self.must(*self.predict(out, "--resume", "--overwrite"))
        if files_of(out) != files_of(self.scratch / "predicted"):
            refuse("predicting: files differ from those of an unbroken prediction, or something is left")
        self.whole_runs += 1
        shutil.rmtree(out)
        return n

    def broken_import(self, seconds, most):
        out = self.scratch / "out"
        n = 0
        while n < most and self.killed("importing", seconds, "import", "npy", self.source, out):
            n += 1
            if out.exists():  # killed after the last rename: it is complete
                break
        if not out.exists():
            self.must("import", "npy", self.source, out)
        ours, theirs = files_of(out), files_of(self.scratch / "imported")
        for files in ours, theirs:
            meta = json.loads(files.pop("meta.json"))
            files["checksums"] = meta["checksums"]
        if ours != theirs:
            refuse("importing: the dataset differs from that of an unbroken import")
        shutil.rmtree(out)
        left = [p.name for p in self.scratch.glob("out*")]
        if left:
            refuse(f"importing: left beside: {left}")
        return n

    def all(self, kills):
        whole, seconds = self.unbroken()
        kinds = ["predicting", *TRAININGS, "importing"]
        done = turn = 0
        while done < kills:
            what = kinds[turn % len(kinds)]
            most = min(4, max(1, kills // len(kinds)), kills - done)
            if what == "importing":
                done += self.broken_import(seconds[what], most)
            elif what == "predicting":
                done += self.broken_prediction(seconds[what], most)
            else:
                done += self.broken_training(what, whole[what], seconds[what], most)
            turn += 1
        for what, n in self.counts.items():
            print(f"{n:4} kills while {what}")
        print(f"{done} kills, {self.whole_runs} runs equal to the unbroken one byte for byte, nothing left behind")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outgrow", default=ROOT / "build/release/outgrow")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scratch", default="/tmp")
    parser.add_argument("--nodes", type=int, default=20000)
    args = parser.parse_args()
    kills = Kills(args)
    try:
        kills.all(args.kills)
    finally:
        shutil.rmtree(kills.scratch)


if __name__ == "__main__":
    main()
