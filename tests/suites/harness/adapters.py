"""How test programs are asked and understood: what lists their cases, what runs some of them, what a line means.

An adapter has
  stratum           the expression that tells kinds of cases apart, unless the suite has its own
  listing           arguments that make a program print its cases, or None: the program itself is the case
  parse_listing     that text -> names of cases
  selecting(names)  arguments that run these cases
  patterns          true: selecting() takes names that end in * as well
  reader()          an object that is fed the lines of a run and yields events
  same_on_targets   true: a program lists the same cases on every GPU
  announces         false: there is no start event, cases end in the order of the listing

Events are ("start", case), ("end", case, status, seconds or None) and ("done",) when the program has said that it is through.
"""
import csv
import re

from .journal import FAILED, PASSED, SKIPPED


class GoogleTest:
    stratum = r"^[^#]*?(?=/\d+$|$)"
    listing = ["--gtest_list_tests"]
    patterns = True

    @staticmethod
    def parse_listing(text):
        """Suites begin in the first column and end in a dot, cases are indented; a comment may follow either."""
        names, suite = [], None
        for line in text.splitlines():
            line = line.split("  # ")[0].rstrip()
            if re.fullmatch(r"[A-Za-z_]\S*\.", line):
                suite = line
            elif suite and re.fullmatch(r"  \S+", line):
                name = suite + line.strip()
                if "DISABLED_" not in name:
                    names.append(name)
            elif line and not line.startswith(" "):
                suite = None
        return names

    @staticmethod
    def selecting(names):
        # A minus begins the patterns to leave out and a colon separates; `?` stands for any letter.
        return ["--gtest_filter=" + ":".join(re.sub(r"[-:]", "?", name) for name in names), "--gtest_color=no"]

    class reader:
        START = re.compile(r"^\[ RUN      \] (.+)$")
        # Programs print without a line end of their own, so the mark may follow other text.
        END = re.compile(r"\[(       OK |  FAILED  |  SKIPPED )\] (.+?)(?:, where .*)? \((\d+) ms\)$")
        WORD = {"OK": PASSED, "FAILED": FAILED, "SKIPPED": SKIPPED}

        def feed(self, line):
            found = self.START.match(line)
            if found:
                yield ("start", found[1].strip())
            found = self.END.search(line)
            if found:
                yield ("end", found[2], self.WORD[found[1].strip()], int(found[3]) / 1000)
            if line.startswith("[==========]") and " ran. (" in line:
                yield ("done",)


class BackendOps:
    """llama.cpp's test-backend-ops: a case is an operator with its parameters, each a line `  OP(parameters): OK`."""
    stratum = r"^\w+"
    listing = ["support", "-b", "ROCm0", "--output", "csv"]
    announces = False

    @staticmethod
    def parse_listing(text):
        rows = csv.reader(line for line in text.splitlines() if line.startswith('"'))
        return [f"{row[1]}({row[2]})" for row in rows if len(row) > 4 and row[4] == "1"]

    @staticmethod
    def selecting(names):
        return ["test", "-b", "ROCm0", "-o", ",".join(names)]

    class reader:
        LINE = re.compile(r"^\s*([A-Z][A-Z0-9_]+\(.*\)):\s*(.*?)\s*$")

        def feed(self, line):
            line = re.sub(r"\x1b\[[0-9;]*m", "", line)
            found = self.LINE.match(line)
            if found:
                verdict = found[2]
                if verdict.endswith("OK"):
                    yield ("end", found[1], PASSED, None)
                elif "not supported" in verdict:
                    yield ("end", found[1], SKIPPED, None)
                else:
                    yield ("end", found[1], FAILED, None)
            if re.search(r"\d+/\d+ backends passed", line):
                yield ("done",)


class Thrust:
    """Thrust's own framework: cases by name, run in the listing's order, each a line `Running NAME...\\r[PASS] ... NAME`."""
    stratum = r"^Test\w*?(?=Device|Host|Universal|Simple|$)"
    listing = ["--list"]
    announces = False
    same_on_targets = True

    @staticmethod
    def parse_listing(text):
        return [line for line in text.splitlines() if re.fullmatch(r"[A-Za-z_]\w*", line)]

    @staticmethod
    def selecting(names):
        return ["--verbose", *names]

    class reader:
        # A name may be followed by what the test itself printed, and its verdict come without a time.
        END = re.compile(r"\[(PASS|FAILURE|KNOWN FAILURE|ERROR|UNKNOWN EXCEPTION)\]\s+(?:([\d.e+-]+) ms )?\s*(\w+)\s*$")
        WORD = {"PASS": PASSED, "KNOWN FAILURE": SKIPPED}

        def feed(self, line):
            found = self.END.search(line)
            if found:
                yield ("end", found[3], self.WORD.get(found[1], FAILED), float(found[2]) / 1000 if found[2] else None)
            if line.startswith("Totals: "):
                yield ("done",)


class Magma:
    """MAGMA's testers: a table with a line per size that ends in `ok` or `failed`; the program is the case."""
    stratum = r".*"
    listing = None

    class reader:
        def __init__(self):
            self.rows = self.bad = 0

        def feed(self, line):
            if re.search(r"\bfailed\b", line) and not line.startswith("%"):
                self.bad += 1
            elif re.search(r"\bok\b", line) and not line.startswith("%"):
                self.rows += 1
            return ()

        def verdict(self, status):
            if self.bad or status != 0:
                return FAILED
            return PASSED if self.rows else SKIPPED


class ExitStatus:
    """A program that says by its exit status whether it is well; 77 means skipped."""
    stratum = r".*"
    listing = None

    class reader:
        def feed(self, line):
            return ()

        @staticmethod
        def verdict(status):
            return {0: PASSED, 77: SKIPPED}.get(status, FAILED)


ADAPTERS = {"gtest": GoogleTest, "backend-ops": BackendOps, "thrust": Thrust, "magma": Magma, "exit-status": ExitStatus}
