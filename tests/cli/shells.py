#!/usr/bin/env python3
"""Manual pages and shell completion say what --help says, and the shells accept them.

  shells.py --bin BUILD/bin
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = None


def wavetap(*arguments, **options):
    return subprocess.run([BIN / "wavetap", *arguments], capture_output=True, text=True, check=True, **options).stdout


def commands(path=()):
    """Every command, as a tuple of words."""
    text = wavetap("help", *path)
    below = re.search(r"^Commands:\n(.*?)\n$", text, re.MULTILINE | re.DOTALL)
    found = [path]
    for name in re.findall(r"^  ([a-z-]+)  ", below[1], re.MULTILINE) if below else []:
        found += commands((*path, name))
    return found


def long_options(text):
    return set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE))


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name in ("man1", "completion"):
            (pathlib.Path(cls.folder.name) / name).mkdir()
        wavetap("help", "--write-files", cls.folder.name)
        cls.pages = {path.stem: path.read_text() for path in (pathlib.Path(cls.folder.name) / "man1").iterdir()}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_there_is_one_for_every_command(self):
        self.assertEqual(set(self.pages), {"-".join(("wavetap", *path)) for path in commands()})

    def test_it_names_every_option(self):
        for path in commands():
            page = self.pages["-".join(("wavetap", *path))].replace("\\-", "-")
            for option in long_options(wavetap("help", *path)):
                self.assertIn(f"\\fB{option}\\fR", page, path)

    def test_the_formatter_has_no_complaints(self):
        if not shutil.which("man"):
            self.skipTest("no man here")
        for name in self.pages:
            done = subprocess.run(["man", "--warnings", "-l", f"{self.folder.name}/man1/{name}.1"], capture_output=True, text=True,
                                  env=dict(os.environ, MANWIDTH="80", LC_ALL="C.UTF-8", MAN_KEEP_STDERR="1"))
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            self.assertIn("EXIT STATUS", done.stdout)


class Completion(unittest.TestCase):
    def bash(self, line):
        """What bash offers for a line; its last word is the one to complete."""
        words = line.split(" ")
        script = ("source <(wavetap completion bash)\nCOMP_WORDS=(" + " ".join(f"'{word}'" for word in words) +
                  f")\nCOMP_CWORD={len(words) - 1}\n_wavetap\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n")
        done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, env=self.environment, cwd=self.scratch)
        self.assertEqual(done.stderr, "", line)
        return set(done.stdout.split())

    def setUp(self):
        self.environment = dict(os.environ, PATH=f"{BIN}:{os.environ['PATH']}")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.scratch = folder.name
        (pathlib.Path(self.scratch) / "step.rpd").touch()

    def test_bash_offers_commands(self):
        self.assertEqual(self.bash("wavetap rep"), {"replay", "report"})
        self.assertEqual(self.bash("wavetap "), {path[0] for path in commands() if len(path) == 1})
        self.assertIn("exec", self.bash("wavetap gpu "))

    def test_bash_offers_the_options_of_each_command(self):
        for path in commands():
            if path:
                offered = self.bash(" ".join(("wavetap", *path, "--")))
                self.assertLessEqual(long_options(wavetap("help", *path)), offered, path)

    def test_bash_offers_values(self):
        self.assertEqual(self.bash("wavetap query t.rpd --format "), {"table", "csv", "json"})
        self.assertEqual(self.bash("wavetap query t.rpd --format = c"), {"csv"})
        self.assertIn("perfetto", self.bash("wavetap export --format "))
        self.assertIn("rx6800xt", self.bash("wavetap run --gpu "))
        self.assertEqual(self.bash("wavetap run --gpu mi210,rx68"), {"mi210,rx6800xt"})
        self.assertIn("gaps", self.bash("wavetap analyze "))
        self.assertEqual(self.bash("wavetap analyze gaps "), {"step.rpd"})
        self.assertEqual(self.bash("wavetap report "), {"step.rpd"})

    def test_bash_completes_the_program(self):
        self.assertIn("env", self.bash("wavetap run --gpu mi210 -- en"))

    def test_zsh_accepts_the_script(self):
        self.accepts("zsh", "-n")

    def test_fish_accepts_the_script(self):
        self.accepts("fish", "--no-execute")

    def accepts(self, shell, option):
        if not shutil.which(shell):
            self.skipTest(f"no {shell} here")
        script = pathlib.Path(self.scratch) / "script"
        script.write_text(wavetap("completion", shell))
        done = subprocess.run([shell, option, script], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_fish_offers_values(self):
        if not shutil.which("fish"):
            self.skipTest("no fish here")
        def offered(line):
            done = subprocess.run(["fish", "--no-config", "-c", f"wavetap completion fish | source; complete -C '{line}'"],
                                  capture_output=True, text=True, env=self.environment, cwd=self.scratch)
            return {word.split("\t")[0] for word in done.stdout.splitlines()}
        self.assertIn("report", offered("wavetap rep"))
        self.assertIn("--gpu", offered("wavetap run --g"))
        self.assertEqual(offered("wavetap query t.rpd 'select 1' --format "), {"table", "csv", "json"})
        self.assertIn("rx6800xt", offered("wavetap run --gpu rx"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    arguments, rest = parser.parse_known_args()
    BIN = arguments.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
