# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of asrpdump --ladder: well-formed, complete, and no text lies over another or outside. The diagrams on the terminal: each
message has its arrow.

    ASRPDUMP=PROGRAM python3 ladder_test.py
"""

import os
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

import exchanges
from exchanges import Scene

PROGRAM = os.environ.get("ASRPDUMP", "asrpdump")
SVG = "{http://www.w3.org/2000/svg}"
SIZES = {"title": 16, "time": 10.5, "addr": 11, "small": 10.5}
EXPECTED = {"psv1": ["NS", "PS"], "psv1-standalone": ["NS", "NA"], "psv2": ["NS", "PS", "QS", "RS"], "psv3": ["NS", "PS", "QS", "QS", "RX", "RS"],
            "udp-created": ["QS", "QS", "RX", "RX", "NS", "NA"], "act": ["HS", "NS", "QS", "RS"]}


def run(octets, *options, columns=120):
    with tempfile.TemporaryDirectory() as directory:
        capture, picture = Path(directory, "in.pcap"), Path(directory, "out.svg")
        capture.write_bytes(octets)
        arguments = [str(picture) if option == "SVG" else option for option in options]
        done = subprocess.run([PROGRAM, "-r", str(capture), *arguments], capture_output=True, text=True, check=True,
                              env={"COLUMNS": str(columns), "TZ": "UTC"})
        return picture.read_text(encoding="utf-8") if picture.exists() else done.stdout


def boxes(tree):
    """(left, top, right, bottom, text) of each text, as wide as most fonts make it."""
    for element in tree.iter(SVG + "text"):
        classes = element.get("class").split()
        size = next((SIZES[c] for c in classes if c in SIZES), 12)
        wide = len(element.text) * size * 0.6
        x, y = float(element.get("x")), float(element.get("y"))
        left = {"start": x, "middle": x - wide / 2, "end": x - wide}[element.get("text-anchor")]
        yield left, y - size * 0.75, left + wide, y + size * 0.2, element.text


def scenes():
    for family in (4, 6):
        for name, scenario in exchanges.SCENARIOS.items():
            scene = Scene(family)
            scenario(scene)
            yield name, family, scene


class Ladder(unittest.TestCase):
    def test_no_text_lies_over_another_or_outside(self):
        for name, family, scene in scenes():
            with self.subTest(scenario=name, family=family):
                self.check_texts(xml.fromstring(run(scene.octets(), "--ladder", "SVG")))

    def check_texts(self, tree):
        _, _, width, height = map(float, tree.get("viewBox").split())
        found = list(boxes(tree))
        self.assertGreater(len(found), 10)
        for n, (left, top, right, bottom, text) in enumerate(found):
            self.assertTrue(0 <= left and right <= width and 0 <= top and bottom <= height, text)
            for other in found[n + 1 :]:
                apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
                self.assertTrue(apart, f"{text} and {other[4]}")

    def test_each_message_has_an_arrow(self):
        self.assertLessEqual(set(EXPECTED), set(exchanges.SCENARIOS))
        for name, family, scene in scenes():
            if name not in EXPECTED:
                continue
            with self.subTest(scenario=name, family=family):
                tree = xml.fromstring(run(scene.octets(), "--ladder", "SVG"))
                kinds = [e.get("class").split()[0] for e in tree.iter(SVG + "line") if e.get("class").endswith(" a")]
                self.assertEqual([kind for kind in kinds if kind != "flow"], EXPECTED[name])
                arrows = re.findall(r"[─◀] (NS|NA|QS|RS|RX|HS|PS|NC)\b", run(scene.octets(), "--ladder"))
                self.assertEqual(arrows, EXPECTED[name])

    def test_the_terminal_is_not_too_narrow(self):
        for columns in (80, 120, 200):
            for name, family, scene in scenes():
                with self.subTest(scenario=name, family=family, columns=columns):
                    lines = run(scene.octets(), "--ladder", columns=columns).splitlines()
                    rows = [line for line in lines if not line.startswith("session")]
                    self.assertLessEqual(max(map(len, rows)), columns)

    def test_light_and_dark_colour_the_same_things(self):
        scene = Scene()
        exchanges.psv1(scene)
        style = re.search(r"<style>(.*)</style>", run(scene.octets(), "--ladder", "SVG"), re.S).group(1)
        light, dark = style.split("@media (prefers-color-scheme: dark){")
        for kind in ("bg", "flow", "held", "box", "lane", "NS", "NA", "QS", "RS", "RX", "HS", "PS", "NC"):
            self.assertRegex(light, rf"\.{kind}\b")
            self.assertRegex(dark, rf"\.{kind}\b")

    def test_one_session_can_be_drawn(self):
        scene = Scene()
        exchanges.queries(scene)
        text = run(scene.octets(), "--ladder", "--session", "203.0.113.7:41007")
        self.assertEqual(text.count("session "), 1)
        self.assertIn("203.0.113.7:41007", text)

    def test_the_limit_keeps_what_tells_most(self):
        scene = Scene()
        exchanges.psv1(scene, exchanges.psv_flow(scene, 41000), prefix="dull-")
        exchanges.psv3(scene)
        text = run(scene.octets(), "--ladder", "--ladder-limit", "1")
        self.assertEqual(text.count("session "), 1)
        self.assertIn(" RX ", text)

    def test_a_move_to_another_node_tells_more_than_a_recovery_at_the_same(self):
        scene = Scene()
        f = exchanges.psv1(scene, exchanges.psv_flow(scene, 41000), prefix="same-")
        scene.query("qs1", f.st1, scene.nodes[0], scene.servers[1], 0xAA03, 33003)
        scene.query("qs2", f.st1, scene.nodes[0], scene.servers[0], 0xAA03, 33003)
        scene.answer("rx", scene.one("RX", f.st1, 0xAA03), scene.nodes[0], scene.servers[1], 33003)
        scene.answer("rs", scene.pair("RS", f.st1, f.st2, 0xAA03), scene.nodes[0], scene.servers[0], 33003)
        exchanges.psv2(scene)
        text = run(scene.octets(), "--ladder", "--ladder-limit", "1")
        self.assertEqual(text.count("session "), 1)
        self.assertIn(":40000>", text)
        self.assertNotIn(":41000>", text)


if __name__ == "__main__":
    unittest.main()
