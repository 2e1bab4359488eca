#!/usr/bin/env python3
"""Datasets from arrays, tensors, PyG Data and iterators of chunks are the same; and the functions of the command."""
import os
import signal
import subprocess
import sys
import time

from support import arrays_of_a_graph, command, main, np, outgrow, raises, same

FILES = "indptr", "indices", "features", "labels", "train", "valid", "test", "weights"


def assert_same_dataset(a, b):
    for name in FILES:
        same(name, np.load(f"{a}/{name}.npy"), np.load(f"{b}/{name}.npy"))
        assert np.load(f"{a}/{name}.npy", mmap_mode="r").dtype == np.load(f"{b}/{name}.npy", mmap_mode="r").dtype, name
    assert os.listdir(".") == [n for n in os.listdir(".") if ".tmp-" not in n]


def in_pieces(array, n, axis=0):
    return iter(np.array_split(array, n, axis))


def test_arrays():
    """Beside the list of each node's in-neighbours that NumPy makes."""
    given = arrays_of_a_graph()
    told = outgrow.write("arrays", **given)
    src, dst = given["edge_index"]
    order = np.lexsort((src, dst))
    same("indices", np.load("arrays/indices.npy"), src[order].astype(np.int32))
    same("indptr", np.load("arrays/indptr.npy"), np.searchsorted(dst[order], np.arange(2001)))
    same("features", np.load("arrays/features.npy"), given["x"])
    same("labels", np.load("arrays/labels.npy"), given["y"])
    same("train", np.load("arrays/train.npy"), given["train"])
    assert told == outgrow.info("arrays") and told["name"] == "arrays" and told["num_edges"] == len(src)
    command("verify", "arrays")


def test_iterators_of_chunks():
    given = arrays_of_a_graph()
    outgrow.write("chunks", **{name: in_pieces(a, 7, axis=int(name == "edge_index")) for name, a in given.items()})
    assert_same_dataset("arrays", "chunks")
    outgrow.write("pair", **given | {"edge_index": tuple(given["edge_index"])})
    assert_same_dataset("arrays", "pair")
    outgrow.write("mapped", **given | {"x": np.load("arrays/features.npy", mmap_mode="r")})
    assert_same_dataset("arrays", "mapped")
    outgrow.write("lists", **{name: a.tolist() for name, a in given.items()} | {"x": given["x"], "edge_weight": given["edge_weight"]})
    assert_same_dataset("arrays", "lists")


def test_masks_and_other_shapes():
    given = arrays_of_a_graph()
    masks = {}
    for name in "train", "valid", "test":
        masks[name] = np.zeros(len(given["x"]), bool)
        masks[name][given[name]] = True
    outgrow.write("masks", **given | masks | {"y": given["y"][:, None], "x": np.asfortranarray(given["x"])})
    for name in "train", "valid", "test":
        same(name, np.load(f"masks/{name}.npy"), np.sort(given[name]))
    for name in "features", "labels", "indices":
        same(name, np.load(f"masks/{name}.npy"), np.load(f"arrays/{name}.npy"))
    outgrow.write("bare", edge_index=[[0, 1], [1, 0]], x=np.ones((3, 1), np.uint8))
    assert outgrow.info("bare")["num_nodes"] == 3
    same("no labels", np.load("bare/indices.npy"), np.array([1, 0], np.int32))
    outgrow.write("several", **given | {"y": (np.random.default_rng(1).random((2000, 3)) > 0.5).astype(np.float32)})
    assert outgrow.info("several")["multi_label"]
    outgrow.write("values", regression=True, **given | {"y": np.random.default_rng(1).random((2000, 2), dtype=np.float32)})
    assert outgrow.info("values")["regression"]


def test_tensors_and_data():
    try:
        import torch
    except ImportError:
        return
    given = arrays_of_a_graph()
    tensors = {name: torch.from_numpy(a) for name, a in given.items()}
    outgrow.write("tensors", **tensors)
    assert_same_dataset("arrays", "tensors")
    outgrow.write("bf16", **tensors | {"x": tensors["x"].bfloat16()})
    assert outgrow.info("bf16")["feature_dtype"] == "bf16"
    same("bf16", np.load("bf16/features.npy").view(np.int16), tensors["x"].bfloat16().view(torch.int16).numpy())
    try:
        from torch_geometric.data import Data
    except ImportError:
        return
    masks = {}
    for name, theirs in ("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask"):
        masks[theirs] = torch.zeros(2000, dtype=torch.bool).index_fill(0, tensors.pop(name), True)
    outgrow.write("data", Data(**tensors, **masks))
    for name in FILES:
        same(name, np.load(f"data/{name}.npy"), np.load(f"{'masks' if name in ('train', 'valid', 'test') else 'arrays'}/{name}.npy"))


