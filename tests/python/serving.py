#!/usr/bin/env python3
"""Predictor compared with `predict`: all neighbours, many threads, little memory. Also results that show themselves, callbacks, and the classifier."""
import concurrent.futures
import copy
import errno
import gc
import json
import os
import pickle
import re
import shutil
import subprocess

import support
from support import CLASSES, COMMAND, NODES, arrays_of_a_graph, command, main, np, outgrow, raises, same, warned

MEMORY = {"memory": "256M", "threads": 1}


def trained(graph, name, *words):
    if not os.path.exists(name):
        command("train", graph, "--fanout", "3,3", "--hidden", 8, "--epochs", 1, "--run", name, "--memory", "128M", "--quiet", *words)
    return f"{name}/checkpoint.safetensors"


def graph():
    if not os.path.exists("graph"):
        outgrow.write("graph", **arrays_of_a_graph())
    return "graph"


def test_equal_to_predict():
    nodes = np.random.default_rng(2).integers(0, NODES, 200)
    for i, words in enumerate((["--model", "sage"], ["--model", "gcn"], ["--model", "gcn", "--edge-weights", "off"], ["--model", "gat"], ["--model", "gin"])):
        checkpoint = trained(graph(), f"run{i}", *words)
        outgrow.predict("graph", checkpoint, f"all{i}.npy", memory="128M")
        every = np.load(f"all{i}.npy")
        for topology in "memory", "disk":
            with outgrow.Predictor(checkpoint, "graph", topology=topology, **MEMORY) as predictor:
                made = predictor(nodes)
                assert made.dtype == np.float32 and np.abs(made - every[nodes]).max() < 1e-5 * max(1, np.abs(every).max()), (words, topology)
                assert predictor.columns == CLASSES and (predictor.predict(nodes[:9]) == made[:9].argmax(1)).all()


def test_features_of_edges():
    rng = np.random.default_rng(6)
    arrays = arrays_of_a_graph()
    edges = rng.standard_normal((arrays["edge_index"].shape[1], 5)).astype(np.float32)
    outgrow.write("edges", **arrays, edge_attr=edges)
    n = {"a": 300, "b": 200}
    ends = {("a", "to", "b"): ("a", "b"), ("b", "back", "a"): ("b", "a"), ("a", "bare", "a"): ("a", "a")}
    outgrow.write("edges-typed", x={t: rng.standard_normal((m, 6)).astype(np.float32) for t, m in n.items()}, y={"a": np.arange(300) % CLASSES}, train={"a": np.arange(300)},
                  edge_index={r: np.stack([rng.integers(0, n[s], 1500), rng.integers(0, n[d], 1500)]) for r, (s, d) in ends.items()},
                  edge_attr={r: rng.standard_normal((1500, 3 + i)).astype(np.float32) for i, r in enumerate(ends) if r[1] != "bare"})
    for dataset, model in ("edges", "gine"), ("edges", "transformer"), ("edges-typed", "gatv2"):
        checkpoint = trained(dataset, f"{dataset}-{model}", "--model", model)
        outgrow.predict(dataset, checkpoint, "out.npy", memory="256M", **({"fanout": [-1, -1]} if "typed" in dataset else {}))
        every = np.load("out.npy")
        os.remove("out.npy")
        nodes = rng.integers(0, 300, 100)
        for topology in "memory", "disk":
            with outgrow.Predictor(checkpoint, dataset, topology=topology, **MEMORY) as predictor:
                assert np.abs(predictor(nodes) - every[nodes]).max() < 1e-5 * max(1, np.abs(every).max()), (dataset, model, topology)


def typed():
    if not os.path.exists("typed"):
        outgrow.generate("typed", types="paper:600:8,author:400:6,venue:30:0", classes=4,
                         relations="author:writes:paper:3,paper:cites:paper:4,paper:written:author:3,venue:has:paper:1,paper:in:venue:9")


def test_types():
    typed()
    for i, words in enumerate(([], ["--task", "link", "--relation", "cites", "--edge-split", "80/10/10"])):
        checkpoint = trained("typed", f"typed{i}", "--embedding", "4", *words)
        outgrow.predict("typed", checkpoint, f"typed{i}.npy", memory="128M", fanout=[-1, -1])
        every = np.load(f"typed{i}.npy")
        with outgrow.Predictor(checkpoint, "typed", **MEMORY) as predictor:
            nodes = np.arange(0, 600, 7)
            assert np.abs(predictor(nodes) - every[nodes]).max() < 1e-5


