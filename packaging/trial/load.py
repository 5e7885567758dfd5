# SPDX-License-Identifier: BSD-3-Clause
"""Sessions through the cluster while packages are changed: downloads that must be exact and connections that must answer."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from typing import IO

from machine import ROOT, Failed

TRAFFIC = os.path.join(ROOT, "demo", "traffic")


def _lines(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


class Echo:
    """Idle connections that can be asked whether they are alive."""

    def __init__(self, inside: list[str], address: str, port: int, count: int) -> None:
        argv = [*inside, "python3", f"{TRAFFIC}/echo_client.py", address, str(port), str(count)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.count = count
        self.ask("open")

    def ask(self, command: str) -> None:
        """All must answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        told = json.loads(_lines(self.process).readline())
        if told["broken"] or len(told["alive"]) != self.count:
            raise Failed(f"{command}: of {self.count} connections {len(told['alive'])} are alive, broken: {told['broken']}")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class Downloads:
    """Transfers of one file, each slowed down so that it outlasts what happens meanwhile."""

    def __init__(self, inside: list[str], url: str, directory: str, count: int, rate: str) -> None:
        self.files = [f"{directory}/copy-{number}" for number in range(count)]
        self.processes = [subprocess.Popen([*inside, "curl", "-s", "-S", "--max-time", "300", "--limit-rate", rate, "-o", file, url])
                          for file in self.files]

    def running(self) -> int:
        return sum(process.poll() is None for process in self.processes)

    def finish(self, original: str) -> None:
        """All must end well and be exact."""
        wanted = _digest(original)
        for process, file in zip(self.processes, self.files):
            if process.wait() != 0:
                raise Failed(f"a download ended with curl's status {process.returncode}")
            if _digest(file) != wanted:
                raise Failed(f"{file} is not what the server has")

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def serve(inside: list[str], directory: str) -> list[subprocess.Popen[str]]:
    """A web server at port 80 and one that echoes at port 7."""
    web = subprocess.Popen([*inside, "python3", "-m", "http.server", "--directory", directory, "80"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, text=True)
    echo = subprocess.Popen([*inside, "python3", f"{TRAFFIC}/echo_server.py", "7"], stdout=subprocess.PIPE, text=True)
    if _lines(echo).readline() != "ready\n":
        raise Failed("the server that echoes does not listen")
    subprocess.run([*inside, "curl", "-s", "--retry", "50", "--retry-connrefused", "--retry-delay", "1", "-o", "/dev/null",
                    "http://127.0.0.1/"], check=True)
    return [web, echo]


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
