#!/usr/bin/env python3
"""PyTorch Geometric's own example scripts on graphs of --data, as they are or with Outgrow's loaders:

    pyg_scripts.py FOLDER [--loader outgrow|pyg] [--only reddit,graph_sage_unsup] [--epochs 5] [--seed 1] [--data DIR] [--json]

FOLDER is examples/ of PyTorch Geometric 2.6.1, which this program does not fetch. With --loader outgrow the line that imports a loader is
another one: nothing else of a script changes, and the lines that do are counted. For both loaders a script's dataset is replaced by a graph of
--data, its epochs by --epochs, and there is one run, without worker processes. Prints what the script prints last as accuracy, the
median of seconds in its train(), and CPU seconds in all.

reddit                SAGE over NeighborLoader, evaluated layer by layer          cora
graph_sage_unsup      embeddings by LinkNeighborLoader with negatives             cora
ogbn_papers_100m      three layers of SAGE, evaluated by NeighborLoader           cora
ogbn_products_sage    three layers of SAGE, evaluated layer by layer              cora
ogbn_products_gat     three layers of GAT with four heads, likewise               cora
infomax_inductive     DeepGraphInfomax over NeighborLoader                        cora
hetero/to_hetero_mag  a model made by to_hetero; needs PyTorch 2                  debian-packages, an eighth of its seeds
"""
import argparse
import contextlib
import difflib
import gc
import io
import json
import os
import re
import resource
import statistics
import sys
import tempfile
import time
import types
import warnings

os.environ["TQDM_DISABLE"] = "1"
from pyg_examples import F, graph, pyg_typing, step, torch, typed

SCRIPTS = {"reddit": [], "graph_sage_unsup": [], "ogbn_papers_100m": ["--device", "cpu", "--num_workers", "0"], "ogbn_products_sage": [], "ogbn_products_gat": [],
           "infomax_inductive": [], "hetero/to_hetero_mag": []}  # their arguments
IMPORT = "from torch_geometric.loader import "
ACCURACY = re.compile(r"(?:Test|Val)(?: Acc(?:uracy)?)?: ([0-9.]+)")


# ---- what scripts import that is not here ----

class Dataset:
    """Any of their datasets: one graph."""

    def __init__(self, data, main, classes):
        self.data, self.main, self.num_classes = data, main, classes
        self.num_features = None if main else data.num_features

    def __call__(self, *_, **__):
        return self

    def __getitem__(self, _):
        return self.data

    def get_idx_split(self):
        return {split: self.data[mask].nonzero().view(-1) for split, mask in (("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask"))}


class Evaluator:
    def __init__(self, name):
        pass

    def eval(self, rows):
        return {"acc": (rows["y_true"].view(-1) == rows["y_pred"].view(-1)).float().mean().item()}


class Linear:
    """In the place of scikit-learn's LogisticRegression."""

    def __init__(self, **_):
        pass

    def fit(self, x, y):
        x, y = torch.as_tensor(x), torch.as_tensor(y)
        with torch.enable_grad():
            self.model = torch.nn.Linear(x.size(1), int(y.max()) + 1)
            optimizer = torch.optim.Adam(self.model.parameters(), lr=0.05, weight_decay=1e-3)
            for _ in range(200):
                step(optimizer, F.cross_entropy(self.model(x.detach()), y))
        return self

    def score(self, x, y):
        return (self.model(torch.as_tensor(x)).argmax(1) == torch.as_tensor(y)).float().mean().item()


def typed_dataset(o):
    """Packages are called papers, as the script has it. Every eighth of a split is in it."""
    data, main, ids = typed(o, "paper")
    for split, mask in ("train", "train_mask"), ("valid", "val_mask"):
        data[main][mask] = torch.zeros(len(data[main].y), dtype=torch.bool).index_fill(0, ids[split][::8], True)
    return Dataset(data, main, 58)


