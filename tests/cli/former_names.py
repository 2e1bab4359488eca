#!/usr/bin/env python3
"""Scripts that were written for names of before: they run, and each former name is reported once. Names of other libraries are taken without a word.

    former_names.py OUTGROW
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

OUTGROW = os.path.abspath(sys.argv[1])
TRAIN = "--epochs 1 --batch 200 --fanout 3,3 --hidden 8 --threads 2 --memory 200M"
FORMER = {
    f"train graph {TRAIN} --trainers 1 --run a": ["--trainers is now --executors"],
    f"train graph {TRAIN} --together 2 --topology disk --run b": ["--together is now --sample-group"],
    f"train graph {TRAIN} --alternate --policy belady --run c": ["--alternate is now --phased-memory"],
    f"train graph {TRAIN} --alternate=true --together=2 --topology=disk --run d": None,  # a flag takes no value
    "simulate graph --executors 1:1 --times 0.01,0.02 --tickets 10 --batch 200": ["--tickets is now --batches"],
    "import npy source linked --link": ["--link is now --in-place"],
}
OTHERS = f"train graph --num-epochs 1 --batch-size 200 --num-neighbors 3,3 --hidden-channels 8 --learning-rate 0.01 --memory 200M --threads 2 --run e"


def outgrow(command):
    return subprocess.run([OUTGROW, *shlex.split(command)], capture_output=True, text=True)


def told(done):
    return re.findall(r"^outgrow: (.* is now .*)$", done.stderr, re.M)


def main():
    import numpy as np
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        assert outgrow("generate graph --nodes 2000 --dim 8 --classes 4 --train-fraction 0.3").returncode == 0
        os.mkdir("source")
        r = np.random.default_rng(1)
        np.save("source/edges.npy", r.integers(0, 50, (300, 2)))
        np.save("source/feat.npy", r.random((50, 4), dtype=np.float32))
        for command, names in FORMER.items():
            done = outgrow(command)
            if names is None:
                assert done.returncode == 2, (command, done.stderr)
                continue
            assert done.returncode == 0, (command, done.stderr)
            assert told(done) == names, (command, told(done))
            quiet = outgrow(re.sub(r"--run (\w)", r"--run \1q", command).replace(" linked", " linked2") + " --quiet")
            assert quiet.returncode == 0 and not told(quiet), (command, quiet.stderr)
        done = outgrow(OTHERS)
        assert done.returncode == 0 and not told(done), done.stderr
        assert json.loads(pathlib.Path("c/summary.json").read_text())["plan"]["alternates"]
        pathlib.Path("old.yaml").write_text("alternate: true\npolicy: belady\ntogether: 2\n")
        plan = json.loads(outgrow(f"plan graph {TRAIN} --config old.yaml --json").stdout)
        assert plan["alternates"] and plan["phased_memory"] and plan["together"] == plan["sample_group"], plan
        config = pathlib.Path("c/config.yaml").read_text()
        assert "phased-memory: true" in config and "alternate:" not in config, config
        assert outgrow(f"train graph {TRAIN} --alternate --policy belady --run c --resume --epochs 2").returncode == 0
    print("former names run, and are told once")


try:
    import numpy  # noqa: F401
except ImportError:
    sys.exit(77)
main()
