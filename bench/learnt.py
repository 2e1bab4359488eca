#!/usr/bin/env python3
"""Learnable rows that exceed memory: epoch seconds, accuracy and bytes, for shares of the rows in memory.

    bench/learnt.py [--outgrow PATH] [--scratch DIR] [--items 600000] [--width 64] [--hidden 128] [--runs 2] [--limit BYTES] [--optimizer adagrad]
                    [--memory 2G] [--shares 100,50,25,10] [--no-links]
    bench/learnt.py --knowledge [--decoders distmult,complex,transe] [--epochs 10] [--shares 100,10] [--partitions 1,8]

Papers of a generated graph have classes, and its items learnable rows with sparse Adam. Runs of all shares alternate. Seconds are the median of all epochs
and their range. Bytes are those of the epoch before the last, and include what is read between epochs. The MRR is that of links from papers to items,
after an epoch; --no-links leaves that out. With --limit each run stays in a memory cgroup of so many bytes, page cache included. Checkpoints of all runs
are compared. One run is on the disk at a time, and its need of disk is said first. For 70 GB there are --items 50000000 --optimizer adagrad
--shares 10 --runs 1 --epochs 2 --no-links.

With --knowledge the graph has the size of FB15k-237: 14,541 entities, 237 relations, 272,115 triples to train on. Entities have hidden points, and a triple
leads to a near one after a shift by its relation. Learnable rows of 64 pass a linear layer (R-GCN without messages) to each decoder. PyTorch trains the same model, from
the same rows: sparse nn.Embedding with SparseAdam, Adam for the rest, equal batches, negatives and losses. All rank both ends of 1,000 held-out triples
among the same number of random entities, without those that make a known triple. It needs PyTorch, and imports it.
PyTorch-BigGraph follows where it can be imported (pip install --no-deps torchbiggraph==1.0.0 attrs h5py), with as many negatives per triple. It has no linear
layer, an operator per relation and end, Adagrad with one state a row, and its own learning rate. Its TransE compares squared distances. It has two of P partitions in memory.
"""
import argparse
import contextlib
import hashlib
import importlib.util
import json
import pathlib
import shutil
import statistics
import time

import numpy as np
from suite import Suite, cgroup, drop_caches, table

SHARES = 100, 50, 25, 10
ENTITIES, RELATIONS, TRIPLES, HELD_OUT = 14_541, 237, 272_115, 1_000
DIM, BATCH, NEGATIVES, RANKED, LR = 64, 1000, 4, 1000, 0.01
BIGGRAPH = {"distmult": ("diagonal", "dot", "logistic"), "complex": ("complex_diagonal", "dot", "logistic"), "transe": ("translation", "squared_l2", "ranking")}


def make_triples():
    """Sizes of relations as 1 / (rank + 3), sources by Zipf's law. A triple leads to the nearest of 60 random entities after its relation's shift."""
    rng = np.random.default_rng(1)
    share = 1 / (np.arange(RELATIONS) + 3)
    point, shift = rng.standard_normal((ENTITIES, 6)).astype("f4"), rng.standard_normal((RELATIONS, 6)).astype("f4")
    chance = 1 / (np.arange(ENTITIES) + 20.0)
    made = np.zeros((0, 3), np.int64)
    while len(made) < TRIPLES + 2 * HELD_OUT:
        n = 40_000
        r, s = rng.choice(RELATIONS, n, p=share / share.sum()), rng.choice(ENTITIES, n, p=chance / chance.sum())
        other = rng.integers(0, ENTITIES, (n, 60))
        far = ((point[s] + shift[r])[:, None] - point[other]) ** 2
        o = other[np.arange(n), far.sum(2).argmin(1)]
        made = np.unique(np.concatenate([made, np.stack([s, r, o], 1)[s != o]]), axis=0)
    made = rng.permutation(made)[:TRIPLES + 2 * HELD_OUT]
    return np.split(made, [TRIPLES, TRIPLES + HELD_OUT])


def import_triples(b, parts):
    source = b.scratch / "source"
    source.mkdir()
    np.save(source / "edges.npy", np.repeat(ENTITIES - 1 - np.arange(RELATIONS), 2).reshape(-1, 2))  # no messages, but a loop per relation
    np.save(source / "edge_type.npy", np.arange(RELATIONS))
    np.save(source / "node_type.npy", np.zeros(ENTITIES, np.int64))
    for name, part in zip(("train", "valid", "test"), parts):
        np.save(source / f"{name}_edges.npy", part[:, [0, 2]])
        np.save(source / f"{name}_edge_type.npy", part[:, 1])
    (source / "meta.json").write_text(json.dumps({"node_types": [{"type": 0, "name": "entity"}],
                                                  "edge_types": [{"edge_type": r, "name": f"r{r}"} for r in range(RELATIONS)]}))
    b.run("import", "npy", source, b.scratch / "knowledge")
    return b.scratch / "knowledge"


