# SPDX-License-Identifier: BSD-3-Clause
"""Usage: udp_server.py PORT NAME
Answers each UDP datagram, on IPv4 and IPv6, with NAME, a space and the datagram. Writes "ready" when it listens."""

from __future__ import annotations

import selectors
import socket
import sys


def _main(port: int, name: bytes) -> None:
    selector = selectors.DefaultSelector()
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        endpoint = socket.socket(family, socket.SOCK_DGRAM)
        if family == socket.AF_INET6:
            endpoint.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        endpoint.bind((address, port))
        selector.register(endpoint, selectors.EVENT_READ, endpoint)
    print("ready", flush=True)
    while True:
        for key, _ in selector.select():
            octets, peer = key.data.recvfrom(65536)
            try:
                key.data.sendto(name + b" " + octets, peer)
            except OSError:
                pass  # the peer is gone; that is for the client to notice


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2].encode())
