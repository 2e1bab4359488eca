#!/usr/bin/env python3
"""Workers that own nodes and send one another rows (--exchange) are bit-identical to one process. Losses and checkpoints are the same under every policy,
whatever is trained. Hits, misses and rows that travel are as `simulate --workers` counts them; runs are stopped, killed, and resumed by another number of
workers, or without.

    rows_exchanged.py OUTGROW [MPIRUN TEST_COMM]     as workers.py
"""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import numpy as np
import workers
from workers import BASE, KINDS, OUTGROW, STEP, assert_same, leftovers, metrics, summary, train, trained

EXCHANGE = ["--exchange"]
POLICIES = [["--policy", "degree", "--cache", "5%"],
            ["--policy", "belady", "--cache", "5%", "--superbatch", "3"],
            ["--policy", "lru", "--cache", "3%"],
            ["--policy", "hybrid:window=6,update=2", "--cache", "5%", "--superbatch", "2"],
            ["--policy", "rr", "--cache", "5%", "--io", "pread"],
            ["--policy", "belady", "--cache", "4%"],
            ["--policy", "frequency", "--cache", "5%", "--topology", "disk"],
            ["--policy", "none"],
            ["--policy", "sieve", "--cache", "2%", "--pack-dtype", "f32"],
            ["--policy", "presc", "--cache", "100%"],
            ["--policy", "belady", "--cache", "5%", "--layout", "packed", "--superbatch", "3"],
            ["--policy", "sweep", "--cache", "8%"],
            ["--policy", "degree", "--cache", "4%", "--layout", "segmented", "--disk", "2M"],
            ["--policy", "sweep", "--cache", "20%", "--superbatch", "4"],
            ["--policy", "hybrid:window=6,update=2", "--cache", "4%", "--layout", "packed"],
            ["--policy", "frequency", "--cache", "5%", "--layout", "segmented", "--topology", "disk", "--io", "pread"]]

PHASED, ALONE = ["--phased-memory"], ["--pipeline", "none"]
IN_TURN = [["--policy", "belady", "--cache", "5%", "--superbatch", "3", *PHASED],
           ["--policy", "lru", "--cache", "3%", *ALONE],
           ["--policy", "degree", "--cache", "4%", "--topology", "disk", *PHASED],
           ["--policy", "belady", "--cache", "4%", "--layout", "packed", *ALONE],
           ["--policy", "hybrid:window=6,update=2", "--cache", "4%", "--layout", "packed", "--superbatch", "2", *PHASED],
           ["--policy", "degree", "--cache", "4%", *ALONE],
           ["--policy", "sweep", "--cache", "8%", "--superbatch", "4", *PHASED, *ALONE],
           ["--policy", "frequency", "--cache", "5%", "--layout", "segmented", *PHASED],
           ["--policy", "lru", "--cache", "3%", "--superbatch", "1", *PHASED]]

HANDS = [["--trainers", "2", "--threads", "2"],
         ["--executors", "1:2", "--threads", "3"],
         ["--executors", "1:0"],
         ["--trainers", "4", "--threads", "4"]]


def the_same_under_every_policy():
    """Rows are in memory that all workers of a machine read, or are sent between machines, in turn."""
    turn = 0
    apart = workers.on_machines_of_their_own()
    if apart is None:
        print("the_same_under_every_policy: all workers have memory in common here")
    for kind in ("sage with batch norm", "gat with dropout", "links", "gcn, late")[:workers.MOST]:
        trained("one", 1, KINDS[kind])
        for n in (2, 4, 2, 4)[workers.MOST or 0:]:
            move = POLICIES[turn % len(POLICIES)]
            behind = (apart or []) if turn // 2 % 2 else []
            turn += 1
            trained("many", n, KINDS[kind], move, EXCHANGE, behind=behind)
            assert_same("one", "many", (kind, n, move, behind))
            assert not leftovers("many"), leftovers("many")
            told, rows = summary("many")["workers"], sum(e["rows"] for e in summary("many")["epochs"])
            assert sum(w["rows"] for w in told) == rows == sum(e["rows"] for e in summary("one")["epochs"]), (kind, told)
            assert sum(w["rows_sent"] for w in told) == sum(w["rows_received"] for w in told) > rows * (n - 1) / n * 0.9, (kind, told)


