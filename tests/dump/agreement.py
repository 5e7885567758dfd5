# SPDX-License-Identifier: BSD-3-Clause
"""What a program found in a generated capture, against what the generator put there."""

import unittest


class Agreement(unittest.TestCase):
    maxDiff = 4000

    def agrees(self, capture, found, comparable):
        """`found`: facts and claim by frame number. `comparable` leaves of the facts of a claim what can be compared."""
        names = {number: name for number, _, _, name in capture.expected}
        with self.subTest(capture=capture.name):
            self.assertEqual(sorted(found.keys() - names.keys()), [], "frames without a message")
            self.assertEqual([(n, names[n]) for n in sorted(names.keys() - found.keys())], [], "frames whose message isn't found")
        for number, facts, claim, name in capture.expected:
            if number not in found:
                continue
            with self.subTest(capture=capture.name, frame=number, case=name):
                self.assertEqual(found[number][1], claim)
                self.assertEqual(comparable(found[number][0], claim), comparable(facts, claim))
