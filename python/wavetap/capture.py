"""Captured dispatches: `wavetap.open_capture(path)`, over the C interface in wavetap/capture.h.

    import wavetap

    with wavetap.open_capture("saxpy.wtcap") as file:
        capture = file[0]
        print(capture.kernel, capture.arguments)
        x = capture.array(2)                  # NumPy: what argument 2 points at, before the kernel
        replay = capture.replay()
        replay.run(iterations=3)              # on the engine: no ROCm, no GPU
        print(replay.array(3)[:8], replay.compare().equal)

Needs NumPy for arrays only.
"""
import ctypes
import typing

from . import _library

_DTYPES = {"i8": "<i1", "u8": "<u1", "i16": "<i2", "u16": "<u2", "i32": "<i4", "u32": "<u4", "i64": "<i8", "u64": "<u8", "f16": "<f2",
           "bf16": "<u2", "f32": "<f4", "f64": "<f8"}


class _Dispatch(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in ("kernel", "target", "model", "program", "fault")] + [
        ("launch", ctypes.c_uint64), ("grid", ctypes.c_uint32 * 3), ("workgroup", ctypes.c_uint32 * 3), ("lds_bytes", ctypes.c_uint32),
        ("scratch_bytes", ctypes.c_uint32), ("has_before", ctypes.c_int), ("has_after", ctypes.c_int), ("is_unordered", ctypes.c_int),
        ("arguments", ctypes.c_size_t)]


class _Argument(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in ("name", "type", "kind", "element")] + [
        ("offset", ctypes.c_uint64), ("value", ctypes.c_void_p), ("value_bytes", ctypes.c_size_t), ("pointer", ctypes.c_uint64),
        ("extent_bytes", ctypes.c_uint64), ("is_hidden", ctypes.c_int)]


class _Options(ctypes.Structure):
    _fields_ = [("iterations", ctypes.c_uint32), ("threads", ctypes.c_uint32), ("seed", ctypes.c_uint64), ("swap", ctypes.c_char_p)]


class _Comparison(ctypes.Structure):
    _fields_ = [("written_bytes", ctypes.c_uint64), ("differing", ctypes.c_uint64), ("first_address", ctypes.c_uint64)]


