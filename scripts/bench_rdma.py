"""RDMA over Soft-RoCE inside one lab machine: the engine against perftest, in alternating runs. Used by scripts/bench."""

import datetime
import os
import random
import statistics
import subprocess
from pathlib import Path

from bench_lab import lab_machine

ROUNDS = int(os.environ.get("ROUNDS", 9))
PROGRAM = "/tmp/pair"

# Test, bytes, and the programs that are compared: the first is ours.
COMPARISONS = [
    ("write", 4096, ["crosstie", "crosstie --list 16", "ib_write_bw", "ib_write_bw -l 16"]),
    ("write", 65536, ["crosstie", "crosstie --list 16", "ib_write_bw", "ib_write_bw -l 16"]),
    ("write", 1048576, ["crosstie", "crosstie --list 16", "ib_write_bw", "ib_write_bw -l 16"]),
    ("send", 4096, ["crosstie", "ib_send_bw"]),
    ("send-latency", 2, ["crosstie", "ib_send_lat"]),
]

# Runs on the node. Each program is both ends on one device; perftest's meet over the loopback interface.
DRIVER = r"""
import json, os, subprocess, sys, time

comparisons, rounds, program = map(json.loads, sys.argv[1:])
device, netdev, address = "rocep1s0f0", "enp1s0f0np0", "198.18.0.1"
# The network manager would begin anew with the port, in the middle of a run, and take the address away.
subprocess.run(["nmcli", "device", "set", netdev, "managed", "no"], check=True)
subprocess.run(["ip", "address", "replace", address + "/24", "dev", netdev], check=True)
subprocess.run(["ip", "link", "set", netdev, "up", "mtu", "9000"], check=True)
folder = "/sys/class/infiniband/" + device + "/ports/1/"
wanted = "0000:0000:0000:0000:0000:ffff:c612:0001"

def gid():
    for index in range(256):
        try:
            found = open(folder + "gids/%d" % index).read().strip()
            kind = open(folder + "gid_attrs/types/%d" % index).read().strip()
        except OSError:
            continue
        if found == wanted and "v2" in kind:
            return str(index)
    return None

for attempt in range(50):
    index = gid()
    if index and "ACTIVE" in open(folder + "state").read():
        break
    time.sleep(0.2)
port = 20000

def peer(test, size, words):
    global port
    port += 1
    command = words + ["-d", device, "-x", index, "-F", "-s", str(size), "-p", str(port)]
    command += ["-n", "1000"] if test == "send-latency" else ["-D", "2"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        # The server listens in the kernel's list before it is asked.
        for attempt in range(200):
            if any(line.split()[1].endswith(":%04X" % port) and line.split()[3] == "0A" for line in open("/proc/net/tcp").readlines()[1:] + open("/proc/net/tcp6").readlines()[1:]):
                break
            time.sleep(0.05)
        done = subprocess.run(command + ["127.0.0.1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        lines = [line.split() for line in done.stdout.splitlines()]
        lines = [line for line in lines if line and line[0] == str(size)]
        if not lines:
            sys.stderr.write("%s printed no figure:\n%s" % (" ".join(words), done.stdout))
            return None
        if test == "send-latency":
            return float(lines[-1][4])
        # perftest's MB are MiB; in Gb/s it prints two places alone. Where nothing was completed within its seconds it prints 0,
        # which is no figure.
        return float(lines[-1][3]) * 8 * 1048576 / 1e9 or None
    finally:
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()

def ours(test, size, words):
    many = words[2] if len(words) > 1 else "1"
    command = [program, device, address, "9000", test, str(size), many, "2000"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60)
    if done.returncode:
        sys.exit("%s ended with %d" % (" ".join(command), done.returncode))
    return float(done.stdout)

for number in range(rounds):
    for test, size, programs in comparisons:
        one = {"round": number + 1, "test": test, "size": size, "figures": {}}
        # Whoever is first in one round is last in the next.
        for name in programs if number % 2 == 0 else reversed(programs):
            words = name.split()
            run = ours if words[0] == "crosstie" else peer
            one["figures"][name] = run(test, size, words)
        print(json.dumps(one), flush=True)
"""