def score(torch, decoder, a, w, b):
    if decoder == "distmult":
        return (a * w * b).sum(-1)
    if decoder == "complex":
        a, w, b = (torch.complex(*x.chunk(2, -1)) for x in (a, w, b))
        return (a * w * b.conj()).sum(-1).real
    unit = torch.nn.functional.normalize
    return -(unit(a, p=1, dim=-1) + w - unit(b, p=1, dim=-1)).abs().sum(-1)


def by_torch(decoder, parts, epochs, begin):
    """Seconds per epoch, and MRR. begin: initial parameters, of a run without epochs."""
    import torch
    torch.set_num_threads(2)
    torch.manual_seed(0)
    of = {name: torch.tensor(value) for name, value in begin.items()}
    rows = torch.nn.Embedding.from_pretrained(of["embeddings.entity.weight"], freeze=False, sparse=True)
    linear = torch.nn.Linear(DIM, DIM)
    linear.weight.data, linear.bias.data = of["convs.0.root"].T.contiguous(), of["convs.0.bias"]
    w = torch.nn.Parameter(of["decoder.rel_emb.weight"])
    sparse, dense = torch.optim.SparseAdam(rows.parameters(), lr=LR), torch.optim.Adam([*linear.parameters(), w], lr=LR)
    train = torch.tensor(parts[0])
    seconds = []
    for _ in range(epochs):
        start = time.time()
        for triples in train[torch.randperm(len(train))].split(BATCH):
            s, r, o = triples.repeat_interleave(NEGATIVES, 0).T
            drawn, first = torch.randint(ENTITIES, s.shape), torch.rand(s.shape) < 0.5
            s, o = torch.where(first, drawn, s), torch.where(first, o, drawn)
            seed, at = torch.cat([triples[:, 0], triples[:, 2], s, o]).unique(return_inverse=True)
            h = linear(rows(seed))
            n = len(triples)
            pick = torch.nn.functional.embedding  # faster backwards than h[at]
            edge = score(torch, decoder, pick(at[:n], h), pick(triples[:, 1], w), pick(at[n:2 * n], h))
            other = score(torch, decoder, pick(at[2 * n:2 * n + len(s)], h), pick(r, w), pick(at[2 * n + len(s):], h))
            if decoder == "transe":
                loss = (1 - edge.repeat_interleave(NEGATIVES) + other).relu().mean()
            else:
                loss = (torch.nn.functional.softplus(-edge).mean() + torch.nn.functional.softplus(other).mean()) / 2
            sparse.zero_grad()
            dense.zero_grad()
            loss.backward()
            sparse.step()
            dense.step()
        seconds.append(time.time() - start)
    with torch.no_grad():
        return seconds, rank(linear(rows.weight), lambda a, r, b, end: score(torch, decoder, a, w[r], b), parts)


