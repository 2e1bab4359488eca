#!/usr/bin/env python3
"""Workers against one process: losses and checkpoints are bit-identical for any number, whatever moves the bytes. That holds for all that can be trained. Runs
are stopped and resumed by another number; a killed worker ends the job at once and leaves nothing half-written.

    workers.py OUTGROW [MPIRUN TEST_COMM]     MPIRUN: started by it, in the place of --workers
"""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

OUTGROW, MPIRUN, TEST_COMM = (*sys.argv[1:], None, None)[:3]
PATIENCE = 500  # seconds after which something hangs; nothing else is measured in seconds
BASE = ["--fanout", "4,4", "--batch", "60", "--epochs", "2", "--hidden", "12", "--memory", "400M", "--threads", "1", "--log-every", "1"]

STEP = int(os.environ.get("OG_WAYS_STEP", 1))  # one in so many of the repetitions, for builds that are slow and look at something else
MOST = 1 if MPIRUN and "CI" not in os.environ else None  # mpirun takes a second to begin, and five to see that one has failed
KINDS = {
    "sage with batch norm": ["--model", "sage", "--norm", "batch", "--accumulate", "4"],
    "gcn, late": ["--model", "gcn", "--accumulate", "4", "--staleness", "3", "--batch", "72"],  # the last step has one
    "gat with dropout": ["--model", "gat", "--heads", "2", "--attention-dropout", "0.3", "--accumulate", "8", "--optimizer", "sgd"],
    "gatv2 with residuals": ["--model", "gatv2", "--heads", "2", "--residual", "--norm", "batch", "--accumulate", "4"],
    "links": ["--task", "link", "--accumulate", "4", "--batch", "400", "--epochs", "1"],
    "links with a perceptron, late": ["--task", "link", "--decoder", "mlp", "--accumulate", "4", "--staleness", "1", "--batch", "300",
                                      "--epochs", "1"],
}
MOVES = [
    ["--policy", "degree", "--cache", "10%"],
    ["--policy", "belady", "--cache", "10%", "--superbatch", "3"],
    ["--policy", "sweep", "--cache", "20%", "--topology", "disk"],
    ["--policy", "belady", "--cache", "10%", "--layout", "packed"],
    ["--trainers", "2", "--threads", "2"],
    ["--executors", "1:2"],
]


def on_machines_of_their_own():
    """Words before a command whose workers each take their machine for another. Then they share no memory. None where this is not possible."""
    # what a machine is known by since it was started is a new number whenever it is read
    words = ["unshare", "--mount", "sh", "-c", 'mount --bind /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id && exec "$@"', "sh"]
    there = os.geteuid() == 0 and shutil.which("unshare") and subprocess.run([*words, "true"], capture_output=True).returncode == 0
    return words if there else None


def by_mpi(n, *words):
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return [MPIRUN, "--oversubscribe", *root, "-n", str(n), *words]


def command(n, args):
    if MPIRUN:
        return by_mpi(n, OUTGROW, *args)
    return [OUTGROW, *args, *(["--workers", str(n)] if n > 1 else [])]


def train(run, n, *lists, graph="graph", behind=()):
    args = ["train", graph, "--run", run, *BASE, *(word for words in lists for word in words)]
    return subprocess.run([*behind, *command(n, args)], capture_output=True, text=True, timeout=PATIENCE)


def trained(run, n, *lists, **how):
    shutil.rmtree(run, ignore_errors=True)
    done = train(run, n, *lists, **how)
    assert done.returncode == 0, (run, n, lists, done.stderr)
    return done


def summary(run):
    return json.loads(pathlib.Path(run, "summary.json").read_text())


def metrics(run):
    lines = [json.loads(line) for line in pathlib.Path(run, "metrics.jsonl").read_text().splitlines()]
    return [(x["epoch"], x.get("batch"), x["loss"], x.get("valid_acc")) for x in lines]


def assert_same(a, b, why):
    for name in ("checkpoint.safetensors", "best.safetensors"):
        x, y = (pathlib.Path(run, name) for run in (a, b))
        assert x.exists() == y.exists(), (why, name)
        assert not x.exists() or x.read_bytes() == y.read_bytes(), (why, name)
    assert metrics(a) == metrics(b), (why, [p for p in zip(metrics(a), metrics(b)) if p[0] != p[1]][:3])
    for key in ("best_epoch", "valid_acc", "test_acc", "valid_metrics", "test_metrics"):
        assert summary(a)[key] == summary(b)[key], (why, key)


