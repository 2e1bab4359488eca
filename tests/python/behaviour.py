#!/usr/bin/env python3
"""How a Loader behaves: aliases, errors, epochs that are left, signals, threads, forks, kills."""
import concurrent.futures
import gc
import hashlib
import json
import multiprocessing
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings

import support
from support import arrays_of_a_graph, main, np, outgrow, raises, same, warned

OPTIONS = {"fanout": [4, 3], "batch": 50, "epochs": 3, "seed": 5, "form": "arrays", "policy": "belady", "cache": "10%"}


def digest(batch):
    h = hashlib.sha1()
    for a in batch.ids, batch.x, batch.y, batch.edge_index:
        h.update(a.tobytes())
    return h.hexdigest()


def digests(loader):
    return [digest(batch) for batch in loader]


def test_the_nth_iteration_is_epoch_n():
    outgrow.write("graph", **arrays_of_a_graph())
    with outgrow.Loader("graph", **OPTIONS) as a, outgrow.Loader("graph", **OPTIONS) as b:
        first, second = digests(a), digests(a)
        assert len(first) == len(a) == 20 and not set(first) & set(second) and a.epoch == 2
        for batch in b:
            assert batch.epoch == 1
            if batch.number == 4:
                break  # an epoch that is left is over
        assert digests(b) == second


def test_evaluation_that_is_planned():
    """The same batches and passes; the cache continues to be used where it was planned."""
    def go(**options):
        with outgrow.Loader("graph", **OPTIONS, **options) as loader:
            got = [(digests(loader), digests(loader.evaluate("valid"))) for _ in range(OPTIONS["epochs"])]
            return got, sum(epoch["misses"] for epoch in loader.metrics["epochs"])

    (want, without), (got, planned) = go(), go(eval_every=1)
    assert got == want and len({tuple(valid) for _, valid in want}) == 1
    assert planned < without, (planned, without)


def test_aliases():
    ids = np.arange(100)
    mask = np.zeros(support.NODES, bool)
    mask[:100] = True
    plain = outgrow.Loader("graph", fanout=[4], batch=30, seeds=ids, form="arrays", seed=5)
    want = digests(plain)
    for nodes in ids, mask, ids.tolist(), ids.astype(np.int32):
        other = outgrow.Loader("graph", num_neighbors=[4], batch_size=30, input_nodes=nodes, form="arrays", seed=5, shuffle=True)
        assert digests(other) == want
    valid = outgrow.Loader("graph", num_neighbors=[4], batch_size=30, input_nodes="valid", form="arrays")
    assert next(iter(valid)).split == "valid"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        outgrow.Loader("graph", fanout=[4], num_workers=4, form="arrays")
    assert "num_workers is not needed" in str(said[0].message)


def test_what_is_refused():
    for kind, word, options in (
            (ValueError, "fanout", {}), (ValueError, "no such option", {"fanout": [4], "nonsense": 1}),
            (ValueError, "batch_size", {"fanout": [4], "batch": 5, "batch_size": 6}),
            (ValueError, "form", {"fanout": [4], "form": "tensorflow"}),
            (ValueError, "seeds", {"fanout": [4], "seeds": [0.5]}),
            (ValueError, "", {"fanout": [4], "seeds": [support.NODES]}), (ValueError, "no whole mini-batch", {"fanout": [4], "drop_last": True, "batch": 10 * support.NODES}),
            (MemoryError, "", {"fanout": [4], "memory": "1M"}), (ValueError, "", {"fanout": [4], "memory": "much"})):
        with raises(kind, word):
            outgrow.Loader("graph", **{"form": "arrays"} | options)
    for word, wrong in ("max_held: 2.5", {"max_held": 2.5}), ("max_held: -1", {"max_held": -1}), ("step_seconds: 'a'", {"step_seconds": "a"}):
        with raises(outgrow.OptionError, word):
            outgrow.Loader("graph", fanout=[4], form="arrays", **wrong)
    for name, value in ("device", "cuda"), ("model", "gat"), ("run", "here"):
        said = warned(lambda: outgrow.Loader("graph", fanout=[4], form="arrays", **{name: value}).close())
        assert len(said) == 1 and f"{name} has no effect" in said[0], said
    with raises(outgrow.FileError, "nowhere", "hint:"):
        outgrow.Loader("nowhere", fanout=[4], form="arrays")
    with raises(OSError):
        outgrow.info("nowhere")
    try:
        outgrow.Loader("nowhere", fanout=[4], form="arrays")
    except FileNotFoundError:
        raise AssertionError("one class for all files")
    except outgrow.Error as error:
        assert error.code < 0 and error.message and error.hint and error.errno == -error.code


