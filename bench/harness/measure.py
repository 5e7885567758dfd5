# SPDX-License-Identifier: BSD-3-Clause
"""Running the load generators and reading what they and the kernel say."""
from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any, Iterable, Optional

from lab.netns import Namespace, run

from harness.rig import PORT, Rig, client_addresses

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLUSH = os.path.join(ROOT, "bench", "harness", "flush_tables.py")
CPUS = sorted(os.sched_getaffinity(0))
TICKS = os.sysconf("SC_CLK_TCK")


class Programs:
    """Where the built programs are."""

    def __init__(self, build: str) -> None:
        self.build = build

    def generator(self, name: str) -> str:
        return os.path.join(self.build, "bench", f"bench-{name}")

    def daemon(self, name: str) -> str:
        return os.path.join(self.build, name, name)


def say(text: str) -> None:
    """Progress goes to standard error: standard output is for the result."""
    print(text, file=sys.stderr, flush=True)


def on_cpu(index: int, *argv: str) -> list[str]:
    """Pins the generator to the first and the server to the last processor; nothing where there is only one."""
    if len(CPUS) < 2:
        return list(argv)
    return ["taskset", "-c", str(CPUS[0] if index == 0 else CPUS[-1]), *argv]


def steer(space: Namespace) -> None:
    """What `space` receives is worked on by any processor, as another machine's would: else a veth pair has the sender do it, and
    the node's thread would carry the server's network stack."""
    digits = f"{sum(1 << cpu for cpu in CPUS):x}"
    digits = digits.zfill(-(-len(digits) // 8) * 8)
    mask = ",".join(digits[i:i + 8] for i in range(0, len(digits), 8))
    script = f"for file in /sys/class/net/*/queues/rx-0/rps_cpus; do echo {mask} >$file 2>/dev/null; done; true"
    run(["ip", "netns", "exec", space.name, "sh", "-c", script])


def start_server(rig: Rig, programs: Programs, *options: str, pinned: bool = True) -> "subprocess.Popen[Any]":
    """An echo server on both families' addresses; `pinned`: on the last processor only."""
    listen = [word for address in ("0.0.0.0", "[::]") for word in ("--listen", f"{address}:{PORT}")]
    rig.server.sysctl({"net.core.somaxconn": 65535, "net.ipv6.bindv6only": 1})
    argv = [programs.generator("echo_server"), *listen, *options]
    server = rig.server.start(*(on_cpu(1, *argv) if pinned else argv))
    deadline = time.monotonic() + 10
    while f":{PORT} " not in rig.server.run("ss", "-Hltn"):
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the echo server did not start")
        time.sleep(0.02)
    return server


def load(space: Namespace, argv: Iterable[str], limit: float) -> dict[str, Any]:
    """Runs a generator to its end and returns the object that it prints, with its exit status as `status`."""
    done = subprocess.run(space.command(*argv), capture_output=True, text=True, timeout=limit, check=False)
    if not done.stdout.strip():
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return json.loads(done.stdout) | {"status": done.returncode}


def sources(family: int) -> list[str]:
    return [word for address in client_addresses(family) for word in ("--source", address)]


def flush_command(spaces: Iterable[Namespace]) -> str:
    return " ".join([sys.executable, FLUSH, *(space.path for space in spaces)])


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time that the processes have used, all threads."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def resident_octets(pid: int) -> int:
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0


def median(values: Iterable[Optional[float]]) -> float:
    present = [value for value in values if value is not None]
    return statistics.median(present) if present else 0.0
