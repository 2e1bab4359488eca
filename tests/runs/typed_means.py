#!/usr/bin/env python3
"""import --mean-features: rows of types without features are the means of their in-neighbours' rows. NumPy makes the same, whatever memory there is, and models
read them as others.

    typed_means.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import sys
import tempfile

from typed_command import outgrow, refused, run

try:
    import numpy as np
except ImportError:
    sys.exit(77)

TYPES = "paper:9000:96,author:50000,group:300,venue:50:7"
RELATIONS = "author:writes:paper:3,paper:cites:paper:4,author:in:group:30,venue:has:paper:1"


def numbers(graph, t, dtype):
    rows = np.load(f"{graph}/features_{t}.npy")
    return (rows.astype(np.uint32) << 16).view(np.float32) if dtype == "bf16" else rows.astype(np.float32)


def means_of(graph, name, later):
    """Means of the type, before those that are made later have rows. A node's are added in the order of relations and of the file."""
    meta = json.loads(pathlib.Path(graph, "meta.json").read_text())
    names = [t["name"] for t in meta["node_types"]]
    rows = {t["name"]: numbers(graph, i, t["feature_dtype"]) for i, t in enumerate(meta["node_types"]) if "feature_dim" in t and t["name"] not in [name, *later]}
    n = meta["node_types"][names.index(name)]["count"]
    sums, count = np.zeros((n, 96), np.float32), np.zeros(n, np.int64)
    for r, relation in enumerate(meta["relations"]):
        if relation["destination"] != name or relation["source"] not in rows:
            continue
        ptr, src = np.load(f"{graph}/rel{r}_indptr.npy"), np.load(f"{graph}/rel{r}_indices.npy")
        dst = np.repeat(np.arange(n), np.diff(ptr))
        order = np.lexsort((dst, src))
        np.add.at(sums, dst[order], rows[relation["source"]][src[order]])
        count += np.diff(ptr)
    return sums / np.maximum(count, 1).astype(np.float32)[:, None], count


def stored(made, dtype):
    if dtype == "bf16":
        bits = made.view(np.uint32).astype(np.uint64)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return made.astype({"f32": np.float32, "f16": np.float16}[dtype])


def are_those_of_numpy():
    for dtype in "f32", "f16", "bf16":
        graph = f"of-{dtype}"
        run("import", "npy", "source", graph, "--reverse-relations", "--feature-dtype", dtype, "--mean-features", "author,group")
        meta = json.loads(pathlib.Path(graph, "meta.json").read_text())
        told = {t["name"]: (t.get("feature_dim"), t.get("feature_dtype")) for t in meta["node_types"]}
        assert told == {"paper": (96, dtype), "author": (96, dtype), "group": (96, dtype), "venue": (7, dtype)}, told
        number = {t["name"]: i for i, t in enumerate(meta["node_types"])}
        for name, later in ("author", ["group"]), ("group", []):  # of rows as they are stored, also of those that were made before
            made, count = means_of(graph, name, later)
            got = np.load(f"{graph}/features_{number[name]}.npy")
            assert (got == stored(made, dtype)).all(), (dtype, name, np.abs(numbers(graph, number[name], dtype) - made).max())
            assert name == "group" or (count == 0).any() and not got[count == 0].any()
        run("verify", graph)


def memory_changes_no_bit():
    """In chunks, as memory allows, which it keeps."""
    usage = {}
    for memory in "12M", "60M":  # rows of authors take 19
        done = outgrow("import", "npy", "source", f"in-{memory}", "--reverse-relations", "--mean-features", "author,group", "--memory", memory)
        assert done.returncode == 0, done.stderr
        for t in 1, 2:
            usage.setdefault(t, set()).add(pathlib.Path(f"in-{memory}/features_{t}.npy").read_bytes())
    usage[1].add(pathlib.Path("of-f32/features_1.npy").read_bytes())
    assert all(len(files) == 1 for files in usage.values())


def models_read_them():
    train = ["--epochs", 1, "--batch", 100, "--fanout", "3,2", "--hidden", 8, "--threads", 2, "--memory", "120M"]
    assert "--embedding" in refused("train", "source-made", *train, "--run", "no")
    for way in [], ["--policy", "belady", "--cache", "5%", "--layout", "packed"]:
        run("train", "of-f32", *train, *way, "--run", f"run{len(way)}")
    assert pathlib.Path("run0/checkpoint.safetensors").read_bytes() == pathlib.Path("run6/checkpoint.safetensors").read_bytes()
    types = json.loads(pathlib.Path("run0/summary.json").read_text())["plan"]["types"]
    assert {t["name"]: (t["width"], t["learnt"]) for t in types} == {"paper": (96, False), "author": (96, False), "group": (96, False), "venue": (7, False)}


def linked_features_serve():
    """They stay where they are; what is made of them is the dataset's own."""
    run("import", "npy", "source", "linked", "--reverse-relations", "--in-place", "--mean-features", "author")
    assert not os.path.exists("linked/features_0.npy")
    assert pathlib.Path("linked/features_1.npy").read_bytes() == pathlib.Path("of-f32/features_1.npy").read_bytes()


def what_cannot_be_says_so():
    way = ["import", "npy", "source", "none", "--reverse-relations"]
    for words, said in ((["--mean-features", "writer"], "no type 'writer'"), (["--mean-features", "author,"], "no type ''"), (["--mean-features", "paper"], "has features"),
                        (["--mean-features", "group"], "no edge leads to group"), (["--mean-features", "author,author"], "has features")):
        assert said in refused(*way, *words), words
        assert not os.path.exists("none"), words
    assert "--reverse-relations" in refused("import", "npy", "source", "none", "--mean-features", "author")
    run("generate", "two", "--types", "paper:50:4,venue:20:6,author:30", "--relations", "paper:by:author:2,venue:of:author:2", "--classes", 3)
    run("export", "npy", "two", "two-source")
    assert "features of 4 and of 6" in refused("import", "npy", "two-source", "none", "--mean-features", "author")
    run("generate", "plain", "--nodes", 100, "--dim", 4)
    run("export", "npy", "plain", "plain-source")
    assert "homogeneous" in refused("import", "npy", "plain-source", "none", "--mean-features", "author")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        run("generate", "source-made", "--types", TYPES, "--relations", RELATIONS, "--classes", 5, "--train-fraction", 0.05)
        run("export", "npy", "source-made", "source")
        for test in are_those_of_numpy, memory_changes_no_bit, models_read_them, linked_features_serve, what_cannot_be_says_so:
            test()
            print("ok", test.__name__)


main()
