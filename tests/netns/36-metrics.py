# SPDX-License-Identifier: BSD-3-Clause
# limit: 180
# cases: page clients off
"""The metrics of real daemons, read by parsers of others: what they say is what the daemons say otherwise, each is documented,
clients that mean ill harm nobody, and without [metrics] nobody listens."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time

import support
from lab import plan
from lab.balancer import Service
from lab.cluster import ask
from lab.configuration import holder_socket, node_socket
from lab.netns import Namespace
from lab.waiting import wait_for
from prometheus_client.parser import text_string_to_metric_families
from scenarios.base import Lab, Options
from traffic.echo import EchoClient, EchoServer

_ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
_NODE_PORT = 9151
_HOLDER_PORT = 9152
_ENABLED = "[metrics]\nenabled = true\n"
_CONNECTIONS = 20

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def page(space: Namespace, port: int) -> str:
    return space.run("curl", "--silent", "--show-error", "--fail", "--max-time", "60", f"http://127.0.0.1:{port}/metrics")


def samples(text: str) -> Samples:
    """As Prometheus' own library for Python reads the page."""
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in text_string_to_metric_families(text) for s in family.samples}


def total(read: Samples, name: str, **labels: str) -> float:
    """The sum over all samples of a name that have these labels."""
    wanted = set(labels.items())
    return sum(value for (found, having), value in read.items() if found == name and wanted <= set(having))


def digest(read: Samples, name: str) -> str:
    return next(dict(labels)["digest"] for found, labels in read if found == name)


def laboratory(options: Options, extra: str = _ENABLED) -> Lab:
    lab = support.cluster(options, [Service("echo", plan.ECHO_PORT, "tcp")], nodes=2, servers=2)
    lab.cluster.node_extra = extra + "[queue]\nworkers = 2\n"
    lab.cluster.holder_extra = extra
    return lab


def check_documented(expect: support.Expectations, program: str, text: str) -> None:
    with open(os.path.join(_ROOT, "docs/metrics.md"), encoding="utf-8") as file:
        part = file.read().split(f"<!-- metrics of {program} -->")[1].split("<!-- end -->")[0]
    rows = re.findall(r"^\| `(asrp_[a-z0-9_]+)` \| (?:counter|gauge|histogram) \|[^|]*\| (.*)", part, re.M)
    documented = {name for name, means in rows if not means.startswith("ACT mode:")}  # here are PSV's daemons
    found = set(re.findall(r"^# TYPE (\S+)", text, re.M))
    expect.that(found == documented, f"{program}: its {len(found)} metrics are those of docs/metrics.md "
                                     f"{sorted(found ^ documented) or ''}")
    values = {(family, tuple(re.findall(r"`([^`]+)`", row)))
              for family, table in re.findall(r"^`(asrp_[a-z0-9_]+)`:\n\n\|[^\n]*\n\|[^\n]*\n((?:\|[^\n]*\n)+)", part, re.M)
              for row in (line.split("|")[1] for line in table.splitlines())}
    families = {family for family, _ in values}
    seen = {(match[0], tuple(re.findall(r'="([^"]*)"', match[1]))) for match in re.findall(r"^(\w+_total)\{(.*)\} ", text, re.M)}
    expect.that(bool(families) and seen == values, f"{program}: so are the values of their labels {sorted(seen ^ values)[:5] or ''}")


