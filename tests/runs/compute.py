#!/usr/bin/env python3
"""--compute bf16. A step of training is PyTorch's with rounded operands. Runs are bit-identical in any memory, with any threads and workers, and resumed.
Checkpoints say it, and `predict` and `eval` take it. What a CPU lacks is refused.

    compute.py OUTGROW
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

OUTGROW = os.path.abspath(sys.argv[1])
U = 2.0 ** -23  # of an addition in f32, whichever way it rounds
BASE = ["--fanout", "4,3", "--batch", "40", "--hidden", "24", "--memory", "300M", "--checkpoint-every", "0"]


def run(*args, fails=False, **variables):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True, env={**os.environ, **variables})
    assert fails is None or (done.returncode != 0) == fails, (args, done.stderr)
    return done


def losses(name):
    return [(e["loss"], e["train_acc"], e["valid_acc"]) for e in json.loads(pathlib.Path(name, "summary.json").read_text())["epochs"]]


def train(name, *options, graph="graph"):
    run("train", graph, *BASE, "--epochs", "3", "--run", name, *options)
    return losses(name), pathlib.Path(name, "checkpoint.safetensors").read_bytes()


def tensors(path):
    data = pathlib.Path(path).read_bytes()
    size, = struct.unpack_from("<Q", data)
    head = json.loads(data[8:8 + size])
    said = head.pop("__metadata__")
    at = {name: np.frombuffer(data, "<f4", int(np.prod(t["shape"])), 8 + size + t["data_offsets"][0]).reshape(t["shape"]) for name, t in head.items()}
    return at, said


# ---- a step against PyTorch ----

def exact_graph(n, width, classes):
    """Four in-neighbours each, features that are multiples of a quarter: means are exact in f32, not in bf16."""
    rng = np.random.default_rng(3)
    os.makedirs("exact")
    sources = np.stack([rng.choice(n, 4, replace=False) for _ in range(n)])
    x = (rng.integers(-31, 32, (n, width)) / 4).astype("f4")
    np.save("exact/edges.npy", np.stack([sources.ravel(), np.repeat(np.arange(n), 4)], 1))
    np.save("exact/feat.npy", x)
    np.save("exact/label.npy", rng.integers(0, classes, n))
    for split, part in zip(("train", "valid", "test"), np.split(rng.permutation(n), [n - 60, n - 30])):
        np.save(f"exact/{split}.npy", part)
    run("import", "npy", "exact", "step")
    return x, np.stack([x[s].mean(0, dtype="f8") for s in sources]), np.load("exact/label.npy"), np.load("exact/train.npy")


def step_is_pytorchs(torch):
    n, width, classes, lr = 300, 20, 24, 1.0  # more columns out than in: rows are aggregated before they are multiplied
    x, mean, labels, nodes = exact_graph(n, width, classes)
    one = ["train", "step", "--fanout", "-1", "--batch", n, "--no-shuffle", "--optimizer", "sgd", "--lr", lr, "--memory", "300M", "--checkpoint-every", "0"]
    run(*one, "--epochs", "0", "--run", "before")
    before, _ = tensors("before/checkpoint.safetensors")
    for compute in "bf16", "f32":
        run(*one, "--epochs", "1", "--compute", compute, "--run", "after_" + compute)

    def rounded(a):
        return torch.tensor(a, dtype=torch.float32).bfloat16().double().numpy()

    def gradient(of):
        return before[of].astype("f8") - after[of]

    inputs = {"convs.0.lin_l.weight": rounded(mean[nodes]), "convs.0.lin_r.weight": rounded(x[nodes])}
    weights = {name: rounded(before[name]) for name in inputs}
    logits = sum(inputs[w] @ weights[w].T for w in inputs) + before["convs.0.lin_l.bias"]
    size = sum(abs(inputs[w]) @ abs(weights[w]).T for w in inputs) + abs(before["convs.0.lin_l.bias"])
    off = (2 * width + 3) * U * size.max(1, keepdims=True)  # of each logit
    p = torch.softmax(torch.tensor(logits), 1).numpy()
    dy = (p - np.eye(classes)[labels[nodes]]) / len(nodes)
    epsilon = (2 * off * p + 1e-6) / len(nodes)  # dp = p (dz - sum p dz), and the loss's own tolerance
    low, high = rounded(dy - epsilon), rounded(dy + epsilon)  # where these differ, either may be taken
    apart = {}
    for compute in "bf16", "f32":
        after, _ = tensors(f"after_{compute}/checkpoint.safetensors")
        apart[compute] = 0
        for w in inputs:
            middle, half = (low + high) / 2, (high - low) / 2
            want = middle.T @ inputs[w]
            bound = half.T @ abs(inputs[w]) + len(nodes) * U * (abs(middle) + half).T @ abs(inputs[w]) + U * (abs(before[w]) + abs(want))
            apart[compute] += int((abs(gradient(w) - want) > bound).sum())
    assert apart["bf16"] == 0 and apart["f32"] > 100, apart
    return apart


# ---- whole runs ----

def runs_are_the_same():
    run("generate", "graph", "--nodes", "3000", "--degree", "8", "--dim", "48", "--classes", "5", "--train-fraction", "0.2")
    for model in "sage", "gat":
        of = ["--model", model, "--compute", "bf16", "--accumulate", "2"]
        first = train(model + "_1", *of, "--threads", "1")
        ways = [["--threads", "3"], ["--policy", "lru", "--cache", "5%"], ["--policy", "belady", "--cache", "5%", "--superbatch", "4"], ["--memory", "70M"],
                ["--workers", "2", "--threads", "1"], ["--executors", "2", "--threads", "2"]]
        for i, way in enumerate(ways):
            assert train(f"{model}_way{i}", *of, *way) == first, (model, way)
        run("train", "graph", *BASE, *of, "--epochs", "1", "--run", model + "_again")
        run("train", "graph", *BASE, *of, "--epochs", "3", "--run", model + "_again", "--resume")
        assert pathlib.Path(model + "_again/checkpoint.safetensors").read_bytes() == first[1]
        assert losses(model + "_again") == first[0]
        full = train(model + "_f32", "--model", model, "--accumulate", "2")
        assert full[0] != first[0]
        assert abs(full[0][-1][0] - first[0][-1][0]) < 0.1 * full[0][-1][0]
        assert "compute" not in tensors(model + "_f32/checkpoint.safetensors")[1]
        assert tensors(model + "_1/checkpoint.safetensors")[1]["compute"] == "bf16"


def a_device_rounds():
    seen = {}
    for compute in "f32", "bf16", "tf32":
        seen[compute] = train("virtual_" + compute, "--device", "virtual", "--compute", compute, "--threads", "1")
        assert train("again_" + compute, "--device", "virtual", "--compute", compute, "--threads", "2") == seen[compute]
    assert len({s[1] for s in seen.values()}) == 3


# ---- what takes it from the checkpoint ----

def predictions(name, *options):
    done = run("predict", "graph", "--checkpoint", "sage_1/best.safetensors", "--out", name + ".npy", "--memory", "300M", *options)
    return np.load(name + ".npy"), done.stderr


def checkpoints_say_it():
    taken, said = predictions("taken")
    given, nothing = predictions("given", "--compute", "bf16")
    full, other = predictions("full", "--compute", "f32")
    line = "trained with --compute bf16, which is taken here as well"
    assert line in said and line not in nothing and line not in other, (said, nothing, other)
    assert (taken == given).all() and (taken != full).any()
    assert abs(taken - full).max() < 0.05 * abs(full).max()
    chosen = predictions("chosen", "--nodes", "test")[0]
    assert (chosen == taken[np.load("graph/test.npy")]).all()
    assert line in run("eval", "graph", "--checkpoint", "sage_1/best.safetensors", "--memory", "300M", "--fanout", "4,3").stderr
    done = run("train", "graph", *BASE, "--model", "sage", "--accumulate", "2", "--epochs", "4", "--run", "sage_1", "--resume", fails=True)
    assert "compute" in done.stderr and "bf16" in done.stderr, done.stderr


def what_cannot_be_is_refused():
    """By the variable oneDNN uses no more than AVX2."""
    older = {"ONEDNN_MAX_CPU_ISA": "AVX2"}
    done = run("train", "graph", *BASE, "--compute", "bf16", "--run", "refused", fails=True, **older)
    assert "--compute bf16: this CPU has neither AVX512-BF16 nor AMX-BF16" in done.stderr and "hint: use --compute f32" in done.stderr, done.stderr
    assert not os.path.exists("refused/checkpoint.safetensors")
    run("train", "graph", *BASE, "--compute", "f32", "--epochs", "1", "--run", "hinted", **older)
    done = run("predict", "graph", "--checkpoint", "said.safetensors", "--out", "p.npy", "--memory", "300M", fails=True, **older)
    assert "--compute bf16" in done.stderr and "hint: use --compute f32" in done.stderr, done.stderr
    run("predict", "graph", "--checkpoint", "said.safetensors", "--out", "p.npy", "--memory", "300M", "--compute", "f32", **older)
    done = run("train", "graph", *BASE, "--compute", "tf32", "--run", "refused", fails=True)
    assert "--compute tf32: CPUs do not have it" in done.stderr and "hint: use --compute f32" in done.stderr, done.stderr
    done = run("sample", "graph", "--out", "trace", "--fanout", "4,3", "--compute", "bf16", "--epochs", "1", **older)
    assert "--compute has no effect" in done.stderr, done.stderr


def says_bf16(path, to):
    """The file as a run with --compute bf16 would have written it."""
    data = pathlib.Path(path).read_bytes()
    size, = struct.unpack_from("<Q", data)
    head = json.loads(data[8:8 + size])
    head["__metadata__"]["compute"] = "bf16"
    head["__metadata__"].pop("xxh3")
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(to).write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size:])


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run("generate", "graph", "--nodes", "400", "--degree", "8", "--dim", "8", "--classes", "4")
        train("plain", "--model", "sage")
        says_bf16("plain/checkpoint.safetensors", "said.safetensors")
        what_cannot_be_is_refused()
        a_device_rounds()
        tried = run("train", "graph", *BASE, "--compute", "bf16", "--epochs", "0", "--run", "tried", fails=None)
        if tried.returncode:
            print("this CPU has no bf16")
            sys.exit(77)
        assert ("this CPU has no AMX" in tried.stderr) == ("amx_bf16" not in pathlib.Path("/proc/cpuinfo").read_text()), tried.stderr
        subprocess.run(["rm", "-r", "graph"], check=True)
        runs_are_the_same()
        checkpoints_say_it()
        try:
            import torch
        except ImportError:
            print("no PyTorch")
            sys.exit(77)
        print(step_is_pytorchs(torch))
        os.chdir("/")


if __name__ == "__main__":
    main()
