# SPDX-License-Identifier: BSD-3-Clause
"""iperf3 at a rate of its own, in either direction: a control connection and one of data."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from lab.netns import Namespace
from lab.waiting import wait_for

CONNECTIONS = 2


class Rate:
    """One run of `octets` octets, from the client or (`reverse`) from the server. It ends when all of them were given to the sender's
    TCP, which has little room: what the other end has not read by then counts as missing, and may be so much and no more."""

    SLACK = 65_536

    def __init__(self, server: Namespace, client: Namespace, address: str, port: int, octets: int, rate: int, reverse: bool) -> None:
        self.octets = octets
        self._client, self._port = client, port
        self.name = f"iperf3 {'down' if reverse else 'up'} on port {port}"
        server.start("iperf3", "-s", "-1", "-p", str(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(f"iperf3 in {server.name}", lambda: f":{port:04X} 0" in server.read("/proc/thread-self/net/tcp6"))
        self._process = client.start(
            "iperf3", "-J", "-c", address, "-p", str(port), "-n", str(octets), "-b", str(8 * rate), "-l", "4K", "-w", "16K", *(["-R"] if reverse else []),
            "-i", "0", "--connect-timeout", "60000", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def is_connected(self) -> bool:
        """Whether both connections are open: that of data comes after what the other one has settled, with loss a second later."""
        opened = self._client.run("ss", "-Htn", "state", "established", "dport", "=", f":{self._port}")
        return len(opened.splitlines()) == CONNECTIONS

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def end(self, limit: float) -> str:
        """Nothing if all octets have come within `limit` seconds; else what is wrong."""
        try:
            output, _ = self._process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return "not done in time"
        return self._wrong(output)

    def _wrong(self, output: str) -> str:
        try:
            report: dict[str, Any] = json.loads(output)
        except ValueError:
            return output.strip()[-200:] or "no report"
        if "error" in report or self._process.returncode != 0:
            return str(report.get("error", f"status {self._process.returncode}"))
        received = int(report["end"]["sum_received"]["bytes"])
        return "" if received >= self.octets - self.SLACK else f"{received} of {self.octets} octets came"
