#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The units' exposure, the changelog that packages get, and what monitoring is given."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "packaging" / "trial"))
import containerfile  # noqa: E402

UNITS = sorted((ROOT / "packaging" / "systemd").glob("*.service"))
MOST_EXPOSED = 2.5


def output(*argv, **options):
    return subprocess.run(argv, capture_output=True, text=True, check=True, **options).stdout


def changelog_of(text, what, **environment):
    """What the script makes of a project with this CHANGELOG.md."""
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        (root / "packaging").mkdir()
        shutil.copy(ROOT / "packaging" / "changelog", root / "packaging")
        shutil.copy(ROOT / "CMakeLists.txt", root)
        (root / "CHANGELOG.md").write_text(text, encoding="utf-8")
        return subprocess.run([root / "packaging" / "changelog", what], capture_output=True, text=True, check=False,
                              env={**os.environ, **environment})


class Units(unittest.TestCase):
    def test_each_daemon_has_a_unit_and_a_template(self):
        self.assertEqual([u.name for u in UNITS], ["asrpd-holder.service", "asrpd-holder@.service", "asrpd-node.service", "asrpd-node@.service"])

    def test_a_template_differs_from_its_unit_by_the_instance_only(self):
        for unit in UNITS:
            if "@" in unit.name:
                plain = unit.with_name(unit.name.replace("@", "")).read_text(encoding="utf-8")
                text = unit.read_text(encoding="utf-8").replace("-%i.toml", ".toml").replace(", instance %i", "")
                self.assertEqual(text, plain, unit.name)

    def test_exposure(self):
        for unit in UNITS:
            shown = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)], capture_output=True,
                                   text=True, check=False).stdout
            found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", shown)
            self.assertIsNotNone(found, shown)
            self.assertLessEqual(float(found.group(1)), MOST_EXPOSED, unit.name)

    def test_capabilities_are_the_two_that_the_daemons_ask_for(self):
        for unit in UNITS:
            lines = re.findall(r"^(?:Ambient|Bounding|CapabilityBoundingSet)\S*=(.*)$", unit.read_text(encoding="utf-8"), re.M)
            self.assertEqual(lines, ["CAP_NET_ADMIN CAP_NET_RAW"] * 2, unit.name)

    def test_a_unit_starts_nothing_that_a_minimal_system_lacks(self):
        for unit in UNITS:
            daemon = "/usr/sbin/" + re.split("[.@]", unit.name)[0]
            programs = set(re.findall(r"^Exec\w+=[-+!:@]*(\S+)", unit.read_text(encoding="utf-8"), re.M))
            self.assertEqual(programs, {daemon, "/bin/sh"}, unit.name)

    def test_a_reload_checks_the_file_first_so_that_it_fails_if_that_is_wrong(self):
        for unit in UNITS:
            text = unit.read_text(encoding="utf-8")
            check = re.search(r"^ExecStartPre=(.*)$", text, re.M).group(1)
            self.assertEqual(re.findall(r"^ExecReload=(.*)$", text, re.M)[0], check, unit.name)


