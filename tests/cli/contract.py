#!/usr/bin/env python3
"""Names that scripts rely on: every promised command, option, word of an option, file and JSON key works.

A name that has a better one is reported once; the others are accepted without a word.

    contract.py OUTGROW      exits 77 where there is no NumPy
"""
import json
import os
import pathlib
import struct
import re
import shlex
import subprocess
import sys
import tempfile

OUTGROW = os.path.abspath(sys.argv[1])
RUN = "--fanout 3,3 --batch 200 --hidden 8 --epochs 1 --memory 200M --threads 2"
# Options of training by what they may be given; `plan` takes all of them, and nothing runs.
OPTIONS = {
    "model": "gcn sage gat pinsage", "layers": "2", "hidden": "16", "heads": "2", "dropout": "0.2", "fanout": "3,3 -1,-1", "sampler": "uniform labor ladies", "batch": "100",
    "epochs": "2", "lr": "0.01", "weight-decay": "0.1", "optimizer": "adam sgd", "beta1": "0.8", "beta2": "0.99", "epsilon": "1e-6", "task": "node link", "seed": "3", "threads": "1", "eval-every": "0", "memory": "150M 25%", "disk": "1G",
    "scratch": "elsewhere", "topology": "memory disk auto", "policy": "none random degree presc presc:2 pagerank frequency lru rr belady hybrid auto sieve s3fifo clock file:scores.npy",
    "cache": "64K 10%", "layout": "raw packed segmented auto", "resample-every": "1 2", "pack-dtype": "f32 f16 bf16", "superbatch": "3 all", "io": "uring pread auto",
    "preset": "pyg+ ali+pg ginex diskgnn fgnn lsm-gnn helios memory auto", "checkpoint-every": "60", "log-every": "2", "accumulate": "2", "staleness": "1", "executors": "1:1", "workers": "2",
    "device": "cpu virtual virtual:2", "draw": "each once",
}
WITH = {"device-memory": "64M", "device-policy": "degree", "victim": "pvp"}  # with --device virtual
OTHERS = "--batch-size 100 --num-neighbors 3,3 --learning-rate 0.01 --hidden-channels 8 --num-epochs 1 --memory 200M"
FORMER = {"trainers": "2"}  # and their notice
FLAGS = ["no-shuffle", "replace"]
SUMMARY = {
    "": "version dataset config seed plan prepare epochs best_epoch valid_acc test_acc peak_rss_bytes baseline_rss_bytes memory_budget_bytes seconds",
    "plan": "policy layout topology predicted",
    "plan.predicted": "rows hits misses reads bytes_read feature_bytes_read seconds",
    "prepare": "seconds reads bytes_read bytes_written prefill",
    "epochs.0": "epoch loss train_acc valid_acc seconds sample_seconds plan_seconds gather_seconds train_seconds stall_seconds eval_seconds eval_bytes_read rows hits misses prefill reads "
                "bytes_read feature_bytes_read topology_bytes_read trace_bytes_read bytes_written prepare_reads prepare_bytes_read",
}
RESULT = "policy cache hit_rate hit_rate_with_prefill rows hits misses prefill reads bytes_read"
TRACE = "seeds seeds_ptr ids ids_ptr hop1_src hop1_dst hop1_ptr hop2_src hop2_dst hop2_ptr labels features"


