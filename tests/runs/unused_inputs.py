#!/usr/bin/env python3
"""What a dataset has and training does not use, or cannot, is said once, with --quiet too. That is edge weights, and labels that are missing, unknown, or too
many to be classes. So are options that a command does not use.

    unused_inputs.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = sys.argv[1]
RUN = ["--fanout", "3,3", "--batch", "50", "--hidden", "8", "--epochs", "1", "--memory", "128M", "--threads", "2", "--quiet"]
N = 300
rng = np.random.default_rng(1)
IDS = rng.permutation(N)
SPLITS = {"train": IDS[:N // 2], "valid": IDS[N // 2:3 * N // 4], "test": IDS[3 * N // 4:]}
count = 0


def run(*args, fails=False):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (args, done.stderr)
    return done.stderr


def write(name, **more):
    own = np.random.default_rng(2)
    os.makedirs(name)
    arrays = {"edges": own.integers(0, N, (5 * N, 2)), "feat": own.standard_normal((N, 5)).astype(np.float32), **SPLITS, **more}
    for key, array in arrays.items():
        np.save(f"{name}/{key}.npy", array)
    if name == "values":
        pathlib.Path("values/meta.json").write_text(json.dumps({"task": "node regression"}))
    run("import", "npy", name, f"g-{name}", "--quiet")


def train(graph, *options, fails=False):
    """What it says."""
    global count
    count += 1
    return run("train", f"g-{graph}", *RUN, "--run", f"run{count}", *options, fails=fails)


def check_weights():
    classes = np.arange(N) % 4
    write("plain", label=classes)
    write("weighted", label=classes, edge_weight=rng.random(5 * N).astype(np.float32))
    for model in "gcn", "sage", "gat", "gin", "gatv2":
        assert "weight" not in train("plain", "--model", model)
        said = train("weighted", "--model", model)
        assert said.count("edge weights count in --model gcn" if model == "gcn" else "edge weights have no effect") == 1, model
        assert said.count("edge weights") == 1, model
    assert train("weighted", "--model", "gcn", "--edge-weights", "off").count("edge weights have no effect") == 1
    assert train("weighted", "--model", "gcn", "--workers", "2").count("edge weights count in --model gcn") == 1
    for sampler in "labor", "ladies", "walk":
        assert "edge weights have no effect" in train("weighted", "--sampler", sampler, *(["--fanout", "1,1"] if sampler == "walk" else []))
    assert train("weighted", "--workers", "2").count("edge weights have no effect") == 1
    assert train("weighted", "--task", "link", "--batch", "400").count("edge weights have no effect") == 1
    assert "weight" not in train("weighted", "--sampler", "weighted").replace("--sampler weighted", "")
    assert "weight" not in train("weighted", "--edge-weights", "multiply").replace("--edge-weights", "")
    assert train("weighted", "--edge-weights", "multiply", "--sampler", "weighted").count("weights count twice") == 1
    assert run("plan", "g-weighted", *RUN).count("edge weights have no effect") == 1
    assert run("plan", "g-weighted", *RUN, "--sampler", "weighted") == ""
    assert run("eval", "g-weighted", "--checkpoint", "run1/checkpoint.safetensors", "--fanout", "3,3", "--memory", "128M", "--quiet") == ""


def check_labels():
    classes = np.arange(N) % 4
    known = np.isin(np.arange(N), SPLITS["train"])
    write("bare")
    write("train-unknown", label=np.where(known, -1, classes))
    write("valid-unknown", label=np.where(np.isin(np.arange(N), SPLITS["valid"]), -1, classes))
    write("ids", label=rng.permutation(N))
    write("far", label=rng.choice(3_000_000, N, replace=False))
    write("values", label=np.where(known[:, None], np.nan, rng.random((N, 2))).astype(np.float32))
    for command in (lambda graph, **how: train(graph, **how)), (lambda graph, **how: run("plan", f"g-{graph}", *RUN, **how)):
        assert "has no labels" in command("bare", fails=True)
        for graph in "train-unknown", "values":
            assert "none of the 150 training nodes has a label" in command(graph, fails=True), graph
        assert "none of the 75 validation nodes has a label" in command("valid-unknown")
        assert "labels of 300 classes, but 150 training nodes" in command("ids")
        said = command("far", fails=True)
        assert " classes, 1 to 1048576" in said and "hint: " in said, said
    train("bare", "--task", "link", "--batch", "400")
    run("simulate", "g-bare", *RUN, "--policy", "degree", "--cache", "5%")  # it reads no labels
    assert "has no labels" in run("sample", "g-bare", *RUN, "--out", "samples", fails=True)


def said_of(names, *args):
    """One line has all of them, and no other option is named."""
    said = [line for line in run(*args).splitlines() if "no effect" in line]
    assert len(said) == 1, (args, said)
    assert sorted(re.findall(r"--([a-z-]+)", said[0].split(" no effect")[0])) == sorted(names), (args, said)


def check_options():
    """Options that a command makes nothing of, each once; those that it uses are not named."""
    base = ["--memory", "128M", "--threads", "2"]
    given = ["--lr", "0.1", "--dropout", "0.2", "--epochs", "3", "--best-by", "loss", "--hidden", "24", "--norm", "layer"]
    names = ["lr", "dropout", "epochs", "best-by", "hidden", "norm"]
    run("train", "g-plain", *RUN, "--run", "options")
    judge = ["eval", "g-plain", "--checkpoint", "options/checkpoint.safetensors", *base, *given]
    said_of([*names, "log-every"], *judge, "--fanout", "3,3", "--policy", "lru", "--log-every", "2")
    said_of([*names, "policy", "fanout"], *judge, "--full", "--fanout", "3,3", "--policy", "lru")
    said_of([*names, "batch"], "predict", *judge[1:], "--out", "options.npy", "--batch", "7")
    said_of(["task"], "predict", "g-plain", "--checkpoint", "options/checkpoint.safetensors", *base, "--task", "link", "--out", "task.npy")
    said_of(["sampler"], "predict", "g-plain", "--checkpoint", "options/checkpoint.safetensors", *base, "--sampler", "labor", "--out", "sampler.npy")
    names.remove("epochs")  # so many are sampled
    said_of(names, "sample", "g-plain", *base, *given, "--with-features", "--policy", "degree", "--out", "with-rows")
    for cache, says in ("19", 1), ("20", 0), ("5%", 0):
        assert run("simulate", "g-plain", *base, "--policy", "lru", "--cache", f"{cache},50%").count(f"--cache {cache} is smaller than a row") == says
    assert "--time-window has no effect with --time off" in run("plan", "g-plain", *RUN[:-1], "--time-window", "5")
    for words, says in (["--nodes", 10], "--classes 16: more classes than the 10 nodes"), (["--nodes", 1], "--nodes 1: too few"):
        assert says in run("generate", "few", *words, fails=True)
    run("generate", "few", "--nodes", 10, "--classes", 10)
    said_of(names, "simulate", "g-plain", *base, *given, "--policy", "degree", "--cache", "5%")
    said_of(["policy", "cache"], "sample", "g-plain", *base, "--policy", "degree", "--cache", "5%", "--out", "without-rows")
    assert run("train", "g-plain", *RUN[:-1], "--run", "warm", "--warmup", "9").count("--warmup 9: the run has 3 steps") == 1
    assert "warmup" not in run("train", "g-plain", *RUN[:-1], "--run", "warm3", "--warmup", "3")
    for command in "predict", "eval":
        shown = re.findall(r"^ +--([a-z-]+)", subprocess.run([OUTGROW, "help", command, "--all"], capture_output=True, text=True).stdout, re.M)
        assert not {"lr", "hidden", "epochs", "dropout", "best-by", "warmup"} & set(shown) and {"memory", "threads", "fanout", "sampler"} <= set(shown), shown
    run("generate", "typed", "--types", "a:80:8,b:50:8", "--relations", "a:x:a:4,b:y:a:3", "--classes", "3", "--train-fraction", "0.2", "--quiet")
    for graph, cache in ("g-plain", "19"), ("typed", "31"):
        small = run("plan", graph, *RUN[:-1], "--policy", "lru", "--cache", cache)
        assert small.count("--cache has no effect") == 1 and "smaller than a row" in small, small
        assert "no effect" not in run("plan", graph, *RUN[:-1], "--policy", "lru", "--cache", str(int(cache) + 1))
    assert "no effect" not in run(*judge[:6], *base[2:], "--fanout", "3,3", "--policy", "lru", "--batch", "7")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    check_weights()
    check_labels()
    check_options()
    os.chdir("/")
