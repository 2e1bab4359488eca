#!/usr/bin/env python3
"""Test accuracy of PyTorch Geometric's models trained through outgrow.Loader, and through its own NeighborLoader. Both train the same models on the same graph.
Also the command's own models with the same hyperparameters, where nodes draw their neighbours once a batch, as in NeighborLoader, and where they draw again in
each hop. Means and standard deviations over seeds, at the best validation epoch.

    PYTHONPATH=build/release/python bench/pyg_accuracy.py --outgrow build/release/outgrow [--seeds 5] [--models gcn,sage,gat]

Needs PyTorch and PyTorch Geometric; NeighborLoader needs pyg-lib or torch-sparse as well, and its column is empty without. The column "apart" is the loader's
mean less each of the others. With --why it adds what explains the rest. That is GraphSAGE over batches of the loader that draw again in each hop, a layer for each of
`adjs`, and GCN with the command's degrees, those in the graph. It fails with --check where it is further than so many points from one that draws as it does,
once a batch. A file of --results keeps each accuracy, and what is there with the same options is not computed again, so that a long run may be done in pieces.
"""
import argparse
import copy
import json
import os
import pathlib
import statistics
import sys
import tempfile
import types

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    import torch_geometric.typing
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader
    from torch_geometric.nn import GAT, GCN, GraphSAGE
    from torch_geometric.utils import to_torch_coo_tensor, to_torch_csr_tensor

    import outgrow
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SPLITS = ("train", "valid", "test")
HAS_SAMPLER = torch_geometric.typing.WITH_PYG_LIB or torch_geometric.typing.WITH_TORCH_SPARSE
ROOT = pathlib.Path(__file__).resolve().parent.parent
# Narrow and short, so that one thread computes the table in an hour or two.
SHORT = {"fanout": [3, 3], "hidden": 32, "batch": 1024, "lr": 0.05, "weight_decay": 0.0, "dropout": 0.0}
SHORT_GAT = {"heads": 4}
SETTINGS = {
    "cora": {"import": {"row_normalize": True},
             "all": {"fanout": [-1, -1], "hidden": 16, "batch": 140, "epochs": 100, "lr": 0.01, "weight_decay": 5e-4, "dropout": 0.5},
             "gat": {"heads": 8, "hidden": 64, "lr": 0.005, "dropout": 0.6, "attention_dropout": 0.6}},
    "amazon-computers": {"import": {"symmetrize": True, "row_normalize": True},
                         "all": SHORT | {"fanout": [5, 5], "batch": 256, "epochs": 4, "lr": 0.15}, "gat": SHORT_GAT},
    "coauthor-cs": {"import": {"row_normalize": True}, "all": SHORT | {"batch": 256, "epochs": 1, "lr": 0.1}, "gat": SHORT_GAT},
    "github-social": {"import": {"symmetrize": True}, "all": SHORT | {"batch": 512, "epochs": 1, "lr": 0.01}, "gat": SHORT_GAT},
    "tolokers": {"import": {"symmetrize": True}, "all": SHORT | {"fanout": [5, 5], "batch": 512, "epochs": 10}, "gat": SHORT_GAT},
    "debian-packages": {"import": {"symmetrize": True, "drop_types": True}, "all": SHORT | {"epochs": 4, "lr": 0.02}, "gat": SHORT_GAT},
}


def make_model(kind, o, dim, classes, **more):
    if kind == "gat":
        return GAT(dim, o["hidden"], 2, classes, dropout=o["dropout"], act="elu", heads=o["heads"])
    return {"gcn": GCN, "sage": GraphSAGE}[kind](dim, o["hidden"], 2, classes, dropout=o["dropout"], **more)


def edges_for(kind, batch):
    """Sampled edges as the model takes them. GraphSAGE's first layer adds up features before it narrows them: a matrix of
    the edges, by destination, spares it a row of all features for each edge."""
    if kind != "sage":
        return batch.edge_index
    make = to_torch_csr_tensor if torch_geometric.typing.WITH_PT20 else to_torch_coo_tensor
    return make(batch.edge_index.flip(0), size=batch.num_nodes)


def whole(kind):
    """All layers over one edge_index, as PyTorch Geometric's models are trained."""
    return lambda model, batch: model(batch.x.float(), edges_for(kind, batch))


