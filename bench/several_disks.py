#!/usr/bin/env python3
"""What two or more disks are worth: features on one throttled disk, and striped over all (`outgrow stripe`). Rows are read at random and by scans. Also packs in a
scratch folder on one of them, and on all (`--scratch DIR,DIR`). Park et al. 2024, Figure 2, has 1, 2 and 4; Sun et al. 2023, Figure 8, a cache besides.

    sudo bench/several_disks.py [--outgrow build/release/outgrow] [--rate 200] [--disks 2] [--dir /var/tmp] [--rounds 3]

Makes loop devices of files under --dir, whose reads a control group limits to --rate MB/s each. The group is cgroup v1's blkio or v2's io.max. Runs the data
path alone (`bench epoch`) on both datasets in turn, and takes everything away again. Then trains on both and compares checkpoints, and takes a part away. Packs
are read in the epochs that reuse samples, which read nothing else. The limit is the device's: the storage below it must be faster than both together, as memory
is (--dir /dev/shm, the default where it has the room).
"""
import argparse
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SMALL, LARGE = ["--fanout", "5,5", "--batch", "100"], ["--fanout", "10,5", "--batch", "200"]
CASES = {  # batches, and how their rows are read
    "random reads, each row for its batch": (SMALL, ["--policy", "none"]),
    "random reads of what a cache misses": (SMALL, ["--policy", "degree", "--cache", "10%"]),
    "sweeps into the cache": (LARGE, ["--policy", "sweep", "--cache", "25%", "--superbatch", "all"]),
}
PACKED = ["--policy", "belady", "--layout", "packed", "--cache", "5%", "--superbatch", "all"]


def call(*words):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout.strip()


class Disk:
    """A file system on a loop device."""

    def __init__(self, folder, name, megabytes):
        self.image, self.mount = folder / f"{name}.img", folder / name
        self.mount.mkdir()
        with open(self.image, "wb") as f:
            os.posix_fallocate(f.fileno(), 0, megabytes << 20)
        call("mkfs.ext4", "-q", "-F", "-m", "0", self.image)
        self.device = call("losetup", "-f", "--show", "--direct-io=on", self.image)
        call("mount", self.device, self.mount)
        self.number = pathlib.Path("/sys/class/block", os.path.basename(self.device), "dev").read_text().strip()

    def close(self):
        for _ in range(50):  # the kernel takes a ring's files apart a moment after its process has ended
            if subprocess.run(["umount", self.mount], check=False, capture_output=True).returncode == 0:
                break
            time.sleep(0.1)
        subprocess.run(["losetup", "-d", self.device], check=False)
        self.image.unlink()


class Limit:
    """A control group whose processes read so many bytes a second of each disk."""

    def __init__(self, disks, rate):
        first = pathlib.Path("/sys/fs/cgroup/blkio")
        self.folder = (first if first.is_dir() else pathlib.Path("/sys/fs/cgroup")) / f"outgrow-disks-{os.getpid()}"
        self.folder.mkdir()
        for d in disks:
            if first.is_dir():
                (self.folder / "blkio.throttle.read_bps_device").write_text(f"{d.number} {rate}")
            else:
                (self.folder / "io.max").write_text(f"{d.number} rbps={rate}")

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        self.folder.rmdir()


def megabytes_of(args):
    return args.nodes * args.dim * 4 // 1000000


def datasets(args, home, disks):
    """The same graph: features on the first disk, and over all of them."""
    one, many = home / "one", home / "many"
    call(args.outgrow, "generate", one, "--model", "planted", "--nodes", args.nodes, "--degree", 15, "--dim", args.dim, "--quiet")
    shutil.copytree(one, many)
    call(args.outgrow, "stripe", many, "--over", ",".join(str(d.mount) for d in disks))
    shutil.move(one / "features.npy", disks[0].mount / "features.npy")
    meta = json.loads((one / "meta.json").read_text())
    del meta["checksums"]["features.npy"]
    meta["files"] = {"features": {"path": str(disks[0].mount / "features.npy")}}
    (one / "meta.json").write_text(json.dumps(meta))
    return one, many


def epoch(args, limit, dataset, home, options):
    words = [args.outgrow, "bench", "epoch", dataset, "--epochs", "1", "--memory", args.memory,
             "--topology", "memory", "--scratch", home / "scratch", "--json", *options]
    done = subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True, preexec_fn=limit.enter)
    out = json.loads(done.stdout)
    e, p = out["epochs"][0], out["prepare"]
    read = e["bytes_read"] + e.get("prepare_bytes_read", 0) + p["bytes_read"]
    return read, e["seconds"] + p["seconds"]


def checkpoint(args, limit, dataset, home, options):
    run = home / "run"
    shutil.rmtree(run, ignore_errors=True)
    words = [args.outgrow, "train", dataset, "--run", run, "--epochs", "1", "--fanout", "5,5", "--batch", "500", "--hidden", "16", "--memory", args.memory,
             "--scratch", home / "scratch", "--quiet", *options]
    subprocess.run([str(w) for w in words], check=True, capture_output=True, preexec_fn=limit.enter)
    return hashlib.sha256((run / "checkpoint.safetensors").read_bytes()).hexdigest()