class Changelog(unittest.TestCase):
    def changelog(self, what):
        return output(str(ROOT / "packaging" / "changelog"), what)

    def test_debian_reads_what_we_write(self):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write(self.changelog("debian"))
            file.flush()
            shown = output("dpkg-parsechangelog", "-l", file.name)
        fields = dict(re.findall(r"^(\w+): (.*)$", shown, re.M))
        self.assertEqual(fields["Source"], "asrp")
        self.assertEqual(fields["Version"], self.changelog("version").strip() + "-1")
        self.assertEqual(int(fields["Timestamp"]), int(self.changelog("time")))

    def test_every_change_of_the_newest_section_is_in_it(self):
        text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        newest = text.split("\n## ")[1]
        self.assertEqual(len(re.findall(r"^- ", newest, re.M)), len(re.findall(r"^  \* ", self.changelog("debian").split("\n -- ")[0], re.M)))

    def test_a_release_is_as_old_as_its_heading_says_wherever_the_packages_are_built(self):
        releases = "# Changelog\n\n## 0.2.0 (2026-12-31)\n\n- Second: no -0000.\n\n## 0.1.0 (2026-01-01)\n\n- First,\n  in `two` lines.\n"
        for zone in ("UTC", "AAA-14", "AAA+11"):
            found = {what: changelog_of(releases, what, TZ=zone) for what in ("version", "time", "debian", "rpm")}
            self.assertEqual(found["version"].stdout, "0.2.0\n", zone)
            self.assertEqual(found["time"].stdout, "1798675200\n", zone)
            self.assertRegex(found["debian"].stdout, r"^asrp \(0\.2\.0-1\) unstable; urgency=medium\n\n  \* Second: no -0000\.\n\n"
                             r" -- .+>  Thu, 31 Dec 2026 00:00:00 \+0000\n\n"
                             r"asrp \(0\.1\.0-1\) unstable; urgency=medium\n\n  \* First, in two lines\.\n\n"
                             r" -- .+>  Thu, 01 Jan 2026 00:00:00 \+0000\n$", zone)
            self.assertRegex(found["rpm"].stdout, r"^\* Thu Dec 31 2026 .+> - 0\.2\.0-1\n- Second: no -0000\.\n\n"
                             r"\* Thu Jan 01 2026 .+> - 0\.1\.0-1\n- First, in two lines\.\n$", zone)

    def test_only_the_newest_release_is_built_again(self):
        releases = "# Changelog\n\n## 0.2.0 (2026-12-31)\n\n- Second.\n\n## 0.1.0 (2026-01-01)\n\n- First.\n"
        self.assertEqual(re.findall(r"^asrp \((\S+)\)", changelog_of(releases, "debian", ASRP_PACKAGE_RELEASE="3").stdout, re.M), ["0.2.0-3", "0.1.0-1"])
        self.assertEqual(changelog_of(releases, "release", ASRP_PACKAGE_RELEASE="3").stdout, "3\n")

    def test_a_heading_that_is_neither_a_release_nor_unreleased_is_told(self):
        done = changelog_of("## 0.3.0\n\n- Third.\n", "debian")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("found the heading '0.3.0'", done.stderr)

    def test_the_version_is_the_project_s(self):
        project = re.search(r"project\(asrp VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
        self.assertTrue(self.changelog("version").startswith(project))


def needed(*arguments, **environment):
    """What packaging/install-deps would install."""
    return output(str(ROOT / "packaging" / "install-deps"), "--print", *arguments, env={**os.environ, **environment}).split()


class Dependencies(unittest.TestCase):
    """One list, tools/dev/packages.txt, says what Debian's and Fedora's packages for building and running are."""

    def test_debian_s_control_file_asks_for_what_the_list_has(self):
        control = (ROOT / "packaging" / "deb" / "debian" / "control").read_text(encoding="utf-8")
        field = re.search(r"^Build-Depends:(.*?)^\S", control, re.M | re.S).group(1)
        asked = {re.split(r"[ (]", each.strip())[0] for each in field.split(",")} - {"debhelper-compat", "dh-sequence-installsysusers"}
        # build-essential and what dpkg-buildpackage is not told: the compiler, the script that writes the changelog, git for the archive.
        self.assertEqual(asked | {"build-essential", "g++", "git", "python3"}, set(needed("--family", "debian", "build")))

    def test_the_spec_file_asks_for_what_the_list_has(self):
        spec = (ROOT / "packaging" / "rpm" / "asrp.spec.in").read_text(encoding="utf-8")
        asked = set(re.findall(r"^BuildRequires: +(\S+)", spec, re.M))
        self.assertEqual(asked | {"git-core", "make", "python3"}, set(needed("--family", "fedora", "build")))

    def test_packages_require_what_the_list_says_for_running(self):
        control = (ROOT / "packaging" / "deb" / "debian" / "control").read_text(encoding="utf-8")
        spec = (ROOT / "packaging" / "rpm" / "asrp.spec.in").read_text(encoding="utf-8")
        self.assertEqual(needed("--family", "debian", "run"), ["iptables"])
        self.assertEqual(control.count("\nDepends: iptables,"), 2)
        self.assertEqual(needed("--family", "fedora", "run"), ["iptables-nft"])
        self.assertEqual(len(re.findall(r"^Requires: +iptables$", spec, re.M)), 2)

    def test_debian_has_the_packages(self):
        names = needed("--family", "debian", "build", "run", "package")
        shown = subprocess.run(["apt-cache", "show", *names], capture_output=True, text=True, check=False)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))

    def test_the_family_is_that_of_the_system(self):
        for text, first in (("ID=debian\n", "debhelper"), ("ID=ubuntu\nID_LIKE=debian\n", "debhelper"), ("ID=fedora\n", "rpm-build"),
                            ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "rpm-build")):
            with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                self.assertEqual(needed("package", OS_RELEASE=file.name)[0], first)

    def test_an_unknown_system_and_wrong_words_are_told(self):
        for arguments in (["--print", "everything"], ["--print", "--family", "slackware"]):
            done = subprocess.run([ROOT / "packaging" / "install-deps", *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(arguments[-1], done.stderr)


class SpecFile(unittest.TestCase):
    def setUp(self):
        self.text = output(str(ROOT / "packaging" / "rpm" / "spec"))

    def test_rpm_reads_it(self):
        with tempfile.NamedTemporaryFile("w", suffix=".spec", encoding="utf-8") as file:
            file.write(self.text)
            file.flush()
            names = output("rpmspec", "-q", "--qf", "%{NAME} %{VERSION}\n", file.name).splitlines()
        version = output(str(ROOT / "packaging" / "changelog"), "version").strip()
        packages = ("asrp", "asrpd-node", "asrpd-holder", "asrp-tools", "libasrp0", "libasrp-devel")
        self.assertEqual(sorted(name for name in names if "debug" not in name), sorted(f"{name} {version}" for name in packages))

    def test_nothing_is_left_to_fill_in(self):
        self.assertEqual(re.findall(r"@[A-Z]+[^@\n]*@", self.text), [])

    def test_a_percent_sign_in_the_changelog_stays_one(self):
        changes = self.text.split("%changelog")[1]
        self.assertEqual(re.findall(r"(?<!%)%(?!%)", changes.replace("%%", "")), [])

    def test_both_formats_have_the_same_summary_and_description(self):
        control = (ROOT / "packaging" / "deb" / "debian" / "control").read_text(encoding="utf-8")
        for package in ("asrpd-node", "asrpd-holder", "asrp-tools"):
            debian = re.search(rf"^Package: {package}\n.*?^Description: [^\n]*\n(.*?)(?:\n\n|\Z)", control, re.M | re.S).group(1)
            rpm = re.search(rf"^%description -n {package}\n(.*?)\n\n%", self.text, re.M | re.S).group(1)
            self.assertEqual([line.strip() for line in debian.splitlines()], [line or "." for line in rpm.splitlines()])


class Reference(unittest.TestCase):
    """packaging/reference makes web pages of the manual."""

    def test_links_lead_somewhere_and_keys_can_be_linked_to(self):
        with tempfile.TemporaryDirectory() as directory:
            output(str(ROOT / "packaging" / "reference"), directory)
            texts = {path.name: path.read_text(encoding="utf-8") for path in pathlib.Path(directory).iterdir()}
        pages = {f"{path.name}.html" for path in (ROOT / "docs" / "man").iterdir()}
        self.assertEqual(set(texts), pages | {"index.html"})
        for name, text in texts.items():
            for target in re.findall(r'href="([^"#]+)"', text):
                self.assertIn(target, texts, name)
        self.assertEqual(set(re.findall(r'href="([^"#]+)"', texts["index.html"])), pages)
        for key in ("local_ips", "placement_key", "embryonic_life"):
            self.assertIn(f'id="{key}"', texts["asrpd.toml.5.html"])

    def test_pages_are_well_formed(self):
        for path in (ROOT / "docs" / "man").iterdir():
            done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path], capture_output=True, text=True, check=False)
            # The date is left out: pages change with the program, whose version they name.
            found = [line for line in done.stdout.splitlines() if "missing date" not in line]
            self.assertEqual(found, [])


