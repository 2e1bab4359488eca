#!/usr/bin/env python3
"""Learnable rows that batches change (--embedding-optimizer). PyTorch's SparseAdam, and Adagrad in NumPy, make the same rows. Files are bit-identical
for any memory, policy and pipeline, and after kills. Simulated reads and writes are those of the run.

    learnt_rows.py OUTGROW [CHECK...]      exits 77 where there is no PyTorch
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from typed_command import OUTGROW, outgrow, refused, run

try:
    import numpy as np
    import torch
except ImportError:
    sys.exit(77)

LONG = bool(os.environ.get("OUTGROW_LONG"))
OPTIMIZERS = "sparse-adam", "adagrad", "row-adagrad"
TRAIN = ["--embedding", 16, "--fanout", "4,4", "--hidden", 8, "--batch", 40, "--epochs", 2, "--threads", 2, "--lr", 0.02, "--memory", "256M"]
FILES = "checkpoint.safetensors", "best.safetensors"


def train(graph, name, *options):
    return json.loads(run("train", graph, *TRAIN, "--run", name, "--json", *options))


def tensors(path):
    data = pathlib.Path(path).read_bytes()
    n = int.from_bytes(data[:8], "little")
    head = json.loads(data[8:8 + n])
    head.pop("__metadata__")
    dtype = {"F32": np.float32, "I64": np.int64}
    return {name: np.frombuffer(data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]], dtype[t["dtype"]]).reshape(t["shape"]).copy() for name, t in head.items()}


def same(one, other):
    """Losses, the bytes of both models, the tensors of resume.safetensors, and rows with their states."""
    said = [json.loads(pathlib.Path(name, "summary.json").read_text()) for name in (one, other)]
    losses = [([(e["loss"], e["valid_acc"]) for e in summary["epochs"]], summary["test_metrics"]) for summary in said]
    assert losses[0] == losses[1], (one, other, losses)
    for name in FILES:
        assert pathlib.Path(one, name).read_bytes() == pathlib.Path(other, name).read_bytes(), (one, other, name)
    a, b = (tensors(pathlib.Path(name, "resume.safetensors")) for name in (one, other))
    assert a.keys() == b.keys() and all(a[k].tobytes() == b[k].tobytes() for k in a), (one, other)
    rows = sorted(path.name for path in pathlib.Path(one).glob("embedding_*.npy"))
    assert rows and all(pathlib.Path(one, name).read_bytes() == pathlib.Path(other, name).read_bytes() for name in rows), (one, other, rows)


# ---- PyTorch ----

RELATIONS = ("paper", "cites", "paper"), ("author", "writes", "paper"), ("paper", "rev_writes", "author")


def lists(graph):
    meta = json.loads(pathlib.Path(graph, "meta.json").read_text())
    first, out = {}, []
    for t in meta["node_types"]:
        first[t["name"]] = t["count"]
    for r, relation in enumerate(meta["relations"]):
        ptr, src = np.load(f"{graph}/rel{r}_indptr.npy"), np.load(f"{graph}/rel{r}_indices.npy").astype(np.int64)
        out.append((relation["source"], relation["name"], relation["destination"], torch.tensor(np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))), torch.tensor(src)))
    return first, out


def steps_of_torch(graph, begin, optimizer, n_steps):
    """Full batches through HeteroConv of SAGEConv, as the documents define it."""
    counts, relations = lists(graph)
    x, label = torch.tensor(np.load(f"{graph}/features_0.npy").astype(np.float32)), torch.tensor(np.load(f"{graph}/labels.npy").astype(np.int64))
    seeds = torch.tensor(np.load(f"{graph}/train.npy").astype(np.int64))
    p = {k: torch.tensor(v, requires_grad=True) for k, v in begin.items() if not k.startswith("embeddings")}
    rows = torch.tensor(begin["embeddings.author.weight"], requires_grad=True)
    dense = torch.optim.Adam(p.values(), lr=0.02)
    sparse = torch.optim.SparseAdam([rows], lr=0.05)
    state = np.zeros(tuple(rows.shape), np.float32)
    need = {"paper": torch.zeros(counts["paper"], dtype=torch.bool), "author": torch.zeros(counts["author"], dtype=torch.bool)}
    need["paper"][seeds] = True
    for _ in range(2):  # all nodes of the batch
        more = {k: v.clone() for k, v in need.items()}
        for source, _, to, dst, src in relations:
            more[source][src[need[to][dst]]] = True
        need = more
    touched = torch.nonzero(need["author"]).flatten()
    for _ in range(n_steps):
        author = torch.zeros_like(rows).index_copy(0, touched, torch.nn.functional.embedding(touched, rows, sparse=True))
        h = {"paper": x, "author": author}
        for layer in range(2):
            out = {}
            for source, name, to, dst, src in relations:
                if layer == 1 and to != "paper":
                    continue
                key = f"convs.{layer}.convs.<{source}___{name}___{to}>."
                total = torch.zeros(counts[to], h[source].shape[1]).index_add(0, dst, h[source][src])
                mean = total / torch.bincount(dst, minlength=counts[to]).clamp(min=1)[:, None]
                y = mean @ p[key + "lin_l.weight"].T + p[key + "lin_l.bias"] + h[to] @ p[key + "lin_r.weight"].T
                out[to] = out[to] + y if to in out else y
            h = {k: torch.relu(v) for k, v in out.items()} if layer == 0 else out
        loss = torch.nn.functional.cross_entropy(h["paper"][seeds], label[seeds])
        dense.zero_grad()
        rows.grad = None
        loss.backward()
        dense.step()
        if optimizer == "sparse-adam":
            sparse.step()
            continue
        g = rows.grad.coalesce().to_dense().numpy()
        state += g * g if optimizer == "adagrad" else (g * g).mean(1, keepdims=True)
        with torch.no_grad():
            rows -= torch.tensor(np.where(need["author"].numpy()[:, None], 0.05 * g / (np.sqrt(state) + 1e-10), 0).astype(np.float32))
    return {**{k: v.detach().numpy() for k, v in p.items()}, "embeddings.author.weight": rows.detach().numpy()}, need["author"].numpy()


def check_torch():
    torch.manual_seed(0)
    run("generate", "small", "--types", "paper:60:6,author:90", "--classes", 3, "--train-fraction", 0.2, "--relations", "paper:cites:paper:3,author:writes:paper:2,paper:rev_writes:author:2")
    whole = ["--embedding", 5, "--fanout", "-1,-1", "--hidden", 7, "--batch", 64, "--threads", 1, "--memory", "256M", "--dropout", 0, "--eval-every", 0]
    for optimizer in OPTIMIZERS:
        run("train", "small", *whole, "--lr", 0, "--epochs", 1, "--embedding-optimizer", optimizer, "--run", f"begin-{optimizer}")
        run("train", "small", *whole, "--lr", 0.02, "--embedding-lr", 0.05, "--epochs", 28, "--embedding-optimizer", optimizer, "--run", f"torch-{optimizer}")
        begin, made = (tensors(f"{name}-{optimizer}/checkpoint.safetensors") for name in ("begin", "torch"))
        want, touched = steps_of_torch("small", begin, optimizer, 28)
        assert made.keys() == want.keys(), (made.keys(), want.keys())
        worst = max(np.abs(made[k] - want[k]).max() for k in made)
        moved = np.abs(made["embeddings.author.weight"] - begin["embeddings.author.weight"]).max(1) > 0
        assert worst < 1e-5, (optimizer, worst)
        assert 0 < moved.sum() < len(moved) and not (moved & ~touched).any(), (moved.sum(), touched.sum())
        print(f"{optimizer}: {worst:.1e} from PyTorch after 28 steps, {moved.sum()} of {len(moved)} rows moved")


# ---- any memory ----

def check_memory():
    for optimizer in OPTIMIZERS:
        whole = train("graph", f"whole-{optimizer}", "--embedding-optimizer", optimizer)
        assert sum(e["misses"] for e in whole["epochs"]) == 0 == sum(e["row_writes"] for e in whole["epochs"])
    ways = [("none",), ("belady", "--cache", "10%"), ("lru", "--cache", "4%"), ("degree", "--cache", "4%", "--pipeline", "none"), ("frequency", "--cache", "9%", "--superbatch", 7),
            ("hybrid", "--cache", "9%", "--window", 5), ("sieve", "--cache", "3%"), ("belady", "--cache", "5%", "--superbatch", 5, "--io", "pread")]
    for i, way in enumerate(ways):
        optimizer = OPTIMIZERS[i % 3]
        some = train("graph", f"some-{i}", "--embedding-optimizer", optimizer, "--policy", *way)
        assert all(e["row_writes"] > 0 for e in some["epochs"]), way
        same(f"whole-{optimizer}", f"some-{i}")
    assert not list(pathlib.Path(".").glob("outgrow-scratch-*")), "a folder stayed"
    for model in ["rgcn", "--hidden", 16], ["gat"], ["gcn"], ["sage", "--task", "link", "--batch", 400]:
        for name, way in ("all", []), ("few", ["--policy", "belady", "--cache", "5%"]):
            train("graph", f"{model[-1]}-{name}", "--embedding-optimizer", "adagrad", "--model", *model, *way)
        same(f"{model[-1]}-all", f"{model[-1]}-few")
    train("graph", "device", "--embedding-optimizer", "adagrad", "--device", "virtual", "--policy", "lru", "--cache", "5%")


def check_wide():
    """Rows of 264,000 bytes with their states: more than one request takes."""
    run("generate", "tiny", "--types", "paper:60:6,author:40", "--classes", 4, "--train-fraction", 0.3, "--relations", "paper:cites:paper:3,author:writes:paper:2,paper:rev_writes:author:2")
    for name, way in ("wide-all", []), ("wide-few", ["--policy", "belady", "--cache", "30%"]):
        train("tiny", name, "--embedding-optimizer", "sparse-adam", "--embedding", 22000, "--fanout", "2,2", "--batch", 3, *way)
    same("wide-all", "wide-few")


def check_least():
    """The least memory that a refusal names does, bit-identical; its peak stays within it."""
    said = refused("train", "graph", *TRAIN, "--embedding-optimizer", "sparse-adam", "--memory", "1M", "--run", "no")
    assert not pathlib.Path("no").exists()
    least = said[said.index("hint:"):].split("--memory ")[1].split()[0].strip("`,.;:")
    some = train("graph", "least", "--embedding-optimizer", "sparse-adam", "--memory", least)
    same("whole-sparse-adam", "least")
    assert some["peak_rss_bytes"] <= some["memory_budget_bytes"], (least, some["peak_rss_bytes"])
    print(f"least memory {least}, peak {some['peak_rss_bytes'] >> 20} MiB")


# ---- predicted ----

def check_refilled():
    """A cache of all rows may be filled again by later superbatches. The model rgcn keeps these rows out of --input-dropout."""
    run("generate", "refilled", "--types", "paper:120:16,author:20", "--classes", 4, "--train-fraction", 0.3,
        "--relations", "paper:cites:paper:6,author:writes:paper:5,paper:rev_writes:author:5")
    way = ["--embedding-optimizer", "sparse-adam", "--fanout", "30,30", "--batch", 35, "--superbatch", 1, "--epochs", 3, "--eval-every", 0]
    for policy in "none", "frequency", "belady":
        train("refilled", f"refilled-{policy}", *way, "--policy", policy)
        assert pathlib.Path(f"refilled-{policy}/checkpoint.safetensors").read_bytes() == pathlib.Path("refilled-none/checkpoint.safetensors").read_bytes(), policy
    still = ["--model", "rgcn", "--epochs", 1, "--input-dropout", 0.9, "--dropout", 0, "--lr", 1e-12, "--optimizer", "sgd"]
    losses = {train("refilled", f"still-{kind}", *still, "--embedding-optimizer", kind)["epochs"][0]["loss"] for kind in ("dense", "sparse-adam")}
    assert len(losses) == 1, losses


def check_simulated():
    """A graph without held-out nodes: all batches change rows."""
    subprocess.run(["cp", "-r", "graph", "alone"], check=True)
    for name in "valid.npy", "test.npy":
        np.save(f"alone/{name}", np.zeros(0, np.load(f"graph/{name}").dtype))
    short = [*TRAIN, "--embedding-optimizer", "sparse-adam", "--superbatch", 9]
    wide = [*TRAIN, "--embedding-optimizer", "sparse-adam", "--embedding", 700, "--batch", 400, "--epochs", 1]  # more rows leave at once than wait to be written
    ways = [("belady", 20), ("belady", 45), ("lru", 20), ("lru", 45), ("none", 20), ("degree", 20), ("frequency", 20), ("frequency", 45), ("none", 1), ("lru", 1)]
    for policy, share in ways:
        options, width = (wide, 700) if share == 1 else (short, 16)
        cache = ["--cache", f"{share}%"] if policy != "none" else []
        run("simulate", "alone", *options, "--policy", policy, "--cache", f"{share}%", "--json", f"{policy}-{share}.json")
        told = json.loads(pathlib.Path(f"{policy}-{share}.json").read_text())
        row = next(t for t in told["results"][0]["types"] if t["name"] == "author")
        for pipeline in "batches", "none":
            made = json.loads(run("train", "alone", *options, "--eval-every", 0, "--policy", policy, *cache, "--pipeline", pipeline, "--run", f"told-{policy}-{share}-{pipeline}", "--json"))
            wrote = [sum(e[k] for e in made["epochs"]) for k in ("row_writes", "row_bytes_written")]
            assert wrote == [row["row_writes"], row["row_bytes_written"]], (policy, wrote, row)
            read = sum(e["feature_bytes_read"] for e in made["epochs"])
            assert read == sum(t["bytes_read"] for t in told["results"][0]["types"]), (policy, share, pipeline, read, told["results"])
        unused = row["row_bytes_written"] - row["rows_written"] * width * 3 * 4  # of blocks, where rows wait for batches that are known
        assert unused == 0 if policy in ("lru", "none", "degree") else 0 < unused <= row["row_bytes_written"] / 4, (policy, row)
    for policy, share, options in ("belady", 20, short), ("belady", 45, short), ("lru", 45, short), ("frequency", 20, short), ("lru", 1, wide):
        options = [*options, "--superbatch", "all", "--epochs", 1, "--policy", policy, "--cache", f"{share}%"]
        planned = json.loads(run("plan", "alone", *options, "--json"))["types"]
        made = json.loads(run("train", "alone", *options, "--eval-every", 0, "--run", f"planned-{policy}-{share}", "--json"))["epochs"][0]
        assert made["feature_bytes_read"] == sum(t["bytes_read"] for t in planned), (policy, share, made, planned)
        wrote = next(t for t in planned if t["name"] == "author")["row_bytes_written"]
        assert made["row_bytes_written"] == wrote and (wrote > 0 or share == 45), (policy, share, made, planned)


def check_evaluated():
    """Evaluation writes no rows that it only read, but what little more fills a block. The test after the best epoch has its rows."""
    way = ["--embedding-optimizer", "sparse-adam", "--embedding", 64, "--batch", 80, "--epochs", 6, "--policy", "belady", "--superbatch", "all", "--cache", "10%"]
    wrote = []
    for n in 80, 0:
        subprocess.run(["cp", "-r", "graph", f"held-{n}"], check=True)
        for name, m in ("valid.npy", n), ("test.npy", 0):
            np.save(f"held-{n}/{name}", np.load(f"graph/{name}")[:m])
        wrote.append(sum(e["row_bytes_written"] for e in train(f"held-{n}", f"held-{n}-run", *way)["epochs"]))
    assert wrote[1] > 10000000 and wrote[0] - wrote[1] < 100000, wrote
    stops = ["--embedding-optimizer", "adagrad", "--epochs", 5, "--lr", 0.3, "--patience", 2]
    for name, way in ("all", []), *((p, ["--policy", p, "--cache", "5%", *s]) for p, *s in (("belady", "--superbatch", 3), ("hybrid",), ("frequency", "--superbatch", 7), ("lru",))):
        made = train("graph", f"best-{name}", *stops, *way)
        assert made["best_epoch"] < len(made["epochs"]), made["best_epoch"]
        same("best-all", f"best-{name}")
    # rows of the best epoch go into slots, while chunks have older ones
    run("generate", "four", "--types", "user:300:8,tag:4", "--classes", 4, "--train-fraction", 0.2, "--relations", "user:likes:user:1,tag:on:user:1")
    for seed in range(890, 900):
        way = ["--embedding-optimizer", "adagrad", "--embedding", 8, "--fanout", 1, "--batch", 3, "--epochs", 3, "--lr", 0.3, "--threads", 1, "--seed", seed]
        tests = [train("four", f"four-{seed}-{name}", *way, *more)["test_metrics"]
                 for name, more in (("all", []), ("few", ["--policy", "frequency", "--cache", "100%", "--superbatch", 2]))]
        assert tests[0] == tests[1], (seed, tests)


def check_many_chunks():
    """Blocks of the chunks of many small batches fit."""
    run("generate", "chunks", "--types", "user:6000:8,item:20000", "--classes", 4, "--train-fraction", 0.3,
        "--relations", "user:likes:user:3,item:bought_by:user:4,user:buys:item:3")
    run("plan", "chunks", "--embedding", 64, "--embedding-optimizer", "sparse-adam", "--fanout", "2,2", "--hidden", 8, "--batch", 2, "--threads", 1,
        "--policy", "belady", "--cache", "10%", "--superbatch", 900, "--memory", "44M")


def kernel_bytes(*words):
    """Bytes that the kernel counts for a command: read, written."""
    child = subprocess.Popen([OUTGROW, *map(str, words), "--quiet"], stdout=subprocess.DEVNULL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    io = dict(line.split(": ") for line in pathlib.Path(f"/proc/{child.pid}/io").read_text().splitlines())
    assert child.wait() == 0
    return [int(io["rchar"]), int(io["wchar"])]


def kernel_counts(name, *options):
    """And those of a run's summary."""
    bytes = kernel_bytes("train", "alone", *options, "--run", name)
    made = json.loads(pathlib.Path(name, "summary.json").read_text())
    count = lambda *keys: sum(e[key] for e in made["epochs"] for key in keys)
    return np.array(bytes), np.array([count("feature_bytes_read", "prepare_bytes_read") + made["prepare"]["bytes_read"],
                                                                     count("row_bytes_written", "checkpoint_bytes_written")])


