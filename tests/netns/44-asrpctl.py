# SPDX-License-Identifier: BSD-3-Clause
# limit: 180
# cases: truth-4 truth-6 large-4 reload-4 access-4
"""asrpctl beside real daemons under traffic: what each command says is compared with what the kernel and the daemons' own counters
say. A reload with errors changes nothing and tells all of them; a dry run changes nothing at all."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from dataclasses import replace
from typing import Any

import support
from lab import plan
from lab.configuration import holder_socket, node_socket
from lab.waiting import wait_for
from scenarios.base import Lab, Options
from scenarios.workload import services
from traffic.echo import EchoClient, EchoServer
from traffic.flood import fill_table

_EACH = 12  # connections of a client
_LARGE = 120_000  # entries of a large table
_GROWTH = 4096  # KiB of memory that listings may take


class Ctl:
    """asrpctl at one daemon's socket."""

    def __init__(self, lab: Lab, path: str) -> None:
        self.program = next(p for p in (os.path.join(lab.options.programs, "asrpctl"),
                                        os.path.join(lab.options.programs, "tools/asrpctl/asrpctl")) if os.path.isfile(p))
        self.path = path

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.program, "--socket", self.path, *argv], capture_output=True, text=True, timeout=60, check=False)

    def objects(self, *argv: str) -> list[dict[str, Any]]:
        done = self.run(*argv, "--json")
        if done.returncode != 0:
            raise RuntimeError(f"asrpctl {argv}: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]

    def object(self, *argv: str) -> dict[str, Any]:
        (found,) = self.objects(*argv)
        return found


def node_ctl(lab: Lab, number: int) -> Ctl:
    return Ctl(lab, node_socket(number, lab.directory))


def with_port(address: str, port: str) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def kernel_sessions(lab: Lab, number: int, family: int) -> set[tuple[str, str, str, str]]:
    """Client, service, server and state of what conntrack(8) lists as translated."""
    text = lab.topology.nodes[number].run("conntrack", "-L", "-f", f"ipv{family}", "-p", "tcp")
    found = set()
    for line in text.splitlines():
        match = re.match(r"tcp +6 \d+ (\w+) src=(\S+) dst=(\S+) sport=(\d+) dport=(\d+) .*?src=(\S+) dst=\S+ sport=(\d+) dport=", line)
        if match is None:
            continue
        state, src, dst, sport, dport, server, server_port = match.groups()
        if (server, server_port) != (dst, dport):
            found.add((with_port(src, sport), with_port(dst, dport), with_port(server, server_port), state))
    return found


def begin(lab: Lab) -> list[EchoClient]:
    """Connections from every client, which idle."""
    for space in lab.topology.servers.values():
        EchoServer(space, plan.ECHO_PORT)
    groups = [EchoClient(client, plan.service(lab.options.family), plan.ECHO_PORT, _EACH) for client in lab.topology.clients.values()]
    for group in groups:
        group.send(f"open {support.PATIENCE}")
    for group in groups:
        group.answer()
    return groups


def told_sessions(ctl: Ctl, *argv: str) -> set[tuple[str, str, str, str]]:
    return {(s["client"], s["address"], s["server_address"], s["state"]) for s in ctl.objects("sessions", *argv)}


def check_node(lab: Lab, number: int, expect: support.Expectations) -> None:
    ctl, family = node_ctl(lab, number), lab.options.family
    truth = kernel_sessions(lab, number, family)
    wait_for("sessions that stay", lambda: kernel_sessions(lab, number, family) == truth, limit=30)
    expect.that(told_sessions(ctl) == truth, f"node{number}: sessions are those of conntrack -L: {len(truth)}")
    established = {each for each in truth if each[3] == "ESTABLISHED"}
    expect.that(told_sessions(ctl, "--state", "established") == established, f"node{number}: --state: {len(established)}")
    for server in lab.topology.servers:
        mine = {each for each in truth if each[2].startswith(with_port(plan.server(server, family), ""))}
        expect.that(told_sessions(ctl, "--server", plan.server(server, family)) == mine, f"node{number}: --server {server}: {len(mine)}")
    expect.that(told_sessions(ctl, "--proto", "udp") == set(), f"node{number}: no sessions of UDP")
    expect.that(told_sessions(ctl, "--service", f"shell-{family}") == truth, f"node{number}: --service")
    by_client: dict[str, int] = {}
    for client, *_ in truth:
        address = client.rpartition(":")[0].strip("[]")
        by_client[address] = by_client.get(address, 0) + 1
    top = {line["client"]: line["sessions"] for line in ctl.objects("sessions", "--top", "10", "--by", "sessions")}
    expect.that(top == by_client, f"node{number}: --top: {top}")
    counters = ctl.object("counters")
    expect.that(counters["sessions.created"] == counters["conntrack.installed"] == len(truth),
                f"node{number}: counters: {counters['sessions.created']} sessions made, {counters['conntrack.installed']} installed")
    status = ctl.object("status")
    count = int(lab.topology.nodes[number].read("/proc/sys/net/netfilter/nf_conntrack_count"))
    expect.that(status["ready"] is True and status["mode"] == "PSV", f"node{number}: status: ready")
    expect.that(status["gauges"]["table_entries"] == count, f"node{number}: status: {count} entries")
    backends = ctl.objects("backends")
    members = [f"s{member.server}" for member in lab.cluster.pool.members]
    expect.that([b["id"] for b in backends] == 2 * members, f"node{number}: backends are those of both families' pools")
    counted = {b["address"]: b["sessions"] for b in ctl.objects("backends", "--sessions") if b["sessions"] > 0}
    wanted = {address: sum(each[2] == address for each in truth) for address in {each[2] for each in truth}}
    expect.that(counted == wanted, f"node{number}: backends --sessions: {counted}")
    expect.that(all(b["new_sessions"] == "yes" for b in backends), f"node{number}: all take new sessions")
    expect.that(ctl.run("queries").stdout == "0 in flight\n", f"node{number}: no queries in flight")


def check_octets(lab: Lab, number: int, expect: support.Expectations) -> None:
    """Where the kernel counts, octets are those that conntrack(8) lists."""
    ctl, family = node_ctl(lab, number), lab.options.family
    truth = {}
    for line in lab.topology.nodes[number].run("conntrack", "-L", "-f", f"ipv{family}", "-p", "tcp").splitlines():
        match = re.search(r"src=(\S+) dst=\S+ sport=(\d+) .*?bytes=(\d+) .*?bytes=(\d+) ", line)
        if match is not None:
            truth[with_port(match.group(1), match.group(2))] = (int(match.group(3)), int(match.group(4)))
    told = {s["client"]: (s["octets_from_client"], s["octets_from_server"]) for s in ctl.objects("sessions")}
    expect.that(told == truth and len(truth) > 0, f"node{number}: octets are those of conntrack -L")
    (top,) = ctl.objects("sessions", "--top", "1")
    sums: dict[str, int] = {}
    for client, octets in truth.items():
        address = client.rpartition(":")[0].strip("[]")
        sums[address] = sums.get(address, 0) + sum(octets)
    expect.that(top["octets"] == max(sums.values()), f"node{number}: the top talker has {top['octets']} octets")


def truth_case(family: int) -> support.Case:
    def case(options: Options, expect: support.Expectations) -> None:
        lab = support.cluster(replace(options, family=family), [s for s in services(options) if s.name == "shell"])
        with lab:
            lab.start()
            for space in lab.topology.nodes.values():
                space.sysctl({"net.netfilter.nf_conntrack_acct": int(family == 6)})
            begin(lab)
            for number in lab.topology.nodes:
                check_node(lab, number, expect)
                if family == 6:
                    check_octets(lab, number, expect)
                else:
                    done = node_ctl(lab, number).run("sessions", "--top", "3", "--by", "octets")
                    expect.that(done.returncode == 1 and "nf_conntrack_acct" in done.stderr, f"node{number}: octets are not counted, and it says so")
            made = {number: kernel_sessions(lab, number, family) for number in lab.topology.nodes}
            for server in lab.topology.servers:
                ctl = Ctl(lab, holder_socket(server, lab.directory))
                told = {(b["client"], b["address"], b["server_address"]) for b in ctl.objects("backups")}
                wanted = {each[:3] for found in made.values() for each in found
                          if each[2].startswith(with_port(plan.server(server, family), ""))}
                expect.that(told == wanted, f"server{server}: backups are the nodes' sessions: {len(wanted)}")
                expect.that(ctl.object("status")["gauges"]["backups"] == len(told), f"server{server}: status: {len(told)} backups")
                expect.that(ctl.run("sessions").returncode == 1 and "other daemon" in ctl.run("sessions").stderr,
                            f"server{server}: a node's command is refused by name")
            expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")

    return case


def large_case(options: Options, expect: support.Expectations) -> None:
    """A large table, several listings, one of which nobody reads: the daemon's memory stays, and so does its work."""
    lab = support.cluster(options, [s for s in services(options) if s.name == "shell"], nodes=1)
    with lab:
        lab.start()
        begin(lab)
        ctl, daemon = node_ctl(lab, 1), lab.cluster.nodes[1]
        fill_table(lab.topology.nodes[1], _LARGE, "100.127.0.2")
        assert daemon.process is not None
        status = f"/proc/{daemon.process.pid}/status"

        def memory() -> int:
            with open(status, encoding="ascii") as file:
                return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

        before = memory()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stalled:
            stalled.connect(ctl.path)
            stalled.sendall(b'{"command":"sessions"}\n')
            counts = [len(ctl.objects("sessions")) for _ in range(2)]
            expect.that(counts == [_LARGE + 2 * _EACH] * 2, f"all are listed, beside a reader that stalls: {counts}")
            expect.that(len(ctl.objects("sessions", "--proto", "tcp")) == 2 * _EACH, "and few of many are found")
            fresh = EchoClient(lab.topology.clients[1], plan.service(options.family), plan.ECHO_PORT, 5)
            opened = fresh.command(f"open {support.PATIENCE}")
            expect.that(len(opened.alive) == 5, f"new sessions are made meanwhile {opened.broken}")
            expect.that(memory() - before < _GROWTH, f"{memory() - before} KiB more memory, of at most {_GROWTH}")
        expect.that(ctl.objects("sessions", "--top", "2", "--by", "sessions")[0]["sessions"] == 50_000, "the top talker of many")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def snapshot(lab: Lab, number: int) -> dict[str, object]:
    """All that a reload could change."""
    space = lab.topology.nodes[number]
    state = os.path.join(lab.directory, f"node{number}")
    files = {}
    for name in sorted(os.listdir(state)):
        path = os.path.join(state, name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                files[name] = (file.read(), os.stat(path).st_mtime_ns)
    status = node_ctl(lab, number).object("status")
    return {"digests": [status["placement_digest"], status["cookie_keys_digest"]], "files": files,
            "rules": [re.sub(r"\[\d+:\d+\]", "", support.rules(space, family)) for family in (4, 6)],
            "sysctls": space.run("sysctl", "-a", "-r", r"^net\.(netfilter|ipv4\.ip_forward|ipv6\.conf\.all)", check=False)
            .replace(space.read("/proc/sys/net/netfilter/nf_conntrack_count").strip(), "N"),
            "log": node_ctl(lab, number).object("log")}


def reload_case(options: Options, expect: support.Expectations) -> None:
    lab = support.cluster(options, [s for s in services(options) if s.name == "shell"])
    with lab:
        lab.start()
        begin(lab)
        number = next(iter(lab.topology.nodes))
        ctl = node_ctl(lab, number)
        path = f"{lab.directory}/node{number}.toml"
        with open(path, encoding="utf-8") as file:
            good = file.read()

        def write(text: str) -> None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

        ctl.run("log", "debug")
        before = snapshot(lab, number)
        write(good.replace('forward = "nat"', 'forward = "sideways"') + "\n[limits]\nrecoveries = 0\nno_such = 1\n")
        for argv in (["reload"], ["reload", "--dry-run"]):
            done = ctl.run(*argv)
            problems = [line for line in done.stderr.splitlines() if line.startswith(path)]
            wanted = len(re.findall("sideways", open(path, encoding="utf-8").read())) + 2
            expect.that(done.returncode == 1 and len(problems) == wanted, f"{argv}: all {wanted} problems are told {problems}")
            expect.that("problems" in done.stderr.splitlines()[-1], f"{argv}: and how many they are")
            after = snapshot(lab, number)
            expect.none_of([key for key in before if before[key] != after[key]], f"{argv} with errors has changed nothing")
        write(good)
        expect.that(ctl.run("reload", "--dry-run").stdout == "nothing would change\n", "a dry run of the same file")
        write(re.sub(r"weight = \d+", "weight = 7", good, count=1).replace("[node]\n", '[node]\non_stop = "remove"\ncontrol_mode = "0600"\n'))
        told = ctl.run("reload", "--dry-run")
        expect.that(told.returncode == 0 and re.search(r"weight: \d+ -> 7", told.stdout) is not None, f"a dry run tells the weight: {told.stdout}")
        expect.that("begins an epoch" in told.stdout, "and that an epoch begins")
        expect.that('control_mode: "0660" -> "0600" (waits for the next start)' in told.stdout, "and what waits for the next start")
        expect.that('on_stop: "keep" -> "remove"\n' in told.stdout, "and what does not")
        after = snapshot(lab, number)
        expect.none_of([key for key in before if before[key] != after[key]], "a dry run has changed nothing")
        done = ctl.run("reload")
        expect.that((done.returncode, done.stdout) == (0, "in force\n"), f"a reload waits for the result {done.stderr}")
        expect.that("node.control_* has changed; it takes effect at the next start" in done.stderr, "and tells what waits")
        after = snapshot(lab, number)
        expect.that(after["digests"] != before["digests"] and after["files"] != before["files"], "and then it is in force")
        expect.that(after["log"] == {"level": "info"}, f"the log level is that of the file again: {after['log']}")
        check_epochs(lab, number, expect)
        left = ctl.run("reload", "--dry-run").stdout
        expect.that(left.count("\n") == 1 and "control_mode" in left, f"nothing is left to change but what waits: {left}")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


def check_epochs(lab: Lab, number: int, expect: support.Expectations) -> None:
    """One node has seen a change of a pool that the others have not: what it exports they take over."""
    ctl = node_ctl(lab, number)
    other = node_ctl(lab, next(each for each in lab.topology.nodes if each != number))
    mine = ctl.objects("epochs")
    former = [line["digest"] for line in mine if line["epoch"] > 0]
    expect.that(len(former) == 1 and len(other.objects("epochs")) == len(mine) - 1, f"a change of one pool has left an epoch: {former}")
    text = ctl.run("epochs", "export").stdout
    before = other.objects("epochs")
    wrong = subprocess.run([other.program, "--socket", other.path, "epochs", "import", "-"], input=text.replace('"weight":7', '"weight":70000'),
                           capture_output=True, text=True, timeout=60, check=False)
    expect.that(wrong.returncode == 1 and "weight is no number from 0 to 65535" in wrong.stderr, f"an error is told: {wrong.stderr}")
    expect.that(other.objects("epochs") == before, "and nothing is taken over")
    done = subprocess.run([other.program, "--socket", other.path, "epochs", "import", "-"], input=text, capture_output=True, text=True,
                          timeout=60, check=False)
    taken = [line["digest"] for line in other.objects("epochs") if line["epoch"] > 0]
    expect.that(done.returncode == 0 and len(taken) == 1 and taken[0] in {line["digest"] for line in mine},
                f"what was exported is taken over: {done.stdout}{done.stderr}")


def access_case(options: Options, expect: support.Expectations) -> None:
    """The socket of a real daemon, started as root, with the mode and the group of the configuration."""
    lab = support.cluster(options, [s for s in services(options) if s.name == "shell"])
    group, stranger = 54321, 65534
    with lab:
        lab.start()
        os.chmod(lab.directory, 0o755)
        number = next(iter(lab.topology.nodes))
        path, socket = f"{lab.directory}/node{number}.toml", node_socket(number, lab.directory)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("control_socket", f'control_group = "{group}"\ncontrol_mode = "0660"\ncontrol_socket', 1))
        daemon = lab.cluster.nodes[number]
        daemon.stop()
        daemon.start()
        status = os.stat(socket)
        expect.that((status.st_gid, status.st_mode & 0o777) == (group, 0o660), f"mode {status.st_mode & 0o777:o}, group {status.st_gid}")
        program = node_ctl(lab, number).program

        def as_user(gid: int) -> subprocess.CompletedProcess[str]:
            return subprocess.run([program, "--socket", socket, "status"], capture_output=True, text=True, timeout=60, check=False,
                                  user=stranger, group=gid, extra_groups=[])

        expect.that(as_user(group).returncode == 0, f"a member of the group gets in {as_user(group).stderr}")
        refused = as_user(stranger)
        expect.that(refused.returncode == 1 and "you may not talk to it" in refused.stderr, f"another user does not: {refused.stderr}")
        expect.none_of(support.ended(lab), "no daemon failed, and each ends when asked to")


if __name__ == "__main__":
    support.main({"truth-4": truth_case(4), "truth-6": truth_case(6), "large-4": large_case, "reload-4": reload_case, "access-4": access_case})