def outgrow(command, status=0):
    done = subprocess.run([OUTGROW, *shlex.split(command)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == status, (command, done.returncode, done.stderr)
    return done


def renamed(done):
    return re.findall(r"^outgrow: --(\S+) is now ", done.stderr, re.M)


def has(value, path, keys, what):
    for step in filter(None, path.split(".")):
        value = value[int(step)] if step.isdigit() else value[step]
    missing = set(keys.split()) - set(value)
    assert not missing, (what, path, sorted(missing))


def options():
    for name, words in OPTIONS.items():
        for word in words.split():
            done = outgrow(f"plan graph {RUN} --{name}={word}")
            assert not renamed(done), done.stderr
    for name, word in WITH.items():
        outgrow(f"plan graph {RUN} --device virtual --policy degree --cache 5% --{name} {word}")
    for name, word in FORMER.items():
        assert renamed(outgrow(f"plan graph {RUN} --{name} {word}")) == [name]
    for command in "plan graph", "sample graph --out once", "bench epoch graph", "simulate graph --policy lru --cache 5%":
        assert outgrow(f"{command} {RUN} --runs 2").stderr.count("--runs has no effect in `outgrow ") == 1, command
    for name in FLAGS:
        assert not renamed(outgrow(f"plan graph {RUN} --{name}"))
    assert not renamed(outgrow(f"plan graph {OTHERS}"))
    assert not renamed(outgrow("plan graph --model gat --num-layers 2 --num-heads 2 --num-hidden 8 --memory 200M"))


def layers_alone():
    of = "train graph --batch 200 --hidden 8 --epochs 1 --memory 200M --quiet --json"
    for layers in 1, 2, 4:
        assert json.loads(outgrow(f"{of} --layers {layers} --run l{layers}").stdout)["config"]["fanout"] == [10] * layers
    assert "--fanout has 2 numbers" in outgrow(f"{of} --layers 3 --fanout 3,3 --run l3", 1).stderr


def files_and_keys():
    outgrow(f"train graph {RUN} --run run --log-every 1 --trace-timeline line.json")
    for name in "summary.json metrics.jsonl checkpoint.safetensors best.safetensors resume.safetensors plan.json config.yaml".split():
        assert pathlib.Path("run", name).exists(), name
    summary = json.loads(pathlib.Path("run/summary.json").read_text())
    for path, keys in SUMMARY.items():
        has(summary, path, keys, "summary.json")
    has(json.loads(pathlib.Path("run/metrics.jsonl").read_text().splitlines()[0]), "", "epoch batch loss rows misses bytes_read seconds", "metrics.jsonl")
    has(json.loads(outgrow(f"plan graph {RUN} --json").stdout), "", "policy layout topology memory predicted candidates", "plan")
    outgrow("simulate graph --policy lru,belady --cache 1%,10% --fanout 3,3 --batch 200 --json sim.json --plot sim.svg")
    results = json.loads(pathlib.Path("sim.json").read_text())["results"]
    assert [(r["policy"], r["cache"]) for r in results] == [("lru", "1%"), ("lru", "10%"), ("belady", "1%"), ("belady", "10%")], results
    has(results[0], "", RESULT, "simulate")
    has(json.loads(outgrow(f"bench epoch graph {RUN} --json").stdout), "", "prepare epochs", "bench epoch")
    workers = json.loads(outgrow(f"train graph {RUN} --workers 2 --run two --json").stdout)
    has(workers, "workers.0", "rank host rows hits misses rows_sent rows_received bytes_read seconds", "workers")
    tiers = json.loads(outgrow(f"train graph {RUN} --executors 1:1 --device virtual --device-memory 1M --device-policy lru --victim pvp --policy belady --run three --json").stdout)
    has(tiers, "epochs.0", "device_hits host_hits victim_hits victim_pushed victim_dropped", "devices")
    has(tiers, "executors", "samplers trainers sample_seconds_each train_seconds_each switched", "executors")
    has(json.loads(outgrow(f"train graph {RUN} --workers 2 --exchange --run four --json").stdout), "epochs.0", "exchanged_bytes", "exchange")


def commands():
    outgrow("sample graph --out trace --with-features --fanout 3,3 --batch 200 --epochs 1")
    for name in TRACE.split():
        assert pathlib.Path("trace", name + ".npy").exists(), name
    outgrow("simulate trace --policy lru --cache 5%")
    outgrow("sample graph --out samples --fanout 3,3 --batch 200 --epochs 1")
    outgrow("pack graph --samples samples")
    outgrow(f"train graph {RUN} --samples samples --run packed")
    os.mkdir("a")
    os.mkdir("b")
    for command in ("info graph --json", "verify graph", "export npy graph out", "export graphbolt graph bolt", "import npy out back --symmetrize --drop-self-loops --feature-dtype f16",
                    "import graphbolt bolt again", "report run --out page.html", "stripe graph part --parts 2 --part 0", "stripe back --over a,b",
                    "eval graph --checkpoint run/best.safetensors --split test --full", "eval graph --checkpoint run/best.safetensors --split valid --fanout 3,3",
                    "predict graph --checkpoint run/checkpoint.safetensors --out pred.npy --embeddings emb.npy", f"train graph {RUN} --run run --resume --epochs 2"):
        outgrow(command)
    for command in "train eval predict import export generate sample pack simulate plan bench report stripe doctor info verify".split():
        assert outgrow(f"help {command}").stdout
    assert outgrow("train", 2).stderr.startswith("outgrow: ")
    failed = outgrow("train nowhere", 1).stderr
    assert failed.startswith("outgrow: nowhere") and "\nhint: " in failed, failed


def help_is_whole():
    for name in "import", "export", "train", "simulate":
        for text in outgrow(f"help {name}").stdout.split("\n\n")[1:]:
            if "  --" not in text and not text.startswith(" "):
                assert text.rstrip().endswith((".", "`")), text


def what_is_not_meant():
    """Options that are given twice, sizes without a unit, files that are not written."""
    done = outgrow(f"plan graph {RUN} --memory=150M --runs 2 --runs 2")
    assert done.stderr.count("is given twice") == 1 and "--memory is given twice: '150M' counts, '200M' does not" in done.stderr, done.stderr
    assert "--split is given twice: 'valid' counts" in outgrow("eval graph --checkpoint run/best.safetensors --split test --split valid --fanout 3,3").stderr
    for option in "cache 0.5", "memory 1.5", "cache 0.9999":
        said = outgrow(f"plan graph {RUN} --{option}", 2).stderr
        assert "hint: a share ends in %, a size in K, M, G or T" in said, said
    for size in "0", "1", "1.5K", "0.5%", "64K":
        outgrow(f"plan graph {RUN} --cache {size}")
    for size, few in ("5", True), ("31", True), ("32", False), ("0", False), ("5%", False):
        assert ("smaller than a row" in outgrow(f"plan graph {RUN} --cache {size}").stderr) == few, size
    outgrow("sample graph --out unpacked --fanout 3,3 --batch 200 --epochs 1")
    assert "--edge-features" not in outgrow("pack graph --samples unpacked").stderr
    said = outgrow("predict graph --checkpoint run/checkpoint.safetensors --out p.csv --dtype f16", 1).stderr
    assert "--dtype f16" in said and not os.path.exists("p.csv"), said
    for name in "p.txt", "p.csv.gz", "p.npz", "p.json", "p.CSV", "-", "some.folder/p.tsv":
        said = outgrow(f"predict graph --checkpoint run/checkpoint.safetensors --out {name}", 1).stderr
        assert "FILE.npy" in said and "FILE.csv" in said and not os.path.exists(name), said
    for name in "plain", "some.folder/plain", "logits-lr0.01", "plain.v2":
        outgrow(f"predict graph --checkpoint run/checkpoint.safetensors --out {name}")
        assert pathlib.Path(name).read_bytes()[:6] == b"\x93NUMPY"


def wrong_usage_as_json():
    """The error, wherever --json is."""
    for words in "train graph --json --batc 3", "train graph --batc 3 --json", "info graph graph --json", "eval graph --json":
        done = subprocess.run([OUTGROW, *words.split()], capture_output=True, text=True)
        assert done.returncode == 2 and json.loads(done.stdout)["error"] in done.stderr, (words, done)


def streams():
    """Output that is lost is an error. Files do not get the numbers of closed streams."""
    for words in f"train graph {RUN} --run unheard --json", "info graph --json", "info graph":
        done = subprocess.run(["sh", "-c", f"{OUTGROW} {words} >/dev/full"], capture_output=True, text=True)
        assert done.returncode == 1 and "outgrow: standard output: " in done.stderr, (words, done)
    outgrow("import npy out heard")
    for closed in "<&- >&- 2>&-", ">&- 2>&-", "2>&-":
        subprocess.run(["sh", "-c", f"{OUTGROW} import npy out unheard.{len(closed)} {closed}"])
        for name in os.listdir("heard"):
            wanted, found = (pathlib.Path(folder, name).read_bytes() for folder in ("heard", f"unheard.{len(closed)}"))
            assert wanted == found or name == "meta.json", (closed, name)
        outgrow(f"verify unheard.{len(closed)}")
    served = subprocess.run(["sh", "-c", f"{OUTGROW} serve graph --checkpoint run/checkpoint.safetensors <&-"], capture_output=True, text=True)
    assert served.returncode == 0 and served.stdout.count("\n") == 1, served


def without(checkpoint, key, out):
    """The file as versions before wrote it."""
    raw = pathlib.Path(checkpoint).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + size])
    for name in key, "xxh3":
        del head["__metadata__"][name]
    head = json.dumps(head).encode()
    head += b" " * (-len(head) % 64)
    pathlib.Path(out).write_bytes(struct.pack("<Q", len(head)) + head + raw[8 + size:])


