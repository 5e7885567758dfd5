# SPDX-License-Identifier: BSD-3-Clause
"""The manual knows every key of the example configurations and every option of the programs."""
import re

import tree

# Where a page's options stand; both daemons have the same.
DAEMON = "asrpd-common/frame/command_line.cpp"
PAGES = {"asrpd-node.8": DAEMON, "asrpd-holder.8": DAEMON, "asrpctl.8": "tools/asrpctl/main.cpp"}
KEY = re.compile(r"^(?:# )?([a-z][a-z_0-9]*) = ", re.MULTILINE)


def problems(root):
    found = []
    page = (root / "docs/man/asrpd.toml.5").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\.B ([a-z_0-9]+)$", page, re.MULTILINE)) | set(re.findall(r"\\fB([a-z_0-9]+)\\fR", page))
    for example in sorted((root / "packaging/examples").glob("*.toml")):
        for key in sorted(set(KEY.findall(example.read_text(encoding="utf-8"))) - documented):
            found.append(f"{tree.relative(root, example)}: {key} is not in docs/man/asrpd.toml.5")
    for name, source in PAGES.items():
        text = (root / "docs/man" / name).read_text(encoding="utf-8").replace("\\-", "-")
        for option in sorted(set(re.findall(r'"(--[a-z-]+)"', (root / source).read_text(encoding="utf-8")))):
            if option not in text:
                found.append(f"{source}: {option} is not in docs/man/{name}")
    return found
