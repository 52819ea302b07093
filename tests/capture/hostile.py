"""Capture files that are well-formed, with good checksums, and mean: written from docs/capture-format.md."""
import random
import struct

MASK = (1 << 64) - 1
FACTOR = 0x9E3779B97F4A7C15
PAGE = 4096
BASE = 0x4100000000


def checksum(data, seed=0):
    """capture_checksum()."""
    def mix(lane, word):
        product = (lane ^ word) * FACTOR & MASK
        return (product << 29 | product >> 35) & MASK
    lanes = [seed ^ len(data), (seed + FACTOR) & MASK, seed ^ (FACTOR << 1 & MASK), ~seed & MASK]
    whole = len(data) // 32 * 32
    for at in range(0, whole, 32):
        lanes = [mix(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at))]
    rest = struct.unpack("<4Q", data[whole:].ljust(32, b"\0"))
    total = len(data)
    for lane, word in zip(lanes, rest):
        total = mix(total, mix(lane, word))
    total ^= total >> 32
    return (total * FACTOR & MASK) ^ total >> 29


def record(kind, payload, codec=0, raw_bytes=None):
    head = struct.pack("<4I2Q", 0x31435457, kind, codec, 0, len(payload), len(payload) if raw_bytes is None else raw_bytes)
    return head + struct.pack("<Q", checksum(payload, checksum(head))) + payload


def text(words):
    words = words if isinstance(words, bytes) else words.encode()
    return struct.pack("<I", len(words)) + words


def file_of(*records):
    head = b"WTCAP\r\n\0" + struct.pack("<2I", 1, 24)
    return head + struct.pack("<Q", checksum(head)) + b"".join(records)


def dispatch(kernel="work(int*)", kernel_object=BASE, kernarg=BASE + 2 * PAGE, grid=(64, 1, 1), workgroup=(64, 1, 1), target=(10, 3, 0), lds=0,
             scratch=0, flags=0, program="./program", capture=1):
    return record(2, struct.pack("<2I2Q64s5Q3I3HH6I3HH3Iq", capture, flags, 1, 1, b"", BASE, BASE, 0, kernel_object, kernarg, *grid, *workgroup, 0,
                                 lds, scratch, 1, 0, 60, 1, *target, 0, 7, 0, 0, 0) + text(kernel) + text("rx6800xt") + text("GPU") + text(program))


def region(number=0, address=BASE, size=4 * PAGE, kind=1, rights=7, flags=0, capture=1):
    return record(3, struct.pack("<2I2Q4I2Q", capture, number, address, size, kind, 1, rights, flags, address, size))


def runs(*list_of_runs, number=0, phase=0, capture=1):
    return record(4, struct.pack("<4I", capture, number, phase, len(list_of_runs)) + b"".join(struct.pack("<3I", *run) for run in list_of_runs))


def code_object(delta=BASE, size=PAGE, uri="file:///program#offset=0"):
    return record(5, struct.pack("<2I2Q", 1, 0, delta, size) + text(uri))


def facts(*pairs):
    return record(8, struct.pack("<2I", 1, 0) + b"".join(text(key) + text(value) for key, value in pairs))


def touched(address, read=0, written=0):
    return record(9, struct.pack("<2I", 1, 0) + struct.pack("<Q", address) + struct.pack("<Q", read) * 64 + struct.pack("<Q", written) * 64)


BEFORE = record(6, struct.pack("<2I", 1, 0))
END = record(7, struct.pack("<2I2Q", 1, 0, 1, 2) + text(""))


def group(*records, cut=0):
    """Records without their headers, in one."""
    items = b"".join(struct.pack("<2I", struct.unpack_from("<I", one, 4)[0], len(one) - 40) + one[40:] for one in records)
    return record(10, items[:len(items) - cut])


def elf(chance):
    """The start of an ELF file for the GPU, with nonsense behind it."""
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1\x40\3", 3, 224, 1, 0, 64, 64, 0x36, 64, 56, 8, 64, 8, 1)
    noisy = bytearray(head.ljust(PAGE, b"\0"))
    for _ in range(40):
        noisy[chance.randrange(16, PAGE)] = chance.randrange(256)
    return bytes(noisy)


