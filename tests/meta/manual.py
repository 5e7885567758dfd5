# SPDX-License-Identifier: BSD-3-Clause
"""The manual knows every key of the example configurations and every option of the programs; so do the shells' completions."""
import re

import tree

# Where a page's options stand; both daemons have the same.
DAEMON = "asrpd-common/frame/command_line.cpp"
PAGES = {"asrpd-node.8": DAEMON, "asrpd-holder.8": DAEMON, "asrpctl.8": "tools/asrpctl",
         "asrpdump.1": "tools/asrpdump/options_table.cpp"}
COMPLETED = "tools/asrpdump/options_table.cpp"
KEY = re.compile(r"^(?:# )?([a-z][a-z_0-9]*) = ", re.MULTILINE)
COMMAND = re.compile(r'^  return \{"([a-z]+)",', re.MULTILINE)


def _text(root, source):
    """Of a file, or of all sources below a folder."""
    path = root / source
    files = sorted(path.rglob("*.cpp")) if path.is_dir() else [path]
    return "".join(file.read_text(encoding="utf-8") for file in files)


def _options(root, source):
    return sorted(set(re.findall(r'"(--[a-z-]+)"', _text(root, source))))


def problems(root):
    found = []
    page = (root / "docs/man/asrpd.toml.5").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\.B ([a-z_0-9]+)$", page, re.MULTILINE)) | set(re.findall(r"\\fB([a-z_0-9]+)\\fR", page))
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
