"""One machine of a lab that is made for a benchmark, and programs that run on it. Used by scripts/bench."""

import contextlib
import json
import subprocess
import tempfile
from pathlib import Path

LAB, NODE = "bench", "spark-a"


class Machine:
    def __init__(self, config):
        self.ssh = ["ssh", "-F", config, NODE]

    def install(self, program, place):
        """Copies a program of this machine there."""
        with open(program, "rb") as source:
            subprocess.run([*self.ssh, f"cat > {place} && chmod +x {place}"], stdin=source, check=True)

    def kernel(self):
        return subprocess.run([*self.ssh, "uname -r"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()

    def run(self, title, driver, *arguments):
        """What a Python program prints that runs there as root: a line of JSON at a time."""
        words = " ".join(f"'{json.dumps(argument)}'" for argument in arguments)
        command = [*self.ssh, f"sudo -n prlimit --memlock=unlimited python3 - {words}"]
        running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running.stdin.write(driver)
        running.stdin.close()
        lines = []
        for line in running.stdout:
            print(f"== {title}: {line.strip()[:200]}", flush=True)
            lines.append(json.loads(line))
        if running.wait():
            raise SystemExit("bench: the runs in the lab machine failed, see above")
        return lines


@contextlib.contextmanager
def lab_machine(crosstie):
    with tempfile.TemporaryDirectory() as folder:
        where = ["--name", LAB, "--dir", folder]
        subprocess.run([crosstie, "lab", "up", *where], check=True)
        try:
            yield Machine(Path(folder) / LAB / "ssh_config")
        finally:
            subprocess.run([crosstie, "lab", "down", *where], check=True)