def stand_ins(o, name):
    import torch_geometric.datasets as datasets
    if name == "hetero/to_hetero_mag":
        dataset = typed_dataset(o)
    else:
        data = graph(o, "cora")
        dataset = Dataset(data, None, int(data.y.max()) + 1)
    for kind in "Reddit", "Planetoid", "OGB_MAG":
        setattr(datasets, kind, dataset)
    ogb = types.ModuleType("ogb.nodeproppred")
    ogb.Evaluator, ogb.PygNodePropPredDataset = Evaluator, dataset
    sklearn = types.ModuleType("sklearn.linear_model")
    sklearn.LogisticRegression = Linear
    sys.modules |= {"ogb": types.ModuleType("ogb"), "ogb.nodeproppred": ogb, "sklearn": types.ModuleType("sklearn"), "sklearn.linear_model": sklearn}


# ---- a script ----

def over_outgrow(text):
    """The script with Outgrow's loaders, and the number of lines that are not its own."""
    out = []
    for line in text.split("\n"):
        if line.startswith(IMPORT):
            names = line.removeprefix(IMPORT).split(", ")
            ours = [name for name in names if name in ("NeighborLoader", "LinkNeighborLoader")]
            rest = [name for name in names if name not in ours]
            out += [IMPORT + ", ".join(rest)] if rest else []
            line = "from outgrow import " + ", ".join(ours)
        out.append(line)
    return "\n".join(out), sum(line.startswith("+ ") for line in difflib.ndiff(text.split("\n"), out))


def shortened(text, epochs):
    """One run of so many epochs, with a test in the last, and train() timed. No workers: they are more than cores."""
    text = re.sub(r"(num_workers'?[=:] *)\d+", r"\g<1>0", text)
    text = re.sub(r"(persistent_workers'?[=:] *)True", r"\g<1>False", text)
    text = re.sub(r"for epoch in range\(1, \d+\)", f"for epoch in range(1, {epochs + 1})", text)
    text = re.sub(r"for run in range\(1, \d+\)", "for run in range(1, 2)", text)
    text = re.sub(r"if epoch > \d+.*:", f"if epoch == {epochs}:", text)
    return re.sub(r"^def train\(", "@timed\ndef train(", text, flags=re.M)


def cpu_seconds():
    return sum(sum(resource.getrusage(whose)[:2]) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def run(o, name):
    with open(f"{o.folder}/{name}.py") as f:
        text = f.read()
    changed = 0
    if o.loader == "outgrow":
        text, changed = over_outgrow(text)
    seconds = []

    def timed(train):
        def call(*arguments):
            began = time.perf_counter()
            out = train(*arguments)
            seconds.append(time.perf_counter() - began)
            return out
        return call
    stand_ins(o, name)
    torch.manual_seed(o.seed)
    printed, began = io.StringIO(), cpu_seconds()
    sys.argv, names = [name, *SCRIPTS[name]], {"__name__": "__main__", "__file__": f"{os.getcwd()}/{name}.py", "timed": timed}
    with contextlib.redirect_stdout(printed):
        exec(compile(shortened(text, o.epochs), f"{name}.py", "exec"), names)
    names.clear()
    gc.collect()
    return {"script": name, "loader": o.loader, "seed": o.seed, "lines": changed, "value": float(ACCURACY.findall(printed.getvalue())[-1]),
            "seconds": round(statistics.median(seconds[1:] or seconds), 3), "first": round(seconds[0], 3),
            "cpu": round(cpu_seconds() - began, 1)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=os.path.abspath)
    p.add_argument("--loader", choices=("outgrow", "pyg"), default="outgrow")
    p.add_argument("--only", default=",".join(SCRIPTS))
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--data", type=os.path.abspath, default=os.environ.get("OUTGROW_DATA"))
    p.add_argument("--json", action="store_true")
    o = p.parse_args()
    if not o.data:
        sys.exit("no --data")
    if o.loader == "pyg" and not (pyg_typing.WITH_PYG_LIB or pyg_typing.WITH_TORCH_SPARSE):
        sys.exit("--loader pyg: neither pyg-lib nor torch-sparse is installed")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["OUTGROW_CACHE"] = f"{folder}/cache"
        for name in o.only.split(","):
            sys.stdout.flush()
            child = os.fork()  # a script is the main program
            if child == 0:
                row = run(o, name)
                print(json.dumps(row) if o.json else
                      f"{name:22} {o.loader:8} {row['lines']} lines changed  {100 * row['value']:6.2f} %  {row['seconds']:8.3f} s an epoch  {row['cpu']:8.1f} s of CPU time", flush=True)
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                print(f"{name}: ended with an error", file=sys.stderr)
        os.chdir("/")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
