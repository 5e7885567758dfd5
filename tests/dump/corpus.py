# SPDX-License-Identifier: BSD-3-Clause
"""Makes inputs for the fuzz target `dump` out of captures.

    python3 corpus.py DIRECTORY FILE...   a few frames in a row from each file
    python3 corpus.py DIRECTORY           from the generated captures: the corpus that is kept in tests/fuzz/corpus/dump

An input is the link type (2 octets), an octet of options, and frames: captured size (2), wire octets beyond it (1), time that has passed
(1), octets.
"""

import hashlib
import struct
import sys
from pathlib import Path

import files
import generate

MOST_FRAMES, MOST_OCTETS = 6, 3000


def inputs(link, frames):
    """The frames in groups."""
    group, size = [], 0
    for octets in frames:
        octets = octets[: 2 * MOST_OCTETS]
        if group and (len(group) == MOST_FRAMES or size + len(octets) > MOST_OCTETS):
            yield encoded(link, group)
            group, size = [], 0
        group.append(octets)
        size += len(octets)
    if group:
        yield encoded(link, group)


def encoded(link, group):
    """Every fourth follows the sessions, in one of the ways that there are."""
    count = len(group[0]) + 7 * sum(len(o) for o in group)
    return struct.pack("!HB", link & 0xFFFF, 1 | (count // 16 % 16 << 4 if count % 4 == 0 else 0)) + b"".join(struct.pack("!HBB", len(o), 0, 9) + o for o in group)


def of_files(names, most=40):
    for name in names:
        links = {}
        for link, octets in files.read(Path(name).read_bytes()):
            links.setdefault(link, []).append(octets)
        for link, frames in links.items():
            for n, one in enumerate(inputs(link, frames)):
                if n < most:
                    yield one


def of_generated():
    for capture in generate.captures():
        frames = [f.octets for f in capture.frames]
        step = max(1, len(frames) // (24 if capture.name == "ethernet" else 12))
        for n, one in enumerate(inputs(capture.link, frames[::step])):
            if n < 3:
                yield one


def main():
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    seen = set()
    for one in of_files(sys.argv[2:]) if len(sys.argv) > 2 else of_generated():
        name = hashlib.sha1(one).hexdigest()[:16]
        if name not in seen:
            (directory / name).write_bytes(one)
            seen.add(name)
    print(len(seen), "inputs")


if __name__ == "__main__":
    main()