def compare(args, limit, one, many, home):
    print(f"| | one disk, MB/s | {args.disks} disks, MB/s | seconds | | ratio |\n|---|---|---|---|---|---|")
    for name, (batches, way) in CASES.items():
        rates, seconds, ratios = {one: [], many: []}, {one: [], many: []}, []
        for _ in range(args.rounds):
            for dataset in (one, many):
                read, took = epoch(args, limit, dataset, home, [*batches, *way])
                rates[dataset].append(read / took / 1e6)
                seconds[dataset].append(took)
            ratios.append(seconds[one][-1] / seconds[many][-1])
        m = statistics.median
        print(f"| {name} | {m(rates[one]):.0f} | {m(rates[many]):.0f} | {m(seconds[one]):.2f} | {m(seconds[many]):.2f} | {m(ratios):.2f} |", flush=True)


def packs(args, limit, disks, home):
    """In the epochs that read nothing but packs: rates, with scratch on one disk and on all."""
    graph = home / "small"
    call(args.outgrow, "generate", graph, "--model", "planted", "--nodes", args.nodes // 3, "--degree", 15, "--dim", args.dim, "--train-fraction", 0.03, "--quiet")
    folders = [d.mount / "scratch" for d in disks]
    places = {"one": folders[:1], "all": folders}
    ways = {"packed": ["--layout", "packed"], "segmented": ["--layout", "segmented", "--disk", f"{args.packs // 2}M"]}
    print("\n| packs | one disk, MB/s | all disks, MB/s | ratio |\n|---|---|---|---|")
    for name, way in ways.items():
        rates = {place: [] for place in places}
        for _ in range(args.rounds):
            for place, scratch in places.items():
                words = [args.outgrow, "bench", "epoch", graph, *SMALL, "--preset", "diskgnn", "--resample-every", 3, "--epochs", 3, "--cache", "1%", "--memory", args.memory,
                         "--topology", "memory", "--scratch", ",".join(map(str, scratch)), "--json", *way]
                done = subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True, preexec_fn=limit.enter)
                later = json.loads(done.stdout)["epochs"][1:]
                rates[place].append(sum(e["feature_bytes_read"] for e in later) / sum(e["seconds"] for e in later) / 1e6)
        m = {place: statistics.median(r) for place, r in rates.items()}
        print(f"| {name} | {m['one']:.0f} | {m['all']:.0f} | {m['all'] / m['one']:.2f} |", flush=True)
    left = [p for f in folders if f.exists() for p in f.iterdir() if p.name.startswith("outgrow-scratch")]
    return not left


def same_bits(args, limit, one, many, home):
    sums = {checkpoint(args, limit, d, home, o) for d in (one, many) for o in (*(way for _, way in CASES.values()), PACKED)}
    print(f"\ncheckpoints of all of these on both: {len(sums)} ({next(iter(sums))[:16]})")
    return len(sums) == 1


def missing(args, many, disks):
    part = next(disks[-1].mount.glob("*.npy"))
    part.rename(f"{part}.away")
    done = subprocess.run([args.outgrow, "train", many, "--run", "never"], capture_output=True, text=True)
    print(f"without the last part, status {done.returncode}:\n{done.stderr.strip()}")
    pathlib.Path(f"{part}.away").rename(part)
    return done.returncode == 1 and "part " in done.stderr


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--outgrow", default="build/release/outgrow")
    p.add_argument("--rate", type=int, default=200, help="MB/s of each disk")
    p.add_argument("--disks", type=int, default=2)
    p.add_argument("--dir", default="/dev/shm")
    p.add_argument("--nodes", type=int, default=60000)
    p.add_argument("--dim", type=int, default=4096, help="rows of 16 KiB: a control group lets small requests through in bursts, and is then the slower")
    p.add_argument("--memory", default="700M")
    p.add_argument("--packs", type=int, default=600, help="MB that packs may take")
    p.add_argument("--rounds", type=int, default=3)
    args = p.parse_args()
    args.outgrow = os.path.abspath(args.outgrow)
    if os.geteuid() != 0:
        sys.exit("several_disks.py: loop devices and control groups need root")
    home = pathlib.Path(tempfile.mkdtemp(prefix="outgrow-disks-", dir=args.dir))
    work = pathlib.Path(tempfile.mkdtemp(prefix="outgrow-disks-"))
    os.environ["XDG_CACHE_HOME"] = str(work)
    disks, limit = [], None
    try:
        whole = megabytes_of(args) + args.packs
        for i in range(args.disks):  # the first holds a part, the one file and all packs
            disks.append(Disk(home, f"disk{i}", whole // args.disks + (whole if i == 0 else 0) + 200))
        one, many = datasets(args, work, disks)
        limit = Limit(disks, args.rate * 1000000)
        compare(args, limit, one, many, work)
        good = packs(args, limit, disks, work)
        good &= same_bits(args, limit, one, many, work)
        good &= missing(args, many, disks)
    finally:
        if limit:
            limit.close()
        for d in disks:
            d.close()
        shutil.rmtree(home)
        shutil.rmtree(work)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
