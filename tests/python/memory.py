#!/usr/bin/env python3
"""Ten thousand batches, held and dropped in random order by four threads. Nothing is lost, nothing is freed twice."""
import gc
import os
import random
import sys
import threading

from support import arrays_of_a_graph, main, np, outgrow

BATCHES, THREADS, HELD = 10000, 4, 12
MOST = 64 << 20 if "asan" in os.environ.get("LD_PRELOAD", "") else 12 << 20  # the sanitizer keeps what was freed for a while


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def consumers():
    """Functions from an array of a batch to something that keeps its memory."""
    yield np.asarray
    yield memoryview
    yield lambda a: a
    yield lambda a: a.__dlpack__()  # a capsule that nobody consumes
    yield lambda a: a.__dlpack__(max_version=(1, 0))
    try:
        import torch
        yield torch.from_dlpack
    except ImportError:
        pass


def keep_and_drop(loader, lock, seed, n, failed):
    chance, kept, ways = random.Random(seed), [], list(consumers())
    try:
        for _ in range(n):
            with lock:
                batch = loader.next()
                if batch is None:
                    loader.start(1)
                    batch = loader.next()
            kept.append([chance.choice(ways)(getattr(batch, name)) for name in ("ids", "x", "y", "edge_index") if chance.random() < 0.7])
            if chance.random() < 0.3:
                kept.append(batch.hops)
            del batch
            while len(kept) > chance.randrange(HELD // 2):
                kept.pop(chance.randrange(len(kept)))
    except BaseException as error:
        failed.append(error)


def batches(loader, n):
    lock, failed = threading.Lock(), []
    threads = [threading.Thread(target=keep_and_drop, args=(loader, lock, seed, n // THREADS, failed)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


def test_ten_thousand_batches():
    outgrow.write("graph", **arrays_of_a_graph())
    loader = outgrow.Loader("graph", fanout=[4, 3], batch=20, max_held=THREADS * HELD, form="arrays", policy="degree", cache="50%")
    native = loader._native
    native.start(1)
    batches(native, BATCHES // 10)
    gc.collect()
    before, objects, references = resident(), len(gc.get_objects()), sys.getrefcount(type(native))
    batches(native, BATCHES)
    gc.collect()
    grown = resident() - before
    print(f"  grew by {grown >> 10} KiB")
    assert grown < MOST, grown
    assert len(gc.get_objects()) - objects < 50 and abs(sys.getrefcount(type(native)) - references) < 5
    # every batch has come back: all that there is room for can be kept again
    native.start(1)
    kept = [native.next() for _ in range(THREADS * HELD)]
    assert all(kept)


def test_types_are_counted():
    """Objects of heap types hold a reference to their type."""
    loader = outgrow.Loader("graph", fanout=[4], batch=20, form="arrays")
    loader._native.start(1)
    batch = loader._native.next()
    array, watch = batch.x, loader._watch
    for kind, make in (type(array), lambda: batch.x), (type(batch), loader._native.next), (type(watch), outgrow._outgrow.Watch):
        before = sys.getrefcount(kind)
        made = make()
        assert sys.getrefcount(kind) == before + 1, kind
        del made
        assert sys.getrefcount(kind) == before, kind


def test_loaders_come_and_go():
    def once():
        with outgrow.Loader("graph", fanout=[4], batch=100, form="arrays") as loader:
            for _ in loader:
                break

    for _ in range(5):
        once()
    gc.collect()
    before = resident()
    for _ in range(50):
        once()
    gc.collect()
    grown = resident() - before
    print(f"  grew by {grown >> 10} KiB")
    assert grown < 2 * MOST, grown


main(globals())