def check_page(options: Options, expect: support.Expectations) -> None:
    with laboratory(options) as lab:
        lab.start()
        for space in lab.topology.servers.values():
            EchoServer(space, plan.ECHO_PORT)
        client = EchoClient(lab.topology.clients[1], plan.service(4), plan.ECHO_PORT, _CONNECTIONS)
        expect.that(len(client.command("open 30").alive) == _CONNECTIONS, "all connections open")
        lab.topology.flush_all()
        expect.that(len(client.command("speak 30").alive) == _CONNECTIONS, "all live on after the loss of all tables")

        read: dict[str, Samples] = {}
        for name, daemon in [*((f"node{n}", d) for n, d in lab.cluster.nodes.items()), *((f"holder{n}", d) for n, d in lab.cluster.holders.items())]:
            kind = name.rstrip("0123456789")
            before = lab.cluster.counters(daemon)
            text = page(daemon.space, _NODE_PORT if kind == "node" else _HOLDER_PORT)
            after = lab.cluster.counters(daemon)
            read[name] = samples(text)
            checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
            expect.that(checked.returncode == 0, f"{name}: promtool finds nothing {checked.stdout}{checked.stderr}")
            check_documented(expect, f"asrpd-{kind}", text)
            # Some go on by themselves (probes, bursts): each lies between what asrpctl says before and after.
            counted = sum(value for (sample, _), value in read[name].items() if sample.endswith("_total"))
            expect.that(sum(before.values()) <= counted <= sum(after.values()),
                        f"{name}: all its counters are those of the control socket: {counted:.0f}")
            told = ask((node_socket if kind == "node" else holder_socket)(int(name[-1]), lab.directory), "status")
            started = time.time() - told["uptime_s"]
            expect.that(abs(total(read[name], f"asrp_{kind}_start_time_seconds") - started) < 5, f"{name}: its start is where the uptime began")
            if kind == "node":
                for metric, member in (("placement", "placement_digest"), ("cookie_keys", "cookie_keys_digest")):
                    expect.that(digest(read[name], f"asrp_node_{metric}_info") == told[member], f"{name}: {member} is that of status")
                restored = total(read[name], "asrp_node_sessions_restored_rs_total")
                timed = total(read[name], "asrp_node_recovery_duration_seconds_count", outcome="restored")
                again = total(read[name], "asrp_node_sessions_restored_again_total")
                expect.that(restored <= timed <= restored + again, f"{name}: {timed:.0f} recoveries have a duration, {restored:.0f} sessions were restored")
                taps = sum(total(read[name], f"asrp_node_packets_{tap}_total") for tap in ("first", "stray", "known"))
                expect.that(total(read[name], "asrp_node_slow_path_duration_seconds_count") >= taps > 0, f"{name}: each of {taps:.0f} packets has its time")
            else:
                packets = total(read[name], "asrp_holder_packets_inbound_total")
                expect.that(total(read[name], "asrp_holder_slow_path_duration_seconds_count") >= packets > 0,
                            f"{name}: each of {packets:.0f} packets has its time")
        expect.that(digest(read["node1"], "asrp_node_placement_info") == digest(read["node2"], "asrp_node_placement_info"), "both nodes place alike")
        restored = sum(total(read[f"node{n}"], "asrp_node_sessions_restored_rs_total") for n in (1, 2))
        expect.that(restored >= _CONNECTIONS, f"the pages tell of the {restored:.0f} restored sessions")
        backups = sum(total(read[f"holder{n}"], "asrp_holder_backups") for n in (1, 2))
        expect.that(backups == _CONNECTIONS, f"and of the {backups:.0f} backups")
        change_shows(lab, expect)
        expect.none_of(support.ended(lab), "no daemon failed")


def change_shows(lab: Lab, expect: support.Expectations) -> None:
    """A node that has got another pool by a reload shows another digest."""
    before = digest(samples(page(lab.topology.nodes[1], _NODE_PORT)), "asrp_node_placement_info")
    lab.cluster.join(1, 3)
    after = {n: digest(samples(page(space, _NODE_PORT)), "asrp_node_placement_info") for n, space in lab.topology.nodes.items()}
    expect.that(before not in after.values() and len(set(after.values())) == 1, "after a reload the digest is another, again the same on both")


