#!/usr/bin/env python3
"""`outgrow pack` on heterogeneous graphs: packed files of each type hold the dataset's rows, as NumPy finds them. Runs that read them have the checkpoint, byte
for byte, of one that samples and packs during the run; what does not fit or is damaged is named.

    typed_packs.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from typed_command import OUTGROW, SANITIZED, outgrow, refused, run, some

try:
    import numpy as np
except ImportError:
    sys.exit(77)

BLOCK = 4096
BATCH, EPOCHS = 50, 3
DRAWN = ["--batch", BATCH, "--fanout", "4,3"]
MODEL = ["--hidden", 12, "--dropout", 0.2, "--embedding", 6, "--threads", 2]
MEMORY = ["--memory", "120M"]
RUN = [*DRAWN, *MODEL, *MEMORY, "--epochs", EPOCHS]
PACKED = ["--policy", "frequency", "--layout", "packed"]
DTYPES = np.float32, np.float16, np.uint16, np.uint8  # as packed files number them


def bfloat16(x):
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


NARROW = {"stored": lambda x: x, "f16": lambda x: x.astype(np.float16) if x.dtype == np.float32 else x,
          "bf16": lambda x: bfloat16(x) if x.dtype == np.float32 else x}


# ---- commands ----

def sample(graph, out, *more):
    run("sample", graph, "--out", out, *DRAWN, *MEMORY, "--threads", 2, "--epochs", EPOCHS, *more)


def pack(graph, samples, *more):
    return json.loads(run("pack", graph, "--samples", samples, *MODEL, *MEMORY, "--json", *more))


def train(graph, name, *more, options=RUN):
    """Checkpoint, summary, and what it said."""
    shutil.rmtree(name, ignore_errors=True)
    done = subprocess.run([OUTGROW, "train", graph, *map(str, [*options, *more]), "--run", name], capture_output=True, text=True)
    assert done.returncode == 0, (more, done.stderr)
    said = [line for line in done.stderr.splitlines() if line.startswith("outgrow: ") and line != "outgrow: building the neighbour cache" and "is given twice" not in line]
    return pathlib.Path(name, "checkpoint.safetensors").read_bytes(), json.loads(pathlib.Path(name, "summary.json").read_text()), said


# ---- what is in the packed files ----

class Container:
    """As docs/reference/formats.md has it."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        assert data[:8] == b"OGPACK2\n" and len(data) % BLOCK == 0
        self.row_bytes, self.dtype = map(int, np.frombuffer(data, np.uint32, 2, 16))
        self.dataset, (batches, self.rows, size) = data[8:16], map(int, np.frombuffer(data, np.uint64, 3, 24))
        assert size == len(data)
        self.table = np.frombuffer(data, np.uint64, 4 * batches, BLOCK).reshape(-1, 4)
        self.chunks = [np.frombuffer(data, np.uint8, int(n) * self.row_bytes, int(at)).reshape(-1, self.row_bytes) for at, n, _, _ in self.table]
        assert sum(map(len, self.chunks)) == self.rows

    def read(self, chunk):
        """Bytes that reading it takes: whole blocks."""
        return -(-self.chunks[chunk].size // BLOCK) * BLOCK


class Packs:
    def __init__(self, graph, samples):
        self.folder = pathlib.Path(samples, "pack")
        self.said = json.loads((self.folder / "pack.json").read_text())
        meta = json.loads(pathlib.Path(graph, "meta.json").read_text())["node_types"]
        ends = np.cumsum([0, *(t["count"] for t in meta)])
        self.types = {t: (ends[t], ends[t + 1], np.load(f"{graph}/features_{t}.npy")) for t in range(len(meta)) if meta[t].get("feature_dim")}
        assert [t["name"] for t in self.said["node_types"]] == [t["name"] for t in meta]
        self.of = [{t: Container(self.folder / f"draw{d}_{t}.pack") for t in self.types} for d in range(self.said["draws"])]
        self.cached = [np.load(self.folder / f"draw{d}_cached.npy") for d in range(self.said["draws"])]
        ids, ptr = (np.load(f"{samples}/{a}.npy") for a in ("ids", "ids_ptr"))
        per_draw = json.loads(pathlib.Path(samples, "trace.json").read_text())["batches_per_epoch"]
        self.batches = [[ids[ptr[b]:ptr[b + 1]] for b in range(d * per_draw, (d + 1) * per_draw)] for d in range(self.said["draws"])]
        names = {"pack.json"} | {f"draw{d}_cached.npy" for d in range(len(self.of))} | {f"draw{d}_{t}.pack" for d in range(len(self.of)) for t in self.types}
        assert {p.name for p in self.folder.iterdir()} == names

    def bytes_of(self, draw, batches):
        return sum(c.read(b) for c in self.of[draw].values() for b in range(batches))


def check_rows(packs, told, dtype):
    """For each type its chunks have the rows that each batch misses of the list. They are in the order of ids, rounded as NumPy rounds."""
    rows = dict.fromkeys(packs.types, 0)
    for of, cached, batches in zip(packs.of, packs.cached, packs.batches):
        assert np.all(np.diff(cached) > 0)
        for t, (first, end, features) in packs.types.items():
            features = NARROW[dtype](features)
            kept = cached[(cached >= first) & (cached < end)]
            said, c = packs.said["node_types"][t], of[t]
            assert len(kept) <= said["cache_rows"] and c.row_bytes == said["row_bytes"] == features.shape[1] * features.itemsize
            assert {"f32": 0, "f16": 1, "bf16": 2, "u8": 3}[said["feature_dtype"]] == c.dtype and DTYPES[c.dtype] == features.dtype
            assert len(c.chunks) >= len(batches)
            for ids, chunk in zip(batches, c.chunks):
                missed = np.setdiff1d(ids[(ids >= first) & (ids < end)], kept)
                assert np.array_equal(chunk, features[missed - first].view(np.uint8)), (t, len(missed))
            rows[t] += c.rows
        assert len(cached) == sum(((cached >= first) & (cached < end)).sum() for first, end, _ in packs.types.values())
    assert all(t["cache_rows"] > 0 and t["rows"] > 0 for t in told["types"]), told
    assert [t["rows"] for t in told["types"]] == list(rows.values()) and sum(rows.values()) == told["rows"]
    assert [(t["name"], t["cache_rows"], t["row_bytes"]) for t in told["types"]] == \
        [(t["name"], t["cache_rows"], t["row_bytes"]) for t in packs.said["node_types"] if "row_bytes" in t]
    assert len({c.dataset for c in packs.of[0].values()}) == len(packs.types)


def check_most_visited(packs):
    """Without validation batches: each type's slots have those of its nodes that most batches of the draw have."""
    for cached, batches in zip(packs.cached, packs.batches):
        for t, (first, end, _) in packs.types.items():
            visits = np.zeros(end - first, np.int64)
            for ids in batches:
                visits[ids[(ids >= first) & (ids < end)] - first] += 1
            kept = np.zeros(len(visits), bool)
            kept[cached[(cached >= first) & (cached < end)] - first] = True
            room = packs.said["node_types"][t]["cache_rows"]
            assert kept.sum() == min(room, (visits > 0).sum())
            assert not kept.any() or visits[kept].min() >= visits[~kept].max()


# ---- runs on them ----

WAYS = [["--cache", "60K", *PACKED],
        ["--cache", "60K", "--preset", "diskgnn"],
        ["--cache", "60K"],  # what is there is taken
        ["--cache", "100K", *PACKED],
        ["--cache", "60K", *PACKED, "--topology", "disk"],
        ["--cache", "60K", *PACKED, "--io", "pread", "--pipeline", "none"],
        ["--cache", "60K", "--preset", "diskgnn", "--scratch", "a,b"]]


def check_served(way, summary, said, packs):
    """Whatever moves them, misses come from the chunks and from nowhere else; nothing is packed again."""
    assert said == [], (way, said)
    plan = summary["plan"]
    assert (plan["policy"], plan["layout"]) == ("frequency", "packed"), (way, plan["policy"], plan["layout"])
    batches = len(packs.batches[0])
    for draw, epoch in enumerate(summary["epochs"]):
        if "100K" not in way:
            assert epoch["misses"] == sum(len(c.chunks[b]) for c in packs.of[draw].values() for b in range(batches)), way
        assert epoch["feature_bytes_read"] == packs.bytes_of(draw, batches), (way, draw, epoch["feature_bytes_read"])
    if "--preset" not in way:
        assert all(e["bytes_written"] == 0 for e in summary["epochs"][:-1]), way


def same_bytes_on_packs(graph, dtype):
    samples, rounded = f"{graph}-s-{dtype}", [] if dtype == "stored" else ["--pack-dtype", dtype]
    sample(graph, samples)
    told = pack(graph, samples, "--cache", "60K", *rounded)
    packs = Packs(graph, samples)
    check_rows(packs, told, dtype)
    run("verify", samples)
    run("verify", samples, "--dataset", graph)
    want, _, _ = train(graph, "want", *rounded)
    for i, way in enumerate(WAYS if dtype == "stored" else WAYS[:4]):
        way = [*way, *rounded, "--samples", samples]
        got, summary, said = train(graph, "got", *way)
        assert got == want, (graph, way)
        check_served(way, summary, said, packs)
        plan = json.loads(run("plan", graph, *RUN, *way, "--json"))
        for key in "rows", "hits", "misses", "feature_bytes_read":
            assert plan["predicted"][key] == summary["epochs"][0][key], (way, key, plan["predicted"][key], summary["epochs"][0][key])
        assert summary["plan"]["predicted"]["feature_bytes_read"] == summary["epochs"][0]["feature_bytes_read"]


def hands_and_devices():
    """Several mini-batches at a time, and computed elsewhere."""
    for way in ["--accumulate", 2, "--executors", 2], ["--accumulate", 2, "--executors", "2:2"], ["--device", "virtual"]:
        plain = way[:2]
        want, _, _ = train("graph", "want", *plain)
        got, summary, said = train("graph", "got", *way, "--samples", "graph-s-stored", "--cache", "60K", *PACKED)
        assert got == want and said == [], (way, said)
        assert summary["epochs"][0]["bytes_written"] == 0, way


def reused_draws():
    """--resample-every: a draw's packs serve all epochs that train on it; without validation batches."""
    often = ["--resample-every", 2, "--epochs", 5]
    run("sample", "graph", "--out", "reused", *DRAWN, *MEMORY, *often)
    told = pack("graph", "reused", "--cache", "60K", "--eval-every", 0)
    packs = Packs("graph", "reused")
    assert told["draws"] == 3
    check_rows(packs, told, "stored")
    check_most_visited(packs)
    assert all(len(c.chunks) == len(packs.batches[0]) for of in packs.of for c in of.values())
    want, _, _ = train("graph", "want", *often)
    got, summary, said = train("graph", "got", *often, "--samples", "reused", "--cache", "60K", *PACKED)
    assert got == want and said == []
    for epoch in summary["epochs"]:  # batches come in another order, and are the same
        assert epoch["feature_bytes_read"] == packs.bytes_of((epoch["epoch"] - 1) // 2, len(packs.batches[0]))


def links():
    """Whose seeds are of several types, in the graph that held-out edges are left out of."""
    of = ["--task", "link", "--model", "sage", "--decoder", "distmult", "--edge-split", "80/10/10"]
    run("sample", "graph", "--out", "links", "--batch", 400, "--fanout", "3,2", *MEMORY, "--epochs", 1, *of)
    run("pack", "graph", "--samples", "links", *MODEL, *MEMORY, *of, "--cache", "60K")
    run("verify", "links", "--dataset", "graph")
    options = ["--batch", 400, "--fanout", "3,2", *MODEL, *MEMORY, *of, "--epochs", 1]
    want, _, _ = train("graph", "want", options=options)
    got, summary, said = train("graph", "got", "--samples", "links", "--cache", "60K", *PACKED, options=options)
    assert got == want and said == [] and summary["epochs"][0]["feature_bytes_read"] > 0


def goes_on():
    """Stopped in the middle, with or without the packs then."""
    way = [*RUN[:-1], 60, "--samples", "long", "--cache", "60K", *PACKED]
    run("sample", "graph", "--out", "long", *DRAWN, *MEMORY, "--epochs", 60)
    run("pack", "graph", "--samples", "long", *MODEL, *MEMORY, "--cache", "60K")
    want, _, _ = train("graph", "want", options=[*RUN[:-1], 60])
    for more in [], ["--policy", "lru", "--layout", "raw"]:
        shutil.rmtree("cut", ignore_errors=True)
        running = subprocess.Popen([OUTGROW, "train", "graph", *map(str, way), "--run", "cut", "--quiet"], stderr=subprocess.DEVNULL)
        lines = pathlib.Path("cut/metrics.jsonl")
        while running.poll() is None and not (lines.exists() and lines.stat().st_size):
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        assert running.wait() in (0, 130) and lines.read_bytes().count(b"\n") < 60
        run("train", "graph", *way, *more, "--run", "cut", "--resume")
        assert pathlib.Path("cut/checkpoint.safetensors").read_bytes() == want, more


def memory():
    """What a refusal names is enough, for packing and for training from it; and both keep to it."""
    small = [*MODEL, "--cache", "4K"]
    shutil.copytree("graph-s-stored", "least", ignore=shutil.ignore_patterns("pack"))
    least = "30M"
    for _ in range(5):  # what is fixed, then the requested cache
        done = outgrow("pack", "graph", "--samples", "least", *small, "--memory", least)
        if done.returncode == 0:
            break
        least = re.search(r"--memory (\d+M)", done.stderr.splitlines()[-1])[1]
    assert done.returncode == 0 and least != "30M", done.stderr
    want, _, _ = train("graph", "want")
    got, summary, said = train("graph", "got", options=[*DRAWN, *small, "--epochs", EPOCHS, "--samples", "least", *PACKED, "--memory", least])
    assert got == want and said == [], said
    assert SANITIZED or summary["peak_rss_bytes"] <= int(least[:-1]) << 20, summary["peak_rss_bytes"]


# ---- what does not fit ----

def of_others():
    shutil.copytree("graph-s-stored", "room", ignore=shutil.ignore_patterns("pack"))
    for args, wanted in (
            (("train", "graph", *RUN, "--seed", 2), "sampled with another --seed"),
            (("train", "other", *RUN), "not samples of other"),
            (("pack", "other", *MODEL, *MEMORY), "not samples of other"),
            (("pack", "graph", *MODEL, *MEMORY, "--fanout", "5,3"), "sampled with another --fanout"),
            (("pack", "graph", *DRAWN, *MEMORY, "--device", "virtual", "--device-memory", "4M"), "packs are for the host's cache alone"),
            (("train", "graph", *RUN, "--workers", 2), "--samples: not with 2 workers")):
        said = refused(*args, *(["--samples", "graph-s-stored", "--run", "no"] if args[0] == "train" else ["--samples", "room"]))
        assert wanted in said, (args, said)
        assert not os.path.exists("no")
    done = outgrow("verify", "graph-s-stored", "--dataset", "other")
    assert done.returncode == 1 and "not samples of other" in done.stdout
    assert "exists already" in refused("pack", "graph", "--samples", "graph-s-stored", *MODEL, *MEMORY)
    assert "give more --disk" in refused("pack", "graph", "--samples", "room", *MODEL, *MEMORY, "--cache", "4K", "--disk", "200K")
    assert not os.path.exists("room/pack") and not list(pathlib.Path("room").glob("pack*"))
    sample("bare", "bare-s")
    assert "no type of nodes has features" in refused("pack", "bare", "--samples", "bare-s", *MODEL, *MEMORY)
    assert not list(pathlib.Path("bare-s").glob("pack*"))


def without(samples, want, wanted, *way):
    """The run says why, does without, and its checkpoint is the same."""
    got, _, said = train("graph", "got", "--samples", samples, *(way or ("--cache", "60K", *PACKED)))
    assert len(said) == 1 and wanted in said[0], (wanted, said)
    assert want is None or got == want, wanted


def of_another_size(want):
    without("graph-s-stored", want, "this run's has", "--cache", "4K", *PACKED)
    assert re.search("for a cache of [0-9]+ rows of (paper|venue), this run's has [0-9]+: it does without", train("graph", "got", "--samples", "graph-s-stored", "--cache", "20K", *PACKED)[2][0])
    without("graph-s-stored", None, "rows of paper are f32, this run caches them as bf16", "--cache", "60K", *PACKED, "--pack-dtype", "bf16")
    without("graph-s-bf16", want, "rows of paper are bf16, this run caches them as f32")
    got, _, said = train("graph", "got", "--samples", "graph-s-stored", "--cache", "60K", *PACKED, "--device", "virtual", "--device-memory", "4M")
    assert said == [] and got  # packs are for the host's cache: not looked at


class Damaged:
    def __init__(self, name):
        self.path = pathlib.Path("damaged/pack", name)
        self.whole = self.path.read_bytes()

    def __enter__(self):
        return self

    def flip(self, at):
        data = bytearray(self.whole)
        data[at] ^= 1
        self.path.write_bytes(data)

    def edit(self, change):
        """pack.json as another program would write it, without a checksum."""
        said = json.loads(self.whole)
        said.pop("xxh3", None)
        change(said)
        self.path.write_text(json.dumps(said))

    def __exit__(self, *_):
        self.path.write_bytes(self.whole)


def found(wanted):
    done = outgrow("verify", "damaged")
    assert done.returncode == 1 and wanted in done.stdout, (wanted, done.stdout, done.stderr)


def damaged_files(want):
    for name in "draw0_0.pack", "draw1_2.pack", "draw1_cached.npy":
        with Damaged(name) as d:
            d.path.unlink()
            without("damaged", want, f"{name}: cannot open")
            found(name)
            d.flip(BLOCK + 17 if name.endswith("pack") else -1)
            without("damaged", want, f"damaged/pack/{name}: ")
            found(name)
            d.path.write_bytes(d.whole[:-BLOCK // 2])
            without("damaged", want, f"damaged/pack/{name}: ")
            found(name)
    with Damaged("draw0_2.pack") as d:
        d.path.write_bytes(pathlib.Path("damaged/pack/draw1_2.pack").read_bytes())
        without("damaged", want, "draw0_2.pack: ")
        d.path.write_bytes(pathlib.Path("damaged/pack/draw0_0.pack").read_bytes())
        without("damaged", want, "draw0_2.pack: packed from another dataset than graph")
        found("draw0_2.pack: packed from another dataset than")


def damaged_rows():
    """Found when their batch comes: that ends the run."""
    for t in 0, 2:
        at = int(Container(f"damaged/pack/draw1_{t}.pack").table[1][0])
        with Damaged(f"draw1_{t}.pack") as d:
            d.flip(at + 5)
            shutil.rmtree("no", ignore_errors=True)
            said = refused("train", "graph", *RUN, "--samples", "damaged", "--cache", "60K", *PACKED, "--run", "no")
            assert f"draw1_{t}.pack" in said, said
            found(f"draw1_{t}.pack")


def damaged_description(want):
    with Damaged("pack.json") as d:
        for at in range(3, len(d.whole), len(d.whole) // 7):
            d.flip(at)
            without("damaged", want, "ignored")
            found("pack.json" if at % 2 else "damaged")

        def others(said):
            said["node_types"][0]["name"] = "article"

        def fewer(said):
            said["node_types"].pop()

        def untyped(said):
            said.update(format=1, row_bytes=80, feature_dtype="f32", cache_rows=1000)

        def narrower(said):
            said["node_types"][2]["row_bytes"] //= 2

        def learnt(said):
            said["node_types"][1].update(feature_dtype="f32", row_bytes=24, cache_rows=3)

        def endless(said):
            said["node_types"][0]["cache_rows"] = said["node_types"][2]["cache_rows"] = 2**31

        for change in others, fewer, untyped, narrower, learnt, endless:
            d.edit(change)
            without("damaged", want, "not packs of these features")
            found("not packs of these features")

        def smaller(said):
            for t, more in (0, -1), (2, 1):
                said["node_types"][t]["cache_rows"] += more

        d.edit(smaller)
        without("damaged", want, "more nodes of type 0 than its", "--cache", "100K", *PACKED)
        found("more nodes of type 0 than its")

        def more_draws(said):
            said["draws"] += 1
        d.edit(more_draws)
        found("4 draws, the samples have 3")
    d.edit(lambda said: None)
    got, _, said = train("graph", "got", "--samples", "damaged", "--cache", "60K", *PACKED)
    assert got == want and said == []
    run("verify", "damaged")


def other_lists(want):
    """Lists of cached nodes that no checksum refuses. They have nodes of a type without features, or others than the packed files are for."""
    with Damaged("draw0_cached.npy") as d, Damaged("pack.json") as j:
        j.edit(lambda said: said.pop("cached_checksums"))
        nodes = np.load(d.path)
        for change, wanted in ((np.sort(np.r_[nodes[:-1], 1000]), "more nodes of type 1 than its 0 rows"), (nodes[::-1], "not nodes in ascending order"),
                               (nodes[1:], "draw0_"), (np.r_[nodes[:-1], 10**6], "not nodes in ascending order")):
            np.save(d.path, change)
            without("damaged", want, wanted)
            found(wanted)


def other_types():
    """A trace.json that names other types than its dataset has, or none. Rows are not looked up by them."""
    path = pathlib.Path("damaged/trace.json")
    whole = path.read_text()

    def rename(said):
        said["node_types"][2]["name"] = "place"

    def widen(said):
        said["node_types"].pop()
        said["node_types"][1]["count"] += 300

    for change, wanted in (rename, "not samples of graph: of other types of nodes"), (widen, "not samples of graph: of other types of nodes"), \
            (lambda said: said.pop("node_types"), "not packs of these features"):
        said = json.loads(whole)
        said.pop("xxh3")
        change(said)
        path.write_text(json.dumps(said))
        done = outgrow("verify", "damaged", "--dataset", "graph")
        assert done.returncode == 1 and wanted in done.stdout, (wanted, done.stdout, done.stderr)
    path.write_text(whole)
    run("verify", "damaged", "--dataset", "graph")


def changed_rows():
    """Rows that changed unnoticed by a dataset's number, which looks at pages of large arrays."""
    run("generate", "wide", "--types", "paper:3000:400,author:100", "--relations", "author:writes:paper:3,paper:cites:paper:4,paper:by:author:2", "--classes", 3, "--train-fraction", 0.3, "--seed", 4)
    run("sample", "wide", "--out", "wide-s", "--batch", 300, "--fanout", "5,5", *MEMORY, "--epochs", 1)
    run("pack", "wide", "--samples", "wide-s", *MODEL, *MEMORY, "--cache", "1%")
    run("verify", "wide-s", "--dataset", "wide")
    features = np.load("wide/features_0.npy", mmap_mode="r+")
    ids = np.load("wide-s/ids.npy")
    missed = np.setdiff1d(ids[ids < 3000], np.load("wide-s/pack/draw0_cached.npy"))
    for v in missed:  # a page that is not looked at
        features[v, 200] += 1
        features.flush()
        done = outgrow("verify", "wide-s", "--dataset", "wide")
        if "rows are not those of wide" in done.stdout:
            assert done.returncode == 1 and "draw0_0.pack: chunk" in done.stdout
            return
        features[v, 200] -= 1
    raise AssertionError("every page is looked at")


def main():
    os.chdir(tempfile.mkdtemp(prefix="og-typed-packs-"))
    os.environ["XDG_CACHE_HOME"] = os.getcwd()
    try:
        types = ["--types", "paper:900:60,author:700,venue:300:70", "--relations",
                 "author:writes:paper:3,paper:cites:paper:4,paper:written.by:author:2,venue:has:paper:1,paper:at:venue:5", "--classes", 5, "--train-fraction", 0.3]
        run("generate", "graph", *types)
        run("generate", "other", *types, "--seed", 2)
        run("generate", "bare", "--types", "a:300,b:200", "--relations", "a:of:b:3,b:to:a:3", "--classes", 3)
        shutil.copytree("graph", "mixed")
        meta = json.loads(pathlib.Path("mixed/meta.json").read_text())
        meta.pop("checksums")
        meta["node_types"][2]["feature_dtype"] = "f16"
        np.save("mixed/features_2.npy", np.load("graph/features_2.npy").astype(np.float16))
        pathlib.Path("mixed/meta.json").write_text(json.dumps(meta))
        for graph, dtype in ("graph", "stored"), ("graph", "bf16"), *some([("mixed", "f16")], 0, 1), ("mixed", "stored"):
            same_bytes_on_packs(graph, dtype)
            print("ok", graph, dtype)
        for test in hands_and_devices, reused_draws, links, goes_on, memory, of_others:
            test()
            print("ok", test.__name__)
        want, _, _ = train("graph", "want")
        shutil.copytree("graph-s-stored", "damaged")
        for test in of_another_size, damaged_files, damaged_description, other_lists:
            test(want)
            print("ok", test.__name__)
        for test in damaged_rows, other_types, changed_rows:
            test()
            print("ok", test.__name__)
    finally:
        shutil.rmtree(os.getcwd())


main()
