"""Memory cgroups that bound what a process takes, page cache included. Also whether they do so on this machine.

    where = bound.find()            # a folder to make them in
    if where.reason: ...            # why there is none
    with bound.group(where) as g:   # a new one, removed at the end
        g.limit(bytes)
        g.enter()                   # in the process that is to be bounded
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

BASES = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"
LIMITS = "memory.limit_in_bytes", "memory.max"  # of the first and second version
SWAP = {"memory.limit_in_bytes": ("memory.memsw.limit_in_bytes", None), "memory.max": ("memory.swap.max", "0")}
HOG = "b = bytearray(160 * 2**20)\nfor i in range(0, len(b), 4096): b[i] = 1"


class Where:
    def __init__(self, base=None, reason=None):
        self.base, self.reason = base, reason


class Group:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def limit(self, size):
        key = next(k for k in LIMITS if (self.folder / k).exists())
        (self.folder / key).write_text(str(size))
        name, value = SWAP[key]
        with contextlib.suppress(OSError):  # the kernel may count no swap
            if (self.folder / name).exists():
                (self.folder / name).write_text(value or str(size))

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def prefix(self):
        """Limits of a command that is to run in it."""
        return ["sh", "-c", f'echo $$ >{self.folder}/cgroup.procs && exec "$@"', "sh"]


def remove(folder):
    """Processes of a loader may end a moment after it."""
    for _ in range(100):
        try:
            return folder.rmdir()
        except OSError:
            time.sleep(0.1)
    print(f"{folder}: could not be removed", file=sys.stderr)


@contextlib.contextmanager
def group(where):
    folder = pathlib.Path(where.base) / f"outgrow-bench-{os.getpid()}"
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that what follows is run
    folder.mkdir()
    try:
        yield Group(folder)
    finally:
        remove(folder)
        signal.signal(signal.SIGTERM, before)


def enforced(base):
    """Whether a process that takes 160 MiB where 96 are allowed is killed. No file says so; it has to be tried."""
    with group(Where(base)) as g:
        g.limit(96 * 2**20)
        return subprocess.run([*g.prefix(), sys.executable, "-c", HOG], stderr=subprocess.DEVNULL).returncode == -signal.SIGKILL


def find(bases=BASES):
    why = []
    for base in map(pathlib.Path, bases):
        try:
            with group(Where(base)) as g:
                there = any((g.folder / key).exists() for key in LIMITS)
            if not there:
                why.append(f"{base}: no memory controller")
            elif enforced(base):
                return Where(str(base))
            else:
                why.append(f"{base}: a limit is set and not enforced")
        except OSError as failed:
            why.append(f"{base}: {failed.strerror}")
    return Where(reason="; ".join(why))