def test_decimal_commas():
    """Options are read as ever where the program has set a locale of decimal commas."""
    if not shutil.which("localedef"):
        print("left out: localedef is not installed")
        return
    os.mkdir("locales")
    if subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", "locales/de_DE.UTF-8"], capture_output=True).returncode:
        print("left out: localedef has no de_DE")
        return
    outgrow.write("commas", **arrays_of_a_graph())
    script = ("import locale, outgrow; locale.setlocale(locale.LC_ALL, 'de_DE.UTF-8'); assert locale.str(1.5) == '1,5'\n"
              "loader = outgrow.Loader('commas', fanout=[3, 3], batch=200, memory='0.125G', cache='12.5%', epochs=1, form='arrays')\n"
              "assert sum(batch.n_seeds for batch in loader) == 1000")
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "LOCPATH": os.path.abspath("locales")}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_messages_are_in_pythons_words():
    from outgrow._words import in_python
    for text, words in (
            ("--memory 100.00 MiB: too little", "memory 100.00 MiB: too little"),
            ("the smallest that would do is --memory 288M; smaller --batch or --weight-decay", 'the smallest that would do is memory="288M"; smaller batch or weight_decay'),
            ("use --policy auto, or --topology disk", 'use policy="auto", or topology="disk"'), ("--policy as it was", "policy as it was"),
            ("--fanout 10,10: two hops, --epochs 3", "fanout=[10, 10]: two hops, epochs=3"), ("--lr 1e-3, --dropout 0.5.", "lr=1e-3, dropout=0.5."),
            ("--edge-split 70/10/20, --executors 1:3", 'edge_split="70/10/20", executors="1:3"'), ("--loss focal:2;", 'loss="focal:2";'),
            ("add --replace", "add replace=True"), ("leave out --replace", "leave out replace"), ("use --no-shuffle", "use shuffle=False"),
            ("--memory '1Q' given", 'memory="1Q" given'), ("--run DIR, --scores FILE.npy", "run=DIR, scores=FILE.npy"),
            ("data/my--graph/meta.json: No such file", "data/my--graph/meta.json: No such file"),
            ("runs/5--a-1/summary.json (--memory 1G)", 'runs/5--a-1/summary.json (memory="1G")'),
            ("run `outgrow bench io --path .`, or --io pread", 'run `outgrow bench io --path .`, or io="pread"')):
        assert in_python(text) == words, (text, in_python(text))
    # a hint is an argument that works
    for call in lambda **o: outgrow.Loader("graph", form="arrays", fanout=[4], **o).close(), lambda **o: outgrow.plan("graph", fanout=[4], hidden=8, **o):
        with raises(outgrow.Error, 'memory="') as refused:
            call(memory="1M")
        call(**eval("dict(" + re.search(r'memory="\d+M"', refused[0].hint)[0] + ")"))


def test_batches_that_are_kept_have_a_limit():
    with outgrow.Loader("graph", max_held=2, **OPTIONS) as loader:
        kept = []
        with raises(outgrow.BudgetError, "hold"):
            for batch in loader:
                kept.append(batch)
        assert len(kept) >= 3
        with outgrow.Loader("graph", max_held=len(loader), **OPTIONS) as patient:
            assert len(list(patient)) == len(loader)


def test_batches_that_are_kept_collect_cycles_seldom():
    """A collection takes milliseconds, which a list of thousands of batches would take each time."""
    seen = []
    gc.callbacks.append(lambda phase, info: seen.append(phase == "start" and info["generation"] == 2))
    with outgrow.Loader("graph", **OPTIONS | {"batch": 2}) as loader, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = list(loader)
        assert len(kept) > 200 and sum(seen) < 30, (len(kept), sum(seen))
    gc.callbacks.pop()


def test_without_a_limit_more_are_kept_and_that_is_said_once():
    with outgrow.Loader("graph", **OPTIONS) as loader, outgrow.Loader("graph", max_held=100, **OPTIONS) as patient:
        kept = []
        said = warned(lambda: kept.extend(loader))
        assert len(said) == 1 and "max_held" in said[0] and "memory" in said[0]
        assert warned(lambda: kept.extend(loader)) == [] and len(kept) == 2 * len(loader) > 6
        for batch, want in zip(kept, [*patient, *patient], strict=True):
            assert all(np.array_equal(batch[name], want[name]) for name in ("ids", "x", "y", "edge_index"))
        del batch, want
        kept.clear()
        assert sum(1 for _ in loader) == len(loader)


def test_circles_of_references_let_go():
    with outgrow.Loader("graph", **OPTIONS) as loader:
        for batch in loader:
            circle = [batch]
            circle.append(circle)


