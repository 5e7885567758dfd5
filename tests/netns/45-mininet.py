# SPDX-License-Identifier: BSD-3-Clause
# limit: 180
# cases: test test-full-nat-6 control commands killed snat snat-commands
"""The Mininet demos: unattended they hold, with recovery off the load balancer loses sessions, their commands do what they say, their
files are what they claim to be, and nothing of them is left in the namespace that they were started from."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from xml.etree import ElementTree

import support
from lab.waiting import wait_for
from scenarios.base import Options

_DEMOS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "demo", "mininet")
_SMALL = {name: (f"--{nodes}", "2", "--servers", "2", "--clients", "2", "--downloads", "3")
          for name, nodes in (("lb", "nodes"), ("snat", "gateways"))}


def command(options: Options, output: str, *more: str, name: str = "lb") -> list[str]:
    return [os.path.join(_DEMOS, f"{name}.py"), *_SMALL[name], "--programs", options.programs, "--output", output, *more]


def play(options: Options, output: str, *more: str, stdin: str = "", name: str = "lb") -> tuple[int, str]:
    done = subprocess.run(command(options, output, *more, name=name), input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    print(done.stdout, flush=True)
    return done.returncode, done.stdout


def links() -> str:
    """Interfaces, bridges among them, and named namespaces that this namespace has and the demo could have made."""
    shown = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout
    return "\n".join(line.split()[0] for line in shown.splitlines())


def expect_files(options: Options, expect: support.Expectations, output: str, messages: tuple[str, ...], name: str = "lb") -> None:
    with open(os.path.join(output, f"{name}.png"), "rb") as file:
        expect.that(file.read(8) == b"\x89PNG\r\n\x1a\n", f"{name}.png is a PNG picture")
    drawn = ElementTree.parse(os.path.join(output, f"{name}.svg")).getroot()
    text = " ".join("".join(element.itertext()) for element in drawn.iter() if element.tag.endswith("text"))
    expect.that(all(label in text for label in ("c1", "c2", "n2", "kill n")), f"{name}.svg names clients, nodes and the event")
    with open(os.path.join(output, f"{name}.csv"), encoding="utf-8") as file:
        header, *rows = file.read().splitlines()
    expect.that(header.startswith("time_s,c1_octets_per_s,c2_octets_per_s,n1_sessions,n2_sessions") and len(rows) > 4,
                f"{name}.csv has the figures of each client and node")
    expect.that(any("kill n" in row for row in rows), f"{name}.csv has the event")
    dump = os.path.join(options.programs, "tools", "asrpdump", "asrpdump")
    if os.path.exists(dump):
        capture = os.path.join(output, "core.pcap" if name == "lb" else "edge.pcap")
        shown = subprocess.run([dump, capture], capture_output=True, text=True, check=False).stdout
        expect.that(all(f" {kind} " in shown for kind in messages), f"asrpdump finds {', '.join(messages)} in the capture")


def unattended(*more: str, name: str = "lb", messages: tuple[str, ...] = ("NS", "QS", "RS")) -> support.Case:
    def case(options: Options, expect: support.Expectations) -> None:
        before = links()
        with tempfile.TemporaryDirectory() as output:
            status, text = play(options, output, "--test", *more, name=name)
            expect.that(status == 0 and "held" in text and "NOT held" not in text, "the unattended run held")
            expect_files(options, expect, output, messages, name)
        expect.that(links() == before, "no interface is left")

    return case


def control(options: Options, expect: support.Expectations) -> None:
    with tempfile.TemporaryDirectory() as output:
        status, text = play(options, output, "--test", "--control")
        expect.that(status == 0 and "without recovery the sessions are lost" in text, "with recovery off, sessions are lost")


def commands(options: Options, expect: support.Expectations) -> None:
    lines = ["watch 2", "kill n2", "kill n1", "kill n7", "kill", "add n1", "add n4", "flush n4", "watch 2", "counters n4", "add",
             "flush all", "loss 1", "loss 0", "watch 8", "n4 hostname", "status", "plot", "nonsense", "exit"]
    with tempfile.TemporaryDirectory() as output:
        status, text = play(options, output, stdin="\n".join(lines) + "\n")
        for wanted in ("n2 is killed", "the last node stays", "there is no n7", "which one?", "n1 is there already", "n4 joins with",
                       "n4 forgets its", "all nodes forget their", "n2 joins with", "n2 killed", "packets.", "1 % of the packets", "lb.png",
                       "Unknown command: nonsense", " 0 broke"):
            expect.that(wanted in text, f"the commands' answers have: {wanted}")
        expect.that(status == 0, "no download broke")
        expect.that(re.search(r"^\W*[1-9]\d* downloads were byte-exact", text.replace("lb> ", ""), re.MULTILINE) is not None,
                    "downloads were done")
        expect_files(options, expect, output, ("NS", "QS", "RS"))


def snat_commands(options: Options, expect: support.Expectations) -> None:
    lines = ["watch 2", "kill n2", "watch 2", "add n4", "flush n1", "watch 1", "counters c1", "watch 7", "exit"]
    with tempfile.TemporaryDirectory() as output:
        status, text = play(options, output, "--routing", "asymmetric", stdin="\n".join(lines) + "\n", name="snat")
        for wanted in ("n2 is killed", "n4 joins with", "n1 forgets its", "hello.answered", "snat.png", " 0 broke"):
            expect.that(wanted in text, f"the commands' answers have: {wanted}")
        expect.that(status == 0, "no download broke")
        expect_files(options, expect, output, ("HS", "NS", "QS", "RS"), "snat")


def killed(options: Options, expect: support.Expectations) -> None:
    """However it ends, its processes and links end with it."""
    before = links()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with tempfile.TemporaryDirectory() as output:
            process = subprocess.Popen(command(options, output), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert process.stdin is not None and process.stdout is not None
            wait_for("the command line", lambda: "`help` lists" in process.stdout.readline())
            children = _processes(output)
            expect.that(len(children) > 4, "daemons and captures run")
            process.send_signal(number)
            process.wait(timeout=60)
            wait_for("the end of all processes", lambda: not _processes(output), limit=30)
            expect.that(process.returncode in (128 + number, -number), f"signal {number} ended it, and its processes with it")
            expect.that(links() == before, "no interface is left")


def _processes(output: str) -> list[int]:
    """Processes that have `output` on their command line, and their descendants."""
    parents: dict[int, int] = {}
    found: set[int] = set()
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as file:
                parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                if output.encode() in file.read():
                    found.add(int(entry))
        except (OSError, ValueError):
            continue
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        grown = bool(more)
        found |= more
    return sorted(found)


if __name__ == "__main__":
    support.main({
        "test": unattended(),
        "test-full-nat-6": unattended("--routing", "asymmetric", "--forward", "full-nat", "--family", "6"),
        "control": control,
        "commands": commands,
        "killed": killed,
        "snat": unattended("--family", "6", name="snat", messages=("HS", "NS", "QS", "RS")),
        "snat-commands": snat_commands,
    })
