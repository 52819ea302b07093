"""Reading recordings: `wavetap.open(path)`, over the C interface in wavetap/trace.h."""
import collections
import ctypes
import json

from . import _library

_INT64, _INT32, _BOOL, _STRING, _ROW, _ARGS, _REAL, _ADDRESS = range(8)
_CTYPES = {_INT64: ctypes.c_int64, _INT32: ctypes.c_int32, _BOOL: ctypes.c_uint8, _STRING: ctypes.c_uint32,
           _ROW: ctypes.c_uint32, _REAL: ctypes.c_double, _ADDRESS: ctypes.c_uint64}
_NO_ROW = 0xFFFFFFFF
# In the order of wavetap_table in wavetap/trace.h, each with the name of a row.
_TABLES = {"calls": "call", "ops": "op", "links": "link", "launches": "launch", "copies": "copy", "monitors": "monitor",
           "stack_frames": "stack_frame", "libraries": "library", "counters": "counter", "processes": "process",
           "thread_names": "thread_name", "devices": "device", "device_figures": "device_figure", "queues": "queue",
           "code_objects": "code_object", "kernels": "kernel", "dispatches": "dispatch", "allocations": "allocation",
           "inflight": "inflight", "open_calls": "open_call", "faults": "fault", "controls": "control", "losses": "loss",
           "swaps": "swap"}
_FLAG_NO_ARGS, _FLAG_STACK_FRAMES = 1, 2
_VERSION = 1


class _Column(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("data", ctypes.c_void_p), ("stride", ctypes.c_size_t)]


_library_handle = None


