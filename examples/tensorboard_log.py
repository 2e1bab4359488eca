#!/usr/bin/env python3
"""What runs wrote to metrics.jsonl, for TensorBoard: tensorboard_log.py RUN [RUN ...]; tensorboard --logdir RUN"""
import json
import pathlib
import sys
from torch.utils.tensorboard import SummaryWriter

for run in map(pathlib.Path, sys.argv[1:]):
    steps = {"batch": 0, "epoch": 0}
    with SummaryWriter(run / "tensorboard") as writer:
        for row in map(json.loads, open(run / "metrics.jsonl")):
            kind = "batch" if "batch" in row else "epoch"
            steps[kind] += 1
            row.update({f"valid_{key}": value for key, value in (row.get("valid_metrics") or {}).items()})
            for key, value in row.items():
                if isinstance(value, (int, float)) and key not in steps:
                    writer.add_scalar(f"{kind}/{key}", value, steps[kind])
