#!/usr/bin/env python3
"""The scripts of docs/guides/python.md and tables.md run as they stand, and the docstring has those of the former. The script examples/pyg_loader.py resumes after a kill. The stub
says what the package has.

    docs.py OUTGROW DOCS
"""
import ast
import inspect
import os
import re
import subprocess
import sys
import textwrap
import time

import support
from support import outgrow

# PyTorch Geometric 2.8 asks PyTorch 2.15 for what that calls deprecated.
THEIR_WARNINGS = "-W", "ignore::FutureWarning:torch.jit._script"
DOCS = os.path.abspath(sys.argv.pop(2))


def scripts(page="python"):
    with open(f"{DOCS}/guides/{page}.md") as f:
        return re.findall(r"^```python\n(.*?)^```", f.read(), re.M | re.S)


def is_there(script):
    for line in script.splitlines():
        if line.startswith(("import", "from")):
            try:
                exec(line, {})
            except ImportError:
                return False
    return True


def test_scripts_run():
    ran = 0
    for script in scripts():
        if is_there(script):
            done = subprocess.run([sys.executable, *THEIR_WARNINGS, "-c", script], capture_output=True, text=True, timeout=300)
            assert done.returncode == 0 and done.stdout and not done.stderr, (script, done.stdout, done.stderr)
            ran += 1
    assert ran >= 2
    print(f"  {ran} of {len(scripts())}")


def test_tables_become_predictions():
    script, = scripts("tables")
    if not is_there(script) or not is_there("import pyarrow"):
        print("  left out: pandas or pyarrow is not installed")
        return
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "gold" in done.stdout and "c2999" in done.stdout and not done.stderr, (done.stdout, done.stderr)


def test_the_example_goes_on_after_a_kill():
    """The example resumes in the epoch of its first checkpoint, with 7 of 27 batches left. It runs to the end."""
    if not is_there("import torch_geometric"):
        print("  left out: PyTorch Geometric is not installed")
        return
    outgrow.generate("planted", nodes=81000, degree=3, dim=16, classes=4, train_fraction=1 / 3, homophily=0.9)
    words = [sys.executable, *THEIR_WARNINGS, os.path.join(DOCS, "../examples/pyg_loader.py"), "planted", "--epochs", "2"]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists("pyg_loader.pt"):
        assert child.poll() is None
        time.sleep(0.002)
    child.kill()
    child.wait()
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    told = re.findall(r"^epoch (\d): valid ([\d.]+), \d+ of (\d+) rows", done.stdout, re.M)
    assert done.returncode == 0 and [epoch for epoch, _, _ in told] == ["1", "2"], (done.stdout, done.stderr)
    (_, _, rest), (_, valid, rows) = told
    assert 0 < int(rest) < 0.4 * int(rows) and float(valid) > 0.5, told
    assert "\ntest " in done.stdout and not os.path.exists("pyg_loader.pt")


def test_docstrings_have_the_same_scripts():
    said = textwrap.dedent(inspect.getdoc(outgrow.Loader))
    for script in scripts()[1:]:
        assert textwrap.indent(script, "    ", lambda line: line.strip()) in said + "\n", script
        assert len([line for line in script.splitlines() if line]) <= 15


def names_of(body):
    return {node.name: node for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def arguments_of(node):
    a = node.args
    named = [p.arg for p in a.posonlyargs + a.args + ([a.vararg] if a.vararg else []) + a.kwonlyargs]
    return named + ([a.kwarg.arg] if a.kwarg else [])


def test_the_stub_is_true():
    with open(os.path.join(os.path.dirname(outgrow.__file__), "__init__.pyi")) as f:
        stub = names_of(ast.parse(f.read()).body)
    assert {name for name in stub if not name.startswith("_")} == set(outgrow.__all__)
    assert os.path.exists(os.path.join(os.path.dirname(outgrow.__file__), "py.typed"))
    for name, node in ((name, stub[name]) for name in outgrow.__all__):
        thing = getattr(outgrow, name)
        assert thing.__doc__, name
        if isinstance(node, ast.FunctionDef):
            assert arguments_of(node) == list(inspect.signature(thing).parameters), name
            for p, default in zip(node.args.kwonlyargs, node.args.kw_defaults):
                real = inspect.signature(thing).parameters[p.arg].default
                assert (default is None) == (real is inspect.Parameter.empty) and (default is None or ast.literal_eval(default) == real), (name, p.arg)
        else:
            shared = [names_of(stub[base.id].body) for base in node.bases if getattr(base, "id", "").startswith("_")]
            for method, inside in (item for names in (names_of(node.body), *shared) for item in names.items()):
                real = getattr(thing, method)
                if isinstance(real, property):
                    continue
                assert arguments_of(inside) == list(inspect.signature(real).parameters) or method == "__init__" and "Error" in name, (name, method)


support.main(globals())
