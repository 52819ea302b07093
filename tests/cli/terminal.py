#!/usr/bin/env python3
"""What a person at a terminal sees: colour, bars, the terminal's width, progress of what takes long; and that a pipe
gets none of it.

  terminal.py --bin BUILD/bin
"""
import argparse
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import tempfile
import termios
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = None
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def environment(**more):
    plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "TERM")}
    return plain | {"TERM": "xterm"} | more


def read_all(fd):
    out = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:  # how a terminal's other side ends
            piece = b""
        if not piece:
            os.close(fd)
            return out.decode().replace("\r\n", "\n")
        out += piece


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        subprocess.run([BIN / "trace_from_text", SOURCE / "tests/traces/small.txt", cls.folder / "small.rpd"], check=True)
        # Enough calls that an export does not fit into a pipe.
        lines = ["thread 1 1"] + [f"call {1000 * i} {1000 * i + 900} hipStreamQuery" for i in range(1, 4000)]
        (cls.folder / "long.txt").write_text("\n".join(lines) + "\n")
        subprocess.run([BIN / "trace_from_text", cls.folder / "long.txt", cls.folder / "long.rpd"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def on_terminal(self, *words, columns=80, **more):
        """Standard output of a command that writes to a terminal of this width."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        child = subprocess.Popen([BIN / "wavetap", *words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=theirs,
                                 stderr=subprocess.PIPE, env=environment(**more))
        os.close(theirs)
        text = read_all(ours)
        errors = child.communicate()[1]
        self.assertEqual((child.returncode, errors), (0, b""))
        return text

    def test_a_report_fits_and_has_colour_and_bars(self):
        for columns in (80, 100, 132):
            text = self.on_terminal("report", "small.rpd", columns=columns)
            self.assertRegex(text, ESCAPES)
            self.assertIn("█", text)
            for line in ESCAPES.sub("", text).splitlines():
                self.assertLessEqual(len(line), columns)

    def test_every_analysis_fits_into_80_columns(self):
        listed = subprocess.run([BIN / "wavetap", "analyze", "--help"], check=True, capture_output=True, text=True).stdout
        names = re.findall(r"^  ([a-z-]+) ", listed.split("Analyses:\n")[1].split("\n\n")[0], re.M)
        self.assertGreater(len(names), 10)
        for name in names:
            for line in ESCAPES.sub("", self.on_terminal("analyze", name, "small.rpd")).splitlines():
                self.assertLessEqual(len(line), 80, name)

    def test_no_colour_when_asked_and_none_in_a_pipe(self):
        self.assertNotRegex(self.on_terminal("report", "small.rpd", NO_COLOR="1"), ESCAPES)
        piped = subprocess.run([BIN / "wavetap", "report", "small.rpd"], cwd=self.folder, check=True, capture_output=True, env=environment())
        self.assertNotIn(b"\x1b", piped.stdout)
        self.assertEqual(piped.stderr, b"")

    def run_slowly(self, stderr):
        """An export whose reader sleeps: longer than any command may stay silent."""
        child = subprocess.Popen([BIN / "wavetap", "export", "--format", "chrome", "long.rpd", "-o", "-"], cwd=self.folder,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, env=environment())
        time.sleep(1)
        out = child.stdout.read()
        child.stdout.close()
        return child, out

    def test_what_takes_long_shows_its_progress_and_cleans_up(self):
        ours, theirs = pty.openpty()
        child, out = self.run_slowly(theirs)
        os.close(theirs)
        shown = read_all(ours)
        self.assertEqual(child.wait(), 0)
        self.assertGreater(len(out), 1 << 17)
        self.assertRegex(shown, r"writing - \[#+ *\] +\d+ %")
        self.assertTrue(shown.endswith("\r\x1b[K"), repr(shown))

    def test_a_log_gets_no_progress(self):
        child, _ = self.run_slowly(subprocess.PIPE)
        self.assertEqual(child.stderr.read(), b"")
        child.stderr.close()
        self.assertEqual(child.wait(), 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    arguments, rest = parser.parse_known_args()
    BIN = arguments.bin.resolve()
    unittest.main(argv=[__file__, *rest])
