#!/usr/bin/env python3
"""Why a run was slow: `outgrow doctor RUN` and the page of `outgrow report`.

slow_runs.json has the parts of summary.json that count, a run for each bottleneck. `outgrow train` wrote them. The figures are computed again here.
A run of a small graph is trained, explained, and trained again by the command of its explanation.
"""
import html
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

OUTGROW = os.path.abspath(sys.argv[1])
RECORDED = pathlib.Path(__file__).with_name("slow_runs.json")
WAITS = ("sampling", "planning", "reading", "exchanging")
# The stage that each run names, and what its command has and has not.
EXPECTED = {
    "preparing": ("preparing", None, None),
    "computing": ("computing", None, None),
    "one-thread": ("computing", "--threads 2", "--threads 1"),
    "evaluating": ("evaluating", "--eval-every 5", None),
    "sampling": ("sampling", "--resample-every 2", None),
    "topology": ("sampling", "--memory 108M", "--topology"),
    "topology-fits": ("sampling", "--topology memory", "--topology disk"),
    "planning": ("planning", "--policy degree", "--ways"),
    "no-policy": ("computing", "--policy auto", "--policy none"),
    "small-cache": ("computing", "--memory 1024M", "--cache"),
    "engine": ("reading", "--policy degree", "--io"),
    "unmeasured": ("reading", "bench io --path g", "train"),
    "reading": ("reading", "--memory 666M", "--memory 150M"),
    "serial": ("reading", "--pipeline batches", "--pipeline none"),
    "exchanging": ("computing", "--workers 2", "--exchange"),
}
# What the commands after the first have and have not: each includes the remedies before it.
FURTHER = {
    "topology": [(None, None), ("--memory 108M --resample-every 2", "--topology")],
    "topology-fits": [(None, None), ("--topology memory --resample-every 2", "--topology disk")],
    "no-policy": [("--policy auto --memory 886M", "--policy none"), (None, None)],
    "small-cache": [("--policy auto", "--cache"), (None, None)],
    "engine": [("--policy auto", "--io"), ("--policy auto --memory 722M", "--memory 150M"), (None, None)],
    "unmeasured": [("--memory 139M", "bench"), (None, None), ("--eval-every 5", "bench")],
    "reading": [(None, None)],
    "serial": [("--pipeline batches --memory 697M", "--memory 200M"), (None, None)],
}


def run(arguments, status=0):
    done = subprocess.run([OUTGROW, *arguments], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done)
    return done


def explained(folder):
    """doctor's exit status 1 is about this machine."""
    done = subprocess.run([OUTGROW, "doctor", folder, "--json"], capture_output=True, text=True)
    assert done.returncode in (0, 1) and done.stdout, done
    return json.loads(done.stdout)["run"]


def store(folder, summary):
    os.makedirs(folder, exist_ok=True)
    pathlib.Path(folder, "summary.json").write_text(json.dumps(summary))


def near(a, b):
    assert abs(a - b) <= 1e-9 + 1e-6 * abs(b), (a, b)


def figures(summary, told):
    """The figures are those of the run, and the largest is named."""
    epochs, plan = summary["epochs"], summary["plan"]
    total = {key: sum(e[key] for e in epochs) for key in epochs[0] if key.endswith(("seconds", "bytes_read"))}
    workers = len(summary["workers"] or [1])
    trainers = (summary["executors"] or {}).get("trainers") or 1
    stalled = total["stall_seconds"] / workers
    computing = min(total["train_seconds"] / workers / trainers, total["seconds"] - stalled)
    waiting = total["seconds"] - computing
    if plan["superbatch"] == 0:
        waiting = min(waiting, stalled + total["exchange_seconds"] / workers)
    stages = {"preparing": summary["prepare"]["seconds"], "computing": computing, "evaluating": total["eval_seconds"], "waiting": waiting}
    busy = {"sampling": total["sample_seconds"] / workers / plan["samplers"], "planning": total["plan_seconds"] / workers,
            "reading": total["gather_seconds"] / workers, "exchanging": total["exchange_seconds"] / workers}
    for mine, theirs in ((stages, told["seconds_by_stage"]), (busy, told["busy_seconds"])):
        assert mine.keys() == theirs.keys(), (mine, theirs)
        for key in mine:
            near(theirs[key], mine[key])
    largest = max(stages, key=stages.get)
    assert told["stage"] == (max(busy, key=busy.get) if largest == "waiting" else largest), told
    near(told["seconds"], summary["seconds"])
    assert f"({100 * stages[largest] / summary['seconds']:.0f} %)" in told["sentences"][0], told