def leftovers(run):
    """What a run leaves that is no file of a run's."""
    known = r"(summary\.json|plan\.json|config\.yaml|metrics\.jsonl|(checkpoint|best|resume)\.safetensors|worker-\d+\.log)"
    return [name for name in os.listdir(run) if not re.fullmatch(known, name)]


def the_same_for_any_number():
    turn = 0
    for kind, words in list(KINDS.items())[:MOST]:
        trained("one", 1, words)
        for n in (2,) if MPIRUN and turn > 1 else (2, 4) if STEP == 1 or turn == 0 else (2, 4)[turn % 2:][:1]:
            move = MOVES[turn % len(MOVES)]
            turn += 1
            trained("many", n, words, move)
            assert_same("one", "many", (kind, n, move))
            assert not leftovers("many"), leftovers("many")


def each_has_a_device():
    """To the bytes of one device: with a cache on it, and without. What tiers served adds up to all workers' rows."""
    kept = ["--device-memory", "528K", "--cache", "5%", "--device-policy"]  # a fourth of the rows
    sage = ["--model", "sage", "--accumulate", "2", "--eval-every", "1"]
    trained("one", 1, sage, ["--device", "virtual"])
    for n, device, words in [(2, "virtual", []), (2, "virtual:2", []), (2, "virtual:2", [*kept, "lru", "--policy", "degree"]),
                             (2, "virtual", [*kept, "belady", "--policy", "belady", "--layout", "packed"])][:1 if MPIRUN else None]:
        trained("many", n, sage, ["--device", device], words)
        assert_same("one", "many", (n, device, words))
        assert summary("many")["gradients"] == "devices" and summary("one")["gradients"] is None
        for epoch in summary("many")["epochs"]:
            if words:
                parts = [epoch[k] for k in ("device_hits", "host_hits", "victim_hits", "misses")]
                assert sum(parts) == epoch["rows"] and parts[0] > 0 and parts[1] > 0 and parts[3] > 0, (words, parts, epoch["rows"])
                assert parts[0] + parts[1] + parts[2] == epoch["hits"], (words, parts, epoch["hits"])
    done = train("refused", 2, sage, ["--device", "virtual", "--exchange", *kept, "lru"])
    assert done.returncode == 1 and "cannot be exchanged" in done.stderr, (done.returncode, done.stderr)
    assert not pathlib.Path("refused").exists()


