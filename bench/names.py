#!/usr/bin/env python3
"""Import of edges between nodes with names, from CSV and Parquet: seconds and peak memory. For comparison DuckDB's own join of names with numbers.

    bench/names.py [--outgrow PATH] [--scratch DIR] [--edges 100000000] [--nodes 10000000] [--memory 1G] [--threads 2] [--bytes 13]
                   [--parts equal,csv,gzip,parquet,duckdb]

Names have --bytes characters: `n` and hexadecimal digits, in no order. `gzip` is the CSV compressed. Parquet needs the Python package, on PYTHONPATH, and pyarrow; the join needs duckdb (both on PyPI).
`equal` imports 1/100 of the edges with several memories and threads. All must give the arrays that NumPy gives. A line of CSV takes two names and
two bytes, an import about as much again. The files are removed at the end.
Peaks are of the largest process (ru_maxrss), and of all processes at once, sampled every 50 ms. That of the disk is sampled every second.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
PIECE = 1 << 20
DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)


def mixed(x):
    """splitmix64."""
    with np.errstate(over="ignore"):
        x = (x + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
        x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return x ^ x >> np.uint64(31)


def names_of(nodes, width):
    """uint8 [n, width]: distinct, for mixed() is a bijection and 48 bits of 10 M numbers rarely collide."""
    x = mixed(nodes.astype(np.uint64))
    out = np.empty((len(nodes), width), np.uint8)
    out[:, 0] = ord("n")
    for k in range(width - 1):
        out[:, 1 + k] = DIGITS[(x >> np.uint64(4 * (k % 16)) & np.uint64(15)).astype(np.intp)]
    return out


def pieces(edges, nodes):
    """Ends of edges as numbers, a piece at a time."""
    for at in range(0, edges, PIECE):
        i = np.arange(at, min(at + PIECE, edges), dtype=np.uint64)
        yield mixed(2 * i + np.uint64(1 << 60)) % np.uint64(nodes), mixed(2 * i + np.uint64((1 << 60) + 1)) % np.uint64(nodes)


def lines_of(ends, width):
    """The lines of some edges, as bytes."""
    lines = np.empty((len(ends[0]), 2 * width + 2), np.uint8)
    lines[:, :width], lines[:, width], lines[:, width + 1:-1], lines[:, -1] = names_of(ends[0], width), ord(","), names_of(ends[1], width), ord("\n")
    return lines.tobytes()


def write_csv(path, edges, nodes, width):
    with open(path, "wb") as f:
        f.write(b"src,dst\n")
        for ends in pieces(edges, nodes):
            f.write(lines_of(ends, width))


def gzipped(data):
    packer = zlib.compressobj(1, wbits=31)
    return packer.compress(data) + packer.flush()


def write_gzip(path, edges, nodes, width):
    """A member of the file per piece, made by two threads."""
    with open(path, "wb") as f, concurrent.futures.ThreadPoolExecutor(2) as pool:
        f.write(gzipped(b"src,dst\n"))
        waiting = collections.deque()
        for ends in pieces(edges, nodes):
            waiting.append(pool.submit(lambda ends=ends: gzipped(lines_of(ends, width))))
            if len(waiting) > 3:
                f.write(waiting.popleft().result())
        for one in waiting:
            f.write(one.result())


def write_parquet(path, edges, nodes, width):
    import pyarrow
    import pyarrow.parquet
    schema = pyarrow.schema([("src", pyarrow.string()), ("dst", pyarrow.string())])
    with pyarrow.parquet.ParquetWriter(path, schema) as out:
        for ends in pieces(edges, nodes):
            offsets = pyarrow.py_buffer(np.arange(0, width * len(ends[0]) + 1, width, dtype=np.int32))
            columns = [pyarrow.StringArray.from_buffers(len(x), offsets, pyarrow.py_buffer(names_of(x, width).tobytes())) for x in ends]
            out.write_batch(pyarrow.record_batch(columns, schema=schema))


# ---- measuring ----

def tree_of(pid):
    """A process and its descendants."""
    found = [pid]
    for one in found:
        try:
            for thread in os.listdir(f"/proc/{one}/task"):
                found += map(int, pathlib.Path(f"/proc/{one}/task/{thread}/children").read_text().split())
        except OSError:
            pass
    return found


def resident(pid):
    """Anonymous and shared memory, without clean pages of files."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(("RssAnon", "RssShmem"))) << 10


def measured(words, scratch):
    """Seconds, and peaks of one process, of all and of the disk, of a command that must succeed."""
    began = time.monotonic()
    child = subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    peak, done = [0, 0], threading.Event()

    def watch():
        looks = 0
        while not done.wait(0.05):
            peak[0] = max(peak[0], sum(map(resident, tree_of(child.pid))))
            if looks % 20 == 0:
                peak[1] = max(peak[1], disk(scratch) + unlinked(child.pid))
            looks += 1
    watcher = threading.Thread(target=watch)
    watcher.start()
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    done.set()
    watcher.join()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{words}\n{said}")
    return {"seconds": round(time.monotonic() - began, 1), "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1), "largest_process_MiB": usage.ru_maxrss >> 10,
            "all_processes_MiB": peak[0] >> 20, "disk_MiB": peak[1]}


