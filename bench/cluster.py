#!/usr/bin/env python3
"""bench/cluster.py OUTGROW: hosts that are network namespaces, with links of a given rate, train together by MPI. Compared: bytes of one process, seconds and what
went over the links, each with a cache of its own and with --exchange. Then the job is stopped, and a link is cut, and others resume the run.

    bench/cluster.py build/release/outgrow --hosts 2,4 --rate 1gbit

Needs root, iproute2 and Open MPI. What it makes is gone at the end: namespaces ogh<i>, bridge ogbridge.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BRIDGE = "ogbridge"
DIM = 128
ROW = 4 * DIM + 4  # and its number, on request
NOTICED = 5 + 3 * 1  # seconds, by the keepalive that mpirun is given
AGENT = """#!/bin/sh
# in the place of ssh: HOST COMMAND...
host=$1; shift
n=${host##*.}
exec ip netns exec ogh$n unshare --uts sh -c "hostname ogh$n; $*"
"""


def ip(*words, check=True):
    return subprocess.run(["ip", *map(str, words)], check=check, capture_output=not check)


def inside(host, *words):
    subprocess.run(["ip", "netns", "exec", f"ogh{host}", *map(str, words)], check=True)


def connect(n, rate):
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("link", "set", BRIDGE, "up")
    for host in range(1, n + 1):
        ip("netns", "add", f"ogh{host}")
        ip("link", "add", f"ogv{host}", "type", "veth", "peer", "name", "eth0", "netns", f"ogh{host}")
        ip("link", "set", f"ogv{host}", "master", BRIDGE, "up")
        inside(host, "ip", "link", "set", "lo", "up")
        inside(host, "ip", "addr", "add", f"10.77.0.{host}/24", "dev", "eth0")
        inside(host, "ip", "link", "set", "eth0", "up")
        inside(host, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms")


def disconnect(n):
    for host in range(1, n + 1):
        ip("netns", "del", f"ogh{host}", check=False)
        ip("link", "del", f"ogv{host}", check=False)
    ip("link", "del", BRIDGE, check=False)


def sent(host):
    text = subprocess.run(["ip", "netns", "exec", f"ogh{host}", "cat", "/sys/class/net/eth0/statistics/tx_bytes"], capture_output=True,
                          text=True).stdout
    return int(text)


def by_mpi(n, agent, *words):
    hosts = ",".join(f"10.77.0.{host}" for host in range(1, n + 1))
    mca = {"plm_rsh_agent": agent, "btl": "tcp,self", "btl_tcp_if_include": "eth0", "oob_tcp_if_include": "eth0",
           "oob_tcp_keepalive_time": 5, "oob_tcp_keepalive_intvl": 1, "oob_tcp_keepalive_probes": 3, "plm_rsh_no_tree_spawn": 1}
    flags = [word for key, value in mca.items() for word in ("--mca", key, str(value))]
    return ["ip", "netns", "exec", "ogh1", "unshare", "--uts", "sh", "-c", 'hostname ogh1; exec "$@"', "sh", "mpirun", "--allow-run-as-root",
            "--bind-to", "none", "--host", hosts, "-n", str(n), *flags, *map(str, words)]


def checkpoint(run):
    return pathlib.Path(run, "checkpoint.safetensors").read_bytes()


def compare(train, n, agent, *how):
    shutil.rmtree("one", ignore_errors=True)
    shutil.rmtree("all", ignore_errors=True)
    subprocess.run([*train, "--accumulate", str(n), "--run", "one"], check=True, stdout=subprocess.DEVNULL)
    before = [sent(host) for host in range(1, n + 1)]
    done = subprocess.run(by_mpi(n, agent, *train, *how, "--run", "all"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert checkpoint("one") == checkpoint("all"), "other bytes than one process"
    one, told = (json.loads(pathlib.Path(run, "summary.json").read_text()) for run in ("one", "all"))
    assert sorted(w["host"] for w in told["workers"]) == [f"ogh{i}" for i in range(1, n + 1)], told["workers"]
    over = sum(sent(host) - before[host - 1] for host in range(1, n + 1))
    steps = sum(-(-sum(w["batches"] for w in told["workers"]) // len(told["epochs"]) // n) for _ in told["epochs"])
    rows = sum(e["rows_exchanged"] for e in told["epochs"])
    print(f"{n} hosts{' with ' + how[0] if how else ''}: the same bytes; {told['seconds']:.1f} s, one process with --accumulate {n} {one['seconds']:.1f} s; over the links "
          f"{over / 1e6:.1f} MB, {over / n / steps / (4 * told['parameters']):.2f} vectors of the model a host and step; read by a host "
          f"{max(w['bytes_read'] for w in told['workers']) / 1e6:.1f} MB, by one process {sum(e['bytes_read'] for e in one['epochs']) / 1e6:.1f} MB"
          + (f"; {rows * ROW / 1e6:.1f} MB of rows and their numbers exchanged, with {sum(e['exchange_seconds'] for e in told['epochs']) / n:.2f} s of each "
             f"worker's {sum(e['seconds'] + e['eval_seconds'] for e in told['epochs']):.2f} s in those messages and those of evaluation" if how else ""))


def begun(train, n, agent, how):
    """A job that has trained an epoch, and logged it."""
    shutil.rmtree("cut", ignore_errors=True)
    job = subprocess.Popen(by_mpi(n, agent, *train, *how, "--epochs", "500", "--checkpoint-every", "0", "--run", "cut"), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    log = pathlib.Path("cut/metrics.jsonl")
    while not (log.exists() and log.stat().st_size > 0) and job.poll() is None:
        time.sleep(0.05)
    time.sleep(0.5)
    return job


def go_on(train, n):
    """One process, from the job's last checkpoint, to the bytes of one that was not interrupted."""
    epoch = json.loads(pathlib.Path("cut/metrics.jsonl").read_text().splitlines()[-1])["epoch"] + 1
    more = ["--epochs", str(epoch), "--accumulate", str(n)]
    subprocess.run([*train, *more, "--run", "cut", "--resume"], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree("one", ignore_errors=True)
    subprocess.run([*train, *more, "--run", "one"], check=True, stdout=subprocess.DEVNULL)
    assert checkpoint("one") == checkpoint("cut")


def cut(train, n, agent, *how):
    job = begun(train, n, agent, how)
    ip("link", "set", f"ogv{n}", "down")
    began = time.monotonic()
    _, said = job.communicate(timeout=120)
    took = time.monotonic() - began
    assert job.returncode != 0 and "lost" in said.lower(), (job.returncode, said)
    assert took < NOTICED + 10, took
    print(f"{n} hosts{' with ' + how[0] if how else ''}: a cut link ended the job after {took:.0f} s: "
          f"{[line for line in said.splitlines() if 'lost' in line.lower()][0].strip()}")
    ip("link", "set", f"ogv{n}", "up")
    go_on(train, n)
    print("and one process went on with it to the same bytes")


def stop(train, n, agent, *how):
    """SIGUSR1 to mpirun, which forwards it to all hosts at once."""
    job = begun(train, n, agent, how)
    job.send_signal(signal.SIGUSR1)
    began = time.monotonic()
    _, said = job.communicate(timeout=120)
    assert job.returncode == 130 and said.count("outgrow: interrupted") == 1, (job.returncode, said)
    print(f"{n} hosts{' with ' + how[0] if how else ''}: SIGUSR1 stopped the job after {time.monotonic() - began:.1f} s, with a checkpoint")
    go_on(train, n)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("outgrow", type=os.path.abspath)
    parser.add_argument("--hosts", default="2,4")
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--nodes", default="100000")
    parser.add_argument("--memory", default="400M")
    args = parser.parse_args()
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "tc", "mpirun"))):
        sys.exit("bench/cluster.py: needs root, ip, tc and mpirun")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder
        agent = pathlib.Path(folder, "agent")
        agent.write_text(AGENT)
        agent.chmod(0o755)
        subprocess.run([args.outgrow, "generate", "graph", "--nodes", args.nodes, "--degree", "10", "--dim", str(DIM), "--quiet"], check=True)
        train = [args.outgrow, "train", os.path.abspath("graph"), "--fanout", "5,5", "--hidden", "128", "--epochs", "2", "--memory",
                 args.memory, "--policy", "degree", "--cache", "10%", "--threads", "1", "--quiet"]
        for n in map(int, args.hosts.split(",")):
            disconnect(n)
            try:
                connect(n, args.rate)
                for how in (), ("--exchange",):
                    compare(train, n, str(agent), *how)
                    stop(train, n, str(agent), *how)
                    cut(train, n, str(agent), *how)
            finally:
                disconnect(n)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
main()
