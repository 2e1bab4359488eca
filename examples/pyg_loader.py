#!/usr/bin/env python3
"""GraphSAGE of PyTorch Geometric on a graph that need not fit in memory, with regular checkpoints:

    pyg_loader.py DATASET [--memory 2G] [--epochs 5]

Stopped or killed, the same command resumes where the checkpoint was written. The line that differs from a script over NeighborLoader is the one that makes the
loader.
"""
import argparse
import os

import outgrow
import torch
import torch.nn.functional as F
from torch_geometric.nn import GraphSAGE

CHECKPOINT = "pyg_loader.pt"


def save(model, optimizer, loader):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict()}, CHECKPOINT + ".new")
    os.replace(CHECKPOINT + ".new", CHECKPOINT)


def accuracy(model, batches):
    model.eval()
    with torch.no_grad():
        right = [(model(b.x.float(), b.edge_index)[:b.batch_size].argmax(1) == b.y[:b.batch_size]).float() for b in batches]
    model.train()
    return torch.cat(right).mean().item()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dataset")
    p.add_argument("--memory", default="2G")
    p.add_argument("--epochs", type=int, default=5)
    args = p.parse_args()

    about = outgrow.info(args.dataset)
    model = GraphSAGE(about["feature_dim"], 64, 2, about["num_classes"], dropout=0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    with outgrow.Loader(args.dataset, num_neighbors=[10, 10], batch_size=1000, input_nodes="train", shuffle=True, memory=args.memory, epochs=args.epochs,
                        progress=True) as loader:
        if os.path.exists(CHECKPOINT):
            saved = torch.load(CHECKPOINT)
            model.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            loader.load_state_dict(saved["loader"])
        while True:
            for i, batch in enumerate(loader, 1):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(batch.x.float(), batch.edge_index)[:batch.batch_size], batch.y[:batch.batch_size], ignore_index=-1)
                loss.backward()
                optimizer.step()
                if i % 20 == 0:
                    save(model, optimizer, loader)
            done = loader.metrics["epochs"][-1]
            print(f"epoch {loader.epoch}: valid {accuracy(model, loader.evaluate('valid')):.4f}, {done['misses']} of {done['rows']} rows from disk")
            if loader.epoch >= args.epochs:
                break
            save(model, optimizer, loader)
    print(f"test {accuracy(model, outgrow.Loader(args.dataset, num_neighbors=[10, 10], batch_size=1000, input_nodes='test', memory=args.memory)):.4f}")
    if os.path.exists(CHECKPOINT):
        os.remove(CHECKPOINT)


if __name__ == "__main__":
    main()