def tensor(checkpoint, name):
    raw = open(checkpoint, "rb").read()
    size = int.from_bytes(raw[:8], "little")
    of = json.loads(raw[8:8 + size])[name]
    return np.frombuffer(raw, np.float32, offset=8 + size)[of["data_offsets"][0] // 4:of["data_offsets"][1] // 4].reshape(of["shape"])


def by_relation(decoder, a, w, b):
    if decoder == "complex":
        half = len(w) // 2
        return ((a[:, :half] + 1j * a[:, half:]) * (w[:half] + 1j * w[half:]) * (b[:, :half] - 1j * b[:, half:])).sum(1).real
    return -np.abs(a / np.abs(a).sum(1, keepdims=True) + w - b / np.abs(b).sum(1, keepdims=True)).sum(1)


def test_scores_by_relation():
    """They follow from embeddings and the relation's vector."""
    typed()
    rng = np.random.default_rng(4)
    about = [(r["source"], r["name"], r["destination"]) for r in json.load(open("typed/meta.json"))["relations"]]
    first, n = {"paper": 0, "author": 600, "venue": 1000}, {"paper": 600, "author": 400, "venue": 30}
    for name, words in ("all", []), ("one", ["--relation", "writes"]):
        checkpoint = trained("typed", f"distmult-{name}", "--task", "link", "--model", "rgcn", "--embedding", "4", "--decoder", "distmult", *words)
        outgrow.predict("typed", checkpoint, f"distmult-{name}.npy", memory="128M", fanout=[-1, -1])
        h, weights = np.load(f"distmult-{name}.npy").astype("f8"), tensor(checkpoint, "decoder.rel_emb.weight")
        with outgrow.Predictor(checkpoint, "typed", **MEMORY) as predictor:
            for r, relation in enumerate(about):
                u, v = (first[t] + rng.integers(0, n[t], 40) for t in relation[::2])
                want = (h[u] * weights[r] * h[v]).sum(1)
                for given in relation[1], relation:
                    assert np.abs(predictor.edges(u, v, relation=given) - want).max() < 1e-5 * max(1, np.abs(want).max()), (name, relation)
                if relation[1] == "writes" and name == "one":
                    assert np.abs(predictor.edges(u, v) - want).max() < 1e-5 * max(1, np.abs(want).max())
            for wrong in 3, (1, 2, 3), b"writes":
                with raises(outgrow.OptionError, f"relation: {wrong!r}", "its name"):
                    predictor.edges([700], [5], relation=wrong)
            with raises(outgrow.OptionError, "no relation 'cooks'"):
                predictor.edges([700], [5], relation="cooks")
            with raises(outgrow.OptionError, "edge 1: node 5 is of type paper, relation writes needs author"):
                predictor.edges([700, 5], [5, 6], relation="writes")
            if name == "all":
                with raises(outgrow.OptionError, "scores depend on a relation"):
                    predictor.edges([700], [5])
    for decoder in "complex", "transe":
        checkpoint = trained("typed", decoder, "--task", "link", "--model", "rgcn", "--embedding", "4", "--decoder", decoder)
        outgrow.predict("typed", checkpoint, f"{decoder}.npy", memory="128M", fanout=[-1, -1])
        h, weights = np.load(f"{decoder}.npy").astype("f8"), tensor(checkpoint, "decoder.rel_emb.weight")
        with outgrow.Predictor(checkpoint, "typed", **MEMORY) as predictor:
            for r, relation in enumerate(about):
                u, v = (first[t] + rng.integers(0, n[t], 40) for t in relation[::2])
                want = by_relation(decoder, h[u], weights[r], h[v])
                assert np.abs(predictor.edges(u, v, relation=relation) - want).max() < 1e-5 * max(1, np.abs(want).max()), (decoder, relation)
    checkpoint = trained(graph(), "translated", "--task", "link", "--decoder", "transe", "--batch", 100)
    with outgrow.Predictor(checkpoint, "graph", **MEMORY) as predictor:  # one relation, without a name
        outgrow.predict("graph", checkpoint, "translated.npy", memory="128M", fanout=[-1, -1])
        h, weights = np.load("translated.npy").astype("f8"), tensor(checkpoint, "decoder.rel_emb.weight")
        assert np.abs(predictor.edges([1, 2], [2, 9]) - by_relation("transe", h[[1, 2]], weights[0], h[[2, 9]])).max() < 1e-5
    checkpoint = trained(graph(), "linked", "--task", "link", "--decoder", "dot", "--batch", 100)
    with outgrow.Predictor(checkpoint, "graph", **MEMORY) as predictor, raises(outgrow.OptionError, "do not depend on it"):
        predictor.edges([1], [2], relation="writes")


def test_edges():
    """Edges are what `predict` makes of their lists; scores of links follow from its embeddings."""
    rng = np.random.default_rng(8)
    links = {f"{s}_edges": rng.integers(0, NODES, (n, 2)) for s, n in (("train", 300), ("valid", 60), ("test", 90))}
    word = np.array(["no", "yes", "perhaps"])
    for own in False, True:
        name = f"rated{own:d}"
        labels = {f"{s[:-6]}_edge_labels": word[(e[:, 0] + 2 * e[:, 1]) % 3] for s, e in links.items()}
        rows = {f"{s[:-6]}_edge_attr": rng.standard_normal((len(e), 4)).astype("f4") for s, e in links.items()} if own else {}
        outgrow.write(name, **{**arrays_of_a_graph(), **links, **labels, **rows})
        assert outgrow.info(name)["edge_class_names"] == sorted(word)
        checkpoint = trained(name, f"{name}-run", "--task", "edge", "--batch", 50)
        outgrow.predict(name, checkpoint, f"{name}.npy", memory="128M")
        every = np.load(f"{name}.npy")
        outgrow.predict(name, checkpoint, f"{name}.csv", memory="128M")
        assert open(f"{name}.csv").readline() == "src,dst,class,no,perhaps,yes\n"
        u, v = links["test_edges"].T
        for topology in "memory", "disk":
            with outgrow.Predictor(checkpoint, name, topology=topology, **MEMORY) as predictor:
                made = predictor.edges(u, v, rows.get("test_edge_attr"))
                assert predictor.columns == 0 and made.shape == (90, 3) and np.abs(made - every).max() < 1e-5 * max(1, np.abs(every).max()), topology
                assert np.abs(predictor.edges([u[3]], [v[3]], rows["test_edge_attr"][3:4] if own else None) - every[3]).max() < 1e-5 and predictor.edges([], []).shape == (0, 3)
                with raises(outgrow.OptionError, "predicts edges, not nodes"):
                    predictor([1])
                with raises(outgrow.OptionError, f"node {NODES}"):
                    predictor.edges([1], [NODES], np.zeros((1, 4)) if own else None)
                with raises(outgrow.OptionError, "features of an edge"):
                    predictor.edges([1], [2], None if own else [[0.5]])
    checkpoint = trained(graph(), "linked", "--task", "link", "--decoder", "dot", "--batch", 100)
    outgrow.predict("graph", checkpoint, "linked.npy", memory="128M")
    h = np.load("linked.npy").astype("f8")
    with outgrow.Predictor(checkpoint, "graph", **MEMORY) as predictor, concurrent.futures.ThreadPoolExecutor(4) as pool:
        want = (h[u] * h[v]).sum(1)
        for made in pool.map(lambda part: (part, predictor.edges(u[part], v[part])), np.array_split(np.arange(90), 20)):
            assert np.abs(made[1] - want[made[0]]).max() < 1e-4 * max(1, np.abs(want).max())
    with outgrow.Predictor(trained(graph(), "run0", "--model", "sage"), "graph", **MEMORY) as predictor, raises(outgrow.OptionError, "predicts nodes, not edges"):
        predictor.edges([1], [2])


def test_many_threads():
    checkpoint = trained(graph(), "run0", "--model", "sage")
    with outgrow.Predictor(checkpoint, "graph", **MEMORY) as predictor:
        want = predictor(np.arange(NODES))

        def ask(seed):
            nodes = np.random.default_rng(seed).integers(0, NODES, 1 + seed % 20)
            return np.abs(predictor(nodes) - want[nodes]).max()

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            assert max(pool.map(ask, range(400))) < 1e-5
            many = np.arange(9000) % NODES  # more than pipes hold, both ways
            assert max(pool.map(lambda _: np.abs(predictor(many) - want[many]).max(), range(16))) < 1e-5


def test_walks_are_told():
    """Walks of a request are others than those of predict."""
    checkpoint = trained(graph(), "walked", "--model", "sage", "--sampler", "walk")
    for sampler in "walk", "uniform":
        done = subprocess.run([COMMAND, "serve", "graph", "--checkpoint", checkpoint, "--sampler", sampler, "--memory", "128M", "--threads", "1"], input="[7]\n", capture_output=True, text=True)
        assert done.returncode == 0 and ("each hop has walks of its own" in done.stderr) == (sampler == "walk"), done


def test_sampled_by_node():
    """With a fanout a node's neighbours do not depend on the others of a request."""
    checkpoint = trained(graph(), "run0", "--model", "sage")
    with outgrow.Predictor(checkpoint, "graph", fanout=[3, 3], seed=4, **MEMORY) as one, outgrow.Predictor(checkpoint, "graph", fanout=[3, 3], seed=5, **MEMORY) as other:
        together = one(np.arange(60))
        assert all(np.abs(one([v])[0] - together[v]).max() < 1e-5 for v in range(0, 60, 5))
        assert np.abs(other(np.arange(60)) - together).max() > 1e-3
    with raises(outgrow.Error, "ladies", "the others of a request", "leave out fanout"):
        outgrow.Predictor(checkpoint, "graph", fanout=[3, 3], sampler="ladies", **MEMORY)
    with outgrow.Predictor(checkpoint, "graph", sampler="ladies", **MEMORY) as predictor:
        assert np.abs(predictor(np.arange(60))[9] - predictor([9])[0]).max() < 1e-5


def test_outputs_that_are_no_numbers():
    """They are refused by the node, by serve too; other nodes are answered."""
    checkpoint, arrays = trained(graph(), "run0", "--model", "sage"), arrays_of_a_graph()
    arrays["x"][7] = 3e38
    outgrow.write("extreme", **arrays)
    far = NODES - 1  # without neighbours
    with outgrow.Predictor(checkpoint, "extreme", **MEMORY) as predictor:
        for call in predictor, predictor.predict:
            with raises(outgrow.Error, "node 7: the output is not a finite number", "had training diverged?"):
                call([far, 7])
        assert np.isfinite(predictor([far])).all()
    done = subprocess.run([COMMAND, "serve", "extreme", "--checkpoint", checkpoint, "--memory", "128M", "--threads", "1"], input="[7]\n", capture_output=True, text=True)
    answer = json.loads(done.stdout.splitlines()[1])
    assert answer["code"] == -errno.EDOM and "node 7" in answer["error"] and "diverged" in answer["hint"] and "rows" not in answer, answer


def test_refusals():
    checkpoint = trained(graph(), "run0", "--model", "sage")
    with outgrow.Predictor(checkpoint, "graph", **MEMORY) as predictor:
        with raises(outgrow.OptionError, f"node {NODES}"):
            predictor([1, NODES])
        with raises(outgrow.OptionError, "node ids"):
            predictor([[1, 2]])
        with raises(outgrow.OptionError, f"nodes: {2**64 - 1}", "below 2^63"):
            predictor(np.array([1, 2**64 - 1], np.uint64))
        assert predictor([]).shape == (0, CLASSES) and predictor(np.arange(NODES) == 3).shape == (1, CLASSES)
        for mask in np.arange(NODES - 1) == 3, np.arange(NODES + 1) == 3, [True, False]:
            with raises(outgrow.OptionError, f"nodes: a mask [{len(mask)}], of {NODES} nodes"):
                predictor(mask)
        for ambiguous in (np.arange(NODES) == 3).astype(np.uint8), [0] * NODES:
            with raises(outgrow.OptionError, f"nodes: numbers [{NODES}] of zeros and ones", "mask != 0"):
                predictor(ambiguous)
        assert predictor([0, 1, 1]).shape == (3, CLASSES)
        with raises(outgrow.OptionError, "node ids"):
            predictor([[1], [1, 2]])
    with raises(outgrow.ProcessError, "closed"):
        predictor([1])
    with raises(outgrow.Error, "memory") as small:
        outgrow.Predictor(checkpoint, "graph", memory="20M")
    least = re.search(r"memory=['\"]?(\d+M)|--memory (\d+M)", small[0].hint)
    with outgrow.Predictor(checkpoint, "graph", memory=least[1] or least[2]) as predictor:
        assert predictor([1]).shape == (1, CLASSES)
    with raises(outgrow.Error, "absent"):
        outgrow.Predictor("absent.safetensors", "graph", **MEMORY)
    for call in (lambda path: outgrow.Predictor(path, "graph", **MEMORY), lambda path: outgrow.predict("graph", path, "no.npy"), lambda path: outgrow.evaluate("graph", path)):
        for path in None, 3, [], "":
            with raises(outgrow.OptionError, "checkpoint: ", " path", 'give a file of a run: "first/best.safetensors"'):
                call(path)
    for call in (lambda: outgrow.predict("graph", checkpoint, None)), (lambda: outgrow.smooth("graph", "all0.npy", None)):
        with raises(outgrow.OptionError, "out: NoneType is no path", '"pred.npy"'):
            call()


def test_predictors_of_other_processes():
    """A pickled one is opened again. One that was there before a fork says so."""
    with outgrow.Predictor(trained(graph(), "run0", "--model", "sage"), "graph", **MEMORY) as predictor:
        want = predictor([3, 1])
        for another in pickle.loads(pickle.dumps(predictor)), copy.deepcopy(predictor):
            with another:
                same("logits", another([3, 1]), want)
        with raises(outgrow.OptionError, "masked values", "compressed()"):
            predictor(np.ma.array([1, 2], mask=[0, 1]))
        child = os.fork()
        if child == 0:
            try:
                predictor([3, 1])
            except outgrow.ProcessError as error:
                os._exit(0 if "opened in another process" in str(error) else 2)
            finally:
                os._exit(3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        same("logits", predictor([3, 1]), want)


def test_keys_of_requests():
    """A key that no request of the kind has is refused, not ignored. No request ends the others."""
    checkpoint = trained(graph(), "run0", "--model", "sage")
    of = {"nodes": [1, 2]}
    asked = ([of | {"input_time": [1.5, 2]}, "input_time: not a time for each"], [of | {"input_time": [1]}, "input_time: not a time for each"],
             [of | {"edge_label_time": [1, 2]}, "edge_label_time: no key"], [of | {"time": 3}, "time: no key"], [of | {"relation": "x"}, "relation: no key"],
             [of | {"é" * 60: 1}, "no key of this request"], [{"edges": [[1, 2]], "relation": "a" + "é" * 60}, ""], [3, "not a request"], [of, None])
    lines = "".join(json.dumps(request) + "\n" for request, _ in asked)
    done = subprocess.run([COMMAND, "serve", "graph", "--checkpoint", checkpoint, "--memory", "128M", "--threads", "1"], input=lines, capture_output=True, text=True)
    assert done.returncode == 0, done
    answers = sorted((json.loads(line) for line in done.stdout.splitlines()[1:]), key=lambda answer: answer["id"])  # they come as they are ready
    assert [answer["id"] for answer in answers] == list(range(1, len(asked) + 1)), answers
    for (_, why), answer in zip(asked, answers):
        assert "rows" in answer if why is None else why in answer["error"] and answer["hint"] is not None, (why, answer)


def test_nodes_of_predict():
    checkpoint = trained(graph(), "run0", "--model", "sage")
    outgrow.predict("graph", checkpoint, "every.npy", memory="128M")
    mask = np.arange(NODES) % 50 == 3
    for wrong in mask[:-1], np.append(mask, True):
        with raises(outgrow.OptionError, f"nodes: a mask [{len(wrong)}], of {NODES} nodes"):
            outgrow.predict("graph", checkpoint, "no.npy", nodes=wrong, memory="128M")
    for i, nodes in enumerate((np.flatnonzero(mask), mask, np.flatnonzero(mask).tolist(), mask.astype(np.uint8))):
        said = outgrow.predict("graph", checkpoint, f"some{i}.npy", nodes=nodes, memory="128M")
        assert np.abs(np.load(f"some{i}.npy") - np.load("every.npy")[mask]).max() < 1e-5
        assert said["needed"]["rows"] <= NODES and "<table>" in said._repr_html_()


def test_epochs():
    seen = []
    options = {"fanout": [3, 3], "hidden": 8, "memory": "128M", "epochs": 4}
    result = outgrow.train(graph(), run="followed", on_epoch=seen.append, **options)
    assert [e["epoch"] for e in seen] == [1, 2, 3, 4] and [e["loss"] for e in seen] == [e["loss"] for e in result["epochs"]]
    assert isinstance(result, dict) and "<th>loss</th>" in result._repr_html_() and "<table>" in outgrow.info("graph")._repr_html_()
    stopped = outgrow.train("graph", run="stopped", on_epoch=lambda e: e["epoch"] == 2, **{**options, "epochs": 400})
    assert stopped["stopped_by"] == "on_epoch" and 2 <= stopped["stopped_epoch"] < 400 and stopped["epochs"][0]["loss"] == seen[0]["loss"]

    # arrays, where the command takes files
    np.save("weights.npy", np.arange(1, CLASSES + 1))
    weighted = [outgrow.train("graph", class_weights=weights, on_epoch=seen.append if i else None, **options)["epochs"] for i, weights in enumerate(("weights.npy", list(range(1, CLASSES + 1)), np.arange(1, CLASSES + 1)))]
    assert [e["loss"] for e in weighted[0]] == [e["loss"] for e in weighted[1]] == [e["loss"] for e in weighted[2]] != [e["loss"] for e in result["epochs"]]
    given = {**options, "class_weights": [1, 2, 3, 4, 5, 6, 7, 8][:CLASSES], "run": "weighted"}
    outgrow.train("graph", **{**given, "epochs": 2})
    assert outgrow.train("graph", **given, resume=True)["epochs"][-1]["loss"] == outgrow.train("graph", **{**given, "run": "whole"})["epochs"][-1]["loss"]
    with raises(outgrow.Error, "another class_weights"):
        outgrow.train("graph", **{**given, "class_weights": [2.0] * CLASSES}, resume=True)
    with raises(outgrow.OptionError, "class_weights: an array of 2 dimensions"):
        outgrow.train("graph", class_weights=[[1], [2, 3]], **options)
    with raises(outgrow.OptionError, "class_weights: an array of 2 dimensions"):
        outgrow.train("graph", class_weights=[[1.0]], **options)
    with raises(outgrow.Error, f"class_weights: 2 numbers, there are {CLASSES} classes"):
        outgrow.train("graph", class_weights=[1, 2], **options)
    with raises(outgrow.Error, "nodes: row 1: node 4 is listed twice"):
        outgrow.predict("graph", "followed/checkpoint.safetensors", "no.npy", nodes=[4, 4], memory="128M")
    with raises(outgrow.Error, "followed: a folder, not a checkpoint", "best.safetensors"):
        outgrow.predict("graph", "followed", "no.npy", memory="128M")

    def fails(epoch):
        raise KeyError(epoch["epoch"])

    with raises(KeyError, "1"):
        outgrow.train("graph", run="failed", on_epoch=fails, **options)


def test_failures_of_the_command_have_the_loaders_classes():
    from outgrow._command import error_from
    checkpoint, options = trained(graph(), "run0", "--model", "sage"), {"fanout": [3, 3], "hidden": 8}
    for kind, plain, code, word, call in (
            (outgrow.BudgetError, MemoryError, errno.ENOMEM, 'memory="', lambda: outgrow.train("graph", memory="1M", **options)),
            (outgrow.BudgetError, MemoryError, errno.ENOMEM, 'memory="', lambda: outgrow.train("graph", memory="1M", progress=True, on_epoch=print, **options)),
            (outgrow.BudgetError, MemoryError, errno.ENOMEM, 'memory="', lambda: outgrow.plan("graph", memory="1M", **options)),
            (outgrow.BudgetError, MemoryError, errno.ENOMEM, "", lambda: outgrow.predict("graph", checkpoint, "no.npy", memory="1M")),
            (outgrow.BudgetError, MemoryError, errno.ENOMEM, "", lambda: outgrow.evaluate("graph", checkpoint, memory="1M")),
            (outgrow.BudgetError, MemoryError, errno.ENOMEM, "", lambda: outgrow.Predictor(checkpoint, "graph", memory="1M")),
            (outgrow.FileError, OSError, errno.ENOENT, "absent", lambda: outgrow.evaluate("graph", "absent.safetensors", **MEMORY)),
            (outgrow.FileError, OSError, errno.ENOENT, "absent", lambda: outgrow.Predictor("absent.safetensors", "graph", **MEMORY)),
            (outgrow.OptionError, ValueError, errno.EINVAL, "hidden", lambda: outgrow.train("graph", fanout=[3], hidden=0)),
            (outgrow.OptionError, ValueError, errno.EINVAL, "no such option", lambda: outgrow.plan("graph", nonsense=1))):
        with raises(kind, word) as seen:
            call()
        assert isinstance(seen[0], plain) and seen[0].code == -code and seen[0].message and type(seen[0]) is kind, seen
    for kind, code in ((outgrow.ProcessError, errno.ECANCELED), (outgrow.OptionError, errno.ENOTSUP), (outgrow.BudgetError, errno.ENOBUFS), (outgrow.FileError, errno.EIO)):
        why = error_from(1, '{"progress":{}}\n{\n' + f'  "code": {-code},\n  "error": "use --memory",\n  "hint": ""\n' + "}\n", "")
        assert type(why) is kind and why.code == -code and why.message == "use memory", why
    assert type(error_from(-9, "", "")) is type(error_from(-9, "{}", "")) is outgrow.Error


def test_doctor():
    trained(graph(), "run0", "--model", "sage")
    machine, dataset, run = outgrow.doctor(), outgrow.doctor("graph", scratch="."), outgrow.doctor("run0")
    assert machine["fits"] is None and dataset["fits"] and run["run"]["sentences"] and all(c["verdict"] in ("fine", "note", "stops") for c in machine["checks"])
    assert "<th>advice</th>" in machine._repr_html_() and machine["checks"][0]["check"] in machine._repr_html_()
    assert "stops" in {c["verdict"] for c in outgrow.doctor("absent")["checks"]}  # a result, though the command's status is 1
    os.makedirs("no-run", exist_ok=True)
    shutil.copy("run0/config.yaml", "no-run")
    with raises(outgrow.OptionError, "no-run"):
        outgrow.doctor("no-run")


def test_classifier():
    model = outgrow.GraphClassifier(model="sage", fanout=[3, 3], hidden=8, epochs=2, memory="128M", seed=3)
    with raises(outgrow.OptionError, "not fitted"):
        model.predict([1])
    assert model.fit(graph()) is model and model.get_params()["hidden"] == 8
    chances, classes = model.predict_proba("test"), model.predict("test")
    ids = np.load("graph/test.npy")
    assert np.abs(chances.sum(1) - 1).max() < 1e-5 and (classes == chances.argmax(1)).all() and len(classes) == len(ids)
    assert np.abs(model.decision_function()[ids] - model.decision_function(ids)).max() < 1e-5 and 0 <= model.score() <= 1
    assert repr(model).startswith("GraphClassifier(model='sage', fanout=[3, 3], hidden=8,")
    with raises(outgrow.OptionError, "score: ndarray", "model.predict(ids)"):
        model.score(ids)
    # copies share the files of the run, and nobody is left without saying so
    twin, other = copy.deepcopy(model), pickle.dumps(model)
    del model
    gc.collect()
    assert (twin.predict("test") == classes).all()
    del twin
    gc.collect()
    with raises(outgrow.FileError, "there is no such file", 'run="runs/first"'):
        pickle.loads(other).predict("test")
    # what has no classes to choose from is refused, not answered by the largest output
    rng = np.random.default_rng(4)
    some = {"edge_index": rng.integers(0, 50, (2, 300)), "x": rng.random((50, 3), np.float32), "train": np.arange(20), "test": np.arange(20, 50)}
    outgrow.write("several", y=(rng.random((50, 4)) > 0.5).astype("f4"), **some)
    outgrow.write("values", y=rng.random((50, 2), np.float32), regression=True, **some)
    outgrow.write("shares", y=rng.random((50, 2), np.float32), shares=True, **some)
    for path, more, says in ("several", {}, "several labels"), ("values", {}, "values"), ("shares", {}, "shares of classes"), ("graph", {"task": "link"}, "task='link'"):
        with raises(outgrow.OptionError, says):
            outgrow.GraphClassifier(fanout=[3, 3], hidden=8, epochs=1, memory="128M").fit(path, **more)
        outgrow.train(path, fanout=[3, 3], hidden=8, epochs=1, run=f"{path}-{len(more)}-run", **MEMORY, **more)
        with outgrow.Predictor(f"{path}-{len(more)}-run/checkpoint.safetensors", path, **MEMORY) as predictor, raises(outgrow.OptionError, "Predictor.predict: ", "regression" if path in ("values", "shares") else says):
            predictor.predict([1, 2])


def test_names():
    """Nodes by their names, in the order that is given. Classes have the model's names. Masks of a table are refused."""
    rng = np.random.default_rng(9)
    ids, n = np.array([f"C-{i:03d}é" for i in rng.permutation(80)], object), 80
    known = {"edge_index": rng.integers(0, n, (2, 400)), "x": rng.random((n, 3), np.float32), "ids": ids.tolist()}
    outgrow.write("customers", y=[("cat", "dog")[i % 2] for i in range(n)], train=np.arange(40), valid=np.arange(40, 60), test=np.arange(60, 80), **known)
    outgrow.write("bare", **known)  # without labels
    model = outgrow.GraphClassifier(fanout=[3, 3], hidden=8, epochs=1, memory="128M", run="customers-run").fit("customers")
    outgrow.predict("customers", model.checkpoint(), "customers.csv", memory="128M")
    with open("customers.csv", encoding="utf-8") as f:
        table = {row[0]: row[1:] for row in (line.strip().split(",") for line in f)}
    assert table["id"] == ["class", "cat", "dog"]
    some = ids[[5, 70, 12]]
    want = [table[i][0] for i in some]
    loaded = outgrow.GraphClassifier.load("customers-run", "bare", memory="128M")
    for classifier in model, loaded, outgrow.GraphClassifier.load(model.checkpoint(), "bare", memory="128M"):
        assert classifier.predict(some).tolist() == want and classifier.classes_.tolist() == ["cat", "dog"] and classifier.predict(str(some[0])).tolist() == want[:1]
    assert model.predict("test").tolist() == [table[i][0] for i in ids[60:]]
    said = warned(lambda: model.predict())
    assert len(said) == 1 and "order of node_names.npy" in said[0], said
    for call in lambda: model.predict(np.arange(n) < 3), lambda: outgrow.predict("bare", model.checkpoint(), "no.npy", nodes=np.arange(n) < 3):
        with raises(outgrow.OptionError, "order of node_names.npy", 'table["id"]'):
            call()
    with raises(outgrow.OptionError, "score:", '"valid"'):
        model.score(np.arange(n) < 3)
    with raises(outgrow.OptionError, "fit takes the folder", "import_tables"):
        outgrow.GraphClassifier().fit(known["x"], np.arange(n))
    with raises(outgrow.Error, "no node is called nobody", "the same checkpoint"):
        model.predict(["nobody"])
    with open("some.csv", "w", encoding="utf-8") as f:
        f.write("id\n" + "\n".join(some))
    for nodes in "some.csv", some:
        outgrow.predict("bare", model.checkpoint(), "some.npy", nodes=nodes, overwrite=True, memory="128M")
        assert np.abs(np.load("some.npy") - [np.float32(table[i][1:]) for i in some]).max() < 1e-5
    with outgrow.Predictor(model.checkpoint(), "bare", **MEMORY) as predictor:
        assert predictor.predict(some).tolist() == want and predictor.predict(str(some[0])).tolist() == want[:1]
        assert predictor.classes.tolist() == ["cat", "dog"] and np.abs(predictor(some) - np.load("some.npy")).max() < 1e-5
        with raises(outgrow.OptionError, "no node is called C-999"):
            predictor(["C-999"])
        with raises(outgrow.OptionError, "order of node_names.npy"):
            predictor(np.arange(n) < 3)
    with outgrow.Predictor(trained(graph(), "run0", "--model", "sage"), "graph", **MEMORY) as predictor, raises(outgrow.OptionError, "no names of nodes"):
        predictor(["ann"])
    outgrow.predict("customers", model.checkpoint(), "chances.csv", probabilities=True, memory="128M")
    assert 0 <= outgrow.smooth("customers", "chances.csv", "smooth.csv", memory="128M")["valid_acc"] <= 1


def test_names_of_some_types():
    """A table of predictions is a list of nodes also where only one type has names. The other has ids of the source, or numbers of the graph."""
    rng = np.random.default_rng(11)
    n, users = 60, np.array([f"u{i}" for i in rng.permutation(60)], object)
    edges = rng.integers(0, n, (2, 300))
    outgrow.write("by_ids", edge_index={("user", "buys", "item"): edges, ("item", "bought", "user"): edges[::-1]}, ids={"user": users, "item": np.arange(n) * 3 - 20},
                  x={t: rng.random((n, 3), np.float32) for t in ("user", "item")}, y={t: np.arange(n) % 2 for t in ("user", "item")},
                  **{s: {t: np.arange(at, at + 20) for t in ("user", "item")} for s, at in (("train", 0), ("valid", 20), ("test", 40))})
    shutil.copytree("by_ids", "by_numbers")
    os.remove("by_numbers/node_ids.npy")
    for folder in "by_ids", "by_numbers":
        checkpoint = trained(folder, f"{folder}-run")
        outgrow.predict(folder, checkpoint, f"{folder}.csv", fanout=[-1, -1], memory="128M")
        with open(f"{folder}.csv", encoding="utf-8") as f:
            rows = [line.strip().split(",") for line in f][1:]
        ids, scores = [r[0] for r in rows], np.array([r[2:] for r in rows], np.float32)
        assert len(ids) == len(set(ids)) == 2 * n and set(users) < set(ids)
        outgrow.predict(folder, checkpoint, f"{folder}.npy", nodes=f"{folder}.csv", fanout=[-1, -1], memory="128M")
        assert np.abs(np.load(f"{folder}.npy") - scores).max() < 1e-5
        with outgrow.Predictor(checkpoint, folder, **MEMORY) as predictor:
            assert np.abs(predictor(ids) - scores).max() < 1e-5
        for unknown in "u60", "1000", "-21":
            with raises(outgrow.Error, f"called {unknown}"):
                outgrow.predict(folder, checkpoint, "no.npy", nodes=[ids[0], unknown], fanout=[-1, -1], memory="128M")


if __name__ == "__main__":
    main(globals())
