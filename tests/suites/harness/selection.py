"""Which cases to run, in which order: a stratified sample that a time budget may cut off anywhere.

Cases of one kind (a stratum) differ in sizes and parameters; bugs usually show in every kind that uses the wrong
instruction. So the order visits every stratum once, then takes two more of each, then four, and so on. Whatever has
been run when the time is up has every kind in it, and a longer budget only adds to the shorter one's cases. The seed
decides which cases of a stratum come first; where a suite says how a case's name tells its size, small cases come
before large ones, so that one large case does not take the time of a hundred small ones.
"""
import hashlib
import itertools
import math
import random
import re


def stratum_of(case, pattern):
    """`pattern`'s groups joined, or what it matches; the name itself where it does not match."""
    found = re.search(pattern, case)
    if not found:
        return case
    return "|".join(g for g in found.groups() if g is not None) if found.groups() else found.group(0)


def size_class(case, pattern):
    """How large a case is, in steps of sixteen: the product of all numbers that `pattern`'s groups hold.

    0 up to 2^14, where the start of a kernel counts for more than its size, and for names that do not match.
    """
    found = re.search(pattern, case) if pattern else None
    if not found:
        return 0
    product = math.prod(int(number) for group in found.groups() for number in re.findall(r"\d+", group or ""))
    return max(0, (product.bit_length() - 11) // 4)


def in_shard(case, index, count):
    """Whether `case` belongs to shard `index` of `count`, the same on every machine."""
    return int(hashlib.sha256(case.encode()).hexdigest()[:8], 16) % count == index


def order(cases, seed, pattern_of, size_of=lambda program: "", short=False):
    """`cases` are (program, name) pairs; yields rounds, each a list of them, one program after the other.

    pattern_of(program) is the expression that tells strata apart, size_of(program) the one that tells sizes. For a
    short look there is a round with one case of every program before the others: a minute may not be enough for all
    kinds of the program that comes first.
    """
    strata = {}
    for place, (program, name) in enumerate(cases):
        strata.setdefault((program, stratum_of(name, pattern_of(program))), []).append((place, program, name))
    for key in strata:
        random.Random(f"{seed} {key}").shuffle(strata[key])
        pattern = size_of(key[0])
        if pattern:
            strata[key].sort(key=lambda entry: size_class(entry[2], pattern))
    keys = sorted(strata)
    random.Random(seed).shuffle(keys)
    if short:
        first = {}
        for key in keys:
            first.setdefault(key[0], key)
        yield [strata[key].pop(0)[1:] for key in first.values()]
    start, size = 0, 1
    while any(start < len(strata[key]) for key in keys):
        # The programs of a round and the kinds of a program come in an order of their own, so that a budget that
        # ends within a round does not always favour the same ones.
        by_program = {}
        for key in keys:
            by_program.setdefault(key[0], []).extend(strata[key][start:start + size])
        yield [(program, name) for group in by_program.values() for _, program, name in group]
        start, size = start + size, size * 2


def patterns(names, listed):
    """The fewest names and beginnings, `beginning*`, that say `names` and nothing else of what is `listed`."""
    wanted, words = set(names), sorted(listed)
    before = list(itertools.accumulate((word in wanted for word in words), initial=0))
    found, ranges = [], [(0, len(words), 0)]
    while ranges:
        begin, end, length = ranges.pop()  # words that have their first `length` letters in common
        count = before[end] - before[begin]
        if count == end - begin:
            found.append(words[begin] if count == 1 else words[begin][:length] + "*")
        elif count:
            groups = itertools.groupby(range(begin, end), key=lambda place: words[place][length:length + 1])
            for _, places in groups:
                places = list(places)
                ranges.append((places[0], places[-1] + 1, length + 1))
    return found


def batches(cases, seconds, expected, places, most=500):
    """Splits a round into lists of one program's cases that should take about `seconds`, in the program's own order.

    expected(program) is the mean time of its cases so far, or None before the first. `places` tells that order, `most`
    how many cases a list may have.
    """
    def in_order(batch):
        return sorted(batch, key=places.__getitem__)

    batch, planned = [], 0.0
    for program, name in cases:
        cost = expected(program)
        cost = seconds / 16 if cost is None else cost
        if batch and (batch[0][0] != program or planned + cost > seconds or len(batch) >= most):
            yield in_order(batch)
            batch, planned = [], 0.0
        batch.append((program, name))
        planned += cost
    if batch:
        yield in_order(batch)