def test_exceptions_in_the_loop():
    with outgrow.Loader("graph", **OPTIONS) as loader, outgrow.Loader("graph", **OPTIONS) as other:
        digests(other)
        with raises(ZeroDivisionError):
            for batch in loader:
                1 / 0
        assert digests(loader) == digests(other)


def test_one_iteration_at_a_time():
    with outgrow.Loader("graph", **OPTIONS) as loader:
        first = iter(loader)
        next(first)
        second = iter(loader)
        with raises(outgrow.Error, "another"):
            next(first)
        next(second)
        digests(loader.evaluate("valid"))
        with raises(outgrow.Error, "over"):
            next(second)
        with raises(ValueError, "split"):
            loader.evaluate("tests")


def test_closed():
    loader = outgrow.Loader("graph", **OPTIONS)
    iteration = iter(loader)
    next(iteration)
    loader.close()
    loader.close()
    with raises(outgrow.Error):
        next(iteration)
    with raises(outgrow.ProcessError, "closed"):
        iter(loader)
    with raises(outgrow.ProcessError):
        len(loader)


def test_threads():
    """A loader may be iterated over in any thread, and closed in another; several work at once."""
    with outgrow.Loader("graph", **OPTIONS) as loader:
        want = digests(loader)

    def one(_):
        with outgrow.Loader("graph", **OPTIONS) as loader:
            return digests(loader)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert all(got == want for got in pool.map(one, range(3)))
    for _ in range(10):
        loader = outgrow.Loader("graph", **OPTIONS)
        ended = []

        def go_on():
            try:
                while True:
                    digests(loader)
            except outgrow.Error as error:
                ended.append(error)

        threads = [threading.Thread(target=go_on) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(random.random() * 0.05)
        loader.close()
        for thread in threads:
            thread.join(20)
        assert len(ended) == 2


def in_a_child(loader, results):
    for what in lambda: next(iter(loader)), lambda: loader.state_dict(), lambda: loader.metrics:
        try:
            what()
            results.put("nothing")
        except outgrow.Error as error:
            results.put(str(error))
    loader.close()


def test_forks():
    with outgrow.Loader("graph", **OPTIONS) as loader:
        iteration = iter(loader)
        next(iteration)
        context = multiprocessing.get_context("fork")
        results = context.Queue()
        child = context.Process(target=in_a_child, args=(loader, results))
        child.start()
        said = [results.get(timeout=20) for _ in range(3)]
        child.join(20)
        assert child.exitcode == 0 and all("num_workers is not needed" in text for text in said), (child.exitcode, said)
        assert len(digests(iteration)) == len(loader) - 1  # the parent's continues
        with raises(ValueError, "num_workers is not needed"):
            pickle.dumps(loader)


def test_a_workers_process_is_told():
    torch, = support.need("torch")
    for module in torch.utils.data._utils, torch.utils.data._utils.worker:  # how long workers and their end are waited for, 5 s
        if hasattr(module, "MP_STATUS_CHECK_INTERVAL"):
            module.MP_STATUS_CHECK_INTERVAL = 0.1

    class Wrapped(torch.utils.data.IterableDataset):
        def __init__(self, loader):
            self.loader = loader

        def __iter__(self):
            return iter(self.loader)

    with outgrow.Loader("graph", **OPTIONS) as loader:
        with raises(Exception, "num_workers is not needed"):
            list(torch.utils.data.DataLoader(Wrapped(loader), batch_size=None, num_workers=1))
        with raises(Exception, "num_workers is not needed"):
            list(torch.utils.data.DataLoader(loader, batch_size=None, num_workers=1))


def test_ctrl_c():
    """While a batch is waited for, and while the loader is opened."""
    program = "import sys, outgrow\nfor _ in iter(int, 1):\n" \
              "    with outgrow.Loader('graph', fanout=[4, 3], batch=5, form='arrays', policy='belady') as loader:\n" \
              "        print('open', flush=True)\n        for batch in loader: pass\n"
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-X", "faulthandler", "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        child.stdout.readline()
        time.sleep(random.random())
        child.send_signal(signal.SIGINT)
        began = time.monotonic()
        try:
            _, said = child.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGABRT)  # what each thread does
            _, said = child.communicate()
        assert "KeyboardInterrupt" in said and time.monotonic() - began < 10, said


