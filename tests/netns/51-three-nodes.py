# SPDX-License-Identifier: BSD-3-Clause
# limit: 240
"""packaging/examples/three-nodes as it stands: each machine has its network and its own /etc/asrp, /run and /var/lib/asrp, with the
example's files where its README puts them. A node dies while downloads run, none of which may be cut off or altered.

Everything is in mount, network and process namespaces of this test, which end with it."""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time

from guides import ROOT

EXAMPLES = os.path.join(ROOT, "packaging", "examples")
HERE = os.path.join(EXAMPLES, "three-nodes")
PROGRAMS = {"asrpd-node": "asrpd-node", "asrpd-holder": "asrpd-holder", "asrpctl": "tools/asrpctl"}
SERVICE = "203.0.113.10"
DOWNLOADS = 18
SIZE = 12 << 20
RATE = "800k"
PATIENCE = 90.0
# Folders that machines have of their own must be there; what is written to the system is a layer that goes with the namespace.
SYSTEM = """
mount -t tmpfs tmpfs /run
for directory in etc var/lib; do
  mkdir -p "/run/layers/$directory/new" "/run/layers/$directory/work"
  mount -t overlay overlay -o "lowerdir=/$directory,upperdir=/run/layers/$directory/new,workdir=/run/layers/$directory/work" "/$directory"
done
mkdir -p /etc/asrp /var/lib/asrp
"""


class Machine:
    """Namespaces that a sleeping process holds, and what runs in them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.holder = subprocess.Popen(["unshare", "--net", "--mount", "--propagation", "private", "bash", "-euc",
                                        "for place in /run /etc/asrp /var/lib/asrp; do mount -t tmpfs tmpfs $place; done; "
                                        "mkdir /run/asrp; ip link set lo up; sysctl -q net.ipv4.ip_forward=1 net.ipv4.fib_multipath_hash_policy=1; "
                                        "echo ready; exec sleep infinity"], stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout is not None
        if self.holder.stdout.readline() != "ready\n":
            raise RuntimeError(f"{name}: no namespaces")
        self.started: list[subprocess.Popen[bytes]] = []

    def command(self, *argv: str) -> list[str]:
        return ["nsenter", f"--target={self.holder.pid}", "--net", "--mount", "--", *argv]

    def run(self, *argv: str, check: bool = True) -> str:
        done = subprocess.run(self.command(*argv), capture_output=True, text=True, check=False, timeout=60)
        if check and done.returncode != 0:
            raise RuntimeError(f"{self.name}: {' '.join(argv)}: status {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def start(self, *argv: str) -> None:
        with open(f"{os.environ['LOGS']}/{self.name}.log", "ab") as log:
            self.started.append(subprocess.Popen(self.command(*argv), stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def put(self, source: str, target: str) -> None:
        self.run("cp", source, target)

    def die(self) -> None:
        """Its links are gone, and its programs."""
        for line in self.run("ip", "-o", "link", "show", "type", "veth").splitlines():
            self.run("ip", "link", "set", line.split()[1].split("@")[0], "down")
        for process in self.started:
            process.kill()


def wait_for(what: str, condition) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {PATIENCE:g} s for {what}")
        time.sleep(0.1)


def cable(first: Machine, first_address: str, second: Machine, second_address: str) -> None:
    names = (f"to-{second.name}", f"to-{first.name}")
    subprocess.run(["ip", "link", "add", names[0], "netns", str(first.holder.pid), "type", "veth", "peer", "name", names[1],
                    "netns", str(second.holder.pid)], check=True)
    for machine, name, address in ((first, names[0], first_address), (second, names[1], second_address)):
        machine.run("ip", "address", "add", f"{address}/24", "dev", name)
        machine.run("ip", "link", "set", name, "up")


def build() -> dict[str, Machine]:
    names = ["client", "edge", "core", "node1", "node2", "node3", "s1", "s2"]
    machines = {name: Machine(name) for name in names}
    cable(machines["client"], "198.51.100.9", machines["edge"], "198.51.100.1")
    machines["client"].run("ip", "route", "add", "default", "via", "198.51.100.1")
    for number in (1, 2, 3):
        cable(machines["edge"], f"10.1.{number}.1", machines[f"node{number}"], f"10.1.{number}.2")
        cable(machines[f"node{number}"], f"10.2.{number}.2", machines["core"], f"10.2.{number}.1")
    for number in (1, 2):
        cable(machines["core"], f"10.3.{number}.1", machines[f"s{number}"], f"10.3.{number}.10")
        machines[f"s{number}"].run("ip", "route", "add", "default", "via", f"10.3.{number}.1")
    return machines


def configure(machines: dict[str, Machine], directory: str) -> None:
    """In the order of the example's README."""
    for name in ("placement.key", "cookie.key"):
        with open(f"{directory}/{name}", "w", encoding="ascii") as file:
            file.write(os.urandom(16).hex() + "\n")
    for name in ("s1", "s2"):
        machines[name].put(f"{HERE}/holder.toml", "/etc/asrp/holder.toml")
        machines[name].start("asrpd-holder")
        machines[name].start("python3", "-m", "http.server", "--directory", f"{directory}/www", "80")
    nodes = [machines[f"node{number}"] for number in (1, 2, 3)]
    for node in nodes:
        node.put(f"{HERE}/{node.name}.toml", "/etc/asrp/node.toml")
        for name in ("placement.key", "cookie.key"):
            node.put(f"{directory}/{name}", f"/etc/asrp/{name}")
        node.start("asrpd-node")
    for name in ("edge", "core", "node1", "node2", "node3"):
        machines[name].start("bird", "-f", "-c", f"{HERE}/bird/{name}.conf", "-s", "/run/bird.ctl", "-P", "/run/bird.pid")
    for node in nodes:
        node.start(f"{EXAMPLES}/asrp-announce", "--up", "birdc -s /run/bird.ctl enable '\"asrp*\"'", "--down",
                   "birdc -s /run/bird.ctl disable '\"asrp*\"'")
    for name, prefix in (("edge", SERVICE), ("core", "default")):
        wait_for(f"{name}'s routes to three nodes", lambda name=name, prefix=prefix:
                 machines[name].run("ip", "route", "show", prefix).count("nexthop") == 3)
    for node in nodes:
        wait_for(f"the holders' answers at {node.name}", lambda node=node: node.run("asrpctl", "backends", check=False).count("answers") == 2)