def splits_by_other_names():
    """val and validation are valid."""
    said = {name: json.loads(outgrow(f"eval graph --checkpoint run/best.safetensors --fanout 3,3 --memory 200M --split {name} --json").stdout) for name in ("valid", "val", "validation")}
    assert said["valid"]["split"] == said["val"]["split"] == said["validation"]["split"] == "valid"
    assert said["valid"]["loss"] == said["val"]["loss"] == said["validation"]["loss"]
    full = json.loads(outgrow("eval graph --checkpoint run/best.safetensors --memory 200M --split val --full --json").stdout)
    assert full["split"] == "valid"
    for name in "valid", "val":
        outgrow(f"predict graph --checkpoint run/best.safetensors --memory 200M --nodes {name} --out nodes-{name}.csv")
    assert pathlib.Path("nodes-val.csv").read_bytes() == pathlib.Path("nodes-valid.csv").read_bytes()


def fanout_of_training():
    outgrow("generate typed --types paper:600:8,author:400:6 --classes 4 --relations author:writes:paper:3,paper:cites:paper:9,paper:written:author:3")
    outgrow("train typed --fanout 6,4;cites=2,1 --hidden 8 --epochs 1 --batch 64 --memory 200M --run typed-run")
    trained = json.loads(pathlib.Path("typed-run/summary.json").read_text())
    same = outgrow("eval typed --checkpoint typed-run/best.safetensors --memory 200M --json")
    assert json.loads(same.stdout)["metrics"]["acc"] == trained["test_metrics"]["acc"], (same, trained["test_metrics"])
    assert "trained with --batch 64, which is taken here as well" in same.stderr, same.stderr
    assert json.loads(outgrow("eval typed --checkpoint typed-run/best.safetensors --batch 50 --memory 200M --json").stdout)["loss"] != json.loads(same.stdout)["loss"]
    for graph, run, fanout in ("graph", "run", "3,3"), ("typed", "typed-run", "6,4;cites=2,1"):
        of = f"eval {graph} --checkpoint {run}/best.safetensors --memory 200M --json"
        taken, given = outgrow(of), outgrow(f"{of} --fanout {fanout}")
        assert f"sampled with --fanout {fanout}, as in training" in taken.stderr and "sampled with" not in given.stderr, taken.stderr
        other = outgrow(f"{of} --fanout 10,10")
        figures = [[json.loads(done.stdout)[key] for key in ("loss", "rows", "metrics")] for done in (taken, given, other)]
        assert figures[0] == figures[1] != figures[2], figures
        without(f"{run}/best.safetensors", "fanout", "former.safetensors")
        former = outgrow(f"eval {graph} --checkpoint former.safetensors --memory 200M --json")
        assert "sampled with --fanout 10,10, the default" in former.stderr and json.loads(former.stdout)["loss"] == figures[2][0], former.stderr


