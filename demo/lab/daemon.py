# SPDX-License-Identifier: BSD-3-Clause
"""One daemon: started, ready, reloaded, stopped or killed; what it wrote is kept."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from typing import Any, Optional

from lab.netns import Namespace
from lab.waiting import Timeout

_READY_LIMIT = 60.0


class Daemon:
    """Knows by sd_notify when the program is ready, so that nothing has to be waited for by the clock."""

    def __init__(self, name: str, space: Namespace, argv: list[str], directory: str) -> None:
        self.name = name
        self.space = space
        self.argv = argv
        self.log_path = os.path.join(directory, f"{name}.log")
        self._notify_path = os.path.join(directory, f"{name}.notify")
        self._notify: Optional[socket.socket] = None
        self.process: Optional[subprocess.Popen[Any]] = None

    def start(self) -> None:
        """Returns when the daemon says that it is ready."""
        if self._notify is None:
            self._notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            if os.path.exists(self._notify_path):
                os.unlink(self._notify_path)
            self._notify.bind(self._notify_path)
        self._drain()
        environment = os.environ | {"NOTIFY_SOCKET": self._notify_path}
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = self.space.start(*self.argv, stdout=log, stderr=log, env=environment)
        self._wait_ready("start")

    def reload(self) -> None:
        """SIGHUP; returns when the new configuration is in use."""
        self.begin_reload()
        self.end_reload()

    def begin_reload(self) -> None:
        self._drain()
        self.signal(signal.SIGHUP)

    def end_reload(self) -> None:
        self._wait_ready("reload")

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self) -> int:
        """SIGTERM; returns the exit status."""
        assert self.process is not None
        self.signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def kill(self) -> None:
        """SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(timeout=30)

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def log(self) -> str:
        if not os.path.exists(self.log_path):
            return ""
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def _drain(self) -> None:
        assert self._notify is not None
        while select.select([self._notify], [], [], 0)[0]:
            self._notify.recv(4096)

    def _wait_ready(self, what: str) -> None:
        assert self._notify is not None and self.process is not None
        end = time.monotonic() + _READY_LIMIT
        while time.monotonic() < end:
            if select.select([self._notify], [], [], 0.05)[0]:
                if b"READY=1" in self._notify.recv(4096).split(b"\n"):
                    return
            elif self.process.poll() is not None:
                raise RuntimeError(f"{self.name} ended with status {self.process.returncode} at its {what}:\n{self.tail()}")
        raise Timeout(f"{self.name} was not ready {_READY_LIMIT:g} s after its {what}:\n{self.tail()}")

    def tail(self, lines: int = 15) -> str:
        return "\n".join(self.log().splitlines()[-lines:])