def clients(options: Options, expect: support.Expectations) -> None:
    """Slow, many and rude ones; sessions go on meanwhile, and the page comes in the end."""
    with laboratory(options) as lab:
        lab.start()
        for space in lab.topology.servers.values():
            EchoServer(space, plan.ECHO_PORT)
        node = lab.topology.nodes[1]
        lab.topology.route_via([1])
        crowd = []
        with node.entered():
            for number in range(100):
                one = socket.socket()
                one.setblocking(False)
                one.connect_ex(("127.0.0.1", _NODE_PORT))
                crowd.append(one)
        for number, one in enumerate(crowd):
            try:
                one.send([b"", b"GET /metrics HT", b"POST /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"\0" * 4000][number % 4])
            except OSError:
                pass  # not yet connected: the backlog is full
        client = EchoClient(lab.topology.clients[1], plan.service(4), plan.ECHO_PORT, _CONNECTIONS)
        expect.that(len(client.command("open 30").alive) == _CONNECTIONS, "new sessions begin while a crowd holds the metrics port")
        lab.topology.flush([1])
        expect.that(len(client.command("speak 30").alive) == _CONNECTIONS, "and are recovered")
        established = [line for line in node.run("ss", "-Htn", "state", "established", f"sport = :{_NODE_PORT}").splitlines()]
        expect.that(len(established) > 0, f"the crowd is there: {len(established)} connections")
        descriptors = len(os.listdir(f"/proc/{lab.cluster.nodes[1].process.pid}/fd"))  # type: ignore[union-attr]
        expect.that(descriptors < 60, f"the daemon has {descriptors} descriptors")
        for one in crowd:
            one.close()
        expect.that("asrp_node_build_info" in page(node, _NODE_PORT), "the page comes when they are gone")
        outside = lab.topology.edge.run("curl", "--silent", "--max-time", "5", f"http://{plan.link('up', 1, 4)[1]}:{_NODE_PORT}/metrics", check=False)
        expect.that(outside == "", "at the node's address nobody answers")
        for path, status in (("/", "404"), ("/metrics/x", "404"), ("/metrics", "200")):
            got = node.run("curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", f"http://127.0.0.1:{_NODE_PORT}{path}")
            expect.that(got == status, f"{path}: {got}")
        expect.none_of(support.ended(lab), "no daemon failed")


def off(options: Options, expect: support.Expectations) -> None:
    with laboratory(options, "") as lab:
        lab.start()
        for space in (*lab.topology.nodes.values(), *lab.topology.servers.values()):
            expect.that(space.run("ss", "-Htln").strip() == "", f"{space.name}: nobody listens by TCP")
        path = os.path.join(lab.directory, "node1.toml")
        with open(path, "a", encoding="utf-8") as file:
            file.write(_ENABLED)
        lab.cluster.nodes[1].reload()
        wait_for("the log to tell", lambda: "[metrics] has changed; it takes effect at the next start" in lab.cluster.nodes[1].log(), limit=30)
        expect.that(lab.topology.nodes[1].run("ss", "-Htln").strip() == "", "after a reload neither")
        lab.cluster.nodes[1].stop()
        lab.cluster.nodes[1].start()
        expect.that("asrp_node_build_info" in page(lab.topology.nodes[1], _NODE_PORT), "after a start the page is there")
        lab.cluster.nodes[1].stop()
        busy = lab.topology.nodes[1].start("python3", "-m", "http.server", "--bind", "127.0.0.1", str(_NODE_PORT), stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
        wait_for("the other server", lambda: str(_NODE_PORT) in lab.topology.nodes[1].run("ss", "-Htln"), limit=30)
        done = subprocess.run(lab.topology.nodes[1].command(*lab.cluster.nodes[1].argv), capture_output=True, text=True, timeout=60, check=False)
        expect.that(done.returncode == 1 and f"listen for metrics at 127.0.0.1:{_NODE_PORT}" in done.stderr,
                    f"where another program has the port, the start says so: {done.stderr.strip().splitlines()[-1:]}")
        busy.kill()
        busy.wait()
        for daemon in lab.cluster.holders.values():
            daemon.stop()


if __name__ == "__main__":
    support.main({"page": check_page, "clients": clients, "off": off})
