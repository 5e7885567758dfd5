# SPDX-License-Identifier: BSD-3-Clause
"""Command lines of the programs, without root: help, versions, exit statuses, checks of configurations, asrpctl's output."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
import unittest.mock
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/config"
DAEMONS = {"node": os.environ["ASRPD_NODE"], "holder": os.environ["ASRPD_HOLDER"]}
CTL = os.environ["ASRPCTL"]
LIMIT = 30


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT, check=False)


class Daemons(unittest.TestCase):
    def test_help_has_an_example_and_ends_well(self) -> None:
        for program in [*DAEMONS.values(), CTL]:
            done = run(program, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("Example:", done.stdout)
            self.assertEqual(done.stderr, "")

    def test_version(self) -> None:
        for program in [*DAEMONS.values(), CTL]:
            done = run(program, "--version")
            self.assertEqual(done.returncode, 0)
            self.assertRegex(done.stdout, rf"^{os.path.basename(program)} \d+\.\d+\.\d+\n$")

    def test_wrong_usage_is_2(self) -> None:
        for program in DAEMONS.values():
            for argv in (["--no-such"], ["stray"], ["--config"], ["--check-config", "--print-config"],
                         ["--remove-rules", "--check-config"], ["--print-config", "--remove-rules"]):
                self.assertEqual(run(program, *argv).returncode, 2, argv)
        for argv in ([], ["--no-such"], ["nothing"], ["counters", "--no-such"]):
            self.assertEqual(run(CTL, *argv).returncode, 2, argv)

    def test_check_config(self) -> None:
        """Every fixture: the same problems as the readers say, exit status 1 on errors and 0 else."""
        os.chmod(FIXTURES / "placement.key", 0o600)
        seen = set()
        for file in sorted(FIXTURES.glob("*.toml")):
            kind, program = re.match(r"(good|bad|warn)\.(node|holder)-", file.name).groups()
            done = run(DAEMONS[program], "--check-config", "--config", str(file))
            self.assertEqual(done.returncode, 1 if kind == "bad" else 0, file.name)
            expected = re.findall(r"^# expect: (.*?)\r?$", file.read_text(encoding="utf-8-sig"), re.M)
            self.assertEqual(len(done.stderr.splitlines()), len(expected), f"{file.name}: {done.stderr}")
            for each in expected:
                self.assertIn(each, done.stderr, file.name)
            for line in done.stderr.splitlines():
                self.assertRegex(line, rf"^{re.escape(str(file))}:\d+(:[^ ]+)?: ")
            seen.add((kind, program))
        self.assertGreaterEqual(len(seen), 6)

    def test_whose_an_outside_port_is(self) -> None:
        """From a file alone, by the daemon's program and by asrpctl, which finds it in PATH."""
        file = str(FIXTURES / "good.node-nat-small.toml")
        found = json.loads(run(DAEMONS["node"], "--config", file, "--nat-lookup", "192.0.2.1:2048").stdout)
        self.assertEqual((found["client"], found["ports"], found["slice"]), ("10.1.0.1", "2048-3071", 0))
        self.assertEqual(run(DAEMONS["node"], "--config", file, "--nat-lookup", "192.0.2.1").returncode, 2)
        psv = str(FIXTURES / "good.node-small.toml")
        self.assertEqual(run(DAEMONS["node"], "--config", psv, "--nat-ranges").returncode, 1)
        lines = run(DAEMONS["node"], "--config", file, "--nat-ranges").stdout.splitlines()
        self.assertEqual([json.loads(line)["client"] for line in lines], [f"10.1.0.{n}" for n in range(64)])
        path = f"{os.path.dirname(os.path.realpath(DAEMONS['node']))}:{os.environ['PATH']}"
        with unittest.mock.patch.dict(os.environ, {"PATH": path}):
            asked = run(CTL, "nat", "lookup", "192.0.2.1", "2048", "--config", file)
            self.assertIn("of client 10.1.0.1, network office", asked.stdout)
            self.assertIn("nobody", run(CTL, "nat", "lookup", "192.0.2.9", "80", "--config", file).stdout)
            self.assertEqual(json.loads(run(CTL, "--json", "nat", "lookup", "192.0.2.1", "2048", "--config", file).stdout), found)
            table = run(CTL, "nat", "ranges", "--config", file).stdout.splitlines()
            self.assertEqual(len(table), 1 + len(lines))
            self.assertRegex(table[1], "^10.1.0.0 +office +192.0.2.1 +1024-2047 +no +today$")
            self.assertEqual(run(CTL, "nat", "ranges", "--config", "/nonexistent.toml").returncode, 1)

    def test_a_bad_configuration_does_not_start(self) -> None:
        for program in DAEMONS:
            file = next(FIXTURES.glob(f"bad.{program}-*.toml"))
            done = run(DAEMONS[program], "--config", str(file))
            self.assertEqual(done.returncode, 1)
            self.assertIn(str(file), done.stderr)

    def test_the_keys_of_the_example_pass_the_check_and_start_nothing(self) -> None:
        for file in ("node.toml", "node-nat.toml"):
            path = str(ROOT / "packaging" / "examples" / file)
            for check, status in (("--check-config",), 0), ((), 1):
                done = run(DAEMONS["node"], "--config", path, *check)
                self.assertEqual(done.returncode, status)
                self.assertEqual(done.stderr.count("warning: is that of the example"), 2, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 2)

    def test_print_config_reads_back_the_same(self) -> None:
        os.chmod(FIXTURES / "placement.key", 0o600)
        for file in sorted(FIXTURES.glob("good.*.toml")):
            program = DAEMONS["node" if ".node-" in file.name else "holder"]
            printed = run(program, "--print-config", "--config", str(file))
            self.assertEqual(printed.returncode, 0)
            with tempfile.TemporaryDirectory() as folder:
                copy = pathlib.Path(folder) / "copy.toml"
                copy.write_text(printed.stdout, encoding="utf-8")
                key = pathlib.Path(folder) / "placement.key"
                key.write_bytes((FIXTURES / "placement.key").read_bytes())
                key.chmod(0o600)
                again = run(program, "--print-config", "--config", str(copy))
            self.assertEqual(again.stdout, printed.stdout, file.name)
            self.assertNotEqual(again.stdout, "")

    def test_a_file_that_cannot_be_read(self) -> None:
        for program in DAEMONS.values():
            done = run(program, "--check-config", "--config", "/nonexistent.toml")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, "/nonexistent.toml: cannot be read: No such file or directory\n")

    def changed(self, program: str, key: str, value: str, folder: str) -> str:
        """The small fixture with one key of its own table, or of [log], set to another value."""
        text = (FIXTURES / f"good.{program}-small.toml").read_text(encoding="utf-8")
        line = f'{key} = "{value}"\n'
        text = text + f"[log]\n{line}" if key == "file" else text.replace(f"[{program}]\n", f"[{program}]\n{line}", 1)
        path = os.path.join(folder, f"{program}.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def places(self, folder: str) -> list[tuple[str, str, str]]:
        """Keys, values that cannot be written to, and why."""
        closed = os.path.join(folder, "closed")
        os.makedirs(closed, exist_ok=True)
        found = []
        if os.geteuid() == 0:  # somebody else's directory; without the daemon's capabilities nobody can say
            os.chown(closed, 65534, 65534)
            os.chmod(closed, 0o755)
            found += [(key, f"{closed}/{name}", f'"{closed}" cannot be written to: Permission denied')
                      for key, name in (("state_dir", "deep/state"), ("control_socket", "ctl.sock"), ("file", "a.log"))]
        for key in ("state_dir", "control_socket", "file"):
            found.append((key, "/dev/null/x", '"/dev/null" is not a directory'))
        found.append(("file", folder, f'"{folder}" is a directory'))
        return found

    def test_what_cannot_be_written_to_is_said_in_one_way_at_the_start_and_before(self) -> None:
        for program, path in DAEMONS.items():
            with tempfile.TemporaryDirectory(dir="/tmp") as folder:
                os.chmod(folder, 0o755)
                for key, value, why in self.places(folder):
                    name = "log.file" if key == "file" else f"{program}.{key}"
                    file = self.changed(program, key, value, folder)
                    said = (f':{name}: found "{value}", but {why}; '
                            "make it writable for the user that the daemon runs as, or give another path\n")
                    for options in (["--check-config"], []):
                        done = run(path, *options, "--config", file)
                        self.assertEqual(done.returncode, 1, (program, key, value, done.stderr))
                        self.assertRegex(done.stderr, rf"^{re.escape(file)}:\d+{re.escape(said)}$")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_missing_capabilities_are_named_in_one_line(self) -> None:
        for program, path in DAEMONS.items():
            file = FIXTURES / f"good.{program}-small.toml"
            for lost, named in (("cap_net_raw", "CAP_NET_RAW"), ("cap_net_admin", "CAP_NET_ADMIN"),
                                ("cap_net_raw,cap_net_admin", "CAP_NET_ADMIN and CAP_NET_RAW")):
                for option in ("", " --remove-rules"):
                    done = run("/usr/sbin/capsh", f"--drop={lost}", "--", "-c", f"{path}{option} --config {file}")
                    self.assertEqual(done.returncode, 1)
                    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                    self.assertTrue(done.stderr.startswith(f"asrpd-{program}{option} lacks {named}: "), done.stderr)


class FakeDaemon:
    """Answers one line per request from a table; anything else is refused."""

    def __init__(self, path: str, answers: dict[str, list[str] | Callable[[], list[str]]]) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self.answers = answers
        self.requests: list[dict[str, object]] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with contextlib.suppress(ConnectionError), client, client.makefile("rw", encoding="utf-8") as stream:
                for line in stream:
                    self.requests.append(json.loads(line))
                    lines = self.answers.get(self.requests[-1]["command"], ['{"ok":false,"error":"no such thing"}'])
                    if callable(lines):
                        lines = lines()
                    stream.write("".join(each + "\n" for each in lines))
                    stream.flush()
                    if len(lines) > 1:
                        break

    def close(self) -> None:
        # Wakes the thread. Closed under it, the number might come to mean the next test's listener, and be answered for.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(LIMIT)
        self._listener.close()


COUNTERS = ('{"ok":true,"counters":{"b.two":2,"a.zero":0,"a.large":18446744073709551615},'
            '"help":{"b.two":"second","a.zero":"nothing","a.large":"most"}}')
STATUS = '{"ok":true,"program":"asrpd-node","version":"9","gauges":{"waiting":3},"services":[{"name":"web","servers":2}]}'


class Control(unittest.TestCase):
    def setUp(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.path = self._folder.name + "/ctl.sock"
        self._daemon = FakeDaemon(self.path, {"counters": [COUNTERS], "status": [STATUS],
                                              "events": ['{"ok":true}', '{"kind":"x"}', '{"lost":4}']})

    def tearDown(self) -> None:
        self._daemon.close()
        self._folder.cleanup()

    def ctl(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return run(CTL, "--socket", self.path, *argv)

    def test_counters_for_people_sorted_with_help(self) -> None:
        done = self.ctl("counters")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "a.large  18446744073709551615  most\nb.two" + " " * 23 + "2  second\n")
        self.assertIn("a.zero", self.ctl("counters", "--all").stdout)

    def test_counters_json(self) -> None:
        done = self.ctl("counters", "--json")
        self.assertEqual(json.loads(done.stdout), {"b.two": 2, "a.zero": 0, "a.large": 18446744073709551615})

    def test_socket_may_stand_behind_the_command(self) -> None:
        self.assertEqual(run(CTL, "counters", "--socket", self.path).returncode, 0)

    def test_watch_repeats_until_it_is_stopped(self) -> None:
        watching = subprocess.Popen([CTL, "--socket", self.path, "counters", "--watch", "0.1", "--json"],
                                    stdout=subprocess.PIPE, text=True)
        assert watching.stdout is not None
        lines = [watching.stdout.readline() for _ in range(2)]
        watching.send_signal(signal.SIGINT)
        watching.wait(LIMIT)
        watching.stdout.close()
        self.assertEqual(lines[0], lines[1])
        self.assertEqual(json.loads(lines[0])["b.two"], 2)

    def test_watch_on_a_pipe_shows_rates_between_two_samples(self) -> None:
        """The daemon counts one more at each question: so many a second as it was asked."""
        values = iter(range(100, 1000, 10))
        self._daemon.answers["counters"] = lambda: ['{"ok":true,"counters":{"x":%d},"help":{"x":"text"}}' % next(values)]
        watching = subprocess.Popen([CTL, "--socket", self.path, "counters", "--watch=0.2"], stdout=subprocess.PIPE, text=True)
        assert watching.stdout is not None
        lines = [watching.stdout.readline() for _ in range(4)]
        watching.kill()
        watching.wait(LIMIT)
        watching.stdout.close()
        self.assertEqual([lines[0], lines[2]], ["\n", "\n"])
        self.assertEqual(lines[1], "x  100  text\n")
        self.assertRegex(lines[3], r"^x  110  \d+(\.\d)?/s  text\n$")
        rate = float(lines[3].split()[2][:-2])
        self.assertTrue(0 < rate <= 50, rate)  # at least 0.2 s lay between the two

    def test_watch_may_stand_before_the_command_and_has_bounds(self) -> None:
        for seconds in ("0", "x", "-1", "nan", "inf", "86401", "1e9", "0.05"):
            for argv in (["--watch", seconds, "counters"], ["counters", "--watch", seconds]):
                self.assertEqual(self.ctl(*argv).returncode, 2, argv)
        self.assertEqual(self._daemon.requests, [])
        watching = subprocess.Popen([CTL, "--socket", self.path, "--json", "--watch", "counters"], stdout=subprocess.PIPE, text=True)
        assert watching.stdout is not None
        self.assertEqual(json.loads(watching.stdout.readline())["b.two"], 2)
        watching.kill()
        watching.wait(LIMIT)
        watching.stdout.close()

    def test_watch_does_not_go_with_what_changes_something_or_has_no_end(self) -> None:
        for argv in (["drain", "s1"], ["undrain", "s1"], ["drain", "--node"], ["reload"], ["log", "debug"], ["events"]):
            done = self.ctl(*argv, "--watch", "0.1")
            self.assertEqual((done.returncode, done.stderr), (2, f"asrpctl: --watch does not go with {argv[0]}\n"))
        self.assertEqual(self._daemon.requests, [])

    def test_a_command_that_there_is_not_is_named(self) -> None:
        done = self.ctl("statsu")
        self.assertEqual((done.returncode, done.stderr), (2, "asrpctl: there is no command statsu; asrpctl --help has them all\n"))
        self.assertEqual(self.ctl("statsu\x1b[2J").stderr.count("\x1b"), 0)
        self.assertEqual(self.ctl().returncode, 2)

    def test_a_drain_that_waits_warns_as_one_that_does_not(self) -> None:
        self._daemon.answers["drain"] = ['{"ok":true,"drained":[{"pool":"web","server":"s1"}],"pools_without_server":["web"]}']
        self._daemon.answers["drains"] = ['{"ok":true,"node":null,"servers":[{"pool":"web","server":"s1","sessions":0}]}']
        self.assertEqual(self.ctl("drain", "s1", "--wait").stdout,
                         "warning: no server of pool web takes new sessions\n0 sessions left\n")

    def test_each_command_has_help_with_an_example(self) -> None:
        commands = re.findall(r"(?m)^  ([a-z]+) {2,}\S", run(CTL, "--help").stdout.split("Subcommands:")[1])
        self.assertIn("counters", commands)
        for command in commands:
            done = run(CTL, command, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, rf"Example:\n  asrpctl .*{command}", command)

    def test_colours_only_on_a_terminal(self) -> None:
        self._daemon.answers["status"] = ['{"ok":true,"program":"asrpd-node","ready":false}']
        self.assertNotIn("\033", self.ctl("status").stdout)
        for term, wanted in (("xterm", True), ("dumb", False)):
            controller, terminal = os.openpty()
            done = subprocess.run([CTL, "--socket", self.path, "status"], stdout=terminal, timeout=LIMIT, check=True,
                                  env={**os.environ, "TERM": term, "NO_COLOR": ""})
            os.close(terminal)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(b"\033[31mno" in os.read(controller, 4096), wanted, term)
            os.close(controller)

    def test_what_a_daemon_says_cannot_steer_the_terminal(self) -> None:
        self._daemon.answers["status"] = [json.dumps({"ok": True, "program": "a\033]0;x\007b"})]
        self.assertIn("a\\x1b]0;x\\x07b", self.ctl("status").stdout)
        self._daemon.answers["services"] = [json.dumps({"ok": False, "error": "no\033[2J"})]
        self.assertIn("asrpctl: no\\x1b[2J\n", self.ctl("services").stderr)

    def test_services_of_both_daemons(self) -> None:
        self._daemon.answers["services"] = [json.dumps({"ok": True, "services": [
            {"name": "web", "protocol": "tcp", "address": "192.0.2.1:80", "forward": "nat", "routing": "asymmetric", "pool": "p",
             "servers": 12, "active": 3}]})]
        self.assertEqual(self.ctl("services").stdout.splitlines(),
                         ["SERVICE  PROTOCOL  ADDRESS       FORWARD  ROUTING     POOL  SERVERS  ACTIVE",
                          "web      tcp       192.0.2.1:80  nat      asymmetric  p          12       3"])
        self._daemon.answers["services"] = [json.dumps({"ok": True, "services": [{"protocol": "udp", "port": 53, "push": "auto"}]})]
        self.assertEqual(self.ctl("services").stdout, "PROTOCOL  PORT  PUSH\nudp         53  auto\n")
        self._daemon.answers["services"] = ['{"ok":true,"services":[]}']
        self.assertEqual(self.ctl("services").stdout, "no services\n")
        self.assertEqual(json.loads(self.ctl("services", "--json").stdout), {"services": []})

    def test_explain(self) -> None:
        server = {"server": "s1", "address": "10.0.2.1:80", "weight": 1, "priority": 0, "configured": "active", "state": "usable",
                  "holder": "alive", "load": None, "epoch": 0, "coming": False, "rank": 0, "round": 1, "chosen": True, "reason": "asked at once"}
        former = {**server, "server": "s2", "state": "down", "holder": "gone", "load": 1288490188, "epoch": 2, "rank": 1, "round": 0, "chosen": False,
                  "reason": "not asked: it has no holder"}
        told = {"ok": True, "sentence": "It begins a session.", "step": "create", "service": "web", "pool": "p", "policy": "hash",
                "by_chance": False, "owner_changed": False, "outside_list": False, "all_down": False, "list_cut": True, "entry": None,
                "by_worker": [{"worker": 1, "step": "create", "sentence": "It begins a session.", "server": "s1"},
                              {"worker": 2, "step": "refuse", "sentence": "Dropped.", "server": None}],
                "seen_from": "203.0.113.7:50000", "choices": [server], "candidates": [server, former], "workers": 2}
        self._daemon.answers["explain"] = [json.dumps(told)]
        arguments = ("explain", "tcp", "203.0.113.7:50000", "198.51.100.1:80", "--first")
        self.assertEqual(self.ctl(*arguments).stdout.splitlines(), [
            "It begins a session.",
            "service web, pool p, policy hash",
            "the server sees it come from 203.0.113.7:50000",
            "the kernel deals it to one of the workers, which would do different things; worker 1 is the one below",
            "  worker 1: It begins a session. It would go to s1.",
            "  worker 2: Dropped.",
            "",
            "Where a new session goes:",
            "CHOSEN  SERVER  ADDRESS      POOL OF  RANK  STATE   HOLDER  LOAD  REASON",
            "yes     s1      10.0.2.1:80  today       1  usable  alive      -  asked at once",
            "",
            "Who is asked for a session that is not known:",
            "ASKED    SERVER  ADDRESS      POOL OF   RANK  STATE   HOLDER  LOAD  REASON",
            "round 1  s1      10.0.2.1:80  today        1  usable  alive      -  asked at once",
            "-        s2      10.0.2.1:80  former 2     2  down    gone    30 %  not asked: it has no holder",
            "more servers of former pools had a claim than one round asks"])
        self.assertEqual(self._daemon.requests[-1], {"command": "explain", "protocol": "tcp", "source": "203.0.113.7:50000",
                                                     "destination": "198.51.100.1:80", "first": True})
        self.assertEqual(json.loads(self.ctl(*arguments, "--json").stdout)["step"], "create")
        entry = {"client_side": "tcp a>b", "server_side": "tcp a>c", "mark": "waiting", "closing": True}
        self._daemon.answers["explain"] = [json.dumps({"ok": True, "sentence": "Known.", "service": "web", "pool": "p", "policy": "random",
                                                       "entry": entry, "by_chance": True, "workers": 1, "by_worker": [], "choices": [], "candidates": []})]
        self.assertEqual(self.ctl("explain", "udp", "a", "b").stdout.splitlines(), [
            "Known.", "service web, pool p, policy random", "entry tcp a>b to tcp a>c, mark waiting, closing",
            "chance decides among those that can be drawn"])
        self.assertEqual(self.ctl("explain", "udp", "a").returncode, 2)

    def test_log_level(self) -> None:
        self._daemon.answers["log"] = ['{"ok":true,"level":"debug"}']
        self.assertEqual(self.ctl("log", "debug").stdout, "debug\n")
        self.assertEqual(self._daemon.requests[-1], {"command": "log", "level": "debug"})
        self.assertEqual(self.ctl("log").stdout, "debug\n")
        self.assertEqual(self._daemon.requests[-1], {"command": "log"})
        self.assertEqual(self.ctl("log", "loud").returncode, 2)

    def stream(self, command: str, *lines: dict[str, object], end: dict[str, object] | None = None, **first: object) -> None:
        """The fake daemon's answer is a stream; without `end` it is cut short."""
        last = [] if end is None else [{"end": True, **end}]
        self._daemon.answers[command] = [json.dumps(each, separators=(",", ":")) for each in
                                         ({"ok": True, "stream": True, **first}, *lines, *last)]

    def test_backends(self) -> None:
        server = {"pool": "web", "id": "s1", "address": "10.0.0.1:80", "weight": 10, "state": "active", "holder": "yes",
                  "holder_seen": "gone", "new_sessions": "down", "health": "down", "falls": 2, "health_detail": "refused"}
        self.stream("backends", server, {**server, "id": "s20", "health": None}, end={"servers": 2})
        self.assertEqual(self.ctl("backends", "--pool", "web").stdout.splitlines(), [
            "POOL  ID   ADDRESS      WEIGHT  STATE   NEW   HOLDER  HEALTH  FALLS  LAST CHECK",
            "web   s1   10.0.0.1:80      10  active  down  gone    down        2  refused",
            "web   s20  10.0.0.1:80      10  active  down  gone    -           2  refused"])
        self.assertEqual(self._daemon.requests[-1], {"command": "backends", "pool": "web"})
        self.stream("backends", {**server, "sessions": 1234}, end={"servers": 1})
        self.assertEqual([line.split()[-2:] for line in self.ctl("backends", "--sessions").stdout.splitlines()],
                         [["LAST", "CHECK"], ["1234", "refused"]])
        self.assertEqual(self._daemon.requests[-1], {"command": "backends", "sessions": True})
        self.stream("backends", server, {**server, "id": "s20", "health": None}, end={"servers": 2})
        self.assertEqual([json.loads(line)["id"] for line in self.ctl("backends", "--json").stdout.splitlines()], ["s1", "s20"])

    def test_sessions_and_their_filters(self) -> None:
        session = {"service": "web", "server": "s1", "protocol": "tcp", "client": "192.0.2.1:5", "address": "198.51.100.1:80",
                   "server_address": "10.0.0.1:80", "source": "192.0.2.1:5", "state": "ESTABLISHED", "backup": "yes", "timeout_s": 600}
        self.stream("sessions", session, end={"sessions": 1}, counted=False)
        done = self.ctl("sessions", "--client", "192.0.2.0/24", "--server", "s1", "--service", "web", "--proto", "tcp", "--state", "established")
        self.assertEqual(self._daemon.requests[-1], {"command": "sessions", "client": "192.0.2.0/24", "server": "s1", "service": "web",
                                                     "protocol": "tcp", "state": "established"})
        self.assertEqual(done.stdout.splitlines()[1].split(),
                         ["web", "tcp", "192.0.2.1:5", "192.0.2.1:5", "10.0.0.1:80", "s1", "ESTABLISHED", "yes", "600"])
        self.assertEqual(done.stdout.splitlines()[2], "1 sessions; octets are not counted (net.netfilter.nf_conntrack_acct is 0)")
        self.stream("sessions", {**session, "octets_from_client": 1000, "octets_from_server": 25000}, end={"sessions": 1}, counted=True)
        self.assertRegex(self.ctl("sessions").stdout, r"TIMEOUT +OCTETS\n.* 600 +26\.0 k\n1 sessions\n$")

    def test_top_talkers(self) -> None:
        self.stream("sessions", {"client": "192.0.2.1", "sessions": 3, "packets": 7, "octets": 900}, end={"sessions": 5, "too_low_by": 2},
                    counted=True)
        done = self.ctl("sessions", "--top", "1", "--by", "sessions")
        self.assertEqual(self._daemon.requests[-1], {"command": "sessions", "top": 1, "by": "sessions"})
        self.assertEqual(done.stdout, "CLIENT     SESSIONS  PACKETS  OCTETS\n192.0.2.1         3        7     900\n"
                                      "5 sessions; many clients: a figure may be too low by 2\n")
        for wrong in (["--top", "0"], ["--by", "octets"], ["--proto", "icmp"]):
            self.assertEqual(self.ctl("sessions", *wrong).returncode, 2, wrong)

    def test_backups_and_queries(self) -> None:
        self.stream("backups", {"mode": "psv", "protocol": "udp", "client": "[2001:db8::1]:5", "address": "x", "source": "y",
                                "server_address": "z", "node": "192.0.2.10", "session_data_octets": 4}, end={"backups": 1})
        done = self.ctl("backups", "--client", "2001:db8::/32", "--node", "192.0.2.10", "--proto", "udp", "--port", "53")
        self.assertEqual(self._daemon.requests[-1], {"command": "backups", "client": "2001:db8::/32", "node": "192.0.2.10",
                                                     "protocol": "udp", "port": 53})
        self.assertEqual(done.stdout.splitlines()[1].split(), ["psv", "udp", "[2001:db8::1]:5", "x", "y", "z", "192.0.2.10", "4"])
        self.assertEqual(done.stdout.splitlines()[2], "1 backups")
        self.stream("queries", {"flow": "tcp a>b", "from": "client", "age_ms": 1.25, "repeats": 1, "held_packets": 2,
                                "holders": [{"address": "10.0.0.1", "answer": "silent"}, {"address": "10.0.0.2", "answer": "no session"}]},
                    end={"queries": 1}, in_flight=1)
        self.assertEqual(self.ctl("queries").stdout.splitlines(), [
            "FLOW     FROM    AGE MS  REPEATS  HELD  HOLDERS", "tcp a>b  client    1.25        1     2  10.0.0.1 silent, 10.0.0.2 no session",
            "1 in flight"])

    def test_a_stream_that_is_cut_or_fails_is_a_failure(self) -> None:
        self.stream("queries", {"flow": "a"})
        done = self.ctl("queries", "--json")
        self.assertEqual((done.returncode, done.stdout), (1, '{"flow":"a"}\n'))
        self.assertIn("in the middle of its answer", done.stderr)
        self.stream("queries", end={"error": "changed meanwhile"})
        self.assertEqual(self.ctl("queries").stderr, "asrpctl: changed meanwhile\n")

    def test_epochs(self) -> None:
        today = {"pool": "web", "epoch": 0, "began": 1_800_000_000_999, "servers": 12, "digest": "0011223344556677"}
        self.stream("epochs", today, {**today, "epoch": 1, "began": None, "servers": 3}, end={"epochs": 2})
        self.assertEqual(self.ctl("epochs", "--pool", "web").stdout.splitlines(), [
            "POOL  EPOCH     BEGAN                 SERVERS  DIGEST",
            "web   today     2027-01-15 08:00:00Z       12  0011223344556677",
            "web   former 1  configured                  3  0011223344556677"])
        self.assertEqual(self._daemon.requests[-1], {"command": "epochs", "pool": "web"})
        self.assertEqual([json.loads(line)["servers"] for line in self.ctl("epochs", "--json").stdout.splitlines()], [12, 3])
        self.stream("epochs_export", {"part": '{"pools":'}, {"part": "[]}\n"}, end={"octets": 13})
        self.assertEqual(self.ctl("epochs", "export", "web").stdout, '{"pools":[]}\n')
        self.assertEqual(self._daemon.requests[-1], {"command": "epochs_export", "pool": "web"})

    def test_epochs_are_imported_in_parts(self) -> None:
        text = '{"é":"' + '\\"é' * 5000 + '"}'
        self._daemon.answers["epochs_import"] = [json.dumps({"ok": True, "import": 7, "taken": 2, "known": 1, "left_out": 1,
                                                             "unknown_pools": ["dns"], "placement_digest": "00ff"})]
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            done = self.ctl("epochs", "import", file.name)
        self.assertEqual(done.stdout.splitlines(), [
            "2 epochs taken over, 1 were known, 1 left out: none of their servers is configured here, or there are too many",
            "warning: there is no pool dns here", "placement_digest 00ff"])
        begin, *parts = [each for each in self._daemon.requests if each["command"] == "epochs_import"]
        self.assertEqual(begin, {"command": "epochs_import"})
        self.assertEqual("".join(part["part"] for part in parts), text)
        self.assertEqual([part.get("end", False) for part in parts], [False] * (len(parts) - 1) + [True])
        self.assertTrue(all(part["import"] == 7 and len(json.dumps(part, ensure_ascii=False).encode()) < 4096 for part in parts))
        done = subprocess.run([CTL, "--socket", self.path, "epochs", "import", "-", "--json"], input="", capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        self.assertEqual(json.loads(done.stdout)["taken"], 2)
        self._daemon.answers["epochs_import"] = ['{"ok":false,"error":"2 problems: nothing is taken over","problems":["a","b"]}']
        done = subprocess.run([CTL, "--socket", self.path, "epochs", "import", "-"], input="{", capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        self.assertEqual((done.returncode, done.stderr), (1, "a\nb\nasrpctl: 2 problems: nothing is taken over\n"))
        done = self.ctl("epochs", "import", "/nonexistent/file")
        self.assertEqual((done.returncode, done.stderr), (1, "asrpctl: /nonexistent/file: No such file or directory\n"))
        self.assertEqual(self.ctl("epochs", "import").returncode, 2)

    def test_reload_waits_and_shows_all_problems(self) -> None:
        self._daemon.answers["reload"] = [json.dumps({"ok": True, "problems": ["a: warning: b"]})]
        done = self.ctl("reload")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "in force\n", "a: warning: b\n"))
        self.assertEqual(json.loads(self.ctl("reload", "--json").stdout), {"problems": ["a: warning: b"]})
        self._daemon.answers["reload"] = [json.dumps({"ok": False, "error": "x has 2 problems: the running configuration stays",
                                                      "kind": "config", "problems": ["one", "two"]})]
        done = self.ctl("reload")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "one\ntwo\nasrpctl: x has 2 problems: the running configuration stays\n")

    def test_dry_run_of_a_reload(self) -> None:
        changes = [{"change": "changed", "key": "node.port", "now": "1", "then": "2", "next_start": True},
                   {"change": "added", "key": "pools.web.servers.s3", "then": "", "next_start": False},
                   {"change": "removed", "key": "log.file", "now": '"x"', "next_start": False},
                   {"pool": "web", "begins_epoch": True, "moved": 0.3336, "minimum": 0.3333, "counted": True}]
        self.stream("reload", *changes, end={}, problems=["w"])
        done = self.ctl("reload", "--dry-run")
        self.assertEqual(self._daemon.requests[-1], {"command": "reload", "dry_run": True})
        self.assertEqual(done.stdout.splitlines(), [
            "changed node.port: 1 -> 2 (waits for the next start)", "added pools.web.servers.s3", 'removed log.file: "x"',
            "pool web begins an epoch: 33.36 % of the new sessions get another first server; the servers' shares differ by 33.33 %"])
        self.assertEqual((done.returncode, done.stderr), (0, "w\n"))
        self.assertEqual([json.loads(line) for line in self.ctl("reload", "--dry-run", "--json").stdout.splitlines()], changes)
        self.stream("reload", end={}, problems=[])
        self.assertEqual(self.ctl("reload", "--dry-run").stdout, "nothing would change\n")

    def test_a_daemon_that_does_not_know_the_command_is_named(self) -> None:
        unknown = '{"ok":false,"error":"no command \\"services\\" here","kind":"command"}'
        self._daemon.answers["services"] = [unknown]
        done = self.ctl("services")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r'^asrpctl: asrpd-node 9 at \S+: no command "services" here; this asrpctl is of version \S+\n$')
        own = run(CTL, "--version").stdout.split()[1]
        self._daemon.answers["status"] = [json.dumps({"ok": True, "program": "asrpd-holder", "version": own})]
        self.assertIn("it is one of the other daemon", self.ctl("services").stderr)

    def test_status(self) -> None:
        self.assertEqual(json.loads(self.ctl("status", "--json").stdout)["gauges"]["waiting"], 3)
        text = self.ctl("status").stdout
        self.assertRegex(text, r"(?m)^program +asrpd-node$")
        self.assertRegex(text, r"(?m)^waiting +3$")
        self.assertIn("service web: servers 2", text)

    def test_events_are_passed_on_and_the_end_is_a_failure(self) -> None:
        done = self.ctl("events")
        self.assertEqual(done.stdout, '{"kind":"x"}\n{"lost":4}\n')
        self.assertEqual(done.returncode, 1)
        self.assertIn("closed the connection", done.stderr)

    def test_no_daemon(self) -> None:
        done = run(CTL, "--socket", self.path + ".none", "counters")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is the daemon running", done.stderr)
        dead = self._folder.name + "/dead.sock"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(dead)
        listener.close()
        self.assertIn("the daemon is not running", run(CTL, "--socket", dead, "counters").stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
