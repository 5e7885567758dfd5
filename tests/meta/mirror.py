# SPDX-License-Identifier: BSD-3-Clause
"""Each libasrp/src/x/y.cpp has tests/unit/x/y_test.cpp, and each such test a source or a public header. A source y_part.cpp that
is only a part of y (surgery_udp.cpp) may be tested in y_test.cpp, and a topic of y may have its own test (y_topic_test.cpp)."""
import tree

MODULES = {"base", "wire", "packet", "session", "policy", "engine"}


def _tests_of(directory, stem):
    yield directory / f"{stem}_test.cpp"
    whole, _, part = stem.rpartition("_")
    if whole and part:
        yield directory / f"{whole}_test.cpp"


def _subjects(root, stem):
    yield root / f"libasrp/src/{stem}.cpp"
    yield root / f"libasrp/src/{stem}.hpp"
    yield root / f"libasrp/include/asrp/{stem}.hpp"


def problems(root):
    found = []
    sources = root / "libasrp/src"
    tests = root / "tests/unit"
    for path in tree.files(root, ("libasrp/src",), {".cpp"}):
        relative = path.relative_to(sources)
        candidates = list(_tests_of(tests / relative.parent, relative.stem))
        test = next((candidate for candidate in candidates if candidate.exists()), None)
        if test is None:
            found.append(f"libasrp/src/{relative}: {candidates[0].relative_to(root)} is missing")
        elif "TEST_CASE" not in test.read_text(encoding="utf-8"):
            found.append(f"{test.relative_to(root)}: has no TEST_CASE")
    for path in tree.files(root, ("tests/unit",), {".cpp"}):
        if not path.stem.endswith("_test"):
            continue
        relative = path.relative_to(tests)
        words = relative.stem.removesuffix("_test").split("_")
        stems = [relative.parent / "_".join(words[:count]) for count in range(len(words), 0, -1)]
        if relative.parts[0] in MODULES and not any(c.exists() for stem in stems for c in _subjects(root, stem)):
            found.append(f"{tree.relative(root, path)}: tests nothing by that name in libasrp")
    return found
