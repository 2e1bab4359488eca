#!/usr/bin/env python3
"""Training with times, bit-identical from memory and disk, under policies, executors and workers, and after --resume. No label leaks from the future."""
import json

from support import main, np, outgrow
from times import run, trained, typed, write


def test_training_has_the_same_bits():
    write()
    typed()
    for path, model in ("g", "sage"), ("g", "gat"), ("h", "sage"), ("h", "rgcn"):
        own = "--time", "node", "--model", model, "--time-strategy", "last" if model == "gat" else "uniform"
        one, summary = trained(f"{path}{model}0", path, *own, "--policy", "degree")
        for i, way in enumerate((("--topology", "disk", "--policy", "belady"), ("--policy", "frequency", "--layout", "packed", "--cache", "10%"), ("--executors", "2:2"))):
            other, counted = trained(f"{path}{model}{i + 1}", path, *own, *way)
            assert other == one, (path, model, way)
            plan = json.load(open(f"{path}{model}{i + 1}/plan.json"))
            if plan["predicted"].get("reads") is not None and i == 1:
                assert counted["epochs"][1]["reads"] == plan["predicted"]["reads"]
    pair = [trained(f"pair{i}", "g", "--time", "node", *how)[0] for i, how in enumerate((("--workers", 2), ("--accumulate", 2)))]
    assert pair[0] == pair[1], "two workers are one that accumulates"
    trained("cut", "g", "--time", "node", "--epochs", 1)
    assert trained("cut", "g", "--time", "node", "--resume")[0] == trained("whole", "g", "--time", "node")[0]


def test_only_the_future_knows():
    """Edges later than their nodes lead from nodes that know the label. Who samples them learns it, others do not."""
    r = np.random.default_rng(3)
    n, teachers = 1500, 30
    y = r.integers(0, 3, n)
    x = np.zeros((n + teachers, 3), np.float32)
    x[n:] = np.eye(3, dtype=np.float32)[np.arange(teachers) % 3]
    future = np.stack([n + 3 * r.integers(0, teachers // 3, n) + y, np.arange(n)])
    noise = np.stack([n + r.integers(0, teachers, 4 * n), np.repeat(np.arange(n), 4)])
    at = r.permutation(n)
    outgrow.write("leak", edge_index=np.concatenate([future, noise, future], 1), x=x, y=np.concatenate([y, np.full(teachers, -1)]), train=at[:900], valid=at[900:1200],
                  test=at[1200:], node_time=np.concatenate([np.full(n, 10), np.arange(teachers) % 2 * 20]), edge_time=np.concatenate([np.full(n, 20), np.zeros(4 * n), np.full(n, 30)]).astype(int))
    for split, m in ("train", 900), ("valid", 300), ("test", 300):
        np.save(f"leak/{split}_times.npy", np.full(m, 10))

    def accuracy(*options):
        run("train", "leak", "--run", f"l{len(options)}", "--epochs", 15, "--batch", 100, "--fanout", 6, "--lr", "0.02", "--hidden", 16, "--dropout", 0, "--memory", "100M", *options)
        return json.load(open(f"l{len(options)}/summary.json"))["epochs"][-1]["valid_acc"]
    assert accuracy() > 0.6
    assert accuracy("--time", "edge") < 0.42


if __name__ == "__main__":
    main(globals())
