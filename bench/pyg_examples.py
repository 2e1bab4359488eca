#!/usr/bin/env python3
"""Six usual training loops of PyTorch Geometric, through its own loaders or Outgrow's. Only lines with `of` differ.

    PYTHONPATH=build/release/python bench/pyg_examples.py [--loader outgrow] [--only sage,unsupervised] [--epochs N] [--data DIR] [--json]

sage                GraphSAGE over NeighborLoader, evaluated layer by layer over all neighbours
unsupervised        embeddings by LinkNeighborLoader with a negative a link, judged by a linear model
bipartite           three layers over NeighborSampler's adjs
hetero              a model made by to_hetero over a heterogeneous NeighborLoader
hetero_links        links of one relation, by LinkNeighborLoader over a heterogeneous graph
links               links of a homogeneous graph, held out by RandomLinkSplit

Graphs are read from --data (or $OUTGROW_DATA): cora, amazon-computers and debian-packages, with features of 128 numbers. It takes one seed in 32 of the last. Prints the test accuracy, or the area under the ROC curve of links, and
seconds and CPU seconds an epoch, medians. --loader pyg needs pyg-lib or torch-sparse. With --at-least A it fails below that accuracy.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import warnings

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    import torch_geometric.typing as pyg_typing
    from torch_geometric import loader as theirs
    from torch_geometric.data import Data, HeteroData
    from torch_geometric.nn import GraphSAGE, SAGEConv, to_hetero
    from torch_geometric.transforms import RandomLinkSplit, ToUndirected
    from torch_geometric.utils import to_undirected

    import outgrow
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


WIDE = 128
SOME = slice(None, None, 32)  # of the seeds of heterogeneous graphs


# ---- graphs ----

def array(folder, name):
    return np.load(f"{folder}/{name}.npy")


def features(folder, n):
    """Rows of at most WIDE numbers. Wider ones are multiplied with a random matrix, so that a loop is short."""
    if os.path.exists(f"{folder}/feat.npy"):
        x = array(folder, "feat").astype(np.float32)
    else:
        columns = array(folder, "feat_indices")
        x = np.zeros((n, columns.max() + 1), np.float32)
        x[np.repeat(np.arange(n), np.diff(array(folder, "feat_indptr"))), columns] = array(folder, "feat_data")
    if x.shape[1] > WIDE:
        x = x @ np.random.default_rng(0).standard_normal((x.shape[1], WIDE)).astype(np.float32)
        x /= x.std()
    return torch.from_numpy(x)


def graph(o, name):
    folder = f"{o.data}/{name}"
    y = torch.from_numpy(array(folder, "label"))
    edges = to_undirected(torch.from_numpy(array(folder, "edges").T.astype(np.int64)), num_nodes=len(y))
    data = Data(x=features(folder, len(y)), y=y, edge_index=edges)
    for split, mask in ("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask"):
        data[mask] = torch.zeros(len(y), dtype=torch.bool).index_fill(0, torch.from_numpy(array(folder, split)), True)
    return data


def typed(o, packages=None):
    """Packages and the rest, by the types of the source; relations by the types of their ends. `packages` is the name of the first."""
    folder = f"{o.data}/debian-packages"
    kinds, x, y = array(folder, "node_type"), features(folder, 0), torch.from_numpy(array(folder, "label"))
    sources, destinations = array(folder, "edges").T.astype(np.int64)
    place, data, main = np.zeros(len(kinds), np.int64), HeteroData(), kinds[array(folder, "train")[0]]
    name = {kind: packages if packages and kind == main else f"t{kind}" for kind in np.unique(kinds)}
    for kind in np.unique(kinds):
        mine = np.flatnonzero(kinds == kind)
        place[mine] = np.arange(len(mine))
        data[name[kind]].x = x[mine]
    for a in np.unique(kinds):
        for b in np.unique(kinds):
            some = (kinds[sources] == a) & (kinds[destinations] == b)
            if some.any():
                data[name[a], "to", name[b]].edge_index = torch.from_numpy(np.stack([place[sources[some]], place[destinations[some]]]))
    data[name[main]].y = y[kinds == main]
    ids = {split: torch.from_numpy(place[array(folder, split)]) for split in ("train", "valid", "test")}
    return ToUndirected(merge=False)(data), name[main], ids


# ---- what the loops have in common ----

def step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def adam(model, rate=0.01):
    return torch.optim.Adam(model.parameters(), lr=rate)


def area(score, label):
    """Under the ROC curve: how often a positive ranks above a negative."""
    rank = torch.empty(len(score)).index_copy(0, score.argsort(), torch.arange(1.0, len(score) + 1))
    n = label.sum()
    return ((rank[label > 0].sum() - n * (n + 1) / 2) / (n * (len(label) - n))).item()


def pair_scores(h, pairs):
    return (h[pairs[0]] * h[pairs[1]]).sum(-1)


def epochs_of(o, epoch):
    """Runs it so often. Medians of the seconds and of CPU seconds of all threads, the first left out where there are others."""
    spent = []
    for _ in range(o.epochs):
        began = time.perf_counter(), time.process_time()
        epoch()
        spent.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    return [statistics.median(of) for of in zip(*(spent[1:] or spent))]


# ---- the loops ----

def sage(o, of):
    data = graph(o, "amazon-computers")
    train = of.NeighborLoader(data, [25, 10], input_nodes=data.train_mask, batch_size=1024, shuffle=True)
    everything = of.NeighborLoader(data, [-1], input_nodes=None, batch_size=1024)
    model = GraphSAGE(data.num_features, 64, 2, 10, dropout=0.5)
    optimizer = adam(model)

    def epoch():
        model.train()
        for batch in train:
            step(optimizer, F.cross_entropy(model(batch.x, batch.edge_index)[:batch.batch_size], batch.y[:batch.batch_size]))
    seconds = epochs_of(o, epoch)
    with torch.no_grad():
        right = model.eval().inference(everything).argmax(1) == data.y
    return right[data.test_mask].float().mean().item(), seconds


def unsupervised(o, of):
    data = graph(o, "cora")
    train = of.LinkNeighborLoader(data, [10, 10], neg_sampling_ratio=1.0, batch_size=256, shuffle=True)
    model = GraphSAGE(data.num_features, 64, 2)
    optimizer = adam(model)

    def epoch():
        for batch in train:
            scores = pair_scores(model(batch.x, batch.edge_index), batch.edge_label_index)
            step(optimizer, F.binary_cross_entropy_with_logits(scores, batch.edge_label))
    seconds = epochs_of(o, epoch)
    with torch.no_grad():
        h = model(data.x, data.edge_index)
    linear = torch.nn.Linear(h.size(1), 7)
    optimizer = torch.optim.Adam(linear.parameters(), lr=0.05, weight_decay=1e-3)
    for _ in range(200):
        step(optimizer, F.cross_entropy(linear(h[data.train_mask]), data.y[data.train_mask]))
    return (linear(h).argmax(1) == data.y)[data.test_mask].float().mean().item(), seconds


def adjs_of(data, nodes, sizes, batch_size, shuffle, of):
    """Batches of (size, n_id, adjs, x)."""
    if of is theirs:
        return ((*batch, data.x[batch[1]]) for batch in theirs.NeighborSampler(data.edge_index, sizes, node_idx=nodes, batch_size=batch_size, shuffle=shuffle))
    if not os.path.exists("bipartite"):
        outgrow.write("bipartite", data)
    return (batch[:4] for batch in outgrow.Loader("bipartite", num_neighbors=sizes, input_nodes=nodes, batch_size=batch_size, shuffle=shuffle, form="adjs",
                                                  seed=int(torch.randint(1 << 30, ()))))


def bipartite(o, of):
    data = graph(o, "amazon-computers")
    convs = torch.nn.ModuleList([SAGEConv(data.num_features, 64), SAGEConv(64, 64), SAGEConv(64, 10)])
    optimizer = adam(convs)

    def logits(x, adjs):
        for i, (conv, (edge_index, _, size)) in enumerate(zip(convs, adjs)):
            x = conv((x, x[:size[1]]), edge_index)
            x = F.dropout(x.relu(), 0.5, convs.training) if i < 2 else x
        return x

    def epoch():
        convs.train()
        for size, n_id, adjs, x in adjs_of(data, data.train_mask.nonzero().view(-1), [15, 10, 5], 1024, True, of):
            step(optimizer, F.cross_entropy(logits(x, adjs), data.y[n_id[:size]]))
    seconds, right = epochs_of(o, epoch), []
    convs.eval()
    with torch.no_grad():
        for size, n_id, adjs, x in adjs_of(data, data.test_mask.nonzero().view(-1), [15, 10, 5], 1024, False, of):
            right.append(logits(x, adjs).argmax(1) == data.y[n_id[:size]])
    return torch.cat(right).float().mean().item(), seconds


class Two(torch.nn.Module):
    def __init__(self, hidden, out):
        super().__init__()
        self.one, self.two = SAGEConv((-1, -1), hidden), SAGEConv((-1, -1), out)

    def forward(self, x, edge_index):
        return self.two(self.one(x, edge_index).relu(), edge_index)


def hetero(o, of):
    data, main, ids = typed(o)
    how = {"num_neighbors": [10, 5], "batch_size": 256}
    train = of.NeighborLoader(data, input_nodes=(main, ids["train"][SOME]), shuffle=True, **how)
    test = of.NeighborLoader(data, input_nodes=(main, ids["test"][SOME]), **how)
    model = to_hetero(Two(64, 58), data.metadata())
    with torch.no_grad():
        model(data.x_dict, data.edge_index_dict)  # widths
    optimizer = adam(model)

    def epoch():
        for batch in train:
            size = batch[main].batch_size
            step(optimizer, F.cross_entropy(model(batch.x_dict, batch.edge_index_dict)[main][:size], batch[main].y[:size]))
    seconds, right = epochs_of(o, epoch), []
    with torch.no_grad():
        for batch in test:
            size = batch[main].batch_size
            right.append(model(batch.x_dict, batch.edge_index_dict)[main][:size].argmax(1) == batch[main].y[:size])
    return torch.cat(right).float().mean().item(), seconds


def hetero_links(o, of):
    data, main, _ = typed(o)
    relation = next(name for name in data.edge_types if name[0] == main != name[2] and not name[1].startswith("rev_"))
    back = relation[2], f"rev_{relation[1]}", relation[0]
    train_data, _, test_data = RandomLinkSplit(0.05, 0.1, edge_types=relation, rev_edge_types=back, add_negative_train_samples=False)(data)
    how = {"num_neighbors": [10, 5], "batch_size": 256}
    train = of.LinkNeighborLoader(train_data, edge_label_index=(relation, train_data[relation].edge_label_index[:, SOME]), neg_sampling_ratio=1.0, shuffle=True, **how)
    test = of.LinkNeighborLoader(test_data, edge_label_index=(relation, test_data[relation].edge_label_index[:, SOME]),
                                 edge_label=test_data[relation].edge_label[SOME], **how)
    model = to_hetero(Two(64, 32), data.metadata())
    with torch.no_grad():
        model(data.x_dict, data.edge_index_dict)  # widths
    optimizer = adam(model)

    def scores(batch):
        h, (a, b) = model(batch.x_dict, batch.edge_index_dict), batch[relation].edge_label_index
        return (h[relation[0]][a] * h[relation[2]][b]).sum(-1)

    def epoch():
        for batch in train:
            step(optimizer, F.binary_cross_entropy_with_logits(scores(batch), batch[relation].edge_label.float()))
    seconds = epochs_of(o, epoch)
    with torch.no_grad():
        found = [(scores(batch), batch[relation].edge_label) for batch in test]
    return area(*map(torch.cat, zip(*found))), seconds


def links(o, of):
    data = graph(o, "cora")
    train_data, _, test_data = RandomLinkSplit(0.05, 0.1, is_undirected=True, add_negative_train_samples=False)(data)
    train = of.LinkNeighborLoader(train_data, [20, 10], edge_label_index=train_data.edge_label_index, neg_sampling_ratio=1.0, batch_size=256, shuffle=True)
    test = of.LinkNeighborLoader(test_data, [20, 10], edge_label_index=test_data.edge_label_index, edge_label=test_data.edge_label, batch_size=256)
    model = GraphSAGE(data.num_features, 64, 2, 32)
    optimizer = adam(model)

    def scores(batch):
        return pair_scores(model(batch.x, batch.edge_index), batch.edge_label_index)

    def epoch():
        for batch in train:
            step(optimizer, F.binary_cross_entropy_with_logits(scores(batch), batch.edge_label))
    seconds = epochs_of(o, epoch)
    with torch.no_grad():
        found = [(scores(batch), batch.edge_label) for batch in test]
    return area(*map(torch.cat, zip(*found))), seconds


LOOPS = {loop.__name__: loop for loop in (sage, unsupervised, bipartite, hetero, hetero_links, links)}
LOADERS = {"outgrow": outgrow, "pyg": theirs}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--loader", choices=LOADERS, default="outgrow")
    p.add_argument("--only", default=",".join(LOOPS))
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--data", default=os.environ.get("OUTGROW_DATA"))
    p.add_argument("--at-least", type=float, default=0)
    p.add_argument("--json", action="store_true")
    o = p.parse_args()
    if not o.data or o.loader == "pyg" and not (pyg_typing.WITH_PYG_LIB or pyg_typing.WITH_TORCH_SPARSE):
        print("skipped: " + ("no --data" if not o.data else "neither pyg-lib nor torch-sparse is installed"))
        sys.exit(77)
    o.data = os.path.abspath(o.data)
    worst = 1.0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["OUTGROW_CACHE"] = f"{folder}/cache"
        for name in o.only.split(","):
            torch.manual_seed(o.seed)
            value, (seconds, cpu) = LOOPS[name](o, LOADERS[o.loader])
            worst = min(worst, value)
            row = {"loop": name, "loader": o.loader, "seed": o.seed, "value": round(value, 4), "seconds": round(seconds, 3), "cpu": round(cpu, 3)}
            print(json.dumps(row) if o.json else f"{name:14} {o.loader:8} {100 * value:6.2f} %  {seconds:8.3f} s an epoch  {cpu:8.3f} s of CPU time", flush=True)
        os.chdir("/")
    sys.exit(worst < o.at_least)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