def remedy(name, command, has, has_not):
    assert (command is None) == (has is None), (name, command)
    if not command:
        return
    assert has in command and (has_not is None or has_not not in command), (name, command)
    words = shlex.split(command)
    if words[1] == "train":  # parsed as a whole, and only the dataset is missing
        assert words[-2:] == ["--run", f"{name}-2"], command
        assert words[2] in run(["train", f"/nowhere/{words[2]}", *words[3:]], status=1).stderr
    else:
        assert words[:3] == ["outgrow", "bench", "io"], command


def recorded():
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    runs = json.loads(RECORDED.read_text())
    assert runs.keys() == EXPECTED.keys()
    for name, (stage, has, has_not) in EXPECTED.items():
        if name == "one-thread" and len(os.sched_getaffinity(0)) < 2:
            continue
        store(name, runs[name])
        told = explained(name)
        figures(runs[name], told)
        assert told["stage"] == stage and len(told["sentences"]) == 3, (name, told)
        wanted = FURTHER.get(name, [])
        assert len(told["further"]) == len(wanted) and all(f["sentence"] for f in told["further"]), (name, told["further"])
        remedy(name, told["command"], has, has_not)
        for further, (has, has_not) in zip(told["further"], wanted):
            remedy(name, further["command"], has, has_not)
    return runs


def others(runs):
    """Too little memory for the rows. A summary of an earlier version, odd names, and runs that did not end."""
    large = json.loads(json.dumps(runs["reading"]))
    large["plan"]["memory"]["limit"] *= 10 ** 6
    store("large", large)
    told = explained("large")
    assert told["command"] is None and "outgrow help stripe" in told["sentences"][2], told
    doubtful = json.loads(json.dumps(runs["reading"]))
    doubtful["test_classes"] = [{"class": k, "name": name, "predicted": n} for k, (name, n) in enumerate((("basic", 0), ("gold", 40), ("ore", 0)))]
    doubtful["test_confusion"] = [[0, 20, 0]] * 3
    store("doubtful", doubtful)
    assert "predicted as class 1, gold." in explained("doubtful")["doubt"] and "--standardize" in explained("doubtful")["doubt"]
    doubtful["test_classes"][0]["predicted"] = 9
    doubtful["epochs"][0]["loss"] = 4.2
    store("doubtful", doubtful)
    assert "loss of 4.2, guesses have 1.1." in explained("doubtful")["doubt"]
    doubtful["epochs"][0]["loss"] = 1.2
    store("doubtful", doubtful)
    assert explained("doubtful")["doubt"] is None
    earlier = {key: value for key, value in runs["reading"].items() if key not in ("requested", "dataset_path")}
    store("earlier", earlier)
    assert explained("earlier")["command"] == "outgrow train h --config earlier/config.yaml --memory 666M --run earlier-2"
    store("it's/a run", {**runs["reading"], "dataset_path": "my data"})
    assert shlex.split(explained("it's/a run")["command"])[2] == "my data"
    assert shlex.split(explained("it's/a run/")["command"])[-1] == "it's/a run-2"
    os.makedirs("unfinished")
    pathlib.Path("unfinished/config.yaml").write_text("seed: 1\n")
    assert "finished `outgrow train`" in run(["doctor", "unfinished"], status=1).stderr
    slow = json.loads(json.dumps(runs["sampling"]))  # each remedy once, though two stages have it
    slow["config"]["threads"] = 1
    store("slow-thread", slow)
    told = explained("slow-thread")
    options = [told["option"], *(f["option"] for f in told["further"])]
    assert "threads" in options and len(set(options)) == len(options), told
    once = json.loads(json.dumps(runs["evaluating"]))  # its only epoch is validated, and tested
    once["config"] |= {"epochs": 1, "eval-every": 1}
    store("once", once)
    told = explained("once")
    assert told["stage"] == "evaluating" and "--eval-every 0" in told["command"], told
    store("patient", runs["evaluating"] | {"config": runs["evaluating"]["config"] | {"patience": 3}})
    assert explained("patient")["command"] is None  # --patience counts validations
    once["requested"] |= {"policy": "none"}  # waits for rows, as training does
    once["plan"] |= {"candidates": []}
    for e in once["epochs"]:
        e |= {"stall_seconds": 0.9 * e["seconds"], "gather_seconds": e["seconds"], "feature_bytes_read": 1 << 30}
    store("waits", once)
    told = explained("waits")
    assert told["stage"] == "evaluating" and "--policy auto" in told["command"], told
    assert "reads rows from disk too" in told["sentences"][1] and "--eval-every 0" in told["further"][-1]["command"], told
    store("several", {"runs": 2})
    assert "no summary of a run" in run(["doctor", "several"], status=1).stderr


