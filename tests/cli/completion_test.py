# SPDX-License-Identifier: BSD-3-Clause
"""The completions of asrpdump in the shells themselves: each offers every option of --help, and what may follow an option."""
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest
import fcntl
import struct
import termios

COMPLETIONS = pathlib.Path(__file__).resolve().parents[2] / "packaging/completion"
PROGRAM = pathlib.Path(os.environ["ASRPDUMP"]).resolve()
LIMIT = 60
ENVIRONMENT = os.environ | {"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "TERM": "dumb", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}


def options_of_help():
    text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True, timeout=LIMIT).stdout
    found = set()
    for line in text.splitlines():
        if line.startswith("  -"):
            found |= set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+|-[A-Za-z#])(?![\w-])", line[:34]))
    return found


def bash(words, directory):
    """What is offered for the last of `words`."""
    script = f'source {COMPLETIONS}/asrpdump.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _asrpdump; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, cwd=directory, env=ENVIRONMENT, check=True,
                          timeout=LIMIT)
    return set(done.stdout.split())


def fish(words, directory):
    script = f"source {COMPLETIONS}/asrpdump.fish; complete -C '{' '.join(words)}'"
    home = {"XDG_CONFIG_HOME": str(directory), "XDG_DATA_HOME": str(directory), "HOME": str(directory)}
    done = subprocess.run(["fish", "--private", "-c", script], capture_output=True, text=True, cwd=directory, env=ENVIRONMENT | home, check=True,
                          timeout=LIMIT)
    return {line.split("\t")[0] for line in done.stdout.splitlines()}


class Terminal:
    """zsh, which completes only at a terminal."""

    def __init__(self, directory):
        self.process, self.fd = pty.fork()
        if self.process == 0:
            os.chdir(directory)
            os.execvpe("zsh", ["zsh", "-f", "-i"], ENVIRONMENT)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 400, 200, 0, 0))

    def close(self):
        os.close(self.fd)
        os.waitpid(self.process, 0)

    def send(self, text):
        os.write(self.fd, text.encode())

    def read_until(self, text):
        got, end = "", time.monotonic() + LIMIT
        while text not in got:
            if not select.select([self.fd], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(f"zsh does not write {text!r}, but {got!r}")
            got += os.read(self.fd, 65536).decode(errors="replace")
        return got


def zsh(words, directory):
    terminal = Terminal(directory)
    try:
        # The words in quotes are put together by the shell: its echo of them is not what is waited for.
        terminal.send(f"fpath=({COMPLETIONS} $fpath); autoload -U compinit; compinit -D -u; LISTMAX=10000; PS1='RE''ADY> '\n")
        terminal.read_until("READY> ")
        terminal.send(" ".join(words) + "\x04")  # lists what is possible
        terminal.send("\x15print 'DO''NE'\n")
        listing = terminal.read_until("\nDONE")
    finally:
        terminal.close()
    offered = set()
    for line in listing.split("READY> ")[0].splitlines()[1:]:
        offered |= set(line.split("-- ")[0].split())
    return offered


class Completions(unittest.TestCase):
    def check(self, shell, ask):
        self.assertIsNotNone(shutil.which(shell), f"{shell} is not installed: run tools/dev/install-packages")
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        (pathlib.Path(directory.name) / "capture.pcap").touch()

        def offered(*words):
            return ask(["asrpdump", *words], directory.name)

        wanted = options_of_help()
        self.assertGreater(len(wanted), 50)
        every = offered("-") | offered("--")
        self.assertEqual(wanted - every, set())
        self.assertEqual({option for option in every if option.startswith("--")} - wanted, set(), "there is no such option")
        self.assertIn("--sessions", offered("capture.pcap", "-v", "--se"))
        self.assertEqual(offered("--color", ""), {"always", "never", "auto"})
        self.assertIn("lo", offered("-i", ""))
        for option in ("-r", "--write"):
            self.assertIn("capture.pcap", offered(option, ""))

    def test_bash(self):
        self.check("bash", bash)

    def test_fish(self):
        self.check("fish", fish)

    def test_zsh(self):
        self.check("zsh", zsh)


if __name__ == "__main__":
    unittest.main()
