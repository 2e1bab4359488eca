#!/usr/bin/env python3
"""GraphSAGE of PyTorch Geometric, trained by several processes on a graph that need not fit in memory:

    torchrun --nproc_per_node 2 ddp_loader.py DATASET
    ddp_loader.py DATASET --accumulate 2

Both train with the same batches, in whole steps of two, so both print the same losses. These are of each rank's own batches, in turn.
"""
import argparse
import itertools
import json
import os

import outgrow
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch_geometric.nn import GraphSAGE


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dataset")
    p.add_argument("--accumulate", type=int, default=1)
    p.add_argument("--batch", type=int, default=1000)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--memory", default="2G")
    args = p.parse_args()

    rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if ranks > 1:
        dist.init_process_group("gloo")
    torch.manual_seed(1)  # the same parameters everywhere
    about = outgrow.info(args.dataset)
    model = GraphSAGE(about["feature_dim"], 64, 2, about["num_classes"])
    if ranks > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    loader = outgrow.Loader(args.dataset, num_neighbors=[10, 10], batch_size=args.batch, input_nodes="train", shuffle=True, memory=args.memory,
                            epochs=args.epochs, seed=1, rank=rank, world_size=ranks, drop_last=True)
    for epoch in range(1, args.epochs + 1):
        losses = []
        for i, batch in enumerate(itertools.islice(loader, len(loader) // args.accumulate * args.accumulate), 1):
            loss = F.cross_entropy(model(batch.x.float(), batch.edge_index)[:batch.batch_size], batch.y[:batch.batch_size], ignore_index=-1)
            losses.append(loss.item())
            (loss / args.accumulate).backward()
            if i % args.accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
        print(json.dumps({"epoch": epoch, "rank": rank, "losses": losses}), flush=True)


if __name__ == "__main__":
    main()
