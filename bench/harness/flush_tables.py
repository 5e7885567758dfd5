#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Usage: flush_tables.py NETNS-PATH... Empties the conntrack tables of these namespaces when told, with one netlink message
each. An event in the sense of bench/load/support.hpp: prints "ready", waits for a line, acts, prints "done"."""
import ctypes
import os
import socket
import struct
import sys

CLONE_NEWNET = 0x40000000
NETLINK_NETFILTER = 12
CT_DELETE = 1 << 8 | 2  # NFNL_SUBSYS_CTNETLINK, IPCTNL_MSG_CT_DELETE: without a tuple it means all
REQUEST_ACK = 0x05


def open_socket(path):
    libc = ctypes.CDLL(None, use_errno=True)
    with open(path, "rb") as namespace:
        if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns", path)
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)


def flush(netlink):
    payload = struct.pack("=BBH", socket.AF_UNSPEC, 0, 0)
    netlink.send(struct.pack("=IHHII", 16 + len(payload), CT_DELETE, REQUEST_ACK, 1, 0) + payload)
    answer = netlink.recv(4096)
    error = struct.unpack_from("=i", answer, 16)[0]
    if error:
        raise OSError(-error, "emptying the conntrack table: " + os.strerror(-error))


def main():
    sockets = [open_socket(path) for path in sys.argv[1:]]
    print("ready", flush=True)
    if sys.stdin.readline():
        for netlink in sockets:
            flush(netlink)
        print("done", flush=True)


if __name__ == "__main__":
    main()
