# SPDX-License-Identifier: BSD-3-Clause
# limit: 180
"""Load reports: new sessions go to the less loaded server, follow when that changes, and treat as unknown what isn't reported; what is
not a server's report has no effect, and the key can be changed while all runs."""

from __future__ import annotations

import os

import support
from lab import plan
from lab.balancer import Service
from lab.cluster import ask
from lab.configuration import node_socket
from lab.netns import Namespace
from lab.waiting import wait_for
from scenarios.base import Lab, Options
from traffic.echo import EchoClient, EchoServer

_KEY = "505152535455565758595a5b5c5d5e5f"
_NEXT_KEY = "606162636465666768696a6b6c6d6e6f"
_PORT = 51201
_EACH = 40


def node_keys(*keys: str) -> str:
    tables = "".join(f'[[load.keys]]\nkey = "{key}"\n' for key in keys)
    return f'[load]\nenabled = true\nmax_age = "3s"\n{tables}'


def load_file(lab: Lab, server: int) -> str:
    return os.path.join(lab.directory, f"load{server}")


def set_load(lab: Lab, server: int, text: str) -> None:
    """Replaced in one step: the holder reads all of the old text or all of the new one."""
    path = load_file(lab, server)
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(f"{path}.new", path)


def gauges(lab: Lab, node: int) -> dict[str, int]:
    values: dict[str, int] = ask(node_socket(node, lab.directory), "status")["gauges"]
    return values


def total(lab: Lab, name: str) -> int:
    return sum(lab.cluster.counters(daemon)[name] for daemon in lab.cluster.nodes.values())


def all_know(lab: Lab, unknown: int) -> None:
    wait_for(f"{unknown} addresses of servers of unknown load", lambda: all(gauges(lab, n)["load_unknown"] == unknown for n in lab.cluster.nodes), limit=60)


def next_reports(lab: Lab) -> None:
    """Until each node has had two more reports from each server's two addresses: at least one of them was begun after now."""
    before = {n: lab.cluster.counters(d)["load.accepted"] for n, d in lab.cluster.nodes.items()}
    wait_for("reports", lambda: all(lab.cluster.counters(d)["load.accepted"] >= before[n] + 8 for n, d in lab.cluster.nodes.items()), limit=60)


def spread(lab: Lab, expect: support.Expectations) -> dict[int, int]:
    """Opens connections, and tells how many came to each server."""
    before = {n: lab.cluster.counters(d)["backups.stored"] for n, d in lab.cluster.holders.items()}
    client = EchoClient(lab.topology.clients[1], plan.service(4), plan.ECHO_PORT, _EACH)
    opened = len(client.command(f"open {support.PATIENCE}").alive)
    expect.that(opened == _EACH, f"{opened} connections open")
    client.close()
    return {n: lab.cluster.counters(d)["backups.stored"] - before[n] for n, d in lab.cluster.holders.items()}


def send(space: Namespace, node: int, octets: str) -> None:
    space.run("python3", "-c", f"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
                               f".sendto(bytes.fromhex('{octets}'), ('{plan.node(node, 4)}', {_PORT}))")


def start(lab: Lab) -> None:
    lab.topology.build()
    # The pools of the other family have the servers at other addresses: those are told of too.
    nodes = ", ".join(f'"{plan.node(n, family)}"' for n in lab.topology.nodes for family in (4, 6))
    for number, space in lab.topology.servers.items():
        lab.cluster.holder_extra = (f"[load]\nenabled = true\nnodes = [{nodes}]\nkey = \"{_KEY}\"\nsource = \"file\"\n"
                                    f"file = \"{load_file(lab, number)}\"\n")
        lab.cluster.start_holder(number)
        EchoServer(space, plan.ECHO_PORT)
    for number in lab.topology.nodes:
        lab.cluster.start_node(number)
    lab.topology.route_via(sorted(lab.topology.nodes))


def edit(path: str, old: str, new: str) -> None:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert old in text, (path, old)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))


def run(options: Options, expect: support.Expectations) -> None:
    lab = support.cluster(options, [Service("echo", plan.ECHO_PORT, policy="least-used")], nodes=2, servers=2)
    lab.cluster.node_extra = node_keys(_KEY) + "[queue]\nworkers = 2\n"
    with lab:
        set_load(lab, 1, "0.9\n")
        set_load(lab, 2, "0.1\n")
        start(lab)
        all_know(lab, 0)
        found = spread(lab, expect)
        expect.that(found == {1: 0, 2: _EACH}, f"all new sessions go to the less loaded server {found}")
        set_load(lab, 1, "0.2\n")
        set_load(lab, 2, "0.8\n")
        next_reports(lab)
        found = spread(lab, expect)
        expect.that(found == {1: _EACH, 2: 0}, f"when the loads change they follow {found}")

        strangers = total(lab, "load.discarded.sender"), total(lab, "load.discarded.size"), total(lab, "load.discarded.mac")
        send(lab.topology.core, 1, "00" * 40)
        send(lab.topology.servers[1], 1, "00")
        send(lab.topology.servers[1], 1, "01000000" + "00" * 36)
        wait_for("strangers' datagrams to be counted", lambda: (total(lab, "load.discarded.sender"), total(lab, "load.discarded.size"), total(
            lab, "load.discarded.mac")) == tuple(value + 1 for value in strangers), limit=30)
        found = spread(lab, expect)
        expect.that(found == {1: _EACH, 2: 0}, f"what is no server's report has no effect {found}")

        set_load(lab, 1, "nobody knows\n")
        all_know(lab, 2)
        found = spread(lab, expect)
        expect.that(_EACH * 3 // 8 <= found[1] <= _EACH * 5 // 8, f"a server of unknown load gets the share of round robin {found}")
        expect.that(lab.cluster.counters(lab.cluster.holders[1])["load.unmeasured"] > 0, "and its holder tells that it couldn't measure")
        set_load(lab, 1, "0.3\n")
        all_know(lab, 0)
        change_key(lab, expect)
        expect.none_of(support.ended(lab), "no daemon failed")


def change_key(lab: Lab, expect: support.Expectations) -> None:
    def give_nodes(*keys: str) -> None:
        lab.cluster.node_extra = node_keys(*keys) + "[queue]\nworkers = 2\n"
        lab.cluster.change_pool(list(lab.cluster.pool.members))

    def digests() -> set[str]:
        return {ask(node_socket(n, lab.directory), "status")["load_keys_digest"] for n in lab.cluster.nodes}

    before = digests()
    give_nodes(_KEY, _NEXT_KEY)
    next_reports(lab)
    for number, daemon in lab.cluster.holders.items():
        edit(os.path.join(lab.directory, f"holder{number}.toml"), _KEY, _NEXT_KEY)
        daemon.reload()
    next_reports(lab)
    wrong = total(lab, "load.discarded.mac")
    give_nodes(_NEXT_KEY)
    next_reports(lab)
    expect.that(total(lab, "load.discarded.mac") == wrong, "with both keys accepted meanwhile, a change of the key loses no report")
    expect.that(len(before) == len(digests()) == 1 and before != digests(), "the keys' digest is another, and the same on all nodes")
    give_nodes(_KEY)
    all_know(lab, 4)
    expect.that(total(lab, "load.discarded.mac") > wrong, "with another key than the holders' no load is known")


if __name__ == "__main__":
    support.main({"load": run})
