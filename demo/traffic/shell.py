# SPDX-License-Identifier: BSD-3-Clause
"""Real OpenSSH: a server, and sessions that answer, or in which the server speaks first."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
import time
from typing import IO, Optional, cast

from lab.netns import Namespace, run
from lab.waiting import wait_for

_SERVER = """
Port {port}
HostKey {directory}/host
AuthorizedKeysFile {directory}/client.pub
PidFile none
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
PermitRootLogin yes
SetEnv HOME={directory}
"""


def make_keys(directory: str) -> None:
    """The keys of all servers and clients of a laboratory."""
    for key in ("host", "client"):
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{directory}/{key}"])


def start_sshd(space: Namespace, directory: str, port: int) -> None:
    """Returns when it listens."""
    path = f"{directory}/sshd-{port}.conf"
    with open(path, "w", encoding="ascii") as file:
        file.write(_SERVER.format(port=port, directory=directory))
    os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    with open(f"{directory}/sshd.log", "a", encoding="utf-8") as log:
        space.start("/usr/sbin/sshd", "-D", "-e", "-f", path, stdout=log, stderr=log)
    wait_for(f"sshd in {space.name}", lambda: f":{port:04X} 0" in space.read("/proc/thread-self/net/tcp6"))


class Shell:
    """One session. Its command is `cat`; or, with a `told` file, one that writes the lines which are added to that file, so that
    the server speaks first."""

    def __init__(self, space: Namespace, directory: str, address: str, port: int, told: str = "") -> None:
        self._told = told
        self._said = 0
        self._lines: "queue.Queue[Optional[str]]" = queue.Queue()
        if told:
            with open(told, "w", encoding="ascii"):
                pass
        command = f"tail -n +1 -s 0.05 -f {told}" if told else "cat"
        self.process = space.start(
            "ssh", "-F", "none", "-p", str(port), "-i", f"{directory}/client", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
            "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=60", f"root@{address}", command,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def server_speaks(self) -> bool:
        """Whether the server is the first to speak."""
        return bool(self._told)

    def say(self) -> None:
        """A new line, on the side that speaks."""
        self._said += 1
        line = f"line {self._said}\n"
        if self._told:
            with open(self._told, "a", encoding="ascii") as file:
                file.write(line)
            return
        try:
            pipe = cast(IO[str], self.process.stdin)
            pipe.write(line)
            pipe.flush()
        except OSError:
            pass  # the session is gone, as hear() will find

    def hear(self, limit: float) -> str:
        """Nothing if the last line that was said comes within `limit` seconds; else what is wrong."""
        end = time.monotonic() + limit
        wanted = f"line {self._said}\n"
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return f"silent for {limit:.1f} s"
            if line is None:
                return "closed"
            if line == wanted:
                return ""

    def close(self) -> None:
        """The client ends it."""
        if self._told:
            self.process.terminate()
        else:
            cast(IO[str], self.process.stdin).close()
        self.process.wait(timeout=30)

    def _read(self) -> None:
        for line in cast(IO[str], self.process.stdout):
            self._lines.put(line)
        self._lines.put(None)
