"""TCP between two network namespaces, made for it: the engine against iperf3 and sockperf. For scripts/bench."""

import contextlib
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

ROUNDS, SECONDS = int(os.environ.get("ROUNDS", 9)), 2
BLOCK = 1 << 20
MESSAGE = 16
ADDRESSES = ("10.77.19.1", "10.77.19.2")
PORT = 5299
DEADLINE = 40

# Two-sided 95 % of Student's distribution, by degrees of freedom.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 11: 2.201, 12: 2.179}

# Runs in a namespace until its input ends.
STRANGERS = """
import socket, sys
address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
words = [b"", b"GET / HTTP/1.1\\r\\n\\r\\n", bytes(50), b"\\xff" * 4000]
held = []
for number in range(count):
    one = socket.create_connection((address, port), timeout=5)
    held.append(one)
    try:
        one.sendall(words[number % 4])
    except OSError:
        pass
print("connected", flush=True)
sys.stdin.read()
"""
DISTURBED = "4 streams, 100 strangers at the port"

PEERS = {
    "1 stream": ["iperf3 -P 1", "iperf3 -P 1 -l 1M"],
    "4 streams": ["iperf3 -P 4", "iperf3 -P 4 -l 1M"],
    "latency": ["sockperf ping-pong --tcp"],
}


@contextlib.contextmanager
def namespaces():
    """Two of them, joined by a cable with an MTU of 9000; the machine's own network is not touched."""
    names = [f"crosstie-bench-{os.getpid()}-{end}" for end in "ab"]

    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    try:
        for name in names:
            ip("netns", "add", name)
        veth = ["type", "veth", "peer", "name", "rail0", "netns", names[1], "mtu", "9000"]
        ip("link", "add", "rail0", "netns", names[0], "mtu", "9000", *veth)
        for name, address in zip(names, ADDRESSES):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "rail0")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "rail0", "up")
        time.sleep(0.5)
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