def disk(folder):
    """MiB of the files under a folder, allocated."""
    found = 0
    for f in pathlib.Path(folder).rglob("*"):
        try:
            found += f.lstat().st_blocks * 512
        except OSError:
            pass  # removed meanwhile
    return found >> 20


def unlinked(pid):
    """MiB of the files without a name that a process has open."""
    found = {}
    for link in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
        try:
            f = link.stat()
        except OSError:
            continue
        if f.st_nlink == 0 and stat.S_ISREG(f.st_mode):
            found[f.st_dev, f.st_ino] = f.st_blocks * 512
    return sum(found.values()) >> 20


# ---- parts ----

def arrays(folder):
    return {name: pathlib.Path(folder, name).read_bytes() for name in ("indptr.npy", "indices.npy", "node_names.npy")}


def part_equal(a, scratch):
    edges, nodes = max(a.edges // 100, 1000), max(a.nodes // 100, 100)
    write_csv(scratch / "small.csv", edges, nodes, a.bytes)
    write_gzip(scratch / "small.csv.gz", edges, nodes, a.bytes)
    write_parquet(scratch / "small.parquet", edges, nodes, a.bytes)
    ends = np.concatenate([np.stack(part, 1) for part in pieces(edges, nodes)])
    names, number = np.unique(names_of(ends.reshape(-1), a.bytes).reshape(-1).view(f"S{a.bytes}"), return_inverse=True)
    number = number.reshape(-1, 2)
    order = np.lexsort((number[:, 0], number[:, 1]))
    first = None
    for source in "small.csv", "small.csv.gz", "small.parquet":
        for memory, threads in ("40M", 1), ("64M", 2), ("256M", 1), ("1G", 2):
            out = scratch / "small"
            subprocess.run([a.outgrow, "import", scratch / source, out, "--memory", memory, "--threads", str(threads), "--quiet"], check=True)
            got = arrays(out)
            if first is None:
                assert (np.load(out / "node_names.npy") == names).all() and (np.load(out / "indices.npy") == number[order, 0]).all()
                assert (np.diff(np.load(out / "indptr.npy")) == np.bincount(number[:, 1], minlength=len(names))).all()
                first = got
            assert got == first, (source, memory, threads)
            shutil.rmtree(out)
    print(json.dumps({"part": "equal", "edges": edges, "names": len(names), "imports": 12}), flush=True)


def imported(a, scratch, source):
    out = scratch / "graph"
    row = measured([a.outgrow, "import", source, out, "--memory", a.memory, "--threads", a.threads, "--quiet"], scratch)
    row |= {"source_MiB": source.stat().st_size >> 20, "dataset_MiB": disk(out)}
    shutil.rmtree(out)
    source.unlink()
    return row


def part_csv(a, scratch):
    write_csv(scratch / "edges.csv", a.edges, a.nodes, a.bytes)
    print(json.dumps({"part": "csv", **imported(a, scratch, scratch / "edges.csv")}), flush=True)


def part_gzip(a, scratch):
    write_gzip(scratch / "edges.csv.gz", a.edges, a.nodes, a.bytes)
    print(json.dumps({"part": "gzip", **imported(a, scratch, scratch / "edges.csv.gz")}), flush=True)


def part_parquet(a, scratch):
    write_parquet(scratch / "edges.parquet", a.edges, a.nodes, a.bytes)
    print(json.dumps({"part": "parquet", **imported(a, scratch, scratch / "edges.parquet")}), flush=True)


JOIN = """
import duckdb, sys
db = duckdb.connect(sys.argv[1] + "/join.db")
db.execute(f"set memory_limit='{sys.argv[2]}'; set threads={sys.argv[3]}; set temp_directory='{sys.argv[1]}/duckdb'; set preserve_insertion_order=false")
source = f"'{sys.argv[1]}/edges.parquet'"
db.execute(f"create table names as select row_number() over (order by name) - 1 as id, name from (select src as name from {source} union select dst from {source})")
db.execute(f"copy (select a.id as src, b.id as dst from {source} e join names a on e.src = a.name join names b on e.dst = b.name order by dst, src) to '{sys.argv[1]}/joined.parquet'")
"""


def part_duckdb(a, scratch):
    write_parquet(scratch / "edges.parquet", a.edges, a.nodes, a.bytes)
    row = measured([sys.executable, "-c", JOIN, scratch, f"{a.memory}B", a.threads], scratch)
    print(json.dumps({"part": "duckdb", **row}), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--outgrow", default=str(ROOT / "build/release/outgrow"))
    p.add_argument("--scratch", default=None)
    p.add_argument("--edges", type=int, default=100_000_000)
    p.add_argument("--nodes", type=int, default=10_000_000)
    p.add_argument("--memory", default="1G")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--bytes", type=int, default=13)
    p.add_argument("--parts", default="equal,csv,gzip,parquet,duckdb")
    a = p.parse_args()
    os.environ["PATH"] = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"  # the command starts python3
    for part in a.parts.split(","):
        with tempfile.TemporaryDirectory(dir=a.scratch, prefix="outgrow-names-") as folder:
            globals()[f"part_{part}"](a, pathlib.Path(folder))


if __name__ == "__main__":
    main()
