# SPDX-License-Identifier: BSD-3-Clause
"""A fresh Debian system that systemd-nspawn boots, with a network of its own: where packages are tried."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What a server has anyway.
SYSTEM = ("systemd", "systemd-sysv", "dbus", "iproute2", "openssl", "procps")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
UNPACK = ("tar", "-x", "--numeric-owner", "--xattrs", "--xattrs-include=*")


class Failed(Exception):
    """A command of a machine failed; says which and what it wrote."""


def make_root(root: str, packages: set[str], base: str = "") -> None:
    """A minimal system with these packages, from the distribution's archive. `base` is an archive of one that is taken if it has
    them all, and written if not."""
    wanted = {*SYSTEM, *packages}
    if base and os.path.exists(base):
        os.mkdir(root)
        subprocess.run([*UNPACK, "-f", base, "-C", root], check=True)
        if wanted <= _installed(root):
            return
        shutil.rmtree(root)
        os.remove(base)
    argv = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(sorted(wanted))}", "bookworm"]
    if base:
        subprocess.run([*argv, base], check=True)
        os.mkdir(root)
        subprocess.run([*UNPACK, "-f", base, "-C", root], check=True)
    else:
        subprocess.run([*argv, root], check=True)


def _installed(root: str) -> set[str]:
    """Packages, and what they provide."""
    argv = ["dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W", "-f", "${Package} ${Provides}\\n"]
    return set(re.sub(r"\([^)]*\)|,", " ", subprocess.run(argv, capture_output=True, text=True, check=True).stdout).split())


class Machine:
    """A booted system. Its network has no interface but those that are plugged in."""

    def __init__(self, root: str, name: str) -> None:
        self.root = root
        argv = ["systemd-nspawn", "--quiet", f"--directory={root}", "--boot", "--register=no", "--keep-unit", "--private-network",
                f"--machine={name}", "--console=read-only"]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        self.leader = self._leader()
        self.do("until systemctl is-system-running | grep -q -e running -e degraded; do sleep 0.2; done")

    def _leader(self) -> int:
        for _ in range(600):
            children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False).stdout.split()
            for child in children:
                with open(f"/proc/{child}/comm", encoding="ascii") as file:
                    if file.read().strip() == "systemd":
                        return int(child)
            time.sleep(0.1)
        raise Failed("the system does not boot")

    def run(self, commands: str, limit: float = 200) -> subprocess.CompletedProcess[str]:
        """Runs shell commands in the system, in /srv, up to the first that fails."""
        argv = ["nsenter", f"--target={self.leader}", "--mount", "--uts", "--ipc", "--net", "--pid", "--", "bash", "-euc", f"cd /srv; {commands}"]
        return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=ENVIRONMENT, timeout=limit, check=False)

    def do(self, commands: str, limit: float = 200) -> str:
        """As run(), for what has to work; returns what it wrote."""
        done = self.run(commands, limit)
        if done.returncode != 0:
            raise Failed(f"{commands}\nstatus {done.returncode}, wrote\n{done.stdout}{done.stderr}")
        return done.stdout

    def inside(self, *argv: str) -> list[str]:
        """The command line that runs a program of this host in the system's network."""
        return ["nsenter", f"--net=/proc/{self.leader}/ns/net", "--", *argv]

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """A file of the system."""
        with open(self.root + path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.root + path, mode)

    def end(self) -> None:
        """Pulls the plug; nothing of the system is kept."""
        os.kill(self.leader, signal.SIGKILL)
        self.process.wait()


def connect(first: int, first_name: str, first_address: str, second: int, second_name: str, second_address: str) -> None:
    """A cable between the networks of two processes."""
    ends = (f"asrp-{first % 100000}a", f"asrp-{first % 100000}b")
    subprocess.run(["ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1]], check=True)
    for end, process, name, address in zip(ends, (first, second), (first_name, second_name), (first_address, second_address)):
        subprocess.run(["ip", "link", "set", end, "netns", str(process), "name", name], check=True)
        inside = ["nsenter", f"--net=/proc/{process}/ns/net", "--", "ip"]
        subprocess.run([*inside, "address", "add", address, "dev", name], check=True)
        subprocess.run([*inside, "link", "set", name, "up"], check=True)
