# SPDX-License-Identifier: BSD-3-Clause
"""Who may include whom. The arrows of docs/architecture.md, enforced."""
import re

import tree

MODULES = {
    "base": set(),
    "wire": {"base"},
    "packet": {"base"},
    "session": {"base"},
    "policy": {"base", "session"},
    "engine": {"base", "wire", "packet", "session", "policy"},
}

# The only non-standard headers that libasrp sees: keyed hashes.
SODIUM = re.compile(r"<sodium(/[a-z_0-9]+)?\.h>$")
STANDARD = re.compile(r"<[a-z_0-9]+>$")

# What asrpd-common/io may know of libasrp beyond base and packet: the interfaces that it implements or feeds.
IO_EXTRA = {
    "asrp/engine/flow_table.hpp",
    "asrp/engine/holder_engine.hpp",
    "asrp/engine/output.hpp",
    "asrp/engine/unreachable.hpp",
    "asrp/session/record_store.hpp",
}
# Parts of asrpd-common, and which others each may use.
COMMON = {
    "io": {"io", "runtime"},
    "runtime": {"io", "runtime"},
    "config": {"io", "runtime", "config"},
    "frame": {"io", "runtime", "config", "frame"},
}
DAEMON_FORBIDDEN = re.compile(r"<(libmnl|libnetfilter_queue|libnetfilter_conntrack|linux/netfilter|lmdb|pcap)\b")


def _module(name):
    """The libasrp module that a quoted include names, or None."""
    match = re.match(r'"(?:asrp/)?([a-z]+)/', name)
    return match.group(1) if match and match.group(1) in MODULES else None


def _libasrp(path, relative, name):
    own = next((m for m in MODULES if f"/asrp/{m}/" in f"/{relative}" or f"/src/{m}/" in f"/{relative}"), None)
    if own is None:
        return "lies in no module"
    if name.startswith("<"):
        if STANDARD.match(name):
            return None
        if SODIUM.match(name) and own in {"base", "policy"} and path.suffix == ".cpp":
            return None
        return "is no header of the C++ standard library"
    if not name.startswith('"asrp/') and (path.parent / name.strip('"')).exists():
        return None
    module = _module(name)
    if module is None:
        return "is no module of libasrp"
    if module != own and module not in MODULES[own]:
        return f"{own} may not use {module}"
    return None


def _common(relative, name):
    if re.match(r'"(?:\.\./)*asrpd-(node|holder)|"tests?/', name):
        return "asrpd-common may not use a daemon or the tests"
    part = relative.split("/")[1]
    used = re.match(r'"(io|runtime|config|frame)/', name)
    if used and part in COMMON and used.group(1) not in COMMON[part]:
        return f"{part} may not use {used.group(1)}"
    if part != "io":
        return None
    if name.startswith('"asrp/') and _module(name) not in {"base", "packet"} and name.strip('"') not in IO_EXTRA:
        return "io knows base, packet and the interfaces that it implements"
    return None


def _daemon(relative, name):
    other = "asrpd-holder" if relative.startswith("asrpd-node/") else "asrpd-node"
    if other in name:
        return f"a daemon may not use {other}"
    if DAEMON_FORBIDDEN.match(name):
        return "kernel interfaces belong into asrpd-common"
    if name.startswith('"session/'):
        return "private headers of libasrp"
    return None


def _dump(name):
    if re.match(r'"(io|runtime|config|frame)/', name):
        return "asrpdump may not use asrpd-common"
    module = _module(name)
    if module and module not in {"base", "wire", "packet"}:
        return f"asrpdump may not use {module}"
    return None


def problems(root):
    found = []
    for path in tree.files(root, suffixes=tree.CPP):
        relative = tree.relative(root, path)
        text = path.read_text(encoding="utf-8")
        for line, name in tree.includes(text):
            reason = None
            if relative.startswith("libasrp/"):
                reason = _libasrp(path, relative, name)
            elif relative.startswith("asrpd-common/"):
                reason = _common(relative, name)
            elif relative.startswith(("asrpd-node/", "asrpd-holder/")):
                reason = _daemon(relative, name)
            elif relative.startswith("tools/asrpdump/"):
                reason = _dump(name)
            if reason:
                found.append(f"{relative}:{line}: {name}: {reason}")
    return found
