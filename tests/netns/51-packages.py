# SPDX-License-Identifier: BSD-3-Clause
# limit: 1200
# cases: server node
"""The parts of docs/load-balancer.md that are for real machines, ```sh server and ```sh node, each in a fresh Debian system that
systemd-nspawn boots, with the packages of packaging/deb/build. Skipped where these have not been built."""

from __future__ import annotations

import argparse
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from guides import ROOT, agrees, guide, steps

SKIPPED = 77
NEEDED = ("libasrp0", "asrpd-node", "asrpd-holder", "asrp-tools")
# What a server has anyway.
SYSTEM = ("systemd", "systemd-sysv", "dbus", "iproute2", "openssl", "procps")


def packages(directory: str) -> list[str]:
    return [found[0] for name in NEEDED if (found := sorted(glob.glob(f"{directory}/{name}_*.deb")))]


def dependencies(files: list[str]) -> set[str]:
    """Packages that ours depend on. The system has them, because it has no network."""
    names: set[str] = set()
    for file in files:
        text = subprocess.run(["dpkg-deb", "-f", file, "Depends"], capture_output=True, text=True, check=True).stdout
        names |= {re.split(r"[ (|]", each.strip())[0] for each in text.strip().split(",")}
    return names - set(NEEDED)


def make_root(root: str, files: list[str]) -> None:
    wanted = ",".join(sorted({*SYSTEM, *dependencies(files)}))
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={wanted}", "bookworm", root], check=True)
    for file in files:
        shutil.copy(file, f"{root}/srv")


class Machine:
    """A booted system without a network but an interface `inside`."""

    def __init__(self, root: str, name: str) -> None:
        argv = ["systemd-nspawn", "--quiet", f"--directory={root}", "--boot", "--register=no", "--keep-unit", "--private-network",
                f"--machine={name}", "--console=read-only"]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        self.leader = self._leader()
        self.run("until systemctl is-system-running | grep -q -e running -e degraded; do sleep 0.2; done")
        self.run("ip link add inside type bridge; ip link set inside up; ip address add 10.0.0.1/24 dev inside")

    def _leader(self) -> int:
        for _ in range(300):
            children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False).stdout.split()
            for child in children:
                with open(f"/proc/{child}/comm", encoding="ascii") as file:
                    if file.read().strip() == "systemd":
                        return int(child)
            time.sleep(0.1)
        raise RuntimeError("the system does not boot")

    def run(self, commands: str) -> subprocess.CompletedProcess[str]:
        argv = ["nsenter", f"--target={self.leader}", "--mount", "--uts", "--ipc", "--net", "--pid", "--", "bash", "-euc", f"cd /srv; {commands}"]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment, timeout=200, check=False)

    def end(self) -> None:
        """Pulls the plug; nothing of the system is kept."""
        os.kill(self.leader, signal.SIGKILL)
        self.process.wait()


def run_case(name: str, files: list[str]) -> bool:
    good = True
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        root = f"{directory}/root"
        make_root(root, files)
        machine = Machine(root, f"asrp-{name}-{os.getpid()}")
        try:
            todo = steps(guide("load-balancer.md"), name)
            for step in todo:
                done = machine.run(step.commands)
                right = done.returncode == 0 and (step.wanted is None or agrees(step.wanted, done.stdout))
                print(("ok    " if right else "WRONG ") + f"load-balancer.md:{step.line}", flush=True)
                if not right:
                    print(f"status {done.returncode}, wrote\n{done.stdout}{done.stderr}", flush=True)
                    good = False
        finally:
            machine.end()
    return good and bool(todo)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", help="of no use here: the packages have their own")
    parser.add_argument("--packages", default=os.path.join(ROOT, "build", "deb"), help="where packaging/deb/build has put them")
    parser.add_argument("case", nargs="*", default=["server", "node"])
    arguments = parser.parse_args()
    files = packages(arguments.packages)
    if os.geteuid() != 0 or len(files) < len(NEEDED):
        print("needs root, and the packages of packaging/deb/build")
        return SKIPPED
    missing = [program for program in ("mmdebstrap", "systemd-nspawn") if shutil.which(program) is None]
    if missing:
        print(f"needs {', '.join(missing)}")
        return SKIPPED
    return 0 if all([run_case(name, files) for name in arguments.case]) else 1


if __name__ == "__main__":
    sys.exit(main())