class ThreeNodes(unittest.TestCase):
    """packaging/examples/three-nodes; tests/netns/51-three-nodes.py runs it."""

    FOLDER = ROOT / "packaging" / "examples" / "three-nodes"

    def test_the_nodes_files_differ_in_their_address_only(self):
        texts = [(self.FOLDER / f"node{n}.toml").read_text(encoding="utf-8").replace(f"Node {n}", "Node N").replace(f"10.2.{n}.2", "ADDRESS")
                 for n in (1, 2, 3)]
        self.assertIn("ADDRESS", texts[0])
        self.assertEqual(texts, texts[:1] * 3)

    def test_the_holders_know_all_nodes(self):
        nodes = tomllib.loads((self.FOLDER / "holder.toml").read_text(encoding="utf-8"))["holder"]["nodes"]
        own = [tomllib.loads((self.FOLDER / f"node{n}.toml").read_text(encoding="utf-8"))["node"]["local_ips"] for n in (1, 2, 3)]
        self.assertEqual([[node] for node in nodes], own)

    def test_bird_takes_its_files(self):
        files = sorted((self.FOLDER / "bird").glob("*.conf"))
        self.assertEqual(len(files), 5)
        for file in files:
            done = subprocess.run(["bird", "-p", "-c", file], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, f"{file.name}: {done.stderr}")