def start(namespace, *command):
    inside = ["ip", "netns", "exec", namespace, *map(str, command)]
    return subprocess.Popen(inside, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def strangers_at(namespace, address, count):
    """So many connections to the data port before the peer's own, kept open: silent ones, parts of a message, garbage."""
    if not count:
        yield
        return
    running = start(namespace, sys.executable, "-c", STRANGERS, *address.rsplit(":", 1), count)
    try:
        if running.stdout.readline().strip() != "connected":
            sys.exit(f"bench: strangers could not connect to {address}: {running.communicate()[1]}")
        yield
    finally:
        running.stdin.close()
        running.wait(timeout=DEADLINE)


def ours(program, names, test, streams, size, strangers=0):
    """What the engine measures: of bandwidth Gb/s and bytes a nanosecond of processor time, else microseconds."""
    roles = zip(("connector", "listener"), names, ADDRESSES)
    ends = [start(name, program, role, address, test, streams, size, SECONDS * 1000) for role, name, address in roles]
    endpoints = [end.stdout.readline() for end in ends]
    with strangers_at(names[0], json.loads(endpoints[1])["listening"]["address"], strangers):
        for end, peer in zip(ends, reversed(endpoints)):
            end.stdin.write(peer)
            end.stdin.flush()
        answers = [end.communicate(timeout=DEADLINE) for end in ends]
    if any(end.returncode for end in ends):
        sys.exit(f"bench: the engine failed: {[error for _, error in answers]}")
    near, far = (json.loads(out) for out, _ in answers)
    if test == "latency":
        histogram = near["latency"]["half_round_trips"]
        return {"microseconds": percentile(histogram, 0.5) / 1000, "p999": percentile(histogram, 0.999) / 1000}
    received, sent = far["bandwidth"]["received"], near["bandwidth"]["sent"]
    processor = received["processor_nanoseconds"] + sent["processor_nanoseconds"]
    return {
        "gbps": received["bytes"] * 8 / received["nanoseconds"],
        "gbytes_per_cpu_second": received["bytes"] / processor,
    }


def percentile(histogram, share):
    """The middle of its bucket: crates/pure/figures/src/histogram.rs."""
    wanted, seen = share * sum(count for _, count in histogram["buckets"]), 0
    for bucket, count in histogram["buckets"]:
        seen += count
        if seen >= wanted:
            octave = max((bucket >> 7) - 1, 0)
            lowest = (bucket - (octave << 7)) << octave
            return min(lowest + ((1 << octave) - 1) / 2, histogram["most"])
    return histogram["most"]


def iperf3(names, words):
    server = start(names[1], "iperf3", "-s", "-1", "-B", ADDRESSES[1])
    time.sleep(0.3)
    # The first second is left out, as the engine leaves out its warm-up.
    command = ["iperf3", "-c", ADDRESSES[1], "-B", ADDRESSES[0], "-t", str(SECONDS), "-O", "1", "-J", *words.split()[1:]]
    client = start(names[0], *command)
    out, _ = client.communicate(timeout=DEADLINE)
    server.communicate(timeout=DEADLINE)
    result = json.loads(out)
    if "error" in result:
        sys.exit(f"bench: {words}: {result['error']}")
    end = result["end"]
    gbps = end["sum_received"]["bits_per_second"] / 1e9
    cpu = end["cpu_utilization_percent"]
    # Of the whole run, its first second included: bytes a second by processors busy.
    busy = (cpu["host_total"] + cpu["remote_total"]) / 100
    return {"gbps": gbps, "gbytes_per_cpu_second": gbps / 8 / busy if busy else None}


def sockperf(names):
    server = start(names[1], "sockperf", "server", "--tcp", "-i", ADDRESSES[1], "-p", PORT)
    time.sleep(0.3)
    try:
        command = ["sockperf", "ping-pong", "--tcp", "-i", ADDRESSES[1], "-p", PORT, "-t", SECONDS, "-m", MESSAGE]
        client = start(names[0], *command)
        out, error = client.communicate(timeout=DEADLINE)
    finally:
        server.terminate()
        server.communicate(timeout=DEADLINE)

    def at(share):
        found = re.search(rf"percentile {share}\s*=\s*([\d.]+)", out)
        return float(found.group(1)) if found else sys.exit(f"bench: sockperf printed no percentiles: {out}{error}")

    return {"microseconds": at("50.000"), "p999": at("99.900")}


def measure(program, machine, today):
    for tool in ("iperf3", "sockperf", "ip"):
        if not shutil.which(tool):
            sys.exit(f"bench: {tool} is missing: scripts/install-packages bench")
    rounds = []
    with namespaces() as names:
        for number in range(1, ROUNDS + 1):
            print(f"== tcp: round {number} of {ROUNDS}", flush=True)
            runs = {
                "1 stream": lambda: ours(program, names, "to-listener", 1, BLOCK),
                "4 streams": lambda: ours(program, names, "to-listener", 4, BLOCK),
                "latency": lambda: ours(program, names, "latency", 1, MESSAGE),
                "sockperf ping-pong --tcp": lambda: sockperf(names),
                DISTURBED: lambda: ours(program, names, "to-listener", 4, BLOCK, strangers=100),
            }
            for words in PEERS["1 stream"] + PEERS["4 streams"]:
                runs[words] = lambda words=words: iperf3(names, words)
            # Each of ours beside its peers; whoever is first in one round is last in the next.
            order = [one for title, peers in PEERS.items() for one in (title, *peers)]
            order.insert(order.index("4 streams") + 1, DISTURBED)
            order = order if number % 2 else order[::-1]
            rounds.append({one: {key: value and round(value, 4) for key, value in runs[one]().items()} for one in order})
    return {"name": "tcp", "kind": "tcp", "date": today, "machine": machine, "seconds": SECONDS, "rounds": rounds}


def ratio(ours_, peers, lower_is_better):
    """Of each round, so that the machine's drift falls out: the median, and 95 % of the mean of their logarithms."""
    ratios = [peer / own if lower_is_better else own / peer for own, peer in zip(ours_, peers)]
    logs = [math.log(one) for one in ratios]
    half = STUDENT.get(len(logs) - 1, 2.5) * statistics.stdev(logs) / math.sqrt(len(logs))
    middle = statistics.mean(logs)
    return statistics.median(ratios), math.exp(middle - half), math.exp(middle + half)


def section(result):
    rounds, here = result["rounds"], result["machine"]

    def values(name, key):
        return [each[name][key] for each in rounds]

    def spread(numbers):
        return f"{statistics.median(numbers):.2f} ({min(numbers):.2f}–{max(numbers):.2f})"

    rows, latency_rows, slower, four = [], [], [], None
    for title, peers in PEERS.items():
        is_latency = title == "latency"
        key = "microseconds" if is_latency else "gbps"
        second = "p999" if is_latency else "gbytes_per_cpu_second"
        target = latency_rows if is_latency else rows
        name = "crosstie" if is_latency else f"crosstie, {title}"
        target.append(f"| {name} | {spread(values(title, key))} | {spread(values(title, second))} | |")
        for peer in peers:
            median, low, high = ratio(values(title, key), values(peer, key), is_latency)
            target.append(f"| `{peer}` | {spread(values(peer, key))} | {spread(values(peer, second))} | {median:.2f} ({low:.2f}–{high:.2f}) |")
            if high < 1:
                slower.append(peer)
            if peer == "iperf3 -P 4":
                four = (median, low)
    median, low, high = ratio(values(DISTURBED, "gbps"), values("4 streams", "gbps"), False)
    rows.append(f"| crosstie, {DISTURBED} | {spread(values(DISTURBED, 'gbps'))} | {spread(values(DISTURBED, 'gbytes_per_cpu_second'))} | |")
    unchanged = "unchanged within the spread" if low <= 1 <= high else "**changed beyond the spread**"
    disturbed = f"With 100 strangers connected to the data port figures are {median:.2f} ({low:.2f}–{high:.2f}) of those without: {unchanged}."
    met = four[0] > 1 and not slower
    said = f"**{four[0]:.2f} times `iperf3 -P 4`.** Goal: ahead of it, and no peer faster beyond the spread; "
    verdict = "met." if met else f"**not met** ({', '.join(f'`{one}` is faster' for one in slower) or 'not ahead'})."
    return "\n".join(
        [
            "## TCP between two namespaces",
            "",
            f"A virtual cable with an MTU of 9000 between two network namespaces of this machine; {len(rounds)} rounds, in which every program runs in "
            f"turn for {result['seconds']} s after its warm-up, in one order and then in the other. The engine's ends are two processes with a thread a stream and "
            "blocks of 1 MiB; iperf3 is told nothing but what is shown. Behind each median stand the least and the most; ratios are of the "
            "same round, above 1 where crosstie is ahead, with the 95 % interval of their mean. "
            "Both ends share the cores, so these are figures of the kernel's copying and of scheduling, not of a network.",
            "",
            said + verdict,
            "",
            disturbed,
            "",
            "| program | Gb/s | GB a CPU-second, both ends | ratio of Gb/s |",
            "|---|--:|--:|--:|",
            *rows,
            "",
            f"Half a round trip of {MESSAGE} bytes, one at a time:",
            "",
            "| program | median µs | 99.9th percentile µs | ratio of medians |",
            "|---|--:|--:|--:|",
            *latency_rows,
            "",
            f"{result['date']}; {here['cpu']}, {here['cores']} cores; {here['system']}, kernel {here['kernel']}; load before "
            f"{here['load_before']}. Every figure: [`{result['name']}.json`](benchmarks/{result['name']}.json).",
            "",
        ]
    )
