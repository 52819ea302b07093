"""Why known failures fail: causes.toml, entries of suites, targets, cases (patterns), cause and text.

`cause` is one of
  ours     a defect of the virtual GPU that is not repaired yet
  theirs   a defect of the library or its test; `evidence` says how that was shown
  needs    something the virtual GPU does not have, e.g. images
  host     the machine the test runs on: memory, time, another CPU architecture
"""
import fnmatch
import tomllib

KINDS = ("ours", "theirs", "needs", "host")


class Causes:
    def __init__(self, entries):
        self.entries = entries
        for entry in entries:
            if entry["cause"] not in KINDS:
                raise ValueError(f"causes: {entry['cause']}: unknown cause; use {', '.join(KINDS)}")
            if entry["cause"] == "theirs" and not entry.get("evidence"):
                raise ValueError(f"causes: {entry['cases']}: a defect of others needs evidence")

    @classmethod
    def load(cls, path):
        with open(path, "rb") as file:
            return cls(tomllib.load(file).get("failure", []))

    def find(self, suite, target, case):
        for entry in self.entries:
            if suite in entry.get("suites", [suite]) and target in entry.get("targets", [target]) and \
                    any(fnmatch.fnmatchcase(case, pattern) for pattern in entry["cases"]):
                return entry
        return None