def by_biggraph(decoder, parts, epochs, partitions, folder):
    """Seconds per epoch, and MRR. Entity v is row spread[v] // partitions of partition spread[v] % partitions."""
    import h5py
    import torch
    from torchbiggraph import model
    from torchbiggraph.config import ConfigSchema
    from torchbiggraph.train import train_and_report_stats
    operator, comparator, loss = BIGGRAPH[decoder]
    spread = np.random.default_rng(3).permutation(ENTITIES)
    part, row = spread % partitions, spread // partitions
    for name in "entities", "edges":
        (folder / name).mkdir(parents=True)
    (folder / "entities/dynamic_rel_count.txt").write_text(str(RELATIONS))
    s, r, o = parts[0].T
    for i in range(partitions):
        (folder / f"entities/entity_count_entity_{i}.txt").write_text(str((part == i).sum()))
        for j in range(partitions):
            of = (part[s] == i) & (part[o] == j)
            with h5py.File(folder / f"edges/edges_{i}_{j}.h5", "w") as f:
                f.attrs["format_version"] = 1
                f["lhs"], f["rel"], f["rhs"] = row[s[of]], r[of], row[o[of]]
    config = ConfigSchema.from_dict({
        "entity_path": str(folder / "entities"), "edge_paths": [str(folder / "edges")], "checkpoint_path": str(folder / "model"), "entities": {"entity": {"num_partitions": partitions}},
        "relations": [{"name": "r", "lhs": "entity", "rhs": "entity", "operator": operator}], "dynamic_relations": True, "dimension": DIM, "global_emb": False, "comparator": comparator,
        "loss_fn": loss, "lr": 0.1, "num_epochs": epochs, "batch_size": BATCH, "num_batch_negs": 0, "num_uniform_negs": NEGATIVES // 2, "eval_fraction": 0, "workers": 2, "hogwild_delay": 0.1})
    torch.manual_seed(0)
    marks = [time.time()]
    for _ in train_and_report_stats(config):  # each bucket of each epoch; swaps and checkpoints are between them
        marks.append(time.time())
    seconds = np.diff(marks[::partitions ** 2]).tolist()
    h, operators = torch.zeros(ENTITIES, DIM), {}
    for i in range(partitions):
        with h5py.File(folder / f"model/embeddings_entity_{i}.v{epochs}.h5") as f:
            h[np.flatnonzero(part == i)] = torch.tensor(f["embeddings"][()])[row[part == i]]
    with h5py.File(folder / f"model/model.v{epochs}.h5") as f:
        for end, side in (0, "lhs"), (2, "rhs"):
            operators[end] = model.DYNAMIC_OPERATORS.get_class(operator)(DIM, RELATIONS)
            operators[end].load_state_dict({k: torch.tensor(v[()]) for k, v in f[f"model/relations/0/operator/{side}"].items()})

    def scores(a, r, b, end):
        shifted = lambda x: operators[end](x, torch.full(x.shape[:-1], r))
        a, b = (shifted(a), b) if end == 0 else (a, shifted(b))
        return (a * b).sum(-1) if comparator == "dot" else -((a - b) ** 2).sum(-1)

    with torch.no_grad():
        return seconds, rank(h, scores, parts)


def rank(h, scores, parts):
    known = set(map(tuple, np.concatenate(parts).tolist()))
    rng, ranks = np.random.default_rng(2), []
    for s, r, o in parts[2].tolist():
        for kept, end in ((s, 2), (o, 0)):
            drawn = rng.integers(0, ENTITIES, RANKED)
            drawn = [v for v in drawn.tolist() if v not in (s, o) and ((s, r, v) if end == 2 else (v, r, o)) not in known]
            a, b = (h[kept], h[drawn]) if end == 2 else (h[drawn], h[kept])
            ranks.append(1 + (scores(a, r, b, end) > scores(h[s], r, h[o], end)).sum().item())
    return float((1 / np.array(ranks)).mean())


def tensors(data):
    n = int.from_bytes(data[:8], "little")
    head = json.loads(data[8:8 + n])
    head.pop("__metadata__")
    return {name: np.frombuffer(data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]], np.float32).reshape(t["shape"]).copy() for name, t in head.items()}


def knowledge(b, args):
    parts = make_triples()
    graph, rows = import_triples(b, parts), []
    for decoder in args.decoders.split(","):
        options = ["--task", "link", "--model", "rgcn", "--bases", 1, "--fanout", 1, "--decoder", decoder, "--embedding", DIM, "--hidden", DIM, "--embedding-optimizer", "sparse-adam",
                   "--lr", LR, "--dropout", 0, "--batch", BATCH, "--negatives", NEGATIVES, "--eval-negatives", RANKED, "--eval-every", 0, "--checkpoint-every", 9999,
                   "--threads", 2, "--memory", "512M", "--scratch", b.scratch]
        b.train(graph, *options, "--epochs", 0)
        begin = tensors((b.scratch / "run/checkpoint.safetensors").read_bytes())
        files = set()
        for share in args.shares:
            run = b.train(graph, *options, *policy_of(share), "--epochs", args.epochs)
            files.add(run["_sha256"])
            epochs = run["epochs"]
            rows.append([decoder, f"{share} %", *seconds_of([e["seconds"] for e in epochs]), f"{run['test_metrics']['mrr']:.3f}",
                         *(f"{sum(e.get(key, 0) for e in epochs) / 1e6 / len(epochs):.1f}" for key in ("feature_bytes_read", "row_bytes_written"))])
        assert len(files) == 1, "memory changed the checkpoint"
        seconds, mrr = by_torch(decoder, parts, args.epochs, begin)
        rows.append([decoder, "PyTorch, 100 %", *seconds_of(seconds), f"{mrr:.3f}", "", ""])
        for partitions in args.partitions if importlib.util.find_spec("torchbiggraph") else ():
            seconds, mrr = by_biggraph(decoder, parts, args.epochs, partitions, b.scratch / f"biggraph-{decoder}-{partitions}")
            rows.append([decoder, f"BigGraph, {min(200 // partitions, 100)} %", *seconds_of(seconds), f"{mrr:.3f}", "", ""])
        for row in rows:
            print(*row, sep="  ", flush=True) if row[0] == decoder else None
    table(f"{ENTITIES:,} entities, {RELATIONS} relations, {TRIPLES:,} triples; rows of {3 * 4 * DIM} bytes, {args.epochs} epochs",
          ["decoder", "rows in memory", "seconds per epoch", "test MRR", "MB read per epoch", "MB written"], rows)