class ReleaseCheck(unittest.TestCase):
    """packaging/release-check over a repository whose parts do nothing but succeed, or fail."""

    PARTS = ("tools/dev/install-packages", "packaging/try-packages", "packaging/deb/try-guide", "packaging/container/try", "demo/run",
             "demo/mininet/lb.py", "demo/mininet/snat.py", "tests/run")
    BUILDS = {"packaging/deb/build": ("a_1.deb", "a_1.changes"), "packaging/rpm/build": ("a-1.rpm", "asrp.spec")}

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.place = pathlib.Path(self.directory.name)
        self.tree = self.place / "tree"
        for name in self.PARTS:
            self.script(self.tree / name, "true")
        for name, files in self.BUILDS.items():
            self.script(self.tree / name, 'mkdir -p "$1"\n' + "\n".join(f'echo octets >"$1/{file}"' for file in files))
        for name, text in (("id", "echo 0"), ("lintian", "true"), ("rpmlint", "true")):
            self.script(self.place / "bin" / name, text)
        shutil.copy(ROOT / "packaging" / "release-check", self.tree / "packaging")

    def script(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def check(self):
        git = ["git", "-C", str(self.tree), "-c", "user.name=n", "-c", "user.email=n@example.org"]
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "test"]):
            subprocess.run([*git, *arguments], check=True, capture_output=True)
        return subprocess.run([self.tree / "packaging" / "release-check", self.place / "out"], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{self.place}/bin:{os.environ['PATH']}"})

    def failed(self, done):
        return [line.split("s  ", 1)[1] for line in done.stdout.split("release-check of ")[1].splitlines() if line.startswith("FAIL")]

    def test_all_parts_pass(self):
        done = self.check()
        self.assertEqual(self.failed(done), [], done.stdout)
        self.assertEqual(done.returncode, 0)
        self.assertIn("17 parts passed, 0 failed", done.stdout)

    def test_a_part_that_fails_is_told_at_the_end_and_does_not_keep_others_from_running(self):
        self.script(self.tree / "packaging/deb/try-guide", "echo what was wrong; exit 1")
        done = self.check()
        self.assertEqual(self.failed(done), ["guide in fresh systems"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("what was wrong", done.stdout)
        self.assertIn("16 parts passed, 1 failed", done.stdout)

    def test_other_octets_and_a_word_of_lintian_are_failures(self):
        self.script(self.tree / "packaging/rpm/build", 'mkdir -p "$1"; echo "$1" >"$1/a-1.rpm"; touch "$1/asrp.spec"')
        self.script(self.place / "bin/lintian", "echo 'P: asrp: something'")
        self.assertEqual(self.failed(self.check()), ["lintian", "RPMs again, the same octets"])

    def test_what_was_not_built_is_a_failure(self):
        self.script(self.tree / "packaging/deb/build", "exit 1")
        self.assertEqual(self.failed(self.check())[:2], ["Debian packages", "Debian packages again, the same octets"])


class Containers(unittest.TestCase):
    """The Containerfiles; packaging/container/try carries their steps out."""

    def test_each_daemon_has_one_that_starts_it(self):
        for part in ("node", "holder"):
            recipe = containerfile.read((ROOT / "packaging" / "container" / part / "Containerfile").read_text(encoding="utf-8"))
            self.assertEqual(recipe.entry + recipe.arguments, [f"/usr/sbin/asrpd-{part}", "--config", f"/etc/asrp/{part}.toml"])
            self.assertEqual(recipe.base, "docker.io/library/debian:bookworm-slim")

    def test_what_is_copied_are_packages_that_we_build(self):
        control = (ROOT / "packaging" / "deb" / "debian" / "control").read_text(encoding="utf-8")
        ours = set(re.findall(r"^Package: (\S+)$", control, re.M))
        for part in ("node", "holder"):
            recipe = containerfile.read((ROOT / "packaging" / "container" / part / "Containerfile").read_text(encoding="utf-8"))
            copied = [source for word, rest in recipe.steps if word == "COPY" for source in rest.split()[:-1]]
            self.assertEqual(len(copied), 3)
            self.assertLessEqual({source.split("_")[0] for source in copied}, ours)

    def test_what_it_does_not_understand_is_told(self):
        good = 'FROM x\nENTRYPOINT ["/y"]\n'
        self.assertEqual(containerfile.read(good).entry, ["/y"])
        for text in ("RUN true\n" + good, good + "WORKDIR /z\n", good + "CMD /y -z\n", good + 'HEALTHCHECK ["/z"]\n', 'ENTRYPOINT ["/y"]\n', "FROM x\n", ""):
            with self.assertRaises(ValueError, msg=text):
                containerfile.read(text)


class Monitoring(unittest.TestCase):
    def promtool(self, *arguments):
        done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_prometheus_takes_the_alert_rules(self):
        self.promtool("check", "rules", str(ROOT / "packaging" / "prometheus" / "alerts.yml"))

    def test_alerts_fire_where_they_have_to(self):
        self.promtool("test", "rules", str(ROOT / "tests" / "packaging" / "alerts.test.yml"))

    def test_each_alert_has_a_test(self):
        rules = (ROOT / "packaging" / "prometheus" / "alerts.yml").read_text(encoding="utf-8")
        tests = (ROOT / "tests" / "packaging" / "alerts.test.yml").read_text(encoding="utf-8")
        for alert in re.findall(r"- alert: (\w+)", rules):
            self.assertIn(alert, tests)

    def test_prometheus_understands_what_the_dashboard_asks(self):
        dashboard = json.loads((ROOT / "packaging" / "grafana" / "asrp.json").read_text(encoding="utf-8"))
        asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        self.assertGreater(len(asked), 20)
        ids = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
        self.assertEqual(len(places), len(set(places)))
        with tempfile.NamedTemporaryFile("w", suffix=".yml", encoding="utf-8") as file:
            rules = [{"record": f"r{n}", "expr": expr.replace("$__rate_interval", "5m").replace("$instance", ".*")} for n, expr in enumerate(asked)]
            json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
            file.flush()
            self.promtool("check", "rules", file.name)


class Announce(unittest.TestCase):
    """packaging/examples/asrp-announce with commands that write down that they were run, and a node that is ready while a file is there."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.place = pathlib.Path(self.directory.name)
        self.log = self.place / "log"
        self.log.touch()

    def start(self, *more, up="", ready="test -e {place}/ready"):
        process = subprocess.Popen([ROOT / "packaging" / "examples" / "asrp-announce", "--interval", "0.02",
                                    "--check", f"echo look >>{self.place}/looks; " + ready.format(place=self.place),
                                    "--up", f"{up} echo up >>{self.log}", "--down", f"echo down >>{self.log}", *more],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def said(self):
        return self.log.read_text(encoding="utf-8").split()

    def wait_for(self, *words):
        end = time.monotonic() + 60
        while self.said() != list(words) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(self.said(), list(words))

    def looks(self):
        looks = self.place / "looks"
        return len(looks.read_text(encoding="utf-8").split()) if looks.exists() else 0

    def wait_for_looks(self, count):
        wanted = self.looks() + count
        end = time.monotonic() + 60
        while self.looks() < wanted and time.monotonic() < end:
            time.sleep(0.01)
        self.assertGreaterEqual(self.looks(), wanted)

    def test_each_change_is_told_once_and_the_end_withdraws(self):
        process = self.start()
        self.wait_for("down")
        (self.place / "ready").touch()
        self.wait_for("down", "up")
        self.wait_for_looks(5)
        (self.place / "ready").unlink()
        self.wait_for("down", "up", "down")
        self.wait_for_looks(5)
        (self.place / "ready").touch()
        self.wait_for("down", "up", "down", "up")
        process.terminate()
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertEqual(self.said(), ["down", "up", "down", "up", "down"])

    def test_what_is_withdrawn_is_not_withdrawn_again_at_the_end(self):
        process = self.start()
        self.wait_for("down")
        self.wait_for_looks(3)
        process.terminate()
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertEqual(self.said(), ["down"])

    def test_rise_is_a_number_of_looks_in_a_row(self):
        (self.place / "ready").touch()
        self.start("--rise", "1000000")
        self.wait_for_looks(10)
        self.assertEqual(self.said(), ["down"])

    def test_a_node_that_is_ready_at_every_second_look_is_not_ready(self):
        self.start(ready="test $(($(wc -l <{place}/looks) % 2)) = 0")
        self.wait_for_looks(10)
        self.assertEqual(self.said(), ["down"])

    def test_fall_is_a_number_of_looks_in_a_row(self):
        (self.place / "ready").touch()
        self.start("--fall", "1000000")
        self.wait_for("down", "up")
        (self.place / "ready").unlink()
        self.wait_for_looks(10)
        self.assertEqual(self.said(), ["down", "up"])

    def test_a_command_that_fails_is_tried_again(self):
        (self.place / "ready").touch()
        self.start(up=f"test -e {self.place}/router &&")
        self.wait_for_looks(5)
        self.assertEqual(self.said(), ["down"])
        (self.place / "router").touch()
        self.wait_for("down", "up")

    def test_wrong_usage_is_told(self):
        for arguments in ([], ["--up", "true"], ["--up"], ["--upp", "true", "--down", "true"]):
            done = subprocess.run([ROOT / "packaging" / "examples" / "asrp-announce", *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn("asrp-announce:", done.stderr)


if __name__ == "__main__":
    unittest.main()
