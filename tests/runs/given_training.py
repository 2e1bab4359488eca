#!/usr/bin/env python3
"""--negative given: training edges with negatives of the dataset's own. Losses are NumPy's, of the embeddings of `predict`, in heterogeneous graphs too. Steps are
PyTorch's. Runs are bit-identical in any memory, after a resume, with workers. What does not fit is refused.

    given_training.py OUTGROW
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

OUTGROW = os.path.abspath(sys.argv[1])
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "nn"))
N, K = 240, 3
RUN = ["--task", "link", "--negative", "given", "--model", "sage", "--fanout=-1,-1", "--hidden", "12", "--batch", "50", "--dropout", "0", "--memory", "160M", "--threads", "2",
       "--no-shuffle"]
rng = np.random.default_rng(5)


def run(*args, fails=False):
    done = subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, (args, done.stderr)
    return done


def train(graph, name, *options):
    return json.loads(run("train", graph, *RUN, "--epochs", "2", "--run", name, "--json", *options).stdout)


def make(name, more, *options, fails=False):
    os.makedirs(f"{name}-source")
    for key, array in more.items():
        np.save(f"{name}-source/{key}.npy", array)
    return run("import", "npy", f"{name}-source", name, *options, fails=fails).stderr


# ---- graphs: no edge that is learned carries messages, so none is removed from a batch ----

X = rng.standard_normal((N, 6)).astype("f4")
ends = rng.integers(0, N, (1500, 2))
ends = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
ends = ends[rng.permutation(len(ends))]
LISTS = {"train": ends[:170], "valid": ends[170:230], "test": ends[230:300]}
PLAIN = {"edges": ends[300:], "feat": X, **{f"{s}_edges": part for s, part in LISTS.items()}}
DST = rng.integers(0, N, (170, K))
PAIRS = rng.integers(0, N, (170 * K, 2))
KIND = (np.arange(N) >= 90).astype(int)  # users, then items
RELATION = {s: rng.integers(0, 2, len(part)) for s, part in LISTS.items()}  # users like items, users know users


def typed(n, relation):
    return np.stack([rng.integers(0, 90, n), np.where(relation == 0, rng.integers(90, N, n), rng.integers(0, 90, n))], 1)


def typed_files():
    between = rng.integers(0, 2, 900)
    files = {"node_type": KIND, "feat": X, "edge_type": between, "edges": typed(900, between)}
    for s, relation in RELATION.items():
        files |= {f"{s}_edges": typed(len(relation), relation), f"{s}_edge_type": relation}
    learned = {tuple(e) for s in LISTS for e in files[f"{s}_edges"]} | {tuple(e[::-1]) for s in LISTS for e in files[f"{s}_edges"]}
    free = np.array([tuple(e) not in learned for e in files["edges"]])
    files["edges"], files["edge_type"] = files["edges"][free], between[free]
    return files


# ---- the formulas ----

def softplus(x):
    return np.logaddexp(0, x)


def wanted(good, bad, loss):
    """good: scores of edges; bad: of their negatives, [edges, K]."""
    share = ((good[:, None] > bad) + 0.5 * (good[:, None] == bad)).mean()
    if loss == "bce":
        return 0.5 * softplus(-good).mean() + 0.5 * softplus(bad).mean(), share
    return np.maximum(0, 1 - good[:, None] + bad).mean(), share


def tensor(folder, name):
    from tensor_files import read_safetensors
    found = read_safetensors(f"{folder}/checkpoint.safetensors").get(name)
    return None if found is None else np.asarray(found, "f8")


def check_losses(graph, pairs, relation, edges, options, number=None, only=None):
    """With a learning rate of 0 the epoch's loss is that of the first parameters."""
    for loss in "bce", "margin":
        name = "-".join([graph, loss, *map(str, options)])
        done = train(graph, name, "--lr", 0, "--epochs", 1, "--loss", loss, *options)
        run("predict", graph, "--checkpoint", f"{name}/checkpoint.safetensors", "--fanout=-1,-1", "--out", f"{name}.npy", "--quiet")
        h = np.load(f"{name}.npy").astype("f8")
        weights = tensor(name, "decoder.rel_emb.weight")

        def scores(ends, r):
            return (h[ends[..., 0]] * (1 if weights is None else weights[r]) * h[ends[..., 1]]).sum(-1)
        of = np.ones(len(edges), bool) if only is None else relation == only
        r = None if relation is None else number[relation[of]]
        good, bad = scores(edges[of], r), scores(pairs[of], None if r is None else r[:, None])
        loss_of, share = wanted(good, bad, loss)
        assert abs(done["epochs"][0]["loss"] - loss_of) < 2e-6 and abs(done["epochs"][0]["train_acc"] - share) < 1e-3, (name, done["epochs"][0], loss_of, share)
        assert done["config"]["negatives"] == pairs.shape[1]


def of_destinations(edges, dst):
    return np.stack([np.broadcast_to(edges[:, :1], dst.shape), dst], 2)


def losses():
    make("dst", PLAIN | {"train_neg_dst": DST})
    make("pairs", PLAIN | {"train_neg": PAIRS})
    make("shared", PLAIN | {"train_neg_dst": DST}, "--symmetrize")
    for graph in "dst", "shared":
        check_losses(graph, of_destinations(LISTS["train"], DST), None, LISTS["train"], [])
    check_losses("pairs", PAIRS.reshape(-1, K, 2), None, LISTS["train"], [])
    files = typed_files()
    relation, edges = files["train_edge_type"], files["train_edges"]
    dst = typed(170 * K, np.repeat(relation, K))[:, 1].reshape(-1, K)
    both = typed(170 * K, np.repeat(relation, K))
    make("typed-dst", files | {"train_neg_dst": dst}, "--reverse-relations")
    make("typed-pairs", files | {"train_neg_edges": both}, "--reverse-relations")
    named = {r["name"]: i for i, r in enumerate(json.load(open("typed-dst/meta.json"))["relations"])}
    number = np.array([named["relation_0"], named["relation_1"]])
    for graph, pairs in ("typed-dst", of_destinations(edges, dst)), ("typed-pairs", both.reshape(-1, K, 2)):
        check_losses(graph, pairs, relation, edges, [], number)
        check_losses(graph, pairs, relation, edges, ["--decoder", "distmult"], number)
        check_losses(graph, pairs, relation, edges, ["--relation", "relation_1"], number, only=1)


