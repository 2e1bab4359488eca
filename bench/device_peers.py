#!/usr/bin/env python3
"""The same mini-batches on the same GPU, computed by Outgrow and by PyTorch. Prints seconds a batch; losses must agree.

    bench/device_peers.py [--outgrow PATH] [--scratch DIR] [--device cuda] [--nodes 2000000] [--degree 15] [--dim 256] [--batches 100] [--epochs 3]

GraphSAGE (mean, --hidden, as many layers as --fanout has numbers), Adam, no dropout, on an R-MAT graph. `outgrow train` samples and trains with all rows on the
device. `outgrow sample` writes the same batches for PyTorch, whose model has the same initial parameters (--init) and the layers of PyG's SAGEConv. All that it
needs is on the device before the clock starts: features, and each batch's ids and edges. So its time is of gathering rows, forward, backward and the optimizer
alone, ours of the whole epoch, sampling and planning included. Means are taken in two ways: by a sparse product (CSR, whose transpose for the way back is made
in advance too) and by index_add. Products are in float32, not TF32, in both. Figures are of epochs after the first, their median.

Exit 1 where losses of an epoch differ by more than a thousandth. Sums go in other orders, and Adam's steps carry that on. Needs PyTorch with CUDA.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import struct
import sys
import time

import numpy as np
import torch
from suite import ROOT, Suite, table


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, t in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + 4 * t.numel()]}
        at += 4 * t.numel()
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for t in tensors.values():
            f.write(t.detach().cpu().numpy().tobytes())


class Sage(torch.nn.Module):
    """Layers of PyG's SAGEConv, by its names."""

    def __init__(self, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList()
        for i, o in zip(widths, widths[1:]):
            conv = torch.nn.Module()
            conv.lin_l = torch.nn.Linear(i, o)
            conv.lin_r = torch.nn.Linear(i, o, bias=False)
            self.convs.append(conv)

    def forward(self, x, blocks, mean):
        for n, (conv, block) in enumerate(zip(self.convs, blocks)):
            x = conv.lin_l(mean(block, x)) + conv.lin_r(x[:block.n_dst])
            x = x.relu() if n + 1 < len(self.convs) else x
        return x


class Block:
    """One hop's edges, the destinations being the first n_dst of the n_src nodes."""

    def __init__(self, src, dst, n_dst, n_src, device):
        order = np.argsort(dst, kind="stable")
        src, dst = torch.from_numpy(src[order].astype(np.int64)), torch.from_numpy(dst[order].astype(np.int64))
        count = torch.bincount(dst, minlength=n_dst)
        self.n_dst, self.src, self.dst = n_dst, src.to(device), dst.to(device)
        self.share = (1 / count.clamp(min=1).float()).to(device)[:, None]
        there = torch.sparse_coo_tensor(torch.stack([dst, src]), self.share.cpu()[dst, 0], (n_dst, n_src)).coalesce()
        self.there, self.back = there.to_sparse_csr().to(device), there.t().coalesce().to_sparse_csr().to(device)


class Mean(torch.autograd.Function):
    """A sparse product whose transpose is at hand."""

    @staticmethod
    def forward(ctx, x, block):
        ctx.block = block
        return block.there @ x

    @staticmethod
    def backward(ctx, grad):
        return ctx.block.back @ grad, None


def by_product(block, x):
    return Mean.apply(x, block)


def by_index(block, x):
    total = torch.zeros(block.n_dst, x.shape[1], device=x.device)
    return total.index_add(0, block.dst, x[block.src]) * block.share


class Batches:
    def __init__(self, folder, layers, device):
        a = {p.stem: np.load(p, mmap_mode="r") for p in pathlib.Path(folder).glob("*.npy")}
        self.all = []
        for b in range(len(a["seeds_ptr"]) - 1):
            def part(name):
                ptr = a[name.split("_")[0] + "_ptr"]
                return np.asarray(a[name][ptr[b]:ptr[b + 1]])
            known = [len(part("seeds"))] + [int(a[f"hop{h + 1}_nodes"][b]) for h in range(layers)]
            blocks = [Block(part(f"hop{h + 1}_src"), part(f"hop{h + 1}_dst"), known[h], known[h + 1], device) for h in reversed(range(layers))]
            labels = np.asarray(a["labels"][a["seeds_ptr"][b]:a["seeds_ptr"][b + 1]]).astype(np.int64)
            self.all.append((torch.from_numpy(part("ids").astype(np.int64)).to(device), blocks, torch.from_numpy(labels).to(device)))


def train(start, widths, features, epochs, mean, args):
    model = Sage(widths).to(args.device)
    model.load_state_dict(start)
    adam = torch.optim.Adam(model.parameters(), lr=args.lr, fused=args.device == "cuda")
    seconds, losses = [], []
    for batches in epochs:
        began, total, seeds = time.perf_counter(), torch.zeros((), device=args.device), 0
        for ids, blocks, labels in batches:
            adam.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(features[ids], blocks, mean), labels)
            loss.backward()
            adam.step()
            total += loss.detach() * len(labels)
            seeds += len(labels)
        losses.append(float(total) / seeds)
        seconds.append(time.perf_counter() - began)
    return seconds, losses


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=ROOT / "build/cuda/outgrow")
    p.add_argument("--scratch")
    p.add_argument("--device", default="cuda", help="of PyTorch, and of Outgrow; cpu tries the script")
    p.add_argument("--nodes", type=int, default=2_000_000)
    p.add_argument("--degree", type=int, default=15)
    p.add_argument("--dim", type=int, default=256)
    p.add_argument("--fanout", default="15,10,5")
    p.add_argument("--hidden", type=int, default=256)
    p.add_argument("--batch", type=int, default=1000)
    p.add_argument("--batches", type=int, default=100)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--lr", type=float, default=0.003)
    args = p.parse_args()
    args.reader, args.data = None, "."
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    b = Suite(args)
    try:
        graph = b.dataset("graph", "--model", "rmat", "--nodes", args.nodes, "--degree", args.degree, "--dim", args.dim, "--train-fraction",
                          args.batch * args.batches / args.nodes)
        same = ["--fanout", args.fanout, "--batch", args.batch, "--epochs", args.epochs, "--eval-every", 0, "--quiet"]
        b.run("sample", graph, "--out", b.scratch / "trace", *same)
        features = torch.from_numpy(np.load(graph / "features.npy")).to(args.device)
        layers = len(args.fanout.split(","))
        classes = int(np.load(graph / "labels.npy", mmap_mode="r").max()) + 1
        widths = [args.dim] + [args.hidden] * (layers - 1) + [classes]
        start = {name: t.clone() for name, t in Sage(widths).state_dict().items()}
        write_safetensors(b.scratch / "start.safetensors", start)
        b.run("train", graph, "--model", "sage", "--hidden", args.hidden, "--lr", args.lr, "--dropout", 0, "--device", args.device, "--init",
              b.scratch / "start.safetensors", "--run", b.scratch / "run", *same)
        ours = json.loads((b.scratch / "run/summary.json").read_text())["epochs"]
        found = Batches(b.scratch / "trace", layers, args.device).all
        each = len(found) // args.epochs
        epochs = [found[e * each:(e + 1) * each] for e in range(args.epochs)]
        theirs = {way: train(start, widths, features, epochs, mean, args) for way, mean in (("sparse products", by_product), ("index_add", by_index))}
    finally:
        shutil.rmtree(b.scratch, ignore_errors=True)
    rows = [["Outgrow, whole epochs"] + [[e["seconds"] for e in ours], [e["loss"] for e in ours]],
            ["Outgrow, computing"] + [[e["train_seconds"] for e in ours], [e["loss"] for e in ours]]]
    rows += [[f"PyTorch {torch.__version__}, {way}", *got] for way, got in theirs.items()]
    name = torch.cuda.get_device_name() if args.device == "cuda" else args.device
    table(f"{name}: {args.nodes:,} nodes, {args.nodes * args.degree:,} edges, {args.dim} features, {args.batches} batches of {args.batch}, fanout {args.fanout}, "
          f"hidden {args.hidden}", ["", "ms a batch", "loss of each epoch"],
          [[who, f"{1000 * statistics.median(seconds[1:] or seconds) / each:.2f}", ", ".join(f"{x:.5f}" for x in losses)] for who, seconds, losses in rows])
    worst = max(abs(x / e["loss"] - 1) for _, losses in theirs.values() for x, e in zip(losses, ours))
    print(f"\nlosses differ by at most {worst:.1e} of them")
    if not worst < 1e-3:
        sys.exit("losses differ")


if __name__ == "__main__":
    main()
