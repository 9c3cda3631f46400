"""`crosstie scan` on a lab machine with four Soft-RoCE devices, against the commands that show parts of the same. Used by scripts/bench."""

import os
from bench_lab import lab_machine

ROUNDS = int(os.environ.get("ROUNDS", 5))
RUNS, WARMUPS = 15, 2
PROGRAM = "/tmp/crosstie"

BENCHMARK = {
    "name": "scan-rdma",
    "title": "What is in a machine with RDMA",
    "crosstie": "crosstie scan --json",
    "peers": ["ip -j addr", "rdma link", "ibv_devinfo"],
    "beside": ["crosstie --version", "timedatectl show"],
    "goal": 1.0,
    "timed_by": "a loop of Python's on the machine",
    "note": "One `crosstie scan --json` against the sum of the commands that show parts of the same, on a lab machine with four Soft-RoCE devices, each with "
    "a GID table of 1024 places. Where the machine is emulated, the times say nothing but how the programs compare. All run at fixed addresses, since an emulator translates "
    "code again for other ones. `crosstie --version` is what the start of a program of its size takes there, and `timedatectl show` is a command "
    "that a scan waits for and that the peers say nothing of; with the other things that they do not read (PCI devices, packages, modules, "
    "settings, the kernel's log) it is why the goal is not met there.",
}

# Runs on the node.
DRIVER = r"""
import ctypes, json, os, subprocess, sys, time

# ADDR_NO_RANDOMIZE, for every command: at another address an emulator translates all code again, which is not theirs to pay.
ctypes.CDLL(None).personality(0x0040000)
program, commands, rounds, runs, warmups = map(json.loads, sys.argv[1:])
for number in range(rounds):
    one = {}
    # Whoever is first in one round is last in the next.
    for command in commands if number % 2 == 0 else reversed(commands):
        words = command.split()
        words = [program if words[0] == "crosstie" else words[0], *words[1:]]
        times, codes = [], set()
        for run in range(warmups + runs):
            began = time.perf_counter()
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if run >= warmups:
                times.append(round(time.perf_counter() - began, 6))
                codes.add(done.returncode)
        one[command] = {"times": times, "exit_codes": sorted(codes)}
    print(json.dumps(one), flush=True)
"""


def measure(crosstie, machine, today):
    here = machine()
    with lab_machine(crosstie) as node:
        node.install(crosstie, PROGRAM)
        here |= {"kernel": node.kernel(), "rdma_devices": 4}
        commands = [BENCHMARK["crosstie"], *BENCHMARK["peers"], *BENCHMARK["beside"]]
        rounds = node.run("scan-rdma", DRIVER, PROGRAM, commands, ROUNDS, RUNS, WARMUPS)
    return {**BENCHMARK, "date": today, "machine": here, "warmups": WARMUPS, "rounds": rounds}
