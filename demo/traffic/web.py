# SPDX-License-Identifier: BSD-3-Clause
"""Real nginx on every server, and rate-limited downloads with curl whose content is compared by SHA-256 at both ends."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import time
from dataclasses import dataclass
from typing import Optional, Sequence, Union

from lab import plan
from lab.netns import Namespace
from lab.waiting import wait_for

_CONFIGURATION = """
user root;
worker_processes 1;
daemon off;
master_process off;
pid {directory}/nginx-{name}.pid;
error_log {directory}/nginx-{name}.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  default_type application/octet-stream;
  client_body_temp_path {directory}/nginx-{name}-body;
  proxy_temp_path {directory}/nginx-{name}-proxy;
  fastcgi_temp_path {directory}/nginx-{name}-fastcgi;
  uwsgi_temp_path {directory}/nginx-{name}-uwsgi;
  scgi_temp_path {directory}/nginx-{name}-scgi;
  keepalive_timeout 600;
  send_timeout 600;
  sendfile on;
  sendfile_max_chunk 8k;
  server {{
    listen 0.0.0.0:{port} backlog=4096;
    listen [::]:{port} ipv6only=on backlog=4096;
    root {directory}/content;
    add_header X-Server {name};
    location / {{ limit_rate {rate}; }}
    location /fast/ {{ alias {directory}/content/; }}
  }}
}}
"""


class Content:
    """Files of random octets that differ from each other, with their SHA-256 as the servers have them."""

    def __init__(self, directory: str, count: int, size: int) -> None:
        self.directory = directory
        self.size = size
        self.digests: list[str] = []
        os.makedirs(os.path.join(directory, "content"), exist_ok=True)
        for number in range(count):
            octets = random.Random(number).randbytes(size)
            with open(os.path.join(directory, "content", name(number)), "wb") as file:
                file.write(octets)
            self.digests.append(hashlib.sha256(octets).hexdigest())


def name(number: int) -> str:
    return f"f{number:04d}"


def start_nginx(space: Namespace, directory: str, rate: int) -> None:
    """`rate` in octets a second and download; 0 does not limit. Returns when it listens."""
    label = space.name.split("-")[-1]
    path = os.path.join(directory, f"nginx-{label}.conf")
    with open(path, "w", encoding="ascii") as file:
        file.write(_CONFIGURATION.format(directory=directory, name=label, port=plan.HTTP_PORT, rate=rate))
    with open(os.path.join(directory, f"nginx-{label}.out"), "w", encoding="utf-8") as log:
        space.start("nginx", "-c", path, "-e", os.path.join(directory, f"nginx-{label}.log"), stdout=log, stderr=log)
    wait_for(f"nginx in {space.name}", lambda: _listens(space, plan.HTTP_PORT))


def _listens(space: Namespace, port: int) -> bool:
    return all(f":{port:04X} 0" in space.read(f"/proc/thread-self/net/{table}") for table in ("tcp", "tcp6"))


@dataclass
class Transfer:
    number: int
    client: int
    process: "subprocess.Popen[bytes]"
    path: str
    started: float
    status: Optional[int] = None
    ended: float = 0.0
    byte_exact: bool = False


class Downloads:
    """One curl for each file of the content, spread over the client namespaces and over the servers' addresses if there are several. It
    gives up after `limit` seconds, and when nothing has come for `stall` seconds."""

    def __init__(self, content: Content, clients: dict[int, Namespace], address: Union[str, Sequence[str]], limit: float, stall: int,
                 label: str = "got") -> None:
        addresses = [address] if isinstance(address, str) else address
        self.content = content
        self.transfers: list[Transfer] = []
        self.progress = ""
        numbers = sorted(clients)
        for number in range(len(content.digests)):
            client = numbers[number % len(numbers)]
            path = os.path.join(content.directory, f"{label}-{name(number)}")
            url = f"http://{plan.bracketed(addresses[number % len(addresses)])}:{plan.HTTP_PORT}/{name(number)}"
            process = clients[client].start("curl", "-s", "-S", "-f", "--max-time", str(limit), "--speed-limit", "1",
                                            "--speed-time", str(stall), "-o", path, url,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.transfers.append(Transfer(number, client, process, path, time.monotonic()))

    def poll(self) -> int:
        """How many still run; the ended ones are checked."""
        running = 0
        for transfer in self.transfers:
            if transfer.status is not None:
                continue
            transfer.status = transfer.process.poll()
            if transfer.status is None:
                running += 1
                continue
            transfer.ended = time.monotonic()
            transfer.byte_exact = transfer.status == 0 and _digest(transfer.path) == self.content.digests[transfer.number]
        return running

    def octets(self) -> list[int]:
        """How much of each transfer has arrived."""
        return [os.path.getsize(t.path) if os.path.exists(t.path) else 0 for t in self.transfers]

    def has_reached(self, share: float) -> bool:
        """Whether `share` of all octets has arrived, and nearly all transfers have begun; or none runs any more. `progress` tells of it."""
        goal = self.content.size * len(self.transfers)
        running = self.poll()
        octets = self.octets()
        self.progress = f"downloads: {len(octets) - running} of {len(octets)} done, {100 * sum(octets) // goal} %"
        return sum(octets) >= share * goal and sorted(octets)[len(octets) // 10] > 0 or running == 0

    def exact(self) -> int:
        return sum(transfer.byte_exact for transfer in self.transfers)


def _digest(path: str) -> str:
    if not os.path.exists(path):
        return ""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