def real():
    run(["generate", "graph", "--nodes", "4000", "--dim", "64", "--quiet"])
    run(["train", "graph", "--fanout", "5,5", "--hidden", "8", "--epochs", "3", "--lr", "0.01", "--policy", "none", "--pipeline", "none", "--run", "slow", "--quiet"])
    summary = json.loads(pathlib.Path("slow/summary.json").read_text())
    assert summary["dataset_path"] == "graph" and summary["plan"]["topology_bytes"] > 0
    assert summary["requested"] == {"fanout": [5, 5], "hidden": 8, "epochs": 3, "lr": 0.01, "policy": "none", "pipeline": "none", "run": "slow"}
    spent = summary["prepare"]["seconds"] + sum(e["seconds"] + e["eval_seconds"] for e in summary["epochs"])
    assert summary["seconds"] >= spent * (1 - 1e-9), (summary["seconds"], spent)
    told = explained("slow")
    figures(summary, told)
    text = subprocess.run([OUTGROW, "doctor", "slow"], capture_output=True, text=True).stdout
    page = pathlib.Path(run(["report", "slow"]).stdout.strip()).read_text()
    for sentence in told["sentences"]:
        assert sentence in text and html.escape(sentence, quote=False) in page.replace("&quot;", '"'), sentence
    store("again", {**summary, "seconds": 1e9, "epochs": [{**e, "stall_seconds": 1e6, "gather_seconds": 1e6, "seconds": 1e6} for e in summary["epochs"]]})
    told = explained("again")
    command = told["command"]
    text = subprocess.run([OUTGROW, "doctor", "again"], capture_output=True, text=True).stdout
    page = pathlib.Path(run(["report", "again"]).stdout.strip()).read_text()
    assert "--pipeline batches" in command and command in text, text
    assert told["further"] and all(f["sentence"] in text and html.escape(f["sentence"], quote=False) in page for f in told["further"]), told
    assert told["further"][0]["command"] in text and "--pipeline batches" in told["further"][0]["command"], told
    run([*shlex.split(command)[1:], "--quiet"])
    faster = json.loads(pathlib.Path("again-2/summary.json").read_text())
    assert [e["loss"] for e in faster["epochs"]] == [e["loss"] for e in summary["epochs"]]


def phases():
    """A policy whose cache would be much larger with phased memory: that is said, and true."""
    run(["generate", "small", "--nodes", "20000", "--dim", "64", "--quiet"])
    plan = "plan", "small", "--memory", "27M", "--batch", "200", "--fanout", "5,5", "--hidden", "16", "--threads", "1", "--json"
    for policy in "belady", "none":
        free, phased = (run([*plan, "--policy", policy, *more]) for more in ([], ["--phased-memory"]))
        said = re.search(r"--policy belady: with --phased-memory its cache would hold about ([0-9.]+) times as many rows", free.stderr)
        assert bool(said) == (policy == "belady") and "phased" not in phased.stderr, (free.stderr, phased.stderr)
        if said:
            rows = [json.loads(done.stdout)["cache_rows"] for done in (phased, free)]
            assert abs(rows[0] / rows[1] / float(said[1]) - 1) < 0.15 and float(said[1]) > 1.25, (rows, said[0])
    # in the least memory there is nothing to multiply
    said = subprocess.run([OUTGROW, "plan", "small", "--memory", "1M", *plan[4:], "--policy", "belady"], capture_output=True, text=True).stderr
    least = re.search(r"would do is (--memory) (\d+M)", said).groups()
    free, phased = (run(["plan", "small", *least, *plan[4:], "--policy", "belady", *more]) for more in ([], ["--phased-memory"]))
    said = re.search(r"--policy belady: its cache has few rows or none; with --phased-memory about (\d+)\n", free.stderr)
    rows = [json.loads(done.stdout)["cache_rows"] for done in (phased, free)]
    assert rows[1] < 0.1 * rows[0] and abs(rows[0] / int(said[1]) - 1) < 0.15, (rows, said[0])


def bench_io():
    """A line for each pattern, also through a pipe; none with --quiet."""
    for quiet in [], ["--quiet"]:
        with subprocess.Popen([OUTGROW, "bench", "io", *quiet], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as p:
            if quiet:
                time.sleep(2)
                p.send_signal(signal.SIGINT)
                assert not re.search("minute|reads/s", p.stderr.read())
                continue
            lines = [p.stderr.readline() for _ in range(3)]
            p.send_signal(signal.SIGINT)
            assert "a minute or two" in lines[0] and all(re.search(rf" {i} of \d+: .* reads/s", lines[i]) for i in (1, 2)), lines


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    bench_io()
    others(recorded())
    real()
    phases()
    os.chdir("/")
print("explained")
