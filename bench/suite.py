#!/usr/bin/env python3
"""The benchmark suite: runs the command as a user would and prints ratio tables.

    bench/suite.py [--only PART,...] [--outgrow PATH] [--reader PATH] [--data DIR] [--scratch DIR] [--out FILE]

Parts: io sample samplers gemm floors memory bytes identity accuracy. The last needs the shared data and more than an hour on two
cores; it runs only when named. Results go to docs/benchmarks/<date>.json. Scratch files, up to 4 GiB, lie under --scratch and are
removed at the end.
"""
import argparse
import contextlib
import datetime
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PARTS = ["io", "sample", "samplers", "gemm", "floors", "memory", "bytes", "identity"]


class Suite:
    def __init__(self, args):
        self.outgrow = args.outgrow
        self.reader = args.reader
        self.data = pathlib.Path(args.data)
        self.models = getattr(args, "models", "").split(",")
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="outgrow-bench-", dir=args.scratch))
        self.made = {}

    def run(self, *words, check=True, prefix=(), timeout=None):
        r = subprocess.run([*prefix, self.outgrow, *map(str, words)], capture_output=True, text=True, timeout=timeout)
        if check and r.returncode:
            sys.exit(f"outgrow {' '.join(map(str, words))}\n{r.stderr}")
        return r

    def json(self, *words, **kw):
        return json.loads(self.run(*words, "--json", **kw).stdout)

    def dataset(self, name, *options):
        """A generated dataset, made once."""
        if name not in self.made:
            self.made[name] = self.scratch / name
            self.run("generate", self.made[name], *options)
        return self.made[name]

    def train(self, dataset, *options, prefix=()):
        run = self.scratch / "run"
        shutil.rmtree(run, ignore_errors=True)
        self.run("train", dataset, "--run", run, "--quiet", *options, prefix=prefix)
        summary = json.loads((run / "summary.json").read_text())
        with (run / "checkpoint.safetensors").open("rb") as f:
            summary["_sha256"] = hashlib.file_digest(f, "sha256").hexdigest()
        return summary


