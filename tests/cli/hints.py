#!/usr/bin/env python3
"""Commands that are refused, and the same once their hint is followed to the letter. Then it must work, or say something else.

A hint is followed by what it says. An option and a value are pasted; "leave out --x" takes it away; "did you mean" puts the other word in its place; a command
in backticks is run. With "this, or that" each is tried.

    hints.py OUTGROW
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

OUTGROW = os.path.abspath(sys.argv[1])
TRAIN = "--epochs 1 --batch 100 --fanout 3,3 --hidden 8 --threads 2 --memory 300M"
REFUSED = [
    f"train graph {TRAIN} --memory 1M",
    f"train typed {TRAIN} --memory 1M",
    f"plan graph {TRAIN} --memory 1M --policy belady",
    "sample graph --out few --memory 1M --fanout 3,3 --batch 100",
    "simulate graph --policy lru --cache 10% --epochs 1 --memory 1M --fanout 3,3",
    f"train graph {TRAIN} --device virtual --device-memory 10K",
    f"train graph {TRAIN} --device-memory 10M",
    f"train graph {TRAIN} --polcy lru",
    f"train graph {TRAIN} --bach 10",
    f"trian graph {TRAIN}",
    "help trian",
    f"train graph {TRAIN} --device virtual --device-memory 20M --device-policy degree --victim pvp:depth=3",
    f"train graph {TRAIN} --device virtual --device-memory 20M --device-policy auto --policy lru",
    f"train graph {TRAIN} --sampler ladies --draw once",
    f"train graph {TRAIN} --task link --decoder complex --hidden 33",
    f"train graph {TRAIN} --loss bce",
    f"train graph {TRAIN} --model rgcn",
    f"train typed {TRAIN} --model sage --aggregator gcn",
    "predict graph --checkpoint run/best.safetensors --out new.npy --batch 10 --embedings x.npy",
    "sample graph --out none --epochs 0",
    "simulate graph --policy lru --cache 10% --epochs 0",
    f"plan graph {TRAIN} --workers 2 --resample-every 2",
    f"predict graph --checkpoint run/best.safetensors --out new.npy --workers 2",
    f"train graph {TRAIN} --device virtual --device-memory 20M --policy sweep",
    f"train graph {TRAIN} --sample-on device",
    f"train graph {TRAIN} --class-weights balance",
    "predict graph --checkpoint run/best.safetensors --out some.npy --nodes tran",
    f"train bare {TRAIN} --embedding 8 --embedding-optimizer sparse-adam --phased-memory",
    f"train bare {TRAIN} --embedding 8 --embedding-optimizer sparse-adam --layout packed",
    f"train typed {TRAIN} --fanout 3,3;x=2,2;x=1,1",
    "generate other --nodes 300 --degree 0",
    "generate another --nodes 300 --train-fraction 0.5",
]
# What messages say of options, and of a folder that cannot be used.
SAID = {
    f"train graph {TRAIN} --lr-schedule step:0,0.5": "--lr-schedule step:0,0.5: lr-every: '0' given",
    f"train graph {TRAIN} --loss focal:-1": "--loss focal:-1: focal-gamma: '-1' given",
    f"train graph {TRAIN} --lr-schedule cosine --lr-min 0.1": "--lr-min 0.1: more than --lr 0.003",
    f"train graph {TRAIN} --edge-features on --run said": "graph: features of edges have no effect",
    f"train graph {TRAIN} --task link --scratch run/config.yaml": "run/config.yaml is no folder",
    f"train graph {TRAIN} --fanout 3 3": "hint: write commas, no blanks, between the numbers of --fanout",
    f"train graph {TRAIN} --batch 1e2": "hint: write 100",
    f"train graph {TRAIN} --batch 1,000": "hint: write 1000",
    f"train graph {TRAIN} --run='~/runs'": "--run: '~/runs' given",
    "eval graph --checkpoint='~/runs/best.safetensors'": "hint: write the path of your home folder for ~",
    f"train graph {TRAIN} --config wrong.yaml": "hint: without this line it is 0.003",
    f"train graph {TRAIN} --config twice.yaml": "twice.yaml:2: lr: the option was given before in this file\nhint: leave one of the lines out",
    f"train graph {TRAIN} --config yes.yaml": "hint: write true, or leave the line out",
    f"train graph {TRAIN} --config home.yaml": "home.yaml:1: run: '~/runs' given",
    f"train graph {TRAIN} --run run --resume --epochs 0": "hint: give --epochs 1 or more",
    f"train graph {TRAIN} --memory 300MB": "leave out the B: 4G is 4 GiB",
    f"train graph {TRAIN} --optimizer adagrad": "hint: --embedding-optimizer takes adagrad",
    f"train graph {TRAIN} --device gpu": "hint: use --device cuda",
    f"train graph {TRAIN} --warmup 10000 --run long": "so the learning rate stays below --lr",
}


def outgrow(args):
    return subprocess.run([OUTGROW, *args], capture_output=True, text=True)


def with_option(args, name, value):
    args = without(args, name)
    return [*args, f"--{name}", value]


def without(args, name):
    """The option and its values are gone."""
    out, skips = [], False
    for arg in args:
        if arg.startswith("--"):
            skips = arg == f"--{name}"
        if not skips:
            out.append(arg)
    return out


def followed(args, text):
    """What the hint makes of the command, one list of arguments an alternative."""
    for command in re.findall(r"`outgrow ([^`]*)`", text):
        if not re.search(r"\b[A-Z]{2,}\b|<|\.\.\.", command):
            yield shlex.split(command)
    meant = re.search(r"did you mean '([a-z-]+)'", text)
    if meant:
        yield [meant[1] if arg == wrong_word(args) else arg for arg in args]
    option = re.search(r"did you mean --([a-z-]+)", text)
    if option:
        yield [f"--{option[1]}" if arg == wrong_option(args, option[1]) else arg for arg in args]
        return
    gone = re.search(r"leave (?:out )?--([a-z-]+)(?: out)?(?=$|[:;,.]| out)", text)
    if gone:
        yield without(args, gone[1])
    text = re.sub(r"--device cuda|which --policy auto.*", "", text)  # there may be no GPU; another option's message
    for name, value in re.findall(r"--([a-z-]+) ([a-z0-9][\w.%:/-]*)", text):
        if value not in ("or", "of", "out", "at", "and", "with", "is", "need", "less", "to", "where", "for", "in", "has", "by"):
            yield with_option(args, name, value)


def wrong_word(args):
    return args[1] if args[0] == "help" else args[0]


def wrong_option(args, right):
    """The option that is not one: the nearest to what was meant."""
    import difflib
    return difflib.get_close_matches(f"--{right}", [a for a in args if a.startswith("--") and a != f"--{right}"], 1, 0)[0]


def main():
    pasted = in_words = 0
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        for command in ("generate graph --nodes 3000 --dim 16 --classes 4", f"generate typed --types a:800:8,b:500:8 --relations a:x:a:4,b:y:a:3 --classes 3 --train-fraction 0.2",
                        "generate bare --types a:800:8,b:500 --relations a:x:a:4,b:y:a:3,a:z:b:2 --classes 3 --train-fraction 0.2",
                        f"train graph {TRAIN} --run run"):
            done = outgrow(shlex.split(command))
            assert done.returncode == 0, (command, done.stderr)
        for command in REFUSED:
            args = shlex.split(command)
            refused = outgrow(args)
            if refused.returncode == 0:
                wrong.append(f"taken: {command}")
                continue
            error = next(line for line in refused.stderr.splitlines() if line.startswith("outgrow: ") and line)
            hint = re.search(r"^hint: (.*)$", refused.stderr, re.M)
            if not hint:
                wrong.append(f"no hint: {command}\n{refused.stderr}")
                continue
            ways = list(followed(args, hint[1]))
            in_words += not ways
            if not ways:
                print(f"in words: {hint[1]}")
            for way in ways:
                done = outgrow(way)
                if done.returncode != 0 or error in done.stderr.splitlines():
                    wrong.append(f"$ outgrow {command}\n{refused.stderr}$ outgrow {' '.join(way)}\n{done.stderr}")
                pasted += 1
                print(f"ok: {hint[1]}")
        for name, lines in ("wrong", "lr: fast"), ("twice", "lr: 1\nlr: 2"), ("yes", "no-shuffle: yes"), ("home", "run: ~/runs"):
            with open(f"{name}.yaml", "w") as f:
                f.write(lines + "\n")
        for command, said in SAID.items():
            done = outgrow(shlex.split(command))
            if said not in done.stderr:
                wrong.append(f"{command}\n{done.stderr}\nnot said: {said}")
        os.environ["XDG_CACHE_HOME"] = folder + "/run/config.yaml"
        done = outgrow(shlex.split(f"train graph {TRAIN} --task link"))
        if done.returncode != 1 or "no folder, and none can be made there" not in done.stderr or "hint: set XDG_CACHE_HOME" not in done.stderr:
            wrong.append(f"XDG_CACHE_HOME is a file: {done}")
        shown = outgrow(shlex.split("predict graph --checkpoint run/best.safetensors --out plain.csv")).stdout
        if "peak memory" not in shown or "rss" in shown or "_" in shown or "amplification" in shown:
            wrong.append(f"names of JSON: {shown}")
    print(f"{pasted} hints were pasted, {in_words} are in words")
    for text in wrong:
        print(f"\nWRONG {text}")
    assert not wrong and pasted > len(REFUSED) * 2 // 3


main()