def test_state():
    """Taken after any batch it gives what is left, in another loader and in the same."""
    with outgrow.Loader("graph", **OPTIONS) as loader:
        want = [digests(loader) for _ in range(3)]
    for stop in 0, 7, 20:
        with outgrow.Loader("graph", **OPTIONS) as loader:
            digests(loader)
            got = [digest(batch) for _, batch in zip(range(stop), loader)] if stop else []
            state = json.loads(json.dumps(loader.state_dict()))
            with outgrow.Loader("graph", **OPTIONS | {"policy": "lru", "cache": "5%"}) as other:
                other.load_state_dict(state)
                rest = digests(other)
                if stop:
                    assert other.epoch == 2 and got + rest == want[1]
                else:
                    assert other.epoch == 2 and rest == want[1]
                assert digests(other) == want[2]
    with outgrow.Loader("graph", **OPTIONS | {"seed": 6}) as other, raises(ValueError, "seed"):
        other.load_state_dict(state)
    states = []
    for shift in 0, 3:  # a file of the same name
        np.save("order.npy", np.roll(np.arange(len(np.load("graph/train.npy"))), shift))
        with outgrow.Loader("graph", **OPTIONS, locality=10, order="order.npy") as loader:
            states.append(loader.state_dict())
            loader.load_state_dict(states[-1])
            if shift:
                with raises(ValueError, "seeds"):
                    loader.load_state_dict(states[0])


KILLED = """
import hashlib, json, os, outgrow
def digest(batch):
    h = hashlib.sha1()
    for a in batch.ids, batch.x, batch.y, batch.edge_index:
        h.update(a.tobytes())
    return h.hexdigest()
loader = outgrow.Loader("graph", **OPTIONS)
done = []
if os.path.exists("state.json"):
    saved = json.load(open("state.json"))
    done = saved["done"]
    loader.load_state_dict(saved["loader"])
while True:
    for batch in loader:
        done.append(digest(batch))
        with open("state.json.new", "w") as f:
            json.dump({"done": done, "loader": loader.state_dict()}, f)
        os.replace("state.json.new", "state.json")
    if loader.epoch >= 3:
        break
"""


def batches_done():
    try:
        with open("state.json") as f:
            return len(json.load(f)["done"])
    except FileNotFoundError:
        return 0


def test_kills():
    """A loader that is killed at ten random points yields what an unbroken run does. Its state is written after each batch."""
    options = OPTIONS | {"batch": 10}
    program = f"OPTIONS = {options!r}\n{KILLED}"
    with outgrow.Loader("graph", **options) as loader:
        want = sum((digests(loader) for _ in range(3)), [])
    chance = random.Random(int(time.time()))
    points = sorted(chance.sample(range(1, len(want) - 20), 10))
    for point in points:
        child = subprocess.Popen([sys.executable, "-c", program])
        while batches_done() < point:
            assert child.poll() is None
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.01))
        child.kill()
        child.wait()
    subprocess.run([sys.executable, "-c", program], check=True)
    with open("state.json") as f:
        got = json.load(f)["done"]
    assert got == want, (points, len(got), len(want))


def test_plan_and_metrics():
    with outgrow.Loader("graph", **OPTIONS) as loader:
        assert loader.plan["policy"] == "belady" and loader.plan["memory"]["feature cache"] > 0
        rows = [sum(len(batch.ids) for batch in loader) for _ in range(2)]
        epochs = loader.metrics["epochs"]
        assert [e["rows"] for e in epochs] == rows and all(e["hits"] + e["misses"] == e["rows"] for e in epochs)


def test_progress():
    """tqdm's bar where there is one; nothing where there is none."""
    class Bar:
        made = []

        def __init__(self, total, desc):
            self.total, self.desc, self.n, self.closed = total, desc, 0, False
            self.made.append(self)

        def update(self, n):
            self.n += n

        def close(self):
            self.closed = True

    fake = type(sys)("tqdm")
    fake.auto = type(sys)("tqdm.auto")
    fake.auto.tqdm = Bar
    real = {name: sys.modules.get(name) for name in ("tqdm", "tqdm.auto")}
    sys.modules |= {"tqdm": fake, "tqdm.auto": fake.auto}
    try:
        with outgrow.Loader("graph", progress=True, **OPTIONS) as loader:
            digests(loader)
            for batch in loader:
                break
        del batch
        gc.collect()
        assert [(bar.total, bar.desc, bar.n, bar.closed) for bar in Bar.made] == [(20, "epoch 1", 20, True), (20, "epoch 2", 1, True)]
        sys.modules |= {"tqdm": None, "tqdm.auto": None}
        with outgrow.Loader("graph", progress=True, **OPTIONS) as loader:
            digests(loader)
    finally:
        for name, module in real.items():
            sys.modules.pop(name) if module is None else sys.modules.__setitem__(name, module)


main(globals())
