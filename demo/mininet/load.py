# SPDX-License-Identifier: BSD-3-Clause
"""Downloads without end for an interactive network: when one is done the next begins."""

from __future__ import annotations

import os
import threading
import time

from lab.topology import Topology
from traffic.web import Content, Downloads, start_nginx

_LIMIT = 600.0
_STALL = 60  # seconds without an octet, after which a download counts as broken
_LOOK_EVERY = 0.1


class Load:
    """`at_once` rate-limited downloads for each client, from start() to stop(), in a thread of its own."""

    def __init__(self, topology: Topology, directory: str, family: int, at_once: int, octets: int, rate: int) -> None:
        self.topology = topology
        self.content = Content(directory, 1, octets)
        self.exact = 0
        self.broken: list[str] = []
        self._directory = directory
        self._addresses = topology.shape.ground.targets(len(topology.servers), family)
        self._rate = rate
        self._slots = [client for client in topology.clients for _ in range(at_once)]
        self._running: list[Downloads] = []
        self._serial = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """nginx on every server, then the downloads."""
        for space in self.topology.servers.values():
            start_nginx(space, self._directory, self._rate)
        self._running = [self._begin(client) for client in self._slots]
        self._thread.start()

    def stop(self) -> None:
        """Ends them; those that were under way count neither as exact nor as broken."""
        self._stop.set()
        self._thread.join(timeout=10)
        for downloads in self._running:
            downloads.transfers[0].process.terminate()

    def _begin(self, client: int) -> Downloads:
        self._serial += 1
        return Downloads(self.content, {client: self.topology.clients[client]}, self._addresses[self._serial % len(self._addresses)], _LIMIT, _STALL,
                         label=f"endless{self._serial}")

    def _run(self) -> None:
        while not self._stop.wait(_LOOK_EVERY):
            for slot, downloads in enumerate(self._running):
                if downloads.poll() > 0:
                    continue
                transfer = downloads.transfers[0]
                if transfer.byte_exact:
                    self.exact += 1
                else:
                    moment = time.strftime("%H:%M:%S")
                    self.broken.append(f"{moment} a download of c{transfer.client} broke: curl status {transfer.status}")
                if os.path.exists(transfer.path):
                    os.unlink(transfer.path)
                self._running[slot] = self._begin(transfer.client)
