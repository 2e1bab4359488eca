#!/usr/bin/env python3
"""--model mlp on features and on propagated rows.

Its steps are PyTorch's, and whole-graph logits those of NumPy. Results are bit-identical whatever moves the rows. Rows of another graph are refused.

    mlp.py OUTGROW      PyTorch's steps are left out where it is not installed
"""
import json
import os
import pathlib
import shutil
import struct
import tempfile

import numpy as np

import command
from command import run

N, DIM, CLASSES, HIDDEN, BATCH, HOPS = 900, 12, 4, 16, 50, 2
BASE = ["--model", "mlp", "--layers", "2", "--hidden", HIDDEN, "--batch", BATCH, "--lr", "0.01", "--memory", "200M"]


def train(graph, name, *options):
    return json.loads(run("train", graph, *BASE, "--run", name, "--json", *options).stdout)


def tensors(path):
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + size])
    head.pop("__metadata__", None)
    return {name: np.frombuffer(data[8 + size:][slice(*t["data_offsets"])], "f4").reshape(t["shape"]) for name, t in head.items()}


def rows_of(graph, inputs):
    """Input rows of every node."""
    last = int(inputs.split("-")[-1])
    hops = [np.load(f"{graph}/hop{k}.npy" if k else f"{graph}/features.npy") for k in range(last + 1)]
    return np.concatenate(hops, 1) if inputs.startswith("0-") else hops[last]


def logits(p, x):
    x = x.astype("f8")
    for layer in range(2):
        x = x @ p[f"convs.{layer}.weight"].T.astype("f8") + p[f"convs.{layer}.bias"]
        x = x if layer else np.maximum(x, 0)
    return x


def near(got, want, what):
    worst = np.abs(got - want).max() / np.abs(want).max()
    assert worst < 1e-5, (what, worst)
    return worst


def check_steps(graph, inputs):
    """28 steps and more, without dropout, in the order of train.npy."""
    try:
        import torch
    except ImportError:
        print("no PyTorch: steps are not compared")
        return
    options = ["--inputs", inputs, "--dropout", 0, "--no-shuffle", "--eval-every", 0]
    train(graph, f"begin-{inputs}", *options, "--epochs", 0)
    begin = tensors(f"begin-{inputs}/checkpoint.safetensors")
    told = train(graph, f"end-{inputs}", *options, "--epochs", 5)
    ids, label = np.load(f"{graph}/train.npy"), np.load(f"{graph}/labels.npy")
    x = torch.from_numpy(rows_of(graph, inputs))
    net = torch.nn.Sequential(*(torch.nn.Linear(*begin[f"convs.{i}.weight"].shape[::-1]) for i in range(2)))
    net.insert(1, torch.nn.ReLU())
    for i, at in enumerate((0, 2)):
        net[at].weight.data, net[at].bias.data = (torch.from_numpy(begin[f"convs.{i}.{part}"].copy()) for part in ("weight", "bias"))
    optimizer, steps = torch.optim.Adam(net.parameters(), 0.01), 0
    for _ in range(5):
        for first in range(0, len(ids), BATCH):
            of = ids[first:first + BATCH]
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x[of]), torch.from_numpy(label[of])).backward()
            optimizer.step()
            steps += 1
    assert steps >= 28, steps
    end = tensors(f"end-{inputs}/checkpoint.safetensors")
    for i, at in enumerate((0, 2)):
        near(end[f"convs.{i}.weight"], net[at].weight.detach().numpy(), (inputs, i))
        near(end[f"convs.{i}.bias"], net[at].bias.detach().numpy(), (inputs, i))
    width = x.shape[1] * 4
    for epoch in told["epochs"]:
        assert epoch["rows"] == len(ids), "a batch has rows of its seeds alone"
        assert epoch["topology_bytes_read"] == 0, epoch
    print(f"--inputs {inputs}: {steps} steps are PyTorch's, rows of {width} bytes")


def check_predictions(graph, inputs):
    run_ = f"trained-{inputs}"
    train(graph, run_, "--inputs", inputs, "--epochs", 3)
    best = f"{run_}/best.safetensors"
    want = logits(tensors(best), rows_of(graph, inputs))
    for more in ([], ["--memory", "64M", "--threads", 1]):
        run("predict", graph, "--checkpoint", best, "--out", "pred.npy", *more)
        near(np.load("pred.npy"), want, (inputs, more))
        os.unlink("pred.npy")
    some = np.random.default_rng(3).permutation(N)[:77]
    np.save("some.npy", some)
    run("predict", graph, "--checkpoint", best, "--out", "pred.npy", "--nodes", "some.npy")
    near(np.load("pred.npy"), want[some], inputs)
    os.unlink("pred.npy")
    full, sampled = (json.loads(run("eval", graph, "--checkpoint", best, "--json", *more).stdout) for more in (["--full"], []))
    ids, label = np.load(f"{graph}/test.npy"), np.load(f"{graph}/labels.npy")
    right = (want[ids].argmax(1) == label[ids]).mean()
    assert abs(full["acc"] - right) < 1e-9 and abs(sampled["acc"] - right) < 1e-9, (full, sampled, right)