# ---- PyTorch ----

def steps():
    """3 epochs of 4 steps, all neighbours, in the order of the file."""
    try:
        import torch
        from torch_geometric.nn import SAGEConv
    except ImportError as error:
        print(f"steps: skipped: {error}")
        return
    from tensor_files import read_safetensors
    torch.set_num_threads(1)
    train("pairs", "start", "--epochs", 0)
    done = train("pairs", "stepped", "--epochs", 3, "--lr", 0.01, "--eval-every", 0)
    x, edge = torch.from_numpy(X), torch.from_numpy(PLAIN["edges"].T.copy())
    convs = torch.nn.ModuleList([SAGEConv(6, 12), SAGEConv(12, 12)])
    convs.load_state_dict({k.removeprefix("convs."): v for k, v in read_safetensors("start/checkpoint.safetensors").items()}, strict=True)
    optimizer = torch.optim.Adam(convs.parameters(), lr=0.01)
    worst = 0
    for e in range(3):
        total = 0
        for at in range(0, 170, 50):
            good, bad = LISTS["train"][at:at + 50], PAIRS[at * K:(at + 50) * K]
            h = convs[1](convs[0](x, edge).relu(), edge)
            score = [(h[torch.from_numpy(p[:, 0])] * h[torch.from_numpy(p[:, 1])]).sum(1) for p in (good, bad)]
            loss = 0.5 * torch.nn.functional.softplus(-score[0]).mean() + 0.5 * torch.nn.functional.softplus(score[1]).mean()
            total += loss.item() * len(good)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        worst = max(worst, abs(total / 170 - done["epochs"][e]["loss"]))
    end = read_safetensors("stepped/checkpoint.safetensors")
    off = max((v - end[f"convs.{k}"]).abs().max().item() for k, v in convs.state_dict().items())
    assert worst < 1e-5 and off < 1e-4, (worst, off)
    print(f"steps: losses within {worst:.1e}, parameters within {off:.1e}")


# ---- runs ----

def same(one, other):
    for name in "checkpoint.safetensors", "best.safetensors":
        assert pathlib.Path(one, name).read_bytes() == pathlib.Path(other, name).read_bytes(), (one, other, name)


def ways():
    for graph in "dst", "typed-pairs":
        more = ["--accumulate", "2", "--fanout", "4,3"]
        train(graph, f"{graph}-one", *more)
        for name, way in ("two", ["--workers", "2"]), ("far", ["--topology", "disk", "--cache", "10%", "--policy", "lru"]), ("packed", ["--layout", "packed", "--cache", "10%"]), \
                ("ahead", ["--policy", "belady", "--superbatch", "3", "--cache", "10%"]), ("executors", ["--executors", "2"]):
            train(graph, f"{graph}-{name}", *more, *way)
            same(f"{graph}-one", f"{graph}-{name}")
        train(graph, f"{graph}-part", *more, "--epochs", 1)
        train(graph, f"{graph}-part", *more, "--resume")
        same(f"{graph}-one", f"{graph}-part")
        drawn = train(graph, f"{graph}-drawn", *more, "--negative", "uniform", "--negatives", K)
        assert drawn["epochs"][0]["loss"] != train(graph, f"{graph}-again", *more)["epochs"][0]["loss"]
    device = train("dst", "device", "--device", "virtual")
    assert abs(device["epochs"][-1]["loss"] - train("dst", "host")["epochs"][-1]["loss"]) < 1e-3
    simulated = json.loads(run("simulate", "dst", *RUN[:6], "--no-shuffle", "--fanout", "4,3", "--batch", 50, "--epochs", 1, "--policy", "lru", "--cache", "10%", "--json", "-").stdout)
    trained = train("dst", "lru", "--epochs", 1, "--fanout", "4,3", "--policy", "lru", "--cache", "10%", "--eval-every", 0, "--threads", 1, "--no-shuffle")
    assert simulated["results"][0]["rows"] == sum(e["rows"] for e in trained["epochs"]), (simulated, trained["epochs"])
    run("export", "npy", "pairs", "again")
    assert (np.load("again/train_neg_edges.npy") == PAIRS).all()
    run("verify", "typed-dst")


def messages():
    said = run("train", "dst", *RUN, "--epochs", 1, "--negative", "uniform", "--run", "said").stderr
    assert "train_neg_dst.npy has no effect" in said, said
    for options in (["--negatives", K + 1], ["--edge-split", "80/10/10"]):
        said = run("train", "dst", *RUN, *options, "--run", "never", fails=True).stderr
        assert "--negative" in said and "hint:" in said, said
    make("none", PLAIN)
    assert "train_neg_dst.npy" in run("train", "none", *RUN, "--run", "never", fails=True).stderr
    for name, wrong in ("few", {"train_neg_edges": PAIRS[:-1]}), ("short", {"train_neg_dst": DST[:-1]}), ("far-ids", {"train_neg_dst": DST + N}):
        assert "hint:" in make(name, PLAIN | wrong, fails=True), name


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    losses()
    steps()
    ways()
    messages()
