#!/usr/bin/env python3
"""Ranks of a loader have the batches of one process, each its share, in every form. Two processes under torch.distributed train to the
losses of one that accumulates over two."""
import gc
import hashlib
import json
import multiprocessing
import os
import socket
import subprocess
import sys

from support import arrays_of_a_graph, main, need, np, outgrow, raises, same

HERE = os.path.dirname(os.path.abspath(__file__))
OPTIONS = {"fanout": [4, 3], "batch": 90, "memory": "200M", "epochs": 3, "form": "arrays"}


def loader(**more):
    return outgrow.Loader("graph", **OPTIONS | more)


def written():
    if not os.path.exists("graph"):
        outgrow.write("graph", **arrays_of_a_graph())


def epochs_of(loader, n=2):
    return [[(batch.number, batch.ids.copy(), batch.x.copy(), batch.edge_index.copy(), batch.y.copy()) for batch in loader] for _ in range(n)]


def check(ranks, whole, **more):
    shares = [epochs_of(loader(rank=r, world_size=ranks, **more)) for r in range(ranks)]
    for epoch, all_ in enumerate(whole):
        for r, share in enumerate(shares):
            assert [batch[0] for batch in share[epoch]] == [batch[0] for batch in all_[r::ranks]]
            for mine, of_one in zip(share[epoch], all_[r::ranks]):
                for a, b in zip(mine[1:], of_one[1:]):
                    same(f"rank {r} of {ranks}, batch {mine[0]}", a, b)


def test_ranks_have_the_batches_of_one_process():
    written()
    for more in {}, {"topology": "disk", "policy": "belady", "cache": "5%"}, {"sampler": "labor"}, {"seeds": np.arange(700)}:
        whole = epochs_of(loader(**more))
        for ranks in 2, 3, 5:
            check(ranks, whole, **more)


def test_length_drop_last_and_evaluation():
    written()
    n = len(loader())
    assert n == 12 and [len(loader(rank=r, world_size=5)) for r in range(5)] == [3, 3, 2, 2, 2]
    assert len(loader(drop_last=True)) == 11 and [len(loader(drop_last=True, rank=r, world_size=2)) for r in (0, 1)] == [5, 5]
    whole = epochs_of(loader())
    for r in 0, 1:
        dropped = epochs_of(loader(drop_last=True, rank=r, world_size=2))
        assert [[batch[0] for batch in epoch] for epoch in dropped] == [list(range(r, 10, 2))] * 2
        for mine, of_one in zip(dropped[1], whole[1][r::2]):
            same("ids", mine[1], of_one[1])
    evaluated = [batch.ids.copy() for batch in loader().evaluate("valid")]
    for r in range(2):
        share = [batch.ids.copy() for batch in loader(rank=r, world_size=2).evaluate("valid")]
        assert len(share) == len(evaluated[r::2]) and all(np.array_equal(a, b) for a, b in zip(share, evaluated[r::2]))


def test_states_are_of_a_rank():
    written()
    first = loader(rank=1, world_size=2)
    taken = iter(first)
    next(taken), next(taken)
    state = first.state_dict()
    rest = [batch.number for batch in taken]
    again = loader(rank=1, world_size=2)
    again.load_state_dict(state)
    assert [batch.number for batch in again] == rest == [5, 7, 9, 11]
    for other in {}, {"rank": 0, "world_size": 2}, {"rank": 1, "world_size": 3}, {"rank": 1, "world_size": 2, "drop_last": True}:
        with raises(outgrow.OptionError, "another rank", "hint: "):
            loader(**other).load_state_dict(state)


def test_what_is_refused():
    written()
    for wrong, word in ({"rank": 2, "world_size": 2}, "rank: 2, of 2"), ({"rank": -1}, "rank: -1"), ({"world_size": 0}, "world_size: 0"), \
            ({"world_size": 20}, "20 workers: an epoch has 12"), ({"world_size": 2, "exchange": True}, "exchange"), \
            ({"world_size": 2, "resample_every": 2}, "resample_every=2"), ({"drop_last": True, "batch": 5000}, "no whole mini-batch of 5000"):
        with raises(outgrow.OptionError, word, "hint: "):
            loader(**wrong)


