#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The checks themselves: each finds what it is there to find, and nothing in a tree that is right."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import budgets  # noqa: E402
import forbidden  # noqa: E402
import formatting  # noqa: E402
import headers  # noqa: E402
import layering  # noqa: E402
import links  # noqa: E402
import manual  # noqa: E402
import mirror  # noqa: E402
import spdx  # noqa: E402
import tree  # noqa: E402
import wording  # noqa: E402

BSD = "// SPDX-License-Identifier: BSD-3-Clause\n"


class Checks(unittest.TestCase):
    def setUp(self):
        self._directory = tempfile.TemporaryDirectory()
        self.addCleanup(self._directory.cleanup)
        self.root = pathlib.Path(self._directory.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def finds(self, check, name, text, count=1):
        self.write(name, text)
        found = check.problems(self.root)
        self.assertEqual(len(found), count, found)
        (self.root / name).unlink()

    def test_layering(self):
        self.finds(layering, "libasrp/src/wire/a.cpp", '#include "asrp/packet/locate.hpp"\n')
        self.finds(layering, "libasrp/include/asrp/packet/a.hpp", '#include "asrp/wire/types.hpp"\n')
        self.finds(layering, "libasrp/src/session/a.cpp", '#include "asrp/policy/epoch.hpp"\n')
        self.finds(layering, "libasrp/src/engine/a.cpp", "#include <sys/socket.h>\n")
        self.finds(layering, "libasrp/src/engine/a.cpp", "#include <sodium.h>\n")
        self.finds(layering, "asrpd-common/io/a.cpp", '#include "asrp/engine/node_engine.hpp"\n')
        self.finds(layering, "asrpd-common/io/a.cpp", '#include "config/toml_reader.hpp"\n')
        self.finds(layering, "asrpd-common/runtime/a.cpp", '#include "config/reader.hpp"\n')
        self.finds(layering, "asrpd-common/config/a.cpp", '#include "frame/daemon.hpp"\n')
        self.finds(layering, "asrpd-common/frame/a.cpp", '#include "config/reader.hpp"\n#include "io/error.hpp"\n', 0)
        self.finds(layering, "asrpd-node/a.cpp", "#include <libmnl/libmnl.h>\n")
        self.finds(layering, "tools/asrpdump/a.cpp", '#include "asrp/engine/event.hpp"\n')
        self.finds(layering, "libasrp/src/engine/a.cpp", '#include <vector>\n#include "asrp/wire/types.hpp"\n', 0)
        self.finds(layering, "asrpd-common/io/a.cpp", '#include "asrp/engine/flow_table.hpp"\n', 0)

    def test_forbidden(self):
        for line in (
            "auto t = clock.now();",
            "std::chrono::steady_clock c;",
            "int r = rand();",
            "std::random_device d;",
            'auto e = getenv("HOME");',
            'snprintf(b, 3, "x");',
            "#include <iostream>",
            "#include <mutex>",
            "#include <netinet/ip.h>",
            "auto* p = reinterpret_cast<Ip*>(q);",
            "std::memcpy(&header, data, 20);",
            "struct [[gnu::packed]] A {};",
        ):
            self.finds(forbidden, "libasrp/src/wire/a.cpp", line + "\n")
        self.finds(forbidden, "libasrp/src/base/a.cpp", "auto* p = reinterpret_cast<char*>(q);\n", 0)
        self.finds(forbidden, "libasrp/src/wire/a.cpp", '// clock.now() and rand()\nauto s = "printf(";\n', 0)
        self.finds(forbidden, "asrpd-node/a.cpp", "auto t = std::chrono::steady_clock::now();\n")
        self.finds(forbidden, "asrpd-common/runtime/clock.cpp", "auto t = std::chrono::steady_clock::now();\n", 0)

    def test_mirror(self):
        self.write("libasrp/src/wire/decode.cpp", BSD)
        self.assertEqual(len(mirror.problems(self.root)), 1)
        self.finds(mirror, "tests/unit/wire/decode_test.cpp", BSD)
        self.finds(mirror, "tests/unit/wire/decode_test.cpp", 'TEST_CASE("x") {}\n', 0)
        self.finds(mirror, "tests/unit/wire/other_test.cpp", 'TEST_CASE("x") {}\n', 2)
        self.write("libasrp/src/wire/decode_part.cpp", BSD)
        self.assertEqual(len(mirror.problems(self.root)), 2)
        self.finds(mirror, "tests/unit/wire/decode_test.cpp", 'TEST_CASE("x") {}\n', 0)

    def test_budgets(self):
        self.finds(budgets, "libasrp/src/wire/a.cpp", "\n" * 601)
        self.finds(budgets, "libasrp/src/wire/a.cpp", "\n" * 600, 0)

    def test_spdx(self):
        for licence in ("BSD-3-Clause", "GPL-2.0-or-later"):
            self.write(f"LICENSES/{licence}.txt", "text\n")
        self.finds(spdx, "libasrp/a.cpp", "int a;\n")
        self.finds(spdx, "asrpd-node/a.cpp", BSD)
        self.finds(spdx, "demo/run", "#!/bin/bash\n")
        self.finds(spdx, "libasrp/a.cpp", BSD, 0)
        self.finds(spdx, "demo/run", "#!/bin/bash\n# SPDX-License-Identifier: BSD-3-Clause\n", 0)

    def test_links(self):
        self.write("docs/b.md", "# Some heading\n")
        self.finds(links, "README.md", "see [b](docs/c.md)\n")
        self.finds(links, "README.md", "see [b](docs/b.md#other)\n")
        self.finds(links, "README.md", "see [b](docs/b.md#some-heading) and [w](https://example.org/)\n", 0)

    def test_manual(self):
        for page, source in manual.PAGES.items():
            self.write(f"docs/man/{page}", ".B \\-\\-config FILE\n")
            self.write(source if source.endswith(".cpp") else f"{source}/main.cpp", 'app.add_option("--config", file);\n')
        self.write("docs/man/asrpd.toml.5", ".TP\n.B port\nText.\n")
        self.finds(manual, "tools/asrpctl/commands/drain.cpp", '  return {"drain",\n          "text"};\n')
        self.write("docs/man/asrpctl.8", ".B \\-\\-config FILE\n.BR drain \" SERVER\"\n")
        self.finds(manual, "tools/asrpctl/commands/drain.cpp", '  return {"drain",\n          "text"};\n', 0)
        self.finds(manual, "packaging/examples/node.toml", "[node]\nport = 1\n# base = 2  # text\n")
        self.finds(manual, "packaging/examples/node.toml", "[node]\n# port = 1\n", 0)
        self.finds(manual, "asrpd-node/config.cpp", 'reader.integer("ports", port, 1, 2);\nreader.choice<x::Y>("port", y);\n')
        self.finds(manual, "asrpd-node/config.cpp", 'reader.text(\n    "port", port);\nreader.text("port_file", port);\nx.problem("ports", "");\n', 0)
        self.finds(manual, "asrpd-holder/config.cpp", 'read(top.table("node"));\n')
        self.write("docs/man/asrpd.toml.5", ".SS [node]\n.TP\n.B port\nText.\n")
        self.finds(manual, "asrpd-holder/config.cpp", 'read(top.table("node"));\n', 0)
        self.finds(manual, manual.NUMBERS, "enum class MsgType : int { NS = 0 };\nenum class Other { XX = 1 };\n")
        self.write("docs/man/asrp.7", "     0  NS    two\n")
        self.finds(manual, manual.NUMBERS, "enum class MsgType : int { NS = 0 };\n", 0)
        self.finds(manual, "packaging/completion/asrpdump.fish", "complete -c asrpdump -l config-file\n")
        self.finds(manual, "packaging/completion/asrpdump.fish", "complete -c asrpdump -l config\n", 0)
        self.write(manual.DAEMON, 'app.add_flag("--other", other);\n')
        self.assertEqual(len(manual.problems(self.root)), 2)  # one for each daemon

    def test_wording(self):
        self.finds(wording, "libasrp/a.cpp", "// TO" + "DO: later\n")
        self.finds(wording, "demo/run", "cd /wo" + "rk/main\n")
        self.finds(wording, "demo/run", "cd here/wo" + "rk/main\n", 0)

    def test_formatting(self):
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("libasrp/a.cpp", "int   a ;\n")
        self.assertTrue(formatting.problems(self.root))
        self.finds(formatting, "libasrp/a.cpp", "int a;\n", 0)

    def test_headers(self):
        os.environ.setdefault("ASRP_CXX", "c++")
        self.finds(headers, "libasrp/include/asrp/base/a.hpp", "#pragma once\nstd::vector<int> f();\n")
        self.finds(headers, "libasrp/include/asrp/base/a.hpp", "#pragma once\n#include <vector>\nstd::vector<int> f();\n", 0)

    def test_bare(self):
        text = "a /* b\n */ 'c' \"d\\\"e\" R\"x(f)\")x\" 1'000 // g\nh"
        self.assertEqual(tree.bare(text).split(), ["a", "1'000", "h"])
        self.assertEqual(tree.bare(text).count("\n"), text.count("\n"))

    def report(self, code, test):
        self.write("docs/spec/requirements.toml", '[[requirement]]\nid = "4.1-1"\nlevel = "MUST"\nmode = "both"\ntext = "t"\n')
        self.write("docs/spec/exceptions.toml", "exception = []\n")
        self.write("libasrp/a.cpp", code)
        self.write("tests/a_test.cpp", test)
        command = [sys.executable, str(ROOT / "tools/dev/spec_report.py"), "--root", str(self.root)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_spec_report(self):
        good = ("// spec: 4.1-1\n", 'TEST_CASE("flags [sp' 'ec 4.1-1]") {}\n')
        self.assertEqual(self.report(*good).returncode, 0)
        self.assertIn("4.1-1 has no code", self.report("", good[1]).stderr)
        self.assertIn("4.1-1 has no test", self.report(good[0], "").stderr)
        unknown = self.report("// spec: 4.1-1, 4.1-9\n", good[1])
        self.assertEqual(unknown.returncode, 1)
        self.assertIn("4.1-9 is named in libasrp/a.cpp:1", unknown.stderr)


if __name__ == "__main__":
    unittest.main()