def layer_by_layer(model, batch):
    """Each layer over the edges of its own hop."""
    x = batch.x.float()
    for i, (conv, (edge_index, _, size)) in enumerate(zip(model.convs, batch.adjs)):
        x = conv((x, x[:size[1]]), edge_index)
        if i + 1 < len(batch.adjs):
            x = F.dropout(x.relu(), model.dropout.p, model.training)
    return x


def degrees_of(graph, fanout):
    """Degrees: 1 + a node's neighbours in the graph without itself, at most the fanout. All hops have the same fanout."""
    assert len(set(fanout)) == 1 and fanout[0] > 0
    indptr, indices = np.load(f"{graph}/indptr.npy"), np.load(f"{graph}/indices.npy")
    nodes = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    neighbors = np.bincount(nodes[indices != nodes], minlength=len(indptr) - 1)
    return torch.from_numpy(1 + np.minimum(neighbors, fanout[0])).float()


def weighted_by(degree):
    """GCN whose edges have the weights of these degrees."""
    def logits(model, batch):
        nodes = torch.arange(len(batch.n_id))
        edges = torch.cat([batch.edge_index, torch.stack([nodes, nodes])], 1)
        scale = degree[batch.n_id].rsqrt()
        return model(batch.x.float(), edges, edge_weight=scale[edges[0]] * scale[edges[1]])
    return logits


def accuracy(model, logits_of, batches):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for batch in batches:
            right += int((logits_of(model, batch)[:batch.batch_size].argmax(1) == batch.y[:batch.batch_size]).sum())
            total += batch.batch_size
    return right / total


def train_epoch(model, logits_of, optimizer, batches):
    model.train()
    for batch in batches:
        optimizer.zero_grad()
        F.cross_entropy(logits_of(model, batch)[:batch.batch_size], batch.y[:batch.batch_size], ignore_index=-1).backward()
        optimizer.step()


def best_of(graph, kind, o, seed, batches_of, logits_of=None, **more):
    """The test accuracy of the epoch with the best validation accuracy. batches_of(split) gives its batches, each time again."""
    logits_of = logits_of or whole(kind)
    torch.manual_seed(seed)
    about = outgrow.info(graph)
    model = make_model(kind, o, about["feature_dim"], about["num_classes"], **more)
    optimizer = torch.optim.Adam(model.parameters(), lr=o["lr"], weight_decay=o["weight_decay"])
    best, parameters = -1, None
    for _ in range(o["epochs"]):
        train_epoch(model, logits_of, optimizer, batches_of("train"))
        valid = accuracy(model, logits_of, batches_of("valid"))
        if valid > best:
            best, parameters = valid, copy.deepcopy(model.state_dict())
    model.load_state_dict(parameters)
    return 100 * accuracy(model, logits_of, batches_of("test"))


def loader_of(graph, o, seed, **more):
    options = {name: o[name] for name in ("fanout", "batch", "epochs")}
    return outgrow.Loader(graph, seed=seed, memory="2G", eval_every=1, **options, **more)


def of_split(loader, split):
    return loader if split == "train" else loader.evaluate(split)


def through_loader(graph, kind, o, seed, logits_of=None, **more):
    with loader_of(graph, o, seed) as loader:
        return best_of(graph, kind, o, seed, lambda split: of_split(loader, split), logits_of, **more)


def with_a_draw_a_hop(graph, o, seed):
    names = ("batch_size", "n_id", "adjs", "x", "y")
    with loader_of(graph, o, seed, form="adjs") as loader:
        def batches_of(split):
            return (types.SimpleNamespace(**dict(zip(names, batch))) for batch in of_split(loader, split))
        return best_of(graph, "sage", o, seed, batches_of, layer_by_layer)


def with_degrees_of_the_graph(graph, o, seed):
    return through_loader(graph, "gcn", o, seed, weighted_by(degrees_of(graph, o["fanout"])), normalize=False)


WHY = {"sage": ("a draw a hop, beside outgrow train", with_a_draw_a_hop),
       "gcn": ("degrees of the graph, beside outgrow train --draw once", with_degrees_of_the_graph)}


def data_of(graph):
    """The whole graph in memory, from the dataset's files."""
    def load(name):
        return np.load(f"{graph}/{name}.npy")

    with open(f"{graph}/meta.json") as f:
        assert json.load(f)["feature_dtype"] != "bf16"
    indptr = load("indptr")
    edges = np.stack([load("indices").astype(np.int64), np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))])
    return Data(x=torch.from_numpy(load("features")), y=torch.from_numpy(load("labels")), edge_index=torch.from_numpy(edges))