def test_what_is_refused():
    given = arrays_of_a_graph()
    before = sorted(os.listdir("."))

    def fails():
        yield given["x"][:100]
        raise ZeroDivisionError

    for kind, word, wrong in (
            (ValueError, "edge_index", {"edge_index": None}), (ValueError, "x: not given", {"x": None}),
            (ValueError, "transpose", {"edge_index": given["edge_index"].T}), (ValueError, "numbers", {"y": np.array(["a"] * 2000)}),
            (ValueError, "width", {"x": iter([np.ones((5, 2)), np.ones((5, 3))])}), (ValueError, "one type", {"x": iter(
                [np.ones((5, 2), int), np.ones((5, 2))])}), (ZeroDivisionError, "", {"x": fails()}), (ValueError, "empty", {"x": iter([])}),
            (ValueError, "", {"edge_index": given["edge_index"] + 1999}), (outgrow.Error, "", {"memory": "1K"}),
            (ValueError, "no such option", {"nonsense": 1})):
        with raises(kind, word):
            outgrow.write("wrong", **given | wrong)
        assert sorted(os.listdir(".")) == before, (word, os.listdir("."))
    with raises(OSError, "exists"):
        outgrow.write("arrays", **given)


def test_what_a_kill_leaves_goes_with_the_next():
    program = "import outgrow, numpy as np, time\n" \
              "def rows():\n    while True:\n        print('at it', flush=True)\n        yield np.ones((1000, 10))\n        time.sleep(0.1)\n" \
              "outgrow.write('killed', edge_index=np.zeros((2, 3), int), x=rows())\n"
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    outgrow.write("killed", **arrays_of_a_graph())  # beside the living one, which keeps its files
    assert any(name.startswith("killed.tmp-") for name in os.listdir("."))
    child.kill()
    child.communicate()
    os.rename("killed", "other")
    outgrow.write("killed", **arrays_of_a_graph())
    assert not any(".tmp-" in name for name in os.listdir("."))
    assert_same_dataset("killed", "arrays")


def test_ctrl_c_stops_an_import():
    program = "import outgrow\noutgrow.generate('large', nodes=3000000, dim=200, degree=20)\n"
    child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    while not any(name.startswith("large.tmp-") for name in os.listdir(".")):
        assert child.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, said = child.communicate(timeout=100)
    assert "KeyboardInterrupt" in said and not os.path.exists("large"), said
    assert not any(name.startswith("large") for name in os.listdir(".")), os.listdir(".")
    print(f"  after {time.monotonic() - began:.1f} s")


BOUNDED = """
import outgrow, numpy as np
rng = np.random.default_rng(1)
n, dim, chunks = 400000, 256, 400
outgrow.write("big", edge_index=(rng.integers(0, n, (2, n // 40)) for _ in range(100)), memory="96M",
              x=(rng.random((n // chunks, dim), dtype=np.float32) for _ in range(chunks)), y=(np.zeros(n // 10, int) for _ in range(10)))
with open("/proc/self/status") as f:
    print(next(line for line in f if line.startswith("VmHWM")).split()[1])
"""


def test_iterators_take_bounded_memory():
    """400 MB of features and 16 MB of edges."""
    done = subprocess.run([sys.executable, "-c", BOUNDED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    peak = int(done.stdout) << 10
    print(f"  peak {peak >> 20} MiB")
    assert peak < 200 << 20 and os.path.getsize("big/features.npy") > 400000 * 256 * 4


def test_functions_of_the_command():
    outgrow.generate("planted", nodes=3000, dim=16, classes=4, seed=3)
    assert outgrow.info("planted")["num_nodes"] == 3000
    results = outgrow.simulate("planted", ["degree", "belady"], ["5%", "20%"], fanout=[5, 5], batch=50, epochs=1)["results"]
    assert [(r["policy"], r["cache"]) for r in results] == [(p, c) for p in ("degree", "belady") for c in ("5%", "20%")]
    assert results[3]["hit_rate"] > results[1]["hit_rate"]
    assert outgrow.plan("planted", fanout=[5, 5], batch=50, policy="degree")["policy"] == "degree"
    summary = outgrow.train("planted", fanout=[5, 5], batch=50, epochs=2, hidden=16, run="run", lr=0.01, no_shuffle=True)
    assert len(summary["epochs"]) == 2 and summary["config"]["no-shuffle"] is True and summary["test_acc"] > 0.3
    told = outgrow.predict("planted", "run/best.safetensors", "pred.npy", memory="1G")
    assert told["nodes"] == 3000 and np.load("pred.npy").shape == (3000, 4)
    assert outgrow.evaluate("planted", "run/best.safetensors", fanout=[5, 5], batch=50)["acc"] > 0.3
    with raises(outgrow.OptionError, "nonsense"):
        outgrow.train("planted", nonsense=3)
    with raises(outgrow.Error, "meta.json", "hint:"):
        outgrow.train("nowhere")
    told = os.environ.pop("OUTGROW_COMMAND")
    path = os.environ["PATH"]
    os.environ["PATH"] = "/nowhere"
    try:
        with raises(outgrow.FileError, "not on the PATH", "OUTGROW_COMMAND"):
            outgrow.train("planted")
    finally:
        os.environ["OUTGROW_COMMAND"], os.environ["PATH"] = told, path


def test_ctrl_c_stops_training():
    """Once, and waits: what it leaves can be resumed."""
    program = "import outgrow\noutgrow.train('planted', fanout=[10, 10], batch=20, epochs=100000, hidden=64, run='stopped', eval_every=0)\n"
    child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    for _ in range(200):
        if os.path.exists("stopped"):
            break
        time.sleep(0.05)
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in said, said
    assert os.path.exists("stopped/resume.safetensors"), os.listdir("stopped")


main(globals())