def check_bits(graph):
    """Policies, packs, workers, executors, resume."""
    inputs = ["--inputs", f"0-{HOPS}", "--epochs", 4]
    train(graph, "plain", *inputs)
    ways = {"none": ["--policy", "none"], "sweep": ["--policy", "sweep", "--memory", "64M"], "packed": ["--policy", "frequency", "--layout", "packed"],
            "executors": ["--executors", "1:1"], "disk": ["--topology", "disk", "--io", "pread"]}
    for name, options in ways.items():
        train(graph, name, *inputs, *options)
        command.same("plain", name, ("loss", "valid_acc"))
    train(graph, "part", "--inputs", f"0-{HOPS}", "--epochs", 2)
    train(graph, "part", *inputs, "--resume")
    command.same("plain", "part", ("loss", "valid_acc"))
    train(graph, "two", *inputs, "--workers", 2)
    train(graph, "one", *inputs, "--accumulate", 2)
    command.same("two", "one", ("loss", "valid_acc"))


def check_refusals(graph):
    def refused(word, *args):
        said = run(*args, fails=True).stderr
        assert word in said, (word, said)
    base = ["train", graph, *BASE, "--epochs", 1, "--run", "never", "--inputs"]
    refused("rows of other hops", *base, "0-1")
    refused(f"made with sym, required are rows made with row,loops", *base, f"0-{HOPS}:row,loops")
    refused("--inputs 0-x: 0-K or K expected", *base, "0-x")
    refused("sees no neighbours", *base, "0", "--sampler", "labor")
    refused("needs rows of all nodes", *base, f"0-{HOPS}", "--task", "link")
    assert "it sees no neighbours" in run(*base, "0", "--layers", 3, "--fanout", "5,5,5").stderr
    shutil.rmtree("never")
    assert "--inputs has no effect" in run("train", graph, "--model", "sage", "--fanout", "3", "--epochs", 1, "--inputs", "0-2", "--run", "never").stderr
    shutil.rmtree("never")
    chunks = ["train", graph, *BASE, "--epochs", 1, "--run", "chunks", "--inputs", f"0-{HOPS}", "--locality", 10, "--order"]
    refused("propagated rows have no neighbours", *chunks, "minhash")
    refused(f"`outgrow order '{graph}'`, then use --order '{graph}/order_train.npy'", *chunks, "minhash")
    run("order", graph)
    run(*chunks, f"{graph}/order_train.npy")
    # a model takes hops that are made as its own, also where --inputs is given
    run(*base[:-3], "--run", "learnt", "--inputs", f"0-{HOPS}")
    shutil.rmtree(f"{graph}/hops")
    for path in pathlib.Path(graph).glob("hop*.npy"):
        path.unlink()
    run("propagate", graph, "--hops", HOPS, "--loops")
    for given in [], ["--inputs", f"0-{HOPS}"]:
        told = "made with sym,loops, required are rows made with sym"
        refused(told, *base[:-1], "--init", "learnt/checkpoint.safetensors", *given)
        refused(told, "eval", graph, "--checkpoint", "learnt/checkpoint.safetensors", *given)
        refused(told, "predict", graph, "--checkpoint", "learnt/checkpoint.safetensors", "--out", "never.npy", *given)
    refused("before it changed", *[str(word).replace(str(graph), "changed") for word in base], f"0-{HOPS}")
    shutil.rmtree(f"{graph}/hops")
    refused(f"hops is missing", *base, f"0-{HOPS}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run("generate", "graph", "--nodes", N, "--dim", DIM, "--classes", CLASSES, "--train-fraction", 0.33)
    check_steps("graph", "0")
    run("propagate", "graph", "--hops", HOPS, "--loops", "--last")
    check_steps("graph", str(HOPS))
    check_predictions("graph", str(HOPS))
    shutil.rmtree("graph/hops")
    for path in pathlib.Path("graph").glob("hop*.npy"):
        path.unlink()
    run("propagate", "graph", "--hops", HOPS)
    check_steps("graph", f"0-{HOPS}")
    check_predictions("graph", f"0-{HOPS}")
    check_bits("graph")
    shutil.copytree("graph", "changed")
    train_ = np.load("changed/train.npy")
    np.save("changed/train.npy", train_[::-1])
    check_refusals("graph")