def _lib():
    global _library_handle
    if _library_handle is None:
        lib = _library.load("libwavetap_trace.so.1")
        handle, size, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
        signatures = {
            "version": (ctypes.c_int, []),
            "open": (handle, [text, ctypes.c_uint]),
            "close": (None, [handle]),
            "error": (text, []),
            "rows": (size, [handle, ctypes.c_int]),
            "columns": (size, [handle, ctypes.c_int]),
            "column": (ctypes.c_int, [handle, ctypes.c_int, size, ctypes.POINTER(_Column)]),
            "string": (handle, [handle, ctypes.c_uint32, ctypes.POINTER(size)]),
            "args": (handle, [handle, size, ctypes.POINTER(size)]),
            "metadata": (ctypes.c_int, [handle, size, ctypes.POINTER(text), ctypes.POINTER(text)]),
            "analyze": (handle, [handle, text, size, text]),
            "free": (None, [handle]),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(lib, f"wavetap_trace_{name}")
            function.restype, function.argtypes = result, arguments
        if lib.wavetap_trace_version() != _VERSION:
            raise ImportError(f"libwavetap_trace.so is of version {lib.wavetap_trace_version()}, this package of {_VERSION}")
        _library_handle = lib
    return _library_handle


class Table:
    """One table of a trace: `len(table)`, `table.columns`, `table.rows()`, `table[column]`, `table.frame()`."""

    def __init__(self, trace, number, name, row):
        self._trace, self._number, self.name = trace, number, name
        self._columns = {}
        for index in range(_lib().wavetap_trace_columns(trace._handle, number)):
            column = _Column()
            _lib().wavetap_trace_column(trace._handle, number, index, ctypes.byref(column))
            self._columns[column.name.decode()] = column
        self._row = collections.namedtuple(row, self._columns)

    @property
    def columns(self):
        return list(self._columns)

    def __len__(self):
        return _lib().wavetap_trace_rows(self._trace._alive(), self._number)

    def __getitem__(self, name):
        """A column as a list: numbers, texts, or row numbers (None where there is none)."""
        column, rows = self._columns[name], len(self)
        if column.type == _ARGS:
            return [self._trace._args(row) for row in range(rows)]
        kind = _CTYPES[column.type]
        if rows == 0:
            values = []
        elif column.stride == ctypes.sizeof(kind):
            values = (kind * rows).from_address(column.data)[:]
        else:
            values = [kind.from_address(column.data + row * column.stride).value for row in range(rows)]
        if column.type == _STRING:
            return [self._trace._text(value) for value in values]
        if column.type == _ROW:
            return [None if value == _NO_ROW else value for value in values]
        return [bool(value) for value in values] if column.type == _BOOL else values

    def rows(self):
        """Named tuples, one per row."""
        return map(self._row, *(self[name] for name in self._columns))

    def frame(self):
        """A pandas.DataFrame; texts become categories. Raises ImportError where pandas is not installed."""
        try:
            import numpy
            import pandas
        except ImportError:
            raise ImportError("pandas is not installed; use rows(), or install it for data frames") from None
        data, rows = {}, len(self)
        for name, column in self._columns.items():
            if column.type == _ARGS:
                data[name] = self[name]
                continue
            kind = _CTYPES[column.type]
            raw = numpy.empty(0, kind)
            if rows:
                length = (rows - 1) * column.stride + ctypes.sizeof(kind)
                memory = (ctypes.c_uint8 * length).from_address(column.data)
                # A copy: the frame may outlive the trace.
                raw = numpy.ndarray((rows,), kind, memory, strides=(column.stride,)).copy()
            if column.type == _STRING:
                numbers, codes = numpy.unique(raw, return_inverse=True)
                texts = [self._trace._text(int(number)) for number in numbers]
                data[name] = pandas.Categorical.from_codes(codes, texts)
            elif column.type == _ROW:
                series = pandas.Series(raw.astype("int64"), dtype="Int64")
                data[name] = series.mask(series == _NO_ROW)
            else:
                data[name] = raw.astype(bool) if column.type == _BOOL else raw
        return pandas.DataFrame(data)


def _setting_text(value):
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


class Trace:
    """A loaded recording. Its tables are attributes: calls, ops, links, launches, copies, counters, monitors,
    stack_frames, libraries and those of wavetap's own recordings (docs/tables.md): processes, thread_names, devices,
    device_figures, queues, code_objects, kernels, dispatches, allocations, inflight, open_calls, faults, controls,
    losses. Close it, or use it in a `with` statement, to give the memory back early."""

    def __init__(self, path, args=True, stack_frames=False):
        self._handle = None
        flags = (0 if args else _FLAG_NO_ARGS) | (_FLAG_STACK_FRAMES if stack_frames else 0)
        self.path = str(path)
        self._handle = _lib().wavetap_trace_open(self.path.encode(errors="surrogateescape"), flags)
        if not self._handle:
            raise OSError(_lib().wavetap_trace_error().decode(errors="replace"))
        self._texts = {}
        for number, (name, row) in enumerate(_TABLES.items()):
            setattr(self, name, Table(self, number, name, row))

    @property
    def metadata(self):
        """Keys and values of the recording; of repeated keys the last."""
        out, index = {}, 0
        key, value = ctypes.c_char_p(), ctypes.c_char_p()
        while _lib().wavetap_trace_metadata(self._alive(), index, ctypes.byref(key), ctypes.byref(value)) == 0:
            out[key.value.decode(errors="replace")] = value.value.decode(errors="replace")
            index += 1
        return out

    def report(self, top=10):
        """What `wavetap report --json` prints, as a dictionary."""
        return self.analyze("report", top=top)

    def analyze(self, name, top=0, **settings):
        """What `wavetap analyze NAME --json` prints, as a dictionary. Settings are those of --set, with _ for -, and
        lists for values separated by commas; ValueError says what is wrong with one."""
        lines = "\n".join(f"{key.replace('_', '-')}={_setting_text(value)}" for key, value in settings.items())
        text = _lib().wavetap_trace_analyze(self._alive(), name.encode(), top, lines.encode())
        if not text:
            raise ValueError(_lib().wavetap_trace_error().decode(errors="replace"))
        try:
            return json.loads(ctypes.string_at(text))
        finally:
            _lib().wavetap_trace_free(text)

    def close(self):
        if self._handle:
            _lib().wavetap_trace_close(self._handle)
            self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def __repr__(self):
        if not self._handle:
            return f"<wavetap.Trace {self.path!r}, closed>"
        return f"<wavetap.Trace {self.path!r}: {len(self.calls)} calls, {len(self.ops)} ops>"

    def _alive(self):
        if not self._handle:
            raise ValueError(f"{self.path}: the trace is closed")
        return self._handle

    def _text(self, number):
        if number not in self._texts:
            size = ctypes.c_size_t()
            start = _lib().wavetap_trace_string(self._alive(), number, ctypes.byref(size))
            self._texts[number] = ctypes.string_at(start, size.value).decode(errors="replace")
        return self._texts[number]

    def _args(self, row):
        size = ctypes.c_size_t()
        start = _lib().wavetap_trace_args(self._alive(), row, ctypes.byref(size))
        return ctypes.string_at(start, size.value).decode(errors="replace")


def open(path, args=True, stack_frames=False):  # pylint: disable=redefined-builtin
    """Loads a .rpd trace, by wavetap or by RPD. `args=False` leaves argument and marker texts out, which saves memory;
    `stack_frames=True` loads those too. OSError says what is wrong with the file."""
    return Trace(path, args, stack_frames)