def through_neighbor_loader(graph, kind, o, seed):
    data = data_of(graph)
    loaders = {split: NeighborLoader(data, o["fanout"], torch.from_numpy(np.load(f"{graph}/{split}.npy")), is_sorted=True,
                                     batch_size=o["batch"], shuffle=split == "train") for split in SPLITS}
    return best_of(graph, kind, o, seed, loaders.get)


def by_the_command(graph, kind, o, seed, run, **more):
    return 100 * outgrow.train(graph, model=kind, seed=seed, run=run, memory="2G", **o, **more)["test_acc"]


class Results:
    """Accuracies as lines of JSON, in a file where one is given."""

    def __init__(self, path):
        self.path, self.known = path, {}
        if path and os.path.exists(path):
            with open(path) as f:
                self.known = {json.dumps(line["of"]): line["accuracy"] for line in map(json.loads, f)}

    def of(self, about, compute):
        key = json.dumps(about)
        if key not in self.known:
            self.known[key] = compute()
            if self.path:
                with open(self.path, "a") as f:
                    f.write(json.dumps({"of": about, "accuracy": self.known[key]}) + "\n")
        return self.known[key]


def told(accuracies):
    spread = f" ({statistics.stdev(accuracies):.2f})" if len(accuracies) > 1 else ""
    return f"{statistics.mean(accuracies):.2f}{spread}" if accuracies else ""


def compare(graph, name, kind, settings, args, scratch, results):
    o = settings["all"] | settings.get(kind, {})
    o |= {option: value for option, value in (("epochs", args.epochs), ("lr", args.lr)) if value}

    def all_of(way, compute):
        return [results.of([name, kind, o, way, seed], lambda: compute(seed)) for seed in range(1, args.seeds + 1)]

    loader = all_of("loader", lambda seed: through_loader(graph, kind, o, seed))
    theirs = all_of("neighbor loader", lambda seed: through_neighbor_loader(graph, kind, o, seed)) if HAS_SAMPLER else []
    once = all_of("command, once", lambda seed: by_the_command(graph, kind, o, seed, f"{scratch}/{name}-{kind}-{seed}-once", draw="once"))
    each = all_of("command", lambda seed: by_the_command(graph, kind, o, seed, f"{scratch}/{name}-{kind}-{seed}"))
    apart = [statistics.mean(loader) - statistics.mean(others) for others in (theirs, once, each) if others]
    words = ", ".join(f"{points:+.2f}" for points in apart)
    print(f"| {name} | {kind} | {told(loader)} | {told(theirs)} | {told(once)} | {told(each)} | {words} |", flush=True)
    if args.why and kind in WHY:
        title, compute = WHY[kind]
        print(f"| {name} | {kind}, {title} | {told(all_of(title, lambda seed: compute(graph, o, seed)))} | | | | |", flush=True)
    return max(map(abs, apart[:-1]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(ROOT / "build/release/outgrow"))
    p.add_argument("--data", default=os.environ.get("OUTGROW_DATA", str(ROOT / "../shared/data")))
    p.add_argument("--datasets", default=",".join(SETTINGS))
    p.add_argument("--models", default="gcn,sage,gat")
    p.add_argument("--seeds", type=int, default=5)
    p.add_argument("--epochs", type=int, default=0, help="instead of the dataset's own")
    p.add_argument("--lr", type=float, default=0)
    p.add_argument("--check", type=float, default=0)
    p.add_argument("--why", action="store_true")
    p.add_argument("--results", help="keep accuracies in this file")
    args = p.parse_args()
    os.environ["OUTGROW_COMMAND"] = os.path.abspath(args.outgrow)
    if not all(os.path.isdir(f"{args.data}/{name}") for name in args.datasets.split(",")):
        print(f"skipped: not all of {args.datasets} is in {args.data}")
        sys.exit(77)
    worst = 0
    results = Results(args.results)
    print("| dataset | model | through Loader (stdev) | through NeighborLoader (stdev) | outgrow train --draw once (stdev) | outgrow train (stdev) "
          "| apart |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for name in args.datasets.split(","):
            graph = f"{scratch}/{name}"
            outgrow.import_("npy", f"{args.data}/{name}", graph, **SETTINGS[name]["import"])
            for kind in args.models.split(","):
                worst = max(worst, compare(graph, name, kind, SETTINGS[name], args, scratch, results))
    if args.check and worst > args.check:
        sys.exit(f"{worst:.2f} points apart, {args.check} allowed")


if __name__ == "__main__":
    main()
