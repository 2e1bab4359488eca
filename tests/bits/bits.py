#!/usr/bin/env python3
"""Holds what commands write against checksums: a change that should move no number moves none.

    tests/bits/bits.py OUTGROW [--update] [--keep DIR] [NAME ...]

Runs commands.txt (only those named, and what they stand on, if any are) and compares

    checksums.txt   what is promised: parameters, losses and metrics, batches of traces, predictions
    counts.txt      plans, rows hit and missed, what was read: what a change of plans may move, knowingly

--update writes both again. Commands marked `= BEFORE` are held against that one's results of the same start, so no update hides a difference between two ways
to the same numbers.

Rounding goes by instruction set, compiler and libraries. The first line of checksums.txt says with which they were made; oneDNN is limited to AVX2
(ONEDNN_MAX_CPU_ISA), so that newer CPUs compare too. Elsewhere only the `= BEFORE` are compared, and the exit status is 77: skipped. How much is read for a row
depends on the file system. So reads are compared on the kind that counts.txt names, in a folder whose path is as long as theirs was. Exit status 1 at any
difference.
"""
import argparse
import array
import hashlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PLAN = ["policy", "layout", "topology", "cache_rows", "superbatch", "alternates"]
ROWS = ["rows", "hits", "misses", "prefill", "lists_read"]
READS = ["reads", "feature_bytes_read", "topology_bytes_read", "trace_bytes_read", "prepare_reads", "prepare_bytes_read", "eval_bytes_read",
         "bytes_written"]
SIMULATED = ["cache_rows", "rows", "hits", "misses", "prefill"]
FIELDS = {"plan": PLAN, "rows-EPOCH": ROWS, "reads-EPOCH": READS, "POLICY,CACHE": SIMULATED}
NUMBERS = ["loss", "train_acc", "valid_acc", "valid_metrics"]
# What files say of a model since later, too: nothing of it is a number of theirs.
LATER_SAID = {"batch", "fanout", "eval-negatives"}
# Metrics that came after the checksums: they are left out, so that the checksums of the others stay.
LATER = {"hits@20", "hits@50", "hits@100", "macro_f1", "weighted_f1", "macro_auc", "macro_ap"}


# ---- the list ----

class Command:
    def __init__(self, line, words):
        head, text = line.split(":", 1)
        self.name, _, self.like = (part.strip() for part in head.partition("="))
        while "$" in text:
            text = re.sub(r"\$(\w+)", lambda m: words[m[1]], text)
        self.args = text.split()
        self.interrupted = self.args[0] == "interrupted"
        if self.interrupted:
            del self.args[0]
        self.kind = self.args[0]


def read_commands():
    words, commands = {}, []
    for line in (HERE / "commands.txt").read_text().splitlines():
        if line.startswith("let "):
            word, text = line[4:].split("=", 1)
            words[word.strip()] = text.strip()
        elif line and not line.startswith("#"):
            commands.append(Command(line, words))
    return commands


def chosen(commands, names):
    """Those named, and those whose results they use."""
    if not names:
        return commands
    wanted = set(names)
    for c in reversed(commands):
        if c.name in wanted:
            wanted |= {c.like} | {a.split("/")[0] for a in c.args}
    return [c for c in commands if c.name in wanted]


# ---- sources ----

def npy(path, code, shape, values):
    descr = {"q": "<i8", "f": "<f4"}[code]
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + array.array(code, values).tobytes())