def planned(graph, n, *lists):
    done = subprocess.run([OUTGROW, "plan", graph, "--workers", str(n), *EXCHANGE, *BASE, *(word for words in lists for word in words), "--json"],
                          capture_output=True, text=True)
    assert done.returncode == 0, (lists, done.stderr)
    return json.loads(done.stdout)


def smallest(graph, n, *lists):
    """MiB of the least --memory."""
    done = train("refused", n, *lists, EXCHANGE, ["--memory", "1M"], graph=graph)
    assert done.returncode == 1, done.stderr
    return int(done.stderr.split("smallest that would do is --memory ")[1].split("M")[0])


def in_phases_and_without_overlap():
    """Phased memory and --pipeline none: bit-identical to one process, and as planned."""
    apart = workers.on_machines_of_their_own()
    kinds = ("sage with batch norm", "gat with dropout", "links")
    for turn, move in list(enumerate(IN_TURN))[::STEP]:
        kind, n = kinds[turn % 3], (2, 4)[turn % 2]
        trained("one", 1, KINDS[kind])
        trained("many", n, KINDS[kind], move, EXCHANGE, behind=(apart or []) if turn // 2 % 2 else [])
        assert_same("one", "many", (kind, n, move))
        assert not leftovers("many"), leftovers("many")
        plan, did = summary("many")["plan"], summary("many")["epochs"][0]
        assert plan["phased_memory"] == ("--phased-memory" in move) and plan["superbatch"] >= plan["phased_memory"], plan
        told = planned("graph", n, KINDS[kind], move)["exchange"]["workers"]
        for key in ("rows", "hits", "misses", "feature_bytes_read")[:3 if "segmented" in move else 4]:
            assert sum(w[key] for w in told) == did[key], (key, move, told, did)
    for policy in ("belady", "degree", "lru", "sweep")[::STEP]:  # in so little memory that slots are released and taken back
        way = ["--accumulate", "2", "--batch", "500", "--epochs", "1", "--policy", policy, "--superbatch", "2", "--eval-every", "0", *PHASED]
        memory = ["--memory", f"{smallest('wide', 2, way) + 4}M"]
        trained("one", 1, way, graph="wide")
        trained("many", 2, way, memory, EXCHANGE, graph="wide")
        assert_same("one", "many", ("tight", policy))
        plan, did = planned("wide", 2, way, memory), summary("many")
        assert 0 < plan["lent_rows"] <= plan["cache_rows"] and did["workers"][0]["batches"] == 4, plan
        assert all(w["peak_rss_bytes"] <= did["memory_budget_bytes"] for w in did["workers"]), (policy, did["workers"], did["memory_budget_bytes"])
        for key in ("rows", "hits", "misses", "rows_sent", "rows_received"):  # the other has slots by its own requests
            assert plan["exchange"]["workers"][0][key] == did["workers"][0][key], (policy, key, plan["exchange"], did["workers"])


def several_mini_batches_at_a_time():
    """Each worker has trainers or executors. All workers begin and take in their rounds in one order, whoever is ready."""
    turn = 0
    for kind in ("sage with batch norm", "gcn, late", "gat with dropout", "links with a perceptron, late")[::STEP]:
        trained("one", 1, KINDS[kind])
        for n in (2, 4):
            move = POLICIES[(5 * turn + 1) % len(POLICIES)]
            trained("plain", n, KINDS[kind], move, EXCHANGE)
            for hands in HANDS[turn % 2::2]:
                trained("many", n, KINDS[kind], move, EXCHANGE, hands)
                assert_same("one", "many", (kind, n, move, hands))
                for key in ("rows", "hits", "misses", "rows_exchanged", "feature_bytes_read"):
                    assert [e[key] for e in summary("many")["epochs"]] == [e[key] for e in summary("plain")["epochs"]], (kind, n, move, hands, key)
            turn += 1
    words = KINDS["gcn, late"]
    trained("whole", 1, words)
    for first, second, hands in ((2, 4, HANDS[3]), (4, 1, HANDS[0]), (2, 2, HANDS[1])):
        for _ in range(20):
            shutil.rmtree("cut", ignore_errors=True)
            if workers.stop_after("cut", first, 7, words, POLICIES[1], hands, EXCHANGE):
                break
        done = train("cut", second, words, POLICIES[2], HANDS[0], EXCHANGE, ["--resume"])
        assert done.returncode == 0, done.stderr
        assert_same("whole", "cut", (first, second, hands))
    words = ["graph", *words, *POLICIES[1], *EXCHANGE, "--run", "uneven"]  # one that has fewer trainers than the other
    shutil.rmtree("uneven", ignore_errors=True)
    told = workers.by_hand([*words, "--trainers", "4", "--threads", "4"], [*words, "--trainers", "1"])
    assert [status for _, status in told] == [0, 0], told
    assert_same("whole", "uneven", "uneven")


def figures_are_those_of_simulate():
    words = ["--epochs", "3", "--eval-every", "0", "--model", "sage", "--accumulate", "4"]
    policies = ["degree", "belady", "lru", "rr", "hybrid", "presc", "frequency", "clock", "sweep"][::STEP]
    row_bytes = 20 * 4
    for n in (2, 4):
        options = [*BASE[:-2], *words[:2]]
        done = subprocess.run([OUTGROW, "simulate", "graph", "--workers", str(n), "--policy", ",".join(policies), "--cache", "4%", "--json", "-",
                               *options], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        for one in told["results"]:
            trained("many", n, words, ["--policy", one["policy"], "--cache", "4%", "--superbatch", "all"], EXCHANGE)
            epochs = summary("many")["epochs"]
            sums = {key: sum(e[key] for e in epochs) for key in ("rows", "hits", "misses", "rows_exchanged", "prefill")}
            shared = one["exchanged"]
            for key in ("hits", "misses"):
                assert sums[key] == shared[key], (n, one["policy"], key, sums, shared)
            assert sums["rows_exchanged"] == told["rows_exchanged"], (n, one["policy"], sums, told["rows_exchanged"])
            assert sums["rows_exchanged"] * (row_bytes + 4) == told["exchanged_bytes"], (sums, told["exchanged_bytes"])
            assert sum(e["exchanged_bytes"] for e in epochs) > told["exchanged_bytes"]  # and lists' lengths, gradients, meetings


def a_plan_tells_what_a_run_does():
    """Before training: rows, hits, misses and bytes of the first epoch, of each owner and of all."""
    words = ["--accumulate", "4", "--epochs", "2"]
    ways = [(way, more) for way in POLICIES for more in ([], ["--superbatch", "3"])[:1 if "--superbatch" in way else 2]]
    ways.insert(11, (["--policy", "belady", "--cache", "4%"], ["--superbatch", "1"]))  # in which a worker of four may have no batch
    for turn, (way, more) in list(enumerate(ways))[::STEP]:
        n = (2, 4)[turn % 2]
        options = [*words, *way, *more, *(["--eval-every", "0"] if turn % 3 == 2 else [])]
        done = subprocess.run([OUTGROW, "plan", "graph", "--workers", str(n), *EXCHANGE, *BASE, *options, "--json"], capture_output=True, text=True)
        assert done.returncode == 0, (options, done.stderr)
        plan = json.loads(done.stdout)
        told, first = plan["exchange"], plan["predicted"]
        trained("many", n, options, EXCHANGE)
        parts = [plan["memory"], summary("many")["plan"]["memory"]]
        assert parts[0]["exchange"] == parts[1]["exchange"] > 0, (options, parts)
        epoch = summary("many")["epochs"][0]
        untold = ("reads", "feature_bytes_read") if "segmented" in way else ()  # they depend on what --disk has left
        assert all(told["workers"][0][key] is None for key in untold), told
        sums = {key: sum(w[key] for w in told["workers"]) for key in told["workers"][0] if key not in ("rank", *untold)}
        why = (n, options, told, epoch)
        for key in {"rows", "hits", "misses", "feature_bytes_read"}.difference(untold):
            assert sums[key] == epoch[key], (key, *why)
        assert told["rows_exchanged"] == epoch["rows_exchanged"] == sums["rows_sent"] == sums["rows_received"], why
        looks_ahead = way[1] in ("belady", "hybrid:window=6,update=2", "frequency", "sweep") or "--layout" in way
        if looks_ahead and turn % 3 == 2:  # else there are those of superbatches that begin in validation
            assert sums["prefill"] == epoch["prefill"] > 0 or way[1].startswith("hybrid"), why
        if untold:
            assert first is None, first
            continue
        assert first["rows"] == told["workers"][0]["rows"] and first["hits"] == told["workers"][0]["hits"], (first, why)
        assert first["feature_bytes_read"] == told["workers"][0]["feature_bytes_read"] and first["seconds"] > 0, (first, why)
        trained("one epoch", n, ["--epochs", "1"], options[:2], options[4:], EXCHANGE)
        for w, did in zip(told["workers"], summary("one epoch")["workers"]):
            if looks_ahead:  # of two epochs a superbatch may see more
                break
            assert [w[key] for key in ("rank", "rows", "hits", "misses", "rows_sent", "rows_received")] == \
                   [did[key] for key in ("rank", "rows", "hits", "misses", "rows_sent", "rows_received")], (w, did, why)


def a_plan_tells_executors_that_do_not_switch():
    """With --exchange the schedule decides who trains. A worker trains only its own mini-batches of a step."""
    def told(*words):
        done = subprocess.run([OUTGROW, "plan", "graph", *BASE[:-4], "--threads", "3", *words, "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["executors"]
    four = ["--accumulate", "4", "--staleness", "1"]
    for split, standby in (("1:2", 0), ("1:0", 1), ("2:0", 1)):
        e = told("--workers", "2", *EXCHANGE, *four, "--executors", split)
        assert e["standby"] == standby, (split, e)
        assert (e["switched"] == 0 and e["seconds"] == e["seconds_without_switching"] > 0) == (standby == 0), (split, e)
    assert told("--workers", "2", *four, "--executors", "1:2")["standby"] == 1
    # a step of one mini-batch each: one trainer at a time, however many a step has in all
    slow = told("--workers", "4", "--accumulate", "4", "--executors", "1:2")
    batches = -(-10 // 4)
    assert slow["trainers"] == 1 and slow["seconds"] > batches * slow["train_seconds_each"], slow


def stopped_and_gone_on_with():
    stopped = 0
    words = KINDS["sage with batch norm"]
    trained("whole", 1, words)
    for first, second, after, move in ((2, 4, 5, POLICIES[0]), (4, 1, 9, POLICIES[1]), (4, 2, 13, POLICIES[3])):
        for _ in range(20):
            shutil.rmtree("cut", ignore_errors=True)
            if workers.stop_after("cut", first, after, words, move, EXCHANGE):
                stopped += 1
                break
        done = train("cut", second, words, POLICIES[2], EXCHANGE, ["--resume"])
        assert done.returncode == 0, done.stderr
        assert_same("whole", "cut", (first, second, after, move))
    assert stopped >= 2, stopped


def one_that_is_killed_ends_all():
    for move in POLICIES[:2]:
        words = ["--accumulate", "4", "--epochs", "200", *move, *EXCHANGE]
        shutil.rmtree("dead", ignore_errors=True)
        job = workers.begin("dead", 4, words)
        workers.wait_for(job, "dead", 12)
        ranks = workers.workers_of(job)
        assert len(ranks) == 4, ranks
        os.kill(ranks[1], signal.SIGKILL)
        _, said = job.communicate(timeout=workers.PATIENCE)
        assert job.returncode == 1 and "worker 1 was ended by signal 9 (SIGKILL)" in said, (job.returncode, said)
        assert workers.have_ended(ranks.values())
        epochs = ["--accumulate", "4", "--epochs", str(metrics("dead")[-1][0] + 1)]
        done = train("dead", 2, epochs, ["--resume"], EXCHANGE, POLICIES[4])
        assert done.returncode == 0 and not leftovers("dead"), (done.stderr, leftovers("dead"))
        trained("whole", 1, epochs)
        assert_same("whole", "dead", ("killed", move))


def what_it_does_not_take_is_refused():
    for words, says in ((["--batch", "600"], "an epoch has 1 mini-batches"), (["--device", "virtual", "--device-memory", "8M"], "--device-memory: rows")):
        done = train("refused", 2, words, EXCHANGE)
        assert done.returncode == 1 and done.stderr.count(says) == 1 and done.stderr.count("hint:") == 1, (words, done.stderr)
        assert not os.path.exists("refused")
        plan = subprocess.run([OUTGROW, "plan", "graph", "--workers", "2", *BASE[:-2], *words, *EXCHANGE], capture_output=True, text=True)
        assert plan.returncode == 1 and says in plan.stderr, (words, plan.stderr)
    done = train("refused", 2, ["--memory", "1M"], EXCHANGE)
    assert done.returncode == 1 and "smallest that would do" in done.stderr, done.stderr
    smallest = done.stderr.split("smallest that would do is --memory ")[1].split("M")[0]
    trained("least", 2, ["--memory", f"{smallest}M"], EXCHANGE)
    alone = trained("alone", 1, EXCHANGE)
    assert "--exchange has no effect" in alone.stderr, alone.stderr


def each_machine_has_its_rows():
    """Folders for two workers, who read features of those alone."""
    for part in (0, 1):
        shutil.rmtree(f"part-{part}", ignore_errors=True)
        subprocess.run([OUTGROW, "stripe", "graph", f"part-{part}", "--parts", "2", "--part", str(part), "--quiet"], check=True)
    size = [os.path.getsize(f"{folder}/features.npy") for folder in ("graph", "part-0", "part-1")]
    assert size[1] == size[2] == 4096 + (size[0] - 4096) // 2, size
    same = ["--accumulate", "2", "--exchange", "--cache", "5%"]
    for move in (["--policy", "degree"], ["--policy", "belady", "--superbatch", "4"], ["--policy", "belady", "--layout", "packed"],
                 ["--policy", "sweep", "--cache", "10%"]):
        trained("one", 1, same[:2], move)
        shutil.rmtree("apart", ignore_errors=True)
        told = workers.by_hand(*(["part-%d" % rank, "--run", "apart", *same, *move] for rank in (0, 1)))
        assert [status for _, status in told] == [0, 0], told
        assert_same("one", "apart", ("parts", move))
    told = workers.by_hand(*(["part-%d" % rank, "--run", "links", "--task", "link", *same] for rank in (0, 1)))
    assert [status for _, status in told] == [1, 1] and "does not hold edges out" in told[0][0], told
    for words, says in ((["train", "part-0", "--epochs", "1"], "alone"), (["export", "npy", "part-0", "out"], "alone"),
                        (["train", "part-0", "--epochs", "1", "--batch", "60", "--workers", "2", "--exchange"], "this is worker 1"),
                        (["stripe", "graph", "more", "--parts", "2", "--part", "2"], "part 2 of 2"),
                        (["stripe", "graph", "more", "--parts", "2"], "are required together")):
        done = subprocess.run([OUTGROW, *words], capture_output=True, text=True)
        assert done.returncode in (1, 2) and says in done.stdout + done.stderr, (words, done.stdout, done.stderr)
        assert not os.path.exists("more") and not os.path.exists("out")


def rows_that_stay_are_not_copied():
    """No memory is planned for copies of rows that others read in the cache. It has to have all of a worker's own rows."""
    def exchange(*way):
        done = subprocess.run([OUTGROW, "plan", "graph", "--workers", "2", *EXCHANGE, *BASE, "--accumulate", "2", "--layout", "raw", *way, "--json"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        plan = json.loads(done.stdout)
        return plan["memory"]["exchange"], plan["memory"]["staging"], sum(w["misses"] for w in plan["exchange"]["workers"])
    copied, staged, misses = zip(*(exchange("--policy", *way) for way in (["lru"], ["degree", "--cache", "4%"], ["degree"])))
    assert misses[1] > misses[2] == 0 and staged[1] > staged[2], (staged, misses)
    assert copied[0] > copied[1] > copied[2], copied
    assert copied[1] - copied[2] == 2 * (staged[1] - staged[2]), (copied, staged)


def one_that_sees_less():
    """A plan's figures are a run's also where spilled bytes leave no room for a policy's whole lookahead."""
    words = ["--accumulate", "4", "--epochs", "2", "--eval-every", "0", "--policy", "hybrid:window=24,update=2", "--cache", "15%", "--superbatch", "2",
             "--batch", "15", "--disk", "200K"]
    done = subprocess.run([OUTGROW, "plan", "graph", "--workers", "2", *EXCHANGE, *BASE, *words, "--json"], capture_output=True, text=True)
    assert done.returncode == 0 and "looks ahead after a superbatch" in done.stderr, done.stderr
    told = json.loads(done.stdout)
    assert 0 < told["tail"] < 12, told["tail"]
    trained("many", 2, words, EXCHANGE)
    epoch = summary("many")["epochs"][0]
    for key in ("rows", "hits", "misses", "feature_bytes_read", "prefill"):
        assert sum(w[key] for w in told["exchange"]["workers"]) == epoch[key], (key, told, epoch)


def one_with_less_memory_has_its_structure_on_disk():
    """A machine of its own, as it seems: the first's choice holds, except the topology's place."""
    if os.geteuid() != 0 or not shutil.which("unshare"):
        print("one_with_less_memory_has_its_structure_on_disk: needs root and unshare")
        return
    with open("boot", "w") as file:
        file.write("another machine, as its workers take it\n")
    apart = ["unshare", "--mount", "sh", "-c", f'mount --bind {os.path.abspath("boot")} /proc/sys/kernel/random/boot_id && exec "$@"', "sh"]
    if subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
        print("one_with_less_memory_has_its_structure_on_disk: no mounts here")
        return
    subprocess.run([OUTGROW, "generate", "lists", "--nodes", "40000", "--degree", "300", "--dim", "4", "--classes", "5", "--train-fraction", "0.02",
                    "--threads", "1", "--quiet"], check=True)
    same = ["--accumulate", "2", "--epochs", "1"]
    trained("one", 1, same, graph="lists")
    words = ["lists", "--run", "apart", *same, *EXCHANGE]
    shutil.rmtree("apart", ignore_errors=True)
    said = workers.by_hand(words, [*words, "--memory", "2M", "--topology", "memory"], apart=apart)[1][0]
    least = int(said.split("smallest that would do is --memory ")[1].split("M")[0])
    told = workers.by_hand(words, [*words, "--memory", f"{least - 8}M"], apart=apart)
    assert [status for _, status in told] == [0, 0], told
    assert_same("one", "apart", "less memory")
    with open("apart/worker-1.log") as log:
        assert "disk" in log.read()


def what_is_left_open_the_first_worker_chooses():
    """Choice by the requests to an owner of nodes. The others do the same, or one that looks ahead would not meet one that does not."""
    # no room for all rows, so that there is a choice
    subprocess.run([OUTGROW, "generate", "wide", "--nodes", "20000", "--degree", "8", "--dim", "500", "--train-fraction", "0.2", "--threads", "1",
                    "--quiet"], check=True)
    same = ["--fanout", "5,5", "--batch", "100", "--accumulate", "2", "--epochs", "1", "--eval-every", "0"]
    limit = ["--cache", "10%"]
    trained("one", 1, same, graph="wide")
    trained("open", 2, same, limit, EXCHANGE, graph="wide")
    assert_same("one", "open", "--policy auto")
    plan = summary("open")["plan"]
    compared = [c for c in plan["candidates"] if c["possible"]]
    assert len(compared) >= 3 and plan["policy"] == compared[0]["policy"], plan
    assert {c["phased_memory"] for c in compared} == {False, True} and "sweep" in {c["policy"] for c in compared}, compared
    trained("given", 2, same, ["--layout", "packed"], EXCHANGE, graph="wide")
    assert_same("one", "given", "--policy auto --layout packed")
    assert summary("given")["plan"]["layout"] == "packed"
    told = json.loads(subprocess.run([OUTGROW, "plan", "wide", *BASE[:-2], *same, *limit, "--layout", "raw", "--workers", "2", *EXCHANGE, "--json"],
                                     capture_output=True, text=True, check=True).stdout)
    taken = [c for c in told["candidates"] if c["possible"] and all(c[key] == told[key] for key in ("policy", "phased_memory"))]
    owner = told["exchange"]["workers"][0]
    assert len(taken) == 1, told["candidates"]  # counted over two rounds of the profiling batches: near what the epoch is
    assert 0.5 < taken[0]["bytes_read"] / max(owner["feature_bytes_read"], 1) < 2, (taken, owner)
    plain = ["--accumulate", "2", "--eval-every", "0"]
    trained("plain", 1, plain, graph="wide")
    words = ["wide", *plain, *limit, *EXCHANGE, "--run", "follows"]
    for policy in ("belady", "degree", "frequency"):
        shutil.rmtree("follows", ignore_errors=True)
        told = workers.by_hand([*words, "--policy", policy], [*words, *(["--preset", "auto"] if policy == "belady" else [])])
        assert [status for _, status in told] == [0, 0], (policy, told)
        assert_same("plain", "follows", ("follows", policy))
    shutil.rmtree("follows", ignore_errors=True)
    words += ["--cache", "2%"]
    told = workers.by_hand([*words, "--policy", "degree", "--layout", "packed"], [*words, "--disk", "1M"])
    assert [status for _, status in told] == [0, 0], told
    assert_same("plain", "follows", "follows the layout")
    with open("follows/worker-1.log") as log:  # as with a layout that it chose
        assert "--disk has room for what" in log.read()


def counted_of_told(graph, n, *words):
    """The ratio of counted to planned bytes read, for policies that worker 0 compares. It counts over the profiling rounds; a plan of the whole epoch has the
    bytes that it reads as an owner."""
    same = ["--fanout", "5,5", "--hidden", "12", "--epochs", "2", "--threads", "1", "--eval-every", "0", "--memory", "1200M", "--accumulate",
            str(n), "--workers", str(n), *EXCHANGE, "--layout", "raw", *words, "--json"]

    def plan(*way):
        done = subprocess.run([OUTGROW, "plan", graph, *same, *way], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    compared = {c["policy"]: c["bytes_read"] for c in plan()["candidates"] if c["possible"] and not c["phased_memory"]}
    return {policy: compared[policy] / plan("--policy", policy)["exchange"]["workers"][0]["feature_bytes_read"] for policy in ("degree", "belady")}


def what_is_compared_is_what_an_owner_reads():
    for n in (4, 12, 20)[::STEP]:  # a round has more than eight profiling batches
        told = counted_of_told("wide", n, "--cache", "1%", "--batch", "25")
        assert all(0.8 < ratio < 1.3 for ratio in told.values()), (n, told)
    subprocess.run([OUTGROW, "generate", "slim", "--nodes", "20000", "--degree", "8", "--dim", "60", "--train-fraction", "0.2", "--threads", "1",
                    "--quiet"], check=True)
    subprocess.run([OUTGROW, "stripe", "slim", "slim-0", "--parts", "2", "--part", "0", "--quiet"], check=True)
    told = counted_of_told("slim-0", 2, "--cache", "10%", "--batch", "100")  # rows lie densely there
    assert 0.9 < told["degree"] < 1.1, told


def an_owner_of_all_that_is_asked_for():
    """Nodes of one kind have all the edges, and one worker owns them. Its requests are in the budget, or refused before training."""
    n, most = 30000, 4
    random = np.random.default_rng(1)
    os.makedirs("source", exist_ok=True)
    edges = np.stack([random.integers(0, n // most, n * 10) * most, random.integers(0, n, n * 10)])
    arrays = {"edges": edges, "feat": random.standard_normal((n, 256), dtype=np.float32), "label": random.integers(0, 4, n),
              "train": np.arange(0, n, 5), "valid": np.arange(1, n, 50), "test": np.arange(2, n, 50)}
    for name, array in arrays.items():
        np.save(f"source/{name}.npy", array)
    subprocess.run([OUTGROW, "import", "source", "kinds", "--quiet"], check=True)
    same = ["--fanout", "10,10", "--batch", "500", "--accumulate", "4", "--epochs", "1"]
    trained("one", 1, same, graph="kinds")
    for move in (["--policy", "degree", "--cache", "2%"], ["--policy", "belady", "--cache", "2%", "--superbatch", "3"], ["--policy", "none"]):
        memory, refusals = "16M", 0
        while True:
            shutil.rmtree("least", ignore_errors=True)
            done = train("least", most, same, move, EXCHANGE, ["--memory", memory], graph="kinds")
            if done.returncode == 0:
                break
            refusals += 1
            assert "--memory " in done.stderr.split("hint: ")[1] and not os.path.exists("least") and refusals < 5, (move, memory, done.stderr)
            memory = done.stderr.split("hint: ")[1].split("--memory ")[1].split()[0].strip(",;")
        assert refusals > 0
        assert_same("one", "least", ("kinds", move, memory))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder
        subprocess.run([OUTGROW, "generate", "graph", "--nodes", "3000", "--degree", "8", "--dim", "20", "--classes", "5",
                        "--train-fraction", "0.2", "--threads", "1", "--quiet"], check=True)
        tests = (the_same_under_every_policy, several_mini_batches_at_a_time, figures_are_those_of_simulate, a_plan_tells_what_a_run_does, a_plan_tells_executors_that_do_not_switch, stopped_and_gone_on_with, one_that_is_killed_ends_all,
                     each_machine_has_its_rows, what_is_left_open_the_first_worker_chooses,
                     in_phases_and_without_overlap, what_is_compared_is_what_an_owner_reads, rows_that_stay_are_not_copied, one_that_sees_less, one_with_less_memory_has_its_structure_on_disk, an_owner_of_all_that_is_asked_for, what_it_does_not_take_is_refused)
        for test in tests[:1] if workers.MPIRUN else tests:
            began = time.monotonic()
            test()
            print(f"{test.__name__}: {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
