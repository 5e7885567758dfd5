# SPDX-License-Identifier: BSD-3-Clause
# limit: 300
# cases: remove-rules sysctls without-ipv6 small-buffer
"""One daemon alone in a namespace: what --remove-rules refuses, finds and puts back, and what a start refuses or warns of."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

import support
from lab.claim import Claim
from lab.daemon import Daemon
from lab.netns import Namespace
from scenarios.base import Options

_KEYS = """[keys]
placement_key = "000102030405060708090a0b0c0d0e0f"
cookie_keys = [{ key = "101112131415161718191a1b1c1d1e1f", use = "sign" }]
"""
_ESTABLISHED = "net.netfilter.nf_conntrack_tcp_timeout_established"
_UDP = "net.netfilter.nf_conntrack_udp_timeout"


@dataclass
class Alone:
    """A namespace with one program of each kind and no neighbours."""

    options: Options
    claim: Claim
    space: Namespace

    def program(self, kind: str) -> str:
        name = f"asrpd-{kind}"
        path = os.path.join(self.options.programs, name)
        return os.path.join(path, name) if os.path.isdir(path) else path

    def configuration(self, kind: str, extra: str = "", family: int = 4, state: str = "own state") -> str:
        """Every path is another one than the default, with a space in it."""
        directory = self.claim.directory
        places = f'state_dir = "{directory}/{state}"\ncontrol_socket = "{directory}/{kind} own.sock"\n'
        if kind == "holder":
            text = f'[holder]\nnodes = ["10.7.0.0/24"]\n{places}[[services]]\nprotocol = "tcp"\nport = 80\n'
        else:
            own, server, service = (("10.7.0.1", "10.7.1.1:80", "10.7.2.1:80") if family == 4 else
                                    ("fd07::1", "[fd07:1::1]:80", "[fd07:2::1]:80"))
            text = (f'[node]\nlocal_ips = ["{own}"]\n{places}{_KEYS}[timeouts]\ntcp_established = "77s"\n'
                    f'[[pools]]\nname = "p"\nservers = [{{ id = "s", address = "{server}" }}]\n'
                    f'[[services]]\nname = "s"\naddress = "{service}"\nprotocol = "tcp"\npool = "p"\n')
        path = f"{directory}/{kind}.toml"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + extra)
        return path

    def daemon(self, kind: str, path: str) -> Daemon:
        return Daemon(kind, self.space, [self.program(kind), "--config", path], self.claim.directory)

    def remove_rules(self, kind: str, *more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(self.space.command(self.program(kind), "--remove-rules", *more), capture_output=True, text=True,
                              timeout=60, check=False)

    def rules(self) -> str:
        return support.rules(self.space, 4) + support.rules(self.space, 6)

    def value(self, name: str) -> int:
        return int(self.space.read("/proc/sys/" + name.replace(".", "/")))


def remove_rules(alone: Alone, expect: support.Expectations) -> None:
    for kind in ("node", "holder"):
        daemon = alone.daemon(kind, alone.configuration(kind))
        daemon.start()
        before = alone.rules()
        done = alone.remove_rules(kind)
        expect.that(done.returncode == 1 and f"asrpd-{kind} is running" in done.stderr,
                    f"{kind}: --remove-rules without a configuration is refused while a daemon runs: {done.stderr.strip()}")
        expect.that(alone.rules() == before, f"{kind}: its rules stay")
        second = subprocess.run(daemon.space.command(alone.program(kind), "--config", alone.configuration(kind)), capture_output=True,
                                text=True, timeout=60, check=False)
        expect.that(second.returncode == 1 and f"asrpd-{kind} is running" in second.stderr, f"{kind}: a second one does not start")
        daemon.kill()
        done = alone.remove_rules(kind)
        expect.that(done.returncode == 0 and "ASRP" not in alone.rules(), f"{kind}: removed when it is dead {done.stderr.strip()}")


def sysctls(alone: Alone, expect: support.Expectations) -> None:
    """The state_dir is not the default one: the rules say where it is."""
    alone.space.run("iptables", "-t", "raw", "-A", "OUTPUT", "-m", "conntrack", "--ctstate", "NEW")  # there are sysctls from now on
    alone.space.sysctl({_ESTABLISHED: 4000, _UDP: 41})
    path = alone.configuration("node")
    daemon = alone.daemon("node", path)
    daemon.start()
    expect.that(alone.value(_ESTABLISHED) == 77, "the daemon sets what is configured")
    alone.space.sysctl({_UDP: 42})
    expect.that(daemon.stop() == 0, "the daemon stops")
    done = alone.remove_rules("node")
    expect.that(done.returncode == 0, f"--remove-rules without a configuration {done.stderr.strip()}")
    expect.that(alone.value(_ESTABLISHED) == 4000, f"what the daemon had changed is put back: {alone.value(_ESTABLISHED)}")
    expect.that(alone.value(_UDP) == 42, f"what somebody changed after it is left alone: {alone.value(_UDP)}")

    # The operator's later choice is what a new start remembers.
    daemon.start()
    alone.space.sysctl({_ESTABLISHED: 5000})
    daemon.stop()
    daemon.start()
    expect.that(alone.value(_ESTABLISHED) == 77, "a start sets it again")
    daemon.stop()
    alone.remove_rules("node", "--config", path)
    expect.that(alone.value(_ESTABLISHED) == 5000, f"the latest value that was not ours is put back: {alone.value(_ESTABLISHED)}")

    # Values of another namespace, or from before the machine started anew, are not this one's.
    other = Alone(alone.options, alone.claim, alone.claim.namespace("other"))
    other.space.create()
    daemon.start()
    daemon.stop()
    moved = other.daemon("node", path)
    other.space.run("iptables", "-t", "raw", "-A", "OUTPUT", "-m", "conntrack", "--ctstate", "NEW")
    other.space.sysctl({_ESTABLISHED: 6000})
    moved.start()
    moved.stop()
    expect.that(other.value(_ESTABLISHED) == 77, "the daemon sets it in the other namespace too")
    other.remove_rules("node")
    expect.that(other.value(_ESTABLISHED) == 6000, f"a namespace gets its own value back: {other.value(_ESTABLISHED)}")

    daemon = alone.daemon("node", alone.configuration("node", state="stop"))
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("[node]\n", '[node]\non_stop = "remove"\n'))
    alone.space.sysctl({_ESTABLISHED: 4100, _UDP: 43})
    daemon.start()
    expect.that(alone.value(_ESTABLISHED) == 77, "the daemon sets it again")
    alone.space.sysctl({_UDP: 44})
    daemon.stop()
    expect.that((alone.value(_ESTABLISHED), alone.value(_UDP)) == (4100, 44), "a stop with on_stop = \"remove\" does the same")


def without_ipv6(alone: Alone, expect: support.Expectations) -> None:
    alone.space.sysctl({"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv6.conf.default.disable_ipv6": 1})
    path = alone.configuration("node", family=6)
    done = subprocess.run(alone.space.command(alone.program("node"), "--config", path), capture_output=True, text=True, timeout=60,
                          check=False)
    lines = done.stderr.splitlines()
    expect.that(done.returncode == 1 and len(lines) == 1, f"an IPv6 service without IPv6 is refused in one line: {lines}")
    expect.that("net.ipv6.conf.all.disable_ipv6" in done.stderr and "sysctl -w" in done.stderr, "with its cause and what to do")
    expect.that("ASRP" not in alone.rules(), "and no rule is left")
    daemon = alone.daemon("node", alone.configuration("node"))
    daemon.start()
    expect.that(daemon.stop() == 0, "IPv4 services need no IPv6")
    # One interface that has it is enough.
    alone.space.ip("link add name one type veth peer name two")
    alone.space.sysctl({"net.ipv6.conf.one.disable_ipv6": 0})
    daemon = alone.daemon("node", alone.configuration("node", family=6))
    daemon.start()
    expect.that(daemon.stop() == 0, "an interface that has IPv6 is enough")


def small_buffer(alone: Alone, expect: support.Expectations) -> None:
    """In a user namespace of its own a program may not go beyond net.core.rmem_max."""
    for kind in ("node", "holder"):
        path = alone.configuration(kind)
        daemon = alone.daemon(kind, path)
        daemon.start()
        daemon.stop()
        expect.that("receive buffer 33554432 octets" in daemon.log() and "net.core.rmem_max" not in daemon.log(),
                    f"{kind}: buffer and length are logged")
        inner = Daemon(f"{kind}-inner", alone.space, ["unshare", "-Urn", alone.program(kind), "--config", path],
                       alone.claim.directory)
        inner.start()
        inner.stop()
        warned = [line for line in inner.log().splitlines() if "net.core.rmem_max" in line]
        expect.that(len(warned) == 1 and re.search(r"receive buffer is \d+ octets, asked were 33554432", warned[0]) is not None,
                    f"{kind}: a smaller buffer than asked is warned of, with what to do: {warned or inner.tail()}")


def alone(case: "support.Callable[[Alone, support.Expectations], None]") -> support.Case:
    def run(options: Options, expect: support.Expectations) -> None:
        claim = Claim()
        try:
            space = claim.namespace("alone")
            space.create()
            case(Alone(options, claim, space), expect)
        finally:
            claim.release()

    return run


if __name__ == "__main__":
    support.main({
        "remove-rules": alone(remove_rules),
        "sysctls": alone(sysctls),
        "without-ipv6": alone(without_ipv6),
        "small-buffer": alone(small_buffer),
    })