class CaptureError(RuntimeError):
    """`code` is the exit status that `wavetap replay` would have: docs/capture.md."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


_functions = None


def _lib():
    global _functions
    if _functions is None:
        lib = _library.load("libwavetap_capture.so.1")
        size, word, pointer, text = ctypes.c_size_t, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_char_p
        for name, result, arguments in (
                ("capture_version", ctypes.c_int, []), ("capture_error", text, []), ("capture_open", pointer, [text]),
                ("capture_close", None, [pointer]), ("capture_count", size, [pointer]),
                ("capture_dispatch", ctypes.c_int, [pointer, size, ctypes.POINTER(_Dispatch)]),
                ("capture_argument", ctypes.c_int, [pointer, size, size, ctypes.POINTER(_Argument)]),
                ("capture_read", ctypes.c_int, [pointer, size, ctypes.c_int, word, pointer, size]),
                ("replay_new", pointer, [pointer, size]), ("replay_free", None, [pointer]), ("replay_restore", None, [pointer]),
                ("replay_run", ctypes.c_int, [pointer, ctypes.POINTER(_Options)]),
                ("replay_seconds", ctypes.POINTER(ctypes.c_double), [pointer, ctypes.POINTER(size)]), ("replay_printed", text, [pointer]),
                ("replay_read", ctypes.c_int, [pointer, word, pointer, size]),
                ("replay_write", ctypes.c_int, [pointer, word, pointer, size]),
                ("replay_compare", ctypes.c_int, [pointer, text, ctypes.POINTER(_Comparison)])):
            function = getattr(lib, f"wavetap_{name}")
            function.restype, function.argtypes = result, arguments
        if lib.wavetap_capture_version() != 1:
            raise ImportError("libwavetap_capture.so: of another version than this package; install both from one build")
        _functions = lib
    return _functions


def _check(code):
    if code:
        raise CaptureError(code, _lib().wavetap_capture_error().decode(errors="replace"))


class Argument(typing.NamedTuple):
    name: str
    type: str
    kind: str
    element: str          # "f32"; "" when not known
    offset: int
    value: bytes
    pointer: int          # into captured memory, or 0
    extent_bytes: int
    is_hidden: bool


class Comparison(typing.NamedTuple):
    equal: bool
    written_bytes: int
    differing: int
    first_address: int


def _array(argument, count, dtype, read):
    import numpy
    if not argument.pointer:
        raise ValueError(f"{argument.type or argument.kind}: does not point into captured memory")
    dtype = numpy.dtype(dtype or _DTYPES.get(argument.element, "u1"))
    if count is None:
        count = argument.extent_bytes // dtype.itemsize
    array = numpy.empty(count, dtype)
    read(argument.pointer, array.ctypes.data, array.nbytes)
    return array


class Replay:
    """The memory of a captured dispatch, to run its kernel on. Addresses are those of the capture."""

    def __init__(self, capture):
        self._capture = capture
        self._handle = _lib().wavetap_replay_new(capture._file._handle, capture._number)
        if not self._handle:
            raise CaptureError(17, _lib().wavetap_capture_error().decode(errors="replace"))
        capture._file._replays.append(self)

    def run(self, iterations=1, threads=0, seed=0, swap=None):
        """Seconds of each iteration. Before each but the first the captured state is restored."""
        options = _Options(iterations, threads, seed, None if swap is None else str(swap).encode())
        _check(_lib().wavetap_replay_run(self._handle, ctypes.byref(options)))
        count = ctypes.c_size_t()
        seconds = _lib().wavetap_replay_seconds(self._handle, ctypes.byref(count))
        return [seconds[i] for i in range(count.value)]

    @property
    def printed(self):
        return _lib().wavetap_replay_printed(self._handle).decode(errors="replace")

    def restore(self):
        _lib().wavetap_replay_restore(self._handle)

    def read(self, address, size):
        buffer = ctypes.create_string_buffer(size)
        _check(_lib().wavetap_replay_read(self._handle, address, buffer, size))
        return buffer.raw

    def write(self, address, data):
        data = bytes(data)
        _check(_lib().wavetap_replay_write(self._handle, address, data, len(data)))

    def array(self, argument, count=None, dtype=None):
        """What an argument points at, as it is now: a copy."""
        def read(address, to, size):
            _check(_lib().wavetap_replay_read(self._handle, address, to, size))
        return _array(self._capture.arguments[argument], count, dtype, read)

    def compare(self, tolerance="bits"):
        found = _Comparison()
        code = _lib().wavetap_replay_compare(self._handle, tolerance.encode(), ctypes.byref(found))
        if code not in (0, 15):
            _check(code)
        return Comparison(code == 0, found.written_bytes, found.differing, found.first_address)

    def close(self):
        if self._handle:
            _lib().wavetap_replay_free(self._handle)
            self._handle = None


class Capture:
    """One captured dispatch."""

    def __init__(self, file, number):
        self._file, self._number = file, number
        found = _Dispatch()
        _check(_lib().wavetap_capture_dispatch(file._handle, number, ctypes.byref(found)))
        for name in ("kernel", "target", "model", "program", "fault"):
            setattr(self, name, getattr(found, name).decode(errors="replace"))
        for name in ("launch", "lds_bytes", "scratch_bytes"):
            setattr(self, name, getattr(found, name))
        for name in ("has_before", "has_after", "is_unordered"):
            setattr(self, name, bool(getattr(found, name)))
        self.grid, self.workgroup = tuple(found.grid), tuple(found.workgroup)
        self.arguments = [self._argument(i) for i in range(found.arguments)]

    def _argument(self, index):
        found = _Argument()
        _check(_lib().wavetap_capture_argument(self._file._handle, self._number, index, ctypes.byref(found)))
        texts = [getattr(found, name).decode(errors="replace") for name in ("name", "type", "kind", "element")]
        value = ctypes.string_at(found.value, found.value_bytes) if found.value_bytes else b""
        return Argument(*texts, found.offset, value, found.pointer, found.extent_bytes, bool(found.is_hidden))

    def read(self, address, size, after=False):
        buffer = ctypes.create_string_buffer(size)
        _check(_lib().wavetap_capture_read(self._file._handle, self._number, int(after), address, buffer, size))
        return buffer.raw

    def array(self, argument, count=None, dtype=None, after=False):
        """What an argument points at, before the kernel or after it."""
        def read(address, to, size):
            _check(_lib().wavetap_capture_read(self._file._handle, self._number, int(after), address, to, size))
        return _array(self.arguments[argument], count, dtype, read)

    def replay(self):
        return Replay(self)


class Captures:
    """The captured dispatches of a file."""

    def __init__(self, path):
        self._replays = []
        self._handle = _lib().wavetap_capture_open(str(path).encode())
        if not self._handle:
            raise CaptureError(10, _lib().wavetap_capture_error().decode(errors="replace"))

    def __len__(self):
        return _lib().wavetap_capture_count(self._handle)

    def __getitem__(self, number):
        if not 0 <= number < len(self):
            raise IndexError(number)
        return Capture(self, number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for replay in self._replays:
            replay.close()
        if self._handle:
            _lib().wavetap_capture_close(self._handle)
            self._handle = None


def open_capture(path):
    return Captures(path)