def seconds_of(seconds):
    return [f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"]


def policy_of(share):
    return ["--policy", "belady", "--cache", f"{share}%"] if share < 100 else []


def need_disk(b, graph, options):
    """Says what a run takes at most, and ends where that is not free."""
    e = b.json("plan", graph, *options)["embeddings"]
    need, free = e["scratch_bytes"] + e["run_bytes"], shutil.disk_usage(b.scratch).free
    print(f"a run takes up to {need / 1e9:.1f} GB beside the graph's {sum(p.stat().st_size for p in graph.iterdir()) / 1e9:.1f}; {free / 1e9:.1f} are free", flush=True)
    if need > free:
        raise SystemExit("give --scratch on a larger disk, or fewer --items")


def whole_numbers(text):
    return tuple(map(int, text.split(",")))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(pathlib.Path(__file__).resolve().parents[1] / "build/release/outgrow"))
    p.add_argument("--scratch")
    p.add_argument("--items", type=int, default=600_000)
    p.add_argument("--width", type=int, default=64)
    p.add_argument("--hidden", type=int, default=128)
    p.add_argument("--runs", type=int, default=2)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--knowledge", action="store_true")
    p.add_argument("--decoders", default="distmult,complex,transe")
    p.add_argument("--shares", type=whole_numbers)
    p.add_argument("--partitions", type=whole_numbers, default=(1, 8))
    p.add_argument("--limit", type=int)
    p.add_argument("--optimizer", default="sparse-adam", choices=("sparse-adam", "adagrad", "row-adagrad"))
    p.add_argument("--memory", default="2G")
    p.add_argument("--no-links", action="store_true")
    args = p.parse_args()
    args.reader = args.data = ""
    args.shares = args.shares or ((100, 10) if args.knowledge else SHARES)
    s = Suite(args)
    if args.knowledge:
        try:
            knowledge(s, args)
        finally:
            shutil.rmtree(s.scratch)
        return
    made, files, rows, ranked, links = {share: [] for share in args.shares}, set(), [], {}, set()
    try:
        graph = s.dataset("graph", "--types", f"paper:{args.items // 10}:8,item:{args.items}", "--classes", 8, "--train-fraction", 0.3,
                          "--relations", "paper:cites:paper:4,item:bought_by:paper:8,paper:buys:item:4")
        options = ["--embedding", args.width, "--embedding-optimizer", args.optimizer, "--fanout", "10,10", "--hidden", args.hidden, "--batch", 250,
                   "--epochs", args.epochs, "--eval-every", 0, "--checkpoint-every", 999999, "--threads", 2, "--memory", args.memory, "--scratch", s.scratch]
        need_disk(s, graph, [*options, *policy_of(args.shares[-1])])
        for share in () if args.no_links else args.shares:
            ranked[share] = s.train(graph, *map(str, options), *policy_of(share), "--task", "link", "--decoder", "dot", "--relation", "buys", "--batch", 2000, "--epochs", 1, "--eval-negatives", 100)
            links.add(ranked[share].pop("_sha256"))
        for share in args.shares * args.runs:
            drop_caches()
            with cgroup(args.limit) if args.limit else contextlib.nullcontext([]) as prefix:
                run = s.train(graph, *map(str, options), *policy_of(share), prefix=prefix)
            files.add(run.pop("_sha256"))
            made[share].append(run)
    finally:
        shutil.rmtree(s.scratch)
    for share, runs in made.items():
        seconds = [e["seconds"] for run in runs for e in run["epochs"]]
        last = runs[-1]["epochs"][max(args.epochs - 2, 0)]
        rows.append([f"{share} %", *seconds_of(seconds), runs[-1]["epochs"][-1]["train_acc"], f"{ranked[share]['test_metrics']['mrr']:.3f}" if ranked else "",
                     f"{(last.get('feature_bytes_read', 0) + last['prepare_bytes_read']) / 1e6:.0f}", f"{last.get('row_bytes_written', 0) / 1e6:.0f}", f"{runs[-1]['peak_rss_bytes'] >> 20}"])
    table(f"{args.items} learnable rows of {args.width} numbers with {args.optimizer}; {len(files)} different checkpoint(s), {len(links)} of links",
          ["rows in memory", "seconds per epoch", "accuracy", "MRR of links", "MB read", "MB written", "peak MiB"], rows)


if __name__ == "__main__":
    main()
