# SPDX-License-Identifier: BSD-3-Clause
"""One network namespace: made, entered, given commands, removed with everything that runs in it."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
from contextlib import contextmanager
from typing import IO, Any, Iterator, Mapping, Optional, Sequence, Union

from lab.waiting import wait_for

CLONE_NEWNET = 0x40000000
_SIOCGIFHWADDR = 0x8927
_libc = ctypes.CDLL(None, use_errno=True)


class CommandFailed(RuntimeError):
    """A command of the laboratory failed; says which and what it wrote."""


def run(argv: Sequence[str], stdin: Optional[str] = None, check: bool = True, limit: float = 60.0) -> str:
    """Runs a command to its end and returns what it wrote to standard output."""
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=limit, check=False)
    if check and done.returncode != 0:
        raise CommandFailed(f"{' '.join(argv)}: status {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


class Namespace:
    """A named network namespace. Its loopback is up and IPv6 addresses are usable at once (no duplicate detection)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = f"/run/netns/{name}"
        self.alive = False

    def create(self) -> None:
        self._make()
        self.alive = True
        self.ip("link set lo up")
        self.sysctl({
            "net.ipv6.conf.all.accept_dad": "0",
            "net.ipv6.conf.default.accept_dad": "0",
            "net.ipv6.conf.default.accept_ra": "0",
            "net.ipv6.conf.all.disable_ipv6": "0",
            "net.ipv6.conf.default.disable_ipv6": "0",
        })
        # Namespaces pass a packet's hash on, and routers take it for their choice of a path. TCP draws a new one when it repeats
        # itself, which on real links nobody sees: without this a loss would change the node.
        if os.path.exists("/proc/sys/net/core/txrehash"):
            self.sysctl({"net.core.txrehash": 0})

    def _make(self) -> None:
        run(["ip", "netns", "add", self.name])

    def remove(self) -> None:
        """Kills what runs in the namespace and removes it; no error if it is gone."""
        if os.path.exists(self.path):
            self.kill_all()
            run(["ip", "netns", "delete", self.name], check=False)
        self.alive = False

    def pids(self) -> list[int]:
        return [int(word) for word in run(["ip", "netns", "pids", self.name], check=False).split()]

    def kill_all(self) -> None:
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        wait_for(f"the end of the processes in {self.name}", lambda: not self.pids(), limit=30)

    def command(self, *argv: str) -> list[str]:
        """The command line that runs `argv` in here; the process is the program itself, not a wrapper."""
        return ["nsenter", f"--net={self.path}", "--", *argv]

    def run(self, *argv: str, stdin: Optional[str] = None, check: bool = True, limit: float = 60.0) -> str:
        return run(self.command(*argv), stdin=stdin, check=check, limit=limit)

    def ip(self, *lines: str, family: int = 0) -> None:
        """Commands of `ip`, one a line, without the word ip; they go in as one batch, for one family if one is given."""
        flags = [f"-{family}"] if family else []
        run(["ip", *flags, "-n", self.name, "-batch", "-"], stdin="\n".join(lines) + "\n")

    def start(self, *argv: str, **options: Any) -> "subprocess.Popen[Any]":
        """Starts a program in here, in a session of its own so that Ctrl-C reaches the laboratory first."""
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(self.command(*argv), start_new_session=True, **options)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """The calling thread works inside the namespace (sockets, /proc/sys/net, /proc/thread-self/net)."""
        with open("/proc/thread-self/ns/net", "rb") as before:
            with open(self.path, "rb") as here:
                _set_namespace(here)
            try:
                yield
            finally:
                _set_namespace(before)

    def sysctl(self, values: Mapping[str, Union[str, int]]) -> None:
        with self.entered():
            for key, value in values.items():
                with open("/proc/sys/" + key.replace(".", "/"), "w", encoding="ascii") as file:
                    file.write(str(value))

    def read(self, path: str) -> str:
        """A file of /proc as the namespace shows it; use /proc/thread-self/net for /proc/net."""
        with self.entered():
            with open(path, encoding="ascii", errors="replace") as file:
                return file.read()

    def interface_index(self, device: str) -> int:
        with self.entered():
            return socket.if_nametoindex(device)

    def hardware_address(self, device: str) -> str:
        with self.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            return fcntl.ioctl(any_socket, _SIOCGIFHWADDR, struct.pack("16s24x", device.encode()))[18:24].hex(":")

    def flush_sessions(self) -> None:
        """Empties the conntrack table."""
        self.run("conntrack", "-F", check=False)

    def forget(self, port: int, family: int) -> None:
        """Takes the entries of a service's TCP connections out of the conntrack table."""
        self.run("conntrack", "-D", "-f", f"ipv{family}", "-p", "tcp", "--orig-port-dst", str(port), check=False)


def _set_namespace(file: IO[bytes]) -> None:
    if _libc.setns(file.fileno(), CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "setns")
