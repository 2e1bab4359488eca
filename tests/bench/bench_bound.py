#!/usr/bin/env python3
"""bench/bound.py: a limit is taken for one only where it holds. Status 77 where no memory cgroup can be made here."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import bound


class Unenforced(bound.Group):
    """Has a controller's files, as a folder that is none can be made to have."""

    def __init__(self, folder):
        super().__init__(folder)
        for name in "memory.max", "cgroup.procs":
            (self.folder / name).touch()


def test_folders(folder):
    why = bound.find([folder, f"{folder}/nowhere"]).reason
    assert why == f"{folder}: no memory controller; {folder}/nowhere: No such file or directory", why
    assert os.listdir(folder) == []
    real, real_remove = bound.Group, bound.remove
    bound.Group, bound.remove = Unenforced, shutil.rmtree
    why = bound.find([folder]).reason
    bound.Group, bound.remove = real, real_remove
    assert why == f"{folder}: a limit is set and not enforced", why


def test_refusal(folder):
    done = subprocess.run([BENCH / "peers.py", "--parts", "disk", "--cgroups", folder, "--venv", f"{folder}/venv"], capture_output=True, text=True)
    assert done.returncode == 1 and "no memory cgroup" in done.stderr and "hint: " in done.stderr, done.stderr
    assert os.listdir(folder) == []  # before anything is installed


def test_limit(where):
    with bound.group(where) as group:
        group.limit(128 * 2**20)
        take = [*group.prefix(), sys.executable, "-c"]
        assert subprocess.run([*take, "b = bytearray(50 * 2**20)"]).returncode == 0
        assert subprocess.run([*take, bound.HOG]).returncode == -signal.SIGKILL
    assert not group.folder.exists()


def main():
    with tempfile.TemporaryDirectory() as folder:
        test_folders(folder)
        test_refusal(folder)
    where = bound.find()
    if where.reason:
        print(where.reason)
        sys.exit(77)
    test_limit(where)


main()
