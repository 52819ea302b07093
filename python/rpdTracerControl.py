"""The Python module of RPD, answered by wavetap: programs that say

    from rpdTracerControl import rpdTracerControl
    rpdTracerControl.setFilename(name="trace.rpd", append=False)
    profile = rpdTracerControl()
    profile.start()
    ...
    profile.stop()

run unchanged. What RPD got wrong is right here: a RPDT_FILENAME set by the user counts, `with` gives the object, and
ranges keep their domain and arguments.
"""
import os

from wavetap import control


class rpdTracerControl:  # the name is RPD's
    __filename = None
    __append = False

    @classmethod
    def setFilename(cls, name, append=False):
        """The trace to write. Counts before the first object is made, as in RPD."""
        cls.__filename = name
        cls.__append = append

    @classmethod
    def skipCreate(cls):
        """RPD creates the file beforehand; wavetap writes it at the end, so there is nothing to skip."""

    @classmethod
    def skipLoad(cls):
        """True when a recorder is in the process already."""
        return os.environ.get("RPDT_LOADED") == "1" or control._preloaded() is not None

    @classmethod
    def loadLibrary(cls):
        control.recorder(cls.__filename)

    def __init__(self, nvtx=False):
        cls = type(self)
        name = cls.__filename or os.environ.get("RPDT_FILENAME") or "trace.rpd"
        self._tracer = control.Tracer(name, append=cls.__append)

    def start(self):
        self._tracer.start()

    def stop(self):
        self._tracer.stop()

    def flush(self):
        self._tracer.close()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def rangePush(self, domain, apiName, args):
        control.recorder().rpd_rangePush(control._text(domain), control._text(apiName), control._text(args))

    def rangePop(self):
        control.recorder().rpd_rangePop()

    def setPythonTrace(self, doTrace):
        self._tracer.trace_python(bool(doTrace))
