#!/usr/bin/env python3
"""Caches of several workers as `simulate --workers` counts them, counted again here from a trace. Batches are the same, with each worker's own cache, and with
owners of nodes who exchange rows. Then owners against one cache that is as large as theirs in total.

    owners.py OUTGROW
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = sys.argv[1]
BASE = ["--fanout", "5,4", "--batch", "37", "--epochs", "2", "--memory", "400M", "--threads", "2"]
WAYS = 32


def outgrow(*words, status=0):
    done = subprocess.run([OUTGROW, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == status, (words, done.stderr)
    return done


def simulate(graph, policies, caches, *options):
    words = ["--policy", ",".join(policies), "--cache", ",".join(caches), "--json", "-", *BASE, *options]
    return json.loads(outgrow("simulate", graph, *words).stdout)


# ---- the batches, and whose they are ----


class Trace:
    def __init__(self, folder, n_epochs=None):
        ids, ptr = (np.load(f"{folder}/{name}.npy") for name in ("ids", "ids_ptr"))
        batches = [ids[a:b].tolist() for a, b in zip(ptr, ptr[1:])]
        epoch = json.load(open(f"{folder}/trace.json"))["batches_per_epoch"]
        self.epochs = [batches[i:i + epoch] for i in range(0, len(batches), epoch)][:n_epochs]
        self.batches = [batch for epoch in self.epochs for batch in epoch]

    def of_worker(self, workers, rank):
        """Epochs of batches."""
        return [epoch[rank::workers] for epoch in self.epochs]

    def of_owner(self, workers, rank):
        """Epochs of rounds: each requested node, once, as the owner numbers it."""
        epochs = []
        for epoch in self.epochs:
            rounds = [epoch[i:i + workers] for i in range(0, len(epoch), workers)]
            epochs.append([list(dict.fromkeys(v // workers for batch in r for v in batch if v % workers == rank)) for r in rounds])
        return epochs

    def kept(self, workers):
        return sum(v % workers == i % workers for epoch in self.epochs for i, batch in enumerate(epoch) for v in batch)


# ---- policies, the plain way: what the epochs of batches miss ----


def lru(epochs, size, score):
    cache, misses = collections.OrderedDict(), 0
    for batch in (b for e in epochs for b in e):
        misses += sum(v not in cache for v in batch)
        for v in batch:
            cache[v] = True
            cache.move_to_end(v)
        while len(cache) > size:
            cache.popitem(last=False)
    return misses


def degree(epochs, size, score):
    held = set(sorted(range(len(score)), key=lambda v: (-score[v], v))[:size])
    return sum(v not in held for e in epochs for b in e for v in b)


def rr(epochs, size, score):
    """Round robin in sets of 32 slots, or a few more. A set's slots leave in turn, but none twice in a batch."""
    n_sets = max(size // WAYS, 1)
    sets = [[None] * ((i + 1) * size // n_sets - i * size // n_sets) for i in range(n_sets)]
    hand, misses = [0] * n_sets, 0

    def set_of(v):
        return (((v * 0x9E3779B97F4A7C15) >> 32) & 0xFFFFFFFF) * n_sets >> 32

    for batch in (b for e in epochs for b in e):
        missed = [v for v in batch if v not in sets[set_of(v)]]
        misses += len(missed)
        filled = collections.Counter()
        for v in missed:
            s = set_of(v)
            if filled[s] < len(sets[s]):
                sets[s][hand[s]] = v
                hand[s] = (hand[s] + 1) % len(sets[s])
                filled[s] += 1
    return misses


def belady(epochs, size, score):
    """Before the epoch, whose batches are known, anything may be put into the cache. Then what was in memory may stay."""
    [batches] = epochs  # what is left of one in the cache of the next is a matter of taste
    misses, uses = 0, collections.defaultdict(list)
    for i, batch in enumerate(batches):
        for v in batch:
            uses[v].append(i)
    cache = set(sorted(uses, key=lambda v: uses[v][0])[:size])
    for batch in batches:
        misses += sum(v not in cache for v in batch)
        for v in batch:
            uses[v].pop(0)
        wanted = [v for v in cache | set(batch) if uses[v]]
        cache = set(sorted(wanted, key=lambda v: uses[v][0])[:size])
    return misses


POLICIES = {"lru": lru, "degree": degree, "rr": rr, "belady": belady}


def counted_again(policies, n_epochs):
    trace, nodes = Trace("trace", n_epochs), json.load(open("graph/meta.json"))["num_nodes"]
    score = np.bincount(np.load("graph/indices.npy"), minlength=nodes).tolist()
    rows = sum(map(len, trace.batches))
    for workers in (2, 3, 4):
        told = simulate("graph", policies, ["2%", "7%"], "--workers", workers, "--epochs", n_epochs)
        row_bytes = told["row_bytes"]
        kept = trace.kept(workers)
        assert told["workers"] == workers and told["rows"] == rows == told["rows_local"] + told["rows_exchanged"], told
        asked = [sum(v % workers == w for batch in trace.batches for v in batch) for w in range(workers)]
        assert told["rows_asked"] == asked, (told["rows_asked"], asked)
        assert told["rows_local"] == kept and told["exchanged_bytes"] == (rows - kept) * (row_bytes + 4), (told, kept)
        for r in told["results"]:
            size, count = r["cache_rows"], POLICIES[r["policy"]]
            own = sum(count(trace.of_worker(workers, w), size, score) for w in range(workers))
            owned = sum(count(trace.of_owner(workers, w), size, score[w::workers]) for w in range(workers))
            assert (r["rows"], r["misses"], r["hits"]) == (rows, own, rows - own), (workers, r, own)
            e = r["exchanged"]
            assert (e["rows"], e["misses"], e["hits"]) == (rows, owned, rows - owned), (workers, r, owned)
            assert e["hit_rate"] == (rows - owned) / rows and e["hits"] > r["hits"], r


def a_trace_has_what_its_dataset_has():
    of_trace = simulate("trace", ["lru", "rr", "belady"], ["2%"], "--workers", 3)
    of_graph = simulate("graph", ["lru", "rr", "belady"], ["2%"], "--workers", 3)
    for a, b in zip(of_trace["results"], of_graph["results"]):
        assert a["misses"] == b["misses"] and a["exchanged"]["misses"] == b["exchanged"]["misses"], (a, b)
    assert of_trace["rows_exchanged"] == of_graph["rows_exchanged"]
    assert simulate("graph", ["lru"], ["2%"], "--workers", 1)["results"] == simulate("graph", ["lru"], ["2%"])["results"]


def as_one_of_their_size():
    """Within a point of the hit rate, where a cache holds several batches. One cache sees batches where owners see rounds."""
    small = ["--batch", "4"]

    def policies(batches):
        return ["rr", f"hybrid:window={16 * batches},update={2 * batches}", "degree", "belady"]

    for workers in (2, 4):
        for percent in (4, 8):
            shared = simulate("graph", policies(1), [f"{percent}%"], "--workers", workers, *small)["results"]
            one = simulate("graph", policies(workers), [f"{workers * percent}%"], *small)["results"]
            for a, b in zip(shared, one):
                apart = 100 * (a["exchanged"]["hit_rate"] - b["hit_rate"])
                assert abs(apart) <= 1 and a["exchanged"]["hit_rate"] > a["hit_rate"] + 0.05, (workers, percent, a["policy"], apart)


def own_caches_are_those_of_a_run():
    for policy in ("degree", "rr", "belady"):
        options = ["--workers", "2", "--superbatch", "5", "--eval-every", "0"]
        [told] = simulate("graph", [policy], ["7%"], *options)["results"]
        outgrow("train", "graph", "--run", f"run-{policy}", *BASE, *options, "--policy", policy, "--cache", "7%", "--layout", "raw", "--hidden", "4", "--quiet")
        epochs = json.load(open(f"run-{policy}/summary.json"))["epochs"]
        for key in ("rows", "hits", "misses"):
            assert sum(e[key] for e in epochs) == told[key], (policy, key, told, epochs)


def what_cannot_be_is_refused():
    few = outgrow("simulate", "graph", "--policy", "lru", "--cache", "1%", "--workers", 64, *BASE, "--batch", 1000, status=1)
    assert "fewer workers" in few.stderr, few.stderr
    kept = outgrow("simulate", "graph", "--policy", "lru", "--cache", "1%", "--workers", 2, *BASE, "--resample-every", 2, status=1)
    assert "resample-every" in kept.stderr, kept.stderr
    caches = ["--policy", "lru", "--cache", "1%", "--workers", 2, *BASE]
    uneven = outgrow("simulate", "graph", *caches, "--accumulate", 3, status=1)
    assert "--accumulate 3: not a multiple of 2 workers" in uneven.stderr and "hint: " in uneven.stderr, uneven.stderr
    assert json.loads(outgrow("simulate", "graph", *caches, "--accumulate", 4, "--json", "-").stdout)["workers"] == 2
    stored = outgrow("simulate", "graph", *caches, "--samples", "trace", status=1)
    assert "--samples: not with 2 workers" in stored.stderr and "hint: " in stored.stderr, stored.stderr
    shown = outgrow("simulate", "graph", "--policy", "lru", "--cache", "1%", "--workers", 2, *BASE, "--quiet").stdout
    assert shown.count("hit rate") == 2 and "2 workers" in shown, shown


def main():
    with tempfile.TemporaryDirectory(prefix="outgrow-owners-") as folder:
        os.chdir(folder)
        outgrow("generate", "graph", "--model", "rmat", "--nodes", 6000, "--degree", 10, "--dim", 8, "--train-fraction", 0.2, "--quiet")
        outgrow("sample", "graph", "--out", "trace", *BASE, "--quiet")
        counted_again(["lru", "degree", "rr"], 2)
        counted_again(["belady"], 1)
        a_trace_has_what_its_dataset_has()
        as_one_of_their_size()
        own_caches_are_those_of_a_run()
        what_cannot_be_is_refused()
        os.chdir("/")


if __name__ == "__main__":
    main()