def figures_of_devices_are_those_of_simulate():
    """Each worker's caches by themselves, added up; the first has a batch more than the second."""
    small = ["--batch", "70"]  # nine of them
    keys = ("rows", "hits", "device_hits", "host_hits", "victim_hits", "misses", "demoted", "victim_pushed", "victim_dropped", "link_bytes", "link_bytes_back")
    for n, above, below, more in [(2, "degree", "degree", []), (2, "lru", "clock", []), (2, "belady", "belady", ["--superbatch", "3"]),
                                  (4, "hybrid:window=4", "belady", ["--victim", "pvp:depth=20"])][:1 if MPIRUN else None]:
        told = [*small, "--cache", "4%", "--policy", below, "--device-policy", above, *more]
        trained("many", n, ["--model", "sage", "--accumulate", str(n), "--eval-every", "0", "--device", "virtual:2", "--device-memory", "528K"], told)
        device = summary("many")["plan"]["device"]
        done = subprocess.run([OUTGROW, "simulate", "graph", *BASE[:6], *BASE[8:10], *told, "--device", "virtual:2", "--accumulate", str(n), "--device-memory", str(device["cache_rows"] * device["row_bytes"]),
                               "--workers", str(n), "--json", "-"], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        root = json.loads(done.stdout)
        assert root["workers"] == n and "rows_exchanged" not in root and "exchanged" not in root["results"][0], root
        counted = {k: root["results"][0][k] for k in keys}
        ran = {k: sum(e[k] for e in summary("many")["epochs"]) for k in keys}
        assert ran == counted and ran["device_hits"] > 0 and ran["misses"] > 0, (n, above, below, device["cache_rows"], ran, counted)
        assert root["results"][0]["peer_hits"] == 0, root


def what_a_summary_tells():
    trained("one", 1, ["--accumulate", "2"])
    done = trained("two", 2)  # --accumulate is 2 then
    assert_same("one", "two", "--accumulate not given")
    one, two = summary("one"), summary("two")
    assert two["config"]["accumulate"] == 2 and two["config"]["workers"] == 2 and one["workers"] is None
    workers = two["workers"]
    assert two["gradients"] == "hosts" and "through the hosts" not in done.stderr
    assert [w["rank"] for w in workers] == [0, 1] and all(w["host"] for w in workers)
    for a, b in zip(one["epochs"], two["epochs"]):
        assert a["rows"] == b["rows"] == b["hits"] + b["misses"]
        # and 10 rounds of two messages each, and once counts of 5 classes with their confusion matrix
        steps, vector, counts = -(-10 // 2), 4 * two["parameters"], 2 * 8 * 5 * (4 + 5)
        assert 2 * vector * (steps - 1) <= b["exchanged_bytes"] <= 2 * vector * steps + 10 * 2 * 2524 + counts, (b["exchanged_bytes"], vector)
    assert sum(w["rows"] for w in workers) == sum(e["rows"] for e in two["epochs"])
    batches = sum(1 for line in metrics("two") if line[1] is not None)
    assert sum(w["batches"] for w in workers) == batches and abs(workers[0]["batches"] - workers[1]["batches"]) <= 2
    assert "mini-batches, one of each worker" in done.stderr, done.stderr
    assert done.stderr.count("epoch 1") <= 1, done.stderr
    assert pathlib.Path("two/worker-1.log").read_text().count("mini-batches, one of each worker") == 1
    assert two["memory_budget_bytes"] == 400 * 2**20 // 2
    if MPIRUN:
        return
    plan = subprocess.run([OUTGROW, "plan", "graph", *BASE[:-2], "--workers", "2", "--json"], capture_output=True, text=True, check=True)
    told = json.loads(plan.stdout)
    assert abs(told["predicted"]["rows"] - workers[0]["rows"] / 2) < 0.1 * told["predicted"]["rows"], (told["predicted"], workers[0])


def stopped_and_gone_on_with():
    stopped = 0
    ways = ((2, 4, 5), (4, 2, 9)) if MPIRUN else ((2, 4, 5), (4, 1, 9), (1, 2, 7), (2, 2, 14))
    for kind in ("sage with batch norm", "gcn, late")[:MOST]:
        words = KINDS[kind]
        trained("whole", 1, words)
        for first, second, after in ways:
            for _ in range(20):  # where this process has to wait for a CPU core it may be over before
                shutil.rmtree("cut", ignore_errors=True)
                if stop_after("cut", first, after, words):
                    stopped += 1
                    break
            done = train("cut", second, words, ["--resume"])
            assert done.returncode == 0, done.stderr
            assert_same("whole", "cut", (kind, first, second, after))
    assert stopped >= len(ways), stopped
    # what was not given is what the run was begun with
    trained("whole", 4)
    shutil.rmtree("cut", ignore_errors=True)
    stop_after("cut", 4, 6)
    assert train("cut", 2, ["--resume"]).returncode == 0
    assert_same("whole", "cut", "--accumulate of the run")


def lines_of(run):
    try:
        return pathlib.Path(run, "metrics.jsonl").read_text().count("\n")
    except FileNotFoundError:
        return 0


def begin(run, n, *lists):
    """Started, and made to log at once: checkpoints flush what is logged."""
    args = ["train", "graph", "--run", run, *BASE, *(word for words in lists for word in words), "--checkpoint-every", "0"]
    return subprocess.Popen(command(n, args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(job, run, lines):
    end = time.monotonic() + PATIENCE
    while lines_of(run) < lines and job.poll() is None and time.monotonic() < end:
        time.sleep(0.001)


def stop_after(run, n, lines, *lists):
    """Interrupted once so many mini-batches are logged; False: it was over already."""
    job = begin(run, n, *lists)
    wait_for(job, run, lines)
    job.send_signal(signal.SIGUSR1 if MPIRUN or n == 4 else signal.SIGTERM)  # mpirun forwards that, and waits
    _, said = job.communicate(timeout=PATIENCE)
    assert job.returncode in (0, 130), (job.returncode, said)
    assert job.returncode == 0 or os.path.exists(f"{run}/resume.safetensors"), said
    assert job.returncode != 130 or said.count("interrupted") == 1, said
    return job.returncode != 0


def workers_of(job):
    """Processes by their rank."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            environ = (folder / "environ").read_bytes().split(b"\0")
            stat = (folder / "stat").read_text()
        except OSError:
            continue
        ranks = [e for e in environ if e.startswith(b"OUTGROW_WORKER=")]
        if ranks and int(stat.rsplit(")", 1)[1].split()[1]) == job.pid:
            found[int(ranks[0].split(b"=")[1].split(b"/")[0])] = int(folder.name)
    return found


def is_alive(pid):
    """Not one that has ended and waits for somebody to notice."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def have_ended(pids):
    """Files are closed a little before a process is gone."""
    end = time.monotonic() + PATIENCE
    while any(is_alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.01)
    return not any(is_alive(pid) for pid in pids)


def one_that_is_killed_ends_all():
    words = ["--accumulate", "4", "--epochs", "200"]
    for victim in (0, 2):
        shutil.rmtree("dead", ignore_errors=True)
        job = begin("dead", 4, words)
        wait_for(job, "dead", 12)
        workers = workers_of(job)
        assert len(workers) == 4, workers
        os.kill(workers[victim], signal.SIGKILL)
        _, said = job.communicate(timeout=PATIENCE)
        assert job.returncode == 1 and f"worker {victim} was ended by signal 9 (SIGKILL)" in said, (job.returncode, said)
        assert said.count("hint:") <= 2 and have_ended(workers.values()), said  # the others may still have stopped in order
        shutil.copy("dead/checkpoint.safetensors", "as-left.safetensors")
        epochs = ["--accumulate", "4", "--epochs", str(metrics("dead")[-1][0] + 1)]
        done = train("dead", 2, epochs, ["--resume"])
        assert done.returncode == 0 and not leftovers("dead"), (done.stderr, leftovers("dead"))
        trained("whole", 1, epochs)
        assert_same("whole", "dead", ("killed", victim))
        done = subprocess.run([OUTGROW, "eval", "graph", "--checkpoint", "as-left.safetensors", "--fanout", "4,4"], capture_output=True,
                              text=True)
        assert done.returncode == 0, done.stderr


def without_who_started_them_they_stop():
    shutil.rmtree("orphans", ignore_errors=True)
    job = begin("orphans", 2, ["--epochs", "200"])
    wait_for(job, "orphans", 12)
    workers = workers_of(job).values()
    assert len(workers) == 2
    job.kill()
    job.communicate(timeout=PATIENCE)  # until the last of them has closed what it prints to
    assert have_ended(workers)
    epochs = ["--epochs", str(metrics("orphans")[-1][0] + 1)]
    assert train("orphans", 1, epochs, ["--resume", "--accumulate", "2"]).returncode == 0 and not leftovers("orphans")
    trained("whole", 2, epochs)
    assert_same("whole", "orphans", "without who started them")


def one_that_fails_says_why():
    done = train("bad", 2, ["--memory", "1M"])
    assert done.returncode == 1 and done.stderr.count("too little") == 1, done.stderr
    assert not os.path.exists("bad")
    smallest = int(re.search(r"--memory (\d+)M", done.stderr)[1])
    trained("bad", 2, ["--memory", f"{smallest}M"])
    refused = ((["--accumulate", "3"], "not a multiple"), (["--batch", "100000"], "mini-batches"), (["--resample-every", "2"], "resample-every"),
               (["--runs", "2"], "--runs"))
    for words, says in refused[:MOST]:
        done = train("refused", 2, words)
        assert done.returncode in (1, 2) and done.stderr.count(says) >= 1 and done.stderr.count("hint:") == 1, (words, done.stderr)
        assert not os.path.exists("refused")
    trained("there", 1)
    done = train("there", 2)
    assert done.returncode == 1 and "holds a run already" in done.stderr and done.stderr.count("outgrow:") <= 2, done.stderr


def structure_is_there_once():
    """Two workers of a graph that is mostly topology need little more memory than one process. They share the topology."""
    subprocess.run([OUTGROW, "generate", "wide", "--nodes", "30000", "--degree", "120", "--dim", "4", "--classes", "5",
                    "--train-fraction", "0.02", "--threads", "1", "--quiet"], check=True)
    structure = sum(os.path.getsize(f"wide/{name}.npy") for name in ("indptr", "indices"))
    shutil.rmtree("shared", ignore_errors=True)
    smallest = []
    for n in (1, 2):
        said = train("shared", n, ["--accumulate", "2", "--topology", "memory", "--memory", "1M"], graph="wide").stderr
        smallest.append(int(re.search(r"smallest that would do is --memory (\d+)M", said)[1]))
    one, two = (m * 2**20 for m in smallest)
    assert structure > 12e6 and two <= 2 * one - 0.9 * structure, (smallest, structure)
    words = ["--accumulate", "2", "--topology", "memory", "--epochs", "1"]
    trained("one", 1, words, graph="wide")
    for memory in (smallest[1], 400):
        trained("shared", 2, words, ["--memory", f"{memory}M"], graph="wide")
        assert_same("one", "shared", ("structure that is shared", memory))


def features_are_there_once():
    """Where all features fit once, all rows come from a cache that the workers share. The one that comes first reads them."""
    subprocess.run([OUTGROW, "generate", "deep", "--nodes", "20000", "--degree", "4", "--dim", "300", "--classes", "5",
                    "--train-fraction", "0.05", "--threads", "1", "--quiet"], check=True)
    features = os.path.getsize("deep/features.npy")
    shutil.rmtree("shared", ignore_errors=True)
    words = ["--accumulate", "2", "--policy", "degree", "--epochs", "1"]
    said = train("shared", 2, words, ["--memory", "1M"], graph="deep").stderr
    memory = int(re.search(r"smallest that would do is --memory (\d+)M", said)[1]) + features * 12 // 10 // 2**20
    trained("one", 1, words, graph="deep")
    for move in ([], ["--io", "pread", "--pipeline", "none"], ["--trainers", "2", "--threads", "2"]):
        trained("shared", 2, words, ["--memory", f"{memory}M"], move, graph="deep")
        assert_same("one", "shared", ("features that are shared", move))
        assert all(e["misses"] == 0 and e["hits"] == e["rows"] for e in summary("shared")["epochs"]), summary("shared")["epochs"]


def by_hand(*commands, line=-1, apart=()):
    """Workers that were not started by one command line. `line` is the descriptor to who started them, -1 without. `apart` has words before the second's."""
    ends = socket.socketpair()
    done = []
    for rank, (args, end) in enumerate(zip(commands, ends)):
        fds = [line, end.fileno()] if rank == 0 else [end.fileno(), line]
        env = os.environ | {"OUTGROW_WORKER": f"{rank}/2:{fds[0]},{fds[1]}"}
        words = [*(apart if rank == 1 else ()), OUTGROW, "train", args[0], *BASE, *args[1:]]
        done.append(subprocess.Popen(words, env=env, pass_fds=[end.fileno(), *([line] if line >= 0 else [])],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    for end in ends:
        end.close()
    return [(p.communicate(timeout=PATIENCE)[1], p.returncode) for p in done]


def who_started_them_had_gone_before_they_asked():
    shutil.rmtree("late", ignore_errors=True)
    ours, theirs = socket.socketpair()
    ours.close()
    same = ["graph", "--run", "late", "--accumulate", "2"]
    told = by_hand(same, same, line=theirs.fileno())
    theirs.close()
    assert [status for _, status in told] == [130, 0], told  # the first reports it
    assert train("late", 1, ["--resume", "--accumulate", "2"]).returncode == 0
    trained("whole", 2)
    assert_same("whole", "late", "who started them had gone")


def stopped_as_timeout_does_it():
    """Signals of timeout(1) and systemd are one request. They signal the command and all its workers, and the command signals these, too."""
    shutil.rmtree("twice", ignore_errors=True)
    job = begin("twice", 2, ["--epochs", "200"])
    wait_for(job, "twice", 6)
    workers = [os.pidfd_open(pid) for pid in workers_of(job).values()]
    assert len(workers) == 2
    launcher = os.pidfd_open(job.pid)
    for who in (*workers, *workers, launcher, *workers):
        try:
            signal.pidfd_send_signal(who, signal.SIGTERM)
        except ProcessLookupError:  # it has ended already
            pass
    for who in (*workers, launcher):
        os.close(who)
    _, said = job.communicate(timeout=PATIENCE)
    assert job.returncode == 130 and said.count("interrupted") == 1, (job.returncode, said)
    epochs = ["--epochs", str(metrics("twice")[-1][0] + 1)]
    assert train("twice", 2, epochs, ["--resume"]).returncode == 0
    trained("whole", 2, epochs)
    assert_same("whole", "twice", "stopped twice")


def has_set(pid, mask, number):
    """Is the signal in one of the masks that the kernel shows for a process? None where there is no such process any more."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(re.search(rf"^{mask}:\s+(\w+)", status, re.M)[1], 16) >> (number - 1) & 1 == 1


def commands_that_are_interrupted():
    """Under a launcher each worker runs a command other than train by itself. It says that it was interrupted."""
    subprocess.run([OUTGROW, "simulate", "graph", "--policy", "belady", "--cache", "5%", "--epochs", "1", "--fanout", "4,4"], check=True,
                   stdout=subprocess.DEVNULL)
    words = [OUTGROW, "simulate", "graph", "--policy", "belady,rr,clock", "--cache", "1%,2%,3%,4%,5%", "--epochs", "100000", "--batch", "60", "--fanout", "4,4",
             "--memory", "8G"]
    ends = socket.socketpair()
    jobs = []
    for rank, end in enumerate(ends):
        fds = [-1, end.fileno()] if rank == 0 else [end.fileno(), -1]
        jobs.append(subprocess.Popen(words, env=os.environ | {"OUTGROW_WORKER": f"{rank}/2:{fds[0]},{fds[1]}"}, pass_fds=[end.fileno()],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    for end in ends:
        end.close()
    for job in jobs:
        while job.poll() is None and not has_set(job.pid, "SigCgt", signal.SIGINT):
            time.sleep(0.001)
        job.send_signal(signal.SIGINT)
    told = [(job.communicate(timeout=PATIENCE)[1], job.returncode) for job in jobs]
    assert [status for _, status in told] == [130, 130] and all(said.count("interrupted") == 1 for said, _ in told), told


def a_start_that_is_refused_leaves_no_timeline():
    for rank, words in ((0, ["--lr", "0.5"]), (1, ["--memory", "1M"])):
        shutil.rmtree("apart", ignore_errors=True)
        same = ["graph", "--accumulate", "2", "--run", "apart", "--trace-timeline", "timeline.json"]
        told = by_hand(same, [*same[:-2], *words])
        assert all(status == 1 for _, status in told) and not os.path.exists("timeline.json"), (rank, told)


def what_failed_is_said_before_all_are_ended():
    plugin = pathlib.Path(OUTGROW).parent / "liboutgrow_mpi.so"
    done = subprocess.run(by_mpi(2, TEST_COMM, "say-less"), env=os.environ | {"OUTGROW_MPI": str(plugin)}, capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode != 0 and "worker 0 sent 3 bytes where 4 were expected" in done.stderr, done.stderr


def what_is_not_shared_out_says_so():
    trained("one", 1)
    words = ["eval", "graph", "--checkpoint", "one/best.safetensors", "--json"]
    alone = subprocess.run([OUTGROW, *words], capture_output=True, text=True)
    twice = subprocess.run(by_mpi(2, OUTGROW, *words), capture_output=True, text=True, timeout=PATIENCE)
    assert alone.returncode == twice.returncode == 0, (alone.stderr, twice.stderr)
    assert "only train shares work out" not in alone.stderr and twice.stderr.count("only train shares work out") == 1, twice.stderr
    assert twice.stdout.count('"acc": %.17g' % json.loads(alone.stdout)["acc"]) in (2, 4), twice.stdout  # and among the metrics


def one_that_begins_otherwise_is_refused():
    subprocess.run([OUTGROW, "generate", "other", "--nodes", "3000", "--degree", "8", "--dim", "20", "--classes", "5", "--train-fraction", "0.2",
                    "--threads", "1", "--seed", "2", "--quiet"], check=True)
    same = ["graph", "--accumulate", "2"]
    for args, says in ((["other", "--accumulate", "2"], "another dataset"), ([*same, "--lr", "0.5"], "other options"),
                       ([*same, "--topology", "disk"], "share topology or features, but not all")):
        shutil.rmtree("apart", ignore_errors=True)
        told = by_hand([*same, "--run", "apart"], [*args, "--run", "apart"])
        assert all(status == 1 for _, status in told) and says in told[0][0] and "hint:" in told[0][0], (args, told)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder
        os.environ["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none"  # which containers may not have
        subprocess.run([OUTGROW, "generate", "graph", "--nodes", "3000", "--degree", "8", "--dim", "20", "--classes", "5",
                        "--train-fraction", "0.2", "--threads", "1", "--quiet"], check=True)
        tests = [the_same_for_any_number, each_has_a_device, figures_of_devices_are_those_of_simulate, what_a_summary_tells, stopped_and_gone_on_with, one_that_fails_says_why, structure_is_there_once,
                 features_are_there_once]
        if MPIRUN:
            tests += [what_failed_is_said_before_all_are_ended, what_is_not_shared_out_says_so]
        else:
            tests += [one_that_is_killed_ends_all, one_that_begins_otherwise_is_refused, without_who_started_them_they_stop,
                      who_started_them_had_gone_before_they_asked, stopped_as_timeout_does_it,
                      commands_that_are_interrupted, a_start_that_is_refused_leaves_no_timeline]
        for test in tests:
            began = time.monotonic()
            test()
            print(f"{test.__name__}: {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
