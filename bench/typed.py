#!/usr/bin/env python3
"""Many relations: a graph shaped as FB15k-237.

    bench/typed.py [--outgrow PATH] [--scratch DIR] [--fanout -1,-1] [--bases 0,2,5,30] [--epochs 2]

Made by `generate`: 14,541 entities without features, 237 relations, 272,115 edges, sizes of relations as 1 / (rank + 3). R-GCN with DistMult learns its links
on trained rows of 128, compared with GraphSAGE with the dot product on the same edges as one relation and features of that width. Milliseconds a step by the
clock, and of cores: CPU time of the run less that of a run of no epochs, which other work meanwhile changes less. Memory, ranks.
"""
import argparse
import resource
import shutil

import numpy as np
import suite
from suite import Suite, table

ENTITIES, RELATIONS, EDGES, WIDTH = 14_541, 237, 272_115, 128


def sizes():
    share = 1 / (np.arange(RELATIONS) + 3)
    return EDGES * share / share.sum()


def make_knowledge(b):
    path = b.scratch / "knowledge"
    relations = ",".join(f"entity:r{i}:entity:{n / ENTITIES:.9f}" for i, n in enumerate(sizes()))
    b.run("generate", path, "--types", f"entity:{ENTITIES}", "--relations", relations, "--classes", 16, "--train-fraction", 0.01)
    return path


def make_untyped(b, path):
    """Its edges as one relation, with features of the width of the rows that are learnt there."""
    source, rng = b.scratch / "source", np.random.default_rng(1)
    source.mkdir()
    edges = []
    for r in range(RELATIONS):
        indptr, src = np.load(path / f"rel{r}_indptr.npy"), np.load(path / f"rel{r}_indices.npy")
        edges.append(np.stack([src, np.repeat(np.arange(ENTITIES), np.diff(indptr))], 1))
    np.save(source / "edges.npy", np.concatenate(edges).astype(np.int64))
    np.save(source / "feat.npy", rng.standard_normal((ENTITIES, WIDTH)).astype(np.float32))
    np.save(source / "label.npy", np.zeros(ENTITIES, np.int64))
    for split in ("train", "valid", "test"):
        np.save(source / f"{split}.npy", np.arange(3))
    b.run("import", "npy", source, b.scratch / "untyped")
    return b.scratch / "untyped"


def processor_seconds(b, dataset, *options):
    """The summary, and the CPU time of the run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = b.train(dataset, *options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return summary, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(b, args):
    path = make_knowledge(b)
    common = ["--task", "link", "--fanout", args.fanout, "--hidden", WIDTH, "--batch", 1000, "--negatives", 1, "--epochs", args.epochs,
              "--eval-every", 0, "--edge-split", "98/1/1", "--seed", 1]
    graphs = {"GraphSAGE, one relation": (make_untyped(b, path), ["--model", "sage"])}
    for bases in args.bases:
        graphs[f"R-GCN, {bases or 'no'} bases"] = (path, ["--model", "rgcn", "--bases", bases, "--decoder", "distmult", "--embedding", WIDTH])
    rows, first = [], None
    for name, (dataset, options) in graphs.items():
        idle = processor_seconds(b, dataset, *common, *options, "--epochs", 0)[1]
        r, worked = processor_seconds(b, dataset, *common, *options)
        epoch = min(r["epochs"], key=lambda e: e["train_seconds"])
        steps = -(-int(EDGES * 0.98) // 1000)
        cost = np.array([epoch["train_seconds"], (worked - idle) / args.epochs]) * 1000 / steps
        first = cost if first is None else first
        of = r["test_metrics"]
        rows.append([name, *cost.tolist(), *(cost / first).tolist(), epoch["seconds"], r["peak_rss_bytes"] / (1 << 20), of["auc"], of["mrr"], of["hits@10"]])
        print(rows[-1], flush=True)
    table(f"{ENTITIES:,} entities, {RELATIONS} relations, {EDGES:,} edges, two layers of {WIDTH}, fanout {args.fanout}, steps of 1000 edges",
          ["", "ms a step", "core ms", "beside GraphSAGE", "by cores", "s an epoch", "peak MiB", "AUC", "MRR of 100", "hits@10"], rows)
    smallest = b.run("train", path, *common, "--model", "rgcn", "--bases", 30, "--decoder", "distmult", "--embedding", WIDTH, "--memory", "40M", "--run",
                     b.scratch / "refused", check=False)
    print("--memory 40M: " + smallest.stderr.strip().replace("\n", "; "))
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(suite.ROOT / "build/release/outgrow"))
    p.add_argument("--scratch")
    p.add_argument("--fanout", default="-1,-1", help="of the knowledge graph")
    p.add_argument("--bases", type=lambda s: [int(n) for n in s.split(",")], default=[0, 2, 5, 30], help="of R-GCN; 0: a matrix a relation")
    p.add_argument("--epochs", type=int, default=2, help="of the knowledge graph; the faster one counts")
    args = p.parse_args()
    args.reader, args.data = None, "."
    b = Suite(args)
    try:
        measure(b, args)
    finally:
        shutil.rmtree(b.scratch)


if __name__ == "__main__":
    main()
