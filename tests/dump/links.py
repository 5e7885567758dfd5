# SPDX-License-Identifier: BSD-3-Clause
"""Link layers and tunnels around IP packets: each turns one IP packet into one frame."""

import struct

from packets import UDP, ip, udp

MAC = bytes.fromhex("02000000000a 02000000000b".replace(" ", ""))


def _version(packet):
    return packet[0] >> 4


def _ethertype(packet):
    return 0x0800 if _version(packet) == 4 else 0x86DD


def ethernet(packet, tags=(), ethertype=None):
    """`tags` are (TPID, TCI) from the outside; short frames are padded to 60 octets as on a wire."""
    frame = MAC + b"".join(struct.pack("!HH", *tag) for tag in tags)
    frame += struct.pack("!H", ethertype or _ethertype(packet)) + packet
    return frame + b"\0" * max(0, 60 - len(frame))


def sll(packet):
    return struct.pack("!HHH8sH", 0, 1, 6, MAC[:6] + b"\0\0", _ethertype(packet)) + packet


def sll2(packet):
    return struct.pack("!HHIHBB8s", _ethertype(packet), 0, 3, 1, 0, 6, MAC[:6] + b"\0\0") + packet


def null(packet, order, inet6=30):
    return struct.pack(order + "I", 2 if _version(packet) == 4 else inet6) + packet


def ppp(packet, head=b"\xff\x03"):
    return head + struct.pack("!H", 0x21 if _version(packet) == 4 else 0x57) + packet


# --- tunnels -----------------------------------------------------------------------------------------------------------

OUTER4, OUTER6 = ("198.18.0.1", "198.18.0.2"), ("2001:db8:ffff::1", "2001:db8:ffff::2")


def _outer(protocol, payload, ends=OUTER4):
    return ip(*ends, protocol, payload)


def vxlan(packet, ends=OUTER4):
    head = struct.pack("!II", 0x08000000, 42 << 8)
    return _outer(UDP, udp(*ends, 40001, 4789, head + ethernet(packet), checksum=ends is OUTER6), ends)


def geneve(packet, ends=OUTER4, options=b"\x01\x02\x80\x01\x00\x00\x00\x09", protocol=0x6558):
    head = struct.pack("!BBHI", len(options) // 4, 0, protocol or _ethertype(packet), 42 << 8) + options
    inner = ethernet(packet) if protocol else packet
    return _outer(UDP, udp(*ends, 40002, 6081, head + inner, checksum=ends is OUTER6), ends)


def gre(packet, flags=0, ends=OUTER4):
    """`flags`: 0x8000 checksum, 0x2000 key, 0x1000 sequence number; their fields follow."""
    fields = b"".join(bytes(4) for bit in (0x8000, 0x2000, 0x1000) if flags & bit)
    return _outer(47, struct.pack("!HH", flags, _ethertype(packet)) + fields + packet, ends)


def gretap(packet):
    return _outer(47, struct.pack("!HH", 0, 0x6558) + ethernet(packet))


def ipip(packet, ends=OUTER4):
    return _outer(4 if _version(packet) == 4 else 41, packet, ends)


def over(link, tunnel):
    return lambda packet: link(tunnel(packet))


# name: (link type, function); `raw-v4` and `raw-v6` take packets of one family.
LINKS = {
    "ethernet": (1, ethernet),
    "vlan": (1, lambda p: ethernet(p, [(0x8100, 100)])),
    "vlan-priority": (1, lambda p: ethernet(p, [(0x8100, 0xE000)])),
    "qinq": (1, lambda p: ethernet(p, [(0x88A8, 200), (0x8100, 100)])),
    "qinq-8100": (1, lambda p: ethernet(p, [(0x8100, 200), (0x8100, 100)])),
    "qinq-9100": (1, lambda p: ethernet(p, [(0x9100, 200), (0x8100, 100)])),
    "sll": (113, sll),
    "sll2": (276, sll2),
    "raw-101": (101, lambda p: p),
    "raw-12": (12, lambda p: p),
    "raw-v4": (228, lambda p: p),
    "raw-v6": (229, lambda p: p),
    "null-little": (0, lambda p: null(p, "<")),
    "null-big": (0, lambda p: null(p, ">", 24)),
    "null-linux": (0, lambda p: null(p, "<", 10)),
    "loop": (108, lambda p: null(p, ">", 28)),
    "ppp": (9, ppp),
    "ppp-short": (9, lambda p: ppp(p, b"")),
    "ppp-serial": (50, ppp),
    "vxlan": (1, over(ethernet, vxlan)),
    "vxlan-v6": (1, over(ethernet, lambda p: vxlan(p, OUTER6))),
    "vxlan-vlan": (1, lambda p: ethernet(vxlan(p), [(0x8100, 7)])),
    "geneve": (1, over(ethernet, geneve)),
    "geneve-ip": (1, over(ethernet, lambda p: geneve(p, options=b"", protocol=None))),
    "gre": (1, over(ethernet, gre)),
    "gre-key": (1, over(ethernet, lambda p: gre(p, 0x2000))),
    "gre-all": (1, over(ethernet, lambda p: gre(p, 0xB000, OUTER6))),
    "gretap": (1, over(ethernet, gretap)),
    "ipip": (1, over(ethernet, ipip)),
    "ipip-v6": (1, over(ethernet, lambda p: ipip(p, OUTER6))),
    "sll2-vxlan": (276, over(sll2, vxlan)),
    "raw-ipip": (101, ipip),
}


def fits(name, packet):
    return {"raw-v4": 4, "raw-v6": 6}.get(name, _version(packet)) == _version(packet)


