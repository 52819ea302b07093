"""The memory of a run: one line of JSON per finished case, so that a run can be stopped anywhere and continued.

A journal belongs to a suite, a target and a variant (threads and seed of the engine), and to a shard where several
machines or processes share the work. The last line about a case counts, which is how --retry works.
"""
import json
import pathlib

# What became of a case. "left out" has no line: it is whatever is listed and not in the journal.
PASSED, FAILED, SLOW, SKIPPED = "passed", "failed", "too slow", "skipped"


def read_whole(path):
    """The journal at `path` and those of its shards as one; None where there is none."""
    path = pathlib.Path(path)
    found = [part for part in [path, *sorted(path.parent.glob(f"{path.stem}.shard*of*.jsonl"))] if part.exists()]
    if not found:
        return None
    whole = Journal(found[0])
    for part in found[1:]:
        whole.take_in(Journal(part))
    return whole


class Journal:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.cases = {}  # (program, case) -> entry
        self.seconds = 0.0  # spent so far, starts of programs included
        self.header = {}
        self._torn = False  # the file ends within a line
        self._read()

    def _read(self):
        if not self.path.exists():
            return
        text = self.path.read_text(errors="replace")
        self._torn = bool(text) and not text.endswith("\n")
        for line in text.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # the line that was being written when the run was killed
            if "header" in entry:
                self.header = entry["header"]
            elif "spent" in entry:
                self.seconds += entry["spent"]
            elif "case" in entry:
                self.cases[entry["program"], entry["case"]] = entry

    def _append(self, entry):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a") as file:
            if self._torn:
                file.write("\n")
                self._torn = False
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def begin(self, header):
        if header != self.header:
            self.header = header
            self._append({"header": header})

    def add(self, program, case, status, seconds, detail=""):
        entry = {"program": program, "case": case, "status": status, "seconds": round(seconds, 3)}
        if detail:
            entry["detail"] = detail
        self.cases[program, case] = entry
        self._append(entry)

    def spend(self, seconds):
        self.seconds += seconds
        self._append({"spent": round(seconds, 3)})

    def forget(self, statuses, among):
        """Cases of `among` with one of `statuses` are to be run again; their lines stay until new ones replace them."""
        for key in among:
            if key in self.cases and self.cases[key]["status"] in statuses:
                del self.cases[key]

    def take_in(self, other):
        """Adds what another shard of the same work found."""
        self.header = self.header or other.header
        self.cases.update(other.cases)
        self.seconds += other.seconds

    def counts(self):
        result = {PASSED: 0, FAILED: 0, SLOW: 0, SKIPPED: 0}
        for entry in self.cases.values():
            result[entry["status"]] += 1
        return result

    def failed(self):
        return [entry for entry in self.cases.values() if entry["status"] == FAILED]
