# SPDX-License-Identifier: BSD-3-Clause
"""Sockets that live in a namespace, wherever their user is."""

from __future__ import annotations

import socket

import support
from lab.netns import Namespace


def _made(space: Namespace, family: int, kind: int, source: str, port: int) -> socket.socket:
    with space.entered():
        out = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, kind)
    out.settimeout(support.PATIENCE)
    if kind == socket.SOCK_STREAM:
        out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    out.bind((source or ("0.0.0.0" if family == 4 else "::"), port))
    return out


def tcp(space: Namespace, family: int = 4, source: str = "", port: int = 0) -> socket.socket:
    return _made(space, family, socket.SOCK_STREAM, source, port)


def udp(space: Namespace, family: int = 4, source: str = "", port: int = 0) -> socket.socket:
    return _made(space, family, socket.SOCK_DGRAM, source, port)


def listener(space: Namespace, family: int = 4, port: int = 0) -> socket.socket:
    out = tcp(space, family, port=port)
    out.listen(64)
    return out


def connected(client: socket.socket, listening: socket.socket, to: tuple[str, int]) -> socket.socket:
    """The other end of a new connection; some octets have gone both ways."""
    client.connect(to)
    end, _ = listening.accept()
    end.settimeout(support.PATIENCE)
    client.sendall(b"question")
    assert end.recv(64) == b"question"
    end.sendall(b"answer")
    assert client.recv(64) == b"answer"
    return end
