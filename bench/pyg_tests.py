#!/usr/bin/env python3
"""PyTorch Geometric's own tests of its loaders, unchanged, with Outgrow's loaders in the place of theirs:

    pyg_tests.py FOLDER [--lines FILE] [PYTEST'S OPTIONS]

FOLDER has the files of test/loader of PyTorch Geometric 2.6.1, which this program does not fetch. It needs outgrow, PyTorch, PyTorch
Geometric and pytest, and neither pyg-lib nor torch-sparse: what tests ask these for, Outgrow does. It prints each test that does not pass
with its reason, and counts; --lines FILE has one line a test.
"""
import argparse
import collections
import os
import sys
import tempfile
import types

import outgrow
import pytest
import torch_geometric
import torch_geometric.loader
import torch_geometric.testing
import torch_geometric.typing
from torch_geometric.datasets import KarateClub

FILES = "test_neighbor_loader.py", "test_link_neighbor_loader.py", "test_imbalanced_sampler.py", "test_zip_loader.py", "test_cache.py"
SAMPLERS = {"pyg_lib", "torch_sparse"}
made = []  # a name for each loader that the current test made


def noted(kind):
    def make(*arguments, **keywords):
        made.append(kind.__name__)
        return kind(*arguments, **keywords)
    return make


def in_place_of_theirs():
    """Before tests are imported. Tests that compare the kernels of pyg-lib and torch-sparse still need both."""
    theirs = torch_geometric.testing.withPackage

    def with_package(*names):
        return theirs(*(name for name in names if set(names) >= SAMPLERS or name not in SAMPLERS))
    torch_geometric.testing.withPackage = with_package
    torch_geometric.testing.onlyNeighborSampler = torch_geometric.testing.onlyOnline = lambda test: test
    for name in "NeighborLoader", "LinkNeighborLoader":
        setattr(torch_geometric.loader, name, noted(getattr(outgrow, name)))
    before = {name: getattr(torch_geometric.typing, name) for name in dir(torch_geometric.typing) if name.startswith("WITH_")}
    for name in "WITH_PYG_LIB", "WITH_TORCH_SPARSE", "WITH_WEIGHTED_NEIGHBOR_SAMPLE", "WITH_EDGE_TIME_NEIGHBOR_SAMPLE":
        setattr(torch_geometric.typing, name, True)
    return before


class Plugin:
    def __init__(self, before):
        self.before, self.outcome, self.reason = before, {}, {}

    @pytest.fixture
    def get_dataset(self):
        def of(name):
            assert name == "karate"
            return KarateClub()
        return of

    def pytest_collection_finish(self, session):
        for name, value in self.before.items():
            setattr(torch_geometric.typing, name, value)
        for module in {item.module for item in session.items}:  # which requires PyTorch 2 where edges have 32 bits
            if hasattr(module, "torch_geometric"):
                module.torch_geometric = types.SimpleNamespace(typing=types.SimpleNamespace(WITH_PT20=True))

    def pytest_runtest_setup(self, item):
        made.clear()

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.outcome == "passed":
            return
        name = report.nodeid.split("::")[-1]
        self.outcome[name] = report.outcome if report.outcome != "passed" or made else "no loader"
        if report.outcome == "skipped":
            self.reason[name] = str(report.longrepr[2]).removeprefix("Skipped: ")
        elif report.outcome == "failed":
            crash = getattr(report.longrepr, "reprcrash", None)
            self.reason[name] = " ".join((crash.message if crash else str(report.longrepr)).split())[:200]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--lines")
    args, more = p.parse_known_args()
    files = [os.path.join(args.folder, name) for name in FILES]
    if missing := [name for name in files if not os.path.exists(name)]:
        sys.exit(f"{missing[0]}: not there; FOLDER is test/loader of PyTorch Geometric 2.6.1")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["OUTGROW_CACHE"] = cache
        plugin = Plugin(in_place_of_theirs())
        pytest.main(["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-W", "ignore", "--rootdir", cache, "-rN", *more, *files], plugins=[plugin])
    for name, outcome in plugin.outcome.items():
        if outcome in ("failed", "skipped"):
            print(f"{outcome:8} {name}: {plugin.reason[name]}")
    if args.lines:
        with open(args.lines, "w") as f:
            f.writelines(f"{outcome} {name}\n" for name, outcome in plugin.outcome.items())
    count = collections.Counter(plugin.outcome.values())
    n = len(plugin.outcome) - count["no loader"]
    print(f"{count['passed']} of {n} tests that make a loader pass; {count['no loader']} make none. PyTorch Geometric {torch_geometric.__version__}")


if __name__ == "__main__":
    main()