def check_kernel():
    """What a smaller cache reads and writes more is equal by the kernel's counts and ours. Rows that are read again are included."""
    if not pathlib.Path("alone").exists():
        check_simulated()
    options = [*TRAIN, "--embedding-optimizer", "sparse-adam", "--superbatch", 9, "--eval-every", 0, "--io", "pread", "--checkpoint-every", 99]
    for policy, shares, least in ("lru", (60, 45, 30), 300000), ("degree", (60, 45, 30), 300000), ("belady", (30, 20, 10), 300000):
        kernel, ours = zip(*(kernel_counts(f"kernel-{policy}-{share}", *options, "--policy", policy, "--cache", f"{share}%") for share in shares))
        for i in 1, 2:
            more, reported = kernel[i] - kernel[0], ours[i] - ours[0]
            assert (np.abs(more - reported) < 6000).all(), (policy, i, more, reported)
            assert reported[0] > least, (policy, reported)


# ---- files ----

def check_resumed():
    few = ["--embedding-optimizer", "sparse-adam", "--cache", "5%", "--checkpoint-every", 0, "--batch", 150, "--policy", "lru"]
    train("graph", "straight", *few, "--epochs", 4)
    train("graph", "resumed", *few, "--epochs", 2)
    train("graph", "resumed", *few, "--epochs", 4, "--resume", "--policy", "belady")
    same("straight", "resumed")
    for policy in "belady", "frequency", "hybrid":
        train("graph", f"some-{policy}", *few[:-1], policy, "--superbatch", 5, "--epochs", 3)
        train("graph", f"some-{policy}", *few[:-1], policy, "--superbatch", 9, "--epochs", 4, "--resume")
        same("straight", f"some-{policy}")
    made = random.Random(int(os.environ.get("OG_SEED", 7)))
    kills = 0
    for turn in range(30 if LONG else 4):  # with belady rows wait in chunks; SIGINT leaves a checkpoint of that
        name, policy, how = f"killed-{turn}", ("belady", "lru")[turn % 2], (signal.SIGKILL, signal.SIGINT)[turn // 2 % 2]
        options = list(map(str, [*TRAIN, *few[:-1], policy, "--superbatch", 6, "--epochs", 4, "--log-every", 1, "--run", name, "--quiet"]))
        child = subprocess.Popen([OUTGROW, "train", "graph", *options], stderr=subprocess.DEVNULL)
        path, batches = pathlib.Path(name, "metrics.jsonl"), made.randrange(1, 13)
        while child.poll() is None:
            if path.exists() and path.read_text().count("\n") >= batches:
                child.send_signal(how)
                if how == signal.SIGINT:
                    break
            time.sleep(0.001)
        kills += child.wait() != 0
        done = outgrow("train", "graph", *options[:-1], "--resume")
        assert done.returncode == 0, done.stderr
        same("straight", name)
    print(f"{kills} runs were killed or interrupted, and resumed to the same bytes")


def ended(name, at, *words, **more):
    """A command that is killed at a change of its run's files, or has a full disk then. Returns how many changes there were, if it got through."""
    told = pathlib.Path("told")
    told.unlink(missing_ok=True)
    env = {**os.environ, "LD_PRELOAD": os.environ["OG_ENDS"], "OG_ENDS_IN": f"/{name}/", "OG_ENDS_AT": str(at), "OG_ENDS_TOLD": str(told.absolute()), **more}
    done = subprocess.run([OUTGROW, *map(str, words), "--quiet"], capture_output=True, text=True, env=env)
    assert done.returncode in (0, 1, -signal.SIGKILL), (done.returncode, done.stderr)
    if more and done.returncode:
        assert done.returncode == 1 and "No space left" in done.stderr, done.stderr
    return int(told.read_text()) if done.returncode == 0 else 0


def check_together():
    """Files of a run that are of several moments are refused by name. A file of the user stays. Two names of one file where the last epoch is the best."""
    way = ["--embedding-optimizer", "adagrad", "--policy", "belady", "--cache", "5%"]
    for turn, epochs in enumerate((1, 2)):
        made = train("graph", "moments", *way, "--epochs", epochs, *(["--resume"] if turn else []))
        one = [os.stat(f"moments/{name}").st_ino for name in FILES]
        assert (one[0] == one[1]) == (made["best_epoch"] == epochs), (one, made["best_epoch"])
        subprocess.run(["cp", "-r", "moments", f"moment-{epochs}"], check=True)
    told = json.loads(run("plan", "graph", *TRAIN, *way, "--json"))["embeddings"]
    files = [os.stat(path).st_size for name in ("embedding_*.npy", "best.*", "checkpoint.*") for path in pathlib.Path("moments").glob(name)]
    assert sum(files) - 100000 < told["run_bytes"] < 4 * sum(files) and told["undo_bytes"] > 4000 * 32 * 4, (files, told)
    again = lambda name: refused("train", "graph", *TRAIN, *way, "--epochs", 3, "--run", name, "--resume")
    subprocess.run(["cp", "moment-1/resume.safetensors", "moments"], check=True)
    assert "of another checkpoint" in again("moments")
    for name in "embedding_1.npy", "embedding.undo", "best.safetensors":
        subprocess.run(["rm", "-rf", "moments"], check=True)
        subprocess.run(["cp", "-r", "moment-2", "moments"], check=True)
        os.unlink(f"moments/{name}")
        assert f"moments/{name}: " in again("moments"), name
    subprocess.run(["cp", "moment-2/best.safetensors", "moments"], check=True)
    data = pathlib.Path("moments/best.safetensors").read_bytes()
    pathlib.Path("moments/best.safetensors").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))  # of a row
    assert "moments/best.safetensors: " in refused("train", "graph", *TRAIN, *way, "--epochs", 2, "--run", "moments", "--resume")
    pathlib.Path("mine").mkdir()
    pathlib.Path("mine/embedding_1.npy").write_text("mine")
    assert "exists already" in refused("train", "graph", *TRAIN, *way, "--run", "mine")
    assert pathlib.Path("mine/embedding_1.npy").read_text() == "mine"
    first = ["--init", "moment-2/best.safetensors"]
    train("graph", "from-1", *way, *first, "--epochs", 1)
    train("graph", "from-1", *way, *first, "--epochs", 2, "--resume")
    train("graph", "from-2", *way, *first, "--epochs", 2)
    same("from-1", "from-2")


