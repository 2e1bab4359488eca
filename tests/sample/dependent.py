#!/usr/bin/env python3
"""LABOR whose batches share random numbers, by NumPy. A trace has the edges that the definition takes, and no others. Numbers are uniform and independent
within a batch, and one node in K has a new one in the next. So single batches have the distribution of LABOR. Runs are bit-identical in any execution plan,
of samples and on workers.

    dependent.py OUTGROW [CHECK...]      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "runs"))
import command
from command import run

try:
    import numpy as np

    from philox import long_words, words
except ImportError:
    sys.exit(77)

FANOUT = [4, 3]
LABOR = ["--sampler", "labor", "--fanout", "4,3", "--batch", "50", "--threads", "2", "--memory", "300M"]
TRAIN = [*LABOR, "--hidden", "8", "--epochs", "3", "--lr", "0.02"]
FIGURES = ["epoch", "loss", "train_acc", "valid_acc", "rows"]
RELATION = 0xD1B54A32D192ED03


def rolls(nodes, seed, depends, batches, epoch, batch, hop):
    """By the definition in docs/guides/locality.md; epochs from 1."""
    if depends == 1:
        return long_words(seed, 1, nodes, batch=batch, epoch=epoch, layer=hop)
    begins = words(seed, 22, nodes, batch=2**32 - 1, layer=hop)[:, 0].astype(np.int64) % depends
    turn = ((epoch - 1) * batches + batch + begins) // depends
    return long_words(seed, 22, nodes, batch=turn, layer=hop)


def lists(folder):
    indptr, sources = np.load(f"{folder}/indptr.npy"), np.load(f"{folder}/indices.npy").astype(np.int64)
    return sources, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), np.diff(indptr)


def limits(fanout, degree):
    return np.array([2**64 - 1 if d <= fanout else (fanout << 64) // int(d) for d in degree], np.uint64)


def sample(graph, name, *options):
    run("sample", graph, "--out", name, *options)
    said = json.loads(pathlib.Path(name, "trace.json").read_text())
    arrays = {p.stem: np.load(p) for p in pathlib.Path(name).glob("*.npy")}
    return arrays, said["batches_per_epoch"]


def part(arrays, name, b, of=None):
    ptr = arrays[f"{of or name}_ptr"]
    return arrays[name][ptr[b]:ptr[b + 1]]


def check_edges():
    """Each hop's edges, of every node so far."""
    src, dst, degree = lists("plain")
    bound = [limits(f, degree) for f in FANOUT]
    for depends, more in (1, []), (1, ["--layer-dependency"]), (3, []), (7, ["--layer-dependency"]), (100, []):
        arrays, batches = sample("plain", f"edges-{depends}-{len(more)}", *LABOR, "--epochs", 3, "--seed", 9, "--batch-dependency", depends, *more)
        for b in range(3 * batches):
            ids = part(arrays, "ids", b)
            here = np.zeros(len(degree), bool)
            here[part(arrays, "seeds", b)] = True
            for h in range(2):
                roll = rolls(np.arange(len(degree)), 9, depends, batches, b // batches + 1, b % batches, 0 if more else h)
                takes = here[dst] & (roll[src] <= bound[h][dst])
                got = ids[part(arrays, f"hop{h + 1}_src", b, f"hop{h + 1}")] * len(degree) + ids[part(arrays, f"hop{h + 1}_dst", b, f"hop{h + 1}")]
                np.testing.assert_array_equal(np.sort(got), np.sort(src[takes] * len(degree) + dst[takes]), f"{depends} {more} {b} {h}")
                here[src[takes]] = True


def check_types():
    """Relations have numbers of their own: one's first hop."""
    meta = json.loads(pathlib.Path("typed/meta.json").read_text())
    first = dict(zip([t["name"] for t in meta["node_types"]], np.cumsum([0, *[t["count"] for t in meta["node_types"]]])))
    arrays, batches = sample("typed", "edges-typed", *LABOR, "--epochs", 2, "--batch-dependency", 4)
    n = 1700
    for b in range(2 * batches):
        ids = part(arrays, "ids", b)
        got_src, got_dst, got_rel = (part(arrays, f"hop1_{end}", b, "hop1") for end in ("src", "dst", "rel"))
        for r, of in enumerate(meta["relations"]):
            indptr, src = np.load(f"typed/rel{r}_indptr.npy"), np.load(f"typed/rel{r}_indices.npy").astype(np.int64)
            dst, bound = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), limits(4, np.diff(indptr))
            seed = (1 + r * RELATION) % 2**64
            roll = rolls(np.arange(n), seed, 4, batches, b // batches + 1, b % batches, 0)
            seeds = np.isin(dst + first[of["destination"]], part(arrays, "seeds", b))
            takes = seeds & (roll[src] <= bound[dst])
            want = (src[takes] + first[of["source"]]) * n + dst[takes] + first[of["destination"]]
            mine = got_rel == r
            np.testing.assert_array_equal(np.sort(ids[got_src[mine]] * n + ids[got_dst[mine]]), np.sort(want), f"{b} {of['name']}")


def chi(counts):
    want = counts.sum() / counts.size
    return ((counts - want) ** 2 / want).sum()


def check_distribution():
    """First numbers, by the definition that check_edges holds traces to. Then edges of a trace."""
    n, depends = 20000, 8
    before = None
    for batch in range(3 * depends):
        r = rolls(np.arange(n), 5, depends, 10, batch // 10 + 1, batch % 10, 1)
        bins = (r >> np.uint64(58)).astype(np.int64)
        assert chi(np.bincount(bins, minlength=64)) < 130, batch  # of 63 degrees of freedom: one in 10^6 is larger
        pairs = (bins[0::2] >> 3) * 8 + (bins[1::2] >> 3)
        assert chi(np.bincount(pairs, minlength=64)) < 130, batch
        if before is not None:
            new = (r != before).sum()
            assert abs(new - n / depends) < 5 * np.sqrt(n / depends), (batch, new)
        before = r
    src, dst, degree = lists("plain")
    train = np.load("plain/train.npy")
    wanted = np.minimum(degree, FANOUT[0])[train].sum()
    for options in [], ["--batch-dependency", 6]:
        arrays, batches = sample("plain", f"many-{len(options)}", *LABOR, "--epochs", 120, "--draw", "each", *options)
        per_epoch = np.diff(arrays["hop1_ptr"]).reshape(120, batches).sum(1)
        loose = 4 * per_epoch.std() / np.sqrt(120 / 6)
        assert abs(per_epoch.mean() - wanted) < loose + 1, (options, per_epoch.mean(), wanted, loose)
    took = [np.bincount(np.concatenate([part(a, "ids", b)[part(a, "hop1_src", b, "hop1")] for b in range(120 * batches)]), minlength=len(degree))
            for a in (sample_again("many-0"), sample_again("many-2"))]
    share = np.bincount(src[np.isin(dst, train)], np.minimum(1, FANOUT[0] / degree[dst[np.isin(dst, train)]]), minlength=len(degree)) * 120
    for counts, variance in (took[0], 1), (took[1], 6):  # numbers that last for six batches: at most six times the variance
        z = (counts - share)[share > 0] / np.sqrt(share[share > 0] * variance)
        assert np.abs(z).max() < 8 and abs(z.mean()) < 0.2, (np.abs(z).max(), z.mean())


def sample_again(name):
    return {p.stem: np.load(p) for p in pathlib.Path(name).glob("*.npy")}


def train(graph, name, *options):
    return json.loads(run("train", graph, *TRAIN, "--run", name, "--json", *options).stdout)


def check_runs():
    """The same in every plan, from disk, of samples, on workers and after a stop. Fewer rows are read than without."""
    for number, (graph, options) in enumerate([("plain", ["--batch-dependency", 4]), ("plain", ["--batch-dependency", 2, "--layer-dependency", "--accumulate", 2]),
                                               ("plain", ["--batch-dependency", 3, "--draw", "once", "--device", "virtual"]),
                                               ("typed", ["--batch-dependency", 2, "--embedding", 8])]):
        one = f"run-{number}"
        train(graph, one, *options)
        for turn, way in enumerate([["--policy", "belady", "--cache", "20%", "--superbatch", 3], ["--policy", "lru", "--cache", "10%", "--threads", 1],
                                    ["--topology", "disk", "--policy", "degree", "--cache", "10%"], ["--topology", "disk", "--sample-group", 1]]):
            name = f"{one}-{turn}"
            train(graph, name, *options, *way, "--epochs", 2)
            train(graph, name, *options, *way, "--resume")
            command.same(one, name, FIGURES)
    for more in ["--workers", 2], ["--workers", 2, "--exchange"]:
        name = "-".join(map(str, more))
        train("plain", name, "--batch-dependency", 2, "--layer-dependency", "--accumulate", 2, *more)
        command.same("run-1", name, FIGURES)
    sample("plain", "samples", *LABOR, "--epochs", 3, "--batch-dependency", 4)
    train("plain", "sampled", "--batch-dependency", 4, "--samples", "samples")
    command.same("run-0", "sampled", FIGURES)
    said = run("train", "plain", *TRAIN, "--run", "never", "--samples", "samples", fails=True).stderr
    assert "another --batch-dependency" in said and not os.path.exists("never"), said
    misses = [json.loads(run("simulate", "plain", *LABOR, "--epochs", 4, "--policy", "belady", "--cache", "5%", "--batch-dependency", k, "--json", "-").stdout)
              ["results"][0]["misses"] for k in (1, 8)]
    assert misses[1] < misses[0], misses


def check_evaluation():
    """Held-out batches have numbers of their own, whatever K. A checkpoint says what it was trained with, and nothing where that is as usual."""
    losses = []
    for k in 1, 4:
        train("plain", f"evaluated-{k}", "--batch-dependency", k, "--lr", 0, "--dropout", 0)
        losses.append([e["valid_metrics"]["loss"] for e in json.loads(pathlib.Path(f"evaluated-{k}/summary.json").read_text())["epochs"]])
        head = pathlib.Path(f"evaluated-{k}/best.safetensors").read_bytes()[:4000]
        assert (b"batch-dependency" in head) == (k > 1)
    assert losses[0] == losses[1], losses


def check_words():
    """Too large a K is warned of, and what has no effect is reported."""
    batches = -(-len(np.load("plain/train.npy")) // 50)
    for k, warns in (batches // 2, False), (batches // 2 + 1, True):
        said = run("train", "plain", *TRAIN, "--run", f"words-{k}", "--batch-dependency", k).stderr
        assert (f"Use at most {batches // 2}" in said) == warns, said
    for options, word in [(["--sampler", "uniform", "--batch-dependency", 2], "--batch-dependency has no effect with --sampler uniform: it is a parameter of labor"),
                          (["--fanout", "-1,-1", "--layer-dependency"], "--layer-dependency has no effect with --fanout"),
                          (["--fanout", "-1,-1", "--batch-dependency", 2], "--batch-dependency has no effect with --fanout")]:
        said = run("train", "plain", *TRAIN, *options, "--run", "told-" + "-".join(map(str, options)), "--epochs", 1).stderr
        assert word in said, said


CHECKS = {"edges": check_edges, "types": check_types, "distribution": check_distribution, "runs": check_runs, "evaluation": check_evaluation, "words": check_words}

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
    run("generate", "plain", "--nodes", 1500, "--degree", 10, "--dim", 8, "--classes", 4, "--train-fraction", 0.3)
    run("generate", "typed", "--types", "drug:1200,gene:500", "--classes", 4, "--train-fraction", 0.2, "--relations",
        "drug:binds:gene:8,gene:bound.by:drug:6,gene:near:gene:7")
    for check in sys.argv[2:] or CHECKS:
        CHECKS[check]()
    os.chdir("/")
