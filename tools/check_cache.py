"""What the checks of the tree remember between two runs: hashes of inputs that were found good.

A check that is asked again about the same bytes, with the same tool and options, has nothing to do. Only good results
are kept, so a complaint is made every time until it is dealt with. The file can be deleted at any time.
"""
import hashlib
import json
import pathlib


def digest(*parts):
    """Of bytes and texts, in order."""
    state = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()


class Good:
    """A set of digests in a file; without a path it remembers nothing."""

    def __init__(self, path):
        self.path = pathlib.Path(path) if path else None
        self.known, self.used = set(), set()
        try:
            self.known = set(json.loads(self.path.read_text()))
        except (AttributeError, OSError, ValueError):
            pass

    def __contains__(self, key):
        if key in self.known:
            self.used.add(key)
        return key in self.known

    def add(self, key):
        self.used.add(key)

    def save(self):
        """Keeps what this run needed and no more."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".new")
        temporary.write_text(json.dumps(sorted(self.used)))
        temporary.replace(self.path)
