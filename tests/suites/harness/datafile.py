"""Data files of rocBLAS, hipBLAS, hipBLASLt and rocSPARSE tests: the cases of a program as records of one size.

Such a program registers every case of the file before it runs any, a million of them for minutes. A file with the
header and some of the records is as good to it, and starts at once.

  magic word, with its zero byte
  a record of bytes that differ in every place, by which the program knows that the layout is its own
  the magic word with upper and lower case exchanged
  records, each with three names of 64 bytes: function, test, category
"""
import dataclasses
import re

NAME_BYTES = 64


@dataclasses.dataclass
class Layout:
    header_bytes: int
    record_bytes: int
    names_at: int  # within a record


def read_layout(data):
    """`data`: the beginning of the file, at least the header and one record."""
    magic = bytes(data[:data.index(b"\0") + 1])
    second = data.find(magic.swapcase(), len(magic))
    if not magic[:-1].isalpha() or second < 0:
        raise ValueError("not a data file of AMD's tests")
    record_bytes, header_bytes = second - len(magic), second + len(magic)
    first = data[header_bytes:header_bytes + record_bytes]
    name = re.search(rb"[a-z][a-z0-9_]{2,}\0", first)
    if not name:
        raise ValueError("the first record has no name")
    return Layout(header_bytes, record_bytes, name.start())


def names_of(record, layout):
    """(function, test, category) of a record."""
    places = range(layout.names_at, layout.names_at + 3 * NAME_BYTES, NAME_BYTES)
    return tuple(bytes(record[at:at + NAME_BYTES]).split(b"\0")[0].decode(errors="replace") for at in places)


def choose(groups, per_group, seed):
    """At most `per_group` places of each group, evenly spread: neighbours differ in one parameter only."""
    chosen = []
    for number, (_, places) in enumerate(sorted(groups.items())):
        step = max(1.0, len(places) / per_group)
        start = (seed * 7919 + number * 104729) % 1000 / 1000 * step
        count = min(len(places), per_group)
        chosen += [places[min(len(places) - 1, int(start + i * step))] for i in range(count)]
    return sorted(set(chosen))


def short_name(names):
    """How a record's case begins: function, category and test, without what differs between the libraries."""
    function, test, category = names
    return f"{function}/{category}_{test}"


def short_case(case):
    """The same for a case's own name, `_/FUNCTION.KIND/CATEGORY_TEST_…`; other names stay as they are."""
    return re.sub(r"^_/([^./]+)\.[^/]+/", r"\1/", case)


def reduce(source, target, categories, per_group, seed, complete=None):
    """Writes the chosen records of `source` to `target`; returns how many records `source` has.

    With `complete`, an expression, all records whose short names it finds are chosen.
    """
    with open(source, "rb") as file:
        data = memoryview(file.read())
    layout = read_layout(bytes(data[:1 << 16]))
    groups = {}
    begin = layout.header_bytes + layout.names_at
    for number in range((len(data) - layout.header_bytes) // layout.record_bytes):
        at = begin + number * layout.record_bytes
        groups.setdefault(bytes(data[at:at + 3 * NAME_BYTES]), []).append(number)
    total = sum(len(places) for places in groups.values())
    start = Layout(0, 0, 0)
    kept = {names: places for names, places in groups.items()
            if (re.search(complete, short_name(names_of(names, start))) if complete else names_of(names, start)[2] in categories)}
    if complete:
        per_group = max(map(len, kept.values()), default=1)
    with open(target, "wb") as file:
        file.write(data[:layout.header_bytes])
        for number in choose(kept, per_group, seed):
            at = layout.header_bytes + number * layout.record_bytes
            file.write(data[at:at + layout.record_bytes])
    return total
