# SPDX-License-Identifier: BSD-3-Clause
"""The manual knows every key that the daemons read and that is in the example configurations, and every option of the programs; so do
the shells' completions. The protocol's page has the messages' numbers."""
import re

import tree

# Where a page's options stand; both daemons have the same.
DAEMON = "asrpd-common/frame/command_line.cpp"
PAGES = {"asrpd-node.8": DAEMON, "asrpd-holder.8": DAEMON, "asrpctl.8": "tools/asrpctl",
         "asrpdump.1": "tools/asrpdump/options_table.cpp"}
COMPLETED = "tools/asrpdump/options_table.cpp"
KEY = re.compile(r"^(?:# )?([a-z][a-z_0-9]*) = ", re.MULTILINE)
# How the daemons read a key and a table of their configuration.
READ = re.compile(r"\.(?:require|text|path|boolean|integer|durations?|address|addresses|endpoint|texts|choice<\w+(?:::\w+)*>)\(\s*\"([a-z][a-z_0-9]*)\"")
TABLE = re.compile(r"\.tables?\(\"([a-z][a-z_0-9]*)\"")
DAEMONS = ("asrpd-common", "asrpd-node", "asrpd-holder")
NUMBERS = "libasrp/include/asrp/wire/types.hpp"
ENUMERATOR = re.compile(r"\b([A-Z]{2}) = (\d)")
COMMAND = re.compile(r'^  return \{"([a-z]+)",', re.MULTILINE)


def _text(root, source):
    """Of a file, or of all sources below a folder."""
    path = root / source
    files = sorted(path.rglob("*.cpp")) if path.is_dir() else [path]
    return "".join(file.read_text(encoding="utf-8") for file in files)


def _options(root, source):
    return sorted(set(re.findall(r'"(--[a-z-]+)"', _text(root, source))))


def _unread(root, page, documented):
    """Keys and tables that a daemon reads and the page doesn't have. A secret KEY may be in a file that KEY_file names: said once."""
    tables = set(re.findall(r"(\w+)\]", " ".join(re.findall(r"^\.SS .*$", page, re.MULTILINE))))
    for folder in DAEMONS:
        files = [path for path in sorted((root / folder).rglob("*.cpp")) if "commands" not in path.parts]
        text = "".join(path.read_text(encoding="utf-8") for path in files)
        for key in sorted({*READ.findall(text), *TABLE.findall(text)} - documented - tables):
            if not (key.endswith("_file") and key.removesuffix("_file") in documented):
                yield f"{folder}: {key} is not in docs/man/asrpd.toml.5"


def _numbers(root):
    """Messages whose number the protocol's page doesn't have."""
    path = root / NUMBERS
    enumeration = re.search(r"enum class MsgType[^{]*{([^}]*)}", path.read_text(encoding="utf-8") if path.exists() else "")
    page = root / "docs/man/asrp.7"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    for name, number in ENUMERATOR.findall(enumeration.group(1)) if enumeration else []:
        if not re.search(rf"^ *{number}  {name} ", text, re.MULTILINE):
            yield f"{NUMBERS}: {name} = {number} is not in docs/man/asrp.7"


def problems(root):
    found = []
    page = (root / "docs/man/asrpd.toml.5").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\.B ([a-z_0-9]+)$", page, re.MULTILINE)) | set(re.findall(r"\\fB([a-z_0-9]+)\\fR", page))
    found += _unread(root, page, documented)
    found += _numbers(root)
    for example in sorted((root / "packaging/examples").glob("*.toml")):
        for key in sorted(set(KEY.findall(example.read_text(encoding="utf-8"))) - documented):
            found.append(f"{tree.relative(root, example)}: {key} is not in docs/man/asrpd.toml.5")
    for script in sorted((root / "packaging/completion").glob("*asrpdump*")):
        text = script.read_text(encoding="utf-8")
        for option in _options(root, COMPLETED):
            if not re.search(rf"(--|-l ){option[2:]}\b(?!-)", text):
                found.append(f"{tree.relative(root, script)}: {option} is missing")
    for name, source in PAGES.items():
        text = (root / "docs/man" / name).read_text(encoding="utf-8").replace("\\-", "-")
        for option in _options(root, source):
            if option not in text:
                found.append(f"{source}: {option} is not in docs/man/{name}")
    page = (root / "docs/man/asrpctl.8").read_text(encoding="utf-8")
    for command in sorted(set(COMMAND.findall(_text(root, "tools/asrpctl/commands")))):
        if not re.search(rf"^\.BR? {command}\b", page, re.MULTILINE):
            found.append(f"tools/asrpctl/commands: {command} is not in docs/man/asrpctl.8")
    return found