def measure_rdma(root, crosstie, machine):
    build = ["cargo", "build", "--release", "--locked", "--package", "crosstie-agent", "--example", "pair"]
    subprocess.run(build, cwd=root, check=True)
    program = Path(crosstie).parent / "examples/pair"
    here = machine()
    with lab_machine(crosstie) as node:
        node.install(program, PROGRAM)
        kernel = node.kernel()
        rounds = node.run("rdma", DRIVER, COMPARISONS, ROUNDS, PROGRAM)
    if len(rounds) != ROUNDS * len(COMPARISONS):
        raise SystemExit("bench: the runs in the lab machine ended early, see above")
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return {"name": "rdma", "kind": "rdma", "date": date, "machine": here, "node_kernel": kernel, "rounds": rounds}


def interval(ratios):
    """Of the median of the ratios, by 10,000 resamples with a fixed seed: 95 %."""
    dice = random.Random(1)
    medians = sorted(statistics.median(dice.choices(ratios, k=len(ratios))) for _ in range(10_000))
    return medians[250], medians[9750]


def spread(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def shown(program):
    """Ours by the command that runs the same engine."""
    return f"`{program.replace('crosstie', 'crosstie bench', 1)}`"


def rdma_section(result):
    rows, behind, ahead_at_4k = [], [], None
    for test, size, programs in COMPARISONS:
        rounds = [each["figures"] for each in result["rounds"] if (each["test"], each["size"]) == (test, size)]
        is_latency = test == "send-latency"
        digits = 1 if is_latency else 4
        own = [name for name in programs if name.startswith("crosstie")]
        # The list of a peer is compared with the same list of ours.
        for peer in (name for name in programs if name not in own):
            mine = own[-1] if peer.endswith("-l 16") else own[0]
            failed = sum(each[peer] is None for each in rounds)
            rounds_of_both = [each for each in rounds if each[peer] is not None]
            if len(rounds_of_both) < 2:
                own_figures = spread([each[mine] for each in rounds], digits)
                rows.append(f"| {test}, {size} B | {shown(mine)} | {own_figures} | `{peer}` | no figure in {failed} of {len(rounds)} rounds | | |")
                continue
            ratios = [each[peer] / each[mine] if is_latency else each[mine] / each[peer] for each in rounds_of_both]
            low, high = interval(ratios)
            if high < 1:
                behind.append(f"{test} of {size} bytes against `{peer}`")
            if (size, peer) == (4096, "ib_write_bw"):
                ahead_at_4k = low > 1
            cells = [f"{test}, {size} B", shown(mine), spread([each[mine] for each in rounds_of_both], digits), f"`{peer}`"]
            note = f"; no figure in {failed} rounds" if failed else ""
            cells += [spread([each[peer] for each in rounds_of_both], digits) + note, f"{statistics.median(ratios):.3f}", f"{low:.3f}–{high:.3f}"]
            rows.append("| " + " | ".join(cells) + " |")
    verdict = "no peer is faster beyond the spread" if not behind else "**slower beyond the spread: " + "; ".join(behind) + "**"
    ahead = "ahead of" if ahead_at_4k else "**not ahead of**"
    here = result["machine"]
    return "\n".join(
        [
            "## RDMA over Soft-RoCE",
            "",
            "The engine of `crosstie bench` and perftest, both ends of each on one device of one lab machine, so that every message goes through "
            "the kernel's Soft-RoCE twice and no cable is in it. Where the machine is emulated, the figures say nothing of any speed but "
            "each other's. Bandwidth in Gb/s of messages, 128 under way on one queue pair (of ours at most 16 MiB); latency is half a round trip in µs, the median. The "
            "ratio is above 1 where ours is better: of each round, then their median, with a 95 % interval (bootstrap of the median). Of 1 MiB "
            "perftest has 128 MiB under way, which an emulated machine does not always complete within its 2 seconds: it prints 0 then, which is "
            "counted as no figure. Of 4 KiB both programs make a system call for each message, or for each list of them, and differ by less than the spread of "
            "an emulated machine.",
            "",
            f"{verdict}; {ahead} `ib_write_bw`'s default at 4 KiB.",
            "",
            "| test | ours | median (min–max) | peer | median (min–max) | ratio | 95 % |",
            "|---|---|--:|---|--:|--:|--:|",
            *rows,
            "",
            f"{result['date']}; {here['cpu']}, {here['cores']} cores; node kernel {result['node_kernel']}; {ROUNDS} alternating rounds; load before "
            f"{here['load_before']}. Every figure: [`{result['name']}.json`](benchmarks/{result['name']}.json).",
            "",
        ]
    )
