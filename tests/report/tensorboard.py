#!/usr/bin/env python3
"""examples/tensorboard_log.py gives TensorBoard what a run's summary has.

    tests/report/tensorboard.py OUTGROW EXAMPLE

PyTorch's SummaryWriter is stood in for by one that notes its calls, so neither has to be there.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

STAND_IN = """
import json

class SummaryWriter:
    def __init__(self, folder):
        self.calls = open(str(folder) + ".calls", "w")

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.calls.close()

    def add_scalar(self, tag, value, step):
        print(json.dumps([tag, value, step]), file=self.calls)
"""


def main():
    outgrow, example = map(os.path.abspath, sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "torch/utils").mkdir(parents=True)
        for module in "torch/__init__.py", "torch/utils/__init__.py":
            (folder / module).touch()
        (folder / "torch/utils/tensorboard.py").write_text(STAND_IN)

        def run(*words):
            subprocess.run([*words], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env=dict(os.environ, PYTHONPATH=name))

        run(outgrow, "generate", "graph", "--nodes", "2000", "--seed", "5")
        run(outgrow, "train", "graph", "--run", "run", "--epochs", "3", "--eval-every", "2", "--fanout", "4,4", "--hidden", "8",
            "--batch", "50", "--log-every", "1")
        run(sys.executable, example, "run")
        told = collections.defaultdict(dict)
        for tag, value, step in map(json.loads, (folder / "run/tensorboard.calls").open()):
            assert step not in told[tag], (tag, step)
            told[tag][step] = value
        epochs = json.loads((folder / "run/summary.json").read_text())["epochs"]
        for key in "loss", "train_acc", "rows", "misses", "seconds":
            assert told[f"epoch/{key}"] == {row["epoch"]: row[key] for row in epochs}, key
        validated = {row["epoch"]: row for row in epochs if row["valid_metrics"]}
        assert set(validated) == {2, 3}, validated
        assert told["epoch/valid_acc"] == {e: row["valid_acc"] for e, row in validated.items()}
        assert told["epoch/valid_loss"] == {e: row["valid_metrics"]["loss"] for e, row in validated.items()}
        batches = told["batch/rows"]
        assert sorted(batches) == list(range(1, len(batches) + 1)) and len(batches) % 3 == 0
        assert sum(batches.values()) == sum(row["rows"] for row in epochs)
        assert not {"epoch/epoch", "batch/batch", "batch/epoch"} & set(told)
    print("every scalar is the summary's")


if __name__ == "__main__":
    main()