def digests(node: Machine) -> list[str]:
    return [line for line in node.run("asrpctl", "status").splitlines() if "digest" in line]


def established(node: Machine) -> int:
    return int(node.run("asrpctl", "sessions", "--state", "established").splitlines()[-1].split()[0])


def restored(node: Machine) -> int:
    lines = node.run("asrpctl", "counters", "--all").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("sessions.restored_rs"))


def play(directory: str) -> list[str]:
    os.mkdir(f"{directory}/www")
    with open(f"{directory}/www/file", "wb") as file:
        file.write(os.urandom(SIZE))
    subprocess.run(["bash", "-euc", SYSTEM], check=True)
    machines = build()
    configure(machines, directory)
    nodes = [machines[f"node{number}"] for number in (1, 2, 3)]
    wrong = []
    if any(digests(node) != digests(nodes[0]) or len(digests(node)) != 2 for node in nodes):
        wrong.append(f"digests differ: {[digests(node) for node in nodes]}")
    copies = [f"{directory}/copy{number}" for number in range(DOWNLOADS)]
    loads = [subprocess.Popen(machines["client"].command("curl", "-sS", "--limit-rate", RATE, "--max-time", "150", "-o", copy, f"http://{SERVICE}/file"))
             for copy in copies]
    wait_for("all sessions", lambda: sum(established(node) for node in nodes) >= DOWNLOADS)
    dying = max(nodes, key=established)
    lost = established(dying)
    before = {node.name: restored(node) for node in nodes}
    dying.die()
    for load in loads:
        if load.wait() != 0:
            wrong.append(f"a download ended with curl's status {load.returncode}")
    with open(f"{directory}/www/file", "rb") as file:
        wanted = hashlib.file_digest(file, "sha256").digest()
    for copy in copies:
        with open(copy, "rb") as file:
            if hashlib.file_digest(file, "sha256").digest() != wanted:
                wrong.append(f"{copy} is not what the server has")
    moved = sum(restored(node) - before[node.name] for node in nodes if node is not dying)
    print(f"{dying.name} died with {lost} sessions; the others restored {moved}", flush=True)
    if lost == 0 or moved == 0:
        wrong.append("nothing had to be restored")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", default="build/release")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("needs root: sudo tests/netns/51-three-nodes.py", file=sys.stderr)
        return 77
    if arguments.inside:
        try:
            wrong = play(arguments.inside)
        except (RuntimeError, subprocess.SubprocessError) as problem:
            wrong = [str(problem)]
            for name in sorted(os.listdir(os.environ["LOGS"])):
                with open(f"{os.environ['LOGS']}/{name}", encoding="utf-8", errors="replace") as file:
                    print(f"--- {name}\n{file.read()[-1500:]}", flush=True)
        for problem in wrong:
            print(f"WRONG {problem}", flush=True)
        return 1 if wrong else 0
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(f"{directory}/bin")
        os.mkdir(f"{directory}/logs")
        for program, folder in PROGRAMS.items():
            os.symlink(os.path.abspath(f"{arguments.programs}/{folder}/{program}"), f"{directory}/bin/{program}")
        path = f"{directory}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        return subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "--propagation", "private",
                               sys.executable, "-B", os.path.abspath(__file__), "--inside", directory],
                              env={**os.environ, "PATH": path, "LOGS": f"{directory}/logs"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