def negatives_of_training():
    outgrow("train graph --task link --eval-negatives 7 --fanout 3,3 --hidden 8 --epochs 1 --batch 200 --memory 200M --run ranked")
    of = "eval graph --checkpoint ranked/best.safetensors --split valid --memory 200M --json"
    taken, given, other = outgrow(of), outgrow(f"{of} --eval-negatives 7"), outgrow(f"{of} --eval-negatives 100")
    mrr = [json.loads(done.stdout)["metrics"]["mrr"] for done in (taken, given, other)]
    assert mrr[0] == mrr[1] > mrr[2], mrr
    assert "trained with --eval-negatives 7, which is taken here as well" in taken.stderr and "--eval-negatives" not in other.stderr, taken.stderr
    without("ranked/best.safetensors", "eval-negatives", "unranked.safetensors")
    assert json.loads(outgrow(of.replace("ranked/best", "unranked")).stdout)["metrics"]["mrr"] == mrr[2]


def run_in_a_dataset():
    for name in "graph", "graph/":
        assert "graph: is a dataset" in outgrow(f"train graph {RUN} --run {name}", 1).stderr.replace("graph/:", "graph:")


def main():
    import numpy as np
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        outgrow("generate graph --model planted --nodes 2000 --degree 8 --dim 8 --classes 4 --dtype f32 --train-fraction 0.3 --homophily 0.8 --seed 3")
        np.save("scores.npy", np.random.default_rng(1).random(2000, dtype=np.float32))
        for part in options, layers_alone, files_and_keys, commands, help_is_whole, what_is_not_meant, wrong_usage_as_json, streams, splits_by_other_names, fanout_of_training, negatives_of_training, run_in_a_dataset:
            part()
            print("ok", part.__name__, flush=True)


try:
    import numpy  # noqa: F401
except ImportError:
    sys.exit(77)
main()