def table(title, header, rows):
    print(f"\n## {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(f"{x:.3g}" if isinstance(x, float) else str(x) for x in row) + " |")


def drop_caches():
    """Cold page cache, where we may."""
    subprocess.run(["sync"])
    with contextlib.suppress(OSError):
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


@contextlib.contextmanager
def cgroup(limit):
    """A prefix that runs a command inside a memory cgroup of `limit` bytes. Empty where none can be made."""
    for base, key in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = pathlib.Path(base) / f"outgrow-bench-{os.getpid()}"
        try:
            group.mkdir()
            (group / key).write_text(str(limit))
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
            continue
        try:
            yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
        finally:
            group.rmdir()
        return
    print("no memory cgroup can be made here: running without one")
    yield []


# ---- parts ----------------------------------------------------------------------------------------


def part_io(s):
    """The reader against fio, alternating."""
    if not s.reader:
        print("io: no bench_reader given, skipped (tools/bench builds it)")
        return []
    r = subprocess.run([ROOT / "bench/io_vs_fio.sh", s.reader, s.scratch, "5", "2"], text=True, capture_output=True)
    print(r.stdout, r.stderr)
    return r.stdout.splitlines()


def part_sample(s):
    d = s.dataset("rmat4m", "--model", "rmat", "--nodes", 4_000_000, "--degree", 16, "--dim", 4,
                  "--train-fraction", 0.02)
    rows = [s.json("bench", "sample", d, "--fanout", "10,10,10", "--threads", 1) for _ in range(5)]
    rate = [r["edges_per_second_per_thread"] / 1e6 for r in rows]
    table("Uniform sampling, rmat 4 M nodes / 64 M edges, fanout 10,10,10, one thread",
          ["M edges/s, median", "min", "max", "asked"],
          [[statistics.median(rate), min(rate), max(rate), 20]])
    return rows


def add_weights(dataset):
    """Weights of edges, spread as incomes are: most small, a few large."""
    import numpy

    path = dataset / "weights.npy"
    if not path.exists():
        n = numpy.load(dataset / "indices.npy", mmap_mode="r").shape[0]
        numpy.save(path, numpy.random.default_rng(1).pareto(2, n).astype(numpy.float32))


def part_samplers(s):
    """What an edge costs by each sampler, alternating."""
    d = s.dataset("rmat4m", "--model", "rmat", "--nodes", 4_000_000, "--degree", 16, "--dim", 4,
                  "--train-fraction", 0.02)
    add_weights(d)
    kinds = {"uniform 10": ["uniform", "10,10,10"], "weighted 10": ["weighted", "10,10,10"], "uniform 5": ["uniform", "5,5,5"],
             "weighted 5": ["weighted", "5,5,5"], "walk, 5 of those visited": ["walk", "5,5,5"],
             "walk, 12 of them: all": ["walk", "5,5,5", "--neighbors", 12], "labor 10": ["labor", "10,10,10"],
             "ladies 10": ["ladies", "10,10,10"]}
    times = {name: [] for name in kinds}
    rows = []
    for _ in range(3):
        for name, (kind, fanout, *more) in kinds.items():
            r = s.json("bench", "sample", d, "--sampler", kind, "--fanout", fanout, "--threads", 1, *more)
            times[name].append(1e9 / r["edges_per_second_per_thread"])
            rows.append({"sampler": name, **r})
    ns = {name: min(t) for name, t in times.items()}
    base = {name: ns["uniform 5" if "5" in name or "walk" in name else "uniform 10"] for name in kinds}
    table("Sampling by kind, rmat 4 M nodes / 64 M edges, three hops, one thread, best of 3",
          ["sampler", "ns an edge", "beside uniform of the same fanout"], [[k, ns[k], ns[k] / base[k]] for k in kinds])
    return rows


def part_gemm(s):
    r = s.json("bench", "gemm", "--hidden", 256)
    rows = r["rows"] if isinstance(r, dict) else r
    table("Matrix products against oneDNN's best for the shape", ["shape", "ours GFLOP/s", "best GFLOP/s", "ratio"],
          [[x["shape"], x["ours_gflops"], x["onednn_best_gflops"], x["ratio"]] for x in rows])
    return r


def part_floors(s):
    d = s.dataset("rmat1m", "--model", "rmat", "--nodes", 1_000_000, "--degree", 12, "--dim", 128,
                  "--train-fraction", 0.05)
    r = [s.json("bench", "train", d, "--preset", "memory", "--hidden", 256) for _ in range(3)]
    table("Operators' floors beside train_seconds, SAGE, hidden 256, everything resident",
          ["floor s", "train s", "ratio", "asked"],
          [[x["floor_seconds"], x["train_seconds"], x["ratio"], 0.6] for x in r])
    return r


def part_memory(s):
    d = s.dataset("rmat2m", "--model", "rmat", "--nodes", 2_000_000, "--degree", 12, "--dim", 128,
                  "--train-fraction", 0.01)
    out = {}
    with cgroup(500 << 20) as prefix:
        t = s.train(d, "--memory", "400M", "--epochs", 2, prefix=prefix)
    out["train"] = {k: t[k] for k in ("peak_rss_bytes", "baseline_rss_bytes", "memory_budget_bytes", "test_acc", "seconds")}
    start = datetime.datetime.now()
    refused = s.run("train", d, "--memory", "20M", "--run", s.scratch / "refused", check=False)
    out["refusal_seconds"] = (datetime.datetime.now() - start).total_seconds()
    smallest = refused.stderr.split("--memory ")[-1].split("M")[0]
    t2 = s.train(d, "--memory", f"{smallest}M", "--epochs", 1)
    out["smallest"] = {"memory": smallest + "M", "peak_rss_bytes": t2["peak_rss_bytes"]}
    mib = 1 << 20
    table("rmat 2 M nodes, degree 12, dim 128 (1 GB of features) in a 500 MB cgroup",
          ["--memory", "peak MiB", "within"],
          [["400M", t["peak_rss_bytes"] / mib, t["peak_rss_bytes"] <= 400 * mib],
           [smallest + "M (named by the refusal)", t2["peak_rss_bytes"] / mib,
            t2["peak_rss_bytes"] <= int(smallest) * mib]])
    print(f"\n--memory 20M refused after {out['refusal_seconds']:.2f} s: {refused.stderr.strip()}")
    return out


def device_bytes(path):
    """Bytes the block device that holds `path` has read so far."""
    dev = os.stat(path).st_dev
    name = f"{os.major(dev)}:{os.minor(dev)}"
    stat = pathlib.Path(f"/sys/dev/block/{name}/stat").read_text().split()
    return int(stat[2]) * 512


def part_bytes(s):
    d = s.dataset("rmat2m", "--model", "rmat", "--nodes", 2_000_000, "--degree", 12, "--dim", 128,
                  "--train-fraction", 0.01)
    rows = []
    for options in (["--cache", "5%"], ["--cache", "20%"], ["--policy", "none"]):
        drop_caches()
        before = device_bytes(d)
        t = s.train(d, "--epochs", 2, "--memory", "2G", *options)
        device = device_bytes(d) - before
        ours = t["prepare"]["bytes_read"] + sum(e["bytes_read"] + e["eval_bytes_read"] for e in t["epochs"])
        sums = all(e["rows"] == e["hits"] + e["misses"] for e in t["epochs"])
        rows.append([" ".join(options), ours / 1e6, device / 1e6, ours / device, sums])
    table("Reported bytes beside the block device's", ["options", "reported MB", "device MB", "ratio", "rows = hits + misses"], rows)
    return rows


def part_identity(s):
    d = s.dataset("planted", "--model", "planted", "--nodes", 60_000, "--dim", 64, "--degree", 12)
    base = ["--epochs", 2, "--hidden", 64, "--memory", "1G"]
    variants = [["--preset", "memory"], ["--cache", "5%"], ["--policy", "random", "--cache", "10%"], ["--policy", "none"],
                ["--policy", "degree", "--cache", "30%"], ["--io", "uring", "--cache", "5%"], ["--io", "pread", "--cache", "5%"],
                ["--io", "mmap", "--cache", "5%"], ["--preset", "pyg+"], ["--threads", 1], ["--threads", 2], ["--threads", 3],
                ["--memory", "150M"], ["--memory", "300M"]]
    rows = []
    for model in ("sage", "gcn"):
        want = None
        for v in variants:
            t = s.train(d, *base, "--model", model, *v)
            got = ([e["loss"] for e in t["epochs"]], t["_sha256"])
            want = want or got
            rows.append([model, " ".join(map(str, v)), repr(got[0][-1]), got[0] == want[0], got[1] == want[1]])
    table("The same bits", ["model", "options", "last loss", "same losses", "same checkpoint"], rows)
    return rows


ACCURACY = {
    # name: import options, training options, those of models that have more or others
    "cora": (["--row-normalize"],
             ["--fanout", "-1,-1", "--hidden", 16, "--batch", 140, "--epochs", 200, "--lr", 0.01, "--weight-decay", 5e-4],
             {"gcn": ["--input-dropout", 0.5],
              "sage": ["--input-dropout", 0.5],
              "gat": ["--heads", 8, "--hidden", 64, "--epochs", 300, "--lr", 0.005,
                      "--dropout", 0.6, "--input-dropout", 0.6, "--attention-dropout", 0.6]}),
    "coauthor-cs": ([],
                    ["--fanout", "10,10", "--hidden", 64, "--batch", 1000, "--epochs", 12, "--lr", 0.005, "--weight-decay", 5e-4],
                    {"gat": ["--heads", 8, "--epochs", 20, "--attention-dropout", 0.3]}),
    "amazon-computers": (["--symmetrize"],
                         ["--fanout", "15,15", "--hidden", 128, "--batch", 512, "--epochs", 40, "--lr", 0.005],
                         {"gat": ["--heads", 8, "--attention-dropout", 0.3]}),
    "debian-packages": (["--symmetrize", "--drop-types"],
                        ["--fanout", "15,15", "--hidden", 128, "--batch", 1000, "--epochs", 12, "--lr", 0.003],
                        {"gat": None}),
}


def part_accuracy(s):
    rows = []
    for name, (importing, training, more) in ACCURACY.items():
        src = s.data / name
        models = [m for m in s.models if more.get(m, []) is not None]
        if not models or not src.is_dir():
            print(f"{src}: {'absent' if models else 'no such model'}, skipped")
            continue
        d = s.scratch / name
        s.run("import", "npy", src, d, *importing)
        meta = json.loads((src / "meta.json").read_text())
        for model in models:
            options = ["--model", model, *training, *more.get(model, [])]
            acc = [100 * s.train(d, "--seed", seed, *options)["test_acc"] for seed in range(1, 6)]
            rows.append([name, model, statistics.mean(acc), statistics.stdev(acc), meta.get("baselines_measured_here", "")[:90]])
            print(rows[-1], flush=True)
    table("Test accuracy, mean of 5 seeds", ["dataset", "model", "mean %", "stdev", "measured baselines (meta.json)"], rows)
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default=",".join(PARTS))
    p.add_argument("--outgrow", default=str(ROOT / "build/release/outgrow"))
    p.add_argument("--reader", default=None, help="bench_reader, built with -DOUTGROW_BENCH=ON")
    p.add_argument("--data", default=os.environ.get("OUTGROW_DATA", str(ROOT / "../shared/data")))
    p.add_argument("--models", default="gcn,sage,gat", help="of the part accuracy")
    p.add_argument("--scratch", default=None)
    p.add_argument("--out", default=str(ROOT / f"docs/benchmarks/{datetime.date.today()}.json"))
    args = p.parse_args()
    s = Suite(args)
    results = {"date": str(datetime.date.today()), "cpus": os.cpu_count(), "parts": {}}
    try:
        for part in args.only.split(","):
            results["parts"][part] = globals()["part_" + part](s)
    finally:
        shutil.rmtree(s.scratch, ignore_errors=True)
    out = pathlib.Path(args.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(results, indent=1) + "\n")
    print(f"\nwritten: {out}")


if __name__ == "__main__":
    main()