def rank_apart(rank, more, together, results):
    """Report a rank: a checksum of its batches, its shared segments, plan and prefill."""
    it = loader(rank=rank, world_size=2, seed=3, policy="degree", **more)
    digest = hashlib.sha1()
    for _ in range(2):
        for batch in it:
            for array in batch.ids, batch.x, batch.edge_index:
                digest.update(array.tobytes())
    with open("/proc/self/maps") as f:
        segments = {line.split()[4] for line in f if "memfd:outgrow" in line}
    results.put((rank, digest.hexdigest(), segments, it.plan["memory"], it.metrics["prepare"]["prefill"]))
    together.wait()  # until all have looked


def test_ranks_of_a_machine_share_memory():
    """One topology, and one cache of all features, which one of them fills. Batches are the same."""
    written()
    context = multiprocessing.get_context("fork")

    def two(more):
        together, results = context.Barrier(2), context.SimpleQueue()
        children = [context.Process(target=rank_apart, args=(rank, more, together, results)) for rank in range(2)]
        for child in children:
            child.start()
        got = sorted((results.get() for _ in children), key=lambda of: of[0])
        for child in children:
            child.join()
            assert child.exitcode == 0
        return got
    gc.collect()  # loaders of earlier tests, whose segments children would have too
    own = two({"share": False})
    rows = len(np.load("graph/features.npy", mmap_mode="r"))
    for more in {}, {"share": "by name"}:
        shared = two(more)
        assert [of[1] for of in shared] == [of[1] for of in own] and own[0][1] != own[1][1]
        assert len(shared[0][2]) == 1 and shared[0][2] == shared[1][2] and own[0][2] == own[1][2] == set()
        for name in "topology", "feature cache":
            assert all(abs(2 * of[3][name] - own[0][3][name]) <= 1 << 12 for of in shared), name
        assert sorted(of[4] for of in shared) == [0, rows] and [of[4] for of in own] == [rows, rows]
    with raises(outgrow.OptionError, "share: 3", "hint: "):
        loader(share=3)


def test_what_is_held_out_is_part_of_a_shared_topology():
    """Loaders of one dataset that hold out other edges, open at the same time, have their own."""
    rng = np.random.default_rng(7)
    outgrow.write("sparse", edge_index=rng.integers(0, 60, (2, 240)), x=rng.random((60, 4), np.float32), y=np.zeros(60, np.int64), train=np.arange(10))
    options = {"task": "link", "fanout": [-1], "batch": 4, "form": "arrays", "rank": 0, "world_size": 2}

    def edges(seed, **more):
        with outgrow.Loader("sparse", seed=seed, **options, **more) as loader:
            return [batch.ids[batch.edge_index].copy() for batch in loader]
    with outgrow.Loader("sparse", seed=1, **options):
        for seed in range(2, 14):
            for mine, alone in zip(edges(seed), edges(seed, share=False), strict=True):
                same(f"seed {seed}", mine, alone)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def test_two_processes_train_as_one_that_accumulates():
    torch, _ = need("torch", "torch_geometric")
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        return
    written()
    script = [sys.executable, os.path.join(HERE, "../../examples/ddp_loader.py"), "graph", "--batch", "90", "--epochs", "3", "--memory", "200M"]
    env = os.environ | {"OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}

    def losses(processes):
        lines = [json.loads(line) for p in processes for line in p.communicate()[0].splitlines()]
        assert all(p.returncode == 0 for p in processes)
        return {(line["epoch"], line["rank"]): line["losses"] for line in lines}
    for ranks in 2, 3:  # of 11 whole batches two ranks have five each, three have three
        one = losses([subprocess.Popen([*script, "--accumulate", str(ranks)], stdout=subprocess.PIPE, text=True, env=env)])
        many = losses([subprocess.Popen(script, stdout=subprocess.PIPE, text=True, env=env | {"RANK": str(r), "WORLD_SIZE": str(ranks)}) for r in range(ranks)])
        for epoch in 1, 2, 3:
            for r in range(ranks):
                assert len(many[epoch, r]) == 11 // ranks and np.allclose(many[epoch, r], one[epoch, 0][r::ranks], rtol=1e-5, atol=0), (epoch, r)
        assert one[1, 0] != one[3, 0]


main(globals())
