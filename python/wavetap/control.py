"""Control of the recorder and markers, from inside a Python program.

    from wavetap import Tracer

    with Tracer("step.rpd"):               # record what happens inside
        train_step()

    tracer = Tracer()
    with tracer.range("load"):             # a named range on this thread
        load()

Under `wavetap run` the recorder is there already and its trace is written when the program ends; a Tracer then only
starts, stops and marks. Otherwise the first Tracer loads libwavetap.so, and the trace is written by close() or when
the interpreter exits. Load it before the library that uses the GPU (torch, cupy): what is bound already cannot be
seen any more.

Starts and stops are counted, together with those of `wavetap start|stop PID` and of the C API: recording is on
while there were more starts than stops.
"""
import atexit
import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

from ._library import candidates

_LIBRARY = "libwavetap.so"


class _Recorder:
    """The one recorder of this process."""

    def __init__(self, library, path):
        self.library = library
        self.path = path          # of the library when it was loaded by us
        self.output = None        # where the trace goes then
        self.append = False       # … to be added to what is there
        self.loaded_here = path is not None
        for name, result, arguments in (
                ("wavetap_start", ctypes.c_int, []), ("wavetap_stop", ctypes.c_int, []),
                ("wavetap_is_recording", ctypes.c_int, []), ("wavetap_flush", None, []),
                ("wavetap_range_push_in", ctypes.c_int, [ctypes.c_char_p] * 3), ("wavetap_range_pop", ctypes.c_int, []),
                ("wavetap_mark_in", None, [ctypes.c_char_p] * 3), ("rpd_rangePush", None, [ctypes.c_char_p] * 3),
                ("rpd_rangePop", None, []), ("rpd_mark", None, [ctypes.c_char_p] * 3)):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def session(self):
        """The folder libwavetap.so made beside the output; None when it never recorded."""
        if not self.loaded_here or self.output is None:
            return None
        folder = pathlib.Path(f"{self.output}.raw-{os.getpid()}")
        return folder if folder.is_dir() else None

    def program(self):
        """The wavetap program that belongs to the library."""
        beside = pathlib.Path(self.path).resolve().parent.parent / "bin" / "wavetap"
        return str(beside) if beside.exists() else shutil.which("wavetap")

    def write(self, keep=False):
        """Turns what was recorded so far into the trace."""
        folder = self.session()
        if folder is None:
            return
        program = self.program()
        if program is None:
            print(f"wavetap: {folder}: the wavetap program was not found; run: wavetap import {folder} -o {self.output}",
                  file=sys.stderr)
            return
        environment = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "HSA_TOOLS_LIB")}
        if self.append and keep:
            return  # written once, at the end: what was added cannot be replaced
        done = subprocess.run([program, "import", str(folder), "-o", str(self.output), "--append" if self.append else "--force"],
                              env=environment, stdout=subprocess.DEVNULL, check=False)
        # Status 2: imported, with losses that were reported.
        if done.returncode in (0, 2) and not keep:
            shutil.rmtree(folder, ignore_errors=True)


_recorder = None


def _preloaded():
    try:
        library = ctypes.CDLL(None)
        library.wavetap_start
        return library
    except (AttributeError, OSError):
        return None


def recorder(output=None):
    """The recorder of this process, loaded on first use. `output` counts only then."""
    global _recorder
    if _recorder is not None:
        return _recorder
    library = _preloaded()
    if library is not None:
        _recorder = _Recorder(library, None)
        return _recorder
    path = next((str(path) for path in candidates(_LIBRARY) if path.exists()), None)
    if path is None:
        raise ImportError(f"{_LIBRARY}: not found; set WAVETAP_LIB to its folder")
    output = pathlib.Path(output or os.environ.get("RPDT_FILENAME") or "trace.rpd").absolute()
    before = {name: os.environ.get(name) for name in ("RPDT_FILENAME", "RPDT_AUTOSTART")}
    os.environ.update(RPDT_FILENAME=str(output), RPDT_AUTOSTART="0")
    tools = os.environ.get("HSA_TOOLS_LIB")
    if path not in (tools or "").split(" "):
        os.environ["HSA_TOOLS_LIB"] = f"{tools} {path}" if tools else path
    os.environ["WAVETAP_NAMED_AS_TOOL"] = "1"  # by us, not by the user: this program and its children say when
    try:
        # Global, so that libraries loaded later find its functions before AMD's.
        library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        _recorder = _Recorder(library, path)
        _recorder.wavetap_is_recording()  # the environment is read now
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    _recorder.output = output
    atexit.register(_recorder.write)
    return _recorder


def _text(value):
    return None if value is None else str(value).encode(errors="replace").replace(b"\0", b" ")


class Tracer:
    """Starts and stops recording; as a context manager, records what is inside. `append`: the trace is added to
    the file if it exists, when the interpreter exits."""

    def __init__(self, output=None, append=False):
        self._recorder = recorder(output)
        self._recorder.append = self._recorder.append or append

    @property
    def output(self):
        """The trace this process will write; None under `wavetap run`, which writes it."""
        return self._recorder.output

    def start(self):
        return self._recorder.wavetap_start()

    def stop(self):
        return self._recorder.wavetap_stop()

    def flush(self):
        """Collects the GPU times of everything that has finished."""
        self._recorder.wavetap_flush()

    def close(self):
        """Writes the trace now instead of when the interpreter exits. Recording may go on and be written again."""
        self._recorder.wavetap_flush()
        self._recorder.write(keep=True)

    @property
    def is_recording(self):
        return bool(self._recorder.wavetap_is_recording())

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def push(self, message, domain=None, category=None):
        return self._recorder.wavetap_range_push_in(_text(domain), _text(category), _text(message))

    def pop(self):
        return self._recorder.wavetap_range_pop()

    def mark(self, message, domain=None, category=None):
        self._recorder.wavetap_mark_in(_text(domain), _text(category), _text(message))

    @contextlib.contextmanager
    def range(self, message, domain=None, category=None):
        self.push(message, domain, category)
        try:
            yield self
        finally:
            self.pop()

    def trace_python(self, enabled=True):
        """A range for every Python function this thread calls, in the domain "python"."""
        sys.setprofile(self._profile if enabled else None)

    def _profile(self, frame, event, _argument):
        if event == "call":
            code = frame.f_code
            self._recorder.rpd_rangePush(b"python", _text(code.co_name), _text(f"{code.co_filename}:{frame.f_lineno}"))
        elif event == "return":
            self._recorder.rpd_rangePop()