def files():
    """Pairs of a name and the bytes of a file."""
    chance = random.Random(3)
    noise = bytes(chance.randrange(256) for _ in range(2 * PAGE))
    huge = (1 << 43) - PAGE
    plain = [record(1, noise), dispatch(), region(), runs((0, 2, 1))]
    yield "plain", file_of(*plain, BEFORE, END)
    yield "control_characters", file_of(record(1, noise), dispatch(kernel="\x1b]0;owned\x07\x1b[2J\n", program="\x1b[31m\r\nx"), region(), BEFORE, END)
    yield "not_utf8", file_of(record(1, noise), dispatch(kernel=b"\xff\xfe\x80(\xc3)"), facts((b"\xff", b"\x80"), ("model", b"\xff" * 100)), region(), BEFORE, END)
    yield "long_name", file_of(dispatch(kernel="f(" * 200_000), region(), BEFORE, END)
    yield "huge_regions", file_of(dispatch(), *[region(i, BASE + i * (1 << 43), huge) for i in range(40)], BEFORE, END)
    yield "huge_zero_run", file_of(dispatch(), region(size=huge), runs((0, (huge // PAGE) - 1, 0)), BEFORE, runs((0, (huge // PAGE) - 1, 0), phase=1), END)
    yield "many_regions", file_of(dispatch(), *[region(i, BASE + i * PAGE, PAGE) for i in range(20_000)], BEFORE, END)
    yield "end_of_addresses", file_of(dispatch(), region(address=(1 << 57) - PAGE, size=PAGE), BEFORE, END)
    yield "odd_region", file_of(dispatch(), region(address=BASE + 3, size=5), BEFORE, END)
    yield "huge_code_object", file_of(dispatch(), code_object(size=(4 << 30) - 1), region(), BEFORE, END)
    yield "grid", file_of(*plain[:1], dispatch(grid=(0xFFFFFFFF,) * 3, workgroup=(0xFFFF,) * 3), region(), BEFORE, END)
    yield "zero_grid", file_of(*plain[:1], dispatch(grid=(0, 0, 0), workgroup=(0, 0, 0)), region(), BEFORE, END)
    yield "lds_and_scratch", file_of(*plain[:1], dispatch(lds=0xFFFFFFFF, scratch=0xFFFFFFFF), region(), BEFORE, END)
    yield "target", file_of(*plain[:1], dispatch(target=(999, 99, 99)), region(), BEFORE, END)
    yield "no_regions", file_of(dispatch(kernel_object=MASK, kernarg=MASK), BEFORE, END)
    yield "addresses", file_of(*plain[:1], dispatch(kernel_object=BASE + 4 * PAGE - 1, kernarg=BASE + 4 * PAGE - 1), region(), BEFORE, END)
    yield "flags", file_of(*plain[:1], dispatch(flags=0xFFFFFFFF), region(flags=0xFFFFFFFF, kind=77, rights=0xFFFFFFFF), BEFORE, END)
    yield "facts", file_of(*plain, facts(("host_stack.00", "+0x"), ("host_stack.99", "x" * 5000), ("requested.-1", "-1"), ("alias.%d" % BASE, "7"),
                                         ("allocated.%d" % BASE, str(MASK)), ("wave_sync.99", "x"), ("counter.", "x")), BEFORE, END)
    yield "touched", file_of(*plain, touched(BASE + 1, MASK, MASK), BEFORE, END)
    yield "touched_elsewhere", file_of(*plain, touched(MASK - PAGE + 1, MASK, MASK), BEFORE, END)
    yield "bomb", file_of(dispatch(), record(1, b"\x28\xb5\x2f\xfd\xa4" + b"\0" * 40, codec=1, raw_bytes=4 << 20), region(), runs((0, 4, 1)), BEFORE, END)
    yield "unknown_records", file_of(record(77, noise), *plain, record(0xFFFFFFFF, b""), BEFORE, END)
    yield "group", file_of(record(1, noise), group(dispatch(), region(), runs((0, 2, 1)), BEFORE, END))
    yield "group_cut", file_of(record(1, noise), group(dispatch(), region(), runs((0, 2, 1)), BEFORE, END, cut=5))
    yield "group_of_pages", file_of(group(record(1, noise), dispatch(), region(), BEFORE, END))
    yield "group_of_groups", file_of(group(group(group(dispatch(), region(), BEFORE, END))))
    yield "group_of_nothing", file_of(group(), dispatch(), group(record(77, b""), record(2, b"")), region(), BEFORE, END)
    yield "two_of_one_number", file_of(*plain, dispatch(), BEFORE, END)
    for i in range(10):
        yield f"code_{i}", file_of(record(1, elf(chance) + noise[:PAGE]), dispatch(), code_object(), runs((0, 1, 1), phase=2), region(), runs((0, 2, 1)), BEFORE, END)
    # Any field of any record, changed, with a checksum that fits.
    for i in range(30):
        records = [record(1, noise), dispatch(), code_object(), runs((0, 1, 1), phase=2), region(), runs((0, 2, 1)), BEFORE, runs((1, 1, 2), phase=1), END]
        which = chance.randrange(1, len(records))
        payload = bytearray(records[which][40:])
        at = chance.randrange(len(payload))
        payload[at] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        records[which] = record(struct.unpack_from("<I", records[which], 4)[0], bytes(payload))
        yield f"field_{i}", file_of(*records)
