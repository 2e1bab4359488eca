#!/usr/bin/env python3
"""Striped features against NumPy: the parts hold the rows, and no number changes however bytes move. A missing or foreign part is named, and a killed stripe
leaves the dataset as it was; one at a time.

    stripe.py OUTGROW      exits 77 where there is no NumPy
"""
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    sys.exit(77)

OUTGROW = sys.argv[1]
BASE = ["--fanout", "5,5", "--batch", "300", "--epochs", "2", "--hidden", "16", "--memory", "80M", "--threads", "2", "--quiet"]


def ask(*args):
    return subprocess.run([OUTGROW, *map(str, args)], capture_output=True, text=True)


def run(*args):
    done = ask(*args)
    assert done.returncode == 0, (args, done.stderr)
    return done.stdout


def meta(dataset):
    return json.loads(pathlib.Path(dataset, "meta.json").read_text())


def put_together(dataset, name="features"):
    """Row by row, with NumPy's own division of the rows into units."""
    file = meta(dataset)["files"][name]
    unit, pieces = file["unit"], [np.load(pathlib.Path(dataset, p["path"])) for p in file["parts"]]
    rows = sum(map(len, pieces))
    turns = [[p[at:at + unit] for at in range(0, len(p), unit)] for p in pieces]
    whole = [turns[u % len(pieces)][u // len(pieces)] for u in range(-(-rows // unit))]
    return np.concatenate(whole)


def checksum(dataset):
    return json.loads(run("info", dataset, "--json"))["dataset_checksum"]


def fresh(name, n=3):
    for folder in (name, *(f"{name}-{i}" for i in range(n))):
        shutil.rmtree(folder, ignore_errors=True)
    for i in range(n):
        os.mkdir(f"{name}-{i}")
    return ",".join(f"{name}-{i}" for i in range(n))


def round_trips():
    for dtype, nodes, dim in (("f32", 9001, 33), ("f16", 5000, 128), ("bf16", 3000, 7), ("u8", 70001, 100), ("f32", 20, 4)):
        for n in (2, 3):
            over = fresh("one", n)
            run("generate", "one", "--nodes", nodes, "--dim", dim, "--dtype", dtype, "--degree", 3, "--quiet")
            x, was, time_was = np.load("one/features.npy"), checksum("one"), os.stat("one/features.npy").st_mtime_ns
            run("stripe", "one", "--over", over)
            assert not os.path.exists("one/features.npy")
            assert np.array_equal(put_together("one"), x), (dtype, n)
            assert {os.stat(f"one-{i}/{f}").st_mtime_ns for i in range(n) for f in os.listdir(f"one-{i}")} == {time_was}
            assert checksum("one") == was
            assert "nothing wrong" in run("verify", "one")
            shutil.rmtree("out", ignore_errors=True)
            run("export", "npy", "one", "out")
            feat = np.load("out/feat.npy")
            assert np.array_equal(feat, x if dtype != "bf16" else (x.astype(np.uint32) << 16).view(np.float32))


def over_other_folders():
    """From two to three, to the same in another order, to the same again. Old parts go, those of a copy stay."""
    over = fresh("more", 4).split(",")
    run("generate", "more", "--nodes", 9000, "--dim", 64, "--quiet")
    x, was = np.load("more/features.npy"), checksum("more")
    run("stripe", "more", "--over", ",".join(over[:2]), "--keep")
    assert os.path.exists("more/features.npy") and "nothing wrong" in run("verify", "more")
    os.remove("more/features.npy")  # nobody reads it any more
    shutil.copytree("more", "copy", dirs_exist_ok=True)
    for folders in (over[:3], [over[2], over[0], over[1]], [over[2], over[0], over[1]], [over[3], over[3]], ["more", over[0]]):
        run("stripe", "more", "--over", ",".join(folders))
        assert np.array_equal(put_together("more"), x) and checksum("more") == was
        assert sum(len([f for f in os.listdir(d) if "-features-" in f]) for d in (*over, "more")) == len(folders)
    assert checksum_fails("copy")
    inside = [p["path"] for p in meta("more")["files"]["features"]["parts"] if not p["path"].startswith("/")]
    assert len(inside) == 1
    # a copy of a striped dataset is striped elsewhere: the parts stay for the one that made them
    shutil.rmtree("copy")
    shutil.copytree("more", "copy")
    os.mkdir("copy-0"), os.mkdir("copy-1")
    run("stripe", "copy", "--over", "copy-0,copy-1")
    assert np.array_equal(put_together("more"), x) and np.array_equal(put_together("copy"), x)


def checksum_fails(dataset):
    return ask("info", dataset).returncode == 1


def linked_features_stay():
    over = fresh("linked", 2)
    shutil.rmtree("source", ignore_errors=True)
    os.mkdir("source")
    np.save("source/edges.npy", np.array([[0, 1], [1, 2], [2, 0]]))
    x = np.arange(3 * 5, dtype=np.float32).reshape(3, 5)
    np.save("source/feat.npy", x)
    for name, ids in (("train", [0]), ("valid", [1]), ("test", [2])):
        np.save(f"source/{name}.npy", np.array(ids))
    np.save("source/label.npy", np.array([0, 1, 0]))
    run("import", "npy", "source", "linked", "--in-place")
    was = checksum("linked")
    run("stripe", "linked", "--over", over)
    assert np.array_equal(np.load("source/feat.npy"), x) and np.array_equal(put_together("linked"), x)
    assert checksum("linked") == was


def trained(dataset, *options):
    shutil.rmtree("run", ignore_errors=True)
    run("train", dataset, "--run", "run", *BASE, *options)
    return pathlib.Path("run/checkpoint.safetensors").read_bytes()


def same_bits():
    over = fresh("bits", 3)
    run("generate", "bits", "--nodes", 12000, "--dim", 50, "--quiet")
    expected = trained("bits", "--policy", "none")
    # a header as NumPy writes it, shorter than that of the parts
    x = np.load("bits/features.npy")
    np.save("bits/features.npy", x)
    root = meta("bits")
    del root["checksums"]["features.npy"]
    pathlib.Path("bits/meta.json").write_text(json.dumps(root))
    run("sample", "bits", "--out", "samples", *BASE)
    run("predict", "bits", "--checkpoint", "run/checkpoint.safetensors", "--out", "before.npy", "--quiet")
    run("stripe", "bits", "--over", over)
    for policy in ("none", "degree", "presc:1", "frequency", "lru", "rr", "belady", "hybrid", "sweep", "sieve", "auto"):
        assert trained("bits", "--policy", policy, "--cache", "5%") == expected, policy
    for options in (("--io", "pread"), ("--io", "mmap"), ("--layout", "packed"), ("--layout", "segmented"), ("--topology", "disk"),
                    ("--samples", "samples"), ("--preset", "ginex"), ("--preset", "diskgnn")):
        assert trained("bits", "--cache", "5%", *options) == expected, options
    run("predict", "bits", "--checkpoint", "run/checkpoint.safetensors", "--out", "after.npy", "--quiet")
    assert np.array_equal(np.load("before.npy"), np.load("after.npy"))
    link = [*BASE, "--task", "link", "--batch", "500", "--epochs", "1"]
    shutil.rmtree("run")
    run("train", "bits", "--run", "run", *link)  # a dataset of its own refers to the parts


def told_and_done():
    """Reads and bytes predicted by plan are those of a run."""
    for options in (["--policy", "none"], ["--policy", "belady", "--superbatch", "all"], ["--policy", "sweep", "--superbatch", "all"]):
        shutil.rmtree("run", ignore_errors=True)
        run("train", "bits", "--run", "run", *BASE, "--cache", "5%", *options)
        summary = json.loads(pathlib.Path("run/summary.json").read_text())
        predicted, epoch = summary["plan"]["predicted"], summary["epochs"][0]
        assert predicted["reads"] == epoch["reads"] and predicted["bytes_read"] == epoch["bytes_read"], (options, predicted, epoch)


TYPES = {"paper": 40, "venue": 0, "author": 33}


def generate_types(name, papers=8000, authors=5000):
    """Types 0 and 2 have features, of two widths; venues have learnable embeddings."""
    run("generate", name, "--types", f"paper:{papers}:40,venue:50,author:{authors}:33", "--relations",
        "paper:cites:paper:4,author:writes:paper:3,venue:has:paper:5,paper:at:venue:3,paper:by:author:3", "--classes", 4, "--train-fraction", 0.2, "--quiet")
    return {k: np.load(f"{name}/features_{k}.npy") for k in (0, 2)}


def types():
    """Each type's rows are in parts of their own. Models, plans and what is read are those of one file."""
    over = fresh("types", 3)
    x = generate_types("types")
    options = ["--embedding", "8"]
    was, workers = checksum("types"), ["--workers", "2", "--exchange"]
    expected, expected_of_two = trained("types", *options, "--policy", "none"), trained("types", *options, *workers)
    run("stripe", "types", "--over", over)
    for k, rows in x.items():
        assert not os.path.exists(f"types/features_{k}.npy")
        assert np.array_equal(put_together("types", f"features_{k}"), rows)
    assert sorted(len(os.listdir(f"types-{i}")) for i in range(3)) == [2, 2, 2]
    assert checksum("types") == was and "nothing wrong" in run("verify", "types")
    told = {t["name"]: t.get("feature_parts") for t in json.loads(run("info", "types", "--json"))["node_types"]}
    assert [told[t] and len(told[t]) for t in TYPES] == [3, None, 3], told
    for policy in ("none", "degree", "lru", "belady", "sweep", "auto"):
        assert trained("types", *options, "--policy", policy, "--cache", "5%") == expected, policy
        summary = json.loads(pathlib.Path("run/summary.json").read_text())
        if policy in ("none", "degree"):
            predicted, epoch = summary["plan"]["predicted"], summary["epochs"][0]
            assert predicted["bytes_read"] == epoch["bytes_read"], (policy, predicted, epoch)
    for other in (["--io", "pread"], ["--layout", "packed"], ["--topology", "disk"]):
        assert trained("types", *options, "--cache", "5%", *other) == expected, other
    assert trained("types", *options, "--cache", "5%", *workers) == expected_of_two
    shutil.rmtree("run")
    link = [*BASE, *options, "--task", "link", "--relation", "cites", "--batch", "500", "--epochs", "1"]
    run("train", "types", "--run", "run", *link)  # a dataset of its own refers to the parts
    run("stripe", "types", "--over", "types-2,types-0")  # elsewhere; the parts that there were go
    assert sorted(len(os.listdir(f"types-{i}")) for i in range(3)) == [0, 2, 2]
    assert trained("types", *options, "--policy", "none") == expected
    part = meta("types")["files"]["features_2"]["parts"][1]["path"]
    os.remove(part)
    refused("types", "part 2 of 2", part, "No such file")
    run("generate", "bare", "--types", "drug:400,gene:300", "--relations", "drug:binds:gene:4", "--classes", 3, "--train-fraction", 0.2, "--quiet")
    done = ask("stripe", "bare", "--over", "types-0,types-1")
    assert done.returncode == 1 and "no type of nodes has features" in done.stderr and "hint: " in done.stderr, done


def types_killed():
    """Between two types the dataset is whole, and the next start lays the rest."""
    over = fresh("some", 2)
    x = generate_types("whole", 60000, 60000)
    was = checksum("whole")
    shutil.copytree("whole", "some")
    begin = time.monotonic()
    run("stripe", "some", "--over", over)
    took, seen, draw = time.monotonic() - begin, set(), random.Random(3)
    for _ in range(12):
        fresh("some", 2)
        shutil.copytree("whole", "some")
        p = subprocess.Popen([OUTGROW, "stripe", "some", "--over", over, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.random() * took * 1.1)
        p.send_signal(signal.SIGKILL)
        p.wait()
        seen.add(len(meta("some").get("files", {})))
        assert checksum("some") == was and "nothing wrong" in run("verify", "some")
        run("stripe", "some", "--over", over)
        assert checksum("some") == was and all(np.array_equal(put_together("some", f"features_{k}"), rows) for k, rows in x.items())
        assert sorted(len(os.listdir(f"some-{i}")) for i in range(2)) == [2, 2]
        assert not any(os.path.exists(f"some/features_{k}.npy") for k in x)
    assert len(seen) > 1, seen


def refused(dataset, *words):
    for command in (["info", dataset], ["train", dataset, "--run", "never", *BASE], ["plan", dataset], ["stripe", dataset, "--over", "away-0,away-1"]):
        done = ask(*command)
        assert done.returncode == 1 and not done.stdout, (command, done)
        assert all(w in done.stderr for w in (*words, "hint: ")), (command, done.stderr)
        assert not os.path.exists("never")
    found = ask("verify", dataset)
    assert found.returncode == 1


def wrong_parts():
    over = fresh("away", 2)
    fresh("strange", 2)
    for name, seed in (("away", 1), ("strange", 2)):
        run("generate", name, "--nodes", 9000, "--dim", 64, "--seed", seed, "--quiet")
        run("stripe", name, "--over", f"{name}-0,{name}-1")
    part = [p["path"] for p in meta("away")["files"]["features"]["parts"]]
    other = [p["path"] for p in meta("strange")["files"]["features"]["parts"]]
    saved = [pathlib.Path(p).read_bytes() for p in part]
    os.remove(part[1])
    refused("away", "part 2 of 2", part[1], "No such file")
    pathlib.Path(part[1]).write_bytes(saved[1][:-1])
    refused("away", "part 2 of 2", part[1])
    np.save(part[1], np.load(other[1])[:-1])
    refused("away", "part 2 of 2", part[1], "rows")
    pathlib.Path(part[1]).write_bytes(saved[0])
    refused("away", "part 2 of 2", "rows")
    shutil.copy(other[0], part[0])
    pathlib.Path(part[1]).write_bytes(saved[1])
    refused("away", "part 1 of 2", part[0], "another dataset")
    pathlib.Path(part[0]).write_bytes(saved[0])
    run("info", "away")
    middle = bytearray(saved[0])  # between the pages that opening looks at, as a rule: verify finds it
    middle[700001] ^= 1
    pathlib.Path(part[0]).write_bytes(middle)
    found = ask("verify", "away")
    assert found.returncode == 1 and part[0] in found.stdout + found.stderr, found
    # invalid requests
    pathlib.Path(part[0]).write_bytes(saved[0])
    for words in ([], ["--over", "away-0"], ["--over", "away-0,nowhere"], ["--over", "away-0,stripe-file"], ["--over", ","]):
        pathlib.Path("stripe-file").write_text("")
        done = ask("stripe", "away", *words)
        assert done.returncode in (1, 2) and "hint: " in done.stderr, (words, done)
    assert over


def damaged_features_are_not_striped():
    over = fresh("sick", 2)
    run("generate", "sick", "--nodes", 9000, "--dim", 64, "--quiet")
    with open("sick/features.npy", "r+b") as f:
        f.seek(1234567)
        f.write(b"\x01\x02\x03")
    before = pathlib.Path("sick/meta.json").read_bytes()
    done = ask("stripe", "sick", "--over", over)
    assert done.returncode == 1 and "checksum" in done.stderr and "hint: " in done.stderr, done
    assert pathlib.Path("sick/meta.json").read_bytes() == before and not os.listdir("sick-0") and not os.listdir("sick-1")


def one_at_a_time():
    """Two would write over each other's parts, and remove them."""
    over = fresh("busy", 2)
    run("generate", "busy", "--nodes", 3000, "--dim", 32, "--quiet")
    other = os.open("busy", os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    done = ask("stripe", "busy", "--over", over)
    assert done.returncode == 1 and "busy" in done.stderr and "another process" in done.stderr and "hint: wait" in done.stderr, done
    assert not os.listdir("busy-0") and not os.listdir("busy-1") and "files" not in meta("busy")
    os.close(other)
    run("stripe", "busy", "--over", over)
    assert len(meta("busy")["files"]["features"]["parts"]) == 2


def killed():
    """At random moments. The dataset is whole before and after, and the next start finishes."""
    over = fresh("kill", 2)
    run("generate", "original", "--nodes", 40000, "--dim", 128, "--degree", 2, "--quiet")
    x, was = np.load("original/features.npy"), checksum("original")
    begin = time.monotonic()
    shutil.copytree("original", "kill")
    copied = time.monotonic()
    run("stripe", "kill", "--over", over)
    whole = time.monotonic() - copied
    seen = set()
    draw = random.Random(7)
    for _ in range(15):
        fresh("kill", 2)
        shutil.copytree("original", "kill")
        p = subprocess.Popen([OUTGROW, "stripe", "kill", "--over", over, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.random() * whole * 1.1)
        p.send_signal(signal.SIGKILL)
        p.wait()
        state = "parts" if "files" in meta("kill") else "one"
        seen.add(state)
        assert state == "parts" or np.array_equal(np.load("kill/features.npy"), x)
        assert checksum("kill") == was and "nothing wrong" in run("verify", "kill")
        run("stripe", "kill", "--over", over)
        assert np.array_equal(put_together("kill"), x) and checksum("kill") == was
        assert not os.path.exists("kill/features.npy") and "replaces" not in meta("kill")["files"]["features"]
        assert sorted(len(os.listdir(f"kill-{i}")) for i in range(2)) == [1, 1]
    assert "one" in seen, seen
    assert begin


def finishes_what_was_left():
    """Killed between the switch and the removal: meta.json says what is to go. Nothing else ever goes."""
    over = fresh("left", 2)
    run("generate", "left", "--nodes", 3000, "--dim", 32, "--quiet")
    shutil.copy("left/features.npy", "old.npy")
    run("stripe", "left", "--over", over)
    shutil.copy("old.npy", "left/features.npy")
    pathlib.Path("precious").write_text("mine")
    for replaces, gone in ((["features.npy"], True), ([os.path.abspath("precious")], False), (["../precious"], False),
                           (["features.npy", "../precious"], False)):
        m = meta("left")
        m["files"]["features"]["replaces"] = replaces
        pathlib.Path("left/meta.json").write_text(json.dumps(m))
        shutil.copy("old.npy", "left/features.npy")
        run("stripe", "left", "--over", over)
        assert os.path.exists("left/features.npy") != gone, replaces
        assert pathlib.Path("precious").read_text() == "mine"
        assert "replaces" not in meta("left")["files"]["features"]


def parts_of_machines():
    """verify reads a worker's part as it is, and finds what is damaged in it."""
    run("generate", "machines", "--nodes", 301, "--dim", 5, "--quiet")
    for part in range(2):
        run("stripe", "machines", f"part-{part}", "--parts", 2, "--part", part, "--quiet")
        assert "nothing wrong" in run("verify", f"part-{part}")
        rows = np.load(f"part-{part}/features.npy", mmap_mode="r+")
        rows[-1, 2] = np.nan
        rows.flush()
        done = ask("verify", f"part-{part}")
        assert done.returncode == 1 and "checksum" in done.stdout and f"row {len(rows) - 1}, column 2: NaN" in done.stdout, done
        os.truncate(f"part-{part}/features.npy", os.path.getsize(f"part-{part}/features.npy") - 20)
        done = ask("verify", f"part-{part}")
        assert done.returncode == 1 and "features.npy" in done.stdout, done


home = tempfile.mkdtemp(prefix="og-stripe-")
os.chdir(home)
os.environ["XDG_CACHE_HOME"] = os.getcwd()
try:
    for test in (round_trips, over_other_folders, linked_features_stay, same_bits, told_and_done, types, types_killed, wrong_parts, damaged_features_are_not_striped,
                 one_at_a_time, killed, finishes_what_was_left, parts_of_machines):
        test()
        print("ok", test.__name__, flush=True)
finally:
    os.chdir("/")
    shutil.rmtree(home)