def check_removed():
    """A user who removes the best epoch's file does not end a run that gets better."""
    words = ["train", "graph", *TRAIN, "--embedding-optimizer", "adagrad", "--lr", 0.001, "--epochs", 6, "--checkpoint-every", 0, "--run", "removed", "--quiet"]
    child = subprocess.Popen([OUTGROW, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    resume, best = (pathlib.Path("removed", name) for name in ("resume.safetensors", "best.safetensors"))
    while child.poll() is None and not (resume.exists() and b"best_rows" in resume.read_bytes()):
        time.sleep(0.001)
    best.unlink()
    said = child.communicate()[1]
    assert child.returncode == 0 and best.exists(), said


def check_room():
    """A run resumes where the disk has just enough room besides its files. Names of one file count once."""
    if not os.environ.get("OG_ENDS"):
        return
    way = ["--embedding-optimizer", "adagrad", "--policy", "belady", "--cache", "5%"]
    train("graph", "room", *way, "--epochs", 1)
    told = json.loads(run("plan", "graph", *TRAIN, *way, "--json"))["embeddings"]
    there = {s.st_ino: s.st_blocks * 512 for name in ("embedding_*.npy", "*.safetensors") for s in map(os.stat, pathlib.Path("room").glob(name)) if s.st_nlink == 2 or "npy" in name}
    need = told["scratch_bytes"] + told["run_bytes"] + 4000 * 16 * 4 - sum(there.values())  # one model more
    for less in 1, 0:
        env = {**os.environ, "LD_PRELOAD": os.environ["OG_ENDS"], "OG_ENDS_ROOM": str(need - less)}
        done = subprocess.run([OUTGROW, *map(str, ["train", "graph", *TRAIN, *way, "--run", "room", "--resume"])], capture_output=True, text=True, env=env)
        assert done.returncode == less and ("may write up to" in done.stderr) == less, (less, need, there, done.stderr)


def check_ended():
    """Kills and full disks at any moment of checkpoints. Files of the run are never half of one and half of another."""
    if not os.environ.get("OG_ENDS"):
        return
    made, ends = random.Random(int(os.environ.get("OG_SEED", 7))), 0
    for optimizer, policy in ("sparse-adam", "belady"), ("adagrad", "lru"), ("adagrad", "belady"), ("sparse-adam", "lru"):
        way = ["--embedding-optimizer", optimizer, "--policy", policy, "--cache", "5%", "--batch", 150, "--checkpoint-every", 0, "--epochs", 3, *(["--superbatch", 4] if policy == "belady" else [])]
        straight = f"unbroken-{optimizer}-{policy}"
        whole = ["train", "graph", *TRAIN, *way, "--run", straight]
        changes = ended(straight, 0, *whole)
        assert changes > 100, changes
        for turn in range(60 if LONG else 7):
            name = f"ended-{optimizer}-{policy}-{turn}"
            full = {"OG_ENDS_FULL": "1"} if turn % 4 == 3 else {}
            words = ["train", "graph", *TRAIN, *way, "--run", name]
            at = made.randrange(1, changes + 1)
            if ended(name, at, *words, **full):
                assert not full, name
            ends += 1
            for _ in range(made.randrange(3)):  # also while it goes back
                ends += not ended(name, made.randrange(1, 40), *words, "--resume") if pathlib.Path(name).exists() else 0
            run(*words, *(["--resume"] if pathlib.Path(name).exists() else []))
            same(straight, name)
            assert not list(pathlib.Path(name).glob("*.before")) and not list(pathlib.Path(name).glob("*.tmp-*")), name
            subprocess.run(["rm", "-r", name], check=True)
    for at in range(1, 12):  # while rows begin with those of --init
        words = ["train", "graph", *TRAIN, *way, "--init", f"{straight}/best.safetensors", "--run", f"init-{at}"]
        ended(f"init-{at}", at, *words)
        run(*words, *(["--resume"] if os.listdir(f"init-{at}") else []))
        same("init-1", f"init-{at}")
    refusals = 0
    for at in range(changes // 2, changes // 2 + 40):  # an undo that is damaged after rows were overwritten
        name, words = f"undo-{at}", ["train", "graph", *TRAIN, *way, "--run", f"undo-{at}"]
        ended(name, at, *words)
        undo = pathlib.Path(name, "embedding.undo")
        data = undo.read_bytes()
        sealed = int.from_bytes(data[32:40], "little")
        if len(data) == sealed > 48:
            for other in data[:-1], data[:99] + bytes([data[99] ^ 1]) + data[100:]:
                undo.write_bytes(other)
                refusals += "embedding.undo: damaged" in refused(*words, "--resume")
            undo.write_bytes(data)
            run(*words, "--resume")
            same(straight, name)
            break
    assert refusals == 2, refusals
    print(f"{ends} runs ended early, and resumed to the same bytes")


def check_late():
    """Writes that come late: rows of two types, one of which many batches do not miss."""
    late = os.environ.get("OG_SLOW_WRITES")
    if not late:
        return
    run("generate", "rare", "--types", "paper:1000:6,author:300,venue:300", "--classes", 4, "--train-fraction", 0.3, "--relations", "paper:cites:paper:3,author:writes:paper:1,venue:has:paper:1")
    how = ["--embedding-optimizer", "sparse-adam", "--embedding", 400, "--fanout", "2,1", "--batch", 2, "--epochs", 1, "--eval-every", 0]
    train("rare", "in-time", *how)
    before = os.environ.get("LD_PRELOAD")
    os.environ["LD_PRELOAD"] = late
    try:
        for policy in "lru", "belady":
            assert train("rare", f"late-{policy}", *how, "--policy", policy, "--cache", "10%")["epochs"][0]["row_writes"] > 0
    finally:
        os.environ.pop("LD_PRELOAD")
        os.environ |= {"LD_PRELOAD": before} if before else {}
    for name in "late-lru", "late-belady":
        assert pathlib.Path("in-time/checkpoint.safetensors").read_bytes() == pathlib.Path(name, "checkpoint.safetensors").read_bytes(), name


def check_used():
    """Others read the rows from a checkpoint; training starts from one."""
    summary = json.loads(pathlib.Path("whole-adagrad/summary.json").read_text())
    judged = json.loads(run("eval", "graph", "--checkpoint", "whole-adagrad/best.safetensors", "--fanout", "4,4", "--memory", "256M", "--json"))
    assert abs(judged["acc"] - summary["test_acc"]) < 0.05, (judged, summary["test_acc"])
    for name, way in ("p.npy", []), ("few.npy", ["--policy", "lru", "--cache", "5%"]):
        run("predict", "graph", "--checkpoint", "whole-adagrad/best.safetensors", "--memory", "256M", "--out", name, *way)
    assert pathlib.Path("p.npy").read_bytes() == pathlib.Path("few.npy").read_bytes()
    wide = train("graph", "wide", "--embedding-optimizer", "sparse-adam", "--embedding", 2000, "--epochs", 1)
    assert wide["test_acc"] is not None
    one = ["predict", "graph", "--checkpoint", "wide/best.safetensors", "--batch", 10]
    run(*one, "--memory", "256M", "--out", "wide.npy")
    few = json.loads(run(*one, "--memory", "40M", "--out", "narrow.npy", "--json"))  # all rows and the rest take 57 MB
    assert few["bytes_read"] > 0 and few["peak_rss_bytes"] <= few["memory_budget_bytes"], few
    assert pathlib.Path("wide.npy").read_bytes() == pathlib.Path("narrow.npy").read_bytes()
    for name, way in ("on-all", []), ("on-few", ["--policy", "lru", "--cache", "5%"]):
        train("graph", name, "--embedding-optimizer", "row-adagrad", "--init", "whole-adagrad/best.safetensors", *way)
    same("on-all", "on-few")
    read = kernel_bytes("eval", "graph", "--checkpoint", "wide/best.safetensors", "--batch", 10, "--memory", "256M")[0]
    assert read < 3 * os.stat("wide/best.safetensors").st_size, read  # to check it once, and for its rows


def check_plain():
    """Nodes of a homogeneous graph: import leaves out their features, or the constant one."""
    pathlib.Path("edges.txt").write_text("".join(f"{v} {v // k}\n" for v in range(1, 900) for k in (2, 3)))
    for source, name in ("edges.txt", "plain"), ("made", "without"):
        if source == "made":
            run("generate", "featured", "--nodes", 600, "--dim", 4)
            run("export", "npy", "featured", source)
            listed = np.load("made/edges.npy")
            for split, rows in ("train", listed), ("valid", listed[:300]), ("test", listed[300:600]):
                np.save(f"made/{split}_edges.npy", rows)
        run("import", source, name, "--symmetrize", "--drop-features")
        assert "node: " not in run("verify", name)
        for kind, way in ("all", []), ("few", ["--policy", "belady", "--cache", "5%"]):
            made = train(name, f"{name}-{kind}", "--task", "link", "--embedding-optimizer", "adagrad", *way)
            assert made["config"]["edge-split"] == ("dataset" if source == "made" else "85/5/10"), made["config"]
            assert (sum(e["row_writes"] for e in made["epochs"]) > 0) == (kind == "few")
        same(f"{name}-all", f"{name}-few")
        assert tensors(f"{name}-all/best.safetensors")["embeddings.node.weight"].shape[1] == 16
    said = outgrow("train", "plain", *TRAIN, "--task", "link", "--embedding-optimizer", "adagrad", "--epochs", 1, "--pack-dtype", "bf16", "--run", "as-they-are").stderr
    assert "--pack-dtype has no effect" in said, said
    run("import", "edges.txt", "constant", "--symmetrize")
    said = outgrow("train", "constant", "--task", "link", "--embedding", 4, "--epochs", 1, "--run", "constant-run").stderr
    assert "--drop-features" in said, said


def check_refused():
    for options in (["--weight-decay", 0.1], ["--accumulate", 2], ["--accumulate", 2, "--staleness", 1], ["--executors", "1:1"], ["--layout", "packed", "--policy", "belady"], ["--policy", "sweep"],
                    ["--phased-memory", "--policy", "belady"], ["--device", "virtual", "--device-memory", "64M"]):
        said = refused("train", "graph", *TRAIN, "--embedding-optimizer", "adagrad", *options, "--run", "no")
        assert "--embedding-optimizer adagrad: " in said, (options, said)
        assert not pathlib.Path("no").exists()


def main():
    checks = {name[6:]: f for name, f in globals().items() if name.startswith("check_")}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run("generate", "graph", "--types", "paper:1500:6,author:4000", "--classes", 4, "--train-fraction", 0.3, "--relations", "paper:cites:paper:3,author:writes:paper:2,paper:rev_writes:author:2")
        for name in sys.argv[2:] or checks:
            start = time.time()
            checks[name]()
            print(f"{name}: {time.time() - start:.1f} s")


main()
