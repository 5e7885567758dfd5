# SPDX-License-Identifier: BSD-3-Clause
"""The completions of asrpctl in the shells themselves: commands, each command's options, and the values that are known."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import completion_test as shells

PROGRAM = pathlib.Path(os.environ["ASRPCTL"]).resolve()
shells.ENVIRONMENT["PATH"] = f"{PROGRAM.parent}:{shells.ENVIRONMENT['PATH']}"
LIMIT = shells.LIMIT


def help_of(*command):
    return subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True, check=True, timeout=LIMIT).stdout


def commands_of_help():
    return set(re.findall(r"(?m)^  ([a-z][a-z-]*) ", help_of().split("Subcommands:")[1].split("\n\n")[0]))


def options_of_help(*command):
    return set(re.findall(r"(?m)^  .*?(--[a-z][a-z-]*)", help_of(*command)))


def bash(words, directory):
    script = (f'source {shells.COMPLETIONS}/asrpctl.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _asrpctl; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, cwd=directory,
                          env=shells.ENVIRONMENT, check=True, timeout=LIMIT)
    return set(done.stdout.split())


def fish(words, directory):
    script = f"source {shells.COMPLETIONS}/asrpctl.fish; complete -C '{' '.join(words)}'"
    home = {"XDG_CONFIG_HOME": str(directory), "XDG_DATA_HOME": str(directory), "HOME": str(directory)}
    done = subprocess.run(["fish", "--private", "-c", script], capture_output=True, text=True, cwd=directory,
                          env=shells.ENVIRONMENT | home, check=True, timeout=LIMIT)
    return {line.split("\t")[0] for line in done.stdout.splitlines()}


class Completions(unittest.TestCase):
    def check(self, shell, ask):
        self.assertIsNotNone(shutil.which(shell), f"{shell} is not installed: run tools/dev/install-packages")
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        (pathlib.Path(directory.name) / "node.sock").touch()

        def offered(*words):
            return ask(["asrpctl", *words], directory.name)

        commands = commands_of_help()
        self.assertLessEqual({"status", "sessions", "reload"}, commands)
        self.assertEqual(commands - offered(""), set())
        self.assertLessEqual(options_of_help(), offered("--"))
        for command in ("sessions", "reload", "counters"):
            wanted = options_of_help(command)
            self.assertEqual(wanted - offered(command, "--"), set(), command)
        self.assertNotIn("--dry-run", offered("counters", "--"))
        self.assertEqual(offered("log", "") & {"debug", "info", "warning", "error", "status"}, {"debug", "info", "warning", "error"})
        self.assertEqual(offered("epochs", "") & {"export", "import", "status"}, {"export", "import"})
        self.assertNotIn("export", offered("epochs", "export", ""))
        self.assertIn("node.sock", offered("epochs", "import", ""))
        self.assertIn("node.sock", offered("--socket", ""))

    def test_bash(self):
        self.check("bash", bash)

    def test_fish(self):
        self.check("fish", fish)

    def test_zsh(self):
        self.check("zsh", shells.zsh)


if __name__ == "__main__":
    unittest.main()
