# SPDX-License-Identifier: BSD-3-Clause
"""What the checks share: which files the project consists of, and C++ text without comments and strings."""
import pathlib
import re

SOURCE_DIRS = ("libasrp", "asrpd-common", "asrpd-node", "asrpd-holder", "tools", "tests", "bench", "demo", "packaging")
GPL_DIRS = ("asrpd-common", "asrpd-node", "asrpd-holder")
CPP = {".hpp", ".cpp"}
SKIPPED = {"build", "corpus", "__pycache__", ".git"}

# Comments, string and character literals; a raw string is taken as far as its own delimiter.
_LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<d>[^()\\\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL | re.VERBOSE,
)


def files(root, directories=SOURCE_DIRS, suffixes=None):
    """Yields the regular files below the directories, sorted, without build output and fuzzing corpora."""
    for directory in directories:
        base = root / directory
        if not base.is_dir():
            continue
        for path in sorted(base.rglob("*")):
            relative = path.relative_to(root)
            if path.is_file() and not SKIPPED & set(relative.parts) and (suffixes is None or path.suffix in suffixes):
                yield path


def text_of(path):
    """The file as text, or None for a binary one."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def bare(text):
    """C++ text with comments and literals blanked out, line breaks kept."""
    return _LITERAL.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def includes(text):
    """Yields (line, "name" or <name>) of every include."""
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*(["<][^">]+[">])', text, re.MULTILINE):
        yield line_of(text, match.start()), match.group(1)


def is_script(path):
    """A file without suffix that starts with #!."""
    if path.suffix:
        return path.suffix in {".sh", ".py"}
    with path.open("rb") as stream:
        return stream.read(2) == b"#!"


def relative(root, path):
    return str(pathlib.PurePosixPath(path.relative_to(root)))