def make_source(folder, seed, nodes, dim, degree):
    """Nodes in two groups; a hub, loops, nodes without edges, edges that are there twice."""
    r = random.Random(seed)
    folder.mkdir()
    group = [r.random() < 0.4 for _ in range(nodes)]
    edges = [(r.randrange(nodes), r.randrange(nodes // 8, nodes)) for _ in range(nodes * degree)]
    edges = [(u, v) for u, v in edges if group[u] == group[v] or r.random() < 0.3]
    edges += [(v, nodes - 1) for v in range(0, nodes, 3)] + [(v, v) for v in range(9, 40)] + edges[:25]
    npy(folder / "edges.npy", "q", [len(edges), 2], [end for e in edges for end in e])
    npy(folder / "feat.npy", "f", [nodes, dim], [r.uniform(-1, 1) + group[v] for v in range(nodes) for _ in range(dim)])
    order = r.sample(range(nodes), nodes)
    for i, split in enumerate(["train", "valid", "test"]):
        npy(folder / f"{split}.npy", "q", [nodes // 4], order[i * nodes // 4:i * nodes // 4 + nodes // 4])
    return r, group, edges


def make_weighted(folder):
    r, group, edges = make_source(folder, 1, 700, 10, 6)
    npy(folder / "label.npy", "q", [700], [-1 if r.random() < 0.1 else int(g) for g in group])
    npy(folder / "edge_weight.npy", "f", [len(edges)], [r.choice([0, 0.25, 1, 3]) for _ in edges])


def make_labels(folder):
    r, group, _ = make_source(folder, 2, 600, 17, 5)
    npy(folder / "label.npy", "f", [600, 6], [float(r.random() < 0.2 + 0.5 * g) for g in group for _ in range(6)])


def make_values(folder):
    r, group, _ = make_source(folder, 3, 600, 5, 4)
    npy(folder / "label.npy", "f", [600, 2], [math.nan if r.random() < 0.2 else g * 2 + r.uniform(-1, 1) for g in group for _ in range(2)])
    (folder / "meta.json").write_text('{"task": "node regression"}')


def make_shares(folder):
    r, group, _ = make_source(folder, 10, 600, 5, 4)
    rows = [[math.nan] * 12 if r.random() < 0.2 else [r.randrange(5) / (1 + (c % 2 == g) * 3) for c in range(12)] for g in group]
    npy(folder / "label.npy", "f", [600, 12], [share / (sum(row) or 1) for row in rows for share in row])
    (folder / "meta.json").write_text('{"task": "node shares"}')


def make_edges(folder):
    r, group, edges = make_source(folder, 4, 500, 8, 6)
    npy(folder / "label.npy", "q", [500], map(int, group))
    for split, n in ("train", 400), ("valid", 60), ("test", 90):
        pairs = r.sample(edges, n) if split == "train" else [(r.randrange(500), r.randrange(500)) for _ in range(n)]
        npy(folder / f"{split}_edges.npy", "q", [n, 2], [end for e in pairs for end in e])


def make_timed(folder):
    """Times and features of edges; edges to learn, with labels, times and negatives of their own."""
    r, group, edges = make_source(folder, 7, 500, 8, 6)
    npy(folder / "label.npy", "q", [500], map(int, group))
    npy(folder / "node_times.npy", "q", [500], [r.randrange(20) for _ in range(500)])
    npy(folder / "edge_times.npy", "q", [len(edges)], [r.randrange(40) for _ in edges])
    npy(folder / "edge_attr.npy", "f", [len(edges), 3], [r.uniform(-1, 1) for _ in range(3 * len(edges))])
    for split, n in ("train", 300), ("valid", 40), ("test", 40):
        pairs = r.sample(edges, n)
        npy(folder / f"{split}_edges.npy", "q", [n, 2], [end for e in pairs for end in e])
        npy(folder / f"{split}_edge_times.npy", "q", [n], [r.randrange(10, 40) for _ in pairs])
        npy(folder / f"{split}_edge_labels.npy", "q", [n], [group[u] + group[v] for u, v in pairs])
        npy(folder / f"{split}_neg_dst.npy", "q", [n, 2], [r.randrange(500) for _ in range(2 * n)])


def make_sparse(folder):
    r, group, _ = make_source(folder, 8, 500, 1, 6)
    npy(folder / "label.npy", "q", [500], map(int, group))
    npy(folder / "feat.npy", "f", [500, 90], [r.uniform(-1, 1) if r.random() < 0.06 + 0.04 * g else 0.0 for g in group for _ in range(90)])


def make_several(folder):
    """Labels of two types of three."""
    r, group, edges = make_source(folder, 9, 600, 7, 6)
    kind = [v * 3 // 600 for v in range(600)]
    npy(folder / "node_type.npy", "q", [600], kind)
    npy(folder / "edge_type.npy", "q", [len(edges)], [kind[u] * 3 + kind[v] for u, v in edges])
    npy(folder / "label.npy", "q", [600], [-1 if kind[v] == 1 else int(g) for v, g in enumerate(group)])
    order = r.sample([v for v in range(600) if kind[v] != 1], 400)
    for i, split in enumerate(["train", "valid", "test"]):
        npy(folder / f"{split}.npy", "q", [100], order[100 * i:100 * i + 100])


SOURCES = {"TIMED": make_timed, "SPARSE": make_sparse, "SEVERAL": make_several, "WEIGHTED": make_weighted, "LABELS": make_labels, "VALUES": make_values, "SHARES": make_shares, "EDGES": make_edges}


# ---- running ----

def arguments(c):
    added = {"train": ["--run", c.name], "sample": ["--out", c.name], "export": [c.name], "predict": ["--out", c.name + ".npy"], "smooth": ["--out", c.name + ".npy"],
             "eval": ["--json"], "simulate": ["--json", "-"]}
    return [*c.args, *added.get(c.kind, []), "--quiet"]


class Failed(Exception):
    pass


def must(outgrow, args):
    done = subprocess.run([outgrow, *args], capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def interrupt(outgrow, c):
    """Ctrl-C once three batches are through."""
    log = pathlib.Path(c.name, "metrics.jsonl")
    process = subprocess.Popen([outgrow, *arguments(c), "--log-every", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None and not (log.exists() and log.read_bytes().count(b"\n") >= 3):
        time.sleep(0.0005)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1].decode()
    if process.returncode not in (0, 130):
        raise Failed(f"exit {process.returncode}: {said.strip()}")


def carry_out(outgrow, c):
    """What it printed."""
    if c.args[1:2] and c.kind == "import":
        SOURCES.get(c.args[2], lambda folder: None)(pathlib.Path(c.args[2]))
    if not c.interrupted:
        return must(outgrow, arguments(c))
    interrupt(outgrow, c)
    return must(outgrow, [*arguments(c), "--resume"])


# ---- what is compared ----

def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def canonical(value):
    return json.dumps(value, sort_keys=True).encode()


def load(path):
    """Numbers as they are written."""
    return json.loads(pathlib.Path(path).read_text(), parse_float=str)


def model_file(path):
    """Checksums of the tensors, and of what is said about the model."""
    raw = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + length])
    said = {k: v for k, v in head.pop("__metadata__").items() if k not in {"xxh3"} | LATER_SAID}
    return digest(canonical(head) + raw[8 + length:]), digest(canonical(said))


def listed(values, keys):
    return " ".join(str(values[key]) for key in keys)


def first_metrics(of, full=False):
    """The metrics that there were at first; `eval --full` had neither areas nor f1."""
    if not of:
        return of
    classes = {"micro_f1"} | (set() if "f1" in of else {"auc", "ap"}) if "acc" in of else set()
    left_out = LATER | classes | ({"f1", "auc", "ap"} if full else set())
    return {key: value for key, value in of.items() if key not in left_out}


def of_run(c):
    s = load(f"{c.name}/summary.json")
    for row, keys in [(s, ("valid_metrics", "test_metrics"))] + [(e, ("valid_metrics",)) for e in s["epochs"]]:
        row.update({key: first_metrics(row[key]) for key in keys})
    results = {key: s[key] for key in ("best_epoch", "valid_acc", "test_acc", "valid_metrics", "test_metrics")}
    results["epochs"] = [{key: e[key] for key in NUMBERS} for e in s["epochs"]]
    bits = {"losses": digest(canonical(results))}
    for name in "checkpoint", "best":
        if pathlib.Path(c.name, name + ".safetensors").exists():
            bits[name], bits[name + "-metadata"] = model_file(f"{c.name}/{name}.safetensors")
    counts = {"plan": listed(s["plan"], PLAN)}
    for e in s["epochs"]:
        counts[f"rows-{e['epoch']}"] = listed(e, ROWS)
        counts[f"reads-{e['epoch']}"] = listed(e, READS)
    return bits, counts


def arrays(folder):
    return {p.name: p for p in sorted(pathlib.Path(folder).rglob("*")) if p.is_file() and p.suffix in (".npy", ".pack", ".csv")}


def of_hops(c):
    files = sorted([*pathlib.Path(c.args[1]).glob("hop*.npy"), *pathlib.Path(c.args[1], "hops").glob("*.npy")])
    return {f"{path.parent.name}/{path.name}": digest(path.read_bytes()) for path in files}, {}


def of_arrays(folder):
    return {name: digest(path.read_bytes()) for name, path in arrays(folder).items()}, {}


def of_eval(printed):
    e = json.loads(printed, parse_float=str)
    e["metrics"] = first_metrics(e["metrics"], "labelled" in e)
    bits = {key: e[key] for key in ("loss", "acc", "metrics", "nodes", "labelled") if key in e}
    return {"metrics": digest(canonical(bits))}, {"rows": listed(e, ROWS[:3])} if "hits" in e else {}


def of_prediction(c):
    bits = {"out": digest(pathlib.Path(c.name + ".npy").read_bytes())}
    if "--embeddings" in c.args:
        bits["embeddings"] = digest(pathlib.Path(c.args[c.args.index("--embeddings") + 1]).read_bytes())
    return bits, {}


def of_simulation(printed):
    results = json.loads(printed)["results"]
    return {}, {f"{r['policy']},{r['cache']}": listed(r, SIMULATED) for r in results}


def results_of(c, printed):
    """Bits by what they are of, and counts."""
    if c.kind == "train":
        return of_run(c)
    if c.kind in ("generate", "sample", "export"):
        return of_arrays(c.name)
    if c.kind == "import":
        return of_arrays(c.args[3])
    if c.kind == "pack":
        return of_arrays("trace/pack")
    if c.kind == "simulate":
        return of_simulation(printed)
    if c.kind == "propagate":
        return of_hops(c)
    return of_eval(printed) if c.kind == "eval" else of_prediction(c)


# ---- the recorded ones ----

def level():
    """The instruction set that rounding depends on. Our kernels round alike on every x86-64: no product is fused with a sum (CMakeLists.txt). oneDNN's do not; it
    is limited to AVX2, which newer CPUs have too."""
    try:
        flags = set(re.search(r"^flags\s*:(.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.M)[1].split())
    except (OSError, TypeError):
        return os.uname().machine
    return "x86-64-v3" if {"avx2", "fma", "bmi2", "f16c"} <= flags else os.uname().machine


def made_with(outgrow):
    libraries = subprocess.run(["ldd", outgrow], capture_output=True, text=True).stdout
    dnnl = re.search(r"libdnnl\S* => (\S+)", libraries)
    compiler = re.search(rb"GCC: \([^)]*\) ([0-9.]+)", pathlib.Path(outgrow).read_bytes())
    return ", ".join([level(), pathlib.Path(dnnl[1]).resolve().name if dnnl else "no libdnnl", os.confstr("CS_GNU_LIBC_VERSION"),
                      f"GCC {compiler[1].decode()}" if compiler else "another compiler"])


def file_system(folder):
    """Its kind: the longest mount point above the folder."""
    mounts = [line.split()[1:3] for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    above = [m for m in mounts if pathlib.Path(folder).resolve().is_relative_to(m[0])]
    return max(above, key=lambda m: len(m[0]))[1]


def read_table(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return {tuple(line.split(None, 2)[:2]): line.split(None, 2)[2] for line in lines if line and not line.startswith("#")}


def write_table(path, head, table):
    path.write_text("".join([f"# {line}\n" for line in head] + [f"{name:24} {what:24} {value}\n" for (name, what), value in table.items()]))


def recorded_with(name):
    path = HERE / name
    first = path.read_text().split("\n", 1)[0] if path.exists() else ""
    return first.removeprefix("# made with ")


def compare_tables(bits, counts, commands, folder, kind):
    expected = read_table(HERE / "counts.txt")
    if kind != recorded_with("counts.txt") or len(os.path.realpath(folder)) != LENGTH:
        expected, counts = ({k: v for k, v in t.items() if not k[1].startswith("reads")} for t in (expected, counts))
    return [*differences(read_table(HERE / "checksums.txt"), bits, commands), *differences(expected, counts, commands)]


def differences(was, now, commands):
    """Lines, one a difference, of commands that ran."""
    names = {c.name for c in commands}
    for key in sorted(k for k in was.keys() | now.keys() if k[0] in names):
        if was.get(key) != now.get(key):
            yield f"{key[0]}: {key[1]}: {was.get(key, 'nothing')} expected, {now.get(key, 'nothing')} found"


def run_all(outgrow, commands):
    """Tables of bits and counts, and what went wrong on the way."""
    bits, counts, wrong = {}, {}, []
    results = {}
    for c in commands:
        try:
            results[c.name], told = results_of(c, carry_out(outgrow, c))
        except (Failed, OSError, KeyError) as e:
            wrong.append(f"{c.name}: {e}\n    {outgrow} {' '.join(arguments(c))}")
            continue
        counts.update({(c.name, what): value for what, value in told.items() if not c.interrupted})
        if c.like:
            wrong += differences({(c.name, w): d for w, d in results.get(c.like, {}).items()},
                                 {(c.name, w): d for w, d in results[c.name].items()}, [c])
        else:
            bits.update({(c.name, what): value for what, value in results[c.name].items()})
    return bits, counts, wrong


LENGTH = 120  # of the folder's path: notes that hold it are read, and counted


def own_folder():
    """A new folder where fsync returns at once, since on a disk it takes most of a run. TMPDIR names another place."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    top = tempfile.mkdtemp(prefix="og-bits-", dir=os.environ.get("TMPDIR", memory))
    folder = os.path.join(top, "x" * max(LENGTH - len(os.path.realpath(top)) - 1, 1))
    os.mkdir(folder)
    return top, folder


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outgrow")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--keep", metavar="DIR")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    outgrow = os.path.abspath(args.outgrow)
    here = made_with(outgrow)
    os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    commands = chosen(read_commands(), args.names)
    top, folder = (args.keep, args.keep) if args.keep else own_folder()
    os.makedirs(folder, exist_ok=True)
    kind = file_system(folder)
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = folder
    try:
        bits, counts, wrong = run_all(outgrow, commands)
    finally:
        os.chdir("/")
        if not args.keep:
            shutil.rmtree(top)
    comparable = here == recorded_with("checksums.txt")
    if args.update and not args.names:
        write_table(HERE / "checksums.txt", [f"made with {here}"], bits)
        write_table(HERE / "counts.txt", [f"made with {kind}", *(f"{name}: {', '.join(keys)}" for name, keys in FIELDS.items())], counts)
    elif comparable:
        wrong += compare_tables(bits, counts, commands, folder, kind)
    print("\n".join([*wrong, f"{len(commands)} commands, {len(bits)} checksums, {len(wrong)} differences"]))
    if wrong:
        return 1
    if args.update or comparable:
        return 0
    print(f"checksums are not compared: made with {recorded_with('checksums.txt')}; here it is {here}")
    return 77


if __name__ == "__main__":
    sys.exit(main())
